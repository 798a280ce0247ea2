//! Where the operator that releases meets the gate: one desk a statistic, at the worker that holds the gate.

use crate::gate::{self, Doubt, Request, Told};
use crate::ledger::{LedgerError, ReleaseId, Row};

/// Called from the gate's thread when there is something to hear.
pub(crate) type Wake = Box<dyn Fn() + Send>;

/// One statistic's place at the gate. Nothing here waits.
pub(crate) trait Desk: Send {
    fn submit(&self, request: Request) -> Result<(), LedgerError>;
    /// What has a row is told; of the rest, that it is absent.
    fn seek(&self, release: ReleaseId);
    /// Its time has passed: what has no row yet is skipped.
    fn miss(&self, release: ReleaseId);
    fn hear(&self) -> Option<Told>;
    fn delivered(&self, row: &Row);
    /// Why the gate stopped, once it said so.
    fn why(&self, doubt: Doubt) -> LedgerError {
        doubt.into()
    }
}

impl Desk for gate::Desk {
    fn submit(&self, request: Request) -> Result<(), LedgerError> {
        gate::Desk::submit(self, request)
    }

    fn seek(&self, release: ReleaseId) {
        gate::Desk::seek(self, release);
    }

    fn miss(&self, release: ReleaseId) {
        gate::Desk::miss(self, release);
    }

    fn hear(&self) -> Option<Told> {
        gate::Desk::hear(self)
    }

    fn delivered(&self, row: &Row) {
        gate::Desk::delivered(self, row);
    }

    fn why(&self, doubt: Doubt) -> LedgerError {
        gate::Desk::why(self, doubt)
    }
}
