//! Discrete Laplace noise.

use std::sync::{Arc, OnceLock};

use super::coins::FairBits;
use super::inversion::{ConvexDecay, InversionTable};
use super::ratio::{Fraction, Ratio};
use super::source::NoiseSource;
use super::{ExactLaw, NoiseDistribution};
use crate::invalid::Invalid;

/// The discrete Laplace distribution: `P(z)` proportional to `exp(-|z| / scale)` on the integers.
///
/// One integer statistic that one person can move by at most `d` is pure `d/scale`-differentially private
/// under it. The variance is `2 r / (1 - r)^2` with `r = exp(-1/scale)`, a little below `2 scale^2`.
///
/// The first draw builds a table of about 20 KB, which all clones share.
///
/// ```
/// use discreet::noise::{DiscreteLaplace, NoiseDistribution, NoiseSource};
///
/// let distribution = DiscreteLaplace::new(2.5)?;
/// let mut noise = NoiseSource::from_os()?;
/// let noised = 1_234 + distribution.draw(&mut noise);
/// # let _ = noised;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DiscreteLaplace {
    scale: Ratio,
    table: Arc<OnceLock<InversionTable<ExponentialDecay>>>,
}

impl DiscreteLaplace {
    /// Makes the distribution of this scale: a [`Ratio`], or a float, which is taken exactly.
    ///
    /// # Errors
    ///
    /// If the scale is not a number from 2^-10, below which the noise is all but always zero, to 2^52, above
    /// which it would not fit beside a statistic of 64 bits.
    pub fn new(scale: impl TryInto<Ratio, Error: Into<Invalid>>) -> Result<DiscreteLaplace, Invalid> {
        let scale = Ratio::within("scale", scale, 10, 52)?;
        Ok(DiscreteLaplace { scale, table: Arc::default() })
    }

    /// The scale parameter, as it was given.
    pub fn scale(&self) -> Ratio {
        self.scale
    }

    fn table(&self) -> &InversionTable<ExponentialDecay> {
        self.table.get_or_init(|| InversionTable::new(ExponentialDecay { scale: self.scale }))
    }
}

impl NoiseDistribution for DiscreteLaplace {
    #[inline]
    fn draw(&self, noise: &mut NoiseSource) -> i64 {
        noise.asked_for("laplace", &self.scale, 1);
        self.draw_from(noise)
    }

    fn fill(&self, noise: &mut NoiseSource, values: &mut [i64]) {
        noise.asked_for("laplace", &self.scale, values.len());
        let table = self.table();
        values.iter_mut().for_each(|value| *value = table.draw(noise));
    }
}

impl ExactLaw for DiscreteLaplace {
    #[inline]
    fn draw_from<B: FairBits + ?Sized>(&self, bits: &mut B) -> i64 {
        self.table().draw(bits)
    }
}

/// `q(m) = m / scale`.
struct ExponentialDecay {
    scale: Ratio,
}

impl ExponentialDecay {
    fn over_scale(&self, distance: u64) -> Fraction {
        Fraction::product(&[distance.into(), self.scale.denominator()], &[self.scale.numerator()])
    }
}

impl ConvexDecay for ExponentialDecay {
    fn reach(&self) -> u64 {
        self.scale.numerator().div_ceil(self.scale.denominator()) as u64
    }

    fn rise(&self, from: u64, to: u64) -> Fraction {
        self.over_scale(to - from)
    }

    fn curvature(&self, _: u64) -> Fraction {
        Fraction::ZERO
    }

    fn slope(&self, _: u64) -> Fraction {
        self.over_scale(1)
    }

    fn residual(&self, _: u64) -> Fraction {
        Fraction::ZERO
    }
}

// Geometric noise: one-sided, for waiting times and for building other distributions.

/// The geometric distribution: `P(m)` proportional to `exp(-m / scale)` on `0, 1, 2, ..`.
///
/// Being one-sided it hides nothing by itself: an observer of a value learns that the truth is not above it.
#[derive(Clone, Debug)]
pub struct Geometric {
    scale: Ratio,
    rate: Fraction,
}

impl Geometric {
    /// Makes the distribution of this scale: a [`Ratio`], or a float, which is taken exactly.
    ///
    /// # Errors
    ///
    /// If the scale is not a number from 2^-10 to 2^52.
    pub fn new(scale: impl TryInto<Ratio, Error: Into<Invalid>>) -> Result<Geometric, Invalid> {
        let scale = Ratio::within("scale", scale, 10, 52)?;
        Ok(Geometric { scale, rate: Fraction::Small(scale.denominator(), scale.numerator()) })
    }

    /// The scale parameter, as it was given.
    pub fn scale(&self) -> Ratio {
        self.scale
    }
}

impl NoiseDistribution for Geometric {
    fn draw(&self, noise: &mut NoiseSource) -> i64 {
        noise.asked_for("geometric", &self.scale, 1);
        self.draw_from(noise)
    }
}

impl ExactLaw for Geometric {
    fn draw_from<B: FairBits + ?Sized>(&self, bits: &mut B) -> i64 {
        i64::try_from(bits.geometric(&self.rate)).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_is_what_its_table_takes_for_granted() {
        crate::noise::inversion::tests::assert_consistent(&ExponentialDecay {
            scale: Ratio::new(7, 3).unwrap(),
        });
    }
}
