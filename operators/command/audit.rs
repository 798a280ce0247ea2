//! `discreet audit`: attempts to refute what a job says of its privacy.

use std::path::PathBuf;

use clap::Args;
use discreet::Digest;
use discreet::job::{Audit, Job};

use super::values::{number, whole};
use super::{Done, Refusal};

/// Exit code: a claim of the job is refuted.
const REFUTED: u8 = 1;

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// The job file
    config: PathBuf,
    /// The number of canaries: made-up people, of whom half are in the data
    #[arg(long, allow_negative_numbers = true, default_value = "10000", value_parser = whole())]
    canaries: u64,
    /// The probability with which an honest job is refuted at most
    #[arg(long, allow_negative_numbers = true, default_value = "1e-4", value_parser = number())]
    level: f64,
    /// Audit this release alone
    #[arg(long, value_name = "NAME")]
    release: Option<String>,
    /// Throw the coins of the canaries by the bytes of this file, so that they are the same again
    #[arg(long, value_name = "FILE")]
    seed_of_coins: Option<PathBuf>,
    /// The number of workers
    #[arg(short, long, default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: u16,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl AuditArgs {
    pub(crate) fn run(&self) -> Result<Done, Refusal> {
        let job = Job::open(&self.config)?;
        let mut audit =
            Audit::of_job(job).canaries(self.canaries)?.level(self.level)?.workers(self.workers.into());
        if let Some(name) = &self.release {
            audit = audit.release(name)?;
        }
        if let Some(path) = &self.seed_of_coins {
            let bytes =
                std::fs::read(path).map_err(|error| Refusal::unreadable("seed-of-coins", path, &error))?;
            audit = audit.seed(*Digest::of(&bytes).bytes());
        }
        let findings = audit.run()?;
        let page = if self.json { format!("{}\n", findings.to_json()) } else { findings.to_string() };
        Ok(Done::Verdict { page, code: if findings.refuted() { REFUTED } else { 0 } })
    }
}
