//! Gaussian differential privacy: the cost of noise in the currency in which Gaussian noise is exact.
//!
//! # What a cost says
//!
//! A release costs `(mu, delta)` if its distributions with and without a unit, `P` and `Q`, are
//!
//! ```text
//! P = (1 - delta) P' + delta P'',   Q = (1 - delta) Q' + delta Q''
//! ```
//!
//! where `P'` and `Q'` can be had from one draw of `N(0, 1)` and of `N(mu, 1)` by the same randomised function
//! (Dong, Roth and Su 2022, arXiv 1905.02383, for `delta = 0`). What adds up is `rho = mu^2 / 2` and delta.
//!
//! # The filter
//!
//! **Statement.** Releases are chosen one after the other, each by all answers before, so that on every path
//! `sum mu_i^2 <= B^2` and `sum delta_i <= delta_0`. Then all answers together are `(epsilon, delta(epsilon) +
//! delta_0)`-private for every epsilon, where `delta(epsilon) = Q(epsilon/B - B/2) - e^epsilon Q(epsilon/B +
//! B/2)` is the curve of one Gaussian of `mu = B`. (For `delta_0 = 0` this is the filter of Smith and Thakurta
//! 2022, arXiv 2210.17520, and of Koskela, Tobaben and Honkela 2022, arXiv 2209.15596.)
//!
//! **Proof.** Let `b` be 0 without the unit and 1 with it, and `W` a Brownian motion with drift `b`, watched
//! until time `B^2`.
//!
//! 1. *One path for all releases.* Release `i` takes the increment of `W` over the next `mu_i^2` units of time
//!    and divides it by `mu_i`: given everything before, that is one draw of `N(b mu_i, 1)`, whose function has
//!    the law `Q'` for `b = 0` and `P'` for `b = 1`. The length `mu_i^2` follows from answers before, that is from the path so
//!    far, and the sum of lengths never passes `B^2`.
//! 2. *The path tells no more than its end.* Given `W(B^2)`, the path is a Brownian bridge, in which `b` does not
//!    occur. So the whole path, and with it every answer, is a function (with coins of its own) of `W(B^2) ~ N(b
//!    B^2, B^2)`: of one Gaussian of `mu = B`.
//! 3. *Delta.* Each release first throws a coin that is bad with probability `delta_i`, whatever `b` is. Ideal
//!    releases throw the same coins and ignore them: steps 1 and 2 hold for their answers and the coins. The
//!    two agree until the first bad coin, which comes with probability at most `E sum delta_i <= delta_0`. So
//!    for every set `T` of answers `P(T) <= P_ideal(T, no bad coin) + delta_0 <= e^epsilon Q_ideal(T, no bad
//!    coin) + delta(epsilon) + delta_0 <= e^epsilon Q(T) + delta(epsilon) + delta_0`, and likewise with `P` and
//!    `Q` exchanged. ∎
//!
//! Both limits are fixed before the first release. A limit of mu that moves with the delta that is left is
//! none: whoever spends `mu = .196` first and then, by the loss that was seen, the rest of mu or the rest of
//! delta, comes to 1.97 times the delta of (1, 1e-6). Nor is there such a filter for other trade-off curves
//! (arXiv 2602.06756): nothing enters the sum but by its mu.
//!
//! # Prices
//!
//! | release | mu | why |
//! |---|---|---|
//! | `x + round(N(0, sigma^2))`, integers `x` that move by `D` in Euclidean length | `D / sigma` | it is `round(x + N)`, a function of the continuous mechanism; so is any function of such sums, with the weights of a strategy of running totals too |
//! | pure epsilon | `2 PhiInverse(e^epsilon / (1 + e^epsilon))` | [`mu_of_pure`] |
//! | several pure epsilons at once | the squares added; of numbers that move by parts of a largest move, those parts of its square | [`mu_of_pure`] |
//! | a choice of bounded range | that of half the range, as pure epsilon | [`mu_of_bounded_range`] |
//! | (epsilon, delta) | that of epsilon, and delta | with probability delta it tells all, else it is a function of an epsilon-private bit (Kairouz, Oh and Viswanath 2015) |
//! | keys to discover | delta alone, beside the noise of their values | keys that only the unit has are found with probability at most delta; without them the two laws are those of the values |
//!
//! The discrete Gaussian has no place here: at a small sigma its lattice shows, and its curve lies above that
//! of the continuous law.

use super::amount::PrivacyCost;
use super::budget::{DeltaForKeys, left};
use super::gaussian::GaussianCost;
use super::number::{self, MARGIN, SCALE_LIMIT};
use super::units::BudgetUnits;
use crate::decimal::Decimal;
use crate::invalid::{Invalid, InvalidKind};

/// The least mu, rounded up, of which every purely epsilon-private release is no more than a function: `2
/// PhiInverse(e^epsilon / (1 + e^epsilon))`.
///
/// Its trade-off curve lies above that of randomised response, the polygon through (0, 1), (a, a) and (1, 0)
/// with `a = 1 / (1 + e^epsilon)`. The Gaussian's curve `G` is convex and goes through (0, 1) and (1, 0), and
/// through (a, a) for this mu: the chords lie above it, so the polygon does.
///
/// The square of mu is convex in epsilon, so that a part of an epsilon costs no more than that part of its square:
/// with `x = mu / 2`, epsilon is `ln(Phi(x) / Q(x))`, and the square's derivative by it `8 x Phi(x) Q(x) /
/// density(x)`, of which `x Q(x) / density(x)` and `Phi(x)` both grow.
///
/// # Errors
/// Names `epsilon` unless it is above 0 and at most 500.
pub fn mu_of_pure(epsilon: f64) -> Result<f64, Invalid> {
    let epsilon = number::epsilon("epsilon", epsilon)?;
    let (top, half) = (1.0 + MARGIN, epsilon / 2.0);
    // P[|N| <= x] >= tanh(epsilon / 2), where x is small, and P[N >= x] <= 1 / (1 + e^epsilon), where it is
    // large: each keeps its digits there.
    let reaches = |x: f64| {
        let x = x / std::f64::consts::SQRT_2;
        if half < 0.5 {
            return libm::erf(x) >= libm::tanh(half) * top;
        }
        libm::erfc(x) / 2.0 * top <= libm::exp(-epsilon) / (1.0 + libm::exp(-epsilon))
    };
    let x = number::least(f64::MIN_POSITIVE, 40.0, reaches);
    x.map(|x| 2.0 * x).ok_or_else(|| Invalid::new("epsilon", InvalidKind::TooLarge, "at most 500"))
}

/// The least mu, rounded up, of which every choice of this bounded range is no more than a function: that of
/// pure epsilon at half the range.
///
/// A choice has range `eta` if its loss lies in `[t - eta, t]` for some `t` from 0 to `eta`, as of the
/// exponential mechanism. Its trade-off curve is convex from (0, 1) to (1, 0) with slopes from `-e^(eta-t)` to
/// `-e^-t`, so it lies above the polygon of these two slopes, whose corner is `a = (e^t - 1) / (e^eta - 1)`, `b =
/// (e^-t - k) / (1 - k)` with `k = e^-eta`. For all `t` together the corners lie on the hyperbola `(a (1-k) + k)
/// (b (1-k) + k) = k`, call it `f`, and all polygons lie above the Gaussian's curve `G` if their corners do, for
/// `G` is convex. So `f >= G` is to be shown, where mu is chosen so that both go through the same point `(c, c)` of
/// the diagonal.
///
/// Both are symmetric about the diagonal and touch there. Let `v = ln(a (1-k) + k)` and `u =
/// PhiInverse(1-a)`. Then `ln(-f') = -eta - 2v` is linear in `v`, and `ln(-G') = mu u - mu^2 / 2`. Now `du/dv
/// = -(a + s) / density(u)`, `s = k / (1-k)`, and the second derivative has the sign of `u (a + s) /
/// density(u) - 1`, which grows with `u` where it can be positive (`u Q(u) / density(u)` grows from 0 to 1):
/// so `u` is first convex in `v` and then concave, the difference of the logarithms has at most three zeros,
/// and so has the derivative of `f - G`. But `f - G` is 0 at 0, `c` and 1, and its derivative at `c`: the two
/// others lie between. Near `a = 0` `G` falls faster, so `f - G` rises from 0, turns once before `c` and is
/// not negative there; beyond `c` by symmetry. ∎
///
/// # Errors
/// Names `range` unless it is above 0 and at most 1000.
pub fn mu_of_bounded_range(range: f64) -> Result<f64, Invalid> {
    mu_of_pure(range / 2.0)
        .map_err(|refused| Invalid::new("range", refused.kind(), "a number above 0 and at most 1000"))
}

/// The largest pure epsilon, rounded down, of which this mu is the price.
///
/// # Errors
/// Names `mu` where it is the price of none from 1e-30 to 500.
pub fn epsilon_within(mu: f64) -> Result<f64, Invalid> {
    let fits = |inverse: f64| mu_of_pure(1.0 / inverse).is_ok_and(|found| found <= mu);
    let inverse = number::least(1.0 / number::EPSILON_LIMIT, 1e30, fits).map(|inverse| 1.0 / inverse);
    inverse.ok_or_else(|| Invalid::new("mu", InvalidKind::TooSmall, "a larger mu"))
}

/// The largest mu, rounded down, whose delta at `epsilon` stays within `delta`.
///
/// # Errors
/// Names the parameter that is out of range.
pub fn mu_within(epsilon: f64, delta: f64) -> Result<f64, Invalid> {
    let epsilon = number::epsilon("epsilon", epsilon)?;
    let delta = number::probability("delta", delta)?;
    let passes = |sigma: f64| GaussianCost::new(sigma, 1.0).is_ok_and(|noise| noise.delta(epsilon) <= delta);
    let sigma = number::least(1.0 / number::EPSILON_LIMIT, SCALE_LIMIT, passes);
    // The quotient is what was checked.
    sigma
        .map(|sigma| 1.0 / sigma)
        .ok_or_else(|| Invalid::new("epsilon", InvalidKind::TooSmall, "a larger epsilon or delta"))
}

/// Returns `mu^2 / 2`, rounded up.
pub(crate) fn rho_of_mu(mu: f64) -> Result<BudgetUnits, Invalid> {
    // One rounding, of at most 2^-53; halving is exact.
    BudgetUnits::at_least_float("mu", (mu * mu / 2.0).next_up())
}

/// Returns the mu of which this is half the square, rounded up.
pub(crate) fn mu_of_rho(rho: BudgetUnits) -> f64 {
    if rho == BudgetUnits::ZERO {
        return 0.0;
    }
    (2.0 * rho.to_float_up()).sqrt().next_up()
}

/// Returns the mu of which this is half the square, rounded down.
pub(crate) fn mu_within_rho(rho: BudgetUnits) -> f64 {
    (2.0 * rho.to_float_down()).sqrt().next_down().max(0.0)
}

/// The part of delta, in tenths, that is for discovered keys and answers to questions unless said. The rest
/// makes mu: at (1, 1e-6) noise is 1.7% more than with all of it, and thresholds of
/// `config/quickstart.toml` are 1.7% lower than with a tenth.
pub(super) const USUAL: u128 = 3;

/// The limit that epsilon and delta come to for a [filter](self#the-filter), rounded down: `mu^2 / 2`, beside
/// the part of delta that is set aside for the charges' own, all fixed for good.
///
/// # Errors
/// Names `epsilon`, `delta` or `delta_for_keys` when it is out of range.
pub fn limit(epsilon: &Decimal, delta: &Decimal, for_keys: DeltaForKeys<'_>) -> Result<PrivacyCost, Invalid> {
    let for_keys = for_keys.of(BudgetUnits::at_most("delta", delta)?, USUAL)?;
    limit_beside(epsilon, delta, for_keys)
}

/// The same beside exactly this much delta for keys, such as that of an account whose limit is raised.
///
/// # Errors
/// As [`limit`].
pub fn limit_beside(
    epsilon: &Decimal,
    delta: &Decimal,
    for_keys: BudgetUnits,
) -> Result<PrivacyCost, Invalid> {
    number::epsilon("epsilon", epsilon.to_f64())?;
    number::probability("delta", delta.to_f64())?;
    within(BudgetUnits::at_most("epsilon", epsilon)?, BudgetUnits::at_most("delta", delta)?, for_keys)
}

fn within(epsilon: BudgetUnits, delta: BudgetUnits, for_keys: BudgetUnits) -> Result<PrivacyCost, Invalid> {
    let mu = mu_within(epsilon.to_float_down(), left(delta, for_keys)?.to_float_down())?;
    let rho = BudgetUnits::at_most_float("epsilon", (mu * mu / 2.0).next_down())?;
    Ok(PrivacyCost::Gaussian { rho, delta: for_keys })
}

impl PrivacyCost {
    /// The limit of an account in Gaussian differential privacy that promises (epsilon, delta), of which
    /// `delta_for_keys` is for discovered keys and answers to questions; see [`limit`].
    ///
    /// # Errors
    /// Names the parameter that is out of range, and `delta_for_keys` unless it is below delta.
    pub fn gaussian_limit(epsilon: f64, delta: f64, delta_for_keys: f64) -> Result<PrivacyCost, Invalid> {
        let exact = BudgetUnits::at_most_float;
        number::epsilon("epsilon", epsilon)?;
        number::probability("delta", delta)?;
        within(exact("epsilon", epsilon)?, exact("delta", delta)?, exact("delta_for_keys", delta_for_keys)?)
    }
}

#[cfg(test)]
mod tests;
