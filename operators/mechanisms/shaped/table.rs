//! The whitened points of a list, of which a record is always one.

use std::collections::BTreeMap;

use super::ball::squares;
use super::whitened::whiten;
use crate::accounting::shape::Matrix;
use crate::invalid::{Invalid, InvalidKind};

/// Points, their integers, and how far apart two of these are at most.
#[derive(Clone, Debug)]
pub(super) struct PointTable {
    /// What is taken off every point before it is whitened, and given back as often as there are people.
    centre: Vec<f64>,
    points: Matrix,
    whitened: Vec<Vec<i64>>,
    places: BTreeMap<Vec<u64>, usize>,
    /// The square of the largest distance of two.
    apart: u128,
}

/// How long a point may be. Those of the shape's own domain are at most 2 from their centre.
const LONGEST: f64 = 16.0;

impl PointTable {
    /// Where all points are `alike` (what is seen from one of them is seen from each, in other directions), distances from the
    /// first are all distances.
    pub(super) fn of(
        points: &Matrix,
        inverse: &Matrix,
        bits: u32,
        alike: bool,
    ) -> Result<PointTable, Invalid> {
        let mut centre = vec![0.0; points.columns()];
        for point in points.each_row() {
            centre.iter_mut().zip(point).for_each(|(sum, entry)| *sum += entry / points.rows() as f64);
        }
        let step = libm::exp2(f64::from(bits));
        let whitened: Option<Vec<Vec<i64>>> = points
            .each_row()
            .map(|point| {
                let found = whiten(inverse, &less(point, &centre));
                let near = found.iter().all(|entry| entry.abs() <= LONGEST);
                near.then(|| found.into_iter().map(|entry| (entry * step) as i64).collect())
            })
            .collect();
        let other = || Invalid::new("shape", InvalidKind::Mixed, "the shape of this very domain");
        let whitened = whitened.ok_or_else(other)?;
        let apart = if alike {
            // Alike they stay where signs are all that tells them apart: no coordinate is mixed with another.
            if !(is_diagonal(inverse) && centre.iter().all(|&entry| entry == 0.0)) {
                return Err(other());
            }
            whitened.iter().map(|point| squares(&differences(point, &whitened[0]))).max().unwrap_or(0)
        } else {
            apart(&whitened)
        };
        let places = points.each_row().enumerate().map(|(at, point)| (name(point), at)).collect();
        Ok(PointTable { centre, points: points.clone(), whitened, places, apart })
    }

    pub(super) fn points(&self) -> &Matrix {
        &self.points
    }

    pub(super) fn centre(&self) -> &[f64] {
        &self.centre
    }

    pub(super) fn apart(&self) -> u128 {
        self.apart
    }

    /// The integers of a point, of the nearest point, or of the first where there is no vector.
    pub(super) fn record(&self, vector: Option<&[f64]>, inverse: &Matrix) -> Vec<i64> {
        let at = vector.map_or(0, |vector| match self.places.get(&name(vector)) {
            Some(&at) => at,
            None => self.nearest(vector, inverse),
        });
        self.whitened.get(at).cloned().unwrap_or_default()
    }

    fn nearest(&self, vector: &[f64], inverse: &Matrix) -> usize {
        let mut best = (f64::INFINITY, 0);
        for (at, point) in self.points.each_row().enumerate() {
            let apart: f64 = whiten(inverse, &less(vector, point)).iter().map(|entry| entry * entry).sum();
            if apart < best.0 {
                best = (apart, at);
            }
        }
        best.1
    }
}

/// The bits of a point; those of zero are the same for both signs.
fn name(point: &[f64]) -> Vec<u64> {
    point.iter().map(|entry| (entry + 0.0).to_bits()).collect()
}

fn less(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(a, b)| a - b).collect()
}

fn differences(left: &[i64], right: &[i64]) -> Vec<i64> {
    left.iter().zip(right).map(|(a, b)| a - b).collect()
}

fn is_diagonal(matrix: &Matrix) -> bool {
    let alone =
        |(at, row): (usize, &[f64])| row.iter().enumerate().all(|(on, &entry)| on == at || entry == 0.0);
    matrix.rows() == matrix.columns() && matrix.each_row().enumerate().all(alone)
}

/// The square of the largest distance, exactly: floats only say which pairs need not be looked at.
fn apart(points: &[Vec<i64>]) -> u128 {
    let mut sorted: Vec<(f64, &Vec<i64>, Vec<f64>)> = points
        .iter()
        .map(|point| {
            let floats: Vec<f64> = point.iter().map(|&entry| entry as f64).collect();
            (floats.iter().map(|entry| entry * entry).sum::<f64>().sqrt(), point, floats)
        })
        .collect();
    sorted.sort_by(|left, right| right.0.total_cmp(&left.0));
    let (mut most, mut nearly) = (0u128, 0.0);
    // Entries are below 2^53, so that a sum of 256 squares is right to 2^-44.
    let passed = |about: f64, nearly: f64| about * (1.0 + 1e-9) < nearly;
    for (at, (length, point, floats)) in sorted.iter().enumerate() {
        for (other_length, other, other_floats) in &sorted[at + 1..] {
            let together = length + other_length;
            if passed(together * together, nearly) {
                break;
            }
            let about: f64 = floats.iter().zip(other_floats).map(|(a, b)| (a - b) * (a - b)).sum();
            if !passed(about, nearly) {
                most = most.max(squares(&differences(point, other)));
                nearly = most as f64;
            }
        }
    }
    most
}
