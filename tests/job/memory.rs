//! Tests of `[limits] memory`: a job keeps the limit by spilling open windows, and by reading no further.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::jobs::{HEADER, SECOND, exact, line};
use crate::kit::full;
use crate::scene::{Life, Printed, Scene, after_start, moment, now, until};
use crate::size;

/// A job of one worker that reads as fast as it can holds 50 MB or so.
const ENOUGH: u64 = 128_000_000;
const LITTLE: u64 = 64_000_000;

/// The job, read from standard input, with a memory limit.
fn limited(job: &str, limit: u64) -> String {
    let text = job.replace("path = \"visits.csv\"", "path = \"-\"");
    text.replace("[privacy]", &format!("[limits]\nmemory = \"{} MB\"\n\n[privacy]", limit / 1_000_000))
}

/// The memory of a process, without the pages of its program.
fn held(life: &Life) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/status", life.child.id())).ok()?;
    let line = text.lines().find(|line| line.starts_with("RssAnon:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

/// Writes as fast as the job reads; returns the number of bytes, and the time spent waiting.
fn flood(input: &mut ChildStdin, stop: &AtomicBool, mut lines: impl FnMut(&mut Vec<u8>)) -> (u64, Duration) {
    let (mut written, mut waited, mut block) = (0, Duration::ZERO, Vec::new());
    while !stop.load(Ordering::Relaxed) {
        block.clear();
        lines(&mut block);
        let start = Instant::now();
        if input.write_all(&block).is_err() {
            break;
        }
        waited += start.elapsed();
        written += block.len() as u64;
    }
    (written, waited)
}

// Refutes a queue that grows while a job is slower than its input, and a job that releases nothing
// afterwards.
#[test]
fn what_writes_too_fast_waits() {
    let scene = Scene::new("memory");
    let from = now() / SECOND * SECOND;
    // An endless number of windows: each second is charged separately.
    let job = exact(from, None).replace("promise = \"lifetime\"", "promise = \"each 1s\"");
    scene.write("job.toml", limited(&job, ENOUGH));
    scene.init();
    let mut life = scene.start_reading(&["run", "job.toml", "--out", "releases.jsonl"], Stdio::piped());
    let mut input = life.child.stdin.take().unwrap();
    input.write_all(HEADER.as_bytes()).unwrap();
    let lasting = Duration::from_secs(size(5, 60) as u64);
    let stop = AtomicBool::new(false);
    let mut most = 0;
    let (written, waited, took) = thread::scope(|scope| {
        let (input, stop) = (&mut input, &stop);
        let writer = scope.spawn(move || {
            let (start, mut made) = (Instant::now(), 0);
            let mut people = Vec::new();
            let (written, waited) = flood(input, stop, |block| {
                // The same people again and again: to format them would take longer than to read them.
                if now() - made > SECOND / 10 {
                    made = now();
                    people =
                        (0..5_000).map(|person| line(person, made, "a")).collect::<String>().into_bytes();
                }
                block.extend_from_slice(&people);
            });
            (written, waited, start.elapsed())
        });
        let start = Instant::now();
        while start.elapsed() < lasting {
            most = most.max(held(&life).unwrap_or(0));
            thread::sleep(Duration::from_millis(20));
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    assert!(!life.has_ended(), "{:?}", life.said());
    assert!(most > 0 && most < ENOUGH, "it held {most} bytes");
    // Otherwise there was no overload: the writer waited most of its time.
    let rate = written as f64 / took.as_secs_f64() / 1e6;
    println!(
        "memory: at most {:.1} MB held at {rate:.1} MB/s, {waited:.1?} of {took:.1?} waited",
        most as f64 / 1e6
    );
    assert!(waited > took / 3, "{waited:?} of {took:?}");
    let last = moment(now() / SECOND * SECOND);
    until("the last window is released", || scene.read("releases.jsonl").contains(&last));
    life.signal(Signal::TERM);
    drop(input);
    let said = life.end();
    assert_eq!(said.code, Some(0), "{said:?}");
    let printed = Printed::of(&scene.read("releases.jsonl"));
    let (people, windows) = (printed.values(), printed.0.len());
    assert!(windows as u64 >= lasting.as_secs(), "{windows}");
    assert!(people.values().any(|value| value.as_i64() == Some(5_000)), "{people:?}");
    scene.verify("job.ledger");
}

// Refutes a job that forgets people when it reaches its limit, or releases what it has of them.
#[test]
fn what_does_not_fit_ends_the_job() {
    let scene = Scene::new("memory");
    // One window, which stays open for an hour.
    let from = now() / SECOND * SECOND;
    let job = exact(from, Some(from + 3_600 * SECOND)).replace("every = \"1s\"", "every = \"all\"");
    scene.write("job.toml", limited(&job, LITTLE));
    scene.init();
    let mut life = scene.start_reading(&["run", "job.toml", "--out", "releases.jsonl"], Stdio::piped());
    let mut input = life.child.stdin.take().unwrap();
    let writer = thread::spawn(move || {
        let mut person = 0u64;
        let _ = input.write_all(HEADER.as_bytes());
        flood(&mut input, &AtomicBool::new(false), |block| {
            let time = now();
            for _ in 0..2_000 {
                person += 1;
                block.extend_from_slice(line(person, time, "a").as_bytes());
            }
        })
    });
    let said = life.end();
    assert_eq!(said.code, Some(70), "{said:?}");
    assert!(after_start(&said.err).starts_with("error: limits.memory: "), "{said:?}");
    assert_eq!((scene.read("releases.jsonl").as_str(), said.out.as_str()), ("", ""));
    assert_eq!(scene.charged("job.ledger").0, 0, "a window was sealed that is not over");
    assert!(writer.join().unwrap().0 > 0);
    scene.verify("job.ledger");
}

/// A replay of a log in no order of time, by what it declares: 48 windows of four releases that are open to its end. Every
/// number of its lines is exact.
fn unordered(rows: u64, limits: &str) -> String {
    let release = |name: &str, statistic: &str| {
        format!(
            "[[release]]\nname = \"{name}\"\nevery = \"30m\"\n{statistic}\nnoise = \"laplace\"\ncost = {{ epsilon = 100 }}\n\n"
        )
    };
    let bound = "bound = { keys = 2, per_key = 2 }";
    let releases = [
        release("visits", &format!("count = {{ by = \"key\", keys = [\"1\", \"2\"] }}\n{bound}")),
        release("people", "people = {}"),
        release("readers", "people = { by = \"key\", keys = [\"1\", \"2\", \"3\"] }\nbound = { keys = 2 }"),
        release("lengths", &format!("histogram = {{ of = \"value\", edges = [1, 10, 60] }}\n{bound}")),
    ];
    format!(
        r#"[job]
name = "visits"
version = 1
from = "2026-01-01T00:00:00Z"
until = "2026-01-02T00:00:00Z"

[source]
type = "synthetic"
people = 4000000
rows = {rows}
keys = 3
seed = 1

{limits}
[privacy]
person = {{ field = "user", missing = "drop" }}
promise = "each 30m"
budget = {{ epsilon = 450 }}
ledger = "job.ledger"
account = "visits"

{}"#,
        releases.concat(),
    )
}

/// A replay that has ended: its values, the most memory that it held, and the time that it took.
type Replayed = (Vec<((String, String, String), Value)>, u64, Duration);

/// A job on a copy of a ledger: its key decides what counts of a person.
fn copied(from: &Scene, rows: u64, limits: &str) -> Scene {
    let scene = Scene::new("spilled");
    scene.write("job.toml", unordered(rows, limits));
    for file in ["job.ledger", "job.ledger.key"] {
        fs::copy(from.at(file), scene.at(file)).unwrap();
    }
    scene
}

fn replayed(scene: &Scene, workers: &str) -> Replayed {
    let start = Instant::now();
    let mut life = scene.start(&["replay", "job.toml", "--out", "releases.jsonl", "-w", workers]);
    let mut most = 0;
    while !life.has_ended() {
        most = most.max(held(&life).unwrap_or(0));
        thread::sleep(Duration::from_millis(5));
    }
    let (said, took) = (life.end(), start.elapsed());
    assert_eq!(said.code, Some(0), "{said:?}");
    scene.verify("job.ledger");
    (Printed::of(&scene.read("releases.jsonl")).values().into_iter().collect(), most, took)
}

// Refutes a replay that ends where its windows need more than it may hold, and lines that depend on what was spilled.
#[test]
fn what_does_not_fit_is_spilled() {
    let scene = Scene::new("spilled");
    scene.write("job.toml", unordered(1, ""));
    scene.init();
    let rows = size(2_400_000, 12_000_000) as u64;
    let (expected, whole, took) = replayed(&copied(&scene, rows, ""), "2");
    println!("memory: {} MB without a limit in {took:.1?}", whole / MB);
    // It has to be more than the process holds of its own, and on its way.
    let limit = whole / 3;
    for workers in &["2", "1"][..size(1, 2)] {
        let limits = format!("[limits]\nmemory = \"{} MB\"\nspill = \".\"\n", limit / MB);
        let (found, most, took) = replayed(&copied(&scene, rows, &limits), workers);
        println!("memory: {} MB of {} MB in {took:.1?}, {workers} workers", most / MB, limit / MB);
        assert!(most < limit, "it held {most} of {limit} bytes");
        assert!(found == expected, "{workers} workers");
    }
    if !full() {
        return;
    }
    let limits = format!("[limits]\nmemory = \"{} MB\"\nspill = \".\"\n", limit / MB);
    let scene = copied(&scene, rows, &limits);
    is_killed_while_it_spills(&scene);
    has_a_full_disk(&scene);
    assert!(replayed(&scene, "2").0 == expected, "after a kill and a full disk");
}

/// The names of the files of a directory.
fn names(scene: &Scene) -> BTreeSet<String> {
    let entries = fs::read_dir(scene.at("")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| !name.starts_with('.') && !name.ends_with(".lock") && !name.starts_with("job.ledger-"))
        .collect()
}

/// Kills a replay that has spilled: nothing of the temporary file is left, and no window was charged.
fn is_killed_while_it_spills(scene: &Scene) {
    let before = names(scene);
    let life = scene.start(&["replay", "job.toml", "--out", "releases.jsonl", "-w", "2"]);
    let spilled = || {
        let Ok(files) = fs::read_dir(format!("/proc/{}/fd", life.child.id())) else { return 0 };
        let paths = files.flatten().map(|file| file.path());
        let of_nobody = paths.filter(|path| {
            fs::read_link(path).is_ok_and(|target| {
                target.starts_with(scene.at("")) && target.to_string_lossy().ends_with("(deleted)")
            })
        });
        of_nobody.flat_map(fs::metadata).map(|facts| facts.len()).sum()
    };
    until("it spills", || spilled() > MB);
    life.kill();
    let mut left = names(scene);
    left.remove("releases.jsonl");
    assert_eq!(left, before);
    assert_eq!((scene.charged("job.ledger").0, scene.read("releases.jsonl").as_str()), (0, ""));
}

/// Replays where no file may have more than a megabyte: the windows stay in memory, and do not fit.
fn has_a_full_disk(scene: &Scene) {
    // Without the signal the write fails.
    let limited = "trap '' XFSZ; ulimit -f 2000; exec \"$0\" replay job.toml --out releases.jsonl -w 2";
    let program = env!("CARGO_BIN_EXE_discreet");
    let said = Command::new("sh").args(["-c", limited, program]).current_dir(scene.at("")).output().unwrap();
    let err = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(70), "{err}");
    for words in ["limits.spill: ", "error: limits.memory: "] {
        assert!(err.contains(words), "{err}");
    }
    assert_eq!((scene.charged("job.ledger").0, scene.read("releases.jsonl").as_str()), (0, ""));
}

const MB: u64 = 1_000_000;
