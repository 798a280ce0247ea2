//! A bounded run, in event time: the releases that a budget buys, or has bought.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::demo::{Demo, TemporaryLedger};
use super::processes::{OperatorNotice, announced};
use super::sample::{conditions, uses};
use super::*;
use crate::dataflow::{Clock, SystemClock};
use crate::job::questions::{AskPlan, QuestionInput};
use crate::ledger::Row;
use crate::time::Span;

/// The settings of a replay.
#[derive(Debug)]
#[non_exhaustive]
pub struct Replay {
    /// The number of threads of this process that share the work.
    pub workers: usize,
    /// The other processes, if any.
    pub processes: Option<Processes>,
    /// True for a demonstration: charged to a ledger that is thrown away, with the truth beside the noise.
    pub demo: bool,
    /// The file that lines are written to; standard output where it is `None`.
    pub out: Option<PathBuf>,
    /// True if a new file of lines may lack the rows that are in archives of the ledger.
    pub without_archived: bool,
    /// True if windows that are not over are released too, for good, from the records that are there.
    pub unfinished: bool,
    /// The switch that stops it before its end.
    pub stop: Stop,
    /// The observer of the run.
    pub onlooker: RunObserver,
}

impl Default for Replay {
    fn default() -> Replay {
        let (stop, onlooker) = (Stop::new(), RunObserver::default());
        Replay {
            workers: 1,
            processes: None,
            demo: false,
            out: None,
            without_archived: false,
            unfinished: false,
            stop,
            onlooker,
        }
    }
}

/// A replay that has not begun.
struct PreparedReplay {
    horizon: Horizon,
    crew: Crew,
    sink: Option<Sink>,
    offers: Vec<ReleasePlan>,
    asks: Vec<(AskPlan, QuestionInput)>,
    gate: Gate,
    config: Config,
    thrown_away: Option<TemporaryLedger>,
}

/// The rows of a demonstration, until its truth is known.
type ReplayedRows = Arc<Mutex<Vec<(Row, BudgetStatus)>>>;

impl Job {
    /// Runs the job over all of its input, which ends, and releases every window of its horizon then.
    ///
    /// It is a real release, charged to the ledger, unless it is a demonstration. A second replay releases
    /// the same lines, and charges nothing. A window that is not over, and that has no row, is refused before
    /// anything is released, unless [`unfinished`](Replay::unfinished) windows are asked for.
    ///
    /// # Errors
    ///
    /// As [`execute`](crate::execute), and where the job cannot run as it is configured.
    pub fn replay(&self, replay: Replay) -> Result<Finished, RunError> {
        let Replay { workers, processes, demo, out, without_archived, unfinished, stop, onlooker } = replay;
        let RunObserver {
            released: on_release,
            opened,
            former,
            reading,
            ending,
            notice,
            warning,
            surveyed,
            ..
        } = onlooker;
        let others = processes.as_ref();
        let prepared = self.prepare_replay(
            workers,
            others,
            demo,
            ((out.as_deref(), without_archived, unfinished), &stop, notice.clone()),
        );
        let PreparedReplay { horizon, crew, sink, offers, asks, gate, config, thrown_away } =
            announced(others, prepared)?;
        if let Some((opened, account)) = opened.filter(|_| !demo).zip(stated_account(self, &gate)) {
            opened(account);
        }
        // An answer stays released when its question is renamed or removed, and a window when the job ends earlier.
        let plans: Vec<AskPlan> = asks.iter().map(|(ask, _)| ask.clone()).collect();
        let versions = PresentVersions::of(self, (&offers, &plans))?;
        if let Some(mut former) = former.filter(|_| !demo && !gate.is_elsewhere()) {
            FormerRows::of(self, (&offers, &plans), &gate)?.newest(usize::MAX, |row| former(&row.lines()))?;
        }
        let (uses, span) = (uses(self, &offers), (horizon.from, horizon.until));
        let (pace, input_reading) = (InputPace::Bounded, InputReading::default());
        let way = |outlet| RunContext { config, stop, pace, input_reading, crew, outlet, reading, ending };
        if !demo {
            let outlet = Outlet {
                sink,
                left_out: notice.clone(),
                ..Outlet::at_once(each_release(on_release, versions))
            };
            let survey = Arc::new(Survey::for_run(uses, span, warning));
            let (demo, at_end) = (None, true);
            let run = JobRun { job: self, offers, asks, horizon, gate, demo, at_end, survey, notice };
            return run.go(way(outlet)).map(|(finished, _)| finished);
        }
        let demo = Some(Demo::new(&offers, &plans, &gate));
        let kept = ReplayedRows::default();
        let keep = Arc::clone(&kept);
        let keep = move |release: &LeavingRelease| {
            if release.is_repeated() {
                return;
            }
            let on_release = (release.row().clone(), release.budget_status().clone());
            keep.lock().unwrap_or_else(PoisonError::into_inner).push(on_release);
        };
        let outlet = Outlet::at_once(Box::new(keep));
        let survey = Arc::new(
            Survey::for_open_data(uses, span, u64::MAX)
                .with_conditions(conditions(self))
                .in_zone(&self.source.zone)
                .partial(crew.processes > 1),
        );
        let (at_end, counted) = (true, Arc::clone(&survey));
        let run = JobRun { job: self, offers, asks, horizon, gate, demo, at_end, survey: counted, notice };
        let ended = run.go(way(outlet));
        // Unreadable lines are reported first where they have ended the run; a source that was never read has
        // none.
        let was_read = ended.is_ok() || survey.lines() > 0 || survey.bad() > 0;
        if let Some(surveyed) = surveyed.filter(|_| was_read) {
            surveyed(&survey);
        }
        let (finished, shown) = ended?;
        let kept = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(sink) = sink {
            show(sink, on_release, &shown, &kept)?;
        }
        drop(thrown_away);
        Ok(finished)
    }

    /// Prepares all parts of a replay that can fail, before it joins the others.
    fn prepare_replay(
        &self,
        workers: usize,
        processes: Option<&Processes>,
        demo: bool,
        ((out, without_archived, unfinished), stop, notice): (
            (Option<&Path>, bool, bool),
            &Stop,
            Option<OperatorNotice>,
        ),
    ) -> Result<PreparedReplay, RunError> {
        let crew = self.crew(workers, processes)?;
        let horizon = self.replayed(demo, crew.processes)?;
        let (offers, asks) = (self.release_plans(horizon)?, self.ask_plans(horizon)?);
        let late = self.source.late.map_or(0, Span::as_microseconds);
        // Only the first process asks, so the others need no file of questions.
        let questions = asks.iter().zip(&self.asks).map(|(plan, ask)| match crew.process {
            0 => QuestionInput::whole(ask.questions.as_deref(), &plan.schema, plan.last_close(late)),
            _ => Ok(QuestionInput::none()),
        });
        let questions = questions.collect::<Result<Vec<_>, RunError>>()?;
        let questions: Vec<(AskPlan, QuestionInput)> = asks.iter().cloned().zip(questions).collect();
        // The first process holds the ledger and writes the lines; the others count.
        let wait = Wait { stop, notice: notice.as_ref() };
        let mut sink = if crew.process == 0 { Some(sink(self, out, demo, wait)?) } else { None };
        let thrown_away = demo.then(|| TemporaryLedger::make(self)).transpose()?;
        let gate = match &thrown_away {
            None => self.gate_of(crew, (&offers, &asks), (sink.as_mut(), without_archived), |ledger| {
                let found = self.unfinished_in(ledger, (&offers, &questions), SystemClock.now())?;
                found.filter(|_| !unfinished).map_or(Ok(()), |found| Err(found.refusal()))
            })?,
            Some(thrown_away) => thrown_away.open(self, crew)?,
        };
        if let Some(sink) = sink.as_mut().filter(|_| !demo) {
            FormerRows::of(self, (&offers, &asks), &gate)?.complete(sink, notice.as_ref())?;
        }
        let kind = if demo { "demo" } else { "replay" };
        let config = self.crewed(workers, processes, ((&offers, &asks), gate.key()), (kind, notice))?;
        Ok(PreparedReplay { horizon, crew, sink, offers, asks: questions, gate, config, thrown_away })
    }

    /// The windows of a replay: those that the file states, or, in a demonstration, those that hold the data.
    fn replayed(&self, demo: bool, processes: usize) -> Result<Horizon, RunError> {
        match self.horizon() {
            horizon if !self.is_timed() => Ok(horizon),
            horizon @ Horizon { from: Some(_), until: Some(_) } => Ok(horizon),
            Horizon { from, .. } if demo && processes > 1 => {
                let field = if from.is_none() { "job.from" } else { "job.until" };
                Err(RunError::configuration(format!(
                    "{field}: found nothing; give from and until in [job]: each of several processes would look for them in \
                     the files that it sees, and with other windows none could join the others"
                )))
            }
            horizon if demo => demo::inferred(self, horizon),
            Horizon { from, .. } => {
                let field = if from.is_none() { "job.from" } else { "job.until" };
                Err(RunError::configuration(format!(
                    "{field}: found nothing; give the time from which on, and until which, there are windows: a replay \
                     cannot take it from the data, for which windows there are is public (with --demo it does)"
                )))
            }
        }
    }
}

fn each_release(
    on_release: Option<ReleaseListener>,
    versions: PresentVersions,
) -> Box<dyn FnMut(&LeavingRelease) + Send> {
    match on_release {
        Some(mut on_release) => Box::new(move |release| {
            if !release.is_repeated() && versions.has(release.row().release()) {
                on_release(&release.to_string(), release.budget_status());
            }
        }),
        None => Box::new(|_| {}),
    }
}

/// Shows a demonstration to its observer, once all of its truth is known.
fn show(
    mut sink: Sink,
    mut on_release: Option<ReleaseListener>,
    (offers, asks, demo): &Shown,
    kept: &[(Row, BudgetStatus)],
) -> Result<(), RunError> {
    for (row, budget_status) in kept {
        let name = &row.release().name;
        let offered = offers.iter().enumerate().find(|(_, offer)| offer.name == *name);
        let asked = asks.iter().find(|(ask, _)| ask.name == *name).zip(row.release().part);
        let lines = match (offered, asked, demo) {
            (Some((at, offer)), _, Some(demo)) => {
                demo.annotate(at, offer, row.release().window, &row.lines())
            }
            (None, Some(((ask, _), question)), Some(demo)) => {
                demo.annotate_answer(ask, &question, &row.lines())
            }
            _ => continue,
        };
        sink.put_lines(&lines).map_err(|error| RunError::sink(&error))?;
        if let Some(on_release) = &mut on_release {
            on_release(&lines, budget_status);
        }
    }
    sink.settle().map_err(|error| RunError::sink(&error))
}
