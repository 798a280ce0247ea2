//! The error of a release over a log of a known shape, for any bound and share.
//!
//! What the bound leaves out of each cell is counted, and the noise is that of the release plan: nothing is
//! drawn. A cell errs by both together, beside its truth, and by its whole truth at most; the error of a
//! release is the mean over its cells, each weighed by its truth. So an empty cell weighs nothing, a key that
//! is not found errs by all that it has, and the error is that of the number in which a record or a person of
//! the log is counted.

use super::ranges::in_steps;
use crate::accounting::PrivacyCost;
use crate::job::config::{BoundSpec, BudgetShare, ConfigNumber, Job, PriceSpec, Protected, ReleaseSpec};
use crate::job::log_shape::LogShape;
use crate::job::log_shape::cells::{CellContent, CellMeasure, ReleaseCells};
use crate::job::release_plan::ReleasePlan;
use crate::job::statistics::{NumberErrors, StatisticSpec};
use crate::mechanisms::DecimalPoint;

/// A release with its cells.
pub(super) struct ReleaseSweep<'t> {
    job: &'t Job,
    /// The release as the job has it, but for its windows.
    pub(super) release: ReleaseSpec,
    cells: ReleaseCells,
    /// The decimal point of values.
    point: DecimalPoint,
    /// True if the log says what a bound leaves out; of a mean it needs the values for that.
    knows_bounds: bool,
    /// True if the log says how many keys a person has in a window.
    knows_keys: bool,
    /// The width, in steps, that 98 of 100 values of a mean keep within, beside which it errs; that of its range where the log
    /// has no values.
    width: Option<i64>,
}

/// The noise of a cell, in units of the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SweptNoise {
    /// The errors of its number; of a mean, of a sum and of a count.
    errors: NumberErrors,
    /// The number of people with whom a key is found, where keys are discovered.
    threshold: Option<f64>,
}

/// The error of a release.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RelativeError {
    /// The error of nine in ten: with the noise.
    pub(super) error: f64,
    /// The part of it that is there without noise: what the bound and the range leave out, and keys that are
    /// not found.
    pub(super) left_out: f64,
}

/// A bound with its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TriedBound {
    pub(super) bound: BoundSpec,
    pub(super) found: RelativeError,
}

impl<'t> ReleaseSweep<'t> {
    /// Counts the cells of the release with this index, whose windows may be others than those of the job;
    /// the reason, in words, where the release is not tuned.
    pub(super) fn of(
        job: &'t Job,
        (at, shape): (usize, &LogShape),
        release: ReleaseSpec,
    ) -> Result<ReleaseSweep<'t>, &'static str> {
        if !matches!(release.price, PriceSpec::Share(_)) {
            return Err(STATED_COST);
        }
        if release.running.is_some() {
            return Err(RUNNING);
        }
        if release.condition.is_some() && !shape.knows_conditions() {
            return Err(match shape.estimate() {
                Some(_) => "an estimate does not say which records its where keeps",
                None => "a log that is made up does not say which records its where keeps",
            });
        }
        let measure = CellMeasure::of(&release).ok_or_else(|| of_another_error(release.statistic.word()))?;
        let offer = plan_alone(job, release.clone()).ok_or("no budget is left for it")?;
        let over = (&offer.schedule, release.bound.windows);
        let cells = shape.cells(at, over, measure).ok_or("too many of its windows overlap")?;
        if cells.cells.is_empty() {
            return Err("no record of the log counts for it");
        }
        let knows_bounds = shape.has_values() || !matches!(measure, CellMeasure::Mean(..));
        // The buckets of a person are those of its values.
        let knows_keys = shape.knows_keys() || matches!(release.statistic, StatisticSpec::Histogram(_));
        let mut sweep =
            ReleaseSweep { job, release, cells, point: offer.point(), knows_bounds, knows_keys, width: None };
        // The size beside which a mean errs must not depend on the range.
        if shape.has_values() && matches!(measure, CellMeasure::Mean(..)) {
            sweep.width = sweep.values((at, shape)).as_deref().and_then(usual_width);
        }
        Ok(sweep)
    }

    /// Returns the measure of each cell.
    pub(super) fn measure(&self) -> CellMeasure {
        self.cells.measure
    }

    /// Returns the values of the records that count for a mean, or the sums of each person in each cell, in steps and in
    /// ascending order.
    pub(super) fn values(&self, (at, shape): (usize, &LogShape)) -> Option<Vec<i64>> {
        let offer = plan_alone(self.job, self.release.clone())?;
        shape.values(at, &offer.schedule, self.cells.measure)
    }

    /// Returns the sweep of the release with another range, in the steps of this one, whose error is beside the same width.
    pub(super) fn with_range(
        &self,
        (at, shape): (usize, &LogShape),
        (low, high): (i64, i64),
    ) -> Option<ReleaseSweep<'t>> {
        let mut release = self.release.clone();
        let measure = match &mut release.statistic {
            StatisticSpec::Sum(sum) => &mut sum.measure,
            StatisticSpec::Mean(mean) => &mut mean.measure,
            _ => return None,
        };
        (measure.low, measure.high) = (self.number(low)?, self.number(high)?);
        let measure = match self.cells.measure {
            CellMeasure::Sum(..) => CellMeasure::Sum(low, high),
            _ => CellMeasure::Mean(low, high),
        };
        let offer = plan_alone(self.job, release.clone())?;
        // The steps of the other range may be larger or smaller; cells are in those of the log.
        let cells = shape.cells(at, (&offer.schedule, release.bound.windows), measure)?;
        Some(ReleaseSweep {
            job: self.job,
            release,
            cells,
            point: self.point,
            knows_bounds: self.knows_bounds,
            knows_keys: self.knows_keys,
            width: self.width,
        })
    }

    /// Returns a number of steps as a number of a job file.
    pub(super) fn number(&self, steps: i64) -> Option<ConfigNumber> {
        in_steps(steps, -self.point.count())
    }

    /// Returns the share of the release.
    pub(super) fn share(&self) -> BudgetShare {
        match self.release.price {
            PriceSpec::Share(share) => share,
            PriceSpec::Cost(_) => BudgetShare::WHOLE,
        }
    }

    /// Returns the noise of a cell with this bound, at the price of the release.
    fn noise(&self, release: ReleaseSpec) -> Option<SweptNoise> {
        let offer = plan_alone(self.job, release)?;
        let settled = offer.prepare(self.job).ok()?;
        let errors = offer.statistic.as_statistic().errors(&settled);
        Some(SweptNoise { errors, threshold: settled.threshold.map(|threshold| threshold as f64) })
    }

    /// Returns the content of each cell with a bound.
    fn bounded(&self, bound: &BoundSpec) -> Vec<CellContent> {
        match (&self.job.privacy.privacy_unit, bound.weight) {
            // Each record is protected by itself.
            (Protected::Record, _) => self.cells.bounded(u32::MAX, u32::MAX),
            (Protected::Person { .. }, Some(_)) => self.cells.weighed(bound, self.release.noise),
            (Protected::Person { .. }, None) => {
                self.cells.bounded(bound.most_keys(), bound.per_key.unwrap_or(1))
            }
        }
    }

    /// Returns the error with a bound, at a share.
    pub(super) fn at(&self, bound: BoundSpec, share: BudgetShare) -> Option<RelativeError> {
        let noise = self.noise(self.with(bound, share))?;
        Some(self.error(&self.bounded(&bound), &noise))
    }

    /// Returns the release with another bound and another share.
    pub(super) fn with(&self, bound: BoundSpec, share: BudgetShare) -> ReleaseSpec {
        ReleaseSpec { bound, price: PriceSpec::Share(share), ..self.release.clone() }
    }

    /// Returns each bound with its error at a share: of each part that the job file states, its own number,
    /// and the usual ones up to the largest that somebody of the log has.
    pub(super) fn sweep(&self, share: BudgetShare) -> Vec<TriedBound> {
        let mut found = Vec::new();
        self.each_bound(|bound| {
            let error = self.at(bound, share);
            found.extend(error.map(|error| TriedBound { bound, found: error }));
        });
        found
    }

    /// Returns the least error of any bound at each of these shares. The noise follows from that at the first
    /// one: it is the wider the smaller the share, by its root where the budget is of zCDP.
    pub(super) fn curve(&self, shares: &[BudgetShare]) -> Vec<f64> {
        let mut least = vec![1.0f64; shares.len()];
        let Some(first) = shares.first() else { return least };
        let power = if matches!(self.job.account().cap(), PrivacyCost::Pure { .. }) { 1.0 } else { 0.5 };
        self.each_bound(|bound| {
            let Some(noise) = self.noise(self.with(bound, *first)) else { return };
            let bounded = self.bounded(&bound);
            for (share, least) in shares.iter().zip(&mut least) {
                let factor = (first.parts() as f64 / share.parts() as f64).powf(power);
                *least = least.min(self.error(&bounded, &noise.times(factor)).error);
            }
        });
        least
    }

    /// Returns the error that is left without noise and with every bound.
    pub(super) fn floor(&self, share: BudgetShare) -> f64 {
        let most = |bound: Option<u32>| bound.map(|_| u32::MAX);
        let bound = self.release.bound;
        let threshold = self.noise(self.with(bound, share));
        let (keys, per_key) = (most(bound.keys.or(bound.weight)), most(bound.per_key));
        let bound = BoundSpec { keys, per_key, weight: None, ..bound };
        let threshold = threshold.and_then(|noise| noise.threshold);
        let none = SweptNoise { errors: NumberErrors::NONE, threshold };
        self.error(&self.bounded(&bound), &none).error
    }

    fn each_bound(&self, mut each: impl FnMut(BoundSpec)) {
        let bound = &self.release.bound;
        let by_person = matches!(self.job.privacy.privacy_unit, Protected::Person { .. });
        let tried = |stated: Option<u32>, most: u32| match stated.filter(|_| by_person && self.knows_bounds) {
            Some(stated) => usual(stated, most).into_iter().map(Some).collect(),
            None => vec![stated],
        };
        // A sum has all records of a person, so a bound of them changes nothing.
        let has_records = matches!(self.cells.measure, CellMeasure::Records | CellMeasure::Mean(..));
        let per_key = match has_records {
            true => tried(bound.per_key, self.cells.most_records),
            false => vec![bound.per_key],
        };
        let keys = match self.knows_keys {
            true => tried(bound.keys, self.cells.most_keys),
            false => vec![bound.keys],
        };
        // A weight takes the place of keys, which are then those that may count in part.
        let most = bound.most_keys();
        let bounds: Vec<BoundSpec> = match bound.weight {
            Some(weight) if self.knows_keys && self.knows_bounds => {
                let tried = usual(weight, self.cells.most_keys).into_iter();
                let below = tried.filter(|tried| *tried < most || *tried == weight);
                below.map(|weight| BoundSpec { weight: Some(weight), ..*bound }).collect()
            }
            Some(_) => vec![*bound],
            None => keys.into_iter().map(|keys| BoundSpec { keys, ..*bound }).collect(),
        };
        for bound in bounds {
            per_key.iter().for_each(|per_key| each(BoundSpec { per_key: *per_key, ..bound }));
        }
    }

    /// Returns the weight with the least error beside the other numbers of a bound without one, and as many keys as
    /// people have; `None` if nobody can count in part, or the log does not say how many keys a person has.
    pub(super) fn best_weight(&self, bound: BoundSpec, share: BudgetShare) -> Option<TriedBound> {
        let stated = bound.keys?;
        if bound.weight.is_some() || !self.release.can_be_weighted() || !self.knows_keys || !self.knows_bounds
        {
            return None;
        }
        // Where keys are listed more of them cost nothing; each key that is discovered does.
        let most = self.cells.most_keys;
        let keys = match self.release.selects_partitions() {
            false => vec![most],
            true => {
                let times = [1, 2, 4].map(|times| stated.saturating_mul(times)).into_iter();
                times.filter(|keys| *keys < most).chain([most]).collect()
            }
        };
        let tried = keys.iter().flat_map(|keys| {
            let weights = usual(stated, *keys).into_iter().filter(move |weight| weight < keys);
            weights.map(|weight| BoundSpec { keys: Some(*keys), weight: Some(weight), ..bound })
        });
        let found = tried.filter_map(|bound| Some(TriedBound { bound, found: self.at(bound, share)? }));
        found.min_by(|one, other| one.found.error.total_cmp(&other.found.error))
    }

    /// Returns the error of the release, from what a bound leaves of each cell and the noise.
    fn error(&self, bounded: &[CellContent], noise: &SweptNoise) -> RelativeError {
        let (mut weight, mut error, mut left_out) = (0.0, 0.0, 0.0);
        let mut found = None;
        for (cell, kept) in self.cells.cells.iter().zip(bounded) {
            // A key that is found stays in the windows from then on.
            if noise.threshold.is_none_or(|threshold| kept.present >= threshold) {
                found = Some(cell.key);
            }
            let is_found = noise.threshold.is_none() || found == Some(cell.key);
            let (own, bias, noised) = self.cell_error(&cell.content, kept, noise);
            let (bias, noised) = if is_found { (bias, noised) } else { (1.0, 0.0) };
            weight += own;
            left_out += own * bias.min(1.0);
            error += own * (bias + noised).min(1.0);
        }
        let mean = |sum: f64| if weight > 0.0 { sum / weight } else { 1.0 };
        RelativeError { error: mean(error), left_out: mean(left_out) }
    }

    /// Returns the weight of a cell, and beside its truth what is left out of it and its noise; the truth of a
    /// mean is taken for a tenth of the width of its values at least, and for all of it at most.
    fn cell_error(&self, truth: &CellContent, kept: &CellContent, noise: &SweptNoise) -> (f64, f64, f64) {
        let units = |steps: f64| self.point.float(steps);
        let total = |truth: f64, kept: f64| match truth.abs() {
            0.0 => (0.0, 0.0, 0.0),
            size => (size, (truth - kept).abs() / size, noise.errors.nth(0) / size),
        };
        match self.cells.measure {
            CellMeasure::People => total(truth.people, kept.people),
            CellMeasure::Records => total(truth.records, kept.records),
            CellMeasure::Sum(..) => total(units(truth.sum), units(kept.sum)),
            CellMeasure::Mean(..) if kept.records <= 0.0 => (truth.records, 1.0, 0.0),
            CellMeasure::Mean(low, high) => {
                let (low, high) = (units(low as f64), units(high as f64));
                let middle = f64::midpoint(high, low);
                let width = self.width.map_or(high - low, |width| units(width as f64));
                let [truly, mean] = [truth, kept].map(|content| units(content.sum) / content.records);
                let size = truly.abs().clamp(width / 10.0, width);
                let noised = noise.errors.of_sum(&[(0, 1.0), (1, mean - middle)]) / kept.records;
                (truth.records, (truly - mean).abs() / size, noised / size)
            }
        }
    }
}

impl SweptNoise {
    /// Returns the noise that is wider by a factor.
    fn times(&self, factor: f64) -> SweptNoise {
        let threshold = self.threshold.map(|threshold| 1.0 + (threshold - 1.0) * factor);
        SweptNoise { errors: self.errors.times(factor), threshold }
    }
}

/// Returns the width that 98 of 100 values keep within, which are in ascending order.
fn usual_width(values: &[i64]) -> Option<i64> {
    let at =
        |hundredths: usize| values.get((values.len().checked_sub(1)? * hundredths).div_ceil(100)).copied();
    Some(at(99)?.saturating_sub(at(1)?).max(1))
}

/// The reason for which a release with a stated cost is not tuned.
pub(super) const STATED_COST: &str =
    "its price is a stated cost, which stays with its bounds; give it a share to have it tuned";

/// The reason for which a running release is not tuned.
pub(super) const RUNNING: &str = "it is a running total, whose bounds hold for all windows together";

/// Returns the reason for which a statistic of this word is not tuned: its error is no part of one number of each key.
fn of_another_error(word: &str) -> &'static str {
    match word {
        "alert" => "an alert is silent or fires, and releases no number",
        "top" => "the most frequent keys are picked, and no number of them is released",
        "marginals" => "marginals are of several tables, each with an error of its own",
        "quantile" => "a quantile errs by ranks, and not by a part of its value",
        "max" => "a maximum errs by people above it, and not by a part of its value",
        "min" => "a minimum errs by people below it, and not by a part of its value",
        "variance" => "a variance has three numbers, and an error of its own",
        "ratio" => "a ratio is of two sums, each with an error of its own",
        "means" => "means are of several fields, with one error of all together",
        "altogether" => "totals that are released altogether have one error of all together",
        _ => "its error is not that of one number of each key",
    }
}

/// Plans a release alone: its share is of the whole budget, so that the others do not decide its price.
fn plan_alone(job: &Job, release: ReleaseSpec) -> Option<ReleasePlan> {
    let alone = Job { releases: vec![release], ..job.clone() };
    alone.release_plans(alone.horizon()).ok()?.into_iter().next()
}

/// Returns 1, 2, 3, 5, the powers of two from 4 on, and the largest number, in ascending order, with the one
/// that is stated.
fn usual(stated: u32, most: u32) -> Vec<u32> {
    let powers = (2..31).map(|power| 1u32 << power);
    let mut usual: Vec<u32> = [1, 2, 3, 5].into_iter().chain(powers).filter(|one| *one < most).collect();
    usual.extend([stated, most.max(1)]);
    usual.sort_unstable();
    usual.dedup();
    usual
}
