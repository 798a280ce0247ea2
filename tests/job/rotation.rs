//! SIGHUP: it reopens the output of a run, and does not end it.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use crate::jobs::{HEADER, SECOND, exact, line, log, tallies};
use crate::scene::{Life, Printed, Scene, now, until};

fn windows(scene: &Scene, file: &str) -> usize {
    scene.read(file).matches("\"closed\":true").count()
}

// Refutes a run that ends with its terminal, one that writes on into a file that was moved away, lines that
// are in both files or in none, and a restart that writes the moved ones again.
#[test]
fn an_output_that_was_moved_away_is_begun_anew() {
    for file in ["releases.jsonl", "releases.csv"] {
        let scene = Scene::new("rotation");
        let from = now() / SECOND * SECOND - SECOND;
        let (text, truth) = log(from, 8, 300);
        scene.write("job.toml", exact(from, Some(from + 8 * SECOND)));
        scene.write("visits.csv", &text);
        scene.init();
        let arguments = ["run", "job.toml", "--out", file];
        let printed = |file: &str| scene.read(file).lines().count();
        let life = scene.start(&arguments);
        until("a window is released", || printed(file) >= 3);
        // If the file was not moved, nothing changes.
        life.signal(Signal::HUP);
        let before = printed(file);
        until("it goes on", || printed(file) > before);
        let moved = format!("moved-{file}");
        fs::rename(scene.at(file), scene.at(&moved)).unwrap();
        life.signal(Signal::HUP);
        until("another file is begun", || printed(file) >= 3);
        let old = scene.read(&moved);
        life.signal(Signal::TERM);
        assert_eq!(life.end().code, Some(0));
        assert_eq!(scene.read(&moved), old, "the file that was moved is left alone");
        scene.done(&arguments);
        scene.verify("job.ledger");
        if file == "releases.csv" {
            let [old, new] = [&moved[..], file].map(|file| scene.read(file));
            assert_eq!(old.lines().next(), new.lines().next(), "each has its header");
            assert!(new.lines().skip(1).all(|line| !old.lines().any(|other| other == line)));
            assert_eq!(old.lines().count() + new.lines().count() - 2, 8 * 4);
            continue;
        }
        let both = Printed::of(&(old + &scene.read(file)));
        assert_eq!((both.0.len(), tallies(&both.values())), (8, truth));
    }
}

// Refutes a run that ends because a file cannot be opened on the signal, and lines that are lost by it.
#[test]
fn an_output_that_cannot_be_begun_anew_goes_on_as_it_was() {
    let scene = Scene::new("rotation");
    scene.write("job.toml", exact(now() / SECOND * SECOND, None));
    scene.write("visits.csv", HEADER.to_owned() + &line(1, now(), "a"));
    scene.init();
    let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
    until("a window is released", || windows(&scene, "releases.jsonl") > 0);
    fs::rename(scene.at("releases.jsonl"), scene.at("moved.jsonl")).unwrap();
    fs::create_dir(scene.at("releases.jsonl")).unwrap();
    life.signal(Signal::HUP);
    until("it says so", || life.said().1.contains("lines go on in the file that was open"));
    let before = windows(&scene, "moved.jsonl");
    until("it goes on", || windows(&scene, "moved.jsonl") > before);
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
}

/// A replay that lasts: it reads a pipe that nothing closes.
fn slow(scene: &Scene) -> (Life, std::process::ChildStdin) {
    scene.write("job.toml", exact(0, Some(6 * SECOND)).replace("path = \"visits.csv\"", "path = \"-\""));
    scene.init();
    let mut life =
        scene.start_reading(&["replay", "job.toml", "--out", "releases.jsonl"], std::process::Stdio::piped());
    let input = life.child.stdin.take().unwrap();
    until("it runs", || scene.at("releases.jsonl").exists());
    // The file is there a moment before the other signals are handled.
    std::thread::sleep(Duration::from_millis(300));
    (life, input)
}

// Refutes a replay that ends with its terminal, and a stopped replay that looks complete.
#[test]
fn a_replay_ends_by_what_asks_it_to_and_says_that_it_is_not_done() {
    for (signal, code) in [(Signal::HUP, 0), (Signal::INT, 70), (Signal::TERM, 70)] {
        let scene = Scene::new("rotation");
        let (life, input) = slow(&scene);
        life.signal(signal);
        std::thread::sleep(Duration::from_millis(300));
        if code == 0 {
            std::io::Write::write_all(&mut &input, (HEADER.to_owned() + &line(1, 1, "a")).as_bytes())
                .unwrap();
            drop(input);
        }
        let said = life.end_within(Duration::from_secs(20));
        assert_eq!(said.code, Some(code), "{signal:?}: {said:?}");
        let sealed = if code == 0 { 6 } else { 0 };
        assert_eq!(scene.charged("job.ledger").0, sealed, "{signal:?}");
        assert_eq!(windows(&scene, "releases.jsonl") as u64, sealed);
    }
}

// Refutes a second signal that waits for the same as the first, and one that seals incomplete windows.
#[test]
fn who_asks_twice_does_not_wait() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let scene = Scene::new("rotation");
        let from = now() / SECOND * SECOND - SECOND;
        let (text, truth) = log(from, 6, 300);
        scene.write("job.toml", exact(from, Some(from + 6 * SECOND)));
        scene.write("visits.csv", text);
        scene.init();
        let arguments = ["run", "job.toml", "--out", "releases.jsonl"];
        let mut life = scene.start(&arguments);
        until("a window is released", || windows(&scene, "releases.jsonl") > 0);
        // The window waits for the ledger, which another process holds.
        let holder = rusqlite::Connection::open(scene.at("job.ledger")).unwrap();
        holder.busy_timeout(Duration::from_secs(10)).unwrap();
        holder.execute_batch("BEGIN IMMEDIATE").unwrap();
        std::thread::sleep(Duration::from_millis(1_700));
        life.signal(signal);
        std::thread::sleep(Duration::from_millis(400));
        assert!(!life.has_ended(), "the first waits for the ledger");
        life.signal(signal);
        let said = life.end_within(Duration::from_secs(2));
        assert_eq!(said.code, Some(code), "{said:?}");
        holder.execute_batch("ROLLBACK").unwrap();
        drop(holder);
        scene.verify("job.ledger");
        scene.done(&arguments);
        assert_eq!(tallies(&Printed::of(&scene.read("releases.jsonl")).values()), truth);
        scene.verify("job.ledger");
    }
}
