//! What of an open ledger is proven: verification on from a checkpoint or from the first row, and the checkpoints
//! that a process leaves.

use std::path::Path;

use super::book::Ledger;
use super::charge::payer;
use super::checkpoint;
use super::error::{LedgerError, LedgerErrorKind};
use super::records::head;
use super::rows::Charge;
use super::seal::Sealing;
use super::store::Transaction;
use super::verify::{verify, verify_beside};
use super::{failpoint, place};

impl Ledger {
    /// Verifies the rows since the stored checkpoint; returns false if there is none to begin from.
    pub(super) fn extends_checkpoint(&mut self, small: i64) -> Result<bool, LedgerError> {
        let Some(key) = &self.key else { return Ok(false) };
        let mut snapshot = Transaction::snapshot(&mut *self.store)?;
        let store = snapshot.store();
        if head(store)?.0 <= small {
            return Ok(false);
        }
        let Some(mut chain) = checkpoint::find(store, key, &self.name)? else { return Ok(false) };
        let stored = chain.sequence;
        chain.extend(store)?;
        chain.prune();
        (self.proof, self.stored) = (chain, Some(stored));
        Ok(true)
    }

    /// Returns true if this process has verified the ledger from its first row on, and false if it began at a
    /// checkpoint.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Records that another connection has verified the ledger from its first row on.
    pub(crate) fn was_verified(&mut self) {
        self.whole = true;
    }

    /// Stores a checkpoint of all that is verified, after verifying the rows since the last one. Does nothing
    /// without the key ([`bind`](Ledger::bind)), and nothing where no row is new.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Doubt`] if the ledger does not add up any more; other kinds if the checkpoint was
    /// not stored.
    pub fn checkpoint(&mut self) -> Result<(), LedgerError> {
        if self.key.is_none() {
            return Ok(());
        }
        let mut chain = self.proof.clone();
        chain.extend(Transaction::snapshot(&mut *self.store)?.store())?;
        chain.prune();
        self.proof = chain;
        let Some(key) = self.key.as_ref().filter(|_| self.stored != Some(self.proof.sequence)) else {
            return Ok(());
        };
        failpoint::reached("before-checkpoint", LedgerErrorKind::Busy)?;
        checkpoint::store(&mut *self.store, key, &self.proof)?;
        failpoint::reached("after-checkpoint", LedgerErrorKind::Busy)?;
        self.stored = Some(self.proof.sequence);
        to_operator!(DEBUG, "checkpoint", row = self.proof.sequence, "a checkpoint was stored");
        Ok(())
    }

    /// Stores a [checkpoint](Ledger::checkpoint) once there are enough rows since the last one that it costs
    /// next to nothing beside them. An error other than doubt is no reason to stop: the next one may succeed.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Doubt`] if the ledger does not add up any more.
    pub(crate) fn checkpoint_after(&mut self, sequence: i64) -> Result<(), LedgerError> {
        let since = sequence - self.proof.sequence;
        if since < checkpoint::INTERVAL || since < 4 * self.proof.due.entries() as i64 {
            return Ok(());
        }
        self.checkpoint_at_end()
    }

    /// Stores a [checkpoint](Ledger::checkpoint) at the end of a process, or at its beginning.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Doubt`] if the ledger does not add up any more.
    pub(crate) fn checkpoint_at_end(&mut self) -> Result<(), LedgerError> {
        match self.checkpoint() {
            Err(trouble) if trouble.kind() != LedgerErrorKind::Doubt => Ok(()),
            stored => stored,
        }
    }

    /// Verifies the ledger at a place from its first row on, over a connection of its own, beside the process
    /// that writes to it. Returns false if `go_on` does, or if too much was written meanwhile to tell.
    ///
    /// # Errors
    ///
    /// As [`verify`](Ledger::verify).
    pub(crate) fn verify_beside(place: &Path, go_on: &mut dyn FnMut() -> bool) -> Result<bool, LedgerError> {
        let verified = verify_beside(&mut *place::open(place)?, go_on);
        verified.map_err(|trouble| unsound(trouble, place))
    }

    /// Recomputes the chain and every account from the rows, and compares them with the stored ones.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Doubt`], with a message that names the difference.
    pub fn verify(&mut self) -> Result<(), LedgerError> {
        let mut proof = verify(&mut *self.store)?;
        proof.prune();
        (self.proof, self.whole) = (proof, true);
        Ok(())
    }

    /// Verifies everything, if deciding these charges would take more than what is proven: entries of an
    /// account that are older than those of a checkpoint, or a reservation that it does not hold.
    pub(super) fn prove_for(&mut self, batch: &[Sealing]) -> Result<(), LedgerError> {
        if self.whole {
            return Ok(());
        }
        let mut proven = true;
        for Sealing { release, charge, .. } in batch {
            let time = match charge {
                None => continue,
                Some(Charge::Cost(_)) => release.window,
                Some(Charge::Once { life, .. }) => {
                    let paid = payer(&mut *self.store, release, *life)?;
                    let Some((sequence, id)) = paid else {
                        proven &= self.proof.due.reads(&release.account, *life);
                        continue;
                    };
                    let payer =
                        (release.account.clone(), release.job.clone(), release.name.clone(), release.version);
                    let known = self.proof.due.reserved.get(&payer);
                    let known = known.is_some_and(|known| {
                        known.iter().any(|known| (known.id, known.sequence) == (id, sequence))
                    });
                    proven &= known || sequence > self.proof.sequence;
                    continue;
                }
            };
            proven &= self.proof.due.reads(&release.account, time);
        }
        if proven { Ok(()) } else { self.verify() }
    }
}

/// Adds the path and the remedy to an error of verification.
pub(super) fn unsound(trouble: LedgerError, place: &Path) -> LedgerError {
    let trouble = trouble.about("ledger", place);
    if trouble.kind() != LedgerErrorKind::Doubt || trouble.to_string().contains("repair") {
        return trouble;
    }
    LedgerError::doubt(format!("{trouble}; bring back the newest copy, or see `discreet ledger repair`"))
}
