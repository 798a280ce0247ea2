//! The level above the keys (roll-up): the total of all keys that have the same [parent](Key::parent).
//!
//! The number of a parent is the sum of those of its keys, of undiscovered ones too. It has noise of its own: the sum of the
//! noised keys would have the noise of all of them, and lack what is not discovered.
//!
//! **Sensitivity.** A person moves `keys` keys by `most` each, which is `keys most^2` in squared L2. The parents are moved by the
//! same amounts, added up: in the worst case all in one parent, by `keys most`, which is `keys^2 most^2`. Where keys are
//! listed, a parent has a number of them, and the worst case fills the largest parents first.
//!
//! **Price.** Keys and parents share the price of their numbers in two halves. With a fraction `s` for the keys, each level has
//! the deviation that it would have by itself at the whole price, times `1 / sqrt(s)` and `1 / sqrt(1 - s)` under Gaussian noise, and
//! times `1 / s` and `1 / (1 - s)` under Laplace noise and pure epsilon. Halves make the larger one of these factors as small as
//! it can be: the root of 2 and 2. One law for both levels would be `s = 1 / (1 + keys)` under Gaussian noise: with 5 keys a person it
//! multiplies the keys' deviation by 2.45 and the parents' by 1.10; with 20 by 4.58 and 1.02. Keys have the smaller
//! numbers, and would be drowned for what parents hardly notice. Under Laplace noise halves are one law.
//!
//! **Partition selection.** A parent is public from its first public key on. It is a function of public keys, so that nothing is
//! paid for it. What is released of it is covered by its noise in every window, whatever its keys are.

use std::collections::BTreeMap;

use super::bound::Sensitivity;
use super::keys::{Key, Keys};
use super::selection::SelectedRow;
use super::statistic::Summary;
use crate::invalid::{Invalid, InvalidKind};

/// The percentage of the price of numbers that those of the keys have; the parents' have the rest.
pub(super) const OF_KEYS: u8 = 50;

/// The level of the cells that numbers are made of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Level<'f> {
    /// The keys, without a level above.
    Only,
    /// The keys, below their parents.
    Keys,
    /// The parents of the keys.
    Parents(&'f Families),
}

impl Level<'_> {
    /// Returns the sensitivity of the cells of this level, from that of the keys, of which each is moved by as much.
    pub(super) fn moved(self, each: &Sensitivity) -> Result<Sensitivity, Invalid> {
        match self {
            Level::Only | Level::Keys => Ok(*each),
            Level::Parents(families) => families.moved(each),
        }
    }

    /// Returns true if the numbers of these cells have the whole price.
    pub(super) fn is_only(self) -> bool {
        matches!(self, Level::Only)
    }
}

/// The numbers of keys that have the same parent, in descending order; of discovered keys, any number may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Families(Option<Vec<u128>>);

impl Families {
    /// Groups keys by their parents.
    pub(super) fn of<K: Key>(keys: &Keys<K>) -> Result<Families, Invalid> {
        let Some(listed) = keys.listed() else { return Ok(Families(None)) };
        let mut families: BTreeMap<K, u128> = BTreeMap::new();
        for key in &*listed {
            let none =
                || Invalid::new("rollup", InvalidKind::Missing, "keys of several parts, which have parents");
            *families.entry(key.parent().ok_or_else(none)?).or_default() += 1;
        }
        if families.keys().any(|parent| listed.binary_search(parent).is_ok()) {
            return Err(Invalid::new(
                "rollup",
                InvalidKind::Mixed,
                "keys of which none is a parent of others",
            ));
        }
        let mut sizes: Vec<u128> = families.into_values().collect();
        sizes.sort_unstable_by(|one, other| other.cmp(one));
        Ok(Families(Some(sizes)))
    }

    /// Returns the sensitivity of the parents' sums.
    ///
    /// The sums of squares is convex in the numbers of a person's keys in each parent, so it is largest where the largest
    /// parents have as many of them as they can.
    fn moved(&self, each: &Sensitivity) -> Result<Sensitivity, Invalid> {
        let keys = each.l0();
        let Some(sizes) = &self.0 else { return each.gathered(keys, &[keys]) };
        let mut left = keys;
        let filled = sizes.iter().map(|size| {
            let filled = left.min(*size);
            left -= filled;
            filled
        });
        let filled: Vec<u128> = filled.take_while(|filled| *filled > 0).collect();
        each.gathered(keys.min(sizes.len() as u128), &filled)
    }

    /// Returns the sensitivity of the numbers of keys and parents, laid end to end, from those of the keys' numbers beside each
    /// other.
    pub(super) fn beside(&self, joint: Sensitivity, each: &[Sensitivity]) -> Result<Sensitivity, Invalid> {
        each.iter().try_fold(joint, |joint, each| joint.beside(self.moved(each)?))
    }
}

/// Returns the sum of the cells of each parent.
pub(super) fn sums<'c, K: Key, C: Summary + Clone>(
    cells: impl Iterator<Item = (&'c K, &'c C)>,
) -> BTreeMap<K, C> {
    let mut sums: BTreeMap<K, C> = BTreeMap::new();
    for (key, cell) in cells {
        if let Some(parent) = key.parent() {
            sums.entry(parent).or_default().join(cell.clone());
        }
    }
    sums
}

/// Returns a row for each parent of a released key, in the order of parents.
pub(super) fn rows<K: Key, C: Summary>(
    keys: &[SelectedRow<K, C>],
    mut sums: BTreeMap<K, C>,
) -> Vec<SelectedRow<K, C>> {
    let mut parents: Vec<K> = keys.iter().filter_map(|row| row.key.parent()).collect();
    parents.sort();
    parents.dedup_by(|one, other| one == other);
    let row = |key: K| {
        let cell = sums.remove(&key).unwrap_or_default();
        SelectedRow { key, cell, passed: None }
    };
    parents.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests;
