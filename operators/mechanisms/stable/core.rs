//! Which records are near most of a few that were chosen beforehand, at every level, and what weight they get for it.
//!
//! A record is in the core of a level where at least `|R| - level` of the references lie within the level's radius:
//! `(x - x')' S^-1 (x - x') / 2 <= radius`. The radii grow by `1 / (1 - gamma)` a level or a little more: they are whole
//! multiples of 2^-32, each rounded up, so that the next level still holds whatever one exchanged record may move out of this.

use super::good::{Covariance, Levels};
use super::shape::Between;

/// Radii are whole multiples of `1 / GRAIN`.
const GRAIN: u128 = 1 << 32;

/// The radius of each level, up to the top.
#[derive(Clone, Debug)]
pub(super) struct Radii(Vec<u128>);

/// What the references make of the records. It tells of single records: never printed.
pub(super) struct Cores {
    /// At most `k`.
    pub(super) score: u32,
    /// In how many of the upper `k` cores a record is.
    pub(super) weights: Vec<u32>,
}

impl Levels {
    /// `gamma = 20 lambda / (7 m)`, for `m` pairs: numerator and denominator.
    pub(super) fn gamma(&self, pairs: u64) -> (u128, u128) {
        (20 * u128::from(self.lambda), 7 * u128::from(pairs))
    }

    /// The radii for so many pairs; there are at least `10 k lambda`, so `gamma` is below a third.
    pub(super) fn radii(&self, pairs: u64) -> Radii {
        let (over, under) = self.gamma(pairs);
        let first = u128::from(self.lambda) * GRAIN;
        let radii = std::iter::successors(Some(first), |radius| {
            Some((radius * under).div_ceil(under.saturating_sub(over).max(1)))
        });
        Radii(radii.take(self.top() as usize + 1).collect())
    }

    /// The cores of every level. The first records are the references: whoever calls this has put them in random order.
    pub(super) fn cores(
        &self,
        records: &[i64],
        dimension: usize,
        references: usize,
        pairs: u64,
        covariance: &Covariance,
    ) -> Cores {
        let radii = self.radii(pairs);
        let near = CovarianceView::of(
            records,
            dimension,
            references,
            u128::from(pairs) * u128::from(self.k),
            covariance,
        );
        let people = records.len() / dimension;
        let mut inside = vec![0usize; self.top() as usize + 1];
        let mut weights = Vec::with_capacity(people);
        for person in 0..people {
            let level = near.level(person, self.top(), &radii);
            if let Some(count) = inside.get_mut(level as usize) {
                *count += 1;
            }
            weights.push(self.top().saturating_add(1).saturating_sub(level.max(self.k + 1)));
        }
        let mut held = 0;
        let mut score = self.k;
        for level in 0..=self.k {
            held += inside[level as usize];
            score = score.min(u32::try_from(people - held).unwrap_or(u32::MAX).saturating_add(level));
        }
        Cores { score, weights }
    }
}

impl Radii {
    /// The largest, rounded up.
    pub(super) fn last(&self) -> f64 {
        self.0.last().map_or(0.0, |radius| *radius as f64 / GRAIN as f64 * (1.0 + 1e-14))
    }

    fn at(&self, level: usize) -> f64 {
        self.0[level] as f64 / GRAIN as f64
    }
}

/// All records, as the covariance sees them.
struct CovarianceView<'a> {
    records: &'a [i64],
    dimension: usize,
    references: usize,
    /// What makes a distance of `v' G^-1 v`: half of `2 m k`.
    times: u128,
    covariance: &'a Covariance,
    whitened: Vec<f64>,
    errors: Vec<f64>,
    /// Somewhere among the references, how far the farthest of them is from there, and the largest of their errors.
    middle: Vec<f64>,
    farthest: f64,
    error: f64,
}

fn length(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

impl<'a> CovarianceView<'a> {
    fn of(
        records: &'a [i64],
        dimension: usize,
        references: usize,
        times: u128,
        covariance: &'a Covariance,
    ) -> CovarianceView<'a> {
        // From the first record, so that what is far from zero loses nothing.
        let from = &records[..dimension];
        let mut whitened = vec![0.0; records.len()];
        let mut away = vec![0; dimension];
        let errors = records.chunks(dimension).zip(whitened.chunks_mut(dimension)).map(|(record, into)| {
            away.iter_mut().zip(record).zip(from).for_each(|((away, &x), &from)| *away = x - from);
            covariance.shape.whitened(&away, into)
        });
        let errors: Vec<f64> = errors.collect();
        let mut middle = vec![0.0; dimension];
        for place in whitened.chunks(dimension).take(references) {
            middle.iter_mut().zip(place).for_each(|(sum, x)| *sum += x / references as f64);
        }
        let reaches = whitened.chunks(dimension).take(references).map(|place| length(place, &middle));
        let farthest = reaches.fold(0.0, f64::max);
        let error = errors.iter().take(references).copied().fold(0.0, f64::max);
        CovarianceView {
            records,
            dimension,
            references,
            times,
            covariance,
            whitened,
            errors,
            middle,
            farthest,
            error,
        }
    }

    /// The lowest level in whose core a record is, or one past the top.
    fn level(&self, person: usize, top: u32, radii: &Radii) -> u32 {
        let place = |index: usize| &self.whitened[index * self.dimension..(index + 1) * self.dimension];
        let own = place(person);
        // No reference is farther than by way of their middle: most records are near all of them.
        let far = length(own, &self.middle) + self.farthest;
        let all = self.covariance.shape.between(far, self.error + self.errors[person]);
        if all.high * self.times as f64 * (1.0 + 1e-14) <= radii.at(0) {
            return 0;
        }
        // How many references come within reach at each level.
        let mut coming = vec![0usize; top as usize + 2];
        for other in 0..self.references {
            let error = self.errors[other] + self.errors[person];
            let known = self.covariance.shape.between(length(own, place(other)), error);
            coming[self.reached(person, other, known, top as usize, radii)] += 1;
        }
        let mut within = 0;
        for level in 0..=top {
            within += coming[level as usize];
            if within + level as usize >= self.references {
                return level;
            }
        }
        top + 1
    }

    /// The lowest level whose radius holds the distance of two records.
    fn reached(&self, person: usize, other: usize, known: Between, top: usize, radii: &Radii) -> usize {
        let times = self.times as f64;
        let (low, high) = (known.low * times * (1.0 - 1e-14), known.high * times * (1.0 + 1e-14));
        // Of these levels the first surely does not hold it and the second surely does.
        let (mut first, mut last) = (
            radii.0.partition_point(|&radius| (radius as f64 / GRAIN as f64) < low * (1.0 - 1e-14)),
            radii.0.partition_point(|&radius| (radius as f64 / GRAIN as f64) < high * (1.0 + 1e-14)),
        );
        if first == last {
            return last.min(top + 1);
        }
        let place = |index: usize| &self.records[index * self.dimension..(index + 1) * self.dimension];
        let apart: Vec<i64> = place(person).iter().zip(place(other)).map(|(a, b)| a - b).collect();
        while first < last {
            let middle = first + (last - first) / 2;
            if self.covariance.shape.exceeds(&apart, self.times, radii.0[middle], GRAIN) {
                first = middle + 1;
            } else {
                last = middle;
            }
        }
        last
    }
}
