//! A wall clock that is set while a job runs, by Debian's `faketime`: the time that its library reads is the
//! true one and an offset in a file.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::jobs::{HEADER, PAGES, SECOND, exact, line, tallies};
use crate::scene::{Life, Printed, Scene, moment, now, until};

/// A job on a machine whose clock may be set.
struct Machine {
    scene: Scene,
    library: PathBuf,
    /// The difference of its clock from the true one, in seconds.
    offset: i64,
    written: BTreeMap<(String, String), i64>,
    people: u64,
}

impl Machine {
    /// `None` where there is no `faketime`.
    fn new(hold: &str) -> Option<Machine> {
        let Some(library) = library() else {
            println!("skipped: a clock that is set: no libfaketimeMT.so.1 (apt-get install faketime)");
            return None;
        };
        let scene = Scene::new("clock");
        let from = now() / SECOND * SECOND - 2 * SECOND;
        let job = exact(from, None).replace("\"lifetime\"", "\"each 10 seconds\"");
        let job = job.replace("slack = \"100ms\"", &format!("slack = \"100ms\"\nclock_hold = \"{hold}\""));
        scene.write("job.toml", job);
        scene.write("visits.csv", HEADER);
        scene.init();
        let mut machine = Machine { scene, library, offset: 0, written: BTreeMap::new(), people: 0 };
        machine.set(0);
        Some(machine)
    }

    /// Sets the clock.
    fn set(&mut self, offset: i64) {
        self.offset = offset;
        // At once: a file that is being written reads as no offset.
        self.scene.write("offset.new", format!("{offset:+}\n"));
        fs::rename(self.scene.at("offset.new"), self.scene.at("offset")).unwrap();
    }

    fn start(&self) -> Life {
        let yes = || PathBuf::from("1");
        let environment = [
            ("LD_PRELOAD", self.library.clone()),
            ("FAKETIME_TIMESTAMP_FILE", self.scene.at("offset")),
            ("FAKETIME_NO_CACHE", yes()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", yes()),
            ("NO_FAKE_STAT", yes()),
        ];
        let arguments = ["run", "job.toml", "--out", "releases.jsonl"];
        self.scene.start_under(&environment, &arguments, Stdio::null())
    }

    /// Writes lines for some time, with the time that the clock reads.
    fn write(&mut self, lasting: Duration) {
        let mut log = OpenOptions::new().append(true).open(self.scene.at("visits.csv")).unwrap();
        let since = Instant::now();
        while since.elapsed() < lasting {
            let (time, page) = (now() + self.offset * SECOND, PAGES[(self.people % 3) as usize]);
            log.write_all(line(self.people, time, page).as_bytes()).unwrap();
            *self.written.entry((moment(time / SECOND * SECOND), page.to_owned())).or_default() += 1;
            self.people += 1;
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The start of the last released window, by its time.
    fn last(&self) -> i64 {
        let text = self.scene.read("releases.jsonl");
        let mut lines = text.lines().filter(|line| line.contains("\"closed\":true"));
        let start = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let start: jiff::Timestamp = line["window"]["start"].as_str().unwrap().parse().unwrap();
            start.as_microsecond()
        };
        lines.next_back().map_or(0, start)
    }

    /// Waits until the window that contains the present of the clock is released.
    fn released(&self) {
        let now = (now() + self.offset * SECOND) / SECOND * SECOND;
        until("the present window is released", || self.last() >= now);
    }

    /// Compares all released windows with the lines: each is there once, with all of its lines.
    fn compare(&self) -> usize {
        let printed = Printed::of(&self.scene.read("releases.jsonl"));
        let tallies = tallies(&printed.values());
        for ((start, page), value) in &tallies {
            let expected = self.written.get(&(start.clone(), page.clone())).copied().unwrap_or_default();
            assert_eq!(*value, expected, "{start} {page}");
        }
        let starts: Vec<&String> = printed.0.keys().map(|(_, start)| start).collect();
        let time = |start: &str| start.parse::<jiff::Timestamp>().unwrap().as_microsecond();
        assert!(starts.windows(2).all(|pair| time(pair[1]) - time(pair[0]) == SECOND), "{starts:?}");
        assert_eq!(self.scene.charged("job.ledger").0, printed.0.len() as u64);
        printed.0.len()
    }
}

/// The library that fakes the clock for processes of several threads.
fn library() -> Option<PathBuf> {
    let places = fs::read_dir("/usr/lib").ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let libraries = places.map(|place| place.join("faketime/libfaketimeMT.so.1"));
    libraries.into_iter().find(|library| library.is_file())
}

fn said(life: &Life, text: &str, times: usize) {
    until(text, || life.said().1.matches(text).count() >= times);
}

// Refutes a step that closes windows before their lines came, that ends the run, or that is never believed;
// and windows that are released twice, or not at all, because the clock went back.
#[test]
fn a_clock_that_is_set_holds_the_windows_open() {
    let Some(mut machine) = Machine::new("3s") else { return };
    let mut life = machine.start();
    machine.write(Duration::from_secs(2));
    machine.released();

    // An hour ahead, and back before anything believed it.
    machine.set(3_600);
    said(&life, "operator only: the clock was set forward by 1 hour: ", 1);
    assert!(life.said().1.contains("once it has not been set for 3 seconds, or on SIGUSR2"));
    thread::sleep(Duration::from_millis(300));
    let held = machine.last();
    thread::sleep(Duration::from_millis(1_200));
    assert_eq!(machine.last(), held, "nothing is released during a hold");
    machine.set(0);
    machine.write(Duration::from_secs(2));
    assert_eq!(machine.last(), held, "the hold has begun anew");
    said(&life, "the clock is believed again", 1);
    machine.released();

    // Twenty seconds ahead, to stay: the windows in between are empty, and what comes is counted.
    machine.set(20);
    said(&life, "the clock was set forward by 20 seconds: ", 1);
    machine.write(Duration::from_millis(1_500));
    said(&life, "the clock is believed again", 2);
    machine.released();

    // Eight seconds back: what was released stays, and the next windows wait for the clock.
    machine.set(12);
    said(&life, "the clock was set back by 8 seconds: ", 1);
    thread::sleep(Duration::from_millis(300));
    let held = machine.last();
    said(&life, "windows stay open until it has passed", 1);
    assert_eq!(machine.last(), held);
    until("the clock has passed what was released", || now() + 12 * SECOND > held + 3 * SECOND);
    machine.write(Duration::from_secs(2));
    machine.released();

    assert!(!life.has_ended(), "{:?}", life.said());
    life.signal(Signal::TERM);
    let ended = life.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.err.matches("the clock was set ").count(), 3, "once a hold: {}", ended.err);
    assert_eq!(ended.err.matches("believed again").count(), 3, "{}", ended.err);
    assert!(machine.compare() > 30);
    machine.scene.verify("job.ledger");
}

// Refutes an operator who is not heard; a clock behind what is settled that is believed at once, or that
// opens a window anew.
#[test]
fn the_operator_says_that_the_clock_is_right() {
    let Some(mut machine) = Machine::new("1h") else { return };
    let life = machine.start();
    machine.write(Duration::from_secs(1));
    machine.released();
    life.signal(Signal::USR2);
    // A word that comes after the step would end it unseen.
    thread::sleep(Duration::from_millis(500));
    machine.set(10);
    said(&life, "the clock was set forward by 10 seconds: ", 1);
    let held = machine.last();
    life.signal(Signal::USR1);
    said(&life, "operator only: the clock is in doubt, lag ", 1);
    machine.write(Duration::from_secs(1));
    assert!(machine.last() <= held + SECOND);
    life.signal(Signal::USR2);
    said(&life, "the clock is believed again", 1);
    machine.released();
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
    let released = machine.compare();

    machine.set(-3_600);
    let before = machine.scene.read("releases.jsonl");
    let life = machine.start();
    said(&life, "operator only: the clock reads ", 1);
    life.signal(Signal::USR2);
    said(&life, "the clock is believed again", 1);
    thread::sleep(Duration::from_millis(1_500));
    assert_eq!(machine.scene.read("releases.jsonl"), before);
    // Set right, with a hold that its operator ends.
    machine.set(10);
    said(&life, "the clock was set forward by ", 1);
    life.signal(Signal::USR2);
    machine.released();
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
    assert!(machine.compare() > released);
}
