//! What a release is given to spend, and how it is divided among its draws.

use dashu_int::UBig;
use dashu_int::ops::SquareRoot;

use crate::accounting::{Amount, Cost, Neighbours, Omega, Units};
use crate::invalid::{Invalid, Kind};
use crate::noise::Ratio;

/// The cost of additive noise, in one of the two currencies that have a closed form for many cells at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spend {
    Pure(Units),
    Rho(Units),
}

impl Spend {
    /// Reads an amount.
    pub(super) fn of(amount: &Amount) -> Result<Spend, Invalid> {
        match amount {
            Amount::Pure { epsilon } => Ok(Spend::Pure(*epsilon)),
            Amount::Zcdp { rho, delta: Units::ZERO, .. } => Ok(Spend::Rho(*rho)),
            Amount::Zcdp { .. } => {
                Err(Invalid::new("delta", Kind::Mixed, "rho alone here, and delta to the keys to discover"))
            }
            _ => Err(Invalid::new("currency", Kind::Mixed, "rho or pure epsilon")),
        }
    }

    /// `percent` of it, rounded down, and the rest: together exactly all of it.
    pub(super) fn split(self, percent: u8) -> (Spend, Spend) {
        let part = |all: Units| {
            let (bits, percent) = (all.to_bits(), u128::from(percent));
            let part = bits / 100 * percent + bits % 100 * percent / 100;
            (Units::from_bits(part), Units::from_bits(bits - part))
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

    /// Half of the epsilon that each of so many choices of bounded range may have, rounded down: pure epsilons add up, and
    /// each costs `epsilon^2 / 8` of rho.
    pub(super) fn half_epsilon(self, choices: u64) -> Result<Ratio, Invalid> {
        let choices = choices.max(1);
        match self {
            Spend::Pure(epsilon) => Ratio::new(epsilon.to_bits() / u128::from(choices), 1 << 65),
            Spend::Rho(rho) => {
                // `choices half^2 / 2 <= rho`, in units of 2^-64.
                let square: UBig = (UBig::from(rho.to_bits()) << 65) / UBig::from(choices);
                // The root of less than 2^193.
                Ratio::new(u128::try_from(square.sqrt()).unwrap_or(0), 1 << 64)
            }
        }
    }

    /// The cost of all of it, beside a delta.
    pub(super) fn cost(self, neighbours: Neighbours, delta: Units) -> Cost {
        let amount = match self {
            Spend::Pure(epsilon) if delta == Units::ZERO => Amount::Pure { epsilon },
            Spend::Pure(epsilon) => Amount::Approximate { epsilon, delta },
            Spend::Rho(rho) => Amount::Zcdp { rho, delta, omega: Omega::EVERY },
        };
        Cost::new(neighbours, amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes an epsilon that costs more than there is, and one that leaves more than rounding over.
    #[test]
    fn choices_cost_together_what_there_is() {
        for bits in [1u128 << 40, 12_345_678_901_234_567_890, 3 << 64, 500 << 64] {
            for choices in [1u64, 3, 7, 1000] {
                let exact = UBig::from(bits);
                let half = Spend::Pure(Units::from_bits(bits)).half_epsilon(choices).unwrap();
                let spent = |half: u128| UBig::from(half) * UBig::from(choices);
                let scaled = |half: Ratio| half.numerator() * ((1 << 65) / half.denominator());
                assert!(spent(scaled(half)) <= exact && spent(scaled(half) + 1) > exact);
                let half = Spend::Rho(Units::from_bits(bits)).half_epsilon(choices).unwrap();
                let scaled = half.numerator() * ((1 << 64) / half.denominator());
                let spent = |half: u128| UBig::from(half) * UBig::from(half) * UBig::from(choices);
                assert!(spent(scaled) <= exact.clone() << 65 && spent(scaled + 1) > exact << 65);
            }
        }
    }

    // Refutes a split that loses or invents a unit.
    #[test]
    fn the_parts_are_all_of_it() {
        for bits in [1, 2, 3, 99, 100, 101, 12_345_678_901_234_567_890, u128::MAX / 3] {
            for percent in [1, 30, 50, 99] {
                let (Spend::Rho(part), Spend::Rho(rest)) = Spend::Rho(Units::from_bits(bits)).split(percent)
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
