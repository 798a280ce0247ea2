//! The error of a released number that is made of several noised ones.

use super::PreparedStatistic;
use crate::accounting::GaussianCost;

/// The part of all errors that is beyond a stated one.
const BEYOND: f64 = 0.1;

/// The errors of the noised numbers of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NumberErrors {
    /// The half-widths of their intervals.
    reaches: Vec<f64>,
    joint: JointError,
}

/// The way in which the errors of several numbers come together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum JointError {
    /// They add up: the half-widths are those of the sum.
    Sum,
    /// Independent Gaussian noise, of which one error in `BEYOND` is beyond this many half-widths.
    Gaussian(f64),
    /// Independent Laplace noise, of which the scale is this many half-widths.
    Laplace(f64),
}

impl NumberErrors {
    /// The errors of numbers without noise.
    pub(crate) const NONE: NumberErrors = NumberErrors { reaches: Vec::new(), joint: JointError::Sum };

    /// Takes those of a prepared statistic of whose numbers this many share what may be outside of an interval, with these
    /// half-widths.
    pub(super) fn of(prepared: &PreparedStatistic, reaches: &[f64], numbers: u32) -> NumberErrors {
        let outside = BEYOND / f64::from(numbers.max(1));
        let normal = |beyond: f64| GaussianCost::largest(1.0, 1, 1.0 - beyond).unwrap_or(1.0);
        let joint = match prepared.noise.first().map(|noised| noised.kind()) {
            _ if prepared.errors.is_some() => JointError::Sum,
            Some("gaussian") => JointError::Gaussian(normal(BEYOND) / normal(outside)),
            Some("laplace") => JointError::Laplace(-outside.ln().recip()),
            _ => JointError::Sum,
        };
        NumberErrors { reaches: reaches.to_vec(), joint }
    }

    /// Returns the half-width of the interval of a number.
    pub(crate) fn nth(&self, number: usize) -> f64 {
        self.reaches.get(number).copied().unwrap_or(0.0)
    }

    /// Returns the largest half-width.
    pub(crate) fn largest(&self) -> f64 {
        self.reaches.iter().copied().fold(0.0, f64::max)
    }

    /// Returns the number of the last one.
    pub(crate) fn last(&self) -> usize {
        self.reaches.len().saturating_sub(1)
    }

    /// Returns the errors of the same numbers with noise that is wider by a factor.
    pub(crate) fn times(&self, factor: f64) -> NumberErrors {
        let reaches = self.reaches.iter().map(|reach| reach * factor).collect();
        NumberErrors { reaches, ..*self }
    }

    /// Returns the error within which nine tenths of all errors are of a sum of numbers, each times a factor.
    pub(crate) fn of_sum(&self, factors: &[(usize, f64)]) -> f64 {
        let terms = factors.iter().map(|(number, factor)| (self.nth(*number) * factor).abs());
        match self.joint {
            JointError::Sum => terms.sum(),
            JointError::Gaussian(times) => times * terms.map(|term| term * term).sum::<f64>().sqrt(),
            JointError::Laplace(scale) => {
                laplace_quantile(terms.filter(|term| *term > 0.0).map(|term| term * scale).collect())
            }
        }
    }
}

/// Returns the size that one in ten sums of independent Laplace draws of these scales is beyond.
///
/// By partial fractions of the characteristic function `prod 1 / (1 + b^2 s^2)`, whose roots are kept apart.
fn laplace_quantile(mut scales: Vec<f64>) -> f64 {
    scales.sort_by(f64::total_cmp);
    let mut former = 0.0_f64;
    for scale in &mut scales {
        *scale = scale.max(former * 1.001);
        former = *scale;
    }
    let weight = |of: f64| {
        let others = scales.iter().filter(|other| **other != of);
        others.map(|other| of * of / (of * of - other * other)).product::<f64>()
    };
    let parts: Vec<(f64, f64)> = scales.iter().map(|scale| (weight(*scale), *scale)).collect();
    let beyond = |u: f64| parts.iter().map(|(weight, scale)| weight * (-u / scale).exp()).sum::<f64>();
    let (mut low, mut high) = (0.0, scales.iter().sum::<f64>() * -BEYOND.ln());
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if beyond(middle) > BEYOND { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes half-widths that are added up, and a sum of one number that is not its own error.
    #[test]
    fn errors_of_independent_noise_come_together_by_their_law() {
        let errors = |joint| NumberErrors { reaches: vec![3.0, 4.0], joint };
        assert_eq!(errors(JointError::Sum).of_sum(&[(0, 1.0), (1, 1.0)]), 7.0);
        assert_eq!(errors(JointError::Gaussian(0.5)).of_sum(&[(0, 1.0), (1, -1.0)]), 2.5);
        let laplace = errors(JointError::Laplace(1.0));
        assert!((laplace.of_sum(&[(0, 1.0)]) - 3.0 * 10.0_f64.ln()).abs() < 1e-9);
        // Of two equal scales the probability beyond u is e^-u (1 + u / 2), 0.1 at 3.272.
        assert!((laplace.of_sum(&[(0, 4.0), (1, 3.0)]) / 12.0 - 3.2718).abs() < 0.01);
        assert_eq!(laplace.of_sum(&[(2, 1.0)]), 0.0);
    }
}
