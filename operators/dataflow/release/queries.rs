//! Queries that become rows: looked up, counted if they have none, and sealed.
//!
//! *queries → (worker 0) → gate: look up → known: release; unknown: every worker → the counts of each →
//! (worker 0) → gate: draw, seal, read back → release.* A query that was answered before costs a look-up and
//! no counting.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::accounting::Interval;
use crate::dataflow::driver::{Context, Fed, InputGaps, InputPositions, ProcessShared};
use crate::dataflow::engine::{
    Activator, Capability, CapacityContainerBuilder, Concat, Exchange, MutableAntichain, Operator,
    OperatorBuilder, OutputBuilder, Pipeline, Probing, StreamVec,
};
use crate::dataflow::release::LeavingRelease;
use crate::dataflow::release::deliver::{SharedBackend, is_unanswered, lock};
use crate::dataflow::release::operator::{ReleaseBackend, Waker};
use crate::gate::{BudgetStatus, GateEvent, ReleaseRequest, SkipReason};
use crate::invalid::{Invalid, InvalidKind};
use crate::ledger;
use crate::ledger::{Digest, Row};
use crate::mechanisms::queries::{MatchedTotals, Query};
use crate::time::Time;

/// The exact totals of the answers of a demonstration, by the identity of the query.
pub(crate) type ExactTotals = Arc<Mutex<HashMap<Digest, (Query, MatchedTotals)>>>;

/// The state that the two operators of worker 0 share: the one that looks for rows, and the one that seals.
type SharedSequencer<A> = Rc<RefCell<QuerySequencer<A>>>;

// The state of each query: no streams, and no capabilities but their names.

/// The rules by which the queries of one pipeline are answered.
pub(in crate::dataflow) trait QueryAnswering: 'static {
    /// Returns the version of the data that a query names, if it came when its source had declared `given`.
    ///
    /// # Errors
    /// Names the reason for which the query cannot be answered. The data is not in reach.
    fn version(&self, question: &Query, given: Time) -> Result<u64, Invalid>;

    /// Returns the window of that version.
    fn window(&self, version: u64) -> Interval;

    /// Returns the time at which that version is complete.
    fn close(&self, version: u64) -> Time;

    /// Returns the start of the first window that queries from this time on may name; [`Time::MAX`] if there are none.
    fn needed_since(&self, asked: Option<Time>) -> Time;

    /// Returns the name of the query's answer in the ledger.
    fn release(&self, question: &Query) -> ledger::ReleaseId;

    /// Builds the request for a query from the totals of all workers, with the mechanism that adds the noise.
    fn request(&self, posed: Posed, found: MatchedTotals) -> ReleaseRequest;
}

/// A query to be counted, with its version of the data and the name that its answer will have.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::dataflow) struct Posed {
    pub(in crate::dataflow) id: [u8; 32],
    pub(in crate::dataflow) question: Query,
    pub(in crate::dataflow) version: u64,
}

/// A query that was not answered, and the reason: nothing was counted, drawn or paid for it.
#[derive(Clone, Debug)]
pub struct Unanswered {
    question: Box<Query>,
    why: Invalid,
}

impl Unanswered {
    /// Returns the query.
    pub fn question(&self) -> &Query {
        &self.question
    }

    /// Returns the reason of the refusal.
    pub fn why(&self) -> &Invalid {
        &self.why
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "question {} of {}: {}", self.question.id(), self.question.analyst(), self.why)
    }
}

/// A row, the status of its budget, and the time that the gate took.
type QueryOutcome = (Row, BudgetStatus, Option<Duration>);

/// The next action of an operator for a release.
pub(super) enum QueryAction {
    /// Send the query to the workers, which count its records.
    Pose(Posed),
    /// Send the release on.
    Leave(Box<QueryOutcome>),
    /// Finish the query without a release: this process delivers nothing for it.
    Drop(Digest),
    /// Report that the query cannot be answered.
    Refuse(Digest, Unanswered),
}

enum QueryStage {
    /// The gate looks for the row of the query.
    Sought(Posed),
    /// The workers count the records of the query.
    Counting { posed: Posed, found: MatchedTotals, missing: usize },
    /// The request is at the gate, about this version.
    Sealing(u64),
}

/// The records that are read again after a restart.
pub(in crate::dataflow) struct RecordsAgain {
    pub(in crate::dataflow) positions: Rc<InputPositions>,
    /// The number of the queries among the releases whose needs decide from where a restart reads.
    pub(in crate::dataflow) need: usize,
    /// The time since which no record is lacking after a former run; `None` without one.
    pub(in crate::dataflow) since: Option<Time>,
}

/// The queries of one pipeline, on worker 0.
pub(super) struct QuerySequencer<A> {
    answering: A,
    handle: SharedBackend,
    shared: Arc<ProcessShared>,
    workers: usize,
    stages: HashMap<Digest, QueryStage>,
    /// The queries whose row has left in this run.
    left: HashSet<Digest>,
    /// The actions of the operator that looks for rows; `sealing` has those of the operator that seals.
    seeking: VecDeque<QueryAction>,
    sealing: VecDeque<QueryAction>,
    /// The gaps of the records.
    gaps: Rc<InputGaps>,
    /// The queries that were counted while the gaps of their data were not all known.
    counted: Vec<Digest>,
    /// The collector of the exact totals, in a demonstration.
    exact: Option<ExactTotals>,
    again: RecordsAgain,
}

impl<A: QueryAnswering> QuerySequencer<A> {
    pub(super) fn new(
        answering: A,
        handle: Box<dyn ReleaseBackend>,
        shared: Arc<ProcessShared>,
        workers: usize,
        gaps: Rc<InputGaps>,
        (exact, again): (Option<ExactTotals>, RecordsAgain),
    ) -> QuerySequencer<A> {
        let (stages, left, seeking, sealing) = Default::default();
        let (handle, counted) = (Arc::new(Mutex::new(handle)), Vec::new());
        QuerySequencer {
            answering,
            handle,
            shared,
            workers,
            stages,
            left,
            seeking,
            sealing,
            gaps,
            counted,
            exact,
            again,
        }
    }

    /// Adds a query: returns the name and the time of its answer, unless it is in progress already. A second
    /// query of the same name has no effect.
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
        lock(&self.handle).seek(release);
        Ok(Some((id, self.answering.close(version).max(given))))
    }

    /// Adds the counts of one worker; the last of them sends the request to the gate.
    pub(super) fn count(&mut self, id: Digest, part: MatchedTotals) {
        let Some(QueryStage::Counting { found, missing, .. }) = self.stages.get_mut(&id) else { return };
        *found += part;
        *missing -= 1;
        if *missing == 0 {
            self.counted.push(id);
            self.seal_counted();
        }
    }

    /// Sends the requests of all queries whose data is complete, gaps included.
    fn seal_counted(&mut self) {
        let is_complete = |id: &Digest| match self.stages.get(id) {
            Some(QueryStage::Counting { posed, .. }) => {
                self.answering.close(posed.version) <= self.gaps.complete()
            }
            _ => true,
        };
        let (complete, counted) = std::mem::take(&mut self.counted).into_iter().partition(is_complete);
        self.counted = counted;
        complete.into_iter().for_each(|id: Digest| self.seal(id));
    }

    fn seal(&mut self, id: Digest) {
        if self.shared.is_over() {
            return;
        }
        let Some(QueryStage::Counting { posed, found, .. }) = self.stages.remove(&id) else { return };
        self.stages.insert(id, QueryStage::Sealing(posed.version));
        self.shared.awaits(0, 1);
        let release = self.answering.release(&posed.question);
        if self.gaps.overlap(self.answering.window(posed.version)) {
            return lock(&self.handle).skip(release, SkipReason::InputGap);
        }
        if let Some(exact) = &self.exact {
            let mut exact = exact.lock().unwrap_or_else(PoisonError::into_inner);
            exact.insert(posed.question.part(), (posed.question.clone(), found));
        }
        let request = self.answering.request(posed, found);
        if let Err(trouble) = lock(&self.handle).submit(request) {
            self.shared.fail(trouble.into());
        }
    }

    /// Receives the events of the gate.
    pub(super) fn hear(&mut self) {
        self.seal_counted();
        loop {
            let heard = lock(&self.handle).hear();
            match heard {
                None => return,
                Some(GateEvent::Halted(reason)) => {
                    let why = lock(&self.handle).why(reason);
                    return self.shared.fail(why.into());
                }
                Some(GateEvent::Absent(id)) => self.absent(id),
                Some(GateEvent::Withheld(row)) => {
                    let id = row.release().id();
                    self.settle(id, QueryAction::Drop(id));
                }
                // Several answers over a window stay in the ledger; this is for a window that has one.
                Some(GateEvent::Archived(release)) => {
                    let id = release.id();
                    self.settle(id, QueryAction::Drop(id));
                }
                Some(GateEvent::Row(row, budget_status)) => {
                    let id = row.release().id();
                    let is_asked = matches!(self.stages.get(&id), Some(QueryStage::Sealing(_)));
                    let took = is_asked.then_some(budget_status.took);
                    self.settle(id, QueryAction::Leave(Box::new((*row, *budget_status, took))));
                }
            }
        }
    }

    fn absent(&mut self, id: Digest) {
        let Some(QueryStage::Sought(posed)) = self.stages.remove(&id) else { return };
        self.shared.awaits(1, 0);
        // Of a window that begins before the place from which a restart reads, records are missing.
        let start = self.answering.window(posed.version).start();
        if self.again.since.is_some_and(|since| start < since) {
            let remedy = "a later time, or leave it out: after the restart not all records of that window are read again";
            let why = Invalid::new("at", InvalidKind::TooSmall, remedy);
            let why = why.with_found("a time of an earlier window");
            let refused = Unanswered { question: posed.question.into(), why };
            return self.seeking.push_back(QueryAction::Refuse(id, refused));
        }
        let missing = self.workers;
        self.stages.insert(
            id,
            QueryStage::Counting { posed: posed.clone(), found: MatchedTotals::default(), missing },
        );
        self.seeking.push_back(QueryAction::Pose(posed));
    }

    /// Finishes a query that has its row: the operator that holds the time of its answer gets the action.
    fn settle(&mut self, id: Digest, word: QueryAction) {
        let stage = self.stages.remove(&id);
        if matches!(stage, Some(QueryStage::Sought(_) | QueryStage::Sealing(_))) {
            self.shared.awaits(1, 0);
        }
        match stage {
            Some(QueryStage::Sought(_)) => self.seeking.push_back(word),
            // A row without a query was sealed by a former process, and not delivered.
            _ => self.sealing.push_back(word),
        }
    }

    /// Keeps the positions from which a restart reads the records that queries from this time on may be about, and those of
    /// queries without an answer.
    pub(super) fn keep_positions(&mut self, asked: Option<Time>) {
        if self.shared.has_failed() {
            return;
        }
        let version = |stage: &QueryStage| match stage {
            QueryStage::Sought(posed) | QueryStage::Counting { posed, .. } => posed.version,
            QueryStage::Sealing(version) => *version,
        };
        let open = self.stages.values().map(|stage| self.answering.window(version(stage)).start());
        let needed = open.fold(self.answering.needed_since(asked), Time::min);
        let RecordsAgain { positions, need, .. } = &self.again;
        if let Some(update) = positions.settled(*need, Some(needed)) {
            let written = positions.written_notice(&update);
            lock(&self.handle).keep_positions(update, written);
        }
    }

    /// Returns the next action of the operator that looks for rows. After a failure nothing leaves.
    pub(super) fn for_seeking(&mut self) -> Option<QueryAction> {
        self.seeking.pop_front().filter(|_| !self.shared.has_failed())
    }

    /// Returns the next action of the operator that seals.
    pub(super) fn for_sealing(&mut self) -> Option<QueryAction> {
        self.sealing.pop_front().filter(|_| !self.shared.has_failed())
    }

    pub(super) fn has_word_for_sealing(&self) -> bool {
        !self.sealing.is_empty()
    }

    /// Creates the release of a row.
    ///
    /// The gate gives the rows that a former process has not delivered when it is opened, and each again to a query that asks for
    /// it: the second time it is a repeated one.
    pub(super) fn leaving(&mut self, outcome: QueryOutcome) -> LeavingRelease {
        let is_new = self.left.insert(outcome.0.release().id());
        if is_new {
            match is_unanswered(&outcome.0) {
                true => self.shared.count_unanswered(),
                false => self.shared.count(&outcome.0),
            }
        }
        let leaving = LeavingRelease::new(outcome, &self.handle, &self.shared);
        if is_new { leaving } else { leaving.repeated() }
    }
}

// The operator that looks for rows: every query goes to worker 0, and from there to the gate, which knows if
// it was answered before. A query without an answer goes on to all workers.

/// The outcome of looking for the rows of queries.
pub(in crate::dataflow) struct Sought<'scope, A> {
    /// The queries that must be counted, each for every worker.
    pub(in crate::dataflow) posed: StreamVec<'scope, Time, (u64, Posed)>,
    /// The releases of queries that were answered before.
    pub(super) releases: StreamVec<'scope, Time, LeavingRelease>,
    /// The queries that cannot be answered.
    pub(in crate::dataflow) unanswered: StreamVec<'scope, Time, Unanswered>,
    /// The shared state; `None` on other workers than worker 0.
    pub(super) sequencer: Option<SharedSequencer<A>>,
    /// Wakes the operator that seals.
    pub(super) seal: Wakes,
}

/// The capabilities for an answer: for the query on its way to the workers, for its release, and for its refusal.
struct HeldTimes {
    posed: Capability<Time>,
    release: Capability<Time>,
    refused: Capability<Time>,
}

/// Looks for the rows of queries through their backend, on worker 0.
pub(in crate::dataflow) fn sought<'scope, A: QueryAnswering>(
    questions: Fed<'scope, Query>,
    gaps: &Rc<InputGaps>,
    at_gate: Option<(A, Box<dyn ReleaseBackend>, Waker, RecordsAgain)>,
    exact: Option<ExactTotals>,
) -> Sought<'scope, A> {
    let Fed { stream, context } = questions;
    let scope = stream.scope();
    let workers = scope.peers();
    // The output of an input waits on this side of an exchange, for more to fill a message with, until its
    // source declares something. The output of an operator leaves at once, and an analyst may wait for the
    // answer before the next query.
    let stream = stream.unary(Pipeline, "Ask", |_, _| {
        move |input, output| {
            input.for_each(|time, batch| output.session(&time).give_container(batch));
        }
    });
    let mut builder = OperatorBuilder::new("Seek".to_owned(), scope);
    let mut input = builder.new_input(stream, Exchange::new(|_: &Query| 0));
    let (posed, posed_stream) = builder.new_output::<Vec<(u64, Posed)>>();
    let (releases, release_stream) = builder.new_output::<Vec<LeavingRelease>>();
    let (refused, refused_stream) = builder.new_output::<Vec<Unanswered>>();
    let mut posed = OutputBuilder::<_, CapacityContainerBuilder<Vec<(u64, Posed)>>>::from(posed);
    let mut releases = OutputBuilder::<_, CapacityContainerBuilder<Vec<LeavingRelease>>>::from(releases);
    let mut refused = OutputBuilder::<_, CapacityContainerBuilder<Vec<Unanswered>>>::from(refused);

    let address = builder.operator_info().address;
    let sequencer = at_gate.map(|(answering, handle, waker, again)| {
        waker.wakes(scope.worker().sync_activator_for(address.to_vec()));
        let shared = Arc::clone(&context.shared);
        let gaps = Rc::clone(gaps);
        Rc::new(RefCell::new(QuerySequencer::new(answering, handle, shared, workers, gaps, (exact, again))))
    });
    let (at_gate, seal) = (sequencer.clone(), Wakes::default());
    let wakes = seal.clone();
    builder.build(move |_| {
        let mut held: HashMap<Digest, HeldTimes> = HashMap::new();
        move |frontiers: &[MutableAntichain<Time>]| {
            let Some(sequencer) = &at_gate else {
                // Nothing is sent to the other workers.
                return input.for_each(|_, _| {});
            };
            let mut sequencer = sequencer.borrow_mut();
            let (mut posed, mut releases) = (posed.activate(), releases.activate());
            let mut refused = refused.activate();
            input.for_each(|capability, batch| {
                let Some(given) = capability.least().copied() else { return };
                for question in batch.drain(..) {
                    match sequencer.ask(question, given) {
                        Ok(Some((id, time))) => {
                            let [posed, release, refused] =
                                [0, 1, 2].map(|output| capability.delayed(&time, output));
                            held.insert(id, HeldTimes { posed, release, refused });
                        }
                        Ok(None) => {}
                        Err(unanswered) => refused.session(&capability.delayed(&given, 2)).give(unanswered),
                    }
                }
            });
            sequencer.hear();
            while let Some(word) = sequencer.for_seeking() {
                match word {
                    QueryAction::Pose(question) => {
                        if let Some(HeldTimes { posed: capability, .. }) = held.remove(&Digest(question.id)) {
                            let everywhere = (0..workers as u64).map(|worker| (worker, question.clone()));
                            posed.session(&capability).give_iterator(everywhere);
                        }
                    }
                    QueryAction::Leave(outcome) => {
                        if let Some(HeldTimes { release, .. }) = held.remove(&outcome.0.release().id()) {
                            releases.session(&release).give(sequencer.leaving(*outcome));
                        }
                    }
                    QueryAction::Drop(id) => drop(held.remove(&id)),
                    QueryAction::Refuse(id, unanswered) => {
                        if let Some(HeldTimes { refused: capability, .. }) = held.remove(&id) {
                            refused.session(&capability).give(unanswered);
                        }
                    }
                }
            }
            sequencer
                .keep_positions(frontiers.first().and_then(|frontier| frontier.frontier().first().copied()));
            if sequencer.has_word_for_sealing() {
                wakes.wake();
            }
        }
    });
    Sought { posed: posed_stream, releases: release_stream, unanswered: refused_stream, sequencer, seal }
}

// The operator that seals: the counts of every worker go to worker 0, and with the last of them the request
// goes to the gate.

/// A waker of the operator, once the operator exists.
#[derive(Clone, Default)]
pub(super) struct Wakes(Rc<OnceCell<Activator>>);

impl Wakes {
    pub(super) fn wake(&self) {
        if let Some(activator) = self.0.get() {
            activator.activate();
        }
    }
}

/// Releases the answers that were counted, and those that were looked up.
pub(in crate::dataflow) fn sealed<'scope, A: QueryAnswering>(
    counted: StreamVec<'scope, Time, ([u8; 32], MatchedTotals)>,
    sought: Sought<'scope, A>,
    context: &Context,
) -> StreamVec<'scope, Time, LeavingRelease> {
    let Sought { releases: before, sequencer, seal, .. } = sought;
    let scope = counted.scope();
    let mut builder = OperatorBuilder::new("Seal".to_owned(), scope);
    let mut input = builder.new_input(counted, Exchange::new(|_: &([u8; 32], MatchedTotals)| 0));
    let (releases, stream) = builder.new_output::<Vec<LeavingRelease>>();
    let mut releases = OutputBuilder::<_, CapacityContainerBuilder<Vec<LeavingRelease>>>::from(releases);
    let address = builder.operator_info().address;
    // The waker was made for this operator.
    let _ = seal.0.set(scope.activator_for(Rc::clone(&address)));
    let known = scope.activator_for(address);
    context.gaps.on_advance(Box::new(move || known.activate()));

    builder.build(move |mut capabilities| {
        // For the rows that a former process has sealed and not delivered: all of them are given out when the
        // handle is opened.
        let mut first = sequencer.is_some().then(|| capabilities.pop()).flatten();
        drop(capabilities);
        let mut held: HashMap<Digest, Capability<Time>> = HashMap::new();
        move |_| {
            let Some(sequencer) = &sequencer else {
                return input.for_each(|_, _| {});
            };
            let mut sequencer = sequencer.borrow_mut();
            input.for_each(|capability, batch| {
                let Some(own) = capability.retain_least(0) else { return };
                for (id, found) in batch.drain(..) {
                    let id = Digest(id);
                    held.entry(id).or_insert_with(|| own.clone());
                    sequencer.count(id, found);
                }
            });
            sequencer.hear();
            let mut releases = releases.activate();
            while let Some(word) = sequencer.for_sealing() {
                match word {
                    QueryAction::Leave(outcome) => {
                        let own = held.remove(&outcome.0.release().id());
                        if let Some(capability) = own.as_ref().or(first.as_ref()) {
                            releases.session(capability).give(sequencer.leaving(*outcome));
                        }
                    }
                    QueryAction::Drop(id) => drop(held.remove(&id)),
                    QueryAction::Pose(_) | QueryAction::Refuse(..) => {}
                }
            }
            first = None;
        }
    });
    stream.concat(before).probe_with(&context.probe(false))
}
