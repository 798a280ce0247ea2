//! Discrete Gaussian noise.

use std::sync::{Arc, OnceLock};

use super::coins::FairBits;
use super::inversion::{ConvexDecay, InversionTable};
use super::ratio::Fraction;
use super::ratio::Ratio;
use super::source::NoiseSource;
use super::{ExactLaw, NoiseDistribution};
use crate::invalid::Invalid;

/// The discrete Gaussian distribution: `P(z)` proportional to `exp(-z^2 / (2 variance))` on the integers.
///
/// Integer statistics that one person can move by at most `d` in Euclidean length, each with its own draw,
/// are `d^2 / (2 variance)`-zCDP under it (Canonne, Kamath and Steinke 2020, arXiv 2004.00010). The parameter
/// is named after the continuous distribution; the integer distribution's own variance is never above it.
///
/// The first draw builds a table of about 20 KB, which all clones share.
///
/// ```
/// use discreet::noise::{DiscreteGaussian, NoiseDistribution, NoiseSource};
///
/// let distribution = DiscreteGaussian::new(50.0)?;
/// let mut cells = [0; 1000];
/// distribution.fill(&mut NoiseSource::from_os()?, &mut cells);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DiscreteGaussian {
    variance: Ratio,
    table: Arc<OnceLock<InversionTable<Quadratic>>>,
}

impl DiscreteGaussian {
    /// Makes the distribution of this variance: a [`Ratio`], or a float, which is taken exactly.
    ///
    /// # Errors
    ///
    /// If the variance is not a number from 2^-10, below which the noise is all but always zero, to 2^104,
    /// above which it would not fit beside a statistic of 64 bits.
    pub fn new(variance: impl TryInto<Ratio, Error: Into<Invalid>>) -> Result<DiscreteGaussian, Invalid> {
        let variance = Ratio::within("variance", variance, 10, 104)?;
        Ok(DiscreteGaussian { variance, table: Arc::default() })
    }

    /// Makes the distribution of variance `sigma^2`, exactly.
    ///
    /// # Errors
    ///
    /// If sigma is not a number from 2^-5 to 2^52, or its square needs more than 128 bits on either side of
    /// the bar.
    pub fn with_sigma(sigma: impl TryInto<Ratio, Error: Into<Invalid>>) -> Result<DiscreteGaussian, Invalid> {
        DiscreteGaussian::new(Ratio::within("sigma", sigma, 5, 52)?.squared()?)
    }

    /// The variance parameter, as it was given.
    pub fn variance(&self) -> Ratio {
        self.variance
    }

    fn table(&self) -> &InversionTable<Quadratic> {
        self.table.get_or_init(|| InversionTable::new(Quadratic { variance: self.variance, finer: 0 }))
    }
}

impl NoiseDistribution for DiscreteGaussian {
    #[inline]
    fn draw(&self, noise: &mut NoiseSource) -> i64 {
        noise.asked_for("gaussian", &self.variance, 1);
        self.draw_from(noise)
    }

    fn fill(&self, noise: &mut NoiseSource, values: &mut [i64]) {
        noise.asked_for("gaussian", &self.variance, values.len());
        let table = self.table();
        values.iter_mut().for_each(|value| *value = table.draw(noise));
    }
}

impl ExactLaw for DiscreteGaussian {
    #[inline]
    fn draw_from<B: FairBits + ?Sized>(&self, bits: &mut B) -> i64 {
        self.table().draw(bits)
    }
}

/// `q(m) = (m 2^-finer)^2 / (2 variance)`.
pub(super) struct Quadratic {
    pub(super) variance: Ratio,
    pub(super) finer: u32,
}

impl Quadratic {
    /// Returns `a b / (c variance)`, in units of `2^-finer`.
    pub(super) fn over_variance(&self, a: u128, b: u128, c: u128) -> Fraction {
        let unit = c << (2 * self.finer);
        Fraction::product(&[a, b, self.variance.denominator()], &[unit, self.variance.numerator()])
    }
}

impl ConvexDecay for Quadratic {
    fn reach(&self) -> u64 {
        let unit = 1 << (2 * self.finer);
        let variance =
            Fraction::product(&[self.variance.numerator(), unit], &[self.variance.denominator()]).floor();
        variance.isqrt() as u64 + 1
    }

    fn rise(&self, from: u64, to: u64) -> Fraction {
        self.over_variance((to - from).into(), (to + from).into(), 2)
    }

    fn curvature(&self, width: u64) -> Fraction {
        self.over_variance(width.into(), width.into(), 1)
    }

    fn slope(&self, at: u64) -> Fraction {
        self.over_variance(at.into(), 1, 1)
    }

    fn residual(&self, j: u64) -> Fraction {
        self.over_variance(j.into(), j.into(), 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_is_what_its_table_takes_for_granted() {
        for finer in [0, 3] {
            let law = Quadratic { variance: Ratio::new(7, 3).unwrap(), finer };
            crate::noise::inversion::tests::assert_consistent(&law);
        }
    }
}
