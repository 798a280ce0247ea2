//! The stage `answer`: queries that meet the stream, and their answers.
#![expect(clippy::type_complexity, reason = "the type of a statistic says all that was said before it")]

use std::rc::Rc;
use std::sync::Arc;

use opening::{Snapshots, open_bundle, scanned};
use records::{RecordRows, arranged};

use super::aggregation::Aggregation as _;
use super::backend::{AtGate, StatisticBackend};
use super::bounded::Bounded;
use super::bounder::{RecordReading, bounded};
use super::unit::ProtectedUnit;
use crate::dataflow::bounding::ContributionSelector;
use crate::dataflow::driver::{Fed, RunError};
use crate::dataflow::engine::{Map, Scope, StreamVec, empty};
use crate::dataflow::release::{ExactTotals, RecordsAgain, Release, Reply, Unanswered, sealed, sought};
use crate::gate::Gate;
use crate::invalid::{Invalid, InvalidKind};
use crate::ledger::VersionTerms;
use crate::mechanisms::queries::{Answers, Query, QueryRow, ReadyAnswers, Schema};
use crate::time::Time;

pub use records::{Owned, TakesBack};

mod opening;
mod records;

/// A protected stream that answers questions, and the questions. Prints as `<private>`.
///
/// All that can be done with it is to release it.
pub struct Answering<'scope, D, U: ProtectedUnit<D>, T, V> {
    bounded: Bounded<'scope, D, U, T>,
    schema: Schema,
    row: Rc<V>,
    questions: Fed<'scope, Query>,
    account: Option<String>,
    /// The version of the release; the job's where it states none.
    version: Option<u32>,
    /// The terms that a job file states beside those of the pipeline.
    stated: Option<VersionTerms>,
    /// The collector of the exact totals, in a demonstration.
    exact: Option<ExactTotals>,
    kept: KeptVersions,
}

/// The form in which the versions of the data are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeptVersions {
    /// Each by itself, in columns.
    Apart,
    /// Together, in an arrangement of what changes from one to the next.
    Together,
}

redacted!([D, U: ProtectedUnit<D>, T, V] Answering<'_, D, U, T, V>);

/// The answers to queries, on worker 0.
#[derive(Debug)]
pub struct Replies<'scope> {
    /// A row of the ledger for every question that was answered, or refused because its bundle or its budget
    /// is spent.
    pub releases: StreamVec<'scope, Time, Reply>,
    /// The questions that cannot be answered, and why. They cost nothing.
    pub unanswered: StreamVec<'scope, Time, Unanswered>,
}

impl<'scope, D, U, T> Bounded<'scope, D, U, T>
where
    D: 'static,
    U: Owned<D>,
    T: Fn(&D) -> Time + 'static,
{
    /// Answers questions about the records of the newest window that is complete when they ask.
    ///
    /// `row` gives a record's fields in the order of the schema. Of a person at most `per_key` records count,
    /// so that one person more or less moves a count by at most this number; `keys` must be 1. A question
    /// is answered on the last window that closes at or before its time, however many have closed since; one
    /// whose time its own source had declared complete before comes too late, and is not answered.
    ///
    /// Nothing here panics.
    pub fn answer<V: Fn(&D) -> QueryRow + 'static>(
        self,
        schema: Schema,
        row: V,
        questions: Fed<'scope, Query>,
    ) -> Answering<'scope, D, U, T, V> {
        let overlap = self.windows.schedule.as_ref().is_some_and(|schedule| schedule.overlaps());
        let kept = if overlap || U::TAKES_BACK { KeptVersions::Together } else { KeptVersions::Apart };
        let row = Rc::new(row);
        Answering {
            bounded: self,
            schema,
            row,
            questions,
            account: None,
            version: None,
            stated: None,
            exact: None,
            kept,
        }
    }
}

impl<'scope, D, U, T, V> Answering<'scope, D, U, T, V>
where
    D: 'static,
    U: Owned<D>,
    T: Fn(&D) -> Time + 'static,
    V: Fn(&D) -> QueryRow + 'static,
{
    /// The budget that pays, by name. Needed where the ledger has several for this kind of protection.
    #[must_use]
    pub fn charged_to(mut self, account: &str) -> Self {
        self.account = Some(account.to_owned());
        self
    }

    /// The version of this release, if it is not the [job's](crate::gate::Opening::version). A bundle in
    /// another version is another bundle, and pays for itself.
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.version = Some(version);
        self
    }

    /// Binds these terms in the version of the release, beside those of the pipeline.
    #[cfg(feature = "cli")]
    pub(crate) fn stating(mut self, terms: VersionTerms) -> Self {
        self.stated = Some(terms);
        self
    }

    /// Collects the exact totals of each answer: for a demonstration, which protects nobody.
    #[cfg(feature = "cli")]
    pub(crate) fn shown_in_a_demo(mut self, totals: ExactTotals) -> Self {
        self.exact = Some(totals);
        self
    }

    /// Keeps the versions of the data in this way, whatever the windows: to measure it beside the other.
    #[doc(hidden)]
    #[must_use]
    pub fn kept_for_tests_of_the_library_itself(mut self, together: bool) -> Self {
        self.kept = if together { KeptVersions::Together } else { KeptVersions::Apart };
        self
    }

    /// Releases the answers, each once, under a name and the question's id, by a mechanism with the price of
    /// all of them.
    ///
    /// Its claim: everything that is ever answered under this name is together private for one unit more or
    /// less ([`AddRemove`](crate::accounting::Relation)) at the price of the bundle, however the questions
    /// were chosen and whatever they name. The first answer pays for all, against the whole time that the
    /// windows are about, which is why there must be a last one.
    pub fn release<X: Answers>(self, gate: &Gate, name: &str, mechanism: X) -> Replies<'scope> {
        self.release_at(&AtGate(gate), name, mechanism)
    }

    /// As [`release`](Self::release), wherever what is released is sealed.
    pub(super) fn release_at<X: Answers>(
        self,
        backend: &dyn StatisticBackend,
        name: &str,
        mechanism: X,
    ) -> Replies<'scope> {
        let (scope, context) = (self.bounded.items.stream.scope(), Rc::clone(&self.bounded.items.context));
        backend.answers_for(&context.shared);
        match self.opened(backend, name, mechanism, scope) {
            Ok(answered) => answered,
            Err(failure) => {
                context.shared.fail(failure);
                Replies { releases: empty(scope), unanswered: empty(scope) }
            }
        }
    }

    fn opened<X: Answers>(
        self,
        backend: &dyn StatisticBackend,
        name: &str,
        mechanism: X,
        scope: Scope<'scope, Time>,
    ) -> Result<Replies<'scope>, RunError> {
        let Answering { bounded: people, schema, row, questions, account, version, stated, exact, kept } =
            self;
        if let Some(refused) = people.refused.clone() {
            return Err(refused.into());
        }
        let schedule =
            people.windows.schedule.clone().ok_or_else(|| RunError::configuration("windows: none"))?;
        if people.windows.skipping.is_some() {
            let remedy = "windows without it: a question waits until the version that it names is complete";
            return Err(Invalid::new("skipping", InvalidKind::Mixed, remedy).into());
        }
        let limits = *people.limits();
        let prepared = mechanism.prepare(&limits, &schema)?;
        let steps = prepared.steps();
        let name = people.items.context.name(backend.job(), name)?;
        let selector = ContributionSelector::new(*backend.secret());
        let late = people.windows.late.map_or(0, |late| late.as_microseconds());

        // Worker 0 alone has a handle.
        let opened = || {
            let windows = (schedule.clone(), people.windows.late);
            let identity = (name.clone(), version.unwrap_or_else(|| backend.version()), stated);
            let (bundle, handle, waker) =
                open_bundle(backend, account.as_deref(), identity, prepared, &limits, &schema, windows)?;
            let positions = Rc::clone(&people.items.context.positions);
            let of_bundle = (&bundle.title.name, &bundle.title.version);
            let (need, since) =
                positions.join(&backend.job(), of_bundle, |input| handle.resume_positions(input))?;
            Ok::<_, RunError>((bundle, handle, waker, RecordsAgain { positions, need, since }))
        };
        let at_gate = match (scope.index() == 0).then(opened).transpose() {
            Ok(at_gate) => at_gate,
            // The others do not know of it: without the operators that they have, they would not find their
            // channels.
            Err(failure) => {
                people.items.context.shared.fail(failure);
                None
            }
        };

        let rows = RecordRows::new(schema.clone(), &limits)?;
        let cap = rows.cap(&limits)?;
        let reading = RecordReading {
            unit: Rc::clone(&people.unit),
            time: Rc::clone(&people.time),
            function: None,
            key: Rc::new(|_: &D| ()),
            value: row,
            counts: None,
        };
        let context = Rc::clone(&people.items.context);
        let gathered = people.gathered(&selector);
        let sought = sought(questions, &context.gaps, at_gate, exact);
        let (posed, unanswered) = (sought.posed.clone(), sought.unanswered.clone());
        let counted = match kept {
            KeptVersions::Apart => {
                let panes = U::panes(
                    &people.bundles,
                    reading,
                    rows,
                    cap,
                    &selector,
                    ((schedule.clone(), late), false),
                );
                let parts = bounded(gathered, panes, None, Arc::clone(&context.shared));
                scanned(posed, parts, Snapshots::new(&schema, steps), (schedule, late))
            }
            KeptVersions::Together => {
                let (changes, versions) =
                    arranged(gathered, reading, &rows, (cap, selector), (schedule.clone(), late), steps);
                scanned(posed, changes, versions, (schedule, late))
            }
        };
        let releases = sealed(counted, sought, &context).map(Release::new);
        Ok(Replies { releases, unanswered })
    }
}
