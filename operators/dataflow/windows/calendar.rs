//! Months and days of a time zone, and their first moments.

use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use crate::invalid::{Invalid, InvalidKind};
use crate::time::{Time, Zone, known, midnight};

/// Windows of whole months or days, from midnight to midnight in a time zone, for a
/// [`Schedule`](super::Schedule):
///
/// ```
/// use discreet::dataflow::{Calendar, Schedule};
/// use discreet::time::at;
///
/// let quarters = Calendar::months(1).over(3).in_zone("Europe/Berlin");    // the last three months, each month
/// let schedule = Schedule::calendar(&quarters, at("2026-01-01")?, Some(at("2027-01-01")?))?;
/// let first = schedule.window(0).map(|window| (window.start(), window.end()));
/// assert_eq!(first, Some((at("2026-01-31T23:00:00Z")?, at("2026-04-30T22:00:00Z")?)));
/// # Ok::<(), discreet::Invalid>(())
/// ```
///
/// A day has 23 or 25 hours where the clock changes. It begins at midnight, at the earlier one of two; where
/// the clock jumps over midnight, with the jump; and a day that a zone left out has no window.
///
/// Errors of a calendar are reported when a schedule is made of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Calendar {
    unit: CalendarStep,
    /// The number of units from one start to the next.
    each: u32,
    /// The number of units that a window spans.
    over: u32,
    /// The number of the unit from which they are counted: of days, that of a weekday of January 1970.
    first: i64,
    zone: String,
}

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl Weekday {
    /// All of them, from Monday on.
    pub const ALL: [Weekday; 7] = [
        Weekday::Monday,
        Weekday::Tuesday,
        Weekday::Wednesday,
        Weekday::Thursday,
        Weekday::Friday,
        Weekday::Saturday,
        Weekday::Sunday,
    ];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Weekday::Monday => "Monday",
            Weekday::Tuesday => "Tuesday",
            Weekday::Wednesday => "Wednesday",
            Weekday::Thursday => "Thursday",
            Weekday::Friday => "Friday",
            Weekday::Saturday => "Saturday",
            Weekday::Sunday => "Sunday",
        }
    }

    /// Returns the number of days from 1970-01-01, a Thursday, until the first of these days.
    fn after_epoch(self) -> i64 {
        (self as i64 - Weekday::Thursday as i64).rem_euclid(7)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CalendarStep {
    Month,
    Day,
}

/// The longest window, a hundred years: a longer one is a mistaken unit.
const MOST_MONTHS: u32 = 1_200;
const MOST_DAYS: u32 = 36_525;
/// The time for which windows without an end are listed: two hundred years, rounded up, in microseconds.
const HORIZON: Time = 73_050 * 86_400_000_000;
/// The range of times, from 0000-01-01 to 9999-12-30: times near them, in any zone and in the hundred years
/// before, have a date too.
const EARLIEST: Time = -62_167_219_200_000_000;
const LATEST: Time = 253_402_128_000_000_000;
const EPOCH: Date = date(1970, 1, 1);
/// The maximum number of starts, which take eight megabytes.
const MOST_STARTS: usize = 1_000_000;

impl Calendar {
    /// Windows of this number of months, counted from January 1970: of 3, they start in January, April, July
    /// and October.
    pub fn months(count: u32) -> Calendar {
        Calendar::of(CalendarStep::Month, count)
    }

    /// Windows of this number of days, counted from 1970-01-01.
    pub fn days(count: u32) -> Calendar {
        Calendar::of(CalendarStep::Day, count)
    }

    /// Windows of this number of weeks, which begin on this day of the week. They are counted from the first such day of
    /// 1970, so that weeks from Thursday are [days(7)](Calendar::days).
    pub fn weeks(count: u32, from: Weekday) -> Calendar {
        Calendar { first: from.after_epoch(), ..Calendar::days(count.saturating_mul(7)) }
    }

    /// Sets the number of units that a window spans, 1 by default; a window starts with each unit, so they
    /// overlap.
    #[must_use]
    pub fn over(self, count: u32) -> Calendar {
        Calendar { over: count, ..self }
    }

    /// Sets the zone, by its name in the time zone database, a copy of which is built in. UTC by default.
    #[must_use]
    pub fn in_zone(self, name: &str) -> Calendar {
        Calendar { zone: name.to_owned(), ..self }
    }

    fn of(unit: CalendarStep, each: u32) -> Calendar {
        Calendar { unit, each, over: 1, first: 0, zone: Zone::utc().name().to_owned() }
    }

    /// Returns the number of starts between a window's start and its end.
    pub(crate) fn width(&self) -> u64 {
        self.over.into()
    }

    /// Describes the windows, without the range of those that exist.
    pub(crate) fn describe(&self) -> String {
        let (each, long) = (self.each, u64::from(self.each) * u64::from(self.over));
        let unit = match self.unit {
            CalendarStep::Month => "months",
            CalendarStep::Day => "days",
        };
        // What is counted from 1970-01-01 is described as before there was another day.
        let first = if self.first == 0 { String::new() } else { format!(" from day {}", self.first) };
        format!("{long} {unit} every {each} in {}{first}", self.zone)
    }

    /// Returns the calendar, with its zone as the database spells it; and the times at which its windows
    /// start and end, from `from` to `until` or for two hundred years, in order. Some may be listed twice.
    pub(crate) fn starts(&self, from: Time, until: Option<Time>) -> Result<(Calendar, Vec<Time>), Invalid> {
        self.check()?;
        let (zone, rules) = known(&self.zone)?;
        let last = until.unwrap_or_else(|| from.saturating_add(HORIZON).min(LATEST));
        let before = local_day(&rules, "from", from)?;
        local_day(&rules, "until", last)?;
        let each = i64::from(self.each);
        let mut starts = Vec::new();
        let mut number = (self.unit.number(before) - self.first).div_euclid(each) * each + self.first;
        while let Some(start) = self.unit.first_day(number).and_then(|day| midnight(&rules, day)) {
            if start > last {
                break;
            }
            if start >= from {
                starts.push(start);
            }
            if starts.len() > MOST_STARTS {
                let remedy = "a time before which at most 1,000,000 windows start or end";
                return Err(Invalid::new("until", InvalidKind::TooLarge, remedy));
            }
            number += each;
        }
        let zone = zone.name().to_owned();
        Ok((Calendar { zone, ..self.clone() }, starts))
    }

    fn check(&self) -> Result<(), Invalid> {
        let (field, most, remedy) = match self.unit {
            CalendarStep::Month => ("months", MOST_MONTHS, "from 1 to 1,200 months"),
            CalendarStep::Day => ("days", MOST_DAYS, "from 1 to 36,525 days"),
        };
        match (self.each, self.over) {
            (0, _) => Err(Invalid::new(field, InvalidKind::Zero, remedy)),
            (each, _) if each > most => Err(Invalid::new(field, InvalidKind::TooLarge, remedy)),
            (_, 0) => Err(Invalid::new("over", InvalidKind::Zero, "a whole number above 0")),
            (each, over) if over > most / each => {
                Err(Invalid::new("over", InvalidKind::TooLarge, "a window of at most a hundred years"))
            }
            _ => Ok(()),
        }
    }
}

impl CalendarStep {
    /// Returns the number of units between the first of 1970 and the one that holds this day.
    fn number(self, day: Date) -> i64 {
        match self {
            CalendarStep::Month => (i64::from(day.year()) - 1970) * 12 + i64::from(day.month()) - 1,
            CalendarStep::Day => day.duration_since(EPOCH).as_hours() / 24,
        }
    }

    /// Returns the first day of the unit with this number; `None` beyond the years -9999 and 9999.
    fn first_day(self, number: i64) -> Option<Date> {
        match self {
            CalendarStep::Month => {
                let (year, month) = (1970 + number.div_euclid(12), 1 + number.rem_euclid(12));
                Date::new(year.try_into().ok()?, month.try_into().ok()?, 1).ok()
            }
            CalendarStep::Day => EPOCH.checked_add(Span::new().try_days(number).ok()?).ok(),
        }
    }
}

/// Returns the day that a zone's calendar shows at a moment.
fn local_day(rules: &TimeZone, field: &'static str, time: Time) -> Result<Date, Invalid> {
    let written = (EARLIEST..=LATEST).contains(&time);
    let moment = Timestamp::from_microsecond(time).ok().filter(|_| written);
    let moment = moment.ok_or_else(|| {
        let remedy = "a time from the year 0 on and until 9999-12-30T00:00:00Z";
        Invalid::new(field, InvalidKind::TooLarge, remedy).with_found("a time outside of the calendar")
    })?;
    Ok(rules.to_datetime(moment).date())
}

#[cfg(test)]
mod tests;
