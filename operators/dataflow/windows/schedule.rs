//! The windows that exist. Configuration decides it alone: no record, no clock and no frontier adds or
//! removes a window.

use std::ops::Range;
use std::sync::Arc;

use super::calendar::Calendar;
use super::clock::Clock;
use crate::accounting::Interval;
use crate::invalid::{Invalid, InvalidKind};
use crate::time::{LIMIT, Span, Time};

/// The windows of a statistic, numbered from zero in order of their end.
///
/// Windows are aligned, each starting at a multiple of its step since 1970-01-01T00:00:00 UTC or with a month
/// or day of a [`Calendar`]. A window exists if it lies wholly between `from` and `until`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Schedule {
    rule: WindowRule,
    ticks: Ticks,
    /// The distance of two windows in panes: window `n` is `width` panes from pane `n * stride` on; no stride
    /// is longer than the width.
    stride: u64,
    width: u64,
    windows: u64,
    bounded: bool,
}

/// The rule of windows, without the range of those that exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum WindowRule {
    Spans { size: i64, step: i64 },
    Calendar(Calendar),
    Whole,
}

impl Schedule {
    /// Creates windows side by side.
    ///
    /// # Errors
    ///
    /// As [`Schedule::sliding`].
    pub fn tumbling(
        size: impl TryInto<Span, Error: Into<Invalid>>,
        from: Time,
        until: Option<Time>,
    ) -> Result<Schedule, Invalid> {
        let size = size.try_into().map_err(Into::into)?;
        Schedule::sliding(size, size, from, until)
    }

    /// Creates windows of one size, one starting at every step. Without `until` there is no last one; then an
    /// input that ends completes only the windows that were declared complete before it ended.
    ///
    /// # Errors
    ///
    /// Names the span that is invalid; `step` if it is longer than the size, so that windows would leave
    /// gaps; `from` or `until` if they are too far from 1970 (73,000 years) or leave room for no window.
    pub fn sliding(
        size: impl TryInto<Span, Error: Into<Invalid>>,
        step: impl TryInto<Span, Error: Into<Invalid>>,
        from: Time,
        until: Option<Time>,
    ) -> Result<Schedule, Invalid> {
        let size = size.try_into().map_err(Into::into)?.as_microseconds();
        let step = step.try_into().map_err(Into::into)?.as_microseconds();
        if step > size {
            return Err(Invalid::new(
                "step",
                InvalidKind::TooLarge,
                "a step that is no longer than the window",
            ));
        }
        let last = until.unwrap_or(LIMIT);
        within_limit(from, last)?;
        // Within the limit and one step of it: nothing here overflows.
        let first = from.div_euclid(step) * step + if from.rem_euclid(step) == 0 { 0 } else { step };
        let room = last - first - size;
        if room < 0 {
            return Err(no_room());
        }
        // The pane: the longest length of which both the size and the step are whole multiples.
        let length = common(size, step);
        let ticks = Ticks::Even { first, end: first + room / step * step + size, length };
        let panes = |span: i64| (span / length).unsigned_abs();
        let rule = WindowRule::Spans { size, step };
        Ok(Schedule::new(rule, ticks, panes(step), panes(size), until.is_some()))
    }

    /// Creates windows of months or days. Without `until` there is no last one, as in [`Schedule::sliding`],
    /// but the list ends 200 years after `from`.
    ///
    /// # Errors
    ///
    /// Names `months` or `days` and `over` if they are zero or windows longer than a hundred years; `zone` if
    /// there is none of this name; `from` or `until` if they are not in the years 0 to 9999, leave room for
    /// no window, or for more than a million.
    pub fn calendar(calendar: &Calendar, from: Time, until: Option<Time>) -> Result<Schedule, Invalid> {
        let (calendar, starts) = calendar.starts(from, until)?;
        let width = calendar.width();
        let ticks =
            Ticks::listed(starts).filter(|ticks| ticks.panes() >= width).ok_or_else(|| match until {
                Some(_) => no_room(),
                None => Invalid::new(
                    "from",
                    InvalidKind::TooLarge,
                    "a time that leaves room for a window before 9999",
                ),
            })?;
        Ok(Schedule::new(WindowRule::Calendar(calendar), ticks, 1, width, until.is_some()))
    }

    /// Creates one window, from `from` on and before `until`.
    ///
    /// # Errors
    ///
    /// Names `from` or `until` if they are too far from 1970 (73,000 years), and `until` unless it is after
    /// `from`.
    pub fn whole(from: Time, until: Time) -> Result<Schedule, Invalid> {
        within_limit(from, until)?;
        if from >= until {
            return Err(no_room());
        }
        let ticks = Ticks::Even { first: from, end: until, length: until - from };
        Ok(Schedule::new(WindowRule::Whole, ticks, 1, 1, true))
    }

    /// Creates a schedule over ticks with room for a window.
    fn new(rule: WindowRule, ticks: Ticks, stride: u64, width: u64, bounded: bool) -> Schedule {
        let windows = (ticks.panes() - width) / stride + 1;
        Schedule { rule, ticks, stride, width, windows, bounded }
    }

    /// Returns the window of this number; `None` if there is none.
    pub fn window(&self, number: u64) -> Option<Interval> {
        let panes = self.panes(number);
        self.ticks.between(panes.start, panes.end)
    }

    /// Returns the numbers of the windows that contain a moment: none outside the schedule, one if windows
    /// are side by side.
    pub fn holding(&self, time: Time) -> Range<u64> {
        self.pane(time).map_or(0..0, |pane| self.windows_of(pane))
    }

    /// Returns true if there is a last window.
    pub fn is_bounded(&self) -> bool {
        self.bounded
    }
}

/// Panes: pieces of time that no window divides, numbered from zero in order. All moments of a pane are in
/// the same windows, at least one, and a window is the union of its panes.
impl Schedule {
    /// Returns the pane that contains a moment; `None` if no window does.
    pub(crate) fn pane(&self, time: Time) -> Option<u64> {
        self.ticks.pane(time)
    }

    /// Returns the interval of a pane; `None` if there is no such pane.
    pub(crate) fn span_of_pane(&self, pane: u64) -> Option<Interval> {
        self.ticks.between(pane, pane.checked_add(1)?)
    }

    /// Returns the number of panes.
    #[cfg(feature = "cli")]
    pub(crate) fn pane_count(&self) -> u64 {
        self.ticks.panes()
    }

    /// Returns the panes of a window; none if there is no such window.
    pub(crate) fn panes(&self, window: u64) -> Range<u64> {
        if window >= self.windows {
            return 0..0;
        }
        let first = window * self.stride;
        first..first + self.width
    }

    /// Returns the windows that a pane is part of; none if there is no such pane.
    pub(crate) fn windows_of(&self, pane: u64) -> Range<u64> {
        if pane >= self.ticks.panes() {
            return 0..0;
        }
        let after = pane / self.stride + 1;
        let before = if pane < self.width { 0 } else { (pane - self.width) / self.stride + 1 };
        before.min(self.windows)..after.min(self.windows)
    }

    /// Returns the first window that ends after a moment; the number of windows if none does.
    pub(crate) fn first_ending_after(&self, time: Time) -> u64 {
        match self.ticks.pane(time) {
            Some(pane) => self.windows_of(pane).start,
            None if self.window(0).is_some_and(|first| time < first.start()) => 0,
            None => self.windows,
        }
    }

    /// Returns the first window that starts at or after a moment; the number of windows if none does.
    pub(crate) fn first_starting_at(&self, time: Time) -> u64 {
        let (mut low, mut high) = (0, self.windows);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.window(middle) {
                Some(window) if window.start() < time => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    /// Returns the first window of a release after a start from resume positions: behind the end of its last row, and with no
    /// record lacking, which is so since `whole`.
    pub(crate) fn resumed(&self, last_row: Option<Time>, whole: Time) -> u64 {
        self.first_starting_at(whole).max(last_row.map_or(0, |end| self.first_ending_after(end)))
    }

    /// Returns the number of windows; without a last one, a number that no run reaches.
    pub(crate) fn count(&self) -> u64 {
        self.windows
    }

    /// Returns the interval that all windows cover.
    pub(crate) fn life(&self) -> Result<Interval, Invalid> {
        self.ticks.between(0, self.ticks.panes()).ok_or_else(no_room)
    }

    /// Returns the interval that the first `windows` windows cover, or all if there are fewer.
    pub(crate) fn life_of_the_first(&self, windows: u64) -> Result<Interval, Invalid> {
        let last = windows.min(self.windows).saturating_sub(1);
        self.ticks.between(0, self.panes(last).end).ok_or_else(no_room)
    }

    /// Returns true if the schedule is one window over all of its time.
    pub(crate) fn is_whole(&self) -> bool {
        self.rule == WindowRule::Whole
    }

    /// Returns true if a pane can be part of several windows.
    pub(crate) fn overlaps(&self) -> bool {
        self.stride < self.width
    }

    /// Describes the windows: their size, step, unit and zone. The range of those that exist is left out, so
    /// that a schedule that is extended keeps its name, and the windows that it had.
    pub(crate) fn describe(&self) -> String {
        match &self.rule {
            WindowRule::Spans { size, step } => format!("{size} microseconds every {step}"),
            WindowRule::Calendar(calendar) => calendar.describe(),
            WindowRule::Whole => "all".to_owned(),
        }
    }
}

fn within_limit(from: Time, until: Time) -> Result<(), Invalid> {
    for (field, time) in [("from", from), ("until", until)] {
        if !(-LIMIT..=LIMIT).contains(&time) {
            return Err(Invalid::new(field, InvalidKind::TooLarge, "a time within 73,000 years of 1970"));
        }
    }
    Ok(())
}

fn no_room() -> Invalid {
    Invalid::new("until", InvalidKind::TooSmall, "a time that leaves room for a window")
}

/// Computes the greatest common divisor, by Euclid.
fn common(one: i64, other: i64) -> i64 {
    if other == 0 { one } else { common(other, one % other) }
}

// The public moments at which windows may begin or end.

/// Moments in strictly increasing order, numbered from zero: at least two. *Pane* `i` is from tick `i` on and
/// before tick `i + 1`, so that each moment from the first tick on and before the last is in exactly one
/// pane.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ticks {
    /// A tick at every `length` from `first` to `end`, which is a whole number of lengths later. Both are
    /// within [`LIMIT`], so that their difference is a [`Time`].
    Even { first: Time, end: Time, length: i64 },
    /// The listed ticks of a calendar.
    Listed(Arc<[Time]>),
}

impl Ticks {
    /// Creates ticks at these moments, each once; `None` unless there are two.
    pub(crate) fn listed(mut moments: Vec<Time>) -> Option<Ticks> {
        moments.sort_unstable();
        moments.dedup();
        (moments.len() >= 2).then(|| Ticks::Listed(moments.into()))
    }

    pub(crate) fn panes(&self) -> u64 {
        match self {
            Ticks::Even { first, end, length } => (end - first).unsigned_abs() / length.unsigned_abs(),
            Ticks::Listed(moments) => moments.len() as u64 - 1,
        }
    }

    /// Returns the tick of this number; `None` if there is none.
    pub(crate) fn tick(&self, number: u64) -> Option<Time> {
        match self {
            Ticks::Even { first, end, length } => {
                let past = i64::try_from(number).ok()?.checked_mul(*length)?;
                first.checked_add(past).filter(|tick| tick <= end)
            }
            Ticks::Listed(moments) => moments.get(usize::try_from(number).ok()?).copied(),
        }
    }

    /// Returns the pane that contains a moment. Called for every record that is not in the pane of the record
    /// before.
    pub(crate) fn pane(&self, time: Time) -> Option<u64> {
        match self {
            Ticks::Even { first, end, length } => {
                let within = *first <= time && time < *end;
                within.then(|| (time - first).unsigned_abs() / length.unsigned_abs())
            }
            Ticks::Listed(moments) => {
                let past = moments.partition_point(|tick| *tick <= time);
                (0 < past && past < moments.len()).then(|| past as u64 - 1)
            }
        }
    }

    /// Returns the interval from one tick to another; `None` unless both exist and the second is later.
    pub(crate) fn between(&self, from: u64, until: u64) -> Option<Interval> {
        Interval::new(self.tick(from)?, self.tick(until)?).ok()
    }
}

// The windows of a statistic, and the time for which each stays open.

/// The windows of a statistic.
#[derive(Clone)]
pub(in crate::dataflow) struct Windows {
    /// The schedule; `None` if it was refused, and then the run is refused.
    pub(in crate::dataflow) schedule: Option<Schedule>,
    pub(in crate::dataflow) late: Option<Span>,
    pub(in crate::dataflow) skipping: Option<(Arc<dyn Clock>, Span)>,
    /// True if nothing is released before the input has ended.
    pub(in crate::dataflow) at_end: bool,
}

#[cfg(test)]
mod tests;
