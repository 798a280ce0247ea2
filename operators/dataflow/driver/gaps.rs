//! Input gaps: the intervals in which a source was not connected, and which it cannot replay.
//!
//! A window that overlaps one is skipped, at no cost: it is never answered from a part of its records. That a
//! source was connected is an operational fact, the same whoever is in the data; that records came never
//! decides. So is a window that begins or ends within hours that the clocks of the source's zone repeat, where
//! its times are local ones.
//!
//! Gaps travel beside the records of their input, as a stream of their own, to worker 0, where windows are
//! released. No window is released before both streams have passed its close.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::positions::{InputPositions, Milestone, ORIGIN};
use crate::accounting::Interval;
use crate::dataflow::engine::{CapacityContainerBuilder, Exchange, InputHandle, Map, Operator, Scope};
use crate::time::{Time, Zone, divides_repeated_times, known};

/// A report of a worker's part of an input, beside its records.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum SourceReport {
    /// The source was not connected from the first of these times to the second.
    Gap(Time, Time),
    /// A part, by the index of its worker, has reached a place.
    Milestone(usize, Milestone),
}

/// The handle by which a worker's part of an input reports its gaps and its milestones.
pub(crate) type ReportInput = InputHandle<Time, CapacityContainerBuilder<Vec<SourceReport>>>;

/// The gaps of one input that this worker knows of: all of them, on worker 0.
pub(crate) struct InputGaps {
    /// Disjoint, in order.
    known: RefCell<Vec<Interval>>,
    /// The time up to which all gaps are known.
    complete: Cell<Time>,
    wakes: RefCell<Vec<Box<dyn Fn()>>>,
    /// The rules of the zone of the source's local times.
    local: Option<TimeZone>,
}

impl InputGaps {
    /// Creates the gaps of an input that has none.
    pub(crate) fn none() -> InputGaps {
        let (complete, wakes) = (Cell::new(Time::MAX), RefCell::default());
        InputGaps { known: RefCell::default(), complete, wakes, local: None }
    }

    /// Creates the stream of the reports of an input, and the handle of this worker's part. Milestones go to
    /// `positions`.
    pub(crate) fn stream(
        scope: Scope<'_, Time>,
        positions: &Rc<InputPositions>,
        local: Option<Zone>,
    ) -> (Rc<InputGaps>, ReportInput) {
        let local = local.and_then(|zone| Some(known(zone.name()).ok()?.1));
        let gaps = Rc::new(InputGaps { complete: Cell::new(Time::MIN), local, ..InputGaps::none() });
        let (known, positions) = (Rc::clone(&gaps), Rc::clone(positions));
        let mut input = ReportInput::new();
        let to_the_first = Exchange::new(|_: &SourceReport| 0);
        // An operator sends on what it has at the end of each step; the handle itself keeps it until the next time.
        let reports = input.to_stream(scope).map(|report| report);
        reports.sink(to_the_first, "Reports", move |(input, frontier)| {
            let mut is_start = false;
            input.for_each(|_, batch| {
                for report in batch.drain(..) {
                    match report {
                        SourceReport::Gap(start, end) => {
                            if let Ok(gap) = Interval::new(start, end) {
                                known.add(gap);
                            }
                        }
                        SourceReport::Milestone(part, milestone) => {
                            // What holds whatever windows need is written at once.
                            is_start |= milestone.latest <= ORIGIN;
                            positions.add(part, milestone);
                        }
                    }
                }
            });
            if is_start {
                known.wake();
            }
            if let Some(complete) = frontier.frontier().iter().copied().min() {
                known.advance(complete);
            }
        });
        (gaps, input)
    }

    /// Calls `wake` whenever more is known, and when positions came that hold at once.
    pub(crate) fn on_advance(&self, wake: Box<dyn Fn()>) {
        self.wakes.borrow_mut().push(wake);
    }

    /// Returns the time up to which all gaps are known.
    pub(crate) fn complete(&self) -> Time {
        self.complete.get()
    }

    /// Returns true if a window overlaps a gap, or its records cannot be told from those of its neighbours.
    pub(crate) fn overlap(&self, window: Interval) -> bool {
        let is_repeated = |rules| {
            divides_repeated_times(rules, window.start()) || divides_repeated_times(rules, window.end())
        };
        if self.local.as_ref().is_some_and(is_repeated) {
            return true;
        }
        let known = self.known.borrow();
        let first = known.partition_point(|gap| gap.end() <= window.start());
        known.get(first).is_some_and(|gap| gap.start() < window.end())
    }

    pub(super) fn add(&self, gap: Interval) {
        let mut known = self.known.borrow_mut();
        let from = known.partition_point(|other| other.end() < gap.start());
        let to = known.partition_point(|other| other.start() <= gap.end());
        let joined = known.get(from..to).unwrap_or_default();
        let start = joined.first().map_or(gap.start(), |first| first.start().min(gap.start()));
        let end = joined.last().map_or(gap.end(), |last| last.end().max(gap.end()));
        known.splice(from..to.max(from), Interval::new(start, end).ok());
    }

    fn advance(&self, complete: Time) {
        if self.complete.replace(complete) < complete {
            self.wake();
        }
    }

    fn wake(&self) {
        self.wakes.borrow().iter().for_each(|wake| wake());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Refutes a window that is answered though its times are ambiguous, and a longer one that is skipped for them.
    #[test]
    fn a_window_is_skipped_whose_end_or_start_lies_within_repeated_hours() {
        let at = |hour: i64| crate::time::at("2026-11-01T00:00:00Z").unwrap() + hour * 3_600_000_000;
        let overlap = |zone: &str, start, end| {
            let local = Some(known(zone).unwrap().1);
            InputGaps { local, ..InputGaps::none() }.overlap(Interval::new(at(start), at(end)).unwrap())
        };
        for (start, end, is_skipped) in [
            (4, 5, false),
            (5, 6, true),
            (6, 7, true),
            (7, 8, false),
            (5, 7, false),
            (4, 29, false),
            (-24, 6, true),
        ] {
            assert_eq!(overlap("America/New_York", start, end), is_skipped, "{start} to {end}");
            assert!(!overlap("UTC", start, end));
        }
    }

    fn interval((start, length): (i64, i64)) -> Interval {
        Interval::new(start, start + length).unwrap()
    }

    proptest! {
        // Refutes gaps that are lost where they touch or overlap, and an end that counts as inside.
        #[test]
        fn a_window_overlaps_exactly_the_gaps_that_were_added(
            added in prop::collection::vec((0i64..60, 1i64..12), 0..12),
            window in (0i64..70, 1i64..20),
        ) {
            let gaps = InputGaps::none();
            added.iter().copied().map(interval).for_each(|gap| gaps.add(gap));
            let window = interval(window);
            let is_in = |time: &i64| added.iter().any(|(start, length)| (*start..start + length).contains(time));
            prop_assert_eq!(gaps.overlap(window), (window.start()..window.end()).any(|time| is_in(&time)));
            let known = gaps.known.borrow();
            prop_assert!(known.windows(2).all(|pair| pair[0].end() < pair[1].start()));
        }
    }
}
