//! `discreet replay`: a bounded run of a job file.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use discreet::dataflow::Stop;
use discreet::job::{Job, Onlooker, Replay as Replayed};

use super::cluster::{self, ClusterArgs};
use super::lookers::{self, Look};
use super::{Done, INTERNAL_FAULT, Refusal, signals};

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The job file
    config: PathBuf,
    /// Read this instead of the source's own path; `-` is standard input
    #[arg(long)]
    from: Option<PathBuf>,
    /// Charge a ledger that is thrown away, and show the truth beside the noise: for data that may be shown
    #[arg(long)]
    demo: bool,
    #[command(flatten)]
    look: Look,
    #[command(flatten)]
    cluster: ClusterArgs,
}

impl ReplayArgs {
    pub(crate) fn run(self) -> Result<Done, Refusal> {
        let open = || {
            let mut job = Job::open(&self.config)?;
            if let Some(from) = &self.from {
                job.read_from(from)?;
            }
            Ok(job)
        };
        let (job, processes) = self.cluster.with(open)?;
        lookers::warn_of_undeclared(&job, &self.config);
        let Look { out, report, workers, json } = self.look;
        let page =
            report.map(|path| lookers::RunReport::new(path, &job, self.demo, out.as_deref())).transpose()?;
        let page = page.map(|page| Arc::new(Mutex::new(page)));
        let stop = Stop::new();
        signals::listen(&stop, None)?;
        let mut replay = Replayed::default();
        replay.workers = workers;
        replay.processes = processes;
        replay.demo = self.demo;
        replay.out = out;
        replay.stop = stop;
        replay.onlooker = Onlooker {
            told: page.clone().map(lookers::told),
            reading: lookers::bar(),
            warning: Some(Box::new(lookers::warn)),
            surveyed: Some(Box::new(lookers::show_survey)),
            ending: Some(Box::new(lookers::end_at_once)),
            notice: Some(cluster::notice()),
        };
        let finished = job.replay(replay)?;
        if let Some(page) = page {
            page.lock().unwrap_or_else(PoisonError::into_inner).write()?;
        }
        // What was asked for is not there: a script must not go on with it.
        let code = if finished.is_stopped() { INTERNAL_FAULT } else { finished.exit_code() };
        Ok(Done::Ran { finished, code, json })
    }
}
