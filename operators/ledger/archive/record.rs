//! The row of the chain that records an archive, and what the ledger keeps of the newest one.

use super::floor::{hash_of_rows, restrict};
use crate::canonical::{Canonical, Digest};
use crate::ledger::account::AccountSpec;
use crate::ledger::checkpoint::{read_back, written};
use crate::ledger::error::{LedgerError, LedgerErrorKind};
use crate::ledger::records::{digest, number, read_stated, rows};
use crate::ledger::store::{SqlRow, SqlValue, Store, all, first, odd};
use crate::ledger::verify::Chain;
use crate::time::Time;

/// The row of the chain that records an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ledger) struct ArchiveRecord {
    pub(in crate::ledger) sequence: i64,
    /// The last row in the archive.
    pub(in crate::ledger) until: i64,
    pub(in crate::ledger) floor: Time,
    /// The hash of the file.
    pub(in crate::ledger) file: Digest,
    /// The hash of the former archive's file; [`Digest::NONE`] for the first one.
    pub(in crate::ledger) former: Digest,
    /// The hash of what follows from the rows up to the last one.
    pub(in crate::ledger) state: Digest,
    /// The hash of the rows that were carried.
    pub(in crate::ledger) carried: Digest,
}

impl ArchiveRecord {
    pub(in crate::ledger) fn chained(&self, previous: &Digest) -> Digest {
        Canonical::new("discreet archive 1")
            .digest(previous)
            .number(self.sequence)
            .number(self.until)
            .number(self.floor)
            .digest(&self.file)
            .digest(&self.former)
            .digest(&self.state)
            .digest(&self.carried)
            .finish()
    }

    pub(super) fn write(
        &self,
        store: &mut dyn Store,
        content: &[u8],
        chain: &Digest,
    ) -> Result<(), LedgerError> {
        let values = [
            SqlValue::Number(self.sequence),
            SqlValue::Number(self.until),
            SqlValue::Number(self.floor),
            SqlValue::Bytes(self.file.bytes()),
            SqlValue::Bytes(self.former.bytes()),
            SqlValue::Bytes(self.state.bytes()),
            SqlValue::Bytes(self.carried.bytes()),
            SqlValue::Bytes(content),
            SqlValue::Bytes(chain.bytes()),
        ];
        store.execute("INSERT INTO archive VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)", &values).map(drop)
    }
}

/// The newest archive of a ledger, with what follows from the rows up to its end.
pub(in crate::ledger) struct NewestArchive {
    pub(in crate::ledger) record: ArchiveRecord,
    pub(super) content: Vec<u8>,
}

fn read_record(row: &dyn SqlRow) -> Result<(ArchiveRecord, Digest), LedgerError> {
    let record = ArchiveRecord {
        sequence: number(row, 0)?,
        until: number(row, 1)?,
        floor: number(row, 2)?,
        file: digest(row, 3)?,
        former: digest(row, 4)?,
        state: digest(row, 5)?,
        carried: digest(row, 6)?,
    };
    Ok((record, digest(row, 7)?))
}

/// All archives, each with the hash that its row holds.
pub(in crate::ledger) fn all_records(
    store: &mut dyn Store,
) -> Result<Vec<(ArchiveRecord, Digest)>, LedgerError> {
    let records =
        "SELECT sequence, until, floor, file, former, state, carried, chain FROM archive ORDER BY sequence";
    all(store, records, &[], read_record)
}

pub(in crate::ledger) fn newest(store: &mut dyn Store) -> Result<Option<NewestArchive>, LedgerError> {
    let newest = "SELECT sequence, until, floor, file, former, state, carried, chain, content FROM archive
                  ORDER BY sequence DESC LIMIT 1";
    first(store, newest, &[], |row| {
        let content = row.bytes(8)?.ok_or_else(|| odd(8))?;
        Ok(NewestArchive { record: read_record(row)?.0, content })
    })
}

/// Copies the records of archives up to a row unchanged: their hashes prove them.
pub(in crate::ledger) fn copy(
    from: &mut dyn Store,
    to: &mut dyn Store,
    sound: i64,
) -> Result<(), LedgerError> {
    let content = newest(from)?.filter(|newest| newest.record.sequence <= sound);
    for (record, chain) in all_records(from)? {
        let of_this = content.as_ref().filter(|newest| newest.record.sequence == record.sequence);
        if record.sequence <= sound {
            record.write(to, of_this.map_or(&[][..], |newest| &newest.content), &chain)?;
        }
    }
    Ok(())
}

/// The chain at the end of an archive, after comparing the rows that it carried.
pub(in crate::ledger) fn end_of(
    store: &mut dyn Store,
    ledger: Digest,
    NewestArchive { record, content }: &NewestArchive,
) -> Result<Chain, LedgerError> {
    let edited = || LedgerError::doubt("ledger: what it keeps of its newest archive was edited");
    let stated = all(store, "SELECT * FROM account", &[], read_stated)?;
    let stated: Vec<AccountSpec> = stated.into_iter().map(|(_, account, _)| account).collect();
    let chain = read_back(content, &stated).filter(|_| state_digest(content) == record.state);
    let chain = chain.filter(|chain| chain.ledger == ledger && chain.sequence == record.until);
    let chain = chain.ok_or_else(edited)?;
    if carried(store, record.until)? != record.carried {
        return Err(LedgerError::doubt(
            "ledger: a row from before its newest archive is missing or was edited",
        ));
    }
    Ok(chain)
}

/// A hash of the rows up to this one that the ledger still holds.
pub(in crate::ledger) fn carried(store: &mut dyn Store, until: i64) -> Result<Digest, LedgerError> {
    hash_of_rows(store, rows!("WHERE sequence <= ?1 ORDER BY sequence"), &[SqlValue::Number(until)])
}

pub(super) fn state_digest(content: &[u8]) -> Digest {
    Canonical::new("discreet archived state 1").bytes(content).finish()
}

/// The error of a process that was verifying while rows were archived.
pub(in crate::ledger) fn meanwhile() -> LedgerError {
    LedgerError::new(LedgerErrorKind::Busy, "ledger: its rows were archived meanwhile; start again")
}

/// Compares what follows from the rows with the row of an archive that is next in the chain.
pub(in crate::ledger) fn passed(chain: &mut Chain, record: &ArchiveRecord) -> Result<(), LedgerError> {
    if record.until != chain.sequence || record.sequence != record.until + 1 {
        return Err(LedgerError::doubt(format!("ledger: row {} is missing or was edited", record.sequence)));
    }
    // The entries of a checkpoint are others than those of an archive.
    if !chain.due.floors.is_empty() {
        return Err(meanwhile());
    }
    restrict(chain, record.floor);
    if state_digest(&written(chain)) == record.state {
        return Ok(());
    }
    Err(LedgerError::doubt(format!(
        "ledger: what row {} says of the rows before it does not follow from them",
        record.sequence
    )))
}
