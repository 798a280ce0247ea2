//! A testing kit for pipelines of [`discreet`]: exact values of a pipeline, scripted inputs, and the replay without each
//! person.
//!
//! The library proves what happens behind `protect`: it bounds people, and makes noise for the bound. What comes before
//! is the author's part, and so are the closures that name a person, a time, a key and a value. Each must be a function
//! of its argument alone. A map that merges two persons, a counter in a closure, a join that multiplies: the library
//! cannot see them, and the noise that was made for the bound is then too little. A test finds them:
//!
//! ```
//! use discreet::dataflow::{CountingByKey, ProtectedUnit, Tallied};
//! use discreet::prelude::*;
//! use discreet_testing::{ExactRun, Script, assert_bounded, exact};
//!
//! /// Reader, page, time.
//! type Visit = (u64, u32, Time);
//!
//! /// The visits of each page by the hour: the job releases them, and its tests reveal them.
//! fn by_page<'scope>(
//!     visits: Fed<'scope, Visit>,
//! ) -> Tallied<
//!     'scope,
//!     Visit,
//!     impl ProtectedUnit<Visit>,
//!     impl Fn(&Visit) -> Time + 'static,
//!     CountingByKey<u32>,
//!     impl Fn(&Visit) -> u32 + 'static,
//!     impl Fn(&Visit) + 'static,
//! > {
//!     visits
//!         .protect(|(reader, _, _)| *reader)
//!         .tumbling(hours(1), |(_, _, time)| *time)
//!         .between("2026-11-01", "2026-11-02")
//!         .bound(Bound::keys(2).per_key(1))
//!         .count_by(|(_, page, _)| *page, Keys::public(0..3_u32))
//! }
//!
//! // In the job: `by_page(visits).release(&gate, "by_page", Gaussian::rho(0.01))`.
//! let pipeline = |visits: Fed<'_, Visit>, run: &ExactRun| by_page(visits).reveal(run, "by_page");
//!
//! // Reader 1 twice on page 0, of which one visit counts; of reader 2, two of three pages.
//! let noon = at("2026-11-01T12:00:00Z")?;
//! let visits = Script::of([(1, 0, noon), (1, 0, noon), (2, 0, noon)]).records([(2, 1, noon), (2, 2, noon)]);
//! let visits = visits.complete("2026-11-01T13:00:00Z");
//! let tallies = exact(visits.clone(), pipeline)?;
//! let window = &tallies[0].windows()[12];
//! assert_eq!((0..3).map(|page| window.number(&page)).sum::<Option<i128>>(), Some(1 + 2));
//!
//! // No reader moves more than two pages of an hour, each by one.
//! assert_bounded(visits, |visit| visit.0, pipeline);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Contents
//!
//! * [`exact`], and on several workers [`exact_of_parts`]: the tallies of every window before their noise, by the same
//!   windows, bounding and completeness as in a job. A release of them would have these values and its noise.
//! * [`assert_bounded`] and [`check_bounded`], and with all settings [`Neighbours`]: the pipeline with all records and
//!   without each person.
//! * [`Script`]: records, declarations of completeness, input gaps, silence and loss, in a given order. It is a
//!   [source](Script::source) for a test that runs a job with its gate, too.
//! * [`ManualClock`]: the public clock of [`skipping`](discreet::dataflow::Windowed::skipping), set by the test.
//!
//! # Limits of a check
//!
//! It compares the pairs of inputs that it was given. A fault that these records do not show is not found: take records
//! in which persons share keys, have more records than the bound, come late, and fill several windows. It cannot pass
//! where nobody moves anything ([`Unbounded::NothingCompared`]). A map that merges two persons who then are bounded as
//! one is a fault in the claim, not in the arithmetic: it is found where it moves more than the bound. State that outlives
//! a replay, such as a static table in the order of first sight, is the same in all of them and is not found. Of duplicates of
//! one [id](discreet::dataflow::Private::identified_by) that differ one counts, whichever came first: a script has none
//! of them.
//!
//! Analysts' queries and means of vectors are not revealed.
//!
//! # Nothing here is private
//!
//! The kit has no gate and no ledger, and a run that reveals refuses both
//! ([`revealed`](discreet::dataflow::revealed)). What is exact cannot become a release: a gate takes a statistic with a
//! mechanism, and no number.
//!
//! ```compile_fail,E0599
//! # use discreet::prelude::*;
//! # use discreet_testing::ExactWindow;
//! fn publish(window: &ExactWindow, gate: &Gate) {
//!     window.release(gate, "visits", Gaussian::rho(0.01));
//! }
//! ```
//!
//! ```compile_fail,E0308
//! # use discreet::prelude::*;
//! # use discreet_testing::ExactTally;
//! fn publish(tally: ExactTally, visits: Fed<'_, (u64, i64)>, gate: &Gate) {
//!     let visits = visits.protect(|visit| visit.0).tumbling(minutes(10), |visit| visit.1).from(0);
//!     visits.bound(Bound::keys(1)).count().release(gate, "visits", tally);
//! }
//! ```
//!
//! It is a crate of its own, a dev-dependency, and no feature of the library: Cargo unifies features, and one that took
//! the noise away for tests would take it away in production.

mod clock;
mod compare;
mod exact;
mod neighbours;
mod script;
#[cfg(test)]
mod tests;
mod unbounded;

pub use clock::ManualClock;
pub use discreet::dataflow::revealed::{ExactRun, ExactTally, ExactWindow};
pub use discreet::mechanisms::{ExactCell, ExactValue};
pub use exact::{exact, exact_of_parts};
pub use neighbours::{Neighbours, assert_bounded, check_bounded};
pub use script::{Script, Scripted};
pub use unbounded::{ChangeNorm, Difference, Unbounded, Unit};
