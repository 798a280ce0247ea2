//! `discreet calibrate alert`: the band of a threshold alert between silence and a sure alarm.

use clap::Args;
use discreet::mechanisms::{AboveThreshold, Bound, Keys, Mechanism, PreparedAlert, ThresholdAlert, Total};
use serde_json::json;

use super::Refusal;
use super::stated_budget::{BudgetArgs, StatedBudget};
use super::values::{number, whole};

/// The price of the alarms, and what they watch.
#[derive(Debug, Args)]
pub(crate) struct AlertArgs {
    #[command(flatten)]
    budget: BudgetArgs,
    /// The number up to which the alert is silent
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    above: u64,
    /// The number of windows for which the probability of a mistake is stated
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    windows: u64,
    /// The number of keys that are asked for in each window
    #[arg(long, allow_negative_numbers = true, default_value = "1", value_parser = whole())]
    keys: u64,
    /// The number of alarms that share the budget
    #[arg(long, allow_negative_numbers = true, default_value = "1", value_parser = whole())]
    alarms: u64,
    /// The probability of any mistake in all windows and keys together
    #[arg(long, allow_negative_numbers = true, default_value = "0.05", value_parser = number())]
    wrong: f64,
    /// The most records of one person that count for a key, where records are counted; 1 of people
    #[arg(long, allow_negative_numbers = true, default_value = "1", value_parser = whole())]
    per_key: u64,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl AlertArgs {
    /// Returns the answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let AlertArgs { ref budget, above, windows, keys, alarms, wrong, per_key, json } = *self;
        let budget = budget.budget()?;
        let mechanism = match budget {
            StatedBudget::Rho(rho) => AboveThreshold::rho(rho),
            StatedBudget::Epsilon(epsilon) => AboveThreshold::epsilon(epsilon),
        };
        if keys == 0 {
            return Err(Refusal::new("keys: found zero; give a whole number from 1 on"));
        }
        // Keys and windows are asked for alike: each is a draw.
        let draws = windows.checked_mul(keys).filter(|draws| keys == 1 || *draws <= 1 << 40);
        let draws = draws.ok_or_else(|| {
            Refusal::new("keys: found more than 2^40 times the windows; give fewer keys or windows")
        })?;
        let count = Total::count(Bound::keys(1).per_key(per_key).checked()?, Keys::whole())?;
        let alarms = u32::try_from(alarms).unwrap_or(u32::MAX);
        let alert = ThresholdAlert::new(count, above)?.alarms(alarms).windows(draws).wrong(wrong);
        let prepared: PreparedAlert<()> = mechanism.prepare(&alert)?;
        let (crossing, [threshold, scale]) = (prepared.crossing(), prepared.scales());
        let (currency, spent) = budget.named();
        if json {
            let line = json!({
                "mechanism": "above threshold",
                currency: spent,
                "above": crossing.above(),
                "surely": crossing.surely(),
                "alarms": crossing.alarms(),
                "windows": windows,
                "keys": keys,
                "wrong": wrong,
                "scale_of_threshold": threshold,
                "scale_of_number": scale,
            });
            return Ok(format!("{line}\n"));
        }
        let band = crossing.surely() - crossing.above();
        Ok(format!(
            "budget         {currency} {spent} for {alarms} {}, however many windows are silent\n\
             silent up to   {}\n\
             fires from     {}, a band of {band}\n\
             both           in {windows} windows of {keys} {}, with probability {}\n\
             noise          geometric, of scale {threshold:.4} on the threshold and {scale:.4} on each number\n",
            if alarms == 1 { "alarm" } else { "alarms" },
            crossing.above(),
            crossing.surely(),
            if keys == 1 { "key" } else { "keys" },
            1.0 - wrong,
        ))
    }
}
