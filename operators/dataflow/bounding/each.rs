//! Record level: every record is bounded by itself, so that nothing is held of a person.

use std::fmt;
use std::sync::Arc;

use super::chooser::ContributionSelector;
use super::identity::Identity;
use super::names::KeyNumbers;

/// Totals of one window on one worker, where the protected unit is a record: it is in one key, and whoever adds it bounds
/// what it adds there. Prints as `<private>`.
pub struct RecordTotals<K, T> {
    chooser: ContributionSelector,
    names: KeyNumbers<K>,
    totals: Vec<T>,
}

impl<K: Identity + Ord + Clone, T: Default> RecordTotals<K, T> {
    /// No record yet. Where keys are listed, records of others are left out.
    pub fn new(chooser: ContributionSelector, only: Option<Arc<[K]>>) -> RecordTotals<K, T> {
        RecordTotals { names: KeyNumbers::new(&chooser, only), chooser, totals: Vec::new() }
    }

    /// Adds a record to the total of its key.
    #[inline]
    pub fn add(&mut self, key: &K, add: impl FnOnce(&mut T)) {
        let Some(number) = self.names.number(&self.chooser, key) else { return };
        if self.totals.len() <= number as usize {
            self.totals.resize_with(number as usize + 1, T::default);
        }
        add(&mut self.totals[number as usize]);
    }

    /// Takes in what another pane of the same window has.
    pub fn merge(&mut self, other: &RecordTotals<K, T>, join: impl Fn(&mut T, &T)) {
        for (number, total) in other.totals.iter().enumerate() {
            self.add(other.names.key(number as u32), |ours| join(ours, total));
        }
    }

    /// Ends the window: the totals in the order of the keys. It is empty afterwards, and keeps its memory.
    pub fn close(&mut self) -> Vec<(K, T)> {
        let totals = self.totals.drain(..).enumerate();
        let mut tallies: Vec<(K, T)> =
            totals.map(|(number, total)| (self.names.key(number as u32).clone(), total)).collect();
        tallies.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        self.names.clear(&self.chooser);
        tallies
    }

    /// Forgets everything but its memory, and hashes by this chooser from now on.
    pub fn choose_by(&mut self, chooser: ContributionSelector) {
        self.chooser = chooser;
        self.totals.clear();
        self.names.clear(&self.chooser);
    }

    /// How much memory it holds, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.totals.capacity() * size_of::<T>() + self.names.bytes()
    }
}

impl<K, T> fmt::Debug for RecordTotals<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}
