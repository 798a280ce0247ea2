//! The search for the best shape of a finite set: multiplicative updates on its dual, with a certificate.
//!
//! The dual puts weights `m` on the vectors and maximises `t = tr S^(1/2)` of their second moment `S`. For
//! every choice of weights `t^2` is at most the least trace, and the covariance `q t S^(1/2)` contains the
//! set, where `q` is the largest squared distance of a vector. So a result carries its own proof, for any
//! path of the search. Norms other than the Euclidean put weights `w` on the coordinates too: then the trace
//! is the weighted one, and any `w` of dual norm 1 gives a lower bound.

use std::collections::BTreeSet;

use super::CovarianceFactor;
use super::domain::{ShapeVectors, VectorId, distance};
use super::error::Norm;
use super::matrix::{Eigen, Matrix, add};
use crate::accounting::Relation;

/// The relative margin that is added to the largest squared distance for its rounding.
const ROUNDING: f64 = 1e-9;

/// Eigenvalues below this share of the largest are raised to it: the shape stays invertible, and grows by
/// 3e-7 at most.
const FLOOR: f64 = 1e-13;

/// The largest number of updates between two passes over the whole set.
const TURN: usize = 300;

/// The approximate number of additions and multiplications after which a search ends: a minute or two. Its
/// result is then returned with its gap.
const WORK: f64 = 1e11;

/// The number of updates after which a search ends where each is little work: seconds. Thousands are usual.
const UPDATES: usize = 50_000;

/// The vectors that have a weight, and their weights.
struct Active {
    names: Vec<VectorId>,
    vectors: Matrix,
    weights: Vec<f64>,
}

/// The metric that the weights give, under which the set should have length 1, with its inverse and the
/// trace.
struct Metric {
    metric: Matrix,
    inverse: Matrix,
    trace: f64,
}

/// Returns the least covariance that contains the vectors, to this gap, in the original coordinates.
pub(super) fn solve(
    vectors: &ShapeVectors,
    outward: &Matrix,
    inward: &Matrix,
    norm: Norm,
    gap: f64,
) -> CovarianceFactor {
    let mut active = Active::new(vectors);
    let mut weights = norm.weights(&vec![1.0; outward.rows()]);
    let mut best = CovarianceFactor {
        factor: Matrix::zeros(0, 0),
        inverse: Matrix::zeros(0, 0),
        upper: f64::INFINITY,
        lower: 0.0,
    };
    let (mut work, mut updates, mut inner) = (0.0, 0, 0.1f64.max(gap));
    let few = 4 * vectors.dimension() + 32;
    loop {
        // A phase among the vectors that have weights.
        for turn in 0..TURN {
            let seen = active.seen(outward, &weights);
            let variances = outward.times(&seen.inverse).row_squares();
            let distances: Vec<f64> =
                active.vectors.each_row().map(|row| distance(&seen.metric, row)).collect();
            let most = distances.iter().copied().fold(0.0, f64::max);
            let size = norm.of_variances(&variances);
            best.lower = best.lower.max(seen.trace * seen.trace);
            work += active.work();
            updates += 1;
            if size * most <= best.lower * (1.0 + inner) || turn + 1 == TURN || work >= WORK {
                break;
            }
            active.update(&distances, norm.is_euclidean(), turn);
            if !norm.is_euclidean() {
                let products: Vec<f64> = weights.iter().zip(&variances).map(|(w, v)| w * v).collect();
                weights = norm.weights(&products);
            }
        }
        // A pass over all vectors.
        let seen = active.seen(outward, &weights);
        let farthest = vectors.farthest(&seen.metric, few);
        work += vectors.work();
        let most = farthest.most * (1.0 + ROUNDING);
        let factor = outward.times(&seen.inverse);
        let upper = norm.of_variances(&factor.row_squares()) * most;
        if upper < best.upper {
            best.factor = factor.scaled(most.sqrt());
            best.inverse = seen.metric.times(inward).scaled(1.0 / most.sqrt());
            best.upper = upper;
        }
        let ended = work >= WORK || updates >= UPDATES || !upper.is_finite();
        if ended || best.upper <= best.lower * (1.0 + gap) {
            return best;
        }
        inner = (0.3 * (upper / best.lower - 1.0)).clamp(0.3 * gap, inner);
        active.join(vectors, &farthest.beyond);
    }
}

impl Active {
    fn new(vectors: &ShapeVectors) -> Active {
        let mut active =
            Active { names: Vec::new(), vectors: Matrix::zeros(0, vectors.dimension()), weights: Vec::new() };
        active.join(vectors, &vectors.first());
        active
    }

    /// Adds vectors, each with half of the mean weight.
    fn join(&mut self, vectors: &ShapeVectors, names: &[VectorId]) {
        let known: BTreeSet<VectorId> = self.names.iter().copied().collect();
        let weight = 0.5 / self.names.len().max(1) as f64;
        for &name in names.iter().filter(|name| !known.contains(name) && !known.contains(&(name.1, name.0))) {
            self.names.push(name);
            self.vectors.push(&vectors.vector(name));
            self.weights.push(weight);
        }
        self.normalise();
    }

    /// The work of one update: the second moment, the distances, and some sweeps for eigenvectors.
    fn work(&self) -> f64 {
        let size = self.vectors.columns() as f64;
        4.0 * size * size * (self.names.len() as f64 + 15.0 * size)
    }

    fn normalise(&mut self) {
        let total: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|weight| *weight /= total);
    }

    /// Raises the weights of far vectors, lowers those of near ones, and removes vectors with almost no
    /// weight left.
    fn update(&mut self, distances: &[f64], twice: bool, turn: usize) {
        for (weight, distance) in self.weights.iter_mut().zip(distances) {
            *weight *= if twice { distance * distance } else { *distance };
        }
        self.normalise();
        if turn % 10 == 9 {
            // Where units differ by 10^4, a vector that bounds a small coordinate has a weight of 10^-4:
            // removed too early it comes back too heavy, again and again.
            let least = 1e-7 / self.names.len() as f64;
            let wanted: Vec<bool> = (0..self.names.len())
                .map(|at| self.weights[at] > least || distances[at] > 0.95 && self.weights[at] > 1e-12)
                .collect();
            let mut place = wanted.iter();
            self.names.retain(|_| place.next() == Some(&true));
            let mut place = wanted.iter();
            self.weights.retain(|_| place.next() == Some(&true));
            self.vectors.keep(&wanted);
            self.normalise();
        }
    }

    fn seen(&self, outward: &Matrix, weights: &[f64]) -> Metric {
        let size = self.vectors.columns();
        let mut second = Matrix::zeros(size, size);
        for (row, &weight) in self.vectors.each_row().zip(&self.weights) {
            for (at, &entry) in row.iter().enumerate() {
                add(second.row_mut(at), weight * entry, row);
            }
        }
        let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
        let outer = Eigen::of(&outward.clone().rows_scaled(&roots).transposed().squared());
        let root = outer.mapped(|value| value.max(0.0).sqrt());
        let unroot = outer.mapped(|value| 1.0 / value.max(f64::MIN_POSITIVE).sqrt());
        let eigen = Eigen::of(&root.times(&second).times(&root));
        let most = eigen.values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let trace: f64 = eigen.values.iter().map(|&value| value.max(0.0).sqrt()).sum();
        let stretches: Vec<f64> =
            eigen.values.iter().map(|&value| (trace * value.max(most * FLOOR).sqrt()).sqrt()).collect();
        let shrinks: Vec<f64> = stretches.iter().map(|stretch| 1.0 / stretch).collect();
        Metric {
            metric: eigen.vectors.clone().rows_scaled(&shrinks).times(&root),
            inverse: eigen.vectors.rows_scaled(&stretches).times(&unroot).transposed(),
            trace,
        }
    }
}

// The domains whose best shape is known: boxes, ellipsoids, balls and marginals; and zonotopes, within pi/2.

/// The shape of a box of half widths `a`: a diagonal covariance in proportion to `a^(4 / (p + 2))`, as large
/// as its corners need.
pub(super) fn cuboid(reaches: &[f64], norm: Norm) -> CovarianceFactor {
    let most = reaches.iter().copied().fold(0.0, f64::max);
    let power = 4.0 / (norm.exponent() + 2.0);
    let weight = |reach: f64| libm::pow(reach / most, power);
    let moving = reaches.iter().copied().filter(|&reach| reach > 0.0);
    let corner: f64 = moving.map(|reach| (reach / most) * (reach / most) / weight(reach)).sum();
    let deviations: Vec<f64> = reaches
        .iter()
        .map(|&reach| if reach > 0.0 { most * (corner * weight(reach)).sqrt() } else { 0.0 })
        .collect();
    exact(along_axes(&deviations), norm)
}

/// The shape of the ball of norm `power`: the same in every direction, as large as its corners need.
pub(super) fn ball(power: f64, radius: f64, dimension: usize, norm: Norm) -> CovarianceFactor {
    let corner = libm::pow(dimension as f64, (0.5 - 1.0 / power).max(0.0));
    exact(along_axes(&vec![radius * corner; dimension]), norm)
}

/// The shape of the products of signs. Changing a bit turns the signs of a set of coordinates, each
/// coordinate's by other bits, and exchanging bits exchanges coordinates. The best shape is invariant under
/// all of these, and so the same in every direction.
pub(super) fn marginals(points: &Matrix, relation: Relation, norm: Norm) -> CovarianceFactor {
    exact(along_axes(&vec![marginals_radius(points, relation).sqrt(); points.columns()]), norm)
}

/// The square of the length of the longest vector of the body. The record farthest from any one is as far
/// from the first, whose signs are all 1.
pub(super) fn marginals_radius(points: &Matrix, relation: Relation) -> f64 {
    let many = points.columns() as f64;
    match relation {
        Relation::AddRemove => many,
        Relation::Replace => {
            let least = points.each_row().map(|row| row.iter().sum()).fold(many, f64::min);
            (many - least) / 2.0
        }
    }
}

/// The shape of the image of the unit ball under a matrix: the matrix's product with its transpose, in every
/// norm.
pub(super) fn ellipsoid(matrix: &Matrix, norm: Norm) -> CovarianceFactor {
    exact(of_covariance(&matrix.squared()), norm)
}

/// The shape of all sums of generators. For every split `l` of 1 among them, `sum g g' / l` contains the
/// zonotope; the best of these is returned. That is the bound of a semidefinite relaxation, which is at most
/// pi/2 from the truth (Nesterov 1998); the sum of independent signs, which lies inside, may give a better
/// lower bound.
pub(super) fn zonotope(generators: &Matrix, norm: Norm) -> CovarianceFactor {
    let dimension = generators.columns();
    let most = generators.each_row().flatten().fold(0.0f64, |most, entry| most.max(entry.abs()));
    let unit = generators.clone().scaled(1.0 / most);
    let mut weights = norm.weights(&vec![1.0; dimension]);
    let (mut best, mut upper, mut relaxed) = (Matrix::zeros(0, 0), f64::INFINITY, 0.0f64);
    let mut signs = 0.0f64;
    for _ in 0..if norm.is_euclidean() { 1 } else { 200 } {
        let length = |row: &[f64]| row.iter().zip(&weights).map(|(g, w)| g * g * w).sum::<f64>().sqrt();
        let lengths: Vec<f64> = unit.each_row().map(length).collect();
        let total: f64 = lengths.iter().sum();
        let scales: Vec<f64> =
            lengths.iter().map(|&length| if length > 0.0 { (total / length).sqrt() } else { 0.0 }).collect();
        let covariance = unit.clone().rows_scaled(&scales).transposed().squared();
        let variances: Vec<f64> = (0..dimension).map(|at| covariance[(at, at)]).collect();
        let size = norm.of_variances(&variances);
        if size < upper {
            (best, upper) = (covariance, size);
        }
        if total * total > relaxed {
            relaxed = total * total;
            let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
            let spread = Eigen::of(&unit.transposed().rows_scaled(&roots).squared());
            let trace: f64 = spread.values.iter().map(|&value| value.max(0.0).sqrt()).sum();
            signs = signs.max(trace * trace);
        }
        if upper <= relaxed * (1.0 + 1e-9) {
            break;
        }
        let products: Vec<f64> = weights.iter().zip(&variances).map(|(weight, size)| weight * size).collect();
        weights = norm.weights(&products);
    }
    let shape = of_covariance(&best);
    let lower = (relaxed * std::f64::consts::FRAC_2_PI).max(signs);
    let factor = shape.0.scaled(most);
    let inverse = shape.1.scaled(1.0 / most);
    CovarianceFactor { factor, inverse, upper: upper * most * most, lower: lower.min(upper) * most * most }
}

fn exact((factor, inverse): (Matrix, Matrix), norm: Norm) -> CovarianceFactor {
    let size = norm.of_variances(&factor.row_squares());
    CovarianceFactor { factor, inverse, upper: size, lower: size }
}

/// Returns the factor with these deviations along the axes, and its inverse; axes without a deviation are
/// left out.
fn along_axes(deviations: &[f64]) -> (Matrix, Matrix) {
    let moving: Vec<usize> = (0..deviations.len()).filter(|&at| deviations[at] > 0.0).collect();
    let mut factor = Matrix::zeros(deviations.len(), moving.len());
    let mut inverse = Matrix::zeros(moving.len(), deviations.len());
    for (column, &at) in moving.iter().enumerate() {
        factor[(at, column)] = deviations[at];
        inverse[(column, at)] = 1.0 / deviations[at];
    }
    (factor, inverse)
}

/// Returns the symmetric root of a covariance and its inverse, in its span. Both are taken with each
/// coordinate in its own unit, so that a small coordinate is not lost beside a large one.
fn of_covariance(covariance: &Matrix) -> (Matrix, Matrix) {
    let size = covariance.rows();
    let units: Vec<f64> = (0..size).map(|at| covariance[(at, at)].max(0.0).sqrt()).collect();
    let inverses: Vec<f64> = units.iter().map(|&unit| if unit > 0.0 { 1.0 / unit } else { 0.0 }).collect();
    let half = covariance.clone().rows_scaled(&inverses).transposed().rows_scaled(&inverses);
    let eigen = Eigen::of(&half);
    let most = eigen.values.iter().copied().fold(0.0, f64::max);
    let wanted: Vec<bool> = eigen.values.iter().map(|&value| value > most * 1e-13).collect();
    let kept: Vec<f64> = eigen.values.iter().copied().filter(|&value| value > most * 1e-13).collect();
    let mut vectors = eigen.vectors;
    vectors.keep(&wanted);
    let roots: Vec<f64> = kept.iter().map(|value| value.sqrt()).collect();
    let reciprocal: Vec<f64> = roots.iter().map(|root| 1.0 / root).collect();
    let factor = vectors.clone().rows_scaled(&roots).transposed().rows_scaled(&units);
    let inverse = vectors.rows_scaled(&reciprocal).transposed().rows_scaled(&inverses).transposed();
    (factor, inverse)
}
