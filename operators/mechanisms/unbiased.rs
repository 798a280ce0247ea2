//! The least that an unbiased answer can err by at a price.
//!
//! If one person can move the expectation of a release by `length` in some direction, and its distributions with and without
//! that person are within a cost, the variance in that direction is at least `length^2 / chi^2`, where `chi^2` is the most
//! that the chi-squared divergence can be at this cost: the bound of Hammersley, Chapman and Robbins. It is
//! `4 sinh^2(epsilon / 2)` for pure epsilon, and `e^(2 rho) - 1` for zCDP, whose divergence of order 2 is the logarithm of
//! `1 + chi^2`. Taken in all directions at once, it is the least trace of a covariance that holds a domain (Nikolov and
//! Tang 2023): see [`accounting::shape`](crate::accounting::shape).
//!
//! It speaks of answers that are right on average and of noise that does not depend on the data. An answer that is clipped,
//! or moved to where it must be, may err by less.

use super::keys::{Key, Keys};
use super::sensitivity::Sensitivity;
use super::spend::Spend;

/// The root of the largest chi-squared divergence at this cost.
fn chi(spend: Spend) -> f64 {
    match spend {
        Spend::Pure(epsilon) => 2.0 * libm::sinh(epsilon.to_float_up() / 2.0),
        Spend::Rho(rho) => libm::expm1(2.0 * rho.to_float_up()).sqrt(),
    }
}

/// A number's standard deviation over the least one, where each cell of a key is moved by `moved.linf()`; not known where keys
/// are discovered, for what may be beyond a delta has no such bound.
///
/// A person is in some of the keys only, in whichever: by symmetry noise that is the same for all keys is the best, and it
/// must hold a vector that is as long as so many cells.
pub(super) fn over_bound<K: Key>(
    deviation: f64,
    moved: &Sensitivity,
    keys: &Keys<K>,
    spend: Spend,
) -> Option<f64> {
    let listed = keys.listed()?.len() as f64;
    let cells = (moved.l0() as f64).min(listed);
    let over = deviation * chi(spend) / (moved.linf() as f64 * cells.sqrt());
    // At a price at which hardly anything is hidden, there is hardly a bound.
    over.is_finite().then_some(over)
}
