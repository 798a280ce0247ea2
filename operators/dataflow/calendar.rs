//! Which windows exist. Configuration decides it alone: no record, no clock and no frontier adds a window or takes one
//! away.

use crate::accounting::Interval;
use crate::invalid::{Invalid, Kind};
use crate::time::{LIMIT, Span, Time};

/// The windows of a statistic, numbered from zero in order of their end.
///
/// Windows are aligned: each starts at a multiple of its step since 1970-01-01T00:00:00 UTC. Those exist which lie
/// wholly between `from` and `until`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Schedule {
    /// The start of window 0.
    first: Time,
    size: i64,
    step: i64,
    count: u64,
    bounded: bool,
}

impl Schedule {
    /// Windows side by side.
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

    /// Windows of one size, one starting at every step. Without `until` there is no last one; then an input that ends
    /// completes only what was declared before it ended.
    ///
    /// # Errors
    ///
    /// Names what is wrong with the spans; `step` where it is longer than the size, so that windows would leave gaps;
    /// `from` or `until` where they are too far from 1970 (73,000 years) or leave room for no window.
    pub fn sliding(
        size: impl TryInto<Span, Error: Into<Invalid>>,
        step: impl TryInto<Span, Error: Into<Invalid>>,
        from: Time,
        until: Option<Time>,
    ) -> Result<Schedule, Invalid> {
        let size = size.try_into().map_err(Into::into)?.as_microseconds();
        let step = step.try_into().map_err(Into::into)?.as_microseconds();
        if step > size {
            return Err(Invalid::new("step", Kind::TooLarge, "a step that is no longer than the window"));
        }
        let last = until.unwrap_or(LIMIT);
        for (field, time) in [("from", from), ("until", last)] {
            if !(-LIMIT..=LIMIT).contains(&time) {
                return Err(Invalid::new(field, Kind::TooLarge, "a time within 73,000 years of 1970"));
            }
        }
        // Within the limit and one step of it: nothing here overflows.
        let first = from.div_euclid(step) * step + if from.rem_euclid(step) == 0 { 0 } else { step };
        let room = last - first - size;
        if room < 0 {
            return Err(Invalid::new("until", Kind::TooSmall, "a time that leaves room for a window"));
        }
        let count = (room / step).unsigned_abs() + 1;
        Ok(Schedule { first, size, step, count, bounded: until.is_some() })
    }

    /// The window of this number; `None` where there is none.
    pub fn window(&self, number: u64) -> Option<Interval> {
        if number >= self.count {
            return None;
        }
        // Below the count, so its end is at or before `until`, which is within the limit.
        let start = self.first + i64::try_from(number).ok()? * self.step;
        Interval::new(start, start + self.size).ok()
    }

    /// The numbers of the windows that hold a moment: none outside the schedule, one where windows are side by side.
    pub fn holding(&self, time: Time) -> std::ops::Range<u64> {
        let (first, size, step) = (i128::from(self.first), i128::from(self.size), i128::from(self.step));
        let past = i128::from(time) - first;
        let after = past.div_euclid(step) + 1;
        let before = (past - size).div_euclid(step) + 1;
        let number = |window: i128| window.clamp(0, i128::from(self.count)) as u64;
        number(before)..number(after)
    }

    /// Whether there is a last window.
    pub fn is_bounded(&self) -> bool {
        self.bounded
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::time::{days, hours, minutes};

    /// All windows of a schedule, listed one by one from what the words say.
    fn listed(size: i64, step: i64, from: Time, until: Time) -> Vec<(Time, Time)> {
        (from..until)
            .filter(|start| start % step == 0 && start + size <= until)
            .map(|start| (start, start + size))
            .collect()
    }

    proptest! {
        #[test]
        fn the_windows_are_those_that_one_would_list(
            size in 1i64..40, step in 1i64..40, from in -100i64..100, length in 0i64..200, time in -300i64..300,
        ) {
            prop_assume!(step <= size);
            let span = |length| Span::microseconds(length).unwrap();
            let until = from + length;
            let oracle = listed(size, step, from, until);
            let Ok(schedule) = Schedule::sliding(span(size), span(step), from, Some(until)) else {
                prop_assert!(oracle.is_empty());
                return Ok(());
            };
            let windows: Vec<_> = (0..).map_while(|number| schedule.window(number)).collect();
            prop_assert_eq!(windows.iter().map(|w| (w.start(), w.end())).collect::<Vec<_>>(), oracle.clone());
            let holding: Vec<_> = schedule.holding(time).map(|number| oracle[number as usize]).collect();
            let expected: Vec<_> = oracle.into_iter().filter(|(start, end)| (*start..*end).contains(&time)).collect();
            prop_assert_eq!(holding, expected);
        }
    }

    #[test]
    fn no_moment_is_too_far_to_ask_about() {
        for schedule in [
            Schedule::tumbling(minutes(10), -5, Some(days(40_000).unwrap().as_microseconds())).unwrap(),
            Schedule::sliding(hours(24), Span::microseconds(1), -LIMIT, None).unwrap(),
        ] {
            for time in [i64::MIN, i64::MIN + 1, -LIMIT - 1, LIMIT, i64::MAX - 1, i64::MAX] {
                let holding = schedule.holding(time);
                assert!(holding.start <= holding.end || holding.is_empty());
                assert!(
                    schedule
                        .window(holding.start)
                        .is_none_or(|window| holding.is_empty() || window.start() <= time)
                );
            }
            assert_eq!(schedule.window(u64::MAX), None);
        }
    }

    #[test]
    fn what_makes_no_schedule_is_named() {
        let field = |schedule: Result<Schedule, Invalid>| schedule.unwrap_err().field().to_owned();
        assert_eq!(field(Schedule::tumbling(minutes(0), 0, None)), "span");
        assert_eq!(field(Schedule::sliding(minutes(1), minutes(2), 0, None)), "step");
        assert_eq!(field(Schedule::tumbling(minutes(1), 0, Some(59_999_999))), "until");
        assert_eq!(field(Schedule::tumbling(minutes(1), i64::MIN, None)), "from");
        assert_eq!(field(Schedule::tumbling(minutes(1), 0, Some(i64::MAX))), "until");
    }
}
