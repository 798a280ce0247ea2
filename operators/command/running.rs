//! `discreet calibrate running` and `discreet calibrate sliding`: the error of totals that are released at
//! every tick, by strategy.

use std::fmt::Write;

use clap::Args;
use discreet::accounting::running::{self, REMEMBERED, Strategy, StrategyChoice, StrategyError};
use serde_json::{Value, json};

use super::Refusal;
use super::values::{number, whole};

/// Running totals, at every tick up to a horizon.
#[derive(Debug, Args)]
pub(crate) struct RunningArgs {
    /// The number of ticks; the release ends with the last
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    horizon: u64,
    /// The zCDP budget of all totals together
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    rho: f64,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// Totals over the last ticks, at every tick without end.
#[derive(Debug, Args)]
pub(crate) struct SlidingArgs {
    /// The number of ticks that a total covers
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    width: u64,
    /// The zCDP budget of all totals together
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    rho: f64,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl RunningArgs {
    /// Returns the answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let RunningArgs { horizon, rho, .. } = *self;
        let choice = running::so_far(horizon, rho)?;
        if self.json {
            return Ok(line(&choice));
        }
        let request = format!("totals so far, at each of {horizon} ticks, for rho = {rho} in all");
        let mut notes =
            "The release ends with the last tick: to go on is another release, with a charge of its own.\n"
                .to_owned();
        if horizon > REMEMBERED {
            // Writing to a string cannot fail.
            let _ = writeln!(
                notes,
                "square-root is listed for comparison: over {REMEMBERED} ticks it keeps too many numbers."
            );
        }
        Ok(page(&choice, &request, &notes))
    }
}

impl SlidingArgs {
    /// Returns the answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let SlidingArgs { width, rho, .. } = *self;
        let choice = running::over_last(width, rho)?;
        if self.json {
            return Ok(line(&choice));
        }
        let request =
            format!("totals over the last {width} ticks, at every tick without end, for rho = {rho} in all");
        Ok(page(
            &choice,
            &request,
            "There is no last tick: the cost of a contribution does not depend on the ticks that follow.\n",
        ))
    }
}

fn line(choice: &StrategyChoice) -> String {
    let strategy_json = |figures: &StrategyError| -> Value {
        json!({
            "name": figures.strategy().name(),
            "max_sd": figures.max_deviation(),
            "rms_sd": figures.rms_deviation(),
            "memory_numbers": figures.memory(),
            "ratio": figures.ratio(),
        })
    };
    let line = json!({
        "strategies": choice.strategies().iter().map(strategy_json).collect::<Vec<Value>>(),
        "lower_bound": choice.lower_bound(),
        "best": choice.best().strategy().name(),
    });
    format!("{line}\n")
}

fn page(choice: &StrategyChoice, request: &str, notes: &str) -> String {
    let best = choice.best();
    let rows: String = choice.strategies().iter().map(|figures| row(figures, best.strategy())).collect();
    format!(
        "request   {request}\n\
         least     standard deviation {least:.4}: no linear strategy with Gaussian noise has a smaller largest one\n\
         best      {name}: {max:.4}, {ratio:.3} times the least\n\n\
         strategy       largest sd       rms sd    ratio   numbers a key\n\
         {rows}\n\
         This is for contributions of size 1, one a person over all ticks; for others, multiply by the most that a person\n\
         contributes in all. Every total is released, and all are charged once, at the first tick.\n\
         {notes}",
        least = choice.lower_bound(),
        name = best.strategy(),
        max = best.max_deviation(),
        ratio = best.ratio(),
    )
}

fn row(figures: &StrategyError, best: Strategy) -> String {
    format!(
        "{name:<12} {max:>12.4} {rms:>12.4} {ratio:>8.3} {memory:>15}{mark}\n",
        name = figures.strategy().name(),
        max = figures.max_deviation(),
        rms = figures.rms_deviation(),
        ratio = figures.ratio(),
        memory = figures.memory(),
        mark = if figures.strategy() == best { "  best" } else { "" },
    )
}
