//! The run of a job: builds its dataflows on every worker, feeds them, and ends them so that nothing is taken
//! for complete that was not declared so.

use std::any::Any;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, mem};

use crossbeam_channel::{RecvTimeoutError, bounded};

use super::config::{Config, Joined};
use super::failure;
use super::failure::{Finished, RunError, report_end};
use super::feed::{Feeds, Turn};
use super::shared::{Context, ProcessShared, ReadPace};
use crate::dataflow::engine::{
    AllocatorBuilder, CommsGuard, Engine, Hooks, ProcessBuilder, Scope, ThreadBuilder, WorkerConfig,
    initialize_from, initialize_networking_from_sockets,
};
use crate::dataflow::graph::GraphRecorder;
use crate::time::Time;

/// The longest sleep of a worker that nothing wakes, before it looks again for input.
pub(super) const NAP: Duration = Duration::from_millis(2);
/// The longest sleep if no source is left to poll.
pub(super) const SLEEP: Duration = Duration::from_millis(50);
/// The time that a stopped run waits for a sink that does not return.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// Runs a job to its end.
///
/// `build` is called once on every worker, and builds the same dataflows in the same order on each. After it
/// returns, the inputs that it asked `feeds` for are pulled in turns, until each is declared complete to its
/// end and every window that this completes has its outcome, durably.
///
/// A panic on a worker ends the process, with exit code 70 and a message that does not reveal its cause.
///
/// # Errors
///
/// If a worker's `build` fails, an input is abandoned, a source is gone, a sink refuses, the ledger is in
/// doubt, or the processes cannot connect. Nothing incomplete is sealed, and the process should end: the
/// records that it fed are still in memory, and other processes of the job cannot go on without it.
pub fn execute(
    config: Config,
    build: impl Fn(&mut Worker, &mut Feeds) -> Result<(), RunError> + Send + Sync + 'static,
) -> Result<Finished, RunError> {
    let ended = config.join().and_then(|joined| match joined {
        Some(joined) => joined.execute(build),
        None => Ok(Finished::stopped()),
    });
    report_end(&ended);
    ended
}

impl Joined {
    /// Runs a job as [`execute`] does, with processes that are connected already. Its end is for the caller to
    /// [report](report_end).
    pub(crate) fn execute(
        self,
        build: impl Fn(&mut Worker, &mut Feeds) -> Result<(), RunError> + Send + Sync + 'static,
    ) -> Result<Finished, RunError> {
        let peers = self.peers().cloned();
        let ended = run(self, build);
        // A run that went well has reported its end already.
        if let (Some(peers), Err(failure)) = (peers, &ended) {
            peers.leave(Some(failure));
        }
        ended
    }
}

fn run(
    joined: Joined,
    build: impl Fn(&mut Worker, &mut Feeds) -> Result<(), RunError> + Send + Sync + 'static,
) -> Result<Finished, RunError> {
    failure::end_the_process_on_panic();
    let Joined { config, shared, peers, sockets } = joined;
    let Config { threads, cluster, .. } = config.clone();
    let (process, processes) =
        cluster.as_ref().map_or((0, 1), |cluster| (cluster.process as u64, cluster.addresses.len() as u64));
    to_public!(DEBUG, "run begun", workers = threads as u64, process, processes, "a run has begun");
    let (builders, connections) = match (cluster, &peers) {
        (Some(cluster), Some(peers)) => {
            let (builders, sockets) = Connections::open(sockets, cluster.process, threads)?;
            (builders, Some((sockets, Arc::clone(peers))))
        }
        _ if threads == 1 => (vec![AllocatorBuilder::Thread(ThreadBuilder)], None),
        _ => (in_process(threads).into_iter().map(AllocatorBuilder::Process).collect(), None),
    };

    let inside = Arc::clone(&shared);
    let nothing: Box<dyn Any + Send> = Box::new(());
    let workers = initialize_from(builders, nothing, move |allocator| {
        let engine = Engine::new(WorkerConfig::default(), allocator, Some(Instant::now()));
        let mut run = WorkerRun::new(&engine, Arc::clone(&inside));
        let graph = config.drawing(engine.index()).map(|drawing| GraphRecorder::begin(&engine, drawing));
        let mut worker = Worker::new(engine);
        let built = build(&mut worker, &mut run.feeds);
        if let Some(graph) = graph {
            graph.end(worker.engine());
        }
        if let Err(failure) = built.and_then(|()| run.drive(worker.engine())) {
            inside.fail(failure);
        }
        if !run.is_over {
            // To drop an input is to close it, which looks like the end of the data to workers that still
            // run. So nothing here is dropped, and no worker steps again.
            mem::forget(run);
            mem::forget(worker);
        }
    });
    let workers = workers.map_err(|error| RunError::configuration(format!("workers: {error}")))?;
    // A worker that panicked has ended the process.
    drop(workers.join());

    let closing = connections.map(|(mut connections, peers)| {
        if !shared.is_over() && connections.close(&shared) {
            peers.leave(None);
            return None;
        }
        Some((connections, peers))
    });
    let failure = shared.failure();
    if let Some((connections, peers)) = closing.flatten() {
        // The reason goes first: a process that sees a connection break looks for it.
        peers.leave(failure.as_ref());
        connections.cut();
    }
    match failure {
        Some(failure) => Err(failure),
        None => Ok(shared.finished()),
    }
}

fn in_process(threads: usize) -> Vec<ProcessBuilder> {
    let Hooks { refill, spill, .. } = Hooks::default();
    ProcessBuilder::new_typed_vector(threads, refill, spill)
}

/// The connections of this process to the others.
struct Connections {
    sockets: Vec<TcpStream>,
    /// Timely's threads; `None` once another thread joins them.
    threads: Option<CommsGuard>,
}

impl Connections {
    fn open(
        sockets: Vec<Option<TcpStream>>,
        process: usize,
        threads: usize,
    ) -> Result<(Vec<AllocatorBuilder>, Connections), RunError> {
        let broken = |error: std::io::Error| RunError::configuration(format!("hosts: {error}"));
        let ours: Result<Vec<_>, _> = sockets.iter().flatten().map(TcpStream::try_clone).collect();
        let ours = ours.map_err(broken)?;
        let local = in_process(threads);
        let (builders, threads) =
            initialize_networking_from_sockets(local, sockets, process, threads, Hooks::default())
                .map_err(broken)?;
        let builders = builders.into_iter().map(AllocatorBuilder::Tcp).collect();
        Ok((builders, Connections { sockets: ours, threads: Some(threads) }))
    }

    /// Waits until all processes have closed their connections; returns false if the run ends otherwise
    /// before that.
    fn close(&mut self, shared: &ProcessShared) -> bool {
        let (said, goodbye) = bounded::<()>(0);
        let threads = self.threads.take();
        let waiting = std::thread::Builder::new().name("discreet-goodbye".into()).spawn(move || {
            drop(threads);
            drop(said);
        });
        // Without a waiting thread it cannot be known that all went well.
        while waiting.is_ok() && !shared.is_over() {
            if goodbye.recv_timeout(SLEEP) == Err(RecvTimeoutError::Disconnected) {
                return true;
            }
        }
        false
    }

    /// Breaks the connections without a message: the others notice, and end.
    fn cut(self) {
        failure::expect_connections_to_break();
        if let Some(threads) = self.threads {
            mem::forget(threads);
        }
        for socket in &self.sockets {
            // A socket that is broken already needs no shutdown.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// One worker's part of a run.
pub(super) struct WorkerRun {
    pub(super) feeds: Feeds,
    pub(super) shared: Arc<ProcessShared>,
    /// The number of its turns, for observers of the run.
    pub(super) turns: Arc<AtomicU64>,
    /// True if all inputs were closed, and every dataflow has ended.
    is_over: bool,
}

impl WorkerRun {
    pub(super) fn new(engine: &Engine, shared: Arc<ProcessShared>) -> WorkerRun {
        let context = Context::new(Arc::clone(&shared));
        let feeds = Feeds::new(context, engine.index(), engine.peers());
        let turns = shared.worker();
        WorkerRun { feeds, shared, turns, is_over: false }
    }

    fn drive(&mut self, engine: &mut Engine) -> Result<(), RunError> {
        // Created last, so that in a step it answers after the other dataflows have taken their input.
        let mut pace = ReadPace::new(engine);
        while !self.shared.has_failed() {
            self.turns.fetch_add(1, Ordering::Relaxed);
            if self.shared.is_stopped() {
                self.drain(engine);
                return Ok(());
            }
            let rest = match self.feeds.turn(&mut pace)? {
                Turn::Moved => Duration::ZERO,
                Turn::Still => NAP,
                Turn::Over if self.feeds.context.is_settled() => {
                    pace.close();
                    self.close(engine);
                    return Ok(());
                }
                Turn::Over => SLEEP,
            };
            engine.step_or_park(Some(rest));
        }
        Ok(())
    }

    /// Executes the second phase of the end. Every window that can close has closed and has its outcome, so
    /// the inputs are closed now.
    fn close(&mut self, engine: &mut Engine) {
        self.feeds.close();
        while engine.has_dataflows() && !self.shared.has_failed() {
            self.turns.fetch_add(1, Ordering::Relaxed);
            // A run that was asked to stop does not wait for processes that have left.
            if self.shared.is_stopped() {
                return self.drain(engine);
            }
            self.feeds.followed();
            engine.step_or_park(Some(SLEEP));
        }
        self.is_over = !self.shared.has_failed();
    }

    /// Ends a run that was stopped: the requests to the gate are answered and delivered; the inputs stay
    /// open.
    pub(super) fn drain(&mut self, engine: &mut Engine) {
        let mut waited = None;
        while !self.shared.has_failed() {
            self.turns.fetch_add(1, Ordering::Relaxed);
            self.feeds.followed();
            engine.step_or_park(Some(NAP));
            if self.shared.awaited() == 0 {
                let since = *waited.get_or_insert_with(Instant::now);
                if !self.shared.is_leaving() || since.elapsed() > GRACE {
                    return;
                }
            }
        }
    }
}

// One thread of a job, as a closure that builds its dataflows sees it.

/// One thread of a job.
///
/// It builds dataflows and knows its index. Timely's own worker can do more: its logging counts the messages
/// on every channel, also of those behind the bound, where they depend on single people. So it stays with the
/// driver:
///
/// ```compile_fail,E0599
/// use discreet::dataflow::{Config, execute};
///
/// execute(Config::threads(1)?, |worker, _| {
///     worker.log_register();
///     Ok(())
/// })?;
/// # Ok::<(), discreet::dataflow::RunError>(())
/// ```
///
/// A [`Scope`] is timely's, and still leads to its worker. Messages that are logged there are not protected
/// by anything on this page: a logger must not be installed in a process that releases.
pub struct Worker {
    engine: Engine,
}

impl Worker {
    pub(super) fn new(engine: Engine) -> Worker {
        Worker { engine }
    }

    /// Returns the worker of a program that runs timely itself.
    #[cfg(test)]
    pub(crate) fn of(engine: &Engine) -> Worker {
        Worker { engine: engine.clone() }
    }

    pub(super) fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// Returns the number of this worker, from 0, over all processes.
    pub fn index(&self) -> usize {
        self.engine.index()
    }

    /// Returns the number of workers, over all processes.
    pub fn peers(&self) -> usize {
        self.engine.peers()
    }

    /// Builds a dataflow; every worker must build the same.
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
