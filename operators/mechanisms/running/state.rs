//! What is kept from tick to tick.

use std::collections::VecDeque;
use std::fmt;

use smallvec::{SmallVec, smallvec};

use super::ready::MeasurementPlan;
use super::{buffers, bytes, history, nodes};
use crate::canonical::Digest;

/// All that the next total depends on: exact numbers, which are secret, and told ones.
///
/// It is written as [bytes](TotalState::to_bytes) and [read again](super::PreparedRunning::resumed) to the last bit.
#[derive(Clone, PartialEq)]
pub struct TotalState {
    pub(super) parameters: Digest,
    pub(super) ticks: u64,
    pub(super) kept: StrategyState,
}

#[derive(Clone, PartialEq)]
pub(super) enum StrategyState {
    History(history::HistoryState),
    Buffers(buffers::BufferState),
    Nodes(nodes::NodeState),
}

/// What a tick measures: one number, and of a tree in the mean two.
pub(super) type Measured = SmallVec<[i128; 4]>;

impl TotalState {
    pub(super) fn new(plan: &MeasurementPlan, parameters: Digest) -> TotalState {
        TotalState { parameters, ticks: 0, kept: StrategyState::new(plan) }
    }

    /// How many ticks have been told.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// As it is kept: a version, the parameters, the tick, then numbers. Secret.
    pub fn to_bytes(&self) -> Vec<u8> {
        bytes::written(self)
    }

    pub(super) fn measure(&mut self, plan: &MeasurementPlan, exact: i64) -> Measured {
        self.ticks = self.ticks.saturating_add(1);
        match (plan, &mut self.kept) {
            (MeasurementPlan::History(history), StrategyState::History(kept)) => {
                smallvec![history.measure(kept, exact)]
            }
            (MeasurementPlan::Buffers(buffers), StrategyState::Buffers(kept)) => {
                smallvec![buffers.measure(kept, exact)]
            }
            (MeasurementPlan::Nodes(nodes), StrategyState::Nodes(kept)) => {
                nodes.measure(kept, self.ticks, exact)
            }
            // A state is of the plan that made it.
            _ => Measured::new(),
        }
    }

    pub(super) fn tell(&mut self, plan: &MeasurementPlan, noised: &[i128]) -> f64 {
        let first = noised.first().copied().unwrap_or(0);
        match (plan, &mut self.kept) {
            (MeasurementPlan::History(history), StrategyState::History(kept)) => history.tell(kept, first),
            (MeasurementPlan::Buffers(buffers), StrategyState::Buffers(kept)) => buffers.tell(kept, first),
            (MeasurementPlan::Nodes(nodes), StrategyState::Nodes(kept)) => {
                nodes.tell(kept, self.ticks, noised)
            }
            _ => 0.0,
        }
    }
}

impl StrategyState {
    fn new(plan: &MeasurementPlan) -> StrategyState {
        match plan {
            MeasurementPlan::History(_) => StrategyState::History(history::HistoryState {
                exact: VecDeque::new(),
                told: VecDeque::new(),
                total: 0.0,
            }),
            MeasurementPlan::Buffers(buffers) => {
                let count = buffers.count();
                StrategyState::Buffers(buffers::BufferState {
                    exact: vec![0; count],
                    told: vec![0.0; count],
                    total: 0.0,
                })
            }
            MeasurementPlan::Nodes(nodes) => StrategyState::Nodes(nodes::NodeState {
                exact: vec![0; nodes.levels()],
                told: vec![0.0; nodes.levels()],
            }),
        }
    }
}

impl fmt::Debug for TotalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State({} ticks, <private>)", self.ticks)
    }
}
