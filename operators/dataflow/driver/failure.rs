//! The end of a run: errors, outcomes, and panics.

use std::cell::Cell;
use std::error::Error;
use std::io::Write;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, panic, process, thread};

use super::source::SourceError;
use crate::gate::HaltReason;
use crate::invalid::Invalid;
use crate::ledger::{LedgerError, LedgerErrorKind};

/// The reason for which a run ended before its inputs did. Nothing incomplete was sealed, and starting it
/// again is safe.
#[derive(Debug)]
pub struct RunError {
    kind: FailureKind,
    message: String,
    /// True if all processes of a cluster end by it, each with the same message and exit code.
    of_all: bool,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

/// The kind of an error that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// An input could not be accepted.
    Refused,
    /// A source is gone.
    Gone,
    /// An input was left before it was declared complete: an early return, a handle that was dropped, a
    /// declaration that contradicts an earlier one.
    Abandoned,
    /// A sink did not take a release.
    Sink,
    /// The ledger is in doubt, or another process has taken over.
    Ledger,
    /// The job cannot run as it is configured, or its processes do not find together.
    Configuration,
    /// Another process of the cluster has failed, or is gone.
    Peer,
}

impl RunError {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> RunError {
        RunError { kind, message: message.into(), of_all: false, cause: None }
    }

    /// The processes of a cluster have found out together that their inputs differ.
    pub(crate) fn of_all(message: impl Into<String>) -> RunError {
        RunError { of_all: true, ..RunError::new(FailureKind::Refused, message) }
    }

    /// Creates an error with the text of its cause.
    fn from_cause(kind: FailureKind, cause: impl Into<Box<dyn Error + Send + Sync>>) -> RunError {
        let cause = cause.into();
        let message = cause.to_string();
        RunError { cause: Some(cause), ..RunError::new(kind, message) }
    }

    pub(crate) fn is_of_all(&self) -> bool {
        self.of_all
    }

    pub(crate) fn abandoned(message: impl Into<String>) -> RunError {
        RunError::new(FailureKind::Abandoned, message)
    }

    pub(crate) fn configuration(message: impl Into<String>) -> RunError {
        RunError::new(FailureKind::Configuration, message)
    }

    /// A sink did not take a release.
    pub(crate) fn sink(error: &std::io::Error) -> RunError {
        RunError::new(FailureKind::Sink, format!("sink: {error}"))
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// Returns the exit code of the process: 65, 69, 70, 74 or 78.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            FailureKind::Refused => 65,
            FailureKind::Gone => 69,
            FailureKind::Abandoned | FailureKind::Peer => 70,
            FailureKind::Sink | FailureKind::Ledger => 74,
            FailureKind::Configuration => 78,
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for RunError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

impl From<Invalid> for RunError {
    fn from(invalid: Invalid) -> RunError {
        RunError::from_cause(FailureKind::Configuration, invalid)
    }
}

impl From<LedgerError> for RunError {
    fn from(trouble: LedgerError) -> RunError {
        let kind = match trouble.kind() {
            LedgerErrorKind::Refused => FailureKind::Configuration,
            _ => FailureKind::Ledger,
        };
        RunError::from_cause(kind, trouble)
    }
}

impl From<SourceError> for RunError {
    fn from(gone: SourceError) -> RunError {
        let kind = if gone.is_refused() { FailureKind::Refused } else { FailureKind::Gone };
        RunError { of_all: gone.is_of_all(), ..RunError::from_cause(kind, gone) }
    }
}

impl From<HaltReason> for RunError {
    fn from(doubt: HaltReason) -> RunError {
        RunError::from_cause(FailureKind::Ledger, doubt)
    }
}

/// Converts an error of the closure that builds the dataflows.
impl From<Box<dyn Error + Send + Sync>> for RunError {
    fn from(error: Box<dyn Error + Send + Sync>) -> RunError {
        RunError::from_cause(FailureKind::Abandoned, error)
    }
}

/// The outcome of a run whose inputs all ended, or that was asked to stop. The counts are of this process,
/// and are zero in a process that has no gate; all are public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    pub(crate) released: u64,
    pub(crate) refused: u64,
    pub(crate) skipped: u64,
    pub(crate) lost: u64,
    pub(crate) stopped: bool,
}

/// Formats the numbers of windows by outcome: `5 released, 7 refused`.
impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} released", self.released)?;
        for (count, what) in [(self.refused, "refused"), (self.skipped, "skipped"), (self.lost, "lost")] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        f.write_str(if self.stopped { ", stopped" } else { "" })
    }
}

impl Finished {
    /// A run that was stopped before it began.
    pub(crate) fn stopped() -> Finished {
        Finished { released: 0, refused: 0, skipped: 0, lost: 0, stopped: true }
    }

    /// Returns the number of released windows.
    pub fn released(&self) -> u64 {
        self.released
    }

    /// Returns the number of windows that were refused for budget.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Returns the number of windows that were skipped, because their time passed before they were complete.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The number of lost windows: they start before a repair of the ledger and have no row there, or they
    /// were charged and could not be sealed.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns true if the run was asked to stop before its inputs ended.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The exit code of the process: 75 if a window was refused for budget; 78 if the run came to its end,
    /// windows were lost and none was released, for then the job does not fit its ledger; else 0.
    pub fn exit_code(&self) -> u8 {
        match self {
            Finished { refused: 1.., .. } => 75,
            Finished { released: 0, lost: 1.., stopped: false, .. } => 78,
            _ => 0,
        }
    }
}

// What a panic does: it ends the process, at once, without a word of what it was about.
//
// A worker that panics alone would leave its siblings waiting for ever, and its message may hold a record. So
// the hook says the same sentence for every panic, and ends the process before anything unwinds: nobody can
// catch it, and no input is closed by being dropped.

/// Set once this process ends its run by itself: then its connections may break without a word.
static ENDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// True if this thread draws for a dataflow.
    static DRAWS: Cell<bool> = const { Cell::new(false) };
}

/// Says that this thread, a gate's, draws for a dataflow: what becomes of it becomes of the run.
pub(crate) fn draws_for_a_dataflow() {
    DRAWS.set(true);
}

/// From now on a panic on a thread of a dataflow, or of a gate that draws for one, ends the process with exit
/// code 70. Other threads panic as they did before.
pub(crate) fn end_the_process_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            let thread = thread::current();
            let name = thread.name().unwrap_or_default();
            let peer = name.strip_prefix("timely:recv-").or(name.strip_prefix("timely:send-"));
            if peer.is_some() {
                wait_for_a_reason();
            }
            if !name.starts_with("timely:") && !DRAWS.get() {
                return before(panicked);
            }
            // The library's own tests may know.
            #[cfg(test)]
            before(panicked);
            let what =
                peer.map_or("internal fault".into(), |peer| format!("process {peer} of the job is gone"));
            // The one place of the library that prints: the parent of this process gets nothing
            // else.
            let _ = writeln!(std::io::stderr(), "discreet: {what}; nothing incomplete was released");
            process::exit(70);
        }));
    });
}

/// Lets the connections of this process break: it has said how it ends.
pub(crate) fn expect_connections_to_break() {
    ENDING.store(true, Ordering::SeqCst);
}

/// For so long a connection that has broken waits for what another one says of it.
const REASON: Duration = Duration::from_secs(2);

/// Holds a connection that has broken. Where somebody says why within a moment, the run ends by that, and
/// this thread stays where it is: to unwind would spoil what it shares with the workers.
fn wait_for_a_reason() {
    let broke = Instant::now();
    while broke.elapsed() < REASON {
        while ENDING.load(Ordering::SeqCst) {
            thread::park();
        }
        thread::sleep(REASON / 100);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes windows that were refused, skipped or lost and are not spoken of.
    #[test]
    fn a_run_says_what_became_of_every_window() {
        let all = Finished { released: 0, refused: 0, skipped: 0, lost: 0, stopped: false };
        let said = |finished: Finished| finished.to_string();
        assert_eq!(said(all), "0 released");
        assert_eq!(said(Finished { released: 5, refused: 7, ..all }), "5 released, 7 refused");
        assert_eq!(
            said(Finished { skipped: 1, lost: 2, stopped: true, ..all }),
            "0 released, 1 skipped, 2 lost, stopped"
        );
    }

    // Refutes a run that lost every window and ends as one that is done.
    #[test]
    fn a_run_that_lost_windows_and_released_none_is_not_done() {
        let all = Finished { released: 0, refused: 0, skipped: 1, lost: 0, stopped: false };
        assert_eq!(all.exit_code(), 0);
        assert_eq!(Finished { lost: 2, ..all }.exit_code(), 78);
        assert_eq!(Finished { lost: 2, released: 1, ..all }.exit_code(), 0);
        assert_eq!(Finished { lost: 2, stopped: true, ..all }.exit_code(), 0);
        assert_eq!(Finished { lost: 2, refused: 1, ..all }.exit_code(), 75);
    }
}
