//! Time, spans of it, and zones: whole microseconds.

mod text;
mod zone;

pub use text::{Moment, at, at_in, in_utc};
#[cfg(feature = "cli")]
pub(crate) use text::{civil, written};
pub(crate) use text::{in_json, moment};
pub use zone::Zone;
#[cfg(feature = "cli")]
pub(crate) use zone::{ZoneRules, repeated_times_after};
pub(crate) use zone::{divides_repeated_times, known, midnight};

use crate::invalid::{Invalid, InvalidKind};

/// A moment: microseconds since 1970-01-01T00:00:00 UTC, leap seconds left out, before it too.
///
/// As the timestamp of a dataflow it means declared progress, never when a record says that it happened.
pub type Time = i64;

/// No window begins before `-LIMIT` or ends after `LIMIT`, and no [`Span`] is longer: so a window's end, its
/// lateness and its deadline add up without overflow, and [`Time::MAX`] is after all of them. About 73,000
/// years.
pub(crate) const LIMIT: Time = i64::MAX / 4;

/// A length of time above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(i64);

impl Span {
    /// So many microseconds.
    ///
    /// # Errors
    ///
    /// Unless it is above zero, and at most 73,000 years.
    pub fn microseconds(count: i64) -> Result<Span, Invalid> {
        let kind = match count {
            ..0 => InvalidKind::Negative,
            0 => InvalidKind::Zero,
            _ if count > LIMIT => InvalidKind::TooLarge,
            _ => return Ok(Span(count)),
        };
        Err(Invalid::new("span", kind, "a length of time above 0 and below 73,000 years"))
    }

    /// Its length in microseconds.
    pub fn as_microseconds(self) -> i64 {
        self.0
    }

    fn of(count: i64, unit: i64) -> Result<Span, Invalid> {
        // What does not fit is too long either way; the sign stays what it was.
        Span::microseconds(count.saturating_mul(unit))
    }
}

/// So many seconds.
///
/// # Errors
///
/// As [`Span::microseconds`].
pub fn seconds(count: i64) -> Result<Span, Invalid> {
    Span::of(count, 1_000_000)
}

/// So many minutes.
///
/// # Errors
///
/// As [`Span::microseconds`].
pub fn minutes(count: i64) -> Result<Span, Invalid> {
    Span::of(count, 60_000_000)
}

/// So many hours.
///
/// # Errors
///
/// As [`Span::microseconds`].
pub fn hours(count: i64) -> Result<Span, Invalid> {
    Span::of(count, 3_600_000_000)
}

/// So many days of 24 hours.
///
/// # Errors
///
/// As [`Span::microseconds`].
pub fn days(count: i64) -> Result<Span, Invalid> {
    Span::of(count, 86_400_000_000)
}

/// Units of fixed length, the longest first.
const UNITS: [(u64, &str); 6] = [
    (86_400_000_000, "day"),
    (3_600_000_000, "hour"),
    (60_000_000, "minute"),
    (1_000_000, "second"),
    (1_000, "millisecond"),
    (1, "microsecond"),
];

/// A length of time in words: a number of the largest unit that divides it, up to days.
pub fn in_words(microseconds: u64) -> String {
    let divides = |(unit, _): &&(u64, &str)| microseconds.is_multiple_of(*unit);
    // One microsecond divides everything.
    let (unit, word) = UNITS.iter().find(divides).unwrap_or(&UNITS[5]);
    match microseconds / unit {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    }
}

/// So that `minutes(10)` stands where a span is asked for, and what is wrong with it is said there.
impl TryFrom<Result<Span, Invalid>> for Span {
    type Error = Invalid;

    fn try_from(span: Result<Span, Invalid>) -> Result<Span, Invalid> {
        span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_above_zero_and_never_wraps() {
        assert_eq!(minutes(10).unwrap().as_microseconds(), 600_000_000);
        assert_eq!((hours(24), seconds(60)), (days(1), minutes(1)));
        for (count, kind) in [
            (0, InvalidKind::Zero),
            (-1, InvalidKind::Negative),
            (i64::MIN, InvalidKind::Negative),
            (i64::MAX, InvalidKind::TooLarge),
            (LIMIT, InvalidKind::TooLarge),
        ] {
            assert_eq!(days(count).unwrap_err().kind(), kind, "{count}");
        }
        assert!(Span::microseconds(LIMIT).is_ok());
        assert_eq!(Span::microseconds(LIMIT + 1).unwrap_err().kind(), InvalidKind::TooLarge);
    }

    #[test]
    fn lengths_are_said_as_they_were_meant() {
        let said = |span: Result<Span, Invalid>| in_words(span.unwrap().as_microseconds().unsigned_abs());
        assert_eq!([said(days(30)), said(days(1)), said(hours(2))], ["30 days", "1 day", "2 hours"]);
        assert_eq!(
            [said(minutes(90)), said(seconds(1)), said(hours(24))],
            ["90 minutes", "1 second", "1 day"]
        );
        assert_eq!(
            [in_words(1_500), in_words(1), in_words(86_400_000_001)],
            ["1500 microseconds", "1 microsecond", "86400000001 microseconds"]
        );
    }

    #[test]
    fn what_is_added_to_the_end_of_a_window_stays_before_the_end_of_time() {
        assert!(LIMIT.checked_add(LIMIT).and_then(|sum| sum.checked_add(LIMIT)).unwrap() < Time::MAX);
    }
}
