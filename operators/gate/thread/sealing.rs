//! The making of a row: looked up, drawn if there is none, sealed, and read again if the answer was lost.

use crossbeam_channel::Sender;
use zeroize::Zeroizing;

use super::{Driver, GateMessage, MemoryReply, PendingRequest, PositionsReply, WrittenNotice, way};
use crate::gate::core::{CommitOutcome, Delivery, Event};
use crate::gate::listeners::Listener;
use crate::gate::positions::ResumeUpdate;
use crate::gate::request::{GateEvent, HaltReason, HandedRelease, ReleaseRequest, SkipReason};
use crate::gate::{request, state};
use crate::ledger::{
    Agreement, Digest, Ledger, LedgerError, LedgerErrorKind, Name, PositionUpdate, ReleaseId, ReleaseStatus,
    Row, Sealing, failpoint, may_hold,
};
use crate::noise::NoiseSource;

impl Driver {
    /// Looks up the rows of these releases, all in one state of the ledger.
    pub(super) fn look_up(&mut self, ids: &[Digest]) -> Vec<Event<Digest, String>> {
        let requested: Vec<(Digest, &ReleaseId)> =
            ids.iter().filter_map(|id| Some((*id, &self.requests.get(id)?.release))).collect();
        let unasked = ids.iter().filter(|id| !self.requests.contains_key(*id));
        let mut events: Vec<Event<Digest, String>> = unasked.map(|id| Event::LookedUp(*id, None)).collect();
        if requested.is_empty() {
            return events;
        }
        let look_up = |ledger: &mut Ledger| {
            for _ in &requested {
                failpoint::reached("before-lookup", LedgerErrorKind::Unknown)?;
            }
            ledger.look_up_each(requested.iter().map(|(_, release)| *release))
        };
        let rows = match request::ask(&mut self.ledger, &self.claim, look_up) {
            Ok(rows) => rows,
            // Nothing is drawn if it is unknown what was sealed.
            Err(trouble) => return vec![self.doubted(&trouble)],
        };
        let ids: Vec<Digest> = requested.into_iter().map(|(id, _)| id).collect();
        events.extend(
            ids.into_iter().zip(rows).map(|(id, row)| Event::LookedUp(id, row.map(|row| self.known(row).1))),
        );
        events
    }

    pub(super) fn draw(&mut self, id: Digest) -> Event<Digest, String> {
        let Some(asked) = self.requests.get_mut(&id) else { return Event::Drawn(id, None) };
        let Some(sealable) = asked.sealable.take() else { return Event::Drawn(id, None) };
        let (name, mut before) = (asked.release.name.clone(), None);
        if sealable.keeps_state() {
            let in_memory = self.states.remove(&name);
            match state::kept(&mut self.ledger, &self.claim, &self.cipher, &name, in_memory) {
                Ok(kept) => before = kept,
                Err(trouble) => return self.doubted(&trouble),
            }
        }
        let Ok(mut noise) = NoiseSource::from_os() else { return Event::Drawn(id, None) };
        if failpoint::reached("after-seed", LedgerErrorKind::Unknown).is_err() {
            return Event::Drawn(id, None);
        }
        let span = self.spans.draw(&id, &asked.release).entered();
        let drawn = sealable.draw(before.as_ref().map(|before| &before.state[..]), &mut noise);
        drop(span);
        if failpoint::reached("after-draw", LedgerErrorKind::Unknown).is_err() {
            return Event::Drawn(id, None);
        }
        if let Some(state) = drawn.state.map(Zeroizing::new) {
            let beside = (drawn.step.as_ref(), drawn.note.as_ref());
            let following = self.cipher.follow((self.claim.job(), &name), before.as_ref(), state, beside);
            let Some((state, kept)) = following else { return Event::Drawn(id, None) };
            asked.state = Some(state);
            before = Some(kept);
        }
        if let Some(kept) = before {
            self.states.insert(name, kept);
        }
        if failpoint::reached("after-encode", LedgerErrorKind::Unknown).is_err() {
            return Event::Drawn(id, None);
        }
        Event::Drawn(id, Some(drawn.line))
    }

    pub(super) fn sealing(&self, id: Digest, status: ReleaseStatus, line: String) -> Option<Sealing> {
        let PendingRequest { release, charge, state, .. } = self.requests.get(&id)?;
        let state = if status == ReleaseStatus::Sealed { state.clone() } else { None };
        Some(Sealing { release: release.clone(), charge: charge.clone(), status, line, state })
    }

    pub(super) fn tombstone(&self, id: Digest, status: ReleaseStatus) -> Option<Sealing> {
        let PendingRequest { release, skip, .. } = self.requests.get(&id)?;
        let line = match skip.filter(|_| status == ReleaseStatus::Skipped) {
            Some(why) => release.skipped(why.word()),
            None => release.tombstone(status),
        };
        self.sealing(id, status, line)
    }

    pub(super) fn seal(&mut self, sealings: Vec<Sealing>) -> Vec<Event<Digest, String>> {
        if sealings.is_empty() {
            return Vec::new();
        }
        let positions: Vec<PositionUpdate> = self.positions.values().cloned().collect();
        let span = way::commit(&sealings).entered();
        let sealed = self.ledger.seal_with(&self.claim, &sealings, (&positions, &self.agreements));
        drop(span);
        match sealed {
            Ok(rows) => {
                self.cause = None;
                self.is_written();
                let newest = rows.iter().map(Row::sequence).max().unwrap_or(0);
                let doubt = self.ledger.checkpoint_after(newest).err().map(|doubt| self.doubted(&doubt));
                let committed = |(id, record)| Event::Committed(id, CommitOutcome::Recorded(record));
                // A doubt comes first: then none of these rows leaves before the ledger was seen to.
                doubt.into_iter().chain(rows.into_iter().map(|row| committed(self.known(row)))).collect()
            }
            Err(trouble) => {
                self.cause = Some(trouble.to_string());
                let outcome = match trouble.kind() {
                    LedgerErrorKind::Fenced => CommitOutcome::Fenced,
                    LedgerErrorKind::Busy => CommitOutcome::Aborted,
                    LedgerErrorKind::Doubt => return vec![Event::Doubted(HaltReason::Ledger)],
                    _ => CommitOutcome::Unknown,
                };
                sealings
                    .iter()
                    .map(|sealing| Event::Committed(sealing.release.id(), outcome.clone()))
                    .collect()
            }
        }
    }

    /// Asks a server again for the outcome of a commit, until it answers or the attempts are used up.
    pub(super) fn recover(&mut self, ids: &[Digest]) -> Vec<Event<Digest, String>> {
        let asked = |id: &Digest| Some((*id, self.requests.get(id)?.release.clone()));
        let (ids, releases): (Vec<_>, Vec<_>) = ids.iter().filter_map(asked).unzip();
        if ids.is_empty() {
            return Vec::new();
        }
        match request::ask_anew(&mut self.ledger, &self.claim, &releases, |_, rows| Ok(rows)) {
            Ok(rows) => {
                let outcome = |row: Option<Row>| {
                    row.map_or(CommitOutcome::Aborted, |row| CommitOutcome::Recorded(self.known(row).1))
                };
                let outcomes = rows.into_iter().map(outcome);
                ids.into_iter().zip(outcomes).map(|(id, outcome)| Event::Committed(id, outcome)).collect()
            }
            Err(trouble) => vec![self.doubted(&trouble)],
        }
    }
}

// Handling of messages, before the core has decided anything about them.

impl Driver {
    pub(super) fn heard(&mut self, message: GateMessage) -> Option<Event<Digest, String>> {
        match message {
            GateMessage::Wanted(request) => {
                self.turns.queue(HandedRelease::Wanted(request));
                None
            }
            GateMessage::Skipped(release, why) => {
                self.turns.queue(HandedRelease::Skipped(release, why));
                None
            }
            GateMessage::Sought(release) => self.sought(release),
            GateMessage::Delivered(id) => Some(Event::Delivered(id)),
            GateMessage::Resume(update, notice) => self.resume(&update, notice),
            GateMessage::Positions(input, answer) => self.held_positions(input, &answer),
            GateMessage::LastRow(name, version, answer) => {
                self.answer(&answer, |ledger, job| ledger.last_row(job, &name, &version))
            }
            GateMessage::RowsAfter((name, version), after, most, answer) => self
                .answer(&answer, |ledger, job| ledger.rows_ending_after((job, &name, &version), after, most)),
            #[cfg(feature = "cli")]
            GateMessage::DeliveredRows(after, most, answer) => {
                self.answer(&answer, |ledger, job| ledger.delivered_after(job, after, most))
            }
            #[cfg(feature = "cli")]
            GateMessage::NewestPosition(answer) => self.answer(&answer, |ledger, _| Ok(ledger.head()?.0)),
            GateMessage::Open(requested, listener, answer) => self.open_handle(requested, listener, &answer),
            GateMessage::Subscribe(subscriber, answer) => self.add_subscriber(subscriber, &answer),
            GateMessage::Listening(_until_here) => {
                self.listeners.listen();
                None
            }
            GateMessage::Verifying => None,
            GateMessage::Verified(verified) => {
                let sound = verified.is_ok();
                to_operator!(
                    DEBUG,
                    "ledger verified",
                    sound,
                    "the ledger was verified from its first row on"
                );
                match verified {
                    Ok(()) => {
                        self.ledger.was_verified();
                        None
                    }
                    Err(doubt) => Some(self.doubted(&doubt)),
                }
            }
            GateMessage::Halt => Some(Event::Doubted(HaltReason::Incomplete)),
            GateMessage::Close => {
                self.listeners.listen();
                None
            }
        }
    }

    /// Answers with what the ledger says of the job.
    fn answer<T>(
        &mut self,
        answer: &Sender<Result<T, LedgerError>>,
        read: impl Fn(&mut Ledger, &Name) -> Result<T, LedgerError>,
    ) -> Option<Event<Digest, String>> {
        let job = self.claim.job();
        let found = request::ask(&mut self.ledger, &self.claim, |ledger| read(ledger, job));
        let doubted = found.as_ref().err().map(|trouble| self.doubted(trouble));
        // The caller may have stopped waiting.
        let _ = answer.send(found);
        doubted
    }

    /// Keeps a change of the resume positions for the next commit. The first positions of a run are written at
    /// once, and those of a new partition: before the next window leaves, a restart finds the files that a rotation has
    /// renamed, and notices those that are gone.
    fn resume(&mut self, update: &ResumeUpdate, notice: WrittenNotice) -> Option<Event<Digest, String>> {
        let (since, is_urgent) = (update.since, update.replaces || update.is_urgent);
        // Without randomness nothing is drawn either, so nothing is settled that this could forget.
        let update = self.cipher.encrypt_positions(self.claim.job(), update)?;
        self.notices.push(notice);
        self.positions
            .entry(update.input)
            .or_insert_with(|| PositionUpdate { input: update.input, ..PositionUpdate::default() })
            .add(update);
        self.since = Some(since);
        if !is_urgent || self.core.is_halted() {
            return None;
        }
        let positions: Vec<PositionUpdate> = self.positions.values().cloned().collect();
        match self.ledger.seal_with(&self.claim, &[], (&positions, &self.agreements)) {
            Ok(_) => self.is_written(),
            Err(doubt) if doubt.kind() == LedgerErrorKind::Doubt => return Some(self.doubted(&doubt)),
            // They are written with the next rows, whose error is reported.
            Err(_) => {}
        }
        None
    }

    /// Notes that the ledger holds the positions and the terms; after another outcome they are written again, which changes
    /// nothing.
    fn is_written(&mut self) {
        self.agreements.clear();
        if !self.positions.is_empty() {
            let inputs = self.positions.len() as u64;
            to_operator!(TRACE, "positions written", inputs, "the ledger holds new resume positions");
        }
        self.positions.clear();
        if let Some(since) = self.since.take() {
            self.written_since.set(since);
        }
        self.notices.drain(..).for_each(|WrittenNotice(notice)| notice());
    }

    /// Answers with the resume positions that a former run has left.
    fn held_positions(
        &mut self,
        input: i64,
        answer: &Sender<PositionsReply>,
    ) -> Option<Event<Digest, String>> {
        let job = self.claim.job();
        let held = request::ask(&mut self.ledger, &self.claim, |ledger| ledger.positions(job, input));
        let positions = held.and_then(|held| self.cipher.decrypt_positions(job, input, &held));
        let doubted = positions.as_ref().err().map(|trouble| self.doubted(trouble));
        // The caller may have stopped waiting.
        let _ = answer.send(positions);
        doubted
    }

    /// Opens the handle of a statistic, if its checks pass.
    fn open_handle(
        &mut self,
        requested: Agreement,
        listener: Listener,
        answer: &Sender<MemoryReply>,
    ) -> Option<Event<Digest, String>> {
        if self.core.is_halted() {
            // The waiting caller learns the reason from the kept error.
            return None;
        }
        let opened = state::open(&mut self.ledger, &self.claim, &self.cipher, &self.agreements, &requested);
        let doubt = opened.as_ref().err().filter(|trouble| trouble.kind() != LedgerErrorKind::Refused);
        let doubted = doubt.map(|trouble| self.doubted(trouble));
        if opened.is_ok() {
            let own = Digest::of_version(requested.version, requested.terms.digest());
            let name = requested.name.clone();
            self.agreements.push(requested);
            // Rows that another version has given out are given out again unless their delivery is recorded.
            let is_delivered_elsewhere = |row: &Row| row.is_delivered() && row.release().version != own;
            self.listeners.add(
                name,
                listener,
                |event| !matches!(event, GateEvent::Row(row, _) if is_delivered_elsewhere(row)),
            );
        }
        // The caller may have stopped waiting.
        let _ = answer.send(opened);
        doubted
    }

    /// Returns the event of a window that is skipped.
    pub(super) fn skipped(&mut self, release: ReleaseId, why: SkipReason) -> Event<Digest, String> {
        let skip = Some(why);
        Event::Missed(self.keep(PendingRequest { release, charge: None, sealable: None, state: None, skip }))
    }

    pub(super) fn wanted(
        &mut self,
        ReleaseRequest { release, charge, sealable }: ReleaseRequest,
    ) -> Event<Digest, String> {
        // It has its row already, or it is skipped: windows of a version are drawn in the order of their
        // ends.
        if self.is_passed(&release) {
            return self.skipped(release, SkipReason::Late);
        }
        Event::Wanted(self.keep(PendingRequest {
            release,
            charge: Some(charge),
            sealable: Some(sealable),
            state: None,
            skip: None,
        }))
    }

    /// Reads, and decides nothing: a release that has a row is requested, and one without a row is reported
    /// as absent.
    fn sought(&mut self, release: ReleaseId) -> Option<Event<Digest, String>> {
        let id = release.id();
        if self.core.is_halted() || self.turns.waits(&id) {
            return None;
        }
        if self.core.holds(&id) {
            // Its row was given out, and its delivery is not confirmed yet; or the row is to come.
            let row = self.rows.get(&id).cloned()?;
            return match self.core.delivery() {
                Delivery::AtLeastOnce => self.notify(vec![row]),
                Delivery::AtMostOnce => {
                    self.listeners.notify(release.name, GateEvent::Withheld(Box::new(row)));
                    None
                }
            };
        }
        match request::ask(&mut self.ledger, &self.claim, |ledger| ledger.look_up(&release)) {
            Ok(Some(_)) => {
                let asked = PendingRequest { release, charge: None, sealable: None, state: None, skip: None };
                Some(Event::Wanted(self.keep(asked)))
            }
            Ok(None) if may_hold(self.archived, &release) => {
                self.listeners.notify(release.name.clone(), GateEvent::Archived(Box::new(release)));
                None
            }
            Ok(None) => {
                self.listeners.notify(release.name, GateEvent::Absent(id));
                None
            }
            Err(trouble) => Some(self.doubted(&trouble)),
        }
    }

    /// Keeps a request, unless its release is in progress already: then the first request counts.
    fn keep(&mut self, asked: PendingRequest) -> Digest {
        let id = asked.release.id();
        if !self.core.holds(&id) {
            self.spans.begin(id, &asked.release);
            self.requests.insert(id, asked);
        }
        id
    }
}
