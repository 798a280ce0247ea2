//! Numbers beside each other: the keys of a single window, and what the bound left out beside what the noise added.

use super::axis::{Scale, numbers};
use super::draw::{Drawing, counted, named, said, short};
use super::errors::Errors;
use super::model::{ChartPoint, ReleaseSeries, Track};

/// So many keys at most.
const BARS: usize = 30;

const ROW: f64 = 25.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 26.0;

/// The keys of the one window of a release: a bar from zero to each value, its interval as a whisker; and how many keys
/// are not shown.
pub(super) fn window(series: &ReleaseSeries, width: f64) -> (Drawing, usize) {
    let first = |track: &'_ Track| track.points.first().copied();
    let mut bars: Vec<(&Track, ChartPoint)> =
        series.tracks.iter().filter_map(|track| Some((track, first(track)?))).collect();
    if !bars.iter().all(|(track, _)| track.ordered) {
        bars.sort_by(|(_, a), (_, b)| b.value.total_cmp(&a.value));
    }
    let hidden = bars.len().saturating_sub(BARS);
    bars.truncate(BARS);

    let names: Vec<String> =
        bars.iter().map(|(track, _)| short(&track.name().unwrap_or_else(|| named(None)), 32)).collect();
    let values: Vec<String> = bars.iter().map(|(_, point)| said(point.value)).collect();
    let left = room(&names, 6.9, 72.0);
    let right = width - room(&values, 7.2, 30.0);
    let height = TOP + ROW * bars.len() as f64 + BOTTOM;
    let mut drawing = Drawing { width, height, title: series.name.clone(), ..Drawing::default() };

    let all = bars.iter().flat_map(|(_, point)| point.numbers());
    let range = numbers(all.clone(), ((right - left) / 80.0) as usize, true).tight(all);
    let across = Scale::new(range.ends, (left, right));
    for (value, label) in &range.ticks {
        let class = if *value == 0.0 { "zero" } else { "grid" };
        drawing.line(class, [across.at(*value), TOP, across.at(*value), height - BOTTOM + 2.0]);
        drawing.text("tick middle", across.at(*value), height - 8.0, label);
    }
    for (at, (((_, point), name), value)) in bars.iter().zip(&names).zip(&values).enumerate() {
        let middle = TOP + ROW * (at as f64 + 0.5);
        bar(&mut drawing, point, across, middle);
        drawing.text("label end", left - 10.0, middle + 4.2, name);
        drawing.text("number end", width - 2.0, middle + 4.2, value);
    }
    let largest = bars.iter().zip(&names).map(|((_, point), name)| format!("{name} {}", said(point.value)));
    let largest: Vec<String> = largest.take(5).collect();
    drawing.description =
        format!("{}, of which the first are {}.", counted(bars.len(), "bar"), largest.join(", "));
    (drawing, hidden)
}

fn bar(drawing: &mut Drawing, point: &ChartPoint, across: Scale, middle: f64) {
    let [zero, value] = [0.0, point.value].map(|number| across.at(number));
    drawing.rectangle("bar", [zero.min(value), middle - 6.5, (value - zero).abs(), 13.0]);
    drawing.line("edge", [value, middle - 6.5, value, middle + 6.5]);
    if let Some((low, high)) = point.interval.map(|(low, high)| (across.at(low), across.at(high))) {
        drawing.line("reach", [low, middle, high, middle]);
        for end in [low, high] {
            drawing.line("reach", [end, middle - 3.5, end, middle + 3.5]);
        }
    }
    if let Some(truth) = point.truth.map(|truth| across.at(truth)) {
        let diamond =
            [(truth, middle - 5.0), (truth + 4.5, middle), (truth, middle + 5.0), (truth - 4.5, middle)];
        drawing.path("mark", diamond.into_iter(), true);
    }
}

fn room(texts: &[String], letter: f64, least: f64) -> f64 {
    let widest = texts.iter().map(|text| text.chars().count()).max().unwrap_or_default();
    (widest as f64).mul_add(letter, 16.0).max(least)
}

/// In a demo: what the bound left out of a number beside what the noise added to it, on average.
pub(super) fn errors(errors: &Errors, width: f64) -> Option<Drawing> {
    let (bound, noise) = (errors.bound.value()?, errors.noise.value()?);
    let mut drawing = Drawing { width, height: 64.0, ..Drawing::default() };
    let (bound_said, noise_said) = (said(bound), said(noise));
    drawing.title = "What the bound left out beside what the noise added".to_owned();
    drawing.description =
        format!("The bound left out {bound_said} of a number on average, the noise added {noise_said}.");
    let right = width - room(&[bound_said.clone(), noise_said.clone()], 7.2, 30.0) - 50.0;
    let across = Scale::new((0.0, bound.max(noise).max(f64::MIN_POSITIVE)), (150.0, right));
    let bars = [
        ("left out by the bound", bound, bound_said, "plain"),
        ("added by the noise", noise, noise_said, "bar"),
    ];
    for (at, (name, value, said, class)) in bars.into_iter().enumerate() {
        let middle = 18.0 + 28.0 * at as f64;
        drawing.text("label end", 140.0, middle + 4.2, name);
        drawing.rectangle(class, [150.0, middle - 7.0, across.at(value) - 150.0, 14.0]);
        drawing.line("zero", [150.0, middle - 11.0, 150.0, middle + 11.0]);
        drawing.text("number", across.at(value) + 8.0, middle + 4.2, &said);
    }
    Some(drawing)
}
