//! `discreet fit`: released lines with fitted values.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgGroup, Args};
use discreet::fit::{Fit, FitSummary, Fitter};
use discreet::job::Job;
use discreet::job::config::{ConfigNumber, StatisticSpec};
use discreet::ledger::Name;

use super::observers::{ReportPath, RunReport};
use super::values::{path, release, walk};
use super::{Refusal, finish, log};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("fits").required(true).multiple(true))]
pub(crate) struct FitArgs {
    /// A file of released lines of JSON, not of CSV; or - for standard input
    lines: PathBuf,
    /// Fit each value by those of its key up to it, as of a number that moves from window to window by about this deviation: the Kalman filter
    #[arg(long, value_name = "RELEASE=DEVIATION", group = "fits", value_parser = walk())]
    filter: Vec<(Name, f64)>,
    /// Fit each value by all of its key, before and behind it, once the input has ended: the Kalman smoother
    #[arg(long, value_name = "RELEASE=DEVIATION", group = "fits", value_parser = walk())]
    smooth: Vec<(Name, f64)>,
    /// Fit totals so far as numbers that never fall and are never below zero, once the input has ended: isotonic regression. By
    /// giving it you state that, of a sum, no value is below zero
    #[arg(long, value_name = "RELEASE", group = "fits", value_parser = release())]
    monotone: Vec<Name>,
    /// Draw the keys of each window towards their mean, by their noise: the James-Stein estimator, for four keys and more
    #[arg(long, value_name = "RELEASE", group = "fits", value_parser = release())]
    shrink: Vec<Name>,
    /// The job file of the lines: a release that it has not, or whose totals may fall, is refused before the first line
    #[arg(long, value_name = "JOB")]
    job: Option<PathBuf>,
    /// Write a report of all lines, with the fitted values: a page (.html), or its charts alone (.svg)
    #[arg(long, requires = "job", value_parser = path(ReportPath::new))]
    report: Option<ReportPath>,
}

/// The summaries, with a note about the lines of other releases.
type FitOutcome = (Vec<FitSummary>, Option<String>);

/// The longest line that is read, in bytes: a longer one passes in parts.
const LONGEST: u64 = 1 << 20;

impl FitArgs {
    /// Writes the lines to standard output, and the summary to standard error.
    pub(crate) fn run(self) -> ExitCode {
        match self.fitted() {
            Ok(Ok((summaries, others))) => {
                for summary in &summaries {
                    summary.to_string().lines().for_each(log::note);
                    summary.without().iter().chain(&summary.lag()).for_each(|warning| log::warn(warning));
                }
                others.iter().for_each(|others| log::note(others));
                finish(Ok(()), 0)
            }
            Ok(Err(unwritten)) => finish(Err(unwritten), 0),
            Err(refusal) => refusal.finish(),
        }
    }

    fn fits(&self) -> impl Iterator<Item = (String, Fit)> {
        let filter = self.filter.iter().map(|(name, deviation)| (name, Fit::Filter(*deviation)));
        let smooth = self.smooth.iter().map(|(name, deviation)| (name, Fit::Smooth(*deviation)));
        let monotone = self.monotone.iter().map(|name| (name, Fit::Monotone));
        let shrink = self.shrink.iter().map(|name| (name, Fit::Shrink));
        let fits = filter.chain(smooth).chain(monotone).chain(shrink);
        fits.map(|(name, fit)| (name.as_str().to_owned(), fit))
    }

    /// Passes the lines on, and returns the summaries with a note about other releases, or the error of standard output.
    fn fitted(&self) -> Result<io::Result<FitOutcome>, Refusal> {
        let mut fitter = Fitter::new(self.fits()).map_err(|refused| Refusal::new(format!("--{refused}")))?;
        let job = self.job.as_ref().map(Job::open).transpose()?;
        if let Some(job) = &job {
            self.fits().try_for_each(|(name, fit)| is_of(job, &name, fit))?;
        }
        let report = self.report.as_ref().zip(job.as_ref());
        if let Some((path, job)) = report {
            RunReport::new(path.clone(), job, false, Some(&self.lines))?;
        }
        let mut shown = String::new();
        let path: &Path = &self.lines;
        let unreadable = |error: io::Error| Refusal::unreadable("lines", path, &error);
        let mut source: BufReader<Box<dyn Read>> = match path.to_str() {
            Some("-") => BufReader::new(Box::new(io::stdin())),
            _ => BufReader::new(Box::new(File::open(path).map_err(unreadable)?)),
        };
        let mut output = io::BufWriter::new(io::stdout().lock());
        let (mut line, mut out) = (Vec::new(), Vec::new());
        loop {
            line.clear();
            let read = source.by_ref().take(LONGEST).read_until(b'\n', &mut line).map_err(unreadable)?;
            if read == 0 {
                break;
            }
            let taken = fitter.take(&line, &mut out);
            let mut written = output.write_all(&out);
            if report.is_some() {
                shown += &String::from_utf8_lossy(&out);
            }
            out.clear();
            // The reader of a pipe gets a line when it is there.
            if source.buffer().is_empty() || taken.is_err() {
                written = written.and_then(|()| output.flush());
            }
            if let Err(error) = written {
                return Ok(Err(error));
            }
            taken.map_err(|unfit| Refusal::new(format!("--{unfit}")))?;
        }
        let others = fitter.others();
        let finished = fitter.finish(&mut out);
        if let Err(error) = output.write_all(&out).and_then(|()| output.flush()) {
            return Ok(Err(error));
        }
        let summaries = finished.map_err(|unfit| Refusal::new(format!("--{unfit}")))?;
        if let Some((path, job)) = report {
            shown += &String::from_utf8_lossy(&out);
            // In no text of a line do quotation marks stand without a backslash before them.
            let is_demo = shown.contains(",\"demo\":true");
            let mut page = RunReport::new(path.clone(), job, is_demo, Some(&self.lines))?;
            page.add(&shown);
            page.write()?;
        }
        Ok(Ok((summaries, others)))
    }
}

/// Refuses a release that the job has not, and totals that fall by what the job says of them.
fn is_of(job: &Job, name: &str, fit: Fit) -> Result<(), Refusal> {
    let option = fit.word();
    let Some(release) = job.releases.iter().find(|release| release.name.as_str() == name) else {
        let names: Vec<&str> = job.releases.iter().map(|release| release.name.as_str()).collect();
        let names = names.join(", ");
        return Err(Refusal::new(format!(
            "--{option}: {name}: found no such release in the job; give one of {names}"
        )));
    };
    let zero = ConfigNumber::parse("0")?;
    match (fit, &release.statistic) {
        (Fit::Monotone, StatisticSpec::Sum(sum)) if sum.measure.low < zero => Err(Refusal::new(format!(
            "--{option}: {name}: found a sum whose range begins below zero, so that its totals may fall; give a release of counts or \
                 people, or a sum of values that are not below zero"
        ))),
        _ => Ok(()),
    }
}
