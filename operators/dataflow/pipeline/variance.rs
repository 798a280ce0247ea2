//! The aggregation of variances, and that of the truth about them for demonstrations.

use std::sync::Arc;

use super::aggregation::{Aggregation, GroupingKey};
use crate::dataflow::bounding::{Few, Values};
use crate::mechanisms::{Cells, SquareSums, Tally, Variance};

/// The variance of at most `per_key` values of each person, by key.
#[derive(Clone, Debug)]
pub struct Squaring<K> {
    variance: Variance<K>,
    measure: Values<i64>,
}

impl<K: GroupingKey> Squaring<K> {
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "a job file alone asks"))]
    pub(crate) fn new(variance: Variance<K>) -> Squaring<K> {
        Squaring { variance, measure: Values::new() }
    }
}

impl<K: GroupingKey> Aggregation for Squaring<K> {
    type Key = K;
    type Measure = Values<i64>;
    type Statistic = Variance<K>;
    type Total = SquareSums;
    const HAS_DIFFERENCE: bool = true;

    #[inline]
    fn measure(&self) -> &Values<i64> {
        &self.measure
    }

    fn statistic(&self) -> &Variance<K> {
        &self.variance
    }

    fn listed(&self) -> Option<Arc<[K]>> {
        self.variance.listed()
    }

    #[inline]
    fn add(&self, total: &mut SquareSums, values: Few<i64>) {
        total.add(&self.variance.contribution(&values));
    }

    fn join(&self, ours: &mut SquareSums, theirs: &SquareSums) {
        ours.add(theirs);
    }

    fn leave(&self, all: &mut SquareSums, some: &SquareSums) -> bool {
        all.remove(some);
        all.people() > 0
    }

    fn part(key: K, total: SquareSums) -> <Cells<K, SquareSums> as Tally>::Part {
        (key, total)
    }
}

/// The distance from the origin at which a square is taken at most: where floats are no longer exact.
#[cfg(feature = "cli")]
const FARTHEST: i128 = 1 << 52;

/// People, records, and the plain sums of values and of their squares of each key, measured from an origin.
#[cfg(feature = "cli")]
#[derive(Clone, Debug)]
pub(crate) struct EverySquare<K> {
    variance: Variance<K>,
    measure: Values<i64>,
    origin: i64,
}

#[cfg(feature = "cli")]
impl<K: GroupingKey> EverySquare<K> {
    /// Creates the aggregation for the keys of this statistic.
    pub(crate) fn new(variance: Variance<K>, origin: i64) -> EverySquare<K> {
        EverySquare { variance, measure: Values::new(), origin }
    }
}

#[cfg(feature = "cli")]
impl<K: GroupingKey> Aggregation for EverySquare<K> {
    type Key = K;
    type Measure = Values<i64>;
    type Statistic = Variance<K>;
    type Total = SquareSums;

    fn measure(&self) -> &Values<i64> {
        &self.measure
    }

    fn statistic(&self) -> &Variance<K> {
        &self.variance
    }

    fn listed(&self) -> Option<Arc<[K]>> {
        self.variance.listed()
    }

    fn add(&self, total: &mut SquareSums, values: Few<i64>) {
        let add = |[sum, squares]: [i128; 2], value: &i64| {
            let far = (i128::from(*value) - i128::from(self.origin)).clamp(-FARTHEST, FARTHEST);
            [sum + far, squares.wrapping_add(far * far)]
        };
        total.add(&SquareSums::of_a_demo(values.len() as u64, values.iter().fold([0; 2], add)));
    }

    fn join(&self, ours: &mut SquareSums, theirs: &SquareSums) {
        ours.add(theirs);
    }

    fn part(key: K, total: SquareSums) -> <Cells<K, SquareSums> as Tally>::Part {
        (key, total)
    }
}
