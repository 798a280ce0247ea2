//! The versions of the data that questions may name: one a window that has closed.

use std::collections::BTreeMap;

use super::super::told::Portion;
use crate::mechanisms::answers::{ColumnStore, MatchedTotals, Query, QueryRow, Schema, Steps};

/// What one worker keeps of every version that may still be asked about.
pub(super) trait Versions: 'static {
    /// How it learns of them.
    type Update: Clone + 'static;

    /// Takes in what has changed.
    fn take(&mut self, updates: &mut Vec<Self::Update>);

    /// What a question finds in a version that is complete.
    fn found(&mut self, version: u64, question: &Query) -> MatchedTotals;

    /// No question will be about a version before this one.
    fn forget_before(&mut self, version: u64);
}

/// Versions that have nothing in common, each in columns: where windows lie side by side and nothing is taken back.
pub(super) struct Snapshots {
    steps: Steps,
    empty: ColumnStore,
    versions: BTreeMap<u64, ColumnStore>,
    first: u64,
}

impl Snapshots {
    pub(super) fn new(schema: &Schema, steps: Steps) -> Snapshots {
        Snapshots { steps, empty: ColumnStore::new(schema), versions: BTreeMap::new(), first: 0 }
    }
}

impl Versions for Snapshots {
    type Update = (u64, Portion<Vec<QueryRow>>);

    fn take(&mut self, updates: &mut Vec<Self::Update>) {
        for (version, portion) in updates.drain(..) {
            if version < self.first {
                continue;
            }
            let columns = self.versions.entry(version).or_insert_with(|| self.empty.clone());
            if let Portion::Part(rows) = portion {
                rows.iter().for_each(|row| columns.push(row));
            }
        }
    }

    fn found(&mut self, version: u64, question: &Query) -> MatchedTotals {
        self.versions
            .get(&version)
            .map_or_else(MatchedTotals::default, |columns| columns.found(question, &self.steps))
    }

    fn forget_before(&mut self, version: u64) {
        self.first = version.max(self.first);
        self.versions = self.versions.split_off(&self.first);
    }
}
