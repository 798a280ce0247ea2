//! The requests to the gate and its events: all that the gate ever sees of a statistic or a mechanism.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::accounting::{Interval, PrivacyCost};
use crate::ledger::{
    Charge, Claim, Digest, Forecast, Ledger, LedgerError, LedgerErrorKind, Name, ReleaseId, Row,
};
use crate::mechanisms::running::StateStep;
use crate::noise::NoiseSource;

/// The exact statistic of a window with the mechanism that will noise it.
///
/// A draw cannot fail. It is made once, from a fresh seed, after the ledger has shown that the release has no
/// row; it returns the line that may leave. Its cost was stated before, where no data was in reach.
pub trait Sealable: Send {
    /// Returns true if the mechanism keeps state from one release to the next. Then the releases of this
    /// statistic are sealed one after another, in the order of their requests.
    fn keeps_state(&self) -> bool {
        false
    }

    /// Noises the statistic, and writes the line. `state` is the state that the last sealed release of this
    /// statistic kept.
    fn draw(self: Box<Self>, state: Option<&[u8]>, noise: &mut NoiseSource) -> DrawResult;
}

/// The result of a draw.
#[expect(missing_debug_implementations, reason = "until it is sealed, nobody may see it")]
pub struct DrawResult {
    /// The line that may leave.
    pub line: String,
    /// The state that the mechanism keeps for its next release; `None` leaves the present one.
    pub state: Option<Vec<u8>>,
    /// The step from the former state to this one, or to one that is much like it, if the mechanism knows one
    /// that is smaller than what it changes.
    pub step: Option<StateStep>,
    /// The note beside a kept state: it is written once, and not again with every release.
    pub note: Option<Noted>,
}

/// The note that a release adds to those of its statistic.
#[expect(missing_debug_implementations, reason = "it is a secret")]
pub struct Noted {
    /// The place of the note: one further for each note of the statistic.
    pub place: i64,
    /// The first place to keep: notes at earlier places are discarded.
    pub since: i64,
    /// The text of the note.
    pub text: Vec<u8>,
}

/// A mechanism without a state is a function of its noise.
impl<F: FnOnce(&mut NoiseSource) -> String + Send> Sealable for F {
    fn draw(self: Box<Self>, _: Option<&[u8]>, noise: &mut NoiseSource) -> DrawResult {
        DrawResult { line: self(noise), state: None, step: None, note: None }
    }
}

/// The request for the release of a complete window.
///
/// Only this library makes one, and computes its charge from the mechanism that draws its noise. A cost that
/// another crate states by hand does not compile:
///
/// ```compile_fail,E0451
/// use discreet::gate::{ReleaseRequest, Sealable};
/// use discreet::ledger::{Charge, ReleaseId};
///
/// fn by_hand(release: ReleaseId, charge: Charge, sealable: Box<dyn Sealable>) -> ReleaseRequest {
///     ReleaseRequest { release, charge, sealable }
/// }
/// ```
pub struct ReleaseRequest {
    /// The requested release.
    pub(crate) release: ReleaseId,
    /// The charge of the release: from configuration, never from data.
    pub(crate) charge: Charge,
    /// The exact statistic, with the mechanism that noises it.
    pub(crate) sealable: Box<dyn Sealable>,
}

impl ReleaseRequest {
    /// Creates a request without a proof that its charge pays for its draw. For tests and benches of this
    /// library itself.
    #[doc(hidden)]
    #[must_use]
    pub fn unproved_for_tests_of_the_library_itself(
        release: ReleaseId,
        charge: Charge,
        sealable: Box<dyn Sealable>,
    ) -> ReleaseRequest {
        ReleaseRequest { release, charge, sealable }
    }
}

impl fmt::Debug for ReleaseRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleaseRequest").field("release", &self.release).finish_non_exhaustive()
    }
}

/// An event of the gate.
#[derive(Clone, Debug)]
pub enum GateEvent {
    /// A row of the ledger, read back: its line may leave, and no other. Beside it, the status of its budget.
    Row(Box<Row>, Box<BudgetStatus>),
    /// A row that this process must not deliver: it has been delivered before, or another process delivers
    /// it. Only where nothing may be delivered twice.
    Withheld(Box<Row>),
    /// The ledger has no row under this name, and none is in progress: the release that was
    /// [sought](super::GateHandle::seek) was never made.
    Absent(Digest),
    /// The row of a release, if it has one, is in an archive of the ledger: its line has left before, or never
    /// will. Nothing is drawn for it.
    Archived(Box<ReleaseId>),
    /// The gate halts: this process releases nothing more.
    Halted(HaltReason),
}

/// The status of a budget over the time of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetStatus {
    /// The name of the budget account.
    pub account: Name,
    /// The job of the window.
    pub job: Name,
    /// The time of the window.
    pub window: Interval,
    /// The amount that counts against the budget.
    pub spent: PrivacyCost,
    /// The cap of the budget.
    pub cap: PrivacyCost,
    /// The time until which the budget lasts, if every statistic continues at its newest cost and pace.
    pub forecast: Arc<Forecast>,
    /// The position of the row beside it among all rows that the gate of this process gave out, from 0 on:
    /// the order in which their windows were submitted.
    pub order: u64,
    /// The time that the gate worked for the row beside it: an equal part for each row of one commit. A wait
    /// behind other windows is no part of it.
    pub took: Duration,
}

/// The reason for which a window is skipped, at no cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// Its time has passed: its deadline, the last window of its statistic, or that of a later window.
    Late,
    /// A part of its input is missing, and cannot be read again.
    InputGap,
}

impl SkipReason {
    /// The reason in the line of the window.
    pub(super) fn word(self) -> &'static str {
        match self {
            SkipReason::Late => "late",
            SkipReason::InputGap => "input gap",
        }
    }
}

// Queue of the submitted releases, in the order in which they came: rows are written in that order and in no
// other, whatever else is in progress.

/// A release that was submitted to the gate.
pub(super) enum HandedRelease {
    /// The request for its row.
    Wanted(ReleaseRequest),
    /// The request to skip it.
    Skipped(ReleaseId, SkipReason),
}

impl HandedRelease {
    pub(super) fn release(&self) -> &ReleaseId {
        match self {
            HandedRelease::Wanted(request) => &request.release,
            HandedRelease::Skipped(release, _) => release,
        }
    }

    fn keeps_state(&self) -> bool {
        matches!(self, HandedRelease::Wanted(request) if request.sealable.keeps_state())
    }
}

/// The queue of the releases that wait for their turn.
#[derive(Default)]
pub(super) struct Turns {
    waiting: VecDeque<HandedRelease>,
    ids: HashSet<Digest>,
}

impl Turns {
    /// Returns true if this release waits for its turn.
    pub(super) fn waits(&self, id: &Digest) -> bool {
        self.ids.contains(id)
    }

    /// Returns true if no release waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a release behind the others, unless it waits already.
    pub(super) fn queue(&mut self, handed: HandedRelease) {
        if self.ids.insert(handed.release().id()) {
            self.waiting.push_back(handed);
        }
    }

    /// Takes the releases at the front that may share a commit: only one of a statistic that keeps a state,
    /// for the next one needs the state that it seals.
    pub(super) fn next(&mut self) -> Vec<HandedRelease> {
        let (mut prepared, mut drawn): (Vec<HandedRelease>, HashSet<Name>) = Default::default();
        while let Some(next) = self.waiting.front() {
            if next.keeps_state() && !drawn.insert(next.release().name.clone()) {
                break;
            }
            self.ids.remove(&next.release().id());
            prepared.extend(self.waiting.pop_front());
        }
        prepared
    }
}

// Reasons for a halt.

/// The reason for which the gate no longer releases anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HaltReason {
    /// A later process of the same job holds the fence.
    Fenced,
    /// The ledger is damaged or was edited.
    Ledger,
    /// The ledger is an older copy: it lacks rows that have been published from it.
    Behind,
    /// The input was abandoned before it was complete.
    Incomplete,
    /// It is unknown whether a commit took place.
    Unknown,
    /// The operating system gave no randomness.
    NoRandomness,
    /// The gate was closed, or its thread died.
    Ended,
}

impl HaltReason {
    /// Returns the reason for which a gate cannot go on after an error of its ledger.
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

impl std::error::Error for HaltReason {}

/// The reason of a halt and its cause, as a gate that has halted keeps them.
#[derive(Clone, Debug)]
pub(super) struct Halt {
    pub(super) reason: HaltReason,
    /// The ledger's message, if the reason is the ledger.
    pub(super) cause: Option<String>,
}

impl From<&Halt> for LedgerError {
    fn from(halt: &Halt) -> LedgerError {
        let trouble = LedgerError::from(halt.reason);
        match (&halt.cause, halt.reason) {
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

/// Converts the reason into the error of a request to a gate that has halted.
impl From<HaltReason> for LedgerError {
    fn from(reason: HaltReason) -> LedgerError {
        let kind = match reason {
            HaltReason::Fenced => LedgerErrorKind::Fenced,
            HaltReason::Unknown => LedgerErrorKind::Unknown,
            _ => LedgerErrorKind::Doubt,
        };
        LedgerError::new(kind, reason.to_string())
    }
}

// Attempts at a server that does not answer. A file is asked once.

/// The number of attempts at a server, and the wait before the second; each further wait is twice as long.
const RETRIES: (u32, Duration) = (9, Duration::from_millis(100));

/// Asks the ledger a question that may be repeated without effect.
pub(super) fn ask<T>(
    ledger: &mut Ledger,
    claim: &Claim,
    question: impl Fn(&mut Ledger) -> Result<T, LedgerError>,
) -> Result<T, LedgerError> {
    match question(ledger) {
        Ok(answer) => Ok(answer),
        Err(trouble) if ledger.is_remote() && may_pass(&trouble) => {
            ask_anew(ledger, claim, &[], |ledger, _| question(ledger))
        }
        Err(trouble) => Err(trouble),
    }
}

/// Asks over new connections, until there is an answer or the attempts are used up: first for the fence and
/// these rows, then the question.
pub(super) fn ask_anew<T>(
    ledger: &mut Ledger,
    claim: &Claim,
    releases: &[ReleaseId],
    question: impl Fn(&mut Ledger, Vec<Option<Row>>) -> Result<T, LedgerError>,
) -> Result<T, LedgerError> {
    let (tries, mut pause) = RETRIES;
    let mut last = None;
    for _ in 0..tries {
        let rows = ledger.recover(claim, releases);
        match rows.and_then(|rows| question(ledger, rows)) {
            Ok(answer) => return Ok(answer),
            Err(trouble) if may_pass(&trouble) => {
                last = Some(trouble);
                std::thread::sleep(pause);
            }
            Err(trouble) => return Err(trouble),
        }
        pause *= 2;
    }
    let last = last.map_or_else(|| "ledger: no answer".to_owned(), |trouble| trouble.to_string());
    Err(LedgerError::new(LedgerErrorKind::Unknown, last))
}

fn may_pass(trouble: &LedgerError) -> bool {
    matches!(trouble.kind(), LedgerErrorKind::Busy | LedgerErrorKind::Unknown)
}
