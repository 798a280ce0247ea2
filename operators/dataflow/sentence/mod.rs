//! The words between a stream and its releases: one word, one file.

mod admission;
mod answering;
mod binding;
mod bounded;
mod bounder;
mod collection;
#[cfg(feature = "cli")]
mod exact;
mod ledgered;
mod mean_of;
mod naming;
mod office;
mod panes;
mod protect;
mod question;
mod ranking;
mod running;
mod searching;
mod tallied;
#[cfg(test)]
mod tests;
mod told;
mod unit;
mod window;

pub use answering::{Answering, Owned, Replies, TakesBack};
#[cfg(feature = "cli")]
pub(crate) use binding::{charge, terms};
pub use bounded::Bounded;
#[cfg(feature = "cli")]
pub(crate) use exact::{Everything, ExactCells};
pub use mean_of::{Averaged, MeanOf, Vector};
pub use naming::{Changing, Named, Naming, Once, Unnamed};
#[cfg(feature = "cli")]
pub(crate) use office::CHOICE;
pub use protect::{Private, Unplaced};
#[cfg(feature = "cli")]
pub(crate) use question::Terms;
pub use question::{Aggregation, Averaging, CountingByKey, GroupingKey, KeyedAggregation, SumsByKey};
pub use ranking::Ranking;
pub use running::Accumulated;
pub use searching::Searching;
pub use tallied::Tallied;
pub use unit::{NamedRecords, People, Person, ProtectedUnit, Records};
pub use window::Windowed;
