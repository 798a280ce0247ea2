//! The time in which the ten most frequent keys of a window are picked, out of a thousand and of a hundred thousand: beside the same
//! order without protection, and beside the number of each key with Gaussian noise, put in order: the release that it takes the place
//! of.
//!
//! Each setting makes the lines of a window from exact counts, of which the number falls with the place of the key as on a web site.
//! Time of one thread, the best of rounds in which the settings take turns.
//!
//! The limit is the weight of each distance, a product of a factor for each byte, which is computed again in each round.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use discreet::Invalid;
use discreet::mechanisms::{
    Bound, Exponential, Gaussian, Head, Keys, Mechanism, Prepared, ReleaseLines, Tally, TopKeys, Total,
};
use discreet::noise::NoiseSource;

const ROUNDS: usize = 10;
const WINDOWS: usize = 5;
const PICKS: u64 = 10;

const HEAD: Head<'static> =
    Head { release: "most_read", window: "null", id: "5f", promise: "lifetime", gaps: "" };

fn total(keys: u64) -> Result<Total<u64>, Invalid> {
    Total::count(Bound::keys(keys).per_key(1 << 20).checked()?, Keys::public(0..keys)?)
}

/// The number of each key.
fn counts(keys: u64) -> Vec<u64> {
    (0..keys).map(|key| 1_000_000 / (key + 1)).collect()
}

/// The exact counts of a window.
fn tally<P: Prepared<Tally = discreet::mechanisms::Cells<u64>>>(
    prepared: &P,
    counts: &[u64],
) -> Result<P::Tally, Invalid> {
    let (mut tally, total) = (prepared.tally(), total(counts.len() as u64)?);
    (0..).zip(counts).for_each(|(key, count)| tally.absorb((key, total.contribution(*count, 0))));
    Ok(tally)
}

/// Lines of the same text without noise.
fn undefended(counts: &[u64]) -> String {
    let mut order: Vec<(u64, usize)> = counts.iter().copied().zip(0..).collect();
    order.sort_unstable_by(|one, other| other.cmp(one));
    let keys = counts.len();
    let line = |(place, (_, key)): (usize, &(u64, usize))| {
        format!(
            "{{\"release\":\"most_read\",\"window\":null,\"key\":{key},\"value\":{place},\"interval\":[1,{keys}],\"confidence\":0.99,\
             \"noise\":{{\"kind\":\"none\"}},\"id\":\"5f\",\"promise\":\"none\"}}"
        )
    };
    (1..).zip(order.iter().take(PICKS as usize)).map(line).collect::<Vec<_>>().join("\n")
}

/// The least time of a window of these.
fn least(
    best: &mut Duration,
    windows: impl FnOnce() -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    windows()?;
    *best = (*best).min(start.elapsed() / WINDOWS as u32);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    for keys in [1_000u64, 100_000] {
        let top = Exponential::rho(0.1).prepare(&TopKeys::new(total(keys)?, PICKS)?)?;
        let numbers = Gaussian::rho(0.1).prepare(&total(keys)?)?;
        let counts = counts(keys);
        let [mut floor, mut picked, mut noised] = [Duration::MAX; 3];
        for _ in 0..ROUNDS {
            least(&mut floor, || {
                (0..WINDOWS).for_each(|_| _ = black_box(undefended(black_box(&counts))));
                Ok(())
            })?;
            let tallies = (0..WINDOWS).map(|_| tally(&top, &counts)).collect::<Result<Vec<_>, _>>()?;
            least(&mut picked, || {
                let mut noise = NoiseSource::from_os()?;
                for tally in tallies {
                    black_box(top.draw(tally, None, &mut noise).answer.lines(&HEAD));
                }
                Ok(())
            })?;
            let tallies = (0..WINDOWS).map(|_| tally(&numbers, &counts)).collect::<Result<Vec<_>, _>>()?;
            least(&mut noised, || {
                let mut noise = NoiseSource::from_os()?;
                for tally in tallies {
                    let answer = numbers.draw(tally, None, &mut noise).answer;
                    let mut order: Vec<_> =
                        answer.cells().iter().map(|(key, number)| (number.value(), *key)).collect();
                    order.sort_unstable_by(|one, other| other.cmp(one));
                    black_box((order, answer.lines(&HEAD)));
                }
                Ok(())
            })?;
        }
        let each = |time: Duration| time.as_micros() as f64;
        println!(
            "{PICKS} of {keys} keys: {:.0} us a window without protection, {:.0} of picks, {:.0} of numbers with Gaussian noise",
            each(floor),
            each(picked),
            each(noised)
        );
        println!("ratio top.picks_over_plain_{keys}_keys {:.2}", each(picked) / each(floor));
        println!("ratio top.picks_over_numbers_{keys}_keys {:.2}", each(picked) / each(noised));
    }
    Ok(())
}
