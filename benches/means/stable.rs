//! The stable mean beside a clipped one and beside one without privacy: the error of each, and its time.
//!
//! Records are Gaussian with a covariance of condition number 10^6 whose axes are not those of the
//! coordinates. The clipped mean gets a range for each coordinate that is two or ten times too wide, and
//! coordinate-wise discrete Gaussian noise at the same epsilon and delta; it spends nothing on finding the
//! ranges. Errors are root mean squares of lengths as the true covariance measures them, and so in standard
//! deviations of a record: a length that counts an axis of small spread as much as one of large.

use std::error::Error;
use std::time::Instant;

use discreet::accounting::{self, Budget, Relation};
use discreet::mechanisms::StableMean;
use discreet::mechanisms::stable::{ASSUMED, BoundingBox, Released};
use discreet::noise::{DiscreteGaussian, NoiseDistribution, NoiseSource};

const EPSILON: f64 = 2.0;
const DELTA: f64 = 1e-6;
/// The number of rounds: fewer records are measured sooner, and need more rounds.
const fn rounds(dimension: usize) -> usize {
    if dimension > 8 { 5 } else { 60 / dimension }
}
/// The true mean, and the smallest and the largest deviation of the records along an axis of their own.
const CENTRE: i64 = 1 << 30;
const DEVIATIONS: (f64, f64) = (1e6, 1e9);
/// The side of a public box that discloses no scale.
const SIDE: i64 = 1 << 40;

/// Orthogonal axes, and the deviation along each.
struct Shape {
    axes: Vec<Vec<f64>>,
    deviations: Vec<f64>,
}

fn normal(noise: &mut NoiseSource, law: &DiscreteGaussian) -> f64 {
    law.draw(noise) as f64 / (1u64 << 30) as f64
}

impl Shape {
    fn new(dimension: usize, noise: &mut NoiseSource, law: &DiscreteGaussian) -> Shape {
        let mut axes: Vec<Vec<f64>> = Vec::new();
        while axes.len() < dimension {
            let mut axis: Vec<f64> = (0..dimension).map(|_| normal(noise, law)).collect();
            for other in &axes {
                let along: f64 = axis.iter().zip(other).map(|(a, b)| a * b).sum();
                axis.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
            }
            let length = axis.iter().map(|a| a * a).sum::<f64>().sqrt();
            axes.push(axis.into_iter().map(|a| a / length).collect());
        }
        let steps = (dimension - 1).max(1) as f64;
        let deviation = |axis: usize| DEVIATIONS.0 * (DEVIATIONS.1 / DEVIATIONS.0).powf(axis as f64 / steps);
        Shape { deviations: (0..dimension).map(deviation).collect(), axes }
    }

    fn records(&self, people: u64, noise: &mut NoiseSource, law: &DiscreteGaussian) -> Vec<i64> {
        let mut records = Vec::with_capacity(people as usize * self.axes.len());
        for _ in 0..people {
            let along: Vec<f64> = self.deviations.iter().map(|d| d * normal(noise, law)).collect();
            records.extend((0..along.len()).map(|at| {
                CENTRE
                    + along.iter().zip(&self.axes).map(|(a, axis)| a * axis[at]).sum::<f64>().round() as i64
            }));
        }
        records
    }

    /// The spread of a coordinate.
    fn coordinate(&self, at: usize) -> f64 {
        let squares = self.axes.iter().zip(&self.deviations).map(|(axis, d)| (axis[at] * d).powi(2));
        squares.sum::<f64>().sqrt()
    }

    /// The square of a distance from the truth, as the covariance measures it.
    fn error(&self, released: &[f64]) -> f64 {
        let off: Vec<f64> = released.iter().map(|x| x - CENTRE as f64).collect();
        let along = self.axes.iter().map(|axis| axis.iter().zip(&off).map(|(a, b)| a * b).sum::<f64>());
        along.zip(&self.deviations).map(|(along, d)| (along / d).powi(2)).sum()
    }
}

/// The mean of records that are clipped to a range around the truth, under noise for each coordinate in units
/// of its range.
fn clipped(
    records: &[i64],
    shape: &Shape,
    wide: f64,
    sigma: f64,
    noise: &mut NoiseSource,
    law: &DiscreteGaussian,
) -> Vec<f64> {
    let dimension = shape.axes.len();
    let people = (records.len() / dimension) as f64;
    let of = |at: usize| {
        // Four deviations contain all but one of 16,000.
        let half = 4.0 * shape.coordinate(at) * wide;
        let values = records.iter().skip(at).step_by(dimension);
        let sum: f64 = values.map(|&x| ((x - CENTRE) as f64).clamp(-half, half)).sum();
        // One exchanged person moves each coordinate by its range, and the length of all by the root of their
        // number.
        (sum, 2.0 * half * (dimension as f64).sqrt() * sigma)
    };
    (0..dimension)
        .map(|at| {
            let (sum, deviation) = of(at);
            CENTRE as f64 + (sum + deviation * normal(noise, law)) / people
        })
        .collect()
}

/// Prints both tables.
pub(crate) fn stable() -> Result<(), Box<dyn Error>> {
    let law = DiscreteGaussian::with_sigma((1u64 << 30) as f64)?;
    let mut noise = NoiseSource::from_os()?;
    // Noise for a sensitivity of 1,000; any other would do as well.
    let sigma = accounting::DiscreteGaussianCost::calibrate(&Budget::approximate(EPSILON, DELTA)?, 1000)?
        .sigma()
        / 1000.0;
    println!("epsilon {EPSILON}, delta {DELTA}, one exchanged; the stable mean is {ASSUMED}");
    println!(" d   people  not private   stable  2x too wide  10x too wide  failed  seconds");
    for dimension in [1, 5, 20] {
        let shape = Shape::new(dimension, &mut noise, &law);
        let least = StableMean::least_people(dimension as u64, EPSILON, DELTA, Relation::Replace)?;
        let extent = BoundingBox::new(vec![(-SIDE, SIDE); dimension])?;
        for people in [least, 2 * least, 10 * least] {
            let mean = StableMean::new(people, dimension as u64, EPSILON, DELTA, Relation::Replace)?;
            let (mut errors, mut failed, mut seconds) = ([0.0; 4], 0, 0.0);
            let rounds = rounds(dimension);
            for _ in 0..rounds {
                let records = shape.records(people, &mut noise, &law);
                let begun = Instant::now();
                let released = mean.release(&records, &extent, &mut noise)?;
                seconds += begun.elapsed().as_secs_f64() / rounds as f64;
                let all = |wide, sigma, noise: &mut NoiseSource| {
                    clipped(&records, &shape, wide, sigma, noise, &law)
                };
                let plain = all(1e3, 0.0, &mut noise);
                let (two, ten) = (all(2.0, sigma, &mut noise), all(10.0, sigma, &mut noise));
                match released {
                    Released::Mean(released) => errors[1] += shape.error(&released),
                    Released::Failed => failed += 1,
                }
                [(0, plain), (2, two), (3, ten)]
                    .iter()
                    .for_each(|(at, released)| errors[*at] += shape.error(released));
            }
            let released = |at| if at == 1 { rounds - failed } else { rounds } as f64;
            let [plain, stable, two, ten] = [0, 1, 2, 3].map(|at: usize| (errors[at] / released(at)).sqrt());
            println!(
                "{dimension:2} {people:8} {plain:12.5} {stable:8.5} {two:12.5} {ten:13.5} {failed:7} {seconds:8.2}"
            );
        }
    }
    println!("\n d   people  seconds of a release  bytes a number beside the records");
    for (dimension, people) in
        [(1, 100_000), (10, 100_000), (50, 100_000), (1, 1_000_000), (10, 1_000_000), (50, 1_000_000)]
    {
        let mean = match StableMean::new(people, dimension as u64, EPSILON, DELTA, Relation::Replace) {
            Ok(mean) => mean,
            Err(refused) => {
                println!("{dimension:2} {people:8} {refused}");
                continue;
            }
        };
        let shape = Shape::new(dimension, &mut noise, &law);
        let records = shape.records(people, &mut noise, &law);
        let extent = BoundingBox::new(vec![(-SIDE, SIDE); dimension])?;
        let (before, begun) = (memory("VmRSS:", true), Instant::now());
        mean.release(&records, &extent, &mut noise)?;
        let seconds = begun.elapsed().as_secs_f64();
        let more = memory("VmHWM:", false).zip(before).map(|(most, before)| most.saturating_sub(before));
        let more = more.map_or("-".to_owned(), |more| format!("{:.1}", more as f64 / records.len() as f64));
        println!("{dimension:2} {people:8} {seconds:9.2} {more:>24}");
    }
    Ok(())
}

/// The memory that the system reports of this process, in bytes; if `forget`, the peak is reset first.
fn memory(field: &str, forget: bool) -> Option<u64> {
    if forget {
        std::fs::write("/proc/self/clear_refs", "5").ok()?;
    }
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().split(' ').next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
