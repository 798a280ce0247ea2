//! Who hears of what: one desk a statistic, and what was told while there was none.
//!
//! Desks are opened one after another, and rows of former processes wait for them: all of these rows are given in the order of
//! the ledger once the first desk listens, so that lines that leave again come in the order in which they left first.

use std::collections::HashMap;

use super::desk::Listener;
use super::doubt::HaltReason;
use super::request::GateEvent;
use crate::ledger::Name;

/// By the name of the statistic.
#[derive(Default)]
pub(super) struct Listeners {
    seated: HashMap<Name, Listener>,
    /// The number of rows given to a listener so far.
    given: u64,
    unheard: HashMap<Name, Vec<GateEvent>>,
    /// Rows and words for statistics that have a listener, until the first of them listens.
    held: Vec<(Name, GateEvent)>,
    listening: bool,
}

impl Listeners {
    /// Gives a statistic its listener, who first hears of what was told before, if it is still of interest.
    pub(super) fn seat(&mut self, name: Name, listener: Listener, of_interest: impl Fn(&GateEvent) -> bool) {
        listener.wake();
        self.seated.insert(name.clone(), listener);
        let before = self.unheard.remove(&name).into_iter().flatten();
        before.filter(of_interest).for_each(|told| self.tell(name.clone(), told));
    }

    pub(super) fn tell(&mut self, name: Name, told: GateEvent) {
        match self.seated.get(&name) {
            Some(listener) if self.listening => listener.tell(numbered(told, &mut self.given)),
            Some(_) => self.held.push((name, told)),
            None => self.unheard.entry(name).or_default().push(told),
        }
    }

    /// Gives what is held for desks, rows in the order of the ledger, and holds nothing from now on.
    pub(super) fn listen(&mut self) {
        self.listening = true;
        let mut held = std::mem::take(&mut self.held);
        held.sort_by_key(|(_, told)| match told {
            GateEvent::Row(row, _) | GateEvent::Withheld(row) => row.sequence(),
            GateEvent::Absent(_) | GateEvent::Halted(_) => i64::MAX,
        });
        held.into_iter().for_each(|(name, told)| self.tell(name, told));
    }

    pub(super) fn halt(&self, doubt: HaltReason) {
        self.seated.values().for_each(|listener| listener.tell(GateEvent::Halted(doubt)));
    }
}

/// A row with its number, counted in `next`; anything else as it is.
fn numbered(told: GateEvent, next: &mut u64) -> GateEvent {
    match told {
        GateEvent::Row(row, mut standing) => {
            standing.order = *next;
            *next += 1;
            GateEvent::Row(row, standing)
        }
        other => other,
    }
}
