//! The continuous Gaussian's own curve: `Q(e/m - m/2) - exp(e) Q(e/m + m/2)`, where `m` is sensitivity over sigma and
//! `Q` the upper tail of the standard normal law. Any number of Gaussians is one Gaussian whose squared `m` is their sum.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use super::complex::ULP;

/// An upper bound on the hockey-stick divergence of a Gaussian pair at `epsilon` (which may be negative), and minus
/// its slope. `ratio` is sensitivity over sigma; at 0 the two laws are equal.
pub(super) fn gaussian_delta(ratio: f64, epsilon: f64) -> (f64, f64) {
    if ratio == 0.0 {
        return if epsilon < 0.0 { (-libm::expm1(epsilon), libm::exp(epsilon)) } else { (0.0, 0.0) };
    }
    let low = epsilon / ratio - ratio / 2.0;
    let high = epsilon / ratio + ratio / 2.0;
    if low > 38.0 {
        // Q(38) is below the least float of full precision, and so is the rest.
        return (f64::MIN_POSITIVE, 0.0);
    }
    let first = upper_tail(low);
    let second = scaled_tail(epsilon, low, high);
    // `low` and `high` are differences, so their errors are measured by what is subtracted; either tail then moves by its
    // density, which both share: phi(low) = exp(epsilon) phi(high).
    let reach = (epsilon / ratio).abs() + ratio / 2.0;
    let error = 16.0 * ULP * (first + (1.0 + epsilon.abs()) * second + 2.0 * reach * density(low));
    ((first - second).max(0.0) + error, second)
}

/// `Q(x)`.
fn upper_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

/// `exp(epsilon) Q(high)`, where `exp(epsilon)` may overflow and `Q(high)` vanish.
fn scaled_tail(epsilon: f64, low: f64, high: f64) -> f64 {
    if high < 20.0 {
        return libm::exp(epsilon) * upper_tail(high);
    }
    // Both densities agree: exp(epsilon) phi(high) = phi(low). An even number of levels of Laplace's continued fraction
    // x + 1/(x + 2/(x + ..)) stays below Mills' ratio; at 20, twelve levels are exact to the last place.
    let fraction = (1..=12).rev().fold(high, |below, level| high + f64::from(level) / below);
    density(low) / fraction
}

fn density(x: f64) -> f64 {
    libm::exp(-x * x / 2.0) / (2.0 * PI).sqrt()
}
