//! What a plan says in words.

use crate::job::config::{Job, Number, Protected, Release, Statistic};
use crate::time::in_words;

/// What is told of a window.
pub(super) fn statistic(job: &Job, statistic: &Statistic) -> String {
    let people = if job.privacy.protected == Protected::Record { "records" } else { "people" };
    let by = statistic.grouping().map_or(String::new(), |grouping| format!(" of each {}", grouping.by));
    match statistic {
        Statistic::Count(_) => format!("how many records{by}"),
        Statistic::People(_) => format!("how many {people}{by}"),
        Statistic::Sum(measure, _) => {
            let range = range(measure.low, measure.high);
            format!("the sum of {}{by}, what each brings to it kept within {range}", measure.of)
        }
        Statistic::Mean(measure, _) => {
            format!(
                "the mean of {}{by}, each value kept within {}",
                measure.of,
                range(measure.low, measure.high)
            )
        }
        Statistic::Histogram { of, edges } => {
            format!("how many records have a {of} between each two of {} edges", edges.len())
        }
    }
}

fn range(low: Number, high: Number) -> String {
    format!("{low} and {high}")
}

/// How much one protected unit can matter.
pub(super) fn bound(job: &Job, release: &Release) -> String {
    let Protected::Person { field, .. } = &job.privacy.protected else {
        return "one record, in every window that holds its time".to_owned();
    };
    let counted =
        |count: u32, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    let mut words = format!("a person is one {field}");
    if let Some(keys) = release.bound.keys {
        words += &format!(", who counts in at most {} of a window", counted(keys, "key"));
    }
    match (&release.statistic, release.bound.per_key) {
        (Statistic::People(_), _) => words += ", once",
        (Statistic::Sum(..), _) => words += ", with all that they bring",
        (_, per_key) => words += &format!(", with {}", counted(per_key.unwrap_or(1), "record")),
    }
    if release.bound.keys.is_some() && !matches!(release.statistic, Statistic::People(_)) {
        words += if release.bound.keys == Some(1) { " in it" } else { " in each" };
    }
    if let Some(windows) = release.bound.windows {
        words += &format!(", and in {}, the first ones", counted(windows, "window"));
    }
    words
}

/// What is done again after a restart.
pub(super) fn restart(job: &Job) -> String {
    let late = job
        .source
        .late
        .map_or(String::new(), |late| format!(" and {}", in_words(late.as_microseconds().unsigned_abs())));
    let counters = match job.releases.iter().find_map(|release| release.bound.windows) {
        Some(_) => {
            " In how many windows each person has counted is kept in the ledger, sealed, and comes back."
        }
        None => "",
    };
    format!(
        "The records of windows that are not sealed are read again: a window's length{late}. \
         What is sealed stays as it was told and is not charged again.{counters}"
    )
}
