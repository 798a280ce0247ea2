//! The aggregation of statistics of two sums over records, and that of the truth about variances for demonstrations.

use std::sync::Arc;

use super::aggregation::{Aggregation, GroupingKey, LifetimeBound};
use crate::dataflow::bounding::{Cap, Few, Identity, RemainingContribution, Values};
use crate::invalid::Invalid;
#[cfg(feature = "cli")]
use crate::mechanisms::Variance;
use crate::mechanisms::{Cells, ContributionBound, PairStatistic, PairSums, RunningSums, Statistic, Tally};

/// Two sums of at most `per_key` values of each person, by key.
#[derive(Clone, Debug)]
pub struct PairSumming<S: PairStatistic> {
    statistic: S,
    measure: Values<S::Value>,
}

impl<S: PairStatistic> PairSumming<S> {
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "a job file alone asks"))]
    pub(crate) fn new(statistic: S) -> PairSumming<S> {
        PairSumming { statistic, measure: Values::new() }
    }
}

impl<S> Aggregation for PairSumming<S>
where
    S: PairStatistic<Key: GroupingKey, Value: Identity + Ord + Clone>
        + Statistic<Tally = Cells<S::Key, PairSums>>,
{
    type Key = S::Key;
    type Measure = Values<S::Value>;
    type Statistic = S;
    type Total = PairSums;
    const HAS_DIFFERENCE: bool = true;

    #[inline]
    fn measure(&self) -> &Values<S::Value> {
        &self.measure
    }

    fn statistic(&self) -> &S {
        &self.statistic
    }

    fn listed(&self) -> Option<Arc<[S::Key]>> {
        self.statistic.keys().listed()
    }

    #[inline]
    fn add(&self, total: &mut PairSums, values: Few<S::Value>) {
        total.add(&self.statistic.contribution(&values));
    }

    fn join(&self, ours: &mut PairSums, theirs: &PairSums) {
        ours.add(theirs);
    }

    fn leave(&self, all: &mut PairSums, some: &PairSums) -> bool {
        all.remove(some);
        all.people() > 0
    }

    fn part(key: S::Key, total: PairSums) -> <Cells<S::Key, PairSums> as Tally>::Part {
        (key, total)
    }
}

/// The same over windows that are added up: at most `per_key` values of each person in all of them together.
#[derive(Clone, Debug)]
pub struct RunningPairs<S: PairStatistic> {
    statistic: RunningSums<S>,
    measure: Values<S::Value>,
}

impl<S: PairStatistic> RunningPairs<S> {
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "a job file alone asks"))]
    pub(crate) fn new(statistic: RunningSums<S>) -> RunningPairs<S> {
        RunningPairs { statistic, measure: Values::new() }
    }

    fn each(&self) -> u64 {
        self.statistic.each().limits().per_key()
    }
}

impl<S: PairStatistic<Key: GroupingKey, Value: Identity + Ord + Clone>> Aggregation for RunningPairs<S> {
    type Key = S::Key;
    type Measure = Values<S::Value>;
    type Statistic = RunningSums<S>;
    type Total = PairSums;

    #[inline]
    fn measure(&self) -> &Values<S::Value> {
        &self.measure
    }

    fn statistic(&self) -> &RunningSums<S> {
        &self.statistic
    }

    fn listed(&self) -> Option<Arc<[S::Key]>> {
        self.statistic.each().keys().listed()
    }

    fn cap(&self, limits: &ContributionBound) -> Result<Cap, Invalid> {
        super::running::cap(limits)
    }

    /// Of who is in one window alone.
    #[inline]
    fn add(&self, total: &mut PairSums, values: Few<S::Value>) {
        self.add_left(total, values, RemainingContribution { amount: self.each(), first: true });
    }

    fn over_life(&self) -> Option<LifetimeBound> {
        Some(LifetimeBound::Total(self.each()))
    }

    fn add_left(&self, total: &mut PairSums, values: Few<S::Value>, left: RemainingContribution) -> u64 {
        let (sums, used) = self.statistic.contribution(&values, left.amount, left.first);
        total.add(&sums);
        used
    }

    fn join(&self, ours: &mut PairSums, theirs: &PairSums) {
        ours.add(theirs);
    }

    fn part(key: S::Key, total: PairSums) -> <Cells<S::Key, PairSums> as Tally>::Part {
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
    type Total = PairSums;

    fn measure(&self) -> &Values<i64> {
        &self.measure
    }

    fn statistic(&self) -> &Variance<K> {
        &self.variance
    }

    fn listed(&self) -> Option<Arc<[K]>> {
        self.variance.keys().listed()
    }

    fn add(&self, total: &mut PairSums, values: Few<i64>) {
        let add = |[sum, squares]: [i128; 2], value: &i64| {
            let far = (i128::from(*value) - i128::from(self.origin)).clamp(-FARTHEST, FARTHEST);
            [sum + far, squares.wrapping_add(far * far)]
        };
        total.add(&PairSums::of_a_demo(values.len() as u64, values.iter().fold([0; 2], add)));
    }

    fn join(&self, ours: &mut PairSums, theirs: &PairSums) {
        ours.add(theirs);
    }

    fn part(key: K, total: PairSums) -> <Cells<K, PairSums> as Tally>::Part {
        (key, total)
    }
}
