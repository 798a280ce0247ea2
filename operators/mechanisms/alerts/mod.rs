//! Threshold alerts: which windows have a number above a threshold, paid for by the alarm and not by the window.
//!
//! This is AboveThreshold, the sparse vector technique (Dwork and others 2009; Lyu, Su and Li 2017), on whole numbers with
//! one-sided noise:
//!
//! ```text
//! arm:    draw R from Geometric(D / e1), and keep it                              secret, sealed with the window
//! window: draw Z from Geometric(D / e2); fire if number + Z >= threshold + R      released: fired, or silent
//! fired:  forget R; arm again if an alarm is left; leave the key out of as many windows as a pause has
//! ```
//!
//! # What it costs
//!
//! One more unit moves each number up by at most `D`, and none down ([`Total::count`](super::Total::count),
//! [`Total::people`](super::Total::people)). Let `l` be the logarithm of the probability of a history of one arming, silent
//! windows and at most one that fired, without the unit, over that with it.
//!
//! * `l <= e1 + e2`. Move `R` up by `D`, which one-sided noise can at a factor of `e^e1`: with the unit a silent window is
//!   then as likely or likelier, and one that fires asks for `Z` further up by at most `D`, which is a factor of `e^e2`.
//! * `l >= -e2`. Leave `R`: without the unit a silent window is as likely or likelier, and one that fires asks for `Z`
//!   further up by at most `D`.
//!
//! So one arming is purely `e1 + e2`-private, and of bounded range `e1 + 2 e2`: in zCDP it costs the square of that over 8
//! (Cesar and Rogers 2021), and in mu what pure epsilon of half of it costs. **How many windows and keys it looks at, and in how
//! many of them the unit is, does not matter.** Armings follow each other and their costs add up; that their windows lie
//! between those of other releases is concurrent composition, whose costs add up too (Lyu 2022; Vadhan and Zhang 2023;
//! Haney and others 2023). The test beside enumerates all histories of up to three windows, and six that are silent.
//!
//! A removed part of a unit costs two steps: a record that the bound had left out, or another of the same id, may take its place in
//! another key, and move that number up.
//!
//! # What it says
//!
//! With the stated probability, over all windows and keys that it is planned for together, it is silent where the number is at
//! most the stated one, and fires at the first where it is at least [`surely`](Crossing::surely). In between it may do
//! either. It says nothing else of the number: that is another release.

mod margins;
mod prepared;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::bound::Sensitivity;
use super::keys::Key;
use super::mechanism::Sealed;
use super::monotone_count::MonotoneCount;
use super::spend::Cut;
use super::statistic::{Cell, Cells, Statistic, Total};
use crate::invalid::{Invalid, InvalidKind};

pub use margins::Crossing;
pub use prepared::{AboveThreshold, PreparedAlert};

/// A count, of records or people, of which every window says whether it is above a threshold.
///
/// ```
/// use discreet::mechanisms::{AboveThreshold, Bound, Keys, Mechanism, Prepared, ThresholdAlert, Total};
///
/// // A month of ten minutes, of which two alarms are paid for.
/// let people = Total::people(Bound::keys(1).checked()?, Keys::whole())?;
/// let crowds = ThresholdAlert::new(people, 500)?.alarms(2).windows(4320).wrong(0.05);
/// let alert = AboveThreshold::rho(0.04).prepare(&crowds)?;
/// let crossing = alert.crossing();
/// println!("silent up to {}, and surely fires from {} on", crossing.above(), crossing.surely());
/// # assert!(crossing.surely() < 700);
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct ThresholdAlert<K> {
    count: MonotoneCount<K>,
    above: u64,
    alarms: u32,
    pause: u64,
    windows: u64,
    wrong: f64,
}

/// The probability of an alarm that is wrong or late, unless said.
const WRONG: f64 = 0.05;

impl<K: Key> ThresholdAlert<K> {
    /// Creates an alert on a count above this number, in one window.
    ///
    /// # Errors
    /// Names `above` where it is more than 2^40; `of` for a sum, which a person may move down; `keys` where they are discovered;
    /// `weight` where people count in part; `rollup` where parents are released too; and `bound` where a person moves a key by
    /// more than 2^31.
    pub fn new(total: Total<K>, above: u64) -> Result<ThresholdAlert<K>, Invalid> {
        if above > Crossing::MOST {
            return Err(Invalid::new("above", InvalidKind::TooLarge, "a number of at most 2^40"));
        }
        let count = MonotoneCount::new(total)?;
        Ok(ThresholdAlert { count, above, alarms: 1, pause: 0, windows: 1, wrong: WRONG })
    }

    /// Sets the number of alarms that share the price; 1 unless said. After the last one the alert has ended, and its windows have
    /// no line.
    #[must_use]
    pub fn alarms(self, alarms: u32) -> ThresholdAlert<K> {
        ThresholdAlert { alarms, ..self }
    }

    /// Sets the number of windows behind an alarm in which its key is not asked for, and has no line: 0 unless said. So a crowd
    /// that stays for many windows takes one alarm.
    #[must_use]
    pub fn pause(self, windows: u64) -> ThresholdAlert<K> {
        ThresholdAlert { pause: windows, ..self }
    }

    /// Sets the number of windows for which the probability of a [wrong](ThresholdAlert::wrong) alarm is stated. Later ones
    /// are as private, and nothing is stated of them.
    #[must_use]
    pub fn windows(self, windows: u64) -> ThresholdAlert<K> {
        ThresholdAlert { windows, ..self }
    }

    /// Sets the probability, over all windows and keys together, of an alarm at a number that is not above the threshold, or of
    /// silence at one that is surely above; .05 unless said.
    #[must_use]
    pub fn wrong(self, wrong: f64) -> ThresholdAlert<K> {
        ThresholdAlert { wrong, ..self }
    }

    /// The count of each window.
    pub fn total(&self) -> &Total<K> {
        self.count.total()
    }

    /// Returns the additional cost of a part of a person.
    pub(crate) fn cut(&self) -> Cut {
        self.count.cut()
    }

    /// The only keys that it is for.
    pub(crate) fn listed(&self) -> Option<Arc<[K]>> {
        Some(Arc::clone(self.count.keys()))
    }

    /// Returns the contribution of one person to a key.
    pub(crate) fn contribution(&self, records: u64, sum: i128) -> Cell {
        self.total().contribution(records, sum)
    }

    /// Returns false: nobody counts in part.
    pub(crate) fn weighs(&self) -> bool {
        false
    }

    /// Weighs no share.
    pub(crate) fn weigh(&self, _shares: &mut [Cell]) {}
}

impl<K> Sealed for ThresholdAlert<K> {}

impl<K: Key> Statistic for ThresholdAlert<K> {
    type Tally = Cells<K>;

    /// That of the count of a window.
    fn sensitivity(&self) -> Sensitivity {
        self.total().sensitivity()
    }
}
