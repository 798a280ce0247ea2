//! A sink that says when it is done.

use std::io;

use super::leaving::LeavingRelease;
use crate::dataflow::engine::{Operator, Pipeline, StreamVec};
use crate::time::Time;

/// Gives releases to a sink, and marks them as delivered once it has taken them.
pub trait Deliver {
    /// Calls `sink` with each release, in order, at the worker where it is. `Ok` means that it will not be lost; an error
    /// ends the run, and the release is told again by the next process.
    fn deliver(self, sink: impl FnMut(&LeavingRelease) -> io::Result<()> + 'static);
}

/// Gives releases to somebody who says of each, later and elsewhere, what became of it.
#[cfg(feature = "cli")]
pub(crate) fn hand_over(
    releases: StreamVec<'_, Time, LeavingRelease>,
    mut take: impl FnMut(LeavingRelease) + 'static,
) {
    releases.sink(Pipeline, "HandOver", move |(input, _)| {
        input.for_each(|_, batch| batch.drain(..).for_each(&mut take));
    });
}

impl Deliver for StreamVec<'_, Time, LeavingRelease> {
    fn deliver(self, mut sink: impl FnMut(&LeavingRelease) -> io::Result<()> + 'static) {
        self.sink(Pipeline, "Deliver", move |(input, _)| {
            input.for_each(|_, batch| {
                for release in batch.drain(..) {
                    // What comes after a failure stays undelivered: a sink takes releases in order.
                    if release.is_run_over() {
                        continue;
                    }
                    match sink(&release) {
                        Ok(()) => release.delivered(),
                        Err(error) => release.refused_by_sink(&error),
                    }
                }
            });
        });
    }
}
