//! Cells, places and their coins: what a statistical test of whole draws would see too seldom.

use super::*;
use crate::noise::goodness::{Bins, binomial_within, size};
use crate::noise::inversion::tests::{assert_bounded, assert_consistent, boundaries_of};

fn ratio(numerator: u128, denominator: u128) -> Ratio {
    Ratio::new(numerator, denominator).unwrap()
}

/// The law of `exp(-u^2 / (2 variance 4^finer))` for the place `u`, in blocks for a standard deviation of
/// `reach`.
fn cells(variance: Ratio, finer: u32, reach: u64) -> Cells {
    Cells { quadratic: Quadratic { variance, finer }, reach, behind: finer - 1 }
}

/// `Phi(to) - Phi(from)` for `0 <= from <= to`.
fn normal(from: f64, to: f64) -> f64 {
    let above = |x: f64| libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2) / 2.0;
    above(from) - above(to)
}

#[test]
fn the_law_is_what_its_table_takes_for_granted() {
    for variance in [ratio(7, 3), ratio(1, 1024), ratio(1 << 90, 1)] {
        assert_consistent(&Cells::new(variance));
    }
}

// Refutes cells across a half, and halves that are rounded to the integer that is farther.
#[test]
fn cells_are_fine_and_decide_the_rounding() {
    for variance in [ratio(1, 1024), ratio(1, 100), ratio(1, 1), ratio(16_307, 1), ratio(1 << 104, 1)] {
        let law = Cells::new(variance);
        let finer = law.quadratic.finer;
        assert!(law.reach > CELLS && (finer == 1 || law.reach <= 2 * CELLS + 1), "{} cells", law.reach);
        let deviation = variance.to_f64().sqrt() * 2f64.powi(finer as i32);
        assert!((law.reach as f64 / deviation - 1.0).abs() < 1e-4, "{} cells of {deviation}", law.reach);
        for integer in [0u64, 1, 2, 77] {
            let half = (2 * integer + 1) << (finer - 1);
            assert_eq!((law.released(half - 1), law.released(half)), (integer, integer + 1));
            assert_eq!(law.released(integer << finer), integer);
        }
    }
}

/// Runs a trial of `place` with fixed words, all of which it must read.
fn trial(place: &mut Place<'_>, words: &[u64]) -> bool {
    let mut noise = NoiseSource::fixed(words.iter().copied());
    let hit = place.trial(1, 1, &mut noise);
    assert_eq!(noise.unread(), 0, "of {words:?}");
    hit
}

/// The word of which a uniform integer below 64 is made.
const fn of_64(uniform: u64) -> u64 {
    uniform << 58
}

const HALF: u64 = 1 << 63;
const QUARTER: u64 = 1 << 62;

// A place between 3 and 4, of an exponent of `(5 + 6 u + u^2) / 64`: 8.25 units at the half.
#[test]
fn a_trial_draws_bits_of_its_place_where_it_is_open_without_them() {
    let law = cells(ratio(8, 1), 1, 64);
    let fresh = || law.place(5, 3);
    assert!(trial(&mut fresh(), &[of_64(4)]));
    assert!(!trial(&mut fresh(), &[of_64(12)]));
    assert!(trial(&mut fresh(), &[of_64(11), u64::MAX, HALF, 0]));
    assert!(!trial(&mut fresh(), &[of_64(5), 0, HALF, 0]));
    assert!(trial(&mut fresh(), &[of_64(8), HALF, QUARTER - 1, u64::MAX]));
    assert!(!trial(&mut fresh(), &[of_64(8), HALF, QUARTER + 8, 0]));
    // 64 bits of the place leave 7 units in the 64th place open.
    assert!(trial(&mut fresh(), &[of_64(8), HALF, QUARTER + 6, 0, u64::MAX, 0, 0]));
    assert!(!trial(&mut fresh(), &[of_64(8), HALF, QUARTER + 6, 0, 0, 0, 0]));
}

// Refutes a place that each trial draws anew.
#[test]
fn all_trials_of_a_coin_see_one_place() {
    let law = cells(ratio(8, 1), 1, 64);
    let mut place = law.place(5, 3);
    assert!(trial(&mut place, &[of_64(8), HALF, QUARTER - 1, 0]));
    assert!(!trial(&mut place, &[of_64(8), u64::MAX, HALF, 0, 0, 0]));
    assert!(trial(&mut place, &[of_64(8), 0, QUARTER - 1, 0, 0, 0, 0, 0]));

    // Between 0 and 1 at an exponent of u^2: with a new place for each trial it would be exp(-1/3), .7165.
    let (mut noise, count) = (NoiseSource::seeded(1), size(50_000, 500_000));
    for scale in [1, 1u128 << 120] {
        let law = cells(ratio(scale, 8 * scale - 1 + u128::from(scale == 1)), 1, 64);
        let count = if scale == 1 { count } else { count / 5 };
        let accepted = (0..count).filter(|_| law.accept(0, 0, [1, 1], &mut noise)).count();
        binomial_within(accepted, count, 0.746_824_132_812_427);
    }
}

/// The mean of `exp(-(u^2 - base) / 2000)` in the cell from `magnitude`.
fn kept(base: f64, magnitude: f64) -> f64 {
    let deviation = 1000f64.sqrt();
    let area = normal(magnitude / deviation, (magnitude + 1.0) / deviation);
    area * (2000.0 * std::f64::consts::PI).sqrt() * (base / 2000.0).exp()
}

// Refutes the coin of the cell's start or end, which differs by a twentieth.
#[test]
fn the_full_coin_shows_the_probability_of_its_cell() {
    let (mut noise, count) = (NoiseSource::seeded(2), 40_000);
    for law in [cells(ratio(250, 1), 1, 32), cells(ratio((250 << 110) + 1, 1 << 110), 1, 32)] {
        for (bound, whole) in [(1u128, 1), (7, 8)] {
            for magnitude in [104, 107, 111u64] {
                let mean = kept(104.0 * 104.0, magnitude as f64);
                let accepted =
                    (0..count).filter(|_| law.accept(104, magnitude, [bound, whole], &mut noise)).count();
                // All places above the bound are accepted, so the coin compensates for them.
                let chance = 1.0 - (1.0 - mean) * whole as f64 / bound as f64;
                binomial_within(accepted, count, chance);
            }
        }
        // Behind 90, where the coin leaves the slope out: the exponent is 0.09 at most in the first cell, and
        // from 6.76 to 7.06 in the last.
        for j in [0, 1, 30, 60, 116u64] {
            let base = 90.0 * 90.0 + 2.0 * 90.0 * j as f64;
            let accepted = (0..count).filter(|_| law.accept_behind(90, j, &mut noise)).count();
            binomial_within(accepted, count, kept(base, 90.0 + j as f64));
        }
    }
}

// Refutes blocks or tails of another weight: the tail is nearly the whole distribution where blocks end at
// 4.5 or 18 integers, of a standard deviation of 15.8.
#[test]
fn draws_fit_the_law_however_short_the_blocks_are() {
    for (seed, reach) in [(1, 1), (2, 4), (3, 64), (4, 128)] {
        let table = InversionTable::new(cells(ratio(250, 1), 1, reach));
        let mut noise = NoiseSource::seeded(seed);
        let deviation = 250f64.sqrt();
        let weight = |z: i64| match z.unsigned_abs() as f64 {
            0.0 => 2.0 * normal(0.0, 0.5 / deviation),
            far => normal((far - 0.5) / deviation, (far + 0.5) / deviation),
        };
        Bins::new(200, 100, weight)
            .test((0..size(100_000, 1_000_000)).map(|_| table.draw(&mut noise)))
            .assert_fits();
    }
}

// Each block times the share of it that is kept is the normal distribution's.
#[test]
fn boundaries_are_those_of_the_normal_distribution() {
    for variance in [ratio(1, 1024), ratio(1, 100), ratio(1, 1), ratio(16_307, 1), ratio(1 << 70, 3)] {
        let law = Cells::new(variance);
        let deviation = variance.to_f64().sqrt() * 2f64.powi(law.quadratic.finer as i32);
        let table = InversionTable::new(law);
        assert_bounded(&table, 1);
        let (width, boundaries) = boundaries_of(&table);
        assert!((500..1200).contains(&boundaries.len()), "{} blocks", boundaries.len());
        let mut before = 0.0;
        let kept: Vec<(f64, f64)> = (0..boundaries.len())
            .map(|block| {
                let share = boundaries[block] - before;
                before = boundaries[block];
                let start = block as f64 * width as f64 / deviation;
                let mass = 2.0 * normal(start, start + width as f64 / deviation);
                (share * mass / (width as f64 * (-start * start / 2.0).exp()), mass)
            })
            .collect();
        let total: f64 = kept.iter().map(|(kept, _)| kept).sum();
        for (block, (kept, mass)) in kept.iter().enumerate() {
            assert!((kept / total - mass).abs() < 1e-12, "block {block} of {variance}");
        }
    }
}
