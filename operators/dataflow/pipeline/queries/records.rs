//! The records that queries are answered from: the kept records of each person.

use std::cmp::Ordering;
use std::sync::Arc;

use differential_dataflow::operators::arrange::TraceAgent;
use differential_dataflow::operators::arrange::arrangement::arrange_core;
use differential_dataflow::trace::implementations::{ValBatcher, ValBuilder, ValSpine};
use differential_dataflow::trace::{Cursor, Span, TraceReader};

use super::opening::Versions;
use crate::dataflow::bounding::{Cap, ContributionSelector, Few, Rule, Values, held, share};
use crate::dataflow::engine::{Antichain, Operator, Pipeline, StreamVec, Travels};
use crate::dataflow::pipeline::aggregation::Aggregation;
use crate::dataflow::pipeline::bounder::RecordReading;
use crate::dataflow::pipeline::protect::{
    DistinctRecords, Multiplicity, OneRecordPerPerson, RecordId, RecordIdentity,
};
use crate::dataflow::pipeline::unit::{Batches, People, Person, ProtectedUnit, Records};
use crate::dataflow::windows::Schedule;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::queries::{ColumnStore, MatchedTotals, Query, QueryRow, Schema, Steps};
use crate::mechanisms::{ContributionBound, Sensitivity, Statistic, Tally};
use crate::time::Time;

/// Records as rows, at most `per_key` of a person.
#[derive(Clone)]
pub(super) struct RecordRows {
    version: WindowVersion,
    measure: Values<QueryRow>,
}

impl RecordRows {
    /// # Errors
    /// Names `keys` where it is not 1, and `windows` where it is bounded: a bundle pays for its answers,
    /// whatever windows they are about.
    pub(super) fn new(schema: Schema, limits: &ContributionBound) -> Result<RecordRows, Invalid> {
        if limits.keys() != 1 {
            let remedy = "1: questions have no keys, and of a person per_key records are kept";
            return Err(Invalid::new("keys", InvalidKind::TooLarge, remedy));
        }
        if limits.windows().is_some() {
            let remedy =
                "no bound on windows: a bundle pays for its answers, whatever windows they are about";
            return Err(Invalid::new("windows", InvalidKind::Mixed, remedy));
        }
        let sensitivity = Sensitivity::each(limits, limits.per_key().into())?;
        Ok(RecordRows { version: WindowVersion { schema, sensitivity }, measure: Values::new() })
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.version.schema
    }
}

/// All that is kept of one window.
#[derive(Clone)]
pub(super) struct WindowVersion {
    schema: Schema,
    sensitivity: Sensitivity,
}

impl Sealed for WindowVersion {}

impl Statistic for WindowVersion {
    type Tally = Gathered;

    fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }
}

/// The rows of a window. They stay where their people are bounded. Prints as `<private>`.
pub(super) struct Gathered(Vec<QueryRow>);

redacted!(Gathered);

impl Sealed for Gathered {}

impl Tally for Gathered {
    type Part = Vec<QueryRow>;

    fn absorb(&mut self, part: Vec<QueryRow>) {
        self.0.extend(part);
    }
}

impl Aggregation for RecordRows {
    type Key = ();
    type Measure = Values<QueryRow>;
    type Statistic = WindowVersion;
    type Total = Vec<QueryRow>;

    fn measure(&self) -> &Values<QueryRow> {
        &self.measure
    }

    fn statistic(&self) -> &WindowVersion {
        &self.version
    }

    fn listed(&self) -> Option<Arc<[()]>> {
        None
    }

    fn cap(&self, limits: &ContributionBound) -> Result<Cap, Invalid> {
        Cap::new(1, limits.per_key())
    }

    fn add(&self, total: &mut Vec<QueryRow>, share: Few<QueryRow>) {
        total.extend(share);
    }

    fn join(&self, ours: &mut Vec<QueryRow>, theirs: &Vec<QueryRow>) {
        ours.extend(theirs.iter().cloned());
    }

    fn part((): (), total: Vec<QueryRow>) -> Vec<QueryRow> {
        total
    }
}

// Versions that have most in common, kept together: a differential arrangement of what each person's records
// come to.
//
// A record is an update at the moment at which the first window that it counts in is complete, and another
// that takes it back when the first is that it does not count in any more. When something changes of a
// person, and only then, what counts of the person is settled anew; so a window that moves costs what enters
// and leaves it, and not what stays.

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
    (cap, selector): (Cap, ContributionSelector),
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
                            Some(window) if !within.overlaps() => selector.within(window.start()),
                            _ => selector.clone(),
                        };
                        let own =
                            reading.unit.own(&selector, &own_choice, item, time, (reading.value)(record));
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

// How a record is held where each person's are settled by themselves, whenever one of them changes.

/// Records that questions can be asked of.
pub trait Owned<D>: ProtectedUnit<D> {
    /// The owner of records that count together: a person, or one record.
    type Owner: Ord + Clone + 'static;
    /// A record of theirs.
    type Held: Ord + Clone + 'static;
    /// True if a record may be taken back.
    const TAKES_BACK: bool;

    /// A record with its owner. What distinguishes records is the same in all windows; what is kept is chosen
    /// `within` one where they lie side by side.
    fn own(
        &self,
        selector: &ContributionSelector,
        within: &ContributionSelector,
        item: &Self::Item,
        time: Time,
        row: QueryRow,
    ) -> (Self::Owner, Self::Held);

    /// Returns the share that counts of the records of one owner, each with its copies.
    fn count<'a>(
        cap: Cap,
        owner: &Self::Owner,
        held: impl Iterator<Item = (&'a Self::Held, isize)>,
    ) -> Vec<QueryRow>
    where
        Self::Held: 'a;
}

/// An identity of records under which they may or may not be taken back.
pub trait TakesBack {
    /// True if records may be taken back.
    const TAKES_BACK: bool;
}

impl TakesBack for DistinctRecords {
    const TAKES_BACK: bool = false;
}

impl<I, G> TakesBack for RecordId<I, G> {
    const TAKES_BACK: bool = false;
}

impl TakesBack for OneRecordPerPerson {
    const TAKES_BACK: bool = false;
}

impl TakesBack for Multiplicity {
    const TAKES_BACK: bool = true;
}

type RowsRule<D, N> = <N as RecordIdentity<D>>::Rule<Values<QueryRow>>;

impl<D, P, F, N> Owned<D> for People<P, F, N>
where
    D: 'static,
    P: Person,
    F: Fn(&D) -> P + 'static,
    N: RecordIdentity<D> + TakesBack,
    RowsRule<D, N>: Rule<Held: Ord + 'static>,
{
    type Owner = P;
    type Held = <RowsRule<D, N> as Rule>::Held;
    const TAKES_BACK: bool = N::TAKES_BACK;

    fn own(
        &self,
        selector: &ContributionSelector,
        within: &ContributionSelector,
        item: &N::Item,
        time: Time,
        row: QueryRow,
    ) -> (P, Self::Held) {
        let person = (self.person)(N::record(item));
        let value = self.naming.bring::<Values<QueryRow>>(selector, item, time, row);
        let held = held(&N::rule(&Values::new()), within, &person, value);
        (person, held)
    }

    fn count<'a>(cap: Cap, _: &P, held: impl Iterator<Item = (&'a Self::Held, isize)>) -> Vec<QueryRow>
    where
        Self::Held: 'a,
    {
        // What counts is at most the cap, but changes of one record, which are added up, may be any number.
        let copies = held.flat_map(|(held, copies)| std::iter::repeat_n(held, copies.max(0).unsigned_abs()));
        share(&N::rule(&Values::new()), cap, copies.cloned()).unwrap_or_default().into_vec()
    }
}

/// Each record counts by itself.
impl<D: Travels + Clone> Owned<D> for Records {
    type Owner = QueryRow;
    type Held = ();
    const TAKES_BACK: bool = false;

    fn own(
        &self,
        _: &ContributionSelector,
        _: &ContributionSelector,
        _: &D,
        _: Time,
        row: QueryRow,
    ) -> (QueryRow, ()) {
        (row, ())
    }

    fn count<'a>(_: Cap, row: &QueryRow, held: impl Iterator<Item = (&'a (), isize)>) -> Vec<QueryRow> {
        let copies: isize = held.map(|(_, copies)| copies).sum();
        vec![row.clone(); copies.max(0).unsigned_abs()]
    }
}
