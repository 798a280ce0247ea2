//! Which records count in which window, on one worker. No streams: what came, at which time, and what is closed.
//!
//! Windows that overlap share what they have in common: a record is held once, in its pane, and a window that closes is
//! put together from its panes. A record that came too late for some of the windows over its pane and in time for others
//! is held apart, for the others: what counts is decided by what its source had declared when it gave the record, and not
//! by which window this worker has got round to closing.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::admission::Closing;
use super::question::Aggregation;
use super::unit::{Pane, ProtectedUnit, RecordContribution};
use crate::accounting::Interval;
use crate::dataflow::bounding::{Cap, ContributionSelector};
use crate::dataflow::windows::Schedule;
use crate::mechanisms::Key;
use crate::time::Time;

/// How a statistic reads records.
pub(super) struct RecordReading<D, U, T, G, V> {
    pub(super) unit: Rc<U>,
    pub(super) time: Rc<T>,
    pub(super) key: Rc<G>,
    pub(super) value: Rc<V>,
    pub(super) records: std::marker::PhantomData<fn(D)>,
}

/// What one worker holds of one statistic.
pub(super) struct Panes<D, U: ProtectedUnit<D>, Q: Aggregation, T, G, V> {
    reading: RecordReading<D, U, T, G, V>,
    question: Q,
    cap: Cap,
    chooser: ContributionSelector,
    schedule: Schedule,
    late: i64,
    /// By pane, and by the first of its windows that it counts in.
    open: BTreeMap<(u64, u64), usize>,
    panes: Vec<U::Pane<Q>>,
    free: Vec<usize>,
    /// The first window that is not closed.
    next: u64,
    /// Where the last record went.
    last: Last,
}

/// The number of a window, and what this worker knows of it.
pub(super) type Closed<Q> = (u64, Vec<(<Q as Aggregation>::Key, <Q as Aggregation>::Total)>);

/// A moment of the source, a stretch of event time, and where records of it go that came at that moment.
struct Last {
    given: Time,
    first: u64,
    span: std::ops::Range<Time>,
    pane: Option<usize>,
}

impl<D, U, Q, T, G, V> Panes<D, U, Q, T, G, V>
where
    U: ProtectedUnit<D>,
    Q: Aggregation,
    T: Fn(&D) -> Time,
    G: Fn(&D) -> Q::Key,
    V: Fn(&D) -> <Q::Measure as crate::dataflow::bounding::Measure>::Value,
{
    pub(super) fn new(
        reading: RecordReading<D, U, T, G, V>,
        question: Q,
        cap: Cap,
        chooser: ContributionSelector,
        (schedule, late): (Schedule, i64),
    ) -> Self {
        let last = Last { given: Time::MIN, first: 0, span: 0..0, pane: None };
        Panes {
            reading,
            question,
            cap,
            chooser,
            schedule,
            late,
            open: BTreeMap::new(),
            panes: Vec::new(),
            free: Vec::new(),
            next: 0,
            last,
        }
    }

    /// Takes in records that came at a time of the dataflow: a time that their source had declared complete.
    pub(super) fn take(&mut self, given: Time, items: &[U::Item]) {
        for item in items {
            let given = U::moment(item, given);
            let record = U::record(item);
            let time = (self.reading.time)(record);
            if given != self.last.given || !self.last.span.contains(&time) {
                self.look_up(given, time);
            }
            let Some(pane) = self.last.pane else { continue };
            let key = (self.reading.key)(record);
            if key.is_absent() {
                continue;
            }
            let value = (self.reading.value)(record);
            let brought = RecordContribution { time, key: &key, value };
            self.reading.unit.add(&mut self.panes[pane], &self.question, &self.chooser, item, brought);
        }
    }

    fn look_up(&mut self, given: Time, time: Time) {
        if given != self.last.given {
            // A window is closed for what came when its end and its lateness had been declared.
            self.last.given = given;
            self.last.first = self.schedule.first_ending_after(given.saturating_sub(self.late));
        }
        self.last.span = time..time.saturating_add(1);
        self.last.pane = None;
        let Some(pane) = self.schedule.pane(time) else { return };
        if let Some(span) = self.schedule.span_of_pane(pane) {
            self.last.span = span.start()..span.end();
        }
        let windows = self.schedule.windows_of(pane);
        let first = windows.start.max(self.last.first).max(self.next);
        if first < windows.end {
            self.last.pane = Some(self.opened(pane, first));
        }
    }

    fn opened(&mut self, pane: u64, first: u64) -> usize {
        if let Some(&at) = self.open.get(&(pane, first)) {
            return at;
        }
        let at = self.fresh(first);
        self.open.insert((pane, first), at);
        at
    }

    /// An empty pane: where windows overlap they need one choice, and else each has its own.
    fn fresh(&mut self, window: u64) -> usize {
        let chooser = match self.schedule.window(window) {
            Some(window) if !self.schedule.overlaps() => self.chooser.within(window.start()),
            _ => self.chooser.clone(),
        };
        if let Some(at) = self.free.pop() {
            self.panes[at].reuse(chooser);
            return at;
        }
        self.panes.push(U::pane(&self.question, self.cap, chooser));
        self.panes.len() - 1
    }

    /// The next window to close, and when it closes.
    pub(super) fn next(&self) -> Option<(Interval, Time)> {
        let window = self.schedule.window(self.next)?;
        // Both are within a quarter of all time: see `LIMIT`.
        Some((window, window.end() + self.late))
    }

    /// Closes the next window: its number, and what this worker knows of it.
    pub(super) fn close(&mut self, closing: &mut Closing<'_, U::Person, Q::Key>) -> Closed<Q> {
        let number = self.next;
        self.next += 1;
        // A record of a window that is closed must be looked up again.
        self.last = Last { given: Time::MIN, first: 0, span: 0..0, pane: None };
        let of_window = self.schedule.panes(number);
        let range = (of_window.start, 0)..(of_window.end, 0);
        let held: Vec<usize> =
            self.open.range(range).filter(|((_, first), _)| *first <= number).map(|(_, &at)| at).collect();
        let totals = match held[..] {
            [] => Vec::new(),
            [only] if !self.schedule.overlaps() => self.panes[only].close(&self.question, closing),
            _ => {
                let whole = self.fresh(number);
                for at in held {
                    // Never one and the same: the whole was free.
                    if let Ok([whole, pane]) = self.panes.get_disjoint_mut([whole, at]) {
                        whole.merge(pane, &self.question);
                    }
                }
                self.free.push(whole);
                self.panes[whole].close(&self.question, closing)
            }
        };
        // Panes are in the order of their windows, so those that no later window has come first.
        while let Some(entry) = self.open.first_entry() {
            if self.schedule.windows_of(entry.key().0).end > self.next {
                break;
            }
            self.free.push(entry.remove());
        }
        (number, totals)
    }

    /// Whether there is a last window.
    pub(super) fn is_bounded(&self) -> bool {
        self.schedule.is_bounded()
    }
}
