//! Times: the text of a field as microseconds.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::number::steps;
use crate::invalid::Invalid;
use crate::job::config::TimeFormat;
use crate::time::{LIMIT, Time, Zone, civil, divides_repeated_times, known};

/// Reads the times of one source. It caches the last text: consecutive lines of a log often have the same.
#[derive(Clone)]
pub(super) struct Times {
    format: TimeFormat,
    zone: TimeZone,
    last: Vec<u8>,
    time: Option<Time>,
}

impl Times {
    pub(super) fn new(format: &TimeFormat, zone: &Zone) -> Result<Times, Invalid> {
        let (_, zone) = known(zone.name())?;
        Ok(Times { format: format.clone(), zone, last: Vec::new(), time: None })
    }

    /// Returns true for a time whose local text occurs twice.
    pub(super) fn is_repeated(&self, time: Time) -> bool {
        divides_repeated_times(&self.zone, time.saturating_add(1))
    }

    /// The time in microseconds, rounded down; `None` for a text that is no time, and for one further than
    /// 73,000 years away.
    #[inline]
    pub(super) fn read(&mut self, bytes: &[u8]) -> Option<Time> {
        if bytes != self.last || bytes.is_empty() {
            let time = match &self.format {
                TimeFormat::Unix => steps(bytes, 6),
                TimeFormat::UnixMilliseconds => steps(bytes, 3),
                TimeFormat::Rfc3339 => rfc3339(bytes),
                TimeFormat::Clf => clf(bytes),
                TimeFormat::Pattern(pattern) => by_pattern(pattern, bytes, &self.zone),
                TimeFormat::Column => of_column(bytes, &self.zone),
            };
            self.time = time.filter(|time| (-LIMIT..=LIMIT).contains(time));
            self.last.clear();
            self.last.extend_from_slice(bytes);
        }
        self.time
    }
}

/// The formats that times usually have, the likeliest first: those that are tried, and those that are named.
pub(in crate::job) const USUAL_FORMATS: [&str; 18] = [
    "rfc3339",
    "clf",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y/%m/%d %H:%M:%S",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M",
    "%Y-%m-%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "unix-ms",
    "unix",
];

/// Returns the usual format in which day and month are exchanged, where one is as usual as the other. A time of a day up to the
/// 12th does not say of which of both it is.
pub(in crate::job) fn exchanged(format: &str) -> Option<&'static str> {
    let other = if format.starts_with("%d/%m/") {
        format.replacen("%d/%m/", "%m/%d/", 1)
    } else if format.starts_with("%m/%d/") {
        format.replacen("%m/%d/", "%d/%m/", 1)
    } else {
        return None;
    };
    USUAL_FORMATS.into_iter().find(|usual| *usual == other)
}

/// Returns true for a text that is a time of a usual format; of numbers, one of the years 2001 to 2286.
pub(in crate::job) fn is_time_of(format: &str, text: &[u8]) -> bool {
    // The shortest is `1/1/2026`. Most texts of a log are none, and reading them by each format takes long.
    if text.len() < 8 || !text.iter().any(u8::is_ascii_digit) {
        return false;
    }
    let whole = text.split(|byte| *byte == b'.').next().unwrap_or_default();
    let digits = match format {
        "unix" => Some(10),
        "unix-ms" => Some(13),
        _ => None,
    };
    let fits = digits.is_none_or(|digits| whole.len() == digits && whole.iter().all(u8::is_ascii_digit));
    let read = |format| Times::new(&format, &Zone::utc()).ok()?.read(text);
    fits && TimeFormat::parse(format).is_ok_and(|format| read(format).is_some())
}

/// Returns the usual format that a text has, if it has one, in words; where day and month may be exchanged, both.
pub(super) fn usual_format(text: &[u8]) -> Option<Cow<'static, str>> {
    let format = USUAL_FORMATS.into_iter().find(|format| is_time_of(format, text))?;
    Some(match exchanged(format).filter(|other| is_time_of(other, text)) {
        Some(other) => {
            format!("{format} or {other} (it does not say which number is the day, and which the month)")
                .into()
        }
        None => format.into(),
    })
}

/// Parses `2003-05-01T00:00:00.5+02:00`; with up to nine digits of a second.
fn rfc3339(bytes: &[u8]) -> Option<Time> {
    let (local, rest) = local_time(bytes)?;
    let offset = match rest {
        b"Z" | b"z" => 0,
        [sign, h1, h2, b':', m1, m2] => offset(*sign, two(*h1, *h2)?, two(*m1, *m2)?)?,
        _ => return None,
    };
    Some(local - offset * 1_000_000)
}

/// Parses the text of a timestamp or a date of a column: `2003-05-01T00:00:00.5Z`, or without a zone
/// `2003-05-01T00:00:00.5` or `2003-05-01`.
fn of_column(bytes: &[u8], zone: &TimeZone) -> Option<Time> {
    let local = match (bytes.len(), local_time(bytes)) {
        (10, _) => date(bytes)? * DAY,
        (_, Some((moment, b"Z"))) => return Some(moment),
        (_, Some((local, []))) => local,
        _ => return None,
    };
    if *zone == TimeZone::UTC {
        return Some(local);
    }
    in_zone(civil(local)?, zone)
}

/// Returns the moment of a local time, rounded down to microseconds. The last hours of the year 9999 are moments, too, as in
/// RFC 3339: a day of that year is what logs have for a time that never comes.
fn in_zone(local: DateTime, zone: &TimeZone) -> Option<Time> {
    let ambiguous = zone.to_ambiguous_timestamp(local);
    let nanoseconds = match ambiguous.compatible() {
        Ok(moment) => moment.as_nanosecond(),
        Err(_) => {
            let AmbiguousOffset::Unambiguous { offset } = ambiguous.offset() else { return None };
            let since = local.duration_since(DateTime::constant(1970, 1, 1, 0, 0, 0, 0)).as_nanos();
            since - i128::from(offset.seconds()) * 1_000_000_000
        }
    };
    i64::try_from(nanoseconds.div_euclid(1_000)).ok()
}

/// The microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Parses `2003-05-01` as days since 1970.
fn date(bytes: &[u8]) -> Option<i64> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = bytes else { return None };
    let year = two(*y1, *y2)? * 100 + two(*y3, *y4)?;
    day(year, two(*m1, *m2)?, two(*d1, *d2)?)
}

/// Parses `2003-05-01T00:00:00.5` as microseconds, and returns the bytes behind it.
fn local_time(bytes: &[u8]) -> Option<(Time, &[u8])> {
    let (first, rest) = bytes.split_at_checked(10)?;
    let day = date(first)?;
    let ([b'T' | b't' | b' '], rest) = rest.split_at_checked(1)? else { return None };
    let (clock, mut rest) = rest.split_at_checked(8)?;
    let second = clock_time(clock)?;
    let mut micros = 0;
    if let Some((b'.', after)) = rest.split_first() {
        let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (fraction, after) = after.split_at_checked(digits)?;
        if !(1..=9).contains(&digits) {
            return None;
        }
        for place in 0..6 {
            micros = micros * 10 + fraction.get(place).map_or(0, |digit| i64::from(digit - b'0'));
        }
        rest = after;
    }
    Some((day * DAY + second * 1_000_000 + micros, rest))
}

/// Parses `17/May/2015:10:05:03 +0000`.
fn clf(bytes: &[u8]) -> Option<Time> {
    const MONTHS: [&[u8; 3]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    let (date, rest) = bytes.split_at_checked(12)?;
    let [d1, d2, b'/', m1, m2, m3, b'/', y1, y2, y3, y4, b':'] = date else { return None };
    let month = MONTHS.iter().position(|name| **name == [*m1, *m2, *m3])? as i64 + 1;
    let day = day(two(*y1, *y2)? * 100 + two(*y3, *y4)?, month, two(*d1, *d2)?)?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let [b' ', sign, h1, h2, o1, o2] = rest else { return None };
    let offset = offset(*sign, two(*h1, *h2)?, two(*o1, *o2)?)?;
    Some((day * 86_400 + clock_time(clock)? - offset) * 1_000_000)
}

#[inline]
fn two(tens: u8, ones: u8) -> Option<i64> {
    (tens.is_ascii_digit() && ones.is_ascii_digit())
        .then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
}

/// The second of a day, from `10:05:03`. A leap second counts as the one before it: there is no other place
/// for it.
fn clock_time(bytes: &[u8]) -> Option<i64> {
    let [h1, h2, b':', m1, m2, b':', s1, s2] = bytes else { return None };
    let (hour, minute, second) = (two(*h1, *h2)?, two(*m1, *m2)?, two(*s1, *s2)?);
    (hour < 24 && minute < 60 && second <= 60).then(|| (hour * 60 + minute) * 60 + second.min(59))
}

fn offset(sign: u8, hours: i64, minutes: i64) -> Option<i64> {
    let sign = match sign {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    (hours < 24 && minutes < 60).then(|| sign * (hours * 60 + minutes) * 60)
}

/// The days since 1970 of a day of the Gregorian calendar (Hinnant, "chrono-compatible low-level date
/// algorithms").
fn day(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// Parses by a pattern; in the source's zone where neither pattern nor text names one. Of a local time that
/// occurs twice the first is meant, and one that is skipped counts as long after the jump as its distance
/// from it.
fn by_pattern(pattern: &str, bytes: &[u8], zone: &TimeZone) -> Option<Time> {
    let read = BrokenDownTime::parse(pattern, bytes).ok()?;
    let moment: Timestamp = if let Ok(moment) = read.to_timestamp() {
        moment
    } else if read.iana_time_zone().is_some() || read.offset().is_some() {
        read.to_zoned().ok()?.timestamp()
    } else {
        return in_zone(read.to_datetime().ok()?, zone);
    };
    i64::try_from(moment.as_nanosecond().div_euclid(1_000)).ok()
}

#[cfg(test)]
mod tests {
    use jiff::tz::Offset;
    use proptest::prelude::*;

    use super::*;

    fn read(format: &str, zone: &str, text: &str) -> Option<Time> {
        let format = TimeFormat::parse(format).unwrap();
        let mut times = Times::new(&format, &Zone::named(zone).unwrap()).unwrap();
        let first = times.read(text.as_bytes());
        assert_eq!(times.read(text.as_bytes()), first, "what is remembered is what was read");
        assert_eq!(times.read(b"nonsense"), None);
        assert_eq!(times.read(text.as_bytes()), first);
        first
    }

    /// Jiff writes, and this reads.
    fn as_jiff_writes(second: i64, nano: i32, offset: i32) {
        let moment = Timestamp::new(second, nano).unwrap();
        let micros = i64::try_from(moment.as_nanosecond().div_euclid(1_000)).unwrap();
        let seconds = second * 1_000_000;
        let zoned = moment.to_zoned(TimeZone::fixed(Offset::from_seconds(offset * 60).unwrap()));
        let written = |format: &str| zoned.strftime(format).to_string();
        let text = written("%Y-%m-%dT%H:%M:%S.%9f%:z");
        assert_eq!(read("rfc3339", "UTC", &text), Some(micros), "{text}");
        let text = written("%d/%b/%Y:%H:%M:%S %z");
        assert_eq!(read("clf", "UTC", &text), Some(seconds), "{text}");
        assert_eq!(read("%d/%b/%Y:%H:%M:%S %z", "UTC", &text), Some(seconds), "{text}");
        let nanos = moment.as_nanosecond();
        let (sign, nanos) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
        let text = format!("{sign}{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
        assert_eq!(read("unix", "UTC", &text), Some(micros), "{text}");
    }

    proptest! {
        // Refutes a wrong calendar, sign of an offset, or rounding before 1970.
        #[test]
        fn moments_are_what_jiff_writes(
            second in 0i64..250_000_000_000,
            nano in 0i32..1_000_000_000,
            offset in -1_439i32..1_440,
            before in any::<bool>(),
        ) {
            if before {
                as_jiff_writes(-second / 5, 0, offset);
            } else {
                as_jiff_writes(second, nano, offset);
            }
        }

        #[test]
        fn no_bytes_end_the_reading(bytes in proptest::collection::vec(any::<u8>(), 0..40), format in 0usize..5) {
            let format = TimeFormat::parse(["unix", "unix-ms", "rfc3339", "clf", "%Y-%m-%d %H:%M"][format]).unwrap();
            let _ = Times::new(&format, &Zone::utc()).unwrap().read(&bytes);
        }

        #[test]
        fn no_near_time_is_read_as_another(text in "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-5][0-9]Z") {
            // Beyond these jiff has no moments, and this parser does.
            prop_assume!(text.as_str() < "9999-12-30T22");
            let expected = text.parse::<Timestamp>().ok().map(|moment| moment.as_microsecond());
            prop_assert_eq!(read("rfc3339", "UTC", &text), expected, "{}", text);
        }
    }

    #[test]
    fn a_usual_format_is_known_by_a_time_of_it() {
        for (text, format) in [
            ("2026-01-31T10:00:00Z", Some("rfc3339")),
            ("31/Jan/2026:10:00:00 +0000", Some("clf")),
            ("2026-01-31 10:00:00", Some("%Y-%m-%d %H:%M:%S%.f")),
            ("2026-01-31 10:00:00.25", Some("%Y-%m-%d %H:%M:%S%.f")),
            ("2026-01-31 10:00", Some("%Y-%m-%d %H:%M")),
            ("2026-01-31T10:00:00", Some("%Y-%m-%dT%H:%M:%S%.f")),
            ("31.01.2026 10:00:00", Some("%d.%m.%Y %H:%M:%S")),
            ("29.11.2026 18:15", Some("%d.%m.%Y %H:%M")),
            ("29.11.2026 18:15:03", Some("%d.%m.%Y %H:%M:%S")),
            ("1.2.2026 8:05", Some("%d.%m.%Y %H:%M")),
            ("31.01.2026", Some("%d.%m.%Y")),
            ("29/11/2026 18:15", Some("%d/%m/%Y %H:%M")),
            ("11/29/2026 18:15", Some("%m/%d/%Y %H:%M")),
            ("11/29/2026", Some("%m/%d/%Y")),
            ("11/29/2026 18:15:03", Some("%m/%d/%Y %H:%M:%S")),
            ("2026-01-31", Some("%Y-%m-%d")),
            ("1767225600000", Some("unix-ms")),
            ("1767225600.5", Some("unix")),
            ("12345", None),
            ("2026-13-31", None),
            ("noon", None),
            ("", None),
        ] {
            assert_eq!(usual_format(text.as_bytes()).as_deref(), format, "{text}");
        }
        // Refutes an order of day and month that the text does not say.
        for text in ["12/11/2026 18:15", "11/12/2026 18:15", "1/1/2026 18:15"] {
            let said = usual_format(text.as_bytes()).unwrap();
            assert!(said.starts_with("%d/%m/%Y %H:%M or %m/%d/%Y %H:%M (it does not say"), "{said}");
        }
    }

    // Refutes a format of the list that no text has first, or that is not the one of a text that is written by it.
    #[test]
    fn each_usual_format_is_found_by_a_time_of_it() {
        let moment = Timestamp::from_microsecond(1_795_976_103_000_000).unwrap().to_zoned(TimeZone::UTC);
        for format in USUAL_FORMATS.into_iter().filter(|format| format.contains('%')) {
            let text = moment.strftime(format).to_string();
            assert_eq!(usual_format(text.as_bytes()).as_deref(), Some(format), "{text}");
            assert_eq!(
                exchanged(format).is_some(),
                format.contains("%d/%m") || format.contains("%m/%d/"),
                "{format}"
            );
            assert_eq!(exchanged(format).and_then(exchanged), exchanged(format).map(|_| format));
        }
    }

    #[test]
    fn times_of_every_format() {
        let at = |text: &str| crate::time::at(text).ok();
        for (format, zone, text, expected) in [
            ("unix", "UTC", "0", Some(0)),
            ("unix", "UTC", "-0.0000001", Some(-1)),
            ("unix", "UTC", "1700000000.1234567", Some(1_700_000_000_123_456)),
            ("unix", "UTC", "1.7e9", Some(1_700_000_000_000_000)),
            ("unix", "UTC", "9223372036854775807", None),
            ("unix", "UTC", "-9223372036854775808", None),
            ("unix", "UTC", "2305843009213.693951", Some(LIMIT)),
            ("unix", "UTC", "2305843009213.693952", None),
            ("unix", "UTC", "-2305843009213.693951", Some(-LIMIT)),
            ("unix", "UTC", "-2305843009213.693952", None),
            ("unix", "UTC", "", None),
            ("unix-ms", "UTC", "-1", Some(-1_000)),
            ("unix-ms", "UTC", "1700000000123", Some(1_700_000_000_123_000)),
            ("rfc3339", "UTC", "9999-12-31T23:59:59.999999Z", Some(253_402_300_799_999_999)),
            ("rfc3339", "UTC", "0000-01-01T00:00:00Z", Some(-62_167_219_200_000_000)),
            ("rfc3339", "UTC", "2016-12-31T23:59:60Z", at("2016-12-31T23:59:59Z")),
            ("rfc3339", "UTC", "2016-12-31T23:59:61Z", None),
            ("rfc3339", "UTC", "2015-02-29T00:00:00Z", None),
            ("rfc3339", "UTC", "2015-02-28T00:00:00", None),
            ("rfc3339", "UTC", "2015-02-28T00:00:00.Z", None),
            ("rfc3339", "UTC", "2015-02-28T24:00:00Z", None),
            ("clf", "UTC", "17/May/2015:10:05:03 +0200", at("2015-05-17T08:05:03Z")),
            ("clf", "UTC", "17/may/2015:10:05:03 +0200", None),
            ("clf", "UTC", "17/May/2015:10:05:03", None),
            ("%Y-%m-%d %H:%M", "Europe/Berlin", "2026-03-29 01:59", at("2026-03-29T00:59:00Z")),
            ("%Y-%m-%d %H:%M", "Europe/Berlin", "2026-03-29 02:30", at("2026-03-29T01:30:00Z")),
            ("%Y-%m-%d %H:%M", "Europe/Berlin", "2026-10-25 02:30", at("2026-10-25T00:30:00Z")),
            ("%Y-%m-%d %H:%M", "UTC", "1066-10-14 09:00", at("1066-10-14T09:00:00Z")),
            ("%Y-%m-%d", "UTC", "9999-12-31", Some(253_402_214_400_000_000)),
            ("%Y-%m-%d", "Europe/Berlin", "9999-12-31", Some(253_402_210_800_000_000)),
            ("%Y-%m-%d %H:%M:%S", "America/New_York", "9999-12-31 23:59:59", Some(253_402_318_799_000_000)),
            ("%Y-%m-%d %H:%M:%S%.f", "UTC", "9999-12-31 23:59:59.999999", Some(253_402_300_799_999_999)),
            ("%Y-%m-%d %H:%M:%S %z", "UTC", "9999-12-29 23:59:59 +0100", Some(253_402_124_399_000_000)),
            ("%d.%m.%Y", "Europe/Berlin", "17.05.2015", at("2015-05-16T22:00:00Z")),
            ("%s", "Europe/Berlin", "-5", Some(-5_000_000)),
            ("%Y-%m-%d %H:%M", "UTC", "2026-02-30 01:00", None),
        ] {
            assert_eq!(read(format, zone, text), expected, "{format} {text}");
        }
    }
}
