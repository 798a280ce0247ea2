//! One answer out of many, by their losses: the exponential mechanism, and permute-and-flip.

use super::cuts::FLOOR;
use super::grid::Grid;
use super::quantiles::Quantile;
use super::values::places;
use crate::noise::{Decay, FairBits, Fraction, NoiseSource, Ratio};

/// A stretch of answers of equal loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mechanisms) struct EqualLossRun {
    pub(in crate::mechanisms) cells: u64,
    pub(in crate::mechanisms) loss: u64,
}

/// The choice of an answer among those of a grid.
#[derive(Clone, Debug)]
pub(in crate::mechanisms) enum AnswerChoice {
    /// In proportion to the weight of its loss above the least one. Of bounded range (Durfee and Rogers
    /// 2019): the logarithms of the factors by which one person changes the probabilities lie within `2 half`
    /// of each other. So it costs pure `epsilon = 2 half`, `epsilon^2 / 8` of rho (Cesar and Rogers 2021),
    /// and the mu of pure `half` ([`mu_of_bounded_range`](crate::accounting::gdp::mu_of_bounded_range)).
    Exponential(Decay),
    /// The first, in a random order, whose coin of probability `exp(-rate (loss - least loss))` shows `true`
    /// (McKenna and Sheldon 2020). At `rate = half / step` it costs pure `2 half`, and it errs no more than
    /// the exponential mechanism, by down to a half of it; but its range is not bounded by `2 half`, so there
    /// is no such price in rho.
    Flip(Ratio),
}

impl AnswerChoice {
    /// The place of the chosen answer, from 0 on, in all of these runs. Of the exponential mechanism they may
    /// have 2^41 cells; permute-and-flip holds a word for each.
    pub(in crate::mechanisms) fn choose(&self, runs: &[EqualLossRun], noise: &mut NoiseSource) -> u64 {
        match self {
            AnswerChoice::Exponential(decay) => {
                noise.asked_for("exponential", decay, 1);
                weighted(decay, runs, noise)
            }
            AnswerChoice::Flip(rate) => {
                noise.asked_for("permute-and-flip", rate, 1);
                first_to_flip(*rate, runs, noise)
            }
        }
    }

    /// The loss over which the chance of an answer falls by `e`.
    pub(in crate::mechanisms) fn scale(&self) -> f64 {
        match self {
            AnswerChoice::Exponential(decay) => decay.step() as f64 / decay.half().to_f64(),
            AnswerChoice::Flip(rate) => 1.0 / rate.to_f64(),
        }
    }

    /// The least loss that is exceeded with a probability of at most `chance`, among `cells` answers of which
    /// one has a loss of at most `least`. `None` where there is none.
    ///
    /// The bad answers are fewer than `cells`. Of the exponential mechanism they weigh `bad` together and the best
    /// `good` at least, and one of them is chosen with a probability of `bad / (bad + good)` at most. Of
    /// permute-and-flip none is better for a bad answer than that all but the best are bad, each with the same
    /// coin `p`: more of them, or coins that show `true` more often, take the place of others. Then the best of `n`
    /// is first with a probability of `(1 - (1 - p)^n) / np`, which is no less than `(1 - e^-x) / x` for `x = np`.
    /// It is a statement about accuracy, made with floats, rounded up.
    pub(in crate::mechanisms) fn exceeded(&self, cells: u64, least: u64, chance: f64) -> Option<u64> {
        let slack = 1.0 + 1e-12;
        match self {
            AnswerChoice::Exponential(decay) => {
                let cells = cells.saturating_sub(1).max(1) as f64 * slack;
                let most = Decay::MOST as f64 * (chance / (1.0 - chance)) / cells;
                let enough = |excess: u64| decay.weight(excess) as f64 <= most;
                // What is just not enough, and what is.
                let (mut below, mut at) = (0, u64::MAX);
                if !enough(at) {
                    return None;
                }
                while below + 1 < at {
                    let middle = below + (at - below) / 2;
                    if enough(middle) { at = middle } else { below = middle }
                }
                Some(least.saturating_add(at - 1))
            }
            AnswerChoice::Flip(rate) => {
                let next = ((cells as f64 * slack / flipped(chance)).ln() / rate.to_f64() * slack).ceil();
                // A loss of `next` is seldom enough, so the one before is seldom exceeded.
                (next < 2f64.powi(63)).then(|| least.saturating_add((next as u64).saturating_sub(1)))
            }
        }
    }

    /// Bounds the probability that an answer is off by more than this number of values, among `points` of which one is
    /// not off at all, as [`exceeded`](AnswerChoice::exceeded) does.
    pub(super) fn exceeds(&self, points: u64, quantile: Quantile, values: u64) -> f64 {
        let next = quantile.denominator() as f64 * values as f64 + 1.0;
        match self {
            AnswerChoice::Exponential(decay) => {
                let rate = (decay.half().to_f64() - (-(Decay::ASIDE as f64)).exp2()) / decay.step() as f64;
                let others = points.saturating_sub(1) as f64 * (1.0 + 1e-9);
                let bad = others * (libm::exp(-rate * next) + FLOOR);
                bad / (bad + 1.0)
            }
            AnswerChoice::Flip(rate) => {
                missed(points as f64 * (1.0 + 1e-9) * libm::exp(-rate.to_f64() * next))
            }
        }
    }
}

/// `1 - (1 - e^-x) / x`: the chance that permute-and-flip misses the best answer, for `x` of the others' coins
/// together.
fn missed(x: f64) -> f64 {
    // Below, the series from the front, of which the next term is less than a rounding.
    if x < 1e-5 { x / 2.0 - x * x / 6.0 + x * x * x / 24.0 } else { 1.0 + libm::expm1(-x) / x }
}

/// The largest `x` of which [`missed`] is at most this chance, rounded down.
fn flipped(chance: f64) -> f64 {
    let (mut low, mut high) = (0.0, 2.0 / (1.0 - chance));
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if missed(middle) * (1.0 + 1e-9) <= chance { low = middle } else { high = middle }
    }
    low
}

/// The least loss of any answer.
fn least(runs: &[EqualLossRun]) -> u64 {
    runs.iter().filter(|run| run.cells > 0).map(|run| run.loss).min().unwrap_or(0)
}

/// Returns the weight of the answers of a run. It is that of the excess over the least loss: weights fall to a floor, and
/// where every answer has a loss beyond it, the best one would weigh as little as the worst (`noise/decay.rs`).
fn weights<'a>(decay: &'a Decay, runs: &[EqualLossRun]) -> impl Fn(&EqualLossRun) -> u128 + use<'a> {
    let least = least(runs);
    move |run| decay.weight(run.loss.saturating_sub(least))
}

fn weighted(decay: &Decay, runs: &[EqualLossRun], noise: &mut NoiseSource) -> u64 {
    let weight_of = weights(decay, runs);
    // Below 2^41 cells of at most 2^86.
    let total = runs.iter().map(|run| u128::from(run.cells) * weight_of(run)).sum();
    let mut place = noise.below_wide(total);
    let mut start = 0;
    for run in runs {
        let weight = weight_of(run);
        let all = u128::from(run.cells) * weight;
        if place < all {
            // Uniform below `cells * weight`: the quotient is uniform among the cells.
            return start + (place / weight) as u64;
        }
        place -= all;
        start += run.cells;
    }
    start.saturating_sub(1)
}

fn first_to_flip(rate: Ratio, runs: &[EqualLossRun], noise: &mut NoiseSource) -> u64 {
    let ends: Vec<u64> = runs
        .iter()
        .scan(0, |end, run| {
            *end += run.cells;
            Some(*end)
        })
        .collect();
    let least = least(runs);
    let mut order: Vec<u64> = (0..ends.last().copied().unwrap_or(0)).collect();
    // The order is made as it is walked, from the end: each place is filled from all that are left.
    while let Some(last) = order.len().checked_sub(1) {
        let cell = order.swap_remove(noise.below(last as u64 + 1) as usize);
        let Some(run) = runs.get(ends.partition_point(|&end| end <= cell)) else { break };
        let excess = u128::from(run.loss.saturating_sub(least));
        if noise.flip_exp(&Fraction::product(&[excess, rate.numerator()], &[rate.denominator()])) {
            return cell;
        }
    }
    // Not reached: the coin of the least loss always shows `true`.
    0
}

// How far each answer is from a quantile, in whole numbers.

/// The losses of all points of a grid, in order, for the quantile `a/q` of these values, which are sorted.
///
/// The loss of a point is `q` times the number of values by which its rank is off,
///
/// ```text
/// max(0, (q - a) below - a (at + above), a above - (q - a) (below + at)),
/// ```
///
/// where `below`, `at` and `above` count values at their [points](places): one between two points counts at the upper one,
/// and one beyond an end at the end. One value more or less moves it by at most `max(a, q - a)`.
pub(super) fn by_value(sorted: &[i64], grid: &Grid, quantile: Quantile) -> Vec<EqualLossRun> {
    by_place(&places(sorted, grid), (0, grid.top() - 1), quantile)
}

/// The losses of the points from `low` to `high`, both included, of sorted places from there, as
/// [`by_value`]'s.
pub(super) fn by_place(sorted: &[u64], (low, high): (u64, u64), quantile: Quantile) -> Vec<EqualLossRun> {
    let mut runs = Runs(Vec::new());
    let (mut next, mut below) = (low, 0);
    let loss = |below, above| distance(quantile, below, sorted.len() - below - above, above);
    for equal in sorted.chunk_by(|one, other| one == other) {
        let Some(&place) = equal.first() else { continue };
        runs.push(place - next, loss(below, sorted.len() - below));
        let up_to = below + equal.len();
        runs.push(1, loss(below, sorted.len() - up_to));
        (next, below) = (place + 1, up_to);
    }
    runs.push(high + 1 - next, loss(below, sorted.len() - below));
    runs.0
}

/// By how many values the rank of an answer is off, rounded up.
#[cfg(any(test, feature = "cli"))]
pub(super) fn off(sorted: &[i64], answer: i64, quantile: Quantile) -> u64 {
    let below = sorted.partition_point(|&value| value < answer);
    let up_to = sorted.partition_point(|&value| value <= answer);
    distance(quantile, below, up_to - below, sorted.len() - up_to).div_ceil(quantile.denominator())
}

/// The least value whose rank is not off.
#[cfg(any(test, feature = "cli"))]
pub(super) fn exact(sorted: &[i64], quantile: Quantile) -> Option<i64> {
    let rank =
        (sorted.len() as u128 * u128::from(quantile.numerator())).div_ceil(quantile.denominator().into());
    sorted.get(usize::try_from(rank).ok()?.checked_sub(1)?).copied()
}

/// Ranks stay below 2^64, and are multiplied by at most 10^6.
fn distance(quantile: Quantile, below: usize, at: usize, above: usize) -> u64 {
    let (a, rest) = (quantile.numerator(), quantile.denominator() - quantile.numerator());
    let times = |factor: u64, count: usize| u128::from(factor) * count as u128;
    let high = times(rest, below).saturating_sub(times(a, at + above));
    let low = times(a, above).saturating_sub(times(rest, below + at));
    u64::try_from(high.max(low)).unwrap_or(u64::MAX)
}

/// Runs on their way, neighbours of equal loss joined.
struct Runs(Vec<EqualLossRun>);

impl Runs {
    fn push(&mut self, cells: u64, loss: u64) {
        match self.0.last_mut() {
            _ if cells == 0 => {}
            Some(last) if last.loss == loss => last.cells += cells,
            _ => self.0.push(EqualLossRun { cells, loss }),
        }
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod losses_tests;
