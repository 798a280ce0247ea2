//! Whether the processes of a cluster read the same input: compared before anything that they read is complete.
//!
//! Each process reads every file, for itself, and keeps the chunks of its own workers. Two that read different files, or
//! different bytes, would cut them elsewhere: lines would count twice, or not at all, and nobody would see it. So each hashes
//! the bytes that it reads, unpacked, and reports lengths and digests to all others.
//!
//! * **An input that ends** is compared twice: how many files there are and how long, before they are read; and the digest
//!   of all of each file, when it has been read and before the end is declared. What is compared is what was read, so a file
//!   that changes in between is found, too.
//! * **An input that grows** is compared in rounds. In each, a process reads what is there, reports where it is in each
//!   file, and waits for the reports of the others. Whoever is behind reads on to each place that was reported, and
//!   compares the digest there: of any two processes one does, or both are at the same place. Only then the moment is
//!   declared complete, the earliest that a process reported. A file that is not there for one process, or stays shorter
//!   for [`LAG`], ends all.
//!
//! The cost is one BLAKE3 of what is read, on the reading thread, and none where there is one process; an input that grows
//! is read by all processes at the pace of the slowest.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use serde::{Deserialize, Serialize};

use super::dealer::Dealer;
use super::reader::ReadStop;
use crate::dataflow::{Peers, SourceError};
use crate::time::Time;

/// For how long a file of one process may be behind that of another without growing.
pub(super) const LAG: Duration = Duration::from_secs(10);

/// How often a process that waits for the others looks whether anybody still wants its input.
const GLANCE: Duration = Duration::from_millis(20);

/// How the processes are reached.
pub(crate) trait Others: Send {
    /// Sends a note to all others.
    fn tell(&self, note: &[u8]);
    /// The notes of the others, in the order of each.
    fn notes(&self) -> &Receiver<(usize, Vec<u8>)>;
    /// How a process is named to the operator.
    fn name(&self, process: usize) -> String;
}

impl Others for Arc<Peers> {
    fn tell(&self, note: &[u8]) {
        Peers::tell(self, note);
    }

    fn notes(&self) -> &Receiver<(usize, Vec<u8>)> {
        Peers::notes(self)
    }

    fn name(&self, process: usize) -> String {
        Peers::name(self, process)
    }
}

/// How long a file is that is packed, before it is read.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// What one process has read of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Read {
    /// Which of the files it is, by a name that is the same for all processes.
    pub(super) file: String,
    /// How many bytes it has read; before it reads, how many there are, or [`UNKNOWN`] where that says nothing.
    pub(super) length: u64,
    /// Of these bytes; `None` before they are read.
    pub(super) digest: Option<[u8; 32]>,
    /// Whether nothing is to follow.
    pub(super) whole: bool,
}

/// What one process has read, at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessReport {
    pub(super) time: Time,
    pub(super) files: Vec<Read>,
}

/// The reports of all processes, one after the other.
pub(super) struct Accord {
    others: Box<dyn Others>,
    own: usize,
    /// By process, those that have come before they were waited for.
    come: Vec<VecDeque<ProcessReport>>,
}

impl Accord {
    pub(super) fn new(others: Box<dyn Others>, own: usize, processes: usize) -> Accord {
        Accord { others, own, come: vec![VecDeque::new(); processes] }
    }

    /// Reports to the others, and waits for the next report of each.
    pub(super) fn exchange(
        &mut self,
        report: &ProcessReport,
        dealer: &Dealer,
    ) -> Result<Vec<(usize, ProcessReport)>, ReadStop> {
        // Numbers and names: there is nothing that JSON has no words for.
        self.others.tell(&serde_json::to_vec(report).unwrap_or_default());
        let others = |process: &usize| *process != self.own;
        while (0..self.come.len()).filter(others).any(|process| self.come[process].is_empty()) {
            dealer.wait()?;
            let (process, note) = match self.others.notes().recv_timeout(GLANCE) {
                Ok(note) => note,
                Err(RecvTimeoutError::Timeout) => continue,
                // The others say nothing more, so the run ends. Workers that saw the reading end first would take it for
                // the reason.
                Err(RecvTimeoutError::Disconnected) => {
                    std::thread::sleep(GLANCE);
                    continue;
                }
            };
            let report = serde_json::from_slice(&note).map_err(|_| self.garbled(process, dealer))?;
            if let Some(come) = self.come.get_mut(process) {
                come.push_back(report);
            }
        }
        let next =
            |(process, come): (usize, &mut VecDeque<ProcessReport>)| Some((process, come.pop_front()?));
        Ok(self.come.iter_mut().enumerate().filter_map(next).collect())
    }

    fn garbled(&self, process: usize, dealer: &Dealer) -> SourceError {
        let why =
            format!("{} speaks of it in other words; start all from one build", self.others.name(process));
        SourceError::lost(dealer.fate.place()).because(why)
    }

    /// Compares two whole inputs, file by file; `place` names a file.
    pub(super) fn compare(
        &self,
        own: &[Read],
        (process, other): (usize, &[Read]),
        place: impl Fn(usize) -> String,
    ) -> Result<(), SourceError> {
        if own.len() != other.len() {
            let count = |count: usize| format!("{count} files");
            return Err(self.differ(place(0), count(own.len()), (process, count(other.len()))));
        }
        for (at, (own, other)) in own.iter().zip(other).enumerate() {
            self.compare_file(own, (process, other), || place(at))?;
        }
        Ok(())
    }

    /// Compares a file as far as both processes have read it, which is equally far.
    pub(super) fn compare_file(
        &self,
        own: &Read,
        (process, other): (usize, &Read),
        place: impl FnOnce() -> String,
    ) -> Result<(), SourceError> {
        if own.length == UNKNOWN || other.length == UNKNOWN {
            return Ok(());
        }
        if own.length != other.length {
            let bytes = |read: &Read| format!("{} bytes", read.length);
            return Err(self.differ(place(), bytes(own), (process, bytes(other))));
        }
        if own.digest != other.digest {
            // A digest of what people did is about people, and no part of a message.
            let some = |read: &Read| format!("other bytes among its first {}", read.length);
            return Err(self.differ(place(), some(own), (process, some(other))));
        }
        Ok(())
    }

    /// What this process has at a place, and what another has.
    pub(super) fn differ(
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

/// How long a file has been behind without growing.
pub(super) struct Behind {
    length: u64,
    since: Instant,
}

impl Behind {
    pub(super) fn new(length: u64) -> Behind {
        Behind { length, since: Instant::now() }
    }

    /// Whether it has been for longer than it may, now that it is so long.
    pub(super) fn is_too_late(&mut self, length: u64) -> bool {
        if length > self.length {
            *self = Behind::new(length);
        }
        self.since.elapsed() > LAG
    }
}
