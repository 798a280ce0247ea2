//! Pages and pictures of released windows, for people. This module makes no decisions, and reads nothing but
//! lines that have left and the status of their budget.

mod report;

pub use report::{Heading, ReleaseNotes, Report};
