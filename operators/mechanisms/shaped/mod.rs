//! Noise of the shape of a data domain: integer noise, the same in every direction, on records that are
//! whitened first.

mod report;
mod whitened;

pub use report::{LocalReport, ReportedMean, Reports};
pub use whitened::Whitened;
pub(in crate::mechanisms) use whitened::within;
