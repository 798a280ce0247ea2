//! What people look at: pictures and pages of what was released. Nothing is decided here, and nothing is read that has not
//! left already.

pub(crate) mod report;
