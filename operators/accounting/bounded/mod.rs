//! Noise that never exceeds a bound, for many adaptive answers: each query may depend on the answers before
//! it.
//!
//! Gaussian noise is small nearly always; of a thousand answers one is off by more than three deviations.
//! Bounded noise (Dagan and Kur 2022) never exceeds its bound, with probability one, and from some hundred
//! answers on that bound is smaller than the one that Gaussian noise keeps for all answers in 95 of 100
//! cases. Its cost is a probability, a part of delta, that an answer is one that is impossible under the
//! neighbouring dataset.
//!
//! ```
//! use discreet::accounting::bounded::{BoundedNoiseRequest, CalibratedBoundedNoise, GridResolution};
//!
//! let noise = CalibratedBoundedNoise::calibrate(&BoundedNoiseRequest::new(1_000, 1.0, 1e-6)?, &GridResolution::default())?;
//! assert!(noise.bound() < 471.0); // counts of people; the Gaussian's 95% of all 1,000 is 541
//! assert!(noise.delta() <= 1e-6);
//! # Ok::<(), discreet::Invalid>(())
//! ```
//!
//! A calibration has three parts. A *search* finds the shape of the density and the width that it needs, with
//! sketches in floats; no guarantee rests on it. A *table* of integer weights is exactly the distribution
//! that is drawn from ([`noise::BoundedDistribution`](crate::noise::BoundedDistribution)). Its *certificate*
//! is an upper bound on the delta of all answers, computed from the integers of that very table, with each
//! rounding in the safe direction.
//!
//! Results are the same on every machine: the only logarithm in use is `libm`'s.
//!
//! **When not to use it.** The answers are charged as a whole, at once. For a stream of releases without an
//! end, or for statistics in which one person contributes to many coordinates, Gaussian noise under a
//! zero-concentrated ledger is cheaper.

mod certificate;
mod published;
mod search;
mod shape;

#[cfg(test)]
mod tests;

pub use published::published_bound;
pub use search::{BoundedNoiseGoal, BoundedNoiseRequest, GridResolution};
pub use shape::NoiseShape;

use certificate::BoundedNoiseTable;
use certificate::Certificate;
use search::Sketch;

use crate::invalid::{Invalid, InvalidKind};

/// One calibrated noise distribution, for a fixed number of answers.
#[derive(Clone, Debug)]
pub struct CalibratedBoundedNoise {
    asked: BoundedNoiseRequest,
    shape: NoiseShape,
    table: BoundedNoiseTable,
    shift: u64,
    /// The delta that the certificate proves.
    delta: f64,
}

/// The distance of delta from the requested one, as a logarithm, at which a bound is accepted: a
/// ten-thousandth of the bound. The tolerance grows with every try.
const NEAR: f64 = 0.002;

/// The ratio of a bound to the sketch's above which coarser grids are tried. A grid can be too fine: where a
/// weight times the square of its fall from one step to the next is below 1, log-concave integers can fall in
/// a line, but not like `e^-x`.
const COARSE: f64 = 1.003;

/// A search for a scale ends when its bracket is one part in this number wide.
const CLOSE: u64 = 20_000;

impl CalibratedBoundedNoise {
    /// Returns the certified noise with the smallest bound (or error) that the search finds.
    ///
    /// # Errors
    /// Names `queries` where the noise would extend beyond 2^21 steps, and `delta` where no scale of the
    /// shape is certified.
    pub fn calibrate(
        asked: &BoundedNoiseRequest,
        grid: &GridResolution,
    ) -> Result<CalibratedBoundedNoise, Invalid> {
        let found = search::best(asked)?;
        let end = Sketch::new(found.shape).end;
        // Slightly less, so that the margin that the certificate adds does not pass the reach.
        let most = (grid.reach as f64 * 0.997 / found.bound) as u64 / grid.multiple;
        let mut shift = grid.multiple * most.max(1);
        let mut best: Option<CalibratedBoundedNoise> = None;
        loop {
            let least = shift == grid.multiple;
            match Self::certified(asked, found.shape, shift, found.bound * shift as f64 / end) {
                Ok(noise) if noise.reach() > grid.reach && !least => {
                    // The sketch promised too much; the certificate gives the number of steps that fit.
                    let most = (grid.reach as f64 * 0.999 / noise.bound()) as u64 / grid.multiple;
                    shift = (grid.multiple * most).clamp(grid.multiple, shift - grid.multiple);
                    continue;
                }
                Ok(noise) => {
                    let near = noise.bound() <= found.bound * COARSE;
                    if best.as_ref().is_none_or(|best| noise.bound() < best.bound()) {
                        best = Some(noise);
                    }
                    if near || least {
                        break;
                    }
                }
                Err(refused) if least && best.is_none() => return Err(refused),
                Err(_) if least => break,
                Err(_) => {}
            }
            shift = (shift / 4 / grid.multiple).max(1) * grid.multiple;
        }
        best.ok_or_else(|| Invalid::new("queries", InvalidKind::TooLarge, "fewer answers"))
    }

    /// Returns about the least scale of a shape that is certified for a shift.
    fn certified(
        asked: &BoundedNoiseRequest,
        shape: NoiseShape,
        shift: u64,
        near: f64,
    ) -> Result<CalibratedBoundedNoise, Invalid> {
        let at = |scale: u64| -> Result<CalibratedBoundedNoise, Invalid> {
            let table = BoundedNoiseTable::new(&shape, scale)?;
            let delta = Certificate::new(&table, shift).delta(asked.queries, asked.epsilon, asked.delta);
            Ok(CalibratedBoundedNoise { asked: *asked, shape, table, shift, delta })
        };
        let (mut low, mut high) = (0, u64::MAX);
        let mut best: Option<CalibratedBoundedNoise> = None;
        let mut scale = (near.ceil() as u64).max(2);
        let (mut last, mut slope) = (None::<(f64, f64)>, -12.0);
        for tries in 0..40_u32 {
            let noise = at(scale)?;
            let excess = libm::log(noise.delta.max(1e-300) / asked.delta);
            let enough = noise.delta <= asked.delta;
            if enough {
                high = scale;
                best = Some(noise);
            } else {
                low = scale;
            }
            if high - low <= 1 + scale / CLOSE || (enough && excess > -NEAR * f64::from(1 + tries)) {
                break;
            }
            let log_scale = libm::log(scale as f64);
            if let Some((before, value)) = last {
                let found = (excess - value) / (log_scale - before);
                slope = if found < -0.5 { found } else { slope };
            }
            last = Some((log_scale, excess));
            // Aim slightly below the requested delta.
            let aimed = libm::exp(log_scale - ((excess + NEAR / 2.0) / slope).clamp(-0.7, 0.7));
            // Go beyond the longest table only where that is not enough.
            let next = (aimed.ceil() as u64).min(certificate::LENGTH.max(low + 1));
            // Every other step halves: some curves have a sharp drop.
            scale = if next > low && next < high && !(tries % 2 == 1 && low > 0 && high < u64::MAX) {
                next
            } else if high == u64::MAX {
                (low + low / 64 + 1).min(certificate::LENGTH.max(low + 1))
            } else {
                low + (high - low) / 2
            };
        }
        best.ok_or_else(|| {
            Invalid::new(
                "delta",
                InvalidKind::TooSmall,
                "a larger delta or epsilon, or fewer answers, for this shape",
            )
        })
    }

    /// The weights of noise 0, 1, 2, ... steps, and of -1, -2, ...: all above 0, never rising, log-concave.
    pub fn weights(&self) -> &[u64] {
        self.table.weights()
    }

    /// Returns the weights without a copy.
    pub fn into_weights(self) -> Vec<u64> {
        self.table.into_weights()
    }

    /// The largest noise in steps.
    pub fn reach(&self) -> u64 {
        self.table.reach()
    }

    /// The sensitivity of an answer, in steps.
    pub fn shift(&self) -> u64 {
        self.shift
    }

    /// The shape of the density that the table follows.
    pub fn shape(&self) -> &NoiseShape {
        &self.shape
    }

    /// The standard deviation of the noise, in steps.
    pub fn deviation(&self) -> f64 {
        self.table.deviation()
    }

    /// The epsilon of all answers together.
    pub fn epsilon(&self) -> f64 {
        self.asked.epsilon
    }

    /// The certified delta of all answers together: at most the requested one.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The number of answers.
    pub fn queries(&self) -> u64 {
        self.asked.queries
    }

    /// The largest possible error, for answers of sensitivity 1: the reach over the shift, rounded up.
    pub fn bound(&self) -> f64 {
        let (reach, shift) = (self.reach() as f64, self.shift as f64);
        let bound = reach / shift;
        // Both are below 2^53, so that this is exact where there is nothing to round.
        if self.reach().is_multiple_of(self.shift) { bound } else { bound.next_up() }
    }

    /// The standard deviation for answers of sensitivity 1.
    pub fn unit_deviation(&self) -> f64 {
        self.deviation() / self.shift as f64
    }
}
