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
}

impl Moments {
    /// The sum of a coordinate.
    pub(super) fn sum(&self, coordinate: usize) -> i128 {
        self.sums.get(coordinate).copied().unwrap_or(0)
    }

    /// How much memory it holds. It is private, as all of it is.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.sums.capacity() * size_of::<i128>()
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
        if self.sums.is_empty() {
            self.sums = other.sums;
            return;
        }
        self.sums.iter_mut().zip(other.sums).for_each(|(ours, theirs)| *ours = ours.wrapping_add(theirs));
    }

    #[cfg(test)]
    fn shown(&self) -> Vec<i128> {
        [self.people.into(), self.records.into()].into_iter().chain(self.sums.iter().copied()).collect()
    }
}

impl fmt::Debug for Moments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}
