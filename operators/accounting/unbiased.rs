//! The least that an unbiased answer can err by at a price.
//!
//! If one person can move the expectation of a release by `length` in some direction, and its distributions with and without
//! that person are within a cost, the variance in that direction is at least `length^2 / chi^2`, where `chi^2` is the most
//! that the chi-squared divergence can be at this cost: the bound of Hammersley, Chapman and Robbins. Taken in all directions at
//! once, it is the least trace of a covariance that holds a domain (Nikolov and Tang 2023): see [`shape`](super::shape).
//!
//! It speaks of answers that are right on average and of noise that does not depend on the data. An answer that is clipped,
//! or moved to where it must be, may err by less. What may be beyond a delta has no such bound.

/// The root of the largest chi-squared divergence in rho-zCDP, whose divergence of order 2 is the logarithm of `1 + chi^2`.
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

    // By hand, at two mass points: pure epsilon allows (e^epsilon - 1)^2 / e^epsilon, as randomized response attains it.
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
