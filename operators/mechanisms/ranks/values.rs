//! All values of a key: what a quantile is found in.

use serde::{Deserialize, Serialize};

#[cfg(feature = "cli")]
use super::losses;
#[cfg(feature = "cli")]
use super::quantile::Quantile;
use crate::mechanisms::tally::Summary;

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

    /// Puts all of it in order: one run.
    pub fn settle(&mut self) {
        self.values.sort_unstable();
    }

    /// How much memory it holds. It is private, as all of it is.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.values.capacity() * size_of::<i64>()
    }

    /// All values in order. The sort finds the runs that workers have put in order, and merges them.
    pub(super) fn sorted(mut self) -> Vec<i64> {
        self.values.sort();
        self.values
    }
}

/// For demonstrations, which show the truth.
#[cfg(feature = "cli")]
impl RankedValues {
    /// The quantile; and by how many values the rank of an answer is off.
    pub(crate) fn shown_in_a_demo(&self, quantile: Quantile, answer: i64) -> (Option<i64>, u64) {
        let sorted = self.clone().sorted();
        (losses::exact(&sorted, quantile), losses::off(&sorted, answer, quantile))
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

impl std::fmt::Debug for RankedValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<private>")
    }
}
