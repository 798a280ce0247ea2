//! Rules: the form in which a person's records in a key are held, and the part that counts.

use std::sync::Arc;

use super::identity::Identity;
use super::key_numbers::KeyNumbers;
use super::measure::Measure;
use super::selector::ContributionSelector;
use super::spillable::Spillable;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::PerPerson;

/// A rule for the records of a person in a key: the form in which they are held, and the part that counts.
///
/// The methods see the things of one person in one key. Together they must be a function of the set of records that
/// came, whatever their order and however often [`settle`](Rule::settle) ran in between.
pub trait Rule: Clone {
    /// The value of a record, beside its person and its key.
    type Value: Clone;
    /// The form in which the value is held.
    type Held: Spillable + Clone;
    /// The part of a person's records in a kept key that counts.
    type Share;
    /// True if all that a person has in a key [comes to one thing](Rule::together).
    const IS_ONE: bool = false;
    /// Is everything held until the window closes? Else keys that are not among the lowest are given up on
    /// the way, which is right only where nothing that comes later can take a record back.
    const HOLDS_ALL: bool = false;
    /// True if one record may be in several keys of a person, of which only one [counts](Rule::disentangle).
    const HAS_IDS: bool = false;

    /// Returns the held form of one record.
    fn hold(&self, selector: &ContributionSelector, value: Self::Value) -> Self::Held;

    /// Returns it with the place of its record in the order of selection instead of the hash that decides it.
    #[must_use]
    fn ranked(&self, held: Self::Held, _rank: impl Fn(u64) -> u64) -> Self::Held {
        held
    }

    /// Puts two things of one key together, where [all comes to one](Rule::IS_ONE). `None` is nothing yet.
    fn together(&self, _: Cap, _ours: Option<Self::Held>, theirs: Self::Held) -> Self::Held {
        theirs
    }

    /// Gives up what cannot count any more, of things that do not [come to one](Rule::IS_ONE). What is left is moved to
    /// the front; how much that is. `rank` gives the place of a record by its hash: the lowest are kept.
    fn settle(&self, _: Cap, run: &mut [Self::Held], _rank: impl Fn(u64) -> u64) -> usize {
        run.len()
    }

    /// At the close, before keys are chosen: leaves out what does not count.
    fn cancel(&self, run: &mut [Self::Held]) -> usize {
        run.len()
    }

    /// At the close, after keys were chosen: takes back what two kept keys both have. The runs are in the order of
    /// choice, each with the number of its things; what is left of each is moved to its front.
    fn disentangle(&self, _runs: &mut [(&mut [Self::Held], usize)]) {}

    /// Returns the part that counts, of all things of one key.
    fn share(&self, cap: Cap, run: &mut [Self::Held], rank: impl Fn(u64) -> u64) -> Self::Share;

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
pub(super) fn keep<H>(run: &mut [H], mut keep: impl FnMut(&H) -> bool) -> usize {
    let mut left = 0;
    for at in 0..run.len() {
        if keep(&run[at]) {
            run.swap(left, at);
            left += 1;
        }
    }
    left
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
    const IS_ONE: bool = true;

    #[inline]
    fn hold(&self, _: &ContributionSelector, value: i64) -> i128 {
        self.0.of(value, 1)
    }

    #[inline]
    fn together(&self, _: Cap, ours: Option<i128>, theirs: i128) -> i128 {
        ours.map_or(theirs, |ours| self.0.together(ours, theirs))
    }

    fn share(&self, _: Cap, run: &mut [i128], _: impl Fn(u64) -> u64) -> i128 {
        let own = run.iter().copied().reduce(|a, b| self.0.together(a, b));
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
