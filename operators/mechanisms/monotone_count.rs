//! Counts that one more unit moves up and never down: what alerts and the most frequent keys are asked of.

use std::sync::Arc;

use super::bound::Sensitivity;
use super::keys::Key;
use super::spend::Cut;
use super::statistic::{MeasureKind, Total};
use crate::invalid::{Invalid, InvalidKind};

/// A count of records or people over listed keys.
///
/// One more unit moves the count of any number of keys up, each by at most its [step](MonotoneCount::step), and none down.
#[derive(Clone, Debug)]
pub(super) struct MonotoneCount<K> {
    total: Total<K>,
    keys: Arc<[K]>,
    step: u64,
}

impl<K: Key> MonotoneCount<K> {
    /// Creates it of a total.
    ///
    /// # Errors
    /// Names `of` for a sum, which a person may move down; `keys` where they are discovered; `weight` where people count in part;
    /// `rollup` where parents are released too; and `bound` where a person moves a key by more than 2^31.
    pub(super) fn new(total: Total<K>) -> Result<MonotoneCount<K>, Invalid> {
        let mixed = |field, remedy| Err(Invalid::new(field, InvalidKind::Mixed, remedy));
        if let MeasureKind::Sum(_) = total.measure() {
            return mixed("of", "people or records: one more of them moves no number down");
        }
        let Some(keys) = total.listed() else {
            return mixed("keys", "a list of keys: each is asked for in every window");
        };
        if total.weighs() {
            return mixed("weight", "no weight: a person costs the same in any number of keys");
        }
        if total.stated().families.is_some() {
            return mixed("rollup", "no rollup: the parents have a release of their own");
        }
        let step = u64::try_from(total.key_sensitivity().linf()).ok().filter(|step| *step <= 1 << 31);
        let remedy = "a bound by which one person moves the number by at most 2^31";
        let step = step.ok_or_else(|| Invalid::new("bound", InvalidKind::TooLarge, remedy))?;
        Ok(MonotoneCount { total, keys, step })
    }

    /// The count of each window.
    pub(super) fn total(&self) -> &Total<K> {
        &self.total
    }

    /// The only keys that it is for.
    pub(super) fn keys(&self) -> &Arc<[K]> {
        &self.keys
    }

    /// The distance by which one unit moves a number up at most.
    pub(super) fn step(&self) -> u64 {
        self.step
    }

    /// Returns the sensitivity of a mechanism whose cost does not depend on the number of keys.
    pub(super) fn of_one_key(&self) -> Result<Sensitivity, Invalid> {
        Sensitivity::each(self.total.stated().limits, 1)
    }

    /// Returns the additional cost of a part of a person: it may move the number of a key down and that of another up, where a record
    /// of the same id, or one that the bound left out, takes the place of one that is gone.
    pub(super) fn cut(&self) -> Cut {
        Cut::two_steps(self.total.stated().limits)
    }
}
