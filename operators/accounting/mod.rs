//! What a release costs, and how costs add up. Numbers only: no streams, no files, no clocks.

mod neighbours;
pub mod pld;

pub use neighbours::{Neighbours, Relation, Unit};
