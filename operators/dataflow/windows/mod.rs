//! Which windows exist: spans of time, decided by configuration alone.

mod calendar;
mod clock;
mod open;
mod schedule;
mod ticks;

pub use calendar::Calendar;
pub use clock::{Clock, SystemClock};
pub(super) use open::Windows;
pub use schedule::Schedule;
