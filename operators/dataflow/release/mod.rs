//! From complete windows to rows: the operator that hands windows to the gate and tells what comes back.

mod deliver;
mod desk;
mod docket;
mod leaving;
mod operator;
mod questions;
mod statistic;

pub use deliver::Deliver;
#[cfg(feature = "cli")]
pub(crate) use deliver::hand_over;
pub(super) use desk::{ReleaseBackend, Wake};
pub use leaving::LeavingRelease;
pub use operator::StatisticSchedule;
pub(super) use operator::{Waker, release};
pub use questions::Unanswered;
pub(in crate::dataflow) use questions::{Posed, QueryAnswering, sealed, sought};
pub use statistic::{Title, WindowStatistic};
