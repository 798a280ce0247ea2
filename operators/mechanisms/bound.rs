//! Contribution bounds and sensitivities of one window.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::accounting::{Adjacency, PrivacyUnit, Relation};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::weight::{self, Norm, Weight};

/// The largest number that a bound may state: far above any use, and small enough that products of three fit
/// 128 bits.
const LARGEST: u64 = 1 << 31;

/// The contribution bound of one person, as it is stated. [`Bound::checked`] reads it.
///
/// It is about one window, and where [windows are added up](super::RunningTotal) about all of them together.
///
/// ```
/// use discreet::mechanisms::Bound;
///
/// let limits = Bound::keys(3).per_key(10).windows(12).checked()?;
/// assert_eq!((limits.keys(), limits.per_key(), limits.windows()), (3, 10, Some(12)));
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bound {
    keys: u64,
    per_key: u64,
    windows: Option<u64>,
    weight: Option<(u64, Norm)>,
}

impl Bound {
    /// At most `keys` keys a person in one window, and one record in each.
    pub const fn keys(keys: u64) -> Bound {
        Bound { keys, per_key: 1, windows: None, weight: None }
    }

    /// At most `records` records a person in each key that is kept.
    pub const fn per_key(self, records: u64) -> Bound {
        Bound { per_key: records, ..self }
    }

    /// A person counts in at most `windows` windows of a release. Refused under a promise about spans of
    /// time, where the removal of one window's records would move what others keep.
    pub const fn windows(self, windows: u64) -> Bound {
        Bound { windows: Some(windows), ..self }
    }

    /// Somebody with more than `shares` whole shares in a window counts in each of their keys in part: no more than
    /// that many come together, in this norm. Take L2 for Gaussian noise and L1 for Laplace noise; the noise is that
    /// of `keys = shares`. Of counts, people, sums, means and histograms; see [`Weight`].
    pub const fn weight(self, shares: u64, norm: Norm) -> Bound {
        Bound { weight: Some((shares, norm)), ..self }
    }

    /// The bound, in range.
    ///
    /// # Errors
    /// Names `keys`, `per_key`, `windows` or `weight` where it is zero or above 2^31, and `weight` where it is above
    /// `keys`.
    pub fn checked(self) -> Result<ContributionBound, Invalid> {
        let windows = self.windows.map(|windows| within("windows", windows)).transpose()?;
        let keys = within("keys", self.keys)?;
        let weight = self.weight.map(|(shares, norm)| match within("weight", shares)? {
            shares if shares > keys => {
                let remedy = "a weight of at most keys: nobody has more whole shares";
                Err(Invalid::new("weight", InvalidKind::TooLarge, remedy))
            }
            shares => Ok(Weight::new(shares, norm)),
        });
        Ok(ContributionBound {
            unit: PrivacyUnit::Person,
            has_parts: true,
            keys,
            per_key: within("per_key", self.per_key)?,
            windows,
            weight: weight.transpose()?,
        })
    }
}

fn within(field: &'static str, value: u64) -> Result<u64, Invalid> {
    let kind = match value {
        0 => InvalidKind::Zero,
        1..=LARGEST => return Ok(value),
        _ => InvalidKind::TooLarge,
    };
    Err(Invalid::new(field, kind, "a whole number from 1 to 2^31"))
}

/// A bound that has been read: every number is from 1 to 2^31, and it is known whose bound it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContributionBound {
    unit: PrivacyUnit,
    has_parts: bool,
    keys: u64,
    per_key: u64,
    windows: Option<u64>,
    weight: Option<Weight>,
}

impl ContributionBound {
    /// The contribution bound of a record: it is one record, in one key, in the windows that hold its time.
    pub const RECORD: ContributionBound = ContributionBound {
        unit: PrivacyUnit::Record,
        has_parts: false,
        keys: 1,
        per_key: 1,
        windows: None,
        weight: None,
    };

    /// The contribution bound of a record with an id. All that comes under one id counts as one record, in one key; where only a
    /// part of it is removed, another may take its place.
    pub const RECORD_WITH_ID: ContributionBound =
        ContributionBound { has_parts: true, ..ContributionBound::RECORD };

    /// Returns the privacy unit that is bounded.
    pub fn unit(&self) -> PrivacyUnit {
        self.unit
    }

    /// Returns true if a span of time may hold a part of what the unit brings to a window.
    pub(super) fn has_parts(&self) -> bool {
        self.has_parts
    }

    /// At most this number of keys in one window.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// At most this number of records in each of them.
    pub fn per_key(&self) -> u64 {
        self.per_key
    }

    /// As many of a person's records in a key as count: the first.
    #[inline]
    pub(super) fn first<'a, R>(&self, records: &'a [R]) -> &'a [R] {
        let most = usize::try_from(self.per_key).unwrap_or(usize::MAX);
        &records[..most.min(records.len())]
    }

    /// At most this number of windows of one release, where that is bounded.
    pub fn windows(&self) -> Option<u64> {
        self.windows
    }

    /// Returns the weight, where people with more than the bound count in part.
    pub fn weight(&self) -> Option<Weight> {
        self.weight
    }

    /// Returns the number of units of a number that a person moves by `most`: 1 unless people count in part.
    pub(crate) fn units(&self, most: u128) -> u64 {
        self.weight.map_or(1, |_| weight::units(most))
    }
}

/// The whole numbers from `low` to `high`, both included: what a value is clipped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "(i64, i64)", into = "(i64, i64)")]
pub struct Range {
    low: i64,
    high: i64,
}

impl Range {
    /// From `low` to `high`.
    ///
    /// # Errors
    /// Names `range` unless `low` is below `high`.
    pub fn new(low: i64, high: i64) -> Result<Range, Invalid> {
        if low < high {
            return Ok(Range { low, high });
        }
        Err(Invalid::new("range", InvalidKind::TooSmall, "two whole numbers, the first below the second"))
    }

    /// The least.
    pub fn low(&self) -> i64 {
        self.low
    }

    /// The largest.
    pub fn high(&self) -> i64 {
        self.high
    }

    /// A value as it enters the sum of a [`Mean`](super::Mean): clipped, from the middle of the range, and in
    /// half units so that it stays whole.
    #[inline]
    pub fn term(&self, value: i64) -> i128 {
        2 * self.clip(value.into()) - self.middle_twice()
    }

    /// The same in 64 bits, where the range [is within](Range::is_within) some number far below 2^61.
    #[inline]
    pub(super) fn narrow_term(&self, value: i64) -> i64 {
        2 * value.clamp(self.low, self.high) - (self.low + self.high)
    }

    /// Returns true if the range is no wider than this, and its ends are no farther from zero than 2^60.
    pub(super) fn is_within(&self, width: u64) -> bool {
        self.width() <= width && self.reach() <= 1 << 60
    }

    /// `low + high`.
    pub(super) fn middle_twice(&self) -> i128 {
        i128::from(self.low) + i128::from(self.high)
    }

    /// `high - low`, which may need all 64 bits.
    pub(crate) fn width(&self) -> u64 {
        self.high.abs_diff(self.low)
    }

    /// `max(|low|, |high|)`: how far a clipped value can be from that of nobody, which is zero.
    pub(crate) fn reach(&self) -> u64 {
        self.low.unsigned_abs().max(self.high.unsigned_abs())
    }

    pub(super) fn clip(&self, value: i128) -> i128 {
        value.clamp(self.low.into(), self.high.into())
    }
}

/// From the first to the second.
impl TryFrom<(i64, i64)> for Range {
    type Error = Invalid;

    fn try_from((low, high): (i64, i64)) -> Result<Range, Invalid> {
        Range::new(low, high)
    }
}

/// The least and the largest.
impl From<Range> for (i64, i64) {
    fn from(range: Range) -> (i64, i64) {
        (range.low, range.high)
    }
}

/// As it is written in Rust: `0..=100`.
impl TryFrom<RangeInclusive<i64>> for Range {
    type Error = Invalid;

    fn try_from(range: RangeInclusive<i64>) -> Result<Range, Invalid> {
        Range::new(*range.start(), *range.end())
    }
}

/// So that `Range::new(0, 100)` stands where a range is asked for, and what is wrong with it is said there.
impl TryFrom<Result<Range, Invalid>> for Range {
    type Error = Invalid;

    fn try_from(range: Result<Range, Invalid>) -> Result<Range, Invalid> {
        range
    }
}

// How far one protected unit moves a window's statistic: whole numbers, computed and never given.

/// The sensitivity of *one* window: the distance by which one unit more or less ([`Relation::AddRemove`]) can
/// move the vector of its cells, over all keys, taken together. Exact, or an upper bound where that is said;
/// there is no way to state one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sensitivity {
    neighbours: Adjacency,
    l0: u128,
    linf: u128,
    l1: u128,
    l2_squared: u128,
}

impl Sensitivity {
    /// A vector in which a unit changes `limits.keys()` cells, each by at most `most`.
    pub(crate) fn each(limits: &ContributionBound, most: u128) -> Result<Sensitivity, Invalid> {
        let keys = u128::from(limits.keys());
        let l1 = keys.checked_mul(most).ok_or_else(overflow)?;
        Ok(Sensitivity {
            neighbours: Adjacency { unit: limits.unit(), relation: Relation::AddRemove },
            l0: keys,
            linf: most,
            l1,
            l2_squared: l1.checked_mul(most).ok_or_else(overflow)?,
        })
    }

    /// A vector of the shares of a unit, each at most `most`, in [units](ContributionBound::units): where the bound has a
    /// weight, the proof is at the head of [`weight`](crate::mechanisms::weight).
    pub(crate) fn of_shares(limits: &ContributionBound, most: u128) -> Result<Sensitivity, Invalid> {
        let each = Sensitivity::each(limits, most)?;
        let Some(weight) = limits.weight() else { return Ok(each) };
        let times = |a: u128, b: u128| a.checked_mul(b).ok_or_else(overflow);
        let share = times(most, limits.units(most).into())?;
        let l1 = times(weight.sum_of_shares(limits.keys()), share)?;
        let l2_squared = times(u128::from(weight.most()), times(share, share)?)?;
        Ok(Sensitivity { linf: share, l1, l2_squared, ..each })
    }

    /// The vector of sums over disjoint sets of cells, of which a unit changes at most `cells`, and which at worst hold these
    /// numbers of the cells that it changes by `linf` each, in descending order.
    pub(super) fn gathered(self, cells: u128, filled: &[u128]) -> Result<Sensitivity, Invalid> {
        let times = |a: u128, b: u128| a.checked_mul(b).ok_or_else(overflow);
        let plus = |a: u128, b: u128| a.checked_add(b).ok_or_else(overflow);
        let most = self.linf;
        let (l1, l2_squared) = filled.iter().try_fold((0, 0), |(l1, squares), filled| {
            let moved = times(*filled, most)?;
            Ok::<_, Invalid>((plus(l1, moved)?, plus(squares, times(moved, moved)?)?))
        })?;
        let linf = times(filled.first().copied().unwrap_or_default(), most)?;
        Ok(Sensitivity { l0: cells, linf, l1, l2_squared, ..self })
    }

    /// The two vectors laid end to end, where a unit that is in one is in the other too.
    pub(super) fn beside(self, other: Sensitivity) -> Result<Sensitivity, Invalid> {
        let plus = |a: u128, b: u128| a.checked_add(b).ok_or_else(overflow);
        Ok(Sensitivity {
            neighbours: self.neighbours,
            l0: plus(self.l0, other.l0)?,
            linf: self.linf.max(other.linf),
            l1: plus(self.l1, other.l1)?,
            l2_squared: plus(self.l2_squared, other.l2_squared)?,
        })
    }

    /// The residual of a table with these numbers of categories, times all of them: of one record an entry moves by `n - 1` along each
    /// attribute, and `n - 1` others by 1. Of one combination of a unit: its records are of one cell.
    pub(super) fn of_residual(self, sizes: &[usize]) -> Result<Sensitivity, Invalid> {
        let times = |a: u128, b: u128| a.checked_mul(b).ok_or_else(overflow);
        let (mut cells, mut linf, mut l1, mut l2_squared) =
            (1, self.linf, self.linf, times(self.linf, self.linf)?);
        for size in sizes {
            let (size, others) = (*size as u128, *size as u128 - 1);
            cells = times(cells, size)?;
            linf = times(linf, others)?;
            l1 = times(l1, 2 * others)?;
            l2_squared = times(l2_squared, times(size, others)?)?;
        }
        Ok(Sensitivity { l0: cells, linf, l1, l2_squared, ..self })
    }

    /// A vector of twice the numbers.
    pub(super) fn twice(self) -> Result<Sensitivity, Invalid> {
        let times = |value: u128, factor: u128| value.checked_mul(factor).ok_or_else(overflow);
        let (linf, l1) = (times(self.linf, 2)?, times(self.l1, 2)?);
        Ok(Sensitivity { linf, l1, l2_squared: times(self.l2_squared, 4)?, ..self })
    }

    /// So many such vectors laid end to end, where a unit that is in one is in all.
    pub(super) fn times(self, count: u32) -> Result<Sensitivity, Invalid> {
        let times = |value: u128| value.checked_mul(count.into()).ok_or_else(overflow);
        Ok(Sensitivity {
            l0: times(self.l0)?,
            l1: times(self.l1)?,
            l2_squared: times(self.l2_squared)?,
            ..self
        })
    }

    /// The neighbours it speaks about.
    pub fn neighbours(&self) -> Adjacency {
        self.neighbours
    }

    /// Returns the number of cells that change.
    pub fn l0(&self) -> u128 {
        self.l0
    }

    /// Returns the largest change of one cell.
    pub fn linf(&self) -> u128 {
        self.linf
    }

    /// The sum of all changes.
    pub fn l1(&self) -> u128 {
        self.l1
    }

    /// The sum of the squares of all changes.
    pub fn l2_squared(&self) -> u128 {
        self.l2_squared
    }
}

fn overflow() -> Invalid {
    Invalid::new("bound", InvalidKind::Overflow, "fewer keys, fewer records a key, or a narrower range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_of_nothing_or_of_too_much_is_refused() {
        let refused = |bound: Bound| {
            let refused = bound.checked().unwrap_err();
            (refused.field().to_owned(), refused.kind())
        };
        assert_eq!(refused(Bound::keys(0)), ("keys".into(), InvalidKind::Zero));
        assert_eq!(refused(Bound::keys(1).per_key(0)), ("per_key".into(), InvalidKind::Zero));
        assert_eq!(refused(Bound::keys(1).windows(0)), ("windows".into(), InvalidKind::Zero));
        assert_eq!(refused(Bound::keys((1 << 31) + 1)), ("keys".into(), InvalidKind::TooLarge));
        assert_eq!(refused(Bound::keys(1).per_key(u64::MAX)), ("per_key".into(), InvalidKind::TooLarge));
        assert!(Bound::keys(1 << 31).per_key(1 << 31).checked().is_ok());
        assert_eq!(Bound::keys(4).checked().unwrap().per_key(), 1);
    }

    // Refutes a width or reach from one end alone, and one that overflows.
    #[test]
    fn both_ends_of_a_range_count() {
        let range = |low, high| Range::new(low, high).unwrap();
        assert_eq!(range(0, 100).reach(), 100);
        assert_eq!(range(-100, 7).reach(), 100);
        assert_eq!(range(50, 100).reach(), 100);
        assert_eq!(range(-100, -50).reach(), 100);
        assert_eq!(range(i64::MIN, i64::MAX).reach(), 1 << 63);
        assert_eq!(range(i64::MIN, i64::MAX).width(), u64::MAX);
        assert_eq!(range(-3, 4).width(), 7);
        assert_eq!(range(-3, 4).clip(i128::MAX), 4);
        assert!(Range::new(5, 5).is_err() && Range::new(5, 4).is_err());
    }

    // Refutes ends that change places, and a way to write a range that is not checked.
    #[test]
    fn every_way_to_write_a_range_is_checked() {
        fn asked(range: impl TryInto<Range, Error: Into<Invalid>>) -> Result<Range, InvalidKind> {
            range.try_into().map_err(|refused| refused.into().kind())
        }
        let range = Range::new(-3, 4).unwrap();
        let ways = [asked((-3, 4)), asked(-3..=4), asked(Range::new(-3, 4)), asked(range)];
        assert_eq!(ways, [Ok(range); 4]);
        let wrong = [asked((4, -3)), asked(RangeInclusive::new(4, -3)), asked(Range::new(4, -3))];
        assert_eq!(wrong, [Err(InvalidKind::TooSmall); 3]);
    }
}
