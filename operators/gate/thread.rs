//! The thread that carries out what the [`Core`] decides: it alone holds the ledger, and it alone asks for a draw.
//!
//! Whoever computes statistics hands over a [`Request`] and goes on with other work; rows come back on a channel once
//! they are durable. Requests that wait while a commit is under way share the next one.

use std::collections::HashMap;
use std::mem;
use std::path::Path;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::core::{Core, Delivery, Doubt, Effect, Event, Outcome, Record, Uncertainty};
use crate::ledger::{
    Charge, Claim, Digest, Domain, Fate, Ledger, Name, Release, Row, Sealing, Trouble, TroubleKind,
};
use crate::noise::Noise;

/// A window's exact statistic with the mechanism that will noise it: all that the gate ever sees of either.
///
/// A draw cannot fail. It is made once, from a fresh seed, after the ledger has said that the release has no row; what
/// it returns is the line that may leave.
pub trait Sealable: Send {
    /// Noises the statistic, and writes the line.
    fn draw(self: Box<Self>, noise: &mut Noise) -> String;
}

impl<F: FnOnce(&mut Noise) -> String + Send> Sealable for F {
    fn draw(self: Box<Self>, noise: &mut Noise) -> String {
        self(noise)
    }
}

/// A complete window that asks to be released.
#[expect(missing_debug_implementations, reason = "it holds a secret")]
pub struct Request {
    /// What is to be released.
    pub release: Release,
    /// How it is paid for: from configuration, never from data.
    pub charge: Charge,
    /// The secret, and how to tell it.
    pub sealable: Box<dyn Sealable>,
}

/// What the gate has to say.
#[derive(Debug)]
pub enum Told {
    /// A row of the ledger, read back: its line may leave, and no other.
    Row(Box<Row>),
    /// Nothing more will be released by this process.
    Halted(Doubt),
}

/// The way into a ledger for one job of this process. Dropping it waits for what was submitted.
///
/// Where a mechanism panics, the thread ends: the receiver disconnects, and nothing more is released.
#[derive(Debug)]
pub struct Gate {
    domains: Vec<Domain>,
    messages: Option<Sender<Message>>,
    thread: Option<JoinHandle<()>>,
}

impl Gate {
    /// Opens a ledger, verifies it, takes the job's fence, and starts the thread. The receiver first hears of every row
    /// whose delivery is not known.
    ///
    /// # Errors
    ///
    /// As [`Ledger::open`] and [`Ledger::claim`].
    pub fn open(
        ledger: impl AsRef<Path>,
        job: &Name,
        delivery: Delivery,
    ) -> Result<(Gate, Receiver<Told>), Trouble> {
        let mut ledger = Ledger::open(ledger)?;
        let claim = ledger.claim(job)?;
        let waiting = ledger.undelivered(job)?;
        let domains = ledger.domains()?;
        let (messages, inbox) = unbounded();
        let (outbox, told) = unbounded();
        let driver = Driver {
            ledger,
            claim,
            core: Core::new(delivery, Uncertainty::Halt),
            requests: HashMap::new(),
            rows: HashMap::new(),
            outbox,
        };
        let thread = thread::Builder::new().name("gate".into()).spawn(move || driver.run(waiting, &inbox));
        let thread = thread.map_err(|error| Trouble::refused(format!("gate: no thread: {error}")))?;
        Ok((Gate { domains, messages: Some(messages), thread: Some(thread) }, told))
    }

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
        if let Charge::Cost(cost) = &request.charge {
            domain.counts(cost)?;
        }
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

    /// A gate that has halted hears nothing; its receiver was told.
    fn send(&self, message: Message) {
        if let Some(messages) = &self.messages {
            let _ = messages.send(message);
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.messages = None;
        if let Some(thread) = self.thread.take() {
            // A panic of a mechanism has ended the thread, and with it all releases.
            let _ = thread.join();
        }
    }
}

enum Message {
    Wanted(Request),
    Missed(Release),
    Delivered(Digest),
}

/// Requests that share a commit.
const GROUP: usize = 256;

/// A request, until its row is known.
struct Asked {
    release: Release,
    charge: Option<Charge>,
    /// Gone once it was drawn.
    sealable: Option<Box<dyn Sealable>>,
}

struct Driver {
    ledger: Ledger,
    claim: Claim,
    core: Core<Digest, String>,
    /// What was asked for and has no row yet.
    requests: HashMap<Digest, Asked>,
    /// Rows on their way out.
    rows: HashMap<Digest, Row>,
    outbox: Sender<Told>,
}

impl Driver {
    fn run(mut self, waiting: Vec<Row>, inbox: &Receiver<Message>) {
        let waiting = waiting.into_iter().map(|row| self.known(row)).collect();
        let effects = self.step(Event::Opened(waiting));
        self.carry_out(effects);
        while let Ok(first) = inbox.recv() {
            let mut effects = Vec::new();
            for message in std::iter::once(first).chain(inbox.try_iter().take(GROUP - 1)) {
                let event = self.heard(message);
                effects.extend(self.step(event));
            }
            self.carry_out(effects);
            if self.core.is_halted() {
                return;
            }
        }
    }

    /// Tells the core, and lets go of what the core lets go of: a secret is not kept beside its row.
    fn step(&mut self, event: Event<Digest, String>) -> Vec<Effect<Digest, String>> {
        let about = event.name().copied();
        let effects = self.core.step(event);
        if let Some(id) = about.filter(|id| !self.core.holds(id)) {
            self.requests.remove(&id);
            self.rows.remove(&id);
        }
        effects
    }

    fn heard(&mut self, message: Message) -> Event<Digest, String> {
        match message {
            Message::Wanted(Request { release, charge, sealable }) => {
                let asked = Asked { release, charge: Some(charge), sealable: Some(sealable) };
                Event::Wanted(self.keep(asked))
            }
            Message::Missed(release) => {
                Event::Missed(self.keep(Asked { release, charge: None, sealable: None }))
            }
            Message::Delivered(id) => Event::Delivered(id),
        }
    }

    /// Keeps a request, unless its release is on its way already: then the first word about it counts.
    fn keep(&mut self, asked: Asked) -> Digest {
        let id = asked.release.id();
        if !self.core.holds(&id) {
            self.requests.insert(id, asked);
        }
        id
    }

    /// Does what is to be done, until there is nothing left that does not wait for somebody else. What can share a
    /// transaction does.
    fn carry_out(&mut self, effects: Vec<Effect<Digest, String>>) {
        let mut effects = effects;
        while !effects.is_empty() {
            let (mut events, mut sealings, mut marks) = (Vec::new(), Vec::new(), Vec::new());
            for effect in mem::take(&mut effects) {
                match effect {
                    Effect::LookUp(id) => events.push(self.look_up(id)),
                    Effect::Draw(id) => events.push(self.draw(id)),
                    Effect::Seal(id, line) => sealings.extend(self.sealing(id, Fate::Sealed, line)),
                    Effect::Lose(id) => sealings.extend(self.tombstone(id, Fate::Lost)),
                    Effect::Skip(id) => sealings.extend(self.tombstone(id, Fate::Skipped)),
                    Effect::Mark(id) => marks.extend(self.rows.get(&id).cloned()),
                    Effect::Deliver(id, _) => self.tell(id),
                    // A local file is not asked again by the same process: see `Uncertainty::Halt`.
                    Effect::Recover(id) => events.push(Event::Settled(id, Outcome::Unknown)),
                    Effect::Halt(doubt) => {
                        let _ = self.outbox.send(Told::Halted(doubt));
                        return;
                    }
                }
            }
            events.extend(self.seal(sealings));
            events.extend(self.mark(marks));
            effects = events.into_iter().flat_map(|event| self.step(event)).collect();
        }
    }

    fn look_up(&mut self, id: Digest) -> Event<Digest, String> {
        let Some(asked) = self.requests.get(&id) else { return Event::LookedUp(id, None) };
        match self.ledger.look_up(&asked.release) {
            Ok(row) => {
                let record = row.map(|row| self.known(row).1);
                Event::LookedUp(id, record)
            }
            // Nothing is drawn where nobody knows what was sealed.
            Err(_) => Event::Doubted(Doubt::Ledger),
        }
    }

    fn draw(&mut self, id: Digest) -> Event<Digest, String> {
        let sealable = self.requests.get_mut(&id).and_then(|asked| asked.sealable.take());
        let line = match (sealable, Noise::from_os()) {
            (Some(sealable), Ok(mut noise)) => Some(sealable.draw(&mut noise)),
            _ => None,
        };
        Event::Drawn(id, line)
    }

    fn sealing(&self, id: Digest, fate: Fate, line: String) -> Option<Sealing> {
        let Asked { release, charge, .. } = self.requests.get(&id)?;
        Some(Sealing { release: release.clone(), charge: charge.clone(), fate, line })
    }

    fn tombstone(&self, id: Digest, fate: Fate) -> Option<Sealing> {
        let line = self.requests.get(&id)?.release.tombstone(fate);
        self.sealing(id, fate, line)
    }

    fn seal(&mut self, sealings: Vec<Sealing>) -> Vec<Event<Digest, String>> {
        if sealings.is_empty() {
            return Vec::new();
        }
        match self.ledger.seal(&self.claim, &sealings) {
            Ok(rows) => {
                let settled = |(id, record)| Event::Settled(id, Outcome::Recorded(record));
                rows.into_iter().map(|row| settled(self.known(row))).collect()
            }
            Err(trouble) => {
                let outcome = match trouble.kind() {
                    TroubleKind::Fenced => Outcome::Fenced,
                    TroubleKind::Busy => Outcome::Aborted,
                    _ => Outcome::Unknown,
                };
                sealings.iter().map(|sealing| Event::Settled(sealing.release.id(), outcome.clone())).collect()
            }
        }
    }

    fn mark(&mut self, rows: Vec<Row>) -> Vec<Event<Digest, String>> {
        if rows.is_empty() {
            return Vec::new();
        }
        match self.ledger.mark(&rows) {
            Ok(news) => {
                rows.iter().zip(news).map(|(row, new)| Event::Marked(row.release().id(), new)).collect()
            }
            Err(_) => vec![Event::Doubted(Doubt::Unknown)],
        }
    }

    /// Keeps a row until it has left; its request is answered.
    fn known(&mut self, row: Row) -> (Digest, Record<String>) {
        let id = row.release().id();
        let record = Record { fate: row.fate(), line: row.line().to_owned(), delivered: row.is_delivered() };
        self.requests.remove(&id);
        self.rows.insert(id, row);
        (id, record)
    }

    fn tell(&mut self, id: Digest) {
        if let Some(row) = self.rows.get(&id) {
            let _ = self.outbox.send(Told::Row(Box::new(row.clone())));
        }
    }
}

#[cfg(test)]
mod tests;
