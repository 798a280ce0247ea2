//! One number of each person in a key: the greatest of their values, their sum, or how many records there are.

use super::cap::Cap;
use super::chooser::ContributionSelector;
use super::measure::Measure;
use super::rule::{Keyed, Rule, combine};
use crate::mechanisms::PerPerson;

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
