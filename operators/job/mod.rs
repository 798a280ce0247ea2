//! From a file to a job: what `discreet` runs is written down, not programmed.
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
//! [`Domain`]: crate::ledger::Domain

mod bundle;
pub mod config;
pub(crate) mod offer;
pub mod plan;
mod run;
mod sinks;
mod sources;
mod text;

pub use config::{Job, Mistake, MistakeKind, Mistakes};
pub use offer::Refused;
pub use plan::Plan;
pub use run::{Live, Onlooker, Processes, Replay, Told, Vitals};
pub use sources::{MadeUp, Progress, Row};
