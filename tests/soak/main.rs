//! A soak: a writer, rotations, kills, a full disk and an outage, and an oracle at the end.
//!
//! ```sh
//! cargo test --test soak -- --nocapture                                # three minutes
//! DISCREET_SOAK=3600 cargo test --test soak -- --nocapture             # so many seconds
//! DISCREET_SOAK_ROTATION=copytruncate cargo test --test soak -- --nocapture
//! DISCREET_COMMAND=target/release/discreet cargo test --test soak -- --nocapture
//! DISCREET_SOAK_RATE=5000 cargo test --test soak -- --nocapture        # lines a second
//! DISCREET_SOAK_FAULTS=none cargo test --test soak -- --nocapture      # rotations alone
//! ```
//!
//! A log gets 20,000 lines a second ([`writer`]) while a job with four statistics follows it, and is started
//! again whenever it ends. [`judge`] reads what was released: each window is right, skipped as an input gap,
//! or refused; none is missing, twice or wrong. [`measure`] prints `figure soak.NAME VALUE UNIT` lines.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod judge;
#[path = "../kit/mod.rs"]
mod kit;
mod measure;
mod writer;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use judge::judged;
use kit::Directory;
use measure::Measures;
use writer::{Rotation, Writer};

pub(crate) const SECOND: i64 = 1_000_000;

/// Lateness and slack of the job.
pub(crate) const LATE: i64 = 500_000;

/// The settings of a soak.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Its length, in seconds: the number of windows.
    pub(crate) seconds: i64,
    /// Lines a second.
    pub(crate) rate: i64,
    pub(crate) people: i64,
    pub(crate) rotation: Rotation,
    /// Seconds between two rotations, kills, full disks and outages.
    pub(crate) rotate: i64,
    kill: i64,
    full: i64,
    outage: i64,
    clock: i64,
    /// The command that runs the job.
    command: PathBuf,
}

impl Settings {
    fn read() -> Settings {
        let number = |name: &str, default: i64| {
            std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
        };
        let (seconds, rate) = (number("DISCREET_SOAK", 180).max(60), number("DISCREET_SOAK_RATE", 20_000));
        let rotation = match std::env::var("DISCREET_SOAK_ROTATION").as_deref() {
            Ok("copytruncate") => Rotation::CopyAndCut,
            Ok("rename") | Err(_) => Rotation::Rename,
            Ok(other) => panic!("DISCREET_SOAK_ROTATION: found {other}; give rename or copytruncate"),
        };
        Settings {
            seconds,
            rate,
            // Nobody comes to the bound of the running count: twice as often as on average.
            people: (seconds * rate / 1_000).max(50_000),
            rotation,
            rotate: (seconds / 9).clamp(5, 60),
            kill: (seconds / 4).clamp(15, 300),
            full: (seconds / 2).clamp(25, 900),
            outage: (seconds / 3).clamp(20, 700),
            clock: (2 * seconds / 3).clamp(30, 1_200),
            command: kit::command(env!("CARGO_BIN_EXE_discreet")),
        }
    }

    /// The faults, each at its second.
    fn faults(&self, has_disk: bool, has_clock: bool) -> Vec<(i64, Fault)> {
        let every = |step: i64, offset: i64| {
            (1..).map(move |time| time * step + offset).take_while(|second| *second < self.seconds - 12)
        };
        let mut faults: Vec<(i64, Fault)> = every(self.kill, 0).map(|second| (second, Fault::Kill)).collect();
        if has_disk {
            faults.extend(every(self.full, 9).map(|second| (second, Fault::FullDisk)));
        }
        faults.extend(every(self.outage, 5).map(|second| (second, Fault::Outage)));
        if has_clock {
            faults.extend(every(self.clock, 2).map(|second| (second, Fault::ClockJump)));
        }
        faults.sort_by_key(|fault| fault.0);
        if std::env::var("DISCREET_SOAK_FAULTS").is_ok_and(|faults| faults == "none") {
            Vec::new()
        } else {
            faults
        }
    }

    fn job(&self, from: i64, has_clock: bool) -> String {
        let moment = |second| jiff::Timestamp::from_second(second).unwrap();
        let release = |name: &str, fields: &str| {
            format!("[[release]]\nname = \"{name}\"\nevery = \"1s\"\nnoise = \"gaussian\"\n{fields}\n")
        };
        // Of a budget of 500, the running count has 100, and each window of the others an equal part.
        let each = 380.0 / (3 * self.seconds) as f64;
        format!(
            "[job]\nname = \"soak\"\nversion = 1\nfrom = \"{}\"\nuntil = \"{}\"\nslack = \"100ms\"\n{}\n\
             [source]\ntype = \"jsonl\"\npath = \"log/visits.log*\"\ntime = {{ field = \"at\", format = \"unix-ms\" }}\n\
             late = \"500ms\"\nfields = [\"who\", \"at\", \"page\", \"cents\"]\n\n\
             [privacy]\nperson = {{ field = \"who\", missing = \"drop\" }}\npromise = \"lifetime\"\nbudget = {{ rho = 500 }}\n\
             ledger = \"state/job.ledger\"\naccount = \"visits\"\n\n{}{}{}{}",
            moment(from),
            moment(from + self.seconds),
            // Longer than the clock is ahead: it is back before the job would go by it.
            if has_clock { "clock_hold = \"8s\"\n" } else { "" },
            release(
                "pages",
                &format!(
                    "count = {{ by = \"page\", keys = [\"a\", \"b\", \"c\", \"d\"] }}\nbound = {{ keys = 1, per_key = 2 }}\n\
                     cost = {{ rho = {each:.6} }}"
                )
            ),
            release("people", &format!("people = {{}}\ncost = {{ rho = {each:.6} }}")),
            release(
                "cents",
                &format!("sum = {{ of = \"cents\", range = [0, 10] }}\ncost = {{ rho = {each:.6} }}")
            ),
            release("so_far", "count = {}\nrunning = true\nbound = { per_key = 2000 }\ncost = { rho = 100 }"),
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The job is killed, and started again at once.
    Kill,
    /// The disk of the ledger and of the output has no room for three seconds.
    FullDisk,
    /// No file of the source has its name for three seconds; they are written all the same.
    Outage,
    /// The job is started again under a clock that steps ahead, and back some seconds later.
    ClockJump,
}

/// The library by which a process gets another clock.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// Returns true if the clock of a job may step here: the job has a rule for that, and faketime is installed.
fn has_clock(command: &Path) -> bool {
    let fields = Command::new(command).args(["fields", "--json"]).output().unwrap().stdout;
    if !String::from_utf8_lossy(&fields).contains("\"job.clock_hold\"") {
        println!("skipped: a step of the clock: this command has no rule for it");
    } else if !Path::new(FAKETIME).exists() {
        println!("skipped: a step of the clock: no faketime here (apt-get install faketime)");
    } else {
        return true;
    }
    false
}

/// Steps a clock ahead, and back.
fn step(clock: &Path) {
    for (seconds, offset) in [(4, "+8s"), (4, "+0s")] {
        thread::sleep(Duration::from_secs(seconds));
        set(clock, offset);
    }
}

/// Sets a clock at once: a file that is being written reads as no offset.
fn set(clock: &Path, offset: &str) {
    let new = clock.with_extension("new");
    fs::write(&new, offset).unwrap();
    fs::rename(&new, clock).unwrap();
}

/// The present, in microseconds since 1970.
pub(crate) fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros()).unwrap()
}

/// A small disk in memory, unmounted when it is dropped.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: PathBuf, megabytes: i64) -> Option<Disk> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "none"])
            .arg(&at)
            .output();
        if mounted.is_ok_and(|mounted| mounted.status.success()) {
            return Some(Disk(at));
        }
        println!("skipped: the full disk: no mounts here");
        None
    }

    fn fill(&self) {
        let mut filler = File::create(self.0.join("filler")).unwrap();
        let block = vec![0; 1 << 16];
        while std::io::Write::write_all(&mut filler, &block).is_ok() {}
        let _ = std::io::Write::write(&mut filler, &[0; 4_096]);
    }

    fn clear(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The job, which is started again whenever it ends before its last window.
struct Supervisor<'s> {
    settings: &'s Settings,
    directory: &'s Path,
    child: Option<Child>,
    started: Instant,
    lives: usize,
    /// The file that has the offset of the clock of the next life, if it has another.
    clock: Option<PathBuf>,
    /// The exit codes of lives that ended by themselves before their time, each with the second.
    codes: Vec<(i64, Option<i32>)>,
    done: bool,
}

impl Supervisor<'_> {
    fn start(&mut self) {
        let errors = File::create(self.directory.join(format!("errors-{}", self.lives))).unwrap();
        let mut command = Command::new(&self.settings.command);
        if let Some(clock) = self.clock.take() {
            command.env("LD_PRELOAD", FAKETIME).env("FAKETIME_TIMESTAMP_FILE", clock);
            command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
            command.env("NO_FAKE_STAT", "1");
        }
        let child = command
            .args(["run", "job.toml", "--out", "state/releases.jsonl", "-w", "1"])
            .current_dir(self.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()
            .unwrap();
        (self.child, self.started) = (Some(child), Instant::now());
        self.lives += 1;
    }

    /// Starts the job if it has ended; returns its process and age.
    fn look(&mut self, second: i64) -> Option<(u32, Duration)> {
        if self.done {
            return None;
        }
        if let Some(child) = &mut self.child
            && let Some(status) = child.try_wait().unwrap()
        {
            self.child = None;
            if status.success() {
                self.done = true;
                return None;
            }
            self.codes.push((second, status.code()));
            thread::sleep(Duration::from_millis(200));
        }
        if self.child.is_none() {
            self.start();
        }
        self.child.as_ref().map(|child| (child.id(), self.started.elapsed()))
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn errors(&self, life: usize) -> String {
        fs::read_to_string(self.directory.join(format!("errors-{life}"))).unwrap_or_default()
    }
}

impl Drop for Supervisor<'_> {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The end of what is under way: a full disk, or an outage.
type Ending<'s> = Box<dyn FnOnce() + 's>;

// Refutes a window that is lost, released twice or wrong, whatever happens to the log, the disk or the process;
// and memory that grows.
#[test]
fn every_window_is_right_skipped_or_refused() {
    let settings = Settings::read();
    let directory = Directory::new("soak");
    ["log", "state", "away"].iter().for_each(|name| fs::create_dir(directory.join(name)).unwrap());
    let disk = Disk::mount(directory.join("state"), 64 + settings.seconds / 40);
    let from = now() / SECOND + 4;
    let has_clock = has_clock(&settings.command);
    directory.write("job.toml", settings.job(from, has_clock));
    let made = Command::new(&settings.command)
        .args(["ledger", "init", "state/job.ledger", "--config", "job.toml"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut faults = settings.faults(disk.is_some(), has_clock);
    println!("soak: {settings:?}, {} faults: {faults:?}", faults.len());
    faults.reverse();

    let writer = Writer::start(&settings, directory.join("log"), from);
    let mut supervisor = Supervisor {
        settings: &settings,
        directory: directory.path(),
        child: None,
        started: Instant::now(),
        lives: 0,
        clock: None,
        codes: Vec::new(),
        done: false,
    };
    let mut measures = Measures::new(directory.join("state/releases.jsonl"));
    let mut under_way: Option<(i64, Ending<'_>)> = None;
    let patience = from + settings.seconds + 120;
    while !supervisor.done {
        let second = now() / SECOND - from;
        assert!(second + from < patience, "no end: {}", supervisor.errors(supervisor.lives - 1));
        if under_way.as_ref().is_some_and(|(until, _)| second >= *until) {
            under_way.take().into_iter().for_each(|(_, end)| end());
        }
        if under_way.is_none() && faults.last().is_some_and(|(at, _)| *at <= second) {
            let (_, fault) = faults.pop().unwrap();
            measures.fault(now());
            match fault {
                Fault::Kill => supervisor.kill(),
                Fault::FullDisk => {
                    let disk = disk.as_ref().unwrap();
                    disk.fill();
                    under_way = Some((second + 3, Box::new(move || disk.clear())));
                }
                Fault::ClockJump => {
                    let clock = directory.join("clock");
                    set(&clock, "+0s");
                    supervisor.kill();
                    supervisor.clock = Some(clock.clone());
                    let steps = thread::spawn(move || step(&clock));
                    under_way = Some((second + 12, Box::new(move || steps.join().unwrap())));
                }
                Fault::Outage => {
                    let back = writer.take_away(directory.join("away"));
                    under_way = Some((second + 3, Box::new(back)));
                }
            }
        }
        let life = supervisor.look(second);
        measures.look(life);
        thread::sleep(Duration::from_millis(5));
    }
    measures.look(None);
    let truth = writer.end();
    let text = fs::read_to_string(directory.join("state/releases.jsonl")).unwrap();
    if let Some(copy) = std::env::var_os("DISCREET_SOAK_KEEP") {
        let _ = fs::copy(directory.join("state/releases.jsonl"), Path::new(&copy).join("releases.jsonl"));
    }
    let verified = Command::new(&settings.command)
        .args(["ledger", "verify", "state/job.ledger"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));

    let verdict = judged(&text, &truth, from);
    let growth = measures.print(&verdict, supervisor.lives);
    println!("soak: {} lives, codes {:?}", supervisor.lives, supervisor.codes);
    measures.changed(&text);
    // A full disk is 74, and a source that is gone 69; a ledger that was killed may be busy for a moment.
    for (second, code) in &supervisor.codes {
        assert!(matches!(code, Some(69 | 74)), "second {second}: it ended by itself with {code:?}");
    }
    assert!(verdict.wrong.is_empty(), "{} windows:\n{}", verdict.wrong.len(), verdict.wrong.join("\n"));
    assert!(
        verdict.right as i64 * 10 > 9 * 4 * settings.seconds,
        "too few windows were released: {verdict:?}"
    );
    // Lives of a short soak are too young: its growth is printed alone. A life with an outage holds what it has read at
    // once, so the median life counts.
    let is_flat = settings.seconds < 1_800 || growth.is_none_or(|growth| growth < 5.0);
    assert!(is_flat, "memory grew by {growth:?} percent");
}
