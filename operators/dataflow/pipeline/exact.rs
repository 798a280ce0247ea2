//! The truth, for demonstrations: what a tally is before its noise, and what it would be if nobody were
//! bounded.
//!
//! There is nothing private about it. It is for data that may be shown, beside a budget that is thrown away,
//! and only what makes a demonstration of a job file asks for it.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::admission::ContributionTable;
use super::aggregation::{Aggregation, GroupingKey};
use super::backend::Portion;
use super::bounder::AggregationPart;
use super::columns::KeyFunction;
use super::tallied::Tallied;
use super::unit::ProtectedUnit;
use crate::accounting::Interval;
use crate::dataflow::bounding::{Cap, ContributionSelector, Measure, PersonSum, Sum};
use crate::dataflow::driver::RunError;
use crate::dataflow::engine::{Exchange, Operator, Travels};
use crate::invalid::Invalid;
use crate::mechanisms::{Cell, Cells, ContributionBound, Statistic, Summary, Tally, Total};
use crate::time::Time;

/// The cells, or other summaries, of every window of a statistic in which something is.
#[derive(Debug)]
pub(crate) struct ExactCells<K, C = Cell>(Arc<Mutex<Tallies<K, C>>>);

/// By start and end of the window.
type Tallies<K, C> = BTreeMap<(Time, Time), BTreeMap<K, C>>;

impl<K, C> Clone for ExactCells<K, C> {
    fn clone(&self) -> Self {
        ExactCells(Arc::clone(&self.0))
    }
}

impl<K, C> Default for ExactCells<K, C> {
    fn default() -> Self {
        ExactCells(Arc::default())
    }
}

impl<K: Ord, C: Summary + Clone> ExactCells<K, C> {
    /// Returns the cell of a key in a window: an empty one if nobody has the key.
    pub(crate) fn cell(&self, window: Interval, key: &K) -> C {
        let cells = self.lock();
        let cell = cells.get(&(window.start(), window.end())).and_then(|cells| cells.get(key));
        cell.cloned().unwrap_or_default()
    }

    /// Returns the cells of all keys in a window that somebody has.
    pub(crate) fn cells(&self, window: Interval) -> Vec<C> {
        let cells = self.lock();
        let cells = cells.get(&(window.start(), window.end())).into_iter().flatten();
        cells.map(|(_, cell)| cell.clone()).collect()
    }

    /// Passes on each key that somebody has in a window, with its cell.
    pub(crate) fn each(&self, window: Interval, mut to: impl FnMut(&K, &C)) {
        let cells = self.lock();
        let cells = cells.get(&(window.start(), window.end())).into_iter().flatten();
        cells.for_each(|(key, cell)| to(key, cell));
    }

    /// Returns the sum of the cells of all keys in a window of which this is true.
    pub(crate) fn sum(&self, window: Interval, of: impl Fn(&K) -> bool) -> C {
        let cells = self.lock();
        let cells = cells.get(&(window.start(), window.end())).into_iter().flatten();
        cells.filter(|(key, _)| of(key)).fold(C::default(), |mut sum, (_, cell)| {
            sum.join(cell.clone());
            sum
        })
    }

    /// Returns the cells of each key, by the ends of the windows in which somebody has it.
    pub(crate) fn by_key(&self) -> BTreeMap<K, Vec<(Time, C)>>
    where
        K: Clone,
    {
        let mut keys: BTreeMap<K, Vec<(Time, C)>> = BTreeMap::new();
        for ((_, end), cells) in self.lock().iter() {
            for (key, cell) in cells {
                keys.entry(key.clone()).or_default().push((*end, cell.clone()));
            }
        }
        keys.values_mut().for_each(|ends| ends.sort_by_key(|(end, _)| *end));
        keys
    }

    fn add(&self, window: Interval, key: K, cell: C) {
        self.lock().entry((window.start(), window.end())).or_default().entry(key).or_default().join(cell);
    }

    fn lock(&self) -> MutexGuard<'_, Tallies<K, C>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'scope, D, U, T, Q, G, V> Tallied<'scope, D, U, T, Q, G, V>
where
    D: 'static,
    U: ProtectedUnit<D>,
    Q: Aggregation<Key: GroupingKey>,
    AggregationPart<Q>: Travels,
    T: Fn(&D) -> Time + 'static,
    G: Fn(&D) -> Q::Key + 'static,
    V: Fn(&D) -> <Q::Measure as Measure>::Value + 'static,
{
    /// Returns the contribution bound.
    pub(crate) fn limits(&self) -> &ContributionBound {
        self.bounded.limits()
    }

    /// Puts the exact cells of every window there, once it is complete. Choices are by this secret; nobody is
    /// bounded where `within` says nothing.
    pub(crate) fn shown_in_a_demo<C: Summary + Clone>(
        &self,
        secret: [u8; 32],
        within: Option<&ContributionBound>,
        into: ExactCells<Q::Key, C>,
    ) -> Result<(), RunError>
    where
        Q::Statistic: Statistic<Tally = Cells<Q::Key, C>>,
    {
        let people = &self.bounded;
        let schedule =
            people.windows.schedule.clone().ok_or_else(|| RunError::configuration("windows: none"))?;
        let selector = ContributionSelector::new(secret);
        let question = self.question.clone()?;
        let cap = match within {
            Some(limits) => question.cap(limits)?,
            None => Cap::new(MOST, MOST)?,
        };
        let contributions = within
            .map(|limits| ContributionTable::new(&*people.unit, &question, limits))
            .transpose()?
            .flatten();
        let admitted = contributions.map(|contributions| (contributions, Vec::new()));
        let key = (Rc::clone(&self.key), KeyFunction::of::<G>(self.function));
        let reading = people.reading(key, Rc::clone(&self.value), self.counts.clone());
        let parts = people.parts(reading, (question, cap), &schedule, &selector, admitted);
        type Sent<Q> = (u64, Portion<AggregationPart<Q>>);
        parts.stream.sink(Exchange::new(|_: &Sent<Q>| 0), "Shown", move |(input, _)| {
            input.for_each(|_, batch| {
                for (number, portion) in batch.drain(..) {
                    if let (Portion::Part((key, cell)), Some(window)) = (portion, schedule.window(number)) {
                        into.add(window, key, cell);
                    }
                }
            });
        });
        Ok(())
    }
}

/// The largest bound there is.
const MOST: u64 = 1 << 31;

/// People, records and the plain sum of each key.
#[derive(Clone, Debug)]
pub(crate) struct Everything<K> {
    total: Total<K>,
    measure: Sum,
}

impl<K: GroupingKey> Everything<K> {
    /// For these keys.
    pub(crate) fn new(keys: crate::mechanisms::Keys<K>) -> Result<Everything<K>, Invalid> {
        let measure = Sum::clipped(i64::MIN, i64::MAX)?;
        Ok(Everything { total: Total::count(ContributionBound::RECORD, keys)?, measure })
    }
}

impl<K: GroupingKey> Aggregation for Everything<K> {
    type Key = K;
    type Measure = Sum;
    type Statistic = Total<K>;
    type Total = Cell;

    fn measure(&self) -> &Sum {
        &self.measure
    }

    fn statistic(&self) -> &Total<K> {
        &self.total
    }

    fn listed(&self) -> Option<Arc<[K]>> {
        self.total.listed()
    }

    fn add(&self, total: &mut Cell, PersonSum { records, sum }: PersonSum) {
        total.add(&Cell::of_a_demo(1, records.into(), sum.into()));
    }

    fn join(&self, ours: &mut Cell, theirs: &Cell) {
        ours.add(theirs);
    }

    fn part(key: K, total: Cell) -> <Cells<K> as Tally>::Part {
        (key, total)
    }
}
