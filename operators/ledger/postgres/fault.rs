//! What an error of the server leaves known. Its details are never repeated: they quote rows, and a row that was not
//! committed holds a draw that nobody may see.

use std::error::Error as _;

use postgres::Error;
use postgres::error::SqlState;

use super::super::trouble::{LedgerError, LedgerErrorKind};

/// An error of anything but a commit: nothing was written. [`LedgerErrorKind::Unknown`] says that this connection is of no
/// more use, so that a gate asks again over another.
pub(super) fn before_commit(error: &Error) -> LedgerError {
    LedgerError::new(kind(error), format!("ledger: {}", said(error)))
}

/// An error of a commit. Only a server that says that it undid the transaction is believed.
pub(super) fn at_commit(error: &Error) -> LedgerError {
    let undone = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    let kind = match error.code() {
        Some(code) if undone.contains(code) => LedgerErrorKind::Busy,
        _ => LedgerErrorKind::Unknown,
    };
    LedgerError::new(kind, format!("ledger: the commit did not end: {}", said(error)))
}

/// An error of connecting: a server that cannot be reached may be there again soon, one that says no will not.
pub(super) fn at_connect(error: &Error) -> LedgerError {
    let kind = match error.code().map(SqlState::code) {
        Some(code) if code.starts_with("28") || code.starts_with("3D") => LedgerErrorKind::Refused,
        // A server takes the token of a session; a pooler says that it does not know such a parameter.
        Some("08P01") => return pooled(&said(error)),
        Some(_) => kind(error),
        // The crate calls it so, and keeps the kind to itself.
        None if error.to_string() == "invalid configuration" => {
            return LedgerError::refused(
                "ledger: the server asks for a password, and there is none for it in PGPASSWORD, in the file that \
                 PGPASSFILE names, or in ~/.pgpass",
            );
        }
        None => LedgerErrorKind::Unknown,
    };
    LedgerError::new(kind, format!("ledger: no connection to the server: {}", said(error)))
}

/// What is between this process and the server hands sessions from one client to another, or may.
pub(super) fn pooled(found: &str) -> LedgerError {
    LedgerError::refused(format!(
        "ledger: {found}: there is a pooler in front of the server, which gives one session to many clients; connect to \
         the server itself"
    ))
}

fn kind(error: &Error) -> LedgerErrorKind {
    match error.code() {
        Some(code) => kind_of(code.code()),
        // What is neither an answer nor a broken line is a column that does not hold what it should.
        None if error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>()) => {
            LedgerErrorKind::Unknown
        }
        None => LedgerErrorKind::Doubt,
    }
}

/// By the class and the number of an SQLSTATE.
fn kind_of(code: &str) -> LedgerErrorKind {
    match code {
        // Its answer was lost; or the server ends the session, is going down, or has become a standby.
        "40003" | "25P03" | "25006" => LedgerErrorKind::Unknown,
        // It undid the transaction itself, or waited as long as it was told to.
        "40001" | "40P01" | "55P03" | "57014" => LedgerErrorKind::Busy,
        _ => match &code[..code.len().min(2)] {
            // Connections; no room, memory or disk; an operator's intervention; the server's own files.
            "08" | "53" | "57" | "58" => LedgerErrorKind::Unknown,
            // Damage.
            "XX" | "F0" => LedgerErrorKind::Doubt,
            // Constraints, triggers, rights.
            _ => LedgerErrorKind::Refused,
        },
    }
}

/// What the server said, without its details, or what became of the connection.
fn said(error: &Error) -> String {
    match error.as_db_error() {
        Some(answer) => format!("{} ({})", answer.message(), answer.code().code()),
        None => match error.source().filter(|source| source.is::<std::io::Error>()) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_leaves_known_is_what_its_code_says() {
        use LedgerErrorKind::{Busy, Doubt, Refused, Unknown};
        for (code, kind) in [
            ("08006", Unknown),
            ("40003", Unknown),
            ("57P01", Unknown),
            ("57P02", Unknown),
            ("57P03", Unknown),
            ("57P05", Unknown),
            ("25P03", Unknown),
            ("53100", Unknown),
            ("53300", Unknown),
            ("40001", Busy),
            ("40P01", Busy),
            ("55P03", Busy),
            ("57014", Busy),
            ("23505", Refused),
            ("P0001", Refused),
            ("42501", Refused),
            ("XX001", Doubt),
            ("XX002", Doubt),
        ] {
            assert_eq!(kind_of(code), kind, "{code}");
        }
    }
}
