//! How a budget was spent, window by window, and until when it lasts.

use super::axis::{Scale, dated, spanned};
use super::draw::{Drawing, counted, percent};
use super::model::{Budget, Model};
use super::timeline::ruler;
use crate::ledger::Outlook;

const LEFT: f64 = 46.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 24.0;

/// The spent part of the cap over time; `None` where nobody said what was spent.
pub(super) fn chart(budget: &Budget, (width, height): (f64, f64)) -> Option<Drawing> {
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
    let mut steps = vec![(across.0, base)];
    for (end, (_, part)) in &budget.spent {
        let x = along.at(after(*end));
        let before = steps.last().map_or(base, |(_, y)| *y);
        steps.extend([(x, before), (x, up.at(*part))]);
    }
    let last = steps.last().copied().unwrap_or((across.1, base));
    let area = steps.iter().copied().chain([(across.1, last.1), (across.1, base)]);
    drawing.path("band", area, true);
    drawing.path("value", steps.into_iter(), false);
    drawing.dot("dot", last.0, last.1, 3.0);
    drawing.line("cap", [across.0, up.at(1.0), across.1, up.at(1.0)]);
    drawing.text("note", LEFT + 2.0, up.at(1.0) - 6.0, "the cap");
    let below = if last.1 < TOP + 30.0 { 18.0 } else { -9.0 };
    drawing.text("number end", last.0 - 4.0, last.1 + below, &format!("{spent} spent"));
    drawing.line("axis", [across.0, base, across.1, base]);
    ruler(&mut drawing, span, across, base);
    Some(drawing)
}

/// What comes, if all goes on as it did.
pub(super) fn outlook(budget: &Budget) -> Option<String> {
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

/// Every window without an answer, in words.
pub(super) fn gone(model: &Model) -> Vec<String> {
    use super::model::Outcome;
    let mut words = Vec::new();
    for series in &model.releases {
        for told in &series.windows {
            let window = spanned(told.start, told.end);
            let name = &series.name;
            match &told.outcome {
                Outcome::Released => {}
                Outcome::Refused(why) => words.push(format!("{name} of {window} was refused: {why}.")),
                Outcome::Skipped => {
                    words.push(format!(
                        "{name} of {window} was skipped: its time passed before it was ready."
                    ));
                }
                Outcome::Lost => words.push(format!("{name} of {window} was charged and is lost.")),
            }
        }
    }
    words
}
