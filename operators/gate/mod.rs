//! The write path: a core that decides without I/O, and what carries its decisions out.

mod core;
#[cfg(test)]
mod model;

pub use core::{Core, Delivery, Doubt, Effect, Event, Outcome, Record, Uncertainty};
