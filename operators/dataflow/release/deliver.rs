//! Delivery of releases to a sink, with acknowledgement.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use super::operator::ReleaseBackend;
use crate::accounting::Interval;
use crate::dataflow::driver::{ProcessShared, RunError};
use crate::dataflow::engine::{Operator, Pipeline, StreamVec};
use crate::gate::BudgetStatus;
use crate::ledger::{Digest, Name, ReleaseStatus, Row};
use crate::time::Time;

/// Gives releases to a sink, and marks them as delivered once it has taken them.
pub trait Deliver {
    /// Calls `sink` with each release, in order, at the worker where it is. `Ok` means that it will not be
    /// lost; an error ends the run, and the release is released again by the next process.
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

// A release that has left the ledger and has not reached the end of its way.

/// A row of the ledger on its way to a sink: the one form in which anything leaves.
#[derive(Clone)]
pub struct LeavingRelease {
    row: Arc<Row>,
    standing: Arc<BudgetStatus>,
    /// The time that the gate took, if the release was requested here.
    took: Option<Duration>,
    ticket: Arc<Ticket>,
}

/// The parts that a release needs to report its outcome.
struct Ticket {
    handle: SharedDesk,
    shared: Arc<ProcessShared>,
    /// Held until the release is dropped.
    _leaving: Arc<()>,
}

/// The shared state to which releases report their outcome, from any thread.
pub(super) type SharedDesk = Arc<Mutex<Box<dyn ReleaseBackend>>>;

impl LeavingRelease {
    /// A row that leaves now, with how its budget stands and how long it took.
    pub(super) fn new(
        (row, standing, took): (Row, BudgetStatus, Option<Duration>),
        handle: &SharedDesk,
        shared: &Arc<ProcessShared>,
    ) -> LeavingRelease {
        let ticket =
            Ticket { handle: Arc::clone(handle), shared: Arc::clone(shared), _leaving: shared.leaving() };
        LeavingRelease { row: Arc::new(row), standing: Arc::new(standing), took, ticket: Arc::new(ticket) }
    }

    /// The name under which it stands in the ledger.
    pub fn id(&self) -> Digest {
        self.row.release().id()
    }

    /// Returns the name of the statistic.
    pub fn name(&self) -> &Name {
        &self.row.release().name
    }

    /// The window that it is about.
    pub fn window(&self) -> Interval {
        self.row.release().window
    }

    /// Returns the outcome.
    pub fn fate(&self) -> ReleaseStatus {
        self.row.fate()
    }

    /// The text that leaves, byte by byte.
    pub fn line(&self) -> &str {
        self.row.line()
    }

    /// The line that ends the lines of a released window, with how many they are and its place in the ledger;
    /// `None` where the window was not released.
    pub fn closing(&self) -> Option<String> {
        self.row.closing()
    }

    /// The row, as it was read back.
    pub fn row(&self) -> &Row {
        &self.row
    }

    /// Returns the status of its budget: the spent amount, the rest, and the time until which it lasts.
    pub fn standing(&self) -> &BudgetStatus {
        &self.standing
    }

    /// The place of this row among all rows that the gate of this process gave out, from 0 on.
    #[cfg(feature = "cli")]
    pub(crate) fn order(&self) -> u64 {
        self.standing.order
    }

    /// Returns the time that the gate took, if this process requested the release. For the operator of the
    /// job: it is no part of what is released.
    pub fn took(&self) -> Option<Duration> {
        self.took
    }

    /// Says that it has reached its sink for good. A release of which nobody says so is released again by the
    /// next process.
    pub fn delivered(&self) {
        lock(&self.ticket.handle).delivered(&self.row);
    }

    /// Says that its sink did not take it, which ends the run.
    pub(crate) fn refused_by_sink(&self, error: &io::Error) {
        self.ticket.shared.fail(RunError::sink(error));
    }

    pub(crate) fn is_run_over(&self) -> bool {
        self.ticket.shared.has_failed()
    }
}

/// All lines of its window.
impl fmt::Display for LeavingRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.row.lines())
    }
}

impl fmt::Debug for LeavingRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LeavingRelease").field(&self.row).finish()
    }
}

/// Every call leaves the state whole.
pub(super) fn lock<'a>(handle: &'a SharedDesk) -> MutexGuard<'a, Box<dyn ReleaseBackend>> {
    handle.lock().unwrap_or_else(PoisonError::into_inner)
}
