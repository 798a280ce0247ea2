//! The estimate of a log from a part of the budget: a second job over the same records, whose releases are
//! charged to the same account, and the shape that is made of its released lines.
//!
//! The second job has one window, over all the time from `job.from` until `job.until`, and no other record is
//! read. Its releases are the number of people, quantiles of the number of records of a person, and quantiles
//! of the values and sums that the releases of the job need. It runs as a replay: each release is charged for
//! the whole time before its line leaves, and once for one part of the budget, however often the run is
//! killed and started again. The keys are not estimated.

mod releases;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs};

use super::TuningScope;
use super::shares::of_parts;
use crate::accounting::PrivacyCost;
use crate::dataflow::RunError;
use crate::job::config::{BudgetShare, ConfigNumber, Job, PriceSpec, Protected, RecordFormat, WatchSpec};
use crate::job::log_shape::{EstimatedLog, EstimatedValues, LogShape, QuantileCurve, ReleasedQuantile};
use crate::job::release_plan::ReleasePlan;
use crate::job::run::rounded_down;
use crate::job::unfit::UnfitJob;
use crate::job::{BudgetLeft, OperatorNotice, Replay, RunObserver, Warn};
use crate::ledger::{Name, ReleaseId};
use crate::mechanisms::release_line::{ReleaseLine, Says};
use releases::{ValuesToEstimate, values_to_estimate};
use words::EstimateWords;

/// The stated number and skew of the keys of a log, for they are not estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatedKeys {
    /// The number of keys; without it as many as the largest list of a release has, or 100 if keys are
    /// discovered.
    pub keys: Option<u64>,
    /// The skew of keys.
    pub skew: Option<ConfigNumber>,
}

/// An estimate that has not run.
#[derive(Clone, Debug)]
pub struct LogEstimate<'j> {
    of: &'j Job,
    /// The second job.
    job: Job,
    share: BudgetShare,
    keys: StatedKeys,
    values: Vec<ValuesToEstimate>,
    file: PathBuf,
}

/// The reason for which there is no estimate.
#[derive(Debug)]
#[non_exhaustive]
pub enum EstimateError {
    /// The run has failed, or did not begin.
    Run(RunError),
    /// The budget does not pay for it. Nothing was released, unless it was spent by another job meanwhile.
    Budget(String),
    /// The run was stopped before its end: the same call goes on.
    Stopped,
}

impl fmt::Display for EstimateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EstimateError::Run(error) => error.fmt(f),
            EstimateError::Budget(message) => f.write_str(message),
            EstimateError::Stopped => {
                f.write_str("--estimate: it was stopped before its end; give the same command again")
            }
        }
    }
}

impl std::error::Error for EstimateError {}

impl From<RunError> for EstimateError {
    fn from(error: RunError) -> EstimateError {
        EstimateError::Run(error)
    }
}

impl From<UnfitJob> for EstimateError {
    fn from(unfit: UnfitJob) -> EstimateError {
        EstimateError::Run(unfit.into())
    }
}

/// The option that states the part of the budget.
const OPTION: &str = "--estimate";

/// The end of the name of the second job, behind that of the job.
const SUFFIX: &str = "-estimate";

impl Job {
    /// Prepares an estimate of the log of the job on a part of its budget. Its lines go to a file beside the
    /// ledger if `file` names no other one. Reads no record.
    ///
    /// # Errors
    ///
    /// If the job cannot be tuned, or its log cannot be estimated: it has no ends, each record is protected
    /// by itself, the records come once, or the shares of its releases leave no such part of the budget.
    pub fn log_estimate(
        &self,
        share: BudgetShare,
        keys: StatedKeys,
        file: Option<&Path>,
    ) -> Result<LogEstimate<'_>, RunError> {
        self.can_be_estimated()?;
        self.leaves(share)?;
        let values = values_to_estimate(self);
        let name = Name::new("name", &format!("{}{SUFFIX}", self.name)).map_err(|_| {
            UnfitJob::new(
                "job.name",
                "found a name that is too long for an estimate; give one of at most 55 characters",
            )
        })?;
        let is_pure = matches!(self.account().cap(), PrivacyCost::Pure { .. });
        let job = Job {
            name,
            // The window of each release, which is read and paid for.
            from: self.from,
            until: self.until,
            releases: releases::releases(share, &values, is_pure)?,
            asks: Vec::new(),
            // Nothing of it is watched: it is over with its replay.
            watch: WatchSpec::default(),
            ..self.clone()
        };
        let file = match file {
            Some(file) => file.to_owned(),
            None if self.privacy.is_remote() => {
                let message = "--estimate-out: found nothing; a ledger on a server has no file beside it, so name the file \
                               for the lines of the estimate";
                return Err(RunError::configuration(message));
            }
            None => self.privacy.ledger.with_file_name(format!("{}.estimate.jsonl", self.name)),
        };
        self.keeps_apart("--estimate-out", &file, None)?;
        is_read_back(&file)?;
        let estimate = LogEstimate { of: self, job, share, keys, values, file };
        estimate.is_useful()?;
        Ok(estimate)
    }

    /// Refuses a job whose log cannot be estimated.
    fn can_be_estimated(&self) -> Result<(), UnfitJob> {
        let refuse = |field: &str, message: &str| Err(UnfitJob::new(field, message));
        if self.privacy.privacy_unit == Protected::Record {
            let message = "found \"record\", which has one record in one key: there is no bound to choose, and --estimate would \
                           pay for nothing; give --rows and --people";
            return refuse("privacy.unit", message);
        }
        for (field, time) in [("job.from", self.from), ("job.until", self.until)] {
            if time.is_none() {
                let message = "found nothing; give the time from which on, and until which, records are read and paid for";
                return refuse(field, message);
            }
        }
        if matches!(self.source.records, RecordFormat::Synthetic(_)) {
            return refuse(
                "source.type",
                "found a synthetic log, whose shape is known at no cost; leave --estimate out",
            );
        }
        if self.source.http.is_some() {
            let message = "found records that a live run alone receives; give --rows and --people, or --like with a \
                           public sample";
            return refuse("source.http", message);
        }
        if self.is_read_once() {
            let message = "found an input that can be read once: the job would lack what the estimate has read; give files";
            return refuse("source.path", message);
        }
        Ok(())
    }

    /// Refuses a share that the releases of the job do not leave.
    fn leaves(&self, share: BudgetShare) -> Result<(), UnfitJob> {
        let taken = self.shares();
        let whole = BudgetShare::WHOLE.parts();
        if taken + share.parts() > whole {
            let most = of_parts(whole.saturating_sub(share.parts())).map_or("0".to_owned(), shown);
            let taken = of_parts(taken).map_or("0".to_owned(), shown);
            let message = format!(
                "found shares of {taken} together, which leave no {} of the budget for {OPTION}; give shares that come to at most \
                 {most}, or a smaller part for the estimate",
                shown(share)
            );
            return Err(UnfitJob::new("release.share", message));
        }
        Ok(())
    }
}

impl Job {
    /// Returns the shares of the releases and questions together, in units of [`BudgetShare::parts`].
    pub(in crate::job) fn shares(&self) -> u64 {
        let prices = self.releases.iter().map(|release| &release.price);
        let prices = prices.chain(self.asks.iter().map(|ask| &ask.price));
        let shares = prices.filter_map(|price| match price {
            PriceSpec::Share(share) => Some(share.parts()),
            PriceSpec::Cost(_) => None,
        });
        shares.sum()
    }
}

fn shown(share: BudgetShare) -> String {
    share.to_decimal().to_string()
}

/// Refuses a file of lines from which they cannot be read back.
fn is_read_back(file: &Path) -> Result<(), RunError> {
    let refuse = |found: &str| {
        let message = format!(
            "--estimate-out: {}: found {found}; give a file of lines of JSON, such as estimate.jsonl",
            file.display()
        );
        Err(RunError::configuration(message))
    };
    if file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
        return refuse("the name of a table");
    }
    if file == Path::new("-") || file.metadata().is_ok_and(|found| !found.is_file()) {
        return refuse("what keeps no lines");
    }
    Ok(())
}

impl LogEstimate<'_> {
    /// Returns the second job.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Returns the file of the released lines.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Refuses an estimate after which nothing could be chosen: before anything is paid, the job is tuned by
    /// a log that is made up.
    fn is_useful(&self) -> Result<(), RunError> {
        let beside = [&self.of.releases[..], &self.job.releases[..]].concat();
        let both = Job { releases: beside, ..self.of.clone() };
        both.release_plans(both.horizon())
            .map_err(|unfit| self.words().unfit(&unfit, self.of.releases.len()))?;
        let one = |value: f64| QuantileCurve::new(&[ReleasedQuantile { q: 0.5, value, scale: 0.0 }], 1.0);
        let values = self.values.iter().map(|own| (own, one(own.high.to_f64()))).collect();
        let made_up = self.log((1_000, one(10.0), values));
        let tuning = self.of.tune(&LogShape::estimated(self.of, made_up, self.keys)?, TuningScope::BOUNDS)?;
        if tuning.releases.iter().all(|release| release.chosen.is_none()) {
            let message = "found no release whose bound or share could be chosen; leave --estimate out, which would pay for nothing";
            return Err(UnfitJob::new("release", message).into());
        }
        Ok(())
    }

    /// Returns the words of the command and of the job file for those of the second job.
    fn words(&self) -> EstimateWords {
        EstimateWords {
            job: self.of.name.to_string(),
            version: self.of.version,
            share: self.share,
            values: self.values.clone(),
        }
    }

    /// Runs the second job over its records, and makes a log of what it has released: a former run's lines,
    /// where it has released them already. They are charged before they leave, and once.
    ///
    /// # Errors
    ///
    /// If the budget does not pay for all of them, before any is released; and as [`Job::replay`].
    pub fn run(&self, replay: Replay) -> Result<LogShape, EstimateError> {
        let in_other_words = |error: RunError| error.reworded(|message| self.words().of(message));
        let connected = self.job.connect(Some(&self.file)).map_err(in_other_words)?;
        if !connected.refused.is_empty() {
            return Err(EstimateError::Budget(self.too_dear(connected.left.as_ref())));
        }
        if connected.lacks_archived.is_some() {
            return Err(self.archived().into());
        }
        if let (Some(unfinished), Some(warn)) = (&connected.unfinished, &replay.onlooker.warning) {
            warn(&format!(
                "job.until: found {}, which is after now: {OPTION} counts the records that are there as those of all the time until \
                 then, and has the same numbers later; for an estimate of a time that is over, give it a job file with an \
                 earlier until",
                unfinished.end
            ));
        }
        let RunObserver { warning, notice, .. } = replay.onlooker;
        let (words, notices) = (self.words(), self.words());
        let onlooker = RunObserver {
            warning: warning.map(|warn| -> Warn { Box::new(move |text| warn(&words.of(text))) }),
            notice: notice
                .map(|notice| -> OperatorNotice { Arc::new(move |text| notice(&notices.of(text))) }),
            ..replay.onlooker
        };
        // A demonstration would pay for nothing, and other processes have no ledger.
        let (out, unfinished) = (Some(self.file.clone()), true);
        let own = Replay { out, unfinished, demo: false, processes: None, onlooker, ..replay };
        let finished = self.job.replay(own).map_err(in_other_words)?;
        if finished.is_stopped() {
            return Err(EstimateError::Stopped);
        }
        let others = self.of.budget_left_beside(Some(&self.job))?.filter(BudgetLeft::is_shared);
        let others = others.map_or(0, |left| BudgetShare::WHOLE.parts() - left.parts());
        let released = EstimatedLog { others, ..self.released()? };
        Ok(LogShape::estimated(self.of, released, self.keys)?)
    }

    /// Returns the reason for which the budget does not pay for the estimate, and the largest part that it pays for.
    fn too_dear(&self, left: Option<&BudgetLeft>) -> String {
        let (share, account) = (shown(self.share), &self.of.privacy.account);
        let amend = "raise the cap with `discreet ledger amend`, which weakens the promise to these people";
        let found = format!("{OPTION}: found {share} of the budget of account {account}");
        match left.map(|left| (left, rounded_down(left.parts()))) {
            Some((left, most)) if left.is_shared() && most != "0" => {
                format!("{found}, of which {} left {most}; give at most that, or {amend}", left.have())
            }
            Some((left, _)) if left.is_shared() => {
                format!("{found}, of which {} left nothing; {amend}", left.have())
            }
            _ => format!("{found}, of which less is left; give a smaller part, or {amend}"),
        }
    }

    /// Returns the reason for which the lines of the estimate, which an archive has, are not released again.
    fn archived(&self) -> RunError {
        let (file, second) = (self.file.display(), &self.job.name);
        RunError::configuration(format!(
            "--estimate-out: {file}: found no lines of the estimate, which are in archives of the ledger; print them with \
             `discreet ledger lines ARCHIVE.. --job {second}` into that file, or give the former one"
        ))
    }

    /// Reads the released lines of this estimate from its file.
    fn released(&self) -> Result<EstimatedLog, EstimateError> {
        let unreadable = |error| RunError::sink(&error);
        let text = fs::read_to_string(&self.file).map_err(unreadable)?;
        let mut found = Vec::with_capacity(self.job.releases.len());
        for (at, offer) in self.job.release_plans(self.job.horizon())?.iter().enumerate() {
            found.push(self.released_quantiles((at, offer), &text)?);
        }
        let mut found = found.into_iter();
        let people = found.next().and_then(|cells| cells.first().map(|cell| cell.value)).unwrap_or(0.0);
        // The noise may take a small number below zero.
        let people = people.round().max(1.0);
        let curves: Vec<QuantileCurve> = found.map(|cells| QuantileCurve::new(&cells, people)).collect();
        let mut curves = curves.into_iter();
        let missing = || RunError::configuration(format!("{OPTION}: found no quantiles of records"));
        let records = curves.next().ok_or_else(missing)?;
        Ok(self.log((people as u64, records, self.values.iter().zip(curves).collect())))
    }

    fn log(&self, (people, records, values): EstimatedNumbers<'_>) -> EstimatedLog {
        let of_field = |(own, curve): (&ValuesToEstimate, QuantileCurve)| EstimatedValues {
            of: own.of.clone(),
            of_sums: own.of_sums,
            curve,
            ends: (own.low.to_f64(), own.high.to_f64()),
        };
        EstimatedLog {
            share: self.share,
            releases: self.of.shares(),
            others: 0,
            account: self.of.privacy.account.to_string(),
            file: self.file.clone(),
            people,
            records,
            values: values.into_iter().map(of_field).collect(),
        }
    }

    /// Returns the numbers that a release has in the lines of a file, by its id: another version has others.
    fn released_quantiles(
        &self,
        (at, offer): (usize, &ReleasePlan),
        text: &str,
    ) -> Result<Vec<ReleasedQuantile>, EstimateError> {
        let window = offer.schedule.window(0).ok_or_else(|| UnfitJob::new("job.until", "found no window"))?;
        let release = ReleaseId {
            account: self.job.privacy.account.clone(),
            job: self.job.name.clone(),
            version: self.job.version_digest(offer).map_err(RunError::from)?,
            name: offer.name.clone(),
            window,
            part: None,
        };
        let id = release.id().to_string();
        let lines = text.lines().filter_map(ReleaseLine::read);
        let own: Vec<ReleaseLine<'_>> =
            lines.filter(|line| line.release == offer.name.as_str() && !line.demo).collect();
        let cells = own.iter().filter_map(|line| match &line.says {
            Says::Cell(cell) if cell.id == id => Some(cell),
            _ => None,
        });
        let number = |text: Option<&str>| text.and_then(|text| text.parse::<f64>().ok());
        let quantiles: Vec<ReleasedQuantile> = cells
            .filter_map(|cell| {
                let scale = cell.noise.first().and_then(|noise| number(Some(noise.scale()))).unwrap_or(0.0);
                Some(ReleasedQuantile { q: number(cell.q).unwrap_or(0.5), value: number(cell.value)?, scale })
            })
            .collect();
        if !quantiles.is_empty() {
            return Ok(quantiles);
        }
        let message = |what: &str| {
            format!(
                "{OPTION}: {} {what}, and nothing is released of it again in this version of the job; give the job another version, \
                 or --rows and --people",
                self.words().what(at)
            )
        };
        Err(match own.iter().any(|line| matches!(line.says, Says::Refused(_))) {
            true => EstimateError::Budget(message("was refused for budget")),
            false => EstimateError::Run(RunError::configuration(message("was lost"))),
        })
    }
}

/// The number of people, the quantiles of their records, and those of the values of each field.
type EstimatedNumbers<'v> = (u64, QuantileCurve, Vec<(&'v ValuesToEstimate, QuantileCurve)>);

#[cfg(test)]
mod tests;
