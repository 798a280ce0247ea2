//! `discreet calibrate running` and `discreet calibrate sliding`: the error of totals that are released at
//! every tick, by strategy.

use std::fmt::Write;

use clap::Args;
use discreet::accounting::running::{self, REMEMBERED, Strategy, StrategyChoice, StrategyError};
use discreet::mechanisms::running::StreamContribution;
use serde_json::{Value, json};

use super::Refusal;
use super::values::{number, whole};

/// Running totals, at every tick up to a horizon.
#[derive(Debug, Args)]
pub(crate) struct RunningArgs {
    /// The number of ticks; the release ends with the last
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    horizon: u64,
    /// Instead of totals, the people of the last ticks: the most times that a person enters
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    entries: Option<u64>,
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
        let RunningArgs { horizon, rho, entries, .. } = *self;
        if let Some(entries) = entries {
            return self.of_people(entries);
        }
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

impl RunningArgs {
    /// Returns the answer for people who enter and leave: each entry changes the number of people twice.
    fn of_people(&self, entries: u64) -> Result<String, Refusal> {
        let RunningArgs { horizon, rho, json, .. } = *self;
        StreamContribution::entries(entries, 1)?;
        let priced = running::so_far(horizon, rho)?;
        let changes = 2.0 * entries as f64;
        let figures: Vec<PeopleError> = (priced.strategies().iter())
            .filter(|of| of.strategy() != Strategy::SquareRoot || horizon <= REMEMBERED)
            .map(|of| {
                let [max, rms] = [of.max_deviation(), of.rms_deviation()].map(|one| one * changes.sqrt());
                let name = of.strategy().name();
                // Noise of its own in each window has the variance 1 / (2 rho) for each window that is paid for.
                PeopleError { name, max, rms, memory: of.memory(), windows: (max * max * 2.0 * rho).floor() }
            })
            .collect();
        let best = priced.best().strategy().name();
        if json {
            let strategy_json = |of: &PeopleError| {
                json!({
                    "name": of.name,
                    "max_sd": of.max,
                    "rms_sd": of.rms,
                    "memory_numbers": of.memory,
                    "as_windows": of.windows,
                })
            };
            let strategies: Vec<Value> = figures.iter().map(strategy_json).collect();
            return Ok(format!(
                "{}\n",
                json!({ "strategies": strategies, "best": best, "entries": entries })
            ));
        }
        let row = |of: &PeopleError| {
            let mark = if of.name == best { "  best" } else { "" };
            let PeopleError { name, max, rms, memory, windows } = of;
            format!("{name:<12} {max:>12.4} {rms:>12.4} {memory:>15} {windows:>12}{mark}\n")
        };
        let rows: String = figures.iter().map(row).collect();
        let most = figures.iter().find(|of| of.name == best).map_or(0.0, |of| of.windows);
        let times = if entries == 1 { "once".to_owned() } else { format!("{entries} times") };
        Ok(format!(
            "request   people of the last windows, at each of {horizon} ticks, for rho = {rho} in all\n\n\
             strategy       largest sd       rms sd   numbers a key   as windows\n\
             {rows}\n\
             This is for a person of one key, who enters it at most {times} and changes the number of people by 1 and -1 in turn;\n\
             of several keys, multiply by the root of their number. Every number is released, and all are charged once. Noise of\n\
             its own for each window errs as much if a person is paid for in as many windows as the last column says, and less\n\
             if in fewer than {most}.\n"
        ))
    }
}

/// The error of the number of people of the last windows, under a strategy.
struct PeopleError {
    name: &'static str,
    max: f64,
    rms: f64,
    memory: u64,
    /// The number of windows of a person for which noise of its own in each window errs as much.
    windows: f64,
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
