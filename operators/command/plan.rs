//! `discreet plan`: what a job will release, and what that costs.

use std::path::PathBuf;

use clap::Args;
use discreet::job::Job;

use super::Refusal;

#[derive(Debug, Args)]
pub(crate) struct PlanOf {
    /// The job file
    config: PathBuf,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl PlanOf {
    pub(crate) fn run(self) -> Result<String, Refusal> {
        let job = Job::open(&self.config)?;
        let plan = job.plan().map_err(|refused| Refusal::unfit(&self.config, &refused))?;
        if self.json {
            // Numbers and texts under names have a JSON form.
            let line = serde_json::to_string(&plan).map_err(|error| Refusal::new(error.to_string()))?;
            return Ok(format!("{line}\n"));
        }
        Ok(plan.to_string())
    }
}
