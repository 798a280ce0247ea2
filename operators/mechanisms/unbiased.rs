//! How far the noise of a number is above the least of an unbiased one ([`accounting::unbiased`](crate::accounting::unbiased)).

use super::keys::{Key, Keys};
use super::sensitivity::Sensitivity;
use super::spend::Spend;
use crate::accounting::unbiased::{chi_of_epsilon, chi_of_rho};

/// A number's standard deviation over the least one, where each cell of a key is moved by `moved.linf()`; not known where keys
/// are discovered, which takes a delta.
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
    let chi = match spend {
        Spend::Pure(epsilon) => chi_of_epsilon(epsilon.to_float_up()),
        Spend::Rho(rho) => chi_of_rho(rho.to_float_up()),
    };
    let over = deviation * chi / (moved.linf() as f64 * cells.sqrt());
    // At a price at which hardly anything is hidden, there is hardly a bound.
    over.is_finite().then_some(over)
}
