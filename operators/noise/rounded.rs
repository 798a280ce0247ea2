//! Rounded Gaussian noise: the continuous normal distribution, drawn exactly as far as rounding needs it.
//!
//! A place of the continuous distribution has endlessly many bits. But its rounding is decided by few of
//! them, and so nearly always is its acceptance:
//!
//! 1. The real numbers are cut into cells of `2^-finer`, so fine that the inversion table's blocks hold a
//!    thousand cells or more. A draw is a block, and a cell in it, by the table.
//! 2. The place inside the cell is a uniform real number, of which no bit is drawn yet. The full coin, which
//!    one draw in 80 needs, throws its trials between the least and the largest exponent in the cell; a trial
//!    that these leave open, one in some thousand, draws bits of the place, and bits of its own, until they
//!    decide. All trials of a coin see one place.
//! 3. Every half of an integer is the boundary of two cells, so the cell decides the rounding. That a place
//!    is exactly on a boundary has probability zero: it makes no difference which way halves go.

use std::sync::{Arc, OnceLock};

use dashu_int::UBig;

use super::coins::{FairBits, Natural};
use super::gaussian::Quadratic;
use super::inversion::{ConvexDecay, InversionTable};
use super::ratio::Fraction;
use super::ratio::Ratio;
use super::source::NoiseSource;
use super::{ExactLaw, NoiseDistribution};
use crate::invalid::Invalid;

/// The rounded Gaussian distribution: that of `round(N)` for a normal `N` of mean 0 and this variance,
/// `P(z) = Phi((z + 1/2) / sigma) - Phi((z - 1/2) / sigma)` on the integers.
///
/// For an integer statistic `x`, `x + round(N) = round(x + N)`: the release is post-processing of the
/// continuous Gaussian mechanism. So integer statistics that one person can move by at most `d` in Euclidean
/// length, each with its own draw, are `d / sigma`-Gaussian differentially private under it, exactly (Dong,
/// Roth and Su 2022, arXiv 1905.02383), and `d^2 / (2 sigma^2)`-zCDP. This does not hold for a statistic that
/// is no integer, such as a half: put it on a [`Lattice`](super::Lattice) first.
///
/// The parameter is the variance of `N`. That of the draws is `sigma^2 + 1/12`, or less by at most
/// `(4 sigma^2 + 1/9) exp(-2 pi^2 sigma^2)`, which is nothing from sigma = 1 on.
///
/// The first draw builds a table of at most about 45 KB, which all clones share.
///
/// ```
/// use discreet::noise::{NoiseDistribution, NoiseSource, RoundedGaussian};
///
/// let distribution = RoundedGaussian::with_sigma(7.0)?; // mu = 1/7 for a count of people
/// let mut cells = [0; 1000];
/// distribution.fill(&mut NoiseSource::from_os()?, &mut cells);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RoundedGaussian {
    variance: Ratio,
    table: Arc<OnceLock<InversionTable<Cells>>>,
}

impl RoundedGaussian {
    /// Makes the distribution of this variance before rounding: a [`Ratio`], or a float, which is taken
    /// exactly.
    ///
    /// # Errors
    ///
    /// If the variance is not a number from 2^-10, below which the noise is all but always zero, to 2^104,
    /// above which it would not fit beside a statistic of 64 bits.
    pub fn new(variance: impl TryInto<Ratio, Error: Into<Invalid>>) -> Result<RoundedGaussian, Invalid> {
        let variance = Ratio::within("variance", variance, 10, 104)?;
        Ok(RoundedGaussian { variance, table: Arc::default() })
    }

    /// Makes the distribution of variance `sigma^2` before rounding, exactly.
    ///
    /// # Errors
    ///
    /// If sigma is not a number from 2^-5 to 2^52, or its square needs more than 128 bits on either side of
    /// the bar.
    pub fn with_sigma(sigma: impl TryInto<Ratio, Error: Into<Invalid>>) -> Result<RoundedGaussian, Invalid> {
        RoundedGaussian::new(Ratio::within("sigma", sigma, 5, 52)?.squared()?)
    }

    /// The variance before rounding, as it was given.
    pub fn variance(&self) -> Ratio {
        self.variance
    }

    fn table(&self) -> &InversionTable<Cells> {
        self.table.get_or_init(|| InversionTable::new(Cells::new(self.variance)))
    }
}

impl NoiseDistribution for RoundedGaussian {
    #[inline]
    fn draw(&self, noise: &mut NoiseSource) -> i64 {
        noise.asked_for("rounded-gaussian", &self.variance, 1);
        self.draw_from(noise)
    }

    fn fill(&self, noise: &mut NoiseSource, values: &mut [i64]) {
        noise.asked_for("rounded-gaussian", &self.variance, values.len());
        let table = self.table();
        values.iter_mut().for_each(|value| *value = table.draw(noise));
    }
}

impl ExactLaw for RoundedGaussian {
    #[inline]
    fn draw_from<B: FairBits + ?Sized>(&self, bits: &mut B) -> i64 {
        self.table().draw(bits)
    }
}

/// The least standard deviation in cells. Blocks then hold 2^10 cells, so that one trial in as many needs to
/// know where in its cell a place is.
const CELLS: u64 = 1 << 16;

/// The continuous normal distribution, in cells of `2^-finer`.
struct Cells {
    quadratic: Quadratic,
    /// The standard deviation in cells, from which the block width is chosen.
    reach: u64,
    /// The number of bits of a magnitude behind the half, which do not decide its rounding.
    behind: u32,
}

impl Cells {
    /// Cuts the distribution into the widest cells, of at most one half, that are fine enough.
    fn new(variance: Ratio) -> Cells {
        let mut finer = 1;
        loop {
            let quadratic = Quadratic { variance, finer };
            let reach = quadratic.reach();
            if reach > CELLS {
                return Cells { quadratic, reach, behind: finer - 1 };
            }
            finer += 1;
        }
    }

    /// Returns the place in the cell of `magnitude`, where the exponent is `base` units at the lower end.
    fn place(&self, base: u128, magnitude: u64) -> Place<'_> {
        Place { quadratic: &self.quadratic, base, magnitude, fraction: UBig::ZERO, bits: 0 }
    }
}

impl ConvexDecay for Cells {
    const LENGTH: u64 = 1;

    fn reach(&self) -> u64 {
        self.reach
    }

    fn rise(&self, from: u64, to: u64) -> Fraction {
        self.quadratic.rise(from, to)
    }

    fn curvature(&self, width: u64) -> Fraction {
        self.quadratic.curvature(width)
    }

    fn slope(&self, at: u64) -> Fraction {
        self.quadratic.slope(at)
    }

    fn residual(&self, j: u64) -> Fraction {
        self.quadratic.residual(j)
    }

    fn accept<B: FairBits + ?Sized>(
        &self,
        start: u64,
        magnitude: u64,
        [bound, whole]: [u128; 2],
        noise: &mut B,
    ) -> bool {
        let base = u128::from(magnitude - start) * u128::from(magnitude + start);
        let mut place = self.place(base, magnitude);
        !place.trial(whole, bound, noise) || place.flip_exp(1, 2, noise)
    }

    /// Draws the coin in equal parts, each of an exponent of at most 1: with `u` the place in its cell, the
    /// exponent is `(start + j + u)^2 - start^2 - 2 start j = j^2 + 2 (start + j) u + u^2` units.
    fn accept_behind<B: FairBits + ?Sized>(&self, start: u64, j: u64, noise: &mut B) -> bool {
        let mut place = self.place(u128::from(j) * u128::from(j), start.saturating_add(j));
        let parts = u64::try_from(&place.largest().ceiling()).unwrap_or(u64::MAX);
        (0..parts).all(|_| place.flip_exp(parts.into(), 1, noise))
    }

    /// Rounds `(magnitude + u) / 2^finer` to the nearest integer, for every `u` from 0 to 1.
    #[inline]
    fn released(&self, magnitude: u64) -> u64 {
        ((magnitude >> self.behind) + 1) >> 1
    }
}

/// A real number from `magnitude` to `magnitude + 1`, of which more bits are drawn as they are needed, and
/// the exponent of its coin, which is `base + 2 magnitude u + u^2` units of `1 / (2 variance)` for the
/// fraction `u`.
struct Place<'a> {
    quadratic: &'a Quadratic,
    base: u128,
    magnitude: u64,
    /// The bits of the fraction that are drawn, as an integer, and their number.
    fraction: UBig,
    bits: usize,
}

impl Place<'_> {
    /// The exponent at the upper end of the cell.
    fn largest(&self) -> Fraction {
        self.quadratic.over_variance(self.base + 2 * u128::from(self.magnitude) + 1, 1, 2)
    }

    /// Draws `true` with probability `exp(-exponent / parts)` where that quotient is at most 1, beginning
    /// with trial `first` of von Neumann's coin (see `coins.rs`).
    fn flip_exp<B: FairBits + ?Sized>(&mut self, parts: u128, first: u64, noise: &mut B) -> bool {
        let mut k = first;
        while self.trial(1, parts, noise) && (k == 1 || noise.below(k) == 0) {
            k += 1;
        }
        k % 2 == 1
    }

    /// Draws `true` with probability `exponent times / over`, which is at most 1.
    ///
    /// Exponents have one denominator, so the integer part of a uniform number of that many units mostly
    /// decides.
    fn trial<B: FairBits + ?Sized>(&mut self, times: u128, over: u128, noise: &mut B) -> bool {
        let least = self.quadratic.over_variance(self.base, times, 2 * over);
        let largest = self.largest().times(times, over);
        match (least, largest) {
            (Fraction::Small(least, _), Fraction::Small(largest, whole)) => {
                self.decide(times, [least, largest, whole], noise)
            }
            (least, largest) => {
                let (largest, whole) = largest.parts();
                self.decide(times, [least.parts().0, largest, whole], noise)
            }
        }
    }

    fn decide<N: Natural, B: FairBits + ?Sized>(
        &mut self,
        times: u128,
        [least, largest, whole]: [N; 3],
        noise: &mut B,
    ) -> bool {
        let uniform = whole.draw_below(noise);
        if uniform >= largest {
            return false;
        }
        uniform < least || self.refine(times, uniform.into(), noise)
    }

    /// Draws further bits of the place, and twice as many of the uniform number, until it is above or below
    /// the exponent for every place that has these bits.
    #[cold]
    fn refine<B: FairBits + ?Sized>(&mut self, times: u128, mut uniform: UBig, noise: &mut B) -> bool {
        let unit = UBig::from(self.quadratic.variance.denominator()) * UBig::from(times);
        let mut bits = 0;
        loop {
            self.fraction = (&self.fraction << 64) + UBig::from(noise.word());
            self.bits += 64;
            while bits < 2 * self.bits {
                uniform = (uniform << 64) + UBig::from(noise.word());
                bits += 64;
            }
            if uniform < &unit * self.scaled(&self.fraction) {
                return true;
            }
            if uniform >= &unit * self.scaled(&(&self.fraction + UBig::ONE)) {
                return false;
            }
        }
    }

    /// The exponent at a fraction of `fraction / 2^bits`, in `4^-bits` of a unit.
    fn scaled(&self, fraction: &UBig) -> UBig {
        let linear = (UBig::from(self.magnitude) * fraction) << (self.bits + 1);
        (UBig::from(self.base) << (2 * self.bits)) + linear + fraction * fraction
    }
}

#[cfg(test)]
mod tests;
