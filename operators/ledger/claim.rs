//! Who may write to a ledger, and what is written.

use std::fs::File;

use super::name::Name;
use super::records::number;
use super::rows::{Charge, ReleaseId, ReleaseStatus};
use super::state::State;
use super::store::{SqlValue, Store, first};
use super::trouble::{LedgerError, LedgerErrorKind};

/// A job's right to seal, until a later process takes it over.
#[derive(Debug)]
pub struct Claim {
    job: Name,
    generation: i64,
    /// Held for as long as the claim lives, so that a second process fails at once instead of at its first seal.
    _lock: Option<File>,
}

impl Claim {
    pub(super) fn new(job: Name, generation: i64, lock: Option<File>) -> Claim {
        Claim { job, generation, _lock: lock }
    }

    /// The job.
    pub(crate) fn job(&self) -> &Name {
        &self.job
    }

    /// How many processes of this job have held the claim, this one included.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// Whether nobody has taken over. Inside a transaction the answer lasts until its end.
    pub(super) fn still_stands(&self, store: &mut dyn Store) -> Result<(), LedgerError> {
        let values = [SqlValue::Text(self.job.as_str())];
        let generation =
            first(store, "SELECT generation FROM fence WHERE job = ?1", &values, |row| number(row, 0))?;
        if generation == Some(self.generation) {
            return Ok(());
        }
        let message = format!("job {}: a later process has taken over", self.job);
        Err(LedgerError::new(LedgerErrorKind::Fenced, message))
    }
}

/// What is to be written about one release.
#[derive(Clone, Debug)]
pub struct Sealing {
    /// The release.
    pub release: ReleaseId,
    /// How it is paid for. What is skipped costs nothing; nothing else may.
    pub charge: Option<Charge>,
    /// What is to become of it, where it fits the budget.
    pub fate: ReleaseStatus,
    /// The line that may leave then.
    pub line: String,
    /// What its mechanism keeps for the next release, where it keeps anything; written only if this is sealed.
    pub state: Option<State>,
}
