//! The bundle: one table of everybody for all statistics over the same people, windows and selection.
//!
//! Each statistic has an operator, which closes its own windows. All of them read the same batches in the same order, so
//! whichever comes to a batch first takes it in for all; and whichever closes a window first takes its totals for all
//! statistics in which windows do not depend on each other.
#![expect(clippy::type_complexity, reason = "the type of a statistic says all that was said before it")]

mod change;
mod spilling;

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::aggregation::Aggregation;
use super::bounder::RecordFilter;
use super::columns::{HeldMeasure, KeyColumn, KeyFunction, PlacedRecord, SharedKeys};
use super::overlap::{FoundRow, OverlapIndex};
use super::panes::{PaneMap, PaneOf, SPARE};
use super::protect::RecordIdentity;
use super::unit::{People as PeopleUnit, Person};
use crate::accounting::Interval;
use crate::dataflow::bounding::{Cap, ContributionSelector, LITTLE, Measure, NONE, People, Rule};
use crate::dataflow::spill::{Spill, SpillError};
use crate::dataflow::windows::Schedule;
use crate::time::Time;
use spilling::BundleSpill;

/// The people of a bundle, in every open pane, with what its statistics keep of them.
pub(super) struct Bundle<D, P, F, N: RecordIdentity<D>, T> {
    unit: Rc<PeopleUnit<P, F, N>>,
    time: Rc<T>,
    selector: ContributionSelector,
    panes: PaneMap,
    /// By the place of a pane; those of few records have none yet.
    people: Vec<Option<Box<People<P>>>>,
    little: Vec<Option<LittlePane<N::Item>>>,
    #[expect(clippy::vec_box, reason = "they move between places as they are")]
    spare: Vec<Box<People<P>>>,
    columns: Vec<Rc<RefCell<dyn KeyColumn<D, P, N>>>>,
    /// The columns by what their keys are read with.
    keyed: Vec<(KeyFunction, Rc<dyn Any>)>,
    /// The statistics in which windows do not depend on each other, and the first window without their totals.
    totals: Vec<Rc<RefCell<dyn WindowTotals<P>>>>,
    totalled: u64,
    /// The first window that is not closed, of each statistic that counts people over several windows.
    next: Vec<u64>,
    /// The panes of windows that are being closed, gathered: the place, and true if it was made for the window alone.
    whole: BTreeMap<u64, Option<(usize, bool)>>,
    index: OverlapIndex,
    /// True if a statistic takes back what two keys of a person both have.
    has_ids: bool,
    /// The number of batches that were taken in.
    batches: u64,
    placed: Vec<PlacedRecord>,
    spill: Option<BundleSpill>,
}

/// The totals of a statistic in which windows do not depend on each other.
pub(super) trait WindowTotals<P> {
    /// Returns true if the totals of a window follow from those of the window before by difference.
    fn have_difference(&self) -> bool;

    /// Takes the totals of a window in which these people are, at a place; of nobody without one.
    fn take(&mut self, window: u64, people: Option<(usize, &People<P>)>);

    /// Takes the totals of a window: those of the window before, less those of the first people and with those of the
    /// second.
    fn take_change(&mut self, window: u64, people: [ChangedPeople<'_, P>; 2]);
}

/// The people of whom a window has something else than the window before, at their places.
pub(super) struct ChangedPeople<'a, P> {
    /// Those who were put together, if any.
    pub(super) together: Option<(usize, &'a People<P>)>,
    /// Of the others, rows of each pane that changed, all of whose keys count.
    pub(super) apart: Vec<(usize, &'a People<P>, &'a [FoundRow])>,
}

/// A pane of few records, as they came: many windows of a few records each may be open at a time.
struct LittlePane<I> {
    /// The first window that it counts in.
    window: u64,
    items: Vec<I>,
}

impl<D, P, F, N, T> Bundle<D, P, F, N, T>
where
    D: 'static,
    P: Person,
    F: Fn(&D) -> P + 'static,
    N: RecordIdentity<D>,
    T: Fn(&D) -> Time + 'static,
{
    pub(super) fn new(
        unit: Rc<PeopleUnit<P, F, N>>,
        time: Rc<T>,
        selector: ContributionSelector,
        (schedule, late): (Schedule, i64),
        spill: Option<Spill>,
    ) -> Self {
        Bundle {
            unit,
            time,
            selector,
            panes: PaneMap::new(schedule, late),
            people: Vec::new(),
            little: Vec::new(),
            spare: Vec::new(),
            columns: Vec::new(),
            keyed: Vec::new(),
            totals: Vec::new(),
            totalled: 0,
            next: Vec::new(),
            whole: BTreeMap::new(),
            index: OverlapIndex::default(),
            has_ids: false,
            batches: 0,
            placed: Vec::new(),
            spill: spill.map(BundleSpill::new),
        }
    }

    /// Adds a statistic; the columns that hold it.
    pub(super) fn add<Q: Aggregation, G, V>(
        &mut self,
        question: &Q,
        cap: Cap,
        (key, function): (Rc<G>, Option<KeyFunction>),
        value: (Rc<V>, Option<RecordFilter<D>>),
    ) -> (Rc<RefCell<SharedKeys<D, P, Q::Key, N, G>>>, Rc<RefCell<HeldMeasure<D, N, Q::Measure, V>>>)
    where
        G: Fn(&D) -> Q::Key + 'static,
        V: Fn(&D) -> <Q::Measure as Measure>::Value + 'static,
    {
        let (listed, most) = (question.listed(), cap.keys());
        self.has_ids |= <N::Rule<Q::Measure> as Rule>::HAS_IDS;
        type Shared<D, P, K, N, G> = Rc<RefCell<SharedKeys<D, P, K, N, G>>>;
        let shared = self
            .keyed
            .iter()
            .filter(|(known, _)| Some(*known) == function)
            .filter_map(|(_, keys)| {
                Rc::downcast::<RefCell<SharedKeys<D, P, Q::Key, N, G>>>(Rc::clone(keys)).ok()
            })
            .find(|keys| keys.borrow().fits(listed.as_ref(), most));
        let keys: Shared<D, P, Q::Key, N, G> = shared.unwrap_or_else(|| {
            let holds_all = <N::Rule<Q::Measure> as Rule>::HOLDS_ALL;
            let keys = Rc::new(RefCell::new(SharedKeys::new(key, listed, most, holds_all)));
            self.columns.push(Rc::clone(&keys) as Rc<RefCell<dyn KeyColumn<D, P, N>>>);
            self.keyed.extend(function.map(|function| (function, Rc::clone(&keys) as Rc<dyn Any>)));
            keys
        });
        let values = keys.borrow_mut().measure(value, question.measure(), cap);
        (keys, values)
    }

    /// Closes the windows of a statistic that was added one by one; its number.
    pub(super) fn count_windows(&mut self) -> usize {
        self.next.push(0);
        self.next.len() - 1
    }

    /// Takes the totals of a statistic that was added together with those of others.
    pub(super) fn total_windows(&mut self, totals: Rc<RefCell<dyn WindowTotals<P>>>) {
        self.totals.push(totals);
    }

    /// Takes a batch in, unless another statistic has: the `number`th that came, at a time of the dataflow that its source
    /// had declared complete.
    pub(super) fn take(&mut self, number: u64, given: Time, items: &[N::Item]) {
        if number < self.batches {
            return;
        }
        self.batches = number + 1;
        let mut placed = std::mem::take(&mut self.placed);
        placed.clear();
        let next = self.next.iter().copied().fold(self.totalled, u64::max);
        let (mut grown, mut last) = (Vec::new(), None);
        for item in items {
            let (given, time) = (N::moment(item, given), (self.time)(N::record(item)));
            let at = match self.panes.place(given, time, next) {
                PaneOf::None => None,
                PaneOf::Open(at) => Some(at),
                PaneOf::New(at, window) => {
                    if self.little.len() <= at {
                        self.little.resize_with(at + 1, || None);
                    }
                    self.little[at] = Some(LittlePane { window, items: Vec::new() });
                    Some(at)
                }
            };
            if at != last {
                last = at;
                if let (Some(at), Some(spill)) = (at, &mut self.spill) {
                    spill.note_written(at, number);
                }
            }
            let little = at.and_then(|at| self.little.get_mut(at)?.as_mut());
            let pane = match (at, little) {
                (Some(at), None) => at as u32,
                (None, _) => NONE,
                (Some(at), Some(little)) => {
                    little.items.push(item.clone());
                    if little.items.len() == LITTLE {
                        grown.push(at);
                    }
                    NONE
                }
            };
            placed.push(PlacedRecord::new(pane, time));
        }
        self.keep(items, &mut placed);
        self.placed = placed;
        grown.into_iter().for_each(|at| self.grow(at));
        self.relieve(None, items.len());
    }

    /// Keeps what a pane of few records has in tables from now on.
    fn grow(&mut self, at: usize) {
        let little = self.little.get_mut(at).and_then(Option::take);
        if let Some(LittlePane { window, items }) = little {
            self.open(at, window);
            self.keep_all(&items, at);
        }
    }

    /// Keeps records in a pane that is open.
    fn keep_all(&mut self, items: &[N::Item], at: usize) {
        let place = |item| PlacedRecord::new(at as u32, (self.time)(N::record(item)));
        let mut placed: Vec<PlacedRecord> = items.iter().map(place).collect();
        self.keep(items, &mut placed);
    }

    /// Keeps records in the open panes where they were placed.
    fn keep(&mut self, items: &[N::Item], placed: &mut [PlacedRecord]) {
        for column in &self.columns {
            column.borrow_mut().number(items, placed, &self.people);
        }
        let mut touched: Vec<u32> = Vec::new();
        for (item, record) in items.iter().zip(placed.iter_mut()).filter(|(_, record)| record.is_kept) {
            let Some(Some(people)) = self.people.get_mut(record.pane as usize) else { continue };
            record.part = people.push((self.unit.person)(N::record(item)));
            record.waiting = people.waiting(record.part);
            if touched.last() != Some(&record.pane) && !touched.contains(&record.pane) {
                touched.push(record.pane);
            }
        }
        for column in &self.columns {
            column.borrow_mut().push(&self.unit.naming, &self.selector, items, placed);
        }
        for place in touched {
            self.settle_full(place as usize);
        }
    }

    fn open(&mut self, at: usize, window: u64) {
        let selector = self.panes.selector(&self.selector, window);
        self.columns.iter().for_each(|column| column.borrow_mut().open(at, &selector));
        let people = match self.spare.pop() {
            Some(mut people) => {
                people.choose_by(selector);
                people
            }
            None => Box::new(People::new(selector)),
        };
        if self.people.len() <= at {
            self.people.resize_with(at + 1, || None);
        }
        self.people[at] = Some(people);
    }

    fn discard(&mut self, at: usize) {
        self.panes.give_back(at);
        if let Some(little) = self.little.get_mut(at) {
            *little = None;
        }
        let Some(mut people) = self.people.get_mut(at).and_then(Option::take) else { return };
        self.columns.iter().for_each(|column| column.borrow_mut().discard(at, people.selector()));
        if self.spill.as_ref().is_some_and(BundleSpill::is_tight) {
            self.discard_spare();
        } else if self.spare.len() < SPARE {
            people.clear();
            self.spare.push(people);
        }
    }

    /// Divides a pane that has outgrown one part, and gathers the parts in which much waits.
    fn settle_full(&mut self, at: usize) {
        let Bundle { people, columns, .. } = self;
        let Some(Some(people)) = people.get_mut(at) else { return };
        if people.outgrows_one_part() {
            divide(people, columns, at);
        }
        for part in 0..people.parts() {
            let held = || columns.iter().map(|column| column.borrow().held(at, part)).max().unwrap_or(0);
            if people.is_full(part, held) {
                gather(people, columns, at, part);
            }
        }
        if columns.iter().any(|column| column.borrow().has_many_names(at)) {
            (0..people.parts()).for_each(|part| gather(people, columns, at, part));
            for column in columns.iter().filter(|column| column.borrow().has_many_names(at)) {
                column.borrow_mut().forget_names(at, people.selector());
            }
        }
    }

    /// Gathers all panes of a window into one, once for all statistics; its place.
    ///
    /// # Errors
    ///
    /// If a pane of it was spilled, and cannot be read back.
    pub(super) fn whole(&mut self, window: u64) -> Result<Option<usize>, SpillError> {
        self.read_back(window)?;
        if let Some(whole) = self.whole.get(&window) {
            return Ok(whole.map(|(at, _)| at));
        }
        let held: Vec<usize> = self.panes.panes_of(window).into_values().collect();
        let whole = match held[..] {
            [] => None,
            [only] if !self.panes.schedule.overlaps() => {
                self.grow(only);
                Some((only, false))
            }
            _ => {
                let whole = self.panes.take_place();
                self.open(whole, window);
                held.into_iter().for_each(|at| self.merge(whole, at));
                Some((whole, true))
            }
        };
        if let Some((at, _)) = whole {
            self.gather_all(at);
        }
        self.whole.insert(window, whole);
        Ok(whole.map(|(at, _)| at))
    }

    fn gather_all(&mut self, at: usize) {
        let Bundle { people, columns, .. } = self;
        if let Some(Some(people)) = people.get_mut(at) {
            (0..people.parts()).for_each(|part| gather(people, columns, at, part));
        }
    }

    /// Takes the totals of a window, for all statistics in which windows do not depend on each other.
    ///
    /// # Errors
    ///
    /// If a pane of it was spilled, and cannot be read back.
    pub(super) fn total(&mut self, window: u64) -> Result<(), SpillError> {
        if window < self.totalled {
            return Ok(());
        }
        self.read_back(window)?;
        self.totalled = window + 1;
        let totals = std::mem::take(&mut self.totals);
        let change = if self.keeps_index(&totals) { self.change(window) } else { None };
        let change =
            change.map(|change| change.map(|rows| (self.put_together(&rows.together, window), rows.apart)));
        let by_difference = |totals: &dyn WindowTotals<P>| change.is_some() && totals.have_difference();
        let whole = match totals.iter().all(|totals| by_difference(&*totals.borrow())) {
            true => None,
            false => self.whole(window)?,
        };
        for totals in &totals {
            let mut totals = totals.borrow_mut();
            match &change {
                Some(change) if totals.have_difference() => {
                    totals.take_change(window, change.each_ref().map(|rows| self.changed_people(rows)));
                }
                _ => totals.take(window, whole.and_then(|at| Some((at, self.people(at)?)))),
            }
        }
        change.into_iter().flatten().filter_map(|(at, _)| at).for_each(|at| self.discard(at));
        self.totals = totals;
        self.give_up();
        Ok(())
    }

    /// Takes in what another pane holds, which stays as it is.
    fn merge(&mut self, into: usize, from: usize) {
        if let Some(little) = self.little.get_mut(from).and_then(Option::take) {
            self.keep_all(&little.items, into);
            self.little[from] = Some(little);
            return;
        }
        let Bundle { people, columns, .. } = self;
        let Ok([Some(ours), Some(theirs)]) = people.get_disjoint_mut([into, from]) else { return };
        if ours.parts() == 1 && !(ours.is_little() && theirs.is_little()) {
            divide(ours, columns, into);
        }
        let merged = ours.merge(theirs);
        columns.iter().for_each(|column| column.borrow_mut().merge(into, from, ours, &merged));
        self.settle_full(into);
    }

    /// The people of a pane.
    pub(super) fn people(&self, at: usize) -> Option<&People<P>> {
        self.people.get(at).and_then(Option::as_deref)
    }

    /// The first window from `next` on that must be closed one by one: see [`PaneMap::first_to_close`].
    pub(super) fn first_to_close(&mut self, next: u64, complete: Time, counted: Time) -> u64 {
        let spilled = self.spill.as_ref().and_then(BundleSpill::first_pane);
        self.panes.first_to_close(next, (complete, counted), spilled)
    }

    /// A window, and when it closes.
    pub(super) fn closes(&self, window: u64) -> Option<(Interval, Time)> {
        self.panes.closes(window)
    }

    /// Returns true if there is a last window.
    pub(super) fn is_bounded(&self) -> bool {
        self.panes.schedule.is_bounded()
    }

    /// Records that the windows before this one are closed, of a statistic that counts people over several windows, or of
    /// all others; what nobody needs any more is given up.
    pub(super) fn closed_until(&mut self, statistic: Option<usize>, next: u64) {
        match statistic {
            Some(statistic) => self.next[statistic] = next,
            None => self.totalled = self.totalled.max(next),
        }
        self.give_up();
    }

    fn give_up(&mut self) {
        self.panes.forget_last();
        let totalled = (!self.totals.is_empty()).then_some(self.totalled);
        let next = self.next.iter().copied().chain(totalled).min().unwrap_or(0);
        while let Some(entry) = self.whole.first_entry().filter(|entry| *entry.key() < next) {
            if let Some((at, true)) = entry.remove() {
                self.discard(at);
            }
        }
        // The next window is compared with the last one.
        let needed = if self.keeps_index(&self.totals) { next.saturating_sub(1) } else { next };
        for at in self.panes.passed(needed) {
            if self.index.holds(at) {
                self.index.clear();
            }
            self.discard(at);
        }
        if let Some(spill) = &mut self.spill {
            spill.discard_passed(&self.panes.schedule, needed);
        }
    }
}

/// Gives each person of the one part a part by its hash.
#[cold]
fn divide<D, P: Person, N: RecordIdentity<D>>(
    people: &mut People<P>,
    columns: &[Rc<RefCell<dyn KeyColumn<D, P, N>>>],
    at: usize,
) {
    let mut divided = people.divided();
    let merged = divided.merge(people);
    columns.iter().for_each(|column| column.borrow_mut().divide(at, &divided, &merged));
    *people = divided;
}

fn gather<D, P: Person, N: RecordIdentity<D>>(
    people: &mut People<P>,
    columns: &[Rc<RefCell<dyn KeyColumn<D, P, N>>>],
    at: usize,
    part: usize,
) {
    if people.waiting(part) == 0 {
        return;
    }
    people.number(part);
    columns.iter().for_each(|column| column.borrow_mut().gather(at, people, part));
}
