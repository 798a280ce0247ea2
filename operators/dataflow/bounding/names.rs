//! Keys get numbers, so that what is held of a person is small whatever a key is.

use std::sync::Arc;

use super::chooser::ContributionSelector;
use super::identity::Identity;
use super::index::Index;

/// The keys of a table, numbered as they come. Numbers never leave a table; which key got which makes no difference.
#[derive(Clone)]
pub(super) struct KeyNumbers<K> {
    keys: Vec<K>,
    hashes: Vec<u64>,
    index: Index,
    heap: usize,
    /// The only keys that get numbers, where they are listed: they have them from the first on.
    listed: Option<Arc<[K]>>,
}

impl<K: Identity + Ord + Clone> KeyNumbers<K> {
    pub(super) fn new(chooser: &ContributionSelector, listed: Option<Arc<[K]>>) -> KeyNumbers<K> {
        let index = Index::default();
        let mut names = KeyNumbers { keys: Vec::new(), hashes: Vec::new(), index, heap: 0, listed };
        names.clear(chooser);
        names
    }

    /// The number of a key; none for one that is not listed, where keys are.
    #[inline]
    pub(super) fn number(&mut self, chooser: &ContributionSelector, key: &K) -> Option<u32> {
        let hash = chooser.key(key);
        if self.listed.is_some() {
            return self.index.find(hash as u32, |at| self.keys[at as usize] == *key);
        }
        Some(self.insert(hash, key))
    }

    #[inline]
    fn insert(&mut self, hash: u64, key: &K) -> u32 {
        self.index.grow();
        let next = self.keys.len() as u32;
        if let Some(found) = self.index.find_or_insert(hash as u32, next, |at| self.keys[at as usize] == *key)
        {
            return found;
        }
        // 2^32 keys would need 80 GB here; a worker's memory ends first.
        self.heap += key.heap();
        self.keys.push(key.clone());
        self.hashes.push(hash);
        next
    }

    pub(super) fn key(&self, number: u32) -> &K {
        &self.keys[number as usize]
    }

    #[inline]
    pub(super) fn hash(&self, number: u32) -> u64 {
        self.hashes[number as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Forgets every key that is not listed. Hashes are this chooser's from now on.
    pub(super) fn clear(&mut self, chooser: &ContributionSelector) {
        self.keys.clear();
        self.hashes.clear();
        self.index.reset(0);
        self.heap = 0;
        for key in self.listed.clone().iter().flat_map(|keys| keys.iter()) {
            self.insert(chooser.key(key), key);
        }
    }

    /// The only keys that get numbers.
    pub(super) fn listed(&self) -> Option<&Arc<[K]>> {
        self.listed.as_ref()
    }

    pub(super) fn bytes(&self) -> usize {
        self.keys.capacity() * size_of::<K>() + self.hashes.capacity() * 8 + self.index.bytes() + self.heap
    }
}
