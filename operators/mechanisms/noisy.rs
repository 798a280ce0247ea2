//! Cells with additive noise: the part that totals and means share.

use super::additive::UncheckedNoise;
use super::additive::{Additive, Family};
use super::answer::DecimalPoint;
use super::answer::{Answer, Estimate, EstimateFormat, EstimatesPerKey, FoundKeys, Noised};
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
use super::statistic::{KeyedStatistic, MeasureKind, Total};
use super::weight;
use crate::accounting::ReleaseCost;
use crate::canonical::{Canonical, Digest};
use crate::invalid::Invalid;
use crate::mechanisms::mechanism::Sealed;
use crate::noise::NoiseSource;

/// A number a key with additive noise, ready to be drawn: [`NoisyTotals`], or
/// [`NoisyMeans`](super::NoisyMeans).
///
/// Private for one unit more or less, at [`cost`](Prepared::cost) a window. With public keys every window asks
/// for as many draws as there are keys, of each number. With keys to discover, what is asked for differs
/// between neighbours in two numbers of draws: that of the threshold, by the keys that only one of them has
/// and that are not public; and, where the value has a draw of its own, that of the values of keys that are
/// found, which is the number of their rows and so part of the answer that is paid for. The values of keys that
/// were public before are drawn ahead of them, one for each.
#[derive(Clone, Debug)]
pub struct Noisy<K, N> {
    selection: Selection<K>,
    numbers: N,
    /// The numbers of a key in the window in which it is found, if a part of its price finds it.
    found: Option<FoundNumbers<N>>,
    /// The numbers of the level above, and what its sensitivity depends on.
    above: Option<(N, Families)>,
    format: EstimateFormat,
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "a plan alone asks"))]
    reaches: Vec<f64>,
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "a plan alone asks"))]
    errors: Option<Vec<f64>>,
    cost: ReleaseCost,
    parameters: Digest,
}

/// The numbers of keys in the window in which they are found.
#[derive(Clone, Debug)]
struct FoundNumbers<N> {
    numbers: N,
    noise: Vec<Noised>,
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "a plan alone asks"))]
    reaches: Vec<f64>,
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "a plan alone asks"))]
    errors: Option<Vec<f64>>,
    /// The percentage of a key's price that finds it.
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "a plan alone asks"))]
    percent: u8,
}

/// The figures of keys that are to be discovered, as a plan states them.
#[cfg(feature = "cli")]
#[derive(Clone, Debug)]
pub(crate) struct KeyFinding {
    /// The least numbers of people with which a key is found in 50, in 90 and in 99 of 100 windows.
    pub(crate) people: [i64; 3],
    /// The figures of the window in which a key is found, if they are not as in any other.
    pub(crate) apart: Option<FoundApart>,
}

/// The figures of the numbers of a key in the window in which it is found.
#[cfg(feature = "cli")]
#[derive(Clone, Debug)]
pub(crate) struct FoundApart {
    /// The percentage of a key's price that finds it.
    pub(crate) percent: u8,
    /// The noise of each number.
    pub(crate) noise: Vec<Noised>,
    /// The half-width of each number.
    pub(crate) intervals: Vec<f64>,
    /// See [`Noisy::errors`].
    pub(crate) errors: Option<Vec<f64>>,
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
    /// True if one of several numbers is a count, which may be the number of people.
    const HAS_A_COUNT: bool = false;

    /// The noise of each, in what it is released in.
    fn noise(&self, point: DecimalPoint) -> Vec<Noised>;

    /// Returns the number of estimates of a key.
    fn each(&self) -> EstimatesPerKey {
        EstimatesPerKey::One
    }

    /// Returns the half-width of each interval, in released units.
    fn reaches(&self, point: DecimalPoint) -> Vec<f64>;

    /// Returns the half-widths of a sum and of a count whose quotient has these intervals, where it is made of other numbers.
    fn errors(&self, _point: DecimalPoint) -> Option<Vec<f64>> {
        None
    }

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

/// The numbers of a level to be made: at which price, and for which keys.
#[derive(Clone, Copy)]
pub(super) struct NumbersOf<'f> {
    pub(super) spend: Spend,
    /// True if one draw, of the number of people, both finds a key and is released.
    pub(super) shared: bool,
    /// The percentage of the price that the count of a key has at least, in the window in which it finds the key.
    pub(super) finding: u8,
    pub(super) level: Level<'f>,
}

/// Prepares numbers that `numbers` makes. The window in which a key is found, and later ones, have numbers of their own: see
/// [`selection`](super::selection).
pub(super) fn settled<K: Key, N: Numbers>(
    asked: &UncheckedNoise,
    stated: &KeyedStatistic<'_, K>,
    numbers: impl Fn(NumbersOf<'_>) -> Result<N, Invalid>,
) -> Result<Noisy<K, N>, Invalid> {
    let (spend, confidence) = (asked.spend()?, asked.confidence()?);
    let discovers = stated.keys.discovers();
    let shared = discovers && stated.counts_people;
    let finds_apart = discovers && (!shared || N::HAS_A_COUNT);
    let percent = finds_apart.then(|| asked.finding()).transpose()?;
    // A level above has its part of every window's price; the rest is of keys.
    let (of_keys, above) = match stated.families {
        None => (spend, None),
        Some(families) => {
            let (of_keys, rest) = spend.split(rollup::OF_KEYS);
            let level = Level::Parents(families);
            let above = numbers(NumbersOf { spend: rest, shared: false, finding: 0, level })?;
            (of_keys, Some((above, families.clone())))
        }
    };
    let (selecting, of_found) = match percent {
        Some(percent) if !shared => of_keys.split(percent),
        _ => (of_keys, of_keys),
    };
    let level = if above.is_some() { Level::Keys } else { Level::Only };
    let found = percent
        .map(|percent| -> Result<FoundNumbers<N>, Invalid> {
            let finding = if shared { percent } else { 0 };
            let numbers = numbers(NumbersOf { spend: of_found, shared, finding, level })?;
            let (noise, reaches) = (numbers.noise(stated.point), numbers.reaches(stated.point));
            Ok(FoundNumbers { noise, reaches, errors: numbers.errors(stated.point), numbers, percent })
        })
        .transpose()?;
    // Of people who count in part one public key may cost all that the numbers have, beside what finds their other keys.
    let has_unequal_shares = found.is_some() && !shared && stated.has_unequal_shares();
    let of_public = if has_unequal_shares { of_found } else { of_keys };
    let numbers =
        numbers(NumbersOf { spend: of_public, shared: shared && found.is_none(), finding: 0, level })?;
    let person = Sensitivity::each(stated.limits, 1)?;
    let selection = Selection::new(stated.keys, stated.limits.keys(), || {
        let finding = found.as_ref().map_or(&numbers, |found| &found.numbers);
        let people = finding.people().filter(|_| shared).cloned();
        people.map_or_else(|| Additive::within(asked.family, selecting, &person), Ok)
    })?;
    let delta = delta(stated.keys)?;
    let levels = || std::iter::once(&numbers).chain(above.as_ref().map(|(above, _)| above));
    let stated_form = parameters(asked, spend, delta, stated);
    Ok(Noisy {
        selection,
        format: EstimateFormat {
            noise: levels().flat_map(|of| of.noise(stated.point)).collect(),
            point: stated.point,
            confidence,
            each: if above.is_some() { EstimatesPerKey::Levels { keys: 0 } } else { numbers.each() },
            of: None,
            bounded: stated.is_bounded(),
            found: None,
        },
        reaches: levels().flat_map(|of| of.reaches(stated.point)).collect(),
        errors: numbers.errors(stated.point),
        numbers,
        found,
        above,
        cost: spend.cost_with(person.neighbours(), delta, (stated.cut, asked.family == Family::Gaussian))?,
        // Keys were once found with a part of every window's price.
        parameters: match percent {
            None => stated_form,
            Some(percent) => {
                let form = if has_unequal_shares { "discreet keys found 3" } else { "discreet keys found 2" };
                Canonical::new(form).digest(&stated_form).number(percent.into()).finish()
            }
        },
    })
}

impl<K: Key, N> Noisy<K, N> {
    /// The noise of each number: a total's, or both of a mean's, a sum and a count or the sums of the distances from both ends
    /// of its range.
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

    /// Returns the half-widths from which the error of a key follows, if they are not those of its numbers: of a sum and of a
    /// count whose quotient errs as much.
    #[cfg(feature = "cli")]
    pub(crate) fn errors(&self) -> Option<&[f64]> {
        self.errors.as_deref()
    }

    /// Returns the noise of each number of a key in the window in which it is found, if a part of its price finds it.
    pub fn noise_of_found(&self) -> Option<&[Noised]> {
        self.found.as_ref().map(|found| &found.noise[..])
    }

    /// Returns the figures of keys that are to be discovered.
    #[cfg(feature = "cli")]
    pub(crate) fn finding(&self) -> Option<KeyFinding> {
        let apart = self.found.as_ref().map(|found| FoundApart {
            percent: found.percent,
            noise: found.noise.clone(),
            intervals: found.reaches.clone(),
            errors: found.errors.clone(),
        });
        Some(KeyFinding { people: self.selection.threshold()?.people_to_find(), apart })
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
        let own = self.numbers.largest_needed()?;
        match &self.found {
            None => Some(own),
            Some(found) => Some(own.max(found.numbers.largest_needed()?)),
        }
    }

    fn draw(
        &self,
        exact: Cells<K, N::Cell>,
        state: Option<&[u8]>,
        noise: &mut NoiseSource,
    ) -> Drawn<Answer<K, N::Number>> {
        let sums = self.above.as_ref().map(|(above, _)| (above, rollup::sums(exact.iter())));
        let mut rows = self.selection.rows(exact, state, noise);
        let mut format = self.format.clone();
        let estimates = match &self.found {
            None => self.numbers.estimates(&mut rows.rows, self.selection.threshold(), noise),
            Some(found) => {
                let keys = rows.rows.iter().map(|row| row.passed.is_some()).collect();
                format.found = Some(FoundKeys { noise: found.noise.clone(), keys });
                let numbers = (&self.numbers, &found.numbers, self.format.each());
                estimates_apart(numbers, &mut rows.rows, self.selection.threshold(), noise)
            }
        };
        let Some((above, sums)) = sums else { return rows.drawn(estimates, format) };
        let mut parents = rollup::rows(&rows.rows, sums);
        let totals = above.estimates(&mut parents, None, noise);
        format.each = EstimatesPerKey::Levels { keys: estimates.len() };
        let mut drawn = rows.drawn(estimates, format);
        drawn.answer.cells.extend(parents.into_iter().map(|row| row.key).zip(totals));
        drawn
    }
}

/// Draws the noise of keys that were public before this window, then that of keys that were found in it; `each` is the number of
/// estimates of a key.
fn estimates_apart<K: Key, N: Numbers>(
    (known, found, each): (&N, &N, usize),
    rows: &mut Vec<SelectedRow<K, N::Cell>>,
    threshold: Option<&Threshold>,
    noise: &mut NoiseSource,
) -> Vec<Estimate<N::Number>> {
    let places: Vec<bool> = rows.iter().map(|row| row.passed.is_some()).collect();
    let (mut new, mut former): (Vec<_>, Vec<_>) = rows.drain(..).partition(|row| row.passed.is_some());
    let of_former = known.estimates(&mut former, None, noise);
    let of_new = found.estimates(&mut new, threshold, noise);
    let mut estimates = Vec::with_capacity(of_former.len() + of_new.len());
    let (mut former, mut of_former) = (former.into_iter(), of_former.into_iter());
    let (mut new, mut of_new) = (new.into_iter(), of_new.into_iter());
    for is_new in places {
        let (row, numbers) = if is_new { (&mut new, &mut of_new) } else { (&mut former, &mut of_former) };
        rows.extend(row.next());
        estimates.extend(numbers.by_ref().take(each));
    }
    estimates
}

// One noised whole number a key.

/// Counts, people or sums with additive noise, ready to be drawn.
pub type NoisyTotals<K> = Noisy<K, Totals>;

#[derive(Clone, Debug)]
pub struct Totals {
    measure: MeasureKind,
    number: &'static str,
    column: NoisedColumn,
    /// The number of units of one: 1 unless people count in part.
    units: u64,
}

pub(super) fn totals<K: Key>(asked: &UncheckedNoise, total: &Total<K>) -> Result<NoisyTotals<K>, Invalid> {
    settled(asked, &total.stated(), |NumbersOf { spend, shared, level, .. }| {
        let noise = Additive::within(asked.family, spend, &level.moved(total.key_sensitivity())?)?;
        let column = NoisedColumn::new(noise, shared, asked.confidence()?)?;
        Ok(Totals { measure: total.measure(), number: total.measures(), column, units: total.units() })
    })
}

impl NumberForm for Totals {
    type Cell = Cell;
    type Number = i128;
    type Value = i128;
}

impl Numbers for Totals {
    fn noise(&self, point: DecimalPoint) -> Vec<Noised> {
        let noised = self.column.noised(self.number).with_point(point);
        vec![Noised { scale: noised.scale / self.units as f64, ..noised }]
    }

    fn reaches(&self, point: DecimalPoint) -> Vec<f64> {
        vec![point.float(self.column.reach() / self.units as f64)]
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
        let value = |cell: &Cell| self.measure.value(cell, self.units);
        let estimates = self.column.estimates(rows, value, threshold, noise);
        if self.units == 1 {
            return estimates;
        }
        estimates.into_iter().map(|estimate| weight::whole(estimate, self.units)).collect()
    }
}

#[cfg(test)]
mod tests;
