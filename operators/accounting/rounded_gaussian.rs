//! The cost and error of Gaussian noise that is rounded to whole numbers.
//!
//! `Z = round(N(0, sigma^2))` has `P[Z >= m] = Q((m - 1/2) / sigma)`. An integer `x + Z` is `round(x + N)`, so
//! the cost is that of the continuous law, for one number and for a vector: `mu = D / sigma`
//! ([`gdp`](super::gdp)).

use super::discrete_gaussian::DiscreteGaussianCost;
use super::gaussian::GaussianCost;
use super::number::{self, probability_up};
use crate::invalid::Invalid;

/// Rounded Gaussian noise on one integer that neighbours can move by `sensitivity`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundedGaussianCost {
    sigma: f64,
    shift: f64,
}

impl RoundedGaussianCost {
    /// Noise `round(N(0, sigma^2))` on an integer of this sensitivity.
    ///
    /// # Errors
    /// Names `sigma` or `sensitivity` when it is out of range.
    pub fn new(sigma: f64, sensitivity: u64) -> Result<RoundedGaussianCost, Invalid> {
        let noise = DiscreteGaussianCost::new(sigma, sensitivity)?;
        Ok(RoundedGaussianCost { sigma: noise.sigma(), shift: number::shift("sensitivity", sensitivity)? })
    }

    /// The smallest noise, rounded up to 12 digits, with `mu^2 / 2 <= rho` at this sensitivity: the sigma that
    /// a discrete Gaussian has in zCDP.
    ///
    /// # Errors
    /// Names the parameter that is out of range, and `rho` where sigma would leave 1/32..2^40.
    pub fn for_rho(rho: f64, sensitivity: u64) -> Result<RoundedGaussianCost, Invalid> {
        RoundedGaussianCost::new(DiscreteGaussianCost::for_rho(rho, sensitivity)?.sigma(), sensitivity)
    }

    /// The deviation of the law that is rounded.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// The least delta at this epsilon (zero or more), rounded up: that of the continuous law, which is reached
    /// where sigma is large.
    pub fn delta(&self, epsilon: f64) -> f64 {
        // The range of sigma and of the sensitivity is that of the continuous law.
        GaussianCost::new(self.sigma, self.shift).map_or(1.0, |noise| noise.delta(epsilon))
    }

    /// The standard deviation of the noise, or a little more: rounding adds a twelfth to the variance, but
    /// where sigma is below 1, where it adds less or takes away.
    pub fn deviation(&self) -> f64 {
        (self.sigma * self.sigma + 1.0 / 12.0).sqrt()
    }

    /// The least `w` with `P[|Z| <= w] >= confidence`.
    ///
    /// # Errors
    /// Names `confidence` when it is not inside 0..1.
    pub fn interval(&self, confidence: f64) -> Result<u64, Invalid> {
        let outside = 1.0 - number::probability("confidence", confidence)?;
        let (mut low, mut high) = (0, (38.0 * self.sigma) as u64 + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if 2.0 * self.above(middle as f64 + 0.5) <= outside { high = middle } else { low = middle + 1 }
        }
        Ok(low)
    }

    /// `P[Z >= at]`, rounded up: what the noise alone carries over a threshold.
    pub fn tail(&self, at: i64) -> f64 {
        probability_up(self.above(at as f64 - 0.5))
    }

    /// `P[N >= x]`.
    fn above(&self, x: f64) -> f64 {
        libm::erfc(x / self.sigma / std::f64::consts::SQRT_2) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // By 50-digit arithmetic: Q(.5 / 1) = .3085375387, Q(2.5) = .006209665326, Q(35.5 / 5) = 6.238e-13.
    #[test]
    fn tails_are_those_of_the_law_rounded_up() {
        let one = RoundedGaussianCost::new(1.0, 1).unwrap();
        for (noise, at, truth) in [
            (one, 1, 0.308_537_538_725_986_9),
            (one, 0, 0.691_462_461_274_013_1),
            (one, 3, 0.006_209_665_325_776_132),
            (RoundedGaussianCost::new(5.0, 1).unwrap(), 36, 6.237_844_463_331_575e-13),
        ] {
            let found = noise.tail(at);
            assert!(found >= truth && found < truth * (1.0 + 1e-9), "{at}: {found:e} {truth:e}");
        }
    }

    // P[|Z| <= 1] = 1 - 2 Q(1.5) = .8663855975, P[|Z| <= 2] = .9875806693.
    #[test]
    fn an_interval_is_the_least_that_holds_the_noise() {
        let noise = RoundedGaussianCost::new(1.0, 1).unwrap();
        let at = |confidence| noise.interval(confidence).unwrap();
        assert_eq!((at(0.38), at(0.39), at(0.866), at(0.867), at(0.9875), at(0.9876)), (0, 1, 1, 2, 2, 3));
        // The discrete law of the same sigma is a little narrower: never by more than one.
        for sigma in [0.5, 3.0, 20.0, 1e6] {
            let (rounded, discrete) =
                (RoundedGaussianCost::new(sigma, 1).unwrap(), DiscreteGaussianCost::new(sigma, 1).unwrap());
            for confidence in [0.5, 0.9, 0.99, 0.999_999] {
                let (a, b) = (rounded.interval(confidence).unwrap(), discrete.interval(confidence).unwrap());
                assert!(a.abs_diff(b) <= 1, "{sigma} {confidence}: {a} {b}");
            }
        }
    }

    // The exact variance by summing the law: refutes one that forgets what rounding adds.
    #[test]
    fn the_deviation_is_that_of_the_law_or_more() {
        for sigma in [0.05, 0.2, 0.35, 0.5, 1.0, 3.0, 10.0] {
            let noise = RoundedGaussianCost::new(sigma, 1).unwrap();
            let last = (12.0 * sigma) as i64 + 3;
            let variance: f64 =
                (1..=last).map(|z| (2 * z - 1) as f64 * 2.0 * noise.above(z as f64 - 0.5)).sum();
            let stated = noise.deviation().powi(2);
            assert!(variance <= stated * (1.0 + 1e-9), "{sigma}: {variance} {stated}");
            assert!(sigma < 0.6 || variance > stated * 0.999, "{sigma}: {variance} {stated}");
        }
    }
}
