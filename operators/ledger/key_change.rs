//! A change of a ledger's key, as a row of the chain: from it on, the ledger is bound to another key, and the
//! state of each mechanism is the same state, encrypted with that key.

use std::collections::BTreeMap;

use super::checkpoint::{Reader, Writer};
use super::error::LedgerError;
use super::name::Name;
use super::records::{digest, number};
use super::store::{SqlRow, SqlValue, Store, all, odd};
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
