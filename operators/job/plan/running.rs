//! The plan of a running total: figures of the strategy that is drawn, beside those of the alternatives.

use super::PlannedRunning;
use crate::accounting::running::Strategy;
use crate::job::offer::{PreparedStatistic, ReleasePlan};

pub(super) fn planned_running(settled: &PreparedStatistic, offer: &ReleasePlan) -> Option<PlannedRunning> {
    let PreparedStatistic::Running(total, ready) = settled else { return None };
    let (running, noise) = (ready.running(), ready.noise().first()?);
    let choice = total.span().strategies().ok()?;
    let fresh = choice.strategies().iter().find(|figures| figures.strategy() == Strategy::Fresh)?;
    Some(PlannedRunning {
        total: total.span().to_string(),
        horizon: running.horizon(),
        strategy: running.strategy().name(),
        best: offer.running?.strategy.is_none_or(|strategy| strategy == choice.best().strategy()),
        deviation: noise.scale(),
        ratio: running.ratio(),
        numbers: running.memory(),
        // Both ratios are relative to the same least deviation.
        fresh: noise.scale() * fresh.ratio() / running.ratio(),
    })
}

#[cfg(test)]
mod tests;
