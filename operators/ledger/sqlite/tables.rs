//! The tables of a ledger in SQLite, the changes allowed in them, and the settings under which it is trusted.

use std::path::Path;

use rusqlite::Connection;

use super::super::error::{LedgerError, LedgerErrorKind};

/// The schema. Every table is strict; triggers refuse changes that this library never makes, so that a
/// mistake in it, or a person with a shell, fails loudly. They are no protection from a person who drops
/// them: the chain is.
///
/// The id of a release is a hash that includes its window, so ids are unique if (window, id) is; with the
/// window in front, new entries of the index are adjacent. An index of ids alone made the millionth seal cost
/// 1.7 times the first.
pub(super) const TABLES: &str = "
CREATE TABLE meta (only INTEGER PRIMARY KEY CHECK (only = 1), format INTEGER NOT NULL, ledger BLOB NOT NULL) STRICT;
CREATE TABLE head (only INTEGER PRIMARY KEY CHECK (only = 1), sequence INTEGER NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE key_check (
  only INTEGER PRIMARY KEY CHECK (only = 1), mac BLOB NOT NULL, generation INTEGER NOT NULL) STRICT;
CREATE TABLE fence (job TEXT PRIMARY KEY, generation INTEGER NOT NULL) STRICT;
CREATE TABLE account (
  name TEXT PRIMARY KEY, sequence INTEGER NOT NULL UNIQUE, unit TEXT NOT NULL, relation TEXT NOT NULL,
  promise TEXT NOT NULL, span INTEGER NOT NULL, cap BLOB NOT NULL, person TEXT NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE release (
  id BLOB NOT NULL, sequence INTEGER PRIMARY KEY, account TEXT NOT NULL REFERENCES account (name),
  job TEXT NOT NULL, version BLOB NOT NULL, name TEXT NOT NULL, window_start INTEGER NOT NULL,
  window_end INTEGER NOT NULL, part BLOB, generation INTEGER NOT NULL, status TEXT NOT NULL, cost BLOB, partial BLOB,
  life_start INTEGER, life_end INTEGER, prepaid BLOB, state BLOB,
  line TEXT NOT NULL, delivered INTEGER NOT NULL, chain BLOB NOT NULL,
  UNIQUE (window_start, id)) STRICT;
CREATE INDEX undelivered ON release (job) WHERE delivered = 0;
CREATE INDEX reserved ON release (job, name) WHERE life_start IS NOT NULL;
CREATE INDEX kept ON release (job, name) WHERE state IS NOT NULL;
CREATE INDEX last_row ON release (job, name, version, window_end) WHERE part IS NULL;
CREATE TABLE amendment (
  sequence INTEGER PRIMARY KEY, account TEXT NOT NULL REFERENCES account (name), cap BLOB NOT NULL,
  who TEXT NOT NULL, why TEXT NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE repair (
  sequence INTEGER PRIMARY KEY, sound INTEGER NOT NULL, floor INTEGER NOT NULL, reason TEXT NOT NULL,
  given_up BLOB NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE archive (
  sequence INTEGER PRIMARY KEY, until INTEGER NOT NULL, floor INTEGER NOT NULL, file BLOB NOT NULL,
  former BLOB NOT NULL, state BLOB NOT NULL, carried BLOB NOT NULL, content BLOB NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE rekey (sequence INTEGER PRIMARY KEY, mac BLOB NOT NULL, states BLOB NOT NULL, chain BLOB NOT NULL) STRICT;
CREATE TABLE state (
  job TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, former BLOB, digest BLOB NOT NULL, held BLOB NOT NULL,
  PRIMARY KEY (job, name, version)) STRICT, WITHOUT ROWID;
CREATE TABLE noted (
  job TEXT NOT NULL, name TEXT NOT NULL, place INTEGER NOT NULL, held BLOB NOT NULL,
  PRIMARY KEY (job, name, place)) STRICT, WITHOUT ROWID;
CREATE TABLE position (
  job TEXT NOT NULL, input INTEGER NOT NULL, place BLOB NOT NULL, held BLOB NOT NULL,
  PRIMARY KEY (job, input, place)) STRICT, WITHOUT ROWID;
CREATE TABLE balance (
  account TEXT NOT NULL REFERENCES account (name), reach INTEGER NOT NULL, place INTEGER NOT NULL, until INTEGER NOT NULL,
  spent BLOB NOT NULL, partial BLOB NOT NULL, PRIMARY KEY (account, reach, place, until)) STRICT, WITHOUT ROWID;
CREATE TABLE agreed (
  job TEXT NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL, parameters BLOB NOT NULL, fields BLOB NOT NULL,
  PRIMARY KEY (job, version, name)) STRICT, WITHOUT ROWID;
CREATE TABLE settled (
  job TEXT NOT NULL, name TEXT NOT NULL, version BLOB NOT NULL, until INTEGER NOT NULL,
  PRIMARY KEY (job, name, version)) STRICT, WITHOUT ROWID;
CREATE TABLE checkpoint (
  only INTEGER PRIMARY KEY CHECK (only = 1), sequence INTEGER NOT NULL, content BLOB NOT NULL, mac BLOB NOT NULL) STRICT;
CREATE TRIGGER meta_stays BEFORE UPDATE ON meta BEGIN SELECT raise(ABORT, 'a ledger keeps its name'); END;
CREATE TRIGGER key_check_moves_on BEFORE UPDATE ON key_check WHEN new.generation <> old.generation + 1
  BEGIN SELECT raise(ABORT, 'a ledger keeps its key'); END;
CREATE TRIGGER key_check_kept BEFORE DELETE ON key_check BEGIN SELECT raise(ABORT, 'a ledger keeps its key'); END;
CREATE TRIGGER head_grows BEFORE UPDATE ON head WHEN new.sequence <= old.sequence
  BEGIN SELECT raise(ABORT, 'the chain only grows'); END;
CREATE TRIGGER fence_rises BEFORE UPDATE ON fence WHEN new.generation <= old.generation
  BEGIN SELECT raise(ABORT, 'a fence only rises'); END;
CREATE TRIGGER account_stays BEFORE UPDATE ON account BEGIN SELECT raise(ABORT, 'an account is stated once'); END;
CREATE TRIGGER account_kept BEFORE DELETE ON account BEGIN SELECT raise(ABORT, 'an account is stated once'); END;
CREATE TRIGGER release_stays BEFORE UPDATE OF
  id, sequence, account, job, version, name, window_start, window_end, part, generation, status, cost, partial,
  life_start, life_end, prepaid, state, line, chain
  ON release BEGIN SELECT raise(ABORT, 'a release is written once'); END;
CREATE TRIGGER release_delivered BEFORE UPDATE OF delivered ON release WHEN new.delivered < old.delivered
  BEGIN SELECT raise(ABORT, 'a delivery is not taken back'); END;
CREATE TRIGGER release_kept BEFORE DELETE ON release
  WHEN old.sequence > (SELECT COALESCE(max(until), 0) FROM archive)
  BEGIN SELECT raise(ABORT, 'a release is written once'); END;
CREATE TRIGGER amendment_stays BEFORE UPDATE ON amendment BEGIN SELECT raise(ABORT, 'an amendment stays'); END;
CREATE TRIGGER amendment_kept BEFORE DELETE ON amendment BEGIN SELECT raise(ABORT, 'an amendment stays'); END;
CREATE TRIGGER repair_stays BEFORE UPDATE ON repair BEGIN SELECT raise(ABORT, 'a repair stays'); END;
CREATE TRIGGER repair_kept BEFORE DELETE ON repair BEGIN SELECT raise(ABORT, 'a repair stays'); END;
CREATE TRIGGER archive_stays BEFORE UPDATE OF sequence, until, floor, file, former, state, carried, chain ON archive
  BEGIN SELECT raise(ABORT, 'an archive stays'); END;
CREATE TRIGGER archive_kept BEFORE DELETE ON archive BEGIN SELECT raise(ABORT, 'an archive stays'); END;
CREATE TRIGGER rekey_stays BEFORE UPDATE ON rekey BEGIN SELECT raise(ABORT, 'a rekey stays'); END;
CREATE TRIGGER rekey_kept BEFORE DELETE ON rekey BEGIN SELECT raise(ABORT, 'a rekey stays'); END;
CREATE TRIGGER state_stays BEFORE UPDATE ON state BEGIN SELECT raise(ABORT, 'a state is written once'); END;
CREATE TRIGGER state_moves_on BEFORE INSERT ON state
  WHEN new.version <= (SELECT max(version) FROM state WHERE job = new.job AND name = new.name)
  BEGIN SELECT raise(ABORT, 'a state only moves on'); END;
CREATE TRIGGER noted_stays BEFORE UPDATE ON noted BEGIN SELECT raise(ABORT, 'a note is written once'); END;
CREATE TRIGGER balance_grows BEFORE UPDATE ON balance WHEN new.spent < old.spent OR new.partial < old.partial
  BEGIN SELECT raise(ABORT, 'what is spent is never given back'); END;
CREATE TRIGGER balance_kept BEFORE DELETE ON balance WHEN NOT EXISTS (SELECT 1 FROM archive)
  BEGIN SELECT raise(ABORT, 'what is spent is never given back'); END;
CREATE TRIGGER settled_rises BEFORE UPDATE ON settled WHEN new.until <= old.until
  BEGIN SELECT raise(ABORT, 'a frontier only rises'); END;
CREATE TRIGGER settled_kept BEFORE DELETE ON settled BEGIN SELECT raise(ABORT, 'a frontier only rises'); END;
CREATE TRIGGER agreed_stays BEFORE UPDATE ON agreed BEGIN SELECT raise(ABORT, 'a version keeps its word'); END;
CREATE TRIGGER agreed_kept BEFORE DELETE ON agreed BEGIN SELECT raise(ABORT, 'a version keeps its word'); END;
";

/// The settings of every connection, each with the value that must read back. In write-ahead mode, commits
/// survive a power cut only with `synchronous = FULL`.
const SETTINGS: [(&str, &str, &str); 7] = [
    ("journal_mode", "WAL", "wal"),
    ("synchronous", "FULL", "2"),
    ("mmap_size", "0", "0"),
    ("trusted_schema", "OFF", "0"),
    ("cell_size_check", "ON", "1"),
    ("foreign_keys", "ON", "1"),
    ("secure_delete", "ON", "1"),
];

/// The time to wait for another writer.
const BUSY_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// Refuses a version of SQLite that is known to lose commits: up to 3.51.2 a writer that races a checkpoint
/// can, and 3.52.0 was withdrawn.
pub(super) fn check_library(version: i32) -> Result<(), LedgerError> {
    if version < 3_051_003 || version == 3_052_000 {
        let message =
            format!("SQLite {version} can lose commits; build with 3.51.3 or later, 3.52.0 excepted");
        return Err(LedgerError::doubt(message));
    }
    Ok(())
}

/// Applies the settings and reads them back.
pub(super) fn settle(connection: &Connection, path: &Path) -> Result<(), LedgerError> {
    let before_commit = |error| before_commit(path, error);
    connection.busy_timeout(BUSY_TIMEOUT).map_err(before_commit)?;
    for (name, value, expected) in SETTINGS {
        let read = |connection: &Connection, statement: &str| {
            connection.query_row(statement, [], |row| {
                row.get::<_, rusqlite::types::Value>(0).map(|value| match value {
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    other => format!("{other:?}"),
                })
            })
        };
        // Some settings return their new value, and some return nothing.
        match read(connection, &format!("PRAGMA {name} = {value}")) {
            Ok(_) | Err(rusqlite::Error::QueryReturnedNoRows) => {}
            Err(error) => return Err(before_commit(error)),
        }
        let found = read(connection, &format!("PRAGMA {name}")).map_err(before_commit)?;
        if found != expected {
            let message = format!("SQLite keeps {name} = {found} where {expected} is needed");
            return Err(LedgerError::doubt(message));
        }
    }
    Ok(())
}

/// Converts an error of any statement but a commit: nothing of its transaction is durable. If the file itself
/// may be damaged, earlier commits are uncertain too.
pub(super) fn before_commit(path: &Path, error: rusqlite::Error) -> LedgerError {
    use rusqlite::ErrorCode as Code;
    let kind = match error.sqlite_error_code() {
        _ if is_damage(&error) => LedgerErrorKind::Doubt,
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => LedgerErrorKind::Busy,
        Some(Code::SystemIoFailure | Code::DiskFull | Code::ReadOnly | Code::FileLockingProtocolFailed) => {
            LedgerErrorKind::Unknown
        }
        Some(_) => LedgerErrorKind::Refused,
        // An error that SQLite did not return is a column with an invalid value.
        None => LedgerErrorKind::Doubt,
    };
    LedgerError::new(kind, described(path, &error)).caused_by(error)
}

/// Returns true if the file is torn, or no database.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode as Code;
    // An unknown number in the header has no code of its own.
    matches!(error.sqlite_error_code(), Some(Code::NotADatabase | Code::DatabaseCorrupt))
        || error.to_string().starts_with("unsupported file format")
}

/// Converts an error of a commit: the rows may be there when the file is opened again, whatever the error.
pub(super) fn at_commit(path: &Path, error: rusqlite::Error) -> LedgerError {
    LedgerError::new(LedgerErrorKind::Unknown, described(path, &error)).caused_by(error)
}

/// The message for an error: the file, the cause and the remedy, and the text of SQLite.
fn described(path: &Path, error: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode as Code;
    let advice = match error.sqlite_error_code() {
        _ if is_damage(error) => {
            "it is torn, or no ledger; bring back the newest copy, or see `discreet ledger repair`"
        }
        Some(Code::DiskFull) => "its disk is full; make room, and start again",
        Some(Code::SystemIoFailure) => {
            "its disk is full or fails, or a limit on the size of files (`ulimit -f`) is reached; see to that, and start \
             again"
        }
        Some(Code::ReadOnly | Code::CannotOpen | Code::PermissionDenied) => {
            "it cannot be written; the file and its directory, where its -wal lies, must be writable"
        }
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => {
            "another process has been writing to it for too long"
        }
        _ => return format!("ledger {}: {error}", path.display()),
    };
    format!("ledger {}: {advice} ({error})", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_lose_commits_are_refused() {
        for version in [3_040_001, 3_051_002, 3_052_000] {
            assert_eq!(check_library(version).unwrap_err().kind(), LedgerErrorKind::Doubt);
        }
        for version in [3_051_003, 3_053_000, rusqlite::version_number()] {
            assert!(check_library(version).is_ok());
        }
    }
}
