//! Differentially private operators for timely dataflow.

pub mod accounting;
mod invalid;
pub mod noise;

pub use invalid::{Invalid, Kind};
