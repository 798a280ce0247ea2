//! The routing of events: one handle a statistic, and the events that came while there was none.
//!
//! Handles are opened one after another, and rows of former processes wait for them: all of these rows are
//! given in the order of the ledger once the first handle listens, so that lines that are delivered again come
//! in the order in which they were delivered first.

use std::collections::HashMap;
use std::fmt;

use crossbeam_channel::Sender;

use super::request::{GateEvent, HaltReason};
use crate::ledger::Name;

/// The listener of one statistic.
pub(super) struct Listener {
    pub(super) outbox: Option<Sender<GateEvent>>,
    pub(super) wake: Box<dyn Fn() + Send>,
}

impl Listener {
    pub(super) fn notify(&self, event: GateEvent) {
        if let Some(outbox) = &self.outbox {
            // The handle may have been dropped.
            let _ = outbox.send(event);
        }
        self.wake();
    }

    pub(super) fn wake(&self) {
        (self.wake)();
    }
}

/// Wakes the owner of the handle, who then learns that no event will follow.
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

/// The listeners, by the name of the statistic.
#[derive(Default)]
pub(super) struct Listeners {
    opened_here: HashMap<Name, Listener>,
    /// The number of rows given to a listener so far.
    given: u64,
    unheard: HashMap<Name, Vec<GateEvent>>,
    /// Events of statistics that have a listener, until the first of them listens.
    held: Vec<(Name, GateEvent)>,
    listening: bool,
}

impl Listeners {
    /// Registers the listener of a statistic, which first receives the earlier events that are still of
    /// interest.
    pub(super) fn add(&mut self, name: Name, listener: Listener, of_interest: impl Fn(&GateEvent) -> bool) {
        listener.wake();
        self.opened_here.insert(name.clone(), listener);
        let before = self.unheard.remove(&name).into_iter().flatten();
        before.filter(of_interest).for_each(|event| self.notify(name.clone(), event));
    }

    pub(super) fn notify(&mut self, name: Name, event: GateEvent) {
        match self.opened_here.get(&name) {
            Some(listener) if self.listening => listener.notify(numbered(event, &mut self.given)),
            Some(_) => self.held.push((name, event)),
            None => self.unheard.entry(name).or_default().push(event),
        }
    }

    /// Gives the events that are held for handles, rows in the order of the ledger, and holds nothing from
    /// now on.
    pub(super) fn listen(&mut self) {
        self.listening = true;
        let mut held = std::mem::take(&mut self.held);
        held.sort_by_key(|(_, event)| match event {
            GateEvent::Row(row, _) | GateEvent::Withheld(row) => row.sequence(),
            GateEvent::Absent(_) | GateEvent::Archived(_) | GateEvent::Halted(_) => i64::MAX,
        });
        held.into_iter().for_each(|(name, event)| self.notify(name, event));
    }

    pub(super) fn halt(&self, reason: HaltReason) {
        self.opened_here.values().for_each(|listener| listener.notify(GateEvent::Halted(reason)));
    }
}

/// Numbers a row, and counts it in `next`; returns any other event unchanged.
fn numbered(event: GateEvent, next: &mut u64) -> GateEvent {
    match event {
        GateEvent::Row(row, mut budget_status) => {
            budget_status.order = *next;
            *next += 1;
            GateEvent::Row(row, budget_status)
        }
        other => other,
    }
}
