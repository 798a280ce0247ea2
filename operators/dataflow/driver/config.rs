//! How many threads and processes share the work.

use std::time::Duration;

use super::shared::Stop;
use crate::invalid::{Invalid, Kind};
use crate::ledger::Digest;

/// How a job is run.
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) threads: usize,
    pub(crate) cluster: Option<Cluster>,
    pub(crate) stop: Stop,
}

#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) process: usize,
    pub(crate) addresses: Vec<String>,
    pub(crate) within: Duration,
    pub(crate) agreement: Digest,
}

impl Config {
    /// One process with so many workers.
    ///
    /// # Errors
    ///
    /// Unless there is at least one.
    pub fn threads(threads: usize) -> Result<Config, Invalid> {
        if threads == 0 {
            return Err(Invalid::new("workers", Kind::Zero, "a number above 0"));
        }
        Ok(Config { threads, cluster: None, stop: Stop::new() })
    }

    /// One of several processes with so many workers each. All are given the same addresses, `host:port`, one a process,
    /// in the same order; this one is `process`, from 0 on, and process 0 holds the gate.
    ///
    /// What travels between them is private, and travels in the clear: the addresses must be of the same machine, or of
    /// a network that nobody else can read or join.
    ///
    /// # Errors
    ///
    /// If there are no workers or addresses, or `process` is not the place of one.
    pub fn cluster(threads: usize, process: usize, addresses: Vec<String>) -> Result<Config, Invalid> {
        if addresses.is_empty() {
            return Err(Invalid::new("hosts", Kind::Empty, "one address for each process"));
        }
        if process >= addresses.len() {
            return Err(Invalid::new(
                "process",
                Kind::TooLarge,
                "the place of one of the addresses, from 0 on",
            ));
        }
        let within = Duration::from_secs(30);
        let cluster = Cluster { process, addresses, within, agreement: Digest::of(b"") };
        Ok(Config { cluster: Some(cluster), ..Config::threads(threads)? })
    }

    /// How long the processes may take to find together: 30 s unless said. In a single process nothing waits.
    pub fn connect_within(mut self, within: Duration) -> Config {
        if let Some(cluster) = &mut self.cluster {
            cluster.within = within;
        }
        self
    }

    /// What all processes must agree on, such as a hash of their configuration: one that differs is not let in.
    pub fn agreeing_on(mut self, agreement: Digest) -> Config {
        if let Some(cluster) = &mut self.cluster {
            cluster.agreement = agreement;
        }
        self
    }

    /// A switch that stops the run. In a cluster it stops this process, and the others see it go: stop process 0, which
    /// holds the gate, and expect the others to end with exit code 70.
    pub fn stopped_by(mut self, stop: &Stop) -> Config {
        self.stop = stop.clone();
        self
    }
}
