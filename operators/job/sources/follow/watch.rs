//! The clock of a live run, and the watermark that it advances.

use std::sync::Arc;
use std::time::Instant;

use super::POLL_INTERVAL;
use crate::dataflow::{Clock, SourceError};
use crate::job::sources::dealer::{Dealer, DealerMessage, Progress};
use crate::job::sources::milestones::{ChangedPositions, Milestones};
use crate::job::sources::reader::ReadStop;
use crate::time::{LIMIT, Time};

/// The largest difference, in microseconds, between the clock and the time that has passed since the start.
const MAX_CLOCK_DRIFT: Time = 600_000_000;

/// The clock, and a monotonic check of it.
pub(super) struct Watch {
    clock: Arc<dyn Clock>,
    began: Time,
    since: Instant,
    marked: Option<Time>,
    marked_at: Instant,
    /// The time up to which input gaps were reported.
    reported: Time,
}

impl Watch {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Watch {
        let (began, now) = (clock.now(), Instant::now());
        Watch { clock, began, since: now, marked: None, marked_at: now, reported: -LIMIT }
    }

    /// Returns the time. It is believed if as much of it has passed as has passed otherwise: a clock that is
    /// set by hand would close windows that are still open.
    pub(super) fn now(&self, place: &str) -> Result<Time, SourceError> {
        let now = self.clock.now();
        let passed = Time::try_from(self.since.elapsed().as_micros()).unwrap_or(Time::MAX);
        let expected = self.began.saturating_add(passed);
        if now.saturating_sub(expected).saturating_abs() > MAX_CLOCK_DRIFT {
            let why = "the clock was set by more than 10 minutes, or the machine slept; \
                       start again when the clock is right";
            return Err(SourceError::lost(place).because(why));
        }
        Ok(now)
    }

    /// Notifies every worker that all data present at this time has been read, unless they were notified a
    /// moment ago; with the positions behind it, as far as they have changed.
    pub(super) fn mark(
        &mut self,
        time: Time,
        dealer: &Dealer,
        progress: &Progress,
        (milestones, positions): (&Milestones, impl FnOnce() -> ChangedPositions),
    ) -> Result<(), ReadStop> {
        let early = self.marked.is_some() && self.marked_at.elapsed() < POLL_INTERVAL / 2;
        if early || self.marked.is_some_and(|marked| time <= marked) {
            return Ok(());
        }
        let changed = positions();
        let milestone = (!changed.is_empty()).then(|| milestones.register(changed));
        dealer.broadcast(|| DealerMessage::Mark(time, milestone))?;
        progress.catch_up(time);
        (self.marked, self.marked_at) = (Some(time), Instant::now());
        Ok(())
    }

    /// Notifies every worker that the source was not connected since the last mark, or ever before, and is
    /// from this time on.
    pub(super) fn connect(&mut self, now: Time, dealer: &Dealer) -> Result<(), ReadStop> {
        let start = self.marked.unwrap_or(self.reported).max(self.reported);
        if start < now {
            dealer.broadcast(|| DealerMessage::Gap(start, now))?;
            self.reported = now;
        }
        Ok(())
    }
}
