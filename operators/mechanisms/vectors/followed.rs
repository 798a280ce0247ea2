//! Found means with noise: the bounds of a window, its sums and counts, and the bounds for the next window.

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
    Answer, Coordinate, Covariance, DecimalPoint, Estimate, EstimateFormat, EstimatesPerKey, Noised,
};
use crate::mechanisms::bound::Range;
use crate::mechanisms::keys::Key;
use crate::mechanisms::means::quotient;
use crate::mechanisms::mechanism::{Drawn, Mechanism, Prepared, Sealed, parameters};
use crate::mechanisms::shaped::within;
use crate::mechanisms::statistic::{Cells, Statistic};
use crate::noise::NoiseSource;

/// Means of vectors whose bounds are estimated and followed, prepared for draws.
///
/// The [`cost`](Prepared::cost) of a window that has the bounds of a key is split between the covariance for
/// the next window ([`FoundMean::following`]), the count, which has its part of the rest
/// ([`Gaussian::counting`]), and the sums. In a window without bounds this splits the cost that
/// [`FoundMean::finding`] leaves. Which of the two applies depends on earlier releases, so every answer
/// states its own noise.
///
/// The interval of a coordinate contains the true value if its sum and the count are both within theirs; each
/// has half of the probability of an error. No interval includes the bias of shortened records; but if most
/// records seem to have been shortened, by the covariance, or if a frame was estimated from too few records,
/// the interval is the outer range.
///
/// Each key, in the order of keys, draws its quantiles, if it has no bounds, and then the noise of its count,
/// its sums and its products.
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
    /// The lower triangle of the sum of products, row by row.
    pub(super) products: Vec<i128>,
}

/// The number of products that are summed in 64 bits: each is at most 2^40.
const TOGETHER: usize = 1 << 20;

/// Sums the records of a key as a frame measures them. Each record is at most `steps.most()` long, and its
/// products at most `steps.most_products()`: this is enforced here, in integers, and nowhere else.
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
        // The division rounds toward zero, so that no length grows.
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

/// The noisy totals of a key.
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
    /// Returns the noise of the count for a key that has its bounds already. That of the sums is stated by
    /// each answer, and so is that of a key without bounds.
    pub fn counts(&self) -> Noised {
        Noised::additive("records", &self.prices.kept.counts)
    }

    /// Returns the noise of each sum, in standard deviations of the values, and of the count, of a key that has its
    /// bounds already: each with the half-width of its interval.
    #[cfg(feature = "cli")]
    pub(crate) fn in_deviations(&self) -> [(Noised, f64); 2] {
        let WindowNoise { counts, sums, halves, .. } = &self.prices.kept;
        let step = libm::exp2(-f64::from(self.prices.steps.bits));
        let sum = Noised::additive("sum", sums);
        [
            (Noised { scale: sum.scale * step, ..sum }, halves.1 as f64 * step),
            (Noised::additive("records", counts), halves.0 as f64),
        ]
    }

    /// Returns the noisy number of records that the first window of a key must have for its bounds to be
    /// kept: with fewer, the interval is the outer range, and the next window estimates bounds again.
    pub fn least_records(&self) -> u64 {
        self.finding.enough
    }

    /// Returns the length above which a record is shortened, in standard deviations.
    pub fn longest(&self) -> f64 {
        self.prices.steps.longest
    }

    fn seen(&self, released: &NoisedVector) -> ReleasedWindow {
        let VectorSteps { bits, coarse, .. } = self.prices.steps;
        let (step, square) = (libm::exp2(-f64::from(bits)), libm::exp2(-2.0 * f64::from(coarse)));
        ReleasedWindow {
            records: released.records as f64,
            sums: released.sums.iter().map(|&sum| sum as f64 * step).collect(),
            squares: released.products.iter().map(|&sum| sum as f64 * square).collect(),
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

    /// Returns the mean of each coordinate, and the noise of its sum.
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
            let shifted = |from_centre: f64| centre + from_centre;
            // With this many steps in a standard deviation, a sum of integer Gaussians is Gaussian to far
            // more digits than are released. Each record may be off by a step in each coordinate.
            let rounded = frame.factor.row(place).iter().map(|entry| entry.abs()).sum::<f64>() * step;
            let off = length * step * laws.halves.1 as f64 + rounded * most.max(0.0);
            let over = quotient(Estimate::between(sum - off, sum, sum + off), records);
            let noised = Noised::additive("sum", &laws.sums);
            let noised =
                Noised { scale: noised.scale * length * step, ..noised }.with_point(coordinate.point);
            if most < 1.0 || misfits {
                // The interval is the outer range if there may be no records, if most of them were shortened,
                // or if the frame was estimated from too few. All of this is decided by noisy numbers.
                return (Estimate::between(low, shifted(over.value).clamp(low, high), high), noised);
            }
            (over.map(shifted).clipped(low, high), noised)
        })
        .collect()
    }
}

impl<K> Sealed for FollowedMeans<K> {}

impl<K: Key> Prepared for FollowedMeans<K> {
    type Tally = Cells<K, VectorRows>;
    type Answer = Answer<K, f64>;
    type Value = ndarray::Array1<f64>;

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
        // A state that cannot be read has ended the job before its first draw (`accepts`). A new start here
        // would still be private: both ways cost the same.
        let frames = state.and_then(|bytes| from_bytes(bytes, self.keys.len(), self.outer.len()).ok());
        let mut frames = frames.unwrap_or_default().into_iter();
        let (mut cells, mut noises, mut left) = (Vec::new(), Vec::new(), Vec::new());
        let mut covariances = Vec::new();
        for key in self.keys.iter() {
            let rows = rows.remove(key).unwrap_or_default();
            let kept = frames.next().flatten();
            let laws = if kept.is_some() { &self.prices.kept } else { &self.prices.fresh };
            let is_new = kept.is_none();
            let frame = kept.unwrap_or_else(|| self.finding.frame(&rows, noise));
            let released = laws.noised(exact(&rows, &frame, &self.outer, &self.prices.steps), noise);
            let seen = self.seen(&released);
            let enough = !is_new || released.records >= self.finding.enough.into();
            for (estimate, noised) in self.estimates(&frame, &seen, laws, enough) {
                cells.push((key.clone(), estimate));
                noises.push(noised);
            }
            noises.push(Noised::additive("records", &laws.counts));
            let doubt = self.doubt(laws);
            let fits = enough && !seen.misfits(&doubt, self.prices.steps.longest);
            covariances.extend(seen.covariances(&frame, &doubt, fits));
            let next = || follow(&frame, &seen, &self.doubt(laws), self.prices.steps.longest, &self.outer);
            left.push(enough.then(next));
        }
        let format = EstimateFormat {
            noise: noises,
            point: DecimalPoint::WHOLE,
            confidence: self.confidence,
            each: EstimatesPerKey::OfKeys { coordinates: Arc::clone(&self.coordinates), covariances },
            of: None,
            bounded: true,
            found: None,
        };
        Drawn { answer: Answer { cells, format, room: None }, state: Some(to_bytes(&left)), step: None }
    }
}

// The frame of the next window, from the released numbers of this one.
//
// It is computed from noisy numbers alone, so it costs nothing, and floats suffice.
//
// * **The step of an update.** In the units of the frame, a window released a mean and second moments, each
//   with noise of a known scale. The centre moves `1 / (1 + nu^2)` of the way to the mean, where `nu` is
//   about the length of the mean's noise. The covariance moves `1 / (1 + mu)` of the way to the observed one,
//   and never more than 15/16 of it, where `mu` is about the error by noise and by the sampling of records in
//   some direction. So a window with few people moves nothing, no direction becomes narrower than the noise
//   can resolve, and none by more than a factor of 4 in one window.
// * **A frame that does not fit.** Records that are too long are shortened, and so are their moments. If the
//   frame fits, the squares of lengths are `d` in the mean; if most records are shortened, they are near the
//   square of the longest. Beyond the midpoint between the two, the covariance is taken around the old centre
//   instead of the mean, since around the mean it would be small for records that are far away and close to
//   each other, and with twice the deviations: it then grows until it contains them.
// * **The limits.** A centre stays in the outer ranges; a deviation is at most the width of the outer range,
//   and at least a quarter of a step.

/// The released numbers of a key in one window, in the units of its frame.
#[derive(Clone, Debug)]
pub(super) struct ReleasedWindow {
    pub(super) records: f64,
    pub(super) sums: Vec<f64>,
    /// The lower triangle of the sum of all `u u^T`, row by row.
    pub(super) squares: Vec<f64>,
}

/// The standard deviations of the noise in a [`ReleasedWindow`].
#[derive(Clone, Copy, Debug)]
pub(super) struct NoiseDeviations {
    pub(super) records: f64,
    pub(super) sums: f64,
    pub(super) squares: f64,
}

impl ReleasedWindow {
    /// Returns true if most records seem to have been shortened, beyond the effect of noise.
    pub(super) fn misfits(&self, doubt: &NoiseDeviations, longest: f64) -> bool {
        let dimension = self.sums.len();
        let squares: f64 = (0..dimension).filter_map(|at| self.squares.get(place(at, at))).sum();
        let least = squares - 2.0 * (dimension as f64).sqrt() * doubt.squares;
        least > self.records.max(1.0) * (dimension as f64 + longest * longest) / 2.0
    }
}

impl ReleasedWindow {
    /// Returns the covariances of each coordinate with all of them, in the units of the records; none if the frame does not
    /// fit, for most records were then shortened.
    fn covariances(&self, frame: &Frame, doubt: &NoiseDeviations, fits: bool) -> Vec<Vec<Covariance>> {
        let dimension = self.sums.len();
        if !fits || self.records < 1.0 {
            return vec![Vec::new(); dimension];
        }
        let entry = |a: usize, b: usize| {
            let second = self.squares.get(place(a.max(b), a.min(b))).copied().unwrap_or_default();
            (second - self.sums[a] * self.sums[b] / self.records) / self.records
        };
        let factor = |row: usize, at: usize| frame.factor.row(row).get(at).copied().unwrap_or_default();
        let pairs = || (0..dimension).flat_map(|a| (0..=a).map(move |b| (a, b)));
        // The weight of the product of two coordinates of the frame, which is noised once.
        let weight = |i: usize, j: usize, (a, b): (usize, usize)| {
            let one = factor(i, a) * factor(j, b);
            if a == b { one } else { one + factor(i, b) * factor(j, a) }
        };
        let covariance = |i: usize, j: usize| Covariance {
            value: pairs().map(|(a, b)| weight(i, j, (a, b)) * entry(a, b)).sum(),
            scale: pairs().map(|pair| weight(i, j, pair).powi(2)).sum::<f64>().sqrt() * doubt.squares
                / self.records,
        };
        (0..dimension).map(|i| (0..dimension).map(|j| covariance(i, j)).collect()).collect()
    }
}

/// Returns the frame for the next window. `longest` is the bound on the length of a record in the units of
/// the frame.
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
    // A frame that overflows is not followed.
    let next = Frame { centre: centre.collect(), factor };
    let numbers: Vec<f64> = next.centre.iter().chain(next.factor.entries()).copied().collect();
    Frame::of(&numbers, dimension).unwrap_or_else(|| frame.clone())
}

/// Returns the index of an entry in a lower triangle.
fn place(row: usize, column: usize) -> usize {
    row * (row + 1) / 2 + column
}

/// Returns the factor of the covariance in the units of the old frame: the fraction `trust` of the way from
/// the identity to the observed one, or less if noise leaves a direction too little: the fraction is halved
/// until every pivot is large enough.
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

/// Limits the deviation of each coordinate to the width of its outer range.
fn bounded(factor: Lower, outer: &[Range]) -> Lower {
    let lengths = factor.lengths();
    factor.rows_scaled(|at| outer.get(at).map_or(1.0, |range| (range.width() as f64 / lengths[at]).min(1.0)))
}

#[cfg(test)]
mod tests;
