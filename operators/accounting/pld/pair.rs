//! Dominating pairs: for each mechanism, two distributions that are at least as far apart as its outputs on
//! any two neighbouring datasets.

use std::cmp::Ordering;
use std::f64::consts::{FRAC_1_SQRT_2, PI};
use std::sync::Arc;

use super::bundle::PrivacyLoss;
use super::integral::ULP;
use super::law::{Atom, LossDistribution};
use super::search::lowest;
use crate::invalid::{Invalid, InvalidKind, positive};

/// The privacy loss of one use of a mechanism, in both directions of the adjacency.
///
/// A pair is a claim about a mechanism whose answer has at most the stated sensitivity. It does not say which
/// datasets are neighbours; the [`Bundle`](super::Bundle) does.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    pub(super) forward: PrivacyLoss,
    /// The other direction, where it differs.
    pub(super) backward: Option<PrivacyLoss>,
}

/// The least loss, to which smaller ones are rounded up, so that no square underflows.
const LEAST: f64 = f64::from_bits((1023 - 60) << 52);
/// The largest sensitivity over scale of one use, and the largest pure epsilon.
const MOST_LOSS: f64 = 1_048_576.0;
/// The largest sensitivity over sigma of one use.
const MOST_RATIO: f64 = 1_024.0;
/// The smallest and the largest sigma of the discrete Gaussian.
const SIGMA: (f64, f64) = (0.25, 1_099_511_627_776.0);

impl Pair {
    /// Continuous Laplace noise: density proportional to `exp(-|x|/scale)`, for a real answer.
    ///
    /// The noise that this library draws is [`Pair::discrete_laplace`], which has another cost.
    ///
    /// # Errors
    /// If `scale` or `sensitivity` is not a positive number, or the second is more than 2^20 times the first.
    pub fn laplace(scale: f64, sensitivity: f64) -> Result<Pair, Invalid> {
        let loss = ratio(("sensitivity", sensitivity), ("scale", scale), MOST_LOSS)?;
        Ok(Pair::symmetric(LossDistribution::Staircase { loss, steps: f64::INFINITY }))
    }

    /// Continuous Gaussian noise of standard deviation `sigma`, for a real answer or a vector of that l2
    /// sensitivity.
    ///
    /// The noise that this library draws is [`Pair::discrete_gaussian`], which has another cost.
    ///
    /// # Errors
    /// If `sigma` or `sensitivity` is not a positive number, or the second is more than 2^10 times the first.
    pub fn gaussian(sigma: f64, sensitivity: f64) -> Result<Pair, Invalid> {
        let ratio = ratio(("sensitivity", sensitivity), ("sigma", sigma), MOST_RATIO)?;
        Ok(Pair::symmetric(LossDistribution::Gaussian { ratio }))
    }

    /// Discrete Laplace noise: an integer `x` with probability proportional to `exp(-|x|/scale)`, for an
    /// integer answer.
    ///
    /// # Errors
    /// As [`Pair::laplace`]; `sensitivity` must be at most 2^53.
    pub fn discrete_laplace(scale: f64, sensitivity: u64) -> Result<Pair, Invalid> {
        let steps = integer("sensitivity", sensitivity)?;
        let loss = ratio(("sensitivity", steps), ("scale", scale), MOST_LOSS)?;
        Ok(Pair::symmetric(LossDistribution::Staircase { loss, steps }))
    }

    /// Discrete Gaussian noise: an integer `x` with probability proportional to `exp(-x²/(2 sigma²))`, for
    /// one integer answer. (For a vector, each coordinate is one use, with its own sensitivity.)
    ///
    /// # Errors
    /// If `sigma` is not between 1/4 and 2^40, or `sensitivity` not between 1 and 2^10 sigma.
    pub fn discrete_gaussian(sigma: f64, sensitivity: u64) -> Result<Pair, Invalid> {
        let shift = integer("sensitivity", sensitivity)?;
        ratio(("sensitivity", shift), ("sigma", sigma), MOST_RATIO)?;
        let remedy = "a number from 1/4 to 2^40";
        if sigma < SIGMA.0 {
            return Err(Invalid::new("sigma", InvalidKind::TooSmall, remedy));
        }
        if sigma > SIGMA.1 {
            return Err(Invalid::new("sigma", InvalidKind::TooLarge, remedy));
        }
        Ok(Pair::symmetric(LossDistribution::DiscreteGaussian { sigma, shift }))
    }

    /// Randomized response: the true bit with probability `e^epsilon/(e^epsilon + 1)`, else the other. It
    /// dominates every mechanism that is purely `epsilon`-private.
    ///
    /// # Errors
    /// If `epsilon` is not a positive number, or is more than 2^20.
    pub fn randomized_response(epsilon: f64) -> Result<Pair, Invalid> {
        let loss = ratio(("epsilon", epsilon), ("epsilon", 1.0), MOST_LOSS)?;
        Ok(Pair::symmetric(LossDistribution::Staircase { loss, steps: 1.0 }))
    }

    /// Any mechanism that is (`epsilon`, `delta`)-private: with probability `delta` it reveals everything,
    /// and otherwise it is a randomized response (Kairouz, Oh and Viswanath 2015). `epsilon` or `delta` may
    /// be 0, but not both.
    ///
    /// # Errors
    /// If `epsilon` is negative, not finite or more than 2^20; if `delta` is negative, NaN, 1 or more; or if
    /// both are 0.
    pub fn approximate(epsilon: f64, delta: f64) -> Result<Pair, Invalid> {
        let remedy = "a number from 0 to below 1";
        if delta.is_nan() {
            return Err(Invalid::new("delta", InvalidKind::Nan, remedy));
        }
        if delta < 0.0 {
            return Err(Invalid::new("delta", InvalidKind::Negative, remedy));
        }
        if delta >= 1.0 {
            return Err(Invalid::new("delta", InvalidKind::TooLarge, remedy));
        }
        let epsilon = if epsilon == 0.0 && delta > 0.0 { LEAST } else { epsilon };
        let mut pair = Pair::randomized_response(epsilon)?;
        pair.forward.infinite = delta;
        Ok(pair)
    }

    /// Noise from a finite table, where `weights[i]` is the integer weight of `i`, for an integer answer.
    ///
    /// The pair is the table against itself moved by `shift`: the claim of a mechanism whose answer moves by
    /// exactly that. It also covers smaller moves if the table is log-concave, and moves of either sign if it
    /// is a palindrome. An output that is impossible under the neighbour has infinite loss, and is charged to
    /// delta: with a `shift` as long as the table that is every output, and epsilon is infinite.
    ///
    /// # Errors
    /// If `weights` is empty or all zero, or `shift` is 0.
    pub fn table(weights: &[u64], shift: usize) -> Result<Pair, Invalid> {
        let remedy = "integer weights, at least one of them above 0";
        if weights.is_empty() {
            return Err(Invalid::new("weights", InvalidKind::Empty, remedy));
        }
        if weights.iter().all(|weight| *weight == 0) {
            return Err(Invalid::new("weights", InvalidKind::Zero, remedy));
        }
        if shift == 0 {
            return Err(Invalid::new("shift", InvalidKind::Zero, "a whole number above 0"));
        }
        let earlier = |i: usize| i.checked_sub(shift).map_or(0, |earlier| weights[earlier]);
        let later =
            |i: usize| i.checked_add(shift).and_then(|later| weights.get(later)).copied().unwrap_or(0);
        let forward = against(weights, earlier);
        let palindrome = weights.iter().eq(weights.iter().rev());
        let backward = (!palindrome).then(|| against(weights, later));
        Ok(Pair { forward, backward })
    }

    /// A total order, so that a bundle does not depend on the order in which it was put together.
    pub(super) fn order(&self, other: &Pair) -> Ordering {
        let one =
            |a: &PrivacyLoss, b: &PrivacyLoss| a.law.order(&b.law).then(a.infinite.total_cmp(&b.infinite));
        one(&self.forward, &other.forward).then_with(|| match (&self.backward, &other.backward) {
            (Some(a), Some(b)) => one(a, b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        })
    }

    fn symmetric(law: LossDistribution) -> Pair {
        Pair { forward: PrivacyLoss { law, infinite: 0.0 }, backward: None }
    }
}

/// The loss of a table against its neighbour.
fn against(weights: &[u64], neighbour: impl Fn(usize) -> u64) -> PrivacyLoss {
    let (mut finite, mut infinite) = (0_u128, 0_u128);
    for (i, weight) in weights.iter().enumerate() {
        *(if neighbour(i) == 0 { &mut infinite } else { &mut finite }) += u128::from(*weight);
    }
    // Six roundings, each of half a unit.
    let up = |part: u128, whole: u128| part as f64 / whole as f64 * (1.0 + 8.0 * ULP);
    let mut atoms: Vec<Atom> = Vec::new();
    for (i, weight) in weights.iter().enumerate() {
        let other = neighbour(i);
        if *weight > 0 && other > 0 {
            atoms.push(Atom { loss: log_ratio(*weight, other), mass: up(u128::from(*weight), finite) });
        }
    }
    atoms.sort_by(|a, b| a.loss.total_cmp(&b.loss));
    atoms.dedup_by(|next, kept| {
        let equal = next.loss == kept.loss;
        if equal {
            kept.mass = (kept.mass + next.mass) * (1.0 + 2.0 * ULP);
        }
        equal
    });
    if atoms.is_empty() {
        atoms.push(Atom { loss: 0.0, mass: 1.0 });
    }
    let infinite = up(infinite, infinite + finite).min(1.0);
    PrivacyLoss { law: LossDistribution::Atoms(Arc::from(atoms)), infinite }
}

/// Returns `ln(a/b)`, rounded up. Near 1 the difference is taken in integers, where it is exact.
pub(in crate::accounting) fn log_ratio(a: u64, b: u64) -> f64 {
    let value = if a / 2 < b && b / 2 < a {
        let difference = i128::from(a) - i128::from(b);
        libm::log1p(difference as f64 / b as f64)
    } else {
        libm::log(a as f64) - libm::log(b as f64)
    };
    value + value.abs() * 8.0 * ULP + if value.abs() > 0.5 { 256.0 * ULP } else { 0.0 }
}

/// Returns the quotient of two positive numbers, rounded up and at most `most`; each refusal names its field.
fn ratio(top: (&'static str, f64), bottom: (&'static str, f64), most: f64) -> Result<f64, Invalid> {
    let quotient = positive(top.0, top.1)? / positive(bottom.0, bottom.1)?;
    if quotient > most {
        let remedy = format!("at most {most} times as much as {}", bottom.0);
        let remedy = if top.0 == bottom.0 { format!("at most {most}") } else { remedy };
        return Err(Invalid::new(top.0, InvalidKind::TooLarge, remedy));
    }
    let exact = bottom.1 == 1.0;
    Ok((if exact { quotient } else { quotient * (1.0 + 2.0 * ULP) }).max(LEAST))
}

/// Checks an integer that a float holds exactly, and converts it.
fn integer(field: &'static str, value: u64) -> Result<f64, Invalid> {
    const REMEDY: &str = "a whole number from 1 to 2^53";
    match value {
        0 => Err(Invalid::new(field, InvalidKind::Zero, REMEDY)),
        1..=9_007_199_254_740_992 => Ok(value as f64),
        _ => Err(Invalid::new(field, InvalidKind::TooLarge, REMEDY)),
    }
}

// The curve of the continuous Gaussian: `Q(e/m - m/2) - exp(e) Q(e/m + m/2)`, where `m` is sensitivity over
// sigma and `Q` the upper tail of the standard normal distribution. Any number of Gaussians is one Gaussian
// whose squared `m` is their sum.

/// An upper bound on the hockey-stick divergence of a Gaussian pair at `epsilon` (which may be negative), and
/// minus its slope. `ratio` is sensitivity over sigma; at 0 the two distributions are equal.
pub(super) fn gaussian_delta(ratio: f64, epsilon: f64) -> (f64, f64) {
    if ratio == 0.0 {
        return if epsilon < 0.0 { (-libm::expm1(epsilon), libm::exp(epsilon)) } else { (0.0, 0.0) };
    }
    let low = epsilon / ratio - ratio / 2.0;
    let high = epsilon / ratio + ratio / 2.0;
    if low > 38.0 {
        // Q(38) is below the least float of full precision, and so is the remainder.
        return (f64::MIN_POSITIVE, 0.0);
    }
    let first = upper_tail(low);
    let second = scaled_tail(epsilon, low, high);
    // `low` and `high` are differences, so their errors are relative to their terms; either tail then moves
    // by its density, which both share: phi(low) = exp(epsilon) phi(high).
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
    // Both densities agree: exp(epsilon) phi(high) = phi(low). An even number of levels of Laplace's
    // continued fraction x + 1/(x + 2/(x + ..)) stays below Mills' ratio; at 20, twelve levels are exact to
    // the last place.
    let fraction = (1..=12).rev().fold(high, |below, level| high + f64::from(level) / below);
    density(low) / fraction
}

fn density(x: f64) -> f64 {
    libm::exp(-x * x / 2.0) / (2.0 * PI).sqrt()
}

// A part of a bundle that is known only by its zero-concentrated cost.
//
// Every `rho`-zCDP mechanism has, for every `alpha > 1` and every real `epsilon`,
// `delta(epsilon) <= exp((alpha-1)(alpha rho - epsilon)) (1-1/alpha)^alpha / (alpha-1)` (Canonne, Kamath and
// Steinke 2020), since `(1 - exp(epsilon-l))_+ <= exp((alpha-1)(l-epsilon)) (1-1/alpha)^alpha/(alpha-1)` for
// every loss `l`.
//
// Its true curve is convex in `exp(epsilon)` and starts at 1, so it lies below every chord between two values
// of the bound: connecting the dots gives finitely many losses that dominate any such mechanism.

/// An upper bound on the curve at `epsilon`, and minus its slope.
pub(super) fn zcdp_delta(rho: f64, epsilon: f64) -> (f64, f64) {
    let bound = |log_order: f64| {
        let order = libm::exp(log_order);
        order * ((order + 1.0) * rho - epsilon) + ceiling(order)
    };
    let (log_order, least) = lowest(bound);
    let order = libm::exp(log_order);
    let error =
        16.0 * ULP * (1.0 + least.abs() + order * (epsilon.abs() + (order + 1.0) * rho) - ceiling(order));
    let bound = libm::exp(least + error).min(1.0);
    (bound, order * bound)
}

/// The logarithm of the largest `(1 - exp(-l)) exp(-tilt l)`: the factor by which a moment bounds a curve.
pub(super) fn ceiling(tilt: f64) -> f64 {
    -tilt * libm::log1p(1.0 / tilt) - libm::log1p(tilt)
}

/// Losses that dominate every `rho`-zCDP mechanism, and the probability of infinite loss.
pub(super) fn dots(rho: f64) -> (Vec<Atom>, f64) {
    let spread = (2.0 * rho).sqrt();
    let (first, step) = (-9.0 * spread, spread / 24.0);
    // The point where exp(-(epsilon - rho)²/(4 rho)) has fallen to 1e-40.
    let last = rho + 2.0 * (rho * 93.0).sqrt();
    let count = ((last - first) / step).ceil() as u32;
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for dot in
        (0..=count).map(|n| first + f64::from(n) * step).map(|epsilon| (epsilon, zcdp_delta(rho, epsilon).0))
    {
        // A dot above the chord of its neighbours is not needed.
        while let Some(&middle) = hull.last()
            && bend(hull.len().checked_sub(2).map(|before| hull[before]), middle, Some(dot)).0 <= 0.0
        {
            hull.pop();
        }
        hull.push(dot);
    }
    let atom = |n: usize| {
        let before = n.checked_sub(1).map(|before| hull[before]);
        let (mass, error) = bend(before, hull[n], hull.get(n + 1).copied());
        Atom { loss: hull[n].0, mass: mass.max(0.0) + error }
    };
    let atoms = (0..hull.len()).map(atom).filter(|atom| atom.mass > 0.0).collect();
    (atoms, hull.last().map_or(1.0, |dot| dot.1))
}

/// The rise of the chord's slope in `exp(epsilon)` at a dot, times `exp(epsilon)`: the mass of its atom, with
/// a bound on its error. Left of the first dot the chord reaches 1 at `exp(epsilon) = 0`; right of the last
/// it is level.
fn bend(before: Option<(f64, f64)>, here: (f64, f64), after: Option<(f64, f64)>) -> (f64, f64) {
    let left = match before {
        Some((epsilon, height)) => (height - here.1) / -libm::expm1(epsilon - here.0),
        None => 1.0 - here.1,
    };
    let right = after.map_or(0.0, |(epsilon, height)| (here.1 - height) / libm::expm1(epsilon - here.0));
    (left - right, 8.0 * ULP * (left.abs() + right.abs()))
}
