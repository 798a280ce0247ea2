//! One noised mean a key: a noised sum over a noised count.

use super::additive::Additive;
use super::answer::{Estimate, Noised};
use super::bound::Range;
use super::keys::Key;
use super::laws::UncheckedNoise;
use super::noisy::{Noisy, Numbers, Tells, settled};
use super::point::DecimalPoint;
use super::selection::{NoisedColumn, SelectedRow};
use super::statistic::{KeyedStatistic, Mean};
use super::tally::Cell;
use super::threshold::Threshold;
use super::unbiased::over_bound;
use crate::invalid::Invalid;
use crate::noise::NoiseSource;

/// Means with additive noise, ready to be drawn.
///
/// Of the [`cost`](super::Ready::cost) of a window the count has its share
/// ([`Gaussian::counting`](super::Gaussian::counting)) and the sum the rest; the counts' noise is asked for before the
/// sums'. All that follows the two sums, the division and the clipping to the range, is of noised numbers.
///
/// The interval holds wherever sum and count are both inside theirs; each has half of what may be outside.
pub type NoisyMeans<K> = Noisy<K, Means>;

#[derive(Clone, Debug)]
pub struct Means {
    range: Range,
    over_bound: Option<f64>,
    counts: NoisedColumn,
    sums: NoisedColumn,
}

pub(super) fn means<K: Key>(asked: &UncheckedNoise, mean: &Mean<K>) -> Result<NoisyMeans<K>, Invalid> {
    let stated = KeyedStatistic { cut: mean.cut(asked.counting()?), ..mean.stated() };
    settled(asked, &stated, |spend, shared| {
        let (counting, summing) = spend.split(asked.counting()?);
        let each = (1.0 + asked.confidence()?) / 2.0;
        let counts = Additive::within(asked.family, counting, mean.count_sensitivity())?;
        let sums = Additive::within(asked.family, summing, mean.sum_sensitivity())?;
        Ok(Means {
            range: *mean.range(),
            over_bound: over_bound(sums.deviation(), mean.sum_sensitivity(), mean.keys(), spend),
            counts: NoisedColumn::new(counts, shared, each)?,
            sums: NoisedColumn::new(sums, false, each)?,
        })
    })
}

/// A mean, from numbers that have had their noise: a sum in half units from the middle of the range, over a count.
pub(super) fn divided(range: &Range, sum: &Estimate<i128>, count: &Estimate<i128>) -> Estimate<f64> {
    let (low, high) = (range.low() as f64, range.high() as f64);
    let told = |from_middle: f64| (range.middle_twice() as f64 / 2.0 + from_middle).clamp(low, high);
    let over = quotient(sum.map(|sum| sum as f64 / 2.0), count.map(|count| count as f64));
    if count.high < 1 {
        // Nothing is known where there may well be nobody.
        return Estimate::between(low, told(over.value), high);
    }
    over.map(told)
}

/// A sum over a count, each inside its interval.
pub(super) fn quotient(sum: Estimate<f64>, count: Estimate<f64>) -> Estimate<f64> {
    // No mean is of fewer than one value.
    let over = |sum: f64, count: f64| sum / count.max(1.0);
    Estimate::between(
        over(sum.low, count.low).min(over(sum.low, count.high)),
        over(sum.value, count.value),
        over(sum.high, count.low).max(over(sum.high, count.high)),
    )
}

impl Tells for Means {
    type Cell = Cell;
    type Told = f64;
}

impl Numbers for Means {
    fn noise(&self, point: DecimalPoint) -> Vec<Noised> {
        let sum = self.sums.noised("sum").told_in(point);
        vec![
            Noised { scale: sum.scale / 2.0, over_bound: self.over_bound, ..sum },
            self.counts.noised("records"),
        ]
    }

    /// The sum is in half units.
    fn reaches(&self, point: DecimalPoint) -> Vec<f64> {
        vec![point.float(self.sums.reach() / 2.0), self.counts.reach()]
    }

    fn people(&self) -> Option<&Additive> {
        Some(self.counts.noise())
    }

    fn estimates<K: Key>(
        &self,
        rows: &mut [SelectedRow<K>],
        threshold: Option<&Threshold>,
        noise: &mut NoiseSource,
    ) -> Vec<Estimate<f64>> {
        let counts = self.counts.estimates(rows, |cell| cell.records.into(), threshold, noise);
        let sums = self.sums.estimates(rows, |cell| cell.sum, None, noise);
        sums.iter().zip(&counts).map(|(sum, count)| divided(&self.range, sum, count)).collect()
    }
}

#[cfg(test)]
mod tests;
