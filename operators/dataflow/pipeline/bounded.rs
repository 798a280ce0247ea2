//! The stages that choose a statistic of bounded people.
#![expect(clippy::type_complexity, reason = "the type of a statistic says all that was said before it")]

use std::cell::OnceCell;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use super::aggregation::{
    Aggregation, Averaging, CountingByKey, GroupingKey, KeyedAggregation, SumsByKey, Terms,
};
use super::bundled::Bundles;
use super::tallied::Tallied;
use super::unit::{Batches, People, ProtectedUnit};
use super::window::Windowed;
use crate::dataflow::bounding;
use crate::dataflow::bounding::{Cap, ContributionSelector, Count, Own, Sum};
use crate::invalid::Invalid;
use crate::mechanisms::{
    Bucket, ContributionBound, Edges, Grid, Keys, Largest, MarginalCounts, MarginalTables, Maximum, Mean,
    Monotone, PerPerson, Quantile, Quantiles, Range, RankedValues, Summary, Tops, Total,
};
use crate::time::Time;

/// A protected stream in windows, in which nobody matters more than was said. Prints as `<private>`.
///
/// Its claim, for one person more or less: in each window at most `keys` keys of a statistic change, each by
/// no more than one person's share, whatever the records; for one record more or less, one key by one
/// record's. Each word below says what that comes to. Nothing here panics.
///
/// The closures that name keys and values see records. Each must be a function of its argument alone, without
/// side effects: what a closure counts, logs or keeps has no noise and no price.
///
/// It may be cloned: several statistics share the way of the records to the workers that bound them, and one table of
/// people; those whose keys are read by the same function (a `fn`, or clones of a closure that captures nothing) share
/// what is kept of each person's keys, so that a mean is a sum over a count of the same records. Each pays its own
/// price. No map follows it, and no other key can be given to what was bounded:
///
/// ```compile_fail,E0599
/// # use discreet::dataflow::Fed;
/// # use discreet::mechanisms::Bound;
/// # use discreet::time::minutes;
/// # fn pipeline(visits: Fed<'_, (u64, i64)>) {
/// let visits = visits.protect(|visit| visit.0).tumbling(minutes(10), |visit| visit.1).from(0);
/// visits.bound(Bound::keys(3)).map(|visit| (visit.0 % 2, visit.1)).count();
/// # }
/// ```
pub struct Bounded<'scope, D, U: ProtectedUnit<D>, T> {
    windowed: Rc<Windowed<'scope, D, U, T>>,
    limits: ContributionBound,
    gathered: Rc<OnceCell<Batches<'scope, U::Item>>>,
    /// The tables that its statistics share.
    pub(super) bundles: Bundles,
}

impl<D, U: ProtectedUnit<D>, T> Clone for Bounded<'_, D, U, T> {
    fn clone(&self) -> Self {
        let windowed = Rc::clone(&self.windowed);
        let (gathered, bundles) = (Rc::clone(&self.gathered), self.bundles.clone());
        Bounded { windowed, limits: self.limits, gathered, bundles }
    }
}

redacted!([D, U: ProtectedUnit<D>, T] Bounded<'_, D, U, T>);

impl<'scope, D, U: ProtectedUnit<D>, T> Deref for Bounded<'scope, D, U, T> {
    type Target = Windowed<'scope, D, U, T>;

    fn deref(&self) -> &Self::Target {
        &self.windowed
    }
}

impl<'scope, D, U: ProtectedUnit<D>, T> Bounded<'scope, D, U, T> {
    pub(super) fn new(
        windowed: Windowed<'scope, D, U, T>,
        limits: ContributionBound,
    ) -> Bounded<'scope, D, U, T> {
        let bundles = Bundles::new(windowed.items.context.shared.spill().cloned());
        Bounded { windowed: Rc::new(windowed), limits, gathered: Rc::default(), bundles }
    }

    pub(crate) fn limits(&self) -> &ContributionBound {
        &self.limits
    }

    /// The records, each at the worker that bounds its person. The first statistic lays the way, and the
    /// others share it.
    pub(super) fn gathered(&self, selector: &ContributionSelector) -> Batches<'scope, U::Item> {
        self.gathered.get_or_init(|| self.unit.gathered(self.items.stream.clone(), selector)).clone()
    }

    /// Any question, by these keys and values.
    pub(crate) fn ask<Q: Aggregation, G, V>(
        self,
        key: G,
        value: V,
        question: Result<Q, Invalid>,
    ) -> Tallied<'scope, D, U, T, Q, G, V> {
        Tallied::new(self, key, value, question)
    }
}

impl<'scope, D, U, T> Bounded<'scope, D, U, T>
where
    D: 'static,
    U: ProtectedUnit<D>,
    T: Fn(&D) -> Time + 'static,
{
    /// Counts the records of each key (partition), at most `per_key` of one person.
    ///
    /// One person more or less moves at most `keys` counts of a window, each by at most `per_key`; one
    /// record, one count by 1.
    pub fn count_by<K: GroupingKey, G: Fn(&D) -> K + 'static>(
        self,
        key: G,
        keys: impl TryInto<Keys<K>, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, CountingByKey<K>, G, impl Fn(&D) + 'static> {
        let keys = keys.try_into().map_err(Into::into);
        let question = keys
            .and_then(|keys| Total::count(self.limits, keys))
            .map(|statistic| KeyedAggregation { statistic, measure: Count });
        self.ask(key, |_: &D| (), question)
    }

    /// Counts the records. One person more or less moves it by at most `per_key`; one record, by 1.
    pub fn count(
        self,
    ) -> Tallied<'scope, D, U, T, CountingByKey<()>, impl Fn(&D) + 'static, impl Fn(&D) + 'static> {
        self.count_by(|_: &D| (), Keys::whole())
    }

    /// The sum of the values of each key. A person's own sum in a key is clipped to the range, once, when
    /// everything of the person in the window has been added up.
    ///
    /// One person more or less moves at most `keys` sums of a window, each by at most the farther end of the
    /// range from zero; one record, one sum.
    pub fn sum_by<K: GroupingKey, G: Fn(&D) -> K + 'static, V: Fn(&D) -> i64 + 'static>(
        self,
        key: G,
        keys: impl TryInto<Keys<K>, Error: Into<Invalid>>,
        value: V,
        range: impl TryInto<Range, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, SumsByKey<K>, G, V> {
        let limits = self.limits;
        let question = both(keys.try_into(), range.try_into()).and_then(|(keys, range)| {
            let measure = Sum::clipped(range.low(), range.high())?;
            Ok(KeyedAggregation { statistic: Total::sum(range, limits, keys)?, measure })
        });
        self.ask(key, value, question)
    }

    /// The sum of all values. A person's own sum is clipped to the range, and one person more or less moves
    /// it by at most its farther end from zero.
    pub fn sum<V: Fn(&D) -> i64 + 'static>(
        self,
        value: V,
        range: impl TryInto<Range, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, SumsByKey<()>, impl Fn(&D) + 'static, V> {
        self.sum_by(|_: &D| (), Keys::whole(), value, range)
    }

    /// The mean of the values of each key, over at most `per_key` records of a person. Each value is clipped
    /// to the range.
    ///
    /// It is released as a noised sum over a noised count. One person more or less moves at most `keys` of
    /// each: a count by at most `per_key`, and a sum, taken from the middle of the range, by at most
    /// `per_key` times half its width.
    pub fn mean_by<K: GroupingKey, G: Fn(&D) -> K + 'static, V: Fn(&D) -> i64 + 'static>(
        self,
        key: G,
        keys: impl TryInto<Keys<K>, Error: Into<Invalid>>,
        value: V,
        range: impl TryInto<Range, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, Averaging<K>, G, V> {
        let limits = self.limits;
        let question = both(keys.try_into(), range.try_into()).and_then(|(keys, range)| {
            Ok(KeyedAggregation { statistic: Mean::new(range, limits, keys)?, measure: Terms(range) })
        });
        self.ask(key, value, question)
    }

    /// The mean of all values, each clipped to the range; as [`mean_by`](Bounded::mean_by) of a single key.
    pub fn mean<V: Fn(&D) -> i64 + 'static>(
        self,
        value: V,
        range: impl TryInto<Range, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, Averaging<()>, impl Fn(&D) + 'static, V> {
        self.mean_by(|_: &D| (), Keys::whole(), value, range)
    }

    /// The largest value that anybody has in each key, released as a point of a grid.
    ///
    /// Values are not bounded, and the largest is released too small by design: by how many people, its line
    /// says. One person more or less moves at most `keys` of them; however many records a person leaves, it
    /// is one value.
    pub fn max_by<K: GroupingKey, G: Fn(&D) -> K + 'static, V: Fn(&D) -> i64 + 'static>(
        self,
        key: G,
        keys: impl TryInto<Keys<K>, Error: Into<Invalid>>,
        value: V,
        grid: impl TryInto<Grid, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, Searching<K, Maximum>, G, V> {
        self.monotone_by(key, keys, (PerPerson::Greatest, value), Maximum, grid)
    }

    /// The largest value that anybody has; as [`max_by`](Bounded::max_by) of a single key.
    pub fn max<V: Fn(&D) -> i64 + 'static>(
        self,
        value: V,
        grid: impl TryInto<Grid, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, Searching<(), Maximum>, impl Fn(&D) + 'static, V> {
        self.max_by(|_: &D| (), Keys::whole(), value, grid)
    }

    /// Any [`Monotone`] function of what each person has in each key, released as a point of a grid: `each`
    /// says what a person's values come to, such as their sum.
    ///
    /// Nothing bounds the function, nor how far a person moves it. One person more or less moves by one the
    /// number of people who must leave for it to fall, in at most `keys` keys. That holds if the function is
    /// monotone: of one of your own it is your word, and its lines say so.
    pub fn monotone_by<K: GroupingKey, G: Fn(&D) -> K + 'static, V: Fn(&D) -> i64 + 'static, F: Monotone>(
        self,
        key: G,
        keys: impl TryInto<Keys<K>, Error: Into<Invalid>>,
        (each, value): (PerPerson, V),
        function: F,
        grid: impl TryInto<Grid, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, Searching<K, F>, G, V> {
        let limits = self.limits;
        let question = both(keys.try_into(), grid.try_into())
            .and_then(|(keys, grid)| Ok(Searching::new(Largest::new(function, each, grid, limits, keys)?)));
        self.ask(key, value, question)
    }

    /// Any [`Monotone`] function of what each person has; as [`monotone_by`](Bounded::monotone_by) of a
    /// single key.
    pub fn monotone<V: Fn(&D) -> i64 + 'static, F: Monotone>(
        self,
        of: (PerPerson, V),
        function: F,
        grid: impl TryInto<Grid, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, Searching<(), F>, impl Fn(&D) + 'static, V> {
        self.monotone_by(|_: &D| (), Keys::whole(), of, function, grid)
    }

    /// Quantiles of the values of each key, released as points of a grid: of at most `per_key` values of a
    /// person.
    ///
    /// Values are not bounded. One person more or less moves, in at most `keys` keys, the rank of every point
    /// by at most `per_key`.
    pub fn quantile_by<K: GroupingKey, G: Fn(&D) -> K + 'static, V: Fn(&D) -> i64 + 'static, Q>(
        self,
        key: G,
        keys: impl TryInto<Keys<K>, Error: Into<Invalid>>,
        value: V,
        quantiles: impl IntoIterator<Item = Q>,
        grid: impl TryInto<Grid, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, Ranking<K>, G, V>
    where
        Q: TryInto<Quantile, Error: Into<Invalid>>,
    {
        let limits = self.limits;
        let question = both(keys.try_into(), grid.try_into())
            .and_then(|(keys, grid)| Ok(Ranking::new(Quantiles::new(quantiles, grid, limits, keys)?)));
        self.ask(key, value, question)
    }

    /// Quantiles of one value of each person in each key, released as points of a grid: such as of the number of
    /// records of a person.
    ///
    /// Values are not bounded. One person more or less moves, in at most `keys` keys, the rank of every point by 1,
    /// however many records they left.
    pub fn quantile_of_people_by<K: GroupingKey, G: Fn(&D) -> K + 'static, V: Fn(&D) -> i64 + 'static, Q>(
        self,
        key: G,
        keys: impl TryInto<Keys<K>, Error: Into<Invalid>>,
        (each, value): (PerPerson, V),
        quantiles: impl IntoIterator<Item = Q>,
        grid: impl TryInto<Grid, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, RankingPeople<K>, G, V>
    where
        Q: TryInto<Quantile, Error: Into<Invalid>>,
    {
        let limits = self.limits;
        let question = both(keys.try_into(), grid.try_into()).and_then(|(keys, grid)| {
            let quantiles = Quantiles::of_people(quantiles, each, grid, limits, keys)?;
            Ok(RankingPeople::new(quantiles, each))
        });
        self.ask(key, value, question)
    }

    /// Quantiles of all values; as [`quantile_by`](Bounded::quantile_by) of a single key.
    pub fn quantiles<V: Fn(&D) -> i64 + 'static, Q: TryInto<Quantile, Error: Into<Invalid>>>(
        self,
        value: V,
        quantiles: impl IntoIterator<Item = Q>,
        grid: impl TryInto<Grid, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, Ranking<()>, impl Fn(&D) + 'static, V> {
        self.quantile_by(|_: &D| (), Keys::whole(), value, quantiles, grid)
    }

    /// Counts the records whose value is in each bucket. Every value has one, so that leaving out reveals
    /// nothing.
    ///
    /// One person more or less moves at most `keys` buckets of a window, each by at most `per_key`; one
    /// record, one bucket by 1.
    pub fn histogram_by<V: Fn(&D) -> i64 + 'static>(
        self,
        value: V,
        edges: impl TryInto<Edges, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, U, T, CountingByKey<Bucket>, impl Fn(&D) -> Bucket + 'static, impl Fn(&D) + 'static>
    {
        let edges = edges.try_into().map_err(Into::into);
        let question = edges.clone().and_then(|edges: Edges| Total::count(self.limits, edges.keys()));
        // Without edges the run is refused, and nothing is counted.
        let edges = edges.ok();
        let bucket = move |record: &D| match &edges {
            Some(edges) => edges.bucket(value(record)),
            None => Bucket::EVERY,
        };
        self.ask(bucket, |_: &D| (), question.map(|statistic| KeyedAggregation { statistic, measure: Count }))
    }

    /// Counts the records of several tables together, by categories of attributes: `key` has a text for each, in their order.
    ///
    /// One person more or less has records in at most `keys` combinations of all attributes, at most `per_key` in each; one record
    /// is in one. Tables agree in all of their sums, and err less together than side by side
    /// ([`MarginalCounts`]). The key of a released cell has a text such as `country=DE` for each attribute of its table
    /// ([`MarginalCell`](crate::mechanisms::MarginalCell)).
    ///
    /// ```no_run
    /// # use discreet::mechanisms::{Attribute, Gaussian, MarginalTables};
    /// # use discreet::prelude::*;
    /// # fn pipeline(visits: discreet::dataflow::Fed<'_, (u64, i64, String, String)>, gate: &Gate) -> Result<(), discreet::Invalid> {
    /// let country = Attribute::new("country", ["DE", "FR", "other"])?;
    /// let device = Attribute::new("device", ["phone", "desk"])?;
    /// visits
    ///     .protect(|visit| visit.0)
    ///     .tumbling(days(1), |visit| visit.1)
    ///     .from("2026-01-01")
    ///     .bound(Bound::keys(1))
    ///     .marginals(
    ///         |visit| vec![visit.2.clone(), visit.3.clone()],
    ///         MarginalTables::new([country, device], &[&["country", "device"], &["country"], &[]]),
    ///     )
    ///     .release(gate, "who", Gaussian::rho(0.01));
    /// # Ok(())
    /// # }
    /// ```
    pub fn marginals<G: Fn(&D) -> Vec<String> + 'static>(
        self,
        key: G,
        tables: impl TryInto<MarginalTables, Error: Into<Invalid>>,
    ) -> Tallied<
        'scope,
        D,
        U,
        T,
        KeyedAggregation<MarginalCounts<Vec<String>>, Count>,
        impl Fn(&D) -> Vec<String> + 'static,
        impl Fn(&D) + 'static,
    > {
        self.tables(key, tables.try_into().map_err(Into::into), MarginalCounts::records)
    }

    /// Asks for tables. Texts become categories before people are bounded, so that those of no category take no places.
    fn tables<G: Fn(&D) -> Vec<String> + 'static>(
        self,
        key: G,
        tables: Result<MarginalTables, Invalid>,
        counts: fn(ContributionBound, MarginalTables) -> Result<MarginalCounts<Vec<String>>, Invalid>,
    ) -> Tallied<
        'scope,
        D,
        U,
        T,
        KeyedAggregation<MarginalCounts<Vec<String>>, Count>,
        impl Fn(&D) -> Vec<String> + 'static,
        impl Fn(&D) + 'static,
    > {
        let question = tables.clone().and_then(|tables| counts(self.limits, tables));
        // Without tables the run is refused, and nothing is counted.
        let tables = tables.ok();
        let key = move |record: &D| {
            let categories = tables.as_ref().and_then(|tables| {
                let categories = tables.combination(&key(record))?;
                Some(categories.into_iter().map(str::to_owned).collect())
            });
            categories.unwrap_or_default()
        };
        let question = question.map(|statistic| KeyedAggregation { statistic, measure: Count });
        self.ask(key, |_: &D| (), question)
    }
}

impl<'scope, D, P, F, N, T> Bounded<'scope, D, People<P, F, N>, T>
where
    D: 'static,
    People<P, F, N>: ProtectedUnit<D>,
    T: Fn(&D) -> Time + 'static,
{
    /// Counts the people of each key (partition). One person more or less moves at most `keys` of them, by 1
    /// each, whatever `per_key` is.
    pub fn people_by<K: GroupingKey, G: Fn(&D) -> K + 'static>(
        self,
        key: G,
        keys: impl TryInto<Keys<K>, Error: Into<Invalid>>,
    ) -> Tallied<'scope, D, People<P, F, N>, T, CountingByKey<K>, G, impl Fn(&D) + 'static> {
        let keys = keys.try_into().map_err(Into::into);
        let question = keys
            .and_then(|keys| Total::people(self.limits, keys))
            .map(|statistic| KeyedAggregation { statistic, measure: Count });
        self.ask(key, |_: &D| (), question)
    }

    /// Counts the people of several tables together, each once in each of `keys` combinations of all attributes: see
    /// [`marginals`](Bounded::marginals).
    pub fn marginals_of_people<G: Fn(&D) -> Vec<String> + 'static>(
        self,
        key: G,
        tables: impl TryInto<MarginalTables, Error: Into<Invalid>>,
    ) -> Tallied<
        'scope,
        D,
        People<P, F, N>,
        T,
        KeyedAggregation<MarginalCounts<Vec<String>>, Count>,
        impl Fn(&D) -> Vec<String> + 'static,
        impl Fn(&D) + 'static,
    > {
        self.tables(key, tables.try_into().map_err(Into::into), MarginalCounts::people)
    }

    /// Counts the people. One person more or less moves it by 1.
    pub fn people(
        self,
    ) -> Tallied<'scope, D, People<P, F, N>, T, CountingByKey<()>, impl Fn(&D) + 'static, impl Fn(&D) + 'static>
    {
        self.people_by(|_: &D| (), Keys::whole())
    }
}

fn both<A, B>(
    one: Result<A, impl Into<Invalid>>,
    other: Result<B, impl Into<Invalid>>,
) -> Result<(A, B), Invalid> {
    Ok((one.map_err(Into::into)?, other.map_err(Into::into)?))
}

// What a largest value asks of people: one number of each.

/// A monotone function of what each person has, by key.
#[derive(Clone, Debug)]
pub struct Searching<K, F> {
    largest: Largest<K, F>,
    measure: Own,
    most: usize,
}

impl<K: GroupingKey, F: Monotone> Searching<K, F> {
    pub(crate) fn new(largest: Largest<K, F>) -> Searching<K, F> {
        let measure = Own(largest.each());
        Searching { largest, measure, most: usize::MAX }
    }
}

impl<K: GroupingKey, F: Monotone> Aggregation for Searching<K, F> {
    type Key = K;
    type Measure = Own;
    type Statistic = Largest<K, F>;
    type Total = Tops;

    #[inline]
    fn measure(&self) -> &Own {
        &self.measure
    }

    fn statistic(&self) -> &Largest<K, F> {
        &self.largest
    }

    fn listed(&self) -> Option<Arc<[K]>> {
        self.largest.listed()
    }

    /// A person is one number, of all that they left in a key.
    fn cap(&self, limits: &ContributionBound) -> Result<Cap, Invalid> {
        Cap::new(limits.keys(), 1 << 31)
    }

    fn of_the_largest(self, people: usize) -> Self {
        Searching { most: people, ..self }
    }

    #[inline]
    fn add(&self, total: &mut Tops, own: i128) {
        total.add(self.largest.contribution(own), self.most);
    }

    fn join(&self, ours: &mut Tops, theirs: &Tops) {
        ours.join(theirs.clone());
    }

    fn part(key: K, mut total: Tops) -> (K, Tops) {
        total.cut();
        (key, total)
    }
}

// What quantiles ask of people: their values.

/// Quantiles of at most `per_key` values of each person, by key.
#[derive(Clone, Debug)]
pub struct Ranking<K> {
    quantiles: Quantiles<K>,
    measure: bounding::Values<i64>,
}

impl<K: GroupingKey> Ranking<K> {
    pub(crate) fn new(quantiles: Quantiles<K>) -> Ranking<K> {
        Ranking { quantiles, measure: bounding::Values::new() }
    }
}

impl<K: GroupingKey> Aggregation for Ranking<K> {
    type Key = K;
    type Measure = bounding::Values<i64>;
    type Statistic = Quantiles<K>;
    type Total = RankedValues;
    const HAS_DIFFERENCE: bool = true;

    #[inline]
    fn measure(&self) -> &bounding::Values<i64> {
        &self.measure
    }

    fn statistic(&self) -> &Quantiles<K> {
        &self.quantiles
    }

    fn listed(&self) -> Option<Arc<[K]>> {
        self.quantiles.listed()
    }

    #[inline]
    fn add(&self, total: &mut RankedValues, values: bounding::Few<i64>) {
        total.add(&values);
    }

    fn join(&self, ours: &mut RankedValues, theirs: &RankedValues) {
        ours.join(theirs.clone());
    }

    fn leave(&self, all: &mut RankedValues, some: &RankedValues) -> bool {
        all.remove(some);
        all.people() > 0
    }

    fn part(key: K, mut total: RankedValues) -> (K, RankedValues) {
        total.settle();
        (key, total)
    }
}

/// Quantiles of one value of each person, by key.
#[derive(Clone, Debug)]
pub struct RankingPeople<K> {
    quantiles: Quantiles<K>,
    measure: Own,
}

impl<K: GroupingKey> RankingPeople<K> {
    /// Quantiles of people, who have this value each.
    pub(crate) fn new(quantiles: Quantiles<K>, each: PerPerson) -> RankingPeople<K> {
        RankingPeople { quantiles, measure: Own(each) }
    }
}

impl<K: GroupingKey> Aggregation for RankingPeople<K> {
    type Key = K;
    type Measure = Own;
    type Statistic = Quantiles<K>;
    type Total = RankedValues;
    const HAS_DIFFERENCE: bool = true;

    #[inline]
    fn measure(&self) -> &Own {
        &self.measure
    }

    fn statistic(&self) -> &Quantiles<K> {
        &self.quantiles
    }

    fn listed(&self) -> Option<Arc<[K]>> {
        self.quantiles.listed()
    }

    /// A person is one number, of all that they left in a key.
    fn cap(&self, limits: &ContributionBound) -> Result<Cap, Invalid> {
        Cap::new(limits.keys(), 1 << 31)
    }

    #[inline]
    fn add(&self, total: &mut RankedValues, own: i128) {
        total.add(&[PerPerson::clamped(own)]);
    }

    fn join(&self, ours: &mut RankedValues, theirs: &RankedValues) {
        ours.join(theirs.clone());
    }

    fn leave(&self, all: &mut RankedValues, some: &RankedValues) -> bool {
        all.remove(some);
        all.people() > 0
    }

    fn part(key: K, mut total: RankedValues) -> (K, RankedValues) {
        total.settle();
        (key, total)
    }
}
