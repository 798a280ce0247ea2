//! Statistics of a window: one number a key, or one mean a key, with their sensitivities. Each knows how far
//! one person can move it.

mod tally;

use std::sync::Arc;

pub use tally::{Cell, Cells, Summary, Tally};

use super::answer::DecimalPoint;
use super::bound::{ContributionBound, Range, Sensitivity};
use super::keys::{Key, Keys};
use super::pair_sums::PairSums;
use super::rollup::Families;
use super::spend::Cut;
use super::weight::{self, has_one_sign};
use crate::accounting::PrivacyUnit;
use crate::canonical::Digest;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::mechanism::Sealed;

/// A question about a window. Sealed: how far one person moves an answer is computed here, and not stated
/// elsewhere.
pub trait Statistic: Sealed + Send + Sync + 'static {
    /// The tally that an answer needs.
    type Tally: Tally;

    /// Returns the sensitivity: the distance by which one protected unit moves the exact answer of one
    /// window.
    fn sensitivity(&self) -> Sensitivity;
}

/// One whole number a key: records, people, or a sum.
#[derive(Clone, Debug)]
pub struct Total<K> {
    measure: MeasureKind,
    limits: ContributionBound,
    keys: Keys<K>,
    each: Sensitivity,
    joint: Sensitivity,
    families: Option<Families>,
    point: DecimalPoint,
    units: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MeasureKind {
    Records,
    People,
    Sum(Range),
}

impl MeasureKind {
    /// The number that is released, in this number of units of one. People in units are beside the whole ones, by whom keys
    /// are found.
    pub(super) fn value(self, cell: &Cell, units: u64) -> i128 {
        match self {
            MeasureKind::People if units > 1 => cell.records.into(),
            MeasureKind::Records => cell.records.into(),
            MeasureKind::People => cell.people.into(),
            MeasureKind::Sum(_) => cell.sum,
        }
    }
}

/// A statistic over keys, as it was stated.
pub(super) struct KeyedStatistic<'a, K> {
    pub(super) measure: &'static str,
    pub(super) range: Option<Range>,
    pub(super) limits: &'a ContributionBound,
    pub(super) keys: &'a Keys<K>,
    pub(super) point: DecimalPoint,
    /// Is one of the numbers that are released the number of people?
    pub(super) counts_people: bool,
    /// The additional cost of a part of a person.
    pub(super) cut: Cut,
    /// The keys by their parents, if these are released too.
    pub(super) families: Option<&'a Families>,
    /// Whatever else was stated.
    pub(super) also: Option<Digest>,
}

impl<K: Key> KeyedStatistic<'_, K> {
    /// Returns true if one key of a person who counts in part may have more of the person than another one.
    pub(super) fn has_unequal_shares(&self) -> bool {
        let is_equal = self.range.is_none() && (self.measure == "people" || self.limits.per_key() == 1);
        self.limits.weight().is_some() && !is_equal
    }

    /// Returns true if the bound or the range may leave something of the data out of the statistic.
    pub(super) fn is_bounded(&self) -> bool {
        let all_keys = self.keys.listed().is_some_and(|keys| keys.len() as u64 <= self.limits.keys());
        let whole = match self.limits.unit() {
            // A record is of one key.
            PrivacyUnit::Record => true,
            PrivacyUnit::Person => self.measure == "people" && all_keys,
        };
        !whole || self.range.is_some() || self.limits.windows().is_some() || self.limits.weight().is_some()
    }
}

impl<K: Key> Total<K> {
    /// Creates the number of records of each key, at most `per_key` of one person. A histogram is this, with
    /// the buckets of [`Edges`](super::Edges) for keys.
    ///
    /// One person moves `keys` cells by `per_key` each.
    ///
    /// # Errors
    /// Never, for limits that were checked: every measure is asked alike, and a sum can be too wide.
    pub fn count(limits: ContributionBound, keys: Keys<K>) -> Result<Total<K>, Invalid> {
        Self::new(MeasureKind::Records, limits, keys)
    }

    /// Creates the number of people of each key. One person moves `keys` cells by 1 each, whatever `per_key`
    /// is.
    ///
    /// # Errors
    /// As [`Total::count`].
    pub fn people(limits: ContributionBound, keys: Keys<K>) -> Result<Total<K>, Invalid> {
        Self::new(MeasureKind::People, limits, keys)
    }

    /// The sum of all values of a key, where each person's own sum in it is clipped to `range`.
    ///
    /// One person moves `keys` cells by `max(|low|, |high|)` each: who is absent adds 0, which need not be in
    /// the range.
    ///
    /// # Errors
    /// Names `bound` where the sensitivity leaves 128 bits.
    pub fn sum(range: Range, limits: ContributionBound, keys: Keys<K>) -> Result<Total<K>, Invalid> {
        Self::new(MeasureKind::Sum(range), limits, keys)
    }

    fn new(measure: MeasureKind, limits: ContributionBound, keys: Keys<K>) -> Result<Total<K>, Invalid> {
        let most = match measure {
            MeasureKind::Records => limits.per_key(),
            MeasureKind::People => 1,
            MeasureKind::Sum(range) => range.reach(),
        };
        weight::fits(&limits, most.into())?;
        let each = Sensitivity::of_shares(&limits, most.into())?;
        let units = limits.units(most.into());
        let (joint, families, point) = (each, None, DecimalPoint::WHOLE);
        Ok(Total { measure, limits, keys, each, joint, families, point, units })
    }

    /// Releases the total of each [parent](Key::parent) of its keys too, behind them: the sum of the numbers of its keys, of those
    /// that are not discovered too.
    ///
    /// One person moves the parents by `keys` times as much as a key, in the worst case all in one. Keys and parents
    /// have half of the price each; keys are found with a part of theirs, and bounded as without it.
    ///
    /// # Errors
    /// Names `rollup` for people, who are no sum of those of several keys, and for listed keys without a parent; and `bound`
    /// where the sensitivity leaves 128 bits.
    pub fn rollup(self) -> Result<Total<K>, Invalid> {
        if self.measure == MeasureKind::People {
            let remedy = "another release, by the parents: a person may have several keys of a parent";
            return Err(Invalid::new("rollup", InvalidKind::Mixed, remedy));
        }
        no_weight(&self.limits)?;
        let families = Families::of(&self.keys)?;
        let joint = families.beside(self.each, &[self.each])?;
        Ok(Total { joint, families: Some(families), ..self })
    }

    /// Sets the decimal point of a sum. Values and the range are in the steps that it leaves; what
    /// are no values, records and people, stay whole.
    #[must_use]
    pub fn with_point(self, point: DecimalPoint) -> Total<K> {
        Total { point, ..self }
    }

    /// Returns the contribution of one person to a key, of `records` whose values add up to `sum`: clamped,
    /// so that the sensitivity holds for any input. Somebody without a record adds nothing.
    pub fn contribution(&self, records: u64, sum: i128) -> Cell {
        if records == 0 {
            return Cell::default();
        }
        let sum = match self.measure {
            MeasureKind::Sum(range) => range.clip(sum),
            MeasureKind::Records | MeasureKind::People => 0,
        };
        Cell { people: 1, records: records.min(self.limits.per_key()), sum }
    }

    /// Multiplies the shares of a person by their factor, in [units](Total::units), where the bound has a
    /// [weight](ContributionBound::weight).
    pub(crate) fn weigh(&self, shares: &mut [Cell]) {
        let Some(weight) = self.limits.weight() else { return };
        if self.measure == MeasureKind::People {
            shares.iter_mut().for_each(|share| share.records = share.people);
        }
        let number = |share: &Cell| self.number(share).unsigned_abs();
        // A share was clamped to this.
        let whole = self.each.linf() / u128::from(self.units);
        let factor = weight.factor(whole, shares.iter().map(number));
        for share in shares {
            share.records = factor.of(share.records.into(), self.units) as u64;
            share.sum = factor.of(share.sum, self.units);
        }
    }

    /// Returns true if people with more than the bound count in part.
    pub(crate) fn weighs(&self) -> bool {
        self.limits.weight().is_some()
    }

    /// The only keys that it is released for, where they are public.
    pub(crate) fn listed(&self) -> Option<Arc<[K]>> {
        self.keys.listed()
    }

    /// Returns the number that is released, in [units](Total::units).
    pub(super) fn number(&self, cell: &Cell) -> i128 {
        self.measure.value(cell, self.units)
    }

    /// Returns the number of units of the number that is released: 1 unless people count in part.
    pub(crate) fn units(&self) -> u64 {
        self.units
    }

    pub(super) fn measure(&self) -> MeasureKind {
        self.measure
    }

    pub(super) fn stated(&self) -> KeyedStatistic<'_, K> {
        let (measure, range, counts_people) = match self.measure {
            MeasureKind::Records => ("records", None, self.limits.per_key() == 1 && !self.weighs()),
            // Of people who count in part it is not how many there are.
            MeasureKind::People => ("people", None, !self.weighs()),
            MeasureKind::Sum(range) => ("sum", Some(range), false),
        };
        // Only a sum is of values.
        let point = range.map_or(DecimalPoint::WHOLE, |_| self.point);
        KeyedStatistic {
            measure,
            range,
            limits: &self.limits,
            keys: &self.keys,
            point,
            counts_people,
            cut: self.cut(),
            families: self.families.as_ref(),
            also: None,
        }
    }

    /// Returns the additional cost of a part of a person.
    pub(crate) fn cut(&self) -> Cut {
        let listed = self.keys.listed().map(|keys| keys.len());
        let same = match self.measure {
            MeasureKind::Records | MeasureKind::People => self.each.linf(),
            // What was nothing before is one end of the range, or one end becomes the other.
            MeasureKind::Sum(range) => range.reach().max(range.width()).into(),
        };
        let most = self.each.linf();
        if self.weighs() {
            let one_sign = match self.measure {
                MeasureKind::Records | MeasureKind::People => true,
                MeasureKind::Sum(range) => has_one_sign(&range),
            };
            return Cut::of_replaced(&self.limits, one_sign);
        }
        let cut = Cut::of_numbers(&self.limits, listed, most, same);
        match self.families {
            None => cut,
            Some(_) => cut.of_both(Cut::of_replaced(&self.limits, same <= most)),
        }
    }

    /// Returns the sensitivity of the numbers of its keys.
    pub(crate) fn key_sensitivity(&self) -> &Sensitivity {
        &self.each
    }

    /// Returns the name of the number.
    pub(super) fn measures(&self) -> &'static str {
        match (self.measure, self.limits.unit()) {
            (MeasureKind::People, PrivacyUnit::Person) => "people",
            (MeasureKind::Records | MeasureKind::People, _) => "records",
            (MeasureKind::Sum(_), _) => "sum",
        }
    }
}

impl<K> Sealed for Total<K> {}

impl<K: Key> Statistic for Total<K> {
    type Tally = Cells<K>;

    /// Of keys and parents laid end to end, where it is [rolled up](Total::rollup).
    fn sensitivity(&self) -> Sensitivity {
        self.joint
    }
}

/// The mean of all values of a key, each clipped to a range.
///
/// It is released as a sum over a count, or, with Laplace noise, by the sums of the distances of its values from both ends of
/// the range. Values are taken from the middle of the range, which is public: in half units, `2 value - (low + high)`, so that
/// they stay whole. A person then moves the sum of a key by half the width of the range a record, and not by its farther end.
#[derive(Clone, Debug)]
pub struct Mean<K> {
    range: Range,
    limits: ContributionBound,
    keys: Keys<K>,
    sum: Sensitivity,
    count: Sensitivity,
    joint: Sensitivity,
    families: Option<Families>,
    point: DecimalPoint,
}

impl<K: Key> Mean<K> {
    /// The mean over at most `per_key` records of each person in each key.
    ///
    /// # Errors
    /// Names `bound` where the sensitivity leaves 128 bits.
    pub fn new(range: Range, limits: ContributionBound, keys: Keys<K>) -> Result<Mean<K>, Invalid> {
        let records = u128::from(limits.per_key());
        weight::fits(&limits, records)?;
        let sum = Sensitivity::of_shares(&limits, records * u128::from(range.width()))?;
        let count = Sensitivity::of_shares(&limits, records)?;
        let joint = sum.beside(count.twice()?)?;
        Ok(Mean { range, limits, keys, sum, count, joint, families: None, point: DecimalPoint::WHOLE })
    }

    /// Releases the mean of each [parent](Key::parent) of its keys too, over the records of all of them: see [`Total::rollup`].
    ///
    /// # Errors
    /// As [`Total::rollup`].
    pub fn rollup(self) -> Result<Mean<K>, Invalid> {
        no_weight(&self.limits)?;
        let families = Families::of(&self.keys)?;
        let counts = Sensitivity::each(&self.limits, 2 * u128::from(self.limits.per_key()))?;
        let joint = families.beside(self.joint, &[self.sum, counts])?;
        Ok(Mean { joint, families: Some(families), ..self })
    }

    /// Sets the decimal point of the mean. Values and the range are in the steps that it leaves.
    #[must_use]
    pub fn with_point(self, point: DecimalPoint) -> Mean<K> {
        Mean { point, ..self }
    }

    /// A value as it enters the sum: see [`Range::term`].
    pub fn term(&self, value: i64) -> i128 {
        self.range.term(value)
    }

    /// Returns the contribution of one person to a key, of `records` whose [terms](Mean::term) add up to
    /// `sum`: clamped, so that the sensitivity holds for any input. Somebody without a record adds nothing.
    pub fn contribution(&self, records: u64, sum: i128) -> Cell {
        if records == 0 {
            return Cell::default();
        }
        let records = records.min(self.limits.per_key());
        let most = i128::from(records) * i128::from(self.range.width());
        Cell { people: 1, records, sum: sum.clamp(-most, most) }
    }

    /// Multiplies the shares of a person by the factor of their records, in [units](Mean::units), where the bound has a
    /// [weight](ContributionBound::weight).
    pub(crate) fn weigh(&self, shares: &mut [Cell]) {
        let Some(weight) = self.limits.weight() else { return };
        let [of_sum, of_count] = self.units();
        let records = shares.iter().map(|share| share.records.into());
        let factor = weight.factor(self.limits.per_key().into(), records);
        for share in shares {
            share.records = factor.of(share.records.into(), of_count) as u64;
            share.sum = factor.of(share.sum, of_sum);
        }
    }

    /// Returns true if people with more than the bound count in part.
    pub(crate) fn weighs(&self) -> bool {
        self.limits.weight().is_some()
    }

    /// Returns the contribution of one person to a key: the number of these values, of which the first `per_key` count, and
    /// the sum of their [terms](Mean::term).
    pub(super) fn contribution_of(&self, values: &[i64]) -> PairSums {
        let values = self.limits.first(values);
        let sum = values.iter().map(|value| self.term(*value)).sum();
        PairSums { people: u64::from(!values.is_empty()), records: values.len() as u64, sums: [sum, 0] }
    }

    /// The only keys that it is released for, where they are public.
    pub(crate) fn listed(&self) -> Option<Arc<[K]>> {
        self.keys.listed()
    }

    pub(super) fn range(&self) -> &Range {
        &self.range
    }

    pub(super) fn keys(&self) -> &Keys<K> {
        &self.keys
    }

    pub(super) fn stated(&self) -> KeyedStatistic<'_, K> {
        KeyedStatistic {
            measure: "mean",
            range: Some(self.range),
            limits: &self.limits,
            keys: &self.keys,
            point: self.point,
            counts_people: self.limits.per_key() == 1 && !self.weighs(),
            cut: Cut::two_steps(&self.limits),
            families: self.families.as_ref(),
            also: None,
        }
    }

    /// Returns the additional cost of a part of a person, where counts have this percentage of the price, if it is stated.
    pub(crate) fn cut(&self, counting: Option<u8>) -> Cut {
        if self.families.is_some() || self.weighs() {
            return Cut::two_steps(&self.limits);
        }
        Cut::of_means(&self.limits, self.keys.listed().map(|keys| keys.len()), counting)
    }

    /// Returns the numbers of units of a step of the sum, and of a record: 1 unless people count in part.
    pub(crate) fn units(&self) -> [u64; 2] {
        let records = u128::from(self.limits.per_key());
        [records * u128::from(self.range.width()), records].map(|most| self.limits.units(most))
    }

    /// Returns the distance by which one unit moves the sums, in half units.
    pub(crate) fn sum_sensitivity(&self) -> &Sensitivity {
        &self.sum
    }

    /// Returns the distance by which one unit moves the counts.
    pub(crate) fn count_sensitivity(&self) -> &Sensitivity {
        &self.count
    }
}

impl<K> Sealed for Mean<K> {}

impl<K: Key> Statistic for Mean<K> {
    type Tally = Cells<K>;

    /// Sum and count jointly, *both in half units*: its squared length is four times
    /// `keys per_key^2 (((high - low) / 2)^2 + 1)`.
    fn sensitivity(&self) -> Sensitivity {
        self.joint
    }
}

/// Refuses a weight beside the totals of parents.
fn no_weight(limits: &ContributionBound) -> Result<(), Invalid> {
    if limits.weight().is_none() {
        return Ok(());
    }
    Err(Invalid::new(
        "weight",
        InvalidKind::Mixed,
        "no weight beside rollup, whose parents are sums of whole shares",
    ))
}

#[cfg(test)]
mod tests;
