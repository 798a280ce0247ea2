//! The time of a window of marginals with a hundred thousand cells: tables of 400 by 250 categories, of each by itself, and of all,
//! beside the same counts without protection, and beside the count of each combination by itself with Gaussian noise: a plain
//! histogram of the largest table alone.
//!
//! Cells are from exact counts of each combination; lines are made of none, since their text is the same for all of these. Time of
//! one thread, the best of rounds in which the settings take turns.
//!
//! The limit is the draws: one for each cell, as of the histogram.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use discreet::Invalid;
use discreet::mechanisms::{
    Attribute, Bound, Cells, Gaussian, Keys, MarginalCounts, MarginalTables, Mechanism, Prepared, Tally,
    Total,
};
use discreet::noise::NoiseSource;

const ROUNDS: usize = 10;
const SIZES: [usize; 2] = [400, 250];

/// The combinations that somebody has: one in three.
fn combinations() -> impl Iterator<Item = [usize; 2]> {
    (0..SIZES[0] * SIZES[1]).step_by(3).map(|place| [place / SIZES[1], place % SIZES[1]])
}

fn tables() -> Result<MarginalTables, Invalid> {
    let attribute = |name: &str, size: usize| Attribute::new(name, (0..size).map(|at| at.to_string()));
    let attributes = [attribute("page", SIZES[0])?, attribute("place", SIZES[1])?];
    MarginalTables::new(attributes, &[&["page", "place"], &["page"], &["place"], &[]])
}

/// The counts of all tables, from those of combinations.
fn undefended(tally: &[([usize; 2], u64)]) -> [Vec<u64>; 4] {
    let [pages, places] = SIZES;
    let mut counts = [vec![0; pages * places], vec![0; pages], vec![0; places], vec![0]];
    for ([page, place], number) in tally {
        for (table, at) in [page * places + place, *page, *place, 0].into_iter().enumerate() {
            counts[table][at] += number;
        }
    }
    counts
}

/// The tally of 20 records of each combination.
fn tally<P: Prepared<Tally = Cells<Vec<String>>>>(prepared: &P, total: &Total<Vec<String>>) -> P::Tally {
    let mut tally = prepared.tally();
    for combination in combinations() {
        let key: Vec<String> = combination.iter().map(ToString::to_string).collect();
        (0..20).for_each(|_| tally.absorb((key.clone(), total.contribution(1, 0))));
    }
    tally
}

fn main() -> Result<(), Box<dyn Error>> {
    let limits = Bound::keys(1).checked()?;
    let counts = MarginalCounts::<Vec<String>>::records(limits, tables()?)?;
    let marginals = Gaussian::rho(0.1).prepare(&counts)?;
    let every = (0..SIZES[0] * SIZES[1])
        .map(|place| vec![(place / SIZES[1]).to_string(), (place % SIZES[1]).to_string()]);
    let total = Total::count(limits, Keys::public(every)?)?;
    let histogram = Gaussian::rho(0.1).prepare(&total)?;
    let exact: Vec<([usize; 2], u64)> = combinations().map(|places| (places, 20)).collect();
    let mut noise = NoiseSource::from_os()?;
    let [mut floor, mut tabled, mut plain] = [Duration::MAX; 3];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        black_box(undefended(black_box(&exact)));
        floor = floor.min(start.elapsed());
        let own = tally(&marginals, &total);
        let start = Instant::now();
        black_box(marginals.draw(own, None, &mut noise));
        tabled = tabled.min(start.elapsed());
        let own = tally(&histogram, &total);
        let start = Instant::now();
        black_box(histogram.draw(own, None, &mut noise));
        plain = plain.min(start.elapsed());
    }
    let each = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "100,651 cells of four tables: {:.2} ms a window without protection, {:.2} of marginals, {:.2} of a histogram of the largest table",
        each(floor),
        each(tabled),
        each(plain)
    );
    println!("ratio marginals.tables_over_plain {:.2}", each(tabled) / each(floor));
    println!("ratio marginals.tables_over_histogram {:.2}", each(tabled) / each(plain));
    Ok(())
}
