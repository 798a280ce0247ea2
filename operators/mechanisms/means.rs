//! One noised mean a key: of two noised sums of distances, or of a noised sum over a noised count.

use super::additive::{Additive, Family, UncheckedNoise, over_bound};
use super::answer::{DecimalPoint, Estimate, Noised};
use super::bound::Range;
use super::ends::BothEnds;
use super::keys::Key;
use super::noisy::{Noisy, NumberForm, Numbers, NumbersOf, settled};
use super::selection::{NoisedColumn, SelectedRow, Threshold};
use super::statistic::{Cell, KeyedStatistic, Mean};
use crate::canonical::Canonical;
use crate::invalid::Invalid;
use crate::noise::NoiseSource;

/// Means with additive noise, ready to be drawn.
///
/// Under Laplace noise both numbers are sums of distances, from the low end of the range and from the high one, each
/// with the noise of a single number at the whole [`cost`](super::Prepared::cost) of a window. Otherwise a count has its share
/// ([`Gaussian::counting`](super::Gaussian::counting)) and the sum the rest, and the counts' noise is asked for
/// before the sums': under Gaussian noise; where a share is stated; where people count in part; and in the window in which a
/// key is found by that count. All that follows, the division and the clipping to the range, is of noised numbers.
///
/// The interval of a sum over a count holds wherever both are inside theirs; each has half of what may be outside.
pub type NoisyMeans<K> = Noisy<K, Means>;

#[derive(Clone, Debug)]
pub struct Means {
    range: Range,
    numbers: MeanNumbers,
}

/// The two numbers of a mean.
#[derive(Clone, Debug)]
enum MeanNumbers {
    SumAndCount(SumAndCount),
    BothEnds(BothEnds),
}

#[derive(Clone, Debug)]
struct SumAndCount {
    over_bound: Option<f64>,
    counts: NoisedColumn,
    sums: NoisedColumn,
    /// The numbers of units of the sum and of the count: 1 unless people count in part.
    units: [u64; 2],
}

pub(super) fn means<K: Key>(asked: &UncheckedNoise, mean: &Mean<K>) -> Result<NoisyMeans<K>, Invalid> {
    let has_ends = asked.family == Family::Laplace && asked.counting.is_none() && !mean.weighs();
    // Laplace noise once was of sums and counts too.
    let also = has_ends.then(|| Canonical::new("discreet mean of distances 1").finish());
    let stated = KeyedStatistic { cut: mean.cut(asked.counting), also, ..mean.stated() };
    settled(asked, &stated, |NumbersOf { spend, shared, finding, level }| {
        let sum = level.moved(mean.sum_sensitivity())?;
        // The bound is for a price that is not shared with another level.
        let over = |noise: &Additive, spend| {
            over_bound(noise.deviation(), mean.sum_sensitivity(), mean.keys(), spend)
                .filter(|_| level.is_only())
        };
        let numbers = if has_ends && !shared {
            let noise = Additive::within(asked.family, spend, &sum)?;
            let over = over(&noise, spend);
            MeanNumbers::BothEnds(BothEnds::new(noise, asked.confidence()?, over)?)
        } else {
            let (counting, summing) = spend.split(asked.counting()?.max(finding));
            let each = (1.0 + asked.confidence()?) / 2.0;
            let counts = Additive::within(asked.family, counting, &level.moved(mean.count_sensitivity())?)?;
            let sums = Additive::within(asked.family, summing, &sum)?;
            MeanNumbers::SumAndCount(SumAndCount {
                over_bound: over(&sums, spend),
                counts: NoisedColumn::new(counts, shared, each)?,
                sums: NoisedColumn::new(sums, false, each)?,
                units: mean.units(),
            })
        };
        Ok(Means { range: *mean.range(), numbers })
    })
}

/// A mean, from numbers that have had their noise: a sum in half units from the middle of the range, over a
/// count; in these numbers of units.
pub(super) fn divided(
    range: &Range,
    sum: &Estimate<i128>,
    count: &Estimate<i128>,
    units: [u64; 2],
) -> Estimate<f64> {
    let (low, high, [of_sum, of_count]) =
        (range.low() as f64, range.high() as f64, units.map(|units| units as f64));
    let shifted = |from_middle: f64| range.middle_twice() as f64 / 2.0 + from_middle;
    let count = count.map(|count| count as f64 / of_count);
    let over = quotient(sum.map(|sum| sum as f64 / of_sum / 2.0), count);
    if count.high < 1.0 {
        // Nothing is known where there may well be nobody.
        return Estimate::between(low, shifted(over.value).clamp(low, high), high);
    }
    over.map(shifted).clipped(low, high)
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

impl NumberForm for Means {
    type Cell = Cell;
    type Number = f64;
    type Value = f64;
}

impl Numbers for Means {
    const HAS_A_COUNT: bool = true;

    fn noise(&self, point: DecimalPoint) -> Vec<Noised> {
        match &self.numbers {
            MeanNumbers::SumAndCount(numbers) => numbers.noise(point),
            MeanNumbers::BothEnds(ends) => ends.noise(point),
        }
    }

    fn reaches(&self, point: DecimalPoint) -> Vec<f64> {
        match &self.numbers {
            MeanNumbers::SumAndCount(numbers) => numbers.reaches(point),
            MeanNumbers::BothEnds(ends) => ends.reaches(point),
        }
    }

    fn errors(&self, point: DecimalPoint) -> Option<Vec<f64>> {
        match &self.numbers {
            MeanNumbers::SumAndCount(_) => None,
            MeanNumbers::BothEnds(ends) => Some(ends.errors(&self.range, point)),
        }
    }

    fn people(&self) -> Option<&Additive> {
        match &self.numbers {
            MeanNumbers::SumAndCount(numbers) => Some(numbers.counts.noise()),
            MeanNumbers::BothEnds(_) => None,
        }
    }

    fn estimates<K: Key>(
        &self,
        rows: &mut [SelectedRow<K>],
        threshold: Option<&Threshold>,
        noise: &mut NoiseSource,
    ) -> Vec<Estimate<f64>> {
        match &self.numbers {
            MeanNumbers::SumAndCount(numbers) => numbers.estimates(&self.range, rows, threshold, noise),
            MeanNumbers::BothEnds(ends) => ends.estimates(&self.range, rows, noise),
        }
    }
}

impl SumAndCount {
    fn noise(&self, point: DecimalPoint) -> Vec<Noised> {
        let sum = self.sums.noised("sum").with_point(point);
        let (records, [of_sum, of_count]) =
            (self.counts.noised("records"), self.units.map(|units| units as f64));
        vec![
            Noised { scale: sum.scale / of_sum / 2.0, over_bound: self.over_bound, ..sum },
            Noised { scale: records.scale / of_count, ..records },
        ]
    }

    /// The sum is in half units.
    fn reaches(&self, point: DecimalPoint) -> Vec<f64> {
        let [of_sum, of_count] = self.units.map(|units| units as f64);
        vec![point.float(self.sums.reach() / of_sum / 2.0), self.counts.reach() / of_count]
    }

    fn estimates<K: Key>(
        &self,
        range: &Range,
        rows: &[SelectedRow<K>],
        threshold: Option<&Threshold>,
        noise: &mut NoiseSource,
    ) -> Vec<Estimate<f64>> {
        let counts = self.counts.estimates(rows, |cell| cell.records.into(), threshold, noise);
        let sums = self.sums.estimates(rows, |cell| cell.sum, None, noise);
        sums.iter().zip(&counts).map(|(sum, count)| divided(range, sum, count, self.units)).collect()
    }
}

#[cfg(test)]
mod tests;
