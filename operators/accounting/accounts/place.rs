//! The names of an account's entries, as a ledger keeps them.

use crate::accounting::interval::Interval;

/// The name of an entry: a window, or where a sum of charges begins to hold.
///
/// Windows come in the order of their reach, a power of two that their length does not exceed, and then of their start. So
/// all windows that overlap a time are within a short range of each reach, however long the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryKey {
    /// 0 of a sum; of a window the least power of two that is no less than its length, or `i64::MAX`.
    pub(crate) reach: i64,
    /// The start of a window; 0 or a block of a sum.
    pub(crate) start: i64,
    /// The end of a window; 0 of a sum.
    pub(crate) end: i64,
}

impl EntryKey {
    /// Before every other.
    pub(crate) const FIRST: EntryKey = EntryKey { reach: i64::MIN, start: i64::MIN, end: i64::MIN };

    pub(crate) fn of_sum(place: i64) -> EntryKey {
        EntryKey { reach: 0, start: place, end: 0 }
    }

    pub(crate) fn of_window(window: Interval) -> EntryKey {
        let length = window.end().abs_diff(window.start());
        // Above 2^63 there is no power of two: nothing is longer than the time that 64 bits count, twice.
        let reach = length.checked_next_power_of_two().and_then(|reach| i64::try_from(reach).ok());
        EntryKey { reach: reach.unwrap_or(i64::MAX), start: window.start(), end: window.end() }
    }

    /// The window, where it is one.
    pub(crate) fn window(&self) -> Option<Interval> {
        Interval::new(self.start, self.end).ok().filter(|_| self.reach > 0)
    }

    /// The first and the last start of windows of a reach that overlap a time; others start between them too.
    pub(crate) fn starts(reach: i64, time: Interval) -> (i64, i64) {
        // A window that is longer than its reach says starts anywhere.
        let first = if reach == i64::MAX { i64::MIN } else { time.start().saturating_sub(reach) };
        (first, time.end() - 1)
    }

    pub(super) fn first_at(reach: i64, start: i64) -> EntryKey {
        EntryKey { reach, start, end: i64::MIN }
    }

    pub(super) fn last_at(reach: i64, start: i64) -> EntryKey {
        EntryKey { reach, start, end: i64::MAX }
    }
}
