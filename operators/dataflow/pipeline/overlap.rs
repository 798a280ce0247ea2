//! Windows that overlap: where the records of each person are, so that a window is the one before it but for the people
//! who left records in the panes that it lost or gained.
//!
//! What is kept of a person in a window follows from that person's records in it alone. So the totals of a window are
//! those of the window before, less what the people of those panes had there, and with what they have now; everybody
//! else has the same records in both. People are found by the hash of the selector: two of one hash are taken together,
//! which changes nothing.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use smallvec::SmallVec;

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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    place: u32,
    row: u32,
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

    /// Indexes a window instead of the one before; `hashes` gives the hash of the person of each row at a place.
    ///
    /// Returns the rows of everybody who has one in the panes gained or lost, in the window before and in this one, if
    /// the index was of the window before and they are at most `most`; `part` gives the part of a hash at a place.
    pub(super) fn advance(
        &mut self,
        window: u64,
        change: PaneChange,
        most: usize,
        hashes: impl Fn(usize) -> Vec<(u32, u64)>,
        part: impl Fn(usize, u64) -> usize,
    ) -> Option<(Vec<FoundRow>, Vec<FoundRow>)> {
        let PaneChange { gained, lost, follows } = change;
        let of = |panes: &[(PaneKey, usize)]| -> Vec<(usize, u32, u64)> {
            let rows = |&(_, place): &(PaneKey, usize)| {
                hashes(place).into_iter().map(move |(row, hash)| (place, row, hash))
            };
            panes.iter().flat_map(rows).collect()
        };
        let (come, gone) = (of(&gained), of(&lost));
        let mut moved: Vec<u64> = come.iter().chain(gone.iter()).map(|(.., hash)| *hash).collect();
        moved.sort_unstable();
        moved.dedup();
        let before = follows.then(|| self.rows_of(&moved, &part));
        for (place, row, hash) in gone {
            let gone = Row { place: place as u32, row };
            if let Some(rows) = self.rows.get_mut(&hash) {
                rows.retain(|held| *held != gone);
                if rows.is_empty() {
                    self.rows.remove(&hash);
                }
            }
        }
        for (place, row, hash) in come {
            self.rows.entry(hash).or_default().push(Row { place: place as u32, row });
        }
        lost.iter().for_each(|(pane, _)| _ = self.panes.remove(pane));
        self.panes.extend(gained);
        self.window = Some(window);
        let before = before.filter(|before| before.len() <= most)?;
        let after = self.rows_of(&moved, &part);
        (before.len() + after.len() <= most).then_some((before, after))
    }

    /// All rows of these people, those of one part of a pane together and in order.
    fn rows_of(&self, people: &[u64], part: &impl Fn(usize, u64) -> usize) -> Vec<FoundRow> {
        let of_person = |&hash: &u64| {
            let found = move |row: &Row| {
                let place = row.place as usize;
                FoundRow { place, part: part(place, hash), row: row.row }
            };
            self.rows.get(&hash).into_iter().flatten().map(found)
        };
        let mut rows: Vec<FoundRow> = people.iter().flat_map(of_person).collect();
        rows.sort_unstable();
        rows
    }
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

    /// The rows of each place: hashes of persons.
    fn advance(
        index: &mut OverlapIndex,
        window: u64,
        panes: &[(PaneKey, usize)],
        tables: &[Vec<u64>],
    ) -> Option<(Vec<FoundRow>, Vec<FoundRow>)> {
        let panes: BTreeMap<PaneKey, usize> = panes.iter().copied().collect();
        let change = index.compare(window, &panes);
        let hashes = |place: usize| (0..).zip(tables[place].iter().copied()).collect();
        index.advance(window, change, usize::MAX, hashes, |_, hash| (hash % 2) as usize)
    }

    fn found(rows: &[FoundRow]) -> Vec<(usize, usize, u32)> {
        rows.iter().map(|found| (found.place, found.part, found.row)).collect()
    }

    // Refutes a person who is left out of either window, one who is taken though nothing of theirs changed, and a place
    // that is taken for the pane that was there before.
    #[test]
    fn the_people_of_the_panes_that_changed_are_found_in_all_panes() {
        let mut index = OverlapIndex::default();
        let mut tables = vec![vec![1, 2], vec![2, 3], vec![4, 1]];
        assert!(
            advance(&mut index, 7, &[((0, 0), 0), ((1, 0), 1)], &tables).is_none(),
            "nothing came before it"
        );
        let (before, after) = advance(&mut index, 8, &[((1, 0), 1), ((2, 1), 2)], &tables).unwrap();
        // 3 is in neither pane that changed; 2 has left one and is still in the other.
        assert_eq!(found(&before), [(0, 0, 1), (0, 1, 0), (1, 0, 0)]);
        assert_eq!(found(&after), [(1, 0, 0), (2, 0, 0), (2, 1, 1)]);
        assert!(!index.holds(0) && index.holds(1) && index.holds(2));
        // Another pane at the same place.
        tables[0] = vec![3];
        let (before, after) = advance(&mut index, 9, &[((2, 1), 2), ((3, 2), 0)], &tables).unwrap();
        assert_eq!(found(&before), [(1, 0, 0), (1, 1, 1)]);
        assert_eq!(found(&after), [(0, 1, 0)]);
        assert!(advance(&mut index, 11, &[((3, 2), 0)], &tables).is_none(), "a window was passed over");
        let (before, after) = advance(&mut index, 12, &[((3, 2), 0)], &tables).unwrap();
        assert!(before.is_empty() && after.is_empty());
    }
}
