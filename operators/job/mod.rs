//! From a file to a job: what `discreet` runs is written down, not programmed.
//!
//! ```text
//! file ─config─▶ Job ─offer─▶ what each release comes to ─┬─plan──▶ a page of words and figures
//!                                                        ├─run───▶ the sentence, fed by sources, told to sinks
//!                                                        └─demo──▶ the same, beside the truth, on a ledger thrown away
//! ```
//!
//! A job file names a source, a promise with its budget, and releases. [`Job::open`] reads it and refuses whatever is
//! misspelt, out of range or does not fit together, all at once, each at its line and column; it reads no data and
//! spends nothing. What comes back is plain typed values that need no second look, and the [`Domain`] that the ledger
//! is asked to keep.
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
//!     domain = "reviews"
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
//! assert_eq!(job.domain().name().as_str(), "reviews");
//! # Ok::<(), discreet::job::Mistakes>(())
//! ```
//!
//! # Running
//!
//! [`Job::replay`] runs a job over input that ends, [`Job::run`] for as long as its stream goes on. Both build the sentence
//! of [`dataflow`](crate::dataflow) from the same offers that [`Job::plan`] speaks of, so that a plan, a demonstration and a live
//! run cannot disagree.
//!
//! * **What is read.** One thread a process reads and unpacks, cuts into whole lines and deals them to the workers, which
//!   parse. A line that cannot be read is left out, up to a declared number. Nothing of a record reaches an error.
//! * **What several processes read.** The same files, wherever they lie for each: lengths and digests are compared before
//!   anything is complete, and a difference ends all of them (65). A process that is asked to stop stops all; one that fails or
//!   is gone ends all, and is named; one that does not answer is named, and waited for.
//! * **What is complete.** A replay's input is complete at its end, and nothing is sealed before. A live run's is complete
//!   up to the moment at which everything that was there had been read, by a clock that is checked against another.
//! * **When lines leave.** A replay tells what it knows. A live run tells a window at its end, its lateness and one slack,
//!   or at a whole slack later: never when it happens to be ready.
//! * **What a file is told.** Each window once, whatever happens: what a file holds is read before the ledger is opened, and
//!   a ledger that is behind its file is in doubt. A new file is told everything again.
//! * **What the operator is told.** A field that no record has, and records of which none lies in any window: at once, on
//!   standard error, and the run goes on. A demonstration says how often each field was found ([`Survey`]).
//! * **What a demonstration shows.** The truth. It is for data that may be shown; every line says so.
//!
//! [`Domain`]: crate::ledger::AccountSpec

mod bundle;
pub mod config;
pub(crate) mod offer;
mod packed;
mod paths;
pub mod plan;
mod run;
mod sinks;
mod sources;
mod text;

pub use config::{Job, Mistake, MistakeKind, Mistakes};
pub use offer::UnfitJob;
pub use plan::Plan;
pub use run::{
    Connected, Live, Onlooker, OperatorNotice, Processes, ReleaseListener, Reopen, Replay, Surveyed, Vitals,
};
pub use sinks::published;
pub use sources::{MadeRow, MadeUp, Progress, Survey, Warn};
