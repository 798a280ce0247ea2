//! Questions that somebody asks of the records that are kept, and what they are asked of.

mod answered;
mod bundle;
mod certain;
mod columns;
mod filter;
mod found;
mod question;
#[cfg(test)]
mod sample;
mod schema;
mod steps;
mod used;
mod value;

pub use answered::Answered;
pub use bundle::{BoundedNoise, ReadyBundle};
pub use columns::Columns;
pub use filter::Filter;
pub use found::Found;
pub use question::{Asking, Asks, Question};
pub use schema::{Field, Kind, Schema};
pub use steps::Steps;
pub use value::{Row, Value};
