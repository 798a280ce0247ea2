//! The search for a shape.

use std::error::Error;
use std::time::Instant;

use discreet::accounting::Relation::{self, AddRemove, Replace};
use discreet::accounting::shape::{DataDomain, MeanError, Norm, Shape};

/// The numbers of points and of coordinates, and the adjacency.
const LISTS: [(usize, usize, Relation, &str); 4] = [
    (200, 8, AddRemove, "200x8"),
    (200, 8, Replace, "200x8_differences"),
    (5_000, 32, AddRemove, "5000x32"),
    (5_000, 32, Replace, "5000x32_differences"),
];

pub(crate) fn measure() -> Result<(), Box<dyn Error>> {
    let (mut lines, mut widest) = (Vec::new(), 0.0f64);
    for (points, dimension, relation, label) in LISTS {
        let domain = DataDomain::points(cloud(points, dimension))?;
        let mut longest = 0.0f64;
        for norm in [Norm::EUCLIDEAN, Norm::power(4.0)?, Norm::LARGEST] {
            let found = found(&format!("{points} points in {dimension}"), &domain, relation, norm)?;
            (longest, widest) = (longest.max(found.milliseconds), widest.max(found.gap));
            if norm == Norm::EUCLIDEAN {
                lines.push(format!("ratio means.shaped_over_plain_{label} {:.3}", found.saved));
            }
        }
        lines.push(format!("figure means.shape_{label} {longest:.1} ms"));
    }
    lines.push(format!("figure means.shape_gap {widest:.1e} of_the_square"));
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

struct Found {
    milliseconds: f64,
    gap: f64,
    saved: f64,
}

fn found(name: &str, domain: &DataDomain, relation: Relation, norm: Norm) -> Result<Found, Box<dyn Error>> {
    let start = Instant::now();
    let shape = Shape::of(domain, relation, norm)?;
    let took = start.elapsed();
    let saved = MeanError::of(&shape, 0.1, 1_000)?.factor();
    let gap = shape.gap();
    println!("{name:>22} {relation:?} {norm}: gap {gap:.1e} in {took:.1?}, {saved:.3} of plain noise");
    Ok(Found { milliseconds: took.as_secs_f64() * 1e3, gap, saved })
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
