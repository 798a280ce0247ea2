//! Noise of the shape of a domain: integer noise, the same in every direction, on records that are whitened first.

mod report;
mod table;
mod whitened;

pub use report::{Report, Reported, Reports};
pub use whitened::Whitened;
