//! The windows that a total over several windows leaves out, since they were skipped: their input had a gap, or they were
//! late, or refused.

use crate::accounting::Interval;
use crate::dataflow::windows::Schedule;
use crate::ledger::rows;
use crate::time::Time;

/// The number of spans that are kept. Of more, the two oldest are joined, with the windows between them.
const SPANS: usize = 32;

/// Spans of windows that have no tally, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOut(Vec<Interval>);

impl LeftOut {
    /// Adds the windows of a schedule between the one that ended at this time, the first one of all without it, and the one
    /// that is released now.
    pub(super) fn add(&mut self, schedule: &Schedule, through: Option<Time>, window: Interval) {
        let first = through.map_or(0, |end| schedule.first_ending_after(end));
        let missing =
            schedule.window(first).and_then(|first| Interval::new(first.start(), window.start()).ok());
        let Some(missing) = missing else { return };
        self.0.push(missing);
        if self.0.len() > SPANS
            && let [oldest, next, ..] = self.0[..]
            && let Ok(joined) = Interval::new(oldest.start(), next.end())
        {
            self.0.splice(..2, [joined]);
        }
    }

    /// The spans that overlap the last `covered` windows up to this one, as a list in JSON; nothing where there are none.
    pub(super) fn in_json(&self, schedule: &Schedule, covered: u64, window: Interval) -> String {
        let number = schedule.first_ending_after(window.end() - 1);
        let first = schedule.window(number.saturating_sub(covered - 1)).unwrap_or(window);
        let spans = self.0.iter().filter(|span| span.end() > first.start());
        let spans: Vec<String> = spans.map(|span| rows::window(*span)).collect();
        if spans.is_empty() { String::new() } else { format!("[{}]", spans.join(",")) }
    }

    pub(super) fn write(&self) -> Vec<u8> {
        self.0
            .iter()
            .flat_map(|span| [span.start().to_le_bytes(), span.end().to_le_bytes()])
            .flatten()
            .collect()
    }

    /// Reads what was [written](LeftOut::write).
    pub(super) fn read(bytes: &[u8]) -> Option<LeftOut> {
        let (spans, rest) = bytes.as_chunks::<16>();
        let span = |bytes: &[u8; 16]| {
            let (start, end) = bytes.split_first_chunk()?;
            let end = end.try_into().ok()?;
            Interval::new(Time::from_le_bytes(*start), Time::from_le_bytes(end)).ok()
        };
        let spans: Option<Vec<Interval>> = spans.iter().map(span).collect();
        spans.filter(|_| rest.is_empty()).map(LeftOut)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::time::Span;

    /// The spans that are stated of a total over this number of windows, at each window that is released, in windows.
    fn stated(released: &[u64], covered: u64) -> Vec<String> {
        let schedule = Schedule::tumbling(Span::microseconds(1_000_000).unwrap(), 0, None).unwrap();
        let (mut left_out, mut through) = (LeftOut::default(), None);
        let each = released.iter().map(|number| {
            let window = schedule.window(*number).unwrap();
            left_out.add(&schedule, through, window);
            through = Some(window.end());
            left_out = LeftOut::read(&left_out.write()).unwrap();
            left_out.in_json(&schedule, covered, window)
        });
        each.collect()
    }

    fn span(start: u64, end: u64) -> String {
        format!("{{\"start\":\"1970-01-01T00:00:{start:02}Z\",\"end\":\"1970-01-01T00:00:{end:02}Z\"}}")
    }

    // Refutes a window that is left out of a total and not stated, before the first one too, and one that is stated by a
    // total that does not cover it.
    #[test]
    fn a_total_states_the_windows_that_it_leaves_out() {
        assert_eq!(stated(&[0, 1, 2], u64::MAX), ["", "", ""]);
        let [first, later] = [span(0, 2), span(3, 5)];
        let both = format!("[{first},{later}]");
        assert_eq!(stated(&[2, 5, 6], u64::MAX), [format!("[{first}]"), both.clone(), both.clone()]);
        let of_last = [format!("[{first}]"), format!("[{later}]"), format!("[{later}]"), String::new()];
        assert_eq!(stated(&[2, 5, 6, 7], 3), of_last);
        assert_eq!(stated(&[2, 5, 6], 1), ["", "", ""]);
    }

    // Refutes spans without end in the state.
    #[test]
    fn of_many_spans_the_oldest_are_joined() {
        let every_second: Vec<u64> = (0..=SPANS as u64).map(|number| 2 * number + 1).collect();
        let last = stated(&every_second, u64::MAX).pop().unwrap();
        assert_eq!(last.matches("start").count(), SPANS);
        assert!(last.starts_with(&format!("[{},{}", span(0, 3), span(4, 5))), "{last}");
        assert_eq!(LeftOut::read(&[0; 15]), None);
    }
}
