//! Windows of event time, which configuration alone decides.

mod calendar;
mod schedule;

pub use calendar::Calendar;
pub use schedule::Schedule;
pub(super) use schedule::Windows;
pub use schedule::{Clock, SystemClock};
