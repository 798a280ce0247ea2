//! A survey of the fields that a job reads: for the operator's eyes, outside of the promise, and never in a
//! line.
//!
//! A real run counts its first records and warns of a field that none of them has; it goes on in any case. A
//! demonstration, and a look at a sample, count everything and report it.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

mod names;
mod page;

use names::CollectedNames;

use super::identity::LONGEST;
use super::identity::LONGEST_ID;
use super::lines::LineFault;
use super::number::{steps, trimmed};
use super::wanted::LineCells;
use crate::job::condition::Condition;
use crate::job::config::Missing;
use crate::job::statistics::CellKey;
use crate::job::table::PublicTable;
use crate::time::{Time, Zone};

/// The number of records that a real run counts. A field that one person in a hundred has is in one of them
/// but for a chance of 5 in 100,000.
pub(crate) const WARN_AFTER: u64 = 1_000;

/// The number of unreadable lines that are reported one by one.
const REPORTED_BAD_LINES: usize = 10;

/// The number of those that are reported for the same fault.
const REPORTED_ALIKE: usize = 3;

/// The number of records without a person whose places are shown.
const SHOWN_WITHOUT_PERSON: usize = 5;

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
    /// False where nothing of the job needs the time of a record, so that it is not read.
    reads_time: AtomicBool,
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
    /// True once a record was within the span; with the first and last times of those that are counted, where they may be shown.
    inside: AtomicBool,
    first: AtomicI64,
    last: AtomicI64,
    details: Mutex<Vec<Detail>>,
    /// The zone of the source, in which times are shown beside UTC.
    zone: Option<Zone>,
    /// The hashes of the people, where they are counted.
    people: Option<(RandomState, Mutex<HashSet<u64>>)>,
    /// The places of the first records without a person, where people are counted.
    without_person: Mutex<Vec<RecordPlace>>,
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

/// The file of a record, and the number of its line or row.
pub(super) type RecordPlace = (Arc<str>, u64);

/// An unreadable line.
struct Detail {
    at: RecordPlace,
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
            reads_time: AtomicBool::new(true),
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
            zone: None,
            people: None,
            without_person: Mutex::default(),
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

    /// Shows times in this zone beside UTC.
    pub(crate) fn in_zone(self, zone: &Zone) -> Survey {
        Survey { zone: Some(zone.clone()).filter(|zone| *zone != Zone::utc()), ..self }
    }

    /// Counts the different people, too, and keeps the places of the first records without a person.
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

    /// Leaves the time out, which is not read.
    pub(super) fn leave_out_time(&self) {
        self.reads_time.store(false, Ordering::Relaxed);
    }

    /// The uses of fields that are read.
    fn uses(&self) -> impl Iterator<Item = &FieldCount> {
        let reads_time = self.reads_time.load(Ordering::Relaxed);
        self.uses.iter().filter(move |counted| reads_time || counted.of.kind != SurveyedKind::Time)
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

    /// Records the time of a record of a real run; of open data, that of a record that is counted is recorded with it.
    #[inline]
    pub(super) fn record_time(&self, time: Time) {
        if !self.open && !self.inside.load(Ordering::Relaxed) && self.holds(time) {
            self.inside.store(true, Ordering::Relaxed);
        }
    }

    /// Counts a line that was split into cells, with readable content or not, its time, and its place.
    pub(super) fn line(
        &self,
        line: &[u8],
        cells: &LineCells,
        fields: &[String],
        (time, at): (Option<Time>, impl Fn() -> Option<RecordPlace>),
    ) {
        if let Some(time) = time.filter(|_| self.open) {
            self.first.fetch_min(time, Ordering::Relaxed);
            self.last.fetch_max(time, Ordering::Relaxed);
            if self.holds(time) {
                self.inside.store(true, Ordering::Relaxed);
            }
        }
        for FieldCount { of, found, readable, within } in &self.uses {
            let mut named = fields.iter().enumerate().filter(|(_, field)| **field == of.field);
            // A derived field hides one of the source of its name, but for a person, an id and a time.
            let place = match of.kind {
                SurveyedKind::Person(_) | SurveyedKind::Id | SurveyedKind::Time | SurveyedKind::Source => {
                    named.next()
                }
                _ => named.next_back(),
            };
            let bytes = place.map(|(cell, _)| cells.get(line, cell)).unwrap_or_default();
            // A person or an id is taken as it stands: one of a space is none that is missing.
            let is_missing = match of.kind {
                SurveyedKind::Person(_) | SurveyedKind::Id => bytes.is_empty(),
                _ => trimmed(bytes).is_empty(),
            };
            if is_missing {
                if let SurveyedKind::Person(Missing::Drop | Missing::Shared) = of.kind {
                    self.keep_without_person(&at);
                }
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

    /// Keeps the place of a record without a person, of a line with several once.
    fn keep_without_person(&self, at: impl Fn() -> Option<RecordPlace>) {
        if self.people.is_none() {
            return;
        }
        let mut kept = self.without_person.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < SHOWN_WITHOUT_PERSON {
            let new = at().filter(|at| !kept.contains(at));
            kept.extend(new);
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

impl fmt::Debug for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Survey(<private>)")
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

#[cfg(test)]
mod tests {
    use super::*;

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
            survey.line(line, if number == 998 { &with } else { &without }, &fields, (None, || None));
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

    // Refutes a warning of a log with enough people, one that a real run gives, and a field of three values that passes for people.
    #[test]
    fn very_few_people_for_their_records_are_warned_of() {
        let person = || Use { kind: SurveyedKind::Person(Missing::Drop), ..key("hall") };
        let fields = ["hall".to_owned()];
        for (records, people, is_warned) in [
            (199, 1, false),
            (200, 1, true),
            (200, 2, false),
            (201, 2, true),
            (5_000, 3, true),
            (1_900, 19, false),
            (1_901, 19, true),
            (5_000, 20, false),
        ] {
            let survey = Survey::for_open_data(vec![person()], (None, None), u64::MAX).with_people();
            let run = Survey::for_run(vec![person()], (None, None), None);
            for number in 0..records {
                let line = format!("{:03}", number % people);
                let mut cells = LineCells::new(1);
                cells.put(0, 0, 3);
                survey.line(line.as_bytes(), &cells, &fields, (None, || None));
                run.line(line.as_bytes(), &cells, &fields, (None, || None));
            }
            let page = survey.to_string();
            let is_found = page.contains("the field may not be that of a person");
            assert_eq!(is_found, is_warned, "{records} {people}: {page}");
            assert_eq!(survey.to_json()["warnings"].as_array().unwrap().len(), usize::from(is_warned));
            assert!(run.missing().is_empty());
        }
    }

    // Refutes a format that exchanges day and month and passes for healthy, a warning at the half, and one of a real run.
    #[test]
    fn records_most_of_which_lie_outside_of_all_windows_are_warned_of() {
        let of_time = || Use { kind: SurveyedKind::Time, ..key("time") };
        let fields = ["time".to_owned()];
        for (inside, outside, is_warned) in [(1, 2, true), (2, 2, false), (1_466, 3_534, true), (3, 1, false)]
        {
            let span = (Some(0), Some(10));
            let survey = Survey::for_open_data(vec![of_time()], span, u64::MAX);
            let run = Survey::for_run(vec![of_time()], span, None);
            let mut cells = LineCells::new(1);
            cells.put(0, 0, 1);
            for number in 0..inside + outside {
                let time = if number < inside { 9 } else { 10 };
                survey.line(b"x", &cells, &fields, (Some(time), || None));
                run.record_time(time);
                run.line(b"x", &cells, &fields, (Some(time), || None));
            }
            let page = survey.to_string();
            assert_eq!(page.contains("lie outside of all windows"), is_warned, "{page}");
            assert!(!page.contains("no record lies between") && run.outside().is_none());
        }
    }

    #[test]
    fn a_time_that_is_not_read_is_not_missing() {
        let of_time = || Use { place: "source.time".to_owned(), kind: SurveyedKind::Time, ..key("time") };
        for is_read in [true, false] {
            let survey = Survey::for_open_data(vec![of_time()], (None, None), 5);
            if !is_read {
                survey.leave_out_time();
            }
            survey.line(b"x", &LineCells::new(0), &[], (None, || None));
            let page = survey.to_string();
            assert_eq!(page.contains("source.time: field time: none of 1 record has it"), is_read, "{page}");
            assert_eq!(page.contains("found 0"), is_read, "{page}");
        }
    }
}
