//! What a release is given to spend, and how it is divided among its draws.

use super::cut::Cut;
use crate::accounting::{Adjacency, BudgetUnits, Omega, PrivacyCost, ReleaseCost};
use crate::invalid::{Invalid, InvalidKind};

/// The cost of additive noise, in one of the two currencies that have a closed form for many cells at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spend {
    Pure(BudgetUnits),
    Rho(BudgetUnits),
}

impl Spend {
    /// Reads an amount.
    pub(super) fn of(amount: &PrivacyCost) -> Result<Spend, Invalid> {
        match amount {
            PrivacyCost::Pure { epsilon } => Ok(Spend::Pure(*epsilon)),
            PrivacyCost::Zcdp { rho, delta: BudgetUnits::ZERO, .. } => Ok(Spend::Rho(*rho)),
            PrivacyCost::Zcdp { .. } => Err(Invalid::new(
                "delta",
                InvalidKind::Mixed,
                "rho alone here, and delta to the keys to discover",
            )),
            _ => Err(Invalid::new("currency", InvalidKind::Mixed, "rho or pure epsilon")),
        }
    }

    /// `percent` of it, rounded down, and the rest: together exactly all of it.
    pub(super) fn split(self, percent: u8) -> (Spend, Spend) {
        let part = |all: BudgetUnits| {
            let (bits, percent) = (all.to_bits(), u128::from(percent));
            let part = bits / 100 * percent + bits % 100 * percent / 100;
            (BudgetUnits::from_bits(part), BudgetUnits::from_bits(bits - part))
        };
        match self {
            Spend::Pure(epsilon) => {
                let (part, rest) = part(epsilon);
                (Spend::Pure(part), Spend::Pure(rest))
            }
            Spend::Rho(rho) => {
                let (part, rest) = part(rho);
                (Spend::Rho(part), Spend::Rho(rest))
            }
        }
    }

    /// One of so many parts, rounded down.
    pub(super) fn part_of(self, parts: u64) -> Spend {
        let part = |all: BudgetUnits| BudgetUnits::from_bits(all.to_bits() / u128::from(parts.max(1)));
        match self {
            Spend::Pure(epsilon) => Spend::Pure(part(epsilon)),
            Spend::Rho(rho) => Spend::Rho(part(rho)),
        }
    }

    /// The cost of all of it, beside a delta, with the price of a part of a person.
    pub(super) fn cost_with(
        self,
        neighbours: Adjacency,
        delta: BudgetUnits,
        (cut, is_gaussian): (Cut, bool),
    ) -> Result<ReleaseCost, Invalid> {
        let cost = self.cost(neighbours, delta);
        match cut.price(cost.amount(), is_gaussian)? {
            Some(partial) => cost.with_partial(partial),
            None => Ok(cost),
        }
    }

    /// The cost of all of it, beside a delta.
    pub(super) fn cost(self, neighbours: Adjacency, delta: BudgetUnits) -> ReleaseCost {
        let amount = match self {
            Spend::Pure(epsilon) if delta == BudgetUnits::ZERO => PrivacyCost::Pure { epsilon },
            Spend::Pure(epsilon) => PrivacyCost::Approximate { epsilon, delta },
            Spend::Rho(rho) => PrivacyCost::Zcdp { rho, delta, omega: Omega::EVERY },
        };
        ReleaseCost::new(neighbours, amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a split that loses or invents a unit.
    #[test]
    fn the_parts_are_all_of_it() {
        for bits in [1, 2, 3, 99, 100, 101, 12_345_678_901_234_567_890, u128::MAX / 3] {
            for percent in [1, 30, 50, 99] {
                let (Spend::Rho(part), Spend::Rho(rest)) =
                    Spend::Rho(BudgetUnits::from_bits(bits)).split(percent)
                else {
                    panic!()
                };
                assert_eq!(part.to_bits() + rest.to_bits(), bits);
                let exact = bits as f64 * f64::from(percent) / 100.0;
                assert!((part.to_bits() as f64 - exact).abs() <= 1.0 + exact * 1e-15);
            }
        }
    }
}
