//! The domains whose best shape is known: boxes, ellipsoids, balls and marginals; and zonotopes, within pi/2.

use super::CovarianceFactor;
use super::matrix::{Eigen, Matrix};
use super::norm::Norm;
use crate::accounting::Relation;

/// A box that reaches `a`: a diagonal covariance in proportion to `a^(4 / (p + 2))`, as large as its corners need.
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

/// The ball of norm `power`: the same in every direction, as large as its corners need.
pub(super) fn ball(power: f64, radius: f64, dimension: usize, norm: Norm) -> CovarianceFactor {
    let corner = libm::pow(dimension as f64, (0.5 - 1.0 / power).max(0.0));
    exact(along_axes(&vec![radius * corner; dimension]), norm)
}

/// Products of signs: to change a bit turns the signs of a set of coordinates, each coordinate's by other bits, and to
/// exchange bits exchanges coordinates. The best shape is the same after all of that, and so in every direction.
pub(super) fn marginals(points: &Matrix, relation: Relation, norm: Norm) -> CovarianceFactor {
    exact(along_axes(&vec![marginals_radius(points, relation).sqrt(); points.columns()]), norm)
}

/// The square of the length of the longest vector of the body. What is farthest from any record is as far from the first,
/// whose signs are all 1.
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

/// What a matrix makes of the unit ball: its own product with its transpose, in every norm.
pub(super) fn ellipsoid(matrix: &Matrix, norm: Norm) -> CovarianceFactor {
    exact(of_covariance(&matrix.squared()), norm)
}

/// All sums of generators. For every split `l` of 1 among them, `sum g g' / l` holds the zonotope; of these the best is
/// told. That is the bound of a semidefinite relaxation, which is at most pi/2 from the truth (Nesterov 1998); the sum of
/// independent signs, which lies inside, may say more.
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

/// The factor with these deviations along the axes, and its inverse; axes without one are left out.
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

/// The symmetric root of a covariance and its inverse, in its span. Both are taken with each coordinate in its own
/// unit, so that a small coordinate is not lost beside a large one.
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
