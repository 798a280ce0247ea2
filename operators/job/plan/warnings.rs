//! Estimates of the usefulness of releases, and warnings, without data: from the job file, by rules that are
//! stated here.
//!
//! A cell of `n` people is assumed to hold one record of each, and a sum half of the most that counts of
//! each; a mean is half of the way from the middle of its range to an end. If nine in ten errors are within a tenth of its value,
//! the cell is worth publishing; if they are as large as the value, the cell is mostly noise.

use super::{Plan, Planned, PlannedKeys};
use crate::accounting::{PrivacyCost, Promise};
use crate::dataflow::Schedule;
use crate::job::config::{CalendarUnit, Every, Job, Protected, RecordFormat, RecordOrder, ReleaseSpec};
use crate::job::release_plan::ReleasePlan;
use crate::job::statistics::NoiseKind;
use crate::mechanisms::Ranks;
use crate::time::{in_utc, in_words, known, repeated_times_after};

/// The number of people above which a cell is unlikely to be useful.
pub(super) const MANY: u64 = 10_000;
/// The threshold above which a discovered key is seldom released.
const SELDOM: i64 = 1_000;
/// The number of public keys above which most rows are noise.
const ROWS: u64 = 100_000;
/// The epsilon above which little is promised: a likelihood may change twenty-thousandfold.
const LARGE: f64 = 10.0;
/// The delta above which one person in a thousand may be revealed outright.
const LIKELY: f64 = 1e-3;

/// The factor of fewer ranks from which another noise is worth a warning.
const WORTH: f64 = 1.05;

pub(super) fn warnings(job: &Job, offers: &[ReleasePlan], plan: &Plan) -> Vec<String> {
    let mut warnings = Vec::new();
    for (index, (planned, offer)) in plan.releases.iter().zip(offers).enumerate() {
        let mut warn =
            |words: String| warnings.push(format!("release[{}], {}: {words}", index + 1, planned.name));
        let needed = planned.people_for_a_tenth;
        if needed > MANY {
            let few = needed / 10;
            let little = match planned.typical_ranks() {
                Some(_) => format!("nothing is promised of one with fewer than {few}"),
                None => format!("one with fewer than {few} is mostly noise"),
            };
            warn(format!(
                "a cell needs {needed} people for an error of a tenth, and {little}; give it a larger share, a narrower bound \
                 or range, or longer windows"
            ));
        }
        match planned.keys {
            PlannedKeys::Discovered { threshold, least_people, .. }
                if least_people.is_some_and(|least| 2 * least > threshold.unsigned_abs())
                    && threshold > SELDOM =>
            {
                warn(format!(
                    "a key is released once about {threshold} people have it; give a smaller least_people"
                ));
            }
            PlannedKeys::Discovered { threshold, .. } if threshold > SELDOM => warn(format!(
                "a key is released once about {threshold} people have it; list the keys, or give it a larger share"
            )),
            PlannedKeys::Public { count } if count > ROWS => warn(format!(
                "{count} keys are released in every window, whether anybody has them or not; list those that matter, or discover them"
            )),
            _ => {}
        }
        let (bound, listed) = (job.releases.get(index).and_then(|release| release.bound.keys), planned.keys);
        let listed = match (offer.statistic.as_statistic().tabled(), listed) {
            (Some(tabled), _) => Some(tabled.combinations),
            (None, PlannedKeys::Public { count }) => Some(count),
            _ => None,
        };
        if let (Some(bound), Some(count)) = (bound, listed)
            && u64::from(bound) > count
        {
            warn(format!(
                "noise for {bound} keys of a person, where there are {count}; give bound.keys = {count}"
            ));
        }
        let paid_for_windows = job.releases.get(index).filter(|release| !release.pays_once());
        if let Some(times) = paid_for_windows
            .and_then(|release| release.sliding_length()?.over(release.every))
            .filter(|times| *times > 1)
        {
            let remedy = job.releases.get(index).map_or("", |release| instead_of_overlaps(job, release));
            warn(format!("windows overlap, so each record is charged for {times} times; {remedy}"));
        }
        if let Some(words) = nearer_noise(job, (index, offer), planned) {
            warn(words);
        }
        if let (Some(alert), Some(windows)) = (&planned.alert, offer.windows())
            && alert.windows < windows
        {
            warn(format!(
                "its mistakes are stated for {} of {windows} windows: in later ones it may fire wrongly more often; give alert.windows = \
                 {windows}, or leave it out",
                alert.windows
            ));
        }
        if let Some(top) = planned.top.as_ref().filter(|top| top.is_for_numbers()) {
            let bound = if top.error_of_numbers_in_all.is_some() { " with bound.keys" } else { "" };
            warn(format!(
                "the {} of all {} keys cost no more, and order them as well; publish them instead{bound}, and compare",
                top.count, top.keys
            ));
        }
        if let Some(alert) = planned.alert.as_ref().filter(|alert| alert.instead_of_numbers < 1.0) {
            warn(format!(
                "the {} of each window cost less than these alarms, {:.2} times as much: publish them instead, and compare",
                alert.count, alert.instead_of_numbers
            ));
        }
        if let Some(running) = &planned.running
            && !running.best
        {
            warn(format!(
                "{} errs {:.1} times as much as the least; leave out strategy for the best there is",
                running.strategy, running.ratio
            ));
        }
        if paid_for_windows.is_some()
            && offer.schedule.count() > 1
            && !offer.schedule.is_bounded()
            && endless(job)
        {
            let fit = fitting(job.account().cap(), &offer.cost);
            warn(format!(
                "there is no last window, and at most {fit} fit the budget: then releases stop; give job.until, or a promise \"any ..\""
            ));
        }
    }
    for (index, ask) in plan.asks.iter().enumerate() {
        warnings.extend(ask.warning().map(|words| format!("ask[{}], {}: {words}", index + 1, ask.name)));
    }
    if plan.delta.is_some_and(|delta| delta > LIKELY) && job.privacy.budget.delta.is_some() {
        warnings.push(
            "privacy.budget: a delta above 1/1000; give one far below one over the number of people"
                .to_owned(),
        );
    }
    if plan.cap.epsilon.is_some_and(|epsilon| epsilon > LARGE) {
        let warning = match job.privacy.budget.rho {
            Some(_) => {
                "privacy.budget: this rho is an epsilon above 10 at its delta, which promises little; give a smaller one, such \
                 as 0.1"
            }
            None => "privacy.budget: an epsilon above 10 promises little; give a smaller one, such as 1",
        };
        warnings.push(warning.to_owned());
    }
    warnings.extend(job.unused_budget(None));
    warnings.extend(spans_of_a_record(job, offers));
    warnings.extend(repeated_times(job, offers));
    warnings.extend(without_end(job));
    warnings
}

/// The warning of a lifetime in which every window is paid for, though a record is in those that hold its time alone: under a
/// promise about spans as long as the shortest step, one record is hidden as well, and pays for no more than these.
fn spans_of_a_record(job: &Job, offers: &[ReleasePlan]) -> Option<String> {
    if job.privacy.privacy_unit != Protected::Record || !endless(job) || job.source.local_zone().is_some() {
        return None;
    }
    let windowed = job.releases.iter().filter(|release| !release.pays_once());
    let day = 86_400_000_000u64;
    // Spans are of UTC, and weeks of it begin as these do.
    let length = |every: Every| match every {
        Every::Span(span) => Some(span.as_microseconds().unsigned_abs()),
        Every::Calendar(days, CalendarUnit::Day) => Some(u64::from(days) * day),
        Every::Calendar(weeks, CalendarUnit::Week) => Some(u64::from(weeks) * 7 * day),
        _ => None,
    };
    let span = windowed.filter_map(|release| length(release.every)).min()?;
    let mut other = job.clone();
    other.privacy.promise = Promise::Each(span);
    let other = Job::parse("job.toml", &other.to_string()).ok()?;
    let held = other.release_plans(other.horizon()).ok()?;
    let saves = offers.iter().zip(&held).any(|(own, held)| own.together.windows() > held.together.windows());
    let span = in_words(span);
    saves.then(|| {
        format!(
            "privacy.promise: a record is in the windows that hold its time, and \"lifetime\" pays for all of a release; \"each {span}\" \
             hides one record as well, and pays for those"
        )
    })
}

/// The warning of windows over everything that have no end: a replay releases them for good. A log that is made up is whole.
fn without_end(job: &Job) -> Option<String> {
    if job.until.is_some() || matches!(job.source.records, RecordFormat::Synthetic(_)) {
        return None;
    }
    let endless = job.releases.iter().filter(|release| release.every == Every::All);
    let names: Vec<&str> = endless.map(|release| release.name.as_str()).collect();
    let they_have = match &names[..] {
        [] => return None,
        [name] => format!("release {name} has"),
        [names @ .., last] => format!("releases {} and {last} have", names.join(", ")),
    };
    Some(format!(
        "job.until: {they_have} one window over everything, which has no end: `discreet replay` releases it for good at the end of \
         its input, and records that come later are never in it, and no live run releases it; give until, the end of the \
         time that is to be published, unless no more records come"
    ))
}

/// The warning of windows that begin or end within hours that the clocks of the source's zone repeat.
fn repeated_times(job: &Job, offers: &[ReleasePlan]) -> Option<String> {
    let zone = job.source.local_zone()?;
    let (_, rules) = known(zone.name()).ok()?;
    let (start, end) = repeated_times_after(&rules, job.from?)?;
    let is_divided = |schedule: &Schedule| {
        schedule.window(schedule.first_ending_after(start)).is_some_and(|window| window.end() < end)
    };
    let (zone, next) = (zone.name(), format!("next from {} to {}", in_utc(start), in_utc(end)));
    if job.source.order == RecordOrder::Sorted {
        return Some(format!(
            "source.order: lines in order of time are in no order of times without their offset where the clocks of {zone} are set \
             back, {next}: that ends a run (65); give times with their offset, or leave out order"
        ));
    }
    let divided = offers.iter().find(|offer| is_divided(&offer.schedule))?;
    Some(format!(
        "source.time: a time without its offset is ambiguous where the clocks of {} are set back: each window of {} that begins or \
         ends in between, {next}, is skipped; give times with their offset, or windows of whole days",
        zone, divided.name,
    ))
}

/// Returns the hint at the noise of which the promised ranks are nearest at the same price, if they are nearer by a part
/// that is worth it, from the job file alone. The cost of keys that are discovered is that of the job as it is.
fn nearer_noise(job: &Job, (at, offer): (usize, &ReleasePlan), planned: &Planned) -> Option<String> {
    let ranks = planned.noise.first()?.ranks?;
    let own = planned.noise.iter().map(|noise| noise.interval).fold(0.0, f64::max);
    let (statistic, terms) = (offer.statistic.as_statistic(), offer.statistic_terms(job).ok()?);
    let release = job.releases.get(at)?;
    let others = statistic.noise_kinds().iter().filter(|kind| **kind != release.noise);
    let errors = others.filter_map(|kind| Some((*kind, statistic.rank_error_with(*kind, &terms)?)));
    let (kind, error) = errors.min_by(|one, other| one.1.total_cmp(&other.1))?;
    if own <= WORTH * error || !job.is_possible(at, kind) {
        return None;
    }
    let (may_be, of) = match ranks {
        Ranks::Below { .. } => ("may be too small", "people"),
        Ranks::Above { .. } => ("may be too large", "people"),
        Ranks::Within { .. } => ("may be off", "ranks"),
        Ranks::Behind { .. } => ("may pick a key that is behind", &*planned.noise.first()?.number),
    };
    Some(format!(
        "{} noise {may_be} by {own} {of}, and noise = \"{}\" by {error} at the same price: {:.0}% less",
        release.noise.word(),
        kind.word(),
        100.0 * (1.0 - error / own)
    ))
}

fn endless(job: &Job) -> bool {
    job.account().promise() == Promise::Lifetime
}

/// Returns the number of windows of this cost that fit under a cap.
fn fitting(cap: &PrivacyCost, cost: &PrivacyCost) -> u128 {
    let times = |all: crate::accounting::BudgetUnits, one: crate::accounting::BudgetUnits| {
        all.to_bits() / one.to_bits().max(1)
    };
    match (cap, cost) {
        (PrivacyCost::Pure { epsilon: all }, PrivacyCost::Pure { epsilon: one }) => times(*all, *one),
        _ => match (cap.rho_and_delta(), cost.rho_and_delta()) {
            (Some((all, _)), Some((one, _))) => times(all, one),
            _ => 0,
        },
    }
}
/// Returns the remedy for a release of windows that overlap: distinct people of several windows are no sum of those of each.
fn instead_of_overlaps(job: &Job, release: &ReleaseSpec) -> &'static str {
    let is_people = release.statistic.word() == "people";
    let may_run = release.noise == NoiseKind::Gaussian
        && !job.privacy.budget.is_pure()
        && job.privacy.privacy_unit != Protected::Record
        && !release.statistic.grouping().is_some_and(|grouping| grouping.rollup);
    match (is_people, may_run, job.releases.iter().any(|release| release.bound.windows.is_some())) {
        (false, ..) => "leave out over if sums of windows will do",
        (true, false, _) => "leave out over if the people of each single window will do",
        (true, true, false) => {
            "running = true with bound.entries pays once for the people of the last windows; or leave out over if those of each \
             single window will do"
        }
        (true, true, true) => {
            "running = true with bound.entries pays once for the people of the last windows, in another account where no release \
             bounds windows; or leave out over if those of each single window will do"
        }
    }
}
