//! The sentence: from a stream to a private release, and why a window that is released was whole.
//!
//! A private job reads as one sentence. Each word is a method and each step a type, so that the compiler
//! keeps the order.
//!
//! ```
//! use discreet::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = std::env::temp_dir().join(format!("discreet-page-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! # let path = directory.join("visits.ledger");
//! let visits = AccountSpec::lifetime("visits", Budget::zcdp(0.1))?;
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
//! # The words
//!
//! | step | word | what it says |
//! |---|---|---|
//! | protect | [`protect`](Fed::protect) | everything that one person did is hidden |
//! | | [`protect_each`](Fed::protect_each) | one record is hidden: another unit, paid by another budget |
//! | | [`protect_collection`](Fed::protect_collection) | a person's records, which may be taken back while their window is open |
//! | | [`identified_by`](Private::identified_by) | duplicates of an id count once |
//! | windows | [`tumbling`](Private::tumbling), [`sliding`](Private::sliding), [`windows`](Private::windows), [`whole`](Private::whole) | half-open spans of event time |
//! | | [`between`](Unplaced::between), [`from`](Unplaced::from) | which of them exist |
//! | | [`late`](Windowed::late), [`skipping`](Windowed::skipping) | how long one stays open, and when it is given up |
//! | bound | [`bound`](Windowed::bound) | at most so many keys and records of a person a window, and so many windows |
//! | | [`one_by_one`](Windowed::one_by_one) | each record by itself |
//! | statistic | [`count_by`](Bounded::count_by), [`people_by`](Bounded::people_by), [`sum_by`](Bounded::sum_by), [`mean_by`](Bounded::mean_by), [`histogram_by`](Bounded::histogram_by) | by key; without `_by`, of everything |
//! | | [`mean_of`](Bounded::mean_of) | of several numbers at once: [`within`](MeanOf::within) ranges, [`over`](MeanOf::over) an account, within ranges that are [found](MeanOf::found_within), or [`stable`](MeanOf::stable) |
//! | | [`max_by`](Bounded::max_by), [`monotone_by`](Bounded::monotone_by), [`quantile_by`](Bounded::quantile_by) | by key, of values that nothing bounds: found by their rank, and off by so many people |
//! | over windows | [`running`](Tallied::running), [`running_for`](Tallied::running_for), [`over_last`](Tallied::over_last) | counts, people and sums, added up: so far, or of the last windows; paid for once, and a person is bounded over all of them together |
//! | questions | [`answer`](Bounded::answer) | whatever somebody asks of the records that are kept, while the stream goes on |
//! | release | [`release`](Tallied::release), [of answers](Answering::release) | a name, and a mechanism with its price |
//!
//! [`Private`], [`Windowed`], [`Bounded`] and [`Tallied`] cannot be looked at, captured or mapped, and print
//! as `<private>`. Bounding is the last thing that happens to a record before it counts, so no map and no
//! other key can follow it. Sensitivity follows from the bound ([`mechanisms`](crate::mechanisms)); there is
//! nowhere to state one.
//!
//! Records travel by `serde`'s `Serialize` and `Deserialize`. Keys are whole numbers or texts; people and ids
//! may be tuples of them too. What is done before `protect` is the caller's: it must keep each person's
//! records their own.
//!
//! # What is promised
//!
//! The relation is the same on the whole of this page: one unit more or less
//! ([`AddRemove`](crate::accounting::Relation)). Nothing on it panics, whatever the parameters, the records
//! and the state; a closure of yours that does ends the process before anything incomplete is released.
//!
//! Two inputs that differ by one unit, a person with everything that the person did or a record, give streams
//! of releases that cannot be told apart beyond what was charged for them. Adding or taking away one unit
//! moves the exact tallies of each window by no more than the sensitivity that the noise was made for,
//! whatever the order, the batches, the duplicates, the lateness and the number of workers and processes:
//! what is kept of a person is chosen by a keyed hash ([`bounding`]). Which releases there are, of which
//! windows, in which order and at which price is decided by configuration and the clock alone; so is how much
//! noise is asked for, but where keys are discovered, which is paid for.
//!
//! * **Windows of a person.** A person counts in every window in which the person has a kept record, and each
//!   is charged. With [`windows(n)`](crate::mechanisms::Bound::windows) it is the first `n` in order of their
//!   end, by a count that is sealed with the windows, and the first release pays for `n` of them together.
//!   The count is of everybody who ever came; each window notes whom it has admitted, and everybody is
//!   written again when as much was noted: an id and 4 bytes a person. What people bring to windows that are
//!   added up is kept the same way: with each key of theirs, and 8 bytes.
//! * **Sliding windows** hold a record once, in a pane, and pay for every window over it.
//! * **Keys.** Public ones are told in every window, and what has another key is left out before it takes a
//!   place from its person's others. Discovered ones stay public once they are, across restarts and versions.
//! * **Identity.** Every parameter that privacy depends on is part of a release's name. A version of a job
//!   that asks for the same statistic with other parameters is refused; a changed closure needs a new
//!   [version](crate::gate::Opening::version), since nobody can see it change.
//! * **Several statistics** of one [`Bounded`] share the way of the records to the workers that bound them.
//!   Each has its own keys, its own choice and its own price.
//!
//! # Questions
//!
//! A statistic is fixed before the first record; a question is asked when the answers before it are known. A
//! bundle of answers is paid for as a whole, by the first of them, and each is a row of the ledger under the
//! question's id: asked again, in this process or a later one, it is told again and costs nothing. What comes
//! when the bundle is spent is told that, in a row as well; a question that cannot be answered at all is
//! [said](Replies::unanswered) to be so, and leaves no trace. None of this depends on a record.
//!
//! A question is answered on the last window that closes at or before its time: the *version* of the data
//! that it names. Each worker keeps the versions that may still be named, of its own people, and counts
//! there: what is asked of a question before is whether the ledger has its answer, so that a repetition costs
//! a look-up and no counting. Where windows lie side by side and nothing is taken back, versions have nothing
//! in common, and each is kept in columns. Otherwise they are one differential arrangement of what each
//! person's records come to, and a window that moves costs what enters and leaves it; of the version that was
//! asked about last there are columns as well. `cargo bench --bench queries` has both.
//!
//! How long a count takes depends on how many records are kept, and so by some nanoseconds on each person.
//! Whoever must not learn even that is told answers by a public clock, as all releases of a job are.
//!
//! # What travels
//!
//! *source → (by person) → bounded, panes of partial sums → to worker 0 → every input complete → gate: look
//! up, draw, seal, read back → release → sink.* Records travel once, partial sums once for each window and
//! key of a worker. The records of [`protect_each`](Fed::protect_each) do not travel at all.
//!
//! # Complete is somebody's word
//!
//! In timely a frontier says which times may still be seen, and it passes a time for two reasons: somebody
//! advanced an input, or an input is gone. A dropped handle, an early `?`, a connector that errs, a thread
//! that ends: all of them look like time that has passed. A window that is released because of one of them is
//! partial, and after a restart it would be asked for again in full.
//!
//! So here an input moves for one reason. A [`Source`] says [`Pulled::Complete`] or [`Pulled::End`]; for a
//! stream that comes from elsewhere a [`WorkerDeclaration`] says `complete` and `finish`. Whoever says
//! nothing completes nothing:
//!
//! * Every input handle belongs to the driver. Whoever builds a dataflow holds streams, and what it drops is
//!   no input. What [`Fed::through`] gives back is not complete before what went in is, whatever was done to
//!   it.
//! * When something goes wrong on one worker, the gates of the process are told to take nothing more; then
//!   all its workers stop where they are. Nobody steps again, and inputs are leaked rather than dropped, for
//!   a dropped input is a closed one.
//! * A panic on any worker ends the process before anything unwinds, with a message that says nothing of its
//!   cause. The other processes of the job see their connections die, and end too.
//! * What was declared only moves forward; a source that takes back its word has failed.
//!
//! # Why the empty frontier closes nothing
//!
//! It says that all inputs have vanished, which is not that time has passed. The operator that releases hands
//! a window to the gate when its input has a frontier, and this frontier is at or after the window's end and
//! lateness. The end of the inputs is a time as well: the last one, which only the driver can declare. In a
//! [`Schedule`] without a last window it closes none, since there would be no end of empty ones.
//!
//! A part of a tally is late if its window closes at or before the time it comes with. That time is what its
//! source had declared when it gave the record, so lateness is a matter of the input, and not of who was
//! scheduled when. What holds back parts until a window is complete sends them at a time below its close.
//!
//! # An end in two phases
//!
//! To declare the last time and close the input in one breath would show the operator the empty frontier
//! alone, and lose windows that were complete. So when its source has ended, an input first waits until all
//! that was declared is settled; then it is moved to the last time. When every input of every worker is
//! there, and every window has its outcome, the inputs are closed.
//!
//! A window has its outcome when its row was read back from the ledger. Until then the operator holds a
//! capability at the window's close, so that every probe, sink and driver that waits for the time to pass
//! waits for durability.
//!
//! # Which windows there are, and what the clock may do
//!
//! The [`Schedule`] decides which windows exist, fixed spans or the months and days of a [`Calendar`], and
//! nothing else does: a window without a record is released like a full one, a record outside the schedule
//! leaves no trace, and a record from the year 9999 opens at most its own window. No record moves a frontier.
//! A public [`Clock`] may say that a window is too late ([`Windowed::skipping`]): then it is skipped, at no
//! cost, and never released late. It may not say that a window is complete.
//!
//! # What is told, and how often
//!
//! Releases leave in order of windows. A row that a former process sealed and did not deliver comes first,
//! once. A sink says that it has taken a release ([`Deliver::deliver`] does, or
//! [`LeavingRelease::delivered`]); what nobody says so of is told again by the next process, to the byte.
//!
//! # What closures must not do
//!
//! The closures that name a record's person, id, time, key and value, and the functions of
//! [`max_by`](Bounded::max_by) and [`monotone_by`](Bounded::monotone_by), see records as they are. Each must
//! be a function of its argument alone, without side effects: what it counts, logs, caches or sends elsewhere
//! leaves without noise and without a price, and nothing here can see that it does. A closure that panics on
//! a record ends the process, which tells that the record was there.
//!
//! For the same reason [`Worker`] shows dataflows and places only. Timely's logging counts messages behind
//! the bound, so a process that releases must not install a logger, as a [`Scope`]'s own worker still allows.
//!
//! # What is in the clear
//!
//! Between the processes of a cluster travel records and tallies before they are noised, without encryption.
//! The hello with which a connection begins keeps strangers out, not attackers. Give addresses of one
//! machine, or of a network that nobody else can reach.
pub mod bounding;
mod driver;
mod engine;
mod pipeline;
mod release;
#[cfg(test)]
mod tests;
mod windows;

pub use driver::{
    All, BATCH, Config, External, FailureKind, Fed, Feeds, Finished, Pulled, RunError, Source, SourceError,
    Stop, Worker, WorkerDeclaration, announce_end, execute,
};
#[cfg(feature = "cli")]
pub(crate) use driver::{Joined, Peers};
pub use engine::{Scope, StreamVec, Travels};
pub use pipeline::{
    Accumulated, Aggregation, Answering, Averaged, Averaging, Bounded, CountingByKey, DistinctRecords,
    GroupingKey, KeyedAggregation, MeanOf, Multiplicity, NamedRecords, OneRecordPerPerson, Owned, People,
    Person, Private, ProtectedUnit, Ranking, RecordId, RecordIdentity, Records, Replies, Searching,
    SumsByKey, TakesBack, Tallied, Unplaced, Vector, Windowed,
};
#[cfg(feature = "cli")]
pub(crate) use pipeline::{CHOICE, Everything, ExactCells, Terms, charge, terms};
#[cfg(feature = "cli")]
pub(crate) use release::hand_over;
pub use release::{Deliver, LeavingRelease, Unanswered};
#[doc(hidden)]
pub use release::{StatisticSchedule, Title, WindowStatistic};
pub use windows::{Calendar, Clock, Schedule, SystemClock};
