//! The plan of a bundle of answers: its price, and how far an answer may be off.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{PlannedCost, PlannedWindows, moment};
use crate::job::config::{AskSpec, Every, Job};
use crate::job::questions::AskPlan;

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
    /// The epsilon of all answers together.
    pub epsilon: f64,
    /// The delta of all answers together.
    pub delta: f64,
    /// The cost of all answers together in the account's currency, paid with the first.
    pub paid: PlannedCost,
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
            epsilon: plan.price.epsilon,
            delta: plan.price.delta,
            paid: PlannedCost::of(&plan.price.paid, delta),
        }
    }

    /// Returns the number of records that match a count with a largest error of a tenth.
    pub fn records_for_a_tenth(&self) -> u64 {
        // The cast saturates.
        (self.largest_error * 10.0).ceil() as u64
    }
}
