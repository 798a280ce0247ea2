//! `discreet run`: a job for as long as its stream goes on.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use discreet::job::{Job, Live, Onlooker, Processes};

use super::lookers::{self, Look};
use super::{Done, Refusal, signals};

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The job file
    config: PathBuf,
    #[command(flatten)]
    look: Look,
    /// How many processes share the work
    #[arg(short = 'n', long, default_value_t = 1)]
    processes: usize,
    /// Which of them this is, from 0 on; the first holds the ledger
    #[arg(short, long, default_value_t = 0)]
    process: usize,
    /// A file with the address of each process, host:port, one a line
    #[arg(long)]
    hosts: Option<PathBuf>,
    /// Let records pass between machines in the clear
    #[arg(long)]
    insecure_cluster: bool,
}

impl Run {
    pub(crate) fn run(self) -> Result<Done, Refusal> {
        let job = Job::open(&self.config)?;
        let processes = self.addresses()?;
        let Look { out, report, workers, json } = self.look;
        let page = report.map(|path| lookers::Page::new(path, &job, false)).transpose()?;
        let page = page.map(|page| Arc::new(Mutex::new(page)));
        let mut live = Live::default();
        signals::stop_on_request(&live.stop, Some(live.vitals.clone()))?;
        live.workers = workers;
        live.processes = processes;
        live.out = out;
        live.onlooker = Onlooker {
            told: page.clone().map(lookers::told),
            reading: None,
            ending: Some(Box::new(lookers::end_at_once)),
        };
        let finished = job.run(live);
        // What was told stays told, however the run ended.
        if let Some(page) = page {
            page.lock().unwrap_or_else(PoisonError::into_inner).write()?;
        }
        Ok(Done::Ran { finished: finished?, json })
    }

    fn addresses(&self) -> Result<Option<Processes>, Refusal> {
        let addresses = match (&self.hosts, self.processes) {
            (None, 0 | 1) => return Ok(None),
            (None, _) => {
                let message =
                    "--hosts: found nothing; give a file with the address of each process, one a line";
                return Err(Refusal::new(message));
            }
            (Some(path), _) => hosts(path)?,
        };
        if addresses.len() != self.processes {
            return Err(Refusal::new(format!(
                "--hosts: found {} addresses for {} processes; give one for each",
                addresses.len(),
                self.processes
            )));
        }
        let (process, insecure) = (self.process, self.insecure_cluster);
        Ok(Some(Processes { process, addresses, insecure }))
    }
}

fn hosts(path: &Path) -> Result<Vec<String>, Refusal> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| Refusal::new(format!("--hosts {}: {error}", path.display())))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}
