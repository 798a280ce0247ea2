//! The stage `release`: a name, a mechanism with its cost, and the stream of releases.

use std::rc::Rc;
use std::sync::Arc;

use super::admission::{Admission, ContributionTable, Restored};
use super::aggregation::Aggregation;
use super::backend::{AtGate, StatisticBackend};
use super::backend::{Portion, PreparedRelease, Remembered};
use super::binding::{charge, terms};
use super::bounded::Bounded;
use super::bounder::{AggregationPart, RecordFilter, RecordReading, bounded};
use super::columns::KeyFunction;
use super::ledgered::Ledgered;
use super::unit::ProtectedUnit;
use crate::accounting::Promise;
use crate::dataflow::bounding::{Cap, ContributionSelector, Measure};
use crate::dataflow::driver::{Fed, RunError};
use crate::dataflow::engine::{Scope, StreamVec, ToStream, Travels, empty};
use crate::dataflow::release::{
    LeavingRelease, PastReleases, Releases, StatisticSchedule, Title, Waker, release,
};
use crate::dataflow::windows::Schedule;
use crate::gate::Gate;
use crate::invalid::{Invalid, InvalidKind};
use crate::ledger::{Charge, Digest, VersionTerms};
use crate::mechanisms::{Mechanism, Prepared, ReleaseLines};
use crate::time::{Time, in_words};

/// A statistic of a protected stream: exact, and still private. Prints as `<private>`.
///
/// Its sensitivity follows from its bound, and there is nowhere to state one. All that can be done with it is
/// to release it, and, in a [run that has no gate](crate::dataflow::revealed), to reveal it to a test:
///
/// ```compile_fail,E0599
/// # use discreet::dataflow::Fed;
/// # use discreet::mechanisms::Bound;
/// # use discreet::time::minutes;
/// # fn pipeline(visits: Fed<'_, (u64, i64)>) {
/// let visits = visits.protect(|visit| visit.0).tumbling(minutes(10), |visit| visit.1).from(0);
/// visits.bound(Bound::keys(1)).count().inspect(|count| println!("{count:?}"));
/// # }
/// ```
pub struct Tallied<'scope, D, U: ProtectedUnit<D>, T, Q, G, V> {
    pub(super) bounded: Bounded<'scope, D, U, T>,
    pub(super) key: Rc<G>,
    pub(super) value: Rc<V>,
    pub(super) question: Result<Q, Invalid>,
    account: Option<String>,
    /// The version of the release; the job's where it states none.
    version: Option<u32>,
    /// The terms that the version binds beside the pipeline's own.
    stated: Option<VersionTerms>,
    /// The number of its key function among those of one type, where that is known.
    pub(super) function: Option<u64>,
    /// Returns true if a record counts; without it, all do.
    pub(super) counts: Option<RecordFilter<D>>,
}

redacted!([D, U: ProtectedUnit<D>, T, Q, G, V] Tallied<'_, D, U, T, Q, G, V>);

impl<D, U: ProtectedUnit<D>, T, Q: Clone, G, V> Clone for Tallied<'_, D, U, T, Q, G, V> {
    fn clone(&self) -> Self {
        Tallied {
            bounded: self.bounded.clone(),
            key: Rc::clone(&self.key),
            value: Rc::clone(&self.value),
            question: self.question.clone(),
            account: self.account.clone(),
            version: self.version,
            stated: self.stated.clone(),
            function: self.function,
            counts: self.counts.clone(),
        }
    }
}

impl<'scope, D, U: ProtectedUnit<D>, T, Q: Aggregation, G, V> Tallied<'scope, D, U, T, Q, G, V> {
    pub(super) fn new(
        bounded: Bounded<'scope, D, U, T>,
        key: G,
        value: V,
        question: Result<Q, Invalid>,
    ) -> Self {
        let (key, value) = (Rc::new(key), Rc::new(value));
        Tallied {
            bounded,
            key,
            value,
            question,
            account: None,
            version: None,
            stated: None,
            function: None,
            counts: None,
        }
    }

    /// The same, of another question.
    pub(super) fn asked<R: Aggregation>(
        self,
        question: impl FnOnce(Q) -> Result<R, Invalid>,
    ) -> Tallied<'scope, D, U, T, R, G, V> {
        let Tallied { bounded, key, value, question: asked, account, version, stated, function, counts } =
            self;
        let question = asked.and_then(question);
        Tallied { bounded, key, value, question, account, version, stated, function, counts }
    }

    /// The budget that pays, by name. Needed where the ledger has several for this kind of protection.
    #[must_use]
    pub fn charged_to(mut self, account: &str) -> Self {
        self.account = Some(account.to_owned());
        self
    }

    /// The version of this release, if it is not the [job's](crate::gate::Opening::version).
    ///
    /// A release that changes takes a new version, which pays for its windows and begins its totals, keys and
    /// counts of people anew; the other releases of the job go on as they were.
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.version = Some(version);
        self
    }

    /// Says which of the functions of one type reads its keys, if any other may: statistics that say the same share what
    /// is kept of a person's keys. A record that does not count is kept for those of them in which it does.
    #[cfg(feature = "cli")]
    pub(crate) fn keyed_alike(mut self, function: Option<u64>, counts: Option<RecordFilter<D>>) -> Self {
        (self.function, self.counts) = (function, counts);
        self
    }

    /// Binds its version to these terms too: those of what reads records, which is a closure here.
    #[cfg(feature = "cli")]
    pub(crate) fn stating(mut self, terms: VersionTerms) -> Self {
        self.stated = Some(terms);
        self
    }
}

impl<'scope, D, U, T, Q, G, V> Tallied<'scope, D, U, T, Q, G, V>
where
    D: 'static,
    U: ProtectedUnit<D>,
    Q: Aggregation,
    AggregationPart<Q>: Travels,
    T: Fn(&D) -> Time + 'static,
    G: Fn(&D) -> Q::Key + 'static,
    V: Fn(&D) -> <Q::Measure as Measure>::Value + 'static,
{
    /// Releases every window of the statistic, once, under a name, by a mechanism with its price.
    ///
    /// What comes out is an ordinary stream, on worker 0: each [`Release`](crate::dataflow::Release) is a row of
    /// the ledger, durable before it leaves, in order of windows, with typed
    /// [cells](crate::dataflow::Release::cells). Its claim: each is private for one unit more or less
    /// ([`AddRemove`](crate::accounting::Relation)), in the mechanism's currency, at the price that is
    /// charged for it; what all of them cost together is the ledger's affair, and refused where it does not
    /// fit.
    ///
    /// Everything that can be wrong with a parameter of the pipeline is reported here: the run ends with it,
    /// as a failure of [configuration](crate::dataflow::FailureKind::Configuration), before any record is
    /// read. So it is where the same version asks for the same statistic with other parameters.
    /// Nothing here panics.
    pub fn release<X>(
        self,
        gate: &Gate,
        name: &str,
        mechanism: X,
    ) -> Releases<'scope, Q::Key, <X::Prepared as Prepared>::Value>
    where
        X: Mechanism<Q::Statistic, Prepared: Prepared<Answer: ReleaseLines>>,
    {
        let late = self.bounded.windows.late.map_or(0, |late| late.as_microseconds());
        let shared = Arc::clone(&self.bounded.items.context.shared);
        let (releases, title) = self.released(&AtGate(gate), name, mechanism);
        let rows = title.map(|title| gate.past_rows(&title.name, &title.version));
        Releases::new(releases, rows.map(|rows| PastReleases { rows, late, shared }))
    }

    /// As [`release`](Self::release), wherever what is released is sealed.
    #[cfg(test)]
    pub(super) fn release_at<X>(
        self,
        backend: &dyn StatisticBackend,
        name: &str,
        mechanism: X,
    ) -> StreamVec<'scope, Time, LeavingRelease>
    where
        X: Mechanism<Q::Statistic, Prepared: Prepared<Answer: ReleaseLines>>,
    {
        self.released(backend, name, mechanism).0
    }

    /// Returns the rows of the releases, and on worker 0 the title by which the backend knows them.
    fn released<X>(
        self,
        backend: &dyn StatisticBackend,
        name: &str,
        mechanism: X,
    ) -> (StreamVec<'scope, Time, LeavingRelease>, Option<Title>)
    where
        X: Mechanism<Q::Statistic, Prepared: Prepared<Answer: ReleaseLines>>,
    {
        let (scope, context) = (self.bounded.items.stream.scope(), Rc::clone(&self.bounded.items.context));
        backend.answers_for(&context.shared);
        match self.opened(backend, name, mechanism, scope) {
            Ok(releases) => releases,
            Err(failure) => {
                context.shared.fail(failure);
                (empty(scope), None)
            }
        }
    }

    fn opened<X>(
        self,
        backend: &dyn StatisticBackend,
        name: &str,
        mechanism: X,
        scope: Scope<'scope, Time>,
    ) -> Result<(StreamVec<'scope, Time, LeavingRelease>, Option<Title>), RunError>
    where
        X: Mechanism<Q::Statistic, Prepared: Prepared<Answer: ReleaseLines>>,
    {
        let Tallied { bounded: people, key, value, question, account, version, stated, function, counts } =
            self;
        if let Some(refused) = people.refused.clone() {
            return Err(refused.into());
        }
        let schedule =
            people.windows.schedule.clone().ok_or_else(|| RunError::configuration("windows: none"))?;
        let (question, limits) = (question?, *people.limits());
        if limits.weight().is_some() && !question.weighs() {
            return Err(Invalid::new("weight", InvalidKind::Mixed, WEIGHED).into());
        }
        let prepared = mechanism.prepare(question.statistic())?;
        let largest = prepared.largest_needed();
        let name = people.items.context.name(backend.job(), name)?;
        let selector = ContributionSelector::new(*backend.secret());
        let contributions = ContributionTable::new(&*people.unit, &question, &limits)?;

        // Worker 0 alone has a handle, and knows what was kept.
        let opened_here = || -> Result<_, RunError> {
            let account = backend.account(account.as_deref(), limits.unit())?;
            let charge =
                charge((prepared.cost(), prepared.paid()), limits.windows(), &schedule, account.promise())?;
            account.counts(charge.cost())?;
            parts_are_priced(account.promise(), &charge, limits.windows(), &schedule)?;
            let (windows, payer) = ((&schedule, people.windows.late), (account.name(), account.promise()));
            let terms = terms(&prepared.parameters(), windows, payer, &charge, stated.as_ref());
            let version = version.unwrap_or_else(|| backend.version());
            let title = Title {
                account: account.name().clone(),
                job: backend.job(),
                version: Digest::of_version(version, terms.digest()),
                name: name.clone(),
            };
            let waker = Waker::default();
            let (handle, memory) = backend.open(&name, version, &terms, waker.wake())?;
            let remembered = match &memory {
                Some(memory) if memory.is_foreign => Remembered::read(&memory.state).ok(),
                Some(memory) => Some(Remembered::read(&memory.state)?),
                None => None,
            };
            let own = remembered.as_ref().is_some_and(|remembered| remembered.version == title.version);
            // What another version kept is inherited as far as it can be read, or not at all.
            if let Some(kept) =
                remembered.as_ref().and_then(|remembered| remembered.mechanism).filter(|_| own)
            {
                prepared.accepts(kept)?;
            }
            // Another version has paid anew, and counts anew.
            let counters = |contributions| match (&remembered, &memory) {
                (Some(Remembered { pages: Some(pages), through, .. }), Some(memory)) if own => {
                    Ledgered::read(contributions, *pages, memory, *through)
                }
                _ => {
                    let former = remembered.as_ref().and_then(|remembered| remembered.pages);
                    Ok(Ledgered::new(contributions, former, memory.as_ref()))
                }
            };
            let counters = contributions.clone().map(counters).transpose()?;
            let restored =
                counters.as_ref().map_or(Vec::new(), |known| known.restored(&selector, scope.peers()));
            let promise = account.promise().briefly(prepared.cost(), in_words).into();
            let prepared = Arc::new(prepared);
            let prepared_release = PreparedRelease {
                prepared,
                title: title.clone(),
                promise,
                charge,
                schedule: schedule.clone(),
                counters,
            };
            let plan =
                StatisticSchedule::of(title.clone(), &people.windows, schedule.clone(), prepared_release);
            Ok(((plan, handle, waker), (restored, title)))
        };
        let (at_gate, opened) = match (scope.index() == 0).then(opened_here).transpose() {
            Ok(opened) => opened.unzip(),
            // The others do not know of it: without the operators that they have, they would not find their
            // channels.
            Err(failure) => {
                people.items.context.shared.fail(failure);
                (None, None)
            }
        };

        let (restored, title) = opened.unzip();
        let question = match largest {
            Some(people) => question.of_the_largest(people),
            None => question,
        };
        let cap = question.cap(&limits)?;
        let admitted = contributions.map(|contributions| (contributions, restored.unwrap_or_default()));
        let reading = people.reading((key, KeyFunction::of::<G>(function)), value, counts);
        let parts = people.parts(reading, (question, cap), &schedule, &selector, admitted);
        let releases =
            release::<PreparedRelease<X::Prepared, U::Person, Q::Key>>(parts, people.windows.at_end, at_gate);
        Ok((releases, title))
    }
}

/// The statistics that a weight is for.
const WEIGHED: &str = "no weight here: it is for counts, people, sums, means and histograms of a window";

/// Refuses what has no price where a span of time holds a part of a window.
fn parts_are_priced(
    promise: Promise,
    charge: &Charge,
    windows: Option<u64>,
    schedule: &Schedule,
) -> Result<(), Invalid> {
    if !matches!(promise, Promise::Any(_) | Promise::Each(_)) {
        return Ok(());
    }
    if windows.is_some() {
        let remedy = "no bound of windows, or a promise over a lifetime: who leaves a window is counted in another one, which \
                      no price of a span of time covers";
        return Err(Invalid::new("windows", InvalidKind::Mixed, remedy));
    }
    // Where many windows are inside of aligned spans, the first one that is not is refused by the ledger.
    let cut = match charge {
        Charge::Once { life, .. } => promise.cuts(*life),
        Charge::Cost(_) => (0..schedule.count().min(1_000))
            .filter_map(|number| schedule.window(number))
            .any(|window| promise.cuts(window)),
    };
    if cut { charge.cost().partial().map(drop) } else { Ok(()) }
}

/// An empty table of the contributions of people, and those that are restored into it.
type AdmittedBefore<P, K> = (ContributionTable<P, K>, Vec<Restored>);

/// The parts of the windows of an aggregation, each with the number of its window.
pub(super) type Parts<'scope, Q> = Fed<'scope, (u64, Portion<AggregationPart<Q>>)>;

impl<'scope, D: 'static, U: ProtectedUnit<D>, T: Fn(&D) -> Time + 'static> Bounded<'scope, D, U, T> {
    /// Returns the functions by which a statistic reads its records.
    pub(super) fn reading<G, V>(
        &self,
        (key, function): (Rc<G>, Option<KeyFunction>),
        value: Rc<V>,
        counts: Option<RecordFilter<D>>,
    ) -> RecordReading<D, U, T, G, V> {
        RecordReading {
            unit: Rc::clone(&self.unit),
            time: Rc::clone(&self.time),
            key,
            function,
            value,
            counts,
        }
    }

    /// Bounds people. Where they are counted over several windows, worker 0 sends the others the restored
    /// contributions once, before anything is closed.
    pub(super) fn parts<Q, G, V>(
        &self,
        reading: RecordReading<D, U, T, G, V>,
        (question, cap): (Q, Cap),
        schedule: &Schedule,
        selector: &ContributionSelector,
        admitted: Option<AdmittedBefore<U::Person, Q::Key>>,
    ) -> Parts<'scope, Q>
    where
        Q: Aggregation,
        AggregationPart<Q>: Travels,
        G: Fn(&D) -> Q::Key + 'static,
        V: Fn(&D) -> <Q::Measure as Measure>::Value + 'static,
    {
        let (scope, context) = (self.items.stream.scope(), Rc::clone(&self.items.context));
        let counters = admitted
            .map(|(contributions, restored)| (Admission::new(contributions), restored.to_stream(scope)));
        let late = self.windows.late.map_or(0, |late| late.as_microseconds());
        let windows = ((schedule.clone(), late), counters.is_some());
        let panes = U::panes(&self.bundles, reading, question, cap, selector, windows);
        let stream = bounded(self.gathered(selector), panes, counters, Arc::clone(&context.shared));
        Fed { stream, context }
    }
}
