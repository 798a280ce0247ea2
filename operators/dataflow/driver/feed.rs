//! Streams whose completeness is somebody's word.
//!
//! Every input handle belongs to the driver. What builds a dataflow holds streams only, so there is nothing that it
//! could drop, return early with or forget whose loss would look like the end of the data.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use super::external::{Control, External, WorkerDeclaration};
use super::failure::RunError;
use super::shared::Context;
use super::source::{BATCH, Pulled, Source};
use crate::dataflow::engine::{
    CapacityContainerBuilder, Concat, Filter, InputHandle, Map, OperatorBuilder, OutputBuilder, Pipeline,
    Scope, StreamVec,
};
use crate::invalid::{Invalid, InvalidKind};
use crate::time::Time;

/// The inputs of one worker's dataflows.
pub struct Feeds {
    pub(crate) context: Rc<Context>,
    pub(crate) pumps: Vec<Box<dyn Pump>>,
    worker: usize,
    peers: usize,
}

impl fmt::Debug for Feeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feeds").field("inputs", &self.pumps.len()).finish_non_exhaustive()
    }
}

impl Feeds {
    pub(crate) fn new(context: Rc<Context>, worker: usize, peers: usize) -> Feeds {
        Feeds { context, pumps: Vec::new(), worker, peers }
    }

    /// The records of a source, which is this worker's part of the input. A worker without a part has a source that
    /// ends at once: `All::of([])`.
    pub fn stream<'scope, S: Source>(
        &mut self,
        scope: Scope<'scope, Time>,
        source: S,
    ) -> Fed<'scope, S::Record> {
        let mut input = InputHandle::new();
        let stream = input.to_stream(scope);
        let batch = Vec::with_capacity(BATCH);
        self.pumps.push(Box::new(Tap { source, input, batch, declared: Time::MIN, phase: Phase::Flowing }));
        Fed { stream, context: self.context.of_an_input() }
    }

    /// For a stream that the driver does not feed, such as one that comes out of a connector. Its input is in so many
    /// partitions, over all workers. The [`WorkerDeclaration`] says what is complete; the [`External`] takes the stream.
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
        let word = WorkerDeclaration::new(Rc::clone(&control), Rc::clone(&self.context));
        let external = External::new(Rc::clone(&input), self.context.of_an_input(), partitions, self.peers);
        self.pumps.push(Box::new(super::external::Wire::new(control, input)));
        Ok((word, external))
    }
}

/// What the driver does with an input.
pub(crate) trait Pump {
    /// Takes what is there, unless the dataflow is behind (`may_pull`), and says how that went.
    fn turn(&mut self, context: &Context, may_pull: bool) -> Result<Turn, RunError>;
}

/// How a turn went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Something was fed or declared.
    Moved,
    /// There was nothing to do.
    Still,
    /// The input has been declared complete to the end, and the dataflow was told.
    Over,
}

struct Tap<S: Source> {
    source: S,
    input: InputHandle<Time, CapacityContainerBuilder<Vec<S::Record>>>,
    batch: Vec<S::Record>,
    declared: Time,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Flowing,
    /// The source has ended, and what it declared before is not settled yet. To go to the end of time at once would hide
    /// from a schedule without an end which windows had been complete.
    Ended,
    Over,
}

impl<S: Source> Pump for Tap<S> {
    fn turn(&mut self, context: &Context, may_pull: bool) -> Result<Turn, RunError> {
        match self.phase {
            Phase::Flowing if may_pull => self.pull(),
            Phase::Ended if context.is_settled_before(self.declared) => {
                self.input.advance_to(Time::MAX);
                self.phase = Phase::Over;
                Ok(Turn::Moved)
            }
            Phase::Flowing | Phase::Ended => Ok(Turn::Still),
            Phase::Over => Ok(Turn::Over),
        }
    }
}

impl<S: Source> Tap<S> {
    fn pull(&mut self) -> Result<Turn, RunError> {
        let pulled = self.source.pull(&mut self.batch)?;
        let moved = !self.batch.is_empty();
        self.input.send_batch(&mut self.batch);
        self.batch.clear();
        match pulled {
            Pulled::Idle if !moved => return Ok(Turn::Still),
            Pulled::Idle | Pulled::More => {}
            Pulled::Complete(time) if time < self.declared => return Err(went_back()),
            Pulled::Complete(time) => {
                // The end of time says that the input has ended; only `End` says so.
                self.declared = time.min(Time::MAX - 1);
                self.input.advance_to(self.declared);
            }
            Pulled::End => self.phase = Phase::Ended,
        }
        Ok(Turn::Moved)
    }
}

pub(crate) fn went_back() -> RunError {
    RunError::abandoned("a source declared less complete than it had declared before")
}

/// A stream that is complete where its feed says so, and nowhere else.
pub struct Fed<'scope, D: 'static> {
    pub(crate) stream: StreamVec<'scope, Time, D>,
    pub(crate) context: Rc<Context>,
}

/// The same records, for another sentence. Each pays for itself.
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
    /// Each record turned into another.
    pub fn map<R: 'static>(self, logic: impl FnMut(D) -> R + 'static) -> Fed<'scope, R> {
        Fed { stream: self.stream.map(logic), context: self.context }
    }

    /// The records for which the predicate holds.
    pub fn filter(self, mut predicate: impl FnMut(&D) -> bool + 'static) -> Fed<'scope, D> {
        Fed { stream: self.stream.filter(move |record| predicate(record)), context: self.context }
    }

    /// Each record turned into any number of others.
    pub fn flat_map<I: IntoIterator<Item: 'static> + 'static>(
        self,
        logic: impl FnMut(D) -> I + 'static,
    ) -> Fed<'scope, I::Item> {
        Fed { stream: self.stream.flat_map(logic), context: self.context }
    }

    /// What timely operators make of it. Whatever they do, what comes out is not complete before what went in is.
    pub fn through<R: 'static>(
        self,
        operators: impl FnOnce(StreamVec<'scope, Time, D>) -> StreamVec<'scope, Time, R>,
    ) -> Fed<'scope, R> {
        let (stream, witness) = witnessed(self.stream);
        Fed { stream: operators(stream).concat(witness), context: self.context }
    }
}

/// A stream, and another that is complete when it is and carries nothing.
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
