//! Questions that somebody asks of the records that are kept, and what they are asked of.

mod columns;
mod filter;
mod found;
mod line;
mod question;
#[cfg(test)]
mod sample;
mod schema;
mod steps;
mod value;

pub use columns::Columns;
pub use filter::Filter;
pub use found::Found;
pub use question::{Asking, Asks, Question};
pub use schema::{Field, Kind, Schema};
pub use steps::Steps;
pub use value::{Row, Value};
