//! What is made of a person's records in a key, once it is known which they are.

use std::marker::PhantomData;

use smallvec::SmallVec;

use super::cap::Cap;
use super::identity::Identity;
use super::records::KeptRecords;
use super::rule::Rule;
use super::totals::{Count, PersonSum, Sum};

/// A statistic of one person's records in one key.
pub trait Measure: Clone {
    /// What a record brings.
    type Value: Identity + Ord + Clone;
    /// What counts of the person in the key.
    type Share;
    /// Is a record beyond the first `per_key` of no interest?
    const CUTS: bool;
    /// How records without an id are held.
    type Plain: Rule<Share = Self::Share>;

    /// The same measure, of records without an id.
    fn plain(&self) -> Self::Plain;

    /// A record without an id as [`Plain`](Measure::Plain) takes it. `hash` is of all that is known of it.
    fn bring(value: Self::Value, hash: impl FnOnce(&Self::Value) -> u64) -> <Self::Plain as Rule>::Value;

    /// What counts, of records that come in the order in which they are chosen, each with the number of its copies, which
    /// is above zero.
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
            // A net multiplicity can be huge; the order is fixed, so a sum that saturates is the same everywhere.
            sum = sum.saturating_add(copies.saturating_mul(value.into()));
        }
        PersonSum { records: counted, sum: self.clip(sum) }
    }
}

/// What one person has in a key: one value without a list.
pub type Few<V> = SmallVec<[V; 1]>;

/// The values themselves, at most `per_key` of them: for means, quantiles, maxima, questions and vectors.
///
/// Its share is those values, in the order in which they are chosen. Whoever adds them up must clip each of them.
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
