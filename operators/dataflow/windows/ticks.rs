//! The public moments at which windows may begin or end.

use std::sync::Arc;

use crate::accounting::Interval;
use crate::time::Time;

/// Moments in strictly increasing order, numbered from zero: at least two. *Pane* `i` is from tick `i` on and before
/// tick `i + 1`, so that each moment from the first tick on and before the last is in exactly one pane.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ticks {
    /// Every `length` from `first` to `end`, which is a whole number of lengths later. Both are within
    /// [`LIMIT`](crate::time::LIMIT), so that their difference is a [`Time`].
    Even { first: Time, end: Time, length: i64 },
    /// One by one: a calendar's.
    Listed(Arc<[Time]>),
}

impl Ticks {
    /// The moments of this list, each once; `None` unless there are two.
    pub(crate) fn listed(mut moments: Vec<Time>) -> Option<Ticks> {
        moments.sort_unstable();
        moments.dedup();
        (moments.len() >= 2).then(|| Ticks::Listed(moments.into()))
    }

    pub(crate) fn panes(&self) -> u64 {
        match self {
            Ticks::Even { first, end, length } => (end - first).unsigned_abs() / length.unsigned_abs(),
            Ticks::Listed(moments) => moments.len() as u64 - 1,
        }
    }

    /// The tick of this number; `None` where there is none.
    pub(crate) fn tick(&self, number: u64) -> Option<Time> {
        match self {
            Ticks::Even { first, end, length } => {
                let past = i64::try_from(number).ok()?.checked_mul(*length)?;
                first.checked_add(past).filter(|tick| tick <= end)
            }
            Ticks::Listed(moments) => moments.get(usize::try_from(number).ok()?).copied(),
        }
    }

    /// The pane that holds a moment. Asked of every record that the pane before it does not hold.
    pub(crate) fn pane(&self, time: Time) -> Option<u64> {
        match self {
            Ticks::Even { first, end, length } => {
                let within = *first <= time && time < *end;
                within.then(|| (time - first).unsigned_abs() / length.unsigned_abs())
            }
            Ticks::Listed(moments) => {
                let past = moments.partition_point(|tick| *tick <= time);
                (0 < past && past < moments.len()).then(|| past as u64 - 1)
            }
        }
    }

    /// From one tick to another; `None` unless both exist and the second is later.
    pub(crate) fn between(&self, from: u64, until: u64) -> Option<Interval> {
        Interval::new(self.tick(from)?, self.tick(until)?).ok()
    }
}
