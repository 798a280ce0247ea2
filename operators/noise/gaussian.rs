//! Discrete Gaussian noise.

use std::sync::{Arc, OnceLock};

use super::Law;
use super::fraction::Fraction;
use super::inversion::{Decay, Table};
use super::ratio::Ratio;
use super::source::Noise;
use crate::invalid::Invalid;

/// The discrete Gaussian law: `P(z)` proportional to `exp(-z^2 / (2 variance))` on the integers.
///
/// Integer statistics that one person can move by at most `d` in Euclidean length, each with its own draw, are
/// `d^2 / (2 variance)`-zCDP under it (Canonne, Kamath and Steinke 2020, arXiv 2004.00010). The parameter is the
/// variance, not its root, because a root is seldom a fraction; the true variance is never above it.
///
/// The first draw builds a table of about 20 KB, which all clones share.
///
/// ```
/// use discreet::noise::{DiscreteGaussian, Law, Noise, Ratio};
///
/// let law = DiscreteGaussian::new(Ratio::new(50, 1)?)?;
/// let mut cells = [0; 1000];
/// law.fill(&mut Noise::from_os()?, &mut cells);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DiscreteGaussian {
    variance: Ratio,
    table: Arc<OnceLock<Table<Quadratic>>>,
}

impl DiscreteGaussian {
    /// The law of this variance (at `sigma^2`, not `sigma`).
    ///
    /// # Errors
    ///
    /// If the variance is below 2^-10, where the noise is all but always zero, or above 2^104, where it would no longer
    /// fit beside a statistic of 64 bits.
    pub fn new(variance: Ratio) -> Result<DiscreteGaussian, Invalid> {
        let variance = variance
            .within(10, 104)
            .map_err(|kind| Invalid::new("variance", kind, "a number from 2^-10 to 2^104"))?;
        Ok(DiscreteGaussian { variance, table: Arc::default() })
    }

    /// The variance it was made with.
    pub fn variance(&self) -> Ratio {
        self.variance
    }

    fn table(&self) -> &Table<Quadratic> {
        self.table.get_or_init(|| Table::new(Quadratic { variance: self.variance }))
    }
}

impl Law for DiscreteGaussian {
    #[inline]
    fn draw(&self, noise: &mut Noise) -> i64 {
        noise.asked_for("gaussian", &self.variance, 1);
        self.table().draw(noise)
    }

    fn fill(&self, noise: &mut Noise, values: &mut [i64]) {
        noise.asked_for("gaussian", &self.variance, values.len());
        let table = self.table();
        values.iter_mut().for_each(|value| *value = table.draw(noise));
    }
}

/// `q(m) = m^2 / (2 variance)`.
struct Quadratic {
    variance: Ratio,
}

impl Quadratic {
    /// `a b / (c variance)`.
    fn over_variance(&self, a: u64, b: u64, c: u128) -> Fraction {
        Fraction::product(&[a.into(), b.into(), self.variance.denominator()], &[c, self.variance.numerator()])
    }
}

impl Decay for Quadratic {
    fn reach(&self) -> u64 {
        let variance = self.variance.numerator() / self.variance.denominator();
        variance.isqrt() as u64 + 1
    }

    fn rise(&self, from: u64, to: u64) -> Fraction {
        self.over_variance(to - from, to + from, 2)
    }

    fn curvature(&self, width: u64) -> Fraction {
        self.over_variance(width, width, 1)
    }

    fn slope(&self, at: u64) -> Fraction {
        self.over_variance(at, 1, 1)
    }

    fn residual(&self, j: u64) -> Fraction {
        self.over_variance(j, j, 2)
    }
}
