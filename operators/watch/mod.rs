//! What people look at: pictures and pages of what was released. Nothing is decided here, and nothing is read that has not
//! left already.

mod report;

pub use report::{Heading, Report};
