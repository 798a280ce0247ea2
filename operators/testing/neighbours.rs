//! The replay of a pipeline without each person.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use discreet::dataflow::Fed;
use discreet::dataflow::revealed::{ExactRun, ExactTally};

use crate::compare::{compare, first_difference};
use crate::exact::run;
use crate::script::Script;
use crate::unbounded::{Unbounded, Unit};

/// Asserts that no person moves the tallies of a pipeline by more than the pipeline declares to its gate, as
/// [`check_bounded`] finds out.
///
/// # Panics
///
/// If one does, with the person, the window, the difference and the bound.
#[track_caller]
pub fn assert_bounded<R, P, F>(script: impl Into<Script<R>>, person: impl Fn(&R) -> P, pipeline: F)
where
    R: Clone + Send + Sync + 'static,
    P: Eq + Hash,
    F: for<'scope> Fn(Fed<'scope, R>, &ExactRun) + Send + Sync + 'static,
{
    if let Err(unbounded) = check_bounded(script, person, pipeline) {
        panic!("{unbounded}");
    }
}

/// Checks that no person moves the tallies of a pipeline by more than the pipeline declares to its gate, on 1, 2 and
/// 4 workers and in three orders of arrival: [`Neighbours::by_person`] with its defaults.
///
/// `person` returns whose a record is, **as it enters the pipeline**, and knows nothing of what the pipeline makes of
/// it.
///
/// # Errors
///
/// The first difference that the bound does not allow.
pub fn check_bounded<R, P, F>(
    script: impl Into<Script<R>>,
    person: impl Fn(&R) -> P,
    pipeline: F,
) -> Result<(), Unbounded>
where
    R: Clone + Send + Sync + 'static,
    P: Eq + Hash,
    F: for<'scope> Fn(Fed<'scope, R>, &ExactRun) + Send + Sync + 'static,
{
    Neighbours::by_person(script, person).check(pipeline)
}

/// Pairs of inputs that differ by one unit, and the ways in which they are replayed.
///
/// ```
/// use discreet::prelude::*;
/// use discreet_testing::Neighbours;
///
/// let visits = [(1_u64, 0_u32), (1, 0), (2, 0), (2, 1), (3, 1)];
/// Neighbours::by_person(visits, |visit| visit.0).workers([1, 3]).orders(5).check(|visits, run| {
///     visits
///         .protect(|visit| visit.0)
///         .whole(0, 10, |_| 5)
///         .bound(Bound::keys(1))
///         .count_by(|visit| visit.1, Keys::public(0..2_u32))
///         .reveal(run, "visits");
/// })?;
/// # Ok::<(), discreet_testing::Unbounded>(())
/// ```
#[derive(Debug)]
pub struct Neighbours<R> {
    script: Script<usize>,
    records: Vec<R>,
    units: Vec<Vec<usize>>,
    of_records: bool,
    workers: Vec<usize>,
    orders: u64,
}

/// The seeds of the contribution selection, which choose what is kept of a person.
const SEEDS: u64 = 2;

impl<R: Clone + Send + Sync + 'static> Neighbours<R> {
    fn new(
        script: Script<R>,
        of_records: bool,
        units: impl FnOnce(&[R]) -> Vec<Vec<usize>>,
    ) -> Neighbours<R> {
        let (script, records) = script.numbered();
        let units = units(&records);
        Neighbours { script, records, units, of_records, workers: vec![1, 2, 4], orders: 3 }
    }

    /// Leaves out each person with all of the person's records, in the order of their first records.
    pub fn by_person<P: Eq + Hash>(script: impl Into<Script<R>>, person: impl Fn(&R) -> P) -> Neighbours<R> {
        Neighbours::new(script.into(), false, |records| {
            let (mut places, mut units) = (HashMap::new(), Vec::<Vec<usize>>::new());
            for (number, record) in records.iter().enumerate() {
                let place = *places.entry(person(record)).or_insert(units.len());
                match units.get_mut(place) {
                    Some(unit) => unit.push(number),
                    None => units.push(vec![number]),
                }
            }
            units
        })
    }

    /// Leaves out each of these persons alone: where there are too many for all.
    pub fn by_persons<P: Eq>(
        script: impl Into<Script<R>>,
        person: impl Fn(&R) -> P,
        persons: impl IntoIterator<Item = P>,
    ) -> Neighbours<R> {
        Neighbours::new(script.into(), false, |records| {
            let of = |own: P| {
                let numbered = records.iter().enumerate();
                numbered.filter(|(_, record)| person(record) == own).map(|(number, _)| number).collect()
            };
            persons.into_iter().map(of).collect()
        })
    }

    /// Leaves out each record alone: for pipelines that [protect each](Fed::protect_each).
    pub fn by_record(script: impl Into<Script<R>>) -> Neighbours<R> {
        Neighbours::new(script.into(), true, |records| {
            (0..records.len()).map(|number| vec![number]).collect()
        })
    }

    /// Sets the numbers of workers: 1, 2 and 4 by default.
    #[must_use]
    pub fn workers(self, workers: impl IntoIterator<Item = usize>) -> Neighbours<R> {
        Neighbours { workers: workers.into_iter().collect(), ..self }
    }

    /// Sets the number of orders of arrival: three by default, the first of which is that of the script. Records
    /// change places between two declarations, and never across one.
    #[must_use]
    pub fn orders(self, orders: u64) -> Neighbours<R> {
        Neighbours { orders: orders.max(1), ..self }
    }

    /// Replays a pipeline with all records and without each unit, and compares.
    ///
    /// It finds that the same input has the same tallies each time, in each order and on each number of workers; that
    /// which windows there are, and which are skipped, does not depend on a unit; and that a unit moves the tallies
    /// of a window, and where the bound is of all windows those of all together, by no more than the
    /// [sensitivity](ExactTally::sensitivity) in every norm, and no more windows than the
    /// [bound](discreet::mechanisms::Bound::windows) says.
    ///
    /// The pipeline is built once for each worker of each replay. A closure of it that panics ends the process.
    ///
    /// # Errors
    ///
    /// The first difference that the bound does not allow.
    pub fn check<F>(&self, pipeline: F) -> Result<(), Unbounded>
    where
        F: for<'scope> Fn(Fed<'scope, R>, &ExactRun) + Send + Sync + 'static,
    {
        let pipeline = Arc::new(pipeline);
        let mut moves = false;
        for seed in 0..SEEDS {
            let whole = self.all_alike(seed, &pipeline)?;
            for (index, records) in self.units.iter().enumerate() {
                let unit = Unit { index, records: records.len(), is_a_record: self.of_records };
                for (place, workers) in self.workers.iter().enumerate() {
                    let order = (index + place) as u64 % self.orders;
                    let without = self.replay(records, (*workers, order), seed, &pipeline)?;
                    moves |= compare(&whole, &without, unit)?;
                }
            }
        }
        if moves { Ok(()) } else { Err(Unbounded::NothingCompared) }
    }

    /// Returns the tallies of all records, which are the same in every replay.
    fn all_alike<F>(&self, seed: u64, pipeline: &Arc<F>) -> Result<Vec<ExactTally>, Unbounded>
    where
        F: for<'scope> Fn(Fed<'scope, R>, &ExactRun) + Send + Sync + 'static,
    {
        let whole = self.replay(&[], (1, 0), seed, pipeline)?;
        let again = self.replay(&[], (1, 0), seed, pipeline)?;
        if let Some(difference) = first_difference(&whole, &again) {
            return Err(Unbounded::Unrepeatable(difference));
        }
        for &workers in &self.workers {
            for order in 0..self.orders {
                let other = self.replay(&[], (workers, order), seed, pipeline)?;
                if let Some(difference) = first_difference(&whole, &other) {
                    return Err(Unbounded::OrderDependent { workers, order, difference });
                }
            }
        }
        Ok(whole)
    }

    /// Runs a pipeline without some records. The others are where they are with them.
    fn replay<F>(
        &self,
        left_out: &[usize],
        (workers, order): (usize, u64),
        seed: u64,
        pipeline: &Arc<F>,
    ) -> Result<Vec<ExactTally>, Unbounded>
    where
        F: for<'scope> Fn(Fed<'scope, R>, &ExactRun) + Send + Sync + 'static,
    {
        // Numbers ascend.
        let record = |number: &usize| match left_out.binary_search(number) {
            Ok(_) => None,
            Err(_) => self.records.get(*number).cloned(),
        };
        let parts = self.script.clone().dealt(workers, order);
        let parts = parts.iter().map(|part| part.with(record)).collect();
        Ok(run(parts, seed, pipeline)?)
    }
}
