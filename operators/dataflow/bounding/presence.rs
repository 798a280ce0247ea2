//! The bound of people over the last windows: the windows in which each person was last seen in each key, and the
//! number of times that the person entered it.
//!
//! ```text
//! seen        . x . x . . . . x . . x x . . .      in windows, of which the last three count
//! counted     . 1 1 1 1 1 . . 1 1 1 1 1 1 1 .      two entries, and two times that the person left
//! ```

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::identity::Identity;
use super::rule::within;
use crate::invalid::{Invalid, InvalidKind};

/// Bounds the presence of a person over *all* windows, where those of the last few count: at most this number of
/// keys, and in each at most `entries` runs of windows in which the person counts. Prints as `<private>`.
///
/// Close windows in the order of their end, and [`see`](RollingPresence::see) each person's keys of a window in the
/// order in which they are chosen. Who was seen in one of the last windows counts. So a person enters a key when seen
/// there after an absence of as many windows, or for the first time; and leaves it that number of windows after being
/// seen there for the last time. Who has entered a key `entries` times and left it does not count in it again.
///
/// The state of a person is a function of the person's own records: of one person more or less, all others count as
/// they did. In each key the person changes the number of those who count by 1 and -1 in turn, each at most `entries`
/// times.
#[derive(Clone, PartialEq, Eq)]
pub struct RollingPresence<P, K> {
    keys: u32,
    entries: u32,
    last: u64,
    // In the order of persons and keys, so that what is written is the same everywhere.
    people: BTreeMap<P, SmallVec<[(K, KeyPresence); 1]>>,
}

/// The presence of a person in a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyPresence {
    /// The number of the window in which the person was last seen, and counted.
    pub seen: u64,
    /// The number of times that the person entered.
    pub entries: u32,
}

redacted!(KeyPresence);

/// The place of a person in a key before a window in which the person counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PresenceBefore {
    /// The person was never there.
    New,
    /// The person had left.
    Absent,
    /// The person was there, last seen in this window.
    Present(u64),
}

redacted!(PresenceBefore);

/// The first byte of what is written.
const FORMAT: u8 = 1;

impl<P: Identity + Ord + Clone, K: Identity + Ord + Clone> RollingPresence<P, K> {
    /// Nobody was seen yet. Nobody will enter more keys than this, nor a key more than `entries` times; and who was seen in
    /// one of the `last` windows counts.
    ///
    /// # Errors
    ///
    /// Names `keys` or `entries` where it is zero or above 2^31, and `last` where it is zero.
    pub fn new(keys: u64, entries: u64, last: u64) -> Result<RollingPresence<P, K>, Invalid> {
        if last == 0 {
            return Err(Invalid::new("last", InvalidKind::Zero, "a whole number above 0"));
        }
        let (keys, entries) = (within("keys", keys)?, within("entries", entries)?);
        Ok(RollingPresence { keys, entries, last, people: BTreeMap::new() })
    }

    /// Sees a person in a key, in the window that is being closed: once for each window. Returns the place of the person
    /// before, or nothing if the person does not count there.
    pub fn see(&mut self, person: &P, key: &K, window: u64) -> Option<PresenceBefore> {
        let RollingPresence { keys: most, entries, last, people } = self;
        let new = (key.clone(), KeyPresence { seen: window, entries: 1 });
        let Some(keys) = people.get_mut(person) else {
            people.insert(person.clone(), SmallVec::from_iter([new]));
            return Some(PresenceBefore::New);
        };
        match keys.binary_search_by(|(known, _)| known.cmp(key)) {
            Ok(at) => {
                let known = &mut keys[at].1;
                let before = known.seen;
                if window <= before.saturating_add(*last) {
                    known.seen = window.max(before);
                    return Some(PresenceBefore::Present(before));
                }
                if known.entries >= *entries {
                    return None;
                }
                *known = KeyPresence { seen: window, entries: known.entries + 1 };
                Some(PresenceBefore::Absent)
            }
            Err(at) if keys.len() < *most as usize => {
                keys.insert(at, new);
                Some(PresenceBefore::New)
            }
            Err(_) => None,
        }
    }

    /// Takes what is known of a person in a key, for a count that goes on elsewhere.
    pub fn set(&mut self, person: P, key: K, known: KeyPresence) {
        let keys = self.people.entry(person).or_default();
        match keys.binary_search_by(|(own, _)| own.cmp(&key)) {
            Ok(at) => keys[at].1 = known,
            Err(at) => keys.insert(at, (key, known)),
        }
    }

    /// Everybody who was seen, in which key, and what is known of it.
    pub fn iter(&self) -> impl Iterator<Item = (&P, &K, KeyPresence)> {
        self.people
            .iter()
            .flat_map(|(person, keys)| keys.iter().map(move |(key, known)| (person, key, *known)))
    }

    /// Returns the number of windows in which a person is looked for.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// As bytes, the same for the same content: a format, the bounds, how many people, then each with the keys, and what is
    /// known of them.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        (self.keys, (self.entries, self.last)).write(&mut bytes);
        (self.people.len() as u64).write(&mut bytes);
        for (person, keys) in &self.people {
            person.write(&mut bytes);
            (keys.len() as u32).write(&mut bytes);
            for (key, KeyPresence { seen, entries }) in keys {
                key.write(&mut bytes);
                (*seen, *entries).write(&mut bytes);
            }
        }
        bytes
    }

    /// Reads what one of the same bounds has written.
    ///
    /// # Errors
    ///
    /// Names `state` where it is of another format or of other bounds, torn, or not what anybody writes; the
    /// message says nothing of what stands there.
    pub fn read(&self, bytes: &[u8]) -> Result<RollingPresence<P, K>, Invalid> {
        let refused = || {
            Invalid::new("state", InvalidKind::Malformed, "where people were seen, as this version writes it")
        };
        let mut rest = bytes;
        let presence = self.parse(&mut rest).ok_or_else(refused)?;
        if rest.is_empty() { Ok(presence) } else { Err(refused()) }
    }

    fn parse(&self, bytes: &mut &[u8]) -> Option<RollingPresence<P, K>> {
        let bounds = (self.keys, (self.entries, self.last));
        if u8::read(bytes)? != FORMAT || <(u32, (u32, u64))>::read(bytes)? != bounds {
            return None;
        }
        let mut presence = RollingPresence { people: BTreeMap::new(), ..*self };
        for _ in 0..u64::read(bytes)? {
            let person = P::read(bytes)?;
            let count = u32::read(bytes)?;
            if count == 0 || count > self.keys {
                return None;
            }
            let mut keys: SmallVec<[(K, KeyPresence); 1]> = SmallVec::new();
            for _ in 0..count {
                let (key, (seen, entries)) = <(K, (u64, u32))>::read(bytes)?;
                let is_in_order = keys.last().is_none_or(|(last, _)| *last < key);
                if !is_in_order || entries == 0 || entries > self.entries {
                    return None;
                }
                keys.push((key, KeyPresence { seen, entries }));
            }
            if presence.people.last_key_value().is_some_and(|(last, _)| *last >= person) {
                return None;
            }
            presence.people.insert(person, keys);
        }
        Some(presence)
    }
}

redacted!([P, K] RollingPresence<P, K>);

/// The number of people who count in each key, of one worker's persons. Prints as `<private>`.
///
/// It follows from the [presence](RollingPresence) of the persons, by the windows in which they were last seen.
#[derive(Clone, PartialEq, Eq)]
pub struct PresenceLevels<K> {
    /// The number of windows in which a person is looked for.
    last: u64,
    /// The number of people of each key by the window in which they were last seen.
    seen: BTreeMap<u64, BTreeMap<K, u64>>,
    /// Their sums.
    levels: BTreeMap<K, u64>,
    /// The number of people who came to a key for the first time since the levels were taken.
    new: BTreeMap<K, u64>,
}

/// The people of a key in a window.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyLevel {
    /// The number of people who count.
    pub people: u64,
    /// The number of them who were never there before.
    pub new: u64,
}

redacted!(KeyLevel);

impl<K: Ord + Clone> PresenceLevels<K> {
    /// Nobody counts yet.
    pub fn new(last: u64) -> PresenceLevels<K> {
        PresenceLevels { last, seen: BTreeMap::new(), levels: BTreeMap::new(), new: BTreeMap::new() }
    }

    /// Counts a person who was seen in a window, and before.
    pub fn count(&mut self, before: PresenceBefore, key: &K, window: u64) {
        match before {
            PresenceBefore::Present(seen) if seen == window => return,
            PresenceBefore::Present(seen) => self.remove(seen, key),
            PresenceBefore::New => *self.new.entry(key.clone()).or_insert(0) += 1,
            PresenceBefore::Absent => {}
        }
        if !matches!(before, PresenceBefore::Present(_)) {
            self.enter(key);
        }
        *self.seen.entry(window).or_default().entry(key.clone()).or_insert(0) += 1;
    }

    /// Counts a person who was last seen in a window, of which nothing was counted here.
    pub fn restore(&mut self, key: &K, seen: u64) {
        self.enter(key);
        *self.seen.entry(seen).or_default().entry(key.clone()).or_insert(0) += 1;
    }

    /// Lets those leave who were last seen before the last windows of which `window` is the newest, and returns the people
    /// of each key, in the order of the keys: of those in which somebody counts.
    pub fn take(&mut self, window: u64) -> Vec<(K, KeyLevel)> {
        while let Some(entry) = self.seen.first_entry().filter(|entry| entry.key() + self.last <= window) {
            for (key, people) in entry.remove() {
                leave(&mut self.levels, &key, people);
            }
        }
        let mut new = std::mem::take(&mut self.new);
        let level = |(key, people): (&K, &u64)| {
            (key.clone(), KeyLevel { people: *people, new: new.remove(key).unwrap_or(0) })
        };
        self.levels.iter().map(level).collect()
    }

    fn enter(&mut self, key: &K) {
        *self.levels.entry(key.clone()).or_insert(0) += 1;
    }

    /// Takes a person out of the window in which the person was last seen.
    fn remove(&mut self, seen: u64, key: &K) {
        if let Some(keys) = self.seen.get_mut(&seen) {
            leave(keys, key, 1);
        }
    }
}

/// Takes people out of a key; a key without any is given up.
fn leave<K: Ord>(levels: &mut BTreeMap<K, u64>, key: &K, people: u64) {
    if let Some(level) = levels.get_mut(key) {
        *level = level.saturating_sub(people);
        if *level == 0 {
            levels.remove(key);
        }
    }
}

redacted!([K] PresenceLevels<K>);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Presence = RollingPresence<u32, u8>;

    /// The windows in which a person counts, by a plain reading of the definition.
    fn expected(seen: &[bool], entries: u32, last: usize) -> Vec<bool> {
        let (mut counted, mut used, mut kept) = (Vec::new(), 0, vec![false; seen.len()]);
        for window in 0..seen.len() {
            let within = |window: usize| (window + 1).saturating_sub(last)..window;
            let was_counted = window > 0 && counted[window - 1];
            // A person who was counted a window ago and is seen now has not left.
            if seen[window] && (was_counted || used < entries) {
                used += u32::from(!was_counted);
                kept[window] = true;
            }
            counted.push(kept[window] || within(window).any(|earlier| kept[earlier]));
        }
        counted
    }

    /// The levels of one key, window by window.
    fn levels(presence: &mut Presence, seen: &[Vec<bool>]) -> Vec<u64> {
        let mut levels = PresenceLevels::new(presence.last());
        let windows = seen.first().map_or(0, Vec::len);
        let level = |window: usize| {
            for (person, _) in (0u32..).zip(seen).filter(|(_, seen)| seen[window]) {
                if let Some(before) = presence.see(&person, &7, window as u64) {
                    levels.count(before, &7, window as u64);
                }
            }
            levels.take(window as u64).first().map_or(0, |(_, level)| level.people)
        };
        (0..windows).map(level).collect()
    }

    // Every pattern of ten windows. Refutes a person who leaves a window early or late, one who enters once more than the
    // bound says, one who is new twice, and changes that are not 1 and -1 in turn.
    #[test]
    fn a_person_enters_and_leaves_as_often_as_was_said_and_no_more() {
        let windows = 10;
        let mut most = 0;
        for pattern in 0u32..1 << windows {
            let seen: Vec<bool> = (0..windows).map(|window| pattern >> window & 1 == 1).collect();
            for (entries, last) in [(1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (3, 2), (9, 1), (9, 3)] {
                let mut presence = Presence::new(1, entries.into(), last as u64).unwrap();
                let found = levels(&mut presence, std::slice::from_ref(&seen));
                let truth: Vec<u64> = expected(&seen, entries, last).into_iter().map(u64::from).collect();
                assert_eq!(found, truth, "{seen:?} with {entries} of {last}");
                let changes: Vec<i64> = std::iter::once(0)
                    .chain(found.iter().map(|level| *level as i64))
                    .collect::<Vec<_>>()
                    .windows(2)
                    .map(|pair| pair[1] - pair[0])
                    .filter(|change| *change != 0)
                    .collect();
                assert!(changes.chunks(2).all(|pair| matches!(pair, [1] | [1, -1])), "{changes:?}");
                assert!(changes.len() <= 2 * entries as usize, "{changes:?}");
                most = most.max(changes.len());
            }
        }
        assert_eq!(most, 10, "five entries of one window each");
    }

    // Refutes a number of people that forgets some, and a person who counts differently because of others.
    #[test]
    fn levels_are_the_number_of_those_who_count() {
        let seen: Vec<Vec<bool>> = (0..40u32)
            .map(|person| {
                (0..30u32).map(|window| (window * 7 + person * person + 3) % 11 < 2 + person % 3).collect()
            })
            .collect();
        for (entries, last) in [(1, 4), (2, 2), (3, 1)] {
            let found = levels(&mut Presence::new(1, entries.into(), last as u64).unwrap(), &seen);
            let truth = (0..30).map(|window| {
                seen.iter().filter(|seen| expected(seen, entries, last)[window]).count() as u64
            });
            assert_eq!(found, truth.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_person_has_so_many_keys() {
        let mut presence = Presence::new(2, 1, 3).unwrap();
        let mut see = |key, window| presence.see(&1, &key, window);
        assert!(see(5, 0) == Some(PresenceBefore::New) && see(3, 0) == Some(PresenceBefore::New));
        assert!(see(4, 1).is_none(), "a third");
        assert!(see(5, 3) == Some(PresenceBefore::Present(0)));
        assert!(see(3, 4).is_none(), "it was left, and may not be entered again");
        assert!(see(4, 9).is_none(), "a third, though the others were left");
        assert!(presence.see(&2, &4, 9) == Some(PresenceBefore::New), "another person");
    }

    #[test]
    fn bounds_of_nothing_are_refused() {
        let refused =
            |keys, entries, last| Presence::new(keys, entries, last).unwrap_err().field().to_owned();
        assert_eq!(
            [refused(0, 1, 1), refused(1, 0, 1), refused(1, 1, 0)],
            ["keys", "entries", "last"].map(str::to_owned)
        );
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let empty = Presence::new(2, 3, 4).unwrap();
        let mut presence = empty.clone();
        for (person, key, window) in [(7, 2, 0), (7, 1, 1), (3, 9, 1), (7, 1, 8), (3, 9, 3)] {
            assert!(presence.see(&person, &key, window).is_some());
        }
        let bytes = presence.write();
        let mut elsewhere = empty.clone();
        presence.iter().for_each(|(person, key, known)| elsewhere.set(*person, *key, known));
        assert!(elsewhere == presence);
        assert_eq!(empty.read(&bytes), Ok(presence));
        for (keys, entries, last) in [(1, 3, 4), (2, 2, 4), (2, 3, 5)] {
            assert!(Presence::new(keys, entries, last).unwrap().read(&bytes).is_err(), "of other bounds");
        }
        for length in 0..bytes.len() {
            assert!(empty.read(&bytes[..length]).is_err(), "torn at {length}");
        }
        assert!(empty.read(&[&bytes[..], &[0]].concat()).is_err(), "more than there is");
    }

    // Refutes levels that are not those of the persons who are restored.
    #[test]
    fn levels_are_restored_from_the_presence_of_people() {
        let mut presence = Presence::new(3, 2, 3).unwrap();
        let mut levels = PresenceLevels::new(3);
        for window in 0..40u64 {
            for person in 0..20u32 {
                let (key, is_seen) = ((person % 3) as u8, (window * 5 + u64::from(person * person)) % 9 < 2);
                if is_seen && let Some(before) = presence.see(&person, &key, window) {
                    levels.count(before, &key, window);
                }
            }
            let taken = levels.take(window);
            let mut restored = PresenceLevels::new(3);
            presence.iter().for_each(|(_, key, known)| restored.restore(key, known.seen));
            let people = |levels: Vec<(u8, KeyLevel)>| -> Vec<(u8, u64)> {
                levels.into_iter().map(|(key, level)| (key, level.people)).collect()
            };
            assert_eq!(people(restored.take(window)), people(taken), "{window}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let empty = Presence::new(2, 3, 4).unwrap();
            let mut headed = empty.write();
            headed.truncate(17);
            headed.extend(bytes);
            if let Ok(read) = empty.read(&headed) {
                prop_assert_eq!(read.write(), headed);
            }
        }
    }
}
