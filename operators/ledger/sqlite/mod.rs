//! The store of a ledger in one SQLite file, the embedded default. Any number of processes may share it; a
//! job runs in one of them.

mod place;
mod tables;

use std::fs::{self, File, OpenOptions};
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, ToSql};

use super::error::{LedgerError, LedgerErrorKind};
use super::failpoint;
use super::name::Name;
use super::place::{directory, sync_name};
use super::store::{FileLock, SqlRow, SqlValue, Store, odd};
use place::{LedgerFile, WriteAheadLog};

/// A connection to the file of a ledger.
#[derive(Debug)]
pub(super) struct Sqlite {
    connection: Connection,
    file: LedgerFile,
    log: WriteAheadLog,
}

impl Sqlite {
    /// Creates a new file with empty tables.
    pub(super) fn create(path: &Path) -> Result<Sqlite, LedgerError> {
        let refuse = |error| LedgerError::refused(format!("ledger {}: {error}", path.display()));
        OpenOptions::new().write(true).create_new(true).open(path).map_err(refuse)?;
        let fill = || {
            let mut store = Sqlite::open_file(LedgerFile::find(path)?)?;
            store.begin()?;
            store.connection.execute_batch(tables::TABLES).map_err(|error| store.failed(error))?;
            store.commit()?;
            // The file's name is durable only with its directory.
            sync_name(path).map_err(refuse)?;
            Ok(store)
        };
        fill().inspect_err(|_| Sqlite::discard(path))
    }

    /// Removes a file that was created and holds no ledger yet, so that it can be created again.
    pub(super) fn discard(path: &Path) {
        for ending in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            // What is left is refused with its remedy.
            let _ = fs::remove_file(name);
        }
    }

    /// Opens an existing file, and never creates one.
    pub(super) fn open(path: &Path) -> Result<Sqlite, LedgerError> {
        let file = LedgerFile::find(path)?;
        // SQLite would create an empty database in it.
        if file.is_empty() {
            return Err(LedgerError::doubt(format!(
                "ledger {}: it is empty, and holds no ledger; bring back the newest copy with its -wal, or remove the file if \
                 no ledger was ever made here",
                path.display()
            )));
        }
        Sqlite::open_file(file)
    }

    fn open_file(file: LedgerFile) -> Result<Sqlite, LedgerError> {
        tables::check_library(rusqlite::version_number())?;
        let (connection, log) = connect(&file)?;
        Ok(Sqlite { connection, file, log })
    }
}

impl Sqlite {
    /// Converts an error of any statement but a commit.
    fn failed(&self, error: rusqlite::Error) -> LedgerError {
        tables::before_commit(self.file.path(), error)
    }

    /// Checks that no job is running: a process that has the file open would continue to write to it after it
    /// was replaced.
    pub(super) fn nobody_runs(&self) -> Result<(), LedgerError> {
        let refuse = |error: std::io::Error| {
            LedgerError::refused(format!("ledger {}: {error}", self.file.path().display())).caused_by(error)
        };
        let prefix = self.file.lock_prefix();
        for entry in fs::read_dir(self.file.directory()).map_err(refuse)? {
            let entry = entry.map_err(refuse)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_lock = name.starts_with(&prefix) && name.ends_with(".lock");
            if is_lock && FileLock::new(File::open(entry.path()).map_err(refuse)?).is_none() {
                return Err(LedgerError::new(
                    LedgerErrorKind::Fenced,
                    format!("a job is running, which holds {name}; end it first"),
                ));
            }
        }
        Ok(())
    }
}

impl Store for Sqlite {
    /// Begins an immediate transaction: one that reads before it takes the write lock fails at once if
    /// another process writes in between.
    fn begin(&mut self) -> Result<(), LedgerError> {
        self.file.is_in_place(&self.log)?;
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(|error| self.failed(error))
    }

    fn snapshot(&mut self) -> Result<(), LedgerError> {
        self.connection.execute_batch("BEGIN DEFERRED").map_err(|error| self.failed(error))
    }

    fn commit(&mut self) -> Result<(), LedgerError> {
        self.connection
            .execute_batch("COMMIT")
            .map_err(|error| tables::at_commit(self.file.path(), error))?;
        failpoint::reached("ack-lost", LedgerErrorKind::Unknown)
    }

    fn roll_back(&mut self) {
        let _ = self.connection.execute_batch("ROLLBACK");
    }

    fn execute(&mut self, statement: &'static str, values: &[SqlValue<'_>]) -> Result<u64, LedgerError> {
        let mut statement = self.connection.prepare_cached(statement).map_err(|error| self.failed(error))?;
        let changed =
            statement.execute(rusqlite::params_from_iter(values)).map_err(|error| self.failed(error))?;
        Ok(changed as u64)
    }

    fn read(
        &mut self,
        statement: &'static str,
        values: &[SqlValue<'_>],
        take: &mut dyn FnMut(&dyn SqlRow) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let mut statement = self.connection.prepare_cached(statement).map_err(|error| self.failed(error))?;
        let mut rows =
            statement.query(rusqlite::params_from_iter(values)).map_err(|error| self.failed(error))?;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            take(row)?;
        }
        Ok(())
    }

    /// Runs `integrity_check` and not `quick_check`, which does not check indexes: one flipped byte of the
    /// index of names hides a sealed release, and its window would be drawn again.
    fn check(&mut self) -> Result<(), LedgerError> {
        let sound: String = self
            .connection
            .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
            .map_err(|error| self.failed(error))?;
        if sound == "ok" {
            return Ok(());
        }
        Err(LedgerError::doubt(format!("ledger: the file is torn: {}", sound.replace('\n', " "))))
    }

    fn exclude(&mut self, job: &Name) -> Result<Option<FileLock>, LedgerError> {
        // Checked again, because a mount or a link may have been made since the file was opened.
        self.file.is_in_place(&self.log)?;
        LedgerFile::find(self.file.path())?;
        let path = self.file.directory().join(format!("{}{job}.lock", self.file.lock_prefix()));
        let refuse = |error| LedgerError::refused(format!("{}: {error}", path.display()));
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path).map_err(refuse)?;
        let running = || {
            let message = format!("job {job} is running already, in a process that holds {}", path.display());
            LedgerError::new(LedgerErrorKind::Fenced, message)
        };
        FileLock::new(file).ok_or_else(running).map(Some)
    }

    fn reconnect(&mut self) -> Result<(), LedgerError> {
        (self.connection, self.log) = connect(&self.file)?;
        Ok(())
    }

    fn export(&mut self, to: &Path) -> Result<(), LedgerError> {
        if fs::exists(to).unwrap_or(true) {
            return Err(LedgerError::refused(format!(
                "export {}: there is a file already; give a new path",
                to.display()
            )));
        }
        let parent = directory(to);
        if !parent.is_dir() {
            return Err(LedgerError::refused(format!(
                "export {}: there is no directory {}; make it",
                to.display(),
                parent.display()
            )));
        }
        let to = to.to_str().ok_or_else(|| LedgerError::refused("export: give a path in UTF-8"))?;
        self.connection.execute("VACUUM INTO ?1", [to]).map_err(|error| self.failed(error))?;
        Ok(())
    }

    fn shrink(&mut self) -> Result<(), LedgerError> {
        self.file.is_in_place(&self.log)?;
        let shrink = "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)";
        self.connection.execute_batch(shrink).map_err(|error| self.failed(error))
    }

    fn is_remote(&self) -> bool {
        false
    }

    fn warning(&self) -> Option<String> {
        place::warning(self.file.path())
    }
}

fn connect(file: &LedgerFile) -> Result<(Connection, WriteAheadLog), LedgerError> {
    // Never `CREATE`: a mistyped path must not be a fresh budget. Never a URI, in which a path could smuggle
    // options.
    let failed = |error| tables::before_commit(file.path(), error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file.path(), flags).map_err(failed)?;
    // Without the right to write, SQLite opens a file for reading and reports no error.
    if connection.is_readonly(rusqlite::MAIN_DB).map_err(failed)? {
        return Err(LedgerError::refused(format!(
            "ledger {}: it cannot be written; the file and its directory, where its -wal lies, must be writable",
            file.path().display()
        )));
    }
    connection.set_prepared_statement_cache_capacity(64);
    // Without this setting a statement that a partial index might serve is compiled again for each new value
    // of its parameters.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
    tables::settle(&connection, file.path())?;
    // The first read opens the log, which stays for as long as any connection does.
    connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        .map_err(failed)?;
    let log = file.log()?;
    Ok((connection, log))
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(rusqlite::types::ToSqlOutput::Borrowed(match self {
            SqlValue::Nothing => ValueRef::Null,
            SqlValue::Number(number) => ValueRef::Integer(*number),
            SqlValue::Text(text) => ValueRef::Text(text.as_bytes()),
            SqlValue::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl SqlRow for rusqlite::Row<'_> {
    fn number(&self, column: usize) -> Result<Option<i64>, LedgerError> {
        self.get(column).map_err(|_| odd(column))
    }

    fn text(&self, column: usize) -> Result<String, LedgerError> {
        self.get(column).map_err(|_| odd(column))
    }

    fn bytes(&self, column: usize) -> Result<Option<Vec<u8>>, LedgerError> {
        self.get(column).map_err(|_| odd(column))
    }
}
