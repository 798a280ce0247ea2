//! The pipeline: from a stream to a private release, and why a released window was complete.
//!
//! A private job is one chain of method calls. Each stage is a type, so that the compiler keeps their order.
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
//!             .protect(|(person, _)| *person)                            // user-level privacy
//!             .tumbling(minutes(10), |(_, time)| *time)                  // the windows
//!             .between(0, "1970-01-01T01:00:00Z")                        // the range of windows: six
//!             .late(minutes(1))
//!             .bound(Bound::keys(1).per_key(5))                          // the contribution bound
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
//! # Stages
//!
//! | stage | method | effect |
//! |---|---|---|
//! | protect | [`protect`](Fed::protect) | user-level privacy: everything that one person did is hidden |
//! | | [`protect_each`](Fed::protect_each) | event-level privacy: one record is hidden; paid by another budget |
//! | | [`protect_collection`](Fed::protect_collection) | user-level privacy of records that may be taken back while their window is open |
//! | | [`identified_by`](Private::identified_by) | duplicates of an id count once |
//! | windows | [`tumbling`](Private::tumbling), [`sliding`](Private::sliding), [`windows`](Private::windows), [`whole`](Private::whole) | half-open intervals of event time |
//! | | [`between`](Unplaced::between), [`from`](Unplaced::from) | the range of windows |
//! | | [`late`](Windowed::late), [`skipping`](Windowed::skipping) | allowed lateness; the time after which a window is given up |
//! | bound | [`bound`](Windowed::bound) | the contribution bound: keys, records of each, and windows of one person |
//! | | [`one_by_one`](Windowed::one_by_one) | each record by itself, for event-level privacy |
//! | statistic | [`count_by`](Bounded::count_by), [`people_by`](Bounded::people_by), [`sum_by`](Bounded::sum_by), [`mean_by`](Bounded::mean_by), [`histogram_by`](Bounded::histogram_by) | by key (partition); without `_by`, of everything |
//! | | [`mean_of`](Bounded::mean_of) | means of several numbers at once: [`within`](MeanOf::within) ranges, [`over`](MeanOf::over) a domain, within ranges that are [found](MeanOf::found_within), or [`stable`](MeanOf::stable) |
//! | | [`max_by`](Bounded::max_by), [`monotone_by`](Bounded::monotone_by), [`quantile_by`](Bounded::quantile_by) | by key, of unbounded values: found by their rank, with an error in people |
//! | over windows | [`running`](Tallied::running), [`running_for`](Tallied::running_for), [`over_last`](Tallied::over_last) | totals of counts, people and sums so far, or over the last windows; paid for once, and a person is bounded over all windows together |
//! | queries | [`answer`](Bounded::answer) | queries of analysts over the kept records, while the stream goes on |
//! | release | [`release`](Tallied::release), [of answers](Answering::release) | a name, and a mechanism with its cost |
//!
//! [`Private`], [`Windowed`], [`Bounded`] and [`Tallied`] cannot be read, captured or mapped, and print as
//! `<private>`. Contribution bounding is the last step before a record counts, so no map and no other key can
//! follow it. Sensitivity follows from the bound ([`mechanisms`](crate::mechanisms)); there is no way to
//! state one.
//!
//! Records travel by `serde`'s `Serialize` and `Deserialize`. Keys are whole numbers or texts; people and ids
//! may be tuples of them too. The caller is responsible for every step before `protect`: it must keep each
//! person's records their own.
//!
//! # Guarantee
//!
//! The adjacency is the same on the whole of this page: one unit more or less
//! ([`AddRemove`](crate::accounting::Relation)). Nothing on it panics, for any parameters, records and state;
//! a closure of the caller that panics ends the process before anything incomplete is released.
//!
//! Two inputs that differ by one unit, a person with everything that the person did or a record, give streams
//! of releases that cannot be distinguished beyond the charged cost. Adding or removing one unit moves the
//! exact tallies of each window by no more than the sensitivity that the noise was made for, for any order,
//! batches, duplicates, lateness and number of workers and processes: the records that count are selected by
//! a keyed hash ([`bounding`]). The set of releases, their windows, order and cost are decided by
//! configuration and the clock alone; so is the amount of noise that is requested, except with partition
//! selection, which is paid for.
//!
//! * **Windows of a person.** A person counts in every window in which the person has a kept record, and each
//!   is charged. With [`windows(n)`](crate::mechanisms::Bound::windows) it is the first `n` in order of their
//!   end, by a count that is sealed with the windows, and the first release pays for `n` of them together.
//!   The count covers everybody who ever came; each window notes the people whom it has admitted, and a full
//!   copy is written when the notes are as long as the last one: an id and 4 bytes a person. Contributions to
//!   windows that are added up are kept the same way: with each key, and 8 bytes.
//! * **Sliding windows** hold a record once, in a pane, and pay for every window over it.
//! * **Keys.** Public keys are released in every window, and a record with another key is left out before it
//!   takes a place from its person's others. A discovered key stays public, across restarts and versions.
//! * **Identity.** Every parameter that privacy depends on is part of a release's name. A version of a job
//!   that requests the same statistic with other parameters is refused; a changed closure needs a new
//!   [version](crate::gate::Opening::version), since the library cannot see the change.
//! * **Several statistics** of one [`Bounded`] share the exchange of the records. Each has its own keys, its
//!   own selection and its own cost.
//!
//! # Queries
//!
//! A statistic is fixed before the first record; a query is asked when the answers before it are known. A
//! bundle of answers is paid for as a whole, by the first of them, and each answer is a row of the ledger
//! under the query's id: asked again, in this process or a later one, the row is released again at no cost.
//! A query after the bundle is used up is refused, in a row as well; a query that cannot be answered at all
//! is reported as [unanswered](Replies::unanswered), and leaves no trace. None of this depends on a record.
//!
//! A query is answered on the last window that closes at or before its time: the *version* of the data that
//! it names. Each worker keeps the versions that may still be named, of its own people, and counts there. The
//! ledger is asked first for an existing answer, so that a repetition costs a look-up and no counting. Where
//! windows lie side by side and nothing is taken back, versions have nothing in common, and each is kept in
//! columns. Otherwise they are one differential arrangement of each person's records, and a window that moves
//! costs the records that enter and leave it; the version of the last query has columns as well.
//! `cargo bench --bench queries` has both.
//!
//! The time of a count depends on the number of kept records, and so by some nanoseconds on each person. An
//! analyst who must not learn even that is answered by a public clock, as all releases of a job are.
//!
//! # Data movement
//!
//! *source → (by person) → bounded, panes of partial sums → to worker 0 → every input complete → gate: look
//! up, draw, seal, read back → release → sink.* Records travel once, partial sums once for each window and
//! key of a worker. The records of [`protect_each`](Fed::protect_each) do not travel at all.
//!
//! # Completeness is declared
//!
//! In timely a frontier says which times may still be seen, and it passes a time for two reasons: an input
//! was advanced, or an input is gone. A dropped handle, an early `?`, a connector that fails, a thread that
//! ends: all of them look like time that has passed. A window that is released because of one of them is
//! partial, and after a restart it would be requested again in full.
//!
//! So here an input advances for one reason. A [`Source`] returns [`Pulled::Complete`] or [`Pulled::End`]; a
//! stream from elsewhere has a [`WorkerDeclaration`] with `complete` and `finish`. An input without a
//! declaration completes nothing:
//!
//! * Every input handle belongs to the driver. The builder of a dataflow holds streams, and a dropped stream
//!   is no input. The output of [`Fed::through`] is not complete before its input was, whatever is done to
//!   it.
//! * When a worker fails, the gates of the process are halted; then all its workers stop where they are. No
//!   worker steps again, and inputs are leaked rather than dropped, for a dropped input is a closed one.
//! * A panic on any worker ends the process before anything unwinds, with a message that reveals nothing of
//!   its cause. The other processes of the job see their connections die, and end too.
//! * A declaration only moves forward; a source that takes one back has failed.
//!
//! # The empty frontier closes nothing
//!
//! An empty frontier says that all inputs have vanished, which is not that time has passed. The release
//! operator submits a window to the gate when its input has a frontier, and this frontier is at or after the
//! window's end and lateness. The end of the inputs is a time as well: the last one, which only the driver
//! can declare. In a [`Schedule`] without a last window it closes none, since there would be no end of empty
//! ones.
//!
//! A part of a tally is late if its window closes at or before the time it comes with. That time is the one
//! that its source had declared when it gave the record, so lateness is a matter of the input, and not of the
//! scheduling of workers. An operator that holds back parts until a window is complete sends them at a time
//! below its close.
//!
//! # An end in two phases
//!
//! To declare the last time and close the input in one step would show the operator the empty frontier alone,
//! and lose windows that were complete. So when its source has ended, an input first waits until all
//! declarations are settled; then it is moved to the last time. When every input of every worker is there,
//! and every window has its outcome, the inputs are closed.
//!
//! A window has its outcome when its row was read back from the ledger. Until then the operator holds a
//! capability at the window's close, so that every probe, sink and driver that waits for the time to pass
//! waits for durability.
//!
//! # Schedule and clock
//!
//! The [`Schedule`] decides which windows exist, fixed spans or the months and days of a [`Calendar`], and
//! nothing else does: a window without a record is released like a full one, a record outside the schedule
//! leaves no trace, and a record from the year 9999 opens at most its own window. No record moves a frontier.
//! A public [`Clock`] may declare a window too late ([`Windowed::skipping`]): then it is skipped, at no cost,
//! and never released late. A clock never declares a window complete.
//!
//! # Order and repetition of releases
//!
//! Releases leave in order of windows. A row that a former process sealed and did not deliver comes first,
//! once. A sink acknowledges a release ([`Deliver::deliver`] does, or [`LeavingRelease::delivered`]); a
//! release without an acknowledgement is released again by the next process, to the byte.
//!
//! # Rules for closures
//!
//! The closures that name a record's person, id, time, key and value, and the functions of
//! [`max_by`](Bounded::max_by) and [`monotone_by`](Bounded::monotone_by), see records as they are. Each must
//! be a function of its argument alone, without side effects: anything that it counts, logs, caches or sends
//! elsewhere leaves without noise and without a charge, and the library cannot see it. A closure that panics
//! on a record ends the process, which reveals that the record was there.
//!
//! For the same reason [`Worker`] shows dataflows and indices only. Timely's logging counts messages behind
//! the bound, so a process that releases must not install a logger, as a [`Scope`]'s own worker still allows.
//!
//! # Unencrypted connections
//!
//! Records and tallies before noise travel between the processes of a cluster, without encryption. The
//! handshake of a connection keeps strangers out, not attackers. Give addresses of one machine, or of a
//! network that nobody else can reach.
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
