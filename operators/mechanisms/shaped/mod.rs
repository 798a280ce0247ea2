//! Noise of the shape of a domain: integer noise, the same in every direction, on records that are whitened first.

mod ball;
mod report;
mod table;
mod whitened;

pub(in crate::mechanisms) use ball::within;
pub use report::{LocalReport, Reported, Reports};
pub use whitened::Whitened;
