//! A live run over a log that Debian's `logrotate` rotates, in each of its modes, while a program writes it.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;

use crate::jobs::{PAGES, SECOND, exact, tallies};
use crate::kit;
use crate::scene::{Life, Printed, Scene, moment, now, until};

/// A mode of `logrotate`, with the path that the job follows.
struct Mode {
    name: &'static str,
    settings: &'static str,
    path: &'static str,
    /// True if the writer goes on in the same file.
    cuts: bool,
}

const MODES: [Mode; 7] = [
    Mode { name: "create", settings: "create", path: "visits.log", cuts: false },
    Mode { name: "copytruncate", settings: "copytruncate", path: "visits.log", cuts: true },
    Mode { name: "copytruncate, all files", settings: "copytruncate", path: "visits.log*", cuts: true },
    Mode {
        name: "delaycompress",
        settings: "create\ncompress\ndelaycompress",
        path: "visits.log*",
        cuts: false,
    },
    Mode { name: "compress", settings: "create\ncompress", path: "visits.log*", cuts: false },
    Mode {
        name: "dateext",
        settings: "create\ndateext\ndateformat -%Y%m%d-%s\ncompress",
        path: "visits.log*",
        cuts: false,
    },
    Mode { name: "nocreate and maxage", settings: "nocreate\nmaxage 1", path: "visits.log", cuts: false },
];

/// The pages of a second that were written, by its start.
type Written = BTreeMap<(String, String), i64>;

/// Writes lines at a steady rate until it is stopped, and opens the log anew when it is asked to.
fn write_log(path: &Path, rate: i64, stop: &AtomicBool, reopen: &AtomicBool) -> Written {
    let open = || OpenOptions::new().append(true).create(true).open(path).unwrap();
    let (mut log, mut written, mut person) = (open(), Written::new(), 0);
    let (began, mut lines) = (now(), 0);
    while !stop.load(Ordering::SeqCst) {
        if reopen.swap(false, Ordering::SeqCst) {
            log = open();
        }
        let due = (now() - began) * rate / SECOND;
        let mut text = String::new();
        while lines < due {
            let time = now();
            let page = PAGES[(person % 3) as usize];
            text += &format!(
                "{{\"person\":\"{person}\",\"time\":{}.{:06},\"page\":\"{page}\"}}\n",
                time / SECOND,
                time % SECOND
            );
            *written.entry((moment(time / SECOND * SECOND), page.to_owned())).or_default() += 1;
            (person, lines) = (person + 1, lines + 1);
        }
        log.write_all(text.as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(2));
    }
    written
}

fn logrotate(scene: &Scene) {
    let rotated = Command::new("logrotate")
        .args(["--force", "--state", "rotate.state", "rotate.conf"])
        .current_dir(scene.at(""))
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert!(rotated.status.success(), "{}", String::from_utf8_lossy(&rotated.stderr));
}

/// Runs a mode for some time; returns the number of lines that were written, and of those that are lost.
fn rotates(mode: &Mode, rate: i64, rotations: u32, between: Duration) -> (i64, i64) {
    let scene = Scene::new("logrotate");
    let from = now() / SECOND * SECOND;
    let job = exact(from, None)
        .replace("type = \"csv\"", "type = \"jsonl\"")
        .replace("visits.csv", mode.path)
        .replace("budget = { epsilon = 480 }", "budget = { epsilon = 450 }")
        .replace("promise = \"lifetime\"", "promise = \"each 10s\"")
        // On a busy machine a line may be written long after its time was taken.
        .replace("late = \"500ms\"", if kit::full() { "late = \"5s\"" } else { "late = \"1s\"" });
    scene.write("job.toml", job);
    File::create(scene.at("visits.log")).unwrap();
    let conf = format!(
        "{:?} {{\nrotate 100\nmissingok\nsu root root\n{}\n}}\n",
        scene.at("visits.log"),
        mode.settings
    );
    scene.write("rotate.conf", conf);
    Command::new("chmod").args(["600", "rotate.conf"]).current_dir(scene.at("")).status().unwrap();
    scene.init();
    let mut life: Life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
    let (stop, reopen) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let writer = {
        let (path, stop, reopen) = (scene.at("visits.log"), Arc::clone(&stop), Arc::clone(&reopen));
        thread::spawn(move || write_log(&path, rate, &stop, &reopen))
    };
    // What is rotated before the job has opened the log is not its own.
    until("a window is released", || !scene.read("releases.jsonl").is_empty());
    for _ in 0..rotations {
        let next = Instant::now() + between;
        logrotate(&scene);
        // The signal of a `postrotate` script; the program takes a moment.
        thread::sleep(Duration::from_millis(30));
        reopen.store(!mode.cuts, Ordering::SeqCst);
        thread::sleep(next.saturating_duration_since(Instant::now()));
        assert!(!life.has_ended(), "{}: {:?}", mode.name, life.said());
    }
    stop.store(true, Ordering::SeqCst);
    let written = writer.join().unwrap();
    let last = written.keys().next_back().unwrap().0.clone();
    until("the last window is released", || {
        scene.read("releases.jsonl").contains(&format!("\"start\":\"{last}\""))
    });
    until("it is closed or skipped", || {
        let released = scene.read("releases.jsonl");
        let ended = ["\"closed\":true", "\"skipped\":true"];
        released.lines().any(|line| {
            line.contains(&format!("\"start\":\"{last}\"")) && ended.iter().any(|end| line.contains(end))
        })
    });
    life.signal(rustix::process::Signal::TERM);
    let said = life.end();
    assert_eq!(said.code, Some(0), "{}: {said:?}", mode.name);
    let released = tallies(&Printed::of(&scene.read("releases.jsonl")).values());
    // Lines that come between the copy and the cut, or after a file was packed, are in no file.
    let kept = kept(&scene);
    for (at, written) in &written {
        // Of the lines that are lost to files, the job may have read some before the cut.
        let (found, kept) = (released.get(at).copied(), kept.get(at).copied().unwrap_or_default());
        let is_all = found.is_some_and(|found| (kept..=*written).contains(&found));
        assert!(
            is_all,
            "{}: {at:?} has {found:?}, where {kept} of {written} are in the files: {said:?}",
            mode.name
        );
    }
    let lines = written.values().sum();
    (lines, lines - kept.values().sum::<i64>())
}

/// The whole lines that are in any of the files.
fn kept(scene: &Scene) -> Written {
    let mut kept = Written::new();
    for entry in fs::read_dir(scene.at("")).unwrap() {
        let path = entry.unwrap().path();
        if !path.file_name().unwrap().to_string_lossy().starts_with("visits.log") {
            continue;
        }
        let mut text = String::new();
        match path.extension().is_some_and(|ending| ending == "gz") {
            true => MultiGzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap(),
            false => File::open(path).unwrap().read_to_string(&mut text).unwrap(),
        };
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let second = line["time"].as_f64().unwrap() as i64 * SECOND;
            *kept.entry((moment(second), line["page"].as_str().unwrap().to_owned())).or_default() += 1;
        }
    }
    kept
}

// Refutes a line that is lost or counted twice by a rotation, and a run that ends with one. In full, ten
// minutes of 20,000 lines a second in the first two modes, of 2,000 in the others, and a rotation every ten
// seconds.
#[test]
fn every_line_is_counted_once_however_logrotate_rotates() {
    if Command::new("logrotate").arg("--version").output().is_err() {
        println!("skipped: no logrotate on this machine");
        return;
    }
    let (rates, rotations, between) = match kit::full() {
        true => ([20_000, 2_000], 60, Duration::from_secs(10)),
        // All modes at once leave a busy machine time to look.
        false => ([2_000, 2_000], 3, Duration::from_millis(1_200)),
    };
    thread::scope(|scope| {
        let modes = MODES.iter().enumerate().map(|(at, mode)| {
            let rate = rates[usize::from(at >= 2)];
            (mode, scope.spawn(move || rotates(mode, rate, rotations, between)))
        });
        let modes: Vec<_> = modes.collect();
        for (mode, thread) in modes {
            let (lines, lost) = thread.join().unwrap();
            println!(
                "logrotate, {}: {lines} lines in {rotations} rotations, {lost} of them in no file",
                mode.name
            );
        }
    });
}
