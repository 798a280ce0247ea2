//! The exact numbers of a key, as a test of a pipeline reads them.
//!
//! The trait has no path outside of this crate: a tally has no other way to these numbers than a run [whose
//! tallies are revealed](crate::dataflow::revealed).

use std::collections::BTreeMap;

use super::bound::Range;
use super::keys::Key;
use super::ranks::{Largest, Monotone, Quantiles, RankedValues, Tops};
use super::running::{RunningTotal, TotalSpan};
use super::statistic::{Cell, Cells, Mean, Statistic, Summary, Total};

/// The exact numbers of one key in one window. Nothing about them is private.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExactCell {
    /// The number of people of the key: of privacy units, where these are records.
    pub people: u64,
    /// The value, before its noise.
    pub value: ExactValue,
    /// The coordinates of the vector whose change by one unit the
    /// [sensitivity](super::Statistic::sensitivity) bounds, by their number in the key.
    pub coordinates: BTreeMap<i64, i128>,
}

/// The value of a key before its noise.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExactValue {
    /// A count, a number of people, or a sum. Of a total over windows: the part that this window adds; of people over the
    /// last windows, their number. Under a [weight](super::Weight), in units.
    Number(i128),
    /// A mean: the sum of the clipped values, and their number.
    Mean {
        /// The sum; under a weight, not of values but of both, in units.
        sum: i128,
        /// The number of values.
        records: u64,
    },
    /// The values of which a largest one or a quantile is found, in order.
    Values(Vec<i64>),
}

/// A statistic whose tally can be revealed to a test.
pub trait ExactStatistic: Statistic<Tally = Cells<Self::Key, Self::Total>> + Clone {
    /// The type of the keys.
    type Key: Key;
    /// The total of a key.
    type Total: Summary;

    /// Returns the numbers of a total.
    fn exact(&self, total: Self::Total) -> ExactCell;

    /// Returns the number of windows that are released, where a statistic has a last one.
    fn windows(&self) -> Option<u64> {
        None
    }
}

impl<K: Key> ExactStatistic for Total<K> {
    type Key = K;
    type Total = Cell;

    fn exact(&self, cell: Cell) -> ExactCell {
        let value = self.number(&cell);
        ExactCell {
            people: cell.people,
            value: ExactValue::Number(value),
            coordinates: BTreeMap::from([(0, value)]),
        }
    }
}

impl<K: Key> ExactStatistic for RunningTotal<K> {
    type Key = K;
    type Total = Cell;

    fn exact(&self, cell: Cell) -> ExactCell {
        let value = self.value(&cell);
        ExactCell {
            people: cell.people,
            value: ExactValue::Number(value),
            coordinates: BTreeMap::from([(0, value)]),
        }
    }

    fn windows(&self) -> Option<u64> {
        match self.span() {
            TotalSpan::SoFar { windows } | TotalSpan::People { windows, .. } => Some(windows),
            TotalSpan::Last { .. } => None,
        }
    }
}

impl<K: Key> ExactStatistic for Mean<K> {
    type Key = K;
    type Total = Cell;

    /// The sensitivity is that of the sum of terms beside twice the number of records.
    fn exact(&self, cell: Cell) -> ExactCell {
        ExactCell {
            people: cell.people,
            value: ExactValue::Mean { sum: sum_of_terms(self.range(), &cell), records: cell.records },
            coordinates: BTreeMap::from([(0, cell.sum), (1, 2 * i128::from(cell.records))]),
        }
    }
}

/// Returns the sum of values whose [terms](Range::term) add up to that of a cell: a term is even where the
/// middle of the range is a whole number, and odd otherwise.
fn sum_of_terms(range: &Range, cell: &Cell) -> i128 {
    (cell.sum + i128::from(cell.records) * range.middle_twice()) / 2
}

impl<K: Key, F: Monotone> ExactStatistic for Largest<K, F> {
    type Key = K;
    type Total = Tops;

    fn exact(&self, tops: Tops) -> ExactCell {
        of_values(tops.people(), tops.values())
    }
}

impl<K: Key> ExactStatistic for Quantiles<K> {
    type Key = K;
    type Total = RankedValues;

    fn exact(&self, values: RankedValues) -> ExactCell {
        of_values(values.people(), values.sorted())
    }
}

/// A unit that leaves takes its own values and moves no other: the coordinates are the numbers of equal values.
fn of_values(people: u64, mut values: Vec<i64>) -> ExactCell {
    values.sort_unstable();
    let mut coordinates = BTreeMap::new();
    for value in &values {
        *coordinates.entry(*value).or_default() += 1;
    }
    ExactCell { people, value: ExactValue::Values(values), coordinates }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanisms::{Bound, Keys};

    // Refutes a sum in the half units of its terms, and one that is rounded where the middle of the range is
    // between two whole numbers.
    #[test]
    fn the_sum_of_a_mean_is_that_of_its_clipped_values() {
        let limits = Bound::keys(1).per_key(4).checked().unwrap();
        for (low, high) in [(-3, 9), (-3, 10), (0, 1)] {
            let range = Range::new(low, high).unwrap();
            let mean = Mean::new(range, limits, Keys::<()>::whole()).unwrap();
            let values = [-7, 3, 4, 40];
            let cell = mean.contribution(4, values.iter().map(|value| mean.term(*value)).sum());
            let sum = values.iter().map(|value| i128::from(*value.clamp(&low, &high))).sum();
            let exact = mean.exact(cell);
            assert_eq!(exact.value, ExactValue::Mean { sum, records: 4 });
            assert_eq!(exact.coordinates, BTreeMap::from([(0, cell.sum), (1, 8)]));
        }
    }
}
