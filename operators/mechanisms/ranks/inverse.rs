//! The shifted inverse: a point of the grid that a few people are above, chosen by the exponential mechanism.
//!
//! # The loss that it chooses by
//!
//! With `l(i)` for how many people must leave so that the function falls to point `i` ([`Monotone`]), answer `i` is as bad as
//!
//! ```text
//! max(l(i) - tau, tau - l(i - 1)),   l(0) = most,   l(top) = 0
//! ```
//!
//! within `most` to either side. One person moves it by 1, as they move `l`. The first `i` with `l(i) <= tau` has a loss of 0
//! or less, so one of less than `tau` is chosen but for a chance of `points e^(-epsilon tau / 2)`. There, fewer than `2 tau`
//! people are above `i`, and one at least is above the point before: what is known of a [search](super::search)'s answer too.
//!
//! It is the point before, and not the values that are at least as large as point `i`: between two points there may be many
//! values and none, and every point above the largest value would be as good as the one next to it.
//!
//! The loss takes at most `most + 1` values, in runs, so a grid of 2^40 points costs no more than one of a thousand.

use super::aim::Aim;
use super::choose::{AnswerChoice, EqualLossRun};
use super::grid::Grid;
use super::largest::Largest;
use super::monotone::Monotone;
use super::share::{ChoiceRule, EpsilonShare};
use super::tops::{RankedTops, Tops};
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::answer::{Estimate, Noised};
use crate::mechanisms::keys::Key;
use crate::mechanisms::laws::UncheckedNoise;
use crate::mechanisms::noisy::{Noisy, Numbers, Tells, settled};
use crate::mechanisms::point::DecimalPoint;
use crate::mechanisms::selection::SelectedRow;
use crate::mechanisms::statistic::Statistic;
use crate::mechanisms::threshold::Threshold;
use crate::noise::NoiseSource;

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
    settled(asked, &largest.stated("shifted inverse"), |spend, _| {
        let keys = u64::try_from(largest.sensitivity().l0()).unwrap_or(u64::MAX);
        let choice = EpsilonShare::of(spend, keys).choice(ChoiceRule::Exponential, 1, 1)?;
        let tau = inverse_reach(&choice, largest.grid(), asked.confidence()?)?;
        // So far that nothing beyond weighs anything.
        Ok(Inverse { aim: Aim::new(largest, tau, 4.0 * choice.scale()), choice })
    })
}

/// The least `tau` with `points e^(-epsilon tau / 2) <= 1 - confidence`.
pub(crate) fn inverse_reach(choice: &AnswerChoice, grid: &Grid, confidence: f64) -> Result<u64, Invalid> {
    let tau = (choice.scale() * libm::log(grid.points() as f64 / (1.0 - confidence))).ceil();
    if tau <= (1u64 << 40) as f64 {
        return Ok((tau as u64).max(1));
    }
    Err(Invalid::new(
        "sensitivity",
        InvalidKind::TooLarge,
        "more budget: no more than 2^40 people could be told from noise",
    ))
}

impl<F: Monotone> Inverse<F> {
    /// Stretches of equal loss over the answers `1..=top`, `tau` added so that none is below zero.
    pub(super) fn runs(&self, ranked: &RankedTops) -> Vec<EqualLossRun> {
        let Aim { function, grid, most, .. } = &self.aim;
        let (most, top) = (*most, grid.top());
        // The first point at which so many people, or fewer, are above.
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

impl<F: Monotone> Tells for Inverse<F> {
    type Cell = Tops;
    type Told = i128;
}

impl<F: Monotone> Numbers for Inverse<F> {
    fn noise(&self, _: DecimalPoint) -> Vec<Noised> {
        vec![self.aim.noised(ChoiceRule::Exponential.name(), self.choice.scale(), None)]
    }

    /// In people.
    fn reaches(&self, _: DecimalPoint) -> Vec<f64> {
        vec![self.aim.reach()]
    }

    fn largest(&self) -> Option<usize> {
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
            self.aim.told(self.choice.choose(&self.runs(&ranked), noise) + 1)
        };
        rows.iter_mut().map(choose).collect()
    }
}

#[cfg(test)]
mod tests;
