//! Windows that overlap: where the records of each person are, so that a window is the one before it but for the people
//! who left records in the panes that it lost or gained.
//!
//! What is kept of a person in a window follows from that person's records in it alone. So the totals of a window are
//! those of the window before, less what the people of those panes had there, and with what they have now; everybody
//! else has the same records in both. People are found by the hash of the selector: two of one hash are taken together,
//! which changes nothing.
//!
//! Of a person with no more keys in both windows together than may count, each in one pane alone, every key counts by its
//! own records: then only those in the panes that were lost or gained are looked at.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use smallvec::SmallVec;

use crate::dataflow::bounding::NONE;

/// The panes of a window by their places, and the rows of each person in them.
#[derive(Default)]
pub(super) struct OverlapIndex {
    window: Option<u64>,
    /// By pane, and by the first of its windows that it counts in.
    panes: BTreeMap<PaneKey, usize>,
    rows: HashMap<u64, SmallVec<[Row; 2]>, BuildHasherDefault<KeyedHash>>,
}

/// A pane, and the first of its windows that it counts in.
pub(super) type PaneKey = (u64, u64);

/// A row of the table at a place, or the number of one of its few records.
#[derive(Clone, Copy)]
struct Row {
    place: u32,
    row: u32,
    /// The key of the row, by its hash; [`NONE`] of one with several, and where keys are not compared.
    key: u32,
}

/// A person in a pane: the row, the hash of the person, and that of the row's [key](Row::key).
pub(super) type HashedRow = (u32, u64, u32);

/// A row that a person gained or lost.
struct MovedRow {
    person: u64,
    row: Row,
    is_gained: bool,
}

/// A row of somebody in a pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FoundRow {
    /// The place of the pane.
    pub(super) place: usize,
    /// The part of the pane's table; 0 of a pane of few records.
    pub(super) part: usize,
    pub(super) row: u32,
}

/// The rows of the people whose rows changed, in one window.
#[derive(Default)]
pub(super) struct ChangedRows {
    /// All rows of those who must be put together.
    pub(super) together: Vec<FoundRow>,
    /// Of the others, the rows in the panes that changed.
    pub(super) apart: Vec<FoundRow>,
}

/// The panes that a window gained and lost since the window before.
pub(super) struct PaneChange {
    gained: Vec<(PaneKey, usize)>,
    lost: Vec<(PaneKey, usize)>,
    /// True if the index is of the window before.
    follows: bool,
}

impl PaneChange {
    /// The places of the panes that the window gained.
    pub(super) fn gained(&self) -> impl Iterator<Item = usize> {
        self.gained.iter().map(|(_, place)| *place)
    }
}

impl OverlapIndex {
    /// Returns true if a pane at this place is indexed.
    pub(super) fn holds(&self, place: usize) -> bool {
        self.panes.values().any(|held| *held == place)
    }

    /// The places of the indexed panes.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.panes.values().copied()
    }

    pub(super) fn clear(&mut self) {
        self.window = None;
        self.panes.clear();
        self.rows.clear();
    }

    /// Compares the panes of a window with the indexed ones, which are forgotten unless they are those of the window
    /// before.
    pub(super) fn compare(&mut self, window: u64, panes: &BTreeMap<PaneKey, usize>) -> PaneChange {
        let follows = self.window.is_some_and(|before| before + 1 == window);
        if !follows {
            self.clear();
        }
        let only = |these: &BTreeMap<PaneKey, usize>, those: &BTreeMap<PaneKey, usize>| {
            let only = these.iter().filter(|(pane, _)| !those.contains_key(pane));
            only.map(|(pane, place)| (*pane, *place)).collect::<Vec<_>>()
        };
        let (gained, lost) = (only(panes, &self.panes), only(&self.panes, panes));
        PaneChange { gained, lost, follows }
    }

    /// Indexes a window instead of the one before; `hashes` gives the rows at a place.
    ///
    /// Returns rows of everybody who has one in the panes gained or lost, in the window before and in this one, if the
    /// index was of the window before and they are at most `most`; `part` gives the part of a hash at a place. Somebody
    /// with at most `keys` rows, all of different keys, need not be put together.
    pub(super) fn advance(
        &mut self,
        window: u64,
        change: PaneChange,
        (most, keys): (usize, usize),
        hashes: impl Fn(usize) -> Vec<HashedRow>,
        part: impl Fn(usize, u64) -> usize,
    ) -> Option<[ChangedRows; 2]> {
        let PaneChange { gained, lost, follows } = change;
        let mut moved: Vec<MovedRow> = Vec::new();
        for (panes, is_gained) in [(&gained, true), (&lost, false)] {
            for &(_, place) in panes {
                let rows = hashes(place).into_iter().map(|(row, person, key)| {
                    let row = Row { place: place as u32, row, key };
                    MovedRow { person, row, is_gained }
                });
                moved.extend(rows);
            }
        }
        moved.sort_unstable_by_key(|moved| moved.person);
        let is_lost = |row: &Row| lost.iter().any(|(_, place)| *place == row.place as usize);
        let [mut before, mut after] = [ChangedRows::default(), ChangedRows::default()];
        for moved in moved.chunk_by(|one, other| one.person == other.person) {
            let Some(&MovedRow { person, .. }) = moved.first() else { continue };
            let found = |row: Row| {
                let place = row.place as usize;
                FoundRow { place, part: part(place, person), row: row.row }
            };
            let come = || moved.iter().filter(|moved| moved.is_gained).map(|moved| moved.row);
            let rows = self.rows.entry(person).or_default();
            if follows && are_apart(rows.iter().copied().chain(come()), keys) {
                before.apart.extend(rows.iter().copied().filter(is_lost).map(found));
                after.apart.extend(come().map(found));
            } else if follows {
                let left = rows.iter().copied().filter(|row| !is_lost(row));
                after.together.extend(left.chain(come()).map(found));
                before.together.extend(rows.iter().copied().map(found));
            }
            rows.retain(|row| !is_lost(row));
            rows.extend(come());
            if rows.is_empty() {
                self.rows.remove(&person);
            }
        }
        lost.iter().for_each(|(pane, _)| _ = self.panes.remove(pane));
        self.panes.extend(gained);
        self.window = Some(window);
        if !follows || before.together.len() + after.together.len() > most {
            return None;
        }
        for rows in
            [&mut before, &mut after].into_iter().flat_map(|rows| [&mut rows.together, &mut rows.apart])
        {
            rows.sort_unstable();
        }
        Some([before, after])
    }
}

/// The most rows of a person whose keys are compared with each other.
const COMPARED: usize = 16;

/// Returns true if these rows are at most `most`, each of one key that no other has.
fn are_apart(rows: impl Iterator<Item = Row>, most: usize) -> bool {
    let (mut keys, most) = (SmallVec::<[u32; COMPARED]>::new(), most.min(COMPARED));
    for Row { key, .. } in rows {
        if key == NONE || keys.len() == most || keys.contains(&key) {
            return false;
        }
        keys.push(key);
    }
    true
}

/// Passes on a hash that is keyed and even already.
#[derive(Default)]
struct KeyedHash(u64);

impl Hasher for KeyedHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The rows of each place: hashes of persons, each with the key of the row.
    type Tables = [Vec<(u64, u32)>];

    /// Advances with persons who may have up to three keys.
    fn advance(
        index: &mut OverlapIndex,
        window: u64,
        panes: &[(PaneKey, usize)],
        tables: &Tables,
    ) -> Option<[ChangedRows; 2]> {
        let panes: BTreeMap<PaneKey, usize> = panes.iter().copied().collect();
        let change = index.compare(window, &panes);
        let hashes =
            |place: usize| (0..).zip(&tables[place]).map(|(row, (hash, key))| (row, *hash, *key)).collect();
        index.advance(window, change, (usize::MAX, 3), hashes, |_, hash| (hash % 2) as usize)
    }

    fn found(rows: &[FoundRow]) -> Vec<(usize, usize, u32)> {
        rows.iter().map(|found| (found.place, found.part, found.row)).collect()
    }

    fn together([before, after]: [ChangedRows; 2]) -> [Vec<(usize, usize, u32)>; 2] {
        assert!(before.apart.is_empty() && after.apart.is_empty());
        [found(&before.together), found(&after.together)]
    }

    /// Rows of several keys each.
    fn persons(hashes: &[u64]) -> Vec<(u64, u32)> {
        hashes.iter().map(|hash| (*hash, NONE)).collect()
    }

    // Refutes a person who is left out of either window, one who is taken though nothing of theirs changed, and a place
    // that is taken for the pane that was there before.
    #[test]
    fn the_people_of_the_panes_that_changed_are_found_in_all_panes() {
        let mut index = OverlapIndex::default();
        let mut tables = [&[1, 2][..], &[2, 3], &[4, 1]].map(persons);
        assert!(
            advance(&mut index, 7, &[((0, 0), 0), ((1, 0), 1)], &tables).is_none(),
            "nothing came before it"
        );
        let change = advance(&mut index, 8, &[((1, 0), 1), ((2, 1), 2)], &tables).unwrap();
        // 3 is in neither pane that changed; 2 has left one and is still in the other.
        let expected = [vec![(0, 0, 1), (0, 1, 0), (1, 0, 0)], vec![(1, 0, 0), (2, 0, 0), (2, 1, 1)]];
        assert_eq!(together(change), expected);
        assert!(!index.holds(0) && index.holds(1) && index.holds(2));
        // Another pane at the same place.
        tables[0] = persons(&[3]);
        let change = advance(&mut index, 9, &[((2, 1), 2), ((3, 2), 0)], &tables).unwrap();
        assert_eq!(together(change), [vec![(1, 0, 0), (1, 1, 1)], vec![(0, 1, 0)]]);
        assert!(advance(&mut index, 11, &[((3, 2), 0)], &tables).is_none(), "a window was passed over");
        let change = advance(&mut index, 12, &[((3, 2), 0)], &tables).unwrap();
        assert_eq!(together(change), [vec![], vec![]]);
    }

    // Refutes somebody with one key in two panes, with more keys than count, or with several keys in a row, whose rows are
    // not put together: for them the window is more or less than what its panes have; and a row of a pane that stays which
    // is looked at for somebody whose keys are apart.
    #[test]
    fn rows_are_apart_where_their_keys_are_different_and_few() {
        let (apart, same, many, mixed, stays) = (1, 2, 3, 4, 5);
        let tables = [
            vec![(apart, 70), (same, 70), (many, 70), (mixed, NONE)],
            vec![(apart, 71), (many, 71), (many, 72), (same, 70), (stays, 70)],
            vec![(apart, 72), (many, 73), (same, 71)],
        ];
        let mut index = OverlapIndex::default();
        assert!(advance(&mut index, 0, &[((0, 0), 0), ((1, 0), 1)], &tables).is_none());
        let [before, after] = advance(&mut index, 1, &[((1, 0), 1), ((2, 1), 2)], &tables).unwrap();
        assert_eq!([found(&before.apart), found(&after.apart)], [[(0, 1, 0)], [(2, 1, 0)]]);
        assert_eq!(
            found(&before.together),
            [(0, 0, 1), (0, 0, 3), (0, 1, 2), (1, 0, 3), (1, 1, 1), (1, 1, 2)]
        );
        assert_eq!(found(&after.together), [(1, 0, 3), (1, 1, 1), (1, 1, 2), (2, 0, 2), (2, 1, 1)]);
    }
}
