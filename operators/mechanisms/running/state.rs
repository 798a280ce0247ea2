//! What is kept from tick to tick.

use std::collections::VecDeque;
use std::fmt;

use smallvec::{SmallVec, smallvec};

use super::ready::Plan;
use super::{buffers, bytes, history, nodes};
use crate::canonical::Digest;

/// All that the next total depends on: exact numbers, which are secret, and told ones.
///
/// It is written as [bytes](State::to_bytes) and [read again](super::Running::resumed) to the last bit.
#[derive(Clone, PartialEq)]
pub struct State {
    pub(super) parameters: Digest,
    pub(super) ticks: u64,
    pub(super) kept: Kept,
}

#[derive(Clone, PartialEq)]
pub(super) enum Kept {
    History(history::Kept),
    Buffers(buffers::Kept),
    Nodes(nodes::Kept),
}

/// What a tick measures: one number, and of a tree in the mean two.
pub(super) type Measured = SmallVec<[i128; 4]>;

impl State {
    pub(super) fn new(plan: &Plan, parameters: Digest) -> State {
        State { parameters, ticks: 0, kept: Kept::new(plan) }
    }

    /// How many ticks have been told.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// As it is kept: a version, the parameters, the tick, then numbers. Secret.
    pub fn to_bytes(&self) -> Vec<u8> {
        bytes::written(self)
    }

    pub(super) fn measure(&mut self, plan: &Plan, exact: i64) -> Measured {
        self.ticks = self.ticks.saturating_add(1);
        match (plan, &mut self.kept) {
            (Plan::History(history), Kept::History(kept)) => smallvec![history.measure(kept, exact)],
            (Plan::Buffers(buffers), Kept::Buffers(kept)) => smallvec![buffers.measure(kept, exact)],
            (Plan::Nodes(nodes), Kept::Nodes(kept)) => nodes.measure(kept, self.ticks, exact),
            // A state is of the plan that made it.
            _ => Measured::new(),
        }
    }

    pub(super) fn tell(&mut self, plan: &Plan, noised: &[i128]) -> f64 {
        let first = noised.first().copied().unwrap_or(0);
        match (plan, &mut self.kept) {
            (Plan::History(history), Kept::History(kept)) => history.tell(kept, first),
            (Plan::Buffers(buffers), Kept::Buffers(kept)) => buffers.tell(kept, first),
            (Plan::Nodes(nodes), Kept::Nodes(kept)) => nodes.tell(kept, self.ticks, noised),
            _ => 0.0,
        }
    }
}

impl Kept {
    fn new(plan: &Plan) -> Kept {
        match plan {
            Plan::History(_) => {
                Kept::History(history::Kept { exact: VecDeque::new(), told: VecDeque::new(), total: 0.0 })
            }
            Plan::Buffers(buffers) => {
                let count = buffers.count();
                Kept::Buffers(buffers::Kept { exact: vec![0; count], told: vec![0.0; count], total: 0.0 })
            }
            Plan::Nodes(nodes) => {
                Kept::Nodes(nodes::Kept { exact: vec![0; nodes.levels()], told: vec![0.0; nodes.levels()] })
            }
        }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State({} ticks, <private>)", self.ticks)
    }
}
