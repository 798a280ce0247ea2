//! Measures: the value of a person's kept records in a key.

use std::marker::PhantomData;

use smallvec::SmallVec;

use super::identity::Identity;
use super::records::KeptRecords;
use super::rule::{Cap, Rule};
use super::selector::ContributionSelector;
use super::spillable::Spillable;
use crate::invalid::{Invalid, InvalidKind};

/// A statistic of one person's records in one key.
pub trait Measure: Clone {
    /// The value of a record.
    type Value: Identity + Ord + Clone;
    /// The part of a person's records in a key that counts.
    type Share;
    /// Is a record beyond the first `per_key` of no interest?
    const CUTS: bool;
    /// True if the share depends on the order of the records.
    const IS_ORDERED: bool = false;
    /// The rule by which records without an id are held.
    type Plain: Rule<Share = Self::Share>;

    /// The same measure, of records without an id.
    fn plain(&self) -> Self::Plain;

    /// A record without an id as [`Plain`](Measure::Plain) takes it. `hash` is of all that is known of it.
    fn bring(value: Self::Value, hash: impl FnOnce(&Self::Value) -> u64) -> <Self::Plain as Rule>::Value;

    /// Returns the share that counts, of records in the order of selection, each with the number of its
    /// copies, which is above zero.
    fn share<'a>(&self, cap: Cap, records: impl Iterator<Item = (&'a Self::Value, i128)>) -> Self::Share
    where
        Self::Value: 'a;
}

impl Measure for Count {
    type Value = ();
    type Share = u32;
    type Plain = Count;
    const CUTS: bool = true;

    fn plain(&self) -> Count {
        Count
    }

    #[inline]
    fn bring((): (), _: impl FnOnce(&()) -> u64) {}

    fn share<'a>(&self, cap: Cap, records: impl Iterator<Item = (&'a (), i128)>) -> u32 {
        capped(cap, records.map(|(_, copies)| copies))
    }
}

impl Measure for Sum {
    type Value = i64;
    type Share = PersonSum;
    type Plain = Sum;
    // The clip bounds the sum, so all records are in it.
    const CUTS: bool = false;

    fn plain(&self) -> Sum {
        *self
    }

    #[inline]
    fn bring(value: i64, _: impl FnOnce(&i64) -> u64) -> i64 {
        value
    }

    fn share<'a>(&self, cap: Cap, records: impl Iterator<Item = (&'a i64, i128)>) -> PersonSum {
        let (mut counted, mut sum) = (0u32, 0i128);
        for (&value, copies) in records {
            counted = capped(cap, [counted.into(), copies].into_iter());
            // A net multiplicity can be huge; the order is fixed, so a sum that saturates is the same
            // everywhere.
            sum = sum.saturating_add(copies.saturating_mul(value.into()));
        }
        PersonSum { records: counted, sum: self.clip(sum) }
    }
}

/// The values of one person in a key: one value without a list.
pub type Few<V> = SmallVec<[V; 1]>;

/// The values themselves, at most `per_key` of them: for means, quantiles, maxima, questions and vectors.
///
/// Its share is those values, in the order in which they are chosen. Whoever adds them up must clip each of
/// them.
#[derive(Debug)]
pub struct Values<V>(PhantomData<fn() -> V>);

impl<V> Values<V> {
    /// The values.
    pub const fn new() -> Values<V> {
        Values(PhantomData)
    }
}

impl<V> Default for Values<V> {
    fn default() -> Self {
        Values::new()
    }
}

impl<V> Clone for Values<V> {
    fn clone(&self) -> Self {
        Values::new()
    }
}

impl<V: Identity + Ord + Clone> Measure for Values<V> {
    type Value = V;
    type Share = Few<V>;
    type Plain = KeptRecords<Self>;
    const CUTS: bool = true;
    const IS_ORDERED: bool = true;

    fn plain(&self) -> KeptRecords<Self> {
        KeptRecords::new(self.clone())
    }

    fn bring(value: V, hash: impl FnOnce(&V) -> u64) -> (u64, V) {
        (hash(&value), value)
    }

    fn share<'a>(&self, cap: Cap, records: impl Iterator<Item = (&'a V, i128)>) -> Few<V>
    where
        V: 'a,
    {
        let most = cap.per_key() as usize;
        let mut values = Few::new();
        for (value, copies) in records {
            let room = most - values.len();
            let copies = usize::try_from(copies).unwrap_or(usize::MAX).min(room);
            values.extend(std::iter::repeat_n(value, copies).cloned());
        }
        values
    }
}

/// So many, at most `per_key`.
fn capped(cap: Cap, copies: impl Iterator<Item = i128>) -> u32 {
    let most = i128::from(cap.per_key());
    // At most 2^31 by the cap.
    copies.fold(0, |sum, copies| most.min(copies.saturating_add(sum))) as u32
}

// The two rules that add up: records, and values.

/// Counts records, at most `per_key` of them a key. Four bytes a key of a person.
///
/// A share is the number of records, from 1 to `per_key`.
#[derive(Clone, Copy, Debug)]
pub struct Count;

impl Rule for Count {
    type Value = ();
    type Held = u32;
    type Share = u32;
    const IS_ONE: bool = true;

    #[inline]
    fn hold(&self, _: &ContributionSelector, (): ()) -> u32 {
        1
    }

    #[inline]
    fn together(&self, cap: Cap, ours: Option<u32>, theirs: u32) -> u32 {
        // Both are at most 2^31, and saturating on the way or at the end is the same.
        ours.unwrap_or(0).saturating_add(theirs).min(cap.per_key())
    }

    #[inline]
    fn share(&self, cap: Cap, run: &mut [u32], _: impl Fn(u64) -> u64) -> u32 {
        run.iter().fold(0, |ours, theirs| self.together(cap, Some(ours), *theirs))
    }
}

/// Adds up values. A person's sum in a key is clipped when the window closes, once, after everything was
/// added: clipping on the way would make it depend on the order. `per_key` does not bound the sum; the clip
/// does.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    low: i64,
    high: i64,
}

/// The contribution of one person to the sum of a key. Prints as `<private>`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PersonSum {
    /// The number of records, at most `per_key`.
    pub records: u32,
    /// The sum of *all* their values, clipped.
    pub sum: i64,
}

redacted!(PersonSum);

impl Sum {
    /// A person's sum in a key is clipped to `low..=high`.
    ///
    /// # Errors
    ///
    /// Names `range` unless `low` is below `high`.
    pub fn clipped(low: i64, high: i64) -> Result<Sum, Invalid> {
        if low < high {
            return Ok(Sum { low, high });
        }
        Err(Invalid::new("range", InvalidKind::TooSmall, "two whole numbers, the first below the second"))
    }

    pub(super) fn clip(self, sum: i128) -> i64 {
        // Between two numbers of 64 bits it is one.
        sum.clamp(self.low.into(), self.high.into()) as i64
    }
}

/// A sum on the way. Prints as `<private>`.
#[derive(Clone, Copy)]
pub struct PartialSum {
    records: u32,
    sum: i128,
}

redacted!(PartialSum);

impl Spillable for PartialSum {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.records.store(bytes);
        self.sum.store(bytes);
    }

    fn restore(bytes: &mut &[u8]) -> Option<PartialSum> {
        Some(PartialSum { records: u32::restore(bytes)?, sum: i128::restore(bytes)? })
    }
}

impl Rule for Sum {
    type Value = i64;
    type Held = PartialSum;
    type Share = PersonSum;
    const IS_ONE: bool = true;

    #[inline]
    fn hold(&self, _: &ContributionSelector, value: i64) -> PartialSum {
        PartialSum { records: 1, sum: value.into() }
    }

    #[inline]
    fn together(&self, cap: Cap, ours: Option<PartialSum>, theirs: PartialSum) -> PartialSum {
        let PartialSum { records, sum } = ours.unwrap_or(PartialSum { records: 0, sum: 0 });
        PartialSum {
            records: records.saturating_add(theirs.records).min(cap.per_key()),
            // 2^64 values of 64 bits fit 128; wrapping would still be the same in every order.
            sum: sum.wrapping_add(theirs.sum),
        }
    }

    fn share(&self, cap: Cap, run: &mut [PartialSum], _: impl Fn(u64) -> u64) -> PersonSum {
        let all = run.iter().fold(None, |ours, theirs| Some(self.together(cap, ours, *theirs)));
        let PartialSum { records, sum } = all.unwrap_or(PartialSum { records: 0, sum: 0 });
        PersonSum { records, sum: self.clip(sum) }
    }
}

impl AdditiveRule for Count {
    #[inline]
    fn partial(records: u32) -> Partial {
        Partial { people: 1, records: records.into(), sum: 0 }
    }
}

impl AdditiveRule for Sum {
    #[inline]
    fn partial(share: PersonSum) -> Partial {
        Partial { people: 1, records: share.records.into(), sum: share.sum.into() }
    }
}

// What travels from here: exact integers a key.

/// The totals of one worker for a key: the number of people, the number of their records, and the sum of
/// their clamped sums. Prints as `<private>`.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Partial {
    /// People with a kept record.
    pub people: u64,
    /// Their kept records.
    pub records: u64,
    /// Their sums.
    pub sum: i128,
}

impl Partial {
    /// Adds another: another person's share, or another worker's partial.
    #[inline]
    pub fn add(&mut self, other: Partial) {
        // 2^64 people would be needed to reach the end of a type; wrapping is the same in every order.
        self.people = self.people.wrapping_add(other.people);
        self.records = self.records.wrapping_add(other.records);
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

redacted!(Partial);

/// A rule whose shares add up to a [`Partial`].
pub trait AdditiveRule: Rule {
    /// One person's share of a key.
    fn partial(share: Self::Share) -> Partial;
}
