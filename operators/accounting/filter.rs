//! Does this cost still fit? Asked before a release, and answered from public numbers alone.
//!
//! A filter holds a limit and what was spent; a charge that fits is added, one that does not changes nothing. The next
//! release may be chosen by looking at all answers so far: what the filter promises holds for every such strategy. That
//! is a theorem for each of these currencies and not for every sum one might keep:
//!
//! | limit | theorem |
//! |---|---|
//! | pure epsilon; (epsilon, delta) by basic composition | Rogers, Roth, Ullman, Vadhan 2016 |
//! | Rényi curve: every order that has a limit, fixed in advance | Feldman, Zrnic 2021 |
//! | zCDP with delta and omega | Whitehouse, Ramdas, Rogers, Wu 2023; omega fixed in advance, like the delta |
//! | Gaussian mu | Smith, Thakurta 2022 |
//! | privacy loss distributions, or a best order chosen at the end | **none**: false in general |
//!
//! The decision is made in integers: it is the same on every machine, and takes the same time for the millionth charge
//! as for the first.

use std::fmt;

use super::amount::PrivacyCost;
use super::convert;
use super::cost::ReleaseCost;
use super::neighbours::Adjacency;
use super::number;
use super::orders::Omega;
use super::units::BudgetUnits;
use crate::invalid::{Invalid, InvalidKind};

/// A limit, and how much of it is spent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PrivacyFilter {
    neighbours: Adjacency,
    limit: PrivacyCost,
    spent: PrivacyCost,
}

/// Why a charge was not made. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetExceeded {
    /// It does not fit.
    Budget {
        /// What was spent before.
        spent: Box<PrivacyCost>,
        /// What was asked, in the limit's currency.
        asked: Box<PrivacyCost>,
        /// What may be spent in all.
        limit: Box<PrivacyCost>,
    },
    /// It is a cost that this filter cannot count: of other neighbours, of a currency that no theorem turns into the
    /// limit's, or for fewer Rényi orders.
    Uncountable(Invalid),
}

impl PrivacyFilter {
    /// Nothing spent of `limit`, which says by its currency what is counted and how. A limit should be rounded down, as
    /// [`limit`](super::limit) does.
    pub fn new(neighbours: Adjacency, limit: PrivacyCost) -> PrivacyFilter {
        let spent = limit.nothing();
        PrivacyFilter { neighbours, limit, spent }
    }

    /// A filter of (epsilon, delta)-private costs that promises (epsilon, delta) by better than basic composition:
    /// `slack` of delta pays for it, what is left of delta is for the charges' own deltas.
    ///
    /// It counts in zCDP, each charge as `e_i tanh(e_i / 2)`, and stops where that many rho are no longer epsilon at
    /// `slack`. The published filter stops earlier, at `sqrt(2 ln(1/slack) sum e_i^2) + sum e_i^2 / 2 > epsilon`: the
    /// same argument with a coarser conversion on both sides.
    ///
    /// # Errors
    /// Names `epsilon`, `delta` or `slack` when it is out of range.
    pub fn approximate(
        neighbours: Adjacency,
        epsilon: f64,
        delta: f64,
        slack: f64,
    ) -> Result<PrivacyFilter, Invalid> {
        let delta = BudgetUnits::at_most_float("delta", number::probability("delta", delta)?)?;
        number::probability("slack", slack)?;
        let rho = convert::rho_within(epsilon, slack, f64::INFINITY)?;
        let left = delta.to_bits().checked_sub(BudgetUnits::at_least_float("slack", slack)?.to_bits());
        let left = left.ok_or_else(|| Invalid::new("slack", InvalidKind::TooLarge, "a part of delta"))?;
        let limit = PrivacyCost::Zcdp {
            rho: BudgetUnits::at_most_float("rho", rho)?,
            delta: BudgetUnits::from_bits(left),
            omega: Omega::EVERY,
        };
        Ok(PrivacyFilter::new(neighbours, limit))
    }

    /// Adds `cost` if it fits.
    ///
    /// # Errors
    /// [`BudgetExceeded`], with nothing changed.
    pub fn charge(&mut self, cost: &ReleaseCost) -> Result<(), BudgetExceeded> {
        self.spent = self.after(cost)?;
        Ok(())
    }

    /// What would be spent after `cost`, if it fits.
    ///
    /// # Errors
    /// [`BudgetExceeded`], if it does not.
    pub fn after(&self, cost: &ReleaseCost) -> Result<PrivacyCost, BudgetExceeded> {
        let asked = self.asked(cost).map_err(BudgetExceeded::Uncountable)?;
        match self.spent.plus(&asked) {
            Ok(total) if total.within(&self.limit) => Ok(total),
            // An overflow is above every limit.
            Ok(_) | Err(_) => Err(BudgetExceeded::Budget {
                spent: Box::new(self.spent.clone()),
                asked: Box::new(asked),
                limit: Box::new(self.limit.clone()),
            }),
        }
    }

    /// The same limit beside another sum.
    pub(crate) fn having_spent(&self, spent: PrivacyCost) -> PrivacyFilter {
        PrivacyFilter { spent, limit: self.limit.clone(), ..*self }
    }

    /// What may be spent in all.
    pub fn limit(&self) -> &PrivacyCost {
        &self.limit
    }

    /// What is spent: a running sum. It is no promise of its own, for when to look was chosen by who looks; the promise
    /// is the limit.
    pub fn spent(&self) -> &PrivacyCost {
        &self.spent
    }

    /// The cost in the limit's currency.
    ///
    /// # Errors
    /// Names what keeps it from being counted here.
    pub(crate) fn asked(&self, cost: &ReleaseCost) -> Result<PrivacyCost, Invalid> {
        self.neighbours.same(cost.neighbours())?;
        let asked = cost.amount().in_currency_of(&self.limit)?;
        match (&asked, &self.limit) {
            (PrivacyCost::Zcdp { omega, .. }, PrivacyCost::Zcdp { omega: wanted, .. }) if omega < wanted => {
                Err(Invalid::new(
                    "omega",
                    InvalidKind::TooSmall,
                    format!("a cost for all orders below {}", wanted.to_float()),
                ))
            }
            _ => Ok(asked),
        }
    }
}

impl fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BudgetExceeded::Budget { spent, asked, limit } => {
                write!(f, "the budget is too small: {spent} is spent, {asked} is asked, {limit} is the limit")
            }
            BudgetExceeded::Uncountable(invalid) => invalid.fmt(f),
        }
    }
}

impl std::error::Error for BudgetExceeded {}

#[cfg(test)]
mod tests;
