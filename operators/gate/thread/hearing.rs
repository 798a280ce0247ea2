//! What a message asks for, before the core has decided anything about it.

use crossbeam_channel::Sender;

use super::{Driver, GateMessage, MemoryReply, PendingRequest};
use crate::gate::core::{Delivery, Event};
use crate::gate::desk::Listener;
use crate::gate::doubt::HaltReason;
use crate::gate::patience;
use crate::gate::request::{GateEvent, ReleaseRequest};
use crate::gate::turns::HandedRelease;
use crate::gate::welcome::{self, Guest};
use crate::ledger::{Digest, LedgerErrorKind, ReleaseId, Row};

impl Driver {
    pub(super) fn heard(&mut self, message: GateMessage) -> Option<Event<Digest, String>> {
        match message {
            GateMessage::Wanted(request) => {
                self.turns.queue(HandedRelease::Wanted(request));
                None
            }
            GateMessage::Missed(release) => {
                self.turns.queue(HandedRelease::Missed(release));
                None
            }
            GateMessage::Sought(release) => self.sought(release),
            GateMessage::Delivered(id) => Some(Event::Delivered(id)),
            GateMessage::Desk(guest, listener, answer) => self.arrived(guest, listener, &answer),
            GateMessage::Listening(_until_here) => {
                self.listeners.listen();
                None
            }
            GateMessage::Halt => Some(Event::Doubted(HaltReason::Incomplete)),
            GateMessage::Close => {
                self.listeners.listen();
                None
            }
        }
    }

    /// Gives a statistic its desk, if nothing speaks against it.
    fn arrived(
        &mut self,
        guest: Guest,
        listener: Listener,
        answer: &Sender<MemoryReply>,
    ) -> Option<Event<Digest, String>> {
        if self.core.is_halted() {
            // Whoever waits learns why from what is kept there.
            return None;
        }
        let welcomed = welcome::welcome(&mut self.ledger, &self.claim, &self.vault, &guest);
        let doubt = welcomed.as_ref().err().filter(|trouble| trouble.kind() != LedgerErrorKind::Refused);
        let doubted = doubt.map(|trouble| self.doubted(trouble));
        if welcomed.is_ok() {
            let own = Digest::of_version(guest.version, guest.terms.digest());
            let Guest { name, .. } = guest;
            // What another version has told is told again where nobody knows whether it was.
            let settled = |row: &Row| row.is_delivered() && row.release().version != own;
            self.listeners.seat(
                name,
                listener,
                |told| !matches!(told, GateEvent::Row(row, _) if settled(row)),
            );
        }
        // Nobody may wait any more.
        let _ = answer.send(welcomed);
        doubted
    }

    /// The event of a window whose time has passed.
    pub(super) fn missed(&mut self, release: ReleaseId) -> Event<Digest, String> {
        Event::Missed(self.keep(PendingRequest { release, charge: None, sealable: None, state: None }))
    }

    pub(super) fn wanted(
        &mut self,
        ReleaseRequest { release, charge, sealable }: ReleaseRequest,
    ) -> Event<Digest, String> {
        // It has its row already, or it is skipped: windows of a version are drawn in the order of their ends.
        if self.is_passed(&release) {
            return self.missed(release);
        }
        Event::Wanted(self.keep(PendingRequest {
            release,
            charge: Some(charge),
            sealable: Some(sealable),
            state: None,
        }))
    }

    /// Reads, and decides nothing: what has a row is asked for, and what has none is not.
    fn sought(&mut self, release: ReleaseId) -> Option<Event<Digest, String>> {
        let id = release.id();
        if self.core.is_halted() || self.turns.waits(&id) {
            return None;
        }
        if self.core.holds(&id) {
            // Its row was told, and nobody has said yet that it was delivered; or it is to come.
            let row = self.rows.get(&id).cloned()?;
            return match self.core.delivery() {
                Delivery::AtLeastOnce => self.tell(vec![row]),
                Delivery::AtMostOnce => {
                    self.listeners.tell(release.name, GateEvent::Withheld(Box::new(row)));
                    None
                }
            };
        }
        match patience::ask(&mut self.ledger, &self.claim, |ledger| ledger.look_up(&release)) {
            Ok(Some(_)) => {
                let asked = PendingRequest { release, charge: None, sealable: None, state: None };
                Some(Event::Wanted(self.keep(asked)))
            }
            Ok(None) => {
                self.listeners.tell(release.name, GateEvent::Absent(id));
                None
            }
            Err(trouble) => Some(self.doubted(&trouble)),
        }
    }

    /// Keeps a request, unless its release is on its way already: then the first word about it counts.
    fn keep(&mut self, asked: PendingRequest) -> Digest {
        let id = asked.release.id();
        if !self.core.holds(&id) {
            self.requests.insert(id, asked);
        }
        id
    }
}
