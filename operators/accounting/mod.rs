//! What a release costs, and how costs add up. Numbers only: no streams, no files, no clocks.

mod gaussian;
mod neighbours;
mod number;

pub use gaussian::Gaussian;
pub use neighbours::{Neighbours, Relation, Unit};
