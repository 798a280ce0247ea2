//! The pipeline: from a stream to a private release, and the proof that a released window was complete.
//!
//! A private job is a chain of stages. Each stage is a method and each intermediate result a type, so that
//! the compiler keeps the order.
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
//! # The stages
//!
//! | part | stage | meaning |
//! |---|---|---|
//! | protect | [`protect`](Fed::protect) | all records of one person are hidden (user-level) |
//! | | [`protect_each`](Fed::protect_each) | one record is hidden (event-level): another unit, paid by another budget |
//! | | [`protect_collection`](Fed::protect_collection) | a person's records, which may be retracted while their window is open |
//! | | [`identified_by`](Private::identified_by) | duplicates of an id count once |
//! | windows | [`tumbling`](Private::tumbling), [`sliding`](Private::sliding), [`windows`](Private::windows), [`whole`](Private::whole) | half-open spans of event time |
//! | | [`between`](Unplaced::between), [`from`](Unplaced::from) | the range in which they exist |
//! | | [`late`](Windowed::late), [`skipping`](Windowed::skipping) | the allowed lateness, and the deadline after which a window is skipped |
//! | bound | [`bound`](Windowed::bound) | the contribution bound: the number of keys and records of a person in a window, and the number of windows |
//! | | [`one_by_one`](Windowed::one_by_one) | each record by itself |
//! | statistic | [`count_by`](Bounded::count_by), [`people_by`](Bounded::people_by), [`sum_by`](Bounded::sum_by), [`mean_by`](Bounded::mean_by), [`histogram_by`](Bounded::histogram_by) | by key; without `_by`, of everything |
//! | | [`mean_of`](Bounded::mean_of) | of several numbers at once: [`within`](MeanOf::within) ranges, [`over`](MeanOf::over) a data domain, within ranges that are [found](MeanOf::found_within), or [`stable`](MeanOf::stable) |
//! | | [`max_by`](Bounded::max_by), [`monotone_by`](Bounded::monotone_by), [`quantile_by`](Bounded::quantile_by) | by key, of unbounded values: found by their rank, with an error that is a number of people |
//! | over windows | [`running`](Tallied::running), [`running_for`](Tallied::running_for), [`over_last`](Tallied::over_last), [`people_of_last`](Tallied::people_of_last) | counts, people and sums, added up: so far, or of the last windows; paid for once, and a person is bounded over all of them together |
//! | queries | [`answer`](Bounded::answer) | any query of an analyst over the kept records, while the stream goes on |
//! | release | [`release`](Tallied::release), [of answers](Answering::release) | a name, and a mechanism with its cost |
//!
//! [`Private`], [`Windowed`], [`Bounded`] and [`Tallied`] cannot be inspected, captured or mapped, and print
//! as `<private>`. Contribution bounding is the last step before a record counts, so no map and no other key
//! can follow it. Sensitivity follows from the bound ([`mechanisms`](crate::mechanisms)); there is no place
//! to state one.
//!
//! Records travel by `serde`'s `Serialize` and `Deserialize`. Keys are whole numbers or texts; people and ids
//! may be tuples of them too. The steps before `protect` are the caller's responsibility: they must not mix
//! the records of one person with another's.
//!
//! # Guarantees
//!
//! The relation is the same on the whole of this page: one unit more or less
//! ([`AddRemove`](crate::accounting::Relation)). Nothing on it panics, whatever the parameters, the records
//! and the state; a closure of the caller that panics ends the process before anything incomplete is
//! released.
//!
//! Two inputs that differ by one unit, a person with all of the person's records or one record, give streams
//! of releases that cannot be distinguished beyond the charged privacy cost. Adding or removing one unit
//! moves the exact tallies of each window by no more than the sensitivity that the noise was made for,
//! whatever the order, the batches, the duplicates, the lateness and the number of workers and processes: a
//! keyed hash selects the records of a person that count ([`bounding`]). Configuration and the clock alone
//! decide the releases, their windows, their order and their costs; they also decide the amount of noise,
//! except where keys are discovered, which is paid for.
//!
//! * **Windows of a person.** A person counts in every window in which the person has a kept record, and each
//!   is charged. With [`windows(n)`](crate::mechanisms::Bound::windows) it is the first `n` in order of their
//!   end, by a count that is sealed with the windows, and the first release pays for `n` of them together.
//!   The count covers every person who ever had a record; each window notes the persons that it has admitted,
//!   and the whole table is written again when the notes have grown as large as it: an id and 4 bytes a
//!   person. Contributions to windows that are added up are kept the same way: with each key of the person,
//!   and 8 bytes.
//! * **Sliding windows** hold a record once, in a pane, and pay for every window over it.
//! * **Keys.** Public keys are released in every window, and a record with another key is dropped before it
//!   takes the place of another record of its person. Discovered keys stay public, across restarts and
//!   versions.
//! * **Identity.** Every parameter that privacy depends on is part of a release's name. A version of a job
//!   that requests the same statistic with other parameters is refused; a changed closure needs a new
//!   [version](crate::gate::Opening::version), since the library cannot see it change.
//! * **Several statistics** of one [`Bounded`] share the exchange of records to the workers that bound them.
//!   Each has its own keys, its own contribution selection and its own cost.
//!
//! # Queries
//!
//! A statistic is fixed before the first record; a query is asked when the answers before it are known. A
//! bundle of answers is paid for as a whole, by the first of them, and each is a row of the ledger under the
//! query's id: asked again, in this process or a later one, it is given out again and costs nothing. A query
//! that comes when the bundle is used up is refused, in a row as well; a query that cannot be answered at all
//! is [reported](Replies::unanswered), and leaves no trace. None of this depends on a record.
//!
//! A query is answered on the last window that closes at or before its time: the *version* of the data that
//! it names. Each worker keeps the versions that may still be named, of its own people, and counts there;
//! before that, the gate looks for the answer in the ledger, so that a repetition costs a look-up and no
//! counting. Where windows lie side by side and nothing is retracted, versions have nothing in common, and
//! each is kept in columns. Otherwise they are one differential arrangement of the contributions of each
//! person, and a window that moves costs the records that enter and leave it; the version that the last query
//! named is kept in columns as well. `cargo bench --bench queries` measures both.
//!
//! The time of a count depends on the number of kept records, and so by some nanoseconds on each person. An
//! analyst who must not learn even that gets answers by a public clock, as all releases of a job are
//! delivered.
//!
//! # Data flow
//!
//! *source → (by person) → bounded, panes of partial sums → to worker 0 → every input complete → gate: look
//! up, draw, seal, read back → release → sink.* Records travel once, partial sums once for each window and
//! key of a worker. The records of [`protect_each`](Fed::protect_each) do not travel at all.
//!
//! # Completeness is declared
//!
//! In timely a frontier says which times may still occur, and it passes a time for two reasons: an input was
//! advanced, or an input is gone. A dropped handle, an early `?`, a connector that fails, a thread that ends:
//! all of them look like time that has passed. A window that is released because of one of them is partial,
//! and after a restart it would be requested again in full.
//!
//! So here an input moves for one reason. A [`Source`] returns [`Pulled::Complete`] or [`Pulled::End`]; for a
//! stream that the driver does not feed, a [`WorkerDeclaration`] declares `complete` and `finish`. Without a
//! declaration nothing is complete:
//!
//! * Every input handle belongs to the driver. The closure that builds a dataflow holds streams, and dropping
//!   a stream drops no input. The output of [`Fed::through`] is not complete before its input is, whatever
//!   operators are in between.
//! * On an error of one worker, the gates of the process first stop taking requests; then all its workers
//!   stop where they are. No worker steps again, and inputs are leaked rather than dropped, for a dropped
//!   input is a closed one.
//! * A panic on any worker ends the process before anything unwinds, with a message that says nothing of its
//!   cause. The other processes of the job see their connections die, and end too.
//! * Declared times only move forward; a source that contradicts its earlier declaration has failed.
//!
//! # Inside a program that runs timely
//!
//! An [`Attachment`] puts a pipeline into a program's own `timely::execute`: the program steps its workers, builds what it
//! likes beside the pipeline, pushes records ([`Feeds::input`]), or has a pipeline adopt its streams and its differential
//! collections by the completeness that it declares ([`Feeds::external`]). [`Feeds::carry`] takes streams of other
//! timestamps in, and releases out. The guarantees are those of the driver: an early return, a dropped part and a panic complete
//! nothing. Its page says what the program must do for that.
//!
//! # Input gaps
//!
//! A source that was not connected for a time, and cannot read again what came in it, reports
//! [`Pulled::Gap`]. The gaps of an input are a stream of their own, which goes to the worker that releases; a
//! window is submitted once this stream, too, has passed its close, and one that overlaps a gap is skipped, at
//! no cost. So no window is answered from a part of its records.
//!
//! # Why the empty frontier closes nothing
//!
//! An empty frontier means that all inputs have vanished, which is not that time has passed. The operator
//! that releases submits a window to the gate when its input has a frontier, and this frontier is at or after
//! the window's end and lateness. The end of the inputs is a time as well: the last one, which only the
//! driver can declare. In a [`Schedule`] without a last window it closes none, since there would be no end of
//! empty ones.
//!
//! A part of a tally is late if its window closes at or before the time it is sent at. That time is the
//! completeness that its source had declared when it gave the record, so lateness depends on the input, and
//! not on the scheduling of workers. An operator that holds back parts until a window is complete sends them
//! at a time below its close.
//!
//! # An end in two phases
//!
//! To declare the last time and close the input in one step would show the operator the empty frontier alone,
//! and lose windows that were complete. So when its source has ended, an input first waits until every
//! declared window is settled; then it is advanced to the last time. When every input of every worker is
//! there, and every window has its outcome, the inputs are closed.
//!
//! A window has its outcome when its row was read back from the ledger. Until then the operator holds a
//! capability at the window's close, so that every probe, sink and driver that waits for the time to pass
//! waits for durability.
//!
//! # Existence of windows, and the role of the clock
//!
//! The [`Schedule`] decides which windows exist, fixed spans or the months and days of a [`Calendar`], and
//! nothing else does: a window without a record is released like a full one, a record outside the schedule
//! leaves no trace, and a record from the year 9999 opens at most its own window. No record moves a frontier.
//! A public [`Clock`] may say that a window is too late ([`Windowed::skipping`]): then it is skipped, at no
//! cost, and never released late. It may not say that a window is complete.
//!
//! # Delivery
//!
//! Releases leave in order of windows. A row that a former process sealed and did not deliver comes first,
//! once. A sink confirms that it has taken a release ([`Releases::deliver`] does, or
//! [`LeavingRelease::delivered`]); an unconfirmed release is delivered again by the next process, to the
//! byte.
//!
//! # Typed cells and collections
//!
//! [`Release::cells`] reads the line that was sealed as typed values: a key, a whole number, a mean or a vector, its interval
//! and its noise. They are never kept from the draw, so a release that is delivered again has equal cells.
//! [`Releases::latest`] and [`Releases::history`] are differential collections of them, for joins with public data and
//! for whatever else is computed from them: all of it is public, and costs nothing. A process that is started again reads
//! what they held from the ledger.
//!
//! ```
//! use discreet::prelude::*;
//!
//! # fn pipeline(gate: &Gate, visits: discreet::dataflow::Fed<'_, (u64, u32, i64)>) {
//! let readers = visits
//!     .protect(|visit| visit.0)
//!     .tumbling(hours(1), |visit| visit.2)
//!     .from("2026-11-01")
//!     .bound(Bound::keys(3))
//!     .people_by(|visit| visit.1, Keys::public(0..40_u32))
//!     .release(gate, "readers", Gaussian::rho(0.01));
//! readers.clone().deliver(|release| {
//!     for cell in release.cells().map_err(std::io::Error::other)? {
//!         println!("page {}: {} readers, at least {:?}", cell.key, cell.value, cell.low);
//!     }
//!     Ok(())
//! });
//! // The number of pages that had more than a thousand readers in the last hour.
//! readers.latest().filter(|(_, readers)| *readers > 1_000).map(|_| ()).inspect(|change| println!("{change:?}"));
//! # }
//! ```
//!
//! # Budgets
//!
//! [`Feeds::budget`] is a stream of the status of each account of the ledger after each commit, also of other processes: what is
//! spent, the cap, how long it lasts at the present pace, and what was refused. [`BudgetStream::alerts`] are the parts of a budget that have
//! been spent, and [`BudgetStream::latest`] is a differential collection.
//!
//! A job may react to it: it may stop, release less often, or choose other mechanisms and costs. Costs and forecasts depend on no record, and the
//! filter of an account is proved for mechanisms that are chosen by all that was released and charged before (fully adaptive
//! composition). It must not choose by anything exact, such as the number of records, the time of one, or whether any came: that
//! choice would be a release that nobody has paid for. The example `hourly_then_daily` ends its hourly releases and begins daily ones.
//!
//! # Restrictions on closures
//!
//! The closures that name a record's person, id, time, key and value, and the functions of
//! [`max_by`](Bounded::max_by) and [`monotone_by`](Bounded::monotone_by), see exact records. Each must be a
//! function of its argument alone, without side effects: anything that it counts, logs, caches or sends
//! elsewhere leaves without noise and without a charge, and the library cannot detect it. A closure that
//! panics on a record ends the process, which reveals that the record was there.
//!
//! For the same reason [`Worker`] shows dataflows, its index and the number of workers only. Timely's logging
//! counts messages behind the bound, so a process that releases must not install a logger, as a [`Scope`]'s
//! own worker still allows.
//!
//! # Tests of a pipeline
//!
//! A run of [`revealed::execute`] has no gate, and the pipelines in it end in [`reveal`](Tallied::reveal): the exact tally of
//! each window, by the same windows, completeness and contribution bounding. It shows what a closure makes of records, and the crate
//! `discreet-testing` replays it without each person. The [guide](crate::guide#testing-a-pipeline) has an example.
//!
//! # Unencrypted traffic
//!
//! Records, and tallies before they are noised, travel between the processes of a cluster without encryption.
//! The hello with which a connection begins keeps strangers out, not attackers. Give addresses of one
//! machine, or of a network that nobody else can reach.
pub mod bounding;
mod driver;
mod engine;
mod graph;
mod messages;
mod pipeline;
mod release;
mod spill;
#[cfg(test)]
mod tests;
mod windows;

#[cfg(all(test, feature = "cli"))]
pub(crate) use driver::InputPositions;
#[cfg(feature = "arrow")]
pub(crate) use driver::silently;
pub use driver::{
    All, Attached, Attachment, BATCH, Carried, Config, External, FailureKind, Fed, Feeds, Finished,
    Milestone, Pulled, PushedInput, RunError, Source, SourceError, Stop, Worker, WorkerDeclaration,
    WrittenPosition, announce_end, execute,
};
#[cfg(feature = "cli")]
pub(crate) use driver::{Joined, ORIGIN, Peers, report_end};
pub use engine::{Scope, StreamVec, Travels};
pub use graph::{Drawing, Graph};
pub use pipeline::revealed;
pub use pipeline::{
    Accumulated, Aggregation, Alerting, Answering, Averaged, Averaging, Bounded, CountingByKey,
    DistinctRecords, GroupingKey, IntoVector, KeyedAggregation, LifetimeBound, MeanOf, Multiplicity,
    NamedRecords, OneRecordPerPerson, Owned, PairSumming, People, Person, Picking, Private, ProtectedUnit,
    Ranking, RankingPeople, RecordId, RecordIdentity, Records, Replies, RunningPairs, Searching, SumsByKey,
    TakesBack, Tallied, Unplaced, Vector, Windowed,
};
#[cfg(feature = "cli")]
pub(crate) use pipeline::{CHOICE, EverySquare, Everything, ExactCells, RecordFilter, Terms, charge, terms};
pub use release::{
    BudgetAlert, BudgetBrief, BudgetStream, Deliver, LeavingRelease, OtherTypes, Release, Releases, Reply,
    Unanswered,
};
#[cfg(feature = "cli")]
pub(crate) use release::{ExactTotals, each_of, hand_over};
#[doc(hidden)]
pub use release::{StatisticSchedule, Title, WindowStatistic};
#[cfg(feature = "cli")]
pub(crate) use spill::SpillSpace;
#[cfg(test)]
pub(crate) use windows::ClockReading;
pub use windows::{BelievedTime, Calendar, Clock, ClockEvent, GuardedClock, Schedule, SystemClock, Weekday};
