//! How one record is told from another.

use std::marker::PhantomData;
use std::rc::Rc;

use crate::dataflow::bounding::{ContributionSelector, Identified, Identity, Measure, Net, Rule};
use crate::dataflow::engine::Travels;
use crate::time::Time;

/// What makes a record that record. Implemented here, for [`Unnamed`], [`Named`], [`Once`] and [`Changing`].
pub trait Naming<D>: Clone + 'static {
    /// A record on its way.
    type Item: Travels + Clone;
    /// How what is held is combined.
    type Rule<M: Measure>: Rule<Share = M::Share>;

    /// The record of an item.
    fn record(item: &Self::Item) -> &D;

    /// When an item took effect, which came at a time.
    #[inline]
    fn moment(_: &Self::Item, given: Time) -> Time {
        given
    }

    /// The rule of a measure.
    fn rule<M: Measure>(measure: &M) -> Self::Rule<M>;

    /// A record as the rule takes it.
    fn bring<M: Measure>(
        &self,
        chooser: &ContributionSelector,
        item: &Self::Item,
        time: Time,
        value: M::Value,
    ) -> <Self::Rule<M> as Rule>::Value;
}

/// By nothing: equal records are different records. Where some of a person's must be left out, it is decided by their
/// times and values, which are the same whoever read them and in whatever order.
#[derive(Clone, Copy, Debug)]
pub struct Unnamed;

impl<D: Travels + Clone> Naming<D> for Unnamed {
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
        chooser: &ContributionSelector,
        _: &D,
        time: Time,
        value: M::Value,
    ) -> <M::Plain as Rule>::Value {
        M::bring(value, |value| chooser.record(&(time, value.clone())))
    }
}

/// By an id, of which each person has one record while the window is open.
#[expect(missing_debug_implementations, reason = "made of a closure")]
pub struct Named<I, G> {
    id: Rc<G>,
    ids: PhantomData<fn() -> I>,
}

impl<I, G> Named<I, G> {
    pub(super) fn new(id: G) -> Named<I, G> {
        Named { id: Rc::new(id), ids: PhantomData }
    }
}

impl<I, G> Clone for Named<I, G> {
    fn clone(&self) -> Self {
        Named { id: Rc::clone(&self.id), ids: PhantomData }
    }
}

impl<D: Travels + Clone, I, G> Naming<D> for Named<I, G>
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
pub struct Once;

impl<D: Travels + Clone> Naming<D> for Once {
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
pub struct Changing;

impl<D: Travels + Clone + Identity + Ord> Naming<D> for Changing {
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
