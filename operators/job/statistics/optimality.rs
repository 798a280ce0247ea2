//! The optimality of noise: its deviation over the least deviation that is known to suffice for its privacy
//! cost.
//!
//! The bounds are for additive noise of one number for each cell, drawn once, with the given sensitivity. For
//! pure epsilon and one cell the least variance is that of the staircase distribution (Geng and Viswanath,
//! "The optimal mechanism in differential privacy", 2014), which is known for whole numbers too; for several
//! cells none is known. For zCDP no additive noise distribution is known that needs less than the continuous
//! Gaussian: `L2 / sqrt(2 rho)`. For a mean the bound is that of every unbiased sum, as stated at
//! [`Noised::over_bound`].

use serde::Serialize;

use super::prepared::{NumberSensitivity, PreparedStatistic};
use crate::accounting::{DiscreteGaussianCost, DiscreteLaplaceCost, PrivacyCost, RoundedGaussianCost};
use crate::mechanisms::{Noised, is_near};

/// The optimality of noise, relative to the best that is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NoiseOptimality {
    /// The standard deviation of the noise over that of the best.
    pub ratio: f64,
    /// The bound that the ratio refers to.
    pub of: &'static str,
}

/// Returns the optimality of a total's noise; of running totals, that of totals which are all released.
pub(super) fn total(prepared: &PreparedStatistic, cost: &PrivacyCost) -> Option<NoiseOptimality> {
    let noised = prepared.noise.first()?;
    if prepared.above.is_some() {
        return None;
    }
    if prepared.running.is_some() {
        let of = "the best linear strategy for totals that are all released, the least that is possible with Gaussian noise";
        return noised.over_bound().map(|ratio| NoiseOptimality { ratio, of });
    }
    let NumberSensitivity { sensitivity: moved, point, .. } = prepared.sensitivities.first()?;
    // The scale in steps, in which the noise is drawn.
    let scale = noised.scale() / point.float(1.0);
    let deviation = match noised.kind() {
        "gaussian" if matches!(cost, PrivacyCost::Gaussian { .. }) => {
            RoundedGaussianCost::new(scale, 1).ok()?.deviation()
        }
        "gaussian" => DiscreteGaussianCost::new(scale, 1).ok()?.deviation(),
        "laplace" => DiscreteLaplaceCost::new(scale, 1).ok()?.deviation(),
        _ => return None,
    };
    match cost {
        PrivacyCost::Zcdp { rho, .. } | PrivacyCost::Gaussian { rho, .. } => {
            let least = (moved.l2_squared() as f64 / (2.0 * rho.to_float_up())).sqrt();
            let of = "the continuous Gaussian law of this rho, the best that is known";
            near(deviation / least, of)
        }
        PrivacyCost::Pure { epsilon } if moved.l0() == 1 => {
            let least = staircase(epsilon.to_float_up(), moved.l1()).sqrt();
            near(deviation / least, "the staircase law of this epsilon, the least that is possible")
        }
        _ => None,
    }
}

/// Returns the optimality by a bound; `None` where the bound is so small that the ratio says nothing.
fn near(ratio: f64, of: &'static str) -> Option<NoiseOptimality> {
    is_near(ratio).then_some(NoiseOptimality { ratio, of })
}

/// Returns the optimality of a mean's sum, at a price that pays for its count too.
pub(super) fn mean(sum: &Noised) -> Option<NoiseOptimality> {
    let of = "an unbiased sum at this price, the least that is possible; a mean that clips may err by less";
    sum.over_bound().map(|ratio| NoiseOptimality { ratio, of })
}

/// The largest sensitivity for which every staircase is tried; beyond it, the best continuous one differs by
/// less than is printed.
const TRIED: u128 = 4_096;

/// Returns the least variance of additive noise for one whole number that a person moves by `most`, at pure
/// `epsilon`.
fn staircase(epsilon: f64, most: u128) -> f64 {
    let (b, rest) = ((-epsilon).exp(), -(-epsilon).exp_m1());
    let size = most as f64;
    if most > TRIED {
        let high = (0.25 * b * b * (1.0 + b) * (1.0 + b)).cbrt();
        return size * size * (high + b) / (rest * rest);
    }
    // The density is high on the first `r` of every `most` numbers, and lower by e^-epsilon on the rest; each
    // period is lower by that factor than the one before. First the moments of one period, then of all.
    let (mut sums, mut high) = ([0.0; 3], [0.0; 3]);
    for i in 0..most {
        let powers = [1.0, i as f64, (i as f64).powi(2)];
        (0..3).for_each(|power| sums[power] += powers[power]);
    }
    let periods = [1.0 / rest, b / rest.powi(2), b * (1.0 + b) / rest.powi(3)];
    let mut least = f64::INFINITY;
    for r in 1..=most {
        let last = (r - 1) as f64;
        let powers = [1.0, last, last * last];
        (0..3).for_each(|power| high[power] += powers[power]);
        let held = |power: usize| high[power] + b * (sums[power] - high[power]);
        let whole = 2.0 * (r as f64 + b * (size - r as f64)) - rest;
        let squares =
            periods[0] * held(2) + periods[1] * 2.0 * size * held(1) + periods[2] * size * size * held(0);
        least = least.min(2.0 * rest / whole * squares);
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    // For a count the staircase is the discrete Laplace distribution itself; for wide sums and small epsilon
    // it is nearly that; and the distribution that is best on the line is the limit of those on the integers
    // (Geng and Viswanath, theorem 7).
    #[test]
    fn the_staircase_is_what_was_published() {
        for epsilon in [0.01f64, 0.1, 1.0, 3.0] {
            let b = (-epsilon).exp();
            let laplace = 2.0 * b / (1.0 - b).powi(2);
            assert!((staircase(epsilon, 1) / laplace - 1.0).abs() < 1e-9, "{epsilon}");
            let (near, far) = (
                staircase(epsilon, 4_096) / 4_096f64.powi(2),
                staircase(epsilon, 1 << 20) / 1_048_576f64.powi(2),
            );
            assert!((near / far - 1.0).abs() < 2e-3, "{epsilon}: {near} {far}");
        }
        assert!((staircase(0.01, 1 << 20).sqrt() / (2f64.sqrt() * 1_048_576.0 / 0.01) - 1.0).abs() < 1e-3);
        // At epsilon 5 the staircase needs half of Laplace's deviation.
        assert!(staircase(5.0, 1 << 20).sqrt() / (2f64.sqrt() * 1_048_576.0 / 5.0) < 0.75);
    }

    // Refutes a bound that some distribution beats: every staircase of a small sensitivity, summed term by
    // term.
    #[test]
    fn no_staircase_is_below_the_bound() {
        let (epsilon, most) = (0.7f64, 6i64);
        let b = (-epsilon).exp();
        let variances = (1..=most).map(|r| {
            let height = |i: i64| b.powi((i / most) as i32) * if i % most < r { 1.0 } else { b };
            let (mut mass, mut squares) = (height(0), 0.0);
            for i in 1..5_000 {
                mass += 2.0 * height(i);
                squares += 2.0 * height(i) * (i * i) as f64;
            }
            squares / mass
        });
        let least = variances.fold(f64::INFINITY, f64::min);
        assert!((staircase(epsilon, 6) / least - 1.0).abs() < 1e-9);
    }
}
