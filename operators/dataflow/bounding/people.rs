//! The people of a pane: one look-up of each record's person, whatever is kept of the record.

use super::identity::Identity;
use super::key_numbers::Index;
use super::selector::ContributionSelector;
use super::spillable::{restore_length, store_number};

/// The persons of one pane, in parts. What is kept of them is held beside: by row, and by waiting record until
/// [`number`](People::number) gives it one. Prints as `<private>`.
pub(in crate::dataflow) struct People<P> {
    selector: ContributionSelector,
    /// One, or [`PARTS`] once there is more than little.
    parts: Vec<PeoplePart<P>>,
    /// The work space, once something was numbered.
    index: Option<Box<Index>>,
}

redacted!([P] People<P>);

/// The persons of a part: those whose hash begins alike.
struct PeoplePart<P> {
    rows: Vec<PersonRow<P>>,
    /// The persons of what has come since.
    waiting: Vec<PersonRow<P>>,
    /// The row of each, once they are numbered.
    numbered: Vec<u32>,
    /// The heap of persons, beside their own size.
    heap: usize,
}

#[derive(Clone)]
struct PersonRow<P> {
    person: P,
    /// The bits by which the person is found.
    slot: u32,
}

/// The number of parts. Appending to one of 32 places stays within the first-level cache and the table of pages, and the
/// part of a million persons still fits the second level while it is gathered: of 16, 32, 64 and 128 this was the
/// fastest at 10 thousand, 100 thousand and a million people.
pub(in crate::dataflow) const PARTS: usize = 32;

/// The number of records up to which there is one part: many windows of a few records each are open at a time. In tests
/// few, so that tables of either kind meet.
pub(crate) const LITTLE: usize = if cfg!(test) { 6 } else { 256 };

/// So many records of a part wait at least before they are gathered: 8 MB of a count by numbers for persons. With half
/// of it a window of 500 thousand records is gathered twice, which costs a fifth more. In tests few, so that small
/// inputs are gathered many times.
const WAITING: usize = if cfg!(test) { 8 } else { 16_384 };

/// Returns the part of a person: the highest five bits of the hash.
#[inline]
pub(in crate::dataflow) fn part_of(hash: u64) -> usize {
    (hash >> 59) as usize
}

/// Returns the bits by which a person is found in a part: none of those that decide the part.
#[inline]
fn slot_of(hash: u64) -> u32 {
    (hash >> 16) as u32
}

/// The new places of what came from one part of another pane.
pub(in crate::dataflow) struct Merged {
    /// The part there.
    pub(in crate::dataflow) part: usize,
    /// The rows there that came, in order, each with its place.
    pub(in crate::dataflow) rows: Vec<(u32, Place)>,
    /// The place of each record that waits there.
    pub(in crate::dataflow) waiting: Vec<Place>,
}

/// A part, and a number among those that wait in it.
#[derive(Clone, Copy)]
pub(in crate::dataflow) struct Place {
    pub(in crate::dataflow) part: usize,
    pub(in crate::dataflow) waiting: u32,
}

impl<P: Identity + Eq + Clone> People<P> {
    /// Nobody yet.
    pub(in crate::dataflow) fn new(selector: ContributionSelector) -> People<P> {
        People { selector, parts: vec![PeoplePart::new()], index: None }
    }

    pub(in crate::dataflow) fn selector(&self) -> &ContributionSelector {
        &self.selector
    }

    /// Chooses by another chooser from now on; nobody may be here.
    pub(in crate::dataflow) fn choose_by(&mut self, selector: ContributionSelector) {
        self.selector = selector;
    }

    pub(in crate::dataflow) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Adds the person of a record that waits from now on; its part.
    #[inline]
    pub(in crate::dataflow) fn push(&mut self, person: P) -> usize {
        let hash = self.selector.person(&person);
        // The number of parts is a power of two.
        let at = part_of(hash) & (self.parts.len() - 1);
        let part = &mut self.parts[at];
        part.heap += person.heap();
        part.waiting.push(PersonRow { person, slot: slot_of(hash) });
        at
    }

    /// Returns true if there is more in the one part than it is for.
    #[inline]
    pub(in crate::dataflow) fn outgrows_one_part(&self) -> bool {
        matches!(&self.parts[..], [one] if one.waiting.len() + one.rows.len() >= LITTLE)
    }

    /// Returns true if there is no more than one part is for.
    pub(in crate::dataflow) fn is_little(&self) -> bool {
        self.parts.len() == 1 && !self.outgrows_one_part()
    }

    /// Returns true if as much waits in a part as is held, if that is so much: then gathering costs a constant a record,
    /// and memory is at most twice what is held.
    #[inline]
    pub(in crate::dataflow) fn is_full(&self, part: usize, held: impl FnOnce() -> usize) -> bool {
        let waiting = self.parts[part].waiting.len();
        waiting >= WAITING && waiting >= held()
    }

    /// The number of records that wait in a part.
    #[inline]
    pub(in crate::dataflow) fn waiting(&self, part: usize) -> usize {
        self.parts[part].waiting.len()
    }

    pub(in crate::dataflow) fn rows(&self, part: usize) -> usize {
        self.parts[part].rows.len()
    }

    #[inline]
    pub(in crate::dataflow) fn person(&self, part: usize, row: usize) -> &P {
        &self.parts[part].rows[row].person
    }

    /// The row of each record that waited in a part, between its [numbering](People::number) and the next one.
    pub(in crate::dataflow) fn numbered(&self, part: usize) -> &[u32] {
        &self.parts[part].numbered
    }

    /// Gives every record that waits in a part the row of its person. What is held by waiting record must be
    /// [gathered](super::kept_keys::KeptKeys::gather) now.
    pub(in crate::dataflow) fn number(&mut self, part: usize) {
        let index = self.index.get_or_insert_default();
        let PeoplePart { rows, waiting, numbered, heap } = &mut self.parts[part];
        numbered.clear();
        if waiting.is_empty() {
            return;
        }
        index.reset(rows.len() + waiting.len());
        for (number, row) in rows.iter().enumerate() {
            index.find_or_insert(row.slot, number as u32, |_| false);
        }
        for row in waiting.drain(..) {
            // A part of 2^32 persons would need 100 GB; a worker's memory ends first.
            let next = rows.len() as u32;
            let found = index.find_or_insert(row.slot, next, |at| rows[at as usize].person == row.person);
            match found {
                Some(_) => *heap -= row.person.heap(),
                None => rows.push(row),
            }
            numbered.push(found.unwrap_or(next));
        }
    }

    /// Takes in everybody of another pane of the same window: all wait.
    pub(in crate::dataflow) fn merge(&mut self, other: &People<P>) -> Vec<Merged> {
        let merged = other.parts.iter().enumerate().map(|(part, theirs)| Merged {
            part,
            rows: (0..).zip(&theirs.rows).map(|(row, person)| (row, self.take(person))).collect(),
            waiting: theirs.waiting.iter().map(|person| self.take(person)).collect(),
        });
        merged.collect()
    }

    /// Takes in some rows of a part of another pane, in which nobody waits: all wait here.
    pub(in crate::dataflow) fn merge_rows(
        &mut self,
        other: &People<P>,
        part: usize,
        rows: impl Iterator<Item = u32>,
    ) -> Merged {
        let theirs = &other.parts[part].rows;
        let rows = rows.map(|row| (row, self.take(&theirs[row as usize]))).collect();
        Merged { part, rows, waiting: Vec::new() }
    }

    fn take(&mut self, row: &PersonRow<P>) -> Place {
        let part = part_of(self.selector.person(&row.person)) & (self.parts.len() - 1);
        let ours = &mut self.parts[part];
        ours.heap += row.person.heap();
        ours.waiting.push(row.clone());
        Place { part, waiting: ours.waiting.len() as u32 - 1 }
    }

    /// All rows: the part, the number there, and the hash of the person.
    pub(in crate::dataflow) fn hashes(&self) -> impl Iterator<Item = (usize, u32, u64)> {
        self.parts.iter().enumerate().flat_map(move |(at, part)| {
            let of_row =
                move |(row, held): (u32, &PersonRow<P>)| (at, row, self.selector.person(&held.person));
            (0..).zip(&part.rows).map(of_row)
        })
    }

    /// The part of a person of this hash.
    pub(in crate::dataflow) fn part_of(&self, hash: u64) -> usize {
        part_of(hash) & (self.parts.len() - 1)
    }

    /// Makes as many parts as there ever are, of nobody: for [merging](People::merge) those of the one part.
    pub(in crate::dataflow) fn divided(&self) -> People<P> {
        People::of_parts(self.selector.clone(), PARTS)
    }

    /// Creates a table of nobody with this number of parts.
    pub(in crate::dataflow) fn of_parts(selector: ContributionSelector, parts: usize) -> People<P> {
        let parts = std::iter::repeat_with(PeoplePart::new).take(parts).collect();
        People { selector, parts, index: None }
    }

    /// Writes the persons of a part in which nobody waits.
    pub(in crate::dataflow) fn write(&self, part: usize, bytes: &mut Vec<u8>) {
        let rows = &self.parts[part].rows;
        store_number(rows.len() as u128, bytes);
        rows.iter().for_each(|row| row.person.write(bytes));
    }

    /// Reads the persons of an empty part, in the rows that they had.
    pub(in crate::dataflow) fn read(&mut self, part: usize, bytes: &mut &[u8]) -> Option<()> {
        let People { selector, parts, .. } = self;
        let PeoplePart { rows, heap, .. } = parts.get_mut(part)?;
        let length = restore_length(bytes)?;
        rows.reserve_exact(length);
        for _ in 0..length {
            let person = P::read(bytes)?;
            *heap += person.heap();
            let slot = slot_of(selector.person(&person));
            rows.push(PersonRow { person, slot });
        }
        Some(())
    }

    pub(in crate::dataflow) fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.rows.is_empty() && part.waiting.is_empty())
    }

    /// Forgets everybody. Of many parts the memory is kept.
    pub(in crate::dataflow) fn clear(&mut self) {
        match &mut self.parts[..] {
            // Of little the next window makes new.
            [one] => (*one, self.index) = (PeoplePart::new(), None),
            parts => parts.iter_mut().for_each(PeoplePart::clear),
        }
    }

    pub(in crate::dataflow) fn bytes(&self) -> usize {
        self.parts.capacity() * size_of::<PeoplePart<P>>()
            + self.parts.iter().map(PeoplePart::bytes).sum::<usize>()
            + self.index.as_ref().map_or(0, |index| size_of::<Index>() + index.bytes())
    }
}

impl<P> PeoplePart<P> {
    fn new() -> PeoplePart<P> {
        PeoplePart { rows: Vec::new(), waiting: Vec::new(), numbered: Vec::new(), heap: 0 }
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.waiting.clear();
        self.numbered.clear();
        self.heap = 0;
    }

    fn bytes(&self) -> usize {
        (self.rows.capacity() + self.waiting.capacity()) * size_of::<PersonRow<P>>()
            + self.numbered.capacity() * size_of::<u32>()
            + self.heap
    }
}
