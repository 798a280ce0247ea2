//! The part of the report about its budget: the spending window by window, the forecast, and the errors of
//! values.

use super::charts::Off;
use super::draw::{Drawing, Scale, counted, dated, grouped, percent, said, spanned};
use super::model::{BudgetHistory, Model, ReportedWindow, WindowOutcome};
use super::timeline::ruler;
use crate::ledger::Outlook;
use crate::release_line::CellLine;

const LEFT: f64 = 46.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 24.0;

/// A chart of the spent part of the cap over time; `None` if no status was added.
pub(super) fn chart(budget: &BudgetHistory, (width, height): (f64, f64)) -> Option<Drawing> {
    let start = budget.spent.values().map(|(start, _)| *start).min()?;
    let (end, (_, newest)) = budget.spent.last_key_value()?;
    let span = (start, (*end).max(start.saturating_add(1)));
    let most = budget.spent.values().map(|(_, part)| *part).fold(1.0, f64::max);
    let (across, base) = ((LEFT, width - RIGHT), height - BOTTOM);
    let up = Scale::new((0.0, most), (base, TOP));
    let after = |time: i64| (i128::from(time) - i128::from(start)) as f64;
    let along = Scale::new((0.0, after(span.1)), across);

    let spent = percent(*newest);
    let mut drawing = Drawing { width, height, title: "The budget".to_owned(), ..Drawing::default() };
    let windows = counted(budget.spent.len(), "window");
    drawing.description = format!("After {windows}, {spent} of the cap is spent.");
    for part in [0.25, 0.5, 0.75] {
        drawing.line("grid", [across.0, up.at(part), across.1, up.at(part)]);
    }
    for part in [0.0, 0.5, 1.0] {
        drawing.text("tick end", LEFT - 7.0, up.at(part) + 3.8, &percent(part));
    }
    // The cost of a window is drawn over all of the window's time.
    let mut steps = vec![(across.0, base)];
    for (end, (start, part)) in &budget.spent {
        let (before, reached) = steps.last().map_or((across.0, base), |(x, y)| (*x, *y));
        let from = along.at(after(*start)).max(before);
        steps.extend([
            (from, reached),
            (from, up.at(*part)),
            (along.at(after(*end)).max(from), up.at(*part)),
        ]);
    }
    let last = steps.last().copied().unwrap_or((across.1, base));
    let area = steps.iter().copied().chain([(across.1, last.1), (across.1, base)]);
    drawing.path("band", area, true);
    drawing.path("value", steps.into_iter(), false);
    drawing.dot("dot", last.0, last.1, 3.0);
    drawing.line("cap", [across.0, up.at(1.0), across.1, up.at(1.0)]);
    drawing.text("note", LEFT + 2.0, up.at(1.0) - 6.0, "the cap");
    let label = if last.1 < base - 30.0 { base - 9.0 } else { last.1 - 9.0 };
    drawing.text("number end", last.0 - 5.0, label, &format!("{spent} spent"));
    drawing.line("axis", [across.0, base, across.1, base]);
    ruler(&mut drawing, span, across, base);
    Some(drawing)
}

/// The forecast at the present pace, in words.
pub(super) fn outlook(budget: &BudgetHistory) -> Option<String> {
    let forecast = budget.forecast.as_ref()?;
    let more = counted(usize::try_from(forecast.windows()).unwrap_or(usize::MAX), "more window");
    let until = forecast.last_closes().map(|last| format!("; the last of them closes {}", dated(last)));
    let until = until.unwrap_or_default();
    Some(match forecast.outlook() {
        Outlook::Unseen => "Nothing was charged yet, so there is no pace to go by.".to_owned(),
        Outlook::Endless => "No window is ever refused, at this pace.".to_owned(),
        Outlook::Refused { pace, window } => {
            let name = forecast.paces().get(*pace).map_or("a release", |pace| pace.release.as_str());
            let window = spanned(Some(window.start()), Some(window.end()));
            let (fits, first) = match forecast.windows() {
                0 => ("At this pace no more window fits".to_owned(), "the next one that is refused"),
                1 => (format!("At this pace {more} fits"), "the first that is refused"),
                _ => (format!("At this pace {more} fit"), "the first that is refused"),
            };
            format!("{fits}{until}; {first} is {name} of {window}.")
        }
        _ => format!("Nothing is refused within {more}{until}; what comes after them was not looked at."),
    })
}

/// The windows without an answer, in words; neighbours with the same outcome share a sentence.
pub(super) fn gone(model: &Model) -> Vec<String> {
    let mut words = Vec::new();
    for series in &model.releases {
        let mut windows: Vec<&ReportedWindow> = series.windows.iter().collect();
        windows.sort_by_key(|window| (window.start, window.end));
        let alike = |a: &&ReportedWindow, b: &&ReportedWindow| a.outcome.word() == b.outcome.word();
        for run in windows.chunk_by(alike) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let name = &series.name;
            let (subject, were, their) = match run.len() {
                1 => (format!("{name} of {}", spanned(first.start, first.end)), "was", "its"),
                count => {
                    let when = spanned(first.start, last.end);
                    (format!("{name}, {} from {when},", counted(count, "window")), "were", "their")
                }
            };
            words.push(match &first.outcome {
                WindowOutcome::Released => continue,
                WindowOutcome::Refused(why) if run.len() == 1 => format!("{subject} was refused: {why}."),
                WindowOutcome::Refused(why) => format!("{subject} were refused: at the first, {why}."),
                WindowOutcome::Skipped => {
                    format!("{subject} {were} skipped: {their} time passed before the answer was ready, or a part of {their} input is missing.")
                }
                WindowOutcome::Lost => format!(
                    "{subject} {were} lost: {their} line could not be sealed, or the ledger was repaired since. A value \
                     that was released earlier holds."
                ),
            });
        }
    }
    words
}

// Errors: of released values against exact ones in a demonstration, and otherwise the width of intervals.

/// The errors of released values in a demonstration, and the widths of intervals otherwise.
#[derive(Clone, Debug, Default)]
pub(super) struct Errors {
    /// The mean difference between the exact value and the tally, from contribution bounding.
    pub(super) bound: ErrorMean,
    /// The mean difference between the tally and the released value, from noise.
    pub(super) noise: ErrorMean,
    /// The number of intervals that contain their tally.
    pub(super) held: u64,
    /// The rank errors of values that have such a bound instead of an interval.
    pub(super) off: Off,
    /// Half the width of each interval relative to its value, for the first [`LOOKED_AT`] of them.
    pub(super) relative: Vec<f32>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ErrorMean {
    sum: f64,
    pub(super) count: u64,
}

impl ErrorMean {
    pub(super) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    pub(super) fn value(&self) -> Option<f64> {
        Some(self.sum / self.count as f64).filter(|mean| mean.is_finite())
    }
}

/// The number of intervals whose median is reported; more would not make it more exact to the reader.
const LOOKED_AT: usize = 100_000;

/// The largest magnitude of a number in a chart: beyond it, differences could overflow to infinity.
const FINITE: f64 = 1e300;

impl Errors {
    pub(super) fn take(&mut self, cell: &CellLine<'_>) {
        let Some(value) = finite(cell.value) else { return };
        // A value found by its rank has a rank error, and no other error is bounded.
        if cell.ranked().is_some() {
            return self.off.take(cell);
        }
        if let (Some(low), Some(high)) = (finite(cell.low), finite(cell.high))
            && self.relative.len() < LOOKED_AT
            && value != 0.0
        {
            self.relative.push(((high - low) / 2.0 / value.abs()) as f32);
        }
        let Some(tally) = finite(cell.tally) else { return };
        self.noise.add((value - tally).abs());
        if let Some(truth) = finite(cell.truth) {
            self.bound.add((truth - tally).abs());
        }
        self.held += u64::from(holds(cell.low, cell.tally, cell.high));
    }

    /// Compares the errors of contribution bounding and noise, and recommends a change of the bound or the
    /// budget.
    pub(super) fn advice(&self) -> Option<String> {
        let (bound, noise) = (self.bound.value()?, self.noise.value()?);
        let (bound_said, noise_said) = (said(bound), said(noise));
        Some(if bound > 2.0 * noise {
            format!(
                "The bound leaves out more than the noise adds, {bound_said} against {noise_said}: a larger bound lets \
                 each person count for more, and asks for more noise."
            )
        } else if noise > 2.0 * bound {
            format!(
                "The noise adds more than the bound leaves out, {noise_said} against {bound_said}: try a smaller bound, \
                 longer windows or a larger budget."
            )
        } else {
            "Bound and noise take about as much, so the bound suits this budget.".to_owned()
        })
    }

    /// The share of intervals that contain their tally, beside the promised share.
    pub(super) fn share(&self, confidence: Option<&str>) -> Option<String> {
        if self.noise.count == 0 {
            return None;
        }
        let promised = confidence.and_then(|part| part.parse::<f64>().ok());
        let promised = promised.map_or(String::new(), |part| format!("; {} are promised to", percent(part)));
        Some(format!(
            "{} of {} intervals hold what they are about, the exact number after the bound: {}{promised}.",
            grouped(&self.held.to_string()),
            grouped(&self.noise.count.to_string()),
            percent(self.held as f64 / self.noise.count as f64)
        ))
    }

    /// The median of the half-widths of intervals, relative to their values.
    pub(super) fn reach(&self) -> Option<String> {
        let mut all = self.relative.clone();
        all.sort_by(f32::total_cmp);
        let typical =
            all.get(all.len() / 2).map(|middle| f64::from(*middle)).filter(|middle| middle.is_finite())?;
        let most = if typical < 0.001 { "" } else { "at most " };
        let part = percent(typical);
        Some(format!(
            "Half of the intervals reach {most}{part} of their value to either side. What the bound left out is \
             private, and known to nobody."
        ))
    }
}

/// Returns true if an interval contains a number. Compares integers where all three are integers. A missing
/// end is open.
pub(super) fn holds(low: Option<&str>, tally: Option<&str>, high: Option<&str>) -> bool {
    let (low, high) = (low.or(tally), high.or(tally));
    let whole = |text: Option<&str>| text?.parse::<i128>().ok();
    match (whole(low), whole(tally), whole(high)) {
        (Some(low), Some(tally), Some(high)) => low <= tally && tally <= high,
        _ => match (finite(low), finite(tally), finite(high)) {
            (Some(low), Some(tally), Some(high)) => low <= tally && tally <= high,
            _ => false,
        },
    }
}

/// Parses a number for a chart; `None` if its magnitude is not below [`FINITE`].
pub(super) fn finite(text: Option<&str>) -> Option<f64> {
    text?.parse::<f64>().ok().filter(|value| value.abs() < FINITE)
}
