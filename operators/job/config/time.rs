//! Moments, zones, and how a record says when it happened.

use jiff::fmt::strtime::{self, BrokenDownTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};

use crate::invalid::{Invalid, Kind};
use crate::time::Time;

/// A time zone by its name in the time zone database, a copy of which is built in: the same on every machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Zone(String);

impl Zone {
    /// Coordinated universal time: what is meant where no zone is named.
    pub fn utc() -> Zone {
        Zone("UTC".into())
    }

    /// The zone of this name, as the database spells it.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn named(name: &str) -> Result<Zone, Invalid> {
        let known = TimeZone::get(name).ok();
        let known = known.as_ref().and_then(TimeZone::iana_name).map(|name| Zone(name.to_owned()));
        known.ok_or_else(|| {
            Invalid::new("zone", Kind::Malformed, "the name of a time zone, such as \"Europe/Berlin\"")
        })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// How a record's time is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimeFormat {
    /// Seconds since 1970, with or without a fraction.
    Unix,
    /// Milliseconds since 1970.
    UnixMilliseconds,
    /// As `2003-05-01T00:00:00Z`.
    Rfc3339,
    /// As web servers write it: `17/May/2015:10:05:03 +0000`.
    Clf,
    /// By this pattern of `strptime`; in the source's zone where it names none.
    Pattern(String),
}

impl TimeFormat {
    /// Reads `unix`, `unix-ms`, `rfc3339`, `clf` or a pattern such as `%Y-%m-%d %H:%M`.
    ///
    /// # Errors
    ///
    /// If it is none of the words and no pattern from which a day can be read.
    pub fn parse(text: &str) -> Result<TimeFormat, Invalid> {
        match text {
            "unix" => Ok(TimeFormat::Unix),
            "unix-ms" => Ok(TimeFormat::UnixMilliseconds),
            "rfc3339" => Ok(TimeFormat::Rfc3339),
            "clf" => Ok(TimeFormat::Clf),
            pattern if dates(pattern) => Ok(TimeFormat::Pattern(pattern.to_owned())),
            _ => {
                let remedy = "unix, unix-ms, rfc3339, clf, or a pattern with day, month and year, such as \"%Y-%m-%d %H:%M\"";
                Err(Invalid::new("format", Kind::Malformed, remedy))
            }
        }
    }
}

/// Whether what a pattern writes about a moment names its day when it is read again.
fn dates(pattern: &str) -> bool {
    let moment = civil::date(2003, 5, 14).at(16, 7, 9, 0);
    let day = || {
        let zoned = moment.to_zoned(TimeZone::UTC).ok()?;
        let text = strtime::format(pattern, &zoned).ok()?;
        let read = BrokenDownTime::parse(pattern, text).ok()?;
        // Some patterns name a moment alone, as `%s` does.
        read.to_date()
            .or_else(|_| read.to_timestamp().map(|moment| moment.to_zoned(TimeZone::UTC).date()))
            .ok()
    };
    day() == Some(moment.date())
}

/// A moment in RFC 3339, exactly: what has more than six digits of a second, or the second 60, is refused.
pub(super) fn moment(text: &str) -> Result<Time, Invalid> {
    let shaped = || {
        let bytes = text.as_bytes();
        let is = |at: usize, set: &[u8]| bytes.get(at).is_some_and(|byte| set.contains(byte));
        // Seconds are always written, and so is the zone, as `Z` or as hours and minutes.
        let zone = text.ends_with(['Z', 'z']) || (text.len() >= 25 && is(text.len() - 3, b":"));
        is(4, b"-")
            && is(7, b"-")
            && is(10, b"Tt ")
            && is(13, b":")
            && is(16, b":")
            && is(17, b"012345")
            && zone
    };
    let read = || {
        let moment: Timestamp = text.parse().ok()?;
        (moment.subsec_nanosecond() % 1_000 == 0 && !text.contains('[')).then(|| moment.as_microsecond())
    };
    let moment = if text.is_ascii() && shaped() { read() } else { None };
    moment.ok_or_else(|| {
        Invalid::new(
            "moment",
            Kind::Malformed,
            "a moment with its zone, to the microsecond, such as \"2003-05-01T00:00:00Z\"",
        )
    })
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
            assert_eq!(moment(text).unwrap(), micros, "{text}");
        }
    }

    #[test]
    fn what_is_no_exact_moment_is_refused() {
        for text in [
            "",
            "2003-05-01",
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
            assert!(moment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn zones_are_known_by_name_on_every_machine() {
        assert_eq!(Zone::named("Europe/Berlin").unwrap().name(), "Europe/Berlin");
        assert_eq!(Zone::named("europe/berlin").unwrap(), Zone::named("Europe/Berlin").unwrap());
        assert_eq!(Zone::named("UTC").unwrap(), Zone::utc());
        for name in ["", "Europe/Bonn", "+02:00", "CEST", "../../etc/passwd"] {
            assert!(Zone::named(name).is_err(), "{name}");
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
