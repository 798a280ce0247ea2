//! The search for a shape.

use std::error::Error;
use std::time::Instant;

use discreet::accounting::Relation::{self, AddRemove, Replace};
use discreet::accounting::shape::{Domain, MeanError, Norm, Shape};

/// How many points, in how many coordinates, for whom, in which norm.
const SETTINGS: [(usize, usize, Relation, Norm); 8] = [
    (200, 8, AddRemove, Norm::EUCLIDEAN),
    (200, 8, AddRemove, Norm::LARGEST),
    (200, 8, Replace, Norm::EUCLIDEAN),
    (200, 8, Replace, Norm::LARGEST),
    (5_000, 32, AddRemove, Norm::EUCLIDEAN),
    (5_000, 32, AddRemove, Norm::LARGEST),
    (5_000, 32, Replace, Norm::EUCLIDEAN),
    (5_000, 32, Replace, Norm::LARGEST),
];

pub(crate) fn measure() -> Result<(), Box<dyn Error>> {
    for (points, dimension, relation, norm) in SETTINGS {
        let domain = Domain::points(&cloud(points, dimension))?;
        told(&format!("{points} points in {dimension}"), &domain, relation, norm)?;
    }
    for relation in [AddRemove, Replace] {
        for (bits, ways) in [(10, 1), (10, 2), (8, 3)] {
            let domain = Domain::marginals(bits, ways)?;
            told(&format!("{ways} of {bits} bits"), &domain, relation, Norm::EUCLIDEAN)?;
        }
    }
    Ok(())
}

fn told(name: &str, domain: &Domain, relation: Relation, norm: Norm) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let shape = Shape::of(domain, relation, norm)?;
    let took = start.elapsed();
    let saved = MeanError::of(&shape, 0.1, 1_000)?.factor();
    println!(
        "{name:>22} {relation:?} {norm}: gap {:.1e} in {took:.1?}, {saved:.3} of plain noise",
        shape.gap()
    );
    Ok(())
}

/// Numbers that are nearly normal, from a fixed seed.
fn cloud(points: usize, dimension: usize) -> Vec<Vec<f64>> {
    let mut seed = 7u64;
    let mut uniform = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut normal = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    (0..points).map(|_| (0..dimension).map(|at| normal() * (1.0 + at as f64)).collect()).collect()
}
