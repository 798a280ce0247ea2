//! Release plans: each release of a job with its windows, its privacy cost and its noise fixed, before any
//! data is read.
//!
//! Nothing is decided after this, so that a plan, a demonstration and a live run cannot disagree. A share of
//! the budget is divided by the windows of the release that one account holds together
//! ([`ReleasePlan::together`]), where windows that are cut by a span of time count at their partial cost, in
//! whole units of 2^-64, rounded down; a stated cost is kept as it is, and must fit beside the shares.

use together::{AccountWindows, CutFactor};

use super::sources::KeyField;
use super::statistics::{
    CellKey, ConfiguredNoise, KeyPart, NoiseKind, PreparedStatistic, RunningTotalSpec, StatisticSpec,
    StatisticTerms, ValueField,
};
use super::unfit::UnfitJob;
use crate::accounting::{BudgetUnits, PrivacyCost, Promise};
use crate::dataflow::{Calendar, Schedule};
use crate::invalid::{Invalid, InvalidKind};
use crate::job::config::{BoundSpec, CalendarUnit, Every, Job, PriceSpec, Protected, ReleaseSpec};
use crate::ledger::{Digest, Name, VersionTerms};
use crate::mechanisms::{BOTH_ENDS, Bound, ContributionBound, Cut, DecimalPoint, FoundApart, Keys, Norm};
use crate::time::{LIMIT, Time};

pub(super) use fit::{ceiling, floor, largest_fitting_cost, shortest};
pub(super) use terms::{of_questions, reading_digest};
pub(crate) use together::ConcurrentWindows;

mod fit;
mod running;
mod terms;
mod together;

/// The plan of a release: its windows, bound, query, noise and privacy cost.
#[derive(Clone, Debug)]
pub(crate) struct ReleasePlan {
    /// The name of the release.
    pub(crate) name: Name,
    /// The version of the release: its own, or the job's.
    pub(crate) version: u32,
    /// The schedule of its windows.
    pub(crate) schedule: Schedule,
    /// The contribution bound of a person. Event-level privacy ignores it: the unit is one record.
    pub(crate) bound: Bound,
    /// The key of a record, unless the release has neither keys nor a condition.
    pub(crate) key: Option<KeyField>,
    /// The fields of numbers that it reads, each with the decimal point of its steps.
    pub(crate) values: Vec<ValueField>,
    /// The statistic of a window.
    pub(crate) statistic: StatisticSpec,
    /// The keys of the statistic.
    pub(crate) keys: Keys<CellKey>,
    /// The running total over windows, if the release has one.
    pub(crate) running: Option<RunningTotalSpec>,
    /// The noise distribution, made from the cost.
    pub(crate) noise: ConfiguredNoise,
    /// The cost of a window in the account's currency, including the delta of partition selection; of all
    /// windows together, if they are added up.
    pub(crate) cost: PrivacyCost,
    /// The windows of the release, whole or cut, that one account ever holds at once.
    pub(crate) together: ConcurrentWindows,
    /// The fields of the job file that the version of the release binds, beside those that the pipeline
    /// binds.
    pub(crate) version_terms: VersionTerms,
}

/// The time range of all windows: the job's own, or the one that a demonstration found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Horizon {
    /// The time before which there is no window.
    pub(crate) from: Option<Time>,
    /// The time after which there is no window.
    pub(crate) until: Option<Time>,
}

impl ReleasePlan {
    /// Returns the decimal point of the values of its first field.
    pub(crate) fn point(&self) -> DecimalPoint {
        self.values.first().map_or(DecimalPoint::WHOLE, |(_, point)| *point)
    }

    /// Returns true if the totals of the level above are released too.
    pub(crate) fn is_rolled_up(&self) -> bool {
        self.statistic.grouping().is_some_and(|grouping| grouping.rollup)
    }

    /// Returns the number of windows, if there is a last one.
    pub(crate) fn windows(&self) -> Option<u64> {
        Some(self.schedule.count()).filter(|windows| self.schedule.is_bounded() || *windows == 1)
    }

    /// Returns the terms of the statistic.
    pub(crate) fn statistic_terms(&self, job: &Job) -> Result<StatisticTerms<'_>, Invalid> {
        Ok(StatisticTerms {
            limits: job.contribution_bound(self)?,
            keys: &self.keys,
            point: self.point(),
            running: self.running,
            windows: self.windows(),
            rollup: self.is_rolled_up(),
            noise: &self.noise,
        })
    }

    /// Prepares the statistic and its mechanism from the same parts as the dataflow does.
    pub(crate) fn prepare(&self, job: &Job) -> Result<PreparedStatistic, Invalid> {
        let prepared = self.prepare_all_windows(job)?;
        Ok(if self.schedule.count() == 1 { prepared.of_one_window() } else { prepared })
    }

    /// Prepares the same with the figures of later windows, whether there are any or not: what a mechanism binds.
    fn prepare_all_windows(&self, job: &Job) -> Result<PreparedStatistic, Invalid> {
        self.statistic.as_statistic().prepare(&self.statistic_terms(job)?)
    }
}

impl Job {
    /// Returns the horizon that the job file states.
    pub(crate) fn horizon(&self) -> Horizon {
        Horizon { from: self.from, until: self.until }
    }

    /// Returns the plans of the releases, in their order. Reads files of keys, and no data.
    pub(crate) fn release_plans(&self, horizon: Horizon) -> Result<Vec<ReleasePlan>, UnfitJob> {
        let place = |index: usize| format!("release[{}]", index + 1);
        let schedules: Vec<Schedule> = (self.releases.iter().enumerate())
            .map(|(index, release)| schedule(self, lengths(release), horizon, &place(index)))
            .collect::<Result<_, _>>()?;
        let windows: Vec<AccountWindows<'_>> = (self.releases.iter().zip(&schedules))
            .map(|(release, schedule)| AccountWindows {
                schedule,
                most: release.bound.windows.map(u64::from),
                even: matches!(release.every, Every::Span(_)),
            })
            .collect();
        let promise = self.account().promise();
        let mut together: Vec<ConcurrentWindows> = Vec::with_capacity(windows.len());
        for (index, (release, counted)) in self.releases.iter().zip(&windows).enumerate() {
            let factor = match promise {
                Promise::Lifetime | Promise::Windows(_) => CutFactor::EVEN,
                Promise::Any(_) | Promise::Each(_) => cut_factor(self, release, &place(index))?,
            };
            together.push(match release.pays_once() {
                // It is paid with its first window, for the whole time that its windows cover.
                true => {
                    let life = counted.schedule.life();
                    ConcurrentWindows::once(life.is_ok_and(|life| promise.cuts(life)), factor)
                }
                false => ConcurrentWindows::of(counted, promise, factor),
            });
        }
        let costs = fit::costs(self, &self.ask_prices(horizon)?, &together, &schedules)?;
        let mut offers = Vec::with_capacity(schedules.len());
        for (index, release) in self.releases.iter().enumerate() {
            let (schedule, together, cost) =
                (schedules[index].clone(), together[index], costs[index].clone());
            offers.push(release_plan(self, release, (schedule, together, cost), &place(index))?);
        }
        Ok(offers)
    }

    /// Returns the contribution bound of a record, where the privacy unit is one.
    pub(crate) fn bound_of_a_record(&self) -> ContributionBound {
        match self.source.id {
            Some(_) => ContributionBound::RECORD_WITH_ID,
            None => ContributionBound::RECORD,
        }
    }

    /// Returns the contribution bound of a plan, range-checked; the bound of a record, if the privacy unit is
    /// a record.
    pub(crate) fn contribution_bound(&self, offer: &ReleasePlan) -> Result<ContributionBound, Invalid> {
        match self.privacy.privacy_unit {
            Protected::Record => Ok(self.bound_of_a_record()),
            Protected::Person { .. } => offer.bound.checked(),
        }
    }
}

/// Returns the step between the windows of a release, and their length if they overlap.
pub(crate) fn lengths(release: &ReleaseSpec) -> (Every, Option<Every>) {
    (release.every, release.sliding_length())
}

/// Returns the schedule of windows of these lengths, for the part of the job file at `place`.
pub(crate) fn schedule(
    job: &Job,
    (every, over): (Every, Option<Every>),
    horizon: Horizon,
    place: &str,
) -> Result<Schedule, UnfitJob> {
    let Horizon { from, until } = horizon;
    let field = |invalid: Invalid| match invalid.field() {
        "until" if invalid.kind() == InvalidKind::TooSmall => {
            let message = format!(
                "found a time before {place} has a window; give a later one, or a smaller {place}.every"
            );
            UnfitJob::new("job.until", message)
        }
        "from" | "until" => {
            let message = format!("found {}; give {}", invalid.found(), invalid.remedy());
            UnfitJob::new(format!("job.{}", invalid.field()), message)
        }
        "over" => UnfitJob::at(format!("{place}.over"), &invalid),
        _ => UnfitJob::at(format!("{place}.every"), &invalid),
    };
    if every == Every::All {
        return Schedule::whole(from.unwrap_or(-LIMIT), until.unwrap_or(LIMIT)).map_err(field);
    }
    let Some(from) = from else {
        let message = format!(
            "found nothing; give the time from which on {place} has windows, as in 2026-01-01T00:00:00Z"
        );
        return Err(UnfitJob::new("job.from", message));
    };
    let times = over.and_then(|over| over.over(every)).unwrap_or(1);
    match (every, over) {
        (Every::Span(step), Some(Every::Span(size))) => Schedule::sliding(size, step, from, until),
        (Every::Span(step), _) => Schedule::tumbling(step, from, until),
        (Every::Calendar(count, unit), _) => {
            let calendar = match unit {
                CalendarUnit::Day => Calendar::days(count),
                CalendarUnit::Week => Calendar::days(count.saturating_mul(7)),
                CalendarUnit::WeekFrom(day) => Calendar::weeks(count, day),
                CalendarUnit::Month => Calendar::months(count),
                CalendarUnit::Year => Calendar::months(count.saturating_mul(12)),
            };
            let over = u32::try_from(times).unwrap_or(u32::MAX);
            let calendar = calendar.over(over).in_zone(job.source.zone.name());
            Schedule::calendar(&calendar, from, until)
        }
        (Every::All, _) => Schedule::whole(from, until.unwrap_or(LIMIT)),
    }
    .map_err(field)
}

/// The numbers of a mean with Laplace noise, as a refusal shows them.
const DISTANCES: &str = "the sums of the distances from both ends of the range";

fn release_plan(
    job: &Job,
    release: &ReleaseSpec,
    (schedule, together, cost): (Schedule, ConcurrentWindows, PrivacyCost),
    place: &str,
) -> Result<ReleasePlan, UnfitJob> {
    parts_are_priced(job, release, &schedule, place)?;
    let (keys, values) = keys_and_values(release, &cost, place)?;
    let adding = running::running_total(release, &schedule, place)?;
    // The noise of discovered keys is that of a rho alone; a mechanism with a delta of its own needs all of it.
    let of_noise =
        if release.statistic.as_statistic().has_delta() { cost.clone() } else { without_delta(&cost) };
    let law = ConfiguredNoise::new(release.noise, of_noise);
    let bound = bound(release, &keys);
    let parts = release.statistic.grouping().into_iter().flat_map(|grouping| &grouping.by);
    let (fields, condition): (Vec<String>, _) =
        (parts.map(KeyPart::field).collect(), release.condition.clone());
    let key = (!fields.is_empty() || condition.is_some()).then_some(KeyField { fields, condition });
    let offer = ReleasePlan {
        name: release.name.clone(),
        version: release.version.unwrap_or(job.numbered()),
        schedule,
        bound,
        key,
        values,
        statistic: release.statistic.clone(),
        keys,
        running: adding,
        noise: law,
        cost,
        together,
        version_terms: VersionTerms::from(&Digest::NONE),
    };
    let offer = ReleasePlan { version_terms: terms::stated(job, release, &offer), ..offer };
    // Every refusal of a mechanism happens here, before there is a plan.
    let prepared = offer.prepare_all_windows(job).map_err(|invalid| unfit(release, place, &invalid))?;
    // What the mechanism binds.
    let mut terms = offer.version_terms.clone();
    let has_ends = prepared.noise.first().is_some_and(|noised| noised.number() == BOTH_ENDS[0]);
    let follow = "numbers follow from the noise and the bound, and from the version of the program";
    if has_ends {
        let cause = "where they were a sum and a count";
        terms =
            terms.showing("numbers", DISTANCES).explaining(("numbers", "nothing"), cause, (follow, false));
    } else if matches!(release.statistic, StatisticSpec::Mean(_)) {
        terms = terms.explaining(("numbers", DISTANCES), "where they are a sum and a count", (follow, false));
    }
    if let Some(FoundApart { percent, .. }) = prepared.finding.and_then(|finding| finding.apart) {
        terms = terms.showing("finding keys", format!("{percent}% of a key's price until it is found"));
    }
    Ok(ReleasePlan { version_terms: terms, ..offer })
}

/// Refuses a mechanism with a delta of its own where a span of the promise holds a part of a window: what it costs to
/// remove a part of a person is not known.
fn parts_are_priced(
    job: &Job,
    release: &ReleaseSpec,
    schedule: &Schedule,
    place: &str,
) -> Result<(), UnfitJob> {
    let promise = job.account().promise();
    let is_priced =
        !release.statistic.as_statistic().has_delta() || job.privacy.privacy_unit == Protected::Record;
    // Windows repeat: those of a calendar, too, are cut among the first thousand, if ever.
    let mut windows = (0..schedule.count().min(1_000)).filter_map(|number| schedule.window(number));
    if is_priced || !windows.any(|window| promise.cuts(window)) {
        return Ok(());
    }
    let message = format!(
        "found spans of time that hold a part of a window of {place}, for which a stable mean has no price; give \
         \"lifetime\", or \"each\" with a span of whole windows"
    );
    Err(UnfitJob::new("privacy.promise", message))
}

/// Returns the keys of a release, and the fields of numbers that it reads.
fn keys_and_values(
    release: &ReleaseSpec,
    cost: &PrivacyCost,
    place: &str,
) -> Result<(Keys<CellKey>, Vec<ValueField>), UnfitJob> {
    let statistic = release.statistic.as_statistic();
    let place = format!("{place}.{}", release.statistic.word());
    let keys = statistic.keys(delta_of(cost)).map_err(|unfit| unfit.within(&place))?;
    let keys = keys.at_least_people(release.least_people.unwrap_or(1).into());
    let values = statistic.values().map_err(|unfit| unfit.within(&place))?;
    Ok((keys, values))
}

/// Returns the contribution bound of a release with these keys.
fn bound(release: &ReleaseSpec, keys: &Keys<CellKey>) -> Bound {
    let BoundSpec { per_key, windows, weight, .. } = release.bound;
    let listed = keys.listed().map_or(u64::MAX, |keys| keys.len() as u64);
    let most = match release.bound.keys {
        Some(keys) => keys.into(),
        None if release.statistic.as_statistic().counts_in_all_keys() => listed,
        None => u64::from(release.bound.most_keys()).min(listed),
    };
    let bound = Bound::keys(most).per_key(per_key.unwrap_or(1).into());
    let bound = windows.map_or(bound, |windows| bound.windows(windows.into()));
    // The norm that the noise is paid by.
    let norm = if release.noise == NoiseKind::Laplace { Norm::L1 } else { Norm::L2 };
    weight.map_or(bound, |weight| bound.weight(weight.into(), norm))
}

/// Returns the factor by which a window that is cut by a span of time costs more than a whole one.
fn cut_factor(job: &Job, release: &ReleaseSpec, place: &str) -> Result<CutFactor, UnfitJob> {
    let cap = job.account().cap();
    let (keys, _) = keys_and_values(release, cap, place)?;
    let limits = match job.privacy.privacy_unit {
        Protected::Record => Ok(job.bound_of_a_record()),
        Protected::Person { .. } => bound(release, &keys).checked(),
    };
    let limits = limits.map_err(|invalid| UnfitJob::at(format!("{place}.bound"), &invalid))?;
    let cut = match release.running {
        Some(_) => Cut::two_steps(&limits),
        None => release
            .statistic
            .as_statistic()
            .cut(limits, &keys)
            .map_err(|invalid| unfit(release, place, &invalid))?,
    };
    let (over, under) = cut.factor(cap, release.noise == NoiseKind::Gaussian);
    Ok(CutFactor { over, under })
}

/// Returns the refusal of a mechanism at the field of the release that its parameter comes from.
fn unfit(release: &ReleaseSpec, place: &str, invalid: &Invalid) -> UnfitJob {
    let price = if matches!(release.price, PriceSpec::Share(_)) { "share" } else { "cost" };
    let (refused, word) = (invalid.field(), release.statistic.word());
    let parameter = running::field(release, refused).unwrap_or(refused);
    let field = match (parameter, release.statistic.as_statistic().field_of(parameter)) {
        ("bound" | "keys" | "per_key" | "windows" | "weight", _) => "bound".to_owned(),
        ("every" | "over" | "strategy", _) => refused.to_owned(),
        (_, Some(field)) => format!("{word}.{field}"),
        (_, None) => price.to_owned(),
    };
    UnfitJob::at(format!("{place}.{field}"), invalid)
}

/// Returns the delta that a cost reserves for partition selection.
pub(crate) fn delta_of(cost: &PrivacyCost) -> BudgetUnits {
    cost.rho_and_delta().map_or(BudgetUnits::ZERO, |(_, delta)| delta)
}

/// Returns the part of a cost that the noise charges.
fn without_delta(cost: &PrivacyCost) -> PrivacyCost {
    cost.rho_and_delta().map_or_else(|| cost.clone(), |(rho, _)| cost.alike(rho, BudgetUnits::ZERO))
}

#[cfg(test)]
mod tests;
