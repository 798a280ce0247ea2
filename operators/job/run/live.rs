//! A long-lived run: windows close by the clock.

use std::path::PathBuf;

use super::processes::{OperatorNotice, announced};
use super::sample::uses;
use super::vitals::Vitals;
use super::*;
use std::sync::{Mutex, PoisonError};

use crate::dataflow::{
    Clock, ClockEvent, GuardedClock, Milestone, Pulled, Source, SourceError, SystemClock, WrittenPosition,
};
use crate::gate::{InputReading, Positions};
use crate::job::questions::{AskPlan, QuestionInput, QuestionService};
use crate::job::release_plan::ReleasePlan;
use crate::time::{Span, Time, Zone, in_words};

/// The settings of a live run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Live {
    /// The number of threads of this process that share the work.
    pub workers: usize,
    /// The other processes, if any.
    pub processes: Option<Processes>,
    /// The file that lines are written to; standard output where it is `None`.
    pub out: Option<PathBuf>,
    /// True if a new file of lines may lack the rows that are in archives of the ledger.
    pub without_archived: bool,
    /// The switch that stops the run.
    pub stop: Stop,
    /// The switch that makes the run go on in a new file of the output's name, where the old one was moved
    /// away.
    pub reopen: Reopen,
    /// The operator's word that the clock is right, which ends a hold.
    pub clock_word: ClockWord,
    /// The observer of the run.
    pub onlooker: RunObserver,
    /// The vital signs that an operator may read while it runs.
    pub vitals: Vitals,
    /// The questions of analysts who wait for their answers.
    pub questions: QuestionService,
}

impl Default for Live {
    fn default() -> Live {
        let (stop, onlooker, vitals) = (Stop::new(), RunObserver::default(), Vitals::new());
        let (reopen, clock_word, questions) = (Reopen::new(), ClockWord::new(), QuestionService::new());
        Live {
            workers: 1,
            processes: None,
            out: None,
            without_archived: false,
            stop,
            reopen,
            clock_word,
            onlooker,
            vitals,
            questions,
        }
    }
}

/// The operator's word that the clock is right, by which a run that holds its windows open after a step of
/// the clock goes on at once.
#[derive(Clone, Debug, Default)]
pub struct ClockWord(Arc<Mutex<Option<Arc<GuardedClock>>>>);

impl ClockWord {
    /// A word that nobody has said.
    pub fn new() -> ClockWord {
        ClockWord::default()
    }

    /// Says it. Without a hold, it changes nothing.
    pub fn say(&self) {
        if let Some(clock) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            clock.believe();
        }
    }

    /// Makes the clock that it is about. What is said upon the first report of that clock waits until it is
    /// made.
    fn of(&self, make: impl FnOnce() -> GuardedClock) -> Arc<GuardedClock> {
        let mut clock = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(clock.insert(Arc::new(make())))
    }
}

/// The number of former rows for each release that are passed to the observer, of which other jobs may have some.
const RECALLED: usize = 1_000;

type Prepared = (Horizon, Crew, Option<Sink>, (Vec<ReleasePlan>, Vec<AskPlan>), Gate, Config);

impl Job {
    /// Runs the job until it is stopped, its source is gone, or its last window is released.
    ///
    /// Windows close by the clock: each is released at its end, its lateness and the slack after it, or at
    /// the next whole slack if it was not ready. A job that is started again reads what its open windows need;
    /// earlier releases stay as they were.
    ///
    /// # Errors
    ///
    /// As [`execute`](crate::execute), and where the job cannot run as it is configured.
    pub fn run(&self, live: Live) -> Result<Finished, RunError> {
        let service = live.questions.clone();
        let finished = self.run_live(live);
        service.end();
        finished
    }

    fn run_live(&self, live: Live) -> Result<Finished, RunError> {
        let Live { workers, processes, out, without_archived, stop, reopen, clock_word, .. } = live;
        let Live { onlooker, vitals, questions: service, .. } = live;
        let RunObserver {
            released: on_release,
            opened,
            former,
            left_out,
            reading,
            ending,
            notice,
            warning,
            surveyed: _,
        } = onlooker;
        let others = processes.as_ref();
        let (horizon, crew, sink, (offers, asks), gate, config) = announced(
            others,
            self.prepared(workers, others, ((out.as_deref(), without_archived), &stop, notice.clone())),
        )?;
        if let Some(warn) = &warning
            && !gate.is_elsewhere()
            && gate.settled().is_none()
            && let Some(past) = self.past_windows(&offers, SystemClock.now(), Time::MIN)
        {
            warn(&past);
        }
        if let Some((opened, account)) = opened.zip(stated_account(self, &gate)) {
            opened(account);
        }
        if let Some(mut former) = former.filter(|_| !gate.is_elsewhere()) {
            let most = RECALLED * (offers.len() + asks.len());
            let rows = FormerRows::of(self, (&offers, &asks), &gate)?;
            let is_more = rows.newest(most, |row| former(&row.lines()))?;
            left_out.filter(|_| is_more).into_iter().for_each(|left_out| left_out());
        }
        let versions = PresentVersions::of(self, (&offers, &asks))?;
        let clock: Arc<dyn Clock> = clock_word.of(|| self.clock(gate.settled(), notice.clone()));
        let input_reading = self.reading((&offers, &asks), clock.now())?;
        let late = self.source.late.map_or(0, Span::as_microseconds);
        // Only the first process asks.
        if crew.process == 0 {
            service.begin(&asks);
        }
        let questions = asks.into_iter().zip(&self.asks).enumerate().map(|(at, (plan, ask))| {
            let times = (Arc::clone(&clock), plan.last_close(late));
            let from = (ask.questions.as_deref(), service.questions(at));
            let input = QuestionInput::followed(from, &plan.schema, times, notice.clone());
            (plan, input)
        });
        let asks: Vec<(AskPlan, QuestionInput)> = questions.collect();
        let rotation = out.map(|path| Rotation { reopen, path, notice: notice.clone(), is_reported: false });
        vitals.begins(self, (&offers, &input_reading), (Arc::clone(&clock), &gate), crew)?;
        let on_release = with_vitals(on_release, versions, vitals.clone(), service);
        let missing = vitals.clone();
        let only_news = sink.as_ref().is_some_and(|sink| !sink.is_file());
        let when = PublicationSchedule::OnTime {
            clock: Arc::clone(&clock),
            late: self.source.late,
            slack: self.slack,
        };
        let outlet = Outlet {
            sink,
            rotation,
            left_out: None,
            skip_delivered: only_news,
            when,
            on_missed: Some(Box::new(move || missing.missed())),
            on_delivered: on_release,
        };
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
            input_reading,
            crew,
            outlet,
            reading: Some(reading),
            ending,
        };
        let span = (horizon.from, horizon.until);
        let survey = Arc::new(Survey::for_run(uses(self, &offers), span, warning));
        let (demo, at_end) = (None, false);
        let run = JobRun { job: self, offers, asks, horizon, gate, demo, at_end, survey, notice };
        run.go(way).map(|(finished, _)| finished)
    }

    /// The clock of a run, which reports each hold to the operator.
    fn clock(&self, settled: Option<Time>, notice: Option<OperatorNotice>) -> GuardedClock {
        let hold = in_words(self.clock_hold.as_microseconds().unsigned_abs());
        GuardedClock::new(self.clock_hold, settled, move |event| {
            let Some(notice) = &notice else { return };
            match event {
                ClockEvent::Believed { .. } => notice(&event.to_string()),
                _ => notice(&format!("{event}, once it has not been set for {hold}, or on SIGUSR2")),
            }
        })
    }

    /// Prepares all parts of a live run that can fail, before it joins the others.
    fn prepared(
        &self,
        workers: usize,
        processes: Option<&Processes>,
        ((out, without_archived), stop, notice): ((Option<&Path>, bool), &Stop, Option<OperatorNotice>),
    ) -> Result<Prepared, RunError> {
        if self.source.records.is_columnar() {
            let message = format!(
                "source.type: found {}, whose files are not appended to, so a live run cannot follow them; use `discreet \
                 replay`, or give a source of csv or jsonl",
                self.source.records.word()
            );
            return Err(RunError::configuration(message));
        }
        let horizon = self.horizon();
        if !self.is_timed() && horizon.until.is_none() {
            let message = "job.until: found nothing; give the time at which the one window of every = \"all\" ends: a live \
                           run has no other end, so it would never be released";
            return Err(RunError::configuration(message));
        }
        let (offers, asks) = (self.release_plans(horizon)?, self.ask_plans(horizon)?);
        let crew = self.crew(workers, processes)?;
        if crew.processes > 1 && self.source.http.is_some() {
            let message = "source.http: found a receiver for several processes, of which one alone has the spool; run one \
                           process, with -w for more threads";
            return Err(RunError::configuration(message));
        }
        // The first process holds the ledger and writes the lines; the others count.
        let wait = Wait { stop, notice: notice.as_ref() };
        let mut sink = if crew.process == 0 { Some(sink(self, out, false, wait)?) } else { None };
        let gate = self.gate_of(crew, (&offers, &asks), (sink.as_mut(), without_archived), |_| Ok(()))?;
        if let Some(sink) = &mut sink {
            FormerRows::of(self, (&offers, &asks), &gate)?.complete(sink, notice.as_ref())?;
        }
        let config = self.crewed(workers, processes, ((&offers, &asks), gate.key()), ("run", notice))?;
        Ok((horizon, crew, sink, (offers, asks), gate, config))
    }
}

/// Adds each release to the vitals, and passes answers on to the analysts who wait for them.
fn with_vitals(
    mut on_release: Option<ReleaseListener>,
    versions: PresentVersions,
    vitals: Vitals,
    service: QuestionService,
) -> Box<dyn FnMut(&LeavingRelease) + Send> {
    Box::new(move |release| {
        let is_present = versions.has(release.row().release());
        if is_present {
            service.delivered(release);
        }
        if release.is_repeated() {
            return;
        }
        vitals.left(release);
        if let Some(on_release) = on_release.as_mut().filter(|_| is_present) {
            on_release(&release.to_string(), release.budget_status());
        }
    })
}

// The end of a live run all of whose windows have one: after it, each process is done by itself, without a
// message from the others.

/// A source that ends once nothing can be in time for any window.
pub(super) struct Ending<S> {
    source: S,
    last: Option<Time>,
    reading: InputReading,
}

impl<S> Ending<S> {
    /// Ends `source` after `last`; without a last moment, it is passed on unchanged.
    pub(super) fn after(last: Option<Time>, source: S) -> Ending<S> {
        Ending { source, last, reading: InputReading::default() }
    }

    /// States the way in which the source reads.
    pub(super) fn reading_as(self, reading: InputReading) -> Ending<S> {
        Ending { reading, ..self }
    }
}

impl<S: Source> Source for Ending<S> {
    type Record = S::Record;

    fn pull(&mut self, batch: &mut Vec<S::Record>) -> Result<Pulled, SourceError> {
        match self.source.pull(batch)? {
            Pulled::Complete(time) if self.last.is_some_and(|last| time >= last) => Ok(Pulled::End),
            other => Ok(other),
        }
    }

    fn resumes(&self) -> bool {
        self.source.resumes()
    }

    fn reading(&self) -> InputReading {
        self.reading.clone()
    }

    fn resume(&mut self, former: Vec<Positions>) -> Result<(), SourceError> {
        self.source.resume(former)
    }

    fn milestone(&mut self) -> Option<Milestone> {
        self.source.milestone()
    }

    fn written(&mut self, positions: Vec<WrittenPosition>) {
        self.source.written(positions);
    }

    fn local_zone(&self) -> Option<Zone> {
        self.source.local_zone()
    }
}

/// The time at which the last window of all closes; `None` where some release has no last window.
pub(super) fn last_close(offers: &[ReleasePlan], asks: &[AskPlan], late: Option<Span>) -> Option<Time> {
    let late = late.map_or(0, Span::as_microseconds);
    let mut last = None;
    for schedule in offers.iter().map(|offer| &offer.schedule).chain(asks.iter().map(|ask| &ask.schedule)) {
        let number = if schedule.is_bounded() { schedule.count().checked_sub(1)? } else { return None };
        last = last.max(Some(schedule.window(number)?.end().saturating_add(late)));
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Says(Vec<Pulled>);

    impl Source for Says {
        type Record = ();

        fn pull(&mut self, _: &mut Vec<()>) -> Result<Pulled, SourceError> {
            Ok(self.0.remove(0))
        }
    }

    // Refutes a word upon the first report of a clock, while the clock is still being made, that is lost.
    #[test]
    fn a_word_upon_the_first_report_is_not_lost() {
        let (word, settled) = (ClockWord::new(), SystemClock.now() + 60_000_000);
        let (reports, reported) = std::sync::mpsc::channel();
        let operator = std::thread::spawn({
            let word = word.clone();
            move || {
                assert!(matches!(reported.recv(), Ok(ClockEvent::Behind { .. })));
                word.say();
                assert!(matches!(reported.recv(), Ok(ClockEvent::Believed { .. })));
            }
        });
        let clock = word.of(|| {
            let report = move |event: &ClockEvent| reports.send(*event).unwrap_or_default();
            let hold = crate::time::hours(1).unwrap_or_else(|_| unreachable!());
            let clock = GuardedClock::new(hold, Some(settled), report);
            std::thread::sleep(std::time::Duration::from_millis(100));
            clock
        });
        assert!(operator.join().is_ok());
        assert!(!clock.believed().is_held);
    }

    // Refutes an end that comes before the last window closes, and one that never comes.
    #[test]
    fn it_ends_when_the_last_window_closes() {
        let says = || Says(vec![Pulled::More, Pulled::Complete(9), Pulled::Idle, Pulled::Complete(10)]);
        let all = |last| {
            let mut source = Ending::after(last, says());
            [(); 4].map(|()| source.pull(&mut Vec::new()).ok())
        };
        let same = [Pulled::More, Pulled::Complete(9), Pulled::Idle].map(Some);
        let [first @ .., last] = all(Some(10));
        assert_eq!((first, last), (same, Some(Pulled::End)));
        let [first @ .., last] = all(None);
        assert_eq!((first, last), (same, Some(Pulled::Complete(10))));
    }
}
