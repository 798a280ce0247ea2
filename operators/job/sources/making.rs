//! One worker's part of a made-up log: here its rows become records.

use std::sync::Arc;

use super::made::{BLOCK, MadeUp};
use super::part::PartContext;
use super::record::SourceRecord;
use super::told::PersonIdentity;
use super::wanted::LineCells;
use crate::dataflow::{BATCH, Clock, Pulled, SourceError};
use crate::time::Time;

/// Records that are made up where they are wanted.
pub(super) struct Made {
    desk: PartContext,
    made: Arc<MadeUp>,
    cells: LineCells,
    /// Which of the four fields become which cells.
    fields: Vec<Option<usize>>,
    /// By which a live source gives its records when they happen.
    clock: Option<Arc<dyn Clock>>,
    workers: u64,
    next: u64,
    last: Option<Time>,
    marked: Option<Time>,
}

impl Made {
    pub(super) fn new(
        desk: PartContext,
        made: Arc<MadeUp>,
        clock: Option<Arc<dyn Clock>>,
        worker: u64,
        workers: u64,
    ) -> Made {
        let (cells, fields) = (LineCells::new(desk.plan.fields.len()), MadeUp::cells(&desk.plan.fields));
        Made { desk, made, cells, fields, clock, workers, next: worker * BLOCK, last: None, marked: None }
    }

    pub(super) fn pull<P: PersonIdentity, I: PersonIdentity>(
        &mut self,
        batch: &mut Vec<SourceRecord<P, I>>,
    ) -> Result<Pulled, SourceError> {
        self.desk.fate.check()?;
        if self.desk.brake.is_pulled() {
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
            if self.desk.survey.counts() {
                self.desk.survey.line(&[], &self.cells, &self.desk.plan.fields, Some(row.time));
            }
            self.desk.survey.saw(row.time);
            if self.desk.maker.records(&[], &self.cells, Some(row.time), batch).is_err() {
                self.desk.fate.bad(1);
                self.desk.fate.check()?;
            }
            self.last = Some(row.time);
            self.next += 1;
            self.desk.progress.add(1);
            if self.next.is_multiple_of(BLOCK) {
                self.next += BLOCK * (self.workers.max(1) - 1);
            }
        }
        match (self.last, now) {
            _ if self.next >= self.made.rows() => {
                self.desk.progress.end();
                Ok(Pulled::End)
            }
            (Some(time), None) if self.desk.plan.sorted && self.desk.plan.timed => Ok(Pulled::Complete(time)),
            _ => Ok(Pulled::More),
        }
    }

    /// All that has happened by now has been given.
    fn mark(&mut self, now: Option<Time>) -> Pulled {
        match now {
            Some(now) if self.marked.is_none_or(|marked| marked < now) => {
                self.marked = Some(now);
                Pulled::Complete(now)
            }
            _ => Pulled::Idle,
        }
    }
}
