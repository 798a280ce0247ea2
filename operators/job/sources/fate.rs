//! What the parts of a source know together: how many lines were bad, and why nothing more comes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::dataflow::SourceError;

/// What went wrong with a source, for all of its parts: the first thing that did.
#[derive(Debug)]
pub(super) struct SourceFault {
    /// The source's name.
    place: String,
    bad: AtomicU64,
    limit: u64,
    /// True where other processes read the rest of the input, and count their own lines.
    shared: bool,
    gone: OnceLock<SourceError>,
}

impl SourceFault {
    pub(super) fn new(place: String, limit: u64, shared: bool) -> Arc<SourceFault> {
        Arc::new(SourceFault { place, bad: AtomicU64::new(0), limit, shared, gone: OnceLock::new() })
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Takes note of lines that cannot be read.
    pub(super) fn bad(&self, lines: u64) {
        let before = self.bad.fetch_add(lines, Ordering::Relaxed);
        if before.saturating_add(lines) > self.limit {
            let limit = match self.limit {
                1 => "1 line".to_owned(),
                lines => format!("{lines} lines"),
            };
            let of = if self.shared { " of this process's part" } else { "" };
            let why = format!(
                "more than {limit}{of} cannot be read, which is its limit; see why with `discreet check JOB --sample N`, mend \
                 what writes them, or raise bad.lines"
            );
            self.fail(SourceError::refused(&self.place).because(why));
        }
    }

    /// One line out of a declared order.
    pub(super) fn unsorted(&self) {
        let why = "a line is earlier than one before it; sort them by time, or say order = \"any\"";
        self.fail(SourceError::refused(&self.place).because(why));
    }

    pub(super) fn fail(&self, gone: SourceError) {
        // The first reason is the one that is told.
        let _ = self.gone.set(gone);
    }

    pub(super) fn check(&self) -> Result<(), SourceError> {
        self.gone.get().map_or(Ok(()), |gone| Err(gone.clone()))
    }

    pub(super) fn has_failed(&self) -> bool {
        self.gone.get().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a limit that is one line off, on either side.
    #[test]
    fn a_limit_is_reached_before_it_is_passed() {
        let fate = SourceFault::new("visits.csv".into(), 2, false);
        fate.bad(2);
        assert!(fate.check().is_ok());
        fate.bad(1);
        let gone = fate.check().unwrap_err();
        assert!(gone.is_refused());
        let told = gone.to_string();
        assert!(
            told.starts_with("visits.csv: the input was refused: more than 2 lines cannot be read"),
            "{told}"
        );
        assert!(told.ends_with(", mend what writes them, or raise bad.lines"), "{told}");
        fate.unsorted();
        assert_eq!(fate.check().unwrap_err(), gone, "the first reason stays");
    }
}
