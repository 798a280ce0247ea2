//! The panes of a statistic of records: each record is bounded by itself, so that nothing is held of a person.
#![expect(clippy::type_complexity, reason = "the type of a statistic says all that was said before it")]

use super::admission::Closing;
use super::aggregation::Aggregation;
use super::bounder::{RecordReading, StatisticPanes};
use super::panes::{PaneMap, PaneOf, SPARE};
use super::unit::Records;
use crate::accounting::Interval;
use crate::dataflow::bounding::{Cap, ContributionSelector, Measure, RecordTotals};
use crate::dataflow::driver::RunError;
use crate::dataflow::windows::Schedule;
use crate::mechanisms::Key;
use crate::time::Time;

/// The open panes of one statistic of records on one worker.
pub(super) struct RecordPanes<D, Q: Aggregation, T, G, V> {
    reading: RecordReading<D, Records, T, G, V>,
    question: Q,
    selector: ContributionSelector,
    map: PaneMap,
    panes: Vec<Option<Box<RecordTotals<Q::Key, Q::Total>>>>,
    #[expect(clippy::vec_box, reason = "they move between places as they are")]
    spare: Vec<Box<RecordTotals<Q::Key, Q::Total>>>,
    next: u64,
}

impl<D, Q: Aggregation, T, G, V> RecordPanes<D, Q, T, G, V> {
    pub(super) fn new(
        reading: RecordReading<D, Records, T, G, V>,
        question: Q,
        selector: ContributionSelector,
        (schedule, late): (Schedule, i64),
    ) -> Self {
        let (map, panes, spare) = (PaneMap::new(schedule, late), Vec::new(), Vec::new());
        RecordPanes { reading, question, selector, map, panes, spare, next: 0 }
    }

    fn open(&mut self, at: usize, window: u64) {
        let selector = self.map.selector(&self.selector, window);
        let pane = match self.spare.pop() {
            Some(mut pane) => {
                pane.choose_by(selector);
                pane
            }
            None => Box::new(RecordTotals::new(selector, self.question.listed())),
        };
        if self.panes.len() <= at {
            self.panes.resize_with(at + 1, || None);
        }
        self.panes[at] = Some(pane);
    }

    fn discard(&mut self, at: usize) {
        self.map.give_back(at);
        if let Some(pane) = self.panes.get_mut(at).and_then(Option::take)
            && self.spare.len() < SPARE
        {
            self.spare.push(pane);
        }
    }

    fn totals(&mut self, at: usize) -> Vec<(Q::Key, Q::Total)> {
        self.panes[at].as_mut().map_or_else(Vec::new, |pane| pane.close())
    }
}

impl<D, Q, T, G, V> StatisticPanes<D, (), Q> for RecordPanes<D, Q, T, G, V>
where
    Q: Aggregation,
    T: Fn(&D) -> Time,
    G: Fn(&D) -> Q::Key,
    V: Fn(&D) -> <Q::Measure as Measure>::Value,
{
    fn take(&mut self, given: Time, items: &[D]) {
        let counts = self.reading.counts.clone();
        for record in items.iter().filter(|record| counts.as_ref().is_none_or(|counts| counts(record))) {
            let pane = match self.map.place(given, (self.reading.time)(record), self.next) {
                PaneOf::None => continue,
                PaneOf::Open(at) => at,
                PaneOf::New(at, first) => {
                    self.open(at, first);
                    at
                }
            };
            let key = (self.reading.key)(record);
            if key.is_absent() {
                continue;
            }
            let value = (self.reading.value)(record);
            let RecordPanes { panes, question, .. } = self;
            if let Some(Some(pane)) = panes.get_mut(pane) {
                pane.add(&key, |total| {
                    let share = question.measure().share(Cap::ONE, std::iter::once((&value, 1)));
                    question.add(total, share);
                });
            }
        }
    }

    fn next(&self) -> Option<(Interval, Time)> {
        self.map.closes(self.next)
    }

    fn number(&self) -> u64 {
        self.next
    }

    fn skip_empty(&mut self, complete: Time, counted: Time) {
        self.next = self.map.first_to_close(self.next, (complete, counted), None);
    }

    fn close(&mut self, _: &mut Closing<'_, (), Q::Key>) -> Result<(u64, Vec<(Q::Key, Q::Total)>), RunError> {
        let number = self.next;
        self.next += 1;
        self.map.forget_last();
        let held: Vec<usize> = self.map.panes_of(number).into_values().collect();
        let totals = match held[..] {
            [] => Vec::new(),
            [only] if !self.map.schedule.overlaps() => self.totals(only),
            _ => {
                let whole = self.map.take_place();
                self.open(whole, number);
                for at in held {
                    let RecordPanes { panes, question, .. } = self;
                    if let Ok([Some(whole), Some(pane)]) = panes.get_disjoint_mut([whole, at]) {
                        whole.merge(pane, |ours, theirs| question.join(ours, theirs));
                    }
                }
                let totals = self.totals(whole);
                self.discard(whole);
                totals
            }
        };
        for at in self.map.passed(self.next) {
            self.discard(at);
        }
        Ok((number, totals))
    }

    fn is_bounded(&self) -> bool {
        self.map.schedule.is_bounded()
    }
}
