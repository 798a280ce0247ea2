//! The conversion of a line's cells into its record.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::dealer::RecordCounts;
use super::identity::PersonIdentity;
use super::identity::Texts;
use super::number::{steps, trimmed};
use super::part::PartContext;
use super::synthetic::{BLOCK, SyntheticLog};
use super::times::Times;
use super::wanted::{CellLayout, LineCells};
use crate::dataflow::{BATCH, Clock, Milestone, Pulled, SourceError};
use crate::gate::Positions;
use crate::job::config::{Missing, SourceSpec};
use crate::job::text::Text;
use crate::time::Time;

/// The error for a line with a cell of which no record can be made.
#[derive(Debug)]
pub(super) struct BadCell(pub(super) usize);

/// Makes the records of one part.
#[derive(Clone)]
pub(super) struct Maker {
    plan: CellLayout,
    times: Option<Times>,
    texts: Texts,
}

impl Maker {
    pub(super) fn new(plan: CellLayout, source: &SourceSpec) -> Result<Maker, SourceError> {
        let times = source.time.as_ref().map(|time| Times::new(&time.format, &source.zone)).transpose();
        let times =
            times.map_err(|invalid| SourceError::refused("[source] time").because(invalid.to_string()))?;
        Ok(Maker { plan, times, texts: Texts::new() })
    }

    /// The time of the event in a line.
    #[inline]
    pub(super) fn time(&mut self, line: &[u8], cells: &LineCells) -> Result<Option<Time>, BadCell> {
        match (self.plan.time, &mut self.times) {
            (Some(cell), Some(times)) => times.read(cells.get(line, cell)).map(Some).ok_or(BadCell(cell)),
            _ => Ok(None),
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
        let CellLayout { person, id, keys, values, secret, timed, .. } = &self.plan;
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
                bytes => I::of(bytes, secret),
            },
        };
        let texts = &mut self.texts;
        // A key that is too long counts as empty.
        let mut key = |cell: &usize| texts.of(cells.get(line, *cell)).unwrap_or_default();
        let (first, further) =
            keys.split_first().map_or((None, &keys[..]), |(first, rest)| (Some(first), rest));
        let (value, others) =
            values.split_first().map_or((None, &values[..]), |(first, rest)| (Some(first), rest));
        let value = value.map_or(Ok(0), |value| number(line, cells, *value))?;
        let first = first.map(&mut key).unwrap_or_default();
        let more = match (further, others) {
            ([], []) => None,
            _ => {
                let values =
                    others.iter().map(|value| number(line, cells, *value)).collect::<Result<_, _>>()?;
                Some(Arc::new(FurtherFields { keys: further.iter().map(key).collect(), values }))
            }
        };
        let time = time.filter(|_| *timed).unwrap_or(0);
        batch.push(SourceRecord { time, person, id, key: first, value, more });
        Ok(())
    }
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
            (LineCells::new(handle.plan.fields.len()), SyntheticLog::cells(&handle.plan.fields));
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
            if self.handle.survey.counts() {
                self.handle.survey.line(&[], &self.cells, &self.handle.plan.fields, Some(row.time));
            }
            self.handle.survey.record_time(row.time);
            if self.handle.maker.record(&[], &self.cells, Some(row.time), batch).is_err() {
                self.handle.fault.bad(1);
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

/// The value of a record without one.
pub(crate) const MISSING: i64 = i64::MIN;

/// The record of a line: what all releases of a job read of it. Prints as `<private>`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct SourceRecord<P, I> {
    /// The time of the event; 0 where no release uses it.
    pub(crate) time: Time,
    /// The person; `()` where no release uses it.
    pub(crate) person: P,
    /// The record's own id, which distinguishes it from its duplicates; `()` where no release uses one.
    pub(crate) id: I,
    /// The first key; empty where the job has none.
    pub(super) key: Text,
    /// The first value, in its steps; 0 where the job has none.
    pub(super) value: i64,
    /// The keys and values behind the first ones.
    pub(super) more: Option<Arc<FurtherFields>>,
}

/// The keys and values of a record behind the first ones. Most jobs have none.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct FurtherFields {
    pub(super) keys: SmallVec<[Text; 2]>,
    pub(super) values: SmallVec<[i64; 2]>,
}

redacted!([P, I] SourceRecord<P, I>);
redacted!(FurtherFields);

impl<P, I> SourceRecord<P, I> {
    /// The key in the field with this index among those that hold keys.
    #[inline]
    pub(crate) fn key(&self, at: usize) -> Option<&Text> {
        match at.checked_sub(1) {
            None => Some(&self.key),
            Some(at) => self.more.as_ref()?.keys.get(at),
        }
    }

    /// The value in the field with this index among those that hold values; [`MISSING`] where it has none.
    #[inline]
    pub(crate) fn value(&self, at: usize) -> i64 {
        match (at.checked_sub(1), &self.more) {
            (None, _) => self.value,
            (Some(at), Some(more)) => more.values.get(at).copied().unwrap_or(MISSING),
            (Some(_), None) => MISSING,
        }
    }
}
