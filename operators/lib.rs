//! Differentially private operators for timely dataflow.

pub mod accounting;
mod invalid;

pub use invalid::{Invalid, Kind};
