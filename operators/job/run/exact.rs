//! The exact numbers that a demonstration tells beside a noised one: after the bound, and before it; of windows that are added
//! up, their sums; and where an answer is found by its rank, by how many people it is off.

use std::sync::{Arc, OnceLock};

use super::added::AddedUp;
use crate::accounting::Interval;
use crate::dataflow::ExactCells;
use crate::job::offer::{CellKey, ReleasePlan, WindowQuery};
use crate::job::sources::steps;
use crate::mechanisms::{Cell, Key as _, Label, Quantile, Range, RankedValues, Summary, Tops};
use crate::told::{self, LineKey};

/// Of one release. What it is not asked stays empty.
#[derive(Clone, Default)]
pub(crate) struct Shown {
    pub(crate) sums: Both<Cell>,
    pub(crate) tops: Both<Tops>,
    pub(crate) values: Both<RankedValues>,
    /// The sums over windows, where they are added up: made when first asked for, after the run.
    added: Arc<OnceLock<[AddedUp; 2]>>,
}

/// After the bound, and before it.
#[derive(Clone)]
pub(crate) struct Both<C> {
    pub(crate) tally: ExactCells<CellKey, C>,
    pub(crate) truth: ExactCells<CellKey, C>,
}

impl<C: Summary + Clone> Default for Both<C> {
    fn default() -> Both<C> {
        Both { tally: ExactCells::new(), truth: ExactCells::new() }
    }
}

impl<C: Summary + Clone> Both<C> {
    fn cells(&self, window: Interval, key: &CellKey) -> [C; 2] {
        [self.tally.cell(window, key), self.truth.cell(window, key)]
    }
}

impl Shown {
    /// What is put behind a line's last field.
    pub(super) fn of(
        &self,
        offer: &ReleasePlan,
        window: Interval,
        told: &told::CellLine<'_>,
    ) -> Option<String> {
        let key = offer.key_told_as(told.key.as_ref())?;
        let value = || steps(told.value?.as_bytes(), offer.point().count());
        match &offer.query {
            WindowQuery::Max(_, grid, _) => {
                let value = value()?;
                let exact = self.tops.cells(window, &key).map(|tops| tops.shown_in_a_demo(grid, value));
                Some(ranked(offer, exact))
            }
            WindowQuery::Quantiles(..) => {
                let (quantile, value): (Quantile, i64) = (told.q?.parse().ok()?, value()?);
                let exact = self.values.cells(window, &key);
                Some(ranked(offer, exact.map(|values| values.shown_in_a_demo(quantile, value))))
            }
            _ => {
                let [tally, truth] = match offer.running {
                    None => self.sums.cells(window, &key).map(|cell| cell.shown_in_a_demo()),
                    Some(adding) => {
                        let Both { tally, truth } = &self.sums;
                        let added = self.added.get_or_init(|| [tally, truth].map(AddedUp::new));
                        added.each_ref().map(|sums| sums.over(adding.span, &offer.schedule, window, &key))
                    }
                };
                let (tally, truth) = (offer.number_after(tally), offer.number_before(truth));
                Some(format!(",\"tally\":{tally},\"truth\":{truth}"))
            }
        }
    }
}

/// Of the cell after the bound and of that before it, the number, and by how many people the answer is off: after the
/// bound, for that is what is promised.
fn ranked(offer: &ReleasePlan, [(tally, off), (truth, _)]: [(Option<i64>, u64); 2]) -> String {
    let shown =
        |number: Option<i64>| number.map_or("null".to_owned(), |number| offer.point().shown(number.into()));
    format!(",\"tally\":{},\"truth\":{},\"off\":{off}", shown(tally), shown(truth))
}

impl ReleasePlan {
    /// The key that is told so.
    fn key_told_as(&self, told: Option<&LineKey<'_>>) -> Option<CellKey> {
        match (&self.query, told) {
            (_, None) => Some(CellKey::Whole),
            (WindowQuery::Histogram(_, _, keys), Some(told)) => {
                let buckets = keys.listed()?;
                let is_told =
                    |key: &&CellKey| matches!(key.label(), Label::Text(text) if *text == *told.text());
                buckets.iter().find(is_told).cloned()
            }
            (_, Some(told)) => Some(CellKey::Text(told.text().into())),
        }
    }

    /// The number of a bounded cell, as it is told.
    fn number_after(&self, [people, records, sum]: [i128; 3]) -> String {
        let mean = |range: &Range| {
            let middle = (range.low() as f64 + range.high() as f64) / 2.0;
            middle + sum as f64 / 2.0 / records as f64
        };
        match &self.query {
            WindowQuery::People(_) => people.to_string(),
            WindowQuery::Sum(..) => self.point().shown(sum),
            WindowQuery::Mean(..) if records == 0 => "null".to_owned(),
            WindowQuery::Mean(range, _) => self.point().float(mean(range)).to_string(),
            _ => records.to_string(),
        }
    }

    /// The same of a cell in which nobody was bounded, whose sum is of the values themselves.
    fn number_before(&self, [people, records, sum]: [i128; 3]) -> String {
        match &self.query {
            WindowQuery::Mean(..) if records == 0 => "null".to_owned(),
            WindowQuery::Mean(..) => self.point().float(sum as f64 / records as f64).to_string(),
            _ => self.number_after([people, records, sum]),
        }
    }
}
