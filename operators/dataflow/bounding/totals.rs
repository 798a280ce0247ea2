//! The two rules that add up: records, and values.

use std::fmt;

use super::cap::Cap;
use super::chooser::ContributionSelector;
use super::partial::{AdditiveRule, Partial};
use super::rule::{Keyed, Rule, combine};
use crate::invalid::{Invalid, InvalidKind};

/// Counts records, at most `per_key` of them a key. Four bytes a key of a person.
///
/// A share is the number of records, from 1 to `per_key`.
#[derive(Clone, Copy, Debug)]
pub struct Count;

impl Rule for Count {
    type Value = ();
    type Held = u32;
    type Share = u32;

    #[inline]
    fn hold(&self, _: &ContributionSelector, _: impl FnOnce() -> u64, (): ()) -> u32 {
        1
    }

    #[inline]
    fn settle(&self, cap: Cap, group: &mut [Keyed<u32>]) -> usize {
        // Both are at most 2^31, and saturating on the way or at the end is the same.
        combine(group, |a, b| a.saturating_add(b).min(cap.per_key()))
    }

    #[inline]
    fn share(&self, _: Cap, run: &[Keyed<u32>]) -> u32 {
        run.iter().map(|keyed| keyed.held).sum()
    }
}

/// Adds up values. A person's sum in a key is clipped when the window closes, once, after everything was added: clipping
/// on the way would make it depend on the order. `per_key` does not bound the sum; the clip does.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    low: i64,
    high: i64,
}

/// What one person brings to the sum of a key. Prints as `<private>`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PersonSum {
    /// How many records, at most `per_key`.
    pub records: u32,
    /// The sum of *all* their values, clipped.
    pub sum: i64,
}

impl fmt::Debug for PersonSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

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

impl fmt::Debug for PartialSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<private>")
    }
}

impl Rule for Sum {
    type Value = i64;
    type Held = PartialSum;
    type Share = PersonSum;

    #[inline]
    fn hold(&self, _: &ContributionSelector, _: impl FnOnce() -> u64, value: i64) -> PartialSum {
        PartialSum { records: 1, sum: value.into() }
    }

    #[inline]
    fn settle(&self, cap: Cap, group: &mut [Keyed<PartialSum>]) -> usize {
        // 2^64 values of 64 bits fit 128; wrapping would still be the same in every order.
        combine(group, |a, b| PartialSum {
            records: a.records.saturating_add(b.records).min(cap.per_key()),
            sum: a.sum.wrapping_add(b.sum),
        })
    }

    fn share(&self, _: Cap, run: &[Keyed<PartialSum>]) -> PersonSum {
        let sum = run.iter().fold(0i128, |sum, keyed| sum.wrapping_add(keyed.held.sum));
        PersonSum { records: run.iter().map(|keyed| keyed.held.records).sum(), sum: self.clip(sum) }
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
