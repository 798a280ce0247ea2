//! What a mechanism must remember from one release to the next (keys that are public already, the noise of a running
//! total, how many windows each person has used), as bytes that the ledger cannot read.
//!
//! It changes in the transaction that seals the release it comes from, or not at all; the row holds its hash, so that
//! neither can be put back without the other. Only the newest is kept.
//!
//! What grows and seldom changes, such as what was counted of each of a million people, is no part of it, for it would be written
//! whole with every release. It is kept as [notes](Note), one for what each release adds. Which notes there must be, and a
//! hash of all of them, is for whoever wrote them to keep in the state.
//!
//! It is a statistic's, not a version's: a new version of a job finds what the old one kept. What of it still holds (keys
//! that are public already do, the noise of a running total does not) is for the mechanism to decide; here it is bytes.

use super::name::Name;
use super::records::number;
use super::rows::ReleaseId;
use super::store::{SqlRow, SqlValue, Store, all, first, odd};
use super::trouble::LedgerError;
use crate::canonical::{Canonical, Digest};

/// The newest state of a statistic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// How often it has changed, this change included.
    pub version: i64,
    /// The state, sealed.
    pub held: Vec<u8>,
    /// What is noted beside it.
    pub note: Option<Note>,
}

/// Something that is kept beside a state, and written once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its place: one further for each note of a statistic.
    pub place: i64,
    /// What it says, sealed.
    pub held: Vec<u8>,
    /// Notes at earlier places than this are given up: what they said is said again.
    pub since: i64,
}

impl State {
    pub(super) fn digest(&self) -> Digest {
        Canonical::new("discreet state 1").number(self.version).bytes(&self.held).finish()
    }
}

/// A state in two columns, from this one on.
pub(super) fn read(row: &dyn SqlRow, column: usize) -> Result<State, LedgerError> {
    let held = row.bytes(column + 1)?.ok_or_else(|| odd(column + 1))?;
    Ok(State { version: number(row, column)?, held, note: None })
}

pub(super) fn find(store: &mut dyn Store, job: &Name, name: &Name) -> Result<Option<State>, LedgerError> {
    let values = [SqlValue::Text(job.as_str()), SqlValue::Text(name.as_str())];
    first(store, "SELECT version, held FROM state WHERE job = ?1 AND name = ?2", &values, |row| read(row, 0))
}

/// The notes of a statistic, each with its place, in their order.
pub(super) fn notes(
    store: &mut dyn Store,
    job: &Name,
    name: &Name,
) -> Result<Vec<(i64, Vec<u8>)>, LedgerError> {
    let values = [SqlValue::Text(job.as_str()), SqlValue::Text(name.as_str())];
    let read = |row: &dyn SqlRow| Ok((number(row, 0)?, row.bytes(1)?.ok_or_else(|| odd(1))?));
    all(store, "SELECT place, held FROM noted WHERE job = ?1 AND name = ?2 ORDER BY place", &values, read)
}

/// Writes a note, and gives up those that it replaces.
fn write_note(store: &mut dyn Store, release: &ReleaseId, note: &Note) -> Result<bool, LedgerError> {
    let (job, name) = (SqlValue::Text(release.job.as_str()), SqlValue::Text(release.name.as_str()));
    let values = [job, name, SqlValue::Number(note.place), SqlValue::Bytes(&note.held)];
    let insert = "INSERT INTO noted VALUES (?1, ?2, ?3, ?4) ON CONFLICT (job, name, place) DO NOTHING";
    let written = store.execute(insert, &values)? == 1;
    let (job, name) = (SqlValue::Text(release.job.as_str()), SqlValue::Text(release.name.as_str()));
    let values = [job, name, SqlValue::Number(note.since)];
    store.execute("DELETE FROM noted WHERE job = ?1 AND name = ?2 AND place < ?3", &values)?;
    Ok(written)
}

/// Puts a state in the place of the one it was computed from, and of no other.
pub(super) fn replace(store: &mut dyn Store, release: &ReleaseId, state: &State) -> Result<(), LedgerError> {
    let (job, name) = (SqlValue::Text(release.job.as_str()), SqlValue::Text(release.name.as_str()));
    let changed = match state.version {
        1 => {
            let values = [job, name, SqlValue::Bytes(&state.held)];
            let insert = "INSERT INTO state VALUES (?1, ?2, 1, ?3) ON CONFLICT (job, name) DO NOTHING";
            store.execute(insert, &values)?
        }
        version => {
            let values = [job, name, SqlValue::Number(version), SqlValue::Bytes(&state.held)];
            let update =
                "UPDATE state SET version = ?3, held = ?4 WHERE job = ?1 AND name = ?2 AND version = ?3 - 1";
            store.execute(update, &values)?
        }
    };
    let noted = match &state.note {
        Some(note) => write_note(store, release, note)?,
        None => true,
    };
    if changed == 1 && noted {
        return Ok(());
    }
    // The claim was checked, so nobody else may have moved it.
    Err(LedgerError::doubt(format!("ledger: what {} keeps has moved on without it", release.name)))
}
