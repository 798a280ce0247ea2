//! The bound over a lifetime: the number of windows in which each person has counted, and the contributions
//! to windows that are added up.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::identity::Identity;
use super::rule::within;
use crate::invalid::{Invalid, InvalidKind};

/// Admits each person to the first `windows` windows, in the order in which windows are closed here, in which
/// something of the person is kept. Prints as `<private>`.
///
/// Close windows in the order of their end, ask [`admit`](WindowAdmission::admit) for each person of a
/// window, and let what has become of it take effect when the window is sealed and not before: a window that
/// is closed again after a crash starts from what was sealed with the one before it. A window that is refused
/// has used nobody up.
///
/// It must be asked about windows as they are, one by one and in the end: the lowest `n` by a hash of the
/// windows *seen so far* would be more than `n`, some `n (1 + ln(N / n))` of `N`.
///
/// One person takes the bytes of the identity and 4 more when written, and in memory about half as much again
/// as the type and 4 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct WindowAdmission<P> {
    windows: u32,
    // In the order of persons, so that what is written is the same everywhere.
    people: BTreeMap<P, u32>,
}

/// The first byte of what is written.
const FORMAT: u8 = 1;

impl<P: Identity + Ord + Clone> WindowAdmission<P> {
    /// Nobody has counted yet, and nobody will in more than this number of windows.
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

    /// Joins what several workers know of the same windows. A person belongs to one of them; one that both
    /// know has used what both say together.
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

    /// Returns the number of windows in which each person may count.
    pub fn windows(&self) -> u32 {
        self.windows
    }

    /// The number of bytes beside the identity that [`write`](WindowAdmission::write) writes for a person.
    pub const BYTES_A_PERSON: usize = 4;

    /// As bytes, the same for the same content: a format, the limit, how many people, then each with the
    /// windows used.
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
    /// Names `state` where it is of another format, torn, or not what anybody writes; the message says
    /// nothing of what stands there.
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

redacted!([P] WindowAdmission<P>);

// How much each person has brought to each key, of all windows together.

/// Bounds the contribution of a person over *all* windows: at most this number of keys, and to each no more
/// than `each`. Prints as `<private>`.
///
/// Close windows in the order of their end, and of each person's keys of a window ask for
/// [`left`](LifetimeContribution::left) in the order in which they are chosen: a key that the person has
/// brought something to before is kept, and others as long as there are fewer than `keys`. What counts is
/// [`noted`](LifetimeContribution::note), and takes effect when the window is sealed: a window that is closed
/// again after a crash starts from what was sealed with the one before it.
///
/// What is kept of a person is a function of the person's own records, and so is the remaining contribution:
/// of one person more or less, all others keep theirs.
#[derive(Clone, PartialEq, Eq)]
pub struct LifetimeContribution<P, K> {
    keys: u32,
    each: u64,
    // In the order of persons and keys, so that what is written is the same everywhere.
    people: BTreeMap<P, SmallVec<[(K, u64); 1]>>,
}

/// The contribution that a person may still make to a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RemainingContribution {
    /// So much; above zero.
    pub amount: u64,
    /// True if it is the person's first contribution to the key.
    pub first: bool,
}

redacted!(RemainingContribution);

/// The first byte of what is written.
const LIFETIME_FORMAT: u8 = 1;

impl<P: Identity + Ord + Clone, K: Identity + Ord + Clone> LifetimeContribution<P, K> {
    /// Nobody has brought anything yet, and nobody will bring more than `each` to a key, nor to more keys
    /// than that.
    ///
    /// # Errors
    ///
    /// Names `keys` where it is zero or above 2^31, and `each` where it is zero.
    pub fn new(keys: u64, each: u64) -> Result<LifetimeContribution<P, K>, Invalid> {
        if each == 0 {
            return Err(Invalid::new("each", InvalidKind::Zero, "a whole number above 0"));
        }
        Ok(LifetimeContribution { keys: within("keys", keys)?, each, people: BTreeMap::new() })
    }

    /// Returns the contribution that the person may still make to the key: none if it is used up, or if the
    /// person has other keys.
    pub fn left(&self, person: &P, key: &K) -> Option<RemainingContribution> {
        let brought = self.people.get(person).map_or(&[][..], |keys| keys);
        match brought.binary_search_by(|(known, _)| known.cmp(key)) {
            Ok(at) => {
                let amount = self.each.saturating_sub(brought[at].1);
                (amount > 0).then_some(RemainingContribution { amount, first: false })
            }
            Err(_) => (brought.len() < self.keys as usize)
                .then_some(RemainingContribution { amount: self.each, first: true }),
        }
    }

    /// Takes note of what a person has brought to a key: it is one of the person's from now on, also where it
    /// was nothing.
    pub fn note(&mut self, person: &P, key: &K, amount: u64) {
        if !self.people.contains_key(person) {
            self.people.insert(person.clone(), SmallVec::new());
        }
        let Some(keys) = self.people.get_mut(person) else { return };
        match keys.binary_search_by(|(known, _)| known.cmp(key)) {
            Ok(at) => keys[at].1 = keys[at].1.saturating_add(amount),
            Err(at) => keys.insert(at, (key.clone(), amount)),
        }
    }

    /// Everybody who has brought something, to which key, and how much.
    pub fn iter(&self) -> impl Iterator<Item = (&P, &K, u64)> {
        self.people.iter().flat_map(|(person, keys)| keys.iter().map(move |(key, used)| (person, key, *used)))
    }

    /// As bytes, the same for the same content: a format, the limits, how many people, then each with the
    /// keys, and what was brought to them.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = vec![LIFETIME_FORMAT];
        (self.keys, self.each).write(&mut bytes);
        (self.people.len() as u64).write(&mut bytes);
        for (person, keys) in &self.people {
            person.write(&mut bytes);
            (keys.len() as u32).write(&mut bytes);
            for (key, used) in keys {
                key.write(&mut bytes);
                used.write(&mut bytes);
            }
        }
        bytes
    }

    /// Reads what one of the same limits has written.
    ///
    /// # Errors
    ///
    /// Names `state` where it is of another format or of other limits, torn, or not what anybody writes; the
    /// message says nothing of what stands there.
    pub fn read(&self, bytes: &[u8]) -> Result<LifetimeContribution<P, K>, Invalid> {
        let refused = || {
            Invalid::new(
                "state",
                InvalidKind::Malformed,
                "what people have brought, as this version writes it",
            )
        };
        let mut rest = bytes;
        let lifetime = self.parse(&mut rest).ok_or_else(refused)?;
        if rest.is_empty() { Ok(lifetime) } else { Err(refused()) }
    }

    fn parse(&self, bytes: &mut &[u8]) -> Option<LifetimeContribution<P, K>> {
        if u8::read(bytes)? != LIFETIME_FORMAT || <(u32, u64)>::read(bytes)? != (self.keys, self.each) {
            return None;
        }
        let mut lifetime = LifetimeContribution { people: BTreeMap::new(), ..*self };
        for _ in 0..u64::read(bytes)? {
            let person = P::read(bytes)?;
            let count = u32::read(bytes)?;
            if count == 0 || count > self.keys {
                return None;
            }
            let mut keys: SmallVec<[(K, u64); 1]> = SmallVec::new();
            for _ in 0..count {
                let (key, used) = <(K, u64)>::read(bytes)?;
                if used > self.each || keys.last().is_some_and(|(last, _)| *last >= key) {
                    return None;
                }
                keys.push((key, used));
            }
            if lifetime.people.last_key_value().is_some_and(|(last, _)| *last >= person) {
                return None;
            }
            lifetime.people.insert(person, keys);
        }
        Some(lifetime)
    }
}

redacted!([P, K] LifetimeContribution<P, K>);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lifetime() -> LifetimeContribution<u32, String> {
        LifetimeContribution::new(2, 5).unwrap()
    }

    fn left(lifetime: &LifetimeContribution<u32, String>, key: &str) -> Option<(u64, bool)> {
        lifetime.left(&7, &key.to_owned()).map(|left| (left.amount, left.first))
    }

    // Refutes a key too many, a key that is lost to a later one, and one that is first twice.
    #[test]
    fn a_person_has_so_many_keys_and_so_much_of_each() {
        let mut lifetime = lifetime();
        assert_eq!(left(&lifetime, "a"), Some((5, true)));
        lifetime.note(&7, &"a".to_owned(), 3);
        lifetime.note(&7, &"c".to_owned(), 0);
        assert_eq!(left(&lifetime, "a"), Some((2, false)));
        assert_eq!(left(&lifetime, "c"), Some((5, false)), "nothing was brought, but it is one of two");
        assert_eq!(left(&lifetime, "b"), None);
        lifetime.note(&7, &"a".to_owned(), 2);
        assert_eq!(left(&lifetime, "a"), None);
        assert!(lifetime.left(&8, &"b".to_owned()).is_some(), "another person");
    }

    #[test]
    fn limits_of_nothing_are_refused() {
        let refused =
            |keys, each| LifetimeContribution::<u32, u32>::new(keys, each).unwrap_err().field().to_owned();
        assert_eq!((refused(0, 1), refused(1, 0)), ("keys".into(), "each".into()));
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let mut lifetime = lifetime();
        for (person, key, amount) in [(7, "b", 1), (7, "a", 5), (3, "", 0)] {
            lifetime.note(&person, &key.to_owned(), amount);
        }
        let bytes = lifetime.write();
        let empty = LifetimeContribution::new(2, 5).unwrap();
        assert_eq!(empty.read(&bytes), Ok(lifetime));
        for other in [
            LifetimeContribution::<u32, String>::new(3, 5).unwrap(),
            LifetimeContribution::new(2, 6).unwrap(),
        ] {
            assert!(other.read(&bytes).is_err(), "of other limits");
        }
        for length in 0..bytes.len() {
            assert!(empty.read(&bytes[..length]).is_err(), "torn at {length}");
        }
        assert!(empty.read(&[&bytes[..], &[0]].concat()).is_err(), "more than there is");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let mut headed = lifetime().write();
            headed.truncate(13);
            headed.extend(bytes);
            if let Ok(read) = lifetime().read(&headed) {
                prop_assert_eq!(read.write(), headed);
            }
        }
    }
}
