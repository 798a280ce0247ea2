//! The exact numbers that a demonstration shows beside a noised one: after contribution bounding, and before
//! it; of windows that are added up, their sums.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::{CellKey, RunningTotalSpec};
use crate::accounting::Interval;
use crate::dataflow::{ExactCells, Schedule};
use crate::job::sources::steps;
use crate::mechanisms::{
    Cell, ContributionBound, DecimalPoint, Key as _, MarginalCell, MarginalTables, Moments, PairSums,
    RankedValues, Summary, Tops, TotalSpan, VectorRows,
};
use crate::time::Time;

/// The exact numbers of one release. Unused parts stay empty.
#[derive(Clone, Default)]
pub(crate) struct ExactNumbers {
    pub(super) sums: ExactPair<Cell>,
    pub(super) tops: ExactPair<Tops>,
    pub(super) values: ExactPair<RankedValues>,
    pub(super) pairs: ExactPair<PairSums>,
    pub(super) moments: ExactCells<CellKey, Moments>,
    pub(super) rows: ExactCells<CellKey, VectorRows>,
    /// The means of vectors, by window and key, in steps.
    means: Arc<OnceLock<ExactMeans>>,
    /// People, records and sum of each field of a vector, before contribution bounding.
    pub(super) everything_of_each: Vec<ExactCells<CellKey, Cell>>,
    /// The tables that sums are over, of marginals, with the numbers of the window that was last asked for.
    tables: Arc<OnceLock<(MarginalTables, Mutex<Option<TablesInWindow>>)>>,
    /// The sums over windows, where they are added up: made at their first use, after the run.
    added: Arc<OnceLock<[WindowSums; 2]>>,
    /// The same of two sums over records.
    added_pairs: Arc<OnceLock<[WindowSums; 2]>>,
    /// The same of each field of a vector.
    added_of_each: Arc<OnceLock<Vec<WindowSums>>>,
}

/// The sums of each cell of tables in a window, after contribution bounding and before it.
type TablesInWindow = (Interval, [HashMap<MarginalCell, Cell>; 2]);

/// The function from a window and a key to the means of vectors.
type ExactMeans = Arc<dyn Fn(Interval, &CellKey) -> Option<Vec<f64>> + Send + Sync>;

/// The function from a statistic and its exact numbers to the means of a key in a window.
pub(super) type MeansInADemo<S> = fn(&S, &ExactNumbers, Interval, &CellKey) -> Option<Vec<f64>>;

/// A released number, with the parts of its release plan that the exact one is found by.
pub(crate) struct ReleasedNumber<'n> {
    /// The window of the line.
    pub(crate) window: Interval,
    /// The key of the line.
    pub(crate) key: CellKey,
    /// True if it is the total of all keys below this one.
    pub(crate) rollup: bool,
    /// The released value.
    pub(crate) value: Option<&'n str>,
    /// The fraction of the quantile, if it is one.
    pub(crate) q: Option<&'n str>,
    /// The field, if there are several.
    pub(crate) of: Option<&'n str>,
    /// The decimal point of the values.
    pub(crate) point: DecimalPoint,
    /// The contribution bound.
    pub(crate) limits: ContributionBound,
    /// The running total over windows, if the release has one.
    pub(crate) running: Option<RunningTotalSpec>,
    /// The schedule of the windows.
    pub(crate) schedule: &'n Schedule,
}

impl ReleasedNumber<'_> {
    /// Returns the number of units in which a number is added up that a person moves by `most`: 1 unless people count in
    /// part.
    pub(super) fn units(&self, most: u128) -> f64 {
        self.limits.units(most) as f64
    }

    /// Returns the released value in steps.
    pub(super) fn steps(&self) -> Option<i64> {
        steps(self.value?.as_bytes(), self.point.count())
    }

    /// Returns the exact fields of an answer that is found by its rank: the exact numbers of the cell after
    /// contribution bounding and before it, and the number of people by which the answer is off; after
    /// bounding, for that is what is promised.
    pub(super) fn ranked(&self, [(tally, off), (truth, _)]: [(Option<i64>, u64); 2]) -> String {
        let shown =
            |number: Option<i64>| number.map_or("null".to_owned(), |number| self.point.shown(number.into()));
        format!(",\"tally\":{},\"truth\":{},\"off\":{off}", shown(tally), shown(truth))
    }
}

/// One value after contribution bounding, and one before it.
#[derive(Clone)]
pub(in crate::job) struct ExactPair<C> {
    pub(in crate::job) tally: ExactCells<CellKey, C>,
    pub(in crate::job) truth: ExactCells<CellKey, C>,
}

impl<C: Summary + Clone> Default for ExactPair<C> {
    fn default() -> ExactPair<C> {
        ExactPair { tally: ExactCells::default(), truth: ExactCells::default() }
    }
}

impl<C: Summary + Clone> ExactPair<C> {
    pub(super) fn cells(&self, released: &ReleasedNumber<'_>) -> [C; 2] {
        [&self.tally, &self.truth].map(|cells| cell(cells, released))
    }
}

/// Returns the cell of a released number in its window.
fn cell<C: Summary + Clone>(cells: &ExactCells<CellKey, C>, released: &ReleasedNumber<'_>) -> C {
    let ReleasedNumber { window, key, rollup, .. } = released;
    match rollup {
        true => cells.sum(*window, |below| below.parent().as_ref() == Some(key)),
        false => cells.cell(*window, key),
    }
}

/// Returns the sums of each cell of tables that somebody is in.
fn sums_of_tables(
    tables: &MarginalTables,
    cells: &ExactCells<CellKey, Cell>,
    window: Interval,
) -> HashMap<MarginalCell, Cell> {
    let mut sums: HashMap<MarginalCell, Cell> = HashMap::new();
    cells.each(window, |key, cell| {
        for of_table in tables.cells_of(key) {
            sums.entry(of_table).or_default().join(*cell);
        }
    });
    sums
}

impl ExactNumbers {
    /// Creates the exact numbers of a release of this number of fields.
    pub(crate) fn of_fields(fields: usize) -> ExactNumbers {
        let everything_of_each = (0..fields).map(|_| ExactCells::default()).collect();
        ExactNumbers { everything_of_each, ..ExactNumbers::default() }
    }

    /// Has the means of a statistic found by this function.
    pub(super) fn show_means<S: Send + Sync + 'static>(&self, mean: S, shown: MeansInADemo<S>) {
        let collected = ExactNumbers { means: Arc::default(), ..self.clone() };
        // All workers collect into the same cells: the first one's function finds those of all.
        _ = self.means.set(Arc::new(move |window, key| shown(&mean, &collected, window, key)));
    }

    /// Returns the mean of a field with this index, after contribution bounding and before it, in steps.
    pub(super) fn means_of(&self, released: &ReleasedNumber<'_>, field: usize) -> [Option<f64>; 2] {
        let ReleasedNumber { window, key, .. } = released;
        let bounded = self.means.get().and_then(|means| means(*window, key)?.get(field).copied());
        let everything = self.everything_of_each.get(field).map(|cells| cells.cell(*window, key));
        let truth = everything.and_then(|cell| match cell.shown_in_a_demo() {
            [_, 0, _] => None,
            [_, records, sum] => Some(sum as f64 / records as f64),
        });
        [bounded, truth]
    }

    /// Returns people, records and sum of a released number's cell, after contribution bounding and before
    /// it.
    pub(super) fn sums_of(&self, released: &ReleasedNumber<'_>) -> Option<[[i128; 3]; 2]> {
        Some(match released.running {
            Some(running) if !running.is_of_present_people() => {
                let ExactPair { tally, truth } = &self.sums;
                let added = || [tally, truth].map(|cells| WindowSums::new(cells, Cell::shown_in_a_demo));
                self.added.get_or_init(added).each_ref().map(|sums| sums.of(released))
            }
            // The cell of a window has the people of the last ones.
            _ => self.sums.cells(released).map(|cell| cell.shown_in_a_demo()),
        })
    }

    /// Has the numbers of these tables shown.
    pub(super) fn of_marginals(&self, tables: &MarginalTables) {
        // All workers have the same.
        _ = self.tables.set((tables.clone(), Mutex::new(None)));
    }

    /// Returns people, records and sum of a cell of a table, after contribution bounding and before it.
    pub(super) fn marginals_of(&self, released: &ReleasedNumber<'_>) -> Option<[[i128; 3]; 2]> {
        let (tables, last) = self.tables.get()?;
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let of_window = last.take().filter(|(window, _)| *window == released.window).unwrap_or_else(|| {
            let ExactPair { tally, truth } = &self.sums;
            let sums = [tally, truth].map(|cells| sums_of_tables(tables, cells, released.window));
            (released.window, sums)
        });
        let cell = MarginalCell::from_label(&released.key.label())?;
        let found = of_window.1.each_ref().map(|sums| sums.get(&cell).map_or([0; 3], Cell::shown_in_a_demo));
        *last = Some(of_window);
        Some(found)
    }

    /// Returns people, records and sum of all keys in a window, after contribution bounding and before it.
    pub(super) fn sums_in(&self, window: Interval) -> [Vec<[i128; 3]>; 2] {
        let ExactPair { tally, truth } = &self.sums;
        let shown = |cells: &ExactCells<CellKey, Cell>| {
            cells.cells(window).iter().map(Cell::shown_in_a_demo).collect()
        };
        [shown(tally), shown(truth)]
    }

    /// Returns the records and both sums of a released number's cell, after contribution bounding and before it.
    pub(super) fn pairs_of(&self, released: &ReleasedNumber<'_>) -> [(i128, [i128; 2]); 2] {
        match released.running {
            None => self.pairs.cells(released).map(|cell| cell.shown_in_a_demo()),
            Some(_) => {
                let ExactPair { tally, truth } = &self.pairs;
                let numbers = |cell: &PairSums| {
                    let (records, [first, second]) = cell.shown_in_a_demo();
                    [records, first, second]
                };
                let added = || [tally, truth].map(|cells| WindowSums::new(cells, numbers));
                let added = self.added_pairs.get_or_init(added).each_ref();
                added.map(|sums| sums.of(released)).map(|[records, first, second]| (records, [first, second]))
            }
        }
    }

    /// Returns people, records and sum of the field with this index of a released number's cell, before contribution
    /// bounding.
    pub(super) fn everything_of(&self, released: &ReleasedNumber<'_>, field: usize) -> [i128; 3] {
        let all = &self.everything_of_each;
        match released.running {
            None => all.get(field).map_or([0; 3], |cells| cell(cells, released).shown_in_a_demo()),
            Some(_) => {
                let added =
                    || all.iter().map(|cells| WindowSums::new(cells, Cell::shown_in_a_demo)).collect();
                self.added_of_each.get_or_init(added).get(field).map_or([0; 3], |sums| sums.of(released))
            }
        }
    }
}

/// Three numbers of each key, such as people, records and sum, over all windows up to each end of a window that is not empty.
struct WindowSums(BTreeMap<CellKey, Vec<(Time, [i128; 3])>>);

impl WindowSums {
    /// Adds up all cells that are known, so it is called once everything is.
    fn new<C: Summary + Clone>(
        exact: &ExactCells<CellKey, C>,
        numbers: impl Fn(&C) -> [i128; 3],
    ) -> WindowSums {
        let summed = |cells: Vec<(Time, C)>| {
            let mut sum = [0; 3];
            let add = |(end, cell): (Time, C)| {
                sum.iter_mut().zip(numbers(&cell)).for_each(|(sum, own)| *sum += own);
                (end, sum)
            };
            cells.into_iter().map(add).collect()
        };
        WindowSums(exact.by_key().into_iter().map(|(key, cells)| (key, summed(cells))).collect())
    }

    /// The sums over the windows that a released number covers.
    fn of(&self, released: &ReleasedNumber<'_>) -> [i128; 3] {
        let ReleasedNumber { window, key, running, schedule, .. } = released;
        let all = self.through(key, window.end());
        let before = match running.map(|running| running.span) {
            None | Some(TotalSpan::SoFar { .. } | TotalSpan::People { .. }) => None,
            Some(TotalSpan::Last { windows }) => {
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
