//! The mean of vectors whose bounds nobody knows: what is asked, and what one person adds to it.

use std::sync::Arc;

use super::clip::Ranges;
use super::rows::VectorRows;
use crate::canonical::Canonical;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::answer::Coordinate;
use crate::mechanisms::bound::{ContributionBound, Range};
use crate::mechanisms::cut::Cut;
use crate::mechanisms::keys::{Key, Keys};
use crate::mechanisms::point::DecimalPoint;
use crate::mechanisms::sealed::Sealed;
use crate::mechanisms::sensitivity::Sensitivity;
use crate::mechanisms::statistic::{KeyedStatistic, Statistic};
use crate::mechanisms::tally::Cells;

/// The mean of the vectors of each key, whose bounds are found, and followed from window to window.
///
/// What must be known is an outer range for each coordinate, which may be far too wide. By [`Gaussian`] noise:
///
/// * **The first window** of a key spends [`finding`](FoundMean::finding) percent on two quantiles of each coordinate, those of 0.01
///   and 0.99 where there are people enough, or less far out: they say where the values are, and how far apart.
/// * **Every window** measures each record in what is known by then, a centre and a covariance: a record of
///   the same distribution then has about the length of a vector of `d` normal numbers. What is longer than
///   `sqrt(d + 2 sqrt(d l) + 2 l)` is brought to that length, with `l = ln people`: of normal numbers no more than one
///   vector in so many [`people`](FoundMean::people) is. The sum of what is measured, the count, and for
///   [`following`](FoundMean::following) percent the sum of all products of two coordinates have their noise.
/// * **The next window** has its centre and covariance from what this one released, which is public and costs nothing. It spends
///   nothing on finding, and so has less noise. A mean that moves and a scale that grows are followed, within a few windows.
///
/// So the noise has the shape of the data, whatever units they are in and however the coordinates go together.
///
/// Records that were shortened draw the mean toward the centre. That is no noise, and no interval holds it; but where most were, the
/// interval is the outer range.
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
    /// The mean over at most `per_key` records of each person in each key, within these outer ranges: a range for each
    /// coordinate, to which it is clipped, but which it need not fill.
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

    /// About how many records a key has in a window; 1,000 unless said. Which quantiles are found depends on it, and how long a
    /// record may be before it is shortened: from 4.5 standard deviations on for 1,000 of them in one dimension, 6.0 for a million.
    ///
    /// Where so few are expected that even quartiles could not be told from the ends of the outer range, the mechanism is
    /// refused by name (`people`): every window would be paid for, and none would say anything. Where fewer come than are
    /// expected, the first window of a key has the outer range for its interval.
    ///
    /// Rather too few than too many: quantiles nearer to the middle are found as well, but with fewer people than were expected
    /// they may be missed, and are then not left to the next window.
    #[must_use]
    pub fn people(self, people: u64) -> FoundMean<K> {
        FoundMean { people, ..self }
    }

    /// The percentage of the cost that goes into finding bounds, in a window that knows none; 25 unless said.
    #[must_use]
    pub fn finding(self, percent: u8) -> FoundMean<K> {
        FoundMean { finding: percent, ..self }
    }

    /// The percentage of the cost, of what finding has left, that goes into the covariance for the next window; 5 unless said.
    #[must_use]
    pub fn following(self, percent: u8) -> FoundMean<K> {
        FoundMean { following: percent, ..self }
    }

    /// Tells the coordinates by these names, each with its decimal point there. Values and ranges are in the steps that it
    /// leaves.
    ///
    /// # Errors
    /// Names `of` unless there is one for each coordinate.
    pub fn told_as(self, coordinates: Vec<Coordinate>) -> Result<FoundMean<K>, Invalid> {
        let coordinates = Coordinate::each(coordinates, self.coordinates.len())?;
        Ok(FoundMean { coordinates, ..self })
    }

    /// Adds what one person left in a key: the first `per_key` of these records. A record of another length counts as one that
    /// is at the centre, wherever that will be. Somebody without a record adds nothing.
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

    /// What is known of a key that one person alone has, with these records.
    pub fn of_one<V: AsRef<[i64]>>(&self, records: &[V]) -> VectorRows {
        let mut known = VectorRows::of(self.dimension());
        self.add(&mut known, records);
        known
    }

    /// How many coordinates.
    pub fn dimension(&self) -> usize {
        self.outer.len()
    }

    /// The only keys that it is told for.
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

#[cfg(test)]
mod tests;
