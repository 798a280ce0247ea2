//! Totals that are told at every tick, so far or over the last ticks, and what each may err by. Numbers only.
//!
//! A person who came once is in every total after. Were each total noised and paid for by itself, a year of hours would
//! cost 8,760 times the price of one. Noise that is correlated over the ticks costs once: what is measured at a tick is
//! the ticks so far, each times a coefficient, with noise of its own; totals are computed from measurements. With measurements
//! `C x + z` and totals `B (C x + z)`, `B C` being the totals that are asked for, one contribution of size 1 costs
//! `rho = s^2 / 2 sigma^2`, where `s` is the length of the longest column of `C`, and the total of tick `t` errs by `sigma |B_t|`.
//!
//! | [`Strategy`] | a total errs by, at `T` = 2^20 and rho = 1/2 | a key keeps |
//! |---|---|---|
//! | [`SquareRoot`](Strategy::SquareRoot) | 5.479, the least there is among those whose coefficients depend on the lag alone | every tick |
//! | [`Buffered`](Strategy::Buffered) | 5.481 | 15 numbers |
//! | [`Tree`](Strategy::Tree) | 15.06 | 42 numbers |
//! | [`Fresh`](Strategy::Fresh) | 1024 | the total |
//!
//! No strategy errs by less than 5.115 there ([`StrategyChoice::lower_bound`]).
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
//! # What is certain
//!
//! Deviations are for the coefficients that are in use, which are integers, and for the charge that is computed from them
//! in integers ([`mechanisms::running`](crate::mechanisms::running)); constants that are less good err more and promise the same.
//! The [`SquareRoot`](Strategy::SquareRoot) of more than [`REMEMBERED`] ticks is told for comparison, before it is rounded; it is not drawn.

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

/// How totals are noised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// The square root of the work: the least error, and a memory of every tick that a total is of.
    SquareRoot,
    /// Nearly the square root, by a few sums that decay. Totals so far only.
    Buffered,
    /// The binary tree, with Honaker's refinement. Totals so far only.
    Tree,
    /// Noise for each tick alone; totals add it up. To compare with.
    Fresh,
}

impl Strategy {
    /// Its name, as commands and state have it.
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

/// The most ticks that a [`SquareRoot`](Strategy::SquareRoot) of totals so far can have, for it remembers all of them.
pub const REMEMBERED: u64 = 4096;

/// The longest horizon.
pub const HORIZON: u64 = 1 << constants::MOST;

/// The widest span of totals over the last ticks.
pub const WIDTH: u64 = 1 << 14;

/// How many numbers a key may keep of what is [best](StrategyChoice::best) for totals so far.
pub const NUMBERS: u64 = 64;

/// What totals err by under a strategy, for one contribution of size 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    strategy: Strategy,
    max: f64,
    rms: f64,
    sensitivity: f64,
    memory: u64,
    ratio: f64,
}

impl Figures {
    /// Of which strategy.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The largest standard deviation of a total.
    pub fn max_deviation(&self) -> f64 {
        self.max
    }

    /// The root of the mean of their variances over all ticks.
    pub fn rms_deviation(&self) -> f64 {
        self.rms
    }

    /// How far one contribution moves the measurements, in Euclidean length.
    pub fn sensitivity(&self) -> f64 {
        self.sensitivity
    }

    /// How many numbers a key keeps from tick to tick.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The largest standard deviation over the least there can be.
    pub fn ratio(&self) -> f64 {
        self.ratio
    }
}

/// The strategies for a horizon or a width at a price, and which to take.
#[derive(Clone, Debug)]
pub struct StrategyChoice {
    strategies: Vec<Figures>,
    best: Figures,
    lower_bound: f64,
}

impl StrategyChoice {
    /// All of them, the least error first.
    pub fn strategies(&self) -> &[Figures] {
        &self.strategies
    }

    /// The least largest error: of totals so far within [`NUMBERS`] a key, of others within what they need.
    pub fn best(&self) -> &Figures {
        &self.best
    }

    /// No linear strategy with Gaussian noise has a smaller largest standard deviation at this price.
    pub fn lower_bound(&self) -> f64 {
        self.lower_bound
    }

    /// `found` at unit noise; `most` is what a key may keep.
    fn of(found: Vec<Figures>, lower_bound: f64, rho: f64, most: u64) -> StrategyChoice {
        let noise = 1.0 / (2.0 * rho).sqrt();
        let priced = |figures: Figures| Figures {
            max: figures.max * noise,
            rms: figures.rms * noise,
            ratio: figures.max / lower_bound,
            ..figures
        };
        let mut strategies: Vec<Figures> = found.into_iter().map(priced).collect();
        strategies.sort_by(|a, b| a.max.total_cmp(&b.max));
        // Fresh noise keeps least, and is always among them.
        let fits = strategies.iter().find(|figures| figures.memory <= most);
        let best = fits.or(strategies.last()).copied().unwrap_or_else(|| priced(fresh(1, 1.0, 1.0)));
        StrategyChoice { strategies, best, lower_bound: lower_bound * noise }
    }
}

/// Totals so far, at each of `horizon` ticks.
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

/// Totals over the last `width` ticks of a stream that need not end.
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

/// A horizon that there are totals for.
pub(crate) fn horizon(ticks: u64) -> Result<u64, Invalid> {
    whole("horizon", ticks, HORIZON, "a whole number of ticks from 1 to 2^32")
}

/// The same of a width.
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

/// A price that noise can be found for.
pub(crate) fn price(rho: BudgetUnits) -> Result<f64, Invalid> {
    number::rho("rho", rho.to_float_down())
}

/// For noise that costs rho = 1/2.
fn figures(strategy: Strategy, sensitivity: f64, (largest, mean): (f64, f64), memory: u64) -> Figures {
    let [max, rms] = [largest, mean].map(|variance| sensitivity * variance.sqrt());
    Figures { strategy, max, rms, sensitivity, memory, ratio: 1.0 }
}

fn root(horizon: u64) -> Figures {
    if horizon > REMEMBERED {
        let squared = strategies::root_squared(horizon);
        let variances = (squared, strategies::root_mean(horizon));
        return figures(Strategy::SquareRoot, squared.sqrt(), variances, kept_so_far(horizon));
    }
    let coefficients = Coefficients::root(horizon);
    let variances = coefficients.variances_so_far(horizon as usize);
    figures(Strategy::SquareRoot, coefficients.sensitivity(), variances, kept_so_far(horizon))
}

fn tree(horizon: u64) -> Figures {
    let levels = strategies::levels(horizon);
    let memory = 2 * u64::from(levels);
    figures(Strategy::Tree, f64::from(levels).sqrt(), strategies::variances(horizon), memory)
}

fn fresh(memory: u64, largest: f64, mean: f64) -> Figures {
    figures(Strategy::Fresh, 1.0, (largest, mean), memory)
}

fn buffered(horizon: u64) -> Option<Figures> {
    let buffers = buffers(horizon);
    let series = BufferedStrategy::of(buffers)?;
    let ticks = horizon as f64;
    let variances = (series.variance(ticks), series.mean_variance(ticks));
    let sensitivity = buffered::sensitivity(buffers, horizon);
    Some(figures(Strategy::Buffered, sensitivity, variances, 2 * buffers.len() as u64 + 1))
}

/// What is kept for so many coefficients: the exact ticks and the told ones before the last, and the total.
fn kept_so_far(coefficients: u64) -> u64 {
    2 * coefficients - 1
}

/// What is kept of totals over the last ticks: the exact ticks and the told ones before the last, and the total.
fn kept_over(coefficients: u64, width: u64) -> u64 {
    coefficients - 1 + coefficients.max(width)
}

// How what totals err by grows from tick to tick: one of few ticks has the noise of few.

/// The variances of totals, tick by tick, for draws of variance 1.
#[derive(Clone, Debug)]
pub(crate) struct Growth(Variances);

#[derive(Clone, Debug)]
enum Variances {
    /// Of the first ticks; all later ones have that of the last.
    Listed(Vec<f64>),
    Buffered(BufferedStrategy),
    Tree,
    /// One draw for each tick, of at most so many.
    Ticks(u64),
}

impl Growth {
    /// Of totals so far. `None` where noise would not fade.
    pub(crate) fn so_far(strategy: Strategy, horizon: u64) -> Option<Growth> {
        let variances = match strategy {
            Strategy::SquareRoot => {
                let work = vec![1.0; horizon as usize];
                Variances::summed(&strategies::quotient(&work, &Coefficients::root(horizon).floats()))
            }
            Strategy::Buffered => Variances::Buffered(BufferedStrategy::of(buffers(horizon))?),
            Strategy::Tree => Variances::Tree,
            Strategy::Fresh => Variances::Ticks(horizon),
        };
        Some(Growth(variances))
    }

    /// Of totals over the last ticks. `None` where there is no such strategy, or noise would not fade.
    pub(crate) fn over_last(strategy: Strategy, width: u64) -> Option<Growth> {
        let variances = match strategy {
            Strategy::SquareRoot => Variances::summed(&Coefficients::window(width).noise_over(width)?),
            Strategy::Fresh => Variances::Ticks(width),
            Strategy::Buffered | Strategy::Tree => return None,
        };
        Some(Growth(variances))
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
    /// For as many ticks as add anything to speak of.
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

// What no strategy can err by less than.
//
// Of linear strategies with Gaussian noise, whatever they keep: for totals so far the nuclear norm of the triangle of ones over
// the number of ticks, for totals over the last `W` ticks of an endless stream Lebesgue's constant of `W` ones. Both bound the
// root of the mean of all variances, and so the largest.

/// From here on the sum is an integral and its correction, to 1e-14.
const MANY: u64 = 1 << 16;

/// For totals so far: `1/T` times the sum over `j` of `1 / (2 sin((2j - 1) pi / (4T + 2)))`.
pub(super) fn least_error_so_far(ticks: u64) -> f64 {
    let n = ticks as f64;
    let step = PI / (4.0 * n + 2.0);
    if ticks <= MANY {
        return (1..=ticks).map(|j| 0.5 / libm::sin((2 * j - 1) as f64 * step)).sum::<f64>() / n;
    }
    // 1 / sin x is 1 / x, whose sum is one of harmonic numbers, and a smooth rest, by the midpoint rule.
    let harmonic = |n: f64| n.ln() + EULER + 1.0 / (2.0 * n) - 1.0 / (12.0 * n * n);
    let poles = (harmonic(2.0 * n) - harmonic(n) / 2.0) / (2.0 * step);
    let end = 2.0 * n * step;
    let rest = (libm::tan(end / 2.0).ln() - end.ln() + 2f64.ln()) / (4.0 * step);
    // The derivative of the rest is 1/6 at 0, and -cos x / sin^2 x + 1 / x^2 at the end.
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

/// Into how many parts each arc is divided on which the kernel has one sign.
const PARTS: u32 = 2;

/// For totals over the last `width` ticks: the mean of `|sin(W x) / sin x|` over a quarter turn.
pub(super) fn over(width: u64) -> f64 {
    let n = width as f64;
    let arc = PI / n / f64::from(PARTS);
    let kernel = |x: f64| (libm::sin(n * x) / libm::sin(x)).abs();
    // Between its zeros it is smooth; of an odd width the last arc is cut in half, at which a part ends.
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
