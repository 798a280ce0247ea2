//! What worker 0 alone has: the desk, what was kept there, and how an answer becomes a row.

use std::sync::Arc;

use super::super::binding::terms;
use super::super::office::StatisticBackend;
use super::scan::newest;
use crate::accounting::Interval;
use crate::canonical::Canonical;
use crate::dataflow::driver::RunError;
use crate::dataflow::release::{Posed, QueryAnswering, ReleaseBackend, Title, Waker};
use crate::dataflow::windows::Schedule;
use crate::gate::{self, ReleaseRequest, Sealable};
use crate::invalid::{Invalid, InvalidKind};
use crate::ledger::{self, Charge, Digest, Name, lines};
use crate::mechanisms::answers::{MatchedTotals, Query, ReadyAnswers, Schema};
use crate::mechanisms::{ContributionBound, Head, Tellable};
use crate::noise::NoiseSource;
use crate::time::{Span, Time, in_words};

/// A bundle of answers that is ready, with what its releases have in common.
pub(super) struct PreparedBundle<R> {
    ready: Arc<R>,
    title: Title,
    promise: Arc<str>,
    charge: Charge,
    /// The time that is paid for.
    life: Interval,
    /// Which opening of the bundle it is: counts of answers are kept for each.
    opened: Digest,
    schema: Digest,
    schedule: Schedule,
    late: i64,
}

/// Opens the desk, if nothing speaks against it.
pub(super) fn seated<R: ReadyAnswers>(
    office: &dyn StatisticBackend,
    domain: Option<&str>,
    name: Name,
    ready: R,
    limits: &ContributionBound,
    schema: &Schema,
    (schedule, late): (Schedule, Option<Span>),
) -> Result<(PreparedBundle<R>, Box<dyn ReleaseBackend>, Waker), RunError> {
    if !schedule.is_bounded() {
        let remedy = "`between`, with an end: a bundle is paid for once, against all of its time";
        return Err(Invalid::new("until", InvalidKind::Missing, remedy).into());
    }
    let domain = office.domain(domain, limits.unit())?;
    let life = schedule.life()?;
    let charge = Charge::Once { cost: ready.cost().clone(), life };
    domain.counts(charge.cost())?;
    if domain.promise().cuts(life) {
        charge.cost().partial()?;
    }
    let account = (domain.name(), domain.promise());
    let terms = terms(&ready.parameters(), (&schedule, late), account, &charge, None);
    let version = office.version(terms.digest());
    let title = Title { domain: domain.name().clone(), job: office.job(), version, name: name.clone() };
    let opened =
        Canonical::new("discreet opening 1").digest(&version).number(life.start()).number(life.end());
    let waker = Waker::default();
    let (desk, memory) = office.open(&name, &terms, waker.wake())?;
    if let Some(memory) = memory.as_ref().filter(|memory| !memory.is_foreign) {
        ready.accepts(&memory.state)?;
    }
    let promise = domain.promise().briefly(ready.cost(), in_words).into();
    let (ready, opened, schema) = (Arc::new(ready), opened.finish(), schema.digest());
    let late = late.map_or(0, |late| late.as_microseconds());
    Ok((PreparedBundle { ready, title, promise, charge, life, opened, schema, schedule, late }, desk, waker))
}

impl<R: ReadyAnswers> QueryAnswering for PreparedBundle<R> {
    fn version(&self, question: &Query, given: Time) -> Result<u64, Invalid> {
        if question.schema() != self.schema {
            let remedy = "a question that was checked against the fields of this stream";
            return Err(Invalid::new("question", InvalidKind::Mixed, remedy));
        }
        if !self.ready.serves(question.analyst()) {
            return Err(Invalid::new(
                "analyst",
                InvalidKind::Mixed,
                "an analyst who has a share of the bundle",
            ));
        }
        if question.at() < given {
            let remedy = "a time that the questions' source has not declared complete before it asks";
            return Err(Invalid::new("at", InvalidKind::TooSmall, remedy));
        }
        newest(&self.schedule, self.late, question.at()).ok_or_else(|| {
            Invalid::new("at", InvalidKind::TooSmall, "a time at which the first window has closed, or later")
        })
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
        let version = self.schedule.window(posed.version).unwrap_or(self.life);
        let draw = QueryDraw {
            ready: Arc::clone(&self.ready),
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
    ready: Arc<R>,
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
        let QueryDraw { ready, promise, release, opened, question, version, found } = *self;
        // That of this version was accepted when the desk was opened; another statistic's, under the same name, is no state.
        let state = state.filter(|state| ready.accepts(state).is_ok());
        let drawn = ready.draw(&question, found, version, opened, state, noise);
        let (id, window) = (release.id().to_string(), lines::window(release.window));
        let head = Head { release: release.name.as_str(), window: &window, id: &id, promise: &promise };
        gate::DrawResult { line: drawn.answer.tell(&head), state: drawn.state, note: None }
    }
}
