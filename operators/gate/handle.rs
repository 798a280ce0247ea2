//! The interface of the gate: a [`Gate`] for a process, and a [`GateHandle`] for each of its statistics.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded, unbounded};

use super::budgets::AccountStatus;
use super::listeners::Listener;
use super::opening;
use super::opening::Opening;
use super::positions::{ResumePositions, ResumeUpdate, WrittenSince};
use super::request::{BudgetStatus, GateEvent, HaltReason, ReleaseRequest, SkipReason};
use super::state::Memory;
use super::thread::{GateMessage, Halted, WrittenNotice};
use crate::accounting::PrivacyUnit;
use crate::ledger::{
    AccountSpec, Agreement, Digest, LedgerError, LedgerKey, Name, ReleaseId, Row, VersionTerms,
};
use crate::time::Time;

/// Access to a ledger for one job of this process. Dropping it waits for the submitted requests.
///
/// If a mechanism panics, the thread ends: handles receive nothing more, and nothing more is released.
#[derive(Debug)]
pub struct Gate {
    job: Name,
    version: u32,
    key: LedgerKey,
    accounts: Vec<AccountSpec>,
    /// The definition of one person, if the job states it.
    person: Option<String>,
    messages: Option<Sender<GateMessage>>,
    thread: Option<JoinHandle<()>>,
    halted: Halted,
    settled: Option<Time>,
    /// The releases, with their versions, that former runs have opened.
    opened: HashSet<(Name, u32)>,
    /// The status of each account when the ledger was opened.
    budgets: Vec<BudgetStatus>,
    written_since: WrittenSince,
}

impl Gate {
    /// Opens a ledger for a job; [`Opening`] has settings.
    ///
    /// # Errors
    ///
    /// As [`Opening::open`].
    pub fn open(ledger: impl AsRef<Path>, job: &str) -> Result<Gate, LedgerError> {
        Opening::new(ledger, job)?.open()
    }

    /// Creates the gate of a process that does not hold worker 0: its windows are released by the process
    /// that does. Both must hold the same key.
    ///
    /// # Errors
    ///
    /// As [`LedgerKey::open`], and if `job` is no name.
    pub fn elsewhere(job: &str, key: impl AsRef<Path>) -> Result<Gate, LedgerError> {
        let (job, key) = (Name::new("job", job)?, LedgerKey::open(key)?);
        Ok(Gate::of((job, 1), key, (Vec::new(), None), (None, None), Halted::default()))
    }

    /// Sets the version of the job, 1 by default; handles that are opened from now on are of this version,
    /// unless they [state their own](Gate::handle_in_version). For a gate [elsewhere](Gate::elsewhere): one that opens a ledger gets its version
    /// [before](Opening::version).
    #[must_use]
    pub fn with_version(mut self, version: u32) -> Gate {
        self.version = version;
        self
    }

    /// Returns true if the ledger is held by another process.
    pub fn is_elsewhere(&self) -> bool {
        self.messages.is_none()
    }

    pub(super) fn new(
        (job, version): (Name, u32),
        key: LedgerKey,
        (accounts, person): (Vec<AccountSpec>, Option<String>),
        messages: Sender<GateMessage>,
        (thread, halted): (JoinHandle<()>, Halted),
    ) -> Gate {
        Gate::of((job, version), key, (accounts, person), (Some(messages), Some(thread)), halted)
    }

    fn of(
        (job, version): (Name, u32),
        key: LedgerKey,
        (accounts, person): (Vec<AccountSpec>, Option<String>),
        (messages, thread): (Option<Sender<GateMessage>>, Option<JoinHandle<()>>),
        halted: Halted,
    ) -> Gate {
        let (settled, opened, budgets, written_since) = Default::default();
        Gate {
            job,
            version,
            key,
            accounts,
            person,
            messages,
            thread,
            halted,
            settled,
            opened,
            budgets,
            written_since,
        }
    }

    pub(super) fn resumed(mut self, settled: Option<Time>, opened: HashSet<(Name, u32)>) -> Gate {
        (self.settled, self.opened) = (settled, opened);
        self
    }

    pub(super) fn observed(mut self, budgets: Vec<BudgetStatus>, written_since: WrittenSince) -> Gate {
        (self.budgets, self.written_since) = (budgets, written_since);
        self
    }

    /// Returns the status of an account as it was when the ledger was opened; `None` if nothing of it was
    /// released, or if rows wait for delivery, which bring their own.
    pub fn budget_at_start(&self, account: &Name) -> Option<&BudgetStatus> {
        self.budgets.iter().find(|status| status.account == *account)
    }

    /// Returns the time since which a restart reads again, as it is written.
    #[cfg(feature = "cli")]
    pub(crate) fn written_since(&self) -> WrittenSince {
        self.written_since.clone()
    }

    /// Returns the latest end of a window of this job that was settled when the ledger was opened, in any
    /// version.
    pub fn settled(&self) -> Option<Time> {
        self.settled
    }

    /// Returns true if the ledger keeps something of the release in this version, from a former run of this job.
    #[cfg(feature = "cli")]
    pub(crate) fn has_opened(&self, release: &Name, version: u32) -> bool {
        self.opened.contains(&(release.clone(), version))
    }

    /// As [`GateHandle::resume_positions`].
    #[cfg(feature = "cli")]
    pub(crate) fn resume_positions(&self, input: i64) -> Result<Option<ResumePositions>, LedgerError> {
        resume_positions((self.messages.as_ref(), &self.halted), input)
    }

    /// As [`GateHandle::last_row`].
    #[cfg(feature = "cli")]
    pub(crate) fn last_row(&self, name: &Name, version: &Digest) -> Result<Option<Time>, LedgerError> {
        last_row((self.messages.as_ref(), &self.halted), (name, version))
    }

    /// Returns the rows of a release in a version that are in the ledger now.
    pub(crate) fn past_rows(&self, name: &Name, version: &Digest) -> PastRows {
        let (messages, halted) = (self.messages.clone(), Arc::clone(&self.halted));
        PastRows { messages, halted, of: (name.clone(), *version) }
    }

    /// Returns the rows of the job at positions after this one that were delivered, oldest first, at most this number.
    #[cfg(feature = "cli")]
    pub(crate) fn delivered_after(&self, after: i64, most: i64) -> Result<Vec<Row>, LedgerError> {
        ask((self.messages.as_ref(), &self.halted), |answer| GateMessage::DeliveredRows(after, most, answer))
            .unwrap_or(Ok(Vec::new()))
    }

    /// Returns the position of the newest row of the ledger.
    #[cfg(feature = "cli")]
    pub(crate) fn newest_position(&self) -> Result<i64, LedgerError> {
        ask((self.messages.as_ref(), &self.halted), GateMessage::NewestPosition).unwrap_or(Ok(0))
    }

    /// Returns the name of the job.
    pub fn job(&self) -> &Name {
        &self.job
    }

    /// Returns the version of the job, which is that of every statistic without one of its own.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the secret key beside the ledger.
    pub fn key(&self) -> &LedgerKey {
        &self.key
    }

    /// Returns the accounts of the ledger, as they were when it was opened.
    pub fn accounts(&self) -> &[AccountSpec] {
        &self.accounts
    }

    /// Returns the account of this name; without a name, the only one that protects this unit. A ledger may
    /// protect persons by one account and single records by another, and neither stands for the other.
    ///
    /// # Errors
    ///
    /// If there is no such account, there are several, or the named one protects another unit; the error
    /// names the candidates. A gate that [is elsewhere](Gate::is_elsewhere) knows of none.
    pub fn account(&self, named: Option<&Name>, unit: PrivacyUnit) -> Result<&AccountSpec, LedgerError> {
        opening::find(&self.accounts, named, unit, self.person.as_deref())
    }

    /// Opens a handle for one statistic of the job, which receives all events of that statistic. `parameters`
    /// are its [`VersionTerms`], or a hash of everything that its privacy depends on. `wake` is called on the
    /// gate's thread: once at first, and whenever there is an event to receive.
    ///
    /// It waits for the gate's thread, and through it for the ledger: open handles before there is data. A
    /// second handle of the same name takes the place of the first. A handle of a gate
    /// [elsewhere](Gate::elsewhere) never receives anything.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Refused`] if the ledger keeps the statistic in this version with other parameters,
    /// as [`Ledger::agree`] describes; [`LedgerErrorKind::Doubt`] if the key does not decrypt the state of the
    /// statistic, which halts the gate. A gate that has halted returns its reason.
    ///
    /// [`LedgerErrorKind::Refused`]: crate::ledger::LedgerErrorKind::Refused
    /// [`LedgerErrorKind::Doubt`]: crate::ledger::LedgerErrorKind::Doubt
    /// [`Ledger::agree`]: crate::ledger::Ledger::agree
    pub fn handle(
        &self,
        name: &Name,
        parameters: impl Into<VersionTerms>,
        wake: impl Fn() + Send + 'static,
    ) -> Result<GateHandle, LedgerError> {
        self.handle_in_version(self.version, name, parameters, wake)
    }

    /// Opens a handle as [`handle`](Gate::handle) does, for a statistic with a version of its own.
    ///
    /// # Errors
    ///
    /// As [`handle`](Gate::handle).
    pub fn handle_in_version(
        &self,
        version: u32,
        name: &Name,
        parameters: impl Into<VersionTerms>,
        wake: impl Fn() + Send + 'static,
    ) -> Result<GateHandle, LedgerError> {
        let (outbox, events) = unbounded();
        let (accounts, messages) = (self.accounts.clone(), self.messages.clone());
        let mut memory = None;
        if let Some(messages) = &messages {
            let requested = Agreement { name: name.clone(), version, terms: parameters.into() };
            let listener = Listener { outbox: Some(outbox), wake: Box::new(wake) };
            let opened =
                ask((Some(messages), &self.halted), |answer| GateMessage::Open(requested, listener, answer));
            memory = opened.transpose()?.flatten();
        }
        let listens = Cell::new(false);
        Ok(GateHandle { accounts, messages, events, memory, listens, halted: Arc::clone(&self.halted) })
    }

    /// Returns the status of each account, now and whenever a commit of any process changes it; `every` is the time from one
    /// look for commits of other processes to the next. A gate elsewhere gives nothing.
    pub(crate) fn subscribe_to_budgets(
        &self,
        every: Duration,
    ) -> Result<Receiver<AccountStatus>, LedgerError> {
        let (outbox, statuses) = unbounded();
        let subscribe = |answer| GateMessage::Subscribe((outbox, every), answer);
        ask((self.messages.as_ref(), &self.halted), subscribe).unwrap_or(Ok(())).map(|()| statuses)
    }

    /// Reports that some input will never be complete: nothing is sealed from now on.
    pub fn halt(&self) {
        self.halter()();
    }

    /// Returns a function that halts the gate, to be called from another thread.
    pub(crate) fn halter(&self) -> impl Fn() + Send + 'static {
        let messages = self.messages.clone();
        move || {
            if let Some(messages) = &messages {
                let _ = messages.send(GateMessage::Halt);
            }
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if let Some(messages) = self.messages.take() {
            let _ = messages.send(GateMessage::Close);
        }
        if let Some(thread) = self.thread.take() {
            // A panic of a mechanism has ended the thread, and with it all releases.
            let _ = thread.join();
        }
    }
}

/// Returns the error for which the gate stopped: the kept one, or the given reason.
fn why(halted: &Halted, reason: HaltReason) -> LedgerError {
    halted.get().map_or_else(|| reason.into(), LedgerError::from)
}

/// Asks the gate's thread, and waits for its answer; `None` for a gate elsewhere.
/// The rows of a release in one version, as the ledger has them: those in archives are left out.
#[derive(Clone)]
pub(crate) struct PastRows {
    messages: Option<Sender<GateMessage>>,
    halted: Halted,
    of: (Name, Digest),
}

/// The number of rows that are read at a time.
const ROWS: i64 = 64;

impl PastRows {
    /// Returns true for a row of this version.
    pub(crate) fn are_of(&self, row: &Row) -> bool {
        row.release().version == self.of.1
    }

    /// Calls `take` with each row, in the order of the windows' ends.
    pub(crate) fn each(&self, mut take: impl FnMut(Row)) -> Result<(), LedgerError> {
        let mut after = Time::MIN;
        loop {
            let request = |answer| GateMessage::RowsAfter(self.of.clone(), after, ROWS, answer);
            let rows = ask((self.messages.as_ref(), &self.halted), request).unwrap_or(Ok(Vec::new()))?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.release().window.end();
            rows.into_iter().for_each(&mut take);
        }
    }
}

fn last_row(
    gate: (Option<&Sender<GateMessage>>, &Halted),
    (name, version): (&Name, &Digest),
) -> Result<Option<Time>, LedgerError> {
    ask(gate, |answer| GateMessage::LastRow(name.clone(), *version, answer)).unwrap_or(Ok(None))
}

fn resume_positions(
    gate: (Option<&Sender<GateMessage>>, &Halted),
    input: i64,
) -> Result<Option<ResumePositions>, LedgerError> {
    ask(gate, |answer| GateMessage::Positions(input, answer)).unwrap_or(Ok(None))
}

fn ask<T>(
    (messages, halted): (Option<&Sender<GateMessage>>, &Halted),
    message: impl FnOnce(Sender<Result<T, LedgerError>>) -> GateMessage,
) -> Option<Result<T, LedgerError>> {
    let (answer, answered) = bounded(1);
    // If the thread has ended or ends, the message is dropped, and the sender of its answer with it.
    let _ = messages?.send(message(answer));
    Some(answered.recv().unwrap_or_else(|_| Err(why(halted, HaltReason::Ended))))
}

/// The handle by which one statistic requests its releases and receives their outcomes.
pub struct GateHandle {
    accounts: Vec<AccountSpec>,
    messages: Option<Sender<GateMessage>>,
    events: Receiver<GateEvent>,
    memory: Option<Memory>,
    /// True once the gate knows that this handle listens.
    listens: Cell<bool>,
    halted: Halted,
}

/// Leaves out the state of a statistic, which is as secret as its counts.
impl fmt::Debug for GateHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateHandle").field("accounts", &self.accounts).finish_non_exhaustive()
    }
}

impl GateHandle {
    /// Takes the state that the statistic had when this handle was opened, of any version of the job; once,
    /// since it may be large and is a secret. Erased when it is dropped.
    pub fn take_memory(&mut self) -> Option<Memory> {
        self.memory.take()
    }

    /// Requests a release. A repeated request for one that is sealed gives the same row, and charges nothing;
    /// a repeated request for one in progress has no effect. The windows of a release are requested in the
    /// order of their ends: one without a row that ends before another that is settled in this version, or
    /// with it, is skipped.
    ///
    /// # Errors
    ///
    /// If the account is unknown, or cannot count the charge; neither depends on data.
    pub fn submit(&self, request: ReleaseRequest) -> Result<(), LedgerError> {
        let wanted = &request.release.account;
        let account = self.accounts.iter().find(|account| account.name() == wanted);
        let account = account.ok_or_else(|| {
            LedgerError::refused(format!("account {wanted}: the ledger has none of that name"))
        })?;
        account.counts(request.charge.cost())?;
        self.send(GateMessage::Wanted(request));
        Ok(())
    }

    /// Asks if a release has a row, without drawing one: if it has, the row is given out as if it had been
    /// requested, and otherwise the event is [`Absent`](GateEvent::Absent). For a release in progress the
    /// only event is its row.
    pub fn seek(&self, release: ReleaseId) {
        self.send(GateMessage::Sought(release));
    }

    /// Skips a window at no cost, unless it has a row.
    pub fn skip(&self, release: ReleaseId, why: SkipReason) {
        self.send(GateMessage::Skipped(release, why));
    }

    /// Returns the end of the last window of a release of this version that has a row.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read, which halts the gate.
    pub fn last_row(&self, name: &Name, version: &Digest) -> Result<Option<Time>, LedgerError> {
        last_row((self.messages.as_ref(), &self.halted), (name, version))
    }

    /// Returns the resume positions that a former run of the job has left of an input.
    ///
    /// # Errors
    ///
    /// [`LedgerErrorKind::Doubt`](crate::ledger::LedgerErrorKind::Doubt) if the key does not decrypt them,
    /// which halts the gate.
    pub fn resume_positions(&self, input: i64) -> Result<Option<ResumePositions>, LedgerError> {
        resume_positions((self.messages.as_ref(), &self.halted), input)
    }

    /// Writes resume positions with the next rows. Everything that an unsettled window may need must lie
    /// behind them. `written` is called once they are in the ledger, by the gate's thread: then a restart needs
    /// nothing before them.
    pub fn keep_positions(&self, update: ResumeUpdate, written: Box<dyn FnOnce() + Send>) {
        self.send(GateMessage::Resume(update, WrittenNotice(written)));
    }

    /// Confirms that the line of this row was delivered.
    pub fn delivered(&self, row: &Row) {
        self.send(GateMessage::Delivered(row.release().id()));
    }

    /// Returns the next event of the gate, if there is one. Waits for the gate's thread the first time, and
    /// never after it. A gate that has ended gives [`HaltReason::Ended`].
    pub fn hear(&self) -> Option<GateEvent> {
        self.listen();
        match self.events.try_recv() {
            Ok(event) => Some(event),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(GateEvent::Halted(HaltReason::Ended)),
        }
    }

    /// Returns the error for which the gate stopped, after [`GateEvent::Halted`]: the reason, and the
    /// ledger's message.
    pub fn why(&self, reason: HaltReason) -> LedgerError {
        why(&self.halted, reason)
    }

    /// Waits for the next event of the gate; `None` once there will be none.
    pub fn wait(&self) -> Option<GateEvent> {
        self.listen();
        self.events.recv().ok()
    }

    /// Lets the gate give, once, all events that it holds for the handles of this process, and waits for
    /// them: an operator that receives nothing in its first step concludes that there is nothing.
    fn listen(&self) {
        if !self.listens.replace(true) {
            let (given, until_given) = bounded(0);
            self.send(GateMessage::Listening(given));
            // The wait ends when the gate drops its side.
            let _ = until_given.recv();
        }
    }

    fn send(&self, message: GateMessage) {
        if let Some(messages) = &self.messages {
            // A gate that has halted receives nothing; its handles know.
            let _ = messages.send(message);
        }
    }
}
