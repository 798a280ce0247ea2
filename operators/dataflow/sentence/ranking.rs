//! What quantiles ask of people: their values.

use std::sync::Arc;

use super::question::{Aggregation, GroupingKey};
use crate::dataflow::bounding;
use crate::mechanisms::{Quantiles, RankedValues, Summary};

/// Quantiles of at most `per_key` values of each person, by key.
#[derive(Clone, Debug)]
pub struct Ranking<K> {
    quantiles: Quantiles<K>,
    measure: bounding::Values<i64>,
}

impl<K: GroupingKey> Ranking<K> {
    pub(crate) fn new(quantiles: Quantiles<K>) -> Ranking<K> {
        Ranking { quantiles, measure: bounding::Values::new() }
    }
}

impl<K: GroupingKey> Aggregation for Ranking<K> {
    type Key = K;
    type Measure = bounding::Values<i64>;
    type Statistic = Quantiles<K>;
    type Total = RankedValues;

    #[inline]
    fn measure(&self) -> &bounding::Values<i64> {
        &self.measure
    }

    fn statistic(&self) -> &Quantiles<K> {
        &self.quantiles
    }

    fn listed(&self) -> Option<Arc<[K]>> {
        self.quantiles.listed()
    }

    #[inline]
    fn add(&self, total: &mut RankedValues, values: bounding::Few<i64>) {
        total.add(&values);
    }

    fn join(&self, ours: &mut RankedValues, theirs: &RankedValues) {
        ours.join(theirs.clone());
    }

    fn part(key: K, mut total: RankedValues) -> (K, RankedValues) {
        total.settle();
        (key, total)
    }
}
