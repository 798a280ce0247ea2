//! The privacy cost of a fixed list of mechanisms by its privacy-loss distribution: certified, tight, and as
//! fast for a million uses as for one.
//!
//! A [`Pair`] is the distribution of the privacy loss `L` of one use of a mechanism; a [`Bundle`] is a list
//! of pairs with counts. Dominating pairs compose (Zhu, Dong and Wang 2022), so
//! `delta(epsilon) <= E (1 - exp(epsilon - L))_+` of the total loss, in each direction of the adjacency, and
//! the larger of the two is reported.
//!
//! **When not to use it.** The bound is for lists that are fixed before the first output, never for a budget
//! that is checked after each; a bundle cannot be charged. Where losses are few, several nats apart, and too
//! many to list (a discrete Gaussian of sigma 0.3 between continuous Laplace distributions), the bound still
//! holds but may be loose.
//!
//! # Why the number is never too low
//!
//! * **Lists.** Where the total loss has few values they are listed, as binomials, lattice powers and
//!   products. Masses and losses are rounded up; atoms too small to list are charged as infinite loss.
//! * **The contour.** Otherwise `E (1 - exp(epsilon-L))_+ = 1/(2 pi) ∫ M(z) exp(-z epsilon)/(z(z+1)) dw`
//!   along `z = t + i w`, for any `t > 0`, with `M(z) = E exp(z L)`: a product of closed forms, one for each
//!   distribution, to the power of its count. No loss is discretized and nothing is convolved. The tilt `t`
//!   is near Chernoff's, so precision is relative to delta.
//! * **The steps.** The integral is a sum in steps of `2 pi/T`. By Poisson's formula that sum is
//!   `delta(epsilon)` plus `exp(t m T) delta(epsilon + m T)` over all integers `m` but 0. Every alias is
//!   positive: steps only add.
//! * **The cut.** One more Gaussian release is added to the bundle, which never makes it cheaper. It is so
//!   small that it moves epsilon by 2e-7 of itself, and it makes the terms fall like `exp(-(s w)²/2)`; the
//!   part beyond the last is bounded by the integral of that, and added. (Gaussians already in the bundle
//!   serve as well.)
//! * **The gaps.** A modulus `|M|` changes no faster than the mean distance of the loss from its centre;
//!   where that proves the power below `exp(-60)` of its top, terms are skipped and `exp(-60)` is added for
//!   each.
//! * **Floats.** Every logarithm of a moment comes with a bound on its error, in units of 2^-53, several
//!   times the error of its operations if libm's functions are good to two units. Times the count, plus the
//!   rounding of the exponent, it is charged for every term: `|term| · error` is added to the sum. Where
//!   errors grow, the bound grows.
//! * **Infinite loss** (outputs that are impossible under the neighbour) is `1 - prod (1-m)^count`, added to
//!   delta.
//! * **zCDP parts** have no pair; connecting the dots of their best-known curve gives losses that dominate
//!   any of them.
//! * **Searches** (for a tilt, for epsilon) are not trusted: a result counts only where the bound was
//!   evaluated. Chernoff's bound stands beside the sum, and the smaller is reported.
//!
//! Both routes are tested against each other, and lists against exact integers. A sum has at most 2^20 terms,
//! so the time is bounded: microseconds for lists, about a millisecond for closed forms; a table of n weights
//! in few uses costs n times as much for each term, up to a second for 2,000 weights in ten uses.

mod bundle;
mod exact;
mod integral;
mod law;
mod pair;
mod search;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

pub use bundle::Bundle;
pub(super) use exact::{DiscreteLoss, Precision};
pub use pair::Pair;
pub(super) use pair::log_ratio;
