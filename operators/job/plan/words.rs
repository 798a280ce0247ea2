//! The parts of a plan that are text.

use crate::job::config::{
    ConfigNumber, GridSpec, Job, MaximumOf, Protected, QuantilesSpec, ReleaseSpec, StatisticSpec,
};
use crate::time::in_words;

/// Describes the statistic of a window, or of several.
pub(super) fn statistic(job: &Job, release: &ReleaseSpec) -> String {
    let told = of_windows(job, &release.statistic);
    match (release.running, release.total_windows()) {
        (None, _) => told,
        (Some(_), None) => format!("so far, {told}"),
        (Some(_), Some(1)) => format!("in each window, {told}"),
        (Some(_), Some(windows)) => format!("in the last {windows} windows, {told}"),
    }
}

fn of_windows(job: &Job, statistic: &StatisticSpec) -> String {
    let people = if job.privacy.privacy_unit == Protected::Record { "records" } else { "people" };
    let by = statistic.grouping().map_or(String::new(), |grouping| format!(" of each {}", grouping.by));
    match statistic {
        StatisticSpec::Count(_) => format!("how many records{by}"),
        StatisticSpec::People(_) => format!("how many {people}{by}"),
        StatisticSpec::Sum(measure, _) => {
            let range = range(measure.low, measure.high);
            format!("the sum of {}{by}, what each brings to it kept within {range}", measure.of)
        }
        StatisticSpec::Mean(measure, _) => {
            format!(
                "the mean of {}{by}, each value kept within {}",
                measure.of,
                range(measure.low, measure.high)
            )
        }
        StatisticSpec::Histogram { of, edges } => {
            format!("how many records have a {of} between each two of {} edges", edges.len())
        }
        StatisticSpec::Max { each, grid, .. } => max(job, each, &by, grid),
        StatisticSpec::Quantile(quantiles, _) => quantile(quantiles, &by),
    }
}

fn max(job: &Job, each: &MaximumOf, by: &str, answers: &GridSpec) -> String {
    let one = if job.privacy.privacy_unit == Protected::Record { "record" } else { "person" };
    let what = match each {
        MaximumOf::Greatest(of) => format!("the largest {of}{by}"),
        MaximumOf::Sum(of) => format!("the largest sum of {of} of one {one}{by}"),
        MaximumOf::Count => format!("the most records of one {one}{by}"),
    };
    format!("{what}, among {}", grid(answers))
}

fn grid(grid: &GridSpec) -> String {
    // A logarithmic grid has sixteen answers in each doubling.
    match grid {
        GridSpec::Log(0) => "whole numbers from 0 on, 4.5% apart".to_owned(),
        GridSpec::Log(digits) => {
            format!("numbers from 0 on, 4.5% apart, in steps of {}", ConfigNumber::power(-digits))
        }
        GridSpec::SignedLog => "whole numbers on both sides of 0, 4.5% apart".to_owned(),
        GridSpec::Steps { from, to, step } => format!("numbers from {from} to {to} in steps of {step}"),
        GridSpec::List(answers) => format!("{} numbers that are listed", answers.len()),
    }
}

fn quantile(quantiles: &QuantilesSpec, by: &str) -> String {
    let QuantilesSpec { of, q, low, high, step } = quantiles;
    let parts: Vec<String> = q.iter().map(ToString::to_string).collect();
    let (s, parts) = (if parts.len() == 1 { "" } else { "s" }, listed(&parts));
    let steps = step.map_or(String::new(), |step| format!(" in steps of {step}"));
    format!("the quantile{s} {parts} of {of}{by}, from {low} to {high}{steps}")
}

/// Joins words as `a`, `a and b`, `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [first @ .., before, last] if !first.is_empty() => {
            format!("{}, {before} and {last}", first.join(", "))
        }
        _ => words.join(" and "),
    }
}

fn range(low: ConfigNumber, high: ConfigNumber) -> String {
    format!("{low} and {high}")
}

/// Describes the contribution bound of one protected unit.
pub(super) fn bound(job: &Job, release: &ReleaseSpec) -> String {
    let Protected::Person { field, .. } = &job.privacy.privacy_unit else {
        return "one record, in every window that holds its time".to_owned();
    };
    let counted =
        |count: u32, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    let mut words = format!("a person is one {field}");
    let runs = release.running.is_some();
    if let Some(keys) = release.bound.keys {
        let of = if runs { "" } else { " of a window" };
        words += &format!(", who counts in at most {}{of}", counted(keys, "key"));
    }
    match (&release.statistic, release.bound.per_key) {
        (StatisticSpec::Sum(measure, _), _) if runs => {
            let most = measure.low.size().max(measure.high.size());
            words += &format!(", with values of {most} together, without their signs");
        }
        (StatisticSpec::People(_), _) => words += ", once",
        (StatisticSpec::Sum(..), _) => words += ", with all that they bring",
        (StatisticSpec::Max { .. }, _) => words += ", with one value",
        (_, per_key) => words += &format!(", with {}", counted(per_key.unwrap_or(1), "record")),
    }
    if release.bound.keys.is_some() && !matches!(release.statistic, StatisticSpec::People(_)) {
        words += if release.bound.keys == Some(1) { " in it" } else { " in each" };
    }
    if runs {
        words += ", over all windows together: the first ones";
    }
    if let Some(windows) = release.bound.windows {
        words += &format!(", and in {}, the first ones", counted(windows, "window"));
    }
    words
}

/// Describes the work that is repeated after a restart.
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
    let running = match job.releases.iter().any(|release| release.running.is_some()) {
        true => {
            " Totals go on where they were, at no cost: their noise, and what each person has brought to them, are kept in the \
             ledger, sealed. Were that lost, they would begin anew as another version, which pays anew."
        }
        false => "",
    };
    format!(
        "The records of windows that are not sealed are read again: a window's length{late}. \
         What is sealed stays as it was told and is not charged again.{counters}{running}"
    )
}
