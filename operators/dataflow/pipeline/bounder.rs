//! The operator of contribution bounding: it holds records until their window closes, and then sends the
//! tallies.
//!
//! It sends a window's parts with a capability that it holds for the next window to close, whether a record came
//! or not: so that the operator that releases cannot take the window for complete before it has them, and nobody
//! knows by the times of parts which windows are empty. Windows that close at once are sent at one time: timely
//! accounts for each time by itself.
#![expect(clippy::type_complexity, reason = "the type of a statistic says all that was said before it")]

use std::rc::Rc;
use std::sync::Arc;

use super::admission::{Admission, Closing, Restored};
use super::aggregation::Aggregation;
use super::backend::Portion;
use super::columns::KeyFunction;
use super::unit::{Batches, Person};
use crate::accounting::Interval;
use crate::dataflow::driver::{ProcessShared, RunError};
use crate::dataflow::engine::{
    Capability, Exchange, MutableAntichain, OperatorBuilder, OutputBuilder, Pipeline, StreamVec, Travels,
};
use crate::dataflow::messages::SmallMessages;
use crate::mechanisms::{Statistic, Tally};
use crate::time::Time;

/// The part of an aggregation that travels between workers.
pub(super) type AggregationPart<Q> = <<<Q as Aggregation>::Statistic as Statistic>::Tally as Tally>::Part;

/// The admission of people to windows, and the stream that restores it at the start.
pub(super) type Counters<'scope, P, K> = (Admission<P, K>, StreamVec<'scope, Time, Restored>);

/// Bounds records, and gives the parts of every window with its number.
pub(super) fn bounded<'scope, I, P, Q>(
    records: Batches<'scope, I>,
    mut panes: Box<dyn StatisticPanes<I, P, Q>>,
    counters: Option<Counters<'scope, P, Q::Key>>,
    shared: Arc<ProcessShared>,
) -> StreamVec<'scope, Time, (u64, Portion<AggregationPart<Q>>)>
where
    I: 'static,
    P: Person,
    Q: Aggregation,
    AggregationPart<Q>: Travels,
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
        let (mut held, mut is_lost) = (capabilities.pop(), false);
        move |frontiers: &[MutableAntichain<Time>]| {
            // A window of which something cannot be read never closes: the capability is held.
            if is_lost {
                return;
            }
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
                let number = panes.number();
                let closed = match &mut admission {
                    Some(admission) => panes.close(&mut admission.of(window, number)),
                    None => panes.close(&mut Closing::of_everybody()),
                };
                let (number, totals) = match closed {
                    Ok(closed) => closed,
                    Err(failure) => {
                        is_lost = true;
                        return shared.fail(failure);
                    }
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

/// A function that returns true for the records that a statistic counts.
pub(crate) type RecordFilter<D> = Rc<dyn Fn(&D) -> bool>;

/// The functions by which a statistic reads records.
#[expect(missing_debug_implementations, reason = "made of closures")]
pub struct RecordReading<D, U, T, G, V> {
    pub(super) unit: Rc<U>,
    pub(super) time: Rc<T>,
    pub(super) key: Rc<G>,
    /// The function that reads the key, if another statistic may read it alike.
    pub(super) function: Option<KeyFunction>,
    pub(super) value: Rc<V>,
    /// Returns true if a record counts here; without it, all do.
    pub(super) counts: Option<RecordFilter<D>>,
}

/// The open panes of one statistic on one worker.
pub trait StatisticPanes<I, P, Q: Aggregation> {
    /// Takes in records that came at a time of the dataflow: a time that their source had declared complete.
    fn take(&mut self, given: Time, items: &[I]);

    /// Returns the next window to close, and when it closes.
    fn next(&self) -> Option<(Interval, Time)>;

    /// Returns the number of the next window to close.
    fn number(&self) -> u64;

    /// Skips windows that close at or before a time and have no record here. People are counted in windows that end
    /// after `counted`, which are not skipped.
    fn skip_empty(&mut self, complete: Time, counted: Time);

    /// Closes the next window: its number, and what this worker knows of it.
    ///
    /// # Errors
    ///
    /// If a part of it cannot be read back from the file of the panes that memory has no room for.
    fn close(
        &mut self,
        closing: &mut Closing<'_, P, Q::Key>,
    ) -> Result<(u64, Vec<(Q::Key, Q::Total)>), RunError>;

    /// Returns true if there is a last window.
    fn is_bounded(&self) -> bool;
}
