//! All values of a key, in which a quantile is found.

#[cfg(feature = "cli")]
use super::choose;
#[cfg(feature = "cli")]
use super::quantiles::Quantile;
use serde::{Deserialize, Serialize};

use super::grid::Grid;
use crate::mechanisms::statistic::Summary;

/// The values that people have in one key, in runs that are each in order. Prints as `<private>`.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct RankedValues {
    people: u64,
    values: Vec<i64>,
}

impl RankedValues {
    /// Takes in what one person has: at most as many values as a person may.
    #[inline]
    pub fn add(&mut self, values: &[i64]) {
        self.people = self.people.wrapping_add(1);
        self.values.extend_from_slice(values);
    }

    /// Takes people out who were taken in.
    pub(crate) fn remove(&mut self, other: &RankedValues) {
        self.people = self.people.wrapping_sub(other.people);
        let mut gone = other.clone().sorted().into_iter().peekable();
        self.values.sort();
        self.values.retain(|value| gone.next_if_eq(value).is_none());
    }

    /// Puts all of it in order: one run.
    pub fn settle(&mut self) {
        self.values.sort_unstable();
    }

    /// Returns the memory that it holds. It is private, as all of it is.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.values.capacity() * size_of::<i64>()
    }

    /// All values in order. The sort finds the runs that workers have put in order, and merges them.
    pub(in crate::mechanisms) fn sorted(mut self) -> Vec<i64> {
        self.values.sort();
        self.values
    }
}

/// For demonstrations, which show the truth.
#[cfg(feature = "cli")]
impl RankedValues {
    /// The quantile; and by how many values, each at its point, the rank of an answer is off.
    pub(crate) fn shown_in_a_demo(&self, quantile: Quantile, grid: &Grid, answer: i64) -> (Option<i64>, u64) {
        let sorted = self.clone().sorted();
        let at_points: Vec<i64> =
            places(&sorted, grid).into_iter().filter_map(|place| grid.at(place + 1)).collect();
        (choose::exact(&sorted, quantile), choose::off(&at_points, answer, quantile))
    }
}

impl Summary for RankedValues {
    fn people(&self) -> u64 {
        self.people
    }

    fn join(&mut self, mut other: RankedValues) {
        self.people = self.people.wrapping_add(other.people);
        if self.values.is_empty() {
            std::mem::swap(&mut self.values, &mut other.values);
        }
        self.values.append(&mut other.values);
    }

    #[cfg(test)]
    fn shown(&self) -> Vec<i128> {
        let values = self.clone().sorted().into_iter().map(i128::from);
        [self.people.into()].into_iter().chain(values).collect()
    }
}

redacted!(RankedValues);

/// The points of sorted values, sorted, each counted from 0. A value between two points counts at the upper one, and one
/// above the last at the last.
pub(super) fn places(sorted: &[i64], grid: &Grid) -> Vec<u64> {
    sorted.iter().map(|value| grid.ceiling(*value).min(grid.top()) - 1).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    // Refutes a value that leaves its point.
    #[test]
    fn each_value_is_at_its_point_or_the_one_above() {
        let grid = Grid::list([0, 10, 20]).unwrap();
        assert_eq!(places(&[i64::MIN, 0, 1, 10, 11, 20, 21, i64::MAX], &grid), [0, 0, 1, 1, 2, 2, 2, 2]);
    }
}
