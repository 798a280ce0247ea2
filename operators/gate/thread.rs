//! The thread that carries out the effects of the [`Core`]: it alone holds the ledger, and it alone draws.
//!
//! Requests that wait while a commit is under way share the next one.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::budgets::{AccountStatus, Accounts, Subscribers};
use super::core::{Core, Effect, Event, RowRecord};
use super::listeners::{Listener, Listeners};
use super::positions::{ResumePositions, ResumeUpdate, WrittenSince};
use super::request::{
    GateEvent, Halt, HaltReason, HandedRelease, ReleaseRequest, Sealable, SkipReason, Turns,
};
use super::state::{KeptState, Memory, StateCipher};
use crate::gate::request;
use crate::gate::request::BudgetStatus;
use crate::ledger::{
    Agreement, Charge, Claim, Digest, Forecast, Journal, Ledger, LedgerError, LedgerErrorKind, Name, Pacing,
    PositionUpdate, ReleaseId, ReleaseStatus, Row, Sealing, State, failpoint, may_hold,
};
use crate::time::Time;

mod sealing;
mod way;

use way::ReleaseSpans;

/// A message to the gate's thread.
#[derive(Debug)]
pub(super) enum GateMessage {
    Wanted(ReleaseRequest),
    Sought(ReleaseId),
    Skipped(ReleaseId, SkipReason),
    Delivered(Digest),
    /// A change of the resume positions, to be written with the next rows, and a notice for the time after that.
    Resume(ResumeUpdate, WrittenNotice),
    /// A request for the resume positions that a former run has left of an input.
    Positions(i64, Sender<PositionsReply>),
    /// A request for the end of the last window of a release that has a row.
    LastRow(Name, Digest, Sender<Result<Option<Time>, LedgerError>>),
    /// A request for the rows of a release in a version whose windows end after a time: at most this number.
    RowsAfter((Name, Digest), Time, i64, Sender<Result<Vec<Row>, LedgerError>>),
    /// A request for delivered rows at positions after this one, up to a number of them.
    #[cfg(feature = "cli")]
    DeliveredRows(i64, i64, Sender<Result<Vec<Row>, LedgerError>>),
    /// A request for the position of the newest row.
    #[cfg(feature = "cli")]
    NewestPosition(Sender<Result<i64, LedgerError>>),
    Open(Agreement, Listener, Sender<MemoryReply>),
    /// A request for the status of each account, now and after each commit; those of other processes are looked for at this
    /// interval.
    Subscribe((Sender<AccountStatus>, Duration), Sender<Result<(), LedgerError>>),
    /// A handle listens for the first time, and waits until this sender is dropped.
    Listening(Sender<()>),
    /// Some input will never be complete.
    Halt,
    /// The ledger is being verified in the background.
    Verifying,
    /// The ledger was verified in the background, from its first row on; or it is in doubt.
    Verified(Result<(), LedgerError>),
    /// Finish the pending requests, and end.
    Close,
}

/// The time up to which windows are settled, by release and version.
type SettledFrontiers = HashMap<(Name, Digest), Time>;

/// A function that the gate's thread calls once resume positions are written for certain.
pub(super) struct WrittenNotice(pub(super) Box<dyn FnOnce() + Send>);

redacted!(WrittenNotice);

/// The state of the statistic of a new handle, or the reason for which it gets no handle.
pub(super) type MemoryReply = Result<Option<Memory>, LedgerError>;

/// The resume positions of an input, if the ledger holds some.
pub(super) type PositionsReply = Result<Option<ResumePositions>, LedgerError>;

/// The reason for which the gate stopped, which outlives its thread.
pub(super) type Halted = Arc<OnceLock<Halt>>;

/// The maximum number of requests that share a commit.
const GROUP: usize = 256;

/// A request whose row is not known yet.
struct PendingRequest {
    release: ReleaseId,
    charge: Option<Charge>,
    /// The mechanism and its tally; `None` once the line was drawn.
    sealable: Option<Box<dyn Sealable>>,
    /// The state that the draw keeps for the next one, encrypted.
    state: Option<State>,
    /// The reason for which it is skipped, if it is.
    skip: Option<SkipReason>,
}

pub(super) struct Driver {
    ledger: Ledger,
    claim: Claim,
    cipher: StateCipher,
    journal: Option<Journal>,
    core: Core<Digest, String>,
    /// The requests that have no row yet.
    requests: HashMap<Digest, PendingRequest>,
    turns: Turns,
    /// The rows that are being delivered.
    rows: HashMap<Digest, Row>,
    listeners: Listeners,
    spans: ReleaseSpans,
    /// The settled frontier of each release: the time up to which its windows are settled, by release and
    /// version.
    settled: SettledFrontiers,
    /// The last archived row and the floor of the archives, which stay while a job runs.
    archived: Option<(i64, Time)>,
    /// The versions that were opened, and whose terms no commit has recorded for certain.
    agreements: Vec<Agreement>,
    /// The changes of resume positions that no commit has written for certain, by input.
    positions: BTreeMap<i64, PositionUpdate>,
    /// The time since which a restart reads again, by these changes.
    since: Option<Time>,
    written_since: WrittenSince,
    /// The state that was drawn last of each statistic; the ledger tells whether it was sealed.
    states: HashMap<Name, KeptState>,
    /// The notices of these changes.
    notices: Vec<WrittenNotice>,
    /// The pace at which budgets are being spent.
    pacing: Pacing,
    subscribers: Subscribers,
    /// The time since which the gate works for the releases that share the next commit.
    works_since: Instant,
    /// The newest error of the ledger, until an operation succeeds again.
    cause: Option<String>,
    halted: Halted,
}

impl Driver {
    pub(super) fn new(
        ledger: Ledger,
        claim: Claim,
        cipher: StateCipher,
        journal: Option<Journal>,
        core: Core<Digest, String>,
        (pacing, settled, archived): (Pacing, SettledFrontiers, Option<(i64, Time)>),
    ) -> Driver {
        Driver {
            ledger,
            claim,
            cipher,
            journal,
            core,
            requests: HashMap::new(),
            turns: Turns::default(),
            rows: HashMap::new(),
            listeners: Listeners::default(),
            spans: ReleaseSpans::default(),
            settled,
            archived,
            agreements: Vec::new(),
            positions: BTreeMap::new(),
            since: None,
            written_since: WrittenSince::default(),
            notices: Vec::new(),
            states: HashMap::new(),
            pacing,
            subscribers: Subscribers::default(),
            works_since: Instant::now(),
            cause: None,
            halted: Halted::default(),
        }
    }

    pub(super) fn halted(&self) -> Halted {
        Arc::clone(&self.halted)
    }

    pub(super) fn written_since(&self) -> WrittenSince {
        self.written_since.clone()
    }

    /// Takes the first step, before the thread begins.
    pub(super) fn opened(&mut self, waiting: Vec<Row>, behind: bool) -> Vec<Effect<Digest, String>> {
        let waiting = waiting.into_iter().map(|row| self.known(row)).collect();
        self.step(Event::Opened { waiting, behind })
    }

    pub(super) fn run(mut self, effects: Vec<Effect<Digest, String>>, inbox: &Receiver<GateMessage>) {
        self.carry_out(effects);
        loop {
            let first = match self.subscribers.due() {
                Some(due) => inbox.recv_deadline(due),
                None => inbox.recv().map_err(RecvTimeoutError::from),
            };
            let first = match first {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut effects = Vec::new();
            let mut closing = false;
            if first.is_none()
                && let Some(doubted) = self.publish_budgets()
            {
                effects.extend(self.step(doubted));
            }
            for message in first.into_iter().chain(inbox.try_iter().take(GROUP - 1)) {
                closing |= matches!(message, GateMessage::Close);
                if let Some(event) = self.heard(message) {
                    effects.extend(self.step(event));
                }
            }
            self.carry_out(effects);
            if closing && !self.core.is_halted() {
                // A doubt that is found now is found again by the next process, before it releases anything.
                let _ = self.ledger.checkpoint_at_end();
            }
            if closing {
                // Nobody waits for the end of the thread, so it cannot fail either.
                let _ = failpoint::reached("shutdown", LedgerErrorKind::Unknown);
            }
            if closing || self.core.is_halted() {
                return;
            }
        }
    }

    /// Passes an event to the core, and drops the request and the row of a finished release: a secret is not
    /// kept beside its row.
    fn step(&mut self, event: Event<Digest, String>) -> Vec<Effect<Digest, String>> {
        let about = event.name().copied();
        let effects = self.core.step(event);
        for effect in &effects {
            if let Effect::Halt(reason) = effect {
                let of_ledger = matches!(reason, HaltReason::Ledger | HaltReason::Unknown);
                let cause = if of_ledger { self.cause.take() } else { None };
                to_operator!(DEBUG, "gate halted", reason = ?reason, "a gate has halted");
                self.halted.get_or_init(|| Halt { reason: *reason, cause });
            }
            if let Effect::Withhold(id) = effect
                && let Some(row) = self.rows.remove(id)
            {
                let name = row.release().name.clone();
                self.spans.end(row.release(), row.status());
                self.listeners.notify(name, GateEvent::Withheld(Box::new(row)));
            }
        }
        if let Some(id) = about.filter(|id| !self.core.holds(id)) {
            self.requests.remove(&id);
            self.rows.remove(&id);
            self.spans.give_up(&id);
        }
        effects
    }

    /// Takes the next releases that may share a commit; empty if no release waits for its turn. `places`
    /// receives the order in which they came.
    fn take_up(&mut self, places: &mut HashMap<Digest, usize>) -> Vec<Effect<Digest, String>> {
        let mut effects = Vec::new();
        // A request for a row that is being delivered already has no effect, and the request behind it must
        // not wait for it.
        while effects.is_empty() && !self.turns.is_empty() {
            places.clear();
            for handed in self.turns.next() {
                match self.is_archived(handed.release()) {
                    Ok(false) => {}
                    Ok(true) => {
                        let release = Box::new(handed.release().clone());
                        self.listeners.notify(release.name.clone(), GateEvent::Archived(release));
                        continue;
                    }
                    Err(trouble) => {
                        let doubted = self.doubted(&trouble);
                        return self.step(doubted);
                    }
                }
                let event = match handed {
                    HandedRelease::Wanted(request) => self.wanted(request),
                    HandedRelease::Skipped(release, why) => self.skipped(release, why),
                };
                places.extend(event.name().map(|id| (*id, places.len())));
                effects.extend(self.step(event));
            }
        }
        effects
    }

    /// Returns true if the release has no row, and may have one in an archive.
    fn is_archived(&mut self, release: &ReleaseId) -> Result<bool, LedgerError> {
        if !may_hold(self.archived, release) || self.core.holds(&release.id()) {
            return Ok(false);
        }
        request::ask(&mut self.ledger, &self.claim, |ledger| ledger.look_up(release)).map(|row| row.is_none())
    }

    /// Carries out effects, until none is left that does not wait for another party. Effects that can share a
    /// transaction do. Rows are written, and given out, in the order in which their releases were submitted,
    /// however many share a commit and whichever of them have their rows already.
    fn carry_out(&mut self, effects: Vec<Effect<Digest, String>>) {
        let mut effects = effects;
        let (mut sealings, mut leaving): (Vec<Sealing>, Vec<Row>) = Default::default();
        let mut places = HashMap::new();
        self.works_since = Instant::now();
        loop {
            let (mut events, mut sought) = (Vec::new(), Vec::new());
            let (mut recovering, mut marks) = (Vec::new(), Vec::new());
            for effect in mem::take(&mut effects) {
                match effect {
                    Effect::LookUp(id) => sought.push(id),
                    Effect::Draw(id) => events.push(self.draw(id)),
                    Effect::Seal(id, line) => sealings.extend(self.sealing(id, ReleaseStatus::Sealed, line)),
                    Effect::Lose(id) => sealings.extend(self.tombstone(id, ReleaseStatus::Lost)),
                    Effect::Skip(id) => sealings.extend(self.tombstone(id, ReleaseStatus::Skipped)),
                    Effect::Recover(id) => recovering.push(id),
                    Effect::Mark(id) => marks.extend(self.rows.get(&id).cloned()),
                    Effect::Deliver(id, _) => leaving.extend(self.rows.get(&id).cloned()),
                    // `step` has notified the listener.
                    Effect::Withhold(_) => {}
                    Effect::Halt(reason) => return self.listeners.halt(reason),
                }
            }
            events.extend(self.look_up(&sought));
            events.extend(self.recover(&recovering));
            events.extend(self.mark(marks));
            // Nothing is sealed before all of the group are drawn, and nothing given out before all are
            // sealed.
            if events.is_empty() {
                sealings.sort_by_cached_key(|sealing| places.get(&sealing.release.id()).copied());
                events.extend(self.seal(mem::take(&mut sealings)));
            }
            if events.is_empty() {
                leaving.sort_by_cached_key(|row| (places.get(&row.release().id()).copied(), row.sequence()));
                events.extend(self.notify(mem::take(&mut leaving)));
            }
            effects = events.into_iter().flat_map(|event| self.step(event)).collect();
            if effects.is_empty() && sealings.is_empty() && leaving.is_empty() {
                self.works_since = Instant::now();
                effects = self.take_up(&mut places);
                if effects.is_empty() {
                    return;
                }
            }
        }
    }

    /// Returns the event of a doubt about the ledger, and keeps the ledger's message for later errors.
    fn doubted(&mut self, trouble: &LedgerError) -> Event<Digest, String> {
        self.cause = Some(trouble.to_string());
        Event::Doubted(HaltReason::about(trouble))
    }

    /// Keeps a row until it has been delivered; its request is answered.
    fn known(&mut self, row: Row) -> (Digest, RowRecord<String>) {
        let id = row.release().id();
        let record =
            RowRecord { status: row.status(), line: row.line().to_owned(), delivered: row.is_delivered() };
        self.requests.remove(&id);
        self.settle(&row);
        self.rows.insert(id, row);
        (id, record)
    }

    /// Advances the settled frontier of a release.
    fn settle(&mut self, row: &Row) {
        let release = row.release();
        if release.part.is_none() && row.status() != ReleaseStatus::Skipped {
            let settled = self.settled.entry((release.name.clone(), release.version));
            let settled = settled.or_insert(release.window.end());
            *settled = release.window.end().max(*settled);
        }
    }

    /// Returns true if a later window of this release is settled in this version, so that nothing may be
    /// drawn for this one: later draws rely on its outcome.
    fn is_passed(&self, release: &ReleaseId) -> bool {
        let settled = self.settled.get(&(release.name.clone(), release.version));
        release.part.is_none() && settled.is_some_and(|settled| release.window.end() <= *settled)
    }
}

// Delivery of a row: marked first if it may not be delivered twice, noted in the anchor, and given out with
// the status of its budget.

impl Driver {
    pub(super) fn mark(&mut self, rows: Vec<Row>) -> Vec<Event<Digest, String>> {
        if rows.is_empty() {
            return Vec::new();
        }
        // A mark whose answer was lost reports nothing new the second time; a row that may not be delivered
        // twice is then not delivered.
        let mark = |ledger: &mut Ledger| {
            failpoint::reached("after-put-before-mark", LedgerErrorKind::Unknown)?;
            let news = ledger.mark(&rows)?;
            failpoint::reached("after-mark", LedgerErrorKind::Unknown)?;
            Ok(news)
        };
        match request::ask(&mut self.ledger, &self.claim, mark) {
            Ok(news) => {
                rows.iter().zip(news).map(|(row, new)| Event::Marked(row.release().id(), new)).collect()
            }
            Err(trouble) => vec![self.doubted(&trouble)],
        }
    }

    /// Gives out rows, in this order, once the anchor has noted them.
    pub(super) fn notify(&mut self, rows: Vec<Row>) -> Option<Event<Digest, String>> {
        let noted = self.journal.as_mut().map_or(Ok(()), |journal| journal.record(rows.iter()));
        if let Err(trouble) = noted {
            self.cause = Some(trouble.to_string());
            return Some(Event::Doubted(HaltReason::Unknown));
        }
        let forecasts = match self.forecast(&rows) {
            Ok(forecasts) => forecasts,
            Err(trouble) => return Some(self.doubted(&trouble)),
        };
        // Before the rows: who has one of them finds it in the status of its account.
        if let Some(doubted) = self.publish_budgets() {
            return Some(doubted);
        }
        let spent = |ledger: &mut Ledger| {
            ledger.spent_each(rows.iter().map(|row| (&row.release().account, row.charged())))
        };
        let spent = match request::ask(&mut self.ledger, &self.claim, spent) {
            Ok(spent) => spent,
            Err(trouble) => return Some(self.doubted(&trouble)),
        };
        let took = self.works_since.elapsed() / u32::try_from(rows.len().max(1)).unwrap_or(u32::MAX);
        for (row, (spent, cap)) in rows.into_iter().zip(spent) {
            if row.generation < self.claim.generation()
                && failpoint::reached("republish-mid", LedgerErrorKind::Unknown).is_err()
            {
                return Some(Event::Doubted(HaltReason::Unknown));
            }
            self.spans.end(row.release(), row.status());
            let ReleaseId { account, job, name, window, .. } = row.release().clone();
            let Some(forecast) = forecasts.get(&account).cloned() else { continue };
            let event = GateEvent::Row(
                Box::new(row),
                Box::new(BudgetStatus { account, job, window, spent, cap, forecast, order: 0, took }),
            );
            self.listeners.notify(name, event);
        }
        None
    }

    /// Gives the subscribers of the budgets what has changed.
    fn publish_budgets(&mut self) -> Option<Event<Digest, String>> {
        let seen = self.subscribers.seen()?;
        let (pacing, job) = (&self.pacing, self.claim.job());
        let later = |ledger: &mut Ledger| seen.clone().later(ledger, (pacing.clone(), job));
        match request::ask(&mut self.ledger, &self.claim, later) {
            Ok((seen, pacing)) => {
                self.pacing = pacing;
                self.subscribers.send(seen);
                None
            }
            Err(trouble) => Some(self.doubted(&trouble)),
        }
    }

    fn add_subscriber(
        &mut self,
        subscriber: (Sender<AccountStatus>, Duration),
        answer: &Sender<Result<(), LedgerError>>,
    ) -> Option<Event<Digest, String>> {
        let (ledger, claim, pacing) = (&mut self.ledger, &self.claim, &self.pacing);
        let seen = || request::ask(ledger, claim, |ledger| Accounts::first(ledger, pacing));
        let added = self.subscribers.add(subscriber, seen);
        let doubted = added.as_ref().err().map(|trouble| self.doubted(trouble));
        // The caller may have stopped waiting.
        let _ = answer.send(added);
        doubted
    }

    /// Computes the time for which the budgets of these rows last, all of them written.
    fn forecast(&mut self, rows: &[Row]) -> Result<HashMap<Name, Arc<Forecast>>, LedgerError> {
        rows.iter().for_each(|row| self.pacing.row(row));
        let mut newest: HashMap<&Name, &Row> = HashMap::new();
        for row in rows {
            let newest = newest.entry(&row.release().account).or_insert(row);
            *newest = if row.sequence() > newest.sequence() { row } else { newest };
        }
        let pacing = &self.pacing;
        let (ledger, claim) = (&mut self.ledger, &self.claim);
        let mut forecast = |(account, row): (&Name, &Row)| {
            let window = row.release().window;
            let forecast = request::ask(ledger, claim, |ledger| ledger.outlook(pacing, account, window))?;
            Ok((account.clone(), Arc::new(forecast)))
        };
        newest.into_iter().map(&mut forecast).collect()
    }
}
