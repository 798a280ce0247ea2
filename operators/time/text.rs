//! Moments as people write them.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

use super::Time;
use crate::invalid::{Invalid, InvalidKind};

/// Reads a moment: RFC 3339 with its zone, as `2026-11-01T00:00:00Z`, or a date alone, as `2026-11-01`, which is its
/// midnight in UTC.
///
/// ```
/// use discreet::time::at;
///
/// assert_eq!(at("2026-11-01")?, at("2026-11-01T01:00:00+01:00")?);
/// # Ok::<(), discreet::Invalid>(())
/// ```
///
/// # Errors
///
/// Names `time` if it is neither, or not exact: more than six digits of a second, or the second 60.
pub fn at(text: &str) -> Result<Time, Invalid> {
    let remedy = "a date or a moment with its zone, such as \"2026-11-01\" or \"2026-11-01T00:00:00Z\"";
    moment(text)
        .or_else(|| midnight_of(text))
        .ok_or_else(|| Invalid::new("time", InvalidKind::Malformed, remedy))
}

/// A moment, however it is said: microseconds, what [`at`] gave, or the text that `at` reads.
pub trait Moment {
    /// As microseconds.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, as [`at`] says it.
    fn moment(self) -> Result<Time, Invalid>;
}

impl Moment for Time {
    fn moment(self) -> Result<Time, Invalid> {
        Ok(self)
    }
}

impl Moment for Result<Time, Invalid> {
    fn moment(self) -> Result<Time, Invalid> {
        self
    }
}

impl Moment for &str {
    fn moment(self) -> Result<Time, Invalid> {
        at(self)
    }
}

/// A moment in RFC 3339 and UTC for people; beyond the year 9999 it is the end of time.
pub fn in_utc(time: Time) -> String {
    Timestamp::from_microsecond(time)
        .map_or_else(|_| "the end of time".to_owned(), |moment| moment.to_string())
}

/// A moment in RFC 3339 and UTC, as JSON; what lies beyond the year 9999 has no such name.
pub(crate) fn in_json(time: Time) -> String {
    match Timestamp::from_microsecond(time) {
        Ok(moment) => format!("\"{moment}\""),
        Err(_) => "null".to_owned(),
    }
}

/// A moment in RFC 3339, exactly: what has more than six digits of a second, or the second 60, is none.
pub(crate) fn moment(text: &str) -> Option<Time> {
    let bytes = text.as_bytes();
    let is = |at: usize, set: &[u8]| bytes.get(at).is_some_and(|byte| set.contains(byte));
    // Seconds are always written, and so is the zone, as `Z` or as hours and minutes.
    let zone = text.ends_with(['Z', 'z']) || (text.len() >= 25 && is(text.len() - 3, b":"));
    let shaped = text.is_ascii()
        && is(4, b"-")
        && is(7, b"-")
        && is(10, b"Tt ")
        && is(13, b":")
        && is(16, b":")
        && is(17, b"012345")
        && zone
        && !text.contains('[');
    let moment: Timestamp = if shaped { text.parse().ok()? } else { return None };
    (moment.subsec_nanosecond() % 1_000 == 0).then(|| moment.as_microsecond())
}

/// Midnight in UTC of a date with all its digits.
fn midnight_of(text: &str) -> Option<Time> {
    let shaped = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let day: Date = if shaped { text.parse().ok()? } else { return None };
    Some(Offset::UTC.to_timestamp(day.at(0, 0, 0, 0)).ok()?.as_microsecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_exact() {
        for (text, micros) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01t00:00:00z", 0),
            ("1970-01-01 00:00:00Z", 0),
            ("1970-01-01T01:00:00+01:00", 0),
            ("1969-12-31T23:59:59.999999Z", -1),
            ("1970-01-01T00:00:00.000001-00:00", 1),
            ("2003-05-01T00:00:00Z", 1_051_747_200_000_000),
            ("9999-12-30T00:00:00Z", 253_402_128_000_000_000),
        ] {
            assert_eq!(moment(text), Some(micros), "{text}");
            assert_eq!(at(text), Ok(micros), "{text}");
        }
    }

    #[test]
    fn what_is_no_exact_moment_is_refused() {
        for text in [
            "",
            "2003-05-01T00:00:00",
            "2003-05-01T00:00Z",
            "20030501T000000Z",
            "2003-02-30T00:00:00Z",
            "2003-05-01T24:00:00Z",
            "2016-12-31T23:59:60Z",
            "2003-05-01T00:00:00.0000001Z",
            "2003-05-01T00:00:00Z[Europe/Berlin]",
            "2003-05-01T00:00:00+02:00[Europe/Berlin]",
            "2003-05-01T00:00:00Z ",
            "２003-05-01T00:00:00Z",
        ] {
            assert_eq!(moment(text), None, "{text}");
            assert_eq!(at(text).unwrap_err().field(), "time", "{text}");
        }
        assert_eq!(moment("2003-05-01"), None);
    }

    #[test]
    fn a_date_alone_is_its_midnight_in_utc() {
        assert_eq!(at("1970-01-01"), Ok(0));
        assert_eq!(at("1969-12-31"), Ok(-86_400_000_000));
        assert_eq!(at("2024-02-29"), at("2024-02-29T00:00:00Z"));
        for text in
            ["2026-02-29", "2026-1-1", "20261101", "2026-11-01 ", "01-11-2026", "2026-11", "2026-W44-7"]
        {
            assert!(at(text).is_err(), "{text}");
        }
    }
}
