//! Delivery of releases to a sink, which confirms each of them.

use std::borrow::Borrow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use super::operator::ReleaseBackend;
use crate::accounting::Interval;
use crate::dataflow::driver::{ProcessShared, RunError};
use crate::dataflow::engine::{Operator, Pipeline, StreamVec};
use crate::gate::BudgetStatus;
use crate::ledger::{Digest, Name, ReleaseStatus, Row, status_word};
use crate::mechanisms::queries::ReleasedAnswer;
use crate::time::{Time, in_utc};

/// Delivers releases to a sink, and marks them as delivered once it has taken them.
pub trait Deliver<R> {
    /// Calls `sink` with each release, in order, at the worker where it is. `Ok` means that it will not be
    /// lost; an error ends the run, and the next process delivers the release again.
    fn deliver(self, sink: impl FnMut(&R) -> io::Result<()> + 'static);
}

/// Passes releases on to a receiver that reports the outcome of each, later and elsewhere.
#[cfg(feature = "cli")]
pub(crate) fn hand_over<R: Into<LeavingRelease> + 'static>(
    releases: StreamVec<'_, Time, R>,
    mut take: impl FnMut(LeavingRelease) + 'static,
) {
    releases.sink(Pipeline, "HandOver", move |(input, _)| {
        input.for_each(|_, batch| batch.drain(..).map(Into::into).for_each(&mut take));
    });
}

/// Passes each item of a public stream to a function.
#[cfg(feature = "cli")]
pub(crate) fn each_of<R: 'static>(items: StreamVec<'_, Time, R>, mut take: impl FnMut(R) + 'static) {
    items.sink(Pipeline, "EachOf", move |(input, _)| {
        input.for_each(|_, batch| batch.drain(..).for_each(&mut take));
    });
}

impl<R: Borrow<LeavingRelease> + 'static> Deliver<R> for StreamVec<'_, Time, R> {
    fn deliver(self, mut sink: impl FnMut(&R) -> io::Result<()> + 'static) {
        self.sink(Pipeline, "Deliver", move |(input, _)| {
            input.for_each(|_, batch| {
                for release in batch.drain(..) {
                    let leaving: &LeavingRelease = release.borrow();
                    // Releases after a failure stay undelivered: a sink takes releases in order.
                    if leaving.is_run_over() {
                        continue;
                    }
                    match sink(&release) {
                        Ok(()) => leaving.delivered(),
                        Err(error) => leaving.refused_by_sink(&error),
                    }
                }
            });
        });
    }
}

// A release that has left the ledger and has not reached its sink.

/// A row of the ledger on its way to a sink: the only form in which anything is released.
#[derive(Clone)]
pub struct LeavingRelease {
    row: Arc<Row>,
    budget_status: Arc<BudgetStatus>,
    /// The time that the gate worked for it, if the release was requested here.
    took: Option<Duration>,
    /// True if the row has left already in this run.
    is_repeated: bool,
    ticket: Arc<Ticket>,
}

/// The parts that a release needs to report its outcome.
struct Ticket {
    handle: SharedBackend,
    shared: Arc<ProcessShared>,
    /// A reference that counts as a release in delivery, held until the release is dropped.
    _leaving: Arc<()>,
}

/// A backend to which releases report their outcome, from any thread.
pub(super) type SharedBackend = Arc<Mutex<Box<dyn ReleaseBackend>>>;

/// Returns true if a row is that of a question that its bundle had no answer left for.
pub(super) fn is_unanswered(row: &Row) -> bool {
    let is_of_question = row.status() == ReleaseStatus::Sealed && row.release().part.is_some();
    let lines = row.lines();
    let answer = lines.lines().next().filter(|_| is_of_question).and_then(ReleasedAnswer::read);
    answer.is_some_and(|answer| answer.estimate.is_none())
}

impl LeavingRelease {
    /// Creates the release of a row, with the status of its budget and the time that the gate took.
    pub(super) fn new(
        (row, budget_status, took): (Row, BudgetStatus, Option<Duration>),
        handle: &SharedBackend,
        shared: &Arc<ProcessShared>,
    ) -> LeavingRelease {
        let ticket =
            Ticket { handle: Arc::clone(handle), shared: Arc::clone(shared), _leaving: shared.leaving() };
        LeavingRelease {
            row: Arc::new(row),
            budget_status: Arc::new(budget_status),
            took,
            is_repeated: false,
            ticket: Arc::new(ticket),
        }
    }

    /// Marks it as a row that has left already in this run: an answer that is asked for again.
    pub(super) fn repeated(self) -> LeavingRelease {
        LeavingRelease { is_repeated: true, ..self }
    }

    /// Returns the id of the row in the ledger, a hash of the release's name.
    pub fn id(&self) -> Digest {
        self.row.release().id()
    }

    /// Returns the name of the statistic.
    pub fn name(&self) -> &Name {
        &self.row.release().name
    }

    /// Returns the window of the release.
    pub fn window(&self) -> Interval {
        self.row.release().window
    }

    /// Returns true if it is the row of a question that its bundle had no answer left for.
    #[cfg(feature = "cli")]
    pub(crate) fn is_unanswered(&self) -> bool {
        is_unanswered(&self.row)
    }

    /// Returns the outcome of the release.
    pub fn status(&self) -> ReleaseStatus {
        self.row.status()
    }

    /// Returns the released text, byte for byte.
    pub fn line(&self) -> &str {
        self.row.line()
    }

    /// Returns the line that ends the lines of a released window, with their number and its sequence number
    /// in the ledger; `None` if the window was not released.
    pub fn closing(&self) -> Option<String> {
        self.row.closing()
    }

    /// Returns the row, as it was read back.
    pub fn row(&self) -> &Row {
        &self.row
    }

    /// Returns the status of its budget: the spent amount, the rest, and the time until which it lasts.
    pub fn budget_status(&self) -> &BudgetStatus {
        &self.budget_status
    }

    /// Returns the position of this row among all rows that the gate of this process gave out, from 0 on.
    #[cfg(feature = "cli")]
    pub(crate) fn order(&self) -> u64 {
        self.budget_status.order
    }

    /// Returns true if the row has left already in this run, as an answer does whose question is asked again.
    pub fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    /// Returns the time that the gate worked for it, without a wait behind other windows, if this process
    /// requested the release. For the person who runs the job: it is no part of the release.
    pub fn took(&self) -> Option<Duration> {
        self.took
    }

    /// Confirms that the release has reached its sink for good. An unconfirmed release is delivered again by
    /// the next process.
    pub fn delivered(&self) {
        lock(&self.ticket.handle).delivered(&self.row);
        to_public!(
            DEBUG,
            "window left",
            release = self.name().as_str(),
            window_end = %in_utc(self.window().end()),
            status = status_word(self.status()),
            "a window has left"
        );
    }

    /// Reports that the sink did not take the release, which ends the run.
    pub(crate) fn refused_by_sink(&self, error: &io::Error) {
        self.ends_run(RunError::sink(error));
    }

    pub(super) fn ends_run(&self, failure: RunError) {
        self.ticket.shared.fail(failure);
    }

    pub(crate) fn is_run_over(&self) -> bool {
        self.ticket.shared.has_failed()
    }
}

/// Formats all lines of the window.
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

/// Locks a backend. Every call leaves it consistent, so a panic elsewhere does no harm.
pub(super) fn lock<'a>(handle: &'a SharedBackend) -> MutexGuard<'a, Box<dyn ReleaseBackend>> {
    handle.lock().unwrap_or_else(PoisonError::into_inner)
}
