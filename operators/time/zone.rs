//! Time zones, and when their days begin.

use jiff::Timestamp;
use jiff::civil::Date;
#[cfg(feature = "cli")]
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};

use super::Time;
use crate::invalid::{Invalid, InvalidKind};

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
    use jiff::civil::date;

    use super::*;
    use crate::time::{LIMIT, at, at_in, in_utc};

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
