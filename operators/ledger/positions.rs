//! The resume positions of a job's inputs: for each partition, the place from which a restart reads.
//!
//! They are encrypted above the ledger, like the state of mechanisms, and written in the transaction that
//! seals windows. They are mutable records and no link of the chain: a position that was put back to an older
//! one makes a restart read more, and one that was removed makes it read from the start.

use super::book::Ledger;
use super::error::LedgerError;
use super::name::Name;
use super::records::digest;
use super::store::{SqlValue, Store, Transaction, all, first, odd};
use crate::canonical::Digest;
use crate::time::Time;

/// The change of the resume positions of one input of a job, which is written with the job's next rows.
#[derive(Clone, Default)]
pub struct PositionUpdate {
    /// The number of the input.
    pub input: i64,
    /// True if every position that the ledger holds of the input is removed first.
    pub replaces: bool,
    /// The encrypted positions by their place; `None` removes one.
    pub changed: Vec<(Digest, Option<Vec<u8>>)>,
}

redacted!(PositionUpdate);

impl PositionUpdate {
    /// Returns true if nothing is to be written.
    pub fn is_empty(&self) -> bool {
        !self.replaces && self.changed.is_empty()
    }

    /// Adds a later change of the same input.
    pub fn add(&mut self, later: PositionUpdate) {
        if later.replaces {
            *self = later;
            return;
        }
        for (place, held) in later.changed {
            self.changed.retain(|(known, _)| *known != place);
            self.changed.push((place, held));
        }
    }

    pub(super) fn write(&self, store: &mut dyn Store, job: &Name) -> Result<(), LedgerError> {
        let (job, input) = (SqlValue::Text(job.as_str()), SqlValue::Number(self.input));
        if self.replaces {
            store.execute("DELETE FROM position WHERE job = ?1 AND input = ?2", &[job, input])?;
        }
        for (place, held) in &self.changed {
            let place = SqlValue::Bytes(place.bytes());
            match held {
                None => {
                    let remove = "DELETE FROM position WHERE job = ?1 AND input = ?2 AND place = ?3";
                    store.execute(remove, &[job, input, place])?
                }
                Some(held) => {
                    let write = "INSERT INTO position VALUES (?1, ?2, ?3, ?4)
                                 ON CONFLICT (job, input, place) DO UPDATE SET held = excluded.held";
                    store.execute(write, &[job, input, place, SqlValue::Bytes(held)])?
                }
            };
        }
        Ok(())
    }
}

impl Ledger {
    /// The resume positions of an input of a job, encrypted, by their places.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn positions(&mut self, job: &Name, input: i64) -> Result<Vec<(Digest, Vec<u8>)>, LedgerError> {
        let mut snapshot = Transaction::snapshot(self.store())?;
        let values = [SqlValue::Text(job.as_str()), SqlValue::Number(input)];
        let of_input = "SELECT place, held FROM position WHERE job = ?1 AND input = ?2";
        all(snapshot.store(), of_input, &values, |row| {
            Ok((digest(row, 0)?, row.bytes(1)?.ok_or_else(|| odd(1))?))
        })
    }

    /// The end of the last window of a release that has a row in this version, a skipped one too.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn last_row(
        &mut self,
        job: &Name,
        name: &Name,
        version: &Digest,
    ) -> Result<Option<Time>, LedgerError> {
        // The rows behind a settled frontier may be in an archive.
        let newest = "SELECT max(ends) FROM (
                        SELECT max(window_end) AS ends FROM release
                        WHERE job = ?1 AND name = ?2 AND version = ?3 AND part IS NULL
                        UNION ALL SELECT until FROM settled WHERE job = ?1 AND name = ?2 AND version = ?3) AS known";
        let values =
            [SqlValue::Text(job.as_str()), SqlValue::Text(name.as_str()), SqlValue::Bytes(version.bytes())];
        Ok(first(self.store(), newest, &values, |row| row.number(0))?.flatten())
    }
}
