//! The open panes of a worker: which records count in which window. No streams: what came, at which time, and what is
//! closed.
//!
//! Windows that overlap share what they have in common: a record is held once, in its pane, and a window that closes is
//! put together from its panes. A record that came too late for some of the windows over its pane and in time for others
//! is held apart, for the others: what counts is decided by what its source had declared when it gave the record, and
//! not by which window this worker has got round to closing.

use std::collections::BTreeMap;
use std::ops::Range;

use super::overlap::PaneKey;
use crate::accounting::Interval;
use crate::dataflow::bounding::ContributionSelector;
use crate::dataflow::windows::Schedule;
use crate::time::Time;

/// The number of emptied panes whose memory is kept for the next ones: those of the windows that are open at a time in most
/// jobs, and few of a backlog's.
pub(super) const SPARE: usize = 4;

/// The places of the open panes.
pub(super) struct PaneMap {
    pub(super) schedule: Schedule,
    late: i64,
    open: BTreeMap<PaneKey, usize>,
    /// The places that have none.
    free: Vec<usize>,
    places: usize,
    /// The pane of the last record.
    last: Last,
}

/// A moment of the source, a stretch of event time, and where records of it go that came at that moment.
struct Last {
    given: Time,
    first: u64,
    span: Range<Time>,
    pane: Option<usize>,
}

impl Last {
    /// Of no record.
    const NONE: Last = Last { given: Time::MIN, first: 0, span: 0..0, pane: None };
}

/// A pane for a record.
pub(super) enum PaneOf {
    /// None that is open.
    None,
    Open(usize),
    /// One that must be made: for windows from this one on.
    New(usize, u64),
}

impl PaneMap {
    pub(super) fn new(schedule: Schedule, late: i64) -> PaneMap {
        PaneMap { schedule, late, open: BTreeMap::new(), free: Vec::new(), places: 0, last: Last::NONE }
    }

    /// The place of a record that was given at a moment, where windows before `next` are closed.
    #[inline]
    pub(super) fn place(&mut self, given: Time, time: Time, next: u64) -> PaneOf {
        if given != self.last.given || !self.last.span.contains(&time) {
            return self.look_up(given, time, next);
        }
        self.last.pane.map_or(PaneOf::None, PaneOf::Open)
    }

    fn look_up(&mut self, given: Time, time: Time, next: u64) -> PaneOf {
        if given != self.last.given {
            // A window is closed for what came when its end and its lateness had been declared.
            self.last.given = given;
            self.last.first = self.schedule.first_ending_after(given.saturating_sub(self.late));
        }
        self.last.span = time..time.saturating_add(1);
        self.last.pane = None;
        let Some(pane) = self.schedule.pane(time) else { return PaneOf::None };
        if let Some(span) = self.schedule.span_of_pane(pane) {
            self.last.span = span.start()..span.end();
        }
        let windows = self.schedule.windows_of(pane);
        let first = windows.start.max(self.last.first).max(next);
        if first >= windows.end {
            return PaneOf::None;
        }
        if let Some(&at) = self.open.get(&(pane, first)) {
            self.last.pane = Some(at);
            return PaneOf::Open(at);
        }
        let at = self.take_place();
        self.open.insert((pane, first), at);
        self.last.pane = Some(at);
        PaneOf::New(at, first)
    }

    /// A place that has no pane.
    pub(super) fn take_place(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.places += 1;
            self.places - 1
        })
    }

    /// Gives a place back.
    pub(super) fn give_back(&mut self, at: usize) {
        self.free.push(at);
    }

    /// The selector of a pane whose first window this is: where windows overlap they need one choice, and else each has
    /// its own.
    pub(super) fn selector(&self, selector: &ContributionSelector, window: u64) -> ContributionSelector {
        match self.schedule.window(window) {
            Some(window) if !self.schedule.overlaps() => selector.within(window.start()),
            _ => selector.clone(),
        }
    }

    /// A window, and when it closes.
    pub(super) fn closes(&self, window: u64) -> Option<(Interval, Time)> {
        let window = self.schedule.window(window)?;
        // Both are within a quarter of all time: see `LIMIT`.
        Some((window, window.end() + self.late))
    }

    /// The first window from `next` on that must be closed one by one: windows that close at or before a time and have no
    /// record here are passed, so that a restart does not close those of a year. People are counted in windows that end
    /// after `counted`, which are not passed; and `spilled` is the first pane that is open and not in memory.
    pub(super) fn first_to_close(
        &mut self,
        next: u64,
        (complete, counted): (Time, Time),
        spilled: Option<PaneKey>,
    ) -> u64 {
        let closed = self.schedule.first_ending_after(complete.saturating_sub(self.late).min(counted));
        let held = self.open.first_key_value().map(|(key, _)| *key).into_iter().chain(spilled).min();
        let held = held.map(|(pane, _)| self.schedule.windows_of(pane).start);
        let first = closed.min(held.unwrap_or(closed)).max(next);
        if first > next {
            self.forget_last();
        }
        first
    }

    /// A record of a window that is closed must be looked up again.
    pub(super) fn forget_last(&mut self) {
        self.last = Last::NONE;
    }

    /// The places of the panes of a window.
    pub(super) fn panes_of(&self, window: u64) -> BTreeMap<PaneKey, usize> {
        let of_window = self.schedule.panes(window);
        let range = (of_window.start, 0)..(of_window.end, 0);
        self.open
            .range(range)
            .filter(|((_, first), _)| *first <= window)
            .map(|(pane, at)| (*pane, *at))
            .collect()
    }

    /// The open panes with their places.
    pub(super) fn open(&self) -> impl Iterator<Item = (PaneKey, usize)> {
        self.open.iter().map(|(key, at)| (*key, *at))
    }

    /// The place of an open pane.
    pub(super) fn place_of(&self, key: PaneKey) -> Option<usize> {
        self.open.get(&key).copied()
    }

    /// Gives an open pane another place, or none: the next record of it makes a new one.
    pub(super) fn move_to(&mut self, key: PaneKey, place: Option<usize>) {
        match place {
            Some(at) => _ = self.open.insert(key, at),
            None => _ = self.open.remove(&key),
        }
        self.forget_last();
    }

    /// Takes out the panes that no window from `next` on has. Panes are in the order of their windows, so these come
    /// first.
    pub(super) fn passed(&mut self, next: u64) -> Vec<usize> {
        let mut passed = Vec::new();
        while let Some(entry) = self.open.first_entry() {
            if self.schedule.windows_of(entry.key().0).end > next {
                break;
            }
            passed.push(entry.remove());
        }
        passed
    }
}
