//! A guide: from a timely program to a private one, in ten steps.
//!
//! # 1. The program that protects nobody
//!
//! A timely program says which page is read, as it is read. An observer learns about single people in time. Counts
//! by the hour are no better: there is the page with one reader, and the count that is smaller by one when somebody is away.
//!
//! ```
//! use timely::dataflow::InputHandle;
//! use timely::dataflow::operators::vec::Map;
//! use timely::dataflow::operators::{Exchange, Inspect};
//!
//! timely::execute(timely::Config::process(2), |worker| {
//!     let mut input = InputHandle::new();
//!     worker.dataflow(|scope| {
//!         input
//!             .to_stream(scope)
//!             .map(|(_reader, page): (u64, u32)| page)
//!             .exchange(|page| u64::from(*page))
//!             .inspect(|page| println!("page {page} is read"));
//!     });
//!     input.send((7, 1));
//!     input.advance_to(3_600_000_000_u64);
//! })
//! .unwrap();
//! ```
//!
//! # 2. A ledger with a budget
//!
//! Somebody who answers for the data decides, once, how much may ever be learnt about one person: an account in a
//! [ledger](crate::ledger), with its promise and its cap. Every release is charged there in the commit that makes it durable, so that
//! the cap holds for all programs, restarts and crashes.
//!
//! ```
//! use discreet::prelude::*;
//!
//! # let directory = std::env::temp_dir().join(format!("discreet-guide-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! let path = directory.join("site.ledger");
//! let account = AccountSpec::any("readers", days(30), Budget::approximate(1.0, 1e-6))?;
//! Ledger::create(&path)?.register(&account)?;
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # 3. A gate, and the driver
//!
//! The [`Gate`](crate::gate::Gate) opens the ledger for one job. [`execute`](crate::execute) takes the place of
//! `timely::execute`: it builds the same dataflows on every worker, and ends them so that nothing is taken for complete that was not
//! declared so. A panic, an early return or a lost source seals nothing.
//!
//! ```
//! # use discreet::prelude::*;
//! # fn job(gate: Gate) -> Result<Finished, RunError> {
//! discreet::execute(Config::threads(2)?, move |worker, feeds| {
//!     worker.dataflow(|scope| {
//!         // The steps that follow.
//! #       let _ = (scope, &gate, &feeds);
//!     });
//!     Ok(())
//! })
//! # }
//! ```
//!
//! # 4. A source that declares what is complete
//!
//! In timely an input is advanced by the code that holds its handle. Here a [`Source`](crate::dataflow::Source) is pulled, and declares
//! the time up to which its records are complete. Times of records never do that: one record from the year 9999 would close
//! everybody's windows. A source that can be read again from a place also gives [milestones](crate::dataflow::Source::milestone), from
//! which a restart goes on.
//!
//! ```
//! use discreet::prelude::*;
//!
//! /// Visits by hour: reader, page, time.
//! struct Visits {
//!     hour: Time,
//! }
//!
//! impl Source for Visits {
//!     type Record = (u64, u32, Time);
//!
//!     fn pull(&mut self, batch: &mut Vec<Self::Record>) -> Result<Pulled, SourceError> {
//!         let start = self.hour * 3_600_000_000;
//!         batch.extend((0..100).map(|reader| (reader, (reader % 7) as u32, start)));
//!         self.hour += 1;
//!         Ok(if self.hour < 24 { Pulled::Complete(start + 3_600_000_000) } else { Pulled::End })
//!     }
//! }
//! ```
//!
//! # 5. Whom it protects
//!
//! `protect` says whose a record is. From here on there is no `map` and no `inspect`: what is not private cannot be looked at.
//!
//! ```
//! # use discreet::prelude::*;
//! # fn pipeline(visits: Fed<'_, (u64, u32, Time)>) {
//! let people = visits.protect(|(reader, _, _)| *reader);
//! # }
//! ```
//!
//! # 6. Which windows there are
//!
//! Windows are public: a schedule decides which there are, and an empty one is released like a full one.
//!
//! ```
//! # use discreet::prelude::*;
//! # fn pipeline(visits: Fed<'_, (u64, u32, Time)>) {
//! # let people = visits.protect(|(reader, _, _)| *reader);
//! let windows = people.tumbling(hours(1), |(_, _, time)| *time).from("2026-11-01");
//! # }
//! ```
//!
//! # 7. How much one person can matter
//!
//! The contribution bound: of one person a window counts at most 3 pages, and 10 visits of each. What is kept is chosen by a
//! keyed hash, the same in every order and on every number of workers.
//!
//! ```
//! # use discreet::prelude::*;
//! # fn pipeline(visits: Fed<'_, (u64, u32, Time)>) {
//! # let windows = visits.protect(|(reader, _, _)| *reader).tumbling(hours(1), |(_, _, time)| *time).from(0);
//! let bounded = windows.bound(Bound::keys(3).per_key(10));
//! # }
//! ```
//!
//! # 8. What is released, with which noise
//!
//! A statistic, its keys, and a mechanism with its price. Keys that are a public list are all released; those that are
//! [discovered](crate::mechanisms::Keys::discover) are released once enough people have them. The claim stands at `release`, and what is wrong with a parameter
//! ends the run there, before a record is read.
//!
//! ```
//! # use discreet::prelude::*;
//! # fn pipeline(visits: Fed<'_, (u64, u32, Time)>, gate: &Gate) {
//! # let bounded = visits.protect(|(reader, _, _)| *reader).tumbling(hours(1), |(_, _, time)| *time).from(0)
//! #     .bound(Bound::keys(3).per_key(10));
//! // Clones share one table of people; each release pays for itself.
//! let visits = bounded
//!     .clone()
//!     .count_by(|(_, page, _)| *page, Keys::public(0..7_u32))
//!     .release(gate, "visits", Gaussian::rho(0.001));
//! let readers = bounded.people().release(gate, "readers", Gaussian::rho(0.001));
//! # }
//! ```
//!
//! # 9. What becomes of it
//!
//! A release is a row of the ledger that was read back. It has typed [cells](crate::dataflow::Release::cells), it is a line for a
//! file, and [`latest`](crate::dataflow::Releases::latest) is a differential collection of its newest values, to join with public
//! data. Whatever is computed from it is public, and costs nothing.
//!
//! ```
//! # use discreet::prelude::*;
//! # fn pipeline(visits: Releases<'_, u32, i128>) {
//! visits.clone().deliver(|release| {
//!     for cell in release.cells().map_err(std::io::Error::other)? {
//!         println!("page {}: {} visits, at least {:?}", cell.key, cell.value, cell.low);
//!     }
//!     Ok(())
//! });
//! visits.latest().filter(|(_, visits)| *visits > 1_000).map(|(page, _)| page).inspect(|change| println!("{change:?}"));
//! # }
//! ```
//!
//! # 10. How long it lasts
//!
//! [`Feeds::budget`](crate::dataflow::Feeds::budget) is a stream of what is spent, with a forecast. A job may react to it, since costs
//! depend on no record.
//!
//! ```
//! # use discreet::prelude::*;
//! # use timely::dataflow::operators::Inspect;
//! # fn pipeline(worker: &mut Worker, feeds: &mut Feeds, gate: &Gate) -> Result<(), RunError> {
//! worker.dataflow(|scope| {
//!     let budget = feeds.budget(scope, gate, seconds(10))?;
//!     budget.alerts([0.5, 0.8, 0.95])?.inspect(|alert| println!("{} of the budget are spent", alert.part));
//!     Ok(())
//! })
//! # }
//! ```
//!
//! # What closures may do
//!
//! Those that name a person, time, key or value see exact records. Each must be a function of its argument alone: what it counts,
//! logs, caches or sends elsewhere leaves without noise, and a closure that panics on a record reveals that it was there. Closures behind
//! `release` see what was released, and may do anything with it.
//!
//! # What a version is
//!
//! A job has a version, 1 by default ([`Opening::version`](crate::gate::Opening::version)). Under one version a window has one answer: asked for again, the
//! same line is given, at no cost. The ledger keeps the parameters of each release, and refuses the same version with others. It
//! cannot see closures: an author who changes a closure takes a new version, as for a new key, another unit of a value, or a
//! filter before `protect`. A new version draws anew and pays anew, from the same account.
//!
//! # Testing a pipeline
//!
//! The noise is made for the bound, and the bound holds for persons, times, keys and values as the closures name them. Whether these
//! are functions of one record alone is the author's word; the crate `discreet-testing`, a dev-dependency, puts it to the test.
//! `exact` returns the tallies before their noise. `assert_bounded` replays a pipeline with all records and without each person, in
//! several orders and on 1, 2 and 4 workers, and fails where one person moves a tally by more than the pipeline declares to its gate.
//! It finds a counter in a closure, a join that multiplies, a time or a key that depends on other records; a map that merges persons where
//! they then move more than the bound. State that outlives a replay, such as a static table of names, it does not find.
//!
//! ```text
//! use discreet_testing::{ExactRun, Script, assert_bounded, exact};
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
//! ```
//!
//! The first page of the kit has the whole of it. Its `Script` has records, declarations of completeness, input gaps, silence and loss
//! in a given order, and `ManualClock` is a clock that the test sets. It works by [`revealed`](crate::dataflow::revealed): a run of
//! exact tallies, which refuses every gate.
//!
//! A job is tested with its gate as well. Take a ledger in a directory of the test with a cap that nothing reaches, and a mechanism so precise that its noise is zero but
//! for one run in 10^30; then the values are those of a plain computation with the same bound. Feed it from a `Script`, on one worker and on several; end it in the middle by an error, start it again, and compare the lines.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use discreet::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = std::env::temp_dir().join(format!("discreet-guided-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! let ledger = directory.join("test.ledger");
//! Ledger::create(&ledger)?.register(&AccountSpec::lifetime("test", PrivacyCost::pure(500.0)?)?)?;
//! let gate = Gate::open(&ledger, "test")?;
//! let seen: Arc<Mutex<Vec<i128>>> = Arc::default();
//! let sees = Arc::clone(&seen);
//! discreet::execute(Config::threads(2)?, move |worker, feeds| {
//!     // Reader 1 twice on page 0: with a bound of one visit a page, one of them counts.
//!     let visits = [(1_u64, 0_u32), (1, 0), (2, 0), (2, 1)];
//!     let own: Vec<_> = visits.into_iter().skip(worker.index()).step_by(worker.peers()).collect();
//!     let sees = Arc::clone(&sees);
//!     worker.dataflow(|scope| {
//!         feeds
//!             .stream(scope, All::of(own))
//!             .protect(|visit| visit.0)
//!             .whole(0, 10, |_| 5)
//!             .bound(Bound::keys(2))
//!             .count_by(|visit| visit.1, Keys::public(0..2_u32))
//!             .release(&gate, "visits", Laplace::epsilon(400.0))
//!             .deliver(move |release| {
//!                 let cells = release.cells().map_err(std::io::Error::other)?;
//!                 sees.lock().unwrap().extend(cells.into_iter().map(|cell| cell.value));
//!                 Ok(())
//!             });
//!     });
//!     Ok(())
//! })?;
//! assert_eq!(*seen.lock().unwrap(), [2, 1]);
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok(())
//! # }
//! ```
