//! Cells with additive noise: the part that totals and means share.

use super::additive::UncheckedNoise;
use super::additive::over_bound;
use super::additive::{Additive, Family};
use super::answer::DecimalPoint;
use super::answer::{Answer, Estimate, EstimateFormat, EstimatesPerKey, Noised};
use super::bound::Range;
use super::bound::Sensitivity;
use super::keys::Key;
use super::mechanism::parameters;
use super::mechanism::{Drawn, Prepared};
use super::released::ReleasedValue;
use super::rollup::{self, Families, Level};
use super::selection::Threshold;
use super::selection::{NoisedColumn, SelectedRow, Selection, delta};
use super::spend::Spend;
use super::statistic::{Cell, Cells, Summary};
use super::statistic::{KeyedStatistic, Mean, MeasureKind, Total};
use crate::accounting::ReleaseCost;
use crate::canonical::Digest;
use crate::invalid::Invalid;
use crate::mechanisms::mechanism::Sealed;
use crate::noise::NoiseSource;

/// A number a key with additive noise, ready to be drawn: [`NoisyTotals`], or
/// [`NoisyMeans`].
///
/// Private for one unit more or less, at [`cost`](Prepared::cost) a window. With public keys every window asks
/// for as many draws as there are keys, of each number. With keys to discover, what is asked for differs
/// between neighbours in two numbers of draws: that of the threshold, by the keys that only one of them has
/// and that are not public; and, where the value has a draw of its own, that of the values, which is the
/// number of released rows and so part of the answer that is paid for.
#[derive(Clone, Debug)]
pub struct Noisy<K, N> {
    selection: Selection<K>,
    numbers: N,
    /// The numbers of the level above, and what its sensitivity depends on.
    above: Option<(N, Families)>,
    format: EstimateFormat,
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "a plan alone asks"))]
    reaches: Vec<f64>,
    cost: ReleaseCost,
    parameters: Digest,
}

/// A form of released numbers. It is apart from them because the type of an answer is public.
pub trait NumberForm: Send + Sync + 'static {
    /// The totals of a key that are needed.
    type Cell: Summary + Clone;

    /// A whole number, or a mean.
    type Number: Send + 'static;

    /// The value of a key: one number, or several.
    type Value: ReleasedValue;
}

/// The numbers of a key that are released: one, or two that make one.
pub(super) trait Numbers: NumberForm {
    /// The noise of each, in what it is released in.
    fn noise(&self, point: DecimalPoint) -> Vec<Noised>;

    /// Returns the number of estimates of a key.
    fn each(&self) -> EstimatesPerKey {
        EstimatesPerKey::One
    }

    /// Returns the half-width of each interval, in released units.
    fn reaches(&self, point: DecimalPoint) -> Vec<f64>;

    /// The noise of the one that is the number of people, if one is.
    fn people(&self) -> Option<&Additive> {
        None
    }

    /// Returns the number of the largest people that is needed, if no others are.
    fn largest_needed(&self) -> Option<usize> {
        None
    }

    /// As many estimates a row as [`each`](Numbers::each) says.
    fn estimates<K: Key>(
        &self,
        rows: &mut [SelectedRow<K, Self::Cell>],
        threshold: Option<&Threshold>,
        noise: &mut NoiseSource,
    ) -> Vec<Estimate<Self::Number>>;
}

/// `numbers` is given what there is to spend on the numbers, whether one draw both selects and releases, and the level that they
/// are of.
pub(super) fn settled<K: Key, N: Numbers>(
    asked: &UncheckedNoise,
    stated: &KeyedStatistic<'_, K>,
    numbers: impl Fn(Spend, bool, Level<'_>) -> Result<N, Invalid>,
) -> Result<Noisy<K, N>, Invalid> {
    let (spend, confidence) = (asked.spend()?, asked.confidence()?);
    let discovers = stated.keys.discovers();
    let shared = discovers && stated.counts_people;
    let (selecting, releasing) =
        if discovers && !shared { spend.split(asked.selecting()?) } else { (spend, spend) };
    let (numbers, above) = match stated.families {
        None => (numbers(releasing, shared, Level::Only)?, None),
        Some(families) => {
            let (own, rest) = releasing.split(rollup::OF_KEYS);
            let above = numbers(rest, false, Level::Parents(families))?;
            (numbers(own, shared, Level::Keys)?, Some((above, families.clone())))
        }
    };
    let person = Sensitivity::each(stated.limits, 1)?;
    let selection = Selection::new(stated.keys, stated.limits.keys(), || {
        let people = numbers.people().filter(|_| shared).cloned();
        people.map_or_else(|| Additive::within(asked.family, selecting, &person), Ok)
    })?;
    let delta = delta(stated.keys)?;
    let levels = || std::iter::once(&numbers).chain(above.as_ref().map(|(above, _)| above));
    Ok(Noisy {
        selection,
        format: EstimateFormat {
            noise: levels().flat_map(|of| of.noise(stated.point)).collect(),
            point: stated.point,
            confidence,
            each: if above.is_some() { EstimatesPerKey::Levels { keys: 0 } } else { numbers.each() },
            of: None,
            bounded: stated.is_bounded(),
        },
        reaches: levels().flat_map(|of| of.reaches(stated.point)).collect(),
        numbers,
        above,
        cost: spend.cost_with(person.neighbours(), delta, (stated.cut, asked.family == Family::Gaussian))?,
        parameters: parameters(asked, spend, delta, stated),
    })
}

impl<K: Key, N> Noisy<K, N> {
    /// The noise of each number: a total's, or a mean's sum, in whole units, and then its count.
    pub fn noise(&self) -> &[Noised] {
        &self.format.noise[..self.numbers()]
    }

    /// The noise of each number of the level above, if that is released too.
    pub fn noise_above(&self) -> &[Noised] {
        &self.format.noise[self.numbers()..]
    }

    /// Returns the distance by which one unit moves the numbers of the level above, from that of the keys' numbers.
    #[cfg(feature = "cli")]
    pub(crate) fn sensitivity_above(&self, each: &Sensitivity) -> Option<Sensitivity> {
        let (_, families) = self.above.as_ref()?;
        Level::Parents(families).moved(each).ok()
    }

    /// Returns the number of noised numbers of a level.
    fn numbers(&self) -> usize {
        let all = self.format.noise.len();
        if self.above.is_some() { all / 2 } else { all }
    }

    /// Returns the half-width of each number's interval, in released units: those of a mean hold together.
    #[cfg(feature = "cli")]
    pub(crate) fn reaches(&self) -> &[f64] {
        &self.reaches[..self.numbers().min(self.reaches.len())]
    }

    /// Returns the same of the level above.
    #[cfg(feature = "cli")]
    pub(crate) fn reaches_above(&self) -> &[f64] {
        &self.reaches[self.numbers().min(self.reaches.len())..]
    }

    /// The least noised number of people with which a key becomes public, where keys are discovered.
    pub fn threshold(&self) -> Option<i64> {
        self.selection.threshold().map(|threshold| threshold.least())
    }
}

impl<K, N> Sealed for Noisy<K, N> {}

impl<K: Key, N: Numbers> Prepared for Noisy<K, N> {
    type Tally = Cells<K, N::Cell>;
    type Answer = Answer<K, N::Number>;
    type Value = N::Value;

    fn tally(&self) -> Cells<K, N::Cell> {
        self.selection.tally()
    }

    fn cost(&self) -> &ReleaseCost {
        &self.cost
    }

    fn parameters(&self) -> Digest {
        self.parameters
    }

    fn remembers(&self) -> bool {
        self.selection.threshold().is_some()
    }

    fn accepts(&self, state: &[u8]) -> Result<(), Invalid> {
        self.selection.accepts(state)
    }

    fn largest_needed(&self) -> Option<usize> {
        self.numbers.largest_needed()
    }

    fn draw(
        &self,
        exact: Cells<K, N::Cell>,
        state: Option<&[u8]>,
        noise: &mut NoiseSource,
    ) -> Drawn<Answer<K, N::Number>> {
        let sums = self.above.as_ref().map(|(above, _)| (above, rollup::sums(exact.iter())));
        let mut rows = self.selection.rows(exact, state, noise);
        let estimates = self.numbers.estimates(&mut rows.rows, self.selection.threshold(), noise);
        let Some((above, sums)) = sums else { return rows.drawn(estimates, self.format.clone()) };
        let mut parents = rollup::rows(&rows.rows, sums);
        let totals = above.estimates(&mut parents, None, noise);
        let each = EstimatesPerKey::Levels { keys: estimates.len() };
        let mut drawn = rows.drawn(estimates, EstimateFormat { each, ..self.format.clone() });
        drawn.answer.cells.extend(parents.into_iter().map(|row| row.key).zip(totals));
        drawn
    }
}

// One noised whole number a key.

/// Counts, people or sums with additive noise, ready to be drawn.
pub type NoisyTotals<K> = Noisy<K, Totals>;

#[derive(Clone, Debug)]
pub struct Totals {
    measure: MeasureKind,
    number: &'static str,
    column: NoisedColumn,
}

pub(super) fn totals<K: Key>(asked: &UncheckedNoise, total: &Total<K>) -> Result<NoisyTotals<K>, Invalid> {
    settled(asked, &total.stated(), |spend, shared, level| {
        let noise = Additive::within(asked.family, spend, &level.moved(total.key_sensitivity())?)?;
        let column = NoisedColumn::new(noise, shared, asked.confidence()?)?;
        Ok(Totals { measure: total.measure(), number: total.measures(), column })
    })
}

impl NumberForm for Totals {
    type Cell = Cell;
    type Number = i128;
    type Value = i128;
}

impl Numbers for Totals {
    fn noise(&self, point: DecimalPoint) -> Vec<Noised> {
        vec![self.column.noised(self.number).with_point(point)]
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

// One noised mean a key: a noised sum over a noised count.

/// Means with additive noise, ready to be drawn.
///
/// Of the [`cost`](super::Prepared::cost) of a window the count has its share
/// ([`Gaussian::counting`](super::Gaussian::counting)) and the sum the rest; the counts' noise is asked for
/// before the sums'. All that follows the two sums, the division and the clipping to the range, is of noised
/// numbers.
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
    settled(asked, &stated, |spend, shared, level| {
        let (counting, summing) = spend.split(asked.counting()?);
        let each = (1.0 + asked.confidence()?) / 2.0;
        let counts = Additive::within(asked.family, counting, &level.moved(mean.count_sensitivity())?)?;
        let sums = Additive::within(asked.family, summing, &level.moved(mean.sum_sensitivity())?)?;
        // The bound is for a price that is not shared with another level.
        let over = over_bound(sums.deviation(), mean.sum_sensitivity(), mean.keys(), spend);
        Ok(Means {
            range: *mean.range(),
            over_bound: over.filter(|_| level.is_only()),
            counts: NoisedColumn::new(counts, shared, each)?,
            sums: NoisedColumn::new(sums, false, each)?,
        })
    })
}

/// A mean, from numbers that have had their noise: a sum in half units from the middle of the range, over a
/// count.
pub(super) fn divided(range: &Range, sum: &Estimate<i128>, count: &Estimate<i128>) -> Estimate<f64> {
    let (low, high) = (range.low() as f64, range.high() as f64);
    let shifted = |from_middle: f64| (range.middle_twice() as f64 / 2.0 + from_middle).clamp(low, high);
    let over = quotient(sum.map(|sum| sum as f64 / 2.0), count.map(|count| count as f64));
    if count.high < 1 {
        // Nothing is known where there may well be nobody.
        return Estimate::between(low, shifted(over.value), high);
    }
    over.map(shifted)
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
    fn noise(&self, point: DecimalPoint) -> Vec<Noised> {
        let sum = self.sums.noised("sum").with_point(point);
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
