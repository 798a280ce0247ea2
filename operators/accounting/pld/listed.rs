//! Losses that someone else has listed, composed with themselves: what a table of noise is certified by.

use std::sync::Arc;

use super::complex::ULP;
use super::integral::Integral;
use super::law::{Atom, LossLaw};

/// The loss of one use: where it is finite a list, and the probability that it is not.
///
/// What is reported is an upper bound if the losses and the masses are. The masses need not add up to 1: with those that are
/// rounded up, they may well be a little more.
#[derive(Debug)]
pub(in crate::accounting) struct ListedLoss {
    atoms: Arc<[Atom]>,
    infinite: f64,
}

/// Terms may start anywhere above the result, until their rounding shows: the sum is the shorter the more they may.
const ANY: f64 = 60.0;

/// How near the bound is to be, and how long that may take.
#[derive(Clone, Copy, Debug)]
pub(in crate::accounting) struct Care {
    /// How much larger than needed delta may become, relatively.
    pub(in crate::accounting) excess: f64,
    /// How many frequencies are visited at first, and at most.
    pub(in crate::accounting) terms: (f64, f64),
}

impl ListedLoss {
    /// Pairs of a loss and its mass, and the mass of infinite loss.
    pub(in crate::accounting) fn new(pairs: impl Iterator<Item = (f64, f64)>, infinite: f64) -> ListedLoss {
        ListedLoss { atoms: pairs.map(|(loss, mass)| Atom { loss, mass }).collect(), infinite }
    }

    /// An upper bound on the divergence of `count` uses at `epsilon`, each chosen by the outcomes of those before.
    ///
    /// With masses that are not divided by their sum, the contour's `M` is the moment over the finite losses alone.
    pub(in crate::accounting) fn delta(&self, count: u64, epsilon: f64, care: Care) -> f64 {
        let uses = [(LossLaw::Atoms(Arc::clone(&self.atoms)), count)];
        let finite = Integral::new(&uses, 0.0).delta_within(epsilon, care.excess, care.terms, ANY);
        let infinite = -libm::expm1(count as f64 * libm::log1p(-self.infinite.min(1.0)));
        ((finite + infinite * (1.0 + 64.0 * ULP)) * (1.0 + 4.0 * ULP)).min(1.0)
    }

    /// As if the neighbour could say everything: what a test must catch.
    #[cfg(test)]
    pub(in crate::accounting) fn without_infinite(mut self) -> ListedLoss {
        self.infinite = 0.0;
        self
    }
}
