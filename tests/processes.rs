//! One ledger and several processes: rivals that start together, and processes that are killed anywhere.
//!
//! Each test starts this very program again as its child, which does what its environment says.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use discreet::accounting::{Amount, Cost, Interval, Neighbours, Promise};
use discreet::gate::{Gate, Request, Told};
use discreet::ledger::{Charge, Digest, Domain, Fate, Ledger, Name, Release, Sealing};
use discreet::noise::Noise;

/// Small in an ordinary run, full in `bash .ci/run --full`.
fn size(small: usize, full: usize) -> usize {
    if std::env::var_os("DISCREET_FULL").is_some() { full } else { small }
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("discreet-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    /// A ledger of one domain, for a thousand windows of one thousandth each.
    fn ledger(&self, name: &str, cap: f64) -> PathBuf {
        let path = self.0.join(name);
        let mut ledger = Ledger::create(&path).unwrap();
        let domain = Name::new("domain", "visits").unwrap();
        let cap = Amount::zcdp(cap).unwrap();
        ledger.register(&Domain::new(domain, Neighbours::PERSON, Promise::Lifetime, cap).unwrap()).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A power of two, so that sums of costs are exact whatever adds them.
const COST: f64 = 1.0 / 1024.0;

fn sealing(job: &str, window: i64, line: String) -> Sealing {
    Sealing {
        release: Release {
            domain: Name::new("domain", "visits").unwrap(),
            job: Name::new("job", job).unwrap(),
            version: Digest::of(b"version 1"),
            name: Name::new("release", "by_path").unwrap(),
            window: Interval::new(window, window + 1).unwrap(),
        },
        charge: Some(Charge::Cost(Cost::new(Neighbours::PERSON, Amount::zcdp(COST).unwrap()))),
        fate: Fate::Sealed,
        line,
        state: None,
    }
}

fn spent(path: &Path) -> Amount {
    let window = Interval::new(0, 1).unwrap();
    Ledger::open(path).unwrap().spent(&Name::new("domain", "visits").unwrap(), window).unwrap().0
}

fn child(task: &str, ledger: &Path, job: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_child", "--nocapture"])
        .envs([("TASK", task), ("JOB", job)])
        .env("LEDGER", ledger)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Not a test by itself: what the children do. Without a task it does nothing.
#[test]
fn the_child() {
    let Ok(task) = std::env::var("TASK") else { return };
    let (path, job) = (std::env::var("LEDGER").unwrap(), std::env::var("JOB").unwrap());
    let line = |window| format!("line {window} of process {}, drawn once", std::process::id());
    let ready = || {
        println!("\nready");
        std::io::stdin().read_line(&mut String::new()).unwrap();
    };
    let name = Name::new("job", &job).unwrap();
    match task.as_str() {
        "rival" => {
            let mut ledger = Ledger::open(path).unwrap();
            let claim = ledger.claim(&name).unwrap();
            ready();
            let sealed =
                (0..250).map(|window| ledger.seal(&claim, &[sealing(&job, window, line(window))]).unwrap());
            let granted = sealed.filter(|rows| rows[0].fate() == Fate::Sealed).count();
            println!("\ngranted {granted}");
        }
        // Releases until it is killed, windows that it has told of before among them.
        "victim" => {
            let gate = Gate::open(path, &job).unwrap();
            let desk = gate.desk(&Name::new("release", "by_path").unwrap(), || ());
            ready();
            for first in (0..500).step_by(3).cycle() {
                for window in first..first + 3 {
                    let Sealing { release, charge, line, .. } = sealing(&job, window, line(window));
                    let sealable = Box::new(move |_: &mut Noise| line);
                    desk.submit(Request { release, charge: charge.unwrap(), sealable }).unwrap();
                }
                std::thread::sleep(Duration::from_millis(3));
                while let Some(Told::Row(row, _)) = desk.hear() {
                    if row.fate() == Fate::Sealed {
                        println!("\nsaid {} {}", row.release().window.start(), row.line());
                    }
                    desk.delivered(&row);
                }
            }
        }
        other => panic!("no such task: {other}"),
    }
}

/// Four jobs in four processes ask for a thousand windows; the budget holds 600. Refutes a check outside the
/// transaction: granted, recorded and cap must be one number.
#[test]
fn rival_processes_are_granted_exactly_the_cap() {
    let scratch = Scratch::new("rivals");
    for round in 0..size(1, 100) {
        let path = scratch.ledger(&format!("round-{round}.ledger"), 600.0 * COST);
        let mut rivals: Vec<Child> = (0..4).map(|job| child("rival", &path, &format!("job{job}"))).collect();
        let mut outs: Vec<_> =
            rivals.iter_mut().map(|rival| BufReader::new(rival.stdout.take().unwrap()).lines()).collect();
        // The barrier: nobody begins before all have opened the ledger.
        for out in &mut outs {
            assert!(out.any(|line| line.unwrap() == "ready"));
        }
        for rival in &mut rivals {
            rival.stdin.take().unwrap().write_all(b"go\n").unwrap();
        }
        let granted =
            |line: String| line.strip_prefix("granted ").and_then(|count| count.parse::<u32>().ok());
        let granted: u32 = outs.into_iter().flatten().filter_map(|line| granted(line.unwrap())).sum();
        for mut rival in rivals {
            assert!(rival.wait().unwrap().success());
        }
        assert_eq!(granted, 600, "round {round}");
        assert_eq!(spent(&path), Amount::zcdp(600.0 * COST).unwrap(), "round {round}");
    }
}

/// A job is killed (SIGKILL) at some moment and started again, many times. Refutes a second line for one window, a line
/// that was told and not recorded, and a charge that was lost.
#[test]
fn whatever_was_said_before_a_kill_is_said_after_it() {
    let scratch = Scratch::new("kills");
    let path = scratch.ledger("killed.ledger", 400.0 * COST);
    let mut said: BTreeMap<i64, String> = BTreeMap::new();
    let mut noted = 0;
    for round in 0..size(12, 1_000) {
        let mut victim = child("victim", &path, "web");
        let mut out = BufReader::new(victim.stdout.take().unwrap()).lines();
        assert!(out.any(|line| line.unwrap() == "ready"));
        victim.stdin.take().unwrap().write_all(b"go\n").unwrap();
        // Anywhere in the first hundred commits or so, at moments that no two rounds share.
        std::thread::sleep(Duration::from_micros(500 + 3_701 * round as u64 % 60_000));
        victim.kill().unwrap();
        for line in out.map_while(Result::ok) {
            // The last line may be cut short by the kill.
            let Some((window, told)) = line.strip_prefix("said ").and_then(|said| said.split_once(' '))
            else {
                continue;
            };
            if !told.contains("of process") || told.ends_with("process ") {
                continue;
            }
            noted += 1;
            let first = said.entry(window.parse().unwrap()).or_insert_with(|| told.to_owned());
            assert!(first.starts_with(told) || told == first, "window {window}: {first:?}, then {told:?}");
        }
        victim.wait().unwrap();

        // Opening verifies the chain and every sum; what was told must be there, to the byte.
        let mut ledger = Ledger::open(&path).unwrap();
        for (window, told) in &said {
            let row = ledger.look_up(&sealing("web", *window, String::new()).release).unwrap().unwrap();
            assert!(
                row.line().starts_with(told.as_str()),
                "window {window}: {told:?}, and the ledger {:?}",
                row.line()
            );
        }
        let cap = Amount::zcdp(400.0 * COST).unwrap();
        drop(ledger);
        assert!(spent(&path).within(&cap));
    }
    assert!(noted > 0, "no process lived long enough to say anything");
}
