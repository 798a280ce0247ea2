//! Moments as people write them.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset};
use jiff::{SignedDuration, Timestamp};

use super::Time;
use super::zone::{Zone, known, midnight};
use crate::invalid::{Invalid, InvalidKind};

/// Reads a moment: RFC 3339 with its zone, as `2026-11-01T00:00:00Z`, or a date alone, as `2026-11-01`, which
/// is its midnight in UTC.
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
    let utc = || date_of(text).and_then(|day| Offset::UTC.to_timestamp(day.at(0, 0, 0, 0)).ok());
    moment(text).or_else(|| Some(utc()?.as_microsecond())).ok_or_else(|| no_moment(text))
}

/// Reads a moment as [`at`] does, but a date alone as its midnight in a zone.
///
/// ```
/// use discreet::time::{Zone, at, at_in};
///
/// assert_eq!(at_in("2026-11-01", &Zone::named("Europe/Berlin")?)?, at("2026-10-31T23:00:00Z")?);
/// # Ok::<(), discreet::Invalid>(())
/// ```
///
/// # Errors
///
/// As [`at`], and for a date that has two midnights in the zone, or none.
pub fn at_in(text: &str, zone: &Zone) -> Result<Time, Invalid> {
    let Some(day) = date_of(text) else { return moment(text).ok_or_else(|| no_moment(text)) };
    let (_, rules) = known(zone.name())?;
    let reading = day.at(0, 0, 0, 0);
    let with_offset = |offset: Offset, moment: Timestamp| {
        format!(
            "\"{}\"",
            offset.to_datetime(moment).strftime("%Y-%m-%dT%H:%M:%S").to_string() + &hours_of(offset)
        )
    };
    let refuse = |found, moments: String| {
        let remedy = format!("the moment with its offset, such as {moments}");
        Err(Invalid::new("time", InvalidKind::Malformed, remedy).with_found(found))
    };
    match rules.to_ambiguous_timestamp(reading).offset() {
        AmbiguousOffset::Unambiguous { offset } => {
            offset.to_timestamp(reading).map(Timestamp::as_microsecond).map_err(|_| no_moment(text))
        }
        AmbiguousOffset::Fold { before, after } => {
            let moments = [before, after].map(|offset| {
                offset.to_timestamp(reading).map_or(String::new(), |moment| with_offset(offset, moment))
            });
            refuse("a date that has two midnights in the zone", moments.join(" or "))
        }
        AmbiguousOffset::Gap { after, .. } => {
            let first = midnight(&rules, day).and_then(|first| Timestamp::from_microsecond(first).ok());
            refuse(
                "a date that has no midnight in the zone",
                first.map_or(String::new(), |first| with_offset(after, first)),
            )
        }
    }
}

fn no_moment(text: &str) -> Invalid {
    // The last two days of the calendar lie beyond its last moment in some zone.
    let is_last = text.get(..10).and_then(date_of).is_some_and(|day| day >= Date::constant(9999, 12, 30));
    if is_last {
        let remedy = "a time before 9999-12-30T00:00:00Z, such as \"9999-01-01\"";
        let refused = Invalid::new("time", InvalidKind::TooLarge, remedy);
        return refused.with_found("a time at the very end of the calendar");
    }
    let remedy = "a date or a moment with its zone, such as \"2026-11-01\" or \"2026-11-01T00:00:00Z\"";
    Invalid::new("time", InvalidKind::Malformed, remedy)
}

/// Formats an offset in RFC 3339, whose seconds (of old local times) are left out.
fn hours_of(offset: Offset) -> String {
    let (sign, minutes) =
        (if offset.is_negative() { '-' } else { '+' }, offset.seconds().unsigned_abs() / 60);
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
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

/// Formats a moment in RFC 3339 and UTC, for people; beyond the years -9999 to 9999 it has no such name.
pub fn in_utc(time: Time) -> String {
    written(time).unwrap_or_else(|| match time {
        ..0 => "the beginning of time".to_owned(),
        _ => "the end of time".to_owned(),
    })
}

/// Formats a moment in RFC 3339 and UTC; `None` beyond the years -9999 to 9999. The last day and some hours of the year 9999, which
/// are no moments in every zone, have their text too.
pub(crate) fn written(time: Time) -> Option<String> {
    match Timestamp::from_microsecond(time) {
        Ok(moment) => Some(moment.to_string()),
        Err(_) if time < 0 => None,
        Err(_) => civil(time).map(|local| format!("{local}Z")),
    }
}

/// Returns the date and the time of day in UTC of a moment of the years -9999 to 9999.
pub(crate) fn civil(time: Time) -> Option<DateTime> {
    Date::constant(1970, 1, 1).at(0, 0, 0, 0).checked_add(SignedDuration::from_micros(time)).ok()
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

/// Returns a date that is written with all its digits.
fn date_of(text: &str) -> Option<Date> {
    let shaped = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if shaped { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_beyond_the_calendar_have_an_end_of_time() {
        assert_eq!(in_utc(0), "1970-01-01T00:00:00Z");
        // The last day of the calendar, of which no zone has all.
        assert_eq!(in_utc(253_402_214_400_000_000), "9999-12-31T00:00:00Z");
        assert_eq!(in_utc(253_402_300_799_999_999), "9999-12-31T23:59:59.999999Z");
        assert_eq!(in_utc(253_402_300_800_000_000), "the end of time");
        assert_eq!(
            (in_utc(Time::MAX).as_str(), in_utc(Time::MIN).as_str()),
            ("the end of time", "the beginning of time")
        );
    }

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

    // Refutes an end of the calendar that is said to be no text of a time.
    #[test]
    fn a_time_at_the_end_of_the_calendar_is_said_to_be_one() {
        for text in
            ["9999-12-31", "9999-12-31T00:00:00Z", "9999-12-30T23:00:00Z", "9999-12-30T22:00:00-05:00"]
        {
            for refused in [at(text), at_in(text, &Zone::named("America/New_York").unwrap())] {
                let refused = refused.unwrap_err();
                assert_eq!(refused.kind(), InvalidKind::TooLarge, "{text}: {refused}");
                assert!(refused.remedy().contains("before 9999-12-30T00:00:00Z"), "{refused}");
            }
        }
        assert!(at("9999-12-29").is_ok());
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
