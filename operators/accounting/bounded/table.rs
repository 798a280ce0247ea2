//! The integers that bounded noise is drawn from, and priced by.

use super::shape::NoiseShape;
use crate::invalid::{Invalid, InvalidKind};

/// The weights of noise 0, 1, 2, ... steps, and of -1, -2, ...: falling, log-concave and above 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BoundedNoiseTable {
    half: Vec<u64>,
}

/// The weight of 0.
const TOP: u64 = 1 << 62;

/// The most weights of one side: 16 MiB.
pub(super) const LENGTH: u64 = 1 << 21;

impl BoundedNoiseTable {
    /// The density at `j / scale` for all whole `j` below `scale`, in units of 2^-62 of the largest, rounded down; what
    /// rounds to 0 is left out, and so is all beyond it.
    ///
    /// # Errors
    /// Names `queries` where the table would be longer than 2^21.
    pub(super) fn new(shape: &NoiseShape, scale: u64) -> Result<BoundedNoiseTable, Invalid> {
        if scale > LENGTH {
            let remedy =
                "fewer answers, or a larger epsilon or delta: the noise would reach beyond 2^21 steps";
            return Err(Invalid::new("queries", InvalidKind::TooLarge, remedy));
        }
        let weigh = |j: u64| (libm::exp(-shape.fall(j as f64 / scale as f64)) * TOP as f64) as u64;
        Ok(BoundedNoiseTable::of((0..scale.max(1)).map(weigh)))
    }

    /// Lowers weights until each is at most the square of the one before over that before it, in exact integers; the
    /// neighbours of 0 are no larger than its own. So ratios of neighbours fall from one end of the table to the other,
    /// and with them the ratio of the table to itself moved by any shift: the larger the shift the more.
    pub(super) fn of(weights: impl Iterator<Item = u64>) -> BoundedNoiseTable {
        let mut half: Vec<u64> = Vec::with_capacity(weights.size_hint().0);
        let (mut before, mut last) = (u64::MAX, u64::MAX);
        for weight in weights {
            let weight = match half.len() {
                0 => weight,
                // The weights of -1, 0 and 1: 1 is at most 0, since it is also -1.
                1 => weight.min(last),
                _ => lowered(before, last, weight),
            };
            if weight == 0 {
                break;
            }
            half.push(weight);
            (before, last) = (last, weight);
        }
        half.shrink_to_fit();
        BoundedNoiseTable { half }
    }

    /// Weights as they are, log-concave or not: to show why they must be.
    #[cfg(test)]
    pub(super) fn raw(half: Vec<u64>) -> BoundedNoiseTable {
        BoundedNoiseTable { half }
    }

    pub(super) fn weights(&self) -> &[u64] {
        &self.half
    }

    pub(super) fn into_weights(self) -> Vec<u64> {
        self.half
    }

    /// The largest noise.
    pub(super) fn reach(&self) -> u64 {
        self.half.len() as u64 - 1
    }

    /// The standard deviation, in steps.
    pub(super) fn deviation(&self) -> f64 {
        let (mut total, mut squares) = (0.0, 0.0);
        for (j, weight) in self.half.iter().enumerate().skip(1) {
            total += *weight as f64;
            squares += *weight as f64 * (j as f64) * (j as f64);
        }
        (2.0 * squares / (2.0 * total + self.half.first().map_or(0.0, |&weight| weight as f64))).sqrt()
    }
}

/// At most `last^2 / before`. The division, which is slow, is for those few that need it.
fn lowered(before: u64, last: u64, weight: u64) -> u64 {
    let square = u128::from(last) * u128::from(last);
    if u128::from(weight) * u128::from(before) <= square {
        return weight;
    }
    // Below weight, since weight times before is above the square.
    u64::try_from(square / u128::from(before)).unwrap_or(weight)
}
