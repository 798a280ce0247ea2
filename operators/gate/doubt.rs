//! Why a gate stops.

use std::fmt;

use crate::ledger::{LedgerError, LedgerErrorKind};

/// Why the gate no longer releases anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HaltReason {
    /// A later process of the same job holds the fence.
    Fenced,
    /// The ledger is torn or edited.
    Ledger,
    /// The ledger is an older copy: it does not hold what has been published from it.
    Behind,
    /// The input was abandoned before it was complete.
    Incomplete,
    /// It is not known whether a commit took place.
    Unknown,
    /// The operating system gave no randomness.
    NoRandomness,
    /// The gate was closed, or its thread died.
    Ended,
}

impl HaltReason {
    /// What a ledger's trouble means for a gate that cannot go on with it.
    pub(super) fn about(trouble: &LedgerError) -> HaltReason {
        match trouble.kind() {
            LedgerErrorKind::Fenced => HaltReason::Fenced,
            LedgerErrorKind::Unknown => HaltReason::Unknown,
            _ => HaltReason::Ledger,
        }
    }
}

impl fmt::Display for HaltReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HaltReason::Fenced => "ledger: a later process of this job has taken over",
            HaltReason::Ledger => "ledger: it is in doubt; nothing more is released from it",
            HaltReason::Unknown => {
                "ledger: nobody knows whether the last commit took place; start again, and it is read"
            }
            HaltReason::Behind => "ledger: it is an older copy; what was published from it is not in it",
            HaltReason::NoRandomness => "the operating system gives no randomness",
            HaltReason::Incomplete => "the input was abandoned before it was complete",
            HaltReason::Ended => "gate: its thread has ended",
        })
    }
}

/// A doubt with what it came of, as a gate that has halted keeps it.
#[derive(Clone, Debug)]
pub(super) struct Halt {
    pub(super) doubt: HaltReason,
    /// The ledger's own words, where the doubt is about the ledger.
    pub(super) cause: Option<String>,
}

impl From<&Halt> for LedgerError {
    fn from(halt: &Halt) -> LedgerError {
        let trouble = LedgerError::from(halt.doubt);
        match (&halt.cause, halt.doubt) {
            (Some(cause), HaltReason::Unknown) => {
                let message = format!("{cause}; what the last commit has become is read at the next start");
                LedgerError::new(trouble.kind(), message)
            }
            (Some(cause), HaltReason::Ledger) => {
                LedgerError::new(trouble.kind(), format!("{cause}; nothing more is released"))
            }
            _ => trouble,
        }
    }
}

/// What is said to whoever asks a gate that has halted.
impl From<HaltReason> for LedgerError {
    fn from(doubt: HaltReason) -> LedgerError {
        let kind = match doubt {
            HaltReason::Fenced => LedgerErrorKind::Fenced,
            HaltReason::Unknown => LedgerErrorKind::Unknown,
            _ => LedgerErrorKind::Doubt,
        };
        LedgerError::new(kind, doubt.to_string())
    }
}
