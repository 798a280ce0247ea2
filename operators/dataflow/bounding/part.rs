//! A part of a table: the persons whose hash begins alike.

use super::rule::{Keyed, Rule};

/// How many parts a table has. Appending to one of 32 places stays within the first-level cache and the table of pages,
/// and the part of a million persons still fits the second level while it is gathered: of 16, 32, 64 and 128 this was the
/// fastest at 10 thousand, 100 thousand and a million people.
pub(super) const PARTS: usize = 32;

/// So many records of a part wait at least before they are gathered: 8 MB of a table with numbers for persons. With half of
/// it a window of 500 thousand records is gathered twice, which costs a fifth more.
/// In tests few, so that small inputs are gathered many times.
const WAITING: usize = if cfg!(test) { 8 } else { 16_384 };

/// Which part a person is in: the highest five bits.
#[inline]
pub(super) fn part_of(hash: u64) -> usize {
    (hash >> 59) as usize
}

/// What a person is found by in a part: bits that did not decide which part.
#[inline]
pub(super) fn slot_of(hash: u64) -> u32 {
    (hash >> 16) as u32
}

/// A record as it came.
pub(super) struct Fresh<P, V> {
    pub(super) person: P,
    pub(super) slot: u32,
    pub(super) key: u32,
    pub(super) value: V,
}

/// A person of whom something is held.
pub(super) struct PersonRow<P> {
    pub(super) person: P,
    pub(super) slot: u32,
    /// Where what is held of the person ends; it begins where that of the row before ends.
    pub(super) end: u32,
}

pub(super) struct PanePart<P, R: Rule> {
    pub(super) fresh: Vec<Fresh<P, R::Value>>,
    /// What another table held: person, slot, thing.
    pub(super) brought: Vec<(P, u32, Keyed<R::Held>)>,
    pub(super) rows: Vec<PersonRow<P>>,
    pub(super) held: Vec<Keyed<R::Held>>,
    /// What persons and values hold beside their own size.
    pub(super) heap: usize,
}

impl<P, R: Rule> PanePart<P, R> {
    pub(super) fn new() -> PanePart<P, R> {
        PanePart { fresh: Vec::new(), brought: Vec::new(), rows: Vec::new(), held: Vec::new(), heap: 0 }
    }

    /// Has as much come as is held? Then gathering costs a constant a record, and memory is at most twice what is held.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.fresh.len() + self.brought.len() >= WAITING.max(self.held.len())
    }

    /// Each person with what is held.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&PersonRow<P>, &[Keyed<R::Held>])> {
        let mut start = 0;
        self.rows.iter().map(move |row| {
            let held = &self.held[start..row.end as usize];
            start = row.end as usize;
            (row, held)
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.brought.is_empty() && self.rows.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.fresh.clear();
        self.brought.clear();
        self.rows.clear();
        self.held.clear();
        self.heap = 0;
    }

    pub(super) fn bytes(&self) -> usize {
        self.fresh.capacity() * size_of::<Fresh<P, R::Value>>()
            + self.brought.capacity() * size_of::<(P, u32, Keyed<R::Held>)>()
            + self.rows.capacity() * size_of::<PersonRow<P>>()
            + self.held.capacity() * size_of::<Keyed<R::Held>>()
            + self.heap
    }
}
