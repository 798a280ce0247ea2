//! Where each question stands: no streams, and no capabilities but their names.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::dataflow::driver::ProcessShared;
use crate::dataflow::release::LeavingRelease;
use crate::dataflow::release::desk::ReleaseBackend;
use crate::dataflow::release::leaving::{SharedDesk, lock};
use crate::gate::{BudgetStatus, GateEvent, ReleaseRequest};
use crate::invalid::Invalid;
use crate::ledger::{self, Digest, Row};
use crate::mechanisms::answers::{MatchedTotals, Query};
use crate::time::Time;

/// How the questions of one sentence are answered.
pub(in crate::dataflow) trait QueryAnswering: 'static {
    /// Which version of the data a question names that came when its source had declared `given`.
    ///
    /// # Errors
    /// Names what makes it a question that cannot be answered. Nothing of the data is in reach.
    fn version(&self, question: &Query, given: Time) -> Result<u64, Invalid>;

    /// When that version is complete.
    fn close(&self, version: u64) -> Time;

    /// The name under which its answer stands in the ledger.
    fn release(&self, question: &Query) -> ledger::ReleaseId;

    /// What everybody has counted, with the mechanism that will noise it.
    fn request(&self, posed: Posed, found: MatchedTotals) -> ReleaseRequest;
}

/// A question that is to be counted: of which version, and under which name its answer will stand.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::dataflow) struct Posed {
    pub(in crate::dataflow) id: [u8; 32],
    pub(in crate::dataflow) question: Query,
    pub(in crate::dataflow) version: u64,
}

/// A question that was not answered, and why: nothing was counted, drawn or paid for it.
#[derive(Clone, Debug)]
pub struct Unanswered {
    question: Box<Query>,
    why: Invalid,
}

impl Unanswered {
    /// The question.
    pub fn question(&self) -> &Query {
        &self.question
    }

    /// What is wrong with it.
    pub fn why(&self) -> &Invalid {
        &self.why
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "question {} of {}: {}", self.question.id(), self.question.analyst(), self.why)
    }
}

/// A row, how its budget stands, and how long it took.
type QueryOutcome = (Row, BudgetStatus, Option<Duration>);

/// What an operator is to do about a release.
pub(super) enum QueryAction {
    /// Have it counted.
    Pose(Posed),
    /// Let it leave.
    Leave(Box<QueryOutcome>),
    /// Nothing is told here.
    Drop(Digest),
}

enum QueryStage {
    /// The gate looks whether it was answered before.
    Sought(Posed),
    /// The workers count.
    Counting { posed: Posed, found: MatchedTotals, missing: usize },
    /// It is with the gate.
    Sealing(Instant),
}

/// What worker 0 knows of the questions of one sentence.
pub(super) struct QuerySequencer<A> {
    answering: A,
    desk: SharedDesk,
    shared: Arc<ProcessShared>,
    workers: usize,
    stages: HashMap<Digest, QueryStage>,
    /// For the operator that seeks, and for the one that seals.
    seeking: VecDeque<QueryAction>,
    sealing: VecDeque<QueryAction>,
}

impl<A: QueryAnswering> QuerySequencer<A> {
    pub(super) fn new(
        answering: A,
        desk: Box<dyn ReleaseBackend>,
        shared: Arc<ProcessShared>,
        workers: usize,
    ) -> QuerySequencer<A> {
        let (stages, seeking, sealing) = Default::default();
        let desk = Arc::new(Mutex::new(desk));
        QuerySequencer { answering, desk, shared, workers, stages, seeking, sealing }
    }

    /// Takes a question in: the name and the time of its answer, unless that is on its way already. Asking twice is asking
    /// once.
    pub(super) fn ask(&mut self, question: Query, given: Time) -> Result<Option<(Digest, Time)>, Unanswered> {
        let version = match self.answering.version(&question, given) {
            Ok(version) => version,
            Err(why) => return Err(Unanswered { question: question.into(), why }),
        };
        let release = self.answering.release(&question);
        let id = release.id();
        if self.shared.is_over() || self.stages.contains_key(&id) {
            return Ok(None);
        }
        self.stages.insert(id, QueryStage::Sought(Posed { id: *id.bytes(), question, version }));
        self.shared.awaits(0, 1);
        lock(&self.desk).seek(release);
        Ok(Some((id, self.answering.close(version).max(given))))
    }

    /// Takes in what one worker has counted; the last of them sends it to the gate.
    pub(super) fn count(&mut self, id: Digest, part: MatchedTotals) {
        let Some(QueryStage::Counting { found, missing, .. }) = self.stages.get_mut(&id) else { return };
        *found += part;
        *missing -= 1;
        if *missing > 0 || self.shared.is_over() {
            return;
        }
        let sealing = QueryStage::Sealing(Instant::now());
        let Some(QueryStage::Counting { posed, found, .. }) = self.stages.insert(id, sealing) else { return };
        self.shared.awaits(0, 1);
        let request = self.answering.request(posed, found);
        if let Err(trouble) = lock(&self.desk).submit(request) {
            self.shared.fail(trouble.into());
        }
    }

    /// Hears what the gate has to say.
    pub(super) fn hear(&mut self) {
        loop {
            let heard = lock(&self.desk).hear();
            match heard {
                None => return,
                Some(GateEvent::Halted(doubt)) => {
                    let why = lock(&self.desk).why(doubt);
                    return self.shared.fail(why.into());
                }
                Some(GateEvent::Absent(id)) => self.absent(id),
                Some(GateEvent::Withheld(row)) => {
                    let id = row.release().id();
                    self.settle(id, QueryAction::Drop(id));
                }
                Some(GateEvent::Row(row, standing)) => {
                    let id = row.release().id();
                    let took = match self.stages.get(&id) {
                        Some(QueryStage::Sealing(since)) => Some(since.elapsed()),
                        _ => None,
                    };
                    self.settle(id, QueryAction::Leave(Box::new((*row, *standing, took))));
                }
            }
        }
    }

    fn absent(&mut self, id: Digest) {
        let Some(QueryStage::Sought(posed)) = self.stages.remove(&id) else { return };
        self.shared.awaits(1, 0);
        let missing = self.workers;
        self.stages.insert(
            id,
            QueryStage::Counting { posed: posed.clone(), found: MatchedTotals::default(), missing },
        );
        self.seeking.push_back(QueryAction::Pose(posed));
    }

    /// It has its row: whoever holds the time of its answer hears of it.
    fn settle(&mut self, id: Digest, word: QueryAction) {
        let stage = self.stages.remove(&id);
        if matches!(stage, Some(QueryStage::Sought(_) | QueryStage::Sealing(_))) {
            self.shared.awaits(1, 0);
        }
        match stage {
            Some(QueryStage::Sought(_)) => self.seeking.push_back(word),
            // One that nobody asked for was sealed by a former process, and not delivered.
            _ => self.sealing.push_back(word),
        }
    }

    /// What the operator that seeks is to do. After a failure nothing leaves.
    pub(super) fn for_seeking(&mut self) -> Option<QueryAction> {
        self.seeking.pop_front().filter(|_| !self.shared.has_failed())
    }

    /// What the operator that seals is to do.
    pub(super) fn for_sealing(&mut self) -> Option<QueryAction> {
        self.sealing.pop_front().filter(|_| !self.shared.has_failed())
    }

    pub(super) fn has_word_for_sealing(&self) -> bool {
        !self.sealing.is_empty()
    }

    /// A row that leaves.
    pub(super) fn leaving(&self, outcome: QueryOutcome) -> LeavingRelease {
        self.shared.tell(outcome.0.fate());
        LeavingRelease::new(outcome, &self.desk, &self.shared)
    }
}
