//! The privacy unit as a type: a person's records, or one record. Written into the type of a stream by the
//! first word of the sentence, so that one kind of protection is never taken for the other.

use std::marker::PhantomData;
use std::rc::Rc;

use super::admission::Closing;
use super::aggregation::Aggregation;
use super::protect::{OneRecordPerPerson, RecordIdentity};
use crate::dataflow::bounding::{Cap, ContributionSelector, Identity, Measure, PersonTable, RecordTotals};
use crate::dataflow::engine::{Exchange, Operator, Pipeline, Shared, StreamVec, Travels};
use crate::time::Time;

/// The identity of a person: a number, a text, an address, or several of them.
pub trait Person: Identity + Ord + Clone + Send + 'static {}

impl<P: Identity + Ord + Clone + Send + 'static> Person for P {}

/// The privacy unit as the operators see it: one record, or everything of one person. Implemented here, for
/// [`People`] and [`Records`].
pub trait ProtectedUnit<D>: Clone + 'static {
    /// A record on its way.
    type Item: Travels + Clone;
    /// The unit whose contribution is bounded.
    type Person: Person;
    /// The state of one pane.
    type Pane<Q: Aggregation>: Pane<Self::Person, Q>;

    /// True if the unit is one record, which is in one window alone.
    const IS_A_RECORD: bool = false;

    /// The record of an item.
    fn record(item: &Self::Item) -> &D;

    /// Returns the time at which an item takes effect, which was given at a time.
    fn moment(item: &Self::Item, given: Time) -> Time;

    /// Brings everything of one person to one worker, in batches that several operators may read.
    fn gathered<'scope>(
        &self,
        items: StreamVec<'scope, Time, Self::Item>,
        selector: &ContributionSelector,
    ) -> Batches<'scope, Self::Item>;

    /// An empty pane.
    fn pane<Q: Aggregation>(question: &Q, cap: Cap, selector: ContributionSelector) -> Self::Pane<Q>;

    /// Takes a record in.
    fn add<Q: Aggregation>(
        &self,
        pane: &mut Self::Pane<Q>,
        question: &Q,
        selector: &ContributionSelector,
        item: &Self::Item,
        record: RecordContribution<'_, Q>,
    );
}

/// Batches that are read, and not taken.
pub(super) type Batches<'scope, T> = Shared<'scope, Time, Rc<Vec<T>>>;

/// The parts of a record that a statistic reads.
#[expect(missing_debug_implementations, reason = "it is private")]
pub struct RecordContribution<'a, Q: Aggregation> {
    /// The time of the event.
    pub(super) time: Time,
    /// Its key.
    pub(super) key: &'a Q::Key,
    /// Its value.
    pub(super) value: <Q::Measure as Measure>::Value,
}

/// The state of one pane of a statistic, or of one of its windows.
pub trait Pane<P, Q: Aggregation> {
    /// Takes in another pane of the same window.
    fn merge(&mut self, other: &Self, question: &Q);

    /// Ends a window: what counts, by key, as far as former windows have left something to everybody.
    fn close(&mut self, question: &Q, closing: &mut Closing<'_, P, Q::Key>) -> Vec<(Q::Key, Q::Total)>;

    /// Forgets everything but its memory, and chooses by this one from now on.
    fn reuse(&mut self, selector: ContributionSelector);
}

/// A person's records belong to the person: protected is everything that one person did.
#[expect(missing_debug_implementations, reason = "made of closures")]
pub struct People<P, F, N> {
    pub(super) person: Rc<F>,
    pub(super) naming: N,
    people: PhantomData<fn() -> P>,
}

impl<P, F, N> People<P, F, N> {
    pub(super) fn new(person: F, naming: N) -> People<P, F, N> {
        People { person: Rc::new(person), naming, people: PhantomData }
    }

    pub(super) fn named<M>(self, naming: M) -> People<P, F, M> {
        People { person: self.person, naming, people: PhantomData }
    }
}

impl<P, F, N: Clone> Clone for People<P, F, N> {
    fn clone(&self) -> Self {
        People { person: Rc::clone(&self.person), naming: self.naming.clone(), people: PhantomData }
    }
}

impl<D, P, F, N> ProtectedUnit<D> for People<P, F, N>
where
    P: Person,
    F: Fn(&D) -> P + 'static,
    N: RecordIdentity<D>,
{
    type Item = N::Item;
    type Person = P;
    type Pane<Q: Aggregation> = PersonTable<P, Q::Key, N::Rule<Q::Measure>>;

    #[inline]
    fn record(item: &N::Item) -> &D {
        N::record(item)
    }

    #[inline]
    fn moment(item: &N::Item, given: Time) -> Time {
        N::moment(item, given)
    }

    fn gathered<'scope>(
        &self,
        items: StreamVec<'scope, Time, N::Item>,
        selector: &ContributionSelector,
    ) -> Batches<'scope, N::Item> {
        let (person, selector) = (Rc::clone(&self.person), selector.clone());
        let route = Exchange::new(move |item: &N::Item| selector.route(&person(N::record(item))));
        items.unary(route, "Gather", |_, _| {
            move |input, output| {
                input.for_each(|time, batch| {
                    output.session(&time).give_container(&mut Rc::new(std::mem::take(batch)));
                });
            }
        })
    }

    fn pane<Q: Aggregation>(question: &Q, cap: Cap, selector: ContributionSelector) -> Self::Pane<Q> {
        let table = PersonTable::new(selector, cap, N::rule(question.measure()));
        match question.listed() {
            Some(keys) => table.only(keys),
            None => table,
        }
    }

    #[inline]
    fn add<Q: Aggregation>(
        &self,
        pane: &mut Self::Pane<Q>,
        _: &Q,
        selector: &ContributionSelector,
        item: &N::Item,
        RecordContribution { time, key, value }: RecordContribution<'_, Q>,
    ) {
        let value = self.naming.bring::<Q::Measure>(selector, item, time, value);
        pane.add((self.person)(N::record(item)), key, value);
    }
}

impl<P, N, Q, M> Pane<P, Q> for PersonTable<P, Q::Key, N>
where
    P: Person,
    Q: Aggregation<Measure = M>,
    M: Measure,
    N: crate::dataflow::bounding::Rule<Share = M::Share>,
{
    fn merge(&mut self, other: &Self, _: &Q) {
        PersonTable::merge(self, other);
    }

    fn close(&mut self, question: &Q, closing: &mut Closing<'_, P, Q::Key>) -> Vec<(Q::Key, Q::Total)> {
        if !closing.is_over_life() {
            return PersonTable::close(
                self,
                |person| closing.admits(person),
                |total, share| question.add(total, share),
            );
        }
        PersonTable::close_in_order(self, |person, key, share, total| {
            closing.count(person, key, |left| question.add_left(total.get_or_insert_default(), share, left));
        })
    }

    fn reuse(&mut self, selector: ContributionSelector) {
        self.clear();
        self.choose_by(selector);
    }
}

/// A record belongs to itself: protected is one record, and a person with many is protected less. Nothing is
/// held of anybody, and no record has to change workers.
#[derive(Clone, Copy, Debug)]
pub struct Records;

/// Records with an id: each id is protected, and counts once.
pub type NamedRecords<I, G> = People<I, G, OneRecordPerPerson>;

impl<D: Travels + Clone> ProtectedUnit<D> for Records {
    type Item = D;
    type Person = ();
    type Pane<Q: Aggregation> = RecordTotals<Q::Key, Q::Total>;
    const IS_A_RECORD: bool = true;

    #[inline]
    fn record(item: &D) -> &D {
        item
    }

    #[inline]
    fn moment(_: &D, given: Time) -> Time {
        given
    }

    fn gathered<'scope>(
        &self,
        items: StreamVec<'scope, Time, D>,
        _: &ContributionSelector,
    ) -> Batches<'scope, D> {
        items.unary(Pipeline, "Gather", |_, _| {
            move |input, output| {
                input.for_each(|time, batch| {
                    output.session(&time).give_container(&mut Rc::new(std::mem::take(batch)));
                });
            }
        })
    }

    fn pane<Q: Aggregation>(question: &Q, _: Cap, selector: ContributionSelector) -> Self::Pane<Q> {
        RecordTotals::new(selector, question.listed())
    }

    #[inline]
    fn add<Q: Aggregation>(
        &self,
        pane: &mut Self::Pane<Q>,
        question: &Q,
        _: &ContributionSelector,
        _: &D,
        RecordContribution { key, value, .. }: RecordContribution<'_, Q>,
    ) {
        pane.add(key, |total| {
            let share = question.measure().share(Cap::ONE, std::iter::once((&value, 1)));
            question.add(total, share);
        });
    }
}

impl<Q: Aggregation> Pane<(), Q> for RecordTotals<Q::Key, Q::Total> {
    fn merge(&mut self, other: &Self, question: &Q) {
        RecordTotals::merge(self, other, |ours, theirs| question.join(ours, theirs));
    }

    fn close(&mut self, _: &Q, _: &mut Closing<'_, (), Q::Key>) -> Vec<(Q::Key, Q::Total)> {
        RecordTotals::close(self)
    }

    fn reuse(&mut self, selector: ContributionSelector) {
        self.choose_by(selector);
    }
}
