//! One noised mean a key: a noised sum over a noised count.

use super::additive::Additive;
use super::answer::{Answer, Estimate, Noised};
use super::keys::Key;
use super::laws::Asked;
use super::mechanism::{Drawn, Ready};
use super::selection::{Column, Selection, delta};
use super::sensitivity::Sensitivity;
use super::statistic::{Mean, Statistic};
use super::tally::Cells;
use crate::accounting::Cost;
use crate::invalid::Invalid;
use crate::noise::Noise;

/// Means with additive noise, ready to be drawn.
///
/// Private for one unit more or less, at [`cost`](Ready::cost) a window, of which the count has its share
/// ([`Gaussian::counting`](super::Gaussian::counting)) and the sum the rest. The noise is asked for as for totals
/// ([`NoisyTotals`](super::NoisyTotals)), the counts' before the sums'. All that follows the two sums, the division and
/// the clipping to the range, is of noised numbers.
///
/// The interval holds wherever sum and count are both inside theirs; each has half of what may be outside.
#[derive(Clone, Debug)]
pub struct NoisyMeans<K> {
    mean: Mean<K>,
    selection: Selection<K>,
    counts: Column,
    sums: Column,
    confidence: f64,
    cost: Cost,
}

impl<K: Key> NoisyMeans<K> {
    pub(super) fn new(asked: &Asked, mean: &Mean<K>) -> Result<NoisyMeans<K>, Invalid> {
        let (spend, confidence, limits) = (asked.spend()?, asked.confidence()?, mean.limits());
        let discovers = mean.keys.discovers();
        let shared = discovers && mean.counts_people();
        let (selecting, telling) =
            if discovers && !shared { spend.split(asked.selecting()?) } else { (spend, spend) };
        let (counting, summing) = telling.split(asked.counting()?);
        let selecting = if shared { counting } else { selecting };
        let each = (1.0 + confidence) / 2.0;
        let counts = Additive::within(asked.family, counting, mean.count_sensitivity())?;
        let sums = Additive::within(asked.family, summing, mean.sum_sensitivity())?;
        let selection = Selection::new(&mean.keys, limits.keys(), || {
            Additive::within(asked.family, selecting, &Sensitivity::each(limits, 1)?)
        })?;
        Ok(NoisyMeans {
            mean: mean.clone(),
            selection,
            counts: Column::new(counts, shared, each)?,
            sums: Column::new(sums, false, each)?,
            confidence,
            cost: spend.cost(mean.sensitivity().neighbours(), delta(&mean.keys)?),
        })
    }

    /// The noise of each number: the sum's, in whole units, and the count's.
    pub fn noise(&self) -> Vec<Noised> {
        let sum = self.sums.noised("sum");
        vec![Noised { scale: sum.scale / 2.0, ..sum }, self.counts.noised("records")]
    }

    /// The least noised number of people with which a key becomes public, where keys are discovered.
    pub fn threshold(&self) -> Option<i64> {
        self.selection.threshold().map(|threshold| threshold.least())
    }

    /// The mean, from numbers that have had their noise.
    fn divided(&self, sum: &Estimate<i128>, count: &Estimate<i128>) -> Estimate<f64> {
        let (low, high) = (self.mean.range().low() as f64, self.mean.range().high() as f64);
        // No mean is of fewer than one value, and the sum is in half units.
        let over = |sum: i128, count: i128| sum as f64 / 2.0 / count.max(1) as f64;
        let told = |from_middle: f64| (self.mean.middle_twice() as f64 / 2.0 + from_middle).clamp(low, high);
        let value = told(over(sum.value, count.value));
        if count.high < 1 {
            // Nothing is known where there may well be nobody.
            return Estimate { value, low, high };
        }
        Estimate {
            value,
            low: told(over(sum.low, count.low).min(over(sum.low, count.high))),
            high: told(over(sum.high, count.low).max(over(sum.high, count.high))),
        }
    }
}

impl<K: Key> Ready for NoisyMeans<K> {
    type Tally = Cells<K>;
    type Answer = Answer<K, f64>;

    fn tally(&self) -> Cells<K> {
        self.selection.tally()
    }

    fn cost(&self) -> &Cost {
        &self.cost
    }

    fn accepts(&self, state: &[u8]) -> Result<(), Invalid> {
        self.selection.accepts(state)
    }

    fn draw(&self, exact: Cells<K>, state: Option<&[u8]>, noise: &mut Noise) -> Drawn<Answer<K, f64>> {
        let rows = self.selection.rows(exact, state, noise);
        let threshold = self.selection.threshold();
        let counts = self.counts.estimates(&rows.rows, |cell| cell.records.into(), threshold, noise);
        let sums = self.sums.estimates(&rows.rows, |cell| cell.sum, None, noise);
        let means = sums.iter().zip(&counts).map(|(sum, count)| self.divided(sum, count)).collect();
        rows.drawn(means, self.noise(), self.confidence)
    }
}

#[cfg(test)]
mod tests;
