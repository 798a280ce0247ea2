//! The variance of a field over records, from a noised count, a noised sum and a noised sum of squares.

use super::additive::{Additive, Gaussian, Laplace, UncheckedNoise};
use super::answer::{DecimalPoint, Estimate, Noised};
use super::bound::{ContributionBound, Range, Sensitivity};
use super::keys::{Key, Keys};
use super::means::quotient;
use super::mechanism::{Mechanism, Sealed};
use super::noisy::{Noisy, NumberForm, Numbers, NumbersOf, settled};
use super::pair_sums::PairSums;
use super::rollup::Families;
use super::selection::{NoisedColumn, SelectedRow, Threshold};
use super::spend::Cut;
use super::statistic::{Cells, KeyedStatistic, Statistic};
use crate::canonical::Canonical;
use crate::invalid::{Invalid, InvalidKind};
use crate::noise::NoiseSource;

/// The largest square of a record, in parts of the square of half the range's width: its rounding is at most half of one
/// part, 3e-8 of the largest square, which is far below any noise.
const SQUARE: i64 = 1 << 24;

/// The widest range, in which twice a square times its parts fits 128 bits.
const WIDEST: u64 = 1 << 50;

/// The percentage of the rest of the price, after the count's, that the sum has.
///
/// With the mean at half of the way from the middle of the range to an end, noise of the sum, the count and the sum of
/// squares moves a variance by at most 1, 3/4 and 1/2 of what it is in widths of its number, and by less nearer to the
/// middle. The interval adds up all three, and is shortest where each number's part of rho goes with the power 2/3 of its factor:
/// 41, 33 and 26 of 100. The count has 30, unless said, and of the other 70 the sum has three fifths.
pub(super) const SUMMING: u8 = 60;

/// The variance of all values of a key, each clipped to a range: the mean of their squared distances from their mean.
///
/// It is released from three sums over records that a person's records move together: their number, the sum of
/// their distances from the middle of the range, and the sum of the squares of these, less half of the largest one. So
/// a record moves the second by half the width of the range, and the third by half of the largest square.
#[derive(Clone, Debug)]
pub struct Variance<K> {
    range: Range,
    limits: ContributionBound,
    keys: Keys<K>,
    count: Sensitivity,
    sum: Sensitivity,
    squares: Sensitivity,
    joint: Sensitivity,
    families: Option<Families>,
    point: DecimalPoint,
}

impl<K: Key> Variance<K> {
    /// The variance over at most `per_key` records of each person in each key.
    ///
    /// # Errors
    /// Names `range` where it is wider than 2^50, and `bound` where the sensitivity leaves 128 bits.
    pub fn new(range: Range, limits: ContributionBound, keys: Keys<K>) -> Result<Variance<K>, Invalid> {
        if range.width() > WIDEST {
            return Err(Invalid::new("range", InvalidKind::TooLarge, "a range of at most 2^50 steps"));
        }
        let records = u128::from(limits.per_key());
        let count = Sensitivity::each(&limits, records)?;
        let sum = Sensitivity::each(&limits, records * u128::from(range.width()))?;
        let squares = Sensitivity::each(&limits, records * u128::from(SQUARE.unsigned_abs()))?;
        let joint = count.beside(sum)?.beside(squares)?;
        let point = DecimalPoint::WHOLE;
        Ok(Variance { range, limits, keys, count, sum, squares, joint, families: None, point })
    }

    /// Releases the variance of each [parent](Key::parent) of its keys too, over the records of all of them: see
    /// [`Total::rollup`](super::Total::rollup).
    ///
    /// # Errors
    /// As [`Total::rollup`](super::Total::rollup).
    pub fn rollup(self) -> Result<Variance<K>, Invalid> {
        let families = Families::of(&self.keys)?;
        let joint = families.beside(self.joint, &[self.count, self.sum, self.squares])?;
        Ok(Variance { joint, families: Some(families), ..self })
    }

    /// Sets the decimal point of values and range. The variance is released in the square of their unit.
    #[must_use]
    pub fn with_point(self, point: DecimalPoint) -> Variance<K> {
        Variance { point, ..self }
    }

    /// A value as it enters the sums: its [term](Range::term), which is at most the width of the range, and its
    /// square, measured from half of the largest square and rounded to a part.
    fn terms(&self, value: i64) -> [i128; 2] {
        let term = self.range.term(value);
        let largest = i128::from(self.range.width()).pow(2);
        // Half a part is added before the quotient is rounded down.
        let parts = 2 * (2 * term * term - largest) * i128::from(SQUARE) + largest;
        [term, parts.div_euclid(2 * largest)]
    }

    /// Returns the contribution of one person to a key: the first `per_key` of these values, each clipped, so that the
    /// sensitivity holds for any input. Somebody without one adds nothing.
    pub fn contribution(&self, values: &[i64]) -> PairSums {
        let values = self.limits.first(values);
        let add = |sums: [i128; 2], value: &i64| {
            let terms = self.terms(*value);
            std::array::from_fn(|at| sums[at] + terms[at])
        };
        let sums = values.iter().fold([0; 2], add);
        PairSums { people: u64::from(!values.is_empty()), records: values.len() as u64, sums }
    }

    /// Returns the additional cost of a part of a person, where counts have this percentage of the price.
    ///
    /// As in a mean, all of a person's records in a key may give way to others, which moves both sums by up to twice as
    /// much and the count not at all.
    pub(crate) fn cut(&self, counting: u8) -> Cut {
        if self.families.is_some() {
            return Cut::two_steps(&self.limits);
        }
        Cut::of_sum_and_count(&self.limits, self.keys.listed().map(|keys| keys.len()), counting)
    }

    /// Returns the distances by which one unit moves the sums, in half units, the squares, in their parts, and the counts.
    #[cfg(any(test, feature = "cli"))]
    pub(crate) fn sensitivities(&self) -> [&Sensitivity; 3] {
        [&self.sum, &self.squares, &self.count]
    }

    pub(super) fn stated(&self) -> KeyedStatistic<'_, K> {
        let form = Canonical::new("discreet variance 1").number(self.point.count().into());
        KeyedStatistic {
            measure: "variance",
            range: Some(self.range),
            limits: &self.limits,
            keys: &self.keys,
            // Twice the digits of the values may be more than a point has: numbers are released as floats.
            point: DecimalPoint::WHOLE,
            counts_people: self.limits.per_key() == 1,
            cut: Cut::two_steps(&self.limits),
            families: self.families.as_ref(),
            also: Some(form.finish()),
        }
    }

    /// Returns the most by which a record moves the sum, and the squares.
    pub(super) fn most_of_a_record(&self) -> [u64; 2] {
        [self.range.width(), SQUARE.unsigned_abs()]
    }

    pub(super) fn moments(&self) -> MomentUnits {
        MomentUnits { width: self.range.width() as f64, unit: self.unit() }
    }

    fn unit(&self) -> Unit {
        Unit { half: self.range.width() as f64 / 2.0, point: self.point }
    }
}

/// For demonstrations, which show the truth.
#[cfg(feature = "cli")]
impl<K: Key> Variance<K> {
    /// Returns the variance of values that are clipped to the range, from their exact sums.
    pub(crate) fn shown_in_a_demo(&self, (records, sums): (i128, [i128; 2])) -> Option<f64> {
        let records = (records > 0).then_some(records as f64)?;
        let [sum, squares] = sums.map(|sum| sum as f64 / records);
        let variance = of_moments(sum / self.range.width() as f64, squares / SQUARE as f64);
        Some(self.unit().squared(variance.max(0.0)))
    }

    /// Returns the number of parts in which the squares are counted, in a step and with its decimal point once.
    pub(crate) fn square_parts(&self) -> f64 {
        self.unit().square_parts() / self.point.float(1.0)
    }
}

/// Returns the variance, in squares of half the width, from the mean term over the width and from the mean of centred squares
/// over the largest.
fn of_moments(mean: f64, squares: f64) -> f64 {
    (squares + 1.0) / 2.0 - mean * mean
}

/// The unit of a variance: half the width of its range, in steps.
#[derive(Clone, Copy, Debug)]
struct Unit {
    half: f64,
    point: DecimalPoint,
}

impl Unit {
    /// Returns a number of squares of half the width, in released units.
    fn squared(self, squares: f64) -> f64 {
        self.point.float(self.point.float(squares * self.half * self.half))
    }

    /// Returns the number of parts of a squared step: a part of a centred square is one of twice as many.
    fn square_parts(self) -> f64 {
        2.0 * SQUARE as f64 / (self.half * self.half)
    }
}

impl<K> Sealed for Variance<K> {}

impl<K: Key> Statistic for Variance<K> {
    type Tally = Cells<K, PairSums>;

    /// Count, sum in half units, and squares in their parts, laid end to end.
    fn sensitivity(&self) -> Sensitivity {
        self.joint
    }
}

/// Variances with additive noise, ready to be drawn.
///
/// Of the [`cost`](super::Prepared::cost) of a window the count has its share
/// ([`Gaussian::counting`](super::Gaussian::counting)), the sum three fifths of the rest and the squares all else. All that follows
/// is of noised numbers.
///
/// The interval holds wherever all three are inside theirs; each has a third of what may be outside.
pub type NoisyVariances<K> = Noisy<K, Variances>;

#[derive(Clone, Debug)]
pub struct Variances {
    moments: MomentUnits,
    counts: NoisedColumn,
    sums: NoisedColumn,
    squares: NoisedColumn,
}

pub(super) fn variances<K: Key>(
    asked: &UncheckedNoise,
    variance: &Variance<K>,
) -> Result<NoisyVariances<K>, Invalid> {
    let stated = KeyedStatistic { cut: variance.cut(asked.counting()?), ..variance.stated() };
    settled(asked, &stated, |NumbersOf { spend, shared, finding, level }| {
        let (counting, rest) = spend.split(asked.counting()?.max(finding));
        let (summing, squaring) = rest.split(SUMMING);
        let each = (2.0 + asked.confidence()?) / 3.0;
        let column = |spend, sensitivity, shared| {
            let moved = level.moved(sensitivity)?;
            NoisedColumn::new(Additive::within(asked.family, spend, &moved)?, shared, each)
        };
        Ok(Variances {
            moments: variance.moments(),
            counts: column(counting, &variance.count, shared)?,
            sums: column(summing, &variance.sum, false)?,
            squares: column(squaring, &variance.squares, false)?,
        })
    })
}

/// The units of the sums that a variance is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct MomentUnits {
    width: f64,
    unit: Unit,
}

impl MomentUnits {
    /// Returns the noises of sum, squares and count in released units, from those in their parts.
    pub(super) fn noised(self, [sum, squares, count]: [Noised; 3]) -> [Noised; 3] {
        let point = self.unit.point;
        let (sum, squares) = (sum.with_point(point), squares.with_point(point).with_point(point));
        [
            Noised { scale: sum.scale / 2.0, ..sum },
            Noised { scale: squares.scale / self.unit.square_parts(), ..squares },
            count,
        ]
    }

    /// Returns a variance in released units, from numbers that have had their noise.
    pub(super) fn spread(
        self,
        count: &Estimate<i128>,
        sum: &Estimate<i128>,
        squares: &Estimate<i128>,
    ) -> Estimate<f64> {
        let records = || count.map(|count| count as f64);
        let within = |estimate: Estimate<f64>| estimate.map(|part| part.clamp(-1.0, 1.0));
        let mean = within(quotient(sum.map(|sum| sum as f64 / self.width), records()));
        let squares = quotient(squares.map(|sum| sum as f64 / SQUARE as f64), records());
        // The square of a record is rounded by half of a part at most.
        let rounded = 0.5 / SQUARE as f64;
        let squares = within(Estimate::between(squares.low - rounded, squares.value, squares.high + rounded));
        let (least, most) = (mean.low.abs().min(mean.high.abs()), mean.low.abs().max(mean.high.abs()));
        let least = if mean.low <= 0.0 && mean.high >= 0.0 { 0.0 } else { least };
        let ends = match count.high < 1 {
            // Nothing is known where there may well be nobody.
            true => (0.0, 1.0),
            false => (of_moments(most, squares.low), of_moments(least, squares.high)),
        };
        Estimate::between(ends.0, of_moments(mean.value, squares.value), ends.1)
            .clipped(0.0, 1.0)
            .map(|variance| self.unit.squared(variance))
    }
}

impl NumberForm for Variances {
    type Cell = PairSums;
    type Number = f64;
    type Value = f64;
}

impl Numbers for Variances {
    const HAS_A_COUNT: bool = true;

    fn noise(&self, _: DecimalPoint) -> Vec<Noised> {
        let numbers =
            [self.sums.noised("sum"), self.squares.noised("squares"), self.counts.noised("records")];
        self.moments.noised(numbers).to_vec()
    }

    fn reaches(&self, _: DecimalPoint) -> Vec<f64> {
        let unit = self.moments.unit;
        vec![
            unit.point.float(self.sums.reach() / 2.0),
            unit.point.float(unit.point.float(self.squares.reach() / unit.square_parts())),
            self.counts.reach(),
        ]
    }

    fn people(&self) -> Option<&Additive> {
        Some(self.counts.noise())
    }

    fn estimates<K: Key>(
        &self,
        rows: &mut [SelectedRow<K, PairSums>],
        threshold: Option<&Threshold>,
        noise: &mut NoiseSource,
    ) -> Vec<Estimate<f64>> {
        let counts = self.counts.estimates(rows, |cell| cell.records.into(), threshold, noise);
        let sums = self.sums.estimates(rows, |cell| cell.sums[0], None, noise);
        let squares = self.squares.estimates(rows, |cell| cell.sums[1], None, noise);
        let numbers = counts.iter().zip(&sums).zip(&squares);
        numbers.map(|((count, sum), squares)| self.moments.spread(count, sum, squares)).collect()
    }
}

macro_rules! noised {
    ($($law:ident),*) => {$(
        /// Three draws for each key: the counts', the sums' and the squares'.
        impl<K: Key> Mechanism<Variance<K>> for $law {
            type Prepared = NoisyVariances<K>;

            fn prepare(&self, variance: &Variance<K>) -> Result<NoisyVariances<K>, Invalid> {
                variances(&self.0, variance)
            }
        }
    )*};
}

noised!(Gaussian, Laplace);

#[cfg(test)]
mod tests;
