//! The ratio of two sums over records: the sum of one field over the sum of another, each from a noised number.

use super::additive::{Additive, Gaussian, Laplace, UncheckedNoise};
use super::answer::{DecimalPoint, Estimate, Noised};
use super::bound::{ContributionBound, Range, Sensitivity};
use super::keys::{Key, Keys};
use super::mechanism::{Mechanism, Sealed};
use super::noisy::{Noisy, NumberForm, Numbers, NumbersOf, settled};
use super::pair_sums::PairSums;
use super::rollup::Families;
use super::selection::{NoisedColumn, SelectedRow, Threshold};
use super::spend::Cut;
use super::statistic::{Cells, KeyedStatistic, Statistic};
use crate::canonical::Canonical;
use crate::invalid::Invalid;
use crate::noise::NoiseSource;

/// The percentage of the price that the upper sum has, after that of selecting keys.
///
/// The relative error of a quotient is the sum of those of its two numbers. Where both are as large beside their largest
/// values, that sum is least with equal shares.
pub(super) const UPPER: u8 = 50;

/// The sum of one value of each record over the sum of another, by key, each value clipped to a range of its own.
///
/// A person's records move both sums together: each by `per_key` times the farther end of its range.
#[derive(Clone, Debug)]
pub struct Ratio<K> {
    ranges: [Range; 2],
    limits: ContributionBound,
    keys: Keys<K>,
    sums: [Sensitivity; 2],
    joint: Sensitivity,
    families: Option<Families>,
    points: [DecimalPoint; 2],
}

impl<K: Key> Ratio<K> {
    /// The ratio over at most `per_key` records of each person in each key: of the first value over the second.
    ///
    /// # Errors
    /// Names `bound` where the sensitivity leaves 128 bits.
    pub fn new(ranges: [Range; 2], limits: ContributionBound, keys: Keys<K>) -> Result<Ratio<K>, Invalid> {
        let most = |range: Range| u128::from(limits.per_key()) * u128::from(range.reach());
        let [upper, lower] = ranges.map(most);
        let (upper, lower) = (Sensitivity::each(&limits, upper)?, Sensitivity::each(&limits, lower)?);
        let joint = upper.beside(lower)?;
        let points = [DecimalPoint::WHOLE; 2];
        Ok(Ratio { ranges, limits, keys, sums: [upper, lower], joint, families: None, points })
    }

    /// Releases the ratio of each [parent](Key::parent) of its keys too, over the records of all of them: see
    /// [`Total::rollup`](super::Total::rollup).
    ///
    /// # Errors
    /// As [`Total::rollup`](super::Total::rollup).
    pub fn rollup(self) -> Result<Ratio<K>, Invalid> {
        let families = Families::of(&self.keys)?;
        let joint = families.beside(self.joint, &self.sums)?;
        Ok(Ratio { joint, families: Some(families), ..self })
    }

    /// Sets the decimal points of both values and ranges.
    #[must_use]
    pub fn with_points(self, points: [DecimalPoint; 2]) -> Ratio<K> {
        Ratio { points, ..self }
    }

    /// Returns the contribution of one person to a key: the first `per_key` of these pairs, each value clipped, so that
    /// the sensitivity holds for any input. Somebody without one adds nothing.
    pub fn contribution(&self, pairs: &[(i64, i64)]) -> PairSums {
        let pairs = self.limits.first(pairs);
        let [upper, lower] = self.ranges;
        let add = |[up, low]: [i128; 2], (of, per): &(i64, i64)| {
            [up + upper.clip((*of).into()), low + lower.clip((*per).into())]
        };
        let sums = pairs.iter().fold([0; 2], add);
        PairSums { people: u64::from(!pairs.is_empty()), records: pairs.len() as u64, sums }
    }

    /// Returns the additional cost of a part of a person: another record in the place of each may move a sum by the width
    /// of its range, where that is more than its farther end.
    pub(crate) fn cut(&self) -> Cut {
        if self.families.is_some() {
            return Cut::two_steps(&self.limits);
        }
        let listed = self.keys.listed().map(|keys| keys.len());
        let [upper, lower] = self.ranges.map(|range| {
            let same = range.reach().max(range.width());
            Cut::of_numbers(&self.limits, listed, range.reach().into(), same.into())
        });
        upper.of_both(lower)
    }

    /// Returns the distances by which one unit moves both sums.
    #[cfg(any(test, feature = "cli"))]
    pub(crate) fn sensitivities(&self) -> [&Sensitivity; 2] {
        self.sums.each_ref()
    }

    /// Returns the most by which a record moves each sum, with the decimal point of its steps.
    pub(super) fn most_of_a_record(&self) -> [(u64, DecimalPoint); 2] {
        std::array::from_fn(|at| (self.ranges[at].reach(), self.points[at]))
    }

    /// Returns the division of both sums.
    pub(super) fn quotient(&self) -> Quotient {
        let [upper, lower] = self.points.map(|point| point.float(1.0));
        let [_, range] = self.ranges;
        let side = (range.low() >= 0 || range.high() <= 0).then_some(range.low() >= 0);
        Quotient { possible: possible(self.ranges), unit: upper / lower, side }
    }

    pub(super) fn stated(&self) -> KeyedStatistic<'_, K> {
        let [_, lower] = self.ranges;
        let form = Canonical::new("discreet ratio 1")
            .number(lower.low())
            .number(lower.high())
            .number(self.points[0].count().into())
            .number(self.points[1].count().into());
        KeyedStatistic {
            measure: "ratio",
            range: Some(self.ranges[0]),
            limits: &self.limits,
            keys: &self.keys,
            // A ratio is of another unit than its sums: it is released as a float.
            point: DecimalPoint::WHOLE,
            counts_people: false,
            cut: self.cut(),
            families: self.families.as_ref(),
            also: Some(form.finish()),
        }
    }
}

/// For demonstrations, which show the truth.
#[cfg(feature = "cli")]
impl<K: Key> Ratio<K> {
    /// Returns the ratio of exact sums in released units; `None` if the lower one is 0.
    pub(crate) fn shown_in_a_demo(&self, [upper, lower]: [i128; 2]) -> Option<f64> {
        (lower != 0).then(|| self.quotient().unit * (upper as f64 / lower as f64))
    }
}

/// Returns the ends of what a ratio of sums of such values can be, in steps; infinite where nothing bounds it.
fn possible([upper, lower]: [Range; 2]) -> [f64; 2] {
    if lower.low() < 0 && lower.high() > 0 {
        return [f64::NEG_INFINITY, f64::INFINITY];
    }
    // The reciprocal of an end at zero is infinite on the side of the other end.
    let zero = if lower.low() < 0 { -0.0 } else { 0.0 };
    let over = |of: i64, per: i64| {
        let reciprocal = 1.0 / if per == 0 { zero } else { per as f64 };
        // No records with an upper sum of 0 have another ratio than 0.
        if of == 0 { 0.0 } else { of as f64 * reciprocal }
    };
    let corners = [upper.low(), upper.high()].map(|of| [lower.low(), lower.high()].map(|per| over(of, per)));
    let corners = corners.as_flattened().iter();
    [
        corners.clone().copied().fold(f64::INFINITY, f64::min),
        corners.copied().fold(f64::NEG_INFINITY, f64::max),
    ]
}

/// The division of two noised sums.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quotient {
    possible: [f64; 2],
    /// The released units of a step over a step.
    unit: f64,
    /// True if lower values are never below zero, false if they are never above it.
    side: Option<bool>,
}

impl Quotient {
    /// Returns a ratio in released units, from sums that have had their noise.
    ///
    /// Nothing is known but what is possible where the lower sum may be 0. The value is then that of the nearest lower sum that
    /// is not so: any other would be a noised number over next to nothing.
    pub(super) fn of(self, upper: &Estimate<i128>, lower: &Estimate<i128>) -> Estimate<f64> {
        let [least, most] = self.possible;
        let over = |upper: i128, lower: i128| upper as f64 / lower as f64;
        // Without an end on one side there is no interval.
        let is_bounded = least.is_finite() && most.is_finite();
        let all = if is_bounded { (least, most) } else { (f64::NEG_INFINITY, f64::INFINITY) };
        let (is_above, is_below) = match self.side {
            Some(is_above) => (is_above && lower.low > 0, !is_above && lower.high < 0),
            None => (lower.low > 0, lower.high < 0),
        };
        let unknown = |value: f64| Estimate::between(all.0, value.clamp(least, most), all.1);
        let ratio = match is_above || is_below {
            true => {
                let corners = [upper.low, upper.high]
                    .map(|upper| [lower.low, lower.high].map(|lower| over(upper, lower)));
                let corners = || corners.as_flattened().iter().copied();
                let found = Estimate::between(
                    corners().fold(f64::INFINITY, f64::min),
                    over(upper.value, lower.value),
                    corners().fold(f64::NEG_INFINITY, f64::max),
                );
                if found.misses(least, most) { unknown(found.value) } else { found.clipped(least, most) }
            }
            false => {
                let width = (lower.high.saturating_sub(lower.low) / 2).max(1);
                let is_above = self.side.unwrap_or(lower.value >= 0);
                unknown(over(upper.value, if is_above { width } else { -width }))
            }
        };
        ratio.map(|ratio| ratio * self.unit)
    }
}

impl<K> Sealed for Ratio<K> {}

impl<K: Key> Statistic for Ratio<K> {
    type Tally = Cells<K, PairSums>;

    /// Both sums, laid end to end, each in its own steps.
    fn sensitivity(&self) -> Sensitivity {
        self.joint
    }
}

/// Ratios with additive noise, ready to be drawn.
///
/// Both sums have half of the [`cost`](super::Prepared::cost) of a window. All that follows is of noised numbers.
///
/// The interval holds wherever both sums are inside theirs; each has half of what may be outside. Where the lower sum's
/// contains 0, the interval is all that the two ranges make possible, and infinite unless that has two ends: a line then has
/// none.
pub type NoisyRatios<K> = Noisy<K, Ratios>;

#[derive(Clone, Debug)]
pub struct Ratios {
    quotient: Quotient,
    points: [DecimalPoint; 2],
    sums: [NoisedColumn; 2],
}

pub(super) fn ratios<K: Key>(asked: &UncheckedNoise, ratio: &Ratio<K>) -> Result<NoisyRatios<K>, Invalid> {
    settled(asked, &ratio.stated(), |NumbersOf { spend, level, .. }| {
        let (upper, lower) = spend.split(UPPER);
        let each = (1.0 + asked.confidence()?) / 2.0;
        let column = |spend, sensitivity| {
            let moved = level.moved(sensitivity)?;
            NoisedColumn::new(Additive::within(asked.family, spend, &moved)?, false, each)
        };
        Ok(Ratios {
            quotient: ratio.quotient(),
            points: ratio.points,
            sums: [column(upper, &ratio.sums[0])?, column(lower, &ratio.sums[1])?],
        })
    })
}

/// The names of both sums in a released line.
pub(crate) const SUMS: [&str; 2] = ["sum", "per"];

impl NumberForm for Ratios {
    type Cell = PairSums;
    type Number = f64;
    type Value = f64;
}

impl Numbers for Ratios {
    fn noise(&self, _: DecimalPoint) -> Vec<Noised> {
        let noised = |at: usize| self.sums[at].noised(SUMS[at]).with_point(self.points[at]);
        vec![noised(0), noised(1)]
    }

    fn reaches(&self, _: DecimalPoint) -> Vec<f64> {
        (self.sums.iter().zip(self.points)).map(|(sum, point)| point.float(sum.reach())).collect()
    }

    fn estimates<K: Key>(
        &self,
        rows: &mut [SelectedRow<K, PairSums>],
        _: Option<&Threshold>,
        noise: &mut NoiseSource,
    ) -> Vec<Estimate<f64>> {
        let upper = self.sums[0].estimates(rows, |cell| cell.sums[0], None, noise);
        let lower = self.sums[1].estimates(rows, |cell| cell.sums[1], None, noise);
        upper.iter().zip(&lower).map(|(upper, lower)| self.quotient.of(upper, lower)).collect()
    }
}

macro_rules! noised {
    ($($law:ident),*) => {$(
        /// Two draws for each key: the upper sums' and the lower sums'.
        impl<K: Key> Mechanism<Ratio<K>> for $law {
            type Prepared = NoisyRatios<K>;

            fn prepare(&self, ratio: &Ratio<K>) -> Result<NoisyRatios<K>, Invalid> {
                ratios(&self.0, ratio)
            }
        }
    )*};
}

noised!(Gaussian, Laplace);

#[cfg(test)]
mod tests;
