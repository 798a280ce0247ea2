//! The part of a job's dataflow that a statistic builds: its aggregation over bounded records, and its
//! release.

use std::rc::Rc;

use crossbeam_channel::Sender;

use super::exact::{ExactNumbers, MeansInADemo};
use super::{CellKey, ConfiguredNoise, RunningTotalSpec, StatisticTerms};
use crate::dataflow::bounding::{Identity, Measure};
use crate::dataflow::{
    Aggregation, Bounded, EverySquare, Everything, ExactCells, LeavingRelease, PairSumming, ProtectedUnit,
    RecordFilter, RunError, RunningPairs, Tallied, Travels, hand_over,
};
use crate::gate::Gate;
use crate::invalid::Invalid;
use crate::job::sources::{MISSING, PersonIdentity, SourceRecord};
use crate::ledger::VersionTerms;
use crate::mechanisms::{
    Cell, Cells, DecimalPoint, Edges, Keys, Mechanism, PairStatistic, PairSums, Prepared, ReleaseLines,
    RunningSums, Statistic, Summary, Variance,
};
use crate::time::Time;

/// The function from a record to its time.
pub(crate) type RecordTime<P, I> = fn(&SourceRecord<P, I>) -> Time;

/// The aggregation of a statistic of a job: its keys, and its values.
pub(crate) type JobTallied<'scope, P, I, U, Q, G, V> =
    Tallied<'scope, SourceRecord<P, I>, U, RecordTime<P, I>, Q, G, V>;

/// The place of a release in the dataflow of a job.
pub(crate) struct ReleaseFlow<
    'f,
    'scope,
    P: PersonIdentity,
    I: PersonIdentity,
    U: ProtectedUnit<SourceRecord<P, I>>,
> {
    /// The records, after contribution bounding.
    pub(crate) bounded: &'f Bounded<'scope, SourceRecord<P, I>, U, RecordTime<P, I>>,
    /// The terms of the statistic.
    pub(crate) terms: StatisticTerms<'f>,
    /// The index of its key among those of a record.
    pub(crate) key: Option<usize>,
    /// The number of parts of its key; 0 if the release has no keys.
    pub(crate) parts: usize,
    /// The indices of its values among those of a record.
    pub(crate) values: Vec<usize>,
    /// The name of the release.
    pub(crate) name: &'f str,
    /// The budget account that pays.
    pub(crate) account: &'f str,
    /// The version of the release.
    pub(crate) version: u32,
    /// The fields of the job file that the version of the release binds.
    pub(crate) version_terms: &'f VersionTerms,
    pub(crate) gate: &'f Gate,
    /// The channel that releases leave by.
    pub(crate) releases: &'f Sender<LeavingRelease>,
    /// The key of the contribution selection and the collectors of a demonstration.
    pub(crate) demo: Option<([u8; 32], ExactNumbers)>,
}

/// The collectors of exact cells: after contribution bounding, and before it where that has the same stages.
pub(crate) type ExactCollectors<C> = (ExactCells<CellKey, C>, Option<ExactCells<CellKey, C>>);

impl<'scope, P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>
    ReleaseFlow<'_, 'scope, P, I, U>
{
    /// Returns the function from a record to its key; `buckets` are those of its value.
    pub(super) fn key(
        &self,
        buckets: Option<(&Edges, DecimalPoint)>,
    ) -> impl Fn(&SourceRecord<P, I>) -> CellKey + 'static {
        let (key, value, parts) = (self.key, self.value(), self.parts);
        let buckets = buckets.map(|(edges, point)| (edges.clone(), point));
        move |record| match (&buckets, key.map(|at| record.key(at))) {
            (_, Some(None)) => CellKey::Absent,
            (_, Some(Some(ref key))) if key.is_empty() => CellKey::Absent,
            (Some((edges, point)), _) => CellKey::Bucket(edges.bucket(value(record)), *point),
            (None, Some(Some(key))) if parts == 1 => CellKey::Text(key),
            (None, Some(Some(key))) if parts > 1 => CellKey::Texts(key),
            (None, _) => CellKey::Whole,
        }
    }

    /// Returns the function from a record to its first value.
    pub(super) fn value(&self) -> impl Fn(&SourceRecord<P, I>) -> i64 + 'static {
        self.nth_value(0)
    }

    /// Returns the function from a record to its first two values.
    pub(super) fn pair(&self) -> impl Fn(&SourceRecord<P, I>) -> (i64, i64) + 'static {
        let (first, second) = (self.value(), self.nth_value(1));
        move |record| (first(record), second(record))
    }

    fn nth_value(&self, place: usize) -> impl Fn(&SourceRecord<P, I>) -> i64 + 'static {
        let value = self.values.get(place).copied();
        move |record| value.map_or(0, |at| record.value(at))
    }

    /// Returns the function from a record to all of its values.
    pub(super) fn vector(&self) -> impl Fn(&SourceRecord<P, I>) -> Vec<i64> + 'static {
        let values = self.values.clone();
        move |record| values.iter().map(|at| record.value(*at)).collect()
    }

    /// Releases an aggregation; in a demonstration, `exact` are the collectors of its exact cells.
    pub(super) fn release<Q, C, G, V>(
        &self,
        tallied: JobTallied<'scope, P, I, U, Q, G, V>,
        has_own_keys: bool,
        exact: fn(&ExactNumbers) -> ExactCollectors<C>,
    ) -> Result<(), RunError>
    where
        C: Summary + Clone,
        Q: Aggregation<Key = CellKey, Statistic: Statistic<Tally = Cells<CellKey, C>>>,
        (CellKey, C): Travels,
        G: Fn(&SourceRecord<P, I>) -> CellKey + 'static,
        V: Fn(&SourceRecord<P, I>) -> <Q::Measure as Measure>::Value + 'static,
        ConfiguredNoise: Mechanism<Q::Statistic, Prepared: Prepared<Answer: ReleaseLines>>,
    {
        self.release_with(self.terms.noise, tallied, has_own_keys, exact)
    }

    /// The same with this noise.
    pub(super) fn release_with<Q, C, G, V>(
        &self,
        noise: &ConfiguredNoise,
        tallied: JobTallied<'scope, P, I, U, Q, G, V>,
        has_own_keys: bool,
        exact: fn(&ExactNumbers) -> ExactCollectors<C>,
    ) -> Result<(), RunError>
    where
        C: Summary + Clone,
        Q: Aggregation<Key = CellKey, Statistic: Statistic<Tally = Cells<CellKey, C>>>,
        (CellKey, C): Travels,
        G: Fn(&SourceRecord<P, I>) -> CellKey + 'static,
        V: Fn(&SourceRecord<P, I>) -> <Q::Measure as Measure>::Value + 'static,
        ConfiguredNoise: Mechanism<Q::Statistic, Prepared: Prepared<Answer: ReleaseLines>>,
    {
        let tallied = self.read_alike(tallied, has_own_keys);
        if let Some((secret, numbers)) = &self.demo {
            let (tally, truth) = exact(numbers);
            tallied.shown_in_a_demo(*secret, Some(tallied.limits()), tally)?;
            if let Some(truth) = truth {
                tallied.shown_in_a_demo(*secret, None, truth)?;
            }
        }
        let tallied =
            tallied.charged_to(self.account).version(self.version).stating(self.version_terms.clone());
        let releases = tallied.release(self.gate, self.name, noise.clone());
        let sender = self.releases.clone();
        // The receiver of releases exists until the run is over.
        hand_over(releases.stream(), move |release| _ = sender.send(release));
        Ok(())
    }

    /// Releases a statistic of two sums over records of a window, or of all windows so far or the last ones.
    pub(super) fn release_pairs<S, V>(&self, statistic: Result<S, Invalid>, value: V) -> Result<(), RunError>
    where
        S: PairStatistic<Key = CellKey, Value: Identity + Ord + Clone>
            + Statistic<Tally = Cells<CellKey, PairSums>>,
        V: Fn(&SourceRecord<P, I>) -> S::Value + 'static,
        ConfiguredNoise: Mechanism<S, Prepared: Prepared<Answer: ReleaseLines>>
            + Mechanism<RunningSums<S>, Prepared: Prepared<Answer: ReleaseLines>>,
    {
        match self.terms.running {
            Some(running) => self.release_running(running, statistic, value),
            None => {
                let asked = self.bounded.clone().ask(self.key(None), value, statistic.map(PairSumming::new));
                self.release(asked, false, |exact| (exact.pairs.tally.clone(), None))
            }
        }
    }

    /// Releases a statistic of sums over the records of all windows so far, or of the last ones.
    pub(super) fn release_running<S, V>(
        &self,
        running: RunningTotalSpec,
        statistic: Result<S, Invalid>,
        value: V,
    ) -> Result<(), RunError>
    where
        S: PairStatistic<Key = CellKey, Value: Identity + Ord + Clone>,
        V: Fn(&SourceRecord<P, I>) -> S::Value + 'static,
        ConfiguredNoise: Mechanism<RunningSums<S>, Prepared: Prepared<Answer: ReleaseLines>>,
    {
        let sums = statistic.and_then(|each| running.sums(each)).map(RunningPairs::new);
        let asked = self.bounded.clone().ask(self.key(None), value, sums);
        self.release(asked, false, |exact| (exact.pairs.tally.clone(), None))
    }

    /// Lets an aggregation share what is kept with others by the same keys, unless these are its own, such as buckets of its
    /// values. A record without a value does not count where there is a value field.
    fn read_alike<Q: Aggregation, G, V>(
        &self,
        tallied: JobTallied<'scope, P, I, U, Q, G, V>,
        has_own_keys: bool,
    ) -> JobTallied<'scope, P, I, U, Q, G, V> {
        let function = (!has_own_keys).then_some(self.key.map_or(0, |at| at as u64 + 1));
        let values = self.values.clone();
        let counts = (!values.is_empty()).then(|| -> RecordFilter<SourceRecord<P, I>> {
            Rc::new(move |record: &SourceRecord<P, I>| values.iter().all(|at| record.value(*at) != MISSING))
        });
        tallied.keyed_alike(function, counts)
    }

    /// Collects the exact sums before contribution bounding, in a demonstration.
    pub(super) fn show_everything(&self, buckets: Option<(&Edges, DecimalPoint)>) -> Result<(), RunError> {
        let Some((secret, numbers)) = &self.demo else { return Ok(()) };
        let everything = Everything::new(self.terms.keys.clone());
        let has_own_keys = buckets.is_some();
        let everything = self.bounded.clone().ask(self.key(buckets), self.value(), everything);
        let everything = self.read_alike(everything, has_own_keys);
        everything.shown_in_a_demo(*secret, None, numbers.sums.truth.clone())
    }

    /// Collects the exact sums by these keys before contribution bounding, in a demonstration.
    pub(super) fn show_everything_by(
        &self,
        key: impl Fn(&SourceRecord<P, I>) -> CellKey + 'static,
    ) -> Result<(), RunError> {
        let Some((secret, numbers)) = &self.demo else { return Ok(()) };
        // None is discovered: without a list, any key counts.
        let everything = Everything::new(Keys::discover(0.5));
        let everything = self.bounded.clone().ask(key, self.value(), everything);
        self.read_alike(everything, true).shown_in_a_demo(*secret, None, numbers.sums.truth.clone())
    }

    /// Collects the exact sums of each field before contribution bounding, in a demonstration.
    pub(super) fn show_everything_of_each(&self) -> Result<(), RunError> {
        let Some((secret, numbers)) = &self.demo else { return Ok(()) };
        for (place, cells) in numbers.everything_of_each.iter().enumerate() {
            let everything = Everything::new(self.terms.keys.clone());
            let everything = self.bounded.clone().ask(self.key(None), self.nth_value(place), everything);
            self.read_alike(everything, false).shown_in_a_demo(*secret, None, cells.clone())?;
        }
        Ok(())
    }

    /// Collects the exact sums of values and of their squares, measured from an origin, before contribution bounding, in a
    /// demonstration.
    pub(super) fn show_every_square(&self, of: Variance<CellKey>, origin: i64) -> Result<(), RunError> {
        let Some((secret, numbers)) = &self.demo else { return Ok(()) };
        let everything = Ok(EverySquare::new(of, origin));
        let everything = self.bounded.clone().ask(self.key(None), self.value(), everything);
        let everything = self.read_alike(everything, false);
        everything.shown_in_a_demo(*secret, None, numbers.pairs.truth.clone())
    }

    /// Has the means of a statistic shown in a demonstration.
    pub(super) fn show_means<S: Clone + Send + Sync + 'static>(&self, mean: &S, shown: MeansInADemo<S>) {
        if let Some((_, numbers)) = &self.demo {
            numbers.show_means(mean.clone(), shown);
        }
    }
}

/// Returns the collectors for sums; the one before contribution bounding has stages of its own.
pub(super) fn sums(numbers: &ExactNumbers) -> ExactCollectors<Cell> {
    (numbers.sums.tally.clone(), None)
}
