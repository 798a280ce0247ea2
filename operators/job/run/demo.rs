//! A demonstration: the truth beside the noise, charged to a ledger that is thrown away.
//!
//! Its key is made of the job file, so that what is kept of people, and with it every tally, is the same each time. It
//! protects nobody: it is for data that may be shown, and every line of it says so.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use serde_json::Value;

use crate::accounting::Interval;
use crate::dataflow::{Exact, Failure};
use crate::gate::{Gate, Opening};
use crate::job::Job;
use crate::job::offer::{Asking, CellKey, Offer};
use crate::ledger::{Digest, Key, Ledger};
use crate::mechanisms::{Key as _, Label};

/// The exact numbers of a demonstration, by offer.
pub(crate) struct Demo {
    /// What chooses the records that are kept.
    pub(crate) secret: [u8; 32],
    shown: Vec<Shown>,
}

/// Of one release: after the bound, and before it.
#[derive(Clone)]
struct Shown {
    tally: Exact<CellKey>,
    truth: Exact<CellKey>,
}

impl Demo {
    pub(crate) fn new(offers: usize, gate: &Gate) -> Demo {
        let shown = (0..offers).map(|_| Shown { tally: Exact::new(), truth: Exact::new() }).collect();
        Demo { secret: *gate.key().derive(crate::dataflow::CHOICE), shown }
    }

    /// Where the exact cells of an offer are put.
    pub(crate) fn tally(&self, offer: usize) -> Exact<CellKey> {
        self.shown.get(offer).map_or_else(Exact::new, |shown| shown.tally.clone())
    }

    /// The same, of what was there before anybody was bounded.
    pub(crate) fn truth(&self, offer: usize) -> Exact<CellKey> {
        self.shown.get(offer).map_or_else(Exact::new, |shown| shown.truth.clone())
    }

    /// The lines of a window as a demonstration tells them: each with its exact numbers, and all with the word.
    pub(crate) fn tell(&self, offer: usize, of: &Offer, window: Interval, lines: &str) -> String {
        let told: Vec<String> = lines.lines().map(|line| self.line(offer, of, window, line)).collect();
        told.join("\n")
    }

    fn line(&self, offer: usize, of: &Offer, window: Interval, line: &str) -> String {
        let Some(open) = line.strip_suffix('}') else { return line.to_owned() };
        let parsed: Value = serde_json::from_str(line).unwrap_or_default();
        let (Some(_), Some(shown)) = (parsed.get("value"), self.shown.get(offer)) else {
            return format!("{open},\"demo\":true}}");
        };
        let Some(key) = of.key_told_as(parsed.get("key")) else { return format!("{open},\"demo\":true}}") };
        let tally = of.number_after(shown.tally.cell(window, &key).shown_in_a_demo());
        let truth = of.number_before(shown.truth.cell(window, &key).shown_in_a_demo());
        format!("{open},\"demo\":true,\"tally\":{tally},\"truth\":{truth}}}")
    }
}

impl Offer {
    /// The key that is told so.
    fn key_told_as(&self, told: Option<&Value>) -> Option<CellKey> {
        match (&self.asking, told) {
            (_, None) => Some(CellKey::Whole),
            (Asking::Histogram(_, _, keys), Some(told)) => {
                let buckets = keys.listed()?;
                let is_told = |key: &&CellKey| matches!(key.label(), Label::Text(text) if Some(&*text) == told.as_str());
                buckets.iter().find(is_told).cloned()
            }
            (_, Some(told)) => Some(CellKey::Text(told.as_str()?.into())),
        }
    }

    /// The number of a bounded cell, as it is told.
    fn number_after(&self, [people, records, sum]: [i128; 3]) -> String {
        let mean = |range: &crate::mechanisms::Range| {
            let middle = (range.low() as f64 + range.high() as f64) / 2.0;
            middle + sum as f64 / 2.0 / records as f64
        };
        match &self.asking {
            Asking::People(_) => people.to_string(),
            Asking::Count(_) | Asking::Histogram(..) => records.to_string(),
            Asking::Sum(..) => self.point().shown(sum),
            Asking::Mean(..) if records == 0 => "null".to_owned(),
            Asking::Mean(range, _) => self.point().float(mean(range)).to_string(),
        }
    }

    /// The same of a cell in which nobody was bounded, whose sum is of the values themselves.
    fn number_before(&self, [people, records, sum]: [i128; 3]) -> String {
        match &self.asking {
            Asking::Mean(..) if records == 0 => "null".to_owned(),
            Asking::Mean(..) => self.point().float(sum as f64 / records as f64).to_string(),
            _ => self.number_after([people, records, sum]),
        }
    }
}

/// A ledger that is gone when this is.
pub(crate) struct ThrownAway(PathBuf);

impl ThrownAway {
    /// Makes one that holds the job's domain, in a directory of its own.
    pub(crate) fn make(job: &Job) -> Result<ThrownAway, Failure> {
        let seed = Digest::of(format!("{job:?}").as_bytes());
        let named = format!("discreet-demo-{}-{}", std::process::id(), &seed.to_string()[..8]);
        let made = ThrownAway(std::env::temp_dir().join(named));
        let refused = |error: std::io::Error| {
            Failure::configuration(format!(
                "demo: {}: {error}; set TMPDIR to a directory that can be written",
                made.0.display()
            ))
        };
        fs::DirBuilder::new().mode(0o700).create(&made.0).map_err(refused)?;
        let key = made.key();
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&key).map_err(refused)?;
        file.write_all(&blake3::derive_key("discreet-dataflow 2026-11 key of a demonstration", seed.bytes()))
            .map_err(refused)?;
        Ledger::create_alone(made.ledger())?.register(job.domain())?;
        Ok(made)
    }

    fn ledger(&self) -> PathBuf {
        self.0.join("demo.ledger")
    }

    fn key(&self) -> PathBuf {
        Key::beside(&self.ledger())
    }

    /// A gate to it.
    pub(crate) fn open(&self, job: &Job) -> Result<Gate, Failure> {
        Ok(Opening::new(self.ledger(), job.name.as_str())?.key(self.key()).open()?)
    }
}

impl Drop for ThrownAway {
    fn drop(&mut self) {
        // What cannot be removed lies in a directory for temporary files, and protects nothing.
        let _ = fs::remove_dir_all(&self.0);
    }
}
