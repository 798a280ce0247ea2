//! The most frequent keys: which of the listed keys have the largest numbers of people or records, in order, without the
//! numbers.
//!
//! This is the exponential mechanism in rounds, without replacement ("peeling"): each round picks a key in proportion to a weight
//! that falls with the distance of its number from the largest one that is left, and the next round picks among the others.
//!
//! # What it costs
//!
//! One more unit moves each number up by at most `D`, and none down, in however many keys the unit is. Weights that fall by
//! `e^e` for a distance of `D` then move, up to one common factor, by a factor between 1 and `e^e`: the logarithms of the ratios of
//! probabilities lie in an interval of length `e` that has 0 in it, where numbers that move both ways would need weights that fall
//! by `e^(e/2)`. So a round is purely `e`-private and of bounded range `e` (Durfee and Rogers 2019): `e^2 / 8` of rho (Cesar and Rogers
//! 2021), or the mu of pure `e / 2`. Rounds depend on former ones only by what these have released, so that their costs add up.
//!
//! **How many keys there are, and in how many of them the unit is, does not matter.** The range of all rounds together is more than
//! the sum of their ranges (1.34 for two of .5, by enumeration): it is their rho that adds up, and no square of a sum is charged.
//!
//! [`PermuteAndFlip`](super::PermuteAndFlip) has coins that fall alike. It is the largest of the numbers with exponential noise
//! (Ding and others 2021), which costs pure `e` where numbers only rise (Dwork and Roth 2014); its range is not bounded by that.
//!
//! # What it says
//!
//! With the stated probability, of all picks of a window together, the number of each is within a stated number of people, or records, of
//! the largest that was left. A key of a smaller number may be picked before one of a larger, and the ranks of equal numbers
//! are drawn.

mod prepared;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::bound::Sensitivity;
use super::keys::Key;
use super::mechanism::Sealed;
use super::monotone_count::MonotoneCount;
use super::spend::Cut;
use super::statistic::{Cell, Cells, Statistic, Total};
use crate::invalid::{Invalid, InvalidKind};

pub use prepared::PreparedTop;

/// The keys of a count with the largest numbers.
///
/// ```
/// use discreet::mechanisms::{Bound, Exponential, Keys, Mechanism, Total, TopKeys};
///
/// // Of a thousand pages the ten with the most people, who may be in any number of them.
/// let pages = Keys::public((0..1000).map(|page| format!("/{page}")))?;
/// let people = Total::people(Bound::keys(1000).checked()?, pages)?;
/// let top = Exponential::rho(0.1).confidence(0.95).prepare(&TopKeys::new(people, 10)?)?;
/// println!("each has at most {} people less than the best that is left", top.within());
/// # assert_eq!(top.within(), 43);
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct TopKeys<K> {
    count: MonotoneCount<K>,
    picks: u64,
}

impl<K: Key> TopKeys<K> {
    /// The most picks of a window.
    pub(crate) const MOST: u64 = 1_000;

    /// Creates the keys with the largest numbers, this many of them.
    ///
    /// # Errors
    /// Names `k` where it is zero, or more than there are keys or than a thousand; `of` for a sum, which a person may move down;
    /// `keys` where they are discovered; `weight` where people count in part; `rollup` where parents are released too; and `bound`
    /// where a person moves a key by more than 2^31.
    pub fn new(total: Total<K>, picks: u64) -> Result<TopKeys<K>, Invalid> {
        let count = MonotoneCount::new(total)?;
        let refuse = |kind, remedy| Err(Invalid::new("k", kind, remedy));
        match picks {
            0 => refuse(InvalidKind::Zero, "a whole number from 1 on"),
            _ if picks > count.keys().len() as u64 => {
                refuse(InvalidKind::TooLarge, "no more keys than are listed")
            }
            _ if picks > TopKeys::<K>::MOST => refuse(InvalidKind::TooLarge, "at most 1,000 keys"),
            _ => Ok(TopKeys { count, picks }),
        }
    }

    /// The count of each key.
    pub fn total(&self) -> &Total<K> {
        self.count.total()
    }

    /// Returns the additional cost of a part of a person.
    pub(crate) fn cut(&self) -> Cut {
        self.count.cut()
    }

    /// The keys that it chooses among.
    pub(crate) fn listed(&self) -> Option<Arc<[K]>> {
        Some(Arc::clone(self.count.keys()))
    }

    /// Returns the contribution of one person to a key.
    pub(crate) fn contribution(&self, records: u64, sum: i128) -> Cell {
        self.total().contribution(records, sum)
    }

    /// Returns false: nobody counts in part.
    pub(crate) fn weighs(&self) -> bool {
        false
    }

    /// Weighs no share.
    pub(crate) fn weigh(&self, _shares: &mut [Cell]) {}
}

impl<K> Sealed for TopKeys<K> {}

impl<K: Key> Statistic for TopKeys<K> {
    type Tally = Cells<K>;

    /// That of the count of a window.
    fn sensitivity(&self) -> Sensitivity {
        self.total().sensitivity()
    }
}
