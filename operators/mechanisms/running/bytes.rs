//! A state as bytes: a version, the parameters, how many ticks were told, exact numbers, told numbers, the total.
//!
//! How many numbers there are follows from parameters and ticks, so no length can be wrong and nothing can be left over.

use super::ready::{MeasurementPlan, PreparedRunning};
use super::state::{StrategyState, TotalState};
use super::{buffers, history, nodes};
use crate::canonical::Digest;
use crate::invalid::{Invalid, InvalidKind};

const VERSION: u8 = 1;

pub(super) fn written(state: &TotalState) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    bytes.extend(state.parameters.bytes());
    bytes.extend(state.ticks.to_be_bytes());
    numbers(state, &mut bytes);
    bytes
}

/// Exact numbers, told numbers, the total.
pub(super) fn numbers(state: &TotalState, bytes: &mut Vec<u8>) {
    let mut floats = |exact: Vec<u8>, told: &mut dyn Iterator<Item = f64>| {
        bytes.extend(exact);
        told.for_each(|value| bytes.extend(value.to_bits().to_be_bytes()));
    };
    match &state.kept {
        StrategyState::History(kept) => {
            let exact = kept.exact.iter().flat_map(|value| value.to_be_bytes()).collect();
            floats(exact, &mut kept.told.iter().copied().chain([kept.total]));
        }
        StrategyState::Buffers(kept) => {
            let exact = kept.exact.iter().flat_map(|value| value.to_be_bytes()).collect();
            floats(exact, &mut kept.told.iter().copied().chain([kept.total]));
        }
        StrategyState::Nodes(kept) => {
            let exact = kept.exact.iter().flat_map(|value| value.to_be_bytes()).collect();
            floats(exact, &mut kept.told.iter().copied());
        }
    }
}

pub(super) fn read(running: &PreparedRunning, written: &[u8]) -> Result<TotalState, Invalid> {
    let refused = |kind| Invalid::new("state", kind, "what was written of a state of these parameters");
    let mut left = UnreadBytes(written);
    let short = || refused(InvalidKind::Malformed);
    if left.array::<1>().ok_or_else(short)? != [VERSION] {
        return Err(short());
    }
    if Digest(left.array().ok_or_else(short)?) != running.parameters() {
        return Err(refused(InvalidKind::Mixed));
    }
    let state = left.state(running).ok_or_else(short)?;
    if left.is_empty() { Ok(state) } else { Err(short()) }
}

/// What is not read yet.
pub(super) struct UnreadBytes<'b>(pub(super) &'b [u8]);

impl<'b> UnreadBytes<'b> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    pub(super) fn count(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn bytes(&mut self, length: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// How many ticks were told, and the [numbers].
    pub(super) fn state(&mut self, running: &PreparedRunning) -> Option<TotalState> {
        let ticks = self.count()?;
        if running.horizon().is_some_and(|horizon| ticks > horizon) {
            return None;
        }
        let kept = self.kept(&running.plan, ticks)?;
        Some(TotalState { parameters: running.parameters(), ticks, kept })
    }

    fn kept(&mut self, plan: &MeasurementPlan, ticks: u64) -> Option<StrategyState> {
        Some(match plan {
            MeasurementPlan::History(history) => {
                let (exact, told) = history.kept(ticks);
                StrategyState::History(history::HistoryState {
                    exact: (0..exact).map(|_| self.array().map(i64::from_be_bytes)).collect::<Option<_>>()?,
                    told: (0..told).map(|_| self.float()).collect::<Option<_>>()?,
                    total: self.float()?,
                })
            }
            MeasurementPlan::Buffers(buffers) => StrategyState::Buffers(buffers::BufferState {
                exact: self.wide(buffers.count())?,
                told: self.floats(buffers.count())?,
                total: self.float()?,
            }),
            MeasurementPlan::Nodes(nodes) => StrategyState::Nodes(nodes::NodeState {
                exact: self.wide(nodes.levels())?,
                told: self.floats(nodes.levels())?,
            }),
        })
    }

    fn wide(&mut self, count: usize) -> Option<Vec<i128>> {
        (0..count).map(|_| self.array().map(i128::from_be_bytes)).collect()
    }

    fn floats(&mut self, count: usize) -> Option<Vec<f64>> {
        (0..count).map(|_| self.float()).collect()
    }

    /// Nothing here makes a number that is not finite.
    fn float(&mut self) -> Option<f64> {
        let value = f64::from_bits(u64::from_be_bytes(self.array()?));
        value.is_finite().then_some(value)
    }
}
