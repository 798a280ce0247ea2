//! How far one protected unit moves a window's statistic: whole numbers, computed and never given.

use super::bound::ContributionBound;
use crate::accounting::{Adjacency, Relation};
use crate::invalid::{Invalid, InvalidKind};

/// How far one unit more or less ([`Relation::AddRemove`]) can move the vector of *one* window: its cells, over all keys,
/// taken together. Exact, or an upper bound where that is said; there is no way to state one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sensitivity {
    neighbours: Adjacency,
    l0: u128,
    linf: u128,
    l1: u128,
    l2_squared: u128,
}

impl Sensitivity {
    /// A vector in which a unit changes `limits.keys()` cells, each by at most `most`.
    pub(crate) fn each(limits: &ContributionBound, most: u128) -> Result<Sensitivity, Invalid> {
        let keys = u128::from(limits.keys());
        let l1 = keys.checked_mul(most).ok_or_else(overflow)?;
        Ok(Sensitivity {
            neighbours: Adjacency { unit: limits.unit(), relation: Relation::AddRemove },
            l0: keys,
            linf: most,
            l1,
            l2_squared: l1.checked_mul(most).ok_or_else(overflow)?,
        })
    }

    /// The two vectors laid end to end, where a unit that is in one is in the other too.
    pub(super) fn beside(self, other: Sensitivity) -> Result<Sensitivity, Invalid> {
        let plus = |a: u128, b: u128| a.checked_add(b).ok_or_else(overflow);
        Ok(Sensitivity {
            neighbours: self.neighbours,
            l0: plus(self.l0, other.l0)?,
            linf: self.linf.max(other.linf),
            l1: plus(self.l1, other.l1)?,
            l2_squared: plus(self.l2_squared, other.l2_squared)?,
        })
    }

    /// So many such vectors laid end to end, where a unit that is in one is in all.
    pub(super) fn times(self, count: u32) -> Result<Sensitivity, Invalid> {
        let times = |value: u128| value.checked_mul(count.into()).ok_or_else(overflow);
        Ok(Sensitivity {
            l0: times(self.l0)?,
            l1: times(self.l1)?,
            l2_squared: times(self.l2_squared)?,
            ..self
        })
    }

    /// The neighbours it speaks about.
    pub fn neighbours(&self) -> Adjacency {
        self.neighbours
    }

    /// How many cells change.
    pub fn l0(&self) -> u128 {
        self.l0
    }

    /// How much any one cell changes.
    pub fn linf(&self) -> u128 {
        self.linf
    }

    /// The sum of all changes.
    pub fn l1(&self) -> u128 {
        self.l1
    }

    /// The sum of the squares of all changes.
    pub fn l2_squared(&self) -> u128 {
        self.l2_squared
    }
}

fn overflow() -> Invalid {
    Invalid::new("bound", InvalidKind::Overflow, "fewer keys, fewer records a key, or a narrower range")
}
