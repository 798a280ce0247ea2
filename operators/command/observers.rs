//! What people see of a run: a report when it is over, and on a terminal how far it is.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use discreet::job::config::RecordFormat;
use discreet::job::{Job, Progress, ReleaseListener, Survey};
use discreet::time::in_words;
use discreet::watch::{Heading, Report};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Refusal;

/// Where a run's lines go, and how much of the machine it takes.
#[derive(Debug, Args)]
pub(crate) struct Look {
    /// The file for the lines, which is told each window once; CSV where its name ends in .csv. Standard output for -
    /// and without it
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Write a page about the run: .html, or .svg for the picture alone
    #[arg(long)]
    pub(crate) report: Option<PathBuf>,
    /// How many threads share the work
    #[arg(short, long, default_value_t = 1)]
    pub(crate) workers: usize,
    /// Say how the run ended as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Names the option that declares the fields of lines of JSON, where they are not declared: a run that reads, and so finds a
/// misspelt one, spends.
pub(crate) fn warn_of_undeclared(job: &Job, config: &Path) {
    if matches!(job.source.records, RecordFormat::Jsonl(_)) && job.source.fields.is_none() {
        // Nobody has to read it.
        let _ = writeln!(
            std::io::stderr(),
            "note: source.fields: found nothing, so a misspelt field is refused nowhere, and empty windows spend the budget; \
             declare the fields, with `discreet check {} --sample 1000 --write-fields`",
            config.display()
        );
    }
}

/// A report that is being written.
pub(crate) struct RunReport {
    path: PathBuf,
    report: Report,
    demo: bool,
}

impl RunReport {
    /// Refuses a path that nothing can be written to, or that holds something else, before anything is released.
    pub(crate) fn new(
        path: PathBuf,
        job: &Job,
        demo: bool,
        out: Option<&Path>,
    ) -> Result<RunReport, Refusal> {
        let known =
            ["html", "svg"].into_iter().any(|known| path.extension().is_some_and(|found| found == known));
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if !known {
            return Err(Refusal::new(
                "--report: found another ending; give a file that ends in .html or .svg",
            ));
        }
        if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
            let message = format!("--report: there is no directory {}; make it", directory.display());
            return Err(Refusal::new(message));
        }
        job.keeps_apart("--report", &path, out)?;
        replaceable(&path, demo)?;
        let report = Report::new(heading(job, demo));
        Ok(RunReport { path, report, demo })
    }

    /// Writes it, unless the path has come to hold something else, such as the lines of this run.
    pub(crate) fn write(&self) -> Result<(), Refusal> {
        replaceable(&self.path, self.demo)?;
        let picture = self.path.extension().is_some_and(|ending| ending == "svg");
        let text = if picture { self.report.svg() } else { self.report.html() };
        let path = self.path.display();
        std::fs::write(&self.path, text)
            .map_err(|error| Refusal::unwritable("--report", &self.path, &error))?;
        // Behind many lines nobody would know of it.
        let _ = writeln!(std::io::stderr(), "wrote {path}");
        Ok(())
    }
}

/// Refuses a path that holds something else than a report, or for a demonstration than a report of one.
fn replaceable(path: &Path, demo: bool) -> Result<(), Refusal> {
    let held = match path.try_exists() {
        Ok(true) => std::fs::read(path).map_err(|error| Refusal::unreadable("--report", path, &error))?,
        _ => return Ok(()),
    };
    // A page of what was released is not lost to one of a truth.
    let lost = demo && !Report::is_of_demo(&held);
    if held.is_empty() || (Report::is_of(&held) && !lost) {
        return Ok(());
    }
    let held = if Report::is_of(&held) { "a report of releases" } else { "something else than a report" };
    Err(Refusal::new(format!(
        "--report: {} holds {held}, and is left as it is; give the path of a new file",
        path.display()
    )))
}

/// What a job says of itself.
fn heading(job: &Job, demo: bool) -> Heading {
    let domain = job.account();
    Heading {
        job: job.name.to_string(),
        promise: domain.promise().sentence(domain.neighbours(), in_words),
        domain: domain.name().to_string(),
        budget: domain.cap().to_string(),
        made: format!("{:.0}", jiff::Timestamp::now()),
        demo,
    }
}

/// Tells a report what has left.
pub(crate) fn told(page: Arc<Mutex<RunReport>>) -> ReleaseListener {
    Box::new(move |lines, standing| {
        page.lock().unwrap_or_else(PoisonError::into_inner).report.tell(lines, Some(standing));
    })
}

/// Shows on a terminal how much of the input is read, and nothing elsewhere.
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
        // A run without a bar is a run.
        let _ = std::thread::Builder::new().name("bar".into()).spawn(draw);
    }))
}

/// Tells the operator at once what should be looked at; the run goes on.
pub(crate) fn warn(warning: &str) {
    let _ = writeln!(std::io::stderr(), "warning: {warning}");
}

/// Says what the fields of a demonstration were found to hold.
pub(crate) fn show_survey(survey: &Survey) {
    let _ = write!(std::io::stderr(), "{survey}");
}

/// Ends the process as a crash would, which is safe at any moment.
pub(crate) fn end_at_once(why: String, code: u8) {
    let _ = writeln!(std::io::stderr(), "error: {why}");
    std::process::exit(code.into());
}
