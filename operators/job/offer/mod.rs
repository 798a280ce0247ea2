//! What a job's releases come to: each with its windows, its price and its noise settled, before there is data.
//!
//! Nothing is left to be decided after this, so that a plan, a demo and a live run cannot disagree. A share of the budget is
//! divided by the windows of the release that one account holds together ([`ReleasePlan::together`]), those that a span of time cuts
//! at their partial price, in whole units of 2^-64, rounded down; what is written as a cost stands as it is, and must fit beside the shares.

mod adding;
mod asking;
mod cell;
mod fit;
mod found;
mod keys;
mod ready;
mod refused;
mod steps;
mod terms;
#[cfg(test)]
mod tests;
mod together;

pub(crate) use adding::Adding;
pub(crate) use asking::WindowQuery;
pub(crate) use cell::CellKey;
pub(super) use fit::pasted;
pub(crate) use ready::{ConfiguredNoise, SettledRelease};
pub use refused::UnfitJob;
pub(super) use steps::misfit;

use crate::accounting::{BudgetUnits, Omega, PrivacyCost, Promise};
use crate::dataflow::{Calendar, Schedule};
use crate::job::config::{CalendarUnit, Every, Job, NoiseKind, PriceSpec, Protected, ReleaseSpec};
use crate::ledger::{Digest, Name, VersionTerms};
use crate::mechanisms::{Bound, ContributionBound, Cut, DecimalPoint};
use crate::time::{LIMIT, Time};
pub(crate) use together::Together;
use together::{AccountWindows, Weight};

/// A release with everything settled.
#[derive(Clone, Debug)]
pub(crate) struct ReleasePlan {
    /// Its name.
    pub(crate) name: Name,
    /// Its windows.
    pub(crate) schedule: Schedule,
    /// How much a person can matter. A record is one record: there it says nothing.
    pub(crate) bound: Bound,
    /// The field by which it groups.
    pub(crate) key: Option<String>,
    /// The field that it adds up or sorts into buckets, and where the point of a step of it stands.
    pub(crate) value: Option<(String, DecimalPoint)>,
    /// What is asked.
    pub(crate) asking: WindowQuery,
    /// How its windows are added up, where they are.
    pub(crate) adding: Option<Adding>,
    /// The noise, made from the cost.
    pub(crate) law: ConfiguredNoise,
    /// What a window costs, in the domain's currency, the delta of discovery included; or all of them, where they are added up.
    pub(crate) cost: PrivacyCost,
    /// How many times one account ever holds that at once.
    pub(crate) together: Together,
    /// What its version binds of the job file, beside what the pipeline knows.
    pub(crate) stated: VersionTerms,
}

/// Between which times there are windows: the job's own, or those that a demo found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Horizon {
    /// Before which there is no window.
    pub(crate) from: Option<Time>,
    /// After which there is none.
    pub(crate) until: Option<Time>,
}

impl ReleasePlan {
    /// Where the point of its numbers stands.
    pub(crate) fn point(&self) -> DecimalPoint {
        self.value.as_ref().map_or(DecimalPoint::WHOLE, |(_, point)| *point)
    }
}

impl Job {
    /// The horizon that its file states.
    pub(crate) fn horizon(&self) -> Horizon {
        Horizon { from: self.from, until: self.until }
    }

    /// What its releases come to, in their order. Reads files of keys, and no data.
    pub(crate) fn offers(&self, horizon: Horizon) -> Result<Vec<ReleasePlan>, UnfitJob> {
        let place = |index: usize| format!("release[{}]", index + 1);
        let schedules: Vec<Schedule> = (self.releases.iter().enumerate())
            .map(|(index, release)| schedule(self, release, horizon, &place(index)))
            .collect::<Result<_, _>>()?;
        let windows: Vec<AccountWindows<'_>> = (self.releases.iter().zip(&schedules))
            .map(|(release, schedule)| AccountWindows {
                schedule,
                most: release.bound.windows.map(u64::from),
                even: matches!(release.every, Every::Span(_)),
            })
            .collect();
        let promise = self.domain().promise();
        let mut together: Vec<Together> = Vec::with_capacity(windows.len());
        for (index, (release, counted)) in self.releases.iter().zip(&windows).enumerate() {
            let weight = match promise {
                Promise::Lifetime | Promise::Windows(_) => Weight::EVEN,
                Promise::Any(_) | Promise::Each(_) => weight(self, release, &place(index))?,
            };
            together.push(match release.running {
                // Paid with the first of them, for the whole time that they are about.
                Some(_) => {
                    let life = counted.schedule.life();
                    Together::once(life.is_ok_and(|life| promise.cuts(life)), weight)
                }
                None => Together::of(counted, promise, weight),
            });
        }
        let costs = fit::costs(self, &together, &schedules)?;
        let mut offers = Vec::with_capacity(schedules.len());
        for (index, release) in self.releases.iter().enumerate() {
            let (schedule, together, cost) =
                (schedules[index].clone(), together[index], costs[index].clone());
            offers.push(offer(self, release, (schedule, together, cost), &place(index))?);
        }
        Ok(offers)
    }

    /// The bound of an offer, in range: a record's, where a record is what is protected.
    pub(crate) fn limits(&self, offer: &ReleasePlan) -> Result<ContributionBound, crate::Invalid> {
        match self.privacy.protected {
            Protected::Record => Ok(ContributionBound::RECORD),
            Protected::Person { .. } => offer.bound.checked(),
        }
    }
}

pub(crate) fn schedule(
    job: &Job,
    release: &ReleaseSpec,
    horizon: Horizon,
    place: &str,
) -> Result<Schedule, UnfitJob> {
    let Horizon { from, until } = horizon;
    let field = |invalid: crate::Invalid| {
        let place = match invalid.field() {
            "from" => "job.from".to_owned(),
            "until" => "job.until".to_owned(),
            "over" => format!("{place}.over"),
            _ => format!("{place}.every"),
        };
        UnfitJob::at(place, &invalid)
    };
    if release.every == Every::All {
        return Schedule::whole(from.unwrap_or(-LIMIT), until.unwrap_or(LIMIT)).map_err(field);
    }
    let Some(from) = from else {
        let message = format!(
            "found nothing; give the time from which on {place} has windows, as in 2026-01-01T00:00:00Z"
        );
        return Err(UnfitJob::new("job.from", message));
    };
    let times = release.slides().and_then(|over| over.over(release.every)).unwrap_or(1);
    match (release.every, release.slides()) {
        (Every::Span(step), Some(Every::Span(size))) => Schedule::sliding(size, step, from, until),
        (Every::Span(step), _) => Schedule::tumbling(step, from, until),
        (Every::Calendar(count, unit), _) => {
            let calendar = match unit {
                CalendarUnit::Day => Calendar::days(count),
                CalendarUnit::Week => Calendar::days(count.saturating_mul(7)),
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

fn offer(
    job: &Job,
    release: &ReleaseSpec,
    (schedule, together, cost): (Schedule, Together, PrivacyCost),
    place: &str,
) -> Result<ReleasePlan, UnfitJob> {
    let word = release.statistic.word();
    let (asking, value) = asking::asking(release, &cost, &format!("{place}.{word}"))?;
    let adding = Adding::of(release, &schedule, place)?;
    let law = ConfiguredNoise::new(release.noise, without_delta(&cost));
    let bound = bound(release);
    let key = release.statistic.grouping().map(|grouping| grouping.by.clone());
    let offer = ReleasePlan {
        name: release.name.clone(),
        schedule,
        bound,
        key,
        value,
        asking,
        adding,
        law,
        cost,
        together,
        stated: VersionTerms::from(&Digest::NONE),
    };
    let offer = ReleasePlan { stated: terms::stated(job, release, &offer), ..offer };
    // Whatever a mechanism can refuse is refused here, before there is a plan.
    offer.settled(job).map_err(|invalid| {
        let price = if matches!(release.price, PriceSpec::Share(_)) { "share" } else { "cost" };
        let refused = invalid.field();
        let field = match adding::field(release, refused).unwrap_or(refused) {
            "bound" | "keys" | "per_key" | "windows" => "bound".to_owned(),
            "range" => format!("{word}.range"),
            "edges" => format!("{word}.edges"),
            "grid" | "step" if word == "max" => "max.grid".to_owned(),
            "grid" | "step" => format!("{word}.range"),
            "q" => format!("{word}.q"),
            "every" | "over" | "strategy" => refused.to_owned(),
            _ => price.to_owned(),
        };
        UnfitJob::at(format!("{place}.{field}"), &invalid)
    })?;
    Ok(offer)
}

fn bound(release: &ReleaseSpec) -> Bound {
    let bound = Bound::keys(release.bound.keys.unwrap_or(1).into())
        .per_key(release.bound.per_key.unwrap_or(1).into());
    release.bound.windows.map_or(bound, |windows| bound.windows(windows.into()))
}

/// How many times its price a window costs that a span of time cuts.
fn weight(job: &Job, release: &ReleaseSpec, place: &str) -> Result<Weight, UnfitJob> {
    let limits = match job.privacy.protected {
        Protected::Record => Ok(ContributionBound::RECORD),
        Protected::Person { .. } => bound(release).checked(),
    };
    let limits = limits.map_err(|invalid| UnfitJob::at(format!("{place}.bound"), &invalid))?;
    let cap = job.domain().cap();
    let word = release.statistic.word();
    let (asking, _) = asking::asking(release, cap, &format!("{place}.{word}"))?;
    let cut = match release.running {
        Some(_) => Cut::two_steps(&limits),
        None => asking.cut(limits).map_err(|invalid| UnfitJob::at(format!("{place}.bound"), &invalid))?,
    };
    let (over, under) = cut.factor(cap, release.noise == NoiseKind::Gaussian);
    Ok(Weight { over, under })
}

/// What a cost sets aside for the discovery of keys.
pub(crate) fn delta_of(cost: &PrivacyCost) -> BudgetUnits {
    if let PrivacyCost::Zcdp { delta, .. } = cost { *delta } else { BudgetUnits::ZERO }
}

/// What of a cost the noise has.
fn without_delta(cost: &PrivacyCost) -> PrivacyCost {
    match cost {
        PrivacyCost::Zcdp { rho, .. } => {
            PrivacyCost::Zcdp { rho: *rho, delta: BudgetUnits::ZERO, omega: Omega::EVERY }
        }
        other => other.clone(),
    }
}
