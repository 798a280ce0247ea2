//! Coefficients that are few geometric series: a sum for each, and no history.

use dashu_int::UBig;

use crate::accounting::running::buffered::{BITS, Buffer, INNER, ONE, moved_squared};
use crate::accounting::running::buffers;

/// A measurement is a tick and, by its weight, each of the buffers.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    buffers: &'static [Buffer],
    /// `1 - loss`, the weight and the loss as floats, for what is told.
    floats: Vec<(f64, f64)>,
    ticks: u64,
    bits: u32,
}

/// What is kept: a sum for each buffer, exact up to its roundings, and of told ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BufferState {
    pub(super) exact: Vec<i128>,
    pub(super) told: Vec<f64>,
    pub(super) total: f64,
}

impl Buffers {
    pub(super) fn new(ticks: u64, each: u64) -> Buffers {
        let buffers = buffers(ticks);
        let float = |value: u64| value as f64 / ONE as f64;
        let floats = buffers.iter().map(|buffer| (1.0 - float(buffer.loss), float(buffer.weight))).collect();
        // A larger contribution needs no finer grid.
        let bits = BITS.saturating_sub(each.max(1).ilog2());
        Buffers { buffers, floats, ticks, bits }
    }

    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    pub(super) fn count(&self) -> usize {
        self.buffers.len()
    }

    pub(super) fn squared(&self, each: u64) -> UBig {
        moved_squared(self.buffers, self.ticks, each, self.bits)
    }

    /// Where a sum would pass 128 bits it stays at the end of them, in both of two worlds: no difference grows by that.
    pub(super) fn measure(&self, kept: &mut BufferState, exact: i64) -> i128 {
        let exact = i128::from(exact) << INNER;
        let mut measured = exact;
        for (buffer, sum) in self.buffers.iter().zip(&mut kept.exact) {
            measured = measured.saturating_add(part(*sum, buffer.weight));
            *sum = part(*sum, buffer.decay()).saturating_add(exact);
        }
        measured >> (INNER - self.bits)
    }

    pub(super) fn tell(&self, kept: &mut BufferState, noised: i128) -> f64 {
        let known: f64 = self.floats.iter().zip(&kept.told).map(|((_, weight), sum)| weight * sum).sum();
        let told = noised as f64 / (1u64 << self.bits) as f64 - known;
        for ((decay, _), sum) in self.floats.iter().zip(&mut kept.told) {
            *sum = decay * *sum + told;
        }
        kept.total += told;
        kept.total
    }
}

/// `value` times `by`, which is at most 1 in units of 2^-62, rounded down.
fn part(value: i128, by: u64) -> i128 {
    let by = i128::from(by);
    let (high, low) = (value >> 64, value & i128::from(u64::MAX));
    // The products are of 63 by 62 bits, and of 64 by 62.
    ((high * by) << 2) + ((low * by) >> 62)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dashu_int::IBig;
    use proptest::prelude::*;

    proptest! {
        // Against big integers.
        #[test]
        fn parts_are_rounded_down(value: i128, by in 0..=ONE) {
            let exact: IBig = (IBig::from(value) * IBig::from(by)) >> 62;
            prop_assert_eq!(IBig::from(part(value, by)), exact);
        }
    }
}
