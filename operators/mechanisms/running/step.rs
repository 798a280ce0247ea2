//! One window of buffered totals, as its inputs: a change of the state that is smaller than the numbers it
//! changes.
//!
//! A buffered total changes every number of its state in every window, but two numbers a key determine all of
//! them: the exact number of the window and its noised measurement. From these and the former state the new
//! one is computed again, by the functions that computed it first, so it is the same to the last bit.

use std::borrow::Cow;

use super::state;
use super::state::{Buffers, StrategyState, TotalState, UnreadBytes};
use crate::accounting::running::buffered::{Buffer, INNER, ONE};
use crate::canonical::Digest;

/// The inputs of the next window of all public keys, by which a written state advances. Secret.
///
/// It has all that the computation depends on: the series of the buffers too. So a state can be advanced by a
/// process that has another mechanism, or none.
#[derive(Clone, PartialEq)]
pub struct StateStep {
    /// The place of the first key's numbers in the state.
    place: usize,
    bits: u32,
    series: Vec<Buffer>,
    /// The exact number of each key, and its noised measurement.
    inputs: Vec<(i64, i128)>,
}

redacted!(StateStep);

impl StateStep {
    pub(super) fn new(place: usize, buffers: &Buffers, inputs: Vec<(i64, i128)>) -> StateStep {
        StateStep { place, bits: buffers.bits(), series: buffers.series().to_vec(), inputs }
    }

    /// Returns the step for a state that stands behind this number of other bytes.
    pub(crate) fn behind(self, bytes: usize) -> StateStep {
        StateStep { place: self.place.saturating_add(bytes), ..self }
    }

    /// Advances a written state; `None` if this is no step of it. Then the state holds anything.
    pub(crate) fn apply(&self, written: &mut [u8]) -> Option<()> {
        let count = self.series.len();
        let buffers = Buffers::of(Cow::Owned(self.series.clone()), 0, self.bits);
        // The ticks, an exact and a noised sum for each buffer, and the total.
        let width = 8 + 24 * count + 8;
        let end = self.place.checked_add(width.checked_mul(self.inputs.len())?)?;
        let keys = written.get_mut(self.place..end)?;
        for (bytes, (exact, noised)) in keys.chunks_exact_mut(width).zip(&self.inputs) {
            let mut left = UnreadBytes(bytes);
            let ticks = left.count()?.checked_add(1)?;
            let mut kept = left.buffers(count)?;
            buffers.measure(&mut kept, *exact);
            buffers.estimate(&mut kept, *noised);
            let kept = StrategyState::Buffers(kept);
            let after = TotalState { parameters: Digest::NONE, ticks, kept, level: 0 };
            let mut numbers = ticks.to_be_bytes().to_vec();
            state::numbers(&after, &mut numbers);
            if numbers.len() != width {
                return None;
            }
            bytes.copy_from_slice(&numbers);
        }
        Some(())
    }

    /// Writes the step. Its length tells nothing of the exact numbers: they are as wide as any. The noised
    /// ones are as wide as the largest of them, and may be released.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let wide = self.inputs.iter().map(|(_, noised)| bytes_of(*noised)).max().unwrap_or(1);
        to.extend((self.place as u64).to_be_bytes());
        to.push(self.bits as u8);
        to.extend((self.series.len() as u32).to_be_bytes());
        for Buffer { loss, weight } in &self.series {
            to.extend(loss.to_be_bytes());
            to.extend(weight.to_be_bytes());
        }
        to.extend((self.inputs.len() as u64).to_be_bytes());
        to.push(wide as u8);
        for (exact, noised) in &self.inputs {
            to.extend(exact.to_be_bytes());
            to.extend(&noised.to_be_bytes()[16 - wide..]);
        }
    }

    /// Reads what [`write`](StateStep::write) wrote, from the front of these bytes; returns the rest of them
    /// too.
    pub(crate) fn read(from: &[u8]) -> Option<(StateStep, &[u8])> {
        let mut left = UnreadBytes(from);
        let place = usize::try_from(left.count()?).ok()?;
        let [bits] = left.array()?;
        let series = u32::from_be_bytes(left.array()?);
        let series: Vec<Buffer> = (0..series)
            .map(|_| Some(Buffer { loss: left.count()?, weight: left.count()? }))
            .collect::<Option<_>>()?;
        if u32::from(bits) > INNER || series.iter().any(|buffer| buffer.loss.max(buffer.weight) > ONE) {
            return None;
        }
        let (keys, [wide]) = (left.count()?, left.array()?);
        let wide = usize::from(wide);
        let inputs = (0..keys)
            .map(|_| Some((i64::from_be_bytes(left.array()?), signed(left.bytes(wide)?)?)))
            .collect::<Option<_>>()?;
        Some((StateStep { place, bits: bits.into(), series, inputs }, left.0))
    }
}

/// The number of bytes that hold a number with its sign.
fn bytes_of(number: i128) -> usize {
    let bits = 129 - if number < 0 { number.leading_ones() } else { number.leading_zeros() };
    bits.div_ceil(8) as usize
}

/// Reads a number of 1 to 16 bytes with its sign.
fn signed(bytes: &[u8]) -> Option<i128> {
    let sign = if bytes.first()? & 0x80 == 0 { 0 } else { 0xff };
    let mut all = [sign; 16];
    all.get_mut(16usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Refutes a version of the library that advances a state to other numbers than the one that sealed the
    // step.
    #[test]
    fn a_step_leads_to_the_same_bytes_in_every_version() {
        let series = vec![
            Buffer { loss: ONE / 7, weight: ONE / 3 },
            Buffer { loss: ONE / 1_009, weight: ONE / 31 },
            Buffer { loss: ONE / 65_537, weight: ONE / 257 },
        ];
        let mut written = vec![0; 3 + 3 * (8 + 24 * 3 + 8)];
        for tick in 1..100i64 {
            let inputs = (0..3)
                .map(|key| (tick * tick * key - 40, (i128::from(tick) << 28) * 3 - 12_345_678_901))
                .collect();
            let step = StateStep { place: 3, bits: 28, series: series.clone(), inputs };
            let mut bytes = Vec::new();
            step.write(&mut bytes);
            let (read, rest) = StateStep::read(&bytes).unwrap();
            assert!(read == step && rest.is_empty());
            read.apply(&mut written).unwrap();
        }
        let expected = "f6d37af62f52a6a9ea8063bb26bd46c657ec9ef505cab4310143e340fb3232dc";
        assert_eq!(Digest::of(&written).to_string(), expected);
    }

    proptest! {
        // Refutes a number that is cut, or that changes its sign.
        #[test]
        fn numbers_are_as_wide_as_they_need(number: i128, down in 0u32..127) {
            let number = number >> down;
            let wide = bytes_of(number);
            prop_assert_eq!(signed(&number.to_be_bytes()[16 - wide..]), Some(number));
        }

        // Refutes a step that panics on bytes that are none.
        #[test]
        fn any_bytes_are_a_step_or_none(bytes: Vec<u8>, mut written: Vec<u8>) {
            if let Some((step, _)) = StateStep::read(&bytes) {
                let _ = step.apply(&mut written);
            }
        }
    }
}
