//! The clock of a live run, and the watermark that it advances.

use std::sync::Arc;
use std::time::Instant;

use super::POLL_INTERVAL;
use crate::dataflow::{BelievedTime, Clock};
use crate::job::sources::dealer::{Dealer, DealerMessage, Progress};
use crate::job::sources::milestones::{ChangedPositions, Milestones};
use crate::job::sources::reader::ReadStop;
use crate::time::{LIMIT, Span, Time};

/// The clock, and the times that were declared by it.
pub(super) struct Watch {
    clock: Arc<dyn Clock>,
    marked: Option<Time>,
    marked_at: Instant,
    /// The time up to which input gaps were reported.
    reported: Time,
    /// False while a gap that has not ended is to be reported.
    is_connected: bool,
    /// True while that gap is one of all open windows.
    is_lost: bool,
    /// The time for which windows take late records.
    late: i64,
    /// The number of holds of the clock that were noticed.
    holds: u64,
}

impl Watch {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Watch {
        let (marked, reported, marked_at) = (None, -LIMIT, Instant::now());
        Watch { clock, marked, marked_at, reported, is_connected: false, is_lost: false, late: 0, holds: 0 }
    }

    /// States the time for which windows take late records.
    pub(super) fn late_by(self, late: Option<Span>) -> Watch {
        Watch { late: late.map_or(0, Span::as_microseconds), ..self }
    }

    /// Returns the time, which stands still while the clock is in doubt.
    pub(super) fn now(&self) -> Time {
        self.clock.now()
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

    /// Begins an input gap: since the last mark, the source was not connected.
    pub(super) fn disconnect(&mut self) {
        self.is_connected = false;
    }

    /// Begins an input gap of all windows that are open: lines of any time are missing, or were read twice.
    pub(super) fn lose(&mut self) {
        (self.is_connected, self.is_lost) = (false, true);
    }

    /// Ends an input gap, once the clock is not in doubt; returns the gap.
    pub(super) fn connect(&mut self, dealer: &Dealer) -> Result<Option<(Time, Time)>, ReadStop> {
        let (former, start) = (self.reported, self.gap_start());
        while self.connected(dealer)?.is_none() {
            dealer.wait()?;
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok((self.reported > former).then_some((start, self.reported)))
    }

    /// The start of a gap that ends now.
    fn gap_start(&self) -> Time {
        let start = self.marked.unwrap_or(self.reported).max(self.reported);
        // Windows that ended within that time are open.
        if self.is_lost { start.saturating_sub(self.late).max(-LIMIT) } else { start }
    }

    /// Returns the time at which a stream is connected; `None` while the clock is in doubt. An input gap ends
    /// here, and every worker is notified of it: the time before the first call, a time without a connection,
    /// and each hold of the clock, of which nobody can say which times it was.
    pub(super) fn connected(&mut self, dealer: &Dealer) -> Result<Option<Time>, ReadStop> {
        let BelievedTime { time, holds, is_held, .. } = self.clock.believed();
        if holds != self.holds {
            (self.is_connected, self.holds) = (false, holds);
        }
        if is_held {
            return Ok(None);
        }
        if !self.is_connected {
            let start = self.gap_start();
            if start < time {
                dealer.broadcast(|| DealerMessage::Gap(start, time))?;
                self.reported = time;
            }
            (self.is_connected, self.is_lost) = (true, false);
        }
        Ok(Some(time))
    }
}
