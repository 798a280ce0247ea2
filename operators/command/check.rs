//! `discreet check`, `discreet plan` and `discreet fields`: checks of a job without running it.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use discreet::dataflow::{Clock, SystemClock};
use discreet::job::config::{JOB_FIELDS, JobField, RecordFormat, SourcePlace, declare_fields};
use discreet::job::plan::Planned;
use discreet::job::{BudgetLeft, Job, LogShape, Survey};
use serde_json::json;

use super::alert_command::AlertCommand;
use super::{Refusal, SOURCE_IS_GONE, counted, describe_io_error};

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The job file
    config: PathBuf,
    /// Also check the ledger, its key and the source; nothing is spent, and no record is read without
    /// --sample
    #[arg(long)]
    connect: bool,
    /// Compare the ledger with the file that the job's lines go to, as a run with this --out does
    #[arg(long, value_name = "FILE", requires = "connect")]
    out: Option<PathBuf>,
    /// Read the first N records, or all, and print how often each field of the job is found, readable and within its
    /// range; exact counts, outside of the promise, for people who may see the records
    #[arg(long, value_name = "N", value_parser = sample_size)]
    sample: Option<u64>,
    /// Write the fields of the sample of JSON lines into the job file, so that a misspelt field is refused
    #[arg(long, requires = "sample")]
    write_fields: bool,
    /// Print the job file with its defaults filled in, valid in the working directory
    #[arg(long, conflicts_with = "json")]
    print: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// Reads the size of a sample.
fn sample_size(text: &str) -> Result<u64, String> {
    match text {
        "all" => Ok(u64::MAX),
        number => {
            number.parse().map_err(|_| "give a whole number of records, such as 1000, or all".to_owned())
        }
    }
}

impl CheckArgs {
    pub(crate) fn run(self) -> Result<String, Refusal> {
        let job = Job::open(&self.config)?;
        let plan = job.plan().map_err(|refused| Refusal::unfit(&self.config, &refused))?;
        let mut warnings = plan.warnings;
        warnings.extend(job.check_questions().map_err(|refused| Refusal::unfit(&self.config, &refused))?);
        let unfit = |refused| Refusal::unfit(&self.config, &refused);
        if !self.connect {
            warnings.extend(job.unanswerable_questions().map_err(unfit)?);
        }
        let mut unfinished = job.unfinished_windows(SystemClock.now()).map_err(unfit)?;
        let (mut fits, mut pipe, mut left) = ("within the budget", None, None);
        if self.connect {
            let connected = job.connect(self.out.as_deref())?;
            // The first run makes a spool.
            if let Some(SourcePlace::Files(path)) =
                job.source.records.place().filter(|_| job.source.http.is_none())
            {
                let is_pipe = is_pipe(path)?;
                pipe = is_pipe.then(|| path.clone());
                warnings.extend(if is_pipe { Vec::new() } else { job.try_source(path)? });
            }
            fits = match (&connected.was_refused[..], &connected.refused[..]) {
                ([], []) => fits,
                (_, []) => "of which the budget has refused windows",
                _ => "of which the budget would refuse windows",
            };
            let of_all = job.unused_budget(None);
            warnings.retain(|warning| Some(warning) != of_all.as_ref());
            match &connected.left {
                Some(left) => warnings.extend(job.unused_budget(Some(left))),
                // What a ledger has archived is in its balances alone, of all jobs together.
                None if of_all.is_some() => warnings.push(
                    "privacy.budget: a part of it is given to no release of this job; what others have paid is in archives of the \
                     ledger, and `discreet ledger show` has all that is spent"
                        .to_owned(),
                ),
                None => {}
            }
            left.clone_from(&connected.left);
            unfinished.clone_from(&connected.unfinished);
            warnings.extend(connected.warnings());
            warnings.extend(AlertCommand::of(&job).and_then(|command| command.warning()));
        }
        let survey = self.sample.map(|most| job.sample(most, self.write_fields)).transpose()?;
        let written = match &survey {
            Some(survey) if self.write_fields => Some(self.write(&job, survey)?),
            _ => None,
        };
        if self.print {
            return Ok(job.to_string());
        }
        let (releases, asks) = (plan.releases.len(), plan.asks.len());
        if self.json {
            let line = json!({
                "job": plan.job,
                "version": plan.version,
                "releases": releases,
                "asks": asks,
                "connected": self.connect,
                "pipe": pipe.is_some(),
                "within_budget": fits == "within the budget",
                "left": left,
                "unfinished": unfinished,
                "warnings": warnings,
                "sample": survey.map(|survey| survey.to_json()),
            });
            return Ok(format!("{line}\n"));
        }
        let counted = match (counted(releases as u64, "release"), asks) {
            (releases, 0) => releases,
            (releases, asks) => format!("{releases} and {} of answers", counted(asks as u64, "bundle")),
        };
        let connected = if self.connect { ", and its ledger and source are there" } else { "" };
        let mut page = format!(
            "{}: {}, version {}: {counted}, {fits}{connected}\n",
            self.config.display(),
            plan.job,
            plan.version
        );
        page.extend(pipe.map(|pipe| {
            let pipe = pipe.display();
            format!("source.path: {pipe} is a named pipe; it was not opened, and it may have no writer yet\n")
        }));
        page.extend(left.filter(BudgetLeft::is_shared).map(|left| format!("privacy.budget: {left}\n")));
        page.extend(unfinished.map(|unfinished| format!("`discreet replay` {}\n", unfinished.note())));
        page.extend(job.unasked_by_replay().iter().map(|note| format!("{note}\n")));
        page.extend(plan.releases.iter().filter_map(first_week));
        page.extend(survey.map(|survey| survey.to_string()));
        page.extend(written);
        page.extend(warnings.iter().map(|warning| format!("warning: {warning}\n")));
        Ok(page)
    }
}

impl CheckArgs {
    /// Declares the fields of a sample in the job file, if the job still parses with them. Returns the
    /// message to print.
    fn write(&self, job: &Job, survey: &Survey) -> Result<String, Refusal> {
        if !matches!(job.source.records, RecordFormat::Jsonl(_)) {
            let message =
                "--write-fields: the source is not of JSON lines; leave it out: its fields are known already";
            return Err(Refusal::new(message));
        }
        let (names, config) = (survey.names(), self.config.display());
        if names.is_empty() {
            return Err(Refusal::new(
                "--write-fields: the sample has no field; give a larger one, or another source",
            ));
        }
        let refused = |error: std::io::Error| Refusal::new(format!("{config}: {error}"));
        let text = fs::read_to_string(&self.config).map_err(refused)?;
        let Some(declared) = declare_fields(&text, &names) else {
            let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
            return Ok(format!(
                "nothing was written; put this into the source of {config}:\nfields = [{}]\n",
                names.join(", ")
            ));
        };
        // A field that the job names and that no record of the sample has is refused at its place in the
        // file, and nothing is written.
        Job::parse(&self.config, &declared)?;
        fs::write(&self.config, declared).map_err(refused)?;
        let rare = match survey.rare_names() {
            0 => String::new(),
            1 => "; 1 name that fewer than one record in 200 has is left out: it may be data".to_owned(),
            rare => {
                format!("; {rare} names that fewer than one record in 200 has are left out: they may be data")
            }
        };
        Ok(format!("wrote the {} fields of the sample into {config}{rare}\n", names.len()))
    }
}

/// Returns the beginning of the first window of a release in a line, where windows are weeks.
fn first_week(release: &Planned) -> Option<String> {
    let (from, weekday) = (release.windows.from.as_ref()?, release.windows.weekday?);
    Some(format!("{}: the first week begins on {weekday}, at {from}\n", release.name))
}

/// Returns true for a named pipe that may be read, which is not opened: that would wait for a writer, and a writer that
/// comes would lose its lines.
fn is_pipe(path: &Path) -> Result<bool, Refusal> {
    let unread = |error: std::io::Error| {
        let found = describe_io_error(&error);
        let message = format!("source.path: {}: {found}; give a file that can be read", path.display());
        Refusal::with(SOURCE_IS_GONE, message)
    };
    match fs::metadata(path) {
        Ok(found) if found.file_type().is_fifo() => {
            let access = rustix::fs::access(path, rustix::fs::Access::READ_OK);
            access.map(|()| true).map_err(|error| unread(error.into()))
        }
        Ok(_) => Ok(false),
        // A path with such a character may be a pattern.
        Err(_) if path.to_string_lossy().contains(['*', '?', '[']) => Ok(false),
        Err(error) => Err(unread(error)),
    }
}

// `discreet plan`: the releases of a job and their privacy cost.

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("size").args(["rows", "like"]).multiple(true)))]
pub(crate) struct PlanArgs {
    /// The job file
    config: PathBuf,
    /// Add the expected errors, and the memory that a replay holds, of a log of this number of records
    #[arg(long, value_name = "NUMBER")]
    rows: Option<u64>,
    /// The number of people who have them; as many as records without it
    #[arg(long, value_name = "NUMBER", requires = "size")]
    people: Option<u64>,
    /// A sample in the format of the source that you state to be public, never the protected records: the
    /// expected errors are those of its keys, for its numbers of records and people unless these are given
    #[arg(long, value_name = "FILE")]
    like: Option<PathBuf>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl PlanArgs {
    pub(crate) fn run(self) -> Result<String, Refusal> {
        let job = Job::open(&self.config)?;
        let unfit = |refused| Refusal::unfit(&self.config, &refused);
        let mut plan = job.plan().map_err(unfit)?;
        plan.unfinished = job.unfinished_windows(SystemClock.now()).map_err(unfit)?;
        let shape = self.like.as_ref().map(|like| LogShape::of_sample(&job, like)).transpose()?;
        if let Some((rows, people)) = self.size(shape.as_ref()) {
            plan.replay = Some(job.replay_memory(rows, people).map_err(unfit)?);
            let expected = match &shape {
                Some(shape) => job.expected_errors_like(shape, rows, people),
                None => job.expected_errors(rows, people),
            };
            let expected = expected.map_err(unfit)?;
            for (release, expected) in plan.releases.iter_mut().zip(expected) {
                release.expected = Some(expected);
            }
            let expected = job.expected_answers(rows, people).map_err(unfit)?;
            for (index, (ask, expected)) in plan.asks.iter_mut().zip(expected).enumerate() {
                let place = format!("ask[{}], {}: ", index + 1, ask.name);
                plan.warnings.retain(|warning| !warning.starts_with(&place));
                ask.expected = Some(expected);
                plan.warnings.extend(ask.warning().map(|words| format!("{place}{words}")));
            }
        }
        if self.json {
            // Serialization cannot fail: a plan holds numbers and texts under names.
            let line = serde_json::to_string(&plan).map_err(|error| Refusal::new(error.to_string()))?;
            return Ok(format!("{line}\n"));
        }
        Ok(plan.to_string())
    }

    /// The number of records and people of the log: one that is not given follows from the sample.
    fn size(&self, shape: Option<&LogShape>) -> Option<(u64, u64)> {
        let Some(shape) = shape else { return self.rows.map(|rows| (rows, self.people.unwrap_or(rows))) };
        let (rows, people) = (shape.rows(), shape.people());
        let scaled = |number: u64, by: u64, of: u64| {
            let scaled = u128::from(number) * u128::from(by) / u128::from(of.max(1));
            u64::try_from(scaled).unwrap_or(u64::MAX)
        };
        Some(match (self.rows, self.people) {
            (Some(rows), Some(people)) => (rows, people),
            (Some(stated), None) => (stated, scaled(people, stated, rows)),
            (None, Some(stated)) => (scaled(rows, stated, people), stated),
            (None, None) => (rows, people),
        })
    }
}

// `discreet fields`: the fields of a job file.

#[derive(Debug, Args)]
pub(crate) struct FieldsArgs {
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl FieldsArgs {
    pub(crate) fn run(self) -> String {
        if self.json {
            return format!("{}\n", json!({ "fields": JOB_FIELDS }));
        }
        let width = JOB_FIELDS.iter().map(|field| field.path.len()).max().unwrap_or_default();
        let line = |field: &JobField| format!("{:width$}  {}\n", field.path, field.takes());
        JOB_FIELDS.iter().map(line).collect()
    }
}
