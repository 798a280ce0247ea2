//! The operator that counts: a question waits until the version that it names is complete, and then every worker says what
//! it finds among its own people.

use std::collections::{BTreeMap, VecDeque};

use super::versions::Versions;
use crate::dataflow::engine::{
    Capability, CapacityContainerBuilder, Exchange, MutableAntichain, OperatorBuilder, OutputBuilder,
    Pipeline, StreamVec,
};
use crate::dataflow::release::Posed;
use crate::dataflow::windows::Schedule;
use crate::mechanisms::answers::MatchedTotals;
use crate::time::Time;

/// How many questions are counted before others have their turn: one may take some milliseconds.
const TURN: usize = 8;

/// What each worker finds. Nothing is sent but that, so who waits for which question is decided by questions and by what
/// the sources declare.
pub(super) fn scanned<'scope, V: Versions>(
    posed: StreamVec<'scope, Time, (u64, Posed)>,
    updates: StreamVec<'scope, Time, V::Update>,
    mut versions: V,
    (schedule, late): (Schedule, i64),
) -> StreamVec<'scope, Time, ([u8; 32], MatchedTotals)> {
    let scope = posed.scope();
    let mut builder = OperatorBuilder::new("Count".to_owned(), scope);
    let mut questions = builder.new_input(posed, Exchange::new(|(worker, _): &(u64, Posed)| *worker));
    let mut updates = builder.new_input(updates, Pipeline);
    let (output, stream) = builder.new_output::<Vec<([u8; 32], MatchedTotals)>>();
    let mut output = OutputBuilder::<_, CapacityContainerBuilder<_>>::from(output);
    let activator = scope.activator_for(builder.operator_info().address);

    builder.build(move |_| {
        let mut waiting: BTreeMap<u64, VecDeque<(Posed, Capability<Time>)>> = BTreeMap::new();
        move |frontiers: &[MutableAntichain<Time>]| {
            let mut output = output.activate();
            questions.for_each(|capability, batch| {
                let Some(own) = capability.retain_least(0) else { return };
                for (_, posed) in batch.drain(..) {
                    waiting.entry(posed.version).or_default().push_back((posed, own.clone()));
                }
            });
            updates.for_each(|_, batch| versions.take(batch));
            let frontier = |input: usize| frontiers[input].frontier().first().copied();
            // Inputs that vanished have completed nothing.
            let Some(complete) = frontier(1) else { return };
            let mut left = TURN;
            while let Some(mut entry) = waiting.first_entry() {
                let closed =
                    schedule.window(*entry.key()).is_some_and(|window| window.end() + late <= complete);
                if !closed {
                    break;
                }
                let version = *entry.key();
                while left > 0
                    && let Some((posed, capability)) = entry.get_mut().pop_front()
                {
                    let found = versions.found(version, &posed.question);
                    output.session(&capability).give((posed.id, found));
                    left -= 1;
                }
                if !entry.get().is_empty() {
                    activator.activate();
                    return;
                }
                entry.remove();
            }
            // Whoever asks from now on names the version that is the newest at this time, or a later one.
            let asked = frontier(0).map_or(u64::MAX, |time| newest(&schedule, late, time).unwrap_or(0));
            let first = waiting.keys().next().map_or(asked, |first| asked.min(*first));
            versions.forget_before(first);
        }
    });
    stream
}

/// The last window that has closed at a time; none before the first has.
pub(super) fn newest(schedule: &Schedule, late: i64, time: Time) -> Option<u64> {
    schedule.first_ending_after(time.saturating_sub(late)).checked_sub(1)
}
