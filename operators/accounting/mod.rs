//! What a release costs, and how costs add up. Numbers only: no streams, no files, no clocks.

mod accounts;
mod amount;
mod binomial;
mod budget;
pub mod convert;
mod cost;
mod decimal;
mod discrete_gaussian;
mod filter;
mod gaussian;
mod interval;
mod laplace;
mod neighbours;
mod number;
mod odometer;
pub mod renyi;
mod shuffle;
pub mod transfer;
mod units;

pub use accounts::{Account, Promise, reservation};
pub use amount::{Amount, ORDERS, Omega};
pub use budget::Budget;
pub use cost::Cost;
pub use decimal::Decimal;
pub use discrete_gaussian::DiscreteGaussian;
pub use filter::{Filter, Refused};
pub use gaussian::Gaussian;
pub use interval::{Interval, windows_touched};
pub use laplace::DiscreteLaplace;
pub use neighbours::{Neighbours, Relation, Unit};
pub use odometer::{Odometer, Reading};
pub use shuffle::{Randomizer, Shuffle};
pub use units::Units;
