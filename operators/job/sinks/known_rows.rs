//! The names of the rows that a file has, as far as they are kept in memory.

use std::collections::HashSet;

use crate::canonical::Digest;

/// The number of rows in mind before the older ones are forgotten.
pub(super) const IN_MIND: usize = if cfg!(test) { 64 } else { 65_536 };

/// The names of the newest rows in a file: as many as two times [`IN_MIND`], however long a run.
#[derive(Debug, Default)]
pub(super) struct KnownRows {
    pub(super) newer: HashSet<Digest>,
    pub(super) older: HashSet<Digest>,
    /// The highest position among the newer rows.
    newest: Option<i64>,
    /// The highest position among the older rows.
    oldest: Option<i64>,
    /// The highest position of a row that may be in the file and is not in mind.
    pub(super) unread: Option<i64>,
}

impl KnownRows {
    /// The rows that were read from a file, and the highest position of one that was not.
    pub(super) fn read(newer: HashSet<Digest>, unread: Option<i64>) -> KnownRows {
        KnownRows { newer, unread, ..KnownRows::default() }
    }

    /// Returns true if a row at this position may be in the file and not in mind.
    pub(super) fn forgets(&self, sequence: i64) -> bool {
        self.unread.is_some_and(|unread| sequence <= unread)
    }

    /// Adds a row; returns false if it is known.
    pub(super) fn insert(&mut self, name: Digest, sequence: i64) -> bool {
        if self.older.contains(&name) || !self.newer.insert(name) {
            return false;
        }
        self.newest = self.newest.max(Some(sequence));
        if self.newer.len() >= IN_MIND {
            // Rows that were read from the file are of unknown positions, all below those that follow.
            self.unread = self.unread.max(self.oldest);
            (self.older, self.oldest) = (std::mem::take(&mut self.newer), self.newest);
        }
        true
    }

    /// Adds the rows of another file.
    pub(super) fn take_over(&mut self, other: KnownRows) {
        self.newer.extend(other.newer);
        self.newer.extend(other.older);
        self.newest = self.newest.max(other.newest).max(other.oldest);
        self.unread = self.unread.max(other.unread);
    }
}
