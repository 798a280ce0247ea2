//! The panes of one statistic of a bundle, and the totals of its windows.
#![expect(clippy::type_complexity, reason = "the type of a statistic says all that was said before it")]

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use super::admission::Closing;
use super::aggregation::Aggregation;
use super::bounder::{RecordReading, StatisticPanes};
use super::bundle::{Bundle, ChangedPeople, WindowTotals};
use super::columns::{HeldMeasure, SharedKeys};
use super::overlap::FoundRow;
use super::protect::RecordIdentity;
use super::unit::{People as PeopleUnit, Person};
use crate::accounting::Interval;
use crate::dataflow::bounding::{Cap, ContributionSelector, KeyLevel, Measure, People};
use crate::dataflow::driver::RunError;
use crate::dataflow::spill::{Spill, SpillSpace};
use crate::dataflow::windows::Schedule;
use crate::time::Time;

/// The bundles of a bounded stream: one for each selector.
#[derive(Clone)]
pub struct Bundles {
    known: Rc<RefCell<Vec<(ContributionSelector, Rc<dyn Any>)>>>,
    /// The file for panes that memory has no room for.
    spill: Option<Arc<SpillSpace>>,
}

redacted!(Bundles);

type SharedBundle<D, P, F, N, T> = Rc<RefCell<Bundle<D, P, F, N, T>>>;

impl Bundles {
    pub(super) fn new(spill: Option<Arc<SpillSpace>>) -> Bundles {
        Bundles { known: Rc::default(), spill }
    }

    /// Returns the bundle of a selector; the first of its statistics makes it.
    fn of<B: 'static>(&self, selector: &ContributionSelector, new: impl FnOnce() -> B) -> Rc<RefCell<B>> {
        let mut bundles = self.known.borrow_mut();
        let known = bundles.iter().filter(|(known, _)| known.is_like(selector));
        let known = known.filter_map(|(_, bundle)| Rc::downcast::<RefCell<B>>(Rc::clone(bundle)).ok()).next();
        known.unwrap_or_else(|| {
            let bundle = Rc::new(RefCell::new(new()));
            bundles.push((selector.clone(), Rc::clone(&bundle) as Rc<dyn Any>));
            bundle
        })
    }
}

/// The panes of a statistic that shares its people with others.
pub(super) struct BundledPanes<D, P, F, N: RecordIdentity<D>, T, Q: Aggregation, G, V> {
    bundle: SharedBundle<D, P, F, N, T>,
    /// The number of the statistic in the bundle, where people are counted over several windows.
    counted: Option<usize>,
    statistic: Rc<RefCell<BundledStatistic<D, P, N, Q, G, V>>>,
    /// The number of batches that came.
    batches: u64,
    next: u64,
}

/// What a statistic keeps of the people of a bundle, and its totals of windows that its operator has not closed.
struct BundledStatistic<D, P, N: RecordIdentity<D>, Q: Aggregation, G, V> {
    keys: Rc<RefCell<SharedKeys<D, P, Q::Key, N, G>>>,
    values: Rc<RefCell<HeldMeasure<D, N, Q::Measure, V>>>,
    question: Q,
    /// By window.
    ready: VecDeque<(u64, KeyTotals<Q>)>,
    /// Those of the last window, where the next ones follow by difference.
    last: KeyTotals<Q>,
}

/// Totals by key, in the order of the keys.
type KeyTotals<Q> = Vec<(<Q as Aggregation>::Key, <Q as Aggregation>::Total)>;

impl<D, P, F, N, T, Q, G, V> BundledPanes<D, P, F, N, T, Q, G, V>
where
    D: 'static,
    P: Person,
    F: Fn(&D) -> P + 'static,
    N: RecordIdentity<D>,
    T: Fn(&D) -> Time + 'static,
    Q: Aggregation,
    G: Fn(&D) -> Q::Key + 'static,
    V: Fn(&D) -> <Q::Measure as Measure>::Value + 'static,
{
    pub(super) fn new(
        bundles: &Bundles,
        reading: RecordReading<D, PeopleUnit<P, F, N>, T, G, V>,
        question: Q,
        cap: Cap,
        selector: &ContributionSelector,
        (windows, is_counted): ((Schedule, i64), bool),
    ) -> Self {
        let RecordReading { unit, time, key, function, value, counts } = reading;
        let bundle = bundles.of(selector, || {
            let spill = bundles.spill.clone().map(Spill::new);
            Bundle::new(unit, time, selector.clone(), windows, spill)
        });
        let (keys, values) = bundle.borrow_mut().add(&question, cap, (key, function), (value, counts));
        let (ready, last) = (VecDeque::new(), Vec::new());
        let statistic = Rc::new(RefCell::new(BundledStatistic { keys, values, question, ready, last }));
        let counted = is_counted.then(|| bundle.borrow_mut().count_windows());
        if !is_counted {
            bundle.borrow_mut().total_windows(Rc::clone(&statistic) as Rc<RefCell<dyn WindowTotals<P>>>);
        }
        BundledPanes { bundle, counted, statistic, batches: 0, next: 0 }
    }
}

impl<D, P, F, N, T, Q, G, V> StatisticPanes<N::Item, P, Q> for BundledPanes<D, P, F, N, T, Q, G, V>
where
    D: 'static,
    P: Person,
    F: Fn(&D) -> P + 'static,
    N: RecordIdentity<D>,
    T: Fn(&D) -> Time + 'static,
    Q: Aggregation,
    G: Fn(&D) -> Q::Key + 'static,
    V: Fn(&D) -> <Q::Measure as Measure>::Value + 'static,
{
    fn take(&mut self, given: Time, items: &[N::Item]) {
        self.bundle.borrow_mut().take(self.batches, given, items);
        self.batches += 1;
    }

    fn next(&self) -> Option<(Interval, Time)> {
        self.bundle.borrow().closes(self.next)
    }

    fn number(&self) -> u64 {
        self.next
    }

    fn skip_empty(&mut self, complete: Time, counted: Time) {
        let mut bundle = self.bundle.borrow_mut();
        let next = bundle.first_to_close(self.next, complete, counted);
        // Others may have closed windows, and given up their panes, whose totals are ready here.
        let ready = self.statistic.borrow().ready.front().map_or(next, |(window, _)| *window);
        let next = next.min(ready);
        if next > self.next {
            self.next = next;
            bundle.closed_until(self.counted, next);
        }
    }

    fn close(&mut self, closing: &mut Closing<'_, P, Q::Key>) -> Result<(u64, KeyTotals<Q>), RunError> {
        let number = self.next;
        self.next += 1;
        let mut bundle = self.bundle.borrow_mut();
        let Some(counted) = self.counted else {
            bundle.total(number)?;
            let mut statistic = self.statistic.borrow_mut();
            let is_ready = statistic.ready.front().is_some_and(|(window, _)| *window == number);
            let ready = statistic.ready.pop_front().filter(|_| is_ready);
            return Ok((number, ready.map_or_else(Vec::new, |(_, totals)| totals)));
        };
        let whole = bundle.whole(number)?;
        let people = whole.and_then(|at| Some((at, bundle.people(at)?)));
        let totals = self.statistic.borrow().totals(people, closing);
        bundle.closed_until(Some(counted), self.next);
        Ok((number, totals))
    }

    fn is_bounded(&self) -> bool {
        self.bundle.borrow().is_bounded()
    }
}

impl<D, P, N, Q, G, V> BundledStatistic<D, P, N, Q, G, V>
where
    D: 'static,
    P: Person,
    N: RecordIdentity<D>,
    Q: Aggregation,
    G: Fn(&D) -> Q::Key + 'static,
    V: Fn(&D) -> <Q::Measure as Measure>::Value + 'static,
{
    /// The totals of the people at a place, who were gathered.
    fn totals(
        &self,
        people: Option<(usize, &People<P>)>,
        closing: &mut Closing<'_, P, Q::Key>,
    ) -> KeyTotals<Q> {
        if closing.is_of_presence() {
            if let Some((at, people)) = people {
                self.see(at, people, closing);
            }
            let level =
                |(key, level): (Q::Key, KeyLevel)| (key, self.question.level(level.people, level.new));
            return closing.levels().into_iter().map(level).collect();
        }
        let Some((at, people)) = people else { return Vec::new() };
        let (keys, mut values) = (self.keys.borrow(), self.values.borrow_mut());
        let Some(keys) = keys.of(at) else { return Vec::new() };
        let question = &self.question;
        match closing.is_over_life() {
            false if question.weighs() => values.close_weighed(
                at,
                (people, keys),
                |person| closing.admits(person),
                |share| {
                    let mut total = Q::Total::default();
                    question.add(&mut total, share);
                    total
                },
                |shares| question.weigh(shares),
                |total, share| question.join(total.get_or_insert_default(), &share),
            ),
            false => values.close(
                at,
                people,
                keys,
                false,
                |person| closing.admits(person),
                |_, _, share, total| question.add(total.get_or_insert_default(), share),
            ),
            true => values.close(
                at,
                people,
                keys,
                true,
                |_| true,
                |person, key, share, total| {
                    closing.count(person, key, |left| {
                        question.add_left(total.get_or_insert_default(), share, left)
                    });
                },
            ),
        }
    }

    /// Sees the people at a place, who were gathered, in their keys.
    fn see(&self, at: usize, people: &People<P>, closing: &mut Closing<'_, P, Q::Key>) {
        let (keys, mut values) = (self.keys.borrow(), self.values.borrow_mut());
        let Some(keys) = keys.of(at) else { return };
        let see = |person: &P, key: &Q::Key, _, _: &mut Option<Q::Total>| closing.see(person, key);
        values.close(at, people, keys, true, |_| true, see);
    }

    /// The totals of these rows at a place, all of whose keys count.
    fn totals_of_rows(&self, at: usize, people: &People<P>, rows: &[FoundRow]) -> KeyTotals<Q> {
        let (keys, mut values) = (self.keys.borrow(), self.values.borrow_mut());
        let Some(keys) = keys.of(at) else { return Vec::new() };
        let rows = rows.iter().map(|found| (found.part, found.row as usize));
        values.close_rows(at, people, keys, rows, |share, total| {
            self.question.add(total.get_or_insert_default(), share);
        })
    }

    fn finish(&mut self, window: u64, totals: KeyTotals<Q>) {
        if Q::HAS_DIFFERENCE {
            self.last.clone_from(&totals);
        }
        self.ready.push_back((window, totals));
    }
}

impl<D, P, N, Q, G, V> WindowTotals<P> for BundledStatistic<D, P, N, Q, G, V>
where
    D: 'static,
    P: Person,
    N: RecordIdentity<D>,
    Q: Aggregation,
    G: Fn(&D) -> Q::Key + 'static,
    V: Fn(&D) -> <Q::Measure as Measure>::Value + 'static,
{
    fn have_difference(&self) -> bool {
        // A record more or less in one key changes the factor of all of its person.
        Q::HAS_DIFFERENCE && !self.question.weighs()
    }

    fn take(&mut self, window: u64, people: Option<(usize, &People<P>)>) {
        let totals = self.totals(people, &mut Closing::of_everybody());
        self.finish(window, totals);
    }

    fn take_change(&mut self, window: u64, people: [ChangedPeople<'_, P>; 2]) {
        let [gone, come] = people.map(|ChangedPeople { together, apart }| {
            let mut totals = self.totals(together, &mut Closing::of_everybody());
            for (at, people, rows) in apart {
                totals = joined(&self.question, totals, self.totals_of_rows(at, people, rows));
            }
            totals
        });
        let before = std::mem::take(&mut self.last);
        let totals = exchanged(&self.question, before, gone, come);
        self.finish(window, totals);
    }
}

/// Totals with others.
fn joined<Q: Aggregation>(question: &Q, mut totals: KeyTotals<Q>, others: KeyTotals<Q>) -> KeyTotals<Q> {
    let mut new = Vec::new();
    for (key, total) in others {
        match totals.binary_search_by(|(held, _)| held.cmp(&key)) {
            Ok(at) => question.join(&mut totals[at].1, &total),
            Err(_) => new.push((key, total)),
        }
    }
    if !new.is_empty() {
        totals.append(&mut new);
        totals.sort_by(|(one, _), (other, _)| one.cmp(other));
    }
    totals
}

/// Totals without some that are in them, and with others.
fn exchanged<Q: Aggregation>(
    question: &Q,
    totals: KeyTotals<Q>,
    gone: KeyTotals<Q>,
    come: KeyTotals<Q>,
) -> KeyTotals<Q> {
    let mut totals = joined(question, totals, come);
    let mut is_left = vec![true; totals.len()];
    for (key, total) in gone {
        if let Ok(at) = totals.binary_search_by(|(held, _)| held.cmp(&key)) {
            is_left[at] = question.leave(&mut totals[at].1, &total);
        }
    }
    let mut is_left = is_left.into_iter();
    totals.retain(|_| is_left.next() == Some(true));
    totals
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::dataflow::bounding::Count;
    use crate::dataflow::pipeline::aggregation::KeyedAggregation;
    use crate::mechanisms::{Bound, Cell, Keys, Total};

    // Refutes a key that nobody has any more, which would tell that somebody had it, one that is new and left out, and
    // a total of others than those who are left.
    #[test]
    fn totals_by_difference_are_those_of_who_is_left() {
        let limits = Bound::keys(3).per_key(2).checked().unwrap();
        let statistic = Total::count(limits, Keys::public(0..9u32).unwrap()).unwrap();
        let question = KeyedAggregation { statistic, measure: Count };
        let totals = |keys: &[(u32, &[u32])]| -> Vec<(u32, Cell)> {
            let total = |records: &[u32]| {
                let mut total = Cell::default();
                records.iter().for_each(|records| question.add(&mut total, *records));
                total
            };
            keys.iter().map(|(key, records)| (*key, total(records))).collect()
        };
        let before = totals(&[(1, &[1, 2]), (2, &[1]), (4, &[2])]);
        let (gone, come) = (totals(&[(1, &[2]), (2, &[1])]), totals(&[(1, &[1]), (3, &[2])]));
        let found = exchanged(&question, before, gone, come);
        assert!(found == totals(&[(1, &[1, 1]), (3, &[2]), (4, &[2])]));
    }
}
