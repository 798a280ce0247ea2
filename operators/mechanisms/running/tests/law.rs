//! The distribution of the noise of totals, from draws.

use super::*;
use crate::noise::goodness::size;

const RUNS: usize = 100_000;

/// Returns the noise of totals by measurement: the effect of each measurement alone on each total.
fn noise_of(running: &PreparedRunning, ticks: usize) -> Vec<Vec<f64>> {
    let count = measured(running, &vec![0; ticks]).0.len();
    let unit = 1 << 40;
    let by_measurement: Vec<Vec<f64>> = (0..count)
        .map(|alone| {
            let (mut state, mut at) = (running.begin(), 0);
            let total = |_| {
                let total = running.released(&mut state, 0, |measured| {
                    for value in measured {
                        *value = if at == alone { unit } else { 0 };
                        at += 1;
                    }
                });
                total.unwrap() / unit as f64
            };
            (0..ticks).map(total).collect()
        })
        .collect();
    (0..ticks).map(|tick| by_measurement.iter().map(|totals| totals[tick]).collect()).collect()
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

// The noise of totals times the measurements of each tick is the workload: B C = A, for the mechanism as it
// runs.
#[test]
fn estimates_invert_the_measurements() {
    let ticks = 100;
    for (running, width) in each(ticks) {
        let ticks = ticks as usize;
        let noise = noise_of(&running, ticks);
        // Buffers of so short a stream are exact but for 2^-28 each.
        let off = if running.strategy() == Strategy::Buffered { 1e-6 } else { 1e-12 };
        for from in 0..ticks {
            let mut impulse = vec![0; ticks];
            impulse[from] = 1;
            let measured: Vec<f64> =
                measured(&running, &impulse).0.iter().map(|value| *value as f64).collect();
            for (at, noise) in noise.iter().enumerate() {
                let work = f64::from(u8::from((from..from + width).contains(&at)));
                let found = dot(noise, &measured);
                assert!((found - work).abs() < off, "{} {from} {at}: {found}", running.strategy());
            }
        }
    }
}

// Refutes noise that is drawn twice, forgotten or of another variance: the covariances of totals of empty
// streams are those of B B^T.
#[test]
fn totals_err_together_as_they_are_said_to() {
    let (ticks, runs) = (16, size(25_000, RUNS));
    for (running, _) in each(ticks as u64) {
        let noise_of = noise_of(&running, ticks);
        let variance = running.law().variance().to_f64();
        let mut sums = vec![vec![0.0; ticks]; ticks];
        let mut noise = NoiseSource::seeded(11);
        for _ in 0..runs {
            let mut state = running.begin();
            let totals: Vec<f64> =
                (0..ticks).map(|_| running.tick(&mut state, 0, &mut noise).unwrap()).collect();
            for (row, left) in sums.iter_mut().zip(&totals) {
                row.iter_mut().zip(&totals).for_each(|(sum, right)| *sum += left * right);
            }
        }
        let truth = |row: usize, column: usize| variance * dot(&noise_of[row], &noise_of[column]);
        for (row, sums) in sums.iter().enumerate() {
            for (column, sum) in sums.iter().enumerate() {
                let spread = truth(row, row) * truth(column, column) + truth(row, column).powi(2);
                let off = (sum / runs as f64 - truth(row, column)).abs();
                // The variance of integer noise of variance 1 or more is its parameter's to one in 10^6.
                let most = 5.0 * (spread / runs as f64).sqrt() + 1e-5 * truth(row, row);
                assert!(off < most, "{} {row} {column}: {off} {most}", running.strategy());
            }
        }
        // The stated deviation of the totals up to each tick.
        let mut largest = 0f64;
        for tick in 0..ticks {
            largest = largest.max(truth(tick, tick).sqrt());
            let released = running.deviation_until(tick as u64 + 1);
            assert!(
                (largest / released - 1.0).abs() < 1e-6,
                "{} {tick}: {largest} {released}",
                running.strategy()
            );
        }
        assert!(running.horizon().is_none() || running.deviation() == running.deviation_until(ticks as u64));
    }
}

/// Returns the variance of the best estimate, from the measurements, of one contribution at the first tick, over
/// this number of runs.
fn estimated(running: &PreparedRunning, ticks: usize, runs: usize, draw: &mut impl FnMut() -> f64) -> f64 {
    let zeros = vec![0; ticks];
    let mut with = zeros.clone();
    with[0] = 1;
    let (without, with) = (measured(running, &zeros).0, measured(running, &with).0);
    let moved = with.iter().zip(&without).map(|(with, without)| (with - without) as f64);
    // The others say nothing of it.
    let moved: Vec<f64> = moved.filter(|moved| *moved != 0.0).collect();
    let squared = dot(&moved, &moved);
    let mut sum = 0.0;
    for _ in 0..runs {
        let estimate = moved.iter().map(|moved| moved * draw()).sum::<f64>() / squared;
        sum += estimate * estimate;
    }
    sum / runs as f64
}

// Refutes noise that is too small by 2%, from any cause, and a restart with fresh noise but without a fresh
// charge: an observer who knows all of the stream but one contribution learns it with a variance of at least
// 1 / (2 rho).
#[test]
fn the_optimal_distinguisher_is_held_off() {
    let ticks = 16;
    // Three standard deviations of the empirical variance are 0.95%.
    let runs = 2 * RUNS;
    let least = 1.0 - 3.0 * (2.0 / runs as f64).sqrt();
    let so_far =
        ALL.map(|strategy| PreparedRunning::so_far(strategy, ticks as u64, one(), rho(0.005)).unwrap());
    let over_last = PreparedRunning::over_last(Strategy::SquareRoot, 5, one(), rho(0.005)).unwrap();
    for running in so_far.iter().chain([&over_last]) {
        let strategy = running.strategy();
        let bound = 1.0 / (2.0 * running.charge().to_float_up());
        let mut noise = NoiseSource::seeded(13);
        let found = estimated(running, ticks, runs, &mut || running.law().draw(&mut noise) as f64);
        assert!(found >= least * bound, "{strategy}: {found} {bound}");
        // The mutant has 2% less.
        let less = 0.98 * found;
        assert!(less < least * bound, "{strategy}: {less} {bound}");
        // The same measurements with noise of their own after a restart: their mean has half the variance.
        let mut noise = NoiseSource::seeded(13);
        let mut twice = || (running.law().draw(&mut noise) + running.law().draw(&mut noise)) as f64 / 2.0;
        let again = estimated(running, ticks, runs / 40, &mut twice);
        assert!(again < 0.6 * bound, "{strategy}: {again} {bound}");
    }
}
