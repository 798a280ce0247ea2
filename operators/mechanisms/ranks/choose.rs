//! One answer out of many, by their losses: the exponential mechanism, and permute-and-flip.

use crate::noise::{Decay, Fraction, NoiseSource, Ratio};

/// A stretch of answers of equal loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EqualLossRun {
    pub(super) cells: u64,
    pub(super) loss: u64,
}

/// How an answer is chosen.
#[derive(Clone, Debug)]
pub(super) enum AnswerChoice {
    /// In proportion to the weight of its loss. Of bounded range: the logarithms of what one person changes the
    /// probabilities by lie within `2 half` of each other, so it costs pure `epsilon = 2 half` and `epsilon^2 / 8` of rho
    /// (Dong, Durfee and Rogers 2020).
    Exponential(Decay),
    /// The first, in a random order, whose coin of probability `exp(-rate (loss - least loss))` shows `true` (McKenna and
    /// Sheldon 2020). At `rate = half / step` it costs pure `2 half`, and it errs no more than the exponential mechanism, by
    /// down to a half of it; but its range is not bounded, so there is no such price in rho.
    Flip(Ratio),
}

impl AnswerChoice {
    /// The place of the chosen answer, from 0 on, in all of these runs. Of the exponential mechanism they may have 2^41
    /// cells; permute-and-flip holds a word for each.
    pub(super) fn choose(&self, runs: &[EqualLossRun], noise: &mut NoiseSource) -> u64 {
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
    pub(super) fn scale(&self) -> f64 {
        match self {
            AnswerChoice::Exponential(decay) => decay.step() as f64 / decay.half().to_f64(),
            AnswerChoice::Flip(rate) => 1.0 / rate.to_f64(),
        }
    }

    /// The least loss that is exceeded with a probability of at most `chance`, among `cells` answers of which one has a loss
    /// of at most `least`. `None` where there is none.
    ///
    /// Each bad answer is chosen with at most the probability that its weight, or its coin, has beside the best; they are
    /// fewer than `cells`. It is a statement about accuracy, made with floats, rounded up.
    pub(super) fn exceeded(&self, cells: u64, least: u64, chance: f64) -> Option<u64> {
        let cells = cells as f64 * (1.0 + 1e-12);
        match self {
            AnswerChoice::Exponential(decay) => {
                let most = decay.weight(least) as f64 * chance / cells;
                let enough = |loss: u64| decay.weight(loss) as f64 <= most;
                // What is just not enough, and what is.
                let (mut below, mut at) = (least, u64::MAX);
                if !enough(at) {
                    return None;
                }
                while below + 1 < at {
                    let middle = below + (at - below) / 2;
                    if enough(middle) { at = middle } else { below = middle }
                }
                Some(at - 1)
            }
            AnswerChoice::Flip(rate) => {
                let above = ((cells / chance).ln() / rate.to_f64()).ceil();
                (above < 2f64.powi(63)).then(|| least.saturating_add(above as u64))
            }
        }
    }
}

fn weighted(decay: &Decay, runs: &[EqualLossRun], noise: &mut NoiseSource) -> u64 {
    // Below 2^41 cells of at most 2^86.
    let total = runs.iter().map(|run| u128::from(run.cells) * decay.weight(run.loss)).sum();
    let mut place = noise.below_wide(total);
    let mut start = 0;
    for run in runs {
        let weight = decay.weight(run.loss);
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
    let least = runs.iter().filter(|run| run.cells > 0).map(|run| run.loss).min().unwrap_or(0);
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

#[cfg(test)]
mod tests;
