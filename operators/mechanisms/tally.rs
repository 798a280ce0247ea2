//! What is known of a window before its noise: partial sums that travel, and the table they add up to.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::keys::Key;
use crate::mechanisms::sealed::Sealed;

/// A window's exact statistic, as it is put together.
///
/// Parts arrive in any order and in any division; the finished tally must be the same for all of them. It is secret: it
/// has no way out but through a [`Ready`](super::Ready) mechanism.
pub trait Tally: Sealed + Send + 'static {
    /// What travels between workers and processes.
    type Part: Serialize + DeserializeOwned + Send + 'static;

    /// Takes a part in.
    fn absorb(&mut self, part: Self::Part);
}

/// What is known of one key, of all of its people together.
pub trait Summary: Default + Serialize + DeserializeOwned + Send + 'static {
    /// How many people it has.
    fn people(&self) -> u64;

    /// Takes in what another worker knows of it.
    fn join(&mut self, other: Self);

    /// All of it, for tests.
    #[cfg(test)]
    fn shown(&self) -> Vec<i128>;
}

/// How many people a key has, how many records they left in it, and the sum of their values.
///
/// One person's share of it is made by the statistic ([`Total::contribution`](super::Total::contribution),
/// [`Mean::contribution`](super::Mean::contribution)), which clips it; shares add up. Prints as `<private>`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    pub(super) people: u64,
    pub(super) records: u64,
    pub(super) sum: i128,
}

impl Cell {
    /// Adds another share.
    ///
    /// It wraps rather than fails: no sum comes near the end of its type (a share is below 2^96, and 2^31 of them fit),
    /// and a wrapped one would still be the same in every order.
    pub fn add(&mut self, other: &Cell) {
        self.people = self.people.wrapping_add(other.people);
        self.records = self.records.wrapping_add(other.records);
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

impl Summary for Cell {
    fn people(&self) -> u64 {
        self.people
    }

    fn join(&mut self, other: Cell) {
        self.add(&other);
    }

    #[cfg(test)]
    fn shown(&self) -> Vec<i128> {
        vec![self.people.into(), self.records.into(), self.sum]
    }
}

/// For demonstrations, which show the truth: people, records and sum.
#[cfg(feature = "cli")]
impl Cell {
    pub(crate) fn of_a_demo(people: u64, records: u64, sum: i128) -> Cell {
        Cell { people, records, sum }
    }

    pub(crate) fn shown_in_a_demo(&self) -> [i128; 3] {
        [self.people.into(), self.records.into(), self.sum]
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

/// A cell, or another summary, for each key, in the order of the keys. Prints as `<private>`, its size included.
pub struct Cells<K, C = Cell> {
    cells: BTreeMap<K, C>,
    open: bool,
}

impl<K: Key, C: Summary> Cells<K, C> {
    /// A cell for each of these keys, and for no other: what comes for another key is left out.
    pub(super) fn of(keys: &Arc<[K]>) -> Cells<K, C> {
        Cells { cells: keys.iter().map(|key| (key.clone(), C::default())).collect(), open: false }
    }

    /// A cell for each key that comes.
    pub(super) fn open() -> Cells<K, C> {
        Cells { cells: BTreeMap::new(), open: true }
    }

    /// What is known of each key. Nothing but a test may see it.
    #[cfg(test)]
    pub(crate) fn exact_for_tests_of_the_library_itself(&self) -> Vec<(K, Vec<i128>)> {
        self.cells.iter().map(|(key, cell)| (key.clone(), cell.shown())).collect()
    }

    pub(super) fn into_map(self) -> BTreeMap<K, C> {
        self.cells
    }
}

impl<K, C> Sealed for Cells<K, C> {}

impl<K: Key, C: Summary> Tally for Cells<K, C> {
    type Part = (K, C);

    fn absorb(&mut self, (key, share): (K, C)) {
        if self.open {
            self.cells.entry(key).or_default().join(share);
        } else if let Some(cell) = self.cells.get_mut(&key) {
            cell.join(share);
        }
    }
}

impl<K, C> fmt::Debug for Cells<K, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

#[cfg(test)]
mod tests;
