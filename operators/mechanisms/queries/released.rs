//! The answer of a query as typed values, read from the line in which it was sealed.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::accounting::Interval;
use crate::mechanisms::release_line::LineWindow;
use crate::time::{Time, moment};

/// The released answer of a query, or its refusal.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReleasedAnswer {
    /// The id of the query.
    pub question: String,
    /// The analyst who asked it.
    pub analyst: String,
    /// The time of the query.
    pub at: Time,
    /// The query in words: `count where age >= 18`.
    pub asked: String,
    /// The window whose records were counted.
    pub version: Interval,
    /// The answer; `None` where the bundle had none left for the analyst.
    pub estimate: Option<CertainEstimate>,
    /// The number of answers of the analyst's share that are used, this one among them.
    pub used: u64,
    /// The number of those that are left.
    pub left: u64,
}

/// A number whose interval holds the truth with certainty.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CertainEstimate {
    /// The noised number, in records or in units of the field.
    pub value: f64,
    /// The least that the truth may be.
    pub low: f64,
    /// The most that the truth may be.
    pub high: f64,
    /// The bound of the noise of a count, in records; of a mean, that of its sum, in units of the field.
    pub bound: f64,
}

impl ReleasedAnswer {
    /// Reads it from its line; `None` if the line is of no query.
    pub(crate) fn read(line: &str) -> Option<ReleasedAnswer> {
        let line: AnswerFields<'_> = serde_json::from_str(line).ok()?;
        let estimate = match (line.value, line.interval, line.noise) {
            (Some(value), Some([low, high]), Some(noise)) => {
                let [value, low, high] = [value, low, high].map(|number| number.get().parse().ok());
                Some(CertainEstimate { value: value?, low: low?, high: high?, bound: bound(noise.get())? })
            }
            _ => {
                line.refused?;
                None
            }
        };
        Some(ReleasedAnswer {
            question: line.question.into_owned(),
            analyst: line.analyst.into_owned(),
            at: moment(line.at)?,
            asked: line.asked.into_owned(),
            version: Interval::new(moment(line.version.start?)?, moment(line.version.end?)?).ok()?,
            estimate,
            used: line.used,
            left: line.left,
        })
    }
}

/// The bound of the first noise.
fn bound(noise: &str) -> Option<f64> {
    #[derive(Deserialize)]
    struct Bounded<'a> {
        #[serde(borrow)]
        bound: &'a RawValue,
    }
    let bounded: Bounded<'_> = if noise.starts_with('[') {
        serde_json::from_str::<Vec<Bounded<'_>>>(noise).ok()?.into_iter().next()?
    } else {
        serde_json::from_str(noise).ok()?
    };
    bounded.bound.get().parse().ok()
}

#[derive(Deserialize)]
struct AnswerFields<'a> {
    #[serde(borrow)]
    question: Cow<'a, str>,
    #[serde(borrow)]
    analyst: Cow<'a, str>,
    at: &'a str,
    #[serde(borrow)]
    asked: Cow<'a, str>,
    #[serde(borrow)]
    version: LineWindow<'a>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    #[serde(borrow)]
    interval: Option<[&'a RawValue; 2]>,
    #[serde(borrow)]
    noise: Option<&'a RawValue>,
    refused: Option<&'a str>,
    used: u64,
    left: u64,
}
