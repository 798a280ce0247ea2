//! From streams to the gate: what is fed, when a window is complete, and how a run ends.
//!
//! This page is for whoever writes a sentence, and for the reader who must decide whether a window that is released was
//! whole.
//!
//! # The sentence
//!
//! Each word is a method, each step a type of its own, and the compiler keeps their order. What stands between
//! [`protect`](Fed::protect) and [`release`](Tallied::release) has no way out.
//!
//! ```
//! use discreet::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = std::env::temp_dir().join(format!("discreet-page-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! # let path = directory.join("visits.ledger");
//! let visits = Domain::lifetime("visits", Budget::zcdp(0.1))?;
//! Ledger::create(&path)?.register(&visits)?;                             // once, by hand
//!
//! let gate = Gate::open(&path, "web")?;                                  // once a process, before anything runs
//! let finished = discreet::execute(Config::threads(2)?, move |worker, feeds| {
//!     let own = worker.index() as i64;
//!     let own_part = (0..300).map(move |visit| (visit % 90, visit * 10_000_000 + own));
//!     worker.dataflow(|scope| {
//!         feeds
//!             .stream(scope, All::of(own_part))                          // this worker's part of the input
//!             .protect(|(person, _)| *person)                            // who is protected
//!             .tumbling(minutes(10), |(_, time)| *time)                  // over which spans
//!             .between(0, "1970-01-01T01:00:00Z")                        // which windows there are: six
//!             .late(minutes(1))
//!             .bound(Bound::keys(1).per_key(5))                          // how much one person can matter
//!             .count()                                                   // exact, and still private
//!             .release(&gate, "visits", Gaussian::rho(0.01))             // an ordinary stream of releases
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
//! | step | words |
//! |---|---|
//! | whom | [`protect`](Fed::protect), [`protect_each`](Fed::protect_each) (single records), [`protect_collection`](Fed::protect_collection) (records that may be taken back); [`identified_by`](Private::identified_by) |
//! | when | [`tumbling`](Private::tumbling), [`sliding`](Private::sliding), [`windows`](Private::windows) of a [`Calendar`], each with [`from`](Unplaced::from) or [`between`](Unplaced::between); [`whole`](Private::whole); [`late`](Windowed::late) |
//! | how much | [`bound`](Windowed::bound), or [`one_by_one`](Windowed::one_by_one) for records; cloned, it serves several statistics |
//! | what | [`count`](Bounded::count), [`people`](Bounded::people), [`sum`](Bounded::sum), [`mean`](Bounded::mean), each also `_by` a key; [`histogram_by`](Bounded::histogram_by) |
//! | at what price | [`release`](Tallied::release), by a [`Gaussian`](crate::mechanisms::Gaussian) or [`Laplace`](crate::mechanisms::Laplace); [`charged_to`](Tallied::charged_to) |
//!
//! Records travel by `serde`'s `Serialize` and `Deserialize`. Keys are whole numbers or texts; people and ids may be tuples
//! of them too. What is done before `protect` is the caller's: it must keep each person's records their own.
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
