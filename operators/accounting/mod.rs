//! The cost of releases and their composition. Numbers only: no streams, no files, no clocks.
//!
//! Every cost is a statement about two data sets that differ by one protected unit ([`Adjacency`]), in one
//! currency ([`PrivacyCost`]); together they are a [`ReleaseCost`]. Costs about different neighbours are
//! never added. All amounts are whole multiples of 2^-64 ([`BudgetUnits`]), rounded up when they are charged
//! and down when they are a limit, and nothing that is reported here (an epsilon, a delta, a rho) is ever
//! below the truth.
//!
//! # Which currency for what
//!
//! | you have | use | because |
//! |---|---|---|
//! | a ledger: releases decided one after another, for months | zCDP: rho, with a delta and an omega beside it | sums are exact integers, and the next release may depend on every answer before it |
//! | Laplace noise alone, and no delta wanted | pure epsilon | one number, no conversion |
//! | a mechanism known only by a pair | (epsilon, delta), which a zCDP ledger takes in | what others prove |
//! | Gaussian noise above all, within an epsilon and a delta | [`PrivacyCost::Gaussian`]: [`gdp`] | the sum is exact: 7 to 8% less noise than by zCDP at (1, 1e-6) |
//! | a list of mechanisms, all fixed before the first answer | [`pld::Bundle`] | the exact cost of the list: 5 to 10% less epsilon |
//! | many adaptive answers, none of which may err by more than a bound | [`bounded`] | one certified (epsilon, delta) for all of them, paid at once |
//! | totals of one stream, released at every tick | zCDP, paid once: [`running`] | noise that is correlated over the ticks |
//! | reports that are randomised by their senders | [`Shuffle`] | hiding in a crowd is not a sum |
//!
//! # What may be decided on the way
//!
//! A [`PrivacyFilter`] refuses a charge before the release that asks for it; an [`Account`] is a filter for
//! each span of time; both hold for every strategy of choosing the next release by the answers so far. That
//! is true of sums in one of the currencies above. It is false of privacy-loss distributions: stopping "when
//! the composed epsilon would pass the limit" lets the answers choose where on the curve to stop, and the
//! promise fails. So the exact accountant prices a bundle as a whole, once, and the ledger is charged its
//! price. Without a limit an [`Odometer`] says what has been lost so far; the running sum of a filter does
//! not.
//!
//! # How the noise is priced
//!
//! The library adds integers, so costs are those of integers: [`DiscreteLaplaceCost`] and
//! [`DiscreteGaussianCost`] know their exact curve, their calibration and their error; a
//! [`CalibratedBoundedNoise`] is certified for the very table of integers that it is drawn from.
//! [`GaussianCost`] is the continuous yardstick. [`renyi`] and [`convert`] hold the formulas that lead from
//! one currency to another, each with its theorem.

mod accounts;
mod amount;
pub mod bounded;
mod budget;
pub mod convert;
mod cost;
mod discrete_gaussian;
mod filter;
pub(crate) mod gaussian;
pub mod gdp;
mod interval;
mod laplace;
mod mechanism;
mod number;
pub mod pld;
pub mod renyi;
mod rounded_gaussian;
pub mod running;
pub mod shape;
mod shuffle;
#[cfg(feature = "cli")]
mod stated;
pub mod transfer;
mod units;

pub use accounts::{Account, Promise, reservation};
pub(crate) use accounts::{EntryKey, Fetched, Prices};
pub use amount::PrivacyCost;
pub use bounded::CalibratedBoundedNoise;
pub use budget::{Budget, DeltaForKeys, limit};
pub use cost::ReleaseCost;
pub use cost::{Adjacency, PrivacyUnit, Relation};
pub use discrete_gaussian::DiscreteGaussianCost;
pub use filter::{BudgetExceeded, PrivacyFilter};
pub use filter::{Odometer, OdometerReading};
pub use gaussian::GaussianCost;
pub use interval::{Interval, windows_touched};
pub use laplace::DiscreteLaplaceCost;
pub use mechanism::AccountedMechanism;
pub use mechanism::Listing;
pub use renyi::{ORDERS, Omega};
pub use rounded_gaussian::RoundedGaussianCost;
pub use shuffle::{Randomizer, Shuffle};
pub use units::BudgetUnits;

#[cfg(test)]
mod any_input;
#[cfg(test)]
mod dice;
#[cfg(test)]
mod resonance;
