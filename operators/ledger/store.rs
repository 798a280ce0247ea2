//! The interface between a ledger and its database. Every decision of a ledger is written once, above this
//! interface, so that it is the same in a file as on a server.
//!
//! Both databases take the same statements; parameters are `?1`, `?2`, .. as SQLite writes them.

use std::fmt;
use std::fs::File;
use std::path::Path;

use super::error::LedgerError;
use super::name::Name;

/// A file that this process has locked, until this is dropped.
#[derive(Debug)]
pub(super) struct FileLock(File);

impl FileLock {
    /// Locks a file; `None` if another process, or another part of this one, holds the lock.
    pub(super) fn new(file: File) -> Option<FileLock> {
        file.try_lock().is_ok().then(|| FileLock(file))
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing alone keeps the lock while a child process of another thread has not come to its own program.
        let _ = self.0.unlock();
    }
}

/// A database with the tables of a ledger.
pub(super) trait Store: fmt::Debug + Send {
    /// Begins a transaction that excludes every other writer of this ledger until it ends: writers proceed
    /// one after another.
    fn begin(&mut self) -> Result<(), LedgerError>;

    /// Begins a transaction that reads one committed state of the ledger and blocks no writer.
    fn snapshot(&mut self) -> Result<(), LedgerError>;

    /// Commits the transaction durably. After an error its outcome is unknown, unless the error states it.
    fn commit(&mut self) -> Result<(), LedgerError>;

    /// Rolls the transaction back. If that fails, closing the connection does.
    fn roll_back(&mut self);

    /// Executes a statement that changes rows, and returns their number.
    fn execute(&mut self, statement: &'static str, values: &[SqlValue<'_>]) -> Result<u64, LedgerError>;

    /// Executes a query, and passes each row to `take`.
    fn read(
        &mut self,
        statement: &'static str,
        values: &[SqlValue<'_>],
        take: &mut dyn FnMut(&dyn SqlRow) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError>;

    /// Checks for damage that no row shows: torn pages, an index that misses a row.
    fn check(&mut self) -> Result<(), LedgerError>;

    /// Excludes other processes from this job. The returned lock, if any, is held for as long as the job
    /// runs.
    fn exclude(&mut self, job: &Name) -> Result<Option<FileLock>, LedgerError>;

    /// Replaces a connection that may be dead. Locks of the old one's transaction may still be held.
    fn reconnect(&mut self) -> Result<(), LedgerError>;

    /// Copies one committed state of the ledger to a new file.
    fn export(&mut self, to: &Path) -> Result<(), LedgerError>;

    /// Gives the space of removed rows back: to the disk, or on a server to rows to come.
    fn shrink(&mut self) -> Result<(), LedgerError>;

    /// Returns true if the database is reached over a connection to a server.
    fn is_remote(&self) -> bool;

    /// A warning about the place of the ledger, if there is cause for one.
    fn warning(&self) -> Option<String>;
}

/// A parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub(super) enum SqlValue<'a> {
    Nothing,
    Number(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl<'a> SqlValue<'a> {
    pub(super) fn bytes(bytes: Option<&'a [u8]>) -> SqlValue<'a> {
        bytes.map_or(SqlValue::Nothing, SqlValue::Bytes)
    }

    pub(super) fn number(number: Option<i64>) -> SqlValue<'a> {
        number.map_or(SqlValue::Nothing, SqlValue::Number)
    }
}

/// A row of a query's result. A column of another type than requested holds a value that is never written:
/// the ledger is in doubt.
pub(super) trait SqlRow {
    fn number(&self, column: usize) -> Result<Option<i64>, LedgerError>;
    fn text(&self, column: usize) -> Result<String, LedgerError>;
    fn bytes(&self, column: usize) -> Result<Option<Vec<u8>>, LedgerError>;
}

/// The error for a column with a value that this library never writes.
pub(super) fn odd(column: usize) -> LedgerError {
    LedgerError::doubt(format!("ledger: column {column} of a row holds what is never written"))
}

/// All rows of a query, each decoded by `understand`.
pub(super) fn all<T>(
    store: &mut dyn Store,
    statement: &'static str,
    values: &[SqlValue<'_>],
    understand: impl Fn(&dyn SqlRow) -> Result<T, LedgerError>,
) -> Result<Vec<T>, LedgerError> {
    let mut rows = Vec::new();
    store.read(statement, values, &mut |columns| {
        rows.push(understand(columns)?);
        Ok(())
    })?;
    Ok(rows)
}

/// The first row of a query, decoded by `understand`, if there is one.
pub(super) fn first<T>(
    store: &mut dyn Store,
    statement: &'static str,
    values: &[SqlValue<'_>],
    understand: impl Fn(&dyn SqlRow) -> Result<T, LedgerError>,
) -> Result<Option<T>, LedgerError> {
    Ok(all(store, statement, values, understand)?.into_iter().next())
}

/// A transaction, rolled back unless it is committed.
pub(super) struct Transaction<'a> {
    store: &'a mut dyn Store,
    open: bool,
}

impl<'a> Transaction<'a> {
    pub(super) fn begin(store: &'a mut dyn Store) -> Result<Transaction<'a>, LedgerError> {
        store.begin()?;
        Ok(Transaction { store, open: true })
    }

    /// Begins a transaction that reads; it is never committed.
    pub(super) fn snapshot(store: &'a mut dyn Store) -> Result<Transaction<'a>, LedgerError> {
        store.snapshot()?;
        Ok(Transaction { store, open: true })
    }

    pub(super) fn store(&mut self) -> &mut dyn Store {
        self.store
    }

    pub(super) fn commit(mut self) -> Result<(), LedgerError> {
        self.open = false;
        let outcome = self.store.commit();
        if outcome.is_err() {
            self.store.roll_back();
        }
        outcome
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open {
            self.store.roll_back();
        }
    }
}

#[cfg(test)]
mod lock_tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::ledger::scratch::ScratchPlace;

    // Refutes a lock that stays with a child process, which holds its files until it has come to its own program.
    #[test]
    fn a_lock_ends_though_a_copy_of_its_file_is_open() {
        let scratch = ScratchPlace::File.scratch();
        let open = || File::create(scratch.ledger().with_extension("lock")).unwrap();
        let file = open();
        let of_child = file.try_clone().unwrap();
        let lock = FileLock::new(file).unwrap();
        assert!(FileLock::new(open()).is_none());
        drop(lock);
        assert!(FileLock::new(open()).is_some());
        drop(of_child);
    }
}
