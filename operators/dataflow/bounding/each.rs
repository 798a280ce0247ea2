//! Record level: every record is bounded by itself, so that nothing is held of a person.

use std::fmt;

use super::cap::Cap;
use super::chooser::Chooser;
use super::identity::Identity;
use super::names::Names;
use super::partial::{Additive, Partial};
use super::rule::Keyed;

/// Counts, and sums of clipped values, of one window on one worker, where the protected unit is a record. It moves one
/// key, by one record and by at most the farther end of the range. Prints as `<private>`.
pub struct Each<K, R> {
    chooser: Chooser,
    rule: R,
    names: Names<K>,
    totals: Vec<Partial>,
}

impl<K: Identity + Ord + Clone, R: Additive> Each<K, R> {
    /// No record yet.
    pub fn new(chooser: Chooser, rule: R) -> Each<K, R> {
        Each { chooser, rule, names: Names::new(), totals: Vec::new() }
    }

    /// Takes a record in.
    #[inline]
    pub fn add(&mut self, key: &K, value: R::Value) {
        let number = self.names.number(&self.chooser, key);
        if self.totals.len() <= number as usize {
            self.totals.push(Partial::default());
        }
        // The rules that add up choose no records.
        let held = self.rule.hold(&self.chooser, || 0, value);
        let share = self.rule.share(Cap::ONE, &[Keyed { key: number, held }]);
        self.totals[number as usize].add(R::partial(share));
    }

    /// Ends the window: the totals in the order of the keys. It is empty afterwards, and keeps its memory.
    pub fn close(&mut self) -> Vec<(K, Partial)> {
        let totals = self.totals.drain(..).enumerate();
        let mut tallies: Vec<(K, Partial)> =
            totals.map(|(number, total)| (self.names.key(number as u32).clone(), total)).collect();
        tallies.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        self.names.clear();
        tallies
    }

    /// How much memory it holds, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.totals.capacity() * size_of::<Partial>() + self.names.bytes()
    }
}

impl<K, R> fmt::Debug for Each<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}
