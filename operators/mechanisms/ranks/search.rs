//! Noisy binary search for the point of the grid at which the loss falls to a few people.
//!
//! # The search
//!
//! The loss of a point is how many people must leave so that the function falls to it ([`Monotone`]). It is
//! known without looking at the two ends: below every value it cannot fall to, and to the last point it has
//! fallen, for a value above counts as it. Between them the search halves what is left: where the noised loss
//! of the middle is at most `tau` it goes down, and else up. It releases the upper of the two neighbours at
//! which it ends.
//!
//! It asks at most [`Grid::comparisons`](super::Grid::comparisons) times, `ceil(log2(points - 1))`, and
//! always pays for as many, and draws as many: how long it takes on the way depends on data. (A published
//! count, `ceil(log2 points) - 1`, is one too few for 4 points, and for others.)
//!
//! # What is known of the answer
//!
//! While no noise is beyond `tau`, it never goes up where nobody is above, and never down where more than `2
//! tau` people are. So at least one person must leave for the function to be below the answer by a point, and
//! at most `2 tau` for it to fall to the answer: a largest value is between that of the `2 tau`-th largest
//! person and the largest, up to a point of the grid. It is too small by design. Aiming lower would let noise
//! take it beyond everybody.
//!
//! # The least `tau`
//!
//! A comparison can be wrong in one way alone: up by noise above `tau` where nobody is above, or down by noise below
//! `-tau` where more than `2 tau` people are, each with the chance `p = P[noise > tau]` at most; at a point between
//! these it cannot be wrong. Each takes a draw of its own, which does not depend on what came before, so all `T` are
//! right with a probability of at least `(1 - p)^T`, whatever the data. `tau` is the least with which that is the
//! confidence, by the exact tail of the distribution that is drawn, rounded up. No smaller one would do: where `2 tau + 1`
//! people have one value, each comparison is wrong with the chance `p`, and one wrong turn is never made good, for it
//! leads away from all right answers.
//!
//! Losses are capped at a number above `2 tau`, which changes none of this and lets [`Tops`] forget all
//! others.

use super::choose::{AnswerChoice, EqualLossRun};
use super::grid::Grid;
use super::largest::{Aim, Largest, Monotone};
use super::laws::{ChoiceRule, EpsilonShare};
use super::tops::{RankedTops, Tops};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::additive::{Additive, Family, UncheckedNoise};
use crate::mechanisms::answer::{DecimalPoint, Estimate, Noised};
use crate::mechanisms::keys::Key;
use crate::mechanisms::noisy::{Noisy, NumberForm, Numbers, NumbersOf, settled};
use crate::mechanisms::selection::{SelectedRow, Threshold};
use crate::mechanisms::statistic::Statistic;
use crate::noise::NoiseSource;

/// A noisy binary search, ready to be drawn.
pub type Searched<K, F> = Noisy<K, Search<F>>;

#[derive(Clone, Debug)]
pub struct Search<F> {
    aim: Aim<F>,
    noise: Additive,
}

pub(in crate::mechanisms) fn searched<K: Key, F: Monotone>(
    asked: &UncheckedNoise,
    largest: &Largest<K, F>,
) -> Result<Searched<K, F>, Invalid> {
    settled(asked, &largest.stated("binary search"), |NumbersOf { spend, .. }| {
        let comparisons = largest.grid().comparisons();
        let noise = Additive::within(asked.family, spend, &largest.sensitivity().times(comparisons)?)?;
        let tau = search_reach(&noise, comparisons, asked.confidence()?)?;
        // So far that noise does not take the largest loss below `tau`.
        let scales = if noise.family() == Family::Gaussian { 6.0 } else { 8.0 };
        Ok(Search { aim: Aim::new(largest, tau, scales * noise.scale()), noise })
    })
}

/// Returns the least `tau`, of 1 or more, that each of these comparisons keeps to at this confidence: the least with
/// `1 - (1 - P[noise > tau])^comparisons` of at most `1 - confidence`.
pub(crate) fn search_reach(noise: &Additive, comparisons: u32, confidence: f64) -> Result<u64, Invalid> {
    // Three roundings, each far below the slack.
    let each = -libm::expm1(libm::log(confidence) / f64::from(comparisons)) * (1.0 - 1e-12);
    let beyond = |tau: u64| noise.tail(tau as i64 + 1);
    // Beyond 800 scales the tail is below every float that a confidence leaves.
    let (mut low, mut high) = (0u64, (800.0 * noise.scale()).ceil().max(1.0) as u64);
    if high > LARGEST || beyond(high) > each {
        let remedy = "more budget: no more than 2^40 people could be distinguished from noise";
        return Err(Invalid::new("sensitivity", InvalidKind::TooLarge, remedy));
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if beyond(middle) <= each { high = middle } else { low = middle }
    }
    Ok(high)
}

const LARGEST: u64 = 1 << 40;

/// The place of the answer, and what was compared on the way to it.
pub(super) struct SearchOutcome {
    pub(super) at: u64,
    /// The index of each point that was asked for, and its loss with noise.
    #[cfg_attr(not(test), expect(dead_code, reason = "what is released is the place alone"))]
    pub(super) compared: Vec<(u64, i64)>,
}

/// The search, for losses at the points `1..top`, with a draw for each of its comparisons.
pub(super) fn search(top: u64, tau: u64, loss: impl Fn(u64) -> u64, draws: &[i64]) -> SearchOutcome {
    let (mut low, mut high) = (0, top);
    let mut compared = Vec::with_capacity(draws.len());
    for draw in draws {
        if high - low <= 1 {
            break;
        }
        let middle = low + (high - low) / 2;
        // Both are below 2^62.
        let noised = loss(middle) as i64 + draw;
        compared.push((middle, noised));
        if noised <= tau as i64 { high = middle } else { low = middle }
    }
    SearchOutcome { at: high, compared }
}

impl<F: Monotone> NumberForm for Search<F> {
    type Cell = Tops;
    type Number = i128;
    type Value = i128;
}

impl<F: Monotone> Numbers for Search<F> {
    fn noise(&self, _: DecimalPoint) -> Vec<Noised> {
        let (kind, comparisons) = (self.noise.family().name(), self.aim.grid.comparisons());
        vec![self.aim.noised(kind, self.noise.scale(), Some(comparisons))]
    }

    /// In people.
    fn reaches(&self, _: DecimalPoint) -> Vec<f64> {
        vec![self.aim.reach()]
    }

    fn largest_needed(&self) -> Option<usize> {
        self.aim.people()
    }

    /// As many draws a row as there may be comparisons, whatever is compared.
    fn estimates<K: Key>(
        &self,
        rows: &mut [SelectedRow<K, Tops>],
        _: Option<&Threshold>,
        noise: &mut NoiseSource,
    ) -> Vec<Estimate<i128>> {
        let aim = &self.aim;
        let comparisons = aim.grid.comparisons() as usize;
        let draws = self.noise.draws(rows.len() * comparisons, noise);
        let find = |(row, draws): (&mut SelectedRow<K, Tops>, &[i64])| {
            let ranked = std::mem::take(&mut row.cell).ranked();
            let found = search(aim.grid.top(), aim.tau, |index| aim.loss(&ranked, index), draws);
            aim.estimate(found.at)
        };
        rows.iter_mut().zip(draws.chunks(comparisons)).map(find).collect()
    }
}

// The shifted inverse: a point of the grid that a few people are above, chosen by the exponential mechanism.
//
// # The loss that it chooses by
//
// With `l(i)` for how many people must leave so that the function falls to point `i` ([`Monotone`]), answer
// `i` is as bad as
//
// ```text
// max(l(i) - tau, tau - l(i - 1)),   l(0) = most,   l(top) = 0
// ```
//
// within `most` to either side. One person moves it by 1, as they move `l`. The first `i` with `l(i) <= tau`
// has a loss of 0 or less, so one of less than `tau` is chosen but for a chance of `bad / (bad + W(0))`, where all
// other points weigh `bad = (top - 1) W(tau)` at most, by the weights that are drawn from. There, fewer than `2 tau`
// people are above `i`, and one at least is above the point before: what is known of a [search]()'s answer too.
//
// It is the point before, and not the values that are at least as large as point `i`: between two points
// there may be many values and none, and every point above the largest value would be as good as the one next
// to it.
//
// The loss takes at most `most + 1` values, in runs, so a grid of 2^40 points costs no more than one of a
// thousand.

/// A shifted inverse, ready to be drawn.
pub type Inverted<K, F> = Noisy<K, Inverse<F>>;

#[derive(Clone, Debug)]
pub struct Inverse<F> {
    aim: Aim<F>,
    choice: AnswerChoice,
}

pub(in crate::mechanisms) fn inverted<K: Key, F: Monotone>(
    asked: &UncheckedNoise,
    largest: &Largest<K, F>,
) -> Result<Inverted<K, F>, Invalid> {
    settled(asked, &largest.stated("shifted inverse"), |NumbersOf { spend, .. }| {
        let keys = u64::try_from(largest.sensitivity().l0()).unwrap_or(u64::MAX);
        let choice = EpsilonShare::of(spend, keys).choice(ChoiceRule::Exponential, 1, 1)?;
        let tau = inverse_reach(&choice, largest.grid(), asked.confidence()?)?;
        // So far that nothing beyond weighs anything.
        Ok(Inverse { aim: Aim::new(largest, tau, 4.0 * choice.scale()), choice })
    })
}

/// Returns the least `tau` with `bad W(tau) / (bad W(tau) + W(0)) <= 1 - confidence`, for the weights `W` that are drawn
/// from, and all answers but the best as bad.
pub(crate) fn inverse_reach(choice: &AnswerChoice, grid: &Grid, confidence: f64) -> Result<u64, Invalid> {
    // A loss of `tau` is too much, where one below it is not.
    match choice.exceeded(grid.top(), 0, 1.0 - confidence) {
        Some(most) if most < LARGEST => Ok(most + 1),
        _ => Err(Invalid::new(
            "sensitivity",
            InvalidKind::TooLarge,
            "more budget: no more than 2^40 people could be distinguished from noise",
        )),
    }
}

impl<F: Monotone> Inverse<F> {
    /// Stretches of equal loss over the answers `1..=top`, `tau` added so that none is below zero.
    pub(super) fn runs(&self, ranked: &RankedTops) -> Vec<EqualLossRun> {
        let Aim { function, grid, most, .. } = &self.aim;
        let (most, top) = (*most, grid.top());
        // The first point at which this number of people, or fewer, are above.
        let first = |leaving: u64| {
            let value = function.value(&ranked.without(leaving, F::LOOKS_AT));
            match i64::try_from(value) {
                Ok(value) => grid.ceiling(value).min(top),
                Err(_) if value > 0 => top,
                Err(_) => 1,
            }
        };
        let mut runs = Vec::new();
        let (mut at, mut before) = (1, most);
        for here in (0..most).rev() {
            let next = first(here);
            if next > at {
                runs.extend(self.stretch(next - at, here + 1, before));
                (at, before) = (next, here + 1);
            }
        }
        runs.extend(self.stretch(top + 1 - at, 0, before));
        runs
    }

    /// So many points of one loss, the first of which follows a point of another.
    fn stretch(&self, points: u64, here: u64, before: u64) -> [EqualLossRun; 2] {
        let loss = |before: u64| here.max((2 * self.aim.tau).saturating_sub(before));
        [EqualLossRun { cells: 1, loss: loss(before) }, EqualLossRun { cells: points - 1, loss: loss(here) }]
    }
}

impl<F: Monotone> NumberForm for Inverse<F> {
    type Cell = Tops;
    type Number = i128;
    type Value = i128;
}

impl<F: Monotone> Numbers for Inverse<F> {
    fn noise(&self, _: DecimalPoint) -> Vec<Noised> {
        vec![self.aim.noised(ChoiceRule::Exponential.name(), self.choice.scale(), None)]
    }

    /// In people.
    fn reaches(&self, _: DecimalPoint) -> Vec<f64> {
        vec![self.aim.reach()]
    }

    fn largest_needed(&self) -> Option<usize> {
        self.aim.people()
    }

    fn estimates<K: Key>(
        &self,
        rows: &mut [SelectedRow<K, Tops>],
        _: Option<&Threshold>,
        noise: &mut NoiseSource,
    ) -> Vec<Estimate<i128>> {
        let choose = |row: &mut SelectedRow<K, Tops>| {
            let ranked = std::mem::take(&mut row.cell).ranked();
            self.aim.estimate(self.choice.choose(&self.runs(&ranked), noise) + 1)
        };
        rows.iter_mut().map(choose).collect()
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod inverse_tests;
