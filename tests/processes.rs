//! One ledger and several processes: rivals that start together, and processes that are killed anywhere.
//!
//! Each test starts this very program again as its child, which does what its environment says.

#![allow(clippy::unwrap_used)]

#[cfg(feature = "postgres")]
mod server;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use discreet::accounting::{Amount, Cost, Interval, Neighbours, Promise};
use discreet::gate::{Desk, Opening, Request, Told};
use discreet::ledger::{Charge, Digest, Domain, Fate, Key, Ledger, Name, Release, Sealing};
use discreet::noise::Noise;

/// Small in an ordinary run, full in `bash .ci/run --full`.
fn size(small: usize, full: usize) -> usize {
    if std::env::var_os("DISCREET_FULL").is_some() { full } else { small }
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("discreet-{name}-{}-{count}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    /// A key for ledgers that have none beside them.
    fn key(&self) -> PathBuf {
        let path = self.0.join("key");
        if !path.exists() {
            Key::create(&path).unwrap();
        }
        path
    }
}

/// Makes a ledger of one domain, at a path or an address.
fn made(place: PathBuf, cap: f64) -> PathBuf {
    let mut ledger = Ledger::create(&place).unwrap();
    let domain = Name::new("domain", "visits").unwrap();
    let cap = Amount::zcdp(cap).unwrap();
    ledger.register(&Domain::new(domain, Neighbours::PERSON, Promise::Lifetime, cap).unwrap()).unwrap();
    place
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
            part: None,
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

fn submit(desk: &Desk, window: i64, line: String) {
    let Sealing { release, charge, .. } = sealing("web", window, String::new());
    let sealable = Box::new(move |_: &mut Noise| line);
    desk.submit(Request { release, charge: charge.unwrap(), sealable }).unwrap();
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
            let key = std::env::var("KEY").unwrap();
            let gate = Opening::new(path, &job).unwrap().key(key).open().unwrap();
            let desk =
                gate.desk(&Name::new("release", "by_path").unwrap(), &Digest::of(b"1"), || ()).unwrap();
            ready();
            for first in (0..500).step_by(3).cycle() {
                (first..first + 3).for_each(|window| submit(&desk, window, line(window)));
                std::thread::sleep(Duration::from_millis(3));
                while let Some(told) = desk.hear() {
                    let row = match told {
                        Told::Row(row, _) => row,
                        Told::Halted(doubt) => return println!("\nhalted {doubt:?}"),
                        Told::Withheld(_) | Told::Absent(_) => continue,
                    };
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

/// The first word of a child.
fn begun(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(out.any(|line| line == "ready"));
    out
}

fn go(child: &mut Child) {
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
}

/// Four jobs in four processes ask for a thousand windows; the budget holds 600. Refutes a check outside the
/// transaction: granted, recorded and cap must be one number.
fn rivals(rounds: usize, place: impl Fn(&Scratch, usize) -> PathBuf) {
    let scratch = Scratch::new("rivals");
    for round in 0..rounds {
        let path = made(place(&scratch, round), 600.0 * COST);
        let start = |job| child("rival", &path, Path::new(""), &format!("job{job}"));
        let mut rivals: Vec<Child> = (0..4).map(start).collect();
        // The barrier: nobody begins before all have opened the ledger.
        let outs: Vec<_> = rivals.iter_mut().map(begun).collect();
        rivals.iter_mut().for_each(go);
        let granted =
            |line: String| line.strip_prefix("granted ").and_then(|count| count.parse::<u32>().ok());
        let granted: u32 = outs.into_iter().flatten().filter_map(granted).sum();
        for mut rival in rivals {
            assert!(rival.wait().unwrap().success());
        }
        assert_eq!(granted, 600, "round {round}");
        assert_eq!(spent(&path), Amount::zcdp(600.0 * COST).unwrap(), "round {round}");
    }
}

#[test]
fn rival_processes_are_granted_exactly_the_cap() {
    rivals(size(1, 100), |scratch, round| scratch.0.join(format!("round-{round}.ledger")));
}

/// What was said of each window, by whichever process.
#[derive(Default)]
struct Said(BTreeMap<i64, String>);

impl Said {
    /// Takes note of what a process said; how many lines of it can be compared.
    fn hear(&mut self, lines: impl Iterator<Item = String>) -> usize {
        let mut noted = 0;
        for line in lines {
            // The last line may be cut short by the kill.
            let Some((window, told)) = line.strip_prefix("said ").and_then(|said| said.split_once(' '))
            else {
                continue;
            };
            if !told.contains("of process") || told.ends_with("process ") {
                continue;
            }
            noted += 1;
            let first = self.0.entry(window.parse().unwrap()).or_insert_with(|| told.to_owned());
            assert!(first.starts_with(told) || told == first, "window {window}: {first:?}, then {told:?}");
        }
        noted
    }

    /// Opening verifies the chain and every sum; what was told must be there, to the byte, and paid for.
    fn is_in(&self, path: &Path) {
        let mut ledger = Ledger::open(path).unwrap();
        for (window, told) in &self.0 {
            let row = ledger.look_up(&sealing("web", *window, String::new()).release).unwrap().unwrap();
            let line = row.line();
            assert!(line.starts_with(told.as_str()), "window {window}: {told:?}, and the ledger {line:?}");
        }
        drop(ledger);
        let paid = |windows: usize| Amount::zcdp(windows as f64 * COST).unwrap();
        assert!(self.0.is_empty() || paid(self.0.len()).within(&spent(path)));
        assert!(spent(path).within(&paid(400)));
    }
}

/// A job is killed (SIGKILL) at some moment and started again, many times. Refutes a second line for one window, a line
/// that was told and not recorded, and a charge that was lost.
fn kills(rounds: usize, place: impl Fn(&Scratch) -> PathBuf) {
    let scratch = Scratch::new("kills");
    let path = made(place(&scratch), 400.0 * COST);
    let (mut said, mut noted) = (Said::default(), 0);
    for round in 0..rounds {
        let mut victim = child("victim", &path, &scratch.key(), "web");
        let out = begun(&mut victim);
        go(&mut victim);
        // Anywhere in the first hundred commits or so, at moments that no two rounds share.
        std::thread::sleep(Duration::from_micros(500 + 3_701 * round as u64 % 60_000));
        victim.kill().unwrap();
        noted += said.hear(out);
        victim.wait().unwrap();
        said.is_in(&path);
    }
    assert!(noted > 0, "no process lived long enough to say anything");
}

#[test]
fn whatever_was_said_before_a_kill_is_said_after_it() {
    kills(size(12, 1_000), |scratch| scratch.0.join("killed.ledger"));
}

/// The same on a server, and what only a server can do.
#[cfg(feature = "postgres")]
mod on_a_server {
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::time::Instant;

    use discreet::ledger::Row;

    use super::server::{Server, shared};
    use super::*;

    #[test]
    fn rival_processes_are_granted_exactly_the_cap() {
        let Some(server) = shared() else { return };
        rivals(size(1, 20), |_, _| server.address(&server.unused()));
    }

    #[test]
    fn whatever_was_said_before_a_kill_is_said_after_it() {
        let Some(server) = shared() else { return };
        kills(size(8, 200), |_| server.address(&server.unused()));
    }

    /// A process is suspended anywhere, loses its connection, and wakes up beside its successor. Refutes a second line
    /// for one window, and a zombie that goes on.
    #[test]
    fn a_process_that_wakes_up_beside_its_successor_says_nothing_else() {
        let Some(server) = shared() else { return };
        for round in 0..size(3, 200) {
            let scratch = Scratch::new(&format!("zombie-{round}"));
            let name = server.unused();
            let path = made(server.address(&name), 400.0 * COST);
            let signal = |process: &Child, signal: &str| {
                let mut kill = Command::new("kill");
                assert!(kill.args([signal, &process.id().to_string()]).status().unwrap().success());
            };
            let mut zombie = child("victim", &path, &scratch.key(), "web");
            let before = begun(&mut zombie);
            go(&mut zombie);
            std::thread::sleep(Duration::from_micros(5_000 + 7_301 * round as u64 % 60_000));
            signal(&zombie, "-STOP");
            end_sessions(server, &name, "LIMIT 1");
            let mut successor = child("victim", &path, &scratch.key(), "web");
            let after = begun(&mut successor);
            go(&mut successor);
            std::thread::sleep(Duration::from_millis(30));
            signal(&zombie, "-CONT");
            // It ends by itself.
            let mut said = Said::default();
            let mut halted = false;
            said.hear(before.inspect(|line| halted |= line == "halted Fenced"));
            assert!(zombie.wait().unwrap().success() && halted, "round {round}: it was not fenced");
            successor.kill().unwrap();
            assert!(said.hear(after) > 0, "the successor said nothing");
            successor.wait().unwrap();
            said.is_in(&path);
        }
    }

    fn end_sessions(server: &Server, ledger: &str, rest: &str) {
        let end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name";
        server.sql("public", &format!("{end} = 'discreet {ledger} web' {rest}")).unwrap();
    }

    /// What a gate told, while something was done to its server; each window was asked for twice.
    struct Told {
        rows: BTreeMap<i64, Row>,
        draws: Vec<u32>,
    }

    const WINDOWS: i64 = 240;

    fn told_while(path: &Path, key: &Path, disturb: impl FnOnce() + Send) -> Told {
        let draws: Arc<Vec<AtomicU32>> = Arc::new((0..WINDOWS).map(|_| AtomicU32::default()).collect());
        let mut rows: BTreeMap<i64, Row> = BTreeMap::new();
        let gate = Opening::new(path, "web").unwrap().key(key).open().unwrap();
        let desk = gate.desk(&Name::new("release", "by_path").unwrap(), &Digest::of(b"1"), || ()).unwrap();
        std::thread::scope(|scope| {
            let disturbing = scope.spawn(disturb);
            let mut windows = (0..WINDOWS).flat_map(|window| [window, window / 2]).cycle();
            while !disturbing.is_finished() || rows.len() < WINDOWS as usize {
                let mut asked = BTreeSet::new();
                for window in windows.by_ref().take(6) {
                    asked.insert(window);
                    let Sealing { release, charge, .. } = sealing("web", window, String::new());
                    let draws = Arc::clone(&draws);
                    let sealable = Box::new(move |_: &mut Noise| {
                        let draw = draws[window as usize].fetch_add(1, Ordering::Relaxed);
                        format!("window {window}, draw {draw}")
                    });
                    desk.submit(Request { release, charge: charge.unwrap(), sealable }).unwrap();
                }
                // What is still on its way when it is asked for again is told once.
                let begun = Instant::now();
                while !asked.is_empty() && begun.elapsed() < Duration::from_millis(50) {
                    let Some(told) = desk.hear() else {
                        std::thread::sleep(Duration::from_micros(200));
                        continue;
                    };
                    let discreet::gate::Told::Row(row, _) = told else { panic!("{told:?}") };
                    let window = row.release().window.start();
                    asked.remove(&window);
                    let first = rows.entry(window).or_insert_with(|| (*row).clone());
                    assert_eq!((first.line(), first.sequence()), (row.line(), row.sequence()));
                    desk.delivered(&row);
                }
            }
        });
        drop(gate);
        let draws = draws.iter().map(|draws| draws.load(Ordering::Relaxed)).collect();
        Told { rows, draws }
    }

    impl Told {
        /// One row for each window, with what its one draw gave, unless it was lost; and paid for once.
        fn check(&self, path: &Path) {
            assert_eq!(self.rows.len(), WINDOWS as usize);
            for (window, row) in &self.rows {
                assert_eq!(self.draws[*window as usize], 1, "window {window} was drawn again");
                match row.fate() {
                    Fate::Sealed => assert_eq!(row.line(), format!("window {window}, draw 0")),
                    fate => assert_eq!(fate, Fate::Lost),
                }
            }
            let lost = self.rows.values().filter(|row| row.fate() == Fate::Lost).count();
            assert!(lost < self.rows.len() / 4, "{lost} lines were lost");
            assert_eq!(spent(path), Amount::zcdp(WINDOWS as f64 * COST).unwrap());
        }
    }

    /// The server ends the gate's connection at random moments. Refutes a gate that draws again after a lost answer,
    /// charges twice, or gives up.
    #[test]
    fn a_gate_whose_connection_is_ended_anywhere_says_every_window_once() {
        let Some(server) = shared() else { return };
        let scratch = Scratch::new("ended");
        let name = server.unused();
        let path = made(server.address(&name), 400.0 * COST);
        let ending = AtomicU32::new(0);
        let told = told_while(&path, &scratch.key(), || {
            // So far apart that a gate, which tries a line three times, is not hit every time.
            let rounds = size(40, 2_000);
            let ended = server.sql(
                "public",
                &format!(
                    "CREATE TABLE ended_{name} AS SELECT 0 AS count;
                     DO $$ BEGIN FOR round IN 1..{rounds} LOOP
                       PERFORM pg_stat_clear_snapshot();
                       UPDATE ended_{name} SET count = count +
                         (SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                          WHERE application_name = 'discreet {name} web');
                       PERFORM pg_sleep(0.06 + 0.1 * random());
                     END LOOP; END $$;
                     SELECT count FROM ended_{name}"
                ),
            );
            ending.store(ended.unwrap().parse().unwrap(), Ordering::Relaxed);
        });
        told.check(&path);
        assert!(ending.load(Ordering::Relaxed) >= 10, "it was hardly disturbed");
    }

    /// The server crashes and comes back.
    #[test]
    fn a_gate_outlives_its_server() {
        let Some(mut server) = Server::start() else { return };
        let scratch = Scratch::new("outlived");
        let path = made(server.address("visits"), 400.0 * COST);
        let told = told_while(&path, &scratch.key(), || {
            for _ in 0..2 {
                std::thread::sleep(Duration::from_millis(150));
                server.crash();
                std::thread::sleep(Duration::from_millis(300));
                server.launch();
            }
        });
        told.check(&path);
    }
}
