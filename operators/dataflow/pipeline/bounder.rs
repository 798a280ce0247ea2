//! The operator of contribution bounding: it holds records until their window closes, and then sends the
//! tallies.
//!
//! It sends a window's parts at the last moment before the window closes, with a capability that it holds for
//! every window in turn, whether a record came or not: so that the operator that releases cannot take the
//! window for complete before it has them, and nobody knows by the times of parts which windows are empty.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::admission::{Admission, Closing, Restored};
use super::aggregation::Aggregation;
use super::backend::Portion;
use super::unit::{Batches, Pane, ProtectedUnit, RecordContribution};
use crate::accounting::Interval;
use crate::dataflow::bounding::{Cap, ContributionSelector};
use crate::dataflow::engine::{
    Capability, Exchange, MutableAntichain, OperatorBuilder, OutputBuilder, Pipeline, StreamVec, Travels,
};
use crate::dataflow::messages::SmallMessages;
use crate::dataflow::windows::Schedule;
use crate::mechanisms::{Key, Statistic, Tally};
use crate::time::Time;

/// The part of an aggregation that travels between workers.
pub(super) type AggregationPart<Q> = <<<Q as Aggregation>::Statistic as Statistic>::Tally as Tally>::Part;

/// The admission of people to windows, and the stream that restores it at the start.
pub(super) type Counters<'scope, P, K> = (Admission<P, K>, StreamVec<'scope, Time, Restored>);

/// Bounds records, and gives the parts of every window with its number.
pub(super) fn bounded<'scope, D, U, Q, T, G, V>(
    records: Batches<'scope, U::Item>,
    mut panes: Panes<D, U, Q, T, G, V>,
    counters: Option<Counters<'scope, U::Person, Q::Key>>,
) -> StreamVec<'scope, Time, (u64, Portion<AggregationPart<Q>>)>
where
    D: 'static,
    U: ProtectedUnit<D>,
    Q: Aggregation,
    AggregationPart<Q>: Travels,
    T: Fn(&D) -> Time + 'static,
    G: Fn(&D) -> Q::Key + 'static,
    V: Fn(&D) -> <Q::Measure as crate::dataflow::bounding::Measure>::Value + 'static,
{
    let mut builder = OperatorBuilder::new("Bound".to_owned(), records.scope());
    let mut input = builder.new_input(records, Pipeline);
    let (mut admission, mut restored) = match counters {
        Some((admission, restored)) => {
            let route = Exchange::new(|restored: &Restored| restored.route());
            (Some(admission), Some(builder.new_input(restored, route)))
        }
        None => (None, None),
    };
    let (output, stream) = builder.new_output::<Vec<(u64, Portion<AggregationPart<Q>>)>>();
    let mut output = OutputBuilder::<_, SmallMessages<_>>::from(output);

    builder.build(move |mut capabilities| {
        let mut held = capabilities.pop();
        move |frontiers: &[MutableAntichain<Time>]| {
            let mut output = output.activate();
            // A message that was sent without a time is late for every window.
            input.for_each(|capability, batch| {
                if let Some(given) = capability.least() {
                    panes.take(*given, batch);
                }
            });
            if let (Some(admission), Some(restored)) = (&mut admission, &mut restored) {
                restored.for_each(|_, batch| batch.drain(..).for_each(|known| admission.restore(known)));
                if !frontiers[1].is_empty() {
                    return;
                }
            }
            // Inputs that vanished have completed nothing.
            let complete = frontiers[0].frontier().first().copied();
            let ended = complete.is_none() || (complete == Some(Time::MAX) && !panes.is_bounded());
            if let Some(complete) = complete.filter(|_| !ended) {
                panes.skip_empty(complete, admission.as_ref().map_or(Time::MAX, Admission::through));
            }
            while let (Some(capability), Some(complete), Some((window, close))) =
                (&mut held, complete, panes.next())
                && !ended
                && close <= complete
            {
                // What is sent must come before the window closes, and has: whatever came at or after it was
                // late.
                capability.downgrade(&(close - 1));
                let (number, totals) = match &mut admission {
                    Some(admission) => panes.close(&mut admission.of(window)),
                    None => panes.close(&mut Closing::of_everybody()),
                };
                let admitted = admission.as_mut().map(Admission::admitted);
                let parts = totals.into_iter().map(|(key, total)| Portion::Part(Q::part(key, total)));
                let parts = parts.chain(admitted.map(Portion::Admitted)).map(|part| (number, part));
                output.session_with_builder(&*capability).give_iterator(parts);
            }
            match panes.next() {
                Some((_, close)) if !ended => advance(&mut held, close - 1),
                _ => held = None,
            }
        }
    });
    stream
}

fn advance(held: &mut Option<Capability<Time>>, time: Time) {
    if let Some(capability) = held {
        capability.downgrade(&time);
    }
}

// Which records count in which window, on one worker. No streams: what came, at which time, and what is
// closed.
//
// Windows that overlap share what they have in common: a record is held once, in its pane, and a window that
// closes is put together from its panes. A record that came too late for some of the windows over its pane
// and in time for others is held apart, for the others: what counts is decided by what its source had
// declared when it gave the record, and not by which window this worker has got round to closing.

/// The functions by which a statistic reads records.
pub(super) struct RecordReading<D, U, T, G, V> {
    pub(super) unit: Rc<U>,
    pub(super) time: Rc<T>,
    pub(super) key: Rc<G>,
    pub(super) value: Rc<V>,
    pub(super) records: std::marker::PhantomData<fn(D)>,
}

/// The number of panes whose memory is kept for the next ones: those of the windows that are open at a time in most
/// jobs, and few of a backlog's.
const SPARE: usize = 4;

/// The open panes of one statistic on one worker.
pub(super) struct Panes<D, U: ProtectedUnit<D>, Q: Aggregation, T, G, V> {
    reading: RecordReading<D, U, T, G, V>,
    question: Q,
    cap: Cap,
    selector: ContributionSelector,
    schedule: Schedule,
    late: i64,
    /// By pane, and by the first of its windows that it counts in.
    open: BTreeMap<(u64, u64), usize>,
    panes: Vec<Option<Box<U::Pane<Q>>>>,
    /// The places in `panes` that have none.
    free: Vec<usize>,
    /// Panes with the memory of former ones.
    spare: Vec<Box<U::Pane<Q>>>,
    /// The first window that is not closed.
    next: u64,
    /// The pane of the last record.
    last: Last,
}

/// The number of a window, and what this worker knows of it.
pub(super) type Closed<Q> = (u64, Vec<(<Q as Aggregation>::Key, <Q as Aggregation>::Total)>);

/// A moment of the source, a stretch of event time, and where records of it go that came at that moment.
struct Last {
    given: Time,
    first: u64,
    span: std::ops::Range<Time>,
    pane: Option<usize>,
}

impl<D, U, Q, T, G, V> Panes<D, U, Q, T, G, V>
where
    U: ProtectedUnit<D>,
    Q: Aggregation,
    T: Fn(&D) -> Time,
    G: Fn(&D) -> Q::Key,
    V: Fn(&D) -> <Q::Measure as crate::dataflow::bounding::Measure>::Value,
{
    pub(super) fn new(
        reading: RecordReading<D, U, T, G, V>,
        question: Q,
        cap: Cap,
        selector: ContributionSelector,
        (schedule, late): (Schedule, i64),
    ) -> Self {
        let last = Last { given: Time::MIN, first: 0, span: 0..0, pane: None };
        Panes {
            reading,
            question,
            cap,
            selector,
            schedule,
            late,
            open: BTreeMap::new(),
            panes: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
            next: 0,
            last,
        }
    }

    /// Takes in records that came at a time of the dataflow: a time that their source had declared complete.
    pub(super) fn take(&mut self, given: Time, items: &[U::Item]) {
        for item in items {
            let given = U::moment(item, given);
            let record = U::record(item);
            let time = (self.reading.time)(record);
            if given != self.last.given || !self.last.span.contains(&time) {
                self.look_up(given, time);
            }
            let Some(pane) = self.last.pane else { continue };
            let key = (self.reading.key)(record);
            if key.is_absent() {
                continue;
            }
            let value = (self.reading.value)(record);
            let brought = RecordContribution { time, key: &key, value };
            let Some(pane) = &mut self.panes[pane] else { continue };
            self.reading.unit.add(pane, &self.question, &self.selector, item, brought);
        }
    }

    fn look_up(&mut self, given: Time, time: Time) {
        if given != self.last.given {
            // A window is closed for what came when its end and its lateness had been declared.
            self.last.given = given;
            self.last.first = self.schedule.first_ending_after(given.saturating_sub(self.late));
        }
        self.last.span = time..time.saturating_add(1);
        self.last.pane = None;
        let Some(pane) = self.schedule.pane(time) else { return };
        if let Some(span) = self.schedule.span_of_pane(pane) {
            self.last.span = span.start()..span.end();
        }
        let windows = self.schedule.windows_of(pane);
        let first = windows.start.max(self.last.first).max(self.next);
        if first < windows.end {
            self.last.pane = Some(self.opened(pane, first));
        }
    }

    fn opened(&mut self, pane: u64, first: u64) -> usize {
        if let Some(&at) = self.open.get(&(pane, first)) {
            return at;
        }
        let at = self.fresh(first);
        self.open.insert((pane, first), at);
        at
    }

    /// An empty pane: where windows overlap they need one choice, and else each has its own.
    fn fresh(&mut self, window: u64) -> usize {
        let selector = match self.schedule.window(window) {
            Some(window) if !self.schedule.overlaps() => self.selector.within(window.start()),
            _ => self.selector.clone(),
        };
        let pane = match self.spare.pop() {
            Some(mut pane) => {
                pane.reuse(selector);
                pane
            }
            None => Box::new(U::pane(&self.question, self.cap, selector)),
        };
        let at = self.free.pop().unwrap_or_else(|| {
            self.panes.push(None);
            self.panes.len() - 1
        });
        self.panes[at] = Some(pane);
        at
    }

    /// Takes a pane out of its place.
    fn discard(&mut self, at: usize) {
        self.free.push(at);
        if let Some(pane) = self.panes[at].take()
            && self.spare.len() < SPARE
        {
            self.spare.push(pane);
        }
    }

    /// The next window to close, and when it closes.
    pub(super) fn next(&self) -> Option<(Interval, Time)> {
        let window = self.schedule.window(self.next)?;
        // Both are within a quarter of all time: see `LIMIT`.
        Some((window, window.end() + self.late))
    }

    /// Skips windows that close at or before a time and have no record here: a restart does not close those of
    /// a year one by one. People are counted in windows that end after `counted`, which are not skipped.
    fn skip_empty(&mut self, complete: Time, counted: Time) {
        let closed = self.schedule.first_ending_after(complete.saturating_sub(self.late).min(counted));
        let held = self.open.first_key_value().map(|((pane, _), _)| self.schedule.windows_of(*pane).start);
        let next = closed.min(held.unwrap_or(closed));
        if next > self.next {
            self.next = next;
            self.last = Last { given: Time::MIN, first: 0, span: 0..0, pane: None };
        }
    }

    /// Closes the next window: its number, and what this worker knows of it.
    pub(super) fn close(&mut self, closing: &mut Closing<'_, U::Person, Q::Key>) -> Closed<Q> {
        let number = self.next;
        self.next += 1;
        // A record of a window that is closed must be looked up again.
        self.last = Last { given: Time::MIN, first: 0, span: 0..0, pane: None };
        let of_window = self.schedule.panes(number);
        let range = (of_window.start, 0)..(of_window.end, 0);
        let held: Vec<usize> =
            self.open.range(range).filter(|((_, first), _)| *first <= number).map(|(_, &at)| at).collect();
        let totals = match held[..] {
            [] => Vec::new(),
            [only] if !self.schedule.overlaps() => self.close_pane(only, closing),
            _ => {
                let whole = self.fresh(number);
                for at in held {
                    // Never one and the same: the whole was free.
                    if let Ok([Some(whole), Some(pane)]) = self.panes.get_disjoint_mut([whole, at]) {
                        whole.merge(pane, &self.question);
                    }
                }
                let totals = self.close_pane(whole, closing);
                self.discard(whole);
                totals
            }
        };
        // Panes are in the order of their windows, so those that no later window has come first.
        while let Some(entry) = self.open.first_entry() {
            if self.schedule.windows_of(entry.key().0).end > self.next {
                break;
            }
            let at = entry.remove();
            self.discard(at);
        }
        (number, totals)
    }

    fn close_pane(
        &mut self,
        at: usize,
        closing: &mut Closing<'_, U::Person, Q::Key>,
    ) -> Vec<(Q::Key, Q::Total)> {
        self.panes[at].as_mut().map_or_else(Vec::new, |pane| pane.close(&self.question, closing))
    }

    /// Returns true if there is a last window.
    pub(super) fn is_bounded(&self) -> bool {
        self.schedule.is_bounded()
    }
}
