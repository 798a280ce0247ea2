//! The promised rank errors, as they were and are, beside measured ones.

use std::error::Error;

use discreet::mechanisms::{
    BinarySearch, Bound, Cells, Exponential, Grid, Keys, Largest, Maximum, Mechanism, PerPerson, Prepared,
    Quantile, Quantiles, RankedValues, Ranks, Tally,
};
use discreet::noise::NoiseSource;

const SEVEN: [f64; 7] = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95];
const DRAWS: usize = 2_000;
const CONFIDENCE: f64 = 0.9;

/// Prints, of seven quantiles and of largest values, the promise of before, that of now, and what is measured.
pub(crate) fn measure() -> Result<(), Box<dyn Error>> {
    for (name, top, values) in [
        ("five stars", 5i64, stars()),
        ("1000 prices, spread", 1000, (0..2_000i64).map(|person| person * 37 % 1000).collect()),
        ("1000 prices, most alike", 1000, alike()),
    ] {
        let grid = Grid::linear(0, top - 1, 1)?;
        let bound = Bound::keys(1).checked()?;
        let quantiles = Quantiles::new(SEVEN, grid, bound, Keys::whole())?;
        let prepared = Exponential::epsilon(1.0).confidence(CONFIDENCE).prepare(&quantiles)?;
        let mut known = RankedValues::default();
        let mut sorted: Vec<i64> = values;
        sorted.sort_unstable();
        sorted.iter().for_each(|value| known.add(&[*value]));
        let mut errors = vec![Vec::with_capacity(DRAWS); SEVEN.len()];
        let mut noise = NoiseSource::from_os()?;
        for _ in 0..DRAWS {
            let mut exact: Cells<(), RankedValues> = prepared.tally();
            exact.absorb(((), known.clone()));
            let drawn = prepared.draw(exact, None, &mut noise);
            for ((_, answer), (q, errors)) in drawn.answer.cells().iter().zip(SEVEN.iter().zip(&mut errors)) {
                errors.push(off(&sorted, answer.value() as i64, *q));
            }
        }
        println!("{name}, epsilon 1, seven quantiles at confidence {CONFIDENCE}:");
        let before = former(top as u64, 1.0, CONFIDENCE)?;
        let mut worst = (0, 0);
        for (((noised, before), q), errors) in prepared.noise().iter().zip(before).zip(SEVEN).zip(&mut errors)
        {
            let Some(Ranks::Within { rank_error, .. }) = noised.ranks() else { continue };
            errors.sort_unstable();
            let within = |part: f64| errors[(part * DRAWS as f64) as usize - 1];
            println!(
                "  q {q:<5} promised {before} before, {rank_error} now; measured 90% within {}, 99% within {}",
                within(0.9),
                within(0.99)
            );
            worst = (worst.0.max(before), worst.1.max(rank_error));
        }
        println!("  the largest promise {} before, {} now", worst.0, worst.1);
    }
    for power in [10, 20, 32] {
        let grid = Grid::linear(0, (1 << power) - 2, 1)?;
        let bound = Bound::keys(1).checked()?;
        let largest = Largest::new(Maximum, PerPerson::Greatest, grid.clone(), bound, Keys::whole())?;
        for (name, search) in [("laplace", BinarySearch::epsilon(1.0)), ("gaussian", BinarySearch::rho(0.1))]
        {
            let search = search.confidence(CONFIDENCE).prepare(&largest)?;
            let noised = search.noise().first().ok_or("a search without noise")?;
            let Some(Ranks::Below { tau, .. }) = noised.ranks() else { continue };
            let each = (1.0 - CONFIDENCE) / f64::from(grid.comparisons());
            let before = match name {
                "laplace" => -noised.scale() * each.ln(),
                _ => gaussian_quantile(each) * noised.scale(),
            };
            println!("a {name} search among 2^{power} points: tau {} before, {tau} now", before.ceil());
        }
    }
    Ok(())
}

/// The quantile of a normal distribution with this chance above it, by bisection of its tail (Abramowitz and Stegun 7.1.26,
/// to seven digits).
fn gaussian_quantile(chance: f64) -> f64 {
    let tail = |x: f64| {
        let z = x / std::f64::consts::SQRT_2;
        let t = 1.0 / (1.0 + 0.327_591_1 * z);
        let series = t
            * (0.254_829_592
                + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
        series * (-z * z).exp() / 2.0
    };
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if tail(middle) > chance { low = middle } else { high = middle }
    }
    high
}

/// The promises of the union bound over all cells, of which a point had up to 2^20, with the chance divided among the
/// levels: what was promised for this choice before cuts were chosen by their rank.
fn former(top: u64, epsilon: f64, confidence: f64) -> Result<Vec<u64>, Box<dyn Error>> {
    let numerators: Vec<u64> = SEVEN.iter().map(|q| (q * 20.0).round() as u64).collect();
    let levels = f64::from(usize::BITS - numerators.len().leading_zeros());
    let cells = top as f64 * f64::from(1 << 20);
    let needed = (cells * levels / (1.0 - confidence)).ln();
    let mut promised = vec![0; SEVEN.len()];
    node(&numerators, 0, ((0, 0), (20, 0)), (needed, epsilon / levels), &mut promised)?;
    Ok(promised)
}

/// Between two quantiles that are off by this much each.
fn node(
    numerators: &[u64],
    first: usize,
    (low, high): ((u64, u64), (u64, u64)),
    (needed, epsilon): (f64, f64),
    promised: &mut [u64],
) -> Result<(), Box<dyn Error>> {
    let (below, rest) = numerators.split_at(numerators.len() / 2);
    let Some((&at, above)) = rest.split_first() else { return Ok(()) };
    let fraction = Quantile::of(at - low.0, high.0 - low.0)?;
    let (a, q) = (fraction.numerator(), fraction.denominator());
    let loss = needed * 2.0 * a.max(q - a) as f64 / epsilon;
    let inherited = ((q - a) * low.1 + a * high.1).div_ceil(q);
    let off = (q + loss.ceil() as u64 - 1).div_ceil(q) + inherited;
    promised[first + below.len()] = off;
    node(below, first, (low, (at, off)), (needed, epsilon), promised)?;
    node(above, first + below.len() + 1, ((at, off), high), (needed, epsilon), promised)
}

/// By how many people the rank of an answer is off, rounded up.
fn off(sorted: &[i64], answer: i64, q: f64) -> u64 {
    let below = sorted.partition_point(|&value| value < answer) as f64;
    let up_to = sorted.partition_point(|&value| value <= answer) as f64;
    let wanted = q * sorted.len() as f64;
    (below - wanted).max(wanted - up_to).max(0.0).ceil() as u64
}

/// The ratings of 2,000 people, of whom half gave five stars.
fn stars() -> Vec<i64> {
    (0..2_000i64).map(|person| [0, 1, 2, 3, 3, 4, 4, 4, 4, 4][(person % 10) as usize]).collect()
}

/// 2,000 prices, of which two thirds are one.
fn alike() -> Vec<i64> {
    (0..2_000i64).map(|person| if person % 3 == 0 { person * 37 % 1000 } else { 499 }).collect()
}
