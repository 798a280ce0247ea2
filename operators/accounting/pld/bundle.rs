//! Bundles of mechanisms that are fixed before the first output, with their joint privacy cost.

use std::sync::Arc;

use super::exact::ExactLossDistribution;
use super::integral::Integral;
use super::integral::ULP;
use super::law::LossDistribution;
use super::pair;
use super::pair::Pair;
use super::search::first_below;
use crate::accounting::{Adjacency, Relation};
use crate::invalid::{Invalid, InvalidKind, positive};

/// A list of mechanisms with the number of uses of each, all fixed before the first output of any of them.
///
/// Its [`epsilon`](Bundle::epsilon) and [`delta`](Bundle::delta) are upper bounds on the cost of the whole
/// list.
///
/// **Not a filter.** These bounds hold for a list that was fixed beforehand. To decide after each output
/// whether there is budget for one more, and to stop by the number that a privacy-loss distribution gives, is
/// not private in general; use a zero-concentrated account for that. A bundle therefore has no way to charge,
/// to check or to continue.
///
/// ```
/// use discreet::accounting::{Adjacency, pld::{Bundle, Pair}};
///
/// let counts = Pair::discrete_gaussian(100.0, 1)?;
/// let answers = Pair::discrete_laplace(20.0, 1)?;
/// let epsilon = Bundle::new(Adjacency::PERSON).add(&counts, 1_000)?.add(&answers, 10)?.epsilon(1e-6)?;
/// assert!(epsilon < 2.0);
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Bundle {
    neighbours: Adjacency,
    /// In a fixed order, so that the sums do not depend on the order of addition.
    parts: Vec<(Pair, u64)>,
    /// In descending order.
    rhos: Vec<f64>,
}

impl Bundle {
    /// An empty bundle, whose costs hold under the adjacency `neighbours`.
    pub fn new(neighbours: Adjacency) -> Bundle {
        Bundle { neighbours, parts: Vec::new(), rhos: Vec::new() }
    }

    /// The adjacency that this bundle's costs hold under.
    pub fn neighbours(&self) -> Adjacency {
        self.neighbours
    }

    /// Adds `count` uses of the mechanism that `pair` dominates, under this bundle's adjacency.
    ///
    /// # Errors
    /// If `count` is 0, or with the count that is already in the bundle exceeds 2^64 - 1. A [`Pair::table`]
    /// that is no palindrome is refused (`weights`) unless the adjacency is add/remove: a replaced unit may
    /// move one answer up and the next one down, and neither direction of such a pair dominates that.
    pub fn add(mut self, pair: &Pair, count: u64) -> Result<Bundle, Invalid> {
        if count == 0 {
            return Err(Invalid::new("count", InvalidKind::Zero, "a whole number above 0"));
        }
        if self.neighbours.relation == Relation::Replace && pair.backward.is_some() {
            return Err(Invalid::new("weights", InvalidKind::Mixed, "a palindrome where units are replaced"));
        }
        match self.parts.binary_search_by(|(other, _)| other.order(pair)) {
            Ok(found) => {
                let held = &mut self.parts[found].1;
                let overflow = || Invalid::new("count", InvalidKind::Overflow, "counts of a sum below 2^64");
                *held = held.checked_add(count).ok_or_else(overflow)?;
            }
            Err(place) => self.parts.insert(place, (pair.clone(), count)),
        }
        Ok(self)
    }

    /// Adds a part of which only its zero-concentrated cost is known: all of it together is `rho`-zCDP.
    ///
    /// # Errors
    /// If `rho` is not a positive number, or is more than 2^20.
    pub fn add_zcdp(mut self, rho: f64) -> Result<Bundle, Invalid> {
        let rho = positive("rho", rho)?;
        if rho > 1_048_576.0 {
            return Err(Invalid::new("rho", InvalidKind::TooLarge, "at most 2^20"));
        }
        let place = self.rhos.partition_point(|other| *other > rho);
        self.rhos.insert(place, rho);
        Ok(self)
    }

    /// Adds all parts of another bundle.
    ///
    /// # Errors
    /// If the other bundle has another adjacency (`unit` or `relation`), or a count overflows.
    pub fn join(mut self, other: &Bundle) -> Result<Bundle, Invalid> {
        self.neighbours.same(other.neighbours)?;
        for (pair, count) in &other.parts {
            self = self.add(pair, *count)?;
        }
        for rho in &other.rhos {
            self = self.add_zcdp(*rho)?;
        }
        Ok(self)
    }

    /// Returns the least epsilon for which the bundle is (epsilon, `delta`)-private, rounded up: never below
    /// it, and within 10^-6 of it relatively (or, where epsilon is smaller, of the tenth part of the loss's
    /// spread). Infinite if there is no such epsilon. A part added by `add_zcdp` is known by a bound alone.
    ///
    /// # Errors
    /// If `delta` is not above 0 and below 1.
    pub fn epsilon(&self, delta: f64) -> Result<f64, Invalid> {
        let delta = positive("delta", delta)?;
        if delta >= 1.0 {
            return Err(Invalid::new("delta", InvalidKind::TooLarge, "a number above 0 and below 1"));
        }
        Ok(self.directions().map(|total| total.epsilon(delta)).fold(0.0, f64::max))
    }

    /// Returns the least delta for which the bundle is (`epsilon`, delta)-private, rounded up: never below
    /// it.
    ///
    /// # Errors
    /// If `epsilon` is negative or not finite.
    pub fn delta(&self, epsilon: f64) -> Result<f64, Invalid> {
        if epsilon != 0.0 {
            positive("epsilon", epsilon)?;
        }
        Ok(self.directions().map(|total| total.delta(epsilon)).fold(0.0, f64::max))
    }

    /// The total loss of the unit's presence against its absence, and, where it differs, the other way round.
    fn directions(&self) -> impl Iterator<Item = Composition> {
        let both = self.parts.iter().any(|(pair, _)| pair.backward.is_some());
        let rho = self.rhos.iter().sum::<f64>() * (1.0 + (self.rhos.len() + 1) as f64 * 2.0 * ULP);
        let forward = Composition::new(self.parts.iter().map(|(pair, count)| (&pair.forward, *count)), rho);
        let other = both.then(|| {
            Composition::new(
                self.parts
                    .iter()
                    .map(|(pair, count)| (pair.backward.as_ref().unwrap_or(&pair.forward), *count)),
                rho,
            )
        });
        std::iter::once(forward).chain(other)
    }
}

// The total loss of a bundle in one direction: the infinite, the listed and the integrated part.

/// The privacy loss of one use: its distribution where it is finite, and the probability of infinite loss.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PrivacyLoss {
    pub(super) law: LossDistribution,
    pub(super) infinite: f64,
}

#[derive(Debug)]
pub(super) struct Composition {
    infinite: f64,
    finite: f64,
    total: TotalLoss,
}

#[derive(Debug)]
enum TotalLoss {
    Zcdp(f64),
    Exact(ExactLossDistribution),
    Integral(Integral),
}

impl Composition {
    /// Composes losses, each with its count, and a part that is `rho`-zCDP.
    pub(super) fn new<'a>(losses: impl Iterator<Item = (&'a PrivacyLoss, u64)>, rho: f64) -> Composition {
        let (mut uses, mut squares, mut log_finite) = (Vec::new(), 0.0, 0.0);
        for (loss, count) in losses {
            log_finite += count as f64 * libm::log1p(-loss.infinite);
            match &loss.law {
                LossDistribution::Gaussian { ratio } => squares += count as f64 * ratio * ratio,
                law => uses.push((law.clone(), count)),
            }
        }
        let slack = (uses.len() as f64 + 8.0) * 8.0 * ULP;
        let gaussian = (squares * (1.0 + slack)).sqrt() * (1.0 + 2.0 * ULP);
        if rho > 0.0 && (gaussian > 0.0 || !uses.is_empty()) {
            // The atoms hold all but this tail, which is below their rounding.
            let (atoms, infinite) = pair::dots(rho);
            log_finite += libm::log1p(-infinite);
            uses.push((LossDistribution::Atoms(Arc::from(atoms)), 1));
        }
        let total = if rho > 0.0 && gaussian == 0.0 && uses.is_empty() {
            TotalLoss::Zcdp(rho)
        } else {
            match ExactLossDistribution::list(&uses, gaussian) {
                Some(exact) => TotalLoss::Exact(exact),
                None => TotalLoss::Integral(Integral::new(&uses, gaussian)),
            }
        };
        let left_out = if let TotalLoss::Exact(exact) = &total { exact.left_out() } else { 0.0 };
        Composition {
            infinite: (-libm::expm1(log_finite) * (1.0 + slack) + left_out).min(1.0),
            finite: libm::exp(log_finite * (1.0 - slack)),
            total,
        }
    }

    /// An upper bound on the hockey-stick divergence at `epsilon`.
    pub(super) fn delta(&self, epsilon: f64) -> f64 {
        let finite = match &self.total {
            TotalLoss::Zcdp(rho) => pair::zcdp_delta(*rho, epsilon).0,
            TotalLoss::Exact(exact) => exact.delta(epsilon).0,
            TotalLoss::Integral(integral) => integral.delta(epsilon),
        };
        ((self.infinite + self.finite * finite) * (1.0 + 4.0 * ULP)).min(1.0)
    }

    /// A bound on the least epsilon at which the divergence is at most `delta`; infinite if there is none.
    pub(super) fn epsilon(&self, delta: f64) -> f64 {
        let target = (delta - self.infinite) / self.finite * (1.0 - 16.0 * ULP);
        if target.is_nan() || target <= 0.0 {
            return f64::INFINITY;
        }
        match &self.total {
            TotalLoss::Zcdp(rho) => first_below(target, 1.0, |epsilon| pair::zcdp_delta(*rho, epsilon)),
            TotalLoss::Exact(exact) => first_below(target, 1.0, |epsilon| exact.delta(epsilon)),
            TotalLoss::Integral(integral) => integral.epsilon(target),
        }
    }
}
