//! Figures: memory, latency from the end of a window to its line, and bytes written.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::judge::Verdict;
use crate::{SECOND, now};

/// The age of a life from which on its memory is that of a job under way: buffers of each person's place have been as
/// large as they get.
const WARM: Duration = Duration::from_secs(60);

/// The least number of samples of a life, five a second, from which its growth is read.
const SAMPLES: usize = 300;

/// The number of samples of a life after which the newest 500 windows of each release are all there: its growth is read
/// from then on, if it is longer than three times that.
const FULL: usize = 10 * 60 * 5;

/// The latency below which a job has caught up after a fault, in microseconds.
const CAUGHT_UP: i64 = 2 * SECOND;

#[derive(Default)]
pub(crate) struct Measures {
    out: PathBuf,
    read: u64,
    rest: String,
    /// All whole lines that were seen in the output.
    seen: HashSet<String>,
    /// The end of each window and its latency, in microseconds, and true where no fault was near.
    latencies: Vec<(i64, i64, bool)>,
    /// The begin of the fault that the job has not caught up with.
    fault: Option<i64>,
    /// Resident bytes of the present life, once it is warm.
    memory: Vec<u64>,
    /// Of each long life, the median of its last third, and how far it is above that of its first, in percent.
    growths: Vec<(f64, f64)>,
    most_memory: u64,
    sampled: Option<Instant>,
    /// Bytes that the present life wrote, in system calls and to disks; and those of all lives before.
    life: (u32, [u64; 2]),
    written: [u64; 2],
    began: Option<Instant>,
}

impl Measures {
    pub(crate) fn new(out: PathBuf) -> Measures {
        Measures { out, began: Some(Instant::now()), ..Measures::default() }
    }

    /// Notes the begin of a fault.
    pub(crate) fn fault(&mut self, time: i64) {
        self.fault.get_or_insert(time);
    }

    /// Reads the new lines of the output, and the vitals of the process.
    pub(crate) fn look(&mut self, life: Option<(u32, Duration)>) {
        self.follow();
        if self.sampled.is_some_and(|sampled| sampled.elapsed() < Duration::from_millis(200)) {
            return;
        }
        self.sampled = Some(Instant::now());
        let Some((process, age)) = life else { return };
        if let Some(bytes) = field(&format!("/proc/{process}/status"), "VmRSS:") {
            self.most_memory = self.most_memory.max(bytes * 1_024);
            if self.life.0 == process && age > WARM {
                self.memory.push(bytes * 1_024);
            }
        }
        let io = format!("/proc/{process}/io");
        if let (Some(calls), Some(disks)) = (field(&io, "wchar:"), field(&io, "write_bytes:")) {
            if self.life.0 != process {
                self.end_life();
            }
            self.life = (process, [calls, disks]);
        }
    }

    fn end_life(&mut self) {
        let mut memory = std::mem::take(&mut self.memory);
        if memory.len() > 3 * FULL {
            memory.drain(..FULL);
        }
        if memory.len() >= SAMPLES {
            let third = memory.len() / 3;
            let (early, late) = (median(&memory[..third]), median(&memory[2 * third..]));
            self.growths.push((late, (late / early - 1.0) * 100.0));
        }
        for (all, life) in self.written.iter_mut().zip(std::mem::take(&mut self.life.1)) {
            *all += life;
        }
    }

    fn follow(&mut self) {
        let Ok(mut file) = File::open(&self.out) else { return };
        let length = file.metadata().map_or(0, |file| file.len());
        if length < self.read {
            // A torn line was taken back.
            (self.read, self.rest) = (0, String::new());
        }
        let mut bytes = Vec::new();
        if length == self.read
            || file.seek(SeekFrom::Start(self.read)).is_err()
            || file.read_to_end(&mut bytes).is_err()
        {
            return;
        }
        self.read += bytes.len() as u64;
        self.rest += &String::from_utf8_lossy(&bytes);
        let time = now();
        while let Some((line, rest)) =
            self.rest.split_once('\n').map(|(line, rest)| (line.to_owned(), rest.to_owned()))
        {
            self.rest = rest;
            if self.seen.insert(line.clone()) {
                self.line(&line, time);
            }
        }
    }

    fn line(&mut self, line: &str, time: i64) {
        let Ok(line) = serde_json::from_str::<Value>(line) else { return };
        if line["closed"] != true {
            return;
        }
        let end = line["window"]["end"].as_str().and_then(|end| end.parse::<jiff::Timestamp>().ok());
        let Some(end) = end.map(|end| end.as_microsecond()) else { return };
        let latency = time - end;
        // A window is near a fault if its line was to leave after the fault began.
        let is_near = self.fault.is_some_and(|fault| time > fault);
        self.latencies.push((end, latency, !is_near));
        if latency < CAUGHT_UP && self.fault.is_some_and(|fault| end > fault) {
            self.fault = None;
        }
    }

    /// Prints the figures; returns the median growth of memory within a life, in percent, if one was long enough.
    pub(crate) fn print(&mut self, verdict: &Verdict, lives: usize) -> Option<f64> {
        self.end_life();
        let figure = |name: &str, value: f64, unit: &str| println!("figure soak.{name} {value} {unit}");
        figure("lives", lives as f64, "");
        figure("windows_right", verdict.right as f64, "windows");
        figure("windows_unsure", verdict.unsure as f64, "windows");
        figure("windows_skipped", verdict.skipped as f64, "windows");
        figure("windows_refused", verdict.refused as f64, "windows");
        figure("windows_wrong", verdict.wrong.len() as f64, "windows");
        for (name, clean) in [("calm", Some(true)), ("faults", Some(false)), ("all", None)] {
            let mut latencies: Vec<i64> = (self.latencies.iter())
                .filter(|(_, _, is_calm)| clean.is_none_or(|clean| clean == *is_calm))
                .map(|(_, latency, _)| *latency)
                .collect();
            latencies.sort_unstable();
            let at = |part: f64| {
                let place = (latencies.len() as f64 * part) as usize;
                latencies
                    .get(place.min(latencies.len().saturating_sub(1)))
                    .map(|latency| *latency as f64 / 1e6)
            };
            for (part, word) in [(0.5, "median"), (0.99, "p99")] {
                at(part).into_iter().for_each(|value| figure(&format!("latency_{name}_{word}"), value, "s"));
            }
        }
        let passed = self.began.map_or(1.0, |began| began.elapsed().as_secs_f64());
        for (name, bytes) in ["written_by_calls", "written_to_disks"].iter().zip(self.written) {
            figure(&format!("{name}_a_day"), (bytes as f64 / passed * 86_400.0 / 1e6).round(), "MB");
        }
        figure("memory_most", (self.most_memory as f64 / 1e6).round(), "MB");
        if self.growths.is_empty() {
            println!("soak: no life was long enough for the growth of memory");
            return None;
        }
        self.growths.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        let (memory, growth) = self.growths[self.growths.len() / 2];
        figure("memory", (memory / 1e6).round(), "MB");
        figure("memory_growth", (growth * 10.0).round() / 10.0, "%");
        let (_, most) = self.growths[self.growths.len() - 1];
        figure("memory_growth_most", (most * 10.0).round() / 10.0, "%");
        Some(growth)
    }

    /// Fails if a line that was seen is not in the output any more.
    pub(crate) fn changed(&self, text: &str) {
        let printed: HashSet<&str> = text.lines().collect();
        for line in &self.seen {
            // A line that was torn by a kill was taken back, and never whole.
            if serde_json::from_str::<Value>(line).is_ok() {
                assert!(printed.contains(line.as_str()), "it has left, and is not there any more: {line}");
            }
        }
    }
}

fn median(samples: &[u64]) -> f64 {
    let mut samples = samples.to_vec();
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied().unwrap_or(0) as f64
}

/// The number behind a word in a file of `/proc`.
fn field(path: &str, word: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(word))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
