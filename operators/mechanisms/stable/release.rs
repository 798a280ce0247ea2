//! From records to an answer.

use super::core::{Good, Pairs};
use super::plan::PEOPLE;
use super::plan::StableMean;
use crate::invalid::{Invalid, InvalidKind};
use crate::noise::{DiscreteGaussian, NoiseDistribution, NoiseSource};

/// A public box of integers: what lies outside is moved to its side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    sides: Vec<(i64, i64)>,
}

/// The furthest that a side may lie from zero: products of differences, over all people and levels, fit in 128 bits.
const FURTHEST: i64 = 1 << 46;

/// What a release tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Released {
    /// The mean, with its noise: [`ASSUMED`](super::ASSUMED).
    Mean(Vec<f64>),
    /// Nothing: the records do not agree on a covariance, or there are too few of them, or the noise would have it so. Which of
    /// these is not told.
    Failed,
}

impl Extent {
    /// The box of these sides, the lower and the upper of each axis.
    ///
    /// # Errors
    /// Names `extent` where there is no side, one is not below the other, or one is further from zero than 2^46.
    pub fn new(sides: Vec<(i64, i64)>) -> Result<Extent, Invalid> {
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
        Ok(Extent { sides })
    }

    /// The record, as it counts.
    fn clamped<'a>(&'a self, record: &'a [i64]) -> impl Iterator<Item = i64> + 'a {
        record.iter().zip(&self.sides).map(|(&x, &(low, high))| x.clamp(low, high))
    }
}

/// A mean before its noise, as floats, and all that the noise is made of.
pub(super) struct Passed {
    /// From the middle of the box.
    pub(super) mean: Vec<f64>,
    pub(super) middle: Vec<f64>,
    pub(super) pairs: Pairs,
    pub(super) weights: Vec<u32>,
    /// Of the noise, in the covariance's own lengths.
    pub(super) scale: f64,
    /// What makes a covariance of the sum over the weighted pairs: the root of `2 m k`.
    pub(super) spread: f64,
}

impl StableMean {
    /// One release of the mean of `records`: those of all people of a window at once, one a person, row by row and in any order. The
    /// answer is in the units of the records, on the [grid](StableMean::grid) of the box.
    ///
    /// How long this takes depends on the records: on how many are put aside, and how often floats cannot decide. Whoever sees the time of an
    /// answer would see as much, so it must be told at a time that is public, as a window's answers are.
    ///
    /// # Errors
    /// Names `extent` where it has another dimension, `records` where one is ragged, and `people` where their number is
    /// public and below the [fewest](StableMean::fewest). Nothing else can go wrong: whatever is in the records, it is an answer.
    pub fn release(
        &self,
        records: &[i64],
        extent: &Extent,
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
        let told = passed.noised(noise)?.into_iter().zip(self.grid(extent));
        Ok(Released::Mean(told.map(|(value, step)| (value / step).round() * step).collect()))
    }

    /// The public grid on which the mean is told, for each axis of a box: a power of two, no less than 2^-30 of what the noise
    /// can be in it. A wide box costs a narrow axis its digits: see [`fits`](StableMean::fits).
    pub fn grid(&self, extent: &Extent) -> Vec<f64> {
        let scale = self.scale(self.least);
        let step =
            |&(low, high): &(i64, i64)| libm::scalbn(1.0, libm::ilogb(scale * (high - low) as f64) - 29);
        extent.sides.iter().map(step).collect()
    }

    /// Whether the grid of the box is finer than the noise of records that lie a step apart, whose standard deviation
    /// is 1. Where it is not, the grid and not the stated noise may be the larger part of the error.
    ///
    /// # Errors
    /// Names `extent` where it is so wide.
    pub fn fits(&self, extent: &Extent) -> Result<(), Invalid> {
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

    /// How many are kept: all where their number is public, and otherwise fewer by a shift and its noise. None where that is
    /// more than there are, or too few for the plan.
    pub(super) fn keeps(&self, people: u64, noise: i64) -> Option<u64> {
        let kept = match &self.counting {
            None => people,
            Some(counting) => counting.keeps(people, noise)?.min(PEOPLE),
        };
        (kept >= self.least).then_some(kept)
    }

    /// The weighted mean where the test passes.
    pub(super) fn passed(
        &self,
        records: &[i64],
        extent: &Extent,
        noise: &mut NoiseSource,
    ) -> Result<Option<Passed>, Invalid> {
        let dimension = self.dimension;
        let count = records.len() / dimension;
        let noised = match &self.counting {
            Some(counting) => DiscreteGaussian::with_sigma(counting.law.sigma())?.draw(noise),
            None => 0,
        };
        let test = DiscreteGaussian::with_sigma(self.test.law.sigma())?.draw(noise);
        let Some(kept) = self.keeps(count as u64, noised) else { return Ok(None) };
        // Fisher and Yates, as far as people are kept.
        let mut order: Vec<usize> = (0..count).collect();
        let mut chosen = Vec::with_capacity(kept as usize * dimension);
        for place in 0..kept as usize {
            let other = place + noise.below((count - place) as u64) as usize;
            order.swap(place, other);
            let from = order[place] * dimension;
            chosen.extend(extent.clamped(&records[from..from + dimension]));
        }
        let pairs = Pairs::of(&chosen, dimension);
        let Good { score, covariance, .. } = self.levels.good(&pairs);
        let Some(covariance) = covariance else { return Ok(None) };
        let references = self.levels.references();
        let cores = self.levels.cores(&chosen, dimension, references, kept / 2, &covariance);
        if !self.test.lets(score.max(cores.score), test) {
            return Ok(None);
        }
        let middle: Vec<i64> = extent.sides.iter().map(|&(low, high)| low + (high - low) / 2).collect();
        Ok(Some(Passed {
            mean: weighted(&chosen, &cores.weights, &middle),
            middle: middle.iter().map(|&middle| middle as f64).collect(),
            pairs,
            weights: covariance.weights,
            scale: self.scale(kept),
            spread: ((kept / 2) as f64 * f64::from(2 * self.levels.k)).sqrt(),
        }))
    }
}

impl Passed {
    /// With noise of the covariance's shape: a draw for each pair.
    pub(super) fn noised(&self, noise: &mut NoiseSource) -> Result<Vec<f64>, Invalid> {
        const GRAIN: f64 = (1u64 << 30) as f64;
        let law = DiscreteGaussian::with_sigma(GRAIN)?;
        let mut sum = vec![0.0; self.mean.len()];
        for (u, &weight) in self.pairs.differences.chunks(sum.len()).zip(&self.weights) {
            // Drawn for all, so that how many draws there are says nothing of the weights.
            let draw = law.draw(noise) as f64 / GRAIN * f64::from(weight).sqrt();
            sum.iter_mut().zip(u).for_each(|(sum, &u)| *sum += draw * u as f64);
        }
        let noised = sum.iter().zip(&self.mean).map(|(sum, mean)| mean + self.scale / self.spread * sum);
        Ok(noised.zip(&self.middle).map(|(value, middle)| value + middle).collect())
    }
}

/// `sum w (x - middle) / sum w`, the sums exact.
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
