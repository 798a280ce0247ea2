//! Which windows there are, and how long each stays open.

use std::sync::Arc;

use super::clock::Clock;
use super::schedule::Schedule;
use crate::time::Span;

/// The windows of a statistic.
#[derive(Clone)]
pub(in crate::dataflow) struct Windows {
    /// None where it was refused; then the run is.
    pub(in crate::dataflow) schedule: Option<Schedule>,
    pub(in crate::dataflow) late: Option<Span>,
    pub(in crate::dataflow) skipping: Option<(Arc<dyn Clock>, Span)>,
    /// Whether nothing is released before the input has ended.
    pub(in crate::dataflow) at_end: bool,
}
