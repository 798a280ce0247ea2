//! The state of mechanisms between releases (keys that are public already, the noise of a running total, the
//! number of windows that each person has used), as bytes that the ledger cannot read.
//!
//! A state changes in the transaction that seals the release it comes from, or not at all; the row holds its
//! hash, so that neither can be reset without the other. It is a full copy, or a change of the state before:
//! the newest full copy is kept with all changes since, and what came before goes in the transaction that
//! writes it. The hash of a change covers that of its predecessor, so the hash of the newest covers all of
//! them.
//!
//! Data that grows and seldom changes, such as the contribution of each of a million people, is no part of
//! the state, for it would be rewritten with every release. It is kept as [notes](Note), one for the
//! additions of each release. The mechanism records in its state which notes must exist, and a hash of all of
//! them.
//!
//! A state belongs to a statistic and not to a version: a new version of a job reads the state of the old
//! one. The mechanism decides which parts of it still hold (keys that are public already do, the noise of a
//! running total does not); to the ledger it is bytes.

use super::error::{LedgerError, LedgerErrorKind};
use super::failpoint;
use super::name::Name;
use super::records::{digest, number, perhaps_digest};
use super::rows::ReleaseId;
use super::store::{SqlRow, SqlValue, Store, all, first, odd};
use crate::canonical::{Canonical, Digest};

/// A row of the state of a statistic: a full copy, or a change of the state before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The number of times the state has changed, this change included.
    pub version: i64,
    /// The digest of the state that this is a change of; `None` for a full copy.
    pub former: Option<Digest>,
    /// The encrypted copy or change.
    pub held: Vec<u8>,
    /// The note that is written with it.
    pub note: Option<Note>,
}

/// Encrypted data that is kept beside a state, and written once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The place of the note: one higher for each note of a statistic.
    pub place: i64,
    /// The encrypted content.
    pub held: Vec<u8>,
    /// Notes at places before this one are deleted: later notes repeat their content.
    pub since: i64,
}

impl State {
    /// The hash of the row and, if it is a change, of all rows from the full copy on.
    pub(crate) fn digest(&self) -> Digest {
        Canonical::new("discreet state 2")
            .number(self.version)
            .bytes(self.former.as_ref().map_or(&[][..], |former| former.bytes()))
            .digest(&Digest::of(&self.held))
            .finish()
    }
}

/// Reads a state from three columns, of which this is the first.
pub(super) fn read(row: &dyn SqlRow, column: usize) -> Result<State, LedgerError> {
    let held = row.bytes(column + 2)?.ok_or_else(|| odd(column + 2))?;
    let former = perhaps_digest(row, column + 1)?;
    Ok(State { version: number(row, column)?, former, held, note: None })
}

/// The full copy of a state, and the changes since, in their order.
pub(super) fn states(store: &mut dyn Store, job: &Name, name: &Name) -> Result<Vec<State>, LedgerError> {
    let values = [SqlValue::Text(job.as_str()), SqlValue::Text(name.as_str())];
    let all_of = "SELECT version, former, held FROM state WHERE job = ?1 AND name = ?2 ORDER BY version";
    all(store, all_of, &values, |row| read(row, 0))
}

/// The version and the digest of the newest row of a state.
pub(super) fn newest(
    store: &mut dyn Store,
    job: &Name,
    name: &Name,
) -> Result<Option<(i64, Digest)>, LedgerError> {
    let values = [SqlValue::Text(job.as_str()), SqlValue::Text(name.as_str())];
    let newest =
        "SELECT version, digest FROM state WHERE job = ?1 AND name = ?2 ORDER BY version DESC LIMIT 1";
    first(store, newest, &values, |row| Ok((number(row, 0)?, digest(row, 1)?)))
}

/// Writes a row of a state.
pub(super) fn write_state(
    store: &mut dyn Store,
    (job, name): (&Name, &Name),
    state: &State,
) -> Result<(), LedgerError> {
    let digest = state.digest();
    let values = [
        SqlValue::Text(job.as_str()),
        SqlValue::Text(name.as_str()),
        SqlValue::Number(state.version),
        SqlValue::bytes(state.former.as_ref().map(|former| &former.bytes()[..])),
        SqlValue::Bytes(digest.bytes()),
        SqlValue::Bytes(&state.held),
    ];
    store.execute("INSERT INTO state VALUES (?1, ?2, ?3, ?4, ?5, ?6)", &values).map(drop)
}

/// Deletes all rows of a state.
pub(super) fn delete_states(store: &mut dyn Store, job: &Name, name: &Name) -> Result<(), LedgerError> {
    let values = [SqlValue::Text(job.as_str()), SqlValue::Text(name.as_str())];
    store.execute("DELETE FROM state WHERE job = ?1 AND name = ?2", &values).map(drop)
}

/// The notes of a statistic, each with its place, in the order of places.
pub(super) fn notes(
    store: &mut dyn Store,
    job: &Name,
    name: &Name,
) -> Result<Vec<(i64, Vec<u8>)>, LedgerError> {
    let values = [SqlValue::Text(job.as_str()), SqlValue::Text(name.as_str())];
    let read = |row: &dyn SqlRow| Ok((number(row, 0)?, row.bytes(1)?.ok_or_else(|| odd(1))?));
    all(store, "SELECT place, held FROM noted WHERE job = ?1 AND name = ?2 ORDER BY place", &values, read)
}

/// Writes a note, and deletes those that it replaces; returns false if there is a note at its place.
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

/// Writes the state that follows the newest one, and no other. A full copy takes the place of all that came
/// before: deleted first, so that their pages are written over at once.
pub(super) fn replace(store: &mut dyn Store, release: &ReleaseId, state: &State) -> Result<(), LedgerError> {
    let ReleaseId { job, name, .. } = release;
    let newest = newest(store, job, name)?;
    let follows = newest.map_or(0, |(version, _)| version).checked_add(1) == Some(state.version)
        && state.former.is_none_or(|former| newest.is_some_and(|(_, digest)| digest == former));
    // The claim was checked, so no other process may have changed it.
    let moved_on =
        || LedgerError::doubt(format!("ledger: what {} keeps has moved on without it", release.name));
    if !follows {
        return Err(moved_on());
    }
    if state.former.is_none() && newest.is_some() {
        delete_states(store, job, name)?;
        failpoint::reached("after-states-deleted", LedgerErrorKind::Unknown)?;
    }
    write_state(store, (job, name), state)?;
    match &state.note {
        Some(note) if !write_note(store, release, note)? => Err(moved_on()),
        _ => Ok(()),
    }
}
