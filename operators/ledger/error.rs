//! Errors of a ledger, by their effect on it.

use std::error::Error;
use std::fmt;
use std::path::Path;

use crate::invalid::Invalid;

/// An error of a ledger: nothing was written, or it is unknown; see [`LedgerError::kind`].
#[derive(Debug)]
pub struct LedgerError {
    kind: LedgerErrorKind,
    message: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

/// The kind of a ledger error, by its effect on the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LedgerErrorKind {
    /// An invalid request: a path without a ledger, an unknown account, a bad parameter. Nothing was written.
    Refused,
    /// Another writer held the ledger for longer than the timeout. Nothing was written.
    Busy,
    /// Another process of the same job is running, or has claimed the job since. Nothing was written.
    Fenced,
    /// The ledger is torn, edited, an older copy, or kept by a database library that loses commits. Nothing
    /// may be released from it.
    Doubt,
    /// It is unknown whether a commit took place: the commit failed, or the disk or the connection did.
    Unknown,
}

impl LedgerError {
    pub(crate) fn new(kind: LedgerErrorKind, message: impl Into<String>) -> LedgerError {
        LedgerError { kind, message: message.into(), cause: None }
    }

    pub(crate) fn doubt(message: impl Into<String>) -> LedgerError {
        LedgerError::new(LedgerErrorKind::Doubt, message)
    }

    pub(crate) fn refused(message: impl Into<String>) -> LedgerError {
        LedgerError::new(LedgerErrorKind::Refused, message)
    }

    /// Keeps the error that this one comes from. An error of a server is none: it may quote a row.
    pub(crate) fn caused_by(self, cause: impl Error + Send + Sync + 'static) -> LedgerError {
        LedgerError { cause: Some(Box::new(cause)), ..self }
    }

    /// Adds the path of a file to the message: `ledger: ..` becomes `ledger visits.ledger: ..`.
    #[must_use]
    pub fn about(self, what: &str, place: &Path) -> LedgerError {
        let message = match self.message.strip_prefix(what).and_then(|rest| rest.strip_prefix(": ")) {
            Some(rest) => format!("{what} {}: {rest}", place.display()),
            None => self.message,
        };
        LedgerError { message, ..self }
    }

    /// Adds what else there is to know to the message.
    pub(crate) fn followed_by(self, note: &str) -> LedgerError {
        LedgerError { message: format!("{}; {note}", self.message), ..self }
    }

    /// The kind of the error.
    pub fn kind(&self) -> LedgerErrorKind {
        self.kind
    }
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for LedgerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

impl From<Invalid> for LedgerError {
    fn from(invalid: Invalid) -> LedgerError {
        LedgerError::refused(invalid.to_string()).caused_by(invalid)
    }
}
