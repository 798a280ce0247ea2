//! The driver of a job: its inputs, whose completeness is declared, its workers and processes, and its end.

mod carried;
mod config;
mod connect;
mod external;
mod failure;
mod feed;
mod followed;
mod gaps;
mod host;
mod peers;
mod positions;
mod pushed;
mod run;
mod shared;
mod source;

pub use carried::Carried;
pub use config::Config;
#[cfg(feature = "cli")]
pub(crate) use config::Joined;
pub use connect::announce_end;
pub use external::{External, WorkerDeclaration};
pub(super) use failure::draws_for_a_dataflow;
#[cfg(feature = "cli")]
pub(crate) use failure::report_end;
#[cfg(feature = "arrow")]
pub(crate) use failure::silently;
pub use failure::{FailureKind, Finished, RunError};
pub use feed::{Fed, Feeds};
pub(super) use gaps::InputGaps;
pub use host::{Attached, Attachment};
#[cfg(feature = "cli")]
pub(crate) use peers::Peers;
pub(crate) use positions::InputPositions;
#[cfg(feature = "cli")]
pub(crate) use positions::ORIGIN;
pub use positions::{Milestone, WrittenPosition};
pub use pushed::PushedInput;
pub use run::Worker;
pub use run::execute;
pub use shared::Stop;
pub(super) use shared::{Context, ProcessShared};
pub use source::{All, BATCH, Pulled, Source, SourceError};
