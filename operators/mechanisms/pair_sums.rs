//! Two sums over the records of a key, before their noise.

use serde::{Deserialize, Serialize};

use super::bound::ContributionBound;
use super::keys::{Key, Keys};
use super::ratio::Ratio;
use super::statistic::{Mean, Statistic, Summary};
use super::variance::Variance;

/// The number of people of a key, the number of their records in it, and two sums over these records.
///
/// One person's share of it is made by the statistic, which clips it; shares add up. Prints as `<private>`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairSums {
    pub(super) people: u64,
    pub(super) records: u64,
    pub(super) sums: [i128; 2],
}

impl PairSums {
    /// Adds another share.
    ///
    /// It wraps rather than fails: a share is below 2^96, so no sum comes near the end of its type, and a
    /// wrapped one would still be the same in every order.
    pub fn add(&mut self, other: &PairSums) {
        self.people = self.people.wrapping_add(other.people);
        self.records = self.records.wrapping_add(other.records);
        self.sums = std::array::from_fn(|at| self.sums[at].wrapping_add(other.sums[at]));
    }

    /// Takes a share back that was added. It wraps as [`add`](PairSums::add) does, which it undoes.
    pub(crate) fn remove(&mut self, other: &PairSums) {
        self.people = self.people.wrapping_sub(other.people);
        self.records = self.records.wrapping_sub(other.records);
        self.sums = std::array::from_fn(|at| self.sums[at].wrapping_sub(other.sums[at]));
    }

    /// Returns the number of people.
    pub(crate) fn people(&self) -> u64 {
        self.people
    }
}

/// For demonstrations, which show the truth: records and both sums.
#[cfg(feature = "cli")]
impl PairSums {
    pub(crate) fn of_a_demo(records: u64, sums: [i128; 2]) -> PairSums {
        PairSums { people: 1, records, sums }
    }

    pub(crate) fn shown_in_a_demo(&self) -> (i128, [i128; 2]) {
        (self.records.into(), self.sums)
    }
}

impl Summary for PairSums {
    fn people(&self) -> u64 {
        self.people
    }

    fn join(&mut self, other: PairSums) {
        self.add(&other);
    }

    #[cfg(test)]
    fn shown(&self) -> Vec<i128> {
        vec![self.people.into(), self.records.into(), self.sums[0], self.sums[1]]
    }
}

redacted!(PairSums);

/// A statistic that is made of a person's records in a key by up to two sums over them. Sealed, as every statistic is.
pub trait PairStatistic: Statistic + Clone {
    /// The type of the keys.
    type Key: Key;
    /// The value of a record.
    type Value;

    /// Returns the contribution bound.
    fn limits(&self) -> &ContributionBound;

    /// Returns the keys.
    fn keys(&self) -> &Keys<Self::Key>;

    /// Returns true if the parents of keys are released too.
    fn is_rolled_up(&self) -> bool;

    /// Returns the contribution of one person to a key: of the first `per_key` of these values, each clamped.
    fn contribution(&self, values: &[Self::Value]) -> PairSums;
}

macro_rules! pairs {
    ($($statistic:ident, $value:ty, $contribution:ident;)*) => {$(
        impl<K: Key> PairStatistic for $statistic<K> {
            type Key = K;
            type Value = $value;

            fn limits(&self) -> &ContributionBound {
                self.stated().limits
            }

            fn keys(&self) -> &Keys<K> {
                self.stated().keys
            }

            fn is_rolled_up(&self) -> bool {
                self.stated().families.is_some()
            }

            #[inline]
            fn contribution(&self, values: &[$value]) -> PairSums {
                self.$contribution(values)
            }
        }
    )*};
}

pairs! {
    Mean, i64, contribution_of;
    Variance, i64, contribution;
    Ratio, (i64, i64), contribution;
}
