//! The time of protecting every person of a stream: the pipeline beside the count without protection.
//!
//! Ten million events of 32 bytes, 100 thousand people with ids of 64 bits and 1,000 keys by Zipf(1) a
//! window, in 20 windows of 500 thousand events, each declared complete in ten steps. At most 4 keys a person
//! and 2 records a key. Events lie in memory before the clock starts; sources copy them in batches of 1,024.
//! The floor has the same source and the same driver, sends events to the worker of their key and counts them
//! there in a hash map a window.
//!
//! CPU time of all threads, the gate's among them, the best of rounds in which the settings take turns.
//! Ratios hold on a machine with other load, too; times do not, and wall-clock times least. Work that a
//! process does once is left out: creating the ledger before, and its last checkpoint after.
//!
//! What limits it: with two workers, a third of the time of the user-level count is the floor's as well:
//! copying events from memory, writing them into buffers and reading those on the other core. Of the rest not
//! quite a third is reading an event, numbering its key and appending it to the table; not quite half is
//! gathering at the close (finding persons, sorting by person, choosing keys, adding up). The remainder is
//! the gate, with its 1,000 cells of text a window, and the pages that new tables touch first, which a longer
//! run would spread over more windows. No record waits for main memory because of its person, so a million
//! people cost as much as a hundred thousand. One worker alone shows a higher ratio, because there the floor
//! moves nothing between cores. The event-level count costs less than the floor: its records change workers
//! as sums.
//!
//! An open window holds the 8 MB that may wait to be gathered, for either number of people.
#![allow(clippy::print_stdout)]

mod events;
mod floor;
mod hash;
mod memory;
mod processes;
mod run;
mod sentence;
mod step;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use discreet::dataflow::Config;
use discreet::gate::Gate;

use events::Events;
use floor::FLOOR;
use run::{Spent, Workload, run};
use sentence::{PERSON, RECORD};

const PEOPLE: u64 = 100_000;
const MANY: u64 = 1_000_000;
const ROUNDS: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    if processes::is_one_of_them()? {
        return Ok(());
    }
    let directory = std::env::temp_dir().join(format!("discreet-bench-flow-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let outcome = measure(&directory);
    fs::remove_dir_all(&directory)?;
    outcome
}

/// A setting: a name, the numbers of people and workers, and the work.
type Setting = (&'static str, u64, usize, Workload);

const SETTINGS: [Setting; 7] = [
    ("floor, 1 worker", PEOPLE, 1, FLOOR),
    ("person, 1 worker", PEOPLE, 1, PERSON),
    ("floor, 2 workers", PEOPLE, 2, FLOOR),
    ("person, 2 workers", PEOPLE, 2, PERSON),
    ("record, 2 workers", PEOPLE, 2, RECORD),
    ("floor, 2 workers, a million people", MANY, 2, FLOOR),
    ("person, 2 workers, a million people", MANY, 2, PERSON),
];

fn measure(directory: &Path) -> Result<(), Box<dyn Error>> {
    let (events, many) = (Events::of(PEOPLE), Events::of(MANY));
    let records = events.len() as f64;
    let mut best = [Spent::MOST; SETTINGS.len()];
    for round in 0..ROUNDS {
        for (place, (_, people, workers, work)) in SETTINGS.into_iter().enumerate() {
            let ledger = directory.join(format!("{round}-{place}.ledger"));
            sentence::lay_down(&ledger)?;
            let gate = Arc::new(Gate::open(&ledger, sentence::JOB)?);
            let events = if people == MANY { &many } else { &events };
            best[place] = best[place].best(run(Config::threads(workers)?, events, work, &gate)?);
        }
    }
    let memory = memory::of_a_window(&events)?;
    println!("a million people: {} bytes an open window", memory::of_a_window(&many)?);
    drop((events, many));
    let apart = processes::measure(directory, PEOPLE, ROUNDS / 2)?;

    let line = |name: &str, spent: Spent| {
        let (cpu, wall) = (spent.cpu as f64 / records, records / (spent.wall as f64 / 1e9));
        println!("{name}: {cpu:.1} CPU ns a record, {:.1} million records a second", wall / 1e6);
    };
    for ((name, ..), spent) in SETTINGS.iter().zip(best) {
        line(name, spent);
    }
    line("floor, 2 processes", apart[0]);
    line("person, 2 processes", apart[1]);
    step::measure(directory)?;

    let [floor_alone, alone, floor, person, record, floor_many, person_many] = best;
    let ratio = |name: &str, above: Spent, below: Spent| {
        println!("ratio dataflow.{name} {:.2}", above.cpu as f64 / below.cpu as f64);
    };
    ratio("person_over_floor_1_worker", alone, floor_alone);
    ratio("person_over_floor_2_workers", person, floor);
    ratio("person_over_floor_2_processes", apart[1], apart[0]);
    ratio("record_over_floor_2_workers", record, floor);
    ratio("million_people_over_floor_2_workers", person_many, floor_many);
    println!("figure dataflow.person_ns_per_record_2_workers {:.1} ns", person.cpu as f64 / records);
    println!("figure dataflow.records_per_second_2_workers {:.0} 1/s", records / (person.wall as f64 / 1e9));
    println!("figure dataflow.bytes_per_open_window {memory} bytes");
    Ok(())
}
