//! A public clock that a test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use discreet::dataflow::Clock;
use discreet::time::{Span, Time};

/// A clock that stands still until a test moves it. Clones are the same clock.
///
/// It takes the place of the wall clock in [`skipping`](discreet::dataflow::Windowed::skipping). Set before a run,
/// it decides alone which windows are skipped: those whose deadline it has passed.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// Creates a clock that reads a time.
    pub fn at(time: Time) -> ManualClock {
        ManualClock(Arc::new(AtomicI64::new(time)))
    }

    /// Sets it to a time, which may be earlier.
    pub fn set(&self, time: Time) {
        self.0.store(time, Ordering::SeqCst);
    }

    /// Moves it forward, at most to the end of time.
    pub fn advance(&self, by: Span) {
        let by = by.as_microseconds();
        // The function always has a value.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |time| Some(time.saturating_add(by)));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        self.0.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use discreet::dataflow::revealed::ExactWindow;
    use discreet::prelude::*;
    use discreet::time::seconds;

    use super::*;
    use crate::{Script, exact};

    #[test]
    fn clones_are_one_clock() {
        let clock = ManualClock::at(5);
        let other = clock.clone();
        clock.advance(seconds(1).unwrap());
        assert_eq!(other.now(), 1_000_005);
        other.set(-7);
        assert_eq!(clock.now(), -7);
        clock.set(Time::MAX);
        clock.advance(seconds(1).unwrap());
        assert_eq!(clock.now(), Time::MAX);
    }

    // Refutes a run that reads the clock of the machine, by which all of these windows are long over.
    #[test]
    fn it_alone_decides_which_windows_are_skipped() {
        let skipped = |now: Time| -> Vec<bool> {
            let clock = Arc::new(ManualClock::at(now));
            let script = Script::of([(1_u64, 5_000_000_i64)]).complete(40_000_000);
            let tallies = exact(script, move |visits, run| {
                visits
                    .protect(|visit| visit.0)
                    .tumbling(seconds(10), |visit| visit.1)
                    .between(0, 40_000_000)
                    .skipping(clock.clone(), seconds(5))
                    .bound(Bound::keys(1))
                    .count()
                    .reveal(run, "visits");
            });
            tallies.unwrap()[0]
                .windows()
                .iter()
                .map(|window: &ExactWindow| window.skipped().is_some())
                .collect()
        };
        assert_eq!(skipped(0), [false, false, false, false]);
        assert_eq!(skipped(15_000_000), [true, false, false, false]);
        assert_eq!(skipped(35_000_000), [true, true, true, false]);
    }
}
