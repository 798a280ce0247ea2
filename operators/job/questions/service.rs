//! Questions of analysts who wait for their answers, as over HTTP.
//!
//! ```text
//! ask ─▶ queue ─▶ QuestionPart (worker 0) ─▶ gate ─▶ line, at its public tick ─▶ delivered ─▶ the analyst who waits
//! ```
//!
//! A question takes the way of one from a file, and its answer leaves with the same line at the same time: an analyst who waits
//! learns nothing earlier than a reader of the output. Nothing is kept here that is not in the ledger: after a restart the
//! analyst asks once more under the same id, and gets the answer that was sealed, or a first one.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::ask_plan::AskPlan;
use crate::dataflow::{LeavingRelease, Unanswered};
use crate::ledger::{Digest, Name};
use crate::mechanisms::queries::{Query, Schema};
use crate::mechanisms::release_line::{ReleaseLine, Says};
use crate::time::Time;

/// The questions that an analyst may ask at once, and in each further second.
const AT_ONCE: f64 = 20.0;
const A_SECOND: f64 = 10.0;

/// The most questions that wait for their answers.
const WAITING: usize = 10_000;

/// The most questions of one analyst that wait for their answers.
const WAITING_OF_ONE: u32 = 100;

/// The most answers that are kept for analysts who ask again.
const KEPT: usize = 10_000;

/// The most questions of one analyst that a run records as refused, each a row of the ledger.
const REFUSED: u32 = 1_000;

/// The questions of a live run that are asked over HTTP. Clones are the same service.
#[derive(Clone, Default)]
pub struct QuestionService(Arc<SharedService>);

#[derive(Default)]
struct SharedService {
    state: Mutex<ServiceState>,
    changed: Condvar,
}

#[derive(Default)]
struct ServiceState {
    /// The bundles in the order of the job file; empty until the run begins.
    bundles: Vec<ServedBundle>,
    /// The reason for which no more is answered.
    over: Option<&'static str>,
    questions: HashMap<(usize, Digest), WaitingQuestion>,
    /// The questions that have their outcome, in the order in which they got it.
    settled: VecDeque<(usize, Digest)>,
    analysts: HashMap<(usize, String), AskingAnalyst>,
}

struct ServedBundle {
    name: Name,
    schema: Schema,
    /// The lines that no worker has taken yet, each with its analyst.
    queue: Vec<(String, String)>,
    /// The reason for which this bundle answers no more.
    closed: Option<&'static str>,
}

/// A question with its outcome, once it has one.
struct WaitingQuestion {
    analyst: String,
    /// Its normal form; once it has an answer, that of the question that the ledger has under this id.
    text: String,
    outcome: Option<AskOutcome>,
}

/// The outcome of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskOutcome {
    /// The released line.
    Answered(String),
    /// The released line of a question that the bundle or the budget has refused.
    Refused(String),
    /// No answer yet: the same question may be asked again, and waits on.
    Waits,
    /// The text is no question, or one that cannot be answered, for this reason.
    Invalid(String),
    /// The id is that of another question, with this text.
    OtherQuestion(String),
    /// The analyst asks too often.
    TooMany,
    /// The run does not answer now.
    Unavailable(AskUnavailable),
}

/// The reason for which a run does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskUnavailable {
    /// The run has not begun, or others wait: later it may.
    Now(&'static str),
    /// It ends, or has no window left.
    Over(&'static str),
}

/// The questions of an analyst.
struct AskingAnalyst {
    rate: AskingRate,
    waiting: u32,
    refused: u32,
}

/// The allowance of an analyst: it fills by [`A_SECOND`], up to [`AT_ONCE`].
struct AskingRate {
    left: f64,
    at: Instant,
}

impl AskingRate {
    fn take(&mut self, now: Instant) -> bool {
        let filled = now.duration_since(self.at).as_secs_f64() * A_SECOND;
        (self.left, self.at) = ((self.left + filled).min(AT_ONCE), now);
        let is_left = self.left >= 1.0;
        if is_left {
            self.left -= 1.0;
        }
        is_left
    }
}

impl QuestionService {
    /// Makes the service of a run that has not begun.
    pub fn new() -> QuestionService {
        QuestionService::default()
    }

    /// Asks a question of the bundle with this index on behalf of an analyst, and waits for its answer for this long at
    /// most. The line is one of a file of questions, without the analyst.
    pub fn ask(&self, bundle: usize, analyst: &str, line: &str, patience: Duration) -> AskOutcome {
        let until = Instant::now() + patience;
        let mut state = self.state();
        let (key, text) = match state.asks(bundle, analyst, line) {
            Ok(asked) => asked,
            Err(outcome) => return outcome,
        };
        loop {
            // It is there until it is settled, and long after.
            let Some(asked) = state.questions.get(&key) else { return AskOutcome::Waits };
            if asked.text != text {
                return AskOutcome::OtherQuestion(asked.text.clone());
            }
            if let Some(outcome) = &asked.outcome {
                return outcome.clone();
            }
            if let Some(why) = state.over {
                return AskOutcome::Unavailable(AskUnavailable::Over(why));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return AskOutcome::Waits;
            }
            let waited = self.0.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Begins to answer by these bundles.
    pub(in crate::job) fn begin(&self, asks: &[AskPlan]) {
        let bundle = |ask: &AskPlan| ServedBundle {
            name: ask.name.clone(),
            schema: ask.schema.clone(),
            queue: Vec::new(),
            closed: None,
        };
        self.state().bundles = asks.iter().map(bundle).collect();
    }

    /// Ends: nobody waits any more.
    pub(in crate::job) fn end(&self) {
        self.state().over = Some("the run has ended");
        self.0.changed.notify_all();
    }

    /// Returns the questions of one bundle, for its input.
    pub(in crate::job) fn questions(&self, bundle: usize) -> AskedQuestions {
        AskedQuestions { service: self.clone(), bundle }
    }

    /// Passes a release on that has left; any other than an answer changes nothing.
    pub(in crate::job) fn delivered(&self, release: &LeavingRelease) {
        let Some(part) = release.row().release().part else { return };
        let line = release.line().lines().next().unwrap_or_default();
        let bundle = self.state().bundles.iter().position(|served| served.name == *release.name());
        if let Some(bundle) = bundle {
            let (outcome, text) = outcome_of(line);
            self.settle((bundle, part), outcome, text);
        }
    }

    /// Gives a question its outcome, and the text that the ledger has under its id, if the outcome has one.
    fn settle(&self, key: (usize, Digest), outcome: AskOutcome, text: Option<String>) -> bool {
        let mut state = self.state();
        let Some(asked) = state.questions.get_mut(&key) else { return false };
        let is_new = asked.outcome.is_none();
        if is_new {
            let (analyst, is_refused) =
                ((key.0, asked.analyst.clone()), matches!(outcome, AskOutcome::Refused(_)));
            asked.text = text.unwrap_or_else(|| std::mem::take(&mut asked.text));
            asked.outcome = Some(outcome);
            state.settled.push_back(key);
            if let Some(analyst) = state.analysts.get_mut(&analyst) {
                analyst.waiting -= 1;
                analyst.refused += u32::from(is_refused);
            }
        }
        while state.settled.len() > KEPT
            && let Some(oldest) = state.settled.pop_front()
        {
            state.questions.remove(&oldest);
        }
        drop(state);
        self.0.changed.notify_all();
        is_new
    }

    fn state(&self) -> MutexGuard<'_, ServiceState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for QuestionService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QuestionService")
    }
}

impl ServiceState {
    /// Adds a question to those that wait, unless it is there; returns its key.
    fn asks(
        &mut self,
        bundle: usize,
        analyst: &str,
        line: &str,
    ) -> Result<((usize, Digest), String), AskOutcome> {
        let unavailable = |why| Err(AskOutcome::Unavailable(why));
        if let Some(why) = self.over {
            return unavailable(AskUnavailable::Over(why));
        }
        let waiting = self.questions.len() - self.settled.len();
        let Some(served) = self.bundles.get_mut(bundle) else {
            return unavailable(AskUnavailable::Now("the run begins"));
        };
        let now = Instant::now();
        let own = self.analysts.entry((bundle, analyst.to_owned())).or_insert_with(|| {
            let rate = AskingRate { left: AT_ONCE, at: now };
            AskingAnalyst { rate, waiting: 0, refused: 0 }
        });
        if !own.rate.take(now) {
            return Err(AskOutcome::TooMany);
        }
        // The time of a question without one is that at which a worker takes it.
        let question = served.schema.question_by(analyst, line, Time::MAX);
        let question = question.map_err(|refused| AskOutcome::Invalid(refused.to_string()))?;
        let (key, text) = ((bundle, question.part()), question.text());
        match self.questions.get(&key) {
            Some(former) if former.text != text => {
                return Err(AskOutcome::OtherQuestion(former.text.clone()));
            }
            // A question that could not be answered may be asked with another time.
            Some(WaitingQuestion { outcome: Some(AskOutcome::Invalid(_)), .. }) => {
                self.settled.retain(|settled| *settled != key);
            }
            Some(_) => return Ok((key, text)),
            None => {}
        }
        if let Some(why) = served.closed {
            return unavailable(AskUnavailable::Over(why));
        }
        if own.refused >= REFUSED {
            return unavailable(AskUnavailable::Over(
                "1,000 questions of this analyst were refused in this run",
            ));
        }
        if waiting >= WAITING || own.waiting >= WAITING_OF_ONE {
            return unavailable(AskUnavailable::Now("too many questions wait"));
        }
        own.waiting += 1;
        served.queue.push((analyst.to_owned(), line.to_owned()));
        let waiting = WaitingQuestion { analyst: analyst.to_owned(), text: text.clone(), outcome: None };
        self.questions.insert(key, waiting);
        Ok((key, text))
    }
}

/// Returns the outcome that a released line is, and the text of its question, if the line has it.
fn outcome_of(line: &str) -> (AskOutcome, Option<String>) {
    let gap = "at: records of that window are missing, so nothing is answered about it; give another time, and an id of its own";
    match ReleaseLine::read(line).map(|line| line.says) {
        Some(Says::Answer(answer)) if answer.cell.is_some() => {
            (AskOutcome::Answered(line.to_owned()), Some(answer.asked.into_owned()))
        }
        Some(Says::Answer(answer)) => (AskOutcome::Refused(line.to_owned()), Some(answer.asked.into_owned())),
        Some(Says::Never(..)) => (AskOutcome::Invalid(gap.to_owned()), None),
        _ => (AskOutcome::Refused(line.to_owned()), None),
    }
}

/// The questions of one bundle that are asked over HTTP, for its input.
#[derive(Clone)]
pub(crate) struct AskedQuestions {
    service: QuestionService,
    bundle: usize,
}

impl AskedQuestions {
    /// Takes the questions that were asked; those without a time are asked now.
    pub(super) fn take(&self, now: Time) -> Vec<Query> {
        let mut state = self.service.state();
        let Some(served) = state.bundles.get_mut(self.bundle) else { return Vec::new() };
        let queue = std::mem::take(&mut served.queue);
        // Each was read before without a mistake.
        let read = |(analyst, line): (String, String)| served.schema.question_by(&analyst, &line, now).ok();
        queue.into_iter().filter_map(read).collect()
    }

    /// Passes the reason on for which a question is not answered; returns false if nobody waits for it.
    pub(in crate::job) fn unanswered(&self, unanswered: &Unanswered) -> bool {
        let why = AskOutcome::Invalid(unanswered.why().to_string());
        self.service.settle((self.bundle, unanswered.question().part()), why, None)
    }

    /// Answers no more of them, for this reason.
    pub(super) fn close(&self, why: &'static str) {
        if let Some(served) = self.service.state().bundles.get_mut(self.bundle) {
            served.closed = Some(why);
        }
    }
}

#[cfg(test)]
mod tests;
