//! `discreet check`: whether a job can run, as far as that is known without running it.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use discreet::job::Job;
use discreet::job::config::{Place, Records};
use serde_json::json;

use super::{Refusal, SOURCE_IS_GONE};

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The job file
    config: PathBuf,
    /// Look at the ledger, its key and the source too; nothing is spent, and no record is read
    #[arg(long)]
    connect: bool,
    /// Print the job with all that the file leaves out, as a job file for the working directory
    #[arg(long, conflicts_with = "json")]
    print: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(crate) fn run(self) -> Result<String, Refusal> {
        let job = Job::open(&self.config)?;
        let plan = job.plan().map_err(|refused| Refusal::unfit(&self.config, &refused))?;
        let mut warnings = plan.warnings;
        if self.connect {
            warnings.extend(connect(&job)?);
        }
        if self.print {
            return Ok(job.to_string());
        }
        let releases = plan.releases.len();
        if self.json {
            let line = json!({
                "job": plan.job,
                "version": plan.version,
                "releases": releases,
                "connected": self.connect,
                "warnings": warnings,
            });
            return Ok(format!("{line}\n"));
        }
        let counted = if releases == 1 { "1 release".to_owned() } else { format!("{releases} releases") };
        let connected = if self.connect { ", and its ledger and source are there" } else { "" };
        let mut page = format!(
            "{}: {}, version {}: {counted}, within the budget{connected}\n",
            self.config.display(),
            plan.job,
            plan.version
        );
        page.extend(warnings.iter().map(|warning| format!("warning: {warning}\n")));
        Ok(page)
    }
}

/// Whether what the job needs is where it says; gives back what it should be warned of.
fn connect(job: &Job) -> Result<Vec<String>, Refusal> {
    let connected = job.connect()?;
    match &job.source.records {
        Records::Csv(place) | Records::Jsonl(place) | Records::Combined(place) => source(place)?,
        _ => {}
    }
    Ok(connected.warnings())
}

/// Whether there is something to read, of which nothing is read.
fn source(place: &Place) -> Result<(), Refusal> {
    let Place::Files(path) = place else { return Ok(()) };
    let gone = |path: &Path, error: &dyn std::fmt::Display| {
        Refusal::with(SOURCE_IS_GONE, format!("source.path: {}: {error}", path.display()))
    };
    let pattern = path.to_string_lossy();
    // A file of such a name comes before a pattern.
    if path.exists() || !pattern.contains(['*', '?', '[']) {
        let found = fs::metadata(path).map_err(|error| gone(path, &error))?;
        let opened =
            if found.is_dir() { fs::read_dir(path).map(drop) } else { fs::File::open(path).map(drop) };
        return opened.map_err(|error| gone(path, &error));
    }
    let mut found = glob::glob(&pattern).map_err(|error| gone(path, &error))?;
    match found.next() {
        Some(Ok(_)) => Ok(()),
        Some(Err(error)) => Err(gone(error.path(), &error.error())),
        None => Err(gone(path, &"no file has such a name")),
    }
}
