//! The gate's time for an answer, from two workers' summaries of a million people in one key.

use std::error::Error;
use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};

use discreet::mechanisms::{
    BinarySearch, Bound, Cells, Exponential, Grid, Keys, Largest, Maximum, Mechanism, PerPerson, Prepared,
    Quantiles, RankedValues, Summary, Tally, Tops,
};
use discreet::noise::NoiseSource;

const PEOPLE: usize = 1_000_000;
const ROUNDS: usize = 15;
/// The number of possible answers, as a power of two.
const GRIDS: [u32; 3] = [10, 20, 32];
const SEVEN: [f64; 7] = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95];

/// Prints the milliseconds of each answer, and the part of them outside of the draw.
pub(crate) fn measure() -> Result<(), Box<dyn Error>> {
    let mut worst = [0.0f64; 4];
    for power in GRIDS {
        let grid = Grid::linear(0, (1 << power) - 1, 1)?;
        let limits = Bound::keys(1).checked()?;
        let largest = Largest::new(Maximum, PerPerson::Greatest, grid.clone(), limits, Keys::whole())?;
        let asked = |asked: &[f64]| Quantiles::new(asked.to_vec(), grid.clone(), limits, Keys::whole());
        let (one, seven) = (asked(&[0.5])?, asked(&SEVEN)?);

        let mut values = values(1 << power);
        let search = BinarySearch::rho(0.1).prepare(&largest)?;
        let inverse = Exponential::epsilon(1.0).prepare(&largest)?;
        let took = [
            milliseconds(&search, &halves(&values, tops(search.largest_needed())))?,
            milliseconds(&inverse, &halves(&values, tops(inverse.largest_needed())))?,
            milliseconds(&Exponential::epsilon(1.0).prepare(&one)?, &halves(&values, settled))?,
            milliseconds(&Exponential::epsilon(1.0).prepare(&seven)?, &halves(&values, settled))?,
        ];
        values.sort_unstable();
        let sorted = milliseconds(&Exponential::epsilon(1.0).prepare(&one)?, &halves(&values, settled))?;
        println!(
            "2^{power} answers, a million people: search {:.3} ms, shifted inverse {:.3} ms, a quantile {:.2} ms \
             ({sorted:.2} ms in order already), seven quantiles {:.1} ms",
            took[0], took[1], took[2], took[3]
        );
        for (worst, took) in worst.iter_mut().zip(took) {
            *worst = worst.max(took);
        }
    }
    for (name, took) in ["search", "inverse", "quantile", "seven_quantiles"].into_iter().zip(worst) {
        println!("figure ranks.{name}_of_a_million {took:.3} ms");
    }
    Ok(())
}

/// The milliseconds from the workers' parts to an answer, the best of several rounds.
fn milliseconds<V: Summary + Clone>(
    prepared: &impl Prepared<Tally = Cells<(), V>>,
    parts: &[V],
) -> Result<f64, Box<dyn Error>> {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (parts, mut noise) = (parts.to_vec(), NoiseSource::from_os()?);
        let start = cpu();
        let mut exact = prepared.tally();
        parts.into_iter().for_each(|part| exact.absorb(((), part)));
        drop(black_box(prepared.draw(exact, None, &mut noise)));
        best = best.min((cpu() - start) as f64 / 1e6);
    }
    Ok(best)
}

/// Nanoseconds that this thread has run.
fn cpu() -> u64 {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    spent.tv_sec as u64 * 1_000_000_000 + spent.tv_nsec as u64
}

/// The summaries that two workers send, each of one half.
fn halves<V>(values: &[i64], known: impl Fn(&[i64]) -> V) -> Vec<V> {
    values.chunks(PEOPLE / 2).map(known).collect()
}

fn tops(most: Option<usize>) -> impl Fn(&[i64]) -> Tops {
    let most = most.unwrap_or(usize::MAX);
    move |values| {
        let mut tops = Tops::default();
        values.iter().for_each(|value| tops.add(*value, most));
        tops.cut();
        tops
    }
}

fn settled(values: &[i64]) -> RankedValues {
    let mut known = RankedValues::default();
    values.iter().for_each(|value| known.add(&[*value]));
    known.settle();
    known
}

/// Values in an irregular order, the same in every run, with more small ones than large.
fn values(below: u64) -> Vec<i64> {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    (0..PEOPLE).map(|_| ((next() % below) >> (next() % 4)) as i64).collect()
}
