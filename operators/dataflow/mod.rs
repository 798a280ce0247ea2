//! From streams to the gate: what is fed, when a window is complete, and how a run ends.
//!
//! This page is for the reader who must decide whether a window that is released was whole.
//!
//! ```no_run
//! use discreet::dataflow::{All, Config, Deliver, Failure, Plan, Schedule, Statistic, Title};
//! use discreet::gate::Gate;
//! use discreet::time::minutes;
//! # fn statistic() -> impl Statistic<Part = i64> { struct None; impl Statistic for None {
//! #   type Part = i64; type Tally = i64;
//! #   fn tally(&self, _: discreet::accounting::Interval) -> i64 { 0 }
//! #   fn absorb(&self, tally: &mut i64, part: i64) { *tally += part }
//! #   fn charge(&self, _: discreet::accounting::Interval) -> discreet::ledger::Charge { unimplemented!() }
//! #   fn seal(&self, _: discreet::accounting::Interval, _: i64) -> Box<dyn discreet::gate::Sealable> { unimplemented!() }
//! # } None }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let title: Title = unimplemented!();
//! # fn bounded(_: usize) -> Vec<(i64, i64)> { Vec::new() }
//! # let (from, until) = (0, 10);
//!
//! let gate = Gate::open("visits.ledger", "visits")?;                     // once a process, before anything runs
//! let schedule = Schedule::tumbling(minutes(10), from, Some(until))?;    // which windows exist
//! let finished = discreet::execute(Config::threads(2)?, move |worker, feeds| {
//!     let plan = Plan::new(title.clone(), schedule.clone(), statistic()).late(minutes(1))?;
//!     let windows = schedule.clone();
//!     worker.dataflow(|scope| {
//!         feeds
//!             .stream(scope, All::of(bounded(scope.index())))            // this worker's part of the input
//!             .flat_map(move |(time, count)| windows.holding(time).map(move |window| (window, count)))
//!             .release(&gate, plan)
//!             .releases
//!             .deliver(|release| { /* append to a file, and sync it */ Ok(()) });
//!     });
//!     Ok(())
//! })?;
//! std::process::exit(finished.exit_code().into());
//! # }
//! ```
//!
//! # Complete is somebody's word
//!
//! In timely a frontier says which times may still be seen, and it passes a time for two reasons: somebody advanced an
//! input, or an input is gone. A dropped handle, an early `?`, a connector that errs, a thread that ends: all of them
//! look like time that has passed. A window that is released because of one of them is partial, and after a restart it
//! would be asked for again in full.
//!
//! So here an input moves for one reason. A [`Source`] says [`Pulled::Complete`] or [`Pulled::End`]; for a stream that
//! comes from elsewhere a [`Word`] says `complete` and `finish`. Whoever says nothing completes nothing:
//!
//! * Every input handle belongs to the driver. Whoever builds a dataflow holds streams, and what it drops is no input.
//!   What [`Fed::through`] gives back is not complete before what went in is, whatever was done to it.
//! * When something goes wrong on one worker, the gates of the process are told to take nothing more; then all its workers
//!   stop where they are. Nobody steps again, and inputs are leaked rather than dropped, for a dropped input is a closed one.
//! * A panic on any worker ends the process before anything unwinds, with a message that says nothing of its cause. The
//!   other processes of the job see their connections die, and end too.
//! * What was declared only moves forward; a source that takes back its word has failed.
//!
//! # Why the empty frontier closes nothing
//!
//! It says that all inputs have vanished, which is not that time has passed. The operator that releases hands a window to
//! the gate when its input has a frontier, and this frontier is at or after the window's end and lateness. The end of the
//! inputs is a time as well: the last one, which only the driver can declare. In a [`Schedule`] without a last window it
//! closes none, since there would be no end of empty ones.
//!
//! A part of a tally is late if its window closes at or before the time it comes with. That time is what its source had
//! declared when it gave the record, so lateness is a matter of the input, and not of who was scheduled when. What holds
//! back parts until a window is complete sends them at a time below its close.
//!
//! # An end in two phases
//!
//! To declare the last time and close the input in one breath would show the operator the empty frontier alone, and lose
//! windows that were complete. So when its source has ended, an input first waits until all that was declared is
//! settled; then it is moved to the last time. When every input of every worker is there, and every window has its
//! outcome, the inputs are closed.
//!
//! A window has its outcome when its row was read back from the ledger. Until then the operator holds a capability at
//! the window's close, so that every probe, sink and driver that waits for the time to pass waits for durability.
//!
//! # Which windows there are, and what the clock may do
//!
//! The [`Schedule`] decides which windows exist, and nothing else does: a window without a record is released like a full
//! one, a record outside the schedule leaves no trace, and a record from the year 9999 opens at most its own window.
//! No record moves a frontier. A public [`Clock`] may say that a window is too late ([`Plan::skipping`]): then it is
//! skipped, at no cost, and never released late. It may not say that a window is complete.
//!
//! # What is told, and how often
//!
//! Releases leave in order of windows. A row that a former process sealed and did not deliver comes first, once. A sink
//! says that it has taken a release ([`Deliver::deliver`] does, or [`Release::delivered`]); what nobody says so of is told
//! again by the next process, to the byte.
//!
//! # What is in the clear
//!
//! Between the processes of a cluster travel records and tallies before they are noised, without encryption. The hello
//! with which a connection begins keeps strangers out, not attackers. Give addresses of one machine, or of a network that
//! nobody else can reach.
pub mod bounding;
mod calendar;
mod clock;
mod config;
mod connect;
mod deliver;
mod desk;
mod docket;
mod driver;
mod engine;
mod external;
mod failure;
mod faults;
mod feed;
mod pace;
mod release;
mod shared;
mod source;
mod statistic;

pub use calendar::Schedule;
pub use clock::{Clock, SystemClock};
pub use config::Config;
pub use deliver::Deliver;
pub use driver::execute;
pub use engine::{Scope, StreamVec, Travels, Worker};
pub use external::{External, Word};
pub use failure::{Failure, FailureKind, Finished};
pub use feed::{Fed, Feeds};
pub use release::{Outcomes, Plan, Release};
pub use shared::Stop;
pub use source::{All, BATCH, Gone, Pulled, Source};
pub use statistic::{Statistic, Title};

#[cfg(test)]
mod tests;
