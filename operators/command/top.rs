//! `discreet calibrate top`: how far behind the largest number a key may be that is picked.

use clap::Args;
use discreet::mechanisms::{
    Bound, Exponential, Keys, Mechanism, PermuteAndFlip, PreparedTop, TopKeys, Total,
};
use serde_json::json;

use super::Refusal;
use super::stated_budget::{BudgetArgs, StatedBudget};
use super::values::{number, whole};

/// The price of a window, and what is picked.
#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    budget: BudgetArgs,
    /// The number of keys that are picked
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    k: u64,
    /// The number of keys that are listed
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    keys: u64,
    /// The most records of one person that count for a key, where records are counted; 1 of people
    #[arg(long, allow_negative_numbers = true, default_value = "1", value_parser = whole())]
    per_key: u64,
    /// The probability that all picks of a window are within the distance
    #[arg(long, allow_negative_numbers = true, default_value = "0.99", value_parser = number())]
    confidence: f64,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// The most keys that are listed for a calibration.
const MOST_KEYS: u64 = 1_000_000;

impl TopArgs {
    /// Returns the answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let TopArgs { ref budget, k, keys, per_key, confidence, json } = *self;
        if !(1..=MOST_KEYS).contains(&keys) {
            return Err(Refusal::new(format!(
                "keys: found {keys}; give a whole number from 1 to {MOST_KEYS}"
            )));
        }
        let budget = budget.budget()?;
        let limits = Bound::keys(keys).per_key(per_key).checked()?;
        let top = TopKeys::new(Total::count(limits, Keys::public(0..keys)?)?, k)?;
        let exponential = match budget {
            StatedBudget::Rho(rho) => Exponential::rho(rho),
            StatedBudget::Epsilon(epsilon) => Exponential::epsilon(epsilon),
        };
        let exponential: PreparedTop<u64> = exponential.confidence(confidence).prepare(&top)?;
        let flip = match budget {
            StatedBudget::Epsilon(epsilon) if keys <= 1 << 16 => {
                Some(PermuteAndFlip::epsilon(epsilon).confidence(confidence).prepare(&top)?)
            }
            _ => None,
        };
        let flip = flip.map(|prepared: PreparedTop<u64>| prepared.within());
        let (currency, spent) = budget.named();
        let scale = exponential.noise().first().map(|noise| noise.scale());
        if json {
            let line = json!({
                "mechanism": "top",
                currency: spent,
                "k": k,
                "keys": keys,
                "per_key": per_key,
                "confidence": confidence,
                "scale": scale,
                "within": exponential.within(),
                "within_by_permute_and_flip": flip,
            });
            return Ok(format!("{line}\n"));
        }
        let flip = flip.map_or(String::new(), |within| {
            format!("permute-and-flip  within {within}, under a budget of epsilon alone\n")
        });
        Ok(format!(
            "budget            {currency} {spent} for the {k} of {keys} keys with the largest numbers, whatever keys a person is in\n\
             exponential       within {}, of scale {:.4}: a number that is so much smaller is picked less often by a factor of e\n\
             {flip}\
             all picks         of a window are that near to the largest number that is left, with probability {confidence}\n",
            exponential.within(),
            scale.unwrap_or(0.0),
        ))
    }
}
