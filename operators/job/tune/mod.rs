//! The choice of the numbers of a job file that cost nothing but accuracy: bounds, shares and, on request,
//! windows.
//!
//! ```text
//! LogEstimate ─run─▶ EstimatedLog ─▶ LogShape
//! LogShape ─cells─▶ what each bound leaves out ─┐
//! Job ────plan────▶ noise of each bound ────────┴─▶ error ─▶ bounds ─▶ shares ─▶ bounds ─▶ Tuning ─edit─▶ job file
//! ```
//!
//! Everything is computed from the job file and the shape of a log ([`LogShape`]) that is public or made up;
//! then the protected records are not read, and nothing is charged. On request the shape is made of what a
//! second job has released of them, on a stated part of the budget ([`LogEstimate`]). A number that is chosen
//! changes the terms of its release: a job that has run with another one needs a new version of it, and what it has
//! paid is not left for the new one ([`Job::tune_beside`]).

mod edit;
mod estimate;
mod page;
mod picture;
mod ranges;
mod shares;
mod sweep;
#[cfg(test)]
mod tests;
mod weights;

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};

use super::config::{BoundSpec, BudgetShare, Every, Job, PriceSpec, ReleaseSpec};
use super::log_shape::{EstimatedLog, LogShape};
use super::plan::longer;
use super::run::BudgetLeft;
use super::unfit::UnfitJob;
use crate::dataflow::RunError;
pub use edit::EditedJob;
pub use estimate::{EstimateError, LogEstimate, StatedKeys};
pub use ranges::RangeAdvice;
use sweep::{RelativeError, ReleaseSweep, TriedBound};
pub use weights::WeightAdvice;

/// The sentence that says what the error of a release is.
pub const TUNING_CRITERION: &str = "The error of a release is the mean over its cells, each weighed by its truth, of what is left \
    out of the cell and the noise that nine of ten draws stay within, beside its truth and at most all of it. The truth of a \
    mean is taken for a tenth of the width of its values at least (of 98 of 100 of them; of its range where the log has no values), \
    and for all of it at most.";

/// The numbers that may be changed beside bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TuningScope {
    /// True if shares may.
    pub shares: bool,
    /// True if windows may be longer.
    pub windows: bool,
    /// The part of the budget that shares, if they may be changed, come to together at most: what is left of the account.
    pub most: BudgetShare,
}

impl TuningScope {
    /// Bounds alone.
    pub const BOUNDS: TuningScope = TuningScope { shares: false, windows: false, most: BudgetShare::WHOLE };
}

/// The numbers that were found for a job.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Tuning {
    /// The name of the job.
    #[serde(rename = "job")]
    pub name: String,
    /// The number of records of the log.
    pub rows: u64,
    /// The number of people who have them.
    pub people: u64,
    /// The estimate of which the log is made, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<EstimatedLog>,
    /// The budget that is left for the job beside others, where its ledger was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<BudgetLeft>,
    /// True if the shares come to less than before, for more is not left.
    pub is_reduced: bool,
    /// The releases, in the order of the file.
    pub releases: Vec<TunedRelease>,
    /// The job with the chosen numbers.
    #[serde(skip)]
    pub tuned: Job,
}

/// The numbers of a release.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TunedRelease {
    /// The name of the release.
    pub name: String,
    /// The reason why the release is left as it is, if it is not tuned.
    pub left: Option<&'static str>,
    /// The numbers of the job file.
    pub present: Option<TunedChoice>,
    /// The chosen numbers.
    pub chosen: Option<TunedChoice>,
    /// The error of each bound of keys, with the chosen other numbers.
    pub keys: Vec<SweptBound>,
    /// The error of each bound of records of a key, with the chosen other numbers.
    pub per_key: Vec<SweptBound>,
    /// The error of each weight, with the chosen other numbers, where the job file states one.
    pub weights: Vec<SweptBound>,
    /// Advice to count people in part, where that is better and the job file states no weight.
    pub weight: Option<WeightAdvice>,
    /// The error of each share, with the best bound of each; empty unless shares may change.
    pub shares: Vec<SweptShare>,
    /// The error of each length of the windows, with the best bound of each; empty unless it was asked for.
    pub windows: Vec<SweptWindow>,
    /// Advice on the range of a sum or a mean, where the log has values and another range is better.
    pub range: Option<RangeAdvice>,
}

/// The numbers of a release with their error.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TunedChoice {
    /// The step between windows.
    #[serde(serialize_with = "in_words")]
    pub every: Every,
    /// The bound of keys.
    pub keys: Option<u32>,
    /// The bound of records of a key.
    pub per_key: Option<u32>,
    /// The weight of the bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// The share of the budget.
    #[serde(serialize_with = "as_number")]
    pub share: BudgetShare,
    /// The error, as [`TUNING_CRITERION`] states it.
    pub error: f64,
    /// The part of the error that is there without noise.
    pub left_out: f64,
}

impl TunedChoice {
    fn new(every: Every, bound: BoundSpec, share: BudgetShare, found: RelativeError) -> TunedChoice {
        let BoundSpec { keys, per_key, weight, .. } = bound;
        let RelativeError { error, left_out } = found;
        TunedChoice { every, keys, per_key, weight, share, error, left_out }
    }
}

/// A bound with its error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SweptBound {
    /// The bound.
    pub bound: u32,
    /// The error.
    pub error: f64,
    /// The part of the error that is there without noise.
    pub left_out: f64,
}

/// A share of the budget with its error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SweptShare {
    /// The share.
    #[serde(serialize_with = "as_number")]
    pub share: BudgetShare,
    /// The error with the best bound.
    pub error: f64,
}

/// A length of the windows with its error.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SweptWindow {
    /// The step between windows.
    #[serde(serialize_with = "in_words")]
    pub every: Every,
    /// The error with the best bound.
    pub error: f64,
}

impl Tuning {
    /// Adds the budget that is left for the job beside others, which the scope was chosen by.
    pub fn beside(mut self, left: Option<BudgetLeft>) -> Tuning {
        // What the present version has paid is beside the shares of the tuned job, as what others have.
        let present = left.as_ref().filter(|left| left.has_present_version);
        if let (Some(estimate), Some(left)) = (&mut self.estimate, present) {
            let paid = BudgetShare::WHOLE.parts().saturating_sub(left.parts());
            estimate.others = paid.saturating_sub(estimate.share.parts());
        }
        Tuning { left, ..self }
    }

    /// Returns the places, from 0 on, of the releases that are others than those of the job that was tuned.
    pub fn replaced(&self) -> BTreeSet<usize> {
        (0..self.releases.len())
            .filter(|at| self.releases.get(*at).is_some_and(TunedRelease::is_changed))
            .collect()
    }

    /// Leaves each release as it is that would err no less with its new numbers, on what is left, than with those that it has;
    /// returns true if there is one.
    fn keep_what_errs_less(&mut self, job: &Job) -> bool {
        let mut is_kept = false;
        let specs = self.tuned.releases.iter_mut().zip(&job.releases);
        for (release, (tuned, present)) in self.releases.iter_mut().zip(specs) {
            let errs =
                |choice: &Option<TunedChoice>| choice.as_ref().map_or(f64::INFINITY, |choice| choice.error);
            if !release.is_changed() || errs(&release.chosen) < errs(&release.present) {
                continue;
            }
            *tuned = present.clone();
            release.chosen.clone_from(&release.present);
            // They were tried beside the numbers that are not chosen.
            (release.keys, release.per_key, release.shares) = (Vec::new(), Vec::new(), Vec::new());
            (release.windows, release.range) = (Vec::new(), None);
            (release.weights, release.weight) = (Vec::new(), None);
            is_kept = true;
        }
        self.is_reduced = self.tuned.shares() < job.shares();
        is_kept
    }
}

fn in_words<S: Serializer>(every: &Every, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(every)
}

pub(in crate::job) fn as_number<S: Serializer>(
    share: &BudgetShare,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(share.to_decimal().to_f64())
}

/// The part of the present error that a change leaves at most.
const SMALLER: f64 = 0.95;

/// The error that a longer window is taken for.
const LARGE: f64 = 0.1;

/// The least part of a budget, in units of [`BudgetShare::parts`], that is divided among releases: a millionth.
const LEAST: u64 = BudgetShare::WHOLE.parts() / 1_000_000;

/// A ten thousandth of the budget, in units of [`BudgetShare::parts`].
const FINE_SHARE: u64 = BudgetShare::WHOLE.parts() / 10_000;

impl Job {
    /// Chooses bounds by the shape of a log. Shares are given to the releases so that the mean of their
    /// errors is least; a release that errs by more than a tenth gets the shortest longer window with which
    /// it does not.
    ///
    /// # Errors
    ///
    /// If the job cannot be planned, or its windows have no end.
    pub fn tune(&self, shape: &LogShape, scope: TuningScope) -> Result<Tuning, UnfitJob> {
        let start = match scope.shares {
            true => self.within(shape, scope.most.parts(), None),
            false => self.clone(),
        };
        self.tune_from(start, shape, scope)
    }

    /// Chooses numbers for a job from these, whose shares may be less than the present ones.
    fn tune_from(&self, start: Job, shape: &LogShape, scope: TuningScope) -> Result<Tuning, UnfitJob> {
        if self.releases.is_empty() {
            return Err(UnfitJob::new("release", "found none; questions are not tuned, add a [[release]]"));
        }
        for (at, offer) in self.release_plans(self.horizon())?.iter().enumerate() {
            if !offer.schedule.is_bounded() {
                let place = format!("release[{}].every", at + 1);
                return Err(UnfitJob::new(place, "found no last window; give job.until"));
            }
        }
        let is_reduced = start.shares() < self.shares();
        let mut tuned = start.clone();
        let mut swept: Vec<Vec<SweptWindow>> = vec![Vec::new(); self.releases.len()];
        if scope.windows {
            for (at, swept) in swept.iter_mut().enumerate() {
                start.longer_windows((at, shape), &mut tuned, swept);
            }
        }
        let sweep =
            |(at, release): (usize, &ReleaseSpec)| ReleaseSweep::of(&start, (at, shape), release.clone());
        let sweeps: Vec<Result<ReleaseSweep<'_>, &'static str>> =
            tuned.releases.iter().enumerate().map(sweep).collect();
        let known: Vec<Option<&ReleaseSweep<'_>>> = sweeps.iter().map(|sweep| sweep.as_ref().ok()).collect();
        let by_bound: Vec<Option<ChosenBound>> =
            known.iter().map(|sweep| sweep.and_then(ChosenBound::of_present_share)).collect();
        let shares = match scope.shares {
            true => shares::least_mean_error(&known),
            false => vec![None; known.len()],
        };
        let by_share: Vec<Option<ChosenBound>> = known
            .iter()
            .zip(&shares)
            .zip(&by_bound)
            .map(|((sweep, share), found)| match share {
                Some(share) => sweep.and_then(|sweep| ChosenBound::of(sweep, *share)),
                None => found.clone(),
            })
            .collect();
        let found = if is_better(&by_share, &by_bound, &shares) { by_share } else { by_bound };
        let mut releases = Vec::with_capacity(sweeps.len());
        for (at, (sweep, windows)) in sweeps.iter().zip(swept).enumerate() {
            let Some(release) = self.releases.get(at) else { continue };
            let present = match (sweep, &windows[..]) {
                (Ok(sweep), []) if !is_reduced => choice_of(sweep, release),
                // The windows and the share that were chosen may be others than the present ones.
                (Ok(_), _) => {
                    let now = ReleaseSweep::of(self, (at, shape), release.clone());
                    now.ok().and_then(|now| choice_of(&now, release))
                }
                (Err(_), _) => None,
            };
            let chosen = found.get(at).cloned().flatten();
            if let (Some(found), Some(release)) = (&chosen, tuned.releases.get_mut(at)) {
                release.bound = found.bound;
                release.price = PriceSpec::Share(found.share);
            }
            let every = tuned.releases.get(at).map_or(release.every, |release| release.every);
            let of_keys = chosen.as_ref().map_or(Vec::new(), ChosenBound::of_keys);
            let of_records = chosen.as_ref().map_or(Vec::new(), ChosenBound::of_records);
            let of_weights = chosen.as_ref().map_or(Vec::new(), ChosenBound::of_weights);
            let weight = match (sweep, &chosen) {
                (Ok(sweep), Some(found)) => WeightAdvice::of(sweep, found),
                _ => None,
            };
            let of_shares = match (sweep, &chosen) {
                (Ok(sweep), Some(found)) if scope.shares => shares::swept(sweep, found.share),
                _ => Vec::new(),
            };
            let range = match (sweep, &chosen) {
                (Ok(sweep), Some(found)) => RangeAdvice::of(sweep, (at, shape), found),
                _ => None,
            };
            releases.push(TunedRelease {
                name: release.name.as_str().to_owned(),
                left: sweep.as_ref().err().copied(),
                present,
                chosen: chosen.map(|found| found.choice(every)),
                keys: of_keys,
                per_key: of_records,
                weights: of_weights,
                weight,
                shares: of_shares,
                windows,
                range,
            });
        }
        // What is written is read again and planned: a job file with it runs.
        tuned.fits()?;
        let name = self.name.as_str().to_owned();
        let releases_have = tuned.shares();
        let estimate =
            shape.estimate().map(|estimate| EstimatedLog { releases: releases_have, ..estimate.clone() });
        let (rows, people, left) = (shape.rows(), shape.people(), None);
        Ok(Tuning { name, rows, people, estimate, left, is_reduced, releases, tuned })
    }

    /// Chooses numbers as [`Job::tune`] does, beside what the account of the job has paid for others, and for those of
    /// its own releases that get other numbers: the present version of these has paid beside the new one. `left` is what
    /// is left for the job as it is. Where that is too little for the shares, those of releases whose bounds or windows
    /// change are reduced, and the others stay, which are paid for already.
    ///
    /// # Errors
    ///
    /// As of [`Job::tune`]; and any reason to refuse a run because of its ledger.
    pub fn tune_beside(
        &self,
        shape: &LogShape,
        scope: TuningScope,
        left: Option<BudgetLeft>,
    ) -> Result<Tuning, RunError> {
        // Of a rest that is left by rounding there is nothing to divide: the page says that nothing is left.
        let most = |left: &BudgetLeft| left.share().filter(|share| share.parts() >= LEAST);
        let scope = TuningScope { most: left.as_ref().and_then(most).unwrap_or(scope.most), ..scope };
        let tuning = self.tune(shape, scope)?;
        let Some(before) = left else { return Ok(tuning) };
        let replaced = tuning.replaced();
        if replaced.is_empty() {
            return Ok(tuning.beside(Some(before)));
        }
        let left = self.budget_left_without(&replaced)?.filter(|left| left.has_present_version);
        let Some(left) = left else { return Ok(tuning.beside(Some(before))) };
        if !scope.shares || tuning.tuned.shares() <= left.parts() {
            return Ok(tuning.beside(Some(left)));
        }
        // What has another share alone is better left.
        let kept = TuningScope { shares: false, ..scope };
        let tuning = self.tune(shape, kept)?;
        let replaced = tuning.replaced();
        let left = self.budget_left_without(&replaced)?;
        let most = left.as_ref().map_or(0, BudgetLeft::parts);
        if tuning.tuned.shares() <= most {
            return Ok(tuning.beside(left));
        }
        let mut tuning = self.tune_from(self.within(shape, most, Some(&replaced)), shape, kept)?;
        if !tuning.keep_what_errs_less(self) {
            return Ok(tuning.beside(left));
        }
        let left = self.budget_left_without(&tuning.replaced())?;
        Ok(tuning.beside(left))
    }

    /// Returns the job whose shares come to no more than this number of parts together: those of the releases that are
    /// tuned, and are among `only`, are reduced by one factor. The shares stay where the others alone come to more.
    fn within(&self, shape: &LogShape, most: u64, only: Option<&BTreeSet<usize>>) -> Job {
        let (mut job, given) = (self.clone(), self.shares());
        if given <= most {
            return job;
        }
        let share = |release: &ReleaseSpec| match release.price {
            PriceSpec::Share(share) => share.parts(),
            PriceSpec::Cost(_) => 0,
        };
        let is_tuned = |(at, release): (usize, &ReleaseSpec)| {
            only.is_none_or(|only| only.contains(&at))
                && ReleaseSweep::of(self, (at, shape), release.clone()).is_ok()
        };
        let is_tuned: Vec<bool> = self.releases.iter().enumerate().map(is_tuned).collect();
        let tuned: u64 = self
            .releases
            .iter()
            .zip(&is_tuned)
            .filter(|(_, is)| **is)
            .map(|(release, _)| share(release))
            .sum();
        let room = most.saturating_sub(given - tuned);
        for (release, _) in job.releases.iter_mut().zip(is_tuned).filter(|(_, is_tuned)| *is_tuned) {
            let parts = u128::from(share(release)) * u128::from(room) / u128::from(tuned.max(1));
            let parts = u64::try_from(parts).unwrap_or(0);
            // Four digits are enough of a share that has them.
            let rounded = parts / FINE_SHARE * FINE_SHARE;
            let parts = if parts >= 100 * FINE_SHARE { rounded } else { parts };
            if let Some(share) = shares::of_parts(parts) {
                release.price = PriceSpec::Share(share);
            }
        }
        job
    }

    /// Tries longer windows for a release, and gives it the shortest with which it errs by a tenth at most.
    fn longer_windows(&self, (at, shape): (usize, &LogShape), tuned: &mut Job, swept: &mut Vec<SweptWindow>) {
        let Some(release) = self.releases.get(at) else { return };
        let Ok(now) = ReleaseSweep::of(self, (at, shape), release.clone()) else { return };
        let Some(error) = ChosenBound::of_present_share(&now).map(|found| found.error.error) else { return };
        swept.push(SweptWindow { every: now.release.every, error });
        let mut release = now.release.clone();
        let mut is_chosen = error <= LARGE;
        while let Some(every) = longer(&release).into_iter().next() {
            release.every = every;
            let mut changed = tuned.clone();
            if let Some(changed) = changed.releases.get_mut(at) {
                changed.every = every;
            }
            if changed.fits().is_err() {
                continue;
            }
            let Ok(sweep) = ReleaseSweep::of(self, (at, shape), release.clone()) else { continue };
            let Some(found) = ChosenBound::of_present_share(&sweep) else { continue };
            swept.push(SweptWindow { every, error: found.error.error });
            if !is_chosen && found.error.error <= LARGE {
                (*tuned, is_chosen) = (changed, true);
            }
        }
    }

    /// Refuses a job whose file would be refused, or not planned.
    fn fits(&self) -> Result<(), UnfitJob> {
        // Paths were resolved, and mean the same beside a file of the working directory.
        let read = Job::parse("job.toml", &self.to_string());
        let read = read.map_err(|mistakes| match mistakes.iter().next() {
            Some(mistake) => UnfitJob::new(mistake.field(), mistake.to_string()),
            None => UnfitJob::new("release", "found numbers that are refused; give others"),
        })?;
        read.release_plans(read.horizon()).map(|_| ())
    }
}

/// The best bound of a release at a share, and what else was tried.
#[derive(Clone, Debug)]
struct ChosenBound {
    bound: BoundSpec,
    share: BudgetShare,
    error: RelativeError,
    tried: Vec<TriedBound>,
}

impl ChosenBound {
    fn of_present_share(sweep: &ReleaseSweep<'_>) -> Option<ChosenBound> {
        ChosenBound::of(sweep, sweep.share())
    }

    /// Finds the bound with the least error; the stated one, unless another is better by a twentieth.
    fn of(sweep: &ReleaseSweep<'_>, share: BudgetShare) -> Option<ChosenBound> {
        let tried = sweep.sweep(share);
        let best = tried.iter().min_by(|one, other| one.found.error.total_cmp(&other.found.error))?;
        let present = tried.iter().find(|tried| tried.bound == sweep.release.bound);
        let chosen = match present {
            Some(present) if best.found.error > SMALLER * present.found.error => present,
            _ => best,
        };
        let (bound, error) = (chosen.bound, chosen.found);
        Some(ChosenBound { bound, share, error, tried })
    }

    fn choice(&self, every: Every) -> TunedChoice {
        TunedChoice::new(every, self.bound, self.share, self.error)
    }

    /// Returns the bounds of keys that were tried beside the chosen bound of records.
    fn of_keys(&self) -> Vec<SweptBound> {
        let beside = |tried: &&TriedBound| tried.bound == BoundSpec { keys: tried.bound.keys, ..self.bound };
        self.tried.iter().filter(beside).filter_map(|tried| swept(tried.bound.keys, tried.found)).collect()
    }

    /// Returns the bounds of records that were tried beside the chosen bound of keys.
    fn of_records(&self) -> Vec<SweptBound> {
        let beside =
            |tried: &&TriedBound| tried.bound == BoundSpec { per_key: tried.bound.per_key, ..self.bound };
        self.tried.iter().filter(beside).filter_map(|tried| swept(tried.bound.per_key, tried.found)).collect()
    }

    /// Returns the weights that were tried beside the other chosen numbers.
    fn of_weights(&self) -> Vec<SweptBound> {
        let beside =
            |tried: &&TriedBound| tried.bound == BoundSpec { weight: tried.bound.weight, ..self.bound };
        self.tried.iter().filter(beside).filter_map(|tried| swept(tried.bound.weight, tried.found)).collect()
    }
}

fn swept(bound: Option<u32>, found: RelativeError) -> Option<SweptBound> {
    bound.map(|bound| SweptBound { bound, error: found.error, left_out: found.left_out })
}

fn choice_of(sweep: &ReleaseSweep<'_>, release: &ReleaseSpec) -> Option<TunedChoice> {
    let (bound, share) = (release.bound, sweep.share());
    Some(TunedChoice::new(release.every, bound, share, sweep.at(bound, share)?))
}

/// Returns true if the mean error of the releases that get another share is smaller than before.
fn is_better(
    by_share: &[Option<ChosenBound>],
    by_bound: &[Option<ChosenBound>],
    shares: &[Option<BudgetShare>],
) -> bool {
    let sum = |found: &[Option<ChosenBound>]| {
        let pool = found.iter().zip(shares).filter(|(_, share)| share.is_some());
        let errors = pool.filter_map(|(found, _)| found.as_ref().map(|found| found.error.error));
        errors.sum::<f64>()
    };
    sum(by_share) < SMALLER * sum(by_bound)
}
