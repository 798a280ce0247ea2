//! Charts of bars: the keys of a single window, and the error of contribution bounding beside that of the
//! noise.

use super::StatedRange;
use super::budget::{ErrorMean, Errors, holds};
use super::model::{ChartPoint, NoiseNotes, ReleaseSeries, Track, TrackLevel};
use crate::mechanisms::release_line::{CellLine, RankInterval, silent_among, spans_nearly};
use crate::picture::{Drawing, Scale, counted, grouped, named, numbers, percent, said, short};

/// The most bars of a chart.
const BARS: usize = 30;

const ROW: f64 = 25.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 26.0;

/// The room of an exact value below its bar, and of a name above it.
const EXACT: f64 = 15.0;
const NAME: f64 = 17.0;

/// A chart of one level of the keys of a release's only window: a bar from zero to each value, with a whisker for its
/// interval. An exact value has a line of its own below the bar: each number stands beside its own mark. In a
/// slim picture names stand above the bars. Also returns the number of keys that are not shown.
pub(super) fn window(level: &TrackLevel<'_>, release: &str, width: f64, slim: bool) -> (Drawing, usize) {
    let first = |track: &'_ Track| track.points.first().copied();
    let mut bars: Vec<(&Track, ChartPoint)> =
        level.tracks.iter().filter_map(|track| Some((*track, first(track)?))).collect();
    let all = bars.len();
    // Of means, ratios and variances those with the narrowest intervals.
    if level.by_interval() {
        let length = |at: &usize| bars.get(*at).map_or(f64::INFINITY, |(_, point)| point.length());
        let mut ranked: Vec<usize> = (0..all).collect();
        ranked.sort_by(|a, b| length(a).total_cmp(&length(b)));
        ranked.truncate(BARS);
        ranked.sort_unstable();
        bars = ranked.into_iter().filter_map(|at| bars.get(at).copied()).collect();
    }
    if !bars.iter().all(|(track, _)| track.ordered) {
        bars.sort_by(|(_, a), (_, b)| b.value.total_cmp(&a.value));
    }
    bars.truncate(BARS);
    let hidden = all - bars.len();

    let most = if slim { (width / 7.4) as usize } else { 32 };
    let names: Vec<String> =
        bars.iter().map(|(track, _)| short(&track.name().unwrap_or_else(|| named(None)), most)).collect();
    let numbers_said: Vec<String> =
        bars.iter().flat_map(|(_, point)| [Some(point.value), point.truth]).flatten().map(said).collect();
    let exact = bars.iter().any(|(_, point)| point.truth.is_some());
    let left = if slim { 3.0 } else { room(&names, 6.9, 72.0) };
    let right = width - room(&numbers_said, 7.2, 30.0);
    let above = if slim { NAME } else { 0.0 };
    let row = ROW + above + if exact { EXACT } else { 0.0 };
    let height = TOP + row * bars.len() as f64 + BOTTOM;
    let mut drawing = Drawing { width, height, title: level.title(release), ..Drawing::default() };

    let all = bars.iter().flat_map(|(_, point)| point.numbers());
    let range = numbers(all, ((right - left) / 80.0) as usize, true);
    let across = Scale::new(range.ends, (left, right));
    for (value, label) in &range.ticks {
        let class = if *value == 0.0 { "zero" } else { "grid" };
        drawing.line(class, [across.at(*value), TOP, across.at(*value), height - BOTTOM + 2.0]);
        // A label at the edge of a slim picture begins there.
        let class = if across.at(*value) < 8.0 { "tick" } else { "tick middle" };
        drawing.text(class, across.at(*value), height - 8.0, label);
    }
    for (at, ((_, point), name)) in bars.iter().zip(&names).enumerate() {
        let top = TOP + row * at as f64;
        let middle = top + above + ROW * 0.5;
        bar(&mut drawing, point, across, middle);
        match slim {
            true => drawing.text("label", 0.0, top + 13.0, name),
            false => drawing.text("label end", left - 10.0, middle + 4.2, name),
        }
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
    if let Some(fitted) = point.fitted.map(|fitted| across.at(fitted)) {
        drawing.line("fitted", [fitted, middle - 9.0, fitted, middle + 9.0]);
    }
    let ends = point.interval.map_or(value, |(_, high)| across.at(high));
    drawing.text("number", ends.max(value).max(zero) + 7.0, middle + 4.2, &said(point.value));
    if let Some(exact) = point.truth {
        let (truth, middle) = (across.at(exact), middle + EXACT);
        let diamond =
            [(truth, middle - 5.0), (truth + 4.5, middle), (truth, middle + 5.0), (truth - 4.5, middle)];
        drawing.path("mark", diamond.into_iter(), true);
        drawing.text("exact", truth + 10.0, middle + 4.2, &said(exact));
    }
}

fn room(texts: &[String], letter: f64, least: f64) -> f64 {
    let widest = texts.iter().map(|text| text.chars().count()).max().unwrap_or_default();
    (widest as f64).mul_add(letter, 16.0).max(least)
}

/// A chart for a demonstration: the mean error of contribution bounding beside that of the noise, each with
/// its part of the mean number.
pub(super) fn errors(errors: &Errors, width: f64) -> Option<Drawing> {
    let (bound, noise) = (errors.bound.value()?, errors.noise.value()?);
    let mut drawing = Drawing { width, height: 64.0, ..Drawing::default() };
    let with_part = |error: f64| match errors.part(error) {
        Some(part) => format!("{} ({})", said(error), percent(part)),
        None => said(error),
    };
    let (bound_said, noise_said) = (with_part(bound), with_part(noise));
    drawing.title = "What the bound left out beside what the noise added".to_owned();
    drawing.description =
        format!("The bound left out {bound_said} of a number on average, the noise added {noise_said}.");
    // Room for the mark of a demonstration, too.
    let right = width - room(&[bound_said.clone(), noise_said.clone()], 7.2, 30.0) - 46.0;
    let across = Scale::new((0.0, bound.max(noise).max(f64::MIN_POSITIVE)), (140.0, right));
    let bars = [
        ("left out by the bound", bound, bound_said, "plain"),
        ("added by the noise", noise, noise_said, "bar"),
    ];
    for (at, (name, value, said, class)) in bars.into_iter().enumerate() {
        let middle = 18.0 + 28.0 * at as f64;
        drawing.text("label end", 132.0, middle + 4.2, name);
        drawing.rectangle(class, [140.0, middle - 7.0, across.at(value) - 140.0, 14.0]);
        drawing.line("zero", [140.0, middle - 11.0, 140.0, middle + 11.0]);
        drawing.text("exact", across.at(value) + 8.0, middle + 4.2, &said);
    }
    Some(drawing)
}

// The bounds of rank errors, in words: there is nothing to draw.

/// The most bounds that are listed.
const SAID: usize = 8;

/// The bounds of a release's rank errors, in a sentence or two.
pub(super) fn promised(series: &ReleaseSeries) -> Option<String> {
    let ranked: Vec<(&NoiseNotes, RankInterval)> =
        series.laws.iter().filter_map(|laws| Some((laws, laws.ranked?))).collect();
    let mut said: Vec<String> = Vec::new();
    for (laws, ranked) in &ranked {
        let words = match (ranked, &laws.q) {
            (RankInterval::Largest(people), _) => {
                let place = ordinal(*people);
                format!("each value is between the {place} largest and the largest, or one answer above it")
            }
            (RankInterval::Smallest(people), _) => {
                let place = ordinal(*people);
                format!("each value is between the smallest and the {place} smallest, or one answer below it")
            }
            (RankInterval::Behind(within), _) => {
                format!("the number of each key is within {within} of the largest that was left")
            }
            (RankInterval::Near(ranks), None) => {
                format!("the rank of each value is off by at most {ranks}")
            }
            (RankInterval::Near(ranks), Some(q)) => {
                format!("the rank of q {q} is off by at most {ranks}")
            }
        };
        if !said.contains(&words) {
            said.push(words);
        }
    }
    let more = said.len().saturating_sub(SAID);
    said.truncate(SAID);
    if more > 0 {
        said.push(format!("and so on for {more} more"));
    }
    let confidence = &ranked.first()?.0.confidence;
    Some(format!("At confidence {confidence} {}.", said.join("; ")))
}

/// The numbers of values among which a quantile says next to nothing, in a sentence.
pub(super) fn silent(series: &ReleaseSeries) -> Option<String> {
    let mut said: Vec<String> = Vec::new();
    for laws in &series.laws {
        let (Some(RankInterval::Near(ranks)), Some(q)) = (laws.ranked, &laws.q) else { continue };
        let among = silent_among(q, ranks, "values", |number| grouped(&number.to_string()));
        let words = among.map(|among| format!("of q {q}, {among}"));
        said.extend(words.filter(|words| !said.contains(words)));
    }
    said.truncate(SAID);
    (!said.is_empty()).then(|| format!("A rank says little of few values: {}.", said.join("; ")))
}

/// The values whose interval is nearly the range that they lie in anyway, in a sentence for each range, and those without one.
pub(super) fn next_to_nothing(series: &ReleaseSeries, ranges: &[StatedRange]) -> Vec<String> {
    let said_of = |StatedRange { of, low, high }: &StatedRange| {
        let tracks = series.tracks.iter().filter(|track| track.of == *of);
        let intervals: Vec<(f64, f64)> =
            tracks.flat_map(|track| &track.points).filter_map(|point| point.interval).collect();
        let wide = intervals.iter().filter(|interval| spans_nearly(**interval, (*low, *high))).count();
        if wide == 0 {
            return None;
        }
        let of = of.as_ref().map_or(String::new(), |of| format!(" of {of}"));
        let (all, low, high) = (counted(intervals.len(), "interval"), said(*low), said(*high));
        let (are, values) = if wide == 1 { ("is", "that value says") } else { ("are", "those values say") };
        let wide = grouped(&wide.to_string());
        Some(format!(
            "{wide} of {all}{of} {are} nearly the whole range, from {low} to {high}, which is known without it: {values} next to \
             nothing."
        ))
    };
    let unbounded = usize::try_from(series.unbounded).unwrap_or(usize::MAX);
    let values = series.tracks.iter().map(|track| track.points.len()).sum();
    let (have, they) = if unbounded == 1 { ("has", "it is") } else { ("have", "they are") };
    let unbounded = (unbounded > 0).then(|| {
        let (some, all) = (grouped(&unbounded.to_string()), counted(values, "value"));
        format!(
            "{some} of {all} {have} no interval: nothing is promised of how far {they} from the exact number."
        )
    });
    ranges.iter().filter_map(said_of).chain(unbounded).collect()
}

fn many(people: u64) -> String {
    counted(usize::try_from(people).unwrap_or(usize::MAX), "person").replace("persons", "people")
}

/// An ordinal number: `1st`, `2nd`, `66th`, `1,011th`.
fn ordinal(number: u64) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{}{ending}", grouped(&number.to_string()))
}

/// The rank errors of a demonstration's values, in people.
#[derive(Clone, Debug, Default)]
pub(super) struct Off {
    mean: ErrorMean,
    most: u64,
    /// The number of values whose error is within the bound.
    kept: u64,
}

impl Off {
    pub(super) fn take(&mut self, cell: &CellLine<'_>) {
        let (Some(ranked), Some(off)) = (cell.ranked(), cell.off) else { return };
        let Ok(off) = off.parse::<u64>() else { return };
        self.mean.add(off as f64);
        self.most = self.most.max(off);
        // An answer above everybody's value has no rank error, but then its interval contains nobody.
        let within = match ranked {
            RankInterval::Largest(_) | RankInterval::Smallest(_) => holds(cell.low, cell.tally, cell.high),
            RankInterval::Near(_) | RankInterval::Behind(_) => true,
        };
        self.kept += u64::from(within && off <= ranked.allowed());
    }

    /// The share of values within their bound beside the promised share, and the mean and largest rank error.
    pub(super) fn share(&self, confidence: Option<&str>) -> Option<String> {
        let mean = self.mean.value()?;
        let promised = confidence.and_then(|part| part.parse::<f64>().ok());
        let promised = promised.map_or(String::new(), |part| format!("; {} are promised to", percent(part)));
        Some(format!(
            "{} of {} values are where they are promised to be: {}{promised}. They are off by {} on average, and by {} at \
             most.",
            grouped(&self.kept.to_string()),
            grouped(&self.mean.count.to_string()),
            percent(self.kept as f64 / self.mean.count as f64),
            many(mean.round() as u64),
            many(self.most)
        ))
    }
}

// The legend of a chart, and the mark of a demonstration.

/// The shapes of a release's chart with their meaning, in lines of at most this width: lines for several
/// windows, bars for one.
pub(super) fn legend(series: &ReleaseSeries, demo: bool, over_time: bool, width: f64) -> Drawing {
    let confidence = series.laws.first().and_then(|laws| laws.confidence.parse::<f64>().ok());
    let kind = confidence.map_or("interval".to_owned(), |part| format!("{} interval", percent(part)));
    // Of the noise alone: what the contribution bound leaves out is in no interval.
    let interval = format!("{kind} of the noise");
    // A release whose bounds are all of ranks has no interval to draw.
    let bounded = series.laws.is_empty() || series.laws.iter().any(|laws| laws.ranked.is_none());
    let mut legend = Legend::new(width);
    if over_time {
        legend.entry("as published", &|drawing, x| {
            drawing.path("value", [(x, 12.0), (x + 26.0, 12.0)].into_iter(), false);
            drawing.dot("dot", x + 13.0, 12.0, 2.6);
        });
        if bounded {
            legend.entry(&interval, &|drawing, x| drawing.rectangle("band", [x, 5.0, 26.0, 14.0]));
        }
    } else {
        legend.entry("as published", &published_bar);
        if bounded {
            legend.entry(&interval, &whisker);
        }
    }
    if series.is_fitted() {
        legend.entry("fitted to what is published", &|drawing, x| match over_time {
            true => drawing.line("fitted", [x, 12.0, x + 26.0, 12.0]),
            false => drawing.line("fitted", [x + 13.0, 3.0, x + 13.0, 21.0]),
        });
    }
    if demo {
        legend.entry("the truth, before bound and noise", &|drawing, x| match over_time {
            true => drawing.line("truth", [x, 12.0, x + 26.0, 12.0]),
            false => diamond(drawing, x),
        });
    }
    let intervals = if bounded { format!(", their {kind}s") } else { String::new() };
    let truth = if demo { ", and the truth" } else { "" };
    legend.drawing.description = format!("Published values{intervals}{truth}.");
    legend.drawing
}

/// The shapes of a chart of answers with their meaning.
pub(super) fn legend_of_answers(demo: bool, width: f64) -> Drawing {
    let mut legend = Legend::new(width);
    legend.entry("as published", &published_bar);
    legend.entry("holds the exact number with certainty", &whisker);
    if demo {
        legend.entry("the truth, before the noise", &diamond);
    }
    let truth = if demo { ", and the truth" } else { "" };
    legend.drawing.description = format!("Published answers, their intervals{truth}.");
    legend.drawing
}

/// A legend, of which a line ends at a width.
struct Legend {
    drawing: Drawing,
    width: f64,
    /// The place of the next entry.
    next: (f64, f64),
}

impl Legend {
    fn new(width: f64) -> Legend {
        let title = "What the shapes mean".to_owned();
        Legend {
            drawing: Drawing { width: 0.0, height: 24.0, title, ..Drawing::default() },
            width,
            next: (0.0, 0.0),
        }
    }

    /// Adds a shape with its meaning.
    fn entry(&mut self, text: &str, sample: &dyn Fn(&mut Drawing, f64)) {
        let needed = text.chars().count() as f64 * 7.2 + 34.0;
        let (mut x, mut y) = self.next;
        if x > 0.0 && x + needed > self.width {
            (x, y) = (0.0, y + 24.0);
        }
        let mut entry = Drawing::default();
        sample(&mut entry, x);
        entry.text("sub", x + 34.0, 16.0, text);
        self.drawing.body += &entry.placed(0.0, y);
        self.drawing.width = self.drawing.width.max(x + needed);
        self.drawing.height = y + 24.0;
        self.next = (x + needed + 22.0, y);
    }
}

fn published_bar(drawing: &mut Drawing, x: f64) {
    drawing.rectangle("bar", [x, 5.5, 22.0, 13.0]);
    drawing.line("edge", [x + 22.0, 5.5, x + 22.0, 18.5]);
}

fn whisker(drawing: &mut Drawing, x: f64) {
    drawing.line("reach", [x, 12.0, x + 26.0, 12.0]);
    drawing.line("reach", [x, 8.5, x, 15.5]);
    drawing.line("reach", [x + 26.0, 8.5, x + 26.0, 15.5]);
}

fn diamond(drawing: &mut Drawing, x: f64) {
    let around = [(x + 13.0, 7.0), (x + 17.5, 12.0), (x + 13.0, 17.0), (x + 8.5, 12.0)];
    drawing.path("mark", around.into_iter(), true);
}

/// Draws the mark of a demonstration, with its right end at `x`.
pub(super) fn badge(drawing: &mut Drawing, x: f64, y: f64) {
    drawing.rectangle("badge", [x - 52.0, y, 52.0, 18.0]);
    drawing.text("tag middle", x - 26.0, y + 13.0, "DEMO");
}

/// Draws the smaller mark for each of many pictures, with its right end at `x`.
pub(super) fn small_badge(drawing: &mut Drawing, x: f64, y: f64) {
    drawing.rectangle("outline", [x - 42.0, y + 0.5, 41.5, 15.0]);
    drawing.text("small middle", x - 21.2, y + 11.4, "DEMO");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_said_as_people_say_them() {
        assert_eq!(
            [1, 2, 3, 4, 11, 12, 13, 21, 22, 66, 103, 1011].map(ordinal),
            ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "66th", "103rd", "1,011th"]
        );
        assert_eq!([0, 1, 38].map(many), ["0 people", "1 person", "38 people"]);
    }
}
