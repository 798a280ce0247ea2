//! The time of a draw, beside its floor and its peers, all in one run on the same generator.
//!
//! The floor is the ChaCha20 word that every draw consumes. The peers are inexact noise, which may leak the
//! value that it hides (rand_distr's Normal, an inverse-CDF Laplace), and OpenDP 0.16's exact noise, from a
//! crate of its own beside this file, which takes a minute to build the first time.
//!
//! What limits it: at every scale a draw is one ChaCha20 word, two dependent look-ups in a table of 20 KB,
//! and about one branch in four that cannot be foreseen. Build time of a table is printed too; it is paid
//! once per scale.
//!
//! Every figure is the best of many interleaved rounds, so that a busy machine slows all alike; every ratio
//! is the worst over the scales.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use discreet::noise::{DiscreteGaussian, DiscreteLaplace, NoiseDistribution, NoiseSource, RoundedGaussian};
use rand_distr::{Distribution, Normal, StandardUniform};

const SCALES: [u32; 8] = [1, 2, 5, 50, 127, 1000, 1 << 16, 1 << 20];
const ROUNDS: usize = 40;
const BATCH: usize = 1 << 16;

fn main() {
    let mut subjects: Vec<(String, Subject)> = vec![
        ("chacha20 word".into(), Box::new(words())),
        ("rand_distr normal".into(), Box::new(normal())),
        ("inverse-cdf laplace".into(), Box::new(inverse_laplace())),
    ];
    let mut builds = Vec::new();
    for scale in SCALES {
        for (name, law) in laws(scale) {
            let mut fill = filling(law);
            let start = Instant::now();
            fill(1);
            builds.push((format!("{name} {scale}"), start.elapsed()));
            subjects.push((format!("{name} {scale}"), fill));
        }
    }

    let best = measure(&mut subjects);
    let time = |wanted: &str| {
        let found = subjects.iter().position(|(name, _)| name == wanted);
        found.map(|index| best[index]).expect("every subject is named above")
    };
    for ((name, _), nanoseconds) in subjects.iter().zip(&best) {
        println!("{name:<24} {nanoseconds:8.2} ns a draw");
    }
    for (name, build) in &builds {
        println!("{name:<24} {:8.2} ms to build its table", build.as_secs_f64() * 1e3);
    }

    let worst =
        |law: &str| SCALES.map(|scale| time(&format!("{law} {scale}"))).into_iter().fold(0.0, f64::max);
    let (laplace, gaussian, rounded) = (worst("laplace"), worst("gaussian"), worst("rounded"));
    println!("ratio noise.laplace_over_word {:.3}", laplace / time("chacha20 word"));
    println!("ratio noise.gaussian_over_word {:.3}", gaussian / time("chacha20 word"));
    println!("ratio noise.laplace_over_normal {:.3}", laplace / time("rand_distr normal"));
    println!("ratio noise.gaussian_over_normal {:.3}", gaussian / time("rand_distr normal"));
    println!("ratio noise.rounded_over_normal {:.3}", rounded / time("rand_distr normal"));
    let over_discrete = |scale| time(&format!("rounded {scale}")) / time(&format!("gaussian {scale}"));
    println!(
        "ratio noise.rounded_over_gaussian {:.3}",
        SCALES.map(over_discrete).into_iter().fold(0.0, f64::max)
    );
    println!("ratio noise.laplace_over_inverse {:.3}", laplace / time("inverse-cdf laplace"));

    match opendp() {
        Ok(lines) => {
            let mut least = [f64::INFINITY; 2];
            for line in lines.lines() {
                println!("{line}");
                if let ["opendp", law, scale, nanoseconds] = line.split(' ').collect::<Vec<_>>()[..] {
                    let theirs: f64 = nanoseconds.parse().expect("the peer prints numbers");
                    let ratio = theirs / time(&format!("{law} {scale}"));
                    let slot = &mut least[usize::from(law == "gaussian")];
                    *slot = slot.min(ratio);
                }
            }
            println!("ratio noise.opendp_over_laplace {:.1}", least[0]);
            println!("ratio noise.opendp_over_gaussian {:.1}", least[1]);
        }
        Err(reason) => println!("opendp was not measured: {reason}"),
    }
}

/// A function that draws this many values and returns a number that depends on all of them.
type Subject = Box<dyn FnMut(usize) -> u64>;

/// The best nanoseconds a draw of each subject, over rounds in which all take turns.
fn measure(subjects: &mut [(String, Subject)]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; subjects.len()];
    for _ in 0..ROUNDS {
        for ((_, subject), best) in subjects.iter_mut().zip(&mut best) {
            let start = Instant::now();
            black_box(subject(black_box(BATCH)));
            *best = best.min(start.elapsed().as_secs_f64() * 1e9 / BATCH as f64);
        }
    }
    best
}

fn laws(scale: u32) -> [(&'static str, Box<dyn NoiseDistribution>); 3] {
    let (scale, within) = (f64::from(scale), "a scale within the limits");
    [
        ("laplace", Box::new(DiscreteLaplace::new(scale).expect(within))),
        ("gaussian", Box::new(DiscreteGaussian::with_sigma(scale).expect(within))),
        ("rounded", Box::new(RoundedGaussian::with_sigma(scale).expect(within))),
    ]
}

fn filling(law: Box<dyn NoiseDistribution>) -> Subject {
    let mut noise = NoiseSource::from_os().expect("the operating system has randomness");
    let mut values = vec![0; 1024];
    Box::new(move |count| {
        let mut sum = 0;
        for start in (0..count).step_by(values.len()) {
            let batch = values.len().min(count - start);
            law.fill(&mut noise, &mut values[..batch]);
            sum ^= values[..batch].iter().fold(0, |sum, value| sum ^ value);
        }
        sum as u64
    })
}

fn words() -> impl FnMut(usize) -> u64 {
    let mut generator = ChaCha20Rng::from_seed([1; 32]);
    move |count| (0..count).fold(0, |sum, _| sum ^ generator.next_u64())
}

fn normal() -> impl FnMut(usize) -> u64 {
    let mut generator = ChaCha20Rng::from_seed([2; 32]);
    let law = Normal::new(0.0, 50.0).expect("a positive deviation");
    move |count| (0..count).fold(0f64, |sum, _| sum + law.sample(&mut generator)).to_bits()
}

fn inverse_laplace() -> impl FnMut(usize) -> u64 {
    let mut generator = ChaCha20Rng::from_seed([3; 32]);
    move |count| {
        let draw = |_| {
            let uniform: f64 = StandardUniform.sample(&mut generator);
            let centred = uniform - 0.5;
            -50.0 * (1.0 - 2.0 * centred.abs()).ln() * centred.signum()
        };
        (0..count).map(draw).sum::<f64>().to_bits()
    }
}

/// Builds and runs the peer; its lines are `opendp LAW SCALE NANOSECONDS`.
fn opendp() -> Result<String, String> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/opendp/Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--release", "--quiet", "--manifest-path", manifest, "--"])
        .args(SCALES.map(|scale| scale.to_string()))
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("its crate could not be built or run ({})", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}
