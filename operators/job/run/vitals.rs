//! The vital signs of a running job, for its operator. They are of the process and its input, and no part of
//! the published data.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::start_line::start_line;
use super::*;
use crate::accounting::Promise;
use crate::dataflow::{Clock, Schedule, SystemClock};
use crate::gate::{BudgetStatus, InputReading, WrittenSince};
use crate::job::release_plan::ReleasePlan;
use crate::job::sources::{Progress, ReceiverSigns, RecordCounts};
use crate::time::{Span, Time, in_words};

/// The condition of a live job: prints as one line.
#[derive(Clone, Default)]
pub struct Vitals(Arc<Mutex<KnownVitals>>);

#[derive(Default)]
struct KnownVitals {
    promise: Option<Promise>,
    late: Time,
    schedules: Vec<Schedule>,
    progress: Option<Arc<Progress>>,
    clock: Option<Arc<dyn Clock>>,
    /// The time that the ledger took for the last window.
    ledger: Option<Duration>,
    budget_status: Option<BudgetStatus>,
    /// The status of the budget in the ledger before this run.
    budget_at_start: Option<BudgetStatus>,
    /// The windows that have left since the start, by outcome.
    left: Finished,
    /// The rows that were written since the start.
    rows: u64,
    /// The answers that left at a later tick than the first one after their question.
    missed: u64,
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
    /// The answers that left at a later tick than the first one after their question, since the start.
    pub missed: u64,
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
            missed: known.missed,
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
        (offers, reading): (&[ReleasePlan], &InputReading),
        (clock, gate): (Arc<dyn Clock>, &Gate),
        crew: Crew,
    ) -> Result<(), RunError> {
        // What is settled the first process alone knows.
        let start = match crew.process {
            0 => start_line(job, (offers, reading), (clock.now(), gate))?,
            process => format!(
                "job {}, version {}, as process {process} of {}; its windows leave by process 0",
                job.name, job.version, crew.processes
            ),
        };
        let mut known = self.lock();
        known.budget_at_start = gate.budget_at_start(job.account().name()).cloned();
        known.budget_status = known.budget_at_start.clone();
        known.written_since = gate.written_since();
        known.clock = Some(clock);
        known.start = Some(start);
        known.promise = Some(job.account().promise());
        known.late = job.source.late.map_or(0, Span::as_microseconds);
        known.schedules = offers.iter().map(|offer| offer.schedule.clone()).collect();
        Ok(())
    }

    pub(super) fn reads(&self, progress: Arc<Progress>) {
        let mut known = self.lock();
        progress.counts_late_records(known.schedules.clone(), known.late);
        let address = progress.received().and_then(|received| received.address);
        known.progress = Some(progress);
        if let Some(start) = &known.start {
            let received =
                address.map(|address| format!("; batches are received at http://{address}/batches"));
            to_public!(INFO, "started", "started: {start}{}", received.unwrap_or_default());
        }
    }

    pub(super) fn left(&self, release: &LeavingRelease) {
        let (mut known, ledger) = (self.lock(), release.took());
        known.budget_status = Some(release.budget_status().clone());
        known.ledger = ledger.or(known.ledger);
        known.rows += u64::from(ledger.is_some());
        match release.is_unanswered() {
            true => known.left.unanswered += 1,
            false => known.left.add(release.status(), 1),
        }
    }

    /// Counts an answer that leaves at a later tick than the first one after its question.
    pub(super) fn missed(&self) {
        self.lock().missed += 1;
    }

    /// Returns the status of the budget in the ledger before this run; `None` if nothing was released, or if
    /// rows waited for delivery, which bring their own.
    pub fn budget_at_start(&self) -> Option<BudgetStatus> {
        self.lock().budget_at_start.clone()
    }

    /// Takes the names of the files of which every record that was read lies before the first window, once nothing has been read
    /// of them for this time; none before the input was complete for the first time.
    pub fn take_files_before(&self, settled: Duration) -> Vec<Arc<str>> {
        let progress = self.lock().progress.clone();
        let progress = progress.filter(|progress| progress.caught_up().is_some());
        progress.map_or_else(Vec::new, |progress| progress.take_files_before(settled))
    }

    /// Returns true once the ledger is open and the input is connected.
    pub fn is_connected(&self) -> bool {
        self.lock().progress.is_some()
    }

    /// The part of the vitals that is public, as one line: it depends on the clock and on what has left.
    pub fn public(&self) -> String {
        let known = self.lock();
        format!("{} windows open, {}, {}", known.open(SystemClock.now()), known.left, known.spent())
    }

    fn lock(&self) -> MutexGuard<'_, KnownVitals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownVitals {
    /// The spent budget, in words. Of a promise about spans of time, it is that of the newest window's.
    fn spent(&self) -> String {
        let Some(BudgetStatus { spent, cap, .. }) = &self.budget_status else {
            return "nothing spent since it began".to_owned();
        };
        let of = format!("spent {spent} of {cap}");
        match self.promise {
            Some(Promise::Any(span)) => {
                format!("{of} within {} up to the newest window, which renews", in_words(span))
            }
            Some(Promise::Each(span)) => format!("{of} in this span of {}, which renews", in_words(span)),
            _ => of,
        }
    }

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
        if known.missed > 0 {
            let answers = if known.missed == 1 { "answer" } else { "answers" };
            write!(f, ", {} {answers} after the first tick", known.missed)?;
        }
        if let Some(ledger) = known.ledger {
            write!(f, ", ledger {:.1} ms", ledger.as_secs_f64() * 1e3)?;
        }
        write!(f, ", {}", known.spent())
    }
}

impl fmt::Debug for Vitals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vitals({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::{BudgetUnits, Interval, PrivacyCost};
    use crate::ledger::{Forecast, Name};

    // Refutes a budget of each day that is said to be spent for good.
    #[test]
    fn a_budget_that_renews_is_spent_within_its_span() {
        let cost = |units: u128| PrivacyCost::Pure { epsilon: BudgetUnits::from_bits(units << 64) };
        let spent = |promise| {
            let status = BudgetStatus {
                account: Name::new("account", "visits").unwrap(),
                job: Name::new("job", "web").unwrap(),
                window: Interval::new(0, 1).unwrap(),
                spent: cost(2),
                cap: cost(2),
                forecast: Arc::new(Forecast::unseen()),
                order: 0,
                took: Duration::ZERO,
            };
            KnownVitals { promise: Some(promise), budget_status: Some(status), ..KnownVitals::default() }
                .spent()
        };
        let day = 86_400_000_000;
        assert_eq!(spent(Promise::Lifetime), "spent epsilon 2 of epsilon 2");
        assert_eq!(
            spent(Promise::Each(day)),
            "spent epsilon 2 of epsilon 2 in this span of 1 day, which renews"
        );
        let any = "spent epsilon 2 of epsilon 2 within 1 day up to the newest window, which renews";
        assert_eq!(spent(Promise::Any(day)), any);
        assert_eq!(KnownVitals::default().spent(), "nothing spent since it began");
    }
}
