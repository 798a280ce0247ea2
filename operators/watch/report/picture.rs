//! The first releases as a picture of their own, for a page of somebody else: they bring their ground with them, light or dark as
//! the reader's system is.

use super::bars;
use super::draw::{Drawing, counted, escape, px, short};
use super::legend::{badge, legend};
use super::model::{Model, ReleaseSeries};
use super::ranks::promised;
use super::style::{DARK, FONTS, LIGHT, SHAPES, pictures};
use super::timeline::Timeline;
use super::{Heading, mark};

const WIDTH: f64 = 1000.0;
const EDGE: f64 = 32.0;
const GAP: f64 = 30.0;

/// After a picture of this height no further release is begun.
const ENOUGH: f64 = 480.0;

/// How many panels stand beside each other.
pub(super) fn columns(panels: usize) -> usize {
    match panels {
        0 | 1 => 1,
        2 | 4 => 2,
        _ => 3,
    }
}

/// The panels of a release, with room for so many beside each other on a page of this width.
pub(super) fn panels(timeline: &Timeline<'_>, width: f64) -> (Vec<Drawing>, usize, usize) {
    let (tracks, hidden) = timeline.shown();
    let columns = columns(tracks.len());
    let width = (width - GAP * (columns - 1) as f64) / columns as f64;
    let size = (width, if columns == 1 { 280.0 } else { 190.0 });
    let left = Timeline::margin(&tracks);
    (tracks.iter().map(|track| timeline.panel(track, left, size)).collect(), columns, hidden)
}

/// The picture, with its own frame.
pub(super) fn picture(heading: &Heading, model: &Model) -> String {
    let mut whole = Drawing { width: WIDTH, height: EDGE, ..Drawing::default() };
    whole.title = heading.job.clone();
    whole.text("title", EDGE, 50.0, &short(&heading.job, 60));
    if heading.demo {
        whole.title.insert_str(0, "DEMO: ");
        badge(&mut whole, WIDTH - EDGE, 36.0);
        whole.text("note end", WIDTH - EDGE - 62.0, 49.0, "the truth is shown");
    }
    let mut y = 62.0;
    let shown = model.releases.iter().filter(|series| !series.tracks.is_empty());
    for (at, series) in shown.enumerate() {
        if at > 0 && y > ENOUGH {
            break;
        }
        y = release(&mut whole, heading, series, y);
    }
    if whole.description.is_empty() {
        whole.description = "Nothing was released.".to_owned();
        whole.text("sub", EDGE, 74.0, &whole.description.clone());
        y = 86.0;
    }
    whole.height = y + 12.0;
    whole.description = format!("{} {}", heading.promise, whole.description);
    framed(&whole, mark(heading))
}

/// Draws a release from `y` on; gives where it ends.
fn release(whole: &mut Drawing, heading: &Heading, series: &ReleaseSeries, y: f64) -> f64 {
    let windows = counted(series.windows.len(), "window");
    whole.description += &format!("{}, {windows}. ", series.name);
    let over_time = series.windows.len() > 1;
    let head = y + 12.0;
    whole.body += &legend(series, heading.demo, over_time).placed(EDGE, y + 26.0);
    let mut y = y + 68.0;
    if let Some(words) = promised(series) {
        whole.text("sub", EDGE, y, &short(&words, 130));
        whole.description += &format!("{words} ");
        y += 22.0;
    }
    let inner = WIDTH - 2.0 * EDGE;
    let hidden = if over_time {
        let (panels, columns, hidden) = panels(&Timeline::new(series), inner);
        for (at, panel) in panels.iter().enumerate() {
            let (column, row) = ((at % columns) as f64, (at / columns) as f64);
            whole.body += &panel.placed(EDGE + column * (panel.width + GAP), y + row * (panel.height + 20.0));
        }
        let rows = panels.len().div_ceil(columns) as f64;
        y += rows * panels.first().map_or(0.0, |panel| panel.height + 20.0);
        hidden
    } else {
        let (bars, hidden) = bars::window(series, inner);
        whole.body += &bars.placed(EDGE, y);
        y += bars.height + 12.0;
        hidden
    };
    let more =
        if hidden > 0 { format!("; {} more are not shown", counted(hidden, "key")) } else { String::new() };
    whole.text("sub", EDGE, head, &format!("{}, {windows}{more}", short(&series.name, 64)));
    y
}

fn framed(whole: &Drawing, mark: &str) -> String {
    let Drawing { width, height, title, description, body } = whole;
    let (width, height) = (px(*width), px(*height));
    let (light, dark) = (pictures(&LIGHT), pictures(&DARK));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" data-generator=\"{mark}\" class=\"chart\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"t d\">\
         <title id=\"t\">{}</title><desc id=\"d\">{}</desc>\
         <style>text{{font-family:{FONTS}}}{light}@media (prefers-color-scheme:dark){{{dark}}}{SHAPES}</style>\
         <rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"10\"/>{body}</svg>\n",
        escape(title),
        escape(description),
        px(whole.width - 1.0),
        px(whole.height - 1.0)
    )
}
