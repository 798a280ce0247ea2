//! The completeness of a stream that the library does not feed: partition by partition, by declaration.
//!
//! Declarations of all workers meet at worker 0, in an operator that holds one capability for all partitions
//! and downgrades it as far as every one of them has been declared. Its output is empty, and is concatenated
//! with the foreign stream: so an operator that waits for the stream to be complete waits for both.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use differential_dataflow::VecCollection;
use serde::{Deserialize, Serialize};

use super::failure::RunError;
use super::feed::{Fed, Pump, Turn, went_back};
use super::shared::Context;
use crate::accounting::Interval;
use crate::dataflow::engine::{
    Capability, CapacityContainerBuilder, Concat, Exchange, InputHandle, MutableAntichain, OperatorBuilder,
    StreamVec,
};
use crate::invalid::{Invalid, InvalidKind};
use crate::time::Time;

/// A message of a worker, with the worker's number.
type WorkerMessage = (usize, Declaration);

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Declaration {
    /// A partition is complete up to a time.
    Complete(usize, Time),
    /// The records between two times are missing.
    Gap(Time, Time),
    /// The worker has nothing more to declare.
    Finished,
    /// The declared windows are settled: the worker's partitions may advance to the end of time.
    Ended,
}

type ExternalInput = InputHandle<Time, CapacityContainerBuilder<Vec<WorkerMessage>>>;

/// The declarations of this worker.
pub(crate) struct Control {
    worker: usize,
    partitions: usize,
    declared: BTreeMap<usize, Time>,
    unsent: Vec<WorkerMessage>,
    finished: bool,
    ended: bool,
}

impl Control {
    pub(crate) fn new(worker: usize, partitions: usize) -> Control {
        Control {
            worker,
            partitions,
            declared: BTreeMap::new(),
            unsent: Vec::new(),
            finished: false,
            ended: false,
        }
    }
}

/// The declarations of one worker about an external stream. A partition is declared by one worker, the one
/// that reads it.
///
/// Dropping it before [`finish`](WorkerDeclaration::finish) abandons the input: nothing is completed by that,
/// and the run ends.
pub struct WorkerDeclaration {
    control: Rc<RefCell<Control>>,
    context: Rc<Context>,
}

impl fmt::Debug for WorkerDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerDeclaration")
            .field("declared", &self.control.borrow().declared)
            .finish_non_exhaustive()
    }
}

impl WorkerDeclaration {
    pub(crate) fn new(control: Rc<RefCell<Control>>, context: Rc<Context>) -> WorkerDeclaration {
        WorkerDeclaration { control, context }
    }

    /// Declares that every record of a partition which is in time for a window that closes at or before
    /// `time` was sent. Repeating a declaration changes nothing.
    ///
    /// # Errors
    ///
    /// If there is no such partition, or more had been declared before; then the run ends, too.
    pub fn complete(&self, partition: usize, time: Time) -> Result<(), Invalid> {
        let mut control = self.control.borrow_mut();
        if partition >= control.partitions {
            let remedy = format!("a partition below {}", control.partitions);
            return Err(Invalid::new("partition", InvalidKind::TooLarge, remedy));
        }
        // The end of time means that a partition has ended; only `finish` declares that.
        let time = time.min(Time::MAX - 1);
        match control.declared.insert(partition, time) {
            Some(before) if before > time => {
                self.context.shared.fail(went_back());
                Err(Invalid::new(
                    "complete",
                    InvalidKind::TooSmall,
                    "a time that is not before what was declared",
                ))
            }
            Some(before) if before == time => Ok(()),
            _ => {
                let message = (control.worker, Declaration::Complete(partition, time));
                control.unsent.push(message);
                Ok(())
            }
        }
    }

    /// Declares an input gap: what came from `start` to `end` is missing, such as what came while the program was away.
    /// A window that overlaps it and is not complete yet is skipped, at no cost.
    ///
    /// # Errors
    ///
    /// Unless it ends after it starts.
    pub fn gap(&self, start: Time, end: Time) -> Result<(), Invalid> {
        valid_gap(start, end)?;
        let mut control = self.control.borrow_mut();
        let message = (control.worker, Declaration::Gap(start, end));
        control.unsent.push(message);
        Ok(())
    }

    /// Declares that all partitions of which this worker has declared a time have ended, and that it reads no
    /// other.
    pub fn finish(self) {
        let mut control = self.control.borrow_mut();
        control.finished = true;
        let end = (control.worker, Declaration::Finished);
        control.unsent.push(end);
    }
}

impl Drop for WorkerDeclaration {
    fn drop(&mut self) {
        if !self.control.borrow().finished && !self.context.shared.is_over() {
            self.context
                .shared
                .fail(RunError::abandoned("an external input was left before it was finished"));
        }
    }
}

/// The counterpart of a [`WorkerDeclaration`], which adopts the stream that it declares.
pub struct External {
    input: Rc<RefCell<ExternalInput>>,
    context: Rc<Context>,
    partitions: usize,
    peers: usize,
}

impl fmt::Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("External").field("partitions", &self.partitions).finish_non_exhaustive()
    }
}

impl External {
    pub(crate) fn new(
        input: Rc<RefCell<ExternalInput>>,
        context: Rc<Context>,
        partitions: usize,
        peers: usize,
    ) -> External {
        External { input, context, partitions, peers }
    }

    /// Returns the changes of a differential collection, for
    /// [`protect_collection`](Fed::protect_collection): complete up to its own frontier and the declared times.
    pub fn adopt_collection<D: Clone + 'static>(
        self,
        collection: VecCollection<'_, Time, D>,
    ) -> Fed<'_, (D, Time, isize)> {
        self.adopt(collection.inner)
    }

    /// Returns the stream, complete up to its own frontier and the declared times.
    pub fn adopt<D: 'static>(self, stream: StreamVec<'_, Time, D>) -> Fed<'_, D> {
        let scope = stream.scope();
        self.context.holds(scope);
        let messages = self.input.borrow_mut().to_stream(scope);
        let mut builder = OperatorBuilder::new("Declarations".to_owned(), scope);
        // Neither input is connected to the output: the frontier of the output is the capability alone.
        let mut messages =
            builder.new_input_connection(messages, Exchange::new(|_: &WorkerMessage| 0), std::iter::empty());
        let (_, complete) = builder.new_output_connection::<Vec<D>, _>(std::iter::empty());
        let (shared, gaps) = (Arc::clone(&self.context.shared), Rc::clone(&self.context.gaps));
        let here = scope.index() == 0;
        builder.build(move |mut capabilities| {
            let mut capability = capabilities.pop().filter(|_| here);
            let mut table = DeclaredTable::new(self.partitions, self.peers);
            move |frontiers: &[MutableAntichain<Time>]| {
                messages.for_each(|_, batch| {
                    for message in batch.drain(..) {
                        // A worker's messages arrive in their order: its gaps before what they are missing from is complete.
                        if let (_, Declaration::Gap(start, end)) = message
                            && let Ok(gap) = Interval::new(start, end)
                        {
                            gaps.add(gap);
                        }
                        if let Err(failure) = table.add(message) {
                            shared.fail(failure);
                        }
                    }
                });
                let vanished = frontiers.iter().all(|frontier| frontier.is_empty());
                hold(&mut capability, table.complete(), vanished);
            }
        });
        Fed { stream: stream.concat(complete), context: self.context }
    }
}

/// Checks that a gap ends after it starts.
pub(super) fn valid_gap(start: Time, end: Time) -> Result<(), Invalid> {
    let refused = || Invalid::new("gap", InvalidKind::TooSmall, "an end after its start");
    if start < end { Ok(()) } else { Err(refused()) }
}

/// Holds back all times from `complete` on; drops the capability when all partitions have ended and the
/// driver has closed the input.
fn hold(capability: &mut Option<Capability<Time>>, complete: Time, vanished: bool) {
    if complete == Time::MAX && vanished {
        *capability = None;
    }
    if let Some(capability) = capability {
        capability.downgrade(&complete);
    }
}

/// The declarations of all workers.
struct DeclaredTable {
    /// The worker that declares a partition, and the time up to which it has done so.
    partitions: Vec<Option<(usize, Time)>>,
    /// The number of workers that have not finished.
    unfinished: usize,
}

impl DeclaredTable {
    fn new(partitions: usize, peers: usize) -> DeclaredTable {
        DeclaredTable { partitions: vec![None; partitions], unfinished: peers }
    }

    fn add(&mut self, (worker, declaration): WorkerMessage) -> Result<(), RunError> {
        match declaration {
            Declaration::Complete(partition, time) => match &mut self.partitions[partition] {
                Some((owner, _)) if *owner != worker => {
                    return Err(RunError::abandoned("two workers declare the same partition"));
                }
                declared => *declared = Some((worker, time)),
            },
            Declaration::Gap(..) => {}
            Declaration::Finished => self.unfinished -= 1,
            Declaration::Ended => {
                let mine = self.partitions.iter_mut().flatten().filter(|(owner, _)| *owner == worker);
                mine.for_each(|(_, time)| *time = Time::MAX);
            }
        }
        if self.unfinished == 0 && self.partitions.contains(&None) {
            return Err(RunError::abandoned("a partition of an external input was never declared"));
        }
        Ok(())
    }

    fn complete(&self) -> Time {
        self.partitions
            .iter()
            .map(|declared| declared.map_or(Time::MIN, |(_, time)| time))
            .min()
            .unwrap_or(Time::MIN)
    }
}

/// The connection of this worker's declarations to the dataflow.
pub(crate) struct Wire {
    control: Rc<RefCell<Control>>,
    input: Rc<RefCell<ExternalInput>>,
}

impl Wire {
    pub(crate) fn new(control: Rc<RefCell<Control>>, input: Rc<RefCell<ExternalInput>>) -> Wire {
        Wire { control, input }
    }
}

impl Pump for Wire {
    fn turn(&mut self, context: &Context, _: bool) -> Result<Turn, RunError> {
        let mut control = self.control.borrow_mut();
        let mut input = self.input.borrow_mut();
        // As with a source of the library: the end of time comes after the declared windows are settled.
        let last = control.declared.values().max().copied().unwrap_or(Time::MIN);
        let may_end = control.finished && !control.ended && control.unsent.is_empty();
        if may_end && context.is_settled_before(last) {
            let end = (control.worker, Declaration::Ended);
            control.unsent.push(end);
            control.ended = true;
        }
        if control.unsent.is_empty() {
            return Ok(if control.ended { Turn::Over } else { Turn::Still });
        }
        input.send_batch(&mut control.unsent);
        control.unsent.clear();
        // A new time makes the sent messages leave at once; it has no other meaning.
        let next = *input.time() + 1;
        input.advance_to(next);
        Ok(Turn::Moved)
    }

    fn complete(&self) -> Time {
        let control = self.control.borrow();
        if control.ended { Time::MAX } else { control.declared.values().min().copied().unwrap_or(Time::MIN) }
    }
}
