//! Why a job that reads well cannot be offered.

use std::fmt;

use crate::dataflow::RunError;
use crate::invalid::Invalid;

/// What of a job cannot be kept, and what would make it fit. It names the field of the job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfitJob {
    field: String,
    message: String,
}

impl UnfitJob {
    /// `field` is written as in the file, `release[2].cost`; the message says what was found and what to give.
    pub(crate) fn new(field: impl Into<String>, message: impl Into<String>) -> UnfitJob {
        UnfitJob { field: field.into(), message: message.into() }
    }

    /// What a mechanism, a schedule or an account refused, at the field of the job file that it comes from.
    pub(crate) fn at(field: impl Into<String>, invalid: &Invalid) -> UnfitJob {
        let found = invalid.kind().found();
        UnfitJob::new(field, format!("{}: found {found}; give {}", invalid.field(), invalid.remedy()))
    }

    /// The field of the job file.
    pub fn field(&self) -> &str {
        &self.field
    }
}

impl From<UnfitJob> for RunError {
    fn from(refused: UnfitJob) -> RunError {
        RunError::configuration(refused.to_string())
    }
}

impl fmt::Display for UnfitJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for UnfitJob {}
