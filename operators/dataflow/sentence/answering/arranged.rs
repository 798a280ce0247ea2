//! Versions that have most in common, kept together: a differential arrangement of what each person's records come to.
//!
//! A record is an update at the moment at which the first window that it counts in is complete, and another that takes it
//! back when the first is that it does not count in any more. When something changes of a person, and only then, what
//! counts of the person is settled anew; so a window that moves costs what enters and leaves it, and not what stays.

use std::cmp::Ordering;

use differential_dataflow::operators::arrange::TraceAgent;
use differential_dataflow::operators::arrange::arrangement::arrange_core;
use differential_dataflow::trace::implementations::{ValBatcher, ValBuilder, ValSpine};
use differential_dataflow::trace::{Cursor, Span, TraceReader};

use super::owned::Owned;
use super::rows::RecordRows;
use super::versions::Versions;
use crate::dataflow::bounding::{Cap, ContributionSelector};
use crate::dataflow::engine::{Antichain, Operator, Pipeline, StreamVec};
use crate::dataflow::sentence::panes::RecordReading;
use crate::dataflow::sentence::unit::Batches;
use crate::dataflow::windows::Schedule;
use crate::mechanisms::answers::{ColumnStore, MatchedTotals, Query, QueryRow, Schema, Steps};
use crate::time::Time;

type Trace<O> = TraceAgent<ValSpine<O, QueryRow, Time, isize>>;

/// A stretch of times of the arrangement, with the rows that came in it.
type ArrangedChange<O> = Span<Time, <Trace<O> as TraceReader>::Batch>;

/// The arrangement as it is shared by all questions of one worker.
pub(super) struct Arranged<O: Ord + Clone + 'static> {
    trace: Trace<O>,
    steps: Steps,
    schedule: Schedule,
    late: i64,
    schema: Schema,
    /// The version that was asked about last, in columns: most questions are about the newest.
    newest: Option<(u64, ColumnStore)>,
}

/// Keeps records as they count from one version to the next. What comes out says how far that has come.
pub(super) fn arranged<'scope, D, U, T, G, V>(
    gathered: Batches<'scope, U::Item>,
    reading: RecordReading<D, U, T, G, V>,
    rows: &RecordRows,
    (cap, chooser): (Cap, ContributionSelector),
    (schedule, late): (Schedule, i64),
    steps: Steps,
) -> (StreamVec<'scope, Time, ArrangedChange<U::Owner>>, Arranged<U::Owner>)
where
    D: 'static,
    U: Owned<D>,
    T: Fn(&D) -> Time + 'static,
    G: 'static,
    V: Fn(&D) -> QueryRow + 'static,
{
    let within = schedule.clone();
    let changes: StreamVec<'scope, Time, ((U::Owner, U::Held), Time, isize)> =
        gathered.unary(Pipeline, "Change", move |_, _| {
            move |input, output| {
                input.for_each(|capability, batch| {
                    let Some(sent) = capability.least().copied() else { return };
                    let mut changes = Vec::new();
                    for item in batch.iter() {
                        let given = U::moment(item, sent);
                        let record = U::record(item);
                        let time = (reading.time)(record);
                        let Some((first, until)) = counts(&within, late, given, time) else { continue };
                        let own_choice = match within.window(first) {
                            Some(window) if !within.overlaps() => chooser.within(window.start()),
                            _ => chooser.clone(),
                        };
                        let own =
                            reading.unit.own(&chooser, &own_choice, item, time, (reading.value)(record));
                        if let Some(gone) = complete(&within, late, until) {
                            changes.push((own.clone(), gone, -1));
                        }
                        if let Some(here) = complete(&within, late, first) {
                            changes.push((own, here, 1));
                        }
                    }
                    output.session(&capability).give_container(&mut changes);
                });
            }
        });
    let held = arrange_core::<_, _, _, ValSpine<U::Owner, U::Held, Time, isize>>(
        changes,
        Pipeline,
        "Hold",
        ValBatcher::<U::Owner, U::Held, Time, isize>::new,
    );
    let kept = held.reduce_abelian::<
        _,
        ValBuilder<U::Owner, QueryRow, Time, isize>,
        ValSpine<U::Owner, QueryRow, Time, isize>,
        _,
        _,
    >(
        "Keep",
        move |owner, held, kept| {
            let rows = U::count(cap, owner, held.iter().map(|(held, copies)| (*held, *copies)));
            kept.extend(rows.into_iter().map(|row| (row, 1)));
            differential_dataflow::consolidation::consolidate(kept);
        },
        |updates, owner, changes| {
            updates.clear();
            updates.extend(changes.drain(..).map(|(row, time, copies)| ((owner.clone(), row), time, copies)));
        },
    );
    let schema = rows.schema().clone();
    (kept.stream, Arranged { trace: kept.trace, steps, schedule, late, schema, newest: None })
}

/// The windows in which a record counts: the first, and the first after them.
fn counts(schedule: &Schedule, late: i64, given: Time, time: Time) -> Option<(u64, u64)> {
    let windows = schedule.windows_of(schedule.pane(time)?);
    let open = schedule.first_ending_after(given.saturating_sub(late));
    let first = windows.start.max(open);
    (first < windows.end).then_some((first, windows.end))
}

/// The last moment before a window closes; none where there is no such window.
fn complete(schedule: &Schedule, late: i64, window: u64) -> Option<Time> {
    schedule.window(window).map(|window| window.end() + late - 1)
}

impl<O: Ord + Clone + 'static> Arranged<O> {
    fn columns(&mut self, version: u64) -> ColumnStore {
        let mut columns = ColumnStore::new(&self.schema);
        let (Some(moment), Some(batches)) = (
            complete(&self.schedule, self.late, version),
            self.trace.batches_through(Antichain::new().borrow()),
        ) else {
            return columns;
        };
        let (mut cursor, batches) = differential_dataflow::trace::cursor::cursor_list(batches);
        while cursor.key_valid(&batches) {
            while let Some(row) = cursor.get_val(&batches) {
                let mut copies = 0;
                cursor.map_times(&batches, |time, change| {
                    if time.cmp(&moment) != Ordering::Greater {
                        copies += change;
                    }
                });
                (0..copies).for_each(|_| columns.push(row));
                cursor.step_val(&batches);
            }
            cursor.step_key(&batches);
        }
        columns
    }
}

impl<O: Ord + Clone + 'static> Versions for Arranged<O> {
    type Update = ArrangedChange<O>;

    fn take(&mut self, updates: &mut Vec<Self::Update>) {
        updates.clear();
    }

    fn found(&mut self, version: u64, question: &Query) -> MatchedTotals {
        if self.newest.as_ref().is_none_or(|(held, _)| *held != version) {
            self.newest = Some((version, self.columns(version)));
        }
        self.newest
            .as_ref()
            .map_or_else(MatchedTotals::default, |(_, columns)| columns.found(question, &self.steps))
    }

    fn forget_before(&mut self, version: u64) {
        let Some(moment) = complete(&self.schedule, self.late, version) else { return };
        let frontier = Antichain::from_elem(moment);
        self.trace.set_logical_compaction(frontier.borrow());
        self.trace.set_physical_compaction(frontier.borrow());
        if self.newest.as_ref().is_some_and(|(held, _)| *held < version) {
            self.newest = None;
        }
    }
}
