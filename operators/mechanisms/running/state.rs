//! The state of a running total between ticks.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;

use dashu_int::UBig;
use smallvec::{SmallVec, smallvec};

use super::prepared::{MeasurementPlan, PreparedRunning};
use crate::accounting::running::buffered::{BITS, Buffer, INNER, ONE, falls, moved_squared};
use crate::accounting::running::buffers;
use crate::accounting::running::strategies::{Coefficients, levels, node};
use crate::canonical::Digest;
use crate::invalid::{Invalid, InvalidKind};

/// The input of the next total from the ticks before: exact numbers, which are secret, and noised ones.
///
/// It is written as [bytes](TotalState::to_bytes) and [read again](super::PreparedRunning::resumed) to the
/// last bit.
#[derive(Clone, PartialEq)]
pub struct TotalState {
    pub(super) parameters: Digest,
    pub(super) ticks: u64,
    pub(super) kept: StrategyState,
    /// The exact number of the last tick, where ticks are the changes of a number.
    pub(super) level: i64,
}

#[derive(Clone, PartialEq)]
pub(super) enum StrategyState {
    History(HistoryState),
    Buffers(BufferState),
    Nodes(NodeState),
}

/// The measurements of a tick: one number, and for a tree two on average.
pub(super) type Measured = SmallVec<[i128; 4]>;

impl TotalState {
    pub(super) fn new(plan: &MeasurementPlan, parameters: Digest) -> TotalState {
        TotalState { parameters, ticks: 0, kept: StrategyState::new(plan), level: 0 }
    }

    /// The number of ticks with a total.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Returns the stored form: a version, the parameters, the tick, then numbers. The bytes are secret.
    pub fn to_bytes(&self) -> Vec<u8> {
        written(self)
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
            // Unreachable: a state belongs to the plan that made it.
            _ => Measured::new(),
        }
    }

    pub(super) fn estimate(&mut self, plan: &MeasurementPlan, noised: &[i128]) -> f64 {
        let first = noised.first().copied().unwrap_or(0);
        match (plan, &mut self.kept) {
            (MeasurementPlan::History(history), StrategyState::History(kept)) => {
                history.estimate(kept, first)
            }
            (MeasurementPlan::Buffers(buffers), StrategyState::Buffers(kept)) => {
                buffers.estimate(kept, first)
            }
            (MeasurementPlan::Nodes(nodes), StrategyState::Nodes(kept)) => {
                nodes.estimate(kept, self.ticks, noised)
            }
            _ => 0.0,
        }
    }
}

impl StrategyState {
    fn new(plan: &MeasurementPlan) -> StrategyState {
        match plan {
            MeasurementPlan::History(_) => StrategyState::History(HistoryState {
                exact: VecDeque::new(),
                estimates: VecDeque::new(),
                total: 0.0,
            }),
            MeasurementPlan::Buffers(buffers) => {
                let count = buffers.count();
                StrategyState::Buffers(BufferState {
                    exact: vec![0; count],
                    estimates: vec![0.0; count],
                    total: 0.0,
                })
            }
            MeasurementPlan::Nodes(nodes) => StrategyState::Nodes(NodeState {
                exact: vec![0; nodes.levels()],
                estimates: vec![0.0; nodes.levels()],
            }),
        }
    }
}

impl fmt::Debug for TotalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State({} ticks, <private>)", self.ticks)
    }
}

// The binary tree, from the leaves: a node is measured at its last tick.

/// The strategy that measures each node that a tick completes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nodes {
    levels: u32,
}

/// The last complete node of each level that waits for its sibling, exact and as estimated.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodeState {
    pub(super) exact: Vec<i128>,
    pub(super) estimates: Vec<f64>,
}

impl Nodes {
    pub(super) fn new(ticks: u64) -> Nodes {
        Nodes { levels: levels(ticks) }
    }

    pub(super) fn levels(self) -> usize {
        self.levels as usize
    }

    /// Returns this number of times the squared length of one contribution: a tick is in one node of each level.
    pub(super) fn squared(self, times: u128) -> UBig {
        UBig::from(self.levels) * UBig::from(times)
    }

    /// Measures the nodes that end at `tick`, which counts from 1. The sums are exact: 2^32 numbers of 64
    /// bits.
    pub(super) fn measure(self, kept: &mut NodeState, tick: u64, exact: i64) -> Measured {
        let mut sum = i128::from(exact);
        let mut measured = smallvec![sum];
        let (waiting, place) = split(&mut kept.exact, tick);
        for sibling in waiting {
            sum += std::mem::take(sibling);
            measured.push(sum);
        }
        if let Some(place) = place {
            *place = sum;
        }
        measured
    }

    /// Returns the total. A node is estimated by its own measurement and its children's estimates, weighted
    /// by their precision; a total is one node for each binary digit of its tick.
    pub(super) fn estimate(self, kept: &mut NodeState, tick: u64, noised: &[i128]) -> f64 {
        let (waiting, place) = split(&mut kept.estimates, tick);
        let mut values = noised.iter().map(|value| *value as f64);
        let mut estimate = values.next().unwrap_or(0.0);
        for ((level, own), sibling) in (1..).zip(values).zip(waiting) {
            let weight = node(level);
            estimate = weight * own + (1.0 - weight) * (std::mem::take(sibling) + estimate);
        }
        if let Some(place) = place {
            *place = estimate;
        }
        kept.estimates.iter().sum()
    }
}

/// Returns the levels of nodes that this tick completes, and the place in which the largest of them then
/// waits.
fn split<T>(levels: &mut [T], tick: u64) -> (&mut [T], Option<&mut T>) {
    let completed = (tick.trailing_zeros() as usize).min(levels.len());
    let (waiting, rest) = levels.split_at_mut(completed);
    (waiting, rest.first_mut())
}

// Coefficients over a history of ticks.

/// The strategy whose measurement is the last ticks, each times its coefficient.
#[derive(Clone, Debug)]
pub(super) struct History {
    coefficients: Coefficients,
    /// The coefficients after the first, over the first.
    ratios: Vec<f64>,
    work: Workload,
}

/// The ticks that a total adds up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Workload {
    SoFar,
    Last(u64),
}

/// The earlier ticks, the last one first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HistoryState {
    pub(super) exact: VecDeque<i64>,
    pub(super) estimates: VecDeque<f64>,
    pub(super) total: f64,
}

impl History {
    pub(super) fn new(coefficients: Coefficients, work: Workload) -> History {
        let first = coefficients.values.first().copied().unwrap_or(1) as f64;
        let ratios = coefficients.values.iter().skip(1).map(|value| *value as f64 / first).collect();
        History { coefficients, ratios, work }
    }

    pub(super) fn bits(&self) -> u32 {
        self.coefficients.bits
    }

    pub(super) fn width(&self) -> u64 {
        match self.work {
            Workload::SoFar => 0,
            Workload::Last(width) => width,
        }
    }

    /// Returns this number of times the squared length of one contribution. Each tick is in as many measurements as
    /// there are coefficients.
    pub(super) fn squared(&self, times: u128) -> UBig {
        UBig::from(self.coefficients.squared()) * UBig::from(times)
    }

    /// Returns true if the coefficients never rise.
    pub(super) fn falls(&self) -> bool {
        self.coefficients.falls()
    }

    /// The numbers of exact and of noised ticks that the state holds after this number of ticks.
    pub(super) fn kept(&self, ticks: u64) -> (usize, usize) {
        let lags = self.coefficients.values.len() - 1;
        let summed = self.width().saturating_sub(1) as usize;
        let ticks = usize::try_from(ticks).unwrap_or(usize::MAX);
        (ticks.min(lags), ticks.min(lags.max(summed)))
    }

    /// Measures a tick. The sum is exact: 2^17 products of 63 by 21 bits are 101 bits.
    pub(super) fn measure(&self, kept: &mut HistoryState, exact: i64) -> i128 {
        kept.exact.push_front(exact);
        let products = each(&self.coefficients.values, &kept.exact);
        let measured = products.map(|(by, value)| i128::from(*by) * i128::from(*value)).sum();
        kept.exact.truncate(self.coefficients.values.len() - 1);
        measured
    }

    /// Computes the tick from its noised measurement and the noised ticks before it, and returns the total.
    pub(super) fn estimate(&self, kept: &mut HistoryState, noised: i128) -> f64 {
        let known: f64 = each(&self.ratios, &kept.estimates).map(|(by, value)| by * value).sum();
        let estimate = noised as f64 / self.coefficients.unit() - known;
        kept.estimates.push_front(estimate);
        let total = match self.work {
            Workload::SoFar => kept.total + estimate,
            Workload::Last(width) => kept.estimates.iter().take(width as usize).sum(),
        };
        kept.total = total;
        kept.estimates.truncate(self.ratios.len().max(self.width().saturating_sub(1) as usize));
        total
    }
}

/// Pairs each value with its coefficient, in order. A deque is two pieces of memory: a loop over each piece
/// is twice as fast as one over the ring.
fn each<'k, C, V>(coefficients: &'k [C], values: &'k VecDeque<V>) -> impl Iterator<Item = (&'k C, &'k V)> {
    let (recent, before) = values.as_slices();
    let rest = coefficients.get(recent.len()..).unwrap_or_default();
    coefficients.iter().zip(recent).chain(rest.iter().zip(before))
}

// Coefficients that are a few geometric series: a sum for each, and no history.

/// The strategy whose measurement is a tick and each of the buffers, by its weight.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    buffers: Cow<'static, [Buffer]>,
    /// For each buffer, `1 - loss` and the weight as floats, for the noised sums.
    floats: Vec<(f64, f64)>,
    ticks: u64,
    bits: u32,
}

/// A sum for each buffer, exact up to its roundings, and one of noised ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BufferState {
    pub(super) exact: Vec<i128>,
    pub(super) estimates: Vec<f64>,
    pub(super) total: f64,
}

impl Buffers {
    pub(super) fn new(ticks: u64, each: u64) -> Buffers {
        // A larger contribution needs no finer grid.
        let bits = BITS.saturating_sub(each.max(1).ilog2());
        Buffers::of(Cow::Borrowed(buffers(ticks)), ticks, bits)
    }

    pub(super) fn of(buffers: Cow<'static, [Buffer]>, ticks: u64, bits: u32) -> Buffers {
        let float = |value: u64| value as f64 / ONE as f64;
        let floats = buffers.iter().map(|buffer| (1.0 - float(buffer.loss), float(buffer.weight))).collect();
        Buffers { buffers, floats, ticks, bits }
    }

    pub(super) fn series(&self) -> &[Buffer] {
        &self.buffers
    }

    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    pub(super) fn count(&self) -> usize {
        self.buffers.len()
    }

    pub(super) fn squared(&self, times: u128) -> UBig {
        moved_squared(&self.buffers, self.ticks, times, self.bits)
    }

    /// Returns true if the coefficients never rise.
    pub(super) fn falls(&self) -> bool {
        falls(&self.buffers)
    }

    /// Measures a tick. A sum that would pass 128 bits saturates, for both of two neighbouring inputs: no
    /// difference grows by that.
    pub(super) fn measure(&self, kept: &mut BufferState, exact: i64) -> i128 {
        let exact = i128::from(exact) << INNER;
        let mut measured = exact;
        for (buffer, sum) in self.buffers.iter().zip(&mut kept.exact) {
            measured = measured.saturating_add(part(*sum, buffer.weight));
            *sum = part(*sum, buffer.decay()).saturating_add(exact);
        }
        measured >> (INNER - self.bits)
    }

    pub(super) fn estimate(&self, kept: &mut BufferState, noised: i128) -> f64 {
        let known: f64 = self.floats.iter().zip(&kept.estimates).map(|((_, weight), sum)| weight * sum).sum();
        let estimate = noised as f64 / (1u64 << self.bits) as f64 - known;
        for ((decay, _), sum) in self.floats.iter().zip(&mut kept.estimates) {
            *sum = decay * *sum + estimate;
        }
        kept.total += estimate;
        kept.total
    }
}

/// Returns `value` times `by`, which is at most 1 in units of 2^-62, rounded down.
fn part(value: i128, by: u64) -> i128 {
    let by = i128::from(by);
    let (high, low) = (value >> 64, value & i128::from(u64::MAX));
    // The products are of 63 by 62 bits, and of 64 by 62.
    ((high * by) << 2) + ((low * by) >> 62)
}

// A state as bytes: a version, the parameters, the number of ticks, exact numbers, noised numbers, the total.
//
// The parameters and the ticks determine the number of numbers, so no length can be wrong and no byte can be
// left over.

const VERSION: u8 = 1;

pub(super) fn written(state: &TotalState) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    bytes.extend(state.parameters.bytes());
    bytes.extend(state.ticks.to_be_bytes());
    numbers(state, &mut bytes);
    bytes
}

/// Writes the exact numbers, the noised numbers and the total.
pub(super) fn numbers(state: &TotalState, bytes: &mut Vec<u8>) {
    let mut floats = |exact: Vec<u8>, estimates: &mut dyn Iterator<Item = f64>| {
        bytes.extend(exact);
        estimates.for_each(|value| bytes.extend(value.to_bits().to_be_bytes()));
    };
    match &state.kept {
        StrategyState::History(kept) => {
            let exact = kept.exact.iter().flat_map(|value| value.to_be_bytes()).collect();
            floats(exact, &mut kept.estimates.iter().copied().chain([kept.total]));
        }
        StrategyState::Buffers(kept) => {
            let exact = kept.exact.iter().flat_map(|value| value.to_be_bytes()).collect();
            floats(exact, &mut kept.estimates.iter().copied().chain([kept.total]));
        }
        StrategyState::Nodes(kept) => {
            let exact = kept.exact.iter().flat_map(|value| value.to_be_bytes()).collect();
            floats(exact, &mut kept.estimates.iter().copied());
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

/// The bytes that are not read yet.
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

    /// Reads the number of ticks, and the [numbers].
    pub(super) fn state(&mut self, running: &PreparedRunning) -> Option<TotalState> {
        let ticks = self.count()?;
        if running.horizon().is_some_and(|horizon| ticks > horizon) {
            return None;
        }
        let kept = self.kept(&running.plan, ticks)?;
        Some(TotalState { parameters: running.parameters(), ticks, kept, level: 0 })
    }

    fn kept(&mut self, plan: &MeasurementPlan, ticks: u64) -> Option<StrategyState> {
        Some(match plan {
            MeasurementPlan::History(history) => {
                let (exact, estimates) = history.kept(ticks);
                StrategyState::History(HistoryState {
                    exact: (0..exact).map(|_| self.array().map(i64::from_be_bytes)).collect::<Option<_>>()?,
                    estimates: (0..estimates).map(|_| self.float()).collect::<Option<_>>()?,
                    total: self.float()?,
                })
            }
            MeasurementPlan::Buffers(buffers) => StrategyState::Buffers(self.buffers(buffers.count())?),
            MeasurementPlan::Nodes(nodes) => StrategyState::Nodes(NodeState {
                exact: self.wide(nodes.levels())?,
                estimates: self.floats(nodes.levels())?,
            }),
        })
    }

    /// Reads the sums of this number of buffers, as [numbers] writes them.
    pub(super) fn buffers(&mut self, count: usize) -> Option<BufferState> {
        Some(BufferState { exact: self.wide(count)?, estimates: self.floats(count)?, total: self.float()? })
    }

    fn wide(&mut self, count: usize) -> Option<Vec<i128>> {
        (0..count).map(|_| self.array().map(i128::from_be_bytes)).collect()
    }

    fn floats(&mut self, count: usize) -> Option<Vec<f64>> {
        (0..count).map(|_| self.float()).collect()
    }

    /// Reads a float, which must be finite: no state holds another.
    fn float(&mut self) -> Option<f64> {
        let value = f64::from_bits(u64::from_be_bytes(self.array()?));
        value.is_finite().then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dashu_int::IBig;
    use proptest::prelude::*;

    proptest! {
        // Refutes a rounding that is not that of big integers.
        #[test]
        fn parts_are_rounded_down(value: i128, by in 0..=ONE) {
            let exact: IBig = (IBig::from(value) * IBig::from(by)) >> 62;
            prop_assert_eq!(IBig::from(part(value, by)), exact);
        }
    }
}
