//! The public time of a live run, by which its windows close: the wall clock, as far as a [guard] believes it.
//!
//! **A hold is an input gap** of a stream that cannot be read again. Times that a step forward leaves out were
//! never connected times; and of a stream that was not connected during a hold nobody can say at which times
//! that was. Windows that overlap it are skipped, at no cost.
//!
//! Several processes guard a clock each. The earliest of their times counts, so one that is in doubt holds
//! all.

mod guard;

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

pub use guard::ClockEvent;
use guard::ClockGuard;
pub(crate) use guard::ClockReading;
use rustix::time::{ClockId, clock_gettime};

use crate::time::{LIMIT, Span, Time};

/// A public clock. It may say that a window is too late to be released; it never says that one is complete.
///
/// [`SystemClock`] believes whatever the clock of the operating system reads. What runs for long needs
/// [`GuardedClock`].
pub trait Clock: Send + Sync + 'static {
    /// Returns the present time.
    fn now(&self) -> Time;

    /// Returns the present time, and the doubts that there were about it.
    fn believed(&self) -> BelievedTime {
        BelievedTime { time: self.now(), holds: 0, is_held: false }
    }
}

/// The present time of a clock that may be in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BelievedTime {
    /// The time, which stands still while it is in doubt.
    pub time: Time,
    /// The number of holds that have begun.
    pub holds: u64,
    /// True while the time is in doubt.
    pub is_held: bool,
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => since.as_micros().try_into().unwrap_or(LIMIT),
            Err(before) => before.duration().as_micros().try_into().map_or(-LIMIT, |micros: Time| -micros),
        }
    }
}

/// The clock of the operating system, guarded: a step of it is believed only after some time.
pub struct GuardedClock {
    guard: Mutex<ClockGuard>,
    read: Box<dyn Fn() -> ClockReading + Send + Sync>,
    report: Box<dyn Fn(&ClockEvent) + Send + Sync>,
}

impl GuardedClock {
    /// Creates a clock that is held for the time `hold` after each step. `settled` is the latest end of a
    /// settled window, if there is one. `report` is called with the begin and the end of each hold, on a
    /// thread that reads the clock.
    pub fn new(
        hold: Span,
        settled: Option<Time>,
        report: impl Fn(&ClockEvent) + Send + Sync + 'static,
    ) -> GuardedClock {
        GuardedClock::over(read_clocks, hold, settled, report)
    }

    pub(crate) fn over(
        read: impl Fn() -> ClockReading + Send + Sync + 'static,
        hold: Span,
        settled: Option<Time>,
        report: impl Fn(&ClockEvent) + Send + Sync + 'static,
    ) -> GuardedClock {
        let (guard, event) = ClockGuard::new(hold, settled, read());
        if let Some(event) = event {
            report(&event);
        }
        GuardedClock { guard: Mutex::new(guard), read: Box::new(read), report: Box::new(report) }
    }

    /// Ends a hold on the operator's word: the clock is believed as it reads now.
    pub fn believe(&self) {
        self.decide(ClockGuard::believe);
    }

    /// Reads both clocks, and has the guard decide. Readings are in the order of the decisions.
    fn decide(&self, decide: impl Fn(&mut ClockGuard, ClockReading) -> Option<ClockEvent>) -> BelievedTime {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        let event = decide(&mut guard, (self.read)());
        let believed = guard.believed();
        drop(guard);
        if let Some(event) = event {
            (self.report)(&event);
        }
        believed
    }
}

impl Clock for GuardedClock {
    fn now(&self) -> Time {
        self.believed().time
    }

    fn believed(&self) -> BelievedTime {
        self.decide(ClockGuard::read)
    }
}

impl fmt::Debug for GuardedClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GuardedClock")
    }
}

/// The longest time, in microseconds, between the readings of the two clocks.
const PAUSE: Time = 100_000;

/// Reads both clocks, at one time unless the system lets the thread wait again and again.
fn read_clocks() -> ClockReading {
    let mut before = boot_time();
    for attempt in 0.. {
        let (wall, boot) = (SystemClock.now(), boot_time());
        if boot - before <= PAUSE || attempt == 10 {
            return ClockReading { wall, boot };
        }
        before = boot;
    }
    ClockReading { wall: SystemClock.now(), boot: before }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const BOOT_CLOCK: ClockId = ClockId::Boottime;
// It stands still while the machine is suspended: there, a suspend is a step, which is believed after a hold.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const BOOT_CLOCK: ClockId = ClockId::Monotonic;

fn boot_time() -> Time {
    let time = clock_gettime(BOOT_CLOCK);
    time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_nsec / 1_000)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::guard::STEP;
    use super::*;
    use crate::time::in_utc;

    const S: Time = 1_000_000;

    #[test]
    fn a_guarded_clock_reports_each_hold_and_its_end() {
        let (set, events) = (Arc::new(AtomicI64::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (by, heard) = (Arc::clone(&set), Arc::clone(&events));
        let read =
            move || ClockReading { wall: SystemClock.now() + by.load(Ordering::Relaxed), ..read_clocks() };
        let hold = Span::microseconds(60 * S).unwrap();
        let report = move |event: &ClockEvent| heard.lock().unwrap().push(event.to_string());
        let clock = GuardedClock::over(read, hold, None, report);
        let before = clock.now();
        assert!((SystemClock.now() - before).abs() < 60 * S);
        set.store(-7_200 * S - 300_000, Ordering::Relaxed);
        let held = clock.believed();
        assert!(held.is_held && held.holds == 1 && held.time >= before);
        assert_eq!(clock.now(), held.time);
        clock.believe();
        assert_eq!(clock.believed(), BelievedTime { is_held: false, ..held });
        let events = events.lock().unwrap();
        let [begun, ended] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!(
            begun,
            "the clock was set back by 2 hours: windows stay open, and nothing is published, until it is believed"
        );
        assert!(ended.starts_with("the clock is believed again: it reads 20"), "{ended}");
        assert!(ended.ends_with(&in_utc(held.time)), "{ended}");
        assert_eq!(
            ClockEvent::Behind { reads: 0, settled: S }.to_string(),
            "the clock reads 1970-01-01T00:00:00Z, and a window that ended at 1970-01-01T00:00:01Z is settled: \
             windows stay open, and nothing is published, until it is believed"
        );
        assert!(ClockEvent::Set(61 * S).to_string().starts_with("the clock was set forward by 61 seconds: "));
    }

    // Refutes two readings that are of different times.
    #[test]
    fn the_clocks_of_this_machine_agree() {
        let first = read_clocks();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let second = read_clocks();
        assert!(second.boot - first.boot >= 30_000);
        let moved = (second.wall - second.boot) - (first.wall - first.boot);
        assert!(moved.abs() < STEP, "{moved}");
    }
}
