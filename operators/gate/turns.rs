//! Whose turn it is, among releases that must be drawn one after another because their mechanism keeps something.

use std::collections::{HashMap, VecDeque};

use super::request::Request;
use crate::ledger::{Digest, Name, Release};

/// By the name of the statistic: one of its releases is on its way, and the others wait for it.
#[derive(Default)]
pub(super) struct Turns(HashMap<Name, Turn>);

#[derive(Default)]
struct Turn {
    now: Option<Digest>,
    next: VecDeque<Request>,
}

impl Turn {
    fn waits(&self, id: &Digest) -> bool {
        self.next.iter().any(|next| next.release.id() == *id)
    }
}

impl Turns {
    /// Whether this release waits for its turn.
    pub(super) fn waits(&self, release: &Release) -> bool {
        self.0.get(&release.name).is_some_and(|turn| turn.waits(&release.id()))
    }

    /// Takes a request in, and gives it back if it is its turn. One that is there already is there once.
    pub(super) fn queue(&mut self, request: Request) -> Option<Request> {
        let id = request.release.id();
        let turn = self.0.entry(request.release.name.clone()).or_default();
        if turn.now == Some(id) || turn.waits(&id) {
            return None;
        }
        if turn.now.is_some() {
            turn.next.push_back(request);
            return None;
        }
        turn.now = Some(id);
        Some(request)
    }

    /// The next request of each statistic whose turn has come: of those whose last one is not on its way any more.
    pub(super) fn next(&mut self, on_its_way: impl Fn(&Digest) -> bool) -> Vec<Request> {
        let mut ready = Vec::new();
        for turn in self.0.values_mut() {
            if turn.now.is_none_or(|id| !on_its_way(&id)) {
                let next = turn.next.pop_front();
                turn.now = next.as_ref().map(|request| request.release.id());
                ready.extend(next);
            }
        }
        self.0.retain(|_, turn| turn.now.is_some());
        ready
    }
}
