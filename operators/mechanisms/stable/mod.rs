//! A mean of vectors of unknown scale, with noise of the shape of the data's covariance: **floating-point
//! assumed**.
//!
//! A clipped mean needs bounds, and its noise is as wide as the bounds. Here the noise follows the covariance
//! of the records themselves, so the answer is as good on axes of unlike or of unknown scale as on any
//! others: a map of all records by `A x + b` maps the mean likewise. The price is a test that the data agree
//! on a covariance even after one record is exchanged, and the test is the expensive part. It needs many
//! people ([`StableMean::least_people`]). A plan for fewer is refused, by public numbers alone.
//!
//! # The steps of a release
//!
//! 1. Records are clamped to a public box of integers, whose sides lie within 2^46 of zero ([`BoundingBox`]):
//!    so the sums over 2^24 people, at 1,000 levels, stay in 128 bits. The noise source permutes the records,
//!    independently of their values and order. With [`Relation::AddRemove`](crate::accounting::Relation) the
//!    first records of the permutation are kept, as many as a noised count says, so that one person more or
//!    less acts as one record exchanged. If that count is above the number of people, or below the plan's
//!    minimum, the release fails.
//! 2. Pairs of records with a large leverage are set aside at each of `2 k` nested levels (`core.rs`). The
//!    first score is the number of levels that it takes to lose so few pairs that one person cannot matter;
//!    the upper levels are averaged to a covariance.
//! 3. Records that are far from many of `6 k + 64` references are set aside likewise (`core.rs`): this gives
//!    the second score, and the weights.
//! 4. The larger score moves by 2 at most. Half of it, rounded up, is compared with a threshold under integer
//!    noise.
//! 5. If it passes, the weighted mean is released with Gaussian noise of the covariance's shape. All failures
//!    look alike: neither a score nor a covariance leaves a release, and the types that hold them cannot be
//!    printed.
//!
//! # The guarantee
//!
//! Truncated zCDP, and a delta: every Rényi order `a` below `omega` costs at most `a rho`
//! ([`StableMean::cost`]). With `gamma = 20 lambda / (7 m)` for `m` pairs, of which there are at least
//! `10 k lambda`,
//!
//! ```text
//! rho   = 1 / (2 sigma^2)  of the test   + the rho of the noise   + the rho of an exchange in its shape
//! delta = P[noise <= tau - (k / 2 - 1)]
//! omega = s / gamma,  s <= 1 / 2
//! ```
//!
//! With add/remove adjacency the noised count of people adds its own rho and its own delta.
//!
//! The design is that of Brown, Hopkins and Smith 2023; the constants are not, and nothing here rests on the
//! lemmas of the paper. `docs/proofs/stable.md` derives each constant: `10 k lambda`, the factors 8/7 and
//! 10/7 of `gamma`, the distance of the means, and the cost of the shape.
//!
//! The running time of a release is not covered: outliers and near ties take longer. The caller must publish
//! an answer at a public time, as the answers of a window are published at its end, however long it took.
//!
//! The noise is `sum_i sqrt(w_i) u_i g_i`, with one draw for each pair: its covariance is the one of step 2,
//! no matrix root is taken, and `A` maps it as it maps the records.
//!
//! The outliers, the rank and the near records are decided exactly (`gram.rs`): by proved bounds of floats,
//! and by big integers where the bounds do not decide. A single wrong decision would be a leak, however small
//! the error. One gap remains: the mean and the shape of its noise are both secret, so their sum is no sum of
//! integers. It is computed in floats from draws on a grid of 2^-30, and rounded to a public grid. The
//! absence of a leak from this step is *assumed*, and not proved as it is elsewhere in this library; every
//! place that shows such an answer says "floating-point assumed".

mod core;
mod gram;
mod plan;
mod release;
#[cfg(test)]
mod tests;

pub use plan::StableMean;
pub use release::{BoundingBox, Released};

/// The label beside every stable mean, and beside its cost, in all output.
pub const ASSUMED: &str = "floating-point assumed";
