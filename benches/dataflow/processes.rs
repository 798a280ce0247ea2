//! The same work on two processes of one worker each, over the loopback: this program starts itself twice.

use std::error::Error;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use discreet::dataflow::Config;
use discreet::gate::Gate;

use super::events::Events;
use super::floor::FLOOR;
use super::run::{Spent, Workload, run};
use super::sentence::{JOB, PERSON, lay_down};

const PROCESSES: usize = 2;
const WORKS: [Workload; 2] = [FLOOR, PERSON];
const RELEASED: &str = "spent";

/// The time of the floor and of the pipeline on two processes, the best of `rounds` rounds in which they take
/// turns.
pub(crate) fn measure(directory: &Path, people: u64, rounds: usize) -> Result<[Spent; 2], Box<dyn Error>> {
    for place in 0..rounds * WORKS.len() {
        lay_down(&ledger(directory, place))?;
    }
    // Both ports are free now, and are taken again before another program is likely to ask for them.
    let doors: Vec<TcpListener> =
        (0..PROCESSES).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    let addresses: Vec<String> =
        doors.iter().map(|door| Ok(door.local_addr()?.to_string())).collect::<std::io::Result<_>>()?;
    drop(doors);
    let children: Vec<Child> = (0..PROCESSES)
        .map(|process| {
            Command::new(std::env::current_exe()?)
                .args(["process", &process.to_string(), &people.to_string(), &rounds.to_string()])
                .arg(directory)
                .args(&addresses)
                .stdout(Stdio::piped())
                .spawn()
        })
        .collect::<Result<_, _>>()?;
    let mut released = Vec::new();
    for child in children {
        let output = child.wait_with_output()?;
        if !output.status.success() {
            return Err("one of the processes failed".into());
        }
        released.push(read(&String::from_utf8(output.stdout)?)?);
    }
    let mut best = [Spent::MOST; WORKS.len()];
    for (place, (&first, &second)) in released[0].iter().zip(&released[1]).enumerate() {
        let which = place % WORKS.len();
        best[which] = best[which].best(beside(first, second));
    }
    Ok(best)
}

/// Does the work of one process, and prints its time, if the program was started as one; returns true then.
pub(crate) fn is_one_of_them() -> Result<bool, Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() != Some("process") {
        return Ok(false);
    }
    let mut word = || words.next().ok_or("a word is missing");
    let (process, people, rounds) = (word()?.parse::<usize>()?, word()?.parse()?, word()?.parse::<usize>()?);
    let directory = PathBuf::from(word()?);
    let addresses: Vec<String> = words.collect();
    let events = Events::of(people);
    for place in 0..rounds * WORKS.len() {
        let ledger = ledger(&directory, place);
        let gate = Arc::new(match process {
            0 => Gate::open(&ledger, JOB)?,
            _ => Gate::elsewhere(JOB, ledger.with_extension("ledger.key"))?,
        });
        let config = Config::cluster(1, process, addresses.clone())?;
        let spent = run(config, &events, WORKS[place % WORKS.len()], &gate)?;
        println!("{RELEASED} {} {}", spent.cpu, spent.wall);
    }
    Ok(true)
}

/// The time of two processes together.
fn beside(one: Spent, other: Spent) -> Spent {
    Spent { cpu: one.cpu + other.cpu, wall: one.wall.max(other.wall) }
}

fn read(released: &str) -> Result<Vec<Spent>, Box<dyn Error>> {
    let lines = released.lines().filter_map(|line| line.strip_prefix(RELEASED)?.trim().split_once(' '));
    lines.map(|(cpu, wall)| Ok(Spent { cpu: cpu.parse()?, wall: wall.parse()? })).collect()
}

fn ledger(directory: &Path, place: usize) -> PathBuf {
    directory.join(format!("processes-{place}.ledger"))
}
