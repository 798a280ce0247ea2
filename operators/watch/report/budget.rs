//! The part of the report about its budget: the spending window by window, the forecast, and the errors of
//! values.

use super::ReleaseNotes;
use super::charts::Off;
use super::model::{BudgetHistory, Model, ReportedWindow, WindowOutcome};
use super::timeline::ruler;
use crate::accounting::Interval;
use crate::ledger::Outlook;
use crate::mechanisms::release_line::{CellLine, RankInterval};
use crate::picture::{Dates, Drawing, Scale, counted, grouped, percent, said};

const LEFT: f64 = 46.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 24.0;

/// The horizontal axis of the burn-down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BurnDownAxis {
    /// The time of the windows.
    Time,
    /// The order in which the windows left: over time the chart would show as spent early what windows of
    /// the same time cost later.
    Order,
}

/// The steps of a burn-down: where each begins and ends, and the spent part of the cap after it.
pub(super) fn steps(budget: &BudgetHistory) -> (BurnDownAxis, Vec<(i64, i64, f64)>) {
    let spent = &budget.spent;
    let in_order = spent.windows(2).all(|pair| pair[0].0.end() <= pair[1].0.end());
    if in_order {
        return (BurnDownAxis::Time, by_end(spent.iter().copied(), f64::max));
    }
    // Where nothing is ever given back, each window has its own cost at its own time, whenever it left.
    if spent.windows(2).all(|pair| pair[0].1 <= pair[1].1) {
        let mut before = budget.before;
        let mut costs: Vec<(Interval, f64)> = Vec::with_capacity(spent.len());
        for (window, part) in spent {
            costs.push((*window, part - before));
            before = *part;
        }
        costs.sort_by_key(|(window, _)| window.end());
        let mut steps = by_end(costs.into_iter(), |a, b| a + b);
        let mut sum = budget.before;
        for (_, _, part) in &mut steps {
            sum += *part;
            *part = sum;
        }
        return (BurnDownAxis::Time, steps);
    }
    let step = |(at, (_, part)): (usize, &(Interval, f64))| (at as i64, at as i64 + 1, *part);
    (BurnDownAxis::Order, spent.iter().enumerate().map(step).collect())
}

/// One step for all windows with the same end, which are neighbours.
fn by_end(windows: impl Iterator<Item = (Interval, f64)>, both: fn(f64, f64) -> f64) -> Vec<(i64, i64, f64)> {
    let mut steps: Vec<(i64, i64, f64)> = Vec::new();
    for (window, part) in windows {
        match steps.last_mut() {
            Some((start, end, kept)) if *end == window.end() => {
                (*start, *kept) = ((*start).min(window.start()), both(*kept, part));
            }
            _ => steps.push((window.start(), window.end(), part)),
        }
    }
    steps
}

/// A chart of the spent part of the cap; `None` if no status was added.
pub(super) fn chart(budget: &BudgetHistory, (width, height): (f64, f64)) -> Option<Drawing> {
    let (axis, spent) = steps(budget);
    let start = spent.iter().map(|(start, ..)| *start).min()?;
    let (_, end, newest) = *spent.last()?;
    let span = (start, end.max(start.saturating_add(1)));
    let most = spent.iter().map(|(_, _, part)| *part).fold(1.0, f64::max);
    let (across, base) = ((LEFT, width - RIGHT), height - BOTTOM);
    let up = Scale::new((0.0, most), (base, TOP));
    let after = |time: i64| (i128::from(time) - i128::from(start)) as f64;
    let along = Scale::new((0.0, after(span.1)), across);

    let said = percent(newest);
    let mut drawing = Drawing { width, height, title: "The budget".to_owned(), ..Drawing::default() };
    let windows = counted(budget.spent.len(), "window");
    drawing.description = format!("After {windows}, {said} of the cap is spent.");
    for part in [0.25, 0.5, 0.75] {
        drawing.line("grid", [across.0, up.at(part), across.1, up.at(part)]);
    }
    for part in [0.0, 0.5, 1.0] {
        drawing.text("tick end", LEFT - 7.0, up.at(part) + 3.8, &percent(part));
    }
    // The cost of a window is drawn over all of the window's time.
    let mut line = vec![(across.0, up.at(budget.before))];
    for (start, end, part) in &spent {
        let (before, reached) = line.last().map_or((across.0, base), |(x, y)| (*x, *y));
        let from = along.at(after(*start)).max(before);
        line.extend([(from, reached), (from, up.at(*part)), (along.at(after(*end)).max(from), up.at(*part))]);
    }
    let last = line.last().copied().unwrap_or((across.1, base));
    // An area that is full from its start would be a block that shows nothing.
    if !paid_at_once(&spent, budget.before) {
        let ends = [(across.1, last.1), (across.1, base), (across.0, base)];
        let area = line.iter().copied().chain(ends);
        drawing.path("band", area, true);
    }
    drawing.path("value", line.into_iter(), false);
    drawing.dot("dot", last.0, last.1, 3.0);
    drawing.line("cap", [across.0, up.at(1.0), across.1, up.at(1.0)]);
    drawing.text("note", LEFT + 2.0, up.at(1.0) - 6.0, "the cap");
    // Below the line's end where the cap is near, and above it elsewhere.
    let label = if last.1 - TOP < 24.0 { last.1 + 17.0 } else { last.1 - 9.0 };
    drawing.text("number end", last.0 - 5.0, label, &format!("{said} spent"));
    drawing.line("axis", [across.0, base, across.1, base]);
    match axis {
        BurnDownAxis::Time => ruler(&mut drawing, span, across, base),
        BurnDownAxis::Order => {
            let middle = f64::midpoint(across.0, across.1);
            drawing.text(
                "tick middle",
                middle,
                base + 16.0,
                &format!("{windows}, in the order in which they left"),
            );
        }
    }
    Some(drawing)
}

/// Returns true if the first of several steps cost as much as all of them.
fn paid_at_once(steps: &[(i64, i64, f64)], before: f64) -> bool {
    match steps {
        [(_, _, first), .., (_, _, last)] => before == 0.0 && *first > 0.0 && last <= first,
        _ => false,
    }
}

/// The reason for a burn-down that does not burn down, in words.
pub(super) fn once(budget: &BudgetHistory) -> Option<String> {
    let paid = paid_at_once(&steps(budget).1, budget.before);
    paid.then(|| "All of it had been paid when the first of these lines left.".to_owned())
}

/// The forecast at the present pace, in words.
pub(super) fn outlook(budget: &BudgetHistory, dates: &Dates) -> Option<String> {
    let forecast = budget.forecast.as_ref()?;
    let is_charged = budget.spent.iter().any(|(_, part)| *part > 0.0) || budget.before > 0.0;
    let more = counted(usize::try_from(forecast.windows()).unwrap_or(usize::MAX), "more window");
    let until = forecast.last_closes().map(|last| format!("; the last of them closes {}", dates.dated(last)));
    let until = until.unwrap_or_default();
    Some(match forecast.outlook() {
        // Answers and windows without an end were paid for, and none is to come.
        Outlook::Unseen if is_charged => return None,
        Outlook::Unseen => "Nothing was charged yet, so there is no pace to go by.".to_owned(),
        Outlook::Endless => "No window is ever refused, at this pace.".to_owned(),
        Outlook::Holds if forecast.windows() == 0 => "No window is to come.".to_owned(),
        Outlook::Holds => format!("The budget holds all windows that are to come, {more}{until}."),
        Outlook::Refused { pace, window } => {
            let name = forecast.paces().get(*pace).map_or("a release", |pace| pace.release.as_str());
            let window = dates.spanned(Some(window.start()), Some(window.end()));
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
pub(super) fn gone(model: &Model, dates: &Dates) -> Vec<String> {
    let mut words = Vec::new();
    for series in &model.releases {
        let mut windows: Vec<&ReportedWindow> = series.windows.iter().collect();
        windows.sort_by_key(|window| (window.start, window.end));
        let reason =
            |window: &ReportedWindow| (window.outcome.word(), window.outcome == WindowOutcome::Skipped(true));
        let alike = |a: &&ReportedWindow, b: &&ReportedWindow| reason(a) == reason(b);
        for run in windows.chunk_by(alike) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let name = &series.name;
            let (subject, were, their) = match run.len() {
                1 => (format!("{name} of {}", dates.spanned(first.start, first.end)), "was", "its"),
                count => {
                    let when = dates.spanned(first.start, last.end);
                    (format!("{name}, {} from {when},", counted(count, "window")), "were", "their")
                }
            };
            words.push(match &first.outcome {
                WindowOutcome::Released => continue,
                WindowOutcome::Refused(why) if run.len() == 1 => format!("{subject} was refused: {why}."),
                WindowOutcome::Refused(why) => format!("{subject} were refused: at the first, {why}."),
                WindowOutcome::Skipped(true) => {
                    format!("{subject} {were} skipped: a part of {their} input is missing.")
                }
                WindowOutcome::Skipped(false) => {
                    format!("{subject} {were} skipped: {their} time passed before the answer was ready.")
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
    /// The mean differences between the tally and the fitted value, and between the tally and the released value beside it.
    pub(super) fitted: [ErrorMean; 2],
    /// The mean magnitude of the exact values.
    pub(super) size: ErrorMean,
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

/// The part of a number below which an error is not worth a remedy.
const SMALL: f64 = 0.02;

impl Errors {
    pub(super) fn take(&mut self, cell: &CellLine<'_>) {
        let Some(value) = finite(cell.value) else { return };
        // A value found by its rank has a rank error, and no other error is bounded.
        // Of a pick only a part of that distance is known.
        if let Some(RankInterval::Behind(_)) = cell.ranked() {
            return;
        }
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
        if let Some(fitted) = finite(cell.fitted.as_ref().map(|(fitted, _)| *fitted)) {
            let [of_fitted, of_released] = &mut self.fitted;
            of_fitted.add((fitted - tally).abs());
            of_released.add((value - tally).abs());
        }
        if let Some(truth) = finite(cell.truth) {
            self.bound.add((truth - tally).abs());
            self.size.add(truth.abs());
        }
        self.held += u64::from(holds(cell.low, cell.tally, cell.high));
    }

    /// An error as a part of the mean number; `None` if there is no number but zero.
    pub(super) fn part(&self, error: f64) -> Option<f64> {
        self.size.value().filter(|size| *size > 0.0).map(|size| error / size)
    }

    /// Compares the errors of contribution bounding and noise with each other and with the numbers, and
    /// recommends a change of the bound or the budget where one is possible and worth it.
    pub(super) fn advice(&self, notes: &ReleaseNotes) -> Option<String> {
        let (bound, noise) = (self.bound.value()?, self.noise.value()?);
        let of = self
            .size
            .value()
            .map_or(String::new(), |size| format!(", where a number is {} on average", said(size)));
        let (bound_said, noise_said) = (said(bound), said(noise));
        let small = |error: f64| self.part(error).is_some_and(|part| part < SMALL);
        Some(if small(bound) && small(noise) {
            format!(
                "Both are small: the bound leaves out {bound_said} and the noise adds {noise_said}{of}. There is little to gain."
            )
        } else if bound > 2.0 * noise {
            format!(
                "The bound leaves out more than the noise adds, {bound_said} against {noise_said}{of}: a larger bound lets \
                 each person count for more, and asks for more noise."
            )
        } else if noise > 2.0 * bound {
            let mut remedies = Vec::new();
            remedies.extend((!notes.least_bound).then_some("a smaller bound"));
            remedies.extend((!notes.longest).then_some("longer windows"));
            remedies.push("a larger share or budget");
            let last = remedies.pop().unwrap_or_default();
            let remedies = match remedies.is_empty() {
                true => last.to_owned(),
                false => format!("{} or {last}", remedies.join(", ")),
            };
            let least = if notes.least_bound { " No bound is smaller." } else { "" };
            format!(
                "The noise adds more than the bound leaves out, {noise_said} against {bound_said}{of}: try {remedies}.{least}"
            )
        } else {
            format!(
                "Bound and noise take about as much, {bound_said} and {noise_said}{of}: the bound suits this budget."
            )
        })
    }

    /// Compares the errors of fitted values with those of the released ones.
    pub(super) fn fitted(&self) -> Option<String> {
        let [fitted, released] = self.fitted.map(|mean| mean.value().map(said));
        Some(format!(
            "The fitted values are off by {} on average, and those that were published by {}, from the exact number after the bound.",
            fitted?, released?
        ))
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
