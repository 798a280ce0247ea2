//! State that the workers of one process share: if the run goes on, and its outcomes so far.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::failure::{Finished, RunError};
use super::gaps::InputGaps;
use super::positions::InputPositions;
use super::source::SubmissionOrder;
use crate::dataflow::engine::{
    CapacityContainerBuilder, Engine, Exchange, InputHandle, Operator, Pipeline, Probe, Scope, Timestamp,
};
use crate::dataflow::spill::SpillSpace;
use crate::ledger::{Name, ReleaseStatus, Row};
use crate::time::Time;

/// A switch that stops a run from outside, such as from a signal handler's thread: nothing more is read,
/// requests that the gate has are answered, and nothing that is incomplete is sealed.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    /// The turns of each worker of this process, while it runs.
    turns: Arc<Mutex<Vec<Weak<AtomicU64>>>>,
}

impl Stop {
    /// Creates a switch that is off.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Asks the run to stop.
    pub fn stop(&self) {
        self.asked.store(true, Ordering::SeqCst);
    }

    /// Returns true if the run was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// Returns each worker of this process that runs at present, with the number of its turns so far: one
    /// that does not grow within seconds belongs to a worker that hangs. It says nothing of the records.
    pub fn turns(&self) -> Vec<(usize, u64)> {
        let turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let running = turns.iter().enumerate();
        running.filter_map(|(at, turns)| Some((at, turns.upgrade()?.load(Ordering::Relaxed)))).collect()
    }

    /// Adds a worker, which counts its turns for as long as it runs.
    pub(crate) fn worker(&self) -> Arc<AtomicU64> {
        let own = Arc::default();
        self.turns.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&own));
        own
    }
}

/// The state of one process, for all of its workers.
pub(crate) struct ProcessShared {
    stop: Stop,
    /// True if another process was asked to stop, and this one stops with it.
    stopped_with_others: AtomicBool,
    /// The file for panes that memory has no room for, where its memory is limited.
    spill: Option<Arc<SpillSpace>>,
    failed: AtomicBool,
    failure: Mutex<Option<RunError>>,
    halts: Mutex<Vec<Box<dyn Fn() + Send>>>,
    by_status: [AtomicU64; 4],
    /// The number of the released windows that had left before this run.
    before: AtomicU64,
    /// The number of questions that their bundle had no answer left for.
    unanswered: AtomicU64,
    /// The number of windows that the gate has not answered for.
    awaited: AtomicUsize,
    /// A reference that every release holds until it has reached its sink.
    leaving: Arc<()>,
    /// The mark of the run whose tallies are revealed, if it is one.
    revealing: Option<Arc<()>>,
}

impl ProcessShared {
    pub(crate) fn new(
        stop: Stop,
        spill: Option<Arc<SpillSpace>>,
        revealing: Option<Arc<()>>,
    ) -> Arc<ProcessShared> {
        Arc::new(ProcessShared {
            stop,
            spill,
            stopped_with_others: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            halts: Mutex::new(Vec::new()),
            by_status: Default::default(),
            before: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
            awaited: AtomicUsize::new(0),
            leaving: Arc::new(()),
            revealing,
        })
    }

    /// Ends the run. The first reason stands: it is recorded before gates halt, as another worker may receive
    /// the halt from its gate, and report that as its reason. Gates halt before any worker acts on it, so
    /// that nothing incomplete is sealed.
    pub(crate) fn fail(&self, failure: RunError) {
        lock(&self.failure).get_or_insert(failure);
        for halt in lock(&self.halts).iter() {
            halt();
        }
        self.failed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
    }

    /// Returns the reason for which the run has ended.
    pub(crate) fn failure(&self) -> Option<RunError> {
        lock(&self.failure).clone()
    }

    pub(crate) fn worker(&self) -> Arc<AtomicU64> {
        self.stop.worker()
    }

    /// Returns the place of panes that memory has no room for.
    pub(crate) fn spill(&self) -> Option<&Arc<SpillSpace>> {
        self.spill.as_ref()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_stopped() || self.stopped_with_others.load(Ordering::SeqCst)
    }

    /// Stops this process because another process of the job was asked to stop.
    pub(crate) fn stop_with_the_others(&self) {
        self.stopped_with_others.store(true, Ordering::SeqCst);
    }

    /// Returns true if nothing more may be submitted to a gate.
    pub(crate) fn is_over(&self) -> bool {
        self.has_failed() || self.is_stopped()
    }

    /// Adds the function that halts a gate, which is called before the workers act on a failure. A run whose tallies
    /// are revealed refuses the gate.
    pub(crate) fn on_failure(&self, halt: Box<dyn Fn() + Send>) {
        lock(&self.halts).push(halt);
        if self.revealing.is_some() {
            let remedy = "gate: a run whose tallies are revealed has none; reveal the statistic, or release it in another run";
            self.fail(RunError::configuration(remedy));
        }
    }

    /// Returns true if the tallies of this run are revealed under this mark.
    pub(crate) fn is_revealing(&self, mark: &Arc<()>) -> bool {
        self.revealing.as_ref().is_some_and(|own| Arc::ptr_eq(own, mark))
    }

    /// Counts a window by its row, as it was read back.
    pub(crate) fn count(&self, row: &Row) {
        self.by_status[row.status() as usize].fetch_add(1, Ordering::Relaxed);
        if row.status() == ReleaseStatus::Sealed && row.delivered {
            self.before.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a question that its bundle had no answer left for, whose row says so.
    pub(crate) fn count_unanswered(&self) {
        self.unanswered.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts windows that were submitted to a gate, and those that it has answered for.
    pub(crate) fn awaits(&self, before: usize, after: usize) {
        self.awaited.fetch_add(after.wrapping_sub(before), Ordering::SeqCst);
    }

    pub(crate) fn awaited(&self) -> usize {
        self.awaited.load(Ordering::SeqCst)
    }

    pub(crate) fn leaving(&self) -> Arc<()> {
        Arc::clone(&self.leaving)
    }

    /// Returns true if some release has not reached its sink.
    pub(crate) fn is_leaving(&self) -> bool {
        Arc::strong_count(&self.leaving) > 1
    }

    pub(crate) fn finished(&self) -> Finished {
        let mut finished = Finished { stopped: self.is_stopped(), ..Finished::default() };
        for status in
            [ReleaseStatus::Sealed, ReleaseStatus::Refused, ReleaseStatus::Skipped, ReleaseStatus::Lost]
        {
            finished.add(status, self.by_status[status as usize].load(Ordering::Relaxed));
        }
        finished.before = self.before.load(Ordering::Relaxed);
        finished.unanswered = self.unanswered.load(Ordering::Relaxed);
        finished
    }
}

/// Locks a mutex. Each of these holds plain values that are consistent between any two statements, so a panic
/// elsewhere does no harm.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of one worker, for its driver and for every stream that it feeds.
pub(crate) struct Context {
    pub(crate) shared: Arc<ProcessShared>,
    /// One probe for each operator that releases: the time before which everything is settled, durably.
    probes: Rc<RefCell<Vec<Settling>>>,
    /// The statistics that are released here, by job and name.
    names: Rc<RefCell<BTreeSet<(Name, Name)>>>,
    /// The numbers of the dataflows that hold a part of a pipeline.
    dataflows: Rc<RefCell<BTreeSet<usize>>>,
    /// The order in which the releases of one input submit their windows.
    pub(crate) order: SubmissionOrder,
    /// The gaps of the input.
    pub(crate) gaps: Rc<InputGaps>,
    /// The resume positions of the input.
    pub(crate) positions: Rc<InputPositions>,
}

impl Context {
    pub(crate) fn new(shared: Arc<ProcessShared>) -> Rc<Context> {
        let (probes, names, dataflows, order) = Default::default();
        let (gaps, positions) = (Rc::new(InputGaps::none()), InputPositions::new(-1, None));
        Rc::new(Context { shared, probes, names, dataflows, order, gaps, positions })
    }

    /// Returns the context of another input, whose releases have an order of their own.
    pub(crate) fn of_an_input(&self, gaps: Rc<InputGaps>, positions: Rc<InputPositions>) -> Rc<Context> {
        let (shared, order) = (Arc::clone(&self.shared), SubmissionOrder::default());
        let (probes, names) = (Rc::clone(&self.probes), Rc::clone(&self.names));
        let dataflows = Rc::clone(&self.dataflows);
        Rc::new(Context { shared, probes, names, dataflows, order, gaps, positions })
    }

    /// Records that the dataflow of this scope holds a part of a pipeline.
    pub(crate) fn holds<T: Timestamp>(&self, scope: Scope<'_, T>) {
        self.dataflows.borrow_mut().extend(scope.addr().first());
    }

    /// Returns the numbers of the dataflows that hold a part of a pipeline.
    pub(crate) fn dataflows(&self) -> BTreeSet<usize> {
        self.dataflows.borrow().clone()
    }

    /// Reserves a name for a statistic, once.
    pub(crate) fn name(&self, job: Name, name: &str) -> Result<Name, RunError> {
        let name = Name::new("release", name)?;
        if self.names.borrow_mut().insert((job, name.clone())) {
            return Ok(name);
        }
        let message = format!("release {name}: found two of that name; give each statistic of a job its own");
        Err(RunError::configuration(message))
    }

    /// Adds a probe of an operator that releases its windows as they close, or, with `at_end`, once every
    /// input has ended.
    pub(crate) fn probe(&self, at_end: bool) -> Probe<Time> {
        let probe = Probe::new();
        self.probes.borrow_mut().push(Settling { probe: probe.clone(), at_end });
        probe
    }

    /// Returns true if every window that closes before `time` has its outcome, of the operators that release
    /// windows as they close. The end of an input waits for this; an operator that itself waits for the end
    /// would never let it come.
    pub(crate) fn is_settled_before(&self, time: Time) -> bool {
        self.probes.borrow().iter().all(|settling| settling.at_end || settling.has_passed(time))
    }

    /// Returns true if every window of all operators has its outcome.
    pub(crate) fn is_settled(&self) -> bool {
        self.probes.borrow().iter().all(|settling| settling.has_passed(Time::MAX))
    }
}

/// The probe of one operator that releases, and whether the operator waits for the end of all inputs.
struct Settling {
    probe: Probe<Time>,
    at_end: bool,
}

impl Settling {
    fn has_passed(&self, time: Time) -> bool {
        !self.probe.less_than(&time)
    }
}

// Back-pressure: the amount by which the other workers are behind the output of this one.
//
// Queues between workers have no bound of their own. So now and then each worker sends every worker a
// message, which is sent back once it arrives. Messages arrive in order, and a worker that takes one takes
// the records before it in the same step; so one that is behind answers late, and the workers that feed it
// wait. It works the same within and between processes.

/// The number of turns that send something, between two messages.
const TURNS: u64 = 16;
/// The number of messages that a worker may leave unanswered: with batches of 1,024 records, about 82,000 of
/// each source; and as many again for each operator that has taken them in its last step and not passed them
/// on.
const UNANSWERED: u64 = 5;

/// The sender and the receiver of a message.
type Ping = (usize, usize);

pub(crate) struct ReadPace {
    input: Option<InputHandle<u64, CapacityContainerBuilder<Vec<Ping>>>>,
    answered: Rc<RefCell<Vec<u64>>>,
    worker: usize,
    sent: u64,
    turns: u64,
}

impl ReadPace {
    /// Builds the dataflow that carries the messages; on every worker, after all others.
    pub(crate) fn new(worker: &mut Engine) -> ReadPace {
        let answered = Rc::new(RefCell::new(vec![0; worker.peers()]));
        let count = Rc::clone(&answered);
        let mut input = InputHandle::new();
        worker.dataflow::<u64, _, _>(|scope| {
            type Batches = CapacityContainerBuilder<Vec<Ping>>;
            input
                .to_stream(scope)
                .unary::<Batches, _, _, _>(Exchange::new(|(_, to): &Ping| *to as u64), "Ping", |_, _| {
                    move |input, output| {
                        input.for_each(|time, batch| output.session(&time).give_container(batch));
                    }
                })
                .unary::<Batches, _, _, _>(Exchange::new(|(from, _): &Ping| *from as u64), "Pong", |_, _| {
                    move |input, output| {
                        input.for_each(|time, batch| output.session(&time).give_container(batch));
                    }
                })
                .sink(Pipeline, "Answered", move |(input, _)| {
                    input.for_each(|_, batch| {
                        for (_, by) in batch.drain(..) {
                            count.borrow_mut()[by] += 1;
                        }
                    });
                });
        });
        ReadPace { input: Some(input), answered, worker: worker.index(), sent: 0, turns: 0 }
    }

    /// Returns true if some worker is too far behind to be sent more.
    pub(crate) fn is_behind(&self) -> bool {
        self.answered.borrow().iter().any(|answered| self.sent - answered >= UNANSWERED)
    }

    /// Counts a turn in which something was sent.
    pub(crate) fn turned(&mut self) {
        self.turns += 1;
        if self.turns.is_multiple_of(TURNS) {
            let Some(input) = &mut self.input else { return };
            let peers = self.answered.borrow().len();
            input.send_batch(&mut (0..peers).map(|to| (self.worker, to)).collect());
            self.sent += 1;
            // A new time makes the sent messages leave at once.
            input.advance_to(self.sent);
        }
    }

    /// Closes the inputs: nothing more is sent.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }
}
