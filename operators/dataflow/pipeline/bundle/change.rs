//! Windows that overlap, in a bundle: the people whose records changed since the window before, put together.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Bundle, ChangedPeople, WindowTotals};
use crate::dataflow::bounding::{NONE, People};
use crate::dataflow::pipeline::overlap::{ChangedRows, FoundRow};
use crate::dataflow::pipeline::protect::RecordIdentity;
use crate::dataflow::pipeline::unit::Person;
use crate::time::Time;

/// The most rows that are put together for a window by difference, of each that its panes have. In tests more, so that it
/// happens there.
const WORTH: usize = if cfg!(test) { 6 } else { 1 };

/// The number of panes of a window from which on it is taken by difference: of 5 panes, putting all together is faster.
const MANY: u64 = if cfg!(test) { 2 } else { 8 };

impl<D, P, F, N, T> Bundle<D, P, F, N, T>
where
    D: 'static,
    P: Person,
    F: Fn(&D) -> P + 'static,
    N: RecordIdentity<D>,
    T: Fn(&D) -> Time + 'static,
{
    /// Returns true if each window follows from the one before by the panes that it lost and gained.
    pub(super) fn keeps_index(&self, totals: &[Rc<RefCell<dyn WindowTotals<P>>>]) -> bool {
        let (schedule, panes) = (&self.panes.schedule, self.panes.schedule.panes(0));
        let is_worth = schedule.overlaps() && panes.end - panes.start >= MANY;
        is_worth && totals.iter().any(|totals| totals.borrow().have_difference())
    }

    /// Finds the people who have records in the panes that a window has lost or gained since the window before: their rows
    /// there, and here. `None` if it costs less to put everybody together.
    pub(super) fn change(&mut self, window: u64) -> Option<[ChangedRows; 2]> {
        let panes = self.panes.panes_of(window);
        let change = self.index.compare(window, &panes);
        // No record comes any more to a pane of a window that is closed.
        change.gained().for_each(|at| self.gather_all(at));
        let most = WORTH * panes.values().map(|at| self.rows(*at)).sum::<usize>();
        let Bundle { index, people, little, unit, selector, columns, has_ids, .. } = self;
        // A record that has an id counts in one key alone, and there may be several that hold it.
        let column = match &columns[..] {
            [only] if !*has_ids => Some(only.borrow()),
            _ => None,
        };
        let keys = column.as_ref().map_or(0, |column| column.most());
        let table = |at: usize| people.get(at).and_then(Option::as_deref);
        let hashes = |at: usize| match (table(at), little.get(at).and_then(Option::as_ref)) {
            (Some(people), _) => {
                let key = |part, row| column.as_ref().map_or(NONE, |column| column.only_key(at, part, row));
                people.hashes().map(|(part, row, hash)| (row, hash, key(part, row as usize))).collect()
            }
            (None, Some(little)) => {
                let person = |item| selector.person(&(unit.person)(N::record(item)));
                (0..).zip(&little.items).map(|(number, item)| (number, person(item), NONE)).collect()
            }
            (None, None) => Vec::new(),
        };
        let part = |at: usize, hash: u64| table(at).map_or(0, |people| people.part_of(hash));
        index.advance(window, change, (most, keys), hashes, part)
    }

    /// The people at the place where they were put together, and of these rows.
    pub(super) fn changed_people<'a>(
        &'a self,
        (together, apart): &'a (Option<usize>, Vec<FoundRow>),
    ) -> ChangedPeople<'a, P> {
        let of_pane = |rows: &'a [FoundRow]| {
            let at = rows.first()?.place;
            Some((at, self.people(at)?, rows))
        };
        ChangedPeople {
            together: together.and_then(|at| Some((at, self.people(at)?))),
            apart: apart.chunk_by(|one, other| one.place == other.place).filter_map(of_pane).collect(),
        }
    }

    /// The number of rows at a place, or of its few records.
    fn rows(&self, at: usize) -> usize {
        let few = self.little.get(at).and_then(Option::as_ref).map_or(0, |little| little.items.len());
        let rows = |people: &People<P>| (0..people.parts()).map(|part| people.rows(part)).sum::<usize>();
        few + self.people(at).map_or(0, rows)
    }

    /// Puts rows of several panes together, gathered; their place.
    pub(super) fn put_together(&mut self, rows: &[FoundRow], window: u64) -> Option<usize> {
        if rows.is_empty() {
            return None;
        }
        let into = self.panes.take_place();
        self.open(into, window);
        for of_part in rows.chunk_by(|one, other| (one.place, one.part) == (other.place, other.part)) {
            self.merge_rows(into, of_part);
        }
        self.gather_all(into);
        Some(into)
    }

    /// Takes in rows of one part of another pane, which stays as it is.
    fn merge_rows(&mut self, into: usize, rows: &[FoundRow]) {
        let Some(&FoundRow { place: from, part, .. }) = rows.first() else { return };
        let few = self.little.get(from).and_then(Option::as_ref);
        if let Some(few) = few {
            let items: Vec<N::Item> =
                rows.iter().map(|found| few.items[found.row as usize].clone()).collect();
            return self.keep_all(&items, into);
        }
        let Bundle { people, columns, .. } = self;
        let Ok([Some(ours), Some(theirs)]) = people.get_disjoint_mut([into, from]) else { return };
        let merged = [ours.merge_rows(theirs, part, rows.iter().map(|found| found.row))];
        columns.iter().for_each(|column| column.borrow_mut().merge(into, from, ours, &merged));
        self.settle_full(into);
    }
}
