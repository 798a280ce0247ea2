//! Found means with their noise: bounds that are found or were left, sums over counts, and what the next window is left.

use std::sync::Arc;

use super::finding::Finding;
use super::follow::{NoiseDeviations, ReleasedWindow, follow};
use super::found::FoundMean;
use super::frame::Frame;
use super::prices::{FoundMeanPrices, VectorSteps, WindowNoise};
use super::remembered::{from_bytes, to_bytes};
use super::rows::VectorRows;
use crate::accounting::{BudgetUnits, ReleaseCost};
use crate::canonical::Digest;
use crate::invalid::Invalid;
use crate::mechanisms::additive::Additive;
use crate::mechanisms::answer::{Answer, Coordinate, Estimate, EstimateFormat, EstimatesPerKey, Noised};
use crate::mechanisms::bound::Range;
use crate::mechanisms::keys::Key;
use crate::mechanisms::laws::Gaussian;
use crate::mechanisms::means::quotient;
use crate::mechanisms::mechanism::{Drawn, Mechanism, Ready};
use crate::mechanisms::parameters::parameters;
use crate::mechanisms::point::DecimalPoint;
use crate::mechanisms::sealed::Sealed;
use crate::mechanisms::shaped::within;
use crate::mechanisms::statistic::Statistic;
use crate::mechanisms::tally::Cells;
use crate::noise::NoiseSource;

/// Means of vectors whose bounds are found and followed, ready to be drawn.
///
/// Of the [`cost`](Ready::cost) of a window that knows the bounds of a key, the covariance for the next one has its share
/// ([`FoundMean::following`]), of the rest the count has its own
/// ([`Gaussian::counting`]), and the sums have what is left. Where nothing is known, all of this
/// is of what is left beside [`FoundMean::finding`]. Which of the two it is depends on what was released before, so that every
/// answer may say its noise.
///
/// The interval of a coordinate holds wherever its sum and the count are both inside theirs; each has half of what may be
/// outside. What shortening takes away is in no interval; but where most records seem to have been shortened, as the covariance
/// says, or where a frame was found among too few of them, the interval is the outer range.
///
/// Each key in the order of keys asks for the choices of its quantiles, where its bounds must be found, and then for the draws of
/// its count, its sums and its products.
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

    fn ready(&self, mean: &FoundMean<K>) -> Result<FollowedMeans<K>, Invalid> {
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

/// What is known of a key before its noise, in integers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExactVector {
    pub(super) records: u64,
    pub(super) sums: Vec<i128>,
    /// The lower triangle, row by row.
    pub(super) products: Vec<i128>,
}

/// So many products are summed up in 64 bits: each is at most 2^40.
const TOGETHER: usize = 1 << 20;

/// Sums up a key's records as a frame measures them. Each is at most `steps.most()` long, and its products at most
/// `steps.most_products()`: that is enforced here, in integers, and nowhere else.
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
    /// The noise of the count, which is the same for all keys. That of the sums is told with each answer.
    pub fn counts(&self) -> Noised {
        Noised::additive("records", &self.prices.kept.counts)
    }

    /// How many records, as they are noised, the first window of a key must have for its bounds to be kept: with fewer, the
    /// interval is the outer range, and the next window finds them anew.
    pub fn least_records(&self) -> u64 {
        self.finding.enough
    }

    /// How long a record may be, in standard deviations, before it is shortened.
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
            // At this many steps a deviation, a sum of integer Gaussians is Gaussian to far more digits than are told. Each
            // record may be off by a step in each coordinate.
            let rounded = frame.factor.row(place).iter().map(|entry| entry.abs()).sum::<f64>() * step;
            let off = length * step * laws.halves.1 as f64 + rounded * most.max(0.0);
            let over = quotient(Estimate::between(sum - off, sum, sum + off), records);
            let noised = Noised::additive("sum", &laws.sums);
            let noised = Noised { scale: noised.scale * length * step, ..noised }.told_in(coordinate.point);
            if most < 1.0 || misfits {
                // Nothing is known where there may well be nobody, where most records were shortened, or where the frame
                // was found among fewer records than that takes. All of it is decided by noised numbers.
                return (Estimate::between(low, told(over.value), high), noised);
            }
            (over.map(told), noised)
        })
        .collect()
    }
}

impl<K> Sealed for FollowedMeans<K> {}

impl<K: Key> Ready for FollowedMeans<K> {
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
        // State that cannot be read ended the job before its first draw (`accepts`). Beginning anew would still be private: both
        // ways cost the same.
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
