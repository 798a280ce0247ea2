//! Fitted values: numbers beside the released ones, with less error on the whole, made of released and of public numbers alone.
//!
//! Nothing here sees a record: whatever is computed from released numbers keeps their guarantee, and costs nothing. So all of
//! it is in floats, downstream of the ledger, and a pure function of the lines in their order. A fitted value never takes the
//! place of the released one, which is without a bias and has an interval; it has neither.
//!
//! | fit | knows | is |
//! |---|---|---|
//! | [`RandomWalk::filtered`] | how far a number moves from one window to the next | the Kalman filter: of the windows up to its own |
//! | [`smoothed`] | the same | the Kalman smoother: of all windows, those behind its own too |
//! | [`monotone`] | that totals never fall, and are never below zero | isotonic regression of all totals |
//! | [`shrunk`] | that the keys of a window are alike | the positive-part James-Stein estimator, for noise of any size in each key |
//!
//! Isotonic regression is of the whole series, and there is none of a stream: by the totals up to it alone, the newest one would
//! be the largest of the means of the last totals, which is never below the released one, and too large by more than half of the
//! deviation of the noise where totals hardly grow.
//!
//! `discreet fit` adds them to lines: [`Fitter`].

#[cfg(feature = "cli")]
mod cells;
#[cfg(feature = "cli")]
mod fitter;
#[cfg(feature = "cli")]
mod measured;
mod monotone;
mod random_walk;
mod shrinkage;
#[cfg(test)]
mod tests;

#[cfg(feature = "cli")]
pub use fitter::{Fit, Fitter, UnfitRelease};
#[cfg(feature = "cli")]
pub use measured::{FitSummary, MeasuredError};
pub use monotone::monotone;
pub use random_walk::{RandomWalk, smoothed};
pub use shrinkage::shrunk;

/// A released number and the variance of its noise, which is above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// The released number.
    pub value: f64,
    /// The variance of its noise.
    pub variance: f64,
}

/// Normal noise for tests, the same in each run.
#[cfg(test)]
pub(super) struct TestNoise(pub(super) u64);

#[cfg(test)]
impl TestNoise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

/// The root of the mean of the squared differences.
#[cfg(test)]
pub(super) fn off(fitted: &[f64], truth: &[f64]) -> f64 {
    let squares: f64 = fitted.iter().zip(truth).map(|(fitted, truth)| (fitted - truth).powi(2)).sum();
    (squares / truth.len() as f64).sqrt()
}
