//! With which parameters a version of a job first opened each of its statistics.
//!
//! This is bookkeeping, and no link of the chain. It guards against a slip: parameters that were changed under a version
//! that has released already. Whoever edits it gains nothing by that: a row too many refuses a job, a row too few lets a
//! change through, and changed parameters are other names of releases, each charged for by itself, whatever stands here.
//! So a repair keeps what can be read, and nothing recomputes it.

use super::book::Ledger;
use super::claim::Claim;
use super::name::Name;
use super::records::{digest, name, number};
use super::store::{Store, Transaction, Value, first};
use super::trouble::Trouble;
use crate::canonical::Digest;

impl Ledger {
    /// Holds a version of a job to its word: the parameters that it first opened a statistic with are its parameters.
    /// They are noted where there are none yet; the same ones again change nothing.
    ///
    /// # Errors
    ///
    /// [`TroubleKind::Refused`](super::TroubleKind::Refused) where they were others: other parameters are another
    /// version. [`TroubleKind::Fenced`](super::TroubleKind::Fenced) where a later process has the claim; and what the
    /// kinds say of a write that did not end.
    pub fn agree(
        &mut self,
        claim: &Claim,
        version: u32,
        name: &Name,
        parameters: &Digest,
    ) -> Result<(), Trouble> {
        let mut transaction = Transaction::begin(self.store())?;
        let tables = transaction.store();
        claim.still_stands(tables)?;
        let job = claim.job();
        let place = [Value::Text(job.as_str()), Value::Number(version.into()), Value::Text(name.as_str())];
        let known = "SELECT parameters FROM agreed WHERE job = ?1 AND version = ?2 AND name = ?3";
        match first(tables, known, &place, |row| digest(row, 0))? {
            Some(known) if known == *parameters => Ok(()),
            Some(_) => Err(Trouble::refused(format!(
                "version: job {job} has opened {name} in version {version} with other parameters; give those, or give the \
                 job a new version"
            ))),
            None => {
                let [job, version, name] = place;
                write(tables, [job, version, name, Value::Bytes(parameters.bytes())])?;
                transaction.commit()
            }
        }
    }
}

fn write(store: &mut dyn Store, agreed: [Value<'_>; 4]) -> Result<(), Trouble> {
    let insert = "INSERT INTO agreed VALUES (?1, ?2, ?3, ?4) ON CONFLICT (job, version, name) DO NOTHING";
    store.execute(insert, &agreed).map(drop)
}

/// Takes over from a torn ledger what can be read.
pub(super) fn rescue(torn: &mut dyn Store, tables: &mut dyn Store) -> Result<(), Trouble> {
    let mut agreed = Vec::new();
    // As far as it can be read at all.
    let _ = torn.read("SELECT job, version, name, parameters FROM agreed", &[], &mut |row| {
        agreed.push((name(row, 0)?, number(row, 1)?, name(row, 2)?, digest(row, 3)?));
        Ok(())
    });
    for (job, version, name, parameters) in agreed {
        let (job, name) = (Value::Text(job.as_str()), Value::Text(name.as_str()));
        write(tables, [job, Value::Number(version), name, Value::Bytes(parameters.bytes())])?;
    }
    Ok(())
}
