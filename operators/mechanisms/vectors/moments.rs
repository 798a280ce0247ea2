//! What is known of a key whose records are vectors: how many, and their sum.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::mechanisms::tally::Summary;

/// How many people a key has, how many records they left in it, and the sum of each coordinate, in steps from where the
/// statistic begins to count. Prints as `<private>`, its size included.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    pub(super) people: u64,
    pub(super) records: u64,
    /// Nothing where nobody is.
    pub(super) sums: Vec<i128>,
    /// Some of the same sums, in fewer bits: of so many records that they fit.
    pub(super) near: Vec<i64>,
    pub(super) nearby: u32,
}

/// So many records are summed up in 64 bits where none is beyond [`NARROW`]. In tests few, so that it happens there.
const TOGETHER: u32 = if cfg!(test) { 7 } else { 1 << 20 };

/// Sums of [`TOGETHER`] numbers up to here fit in 64 bits.
pub(super) const NARROW: u64 = 1 << 42;

impl Moments {
    /// The sum of a coordinate.
    pub(super) fn sum(&self, coordinate: usize) -> i128 {
        let near = self.near.get(coordinate).copied().unwrap_or(0);
        self.sums.get(coordinate).copied().unwrap_or(0).wrapping_add(near.into())
    }

    /// Where to add one more record none of whose numbers is beyond [`NARROW`].
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

    /// How much memory it holds. It is private, as all of it is.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.sums.capacity() * size_of::<i128>() + self.near.capacity() * size_of::<i64>()
    }
}

impl Summary for Moments {
    fn people(&self) -> u64 {
        self.people
    }

    /// It wraps rather than fails, as a [`Cell`](crate::mechanisms::Cell) does.
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

impl fmt::Debug for Moments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}
