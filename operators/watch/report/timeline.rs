//! The charts of a release over time: one panel for each key, with values as a line inside the band of their
//! intervals.

use super::answers::AnswerChart;
use super::charts::{badge, legend, legend_of_answers, promised, small_badge};
use super::model::{ChartPoint, Model, ReleaseSeries, Track, TrackLevel, WindowOutcome};
use super::{Heading, charts, mark};
use crate::picture::{AxisRange, Drawing, Scale, capitalized, counted, numbers, said, short, times};

/// The positions of a release's windows, which all of its panels share.
pub(super) struct Timeline<'a> {
    series: &'a ReleaseSeries,
    /// The indices of the windows in the order of time, and the rank of each window in it.
    order: Vec<usize>,
    place: Vec<usize>,
    /// The time from the first start to the last end; `None` if a window has no time.
    span: Option<(i64, i64)>,
}

/// The most panels of a release.
const PANELS: usize = 9;

/// The most points of a line; of more windows, each point is the mean of several.
const POINTS: usize = 360;

/// The most points that are drawn as dots; more would overlap.
const DOTS: usize = 60;

const RIGHT: f64 = 10.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 24.0;

/// A point of the drawing: the mean over a group of windows.
struct PlottedPoint {
    group: usize,
    x: f64,
    value: f64,
    interval: Option<(f64, f64)>,
    truth: Option<f64>,
    fitted: Option<f64>,
}

impl<'a> Timeline<'a> {
    pub(super) fn new(series: &'a ReleaseSeries) -> Timeline<'a> {
        let windows = &series.windows;
        let mut order: Vec<usize> = (0..windows.len()).collect();
        order.sort_by_key(|at| windows.get(*at).map(|window| (window.start, window.end)));
        let mut place = vec![0; order.len()];
        for (rank, at) in order.iter().enumerate() {
            if let Some(place) = place.get_mut(*at) {
                *place = rank;
            }
        }
        let ends = windows.iter().map(|window| window.start.zip(window.end)).collect::<Option<Vec<_>>>();
        let span = ends.and_then(|ends| {
            let start = ends.iter().map(|(start, _)| *start).min()?;
            let end = ends.iter().map(|(_, end)| *end).max()?;
            (start < end).then_some((start, end))
        });
        Timeline { series, order, place, span }
    }

    /// The keys of a level with the largest values, or of means, ratios and variances with the narrowest intervals, in their
    /// natural order or in this one, and the number of keys that are not shown.
    pub(super) fn shown(level: &TrackLevel<'a>) -> (Vec<&'a Track>, usize) {
        let mut tracks = level.tracks.clone();
        let rank = if level.by_interval() { certainty } else { size };
        tracks.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
        let hidden = tracks.len().saturating_sub(PANELS);
        tracks.truncate(PANELS);
        if tracks.iter().all(|track| track.ordered) {
            let order = |track: &&Track| level.tracks.iter().position(|other| std::ptr::eq(*other, *track));
            tracks.sort_by_key(order);
        }
        (tracks, hidden)
    }

    /// The number of windows in the mean of a point.
    pub(super) fn thinned(&self) -> usize {
        self.order.len().div_ceil(POINTS).max(1)
    }

    /// The range of the value axis of a panel.
    fn range(track: &Track) -> AxisRange {
        numbers(track.points.iter().flat_map(ChartPoint::numbers), 5, false)
    }

    /// The room for the widest labels among these panels: with the same margin, their time axes are aligned.
    pub(super) fn margin(tracks: &[&Track]) -> f64 {
        let labels = tracks.iter().flat_map(|track| Timeline::range(track).ticks);
        let widest = labels.map(|(_, label)| label.chars().count()).max().unwrap_or(1);
        // Beside the first label of the time is the name of its zone.
        (widest as f64).mul_add(6.4, 10.0).max(44.0)
    }

    /// The panel of a key, with its axis at `left`.
    pub(super) fn panel(&self, track: &Track, left: f64, (width, height): (f64, f64)) -> Drawing {
        let mut drawing = Drawing {
            width,
            height,
            title: match track.name() {
                Some(name) if track.rollup => format!("{name} (total)"),
                Some(name) => name,
                None => self.series.name.clone(),
            },
            ..Drawing::default()
        };
        let range = Timeline::range(track);
        let across = (left, width - RIGHT);
        let up = Scale::new(range.ends, (height - BOTTOM, TOP));
        drawing.description = self.described(track);
        self.gone(&mut drawing, across);
        for (value, label) in &range.ticks {
            let class = if *value == 0.0 { "zero" } else { "grid" };
            drawing.line(class, [across.0, up.at(*value), across.1, up.at(*value)]);
            drawing.text("tick end", left - 7.0, up.at(*value) + 3.8, label);
        }
        self.lines(&mut drawing, track, across, up);
        self.time(&mut drawing, across);
        if let Some(name) = track.name() {
            // Leaves room for a badge at the right.
            drawing.text("name", 0.0, 14.0, &short(&name, ((width - 50.0) / 8.0) as usize));
        }
        drawing
    }

    fn lines(&self, drawing: &mut Drawing, track: &Track, across: (f64, f64), up: Scale) {
        let drawn = self.drawn(track, across);
        let next = |a: &PlottedPoint, b: &PlottedPoint| b.group == a.group + 1;
        for run in drawn.chunk_by(next) {
            let ends =
                |point: &PlottedPoint| point.interval.map(|(low, high)| (point.x, up.at(low), up.at(high)));
            let ends: Vec<(f64, f64, f64)> = run.iter().filter_map(ends).collect();
            let above = ends.iter().map(|(x, _, high)| (*x, *high));
            let below = ends.iter().rev().map(|(x, low, _)| (*x, *low));
            match ends[..] {
                [(x, low, high)] => drawing.line("reach", [x, low, x, high]),
                _ => drawing.path("band", above.chain(below), true),
            }
        }
        for run in drawn.chunk_by(next) {
            let truth = run.iter().filter_map(|point| Some((point.x, up.at(point.truth?))));
            match run {
                [alone] => {
                    if let Some(truth) = alone.truth {
                        drawing.line("truth", [alone.x - 7.0, up.at(truth), alone.x + 7.0, up.at(truth)]);
                    }
                    if let Some(fitted) = alone.fitted {
                        drawing.line("fitted", [alone.x - 7.0, up.at(fitted), alone.x + 7.0, up.at(fitted)]);
                    }
                }
                _ => {
                    drawing.path("truth", truth, false);
                    drawing.path("value", run.iter().map(|point| (point.x, up.at(point.value))), false);
                    let fitted = run.iter().filter_map(|point| Some((point.x, up.at(point.fitted?))));
                    if run.iter().any(|point| point.fitted.is_some()) {
                        drawing.path("fitted", fitted, false);
                    }
                }
            }
            for point in run.iter().filter(|_| drawn.len() <= DOTS || run.len() == 1) {
                drawing.dot("dot", point.x, up.at(point.value), 2.4);
            }
        }
    }

    fn drawn(&self, track: &Track, across: (f64, f64)) -> Vec<PlottedPoint> {
        let thinned = self.thinned();
        let mut points: Vec<(usize, &ChartPoint)> =
            track.points.iter().filter_map(|point| Some((*self.place.get(point.window)?, point))).collect();
        points.sort_by_key(|(place, _)| *place);
        let groups = points.chunk_by(|(a, _), (b, _)| a / thinned == b / thinned);
        let drawn = groups.filter_map(|group| {
            let (place, first) = group.first()?;
            let count = group.len() as f64;
            let mean = |of: fn(&ChartPoint) -> f64| group.iter().map(|(_, point)| of(point) / count).sum();
            let truth = group.iter().map(|(_, point)| Some(point.truth? / count)).sum::<Option<f64>>();
            let fitted = group.iter().map(|(_, point)| Some(point.fitted? / count)).sum::<Option<f64>>();
            let low = group.iter().map(|(_, point)| Some(point.interval?.0 / count)).sum::<Option<f64>>();
            let high = group.iter().map(|(_, point)| Some(point.interval?.1 / count)).sum::<Option<f64>>();
            let interval = low.zip(high);
            let x = group.iter().map(|(_, point)| self.middle(point.window, across) / count).sum();
            let (value, interval) = match group.len() {
                1 => (first.value, first.interval),
                _ => (mean(|point| point.value), interval),
            };
            Some(PlottedPoint { group: place / thinned, x, value, interval, truth, fitted })
        });
        drawn.collect()
    }

    fn middle(&self, window: usize, across: (f64, f64)) -> f64 {
        let (from, to) = self.reach(window, across);
        f64::midpoint(from, to)
    }

    /// The left and right end of a window on the time axis.
    fn reach(&self, window: usize, across: (f64, f64)) -> (f64, f64) {
        let shown = self.series.windows.get(window);
        if let (Some((first, last)), Some((Some(start), Some(end)))) =
            (self.span, shown.map(|window| (window.start, window.end)))
        {
            let after = |time: i64| (i128::from(time) - i128::from(first)) as f64;
            let scale = Scale::new((0.0, after(last)), across);
            return (scale.at(after(start)), scale.at(after(end)));
        }
        let place = self.place.get(window).copied().unwrap_or_default() as f64;
        let scale = Scale::new((0.0, self.order.len() as f64), across);
        (scale.at(place), scale.at(place + 1.0))
    }

    /// Marks the windows without an answer, in words where there is room.
    fn gone(&self, drawing: &mut Drawing, across: (f64, f64)) {
        let outcome = |at: &usize| self.series.windows.get(*at).map(|window| window.outcome.word());
        let bottom = drawing.height - BOTTOM;
        for run in self.order.chunk_by(|a, b| outcome(a) == outcome(b)) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let Some(word) = outcome(first).filter(|word| *word != WindowOutcome::Released.word()) else {
                continue;
            };
            let (from, to) = (self.reach(*first, across).0, self.reach(*last, across).1);
            let middle = f64::midpoint(from, to);
            drawing.rectangle("gone", [from, TOP, to - from, bottom - TOP]);
            if to - from >= 52.0 {
                drawing.text("note middle", middle, bottom - 7.0, word);
            } else if to - from >= 11.0 {
                drawing.turned("note", middle + 3.8, bottom - 6.0, word);
            } else {
                drawing.text("note middle", middle, bottom - 4.0, "×");
            }
        }
    }

    fn time(&self, drawing: &mut Drawing, across: (f64, f64)) {
        let base = drawing.height - BOTTOM;
        drawing.line("axis", [across.0, base, across.1, base]);
        let Some(span) = self.span else {
            let count = counted(self.order.len(), "window");
            return drawing.text("tick middle", f64::midpoint(across.0, across.1), base + 16.0, &count);
        };
        ruler(drawing, span, across, base);
    }

    fn described(&self, track: &Track) -> String {
        let values = track.points.iter().map(|point| point.value);
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        let newest = track.points.iter().max_by_key(|point| self.place.get(point.window));
        let newest = newest.map(|point| {
            let interval = point.interval.map_or(String::new(), |(low, high)| {
                format!(", with an interval from {} to {}", said(low), said(high))
            });
            format!(" The newest is {}{interval}.", said(point.value))
        });
        let (count, low, high) = (counted(track.points.len(), "value"), said(low), said(high));
        format!("{count} over time, from {low} to {high}.{}", newest.unwrap_or_default())
    }
}

/// Draws the ticks of a time span below a line.
pub(super) fn ruler(drawing: &mut Drawing, span: (i64, i64), across: (f64, f64), base: f64) {
    let after = |time: i64| (i128::from(time) - i128::from(span.0)) as f64;
    let scale = Scale::new((0.0, after(span.1)), across);
    // Times and days are those of UTC, whatever the zone of a job.
    drawing.text("tick", 0.0, base + 16.0, "UTC");
    let mut free = 24.0;
    for (time, label) in times(span, ((across.1 - across.0) / 58.0) as usize) {
        let x = scale.at(after(time));
        drawing.line("axis", [x, base, x, base + 4.0]);
        let half = label.chars().count() as f64 * 3.2;
        if x - half > free && x + half <= drawing.width + 2.0 {
            drawing.text("tick middle", x, base + 16.0, &label);
            free = x + half + 6.0;
        }
    }
}

/// The mean magnitude of a key's values.
fn size(track: &Track) -> f64 {
    let sum: f64 = track.points.iter().map(|point| point.value.abs() / track.points.len() as f64).sum();
    // Of equal means, the key with more windows comes first.
    sum * (1.0 + 1e-9 * track.points.len() as f64)
}

/// The sum of the inverse squares of the lengths of a key's intervals: many windows and narrow intervals make it large.
fn certainty(track: &Track) -> f64 {
    track.points.iter().map(|point| point.length().max(1e-100).powi(-2)).sum()
}

// A picture of the first releases, to be embedded in other pages: it has its own background, light or dark as
// the reader's system is.

const WIDTH: f64 = 1000.0;
const EDGE: f64 = 32.0;
const GAP: f64 = 30.0;

/// The height from which no further release is added to the picture.
const ENOUGH: f64 = 480.0;

/// The number of panels side by side.
pub(super) fn columns(panels: usize) -> usize {
    match panels {
        0 | 1 => 1,
        2 | 4 => 2,
        _ => 3,
    }
}

/// The panels of a level for a page of this width with at most this number of columns, the number of columns, and
/// the number of keys that are not shown.
pub(super) fn panels<'a>(
    timeline: &Timeline<'a>,
    level: &TrackLevel<'a>,
    width: f64,
    most: usize,
) -> (Vec<Drawing>, usize, usize) {
    let (tracks, hidden) = Timeline::shown(level);
    let columns = columns(tracks.len()).min(most);
    let width = (width - GAP * (columns - 1) as f64) / columns as f64;
    let size = (width, if columns == 1 && most > 1 { 300.0 } else { 190.0 });
    let left = Timeline::margin(&tracks);
    (tracks.iter().map(|track| timeline.panel(track, left, size)).collect(), columns, hidden)
}

/// The picture, with its own frame, and the names of the releases that are not in it.
pub(super) fn picture<'a>(heading: &Heading, model: &'a Model) -> (String, Vec<&'a str>) {
    let mut whole = Drawing { width: WIDTH, height: EDGE, ..Drawing::default() };
    whole.title = heading.job.clone();
    whole.text("title", EDGE, 50.0, &short(&heading.job, 60));
    if heading.demo {
        whole.title.insert_str(0, "DEMO: ");
        badge(&mut whole, WIDTH - EDGE, 36.0);
        whole.text("note end", WIDTH - EDGE - 62.0, 49.0, "the truth is shown");
    }
    let mut y = 62.0;
    let (mut is_first, mut left_out) = (true, Vec::new());
    for series in &model.releases {
        let answers = series.answers.charts(&heading.dates());
        // A single answer and windows without a number have nothing to draw.
        if (series.tracks.is_empty() && answers.is_empty()) || (!is_first && y > ENOUGH) {
            left_out.push(&*series.name);
            continue;
        }
        is_first = false;
        y = match answers.is_empty() {
            true => release(&mut whole, heading, series, y),
            false => answer_charts(&mut whole, heading.demo, (&series.name, &answers), y),
        };
    }
    if whole.description.is_empty() {
        let nothing = left_out.is_empty();
        let said =
            if nothing { "Nothing was released." } else { "There is nothing to draw: see the page of HTML." };
        whole.description = said.to_owned();
        whole.text("sub", EDGE, 74.0, &whole.description.clone());
        y = 86.0;
    }
    whole.height = y + 12.0;
    whole.description = format!("{} {}", heading.promise, whole.description);
    (whole.picture(mark(heading)), left_out)
}

/// Draws the answers of each analyst from `y` on, and returns the end of the drawing.
fn answer_charts(
    whole: &mut Drawing,
    demo: bool,
    (name, analysts): (&str, &[(&str, Vec<AnswerChart>)]),
    y: f64,
) -> f64 {
    whole.text("sub", EDGE, y + 12.0, &format!("{}, answers to questions", short(name, 64)));
    whole.body += &legend_of_answers(demo, WIDTH).placed(EDGE, y + 26.0);
    let mut y = y + 68.0;
    let charts =
        analysts.iter().flat_map(|(analyst, charts)| charts.iter().map(move |chart| (analyst, chart)));
    for (analyst, chart) in charts {
        let earlier = match chart.earlier {
            0 => String::new(),
            earlier => format!("; {} not drawn", counted(earlier, "earlier answer")),
        };
        let title = format!("{}: {}", short(analyst, 40), short(&chart.title, 60));
        whole.text("name", EDGE, y + 8.0, &format!("{title}{earlier}"));
        if demo {
            small_badge(whole, WIDTH - EDGE, y - 4.0);
        }
        let bars = chart.draw(WIDTH - 2.0 * EDGE, false);
        whole.description += &format!("{name}, {title}: {} ", bars.description);
        whole.body += &bars.placed(EDGE, y + 22.0);
        y += bars.height + 34.0;
    }
    y
}

/// Draws a release from `y` on, and returns the end of its drawing.
fn release(whole: &mut Drawing, heading: &Heading, series: &ReleaseSeries, y: f64) -> f64 {
    let windows = counted(series.windows.len(), "window");
    whole.description += &format!("{}, {windows}. ", series.name);
    let over_time = series.windows.len() > 1;
    let head = y + 12.0;
    whole.body += &legend(series, heading.demo, over_time, WIDTH).placed(EDGE, y + 26.0);
    let mut y = y + 68.0;
    if let Some(words) = promised(series) {
        whole.text("sub", EDGE, y, &short(&words, 130));
        whole.description += &format!("{words} ");
        y += 22.0;
    }
    let inner = WIDTH - 2.0 * EDGE;
    let mut more = String::new();
    for level in series.levels(heading.level_names(&series.name)) {
        if let Some(name) = &level.name {
            whole.text("name", EDGE, y + 8.0, &capitalized(&short(name, 100)));
            whole.description += &format!("{}. ", capitalized(name));
            y += 22.0;
        }
        let hidden = if over_time {
            let (panels, columns, hidden) = panels(&Timeline::new(series), &level, inner, 3);
            for (at, panel) in panels.iter().enumerate() {
                let (column, row) = ((at % columns) as f64, (at / columns) as f64);
                let (x, y) = (EDGE + column * (panel.width + GAP), y + row * (panel.height + 20.0));
                whole.body += &panel.placed(x, y);
            }
            let rows = panels.len().div_ceil(columns) as f64;
            y += rows * panels.first().map_or(0.0, |panel| panel.height + 20.0);
            hidden
        } else {
            let (bars, hidden) = charts::window(&level, &series.name, inner, false);
            whole.body += &bars.placed(EDGE, y);
            y += bars.height + 12.0;
            hidden
        };
        if hidden > 0 {
            let are = if hidden == 1 { "is" } else { "are" };
            more += &format!("; {} more {are} not shown", counted(hidden, level.noun()));
        }
    }
    whole.text("sub", EDGE, head, &format!("{}, {windows}{more}", short(&series.name, 64)));
    y
}
