//! Continual counting: totals that are released at every tick, so far or over the last ticks, and the error
//! of each. This module holds the numbers alone.
//!
//! One record counts in every later total. If each total had its own noise and its own charge, a year of
//! hours would cost 8,760 times as much as one. Noise that is correlated over the ticks is charged once: the
//! measurement of a tick is a weighted sum of the ticks so far, with noise of its own, and totals are
//! computed from measurements. With measurements `C x + z` and totals `B (C x + z)`, where `B C` maps ticks
//! to the requested totals, one contribution of size 1 costs `rho = s^2 / 2 sigma^2`, where `s` is the length
//! of the longest column of `C`, and the total of tick `t` has the standard deviation `sigma |B_t|`.
//!
//! | [`Strategy`] | deviation of a total, at `T` = 2^20 and rho = 1/2 | state of a key (partition) |
//! |---|---|---|
//! | [`SquareRoot`](Strategy::SquareRoot) | 5.479, the least of Toeplitz strategies | every tick |
//! | [`Buffered`](Strategy::Buffered) | 5.481 | 15 numbers |
//! | [`Tree`](Strategy::Tree) | 15.06 | 42 numbers |
//! | [`Fresh`](Strategy::Fresh) | 1024 | the total |
//!
//! No linear strategy with Gaussian noise has a smaller deviation than 5.115 there
//! ([`StrategyChoice::lower_bound`]).
//!
//! ```
//! use discreet::accounting::running;
//!
//! let year = running::so_far(8760, 0.1)?;
//! assert_eq!(year.best().strategy().name(), "buffered");
//! assert!(year.best().ratio() < 1.11);
//! // An hour's total over minutes: 2.67 against 7.75 times the noise of a single minute.
//! let hour = running::over_last(60, 0.5)?;
//! assert!(hour.best().max_deviation() < 2.68);
//! # Ok::<(), discreet::Invalid>(())
//! ```
//!
//! # Guarantees
//!
//! Deviations are those of the coefficients in use, which are integers, and of the charge that is computed
//! from them in integers ([`mechanisms::running`](crate::mechanisms::running)); less good constants have a
//! larger error and give the same guarantee. The [`SquareRoot`](Strategy::SquareRoot) of more than
//! [`REMEMBERED`] ticks is listed for comparison, before rounding; it is not available as a mechanism.

use std::f64::consts::PI;
use std::fmt;

use buffered::BufferedStrategy;
use strategies::{Coefficients, EULER};

use super::{BudgetUnits, number};
use crate::invalid::{Invalid, InvalidKind};

pub(crate) use constants::buffers;

pub(crate) mod buffered;
mod constants;

pub(crate) mod strategies;

/// A strategy for the noise of totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// The square root of the workload: the least error, and a memory of every tick that a total includes.
    SquareRoot,
    /// An approximation of the square root by a few sums that decay, for totals so far only.
    Buffered,
    /// The binary tree, with Honaker's refinement, for totals so far only.
    Tree,
    /// Independent noise for each tick, which totals add up; for comparison.
    Fresh,
}

impl Strategy {
    /// The name in commands and state.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::SquareRoot => "square-root",
            Strategy::Buffered => "buffered",
            Strategy::Tree => "tree",
            Strategy::Fresh => "fresh",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The largest number of ticks of a [`SquareRoot`](Strategy::SquareRoot) of totals so far, which keeps all of
/// them.
pub const REMEMBERED: u64 = 4096;

/// The longest horizon, in ticks.
pub const HORIZON: u64 = 1 << constants::MOST;

/// The largest width of totals over the last ticks.
pub const WIDTH: u64 = 1 << 14;

/// The largest number of numbers that a key may keep under the [best](StrategyChoice::best) strategy for
/// totals so far.
pub const NUMBERS: u64 = 64;

/// The errors of totals under a strategy, for one contribution of size 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StrategyError {
    strategy: Strategy,
    max: f64,
    rms: f64,
    sensitivity: f64,
    memory: u64,
    ratio: f64,
}

impl StrategyError {
    /// The strategy.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The largest standard deviation of a total.
    pub fn max_deviation(&self) -> f64 {
        self.max
    }

    /// The root of the mean variance of the totals over all ticks.
    pub fn rms_deviation(&self) -> f64 {
        self.rms
    }

    /// The Euclidean length of the change of the measurements by one contribution.
    pub fn sensitivity(&self) -> f64 {
        self.sensitivity
    }

    /// The number of numbers that a key keeps from tick to tick.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The largest standard deviation over its lower bound.
    pub fn ratio(&self) -> f64 {
        self.ratio
    }
}

/// The strategies for a horizon or a width at a cost, with the best of them.
#[derive(Clone, Debug)]
pub struct StrategyChoice {
    strategies: Vec<StrategyError>,
    best: StrategyError,
    lower_bound: f64,
}

impl StrategyChoice {
    /// The strategies, in ascending order of their error.
    pub fn strategies(&self) -> &[StrategyError] {
        &self.strategies
    }

    /// The strategy with the smallest largest error: for totals so far, among those within [`NUMBERS`] a key.
    pub fn best(&self) -> &StrategyError {
        &self.best
    }

    /// A lower bound of the largest standard deviation of any linear strategy with Gaussian noise at this
    /// cost.
    pub fn lower_bound(&self) -> f64 {
        self.lower_bound
    }

    /// Makes a choice of `found`, which are at unit noise; `most` bounds the state of a key.
    fn of(found: Vec<StrategyError>, lower_bound: f64, rho: f64, most: u64) -> StrategyChoice {
        let noise = 1.0 / (2.0 * rho).sqrt();
        let priced = |figures: StrategyError| StrategyError {
            max: figures.max * noise,
            rms: figures.rms * noise,
            ratio: figures.max / lower_bound,
            ..figures
        };
        let mut strategies: Vec<StrategyError> = found.into_iter().map(priced).collect();
        strategies.sort_by(|a, b| a.max.total_cmp(&b.max));
        // Fresh noise keeps the least state, and is always in the list.
        let fits = strategies.iter().find(|figures| figures.memory <= most);
        let best = fits.or(strategies.last()).copied().unwrap_or_else(|| priced(fresh(1, 1.0, 1.0)));
        StrategyChoice { strategies, best, lower_bound: lower_bound * noise }
    }
}

/// Returns the strategies for totals so far, at each of `horizon` ticks.
///
/// # Errors
/// Names `horizon` unless it is from 1 to 2^32, and `rho` where it is out of range.
pub fn so_far(horizon: u64, rho: f64) -> Result<StrategyChoice, Invalid> {
    let horizon = self::horizon(horizon)?;
    let rho = number::rho("rho", rho)?;
    let ticks = horizon as f64;
    let mut found = vec![root(horizon), tree(horizon), fresh(1, ticks, (ticks + 1.0) / 2.0)];
    found.extend(buffered(horizon));
    Ok(StrategyChoice::of(found, least_error_so_far(horizon), rho, NUMBERS))
}

/// Returns the strategies for totals over the last `width` ticks of a stream without an end.
///
/// # Errors
/// Names `width` unless it is from 1 to 16,384, and `rho` where it is out of range.
pub fn over_last(width: u64, rho: f64) -> Result<StrategyChoice, Invalid> {
    let width = self::width(width)?;
    let rho = number::rho("rho", rho)?;
    let mut found = vec![fresh(kept_over(1, width), width as f64, width as f64)];
    let coefficients = Coefficients::window(width);
    if let Some(variance) = coefficients.variance_over(width) {
        let memory = kept_over(coefficients.values.len() as u64, width);
        found.push(figures(Strategy::SquareRoot, coefficients.sensitivity(), (variance, variance), memory));
    }
    Ok(StrategyChoice::of(found, over(width), rho, u64::MAX))
}

/// Checks a horizon: from 1 to 2^32 ticks.
pub(crate) fn horizon(ticks: u64) -> Result<u64, Invalid> {
    whole("horizon", ticks, HORIZON, "a whole number of ticks from 1 to 2^32")
}

/// Checks a width: from 1 to 16,384 ticks.
pub(crate) fn width(ticks: u64) -> Result<u64, Invalid> {
    whole("width", ticks, WIDTH, "a whole number of ticks from 1 to 16,384")
}

pub(crate) fn whole(
    field: &'static str,
    value: u64,
    most: u64,
    remedy: &'static str,
) -> Result<u64, Invalid> {
    match value {
        0 => Err(Invalid::new(field, InvalidKind::Zero, remedy)),
        _ if value > most => Err(Invalid::new(field, InvalidKind::TooLarge, remedy)),
        _ => Ok(value),
    }
}

/// Checks that noise can be calibrated to a cost, and returns it as a float, rounded down.
pub(crate) fn price(rho: BudgetUnits) -> Result<f64, Invalid> {
    number::rho("rho", rho.to_float_down())
}

/// Makes figures for noise that costs rho = 1/2.
fn figures(strategy: Strategy, sensitivity: f64, (largest, mean): (f64, f64), memory: u64) -> StrategyError {
    let [max, rms] = [largest, mean].map(|variance| sensitivity * variance.sqrt());
    StrategyError { strategy, max, rms, sensitivity, memory, ratio: 1.0 }
}

fn root(horizon: u64) -> StrategyError {
    if horizon > REMEMBERED {
        let squared = strategies::root_squared(horizon);
        let variances = (squared, strategies::root_mean(horizon));
        return figures(Strategy::SquareRoot, squared.sqrt(), variances, kept_so_far(horizon));
    }
    let coefficients = Coefficients::root(horizon);
    let variances = coefficients.variances_so_far(horizon as usize);
    figures(Strategy::SquareRoot, coefficients.sensitivity(), variances, kept_so_far(horizon))
}

fn tree(horizon: u64) -> StrategyError {
    let levels = strategies::levels(horizon);
    let memory = 2 * u64::from(levels);
    figures(Strategy::Tree, f64::from(levels).sqrt(), strategies::variances(horizon), memory)
}

fn fresh(memory: u64, largest: f64, mean: f64) -> StrategyError {
    figures(Strategy::Fresh, 1.0, (largest, mean), memory)
}

fn buffered(horizon: u64) -> Option<StrategyError> {
    let buffers = buffers(horizon);
    let series = BufferedStrategy::of(buffers)?;
    let ticks = horizon as f64;
    let variances = (series.variance(ticks), series.mean_variance(ticks));
    let sensitivity = buffered::sensitivity(buffers, horizon);
    Some(figures(Strategy::Buffered, sensitivity, variances, 2 * buffers.len() as u64 + 1))
}

/// The state for totals so far: the exact and the noisy ticks before the last, and the total.
fn kept_so_far(coefficients: u64) -> u64 {
    2 * coefficients - 1
}

/// The state for totals over the last ticks: the exact and the noisy ticks before the last, and the total.
fn kept_over(coefficients: u64, width: u64) -> u64 {
    coefficients - 1 + coefficients.max(width)
}

// The growth of the error from tick to tick: the total of few ticks has the noise of few.

/// The variances of totals, tick by tick, for draws of variance 1.
#[derive(Clone, Debug)]
pub(crate) struct VarianceByTick(Variances);

#[derive(Clone, Debug)]
enum Variances {
    /// The variances of the first ticks; all later ones have that of the last.
    Listed(Vec<f64>),
    Buffered(BufferedStrategy),
    Tree,
    /// One draw for each tick, up to this number of ticks.
    Ticks(u64),
}

impl VarianceByTick {
    /// The growth for totals so far. `None` where the noise would not fade.
    pub(crate) fn so_far(strategy: Strategy, horizon: u64) -> Option<VarianceByTick> {
        let variances = match strategy {
            Strategy::SquareRoot => {
                let work = vec![1.0; horizon as usize];
                Variances::summed(&strategies::quotient(&work, &Coefficients::root(horizon).floats()))
            }
            Strategy::Buffered => Variances::Buffered(BufferedStrategy::of(buffers(horizon))?),
            Strategy::Tree => Variances::Tree,
            Strategy::Fresh => Variances::Ticks(horizon),
        };
        Some(VarianceByTick(variances))
    }

    /// The growth for totals over the last ticks. `None` where there is no such strategy, or the noise would
    /// not fade.
    pub(crate) fn over_last(strategy: Strategy, width: u64) -> Option<VarianceByTick> {
        let variances = match strategy {
            Strategy::SquareRoot => Variances::summed(&Coefficients::window(width).noise_over(width)?),
            Strategy::Fresh => Variances::Ticks(width),
            Strategy::Buffered | Strategy::Tree => return None,
        };
        Some(VarianceByTick(variances))
    }

    /// The largest standard deviation of the totals up to this tick.
    pub(crate) fn until(&self, tick: u64) -> f64 {
        let variance = match &self.0 {
            Variances::Listed(variances) => {
                let at = usize::try_from(tick.saturating_sub(1)).unwrap_or(usize::MAX);
                variances.get(at).or(variances.last()).copied().unwrap_or(0.0)
            }
            Variances::Buffered(series) => series.variance(tick as f64),
            Variances::Tree => strategies::variances(tick).0,
            Variances::Ticks(most) => tick.min(*most) as f64,
        };
        variance.sqrt()
    }
}

impl Variances {
    /// Lists partial sums until the remaining ticks add less than 1e-12 of the total.
    fn summed(noise: &[f64]) -> Variances {
        let all: f64 = noise.iter().rev().map(|value| value * value).sum();
        let mut variances = Vec::new();
        let mut sum = 0.0;
        for value in noise {
            sum += value * value;
            if sum > all * (1.0 - 1e-12) {
                break;
            }
            variances.push(sum);
        }
        variances.push(all);
        Variances::Listed(variances)
    }
}

// A lower bound of the error of any strategy.
//
// For linear strategies with Gaussian noise and any amount of state: for totals so far it is the nuclear norm
// of the triangular matrix of ones over the number of ticks, for totals over the last `W` ticks of an endless
// stream Lebesgue's constant of `W` ones. Both bound the root of the mean of all variances, and so the
// largest.

/// The number of ticks above which the sum is replaced by an integral and its correction, to 1e-14.
const MANY: u64 = 1 << 16;

/// The bound for totals so far: `1/T` times the sum over `j` of `1 / (2 sin((2j - 1) pi / (4T + 2)))`.
pub(super) fn least_error_so_far(ticks: u64) -> f64 {
    let n = ticks as f64;
    let step = PI / (4.0 * n + 2.0);
    if ticks <= MANY {
        return (1..=ticks).map(|j| 0.5 / libm::sin((2 * j - 1) as f64 * step)).sum::<f64>() / n;
    }
    // 1 / sin x is 1 / x, whose sum is one of harmonic numbers, and a smooth remainder, by the midpoint rule.
    let harmonic = |n: f64| n.ln() + EULER + 1.0 / (2.0 * n) - 1.0 / (12.0 * n * n);
    let poles = (harmonic(2.0 * n) - harmonic(n) / 2.0) / (2.0 * step);
    let end = 2.0 * n * step;
    let rest = (libm::tan(end / 2.0).ln() - end.ln() + 2f64.ln()) / (4.0 * step);
    // The derivative of the remainder is 1/6 at 0, and -cos x / sin^2 x + 1 / x^2 at the end.
    let (sin, cos) = libm::sincos(end);
    let slope = -cos / (sin * sin) + 1.0 / (end * end) - 1.0 / 6.0;
    (poles + rest - step * slope / 24.0) / n
}

/// Gauss's nodes and weights for 8 points, of the positive half.
const GAUSS: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_27),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
    (0.960_289_856_497_536_2, 0.101_228_536_290_376_26),
];

/// The number of parts of each arc on which the kernel has one sign.
const PARTS: u32 = 2;

/// The bound for totals over the last `width` ticks: the mean of `|sin(W x) / sin x|` over a quarter turn.
pub(super) fn over(width: u64) -> f64 {
    let n = width as f64;
    let arc = PI / n / f64::from(PARTS);
    let kernel = |x: f64| (libm::sin(n * x) / libm::sin(x)).abs();
    // The kernel is smooth between its zeros; for an odd width the last arc is cut in half, where a part
    // ends.
    let half = arc / 2.0;
    let part = |at: u64| -> f64 {
        let middle = (at as f64 + 0.5) * arc;
        GAUSS
            .iter()
            .map(|(node, weight)| weight * (kernel(middle - node * half) + kernel(middle + node * half)))
            .sum::<f64>()
            * half
    };
    (0..width * u64::from(PARTS) / 2).map(part).sum::<f64>() / (PI / 2.0)
}

#[cfg(test)]
mod search;

#[cfg(test)]
mod tests;
