//! An operator at random: rotations while a run is up and while it is down, stops, kills, a release that comes
//! and goes, outputs that are new or torn; and the same with calls to the file system that take up to 0.6 s.
//!
//! `DISCREET_FULL=1 cargo test --test job operator -- --nocapture` takes longer, and tries more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::jobs::{HEADER, PAGES, SECOND, exact, line};
use crate::kit::log::pack;
use crate::scene::{Life, Printed, Scene, moment, now, until};
use crate::{Chance, in_parallel, size};

/// The names that rotated files get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Numbered,
    Dated,
    /// By turns: nobody can tell their order, so windows may be skipped.
    Mixed,
    /// Copies, of a log that is cut. Of one that was cut twice while nobody looked lines may be missing.
    Copied,
}

/// A log that is written by the clock, and rotated.
struct Log<'s> {
    scene: &'s Scene,
    file: File,
    /// The columns beside those that the job reads: of many, all files begin with the same kilobytes.
    columns: usize,
    rotations: i64,
    people: usize,
    written: BTreeMap<(String, String), i64>,
    /// The windows for which it is unknown if a line came in time.
    unsure: BTreeSet<String>,
}

impl Log<'_> {
    fn begun(scene: &Scene, columns: usize) -> File {
        let mut file = OpenOptions::new().create(true).append(true).open(scene.at("visits.csv")).unwrap();
        let more: String = (0..columns).map(|column| format!(",a_column_of_the_log_{column}")).collect();
        writeln!(file, "{}{more}", HEADER.trim_end()).unwrap();
        file
    }

    fn write(&mut self) {
        self.people += 1;
        let (person, time, page) = (self.people, now(), PAGES[self.people % 2]);
        let line = format!("{}{}\n", line(person, time, page).trim_end(), ",".repeat(self.columns));
        self.file.write_all(line.as_bytes()).unwrap();
        let start = time - time.rem_euclid(SECOND);
        *self.written.entry((moment(start), page.to_owned())).or_default() += 1;
        if now() > start + SECOND + 400_000 {
            self.unsure.insert(moment(start));
        }
    }

    fn rotate(&mut self, style: Style, chance: &mut Chance) {
        let scene = self.scene;
        let at = |number: i64, packed: &str| scene.at(&format!("visits.csv.{number}{packed}"));
        self.rotations += 1;
        if style == Style::Dated || style == Style::Mixed && chance.below(2) == 0 {
            let name = format!("visits.csv-{}", 1_500_000_000 + self.rotations);
            fs::rename(self.scene.at("visits.csv"), self.scene.at(&name)).unwrap();
        } else {
            for number in (1..=self.rotations).rev() {
                for packed in ["", ".gz"] {
                    // There may be none.
                    let _ = fs::rename(at(number, packed), at(number + 1, packed));
                }
            }
            match style {
                Style::Copied => _ = fs::copy(self.scene.at("visits.csv"), at(1, "")).unwrap(),
                _ => fs::rename(self.scene.at("visits.csv"), at(1, "")).unwrap(),
            }
            if chance.below(3) == 0
                && let Ok(text) = fs::read(at(2, ""))
            {
                fs::write(at(2, ".gz"), pack("gz", &text)).unwrap();
                fs::remove_file(at(2, "")).unwrap();
            }
        }
        if style == Style::Copied {
            // They are in no file after the cut.
            for _ in 0..chance.below(2) * chance.below(30) {
                self.unsure.insert(moment(now() / SECOND * SECOND));
                self.write();
                self.unsure.insert(moment(now() / SECOND * SECOND));
                thread::sleep(Duration::from_millis(5));
            }
            self.file.set_len(0).unwrap();
        }
        if chance.below(3) == 0 {
            thread::sleep(Duration::from_millis(100));
        }
        self.file = Log::begun(self.scene, self.columns);
    }
}

/// A window that left, as it was released: without cells if it was skipped.
type Released = BTreeMap<(String, String), BTreeMap<String, i64>>;

fn released(text: &str) -> Released {
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    // A file that a kill has torn is completed at its next start.
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let ends = |line: &&str| line.contains("\"closed\"") || line.contains("\"skipped\"");
    let text = lines[..lines.iter().rposition(ends).map_or(0, |last| last + 1)].concat();
    let cells = |cells: &BTreeMap<String, serde_json::Value>| {
        cells.iter().map(|(key, cell)| (key.clone(), cell["value"].as_i64().unwrap())).collect()
    };
    Printed::of(&text).0.iter().map(|(window, found)| (window.clone(), cells(found))).collect()
}

/// The run of a scene, and the choices of its operator.
struct Operator<'s, 'l> {
    scene: &'s Scene,
    log: &'l Mutex<Log<'s>>,
    style: Style,
    /// True if calls to the file system stand still.
    stalls: bool,
    chance: Chance,
    life: Option<Life>,
    outputs: usize,
    job: String,
}

const ANOTHER: &str = "\n[[release]]\nname = \"another\"\nevery = \"1s\"\n\
    count = { by = \"page\", keys = [\"a\", \"b\", \"c\"] }\nbound = { keys = 1, per_key = 1 }\n\
    noise = \"laplace\"\ncost = { epsilon = 20 }\n";

impl Operator<'_, '_> {
    fn output(&mut self) -> String {
        format!("releases-{}.jsonl", self.chance.below(self.outputs))
    }

    fn start(&mut self) {
        let output = self.output();
        let arguments = ["run", "job.toml", "--out", &output, "-w", "1"];
        self.life = Some(match self.stalls {
            true => {
                let (trace, inject) = self.stall_of_calls();
                let options = ["-D", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", &trace, "-e", &inject];
                self.scene.start_through("strace", &options, &arguments)
            }
            false => self.scene.start(&arguments),
        });
    }

    /// The options of strace by which some calls of one kind take long, before or after they are made.
    fn stall_of_calls(&mut self) -> (String, String) {
        let calls = ["statx", "openat", "getdents64", "pread64", "read"];
        let call = calls[self.chance.below(calls.len())];
        let place = ["delay_enter", "delay_exit"][self.chance.below(2)];
        let delay = [30_000, 80_000, 150_000, 300_000, 600_000][self.chance.below(5)];
        let (first, step) = (30 + self.chance.below(60), [3, 5, 7, 11, 17, 29, 53][self.chance.below(7)]);
        (format!("trace={call}"), format!("inject={call}:{place}={delay}:when={first}+{step}"))
    }

    fn stop(&mut self) {
        let Some(life) = self.life.take() else { return };
        if self.chance.below(2) == 0 {
            life.kill();
            return;
        }
        // Before the handler of the signal is there, it ends the process by itself.
        until("it has started", || life.said().1.contains("started: "));
        life.signal(Signal::TERM);
        let said = life.end();
        assert_eq!(said.code, Some(0), "{said:?}");
    }

    fn rotate(&mut self) {
        self.log.lock().unwrap().rotate(self.style, &mut self.chance);
    }

    /// Stops the process for a while, in which the log goes on.
    fn stall(&mut self) {
        let Some(life) = &self.life else { return };
        life.signal(Signal::STOP);
        for _ in 0..self.chance.below(4) {
            self.log.lock().unwrap().rotate(self.style, &mut self.chance);
            thread::sleep(Duration::from_millis(self.chance.below(800) as u64));
        }
        life.signal(Signal::CONT);
    }

    fn act(&mut self) {
        match self.chance.below(9) {
            0..=2 => return self.rotate(),
            8 => return self.stall(),
            3 => self.stop(),
            4 => {
                self.stop();
                for _ in 0..=self.chance.below(3) {
                    self.rotate();
                    thread::sleep(Duration::from_millis(30));
                }
            }
            5 => {
                self.stop();
                let another = if self.chance.below(2) == 0 { ANOTHER } else { "" };
                self.scene.write("job.toml", format!("{}{another}", self.job));
            }
            6 => {
                self.stop();
                self.outputs = (self.outputs + 1).min(3);
            }
            _ => {
                self.stop();
                let output = self.output();
                let text = self.scene.read(&output);
                // The first file is the evidence of what left.
                if output != "releases-0.jsonl" && !text.is_empty() {
                    self.scene.write(&output, &text[..self.chance.below(text.len())]);
                }
            }
        }
        if self.life.is_none() {
            self.start();
        }
    }
}

/// Ends the writer of a scene when it is dropped.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The acts of an operator, and the windows that they leave; returns their number, and that of the skipped ones.
fn operate(number: usize, style: Style, stalls: bool) -> (usize, usize) {
    let scene = Scene::new("operator");
    let from = now() / SECOND * SECOND;
    let job = exact(from, None).replace("promise = \"lifetime\"", "promise = \"any 4 seconds\"");
    let columns = if number.is_multiple_of(3) { 70 } else { 0 };
    // Half of them name the rotated files too.
    let path = if (number / 4).is_multiple_of(2) { "\"visits.csv\"" } else { "\"visits.csv*\"" };
    let job = job.replace("\"visits.csv\"", path);
    scene.write("job.toml", &job);
    scene.init();
    let log = Log {
        scene: &scene,
        file: Log::begun(&scene, columns),
        columns,
        rotations: 0,
        people: 0,
        written: BTreeMap::new(),
        unsure: BTreeSet::new(),
    };
    let (log, is_over) = (Mutex::new(log), AtomicBool::new(false));
    thread::scope(|scope| {
        // If the operator panics, the writer ends too.
        let over = Over(&is_over);
        let writer = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                log.lock().unwrap().write();
                thread::sleep(Duration::from_millis(3));
            }
        });
        let chance = Chance::of(&[if stalls { 78 } else { 77 }, number]);
        let mut operator =
            Operator { scene: &scene, log: &log, style, stalls, chance, life: None, outputs: 1, job };
        operator.start();
        for _ in 0..size(16, 80) {
            thread::sleep(Duration::from_millis(200 + operator.chance.below(1_500) as u64));
            operator.act();
        }
        drop(over);
        writer.join().unwrap();
    });
    let Log { written, unsure, .. } = log.into_inner().unwrap();
    // The last one has all that left, and goes on until every line is in a window that left.
    let last = scene.start(&["run", "job.toml", "--out", "last.jsonl"]);
    let end = format!("\"start\":\"{}\"", moment(now() / SECOND * SECOND + SECOND));
    until("the last windows leave", || scene.read("last.jsonl").contains(&end));
    last.signal(Signal::TERM);
    assert_eq!(last.end().code, Some(0));
    scene.verify("job.ledger");

    // A new file has the lines of the releases that the job has now.
    let mut all = released(&scene.read("last.jsonl"));
    for output in 0..3 {
        for (window, cells) in released(&scene.read(&format!("releases-{output}.jsonl"))) {
            let known = all.entry(window.clone()).or_insert_with(|| cells.clone());
            assert_eq!(*known, cells, "{style:?} {number}: two values of {window:?}");
        }
    }
    let mut skipped = 0;
    for ((release, start), cells) in &all {
        skipped += usize::from(cells.is_empty());
        for (page, value) in cells {
            let came = written.get(&(start.clone(), page.clone())).copied().unwrap_or_default();
            let is_right = *value == came || *value < came && unsure.contains(start);
            assert!(
                is_right,
                "{style:?} {number}: {release} {start} {page}: {value}, and {came} came; see {}",
                scene.at("").display()
            );
        }
    }
    let of_first: Vec<&String> =
        all.keys().filter(|(name, _)| name == "visits_by_page").map(|(_, start)| start).collect();
    for (at, start) in of_first.iter().enumerate() {
        assert_eq!(**start, moment(from + at as i64 * SECOND), "{style:?} {number}: a window is missing");
    }
    // Several rotations may pass unseen within a second, or before the first look.
    let may_skip = stalls || matches!(style, Style::Mixed | Style::Copied);
    assert!(may_skip || skipped == 0, "{style:?} {number}: {skipped} windows were skipped");
    (all.len(), skipped)
}

const STYLES: [Style; 4] = [Style::Numbered, Style::Dated, Style::Mixed, Style::Copied];

// Refutes a window that is lost, has two values, or is released without some of its lines, whatever an operator does
// to the log, the job, the output and the process.
#[test]
fn no_operator_makes_a_window_wrong() {
    operate_all(size(4, 24), false);
}

// Refutes the same where the machine stands still: within a look at the files, the log is rotated between any two calls.
#[test]
fn no_stall_makes_a_window_wrong() {
    let works =
        Command::new("strace").args(["-D", "-f", "--seccomp-bpf", "-o", "/dev/null", "true"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        println!("skipped: strace is not installed, or may not trace here, so no call can be delayed");
        return;
    }
    operate_all(size(2, 24), true);
}

fn operate_all(scenes: usize, stalls: bool) {
    // Few of them have the styles by turns.
    let style = |number: usize| STYLES[if scenes < 4 { number * 3 } else { number } % 4];
    let work = (0..scenes).map(|number| (number, style(number))).collect();
    let counts = in_parallel(work, |(number, style)| operate(number, style, stalls));
    println!("operator: windows and skipped ones of each scene: {counts:?}");
    assert!(counts.iter().any(|(windows, skipped)| skipped * 2 < *windows));
}
