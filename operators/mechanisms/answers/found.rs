//! What a question finds: integers, which add up.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// What the records that match come to. It is exact, and so it is secret: it prints as `<private>`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MatchedTotals {
    /// How many records match; of a mean, how many match and have its field.
    pub matched: u64,
    /// The sum of their [`term`](super::Steps::term)s; zero of a count.
    pub terms: i128,
}

impl std::fmt::Debug for MatchedTotals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<private>")
    }
}

/// Of two lots of records. A term is within 2^62 of zero, so 2^64 of them fit.
impl Add for MatchedTotals {
    type Output = MatchedTotals;

    fn add(self, other: MatchedTotals) -> MatchedTotals {
        MatchedTotals { matched: self.matched + other.matched, terms: self.terms + other.terms }
    }
}

impl AddAssign for MatchedTotals {
    fn add_assign(&mut self, other: MatchedTotals) {
        *self = *self + other;
    }
}

impl Sum for MatchedTotals {
    fn sum<I: Iterator<Item = MatchedTotals>>(lots: I) -> MatchedTotals {
        lots.fold(MatchedTotals::default(), Add::add)
    }
}
