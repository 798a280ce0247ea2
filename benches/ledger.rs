//! The cost of durability: windows sealed a second, alone and in groups, and the millionth beside the first.
//!
//! The floor of a single seal is one synced append to a file in the same directory, measured beside it. What
//! limits it is the disk's sync for single seals, and SQLite's inserts with their index and triggers for
//! groups.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use discreet::accounting::{Adjacency, Interval, PrivacyCost, Promise, ReleaseCost};
use discreet::ledger::{AccountSpec, Charge, Claim, Digest, Ledger, Name, ReleaseId, ReleaseStatus, Sealing};

/// The windows sealed together, as a gate with a queue does.
const GROUP: i64 = 256;
const MILLION: i64 = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-bench-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let outcome = measure(&directory);
    fs::remove_dir_all(&directory)?;
    outcome
}

fn measure(directory: &Path) -> Result<(), Box<dyn Error>> {
    let append = appends(&directory.join("floor"), 500)?;
    println!("floor: {append:.0} synced appends a second");

    let mut worst = [f64::INFINITY; 2];
    let mut ratio = 0.0f64;
    for (label, promise) in [
        ("lifetime", Promise::Lifetime),
        ("any span of 30 windows", Promise::Any(300)),
        ("each span of 30 windows", Promise::Each(300)),
    ] {
        let path = directory.join(label.replace(' ', "-"));
        let mut pipeline = Pipeline::new(&path, promise)?;
        let single = pipeline.rate(0, 500, 1)?;
        let grouped = pipeline.rate(500, 20 * GROUP, GROUP)?;
        println!("{label}: {single:.0} windows a second sealed alone, {grouped:.0} in groups of {GROUP}");
        worst = [worst[0].min(single), worst[1].min(grouped)];

        let laid = 500 + 20 * GROUP;
        pipeline.rate(laid, MILLION - 1000 - laid, 50_000)?;
        let late = pipeline.rate(MILLION - 1000, 20 * GROUP, GROUP)?;
        println!("{label}: {late:.0} in groups after a million");
        ratio = ratio.max(grouped / late);
        drop(pipeline);
        let start = Instant::now();
        Ledger::open(&path)?;
        println!("{label}: {:.1} s to open and verify a million rows", start.elapsed().as_secs_f64());
    }
    println!("figure ledger.single_windows_per_second {:.0} 1/s", worst[0]);
    println!("ratio ledger.append_over_single {:.2}", append / worst[0]);
    println!("figure ledger.sealed_windows_per_second {:.0} 1/s", worst[1]);
    println!("ratio ledger.millionth_over_first {ratio:.2}");
    Ok(())
}

fn appends(path: &Path, count: u32) -> Result<f64, Box<dyn Error>> {
    let mut file = File::create(path)?;
    let start = Instant::now();
    for _ in 0..count {
        file.write_all(&[7; 512])?;
        file.sync_data()?;
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

struct Pipeline {
    ledger: Ledger,
    claim: Claim,
    cost: ReleaseCost,
}

impl Pipeline {
    fn new(path: &Path, promise: Promise) -> Result<Pipeline, Box<dyn Error>> {
        let mut ledger = Ledger::create(path)?;
        let name = Name::new("account", "visits")?;
        ledger.register(&AccountSpec::new(name, Adjacency::PERSON, promise, PrivacyCost::zcdp(500.0)?)?)?;
        let claim = ledger.claim(&Name::new("job", "web")?)?;
        Ok(Pipeline { ledger, claim, cost: ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(1e-6)?) })
    }

    /// Seals `count` windows, from the `first` on, in groups; returns the number sealed a second.
    fn rate(&mut self, first: i64, count: i64, group: i64) -> Result<f64, Box<dyn Error>> {
        let start = Instant::now();
        for from in (first..first + count).step_by(group as usize) {
            let batch: Vec<Sealing> = (from..(from + group).min(first + count))
                .map(|window| self.sealing(window))
                .collect::<Result<_, _>>()?;
            let rows = self.ledger.seal(&self.claim, &batch)?;
            assert!(
                rows.iter().all(|row| row.status() == ReleaseStatus::Sealed),
                "the budget was meant to last"
            );
        }
        Ok(count as f64 / start.elapsed().as_secs_f64())
    }

    fn sealing(&self, window: i64) -> Result<Sealing, Box<dyn Error>> {
        Ok(Sealing {
            release: ReleaseId {
                account: Name::new("account", "visits")?,
                job: Name::new("job", "web")?,
                version: Digest::of(b"version 1"),
                name: Name::new("release", "by_path")?,
                window: Interval::new(10 * window, 10 * window + 10)?,
                part: None,
            },
            charge: Some(Charge::Cost(self.cost.clone())),
            status: ReleaseStatus::Sealed,
            line: format!(r#"{{"release":"by_path","window":{window},"key":"/index.html","value":1234}}"#),
            state: None,
        })
    }
}
