//! The questions of a file that cannot be answered, as far as that is known before a run: by the analysts and the answers of the
//! job file, by the times of the questions, and by the rows that the ledger has.
//!
//! Questions are public, and so is the number of answers that a bundle has used. Nothing here depends on a record.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{AskPlan, QuestionInput};
use crate::canonical::Digest;
use crate::job::config::{AskSpec, Job};
use crate::job::unfit::UnfitJob;
use crate::ledger::Row;
use crate::mechanisms::queries::{Query, ReleasedAnswer};
use crate::time::{Span, Time, in_utc};

/// The most questions of a bundle that are named.
const NAMED: usize = 20;

/// The rows of a ledger about the questions of one bundle.
#[derive(Default)]
pub(crate) struct AnsweredQuestions {
    /// True of a question that has an answer, and false of one that the bundle has refused, by its identity.
    outcomes: HashMap<Digest, bool>,
    /// The number of answers that are used, as the newest line of each analyst has it.
    used: BTreeMap<String, u64>,
}

impl AnsweredQuestions {
    /// Adds a row, unless it is of another bundle, or of another time that was paid for.
    pub(crate) fn add(&mut self, ask: &AskPlan, row: &Row) {
        let release = row.release();
        let version = ask.version_digest();
        let is_own = release.name == ask.name && release.version == version && release.window == ask.life;
        let lines = row.lines();
        let answer = lines.lines().next().filter(|_| is_own).and_then(ReleasedAnswer::read);
        let Some((part, answer)) = release.part.zip(answer) else { return };
        self.outcomes.insert(part, answer.estimate.is_some());
        let used = self.used.entry(answer.analyst).or_default();
        *used = (*used).max(answer.used);
    }
}

impl Job {
    /// Returns a warning for each question of a file that cannot be answered, by the job file alone:
    /// [`connect`](Job::connect) heeds the answers of the ledger too.
    ///
    /// # Errors
    ///
    /// If the job cannot be planned.
    pub fn unanswerable_questions(&self) -> Result<Vec<String>, UnfitJob> {
        let asks = self.with_questions(&self.ask_plans(self.horizon())?);
        let answered: Vec<AnsweredQuestions> = asks.iter().map(|_| AnsweredQuestions::default()).collect();
        Ok(self.unanswerable(&asks, &answered))
    }

    /// Returns a warning for each question that cannot be answered beside the rows of the ledger.
    pub(in crate::job) fn unanswerable(
        &self,
        asks: &[(AskPlan, QuestionInput)],
        answered: &[AnsweredQuestions],
    ) -> Vec<String> {
        let late = self.source.late.map_or(0, Span::as_microseconds);
        let bundles = self.asks.iter().zip(asks).zip(answered).enumerate();
        let bundles = bundles.map(|(index, ((spec, (plan, questions)), answered))| {
            let place = format!("ask[{}]", index + 1);
            let bundle = CheckedBundle { place, spec, plan, late, answered };
            bundle.unanswerable(questions)
        });
        bundles.flatten().collect()
    }
}

/// A bundle whose questions are checked.
struct CheckedBundle<'a> {
    /// The place of the bundle in the job file, as in `ask[1]`.
    place: String,
    spec: &'a AskSpec,
    plan: &'a AskPlan,
    /// The lateness of the source, in microseconds.
    late: Time,
    answered: &'a AnsweredQuestions,
}

impl CheckedBundle<'_> {
    fn unanswerable(&self, questions: &QuestionInput) -> Vec<String> {
        let QuestionInput::Whole(whole) = questions else { return Vec::new() };
        let Some(path) = whole.path() else { return Vec::new() };
        let newest =
            |at: Time| self.plan.schedule.first_ending_after(at.saturating_sub(self.late)).checked_sub(1);
        let mut known = HashSet::new();
        let once = whole.numbered().filter(|(question, _)| known.insert(question.part()));
        let mut asked: Vec<(Option<u64>, u64, &Query)> =
            once.map(|(question, line)| (newest(question.at()), line, question)).collect();
        // Answers are given in the order of their windows, and of one window in that of the file.
        asked.sort_by_key(|(window, line, _)| (*window, *line));
        let mut used = HashMap::new();
        let mut found: Vec<(u64, String)> = Vec::new();
        for (window, line, question) in asked {
            if let Some(why) = self.mistake(question, window, &mut used) {
                let (path, id, analyst) = (path.display(), question.id(), question.analyst());
                found.push((line, format!("{path}:{line}: question {id} of {analyst}: {why}")));
            }
        }
        found.sort();
        let more = found.len().saturating_sub(NAMED);
        let named = found.into_iter().take(NAMED).map(|(_, warning)| warning);
        let path = path.display();
        let rest = (more > 0).then(|| match more {
            1 => format!("{path}: and 1 question more that cannot be answered"),
            more => format!("{path}: and {more} questions more that cannot be answered"),
        });
        named.chain(rest).collect()
    }

    /// Returns the reason for which a question has no answer. Of one that has an answer, the answers that it takes are added to
    /// those that its share has used.
    fn mistake<'q>(
        &self,
        question: &'q Query,
        window: Option<u64>,
        used: &mut HashMap<&'q str, u64>,
    ) -> Option<String> {
        let CheckedBundle { place, spec, .. } = self;
        let analyst = question.analyst();
        // Without shares all answers are of one share.
        let (share, answers, whose, field) = match spec.analysts.get(analyst) {
            Some(answers) => (analyst, *answers, format!("that {analyst} has"), "analysts"),
            None if spec.analysts.is_empty() => ("", spec.answers, "of the bundle".to_owned(), "answers"),
            None => {
                let one = spec.analysts.keys().next().map(String::as_str).unwrap_or_default();
                return Some(format!(
                    "analyst: found an analyst without a share of the bundle; give one of {place}.analysts, such as {one}"
                ));
            }
        };
        if window.is_none() {
            let over = self.plan.schedule.window(0).map(|window| window.end().saturating_add(self.late));
            let over = over.map_or_else(|| "the end of a window".to_owned(), in_utc);
            return Some(format!("at: found a time before the first window is over; give {over} or later"));
        }
        match self.answered.outcomes.get(&question.part()) {
            Some(true) => return None,
            Some(false) => {
                return Some(
                    "id: found that of a question that was refused, as the bundle had too few answers left; leave it out, for it \
                     stays refused"
                        .to_owned(),
                );
            }
            None => {}
        }
        let before = || match share {
            "" => self.answered.used.values().copied().max(),
            analyst => self.answered.used.get(analyst).copied(),
        };
        let used = used.entry(share).or_insert_with(|| before().unwrap_or(0));
        if used.saturating_add(question.takes()) <= answers {
            *used += question.takes();
            return None;
        }
        Some(format!(
            "found too few answers left of the {answers} {whose} (a count takes one, a mean two); leave it out, or raise \
             {place}.{field}, which is a new version once an answer was given"
        ))
    }
}
