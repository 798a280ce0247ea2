//! Who runs a job: inputs whose completeness is somebody's word, workers and processes, and how all of it ends.

mod config;
mod connect;
mod external;
mod failure;
mod faults;
mod feed;
mod order;
mod pace;
mod peers;
mod run;
mod shared;
mod source;
mod worker;

pub use config::Config;
#[cfg(feature = "cli")]
pub(crate) use config::Joined;
pub use connect::announce_end;
pub use external::{External, WorkerDeclaration};
pub use failure::{FailureKind, Finished, RunError};
pub(super) use faults::draws_for_a_dataflow;
pub use feed::{Fed, Feeds};
#[cfg(feature = "cli")]
pub(crate) use peers::Peers;
pub use run::execute;
pub use shared::Stop;
pub(super) use shared::{Context, ProcessShared};
pub use source::{All, BATCH, Pulled, Source, SourceError};
pub use worker::Worker;
