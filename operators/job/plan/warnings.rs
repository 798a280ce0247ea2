//! Estimates of the usefulness of releases, and warnings, without data: from the job file, by rules that are
//! stated here.
//!
//! A cell of `n` people is assumed to hold one record of each, and a sum half of the most that counts of
//! each. If the 90% interval of its noise is within a tenth of its value, the cell is worth publishing; if
//! the interval is as wide as the value, the cell is mostly noise.

use super::{NoiseOptimality, Plan, PlannedKeys, PlannedNoise};
use crate::accounting::{DiscreteGaussianCost, DiscreteLaplaceCost, PrivacyCost};
use crate::job::config::{BudgetShare, Job, PriceSpec, ReleaseSpec, StatisticSpec};
use crate::job::release_plan::{PreparedStatistic, ReleasePlan};
use crate::mechanisms::{DecimalPoint, Noised};

/// The number of people above which a cell is unlikely to be useful.
const MANY: u64 = 10_000;
/// The threshold above which a discovered key is seldom released.
const SELDOM: i64 = 1_000;
/// The number of public keys above which most rows are noise.
const ROWS: u64 = 100_000;
/// The epsilon above which little is promised: a likelihood may change twenty-thousandfold.
const LARGE: f64 = 10.0;
/// The delta above which one person in a thousand may be revealed outright.
const LIKELY: f64 = 1e-3;

/// The factor of fewer people from which another noise is worth a warning.
const WORTH: f64 = 1.1;

/// Returns the number of people in a cell with which nine tenths of all errors are below a tenth.
pub(super) fn people_for_a_tenth(release: &ReleaseSpec, noise: &[PlannedNoise]) -> u64 {
    let reach = |number: usize| noise.get(number).map_or(0.0, |noise| noise.interval);
    let people = match &release.statistic {
        StatisticSpec::Sum(measure, _) => {
            let most = measure.low.to_f64().abs().max(measure.high.to_f64().abs());
            10.0 * reach(0) / (most / 2.0)
        }
        // A tenth of the range; the count contributes its own noise times the mean's distance from the
        // middle, half of that range at most.
        StatisticSpec::Mean(measure, _) => {
            let width = measure.high.to_f64() - measure.low.to_f64();
            10.0 * (reach(0) / width + reach(1) / 2.0)
        }
        // If a rank is promised, a tenth of the people; of several quantiles, the one with the largest error.
        _ => 10.0 * noise.iter().map(|noise| noise.interval).fold(0.0, f64::max),
    };
    // The cast saturates, so the result is at most 2^64 - 1.
    people.ceil() as u64
}

pub(super) fn warnings(job: &Job, offers: &[ReleasePlan], plan: &Plan) -> Vec<String> {
    let mut warnings = Vec::new();
    for (index, (planned, offer)) in plan.releases.iter().zip(offers).enumerate() {
        let mut warn =
            |words: String| warnings.push(format!("release[{}], {}: {words}", index + 1, planned.name));
        let needed = planned.people_for_a_tenth;
        if needed > MANY {
            warn(format!(
                "a cell needs {needed} people for an error of a tenth, and one with fewer than {} is mostly noise; give it \
                 a larger share, a narrower bound or range, or longer windows",
                needed / 10
            ));
        }
        match planned.keys {
            PlannedKeys::Discovered { threshold } if threshold > SELDOM => warn(format!(
                "a key is told once about {threshold} people have it; list the keys, or give it a larger share"
            )),
            PlannedKeys::Public { count } if count > ROWS => warn(format!(
                "{count} keys are told in every window, whether anybody has them or not; list those that matter, or discover them"
            )),
            _ => {}
        }
        let (bound, listed) = (job.releases.get(index).and_then(|release| release.bound.keys), planned.keys);
        if let (Some(bound), PlannedKeys::Public { count }) = (bound, listed)
            && u64::from(bound) > count
        {
            warn(format!(
                "noise for {bound} keys of a person, where there are {count}; give bound.keys = {count}"
            ));
        }
        if let Some(times) = job
            .releases
            .get(index)
            .and_then(|release| release.sliding_length()?.over(release.every))
            .filter(|times| *times > 1)
        {
            warn(format!(
                "windows overlap, so each record is charged for {times} times; leave out over if sums of windows will do"
            ));
        }
        if let Some(noise) = planned.noise.first()
            && let Some((own, chosen)) = noise.tau.zip(offer.tau_by_choice(job))
            && own as f64 > WORTH * chosen as f64
        {
            warn(format!(
                "{} noise may be too small by {} people, and noise = \"exponential\" by {} at the same price: {:.1} times fewer",
                noise.kind,
                2 * own,
                2 * chosen,
                own as f64 / chosen as f64
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
        if offer.running.is_none()
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
    if plan.delta.is_some_and(|delta| delta > LIKELY) && job.privacy.budget.delta.is_some() {
        warnings.push(
            "privacy.budget: a delta above 1/1000; give one far below one over the number of people"
                .to_owned(),
        );
    }
    if plan.cap.epsilon.is_some_and(|epsilon| epsilon > LARGE) {
        warnings.push(
            "privacy.budget: an epsilon above 10 promises little; give a smaller one, such as 1".to_owned(),
        );
    }
    warnings.extend(unused(job));
    warnings
}

fn endless(job: &Job) -> bool {
    job.account().promise() == crate::accounting::Promise::Lifetime
}

/// Returns the number of windows of this cost that fit under a cap.
fn fitting(cap: &PrivacyCost, cost: &PrivacyCost) -> u128 {
    let times = |all: crate::accounting::BudgetUnits, one: crate::accounting::BudgetUnits| {
        all.to_bits() / one.to_bits().max(1)
    };
    match (cap, cost) {
        (PrivacyCost::Pure { epsilon: all }, PrivacyCost::Pure { epsilon: one }) => times(*all, *one),
        (PrivacyCost::Zcdp { rho: all, .. }, PrivacyCost::Zcdp { rho: one, .. }) => times(*all, *one),
        _ => 0,
    }
}

/// Warns of shares that leave a part of the budget unused. The account may be shared with another job, and a
/// stated cost may use it.
fn unused(job: &Job) -> Option<String> {
    let share = |release: &ReleaseSpec| match release.price {
        PriceSpec::Share(share) => Some(u128::from(share.parts())),
        PriceSpec::Cost(_) => None,
    };
    let given: u128 = job.releases.iter().map(share).sum::<Option<u128>>()?;
    let whole = u128::from(BudgetShare::WHOLE.parts());
    let left = whole.saturating_sub(given);
    (left * 100 >= whole).then(|| {
        let percent = left * 100 / whole;
        format!("privacy.budget: {percent}% of it is given to no release; give shares that come to 1, unless another job has the rest")
    })
}

// The optimality of noise: its deviation over the least deviation that is known to suffice for its privacy
// cost.
//
// The bounds are for additive noise of one number for each cell, drawn once, with the given sensitivity. For
// pure epsilon and one cell the least variance is that of the staircase distribution (Geng and Viswanath,
// "The optimal mechanism in differential privacy", 2014), which is known for whole numbers too; for several
// cells none is known. For zCDP no additive noise distribution is known that needs less than the continuous
// Gaussian: `L2 / sqrt(2 rho)`. For a mean the bound is that of every unbiased sum, as stated at
// [`Noised::over_bound`].

/// Returns the optimality of a release's noise; `None` for statistics by rank, for which no bound is known.
pub(super) fn noise_optimality(settled: &PreparedStatistic, offer: &ReleasePlan) -> Option<NoiseOptimality> {
    let ready = match settled {
        PreparedStatistic::Total(_, ready) => ready,
        PreparedStatistic::Mean(_, ready) => return mean(ready.noise().first()?),
        PreparedStatistic::Running(_, ready) => return total(ready.noise().first()?),
        _ => return None,
    };
    let noised = ready.noise().first()?;
    let moved = settled.sensitivity();
    let point = match (&offer.value, noised.number()) {
        (Some((_, point)), "sum") => *point,
        _ => DecimalPoint::WHOLE,
    };
    // The scale in steps, in which the noise is drawn.
    let scale = noised.scale() / point.float(1.0);
    let deviation = match noised.kind() {
        "gaussian" => DiscreteGaussianCost::new(scale, 1).ok()?.deviation(),
        "laplace" => DiscreteLaplaceCost::new(scale, 1).ok()?.deviation(),
        _ => return None,
    };
    match &offer.cost {
        PrivacyCost::Zcdp { rho, .. } => {
            let least = (moved.l2_squared() as f64 / (2.0 * rho.to_float_up())).sqrt();
            Some(NoiseOptimality {
                ratio: deviation / least,
                of: "the continuous Gaussian law of this rho, the best that is known",
            })
        }
        PrivacyCost::Pure { epsilon } if moved.l0() == 1 => {
            let least = staircase(epsilon.to_float_up(), moved.l1()).sqrt();
            Some(NoiseOptimality {
                ratio: deviation / least,
                of: "the staircase law of this epsilon, the least that is possible",
            })
        }
        _ => None,
    }
}

/// Returns the optimality of a mean's sum, at a price that pays for its count too.
fn mean(sum: &Noised) -> Option<NoiseOptimality> {
    let of = "an unbiased sum at this price, the least that is possible; a mean that clips may err by less";
    sum.over_bound().map(|ratio| NoiseOptimality { ratio, of })
}

/// Returns the optimality of running totals that are all released.
fn total(noised: &Noised) -> Option<NoiseOptimality> {
    let of = "the best linear strategy for totals that are all told, the least that is possible with Gaussian noise";
    noised.over_bound().map(|ratio| NoiseOptimality { ratio, of })
}

/// The largest sensitivity for which every staircase is tried; beyond it, the best continuous one differs by
/// less than is printed.
const TRIED: u128 = 4_096;

/// Returns the least variance of additive noise for one whole number that a person moves by `most`, at pure
/// `epsilon`.
fn staircase(epsilon: f64, most: u128) -> f64 {
    let (b, rest) = ((-epsilon).exp(), -(-epsilon).exp_m1());
    let size = most as f64;
    if most > TRIED {
        let high = (0.25 * b * b * (1.0 + b) * (1.0 + b)).cbrt();
        return size * size * (high + b) / (rest * rest);
    }
    // The density is high on the first `r` of every `most` numbers, and lower by e^-epsilon on the rest; each
    // period is lower by that factor than the one before. First the moments of one period, then of all.
    let (mut sums, mut high) = ([0.0; 3], [0.0; 3]);
    for i in 0..most {
        let powers = [1.0, i as f64, (i as f64).powi(2)];
        (0..3).for_each(|power| sums[power] += powers[power]);
    }
    let periods = [1.0 / rest, b / rest.powi(2), b * (1.0 + b) / rest.powi(3)];
    let mut least = f64::INFINITY;
    for r in 1..=most {
        let last = (r - 1) as f64;
        let powers = [1.0, last, last * last];
        (0..3).for_each(|power| high[power] += powers[power]);
        let held = |power: usize| high[power] + b * (sums[power] - high[power]);
        let whole = 2.0 * (r as f64 + b * (size - r as f64)) - rest;
        let squares =
            periods[0] * held(2) + periods[1] * 2.0 * size * held(1) + periods[2] * size * size * held(0);
        least = least.min(2.0 * rest / whole * squares);
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    // For a count the staircase is the discrete Laplace distribution itself; for wide sums and small epsilon
    // it is nearly that; and the distribution that is best on the line is the limit of those on the integers
    // (Geng and Viswanath, theorem 7).
    #[test]
    fn the_staircase_is_what_was_published() {
        for epsilon in [0.01f64, 0.1, 1.0, 3.0] {
            let b = (-epsilon).exp();
            let laplace = 2.0 * b / (1.0 - b).powi(2);
            assert!((staircase(epsilon, 1) / laplace - 1.0).abs() < 1e-9, "{epsilon}");
            let (near, far) = (
                staircase(epsilon, 4_096) / 4_096f64.powi(2),
                staircase(epsilon, 1 << 20) / 1_048_576f64.powi(2),
            );
            assert!((near / far - 1.0).abs() < 2e-3, "{epsilon}: {near} {far}");
        }
        assert!((staircase(0.01, 1 << 20).sqrt() / (2f64.sqrt() * 1_048_576.0 / 0.01) - 1.0).abs() < 1e-3);
        // At epsilon 5 the staircase needs half of Laplace's deviation.
        assert!(staircase(5.0, 1 << 20).sqrt() / (2f64.sqrt() * 1_048_576.0 / 5.0) < 0.75);
    }

    // Refutes a bound that some distribution beats: every staircase of a small sensitivity, summed term by
    // term.
    #[test]
    fn no_staircase_is_below_the_bound() {
        let (epsilon, most) = (0.7f64, 6i64);
        let b = (-epsilon).exp();
        let variances = (1..=most).map(|r| {
            let height = |i: i64| b.powi((i / most) as i32) * if i % most < r { 1.0 } else { b };
            let (mut mass, mut squares) = (height(0), 0.0);
            for i in 1..5_000 {
                mass += 2.0 * height(i);
                squares += 2.0 * height(i) * (i * i) as f64;
            }
            squares / mass
        });
        let least = variances.fold(f64::INFINITY, f64::min);
        assert!((staircase(epsilon, 6) / least - 1.0).abs() < 1e-9);
    }
}
