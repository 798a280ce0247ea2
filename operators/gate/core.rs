//! Every decision of the write path, and nothing else: no I/O, no clock, no thread, no randomness.
//!
//! The core takes an event ([`Event`]) and returns the next effects ([`Effect`]); its driver carries them out
//! and reports back. It sees names, lines and outcomes: neither a secret nor a cost ever reaches it. Because
//! it can be cloned, compared and hashed, the tests explore it exhaustively, over every order of two
//! processes, crashes and lost answers (`model.rs`).
//!
//! # The path of one release
//!
//! ```text
//! Wanted -> LookUp -+- found ------------------------------> deliver the stored line
//!                   +- missing -> Draw -> Seal -+- recorded -> deliver the line that was read back
//!                                               +- aborted  -> Seal the same line again, at last Lose
//!                                               +- fenced   -> halt: another generation has taken over
//!                                               +- unknown  -> Recover: read by name; never draw again
//! ```
//!
//! A name is looked up before the budget is tested: a repeated query about a sealed window is answered from
//! the ledger even when no budget is left. A line that was drawn is either sealed or lost; there is no way
//! back to `Draw`.

use std::collections::BTreeMap;

use super::request::HaltReason;
use crate::ledger::ReleaseStatus;

/// A row of the ledger, as read back.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowRecord<Line> {
    /// The outcome of the release.
    pub status: ReleaseStatus,
    /// The released text, byte for byte.
    pub line: Line,
    /// True if the ledger records the line as delivered.
    pub delivered: bool,
}

/// The moment at which the ledger records a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// After the delivery: a crash in between delivers the same bytes again.
    AtLeastOnce,
    /// Before the delivery: a crash in between delivers nothing, and nothing is ever delivered twice.
    AtMostOnce,
}

/// The reaction to a commit of unknown outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Uncertainty {
    /// End the process: the next one reads the row, if there is one. For a ledger in a local file.
    Halt,
    /// Connect again, wait for the dead transaction's locks, and read by name. For a ledger behind a network.
    Reread,
}

/// An event that the core reacts to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Event<Name, Line> {
    /// The ledger was checked and the fence taken; these rows were recorded and perhaps never delivered.
    /// `behind` if another row has been delivered that the ledger does not hold.
    Opened {
        /// The rows that may have to be delivered again.
        waiting: Vec<(Name, RowRecord<Line>)>,
        /// True if the ledger lacks a row that was published.
        behind: bool,
    },
    /// The ledger can no longer be relied on.
    Doubted(HaltReason),
    /// A window is complete, and its release is requested.
    Wanted(Name),
    /// A window was not complete at its deadline.
    Missed(Name),
    /// The row that the ledger holds under the name.
    LookedUp(Name, Option<RowRecord<Line>>),
    /// The noised line; `None` if there was no randomness.
    Drawn(Name, Option<Line>),
    /// The outcome of [`Effect::Seal`], [`Effect::Lose`], [`Effect::Skip`] or [`Effect::Recover`].
    Committed(Name, CommitOutcome<Line>),
    /// The line has left the process.
    Delivered(Name),
    /// The ledger records the line as delivered; `true` if this process wrote that.
    Marked(Name, bool),
}

impl<Name, Line> Event<Name, Line> {
    /// The name of the release that the event is about.
    pub fn name(&self) -> Option<&Name> {
        match self {
            Event::Opened { .. } | Event::Doubted(_) => None,
            Event::Wanted(name)
            | Event::Missed(name)
            | Event::LookedUp(name, _)
            | Event::Drawn(name, _)
            | Event::Committed(name, _)
            | Event::Delivered(name)
            | Event::Marked(name, _) => Some(name),
        }
    }
}

/// The outcome of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CommitOutcome<Line> {
    /// The ledger holds this row under the name, whichever process wrote it.
    Recorded(RowRecord<Line>),
    /// The transaction was certainly undone: nothing was written.
    Aborted,
    /// The fence belongs to another generation; nothing was written.
    Fenced,
    /// The answer was lost: the outcome is unknown.
    Unknown,
}

/// An effect that the core asks for. Effects of different names may be carried out in any order, or together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect<Name, Line> {
    /// Read the row of this name.
    LookUp(Name),
    /// Draw once, from a fresh seed, and keep the line in memory.
    Draw(Name),
    /// In one transaction: check the fence, adopt the row if there is one, otherwise test the budget and
    /// write line and charge, or a refusal. Read the row back.
    Seal(Name, Line),
    /// Write, as `Seal` does, that the line was lost, with its charge.
    Lose(Name),
    /// Write, as `Seal` does, that the window was skipped, without a charge.
    Skip(Name),
    /// Connect again, wait for the fence, and read the row; [`CommitOutcome::Aborted`] if there is none.
    Recover(Name),
    /// Write that the line was delivered.
    Mark(Name),
    /// Deliver the line.
    Deliver(Name, RowRecord<Line>),
    /// Deliver nothing: the line has left before, or another process delivers it. The requester is notified.
    Withhold(Name),
    /// Release nothing more and end the process.
    Halt(HaltReason),
}

/// The number of attempts at a transaction that was certainly undone, before the line is given up.
const TRIES: u8 = 3;

/// The state of one gate, that is of one process that seals the releases of one job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Core<Name: Ord, Line> {
    delivery: Delivery,
    uncertainty: Uncertainty,
    status: GateStatus,
    releases: BTreeMap<Name, ReleaseStage<Line>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum GateStatus {
    Opening,
    Open,
    Halted,
}

/// The stage of a release. A name without a stage is unknown to this process, or finished.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ReleaseStage<Line> {
    /// Its row is being read; `missed` if nothing will be drawn when there is none.
    LookingUp {
        missed: bool,
    },
    Drawing,
    /// Its line is in the memory of this process, and visible nowhere else.
    Sealing {
        line: Line,
        tries: u8,
    },
    /// A tombstone is being written.
    Burying,
    /// Its line is being delivered; `marked` if the ledger records the delivery already.
    Delivering {
        marked: bool,
    },
    /// The delivery is being recorded; `first` is the row to deliver afterwards, if it has not left before.
    Marking {
        first: Option<RowRecord<Line>>,
    },
}

impl<Name: Clone + Ord, Line: Clone> Core<Name, Line> {
    /// Creates a gate that waits for its ledger to be opened.
    pub fn new(delivery: Delivery, uncertainty: Uncertainty) -> Core<Name, Line> {
        Core { delivery, uncertainty, status: GateStatus::Opening, releases: BTreeMap::new() }
    }

    /// Returns true if nothing may be released any more.
    pub fn is_halted(&self) -> bool {
        self.status == GateStatus::Halted
    }

    /// Returns the moment at which the ledger records a delivery.
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Returns true if a release is in progress.
    pub fn holds(&self, name: &Name) -> bool {
        self.releases.contains_key(name)
    }

    /// Processes an event, and returns the next effects in their order.
    ///
    /// Replies to effects that this core has not asked for are ignored, and so is every event after a halt.
    pub fn step(&mut self, event: Event<Name, Line>) -> Vec<Effect<Name, Line>> {
        match (self.status, event) {
            (GateStatus::Halted, _) => Vec::new(),
            (GateStatus::Opening, Event::Opened { behind: true, .. }) => self.halt(HaltReason::Behind),
            (GateStatus::Opening, Event::Opened { waiting, .. }) => {
                self.status = GateStatus::Open;
                waiting.into_iter().flat_map(|(name, record)| self.leave(name, record)).collect()
            }
            (GateStatus::Opening, _) => Vec::new(),
            (GateStatus::Open, event) => self.serve(event),
        }
    }

    fn serve(&mut self, event: Event<Name, Line>) -> Vec<Effect<Name, Line>> {
        match event {
            Event::Opened { .. } => Vec::new(),
            Event::Doubted(reason) => self.halt(reason),
            Event::Wanted(name) => self.look_up(name, false),
            Event::Missed(name) => self.look_up(name, true),
            Event::LookedUp(name, row) => self.looked_up(name, row),
            Event::Drawn(name, line) => self.drawn(name, line),
            Event::Committed(name, outcome) => self.committed(name, outcome),
            Event::Delivered(name) => self.delivered(name),
            Event::Marked(name, mine) => self.marked(name, mine),
        }
    }

    fn look_up(&mut self, name: Name, missed: bool) -> Vec<Effect<Name, Line>> {
        if self.releases.contains_key(&name) {
            // It is in progress already; a second request changes nothing.
            return Vec::new();
        }
        self.releases.insert(name.clone(), ReleaseStage::LookingUp { missed });
        vec![Effect::LookUp(name)]
    }

    fn looked_up(&mut self, name: Name, row: Option<RowRecord<Line>>) -> Vec<Effect<Name, Line>> {
        let Some(ReleaseStage::LookingUp { missed }) = self.releases.get(&name) else {
            return Vec::new();
        };
        match (row, missed) {
            (Some(record), _) => self.leave(name, record),
            (None, false) => self.enter(name, ReleaseStage::Drawing, Effect::Draw),
            (None, true) => self.enter(name, ReleaseStage::Burying, Effect::Skip),
        }
    }

    fn drawn(&mut self, name: Name, line: Option<Line>) -> Vec<Effect<Name, Line>> {
        match (self.releases.get(&name), line) {
            (Some(ReleaseStage::Drawing), Some(line)) => self.seal(name, line, 1),
            (Some(ReleaseStage::Drawing), None) => self.halt(HaltReason::NoRandomness),
            _ => Vec::new(),
        }
    }

    fn committed(&mut self, name: Name, outcome: CommitOutcome<Line>) -> Vec<Effect<Name, Line>> {
        let stage = match self.releases.get(&name) {
            Some(stage @ (ReleaseStage::Sealing { .. } | ReleaseStage::Burying)) => stage.clone(),
            _ => return Vec::new(),
        };
        match (outcome, stage) {
            (CommitOutcome::Recorded(record), _) => self.leave(name, record),
            (CommitOutcome::Fenced, _) => self.halt(HaltReason::Fenced),
            (CommitOutcome::Unknown, _) if self.uncertainty == Uncertainty::Halt => {
                self.halt(HaltReason::Unknown)
            }
            (CommitOutcome::Unknown, _) => vec![Effect::Recover(name)],
            (CommitOutcome::Aborted, ReleaseStage::Sealing { line, tries }) if tries < TRIES => {
                self.seal(name, line, tries + 1)
            }
            (CommitOutcome::Aborted, ReleaseStage::Sealing { .. }) => {
                self.enter(name, ReleaseStage::Burying, Effect::Lose)
            }
            // Not even a tombstone can be written.
            (CommitOutcome::Aborted, _) => self.halt(HaltReason::Ledger),
        }
    }

    fn seal(&mut self, name: Name, line: Line, tries: u8) -> Vec<Effect<Name, Line>> {
        self.releases.insert(name.clone(), ReleaseStage::Sealing { line: line.clone(), tries });
        vec![Effect::Seal(name, line)]
    }

    /// Delivers a row that the ledger holds: from here on, only its bytes count.
    fn leave(&mut self, name: Name, record: RowRecord<Line>) -> Vec<Effect<Name, Line>> {
        match self.delivery {
            Delivery::AtLeastOnce => self.deliver(name, record.delivered, record),
            Delivery::AtMostOnce if record.delivered => self.withhold(name),
            Delivery::AtMostOnce => {
                self.enter(name, ReleaseStage::Marking { first: Some(record) }, Effect::Mark)
            }
        }
    }

    fn deliver(&mut self, name: Name, marked: bool, record: RowRecord<Line>) -> Vec<Effect<Name, Line>> {
        self.enter(name, ReleaseStage::Delivering { marked }, |name| Effect::Deliver(name, record))
    }

    fn delivered(&mut self, name: Name) -> Vec<Effect<Name, Line>> {
        match self.releases.get(&name) {
            Some(ReleaseStage::Delivering { marked: true }) => self.forget(name),
            Some(ReleaseStage::Delivering { marked: false }) => {
                self.enter(name, ReleaseStage::Marking { first: None }, Effect::Mark)
            }
            _ => Vec::new(),
        }
    }

    fn marked(&mut self, name: Name, mine: bool) -> Vec<Effect<Name, Line>> {
        match self.releases.get(&name) {
            // Two processes may have read the row as undelivered; the one whose mark came first delivers it.
            Some(ReleaseStage::Marking { first: Some(record) }) if mine => {
                let record = record.clone();
                self.deliver(name, true, record)
            }
            Some(ReleaseStage::Marking { first: Some(_) }) => self.withhold(name),
            Some(ReleaseStage::Marking { first: None }) => self.forget(name),
            _ => Vec::new(),
        }
    }

    fn withhold(&mut self, name: Name) -> Vec<Effect<Name, Line>> {
        self.releases.remove(&name);
        vec![Effect::Withhold(name)]
    }

    fn forget(&mut self, name: Name) -> Vec<Effect<Name, Line>> {
        self.releases.remove(&name);
        Vec::new()
    }

    fn enter(
        &mut self,
        name: Name,
        stage: ReleaseStage<Line>,
        effect: impl FnOnce(Name) -> Effect<Name, Line>,
    ) -> Vec<Effect<Name, Line>> {
        self.releases.insert(name.clone(), stage);
        vec![effect(name)]
    }

    fn halt(&mut self, reason: HaltReason) -> Vec<Effect<Name, Line>> {
        self.status = GateStatus::Halted;
        self.releases.clear();
        vec![Effect::Halt(reason)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gate at the line 7 of the release 1, which is being sealed.
    fn sealing(uncertainty: Uncertainty) -> Core<u8, u8> {
        let mut core = Core::new(Delivery::AtLeastOnce, uncertainty);
        core.step(Event::Opened { waiting: Vec::new(), behind: false });
        core.step(Event::Wanted(1));
        core.step(Event::LookedUp(1, None));
        assert_eq!(core.step(Event::Drawn(1, Some(7))), [Effect::Seal(1, 7)]);
        core
    }

    #[test]
    fn a_line_is_sealed_three_times_and_then_lost() {
        let mut core = sealing(Uncertainty::Reread);
        let mut aborted = || core.step(Event::Committed(1, CommitOutcome::Aborted));
        assert_eq!([aborted(), aborted()], [[Effect::Seal(1, 7)], [Effect::Seal(1, 7)]]);
        assert_eq!(aborted(), [Effect::Lose(1)]);
        assert_eq!(aborted(), [Effect::Halt(HaltReason::Ledger)]);
    }

    #[test]
    fn an_unknown_commit_is_read_again_or_ends_the_process() {
        let unknown = |uncertainty| sealing(uncertainty).step(Event::Committed(1, CommitOutcome::Unknown));
        assert_eq!(unknown(Uncertainty::Reread), [Effect::Recover(1)]);
        assert_eq!(unknown(Uncertainty::Halt), [Effect::Halt(HaltReason::Unknown)]);
    }
}
