//! Places where the crash tests end, stop or fail a process. An ordinary build holds none of them: there, reaching one
//! is nothing at all.
//!
//! With the feature `failpoints`, the environment says what happens: `DISCREET_FAILPOINT=after-insert:3:abort` kills the
//! process when it comes to that place for the third time. `stop` suspends it there until somebody lets it go on, and
//! `error` makes the step fail as its I/O would; `3-5` is the third to the fifth time.

#[cfg(feature = "failpoints")]
mod present;

#[cfg(feature = "failpoints")]
pub use present::{MARKER, hits, reached};

/// Nothing, and never an error.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn reached(_point: &'static str, _kind: super::LedgerErrorKind) -> Result<(), super::LedgerError> {
    Ok(())
}
