//! The thread that carries out what the [`Core`] decides: it alone holds the ledger, and it alone asks for a draw.
//!
//! Requests that wait while a commit is under way share the next one.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::{Arc, OnceLock};

use crossbeam_channel::{Receiver, Sender};
use zeroize::Zeroizing;

use super::core::{Core, Delivery, Effect, Event, Outcome, Record};
use super::desk::Listener;
use super::doubt::Doubt;
use super::listeners::Listeners;
use super::patience;
use super::request::{Request, Sealable, Standing, Told};
use super::turns::Turns;
use super::vault::Vault;
use super::welcome::{self, Guest};
use crate::ledger::{
    Charge, Claim, Digest, Fate, Forecast, Journal, Ledger, Name, Pacing, Release, Row, Sealing, State,
    Trouble, TroubleKind, failpoint,
};
use crate::noise::Noise;

/// What the thread is told.
#[derive(Debug)]
pub(super) enum Message {
    Wanted(Request),
    Sought(Release),
    Missed(Release),
    Delivered(Digest),
    Desk(Guest, Listener, Sender<Answer>),
    /// Some input will never be complete.
    Halt,
    /// Finish what was asked for, and end.
    Close,
}

/// What the statistic of a new desk kept, or why it gets none.
pub(super) type Answer = Result<Option<Zeroizing<Vec<u8>>>, Trouble>;

/// Why the gate stopped, for whoever asks after its thread has ended.
pub(super) type Halted = Arc<OnceLock<Doubt>>;

/// Requests that share a commit.
const GROUP: usize = 256;

/// A request, until its row is known.
struct Asked {
    release: Release,
    charge: Option<Charge>,
    /// Gone once it was drawn.
    sealable: Option<Box<dyn Sealable>>,
    /// What the draw keeps for the next one, sealed.
    state: Option<State>,
}

pub(super) struct Driver {
    ledger: Ledger,
    claim: Claim,
    vault: Vault,
    journal: Option<Journal>,
    core: Core<Digest, String>,
    /// What was asked for and has no row yet.
    requests: HashMap<Digest, Asked>,
    turns: Turns,
    /// Rows on their way out.
    rows: HashMap<Digest, Row>,
    listeners: Listeners,
    /// At which pace budgets are being spent.
    pacing: Pacing,
    halted: Halted,
}

impl Driver {
    pub(super) fn new(
        ledger: Ledger,
        claim: Claim,
        vault: Vault,
        journal: Option<Journal>,
        core: Core<Digest, String>,
        pacing: Pacing,
    ) -> Driver {
        Driver {
            ledger,
            claim,
            vault,
            journal,
            core,
            requests: HashMap::new(),
            turns: Turns::default(),
            rows: HashMap::new(),
            listeners: Listeners::default(),
            pacing,
            halted: Halted::default(),
        }
    }

    pub(super) fn halted(&self) -> Halted {
        Arc::clone(&self.halted)
    }

    /// The first step, taken before the thread begins.
    pub(super) fn opened(&mut self, waiting: Vec<Row>, behind: bool) -> Vec<Effect<Digest, String>> {
        let waiting = waiting.into_iter().map(|row| self.known(row)).collect();
        self.step(Event::Opened { waiting, behind })
    }

    pub(super) fn run(mut self, effects: Vec<Effect<Digest, String>>, inbox: &Receiver<Message>) {
        self.carry_out(effects);
        while let Ok(first) = inbox.recv() {
            let mut effects = Vec::new();
            let mut closing = false;
            let mut noted = HashSet::new();
            for message in std::iter::once(first).chain(inbox.try_iter().take(GROUP - 1)) {
                closing |= matches!(message, Message::Close);
                match &message {
                    Message::Delivered(id) => _ = noted.insert(*id),
                    // While the delivery is not in the ledger yet it still is on its way out, and nothing would be told.
                    Message::Wanted(request) if noted.contains(&request.release.id()) => {
                        self.carry_out(mem::take(&mut effects));
                        noted.clear();
                    }
                    _ => {}
                }
                if let Some(event) = self.heard(message) {
                    effects.extend(self.step(event));
                }
            }
            self.carry_out(effects);
            if closing {
                // What ends is not waited for by anyone, so it cannot fail either.
                let _ = failpoint::reached("shutdown", TroubleKind::Unknown);
            }
            if closing || self.core.is_halted() {
                return;
            }
        }
    }

    /// Tells the core, and lets go of what the core lets go of: a secret is not kept beside its row.
    fn step(&mut self, event: Event<Digest, String>) -> Vec<Effect<Digest, String>> {
        let about = event.name().copied();
        let effects = self.core.step(event);
        for effect in &effects {
            if let Effect::Halt(doubt) = effect {
                self.halted.get_or_init(|| *doubt);
            }
            if let Effect::Withhold(id) = effect
                && let Some(row) = self.rows.remove(id)
            {
                let name = row.release().name.clone();
                self.listeners.tell(name, Told::Withheld(Box::new(row)));
            }
        }
        if let Some(id) = about.filter(|id| !self.core.holds(id)) {
            self.requests.remove(&id);
            self.rows.remove(&id);
        }
        effects
    }

    fn heard(&mut self, message: Message) -> Option<Event<Digest, String>> {
        match message {
            Message::Wanted(request) if request.sealable.keeps_state() => {
                self.turns.queue(request).map(|request| self.wanted(request))
            }
            Message::Wanted(request) => Some(self.wanted(request)),
            Message::Sought(release) => self.sought(release),
            Message::Missed(release) => {
                let asked = Asked { release, charge: None, sealable: None, state: None };
                Some(Event::Missed(self.keep(asked)))
            }
            Message::Delivered(id) => Some(Event::Delivered(id)),
            Message::Desk(guest, listener, answer) => self.arrived(guest, listener, &answer),
            Message::Halt => Some(Event::Doubted(Doubt::Incomplete)),
            Message::Close => None,
        }
    }

    /// Gives a statistic its desk, if nothing speaks against it.
    fn arrived(
        &mut self,
        guest: Guest,
        listener: Listener,
        answer: &Sender<Answer>,
    ) -> Option<Event<Digest, String>> {
        if self.core.is_halted() {
            // Whoever waits learns why from what is kept there.
            return None;
        }
        let welcomed = welcome::welcome(&mut self.ledger, &self.claim, &self.vault, &guest);
        let doubt = welcomed.as_ref().err().filter(|trouble| trouble.kind() != TroubleKind::Refused);
        let doubt = doubt.map(Doubt::about);
        if welcomed.is_ok() {
            let own = Digest::of_version(guest.version, &guest.parameters);
            let Guest { name, .. } = guest;
            // What another version has told is told again where nobody knows whether it was.
            let settled = |row: &Row| row.is_delivered() && row.release().version != own;
            self.listeners.seat(name, listener, |told| !matches!(told, Told::Row(row, _) if settled(row)));
        }
        // Nobody may wait any more.
        let _ = answer.send(welcomed.map(|kept| kept.map(|kept| kept.state)));
        doubt.map(Event::Doubted)
    }

    fn wanted(&mut self, Request { release, charge, sealable }: Request) -> Event<Digest, String> {
        Event::Wanted(self.keep(Asked {
            release,
            charge: Some(charge),
            sealable: Some(sealable),
            state: None,
        }))
    }

    /// Reads, and decides nothing: what has a row is asked for, and what has none is not.
    fn sought(&mut self, release: Release) -> Option<Event<Digest, String>> {
        let id = release.id();
        if self.core.is_halted() || self.turns.waits(&release) {
            return None;
        }
        if self.core.holds(&id) {
            // Its row was told, and nobody has said yet that it was delivered; or it is to come.
            let row = self.rows.get(&id).cloned()?;
            return match self.core.delivery() {
                Delivery::AtLeastOnce => self.tell(vec![row]),
                Delivery::AtMostOnce => {
                    self.listeners.tell(release.name, Told::Withheld(Box::new(row)));
                    None
                }
            };
        }
        match patience::ask(&mut self.ledger, &self.claim, |ledger| ledger.look_up(&release)) {
            Ok(Some(_)) => {
                let asked = Asked { release, charge: None, sealable: None, state: None };
                Some(Event::Wanted(self.keep(asked)))
            }
            Ok(None) => {
                self.listeners.tell(release.name, Told::Absent(id));
                None
            }
            Err(doubt) => Some(Event::Doubted(doubt)),
        }
    }

    /// Lets requests go on until every statistic waits for a row, or for nothing: a request for a row that is on its way
    /// out already asks for nothing, and the one behind it must not wait for it.
    fn take_turns(&mut self) -> Vec<Effect<Digest, String>> {
        let mut effects = Vec::new();
        loop {
            let ready = self.turns.next(|id| self.requests.contains_key(id));
            if ready.is_empty() {
                return effects;
            }
            for request in ready {
                let event = self.wanted(request);
                effects.extend(self.step(event));
            }
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
        loop {
            effects.extend(self.take_turns());
            if effects.is_empty() {
                return;
            }
            let (mut events, mut sealings, mut recovering) = (Vec::new(), Vec::new(), Vec::new());
            let (mut marks, mut leaving) = (Vec::new(), Vec::new());
            for effect in mem::take(&mut effects) {
                match effect {
                    Effect::LookUp(id) => events.push(self.look_up(id)),
                    Effect::Draw(id) => events.push(self.draw(id)),
                    Effect::Seal(id, line) => sealings.extend(self.sealing(id, Fate::Sealed, line)),
                    Effect::Lose(id) => sealings.extend(self.tombstone(id, Fate::Lost)),
                    Effect::Skip(id) => sealings.extend(self.tombstone(id, Fate::Skipped)),
                    Effect::Recover(id) => recovering.push(id),
                    Effect::Mark(id) => marks.extend(self.rows.get(&id).cloned()),
                    Effect::Deliver(id, _) => leaving.extend(self.rows.get(&id).cloned()),
                    // Told where the core said so.
                    Effect::Withhold(_) => {}
                    Effect::Halt(doubt) => return self.listeners.halt(doubt),
                }
            }
            events.extend(self.seal(sealings));
            events.extend(self.recover(&recovering));
            events.extend(self.mark(marks));
            events.extend(self.tell(leaving));
            effects = events.into_iter().flat_map(|event| self.step(event)).collect();
        }
    }

    fn look_up(&mut self, id: Digest) -> Event<Digest, String> {
        let Some(asked) = self.requests.get(&id) else { return Event::LookedUp(id, None) };
        let look_up = |ledger: &mut Ledger| {
            failpoint::reached("before-lookup", TroubleKind::Unknown)?;
            ledger.look_up(&asked.release)
        };
        match patience::ask(&mut self.ledger, &self.claim, look_up) {
            Ok(row) => {
                let record = row.map(|row| self.known(row).1);
                Event::LookedUp(id, record)
            }
            // Nothing is drawn where nobody knows what was sealed.
            Err(doubt) => Event::Doubted(doubt),
        }
    }

    fn draw(&mut self, id: Digest) -> Event<Digest, String> {
        let Some(asked) = self.requests.get_mut(&id) else { return Event::Drawn(id, None) };
        let Some(sealable) = asked.sealable.take() else { return Event::Drawn(id, None) };
        let (mut kept, mut version) = (None, 0);
        if sealable.keeps_state() {
            let name = &asked.release.name;
            match welcome::kept(&mut self.ledger, &self.claim, &self.vault, name) {
                Ok(Some(before)) => (version, kept) = (before.version, Some(before.state)),
                Ok(None) => {}
                Err(trouble) => return Event::Doubted(Doubt::about(&trouble)),
            }
        }
        let Ok(mut noise) = Noise::from_os() else { return Event::Drawn(id, None) };
        if failpoint::reached("after-seed", TroubleKind::Unknown).is_err() {
            return Event::Drawn(id, None);
        }
        let drawn = sealable.draw(kept.as_ref().map(|state| &state[..]), &mut noise);
        if failpoint::reached("after-draw", TroubleKind::Unknown).is_err() {
            return Event::Drawn(id, None);
        }
        if let Some(state) = drawn.state {
            asked.state = self.vault.seal((self.claim.job(), &asked.release.name), version, &state);
            if asked.state.is_none() {
                return Event::Drawn(id, None);
            }
        }
        if failpoint::reached("after-encode", TroubleKind::Unknown).is_err() {
            return Event::Drawn(id, None);
        }
        Event::Drawn(id, Some(drawn.line))
    }

    fn sealing(&self, id: Digest, fate: Fate, line: String) -> Option<Sealing> {
        let Asked { release, charge, state, .. } = self.requests.get(&id)?;
        let state = if fate == Fate::Sealed { state.clone() } else { None };
        Some(Sealing { release: release.clone(), charge: charge.clone(), fate, line, state })
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
                    TroubleKind::Doubt => return vec![Event::Doubted(Doubt::Ledger)],
                    _ => Outcome::Unknown,
                };
                sealings.iter().map(|sealing| Event::Settled(sealing.release.id(), outcome.clone())).collect()
            }
        }
    }

    /// Asks a server again what became of a commit, until it answers or patience ends.
    fn recover(&mut self, ids: &[Digest]) -> Vec<Event<Digest, String>> {
        let asked = |id: &Digest| Some((*id, self.requests.get(id)?.release.clone()));
        let (ids, releases): (Vec<_>, Vec<_>) = ids.iter().filter_map(asked).unzip();
        if ids.is_empty() {
            return Vec::new();
        }
        match patience::ask_anew(&mut self.ledger, &self.claim, &releases, |_, rows| Ok(rows)) {
            Ok(rows) => {
                let outcome = |row: Option<Row>| {
                    row.map_or(Outcome::Aborted, |row| Outcome::Recorded(self.known(row).1))
                };
                let outcomes = rows.into_iter().map(outcome);
                ids.into_iter().zip(outcomes).map(|(id, outcome)| Event::Settled(id, outcome)).collect()
            }
            Err(doubt) => vec![Event::Doubted(doubt)],
        }
    }

    fn mark(&mut self, rows: Vec<Row>) -> Vec<Event<Digest, String>> {
        if rows.is_empty() {
            return Vec::new();
        }
        // A mark whose answer was lost is no news the second time; what may not leave twice does not leave then.
        let mark = |ledger: &mut Ledger| {
            failpoint::reached("after-put-before-mark", TroubleKind::Unknown)?;
            let news = ledger.mark(&rows)?;
            failpoint::reached("after-mark", TroubleKind::Unknown)?;
            Ok(news)
        };
        match patience::ask(&mut self.ledger, &self.claim, mark) {
            Ok(news) => {
                rows.iter().zip(news).map(|(row, new)| Event::Marked(row.release().id(), new)).collect()
            }
            Err(doubt) => vec![Event::Doubted(doubt)],
        }
    }

    /// Lets rows leave, the oldest first, once the anchor knows of them.
    fn tell(&mut self, mut rows: Vec<Row>) -> Option<Event<Digest, String>> {
        if let Some(journal) = &mut self.journal
            && journal.note(rows.iter()).is_err()
        {
            return Some(Event::Doubted(Doubt::Unknown));
        }
        rows.sort_by_key(Row::sequence);
        let forecasts = match self.foretell(&rows) {
            Ok(forecasts) => forecasts,
            Err(doubt) => return Some(Event::Doubted(doubt)),
        };
        for row in rows {
            if row.generation < self.claim.generation()
                && failpoint::reached("republish-mid", TroubleKind::Unknown).is_err()
            {
                return Some(Event::Doubted(Doubt::Unknown));
            }
            let (domain, window) = (row.release().domain.clone(), row.release().window);
            let spent = |ledger: &mut Ledger| ledger.spent(&domain, row.charged());
            let (spent, cap) = match patience::ask(&mut self.ledger, &self.claim, spent) {
                Ok(standing) => standing,
                Err(doubt) => return Some(Event::Doubted(doubt)),
            };
            let name = row.release().name.clone();
            let Some(forecast) = forecasts.get(&domain).cloned() else { continue };
            let told = Told::Row(Box::new(row), Box::new(Standing { domain, window, spent, cap, forecast }));
            self.listeners.tell(name, told);
        }
        None
    }

    /// How long the budgets of these rows last, all of them written.
    fn foretell(&mut self, rows: &[Row]) -> Result<HashMap<Name, Arc<Forecast>>, Doubt> {
        rows.iter().for_each(|row| self.pacing.row(row));
        let mut newest: HashMap<&Name, &Row> = HashMap::new();
        rows.iter().for_each(|row| _ = newest.insert(&row.release().domain, row));
        let pacing = &self.pacing;
        let (ledger, claim) = (&mut self.ledger, &self.claim);
        let mut foretell = |(domain, row): (&Name, &Row)| {
            let forecast = patience::ask(ledger, claim, |ledger| ledger.outlook(pacing, row))?;
            Ok((domain.clone(), Arc::new(forecast)))
        };
        newest.into_iter().map(&mut foretell).collect()
    }

    /// Keeps a row until it has left; its request is answered.
    fn known(&mut self, row: Row) -> (Digest, Record<String>) {
        let id = row.release().id();
        let record = Record { fate: row.fate(), line: row.line().to_owned(), delivered: row.is_delivered() };
        self.requests.remove(&id);
        self.rows.insert(id, row);
        (id, record)
    }
}
