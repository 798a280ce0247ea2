//! The privacy unit as a type: a person's records, or one record. Written into the type of a stream by the
//! first word of the sentence, so that one kind of protection is never taken for the other.

use std::marker::PhantomData;
use std::rc::Rc;

use super::aggregation::Aggregation;
use super::bounder::{RecordReading, StatisticPanes};
use super::bundled::{BundledPanes, Bundles};
use super::protect::{OneRecordPerPerson, RecordIdentity};
use super::record_panes::RecordPanes;
use crate::dataflow::bounding::{Cap, ContributionSelector, Identity, Measure};
use crate::dataflow::engine::{Exchange, Operator, Pipeline, Shared, StreamVec, Travels};
use crate::dataflow::windows::Schedule;
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

    /// The panes of a statistic over windows with their lateness, in which people are counted over several windows if that
    /// is true. Those of people share one table with the other statistics of a bundle.
    fn panes<Q: Aggregation, T, G, V>(
        bundles: &Bundles,
        reading: RecordReading<D, Self, T, G, V>,
        question: Q,
        cap: Cap,
        selector: &ContributionSelector,
        windows: ((Schedule, i64), bool),
    ) -> Box<dyn StatisticPanes<Self::Item, Self::Person, Q>>
    where
        D: 'static,
        T: Fn(&D) -> Time + 'static,
        G: Fn(&D) -> Q::Key + 'static,
        V: Fn(&D) -> <Q::Measure as Measure>::Value + 'static;
}

/// Batches that are read, and not taken.
pub(super) type Batches<'scope, T> = Shared<'scope, Time, Rc<Vec<T>>>;

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

    fn panes<Q: Aggregation, T, G, V>(
        bundles: &Bundles,
        reading: RecordReading<D, Self, T, G, V>,
        question: Q,
        cap: Cap,
        selector: &ContributionSelector,
        windows: ((Schedule, i64), bool),
    ) -> Box<dyn StatisticPanes<N::Item, P, Q>>
    where
        D: 'static,
        T: Fn(&D) -> Time + 'static,
        G: Fn(&D) -> Q::Key + 'static,
        V: Fn(&D) -> <Q::Measure as Measure>::Value + 'static,
    {
        Box::new(BundledPanes::new(bundles, reading, question, cap, selector, windows))
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

    fn panes<Q: Aggregation, T, G, V>(
        _: &Bundles,
        reading: RecordReading<D, Self, T, G, V>,
        question: Q,
        _: Cap,
        selector: &ContributionSelector,
        (windows, _): ((Schedule, i64), bool),
    ) -> Box<dyn StatisticPanes<D, (), Q>>
    where
        T: Fn(&D) -> Time + 'static,
        G: Fn(&D) -> Q::Key + 'static,
        V: Fn(&D) -> <Q::Measure as Measure>::Value + 'static,
    {
        Box::new(RecordPanes::new(reading, question, selector.clone(), windows))
    }
}
