//! The exact numbers of windows, added up: what a running total is of.

use std::collections::BTreeMap;

use crate::accounting::Interval;
use crate::dataflow::{ExactCells, Schedule};
use crate::job::offer::CellKey;
use crate::mechanisms::{Cell, TotalSpan};
use crate::time::Time;

/// People, records and sum of each key, of all windows that end by then, at each end of a window in which something is.
pub(super) struct AddedUp(BTreeMap<CellKey, Vec<(Time, [i128; 3])>>);

impl AddedUp {
    /// Of all that is known, so once everything is.
    pub(super) fn new(exact: &ExactCells<CellKey, Cell>) -> AddedUp {
        let summed = |cells: Vec<(Time, Cell)>| {
            let mut sum = [0; 3];
            let add = |(end, cell): (Time, Cell)| {
                sum.iter_mut().zip(cell.shown_in_a_demo()).for_each(|(sum, own)| *sum += own);
                (end, sum)
            };
            cells.into_iter().map(add).collect()
        };
        AddedUp(exact.by_key().into_iter().map(|(key, cells)| (key, summed(cells))).collect())
    }

    /// Of the windows of a total that is told at this one.
    pub(super) fn over(
        &self,
        span: TotalSpan,
        schedule: &Schedule,
        window: Interval,
        key: &CellKey,
    ) -> [i128; 3] {
        let all = self.through(key, window.end());
        let before = match span {
            TotalSpan::SoFar { .. } => None,
            TotalSpan::Last { windows } => {
                let own = schedule.holding(window.start()).start;
                own.checked_sub(windows).and_then(|number| schedule.window(number))
            }
        };
        let left = before.map_or([0; 3], |before| self.through(key, before.end()));
        std::array::from_fn(|at| all[at] - left[at])
    }

    fn through(&self, key: &CellKey, end: Time) -> [i128; 3] {
        let ends = self.0.get(key).map_or(&[][..], |ends| ends);
        let known = ends.partition_point(|(time, _)| *time <= end);
        known.checked_sub(1).and_then(|last| ends.get(last)).map_or([0; 3], |(_, sum)| *sum)
    }
}
