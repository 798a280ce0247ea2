//! Where in a grid a largest value is looked for, however it is found: below the largest, by a few people.

use std::any::TypeId;

use super::grid::Grid;
use super::largest::Largest;
use super::monotone::{Altogether, Maximum, Monotone};
use super::tops::RankedTops;
use crate::mechanisms::answer::{Estimate, Noised, Ranks};
use crate::mechanisms::keys::Key;

/// A monotone function, and the people it is allowed to be too small by.
#[derive(Clone, Debug)]
pub(super) struct Aim<F> {
    pub(super) function: F,
    pub(super) grid: Grid,
    /// So many people are aimed at, and twice as many may be above what is found.
    pub(super) tau: u64,
    /// From where on losses are all the same: above `2 tau`.
    pub(super) most: u64,
}

impl<F: Monotone> Aim<F> {
    /// `beyond` is how far above `2 tau` losses are still told apart: at least 1, or what is far above would pass for less.
    pub(super) fn new<K: Key>(largest: &Largest<K, F>, tau: u64, beyond: f64) -> Aim<F> {
        let most = 2 * tau + beyond.ceil().max(1.0) as u64;
        Aim { function: largest.function().clone(), grid: largest.grid().clone(), tau, most }
    }

    /// How many people must leave for the function to fall to a point between the ends.
    pub(super) fn loss(&self, ranked: &RankedTops, index: u64) -> u64 {
        ranked.loss(&self.function, self.grid.at(index).unwrap_or(i64::MAX), self.most)
    }

    /// An answer of the grid, and what is known of where the function is: above the point before, and nothing of how far.
    pub(super) fn told(&self, index: u64) -> Estimate<i128> {
        let at = |index: u64| self.grid.at(index).map(i128::from);
        let (least, last) = (at(1).unwrap_or(i128::MIN), at(self.grid.top()).unwrap_or(i128::MAX));
        let low = index.checked_sub(1).and_then(at).map_or(least, |below| below + 1);
        Estimate::between(low, at(index).unwrap_or(last), last).open_above()
    }

    /// What is promised, of noise of such a kind.
    pub(super) fn noised(&self, kind: &'static str, scale: f64, comparisons: Option<u32>) -> Noised {
        let ranks = Ranks::Below { comparisons, tau: self.tau, least: self.told(1).value };
        Noised { ranks: Some(ranks), assumes: assumed::<F>(), ..Noised::of("largest", kind, scale) }
    }

    /// By how many people it may be too small.
    pub(super) fn reach(&self) -> f64 {
        2.0 * self.tau as f64
    }

    /// How many of the largest people must be known.
    pub(super) fn people(&self) -> Option<usize> {
        usize::try_from(self.most).ok().map(|most| most.saturating_add(F::LOOKS_AT))
    }
}

/// What a function of the library's user is released under: that it is [`Monotone`] is proved of the library's own alone.
fn assumed<F: Monotone>() -> Option<&'static str> {
    let own = [TypeId::of::<Maximum>(), TypeId::of::<Altogether>()];
    (!own.contains(&TypeId::of::<F>())).then_some("monotone by its author's word")
}
