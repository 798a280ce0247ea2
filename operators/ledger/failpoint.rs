//! Failpoints: places at which the crash tests end, suspend or fail a process. An ordinary build compiles
//! none of them.
//!
//! With the feature `failpoints`, an environment variable selects the action:
//! `DISCREET_FAILPOINT=after-insert:3:abort` kills the process when it reaches that failpoint for the third
//! time. `stop` suspends it there until it is continued, and `error` makes the step fail as its I/O would;
//! `3-5` means the third to the fifth time.

#[cfg(feature = "failpoints")]
mod present;

#[cfg(feature = "failpoints")]
pub use present::{MARKER, hits, reached};

/// Does nothing and never fails.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn reached(_point: &'static str, _kind: super::LedgerErrorKind) -> Result<(), super::LedgerError> {
    Ok(())
}
