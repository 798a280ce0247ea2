//! The operator that bounds: it holds what comes until its window closes, and sends what it then knows.
//!
//! It sends a window's parts at the last moment before the window closes, with a capability that it holds for every window
//! in turn, whether a record came or not: so that the operator that releases cannot take the window for complete before
//! it has them, and nobody can tell by the times of parts which windows are empty.

use super::admission::{Admission, Closing, Restored};
use super::panes::Panes;
use super::question::Aggregation;
use super::told::Portion;
use super::unit::{Batches, ProtectedUnit};
use crate::dataflow::engine::{
    Capability, CapacityContainerBuilder, Exchange, MutableAntichain, OperatorBuilder, OutputBuilder,
    Pipeline, StreamVec, Travels,
};
use crate::mechanisms::{Statistic, Tally};
use crate::time::Time;

/// What travels of a question.
pub(super) type AggregationPart<Q> = <<<Q as Aggregation>::Statistic as Statistic>::Tally as Tally>::Part;

/// Who counts in which windows, and what is told of that at first.
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
    let mut output = OutputBuilder::<_, CapacityContainerBuilder<_>>::from(output);

    builder.build(move |mut capabilities| {
        let mut held = capabilities.pop();
        move |frontiers: &[MutableAntichain<Time>]| {
            let mut output = output.activate();
            // A message that was sent without a time is late for every window.
            input.for_each(|capability, batch| match capability.least() {
                Some(given) => panes.take(*given, batch),
                None => {}
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
            while let (Some(capability), Some(complete), Some((window, close))) =
                (&mut held, complete, panes.next())
                && !ended
                && close <= complete
            {
                // What is sent must come before the window closes, and has: whatever came at or after it was late.
                capability.downgrade(&(close - 1));
                let (number, totals) = match &mut admission {
                    Some(admission) => panes.close(&mut admission.of(window)),
                    None => panes.close(&mut Closing::of_everybody()),
                };
                let admitted = admission.as_mut().map(Admission::admitted);
                let parts = totals.into_iter().map(|(key, total)| Portion::Part(Q::part(key, total)));
                let parts = parts.chain(admitted.map(Portion::Admitted)).map(|part| (number, part));
                output.session(&*capability).give_iterator(parts);
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
