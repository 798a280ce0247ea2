//! The vital signs of a running job, for its operator. They are of the process and its input, and no part of
//! the published data.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::publish::is_pipe;
use super::*;
use crate::alert::event;
use crate::dataflow::{Clock, Pulled, RunError, Schedule, Source, SpillSpace, SystemClock};
use crate::gate::{BudgetStatus, WrittenSince};
use crate::job::release_plan::ReleasePlan;
use crate::job::sources::{
    Brake, Progress, ReceiverSigns, RecordCounts, SourcePart, Survey, SurveyedKind, Use,
};
use crate::time::{Span, Time, in_utc};

/// The condition of a live job: prints as one line.
#[derive(Clone, Default)]
pub struct Vitals(Arc<Mutex<KnownVitals>>);

#[derive(Default)]
struct KnownVitals {
    late: Time,
    schedules: Vec<Schedule>,
    progress: Option<Arc<Progress>>,
    clock: Option<Arc<dyn Clock>>,
    /// The time that the ledger took for the last window.
    ledger: Option<Duration>,
    budget_status: Option<BudgetStatus>,
    /// The windows that have left since the start, by outcome.
    left: Finished,
    /// The rows that were written since the start.
    rows: u64,
    written_since: WrittenSince,
    /// The first line of the run.
    start: Option<String>,
}

/// The vital signs of a live run, as numbers.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct VitalSigns {
    /// True once the ledger is open.
    pub begun: bool,
    /// The moment up to which the input is complete, if it ever was.
    pub caught_up: Option<Time>,
    /// The seconds since that moment.
    pub lag: Option<f64>,
    /// The bytes that were read.
    pub read: u64,
    /// The lines that could not be read.
    pub bad: u64,
    /// The windows that have begun and are not closed.
    pub open: u64,
    /// The windows that were released since the start.
    pub released: u64,
    /// The time that the ledger took for the last window.
    pub ledger: Option<Duration>,
    /// True while windows wait because the clock was set.
    pub clock_held: bool,
    /// The rows that were written to the ledger since the start.
    pub rows: u64,
    /// The records that were read since the start.
    pub records: RecordCounts,
    /// The seconds since the time from which a restart reads again; `None` until that is written.
    pub position_age: Option<f64>,
    /// The numbers of the receiver over HTTP, if the source has one.
    pub received: Option<ReceiverSigns>,
}

impl Vitals {
    /// The vitals of a job that has not begun.
    pub fn new() -> Vitals {
        Vitals::default()
    }

    /// Returns the present vital signs.
    pub fn signs(&self) -> VitalSigns {
        let known = self.lock();
        let now = SystemClock.now();
        let caught_up = known.progress.as_ref().and_then(|progress| progress.caught_up());
        VitalSigns {
            begun: known.start.is_some(),
            caught_up,
            lag: caught_up.map(|moment| now.saturating_sub(moment).max(0) as f64 / 1e6),
            read: known.progress.as_ref().map_or(0, |progress| progress.read()),
            bad: known.progress.as_ref().map_or(0, |progress| progress.bad()),
            open: known.open(now),
            released: known.left.released(),
            ledger: known.ledger,
            rows: known.rows,
            records: known.progress.as_ref().map_or_else(RecordCounts::default, |progress| progress.counts()),
            position_age: known
                .written_since
                .get()
                .map(|since| now.saturating_sub(since).max(0) as f64 / 1e6),
            received: known.progress.as_ref().and_then(|progress| progress.received()),
            clock_held: known.clock.as_ref().is_some_and(|clock| clock.believed().is_held),
        }
    }

    pub(super) fn begins(
        &self,
        job: &Job,
        late: Option<Span>,
        offers: &[ReleasePlan],
        (clock, gate): (Arc<dyn Clock>, &Gate),
        crew: Crew,
    ) {
        // What is settled the first process alone knows.
        let start = match crew.process {
            0 => start_line(job, late, offers, (clock.now(), gate)),
            process => format!(
                "job {}, version {}, as process {process} of {}; its windows leave by process 0",
                job.name, job.version, crew.processes
            ),
        };
        let mut known = self.lock();
        known.budget_status = gate.budget_at_start(job.account().name()).cloned();
        known.written_since = gate.written_since();
        known.clock = Some(clock);
        known.start = Some(start);
        known.late = late.map_or(0, Span::as_microseconds);
        known.schedules = offers.iter().map(|offer| offer.schedule.clone()).collect();
    }

    pub(super) fn reads(&self, progress: Arc<Progress>) {
        let mut known = self.lock();
        progress.counts_late_records(known.schedules.clone(), known.late);
        let address = progress.received().and_then(|received| received.address);
        known.progress = Some(progress);
        if let Some(start) = &known.start {
            let received =
                address.map(|address| format!("; batches are received at http://{address}/batches"));
            tracing::info!(target: event::PUBLIC, "started: {start}{}", received.unwrap_or_default());
        }
    }

    pub(super) fn left(&self, release: &LeavingRelease) {
        let (mut known, ledger) = (self.lock(), release.took());
        known.budget_status = Some(release.budget_status().clone());
        known.ledger = ledger.or(known.ledger);
        known.rows += u64::from(ledger.is_some());
        known.left.add(release.status(), 1);
    }

    /// Returns the newest status of the budget: that of the ledger at the start, until a window leaves.
    pub fn budget_status(&self) -> Option<BudgetStatus> {
        self.lock().budget_status.clone()
    }

    /// Returns true once the ledger is open and the input is connected.
    pub fn is_connected(&self) -> bool {
        self.lock().progress.is_some()
    }

    /// The part of the vitals that is public, as one line: it depends on the clock and on what has left.
    pub fn public(&self) -> String {
        let known = self.lock();
        let spent = match &known.budget_status {
            Some(BudgetStatus { spent, cap, .. }) => format!("spent {spent} of {cap}"),
            None => "nothing spent since it began".to_owned(),
        };
        format!("{} windows open, {}, {spent}", known.open(SystemClock.now()), known.left)
    }

    fn lock(&self) -> MutexGuard<'_, KnownVitals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first line of a run.
fn start_line(job: &Job, late: Option<Span>, offers: &[ReleasePlan], (now, gate): (Time, &Gate)) -> String {
    let (account, settled) = (job.account(), gate.settled());
    let closed = now.saturating_sub(late.map_or(0, Span::as_microseconds));
    // Of those that are new in a job that has run, the input decides.
    let (new, old): (Vec<_>, Vec<_>) =
        offers.iter().partition(|offer| settled.is_some() && !gate.has_opened(&offer.name, offer.version));
    let next = old.iter().filter_map(|offer| {
        // A first run settles the windows since `from`, and without it those that are open.
        let since = settled.or_else(|| job.from.map(|_| Time::MIN)).unwrap_or(closed);
        let number = offer.schedule.first_ending_after(since);
        let inside = !offer.schedule.is_bounded() || number < offer.schedule.count();
        Some((offer.schedule.window(number).filter(|_| inside)?.end(), offer.name.as_str()))
    });
    let next =
        match next.min().and_then(|(end, name)| Some((jiff::Timestamp::from_microsecond(end).ok()?, name))) {
            Some((end, name)) => Some(format!("the next window is of {name} and ends {end}")),
            None if old.is_empty() => None,
            None => Some("all of its windows have ended".to_owned()),
        };
    let new: Vec<String> =
        new.iter().map(|offer| format!("{} of version {}", offer.name, offer.version)).collect();
    let begins = (!new.is_empty()).then(|| {
        format!("new is {}, from the first window whose records the input still has", new.join(", "))
    });
    let input = match (job.source.records.place(), settled) {
        (Some(SourcePlace::Stdin), _) => "standard input is read from now on".to_owned(),
        (Some(SourcePlace::Files(_)), None) => "the input is read from its start".to_owned(),
        (None, None) => "the records are synthetic".to_owned(),
        (Some(SourcePlace::Files(_)) | None, Some(settled)) => {
            format!("windows are settled up to {}: it resumes where the open ones begin", in_utc(settled))
        }
    };
    let windows: String = next.into_iter().chain(begins).map(|part| part + "; ").collect();
    format!(
        "job {}, version {}, account {} of {}; {windows}{input}",
        job.name,
        job.version,
        account.name(),
        account.cap()
    )
}

impl KnownVitals {
    /// The number of windows that have begun and are not closed, by the clock.
    fn open(&self, now: Time) -> u64 {
        let begun = |schedule: &Schedule| {
            // Windows are in the order of their end, and so of their start.
            let last = schedule.holding(now).end;
            last.saturating_sub(schedule.first_ending_after(now.saturating_sub(self.late)))
        };
        self.schedules.iter().map(begun).sum()
    }
}

impl fmt::Display for Vitals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.lock();
        let believed = known.clock.as_ref().map_or(SystemClock.believed(), |clock| clock.believed());
        let now = believed.time;
        if believed.is_held {
            f.write_str("the clock is in doubt, ")?;
        }
        match known.progress.as_ref().and_then(|progress| progress.caught_up()) {
            Some(moment) => write!(f, "lag {:.1} s", now.saturating_sub(moment).max(0) as f64 / 1e6)?,
            None => f.write_str("lag unknown: the input that was there is still being read")?,
        }
        if let Some(progress) = &known.progress {
            write!(f, ", {:.1} MB read", progress.read() as f64 / 1e6)?;
        }
        write!(f, ", {} windows open, {}", known.open(now), known.left)?;
        if let Some(ledger) = known.ledger {
            write!(f, ", ledger {:.1} ms", ledger.as_secs_f64() * 1e3)?;
        }
        match &known.budget_status {
            Some(BudgetStatus { spent, cap, .. }) => write!(f, ", spent {spent} of {cap}"),
            None => f.write_str(", nothing spent since it began"),
        }
    }
}

impl fmt::Debug for Vitals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vitals({self})")
    }
}

// Surveys of a job's records, for its operator: in a run, a demonstration, and a sample.

/// The uses of each field by a job, in the order of its file.
pub(super) fn uses(job: &Job, offers: &[ReleasePlan]) -> Vec<Use> {
    let mut uses = Vec::new();
    let mut uses_as =
        |place: String, field: &str, kind| uses.push(Use { place, field: field.to_owned(), kind });
    if let Some(time) = &job.source.time {
        uses_as("source.time".to_owned(), &time.field, SurveyedKind::Time);
    }
    if let Some(id) = &job.source.id {
        uses_as("source.id".to_owned(), id, SurveyedKind::Id);
    }
    if let Protected::Person { field, missing } = &job.privacy.privacy_unit {
        uses_as("privacy.person".to_owned(), field, SurveyedKind::Person(*missing));
    }
    for (index, (release, offer)) in job.releases.iter().zip(offers).enumerate() {
        let place = format!("release[{}].{}", index + 1, release.statistic.word());
        if let Some(key) = &offer.key {
            uses_as(format!("{place}.by"), key, SurveyedKind::Key);
        }
        if let Some((field, point)) = &offer.value {
            let range = offer.statistic.as_statistic().unclamped();
            uses_as(format!("{place}.of"), field, SurveyedKind::Number { digits: point.count(), range });
        }
    }
    uses
}

impl Job {
    /// Reads the first `most` records, and counts for each field of the job how often it was found, readable
    /// and within its range. It is for the operator of the records to see, and outside of the promise;
    /// nothing is spent or released. With `names`, the names of all fields of lines of JSON are reported as
    /// well.
    ///
    /// # Errors
    ///
    /// If `most` is 0, or the source cannot be read at all, or is standard input or a named pipe, which a run
    /// could not read again.
    pub fn sample(&self, most: u64, names: bool) -> Result<Arc<Survey>, RunError> {
        if most == 0 {
            return Err(RunError::configuration(
                "--sample: found zero; give how many records to look at, such as 1000",
            ));
        }
        if self.source.records.is_stdin() {
            let message = "--sample: the source is standard input, which is read once; give a job whose source is a file";
            return Err(RunError::configuration(message));
        }
        if let Some(SourcePlace::Files(path)) = self.source.records.place()
            && is_pipe(path)
        {
            let message = format!(
                "--sample: {} is a named pipe, which is read once; give a job whose source is a file",
                path.display()
            );
            return Err(RunError::configuration(message));
        }
        let offers = self.release_plans(self.horizon())?;
        let survey = Survey::for_open_data(uses(self, &offers), (self.from, self.until), most);
        let survey = Arc::new(if names { survey.with_names() } else { survey });
        let ReleaseFields { keys, values } = ReleaseFields::of(&offers);
        let wanted = FieldRequirements {
            keys,
            values,
            secret: [0; 32],
            time: self.source.time.is_some(),
            span: self.from.zip(self.until),
            survey: Arc::clone(&survey),
        };
        let mut source = self.source.clone();
        source.bad_lines = u64::MAX;
        let crew = Crew { process: 0, processes: 1, threads: 1 };
        let input = sources::open(
            &source,
            &self.privacy.privacy_unit,
            wanted,
            InputPace::Bounded,
            crew,
            Brake::new(),
        )?;
        let mut part: SourcePart<sources::Id, sources::Id> = input.part(0);
        let mut batch = Vec::new();
        while survey.counts() {
            let pulled = part.pull(&mut batch)?;
            batch.clear();
            match pulled {
                Pulled::End => break,
                Pulled::Idle => std::thread::sleep(Duration::from_millis(1)),
                Pulled::More | Pulled::Complete(_) | Pulled::Gap(..) => {}
            }
        }
        Ok(survey)
    }
}

// The limit `[limits] memory`: kept by spilling open windows, and by pausing the reading; never by forgetting somebody.

/// The interval at which memory is measured: reading fills less than a fifth of any sensible limit in that
/// time.
const GLANCE: Duration = Duration::from_millis(10);
/// From here on nothing is read, as a part of the limit in percent; and up to here it is again.
const HIGH: u64 = 80;
const LOW: u64 = 75;
/// The time for which the held memory may fail to shrink while nothing is read.
const STALL_LIMIT: Duration = Duration::from_secs(30);

/// Watches the memory of this process until it is dropped.
pub(crate) struct Guard {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Guard {
    /// Pulls the brake where little memory is left, and calls `exceeded` with the reason where there is none,
    /// or where the held memory does not become less though nothing more is read.
    pub(crate) fn watch(
        limit: u64,
        (brake, spill): (Arc<Brake>, Arc<SpillSpace>),
        exceeded: impl FnOnce(String) + Send + 'static,
    ) -> Result<Guard, RunError> {
        if memory_stats::memory_stats().is_none() {
            let message = "limits.memory: this system does not say how much memory a process holds; leave the limit out";
            return Err(RunError::configuration(message));
        }
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let thread = std::thread::Builder::new().name("memory".into()).spawn(move || {
            let mut judge = MemoryMonitor::new(limit);
            while !ended.load(Ordering::Relaxed) {
                let held = memory_stats::memory_stats().map_or(0, |stats| stats.physical_mem as u64);
                let used = spill.note_memory(held);
                match judge.looks((held, used), Instant::now()) {
                    Verdict::Read => brake.release(),
                    Verdict::Wait => brake.pull(),
                    Verdict::End(why) => {
                        brake.pull();
                        return exceeded(format!("limits.memory: {why}"));
                    }
                }
                std::thread::sleep(GLANCE);
            }
        });
        let thread = thread.map_err(|error| RunError::configuration(format!("threads: {error}")))?;
        Ok(Guard { over, thread: Some(thread) })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Read,
    Wait,
    End(&'static str),
}

/// The decision that follows from the memory held, and its history.
struct MemoryMonitor {
    limit: u64,
    /// The time since which nothing is read, and the least that was held since.
    waiting: Option<(Instant, u64)>,
}

impl MemoryMonitor {
    fn new(limit: u64) -> MemoryMonitor {
        MemoryMonitor { limit, waiting: None }
    }

    /// Decides by the memory of the process, and by what of it is in use.
    fn looks(&mut self, (held, used): (u64, u64), now: Instant) -> Verdict {
        // Without overflow: a limit may be any number.
        let part = |percent: u64| (u128::from(self.limit) * u128::from(percent) / 100) as u64;
        if held > self.limit {
            return Verdict::End(
                "the process holds more than it may, and has ended with nothing incomplete released; give it more, or \
                 narrower windows, or a smaller bound",
            );
        }
        match &mut self.waiting {
            None if used < part(HIGH) => Verdict::Read,
            None => {
                self.waiting = Some((now, used));
                Verdict::Wait
            }
            Some(_) if used < part(LOW) => {
                self.waiting = None;
                Verdict::Read
            }
            Some((since, least)) => {
                if used < *least {
                    (*since, *least) = (now, used);
                }
                if now.duration_since(*since) < STALL_LIMIT {
                    return Verdict::Wait;
                }
                Verdict::End(
                    "what is on its way and in open windows holds four fifths of it, so nothing more can be read; give it \
                     more, or narrower windows, or a smaller bound",
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_stops_at_four_fifths_and_goes_on_below_three_quarters() {
        let (mut judge, now) = (MemoryMonitor::new(1000), Instant::now());
        for (held, verdict) in [
            (0, Verdict::Read),
            (799, Verdict::Read),
            (800, Verdict::Wait),
            (790, Verdict::Wait),
            (750, Verdict::Wait),
            (749, Verdict::Read),
            (799, Verdict::Read),
            (1000, Verdict::Wait),
        ] {
            assert_eq!(judge.looks((held, held), now), verdict, "{held}");
        }
        assert_eq!(judge.looks((900, 749), now), Verdict::Read, "some of it is free again");
        assert_eq!(judge.looks((900, 800), now), Verdict::Wait);
        assert!(matches!(judge.looks((1001, 0), now), Verdict::End(_)));
    }

    // Refutes a job that waits for ever for windows which only reading could close.
    #[test]
    fn what_never_becomes_less_ends_the_run() {
        let (mut judge, start) = (MemoryMonitor::new(1000), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(judge.looks((900, 900), start), Verdict::Wait);
        assert_eq!(judge.looks((900, 900), after(29)), Verdict::Wait);
        assert_eq!(judge.looks((899, 899), after(29)), Verdict::Wait, "it becomes less");
        assert_eq!(judge.looks((899, 899), after(58)), Verdict::Wait);
        assert!(matches!(judge.looks((899, 899), after(59)), Verdict::End(_)));
        assert!(matches!(MemoryMonitor::new(u64::MAX).looks((u64::MAX, u64::MAX), start), Verdict::Wait));
    }
}
