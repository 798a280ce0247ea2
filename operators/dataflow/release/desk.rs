//! Where the operator that releases meets the gate: one desk a statistic, at the worker that holds the gate.

use crate::gate::{self, GateEvent, HaltReason, ReleaseRequest};
use crate::ledger::{LedgerError, ReleaseId, Row};

/// Called from the gate's thread when there is something to hear.
pub(crate) type Wake = Box<dyn Fn() + Send>;

/// One statistic's place at the gate. Nothing here waits.
pub(crate) trait ReleaseBackend: Send {
    fn submit(&self, request: ReleaseRequest) -> Result<(), LedgerError>;
    /// What has a row is told; of the rest, that it is absent.
    fn seek(&self, release: ReleaseId);
    /// Its time has passed: what has no row yet is skipped.
    fn miss(&self, release: ReleaseId);
    fn hear(&self) -> Option<GateEvent>;
    fn delivered(&self, row: &Row);
    /// Why the gate stopped, once it said so.
    fn why(&self, doubt: HaltReason) -> LedgerError {
        doubt.into()
    }
}

impl ReleaseBackend for gate::GateHandle {
    fn submit(&self, request: ReleaseRequest) -> Result<(), LedgerError> {
        gate::GateHandle::submit(self, request)
    }

    fn seek(&self, release: ReleaseId) {
        gate::GateHandle::seek(self, release);
    }

    fn miss(&self, release: ReleaseId) {
        gate::GateHandle::miss(self, release);
    }

    fn hear(&self) -> Option<GateEvent> {
        gate::GateHandle::hear(self)
    }

    fn delivered(&self, row: &Row) {
        gate::GateHandle::delivered(self, row);
    }

    fn why(&self, doubt: HaltReason) -> LedgerError {
        gate::GateHandle::why(self, doubt)
    }
}
