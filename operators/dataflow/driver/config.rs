//! The configuration of a run: the threads and processes that share the work.

use std::fmt;
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use super::connect::{Sockets, connect};
use super::failure::RunError;
use super::peers::Peers;
use super::shared::{ProcessShared, Stop};
use crate::dataflow::graph::Drawing;
use crate::dataflow::spill::SpillSpace;
use crate::invalid::{Invalid, InvalidKind};
use crate::ledger::Digest;

/// The configuration of a run: its processes, threads and time limits.
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) threads: usize,
    pub(crate) cluster: Option<Arc<Cluster>>,
    pub(crate) stop: Stop,
    /// The file for panes that memory has no room for, where its memory is limited.
    pub(crate) spill: Option<Arc<SpillSpace>>,
    drawing: Option<Drawing>,
    /// The mark of the run whose tallies are revealed, if it is one.
    revealing: Option<Arc<()>>,
}

/// The processes of a job with several.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) process: usize,
    pub(crate) addresses: Vec<String>,
    pub(crate) within: Duration,
    pub(crate) agreement: Digest,
    /// The function for messages to the operator of the job while the run goes on.
    pub(crate) notice: Notice,
}

/// A function that is called with a message for the operator of the job.
pub(crate) type Notice = Arc<dyn Fn(&str) + Send + Sync>;

impl Cluster {
    /// Returns the name of a process for messages to the operator of the job.
    pub(crate) fn name(&self, process: usize) -> String {
        let address = self.addresses.get(process).map_or("of no address", String::as_str);
        format!("process {process} ({address})")
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("process", &self.process)
            .field("addresses", &self.addresses)
            .finish_non_exhaustive()
    }
}

/// A run whose processes are connected, and that has not begun.
pub(crate) struct Joined {
    pub(super) config: Config,
    pub(super) shared: Arc<ProcessShared>,
    pub(super) peers: Option<Arc<Peers>>,
    /// The connections for records.
    pub(super) sockets: Vec<Option<TcpStream>>,
}

impl Joined {
    /// Returns the other processes, if there are any.
    pub(crate) fn peers(&self) -> Option<&Arc<Peers>> {
        self.peers.as_ref()
    }
}

/// Returns the maximum number of workers of a process: 64, or four for each core. Each of them communicates
/// with every other at every step, so more of them than cores take the time from each other, and 1,000 on two
/// cores never come to an end.
fn most_workers() -> usize {
    available_parallelism().map_or(64, |cores| cores.get().saturating_mul(4).max(64))
}

impl Config {
    /// Creates a configuration of one process with this number of workers.
    ///
    /// # Errors
    ///
    /// Unless there is at least one, and no more than 64 or four for each core.
    pub fn threads(threads: usize) -> Result<Config, Invalid> {
        if threads == 0 {
            return Err(Invalid::new("workers", InvalidKind::Zero, "a number above 0"));
        }
        let most = most_workers();
        if threads > most {
            return Err(Invalid::new(
                "workers",
                InvalidKind::TooLarge,
                format!("at most {most}, or as many as there are cores"),
            ));
        }
        Ok(Config { threads, cluster: None, stop: Stop::new(), spill: None, drawing: None, revealing: None })
    }

    /// Creates a configuration of several processes with `threads` workers each. All are given the same
    /// addresses, `host:port`, one a process, in the same order; this one is `process`, from 0 on, and
    /// process 0 holds the gate.
    ///
    /// Private records travel between them without encryption: the addresses must be of the same machine, or
    /// of a network that nobody else can read or join.
    ///
    /// # Errors
    ///
    /// If there are no workers or addresses, or `process` is not the position of an address.
    pub fn cluster(threads: usize, process: usize, addresses: Vec<String>) -> Result<Config, Invalid> {
        if addresses.is_empty() {
            return Err(Invalid::new("hosts", InvalidKind::Empty, "one address for each process"));
        }
        if process >= addresses.len() {
            return Err(Invalid::new(
                "process",
                InvalidKind::TooLarge,
                "the place of one of the addresses, from 0 on",
            ));
        }
        let within = Duration::from_secs(30);
        let (agreement, notice): (_, Notice) = (Digest::of(b""), Arc::new(|_| {}));
        let cluster = Cluster { process, addresses, within, agreement, notice };
        Ok(Config { cluster: Some(Arc::new(cluster)), ..Config::threads(threads)? })
    }

    /// Sets the time within which the processes must connect: 30 s by default. A single process has nothing
    /// to connect to.
    pub fn connect_within(mut self, within: Duration) -> Config {
        if let Some(cluster) = &mut self.cluster {
            Arc::make_mut(cluster).within = within;
        }
        self
    }

    /// Sets the value on which all processes must agree, such as a hash of their configuration: a process
    /// with another one is refused.
    pub fn agreeing_on(mut self, agreement: Digest) -> Config {
        if let Some(cluster) = &mut self.cluster {
            Arc::make_mut(cluster).agreement = agreement;
        }
        self
    }

    /// Sets the function that is called with messages for the operator of the job while the run goes on: a
    /// process has not connected, does not answer, or answers again. A single process has no such messages.
    pub fn noting(mut self, notice: impl Fn(&str) + Send + Sync + 'static) -> Config {
        if let Some(cluster) = &mut self.cluster {
            Arc::make_mut(cluster).notice = Arc::new(notice);
        }
        self
    }

    /// Sets the switch that stops the run. In a cluster it stops all processes: each of them drains, and ends
    /// as a stopped run does.
    pub fn stopped_by(mut self, stop: &Stop) -> Config {
        self.stop = stop.clone();
        self
    }

    /// Sets a place for the [graph](crate::dataflow::Graph) of the dataflows that worker 0 of this process builds. Each message
    /// costs a little more in such a run.
    pub fn drawn(mut self, drawing: &Drawing) -> Config {
        self.drawing = Some(drawing.clone());
        self
    }

    /// Makes it a run whose tallies are revealed, and that refuses every gate.
    ///
    /// # Errors
    ///
    /// If there are several processes.
    pub(in crate::dataflow) fn revealing(self, mark: Arc<()>) -> Result<Config, Invalid> {
        if self.cluster.is_some() {
            let remedy = "one process, where tallies are revealed";
            return Err(Invalid::new("hosts", InvalidKind::Mixed, remedy));
        }
        Ok(Config { revealing: Some(mark), ..self })
    }

    /// Returns the place for the graph, at the first worker of the process.
    pub(super) fn drawing(&self, worker: usize) -> Option<&Drawing> {
        let process = self.cluster.as_ref().map_or(0, |cluster| cluster.process);
        self.drawing.as_ref().filter(|_| worker == process * self.threads)
    }

    /// Sets the place of panes that memory has no room for.
    #[cfg(any(feature = "cli", test))]
    pub(crate) fn spilling(mut self, spill: Option<Arc<SpillSpace>>) -> Config {
        self.spill = spill;
        self
    }

    /// Connects to the other processes, if there are any; `None` if the run was stopped before all were
    /// connected.
    pub(crate) fn join(self) -> Result<Option<Joined>, RunError> {
        let shared = ProcessShared::new(self.stop.clone(), self.spill.clone(), self.revealing.clone());
        let Some(cluster) = &self.cluster else {
            return Ok(Some(Joined { config: self, shared, peers: None, sockets: Vec::new() }));
        };
        let Some(Sockets { records, control }) = connect(cluster, self.threads, &self.stop)? else {
            return Ok(None);
        };
        let peers = Peers::start(Arc::clone(cluster), Arc::clone(&shared), control)?;
        Ok(Some(Joined { config: self, shared, peers: Some(peers), sockets: records }))
    }
}
