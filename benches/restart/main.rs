//! The time and the memory of a restart beside the number of rows in the ledger, and beside the size of the input.
//!
//! A ledger is laid down in large transactions through the library's own code, with the rows that a job would
//! have sealed and delivered: an account under `any 30` windows, four statistics. At each size a process of its own opens
//! the gate of its job, as a restart does, from the checkpoint that the last run left; its peak memory is what
//! the kernel reports. `DISCREET_RESTART_ROWS` gives the sizes, `1000,10000,100000` by default; `10000000` are
//! laid down in minutes. `DISCREET_RESTART_WHOLE=1` also times a verification from the first row, and
//! `DISCREET_RESTART_ARCHIVE=1` the archiving of the older half of a copy, and the verification of the archive.
//! `DISCREET_RESTART_MEGABYTES` gives the sizes of the log ([`input`]), `10,100` by default.
#![allow(clippy::print_stdout)]

mod input;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use discreet::accounting::{Adjacency, Interval, PrivacyCost, Promise, ReleaseCost};
use discreet::gate::Opening;
use discreet::ledger::{
    AccountSpec, Archive, ArchiveOrder, Claim, Digest, Ledger, LedgerKey, Name, ReleaseId,
};

/// The windows that are sealed in one transaction.
const GROUP: i64 = 12_500;
const STATISTICS: [&str; 4] = ["by_path", "by_client", "total", "latency"];
const JOB: &str = "web";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, ledger, ..] = &arguments[..]
        && word == "open"
    {
        return open(Path::new(ledger));
    }
    let sizes = |name: &str, default: &str| -> Result<Vec<u64>, Box<dyn Error>> {
        let sizes = std::env::var(name).unwrap_or_else(|_| default.to_owned());
        let mut sizes: Vec<u64> = sizes.split(',').map(str::parse).collect::<Result<_, _>>()?;
        sizes.sort_unstable();
        Ok(sizes)
    };
    let rows = sizes("DISCREET_RESTART_ROWS", "1000,10000,100000")?;
    let megabytes = sizes("DISCREET_RESTART_MEGABYTES", "10,100")?;
    let directory = std::env::temp_dir().join(format!("discreet-restart-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let outcome = measure(&directory, &rows).and_then(|()| input::measure(&directory, &megabytes));
    fs::remove_dir_all(&directory)?;
    outcome
}

fn measure(directory: &Path, sizes: &[u64]) -> Result<(), Box<dyn Error>> {
    let path = directory.join("visits.ledger");
    let mut ledger = Ledger::create(&path)?;
    let account = AccountSpec::new(
        Name::new("account", "visits")?,
        Adjacency::PERSON,
        Promise::Any(300),
        PrivacyCost::zcdp(500.0)?,
    )?;
    ledger.register(&account)?;
    drop(ledger);
    let mut laid = 0;
    for size in sizes {
        let start = Instant::now();
        let windows = (size / STATISTICS.len() as u64) as i64;
        let rows = lay_down(&path, laid, windows)?;
        let rate = rows as f64 / start.elapsed().as_secs_f64();
        println!("{size} rows: laid down, {rate:.0} a second; {} MB", fs::metadata(&path)?.len() >> 20);
        laid = windows;
        let opened = Command::new(std::env::current_exe()?).arg("open").arg(&path).output()?;
        let said = String::from_utf8(opened.stdout)?;
        let (ms, kilobytes) = said.trim().split_once(' ').ok_or("the child said nothing")?;
        println!("figure restart.open_{size} {ms} ms");
        println!("figure restart.memory_{size} {} MB", kilobytes.parse::<u64>()? / 1_024);
        if std::env::var_os("DISCREET_RESTART_WHOLE").is_some() {
            let start = Instant::now();
            drop(Ledger::open(&path)?);
            println!("figure restart.whole_{size} {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
        }
        if std::env::var_os("DISCREET_RESTART_ARCHIVE").is_some() {
            archive(directory, &path, *size, windows)?;
        }
    }
    Ok(())
}

/// Archives the older half of the windows of a copy, and verifies the archive by itself.
fn archive(directory: &Path, path: &Path, size: u64, windows: i64) -> Result<(), Box<dyn Error>> {
    let (copy, out) = (directory.join("copy.ledger"), directory.join("half.archive"));
    let key = LedgerKey::open(LedgerKey::beside(path))?;
    Ledger::open_with_key(path, &key)?.export(&copy)?;
    let before = 5 * windows;
    let order = ArchiveOrder { to: &out, before, now: 10 * windows, key: &key, retired: &[], shrinks: true };
    let start = Instant::now();
    let archived = Ledger::archive(&copy, &order)?;
    println!("figure restart.archive_{size} {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    println!("{} rows removed; {} MB remain", archived.removed, fs::metadata(&copy)?.len() >> 20);
    println!("figure restart.archived_{size} {} kB", fs::metadata(&out)?.len() >> 10);
    let start = Instant::now();
    let verified = Archive::verify(&out)?;
    assert_eq!(verified.until, archived.until);
    println!("figure restart.archive_verified_{size} {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    drop(Ledger::open(&copy)?);
    for path in [&copy, &out] {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// Opens the gate, as a restart does, and prints the milliseconds and the kilobytes that it took.
fn open(ledger: &Path) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let gate = Opening::new(ledger, JOB)?.open()?;
    let took = start.elapsed();
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    println!("{:.0} {}", took.as_secs_f64() * 1e3, peak.trim().trim_end_matches(" kB"));
    drop(gate);
    Ok(())
}

/// Seals and delivers the windows from one up to another, without the last, and leaves a checkpoint as a run
/// does at its end. Returns the number of rows.
fn lay_down(path: &Path, from: i64, until: i64) -> Result<usize, Box<dyn Error>> {
    let key = LedgerKey::open(LedgerKey::beside(path))?;
    let mut ledger = Ledger::open_with_key(path, &key)?;
    let claim = ledger.claim(&Name::new("job", JOB)?)?;
    let mut rows = 0;
    let mut start = from;
    while start < until {
        let end = (start + GROUP).min(until);
        rows += group(&mut ledger, &claim, start, end)?;
        start = end;
    }
    ledger.checkpoint()?;
    Ok(rows)
}

fn group(ledger: &mut Ledger, claim: &Claim, from: i64, until: i64) -> Result<usize, Box<dyn Error>> {
    let mut rows = Vec::new();
    for window in from..until {
        for statistic in STATISTICS {
            rows.push(row(statistic, window)?);
        }
    }
    ledger.lay_down_for_benches_of_the_library_itself(claim, &rows)?;
    ledger.checkpoint()?;
    Ok(rows.len())
}

fn row(statistic: &str, window: i64) -> Result<(ReleaseId, ReleaseCost, String), Box<dyn Error>> {
    let cost = ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(1e-6)?);
    let release = ReleaseId {
        account: Name::new("account", "visits")?,
        job: Name::new("job", JOB)?,
        version: Digest::of(b"version 1"),
        name: Name::new("release", statistic)?,
        window: Interval::new(10 * window, 10 * window + 10)?,
        part: None,
    };
    let line = format!(r#"{{"release":"{statistic}","window":{window},"key":"/index.html","value":1234}}"#);
    Ok((release, cost.with_partial(PrivacyCost::zcdp(2e-6)?)?, line))
}
