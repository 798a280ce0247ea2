//! Aggregations: the way from a person's kept records to a share of a tally.

use std::sync::Arc;

use crate::dataflow::bounding;
use crate::dataflow::bounding::{
    Cap, Count, Identity, KeptRecords, Measure, RemainingContribution, Rule, Sum,
};
use crate::dataflow::engine::Travels;
use crate::invalid::Invalid;
use crate::mechanisms::{
    Cell, Cells, ContributionBound, Key, MarginalCounts, Mean, Range, Statistic, Summary, Tally,
    ThresholdAlert, TopKeys, Total,
};

/// A type that a statistic may be grouped by: a number, a text, nothing.
pub trait GroupingKey: Key + Identity {}

impl<K: Key + Identity> GroupingKey for K {}

/// A statistic as the operators see it.
pub trait Aggregation: Clone + 'static {
    /// The type of the keys.
    type Key: GroupingKey;
    /// The part of a person's records in a key that is read.
    type Measure: Measure;
    /// The statistic that is released.
    type Statistic: Statistic<Tally: Tally<Part: Travels>>;
    /// The total of one worker for a key.
    type Total: Default + Clone + 'static;
    /// True if people can be taken out of a total that they are in.
    const HAS_DIFFERENCE: bool = false;

    /// Returns the measure.
    fn measure(&self) -> &Self::Measure;

    /// Returns the statistic.
    fn statistic(&self) -> &Self::Statistic;

    /// The only keys it is released for, where they are public.
    fn listed(&self) -> Option<Arc<[Self::Key]>>;

    /// Returns the most records of a person that are kept.
    ///
    /// # Errors
    ///
    /// If the limits are out of range.
    fn cap(&self, limits: &ContributionBound) -> Result<Cap, Invalid> {
        Cap::new(limits.keys(), limits.per_key())
    }

    /// The same, where this number of the largest people is enough.
    #[must_use]
    fn of_the_largest(self, _people: usize) -> Self {
        self
    }

    /// Adds one person's share, bounded as the statistic's sensitivity says.
    fn add(&self, total: &mut Self::Total, share: <Self::Measure as Measure>::Share);

    /// Returns the bound of a person's contribution to a key over all windows together, if windows are added up.
    fn over_life(&self) -> Option<LifetimeBound> {
        None
    }

    /// Adds as much of one person's share as former windows have left, and says how much that was. Asked only
    /// where people are bounded [over all windows](Aggregation::over_life).
    fn add_left(
        &self,
        total: &mut Self::Total,
        share: <Self::Measure as Measure>::Share,
        _left: RemainingContribution,
    ) -> u64 {
        self.add(total, share);
        u64::MAX
    }

    /// Returns the total of a key in which this number of people are, of whom `new` never were before. Asked only where
    /// people [enter and leave](LifetimeBound::Entries).
    fn level(&self, _people: u64, _new: u64) -> Self::Total {
        Self::Total::default()
    }

    /// Returns true if the shares of a person in all keys of a window are [weighed](Aggregation::weigh) together.
    fn weighs(&self) -> bool {
        false
    }

    /// Weighs the shares of a person in all keys of a window.
    fn weigh(&self, _shares: &mut [Self::Total]) {}

    /// Adds what another pane knows.
    fn join(&self, ours: &mut Self::Total, theirs: &Self::Total);

    /// Takes the total of some people out of one that they are in; returns true if anybody is left in it. Asked only
    /// where totals [have differences](Aggregation::HAS_DIFFERENCE).
    fn leave(&self, _all: &mut Self::Total, _some: &Self::Total) -> bool {
        true
    }

    /// Builds the part of a tally that travels between workers.
    fn part(key: Self::Key, total: Self::Total) -> <<Self::Statistic as Statistic>::Tally as Tally>::Part;
}

/// The bound of a person's contribution to a key over all windows together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifetimeBound {
    /// This much in all.
    Total(u64),
    /// The presence of people in the last windows: each enters a key a number of times.
    Entries {
        /// The most entries.
        entries: u64,
        /// The number of windows in which a person is looked for.
        last: u64,
    },
}

/// A question that is answered by a cell a key: what is asked, and what is read for it.
#[derive(Clone, Debug)]
pub struct KeyedAggregation<S, M> {
    pub(crate) statistic: S,
    pub(crate) measure: M,
}

/// Records, or people, by key.
pub type CountingByKey<K> = KeyedAggregation<Total<K>, Count>;

/// Sums by key.
pub type SumsByKey<K> = KeyedAggregation<Total<K>, Sum>;

/// Means by key.
pub type Averaging<K> = KeyedAggregation<Mean<K>, Terms>;

/// A statistic of which each person's share of a key is a cell.
pub trait SharedCells: Statistic<Tally = Cells<Self::Key>> + Clone {
    /// The type of the keys.
    type Key: GroupingKey;

    /// The only keys it is released for, where they are public.
    fn listed(&self) -> Option<Arc<[Self::Key]>>;

    /// Returns the contribution of one person to a key, clamped.
    fn contribution(&self, records: u64, sum: i128) -> Cell;

    /// Returns true if people with more than the bound count in part.
    fn weighs(&self) -> bool;

    /// Weighs the contributions of one person to all keys of a window.
    fn weigh(&self, shares: &mut [Cell]);
}

macro_rules! shared {
    ($($statistic:ident),*) => {$(
        impl<K: GroupingKey> SharedCells for $statistic<K> {
            type Key = K;

            fn listed(&self) -> Option<Arc<[K]>> {
                $statistic::listed(self)
            }

            #[inline]
            fn contribution(&self, records: u64, sum: i128) -> Cell {
                $statistic::contribution(self, records, sum)
            }

            fn weighs(&self) -> bool {
                $statistic::weighs(self)
            }

            fn weigh(&self, shares: &mut [Cell]) {
                $statistic::weigh(self, shares);
            }
        }
    )*};
}

shared!(Total, Mean, ThresholdAlert, TopKeys, MarginalCounts);

/// A measure of records, and of a sum over them.
pub trait SummedMeasure: Measure {
    /// Both.
    fn both(share: Self::Share) -> (u32, i128);
}

impl SummedMeasure for Count {
    #[inline]
    fn both(records: u32) -> (u32, i128) {
        (records, 0)
    }
}

impl SummedMeasure for Sum {
    #[inline]
    fn both(share: bounding::PersonSum) -> (u32, i128) {
        (share.records, share.sum.into())
    }
}

impl SummedMeasure for Terms {
    #[inline]
    fn both(share: (u32, i128)) -> (u32, i128) {
        share
    }
}

impl<S: SharedCells, M: SummedMeasure + 'static> Aggregation for KeyedAggregation<S, M> {
    type Key = S::Key;
    type Measure = M;
    type Statistic = S;
    type Total = Cell;
    const HAS_DIFFERENCE: bool = true;

    #[inline]
    fn measure(&self) -> &M {
        &self.measure
    }

    fn statistic(&self) -> &S {
        &self.statistic
    }

    fn listed(&self) -> Option<Arc<[S::Key]>> {
        self.statistic.listed()
    }

    #[inline]
    fn add(&self, total: &mut Cell, share: M::Share) {
        let (records, sum) = M::both(share);
        total.add(&self.statistic.contribution(records.into(), sum));
    }

    fn weighs(&self) -> bool {
        self.statistic.weighs()
    }

    fn weigh(&self, shares: &mut [Cell]) {
        self.statistic.weigh(shares);
    }

    fn join(&self, ours: &mut Cell, theirs: &Cell) {
        ours.add(theirs);
    }

    fn leave(&self, all: &mut Cell, some: &Cell) -> bool {
        all.remove(some);
        all.people() > 0
    }

    fn part(key: S::Key, total: Cell) -> <Cells<S::Key> as Tally>::Part {
        (key, total)
    }
}

/// The number of records that a person has in a key, at most `per_key`, and the sum of their
/// [terms](Range::term). Each value is clipped by itself.
#[derive(Clone, Copy, Debug)]
pub struct Terms(pub(crate) Range);

impl Measure for Terms {
    type Value = i64;
    type Share = (u32, i128);
    type Plain = KeptRecords<Terms>;
    const CUTS: bool = true;

    fn plain(&self) -> KeptRecords<Terms> {
        KeptRecords::new(*self)
    }

    fn bring(value: i64, hash: impl FnOnce(&i64) -> u64) -> <KeptRecords<Terms> as Rule>::Value {
        (hash(&value), value)
    }

    fn share<'a>(&self, cap: Cap, records: impl Iterator<Item = (&'a i64, i128)>) -> (u32, i128) {
        let (mut counted, mut sum) = (0u32, 0i128);
        for (&value, copies) in records {
            let room = cap.per_key() - counted;
            // At most the room, which is 32 bits; and 2^31 terms of 65 bits fit 128.
            let copies = copies.min(room.into()).max(0) as u32;
            counted += copies;
            sum += i128::from(copies) * self.0.term(value);
        }
        (counted, sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a copy too many, a copy of a net below zero, and a value that is not clipped.
    #[test]
    fn terms_are_of_the_first_records_and_no_more_than_the_cap() {
        let terms = Terms(Range::new(-10, 21).unwrap());
        let cap = Cap::new(1, 5).unwrap();
        let share = |records: &[(i64, i128)]| {
            terms.share(cap, records.iter().map(|(value, copies)| (value, *copies)))
        };
        // In half units from the middle, 5.5.
        assert_eq!(share(&[(5, 2), (1000, 1)]), (3, -1 - 1 + 31));
        assert_eq!(share(&[(6, 3), (-1000, 7), (6, 1)]), (5, 3 - 31 - 31));
        assert_eq!(share(&[(6, -3), (6, i128::MAX)]), (5, 5));
        assert_eq!(share(&[]), (0, 0));
    }
}
