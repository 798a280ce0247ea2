//! One window's exact integers in, one noised answer out. Pure: no streams, no files, no clocks.
//!
//! # From a bound to an answer
//!
//! ```text
//! Bound ──checked──▶ ContributionBound ─┐
//! Keys, Range ──────────────────────────┴▶ Total, Mean ──prepare──▶ NoisyTotals, NoisyMeans ──draw──▶ Answer
//!                                          (Statistic)    ▲      (Prepared: cost, tally, draw)  ▲
//!                                    Gaussian, Laplace ───┘          Cells, state, NoiseSource ─┘
//!
//! Keys, Ranges, a domain ─────▶ VectorMean ──prepare──▶ NoisyVectors, FollowedMeans, StableMeans ──draw──▶ Answer
//!                               FoundMean, StableVectors   ▲
//!                                     Gaussian, Stable ────┘
//!
//! Keys, Grid ─────────────────▶ Largest ────prepare──▶ Searched, Inverted ─draw──▶ Answer
//!                               Quantiles          ▲ Ranked
//!     BinarySearch, Exponential, PermuteAndFlip ───┘
//! ```
//!
//! A [`Statistic`] is a function of a window. It computes its own [`Sensitivity`] from the bound; there is no
//! way to state one. A [`Mechanism`] has a cost for its answer. Together they make a prepared mechanism
//! ([`Prepared`]): the scale of the noise, the threshold for new keys and the cost are fixed, and every
//! parameter that can be refused has been. Only a draw is left, and a draw cannot fail. A failure that
//! depends on the drawn value would be an answer of its own, and a second try would choose among answers.
//!
//! All parameters of an answer are public, and have one form: [`Prepared::parameters`] is a hash of them, by
//! which the releases of other parameters have other names. The format of an answer is fixed too:
//! [`ReleaseLines`] makes lines of JSON of it.
//!
//! The cost of a window is known before its data. [`Prepared::cost`] sees no [`Tally`] and no state.
//!
//! ```
//! use discreet::mechanisms::{Bound, Gaussian, Keys, Mechanism, Prepared, Tally, Total};
//! use discreet::noise::NoiseSource;
//!
//! let limits = Bound::keys(3).per_key(10).checked()?;
//! let visits = Total::count(limits, Keys::discover(1e-7))?;
//! let mechanism = Gaussian::rho(0.1).prepare(&visits)?;
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
//! // "/" is public from now on: the next window releases it, though nobody came.
//! let next = mechanism.draw(mechanism.tally(), first.state.as_deref(), &mut NoiseSource::from_os()?);
//! assert_eq!(next.answer.cells().len(), first.answer.cells().len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Running totals, so far or over the last ticks, are paid for once and have a page of their own:
//! [`running`].
//!
//! # Guarantee
//!
//! * **Adjacency.** One unit more or less: a person with all of their kept records in the window, or one
//!   record ([`ContributionBound::RECORD`]). A person in several windows pays for each; the ledger adds up
//!   the costs. If a promise is about spans of time, a part of a person may be removed, and the bound may
//!   then keep other records of the rest: a window that a span cuts has a [price of its
//!   own](crate::accounting::ReleaseCost::partial), up to four times as much.
//! * **Contribution.** [`Total::contribution`] and [`Mean::contribution`] clamp one person's share of a key
//!   as the last step before it is added, so the sensitivity holds for every input. The caller ensures that a
//!   person has one share a key, and no more than `keys` of them.
//! * **Unbounded values** are found by their rank ([`ranks`]): a largest value, any [`Monotone`] function, a
//!   quantile. The guarantee for the answer is its rank error in people ([`Ranks`]), and for a largest value
//!   that it is too small.
//! * **Public keys** have a draw in every window, in their order, whether somebody has them or not.
//! * **Discovered keys** (partition selection) are released once their noised number of people reaches a
//!   threshold, which is found by the exact tail of the integer noise. They are then public: the state holds
//!   them, and they are in every later window. If the released number is the number of people, one draw
//!   serves for both; its interval is that of noise which is known to have passed. Otherwise the threshold
//!   and the number have a draw each, and share the cost.
//! * **Parents** (roll-up) are the sums of all keys below them, with noise of their own and half of the price. Those of discovered keys are
//!   a function of the keys that are public, and are in every window from the first of these on.
//! * **No float touches a secret.** Tallies and noise are integers, and the cost of the noise is proved in
//!   integers to be no more than the charge, if it has a closed form. Intervals and means are computed from
//!   noised numbers. Vectors that are whitened by floats are integers again, whose length is enforced, before
//!   they are added up. The one exception is the [stable mean](stable), whose noise has a shape that is
//!   secret itself, and whose lines say so.
//! * **Nothing here panics**, on any data, state or parameter. Only a parameter is refused, by name, before
//!   there is data.
//! * **A line is complete.** Value, interval, confidence, distribution and scale of the noise stand in every
//!   line beside the id and the promise. Its text depends on noised numbers and public parameters alone.
//!
//! # State
//!
//! The state of discovered keys: a version byte and the keys themselves, at most [`Keys::at_most`] of them
//! and 4,096 bytes each. They are public. A full list ends discovery, which public values alone decide; no
//! bound on the contributions of a *person* over many windows is involved, for such a bound would have to
//! remember every person, or would hold for none.

mod additive;
mod alerts;
mod answer;
mod bound;
mod edges;
mod ends;
pub(crate) mod exact;
mod keys;
mod lines;
mod marginals;
mod means;
pub(crate) mod mechanism;
mod monotone_count;
mod noisy;
mod pair_sums;
pub mod queries;
pub mod ranks;
mod ratio;
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the command alone reads the rest of a line"))]
pub(crate) mod release_line;
mod released;
mod rollup;
pub mod running;
mod selection;
mod shaped;
mod spend;
pub mod stable;
mod statistic;
#[cfg(test)]
mod tests;
mod top;
mod variance;
mod vectors;
mod weight;

pub use additive::Family;
#[cfg(feature = "cli")]
pub(crate) use additive::{COUNTING, is_near};
pub use additive::{Gaussian, Laplace};
pub use alerts::{AboveThreshold, Crossing, PreparedAlert, ThresholdAlert};
pub use answer::DecimalPoint;
pub use answer::{Answer, Coordinate, Covariance, Estimate, Noised, Ranks};
pub use bound::Sensitivity;
pub use bound::{Bound, ContributionBound, Range};
pub use edges::{Bucket, Edges};
#[cfg(feature = "cli")]
pub(crate) use ends::BOTH_ENDS;
pub use exact::{ExactCell, ExactValue};
pub use keys::{Key, Keys, Label};
pub use lines::{Head, ReleaseLines};
pub use marginals::{Attribute, MarginalCell, MarginalCounts, MarginalTables, NoisyMarginals};
pub use means::NoisyMeans;
pub use mechanism::{Drawn, Mechanism, Paid, Prepared};
pub use noisy::Noisy;
pub use noisy::NoisyTotals;
#[cfg(feature = "cli")]
pub(crate) use noisy::{FoundApart, KeyFinding};
pub use pair_sums::{PairStatistic, PairSums};
pub use queries::{Answered, BoundedNoise, ReadyBundle};
pub use ranks::{
    Altogether, BinarySearch, Exponential, Grid, Inverted, Largest, Maximum, Minimum, Monotone, PerPerson,
    PermuteAndFlip, PreparedQuantiles, Quantile, QuantileCurve, Quantiles, RankedValues, RemainingPeople,
    Searched, Tops, TypicalRankError, loss_moves_by_one,
};
#[cfg(feature = "cli")]
pub(crate) use ratio::SUMS as RATIO_SUMS;
pub use ratio::{NoisyRatios, Ratio};
pub(crate) use released::read_cells;
pub use released::{ReleasedCell, ReleasedNoise, ReleasedValue};
pub use running::{RunningNumbers, RunningSums, RunningTotal, RunningTotals, TotalSpan};
pub use shaped::{LocalReport, ReportedMean, Reports, Whitened};
#[cfg(feature = "cli")]
pub(crate) use spend::Cut;
pub use stable::StableMean;
pub use statistic::{Cell, Cells, Summary, Tally};
pub use statistic::{Mean, Statistic, Total};
pub use top::{PreparedTop, TopKeys};
pub use variance::{NoisyVariances, Variance};
pub use vectors::{
    FollowedMeans, FoundMean, Moments, NoisyVectors, Ranges, Stable, StableMeans, StableVectors, VectorMean,
    VectorRows, Vectors,
};
pub use weight::{Norm, Weight};
