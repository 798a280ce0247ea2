//! The audit copy of a job: one of its releases, of reserved keys, at the price that it has in the job.
//!
//! The copy reads lines of JSON with fields of their own, in place of the fields, conditions and tables of the job. Its
//! statistic, contribution bound, noise, windows and promise are those of the job, and so is its account, in a ledger that is
//! thrown away.

use std::path::Path;

use super::canaries::{CanaryShape, Slots, named};
use crate::accounting::{BudgetUnits, PrivacyCost};
use crate::decimal::Decimal;
use crate::invalid::{Invalid, InvalidKind};
use crate::job::config::{
    BoundSpec, CostSpec, GroupingSpec, Job, KeyPart, KeysSpec, PriceSpec, Protected, RecordFormat,
    RecordOrder, ReleaseSpec, ResourceLimits, SourcePlace, SourceSpec, TimeField, TimeFormat,
};
use crate::job::derived::DerivedFields;
use crate::job::release_plan::ReleasePlan;
use crate::job::statistics::{AuditedStatistic, CellKey, NoiseKind, Reserved, StatisticSpec};
use crate::job::unfit::UnfitJob;
use crate::ledger::LedgerKey;

/// The fields of the lines of a copy.
pub(super) mod field {
    pub(in crate::job::audit) const PERSON: &str = "audit person";
    pub(in crate::job::audit) const TIME: &str = "audit time";
    pub(in crate::job::audit) const ID: &str = "audit id";
    pub(in crate::job::audit) const PARENT: &str = "audit parent";
    pub(in crate::job::audit) const KEY: &str = "audit key";
    pub(in crate::job::audit) const VALUE: &str = "audit value";
}

/// The most windows of the copy of a job without an end.
const WINDOWS: u64 = 24;

/// The copy of a release.
pub(super) struct AuditCopy {
    pub(super) job: Job,
    /// The plan of its only release.
    pub(super) plan: ReleasePlan,
    pub(super) slots: Slots,
    pub(super) shape: CanaryShape,
}

/// The reason for which a release is not audited.
pub(super) type NotAudited = &'static str;

impl AuditCopy {
    /// Copies the release with this plan into a directory, with room for a number of canaries.
    pub(super) fn of(
        job: &Job,
        (release, plan): (&ReleaseSpec, &ReleasePlan),
        canaries: u64,
        directory: &Path,
    ) -> Result<Result<AuditCopy, NotAudited>, UnfitJob> {
        if let Some(why) = obstacle(release) {
            return Ok(Err(why));
        }
        let refused = |field: &'static str| move |invalid: Invalid| UnfitJob::at(field, &invalid);
        let limits = job.contribution_bound(plan).map_err(refused("bound"))?;
        let windows = windows(job, plan);
        let slots = Slots::of(&plan.schedule, windows, (canaries, limits.keys()));
        let rollup = plan.is_rolled_up();
        let by = [field::PARENT, field::KEY].map(|name| KeyPart::Field(name.to_owned()));
        let by = if rollup { by.to_vec() } else { by[1..].to_vec() };
        let keys = KeysSpec::Listed(slots.keys(rollup));
        let grouping = GroupingSpec { by, keys, rollup };
        let reserved = Reserved { grouping: &grouping, keys: slots.cells(), value: field::VALUE };
        let Some(AuditedStatistic { statistic, value }) = release.statistic.audited(&reserved) else {
            return Ok(Err("its numbers are no sums with noise of their own"));
        };
        let records = statistic.records_to_move(limits.per_key());
        let bound = BoundSpec { keys: u32::try_from(limits.keys()).ok(), ..release.bound };
        let price = PriceSpec::Cost(stated(&plan.cost, None).map_err(refused("share"))?);
        let copied = ReleaseSpec { condition: None, statistic, bound, price, ..release.clone() };
        let job = copied_job(job, (copied, plan), windows, directory);
        let mut plans = job.release_plans(job.horizon())?;
        let Some(plan) = plans.pop() else { return Ok(Err("it has no window")) };
        let shape = CanaryShape::of(&plan, (limits.keys(), records, value), limits.unit())
            .map_err(refused("range"))?;
        Ok(Ok(AuditCopy { job, plan, slots, shape }))
    }
}

/// The copy of a release that discovers keys, of which each canary has its own and is alone with them.
pub(super) struct LoneCopy {
    pub(super) job: Job,
    pub(super) plan: ReleasePlan,
    pub(super) shape: CanaryShape,
    /// The delta of a window: that of the job, or a larger one of which the effect is seen.
    pub(super) delta: f64,
}

/// The delta of a window below which nothing is seen of it, with as many canaries as there are.
const SEEN: f64 = 1e-4;

impl LoneCopy {
    /// Copies the release with this plan into a directory; `None` if it discovers no keys.
    pub(super) fn of(
        job: &Job,
        (release, plan): (&ReleaseSpec, &ReleasePlan),
        directory: &Path,
    ) -> Result<Option<LoneCopy>, UnfitJob> {
        let refused = |field: &'static str| move |invalid: Invalid| UnfitJob::at(field, &invalid);
        let is_finding = release.selects_partitions() && !plan.is_rolled_up() && obstacle(release).is_none();
        let Some((rho, own)) = plan.cost.rho_and_delta().filter(|_| is_finding) else { return Ok(None) };
        let by = vec![KeyPart::Field(field::KEY.to_owned())];
        let grouping = GroupingSpec { by, keys: KeysSpec::Discover, rollup: false };
        let reserved = Reserved { grouping: &grouping, keys: 0, value: field::VALUE };
        let Some(AuditedStatistic { statistic, value }) = release.statistic.audited(&reserved) else {
            return Ok(None);
        };
        let limits = job.contribution_bound(plan).map_err(refused("bound"))?;
        let windows = windows(job, plan);
        // The same code finds keys at any delta, and all windows together keep within a half.
        let seen = SEEN.min(0.5 / windows as f64).max(own.to_float_up());
        let delta = BudgetUnits::at_most_float("delta", seen).map_err(refused("delta"))?;
        // A little less than in the job: the rounding of the other delta is in the cap.
        let noise = plan.cost.alike(BudgetUnits::from_bits(rho.to_bits() / 1_000_000 * 999_999), own);
        let price = PriceSpec::Cost(stated(&noise, Some(delta)).map_err(refused("share"))?);
        let records = statistic.records_to_move(limits.per_key());
        // A key that a person brings to its least number of people is found as often as that of a lone one.
        let copied = ReleaseSpec { condition: None, statistic, price, least_people: None, ..release.clone() };
        let mut job = copied_job(job, (copied, plan), windows, directory);
        let of_keys = job.account.cap.rho_and_delta().map_or(own, |(_, delta)| delta).to_float_up();
        let all = (seen * windows as f64).max(of_keys) * (1.0 + 1e-9);
        let stated = |float: f64| Decimal::parse("delta", &format!("{float:.15e}")).map_err(refused("delta"));
        let budget = &mut job.privacy.budget;
        // The rest of delta, by which epsilon comes to a rho, stays as it is.
        let rest = budget.delta.as_ref().map_or(0.0, Decimal::to_f64) - of_keys;
        (budget.delta, budget.delta_for_keys) = (Some(stated(rest + all)?), Some(stated(all)?));
        job.account.cap = job.cap_of_budget(true).map_err(refused("delta"))?;
        let mut plans = job.release_plans(job.horizon())?;
        let Some(plan) = plans.pop() else { return Ok(None) };
        let shape = CanaryShape::of(&plan, (limits.keys(), records, value), limits.unit())
            .map_err(refused("range"))?;
        Ok(Some(LoneCopy { job, plan, shape, delta: seen }))
    }
}

/// Returns the job with this release alone, in a directory, up to this number of windows where it has no end.
fn copied_job(
    job: &Job,
    (release, plan): (ReleaseSpec, &ReleasePlan),
    windows: u64,
    directory: &Path,
) -> Job {
    let is_timed = plan.schedule.count() > 1 || job.source.time.is_some();
    let mut copy = Job { releases: vec![release], asks: Vec::new(), ..job.clone() };
    copy.until = copy.until.or_else(|| Some(plan.schedule.window(windows.checked_sub(1)?)?.end()));
    copy.source = source(job, directory, is_timed);
    (copy.tables, copy.fields, copy.derived) =
        (Vec::new(), DerivedFields::default(), DerivedFields::default());
    copy.limits = ResourceLimits { memory: None, spill: None };
    if let Protected::Person { field, .. } = &mut copy.privacy.privacy_unit {
        field::PERSON.clone_into(field);
    }
    copy.privacy.ledger = directory.join("audit.ledger");
    copy.privacy.key = LedgerKey::beside(&copy.privacy.ledger);
    copy.privacy.anchor = None;
    copy
}

/// Returns the number of windows of a copy.
fn windows(job: &Job, plan: &ReleasePlan) -> u64 {
    plan.schedule.count().min(if job.until.is_some() { u64::MAX } else { WINDOWS })
}

/// Returns the reason for which a release cannot be audited by canaries in its cells.
fn obstacle(release: &ReleaseSpec) -> Option<NotAudited> {
    if release.running.is_some() {
        return Some("its windows are added up, with noise that is correlated");
    }
    if matches!(release.statistic, StatisticSpec::Alert(_)) {
        return Some("it says of a window whether a number is above a threshold, and not the number");
    }
    if matches!(release.statistic, StatisticSpec::Top(_)) {
        return Some("it says which keys have the largest numbers, and not the numbers");
    }
    if matches!(release.statistic, StatisticSpec::Marginals(_)) {
        return Some("its tables are put together from numbers that are not released");
    }
    if release.bound.weight.is_some() {
        return Some("its people count in parts of a step");
    }
    let is_additive = matches!(release.noise, NoiseKind::Gaussian | NoiseKind::Laplace);
    (!is_additive).then_some("it draws an answer, and adds noise to no number")
}

/// Returns the source of a copy: lines of JSON in its directory.
fn source(job: &Job, directory: &Path, is_timed: bool) -> SourceSpec {
    let time = is_timed.then(|| TimeField { field: field::TIME.to_owned(), format: TimeFormat::Rfc3339 });
    SourceSpec {
        records: RecordFormat::Jsonl(SourcePlace::Files(directory.join("canaries.jsonl"))),
        time,
        order: RecordOrder::Any,
        late: None,
        bad_lines: 0,
        condition: None,
        id: job.source.id.as_ref().map(|_| field::ID.to_owned()),
        fields: None,
        explode: None,
        http: None,
        ..job.source.clone()
    }
}

/// Returns the price of a window, with a delta for keys, as a job file states it: rounded down to 16 digits.
fn stated(cost: &PrivacyCost, delta: Option<BudgetUnits>) -> Result<CostSpec, Invalid> {
    let decimal = |units: BudgetUnits| -> Result<Decimal, Invalid> {
        let mut float = units.to_float_down();
        loop {
            let decimal = Decimal::parse("cost", &format!("{float:.15e}"))?;
            if BudgetUnits::at_least("cost", &decimal)? <= units {
                return Ok(decimal);
            }
            float *= 1.0 - 1e-15;
        }
    };
    let delta = delta.map(decimal).transpose()?;
    Ok(match cost {
        PrivacyCost::Pure { epsilon } | PrivacyCost::Approximate { epsilon, .. } => {
            CostSpec { epsilon: Some(decimal(*epsilon)?), rho: None, delta }
        }
        PrivacyCost::Zcdp { rho, .. } | PrivacyCost::Gaussian { rho, .. } => {
            CostSpec { epsilon: None, rho: Some(decimal(*rho)?), delta }
        }
        PrivacyCost::Renyi(_) => {
            return Err(Invalid::new("currency", InvalidKind::Mixed, "rho or pure epsilon"));
        }
    })
}

impl AuditCopy {
    /// Returns the text under which each cell is released.
    pub(super) fn keys(&self) -> Vec<String> {
        let cells = self.slots.cells();
        match self.plan.keys.listed() {
            // The first bucket is below all edges.
            Some(buckets) if matches!(buckets.first(), Some(CellKey::Bucket(..))) => {
                buckets.iter().skip(1).take(cells).map(ToString::to_string).collect()
            }
            _ => (0..cells as u64).map(named).collect(),
        }
    }
}
