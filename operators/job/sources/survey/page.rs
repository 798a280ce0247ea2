//! The page of a survey: its counts, and the warnings that follow from them.

use std::fmt;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{
    Detail, FieldCount, MOST_PEOPLE, OF_SOURCE, Survey, SurveyedCondition, SurveyedKind, Use, WARN_AFTER,
};
use crate::job::config::Missing;
use crate::job::sources::lines::LineFault;
use crate::time::{Time, ZoneRules, written};

/// The number of people from which they are not few, however many records they have.
const FEW_PEOPLE: u64 = 20;

/// The number of records from which people may be few.
const MANY_RECORDS: u64 = 200;

/// The number of records of each person at which people are few.
const RECORDS_OF_A_PERSON: u64 = 100;

impl Survey {
    /// The fields that no counted record has.
    pub(super) fn missing(&self) -> Vec<String> {
        let lines = self.lines();
        let of_them = match lines {
            0 => return Vec::new(),
            WARN_AFTER if !self.open => "none of the first 1,000 records has it".to_owned(),
            lines => format!("none of {} has it", records(lines)),
        };
        let missing = self.uses().filter(|counted| counted.found.load(Ordering::Relaxed) == 0);
        let warning = |counted: &FieldCount| {
            let Use { place, field, is_derived, kind } = &counted.of;
            let comes = match kind {
                SurveyedKind::Person(Missing::Drop) => "a record without it is left out",
                SurveyedKind::Person(Missing::Shared) => "all records without it are one person's",
                SurveyedKind::Person(Missing::Reject) | SurveyedKind::Id | SurveyedKind::Time => {
                    "a line without it cannot be read"
                }
                SurveyedKind::Key(_) | SurveyedKind::Number { .. } => "a record without it does not count",
                SurveyedKind::Joined(_) => "what the table says is missing",
                SurveyedKind::Compared => "without it no comparison with it holds",
                SurveyedKind::Source => "what is made of it is missing",
            };
            let asks = match is_derived {
                true => "Do the records have what its expression reads?",
                false => "Is it spelt so in the records, path and all?",
            };
            format!("{place}: field {field}: {of_them}; {comes}. {asks}")
        };
        let more = self.without_row().into_iter().chain(self.without_effect()).chain(self.of_few_people());
        missing.map(warning).chain(more).collect()
    }

    /// The warning that a sample has very few people for its number of records.
    fn of_few_people(&self) -> Option<String> {
        let people = self.people().filter(|_| self.open)?;
        let is_of_person = |counted: &&FieldCount| matches!(counted.of.kind, SurveyedKind::Person(_));
        let FieldCount { of: Use { place, field, .. }, found, .. } = self.uses().find(is_of_person)?;
        let found = found.load(Ordering::Relaxed);
        let are_few = people > 0
            && people < FEW_PEOPLE
            && found >= MANY_RECORDS
            && people.saturating_mul(RECORDS_OF_A_PERSON) < found;
        are_few.then(|| {
            format!(
                "{place}: field {field}: {} are of {}: the field may not be that of a person, but of what many people share, and then \
                 no person is protected. Is it the id of a person?",
                records(found),
                counted_people(people)
            )
        })
    }

    /// The lists of keys that no record of open data has, and the conditions that hold of none.
    fn without_effect(&self) -> Vec<String> {
        if !self.open {
            return Vec::new();
        }
        let unlisted = |FieldCount { of: Use { place, field, kind, .. }, found, within, .. }: &FieldCount| {
            let found = found.load(Ordering::Relaxed);
            let is_listed = matches!(kind, SurveyedKind::Key(Some(_)));
            (is_listed && found > 0 && within.load(Ordering::Relaxed) == 0).then(|| {
                format!(
                    "{place}: field {field}: none of {} has one of the listed keys, so each of them counts nothing. Are they written \
                     as in the records?",
                    records(found)
                )
            })
        };
        let idle = |(SurveyedCondition { place, .. }, held): &(SurveyedCondition, AtomicU64)| {
            let counts = if place == OF_SOURCE { "no record counts" } else { "the release counts no record" };
            (held.load(Ordering::Relaxed) == 0).then(|| {
                format!(
                    "{place}: it holds of no record, so {counts}. Are its texts written as in the records?"
                )
            })
        };
        self.uses().filter_map(unlisted).chain(self.conditions.iter().filter_map(idle)).collect()
    }

    /// The tables of which no counted record has a row; of open data, of which more than a tenth have none.
    fn without_row(&self) -> Vec<String> {
        let warning = |FieldCount { of: Use { place, field, kind, .. }, found, within, .. }: &FieldCount| {
            let (found, within) = (found.load(Ordering::Relaxed), within.load(Ordering::Relaxed));
            let lacking = match (kind, within, self.open) {
                (SurveyedKind::Joined(_), 0, _) if found > 0 => "no record has".to_owned(),
                (SurveyedKind::Joined(_), _, true)
                    if found.saturating_sub(within).saturating_mul(10) > found =>
                {
                    format!("{} of {} lack", grouped(found.saturating_sub(within)), records(found))
                }
                _ => return None,
            };
            Some(format!(
                "{place}: field {field}: {lacking} a row of the table; its columns are missing there, and a record whose key or value \
                 is missing does not count. Are its keys written as in the records?"
            ))
        };
        self.uses().filter_map(warning).collect()
    }

    /// The warning, once all records have been read, that none of them lies where there are windows; of open data, that most do not.
    pub(super) fn outside(&self) -> Option<String> {
        if self.lines() == 0 {
            // A real run does not reveal whether it had any record.
            let none = self.open && !self.part && self.bad() == 0;
            return none.then(|| {
                "the source holds no record; every window is empty. Is it the right one?".to_owned()
            });
        }
        if self.span == (None, None) {
            return None;
        }
        if self.inside.load(Ordering::Relaxed) {
            return self.mostly_outside();
        }
        let times = self.span_of_times();
        // No line could be read, which is said already.
        if self.open && times.is_none() && self.bad() > 0 {
            return None;
        }
        let said = |time: Option<Time>| time.map_or("any time".to_owned(), moment);
        let (from, until) = (said(self.span.0), said(self.span.1));
        let is_far = times.is_some_and(|(first, _)| written(first).is_none());
        let seconds = if is_far { " Are they milliseconds: format = \"unix-ms\"?" } else { "" };
        let seen = self.times().map_or(String::new(), |times| format!(": {times}"));
        Some(format!(
            "job.from, job.until: no record lies between {from} and {until}{seen}; every window is empty. Are the years, the \
             format of the time and its zone right?{seconds}"
        ))
    }
}

impl Survey {
    /// The warning that more than half of the records of open data that have a time lie where there are no windows.
    fn mostly_outside(&self) -> Option<String> {
        let is_time = |counted: &&FieldCount| counted.of.kind == SurveyedKind::Time;
        let FieldCount { readable, within, .. } = self.uses().find(is_time).filter(|_| self.open)?;
        let (readable, within) = (readable.load(Ordering::Relaxed), within.load(Ordering::Relaxed));
        let outside = readable.saturating_sub(within);
        (outside > within).then(|| {
            format!(
                "job.from, job.until: {} of {} that have a time lie outside of all windows. Are these two right, and the format of the \
                 time (the order of day and month, too) and its zone?",
                grouped(outside),
                records(readable)
            )
        })
    }

    /// The counts as one object of JSON.
    pub fn to_json(&self) -> serde_json::Value {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let fields = self.uses().map(|FieldCount { of, found, readable, within }| {
            let ranged = matches!(of.kind, SurveyedKind::Time | SurveyedKind::Number { range: Some(_), .. });
            let joined = matches!(of.kind, SurveyedKind::Joined(_));
            let listed = matches!(of.kind, SurveyedKind::Key(Some(_)));
            serde_json::json!({
                "place": of.place,
                "field": of.field,
                "found": count(found),
                "readable": count(readable),
                "within": ranged.then(|| count(within)),
                "joined": joined.then(|| count(within)),
                "listed": listed.then(|| count(within)),
            })
        });
        let conditions = self.conditions.iter().map(|(SurveyedCondition { place, .. }, held)| {
            serde_json::json!({ "place": place, "held": count(held) })
        });
        serde_json::json!({
            "notice": NOTICE,
            "records": self.lines(),
            "unreadable": self.bad(),
            "people": self.people(),
            "first": self.span_of_times().map(|(first, _)| moment(first)),
            "last": self.span_of_times().map(|(_, last)| moment(last)),
            "without_person": self.without_person_as_json(),
            "fields": fields.collect::<Vec<_>>(),
            "conditions": conditions.collect::<Vec<_>>(),
            "warnings": self.missing().into_iter().chain(self.outside()).collect::<Vec<_>>(),
        })
    }
}

impl Survey {
    /// The first and the last time of the counted records; `None` where no time was read.
    fn span_of_times(&self) -> Option<(Time, Time)> {
        let (first, last) = (self.first.load(Ordering::Relaxed), self.last.load(Ordering::Relaxed));
        (self.open && first <= last).then_some((first, last))
    }

    /// Says the first and the last time, in UTC and in the zone of the source.
    fn times(&self) -> Option<String> {
        let (first, last) = self.span_of_times()?;
        let utc = format!("the first is of {}, the last of {}", moment(first), moment(last));
        let local = self.zone.as_ref().and_then(|zone| {
            let rules = ZoneRules::of(zone).ok()?;
            let (first, last) = (rules.local(first)?, rules.local(last)?);
            Some(format!(" ({first} and {last} in {})", zone.name()))
        });
        Some(utc + &local.unwrap_or_default())
    }

    /// The number of records without a person, where they are no unreadable lines; the use of the field with it.
    fn without_person(&self) -> Option<(u64, Missing)> {
        self.people.as_ref()?;
        let missing = |counted: &FieldCount| match counted.of.kind {
            SurveyedKind::Person(missing @ (Missing::Drop | Missing::Shared)) => {
                let found = counted.found.load(Ordering::Relaxed);
                Some((self.lines().saturating_sub(found), missing))
            }
            _ => None,
        };
        self.uses().find_map(missing).filter(|(count, _)| *count > 0)
    }

    fn show_without_person(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((count, missing)) = self.without_person() else { return Ok(()) };
        let have = if count == 1 { "has" } else { "have" };
        let come = match (missing, count) {
            (Missing::Shared, _) => "all such records are one person's (missing = \"shared\")",
            (_, 1) => "it is left out (missing = \"drop\")",
            _ => "they are left out (missing = \"drop\")",
        };
        writeln!(
            f,
            "{} {have} no person, and {come}; mend the lines, or name another field",
            records(count)
        )?;
        let mut places = self.without_person.lock().unwrap_or_else(PoisonError::into_inner);
        places.sort();
        for (file, line) in places.iter() {
            writeln!(f, "  {file}:{line}")?;
        }
        match count.saturating_sub(places.len() as u64) {
            more if more > 0 && !places.is_empty() => writeln!(f, "  and {} more", grouped(more)),
            _ => Ok(()),
        }
    }

    fn without_person_as_json(&self) -> Option<serde_json::Value> {
        let (count, _) = self.without_person()?;
        let mut places = self.without_person.lock().unwrap_or_else(PoisonError::into_inner);
        places.sort();
        let lines = places.iter().map(|(file, line)| serde_json::json!({ "file": &**file, "line": line }));
        Some(serde_json::json!({ "records": count, "lines": lines.collect::<Vec<_>>() }))
    }
}

/// The notice to every reader of the counts.
const NOTICE: &str = "for the operator of these records to see: nothing here is protected, and what is chosen by it (a range, a \
                      key, a bound) is outside of the promise";

impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines();
        let of = match (self.part, self.most) {
            (true, _) => " of this process's part",
            (false, u64::MAX) => "",
            (false, most) if lines.saturating_add(self.unsplit.load(Ordering::Relaxed)) < most => {
                ", which is all that there are"
            }
            (false, _) => "",
        };
        writeln!(f, "fields in {}{of} ({NOTICE}):", records(lines))?;
        let places = self.uses().map(|counted| &counted.of.place);
        let places = places.chain(self.conditions.iter().map(|(of, _)| &of.place));
        let width = places.map(String::len).max().unwrap_or(0);
        for FieldCount { of: Use { place, field, kind, .. }, found, readable, within } in self.uses() {
            let count = |counter: &AtomicU64| grouped(counter.load(Ordering::Relaxed));
            write!(f, "  {place:width$}  {field}: found {}, readable {}", count(found), count(readable))?;
            match kind {
                SurveyedKind::Time => {
                    writeln!(f, ", between job.from and job.until {}", count(within))?;
                    if let Some(times) = self.times() {
                        writeln!(f, "  {:width$}  {times}", "")?;
                    }
                }
                SurveyedKind::Number { range: Some(_), .. } => {
                    writeln!(f, ", within its range {}", count(within))?
                }
                SurveyedKind::Joined(_) => {
                    let lacking =
                        found.load(Ordering::Relaxed).saturating_sub(within.load(Ordering::Relaxed));
                    writeln!(
                        f,
                        ", with a row of the table {}, without one {}",
                        count(within),
                        grouped(lacking)
                    )?
                }
                SurveyedKind::Person(_) if self.people.is_some() => {
                    let people = self.people().unwrap_or_default();
                    let more = if people > MOST_PEOPLE as u64 { "more than " } else { "" };
                    let people = people.min(MOST_PEOPLE as u64);
                    writeln!(f, ", of {more}{}", counted_people(people))?;
                }
                SurveyedKind::Key(Some(_)) => writeln!(f, ", among the listed keys {}", count(within))?,
                _ => writeln!(f)?,
            }
        }
        // Each is of the records that the one of the source leaves.
        let mut among = lines;
        for (SurveyedCondition { place, .. }, held) in &self.conditions {
            let held = held.load(Ordering::Relaxed).min(lines);
            writeln!(f, "  {place:width$}  holds of {} of {}", grouped(held), records(among))?;
            if place == OF_SOURCE {
                among = held;
            }
        }
        self.show_without_person(f)?;
        let bad = self.bad();
        if bad > 0 {
            let lines = if bad == 1 { "1 line".to_owned() } else { format!("{} lines", grouped(bad)) };
            writeln!(f, "{lines}{} cannot be read", if self.part { of } else { "" })?;
        }
        let mut details = self.details.lock().unwrap_or_else(PoisonError::into_inner);
        details.sort_by(|one, other| one.at.cmp(&other.at));
        for Detail { at: (place, line), fault: LineFault { field, found, wanted } } in details.iter() {
            let field = field.as_ref().map_or(String::new(), |field| format!("{field}: "));
            writeln!(f, "  {place}:{line}: {field}found {found}, where {wanted} is read")?;
        }
        if bad > details.len() as u64 && !details.is_empty() {
            writeln!(f, "  and {} more", grouped(bad - details.len() as u64))?;
        }
        for warning in self.missing().into_iter().chain(self.outside()) {
            writeln!(f, "warning: {warning}")?;
        }
        Ok(())
    }
}

fn records(count: u64) -> String {
    if count == 1 { "1 record".to_owned() } else { format!("{} records", grouped(count)) }
}

fn counted_people(count: u64) -> String {
    if count == 1 { "1 person".to_owned() } else { format!("{} people", grouped(count)) }
}

fn moment(time: Time) -> String {
    written(time).unwrap_or_else(|| match time {
        ..0 => "a time before the year -9999".to_owned(),
        _ => "a time beyond the year 9999".to_owned(),
    })
}

/// A number with a comma between each three digits.
fn grouped(number: u64) -> String {
    crate::picture::grouped(&number.to_string())
}
