//! A point of an axis: its data, its job file, and what a process that runs it takes.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::str::FromStr;
use std::time::Instant;

use discreet::job::{Job, Replay};
use discreet::ledger::{Ledger, LedgerKey};
use rustix::time::{ClockId, clock_gettime};

use super::floor;

/// The length of a window's step, in seconds.
pub(super) const WINDOW: u64 = 60;

/// A job and its data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) rows: u64,
    pub(super) people: u64,
    pub(super) keys: u64,
    pub(super) is_listed: bool,
    pub(super) windows: u64,
    /// The number of windows that overlap at a time.
    pub(super) overlap: u64,
    pub(super) statistics: u64,
    /// True if each second statistic is by another key.
    pub(super) has_other_key: bool,
    pub(super) workers: u64,
}

/// CPU seconds, seconds, bytes of memory and of the ledger.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) cpu: f64,
    pub(super) wall: f64,
    pub(super) memory: f64,
    pub(super) ledger: f64,
}

impl Point {
    pub(super) const BASE: Point = Point {
        rows: 3_000_000,
        people: 1_000_000,
        keys: 1_000,
        is_listed: false,
        windows: 1,
        overlap: 1,
        statistics: 1,
        has_other_key: false,
        workers: 2,
    };

    /// Writes its events, in order of time.
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(directory.join("events.csv"))?);
        writeln!(file, "time,user,key,other,value")?;
        // Mixes as SplitMix64 does.
        let mixed = |number: u64| {
            let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            number ^ (number >> 31)
        };
        for row in 0..self.rows {
            let random = mixed(row.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let time = row * self.windows / self.rows * WINDOW;
            let (person, key) = (random % self.people, (random >> 20) % self.keys);
            writeln!(file, "{time},{person},{key},{},{}", (random >> 40) % self.keys, (random >> 50) % 21)?;
        }
        if self.is_listed {
            let listed: Vec<String> = (0..self.keys).map(|key| format!("{key}\n")).collect();
            fs::write(directory.join("keys.txt"), listed.concat())?;
        }
        file.flush()
    }

    fn job(&self) -> String {
        let until = self.windows * WINDOW;
        let mut text = format!(
            r#"
[job]
name = "growth"
version = 1
from = "1970-01-01T00:00:00Z"
until = "{}"
[source]
type = "csv"
path = "events.csv"
time = {{ field = "time", format = "unix" }}
[privacy]
person = {{ field = "user", missing = "drop" }}
promise = "lifetime"
budget = {{ epsilon = 8.0, delta = 1e-6 }}
ledger = "growth.ledger"
account = "growth"
"#,
            jiff::Timestamp::from_second(until as i64).unwrap_or_default()
        );
        let over = if self.overlap > 1 { format!("over = \"{}m\"\n", self.overlap) } else { String::new() };
        let keys = if self.is_listed { "{ file = \"keys.txt\" }" } else { "\"discover\"" };
        for index in 0..self.statistics {
            let key = if self.has_other_key && index % 2 == 1 { "other" } else { "key" };
            let by = match self.keys {
                1 => String::new(),
                _ => format!("by = \"{key}\", keys = {keys}"),
            };
            let of = "of = \"value\", range = [0, 20]";
            let separator = if by.is_empty() { "" } else { ", " };
            // Counts and means by turns, of one bound: releases that share a table, where their keys agree too.
            let statistic = match index / (1 + u64::from(self.has_other_key)) % 2 {
                0 => format!("count = {{ {by} }}"),
                _ => format!("mean = {{ {of}{separator}{by} }}"),
            };
            let bound = if self.keys == 1 { "{ per_key = 10 }" } else { "{ keys = 5, per_key = 10 }" };
            text += &format!(
                "[[release]]\nname = \"s{index}\"\nevery = \"1m\"\n{over}{statistic}\nbound = {bound}\nnoise = \"gaussian\"\nshare = {}\n",
                1.0 / self.statistics as f64
            );
        }
        text
    }

    fn replay(&self, directory: &Path) -> Result<(), Box<dyn Error>> {
        let job = Job::parse(directory.join("growth.toml"), &self.job())?;
        let ledger = directory.join("growth.ledger");
        LedgerKey::create(LedgerKey::beside(&ledger))?;
        Ledger::create_alone(&ledger)?.register(job.account())?;
        let mut replay = Replay::default();
        replay.workers = self.workers as usize;
        replay.out = Some(directory.join("growth.jsonl"));
        let finished = job.replay(replay)?;
        // The first window that begins and the last one that ends within the time of the data.
        let windows = self.windows + 1 - self.overlap.min(self.windows);
        assert!(finished.released() >= windows * self.statistics, "every window leaves");
        Ok(())
    }
}

/// Runs a point in this process, and prints what it took.
pub(super) fn measure_here(kind: &str, directory: &Path, point: Point) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    match kind {
        "floor" => {
            let counted = floor::counted(&directory.join("events.csv"), &point)?;
            assert_eq!(counted, point.rows * point.statistics);
        }
        _ => point.replay(directory)?,
    }
    let (wall, spent) = (began.elapsed().as_secs_f64(), clock_gettime(ClockId::ProcessCPUTime));
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let kilobytes: f64 = peak.trim().trim_end_matches(" kB").parse()?;
    let mut ledger = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("growth.") {
            ledger += if entry.file_name().to_string_lossy().starts_with("growth.ledger") {
                entry.metadata()?.len()
            } else {
                0
            };
            fs::remove_file(entry.path())?;
        }
    }
    println!("{} {wall} {} {ledger}", spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9, kilobytes * 1024.0);
    Ok(())
}

impl Display for Point {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Point { rows, people, keys, is_listed, windows, overlap, statistics, has_other_key, workers } =
            self;
        let (listed, other) = (u8::from(*is_listed), u8::from(*has_other_key));
        write!(f, "{rows} {people} {keys} {listed} {windows} {overlap} {statistics} {other} {workers}")
    }
}

impl FromStr for Point {
    type Err = Box<dyn Error>;

    fn from_str(text: &str) -> Result<Point, Self::Err> {
        let numbers: Vec<u64> = text.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let [rows, people, keys, listed, windows, overlap, statistics, other, workers] = numbers[..] else {
            return Err("a point has nine numbers".into());
        };
        let (is_listed, has_other_key) = (listed == 1, other == 1);
        Ok(Point { rows, people, keys, is_listed, windows, overlap, statistics, has_other_key, workers })
    }
}

impl FromStr for Measured {
    type Err = Box<dyn Error>;

    fn from_str(text: &str) -> Result<Measured, Self::Err> {
        let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [cpu, wall, memory, ledger] = numbers[..] else { return Err("four numbers are printed".into()) };
        Ok(Measured { cpu, wall, memory, ledger })
    }
}
