//! A mean of vectors whose scale nobody knows, with noise that is shaped like the data: **floating-point assumed**.
//!
//! A clipped mean needs bounds, and its noise is as wide as they are. Here the noise follows the covariance of the records
//! themselves, so the answer is as good for axes of unlike or of unknown scale as for any others: whoever maps all records by
//! `A x + b` gets the mean mapped likewise. The price is a test, that the data agree on a covariance whoever is exchanged, and
//! the test is the dear part. It needs many people ([`StableMean::least_people`]), and refuses by public numbers alone where
//! there are fewer.
//!
//! # The way of a release
//!
//! 1. Records are clamped to a public box of integers, whose sides lie within 2^46 of zero ([`Extent`]): so do the sums of 2^24 people,
//!    at 1,000 levels, stay in 128 bits. They are permuted by the noise source, whatever their values and order. With
//!    [`Relation::AddRemove`](crate::accounting::Relation) a noised number of them is kept, those that come first after it, so that one more or
//!    one less is one exchanged. Where that is more than there are, or less than the plan needs, it fails.
//! 2. Pairs of records with a large leverage are put aside at each of `2 k` nested levels (`good.rs`). How many levels it takes to
//!    lose so few pairs that one person cannot matter is the first score; the upper levels are averaged to a covariance.
//! 3. Records that are far from many of `6 k + 64` references are put aside likewise (`core.rs`): the second score, and weights.
//! 4. The larger score moves by 2 at most. Half of it, rounded up, is compared with a threshold under integer noise.
//! 5. Where it passes, the weighted mean is told with Gaussian noise of the covariance's shape. Whatever fails, fails alike: neither a score nor a
//!    covariance leaves a release, and what holds them cannot be printed.
//!
//! # What is promised
//!
//! Truncated zCDP, and a delta: every Rényi order `a` below `omega` costs at most `a rho` ([`StableMean::cost`]). With
//! `gamma = 20 lambda / (7 m)` for `m` pairs, of which there are at least `10 k lambda`,
//!
//! ```text
//! rho   = 1 / (2 sigma^2)  of the test   + what the noise is given   + what an exchange does to its shape
//! delta = P[noise <= tau - (k / 2 - 1)]
//! omega = s / gamma,  s <= 1 / 2
//! ```
//!
//! The time that a release takes is no part of it: outliers and near ties take longer. An answer has to be told at a public time, as those
//! of a window are at its end, whatever it took.
//!
//! The noise is `sum_i sqrt(w_i) u_i g_i`, a draw for each pair: its covariance is the covariance, no root is taken, and it is mapped
//! by `A` as the records are.
//!
//! Who is put aside, what the rank is and who is near are decided exactly (`shape.rs`): proved bounds of floats, and big integers where
//! these do not decide. A single wrong decision would be a leak, however small the error. What remains is this: the
//! mean and the shape of its noise are both secret, so their sum is no sum of integers. It is computed in floats from draws on a grid
//! of 2^-30, and rounded to a public grid. That no leak comes of this is *assumed*, and not proved as it is elsewhere in this library;
//! wherever such an answer is told it says "floating-point assumed".

mod core;
mod gram;
mod plan;
mod release;
#[cfg(test)]
mod tests;

pub use plan::StableMean;
pub use release::{Extent, Released};

/// What is said wherever a stable mean, or its price, is told.
pub const ASSUMED: &str = "floating-point assumed";
