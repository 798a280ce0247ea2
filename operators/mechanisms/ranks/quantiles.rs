//! Quantiles: the request, and the answers that are chosen for it.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::grid::Grid;
use super::largest::PerPerson;
use super::laws::ChoiceRule;
use super::split;
use super::split::Splitting;
use super::values::RankedValues;
use crate::canonical::Canonical;
use crate::decimal::Decimal;
use crate::invalid::{Invalid, InvalidKind, positive};
use crate::mechanisms::additive::UncheckedNoise;
use crate::mechanisms::answer::{DecimalPoint, Estimate, EstimatesPerKey, Noised, Ranks};
use crate::mechanisms::bound::{ContributionBound, Sensitivity};
use crate::mechanisms::keys::{Key, Keys};
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::noisy::{Noisy, NumberForm, Numbers, NumbersOf, settled};
use crate::mechanisms::selection::{SelectedRow, Threshold};
use crate::mechanisms::spend::Cut;
use crate::mechanisms::statistic::{Cells, KeyedStatistic, Statistic};
use crate::noise::NoiseSource;

/// One or several quantiles of the values of each key, released as points of a grid.
///
/// Values are not bounded. An answer is chosen by its rank: by how many values too many are below it, or
/// above.
#[derive(Clone, Debug)]
pub struct Quantiles<K> {
    quantiles: Arc<[Quantile]>,
    grid: Grid,
    limits: ContributionBound,
    /// The one value of each person; the values themselves without it.
    each: Option<PerPerson>,
    keys: Keys<K>,
    sensitivity: Sensitivity,
    point: DecimalPoint,
}

impl<K: Key> Quantiles<K> {
    /// These quantiles, ascending, of at most `per_key` values of each person in each key.
    ///
    /// One person moves the rank of every point by `per_key` in `keys` keys.
    ///
    /// # Errors
    /// Names `q` where one is no quantile, and `bound` where the sensitivity leaves 128 bits. Whether they
    /// ascend is asked when a mechanism is made ready.
    pub fn new<Q: TryInto<Quantile, Error: Into<Invalid>>>(
        quantiles: impl IntoIterator<Item = Q>,
        grid: Grid,
        limits: ContributionBound,
        keys: Keys<K>,
    ) -> Result<Quantiles<K>, Invalid> {
        Quantiles::ranked_by(quantiles, None, grid, limits, keys)
    }

    /// These quantiles, ascending, of one value of each person in each key. Of the limits only the number of
    /// keys matters, however many records a person left.
    ///
    /// One person moves the rank of every point by 1 in `keys` keys.
    ///
    /// # Errors
    /// Names `q` where one is no quantile, and `bound` where the sensitivity leaves 128 bits.
    pub fn of_people<Q: TryInto<Quantile, Error: Into<Invalid>>>(
        quantiles: impl IntoIterator<Item = Q>,
        each: PerPerson,
        grid: Grid,
        limits: ContributionBound,
        keys: Keys<K>,
    ) -> Result<Quantiles<K>, Invalid> {
        Quantiles::ranked_by(quantiles, Some(each), grid, limits, keys)
    }

    fn ranked_by<Q: TryInto<Quantile, Error: Into<Invalid>>>(
        quantiles: impl IntoIterator<Item = Q>,
        each: Option<PerPerson>,
        grid: Grid,
        limits: ContributionBound,
        keys: Keys<K>,
    ) -> Result<Quantiles<K>, Invalid> {
        let quantiles = quantiles.into_iter().map(|quantile| quantile.try_into().map_err(Into::into));
        let sensitivity = Sensitivity::each(&limits, values_of_one(each, &limits).into())?;
        let quantiles = quantiles.collect::<Result<_, Invalid>>()?;
        Ok(Quantiles { quantiles, grid, limits, each, keys, sensitivity, point: DecimalPoint::WHOLE })
    }

    /// Sets the decimal point of the answers. Values and the grid are in the steps that it leaves.
    #[must_use]
    pub fn with_point(self, point: DecimalPoint) -> Quantiles<K> {
        Quantiles { point, ..self }
    }

    /// Returns the one value of each person, if quantiles are of such.
    pub fn each(&self) -> Option<PerPerson> {
        self.each
    }

    /// Returns the tally of a key that one person alone has, with these values, of which the first `per_key`
    /// count, or with the one value that they make.
    pub fn of_one(&self, values: &[i64]) -> RankedValues {
        let mut known = RankedValues::default();
        let own = self.each.and_then(|each| {
            let own = values.iter().map(|value| each.of(*value, 1));
            own.reduce(|one, other| each.together(one, other)).map(PerPerson::clamped)
        });
        match own {
            Some(own) => known.add(&[own]),
            None if values.is_empty() => {}
            None => known.add(self.limits.first(values)),
        }
        known
    }

    /// The only keys that it is released for, where they are public.
    pub(crate) fn listed(&self) -> Option<Arc<[K]>> {
        self.keys.listed()
    }

    /// The quantiles.
    pub fn asked(&self) -> &[Quantile] {
        &self.quantiles
    }

    fn stated(&self, rule: ChoiceRule) -> KeyedStatistic<'_, K> {
        let form = Canonical::new("discreet quantiles 1").text(rule.name());
        let form = self.quantiles.iter().fold(form, |form, quantile| {
            form.bytes(&quantile.numerator().to_be_bytes()).bytes(&quantile.denominator().to_be_bytes())
        });
        let form = match self.each {
            Some(each) => form.text("of people").text(each.name()),
            None => form,
        };
        KeyedStatistic {
            measure: "quantiles",
            range: None,
            limits: &self.limits,
            keys: &self.keys,
            point: self.point,
            counts_people: false,
            cut: Cut::two_steps(&self.limits),
            families: None,
            also: Some(self.grid.canonical(form).finish()),
        }
    }
}

impl<K> Sealed for Quantiles<K> {}

impl<K: Key> Statistic for Quantiles<K> {
    type Tally = Cells<K, RankedValues>;

    /// Of the rank of any one point of the grid, over all keys.
    fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }
}

/// Returns the number of values with which one person counts in a key.
fn values_of_one(each: Option<PerPerson>, limits: &ContributionBound) -> u64 {
    if each.is_some() { 1 } else { limits.per_key() }
}

/// Quantiles, ready to be chosen.
pub type PreparedQuantiles<K> = Noisy<K, Chosen>;

#[derive(Clone, Debug)]
pub struct Chosen {
    splitting: Splitting,
    grid: Grid,
    noise: Vec<Noised>,
}

pub(in crate::mechanisms) fn ranked<K: Key>(
    asked: &UncheckedNoise,
    rule: ChoiceRule,
    quantiles: &Quantiles<K>,
) -> Result<PreparedQuantiles<K>, Invalid> {
    settled(asked, &quantiles.stated(rule), |NumbersOf { spend, .. }| {
        let Quantiles { quantiles, grid, limits, each, .. } = quantiles;
        let splitting = Splitting::new(&split::KeyQuantiles {
            quantiles,
            grid,
            per_key: values_of_one(*each, limits),
            rule,
            spend: spend.part_of(limits.keys()),
        })?;
        let accuracies = splitting.accuracies(asked.confidence()?)?;
        let noised = |((quantile, accuracy), typical): ((&Quantile, &split::Accuracy), _)| Noised {
            ranks: Some(Ranks::Within { quantile: *quantile, rank_error: accuracy.rank_error }),
            typical: Some(typical),
            ..Noised::of("quantile", rule.name(), accuracy.scale)
        };
        let noise = quantiles.iter().zip(&accuracies).zip(splitting.typical()).map(noised).collect();
        Ok(Chosen { splitting, grid: grid.clone(), noise })
    })
}

impl NumberForm for Chosen {
    type Cell = RankedValues;
    type Number = i128;
    type Value = ndarray::Array1<i128>;
}

impl Numbers for Chosen {
    /// One for each quantile.
    fn noise(&self, _: DecimalPoint) -> Vec<Noised> {
        self.noise.clone()
    }

    fn each(&self) -> EstimatesPerKey {
        EstimatesPerKey::Quantiles
    }

    /// In people.
    fn reaches(&self, _: DecimalPoint) -> Vec<f64> {
        let error = |noised: &Noised| match noised.ranks {
            Some(Ranks::Within { rank_error, .. }) => rank_error as f64,
            _ => 0.0,
        };
        self.noise.iter().map(error).collect()
    }

    /// As many a row as there are quantiles.
    fn estimates<K: Key>(
        &self,
        rows: &mut [SelectedRow<K, RankedValues>],
        _: Option<&Threshold>,
        noise: &mut NoiseSource,
    ) -> Vec<Estimate<i128>> {
        let at = |index: u64| self.grid.at(index).map_or(0, i128::from);
        let (low, high) = (at(1), at(self.grid.top()));
        let mut estimates = Vec::with_capacity(rows.len() * self.noise.len());
        for row in rows {
            let sorted = std::mem::take(&mut row.cell).sorted();
            let chosen = self.splitting.draw(&sorted, noise);
            estimates.extend(chosen.into_iter().map(|index| Estimate::between(low, at(index), high)));
        }
        estimates
    }
}

// Which quantile is asked for: an exact fraction.

/// The largest denominator: six digits behind the point.
pub(super) const FINEST: u64 = 1_000_000;

/// A fraction between 0 and 1, exactly, in lowest terms: half of all values are at or below the quantile of
/// 1/2.
///
/// ```
/// use discreet::mechanisms::Quantile;
///
/// let median = Quantile::of(1, 2)?;
/// assert_eq!(median, "0.50".parse()?);
/// // A float is read as the decimal that it is written as, which is not what it is.
/// assert_eq!(Quantile::try_from(0.95)?, Quantile::of(19, 20)?);
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantile {
    numerator: u64,
    denominator: u64,
}

impl Quantile {
    /// `numerator / denominator`.
    ///
    /// # Errors
    /// Names `q` unless the fraction is above 0 and below 1, and in lowest terms has a denominator of at most
    /// 10^6.
    pub fn of(numerator: u64, denominator: u64) -> Result<Quantile, Invalid> {
        if numerator == 0 {
            return Err(refused(InvalidKind::Zero));
        }
        if numerator >= denominator {
            return Err(refused(InvalidKind::TooLarge));
        }
        let divisor = greatest_common_divisor(numerator, denominator);
        let (numerator, denominator) = (numerator / divisor, denominator / divisor);
        if denominator > FINEST {
            return Err(refused(InvalidKind::Malformed));
        }
        Ok(Quantile { numerator, denominator })
    }

    /// The number above the bar.
    pub fn numerator(self) -> u64 {
        self.numerator
    }

    /// The number below the bar.
    pub fn denominator(self) -> u64 {
        self.denominator
    }

    /// The nearest float, as it is released.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// By how much one value more or less moves `denominator` times the distance from it, at most.
    pub(super) fn reach(self) -> u64 {
        self.numerator.max(self.denominator - self.numerator)
    }
}

/// The exact value of a decimal.
impl TryFrom<&Decimal> for Quantile {
    type Error = Invalid;

    fn try_from(decimal: &Decimal) -> Result<Quantile, Invalid> {
        let (digits, exponent) = decimal.parts();
        if digits == "0" {
            return Err(refused(InvalidKind::Zero));
        }
        if exponent >= 0 {
            return Err(refused(InvalidKind::TooLarge));
        }
        // No digit at the end is zero: past 18 there is no short fraction either.
        let power = 10u64.checked_pow(exponent.unsigned_abs()).filter(|_| digits.len() <= 18);
        let (Some(power), Ok(digits)) = (power, digits.parse()) else {
            return Err(refused(InvalidKind::Malformed));
        };
        Quantile::of(digits, power)
    }
}

impl FromStr for Quantile {
    type Err = Invalid;

    /// Reads a [`Decimal`] exactly.
    fn from_str(text: &str) -> Result<Quantile, Invalid> {
        Quantile::try_from(&Decimal::parse("q", text).map_err(|error| refused(error.kind()))?)
    }
}

/// The shortest decimal that is read as this float.
impl TryFrom<f64> for Quantile {
    type Error = Invalid;

    fn try_from(value: f64) -> Result<Quantile, Invalid> {
        let value = positive("q", value).map_err(|error| refused(error.kind()))?;
        format!("{value:e}").parse()
    }
}

/// So that `Quantile::of(1, 2)` stands where one is asked for, and what is wrong with it is said there.
impl TryFrom<Result<Quantile, Invalid>> for Quantile {
    type Error = Invalid;

    fn try_from(quantile: Result<Quantile, Invalid>) -> Result<Quantile, Invalid> {
        quantile
    }
}

impl Ord for Quantile {
    fn cmp(&self, other: &Quantile) -> Ordering {
        // Both denominators are at most 10^6.
        (self.numerator * other.denominator).cmp(&(other.numerator * self.denominator))
    }
}

impl PartialOrd for Quantile {
    fn partial_cmp(&self, other: &Quantile) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

fn refused(kind: InvalidKind) -> Invalid {
    Invalid::new("q", kind, "a number above 0 and below 1 with at most 6 digits, such as 0.5 or 0.999")
}

pub(super) fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanisms::ranks::{Exponential, PermuteAndFlip};
    use crate::mechanisms::statistic::Summary;
    use crate::mechanisms::{Bound, Mechanism, Prepared, Tally};

    fn quantiles(bound: Bound, asked: &[f64]) -> Quantiles<()> {
        let grid = Grid::linear(0, 100, 1).unwrap();
        Quantiles::new(asked.iter().copied(), grid, bound.checked().unwrap(), Keys::whole()).unwrap()
    }

    // Refutes a person who is in three keys, or has three values in one, for the price of one.
    #[test]
    fn each_key_and_each_value_of_a_person_is_paid_for() {
        let one = Bound::keys(1);
        let scale = |mechanism: &Exponential, bound: Bound| {
            mechanism.prepare(&quantiles(bound, &[0.5])).unwrap().noise()[0].scale()
        };
        let ratio = |mechanism: &Exponential, bound: Bound| scale(mechanism, bound) / scale(mechanism, one);
        let (pure, rho) = (Exponential::epsilon(1.0), Exponential::rho(0.1));
        assert!((scale(&pure, one) - 1.0).abs() < 1e-6, "2 / 2 epsilon");
        assert!((ratio(&pure, Bound::keys(3)) - 3.0).abs() < 1e-6);
        assert!((ratio(&rho, Bound::keys(3)) - 3f64.sqrt()).abs() < 1e-6);
        assert!((ratio(&pure, one.per_key(3)) - 3.0).abs() < 1e-6);
        assert!((ratio(&rho, one.per_key(3)) - 3.0).abs() < 1e-6);
        let flip = PermuteAndFlip::epsilon(1.0);
        let scale = |bound| flip.prepare(&quantiles(bound, &[0.5])).unwrap().noise()[0].scale();
        assert!((scale(Bound::keys(3).per_key(2)) / scale(one) - 6.0).abs() < 1e-6);
    }

    // Refutes a person of many records who is paid for as many values, one value for the price of several keys less, and a
    // value of people that is stated to a ledger as one of records.
    #[test]
    fn a_person_of_one_value_is_one_rank() {
        let grid = || Grid::linear(0, 100, 1).unwrap();
        let of = |each: PerPerson, bound: Bound| {
            Quantiles::<()>::of_people([0.5], each, grid(), bound.checked().unwrap(), Keys::whole()).unwrap()
        };
        let many = of(PerPerson::Records, Bound::keys(1).per_key(7));
        let prepared = |quantiles: &Quantiles<()>| Exponential::rho(0.1).prepare(quantiles).unwrap();
        let scale = |quantiles: &Quantiles<()>| prepared(quantiles).noise()[0].scale();
        assert!((scale(&many) - scale(&quantiles(Bound::keys(1), &[0.5]))).abs() < 1e-9);
        assert_eq!(many.sensitivity(), quantiles(Bound::keys(1), &[0.5]).sensitivity());
        let three = of(PerPerson::Records, Bound::keys(3).per_key(7));
        assert!((scale(&three) / scale(&many) - 3f64.sqrt()).abs() < 1e-6);
        assert_eq!((three.sensitivity().l0(), three.sensitivity().linf()), (3, 1));
        let one = Bound::keys(1);
        let all = [PerPerson::Records, PerPerson::Sum, PerPerson::Greatest, PerPerson::Least];
        let digests: Vec<_> = all.map(|each| prepared(&of(each, one)).parameters()).to_vec();
        let of_records = prepared(&quantiles(one, &[0.5])).parameters();
        assert!(
            digests.iter().enumerate().all(|(at, own)| !digests[..at].contains(own) && *own != of_records)
        );
        let shown = |each: PerPerson| of(each, one).of_one(&[5, 9, 5]).shown();
        assert_eq!(all.map(shown), [vec![1, 3], vec![1, 19], vec![1, 9], vec![1, 5]]);
        assert_eq!(of(PerPerson::Sum, one).of_one(&[i64::MAX, i64::MAX]).shown(), [1, i64::MAX.into()]);
        assert_eq!(of(PerPerson::Sum, one).of_one(&[]).shown(), [0]);
    }

    // Refutes an answer in another order, without its own promise, or of a key that nobody has released
    // nothing of.
    #[test]
    fn each_quantile_of_each_key_has_a_line() {
        let asked = quantiles(Bound::keys(1), &[0.1, 0.5, 0.9, 0.99]);
        let prepared = Exponential::epsilon(5.0).prepare(&asked).unwrap();
        let mut exact = prepared.tally();
        (0..10_000).for_each(|person| exact.absorb(((), asked.of_one(&[person % 100, 7]))));
        let answer = prepared.draw(exact, None, &mut NoiseSource::seeded(5)).answer;
        let values: Vec<i128> = answer.cells().iter().map(|(_, estimate)| estimate.value()).collect();
        for (value, near) in values.iter().zip([10, 50, 90, 99]) {
            assert!((value - near).abs() <= 2, "{values:?}");
        }
        let promised: Vec<Option<Ranks>> = answer.noise().iter().map(Noised::ranks).collect();
        assert!(promised.iter().all(|ranks| matches!(ranks, Some(Ranks::Within { rank_error: 1.., .. }))));
        let head = crate::mechanisms::Head { release: "r", window: "null", id: "5f", promise: "p", gaps: "" };
        let released = crate::mechanisms::ReleaseLines::lines(&answer, &head);
        let firsts: Vec<&str> =
            released.lines().map(|line| line.split("\"value\"").next().unwrap()).collect();
        let expected =
            ["0.1", "0.5", "0.9", "0.99"].map(|q| format!("{{\"release\":\"r\",\"window\":null,\"q\":{q},"));
        assert_eq!(firsts, expected);
        // Nobody: as many answers, of the same grid.
        let nobody = prepared.draw(prepared.tally(), None, &mut NoiseSource::seeded(5)).answer;
        assert_eq!(nobody.cells().len(), 4);
    }
}

#[cfg(test)]
mod quantile_tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn of(numerator: u64, denominator: u64) -> Quantile {
        Quantile::of(numerator, denominator).unwrap()
    }

    // Refutes a fraction that went through a float on its way in.
    #[test]
    fn decimals_and_floats_are_read_exactly() {
        for (text, quantile) in [
            ("0.95", of(19, 20)),
            ("0.5", of(1, 2)),
            ("99e-2", of(99, 100)),
            ("0.999999", of(999_999, 1_000_000)),
            ("0.000001", of(1, 1_000_000)),
            ("0.250000000", of(1, 4)),
        ] {
            assert_eq!(text.parse(), Ok(quantile), "{text}");
            assert_eq!(Quantile::try_from(text.parse::<f64>().unwrap()), Ok(quantile), "{text}");
        }
        for thousandth in 1..1000 {
            let float = thousandth as f64 / 1000.0;
            assert_eq!(Quantile::try_from(float), Ok(of(thousandth, 1000)));
            assert_eq!(of(thousandth, 1000).to_f64(), float);
        }
        assert_eq!((of(6, 20).numerator(), of(6, 20).denominator()), (3, 10));
        assert_eq!((of(9, 10).reach(), of(1, 10).reach(), of(1, 2).reach()), (9, 9, 1));
    }

    #[test]
    fn what_is_no_quantile_is_named_for_what_it_is() {
        let text = |text: &str| text.parse::<Quantile>().unwrap_err().kind();
        assert_eq!(
            (text("0"), text("0.0"), text("1"), text("1.5")),
            (InvalidKind::Zero, InvalidKind::Zero, InvalidKind::TooLarge, InvalidKind::TooLarge)
        );
        assert_eq!(
            (text("-0.5"), text("0,5"), text(""), text("nan")),
            (InvalidKind::Negative, InvalidKind::Malformed, InvalidKind::Missing, InvalidKind::Nan)
        );
        assert_eq!(
            (text("0.1234567"), text("1e-40"), text("1e40")),
            (InvalidKind::Malformed, InvalidKind::Malformed, InvalidKind::TooLarge)
        );
        let float = |float: f64| Quantile::try_from(float).unwrap_err().kind();
        assert_eq!(
            (float(0.0), float(1.0), float(f64::NAN)),
            (InvalidKind::Zero, InvalidKind::TooLarge, InvalidKind::Nan)
        );
        assert_eq!(
            (float(1.0 / 3.0), float(1e-300), float(-0.5)),
            (InvalidKind::Malformed, InvalidKind::Malformed, InvalidKind::Negative)
        );
        let of = |a, q| Quantile::of(a, q).unwrap_err().kind();
        assert_eq!(
            (of(0, 5), of(5, 5), of(1, 0), of(1, 1_000_001)),
            (InvalidKind::Zero, InvalidKind::TooLarge, InvalidKind::TooLarge, InvalidKind::Malformed)
        );
        assert_eq!(of(u64::MAX - 1, u64::MAX), InvalidKind::Malformed);
        assert!(Quantile::of(1 << 40, 1 << 41).is_ok());
        assert_eq!("0.1234567".parse::<Quantile>().unwrap_err().field(), "q");
    }

    #[test]
    fn they_are_in_the_order_of_their_values() {
        let mut quantiles = [of(9, 10), of(1, 3), of(1, 2), of(999_999, 1_000_000), of(49, 100)];
        quantiles.sort();
        assert_eq!(
            quantiles.map(|quantile| quantile.to_string()),
            ["1/3", "49/100", "1/2", "9/10", "999999/1000000"]
        );
    }
}
