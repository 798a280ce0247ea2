//! The output of a run for people: a report when it is over, and a progress bar on a terminal.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use discreet::accounting::Promise;
use discreet::job::config::RecordFormat;
use discreet::job::plan::{Planned, PlannedKeys};
use discreet::job::{FormerListener, Job, OpenedListener, Progress, ReleaseListener, Survey};
use discreet::time::{Zone, in_words};
use discreet::watch::{Heading, ReleaseNotes, Report, StatedRange};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::values::path;
use super::{Refusal, log};

/// The outputs of a run, and its number of threads.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// The file for the lines, which holds each window once; CSV if its name ends in .csv. Without it, and
    /// for -, standard output
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Begin a new file of --out without the rows that are in archives of the ledger
    #[arg(long)]
    pub(crate) without_archived: bool,
    /// Write a report of the run: a page (.html), or its charts alone (.svg)
    #[arg(long, value_parser = path(ReportPath::new))]
    pub(crate) report: Option<ReportPath>,
    /// The number of worker threads of this process
    #[arg(short, long, default_value_t = 1)]
    pub(crate) workers: usize,
    /// Print the outcome of the run as one line of JSON, on standard error
    #[arg(long)]
    pub(crate) json: bool,
}

/// The path of a report, with the form that its ending asks for.
#[derive(Clone, Debug)]
pub(crate) struct ReportPath {
    path: PathBuf,
    form: ReportForm,
}

#[derive(Clone, Copy, Debug)]
enum ReportForm {
    Page,
    Charts,
}

impl ReportPath {
    pub(crate) fn new(path: PathBuf) -> Result<ReportPath, Refusal> {
        let form = match path.extension().and_then(OsStr::to_str) {
            Some("html") => ReportForm::Page,
            Some("svg") => ReportForm::Charts,
            _ => {
                let message = "--report: found another ending; give a file that ends in .html or .svg";
                return Err(Refusal::new(message));
            }
        };
        Ok(ReportPath { path, form })
    }
}

/// Recommends to declare the fields of lines of JSON, if the job does not: a misspelt field is otherwise
/// found only by a run, which spends budget.
pub(crate) fn warn_of_undeclared(job: &Job, config: &Path) {
    if matches!(job.source.records, RecordFormat::Jsonl(_)) && job.source.fields.is_none() {
        log::note(&format!(
            "note: source.fields: found nothing, so a misspelt field is refused nowhere, and empty windows spend the budget; \
             declare the fields, with `discreet check {} --sample 1000 --write-fields`",
            config.display()
        ));
    }
}

/// The report of a run, and its path.
pub(crate) struct RunReport {
    path: PathBuf,
    form: ReportForm,
    report: Report,
    demo: bool,
}

impl RunReport {
    /// Checks, before anything is released, that the path can be written and holds nothing but an older
    /// report.
    pub(crate) fn new(
        report: ReportPath,
        job: &Job,
        demo: bool,
        out: Option<&Path>,
    ) -> Result<RunReport, Refusal> {
        let ReportPath { path, form } = report;
        lies_apart("--report", &path, job, out)?;
        replaceable(&path, demo)?;
        let report = Report::new(heading(job, demo));
        Ok(RunReport { path, form, report, demo })
    }

    /// Adds lines of which the status of the budget is not known.
    pub(crate) fn add(&mut self, lines: &str) {
        self.report.add(lines, None);
    }

    /// Shows another report in the place of this one.
    pub(crate) fn show(&mut self, report: Report) {
        self.report = report;
    }

    /// Writes the report, unless the path has come to hold something else, such as the lines of this run.
    /// A reader of the path finds the old report or the new one, and none in between.
    pub(crate) fn rewrite(&self) -> Result<(), Refusal> {
        replaceable(&self.path, self.demo)?;
        let text = match self.form {
            ReportForm::Page => self.report.html(),
            ReportForm::Charts => self.report.svg(),
        };
        let refuse = |error: std::io::Error| Refusal::unwritable("--report", &self.path, &error);
        replace(&self.path, &text).map_err(refuse)
    }

    /// Writes the report, and says so.
    pub(crate) fn write(&self) -> Result<(), Refusal> {
        self.rewrite()?;
        let path = self.path.display();
        // Announced, since the page is easily missed behind many lines.
        log::note(&format!("wrote {path}"));
        if let (ReportForm::Charts, left_out @ [_, ..]) = (self.form, &self.report.left_out_of_svg()[..]) {
            let is = if left_out.len() == 1 { "is" } else { "are" };
            warn(&format!(
                "{path}: a picture has the first releases, and {} {is} not in it; --report FILE.html has all",
                left_out.join(", ")
            ));
        }
        Ok(())
    }
}

/// Refuses a path without a directory, and that of a file of the job or of `out`.
pub(crate) fn lies_apart(option: &str, path: &Path, job: &Job, out: Option<&Path>) -> Result<(), Refusal> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
        return Err(Refusal::new(format!(
            "{option}: there is no directory {}; make it",
            directory.display()
        )));
    }
    Ok(job.keeps_apart(option, path, out)?)
}

/// Writes a file in the place of an older one, at once.
pub(crate) fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    // A pipe, a device or a link stays what it is.
    if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        return std::fs::write(path, text);
    }
    let mut beside = path.to_owned().into_os_string();
    beside.push(format!(".{}.new", std::process::id()));
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    written.inspect_err(|_| _ = std::fs::remove_file(&beside))
}

/// Refuses a path that holds something other than a report, or for a demonstration, other than the report of
/// one.
fn replaceable(path: &Path, demo: bool) -> Result<(), Refusal> {
    let held = match path.try_exists() {
        Ok(true) => std::fs::read(path).map_err(|error| Refusal::unreadable("--report", path, &error))?,
        _ => return Ok(()),
    };
    // A demonstration's report does not overwrite a report of releases.
    let lost = demo && !Report::is_of_demo(&held);
    if held.is_empty() || (Report::is_of(&held) && !lost) {
        return Ok(());
    }
    let held = if Report::is_of(&held) { "a report of releases" } else { "something other than a report" };
    Err(Refusal::new(format!(
        "--report: {} holds {held}, and is left as it is; give the path of a new file",
        path.display()
    )))
}

/// The heading of a job's report.
pub(super) fn heading(job: &Job, demo: bool) -> Heading {
    let account = job.account();
    Heading {
        job: job.name.to_string(),
        promise: account.promise().sentence(account.neighbours(), in_words),
        account: account.name().to_string(),
        budget: account.cap().with_epsilon(),
        made: format!("{:.0}", jiff::Timestamp::now()),
        zone: Some(job.source.zone.clone()).filter(|zone| *zone != Zone::utc()),
        demo,
        releases: notes(job),
    }
}

/// The words of the plan about each release, for a report; nothing where there is no plan, as in a
/// demonstration that finds its windows in the data.
fn notes(job: &Job) -> BTreeMap<String, ReleaseNotes> {
    let Ok(plan) = job.plan() else { return BTreeMap::new() };
    // Elsewhere a person cannot be bound to some of the windows of a span.
    let windows_bindable = matches!(job.account().promise(), Promise::Lifetime | Promise::Windows(_));
    let units = if plan.unit == "record" { "records" } else { "people" };
    let note = |(place, planned): (usize, Planned)| {
        let empty = match planned.keys {
            PlannedKeys::Discovered { threshold, .. } => Some(format!(
                "The plan says that a key is released once about {threshold} {units} have it: no key had that many. List \
                 the keys, or give the release a larger share or longer windows."
            )),
            _ => None,
        };
        let ones = planned.moves.iter().all(|moves| moves.l0 == 1.0 && moves.linf == 1.0);
        let least = ones && (planned.paid_together <= 1 || !windows_bindable);
        let longest = planned.windows.every == "all" || planned.windows.count == Some(1);
        let least_bound = plan.unit == "record" || least;
        let grouping = job.releases.get(place).and_then(|release| release.statistic.grouping());
        let levels = grouping.and_then(|grouping| grouping.level_names());
        let ranges = job.releases.get(place).map_or(Vec::new(), |release| release.statistic.answer_ranges());
        let ranges =
            ranges.into_iter().map(|range| StatedRange { of: range.of, low: range.low, high: range.high });
        let ranges = ranges.collect();
        let finds_ranges = job.releases.get(place).is_some_and(|release| release.statistic.finds_ranges());
        (planned.name, ReleaseNotes { place, empty, least_bound, longest, levels, ranges, finds_ranges })
    };
    plan.releases.into_iter().enumerate().map(note).collect()
}

/// A listener that adds the lines that have left to a report.
pub(crate) fn report_listener(page: Arc<Mutex<RunReport>>) -> ReleaseListener {
    Box::new(move |lines, budget_status| {
        page.lock().unwrap_or_else(PoisonError::into_inner).report.add(lines, Some(budget_status));
    })
}

/// A listener that shows the cap of the account in a report.
pub(crate) fn opened_listener(page: Arc<Mutex<RunReport>>) -> OpenedListener {
    Box::new(move |account| {
        page.lock().unwrap_or_else(PoisonError::into_inner).report.state_cap(account.cap());
    })
}

/// A listener that adds the lines that left before a replay to its report.
pub(crate) fn former_listener(page: Arc<Mutex<RunReport>>) -> FormerListener {
    Box::new(move |lines| page.lock().unwrap_or_else(PoisonError::into_inner).report.add(lines, None))
}

/// A progress bar of the input, if standard error is a terminal.
pub(crate) fn bar() -> Option<Box<dyn FnOnce(Arc<Progress>) + Send>> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    Some(Box::new(|progress| {
        let draw = move || {
            let bar = match progress.total() {
                Some(total) => ProgressBar::new(total),
                None => ProgressBar::no_length(),
            };
            bar.set_draw_target(ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("read {bytes} of {total_bytes} {wide_bar} {eta}")
            {
                bar.set_style(style);
            }
            while !progress.has_ended() {
                bar.set_position(progress.read());
                std::thread::sleep(Duration::from_millis(100));
            }
            bar.finish_and_clear();
        };
        // A run goes on without its bar.
        let _ = std::thread::Builder::new().name("bar".into()).spawn(draw);
    }))
}

/// Prints a warning for the person who runs the job; the run goes on.
pub(crate) fn warn(warning: &str) {
    log::warn(warning);
}

/// Prints a warning that depends on the records that were read.
pub(crate) fn warn_operator(warning: &str) {
    log::warn_operator(warning);
}

/// Prints the survey of a demonstration's fields.
pub(crate) fn show_survey(survey: &Survey) {
    log::page("survey", &survey.to_string());
}

/// Ends the process as a crash would, which is safe at any moment.
pub(crate) fn end_at_once(why: String, code: u8) {
    log::error(&why);
    std::process::exit(code.into());
}
