//! What is said of windows that are added up: figures of the strategy that is drawn, beside those that it was chosen from.

use super::Running;
use crate::accounting::running::{self, Choice, Strategy};
use crate::job::offer::{Offer, Settled};
use crate::mechanisms::Span;

pub(super) fn of(settled: &Settled, offer: &Offer) -> Option<Running> {
    let Settled::Running(total, ready) = settled else { return None };
    let (running, noise) = (ready.running(), ready.noise().first()?);
    let choice = choice(total.span())?;
    let fresh = choice.strategies().iter().find(|figures| figures.strategy() == Strategy::Fresh)?;
    Some(Running {
        total: told(total.span()),
        horizon: running.horizon(),
        strategy: running.strategy().name(),
        best: offer.adding?.strategy.is_none_or(|strategy| strategy == choice.best().strategy()),
        deviation: noise.scale(),
        ratio: running.ratio(),
        numbers: running.memory(),
        // Both ratios are to the same least deviation.
        fresh: noise.scale() * fresh.ratio() / running.ratio(),
    })
}

/// As lines say it.
fn told(span: Span) -> String {
    match span {
        Span::SoFar { .. } => "so far".to_owned(),
        Span::Last { windows } => format!("last {windows}"),
    }
}

/// Which strategies there are. Their ratios hold at any price.
fn choice(span: Span) -> Option<Choice> {
    match span {
        Span::SoFar { windows } => running::so_far(windows, 0.5).ok(),
        Span::Last { windows } => running::over_last(windows, 0.5).ok(),
    }
}

#[cfg(test)]
mod tests;
