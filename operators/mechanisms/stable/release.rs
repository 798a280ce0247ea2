//! A release of a stable mean: from records to an answer.

use super::core::{GoodSets, Pairs};
use super::plan::PEOPLE;
use super::plan::StableMean;
use crate::invalid::{Invalid, InvalidKind};
use crate::noise::{DiscreteGaussian, NoiseDistribution, NoiseSource};

/// A public box of integers. Coordinates outside are clamped to its sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundingBox {
    sides: Vec<(i64, i64)>,
}

/// The largest distance of a side from zero: products of differences, summed over all people and levels, fit
/// in 128 bits.
const FURTHEST: i64 = 1 << 46;

/// The outcome of a release.
#[derive(Clone, Debug, PartialEq)]
pub enum Released {
    /// The mean, with its noise: [`ASSUMED`](super::ASSUMED).
    Mean(Vec<f64>),
    /// No mean: the records do not agree on a covariance, or there are too few of them, or the noise decided
    /// so. The outcome does not show the cause.
    Failed,
}

impl BoundingBox {
    /// Creates the box of these sides, the lower and the upper of each axis.
    ///
    /// # Errors
    /// Names `extent` if there is no side, a lower side is not below its upper one, or a side is further from
    /// zero than 2^46.
    pub fn new(sides: Vec<(i64, i64)>) -> Result<BoundingBox, Invalid> {
        if sides.is_empty() {
            return Err(Invalid::new("extent", InvalidKind::Empty, "a side for each axis"));
        }
        for &(low, high) in &sides {
            if low < -FURTHEST || high > FURTHEST {
                return Err(Invalid::new("extent", InvalidKind::TooLarge, "sides from -2^46 to 2^46"));
            }
            if low >= high {
                return Err(Invalid::new("extent", InvalidKind::TooSmall, "an upper side above the lower"));
            }
        }
        Ok(BoundingBox { sides })
    }

    /// Returns the record, clamped to the box.
    fn clamped<'a>(&'a self, record: &'a [i64]) -> impl Iterator<Item = i64> + 'a {
        record.iter().zip(&self.sides).map(|(&x, &(low, high))| x.clamp(low, high))
    }
}

/// A mean before its noise, as floats, and the input of the noise.
pub(super) struct UnnoisedMean {
    /// The mean, relative to the middle of the box.
    pub(super) mean: Vec<f64>,
    pub(super) middle: Vec<f64>,
    pub(super) pairs: Pairs,
    pub(super) weights: Vec<u32>,
    /// The scale of the noise, in the lengths of the covariance.
    pub(super) scale: f64,
    /// The divisor from the sum over the weighted pairs to noise of the covariance: the root of `2 m k`.
    pub(super) spread: f64,
}

impl StableMean {
    /// Releases the mean of `records`: one record for each person of a window, all at once, row by row and in
    /// any order. The answer is in the units of the records, on the [grid](StableMean::grid) of the box.
    ///
    /// The running time depends on the records: on the number that is set aside, and on the number of
    /// comparisons that floats cannot decide. An observer of the time of an answer would learn as much, so
    /// the caller must publish it at a public time, as a window's answers are.
    ///
    /// # Errors
    /// Names `extent` if it has another dimension, `records` if one is ragged, and `people` if their number
    /// is public and below the [minimum](StableMean::fewest) or above 2^24. No content of the records makes
    /// an error.
    pub fn release(
        &self,
        records: &[i64],
        extent: &BoundingBox,
        noise: &mut NoiseSource,
    ) -> Result<Released, Invalid> {
        if extent.sides.len() != self.dimension {
            return Err(Invalid::new("extent", InvalidKind::Mixed, format!("{} sides", self.dimension)));
        }
        if !records.len().is_multiple_of(self.dimension) {
            return Err(Invalid::new(
                "records",
                InvalidKind::Malformed,
                "a number for each axis of each record",
            ));
        }
        let people = (records.len() / self.dimension) as u64;
        if self.counting.is_none() && !(self.least..=PEOPLE).contains(&people) {
            let kind = if people > PEOPLE { InvalidKind::TooLarge } else { InvalidKind::TooSmall };
            let remedy = format!("from {} to {PEOPLE} people", self.least);
            return Err(Invalid::new("people", kind, remedy));
        }
        let Some(passed) = self.passed(records, extent, noise)? else {
            return Ok(Released::Failed);
        };
        let released = passed.noised(noise)?.into_iter().zip(self.grid(extent));
        Ok(Released::Mean(released.map(|(value, step)| (value / step).round() * step).collect()))
    }

    /// Returns the public grid of the released mean, for each axis of a box: a power of two, at least 2^-30
    /// of the largest standard deviation that the noise can have on the axis. A wide box costs a narrow axis
    /// its digits: see [`fits`](StableMean::fits).
    pub fn grid(&self, extent: &BoundingBox) -> Vec<f64> {
        let scale = self.scale(self.least);
        let step =
            |&(low, high): &(i64, i64)| libm::scalbn(1.0, libm::ilogb(scale * (high - low) as f64) - 29);
        extent.sides.iter().map(step).collect()
    }

    /// Checks that the grid of the box is at most as coarse as the noise for records with a standard
    /// deviation of 1, one step of the integers. On a wider box the grid, and not the stated noise, may be
    /// the larger part of the error.
    ///
    /// # Errors
    /// Names `extent` if the box is that wide.
    pub fn fits(&self, extent: &BoundingBox) -> Result<(), Invalid> {
        let noise = self.scale(self.least);
        if self.grid(extent).iter().all(|step| *step <= noise) {
            return Ok(());
        }
        let remedy = format!(
            "sides less than 2^29 apart, by a narrower box or coarser steps: on a wider one the grid of the answer is \
             coarser than the noise of {noise:.3e} deviations"
        );
        Err(Invalid::new("extent", InvalidKind::TooLarge, remedy))
    }

    /// Returns the number of records to keep: all if their number is public, and otherwise fewer by a shift
    /// and its noise. `None` if that is above the number of people, or too few for the plan.
    pub(super) fn keeps(&self, people: u64, noise: i64) -> Option<u64> {
        let kept = match &self.counting {
            None => people,
            Some(counting) => counting.keeps(people, noise)?.min(PEOPLE),
        };
        (kept >= self.least).then_some(kept)
    }

    /// Returns the weighted mean, if the test passes.
    pub(super) fn passed(
        &self,
        records: &[i64],
        extent: &BoundingBox,
        noise: &mut NoiseSource,
    ) -> Result<Option<UnnoisedMean>, Invalid> {
        let dimension = self.dimension;
        let count = records.len() / dimension;
        let noised = match &self.counting {
            Some(counting) => DiscreteGaussian::with_sigma(counting.law.sigma())?.draw(noise),
            None => 0,
        };
        let test = DiscreteGaussian::with_sigma(self.test.law.sigma())?.draw(noise);
        let Some(kept) = self.keeps(count as u64, noised) else { return Ok(None) };
        // The shuffle of Fisher and Yates, up to the number of people kept.
        let mut order: Vec<usize> = (0..count).collect();
        let mut chosen = Vec::with_capacity(kept as usize * dimension);
        for place in 0..kept as usize {
            let other = place + noise.below((count - place) as u64) as usize;
            order.swap(place, other);
            let from = order[place] * dimension;
            chosen.extend(extent.clamped(&records[from..from + dimension]));
        }
        let pairs = Pairs::of(&chosen, dimension);
        let GoodSets { score, covariance, .. } = self.levels.good(&pairs);
        let Some(covariance) = covariance else { return Ok(None) };
        let references = self.levels.references();
        let cores = self.levels.cores(&chosen, dimension, references, kept / 2, &covariance);
        if !self.test.lets(score.max(cores.score), test) {
            return Ok(None);
        }
        let middle: Vec<i64> = extent.sides.iter().map(|&(low, high)| low + (high - low) / 2).collect();
        Ok(Some(UnnoisedMean {
            mean: weighted(&chosen, &cores.weights, &middle),
            middle: middle.iter().map(|&middle| middle as f64).collect(),
            pairs,
            weights: covariance.weights,
            scale: self.scale(kept),
            spread: ((kept / 2) as f64 * f64::from(2 * self.levels.k)).sqrt(),
        }))
    }
}

impl UnnoisedMean {
    /// Adds noise of the covariance's shape, with one draw for each pair.
    pub(super) fn noised(&self, noise: &mut NoiseSource) -> Result<Vec<f64>, Invalid> {
        const GRAIN: f64 = (1u64 << 30) as f64;
        let law = DiscreteGaussian::with_sigma(GRAIN)?;
        let mut sum = vec![0.0; self.mean.len()];
        for (u, &weight) in self.pairs.differences.chunks(sum.len()).zip(&self.weights) {
            // Every pair gets a draw, so that the number of draws does not depend on the weights.
            let draw = law.draw(noise) as f64 / GRAIN * f64::from(weight).sqrt();
            sum.iter_mut().zip(u).for_each(|(sum, &u)| *sum += draw * u as f64);
        }
        let noised = sum.iter().zip(&self.mean).map(|(sum, mean)| mean + self.scale / self.spread * sum);
        Ok(noised.zip(&self.middle).map(|(value, middle)| value + middle).collect())
    }
}

/// Returns `sum w (x - middle) / sum w`, with exact sums.
pub(super) fn weighted(records: &[i64], weights: &[u32], middle: &[i64]) -> Vec<f64> {
    let mut sums = vec![0i128; middle.len()];
    for (record, &weight) in records.chunks(middle.len()).zip(weights) {
        for ((sum, &x), &middle) in sums.iter_mut().zip(record).zip(middle) {
            *sum += i128::from(x - middle) * i128::from(weight);
        }
    }
    let all: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    sums.into_iter().map(|sum| sum as f64 / all.max(1) as f64).collect()
}
