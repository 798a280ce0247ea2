//! The queue of a statistic's windows: the next one, those at the gate, and those to send on; without
//! streams, clocks or threads.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::operator::{Title, WindowStatistic};
use crate::accounting::Interval;
use crate::dataflow::windows::Schedule;
use crate::gate::{ReleaseRequest, SkipReason};
use crate::ledger::{Digest, ReleaseId};
use crate::time::{Span, Time};

/// The maximum number of windows at the gate at once. Others wait here, as tallies.
const AT_THE_GATE: usize = 1_024;

/// The queue of one statistic's windows. `Outcome` is the gate's answer for one of them.
pub(crate) struct WindowQueue<S: WindowStatistic, Outcome> {
    statistic: S,
    title: Title,
    schedule: Schedule,
    late: i64,
    /// The time after its close within which a window may still be submitted, by the public clock.
    skip_after: Option<i64>,
    /// The tallies of windows that have a record and were not submitted.
    open: BTreeMap<u64, S::Tally>,
    /// The first window that was neither submitted nor missed.
    next: u64,
    /// The windows that the gate knows of, from the first that was not sent on; with their outcomes.
    waiting: BTreeMap<u64, Option<Outcome>>,
    numbers: HashMap<Digest, u64>,
    /// The releases that a former process sealed and did not deliver, sent on before their windows were
    /// reached.
    before: HashSet<Digest>,
    ended: bool,
    /// True if nothing is submitted before all inputs have ended.
    at_end: bool,
}

/// The next request to the gate.
pub(crate) enum WindowAction {
    Submit(ReleaseRequest),
    Skip(ReleaseId, SkipReason),
}

impl<S: WindowStatistic, Outcome> WindowQueue<S, Outcome> {
    pub(crate) fn new(
        statistic: S,
        title: Title,
        schedule: Schedule,
        (late, skip_after): (Option<Span>, Option<Span>),
        at_end: bool,
    ) -> WindowQueue<S, Outcome> {
        let length = |span: Span| span.as_microseconds();
        WindowQueue {
            statistic,
            title,
            schedule,
            late: late.map_or(0, length),
            skip_after: skip_after.map(length),
            open: BTreeMap::new(),
            next: 0,
            waiting: BTreeMap::new(),
            numbers: HashMap::new(),
            before: HashSet::new(),
            ended: false,
            at_end,
        }
    }

    /// Begins with this window: a former run has settled those before it.
    pub(crate) fn beginning(mut self, first: u64) -> WindowQueue<S, Outcome> {
        self.next = first;
        self
    }

    /// Adds a part to its window; the part's source had declared completeness up to `at` when it was sent.
    /// The part is dropped if it is late, or if there is no such window; that of a window which was skipped, or which a
    /// former run has settled, is in no release.
    pub(crate) fn absorb(&mut self, at: Time, number: u64, part: S::Part) {
        let Some(window) = self.schedule.window(number) else { return };
        if at >= self.close(window) {
            return;
        }
        if number < self.next {
            return self.statistic.part_unreleased(window, part);
        }
        let tally = self.open.entry(number).or_insert_with(|| self.statistic.tally(window));
        self.statistic.absorb(tally, part);
    }

    /// Returns the next request to the gate, now that everything before `complete` has been declared
    /// complete. [`Time::MAX`] means that all inputs have ended. `now` is the time of the public clock, if
    /// there is one; `is_turn` returns true if a window that closes at the given time may be submitted, and
    /// `has_gap` if a window lacks a part of its input.
    pub(crate) fn next(
        &mut self,
        complete: Option<Time>,
        now: Option<Time>,
        is_turn: impl Fn(Time) -> bool,
        has_gap: impl Fn(Interval) -> bool,
    ) -> Option<WindowAction> {
        loop {
            // Inputs that vanished have completed nothing.
            let complete = complete?;
            self.ended = complete == Time::MAX;
            let waits = self.at_end && !self.ended;
            if waits || self.waiting.len() >= AT_THE_GATE || (self.ended && !self.schedule.is_bounded()) {
                return None;
            }
            let window = self.schedule.window(self.next)?;
            let over = self.statistic.last().is_some_and(|windows| self.next >= windows);
            let late = matches!((now, self.deadline(window)), (Some(now), Some(deadline)) if now >= deadline);
            if !late && self.close(window) > complete {
                return None;
            }
            let skipped = match late || over {
                true => Some(SkipReason::Late),
                false => has_gap(window).then_some(SkipReason::InputGap),
            };
            if !is_turn(self.close(window)) {
                return None;
            }
            let number = self.next;
            self.next += 1;
            let tally = self.open.remove(&number);
            let release = self.title.of(window);
            let id = release.id();
            if self.before.remove(&id) {
                tally.into_iter().for_each(|tally| self.statistic.unreleased(window, tally));
                continue;
            }
            self.waiting.insert(number, None);
            self.numbers.insert(id, number);
            if let Some(why) = skipped {
                tally.into_iter().for_each(|tally| self.statistic.unreleased(window, tally));
                return Some(WindowAction::Skip(release, why));
            }
            let tally = tally.unwrap_or_else(|| self.statistic.tally(window));
            let sealable = self.statistic.sealable(window, tally);
            return Some(WindowAction::Submit(ReleaseRequest {
                release,
                charge: self.statistic.charge(window),
                sealable,
            }));
        }
    }

    /// Returns the time since which the windows without an outcome need records, and `None` while windows up to
    /// `frontier` are requested, which a former run has settled. [`Time::MAX`] means that no window is left.
    pub(crate) fn needed_since(&self, frontier: Option<Time>) -> Option<Time> {
        let unsettled = self.waiting.iter().find(|(_, outcome)| outcome.is_none());
        let first = unsettled.map_or(self.next, |(number, _)| *number);
        match self.schedule.window(first) {
            None => Some(Time::MAX),
            Some(window) => frontier.is_none_or(|end| window.end() > end).then_some(window.start()),
        }
    }

    /// Records the gate's outcome of a release. A returned outcome is to be sent on at once: a row that was
    /// sealed and not delivered by a former process.
    pub(crate) fn hear(&mut self, release: &ReleaseId, outcome: Outcome) -> Option<Outcome> {
        let id = release.id();
        match self.numbers.remove(&id) {
            Some(number) => {
                self.waiting.insert(number, Some(outcome));
                None
            }
            None => {
                // A window before the first one is not requested, so nobody asks for it again.
                if self.schedule.first_ending_after(release.window.end() - 1) >= self.next {
                    self.before.insert(id);
                }
                Some(outcome)
            }
        }
    }

    /// Records that a release is settled without a row to send on.
    pub(crate) fn withhold(&mut self, id: Digest) {
        if let Some(number) = self.numbers.remove(&id) {
            self.waiting.remove(&number);
        }
    }

    /// Returns the next outcome in order of windows, with the time at which its window closed.
    pub(crate) fn pop(&mut self) -> Option<(Time, Outcome)> {
        let first = self.waiting.first_entry().filter(|entry| entry.get().is_some())?;
        let number = *first.key();
        let outcome = first.remove()?;
        let window = self.schedule.window(number)?;
        Some((self.close(window), outcome))
    }

    /// Returns the time before which everything is settled; `None` once no outcome is left to come.
    pub(crate) fn settled(&self) -> Option<Time> {
        let first = match self.waiting.first_key_value() {
            Some((number, _)) => *number,
            None if self.ended && !self.schedule.is_bounded() => return None,
            None => self.next,
        };
        self.schedule.window(first).map(|window| self.close(window))
    }

    /// Returns the close of the next window that was not submitted; `None` once no more are.
    pub(crate) fn next_close(&self) -> Option<Time> {
        if self.ended && !self.schedule.is_bounded() {
            return None;
        }
        self.schedule.window(self.next).map(|window| self.close(window))
    }

    /// Returns the time at which the next window that was not submitted is missed.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        self.schedule.window(self.next).and_then(|window| self.deadline(window)).filter(|_| !self.ended)
    }

    /// Returns the number of windows that the gate has not answered for.
    pub(crate) fn awaited(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the close of a window. Ends, lateness and the time limit are within a quarter of all time
    /// each: see [`LIMIT`](crate::time::LIMIT).
    fn close(&self, window: Interval) -> Time {
        window.end() + self.late
    }

    fn deadline(&self, window: Interval) -> Option<Time> {
        self.skip_after.map(|skip_after| self.close(window) + skip_after)
    }
}

#[cfg(test)]
mod tests;
