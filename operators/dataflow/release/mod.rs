//! From complete windows to rows: the operator that submits windows to the gate and sends on the rows that
//! come back.

mod budget;
mod deliver;
mod operator;
mod queries;
mod releases;
mod window_queue;

pub use budget::{BudgetAlert, BudgetBrief, BudgetStream};
pub use deliver::Deliver;
pub use deliver::LeavingRelease;
#[cfg(feature = "cli")]
pub(crate) use deliver::{each_of, hand_over};
pub use operator::StatisticSchedule;
pub(super) use operator::{ReleaseBackend, Wake};
pub use operator::{Title, WindowStatistic};
pub(super) use operator::{Waker, release};
pub(crate) use queries::ExactTotals;
pub use queries::Unanswered;
pub(in crate::dataflow) use queries::{Posed, QueryAnswering, RecordsAgain, sealed, sought};
pub(super) use releases::PastReleases;
pub use releases::{OtherTypes, Release, Releases, Reply};
