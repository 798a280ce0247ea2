//! The arguments of a budget in one of two currencies.

use clap::Args;

use super::Refusal;
use super::values::number;

/// A budget in zCDP, or in pure epsilon.
#[derive(Debug, Args)]
pub(super) struct BudgetArgs {
    /// The budget of what is calibrated, in zCDP
    #[arg(
        long,
        allow_negative_numbers = true,
        required_unless_present = "epsilon",
        conflicts_with = "epsilon", value_parser = number())]
    rho: Option<f64>,
    /// Its pure epsilon, instead of rho
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    epsilon: Option<f64>,
}

/// A budget, in its currency.
#[derive(Clone, Copy)]
pub(super) enum StatedBudget {
    Rho(f64),
    Epsilon(f64),
}

impl BudgetArgs {
    pub(super) fn budget(&self) -> Result<StatedBudget, Refusal> {
        match (self.rho, self.epsilon) {
            (Some(rho), _) => Ok(StatedBudget::Rho(rho)),
            (None, Some(epsilon)) => Ok(StatedBudget::Epsilon(epsilon)),
            // Unreachable: clap requires one of the two.
            (None, None) => Err(Refusal::new("rho: found nothing; give it, or epsilon")),
        }
    }
}

impl StatedBudget {
    /// Returns the name of the currency, and the amount.
    pub(super) fn named(self) -> (&'static str, f64) {
        match self {
            StatedBudget::Rho(rho) => ("rho", rho),
            StatedBudget::Epsilon(epsilon) => ("epsilon", epsilon),
        }
    }
}
