//! What a database must do to keep a ledger. Everything that a ledger decides is written once, above this seam, so that
//! it means the same in a file as on a server.
//!
//! Statements are common to both databases; places for values are `?1`, `?2`, .. as SQLite writes them.

use std::fmt;
use std::fs::File;
use std::path::Path;

use super::error::LedgerError;
use super::name::Name;

/// A database with the tables of a ledger.
pub(super) trait Store: fmt::Debug + Send {
    /// Begins a transaction that excludes every other writer of this ledger until it ends: writers are one after another.
    fn begin(&mut self) -> Result<(), LedgerError>;

    /// Begins a transaction that reads, all of it as one commit left the ledger, and keeps nobody waiting.
    fn snapshot(&mut self) -> Result<(), LedgerError>;

    /// Makes the transaction durable. After an error nobody knows whether it is, unless the error says so.
    fn commit(&mut self) -> Result<(), LedgerError>;

    /// Undoes the transaction. Where that fails, closing the connection undoes it.
    fn roll_back(&mut self);

    /// Changes rows, and says how many.
    fn execute(&mut self, statement: &'static str, values: &[SqlValue<'_>]) -> Result<u64, LedgerError>;

    /// Reads rows, one after another.
    fn read(
        &mut self,
        statement: &'static str,
        values: &[SqlValue<'_>],
        take: &mut dyn FnMut(&dyn SqlRow) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError>;

    /// Looks for damage that no row shows: torn pages, an index that misses a row.
    fn check(&mut self) -> Result<(), LedgerError>;

    /// Sees to it that no other process runs this job. What it gives back is held for as long as the job runs.
    fn exclude(&mut self, job: &Name) -> Result<Option<File>, LedgerError>;

    /// Leaves a connection that may be dead, and makes another. Locks of the old one's transaction may still be held.
    fn reconnect(&mut self) -> Result<(), LedgerError>;

    /// Copies the ledger, as one commit left it, to a new file.
    fn export(&mut self, to: &Path) -> Result<(), LedgerError>;

    /// Whether it is behind a network.
    fn is_remote(&self) -> bool;

    /// A word of warning about where it lies.
    fn warning(&self) -> Option<String>;
}

/// A value on its way into a statement.
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

/// A row as it was read. A column of another kind than asked for holds what is never written: the ledger is in doubt.
pub(super) trait SqlRow {
    fn number(&self, column: usize) -> Result<Option<i64>, LedgerError>;
    fn text(&self, column: usize) -> Result<String, LedgerError>;
    fn bytes(&self, column: usize) -> Result<Option<Vec<u8>>, LedgerError>;
}

/// A column that holds what this library never writes.
pub(super) fn odd(column: usize) -> LedgerError {
    LedgerError::doubt(format!("ledger: column {column} of a row holds what is never written"))
}

/// All rows, each as `understand` reads it.
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

/// The first row, if there is one.
pub(super) fn first<T>(
    store: &mut dyn Store,
    statement: &'static str,
    values: &[SqlValue<'_>],
    understand: impl Fn(&dyn SqlRow) -> Result<T, LedgerError>,
) -> Result<Option<T>, LedgerError> {
    Ok(all(store, statement, values, understand)?.into_iter().next())
}

/// A transaction, undone unless it is committed.
pub(super) struct Transaction<'a> {
    store: &'a mut dyn Store,
    open: bool,
}

impl<'a> Transaction<'a> {
    pub(super) fn begin(store: &'a mut dyn Store) -> Result<Transaction<'a>, LedgerError> {
        store.begin()?;
        Ok(Transaction { store, open: true })
    }

    /// For reading alone: what is written in it is undone.
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
