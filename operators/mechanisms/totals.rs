//! One noised whole number a key.

use super::additive::Additive;
use super::answer::{Estimate, Noised};
use super::keys::Key;
use super::laws::UncheckedNoise;
use super::noisy::{Noisy, Numbers, Tells, settled};
use super::point::DecimalPoint;
use super::selection::{NoisedColumn, SelectedRow};
use super::statistic::{MeasureKind, Statistic, Total};
use super::tally::Cell;
use super::threshold::Threshold;
use crate::invalid::Invalid;
use crate::noise::NoiseSource;

/// Counts, people or sums with additive noise, ready to be drawn.
pub type NoisyTotals<K> = Noisy<K, Totals>;

#[derive(Clone, Debug)]
pub struct Totals {
    measure: MeasureKind,
    number: &'static str,
    column: NoisedColumn,
}

pub(super) fn totals<K: Key>(asked: &UncheckedNoise, total: &Total<K>) -> Result<NoisyTotals<K>, Invalid> {
    settled(asked, &total.stated(), |spend, shared| {
        let noise = Additive::within(asked.family, spend, &total.sensitivity())?;
        let column = NoisedColumn::new(noise, shared, asked.confidence()?)?;
        Ok(Totals { measure: total.measure(), number: total.measures(), column })
    })
}

impl Tells for Totals {
    type Cell = Cell;
    type Told = i128;
}

impl Numbers for Totals {
    fn noise(&self, point: DecimalPoint) -> Vec<Noised> {
        vec![self.column.noised(self.number).told_in(point)]
    }

    fn reaches(&self, point: DecimalPoint) -> Vec<f64> {
        vec![point.float(self.column.reach())]
    }

    fn people(&self) -> Option<&Additive> {
        Some(self.column.noise())
    }

    fn estimates<K: Key>(
        &self,
        rows: &mut [SelectedRow<K>],
        threshold: Option<&Threshold>,
        noise: &mut NoiseSource,
    ) -> Vec<Estimate<i128>> {
        self.column.estimates(rows, |cell| self.measure.value(cell), threshold, noise)
    }
}
