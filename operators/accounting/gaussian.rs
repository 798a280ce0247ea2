//! The continuous Gaussian's exact trade between epsilon and delta.
//!
//! Noise `N(0, sigma^2)` on a number that one unit can move by `sensitivity`, written `mu = sensitivity /
//! sigma`, has
//!
//! ```text
//! delta(epsilon) = Q(x) - e^epsilon Q(x + mu),   x = epsilon / mu - mu / 2,   Q(x) = P[N(0,1) >= x]
//! ```
//!
//! and with Mills' ratio `M(x) = Q(x) / density(x) = integral of e^(-xt - t^2/2) over t > 0` this is
//! `density(x) (M(x) - M(x + mu))`: one integral of positive terms, which keeps its digits where the
//! difference of two tails has none left (small `mu`) and down to delta = 1e-300.
//!
//! This library draws integers, never this law: use [`DiscreteGaussianCost`](super::DiscreteGaussianCost) for
//! the noise that is really added. The continuous curve is the yardstick, and the exact answer for mechanisms
//! stated as `mu`-GDP.

use super::number;
use super::number::{EPSILON_LIMIT, SCALE_LEAST, SCALE_LIMIT, TINY, probability_up};
use crate::invalid::{Invalid, InvalidKind};

/// Continuous Gaussian noise on one number, as a privacy cost. Holds for any relation: `sensitivity` says how
/// far the number moves between neighbours, in Euclidean distance when it is a vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianCost {
    mu: f64,
}

impl GaussianCost {
    /// Noise of standard deviation `sigma` on a number of the given sensitivity.
    ///
    /// # Errors
    /// Names `sigma` or `sensitivity` when it is not a positive number, or `sigma` when their ratio leaves
    /// 2^-40..2^40.
    pub fn new(sigma: f64, sensitivity: f64) -> Result<GaussianCost, Invalid> {
        let most = "a number above 0, within a factor 2^40 of the sensitivity";
        let sigma = number::between("sigma", sigma, f64::MIN_POSITIVE, f64::MAX, most)?;
        let sensitivity = crate::invalid::positive("sensitivity", sensitivity)?;
        let mu = number::between("sigma", sensitivity / sigma, 1.0 / SCALE_LIMIT, SCALE_LIMIT, most)?;
        Ok(GaussianCost { mu })
    }

    /// The smallest noise, rounded up to 12 digits, that is (epsilon, delta)-private at this sensitivity.
    ///
    /// # Errors
    /// Names `epsilon`, `delta` or `sensitivity` when it is out of range.
    pub fn calibrate(epsilon: f64, delta: f64, sensitivity: f64) -> Result<f64, Invalid> {
        let epsilon = number::epsilon("epsilon", epsilon)?;
        let delta = number::probability("delta", delta)?;
        let most = "a number above 0, from 2^-500 to 2^500";
        let sensitivity = number::between("sensitivity", sensitivity, 2f64.powi(-500), 2f64.powi(500), most)?;
        let passes = |sigma: f64| {
            GaussianCost::new(sigma, sensitivity).is_ok_and(|noise| noise.delta(epsilon) <= delta)
        };
        number::least(sensitivity * SCALE_LEAST, sensitivity * SCALE_LIMIT, passes)
            .and_then(|sigma| number::decimal_up(sigma, passes))
            .ok_or_else(|| {
                Invalid::new(
                    "epsilon",
                    InvalidKind::TooSmall,
                    "more budget: noise must stay below 2^40 sensitivities",
                )
            })
    }

    /// Returns the bound that the largest of `draws` errors of deviation `sigma` exceeds with probability `1
    /// - confidence` only: Gaussian noise keeps it for this number of answers, nearly always.
    ///
    /// # Errors
    /// Names `confidence` when it is not inside 0..1.
    pub fn largest(sigma: f64, draws: u64, confidence: f64) -> Result<f64, Invalid> {
        let confidence = number::probability("confidence", confidence)?;
        // Each is inside with the draws-th root of the confidence.
        let outside = -libm::expm1(libm::log(confidence) / draws.max(1) as f64);
        let (mut low, mut high) = (0.0, 40.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if libm::erfc(middle / std::f64::consts::SQRT_2) > outside { low = middle } else { high = middle }
        }
        Ok(sigma * high)
    }

    /// The least delta at this epsilon (zero or more), rounded up.
    pub fn delta(&self, epsilon: f64) -> f64 {
        let epsilon = epsilon.max(0.0);
        let x = epsilon / self.mu - self.mu / 2.0;
        let rest = x.max(0.0);
        // Q(x) <= e^(-x^2/2) / 2, and e^(-37.2^2/2) < 1e-300.
        if rest > 37.2 {
            return TINY;
        }
        let gap = tail_gap(x, self.mu, 0.0);
        probability_up(gap * (-rest * rest / 2.0).exp() / TWO_PI_ROOT)
    }

    /// The least epsilon at this delta, rounded up; zero when none is needed.
    ///
    /// # Errors
    /// Names `delta` when it is no probability, or is so small that epsilon would pass 500.
    pub fn epsilon(&self, delta: f64) -> Result<f64, Invalid> {
        epsilon_of(delta, |epsilon| self.delta(epsilon))
    }
}

/// The square root of twice pi.
pub(crate) const TWO_PI_ROOT: f64 = 2.506_628_274_631_000_5;

/// Turns a curve delta(epsilon) around, for every law here.
pub(crate) fn epsilon_of(delta: f64, curve: impl Fn(f64) -> f64) -> Result<f64, Invalid> {
    let delta = number::probability("delta", delta)?;
    if curve(0.0) <= delta {
        return Ok(0.0);
    }
    number::least(f64::MIN_POSITIVE, EPSILON_LIMIT, |epsilon| curve(epsilon) <= delta).ok_or_else(|| {
        Invalid::new(
            "delta",
            InvalidKind::TooSmall,
            "a delta that some epsilon up to 500 reaches, or more noise",
        )
    })
}

/// `sqrt(2 pi) e^(r^2/2) (Q(x) - e^-slack (density(x) / density(x + mu)) Q(x + mu))` with `r = max(x, 0)`,
/// for `x >= -mu/2` and `slack >= 0`, to about 14 digits and without cancellation.
pub(crate) fn tail_gap(x: f64, mu: f64, slack: f64) -> f64 {
    let second = |far: f64| mills_gap(far, f64::INFINITY);
    if x < 0.0 {
        let height = (-x * x / 2.0).exp();
        if mu >= 1.0 {
            // The first tail is at least 1/2 and the second at most 0.85 of it: nothing cancels.
            let first = TWO_PI_ROOT * libm::erfc(x / std::f64::consts::SQRT_2) / 2.0;
            return first - height * (-slack).exp() * second(x + mu);
        }
        return height * (mills_gap(x, mu) - (-slack).exp_m1() * second(x + mu));
    }
    let closed = if slack > 0.0 { -(-slack).exp_m1() * second(x + mu) } else { 0.0 };
    mills_gap(x, mu) + closed
}

/// `M(x) - M(x + mu)`, the integral of `e^(-xt - t^2/2) (1 - e^(-mu t))` over `t > 0`, for `x >= -1/2`;
/// `M(x)` when `mu` is infinite. Trapezoidal sum after `t = e^(u - e^-u)`, which falls doubly exponentially
/// at both ends: 130 nodes give 15 digits for every `x` up to 40 and every `mu`.
fn mills_gap(x: f64, mu: f64) -> f64 {
    const STEP: f64 = 1.0 / 16.0;
    let mut sum = 0.0;
    for node in -58..=72 {
        let u = f64::from(node) * STEP;
        let fall = (-u).exp();
        let t = (u - fall).exp();
        sum += t * (1.0 + fall) * (-x * t - t * t / 2.0).exp() * -(-mu * t).exp_m1();
    }
    sum * STEP
}

// The least that an unbiased answer can err by at a price.
//
// If one person can move the expectation of a release by `length` in some direction, and its distributions
// with and without that person are within a cost, the variance in that direction is at least `length^2 /
// chi^2`, where `chi^2` is the most that the chi-squared divergence can be at this cost: the bound of
// Hammersley, Chapman and Robbins. Taken in all directions at once, it is the least trace of a covariance
// that holds a domain (Nikolov and Tang 2023): see [`shape`](super::shape).
//
// It speaks of answers that are right on average and of noise that does not depend on the data. An answer
// that is clipped, or moved to where it must be, may err by less. What may be beyond a delta has no such
// bound.

/// The root of the largest chi-squared divergence in rho-zCDP, whose divergence of order 2 is the logarithm
/// of `1 + chi^2`.
pub(crate) fn chi_of_rho(rho: f64) -> f64 {
    // The root of `e^(2 rho) - 1`, which itself would overflow.
    libm::exp(rho) * (-libm::expm1(-2.0 * rho)).sqrt()
}

/// The same for pure epsilon: the root of `e^-epsilon (e^epsilon - 1)^2`.
pub(crate) fn chi_of_epsilon(epsilon: f64) -> f64 {
    2.0 * libm::sinh(epsilon / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, truth: f64) {
        assert!(found >= truth, "{found:e} is below {truth:e}");
        assert!(found <= truth * (1.0 + 1e-10), "{found:e} is far above {truth:e}");
    }

    // Refutes a wrong sign, a lost digit and a profile below the truth. Values: 60-digit arithmetic of the
    // formula.
    #[test]
    fn deltas_are_those_of_the_formula_from_one_to_1e_minus_300() {
        close(GaussianCost::new(1.0, 1.0).unwrap().delta(0.0), 0.382924922548026);
        close(GaussianCost::new(1.0, 1.0).unwrap().delta(1.0), 0.126936737506644);
        close(GaussianCost::new(1.0, 1.0).unwrap().delta(4.886), 1.00263983982674e-06);
        close(GaussianCost::new(5.0, 1.0).unwrap().delta(0.5), 0.000512536083158333);
        close(GaussianCost::new(200.0, 1.0).unwrap().delta(0.05), 3.83187807371712e-27);
        close(GaussianCost::new(1.0, 40.0).unwrap().delta(500.0), 0.999999999999961);
        close(GaussianCost::new(1.0, 3.0).unwrap().delta(0.0), 0.866385597462284);
        close(GaussianCost::new(0.5, 1.0).unwrap().delta(70.0), 6.17853534720153e-255);
        close(
            GaussianCost::new(1073741824.0, 1.0).unwrap().delta(3.72529029846191e-09),
            6.65454049195605e-15,
        );
        close(
            GaussianCost::new(1073741824.0, 1.0).unwrap().delta(1.49011611938477e-08),
            3.69024345216479e-68,
        );
        close(
            GaussianCost::new(1099511627776.0, 1.0).unwrap().delta(2.91038304567337e-11),
            1.54656266643976e-238,
        );
        close(GaussianCost::new(1000000.0, 1.0).unwrap().delta(0.0), 3.98942280401416e-07);
        close(GaussianCost::new(64.0, 1.0).unwrap().delta(0.5), 3.41151878791898e-228);
    }

    // Rows of the reference table: 1 and 100 Gaussians at delta = 1e-6 (closed form).
    #[test]
    fn epsilons_are_those_of_the_published_table() {
        close_epsilon(GaussianCost::new(1.0, 1.0).unwrap(), 4.88655411746);
        close_epsilon(GaussianCost::new(5.0, 1.0).unwrap(), 0.834117548624);
        close_epsilon(GaussianCost::new(2000.0, 1000.0).unwrap(), 2.25408465022);
    }

    // Published for 1, 1000 and 10^6 answers at epsilon 1 and delta 1e-6.
    #[test]
    fn the_largest_of_many_errors_is_where_the_table_has_it() {
        for (sigma, draws, confidence, truth) in [
            (4.22468, 1, 0.95, 8.28022),
            (133.596, 1000, 0.95, 541.019),
            (4224.68, 1_000_000, 0.999, 25810.0),
        ] {
            let found = GaussianCost::largest(sigma, draws, confidence).unwrap();
            assert!((found / truth - 1.0).abs() < 1e-5, "{draws}: {found}");
        }
        assert_eq!(GaussianCost::largest(1.0, 1, 1.0).unwrap_err().field(), "confidence");
    }

    fn close_epsilon(noise: GaussianCost, truth: f64) {
        let found = noise.epsilon(1e-6).unwrap();
        assert!((found / truth - 1.0).abs() < 1e-9, "{found} is not {truth}");
        assert!(noise.delta(found) <= 1e-6);
    }

    // At epsilon 1, delta 1e-6 the analytic Gaussian needs 4.2247 (the table's 1000 answers: 133.6 /
    // sqrt(1000)).
    #[test]
    fn calibration_is_tight_and_on_the_safe_side() {
        let sigma = GaussianCost::calibrate(1.0, 1e-6, 1.0).unwrap();
        assert!((sigma - 4.2247).abs() < 1e-3, "{sigma}");
        assert!(GaussianCost::new(sigma, 1.0).unwrap().delta(1.0) <= 1e-6);
        assert!(GaussianCost::new(sigma * 0.999_999, 1.0).unwrap().delta(1.0) > 1e-6);
        for (epsilon, delta) in [(1e-6, 1e-300), (500.0, 0.5), (1e-9, 0.999), (3.0, 1e-20)] {
            let sigma = GaussianCost::calibrate(epsilon, delta, 7.0).unwrap();
            assert!(GaussianCost::new(sigma, 7.0).unwrap().delta(epsilon) <= delta);
            assert!(GaussianCost::new(sigma * 0.999_99, 7.0).unwrap().delta(epsilon) > delta);
        }
    }
}

#[cfg(test)]
mod unbiased_tests {
    use super::*;

    // By hand, at two mass points: pure epsilon allows (e^epsilon - 1)^2 / e^epsilon, as randomized response
    // attains it.
    #[test]
    fn two_answers_attain_it() {
        for epsilon in [0.01, 0.5, 1.0, 4.0f64] {
            let (yes, no) = (epsilon.exp() / (1.0 + epsilon.exp()), 1.0 / (1.0 + epsilon.exp()));
            let attained = (yes - no).powi(2) / no + (yes - no).powi(2) / yes;
            assert!((chi_of_epsilon(epsilon).powi(2) / attained - 1.0).abs() < 1e-12, "{epsilon}");
        }
        // Gaussians of deviation 1 that are apart by the root of 2 rho attain that of zCDP.
        assert!((chi_of_rho(0.1).powi(2) - 0.221_402_758_160_169_8).abs() < 1e-15);
        assert!(chi_of_rho(500.0).is_finite());
    }
}
