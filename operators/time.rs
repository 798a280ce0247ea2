//! Time, spans of it, and zones: whole microseconds.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};

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

// Moments as people write them.

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

// Time zones, and when their days begin.

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
    /// If there is none; names `zone`.
    pub fn named(name: &str) -> Result<Zone, Invalid> {
        known(name).map(|(zone, _)| zone)
    }

    /// The names of all zones, the one that most mean first.
    #[cfg(feature = "cli")]
    pub(crate) fn names() -> Vec<String> {
        let all = TimeZoneDatabase::bundled();
        std::iter::once("UTC".to_owned()).chain(all.available().map(|name| name.to_string())).collect()
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// The rules of a zone, by which a moment has a local date and time.
#[cfg(feature = "cli")]
#[derive(Clone, Debug)]
pub(crate) struct ZoneRules(TimeZone);

#[cfg(feature = "cli")]
impl ZoneRules {
    /// Returns the rules of a zone.
    pub(crate) fn of(zone: &Zone) -> Result<ZoneRules, Invalid> {
        known(zone.name()).map(|(_, rules)| ZoneRules(rules))
    }

    /// Returns the local date and time of a moment; `None` beyond the years -9999 to 9999.
    pub(crate) fn local(&self, time: Time) -> Option<DateTime> {
        Timestamp::from_microsecond(time).ok().map(|moment| self.0.to_datetime(moment))
    }
}

/// A zone with its rules. They come from the copy that is built in even where another crate has jiff ask the
/// machine.
pub(crate) fn known(name: &str) -> Result<(Zone, TimeZone), Invalid> {
    let rules = TimeZoneDatabase::bundled().get(name).ok().filter(|rules| !rules.is_unknown());
    let named = rules.and_then(|rules| Some((Zone(rules.iana_name()?.to_owned()), rules)));
    named.ok_or_else(|| {
        Invalid::new("zone", InvalidKind::Malformed, "the name of a time zone, such as \"Europe/Berlin\"")
    })
}

/// The first moment of a day: midnight, the earlier one of two. Where the clock jumps over midnight, the
/// moment of the jump: an hour after the old midnight (the "compatible" reading) would be a while into the
/// day if it jumped before. `None` near the years -9999 and 9999.
pub(crate) fn midnight(rules: &TimeZone, day: Date) -> Option<Time> {
    let reading = day.at(0, 0, 0, 0);
    let moment = match rules.to_ambiguous_timestamp(reading).offset() {
        AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
            offset.to_timestamp(reading).ok()?
        }
        AmbiguousOffset::Gap { after, .. } => {
            // By the new clock this midnight was before the jump, by less than the jump is long.
            let before = after.to_timestamp(reading).ok()?;
            rules.following(before).find(|jump| jump.offset() == after)?.timestamp()
        }
    };
    Some(moment.as_microsecond())
}

/// Returns true if a moment divides local times that occur twice: of a local time without its offset nobody can say on which side
/// of the moment it was.
pub(crate) fn divides_repeated_times(rules: &TimeZone, moment: Time) -> bool {
    let is_repeated = |moment: Time| {
        let moment = Timestamp::from_microsecond(moment).ok()?;
        let local = rules.to_datetime(moment);
        Some(matches!(rules.to_ambiguous_timestamp(local).offset(), AmbiguousOffset::Fold { .. }))
    };
    [moment.saturating_sub(1), moment].map(is_repeated) == [Some(true); 2]
}

/// Returns the first span of local times after a moment that occur twice, up to a few changes of the clocks from there.
#[cfg(feature = "cli")]
pub(crate) fn repeated_times_after(rules: &TimeZone, moment: Time) -> Option<(Time, Time)> {
    let moment = Timestamp::from_microsecond(moment).ok()?;
    let mut offset = rules.to_offset(moment);
    for change in rules.following(moment).take(4) {
        let step = i64::from(offset.seconds() - change.offset().seconds()) * 1_000_000;
        if step > 0 {
            let at = change.timestamp().as_microsecond();
            return Some((at - step, at + step));
        }
        offset = change.offset();
    }
    None
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

#[cfg(test)]
mod text_tests {
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

#[cfg(test)]
mod zone_tests {
    use jiff::civil::date;

    use super::*;
    use crate::time::at;

    // Refutes an hour that is taken for two, and two that are taken for one.
    #[test]
    fn the_moments_within_the_hours_that_clocks_repeat_divide_them() {
        for (zone, first, last) in [
            ("America/New_York", "2026-11-01T05:00:00Z", "2026-11-01T07:00:00Z"),
            ("Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"),
            ("Australia/Lord_Howe", "2026-04-04T14:30:00Z", "2026-04-04T15:30:00Z"),
        ] {
            let (_, rules) = known(zone).unwrap();
            let (first, last) = (at(first).unwrap(), at(last).unwrap());
            #[cfg(feature = "cli")]
            assert_eq!(
                repeated_times_after(&rules, at("2026-01-01").unwrap()),
                Some((first, last)),
                "{zone}"
            );
            let inside = [first + 1, (first + last) / 2 - 1, (first + last) / 2, last - 1];
            for (moments, divides) in [(&inside[..], true), (&[first, last, first - 1, last + 1], false)] {
                for moment in moments {
                    assert_eq!(
                        divides_repeated_times(&rules, *moment),
                        divides,
                        "{zone}, {}",
                        in_utc(*moment)
                    );
                }
            }
        }
        let (_, rules) = known("America/New_York").unwrap();
        for moment in ["2026-03-08T06:30:00Z", "2026-03-08T07:30:00Z", "2026-07-01T05:30:00Z"] {
            assert!(!divides_repeated_times(&rules, at(moment).unwrap()), "{moment}");
        }
        for moment in [Time::MIN, -LIMIT, LIMIT, Time::MAX] {
            assert!(!divides_repeated_times(&rules, moment), "{moment}");
        }
        let (_, rules) = known("UTC").unwrap();
        #[cfg(feature = "cli")]
        assert_eq!(repeated_times_after(&rules, 0), None);
        assert!(!divides_repeated_times(&rules, at("2026-11-01T06:00:00Z").unwrap()));
    }

    #[test]
    fn zones_are_known_by_name_on_every_machine() {
        assert_eq!(Zone::named("Europe/Berlin").unwrap().name(), "Europe/Berlin");
        assert_eq!(Zone::named("europe/berlin").unwrap(), Zone::named("Europe/Berlin").unwrap());
        assert_eq!(Zone::named("UTC").unwrap(), Zone::utc());
        for name in ["", "Europe/Bonn", "+02:00", "CEST", "../../etc/passwd", "Etc/Unknown"] {
            assert_eq!(Zone::named(name).unwrap_err().field(), "zone", "{name}");
        }
    }

    // Each by hand, from the database's own remarks. Refutes the later of two midnights, and in Toronto the
    // compatible reading: there 23:30 was followed by 00:30.
    #[test]
    fn a_day_begins_when_its_date_is_first_read() {
        for (zone, day, moment) in [
            ("UTC", date(2024, 2, 29), "2024-02-29T00:00:00Z"),
            ("Europe/Berlin", date(2026, 3, 30), "2026-03-29T22:00:00Z"),
            ("America/Sao_Paulo", date(2015, 10, 18), "2015-10-18T03:00:00Z"),
            ("America/Havana", date(2025, 11, 2), "2025-11-02T04:00:00Z"),
            ("America/Toronto", date(1919, 3, 31), "1919-03-31T04:30:00Z"),
            ("Pacific/Apia", date(2011, 12, 30), "2011-12-30T10:00:00Z"),
            ("Pacific/Apia", date(2011, 12, 31), "2011-12-30T10:00:00Z"),
        ] {
            let (_, rules) = known(zone).unwrap();
            assert_eq!(midnight(&rules, day), at(moment).ok(), "{zone} {day}");
        }
    }

    // Refutes a date that is read in UTC, the earlier of two midnights that is taken without a word, and a remedy that is no moment
    // of that day.
    #[test]
    fn a_date_alone_is_its_midnight_in_the_zone_where_it_has_one() {
        for (zone, day, moment) in [
            ("UTC", "2026-11-29", "2026-11-29T00:00:00Z"),
            ("Europe/Berlin", "2026-03-30", "2026-03-29T22:00:00Z"),
            ("Europe/Berlin", "2026-11-29", "2026-11-28T23:00:00Z"),
            ("America/New_York", "2026-11-29", "2026-11-29T05:00:00Z"),
            ("America/New_York", "2026-11-29T00:00:00Z", "2026-11-29T00:00:00Z"),
        ] {
            let zone = Zone::named(zone).unwrap();
            assert_eq!(at_in(day, &zone), at(moment), "{zone:?} {day}");
        }
        for (zone, day, found, moments) in [
            (
                "America/Havana",
                "2025-11-02",
                "two midnights",
                &["2025-11-02T00:00:00-04:00", "2025-11-02T00:00:00-05:00"][..],
            ),
            ("America/Sao_Paulo", "2015-10-18", "no midnight", &["2015-10-18T01:00:00-02:00"]),
        ] {
            let zone = Zone::named(zone).unwrap();
            let refused = at_in(day, &zone).unwrap_err();
            assert!(refused.found().contains(found), "{refused}");
            for moment in moments {
                assert!(refused.remedy().contains(&format!("\"{moment}\"")), "{refused}");
            }
            assert_eq!(
                at_in(moments[0], &zone).ok(),
                midnight(&known(zone.name()).unwrap().1, day.parse().unwrap())
            );
        }
        for text in ["2026-02-29", "2026-1-1", "2026-11-29T00:00:00", ""] {
            assert_eq!(at_in(text, &Zone::utc()), at(text), "{text}");
        }
        assert!(at_in("9999-12-31", &Zone::named("America/New_York").unwrap()).is_err());
    }

    #[test]
    fn where_the_calendar_ends_no_day_begins() {
        for name in ["UTC", "America/Havana"] {
            let (_, rules) = known(name).unwrap();
            assert_eq!(midnight(&rules, Date::MIN), None);
            assert_eq!(midnight(&rules, Date::MAX), None);
        }
    }
}
