//! The stages for means of vectors, and for their bounds.
#![expect(clippy::type_complexity, reason = "the type of a statistic says all that was said before it")]

use std::sync::Arc;

use ndarray::{ArrayBase, Ix1};

use super::aggregation::{Aggregation, GroupingKey};
use super::bounded::Bounded;
use super::tallied::Tallied;
use super::unit::ProtectedUnit;
use crate::accounting::shape::{DataDomain, Norm};
use crate::dataflow::bounding::{Few, Identity, Values};
use crate::dataflow::engine::Travels;
use crate::invalid::Invalid;
use crate::mechanisms::{FoundMean, Keys, Ranges, StableVectors, Summary, VectorMean, Vectors};
use crate::time::Time;

/// Several whole numbers of a record: an array, or a list. Every record must have as many; one that has not
/// counts as the middle of all ranges.
pub trait Vector: AsRef<[i64]> + Identity + Ord + Clone + 'static {}

impl<V: AsRef<[i64]> + Identity + Ord + Clone + 'static> Vector for V {}

/// Whole numbers of a record as a closure gives them: an array, a list, or a vector of `ndarray`.
pub trait IntoVector {
    /// The vector as a pipeline keeps it.
    type Vector: Vector;

    /// Converts it.
    fn into_vector(self) -> Self::Vector;
}

impl<V: Vector> IntoVector for V {
    type Vector = V;

    #[inline]
    fn into_vector(self) -> V {
        self
    }
}

impl IntoVector for &[i64] {
    type Vector = Vec<i64>;

    fn into_vector(self) -> Vec<i64> {
        self.to_vec()
    }
}

impl<S: ndarray::Data<Elem = i64>> IntoVector for ArrayBase<S, Ix1> {
    type Vector = Vec<i64>;

    fn into_vector(self) -> Vec<i64> {
        self.iter().copied().collect()
    }
}

/// Means of vectors, of which it is not yet said what bounds them. Prints as `<private>`.
pub struct MeanOf<'scope, D, U: ProtectedUnit<D>, T, K, G, V> {
    bounded: Bounded<'scope, D, U, T>,
    keys: Result<Keys<K>, Invalid>,
    key: G,
    value: V,
}

redacted!([D, U: ProtectedUnit<D>, T, K, G, V] MeanOf<'_, D, U, T, K, G, V>);

impl<'scope, D, U, T> Bounded<'scope, D, U, T>
where
    D: 'static,
    U: ProtectedUnit<D>,
    T: Fn(&D) -> Time + 'static,
{
    /// The mean of several numbers of each record, with one count for all of them. Another word must say what
    /// bounds them: [`within`](MeanOf::within) ranges, [`over`](MeanOf::over) a domain, in ranges that are
    /// [found](MeanOf::found_within), or [stable](MeanOf::stable), in a box that holds whatever comes.
    ///
    /// ```
    /// # use discreet::dataflow::{Fed, Releases};
    /// # use discreet::gate::Gate;
    /// # use discreet::mechanisms::{Bound, Gaussian};
    /// # use discreet::time::minutes;
    /// # use ndarray::Array1;
    /// # fn pipeline<'a>(rides: Fed<'a, (u64, i64, i64)>, gate: &Gate) -> Releases<'a, (), Array1<f64>> {
    /// rides
    ///     .protect(|ride| ride.0)
    ///     .tumbling(minutes(10), |_| 0)
    ///     .from(0)
    ///     .bound(Bound::keys(1))
    ///     .mean_of(|ride| [ride.1, ride.2])
    ///     .within([(0, 3_600), (0, 10_000)])
    ///     .release(gate, "rides", Gaussian::rho(0.1))
    /// # }
    /// ```
    pub fn mean_of<C: IntoVector, V: Fn(&D) -> C + 'static>(
        self,
        value: V,
    ) -> MeanOf<'scope, D, U, T, (), impl Fn(&D) + 'static, impl Fn(&D) -> C::Vector + 'static> {
        self.mean_of_by(|_: &D| (), Keys::whole(), value)
    }

    /// The same of each key.
    pub fn mean_of_by<K: GroupingKey, G: Fn(&D) -> K + 'static, C: IntoVector, V: Fn(&D) -> C + 'static>(
        self,
        key: G,
        keys: impl TryInto<Keys<K>, Error: Into<Invalid>>,
        value: V,
    ) -> MeanOf<'scope, D, U, T, K, G, impl Fn(&D) -> C::Vector + 'static> {
        let value = move |record: &D| value(record).into_vector();
        MeanOf { bounded: self, keys: keys.try_into().map_err(Into::into), key, value }
    }
}

impl<'scope, D, U, T, K, G, V, C> MeanOf<'scope, D, U, T, K, G, V>
where
    D: 'static,
    U: ProtectedUnit<D>,
    T: Fn(&D) -> Time + 'static,
    K: GroupingKey,
    G: Fn(&D) -> K + 'static,
    V: Fn(&D) -> C + 'static,
    C: Vector,
{
    /// Each coordinate is clipped to a range, by itself, and has noise that is as wide as its range asks.
    ///
    /// One person more or less moves at most `keys` means; in each of them the count by at most `per_key`,
    /// and each sum, taken from the middle of its range, by at most `per_key` times half its width.
    pub fn within(
        self,
        ranges: impl TryInto<Ranges, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, Averaged<VectorMean<K>, C>, G, V> {
        let limits = *self.bounded.limits();
        let ranges = ranges.try_into().map_err(Into::into);
        self.ask(|keys| VectorMean::clipped(&ranges?, limits, keys))
    }

    /// All vectors lie in this domain, and the noise has its shape: that with the least mean square of the
    /// error, all coordinates together. They should be in similar units. What lies outside is brought to the
    /// border.
    ///
    /// One person more or less moves at most `keys` means; in each of them the count by at most `per_key`,
    /// and the sum by at most `per_key` vectors of the domain.
    pub fn over(
        self,
        domain: impl TryInto<DataDomain, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, Averaged<VectorMean<K>, C>, G, V> {
        self.over_in(domain, Norm::EUCLIDEAN)
    }

    /// The same, with the least error in this norm.
    pub fn over_in(
        self,
        domain: impl TryInto<DataDomain, Error: Into<Invalid>>,
        norm: Norm,
    ) -> Tallied<'scope, D, U, T, Averaged<VectorMean<K>, C>, G, V> {
        let limits = *self.bounded.limits();
        let domain = domain.try_into().map_err(Into::into);
        self.ask(|keys| VectorMean::over(&domain?, norm, limits, keys))
    }

    /// Finds the bound of the vectors on a part of the budget, and follows it from window to window: ranges
    /// that may be far too wide are enough. See [`FoundMean`].
    ///
    /// One person more or less moves at most `keys` means; in each of them the count by at most `per_key`,
    /// and the sum by at most `per_key` vectors whose length, as the last window's covariance measures it, is
    /// bounded.
    pub fn found_within(
        self,
        outer: impl TryInto<Ranges, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, Averaged<FoundMean<K>, C>, G, V> {
        self.followed(outer, |mean| mean)
    }

    /// The same, with what else there is to say of it: how many [`people`](FoundMean::people) are expected,
    /// and what is spent on [`finding`](FoundMean::finding) and [`following`](FoundMean::following).
    pub fn followed(
        self,
        outer: impl TryInto<Ranges, Error: Into<Invalid>>,
        also: impl FnOnce(FoundMean<K>) -> FoundMean<K>,
    ) -> Tallied<'scope, D, U, T, Averaged<FoundMean<K>, C>, G, V> {
        let limits = *self.bounded.limits();
        let outer = outer.try_into().map_err(Into::into);
        self.ask(|keys| FoundMean::new(&outer?, limits, keys).map(also))
    }

    /// Nothing is known of the vectors, and not even their units are similar: the noise takes its shape from
    /// the data. It needs many people, one record of each, and a box that holds every number that can come.
    /// See [`Stable`](crate::mechanisms::Stable), which alone releases it: **floating-point assumed**.
    pub fn stable(
        self,
        sides: impl TryInto<Ranges, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, Averaged<StableVectors<K>, C>, G, V> {
        let limits = *self.bounded.limits();
        let sides = sides.try_into().map_err(Into::into);
        self.ask(|keys| StableVectors::new(sides?, limits, keys))
    }

    fn ask<S>(
        self,
        mean: impl FnOnce(Keys<K>) -> Result<S, Invalid>,
    ) -> Tallied<'scope, D, U, T, Averaged<S, C>, G, V>
    where
        Averaged<S, C>: Aggregation,
    {
        let MeanOf { bounded, keys, key, value } = self;
        bounded.ask(key, value, keys.and_then(mean).map(Averaged::new))
    }
}

/// Vectors, of at most `per_key` records of each person, and what is asked of them.
#[derive(Clone, Debug)]
pub struct Averaged<S, C> {
    mean: S,
    measure: Values<C>,
}

impl<S, C> Averaged<S, C> {
    pub(crate) fn new(mean: S) -> Averaged<S, C> {
        Averaged { mean, measure: Values::new() }
    }
}

impl<S: Vectors<Key: GroupingKey, Known: Travels>, C: Vector> Aggregation for Averaged<S, C> {
    type Key = S::Key;
    type Measure = Values<C>;
    type Statistic = S;
    type Total = S::Known;

    #[inline]
    fn measure(&self) -> &Values<C> {
        &self.measure
    }

    fn statistic(&self) -> &S {
        &self.mean
    }

    fn listed(&self) -> Option<Arc<[S::Key]>> {
        self.mean.listed()
    }

    #[inline]
    fn add(&self, total: &mut S::Known, vectors: Few<C>) {
        self.mean.add(total, &vectors);
    }

    fn join(&self, ours: &mut S::Known, theirs: &S::Known) {
        ours.join(theirs.clone());
    }

    fn part(key: S::Key, total: S::Known) -> (S::Key, S::Known) {
        (key, total)
    }
}
