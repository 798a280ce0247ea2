//! The conversion of a line's cells into its record.

use std::convert::Infallible;
use std::sync::Arc;

use memchr::memchr;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::dealer::RecordCounts;
use super::identity::PersonIdentity;
use super::identity::Texts;
use super::number::{steps, trimmed};
use super::part::PartContext;
use super::synthetic::{BLOCK, SyntheticLog};
use super::times::Times;
use super::wanted::{CellLayout, KeyCells, LineCells};
use crate::dataflow::{BATCH, Clock, Milestone, Pulled, SourceError};
use crate::gate::Positions;
use crate::invalid::Invalid;
use crate::job::config::{Missing, SourceSpec};
use crate::job::dictionary::EMPTY_CODE;
use crate::job::statistics::BETWEEN_PARTS;
use crate::job::text::Text;
use crate::time::{Time, Zone, ZoneRules};

/// The error for a line with a cell of which no record can be made.
#[derive(Debug)]
pub(super) struct BadCell(pub(super) usize);

/// Makes the records of one part.
#[derive(Clone)]
pub(super) struct Maker {
    plan: CellLayout,
    times: Option<Times>,
    /// The words of the job file for the format of the times.
    format: String,
    /// The zone of local times.
    local: Option<Zone>,
    /// The rules of the zone of the source.
    rules: ZoneRules,
    texts: Texts,
    /// The text of a derived field, as it is made.
    made: Vec<u8>,
}

impl Maker {
    pub(super) fn new(plan: CellLayout, source: &SourceSpec) -> Result<Maker, SourceError> {
        let times = source.time.as_ref().map(|time| Times::new(&time.format, &source.zone)).transpose();
        let refused = |invalid: Invalid| SourceError::refused("[source] time").because(invalid.to_string());
        let (times, rules) = (times.map_err(refused)?, ZoneRules::of(&source.zone).map_err(refused)?);
        let local = source.local_zone().cloned();
        let format = source.time.as_ref().map(|time| time.format.to_string()).unwrap_or_default();
        Ok(Maker { plan, times, format, local, rules, texts: Texts::new(), made: Vec::new() })
    }

    /// The names of all cells.
    pub(super) fn names(&self) -> &[String] {
        &self.plan.names
    }

    /// The words of the job file for the format of the times.
    pub(super) fn time_format(&self) -> &str {
        &self.format
    }

    /// Returns true if the cell identifies a person or a record.
    pub(super) fn is_id(&self, cell: usize) -> bool {
        self.plan.person.is_some_and(|(person, _)| person == cell) || self.plan.id == Some(cell)
    }

    /// Returns the zone in whose local time, without an offset, the times are read.
    pub(super) fn local_zone(&self) -> Option<Zone> {
        self.local.clone()
    }

    /// The time of the event in a line.
    #[inline]
    pub(super) fn time(&mut self, line: &[u8], cells: &LineCells) -> Result<Option<Time>, BadCell> {
        match (self.plan.time, &mut self.times) {
            (Some(cell), Some(times)) => times.read(cells.get(line, cell)).map(Some).ok_or(BadCell(cell)),
            _ => Ok(None),
        }
    }

    /// Returns true for a time that may mean an hour later, when the clocks of its zone are set back: nobody knows if it is late.
    pub(super) fn is_repeated(&self, time: Time) -> bool {
        self.local.is_some() && self.times.as_ref().is_some_and(|times| times.is_repeated(time))
    }

    /// Writes the derived fields of a line into their cells.
    #[inline]
    pub(super) fn derive(&mut self, line: &[u8], cells: &mut LineCells, time: Option<Time>) {
        for (at, (expression, places)) in self.plan.derived.iter().enumerate() {
            self.made.clear();
            let cell = |field: usize| cells.found(line, *places.get(field)?);
            let (cell, has_value) =
                (self.plan.fields.len() + at, expression.write(time, &self.rules, cell, &mut self.made));
            match has_value {
                true => cells.write(cell, |beside| beside.extend_from_slice(&self.made)),
                // The element before may have had one.
                false => cells.forget(cell),
            }
        }
    }

    /// Appends the record of a line, unless it is bad or left out.
    #[inline]
    pub(super) fn record<P: PersonIdentity, I: PersonIdentity>(
        &mut self,
        line: &[u8],
        cells: &LineCells,
        time: Option<Time>,
        batch: &mut Vec<SourceRecord<P, I>>,
    ) -> Result<(), BadCell> {
        let CellLayout { person, id, condition, keys, values, secret, timed, .. } = &self.plan;
        if condition.as_ref().is_some_and(|condition| !condition.holds(time, line, cells)) {
            return Ok(());
        }
        let person = match *person {
            None => P::shared(),
            Some((cell, missing)) => match (cells.id(line, cell).ok_or(BadCell(cell))?, missing) {
                (&[], Missing::Drop) => return Ok(()),
                (&[], Missing::Reject) => return Err(BadCell(cell)),
                (&[], Missing::Shared) => P::shared(),
                (bytes, _) => P::of(bytes, secret),
            },
        };
        let id = match *id {
            None => I::shared(),
            Some(cell) => match cells.id(line, cell).ok_or(BadCell(cell))? {
                [] => return Err(BadCell(cell)),
                bytes => match cells.element() {
                    None => I::of(bytes, secret),
                    Some(index) => I::of(indexed(bytes, index, &mut self.made), secret),
                },
            },
        };
        let (texts, made) = (&mut self.texts, &mut self.made);
        // A key that is too long counts as empty.
        let keys = keys.iter().map(|KeyCells { cells: places, condition }| {
            if condition.as_ref().is_some_and(|condition| !condition.holds(time, line, cells)) {
                return Text::default();
            }
            let text = match &places[..] {
                [] => Some(WHOLE),
                [cell] => Some(cells.get(line, *cell)),
                places => joined(line, cells, places, made),
            };
            text.and_then(|text| texts.of(text)).unwrap_or_default()
        });
        let values = values.iter().map(|value| number(line, cells, *value));
        let fields = RecordFields::new(keys, values)?;
        let time = time.filter(|_| *timed).unwrap_or(0);
        batch.push(SourceRecord { time, person, id, fields });
        Ok(())
    }
}

/// Returns the texts of several cells as one, or `None` if one of them is empty or holds the character between two.
fn joined<'m>(line: &[u8], cells: &LineCells, places: &[usize], made: &'m mut Vec<u8>) -> Option<&'m [u8]> {
    made.clear();
    for cell in places {
        let part = cells.get(line, *cell);
        if part.is_empty() || memchr(BETWEEN_PARTS as u8, part).is_some() {
            return None;
        }
        if !made.is_empty() {
            made.push(BETWEEN_PARTS as u8);
        }
        made.extend_from_slice(part);
    }
    Some(made)
}

/// Returns the id of an element: that of its line, with its index in a fixed number of bytes.
fn indexed<'m>(id: &[u8], index: u32, made: &'m mut Vec<u8>) -> &'m [u8] {
    made.clear();
    made.extend_from_slice(id);
    made.extend_from_slice(&index.to_le_bytes());
    made
}

/// Returns the value in a cell, in steps of 10^-digits.
#[inline]
fn number(line: &[u8], cells: &LineCells, (cell, digits): (usize, i32)) -> Result<i64, BadCell> {
    let bytes = cells.get(line, cell);
    match steps(bytes, digits) {
        // One step from the end of the range does not matter, and `MISSING` is reserved for no value.
        Some(steps) => Ok(steps.max(MISSING + 1)),
        None if trimmed(bytes).is_empty() => Ok(MISSING),
        None => Err(BadCell(cell)),
    }
}

// One worker's part of a synthetic log: its rows become records here.

/// The synthetic records of one worker.
pub(super) struct Made {
    handle: PartContext,
    made: Arc<SyntheticLog>,
    cells: LineCells,
    /// For each of the four fields, its cell if it is wanted.
    fields: Vec<Option<usize>>,
    /// The clock of a live source, by which records are given when they happen.
    clock: Option<Arc<dyn Clock>>,
    workers: u64,
    next: u64,
    worker: u64,
    last: Option<Time>,
    marked: Option<Time>,
    /// The time of the last row, and the time up to which all are given, since the last milestone.
    reached: Option<(Time, Time)>,
}

/// The name of the only partition of a synthetic log. Its position is the time up to which rows were given.
const ROWS: &str = "rows";

impl Made {
    pub(super) fn new(
        handle: PartContext,
        made: Arc<SyntheticLog>,
        clock: Option<Arc<dyn Clock>>,
        worker: u64,
        workers: u64,
    ) -> Made {
        let (cells, fields) =
            (LineCells::new(handle.plan.names.len()), SyntheticLog::cells(&handle.plan.fields));
        let (next, last, marked, reached) = (worker * BLOCK, None, None, None);
        Made { handle, made, cells, fields, clock, workers, next, worker, last, marked, reached }
    }

    /// Returns true if rows are given when they happen.
    pub(super) fn is_live(&self) -> bool {
        self.clock.is_some()
    }

    /// Begins with the first own row after the time up to which every part of a former run gave all rows.
    pub(super) fn resume(&mut self, former: &[Positions]) {
        let read = |bytes: &[u8]| Some(Time::from_le_bytes(bytes.try_into().ok()?));
        let times = former.iter().map(|part| part.get(ROWS).and_then(|bytes| read(bytes)));
        let Some(given) = times.collect::<Option<Vec<Time>>>().and_then(|times| times.into_iter().min())
        else {
            return;
        };
        let first = self.made.first_after(given);
        let (block, workers) = (first / BLOCK, self.workers.max(1));
        let passed = (block + workers - 1).saturating_sub(self.worker) / workers;
        let own = self.worker + passed * workers;
        self.next = if own == block { first } else { own * BLOCK };
    }

    pub(super) fn milestone(&mut self) -> Option<Milestone> {
        let (last, given) = self.reached.take()?;
        let changed = vec![(ROWS.to_owned(), Some(given.to_le_bytes().to_vec()))];
        Some(Milestone { latest: last, changed, parts: self.workers as usize })
    }

    pub(super) fn pull<P: PersonIdentity, I: PersonIdentity>(
        &mut self,
        batch: &mut Vec<SourceRecord<P, I>>,
    ) -> Result<Pulled, SourceError> {
        self.handle.fault.check()?;
        if self.handle.brake.is_pulled() {
            return Ok(Pulled::Idle);
        }
        let now = self.clock.as_ref().map(|clock| clock.now());
        let enough = batch.len() + BATCH;
        while self.next < self.made.rows() && batch.len() < enough {
            let row = self.made.row(self.next);
            if now.is_some_and(|now| row.time > now) {
                return Ok(self.mark(now));
            }
            self.cells.clear();
            row.write(&self.fields, &mut self.cells);
            self.handle.maker.derive(&[], &mut self.cells, Some(row.time));
            if self.handle.survey.counts() {
                let (survey, names) = (&self.handle.survey, &self.handle.plan.names);
                survey.line(&[], &self.cells, names, (Some(row.time), || None));
            }
            self.handle.survey.record_time(row.time);
            if self.handle.maker.record(&[], &self.cells, Some(row.time), batch).is_err() {
                self.handle.fault.bad(1, None);
                self.handle.fault.check()?;
            }
            self.last = Some(row.time);
            self.next += 1;
            self.handle.progress.add(1);
            self.handle.progress.count(RecordCounts { records: 1, ..RecordCounts::default() });
            if self.next.is_multiple_of(BLOCK) {
                self.next += BLOCK * (self.workers.max(1) - 1);
            }
        }
        match (self.last, now) {
            _ if self.next >= self.made.rows() => {
                self.handle.progress.end();
                Ok(Pulled::End)
            }
            (Some(time), None) if self.handle.plan.sorted && self.handle.plan.timed => {
                Ok(Pulled::Complete(time))
            }
            _ => Ok(Pulled::More),
        }
    }

    /// Marks everything that has happened by now as given.
    fn mark(&mut self, now: Option<Time>) -> Pulled {
        match now {
            Some(now) if self.marked.is_none_or(|marked| marked < now) => {
                self.marked = Some(now);
                self.reached = Some((self.last.unwrap_or(Time::MIN), now));
                Pulled::Complete(now)
            }
            _ => Pulled::Idle,
        }
    }
}

// The record of a line.

/// The key of a record that counts for a release without keys.
const WHOLE: &[u8] = b"*";

/// The value of a record without one.
pub(crate) const MISSING: i64 = i64::MIN;

/// The record of a line: what all releases of a job read of it. Prints as `<private>`.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(PartialEq, Eq, PartialOrd, Ord))]
pub(crate) struct SourceRecord<P, I> {
    /// The time of the event; 0 where no release uses it.
    pub(crate) time: Time,
    /// The person; `()` where no release uses it.
    pub(crate) person: P,
    /// The record's own id, which distinguishes it from its duplicates; `()` where no release uses one.
    pub(crate) id: I,
    fields: RecordFields,
}

/// The number of keys that a record has in place.
const KEYS: usize = 4;
/// The number of values that a record has in place.
const VALUES: usize = 2;

/// The keys and values of a record. Most jobs have few, and few different keys: then a record is 72 bytes and holds
/// nothing beside them.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(PartialEq, Eq, PartialOrd, Ord))]
#[serde(from = "FieldsOnTheWire", into = "FieldsOnTheWire")]
pub(super) struct RecordFields {
    /// The codes of the first keys; [`BESIDE`] where the further fields have them.
    keys: [u32; KEYS],
    /// The first values, in their steps.
    values: [i64; VALUES],
    more: Option<Arc<FurtherFields>>,
}

/// The code of keys that a record does not have in place.
const BESIDE: u32 = u32::MAX;

/// The fields of a record beside those that it has in place.
#[derive(Clone, Default)]
#[cfg_attr(test, derive(PartialEq, Eq, PartialOrd, Ord))]
struct FurtherFields {
    /// All keys, or none if all of them are in place.
    keys: SmallVec<[Text; 2]>,
    /// The values behind the first ones.
    values: SmallVec<[i64; 2]>,
}

/// The fields of a record as they travel between processes, where codes differ.
#[derive(Serialize, Deserialize)]
struct FieldsOnTheWire {
    keys: SmallVec<[Text; KEYS]>,
    values: SmallVec<[i64; VALUES]>,
}

impl RecordFields {
    #[inline]
    fn new<E>(
        keys: impl ExactSizeIterator<Item = Text>,
        values: impl Iterator<Item = Result<i64, E>>,
    ) -> Result<RecordFields, E> {
        let mut fields = RecordFields { keys: [EMPTY_CODE; KEYS], values: [0; VALUES], more: None };
        let mut beside = FurtherFields::default();
        let are_many = keys.len() > KEYS;
        for (at, key) in keys.enumerate() {
            match (fields.keys.get_mut(at), key.code()) {
                (Some(place), Some(code)) if !are_many && beside.keys.is_empty() => *place = code,
                _ => {
                    if beside.keys.is_empty() {
                        beside.keys.extend(fields.keys.iter().take(at).map(|code| Text::of_code(*code)));
                        fields.keys = [BESIDE; KEYS];
                    }
                    beside.keys.push(key);
                }
            }
        }
        for (at, value) in values.enumerate() {
            match fields.values.get_mut(at) {
                Some(place) => *place = value?,
                None => beside.values.push(value?),
            }
        }
        if !(beside.keys.is_empty() && beside.values.is_empty()) {
            fields.more = Some(Arc::new(beside));
        }
        Ok(fields)
    }

    #[inline]
    fn key(&self, at: usize) -> Option<Text> {
        match self.keys.get(at) {
            Some(code) if *code != BESIDE => Some(Text::of_code(*code)),
            _ => self.more.as_ref()?.keys.get(at).cloned(),
        }
    }

    #[inline]
    fn value(&self, at: usize) -> i64 {
        match (self.values.get(at), &self.more) {
            (Some(value), _) => *value,
            (None, Some(more)) => more.values.get(at - VALUES).copied().unwrap_or(MISSING),
            (None, None) => MISSING,
        }
    }
}

impl From<RecordFields> for FieldsOnTheWire {
    fn from(fields: RecordFields) -> FieldsOnTheWire {
        let further = fields.more.iter().flat_map(|more| more.values.iter().copied());
        FieldsOnTheWire {
            keys: (0..).map_while(|at| fields.key(at)).collect(),
            values: fields.values.into_iter().chain(further).collect(),
        }
    }
}

impl From<FieldsOnTheWire> for RecordFields {
    fn from(fields: FieldsOnTheWire) -> RecordFields {
        let Ok(fields) =
            RecordFields::new(fields.keys.into_iter(), fields.values.into_iter().map(Ok::<_, Infallible>));
        fields
    }
}

redacted!([P, I] SourceRecord<P, I>);
redacted!(RecordFields);

#[cfg(test)]
impl<P, I> SourceRecord<P, I> {
    /// The record of these fields.
    pub(super) fn made_of(time: Time, person: P, id: I, keys: &[&str], values: &[i64]) -> Self {
        let keys = keys.iter().map(|key| Text::new(key));
        let Ok(fields) = RecordFields::new(keys, values.iter().copied().map(Ok::<_, Infallible>));
        SourceRecord { time, person, id, fields }
    }
}

impl<P, I> SourceRecord<P, I> {
    /// The key in the field with this index among those that hold keys.
    #[inline]
    pub(crate) fn key(&self, at: usize) -> Option<Text> {
        self.fields.key(at)
    }

    /// The value in the field with this index among those that hold values; [`MISSING`] where it has none.
    #[inline]
    pub(crate) fn value(&self, at: usize) -> i64 {
        self.fields.value(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a field that is lost or moved: by number of keys and values, and where the dictionary has no room.
    #[test]
    fn a_record_has_its_fields_in_place_and_beside_and_after_travelling() {
        let texts: Vec<String> = (0..40).map(|number| format!("key {number}")).collect();
        assert_eq!(size_of::<SourceRecord<(), ()>>(), 48);
        let full = (0..).find(|number| Text::new(&format!("another key {number}")).code().is_none());
        assert!(full.is_some());
        let (mut in_place, mut beside) = (0, 0);
        for first in 0..32 {
            for keys in 0..=KEYS + 1 {
                // The empty text has a code; for the others there is no room.
                let key = |at: usize| if first >> at & 1 == 1 { "" } else { texts[first + at].as_str() };
                let keys: Vec<&str> = (0..keys).map(key).collect();
                let values: Vec<i64> = (0..(first % 5) as i64).collect();
                let record = SourceRecord::made_of(7, (), (), &keys, &values);
                let text = serde_json::to_string(&record).unwrap();
                let travelled: SourceRecord<(), ()> = serde_json::from_str(&text).unwrap();
                for record in [&record, &travelled] {
                    for (at, key) in keys.iter().enumerate() {
                        assert_eq!(record.key(at).unwrap().text(), *key);
                    }
                    for (at, value) in values.iter().enumerate() {
                        assert_eq!(record.value(at), *value);
                    }
                }
                match record.fields.keys[0] {
                    BESIDE => beside += 1,
                    _ => in_place += 1,
                }
            }
        }
        // Without a key, and with empty ones, there is nothing beside; with more than fit, all are.
        assert!(in_place >= 32 + 15 && beside >= 32, "{in_place} {beside}");
    }
}
