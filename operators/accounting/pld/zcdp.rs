//! A part of a bundle that is known only by its zero-concentrated cost.
//!
//! Whatever satisfies `rho`-zCDP has, for every `alpha > 1` and every real `epsilon`,
//! `delta(epsilon) <= exp((alpha-1)(alpha rho - epsilon)) (1-1/alpha)^alpha / (alpha-1)` (Canonne, Kamath and Steinke 2020),
//! since `(1 - exp(epsilon-l))_+ <= exp((alpha-1)(l-epsilon)) (1-1/alpha)^alpha/(alpha-1)` for every loss `l`.
//!
//! Its true curve is convex in `exp(epsilon)` and starts at 1, so it lies below every chord between two values of the
//! bound: connecting the dots gives finitely many losses that dominate any such mechanism.

use super::complex::ULP;
use super::law::Atom;
use super::search::lowest;

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

/// The logarithm of the largest `(1 - exp(-l)) exp(-tilt l)`: what a moment must be multiplied by to bound a curve.
pub(super) fn ceiling(tilt: f64) -> f64 {
    -tilt * libm::log1p(1.0 / tilt) - libm::log1p(tilt)
}

/// Losses that dominate whatever is `rho`-zCDP, and the probability of infinite loss.
pub(super) fn dots(rho: f64) -> (Vec<Atom>, f64) {
    let spread = (2.0 * rho).sqrt();
    let (first, step) = (-9.0 * spread, spread / 24.0);
    // Where exp(-(epsilon - rho)²/(4 rho)) has fallen to 1e-40.
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

/// How much the chord's slope in `exp(epsilon)` rises at a dot, times `exp(epsilon)`: the mass of its atom, and how far it
/// may be off. Left of the first dot the chord reaches 1 at `exp(epsilon) = 0`; right of the last it is level.
fn bend(before: Option<(f64, f64)>, here: (f64, f64), after: Option<(f64, f64)>) -> (f64, f64) {
    let left = match before {
        Some((epsilon, height)) => (height - here.1) / -libm::expm1(epsilon - here.0),
        None => 1.0 - here.1,
    };
    let right = after.map_or(0.0, |(epsilon, height)| (here.1 - height) / libm::expm1(epsilon - here.0));
    (left - right, 8.0 * ULP * (left.abs() + right.abs()))
}
