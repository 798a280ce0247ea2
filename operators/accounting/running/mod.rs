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

mod bounds;
pub(crate) mod buffered;
mod constants;
mod fourier;
mod growth;
#[cfg(test)]
mod search;
#[cfg(test)]
mod tests;
pub(crate) mod toeplitz;
pub(crate) mod tree;

use std::fmt;

pub(crate) use constants::buffers;
pub(crate) use growth::Growth;

use super::BudgetUnits;
use super::number;
use crate::invalid::{Invalid, InvalidKind};
use buffered::BufferedStrategy;
use toeplitz::Coefficients;

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
    Ok(StrategyChoice::of(found, bounds::least_error_so_far(horizon), rho, NUMBERS))
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
    Ok(StrategyChoice::of(found, bounds::over(width), rho, u64::MAX))
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
        let squared = toeplitz::root_squared(horizon);
        let variances = (squared, toeplitz::root_mean(horizon));
        return figures(Strategy::SquareRoot, squared.sqrt(), variances, kept_so_far(horizon));
    }
    let coefficients = Coefficients::root(horizon);
    let variances = coefficients.variances_so_far(horizon as usize);
    figures(Strategy::SquareRoot, coefficients.sensitivity(), variances, kept_so_far(horizon))
}

fn tree(horizon: u64) -> Figures {
    let levels = tree::levels(horizon);
    let memory = 2 * u64::from(levels);
    figures(Strategy::Tree, f64::from(levels).sqrt(), tree::variances(horizon), memory)
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
