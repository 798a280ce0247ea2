//! Time zones, and when their days begin.

use jiff::civil::Date;
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

/// A zone with its rules. They come from the copy that is built in even where another crate has jiff ask the machine.
pub(crate) fn known(name: &str) -> Result<(Zone, TimeZone), Invalid> {
    let rules = TimeZoneDatabase::bundled().get(name).ok().filter(|rules| !rules.is_unknown());
    let named = rules.and_then(|rules| Some((Zone(rules.iana_name()?.to_owned()), rules)));
    named.ok_or_else(|| {
        Invalid::new("zone", InvalidKind::Malformed, "the name of a time zone, such as \"Europe/Berlin\"")
    })
}

/// The first moment of a day: midnight, the earlier one of two. Where the clock jumps over midnight, the moment of the
/// jump: an hour after the old midnight (the "compatible" reading) would be a while into the day if it jumped before.
/// `None` near the years -9999 and 9999.
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

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::time::at;

    #[test]
    fn zones_are_known_by_name_on_every_machine() {
        assert_eq!(Zone::named("Europe/Berlin").unwrap().name(), "Europe/Berlin");
        assert_eq!(Zone::named("europe/berlin").unwrap(), Zone::named("Europe/Berlin").unwrap());
        assert_eq!(Zone::named("UTC").unwrap(), Zone::utc());
        for name in ["", "Europe/Bonn", "+02:00", "CEST", "../../etc/passwd", "Etc/Unknown"] {
            assert_eq!(Zone::named(name).unwrap_err().field(), "zone", "{name}");
        }
    }

    // Each by hand, from the database's own remarks. Refutes the later of two midnights, and in Toronto the compatible
    // reading: there 23:30 was followed by 00:30.
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

    #[test]
    fn where_the_calendar_ends_no_day_begins() {
        for name in ["UTC", "America/Havana"] {
            let (_, rules) = known(name).unwrap();
            assert_eq!(midnight(&rules, Date::MIN), None);
            assert_eq!(midnight(&rules, Date::MAX), None);
        }
    }
}
