#![allow(clippy::unwrap_used)]

use super::*;
use crate::accounting::Relation::{AddRemove, Replace};

/// Numbers that look normal, from a fixed seed.
pub(crate) fn cloud(points: usize, dimension: usize, mut seed: u64) -> Vec<Vec<f64>> {
    let mut uniform = move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut normal = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    (0..points).map(|_| (0..dimension).map(|at| normal() * (1.0 + at as f64)).collect()).collect()
}

fn norms() -> [Norm; 5] {
    [Norm::EUCLIDEAN, Norm::power(2.5).unwrap(), Norm::power(4.0).unwrap(), Norm::power(8.0).unwrap(), Norm::LARGEST]
}

fn near(found: f64, truth: f64, part: f64) {
    assert!((found / truth - 1.0).abs() <= part, "{found} is not {truth}");
}

fn sides(reaches: &[f64]) -> Vec<Vec<f64>> {
    let signs = 0..1usize << reaches.len();
    let sign = |signs: usize, at: usize| if signs >> at & 1 == 1 { -1.0 } else { 1.0 };
    signs.map(|signs| reaches.iter().enumerate().map(|(at, reach)| sign(signs, at) * reach).collect()).collect()
}

/// How far out a vector is, by what the shape whitens it with.
fn length(shape: &Shape, vector: &[f64]) -> f64 {
    let inverse = shape.inverse();
    let entry = |row: &Vec<f64>| row.iter().zip(vector).map(|(a, b)| a * b).sum::<f64>();
    inverse.iter().map(|row| entry(row).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn a_box_has_the_sum_of_its_sides_and_the_search_finds_it() {
    let reaches = [1.0, 2.0, 3.0];
    let closed = Shape::of(&Domain::reaching(&reaches).unwrap(), AddRemove, Norm::EUCLIDEAN).unwrap();
    near(closed.gamma(), 6.0, 1e-12);
    near(closed.covariance()[2][2], 18.0, 1e-12);
    let closed = Shape::of(&Domain::reaching(&reaches).unwrap(), AddRemove, Norm::LARGEST).unwrap();
    near(closed.gamma(), 14f64.sqrt(), 1e-12);
    let corners = Domain::points(&sides(&reaches)).unwrap();
    for norm in norms() {
        for relation in [AddRemove, Replace] {
            let closed = Shape::of(&Domain::reaching(&reaches).unwrap(), relation, norm).unwrap();
            let found = Shape::of(&corners, relation, norm).unwrap();
            assert!(found.gap() <= 1.0001e-4, "{norm} {relation:?} {}", found.gap());
            near(found.gamma(), closed.gamma(), 1e-4);
            assert!(found.lower() <= closed.gamma() * (1.0 + 1e-9));
        }
    }
}

#[test]
#[ignore = "timing"]
fn times() {
    for (points, dimension, relation) in
        [(200, 8, AddRemove), (200, 8, Replace), (5000, 32, AddRemove), (5000, 32, Replace)]
    {
        let domain = Domain::points(&cloud(points, dimension, 7)).unwrap();
        for norm in [Norm::EUCLIDEAN, Norm::LARGEST] {
            let start = std::time::Instant::now();
            let shape = Shape::of(&domain, relation, norm).unwrap();
            eprintln!("{points} {dimension} {relation:?} {norm} gap {:e} in {:?}", shape.gap(), start.elapsed());
        }
    }
}
