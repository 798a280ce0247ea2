//! The parts of a time that calendars name, in the zone of the source.

use super::number::ExactNumber;
use super::{Value, ValueKind};
use crate::time::{Time, ZoneRules};

/// A part of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CalendarPart {
    /// The year, a number.
    Year,
    /// The month of a year, such as `2026-11`.
    Month,
    /// The date, such as `2026-11-28`.
    Day,
    /// The name of the day of the week, such as `Saturday`.
    Weekday,
    /// The hour of the day, a number from 0 to 23.
    Hour,
    /// The minute of the hour, a number from 0 to 59.
    Minute,
}

/// The words of the parts.
pub(super) const PARTS: [(&str, CalendarPart); 6] = [
    ("year", CalendarPart::Year),
    ("month", CalendarPart::Month),
    ("day", CalendarPart::Day),
    ("weekday", CalendarPart::Weekday),
    ("hour", CalendarPart::Hour),
    ("minute", CalendarPart::Minute),
];

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

impl CalendarPart {
    /// Returns the type of its values.
    pub(super) fn kind(self) -> ValueKind {
        match self {
            CalendarPart::Year | CalendarPart::Hour | CalendarPart::Minute => ValueKind::Number,
            CalendarPart::Month | CalendarPart::Day | CalendarPart::Weekday => ValueKind::Text,
        }
    }

    /// Returns the part of a time; missing beyond the years -9999 to 9999.
    pub(super) fn of<'a>(self, time: Time, zone: &ZoneRules) -> Value<'a> {
        let Some(local) = zone.local(time) else { return Value::Missing };
        let number = |number: i64| ExactNumber::whole(number).map_or(Value::Missing, Value::Number);
        match self {
            CalendarPart::Year => number(local.year().into()),
            CalendarPart::Hour => number(local.hour().into()),
            CalendarPart::Minute => number(local.minute().into()),
            CalendarPart::Month => Value::Text(format!("{:04}-{:02}", local.year(), local.month()).into()),
            CalendarPart::Day => {
                Value::Text(format!("{:04}-{:02}-{:02}", local.year(), local.month(), local.day()).into())
            }
            CalendarPart::Weekday => {
                let day = usize::try_from(local.weekday().to_monday_zero_offset()).ok();
                let name = day.and_then(|day| WEEKDAYS.get(day));
                name.map_or(Value::Missing, |name| Value::Text((*name).into()))
            }
        }
    }
}
