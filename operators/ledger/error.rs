//! Why a ledger did not do what was asked, and what is known about it afterwards.

use std::fmt;
use std::path::Path;

use crate::invalid::Invalid;

/// Nothing was done, or nobody knows: see [`LedgerError::kind`].
#[derive(Debug)]
pub struct LedgerError {
    kind: LedgerErrorKind,
    message: String,
}

/// What is known after trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LedgerErrorKind {
    /// The request makes no sense: a path that is no ledger, an unknown domain, a bad parameter. Nothing was written.
    Refused,
    /// Somebody else is writing, and went on for longer than the wait. Nothing was written.
    Busy,
    /// Another process of the same job is running, or has taken over. Nothing was written.
    Fenced,
    /// The ledger is torn, edited, behind, or kept by a library that loses commits. Nothing may be released from it.
    Doubt,
    /// A commit failed in a way that leaves open whether it took place.
    Unknown,
}

impl LedgerError {
    pub(crate) fn new(kind: LedgerErrorKind, message: impl Into<String>) -> LedgerError {
        LedgerError { kind, message: message.into() }
    }

    pub(crate) fn doubt(message: impl Into<String>) -> LedgerError {
        LedgerError::new(LedgerErrorKind::Doubt, message)
    }

    pub(crate) fn refused(message: impl Into<String>) -> LedgerError {
        LedgerError::new(LedgerErrorKind::Refused, message)
    }

    /// Names what the message is about: `ledger: ..` becomes `ledger visits.ledger: ..`.
    #[must_use]
    pub fn about(self, what: &str, place: &Path) -> LedgerError {
        let message = match self.message.strip_prefix(what).and_then(|rest| rest.strip_prefix(": ")) {
            Some(rest) => format!("{what} {}: {rest}", place.display()),
            None => self.message,
        };
        LedgerError { message, ..self }
    }

    /// What is known.
    pub fn kind(&self) -> LedgerErrorKind {
        self.kind
    }
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LedgerError {}

impl From<Invalid> for LedgerError {
    fn from(invalid: Invalid) -> LedgerError {
        LedgerError::refused(invalid.to_string())
    }
}
