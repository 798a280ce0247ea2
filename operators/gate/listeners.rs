//! Who hears of what: one desk a statistic, and what was told while there was none.

use std::collections::HashMap;

use super::desk::Listener;
use super::doubt::Doubt;
use super::request::Told;
use crate::ledger::Name;

/// By the name of the statistic.
#[derive(Default)]
pub(super) struct Listeners {
    seated: HashMap<Name, Listener>,
    /// The number of rows given to a listener so far.
    given: u64,
    unheard: HashMap<Name, Vec<Told>>,
}

impl Listeners {
    /// Gives a statistic its listener, who first hears of what was told before, if it is still of interest.
    pub(super) fn seat(&mut self, name: Name, listener: Listener, of_interest: impl Fn(&Told) -> bool) {
        let before = self.unheard.remove(&name).into_iter().flatten();
        before.filter(of_interest).for_each(|told| listener.tell(numbered(told, &mut self.given)));
        listener.wake();
        self.seated.insert(name, listener);
    }

    pub(super) fn tell(&mut self, name: Name, told: Told) {
        match self.seated.get(&name) {
            Some(listener) => listener.tell(numbered(told, &mut self.given)),
            None => self.unheard.entry(name).or_default().push(told),
        }
    }

    pub(super) fn halt(&self, doubt: Doubt) {
        self.seated.values().for_each(|listener| listener.tell(Told::Halted(doubt)));
    }
}

/// A row with its number, counted in `next`; anything else as it is.
fn numbered(told: Told, next: &mut u64) -> Told {
    match told {
        Told::Row(row, mut standing) => {
            standing.order = *next;
            *next += 1;
            Told::Row(row, standing)
        }
        other => other,
    }
}
