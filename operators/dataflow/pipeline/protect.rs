//! The stage `protect`: the privacy unit of a pipeline.

use std::marker::PhantomData;
use std::rc::Rc;

use differential_dataflow::{AsCollection, VecCollection};

use super::unit::{NamedRecords, People, Person, ProtectedUnit, Records};
use super::window::Windowed;
use crate::dataflow::bounding::{ContributionSelector, Identified, Identity, Measure, Net, Rule};
use crate::dataflow::driver::Fed;
use crate::dataflow::engine::{Operator, Pipeline, Travels};
use crate::dataflow::windows::{Calendar, Schedule};
use crate::invalid::Invalid;
use crate::time::{Moment, Span, Time};

/// A stream that is protected: of each record it is known to whom it belongs. Prints as `<private>`, and
/// gives nothing away but through the rest of the pipeline, whose last word makes the claim: for one unit
/// more or less. Nothing here panics.
///
/// There is no way to look at it:
///
/// ```compile_fail,E0599
/// # use discreet::dataflow::Fed;
/// # fn pipeline(visits: Fed<'_, (u64, i64)>) {
/// visits.protect(|visit| visit.0).inspect(|visit| println!("{visit:?}"));
/// # }
/// ```
///
/// nor to change what it holds once it is known whose it is:
///
/// ```compile_fail,E0599
/// # use discreet::dataflow::Fed;
/// # fn pipeline(visits: Fed<'_, (u64, i64)>) {
/// visits.protect(|visit| visit.0).map(|visit| (7, visit.1));
/// # }
/// ```
pub struct Private<'scope, D, U: ProtectedUnit<D>> {
    pub(super) items: Fed<'scope, U::Item>,
    pub(super) unit: U,
}

redacted!([D, U: ProtectedUnit<D>] Private<'_, D, U>);

impl<'scope, D: Travels + Clone> Fed<'scope, D> {
    /// Protects everything that one person did: adding or removing all records of a person changes what is
    /// released no more than its price says. `person` returns whose a record is; whom it does not distinguish
    /// is one person.
    ///
    /// `person` sees records: it must be a function of its argument alone, without side effects.
    pub fn protect<P: Person, F: Fn(&D) -> P + 'static>(
        self,
        person: F,
    ) -> Private<'scope, D, People<P, F, DistinctRecords>> {
        Private { items: self, unit: People::new(person, DistinctRecords) }
    }

    /// Protects one record: adding or removing a single one. Who has many records is protected less, by as
    /// many times. It needs a budget of its own: one whose unit is a record.
    pub fn protect_each(self) -> Private<'scope, D, Records> {
        Private { items: self, unit: Records }
    }
}

impl<'scope, D: Travels + Clone + Identity + Ord> Fed<'scope, (D, Time, isize)> {
    /// Protects everything that one person did, in a collection whose records may be taken back: of each
    /// person's record all changes until its window closes are added up, and it counts if what is left is
    /// above zero. After that, a change changes nothing: a released window is final.
    ///
    /// A change takes effect at its own time, and is late for windows that have closed by then.
    pub fn protect_collection<P: Person, F: Fn(&D) -> P + 'static>(
        self,
        person: F,
    ) -> Private<'scope, D, People<P, F, Multiplicity>> {
        Private { items: self, unit: People::new(person, Multiplicity) }
    }
}

impl<'scope, D: Travels + Clone, P: Person, F: Fn(&D) -> P + 'static>
    Private<'scope, D, People<P, F, DistinctRecords>>
{
    /// Records have an id: duplicates of one id of a person count once while their window is open. Of
    /// duplicates that differ, one counts, whichever came first.
    pub fn identified_by<I, G>(self, id: G) -> Private<'scope, D, People<P, F, RecordId<I, G>>>
    where
        I: Identity + Ord + Clone + 'static,
        G: Fn(&D) -> I + 'static,
    {
        Private { items: self.items, unit: self.unit.named(RecordId::new(id)) }
    }
}

impl<'scope, D: Travels + Clone> Private<'scope, D, Records> {
    /// Records have an id: duplicates of one id count once while their window is open.
    pub fn identified_by<I, G>(self, id: G) -> Private<'scope, D, NamedRecords<I, G>>
    where
        I: Person,
        G: Fn(&D) -> I + 'static,
    {
        Private { items: self.items, unit: People::new(id, OneRecordPerPerson) }
    }
}

impl<'scope, D, U: ProtectedUnit<D>> Private<'scope, D, U> {
    /// Windows of one size, side by side, each from a multiple of the size since 1970 in UTC. `time` returns
    /// when a record happened; it decides nothing but its window.
    pub fn tumbling<T: Fn(&D) -> Time + 'static>(
        self,
        size: impl TryInto<Span, Error: Into<Invalid>>,
        time: T,
    ) -> Unplaced<'scope, D, U, T> {
        let size = size.try_into().map_err(Into::into);
        self.cut(time, move |from, until| Schedule::tumbling(size, from, until))
    }

    /// Windows of one size, one starting at every step. What one record does is in every window over it, and
    /// each of them is paid for.
    pub fn sliding<T: Fn(&D) -> Time + 'static>(
        self,
        size: impl TryInto<Span, Error: Into<Invalid>>,
        step: impl TryInto<Span, Error: Into<Invalid>>,
        time: T,
    ) -> Unplaced<'scope, D, U, T> {
        let (size, step) = (size.try_into().map_err(Into::into), step.try_into().map_err(Into::into));
        self.cut(time, move |from, until| Schedule::sliding(size, step, from, until))
    }

    /// Windows of a calendar: months, or days, in a zone.
    pub fn windows<T: Fn(&D) -> Time + 'static>(
        self,
        calendar: Calendar,
        time: T,
    ) -> Unplaced<'scope, D, U, T> {
        self.cut(time, move |from, until| Schedule::calendar(&calendar, from, until))
    }

    /// One window, over everything between two moments.
    pub fn whole<T: Fn(&D) -> Time + 'static>(
        self,
        from: impl Moment,
        until: impl Moment,
        time: T,
    ) -> Windowed<'scope, D, U, T> {
        self.cut(time, |from, until| Schedule::whole(from, until.unwrap_or(Time::MAX))).between(from, until)
    }

    /// The windows of a schedule.
    pub fn scheduled<T: Fn(&D) -> Time + 'static>(
        self,
        schedule: Schedule,
        time: T,
    ) -> Windowed<'scope, D, U, T> {
        Windowed::new(self, Rc::new(time), Ok(schedule))
    }

    fn cut<T>(
        self,
        time: T,
        schedule: impl FnOnce(Time, Option<Time>) -> Result<Schedule, Invalid> + 'static,
    ) -> Unplaced<'scope, D, U, T> {
        Unplaced { private: self, time: Rc::new(time), schedule: Box::new(schedule) }
    }
}

/// A stream that will be cut into windows once it is said which of them exist. That is public, and never a
/// matter of records: it is the same for neighbours. Nothing here panics; what cannot be a window is refused
/// at the end of the pipeline.
pub struct Unplaced<'scope, D, U: ProtectedUnit<D>, T> {
    private: Private<'scope, D, U>,
    time: Rc<T>,
    schedule: Box<dyn FnOnce(Time, Option<Time>) -> Result<Schedule, Invalid>>,
}

redacted!([D, U: ProtectedUnit<D>, T] Unplaced<'_, D, U, T>);

impl<'scope, D, U: ProtectedUnit<D>, T> Unplaced<'scope, D, U, T> {
    /// The windows that lie wholly between two moments, such as `"2026-11-01"` and `"2026-11-02"`.
    pub fn between(self, from: impl Moment, until: impl Moment) -> Windowed<'scope, D, U, T> {
        let ends = from.moment().and_then(|from| Ok((from, Some(until.moment()?))));
        let schedule = ends.and_then(|(from, until)| (self.schedule)(from, until));
        Windowed::new(self.private, self.time, schedule)
    }

    /// All windows from a moment on, without an end: for a stream that goes on. Of an input that ends, only
    /// those are released which it had declared complete before; one that declares nothing, such as
    /// [`All`](crate::dataflow::All), has none.
    pub fn from(self, from: impl Moment) -> Windowed<'scope, D, U, T> {
        let schedule = from.moment().and_then(|from| (self.schedule)(from, None));
        Windowed::new(self.private, self.time, schedule)
    }
}

// How one record is distinguished from another.

/// The identity of a record among the records of its person. Implemented here, for [`DistinctRecords`],
/// [`RecordId`], [`OneRecordPerPerson`] and [`Multiplicity`].
pub trait RecordIdentity<D>: Clone + 'static {
    /// A record on its way.
    type Item: Travels + Clone;
    /// The rule by which held records are combined.
    type Rule<M: Measure>: Rule<Share = M::Share>;

    /// The record of an item.
    fn record(item: &Self::Item) -> &D;

    /// Returns the time at which an item takes effect, which was given at a time.
    #[inline]
    fn moment(_: &Self::Item, given: Time) -> Time {
        given
    }

    /// The rule of a measure.
    fn rule<M: Measure>(measure: &M) -> Self::Rule<M>;

    /// A record as the rule takes it.
    fn bring<M: Measure>(
        &self,
        selector: &ContributionSelector,
        item: &Self::Item,
        time: Time,
        value: M::Value,
    ) -> <Self::Rule<M> as Rule>::Value;
}

/// By nothing: equal records are different records. Where some of a person's must be left out, it is decided
/// by their times and values, which are the same whoever read them and in whatever order.
#[derive(Clone, Copy, Debug)]
pub struct DistinctRecords;

impl<D: Travels + Clone> RecordIdentity<D> for DistinctRecords {
    type Item = D;
    type Rule<M: Measure> = M::Plain;

    #[inline]
    fn record(item: &D) -> &D {
        item
    }

    fn rule<M: Measure>(measure: &M) -> M::Plain {
        measure.plain()
    }

    #[inline]
    fn bring<M: Measure>(
        &self,
        selector: &ContributionSelector,
        _: &D,
        time: Time,
        value: M::Value,
    ) -> <M::Plain as Rule>::Value {
        M::bring(value, |value| selector.record(&(time, value.clone())))
    }
}

/// By an id, of which each person has one record while the window is open.
#[expect(missing_debug_implementations, reason = "made of a closure")]
pub struct RecordId<I, G> {
    id: Rc<G>,
    ids: PhantomData<fn() -> I>,
}

impl<I, G> RecordId<I, G> {
    pub(super) fn new(id: G) -> RecordId<I, G> {
        RecordId { id: Rc::new(id), ids: PhantomData }
    }
}

impl<I, G> Clone for RecordId<I, G> {
    fn clone(&self) -> Self {
        RecordId { id: Rc::clone(&self.id), ids: PhantomData }
    }
}

impl<D: Travels + Clone, I, G> RecordIdentity<D> for RecordId<I, G>
where
    I: Identity + Ord + Clone + 'static,
    G: Fn(&D) -> I + 'static,
{
    type Item = D;
    type Rule<M: Measure> = Identified<I, M>;

    #[inline]
    fn record(item: &D) -> &D {
        item
    }

    fn rule<M: Measure>(measure: &M) -> Identified<I, M> {
        Identified::new(measure.clone())
    }

    fn bring<M: Measure>(
        &self,
        _: &ContributionSelector,
        item: &D,
        _: Time,
        value: M::Value,
    ) -> (I, M::Value) {
        ((self.id)(item), value)
    }
}

/// By itself, where whom it belongs to is its own id.
#[derive(Clone, Copy, Debug)]
pub struct OneRecordPerPerson;

impl<D: Travels + Clone> RecordIdentity<D> for OneRecordPerPerson {
    type Item = D;
    type Rule<M: Measure> = Identified<(), M>;

    #[inline]
    fn record(item: &D) -> &D {
        item
    }

    fn rule<M: Measure>(measure: &M) -> Identified<(), M> {
        Identified::new(measure.clone())
    }

    fn bring<M: Measure>(&self, _: &ContributionSelector, _: &D, _: Time, value: M::Value) -> ((), M::Value) {
        ((), value)
    }
}

/// By all that it says, as in a differential collection: what is added and what is taken back add up.
#[derive(Clone, Copy, Debug)]
pub struct Multiplicity;

impl<D: Travels + Clone + Identity + Ord> RecordIdentity<D> for Multiplicity {
    type Item = (D, Time, isize);
    type Rule<M: Measure> = Net<D, M>;

    #[inline]
    fn record((record, _, _): &Self::Item) -> &D {
        record
    }

    /// A change of a later time may come early. It is not before its time.
    #[inline]
    fn moment((_, time, _): &Self::Item, given: Time) -> Time {
        given.max(*time)
    }

    fn rule<M: Measure>(measure: &M) -> Net<D, M> {
        Net::new(measure.clone())
    }

    fn bring<M: Measure>(
        &self,
        _: &ContributionSelector,
        (record, _, change): &Self::Item,
        _: Time,
        value: M::Value,
    ) -> (D, M::Value, i64) {
        // A machine word has at most 64 bits.
        (record.clone(), value, *change as i64)
    }
}

// Differential collections on the way between a feed and the pipeline.

impl<'scope, D: 'static> Fed<'scope, (D, isize)> {
    /// Adds differential operators, which turn the stream into changes: records with a change of their
    /// multiplicity, each at the time that its source had declared when it gave it.
    ///
    /// The changes that come out can be [protected](Fed::protect_collection); they are not complete before
    /// what went in is.
    pub fn collection<R: 'static>(
        self,
        operators: impl FnOnce(VecCollection<'scope, Time, D>) -> VecCollection<'scope, Time, R>,
    ) -> Fed<'scope, (R, Time, isize)> {
        self.through(|changes| {
            let timed = changes.unary(Pipeline, "Times", |_, _| {
                move |input, output| {
                    input.for_each(|time, batch| {
                        let Some(at) = time.least().copied() else { return };
                        let changes = batch.drain(..).map(|(record, change)| (record, at, change));
                        output.session(&time).give_iterator(changes);
                    });
                }
            });
            operators(timed.as_collection()).inner
        })
    }
}
