//! A demonstration: the truth beside the noise, charged to a ledger that is thrown away.
//!
//! Its key is made of the job file, so that what is kept of people, and with it every tally, is the same each time. It
//! protects nobody: it is for data that may be shown, and every line of it says so.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use super::exact::Shown;
use crate::accounting::Interval;
use crate::dataflow::RunError;
use crate::gate::{Gate, Opening};
use crate::job::Job;
use crate::job::offer::ReleasePlan;
use crate::job::sources::Crew;
use crate::ledger::{Digest, Ledger, LedgerKey};
use crate::told::{ReleaseLine, Says};

/// The exact numbers of a demonstration, by offer.
pub(crate) struct Demo {
    /// What chooses the records that are kept.
    pub(crate) secret: [u8; 32],
    shown: Vec<Shown>,
}

impl Demo {
    pub(crate) fn new(offers: usize, gate: &Gate) -> Demo {
        let shown = (0..offers).map(|_| Shown::default()).collect();
        Demo { secret: *gate.key().derive(crate::dataflow::CHOICE), shown }
    }

    /// Where the exact cells of an offer are put.
    pub(crate) fn shown(&self, offer: usize) -> Shown {
        self.shown.get(offer).cloned().unwrap_or_default()
    }

    /// The lines of a window as a demonstration tells them: each with its exact numbers, and all with the word.
    pub(crate) fn tell(&self, offer: usize, of: &ReleasePlan, window: Interval, lines: &str) -> String {
        let told: Vec<String> = lines.lines().map(|line| self.line(offer, of, window, line)).collect();
        told.join("\n")
    }

    fn line(&self, offer: usize, of: &ReleasePlan, window: Interval, line: &str) -> String {
        let Some(open) = line.strip_suffix('}') else { return line.to_owned() };
        let exact = match (ReleaseLine::read(line).map(|line| line.says), self.shown.get(offer)) {
            (Some(Says::Cell(cell)), Some(shown)) => shown.of(of, window, &cell),
            _ => None,
        };
        format!("{open},\"demo\":true{}}}", exact.unwrap_or_default())
    }
}

/// A ledger that is gone when this is.
pub(crate) struct ThrownAway(PathBuf);

impl ThrownAway {
    /// Makes one that holds the job's domain, in a directory of its own.
    pub(crate) fn make(job: &Job) -> Result<ThrownAway, RunError> {
        let seed = Digest::of(format!("{job:?}").as_bytes());
        let named = format!("discreet-demo-{}-{}", std::process::id(), &seed.to_string()[..8]);
        let made = ThrownAway(std::env::temp_dir().join(named));
        let refused = |error: std::io::Error| {
            RunError::configuration(format!(
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
        Ledger::create_alone(made.ledger())?.register(job.account())?;
        Ok(made)
    }

    fn ledger(&self) -> PathBuf {
        self.0.join("demo.ledger")
    }

    fn key(&self) -> PathBuf {
        LedgerKey::beside(&self.ledger())
    }

    /// A gate to it. Of several processes each has the same key, and the ledger of the first is the one that is charged.
    pub(crate) fn open(&self, job: &Job, crew: Crew) -> Result<Gate, RunError> {
        if crew.process > 0 {
            return Ok(Gate::elsewhere(job.name.as_str(), self.key())?.with_version(job.numbered()));
        }
        Ok(Opening::new(self.ledger(), job.name.as_str())?.version(job.numbered()).key(self.key()).open()?)
    }
}

impl Drop for ThrownAway {
    fn drop(&mut self) {
        // What cannot be removed lies in a directory for temporary files, and protects nothing.
        let _ = fs::remove_dir_all(&self.0);
    }
}
