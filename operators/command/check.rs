//! `discreet check`: whether a job can run, as far as that is known without running it.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use discreet::job::Job;
use discreet::job::config::{Place, Records};
use discreet::ledger::{Key, Ledger};
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
        if self.connect {
            connect(&job)?;
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
                "warnings": plan.warnings,
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
        page.extend(plan.warnings.iter().map(|warning| format!("warning: {warning}\n")));
        Ok(page)
    }
}

/// Whether what the job needs is where it says.
fn connect(job: &Job) -> Result<(), Refusal> {
    Key::open(&job.privacy.key)?;
    let mut ledger = Ledger::open(&job.privacy.ledger)?;
    let (asked, at) = (job.domain(), job.privacy.ledger.display());
    let name = asked.name();
    match ledger.domains()?.iter().find(|known| known.name() == name) {
        Some(known) => {
            job.is_charged_to(known)?;
            job.would_agree(&mut ledger)?;
            if known != asked {
                return Err(Refusal::new(format!(
                    "privacy.domain: found another budget for domain {name} in ledger {at}; give what was stated, or a domain \
                     of another name"
                )));
            }
        }
        None => {
            return Err(Refusal::new(format!(
                "privacy.domain: found no domain {name} in ledger {at}; state it: discreet ledger init {at} --config .."
            )));
        }
    }
    if let Some(directory) = job.privacy.anchor.as_deref().map(beside).filter(|directory| !directory.is_dir())
    {
        return Err(Refusal::new(format!(
            "privacy.anchor: there is no directory {}; make it",
            directory.display()
        )));
    }
    match &job.source.records {
        Records::Csv(place) | Records::Jsonl(place) | Records::Combined(place) => source(place),
        _ => Ok(()),
    }
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

fn beside(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
