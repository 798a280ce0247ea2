//! The stages between a stream and its releases: one stage, one file.

#[cfg(feature = "cli")]
pub(crate) use aggregation::Terms;
#[cfg(feature = "cli")]
pub(crate) use backend::CHOICE;
#[cfg(feature = "cli")]
pub(crate) use binding::{charge, terms};
#[cfg(feature = "cli")]
pub(crate) use bounder::RecordFilter;
#[cfg(feature = "cli")]
pub(crate) use exact::{Everything, ExactCells};
#[cfg(feature = "cli")]
pub(crate) use pair_sums::EverySquare;

pub use aggregation::{
    Aggregation, Averaging, CountingByKey, GroupingKey, KeyedAggregation, LifetimeBound, SumsByKey,
};
pub use alerts::Alerting;
pub use bounded::{Bounded, Ranking, RankingPeople, Searching};
pub use pair_sums::{PairSumming, RunningPairs};
pub use protect::{
    DistinctRecords, Multiplicity, OneRecordPerPerson, Private, RecordId, RecordIdentity, Unplaced,
};
pub use queries::{Answering, Owned, Replies, TakesBack};
pub use running::Accumulated;
pub use tallied::Tallied;
pub use tops::Picking;
pub use unit::{NamedRecords, People, Person, ProtectedUnit, Records};
pub use vector_mean::{Averaged, IntoVector, MeanOf, Vector};
pub use window::Windowed;

mod admission;
mod aggregation;
mod alerts;
mod backend;
mod binding;
mod bounded;
mod bounder;
mod bundle;
mod bundled;
mod columns;
#[cfg(feature = "cli")]
mod exact;
mod ledgered;
mod left_out;
mod orders;
mod overlap;
mod pair_sums;
mod panes;
mod protect;
mod queries;
mod record_panes;
pub mod revealed;
mod running;
mod tallied;
mod tops;
mod vector_mean;

mod unit;
mod window;

#[cfg(test)]
mod tests;
