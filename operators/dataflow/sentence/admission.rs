//! In which windows a person counts, where that is bounded: the first so many, in order of their end, in which something
//! of the person is kept.
//!
//! Each worker counts for its own persons as it closes windows. Whom it admitted travels with the window's parts, and is
//! sealed with the window: the next process begins with what the last sealed window knew. A window that was refused
//! has been counted like any other, so that who is admitted is a matter of records and of the calendar, and of nothing
//! that the gate had to say.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::unit::Person;
use crate::accounting::Interval;
use crate::dataflow::bounding::{Chooser, Identity, Used};
use crate::invalid::{Invalid, Kind};
use crate::time::Time;

/// One worker's count.
pub(super) struct Admission<P> {
    used: Used<P>,
    /// Windows that end by then were counted before this process began.
    through: Time,
    admitted: Admitted,
}

/// Whom a window has admitted on one worker: how many, and each as bytes. Prints as `<private>`.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Admitted {
    people: u64,
    bytes: Vec<u8>,
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

/// What a worker is told of what was counted before. Prints as `<private>`.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Restored {
    /// For a worker: all windows that end by then were counted.
    Through(u64, Time),
    /// For the worker of this route: a person, and in how many windows.
    Used(u64, Vec<u8>),
}

impl Restored {
    pub(super) fn route(&self) -> u64 {
        match self {
            Restored::Through(route, _) | Restored::Used(route, _) => *route,
        }
    }
}

impl fmt::Debug for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

impl<P: Person> Admission<P> {
    pub(super) fn new(windows: u64) -> Result<Admission<P>, Invalid> {
        Ok(Admission { used: Used::new(windows)?, through: Time::MIN, admitted: Admitted::default() })
    }

    pub(super) fn restore(&mut self, known: Restored) {
        match known {
            Restored::Through(_, time) => self.through = time,
            // This process wrote it a moment ago.
            Restored::Used(_, bytes) => {
                if let Some((person, windows)) = <(P, u32)>::read(&mut &bytes[..]) {
                    self.used.set(person, windows);
                }
            }
        }
    }

    /// Who is admitted to a window.
    pub(super) fn of(&mut self, window: Interval) -> impl FnMut(&P) -> bool {
        let Admission { used, through, admitted } = self;
        // It has a row already, which is told again; what is tallied now is not.
        let counted = window.end() <= *through;
        move |person| {
            let admits = counted || used.admit(person);
            if admits && !counted {
                admitted.people += 1;
                person.write(&mut admitted.bytes);
            }
            admits
        }
    }

    /// Whom the window that was closed last has admitted.
    pub(super) fn admitted(&mut self) -> Admitted {
        std::mem::take(&mut self.admitted)
    }
}

/// What is known of all persons, where windows are sealed. Windows come in the order of their end.
pub(super) struct Ledgered<P>(Arc<Mutex<Known<P>>>);

struct Known<P> {
    used: Used<P>,
    through: Time,
    /// Whom windows have admitted that are not in what was counted yet.
    waiting: BTreeMap<Time, Vec<Admitted>>,
}

impl<P> Clone for Ledgered<P> {
    fn clone(&self) -> Self {
        Ledgered(Arc::clone(&self.0))
    }
}

impl<P: Person> Ledgered<P> {
    pub(super) fn new(windows: u64) -> Result<Ledgered<P>, Invalid> {
        let known = Known { used: Used::new(windows)?, through: Time::MIN, waiting: BTreeMap::new() };
        Ok(Ledgered(Arc::new(Mutex::new(known))))
    }

    /// From what was sealed with a window.
    pub(super) fn read(windows: u64, bytes: &[u8]) -> Result<Ledgered<P>, Invalid> {
        let odd = || Invalid::new("state", Kind::Malformed, "the windows used, as this version writes them");
        let (through, used) = bytes.split_first_chunk().ok_or_else(odd)?;
        let (through, used) = (Time::from_le_bytes(*through), Used::read(used)?);
        if u64::from(used.windows()) != windows {
            return Err(odd());
        }
        let known = Known { used, through, waiting: BTreeMap::new() };
        Ok(Ledgered(Arc::new(Mutex::new(known))))
    }

    /// What the workers are told at first.
    pub(super) fn restored(&self, chooser: &Chooser, peers: usize) -> Vec<Restored> {
        let known = self.lock();
        let workers = (0..peers as u64).map(|worker| Restored::Through(worker, known.through));
        let people = known.used.iter().map(|(person, windows)| {
            let mut bytes = Vec::new();
            person.write(&mut bytes);
            windows.write(&mut bytes);
            Restored::Used(chooser.route(person), bytes)
        });
        workers.chain(people).collect()
    }

    /// Takes note of whom a window has admitted, once its tally is whole.
    pub(super) fn admitted(&self, window: Interval, admitted: Vec<Admitted>) {
        let mut known = self.lock();
        if window.end() > known.through {
            known.waiting.insert(window.end(), admitted);
        }
    }

    /// What is sealed with a window: who has counted, in it and before.
    pub(super) fn sealed(&self, window: Interval) -> Vec<u8> {
        let mut known = self.lock();
        let Known { used, through, waiting } = &mut *known;
        while let Some(entry) = waiting.first_entry().filter(|entry| *entry.key() <= window.end()) {
            for Admitted { people, bytes } in entry.remove() {
                let mut rest = &bytes[..];
                // A worker of this job wrote it.
                for person in (0..people).map_while(|_| P::read(&mut rest)) {
                    used.admit(&person);
                }
            }
        }
        *through = window.end().max(*through);
        let mut bytes = through.to_le_bytes().to_vec();
        bytes.extend(used.write());
        bytes
    }

    /// Every call leaves it whole.
    fn lock(&self) -> MutexGuard<'_, Known<P>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
