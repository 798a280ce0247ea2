//! `running` and `strategy`: running totals over windows, paid for once.
//!
//! A running total is a sum over windows, and a person's contribution is bounded over all of them together;
//! so a statistic that is no such sum, and a bound of each single window, are refused in their place.

use super::every::Every;
use super::located::{MistakeDetail, listed};
use super::node::{ConfigNode, TableNode};
use super::release::{NoiseKind, ReleaseSpec};
use super::statistic::StatisticSpec;
use crate::accounting::running::Strategy;

/// A running total over windows: over all windows so far, or, if the release states `over`, over the last
/// ones of that length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RunningSpec {
    /// The strategy that correlates the noise; the best one if it is left out.
    pub strategy: Option<Strategy>,
}

pub(super) const STRATEGIES: [Strategy; 4] =
    [Strategy::Buffered, Strategy::SquareRoot, Strategy::Tree, Strategy::Fresh];

/// Reads `running` and `strategy` of a release; `Some(None)` if it has no running total.
#[expect(clippy::option_option, reason = "whether it is right, and whether it runs, are two things")]
pub(super) fn read(fields: &TableNode<'_>) -> Option<Option<RunningSpec>> {
    let runs = match fields.node("running") {
        Some(node) => node.boolean(),
        None => Some(false),
    };
    let strategy = match fields.node("strategy") {
        Some(node) => strategy(&node, runs).map(Some),
        None => Some(None),
    };
    let (runs, strategy) = (runs?, strategy?);
    Some(runs.then_some(RunningSpec { strategy }))
}

fn strategy(node: &ConfigNode<'_>, runs: Option<bool>) -> Option<Strategy> {
    let text = node.text()?;
    let Some(strategy) = STRATEGIES.into_iter().find(|strategy| strategy.name() == text) else {
        return node.record_mistake(MistakeDetail::unknown_word(text, &STRATEGIES.map(Strategy::name)));
    };
    match runs {
        Some(false) => {
            node.conflict("a strategy where nothing is added up", "running = true beside it, or no strategy")
        }
        _ => Some(strategy),
    }
}

impl ReleaseSpec {
    /// Returns the number of windows in each total, if the total is over the last windows.
    pub(crate) fn total_windows(&self) -> Option<u64> {
        self.running.and(self.over)?.over(self.every)
    }

    /// Returns the length of each window, if it is longer than the step between two.
    pub(crate) fn sliding_length(&self) -> Option<Every> {
        if self.running.is_some() { None } else { self.over }
    }
}

impl StatisticSpec {
    /// Returns true if the values of windows can be added up.
    pub(super) fn adds_up(&self) -> bool {
        match self {
            StatisticSpec::Count(_)
            | StatisticSpec::People(_)
            | StatisticSpec::Sum(..)
            | StatisticSpec::Histogram { .. } => true,
            StatisticSpec::Mean(..) | StatisticSpec::Max { .. } | StatisticSpec::Quantile(..) => false,
        }
    }
}

/// Checks `running` against the rest of its release.
pub(super) fn agree(node: &ConfigNode<'_>, release: &ReleaseSpec) -> Option<()> {
    let RunningSpec { strategy } = release.running?;
    if !release.statistic.adds_up() {
        let found = format!("a running {}", release.statistic.word());
        let why = "of several windows is no sum of what each of them has";
        let remedy = format!("count, people, sum or histogram: a {} {why}", release.statistic.word());
        return node.descendant(&["running"]).conflict(found, remedy);
    }
    if release.every == Every::All {
        let remedy = "windows that follow each other, such as every = \"1 day\", or no running";
        node.descendant(&["running"]).conflict::<()>("totals of one window", remedy);
    }
    if release.bound.windows.is_some() {
        let remedy = "no windows: a person is bounded over all of them together";
        node.descendant(&["bound", "windows"]).conflict::<()>("windows of a person beside running", remedy);
    }
    let place = node.descendant(&["over"]);
    if release.over.is_some() && matches!(release.statistic, StatisticSpec::People(_)) {
        let remedy = "no over, for people so far: who comes in several windows is one person";
        place.conflict::<()>("people over the last windows", remedy);
    } else if release.over.is_some() && matches!(strategy, Some(Strategy::Buffered | Strategy::Tree)) {
        let remedy = "square-root or fresh, or no over";
        node.descendant(&["strategy"]).conflict::<()>("a strategy for totals so far alone", remedy);
    }
    Some(())
}

/// Checks `running` against the budget: its noise is Gaussian, and the budget is not pure epsilon. Returns
/// true if both hold.
pub(super) fn check_noise(node: &ConfigNode<'_>, release: &ReleaseSpec, pure: bool) -> bool {
    let budget = "a budget of rho, or of epsilon and delta";
    let place = node.descendant(&["noise"]);
    match release.noise {
        _ if !release.statistic.adds_up() => {}
        NoiseKind::Gaussian if !pure => return true,
        NoiseKind::Gaussian => {
            let remedy = format!("{budget}: totals that are told at every window have no other noise");
            place.conflict::<()>("Gaussian noise under a pure budget", remedy);
        }
        other => {
            let and = if pure { format!(", and {budget}") } else { String::new() };
            place.conflict::<()>(
                format!("{} noise, which a running {} does not have", other.word(), release.statistic.word()),
                format!("{}{and}", listed(&[NoiseKind::Gaussian.word()])),
            );
        }
    }
    false
}

/// Refuses a running total beside releases that bound windows: a budget account promises either a number of
/// windows of each person, or not.
pub(super) fn refuse_window_bounds(node: &ConfigNode<'_>) -> Option<()> {
    let remedy = "another domain for it, in a job of its own, whose budget people spend beside this one: in this job a \
         release counts a person in a number of windows";
    node.descendant(&["running"]).conflict("a running total beside releases that bound windows", remedy)
}

#[cfg(test)]
mod tests;
