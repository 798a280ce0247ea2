//! The frame of the next window, from what this one released.
//!
//! All of it is made of numbers that have had their noise, so none of it costs anything, and floats will do.
//!
//! * **How far is it trusted?** In the units of the frame a window released a mean and second moments, each with noise of a known
//!   size. The centre goes `1 / (1 + nu^2)` of the way to the mean, where `nu` is about how long the mean's noise is; the
//!   covariance `1 / (1 + mu)` of the way to what was seen, and never more than 15/16 of it, where `mu` is about how far noise and
//!   the sampling of records may take it in some direction. So a window with few people moves nothing, no direction gets narrower than
//!   the noise can tell, and none by more than a factor of 4 in one window.
//! * **When nothing fits.** Records that are too long are clipped, and so are their moments. Where the frame fits, the squares of
//!   lengths are `d` in the mean, and where most records are clipped they are near the square of the longest. Halfway between, the
//!   covariance is no longer taken around the mean, which would be small for records that are far away and close to each other, but
//!   around the old centre, and twice as wide: it then grows until it holds them.
//! * **It stays in bounds.** A centre stays in the outer ranges, a deviation is no wider than them, and at least a quarter of a
//!   step.

use super::frame::{Frame, LEAST_SQUARED};
use super::lower::Lower;
use crate::mechanisms::bound::Range;

/// What a window released of a key, in the units of its frame.
#[derive(Clone, Debug)]
pub(super) struct ReleasedWindow {
    pub(super) records: f64,
    pub(super) sums: Vec<f64>,
    /// The lower triangle of the sum of all `u u^T`, row by row.
    pub(super) squares: Vec<f64>,
}

/// The standard deviations of the noise in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoiseDeviations {
    pub(super) records: f64,
    pub(super) sums: f64,
    pub(super) squares: f64,
}

impl ReleasedWindow {
    /// Whether most records are clipped, as it seems, beyond what noise may make of it.
    pub(super) fn misfits(&self, doubt: &NoiseDeviations, longest: f64) -> bool {
        let dimension = self.sums.len();
        let squares: f64 = (0..dimension).filter_map(|at| self.squares.get(place(at, at))).sum();
        let least = squares - 2.0 * (dimension as f64).sqrt() * doubt.squares;
        least > self.records.max(1.0) * (dimension as f64 + longest * longest) / 2.0
    }
}

/// The frame that a window leaves to the next. `longest` is how long a record may be in the units of the frame.
pub(super) fn follow(
    frame: &Frame,
    seen: &ReleasedWindow,
    doubt: &NoiseDeviations,
    longest: f64,
    outer: &[Range],
) -> Frame {
    let (records, dimension) = (seen.records, seen.sums.len());
    if records < 1.0 {
        return frame.clone();
    }
    let root = (dimension as f64).sqrt();
    let mean: Vec<f64> = seen.sums.iter().map(|sum| sum / records).collect();
    let second: Vec<f64> = seen.squares.iter().map(|sum| sum / records).collect();
    let nu = root * doubt.sums / records;
    let mu = 2.0 * (root * doubt.squares / records + root / records.sqrt() + doubt.records / records);

    let way = 1.0 / (1.0 + nu * nu);
    let moved = frame.back(&mean);
    let centre = frame.centre.iter().zip(&moved).zip(outer);
    let centre = centre.map(|((centre, moved), outer)| {
        let next = (centre + way * moved).clamp(outer.low() as f64, outer.high() as f64);
        if next.is_finite() { next } else { *centre }
    });

    let misfits = seen.misfits(doubt, longest);
    let trust = (1.0 / (1.0 + mu)).min(15.0 / 16.0);
    let around = |a: usize, b: usize| {
        let second = second[place(a, b)];
        if misfits { 4.0 * second } else { second - mean[a] * mean[b] }
    };
    let factor = turned(dimension, around, trust).map_or_else(
        || frame.factor.clone(),
        |turned| bounded(frame.factor.product(&turned).with_more(trust * LEAST_SQUARED), outer),
    );
    // Whatever a float could not hold is not followed.
    let next = Frame { centre: centre.collect(), factor };
    let numbers: Vec<f64> = next.centre.iter().chain(next.factor.entries()).copied().collect();
    Frame::of(&numbers, dimension).unwrap_or_else(|| frame.clone())
}

/// Where the entry of a row and a column is in a lower triangle.
fn place(row: usize, column: usize) -> usize {
    row * (row + 1) / 2 + column
}

/// The factor of the covariance in the units of the old frame: so much of the way from 1 in all directions to what was seen, or
/// less where noise has left some direction nothing.
fn turned(dimension: usize, around: impl Fn(usize, usize) -> f64, trust: f64) -> Option<Lower> {
    (0..40).find_map(|halved| {
        let trust = trust * libm::exp2(-f64::from(halved));
        let entry = |(a, b): (usize, usize)| {
            let one = if a == b { 1.0 } else { 0.0 };
            (1.0 - trust) * one + trust * around(a, b)
        };
        let entries: Vec<f64> =
            (0..dimension).flat_map(|a| (0..=a).map(move |b| (a, b))).map(entry).collect();
        Lower::factor(&entries, dimension, (1.0 - trust) / 2.0)
    })
}

/// No coordinate deviates by more than its outer range is wide.
fn bounded(factor: Lower, outer: &[Range]) -> Lower {
    let lengths = factor.lengths();
    factor.rows_scaled(|at| outer.get(at).map_or(1.0, |range| (range.width() as f64 / lengths[at]).min(1.0)))
}

#[cfg(test)]
mod tests;
