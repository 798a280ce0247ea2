//! Prints the nanoseconds one draw takes from each of OpenDP's exact integer samplers, at each scale given.

use std::hint::black_box;
use std::num::NonZeroU64;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use opendp::error::Fallible;
use opendp::traits::samplers::{sample_discrete_gaussian, sample_discrete_laplace};

const BATCH: Duration = Duration::from_millis(50);
const BATCHES: usize = 5;

fn time<T>(draws: u64, draw: impl Fn() -> Fallible<T>) -> Fallible<Duration> {
    let start = Instant::now();
    for _ in 0..draws {
        black_box(draw()?);
    }
    Ok(start.elapsed())
}

/// The best batch, as the bench that starts this program takes it of its own.
fn best_ns<T>(draw: impl Fn() -> Fallible<T>) -> Fallible<f64> {
    let mut trial = 1;
    let mut taken = time(trial, &draw)?;
    while taken < BATCH / 5 {
        trial *= 2;
        taken = time(trial, &draw)?;
    }
    let draws = (trial as f64 * BATCH.as_secs_f64() / taken.as_secs_f64()).ceil() as u64;

    let mut best = Duration::MAX;
    for _ in 0..BATCHES {
        best = best.min(time(draws, &draw)?);
    }
    Ok(best.as_secs_f64() * 1e9 / draws as f64)
}

fn main() -> Fallible<ExitCode> {
    let scales: Result<Vec<NonZeroU64>, _> = std::env::args().skip(1).map(|arg| arg.parse()).collect();
    let Some(scales) = scales.ok().filter(|scales| !scales.is_empty()) else {
        eprintln!("usage: opendp-peer SCALE [SCALE...]   (positive integers)");
        return Ok(ExitCode::from(2));
    };
    for scale in scales.into_iter().map(NonZeroU64::get) {
        let laplace = best_ns(|| sample_discrete_laplace(black_box(scale).into()))?;
        println!("opendp laplace {scale} {laplace:.1}");
        let gaussian = best_ns(|| sample_discrete_gaussian(black_box(scale).into()))?;
        println!("opendp gaussian {scale} {gaussian:.1}");
    }
    Ok(ExitCode::SUCCESS)
}
