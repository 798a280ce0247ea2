//! The tally of a key of vectors: all of its records, for means of unknown bounds, or their sums.

use serde::{Deserialize, Serialize};

use crate::mechanisms::statistic::Summary;

/// The records of one key, as rows of one length, with the number of people. Prints as `<private>`, its size
/// included.
///
/// It bounds nothing: the caller adds at most as many records of a person as the contribution bound allows.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct VectorRows {
    people: u64,
    /// The length of a row; 0 while it is unknown, and then there are no rows.
    dimension: u32,
    /// The number of records of another length.
    odd: u64,
    values: Vec<i64>,
}

impl VectorRows {
    /// Creates a tally without rows, for rows of this length.
    pub fn of(dimension: usize) -> VectorRows {
        VectorRows { dimension: u32::try_from(dimension).unwrap_or(u32::MAX), ..VectorRows::default() }
    }

    /// Sets the length of the rows, unless it is set already.
    #[inline]
    pub(super) fn fit(&mut self, dimension: usize) {
        if self.dimension == 0 {
            self.dimension = u32::try_from(dimension).unwrap_or(u32::MAX);
        }
    }

    /// Counts a person; the caller does so once for each person with a record.
    #[inline]
    pub fn person(&mut self) {
        self.people = self.people.wrapping_add(1);
    }

    /// Adds a record. A record of another length than [the rows'](VectorRows::of) is only counted.
    #[inline]
    pub fn add(&mut self, record: &[i64]) {
        if self.dimension > 0 && record.len() == self.dimension as usize {
            self.values.extend_from_slice(record);
        } else {
            self.odd = self.odd.wrapping_add(1);
        }
    }

    /// Returns the memory that it holds, in bytes. The number is private, like the tally.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.values.capacity() * size_of::<i64>()
    }

    /// Returns the number of records, including those of another length.
    pub(in crate::mechanisms) fn records(&self) -> u64 {
        self.odd.wrapping_add(self.whole())
    }

    /// Returns the number of records of another length.
    /// Returns the mean of each coordinate, each value within its range; `None` without a record.
    #[cfg(feature = "cli")]
    pub(super) fn shown_within(&self, ranges: &[super::super::bound::Range]) -> Option<Vec<f64>> {
        let records = (self.records() > 0).then_some(self.records() as f64)?;
        let mean = |(at, range): (usize, &super::super::bound::Range)| {
            let column = self.column(ranges.len(), at);
            let clamped = |value: i64| value.clamp(range.low(), range.high());
            column.into_iter().map(|value| i128::from(clamped(value))).sum::<i128>() as f64 / records
        };
        Some(ranges.iter().enumerate().map(mean).collect())
    }

    #[cfg(test)]
    pub(in crate::mechanisms) fn odd(&self) -> u64 {
        self.odd
    }

    /// Returns the rows, in the order of arrival; none if they are not of this length.
    pub(in crate::mechanisms) fn each(&self, dimension: usize) -> impl Iterator<Item = &[i64]> {
        let values = if self.dimension as usize == dimension { &self.values[..] } else { &[] };
        values.chunks_exact(dimension.max(1))
    }

    /// Returns one coordinate of every row, sorted.
    pub(in crate::mechanisms) fn column(&self, dimension: usize, place: usize) -> Vec<i64> {
        let mut column: Vec<i64> = self.each(dimension).filter_map(|row| row.get(place)).copied().collect();
        column.sort_unstable();
        column
    }

    /// Returns the concatenation of all rows, sorted, so that it does not depend on the order of arrival.
    pub(in crate::mechanisms) fn sorted(&self) -> Vec<i64> {
        let mut rows: Vec<&[i64]> = self.each(self.dimension as usize).collect();
        rows.sort_unstable();
        rows.concat()
    }

    fn whole(&self) -> u64 {
        (self.values.len() / (self.dimension as usize).max(1)) as u64
    }
}

impl Summary for VectorRows {
    fn people(&self) -> u64 {
        self.people
    }

    /// Adds another tally. Its rows count as records of another length if their length differs.
    fn join(&mut self, mut other: VectorRows) {
        self.people = self.people.wrapping_add(other.people);
        self.odd = self.odd.wrapping_add(other.odd);
        self.fit(other.dimension as usize);
        if self.dimension != other.dimension {
            self.odd = self.odd.wrapping_add(other.whole());
        } else if self.values.is_empty() {
            self.values = other.values;
        } else {
            self.values.append(&mut other.values);
        }
    }

    #[cfg(test)]
    fn shown(&self) -> Vec<i128> {
        let head = [self.people.into(), self.odd.into()];
        head.into_iter().chain(self.sorted().into_iter().map(i128::from)).collect()
    }
}

redacted!(VectorRows);

// The sums of a key of vectors.

/// The number of people of a key, the number of their records, and the sum of each coordinate, in steps from
/// the statistic's origin. Prints as `<private>`, its size included.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    pub(super) people: u64,
    pub(super) records: u64,
    /// The sums without those in `near`; empty if there are no people.
    pub(super) sums: Vec<i128>,
    /// The sums of `nearby` more records, in 64 bits.
    pub(super) near: Vec<i64>,
    pub(super) nearby: u32,
}

/// The number of records that are summed in 64 bits, if no number is beyond [`NARROW`]. It is small in tests,
/// so that the limit is reached there.
const TOGETHER: u32 = if cfg!(test) { 7 } else { 1 << 20 };

/// The largest number of which [`TOGETHER`] add up in 64 bits.
pub(super) const NARROW: u64 = 1 << 42;

impl Moments {
    /// Returns the sum of a coordinate.
    pub(super) fn sum(&self, coordinate: usize) -> i128 {
        let near = self.near.get(coordinate).copied().unwrap_or(0);
        self.sums.get(coordinate).copied().unwrap_or(0).wrapping_add(near.into())
    }

    /// Returns the 64-bit sums, for one more record, none of whose numbers may be beyond [`NARROW`].
    #[inline]
    pub(super) fn next_nearby(&mut self) -> &mut [i64] {
        if self.nearby == TOGETHER {
            self.settle();
        }
        self.near.resize(self.sums.len(), 0);
        self.nearby += 1;
        &mut self.near
    }

    fn settle(&mut self) {
        for (sum, near) in self.sums.iter_mut().zip(&mut self.near) {
            *sum = sum.wrapping_add((*near).into());
            *near = 0;
        }
        self.nearby = 0;
    }

    /// Returns the memory that it holds, in bytes. The number is private, like the tally.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.sums.capacity() * size_of::<i128>() + self.near.capacity() * size_of::<i64>()
    }
}

impl Summary for Moments {
    fn people(&self) -> u64 {
        self.people
    }

    /// Adds another tally. Sums wrap rather than fail, as in a [`Cell`](crate::mechanisms::Cell).
    fn join(&mut self, other: Moments) {
        self.people = self.people.wrapping_add(other.people);
        self.records = self.records.wrapping_add(other.records);
        let mut other = other;
        other.settle();
        if self.sums.is_empty() {
            self.sums = other.sums;
            return;
        }
        self.sums.iter_mut().zip(other.sums).for_each(|(ours, theirs)| *ours = ours.wrapping_add(theirs));
    }

    #[cfg(test)]
    fn shown(&self) -> Vec<i128> {
        [self.people.into(), self.records.into()]
            .into_iter()
            .chain((0..self.sums.len()).map(|at| self.sum(at)))
            .collect()
    }
}

redacted!(Moments);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(dimension: usize, records: &[Vec<i64>]) -> VectorRows {
        let mut rows = VectorRows::of(dimension);
        rows.person();
        records.iter().for_each(|record| rows.add(record));
        rows
    }

    proptest! {
        // Refutes a row that is lost or cut when tallies are joined, and a result that depends on the order
        // of arrival.
        #[test]
        fn every_order_and_every_division_is_the_same(
            mut records in proptest::collection::vec(proptest::collection::vec(-3i64..4, 0..4), 0..40),
            parts in proptest::collection::vec(0usize..5, 40),
            turned: bool,
        ) {
            let whole = of(2, &records);
            if turned {
                records.reverse();
            }
            let mut divided: Vec<VectorRows> = (0..5).map(|_| VectorRows::of(2)).collect();
            records.iter().zip(&parts).for_each(|(record, &part)| divided[part].add(record));
            let mut joined = VectorRows::default();
            divided.into_iter().for_each(|part| joined.join(part));
            joined.person();
            prop_assert_eq!(joined.shown(), whole.shown());
            prop_assert_eq!(joined.records(), records.len() as u64);
            prop_assert_eq!(joined.odd(), records.iter().filter(|record| record.len() != 2).count() as u64);
            for place in 0..2 {
                prop_assert_eq!(joined.column(2, place), whole.column(2, place));
            }
        }
    }

    // Refutes a first record that sets the length of the others: one person could make all of theirs count as
    // odd.
    #[test]
    fn a_record_does_not_set_the_length() {
        let mut rows = VectorRows::default();
        rows.add(&[1, 2, 3]);
        rows.join(of(2, &[vec![1, 2]]));
        assert_eq!((rows.records(), rows.odd(), rows.sorted()), (2, 1, vec![1, 2]));
        rows.join(of(3, &[vec![7, 8, 9], vec![1]]));
        assert_eq!((rows.records(), rows.odd(), rows.sorted()), (4, 3, vec![1, 2]));
        assert_eq!(rows.each(3).count(), 0, "rows of another length");
        assert_eq!(format!("{rows:?}"), "<private>");
        assert_eq!((of(0, &[vec![]]).records(), of(0, &[vec![]]).odd()), (1, 1));
    }
}
