//! Two processes, of which one is asked to end, fails, or does not answer.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use crate::cluster::{set, start, start_as};
use crate::jobs::{SECOND, exact, log, tallies};
use crate::scene::{Life, Printed, Scene, after_start, now, until};

/// A job whose windows start now, and the log of the first four.
fn begun() -> Scene {
    let from = now() / SECOND * SECOND - SECOND;
    set(&exact(from, Some(from + 20 * SECOND)), &log(from, 4, 300).0)
}

fn both(scene: &Scene) -> [Life; 2] {
    let lives = [0, 1].map(|process| start(scene, process, "1"));
    until("a window is released", || scene.read("releases.jsonl").contains("\"closed\":true"));
    lives
}

// Refutes an orderly end of all processes that is reported as a failure, one that seals incomplete windows,
// and a process that goes on when another was asked to end.
#[test]
fn processes_that_are_asked_to_end_all_end_well() {
    for asked in [&[0, 1][..], &[0], &[1]] {
        let scene = begun();
        let lives = both(&scene);
        asked.iter().for_each(|process| lives[*process].signal(Signal::TERM));
        for said in lives.map(|life| life.end_within(Duration::from_secs(20))) {
            assert_eq!(said.code, Some(0), "{asked:?}: {said:?}");
            assert!(said.err.ends_with("stopped\n"), "{asked:?}: {said:?}");
        }
        scene.verify("job.ledger");
        let printed = Printed::of(&scene.read("releases.jsonl"));
        let windows = tallies(&printed.values());
        // Each released window is whole: 300 people come in each of the first four.
        let starts: std::collections::BTreeSet<_> = windows.keys().map(|(start, _)| start.clone()).collect();
        for start in starts.iter().take(4) {
            let sum: i64 = windows.iter().filter(|((of, _), _)| of == start).map(|(_, tally)| tally).sum();
            assert_eq!(sum, 300, "{start}");
        }
    }
}

// Refutes an end without the name of the process at fault, and one that comes late.
#[test]
fn a_process_that_is_gone_is_named_by_the_other() {
    for victim in [0, 1] {
        let scene = begun();
        let mut lives = both(&scene).map(Some);
        lives[victim].take().unwrap().kill();
        let left = lives[1 - victim].take().unwrap().end_within(Duration::from_secs(10));
        assert_eq!(left.code, Some(70), "{left:?}");
        assert!(left.err.contains(&format!("process {victim} (127.0.0.1:")), "{left:?}");
        assert!(left.err.contains("is gone"), "{left:?}");
    }
}

// Refutes a process that waits half a minute for one that has failed at once.
#[test]
fn a_process_that_fails_at_once_is_not_waited_for() {
    type Fail = fn(&Scene);
    let failures: [(&str, Fail, i32); 3] = [
        ("other.toml", |scene| scene.write("other.toml", "no job"), 78),
        ("other.toml", |scene| other(scene, "path = \"visits.csv\"", "path = \"gone.csv\""), 69),
        ("other.toml", |scene| other(scene, "ledger = \"job.ledger\"", "ledger = \"j\"\nkey = \"gone\""), 0),
    ];
    for (job, fail, code) in failures {
        for failing in [0, 1] {
            let scene = begun();
            fail(&scene);
            let jobs = if failing == 0 { [job, "job.toml"] } else { ["job.toml", job] };
            let lives =
                [failing, 1 - failing].map(|process| start_as(&scene, process, &["run", jobs[process]]));
            let [failed, left] = lives.map(|life| life.end_within(Duration::from_secs(15)));
            assert!(
                failed.code.is_some_and(|found| found != 0 && (code == 0 || found == code)),
                "{failed:?}"
            );
            assert_eq!(left.code, Some(70), "{left:?}");
            let name = format!("process {failing} (127.0.0.1:");
            assert!(left.err.contains(&name) && left.err.contains("has ended"), "{left:?}");
            assert_eq!(scene.charged("job.ledger").0, 0);
        }
    }
}

fn other(scene: &Scene, line: &str, instead: &str) {
    let job = scene.read("job.toml");
    assert!(job.contains(line));
    scene.write("other.toml", job.replace(line, instead));
    let _ = fs::remove_file(scene.at("gone"));
}

// Refutes a process that waits silently for one that does not answer, and one that gives it up.
#[test]
fn a_process_that_does_not_answer_is_named_and_waited_for() {
    let scene = begun();
    let [first, second] = both(&scene);
    second.signal(Signal::STOP);
    until("it is named", || first.said().1.contains("has not answered for"));
    let before = scene.read("releases.jsonl");
    second.signal(Signal::CONT);
    until("it is back", || first.said().1.contains("answers again"));
    let err = after_start(&first.said().1);
    let name = "operator only: process 1 (127.0.0.1:";
    assert!(err.lines().count() == 2 && err.lines().all(|line| line.starts_with(name)), "{err}");
    until("another window is released", || scene.read("releases.jsonl").len() > before.len());
    first.signal(Signal::TERM);
    for said in [first, second].map(Life::end) {
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    scene.verify("job.ledger");
}
