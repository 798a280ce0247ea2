//! The dataflow of a job, built from its release plans: the same pipeline that people write in Rust, from a
//! file.

use crossbeam_channel::Sender;

use super::demo::Demo;
use super::demo::Shown;
use super::live::Ending;
use crate::dataflow::bounding::{Count, Measure, Sum};
use crate::dataflow::{
    Aggregation, Bounded, Everything, ExactCells, Fed, Feeds, KeyedAggregation, LeavingRelease, Private,
    ProtectedUnit, Ranking, RunError, Searching, Tallied, Terms, Travels, Windowed, Worker, hand_over,
};
use crate::gate::Gate;
use crate::job::release_group::ReleaseGroup;
use crate::job::release_plan::{CellKey, ConfiguredNoise, PreparedStatistic, ReleasePlan, WindowQuery};
use crate::job::sources::{Id, MISSING, PersonIdentity, SourceInput, SourcePart, SourceRecord};
use crate::mechanisms::{Bound, Cell, Cells, Mechanism, Ready, Statistic, Summary, Tellable, Total};
use crate::time::{Span, Time};

/// A job, ready to be built on every worker.
pub(crate) struct Graph {
    pub(crate) offers: Vec<ReleasePlan>,
    /// The plan of each release's statistic.
    pub(crate) settled: Vec<PreparedStatistic>,
    pub(crate) bundles: Vec<ReleaseGroup>,
    pub(crate) shape: RecordFields,
    /// The budget account that pays.
    pub(crate) domain: String,
    pub(crate) late: Option<Span>,
    /// True where nothing is released before the input has ended.
    pub(crate) at_end: bool,
    /// The time after which no record is in time for any window.
    pub(crate) last: Option<Time>,
    pub(crate) gate: Gate,
    pub(crate) demo: Option<Demo>,
    /// The channel that releases leave by.
    pub(crate) releases: Sender<LeavingRelease>,
}

/// The optional fields of a job's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordFields {
    /// True where records carry a person: otherwise each record is protected by itself.
    pub(crate) person: bool,
    /// True where records carry an id: otherwise equal records are different.
    pub(crate) id: bool,
}

type Timed<P, I> = fn(&SourceRecord<P, I>) -> Time;

impl Graph {
    /// Builds the dataflow on one worker.
    pub(crate) fn build(
        &self,
        worker: &mut Worker,
        feeds: &mut Feeds,
        input: &SourceInput,
    ) -> Result<(), RunError> {
        let index = worker.index();
        worker.dataflow(|scope| match self.shape {
            RecordFields { person: true, id: false } => {
                let records: SourcePart<Id, ()> = input.part(index);
                let records = feeds.stream(scope, Ending::after(self.last, records));
                self.lay(records, |records| records.protect(|record| record.person), Windowed::bound)
            }
            RecordFields { person: true, id: true } => {
                let records: SourcePart<Id, Id> = input.part(index);
                let records = feeds.stream(scope, Ending::after(self.last, records));
                self.lay(
                    records,
                    |records| records.protect(|record| record.person).identified_by(|record| record.id),
                    Windowed::bound,
                )
            }
            RecordFields { person: false, id: false } => {
                let records: SourcePart<(), ()> = input.part(index);
                let records = feeds.stream(scope, Ending::after(self.last, records));
                self.lay(records, Fed::protect_each, |windowed, _| windowed.one_by_one())
            }
            RecordFields { person: false, id: true } => {
                let records: SourcePart<(), Id> = input.part(index);
                let records = feeds.stream(scope, Ending::after(self.last, records));
                self.lay(
                    records,
                    |records| records.protect_each().identified_by(|record| record.id),
                    |windowed, _| windowed.one_by_one(),
                )
            }
        })
    }

    fn lay<'scope, P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        records: Fed<'scope, SourceRecord<P, I>>,
        protect: impl Fn(Fed<'scope, SourceRecord<P, I>>) -> Private<'scope, SourceRecord<P, I>, U>,
        bound: impl Fn(
            Windowed<'scope, SourceRecord<P, I>, U, Timed<P, I>>,
            Bound,
        ) -> Bounded<'scope, SourceRecord<P, I>, U, Timed<P, I>>,
    ) -> Result<(), RunError> {
        for (group, bundle) in (0u32..).zip(&self.bundles) {
            let records = records.clone();
            let own = match self.bundles.len() {
                1 => records,
                _ => records.filter(move |record| record.group == group),
            };
            let time: Timed<P, I> = |record| record.time;
            let mut windowed = protect(own).scheduled(bundle.schedule.clone(), time);
            if let Some(late) = self.late {
                windowed = windowed.late(late);
            }
            if self.at_end {
                windowed = windowed.at_the_end();
            }
            let bounded = bound(windowed, bundle.bound);
            for &at in &bundle.plans {
                self.offer(&bounded, at)?;
            }
        }
        Ok(())
    }

    fn offer<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        bounded: &Bounded<'_, SourceRecord<P, I>, U, Timed<P, I>>,
        at: usize,
    ) -> Result<(), RunError> {
        let Some(offer) = self.offers.get(at) else { return Ok(()) };
        let whole = |_: &SourceRecord<P, I>| ();
        let value = |record: &SourceRecord<P, I>| record.value;
        let (settled, people) = (self.settled.get(at), bounded.clone());
        match (&offer.query, settled) {
            (_, None) => return Ok(()),
            (WindowQuery::Sum(range, _), Some(PreparedStatistic::Total(sum, _))) => {
                let measure = Sum::clipped(range.low(), range.high());
                let question =
                    measure.map(|measure| KeyedAggregation { statistic: (**sum).clone(), measure });
                self.release(people.ask(key(offer), value, question), offer, at, sums)?;
            }
            (_, Some(PreparedStatistic::Total(total, _))) => {
                let question = Ok(KeyedAggregation { statistic: (**total).clone(), measure: Count });
                self.release(people.ask(key(offer), whole, question), offer, at, sums)?;
            }
            (WindowQuery::Sum(range, _), Some(PreparedStatistic::Running(sum, _))) => {
                let measure = Sum::clipped(range.low(), range.high());
                let question =
                    measure.map(|measure| KeyedAggregation { statistic: (**sum).clone(), measure });
                self.release(people.ask(key(offer), value, question), offer, at, sums)?;
            }
            (_, Some(PreparedStatistic::Running(total, _))) => {
                let question = Ok(KeyedAggregation { statistic: (**total).clone(), measure: Count });
                self.release(people.ask(key(offer), whole, question), offer, at, sums)?;
            }
            (WindowQuery::Mean(range, _), Some(PreparedStatistic::Mean(mean, _))) => {
                let question = Ok(KeyedAggregation { statistic: (**mean).clone(), measure: Terms(*range) });
                self.release(people.ask(key(offer), value, question), offer, at, sums)?;
            }
            (_, Some(PreparedStatistic::Mean(..))) => return Ok(()),
            // A statistic that is found by its rank has the same stages for the demonstration's exact
            // numbers.
            (_, Some(PreparedStatistic::Largest(largest, _))) => {
                let question = Ok(Searching::new((**largest).clone()));
                let exact = |shown: &Shown| (shown.tops.tally.clone(), Some(shown.tops.truth.clone()));
                return self.release(people.ask(key(offer), value, question), offer, at, exact);
            }
            (_, Some(PreparedStatistic::Quantiles(quantiles, _))) => {
                let question = Ok(Ranking::new((**quantiles).clone()));
                let exact = |shown: &Shown| (shown.values.tally.clone(), Some(shown.values.truth.clone()));
                return self.release(people.ask(key(offer), value, question), offer, at, exact);
            }
        }
        let Some(demo) = &self.demo else { return Ok(()) };
        if let (WindowQuery::People(keys), Some(adding)) = (&offer.query, offer.running) {
            // A returning person appears in earlier windows, so windows alone do not give the number of
            // people: everybody is remembered.
            let limits = Bound::keys(MOST).checked()?;
            let people = Total::people(limits, keys.clone()).and_then(|people| adding.total(people));
            let question = people.map(|statistic| KeyedAggregation { statistic, measure: Count });
            let people = bounded.clone().ask(key(offer), whole, question);
            return people.shown_in_a_demo(demo.secret, Some(&limits), demo.shown(at).sums.truth);
        }
        let everything = Everything::new(offer.query.keys().clone());
        let everything = bounded.clone().ask(key(offer), value, everything);
        everything.shown_in_a_demo(demo.secret, None, demo.shown(at).sums.truth)
    }

    fn release<'scope, P: PersonIdentity, I: PersonIdentity, U, Q, C, G, V>(
        &self,
        tallied: Tallied<'scope, SourceRecord<P, I>, U, Timed<P, I>, Q, G, V>,
        offer: &ReleasePlan,
        at: usize,
        exact: fn(&Shown) -> AfterAndBefore<C>,
    ) -> Result<(), RunError>
    where
        U: ProtectedUnit<SourceRecord<P, I>>,
        C: Summary + Clone,
        Q: Aggregation<Key = CellKey, Statistic: Statistic<Tally = Cells<CellKey, C>>>,
        (CellKey, C): Travels,
        G: Fn(&SourceRecord<P, I>) -> CellKey + 'static,
        V: Fn(&SourceRecord<P, I>) -> <Q::Measure as Measure>::Value + 'static,
        ConfiguredNoise: Mechanism<Q::Statistic, Prepared: Ready<Answer: Tellable>>,
    {
        if let Some(demo) = &self.demo {
            let (tally, truth) = exact(&demo.shown(at));
            tallied.shown_in_a_demo(demo.secret, Some(tallied.limits()), tally)?;
            if let Some(truth) = truth {
                tallied.shown_in_a_demo(demo.secret, None, truth)?;
            }
        }
        let tallied = tallied.charged_to(&self.domain).stating(offer.version_terms.clone());
        let releases = tallied.release(&self.gate, offer.name.as_str(), offer.noise.clone());
        let sender = self.releases.clone();
        // The receiver of releases exists until the run is over.
        hand_over(releases, move |release| _ = sender.send(release));
        Ok(())
    }
}

/// More keys than any person has.
const MOST: u64 = 1 << 31;

/// The collectors of exact cells: after contribution bounding, and before it where that has the same stages.
type AfterAndBefore<C> = (ExactCells<CellKey, C>, Option<ExactCells<CellKey, C>>);

/// The collectors for sums; the one before contribution bounding has stages of its own.
fn sums(shown: &Shown) -> AfterAndBefore<Cell> {
    (shown.sums.tally.clone(), None)
}

/// The function from a record to its key, with the parts that the release plan reads.
fn key<P, I>(offer: &ReleasePlan) -> impl Fn(&SourceRecord<P, I>) -> CellKey + 'static {
    let (needs_key, needs_value) = (offer.key.is_some(), offer.value.is_some());
    let buckets = match &offer.query {
        WindowQuery::Histogram(edges, point, _) => Some((edges.clone(), *point)),
        _ => None,
    };
    move |record| match &buckets {
        _ if needs_value && record.value == MISSING => CellKey::Absent,
        _ if needs_key && record.key.is_empty() => CellKey::Absent,
        Some((edges, point)) => CellKey::Bucket(edges.bucket(record.value), *point),
        None if needs_key => CellKey::Text(record.key.clone()),
        None => CellKey::Whole,
    }
}
