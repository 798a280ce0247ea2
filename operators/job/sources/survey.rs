//! A survey of the fields that a job reads: for the operator's eyes, outside of the promise, and never in a
//! line.
//!
//! A real run counts its first records and warns of a field that none of them has; it goes on in any case. A
//! demonstration, and a look at a sample, count everything and report it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::identity::LONGEST;
use super::identity::LONGEST_ID;
use super::lines::LineFault;
use super::number::{steps, trimmed};
use super::wanted::LineCells;
use crate::job::condition::Condition;
use crate::job::config::Missing;
use crate::job::statistics::CellKey;
use crate::job::table::PublicTable;
use crate::time::Time;

/// The number of records that a real run counts. A field that one person in a hundred has is in one of them
/// but for a chance of 5 in 100,000.
pub(crate) const WARN_AFTER: u64 = 1_000;

/// The number of unreadable lines that are reported one by one.
const REPORTED_BAD_LINES: usize = 10;

/// The number of those that are reported for the same fault.
const REPORTED_ALIKE: usize = 3;

/// The most different people who are counted.
const MOST_PEOPLE: usize = 1_000_000;

/// The place of the condition of the source.
const OF_SOURCE: &str = "source.where";

/// The function by which a run warns its operator.
pub type Warn = Box<dyn Fn(&str) + Send + Sync>;

/// The use that a job makes of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SurveyedKind {
    /// The person of a record, with the treatment of a record without one.
    Person(Missing),
    /// The id of the record.
    Id,
    /// The time of the event.
    Time,
    /// A key, with the list of the release's keys where it has one and they are of this field alone.
    Key(Option<Arc<[CellKey]>>),
    /// A field that a condition compares.
    Compared,
    /// A field that a derived field is made of.
    Source,
    /// The key by which the row of a table is found.
    Joined(Arc<PublicTable>),
    /// A number in steps of 10^-digits, and the steps that are within its range.
    Number { digits: i32, range: Option<(i64, i64)> },
}

/// A field with its place in the job file and its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    /// The place in the job file, such as `release.visits.by`.
    pub(crate) place: String,
    pub(crate) field: String,
    /// True if the job makes it of others.
    pub(crate) is_derived: bool,
    pub(crate) kind: SurveyedKind,
}

/// A condition with its place in the job file.
#[derive(Clone, Debug)]
pub(crate) struct SurveyedCondition {
    pub(crate) place: String,
    pub(crate) condition: Condition,
}

/// The counts of one run, for all of its workers. Prints as a page.
pub struct Survey {
    uses: Vec<FieldCount>,
    /// The conditions, that of the source first, each with the records of which it holds; of a release, of those of which that of
    /// the source holds.
    conditions: Vec<(SurveyedCondition, AtomicU64)>,
    /// The span of time in which windows lie.
    span: (Option<Time>, Option<Time>),
    /// The largest number of records that are counted.
    most: u64,
    /// True where the counts may be shown, beyond warnings.
    open: bool,
    /// True where other processes read the rest of the records.
    part: bool,
    lines: AtomicU64,
    bad: AtomicU64,
    /// The lines among these that were not split, and so are no records.
    unsplit: AtomicU64,
    /// True once a record was within the span; with the first and last times.
    inside: AtomicBool,
    first: AtomicI64,
    last: AtomicI64,
    details: Mutex<Vec<Detail>>,
    /// The hashes of the people, where they are counted.
    people: Option<(RandomState, Mutex<HashSet<u64>>)>,
    /// The fields that the lines have, where they are collected.
    names: Option<CollectedNames>,
    warn: Option<Warn>,
}

struct FieldCount {
    of: Use,
    found: AtomicU64,
    readable: AtomicU64,
    within: AtomicU64,
}

/// An unreadable line.
struct Detail {
    at: (Arc<str>, u64),
    fault: LineFault,
}

impl Survey {
    /// A survey that counts nothing.
    pub(crate) fn none() -> Arc<Survey> {
        Arc::new(Survey::new(Vec::new(), (None, None), 0))
    }

    fn new(uses: Vec<Use>, span: (Option<Time>, Option<Time>), most: u64) -> Survey {
        let counted = |of| FieldCount {
            of,
            found: AtomicU64::new(0),
            readable: AtomicU64::new(0),
            within: AtomicU64::new(0),
        };
        Survey {
            uses: uses.into_iter().map(counted).collect(),
            conditions: Vec::new(),
            span,
            most,
            open: false,
            part: false,
            lines: AtomicU64::new(0),
            bad: AtomicU64::new(0),
            unsplit: AtomicU64::new(0),
            inside: AtomicBool::new(false),
            first: AtomicI64::new(Time::MAX),
            last: AtomicI64::new(Time::MIN),
            details: Mutex::default(),
            people: None,
            names: None,
            warn: None,
        }
    }

    /// The survey of a real run.
    pub(crate) fn for_run(uses: Vec<Use>, span: (Option<Time>, Option<Time>), warn: Option<Warn>) -> Survey {
        Survey { warn, ..Survey::new(uses, span, WARN_AFTER) }
    }

    /// The survey of data that may be shown, or of a sample that its operator looks at: `most` records.
    pub(crate) fn for_open_data(uses: Vec<Use>, span: (Option<Time>, Option<Time>), most: u64) -> Survey {
        Survey { open: true, ..Survey::new(uses, span, most) }
    }

    /// Counts the different people, too.
    pub(crate) fn with_people(self) -> Survey {
        Survey { people: Some(Default::default()), ..self }
    }

    /// Counts the records of which conditions hold, too.
    pub(crate) fn with_conditions(self, conditions: Vec<SurveyedCondition>) -> Survey {
        let conditions = conditions.into_iter().map(|of| (of, AtomicU64::new(0))).collect();
        Survey { conditions, ..self }
    }

    /// Marks the survey as that of one process among several: records that the others read are not counted.
    pub(crate) fn partial(self, part: bool) -> Survey {
        Survey { part, ..self }
    }

    /// Collects the names of all fields of the lines, too, and of the elements of the array that is exploded. An element of
    /// another array has a name where the job names it, or a field of it, among `wanted`.
    pub(crate) fn with_names(self, exploded: Option<String>, wanted: Vec<String>) -> Survey {
        Survey { names: Some(CollectedNames { found: Mutex::default(), exploded, wanted }), ..self }
    }

    /// Returns true while records are still counted.
    #[inline]
    pub(crate) fn counts(&self) -> bool {
        let lines = self.lines.load(Ordering::Relaxed);
        // A sample of lines that cannot be read ends, too.
        let unsplit = self.unsplit.load(Ordering::Relaxed);
        lines < self.most && (!self.open || lines.saturating_add(unsplit) < self.most)
    }

    /// Returns true where unreadable lines are reported with their place.
    pub(super) fn reports_places(&self) -> bool {
        self.open
    }

    pub(super) fn wants_names(&self) -> bool {
        self.names.is_some()
    }

    /// The number of records counted.
    pub fn lines(&self) -> u64 {
        self.lines.load(Ordering::Acquire).min(self.most)
    }

    /// The number of lines that could not be read.
    pub fn bad(&self) -> u64 {
        self.bad.load(Ordering::Relaxed)
    }

    /// Returns true if a record lies where there are windows, and where the job states no end.
    pub(super) fn holds(&self, time: Time) -> bool {
        let (from, until) = self.span;
        from.is_none_or(|from| from <= time) && until.is_none_or(|until| time < until)
    }

    /// Returns true if a record lies before the first window; false where the job does not state when that begins.
    #[inline]
    pub(super) fn is_before(&self, time: Time) -> bool {
        self.span.0.is_some_and(|from| time < from)
    }

    /// Returns true if the job states when the first window begins.
    pub(super) fn has_start(&self) -> bool {
        self.span.0.is_some()
    }

    /// Returns true if the first window begins before a time; false where the job does not state when.
    pub(super) fn begins_by(&self, time: Time) -> bool {
        self.span.0.is_some_and(|from| from <= time)
    }

    /// Records the time of a record.
    #[inline]
    pub(super) fn record_time(&self, time: Time) {
        if self.open {
            self.first.fetch_min(time, Ordering::Relaxed);
            self.last.fetch_max(time, Ordering::Relaxed);
        }
        if !self.inside.load(Ordering::Relaxed) && self.holds(time) {
            self.inside.store(true, Ordering::Relaxed);
        }
    }

    /// Counts a line that was split into cells, with readable content or not.
    pub(super) fn line(&self, line: &[u8], cells: &LineCells, fields: &[String], time: Option<Time>) {
        for FieldCount { of, found, readable, within } in &self.uses {
            let mut named = fields.iter().enumerate().filter(|(_, field)| **field == of.field);
            // A derived field hides one of the source of its name, but for a person, an id and a time.
            let place = match of.kind {
                SurveyedKind::Person(_) | SurveyedKind::Id | SurveyedKind::Time | SurveyedKind::Source => {
                    named.next()
                }
                _ => named.next_back(),
            };
            let Some((cell, _)) = place else { continue };
            let bytes = cells.get(line, cell);
            if trimmed(bytes).is_empty() {
                continue;
            }
            found.fetch_add(1, Ordering::Relaxed);
            if let (SurveyedKind::Person(_), Some((state, people))) = (&of.kind, &self.people) {
                let mut people = people.lock().unwrap_or_else(PoisonError::into_inner);
                if people.len() <= MOST_PEOPLE {
                    people.insert(state.hash_one(bytes));
                }
            }
            let (reads, holds) = match &of.kind {
                SurveyedKind::Person(_) | SurveyedKind::Id => (bytes.len() <= LONGEST_ID, true),
                SurveyedKind::Time => (time.is_some(), time.is_some_and(|time| self.holds(time))),
                SurveyedKind::Key(None) => (bytes.len() <= LONGEST, true),
                SurveyedKind::Key(Some(keys)) => (bytes.len() <= LONGEST, has_key(keys, bytes)),
                SurveyedKind::Compared | SurveyedKind::Source => (true, true),
                SurveyedKind::Joined(table) => (true, table.has_row(bytes)),
                SurveyedKind::Number { digits, range } => match steps(bytes, *digits) {
                    Some(steps) => (true, range.is_none_or(|(low, high)| (low..=high).contains(&steps))),
                    None => (false, false),
                },
            };
            readable.fetch_add(reads.into(), Ordering::Relaxed);
            within.fetch_add((reads && holds).into(), Ordering::Relaxed);
        }
        self.count_conditions(line, cells, fields, time);
        // Last, so that the worker that counts the last record sees the counts of all others.
        if self.lines.fetch_add(1, Ordering::AcqRel) + 1 == self.most {
            self.warn_of_fields();
        }
    }

    fn count_conditions(&self, line: &[u8], cells: &LineCells, fields: &[String], time: Option<Time>) {
        for (SurveyedCondition { place, condition }, held) in &self.conditions {
            let cell = |at: usize| {
                let name = condition.fields().nth(at)?;
                cells.found(line, fields.iter().rposition(|field| field == name)?)
            };
            if condition.holds(time, cell) {
                held.fetch_add(1, Ordering::Relaxed);
            } else if place == OF_SOURCE {
                return;
            }
        }
    }

    /// Counts a line that cannot be split, with its place and its fault.
    pub(super) fn unsplit(&self, at: Option<(Arc<str>, u64)>, fault: impl FnOnce() -> LineFault) {
        if self.open && self.counts() {
            self.unsplit.fetch_add(1, Ordering::Relaxed);
            self.bad_line(at, fault);
        }
    }

    /// Counts a line that was split, and of which no record can be made, with its place and its fault. `counted` is true where it
    /// was counted among the records.
    pub(super) fn unreadable(
        &self,
        at: Option<(Arc<str>, u64)>,
        counted: bool,
        fault: impl FnOnce() -> LineFault,
    ) {
        if self.open && counted {
            self.bad_line(at, fault);
        }
    }

    fn bad_line(&self, at: Option<(Arc<str>, u64)>, fault: impl FnOnce() -> LineFault) {
        self.bad.fetch_add(1, Ordering::Relaxed);
        let Some(at) = at else { return };
        let mut details = self.details.lock().unwrap_or_else(PoisonError::into_inner);
        if details.len() < REPORTED_BAD_LINES {
            let fault = fault();
            if details.iter().filter(|detail| detail.fault == fault).count() < REPORTED_ALIKE {
                details.push(Detail { at, fault });
            }
        }
    }

    /// Collects the names in a line of JSON.
    pub(super) fn name_fields(&self, line: &[u8]) {
        let Some(names) = &self.names else { return };
        let Ok(serde_json::Value::Object(object)) = serde_json::from_slice(line) else { return };
        let mut found = names.found.lock().unwrap_or_else(PoisonError::into_inner);
        names.add(&object, "", &mut found);
    }

    /// The names of the fields, where they were collected: those of the job, and others that are not rare. A key that an
    /// object has in few records may be data, such as the name of a person.
    pub fn names(&self) -> Vec<String> {
        self.names_by(|wanted, is_rare| wanted || !is_rare)
    }

    /// The number of names that are left out.
    pub fn rare_names(&self) -> usize {
        self.names_by(|wanted, is_rare| !wanted && is_rare).len()
    }

    fn names_by(&self, takes: impl Fn(bool, bool) -> bool) -> Vec<String> {
        let Some(names) = &self.names else { return Vec::new() };
        let found = names.found.lock().unwrap_or_else(PoisonError::into_inner);
        let is_taken = |(name, count): &(&String, &u64)| {
            takes(names.wanted.contains(name), **count * RARE < self.lines())
        };
        found.iter().filter(is_taken).map(|(name, _)| name.clone()).collect()
    }

    /// The number of different people, where they are counted; one more than are counted, where there are more.
    fn people(&self) -> Option<u64> {
        let (_, people) = self.people.as_ref()?;
        Some(people.lock().unwrap_or_else(PoisonError::into_inner).len() as u64)
    }

    /// Warns the operator of the run.
    pub(super) fn warn(&self, warning: &str) {
        if let Some(warn) = &self.warn {
            warn(warning);
        }
    }

    fn warn_of_fields(&self) {
        self.missing().iter().for_each(|warning| self.warn(warning));
    }

    /// The fields that no counted record has.
    fn missing(&self) -> Vec<String> {
        let lines = self.lines();
        let of_them = match lines {
            0 => return Vec::new(),
            WARN_AFTER if !self.open => "none of the first 1,000 records has it".to_owned(),
            lines => format!("none of {} has it", records(lines)),
        };
        let missing = self.uses.iter().filter(|counted| counted.found.load(Ordering::Relaxed) == 0);
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
        missing.map(warning).chain(self.without_row()).chain(self.without_effect()).collect()
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
        self.uses.iter().filter_map(unlisted).chain(self.conditions.iter().filter_map(idle)).collect()
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
        self.uses.iter().filter_map(warning).collect()
    }

    /// The warning, once all records have been read, that none of them lies where there are windows.
    fn outside(&self) -> Option<String> {
        if self.lines() == 0 {
            // A real run does not reveal whether it had any record.
            let none = self.open && !self.part && self.bad() == 0;
            return none.then(|| {
                "the source holds no record; every window is empty. Is it the right one?".to_owned()
            });
        }
        if self.inside.load(Ordering::Relaxed) || self.span == (None, None) {
            return None;
        }
        let (first, last) = (self.first.load(Ordering::Relaxed), self.last.load(Ordering::Relaxed));
        // No line could be read, which is said already.
        if self.open && first > last && self.bad() > 0 {
            return None;
        }
        let said = |time: Option<Time>| time.map_or("any time".to_owned(), moment);
        let (from, until) = (said(self.span.0), said(self.span.1));
        let is_far = self.open && first <= last && jiff::Timestamp::from_microsecond(first).is_err();
        let seconds = if is_far { " Are they milliseconds: format = \"unix-ms\"?" } else { "" };
        let seen = match self.open && first <= last {
            true => format!(": the first is of {}, the last of {}", moment(first), moment(last)),
            false => String::new(),
        };
        Some(format!(
            "job.from, job.until: no record lies between {from} and {until}{seen}; every window is empty. Are the years, the \
             format of the time and its zone right?{seconds}"
        ))
    }

    /// Ends a run: a real one gives the warnings that it has not given yet. `now` is the time of a live one, in which no
    /// record lies where windows are before they begin.
    pub(crate) fn end(&self, now: Option<Time>) {
        if self.open {
            return;
        }
        if self.lines() < self.most {
            self.warn_of_fields();
        }
        let has_begun = now.zip(self.span.0).is_none_or(|(now, from)| from <= now);
        if let Some(warning) = self.outside().filter(|_| has_begun) {
            self.warn(&warning);
        }
    }
}

impl Survey {
    /// The counts as one object of JSON.
    pub fn to_json(&self) -> serde_json::Value {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let fields = self.uses.iter().map(|FieldCount { of, found, readable, within }| {
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
            "fields": fields.collect::<Vec<_>>(),
            "conditions": conditions.collect::<Vec<_>>(),
            "warnings": self.missing().into_iter().chain(self.outside()).collect::<Vec<_>>(),
        })
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
        let places = self.uses.iter().map(|counted| &counted.of.place);
        let places = places.chain(self.conditions.iter().map(|(of, _)| &of.place));
        let width = places.map(String::len).max().unwrap_or(0);
        for FieldCount { of: Use { place, field, kind, .. }, found, readable, within } in &self.uses {
            let count = |counter: &AtomicU64| grouped(counter.load(Ordering::Relaxed));
            write!(f, "  {place:width$}  {field}: found {}, readable {}", count(found), count(readable))?;
            match kind {
                SurveyedKind::Time => writeln!(f, ", between job.from and job.until {}", count(within))?,
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
                    writeln!(
                        f,
                        ", of {more}{}",
                        if people == 1 {
                            "1 person".to_owned()
                        } else {
                            format!("{} people", grouped(people))
                        }
                    )?;
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

impl fmt::Debug for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Survey(<private>)")
    }
}

/// A name is rare that fewer than one record in this number has.
const RARE: u64 = 200;

/// The names of the fields of lines of JSON.
struct CollectedNames {
    /// The names, each with the number of values under it.
    found: Mutex<BTreeMap<String, u64>>,
    /// The array of which each element is a record.
    exploded: Option<String>,
    /// The names that the job has.
    wanted: Vec<String>,
}

impl CollectedNames {
    /// Adds the paths of all plain values of an object.
    fn add(
        &self,
        object: &serde_json::Map<String, serde_json::Value>,
        before: &str,
        found: &mut BTreeMap<String, u64>,
    ) {
        for (name, value) in object {
            self.add_value(format!("{before}{name}"), value, found);
        }
    }

    fn add_value(&self, path: String, value: &serde_json::Value, found: &mut BTreeMap<String, u64>) {
        match value {
            serde_json::Value::Object(inner) => self.add(inner, &format!("{path}."), found),
            serde_json::Value::Array(elements) if self.exploded.as_ref() == Some(&path) => {
                for element in elements {
                    match element {
                        // An element that is an array has elements of its own.
                        serde_json::Value::Array(inner) => self.add_elements(&path, inner, found),
                        element => self.add_value(path.clone(), element, found),
                    }
                }
            }
            serde_json::Value::Array(elements) => self.add_elements(&path, elements, found),
            _ => *found.entry(path).or_default() += 1,
        }
    }

    /// Adds the elements of an array that the job names: all of them would be as many names as the longest array has elements.
    fn add_elements(&self, array: &str, elements: &[serde_json::Value], found: &mut BTreeMap<String, u64>) {
        let rests = self.wanted.iter().filter_map(|name| name.strip_prefix(array)?.strip_prefix('.'));
        let indices = rests.filter_map(|rest| {
            let word = rest.split('.').next()?;
            word.parse().ok().filter(|index: &usize| index.to_string() == word)
        });
        for index in indices.collect::<BTreeSet<usize>>() {
            if let Some(element) = elements.get(index) {
                self.add_value(format!("{array}.{index}"), element, found);
            }
        }
    }
}

/// Returns true if a list of keys, which ascend, has one of this text.
fn has_key(keys: &[CellKey], bytes: &[u8]) -> bool {
    let text = |key: &CellKey| match key {
        CellKey::Text(text) => text.text().into_owned(),
        _ => String::new(),
    };
    keys.binary_search_by(|key| text(key).as_bytes().cmp(bytes)).is_ok()
}

fn records(count: u64) -> String {
    if count == 1 { "1 record".to_owned() } else { format!("{} records", grouped(count)) }
}

/// A number with a comma between each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut said = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            said.push(',');
        }
        said.push(digit);
    }
    said
}

fn moment(time: Time) -> String {
    jiff::Timestamp::from_microsecond(time)
        .map_or("a time beyond the year 9999".to_owned(), |moment| moment.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three_digits() {
        for (number, said) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), said);
        }
    }

    fn key(field: &str) -> Use {
        let (place, kind) = (format!("release.visits.{field}"), SurveyedKind::Key(None));
        Use { place, field: field.to_owned(), is_derived: false, kind }
    }

    // Refutes a warning that comes late, twice, or for a field that one record of the first thousand had; and
    // one that comes while there are records inside of the span.
    #[test]
    fn a_run_warns_once_and_at_once_of_a_field_that_no_record_has() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        let warn: Warn = Box::new(move |warning| heard.lock().unwrap().push(warning.to_owned()));
        let fields = ["page".to_owned(), "shop".to_owned()];
        let survey = Survey::for_run(vec![key("page"), key("shop")], (Some(0), Some(10)), Some(warn));
        let line = b"x";
        let mut with = LineCells::new(2);
        with.put(0, 0, 1);
        let without = LineCells::new(2);
        for number in 0..WARN_AFTER {
            assert!(survey.counts() && said.lock().unwrap().is_empty());
            survey.record_time(10);
            survey.line(line, if number == 998 { &with } else { &without }, &fields, None);
        }
        assert!(!survey.counts());
        assert_eq!(said.lock().unwrap().len(), 1);
        assert!(
            said.lock().unwrap()[0].starts_with("release.visits.shop: field shop: none of the first 1,000")
        );
        assert_eq!([-1, 0].map(|time| survey.is_before(time)), [true, false]);
        survey.end(Some(-1));
        assert_eq!(said.lock().unwrap().len(), 1, "a live run that ends before its first window begins");
        survey.end(Some(0));
        assert_eq!(said.lock().unwrap().len(), 2);
        assert!(
            said.lock().unwrap()[1].starts_with("job.from, job.until: no record lies between 1970-01-01")
        );
        assert!(
            !said.lock().unwrap()[1].contains("the first is of"),
            "the times of a real run are not printed"
        );
        survey.record_time(9);
        survey.end(None);
        assert_eq!(said.lock().unwrap().len(), 2);
    }

    #[test]
    fn paths_lead_to_plain_values() {
        let line =
            br#"{"a":1,"b":{"c":null,"d":{"e":"x"},"f":[{"g":1},[2,3]]},"b.c":2,"h":[[4,5],{"i":6,"j":7}]}"#;
        let elements = ["b.f.0.g", "b.f.1", "h.0.1", "h.1.i", "h.01.i", "h.2", "h.1x", "h", "b.d.0"];
        for (exploded, wanted, expected) in [
            (None, &[][..], &["a", "b.c", "b.d.e"][..]),
            (Some("b.f"), &[], &["a", "b.c", "b.d.e", "b.f.g"]),
            (Some("b.f"), &["b.f.1"], &["a", "b.c", "b.d.e", "b.f.1", "b.f.g"]),
            (Some("b"), &[], &["a", "b.c", "b.d.e"]),
            // What stands beside a field that the job names has its name too.
            (None, &elements, &["a", "b.c", "b.d.e", "b.f.0.g", "h.0.1", "h.1.i", "h.1.j"]),
        ] {
            let survey = Survey::for_open_data(Vec::new(), (None, None), 5);
            let wanted = wanted.iter().map(|name| (*name).to_owned()).collect();
            let survey = survey.with_names(exploded.map(str::to_owned), wanted);
            survey.name_fields(line);
            survey.name_fields(b"no JSON");
            assert_eq!(survey.names(), expected, "{exploded:?}");
        }
    }
}
