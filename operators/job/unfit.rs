//! The refusal of a job that is read without mistakes but cannot be planned.

use std::fmt;

use crate::dataflow::RunError;
use crate::invalid::Invalid;

/// A refusal of a job that cannot be planned, with the field of the job file and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfitJob {
    field: String,
    message: String,
}

impl UnfitJob {
    /// Creates a refusal. `field` is written as in the file, `release[2].cost`; the message states the value
    /// found and the remedy.
    pub(crate) fn new(field: impl Into<String>, message: impl Into<String>) -> UnfitJob {
        UnfitJob { field: field.into(), message: message.into() }
    }

    /// Creates a refusal from that of a mechanism, a schedule or an account, at the field of the job file
    /// that caused it.
    pub(crate) fn at(field: impl Into<String>, invalid: &Invalid) -> UnfitJob {
        let found = invalid.found();
        UnfitJob::new(field, format!("{}: found {found}; give {}", invalid.field(), invalid.remedy()))
    }

    /// Creates the same refusal of a field inside of the table `place`.
    pub(crate) fn within(self, place: &str) -> UnfitJob {
        UnfitJob { field: format!("{place}.{}", self.field), ..self }
    }

    /// Returns the value found and the remedy.
    pub(in crate::job) fn message(&self) -> &str {
        &self.message
    }

    /// Returns the field of the job file.
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
