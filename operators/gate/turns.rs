//! Releases that were handed in and wait, in the order in which they came: rows are written in that order and in no other,
//! whatever else is on its way.

use std::collections::{HashSet, VecDeque};

use super::request::ReleaseRequest;
use crate::ledger::{Digest, Name, ReleaseId};

/// A release that the gate was given.
pub(super) enum HandedRelease {
    /// It asks for its row.
    Wanted(ReleaseRequest),
    /// Its time has passed.
    Missed(ReleaseId),
}

impl HandedRelease {
    fn release(&self) -> &ReleaseId {
        match self {
            HandedRelease::Wanted(request) => &request.release,
            HandedRelease::Missed(release) => release,
        }
    }

    fn keeps_state(&self) -> bool {
        matches!(self, HandedRelease::Wanted(request) if request.sealable.keeps_state())
    }
}

/// Releases that wait for their turn.
#[derive(Default)]
pub(super) struct Turns {
    waiting: VecDeque<HandedRelease>,
    ids: HashSet<Digest>,
}

impl Turns {
    /// Says whether this release waits for its turn.
    pub(super) fn waits(&self, id: &Digest) -> bool {
        self.ids.contains(id)
    }

    /// Says whether no release waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a release behind the others. One that waits already waits once.
    pub(super) fn queue(&mut self, handed: HandedRelease) {
        if self.ids.insert(handed.release().id()) {
            self.waiting.push_back(handed);
        }
    }

    /// Takes those from the front that may share a commit: of a statistic that keeps a state there is one, for the next one
    /// needs what it has sealed.
    pub(super) fn next(&mut self) -> Vec<HandedRelease> {
        let (mut ready, mut drawn): (Vec<HandedRelease>, HashSet<Name>) = Default::default();
        while let Some(next) = self.waiting.front() {
            if next.keeps_state() && !drawn.insert(next.release().name.clone()) {
                break;
            }
            self.ids.remove(&next.release().id());
            ready.extend(self.waiting.pop_front());
        }
        ready
    }
}
