//! From streams to the gate: what is fed, when a window is complete, and how a run ends.
//!
//! This page is for the reader who must decide whether a window that is released was whole.
//!
//! ```
//! use discreet::accounting::{Amount, Cost, Interval, Neighbours, Promise};
//! use discreet::dataflow::{All, Config, Deliver, Plan, Schedule, Statistic, Title};
//! use discreet::gate::{Gate, Sealable};
//! use discreet::ledger::{Charge, Digest, Domain, Ledger, Name};
//! use discreet::noise::{DiscreteGaussian, Law, Noise};
//! use discreet::time::minutes;
//!
//! /// How many came: each person once, so that one moves it by at most 1, and rho is 1 / (2 * 50).
//! struct People(Cost);
//!
//! impl Statistic for People {
//!     type Part = i64;
//!     type Tally = i64;
//!     fn tally(&self, _: Interval) -> i64 { 0 }
//!     fn absorb(&self, tally: &mut i64, part: i64) { *tally += part }
//!     fn charge(&self, _: Interval) -> Charge { Charge::Cost(self.0.clone()) }
//!     fn seal(&self, window: Interval, people: i64) -> Box<dyn Sealable> {
//!         let law = DiscreteGaussian::new(50.0);
//!         Box::new(move |noise: &mut Noise| match &law {
//!             Ok(law) => format!("{}: about {} people", window.start(), people + law.draw(noise)),
//!             Err(_) => String::new(),                    // not reached: 50 is a variance
//!         })
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = std::env::temp_dir().join(format!("discreet-page-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! # let path = directory.join("visits.ledger");
//! let cost = Cost::new(Neighbours::PERSON, Amount::zcdp(0.01)?);
//! let visits = Name::new("domain", "visits")?;
//! let domain = Domain::new(visits.clone(), Neighbours::PERSON, Promise::Lifetime, cost.amount().times(6)?)?;
//! Ledger::create(&path)?.register(&domain)?;                             // once, by hand
//!
//! let gate = Gate::open(&path, "visits")?;                               // once a process, before anything runs
//! let name = Name::new("release", "people")?;
//! let version = Digest::of_version(gate.version(), &Digest::of(b"variance 50"));
//! let title = Title { domain: visits, job: gate.job().clone(), version, name };
//! let minute = 60_000_000;
//! let schedule = Schedule::tumbling(minutes(10), 0, Some(60 * minute))?; // which windows exist: six
//! let finished = discreet::execute(Config::threads(2)?, move |worker, feeds| {
//!     let plan = Plan::new(title.clone(), schedule.clone(), People(cost.clone())).late(minutes(1))?;
//!     let windows = schedule.clone();
//!     worker.dataflow(|scope| {
//!         let own = (0..100).map(move |person| person * minute / 2);     // this worker's part of the input
//!         feeds
//!             .stream(scope, All::of(own))
//!             .flat_map(move |time| windows.holding(time).map(|window| (window, 1)))
//!             .release(&gate, plan)
//!             .releases
//!             .deliver(|_release| Ok(()));                               // or append it to a file, and sync that
//!     });
//!     Ok(())
//! })?;
//! assert_eq!((finished.released(), finished.refused(), finished.exit_code()), (6, 0, 0));
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok(())
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
//! The [`Schedule`] decides which windows exist, fixed spans or the months and days of a [`Calendar`], and nothing else
//! does: a window without a record is released like a full one, a record outside the schedule leaves no trace, and a
//! record from the year 9999 opens at most its own window.
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
mod admission;
mod bounded;
mod bounder;
pub mod bounding;
mod calendar;
mod clock;
mod collection;
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
mod naming;
mod office;
mod pace;
mod panes;
mod protect;
mod question;
mod release;
mod schedule;
#[cfg(test)]
mod sentence_tests;
mod shared;
mod source;
mod statistic;
mod tallied;
#[cfg(test)]
mod tests;
mod ticks;
mod told;
mod unit;
mod window;

pub use bounded::Bounded;
pub use calendar::Calendar;
pub use clock::{Clock, SystemClock};
pub use config::Config;
pub use deliver::Deliver;
pub use driver::execute;
pub use engine::{Scope, StreamVec, Travels, Worker};
pub use external::{External, Word};
pub use failure::{Failure, FailureKind, Finished};
pub use feed::{Fed, Feeds};
pub use naming::{Changing, Named, Naming, Once, Unnamed};
pub use protect::{Private, Unplaced};
pub use question::{Averaging, Counting, Grouping, Question, Summing};
#[doc(hidden)]
pub use release::Plan;
pub use release::Release;
pub use schedule::Schedule;
pub use shared::Stop;
pub use source::{All, BATCH, Gone, Pulled, Source};
#[doc(hidden)]
pub use statistic::{Statistic, Title};
pub use tallied::Tallied;
pub use unit::{NamedRecords, People, Person, Records, Unit};
pub use window::Windowed;
