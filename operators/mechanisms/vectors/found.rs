//! The mean of vectors of unknown bounds: the request, and the contribution of one person.

use std::sync::Arc;

use super::mean::Ranges;
use super::rows::VectorRows;
use crate::canonical::Canonical;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::additive::{Additive, UncheckedNoise, percent};
use crate::mechanisms::answer::{Coordinate, DecimalPoint};
use crate::mechanisms::bound::{ContributionBound, Range, Sensitivity};
use crate::mechanisms::keys::{Key, Keys};
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::spend::{Cut, Spend};
use crate::mechanisms::statistic::{Cells, KeyedStatistic, Statistic};

/// The mean of the vectors of each key, whose bounds are found, and followed from window to window.
///
/// What must be known is an outer range for each coordinate, which may be far too wide. By [`Gaussian`]
/// noise:
///
/// * **The first window** of a key spends [`finding`](FoundMean::finding) percent on two quantiles of each
///   coordinate, those of 0.01 and 0.99 where there are people enough, or less far out: they say where the
///   values are, and how far apart.
/// * **Every window** measures each record in what is known by then, a centre and a covariance: a record of
///   the same distribution then has about the length of a vector of `d` normal numbers. What is longer than
///   `sqrt(d + 2 sqrt(d l) + 2 l)` is brought to that length, with `l = ln people`: of normal numbers no more
///   than one vector in so many [`people`](FoundMean::people) is. The sum of what is measured, the count, and
///   for [`following`](FoundMean::following) percent the sum of all products of two coordinates have their
///   noise.
/// * **The next window** has its centre and covariance from what this one released, which is public and costs
///   nothing. It spends nothing on finding, and so has less noise. A mean that moves and a scale that grows
///   are followed, within a few windows.
///
/// So the noise has the shape of the data, whatever units they are in and however the coordinates go
/// together.
///
/// Records that were shortened draw the mean toward the centre. That is no noise, and no interval holds it;
/// but where most were, the interval is the outer range.
///
/// [`Gaussian`]: crate::mechanisms::Gaussian
#[derive(Clone, Debug)]
pub struct FoundMean<K> {
    outer: Arc<[Range]>,
    limits: ContributionBound,
    keys: Keys<K>,
    listed: Arc<[K]>,
    coordinates: Arc<[Coordinate]>,
    counts: Sensitivity,
    people: u64,
    finding: u8,
    following: u8,
}

impl<K: Key> FoundMean<K> {
    /// The mean over at most `per_key` records of each person in each key, within these outer ranges: a range
    /// for each coordinate, to which it is clipped, but which it need not fill.
    ///
    /// # Errors
    /// Names `keys` unless they are public, and `bound` where the sensitivity leaves 128 bits.
    pub fn new(outer: &Ranges, limits: ContributionBound, keys: Keys<K>) -> Result<FoundMean<K>, Invalid> {
        let Some(listed) = keys.listed() else {
            let remedy = "public keys: bounds are found for each of them, and a key that is still to be discovered has none";
            return Err(Invalid::new("keys", InvalidKind::Mixed, remedy));
        };
        Ok(FoundMean {
            outer: outer.each().into(),
            counts: Sensitivity::each(&limits, limits.per_key().into())?,
            limits,
            keys,
            listed,
            coordinates: outer.each().iter().map(|_| Coordinate::unnamed()).collect(),
            people: 1000,
            finding: 25,
            following: 5,
        })
    }

    /// About how many records a key has in a window; 1,000 unless said. Which quantiles are found depends on
    /// it, and how long a record may be before it is shortened: from 4.5 standard deviations on for 1,000 of
    /// them in one dimension, 6.0 for a million.
    ///
    /// Where so few are expected that even quartiles could not be distinguished from the ends of the outer
    /// range, the mechanism is refused by name (`people`): every window would be paid for, and none would say
    /// anything. Where fewer come than are expected, the first window of a key has the outer range for its
    /// interval.
    ///
    /// Rather too few than too many: quantiles nearer to the middle are found as well, but with fewer people
    /// than were expected they may be missed, and are then not left to the next window.
    #[must_use]
    pub fn people(self, people: u64) -> FoundMean<K> {
        FoundMean { people, ..self }
    }

    /// The percentage of the cost that goes into finding bounds, in a window that knows none; 25 unless said.
    #[must_use]
    pub fn finding(self, percent: u8) -> FoundMean<K> {
        FoundMean { finding: percent, ..self }
    }

    /// The percentage of the cost, of what finding has left, that goes into the covariance for the next
    /// window; 5 unless said.
    #[must_use]
    pub fn following(self, percent: u8) -> FoundMean<K> {
        FoundMean { following: percent, ..self }
    }

    /// Tells the coordinates by these names, each with its decimal point there. Values and ranges are in the
    /// steps that it leaves.
    ///
    /// # Errors
    /// Names `of` unless there is one for each coordinate.
    pub fn told_as(self, coordinates: Vec<Coordinate>) -> Result<FoundMean<K>, Invalid> {
        let coordinates = Coordinate::each(coordinates, self.coordinates.len())?;
        Ok(FoundMean { coordinates, ..self })
    }

    /// Adds what one person left in a key: the first `per_key` of these records. A record of another length
    /// counts as one that is at the centre, wherever that will be. Somebody without a record adds nothing.
    #[inline]
    pub fn add<V: AsRef<[i64]>>(&self, known: &mut VectorRows, records: &[V]) {
        let records = self.limits.first(records);
        if records.is_empty() {
            return;
        }
        known.fit(self.dimension());
        known.person();
        records.iter().for_each(|record| known.add(record.as_ref()));
    }

    /// Returns the tally of a key that one person alone has, with these records.
    pub fn of_one<V: AsRef<[i64]>>(&self, records: &[V]) -> VectorRows {
        let mut known = VectorRows::of(self.dimension());
        self.add(&mut known, records);
        known
    }

    /// Returns the number of coordinates.
    pub fn dimension(&self) -> usize {
        self.outer.len()
    }

    /// The only keys that it is released for.
    pub(crate) fn listed(&self) -> Option<Arc<[K]>> {
        Some(Arc::clone(&self.listed))
    }

    pub(super) fn keys(&self) -> &Arc<[K]> {
        &self.listed
    }

    pub(super) fn outer(&self) -> &Arc<[Range]> {
        &self.outer
    }

    pub(super) fn limits(&self) -> &ContributionBound {
        &self.limits
    }

    pub(super) fn coordinates(&self) -> &Arc<[Coordinate]> {
        &self.coordinates
    }

    pub(super) fn stated_people(&self) -> u64 {
        self.people
    }

    /// The percentages: of finding, and of following.
    pub(super) fn percentages(&self) -> (u8, u8) {
        (self.finding, self.following)
    }

    pub(super) fn stated(&self) -> KeyedStatistic<'_, K> {
        let form = Canonical::new("discreet found mean 1")
            .bytes(&self.people.to_be_bytes())
            .number(self.finding.into())
            .number(self.following.into());
        let form = self.outer.iter().fold(form, |form, range| form.number(range.low()).number(range.high()));
        let form = self.coordinates.iter().fold(form, |form, coordinate| coordinate.canonical(form));
        KeyedStatistic {
            measure: "found mean",
            range: None,
            limits: &self.limits,
            keys: &self.keys,
            point: DecimalPoint::WHOLE,
            counts_people: self.limits.per_key() == 1,
            cut: Cut::two_steps(&self.limits),
            also: Some(form.finish()),
        }
    }
}

impl<K> Sealed for FoundMean<K> {}

impl<K: Key> Statistic for FoundMean<K> {
    type Tally = Cells<K, VectorRows>;

    /// Of the counts. A sum is of lengths that are settled with the noise.
    fn sensitivity(&self) -> Sensitivity {
        self.counts
    }
}

// What each number of a found mean may cost, in which steps it is counted, and the noise that this buys.

/// The bound on the length of a record, and the steps in which it is counted: enforced in integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct VectorSteps {
    /// The bound on the length, in the units of a frame.
    pub(super) longest: f64,
    /// A step is `2^-bits` of such a unit.
    pub(super) bits: u32,
    /// For products of two coordinates, one is `2^-coarse`.
    pub(super) coarse: u32,
}

/// The noise of one window of a key.
#[derive(Clone, Debug)]
pub(super) struct WindowNoise {
    pub(super) counts: Additive,
    /// Of each coordinate of the sum, in steps.
    pub(super) sums: Additive,
    /// Of each entry of the sum of products, in squares of coarse steps.
    pub(super) squares: Additive,
    /// Inside of which a count is as often as it should be; and a sum.
    pub(super) halves: (u64, u64),
}

/// The prices of a found mean.
#[derive(Clone, Debug)]
pub(super) struct FoundMeanPrices {
    pub(super) steps: VectorSteps,
    /// For finding the bounds of one key.
    pub(super) finding: Spend,
    /// Of a window that has found its bounds itself.
    pub(super) fresh: WindowNoise,
    /// Of a window that was left its bounds.
    pub(super) kept: WindowNoise,
}

/// The finest steps that sums are counted in, and products. So fine, nothing of rounding shows: of `n`
/// records the mean is off by less than a step.
const FINEST: u32 = 30;
const FINEST_PRODUCTS: u32 = 10;

/// The coarsest. At these rounding would show.
const COARSEST: u32 = 16;
const COARSEST_PRODUCTS: u32 = 5;

/// More people than this are nowhere.
const MOST_PEOPLE: u64 = 1 << 40;

impl VectorSteps {
    /// Returns the largest length of a record, in steps. It is far below 2^53.
    pub(super) fn most(&self) -> u64 {
        (self.longest * libm::exp2(self.bits.into())) as u64
    }

    /// By how much coarser the steps of products are.
    pub(super) fn coarser(&self) -> u32 {
        self.bits - self.coarse
    }

    /// Returns the largest length of the products of one record, each pair of coordinates once, in squares of
    /// coarse steps: no longer than the square of the record's length.
    pub(super) fn most_products(&self) -> u64 {
        u64::try_from(u128::from(self.most()).pow(2) >> (2 * self.coarser())).unwrap_or(u64::MAX)
    }
}

/// Returns the length that a vector of this number of normal numbers exceeds with one chance in `people` at
/// most: a bound on the chi-squared tail (Laurent and Massart 2000).
pub(super) fn longest(dimension: usize, people: u64) -> f64 {
    let (dimension, log) = (dimension as f64, libm::log(people.max(2) as f64));
    (dimension + 2.0 * (dimension * log).sqrt() + 2.0 * log).sqrt()
}

impl FoundMeanPrices {
    /// # Errors
    /// Names `finding`, `following`, `counting` or `people` where it is out of range, and `bound` or `rho`
    /// where steps would have to be too coarse.
    pub(super) fn new<K: Key>(
        asked: &UncheckedNoise,
        mean: &FoundMean<K>,
    ) -> Result<FoundMeanPrices, Invalid> {
        let spend = asked.spend()?;
        let (finding, following) = mean.percentages();
        let (finding, left) = spend.split(percent("finding", finding)?);
        let kind = match mean.stated_people() {
            0 => Some(InvalidKind::Zero),
            1..=MOST_PEOPLE => None,
            _ => Some(InvalidKind::TooLarge),
        };
        if let Some(kind) = kind {
            return Err(Invalid::new("people", kind, "a whole number from 1 to 2^40"));
        }
        let steps = |bits, coarse| {
            let longest = longest(mean.dimension(), mean.stated_people());
            VectorSteps { longest, bits, coarse }
        };
        let parts = |spend: Spend| -> Result<(Spend, Spend, Spend), Invalid> {
            let (squares, left) = spend.split(percent("following", following)?);
            let (counts, sums) = left.split(asked.counting()?);
            Ok((counts, sums, squares))
        };
        let (fresh, kept) = (parts(left)?, parts(spend)?);
        let law = |spend: Spend, most: u64| {
            let moved = u128::from(mean.limits().per_key()) * u128::from(most);
            // All coordinates of a key together are one vector of this length, and their noise is the same in
            // each.
            Additive::within(asked.family, spend, &Sensitivity::each(mean.limits(), moved)?)
        };
        let both = |of: fn(&(Spend, Spend, Spend)) -> Spend, most: u64| {
            Ok((law(of(&fresh), most)?, law(of(&kept), most)?))
        };
        let counts = both(|parts| parts.0, 1)?;
        let (bits, sums) = finest(COARSEST..=FINEST, |bits| both(|parts| parts.1, steps(bits, bits).most()))?;
        let (coarse, squares) = finest(COARSEST_PRODUCTS..=FINEST_PRODUCTS, |coarse| {
            both(|parts| parts.2, steps(bits, coarse).most_products())
        })?;
        let each = (1.0 + asked.confidence()?) / 2.0;
        let laws = |counts: Additive, sums: Additive, squares: Additive| -> Result<WindowNoise, Invalid> {
            let halves = (counts.half_width(each)?, sums.half_width(each)?);
            Ok(WindowNoise { counts, sums, squares, halves })
        };
        Ok(FoundMeanPrices {
            steps: steps(bits, coarse),
            finding: finding.part_of(mean.limits().keys()),
            fresh: laws(counts.0, sums.0, squares.0)?,
            kept: laws(counts.1, sums.1, squares.1)?,
        })
    }
}

/// With the most bits with which it can be made.
fn finest<T>(
    bits: std::ops::RangeInclusive<u32>,
    make: impl Fn(u32) -> Result<T, Invalid>,
) -> Result<(u32, T), Invalid> {
    let least = *bits.start();
    let made = bits.rev().find_map(|bits| make(bits).ok().map(|made| (bits, made)));
    made.map_or_else(|| make(least).map(|made| (least, made)), Ok)
}

#[cfg(test)]
mod tests;
