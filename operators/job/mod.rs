//! Jobs: pipelines that `discreet` runs from a job file, written down rather than programmed.
//!
//! ```text
//! file ─config─▶ Job ────────▶ release plans ─┬─plan──▶ a page of words and figures
//!                                            ├─run───▶ the pipeline, from sources to sinks
//!                                            └─demo──▶ the same beside the truth, on a temporary ledger
//! ```
//!
//! A job file names a source, a promise with its budget, and releases. [`Job::open`] reads it and refuses
//! everything in it that is misspelt, out of range or inconsistent, all at once, each at its line and column;
//! it reads public tables, and no data, and spends nothing. The result is plain typed values that need no further validation, and
//! the [budget account](crate::ledger::AccountSpec) that the ledger must hold.
//!
//! ```
//! use discreet::job::Job;
//!
//! let text = r#"
//!     [job]
//!     name = "reviews"
//!     version = 1
//!
//!     [source]
//!     type = "csv"
//!     path = "reviews.csv"
//!
//!     [privacy]
//!     person = { field = "reviewerId", missing = "drop" }
//!     promise = "lifetime"
//!     budget = { epsilon = 1.0, delta = 1e-6 }
//!     ledger = "state/reviews.ledger"
//!     account = "reviews"
//!
//!     [[release]]
//!     name = "reviewers"
//!     every = "all"
//!     people = {}
//!     noise = "gausian"
//!     share = 1
//! "#;
//! let mistakes = Job::parse("reviews.toml", text).unwrap_err();
//! assert!(mistakes.to_string().contains("reviews.toml:21:13: release[1].noise: found \"gausian\""));
//!
//! let job = Job::parse("reviews.toml", &text.replace("gausian", "gaussian"))?;
//! assert_eq!(job.account().name().as_str(), "reviews");
//! # Ok::<(), discreet::job::Mistakes>(())
//! ```
//!
//! # Running
//!
//! [`Job::replay`] runs a job over input that ends, [`Job::run`] for as long as its stream goes on. Both
//! build the pipeline of [`dataflow`](crate::dataflow) from the same release plans that [`Job::plan`]
//! describes, so that a plan, a demonstration and a live run cannot disagree.
//!
//! * **Reading.** One thread of a process reads and unpacks, cuts the input into whole lines and deals them
//!   to the workers, which parse. A line that cannot be read is left out, up to a declared number. Nothing of
//!   a record reaches an error.
//! * **Reading in several processes.** All processes read the same files, on any path of each machine:
//!   lengths and digests are compared before anything is complete, and a difference ends all processes (65).
//!   A process that is stopped by request stops all; one that fails or disappears ends all, and is named; one
//!   that does not answer is named, and waited for.
//! * **Completeness.** A replay's input is complete at its end, and nothing is sealed before. A live run's
//!   input is complete up to the moment at which everything present had been read, by a clock that stands
//!   still while it is in doubt ([`GuardedClock`](crate::dataflow::GuardedClock)).
//! * **Time of publication.** A replay publishes everything that it releases. A live run publishes a window
//!   at its end plus its lateness plus one slack, or a whole number of slacks later: never at the moment at
//!   which it happens to be prepared.
//! * **Lines of a file.** Each window is written once, under every failure: the rows of a file are read
//!   before the ledger is opened, and a ledger that is behind its file is in doubt. A new file receives every
//!   release again.
//! * **Notices to the operator.** A field that no record has, and records of which none lies in any window,
//!   are reported at once, on standard error, and the run goes on. A demonstration reports the number of
//!   records in which each field was found ([`Survey`]).
//! * **Output of a demonstration.** The true values. A demonstration is for data that may be shown; every
//!   line is marked as one.

mod audit;
mod condition;
pub mod config;
mod derived;
mod dictionary;
mod explain;
mod expression;
mod log_shape;
mod paths;
pub mod plan;
mod questions;
mod release_group;
pub(crate) mod release_plan;
mod rotation;
mod run;
mod siblings;
mod sinks;
mod sources;
mod statistics;
mod table;
mod template;
#[cfg(test)]
mod test_jobs;
mod text;
mod tune;
mod unfit;

pub use crate::mechanisms::release_line::LineError;
pub use audit::{Audit, AuditTest, Findings, ReleaseFindings};
pub use config::{Accounting, Job, Mistake, MistakeKind, Mistakes};
pub use explain::Explanation;
pub use log_shape::{EstimatedLog, EstimatedValues, LogShape, QuantileCurve, ReleasedQuantile, StatedLog};
pub use plan::Plan;
pub use questions::{AskOutcome, AskUnavailable, QuestionService};
pub use run::{
    BudgetLeft, ClockWord, Connected, FormerListener, Live, OpenedListener, OperatorNotice, Processes,
    ReleaseListener, Reopen, Replay, RunObserver, Surveyed, UnfinishedWindows, VitalSigns, Vitals,
};
pub use sinks::{is_of_releases, published};
pub use sources::{Progress, ReceiverSigns, RecordCounts, Survey, SyntheticLog, SyntheticRow, Warn};
pub use template::{JobTemplate, LogKind};
pub use tune::{
    EditedJob, EstimateError, LogEstimate, RangeAdvice, StatedKeys, SweptBound, SweptWindow,
    TUNING_CRITERION, TunedChoice, TunedRelease, Tuning, TuningScope, WeightAdvice,
};
pub use unfit::UnfitJob;
