//! Conversions between currencies. Costs come out rounded up, limits rounded down; each function names its
//! theorem.
//!
//! There is no way back that loses nothing: a cost in pure epsilon or in rho should stay there for as long as
//! costs are added, and be turned into (epsilon, delta) once, to be read.

use super::number::{self, MARGIN};
use crate::invalid::{Invalid, InvalidKind};

/// The zCDP cost of any purely epsilon-private mechanism: `epsilon tanh(epsilon / 2)`, tight (randomised
/// response).
pub fn rho_of_pure(epsilon: f64) -> f64 {
    // Of libm, not of the platform: charges are the same on every machine.
    epsilon * libm::tanh(epsilon / 2.0) * (1.0 + MARGIN)
}

/// The zCDP cost of an epsilon-bounded-range mechanism (Durfee and Rogers 2019), such as the exponential
/// mechanism at epsilon: `epsilon^2 / 8` (Cesar and Rogers 2021). Permute-and-flip is not one of them.
pub fn rho_of_bounded_range(epsilon: f64) -> f64 {
    epsilon * epsilon / 8.0 * (1.0 + MARGIN)
}

/// The delta-approximate zCDP cost of an (epsilon, delta)-private mechanism: the rho of pure epsilon, beside
/// the same delta. Every such pair of outputs is computed from "with probability delta tell all, else
/// randomised response" (Kairouz, Oh, Viswanath 2015), whose second part is pure.
pub fn rho_of_approximate(epsilon: f64) -> f64 {
    rho_of_pure(epsilon)
}

/// The least epsilon at `delta` that a Rényi curve proves, rounded up and at least 0: the best over orders
/// below `omega` of `curve(a) + ln(1 - 1/a) - ln(a delta) / (a - 1)` (Canonne, Kamath, Steinke 2020). Every
/// order proves a bound, so the search can be late but never wrong.
///
/// # Errors
/// Names `delta` when it is no probability, and `omega` unless it is above 1 (infinity is every order).
pub fn epsilon_of_renyi(curve: impl Fn(f64) -> f64, omega: f64, delta: f64) -> Result<f64, Invalid> {
    let delta = number::probability("delta", delta)?;
    Ok(over_orders(omega, |order| epsilon_at(order, curve(order), delta))?.max(0.0))
}

/// Returns the epsilon that one order proves.
pub(crate) fn epsilon_at(order: f64, cost: f64, delta: f64) -> f64 {
    let (gain, tail) = ((-1.0 / order).ln_1p(), -(order.ln() + delta.ln()) / (order - 1.0));
    cost + gain + tail + 1e-14 * (cost.abs() + gain.abs() + tail.abs())
}

/// The least delta at `epsilon` that a Rényi curve proves, rounded up and at most 1: the best over orders
/// below `omega` of `e^((a-1)(curve(a) - epsilon)) / (a - 1) (1 - 1/a)^a` (the same source).
///
/// # Errors
/// Names `epsilon` when it is not from 0 to 500, and `omega` unless it is above 1.
pub fn delta_of_renyi(curve: impl Fn(f64) -> f64, omega: f64, epsilon: f64) -> Result<f64, Invalid> {
    if epsilon != 0.0 {
        number::epsilon("epsilon", epsilon)?;
    }
    let bound = |order: f64| {
        let t = order - 1.0;
        let (cost, size, gain) = (t * (curve(order) - epsilon), -t.ln(), order * (-1.0 / order).ln_1p());
        cost + size + gain + 1e-14 * (t * (curve(order) + epsilon) + size.abs() + gain.abs())
    };
    Ok(number::probability_up(over_orders(omega, bound)?.exp()))
}

/// The least epsilon at `delta` that rho-zCDP proves, for orders below `omega`.
///
/// # Errors
/// Names the parameter that is out of range.
pub fn epsilon_of_rho(rho: f64, omega: f64, delta: f64) -> Result<f64, Invalid> {
    let rho = number::rho("rho", rho)?;
    epsilon_of_renyi(|order| rho * order, omega, delta)
}

/// The least delta at `epsilon` that rho-zCDP proves, for orders below `omega`.
///
/// # Errors
/// Names the parameter that is out of range.
pub fn delta_of_rho(rho: f64, omega: f64, epsilon: f64) -> Result<f64, Invalid> {
    let rho = number::rho("rho", rho)?;
    delta_of_renyi(|order| rho * order, omega, epsilon)
}

/// The largest rho, rounded down, whose epsilon at `delta` stays within `epsilon`: what an account's limit
/// is.
///
/// # Errors
/// Names the parameter that is out of range, and `epsilon` where no rho above 1e-40 is small enough.
pub fn rho_within(epsilon: f64, delta: f64, omega: f64) -> Result<f64, Invalid> {
    let epsilon = number::epsilon("epsilon", epsilon)?;
    epsilon_of_rho(1.0, omega, delta)?;
    // Bisection in 1 / rho, which is safe above and not below.
    let passes =
        |inverse: f64| epsilon_of_rho(1.0 / inverse, omega, delta).is_ok_and(|found| found <= epsilon);
    let inverse = number::least(1.0 / number::EPSILON_LIMIT, 1e40, passes);
    inverse
        .map(|inverse| 1.0 / inverse)
        .ok_or_else(|| Invalid::new("epsilon", InvalidKind::TooSmall, "a larger epsilon, delta or omega"))
}

/// One (epsilon, delta)-private step.
pub type ApproximateStep = (f64, f64);

/// All steps together by basic composition: both add up.
pub fn basic(steps: &[ApproximateStep]) -> ApproximateStep {
    let (epsilon, delta) = steps.iter().fold((0.0, 0.0), |(e, d), step| (e + step.0, d + step.1));
    (epsilon * (1.0 + MARGIN), (delta * (1.0 + MARGIN)).min(1.0))
}

/// All steps together by advanced composition for unequal steps, with `slack` more delta (Kairouz, Oh,
/// Viswanath 2015, theorem 3.5, its second form): `epsilon = sum e_i tanh(e_i / 2) + sqrt(2 ln(1 / slack) sum
/// e_i^2)`. Given the past the i-th loss lies within `e_i` and has mean at most `e_i tanh(e_i / 2)`, so the
/// sum exceeds this with probability at most `slack` (Azuma). Never more than basic composition's epsilon.
/// The steps may not depend on earlier answers: for that there is
/// [`PrivacyFilter::approximate`](super::PrivacyFilter::approximate).
///
/// # Errors
/// Names `delta` when `slack` is no probability.
pub fn advanced(steps: &[ApproximateStep], slack: f64) -> Result<ApproximateStep, Invalid> {
    let slack = number::probability("delta", slack)?;
    let (simple, delta) = basic(steps);
    let mean: f64 = steps.iter().map(|(epsilon, _)| epsilon * (epsilon / 2.0).tanh()).sum();
    let squares: f64 = steps.iter().map(|(epsilon, _)| epsilon * epsilon).sum();
    let epsilon = (mean + (-2.0 * slack.ln() * squares).sqrt()) * (1.0 + MARGIN);
    if epsilon < simple { Ok((epsilon, (delta + slack).min(1.0))) } else { Ok((simple, delta)) }
}

/// The least of `bound` over orders above 1 and below `omega`: a grid in the logarithm of `a - 1`, then a
/// golden section around its best point.
fn over_orders(omega: f64, bound: impl Fn(f64) -> f64) -> Result<f64, Invalid> {
    if omega.is_nan() || omega <= 1.0 {
        let kind = if omega.is_nan() { InvalidKind::Nan } else { InvalidKind::TooSmall };
        return Err(Invalid::new("omega", kind, "a number above 1"));
    }
    const LOW: f64 = -18.0;
    const HIGH: f64 = 46.0;
    const GRID: u32 = 128;
    let high = (omega.next_down() - 1.0).max(f64::MIN_POSITIVE).ln().min(HIGH);
    let low = LOW.min(high - 1.0);
    let at = |place: f64| bound(1.0 + place.exp());
    let cell = (high - low) / f64::from(GRID);
    let places = (0..=GRID).map(|index| low + cell * f64::from(index));
    // The orders are rounded: only those still above 1 and below omega count.
    let valid = |place: &f64| (1.0 + place.exp()) > 1.0 && (1.0 + place.exp()) < omega;
    let start = places.filter(valid).min_by(|a, b| at(*a).total_cmp(&at(*b)));
    let Some(start) = start else {
        return Err(Invalid::new("omega", InvalidKind::TooSmall, "a number further above 1"));
    };
    let (mut left, mut right) = ((start - cell).max(low), (start + cell).min(high));
    let mut best = at(start);
    const GOLDEN: f64 = 0.618_033_988_749_895;
    for _ in 0..50 {
        let (first, second) = (right - GOLDEN * (right - left), left + GOLDEN * (right - left));
        let values = [first, second].map(|place| if valid(&place) { at(place) } else { f64::INFINITY });
        best = best.min(values[0]).min(values[1]);
        if values[0] < values[1] { right = second } else { left = first }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: f64 = f64::INFINITY;

    // Values to six digits at delta = 1e-6, from an independent program; the exact Gaussian lies below each.
    #[test]
    fn rho_becomes_epsilon() {
        for (rho, epsilon, gaussian) in [
            (0.001, 0.182895, 0.1679),
            (0.01, 0.621693, 0.5751),
            (0.05, 1.471595, 1.3676),
            (0.1, 2.141939, 1.9945),
            (0.5, 5.221534, 4.8866),
            (1.0, 7.766217, 7.2861),
        ] {
            let found = epsilon_of_rho(rho, EVERY, 1e-6).unwrap();
            assert!((found - epsilon).abs() < 1e-6, "{rho}: {found}");
            assert!(found > gaussian);
            let exact =
                super::super::GaussianCost::new(1.0, (2.0 * rho).sqrt()).unwrap().epsilon(1e-6).unwrap();
            assert!((exact - gaussian).abs() < 1e-4 && exact < found);
            // Back: the delta at that epsilon is the one we came from.
            assert!((delta_of_rho(rho, EVERY, found).unwrap() / 1e-6 - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn limits_become_rho_rounded_down() {
        for (epsilon, delta, rho) in
            [(1.0, 1e-6, 0.0243559), (0.5, 1e-6, 0.0066415), (1.0, 1e-9, 0.0149730), (2.0, 1e-6, 0.0881526)]
        {
            let found = rho_within(epsilon, delta, EVERY).unwrap();
            assert!((found - rho).abs() < 1e-7, "{epsilon} {delta}: {found}");
            assert!(epsilon_of_rho(found, EVERY, delta).unwrap() <= epsilon);
            assert!(epsilon_of_rho(found * (1.0 + 1e-9), EVERY, delta).unwrap() > epsilon);
        }
    }

    #[test]
    fn pure_epsilon_becomes_rho() {
        for (epsilon, rho) in
            [(0.1, 0.00499584), (0.5, 0.12245933), (1.0, 0.46211716), (2.0, 1.52318831), (5.0, 4.93307149)]
        {
            assert!((rho_of_pure(epsilon) - rho).abs() < 1e-8);
        }
        assert!((rho_of_bounded_range(2.0) - 0.5).abs() < 1e-10);
    }

    // Rényi rows of the reference table (continuous noise); at k = 1 the table's few orders give 1.0050751,
    // all of them the exact .999998.
    #[test]
    fn renyi_curves_become_epsilon() {
        for (count, scale, epsilon) in
            [(1.0, 1.0, 0.999998), (1000.0, 50.0, 3.1120323), (1e5, 1000.0, 1.4713577)]
        {
            let curve = |order| count * super::super::renyi::laplace(1.0 / scale, order);
            let found = epsilon_of_renyi(curve, EVERY, 1e-6).unwrap();
            assert!(
                (found - epsilon).abs() < 2e-3 * epsilon && found < epsilon * 1.000001,
                "{found} {epsilon}"
            );
        }
    }

    // Fewer orders can only prove less, and the best order (about 16 here) is used as soon as it is allowed.
    #[test]
    fn truncated_orders_cost_more() {
        let every = epsilon_of_rho(0.05, EVERY, 1e-6).unwrap();
        assert_eq!(epsilon_of_rho(0.05, 1e6, 1e-6).unwrap(), every);
        let mut last = every;
        for omega in [12.0, 8.0, 4.0, 2.0, 1.5, 1.01, 1.0000001] {
            let found = epsilon_of_rho(0.05, omega, 1e-6).unwrap();
            assert!(found > last, "{omega}: {found}");
            last = found;
        }
        // By hand at omega = 2: the bound at order 2, .1 + ln(1/2) - ln(2e-6), approached from below.
        let by_hand = 0.1 - 2f64.ln() - 2e-6f64.ln();
        assert!((epsilon_of_rho(0.05, 2.0, 1e-6).unwrap() - by_hand).abs() < 1e-4);
        for omega in [1.0, 0.0, -1.0, f64::NAN] {
            assert_eq!(epsilon_of_rho(0.05, omega, 1e-6).unwrap_err().field(), "omega");
        }
    }

    // Refutes a negative epsilon near delta = 1, an endless search, and a delta above 1.
    #[test]
    fn extremes_stay_in_range() {
        for rho in [1e-30, 1e-9, 1.0, 500.0] {
            for delta in [1e-300, 1e-6, 0.5, 1.0f64.next_down()] {
                let epsilon = epsilon_of_rho(rho, EVERY, delta).unwrap();
                assert!(epsilon >= 0.0 && epsilon.is_finite());
            }
            for epsilon in [0.0, 1e-300, 1e-3, 1.0, 500.0] {
                let delta = delta_of_rho(rho, EVERY, epsilon).unwrap();
                assert!(delta > 0.0 && delta <= 1.0, "{rho} {epsilon} {delta}");
            }
        }
    }

    // By hand: 100 steps of 0.1 at slack 1e-6: .4995838 + sqrt(2 * 13.8155106 * 1) = 5.7561.
    #[test]
    fn advanced_composition_is_its_formula() {
        let steps = vec![(0.1, 1e-9); 100];
        let (epsilon, delta) = advanced(&steps, 1e-6).unwrap();
        assert!((epsilon - (0.499_583_75 + 27.631_021_115_928_547f64.sqrt())).abs() < 1e-6, "{epsilon}");
        assert!((delta - 1.1e-6).abs() < 1e-12);
        let (epsilon, delta) = advanced(&[(1.0, 0.0), (0.5, 1e-7)], 1e-6).unwrap();
        assert!((epsilon - 1.5).abs() < 1e-9 && (delta - 1e-7).abs() < 1e-12);
    }
}
