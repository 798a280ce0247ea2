//! What is known of a window before its noise: partial sums that travel, and the table they add up to.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::mechanisms::keys::Key;
use crate::mechanisms::mechanism::Sealed;

/// A window's exact statistic, as it is put together.
///
/// Parts arrive in any order and in any division; the finished tally must be the same for all of them. It is
/// secret: it has no way out but through a [`Prepared`](crate::mechanisms::Prepared) mechanism.
pub trait Tally: Sealed + Send + 'static {
    /// The part that travels between workers and processes.
    type Part: Serialize + DeserializeOwned + Send + 'static;

    /// Takes a part in.
    fn absorb(&mut self, part: Self::Part);
}

/// The totals of one key, of all of its people together.
pub trait Summary: Default + Serialize + DeserializeOwned + Send + 'static {
    /// Returns the number of its people.
    fn people(&self) -> u64;

    /// Takes in what another worker knows of it.
    fn join(&mut self, other: Self);

    /// All of it, for tests.
    #[cfg(test)]
    fn shown(&self) -> Vec<i128>;
}

/// The number of people of a key, the number of their records in it, and the sum of their values.
///
/// One person's share of it is made by the statistic ([`Total::contribution`](super::Total::contribution),
/// [`Mean::contribution`](super::Mean::contribution)), which clips it; shares add up. Prints as `<private>`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    pub(in crate::mechanisms) people: u64,
    pub(in crate::mechanisms) records: u64,
    pub(in crate::mechanisms) sum: i128,
}

impl Cell {
    /// Adds another share.
    ///
    /// It wraps rather than fails: no sum comes near the end of its type (a share is below 2^96, and 2^31 of
    /// them fit), and a wrapped one would still be the same in every order.
    pub fn add(&mut self, other: &Cell) {
        self.people = self.people.wrapping_add(other.people);
        self.records = self.records.wrapping_add(other.records);
        self.sum = self.sum.wrapping_add(other.sum);
    }

    /// Takes a share back that was added. It wraps as [`add`](Cell::add) does, which it undoes.
    pub(crate) fn remove(&mut self, other: &Cell) {
        self.people = self.people.wrapping_sub(other.people);
        self.records = self.records.wrapping_sub(other.records);
        self.sum = self.sum.wrapping_sub(other.sum);
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

redacted!(Cell);

/// A cell, or another summary, for each key, in the order of the keys. Prints as `<private>`, its size
/// included.
pub struct Cells<K, C = Cell> {
    cells: CellsByKey<K, C>,
    open: bool,
}

/// Cells in the order of their keys. A map of one cell takes the memory of eleven, and each of many open windows may
/// have one.
enum CellsByKey<K, C> {
    Few(Option<(K, C)>),
    Many(BTreeMap<K, C>),
}

impl<K: Key, C: Summary> CellsByKey<K, C> {
    fn get_mut(&mut self, key: &K) -> Option<&mut C> {
        match self {
            CellsByKey::Few(Some((own, cell))) if own == key => Some(cell),
            CellsByKey::Few(_) => None,
            CellsByKey::Many(cells) => cells.get_mut(key),
        }
    }

    fn insert(&mut self, key: K, cell: C) {
        match self {
            CellsByKey::Few(none @ None) => *none = Some((key, cell)),
            CellsByKey::Few(one) => {
                *self = CellsByKey::Many(one.take().into_iter().chain([(key, cell)]).collect())
            }
            CellsByKey::Many(cells) => _ = cells.insert(key, cell),
        }
    }

    fn into_map(self) -> BTreeMap<K, C> {
        match self {
            CellsByKey::Few(one) => one.into_iter().collect(),
            CellsByKey::Many(cells) => cells,
        }
    }
}

impl<K: Key, C: Summary> Cells<K, C> {
    /// The cells, in the order of their keys.
    pub(in crate::mechanisms) fn iter(&self) -> impl Iterator<Item = (&K, &C)> {
        let (few, many) = match &self.cells {
            CellsByKey::Few(one) => (one.as_ref(), None),
            CellsByKey::Many(cells) => (None, Some(cells.iter())),
        };
        few.map(|(key, cell)| (key, cell)).into_iter().chain(many.into_iter().flatten())
    }

    /// A cell for each of these keys, and for no other: what comes for another key is left out.
    pub(in crate::mechanisms) fn of(keys: &Arc<[K]>) -> Cells<K, C> {
        let cells = match &keys[..] {
            [key] => CellsByKey::Few(Some((key.clone(), C::default()))),
            keys => CellsByKey::Many(keys.iter().map(|key| (key.clone(), C::default())).collect()),
        };
        Cells { cells, open: false }
    }

    /// A cell for each key that comes.
    pub(in crate::mechanisms) fn open() -> Cells<K, C> {
        Cells { cells: CellsByKey::Few(None), open: true }
    }

    /// Returns the totals of each key. Nothing but a test may see it.
    #[cfg(test)]
    pub(crate) fn exact_for_tests_of_the_library_itself(&self) -> Vec<(K, Vec<i128>)> {
        match &self.cells {
            CellsByKey::Few(one) => one.iter().map(|(key, cell)| (key.clone(), cell.shown())).collect(),
            CellsByKey::Many(cells) => cells.iter().map(|(key, cell)| (key.clone(), cell.shown())).collect(),
        }
    }

    pub(in crate::mechanisms) fn into_map(self) -> BTreeMap<K, C> {
        self.cells.into_map()
    }
}

impl<K, C> Sealed for Cells<K, C> {}

impl<K: Key, C: Summary> Tally for Cells<K, C> {
    type Part = (K, C);

    fn absorb(&mut self, (key, share): (K, C)) {
        if let Some(cell) = self.cells.get_mut(&key) {
            cell.join(share);
        } else if self.open {
            let mut cell = C::default();
            cell.join(share);
            self.cells.insert(key, cell);
        }
    }
}

redacted!([K, C] Cells<K, C>);

#[cfg(test)]
mod tests;
