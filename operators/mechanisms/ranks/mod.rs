//! Statistics without a finite sensitivity, found by their rank.
//!
//! What somebody buys for is between nothing and everything there is, so no noise hides a largest basket. But
//! a person moves the *rank* of a possible answer by one: how many people have more than it. So the possible
//! answers are written down before there is data, as a [`Grid`], and one of them is chosen by its rank.
//! Nothing is clipped, and no range must be known.
//!
//! | asked | by | costs, for `T` comparisons in each of `keys` keys | promised |
//! |---|---|---|---|
//! | [`Largest`]: the largest, or any [`Monotone`] function | [`BinarySearch`], Gaussian | `rho = keys T / 2 sigma^2` | too small, by `2 tau` people at most |
//! | | [`BinarySearch`], Laplace | `epsilon = keys T / b` | the same |
//! | | [`Exponential`]: the shifted inverse | `epsilon`, or `keys e^2 / 8` of rho for `e` each | the same |
//! | [`Quantiles`]: one or several | [`Exponential`] | the same | off by `rank_error` at most |
//! | | [`PermuteAndFlip`] | `epsilon` | the same, mostly by less |
//!
//! In zCDP a binary search is the best of these for a largest value on most grids, and where pure epsilon is
//! asked for the shifted inverse is; `discreet calibrate max` says both. `tau` and `rank_error` are at the
//! confidence that was asked for, and stand in every line.
//!
//! A largest value is **too small by design**. Whatever is released of the one largest person would be that
//! person's; so what is released is a value that several people exceed, between the largest and the `2
//! tau`-th largest, up to a point of the grid. Where fewer than `tau` people are it reveals nothing. It is the
//! least point of the grid then, and the line says that they were too few; or, as often as noise is as large
//! as that, a point above it. A smallest value ([`Minimum`]) is the same in reverse order: too large by design, and
//! as many people are below it.
//!
//! A rank says nothing of a distance. A quantile that is off by ten people is off by nothing where a thousand
//! have the same value, and by any amount where there is nobody between the tenth and the next.

mod choose;
mod curve;
mod cuts;
mod errors;
mod grid;
mod largest;
mod laws;
mod quantiles;
mod search;
mod split;
#[cfg(test)]
mod tests;
mod tops;
mod typical;
mod values;

pub(in crate::mechanisms) use choose::{AnswerChoice, EqualLossRun};
pub use curve::QuantileCurve;
pub use grid::Grid;
pub use largest::{Altogether, Maximum, Minimum, Monotone, loss_moves_by_one};
pub use largest::{Largest, PerPerson};
pub(in crate::mechanisms) use laws::ChoiceRule;
pub use laws::{BinarySearch, Exponential, PermuteAndFlip};
pub use quantiles::Quantile;
pub use quantiles::{PreparedQuantiles, Quantiles};
pub use search::Inverted;
pub use search::Searched;
pub(in crate::mechanisms) use split::QuantileBounds;
pub use tops::{RemainingPeople, Tops};
pub use typical::TypicalRankError;
pub use values::RankedValues;
