//! Pages and pictures of released windows, for people. This module makes no decisions, and reads nothing but
//! lines that have left and the status of their budget; of the operator, it serves the status that it is given.

mod ask;
mod live;
mod metrics;
mod report;
mod serve;

pub use ask::{AskReply, AskSettings, AskView, AskedBundle, AskingAnalyst};
pub use live::{KEPT_WINDOWS, LiveHeading, LiveRun};
pub use report::{Heading, ReleaseNotes, Report, StatedRange};
pub use serve::{OperatorStatus, OperatorView, ReceivedBatches, WatchServer, WatchSettings};
