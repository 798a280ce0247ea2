//! `discreet run`: a job for as long as its stream goes on.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use discreet::job::{Job, Live, Onlooker};

use super::cluster::{self, ClusterArgs};
use super::lookers::{self, Look};
use super::{Done, Refusal, signals};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The job file
    config: PathBuf,
    #[command(flatten)]
    look: Look,
    #[command(flatten)]
    cluster: ClusterArgs,
}

impl RunArgs {
    pub(crate) fn run(self) -> Result<Done, Refusal> {
        let (job, processes) = self.cluster.with(|| Ok(Job::open(&self.config)?))?;
        lookers::warn_of_undeclared(&job, &self.config);
        let Look { out, report, workers, json } = self.look;
        let page =
            report.map(|path| lookers::RunReport::new(path, &job, false, out.as_deref())).transpose()?;
        let page = page.map(|page| Arc::new(Mutex::new(page)));
        let mut live = Live::default();
        signals::listen(&live.stop, Some((live.vitals.clone(), live.reopen.clone())))?;
        live.workers = workers;
        live.processes = processes;
        live.out = out;
        live.onlooker = Onlooker {
            told: page.clone().map(lookers::told),
            reading: None,
            warning: Some(Box::new(lookers::warn)),
            surveyed: None,
            ending: Some(Box::new(lookers::end_at_once)),
            notice: Some(cluster::notice()),
        };
        let finished = job.run(live);
        // What was told stays told, however the run ended.
        if let Some(page) = page {
            page.lock().unwrap_or_else(PoisonError::into_inner).write()?;
        }
        let finished = finished?;
        Ok(Done::Ran { finished, code: finished.exit_code(), json })
    }
}
