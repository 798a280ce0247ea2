//! The agreement of a cluster's processes on their input, checked before anything that they read is complete.
//!
//! Each process reads every file, for itself, and keeps the chunks of its own workers. Two that read
//! different files, or different bytes, would cut them elsewhere: lines would count twice, or not at all, and
//! nobody would see it. So each hashes the bytes that it reads, unpacked, and reports lengths and digests to
//! all others.
//!
//! * **An input that ends** is compared twice: how many files there are and how long, before they are read;
//!   and the digest of all of each file, when it has been read and before the end is declared. What is
//!   compared is what was read, so a file that changes in between is found, too.
//! * **An input that grows** is compared in rounds. In each, a process reads the bytes that are present,
//!   reports its position in each file, and waits for the reports of the others. A process that is behind
//!   reads on to each position that was reported, and compares the digest there: of any two processes one
//!   does, or both are at the same position. Only then the moment is declared complete, the earliest that a
//!   process reported. A file that is missing for one process, or stays shorter for [`LAG`], ends all.
//!
//! The cost is one BLAKE3 of what is read, on the reading thread, and none where there is one process; an
//! input that grows is read by all processes at the pace of the slowest.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use serde::{Deserialize, Serialize};

use super::dealer::Dealer;
use super::reader::ReadStop;
use crate::dataflow::{Peers, SourceError};
use crate::time::Time;

/// The longest time that a file of one process may be behind that of another without growing.
pub(super) const LAG: Duration = Duration::from_secs(10);

/// The interval at which a process that waits for the others checks that its input is still wanted.
const WANTED_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The links to the other processes of the cluster.
pub(crate) trait ClusterLinks: Send {
    /// Sends a message to all others.
    fn broadcast(&self, note: &[u8]);
    /// The messages of the others, in the order in which each sent them.
    fn messages(&self) -> &Receiver<(usize, Vec<u8>)>;
    /// The name of a process in messages to the operator.
    fn name(&self, process: usize) -> String;
}

impl ClusterLinks for Arc<Peers> {
    fn broadcast(&self, note: &[u8]) {
        Peers::send(self, note);
    }

    fn messages(&self) -> &Receiver<(usize, Vec<u8>)> {
        Peers::notes(self)
    }

    fn name(&self, process: usize) -> String {
        Peers::name(self, process)
    }
}

/// The length of a packed file before it is read.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// A report on one file by one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileReport {
    /// The file, by a name that is the same for all processes.
    pub(super) file: String,
    /// The number of bytes read; before the file is read, its length, or [`UNKNOWN`] where the length on the
    /// disk is not that of the text.
    pub(super) length: u64,
    /// The digest of the bytes read; `None` before they are read.
    pub(super) digest: Option<[u8; 32]>,
    /// True where the file is read to its end.
    pub(super) whole: bool,
}

/// A report of one process on its files, at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessReport {
    pub(super) time: Time,
    pub(super) files: Vec<FileReport>,
}

/// The exchange and comparison of the reports of all processes.
pub(super) struct InputAgreement {
    others: Box<dyn ClusterLinks>,
    own: usize,
    /// By process, the reports that arrived before this process waited for them.
    pending: Vec<VecDeque<ProcessReport>>,
}

impl InputAgreement {
    pub(super) fn new(others: Box<dyn ClusterLinks>, own: usize, processes: usize) -> InputAgreement {
        InputAgreement { others, own, pending: vec![VecDeque::new(); processes] }
    }

    /// Sends a report to the others, and waits for the next report of each.
    pub(super) fn exchange(
        &mut self,
        report: &ProcessReport,
        dealer: &Dealer,
    ) -> Result<Vec<(usize, ProcessReport)>, ReadStop> {
        // Numbers and names only: JSON can express all of them.
        self.others.broadcast(&serde_json::to_vec(report).unwrap_or_default());
        let others = |process: &usize| *process != self.own;
        while (0..self.pending.len()).filter(others).any(|process| self.pending[process].is_empty()) {
            dealer.wait()?;
            let (process, note) = match self.others.messages().recv_timeout(WANTED_CHECK_INTERVAL) {
                Ok(note) => note,
                Err(RecvTimeoutError::Timeout) => continue,
                // The channel is closed, so the run ends. Workers that saw the reading end first would take
                // it for the reason.
                Err(RecvTimeoutError::Disconnected) => {
                    std::thread::sleep(WANTED_CHECK_INTERVAL);
                    continue;
                }
            };
            let report = serde_json::from_slice(&note).map_err(|_| self.garbled(process, dealer))?;
            if let Some(come) = self.pending.get_mut(process) {
                come.push_back(report);
            }
        }
        let next =
            |(process, come): (usize, &mut VecDeque<ProcessReport>)| Some((process, come.pop_front()?));
        Ok(self.pending.iter_mut().enumerate().filter_map(next).collect())
    }

    fn garbled(&self, process: usize, dealer: &Dealer) -> SourceError {
        let why =
            format!("{} speaks of it in other words; start all from one build", self.others.name(process));
        SourceError::lost(dealer.fault.place()).because(why)
    }

    /// Compares two whole inputs, file by file; `place` names a file.
    pub(super) fn compare(
        &self,
        own: &[FileReport],
        (process, other): (usize, &[FileReport]),
        place: impl Fn(usize) -> String,
    ) -> Result<(), SourceError> {
        if own.len() != other.len() {
            let count = |count: usize| format!("{count} files");
            return Err(self.mismatch(place(0), count(own.len()), (process, count(other.len()))));
        }
        for (at, (own, other)) in own.iter().zip(other).enumerate() {
            self.compare_file(own, (process, other), || place(at))?;
        }
        Ok(())
    }

    /// Compares a file as far as both processes have read it, which is equally far.
    pub(super) fn compare_file(
        &self,
        own: &FileReport,
        (process, other): (usize, &FileReport),
        place: impl FnOnce() -> String,
    ) -> Result<(), SourceError> {
        if own.length == UNKNOWN || other.length == UNKNOWN {
            return Ok(());
        }
        if own.length != other.length {
            let bytes = |read: &FileReport| format!("{} bytes", read.length);
            return Err(self.mismatch(place(), bytes(own), (process, bytes(other))));
        }
        if own.digest != other.digest {
            // A digest of people's data is about people, and no part of a message.
            let some = |read: &FileReport| format!("other bytes among its first {}", read.length);
            return Err(self.mismatch(place(), some(own), (process, some(other))));
        }
        Ok(())
    }

    /// The error for a place at which this process and another differ.
    pub(super) fn mismatch(
        &self,
        place: String,
        own: String,
        (process, other): (usize, String),
    ) -> SourceError {
        let (here, there) = (self.others.name(self.own), self.others.name(process));
        // In the order of the processes, so that each says the same.
        let (first, second) = if self.own < process {
            (format!("{here} has {own}"), format!("{there} has {other}"))
        } else {
            (format!("{there} has {other}"), format!("{here} has {own}"))
        };
        SourceError::differs(place).because(format!(
            "the processes read different files: {first}, {second}; give all of them the same"
        ))
    }
}

/// The time since which a file has been behind without growing.
pub(super) struct Behind {
    length: u64,
    since: Instant,
}

impl Behind {
    pub(super) fn new(length: u64) -> Behind {
        Behind { length, since: Instant::now() }
    }

    /// Returns true once the file has been behind for longer than allowed, given its present length.
    pub(super) fn is_too_late(&mut self, length: u64) -> bool {
        if length > self.length {
            *self = Behind::new(length);
        }
        self.since.elapsed() > LAG
    }
}
