//! Means of vectors with additive noise: a sum for each coordinate, divided by one count.

use std::sync::Arc;

use super::found::FoundMean;
use super::mean::{BITS, MeanForm, Shaped, VectorMean};
use super::rows::{Moments, VectorRows};
use super::stably::StableVectors;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::additive::{Additive, Family, Gaussian, Laplace, UncheckedNoise, over_bound};
use crate::mechanisms::answer::{Coordinate, DecimalPoint, Estimate, EstimatesPerKey, Noised};
use crate::mechanisms::bound::{Range, Sensitivity};
use crate::mechanisms::keys::Key;
use crate::mechanisms::means::{divided, quotient};
use crate::mechanisms::mechanism::Mechanism;
use crate::mechanisms::noisy::{Noisy, NumberForm, Numbers, NumbersOf, settled};
use crate::mechanisms::selection::{NoisedColumn, SelectedRow, Threshold};
use crate::mechanisms::spend::Spend;
use crate::mechanisms::statistic::{Cells, Statistic, Summary};
use crate::noise::NoiseSource;

/// Means of vectors with additive noise, prepared for draws.
///
/// The [`cost`](crate::mechanisms::Prepared::cost) of a window is split between the count
/// ([`Gaussian::counting`](crate::mechanisms::Gaussian::counting)) and the sums, which have the rest. Clipped
/// coordinates have equal parts of it; whitened ones share one noise, which the shape scales for each
/// coordinate.
///
/// The interval of a coordinate contains the true value if its sum and the count are both within theirs; each
/// has half of the probability of an error. No interval includes the bias of clipping.
pub type NoisyVectors<K> = Noisy<K, MeanLine>;

#[derive(Clone, Debug)]
pub struct MeanLine {
    counts: NoisedColumn,
    sums: Sums,
    coordinates: Arc<[Coordinate]>,
    over_bound: Option<f64>,
}

#[derive(Clone, Debug)]
enum Sums {
    Clipped(Vec<(Range, NoisedColumn)>),
    Shaped { noise: Additive, shaped: Arc<Shaped>, widths: Vec<Width> },
}

/// The noise of one coordinate of a whitened sum.
#[derive(Clone, Copy, Debug)]
struct Width {
    deviation: f64,
    half: f64,
    /// The largest rounding error of one record, which is rounded toward zero.
    rounded: f64,
}

fn vectors<K: Key>(asked: &UncheckedNoise, mean: &VectorMean<K>) -> Result<NoisyVectors<K>, Invalid> {
    settled(asked, &mean.stated(), |NumbersOf { spend, shared, finding, .. }| {
        let (counting, summing) = spend.split(asked.counting()?.max(finding));
        let each = (1.0 + asked.confidence()?) / 2.0;
        let records = Sensitivity::each(mean.limits(), mean.limits().per_key().into())?;
        let counts = NoisedColumn::new(Additive::within(asked.family, counting, &records)?, shared, each)?;
        let (sums, over_bound) = match mean.form() {
            MeanForm::Clipped(ranges) | MeanForm::Narrow(ranges) => {
                clipped(asked.family, mean, ranges, (spend, summing), each)?
            }
            MeanForm::Shaped(shaped) => noised_by_shape(asked.family, mean, shaped, (spend, summing), each)?,
        };
        Ok(MeanLine { counts, sums, coordinates: Arc::clone(mean.coordinates()), over_bound })
    })
}

/// The amounts to spend: the whole cost, and the part of the sums.
type Spends = (Spend, Spend);

fn clipped<K: Key>(
    family: Family,
    mean: &VectorMean<K>,
    ranges: &[Range],
    (all, summing): Spends,
    confidence: f64,
) -> Result<(Sums, Option<f64>), Invalid> {
    let part = summing.part_of(ranges.len() as u64);
    let mut columns = Vec::with_capacity(ranges.len());
    let mut most = Some(0.0f64);
    for range in ranges {
        let records = u128::from(mean.limits().per_key());
        let moved = Sensitivity::each(mean.limits(), records * u128::from(range.width()))?;
        let noise = Additive::within(family, part, &moved)?;
        let over = over_bound(noise.deviation(), &moved, mean.keys(), all);
        most = most.zip(over).map(|(most, over)| most.max(over));
        columns.push((*range, NoisedColumn::new(noise, false, confidence)?));
    }
    // In units of its range every coordinate is alike, and the box of the ranges costs this much more than
    // one of them.
    let over_bound = most.map(|most| most / (ranges.len() as f64).sqrt());
    Ok((Sums::Clipped(columns), over_bound))
}

fn noised_by_shape<K: Key>(
    family: Family,
    mean: &VectorMean<K>,
    shaped: &Arc<Shaped>,
    (all, summing): Spends,
    confidence: f64,
) -> Result<(Sums, Option<f64>), Invalid> {
    if family != Family::Gaussian {
        return Err(Invalid::new(
            "noise",
            InvalidKind::Mixed,
            "Gaussian noise to a domain: no other has its shape",
        ));
    }
    // All whitened coordinates of a key together are one vector of this length.
    let length = u128::from(mean.limits().per_key()) << BITS;
    let moved = Sensitivity::each(mean.limits(), length)?;
    let noise = Additive::within(family, summing, &moved)?;
    let step = libm::exp2(-f64::from(BITS));
    let half = noise.half_width(confidence)? as f64;
    let width = |row: &[f64]| {
        let length = row.iter().map(|entry| entry * entry).sum::<f64>().sqrt() * step;
        // With this many steps in a standard deviation, a sum of integer Gaussians is Gaussian to far more
        // digits than are released.
        Width {
            deviation: length * noise.deviation(),
            half: length * half,
            rounded: row.iter().map(|entry| entry.abs()).sum::<f64>() * 2.0 * step,
        }
    };
    let widths = shaped.shape.matrices().0.each_row().map(width).collect();
    let over = over_bound(noise.deviation(), &moved, mean.keys(), all);
    let over_bound = over.map(|over| over * shaped.shape.gamma() / shaped.shape.lower());
    Ok((Sums::Shaped { noise, shaped: Arc::clone(shaped), widths }, over_bound))
}

impl NumberForm for MeanLine {
    type Cell = Moments;
    type Number = f64;
    type Value = ndarray::Array1<f64>;
}

impl Numbers for MeanLine {
    const HAS_A_COUNT: bool = true;

    /// Returns the noise of each coordinate's sum, then that of the count.
    fn noise(&self, _: DecimalPoint) -> Vec<Noised> {
        let of = |(place, coordinate): (usize, &Coordinate)| {
            let sum = match &self.sums {
                Sums::Clipped(columns) => {
                    let sum = columns.get(place).map(|(_, column)| column.noised("sum"));
                    sum.map(|sum| Noised { scale: sum.scale / 2.0, ..sum })
                }
                Sums::Shaped { noise, widths, .. } => {
                    let sum = widths.get(place).map(|width| (width, Noised::additive("sum", noise)));
                    sum.map(|(width, sum)| Noised { scale: width.deviation, ..sum })
                }
            };
            sum.map(|sum| Noised { over_bound: self.over_bound, ..sum.with_point(coordinate.point) })
        };
        let sums = self.coordinates.iter().enumerate().filter_map(of);
        sums.chain([self.counts.noised("records")]).collect()
    }

    fn each(&self) -> EstimatesPerKey {
        EstimatesPerKey::Coordinates(Arc::clone(&self.coordinates))
    }

    /// Returns the half-width for each coordinate's sum, then that of the count.
    fn reaches(&self, _: DecimalPoint) -> Vec<f64> {
        let halves: Vec<f64> = match &self.sums {
            Sums::Clipped(columns) => columns.iter().map(|(_, column)| column.reach() / 2.0).collect(),
            Sums::Shaped { widths, .. } => widths.iter().map(|width| width.half).collect(),
        };
        let widths =
            self.coordinates.iter().zip(halves).map(|(coordinate, half)| coordinate.point.float(half));
        widths.chain([self.counts.reach()]).collect()
    }

    fn people(&self) -> Option<&Additive> {
        Some(self.counts.noise())
    }

    /// Draws the noise of the counts before that of the sums.
    fn estimates<K: Key>(
        &self,
        rows: &mut [SelectedRow<K, Moments>],
        threshold: Option<&Threshold>,
        noise: &mut NoiseSource,
    ) -> Vec<Estimate<f64>> {
        let counts = self.counts.estimates(rows, |cell| cell.records.into(), threshold, noise);
        let sums: Vec<Vec<Estimate<f64>>> = match &self.sums {
            Sums::Clipped(columns) => {
                let column = |(place, (range, column)): (usize, &(Range, NoisedColumn))| {
                    let sums = column.estimates(rows, |cell: &Moments| cell.sum(place), None, noise);
                    let widths =
                        sums.iter().zip(&counts).map(|(sum, count)| divided(range, sum, count, [1; 2]));
                    widths.collect()
                };
                columns.iter().enumerate().map(column).collect()
            }
            Sums::Shaped { noise: law, shaped, widths } => {
                let sums = rows.iter().map(|row| {
                    let draws = law.draws(shaped.whitened.width(), noise);
                    let noised = draws.into_iter().enumerate();
                    noised.map(|(place, draw)| row.cell.sum(place).wrapping_add(draw.into())).collect()
                });
                let sums: Vec<Vec<i128>> = sums.collect();
                let sums = sums.iter().map(|sum| shaped.whitened.unwhitened(sum, 0));
                let rows: Vec<Vec<Estimate<f64>>> =
                    sums.zip(&counts).map(|(sum, count)| averaged(&sum, widths, count)).collect();
                let column = |place: usize| rows.iter().filter_map(|row| row.get(place).copied()).collect();
                (0..widths.len()).map(column).collect()
            }
        };
        (0..rows.len()).flat_map(|row| sums.iter().filter_map(move |sums| sums.get(row).copied())).collect()
    }
}

/// Returns the mean vector of a noisy sum and a noisy count.
fn averaged(sum: &[f64], widths: &[Width], count: &Estimate<i128>) -> Vec<Estimate<f64>> {
    let count = count.map(|count| count as f64);
    let each = sum.iter().zip(widths).map(|(&sum, width)| {
        let off = width.half + width.rounded * count.high.max(0.0);
        quotient(Estimate::between(sum - off, sum, sum + off), count)
    });
    each.collect()
}

/// Implements the mechanisms of vector means: each key draws the noise of its count, and of each sum, or of
/// each whitened coordinate.
macro_rules! averages {
    ($($law:ident),*) => {$(
        impl<K: Key> Mechanism<VectorMean<K>> for $law {
            type Prepared = NoisyVectors<K>;

            fn prepare(&self, statistic: &VectorMean<K>) -> Result<NoisyVectors<K>, Invalid> {
                vectors(&self.0, statistic)
            }
        }
    )*};
}

averages!(Gaussian, Laplace);

// The interface that the means of vectors share, for every kind of bound.

/// A statistic of vectors, by key.
pub trait Vectors: Statistic<Tally = Cells<Self::Key, Self::Known>> + Clone {
    /// The type of the keys.
    type Key: Key;

    /// The tally of one key.
    type Known: Summary + Clone;

    /// Returns the keys that the statistic is released for, if they are public.
    fn listed(&self) -> Option<Arc<[Self::Key]>>;

    /// Adds the contribution of one person to a key, as far as the contribution bound allows.
    fn add<V: AsRef<[i64]>>(&self, known: &mut Self::Known, records: &[V]);
}

macro_rules! vector_statistics {
    ($($statistic:ident: $known:ident),*) => {$(
        impl<K: Key> Vectors for $statistic<K> {
            type Key = K;
            type Known = $known;

            fn listed(&self) -> Option<Arc<[K]>> {
                $statistic::listed(self)
            }

            #[inline]
            fn add<V: AsRef<[i64]>>(&self, known: &mut $known, records: &[V]) {
                $statistic::add(self, known, records);
            }
        }
    )*};
}

vector_statistics!(VectorMean: Moments, FoundMean: VectorRows, StableVectors: VectorRows);
