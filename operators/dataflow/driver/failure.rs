//! The end of a run: its error or its outcome, and the end of the process on a panic.

use std::cell::Cell;
use std::error::Error;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};
use std::{fmt, panic, process, thread};

use super::source::SourceError;
use crate::event;
use crate::gate::HaltReason;
use crate::invalid::Invalid;
use crate::ledger::{LedgerError, LedgerErrorKind, ReleaseStatus};

/// The reason for which a run ended before its inputs did. Nothing incomplete was sealed, and starting it
/// again is safe.
#[derive(Clone, Debug)]
pub struct RunError {
    kind: FailureKind,
    message: String,
    /// True if all processes of a cluster end with it, each with the same message and exit code.
    of_all: bool,
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kind of an error that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// An input could not be accepted.
    Refused,
    /// A source can no longer be read.
    Gone,
    /// An input was abandoned before it was declared complete: an early return, a handle that was dropped, a
    /// declaration that contradicts an earlier one.
    Abandoned,
    /// A sink did not take a release.
    Sink,
    /// The ledger is in doubt, or another process has taken over.
    Ledger,
    /// The job cannot run as it is configured, or its processes cannot connect.
    Configuration,
    /// Another process of the cluster has failed, or can no longer be reached.
    Peer,
}

impl RunError {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> RunError {
        RunError { kind, message: message.into(), of_all: false, cause: None }
    }

    /// Creates the error of processes whose inputs differ, which all of them end with.
    pub(crate) fn of_all(message: impl Into<String>) -> RunError {
        RunError { of_all: true, ..RunError::new(FailureKind::Refused, message) }
    }

    /// Creates an error with the text of its cause.
    fn from_cause(kind: FailureKind, cause: impl Into<Box<dyn Error + Send + Sync>>) -> RunError {
        let cause: Arc<dyn Error + Send + Sync> = cause.into().into();
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

    /// Creates the error of a sink that did not take a release.
    pub(crate) fn sink(error: &std::io::Error) -> RunError {
        RunError::new(FailureKind::Sink, format!("sink: {error}"))
    }

    /// Returns the same error with a message in other words.
    #[cfg(feature = "cli")]
    pub(crate) fn reworded(self, words: impl FnOnce(&str) -> String) -> RunError {
        RunError { message: words(&self.message), ..self }
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
    fn from(reason: HaltReason) -> RunError {
        RunError::from_cause(FailureKind::Ledger, reason)
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    pub(crate) released: u64,
    /// The number of the released windows that had left before this run.
    pub(crate) before: u64,
    /// The number of questions that their bundle had no answer left for.
    pub(crate) unanswered: u64,
    pub(crate) refused: u64,
    pub(crate) skipped: u64,
    pub(crate) lost: u64,
    pub(crate) stopped: bool,
}

/// Emits the event of the end of a run, once all of its windows have left. The message of an error is for the caller:
/// it may hold what a source or a sink says.
pub(crate) fn report_end(ended: &Result<Finished, RunError>) {
    match ended {
        Ok(Finished { released, unanswered, refused, skipped, lost, stopped, .. }) => {
            to_public!(
                DEBUG,
                "run ended",
                released,
                unanswered,
                refused,
                skipped,
                lost,
                stopped,
                "a run has ended"
            );
        }
        Err(failure) => {
            let (kind, exit_code) = (failure.kind(), failure.exit_code());
            to_operator!(DEBUG, "run failed", kind = ?kind, exit_code, "a run has ended with an error");
        }
    }
}

/// Formats the numbers of windows by outcome: `5 released, 7 refused`, or `1 released, 4 released before, 7 refused`. Questions that
/// were not answered come last.
impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} released", self.released.saturating_sub(self.before))?;
        for (count, what) in [
            (self.before, "released before"),
            (self.refused, "refused"),
            (self.skipped, "skipped"),
            (self.lost, "lost"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        f.write_str(if self.stopped { ", stopped" } else { "" })?;
        match self.unanswered {
            0 => Ok(()),
            1 => f.write_str(", 1 question not answered: the bundle has no answer left for it"),
            many => write!(f, ", {many} questions not answered: the bundle has no answer left for them"),
        }
    }
}

impl Finished {
    /// Creates the outcome of a run that was stopped before it began.
    pub(crate) fn stopped() -> Finished {
        Finished { stopped: true, ..Finished::default() }
    }

    /// Adds windows of one outcome.
    pub(crate) fn add(&mut self, status: ReleaseStatus, windows: u64) {
        *match status {
            ReleaseStatus::Sealed => &mut self.released,
            ReleaseStatus::Refused => &mut self.refused,
            ReleaseStatus::Skipped => &mut self.skipped,
            ReleaseStatus::Lost => &mut self.lost,
        } += windows;
    }

    /// Returns the number of released windows, those among them that had left before this run.
    pub fn released(&self) -> u64 {
        self.released
    }

    /// Returns the number of the released windows that had left before this run, which it has given again.
    pub fn released_before(&self) -> u64 {
        self.before
    }

    /// Returns the number of questions that their bundle had no answer left for, in this run or before it: their rows say so,
    /// and are not among the released ones.
    pub fn unanswered(&self) -> u64 {
        self.unanswered
    }

    /// Returns the number of windows that were refused for budget.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Returns the number of windows that were skipped: their time passed before they were complete, or
    /// a part of their input is missing.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the number of lost windows: they start before a repair of the ledger and have no row there, or
    /// they were charged and could not be sealed.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns true if the run was asked to stop before its inputs ended.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Returns the exit code of the process: 75 if a window was refused for budget; 78 if the run came to its
    /// end, windows were lost and none was released, for then the job does not fit its ledger; else 0.
    pub fn exit_code(&self) -> u8 {
        match self {
            Finished { refused: 1.., .. } => 75,
            Finished { released: 0, unanswered: 0, lost: 1.., stopped: false, .. } => 78,
            _ => 0,
        }
    }
}

// The effect of a panic: it ends the process, at once, without a message about its cause.
//
// If a worker panicked alone, the other workers would wait for ever; and the message of a panic may contain a
// record. So the hook prints the same sentence for every panic, and ends the process before anything unwinds:
// nothing can catch it, and no input is closed by being dropped.

/// True once this process ends its run: then its connections may break without a message.
static ENDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// True if this thread draws for a dataflow.
    static DRAWS: Cell<bool> = const { Cell::new(false) };
    /// The number of pipelines that this thread, of a program that runs timely itself, works for.
    static WORKS: Cell<usize> = const { Cell::new(0) };
    /// True while this thread decodes what another library reads.
    static DECODES: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread, a gate's, as one that draws for a dataflow: its panic ends the run.
pub(crate) fn draws_for_a_dataflow() {
    DRAWS.set(true);
}

/// Marks this thread as a worker of a pipeline: its panic ends the process, whatever its name.
pub(super) fn works_for_a_dataflow() {
    WORKS.set(WORKS.get() + 1);
}

/// Takes one mark from this thread.
pub(super) fn has_worked_for_a_dataflow() {
    WORKS.set(WORKS.get().saturating_sub(1));
}

/// Installs the panic hook: from now on a panic on a thread of a dataflow, or of a gate that draws for one,
/// ends the process with exit code 70. Other threads panic as they did before.
pub(crate) fn end_the_process_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            if DECODES.get() {
                return;
            }
            let thread = thread::current();
            let name = thread.name().unwrap_or_default();
            let peer = name.strip_prefix("timely:recv-").or(name.strip_prefix("timely:send-"));
            if peer.is_some() {
                wait_for_a_reason();
            }
            if !name.starts_with("timely:") && !DRAWS.get() && WORKS.get() == 0 {
                return before(panicked);
            }
            // The previous hook is for the library's own tests.
            #[cfg(test)]
            before(panicked);
            let what =
                peer.map_or_else(|| fault(panicked), |peer| format!("process {peer} of the job is gone"));
            // The only place of the library that prints: the process has no other way to report its end.
            let _ = writeln!(std::io::stderr(), "discreet: {what}; nothing incomplete was released");
            process::exit(70);
        }));
    });
}

/// Describes a panic: with its place in the code, which is no value, where the operator asks for details.
fn fault(panicked: &panic::PanicHookInfo<'_>) -> String {
    match panicked.location().filter(|_| event::is_operator_detailed()) {
        Some(place) => format!("internal fault at {}:{}", place.file(), place.line()),
        None => "internal fault".to_owned(),
    }
}

/// Calls a decoder of another library; `None` where it panics. The message of that panic may contain a value
/// of a record, and is not printed.
#[cfg(feature = "arrow")]
pub(crate) fn silently<T>(decode: impl FnOnce() -> T) -> Option<T> {
    end_the_process_on_panic();
    DECODES.set(true);
    // A decoder that panicked is not called again.
    let decoded = panic::catch_unwind(panic::AssertUnwindSafe(decode)).ok();
    DECODES.set(false);
    decoded
}

/// Lets the connections of this process break: it has reported how it ends.
pub(crate) fn expect_connections_to_break() {
    ENDING.store(true, Ordering::SeqCst);
}

/// The time for which a broken connection waits for the reason, which arrives on another connection.
const REASON: Duration = Duration::from_secs(2);

/// Holds the thread of a broken connection. If another thread reports the reason within a moment, the run
/// ends with it, and this thread stays here: to unwind would damage the state that it shares with the
/// workers.
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

    // Refutes windows that were refused, skipped or lost and are not reported.
    #[test]
    fn a_run_says_what_became_of_every_window() {
        let all = Finished::default();
        let said = |finished: Finished| finished.to_string();
        assert_eq!(said(all), "0 released");
        assert_eq!(said(Finished { released: 5, refused: 7, ..all }), "5 released, 7 refused");
        // What this run has added is the first number.
        assert_eq!(said(Finished { released: 5, before: 5, ..all }), "0 released, 5 released before");
        assert_eq!(
            said(Finished { released: 5, before: 3, lost: 1, ..all }),
            "2 released, 3 released before, 1 lost"
        );
        assert_eq!(
            said(Finished { skipped: 1, lost: 2, stopped: true, ..all }),
            "0 released, 1 skipped, 2 lost, stopped"
        );
        assert_eq!(
            said(Finished { released: 2, before: 2, unanswered: 1, stopped: true, ..all }),
            "0 released, 2 released before, stopped, 1 question not answered: the bundle has no answer left for it"
        );
        assert_eq!(
            said(Finished { unanswered: 3, ..all }),
            "0 released, 3 questions not answered: the bundle has no answer left for them"
        );
    }

    // Refutes a run that lost every window and reports success.
    #[test]
    fn a_run_that_lost_windows_and_released_none_is_not_done() {
        let all = Finished { skipped: 1, ..Finished::default() };
        assert_eq!(all.exit_code(), 0);
        assert_eq!(Finished { lost: 2, ..all }.exit_code(), 78);
        assert_eq!(Finished { lost: 2, released: 1, ..all }.exit_code(), 0);
        assert_eq!(Finished { lost: 2, unanswered: 1, ..all }.exit_code(), 0);
        assert_eq!(Finished { unanswered: 1, ..all }.exit_code(), 0);
        assert_eq!(Finished { lost: 2, stopped: true, ..all }.exit_code(), 0);
        assert_eq!(Finished { lost: 2, refused: 1, ..all }.exit_code(), 75);
    }
}
