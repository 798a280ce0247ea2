//! The same tests on a server, and faults that only a server has.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use discreet::ledger::Row;

use super::*;
use crate::kit::server::{Server, shared};

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

/// A process is suspended anywhere, loses its connection, and resumes beside its successor. Refutes a second
/// line for one window, and a zombie that goes on.
#[test]
fn a_process_that_wakes_up_beside_its_successor_says_nothing_else() {
    let Some(server) = shared() else { return };
    for round in 0..size(3, 200) {
        let scratch = Directory::new(&format!("zombie-{round}"));
        let name = server.unused();
        let path = made(server.address(&name), 400.0 * COST);
        let signal = |process: &Child, signal: &str| {
            let mut kill = Command::new("kill");
            assert!(kill.args([signal, &process.id().to_string()]).status().unwrap().success());
        };
        let mut zombie = child("victim", &path, &key(&scratch), "web");
        let before = begun(&mut zombie);
        go(&mut zombie);
        std::thread::sleep(Duration::from_micros(5_000 + 7_301 * round as u64 % 60_000));
        signal(&zombie, "-STOP");
        end_sessions(server, &name, "LIMIT 1");
        let mut successor = child("victim", &path, &key(&scratch), "web");
        let mut after = begun(&mut successor);
        go(&mut successor);
        std::thread::sleep(Duration::from_millis(30));
        signal(&zombie, "-CONT");
        // The zombie ends without a signal.
        let mut said = Said::default();
        let mut halted = false;
        said.hear(before.inspect(|line| halted |= line == "halted Fenced"));
        assert!(zombie.wait().unwrap().success() && halted, "round {round}: it was not fenced");
        let first = after.by_ref().find(|line| line.starts_with("said "));
        successor.kill().unwrap();
        assert!(said.hear(first.into_iter().chain(after)) > 0, "the successor said nothing");
        successor.wait().unwrap();
        said.is_in(&path);
    }
}

fn end_sessions(server: &Server, ledger: &str, rest: &str) {
    let end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name";
    server.sql("public", &format!("{end} = 'discreet {ledger} web' {rest}")).unwrap();
}

/// The releases of a gate during an action on its server; each window was requested twice.
struct Printed {
    rows: BTreeMap<i64, Row>,
    draws: Vec<u32>,
}

const WINDOWS: i64 = 240;

fn released_while(path: &Path, key: &Path, disturb: impl FnOnce() + Send) -> Printed {
    let draws: Arc<Vec<AtomicU32>> = Arc::new((0..WINDOWS).map(|_| AtomicU32::default()).collect());
    let mut rows: BTreeMap<i64, Row> = BTreeMap::new();
    let gate = Opening::new(path, "web").unwrap().key(key).open().unwrap();
    let handle = gate.handle(&Name::new("release", "by_path").unwrap(), &Digest::of(b"1"), || ()).unwrap();
    std::thread::scope(|scope| {
        let disturbing = scope.spawn(disturb);
        let mut windows = (0..WINDOWS).flat_map(|window| [window, window / 2]).cycle();
        while !disturbing.is_finished() || rows.len() < WINDOWS as usize {
            let mut asked = BTreeSet::new();
            for window in windows.by_ref().take(6) {
                asked.insert(window);
                let Sealing { release, charge, .. } = sealing("web", window, String::new());
                let draws = Arc::clone(&draws);
                let sealable = Box::new(move |_: &mut NoiseSource| {
                    let draw = draws[window as usize].fetch_add(1, Ordering::Relaxed);
                    format!("window {window}, draw {draw}")
                });
                handle
                    .submit(ReleaseRequest::unproved_for_tests_of_the_library_itself(
                        release,
                        charge.unwrap(),
                        sealable,
                    ))
                    .unwrap();
            }
            // A window requested again while it is on its way is released once.
            let begun = Instant::now();
            while !asked.is_empty() && begun.elapsed() < Duration::from_millis(50) {
                let Some(printed) = handle.hear() else {
                    std::thread::sleep(Duration::from_micros(200));
                    continue;
                };
                let GateEvent::Row(row, _) = printed else { panic!("{printed:?}") };
                let window = row.release().window.start();
                asked.remove(&window);
                let first = rows.entry(window).or_insert_with(|| (*row).clone());
                assert_eq!((first.line(), first.sequence()), (row.line(), row.sequence()));
                handle.delivered(&row);
            }
        }
    });
    drop(gate);
    let draws = draws.iter().map(|draws| draws.load(Ordering::Relaxed)).collect();
    Printed { rows, draws }
}

impl Printed {
    /// Checks for one row for each window, with the value of its one draw unless it was lost, charged once.
    fn check(&self, path: &Path) {
        assert_eq!(self.rows.len(), WINDOWS as usize);
        for (window, row) in &self.rows {
            assert_eq!(self.draws[*window as usize], 1, "window {window} was drawn again");
            match row.status() {
                ReleaseStatus::Sealed => assert_eq!(row.line(), format!("window {window}, draw 0")),
                status => assert_eq!(status, ReleaseStatus::Lost),
            }
        }
        let lost = self.rows.values().filter(|row| row.status() == ReleaseStatus::Lost).count();
        assert!(lost < self.rows.len() / 4, "{lost} lines were lost");
        assert_eq!(spent(path), PrivacyCost::zcdp(WINDOWS as f64 * COST).unwrap());
    }
}

/// The server ends the gate's connection at random moments. Refutes a gate that draws again after a lost
/// answer, charges twice, or gives up.
#[test]
fn a_gate_whose_connection_is_ended_anywhere_says_every_window_once() {
    let Some(server) = shared() else { return };
    let scratch = Directory::new("ended");
    let name = server.unused();
    let path = made(server.address(&name), 400.0 * COST);
    let ending = AtomicU32::new(0);
    let printed = released_while(&path, &key(&scratch), || {
        // A gate tries a line three times: after two endings without a row, the third waits for one.
        let rounds = size(40, 2_000);
        let ended = server.sql(
            "public",
            &format!(
                "CREATE TABLE ended_{name} AS SELECT 0 AS count;
                 DO $$ DECLARE before BIGINT; endings INT := 0; BEGIN FOR round IN 1..{rounds} LOOP
                   PERFORM pg_stat_clear_snapshot();
                   UPDATE ended_{name} SET count = count +
                     (SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
                      WHERE application_name = 'discreet {name} web');
                   SELECT sequence INTO before FROM \"{name}\".head;
                   PERFORM pg_sleep(0.06 + 0.1 * random());
                   endings := endings + 1;
                   FOR wait IN 1..2000 LOOP
                     EXIT WHEN endings < 2 OR before >= {WINDOWS};
                     PERFORM pg_sleep(0.01);
                     SELECT CASE WHEN sequence > before THEN 0 ELSE endings END INTO endings FROM \"{name}\".head;
                   END LOOP;
                 END LOOP; END $$;
                 SELECT count FROM ended_{name}"
            ),
        );
        ending.store(ended.unwrap().parse().unwrap(), Ordering::Relaxed);
    });
    printed.check(&path);
    assert!(ending.load(Ordering::Relaxed) >= 10, "it was hardly disturbed");
}

/// The server crashes and comes back.
#[test]
fn a_gate_outlives_its_server() {
    let Some(mut server) = Server::start() else { return };
    let scratch = Directory::new("outlived");
    let path = made(server.address("visits"), 400.0 * COST);
    let printed = released_while(&path, &key(&scratch), || {
        for _ in 0..2 {
            std::thread::sleep(Duration::from_millis(150));
            server.crash();
            std::thread::sleep(Duration::from_millis(300));
            server.launch();
        }
    });
    printed.check(&path);
}
