//! The guard of the wall clock: the decision if what it reads is believed.
//!
//! A live run closes windows by the wall clock, and the wall clock may be set: by hand, by a time service
//! after an outage, by the host of a virtual machine. The time since the machine started cannot be set; it
//! goes on while the machine is suspended, and a time service that makes a clock faster or slower does so to
//! both. Only a step moves one against the other. [`ClockGuard`] reads both, and believes the wall clock as
//! long as they agree:
//!
//! * **A step of more than 5 s** is a reason for doubt, from the first reading after it. While it is in doubt
//!   the time stands still: no watermark advances, no window closes, nothing is published, and no deadline
//!   skips a window. A step forward would close windows before their records came; a step backward would have
//!   readers wait for a time that was declared complete already.
//! * **It is believed again** when it has not been set for the time of the hold, whatever it reads then, or
//!   when the operator says that it is right. A step during the hold begins the hold anew.
//! * **The time never goes back.** After a step backward it stands still until the wall clock has passed it.
//! * **Slower changes are followed**: the agreed difference of the two moves by up to a thousandth of the time
//!   that passes, twice what a time service does to a clock that runs wrong. So smaller steps pass one by one,
//!   and several of them in a short time are a step.
//! * **A leap second**, repeated or smeared, is within 5 s: the time stands still for a second.
//! * **A suspend** is no step. Files are read on after it, and a pipe has kept its bytes.
//! * **A clock that is wrong at the start** cannot be known, since there is nothing to compare it with but the
//!   ledger: a clock that reads more than 5 s before the end of a window that is settled is in doubt from the
//!   start. Once it is believed, the gate draws nothing for a window before the settled frontier.
//! * **A restart during a hold** begins with the wall clock that it finds, and knows nothing of the hold.
//!   After a step backward the settled frontier shows it; a step forward is believed.

use std::fmt;

use super::BelievedTime;
use crate::time::{Span, Time, in_utc, in_words};

/// One reading of both clocks, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockReading {
    pub(crate) wall: Time,
    /// The time since the machine started, suspends included.
    pub(crate) boot: Time,
}

/// A change in the belief in a clock. Prints as a sentence for the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClockEvent {
    /// The clock was set by this many microseconds, backward if it is negative, and is in doubt.
    Set(Time),
    /// The clock reads this time, before the end of a window that is settled, and is in doubt.
    Behind {
        /// The time that the clock reads.
        reads: Time,
        /// The latest end of a settled window.
        settled: Time,
    },
    /// The clock is believed again.
    Believed {
        /// The time that the clock reads.
        reads: Time,
        /// The time that was declared before, if the clock has not come to it.
        waits: Option<Time>,
    },
}

impl fmt::Display for ClockEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HELD: &str = "windows stay open, and nothing is published, until it is believed";
        match *self {
            ClockEvent::Set(by) => {
                let seconds = by.unsigned_abs().saturating_add(500_000) / 1_000_000 * 1_000_000;
                let way = if by > 0 { "forward" } else { "back" };
                write!(f, "the clock was set {way} by {}: {HELD}", in_words(seconds))
            }
            ClockEvent::Behind { reads, settled } => write!(
                f,
                "the clock reads {}, and a window that ended at {} is settled: {HELD}",
                in_utc(reads),
                in_utc(settled)
            ),
            ClockEvent::Believed { reads, waits } => {
                write!(f, "the clock is believed again: it reads {}", in_utc(reads))?;
                match waits {
                    Some(until) => {
                        write!(f, ", and windows stay open until it has passed {}", in_utc(until))
                    }
                    None => Ok(()),
                }
            }
        }
    }
}

/// The largest step, in microseconds, that is no reason for doubt.
pub(super) const STEP: Time = 5_000_000;

/// The agreed difference of the clocks follows theirs by one part in this many of the time that passes.
const FOLLOWING: Time = 1_000;

/// The decision if a clock is believed, given its readings one after another.
#[derive(Clone, Debug)]
pub(crate) struct ClockGuard {
    hold: Time,
    agreed: ClockOffset,
    doubt: Option<ClockDoubt>,
    time: Time,
    holds: u64,
}

/// A doubt about the clock.
#[derive(Clone, Copy, Debug)]
struct ClockDoubt {
    /// The difference that will be agreed on.
    offset: ClockOffset,
    /// The time since the start of the machine at which the hold began, or began anew.
    since: Time,
}

impl ClockGuard {
    pub(crate) fn new(
        hold: Span,
        settled: Option<Time>,
        first: ClockReading,
    ) -> (ClockGuard, Option<ClockEvent>) {
        let agreed = ClockOffset::of(first);
        let (hold, time) = (hold.as_microseconds(), first.wall);
        let mut guard = ClockGuard { hold, agreed, doubt: None, time, holds: 0 };
        let settled = settled.filter(|settled| settled.saturating_sub(first.wall) > STEP);
        let event = settled.map(|settled| guard.hold(first, ClockEvent::Behind { reads: time, settled }));
        (guard, event)
    }

    /// Returns the time as of the last reading.
    pub(crate) fn believed(&self) -> BelievedTime {
        BelievedTime { time: self.time, holds: self.holds, is_held: self.doubt.is_some() }
    }

    /// Takes a reading; returns the change in belief, if there is one.
    pub(crate) fn read(&mut self, reading: ClockReading) -> Option<ClockEvent> {
        let Some(doubt) = &mut self.doubt else {
            let by = self.agreed.step(reading);
            if by.saturating_abs() > STEP {
                return Some(self.hold(reading, ClockEvent::Set(by)));
            }
            self.agreed.follow(reading);
            self.time = self.time.max(reading.wall);
            return None;
        };
        if doubt.offset.step(reading).saturating_abs() > STEP {
            *doubt = ClockDoubt::of(reading);
            return None;
        }
        doubt.offset.follow(reading);
        let is_over = reading.boot.saturating_sub(doubt.since) >= self.hold;
        is_over.then(|| self.agree(reading))
    }

    /// Takes a reading on the operator's word that it is right.
    pub(crate) fn believe(&mut self, reading: ClockReading) -> Option<ClockEvent> {
        self.read(reading).filter(|event| matches!(event, ClockEvent::Believed { .. })).or_else(|| {
            let is_held = self.doubt.is_some();
            is_held.then(|| self.agree(reading))
        })
    }

    fn hold(&mut self, reading: ClockReading, event: ClockEvent) -> ClockEvent {
        self.doubt = Some(ClockDoubt::of(reading));
        self.holds += 1;
        event
    }

    fn agree(&mut self, reading: ClockReading) -> ClockEvent {
        self.agreed = ClockOffset::of(reading);
        self.doubt = None;
        let waits = (self.time > reading.wall).then_some(self.time);
        self.time = self.time.max(reading.wall);
        ClockEvent::Believed { reads: reading.wall, waits }
    }
}

impl ClockDoubt {
    fn of(reading: ClockReading) -> ClockDoubt {
        ClockDoubt { offset: ClockOffset::of(reading), since: reading.boot }
    }
}

/// The difference of the two clocks, as far as it was followed.
#[derive(Clone, Copy, Debug)]
struct ClockOffset {
    offset: Time,
    /// The time since the start of the machine up to which it was followed.
    followed: Time,
}

impl ClockOffset {
    fn of(reading: ClockReading) -> ClockOffset {
        ClockOffset { offset: reading.wall.saturating_sub(reading.boot), followed: reading.boot }
    }

    /// Returns the time by which the wall clock is ahead of where it was expected.
    fn step(&self, reading: ClockReading) -> Time {
        reading.wall.saturating_sub(reading.boot).saturating_sub(self.offset)
    }

    /// Moves towards the difference of a reading, by the part of the time that has passed.
    fn follow(&mut self, reading: ClockReading) {
        // Frequent readings move it by whole microseconds all the same.
        let most = reading.boot.saturating_sub(self.followed).max(0) / FOLLOWING;
        self.followed = self.followed.saturating_add(most * FOLLOWING);
        self.offset = self.offset.saturating_add(self.step(reading).clamp(-most, most));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    const S: Time = 1_000_000;
    const HOLD: Time = 60 * S;
    /// Any time of the present.
    const START: Time = 1_790_000_000 * S;

    /// A machine whose wall clock may be set; its guard reads both clocks.
    struct Machine {
        guard: ClockGuard,
        now: ClockReading,
        events: Vec<ClockEvent>,
    }

    impl Machine {
        fn new() -> Machine {
            Machine::settled(None)
        }

        fn settled(settled: Option<Time>) -> Machine {
            let now = ClockReading { wall: START, boot: 7 * S };
            let (guard, event) = ClockGuard::new(Span::microseconds(HOLD).unwrap(), settled, now);
            Machine { guard, now, events: event.into_iter().collect() }
        }

        /// Lets time pass, and reads; returns the believed time, from the start.
        fn pass(&mut self, time: Time) -> Time {
            self.now = ClockReading { wall: self.now.wall + time, boot: self.now.boot + time };
            self.events.extend(self.guard.read(self.now));
            self.guard.time - START
        }

        fn set(&mut self, by: Time) -> &mut Machine {
            self.now.wall += by;
            self
        }

        fn is_held(&self) -> bool {
            self.guard.believed().is_held
        }
    }

    // Refutes a limit that is a microsecond off, either way, and a step that is believed at once.
    #[test]
    fn a_step_of_more_than_five_seconds_holds_the_time() {
        for way in [1, -1] {
            let mut machine = Machine::new();
            assert_eq!(machine.set(way * 5 * S).pass(0), (way * 5 * S).max(0));
            assert!(!machine.is_held() && machine.events.is_empty());
            let mut machine = Machine::new();
            assert_eq!(machine.pass(S), S);
            assert_eq!(machine.set(way * (5 * S + 1)).pass(0), S);
            assert!(machine.is_held());
            assert_eq!(machine.events, [ClockEvent::Set(way * (5 * S + 1))]);
            for _ in 0..59 {
                assert_eq!(machine.pass(S), S);
            }
            assert_eq!(machine.events.len(), 1, "once a hold");
        }
    }

    // Refutes a hold that is a microsecond too short, one that never ends, and one that a second step does not
    // begin anew.
    #[test]
    fn a_step_forward_is_believed_once_it_has_lasted() {
        let mut machine = Machine::new();
        machine.set(3_600 * S).pass(S);
        assert_eq!(machine.pass(HOLD - 1), 0);
        assert_eq!(machine.pass(1), 3_601 * S + HOLD);
        let reads = START + 3_601 * S + HOLD;
        assert_eq!(machine.events[1..], [ClockEvent::Believed { reads, waits: None }]);
        assert!(!machine.is_held());
        assert_eq!(machine.pass(S), 3_602 * S + HOLD, "it goes on");

        let mut machine = Machine::new();
        machine.set(3_600 * S).pass(S);
        machine.pass(HOLD - S);
        machine.set(-3_600 * S).pass(S / 2);
        assert_eq!(machine.pass(HOLD - 1), 0, "the hold has begun anew");
        let passed = machine.now.wall + 1 - START;
        assert_eq!(machine.pass(1), passed, "as if it had never been set");
        assert_eq!((machine.events.len(), machine.guard.holds), (2, 1));
    }

    // Refutes a time that goes back, and one that a step backward stops for ever.
    #[test]
    fn after_a_step_back_the_time_waits_for_the_clock() {
        let mut machine = Machine::new();
        machine.pass(10 * S);
        machine.set(-100 * S).pass(0);
        assert_eq!(machine.pass(HOLD), 10 * S);
        let reads = START + 10 * S - 100 * S + HOLD;
        assert_eq!(machine.events[1..], [ClockEvent::Believed { reads, waits: Some(START + 10 * S) }]);
        assert_eq!(machine.pass(100 * S - HOLD), 10 * S);
        assert_eq!(machine.pass(1), 10 * S + 1);
        assert!(!machine.is_held());
    }

    // Refutes a suspend that is taken for a step, a repeated second that goes back, and a clock that a time
    // service slews by 500 parts in a million for years.
    #[test]
    fn suspends_leap_seconds_and_slews_pass() {
        let mut machine = Machine::new();
        assert_eq!(machine.pass(86_400 * S), 86_400 * S, "a suspend of a day");
        assert_eq!(machine.set(-S).pass(0), 86_400 * S);
        assert_eq!(machine.pass(S), 86_400 * S, "a repeated second");
        assert_eq!(machine.pass(S), 86_401 * S);
        for _ in 0..100_000 {
            machine.set(500).pass(S);
        }
        for _ in 0..100_000 {
            machine.set(-500).pass(S);
        }
        assert_eq!(machine.guard.time, machine.now.wall);
        assert!(!machine.is_held() && machine.events.is_empty());
        // As often as a thread reads it.
        for _ in 0..5_000_000 {
            machine.set(1).pass(2_000);
        }
        assert!(machine.events.is_empty());
    }

    // Refutes an agreed difference that follows each reading: a clock that is set by little, again and again.
    #[test]
    fn many_small_steps_are_one() {
        for way in [1, -1] {
            let mut machine = Machine::new();
            for _ in 0..6 {
                machine.set(way * S).pass(S);
            }
            assert!(machine.is_held(), "six seconds in six");
            let mut machine = Machine::new();
            for _ in 0..100 {
                machine.set(way * S).pass(2_000 * S);
            }
            assert!(!machine.is_held(), "a second each half hour");
        }
    }

    // Refutes a word that is not heard, and one that lasts longer than the hold it ends.
    #[test]
    fn the_operator_may_say_that_it_is_right() {
        let mut machine = Machine::new();
        assert_eq!(machine.guard.believe(machine.now), None, "there is no doubt");
        machine.set(100 * S).pass(0);
        let event = machine.guard.believe(machine.now);
        assert_eq!(event, Some(ClockEvent::Believed { reads: START + 100 * S, waits: None }));
        assert_eq!(machine.pass(S), 101 * S);
        // A step that nobody has read yet.
        machine.set(100 * S);
        let reads = machine.now.wall;
        assert_eq!(machine.guard.believe(machine.now), Some(ClockEvent::Believed { reads, waits: None }));
        assert_eq!(machine.guard.holds, 2, "a stream was not connected over it");
        machine.set(100 * S).pass(S);
        assert!(machine.is_held());
    }

    // Refutes a clock that begins before what is settled and is believed at once, and one that never is.
    #[test]
    fn a_clock_behind_the_ledger_is_in_doubt_from_the_start() {
        for settled in [None, Some(START - S), Some(START + 5 * S)] {
            let machine = Machine::settled(settled);
            assert!(!machine.is_held() && machine.events.is_empty());
        }
        let settled = START + 5 * S + 1;
        let mut machine = Machine::settled(Some(settled));
        assert_eq!(machine.events, [ClockEvent::Behind { reads: START, settled }]);
        assert_eq!(machine.pass(HOLD - 1), 0);
        assert_eq!(machine.pass(1), HOLD);
        // A time service sets it, soon after the machine has started.
        let mut machine = Machine::settled(Some(settled));
        machine.pass(30 * S);
        machine.set(86_400 * S).pass(0);
        assert_eq!(machine.pass(HOLD - 1), 0);
        assert_eq!(machine.pass(1), 86_430 * S + HOLD);
        assert_eq!(machine.events.len(), 2);
    }

    proptest! {
        // Refutes, for any script: a time that goes back, that advances while it is in doubt, or that is ahead
        // of every reading.
        #[test]
        fn the_time_never_goes_back_and_stands_still_in_doubt(
            script in prop::collection::vec((0..200 * S, -100 * S..100 * S, 0..8u8), 1..60),
        ) {
            let (mut machine, mut last, mut latest) = (Machine::new(), 0, 0);
            for (passes, set, what) in script {
                if what < 3 {
                    machine.set(set);
                }
                let expected = (machine.now.wall + passes) - (machine.now.boot + passes);
                let is_step = (expected - machine.guard.agreed.offset).abs() > STEP;
                let was_held = machine.is_held();
                let time = machine.pass(passes);
                latest = latest.max(machine.now.wall - START);
                prop_assert!(last <= time && time <= latest);
                if machine.is_held() || (!was_held && is_step) {
                    prop_assert!(machine.is_held() && time == last);
                } else {
                    prop_assert_eq!(time, last.max(machine.now.wall - START));
                }
                last = time;
            }
        }
    }
}
