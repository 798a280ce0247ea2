//! Where the operator that releases meets the gate: one desk a statistic, at the worker that holds the gate.

use crate::gate::{self, Doubt, Request, Told};
use crate::ledger::{Release, Row, Trouble};

/// Called from the gate's thread when there is something to hear.
pub(crate) type Wake = Box<dyn Fn() + Send>;

/// One statistic's place at the gate. Nothing here waits.
pub(crate) trait Desk: Send {
    fn submit(&self, request: Request) -> Result<(), Trouble>;
    /// What has a row is told; of the rest, that it is absent.
    fn seek(&self, release: Release);
    /// Its time has passed: what has no row yet is skipped.
    fn miss(&self, release: Release);
    fn hear(&self) -> Option<Told>;
    fn delivered(&self, row: &Row);
    /// Why the gate stopped, once it said so.
    fn why(&self, doubt: Doubt) -> Trouble {
        doubt.into()
    }
}

impl Desk for gate::Desk {
    fn submit(&self, request: Request) -> Result<(), Trouble> {
        gate::Desk::submit(self, request)
    }

    fn seek(&self, release: Release) {
        gate::Desk::seek(self, release);
    }

    fn miss(&self, release: Release) {
        gate::Desk::miss(self, release);
    }

    fn hear(&self) -> Option<Told> {
        gate::Desk::hear(self)
    }

    fn delivered(&self, row: &Row) {
        gate::Desk::delivered(self, row);
    }

    fn why(&self, doubt: Doubt) -> Trouble {
        gate::Desk::why(self, doubt)
    }
}
