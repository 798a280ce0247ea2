//! A change of a ledger's key, as a row of the chain: from it on, the ledger is bound to another key, and the
//! state of each mechanism is the same state, encrypted with that key.

use std::collections::BTreeMap;

use super::archive::ExcludedJobs;
use super::book::Ledger;
use super::checkpoint::{Reader, Writer};
use super::error::{LedgerError, LedgerErrorKind};
use super::failpoint;
use super::key::LedgerKey;
use super::name::Name;
use super::records::{advance, digest, head, name, number};
use super::states::{self, State};
use super::store::{SqlRow, SqlValue, Store, Transaction, all, first, odd};
use crate::canonical::{Canonical, Digest};

/// A change of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyChange {
    pub(super) sequence: i64,
    /// The value by which the ledger recognises the new key.
    pub(super) check: Digest,
    /// The hash of each state under the new key, by job and statistic.
    pub(super) states: BTreeMap<(Name, Name), Digest>,
}

impl KeyChange {
    pub(super) fn chained(&self, previous: &Digest) -> Digest {
        Canonical::new("discreet rekey 1")
            .digest(previous)
            .number(self.sequence)
            .digest(&self.check)
            .bytes(&self.states_column())
            .finish()
    }

    pub(super) fn states_column(&self) -> Vec<u8> {
        let mut column = Writer(Vec::new());
        column.list(self.states.iter(), |to, ((job, name), state)| {
            to.name(job);
            to.name(name);
            to.bytes(state.bytes());
        });
        column.0
    }

    pub(super) fn read_states(column: &[u8]) -> Option<BTreeMap<(Name, Name), Digest>> {
        let mut from = Reader(column);
        let states = from.list(|from| Some(((from.name()?, from.name()?), from.digest()?)))?;
        from.0.is_empty().then(|| states.into_iter().collect())
    }

    /// Puts the hashes under the new key in the place of those under the former one.
    pub(super) fn replace(&self, states: &mut BTreeMap<(Name, Name), Digest>) -> Result<(), LedgerError> {
        if !states.keys().eq(self.states.keys()) {
            return Err(LedgerError::doubt(format!(
                "ledger: row {} changes the key of other states than there are",
                self.sequence
            )));
        }
        states.clone_from(&self.states);
        Ok(())
    }

    pub(super) fn write(&self, store: &mut dyn Store, chain: &Digest) -> Result<(), LedgerError> {
        let values = [
            SqlValue::Number(self.sequence),
            SqlValue::Bytes(self.check.bytes()),
            SqlValue::Bytes(&self.states_column()),
            SqlValue::Bytes(chain.bytes()),
        ];
        store.execute("INSERT INTO rekey VALUES (?1, ?2, ?3, ?4)", &values).map(drop)
    }
}

/// All changes of the key, each with the hash that its row holds.
pub(super) fn all_changes(store: &mut dyn Store) -> Result<Vec<(KeyChange, Digest)>, LedgerError> {
    all(store, "SELECT sequence, mac, states, chain FROM rekey ORDER BY sequence", &[], |row: &dyn SqlRow| {
        let states = KeyChange::read_states(&row.bytes(2)?.unwrap_or_default()).ok_or_else(|| odd(2))?;
        Ok((KeyChange { sequence: number(row, 0)?, check: digest(row, 1)?, states }, digest(row, 3)?))
    })
}

/// The place of something that the ledger keeps encrypted.
pub(crate) enum SealedPlace<'a> {
    /// A row of the state of a statistic of a job: its version and the digest of its predecessor if it is a
    /// change, and those that it gets.
    State(&'a Name, &'a Name, [(i64, Option<Digest>); 2]),
    /// A note beside such a state.
    Note(&'a Name, &'a Name, i64),
    /// A resume position of an input of a job.
    Position(&'a Name, i64, &'a Digest),
}

/// Encrypts anew what is at a place: a state for the version that it gets, and everything else for the same
/// place.
pub(crate) type Reseal<'a> = dyn FnMut(SealedPlace<'_>, &[u8]) -> Result<Vec<u8>, LedgerError> + 'a;

impl Ledger {
    /// Binds the ledger to another key while its jobs are excluded: in one commit, everything that it keeps
    /// encrypted is given to `reseal` and written back, and its checkpoint is made anew.
    ///
    /// # Errors
    ///
    /// Any error of `reseal`: then nothing was changed; and those of the ledger.
    pub(crate) fn change_key(
        &mut self,
        new: &LedgerKey,
        jobs: ExcludedJobs,
        reseal: &mut Reseal<'_>,
    ) -> Result<(), LedgerError> {
        let check = new.check_value(self.name());
        let mut transaction = Transaction::begin(self.store())?;
        let tables = transaction.store();
        let (until, previous) = head(tables)?;
        let states = reseal_states(tables, reseal)?;
        reseal_notes(tables, reseal)?;
        reseal_positions(tables, reseal)?;
        failpoint::reached("rekey-resealed", LedgerErrorKind::Unknown)?;
        let rebind = "UPDATE key_check SET mac = ?1, generation = generation + 1";
        if tables.execute(rebind, &[SqlValue::Bytes(check.bytes())])? != 1 {
            return Err(LedgerError::refused(
                "key: the ledger is bound to none yet; the first start binds it",
            ));
        }
        tables.execute("DELETE FROM checkpoint", &[])?;
        let change = KeyChange { sequence: until + 1, check, states };
        let chain = change.chained(&previous);
        change.write(tables, &chain)?;
        tables.execute("UPDATE fence SET generation = generation + 1", &[])?;
        advance(tables, change.sequence, &chain)?;
        transaction.commit()?;
        failpoint::reached("rekey-committed", LedgerErrorKind::Unknown)?;
        drop(jobs);
        self.bind(new)?;
        self.verify()?;
        self.checkpoint()
    }
}

fn reseal_states(
    store: &mut dyn Store,
    reseal: &mut Reseal<'_>,
) -> Result<BTreeMap<(Name, Name), Digest>, LedgerError> {
    let known = |row: &dyn SqlRow| Ok((name(row, 0)?, name(row, 1)?));
    let mut states = BTreeMap::new();
    for (job, release) in all(store, "SELECT DISTINCT job, name FROM state ORDER BY job, name", &[], known)? {
        let former_rows = states::states(store, &job, &release)?;
        states::delete_states(store, &job, &release)?;
        let mut newest = None;
        for row in former_rows {
            // A row is written once, so the versions move on with the key.
            let version = row.version.checked_add(1).ok_or_else(|| odd(2))?;
            let former = row.former.and(newest);
            let held = reseal(
                SealedPlace::State(&job, &release, [(row.version, row.former), (version, former)]),
                &row.held,
            )?;
            let state = State { version, former, held, note: None };
            states::write_state(store, (&job, &release), &state)?;
            newest = Some(state.digest());
        }
        states.extend(newest.map(|newest| ((job, release), newest)));
    }
    Ok(states)
}

fn reseal_notes(store: &mut dyn Store, reseal: &mut Reseal<'_>) -> Result<(), LedgerError> {
    let known = |row: &dyn SqlRow| Ok((name(row, 0)?, name(row, 1)?, number(row, 2)?));
    for (job, release, place) in all(store, "SELECT job, name, place FROM noted", &[], known)? {
        let of = [SqlValue::Text(job.as_str()), SqlValue::Text(release.as_str()), SqlValue::Number(place)];
        let held = "SELECT held FROM noted WHERE job = ?1 AND name = ?2 AND place = ?3";
        let held = first(store, held, &of, |row| row.bytes(0))?.flatten().ok_or_else(|| odd(0))?;
        let held = reseal(SealedPlace::Note(&job, &release, place), &held)?;
        // A note is written once, and not changed.
        store.execute("DELETE FROM noted WHERE job = ?1 AND name = ?2 AND place = ?3", &of)?;
        let [job, release, place] = of;
        let values = [job, release, place, SqlValue::Bytes(&held)];
        store.execute("INSERT INTO noted VALUES (?1, ?2, ?3, ?4)", &values)?;
    }
    Ok(())
}

fn reseal_positions(store: &mut dyn Store, reseal: &mut Reseal<'_>) -> Result<(), LedgerError> {
    let known = |row: &dyn SqlRow| {
        Ok((name(row, 0)?, number(row, 1)?, digest(row, 2)?, row.bytes(3)?.ok_or_else(|| odd(3))?))
    };
    for (job, input, place, held) in all(store, "SELECT job, input, place, held FROM position", &[], known)? {
        let held = reseal(SealedPlace::Position(&job, input, &place), &held)?;
        let values = [
            SqlValue::Text(job.as_str()),
            SqlValue::Number(input),
            SqlValue::Bytes(place.bytes()),
            SqlValue::Bytes(&held),
        ];
        let write = "UPDATE position SET held = ?4 WHERE job = ?1 AND input = ?2 AND place = ?3";
        store.execute(write, &values)?;
    }
    Ok(())
}
