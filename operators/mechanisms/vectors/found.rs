//! The mean of vectors of unknown bounds: the statistic, the contribution of one person, and the prices.

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

/// The mean of the vectors of each key, with bounds that are estimated in the first window and then follow
/// the data.
///
/// The caller states an outer range for each coordinate, which may be far too wide. With [`Gaussian`] noise:
///
/// * **The first window** of a key spends [`finding`](FoundMean::finding) percent on two quantiles of each
///   coordinate: those of 0.01 and 0.99 if there are enough people, and less extreme ones otherwise. They
///   estimate the location and the scale of the values.
/// * **Every window** measures each record in a frame, a centre and a covariance: a record of the same
///   distribution then has about the length of a vector of `d` normal numbers. A longer record than
///   `sqrt(d + 2 sqrt(d l) + 2 l)` is shortened to that length, with `l = ln people`: of normal vectors, at
///   most one in [`people`](FoundMean::people) is longer. The window adds noise to the sum of the measured
///   records, to their count, and, for [`following`](FoundMean::following) percent, to the sum of all
///   products of two coordinates.
/// * **The next window** takes its centre and covariance from the released numbers of this one, which are
///   public and cost nothing. It spends nothing on quantiles, and so has less noise. A mean that moves or a
///   scale that grows is followed within a few windows.
///
/// So the noise has the shape of the data, for any units and any correlation of the coordinates.
///
/// Shortened records bias the mean toward the centre. This is not noise, and no interval includes it; but if
/// most records were shortened, the interval is the outer range.
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
    /// Creates the mean over at most `per_key` records of each person in each key, with an outer range for
    /// each coordinate, to which values are clipped, and which may be much wider than the data.
    ///
    /// # Errors
    /// Names `keys` unless they are public, and `bound` if the sensitivity exceeds 128 bits.
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

    /// Sets the approximate number of records of a key in a window, by default 1,000. It determines the
    /// quantiles that are estimated, and the length from which a record is shortened: 4.5 standard deviations
    /// for 1,000 records in one dimension, 6.0 for a million.
    ///
    /// If it is so small that even quartiles could not be distinguished from the ends of the outer range,
    /// preparation fails with an error that names `people`: every window would be paid for, and none would be
    /// informative. If a window has fewer records than its quantiles need (`FollowedMeans::least_records`),
    /// the first window of a key has the outer range as its interval.
    ///
    /// An estimate that is too small is safer than one that is too large: less extreme quantiles still find
    /// the bounds, but with fewer people than expected they may be missed, and are then not kept for the next
    /// window.
    #[must_use]
    pub fn people(self, people: u64) -> FoundMean<K> {
        FoundMean { people, ..self }
    }

    /// Sets the percentage of the cost that estimates bounds, in a window that has none, by default 25.
    #[must_use]
    pub fn finding(self, percent: u8) -> FoundMean<K> {
        FoundMean { finding: percent, ..self }
    }

    /// Sets the percentage of the cost, after that of the bounds, that estimates the covariance for the next
    /// window, by default 5.
    #[must_use]
    pub fn following(self, percent: u8) -> FoundMean<K> {
        FoundMean { following: percent, ..self }
    }

    /// Sets the names of the coordinates in answers, each with its decimal point. Values and ranges are in
    /// the steps of that decimal point.
    ///
    /// # Errors
    /// Names `of` unless there is one for each coordinate.
    pub fn with_coordinates(self, coordinates: Vec<Coordinate>) -> Result<FoundMean<K>, Invalid> {
        let coordinates = Coordinate::each(coordinates, self.coordinates.len())?;
        Ok(FoundMean { coordinates, ..self })
    }

    /// Adds the contribution of one person to a key: the first `per_key` of these records. A record of
    /// another length counts as one at the centre, wherever the centre will be. A person without a record
    /// adds nothing.
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

    /// Returns the tally of a key with one person, who has these records.
    pub fn of_one<V: AsRef<[i64]>>(&self, records: &[V]) -> VectorRows {
        let mut known = VectorRows::of(self.dimension());
        self.add(&mut known, records);
        known
    }

    /// Returns the number of coordinates.
    pub fn dimension(&self) -> usize {
        self.outer.len()
    }

    /// Returns the keys that the statistic is released for.
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

    /// Returns the percentages of the cost for the bounds and for the next covariance.
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
            families: None,
            also: Some(form.finish()),
        }
    }
}

/// For demonstrations, which show the truth.
#[cfg(feature = "cli")]
impl<K> FoundMean<K> {
    /// Returns the mean of each coordinate within the outer range, in steps.
    pub(crate) fn shown_in_a_demo(&self, known: &VectorRows) -> Option<Vec<f64>> {
        known.shown_within(&self.outer)
    }
}

impl<K> Sealed for FoundMean<K> {}

impl<K: Key> Statistic for FoundMean<K> {
    type Tally = Cells<K, VectorRows>;

    /// The sensitivity of the counts. That of a sum depends on steps that are fixed with the noise.
    fn sensitivity(&self) -> Sensitivity {
        self.counts
    }
}

// The prices of the numbers of a found mean, the steps that they are counted in, and their noise.

/// The bound on the length of a record and the steps that it is counted in, which are enforced in integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct VectorSteps {
    /// The bound on the length, in the units of a frame.
    pub(super) longest: f64,
    /// The resolution of sums: a step is `2^-bits` of such a unit.
    pub(super) bits: u32,
    /// The resolution of coordinates in products: a step is `2^-coarse`.
    pub(super) coarse: u32,
}

/// The noise of one window of a key.
#[derive(Clone, Debug)]
pub(super) struct WindowNoise {
    pub(super) counts: Additive,
    /// The noise of each coordinate of the sum, in steps.
    pub(super) sums: Additive,
    /// The noise of each entry of the sum of products, in squares of coarse steps.
    pub(super) squares: Additive,
    /// The half-widths of the intervals of a count and of a sum.
    pub(super) halves: (u64, u64),
}

/// The prices and the noise of a found mean.
#[derive(Clone, Debug)]
pub(super) struct FoundMeanPrices {
    pub(super) steps: VectorSteps,
    /// The cost of the bounds of one key.
    pub(super) finding: Spend,
    /// The noise of a window that estimates its bounds.
    pub(super) fresh: WindowNoise,
    /// The noise of a window that has its bounds from the one before it.
    pub(super) kept: WindowNoise,
}

/// The finest steps of sums and of products. At these rounding does not matter: with `n` records the mean is
/// off by less than a step.
const FINEST: u32 = 30;
const FINEST_PRODUCTS: u32 = 10;

/// The coarsest steps of sums and of products. At these, rounding would matter.
const COARSEST: u32 = 16;
const COARSEST_PRODUCTS: u32 = 5;

/// The largest number of people that can be expected.
const MOST_PEOPLE: u64 = 1 << 40;

impl VectorSteps {
    /// Returns the largest length of a record, in steps. It is far below 2^53.
    pub(super) fn most(&self) -> u64 {
        (self.longest * libm::exp2(self.bits.into())) as u64
    }

    /// Returns the number of bits by which the steps of products are coarser.
    pub(super) fn coarser(&self) -> u32 {
        self.bits - self.coarse
    }

    /// Returns the largest length of the products of one record, as a vector with each pair of coordinates
    /// once, in squares of coarse steps: at most the square of the record's length.
    pub(super) fn most_products(&self) -> u64 {
        u64::try_from(u128::from(self.most()).pow(2) >> (2 * self.coarser())).unwrap_or(u64::MAX)
    }
}

/// Returns the length that a vector of this number of normal numbers exceeds with probability at most
/// `1 / people`: a bound on the chi-squared tail (Laurent and Massart 2000).
pub(super) fn longest(dimension: usize, people: u64) -> f64 {
    let (dimension, log) = (dimension as f64, libm::log(people.max(2) as f64));
    (dimension + 2.0 * (dimension * log).sqrt() + 2.0 * log).sqrt()
}

impl FoundMeanPrices {
    /// # Errors
    /// Names `finding`, `following`, `counting` or `people` if it is out of range, and `bound` or `rho` if
    /// the steps would have to be too coarse.
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
            // All coordinates of a key together are one vector of this length, and each has the same noise.
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

/// Returns the largest number of bits for which `make` succeeds, with its value; otherwise the error for the
/// smallest.
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
