//! The queue of windows: the next one, those with the gate, and those that may be released; without streams,
//! clocks or threads.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::operator::{Title, WindowStatistic};
use crate::accounting::Interval;
use crate::dataflow::windows::Schedule;
use crate::gate::ReleaseRequest;
use crate::ledger::{Digest, ReleaseId};
use crate::time::{Span, Time};

/// Windows that may be with the gate at once. More wait here, as tallies.
const AT_THE_GATE: usize = 1_024;

/// The windows of one statistic, on their way. `Outcome` is what the gate says of one.
pub(crate) struct WindowQueue<S: WindowStatistic, Outcome> {
    statistic: S,
    title: Title,
    schedule: Schedule,
    late: i64,
    /// The time after its close within which a window may still be submitted, by the public clock.
    skip_after: Option<i64>,
    /// Tallies of windows that a record fell into and that are not handed in.
    open: BTreeMap<u64, S::Tally>,
    /// The first window that was neither handed in nor missed.
    next: u64,
    /// Windows that the gate knows of, from the first that was not passed on; with what it said of them.
    waiting: BTreeMap<u64, Option<Outcome>>,
    numbers: HashMap<Digest, u64>,
    /// Releases that a former process sealed and did not deliver, released before their windows were reached.
    before: HashSet<Digest>,
    ended: bool,
    /// True if nothing is submitted before all inputs have ended.
    at_end: bool,
}

/// The next request to the gate.
pub(crate) enum WindowAction {
    Submit(ReleaseRequest),
    Miss(ReleaseId),
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

    /// Takes in a part of a window that was declared complete up to `at` when it was sent. It is dropped if
    /// it is late, or if there is no such window.
    pub(crate) fn absorb(&mut self, at: Time, number: u64, part: S::Part) {
        let Some(window) = self.schedule.window(number) else { return };
        if at >= self.close(window) || number < self.next {
            return;
        }
        let tally = self.open.entry(number).or_insert_with(|| self.statistic.tally(window));
        self.statistic.absorb(tally, part);
    }

    /// Returns the next request to the gate, now that everything before `complete` has been declared
    /// complete. [`Time::MAX`] means that all inputs have ended. `now` is the public clock, where there is
    /// one; `is_turn` says whether a window that closes then may be handed in.
    pub(crate) fn next(
        &mut self,
        complete: Option<Time>,
        now: Option<Time>,
        is_turn: impl Fn(Time) -> bool,
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
            let missed = late || (over && self.close(window) <= complete);
            if !missed && self.close(window) > complete {
                return None;
            }
            if !is_turn(self.close(window)) {
                return None;
            }
            let number = self.next;
            self.next += 1;
            let tally = self.open.remove(&number);
            let release = self.title.of(window);
            let id = release.id();
            if self.before.remove(&id) {
                continue;
            }
            self.waiting.insert(number, None);
            self.numbers.insert(id, number);
            if missed {
                return Some(WindowAction::Miss(release));
            }
            let tally = tally.unwrap_or_else(|| self.statistic.tally(window));
            let sealable = self.statistic.seal(window, tally);
            return Some(WindowAction::Submit(ReleaseRequest {
                release,
                charge: self.statistic.charge(window),
                sealable,
            }));
        }
    }

    /// Takes note of what the gate says of a release. What comes back may be released at once: a row that was
    /// sealed and not delivered by a former process.
    pub(crate) fn hear(&mut self, id: Digest, outcome: Outcome) -> Option<Outcome> {
        match self.numbers.remove(&id) {
            Some(number) => {
                self.waiting.insert(number, Some(outcome));
                None
            }
            None => {
                self.before.insert(id);
                Some(outcome)
            }
        }
    }

    /// Notes that a release is settled, and that nothing is released here.
    pub(crate) fn withhold(&mut self, id: Digest) {
        if let Some(number) = self.numbers.remove(&id) {
            self.waiting.remove(&number);
        }
    }

    /// The next outcome in order of windows, with the moment at which its window closed.
    pub(crate) fn tell(&mut self) -> Option<(Time, Outcome)> {
        let first = self.waiting.first_entry().filter(|entry| entry.get().is_some())?;
        let number = *first.key();
        let outcome = first.remove()?;
        let window = self.schedule.window(number)?;
        Some((self.close(window), outcome))
    }

    /// The moment before which everything is settled; `None` once nothing is left to come.
    pub(crate) fn settled(&self) -> Option<Time> {
        let first = match self.waiting.first_key_value() {
            Some((number, _)) => *number,
            None if self.ended && !self.schedule.is_bounded() => return None,
            None => self.next,
        };
        self.schedule.window(first).map(|window| self.close(window))
    }

    /// The close of the next window that was not handed in; `None` once no more are.
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

    /// Ends, lateness and skip_after are within a quarter of all time each: see
    /// [`LIMIT`](crate::time::LIMIT).
    fn close(&self, window: Interval) -> Time {
        window.end() + self.late
    }

    fn deadline(&self, window: Interval) -> Option<Time> {
        self.skip_after.map(|skip_after| self.close(window) + skip_after)
    }
}

#[cfg(test)]
mod tests;
