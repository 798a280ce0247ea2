//! One window's exact integers in, one noised answer out. Pure: no streams, no files, no clocks.
//!
//! # From a bound to an answer
//!
//! ```text
//! Bound ──checked──▶ Limits ─┐
//! Keys, Range ───────────────┴▶ Total, Mean ──ready──▶ NoisyTotals, NoisyMeans ──draw──▶ Answer
//!                               (Statistic)     ▲      (Ready: cost, tally, draw)   ▲
//!                          Gaussian, Laplace ───┘             Cells, state, Noise ──┘
//!
//! Keys, Ranges, a domain ─────▶ VectorMean ──ready──▶ NoisyVectors, FollowedMeans, StableMeans ──draw──▶ Answer
//!                               FoundMean, StableVectors   ▲
//!                                     Gaussian, Stable ────┘
//!
//! Keys, Grid ─────────────────▶ Largest ───ready──▶ Searched, Inverted ─draw──▶ Answer
//!                               Quantiles          ▲ Ranked
//!     BinarySearch, Exponential, PermuteAndFlip ───┘
//! ```
//!
//! A [`Statistic`] says what is asked of a window. It computes its own [`Sensitivity`] from the bound; nobody
//! can state one. A [`Mechanism`] says what the answer may cost. Put together they are [`Ready`]: the scale
//! of the noise, the threshold for new keys and the cost are settled, and every parameter that can be refused
//! has been. What is left is a draw, and a draw cannot fail. A failure that depends on what was drawn would
//! be an answer of its own, and a second try would choose among answers.
//!
//! All that an answer depends on is public, and has one form: [`Ready::parameters`] is a hash of it, by which
//! the releases of other parameters have other names. How an answer is told is settled too: [`Tellable`]
//! makes lines of JSON of it.
//!
//! The price of a window is known before the window is. [`Ready::cost`] sees no [`Tally`] and no state.
//!
//! ```
//! use discreet::mechanisms::{Bound, Gaussian, Keys, Mechanism, Ready, Tally, Total};
//! use discreet::noise::NoiseSource;
//!
//! let limits = Bound::keys(3).per_key(10).checked()?;
//! let visits = Total::count(limits, Keys::discover(1e-7))?;
//! let mechanism = Gaussian::rho(0.1).ready(&visits)?;
//! println!("{} a window", mechanism.cost());
//!
//! let mut exact = mechanism.tally();
//! for person in 0..500 {
//!     exact.absorb(("/".to_owned(), visits.contribution(4, 0)));           // four visits each
//! }
//! exact.absorb(("/only-mine".to_owned(), visits.contribution(10, 0)));
//!
//! let first = mechanism.draw(exact, None, &mut NoiseSource::from_os()?);
//! for (path, visits) in first.answer.cells() {
//!     println!("{path}: {} (from {} to {:?})", visits.value(), visits.low(), visits.high());
//! }
//! // "/" is public from now on: the next window tells it, though nobody came.
//! let next = mechanism.draw(mechanism.tally(), first.state.as_deref(), &mut NoiseSource::from_os()?);
//! assert_eq!(next.answer.cells().len(), first.answer.cells().len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Totals that are told at every tick, so far or over the last ticks, are paid for once and have a page of
//! their own: [`running`].
//!
//! # What is promised
//!
//! * **For whom.** One unit more or less: a person with all that is kept of them in the window, or one record
//!   ([`ContributionBound::RECORD`]). A person in several windows pays for each; adding up is the ledger's
//!   affair. Where a promise is about spans of time, a part of a person may go, and the bound then keeps
//!   something else of the rest: a window that a span cuts has a [price of its
//!   own](crate::accounting::ReleaseCost::partial), up to four times as much.
//! * **What a contribution is.** [`Total::contribution`] and [`Mean::contribution`] clip one person's share
//!   of a key as the last step before it is added, so the sensitivity holds for every input. That a person
//!   has one share a key, and no more than `keys` of them, is the part of whoever calls them.
//! * **What nothing bounds** is found by its rank ([`ranks`]): a largest value, any [`Monotone`] function, a
//!   quantile. What is promised of the answer is by how many people it is off ([`Ranks`]), and of a largest
//!   value that it is too small.
//! * **Public keys** are drawn for in every window, in their order, whether somebody has them or not.
//! * **Discovered keys** are told once their noised number of people reaches a threshold, which is found by
//!   the exact tail of the integer noise. They are then public: the state holds them, and they are in every
//!   later window. Where the number that is told is the number of people, one draw decides and tells; its
//!   interval is that of noise which is known to have passed. Otherwise deciding and telling have a draw
//!   each, and share the cost.
//! * **No float touches a secret.** Tallies and noise are integers, and the noise is proved in integers to
//!   cost no more than is charged, where its cost has a closed form. Intervals and means are computed from
//!   noised numbers. Vectors that are whitened by floats are integers again, whose length is enforced, before
//!   they are added up. The one exception is the [stable mean](stable), whose noise has a shape that is
//!   secret itself, and which says so wherever it is told.
//! * **Nothing here panics**, on any data, state or parameter. What is refused is a parameter, by name,
//!   before there is data.
//! * **A line says what it is.** Value, interval, confidence, law and scale of the noise stand in every line
//!   beside the id and the promise. How it is written depends on noised numbers and public parameters alone.
//!
//! # What lasts
//!
//! The state of discovered keys: a version byte and the keys themselves, at most [`Keys::at_most`] of them
//! and 4,096 bytes each. They are public. A full list ends discovery, which is decided by what is public; no
//! cap on what a *person* may bring over many windows is involved, for such a cap would have to remember
//! every person, or would hold for none.

mod additive;
mod answer;
mod bound;
mod edges;
mod keys;
mod lines;
pub(crate) mod mechanism;
mod noisy;
pub mod queries;
pub mod ranks;
pub mod running;
mod selection;
mod shaped;
mod spend;
pub mod stable;
mod statistic;
#[cfg(test)]
mod tests;
mod vectors;

#[cfg(feature = "cli")]
pub(crate) use additive::COUNTING;
pub use additive::Family;
pub use additive::{Gaussian, Laplace};
pub use answer::DecimalPoint;
pub use answer::{Answer, Coordinate, Estimate, Noised, Ranks};
pub use bound::Sensitivity;
pub use bound::{Bound, ContributionBound, Range};
pub use edges::{Bucket, Edges};
pub use keys::{Key, Keys, Label};
pub use lines::{Head, Tellable};
pub use mechanism::{Drawn, Mechanism, Paid, Ready};
pub use noisy::Noisy;
pub use noisy::NoisyMeans;
pub use noisy::NoisyTotals;
pub use queries::{Answered, BoundedNoise, ReadyBundle};
pub use ranks::{
    Altogether, BinarySearch, Exponential, Grid, Inverted, Largest, Maximum, Monotone, PerPerson,
    PermuteAndFlip, PreparedQuantiles, Quantile, Quantiles, RankedValues, RemainingPeople, Searched, Tops,
    loss_moves_by_one,
};
pub use running::{RunningTotal, RunningTotals, TotalSpan};
pub use shaped::{LocalReport, ReportedMean, Reports, Whitened};
#[cfg(feature = "cli")]
pub(crate) use spend::Cut;
pub use stable::StableMean;
pub use statistic::{Cell, Cells, Summary, Tally};
pub use statistic::{Mean, Statistic, Total};
pub use vectors::{
    FollowedMeans, FoundMean, Moments, NoisyVectors, Ranges, Stable, StableMeans, StableVectors, VectorMean,
    VectorRows, Vectors,
};
