//! The faces of the gate: one for a process, and a desk for each of its statistics.

use std::fmt;
use std::path::Path;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, TryRecvError, unbounded};

use super::core::Doubt;
use super::opening::Opening;
use super::request::{Request, Told};
use super::thread::Message;
use crate::ledger::{Domain, Key, Name, Release, Row, Trouble};

/// The way into a ledger for one job of this process. Dropping it waits for what was submitted.
///
/// Where a mechanism panics, the thread ends: desks hear nothing more, and nothing more is released.
#[derive(Debug)]
pub struct Gate {
    job: Name,
    key: Key,
    domains: Vec<Domain>,
    messages: Option<Sender<Message>>,
    thread: Option<JoinHandle<()>>,
}

impl Gate {
    /// Opens a ledger for a job; [`Opening`] has settings.
    ///
    /// # Errors
    ///
    /// As [`Opening::open`].
    pub fn open(ledger: impl AsRef<Path>, job: &str) -> Result<Gate, Trouble> {
        Opening::new(ledger, job)?.open()
    }

    /// For a process that does not hold worker 0: its windows are released by the one that does. Both must hold the same
    /// key.
    ///
    /// # Errors
    ///
    /// As [`Key::open`], and if `job` is no name.
    pub fn elsewhere(job: &str, key: impl AsRef<Path>) -> Result<Gate, Trouble> {
        let (job, key) = (Name::new("job", job)?, Key::open(key)?);
        Ok(Gate { job, key, domains: Vec::new(), messages: None, thread: None })
    }

    /// Whether the ledger is held by another process.
    pub fn is_elsewhere(&self) -> bool {
        self.messages.is_none()
    }

    pub(super) fn new(
        job: Name,
        key: Key,
        domains: Vec<Domain>,
        messages: Sender<Message>,
        thread: JoinHandle<()>,
    ) -> Gate {
        Gate { job, key, domains, messages: Some(messages), thread: Some(thread) }
    }

    /// The job.
    pub fn job(&self) -> &Name {
        &self.job
    }

    /// The secret beside the ledger.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The budgets of the ledger, as they were when it was opened.
    pub fn domains(&self) -> &[Domain] {
        &self.domains
    }

    /// A desk for one statistic of the job: what is told about that statistic is told there. `wake` is called on the
    /// gate's thread: once at first, and whenever there is something to hear.
    pub fn desk(&self, name: &Name, wake: impl Fn() + Send + 'static) -> Desk {
        let (outbox, told) = unbounded();
        let listener = Listener { outbox: Some(outbox), wake: Box::new(wake) };
        if let Some(messages) = &self.messages {
            // A gate that has halted hears nothing; the desk's channel is closed then.
            let _ = messages.send(Message::Desk(name.clone(), listener));
        }
        Desk { domains: self.domains.clone(), messages: self.messages.clone(), told }
    }

    /// Says that some input will never be complete: nothing is sealed from now on.
    pub fn halt(&self) {
        self.halter()();
    }

    /// The same, to be said later by whoever notices.
    pub(crate) fn halter(&self) -> impl Fn() + Send + 'static {
        let messages = self.messages.clone();
        move || {
            if let Some(messages) = &messages {
                let _ = messages.send(Message::Halt);
            }
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if let Some(messages) = self.messages.take() {
            let _ = messages.send(Message::Close);
        }
        if let Some(thread) = self.thread.take() {
            // A panic of a mechanism has ended the thread, and with it all releases.
            let _ = thread.join();
        }
    }
}

/// Who hears about a statistic.
pub(super) struct Listener {
    outbox: Option<Sender<Told>>,
    wake: Box<dyn Fn() + Send>,
}

impl Listener {
    pub(super) fn tell(&self, told: Told) {
        if let Some(outbox) = &self.outbox {
            // A desk that is gone hears nothing.
            let _ = outbox.send(told);
        }
        self.wake();
    }

    pub(super) fn wake(&self) {
        (self.wake)();
    }
}

/// Whoever waits for news learns that there will be none.
impl Drop for Listener {
    fn drop(&mut self) {
        self.outbox = None;
        (self.wake)();
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// Where one statistic asks for its releases and hears of them.
#[derive(Debug)]
pub struct Desk {
    domains: Vec<Domain>,
    messages: Option<Sender<Message>>,
    told: Receiver<Told>,
}

impl Desk {
    /// Asks for a release. Asking again for one that is sealed gives the same row, and charges nothing; asking while it
    /// is on its way is asking once.
    ///
    /// # Errors
    ///
    /// If the domain is unknown, or cannot count the charge; neither depends on data.
    pub fn submit(&self, request: Request) -> Result<(), Trouble> {
        let wanted = &request.release.domain;
        let domain = self.domains.iter().find(|domain| domain.name() == wanted);
        let domain = domain
            .ok_or_else(|| Trouble::refused(format!("domain {wanted}: the ledger has none of that name")))?;
        domain.counts(request.charge.cost())?;
        self.send(Message::Wanted(request));
        Ok(())
    }

    /// Says that a window's time has passed: what has no row yet is skipped, at no cost.
    pub fn miss(&self, release: Release) {
        self.send(Message::Missed(release));
    }

    /// Says that the line of this row has left.
    pub fn delivered(&self, row: &Row) {
        self.send(Message::Delivered(row.release().id()));
    }

    /// What the gate has to say, if it has said anything. Never waits. A gate that is gone says [`Doubt::Ended`].
    pub fn hear(&self) -> Option<Told> {
        match self.told.try_recv() {
            Ok(told) => Some(told),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Told::Halted(Doubt::Ended)),
        }
    }

    /// What the gate says next; `None` once it will say nothing more.
    pub fn wait(&self) -> Option<Told> {
        self.told.recv().ok()
    }

    fn send(&self, message: Message) {
        if let Some(messages) = &self.messages {
            // A gate that has halted hears nothing; it has said so.
            let _ = messages.send(message);
        }
    }
}
