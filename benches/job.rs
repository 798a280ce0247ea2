//! A job file, from a CSV on the disk to released lines: the job on which the batch libraries of this field
//! were timed.
//!
//! Ten million lines `user,key,value`: 500,000 people with 20 lines each, 1,000 keys by Zipf 1.3, values from
//! 0 to 20. It releases a count and a mean by key, of at most 5 keys a person and 10 lines a key, in one
//! window over everything. The time is that of `discreet replay` in this process, on two workers: reading,
//! bounding, noise, the durable seal and the lines in a file.
//!
//! The floor reads and parses the same file on two threads, and counts and adds up in hash maps without
//! protection.
//!
//! Memory limits it: a record of 72 bytes is written, moved between cores, and read by the one table of people
//! that the count and the mean share.
//!
//! Where `DISCREET_PYTHON` names an interpreter that has DuckDB, Polars or both, each computes the same two statistics of
//! the same file without protection, in the same run, on as many threads: `python3 -m venv V && V/bin/pip install duckdb
//! polars`, and `DISCREET_PYTHON=V/bin/python cargo bench --bench job`. Its CPU time, from the start of the query, is that of
//! all threads.
//!
//! Peers on the same job, on a 2-core machine, in millions of lines a second: OpenDP on Polars 0.67,
//! diffprivlib with bounding by hand 0.40, python-dp 0.26, PipelineDP 0.05, Tumult on Spark 0.04; a Polars
//! query without protection 0.9.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use discreet::job::{Job, Replay};
use discreet::ledger::{Ledger, LedgerKey};
use rustix::time::{ClockId, clock_gettime};

const PEOPLE: u64 = 500_000;
const EACH: u64 = 20;
const KEYS: usize = 1_000;
const WORKERS: usize = 2;
const RUNS: usize = 3;
/// The fastest of the peers, in lines a second.
const PEER: f64 = 670_000.0;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-bench-job-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let outcome = measure(&directory);
    fs::remove_dir_all(&directory)?;
    outcome
}

fn measure(directory: &Path) -> Result<(), Box<dyn Error>> {
    let rows = PEOPLE * EACH;
    let data = directory.join("visits.csv");
    write(&data)?;
    println!("{rows} lines, {:.0} MB", fs::metadata(&data)?.len() as f64 / 1e6);

    let (mut fastest, mut least) = (f64::INFINITY, f64::INFINITY);
    for run in 0..RUNS {
        let before = spent();
        let seconds = replay(directory, run)?;
        let cpu = spent() - before;
        println!(
            "replay on {WORKERS} workers: {seconds:.2} s, {cpu:.2} s CPU, {:.2} million lines a second",
            rows as f64 / seconds / 1e6
        );
        (fastest, least) = (fastest.min(seconds), least.min(cpu));
    }
    let memory = peak()?;
    let mut floor = f64::INFINITY;
    for _ in 0..RUNS {
        floor = floor.min(undefended(&data)?);
    }
    println!("floor on {WORKERS} threads: {floor:.2} s");

    println!("figure job.cpu {least:.2} s");
    for name in ["duckdb", "polars"] {
        let Some((cpu, seconds)) = unprotected(name, &data)? else { continue };
        println!("{name} without protection: {seconds:.2} s, {cpu:.2} s CPU");
        println!("ratio job.cpu_over_{name} {:.2}", least / cpu);
    }
    println!("figure job.rows_per_second {:.0} 1/s", rows as f64 / fastest);
    println!("figure job.memory {:.0} MB", memory as f64 / 1e6);
    println!("ratio job.replay_over_floor {:.2}", fastest / floor);
    println!("ratio job.replay_over_fastest_peer {:.1}", rows as f64 / fastest / PEER);
    Ok(())
}

/// Writes the file: every person comes twenty times, in an irregular order.
fn write(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    // Keys by Zipf's law: the first one whose cumulative share reaches a uniform number.
    let weights: Vec<f64> = (1..=KEYS).map(|key| (key as f64).powf(-1.3)).collect();
    let whole: f64 = weights.iter().sum();
    let mut reached = 0.0;
    let parts: Vec<f64> = weights
        .iter()
        .map(|weight| {
            reached += weight / whole;
            reached
        })
        .collect();
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    writeln!(file, "user,key,value")?;
    for row in 0..PEOPLE * EACH {
        // Odd, and no multiple of five: every person comes once before any comes again.
        let person = row.wrapping_mul(387_420_489) % PEOPLE;
        let uniform = (next() >> 11) as f64 / (1u64 << 53) as f64;
        let key = parts.partition_point(|part| *part < uniform).min(KEYS - 1);
        writeln!(file, "{person},{key},{}", next() % 21)?;
    }
    file.flush()?;
    Ok(())
}

/// The seconds of one replay into a new ledger and a new file.
fn replay(directory: &Path, run: usize) -> Result<f64, Box<dyn Error>> {
    let text = format!(
        r#"
        [job]
        name = "bench"
        version = 1
        [source]
        type = "csv"
        path = "visits.csv"
        [privacy]
        person = {{ field = "user", missing = "drop" }}
        promise = "lifetime"
        budget = {{ epsilon = 1.0, delta = 1e-6 }}
        ledger = "{run}.ledger"
        account = "bench"
        [limits]
        memory = "1 GB"
        [[release]]
        name = "count_by_key"
        every = "all"
        count = {{ by = "key", keys = "discover" }}
        bound = {{ keys = 5, per_key = 10 }}
        noise = "gaussian"
        share = 0.5
        [[release]]
        name = "mean_by_key"
        every = "all"
        mean = {{ of = "value", range = [0, 20], by = "key", keys = "discover" }}
        bound = {{ keys = 5, per_key = 10 }}
        noise = "gaussian"
        share = 0.5
        "#
    );
    let job = Job::parse(directory.join("bench.toml"), &text)?;
    let ledger = directory.join(format!("{run}.ledger"));
    LedgerKey::create(LedgerKey::beside(&ledger))?;
    Ledger::create_alone(&ledger)?.register(job.account())?;
    let mut replay = Replay::default();
    replay.workers = WORKERS;
    replay.out = Some(directory.join(format!("{run}.jsonl")));
    let start = Instant::now();
    let finished = job.replay(replay)?;
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(finished.released(), 2, "both windows are released");
    Ok(seconds)
}

/// The CPU time of all threads of this process, in seconds.
fn spent() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The least CPU time and time of a library of Python for both statistics; `None` where it is not there.
fn unprotected(name: &str, data: &Path) -> Result<Option<(f64, f64)>, Box<dyn Error>> {
    let Some(python) = std::env::var_os("DISCREET_PYTHON") else {
        println!("skipped: {name}: DISCREET_PYTHON names no interpreter");
        return Ok(None);
    };
    let query = match name {
        "duckdb" => {
            "import duckdb\nduckdb.sql(f'SET threads = {threads}')\nquery = lambda: duckdb.sql(f\"SELECT key, count(*), \
             avg(value) FROM read_csv('{path}') GROUP BY key\").fetchall()"
        }
        _ => {
            "import polars as pl\nquery = lambda: pl.scan_csv(path).group_by('key').agg(pl.len(), \
             pl.col('value').mean()).collect()"
        }
    };
    let script = format!(
        "import os, resource, sys, time\npath, threads, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])\n\
         os.environ['POLARS_MAX_THREADS'] = threads\n{query}\nfor _ in range(runs):\n    before, began = \
         resource.getrusage(resource.RUSAGE_SELF), time.time()\n    rows = query()\n    after = \
         resource.getrusage(resource.RUSAGE_SELF)\n    assert len(rows) == {KEYS}, len(rows)\n    print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.time() - began)\n"
    );
    let output = Command::new(python)
        .args(["-c", &script])
        .arg(data)
        .args([WORKERS.to_string(), RUNS.to_string()])
        .output()?;
    if !output.status.success() {
        println!(
            "skipped: {name}: {}",
            String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default()
        );
        return Ok(None);
    }
    let mut least = (f64::INFINITY, f64::INFINITY);
    for line in String::from_utf8(output.stdout)?.lines() {
        let numbers: Vec<f64> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let [cpu, seconds] = numbers[..] else { return Err("two numbers are printed".into()) };
        least = (least.0.min(cpu), least.1.min(seconds));
    }
    Ok(Some(least))
}

/// The seconds of counting and adding up the same file by key without protection.
fn undefended(path: &Path) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let text = fs::read(path)?;
    let middle = text.len() / 2;
    let cut = middle + text[middle..].iter().position(|byte| *byte == b'\n').unwrap_or(0) + 1;
    let (one, other) = text.split_at(cut);
    let body = one.iter().position(|byte| *byte == b'\n').map_or(one, |end| &one[end + 1..]);
    let totals = std::thread::scope(|threads| {
        let halves = [body, other].map(|half| threads.spawn(move || tallied(half)));
        halves.map(|half| half.join().unwrap_or_default())
    });
    assert!(totals.iter().flat_map(HashMap::values).map(|(count, _)| count).sum::<u64>() == PEOPLE * EACH);
    Ok(start.elapsed().as_secs_f64())
}

fn tallied(lines: &[u8]) -> HashMap<&[u8], (u64, u64)> {
    let mut totals: HashMap<&[u8], (u64, u64)> = HashMap::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let mut cells = line.split(|byte| *byte == b',').skip(1);
        let (Some(key), Some(value)) = (cells.next(), cells.next()) else { continue };
        let value = value.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
        let total = totals.entry(key).or_default();
        total.0 += 1;
        total.1 += value;
    }
    totals
}

/// The most memory that this process has held, in bytes.
fn peak() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    let kilobytes: u64 = line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
    Ok(kilobytes * 1024)
}
