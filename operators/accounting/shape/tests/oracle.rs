//! The search beside a slow one: all vectors of the body are listed, none is ever dropped, and roots of
//! matrices are found by Newton's method, without eigenvectors.

use super::{cloud, norms};
use crate::accounting::Relation::{self, AddRemove, Replace};
use crate::accounting::shape::{DataDomain, Norm, Shape};

type Square = Vec<Vec<f64>>;

fn times(left: &Square, right: &Square) -> Square {
    let entry = |row: &Vec<f64>, at: usize| row.iter().zip(right).map(|(a, other)| a * other[at]).sum();
    left.iter().map(|row| (0..right[0].len()).map(|at| entry(row, at)).collect()).collect()
}

/// The inverse, by elimination.
fn inverse(matrix: &Square) -> Square {
    let size = matrix.len();
    let unit = |at: usize| (0..size).map(move |on| f64::from(u8::from(on == at)));
    let mut rows: Square =
        matrix.iter().enumerate().map(|(at, row)| row.iter().copied().chain(unit(at)).collect()).collect();
    for at in 0..size {
        let pivot = (at..size).max_by(|&a, &b| rows[a][at].abs().total_cmp(&rows[b][at].abs())).unwrap();
        rows.swap(at, pivot);
        let scale = rows[at][at];
        rows[at].iter_mut().for_each(|entry| *entry /= scale);
        let own = rows[at].clone();
        for other in (0..size).filter(|&other| other != at) {
            let scale = rows[other][at];
            rows[other].iter_mut().zip(&own).for_each(|(entry, own)| *entry -= scale * own);
        }
    }
    rows.into_iter().map(|row| row[size..].to_vec()).collect()
}

/// The root of a matrix and the root's inverse (Denman and Beavers 1976).
fn roots(matrix: &Square) -> (Square, Square) {
    let size = matrix.len();
    let half = |left: &Square, right: &Square| {
        let entry = |row: usize, at: usize| (left[row][at] + right[row][at]) / 2.0;
        (0..size).map(|row| (0..size).map(|at| entry(row, at)).collect()).collect()
    };
    let mut root = matrix.clone();
    let mut other: Square =
        (0..size).map(|at| (0..size).map(|on| f64::from(u8::from(on == at))).collect()).collect();
    for _ in 0..60 {
        (root, other) = (half(&root, &inverse(&other)), half(&other, &inverse(&root)));
    }
    (root, other)
}

/// The squares of a lower and an upper bound of the norm of a covariance that contains the vectors.
fn slow(vectors: &[Vec<f64>], power: f64, rounds: usize) -> (f64, f64) {
    let size = vectors[0].len();
    let mut points = vec![1.0 / vectors.len() as f64; vectors.len()];
    let dual = if power.is_infinite() { 1.0 } else { power / (power - 2.0) };
    let mut weights = vec![if power == 2.0 { 1.0 } else { (1.0 / size as f64).powf(1.0 / dual) }; size];
    let (mut lower, mut upper) = (0.0f64, f64::INFINITY);
    for _ in 0..rounds {
        let turned: Vec<Vec<f64>> = vectors
            .iter()
            .map(|vector| vector.iter().zip(&weights).map(|(entry, weight)| entry * weight.sqrt()).collect())
            .collect();
        let moment = |row: usize, at: usize| {
            points.iter().zip(&turned).map(|(point, vector)| point * vector[row] * vector[at]).sum::<f64>()
        };
        let second: Square = (0..size).map(|row| (0..size).map(|at| moment(row, at)).collect()).collect();
        let (root, unroot) = roots(&second);
        let trace: f64 = (0..size).map(|at| root[at][at]).sum();
        let length = |vector: &Vec<f64>| {
            let seen = times(&unroot, &vector.iter().map(|&entry| vec![entry]).collect());
            vector.iter().zip(seen).map(|(entry, seen)| entry * seen[0]).sum::<f64>() / trace
        };
        let lengths: Vec<f64> = turned.iter().map(length).collect();
        let most = lengths.iter().copied().fold(0.0, f64::max);
        let variances: Vec<f64> = (0..size).map(|at| trace * root[at][at] / weights[at] * most).collect();
        let norm = if power.is_infinite() {
            variances.iter().copied().fold(0.0, f64::max)
        } else {
            variances.iter().map(|variance| variance.powf(power / 2.0)).sum::<f64>().powf(2.0 / power)
        };
        (lower, upper) = (lower.max(trace * trace), upper.min(norm));
        if upper <= lower * 1.001 {
            break;
        }
        points.iter_mut().zip(&lengths).for_each(|(point, length)| *point *= length);
        if power != 2.0 {
            let all: f64 = weights.iter().zip(&variances).map(|(weight, variance)| weight * variance).sum();
            for (weight, variance) in weights.iter_mut().zip(&variances) {
                *weight = (*weight * variance / all).powf(1.0 / dual).max(1e-7);
            }
            let length = weights.iter().map(|weight| weight.powf(dual)).sum::<f64>().powf(1.0 / dual);
            weights.iter_mut().for_each(|weight| *weight /= length);
        }
    }
    (lower, upper)
}

fn body(points: &[Vec<f64>], relation: Relation) -> Vec<Vec<f64>> {
    if relation == AddRemove {
        return points.to_vec();
    }
    let half =
        |left: &Vec<f64>, right: &Vec<f64>| left.iter().zip(right).map(|(a, b)| (a - b) / 2.0).collect();
    let pairs = points
        .iter()
        .enumerate()
        .flat_map(|(at, left)| points[..at].iter().map(move |right| half(left, right)));
    pairs.collect()
}

// Refutes a lower bound that is not one, an upper bound that is not one, and a search that ends at the wrong
// place.
#[test]
fn a_slow_search_finds_the_same() {
    for (seed, (many, dimension)) in [(6, 2), (9, 3), (14, 3), (12, 4)].into_iter().enumerate() {
        let points = cloud(many, dimension, 100 + seed as u64);
        let domain = DataDomain::points(&points).unwrap();
        for norm in [Norm::EUCLIDEAN, Norm::power(3.0).unwrap(), Norm::LARGEST] {
            for relation in [AddRemove, Replace] {
                let (lower, upper) = slow(&body(&points, relation), norm.exponent(), 1_500);
                assert!(upper <= lower * 1.01, "{norm} {relation:?}: {lower} to {upper} says nothing");
                let shape = Shape::of(&domain, relation, norm).unwrap();
                assert!(shape.gap() <= 1e-4, "{norm} {relation:?} {}", shape.gap());
                let (least, most) = (shape.lower().powi(2), shape.gamma().powi(2));
                let printed = format!("{norm} {relation:?}: {least} to {most}, slowly {lower} to {upper}");
                assert!(most >= lower * (1.0 - 1e-9) && least <= upper * (1.0 + 1e-9), "{printed}");
            }
        }
    }
}

// The slow search itself, on a square whose diagonals are 2 and whose shape is known.
#[test]
fn the_slow_search_knows_a_square() {
    for norm in norms() {
        let square = [vec![1.0, 1.0], vec![1.0, -1.0]];
        let (lower, upper) = slow(&square, norm.exponent(), 200);
        let truth = 2.0 * if norm == Norm::LARGEST { 1.0 } else { 2f64.powf(2.0 / norm.exponent()) };
        assert!((lower / truth - 1.0).abs() < 1e-9 && (upper / truth - 1.0).abs() < 1e-9, "{norm}");
    }
}
