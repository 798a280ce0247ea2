//! Rules: the form in which a person's records in a key are held, and the part that counts.

use std::sync::Arc;

use super::identity::Identity;
use super::key_numbers::KeyNumbers;
use super::measure::Measure;
use super::selector::ContributionSelector;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::PerPerson;

/// Something held of a person, with the number of its key. Prints as `<private>`, as all that is held does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Keyed<H> {
    pub(super) key: u32,
    pub(super) held: H,
}

redacted!([H] Keyed<H>);

/// A rule for the records of a person in a key: the form in which they are held, and the part that counts.
///
/// The methods see one person's things at a time. Together they must be a function of the set of records that
/// came, whatever their order and however often [`settle`](Rule::settle) ran in between.
pub trait Rule: Clone {
    /// The value of a record, beside its person and its key.
    type Value: Clone;
    /// The form in which the value is held.
    type Held: Clone;
    /// The part of a person's records in a kept key that counts.
    type Share;
    /// Is everything held until the window closes? Else keys that are not among the lowest are given up on
    /// the way, which is right only where nothing that comes later can take a record back.
    const HOLDS_ALL: bool = false;

    /// Returns the held form of one record; `choice` gives the place of its key.
    fn hold(
        &self,
        selector: &ContributionSelector,
        choice: impl FnOnce() -> u64,
        value: Self::Value,
    ) -> Self::Held;

    /// Brings the things of one key together, combines them, and gives up what cannot count any more. What is
    /// left is moved to the front; how much that is.
    fn settle(&self, cap: Cap, group: &mut [Keyed<Self::Held>]) -> usize;

    /// At the close, before keys are chosen: leaves out what does not count.
    fn cancel(&self, group: &mut [Keyed<Self::Held>]) -> usize {
        group.len()
    }

    /// At the close, after keys were chosen: takes back what two kept keys both have. `before` is the order
    /// of choice.
    fn disentangle(&self, group: &mut [Keyed<Self::Held>], _before: impl Fn(u32, u32) -> bool) -> usize {
        group.len()
    }

    /// Returns the part that counts, of a run of records of one key.
    fn share(&self, cap: Cap, run: &[Keyed<Self::Held>]) -> Self::Share;

    /// Memory that a value holds beside its own size, in bytes.
    fn heap(&self, _: &Self::Value) -> usize {
        0
    }

    /// The same of what is held.
    fn held_heap(&self, _: &Self::Held) -> usize {
        0
    }
}

/// Moves what is to be kept to the front, in its order. How much that is.
#[inline]
pub(super) fn keep<H>(group: &mut [Keyed<H>], mut keep: impl FnMut(&Keyed<H>) -> bool) -> usize {
    let mut left = 0;
    for at in 0..group.len() {
        if keep(&group[at]) {
            group.swap(left, at);
            left += 1;
        }
    }
    left
}

/// Combines what is of one key, so that every key is there once. How many that are.
#[inline]
pub(super) fn combine<H: Copy>(group: &mut [Keyed<H>], together: impl Fn(H, H) -> H) -> usize {
    // Most groups are short. What costs there is a branch that is guessed wrong, so this looks at all keys
    // seen so far and branches once a record, where a sort would do so several times.
    let short = group.len() <= 16;
    if !short {
        group.sort_unstable_by_key(|keyed| keyed.key);
    }
    let mut left: usize = 0;
    for at in 0..group.len() {
        let next = group[at];
        let first = if short { 0 } else { left.saturating_sub(1) };
        let mut same = usize::MAX;
        for (seen, keyed) in group[first..left].iter().enumerate() {
            same = if keyed.key == next.key { first + seen } else { same };
        }
        if same == usize::MAX {
            group[left] = next;
            left += 1;
        } else {
            group[same].held = together(group[same].held, next.held);
        }
    }
    left
}

/// Keeps the first `most` of every key in a sorted group.
pub(super) fn shorten<H>(group: &mut [Keyed<H>], most: u32) -> usize {
    let (mut key, mut seen) = (None, 0u32);
    keep(group, |keyed| {
        if key != Some(keyed.key) {
            (key, seen) = (Some(keyed.key), 0);
        }
        seen = seen.saturating_add(1);
        seen <= most
    })
}

// How much of a person is kept.

/// At most this number of keys of a person, and this number of records in each of them. Both are from 1 to
/// 2^31.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cap {
    keys: u32,
    per_key: u32,
}

impl Cap {
    /// One record in one key.
    pub(crate) const ONE: Cap = Cap { keys: 1, per_key: 1 };

    /// At most `keys` keys a person, and `per_key` records in each.
    ///
    /// # Errors
    ///
    /// Names `keys` or `per_key` where it is zero or above 2^31.
    pub fn new(keys: u64, per_key: u64) -> Result<Cap, Invalid> {
        Ok(Cap { keys: within("keys", keys)?, per_key: within("per_key", per_key)? })
    }

    /// At most this number of keys.
    pub fn keys(self) -> u32 {
        self.keys
    }

    /// At most this number of records in each.
    pub fn per_key(self) -> u32 {
        self.per_key
    }
}

/// Accepts a whole number from 1 to 2^31.
pub(super) fn within(field: &'static str, value: u64) -> Result<u32, Invalid> {
    let kind = match u32::try_from(value) {
        Ok(0) => InvalidKind::Zero,
        Ok(value) if value <= 1 << 31 => return Ok(value),
        _ => InvalidKind::TooLarge,
    };
    Err(Invalid::new(field, kind, "a whole number from 1 to 2^31"))
}

// One number of each person in a key: the greatest of their values, their sum, or how many records there are.

/// Puts together what a person has in a key, all of it: whatever it comes to, a person is one number.
///
/// `per_key` bounds nothing here, and no record is given up.
#[derive(Clone, Copy, Debug)]
pub struct Own(pub PerPerson);

impl Rule for Own {
    type Value = i64;
    type Held = i128;
    type Share = i128;

    #[inline]
    fn hold(&self, _: &ContributionSelector, _: impl FnOnce() -> u64, value: i64) -> i128 {
        self.0.of(value, 1)
    }

    #[inline]
    fn settle(&self, _: Cap, group: &mut [Keyed<i128>]) -> usize {
        combine(group, |a, b| self.0.together(a, b))
    }

    fn share(&self, _: Cap, run: &[Keyed<i128>]) -> i128 {
        let own = run.iter().map(|keyed| keyed.held).reduce(|a, b| self.0.together(a, b));
        // A run is of something.
        own.unwrap_or_default()
    }
}

impl Measure for Own {
    type Value = i64;
    type Share = i128;
    type Plain = Own;
    // The greatest may be any of them.
    const CUTS: bool = false;

    fn plain(&self) -> Own {
        *self
    }

    #[inline]
    fn bring(value: i64, _: impl FnOnce(&i64) -> u64) -> i64 {
        value
    }

    fn share<'a>(&self, _: Cap, records: impl Iterator<Item = (&'a i64, i128)>) -> i128 {
        let own = records.map(|(&value, copies)| self.0.of(value, copies));
        own.reduce(|a, b| self.0.together(a, b)).unwrap_or_default()
    }
}

// Record level: every record is bounded by itself, so that nothing is held of a person.

/// Totals of one window on one worker, where the protected unit is a record: it is in one key, and whoever
/// adds it bounds what it adds there. Prints as `<private>`.
pub struct RecordTotals<K, T> {
    selector: ContributionSelector,
    names: KeyNumbers<K>,
    totals: Vec<T>,
}

impl<K: Identity + Ord + Clone, T: Default> RecordTotals<K, T> {
    /// No record yet. Where keys are listed, records of others are left out.
    pub fn new(selector: ContributionSelector, only: Option<Arc<[K]>>) -> RecordTotals<K, T> {
        RecordTotals { names: KeyNumbers::new(&selector, only), selector, totals: Vec::new() }
    }

    /// Adds a record to the total of its key.
    #[inline]
    pub fn add(&mut self, key: &K, add: impl FnOnce(&mut T)) {
        let Some(number) = self.names.number(&self.selector, key) else { return };
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
        self.names.clear(&self.selector);
        tallies
    }

    /// Forgets everything but its memory, and hashes by this chooser from now on.
    pub fn choose_by(&mut self, selector: ContributionSelector) {
        self.selector = selector;
        self.totals.clear();
        self.names.clear(&self.selector);
    }

    /// Returns the memory that it holds, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.totals.capacity() * size_of::<T>() + self.names.bytes()
    }
}

redacted!([K, T] RecordTotals<K, T>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_of_nothing_or_of_too_much_is_refused() {
        let refused = |keys, per_key| {
            let refused = Cap::new(keys, per_key).unwrap_err();
            (refused.field().to_owned(), refused.kind())
        };
        assert_eq!(refused(0, 1), ("keys".into(), InvalidKind::Zero));
        assert_eq!(refused(1, 0), ("per_key".into(), InvalidKind::Zero));
        assert_eq!(refused((1 << 31) + 1, 1), ("keys".into(), InvalidKind::TooLarge));
        assert_eq!(refused(1, 1 << 32), ("per_key".into(), InvalidKind::TooLarge));
        assert!(Cap::new(1 << 31, 1 << 31).is_ok());
    }
}
