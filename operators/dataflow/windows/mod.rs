//! Windows of event time, which configuration alone decides, and the public time that closes them.

mod calendar;
mod clock;
mod schedule;

pub use calendar::{Calendar, Weekday};
#[cfg(test)]
pub(crate) use clock::ClockReading;
pub use clock::{BelievedTime, Clock, ClockEvent, GuardedClock, SystemClock};
pub use schedule::Schedule;
pub(super) use schedule::Windows;
