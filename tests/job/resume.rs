//! Restarts that go on where the open windows begin, through the built command.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::jobs::{HEADER, PAGES, SECOND, exact, line, tallies};
use crate::scene::{Life, Printed, Scene, moment, now, until};

/// A log that is written while jobs live and die.
struct Log<'a> {
    scene: &'a Scene,
    /// The lines that were written, by the start of their second and page.
    written: BTreeMap<(String, String), i64>,
    person: u64,
}

impl Log<'_> {
    fn write(&mut self, lasting: Duration) {
        let since = Instant::now();
        while since.elapsed() < lasting {
            let (time, page) = (now(), PAGES[(self.person % 3) as usize]);
            self.append(&line(self.person, time, page));
            *self.written.entry((moment(time / SECOND * SECOND), page.to_owned())).or_default() += 1;
            self.person += 1;
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn append(&self, text: &str) {
        use std::io::Write;
        let mut options = fs::OpenOptions::new();
        let mut file = options.append(true).create(true).open(self.scene.at("visits.csv")).unwrap();
        if file.metadata().unwrap().len() == 0 {
            file.write_all(HEADER.as_bytes()).unwrap();
        }
        file.write_all(text.as_bytes()).unwrap();
    }

    /// Renames the log, and all logs before it.
    fn rotate(&self) {
        for number in (0..5).rev() {
            let name =
                |number| if number == 0 { "visits.csv".to_owned() } else { format!("visits.csv.{number}") };
            if self.scene.at(&name(number)).exists() {
                fs::rename(self.scene.at(&name(number)), self.scene.at(&name(number + 1))).unwrap();
            }
        }
    }
}

/// The megabytes that a life has read, by its own word.
fn read(life: &Life, asked: usize) -> f64 {
    life.signal(Signal::USR1);
    until("it answers", || life.said().1.matches("operator only: lag ").count() == asked);
    let said = life.said().1;
    let line = said.lines().rfind(|line| line.contains("MB read")).unwrap().to_owned();
    let before = line.split(" MB read").next().unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

// Refutes a restart that reads the whole log, that loses a line to it, or counts one twice; with logs that come
// and are renamed while nobody reads.
#[test]
fn a_restart_reads_what_open_windows_need_and_releases_every_window() {
    let scene = Scene::new("resume");
    let from = now() / SECOND * SECOND;
    scene.write("job.toml", exact(from, None));
    scene.init();
    let mut log = Log { scene: &scene, written: BTreeMap::new(), person: 0 };
    // Records of no window.
    let old: String =
        (0..200_000).map(|at| line(format!("old-{at}"), from - 1_000 * SECOND, "old")).collect();
    log.append(&old);
    // One record from the year 9999 holds no position.
    log.append(&line("far", 253_370_764_800 * SECOND, "old"));
    let megabytes = old.len() as f64 / 1e6;
    for (number, end) in [Signal::KILL, Signal::KILL, Signal::TERM].into_iter().enumerate() {
        let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
        let before = scene.read("releases.jsonl").matches("\"closed\":true").count();
        log.write(Duration::from_millis(2_500));
        until("windows are released", || {
            scene.read("releases.jsonl").matches("\"closed\":true").count() > before + 3
        });
        let read = read(&life, 1);
        match number {
            0 => assert!(read > megabytes * 0.99, "{read} MB of {megabytes}"),
            _ => assert!(read < megabytes * 0.1, "{read} MB of {megabytes} were read again"),
        }
        life.signal(end);
        life.end();
        // Two rotations while nobody reads, the first log of them with lines of its own.
        log.write(Duration::from_millis(400));
        log.rotate();
        log.write(Duration::from_millis(400));
        if number == 1 {
            log.rotate();
            log.write(Duration::from_millis(300));
        }
    }
    let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
    let last = log.written.keys().map(|(start, _)| start.clone()).max().unwrap();
    let closed =
        |line: &str| line.contains(&format!("\"start\":\"{last}")) && line.contains("\"closed\":true");
    until("the last window is released", || scene.read("releases.jsonl").lines().any(closed));
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));

    let text = scene.read("releases.jsonl");
    assert!(!text.contains("\"skipped\":true"), "a log of files has no gaps");
    let mut found = tallies(&Printed::of(&text).values());
    found.retain(|(start, _), _| *start <= last);
    for (place, count) in &log.written {
        assert_eq!(found.remove(place), Some(*count), "{place:?}");
    }
    assert!(found.values().all(|count| *count == 0), "{found:?}");
    scene.verify("job.ledger");
}

// Refutes a run that is killed before it has read the files that it found, and leaves no trace of one that is then removed:
// the next run released its windows without those lines.
#[test]
fn a_file_that_a_killed_run_had_found_is_missed() {
    let scene = Scene::new("first-look");
    let from = now() / SECOND * SECOND - 3 * SECOND;
    let job = exact(from, Some(from + 4 * SECOND));
    scene.write("job.toml", job.replace("\"visits.csv\"", "\"visits.csv*\""));
    let old: String =
        (0..300_000).map(|at| line(format!("old-{at}"), from - 1_000 * SECOND, "old")).collect();
    for (at, name) in ["visits.csv.2", "visits.csv.1", "visits.csv"].into_iter().enumerate() {
        let lines: String =
            (0..20).map(|person| line(person, from + at as i64 * SECOND, PAGES[person % 3])).collect();
        scene.write(name, HEADER.to_owned() + &old + &lines);
    }
    scene.init();
    let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
    let ledger = rusqlite::Connection::open(scene.at("job.ledger")).unwrap();
    until("its files have positions", || {
        let count = ledger.query_row("SELECT count(*) FROM position", [], |row| row.get::<_, i64>(0));
        count.is_ok_and(|count| count > 0)
    });
    life.signal(Signal::KILL);
    life.end();
    assert_eq!(scene.read("releases.jsonl"), "");
    fs::remove_file(scene.at("visits.csv")).unwrap();
    let said = scene.done(&["run", "job.toml", "--out", "releases.jsonl"]);
    assert!(said.err.contains("the last run has listed it"), "{said:?}");
    let text = scene.read("releases.jsonl");
    assert_eq!(text.matches("\"skipped\":true").count(), 4, "{text}");
    assert_eq!(scene.charged("job.ledger").1.values().sum::<f64>(), 0.0);
}
