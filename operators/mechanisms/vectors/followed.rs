//! Found means with their noise: bounds that are found or were left, sums over counts, and what the next
//! window is left.

use std::sync::Arc;

use super::found::FoundMean;
use super::found::{FoundMeanPrices, VectorSteps, WindowNoise};
use super::frame::{Finding, Frame, LEAST_SQUARED, from_bytes, to_bytes};
use super::lower::Lower;
use super::rows::VectorRows;
use crate::accounting::{BudgetUnits, ReleaseCost};
use crate::canonical::Digest;
use crate::invalid::Invalid;
use crate::mechanisms::additive::{Additive, Gaussian};
use crate::mechanisms::answer::{
    Answer, Coordinate, DecimalPoint, Estimate, EstimateFormat, EstimatesPerKey, Noised,
};
use crate::mechanisms::bound::Range;
use crate::mechanisms::keys::Key;
use crate::mechanisms::mechanism::{Drawn, Mechanism, Prepared, Sealed, parameters};
use crate::mechanisms::noisy::quotient;
use crate::mechanisms::shaped::within;
use crate::mechanisms::statistic::{Cells, Statistic};
use crate::noise::NoiseSource;

/// Means of vectors whose bounds are found and followed, ready to be drawn.
///
/// Of the [`cost`](Prepared::cost) of a window that knows the bounds of a key, the covariance for the next one
/// has its share ([`FoundMean::following`]), of the rest the count has its own ([`Gaussian::counting`]), and
/// the sums have what is left. Where nothing is known, all of this is of what is left beside
/// [`FoundMean::finding`]. Which of the two it is depends on what was released before, so that every answer
/// may say its noise.
///
/// The interval of a coordinate holds wherever its sum and the count are both inside theirs; each has half of
/// what may be outside. What shortening takes away is in no interval; but where most records seem to have
/// been shortened, as the covariance says, or where a frame was found among too few of them, the interval is
/// the outer range.
///
/// Each key in the order of keys asks for the choices of its quantiles, where its bounds must be found, and
/// then for the draws of its count, its sums and its products.
#[derive(Clone, Debug)]
pub struct FollowedMeans<K> {
    keys: Arc<[K]>,
    outer: Arc<[Range]>,
    coordinates: Arc<[Coordinate]>,
    finding: Finding,
    prices: FoundMeanPrices,
    confidence: f64,
    cost: ReleaseCost,
    parameters: Digest,
}

impl<K: Key> Mechanism<FoundMean<K>> for Gaussian {
    type Prepared = FollowedMeans<K>;

    fn prepare(&self, mean: &FoundMean<K>) -> Result<FollowedMeans<K>, Invalid> {
        let asked = &self.0;
        let (spend, prices) = (asked.spend()?, FoundMeanPrices::new(asked, mean)?);
        let finding = Finding::new(mean, prices.finding)?;
        Ok(FollowedMeans {
            keys: Arc::clone(mean.keys()),
            outer: Arc::clone(mean.outer()),
            coordinates: Arc::clone(mean.coordinates()),
            finding,
            prices,
            confidence: asked.confidence()?,
            cost: spend.cost(mean.sensitivity().neighbours(), BudgetUnits::ZERO),
            parameters: parameters(asked, spend, BudgetUnits::ZERO, &mean.stated()),
        })
    }
}

/// The exact totals of a key, in integers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExactVector {
    pub(super) records: u64,
    pub(super) sums: Vec<i128>,
    /// The lower triangle, row by row.
    pub(super) products: Vec<i128>,
}

/// So many products are summed up in 64 bits: each is at most 2^40.
const TOGETHER: usize = 1 << 20;

/// Sums up a key's records as a frame measures them. Each is at most `steps.most()` long, and its products at
/// most `steps.most_products()`: that is enforced here, in integers, and nowhere else.
pub(super) fn exact(rows: &VectorRows, frame: &Frame, outer: &[Range], steps: &VectorSteps) -> ExactVector {
    let dimension = outer.len();
    let (unit, most) = (libm::exp2(steps.bits.into()), steps.most());
    let coarser = 1i64 << steps.coarser();
    let mut sums = vec![0i128; dimension];
    let mut products = vec![0i128; dimension * (dimension + 1) / 2];
    let mut some = vec![0i64; products.len()];
    let (mut found, mut whole) = (Vec::new(), Vec::new());
    for (number, row) in rows.each(dimension).enumerate() {
        frame.measure(row, outer, &mut found);
        within(&found, unit, most, &mut whole);
        sums.iter_mut().zip(&whole).for_each(|(sum, &entry)| *sum = sum.wrapping_add(entry.into()));
        // Toward zero, so that no length grows.
        whole.iter_mut().for_each(|entry| *entry /= coarser);
        let mut rest = &mut some[..];
        for (at, entry) in whole.iter().enumerate() {
            let (row, after) = rest.split_at_mut(at + 1);
            row.iter_mut().zip(&whole).for_each(|(sum, other)| *sum += entry * other);
            rest = after;
        }
        if number % TOGETHER == TOGETHER - 1 {
            settle(&mut products, &mut some);
        }
    }
    settle(&mut products, &mut some);
    ExactVector { records: rows.records(), sums, products }
}

fn settle(products: &mut [i128], some: &mut [i64]) {
    for (sum, some) in products.iter_mut().zip(some) {
        *sum = sum.wrapping_add((*some).into());
        *some = 0;
    }
}

/// A key's numbers with their noise.
struct NoisedVector {
    records: i128,
    sums: Vec<i128>,
    products: Vec<i128>,
}

impl WindowNoise {
    fn noised(&self, exact: ExactVector, noise: &mut NoiseSource) -> NoisedVector {
        let mut with = |law: &Additive, exact: Vec<i128>| -> Vec<i128> {
            let draws = law.draws(exact.len(), noise);
            exact.into_iter().zip(draws).map(|(sum, draw)| sum.wrapping_add(draw.into())).collect()
        };
        let records = with(&self.counts, vec![exact.records.into()]);
        NoisedVector {
            records: records.first().copied().unwrap_or(0),
            sums: with(&self.sums, exact.sums),
            products: with(&self.squares, exact.products),
        }
    }
}

impl<K: Key> FollowedMeans<K> {
    /// The noise of the count, which is the same for all keys. That of the sums is released with each answer.
    pub fn counts(&self) -> Noised {
        Noised::additive("records", &self.prices.kept.counts)
    }

    /// Returns the number of records, as noised, that the first window of a key must have for its bounds to
    /// be kept: with fewer, the interval is the outer range, and the next window finds them anew.
    pub fn least_records(&self) -> u64 {
        self.finding.enough
    }

    /// Returns the length from which on a record is shortened, in standard deviations.
    pub fn longest(&self) -> f64 {
        self.prices.steps.longest
    }

    fn seen(&self, told: &NoisedVector) -> ReleasedWindow {
        let VectorSteps { bits, coarse, .. } = self.prices.steps;
        let (step, square) = (libm::exp2(-f64::from(bits)), libm::exp2(-2.0 * f64::from(coarse)));
        ReleasedWindow {
            records: told.records as f64,
            sums: told.sums.iter().map(|&sum| sum as f64 * step).collect(),
            squares: told.products.iter().map(|&sum| sum as f64 * square).collect(),
        }
    }

    fn doubt(&self, laws: &WindowNoise) -> NoiseDeviations {
        let VectorSteps { bits, coarse, .. } = self.prices.steps;
        NoiseDeviations {
            records: laws.counts.scale(),
            sums: laws.sums.scale() * libm::exp2(-f64::from(bits)),
            squares: laws.squares.scale() * libm::exp2(-2.0 * f64::from(coarse)),
        }
    }

    /// The mean of each coordinate, and the noise of its sum.
    fn estimates(
        &self,
        frame: &Frame,
        seen: &ReleasedWindow,
        laws: &WindowNoise,
        enough: bool,
    ) -> Vec<(Estimate<f64>, Noised)> {
        let misfits = !enough || seen.misfits(&self.doubt(laws), self.prices.steps.longest);
        let step = libm::exp2(-f64::from(self.prices.steps.bits));
        let width = laws.halves.0 as f64;
        let most = seen.records + width;
        let records = Estimate::between(seen.records - width, seen.records, most);
        let sums = frame.back(&seen.sums).into_iter().zip(frame.factor.lengths());
        let each = sums.zip(self.outer.iter()).zip(&self.coordinates[..]).enumerate();
        each.map(|(place, (((sum, length), outer), coordinate))| {
            let centre = frame.centre.get(place).copied().unwrap_or_default();
            let (low, high) = (outer.low() as f64, outer.high() as f64);
            let told = |from_centre: f64| (centre + from_centre).clamp(low, high);
            // At this many steps a deviation, a sum of integer Gaussians is Gaussian to far more digits than
            // are released. Each record may be off by a step in each coordinate.
            let rounded = frame.factor.row(place).iter().map(|entry| entry.abs()).sum::<f64>() * step;
            let off = length * step * laws.halves.1 as f64 + rounded * most.max(0.0);
            let over = quotient(Estimate::between(sum - off, sum, sum + off), records);
            let noised = Noised::additive("sum", &laws.sums);
            let noised = Noised { scale: noised.scale * length * step, ..noised }.told_in(coordinate.point);
            if most < 1.0 || misfits {
                // Nothing is known where there may well be nobody, where most records were shortened, or
                // where the frame was found among fewer records than that takes. All of it is decided by
                // noised numbers.
                return (Estimate::between(low, told(over.value), high), noised);
            }
            (over.map(told), noised)
        })
        .collect()
    }
}

impl<K> Sealed for FollowedMeans<K> {}

impl<K: Key> Prepared for FollowedMeans<K> {
    type Tally = Cells<K, VectorRows>;
    type Answer = Answer<K, f64>;

    fn tally(&self) -> Cells<K, VectorRows> {
        Cells::of(&self.keys)
    }

    fn cost(&self) -> &ReleaseCost {
        &self.cost
    }

    fn parameters(&self) -> Digest {
        self.parameters
    }

    fn remembers(&self) -> bool {
        true
    }

    fn accepts(&self, state: &[u8]) -> Result<(), Invalid> {
        from_bytes(state, self.keys.len(), self.outer.len()).map(|_| ())
    }

    fn draw(
        &self,
        exact_of: Cells<K, VectorRows>,
        state: Option<&[u8]>,
        noise: &mut NoiseSource,
    ) -> Drawn<Answer<K, f64>> {
        let mut rows = exact_of.into_map();
        // State that cannot be read ended the job before its first draw (`accepts`). Beginning anew would
        // still be private: both ways cost the same.
        let frames = state.and_then(|bytes| from_bytes(bytes, self.keys.len(), self.outer.len()).ok());
        let mut frames = frames.unwrap_or_default().into_iter();
        let (mut cells, mut told_noise, mut left) = (Vec::new(), Vec::new(), Vec::new());
        for key in self.keys.iter() {
            let rows = rows.remove(key).unwrap_or_default();
            let kept = frames.next().flatten();
            let laws = if kept.is_some() { &self.prices.kept } else { &self.prices.fresh };
            let is_new = kept.is_none();
            let frame = kept.unwrap_or_else(|| self.finding.frame(&rows, noise));
            let told = laws.noised(exact(&rows, &frame, &self.outer, &self.prices.steps), noise);
            let seen = self.seen(&told);
            let enough = !is_new || told.records >= self.finding.enough.into();
            for (estimate, noised) in self.estimates(&frame, &seen, laws, enough) {
                cells.push((key.clone(), estimate));
                told_noise.push(noised);
            }
            told_noise.push(Noised::additive("records", &laws.counts));
            let next = || follow(&frame, &seen, &self.doubt(laws), self.prices.steps.longest, &self.outer);
            left.push(enough.then(next));
        }
        let told = EstimateFormat {
            noise: told_noise,
            point: DecimalPoint::WHOLE,
            confidence: self.confidence,
            each: EstimatesPerKey::OfKeys(Arc::clone(&self.coordinates)),
            of: None,
        };
        Drawn { answer: Answer { cells, told, room: None }, state: Some(to_bytes(&left)) }
    }
}

// The frame of the next window, from what this one released.
//
// All of it is made of numbers that have had their noise, so none of it costs anything, and floats will do.
//
// * **How far is it trusted?** In the units of the frame a window released a mean and second moments, each
//   with noise of a known size. The centre goes `1 / (1 + nu^2)` of the way to the mean, where `nu` is about
//   how long the mean's noise is; the covariance `1 / (1 + mu)` of the way to what was seen, and never more
//   than 15/16 of it, where `mu` is about how far noise and the sampling of records may take it in some
//   direction. So a window with few people moves nothing, no direction gets narrower than the noise can tell,
//   and none by more than a factor of 4 in one window.
// * **When nothing fits.** Records that are too long are clipped, and so are their moments. Where the frame
//   fits, the squares of lengths are `d` in the mean, and where most records are clipped they are near the
//   square of the longest. Halfway between, the covariance is no longer taken around the mean, which would be
//   small for records that are far away and close to each other, but around the old centre, and twice as
//   wide: it then grows until it holds them.
// * **It stays in bounds.** A centre stays in the outer ranges, a deviation is no wider than them, and at
//   least a quarter of a step.

/// The values that a window released of a key, in the units of its frame.
#[derive(Clone, Debug)]
pub(super) struct ReleasedWindow {
    pub(super) records: f64,
    pub(super) sums: Vec<f64>,
    /// The lower triangle of the sum of all `u u^T`, row by row.
    pub(super) squares: Vec<f64>,
}

/// The standard deviations of the noise in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoiseDeviations {
    pub(super) records: f64,
    pub(super) sums: f64,
    pub(super) squares: f64,
}

impl ReleasedWindow {
    /// Returns true if most records seem clipped, beyond the effect of noise.
    pub(super) fn misfits(&self, doubt: &NoiseDeviations, longest: f64) -> bool {
        let dimension = self.sums.len();
        let squares: f64 = (0..dimension).filter_map(|at| self.squares.get(place(at, at))).sum();
        let least = squares - 2.0 * (dimension as f64).sqrt() * doubt.squares;
        least > self.records.max(1.0) * (dimension as f64 + longest * longest) / 2.0
    }
}

/// The frame that a window leaves to the next. `longest` is how long a record may be in the units of the
/// frame.
pub(super) fn follow(
    frame: &Frame,
    seen: &ReleasedWindow,
    doubt: &NoiseDeviations,
    longest: f64,
    outer: &[Range],
) -> Frame {
    let (records, dimension) = (seen.records, seen.sums.len());
    if records < 1.0 {
        return frame.clone();
    }
    let root = (dimension as f64).sqrt();
    let mean: Vec<f64> = seen.sums.iter().map(|sum| sum / records).collect();
    let second: Vec<f64> = seen.squares.iter().map(|sum| sum / records).collect();
    let nu = root * doubt.sums / records;
    let mu = 2.0 * (root * doubt.squares / records + root / records.sqrt() + doubt.records / records);

    let way = 1.0 / (1.0 + nu * nu);
    let moved = frame.back(&mean);
    let centre = frame.centre.iter().zip(&moved).zip(outer);
    let centre = centre.map(|((centre, moved), outer)| {
        let next = (centre + way * moved).clamp(outer.low() as f64, outer.high() as f64);
        if next.is_finite() { next } else { *centre }
    });

    let misfits = seen.misfits(doubt, longest);
    let trust = (1.0 / (1.0 + mu)).min(15.0 / 16.0);
    let around = |a: usize, b: usize| {
        let second = second[place(a, b)];
        if misfits { 4.0 * second } else { second - mean[a] * mean[b] }
    };
    let factor = turned(dimension, around, trust).map_or_else(
        || frame.factor.clone(),
        |turned| bounded(frame.factor.product(&turned).with_more(trust * LEAST_SQUARED), outer),
    );
    // Whatever a float could not hold is not followed.
    let next = Frame { centre: centre.collect(), factor };
    let numbers: Vec<f64> = next.centre.iter().chain(next.factor.entries()).copied().collect();
    Frame::of(&numbers, dimension).unwrap_or_else(|| frame.clone())
}

/// Returns the index of the entry of a row and a column in a lower triangle.
fn place(row: usize, column: usize) -> usize {
    row * (row + 1) / 2 + column
}

/// The factor of the covariance in the units of the old frame: so much of the way from 1 in all directions to
/// what was seen, or less where noise has left some direction nothing.
fn turned(dimension: usize, around: impl Fn(usize, usize) -> f64, trust: f64) -> Option<Lower> {
    (0..40).find_map(|halved| {
        let trust = trust * libm::exp2(-f64::from(halved));
        let entry = |(a, b): (usize, usize)| {
            let one = if a == b { 1.0 } else { 0.0 };
            (1.0 - trust) * one + trust * around(a, b)
        };
        let entries: Vec<f64> =
            (0..dimension).flat_map(|a| (0..=a).map(move |b| (a, b))).map(entry).collect();
        Lower::factor(&entries, dimension, (1.0 - trust) / 2.0)
    })
}

/// No coordinate deviates by more than its outer range is wide.
fn bounded(factor: Lower, outer: &[Range]) -> Lower {
    let lengths = factor.lengths();
    factor.rows_scaled(|at| outer.get(at).map_or(1.0, |range| (range.width() as f64 / lengths[at]).min(1.0)))
}

#[cfg(test)]
mod tests;
