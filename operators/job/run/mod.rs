//! Jobs that run: a bounded replay, and a live run for as long as its stream does.
//!
//! Both are the same dataflow ([`graph`]), from the same release plans that a plan is printed of. They differ
//! in the sign that input is complete (its end, or a clock), in when lines leave ([`publish`]), and in
//! nothing that privacy depends on.

mod budget_left;
mod connect;
mod demo;
mod former;
mod graph;
mod live;
mod memory;
mod opening;
mod processes;
mod publish;
mod reading;
mod replay;
mod sample;
mod start_line;
#[cfg(test)]
mod tests;
mod unfinished;
mod vitals;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::config::{Every, Job, Protected, RecordFormat, SourcePlace};
use super::questions::{AskPlan, AskedField, QuestionInput};
use super::release_group::{ReleaseFields, group_releases};
use super::release_plan::{Horizon, ReleasePlan};
use super::sinks::Sink;
use super::sources::{
    self, Brake, ClusterCrew, Crew, FieldRequirements, InputPace, Progress, RecordCounts, Survey, Warn,
};
use super::unfit::UnfitJob;
use crate::dataflow::{Config, Finished, Joined, LeavingRelease, RunError, Stop, report_end};
use crate::gate::{BudgetStatus, Gate, InputReading, Opening};
use crate::ledger::{AccountSpec, LedgerError};
use crate::time::Time;
use demo::Demo;
use former::{FormerRows, PresentVersions};
use graph::{Graph, RecordFields};
use live::last_close;
use memory::Guard;
use publish::{Outlet, PublicationSchedule, Publisher, Rotation};
use publish::{Wait, of_out, sink};

pub use budget_left::BudgetLeft;
pub(in crate::job) use budget_left::{as_part, rounded_down, rounded_up, six_digits};
pub use connect::Connected;
pub use live::{ClockWord, Live};
pub use processes::{OperatorNotice, Processes};
pub use publish::Reopen;
pub use replay::Replay;
pub use unfinished::UnfinishedWindows;
pub use vitals::{VitalSigns, Vitals};

/// The observer of a run: it sees lines that have left, and how far the input is read. Nothing else is shown
/// of a run.
#[derive(Default)]
pub struct RunObserver {
    /// Called with all lines of a window once its sink has them, and with the status of its budget.
    pub released: Option<ReleaseListener>,
    /// Called once the ledger is open, with the account as the ledger states it: an amendment may have raised its cap. Never
    /// in a demonstration, and not where another process holds the ledger.
    pub opened: Option<OpenedListener>,
    /// Called before reading begins, with all lines of each window that left before a replay, or of the newest that left
    /// before a live run; never in a demonstration.
    pub former: Option<FormerListener>,
    /// Called before reading begins, if rows of the ledger are older than those that `former` is called with: some of them may
    /// be of this job.
    pub left_out: Option<Box<dyn FnOnce() + Send>>,
    /// Called once, when reading begins.
    pub reading: Option<Box<dyn FnOnce(Arc<Progress>) + Send>>,
    /// Called with each warning that the operator should read now; a run goes on after it.
    pub warning: Option<Warn>,
    /// Called at the end of a demonstration, with the survey of its fields.
    pub surveyed: Option<Surveyed>,
    /// Called where the process must end at once, with a message and the exit code; it does not return to a
    /// run.
    pub ending: Option<Box<dyn FnOnce(String, u8) + Send>>,
    /// Called with a notice for the operator: a process has not come, does not answer, or answers again; or
    /// the file for the lines cannot be opened anew.
    pub notice: Option<OperatorNotice>,
}

/// A function that is called with the survey of a demonstration.
pub type Surveyed = Box<dyn FnOnce(&Survey) + Send>;

/// A function that is called with a window's lines.
pub type ReleaseListener = Box<dyn FnMut(&str, &BudgetStatus) + Send>;

/// A function that is called with the account of a job, as its ledger states it.
pub type OpenedListener = Box<dyn FnOnce(&AccountSpec) + Send>;

/// A function that is called with the lines of a window that left before the run.
pub type FormerListener = Box<dyn FnMut(&str) + Send>;

impl fmt::Debug for RunObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunObserver")
    }
}

/// The context by which long ids are held as hashes.
const NAMES: &str = "discreet-dataflow 2026-11 people whose names are long";

/// Returns the account of a job as the ledger of its gate states it; `None` where another process holds the ledger.
fn stated_account<'g>(job: &Job, gate: &'g Gate) -> Option<&'g AccountSpec> {
    gate.accounts().iter().find(|account| account.name() == job.account().name())
}

impl Job {
    /// Sets the place that records are read from: a file, or `-` for standard input.
    ///
    /// # Errors
    ///
    /// If the job's records are synthetic.
    pub fn read_from(&mut self, path: &Path) -> Result<(), RunError> {
        let place =
            if path == Path::new("-") { SourcePlace::Stdin } else { SourcePlace::Files(path.to_owned()) };
        self.source.records = match &self.source.records {
            RecordFormat::Csv(_, form) => RecordFormat::Csv(place, form.clone()),
            RecordFormat::Jsonl(_) => RecordFormat::Jsonl(place),
            RecordFormat::Combined(_) => RecordFormat::Combined(place),
            columnar if columnar.is_columnar() && place == SourcePlace::Stdin => {
                let message =
                    "--from: found standard input, and columnar files are read at their places; give a path";
                return Err(RunError::configuration(message));
            }
            RecordFormat::Parquet(_) => RecordFormat::Parquet(place),
            RecordFormat::Arrow(_) => RecordFormat::Arrow(place),
            RecordFormat::Synthetic(_) => {
                let message = "--from: the source of this job is synthetic, and reads no file; leave it out";
                return Err(RunError::configuration(message));
            }
        };
        Ok(())
    }

    /// Returns true if a release has windows of time: then the job file or the data must bound them.
    pub(crate) fn is_timed(&self) -> bool {
        self.releases
            .iter()
            .map(|release| release.every)
            .chain(self.asks.iter().map(|ask| ask.every))
            .any(|every| every != Every::All)
    }

    /// The job's version: the file allows no other.
    pub(in crate::job) fn numbered(&self) -> u32 {
        u32::try_from(self.version).unwrap_or(u32::MAX)
    }
}

/// A job with its gate, about to run.
struct JobRun<'j> {
    job: &'j Job,
    offers: Vec<ReleasePlan>,
    /// The bundles of answers, each with its questions.
    asks: Vec<(AskPlan, QuestionInput)>,
    horizon: Horizon,
    gate: Gate,
    demo: Option<Demo>,
    at_end: bool,
    survey: Arc<Survey>,
    notice: Option<OperatorNotice>,
}

/// The plans of a run that has ended, and the truth where it is a demonstration.
type Shown = (Vec<ReleasePlan>, Vec<(AskPlan, QuestionInput)>, Option<Demo>);

/// The context in which a job runs.
struct RunContext {
    config: Config,
    stop: Stop,
    pace: InputPace,
    /// The way in which a live run reads.
    input_reading: InputReading,
    crew: Crew,
    outlet: Outlet,
    reading: Option<Box<dyn FnOnce(Arc<Progress>) + Send>>,
    ending: Option<Box<dyn FnOnce(String, u8) + Send>>,
}

impl JobRun<'_> {
    /// Runs the job to its end; returns the truth, too, where it is a demonstration.
    fn go(self, way: RunContext) -> Result<(Finished, Shown), RunError> {
        let Some(joined) = way.config.clone().stopped_by(&way.stop).join()? else {
            return Ok((Finished::stopped(), (self.offers, self.asks, self.demo)));
        };
        let peers = joined.peers().cloned();
        let ended = self.go_with(way, joined);
        // The other processes have no notice yet of a failure before the dataflow ran.
        if let (Some(peers), Err(failure)) = (peers, &ended) {
            peers.leave(Some(failure));
        }
        ended
    }

    fn go_with(self, way: RunContext, joined: Joined) -> Result<(Finished, Shown), RunError> {
        let JobRun { job, offers, asks, horizon, gate, demo, at_end, survey, notice } = self;
        let RunContext { config, pace, input_reading, crew, outlet, reading, ending, .. } = way;
        let plans: Vec<AskPlan> = asks.iter().map(|(ask, _)| ask.clone()).collect();
        let (groups, fields) = (group_releases(&offers), ReleaseFields::of(&offers, &plans));
        let secret = *gate.key().derive_for_ids(NAMES);
        let wanted = job.requirements((&fields, &plans), horizon, (secret, Arc::clone(&survey)));
        let brake = Brake::new();
        let guard = job.limits.memory.zip(config.spill).map(|(limit, spill)| {
            let ending = ending.unwrap_or_else(|| Box::new(|_, _| {}));
            Guard::watch(limit, (Arc::clone(&brake), spill), move |why| ending(why, INTERNAL_FAULT))
        });
        let guard = guard.transpose()?;
        let protected = &job.privacy.privacy_unit;
        let crew = ClusterCrew::new(crew, joined.peers());
        let clock = match &pace {
            InputPace::Follow(clock) => Some(Arc::clone(clock)),
            InputPace::Bounded => None,
        };
        let input = Arc::new(sources::open(&job.source, protected, wanted, pace, crew, brake)?);
        if let Some(reading) = reading {
            reading(input.progress());
        }
        let publisher = Publisher::start(outlet)?;
        let last = if at_end { None } else { last_close(&offers, &plans, job.source.late) };
        let graph = Arc::new(Graph {
            offers,
            asks,
            groups,
            fields,
            shape: RecordFields {
                person: matches!(protected, Protected::Person { .. }),
                id: job.source.id.is_some(),
            },
            account: job.privacy.account.to_string(),
            late: job.source.late,
            at_end,
            last,
            reading: input_reading,
            gate,
            demo,
            releases: publisher.inlet(),
            notice,
        });
        let (building, reading) = (Arc::clone(&graph), Arc::clone(&input));
        let progress = input.progress();
        let finished = joined.execute(move |worker, feeds| building.build(worker, feeds, &reading));
        let RecordCounts { records, late, ahead, before } = progress.counts();
        let bad = progress.bad();
        to_operator!(
            DEBUG,
            "input read",
            records,
            bad,
            late,
            ahead,
            before,
            "the input was read as far as it was"
        );
        // Lines leave while the gate can still receive their acknowledgement.
        survey.end(clock.map(|clock| clock.now()));
        // A sink may fail after the workers have ended.
        let refused = publisher.end(finished.as_ref().map_or(true, Finished::is_stopped));
        let finished = finished.and_then(|finished| refused.map_or(Ok(finished), Err));
        report_end(&finished);
        drop((input, guard));
        let shown = Arc::try_unwrap(graph)
            .map_or((Vec::new(), Vec::new(), None), |graph| (graph.offers, graph.asks, graph.demo));
        Ok((finished?, shown))
    }
}

/// The exit code of an internal fault, or of the memory limit.
const INTERNAL_FAULT: u8 = 70;
