//! How a row comes to be: looked up, drawn where there is none, sealed, and read again where the answer was lost.

use super::{Driver, PendingRequest};
use crate::gate::core::{CommitOutcome, Event};
use crate::gate::doubt::HaltReason;
use crate::gate::{patience, welcome};
use crate::ledger::{Digest, Ledger, LedgerErrorKind, ReleaseStatus, Row, Sealing, failpoint};
use crate::noise::NoiseSource;

impl Driver {
    pub(super) fn look_up(&mut self, id: Digest) -> Event<Digest, String> {
        let Some(asked) = self.requests.get(&id) else { return Event::LookedUp(id, None) };
        let look_up = |ledger: &mut Ledger| {
            failpoint::reached("before-lookup", LedgerErrorKind::Unknown)?;
            ledger.look_up(&asked.release)
        };
        match patience::ask(&mut self.ledger, &self.claim, look_up) {
            Ok(row) => {
                let record = row.map(|row| self.known(row).1);
                Event::LookedUp(id, record)
            }
            // Nothing is drawn where nobody knows what was sealed.
            Err(trouble) => self.doubted(&trouble),
        }
    }

    pub(super) fn draw(&mut self, id: Digest) -> Event<Digest, String> {
        let Some(asked) = self.requests.get_mut(&id) else { return Event::Drawn(id, None) };
        let Some(sealable) = asked.sealable.take() else { return Event::Drawn(id, None) };
        let (mut kept, mut version) = (None, 0);
        if sealable.keeps_state() {
            let name = &asked.release.name;
            match welcome::kept(&mut self.ledger, &self.claim, &self.vault, name) {
                Ok(Some(before)) => (version, kept) = (before.version, Some(before.state)),
                Ok(None) => {}
                Err(trouble) => return self.doubted(&trouble),
            }
        }
        let Ok(mut noise) = NoiseSource::from_os() else { return Event::Drawn(id, None) };
        if failpoint::reached("after-seed", LedgerErrorKind::Unknown).is_err() {
            return Event::Drawn(id, None);
        }
        let drawn = sealable.draw(kept.as_ref().map(|state| &state[..]), &mut noise);
        if failpoint::reached("after-draw", LedgerErrorKind::Unknown).is_err() {
            return Event::Drawn(id, None);
        }
        if let Some(state) = drawn.state {
            let of = (self.claim.job(), &asked.release.name);
            asked.state = self.vault.seal(of, version, &state, drawn.note.as_ref());
            if asked.state.is_none() {
                return Event::Drawn(id, None);
            }
        }
        if failpoint::reached("after-encode", LedgerErrorKind::Unknown).is_err() {
            return Event::Drawn(id, None);
        }
        Event::Drawn(id, Some(drawn.line))
    }

    pub(super) fn sealing(&self, id: Digest, fate: ReleaseStatus, line: String) -> Option<Sealing> {
        let PendingRequest { release, charge, state, .. } = self.requests.get(&id)?;
        let state = if fate == ReleaseStatus::Sealed { state.clone() } else { None };
        Some(Sealing { release: release.clone(), charge: charge.clone(), fate, line, state })
    }

    pub(super) fn tombstone(&self, id: Digest, fate: ReleaseStatus) -> Option<Sealing> {
        let line = self.requests.get(&id)?.release.tombstone(fate);
        self.sealing(id, fate, line)
    }

    pub(super) fn seal(&mut self, sealings: Vec<Sealing>) -> Vec<Event<Digest, String>> {
        if sealings.is_empty() {
            return Vec::new();
        }
        match self.ledger.seal(&self.claim, &sealings) {
            Ok(rows) => {
                self.cause = None;
                let settled = |(id, record)| Event::Settled(id, CommitOutcome::Recorded(record));
                rows.into_iter().map(|row| settled(self.known(row))).collect()
            }
            Err(trouble) => {
                self.cause = Some(trouble.to_string());
                let outcome = match trouble.kind() {
                    LedgerErrorKind::Fenced => CommitOutcome::Fenced,
                    LedgerErrorKind::Busy => CommitOutcome::Aborted,
                    LedgerErrorKind::Doubt => return vec![Event::Doubted(HaltReason::Ledger)],
                    _ => CommitOutcome::Unknown,
                };
                sealings.iter().map(|sealing| Event::Settled(sealing.release.id(), outcome.clone())).collect()
            }
        }
    }

    /// Asks a server again what became of a commit, until it answers or patience ends.
    pub(super) fn recover(&mut self, ids: &[Digest]) -> Vec<Event<Digest, String>> {
        let asked = |id: &Digest| Some((*id, self.requests.get(id)?.release.clone()));
        let (ids, releases): (Vec<_>, Vec<_>) = ids.iter().filter_map(asked).unzip();
        if ids.is_empty() {
            return Vec::new();
        }
        match patience::ask_anew(&mut self.ledger, &self.claim, &releases, |_, rows| Ok(rows)) {
            Ok(rows) => {
                let outcome = |row: Option<Row>| {
                    row.map_or(CommitOutcome::Aborted, |row| CommitOutcome::Recorded(self.known(row).1))
                };
                let outcomes = rows.into_iter().map(outcome);
                ids.into_iter().zip(outcomes).map(|(id, outcome)| Event::Settled(id, outcome)).collect()
            }
            Err(trouble) => vec![self.doubted(&trouble)],
        }
    }
}
