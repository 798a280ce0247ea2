//! Keys get numbers, so that what is held of a person is small whatever a key is.

use super::chooser::Chooser;
use super::identity::Identity;
use super::index::Index;

/// The keys of a table, numbered as they come. Numbers never leave a table; which key got which makes no difference.
#[derive(Clone)]
pub(super) struct Names<K> {
    keys: Vec<K>,
    hashes: Vec<u64>,
    index: Index,
    heap: usize,
}

impl<K: Identity + Ord + Clone> Names<K> {
    pub(super) fn new() -> Names<K> {
        let mut index = Index::default();
        index.reset(0);
        Names { keys: Vec::new(), hashes: Vec::new(), index, heap: 0 }
    }

    #[inline]
    pub(super) fn number(&mut self, chooser: &Chooser, key: &K) -> u32 {
        let hash = chooser.key(key);
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

    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.hashes.clear();
        self.index.reset(0);
        self.heap = 0;
    }

    pub(super) fn bytes(&self) -> usize {
        self.keys.capacity() * size_of::<K>() + self.hashes.capacity() * 8 + self.index.bytes() + self.heap
    }
}
