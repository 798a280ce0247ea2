//! The dataflow of a job, built from its release plans: the same pipeline that people write in Rust, from a
//! file.

use crossbeam_channel::Sender;

use super::demo::Demo;
use super::live::Ending;
use super::processes::OperatorNotice;
use crate::dataflow::{
    Bounded, Fed, Feeds, LeavingRelease, Owned, Private, ProtectedUnit, RunError, Schedule, Scope, Source,
    Windowed, Worker, each_of, hand_over,
};
use crate::gate::{Gate, InputReading};
use crate::job::questions::{AskPlan, QuestionInput};
use crate::job::release_group::{ReleaseFields, ReleaseGroup};
use crate::job::release_plan::ReleasePlan;
use crate::job::sources::{Id, PersonIdentity, SourceInput, SourcePart, SourceRecord};
use crate::job::statistics::{RecordTime, ReleaseFlow, StatisticFlow, StatisticTerms};
use crate::mechanisms::Bound;
use crate::mechanisms::queries::Query;
use crate::time::{Span, Time};

/// A job, ready to be built on every worker.
pub(crate) struct Graph {
    pub(crate) offers: Vec<ReleasePlan>,
    /// The bundles of answers, each with its questions.
    pub(crate) asks: Vec<(AskPlan, QuestionInput)>,
    pub(crate) groups: Vec<ReleaseGroup>,
    pub(crate) fields: ReleaseFields,
    pub(crate) shape: RecordFields,
    /// The budget account that pays.
    pub(crate) account: String,
    pub(crate) late: Option<Span>,
    /// True where nothing is released before the input has ended.
    pub(crate) at_end: bool,
    /// The time after which no record is in time for any window.
    pub(crate) last: Option<Time>,
    /// The way in which a live run reads.
    pub(crate) reading: InputReading,
    pub(crate) gate: Gate,
    pub(crate) demo: Option<Demo>,
    /// The channel that releases leave by.
    pub(crate) releases: Sender<LeavingRelease>,
    /// Called with each question that cannot be answered, and the reason.
    pub(crate) notice: Option<OperatorNotice>,
}

/// The optional fields of a job's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordFields {
    /// True where records carry a person: otherwise each record is protected by itself.
    pub(crate) person: bool,
    /// True where records carry an id: otherwise equal records are different.
    pub(crate) id: bool,
}

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
                let records = feeds.stream(scope, self.live(records));
                self.lay(
                    (scope, feeds),
                    records,
                    |records| records.protect(|record| record.person),
                    Windowed::bound,
                )
            }
            RecordFields { person: true, id: true } => {
                let records: SourcePart<Id, Id> = input.part(index);
                let records = feeds.stream(scope, self.live(records));
                self.lay(
                    (scope, feeds),
                    records,
                    |records| records.protect(|record| record.person).identified_by(|record| record.id),
                    Windowed::bound,
                )
            }
            RecordFields { person: false, id: false } => {
                let records: SourcePart<(), ()> = input.part(index);
                let records = feeds.stream(scope, self.live(records));
                self.lay((scope, feeds), records, Fed::protect_each, |windowed, _| windowed.one_by_one())
            }
            RecordFields { person: false, id: true } => {
                let records: SourcePart<(), Id> = input.part(index);
                let records = feeds.stream(scope, self.live(records));
                self.lay(
                    (scope, feeds),
                    records,
                    |records| records.protect_each().identified_by(|record| record.id),
                    |windowed, _| windowed.one_by_one(),
                )
            }
        })
    }

    /// The part of a worker, as a live run reads it.
    fn live<S: Source>(&self, records: S) -> Ending<S> {
        Ending::after(self.last, records).reading_as(self.reading.clone())
    }

    fn lay<'scope, P: PersonIdentity, I: PersonIdentity, U: Owned<SourceRecord<P, I>>>(
        &self,
        (scope, feeds): (Scope<'scope, Time>, &mut Feeds),
        records: Fed<'scope, SourceRecord<P, I>>,
        protect: impl Fn(Fed<'scope, SourceRecord<P, I>>) -> Private<'scope, SourceRecord<P, I>, U>,
        bound: impl Fn(
            Windowed<'scope, SourceRecord<P, I>, U, RecordTime<P, I>>,
            Bound,
        ) -> Bounded<'scope, SourceRecord<P, I>, U, RecordTime<P, I>>,
    ) -> Result<(), RunError> {
        let bounded = |schedule: &Schedule, limits: Bound| {
            let time: RecordTime<P, I> = |record| record.time;
            let mut windowed = protect(records.clone()).scheduled(schedule.clone(), time);
            if let Some(late) = self.late {
                windowed = windowed.late(late);
            }
            if self.at_end {
                windowed = windowed.at_the_end();
            }
            bound(windowed, limits)
        };
        for (ask, questions) in &self.asks {
            let asked = feeds.stream(scope, questions.part(scope.index()));
            self.answer(bounded(&ask.schedule, ask.bound), ask, (asked, questions.clone()));
        }
        for group in &self.groups {
            let bounded = bounded(&group.schedule, group.bound);
            for &at in &group.plans {
                self.release(&bounded, at)?;
            }
        }
        Ok(())
    }

    /// Answers questions about the records.
    fn answer<'scope, P: PersonIdentity, I: PersonIdentity, U: Owned<SourceRecord<P, I>>>(
        &self,
        bounded: Bounded<'scope, SourceRecord<P, I>, U, RecordTime<P, I>>,
        ask: &AskPlan,
        (asked, questions): (Fed<'scope, Query>, QuestionInput),
    ) {
        let answering = bounded
            .answer(ask.schema.clone(), ask.row(&self.fields), asked)
            .charged_to(&self.account)
            .version(ask.version)
            .stating(ask.stated.clone());
        let answering = match &self.demo {
            Some(demo) => answering.shown_in_a_demo(demo.totals(&ask.name)),
            None => answering,
        };
        let replies = answering.release(&self.gate, ask.name.as_str(), ask.bundle.clone());
        let (sender, of_file, heard) = (self.releases.clone(), questions.clone(), self.notice.clone());
        let version = ask.version_digest();
        hand_over(replies.releases, move |release| {
            // The same id has another answer in a former version.
            let is_own = release.row().release().version == version;
            let words = is_own.then(|| of_file.answered(release.row())).flatten();
            if let Some((notice, words)) = heard.as_ref().zip(words) {
                notice(&words);
            }
            // The receiver of releases exists until the run is over.
            _ = sender.send(release);
        });
        let notice = self.notice.clone();
        each_of(replies.unanswered, move |unanswered| {
            if !questions.unanswered(&unanswered)
                && let Some(notice) = &notice
            {
                notice(&unanswered.to_string());
            }
        });
    }

    fn release<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        bounded: &Bounded<'_, SourceRecord<P, I>, U, RecordTime<P, I>>,
        at: usize,
    ) -> Result<(), RunError> {
        let Some(offer) = self.offers.get(at) else { return Ok(()) };
        offer.statistic.lay(&ReleaseFlow {
            bounded,
            terms: StatisticTerms {
                limits: *bounded.limits(),
                keys: &offer.keys,
                point: offer.point(),
                running: offer.running,
                windows: offer.windows(),
                rollup: offer.is_rolled_up(),
                noise: &offer.noise,
            },
            key: self.fields.key(offer),
            parts: offer.statistic.grouping().map_or(0, |grouping| grouping.by.len()),
            values: self.fields.values(offer),
            name: offer.name.as_str(),
            account: &self.account,
            version: offer.version,
            version_terms: &offer.version_terms,
            gate: &self.gate,
            releases: &self.releases,
            demo: self.demo.as_ref().map(|demo| (demo.secret, demo.exact(at))),
        })
    }
}
