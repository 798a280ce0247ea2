//! Finite sets, as the search for a shape sees them: which of their vectors are the farthest out, in some metric.

use super::matrix::{Matrix, dot};
use crate::accounting::Relation;

/// The vectors that a shape must hold: points, or half the differences of all pairs of points, which are never listed.
pub(super) struct ShapeVectors {
    points: Matrix,
    relation: Relation,
}

/// One of them: a point (twice), or the two points of a pair.
pub(super) type VectorId = (usize, usize);

/// What a search among all of them found.
pub(super) struct Farthest {
    /// No vector is farther out than this, squared.
    pub(super) most: f64,
    /// The farthest few beyond 1, the farthest first.
    pub(super) beyond: Vec<VectorId>,
}

impl ShapeVectors {
    pub(super) fn new(points: Matrix, relation: Relation) -> ShapeVectors {
        ShapeVectors { points, relation }
    }

    pub(super) fn dimension(&self) -> usize {
        self.points.columns()
    }

    /// How many multiplications a look at all of them takes, at most.
    pub(super) fn work(&self) -> f64 {
        let (many, size) = (self.points.rows() as f64, self.points.columns() as f64);
        match self.relation {
            Relation::AddRemove => many * size * size,
            Relation::Replace => many * size * (many / 2.0 + size),
        }
    }

    /// Some that span all of them: every point, or every point's difference from the first.
    pub(super) fn first(&self) -> Vec<VectorId> {
        let points = 0..self.points.rows();
        match self.relation {
            Relation::AddRemove => points.map(|at| (at, at)).collect(),
            Relation::Replace => points.skip(1).map(|at| (at, 0)).collect(),
        }
    }

    /// The vector itself.
    pub(super) fn vector(&self, (left, right): VectorId) -> Vec<f64> {
        let left = self.points.row(left);
        match self.relation {
            Relation::AddRemove => left.to_vec(),
            Relation::Replace => {
                left.iter().zip(self.points.row(right)).map(|(a, b)| (a - b) / 2.0).collect()
            }
        }
    }

    /// The farthest of all, where this makes a vector one whose length is its distance.
    pub(super) fn farthest(&self, metric: &Matrix, few: usize) -> Farthest {
        let (most, mut beyond) = match self.relation {
            Relation::AddRemove => self.points_beyond(metric),
            Relation::Replace => self.pairs_beyond(metric),
        };
        beyond.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        beyond.truncate(few);
        Farthest { most, beyond: beyond.into_iter().map(|(_, name)| name).collect() }
    }

    fn points_beyond(&self, metric: &Matrix) -> (f64, Vec<(f64, VectorId)>) {
        let distances: Vec<f64> = self.points.each_row().map(|row| distance(metric, row)).collect();
        let most = distances.iter().copied().fold(0.0, f64::max);
        let beyond = distances.into_iter().enumerate().filter(|(_, distance)| *distance > 1.0);
        (most, beyond.map(|(at, distance)| (distance, (at, at))).collect())
    }

    /// For each point the one that is farthest from it. Points are taken by their distance from the middle, so that most
    /// pairs are known to be near without a look: half a difference is at most the mean of the two distances.
    fn pairs_beyond(&self, metric: &Matrix) -> (f64, Vec<(f64, VectorId)>) {
        let (many, size) = (self.points.rows(), metric.rows());
        let turned = metric.transposed();
        let mut seen = self.points.times(&turned);
        let mut middle = vec![0.0; size];
        for row in seen.each_row() {
            middle.iter_mut().zip(row).for_each(|(sum, entry)| *sum += entry / many as f64);
        }
        for at in 0..many {
            seen.row_mut(at).iter_mut().zip(&middle).for_each(|(entry, middle)| *entry -= middle);
        }
        let lengths: Vec<f64> = seen.row_squares().into_iter().map(f64::sqrt).collect();
        let mut order: Vec<usize> = (0..many).collect();
        order.sort_by(|&left, &right| lengths[right].total_cmp(&lengths[left]).then(left.cmp(&right)));
        let mut sorted = Matrix::zeros(0, size);
        order.iter().for_each(|&at| sorted.push(seen.row(at)));
        let squares = sorted.row_squares();
        let mut beyond = Vec::new();
        for (left, &name) in order.iter().enumerate() {
            let (own, length) = (sorted.row(left), lengths[name]);
            let mut best = (1.0, left);
            for right in left + 1..many {
                if length + lengths[order[right]] < 2.0 * best.0 {
                    break;
                }
                let apart = squares[left] + squares[right] - 2.0 * dot(own, sorted.row(right));
                let apart = apart.max(0.0).sqrt() / 2.0;
                if apart > best.0 {
                    best = (apart, right);
                }
            }
            if best.1 != left {
                beyond.push((best.0 * best.0, (name, order[best.1])));
            }
        }
        // What was passed over is at most 1.
        let most = beyond.iter().map(|found| found.0).fold(1.0, f64::max);
        (most, beyond)
    }
}

/// The square of the length of a vector, as the metric sees it.
pub(super) fn distance(metric: &Matrix, vector: &[f64]) -> f64 {
    metric.each_row().map(|row| dot(row, vector)).map(|entry| entry * entry).sum()
}
