//! The release operator: every part of every window goes to worker 0, and each window that is declared
//! complete goes to the gate, whether or not a single record fell into it.
//!
//! It never blocks. Events of the gate are received when the operator is woken; until then it holds the
//! capability of the first window without an outcome, so that everything after it (a probe, a sink, the end
//! of the job) waits for durability without knowing of it.

use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use super::deliver::{LeavingRelease, SharedBackend, lock};
use super::window_queue::{WindowAction, WindowQueue};
use crate::accounting::Interval;
use crate::dataflow::driver::{Context, Fed, ProcessShared, RunError, draws_for_a_dataflow};
use crate::dataflow::engine::{
    Capability, ExchangeCore, MutableAntichain, OperatorBuilder, OutputBuilder, Probing, StreamVec,
    SyncActivator, Travels,
};
use crate::dataflow::messages::SmallMessages;
use crate::dataflow::windows::{Clock, Schedule, Windows};
use crate::gate;
use crate::gate::{
    BudgetStatus, Gate, GateEvent, HaltReason, ReleaseRequest, ResumePositions, ResumeUpdate, Sealable,
    SkipReason,
};
use crate::invalid::Invalid;
use crate::ledger::{Charge, Digest, LedgerError, Name, ReleaseId, Row};
use crate::time::{Span, Time};

/// A statistic with the schedule on which its windows are released.
#[doc(hidden)]
pub struct StatisticSchedule<S> {
    title: Title,
    schedule: Schedule,
    statistic: S,
    late: Option<Span>,
    skipping: Option<(Arc<dyn Clock>, Span)>,
    at_end: bool,
}

impl<S> fmt::Debug for StatisticSchedule<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatisticSchedule")
            .field("title", &self.title)
            .field("schedule", &self.schedule)
            .field("late", &self.late)
            .finish_non_exhaustive()
    }
}

impl<S: WindowStatistic> StatisticSchedule<S> {
    /// Creates the schedule of a statistic whose windows are all released as soon as they are complete.
    pub fn new(title: Title, schedule: Schedule, statistic: S) -> StatisticSchedule<S> {
        StatisticSchedule { title, schedule, statistic, late: None, skipping: None, at_end: false }
    }

    pub(in crate::dataflow) fn of(
        title: Title,
        windows: &Windows,
        schedule: Schedule,
        statistic: S,
    ) -> StatisticSchedule<S> {
        let Windows { late, skipping, at_end, .. } = windows.clone();
        StatisticSchedule { title, schedule, statistic, late, skipping, at_end }
    }

    /// Sets the allowed lateness: the time after its end for which a window takes records.
    ///
    /// # Errors
    ///
    /// If it is no span.
    pub fn late(
        mut self,
        late: impl TryInto<Span, Error: Into<Invalid>>,
    ) -> Result<StatisticSchedule<S>, Invalid> {
        self.late = Some(late.try_into().map_err(Into::into)?);
        Ok(self)
    }

    /// Sets the time limit of incomplete windows: one that is not complete this long after its close, by the
    /// clock, is skipped, never released late.
    ///
    /// # Errors
    ///
    /// If it is no span.
    pub fn skipping(
        mut self,
        clock: Arc<dyn Clock>,
        after: impl TryInto<Span, Error: Into<Invalid>>,
    ) -> Result<StatisticSchedule<S>, Invalid> {
        self.skipping = Some((clock, after.try_into().map_err(Into::into)?));
        Ok(self)
    }
}

/// A row, the status of its budget, and the time that the gate took.
type ReleaseOutcome = (Row, BudgetStatus, Option<Duration>);

impl<'scope, P: Travels> Fed<'scope, (u64, P)> {
    /// Releases a statistic without a proof of its privacy unit and its bound. For tests and benches of this
    /// library itself; other code begins with [`protect`](Fed::protect).
    ///
    /// The stream holds parts of tallies, each with the number of its window in the plan's schedule, sent at
    /// a time below the window's end and its lateness. The run fails if the gate refuses to open a
    /// [handle](Gate::handle).
    #[doc(hidden)]
    pub fn release_unproved_for_tests_of_the_library_itself<S: WindowStatistic<Part = P>>(
        self,
        gate: &Gate,
        plan: StatisticSchedule<S>,
    ) -> StreamVec<'scope, Time, LeavingRelease> {
        let Title { name, version, .. } = plan.title.clone();
        let at_end = plan.at_end;
        let shared = Arc::clone(&self.context.shared);
        shared.on_failure(Box::new(gate.halter()));
        let waker = Waker::default();
        let handle = (self.stream.scope().index() == 0).then(|| {
            if gate.is_elsewhere() {
                shared.fail(RunError::configuration("ledger: the process that holds worker 0 must open it"));
            }
            gate.handle(&name, &version, waker.wake())
        });
        let at_gate = handle.and_then(|handle| match handle {
            Ok(handle) => Some((plan, Box::new(handle) as Box<dyn ReleaseBackend>, waker)),
            Err(trouble) => {
                shared.fail(trouble.into());
                None
            }
        });
        release(self, at_end, at_gate)
    }
}

/// A waker of the release operator, which has no effect before the operator exists.
#[derive(Clone, Default)]
pub(crate) struct Waker(Arc<OnceLock<SyncActivator>>);

impl Waker {
    /// Sets the operator that it wakes; a waker is for one.
    pub(super) fn wakes(&self, activator: SyncActivator) {
        let _ = self.0.set(activator);
    }

    pub(crate) fn wake(&self) -> Wake {
        let waker = self.clone();
        Box::new(move || {
            draws_for_a_dataflow();
            if let Some(activator) = waker.0.get() {
                // A worker that has ended needs no waking.
                let _ = activator.activate();
            }
        })
    }
}

/// Releases a statistic through its backend, on worker 0; with `at_end`, which the plan on worker 0 has too,
/// no window before every input has ended.
pub(crate) fn release<'scope, S: WindowStatistic>(
    parts: Fed<'scope, (u64, S::Part)>,
    at_end: bool,
    at_gate: Option<(StatisticSchedule<S>, Box<dyn ReleaseBackend>, Waker)>,
) -> StreamVec<'scope, Time, LeavingRelease> {
    let Fed { stream, context } = parts;
    let scope = stream.scope();
    let name = at_gate.as_ref().map(|(plan, _, _)| format!("Release {}", plan.title.name));
    let mut builder = OperatorBuilder::new(name.unwrap_or_else(|| "Release".to_owned()), scope);
    let mut input =
        builder.new_input(stream, ExchangeCore::<SmallMessages<_>, _>::new_core(|_: &(u64, S::Part)| 0));
    let (releases, release_stream) = builder.new_output::<Vec<LeavingRelease>>();
    let mut releases = OutputBuilder::<_, SmallMessages<LeavingRelease>>::from(releases);

    let address = builder.operator_info().address;
    let activator = scope.activator_for(Rc::clone(&address));
    if let Some((_, _, waker)) = &at_gate {
        waker.wakes(scope.worker().sync_activator_for(address.to_vec()));
    }

    let known = scope.activator_for(Rc::clone(&address));
    context.gaps.on_advance(Box::new(move || known.activate()));
    let (own, turn) = (Rc::clone(&context), scope.activator_for(address));
    builder.build(move |mut capabilities| {
        let wake = Box::new(move || turn.activate());
        let mut sequencer = at_gate
            .map(|(plan, handle, _)| ReleaseSequencer::new(plan, handle, own, wake, capabilities.pop()));
        move |frontiers: &[MutableAntichain<Time>]| {
            let Some(sequencer) = &mut sequencer else {
                // Nothing is sent to the other workers.
                return input.for_each(|_, _| {});
            };
            input.for_each(|capability, batch| {
                let Some(given) = capability.least().copied() else { return };
                for (window, part) in batch.drain(..) {
                    sequencer.queue.absorb(given, window, part);
                }
            });
            // One input, whose times are totally ordered: its frontier is one time, or empty.
            let complete =
                frontiers.iter().flat_map(|frontier| frontier.frontier().iter().copied().min()).min();
            let mut releases = releases.activate();
            sequencer.serve(complete, &mut |capability, release| {
                releases.session_with_builder(capability).give(release)
            });
            if let Some(wait) = sequencer.next_look() {
                activator.activate_after(wait);
            }
        }
    });
    release_stream.probe_with(&context.probe(at_end))
}

/// The interval at which the clock is read while a window may be missed: a clock can be set.
const GLANCE: Duration = Duration::from_millis(50);

/// The release operator of worker 0.
struct ReleaseSequencer<S: WindowStatistic> {
    queue: WindowQueue<S, ReleaseOutcome>,
    handle: SharedBackend,
    shared: Arc<ProcessShared>,
    context: Rc<Context>,
    /// The statistic's position in the order in which windows of this input are submitted.
    place: usize,
    /// The number of the statistic among those whose needs decide from where a restart reads.
    need: usize,
    /// The end of the last window that a former run has settled.
    frontier: Option<Time>,
    clock: Option<Arc<dyn Clock>>,
    /// The windows that were submitted and that the gate has not answered for.
    asked: HashSet<Digest>,
    /// The capability of the first window without an outcome; `None` once nothing more can come.
    capability: Option<Capability<Time>>,
}

/// Returns the number of a release among those of its input, the end of the last window that a former run has
/// settled, and the number of the first window to request.
fn resumed(
    title: &Title,
    schedule: &Schedule,
    context: &Context,
    handle: &dyn ReleaseBackend,
) -> Result<(usize, Option<Time>, u64), LedgerError> {
    let positions = &context.positions;
    let of_release = (&title.name, &title.version);
    let (need, whole) = positions.join(&title.job, of_release, |input| handle.resume_positions(input))?;
    if !positions.resumes() {
        return Ok((need, None, 0));
    }
    let frontier = handle.last_row(&title.name, &title.version)?;
    let first = whole.map_or(0, |whole| schedule.resumed(frontier, whole));
    Ok((need, frontier, first))
}

/// The function that sends releases on, with this capability.
type Emit<'a> = dyn FnMut(&Capability<Time>, LeavingRelease) + 'a;

impl<S: WindowStatistic> ReleaseSequencer<S> {
    fn new(
        plan: StatisticSchedule<S>,
        handle: Box<dyn ReleaseBackend>,
        context: Rc<Context>,
        wake: Box<dyn Fn()>,
        capability: Option<Capability<Time>>,
    ) -> ReleaseSequencer<S> {
        let StatisticSchedule { title, schedule, statistic, late, skipping, at_end, .. } = plan;
        let (clock, skip_after) = skipping.unzip();
        let name = (title.job.clone(), title.name.clone());
        let (need, frontier, first) =
            resumed(&title, &schedule, &context, &*handle).unwrap_or_else(|trouble| {
                context.shared.fail(trouble.into());
                (0, None, 0)
            });
        let queue = WindowQueue::new(statistic, title, schedule, (late, skip_after), at_end).beginning(first);
        ReleaseSequencer {
            place: context.order.join(name, at_end, queue.next_close(), wake),
            queue,
            handle: Arc::new(Mutex::new(handle)),
            need,
            frontier,
            shared: Arc::clone(&context.shared),
            context,
            clock,
            asked: HashSet::new(),
            capability,
        }
    }

    fn serve(&mut self, complete: Option<Time>, emit: &mut Emit<'_>) {
        let Some(mut capability) = self.capability.take() else { return };
        let before = self.queue.awaited();
        self.hear(&capability, emit);
        // After a failure nothing leaves, and nothing is marked as settled.
        if !self.shared.has_failed() {
            // Before more is submitted: the positions are of what is settled by now.
            let needed = self.queue.needed_since(self.frontier);
            if let Some(update) = self.context.positions.settled(self.need, needed) {
                let written = self.context.positions.written_notice(&update);
                lock(&self.handle).keep_positions(update, written);
            }
            // A window whose gaps are not all known yet is not complete.
            self.submit(complete.map(|complete| complete.min(self.context.gaps.complete())));
            while let Some((close, outcome)) = self.queue.pop() {
                self.leave(&capability.delayed(&close), outcome, emit);
            }
        }
        self.shared.awaits(before, self.queue.awaited());
        self.capability = self.queue.settled().map(|settled| {
            capability.downgrade(&settled);
            capability
        });
    }

    fn hear(&mut self, capability: &Capability<Time>, emit: &mut Emit<'_>) {
        loop {
            let heard = lock(&self.handle).hear();
            match heard {
                None => return,
                Some(GateEvent::Halted(reason)) => {
                    let why = lock(&self.handle).why(reason);
                    return self.shared.fail(why.into());
                }
                // This operator seeks nothing.
                Some(GateEvent::Absent(_)) => {}
                // Delivered by another process, or before: the window is settled, and nothing leaves here.
                Some(GateEvent::Withheld(row)) => {
                    self.asked.remove(&row.release().id());
                    self.queue.withhold(row.release().id());
                }
                Some(GateEvent::Archived(release)) => {
                    self.asked.remove(&release.id());
                    self.queue.withhold(release.id());
                }
                Some(GateEvent::Row(row, budget_status)) => {
                    let release = row.release().clone();
                    let took = self.asked.remove(&release.id()).then_some(budget_status.took);
                    let early = self.queue.hear(&release, (*row, *budget_status, took));
                    if let Some(early) = early.filter(|_| !self.shared.has_failed()) {
                        self.leave(capability, early, emit);
                    }
                }
            }
        }
    }

    fn submit(&mut self, complete: Option<Time>) {
        let now = self.clock.as_ref().map(|clock| clock.now());
        let (order, place) = (&self.context.order, self.place);
        while !self.shared.is_over()
            && let Some(word) = self.queue.next(
                complete,
                now,
                |close| order.is_turn(place, close),
                |window| self.context.gaps.overlap(window),
            )
        {
            match word {
                WindowAction::Skip(release, why) => lock(&self.handle).skip(release, why),
                WindowAction::Submit(request) => {
                    self.asked.insert(request.release.id());
                    if let Err(trouble) = lock(&self.handle).submit(request) {
                        self.shared.fail(trouble.into());
                    }
                }
            }
        }
        order.advance(place, self.queue.next_close());
    }

    fn leave(
        &self,
        capability: &Capability<Time>,
        (row, budget_status, took): ReleaseOutcome,
        emit: &mut Emit<'_>,
    ) {
        self.shared.count(&row);
        emit(capability, LeavingRelease::new((row, budget_status, took), &self.handle, &self.shared));
    }

    /// Returns the time for which the operator may sleep.
    fn next_look(&self) -> Option<Duration> {
        let remaining = self.queue.next_deadline()?.saturating_sub(self.clock.as_ref()?.now());
        let remaining = Duration::from_micros(u64::try_from(remaining).unwrap_or(0));
        Some(remaining.clamp(Duration::from_millis(1), GLANCE))
    }
}

// Statistics, as the release operator sees them.

/// A statistic of one window: the merge of its exact tally from the parts of the workers, and its release.
///
/// It vouches that one protected unit moves a tally by no more than the noise in its [`Sealable`] was made
/// for; the parts that arrive here are already bounded.
pub trait WindowStatistic: 'static {
    /// The tally of one worker for a window.
    type Part: Travels;
    /// The tally of all workers: exact, and private until it is sealed.
    type Tally: 'static;

    /// Creates the tally of a window without a record.
    fn tally(&self, window: Interval) -> Self::Tally;

    /// Adds a part to a tally. The order of parts makes no difference.
    fn absorb(&self, tally: &mut Self::Tally, part: Self::Part);

    /// Returns the charge of a window. No tally is in reach: a cost is public.
    fn charge(&self, window: Interval) -> Charge;

    /// Returns the number of the last window, if there is one; later ones are skipped, each with a row that
    /// records it.
    fn last(&self) -> Option<u64> {
        None
    }

    /// Returns the finished tally with the mechanism that will noise it.
    fn sealable(&self, window: Interval, tally: Self::Tally) -> Box<dyn Sealable>;

    /// Takes the tally of a window that is skipped, or that a former run has settled: what it says of people holds for
    /// later windows.
    fn unreleased(&self, _window: Interval, _tally: Self::Tally) {}

    /// Takes a part of such a window that came after it was skipped.
    fn part_unreleased(&self, _window: Interval, _part: Self::Part) {}
}

/// The common part of the names of a statistic's releases: all but the window and the part of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Title {
    /// The account that they are charged to.
    pub account: Name,
    /// The job that releases them.
    pub job: Name,
    /// A hash of the release's version and of every parameter that privacy depends on, as [`Digest::of_version`]
    /// makes it.
    pub version: Digest,
    /// The name of the statistic.
    pub name: Name,
}

impl Title {
    /// Returns the id of the release of one window.
    pub fn of(&self, window: Interval) -> ReleaseId {
        let Title { account, job, version, name } = self.clone();
        ReleaseId { account, job, version, name, window, part: None }
    }

    /// Returns the id of the release of one of several answers over a window.
    pub fn part(&self, window: Interval, part: Digest) -> ReleaseId {
        ReleaseId { part: Some(part), ..self.of(window) }
    }
}

// Connection of the release operator to the gate: one handle a statistic, at the worker that holds the gate.

/// A function that the gate's thread calls when there is an event to receive.
pub(crate) type Wake = Box<dyn Fn() + Send>;

/// The gate as one statistic's operator sees it. No method blocks.
pub(crate) trait ReleaseBackend: Send {
    fn submit(&self, request: ReleaseRequest) -> Result<(), LedgerError>;
    /// Requests the row of a release; without one, the gate reports that it is absent.
    fn seek(&self, release: ReleaseId);
    /// Skips a window, unless it has a row.
    fn skip(&self, release: ReleaseId, why: SkipReason);
    fn hear(&self) -> Option<GateEvent>;
    fn delivered(&self, row: &Row);
    /// Returns the end of the last window of a release that has a row.
    fn last_row(&self, name: &Name, version: &Digest) -> Result<Option<Time>, LedgerError>;
    /// Returns the resume positions that a former run has left of an input.
    fn resume_positions(&self, input: i64) -> Result<Option<ResumePositions>, LedgerError>;
    /// Writes resume positions with the next rows, and calls `written` after that.
    fn keep_positions(&self, update: ResumeUpdate, written: Box<dyn FnOnce() + Send>);
    /// Returns the error for which the gate stopped, after the event of its halt.
    fn why(&self, reason: HaltReason) -> LedgerError {
        reason.into()
    }
}

impl ReleaseBackend for gate::GateHandle {
    fn submit(&self, request: ReleaseRequest) -> Result<(), LedgerError> {
        gate::GateHandle::submit(self, request)
    }

    fn seek(&self, release: ReleaseId) {
        gate::GateHandle::seek(self, release);
    }

    fn skip(&self, release: ReleaseId, why: SkipReason) {
        gate::GateHandle::skip(self, release, why);
    }

    fn hear(&self) -> Option<GateEvent> {
        gate::GateHandle::hear(self)
    }

    fn delivered(&self, row: &Row) {
        gate::GateHandle::delivered(self, row);
    }

    fn last_row(&self, name: &Name, version: &Digest) -> Result<Option<Time>, LedgerError> {
        gate::GateHandle::last_row(self, name, version)
    }

    fn resume_positions(&self, input: i64) -> Result<Option<ResumePositions>, LedgerError> {
        gate::GateHandle::resume_positions(self, input)
    }

    fn keep_positions(&self, update: ResumeUpdate, written: Box<dyn FnOnce() + Send>) {
        gate::GateHandle::keep_positions(self, update, written);
    }

    fn why(&self, reason: HaltReason) -> LedgerError {
        gate::GateHandle::why(self, reason)
    }
}
