//! What an operator may see of a job while it runs. It is of the process and its input, so it is for whoever runs the
//! job, and no part of what is published.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::dataflow::{Clock, Schedule, SystemClock};
use crate::gate::BudgetStatus;
use crate::job::offer::ReleasePlan;
use crate::job::sources::Progress;
use crate::time::{Span, Time};

/// How a live job is: prints as one line.
#[derive(Clone, Default)]
pub struct Vitals(Arc<Mutex<KnownVitals>>);

#[derive(Default)]
struct KnownVitals {
    late: Time,
    schedules: Vec<Schedule>,
    progress: Option<Arc<Progress>>,
    /// How long the ledger took with the last window.
    ledger: Option<Duration>,
    standing: Option<BudgetStatus>,
    told: u64,
}

impl Vitals {
    /// Of a job that has not begun.
    pub fn new() -> Vitals {
        Vitals::default()
    }

    pub(super) fn begins(&self, late: Option<Span>, offers: &[ReleasePlan]) {
        let mut known = self.lock();
        known.late = late.map_or(0, Span::as_microseconds);
        known.schedules = offers.iter().map(|offer| offer.schedule.clone()).collect();
    }

    pub(super) fn reads(&self, progress: Arc<Progress>) {
        self.lock().progress = Some(progress);
    }

    pub(super) fn told(&self, standing: &BudgetStatus, ledger: Option<Duration>) {
        let mut known = self.lock();
        known.standing = Some(standing.clone());
        known.ledger = ledger.or(known.ledger);
        known.told += 1;
    }

    fn lock(&self) -> MutexGuard<'_, KnownVitals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownVitals {
    /// Windows that have begun and are not closed, by the clock.
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
        let now = SystemClock.now();
        match known.progress.as_ref().and_then(|progress| progress.caught_up()) {
            Some(moment) => write!(f, "lag {:.1} s", now.saturating_sub(moment).max(0) as f64 / 1e6)?,
            None => f.write_str("lag unknown: the input that was there is still being read")?,
        }
        if let Some(progress) = &known.progress {
            write!(f, ", {:.1} MB read", progress.read() as f64 / 1e6)?;
        }
        write!(f, ", {} windows open, {} told", known.open(now), known.told)?;
        if let Some(ledger) = known.ledger {
            write!(f, ", ledger {:.1} ms", ledger.as_secs_f64() * 1e3)?;
        }
        match &known.standing {
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
