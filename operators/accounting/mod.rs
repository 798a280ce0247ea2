//! What a release costs, and how costs add up. Numbers only: no streams, no files, no clocks.

mod budget;
pub mod convert;
mod decimal;
mod discrete_gaussian;
mod gaussian;
mod laplace;
mod neighbours;
mod number;
pub mod renyi;
mod units;

pub use budget::Budget;
pub use decimal::Decimal;
pub use discrete_gaussian::DiscreteGaussian;
pub use gaussian::Gaussian;
pub use laplace::DiscreteLaplace;
pub use neighbours::{Neighbours, Relation, Unit};
pub use units::Units;
