//! A long-lived run: windows close by the clock.

use std::path::PathBuf;

use super::crew::{OperatorNotice, announced};
use super::looking::uses;
use super::vitals::Vitals;
use super::*;
use crate::dataflow::{Clock, SystemClock};

/// How a job is run for as long as its stream goes on.
#[derive(Debug)]
#[non_exhaustive]
pub struct Live {
    /// How many threads of this process share the work.
    pub workers: usize,
    /// The other processes, where there are some.
    pub processes: Option<Processes>,
    /// The file that lines go to; standard output where there is none.
    pub out: Option<PathBuf>,
    /// What stops it.
    pub stop: Stop,
    /// What makes it go on in a new file of the output's name, where the old one was moved away.
    pub reopen: Reopen,
    /// Who looks on.
    pub onlooker: Onlooker,
    /// What an operator may see of it while it runs.
    pub vitals: Vitals,
}

impl Default for Live {
    fn default() -> Live {
        let (stop, onlooker, vitals) = (Stop::new(), Onlooker::default(), Vitals::new());
        Live { workers: 1, processes: None, out: None, stop, reopen: Reopen::new(), onlooker, vitals }
    }
}

type Prepared = (Horizon, Crew, Option<Sink>, Vec<ReleasePlan>, Gate, Config);

impl Job {
    /// Runs the job until it is stopped, its source is gone, or its last window is told.
    ///
    /// Windows close by the clock: each is told at its end, its lateness and the slack after it, or at the next whole slack
    /// if it was not ready. A job that is started again reads its input anew; what was told stays as it was.
    ///
    /// # Errors
    ///
    /// As [`execute`](crate::execute), and where the job cannot run as it is configured.
    pub fn run(&self, live: Live) -> Result<Finished, RunError> {
        let Live { workers, processes, out, stop, reopen, onlooker, vitals } = live;
        let Onlooker { told, reading, ending, notice, warning, surveyed: _ } = onlooker;
        let others = processes.as_ref();
        let (horizon, crew, sink, offers, gate, config) =
            announced(others, self.prepared(workers, others, (out.as_deref(), &stop, notice.clone())))?;
        let rotation = out.map(|path| Rotation { reopen, path, notice });
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        vitals.begins(self.source.late, &offers);
        let told = watched(told, vitals.clone());
        let only_news = sink.as_ref().is_some_and(|sink| !sink.is_file());
        let when = When::OnTime { clock: Arc::clone(&clock), late: self.source.late, slack: self.slack };
        let outlet = Outlet { sink, rotation, left_out: None, only_news, when, told };
        let seen = vitals.clone();
        let reading: Box<dyn FnOnce(Arc<Progress>) + Send> = Box::new(move |progress| {
            seen.reads(Arc::clone(&progress));
            if let Some(reading) = reading {
                reading(progress);
            }
        });
        let way = RunContext {
            config,
            stop,
            pace: InputPace::Follow(clock),
            crew,
            outlet,
            reading: Some(reading),
            ending,
        };
        let span = (horizon.from, horizon.until);
        let survey = Arc::new(Survey::of_a_run(uses(self, &offers), span, warning));
        let run = JobRun { job: self, offers, horizon, gate, demo: None, at_end: false, survey };
        run.go(way).map(|(finished, _, _)| finished)
    }

    /// All that can be wrong with a live run before it joins the others.
    fn prepared(
        &self,
        workers: usize,
        processes: Option<&Processes>,
        (out, stop, notice): (Option<&Path>, &Stop, Option<OperatorNotice>),
    ) -> Result<Prepared, RunError> {
        let horizon = self.horizon();
        if !self.is_timed() && horizon.until.is_none() {
            let message = "job.until: found nothing; give the time at which the one window of every = \"all\" ends: a live \
                           run has no other end, so it would never be told";
            return Err(RunError::configuration(message));
        }
        let offers = self.release_plans(horizon)?;
        let crew = self.crew(workers, processes)?;
        // The first process holds the ledger and tells the lines; the others count.
        let wait = Wait { stop, notice: notice.as_ref() };
        let mut sink = if crew.process == 0 { Some(sink(self, out, false, wait)?) } else { None };
        let gate = self.gate_of(crew, sink.as_mut())?;
        let config = self.crewed(workers, processes, (&offers, gate.key()), ("run", notice))?;
        Ok((horizon, crew, sink, offers, gate, config))
    }
}

/// Takes note of what was told.
fn watched(mut told: Option<ReleaseListener>, vitals: Vitals) -> Box<dyn FnMut(&LeavingRelease) + Send> {
    Box::new(move |release| {
        vitals.told(release.standing(), release.took());
        if let Some(told) = &mut told {
            told(&release.to_string(), release.standing());
        }
    })
}
