//! The time of a calibration, and its result, beside the calibration that was published with the noise.
//!
//! Numbers of answers from one to a million. For few answers, most of the time goes into the search for a
//! shape among blends, a hundred sketches of a millisecond; for many, at a small delta, into the contour of a
//! sum whose tail is a few large losses. The table with a million steps that a deployment draws from takes
//! about 100 ms, most of it logarithms and exponentials.

use std::error::Error;
use std::hint::black_box;

use discreet::accounting::bounded::{
    BoundedNoiseRequest, CalibratedBoundedNoise, GridResolution, NoiseShape, published_bound,
};
use rustix::time::{ClockId, clock_gettime};

/// Budgets: epsilon and delta.
const BUDGETS: [(f64, f64); 4] = [(1.0, 1e-6), (0.5, 1e-6), (0.1, 1e-10), (2.0, 1e-10)];
const ANSWERS: [u64; 7] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];

/// The grid of a deployment: three kept records a person, and a million steps.
const FINE: (u64, u64) = (3, 1 << 20);

pub(crate) fn calibration() -> Result<(), Box<dyn Error>> {
    println!(
        "answers    epsilon  delta    bound       published   ratio  deviation   ms      fine ms  shape"
    );
    let (mut worst, mut worst_fine, mut worst_ratio) = (0.0f64, 0.0f64, 0.0f64);
    for (epsilon, delta) in BUDGETS {
        for answers in ANSWERS {
            let asked = BoundedNoiseRequest::new(answers, epsilon, delta)?;
            let (noise, time) =
                median(|| CalibratedBoundedNoise::calibrate(&asked, &GridResolution::default()))?;
            let fine = GridResolution::new(FINE.0, FINE.1)?;
            let (_, time_fine) = median(|| CalibratedBoundedNoise::calibrate(&asked, &fine))?;
            let published = published_bound(&NoiseShape::published(2)?, answers, epsilon, delta)?;
            let ratio = noise.bound() / published;
            println!(
                "{answers:<10} {epsilon:<8} {delta:<8e} {bound:<11.2} {published:<11.2} {ratio:<6.3} {sd:<11.2} {time:<7.1} \
                 {time_fine:<8.1} {shape}",
                bound = noise.bound(),
                sd = noise.unit_deviation(),
                shape = noise.shape(),
            );
            worst = worst.max(time);
            worst_fine = worst_fine.max(time_fine);
            worst_ratio = worst_ratio.max(ratio);
        }
    }
    println!("ratio answers.bounded_over_published_worst {worst_ratio:.3}");
    println!("figure answers.bounded_calibration_fine_worst {worst_fine:.1} ms");
    println!("figure answers.bounded_calibration_worst {worst:.1} ms");
    Ok(())
}

/// The result of a call, and the median of its CPU time over three calls in milliseconds, since the machine
/// may be shared.
fn median<T, E: Into<Box<dyn Error>>>(call: impl Fn() -> Result<T, E>) -> Result<(T, f64), Box<dyn Error>> {
    let mut times = Vec::new();
    loop {
        let start = spent();
        let value = black_box(call().map_err(Into::into)?);
        times.push(spent() - start);
        if times.len() == 3 {
            times.sort_by(f64::total_cmp);
            return Ok((value, times[1]));
        }
    }
}

/// CPU time of this process so far, in milliseconds.
fn spent() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}
