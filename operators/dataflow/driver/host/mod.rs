//! A pipeline inside a program that runs timely itself: its workers, its processes, its other dataflows.
//!
//! ```
//! use discreet::dataflow::Attachment;
//! use discreet::prelude::*;
//!
//! # fn program(gate: Gate) -> Result<Finished, RunError> {
//! // Once a process.
//! let attachment = Attachment::new();
//! let inside = attachment.clone();
//! timely::execute(timely::Config::process(2), move |worker| {
//!     // Once a worker, before the dataflows of the pipeline.
//!     let mut attached = inside.attach(worker)?;
//!     let mut visits = worker.dataflow(|scope| {
//!         let (input, visits) = attached.feeds().input::<(u64, Time)>(scope);
//!         visits
//!             .protect(|visit| visit.0)
//!             .tumbling(hours(1), |visit| visit.1)
//!             .from("2026-11-01")
//!             .bound(Bound::keys(1))
//!             .people()
//!             .release(&gate, "readers", Gaussian::rho(0.01))
//!             .deliver(|release| Ok(println!("{}", release.line())));
//!         input
//!     });
//!     // Other dataflows of the program, and its loop.
//!     visits.send((7, at("2026-11-01T00:30:00Z")?));
//!     visits.complete(at("2026-11-01T01:00:00Z")?)?;
//!     attached.turn(std::time::Duration::ZERO)?;
//!     visits.finish();
//!     attached.finish()
//! })
//! .map_err(|error| -> Box<dyn std::error::Error + Send + Sync> { error.into() })?
//! .join();
//! attachment.finished()
//! # }
//! ```
//!
//! # Obligations of the program
//!
//! * Every worker of every process attaches, at the same place among its dataflows, and builds the same pipeline.
//! * Every worker [turns](Attached::turn) until its inputs have ended, and then [finishes](Attached::finish). A loop of its
//!   own that waits for a probe is [`step_while`](Attached::step_while): timely's own would wait for ever where
//!   another worker has failed.
//! * A worker that fails says why: `return Err(attached.fail(reason))`. Where it returns by `?`, the pipeline ends as well, and
//!   all that [`finished`](Attachment::finished) knows is that it was left. [`Attached`] stays out of closures that build dataflows: one that is
//!   dropped while a dataflow is built cannot drop it, and timely waits for it.
//! * The program sets no panic hook after the attachment, and keeps the dataflow of a stream that it carries.
//! * No logger of timely or differential is registered: they count messages behind the bound, where they depend on
//!   single people. A pipeline refuses to run beside one.
//! * A dataflow that holds a part of a pipeline belongs to it, with all else that the program builds there, and so does one
//!   that a [carried](Feeds::carry) stream enters. Where the pipeline fails or is stopped, it is dropped.
//!
//! # Several processes
//!
//! Worker 0 releases, so process 0 opens the gate, and every other process has a [`Gate::elsewhere`](crate::gate::Gate::elsewhere) by the
//! job's name and the ledger's key, which lies beside the ledger. Each process has its own attachment, and its own outcome: the counts are
//! of process 0.
//!
//! # After a restart
//!
//! A window that the ledger has is given again, to the byte and at no cost, whatever is pushed: a sink knows it by its
//! [identity](super::super::LeavingRelease::id). Records are needed from the start of the first window that is not settled
//! ([`Gate::settled`](crate::gate::Gate::settled)); a program that cannot push them again declares a [gap](super::PushedInput::gap).
//! A [source](super::Source) that resumes is read from where the former run was, and settled windows are not asked for again.
//!
//! # Guarantees
//!
//! Nothing is complete but by declaration, as under the library's own [driver](crate::execute). A worker that returns early, or
//! drops what it holds, completes nothing: its inputs are not closed, its part of the pipeline is dropped unscheduled, so that
//! it reports no progress to any worker, and all others are notified and end too. A panic of an attached thread ends the process,
//! with exit code 70, before anything unwinds.

mod notices;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notices::{Agreement, End, Notices};

use super::failure::{
    FailureKind, Finished, RunError, end_the_process_on_panic, has_worked_for_a_dataflow,
    works_for_a_dataflow,
};
use super::feed::{Feeds, Turn};
use super::run::{GRACE, NAP, SLEEP, WorkerRun};
use super::shared::{ProcessShared, ReadPace, Stop};
use crate::dataflow::engine::{Engine, running_operator};

/// A pipeline in a program that runs timely itself; one a process, for all of its workers.
#[derive(Clone)]
pub struct Attachment {
    shared: Arc<ProcessShared>,
    workers: Arc<Mutex<Workers>>,
}

/// The workers of this process, by their numbers.
#[derive(Default)]
struct Workers {
    attached: BTreeSet<usize>,
    ended: BTreeSet<usize>,
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Workers { attached, ended } = &*self.workers();
        f.debug_struct("Attachment").field("attached", attached).field("ended", ended).finish_non_exhaustive()
    }
}

impl Default for Attachment {
    fn default() -> Attachment {
        Attachment::new()
    }
}

impl Attachment {
    /// Creates the attachment of this process. From now on a panic on a thread of timely ends the process.
    pub fn new() -> Attachment {
        Attachment::stopped_by(&Stop::new())
    }

    /// Creates an attachment whose pipeline this switch stops, in all processes.
    pub fn stopped_by(stop: &Stop) -> Attachment {
        end_the_process_on_panic();
        Attachment { shared: ProcessShared::new(stop.clone(), None, None), workers: Arc::default() }
    }

    /// Attaches a worker: on each of them, once, at the same place among its dataflows.
    ///
    /// # Errors
    ///
    /// If this worker is attached already, a logger of timely or differential is registered, or another worker has failed.
    pub fn attach(&self, worker: &mut Engine) -> Result<Attached, RunError> {
        if !self.workers().attached.insert(worker.index()) {
            return Err(RunError::configuration(format!(
                "worker {} is attached already; give each pipeline an attachment of its own",
                worker.index()
            )));
        }
        works_for_a_dataflow();
        let notices = Notices::new(worker);
        let pace = ReadPace::new(worker);
        let run = WorkerRun::new(worker, Arc::clone(&self.shared));
        let attachment = self.clone();
        let worker = worker.clone();
        let (has_left, is_inside) = (false, false);
        let mut attached = Attached { worker, run, notices, pace, attachment, has_left, is_inside };
        attached.look()?;
        Ok(attached)
    }

    /// Returns the outcome of the pipeline in this process, once its workers have ended.
    ///
    /// # Errors
    ///
    /// The reason for which the pipeline has failed. Also if no worker is attached, or one has not ended.
    pub fn finished(&self) -> Result<Finished, RunError> {
        if let Some(failure) = self.shared.failure() {
            return Err(failure);
        }
        let Workers { attached, ended } = &*self.workers();
        match attached.difference(ended).next() {
            _ if attached.is_empty() => {
                Err(RunError::abandoned("no worker of this process has attached a pipeline"))
            }
            Some(worker) => {
                Err(RunError::abandoned(format!("worker {worker} has not finished its pipeline")))
            }
            None => Ok(self.shared.finished()),
        }
    }

    fn workers(&self) -> MutexGuard<'_, Workers> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One worker's part of an attached pipeline.
///
/// Dropping it before [`finish`](Attached::finish) ends the pipeline of all workers, and completes nothing.
pub struct Attached {
    worker: Engine,
    run: WorkerRun,
    notices: Notices,
    pace: ReadPace,
    attachment: Attachment,
    /// True once this worker has said how it ended.
    has_left: bool,
    /// True while it feeds and steps: after a panic in there that the program has caught, too.
    is_inside: bool,
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attached").field("worker", &self.worker.index()).finish_non_exhaustive()
    }
}

impl Attached {
    /// Returns the inputs of this worker's dataflows.
    pub fn feeds(&mut self) -> &mut Feeds {
        &mut self.run.feeds
    }

    /// Gives every input a turn, and steps the worker; if no input has anything, it waits for up to `rest`, or until there is
    /// something to do. Returns false once all inputs of this worker have ended, or the pipeline was stopped: it is
    /// time to [finish](Attached::finish).
    ///
    /// # Errors
    ///
    /// If an input fails, or another worker has failed.
    pub fn turn(&mut self, rest: Duration) -> Result<bool, RunError> {
        Ok(self.advance(rest)? != Turn::Over)
    }

    /// Turns while a condition holds, such as that a probe has not passed a time. Returns false if the pipeline was stopped
    /// before it ceased to hold.
    ///
    /// # Errors
    ///
    /// If an input fails, or another worker has failed.
    pub fn step_while(&mut self, mut condition: impl FnMut() -> bool) -> Result<bool, RunError> {
        while condition() {
            self.advance(NAP)?;
            if self.run.shared.is_stopped() {
                return Ok(!condition());
            }
        }
        Ok(true)
    }

    /// Turns until every input of every worker has ended, every window has its outcome, and all that was released has
    /// reached its sinks; or, where the pipeline was stopped, until the requests to the gate are answered. Returns the
    /// outcome in this process.
    ///
    /// The program finishes its [pushed inputs](super::PushedInput::finish) before. Streams that the pipeline has
    /// [adopted](super::External::adopt) are waited for, too: a handle of their inputs that the
    /// program still holds is closed before.
    ///
    /// # Errors
    ///
    /// If an input fails or is not finished, or another worker has failed.
    pub fn finish(mut self) -> Result<Finished, RunError> {
        // Its handle is of this thread, which does nothing else from now on.
        if !self.run.feeds.are_finished() && !self.run.shared.is_over() {
            let reason = "an input that the program pushes into is not finished; finish it before its worker";
            return Err(self.end_with(RunError::abandoned(reason)));
        }
        loop {
            let turn = self.advance(NAP)?;
            if self.run.shared.is_stopped() {
                return self.stop();
            }
            let is_over = turn == Turn::Over || self.run.feeds.pumps.is_empty();
            if is_over && self.run.feeds.context.is_settled() {
                break;
            }
        }
        self.pace.close();
        self.run.feeds.close();
        self.notices.say(End::Closed);
        loop {
            match self.notices.agreement() {
                None => self.step(SLEEP),
                Some(Agreement::Closed) => break,
                Some(Agreement::Stopped) => return self.stop(),
                Some(Agreement::Failed(worker)) => return Err(self.fail(has_failed(worker))),
            }
        }
        // From here on nobody drops anything, and what was released flows to its sinks. A dataflow that holds an input of the
        // program may stay.
        let since = Instant::now();
        while self.is_built() && (since.elapsed() < GRACE || self.run.shared.is_leaving()) {
            self.step(NAP);
        }
        self.leave(End::Closed);
        self.attachment.shared.failure().map_or(Ok(()), Err)?;
        Ok(self.run.shared.finished())
    }

    /// Ends the pipeline of all workers for this reason, and returns the first reason that there was in this process. Nothing
    /// incomplete is released.
    pub fn fail(mut self, reason: impl Into<RunError>) -> RunError {
        self.end_with(reason.into())
    }

    /// Gives every input a turn, and steps.
    fn advance(&mut self, rest: Duration) -> Result<Turn, RunError> {
        self.look()?;
        self.is_inside = true;
        let turned = self.feed_and_step(rest);
        self.is_inside = false;
        turned.map_err(|failure| self.end_with(failure))
    }

    fn feed_and_step(&mut self, rest: Duration) -> Result<Turn, RunError> {
        // One that hangs in a source has begun a turn.
        self.run.turns.fetch_add(1, Ordering::Relaxed);
        if self.run.shared.is_stopped() {
            self.step(rest);
            return Ok(Turn::Over);
        }
        let turn = self.run.feeds.turn(&mut self.pace)?;
        let is_empty = self.run.feeds.pumps.is_empty();
        self.step(if turn == Turn::Moved { Duration::ZERO } else { rest });
        // A worker that has not built its inputs yet has not come to their end.
        Ok(if turn == Turn::Over && is_empty { Turn::Still } else { turn })
    }

    fn step(&mut self, rest: Duration) {
        self.run.turns.fetch_add(1, Ordering::Relaxed);
        self.run.feeds.followed();
        self.worker.step_or_park(Some(rest));
    }

    /// Looks for the end of the pipeline elsewhere, for a panic that the program has caught, and for loggers.
    fn look(&mut self) -> Result<(), RunError> {
        if self.is_inside {
            // What was being fed may be lost. The message of the panic may hold a record.
            return Err(
                self.end_with(RunError::abandoned("a panic on a worker, which the program has caught"))
            );
        }
        match self.notices.agreement() {
            Some(Agreement::Failed(worker)) => return Err(self.end_with(has_failed(worker))),
            Some(Agreement::Stopped) => self.run.shared.stop_with_the_others(),
            Some(Agreement::Closed) | None => {}
        }
        if let Some(failure) = self.run.shared.failure() {
            return Err(self.end_with(failure));
        }
        match logger(&self.worker) {
            Some(name) => Err(self.end_with(RunError::configuration(format!(
                "logger {name}: found beside a pipeline, where it counts messages that depend on single people; \
                 register none in a process that releases"
            )))),
            None => Ok(()),
        }
    }

    /// Returns true while a dataflow of the pipeline is there.
    fn is_built(&self) -> bool {
        let installed = self.worker.installed_dataflows();
        self.run.feeds.context.dataflows().iter().any(|dataflow| installed.contains(dataflow))
    }

    fn stop(mut self) -> Result<Finished, RunError> {
        self.run.shared.stop_with_the_others();
        self.run.drain(&mut self.worker);
        self.look()?;
        self.leave(End::Stopped);
        self.part();
        Ok(self.run.shared.finished())
    }

    /// Ends this worker's part for a reason, and returns the first one of this process.
    fn end_with(&mut self, reason: RunError) -> RunError {
        self.run.shared.fail(reason.clone());
        self.leave(End::Failed);
        self.part();
        self.run.shared.failure().unwrap_or(reason)
    }

    /// Lets the notices flow for a moment: the program may end the process next.
    fn part(&mut self) {
        let since = Instant::now();
        while !self.notices.are_all_here() && since.elapsed() < GRACE && running_operator().is_none() {
            self.worker.step_or_park(Some(NAP));
        }
    }

    /// Leaves the pipeline, and says how.
    fn leave(&mut self, end: End) {
        if std::mem::replace(&mut self.has_left, true) {
            return;
        }
        self.attachment.workers().ended.insert(self.worker.index());
        self.pace.close();
        self.notices.say(end);
        if end != End::Closed {
            self.drop_pipeline();
        }
        has_worked_for_a_dataflow();
    }

    /// Drops the dataflows of the pipeline before their inputs: one that is scheduled no more reports no progress, so to drop
    /// its inputs closes nothing. Inputs that stay open would keep the threads of timely's connections at work.
    fn drop_pipeline(&mut self) {
        let (own, installed) = (self.run.feeds.context.dataflows(), self.worker.installed_dataflows());
        let newest = self.worker.next_dataflow_index().wrapping_sub(1);
        // In a step the engine cannot drop a dataflow, nor one that is being built.
        if running_operator().is_some() || own.contains(&newest) && !installed.contains(&newest) {
            return self.run.feeds.leak();
        }
        own.into_iter().for_each(|dataflow| self.worker.drop_dataflow(dataflow));
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if !self.has_left {
            let reason = "a worker left its pipeline before it was finished";
            self.run.shared.fail(RunError::abandoned(reason));
            self.leave(End::Failed);
        }
    }
}

fn has_failed(worker: usize) -> RunError {
    RunError::new(FailureKind::Peer, format!("worker {worker} of the job has failed"))
}

/// Returns the name of a logger that sees messages, if one is registered.
fn logger(worker: &Engine) -> Option<String> {
    let register = worker.log_register()?;
    register.names().find(|name| is_of_the_engine(name)).map(str::to_owned)
}

fn is_of_the_engine(name: &str) -> bool {
    ["timely", "differential"].iter().any(|engine| name.split('/').next() == Some(engine))
}
