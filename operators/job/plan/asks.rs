//! The plan of a bundle of answers: its price, and how far an answer may be off.

use std::collections::BTreeMap;

use serde::Serialize;

use super::page::short;
use super::warnings::MANY;
use super::{PlannedCost, PlannedWindows, moment};
use crate::job::config::{AskSpec, Every, Job, Protected};
use crate::job::questions::AskPlan;
use crate::job::unfit::UnfitJob;

/// The plan of the questions of analysts, and of the bundle that answers them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlannedAsk {
    /// The name of the bundle.
    pub name: String,
    /// The version of the bundle: its own, or the job's.
    pub version: u32,
    /// The fields that can be asked about.
    pub fields: Vec<String>,
    /// The windows, of which a question is about the last one that is over.
    pub windows: PlannedWindows,
    /// The most records of a person in a window that count; 1 if the unit is a record.
    pub records: u64,
    /// The number of answers: a count takes one, a mean two.
    pub answers: u64,
    /// The number of answers for each analyst; empty if they are for those who ask first.
    pub analysts: BTreeMap<String, u64>,
    /// The largest error of a count, in records, which no answer exceeds.
    pub largest_error: f64,
    /// The standard deviation of a count's noise, in records.
    pub deviation: f64,
    /// The expected error of a count, where the size of the log was given.
    pub expected: Option<ExpectedAnswer>,
    /// The epsilon of all answers together.
    pub epsilon: f64,
    /// The delta of all answers together.
    pub delta: f64,
    /// The cost of all answers together in the account's currency, paid with the first.
    pub paid: PlannedCost,
}

/// The expected error of a count of all records of a window that count.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExpectedAnswer {
    /// The number of people in a window; of records, if the unit is a record.
    pub people: f64,
    /// The number of their records that count.
    pub records: f64,
    /// The largest error of a count of all of them, as a part of it.
    pub error: f64,
}

/// The error of a count from which on its bundle is worth a warning.
const LARGE: f64 = 0.1;

impl Job {
    /// Computes the expected error of a count of each bundle for this number of records and people from the first window to
    /// the last, who come at any time alike.
    ///
    /// # Errors
    ///
    /// If the job cannot be planned.
    pub fn expected_answers(&self, rows: u64, people: u64) -> Result<Vec<ExpectedAnswer>, UnfitJob> {
        let plans = self.ask_plans(self.horizon())?;
        let expected = |(plan, ask): (&AskPlan, &AskSpec)| {
            // The casts lose digits that nobody reads.
            let part = 1.0 / (plan.schedule.count() as f64).max(1.0);
            let (people, records) = match self.privacy.privacy_unit {
                Protected::Record => (rows as f64 * part, 1.0),
                Protected::Person { .. } => {
                    let each = rows as f64 / (people as f64).max(1.0);
                    let present = 1.0 - (1.0 - part).powf(each);
                    let records = each * part / present.max(f64::MIN_POSITIVE);
                    (people as f64 * present, records.min(ask.per_key.unwrap_or(1).into()))
                }
            };
            let records = people * records;
            ExpectedAnswer { people, records, error: plan.largest_error() / records.max(f64::MIN_POSITIVE) }
        };
        Ok(plans.iter().zip(&self.asks).map(expected).collect())
    }
}

impl PlannedAsk {
    pub(super) fn of(job: &Job, ask: &AskSpec, plan: &AskPlan, delta: Option<f64>) -> PlannedAsk {
        let schedule = &plan.schedule;
        let bounded = ask.every != Every::All || job.until.is_some();
        PlannedAsk {
            name: plan.name.as_str().to_owned(),
            version: plan.version,
            fields: ask.fields.keys().cloned().collect(),
            windows: PlannedWindows {
                every: ask.every.to_string(),
                over: None,
                from: schedule.window(0).and_then(|window| moment(window.start())),
                until: Some(plan.life.end()).filter(|_| bounded).and_then(moment),
                count: Some(schedule.count()),
                leaves_out: PlannedWindows::leave_out(
                    job,
                    schedule.window(0).map(|window| window.start()),
                    Some(plan.life.end()).filter(|_| bounded),
                ),
                weekday: PlannedWindows::weekday(ask.every),
            },
            records: ask.per_key.unwrap_or(1).into(),
            answers: ask.answers,
            analysts: ask.analysts.clone(),
            largest_error: plan.largest_error(),
            deviation: plan.deviation(),
            expected: None,
            epsilon: plan.price.epsilon,
            delta: plan.price.delta,
            paid: PlannedCost::of(&plan.price.paid, delta),
        }
    }

    /// Returns the warning about a bundle whose counts are useful for very many people alone, or for more records than a window
    /// is expected to have.
    pub fn warning(&self) -> Option<String> {
        let remedy = "give it fewer answers, a larger share or cost, or longer windows";
        let needed = self.records_for_a_tenth();
        match &self.expected {
            Some(ExpectedAnswer { people, records, error }) if *error > LARGE => Some(format!(
                "a count needs {needed} records for an error of at most a tenth, and a window is expected to have {} that count, of {} \
                 people; {remedy}",
                short(records.round()),
                short(people.round())
            )),
            Some(_) => None,
            None => {
                let people = needed.div_ceil(self.records.max(1));
                (people > MANY).then(|| {
                    format!(
                        "a count needs {needed} records for an error of at most a tenth, those of {people} people or more; {remedy}"
                    )
                })
            }
        }
    }

    /// Returns the number of questions that the bundle answers: with means alone, and with counts alone.
    pub fn questions(&self) -> [u64; 2] {
        if self.analysts.is_empty() {
            return [self.answers / 2, self.answers];
        }
        let sum = |of: fn(u64) -> u64| self.analysts.values().copied().map(of).fold(0, u64::saturating_add);
        [sum(|share| share / 2), sum(|share| share)]
    }

    /// Returns the number of records that match a count with a largest error of a tenth.
    pub fn records_for_a_tenth(&self) -> u64 {
        // The cast saturates.
        (self.largest_error * 10.0).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::LazyLock;

    use super::*;
    use crate::job::test_jobs::csv_job;

    static JOB: LazyLock<String> = LazyLock::new(|| csv_job("shop", 10, "epsilon = 8, delta = 1e-5", ASK));

    const ASK: &str = r#"
[[ask]]
name = "study"
every = "1 day"
fields = { age = "whole" }
bound = { per_key = 2 }
answers = 100
questions = "questions.jsonl"
cost = { epsilon = 1, delta = 1e-6 }
"#;

    fn job(text: &str) -> Job {
        Job::parse("job.toml", text).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    // Refutes an error that is not the stated bound over the records that count: those beyond the bound of a person do not, and
    // a person whose records are all in other windows has none.
    #[test]
    fn a_count_of_a_window_errs_by_the_bound() {
        let planned = job(&JOB).plan().unwrap().asks.remove(0);
        assert!(0.0 < planned.deviation && planned.deviation < planned.largest_error / 2.0, "{planned:?}");
        let expected = job(&JOB).expected_answers(1_000_000, 10_000).unwrap().remove(0);
        // Ten records a day of each person, of which two count.
        let people = 10_000.0 * (1.0 - 0.9f64.powi(100));
        assert!(
            (expected.people - people).abs() < 1e-6 && (expected.records - 2.0 * people).abs() < 1e-6,
            "{expected:?}"
        );
        assert!((expected.error - planned.largest_error / expected.records).abs() < 1e-12, "{expected:?}");
        // A person with one record is in one day.
        let expected = job(&JOB).expected_answers(10_000, 10_000).unwrap().remove(0);
        assert!(
            (expected.records - 1_000.0).abs() < 1e-6 && (expected.people - 1_000.0).abs() < 1e-6,
            "{expected:?}"
        );
        let records = JOB
            .replace("person = { field = \"who\", missing = \"drop\" }", "unit = \"record\"")
            .replace("bound = { per_key = 2 }\n", "");
        let expected = job(&records).expected_answers(10_000, 10).unwrap().remove(0);
        assert!((expected.records - 1_000.0).abs() < 1e-6, "{expected:?}");
    }

    // Refutes a bundle that asks for more people than a log has, and is planned without a word; and one that is warned of though
    // it suits the log.
    #[test]
    fn too_few_people_are_warned_of() {
        let warned = |text: &str| {
            let warnings = job(text).plan().unwrap().warnings;
            warnings.into_iter().find(|warning| warning.starts_with("ask[1], study: a count needs "))
        };
        assert_eq!(warned(&JOB), None);
        let dear = JOB.replace("epsilon = 1, delta = 1e-6", "epsilon = 0.01, delta = 1e-9");
        let words = warned(&dear).unwrap();
        assert!(words.contains(" people or more; give it fewer answers"), "{words}");
        let mut planned = job(&JOB).plan().unwrap().asks.remove(0);
        for (rows, is_warned) in [(10_000, true), (10_000_000, false)] {
            planned.expected = Some(job(&JOB).expected_answers(rows, rows / 10).unwrap().remove(0));
            let words = planned.warning();
            assert_eq!(words.is_some(), is_warned, "{planned:?}");
            assert!(words.is_none_or(|words| words.contains("a window is expected to have ")));
        }
    }
}
