//! Lengths of time and sizes of memory as people write them: `10m`, `30 days`, `2 GB`.

use std::fmt;

use jiff::civil;
use jiff::fmt::strtime;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::TimeZone;

use super::mistake::listed;
use crate::invalid::{Invalid, InvalidKind};
use crate::time::Span;

/// The units of fixed length in microseconds, each with its words: short, singular, plural.
const UNITS: [(i64, &[&str]); 7] = [
    (1_000, &["ms", "millisecond", "milliseconds"]),
    (1_000_000, &["s", "second", "seconds"]),
    (60_000_000, &["m", "minute", "minutes", "min"]),
    (3_600_000_000, &["h", "hour", "hours"]),
    (DAY, &["d", "day", "days"]),
    (7 * DAY, &["w", "week", "weeks"]),
    (1, &["us", "microsecond", "microseconds"]),
];

const DAY: i64 = 86_400_000_000;

/// The units of the calendar, whose length depends on the date.
pub(super) const CALENDAR: [&str; 4] = ["month", "months", "year", "years"];

const SIZES: [(u64, &str); 8] = [
    (1, "B"),
    (1_000, "kB"),
    (1_000_000, "MB"),
    (1_000_000_000, "GB"),
    (1_000_000_000_000, "TB"),
    (1 << 10, "KiB"),
    (1 << 20, "MiB"),
    (1 << 30, "GiB"),
];

/// Splits a text into a whole number and the word after it, with or without one space between; the number is
/// 1 if there is none.
pub(super) fn split(text: &str) -> Result<(i64, &str), Invalid> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, word) = text.split_at(digits);
    let word = if count.is_empty() { word } else { word.strip_prefix(' ').unwrap_or(word) };
    let kind = match count.parse() {
        _ if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            InvalidKind::Malformed
        }
        Ok(count) => return Ok((count, word)),
        Err(_) if count.is_empty() => return Ok((1, word)),
        Err(_) => InvalidKind::TooLarge,
    };
    Err(Invalid::new("span", kind, "a whole number and a unit, such as \"10m\", \"30 days\" or \"2 weeks\""))
}

/// Reads a fixed length of time above zero, exactly.
pub(in crate::job) fn fixed(text: &str) -> Result<Span, Invalid> {
    let (count, word) = split(text)?;
    let (unit, _) = UNITS.iter().find(|(_, words)| words.contains(&word)).ok_or_else(|| unknown(word))?;
    // A count that saturates is too long either way.
    let span = Span::microseconds(count.saturating_mul(*unit));
    span.map_err(|refused| {
        Invalid::new("span", refused.kind(), "a length of time above 0 and below 73,000 years")
    })
}

fn unknown(word: &str) -> Invalid {
    if CALENDAR.contains(&word) {
        return Invalid::new(
            "span",
            InvalidKind::Malformed,
            "a length that is always the same, such as \"30 days\"",
        );
    }
    Invalid::new("span", InvalidKind::Malformed, "a unit: ms, s, m, h, days or weeks")
}

/// Returns every word for a unit of time, and after them the other words of a field.
pub(super) fn unit_words(others: &[&'static str]) -> Vec<&'static str> {
    let units = UNITS.iter().flat_map(|(_, words)| words.iter().copied());
    units.chain(CALENDAR).chain(others.iter().copied()).collect()
}

/// Every word for a size, the likely ones first.
pub(super) const SIZE_WORDS: [&str; 8] = ["GB", "MB", "kB", "TB", "GiB", "MiB", "KiB", "B"];

/// Reads a size in bytes.
pub(super) fn bytes(text: &str) -> Result<u64, Invalid> {
    let remedy = || {
        let units: Vec<&str> = SIZES.iter().map(|(_, word)| *word).collect();
        format!("a whole number and a unit, such as \"2 GB\"; units are {}", listed(&units))
    };
    let refuse = |kind| Invalid::new("memory", kind, remedy());
    let (count, word) = split(text).map_err(|refused| refuse(refused.kind()))?;
    let (unit, _) =
        SIZES.iter().find(|(_, size)| *size == word).ok_or_else(|| refuse(InvalidKind::Malformed))?;
    match count.unsigned_abs().checked_mul(*unit) {
        Some(0) => Err(refuse(InvalidKind::Zero)),
        Some(bytes) if text.starts_with(|c: char| c.is_ascii_digit()) => Ok(bytes),
        Some(_) => Err(refuse(InvalidKind::Malformed)),
        None => Err(refuse(InvalidKind::TooLarge)),
    }
}

// Event times: the format in which a record states its time, and the moments of a job file.

/// The format of a record's event time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimeFormat {
    /// Seconds since 1970, with or without a fraction.
    Unix,
    /// Milliseconds since 1970.
    UnixMilliseconds,
    /// RFC 3339, such as `2003-05-01T00:00:00Z`.
    Rfc3339,
    /// The format of web servers' logs: `17/May/2015:10:05:03 +0000`.
    Clf,
    /// A pattern of `strptime`; a time without a zone is in the source's zone.
    Pattern(String),
    /// The type of its column, a timestamp or a date; one without a zone is in the source's zone. A job file
    /// states it by stating no format.
    Column,
}

impl TimeFormat {
    /// Returns true if a time may be stated without its offset, as a local one.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            TimeFormat::Unix | TimeFormat::UnixMilliseconds | TimeFormat::Rfc3339 | TimeFormat::Clf => false,
            TimeFormat::Column => true,
            TimeFormat::Pattern(pattern) => !has_offset(pattern),
        }
    }

    /// The words of the formats other than patterns.
    pub(super) const WORDS: [&'static str; 4] = ["unix", "unix-ms", "rfc3339", "clf"];

    /// Reads `unix`, `unix-ms`, `rfc3339`, `clf` or a pattern such as `%Y-%m-%d %H:%M`.
    ///
    /// # Errors
    ///
    /// If the text is none of the words and no pattern from which a day can be read.
    pub fn parse(text: &str) -> Result<TimeFormat, Invalid> {
        match text {
            "unix" => Ok(TimeFormat::Unix),
            "unix-ms" => Ok(TimeFormat::UnixMilliseconds),
            "rfc3339" => Ok(TimeFormat::Rfc3339),
            "clf" => Ok(TimeFormat::Clf),
            pattern if pattern_has_date(pattern) => Ok(TimeFormat::Pattern(pattern.to_owned())),
            _ => {
                let remedy = "unix, unix-ms, rfc3339, clf, or a pattern with day, month and year, such as \"%Y-%m-%d %H:%M\"";
                Err(Invalid::new("format", InvalidKind::Malformed, remedy))
            }
        }
    }
}

/// Prints the format as a job file states it.
impl fmt::Display for TimeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TimeFormat::Unix => "unix",
            TimeFormat::UnixMilliseconds => "unix-ms",
            TimeFormat::Rfc3339 => "rfc3339",
            TimeFormat::Clf => "clf",
            TimeFormat::Pattern(pattern) => pattern,
            TimeFormat::Column => "column",
        })
    }
}

/// Returns true if a pattern has a directive of an offset, or of a moment in seconds since 1970.
fn has_offset(pattern: &str) -> bool {
    let mut letters = pattern.chars();
    while letters.by_ref().any(|letter| letter == '%') {
        let is_flag = |letter: &char| "-_0^#:".contains(*letter) || letter.is_ascii_digit();
        if letters.by_ref().find(|letter| !is_flag(letter)).is_some_and(|directive| "zQs".contains(directive))
        {
            return true;
        }
    }
    false
}

/// Returns true if a moment that is written by this pattern can be read back with its day.
fn pattern_has_date(pattern: &str) -> bool {
    let moment = civil::date(2003, 5, 14).at(16, 7, 9, 0);
    let day = || {
        let zoned = moment.to_zoned(TimeZone::UTC).ok()?;
        let text = strtime::format(pattern, &zoned).ok()?;
        let read = BrokenDownTime::parse(pattern, text).ok()?;
        // Some patterns state a moment alone, as `%s` does.
        read.to_date()
            .or_else(|_| read.to_timestamp().map(|moment| moment.to_zoned(TimeZone::UTC).date()))
            .ok()
    };
    day() == Some(moment.date())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::in_words;

    #[test]
    fn lengths_are_exact() {
        for (text, microseconds) in [
            ("10m", 600_000_000),
            ("5m", 300_000_000),
            ("1s", 1_000_000),
            ("500ms", 500_000),
            ("1 day", 86_400_000_000),
            ("day", 86_400_000_000),
            ("30 days", 2_592_000_000_000),
            ("2 weeks", 1_209_600_000_000),
            ("1 us", 1),
        ] {
            assert_eq!(fixed(text).unwrap().as_microseconds(), microseconds, "{text}");
        }
    }

    #[test]
    fn what_is_no_length_is_refused() {
        for (text, kind) in [
            ("", InvalidKind::Malformed),
            ("10", InvalidKind::Malformed),
            ("0m", InvalidKind::Zero),
            ("-5m", InvalidKind::Malformed),
            ("1.5h", InvalidKind::Malformed),
            ("1  day", InvalidKind::Malformed),
            (" 1 day", InvalidKind::Malformed),
            ("1 day ", InvalidKind::Malformed),
            ("1h30m", InvalidKind::Malformed),
            ("１m", InvalidKind::Malformed),
            ("1 month", InvalidKind::Malformed),
            ("10 M", InvalidKind::Malformed),
            ("99999999999999999999 s", InvalidKind::TooLarge),
            ("9223372036854775807 weeks", InvalidKind::TooLarge),
        ] {
            assert_eq!(fixed(text).map_err(|refused| refused.kind()), Err(kind), "{text}");
        }
        assert!(fixed("1 month").unwrap_err().remedy().contains("30 days"));
    }

    // Refutes a unit that is read as one length and printed as another.
    #[test]
    fn lengths_are_read_as_they_are_said() {
        for text in ["30 days", "10 minutes", "1 day", "90 minutes", "1 second", "7 days", "1 microsecond"] {
            assert_eq!(in_words(fixed(text).unwrap().as_microseconds().unsigned_abs()), text);
        }
    }

    #[test]
    fn sizes_are_exact() {
        for (text, size) in [("2 GB", 2_000_000_000), ("2GiB", 2 << 30), ("1 B", 1), ("512 MiB", 512 << 20)] {
            assert_eq!(bytes(text).unwrap(), size, "{text}");
        }
        for (text, kind) in [
            ("2", InvalidKind::Malformed),
            ("GB", InvalidKind::Malformed),
            ("2 gb", InvalidKind::Malformed),
            ("0 GB", InvalidKind::Zero),
            ("-1 GB", InvalidKind::Malformed),
            ("99999999999 TB", InvalidKind::TooLarge),
        ] {
            assert_eq!(bytes(text).map_err(|refused| refused.kind()), Err(kind), "{text}");
        }
    }
}

#[cfg(test)]
mod time_tests {
    use super::*;

    #[test]
    fn a_pattern_must_name_the_day() {
        for text in ["%Y-%m-%d %H:%M", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%S%:z", "%s", "%m/%d/%Y %H:%M"] {
            assert_eq!(TimeFormat::parse(text).unwrap(), TimeFormat::Pattern(text.into()));
        }
        for text in ["", "%H:%M", "%Y-%m", "%Q2", "%", "yyyy-mm-dd", "unix-us", "Unix", "%Y %H"] {
            assert!(TimeFormat::parse(text).is_err(), "{text}");
        }
        assert_eq!(TimeFormat::parse("unix-ms").unwrap(), TimeFormat::UnixMilliseconds);
    }
}
