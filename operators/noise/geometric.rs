//! Geometric noise: one-sided, for waiting times and for building other laws.

use super::NoiseDistribution;
use super::fraction::Fraction;
use super::ratio::Ratio;
use super::source::NoiseSource;
use crate::invalid::Invalid;

/// The geometric law: `P(m)` proportional to `exp(-m / scale)` on `0, 1, 2, ..`.
///
/// Being one-sided it hides nothing by itself: whoever sees a value knows that the truth is not above it.
#[derive(Clone, Debug)]
pub struct Geometric {
    scale: Ratio,
    rate: Fraction,
}

impl Geometric {
    /// The law of this scale: a [`Ratio`], or a float, which is taken exactly.
    ///
    /// # Errors
    ///
    /// If the scale is not a number from 2^-10 to 2^52.
    pub fn new(scale: impl TryInto<Ratio, Error: Into<Invalid>>) -> Result<Geometric, Invalid> {
        let scale = Ratio::within("scale", scale, 10, 52)?;
        Ok(Geometric { scale, rate: Fraction::Small(scale.denominator(), scale.numerator()) })
    }

    /// The scale it was made with.
    pub fn scale(&self) -> Ratio {
        self.scale
    }
}

impl NoiseDistribution for Geometric {
    fn draw(&self, noise: &mut NoiseSource) -> i64 {
        noise.asked_for("geometric", &self.scale, 1);
        i64::try_from(noise.geometric(&self.rate)).unwrap_or(i64::MAX)
    }
}
