//! The plan of a job: its releases and their privacy costs, before any data is read.
//!
//! A [`Plan`] is made of the same release plans as a run, so every noise scale, threshold and cost in it is
//! the one that is drawn and charged. It reads the job file and its files of keys, and no record; so it
//! cannot depend on the number of people in the data, and states instead the number that a cell needs
//! ([`Planned::people_for_a_tenth`]).
//!
//! As JSON it is one object with the fields of these types, by their names: `job`, `version`, `from`,
//! `until`, `promise`, `unit`, `account`, `ledger`, `delta`, `cap`, `accounting`, `releases`, `asks`, `together`, `left`,
//! `restart`, `warnings`. Times are RFC 3339. An unknown or absent value is `null`.

mod accounting;
mod asks;
mod expected;
mod keys;
mod page;
mod parts;
mod replay;
#[cfg(test)]
mod tests;
mod texts;
mod warnings;

pub use accounting::ComparedNoise;
pub use asks::{ExpectedAnswer, PlannedAsk};
pub use expected::{ExpectedError, PlannedChange};
pub(super) use expected::{longer, percent};
pub use keys::{ExpectedKey, ExpectedKeys};
pub(super) use page::{line, short};
pub use parts::{
    FoundNoise, Moves, NoiseOptimality, OtherReleases, Planned, PlannedAlert, PlannedCost, PlannedKeys,
    PlannedMarginals, PlannedMemory, PlannedNoise, PlannedRunning, PlannedTop, PlannedWindows,
};

pub use replay::ReplayMemory;

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
pub(in crate::job) use texts::statistic as described_statistic;

use super::UnfinishedWindows;
use super::config::{Accounting, Every, Job};
use super::release_group::{group_releases, share_keys};
use super::release_plan::{ReleasePlan, delta_of};
use super::statistics::{NumberSensitivity, PreparedStatistic};
use super::unfit::UnfitJob;
use crate::accounting::{BudgetUnits, PrivacyCost, PrivacyUnit, Promise};
use crate::mechanisms::Noised;
use crate::time::{LIMIT, Time, in_words};

/// The plan of a job: all of its releases with their privacy costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Plan {
    /// The name of the job.
    pub job: String,
    /// The version of the job.
    pub version: u64,
    /// The time before which there is no window.
    pub from: Option<String>,
    /// The time after which there is no window.
    pub until: Option<String>,
    /// The promise, in one sentence.
    pub promise: String,
    /// The privacy unit whose presence is hidden: `person` or `record`.
    pub unit: &'static str,
    /// The name of the budget account.
    pub account: String,
    /// The path or address of the ledger that holds the account.
    pub ledger: String,
    /// The delta at which every epsilon of the plan is stated: the budget's, or one in a million if the
    /// budget has none. `None` for pure epsilon.
    pub delta: Option<f64>,
    /// The cap of the budget account.
    pub cap: PlannedCost,
    /// The accounting of the budget account: `gaussian` or `zcdp`; `None` for pure epsilon.
    pub accounting: Option<&'static str>,
    /// The releases, in the order of the file.
    pub releases: Vec<Planned>,
    /// The bundles of answers to questions, in the order of the file.
    pub asks: Vec<PlannedAsk>,
    /// The privacy cost of all releases together in one account.
    pub together: PlannedCost,
    /// The part of the cap that is left.
    pub left: PlannedCost,
    /// The work that is repeated after a restart.
    pub restart: String,
    /// The memory that a replay holds, where its size was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayMemory>,
    /// The windows that are not over, for which a replay is refused, where the present was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<UnfinishedWindows>,
    /// Warnings about settings that are unlikely to work well.
    pub warnings: Vec<String>,
}

impl Job {
    /// Returns the plan of the job: its releases and their privacy costs. Reads files of keys, and no data.
    ///
    /// # Errors
    ///
    /// A release that does not fit the budget or cannot be prepared, with the field of the job file and the
    /// remedy.
    pub fn plan(&self) -> Result<Plan, UnfitJob> {
        let offers = self.release_plans(self.horizon())?;
        let cap = self.account().cap();
        let delta = match cap {
            PrivacyCost::Pure { .. } => None,
            // A rho alone implies no delta: one in a million is the usual choice.
            _ => Some(self.privacy.budget.delta.as_ref().map_or(1e-6, crate::Decimal::to_f64)),
        };
        let endless = |offer: &ReleasePlan| {
            self.account().promise() == Promise::Lifetime && !offer.schedule.is_bounded()
        };
        let mut together = cap.nothing();
        let place = |index: usize| format!("release[{}]", index + 1);
        let prepared = |(index, offer): (usize, &ReleasePlan)| {
            offer.prepare(self).map_err(|invalid| UnfitJob::at(place(index), &invalid))
        };
        let prepared = offers.iter().enumerate().map(prepared).collect::<Result<Vec<_>, _>>()?;
        let compared = accounting::compared(self, &prepared);
        let mut releases = Vec::with_capacity(offers.len());
        for (index, (offer, release)) in offers.iter().zip(&self.releases).enumerate() {
            let place = place(index);
            // A lifetime without end holds as many windows as fit.
            let paid =
                if endless(offer) { Some(offer.cost.clone()) } else { offer.together.all(&offer.cost) };
            let paid = paid
                .ok_or_else(|| UnfitJob::new(&place, "found a cost of 2^64 or more; give a smaller one"))?;
            together = together.plus(&paid).map_err(|invalid| UnfitJob::at(&place, &invalid))?;
            let planned = planned(self, release, (offer, &prepared[index]), (&paid, delta));
            releases.push(Planned { accounting: compared[index], ..planned });
        }
        let bundles = self.ask_plans(self.horizon())?;
        let mut asks = Vec::with_capacity(bundles.len());
        for (index, (ask, bundle)) in self.asks.iter().zip(&bundles).enumerate() {
            let place = format!("ask[{}]", index + 1);
            together = together.plus(&bundle.price.paid).map_err(|invalid| UnfitJob::at(&place, &invalid))?;
            asks.push(PlannedAsk::of(self, ask, bundle, delta));
        }
        let left = cap.less(&together).unwrap_or_else(|_| cap.nothing());
        if self.account().neighbours().unit == PrivacyUnit::Person {
            share(&offers, &mut releases);
        }
        let mut plan = Plan {
            job: self.name.as_str().to_owned(),
            version: self.version,
            from: self.from.and_then(moment),
            until: self.until.and_then(moment),
            promise: self.account().promise().sentence(self.account().neighbours(), in_words),
            unit: if self.account().neighbours().unit == PrivacyUnit::Person { "person" } else { "record" },
            account: self.account().name().as_str().to_owned(),
            ledger: self.privacy.ledger.display().to_string(),
            delta,
            cap: PlannedCost::of(cap, delta),
            accounting: self.accounting().map(Accounting::word),
            releases,
            asks,
            together: PlannedCost::of(&together, delta),
            left: PlannedCost::of(&left, delta),
            restart: texts::restart(self),
            replay: None,
            unfinished: None,
            warnings: Vec::new(),
        };
        plan.warnings = warnings::warnings(self, &offers, &plan);
        plan.warnings.extend(accounting::proposal(self, &prepared, &compared));
        plan.warnings.extend(accounting::proposal_for_keys(self, &prepared));
        plan.warnings.extend(accounting::unused_delta_for_keys(self));
        Ok(plan)
    }
}

/// Writes down which releases share one table of people.
fn share(offers: &[ReleasePlan], releases: &mut [Planned]) {
    for group in group_releases(offers) {
        let names = |plans: &[usize]| -> Arc<[String]> {
            plans.iter().map(|&at| offers[at].name.as_str().to_owned()).collect()
        };
        let people = names(&group.plans);
        for (own, &at) in group.plans.iter().enumerate() {
            releases[at].shares_people = OtherReleases::beside(own, &people);
        }
        let mut by_keys: Vec<Vec<usize>> = Vec::new();
        for &at in &group.plans {
            match by_keys.iter_mut().find(|alike| share_keys(&offers[alike[0]], &offers[at])) {
                Some(alike) => alike.push(at),
                None => by_keys.push(vec![at]),
            }
        }
        for alike in by_keys {
            let keys = names(&alike);
            for (own, at) in alike.into_iter().enumerate() {
                releases[at].shares_keys = OtherReleases::beside(own, &keys);
            }
        }
    }
}

fn planned(
    job: &Job,
    release: &super::config::ReleaseSpec,
    (offer, settled): (&ReleasePlan, &PreparedStatistic),
    (paid, delta): (&PrivacyCost, Option<f64>),
) -> Planned {
    let schedule = &offer.schedule;
    let bounded = schedule.is_bounded() && (release.every != Every::All || job.until.is_some());
    let keys = match (settled.threshold, offer.keys.listed()) {
        (Some(threshold), _) => {
            let people = settled.finding.as_ref().map_or([threshold; 3], |finding| finding.people);
            let [found_in_50, found_in_90, found_in_99] = people;
            let apart = settled.finding.as_ref().and_then(|finding| finding.apart.as_ref());
            let finding = apart.map(|found| found.percent);
            let least_people = offer.keys.least_people();
            PlannedKeys::Discovered {
                threshold,
                found_in_50,
                found_in_90,
                found_in_99,
                least_people,
                finding,
            }
        }
        (None, Some(keys)) if keys.len() > 1 || release.statistic.grouping().is_some() => {
            PlannedKeys::Public { count: keys.len() as u64 }
        }
        _ => PlannedKeys::None,
    };
    let first = schedule.window(0).map(|window| window.start());
    let last = schedule.window(schedule.count().saturating_sub(1)).filter(|_| bounded);
    let last = last.map(|window| window.end());
    let statistic = offer.statistic.as_statistic();
    let numbers = statistic.numbers_of_one(settled.noise.len());
    let noise = noise(settled, numbers);
    let above_moves = settled.above.iter().flat_map(|above| above.sensitivities.iter().map(moves_above));
    Planned {
        name: offer.name.as_str().to_owned(),
        version: offer.version,
        statistic: texts::statistic(job, release),
        windows: PlannedWindows {
            every: release.every.to_string(),
            over: release.sliding_length().map(|over| over.to_string()),
            from: first.and_then(moment),
            until: last.and_then(moment),
            count: schedule.is_bounded().then(|| schedule.count()),
            leaves_out: PlannedWindows::leave_out(job, first, last),
            weekday: PlannedWindows::weekday(release.every),
        },
        bound: texts::bound(job, release),
        keys,
        moves: settled.sensitivities.iter().map(moves).chain(above_moves).collect(),
        // The cast saturates, so the result is at most 2^64 - 1.
        expected: None,
        people_for_a_tenth: statistic.people_for_a_tenth(&statistic.errors(settled)).ceil() as u64,
        error_is_of: statistic.error_is_of(),
        near: statistic.optimality(settled, &offer.cost),
        accounting: None,
        running: parts::planned_running(settled, offer),
        alert: parts::planned_alert(settled, offer),
        top: parts::planned_top(job, settled, offer),
        marginals: parts::planned_marginals(settled, offer),
        noise,
        cost: PlannedCost::of(&offer.cost, delta),
        partial: offer.together.partial(&offer.cost).map(|partial| PlannedCost::of(&partial, delta)),
        paid_together: offer.together.windows(),
        paid: PlannedCost::of(paid, delta),
        memory: parts::planned_memory(job, (offer, release), (schedule, settled.largest)),
        shares_people: OtherReleases::default(),
        shares_keys: OtherReleases::default(),
    }
}

fn noise(settled: &PreparedStatistic, numbers: u32) -> Vec<PlannedNoise> {
    let apart = settled.finding.as_ref().and_then(|finding| finding.apart.as_ref());
    let names = |noise: &[Noised]| noise.iter().map(Noised::number).collect::<Vec<_>>();
    // The numbers of a key may be others once it is public.
    let alike = apart.filter(|found| names(&found.noise) == names(&settled.noise));
    let found = |at: usize| {
        let of_found = alike?;
        Some(FoundNoise { scale: of_found.noise.get(at)?.scale(), interval: *of_found.intervals.get(at)? })
    };
    let noise = |(at, (noised, interval)): (usize, (&Noised, &f64))| PlannedNoise {
        number: settled.numbers.get(at).map_or(noised.number().into(), |name| name.clone().into()),
        found: found(at).filter(|found| found.scale != noised.scale()),
        kind: noised.kind(),
        scale: noised.scale(),
        interval: *interval,
        one_outside_of: 10 * numbers,
        ranks: noised.ranks(),
        typical: noised.typical(),
    };
    let own = settled.noise.iter().zip(&settled.intervals).enumerate().map(noise);
    let others = apart.filter(|_| alike.is_none());
    let others = others.into_iter().flat_map(|found| found.noise.iter().zip(&found.intervals));
    let others = others.enumerate().map(noise).map(|noise| PlannedNoise {
        number: format!("{}, in the window that finds a key", noise.number).into(),
        ..noise
    });
    let above = settled.above.iter().flat_map(|above| above.noise.iter().zip(&above.intervals));
    let above = above.enumerate().map(noise).map(|noise| PlannedNoise {
        number: of_parents(&noise.number),
        found: None,
        ..noise
    });
    own.chain(others).chain(above).collect()
}

/// Returns the name of a number of the level above.
fn of_parents(number: &str) -> Cow<'static, str> {
    format!("{number} one level up").into()
}

fn moves_above(of: &NumberSensitivity) -> Moves {
    let moves = moves(of);
    Moves { number: of_parents(&moves.number), ..moves }
}

fn moves(of: &NumberSensitivity) -> Moves {
    let NumberSensitivity { number, sensitivity, point, parts } = of;
    let in_units = |moved: f64| point.float(moved / parts);
    Moves {
        number: number.clone(),
        l0: sensitivity.l0() as f64,
        linf: in_units(sensitivity.linf() as f64),
        l1: in_units(sensitivity.l1() as f64),
        l2: in_units((sensitivity.l2_squared() as f64).sqrt()),
    }
}

impl PlannedCost {
    /// Rounds up, as every printed amount is.
    fn of(amount: &PrivacyCost, delta: Option<f64>) -> PlannedCost {
        let own = delta_of(amount).to_float_up();
        match amount {
            PrivacyCost::Pure { epsilon } => {
                PlannedCost { rho: None, epsilon: Some(epsilon.to_float_up()), delta: 0.0 }
            }
            PrivacyCost::Zcdp { rho: BudgetUnits::ZERO, .. }
            | PrivacyCost::Gaussian { rho: BudgetUnits::ZERO, .. } => {
                PlannedCost { rho: Some(0.0), epsilon: Some(0.0), delta: own }
            }
            PrivacyCost::Zcdp { rho, .. } | PrivacyCost::Gaussian { rho, .. } => {
                let epsilon = delta.and_then(|delta| amount.epsilon(delta).ok());
                PlannedCost { rho: Some(rho.to_float_up()), epsilon, delta: own }
            }
            _ => PlannedCost { rho: None, epsilon: None, delta: own },
        }
    }
}

/// Formats a time as RFC 3339; `None` beyond the calendar.
fn moment(time: Time) -> Option<String> {
    if time.abs() >= LIMIT {
        return None;
    }
    jiff::Timestamp::from_microsecond(time).ok().map(|moment| moment.to_string())
}
