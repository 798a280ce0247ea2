//! What the statistics ask of records: how what is kept of a person becomes a share of a tally.

use std::sync::Arc;

use crate::dataflow::bounding::{Cap, Count, Identity, Kept, Measure, Rule, Sum, Summed};
use crate::dataflow::engine::Travels;
use crate::mechanisms::{Cell, Cells, Key, Mean, Range, Statistic, Tally, Total};

/// What a statistic may be grouped by: a number, a text, nothing.
pub trait Grouping: Key + Identity {}

impl<K: Key + Identity> Grouping for K {}

/// A statistic as the operators see it. Implemented here, for [`Counting`], [`Summing`] and [`Averaging`].
pub trait Question: Clone + 'static {
    /// What it is grouped by.
    type Key: Grouping;
    /// What it reads of a person's records in a key.
    type Measure: Measure;
    /// What it asks.
    type Statistic: Statistic<Tally: Tally<Part: Travels>>;
    /// What one worker knows of a key.
    type Total: Default + 'static;

    /// What it reads.
    fn measure(&self) -> &Self::Measure;

    /// What it asks.
    fn statistic(&self) -> &Self::Statistic;

    /// The only keys it is told for, where they are public.
    fn listed(&self) -> Option<Arc<[Self::Key]>>;

    /// Adds one person's share, bounded as the statistic's sensitivity says.
    fn add(&self, total: &mut Self::Total, share: <Self::Measure as Measure>::Share);

    /// Adds what another pane knows.
    fn join(&self, ours: &mut Self::Total, theirs: &Self::Total);

    /// What travels.
    fn part(key: Self::Key, total: Self::Total) -> <<Self::Statistic as Statistic>::Tally as Tally>::Part;
}

/// Records, or people, by key.
#[derive(Clone, Debug)]
pub struct Counting<K>(pub(super) Total<K>);

/// Sums by key.
#[derive(Clone, Debug)]
pub struct Summing<K> {
    pub(super) total: Total<K>,
    pub(super) clip: Sum,
}

/// Means by key.
#[derive(Clone, Debug)]
pub struct Averaging<K> {
    pub(super) mean: Mean<K>,
    pub(super) terms: Terms,
}

impl<K: Grouping> Question for Counting<K> {
    type Key = K;
    type Measure = Count;
    type Statistic = Total<K>;
    type Total = Cell;

    #[inline]
    fn measure(&self) -> &Count {
        &Count
    }

    fn statistic(&self) -> &Total<K> {
        &self.0
    }

    fn listed(&self) -> Option<Arc<[K]>> {
        self.0.listed()
    }

    #[inline]
    fn add(&self, total: &mut Cell, records: u32) {
        total.add(&self.0.contribution(records.into(), 0));
    }

    fn join(&self, ours: &mut Cell, theirs: &Cell) {
        ours.add(theirs);
    }

    fn part(key: K, total: Cell) -> <Cells<K> as Tally>::Part {
        (key, total)
    }
}

impl<K: Grouping> Question for Summing<K> {
    type Key = K;
    type Measure = Sum;
    type Statistic = Total<K>;
    type Total = Cell;

    #[inline]
    fn measure(&self) -> &Sum {
        &self.clip
    }

    fn statistic(&self) -> &Total<K> {
        &self.total
    }

    fn listed(&self) -> Option<Arc<[K]>> {
        self.total.listed()
    }

    #[inline]
    fn add(&self, total: &mut Cell, share: Summed) {
        total.add(&self.total.contribution(share.records.into(), share.sum.into()));
    }

    fn join(&self, ours: &mut Cell, theirs: &Cell) {
        ours.add(theirs);
    }

    fn part(key: K, total: Cell) -> <Cells<K> as Tally>::Part {
        (key, total)
    }
}

impl<K: Grouping> Question for Averaging<K> {
    type Key = K;
    type Measure = Terms;
    type Statistic = Mean<K>;
    type Total = Cell;

    #[inline]
    fn measure(&self) -> &Terms {
        &self.terms
    }

    fn statistic(&self) -> &Mean<K> {
        &self.mean
    }

    fn listed(&self) -> Option<Arc<[K]>> {
        self.mean.listed()
    }

    #[inline]
    fn add(&self, total: &mut Cell, (records, sum): (u32, i128)) {
        total.add(&self.mean.contribution(records.into(), sum));
    }

    fn join(&self, ours: &mut Cell, theirs: &Cell) {
        ours.add(theirs);
    }

    fn part(key: K, total: Cell) -> <Cells<K> as Tally>::Part {
        (key, total)
    }
}

/// How many records a person has in a key, at most `per_key`, and the sum of their [terms](Range::term). Each value is
/// clipped by itself.
#[derive(Clone, Copy, Debug)]
pub struct Terms(pub(super) Range);

impl Measure for Terms {
    type Value = i64;
    type Share = (u32, i128);
    type Plain = Kept<Terms>;
    const CUTS: bool = true;

    fn plain(&self) -> Kept<Terms> {
        Kept::new(*self)
    }

    fn bring(value: i64, hash: impl FnOnce(&i64) -> u64) -> <Kept<Terms> as Rule>::Value {
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
