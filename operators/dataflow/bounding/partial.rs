//! What travels from here: exact integers a key.

use std::fmt;

use super::rule::Rule;

/// What one worker knows of a key: how many people count there, with how many records, and the sum of their clipped sums.
/// Prints as `<private>`.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Partial {
    /// People with a kept record.
    pub people: u64,
    /// Their kept records.
    pub records: u64,
    /// Their sums.
    pub sum: i128,
}

impl Partial {
    /// Adds another: another person's share, or another worker's partial.
    #[inline]
    pub fn add(&mut self, other: Partial) {
        // 2^64 people would be needed to reach the end of a type; wrapping is the same in every order.
        self.people = self.people.wrapping_add(other.people);
        self.records = self.records.wrapping_add(other.records);
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

impl fmt::Debug for Partial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

/// A rule whose shares add up to a [`Partial`].
pub trait AdditiveRule: Rule {
    /// One person's share of a key.
    fn partial(share: Self::Share) -> Partial;
}
