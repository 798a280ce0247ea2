//! `discreet tune`: bounds and shares of a job, by the shape of a log that is made up, public, or estimated on
//! a part of the budget.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use discreet::dataflow::{RunError, Stop};
use discreet::job::config::{BudgetShare, ConfigNumber};
use discreet::job::{
    EditedJob, EstimateError, Job, LogShape, Replay, RunObserver, StatedKeys, StatedLog, Tuning, TuningScope,
};

use super::values::{part, skew, whole};
use super::{BUDGET_REFUSED, INTERNAL_FAULT, Refusal, counted, log, observers, run};

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("numbers").args(["rows", "estimate"])))]
pub(crate) struct TuneArgs {
    /// The job file
    config: PathBuf,
    /// The number of records of a log that is made up; a job whose source is synthetic needs none
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = whole(), requires = "people", conflicts_with = "like")]
    rows: Option<u64>,
    /// The number of people who have them; of a sample, the number for whom it stands
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = whole())]
    people: Option<u64>,
    /// The number of keys of the log; without it those of the longest list of keys, or 100 where keys are
    /// discovered
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = whole(), requires = "numbers")]
    keys: Option<u64>,
    /// The skew of keys and people, from 0 (uniform) to 10; of an estimated log that of keys alone; 1.1 without it
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = skew(), requires = "numbers")]
    skew: Option<ConfigNumber>,
    /// A sample in the format of the source that you state to be public, never the protected records
    #[arg(long, value_name = "FILE")]
    like: Option<PathBuf>,
    /// Read the protected records, and pay this part of the budget, such as 0.05, for a log that is made of what
    /// is released about them: how many people, and quantiles of their records and values, over all the time from
    /// job.from until job.until. It is charged once, and the same call later has the same numbers
    #[arg(long, value_name = "SHARE", value_parser = part(), conflicts_with_all = ["people", "like"])]
    estimate: Option<BudgetShare>,
    /// The file for the released lines of the estimate; without it JOB.estimate.jsonl beside the ledger
    #[arg(long, value_name = "FILE", requires = "estimate")]
    estimate_out: Option<PathBuf>,
    /// Leave the shares as they are
    #[arg(long)]
    keep_shares: bool,
    /// For a release that errs by more than a tenth, also try longer windows, and take the shortest with
    /// which it does not; other windows are other numbers that are published
    #[arg(long)]
    windows: bool,
    /// Write the job file with the chosen numbers to this file beside it, which must not exist; a comment at
    /// each changed line says why
    #[arg(long, value_name = "JOB")]
    out: Option<PathBuf>,
    /// Draw the error of each release by its bounds, share and windows into this file, in SVG; an earlier drawing
    /// is replaced, and no other file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl TuneArgs {
    pub(crate) fn run(self) -> Result<String, Refusal> {
        let job = Job::open(&self.config)?;
        if let Some(out) = &self.out {
            is_new_beside(out, &self.config)?;
        }
        if let Some(svg) = &self.svg {
            self.can_be_drawn(&job, svg)?;
        }
        let shape = match &self.estimate {
            Some(share) => self.estimated(&job, share)?,
            None => self.shape(&job)?,
        };
        // Without an estimate the ledger need not be there, nor its key.
        let left = match &self.estimate {
            Some(_) => job.budget_left()?,
            None if job.has_local_ledger() => job.budget_left().ok().flatten(),
            None => None,
        };
        if left.is_none() && job.has_local_ledger() {
            log::note(
                "what other jobs of the account have paid is not subtracted: the ledger cannot be read, or has archived a part of \
                 its rows; `discreet ledger show` has all that is spent",
            );
        }
        let scope =
            TuningScope { shares: !self.keep_shares, windows: self.windows, most: BudgetShare::WHOLE };
        let refused =
            |error: RunError| Refusal::with(error.exit_code(), format!("{}: {error}", self.config.display()));
        let tuning = job.tune_beside(&shape, scope, left).map_err(refused)?;
        if let Some(svg) = &self.svg {
            observers::replace(svg, &tuning.drawn())
                .map_err(|error| Refusal::unwritable("--svg", svg, &error))?;
        }
        let written = self.out.as_ref().map(|out| self.write(out, &tuning)).transpose()?;
        if self.json {
            // Serialization cannot fail: a tuning holds numbers and texts under names.
            let line = serde_json::to_string(&tuning).map_err(|error| Refusal::new(error.to_string()))?;
            return Ok(format!("{line}\n"));
        }
        Ok(format!("{tuning}{}", written.unwrap_or_default()))
    }

    /// Estimates the log from a part of the budget, and returns its shape.
    fn estimated(&self, job: &Job, share: &BudgetShare) -> Result<LogShape, Refusal> {
        let TuneArgs { config, keys, skew, estimate_out, .. } = self;
        let estimate =
            job.log_estimate(*share, StatedKeys { keys: *keys, skew: *skew }, estimate_out.as_deref());
        let estimate =
            estimate.map_err(|refused| Refusal::new(format!("{}: {refused}", config.display())))?;
        if self.out.as_deref() == Some(estimate.file()) {
            return Err(Refusal::new("--out: found the file of the estimate; give another name"));
        }
        log::set(job.log);
        let stop = Stop::new();
        run::handle_signals(&stop, None)?;
        let mut replay = Replay::default();
        replay.stop = stop;
        replay.onlooker = RunObserver {
            reading: observers::bar(),
            warning: Some(Box::new(observers::warn_operator)),
            ending: Some(Box::new(observers::end_at_once)),
            notice: Some(run::notice()),
            ..RunObserver::default()
        };
        estimate.run(replay).map_err(|error| match error {
            EstimateError::Run(error) => error.into(),
            EstimateError::Budget(message) => Refusal::with(BUDGET_REFUSED, message),
            EstimateError::Stopped => Refusal::with(INTERNAL_FAULT, error.to_string()),
            error => Refusal::new(error.to_string()),
        })
    }

    /// Returns the shape of the log.
    fn shape(&self, job: &Job) -> Result<LogShape, Refusal> {
        let TuneArgs { rows, people, keys, skew, like, .. } = self;
        let (keys, skew) = (*keys, *skew);
        Ok(match (like, rows, people) {
            (Some(_), _, Some(0)) | (None, None, Some(_)) => {
                let message = "--people: found a number without records; give --rows, or --like and a number above zero";
                return Err(Refusal::new(message));
            }
            (Some(like), _, Some(people)) => LogShape::of_sample(job, like)?.of_people(*people),
            (Some(like), _, None) => LogShape::of_sample(job, like)?,
            (None, Some(rows), Some(people)) => {
                LogShape::stated(job, StatedLog { rows: *rows, people: *people, keys, skew })?
            }
            (None, _, None) => LogShape::of_synthetic(job)?,
        })
    }

    /// Refuses a path that cannot be written, that holds something other than a drawing, or that is of another
    /// file of the job or of this call.
    fn can_be_drawn(&self, job: &Job, svg: &Path) -> Result<(), Refusal> {
        if [&self.out, &self.estimate_out].into_iter().flatten().any(|other| other == svg) {
            return Err(Refusal::new("--svg: found the file of another option; give another name"));
        }
        observers::lies_apart("--svg", svg, job, None)?;
        // A named pipe would be waited for.
        if svg.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(Refusal::new(format!(
                "--svg: {}: found no plain file; give the path of one",
                svg.display()
            )));
        }
        match fs::read(svg) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Refusal::unreadable("--svg", svg, &error)),
            Ok(held) if held.is_empty() || Tuning::is_picture(&held) => Ok(()),
            Ok(_) => Err(Refusal::new(format!(
                "--svg: {} holds something other than a drawing of discreet tune, and is left as it is; give the path of a new file",
                svg.display()
            ))),
        }
    }

    /// Writes the job file with the chosen numbers, and returns the lines that say so.
    fn write(&self, out: &Path, tuning: &Tuning) -> Result<String, Refusal> {
        let unreadable = |error: io::Error| Refusal::unreadable("job", &self.config, &error);
        let text = fs::read_to_string(&self.config).map_err(unreadable)?;
        let shown = out.display();
        let text = match tuning.edited(&self.config, &text) {
            EditedJob::Text(text) => text,
            EditedJob::Lines(lines) => {
                let config = self.config.display();
                let head = format!("\nnothing was written; put these numbers into {config}:\n");
                return Ok(lines.iter().fold(head, |page, line| page + "  " + line + "\n"));
            }
        };
        let file = OpenOptions::new().write(true).create_new(true).open(out);
        match file.and_then(|mut file| file.write_all(text.as_bytes())) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(exists(out)),
            written => written.map_err(|error| Refusal::unwritable("--out", out, &error))?,
        }
        let changed = tuning.releases.iter().filter(|release| release.is_changed()).count();
        Ok(match changed {
            0 => format!("\nwrote {shown}, in which every number is as it was\n"),
            changed => {
                format!("\nwrote {shown}, with other numbers for {}\n", counted(changed as u64, "release"))
            }
        })
    }
}

fn exists(out: &Path) -> Refusal {
    Refusal::new(format!("--out: {}: found a file, which is left as it is; give another name", out.display()))
}

/// Refuses a file that exists, and one of another directory than the job file, from which its paths are
/// taken.
fn is_new_beside(out: &Path, config: &Path) -> Result<(), Refusal> {
    if out.symlink_metadata().is_ok() {
        return Err(exists(out));
    }
    let directory = |path: &Path| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.unwrap_or(Path::new(".")).canonicalize()
    };
    match directory(out) {
        Err(error) => Err(Refusal::unwritable("--out", out, &error)),
        Ok(out_directory) if directory(config).is_ok_and(|config| config == out_directory) => Ok(()),
        Ok(_) => Err(Refusal::new(format!(
            "--out: {}: found another directory than that of {}, from which the paths in it are taken; give a file beside it",
            out.display(),
            config.display()
        ))),
    }
}
