//! One ledger and several processes: rivals that start together, and processes that are killed anywhere.
//!
//! Each test starts this program again as its child, with a task in the environment.

#![allow(clippy::unwrap_used)]

mod budgets;
#[path = "../kit/mod.rs"]
mod kit;
#[cfg(feature = "postgres")]
mod on_a_server;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use discreet::accounting::{Adjacency, Interval, PrivacyCost, ReleaseCost};
use discreet::gate::{GateEvent, GateHandle, Opening, ReleaseRequest};
use discreet::ledger::{
    AccountSpec, Charge, Digest, Ledger, LedgerKey, Name, ReleaseId, ReleaseStatus, Sealing,
};
use discreet::noise::NoiseSource;

use kit::{Directory, size};

/// A key for ledgers that have none beside them.
fn key(place: &Directory) -> PathBuf {
    let path = place.join("key");
    if !path.exists() {
        LedgerKey::create(&path).unwrap();
    }
    path
}

/// Creates a ledger with one account, at a path or an address, whose key is elsewhere.
fn made(place: PathBuf, cap: f64) -> PathBuf {
    let mut ledger = Ledger::create_alone(&place).unwrap();
    ledger.register(&AccountSpec::lifetime("visits", PrivacyCost::zcdp(cap)).unwrap()).unwrap();
    place
}

/// A power of two, so that sums of costs are exact in any arithmetic.
const COST: f64 = 1.0 / 1024.0;

fn sealing(job: &str, window: i64, line: String) -> Sealing {
    Sealing {
        release: ReleaseId {
            account: Name::new("account", "visits").unwrap(),
            job: Name::new("job", job).unwrap(),
            version: Digest::of(b"version 1"),
            name: Name::new("release", "by_path").unwrap(),
            window: Interval::new(window, window + 1).unwrap(),
            part: None,
        },
        charge: Some(Charge::Cost(ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(COST).unwrap()))),
        status: ReleaseStatus::Sealed,
        line,
        state: None,
    }
}

fn spent(path: &Path) -> PrivacyCost {
    let window = Interval::new(0, 1).unwrap();
    Ledger::open(path).unwrap().spent(&Name::new("account", "visits").unwrap(), window).unwrap().0
}

fn child(task: &str, ledger: &Path, key: &Path, job: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_child", "--nocapture"])
        .envs([("TASK", task), ("JOB", job)])
        .env("LEDGER", ledger)
        .env("KEY", key)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn submit(handle: &GateHandle, window: i64, line: String) {
    let Sealing { release, charge, .. } = sealing("web", window, String::new());
    let sealable = Box::new(move |_: &mut NoiseSource| line);
    handle
        .submit(ReleaseRequest::unproved_for_tests_of_the_library_itself(release, charge.unwrap(), sealable))
        .unwrap();
}

/// The task of the children, not a test of its own. Without a task it does nothing.
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
            let granted = sealed.filter(|rows| rows[0].status() == ReleaseStatus::Sealed).count();
            println!("\ngranted {granted}");
        }
        "spender" => {
            let mut ledger = Ledger::open(path).unwrap();
            let claim = ledger.claim(&name).unwrap();
            ready();
            for window in 0..4 {
                ledger.seal(&claim, &[sealing(&job, window, line(window))]).unwrap();
            }
        }
        // Releases until it is killed, also windows that it has released before.
        "victim" => {
            let key = std::env::var("KEY").unwrap();
            let gate = Opening::new(path, &job).unwrap().key(key).open().unwrap();
            let handle =
                gate.handle(&Name::new("release", "by_path").unwrap(), &Digest::of(b"1"), || ()).unwrap();
            ready();
            for first in (0..500).step_by(3).cycle() {
                (first..first + 3).for_each(|window| submit(&handle, window, line(window)));
                std::thread::sleep(Duration::from_millis(3));
                while let Some(printed) = handle.hear() {
                    let row = match printed {
                        GateEvent::Row(row, _) => row,
                        GateEvent::Halted(doubt) => return println!("\nhalted {doubt:?}"),
                        GateEvent::Withheld(_) | GateEvent::Absent(_) | GateEvent::Archived(_) => continue,
                    };
                    if row.status() == ReleaseStatus::Sealed {
                        println!("\nsaid {} {}", row.release().window.start(), row.line());
                    }
                    handle.delivered(&row);
                }
            }
        }
        other => panic!("no such task: {other}"),
    }
}

/// The first word of a child.
fn begun(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(out.any(|line| line == "ready"));
    out
}

fn go(child: &mut Child) {
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
}

/// Four jobs in four processes request a thousand windows; the budget holds 600. Refutes a check outside the
/// transaction: granted, recorded and cap must be one number.
fn rivals(rounds: usize, place: impl Fn(&Directory, usize) -> PathBuf) {
    let scratch = Directory::new("rivals");
    for round in 0..rounds {
        let path = made(place(&scratch, round), 600.0 * COST);
        let start = |job| child("rival", &path, Path::new(""), &format!("job{job}"));
        let mut rivals: Vec<Child> = (0..4).map(start).collect();
        // The barrier: no process starts before all have opened the ledger.
        let outs: Vec<_> = rivals.iter_mut().map(begun).collect();
        rivals.iter_mut().for_each(go);
        let granted =
            |line: String| line.strip_prefix("granted ").and_then(|count| count.parse::<u32>().ok());
        let granted: u32 = outs.into_iter().flatten().filter_map(granted).sum();
        for mut rival in rivals {
            assert!(rival.wait().unwrap().success());
        }
        assert_eq!(granted, 600, "round {round}");
        assert_eq!(spent(&path), PrivacyCost::zcdp(600.0 * COST).unwrap(), "round {round}");
    }
}

#[test]
fn rival_processes_are_granted_exactly_the_cap() {
    rivals(size(1, 100), |scratch, round| scratch.join(format!("round-{round}.ledger")));
}

/// The line released of each window, by any process.
#[derive(Default)]
struct Said(BTreeMap<i64, String>);

impl Said {
    /// Records the output of a process; returns the number of its lines that can be compared.
    fn hear(&mut self, lines: impl Iterator<Item = String>) -> usize {
        let mut noted = 0;
        for line in lines {
            // The last line may be cut short by the kill.
            let Some((window, printed)) = line.strip_prefix("said ").and_then(|said| said.split_once(' '))
            else {
                continue;
            };
            if !printed.contains("of process") || printed.ends_with("process ") {
                continue;
            }
            noted += 1;
            let first = self.0.entry(window.parse().unwrap()).or_insert_with(|| printed.to_owned());
            assert!(
                first.starts_with(printed) || printed == first,
                "window {window}: {first:?}, then {printed:?}"
            );
        }
        noted
    }

    /// Opening verifies the chain and every sum; each released line must be there, to the byte, and paid for.
    fn is_in(&self, path: &Path) {
        let mut ledger = Ledger::open(path).unwrap();
        for (window, printed) in &self.0 {
            let row = ledger.look_up(&sealing("web", *window, String::new()).release).unwrap().unwrap();
            let line = row.line();
            assert!(
                line.starts_with(printed.as_str()),
                "window {window}: {printed:?}, and the ledger {line:?}"
            );
        }
        drop(ledger);
        let paid = |windows: usize| PrivacyCost::zcdp(windows as f64 * COST).unwrap();
        assert!(self.0.is_empty() || paid(self.0.len()).within(&spent(path)));
        assert!(spent(path).within(&paid(400)));
    }
}

/// A job is killed (SIGKILL) at some moment and started again, many times. Refutes a second line for one
/// window, a line that was released and not recorded, and a charge that was lost.
fn kills(rounds: usize, place: impl Fn(&Directory) -> PathBuf) {
    let scratch = Directory::new("kills");
    let path = made(place(&scratch), 400.0 * COST);
    let (mut said, mut noted) = (Said::default(), 0);
    for round in 0..rounds {
        let mut victim = child("victim", &path, &key(&scratch), "web");
        let mut out = begun(&mut victim);
        go(&mut victim);
        // Every other round counts from its first line: a slow server would leave nothing to compare.
        let first = (round % 2 == 1).then(|| out.find(|line| line.starts_with("said "))).flatten();
        // Anywhere in the first hundred commits or so, at moments that no two rounds share.
        std::thread::sleep(Duration::from_micros(500 + 3_701 * round as u64 % 60_000));
        victim.kill().unwrap();
        noted += said.hear(first.into_iter().chain(out));
        victim.wait().unwrap();
        said.is_in(&path);
    }
    assert!(noted > 0, "no process lived long enough to say anything");
}

#[test]
fn whatever_was_said_before_a_kill_is_said_after_it() {
    kills(size(12, 1_000), |scratch| scratch.join("killed.ledger"));
}
