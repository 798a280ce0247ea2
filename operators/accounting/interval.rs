//! Half-open spans of integer time: `[start, end)`.

use serde::{Deserialize, Serialize};

use crate::invalid::{Invalid, InvalidKind};

/// All times from `start` on and before `end`; never empty. Times are whole numbers of one unit, microseconds
/// in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "(i64, i64)", into = "(i64, i64)")]
pub struct Interval {
    start: i64,
    end: i64,
}

impl Interval {
    /// From `start` on and before `end`.
    ///
    /// # Errors
    /// Names `end` unless it is after `start`.
    pub fn new(start: i64, end: i64) -> Result<Interval, Invalid> {
        if start < end {
            return Ok(Interval { start, end });
        }
        Err(Invalid::new("end", InvalidKind::TooSmall, "a time after the start"))
    }

    /// From `start` on, for ever: the life of what is paid once and has no horizon.
    ///
    /// # Errors
    /// Names `start` at the end of time.
    pub fn since(start: i64) -> Result<Interval, Invalid> {
        Interval::new(start, i64::MAX)
    }

    /// The first time in it.
    pub fn start(&self) -> i64 {
        self.start
    }

    /// The first time after it.
    pub fn end(&self) -> i64 {
        self.end
    }

    /// The first and the last of the aligned blocks of `span` that it overlaps. Block `k` is `[k span, (k+1)
    /// span)`, before zero too: each time is in exactly one.
    pub(crate) fn blocks(&self, span: u64) -> (i64, i64) {
        let block = |time: i64| i128::from(time).div_euclid(i128::from(span)) as i64;
        (block(self.start), block(self.end - 1))
    }
}

/// Returns the most windows of `size`, one starting every `slide`, that a span can touch: `(size + span - 1)
/// / slide`, rounded up. One more than one would think: 30 days touch four windows of 10 days.
///
/// # Errors
/// Names whichever is zero.
pub fn windows_touched(span: u64, size: u64, slide: u64) -> Result<u64, Invalid> {
    for (field, value) in [("span", span), ("size", size), ("slide", slide)] {
        if value == 0 {
            return Err(Invalid::new(field, InvalidKind::Zero, "a whole number above 0"));
        }
    }
    let most = (u128::from(size) + u128::from(span) - 1).div_ceil(u128::from(slide));
    u64::try_from(most).map_err(|_| Invalid::new("span", InvalidKind::Overflow, "a shorter span"))
}

impl TryFrom<(i64, i64)> for Interval {
    type Error = Invalid;

    fn try_from((start, end): (i64, i64)) -> Result<Interval, Invalid> {
        Interval::new(start, end)
    }
}

impl From<Interval> for (i64, i64) {
    fn from(interval: Interval) -> (i64, i64) {
        (interval.start, interval.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_never_empty() {
        assert_eq!(Interval::new(5, 5).unwrap_err().field(), "end");
        assert_eq!(Interval::new(5, 4).unwrap_err().field(), "end");
        assert_eq!(Interval::new(i64::MIN, i64::MAX).unwrap().end(), i64::MAX);
        assert!(Interval::since(i64::MAX).is_err());
    }

    // Refutes an edge in two blocks or in none, and truncation towards zero.
    #[test]
    fn every_edge_belongs_to_exactly_one_block() {
        for time in -35..35 {
            let (first, last) = Interval::new(time, time + 1).unwrap().blocks(10);
            assert_eq!(first, last);
            assert!(first * 10 <= time && time < (first + 1) * 10, "{time} in {first}");
        }
        assert_eq!(Interval::new(10, 20).unwrap().blocks(10), (1, 1));
        assert_eq!(Interval::new(9, 21).unwrap().blocks(10), (0, 2));
        assert_eq!(Interval::new(-10, 0).unwrap().blocks(10), (-1, -1));
        let (first, last) = Interval::new(i64::MIN, i64::MAX).unwrap().blocks(1);
        assert_eq!((first, last), (i64::MIN, i64::MAX - 1));
        assert_eq!(Interval::new(i64::MIN, i64::MAX).unwrap().blocks(u64::MAX), (-1, 0));
    }

    // Exhaustively, every place of every short span; by hand 30 over 10 is 4, and 30 every 10 is 6.
    #[test]
    fn spans_touch_as_many_windows_as_the_formula_says() {
        assert_eq!(windows_touched(30, 10, 10).unwrap(), 4);
        assert_eq!(windows_touched(30, 30, 10).unwrap(), 6);
        assert_eq!(windows_touched(1, 10, 10).unwrap(), 1);
        for span in 1..16i64 {
            for size in 1..12i64 {
                for slide in 1..8i64 {
                    let touched = |from: i64| {
                        let windows = (-40..60).map(|k| (k * slide, k * slide + size));
                        windows.filter(|(start, end)| *start < from + span && *end > from).count()
                    };
                    let most = (0..slide).map(touched).max().unwrap() as u64;
                    let formula = windows_touched(span as u64, size as u64, slide as u64).unwrap();
                    assert_eq!(formula, most, "span {span}, size {size}, slide {slide}");
                }
            }
        }
        assert_eq!(windows_touched(30, 10, 0).unwrap_err().field(), "slide");
    }
}
