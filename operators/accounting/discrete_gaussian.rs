//! The exact cost and error of this library's own Gaussian noise, which is an integer.
//!
//! `N_Z(0, sigma^2)` gives the integer `y` a probability proportional to `e^(-y^2 / 2 sigma^2)`. Against its
//! copy moved by the integer sensitivity `s`, the loss at `y` is `(2ys + s^2) / 2 sigma^2`, which grows with
//! `y`; so
//!
//! ```text
//! delta(epsilon) = P[Y >= m] - e^epsilon P[Y >= m + s],   m = least integer > epsilon sigma^2 / s - s / 2
//! ```
//!
//! The law is log-concave and symmetric, hence no smaller move costs more. The sum is taken term by term, all
//! terms positive, and from sigma = 2^13 on by Euler-Maclaurin with its remainder added; both end above the
//! truth.
//!
//! The curve is for one integer number. A vector's curve is not the curve of its Euclidean sensitivity (the
//! lattice shows), its zCDP cost is: several numbers at once are charged [`DiscreteGaussianCost::rho`].

use super::budget::Budget;
use super::gaussian::{GaussianCost, TWO_PI_ROOT, epsilon_of, tail_gap};
use super::number::{self, SCALE_LIMIT, TINY, probability_up};
use crate::invalid::{Invalid, InvalidKind};

/// The smallest sigma, the least that noise is drawn at. One in 2^739 draws would differ from zero.
const SIGMA_LEAST: f64 = 1.0 / 32.0;

/// From this sigma on sums are integrals with a correction. The remainder there is below 1e-9 of any delta
/// above 1e-30.
const SMOOTH: f64 = 8192.0;

/// Discrete Gaussian noise on one integer that neighbours can move by `sensitivity`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteGaussianCost {
    sigma: f64,
    shift: f64,
}

impl DiscreteGaussianCost {
    /// Noise `N_Z(0, sigma^2)` on an integer of this sensitivity.
    ///
    /// # Errors
    /// Names `sigma` or `sensitivity` when it is out of range.
    pub fn new(sigma: f64, sensitivity: u64) -> Result<DiscreteGaussianCost, Invalid> {
        Ok(DiscreteGaussianCost {
            sigma: number::between("sigma", sigma, SIGMA_LEAST, SCALE_LIMIT, "a number from 1/32 to 2^40")?,
            shift: number::shift("sensitivity", sensitivity)?,
        })
    }

    /// The smallest noise, rounded up to 12 digits, that keeps within the budget at this sensitivity.
    ///
    /// # Errors
    /// Names `delta` where the budget is pure (no Gaussian is), and the parameter that is out of range.
    pub fn calibrate(budget: &Budget, sensitivity: u64) -> Result<DiscreteGaussianCost, Invalid> {
        match *budget {
            Budget::Approximate { epsilon, delta } => Self::for_epsilon_delta(epsilon, delta, sensitivity),
            Budget::Zcdp { rho } => Self::for_rho(rho, sensitivity),
            Budget::Pure { .. } => {
                let remedy =
                    "a delta such as 1e-6, or rho: Gaussian noise has no pure epsilon; Laplace noise has";
                Err(Invalid::new("delta", InvalidKind::Missing, remedy))
            }
        }
    }

    /// The smallest noise, rounded up to 12 digits, that is (epsilon, delta)-private at this sensitivity.
    ///
    /// # Errors
    /// Names the parameter that is out of range, and `epsilon` where sigma would leave 1/32..2^40.
    pub fn for_epsilon_delta(
        epsilon: f64,
        delta: f64,
        sensitivity: u64,
    ) -> Result<DiscreteGaussianCost, Invalid> {
        let epsilon = number::epsilon("epsilon", epsilon)?;
        let delta = number::probability("delta", delta)?;
        let shift = number::shift("sensitivity", sensitivity)?;
        let passes = |sigma: f64| DiscreteGaussianCost { sigma, shift }.delta(epsilon) <= delta;
        // The continuous answer is near where sigma is large; where it is small the lattice helps or harms a
        // little.
        let near = GaussianCost::calibrate(epsilon, delta, shift)?;
        let low = if near > SMOOTH { near * 0.999 } else { SIGMA_LEAST };
        let high = [near * 1.001 + 2.0, SCALE_LIMIT].map(|high| high.min(SCALE_LIMIT));
        let sigma = high.iter().find_map(|high| number::least(low.min(*high), *high, passes));
        Ok(DiscreteGaussianCost { sigma: rounded(sigma, "epsilon", passes)?, shift })
    }

    /// The smallest noise, rounded up to 12 digits, that is rho-zCDP at this sensitivity: `sigma = s / sqrt(2
    /// rho)`.
    ///
    /// # Errors
    /// Names the parameter that is out of range, and `rho` where sigma would leave 1/32..2^40.
    pub fn for_rho(rho: f64, sensitivity: u64) -> Result<DiscreteGaussianCost, Invalid> {
        let rho = number::rho("rho", rho)?;
        let shift = number::shift("sensitivity", sensitivity)?;
        let passes = |sigma: f64| sigma >= SIGMA_LEAST && fits(rho, sigma, shift);
        let sigma = Some(shift / (2.0 * rho).sqrt()).filter(|sigma| *sigma <= SCALE_LIMIT);
        // One unit in the last place below, so that 12 digits that are exactly enough are not passed over.
        let sigma = sigma.map(|sigma| (sigma * (1.0 - 1e-15)).max(SIGMA_LEAST));
        Ok(DiscreteGaussianCost { sigma: rounded(sigma, "rho", passes)?, shift })
    }

    /// The noise's parameter; its standard deviation is at most this, and equal to it to 10 digits from sigma
    /// = 2 on.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// The zCDP cost `s^2 / 2 sigma^2`, exact for this law: the least number that is not below it, so that
    /// noise which keeps within a budget never says more than the budget.
    pub fn rho(&self) -> f64 {
        // Three roundings take it off by at most three quarters of this.
        let mut rho = self.shift * self.shift / (2.0 * self.sigma * self.sigma) * (1.0 - 2.0 * f64::EPSILON);
        while !fits(rho, self.sigma, self.shift) {
            rho = rho.next_up();
        }
        rho
    }

    /// The least delta at this epsilon (zero or more), rounded up.
    pub fn delta(&self, epsilon: f64) -> f64 {
        let epsilon = epsilon.max(0.0);
        let DiscreteGaussianCost { sigma, shift } = *self;
        let mu = shift / sigma;
        let near = (epsilon * sigma / mu - shift / 2.0).floor() + 1.0;
        // P[Y >= m] <= e^(-m^2 / 2 sigma^2), as for the continuous law (CKS20), and e^(-37.2^2/2) < 1e-300.
        // That holds for the first point itself, which is at most one below.
        if (near - 1.0) / sigma > 37.2 {
            return TINY;
        }
        // 2 sigma^2 (loss - epsilon) at a point, exactly. A threshold in floats is off by one where a loss is
        // epsilon.
        let whole = |point: f64| (2 * point as i128 + shift as i128) * shift as i128;
        let over = |point: f64| number::beyond_product(whole(point), &[2.0, epsilon, sigma, sigma]);
        let first = match near {
            near if over(near) <= 0.0 => near + 1.0,
            near if over(near - 1.0) > 0.0 => near - 1.0,
            near => near,
        };
        let x = first / sigma;
        // How far the first counted loss is above epsilon: from 0 to s / sigma^2.
        let slack = over(first) / (2.0 * sigma * sigma);
        let rest = x.max(0.0);
        let sum = if sigma >= SMOOTH { self.smooth_sum(x, slack) } else { self.direct_sum(first, slack) };
        probability_up(sum * (-rest * rest / 2.0).exp() / self.mass())
    }

    /// The least epsilon at this delta, rounded up; zero when none is needed.
    ///
    /// # Errors
    /// Names `delta` when it is no probability, or is so small that epsilon would pass 500.
    pub fn epsilon(&self, delta: f64) -> Result<f64, Invalid> {
        epsilon_of(delta, |epsilon| self.delta(epsilon))
    }

    /// The standard deviation of the noise.
    pub fn deviation(&self) -> f64 {
        if self.sigma >= 8.0 {
            // The theta function's correction is below e^-1000.
            return self.sigma;
        }
        (2.0 * self.sum_from(1, |y| y * y) / self.mass()).sqrt()
    }

    /// The expected absolute error.
    pub fn mean_error(&self) -> f64 {
        if self.sigma >= SMOOTH {
            // Euler-Maclaurin: the sum of y e^(-y^2/2 sigma^2) is sigma^2 - 1/12 + O(sigma^-2).
            return 2.0 * (self.sigma * self.sigma - 1.0 / 12.0) / self.mass();
        }
        2.0 * self.sum_from(1, |y| y) / self.mass()
    }

    /// The least `w` with `P[|Y| <= w] >= confidence`.
    ///
    /// # Errors
    /// Names `confidence` when it is not inside 0..1.
    pub fn interval(&self, confidence: f64) -> Result<u64, Invalid> {
        let outside = 1.0 - number::probability("confidence", confidence)?;
        if self.sigma < SMOOTH {
            // One sum from the far end, where a bisection would take one for each of its steps.
            let mass = self.mass();
            let over = self.tails().find(|(_, tail)| 2.0 * (tail / mass) > outside);
            return Ok(over.map_or(0, |(place, _)| place));
        }
        let (mut low, mut high) = (0, (38.0 * self.sigma) as u64 + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if 2.0 * self.above(middle + 1) <= outside { high = middle } else { low = middle + 1 }
        }
        Ok(low)
    }

    /// `P[Y >= at]`, rounded up: what the noise alone carries over a threshold.
    pub fn tail(&self, at: i64) -> f64 {
        if at >= 1 {
            return probability_up(self.above(at.unsigned_abs()));
        }
        // All but P[Y <= at - 1], which is P[Y >= 1 - at].
        probability_up(1.0 - self.above(at.unsigned_abs().saturating_add(1)))
    }

    /// `P[Y >= y]` for `y` of 1 or more.
    fn above(&self, y: u64) -> f64 {
        let x = y as f64 / self.sigma;
        if self.sigma < SMOOTH {
            return self.sum_from(y, |_| 1.0) / self.mass();
        }
        let body = self.sigma * tail_gap(x, f64::INFINITY, 0.0) + 0.5 + x / (12.0 * self.sigma);
        body * (-x * x / 2.0).exp() / self.mass()
    }

    /// The sum of `weight(y) e^(-y^2 / 2 sigma^2)` over `y >= first`.
    fn sum_from(&self, first: u64, weight: impl Fn(f64) -> f64) -> f64 {
        let last = first.max(self.last());
        (first..=last).rev().map(|y| weight(y as f64) * self.weight(y)).sum()
    }

    /// Each `y` of 1 or more, the largest first, with the sum of `e^(-y^2 / 2 sigma^2)` from it on.
    fn tails(&self) -> impl Iterator<Item = (u64, f64)> {
        (1..=self.last()).rev().scan(0.0, |sum, y| {
            *sum += self.weight(y);
            Some((y, *sum))
        })
    }

    /// The last `y` of sums: what lies behind has mass e^-800.
    fn last(&self) -> u64 {
        (40.0 * self.sigma) as u64 + 2
    }

    /// `e^(-y^2 / 2 sigma^2)`.
    fn weight(&self, y: u64) -> f64 {
        (-(y as f64 / self.sigma).powi(2) / 2.0).exp()
    }

    /// `sum of e^(-y^2 / 2 sigma^2)` over all integers, never above the truth: every term of either form is
    /// positive.
    fn mass(&self) -> f64 {
        let sigma = self.sigma;
        if sigma < 1.0 {
            return 1.0 + 2.0 * self.sum_from(1, |_| 1.0);
        }
        // Poisson summation; the next term is e^(-8 pi^2 sigma^2) < 1e-34.
        sigma * TWO_PI_ROOT * (1.0 + 2.0 * (-2.0 * (std::f64::consts::PI * sigma).powi(2)).exp())
    }

    /// `e^(r^2/2)` times the sum over `y >= first` of `e^(-y^2/2 sigma^2) (1 - e^(epsilon - loss))`, `r =
    /// max(first, 0) / sigma`.
    fn direct_sum(&self, first: f64, slack: f64) -> f64 {
        let DiscreteGaussianCost { sigma, shift } = *self;
        let rest = (first / sigma).max(0.0);
        let step = shift / (sigma * sigma);
        // What lies below -40 sigma has mass e^-800.
        let mut y = first.max(-(40.0 * sigma).ceil());
        let mut sum = 0.0;
        loop {
            // (y - r)(y + r), not y^2 - r^2: the exponent keeps its digits.
            let weight = (-(y / sigma - rest) * (y / sigma + rest) / 2.0).exp();
            sum += weight * -(-(slack + (y - first) * step)).exp_m1();
            if y > 0.0 {
                // Later weights fall at least by this ratio: they are below a geometric sum.
                let ratio = (-(2.0 * y + 1.0) / (2.0 * sigma * sigma)).exp();
                let left = weight * ratio / (1.0 - ratio);
                if left <= sum * 1e-18 || left == 0.0 {
                    return sum + left;
                }
            }
            y += 1.0;
        }
    }

    /// The same by Euler-Maclaurin to the first derivative, plus a bound of the remainder: with `h = 1/sigma`
    /// and `F(t) = e^(-t^2/2) - e^epsilon e^(-(t+mu)^2/2)`, it is at most `h^3 / 360` times the integral of
    /// `|F''''|`.
    fn smooth_sum(&self, x: f64, slack: f64) -> f64 {
        let DiscreteGaussianCost { sigma, shift } = *self;
        let mu = shift / sigma;
        let open = -(-slack).exp_m1();
        let value = open;
        let slope = mu * (1.0 - open) - x * open;
        let height = if x < 0.0 { (-x * x / 2.0).exp() } else { 1.0 };
        let remainder = fourth(x) + (1.0 - open) * height * fourth(x + mu);
        sigma * tail_gap(x, mu, slack)
            + height * (value / 2.0 - slope / (12.0 * sigma))
            + remainder / (360.0 * sigma.powi(3))
    }
}

/// At least `e^(r^2/2)` times the integral of `|t^4 - 6t^2 + 3| e^(-t^2/2)` over `t >= x`, `r = max(x, 0)`:
/// by parts for `t^4 + 6t^2 + 3`, with Mills' ratio at most 1.2534.
fn fourth(x: f64) -> f64 {
    if x < 0.0 { 12.0 * TWO_PI_ROOT } else { x * x * x + 9.0 * x + 12.0 * 1.2534 }
}

/// Does noise of this size keep within rho, `s^2 <= 2 rho sigma^2`? Compared in twice the working precision.
fn fits(rho: f64, sigma: f64, shift: f64) -> bool {
    let square = sigma * sigma;
    let square_rest = sigma.mul_add(sigma, -square);
    let product = 2.0 * rho * square;
    let product_rest = (2.0 * rho).mul_add(square, -product);
    let wanted = shift * shift;
    let wanted_rest = shift.mul_add(shift, -wanted);
    (product - wanted) + (product_rest - wanted_rest + 2.0 * rho * square_rest) >= 0.0
}

fn rounded(sigma: Option<f64>, field: &'static str, passes: impl Fn(f64) -> bool) -> Result<f64, Invalid> {
    let sigma =
        sigma.and_then(|sigma| number::decimal_up(sigma, passes)).filter(|sigma| *sigma <= SCALE_LIMIT);
    sigma.ok_or_else(|| {
        Invalid::new(field, InvalidKind::TooSmall, "more budget: the noise must stay below 2^40")
    })
}

#[cfg(test)]
mod tests;
