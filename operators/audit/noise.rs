//! The noise that a released line states, as a law to compare residuals with.

use super::TradeOff;
use crate::accounting::{DiscreteGaussianCost, DiscreteLaplaceCost, RoundedGaussianCost};
use crate::invalid::Invalid;

/// Integer noise of a stated scale.
#[derive(Clone, Debug)]
pub struct StatedNoise {
    law: Law,
    scale: f64,
    deviation: f64,
    /// The fourth moment over the square of the variance, less 3.
    excess: f64,
}

#[derive(Clone, Debug)]
enum Law {
    Discrete(DiscreteGaussianCost),
    Rounded(RoundedGaussianCost),
    Laplace(DiscreteLaplaceCost),
}

/// The scale from which on the moments of an integer law are those of the continuous one, to four digits and more.
const SMOOTH: f64 = 50.0;

impl StatedNoise {
    /// Discrete Gaussian noise of this sigma, in steps.
    ///
    /// # Errors
    /// Names `sigma` where it is out of range.
    pub fn discrete_gaussian(sigma: f64) -> Result<StatedNoise, Invalid> {
        Ok(StatedNoise::of(Law::Discrete(DiscreteGaussianCost::new(sigma, 1)?), sigma, (1.0, 0.0)))
    }

    /// Normal noise of this sigma, in steps, rounded to the next one.
    ///
    /// # Errors
    /// Names `sigma` where it is out of range.
    pub fn rounded_gaussian(sigma: f64) -> Result<StatedNoise, Invalid> {
        Ok(StatedNoise::of(Law::Rounded(RoundedGaussianCost::new(sigma, 1)?), sigma, (1.0, 0.0)))
    }

    /// Discrete Laplace noise of this scale, in steps.
    ///
    /// # Errors
    /// Names `scale` where it is out of range.
    pub fn laplace(scale: f64) -> Result<StatedNoise, Invalid> {
        let law = Law::Laplace(DiscreteLaplaceCost::new(scale, 1)?);
        Ok(StatedNoise::of(law, scale, (std::f64::consts::SQRT_2, 3.0)))
    }

    /// States a law of which the continuous one has this deviation, in its scale, and this excess.
    fn of(law: Law, scale: f64, (deviation, excess): (f64, f64)) -> StatedNoise {
        let noise = StatedNoise { law, scale, deviation: deviation * scale, excess };
        if scale >= SMOOTH {
            return noise;
        }
        let (mut square, mut fourth) = (0.0, 0.0);
        for at in 1..=(50.0 * scale.max(1.0)) as i64 {
            // Both signs.
            let chance = 2.0 * (noise.at_least(at) - noise.at_least(at + 1));
            let size = (at as f64).powi(2);
            (square, fourth) = (square + chance * size, fourth + chance * size * size);
        }
        StatedNoise { deviation: square.sqrt(), excess: fourth / (square * square) - 3.0, ..noise }
    }

    /// The standard deviation, in steps.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The fourth moment over the square of the variance, less that of a normal law, 3.
    pub fn excess(&self) -> f64 {
        self.excess
    }

    /// Returns `P[Z >= at]`.
    fn at_least(&self, at: i64) -> f64 {
        match &self.law {
            Law::Discrete(law) => law.tail(at),
            Law::Rounded(law) => law.tail(at),
            Law::Laplace(law) => law.tail(at),
        }
    }

    /// Returns `P[Z <= at]`.
    pub fn up_to(&self, at: i64) -> f64 {
        self.at_least(-at).min(1.0)
    }

    /// Returns the curve of a number of numbers, each of which one person moves by `steps`, with noise of their own.
    pub fn trade_off(&self, steps: u64, numbers: u64) -> TradeOff {
        let by_points = match numbers {
            1 if !self.is_smooth() => TradeOff::of_integers(|at| self.at_least(at), self.scale, steps),
            _ => None,
        };
        by_points.unwrap_or_else(|| {
            let moved = steps as f64 / self.scale;
            match self.law {
                Law::Laplace(_) => TradeOff::Approximate { epsilon: moved * numbers as f64, delta: 0.0 },
                Law::Discrete(_) | Law::Rounded(_) => {
                    TradeOff::Gaussian { mu: moved * (numbers as f64).sqrt() }
                }
            }
        })
    }

    /// Returns true for Gaussian noise that is told apart as a normal law is: rounding hides more, and discrete noise from a
    /// sigma of 4 on is as far from it as the rounding of floats.
    fn is_smooth(&self) -> bool {
        match self.law {
            Law::Laplace(_) => false,
            Law::Discrete(_) => self.scale >= 4.0,
            Law::Rounded(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes the moments of the continuous law for those of small integer noise.
    #[test]
    fn moments_are_those_of_the_integer_law() {
        // a = e^-1: variance 2 a / (1 - a)^2.
        let a = libm::exp(-1.0);
        let laplace = StatedNoise::laplace(1.0).unwrap();
        assert!((laplace.deviation() - (2.0 * a).sqrt() / (1.0 - a)).abs() < 1e-9);
        // The fourth moment is 2 a (1 + 10 a + a^2) / (1 - a)^4.
        let fourth = (1.0 + 10.0 * a + a * a) / (2.0 * a);
        assert!((laplace.excess() - (fourth - 3.0)).abs() < 1e-6, "{laplace:?}");
        let wide = StatedNoise::laplace(1000.0).unwrap();
        assert!((wide.deviation() - 1_414.213_6).abs() < 1e-3 && wide.excess() == 3.0);
        // A twelfth more than the normal law, for the rounding.
        let rounded = StatedNoise::rounded_gaussian(3.0).unwrap();
        assert!((rounded.deviation() - (9.0_f64 + 1.0 / 12.0).sqrt()).abs() < 1e-6);
        let discrete = StatedNoise::discrete_gaussian(3.0).unwrap();
        assert!((discrete.deviation() - 3.0).abs() < 1e-6 && discrete.excess().abs() < 1e-6);
        assert!((discrete.up_to(0) - 0.5 - 0.5 / (3.0 * std::f64::consts::TAU.sqrt())).abs() < 1e-6);
    }

    // Refutes a curve of several keys that is that of one.
    #[test]
    fn several_keys_are_easier_to_tell_than_one() {
        let noise = StatedNoise::discrete_gaussian(10.0).unwrap();
        assert_eq!(noise.trade_off(2, 4), TradeOff::Gaussian { mu: 0.4 });
        let laplace = StatedNoise::laplace(10.0).unwrap();
        assert_eq!(laplace.trade_off(2, 4), TradeOff::Approximate { epsilon: 0.8, delta: 0.0 });
        assert!(matches!(laplace.trade_off(2, 1), TradeOff::Polygon(_)));
        let small = StatedNoise::discrete_gaussian(1.5).unwrap();
        let (exact, normal) = (small.trade_off(1, 1), TradeOff::Gaussian { mu: 1.0 / 1.5 });
        assert!((exact.least_under_other(0.3) - normal.least_under_other(0.3)).abs() < 0.05);
    }
}
