//! Streams whose completeness is declared.
//!
//! Every input handle belongs to the driver. The closure that builds a dataflow holds streams only, so there
//! is nothing that it could drop, return early with or forget whose loss would look like the end of the data.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::{fmt, mem};

use crossbeam_channel::Receiver;

use super::carried::{Carried, Carrier, carry};
use super::external::{Control, External, Wire, WorkerDeclaration};
use super::failure::RunError;
use super::followed::{Follower, follow};
use super::gaps::{InputGaps, ReportInput, SourceReport};
use super::positions::{FormerInput, InputPositions, ORIGIN, former_stream};
use super::pushed::{PushedInput, pushed};
use super::shared::{Context, ReadPace};
use super::source::{BATCH, Pulled, Source};
use crate::dataflow::engine::{
    CapacityContainerBuilder, Concat, Filter, InputHandle, Map, OperatorBuilder, OutputBuilder, Pipeline,
    Scope, StreamVec, Timestamp, TotalOrder,
};
use crate::invalid::{Invalid, InvalidKind};
use crate::time::{Time, in_utc};

/// The inputs of one worker's dataflows.
pub struct Feeds {
    pub(crate) context: Rc<Context>,
    pub(crate) pumps: Vec<Box<dyn Pump>>,
    followers: Vec<Box<dyn Follower>>,
    carriers: Vec<Box<dyn Carrier>>,
    /// For each input that the program pushes into, a function that says if it has finished it.
    finish_probes: Vec<Box<dyn Fn() -> bool>>,
    worker: usize,
    peers: usize,
    /// The number of streams of sources so far.
    inputs: i64,
}

impl fmt::Debug for Feeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feeds").field("inputs", &self.pumps.len()).finish_non_exhaustive()
    }
}

impl Feeds {
    pub(crate) fn new(context: Rc<Context>, worker: usize, peers: usize) -> Feeds {
        let (pumps, followers, carriers, finish_probes) = Default::default();
        Feeds { context, pumps, followers, carriers, finish_probes, worker, peers, inputs: 0 }
    }

    /// Returns the stream of a source, which is this worker's part of the input. A worker without a part has
    /// a source that ends at once: `All::of([])`.
    pub fn stream<'scope, S: Source>(
        &mut self,
        scope: Scope<'scope, Time>,
        source: S,
    ) -> Fed<'scope, S::Record> {
        self.context.holds(scope);
        let mut input = InputHandle::new();
        let stream = input.to_stream(scope);
        let number = self.inputs;
        let positions = InputPositions::new(number, source.resumes().then(|| source.reading()));
        self.inputs += 1;
        let former = Some(former_stream(scope, &positions));
        let (gaps, reports) = InputGaps::stream(scope, &positions, source.local_zone());
        let (worker, peers) = (self.worker, self.peers);
        self.pumps.push(Box::new(Tap {
            source,
            input,
            reports,
            former,
            positions: Rc::clone(&positions),
            worker: (worker, peers),
            batch: Vec::with_capacity(BATCH),
            number,
            records: 0,
            declared: Time::MIN,
            gap: None,
            phase: Phase::Starting,
        }));
        Fed { stream, context: self.context.of_an_input(gaps, positions) }
    }

    /// Returns an input into which the program itself pushes this worker's part of the records, and its stream.
    pub fn input<'scope, D: Clone + 'static>(
        &mut self,
        scope: Scope<'scope, Time>,
    ) -> (PushedInput<D>, Fed<'scope, D>) {
        let (input, source) = pushed(Arc::clone(&self.context.shared));
        self.finish_probes.push(source.finish_probe());
        (input, self.stream(scope, source))
    }

    /// Carries a stream out of its dataflow, for one with another type of timestamp: records and frontier, each time
    /// mapped by `time`, which must not decrease. [`Carried::enter`] is its end.
    ///
    /// It is complete as far as its frontier says. Where that may be because an input was dropped, a pipeline adopts it by
    /// [declaration](Feeds::external).
    pub fn carry<T: Timestamp + TotalOrder, R: Timestamp + TotalOrder, D: Clone + 'static>(
        &mut self,
        stream: StreamVec<'_, T, D>,
        time: impl Fn(&T) -> R + 'static,
    ) -> Carried<R, D> {
        let (carried, carrier) = carry(stream, time, Rc::clone(&self.context));
        self.carriers.push(carrier);
        carried
    }

    /// Registers a stream that the driver does not feed, such as the output of a connector. Its input has
    /// `partitions` partitions, over all workers. The [`WorkerDeclaration`] declares which times are
    /// complete; the [`External`] adopts the stream.
    ///
    /// # Errors
    ///
    /// If there are no partitions.
    pub fn external(&mut self, partitions: usize) -> Result<(WorkerDeclaration, External), Invalid> {
        if partitions == 0 {
            return Err(Invalid::new("partitions", InvalidKind::Zero, "a number above 0"));
        }
        let control = Rc::new(RefCell::new(Control::new(self.worker, partitions)));
        let input = Rc::new(RefCell::new(InputHandle::new()));
        let (positions, gaps) = (InputPositions::new(-1, None), Rc::new(InputGaps::none()));
        let context = self.context.of_an_input(gaps, positions);
        let word = WorkerDeclaration::new(Rc::clone(&control), Rc::clone(&self.context));
        let external = External::new(Rc::clone(&input), context, partitions, self.peers);
        self.pumps.push(Box::new(Wire::new(control, input)));
        Ok((word, external))
    }

    /// Returns a stream of events from outside; their time is that up to which the inputs of this worker are complete.
    pub(crate) fn follow<'scope, D: Clone + 'static>(
        &mut self,
        scope: Scope<'scope, Time>,
        events: Option<Receiver<D>>,
    ) -> StreamVec<'scope, Time, D> {
        self.context.holds(scope);
        let (stream, follower) = follow(scope, events);
        self.followers.push(follower);
        stream
    }

    /// Gives every input a turn. Returns `Over` once all of them are.
    pub(super) fn turn(&mut self, pace: &mut ReadPace) -> Result<Turn, RunError> {
        let may_pull = !pace.is_behind();
        let mut all = Turn::Over;
        for pump in &mut self.pumps {
            match (pump.turn(&self.context, may_pull)?, all) {
                (Turn::Moved, _) => all = Turn::Moved,
                (Turn::Still, Turn::Over) => all = Turn::Still,
                _ => {}
            }
        }
        self.followed();
        if all == Turn::Moved {
            pace.turned();
        }
        Ok(all)
    }

    /// Gives the followers of the inputs and the carried streams a turn.
    pub(super) fn followed(&mut self) {
        if !self.followers.is_empty() {
            let complete = self.pumps.iter().map(|pump| pump.complete()).min().unwrap_or(Time::MAX);
            self.followers.iter_mut().for_each(|follower| follower.turn(complete));
        }
        self.carriers.iter_mut().for_each(|carrier| carrier.turn());
    }

    /// Closes all inputs: of the library, and of streams that were carried into its dataflows from those of the program.
    pub(super) fn close(&mut self) {
        self.pumps.clear();
        // What has come up to the end.
        self.followed();
        self.followers.clear();
        self.carriers.retain(|carrier| !carrier.comes_from_the_program());
    }

    /// Returns true if the program has finished every input that it pushes into.
    pub(super) fn are_finished(&self) -> bool {
        self.finish_probes.iter().all(|is_finished| is_finished())
    }

    /// Leaves all inputs open for ever: to drop one is to close it, which looks like the end of its data.
    pub(super) fn leak(&mut self) {
        mem::forget(mem::take(&mut self.pumps));
        mem::forget(mem::take(&mut self.followers));
        mem::forget(mem::take(&mut self.carriers));
    }
}

/// An input as the driver sees it.
pub(crate) trait Pump {
    /// Feeds the available records, unless the dataflow is behind (`may_pull`), and returns the result.
    fn turn(&mut self, context: &Context, may_pull: bool) -> Result<Turn, RunError>;

    /// Returns the time up to which the dataflow has all records of it.
    fn complete(&self) -> Time;
}

/// The result of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Something was fed or declared.
    Moved,
    /// There was nothing to do.
    Still,
    /// The input has been declared complete to the end, and the dataflow has been advanced there.
    Over,
}

struct Tap<S: Source> {
    source: S,
    input: InputHandle<Time, CapacityContainerBuilder<Vec<S::Record>>>,
    reports: ReportInput,
    /// The handle of the former positions, until they are sent.
    former: Option<FormerInput>,
    positions: Rc<InputPositions>,
    /// The index of this worker, and the number of all.
    worker: (usize, usize),
    batch: Vec<S::Record>,
    /// The number of the input, and of the records that were pulled from this part of it.
    number: i64,
    records: u64,
    declared: Time,
    /// The end of the last gap since the last milestone.
    gap: Option<Time>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The source does not know yet where to begin.
    Starting,
    Flowing,
    /// The source has ended, and the windows that it declared complete are not settled yet. To advance to the
    /// end of time at once would hide from a schedule without a last window which windows had been complete.
    Ended,
    Over,
}

impl<S: Source> Pump for Tap<S> {
    fn turn(&mut self, context: &Context, may_pull: bool) -> Result<Turn, RunError> {
        match self.phase {
            Phase::Starting => self.start(),
            Phase::Flowing if may_pull => self.pull(),
            Phase::Ended if context.is_settled_before(self.declared) => {
                self.input.advance_to(Time::MAX);
                self.reports.advance_to(Time::MAX);
                self.phase = Phase::Over;
                Ok(Turn::Moved)
            }
            Phase::Flowing | Phase::Ended => Ok(Turn::Still),
            Phase::Over => Ok(Turn::Over),
        }
    }

    fn complete(&self) -> Time {
        *self.input.time()
    }
}

/// The most milestones that are taken at once from a source.
const MILESTONES: usize = 16;

impl<S: Source> Tap<S> {
    /// Lets the source begin where a former run has left off. Releases have joined by now: the dataflow is
    /// built.
    fn start(&mut self) -> Result<Turn, RunError> {
        let (worker, peers) = self.worker;
        if let Some(mut former) = self.former.take().filter(|_| worker == 0) {
            let positions = self.positions.begin();
            former.send_batch(&mut (0..peers).map(|to| (to, positions.clone())).collect());
        }
        if self.positions.resumes() {
            let Some(former) = self.positions.arrived() else { return Ok(Turn::Still) };
            let partitions = former.iter().map(|positions| positions.len() as u64).sum::<u64>();
            to_operator!(
                DEBUG,
                "input resumed",
                input = self.number,
                worker = worker as u64,
                partitions,
                "an input goes on where a former run has left off"
            );
            self.source.resume(former)?;
        }
        self.phase = Phase::Flowing;
        Ok(Turn::Moved)
    }

    fn pull(&mut self) -> Result<Turn, RunError> {
        let written = self.positions.take_written();
        if !written.is_empty() {
            self.source.written(written);
        }
        let pulled = self.source.pull(&mut self.batch)?;
        let moved = !self.batch.is_empty();
        self.records += self.batch.len() as u64;
        self.input.send_batch(&mut self.batch);
        self.batch.clear();
        if let Pulled::Gap(_, end) = pulled {
            self.gap = self.gap.max(Some(end));
        }
        // Those before a time that is complete are reported before that.
        for _ in 0..MILESTONES {
            let Some(mut milestone) = self.source.milestone() else { break };
            // While windows over a gap are unsettled, a restart must come upon it again.
            if milestone.latest != ORIGIN {
                milestone.latest = milestone.latest.max(self.gap.take().map_or(Time::MIN, |end| end - 1));
            }
            self.reports.send(SourceReport::Milestone(self.worker.0, milestone));
            // The time of the stream may stand still for long, while a backlog is read.
            self.reports.flush();
        }
        match pulled {
            Pulled::Idle if !moved => return Ok(Turn::Still),
            Pulled::Idle | Pulled::More => {}
            Pulled::Gap(start, end) => {
                to_operator!(
                    DEBUG,
                    "input gap",
                    input = self.number,
                    worker = self.worker.0 as u64,
                    start = %in_utc(start),
                    end = %in_utc(end),
                    "an input was not connected"
                );
                self.reports.send(SourceReport::Gap(start, end));
            }
            Pulled::Complete(time) if time < self.declared => return Err(went_back()),
            Pulled::Complete(time) => {
                // The end of time means that the input has ended; only `End` declares that.
                self.declared = time.min(Time::MAX - 1);
                self.input.advance_to(self.declared);
                self.reports.advance_to(self.declared);
            }
            Pulled::End => {
                let (input, worker, records) = (self.number, self.worker.0 as u64, self.records);
                to_operator!(DEBUG, "input ended", input, worker, records, "an input has ended");
                self.phase = Phase::Ended;
            }
        }
        Ok(Turn::Moved)
    }
}

pub(crate) fn went_back() -> RunError {
    RunError::abandoned("a source declared less complete than it had declared before")
}

/// A stream that is complete as far as its feed declares it, and no further.
pub struct Fed<'scope, D: 'static> {
    pub(crate) stream: StreamVec<'scope, Time, D>,
    pub(crate) context: Rc<Context>,
}

/// Clones the stream of the same records, for another pipeline. Each pipeline pays for itself.
impl<D: Clone> Clone for Fed<'_, D> {
    fn clone(&self) -> Self {
        Fed { stream: self.stream.clone(), context: Rc::clone(&self.context) }
    }
}

impl<D> fmt::Debug for Fed<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fed(<private>)")
    }
}

impl<'scope, D: 'static> Fed<'scope, D> {
    /// Maps each record to another.
    pub fn map<R: 'static>(self, logic: impl FnMut(D) -> R + 'static) -> Fed<'scope, R> {
        Fed { stream: self.stream.map(logic), context: self.context }
    }

    /// Keeps the records for which the predicate holds.
    pub fn filter(self, mut predicate: impl FnMut(&D) -> bool + 'static) -> Fed<'scope, D> {
        Fed { stream: self.stream.filter(move |record| predicate(record)), context: self.context }
    }

    /// Maps each record to any number of others.
    pub fn flat_map<I: IntoIterator<Item: 'static> + 'static>(
        self,
        logic: impl FnMut(D) -> I + 'static,
    ) -> Fed<'scope, I::Item> {
        Fed { stream: self.stream.flat_map(logic), context: self.context }
    }

    /// Adds timely operators. Whatever they do, their output is not complete before their input is.
    pub fn through<R: 'static>(
        self,
        operators: impl FnOnce(StreamVec<'scope, Time, D>) -> StreamVec<'scope, Time, R>,
    ) -> Fed<'scope, R> {
        let (stream, witness) = witnessed(self.stream);
        Fed { stream: operators(stream).concat(witness), context: self.context }
    }
}

/// Returns a stream, and another that is complete when it is and carries nothing.
fn witnessed<'scope, D: 'static, R: 'static>(
    stream: StreamVec<'scope, Time, D>,
) -> (StreamVec<'scope, Time, D>, StreamVec<'scope, Time, R>) {
    let mut builder = OperatorBuilder::new("Witness".to_owned(), stream.scope());
    let mut input = builder.new_input(stream, Pipeline);
    let (output, same) = builder.new_output::<Vec<D>>();
    let (_, witness) = builder.new_output::<Vec<R>>();
    let mut output = OutputBuilder::<_, CapacityContainerBuilder<Vec<D>>>::from(output);
    builder.build(move |_| {
        move |_| {
            let mut output = output.activate();
            input.for_each(|capability, batch| output.session(&capability).give_container(batch));
        }
    });
    (same, witness)
}
