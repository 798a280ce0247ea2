//! Visitors by the hour, published so that nobody can tell whether any one person was there.
//!
//! The lesson: a budget determines the noise, the noise is an exact distribution over integers, and each
//! published number carries its own error bar.
//!
//! ```text
//! cargo run --release --example noisy_counts
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;

use discreet::accounting::{self, Budget};
use discreet::noise::{DiscreteGaussian, DiscreteLaplace, NoiseDistribution, NoiseSource};

/// The secret: the number of visitors in each hour from nine to five. Nobody is counted twice in a day.
const VISITORS: [i64; 8] = [12, 48, 131, 296, 402, 377, 188, 64];

fn main() -> Result<(), Box<dyn Error>> {
    println!("Visitors of one day, by the hour; every person is in one of the counts.\n");

    let price = accounting::DiscreteLaplaceCost::calibrate(&Budget::pure(0.5)?, 1)?;
    let law = DiscreteLaplace::new(price.scale())?;
    println!(
        "Pure epsilon = {} for the day: discrete Laplace noise of scale {}.",
        price.epsilon_pure(),
        law.scale()
    );
    publish(&law, price.interval(0.9)?)?;

    let price = accounting::DiscreteGaussianCost::calibrate(&Budget::approximate(0.5, 1e-6)?, 1)?;
    let law = DiscreteGaussian::with_sigma(price.sigma())?;
    println!("Epsilon = 0.5 with delta = 1e-6: discrete Gaussian noise of sigma {:.3}.", price.sigma());
    println!(
        "It is wider for one day, and cheaper for many: it costs rho = {:.6}, and rho adds up.",
        price.rho()
    );
    publish(&law, price.interval(0.9)?)
}

/// Publishes one hour, with one source of randomness for one release, erased at its end.
fn publish(law: &impl NoiseDistribution, interval: u64) -> Result<(), Box<dyn Error>> {
    let mut noise = [0; VISITORS.len()];
    law.fill(&mut NoiseSource::from_os()?, &mut noise);

    println!("{:>8} {:>8} {:>10}  90% interval", "hour", "secret", "published");
    for ((hour, secret), noise) in (9..).zip(VISITORS).zip(noise) {
        let published = secret + noise;
        let (low, high) =
            (published.saturating_sub_unsigned(interval), published.saturating_add_unsigned(interval));
        println!("{hour:>5}:00 {secret:>8} {published:>10}  {low} to {high}");
    }
    println!();
    Ok(())
}
