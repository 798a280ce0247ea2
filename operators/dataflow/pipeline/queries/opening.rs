//! The opening of a bundle on worker 0: its handle, its state, and the rows of its answers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::super::backend::{Portion, StatisticBackend};
use super::super::binding::terms;
use crate::accounting::Interval;
use crate::canonical::Canonical;
use crate::dataflow::driver::RunError;
use crate::dataflow::engine::{
    Capability, CapacityContainerBuilder, Exchange, MutableAntichain, OperatorBuilder, OutputBuilder,
    Pipeline, StreamVec,
};
use crate::dataflow::release::{Posed, QueryAnswering, ReleaseBackend, Title, Waker};
use crate::dataflow::windows::Schedule;
use crate::gate::{ReleaseRequest, Sealable};
use crate::invalid::{Invalid, InvalidKind};
use crate::ledger::{Charge, Digest, Name, VersionTerms, rows};
use crate::mechanisms::queries::{ColumnStore, MatchedTotals, Query, QueryRow, ReadyAnswers, Schema, Steps};
use crate::mechanisms::{ContributionBound, Head, ReleaseLines};
use crate::noise::NoiseSource;
use crate::time::{Span, Time, in_utc, in_words};
use crate::{gate, ledger};

/// A bundle of answers that is ready, with what its releases have in common.
pub(super) struct PreparedBundle<R> {
    prepared: Arc<R>,
    pub(super) title: Title,
    promise: Arc<str>,
    charge: Charge,
    /// The time that is paid for.
    life: Interval,
    /// The opening of the bundle: answers are counted for each.
    opened: Digest,
    schema: Digest,
    schedule: Schedule,
    late: i64,
}

/// Opens the handle, if nothing speaks against it.
pub(super) fn open_bundle<R: ReadyAnswers>(
    backend: &dyn StatisticBackend,
    account: Option<&str>,
    (name, version, stated): (Name, u32, Option<VersionTerms>),
    prepared: R,
    limits: &ContributionBound,
    schema: &Schema,
    (schedule, late): (Schedule, Option<Span>),
) -> Result<(PreparedBundle<R>, Box<dyn ReleaseBackend>, Waker), RunError> {
    if !schedule.is_bounded() {
        let remedy = "`between`, with an end: a bundle is paid for once, against all of its time";
        return Err(Invalid::new("until", InvalidKind::Missing, remedy).into());
    }
    let account = backend.account(account, limits.unit())?;
    let life = schedule.life()?;
    let charge = Charge::Once { cost: prepared.cost().clone(), life };
    account.counts(charge.cost())?;
    if account.promise().cuts(life) {
        charge.cost().partial()?;
    }
    let payer = (account.name(), account.promise());
    let terms = terms(&prepared.parameters(), (&schedule, late), payer, &charge, stated.as_ref());
    let identity = Digest::of_version(version, terms.digest());
    let title =
        Title { account: account.name().clone(), job: backend.job(), version: identity, name: name.clone() };
    let opened =
        Canonical::new("discreet opening 1").digest(&identity).number(life.start()).number(life.end());
    let waker = Waker::default();
    let (handle, memory) = backend.open(&name, version, &terms, waker.wake())?;
    if let Some(memory) = memory.as_ref().filter(|memory| !memory.is_foreign) {
        prepared.accepts(&memory.state)?;
    }
    let promise = account.promise().briefly(prepared.cost(), in_words).into();
    let (prepared, opened, schema) = (Arc::new(prepared), opened.finish(), schema.digest());
    let late = late.map_or(0, |late| late.as_microseconds());
    Ok((
        PreparedBundle { prepared, title, promise, charge, life, opened, schema, schedule, late },
        handle,
        waker,
    ))
}

impl<R: ReadyAnswers> QueryAnswering for PreparedBundle<R> {
    fn version(&self, question: &Query, given: Time) -> Result<u64, Invalid> {
        if question.schema() != self.schema {
            let remedy = "a question that was checked against the fields of this stream";
            return Err(Invalid::new("question", InvalidKind::Mixed, remedy));
        }
        if !self.prepared.serves(question.analyst()) {
            let remedy = "an analyst who has one";
            let refused = Invalid::new("analyst", InvalidKind::Mixed, remedy);
            return Err(refused.with_found("an analyst without a share of the bundle"));
        }
        if question.at() < given {
            let remedy = "a time that the questions' source has not declared complete before it asks";
            let refused = Invalid::new("at", InvalidKind::TooSmall, remedy);
            return Err(refused.with_found("a time that has passed"));
        }
        newest(&self.schedule, self.late, question.at()).ok_or_else(|| {
            let remedy = match self.schedule.window(0) {
                Some(first) => format!("{} or later", in_utc(first.end().saturating_add(self.late))),
                None => "a time at which it is".to_owned(),
            };
            let refused = Invalid::new("at", InvalidKind::TooSmall, remedy);
            refused.with_found("a time before the first window is over")
        })
    }

    fn window(&self, version: u64) -> Interval {
        self.schedule.window(version).unwrap_or(self.life)
    }

    fn needed_since(&self, asked: Option<Time>) -> Time {
        let Some(asked) = asked else { return Time::MAX };
        let newest = newest(&self.schedule, self.late, asked).unwrap_or(0);
        self.schedule.window(newest).map_or(Time::MAX, |window| window.start())
    }

    fn close(&self, version: u64) -> Time {
        // There is one of this number, or nobody waits.
        self.schedule.window(version).map_or(Time::MIN, |window| window.end() + self.late)
    }

    fn release(&self, question: &Query) -> ledger::ReleaseId {
        self.title.part(self.life, question.part())
    }

    fn request(&self, posed: Posed, found: MatchedTotals) -> ReleaseRequest {
        let release = self.release(&posed.question);
        let version = self.window(posed.version);
        let draw = QueryDraw {
            prepared: Arc::clone(&self.prepared),
            promise: Arc::clone(&self.promise),
            release: release.clone(),
            opened: self.opened,
            question: posed.question,
            version,
            found,
        };
        ReleaseRequest { release, charge: self.charge.clone(), sealable: Box::new(draw) }
    }
}

/// One question with what was counted for it, as the gate sees it.
struct QueryDraw<R> {
    prepared: Arc<R>,
    promise: Arc<str>,
    release: ledger::ReleaseId,
    opened: Digest,
    question: Query,
    version: Interval,
    found: MatchedTotals,
}

impl<R: ReadyAnswers> Sealable for QueryDraw<R> {
    fn keeps_state(&self) -> bool {
        true
    }

    fn draw(self: Box<Self>, state: Option<&[u8]>, noise: &mut NoiseSource) -> gate::DrawResult {
        let QueryDraw { prepared, promise, release, opened, question, version, found } = *self;
        // That of this version was accepted when the handle was opened; another statistic's, under the same
        // name, is no state.
        let state = state.filter(|state| prepared.accepts(state).is_ok());
        let drawn = prepared.draw(&question, found, version, opened, state, noise);
        let (id, window) = (release.id().to_string(), rows::window(release.window));
        let head =
            Head { release: release.name.as_str(), window: &window, id: &id, promise: &promise, gaps: "" };
        gate::DrawResult { line: drawn.answer.lines(&head), state: drawn.state, step: None, note: None }
    }
}

// The operator that counts: a question waits until the version that it names is complete, and then every
// worker says what it finds among its own people.

/// The number of queries that are counted in a turn: one may take some milliseconds.
const TURN: usize = 8;

/// Builds the operator that scans the records of each worker. Nothing is sent but that, so who waits for
/// which question is decided by questions and by what the sources declare.
pub(super) fn scanned<'scope, V: Versions>(
    posed: StreamVec<'scope, Time, (u64, Posed)>,
    updates: StreamVec<'scope, Time, V::Update>,
    mut versions: V,
    (schedule, late): (Schedule, i64),
) -> StreamVec<'scope, Time, ([u8; 32], MatchedTotals)> {
    let scope = posed.scope();
    let mut builder = OperatorBuilder::new("Count".to_owned(), scope);
    let mut questions = builder.new_input(posed, Exchange::new(|(worker, _): &(u64, Posed)| *worker));
    let mut updates = builder.new_input(updates, Pipeline);
    let (output, stream) = builder.new_output::<Vec<([u8; 32], MatchedTotals)>>();
    let mut output = OutputBuilder::<_, CapacityContainerBuilder<_>>::from(output);
    let activator = scope.activator_for(builder.operator_info().address);

    builder.build(move |_| {
        let mut waiting: BTreeMap<u64, VecDeque<(Posed, Capability<Time>)>> = BTreeMap::new();
        move |frontiers: &[MutableAntichain<Time>]| {
            let mut output = output.activate();
            questions.for_each(|capability, batch| {
                let Some(own) = capability.retain_least(0) else { return };
                for (_, posed) in batch.drain(..) {
                    waiting.entry(posed.version).or_default().push_back((posed, own.clone()));
                }
            });
            updates.for_each(|_, batch| versions.take(batch));
            let frontier = |input: usize| frontiers[input].frontier().first().copied();
            // Inputs that vanished have completed nothing.
            let Some(complete) = frontier(1) else { return };
            let mut left = TURN;
            while let Some(mut entry) = waiting.first_entry() {
                let closed =
                    schedule.window(*entry.key()).is_some_and(|window| window.end() + late <= complete);
                if !closed {
                    break;
                }
                let version = *entry.key();
                while left > 0
                    && let Some((posed, capability)) = entry.get_mut().pop_front()
                {
                    let found = versions.found(version, &posed.question);
                    output.session(&capability).give((posed.id, found));
                    left -= 1;
                }
                if !entry.get().is_empty() {
                    activator.activate();
                    return;
                }
                entry.remove();
            }
            // Whoever asks from now on names the version that is the newest at this time, or a later one.
            let asked = frontier(0).map_or(u64::MAX, |time| newest(&schedule, late, time).unwrap_or(0));
            let first = waiting.keys().next().map_or(asked, |first| asked.min(*first));
            versions.forget_before(first);
        }
    });
    stream
}

/// The last window that has closed at a time; none before the first has.
pub(super) fn newest(schedule: &Schedule, late: i64, time: Time) -> Option<u64> {
    schedule.first_ending_after(time.saturating_sub(late)).checked_sub(1)
}

// The versions of the data that questions may name: one a window that has closed.

/// The versions of the data that may still be queried, on one worker.
pub(super) trait Versions: 'static {
    /// The update by which a version is kept.
    type Update: Clone + 'static;

    /// Takes in what has changed.
    fn take(&mut self, updates: &mut Vec<Self::Update>);

    /// Returns the totals of the records that match a query, in a version that is complete.
    fn found(&mut self, version: u64, question: &Query) -> MatchedTotals;

    /// No question will be about a version before this one.
    fn forget_before(&mut self, version: u64);
}

/// Versions that have nothing in common, each in columns: where windows lie side by side and nothing is taken
/// back.
pub(super) struct Snapshots {
    steps: Steps,
    empty: ColumnStore,
    versions: BTreeMap<u64, ColumnStore>,
    first: u64,
}

impl Snapshots {
    pub(super) fn new(schema: &Schema, steps: Steps) -> Snapshots {
        Snapshots { steps, empty: ColumnStore::new(schema), versions: BTreeMap::new(), first: 0 }
    }
}

impl Versions for Snapshots {
    type Update = (u64, Portion<Vec<QueryRow>>);

    fn take(&mut self, updates: &mut Vec<Self::Update>) {
        for (version, portion) in updates.drain(..) {
            if version < self.first {
                continue;
            }
            let columns = self.versions.entry(version).or_insert_with(|| self.empty.clone());
            if let Portion::Part(rows) = portion {
                rows.iter().for_each(|row| columns.push(row));
            }
        }
    }

    fn found(&mut self, version: u64, question: &Query) -> MatchedTotals {
        self.versions
            .get(&version)
            .map_or_else(MatchedTotals::default, |columns| columns.found(question, &self.steps))
    }

    fn forget_before(&mut self, version: u64) {
        self.first = version.max(self.first);
        self.versions = self.versions.split_off(&self.first);
    }
}
