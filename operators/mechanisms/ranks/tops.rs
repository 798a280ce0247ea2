//! The largest values of a key's people: all that a monotone function needs.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

#[cfg(feature = "cli")]
use super::grid::Grid;
#[cfg(feature = "cli")]
use super::largest::Altogether;
use crate::mechanisms::statistic::Summary;

/// Of one key: how many people it has, what they have together, and what the first of them have, from the
/// largest on.
///
/// It holds at most twice as many as it must know, however many come, and what it knows is the same for every
/// order and division. Prints as `<private>`.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Tops {
    /// The number of the largest that must be known.
    most: usize,
    people: u64,
    total: i128,
    /// The largest `most` are among them.
    values: Vec<i64>,
}

impl Tops {
    /// Takes in one person's value, where the largest `most` must be known.
    #[inline]
    pub fn add(&mut self, value: i64, most: usize) {
        self.most = self.most.max(most);
        self.people = self.people.wrapping_add(1);
        self.total = self.total.wrapping_add(value.into());
        self.values.push(value);
        // Twice as many, so that a cut is paid for by those who came since the last one.
        if self.values.len() > self.most.max(SHORT).saturating_mul(2) {
            self.cut();
        }
    }

    /// Gives up all but the largest.
    pub fn cut(&mut self) {
        if self.values.len() > self.most && self.most > 0 {
            self.values.select_nth_unstable_by_key(self.most - 1, |value| Reverse(*value));
        }
        self.values.truncate(self.most);
    }

    /// Returns the memory that it holds. It is private, as all of it is.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.values.capacity() * size_of::<i64>()
    }

    /// Returns the values that it holds.
    pub(in crate::mechanisms) fn values(self) -> Vec<i64> {
        self.values
    }

    /// In order, to be asked.
    pub(super) fn ranked(mut self) -> RankedTops {
        self.cut();
        self.values.sort_unstable_by_key(|value| Reverse(*value));
        let Tops { people, total, values, .. } = self;
        let before = values.iter().scan(0i128, |sum, value| {
            let before = *sum;
            *sum += i128::from(*value);
            Some(before)
        });
        let mut before: Vec<i128> = before.collect();
        before.push(values.iter().map(|value| i128::from(*value)).sum());
        RankedTops { people, total, values, before }
    }
}

/// For demonstrations, which show the truth, and for which nobody is forgotten.
#[cfg(feature = "cli")]
impl Tops {
    /// The largest value; and how many people are above an answer, of whom those beyond the last one count as
    /// it.
    pub(crate) fn shown_in_a_demo(&self, grid: &Grid, answer: i64) -> (Option<i64>, u64) {
        let place = |value: i64| grid.ceiling(value).min(grid.top());
        let at = place(answer);
        let above = self.values.iter().filter(|value| place(**value) > at).count();
        (self.values.iter().max().copied(), above as u64)
    }

    /// Of values that are held in reverse order: the smallest value; and how many people are below an answer of
    /// the grid.
    pub(crate) fn reversed_in_a_demo(&self, grid: &Grid, answer: i64) -> (Option<i64>, u64) {
        let (largest, above) = self.shown_in_a_demo(&grid.reversed(), !answer);
        (largest.map(|largest| !largest), above)
    }

    /// The sum of all values; and how many people must leave so that it falls to an answer. A sum beyond the last answer counts as
    /// that one.
    pub(crate) fn total_in_a_demo(&self, grid: &Grid, answer: i64) -> (Option<i64>, u64) {
        let at = grid.at(grid.ceiling(answer).min(grid.top())).unwrap_or(answer);
        let last = grid.at(grid.top()).unwrap_or(i64::MAX);
        let off = if at >= last { 0 } else { self.clone().ranked().loss(&Altogether, at, self.people) };
        let total = i64::try_from(self.total).unwrap_or(i64::MAX);
        ((self.people > 0).then_some(total), off)
    }
}

/// Shorter lists are not worth cutting.
const SHORT: usize = 16;

impl Summary for Tops {
    fn people(&self) -> u64 {
        self.people
    }

    fn join(&mut self, other: Tops) {
        self.most = self.most.max(other.most);
        self.people = self.people.wrapping_add(other.people);
        self.total = self.total.wrapping_add(other.total);
        self.values.extend(other.values);
        self.cut();
    }

    #[cfg(test)]
    fn shown(&self) -> Vec<i128> {
        let ranked = self.clone().ranked();
        let values = ranked.values.iter().map(|value| i128::from(*value));
        [ranked.people.into(), ranked.total].into_iter().chain(values).collect()
    }
}

redacted!(Tops);

/// The largest in order, and what is left when some of them leave.
pub(super) struct RankedTops {
    people: u64,
    total: i128,
    /// From the largest on.
    values: Vec<i64>,
    /// The sum of those before each, and of all.
    before: Vec<i128>,
}

/// The people of a key who are left when the largest have left. Prints as `<private>`.
///
/// That is all that a [`Monotone`](super::Monotone) function sees.
#[derive(Clone, Copy)]
pub struct RemainingPeople<'a> {
    /// The number of people.
    pub people: u64,
    /// The sum of their values.
    pub total: i128,
    /// The values of the first of them, from the largest on: as many as the function [looks
    /// at](super::Monotone::LOOKS_AT), or all if there are fewer.
    pub largest: &'a [i64],
}

redacted!(RemainingPeople<'_>);

impl RankedTops {
    /// Returns the people who are left after `leaving` have left, of whom `looked_at` are read.
    pub(super) fn without(&self, leaving: u64, looked_at: usize) -> RemainingPeople<'_> {
        let gone = usize::try_from(leaving).unwrap_or(usize::MAX).min(self.values.len());
        let left = &self.values[gone..];
        RemainingPeople {
            people: self.people.saturating_sub(leaving),
            total: self.total - self.before[gone],
            largest: &left[..looked_at.min(left.len())],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // Refutes a value that is lost in a cut, or that depends on the order, the division or the workers.
        #[test]
        fn the_largest_are_known_however_they_come(
            mut values in proptest::collection::vec(prop_oneof![-5i64..5, any::<i64>()], 0..200),
            most in 1usize..40,
            at in 0usize..200,
        ) {
            let (one, other) = values.split_at(at.min(values.len()));
            let gather = |values: &[i64]| {
                let mut tops = Tops::default();
                values.iter().for_each(|value| tops.add(*value, most));
                tops
            };
            let mut tops = gather(one);
            tops.join(gather(other));
            assert!(tops.values.len() <= most);
            let ranked = tops.ranked();
            values.sort_unstable_by_key(|value| Reverse(*value));
            for leaving in 0..=most.min(values.len()) {
                let left = &values[leaving..];
                let released = ranked.without(leaving as u64, 3);
                prop_assert_eq!(released.people, left.len() as u64);
                prop_assert_eq!(released.total, left.iter().map(|value| i128::from(*value)).sum::<i128>());
                let known = 3.min(most.min(values.len()) - leaving);
                prop_assert_eq!(released.largest, &left[..known]);
            }
            prop_assert_eq!(ranked.without(u64::MAX, 3).people, 0);
        }
    }

    // Refutes a person beyond the last answer who is above it, and one at the answer who is.
    #[cfg(feature = "cli")]
    #[test]
    fn a_demo_counts_who_is_above() {
        let grid = Grid::list([0, 5, 10]).unwrap();
        let mut tops = Tops::default();
        [3, 5, 5, 6, 10, 99].into_iter().for_each(|value| tops.add(value, usize::MAX));
        assert_eq!(tops.shown_in_a_demo(&grid, 5), (Some(99), 3));
        assert_eq!((tops.shown_in_a_demo(&grid, 10).1, tops.shown_in_a_demo(&grid, 0).1), (0, 6));
        assert_eq!(Tops::default().shown_in_a_demo(&grid, 0), (None, 0));
        // Without 99 and 10 the others have 19, and without 6 as well 13.
        let sums = Grid::list([0, 13, 20, 100]).unwrap();
        assert_eq!(tops.total_in_a_demo(&sums, 20), (Some(128), 2));
        assert_eq!(tops.total_in_a_demo(&sums, 13), (Some(128), 3));
        assert_eq!(tops.total_in_a_demo(&sums, 100), (Some(128), 0));
        assert_eq!(Tops::default().total_in_a_demo(&sums, 0), (None, 0));
    }

    #[test]
    fn little_is_held_of_many() {
        let mut tops = Tops::default();
        (0..1_000_000).for_each(|value| tops.add(value, 100));
        assert!(tops.bytes() <= size_of::<Tops>() + 512 * size_of::<i64>());
        tops.cut();
        // A copy has no room to spare.
        assert_eq!(tops.clone().bytes(), size_of::<Tops>() + 100 * size_of::<i64>());
        assert_eq!(format!("{tops:?} {:?}", tops.clone().ranked().without(0, 1)), "<private> <private>");
    }
}
