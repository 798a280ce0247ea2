#![allow(clippy::unwrap_used)]

use super::*;
use crate::mechanisms::{Answer, Bound, Gaussian, Mechanism, Prepared, Tally};
use crate::noise::NoiseSource;

mod accuracy;
mod cost;
mod odd;

/// Returns the same range for each coordinate.
fn cube(dimension: usize, low: i64, high: i64) -> Ranges {
    Ranges::new(vec![(low, high); dimension]).unwrap()
}

fn whole(outer: &Ranges) -> FoundMean<()> {
    FoundMean::new(outer, Bound::keys(1).checked().unwrap(), Keys::whole()).unwrap()
}

/// Draws a normal number.
fn normal(noise: &mut NoiseSource) -> f64 {
    let mut uniform = || (noise.below(1 << 53) as f64 + 0.5) / (1u64 << 53) as f64;
    let (first, second) = (uniform(), uniform());
    (-2.0 * first.ln()).sqrt() * (2.0 * std::f64::consts::PI * second).cos()
}

/// Returns the tally of one window with one key, from its records, one for each person.
fn window(mean: &FoundMean<()>, records: &[Vec<i64>]) -> Cells<(), VectorRows> {
    let mut exact = Gaussian::rho(0.1).prepare(mean).unwrap().tally();
    let mut rows = VectorRows::default();
    records.iter().for_each(|record| mean.add(&mut rows, std::slice::from_ref(record)));
    exact.absorb(((), rows));
    exact
}

fn values(answer: &Answer<(), f64>) -> Vec<f64> {
    answer.cells().iter().map(|(_, estimate)| estimate.value()).collect()
}
