//! In how many windows each person has counted.

use std::collections::BTreeMap;
use std::fmt;

use super::cap::within;
use super::identity::Identity;
use crate::invalid::{Invalid, InvalidKind};

/// Admits each person to the first `windows` windows, in the order in which windows are closed here, in which something
/// of the person is kept. Prints as `<private>`.
///
/// Close windows in the order of their end, ask [`admit`](WindowAdmission::admit) for each person of a window, and let what has
/// become of it take effect when the window is sealed and not before: a window that is closed again after a crash starts
/// from what was sealed with the one before it. A window that is refused has used nobody up.
///
/// It must be asked about windows as they are, one by one and in the end: the lowest `n` by a hash of the windows *seen so
/// far* would be more than `n`, some `n (1 + ln(N / n))` of `N`.
///
/// One person takes the bytes of the identity and 4 more when written, and in memory about half as much again as the type and 4 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct WindowAdmission<P> {
    windows: u32,
    // In the order of persons, so that what is written is the same everywhere.
    people: BTreeMap<P, u32>,
}

/// The first byte of what is written.
const FORMAT: u8 = 1;

impl<P: Identity + Ord + Clone> WindowAdmission<P> {
    /// Nobody has counted yet, and nobody will in more than so many windows.
    ///
    /// # Errors
    ///
    /// Names `windows` where it is zero or above 2^31.
    pub fn new(windows: u64) -> Result<WindowAdmission<P>, Invalid> {
        Ok(WindowAdmission { windows: within("windows", windows)?, people: BTreeMap::new() })
    }

    /// Does the person count in the window that is being closed? To be asked once for each window.
    pub fn admit(&mut self, person: &P) -> bool {
        match self.people.get_mut(person) {
            Some(used) if *used >= self.windows => return false,
            Some(used) => *used += 1,
            None => {
                self.people.insert(person.clone(), 1);
            }
        }
        true
    }

    /// Says in how many windows a person has counted, for a count that goes on elsewhere.
    pub fn set(&mut self, person: P, windows: u32) {
        self.people.insert(person, windows.min(self.windows));
    }

    /// Everybody who has counted, and in how many windows.
    pub fn iter(&self) -> impl Iterator<Item = (&P, u32)> {
        self.people.iter().map(|(person, &windows)| (person, windows))
    }

    /// Joins what several workers know of the same windows. A person belongs to one of them; one that both know has used
    /// what both say together.
    pub fn merge(&mut self, other: WindowAdmission<P>) {
        for (person, theirs) in other.people {
            let used = self.people.entry(person).or_insert(0);
            *used = used.saturating_add(theirs).min(self.windows);
        }
    }

    /// Keeps only persons who belong here: what one of several workers needs of a whole.
    pub fn keep(&mut self, mut belongs: impl FnMut(&P) -> bool) {
        self.people.retain(|person, _| belongs(person));
    }

    /// How many windows each person may count in.
    pub fn windows(&self) -> u32 {
        self.windows
    }

    /// How many bytes [`write`](WindowAdmission::write) writes are a person's: those of the identity, and these.
    pub const BYTES_A_PERSON: usize = 4;

    /// As bytes, the same for the same content: a format, the limit, how many people, then each with the windows used.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        self.windows.write(&mut bytes);
        (self.people.len() as u64).write(&mut bytes);
        for (person, used) in &self.people {
            person.write(&mut bytes);
            used.write(&mut bytes);
        }
        bytes
    }

    /// Reads what was written.
    ///
    /// # Errors
    ///
    /// Names `state` where it is of another format, torn, or not what anybody writes; the message says nothing of what
    /// stands there.
    pub fn read(bytes: &[u8]) -> Result<WindowAdmission<P>, Invalid> {
        let refused =
            || Invalid::new("state", InvalidKind::Malformed, "the windows used, as this version writes them");
        let mut rest = bytes;
        let used = Self::parse(&mut rest).ok_or_else(refused)?;
        if rest.is_empty() { Ok(used) } else { Err(refused()) }
    }

    fn parse(bytes: &mut &[u8]) -> Option<WindowAdmission<P>> {
        if u8::read(bytes)? != FORMAT {
            return None;
        }
        let mut used = WindowAdmission::new(u32::read(bytes)?.into()).ok()?;
        for _ in 0..u64::read(bytes)? {
            let (person, windows) = <(P, u32)>::read(bytes)?;
            let in_order = used.people.last_key_value().is_none_or(|(last, _)| *last < person);
            if !in_order || windows == 0 || windows > used.windows {
                return None;
            }
            used.people.insert(person, windows);
        }
        Some(used)
    }
}

impl<P> fmt::Debug for WindowAdmission<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}
