//! Budgets: one of three ways to state a limit, never two at once.

use super::amount::PrivacyCost;
use super::convert;
use super::number;
use super::renyi::Omega;
use super::units::BudgetUnits;
use crate::decimal::Decimal;
use crate::invalid::{Invalid, InvalidKind};

/// A budget, in range and of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// Pure differential privacy.
    Pure {
        /// The bound of the privacy loss.
        epsilon: f64,
    },
    /// Differential privacy that may fail with a small probability.
    Approximate {
        /// The bound of the privacy loss.
        epsilon: f64,
        /// The probability of a larger loss.
        delta: f64,
    },
    /// Zero-concentrated differential privacy: every Rényi order `a` costs at most `a rho`.
    Zcdp {
        /// The cost.
        rho: f64,
    },
}

impl Budget {
    /// The budget that is meant by the parameters given: epsilon, epsilon with delta, or rho.
    ///
    /// # Errors
    /// Names the parameter that is out of range, missing, or given beside one that excludes it.
    pub fn new(epsilon: Option<f64>, delta: Option<f64>, rho: Option<f64>) -> Result<Budget, Invalid> {
        match (epsilon, delta, rho) {
            (Some(epsilon), None, None) => Budget::pure(epsilon),
            (Some(epsilon), Some(delta), None) => Budget::approximate(epsilon, delta),
            (None, None, Some(rho)) => Budget::zcdp(rho),
            (None, Some(_), None) => {
                Err(Invalid::new("epsilon", InvalidKind::Missing, "an epsilon beside delta"))
            }
            (None, None, None) => {
                Err(Invalid::new("epsilon", InvalidKind::Missing, "epsilon, epsilon and delta, or rho"))
            }
            (_, _, Some(_)) => {
                Err(Invalid::new("rho", InvalidKind::Mixed, "either rho, or epsilon and delta"))
            }
        }
    }

    /// Pure epsilon.
    ///
    /// # Errors
    /// Names `epsilon` outside 0..=500.
    pub fn pure(epsilon: f64) -> Result<Budget, Invalid> {
        Ok(Budget::Pure { epsilon: number::epsilon("epsilon", epsilon)? })
    }

    /// Epsilon and delta.
    ///
    /// # Errors
    /// Names `epsilon` outside 0..=500 or `delta` outside 0..1.
    pub fn approximate(epsilon: f64, delta: f64) -> Result<Budget, Invalid> {
        let epsilon = number::epsilon("epsilon", epsilon)?;
        Ok(Budget::Approximate { epsilon, delta: number::probability("delta", delta)? })
    }

    /// Zero-concentrated.
    ///
    /// # Errors
    /// Names `rho` outside 0..=500.
    pub fn zcdp(rho: f64) -> Result<Budget, Invalid> {
        Ok(Budget::Zcdp { rho: number::rho("rho", rho)? })
    }
}

/// The limit that an account's budget comes to, read exactly and rounded down: what a
/// [`PrivacyFilter`](super::PrivacyFilter) holds.
///
/// Pure epsilon and rho are limits as they stand. Epsilon and delta become zCDP once, here: a part of delta is
/// [for charges](DeltaForKeys), and the rest turns rho into epsilon. Only the orders below `omega` are then
/// asked of every charge, and used here. (They become mu by [`gdp::limit`](super::gdp::limit).)
///
/// # Errors
/// Names the parameter that is out of range, missing, or given beside one that excludes it.
pub fn limit(
    epsilon: Option<&Decimal>,
    delta: Option<&Decimal>,
    rho: Option<&Decimal>,
    for_keys: DeltaForKeys<'_>,
    omega: Omega,
) -> Result<PrivacyCost, Invalid> {
    let float = |decimal: Option<&Decimal>| decimal.map(Decimal::to_f64);
    // Refuses what makes no sense; the amounts below are read again, exactly.
    Budget::new(float(epsilon), float(delta), float(rho))?;
    let exact = |field, decimal: Option<&Decimal>| {
        decimal.map_or(Ok(BudgetUnits::ZERO), |decimal| BudgetUnits::at_most(field, decimal))
    };
    match (epsilon, delta) {
        (Some(_), None) => Ok(PrivacyCost::Pure { epsilon: exact("epsilon", epsilon)? }),
        (Some(_), Some(_)) => {
            let delta = exact("delta", delta)?;
            pair(exact("epsilon", epsilon)?, delta, for_keys.of(delta, 5)?, omega)
        }
        (None, _) => Ok(PrivacyCost::Zcdp { rho: exact("rho", rho)?, delta: BudgetUnits::ZERO, omega }),
    }
}

/// The part of delta that an account sets aside for the deltas of its charges: for discovered keys, stable
/// means and answers to questions. It is fixed as long as the account is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DeltaForKeys<'a> {
    /// None: no charge has a delta.
    None,
    /// The usual part: half in zCDP, and three tenths in Gaussian differential privacy.
    Usual,
    /// This much.
    Stated(&'a Decimal),
}

impl DeltaForKeys<'_> {
    /// Returns the part of `delta`, rounded down; the usual one in tenths.
    ///
    /// # Errors
    /// Names `delta_for_keys` unless it is below delta.
    pub(super) fn of(self, delta: BudgetUnits, usual: u128) -> Result<BudgetUnits, Invalid> {
        let part = match self {
            DeltaForKeys::None => BudgetUnits::ZERO,
            DeltaForKeys::Usual => BudgetUnits::from_bits(delta.to_bits() * usual / 10),
            DeltaForKeys::Stated(stated) => BudgetUnits::at_most("delta_for_keys", stated)?,
        };
        left(delta, part).map(|_| part)
    }
}

/// Returns the part of delta that is left for the conversion of epsilon.
pub(super) fn left(delta: BudgetUnits, for_keys: BudgetUnits) -> Result<BudgetUnits, Invalid> {
    let left = delta.to_bits().checked_sub(for_keys.to_bits()).filter(|left| *left > 0);
    let too_large =
        || Invalid::new("delta_for_keys", InvalidKind::TooLarge, "a part of delta that leaves some of it");
    left.map(BudgetUnits::from_bits).ok_or_else(too_large)
}

/// Returns the limit in zCDP of epsilon and delta, of which a part is for charges.
pub(super) fn pair(
    epsilon: BudgetUnits,
    delta: BudgetUnits,
    charged: BudgetUnits,
    omega: Omega,
) -> Result<PrivacyCost, Invalid> {
    let converting = left(delta, charged)?.to_float_down();
    let rho = convert::rho_within(epsilon.to_float_down(), converting, omega.to_float())?;
    Ok(PrivacyCost::Zcdp { rho: BudgetUnits::at_most_float("rho", rho)?, delta: charged, omega })
}

/// The limit that a budget comes to, as [`limit`] has it where some releases charge a delta of their own:
/// half of delta is kept for keys to be discovered.
impl TryFrom<Budget> for PrivacyCost {
    type Error = Invalid;

    fn try_from(budget: Budget) -> Result<PrivacyCost, Invalid> {
        let exact = BudgetUnits::at_most_float;
        match budget {
            Budget::Pure { epsilon } => Ok(PrivacyCost::Pure { epsilon: exact("epsilon", epsilon)? }),
            Budget::Approximate { epsilon, delta } => {
                let delta = exact("delta", delta)?;
                pair(exact("epsilon", epsilon)?, delta, DeltaForKeys::Usual.of(delta, 5)?, Omega::EVERY)
            }
            Budget::Zcdp { rho } => Ok(PrivacyCost::Zcdp {
                rho: exact("rho", rho)?,
                delta: BudgetUnits::ZERO,
                omega: Omega::EVERY,
            }),
        }
    }
}

/// So that `Budget::approximate(1.0, 1e-6)` stands where an amount is asked for, and what is wrong with it is
/// said there.
impl TryFrom<Result<Budget, Invalid>> for PrivacyCost {
    type Error = Invalid;

    fn try_from(budget: Result<Budget, Invalid>) -> Result<PrivacyCost, Invalid> {
        budget?.try_into()
    }
}

/// So that `Amount::zcdp(0.1)` stands where an amount is asked for, and what is wrong with it is said there.
impl TryFrom<Result<PrivacyCost, Invalid>> for PrivacyCost {
    type Error = Invalid;

    fn try_from(amount: Result<PrivacyCost, Invalid>) -> Result<PrivacyCost, Invalid> {
        amount
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse("budget", text).unwrap()
    }

    #[test]
    fn a_budget_is_said_in_one_way() {
        let kind = |epsilon, delta, rho| Budget::new(epsilon, delta, rho).map_err(|refused| refused.kind());
        assert_eq!(kind(Some(1.0), None, None), Ok(Budget::Pure { epsilon: 1.0 }));
        assert_eq!(kind(Some(1.0), Some(1e-6), None), Ok(Budget::Approximate { epsilon: 1.0, delta: 1e-6 }));
        assert_eq!(kind(None, None, Some(0.1)), Ok(Budget::Zcdp { rho: 0.1 }));
        assert_eq!(kind(Some(1.0), None, Some(0.1)), Err(InvalidKind::Mixed));
        assert_eq!(kind(Some(1.0), Some(1e-6), Some(0.1)), Err(InvalidKind::Mixed));
        assert_eq!(kind(None, Some(1e-6), None), Err(InvalidKind::Missing));
        assert_eq!(kind(None, None, None), Err(InvalidKind::Missing));
        assert_eq!(kind(Some(1.0), Some(0.0), None), Err(InvalidKind::Zero));
        assert_eq!(kind(Some(1e6), None, None), Err(InvalidKind::TooLarge));
    }

    // 0.1 * 2^64 = 1844674407370955161.6 by hand; the float nearest 0.1 is 102 units more than that.
    #[test]
    fn limits_are_read_exactly_and_rounded_down() {
        let tenth = decimal("0.1");
        let units = BudgetUnits::from_bits(1_844_674_407_370_955_161);
        let rho = limit(None, None, Some(&tenth), DeltaForKeys::Usual, Omega::EVERY).unwrap();
        assert_eq!(rho, PrivacyCost::Zcdp { rho: units, delta: BudgetUnits::ZERO, omega: Omega::EVERY });
        let pure = limit(Some(&tenth), None, None, DeltaForKeys::Usual, Omega::EVERY).unwrap();
        assert_eq!(pure, PrivacyCost::Pure { epsilon: units });
    }

    // (1, 1e-6) is rho = .0243559; with half of delta kept for charges it is that of (1, 5e-7), less.
    #[test]
    fn a_pair_becomes_rho_within_it() {
        let (one, delta) = (decimal("1"), decimal("1e-6"));
        let pair = |charged| limit(Some(&one), Some(&delta), None, charged, Omega::EVERY).unwrap();
        let PrivacyCost::Zcdp { rho, delta: none, .. } = pair(DeltaForKeys::None) else { panic!() };
        assert!((rho.to_float_up() - 0.0243559).abs() < 1e-7 && none == BudgetUnits::ZERO);
        let PrivacyCost::Zcdp { rho: less, delta: half, .. } = pair(DeltaForKeys::Usual) else { panic!() };
        assert!(less < rho && half == BudgetUnits::from_bits(9_223_372_036_854));
        // All spent, the promise is the budget's.
        for limit in [pair(DeltaForKeys::None), pair(DeltaForKeys::Usual)] {
            assert!(limit.epsilon(1e-6).unwrap() <= 1.0);
        }
    }
    // Refutes a budget from code that is larger than the same one from a file, or that forgets the half of
    // delta.
    #[test]
    fn a_budget_in_code_is_the_limit_of_the_same_words_in_a_file() {
        let (quarter, delta) = (decimal("0.25"), decimal("0.0009765625"));
        let in_file = |epsilon, delta, rho| limit(epsilon, delta, rho, DeltaForKeys::Usual, Omega::EVERY);
        let both = Budget::approximate(0.25, 0.0009765625);
        assert_eq!(PrivacyCost::try_from(both), in_file(Some(&quarter), Some(&delta), None));
        assert_eq!(PrivacyCost::try_from(Budget::zcdp(0.25)), in_file(None, None, Some(&quarter)));
        assert_eq!(PrivacyCost::try_from(Budget::pure(0.25)), in_file(Some(&quarter), None, None));
        assert_eq!(PrivacyCost::try_from(Budget::pure(0.0)).unwrap_err().field(), "epsilon");
        assert_eq!(PrivacyCost::try_from(PrivacyCost::zcdp(-1.0)).unwrap_err().field(), "rho");
    }
}
