//! The time of a released maximum and a released quantile, with every person protected: beside a maximum
//! without protection, and on their own.
//!
//! The records are those of `benches/dataflow/main.rs`: ten million events of 32 bytes, 100 thousand people
//! and 1,000 keys by Zipf(1) a window, in 20 windows. At most 4 keys of a person count, and for the quantile
//! 2 records a key. The floor has the same source and the same driver, sends events to the worker of their
//! key and keeps the largest value there in a hash map a window. CPU time of all threads, the best of rounds
//! in which the settings take turns: ratios hold on a machine with other load, too.
//!
//! What limits the maximum with two workers: 14 of 80 ns a record are the gate's, which draws ten comparisons
//! for each of 1,000 keys, orders the values that they need and writes 1,000 lines. A third of the workers'
//! time is spent on carrying records, as in the floor, and on reading them; two fifths on gathering: finding
//! persons, combining the records of each, choosing keys. The state of a person and key takes 32 bytes where
//! a count needs 8, since a sum may need 128 bits, and a maximum has the same type. A tenth is spent on lists
//! of the largest values that grow and are cut.
//!
//! Of a quantile, 27 of 120 ns are the gate's, which weighs every value. A fifth of the workers' time is
//! spent on moving each person's values to their key, which is anywhere in memory, a seventh on allocating a
//! short list for each person and key, and a tenth on sorting a key's values, so that the gate only has to
//! merge them.
//!
//! The gate's part of a single maximum takes microseconds: for any number of people, it is asked about the
//! largest few hundred. A quantile of a million values takes 1 ms if they have few distinct numbers, which
//! are sorted already. Merging what two workers have sorted takes up to 8 ms; if nearly all values are
//! distinct, a million losses, each weighed twice, take 10 to 20 ms. Several quantiles by splitting weigh every rank
//! once for each of three levels, not for each of seven answers.
//!
//! Before all that it prints what is promised of rank errors, by the present bounds and by those of before, beside
//! errors that are measured.
#![allow(clippy::print_stdout)]

mod draws;
#[path = "../dataflow/events.rs"]
mod events;
#[path = "../dataflow/hash.rs"]
mod hash;
mod memory;
mod plain;
mod promises;
#[path = "../dataflow/run.rs"]
mod run;
mod sentence;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use discreet::dataflow::Config;
use discreet::gate::Gate;

use events::Events;
use plain::PLAIN;
use run::{Spent, Workload, run};
use sentence::{LARGEST, QUANTILE};

const PEOPLE: u64 = 100_000;
const ROUNDS: usize = 6;

/// The settings: a name, the number of workers, and the work.
const SETTINGS: [(&str, usize, Workload); 6] = [
    ("plain, 1 worker", 1, PLAIN),
    ("largest, 1 worker", 1, LARGEST),
    ("quantile, 1 worker", 1, QUANTILE),
    ("plain, 2 workers", 2, PLAIN),
    ("largest, 2 workers", 2, LARGEST),
    ("quantile, 2 workers", 2, QUANTILE),
];

fn main() -> Result<(), Box<dyn Error>> {
    promises::measure()?;
    draws::measure()?;
    let directory = std::env::temp_dir().join(format!("discreet-bench-ranks-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let outcome = measure(&directory);
    fs::remove_dir_all(&directory)?;
    outcome
}

fn measure(directory: &Path) -> Result<(), Box<dyn Error>> {
    let events = Events::of(PEOPLE);
    memory::measure(&events)?;
    let mut best = [Spent::MOST; SETTINGS.len()];
    for round in 0..ROUNDS {
        for (place, (_, workers, work)) in SETTINGS.into_iter().enumerate() {
            let ledger = directory.join(format!("{round}-{place}.ledger"));
            sentence::lay_down(&ledger)?;
            let gate = Arc::new(Gate::open(&ledger, sentence::JOB)?);
            best[place] = best[place].best(run(Config::threads(workers)?, &events, work, &gate)?);
        }
    }
    let records = events.len() as f64;
    for ((name, ..), spent) in SETTINGS.iter().zip(best) {
        let (cpu, seconds) = (spent.cpu as f64 / records, spent.wall as f64 / 1e9);
        println!("{name}: {cpu:.1} CPU ns a record, {:.1} million records a second", records / seconds / 1e6);
    }
    let ratio = |name: &str, above: Spent, below: Spent| {
        println!("ratio ranks.{name} {:.2}", above.cpu as f64 / below.cpu as f64);
    };
    let [plain_alone, largest_alone, quantile_alone, plain, largest, quantile] = best;
    ratio("max_over_plain_1_worker", largest_alone, plain_alone);
    ratio("quantile_over_plain_1_worker", quantile_alone, plain_alone);
    ratio("max_over_plain_2_workers", largest, plain);
    ratio("quantile_over_plain_2_workers", quantile, plain);
    Ok(())
}
