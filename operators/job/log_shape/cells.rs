//! The cells of a release over a log of a known shape: the truth of each, and what a contribution bound
//! leaves of it.
//!
//! Of a person with `n` keys in a window, a bound of `keys = k` keeps each with probability `min(1, k / n)`,
//! and `per_key = b` keeps `min(r, b)` of the `r` records in it ([`bounding`](crate::dataflow::bounding)). So
//! the expected content of a cell is a sum over its people, and people with the same `n` and `r` are added up
//! first: a bound costs one pass over these sums. Under a [weight](crate::mechanisms::Weight) what a person counts with in
//! a cell depends on all of the person's cells in the window, and there is a pass over these.

use std::collections::HashSet;

use super::{CountedRecord, LogShape};
use crate::dataflow::Schedule;
use crate::job::config::{BoundSpec, ReleaseSpec};
use crate::job::statistics::{NoiseKind, StatisticSpec};

/// The number that a release counts in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::job) enum CellMeasure {
    /// People.
    People,
    /// Records.
    Records,
    /// The sum of each person's values, clamped to a range, in steps.
    Sum(i64, i64),
    /// The mean of values, each clamped to a range, in steps.
    Mean(i64, i64),
}

impl CellMeasure {
    /// Returns the measure of a release; `None` if it is found by ranks, or has several numbers.
    pub(in crate::job) fn of(release: &ReleaseSpec) -> Option<CellMeasure> {
        let range = release.statistic.as_statistic().unclamped(0);
        match release.statistic {
            StatisticSpec::People(_) => Some(CellMeasure::People),
            StatisticSpec::Count(_) | StatisticSpec::Histogram(_) => Some(CellMeasure::Records),
            StatisticSpec::Sum(_) => range.map(|(low, high)| CellMeasure::Sum(low, high)),
            StatisticSpec::Mean(_) => range.map(|(low, high)| CellMeasure::Mean(low, high)),
            _ => None,
        }
    }
}

/// The cells of a release that hold records, by key and window.
pub(in crate::job) struct ReleaseCells {
    /// The measure of each cell.
    pub(in crate::job) measure: CellMeasure,
    /// The cells, in the order of their keys, and of one key in the order of its windows.
    pub(in crate::job) cells: Vec<TrueCell>,
    /// The largest number of keys that a person has in a window.
    pub(in crate::job) most_keys: u32,
    /// The largest number of records that a person has in a cell.
    pub(in crate::job) most_records: u32,
    alike: Vec<AlikePeople>,
    /// The number of people that each person of the log stands for.
    scale: f64,
    /// The shares of those who have several keys in a window, those of one together.
    several: Vec<ShareOfSeveral>,
}

/// The content of a cell before contribution bounding.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::job) struct TrueCell {
    pub(in crate::job) key: u32,
    pub(in crate::job) window: u64,
    pub(in crate::job) content: CellContent,
}

/// The numbers of a cell; after contribution bounding, their expectation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::job) struct CellContent {
    pub(in crate::job) people: f64,
    /// The number of people who are there, wholly or in part: a key is found by it.
    pub(in crate::job) present: f64,
    pub(in crate::job) records: f64,
    /// The sum of values, in steps.
    pub(in crate::job) sum: f64,
}

/// The people of a cell with as many keys in the window and as many records in the cell.
#[derive(Clone, Copy, Debug)]
struct AlikePeople {
    cell: u32,
    keys: u32,
    records: u32,
    people: f64,
    /// The sum of their values, each person's or each record's clamped.
    sum: f64,
}

/// The share of a person in one of several cells of a window.
#[derive(Clone, Copy, Debug)]
struct ShareOfSeveral {
    /// The number of the person in the window.
    of: u32,
    cell: u32,
    records: u32,
    sum: f64,
}

/// The records of a person in a cell.
#[derive(Clone, Copy)]
struct PersonInCell {
    /// The number of the person in the window.
    of: u32,
    key: u32,
    window: u64,
    keys: u32,
    records: u32,
    is_admitted: bool,
    sum: i128,
    clamped: i128,
}

/// The most records over all windows that hold them.
const MOST: u64 = 100_000_000;

impl LogShape {
    /// Counts the cells of a release over the windows of a schedule, of which a person counts in the first
    /// `windows`; `None` if too many windows overlap.
    pub(in crate::job) fn cells(
        &self,
        release: usize,
        (schedule, windows): (&Schedule, Option<u32>),
        measure: CellMeasure,
    ) -> Option<ReleaseCells> {
        let records = &self.releases.get(release)?.records;
        let mut placed: Vec<(u32, u64, CountedRecord)> = Vec::with_capacity(records.len());
        for record in records {
            placed.extend(schedule.holding(record.time).map(|window| (record.person, window, *record)));
            if placed.len() as u64 > MOST {
                return None;
            }
        }
        placed.sort_unstable_by_key(|(person, window, record)| (*person, *window, record.key));
        let mut found: Vec<PersonInCell> = Vec::new();
        let mut of = 0u32;
        for of_person in placed.chunk_by(|one, other| one.0 == other.0) {
            for (nth, of_window) in of_person.chunk_by(|one, other| one.1 == other.1).enumerate() {
                let is_admitted = windows.is_none_or(|most| nth < most as usize);
                let keys = of_window.chunk_by(|one, other| one.2.key == other.2.key).count() as u32;
                of = of.saturating_add(1);
                for of_key in of_window.chunk_by(|one, other| one.2.key == other.2.key) {
                    let [(_, window, CountedRecord { key, .. }), ..] = of_key else { continue };
                    let (sum, clamped) = self.sums(of_key.iter().map(|(_, _, record)| record.value), measure);
                    let records = of_key.len() as u32;
                    let (key, window) = (*key, *window);
                    found.push(PersonInCell { of, key, window, keys, records, is_admitted, sum, clamped });
                }
            }
        }
        drop(placed);
        Some(self.collected(found, measure))
    }

    /// Returns the values of the records that are in a window of a schedule, or for a sum those of each person in each
    /// window and key, in ascending order; `None` if too many windows overlap.
    pub(in crate::job) fn values(
        &self,
        release: usize,
        schedule: &Schedule,
        measure: CellMeasure,
    ) -> Option<Vec<i64>> {
        let mut placed: Vec<(u32, u64, u32, i64)> = Vec::new();
        for CountedRecord { person, key, time, value } in &self.releases.get(release)?.records {
            placed.extend(schedule.holding(*time).map(|window| (*person, window, *key, *value)));
            if placed.len() as u64 > MOST {
                return None;
            }
        }
        let mut values: Vec<i64> = match measure {
            CellMeasure::Sum(..) => {
                placed.sort_unstable();
                let of_one =
                    placed.chunk_by(|one, other| (one.0, one.1, one.2) == (other.0, other.1, other.2));
                let sum = |values: &[(u32, u64, u32, i64)]| {
                    let sum: i128 = values.iter().map(|(.., value)| i128::from(*value)).sum();
                    i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX })
                };
                of_one.map(sum).collect()
            }
            _ => placed.into_iter().map(|(.., value)| value).collect(),
        };
        values.sort_unstable();
        Some(values)
    }

    /// Returns the numbers of records and of people that count for a release, in all windows together.
    pub(in crate::job) fn counted(&self, release: usize) -> (f64, f64) {
        let Some(release) = self.releases.get(release) else { return (0.0, 0.0) };
        let people: HashSet<u32> = release.records.iter().map(|record| record.person).collect();
        (self.scale * release.records.len() as f64, self.scale * people.len() as f64)
    }

    /// Returns the number of people in a window, in the mean of all windows, and the number of records of each; `None` if so
    /// many windows overlap that there are too many. A person counts in the first `windows`.
    pub(in crate::job) fn presence(
        &self,
        release: usize,
        (schedule, windows): (&Schedule, Option<u32>),
    ) -> Option<(f64, f64)> {
        let mut placed: Vec<(u32, u64)> = Vec::new();
        for record in &self.releases.get(release)?.records {
            placed.extend(schedule.holding(record.time).map(|window| (record.person, window)));
            if placed.len() as u64 > MOST {
                return None;
            }
        }
        placed.sort_unstable();
        let (mut people, mut records) = (0u64, 0u64);
        for of_person in placed.chunk_by(|one, other| one.0 == other.0) {
            let in_windows = of_person.chunk_by(|one, other| one.1 == other.1);
            for of_window in in_windows.take(windows.map_or(usize::MAX, |most| most as usize)) {
                people += 1;
                records += of_window.len() as u64;
            }
        }
        let each = records as f64 / people.max(1) as f64;
        Some((self.scale * people as f64 / schedule.count().max(1) as f64, each))
    }

    /// Returns the sum of a person's values in a cell, and the clamped sum.
    fn sums(&self, values: impl Iterator<Item = i64> + Clone, measure: CellMeasure) -> (i128, i128) {
        let all = || values.clone().map(i128::from).sum::<i128>();
        match (measure, self.has_values()) {
            (CellMeasure::People | CellMeasure::Records, _) => (0, 0),
            (CellMeasure::Sum(low, high), true) => (all(), all().clamp(low.into(), high.into())),
            (CellMeasure::Mean(low, high), true) => {
                (all(), values.map(|value| i128::from(value.clamp(low, high))).sum())
            }
            // Without values, as a plan has it: each person brings half of the most to a sum, and each record
            // the end of the range to a mean, where the noise of its count matters most.
            (CellMeasure::Sum(low, high), false) => {
                let most = if high.unsigned_abs() >= low.unsigned_abs() { high } else { low };
                (i128::from(most) / 2, i128::from(most) / 2)
            }
            (CellMeasure::Mean(_, high), false) => {
                let sum = i128::from(high) * values.count() as i128;
                (sum, sum)
            }
        }
    }

    fn collected(&self, mut found: Vec<PersonInCell>, measure: CellMeasure) -> ReleaseCells {
        found.sort_unstable_by_key(|one| (one.key, one.window, one.keys, one.records));
        let (mut cells, mut alike): (Vec<TrueCell>, Vec<AlikePeople>) = (Vec::new(), Vec::new());
        let mut several: Vec<ShareOfSeveral> = Vec::new();
        for of_cell in found.chunk_by(|one, other| (one.key, one.window) == (other.key, other.window)) {
            let [PersonInCell { key, window, .. }, ..] = of_cell else { continue };
            let cell = cells.len() as u32;
            let mut content = CellContent::default();
            for one in of_cell {
                content.people += self.scale;
                content.present += self.scale;
                content.records += self.scale * f64::from(one.records);
                content.sum += self.scale * one.sum as f64;
            }
            cells.push(TrueCell { key: *key, window: *window, content });
            let of_several = of_cell.iter().filter(|one| one.keys > 1 && one.is_admitted);
            several.extend(of_several.map(|one| ShareOfSeveral {
                of: one.of,
                cell,
                records: one.records,
                sum: one.clamped as f64,
            }));
            let same = |one: &PersonInCell, other: &PersonInCell| {
                (one.keys, one.records) == (other.keys, other.records)
            };
            for of_same in of_cell.chunk_by(same) {
                let [PersonInCell { keys, records, .. }, ..] = of_same else { continue };
                let admitted = of_same.iter().filter(|one| one.is_admitted);
                let people = self.scale * admitted.clone().count() as f64;
                let sum = self.scale * admitted.map(|one| one.clamped as f64).sum::<f64>();
                alike.push(AlikePeople { cell, keys: *keys, records: *records, people, sum });
            }
        }
        several.sort_unstable_by_key(|share| share.of);
        ReleaseCells {
            measure,
            cells,
            scale: self.scale,
            several,
            most_keys: found.iter().map(|one| one.keys).max().unwrap_or(0),
            most_records: found.iter().map(|one| one.records).max().unwrap_or(0),
            alike,
        }
    }
}

impl ReleaseCells {
    /// Returns the expected content of each cell with a bound of `keys` keys of a person in a window and
    /// `per_key` records in each, in the order of the cells.
    pub(in crate::job) fn bounded(&self, keys: u32, per_key: u32) -> Vec<CellContent> {
        let mut bounded = vec![CellContent::default(); self.cells.len()];
        for of in &self.alike {
            let Some(cell) = bounded.get_mut(of.cell as usize) else { continue };
            let kept = (f64::from(keys) / f64::from(of.keys)).min(1.0);
            let records = of.records.min(per_key);
            cell.people += kept * of.people;
            cell.present += kept * of.people;
            cell.records += kept * of.people * f64::from(records);
            // A sum has all values of a person in a key; a mean, those of the records that are kept.
            cell.sum += match self.measure {
                CellMeasure::Mean(..) => kept * of.sum * f64::from(records) / f64::from(of.records),
                _ => kept * of.sum,
            };
        }
        bounded
    }

    /// Returns the expected content of each cell with a bound that has a weight, under this noise.
    pub(in crate::job) fn weighed(&self, bound: &BoundSpec, noise: NoiseKind) -> Vec<CellContent> {
        let (keys, per_key) = (bound.most_keys(), bound.per_key.unwrap_or(1));
        // Those of one key are whole.
        let mut weighed = self.bounded(keys, per_key);
        let most = match self.measure {
            CellMeasure::Sum(low, high) => low.unsigned_abs().max(high.unsigned_abs()) as f64,
            _ => f64::from(per_key),
        };
        let records = |share: &ShareOfSeveral| match self.measure {
            CellMeasure::People => 1.0,
            _ => f64::from(share.records.min(per_key)),
        };
        let size = |share: &ShareOfSeveral| match self.measure {
            CellMeasure::Sum(..) => share.sum.abs() / most,
            CellMeasure::People => 1.0,
            _ => records(share) / most,
        };
        for shares in self.several.chunk_by(|one, other| one.of == other.of) {
            let kept = (f64::from(keys) / shares.len() as f64).min(1.0);
            // Of more keys than are kept, as many of the mean size.
            let kept_sizes = shares.iter().map(|share| match noise {
                NoiseKind::Laplace => size(share) * kept,
                _ => size(share) * kept.sqrt(),
            });
            let lost = 1.0 - bound.part(noise, kept_sizes);
            for share in shares {
                let Some(cell) = weighed.get_mut(share.cell as usize) else { continue };
                let scale = self.scale * kept * lost;
                if self.measure == CellMeasure::People {
                    cell.people -= scale;
                }
                cell.records -= scale * records(share);
                cell.sum -= scale
                    * match self.measure {
                        CellMeasure::Mean(..) => share.sum * records(share) / f64::from(share.records),
                        _ => share.sum,
                    };
            }
        }
        weighed
    }
}
