//! `-n`, `-p` and `--hosts`: the processes that share the work of a run.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use discreet::job::{Job, OperatorNotice, Processes};

use super::Refusal;

/// Which processes share the work.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
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

impl ClusterArgs {
    /// The processes, and what `open` opens. Where it fails, the others need not wait for this process.
    pub(crate) fn with(
        &self,
        open: impl FnOnce() -> Result<Job, Refusal>,
    ) -> Result<(Job, Option<Processes>), Refusal> {
        let processes = self.addresses()?;
        let job = open();
        if let (Err(_), Some(processes)) = (&job, &processes) {
            processes.announce_end();
        }
        Ok((job?, processes))
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

/// Tells the operator which process has not come, or does not answer.
pub(crate) fn notice() -> OperatorNotice {
    // Nobody has to read it.
    Arc::new(|text: &str| _ = writeln!(std::io::stderr(), "operator only: {text}"))
}

fn hosts(path: &Path) -> Result<Vec<String>, Refusal> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| Refusal::unreadable("--hosts", path, &error))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}
