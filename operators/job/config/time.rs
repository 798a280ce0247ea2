//! Event times: the format in which a record states its time, and the moments of a job file.

use std::fmt;

use jiff::civil;
use jiff::fmt::strtime::{self, BrokenDownTime};
use jiff::tz::TimeZone;

use crate::invalid::{Invalid, InvalidKind};
use crate::time::{self, Time};

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
}

impl TimeFormat {
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
        })
    }
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

/// Reads a moment in RFC 3339, exactly. A date alone is refused: a reader of the file would have to know its
/// zone.
pub(super) fn moment(text: &str) -> Result<Time, Invalid> {
    let remedy = "a moment with its zone, to the microsecond, such as \"2003-05-01T00:00:00Z\"";
    time::moment(text).ok_or_else(|| Invalid::new("moment", InvalidKind::Malformed, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_its_zone() {
        assert_eq!(moment("1970-01-01T01:00:00+01:00"), Ok(0));
        for text in ["2003-05-01", "2003-05-01T00:00:00"] {
            assert_eq!(moment(text).unwrap_err().field(), "moment", "{text}");
        }
    }

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
