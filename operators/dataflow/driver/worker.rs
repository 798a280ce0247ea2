//! One thread of a job, as a closure that builds its dataflows sees it.

use std::fmt;

use crate::dataflow::engine::{Engine, Scope};
use crate::time::Time;

/// One thread of a job.
///
/// It builds dataflows and knows its place. Timely's own worker can do more: its logging counts the messages on every
/// channel, also of those behind the bound, where they depend on single people. So it stays with the driver:
///
/// ```compile_fail,E0599
/// use discreet::dataflow::{Config, execute};
///
/// execute(Config::threads(1)?, |worker, _| {
///     worker.log_register();
///     Ok(())
/// })?;
/// # Ok::<(), discreet::dataflow::Failure>(())
/// ```
///
/// A [`Scope`] is timely's, and still leads to its worker. What is logged there is not protected by anything on this page:
/// a logger must not be installed in a process that releases.
pub struct Worker {
    engine: Engine,
}

impl Worker {
    pub(super) fn new(engine: Engine) -> Worker {
        Worker { engine }
    }

    pub(super) fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// The number of this worker, from 0, over all processes.
    pub fn index(&self) -> usize {
        self.engine.index()
    }

    /// The number of workers, over all processes.
    pub fn peers(&self) -> usize {
        self.engine.peers()
    }

    /// Builds a dataflow, which every worker builds alike.
    pub fn dataflow<R>(&mut self, build: impl FnOnce(Scope<'_, Time>) -> R) -> R {
        self.engine.dataflow(build)
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("index", &self.index())
            .field("peers", &self.peers())
            .finish_non_exhaustive()
    }
}
