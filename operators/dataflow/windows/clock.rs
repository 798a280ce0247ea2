//! What time it is for everybody: public, and no part of the data.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::time::{LIMIT, Time};

/// A public clock. It may say that a window is too late to be released; it never says that one is complete.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Time;
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => since.as_micros().try_into().unwrap_or(LIMIT),
            Err(before) => before.duration().as_micros().try_into().map_or(-LIMIT, |micros: Time| -micros),
        }
    }
}
