//! The exact cost and error of this library's own Laplace noise, which is an integer.
//!
//! The discrete Laplace law of scale `b` gives the integer `z` a probability proportional to `q^|z|`, `q =
//! e^(-1/b)`. Against its copy moved by the integer sensitivity `s`, the loss at `z` is `(|z + s| - |z|) /
//! b`: `s/b` for every `z >= 0`, falling by `2/b` a step below. Hence pure epsilon `s/b`, and for smaller
//! epsilon a positive delta, from two geometric tails.
//!
//! **Its zCDP cost is its Kullback-Leibler divergence**, less than the `epsilon tanh(epsilon/2)` of pure
//! mechanisms at large: `rho = epsilon - (1 - e^-epsilon) / (b sinh(1/b))`, equal to it for `s = 1` (where
//! this noise is randomised response) and falling to `epsilon - 1 + e^-epsilon` as the lattice refines.
//! Proof: the order-`alpha` divergence is `K(t) / t`, `t = alpha - 1`, with `K(t) = ln E_P e^(tL)`. Under
//! `R`, proportional to `sqrt(P Q)`, the loss `L` has weights `A, 1, .., 1, A` at `-s/b, (-s+2)/b, .., s/b`,
//! `A = 1/(1-q)`, so `K(t) = k(u) - k(1/2)`, `u = t + 1/2`, where `e^k(u)` is the polynomial `A + z + .. +
//! z^(s-1) + A z^s` over `z^(s/2)` at `z = e^(2u/b)`. Times `1 - z` the polynomial is `A - (A-1) z + (A-1)
//! z^s - A z^(s+1)`, zero only where `z^s (z - q) / (1 - qz) = 1`; the left side is below 1 in modulus inside
//! the unit circle and above it outside. So every zero lies on the circle, every zero of `e^k` is imaginary,
//! `e^k(u)` is a constant times a product of `1 + u^2 / a^2`, and `k` is concave in `u^2`: it stays below its
//! tangent at `u^2 = 1/4`, which reads `K(t) <= t (t + 1) K'(0)`. And `K'(0)` is the divergence `KL(P || Q)`.
//! No smaller cost will do, for it is that of orders near 1. (Harrison and Manurangsi 2026 have the tight
//! cost of this and of other mechanisms too.)

use super::budget::Budget;
use super::gaussian::epsilon_of;
use super::number::{self, SCALE_LEAST, SCALE_LIMIT, probability_up};
use super::renyi::excess;
use crate::invalid::{Invalid, InvalidKind};

/// Discrete Laplace noise on one integer that neighbours can move by `sensitivity`.
///
/// For several integers at once, with `sensitivity` the most that they move together (the sum of absolute
/// changes), [`epsilon_pure`](Self::epsilon_pure) and [`rho`](Self::rho) hold too; the curve
/// [`delta`](Self::delta) is for one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteLaplaceCost {
    scale: f64,
    shift: f64,
}

impl DiscreteLaplaceCost {
    /// Noise of this scale on an integer of this sensitivity.
    ///
    /// # Errors
    /// Names `scale` or `sensitivity` when it is out of range, and `scale` when epsilon would pass 500.
    pub fn new(scale: f64, sensitivity: u64) -> Result<DiscreteLaplaceCost, Invalid> {
        let scale = number::scale("scale", scale)?;
        let shift = number::shift("sensitivity", sensitivity)?;
        if shift / scale > number::EPSILON_LIMIT {
            return Err(Invalid::new("scale", InvalidKind::TooSmall, "at least a 500th of the sensitivity"));
        }
        Ok(DiscreteLaplaceCost { scale, shift })
    }

    /// The smallest noise, rounded up to 12 digits, that keeps within the budget at this sensitivity.
    ///
    /// # Errors
    /// Names the parameter that is out of range.
    pub fn calibrate(budget: &Budget, sensitivity: u64) -> Result<DiscreteLaplaceCost, Invalid> {
        match *budget {
            Budget::Pure { epsilon } => Self::for_epsilon(epsilon, sensitivity),
            Budget::Approximate { epsilon, delta } => Self::for_epsilon_delta(epsilon, delta, sensitivity),
            Budget::Zcdp { rho } => Self::for_rho(rho, sensitivity),
        }
    }

    /// The smallest noise, rounded up to 12 digits, that is purely epsilon-private: `b = s / epsilon`.
    ///
    /// # Errors
    /// Names the parameter that is out of range.
    pub fn for_epsilon(epsilon: f64, sensitivity: u64) -> Result<DiscreteLaplaceCost, Invalid> {
        let epsilon = number::epsilon("epsilon", epsilon)?;
        let shift = number::shift("sensitivity", sensitivity)?;
        // A fused product has the sign of the exact one.
        Self::searched("epsilon", shift, shift / epsilon * (1.0 - 1e-15), |noise| {
            noise.scale.mul_add(epsilon, -shift) >= 0.0
        })
    }

    /// The smallest noise, rounded up to 12 digits, that is (epsilon, delta)-private.
    ///
    /// # Errors
    /// Names the parameter that is out of range.
    pub fn for_epsilon_delta(
        epsilon: f64,
        delta: f64,
        sensitivity: u64,
    ) -> Result<DiscreteLaplaceCost, Invalid> {
        let epsilon = number::epsilon("epsilon", epsilon)?;
        let delta = number::probability("delta", delta)?;
        let shift = number::shift("sensitivity", sensitivity)?;
        Self::least("epsilon", shift, |noise| noise.delta(epsilon) <= delta)
    }

    /// The smallest noise, rounded up to 12 digits, that is rho-zCDP.
    ///
    /// # Errors
    /// Names the parameter that is out of range.
    pub fn for_rho(rho: f64, sensitivity: u64) -> Result<DiscreteLaplaceCost, Invalid> {
        let rho = number::rho("rho", rho)?;
        let shift = number::shift("sensitivity", sensitivity)?;
        Self::least("rho", shift, |noise| noise.rho() <= rho)
    }

    /// The scale `b`.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The sensitivity: a whole number.
    pub(crate) fn sensitivity(&self) -> f64 {
        self.shift
    }

    /// The pure epsilon `s / b`, rounded up.
    pub fn epsilon_pure(&self) -> f64 {
        let epsilon = self.shift / self.scale;
        if self.scale.mul_add(epsilon, -self.shift) >= 0.0 { epsilon } else { epsilon.next_up() }
    }

    /// The exact zCDP cost, rounded up: two terms that are not negative, each computed without cancellation
    /// to a few units of 2^-53 of itself, and multiplied by `1 + 2^-36`. Nothing checks it again in integers.
    pub fn rho(&self) -> f64 {
        let (epsilon, step) = (self.shift / self.scale, 1.0 / self.scale);
        // epsilon - 1 + e^-epsilon, and (1 - e^-epsilon)(1 - step / sinh(step)): both without cancellation.
        let lattice = if step > 40.0 { 1.0 } else { sinh_excess(step) / step.sinh() };
        (excess(-epsilon) - (-epsilon).exp_m1() * lattice) * (1.0 + number::MARGIN)
    }

    /// The least delta at this epsilon (zero or more), rounded up; exactly zero from `s / b` on.
    pub fn delta(&self, epsilon: f64) -> f64 {
        let epsilon = epsilon.max(0.0);
        let DiscreteLaplaceCost { scale, shift } = *self;
        if epsilon >= self.epsilon_pure() {
            return 0.0;
        }
        // The losses above epsilon are those of z >= m, m = least integer > (epsilon b - s) / 2, which is at
        // most 0. What they are above epsilon is exact, times b: a threshold in floats is off by one where a
        // loss is epsilon.
        let over = |below: f64| number::beyond_product(shift as i128 - 2 * below as i128, &[epsilon, scale]);
        let near = (-((epsilon * scale - shift) / 2.0).floor() - 1.0).max(0.0);
        let below = match near {
            near if over(near) <= 0.0 => (near - 1.0).max(0.0),
            near if over(near + 1.0) > 0.0 => near + 1.0,
            near => near,
        };
        let slack = (over(below) / scale).max(0.0);
        // P[Z >= m] - e^epsilon P[Z >= m + s], times 1 + q, as two positive terms.
        let q = (-1.0 / scale).exp();
        let gap = -(-below / scale - slack).exp_m1() - q * (-below / scale).exp_m1();
        probability_up(gap / (1.0 + q))
    }

    /// The least epsilon at this delta, rounded up; zero when none is needed.
    ///
    /// # Errors
    /// Names `delta` when it is no probability.
    pub fn epsilon(&self, delta: f64) -> Result<f64, Invalid> {
        epsilon_of(delta, |epsilon| self.delta(epsilon)).map(|epsilon| epsilon.min(self.epsilon_pure()))
    }

    /// The standard deviation of the noise, `sqrt(2q) / (1 - q)`.
    pub fn deviation(&self) -> f64 {
        std::f64::consts::FRAC_1_SQRT_2 / (0.5 / self.scale).sinh()
    }

    /// The expected absolute error, `2q / (1 - q^2)`.
    pub fn mean_error(&self) -> f64 {
        1.0 / (1.0 / self.scale).sinh()
    }

    /// `P[Z >= at]`, rounded up: `q^at / (1 + q)` above zero.
    pub fn tail(&self, at: i64) -> f64 {
        let above = |z: u64| (-(z as f64) / self.scale).exp() / (1.0 + (-1.0 / self.scale).exp());
        if at >= 1 {
            return probability_up(above(at.unsigned_abs()));
        }
        // All but P[Z <= at - 1], which is P[Z >= 1 - at].
        probability_up(1.0 - above(at.unsigned_abs().saturating_add(1)))
    }

    /// The least `w` with `P[|Z| <= w] >= confidence`: `P[|Z| > w] = 2 q^(w+1) / (1 + q)`.
    ///
    /// # Errors
    /// Names `confidence` when it is not inside 0..1.
    pub fn interval(&self, confidence: f64) -> Result<u64, Invalid> {
        let outside = 1.0 - number::probability("confidence", confidence)?;
        let q = (-1.0 / self.scale).exp();
        let least = self.scale * (2.0 / ((1.0 + q) * outside)).ln() - 1.0;
        Ok(least.ceil().max(0.0) as u64)
    }

    fn least(
        field: &'static str,
        shift: f64,
        passes: impl Fn(DiscreteLaplaceCost) -> bool,
    ) -> Result<DiscreteLaplaceCost, Invalid> {
        let low = SCALE_LEAST.max(shift / number::EPSILON_LIMIT);
        let scale = number::least(low.min(SCALE_LIMIT), SCALE_LIMIT, |scale| {
            passes(DiscreteLaplaceCost { scale, shift })
        });
        Self::searched(field, shift, scale.unwrap_or(f64::MAX), passes)
    }

    /// The first 12-digit scale from `start` on that passes.
    fn searched(
        field: &'static str,
        shift: f64,
        start: f64,
        passes: impl Fn(DiscreteLaplaceCost) -> bool,
    ) -> Result<DiscreteLaplaceCost, Invalid> {
        let start = start.max(SCALE_LEAST).max(shift / number::EPSILON_LIMIT * (1.0 - 1e-15));
        let scale = Some(start)
            .filter(|start| *start <= SCALE_LIMIT)
            .and_then(|start| number::decimal_up(start, |scale| passes(DiscreteLaplaceCost { scale, shift })))
            .filter(|scale| *scale <= SCALE_LIMIT);
        let scale = scale.ok_or_else(|| {
            Invalid::new(field, InvalidKind::TooSmall, "more budget: the noise must stay below 2^40")
        })?;
        Ok(DiscreteLaplaceCost { scale, shift })
    }
}

/// `sinh(y) - y` for `y >= 0`, without cancellation.
fn sinh_excess(y: f64) -> f64 {
    if y > 1.0 {
        return y.sinh() - y;
    }
    // y^3/6 (1 + y^2/20 (1 + y^2/42 (1 + ...))).
    (2..12).rev().fold(1.0, |rest, k| 1.0 + rest * y * y / f64::from(2 * k * (2 * k + 1))) * y * y * y / 6.0
}

#[cfg(test)]
mod tests;
