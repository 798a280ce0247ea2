//! Numbers of keys, so that a person's entries are small for keys of any size.

use std::sync::Arc;

use super::identity::Identity;
use super::selector::ContributionSelector;

/// The keys of a table, numbered as they come. Numbers never leave a table; which key got which makes no
/// difference.
#[derive(Clone)]
pub(in crate::dataflow) struct KeyNumbers<K> {
    keys: Vec<K>,
    hashes: Vec<u64>,
    /// Empty while there are no more than [`FEW`] keys.
    index: Index,
    /// The number of each key that has a code, by its code; [`UNKNOWN`] where it was not asked for yet.
    by_code: Vec<u32>,
    /// The number of times that a key was not found by its code: the codes take no more memory than these.
    asked: usize,
    heap: usize,
    /// The only keys that get numbers, where they are listed: they have them from the first on.
    listed: Option<Arc<[K]>>,
}

/// The number of keys up to which all are compared by their hashes: the index of one more takes 256 bytes. In tests
/// few, so that there is an index.
const FEW: usize = if cfg!(test) { 2 } else { 8 };

/// No number.
const UNKNOWN: u32 = u32::MAX;

impl<K: Identity + Ord + Clone> KeyNumbers<K> {
    pub(super) fn new(selector: &ContributionSelector, listed: Option<Arc<[K]>>) -> KeyNumbers<K> {
        let mut names = KeyNumbers {
            keys: Vec::new(),
            hashes: Vec::new(),
            index: Index::default(),
            by_code: Vec::new(),
            asked: 0,
            heap: 0,
            listed,
        };
        names.clear(selector);
        names
    }

    /// The number of a key; none for one that is not listed, where keys are.
    #[inline]
    pub(super) fn number(&mut self, selector: &ContributionSelector, key: &K) -> Option<u32> {
        let code = key.code().map(|code| code as usize);
        let known = code.and_then(|code| self.by_code.get(code)).filter(|known| **known != UNKNOWN);
        if let Some(known) = known {
            return Some(*known);
        }
        let number = self.look_up(selector, key);
        self.asked += 1;
        if let (Some(code), Some(number)) = (code, number)
            && code < self.asked
        {
            if self.by_code.len() <= code {
                self.by_code.resize(code + 1, UNKNOWN);
            }
            self.by_code[code] = number;
        }
        number
    }

    fn look_up(&mut self, selector: &ContributionSelector, key: &K) -> Option<u32> {
        let hash = selector.key(key);
        if self.listed.is_some() {
            return match self.index.is_empty() {
                true => self.find_among_few(hash, key),
                false => self.index.find(hash as u32, |at| self.keys[at as usize] == *key),
            };
        }
        Some(self.insert(hash, key))
    }

    #[inline]
    fn find_among_few(&self, hash: u64, key: &K) -> Option<u32> {
        let mut known = self.hashes.iter().zip(&self.keys);
        known.position(|(known, name)| *known == hash && name == key).map(|at| at as u32)
    }

    #[inline]
    fn insert(&mut self, hash: u64, key: &K) -> u32 {
        let next = self.keys.len() as u32;
        let found = if self.index.is_empty() {
            self.find_among_few(hash, key)
        } else {
            self.index.grow();
            self.index.find_or_insert(hash as u32, next, |at| self.keys[at as usize] == *key)
        };
        found.unwrap_or_else(|| self.name(hash, key))
    }

    /// Gives a new key the next number; the index has it, where there is one.
    #[cold]
    fn name(&mut self, hash: u64, key: &K) -> u32 {
        let next = self.keys.len() as u32;
        // 2^32 keys would need 80 GB here; a worker's memory ends first.
        self.heap += key.heap();
        self.keys.push(key.clone());
        self.hashes.push(hash);
        if self.index.is_empty() && self.keys.len() > FEW {
            self.index.reset(2 * FEW);
            for (number, hash) in self.hashes.iter().enumerate() {
                self.index.find_or_insert(*hash as u32, number as u32, |_| false);
            }
        }
        next
    }

    pub(in crate::dataflow) fn key(&self, number: u32) -> &K {
        &self.keys[number as usize]
    }

    #[inline]
    pub(super) fn hash(&self, number: u32) -> u64 {
        self.hashes[number as usize]
    }

    pub(in crate::dataflow) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Forgets every key that is not listed. Hashes are this chooser's from now on.
    pub(super) fn clear(&mut self, selector: &ContributionSelector) {
        self.keys.clear();
        self.hashes.clear();
        self.index.clear();
        self.by_code.clear();
        (self.asked, self.heap) = (0, 0);
        for key in self.listed.clone().iter().flat_map(|keys| keys.iter()) {
            self.insert(selector.key(key), key);
        }
    }

    /// The only keys that get numbers.
    pub(super) fn listed(&self) -> Option<&Arc<[K]>> {
        self.listed.as_ref()
    }

    pub(super) fn bytes(&self) -> usize {
        let codes = self.by_code.capacity() * size_of::<u32>();
        self.keys.capacity() * size_of::<K>()
            + self.hashes.capacity() * 8
            + self.index.bytes()
            + codes
            + self.heap
    }
}

// Open addressing over things that are numbered elsewhere: a slot holds a number and 32 bits of a hash, 8
// bytes.

/// Finds the number of a thing by its hash. What it finds it asks to be compared in full.
#[derive(Clone, Default)]
pub(super) struct Index {
    /// Zero where nothing is, else the hash above, the number plus one below.
    slots: Vec<u64>,
    held: usize,
}

impl Index {
    /// Returns true if it has room for nothing.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Forgets everything, and has room for nothing until it is reset.
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.held = 0;
    }

    /// Forgets everything, and makes room for this number of keys.
    pub(super) fn reset(&mut self, room: usize) {
        self.slots.clear();
        self.slots.resize((2 * room).next_power_of_two().max(16), 0);
        self.held = 0;
    }

    /// The number of what has this hash and `is` the one that is looked for.
    #[inline]
    pub(super) fn find(&self, hash: u32, is: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at & mask];
            if slot == 0 {
                return None;
            }
            if (slot >> 32) as u32 == hash && is(slot as u32 - 1) {
                return Some(slot as u32 - 1);
            }
            at += 1;
        }
    }

    /// The number of what has this hash and `is` the one that is looked for; or it gets this `number`.
    ///
    /// There must be room.
    #[inline]
    pub(super) fn find_or_insert(&mut self, hash: u32, number: u32, is: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        // At most half of the slots are taken, so an empty one comes.
        loop {
            let slot = self.slots[at & mask];
            if slot == 0 {
                self.slots[at & mask] = (u64::from(hash) << 32) | (u64::from(number) + 1);
                self.held += 1;
                return None;
            }
            if (slot >> 32) as u32 == hash {
                let found = slot as u32 - 1;
                if is(found) {
                    return Some(found);
                }
            }
            at += 1;
        }
    }

    /// Makes room for one more.
    #[inline]
    pub(super) fn grow(&mut self) {
        if 2 * (self.held + 1) > self.slots.len() {
            self.rebuild();
        }
    }

    #[cold]
    fn rebuild(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.reset(old.len());
        for slot in old.into_iter().filter(|&slot| slot != 0) {
            self.find_or_insert((slot >> 32) as u32, slot as u32 - 1, |_| false);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key whose code is its number times 1,000; one has none.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    struct CodedKey(u32);

    impl Identity for CodedKey {
        fn write<S: crate::dataflow::bounding::IdentitySink>(&self, sink: &mut S) {
            self.0.write(sink);
        }

        fn read(bytes: &mut &[u8]) -> Option<CodedKey> {
            u32::read(bytes).map(CodedKey)
        }

        fn code(&self) -> Option<u32> {
            (self.0 != 6).then_some(self.0 * 1_000)
        }
    }

    // Refutes numbers by code that outlive their table, that differ from those without, and that take memory by the
    // largest code and not by the records.
    #[test]
    fn a_key_has_the_number_of_its_code() {
        let selector = ContributionSelector::new([7; 32]);
        for listed in [None, Some(Arc::from([0, 1, 2, 3, 4, 5, 6].map(CodedKey)))] {
            let mut names = KeyNumbers::new(&selector, listed);
            for round in 0..3u32 {
                let mut order = Vec::new();
                for ask in 0..12_000u32 {
                    let key = CodedKey((ask * 3 + round * 2) % 7);
                    let number = names.number(&selector, &key).unwrap();
                    assert!(*names.key(number) == key);
                    order.push((key.0, number));
                    assert!(names.by_code.len() <= names.asked + 1);
                }
                order.sort_unstable();
                order.dedup();
                assert_eq!(order.len(), 7, "a key has one number");
                assert!(names.asked < 11_000, "codes are used");
                names.clear(&selector);
            }
        }
        let mut listed = KeyNumbers::new(&selector, Some(Arc::from([CodedKey(1)])));
        for _ in 0..3_000 {
            assert!(listed.number(&selector, &CodedKey(2)).is_none(), "it is not listed");
        }
    }

    // Refutes an index that takes equal hashes for equal things, and one that loses some when it grows.
    #[test]
    fn entries_with_one_hash_are_distinct_and_survive_growth() {
        let mut index = Index::default();
        index.reset(0);
        let names: Vec<u64> = (0..3000).map(|number| number * 7).collect();
        let hash = |name: u64| (name % 11) as u32;
        for (number, &name) in names.iter().enumerate() {
            index.grow();
            assert_eq!(
                index.find_or_insert(hash(name), number as u32, |at| names[at as usize] == name),
                None
            );
        }
        for (number, &name) in names.iter().enumerate() {
            let found = index.find_or_insert(hash(name), 0, |at| names[at as usize] == name);
            assert_eq!(found, Some(number as u32));
        }
        assert!(index.bytes() >= 8 * names.len());
    }
}
