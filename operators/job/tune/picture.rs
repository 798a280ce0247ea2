//! A tuning as a picture: the error of each release by its bounds, its share and its windows.

use super::{SweptBound, SweptShare, SweptWindow, TunedChoice, TunedRelease, Tuning};
use crate::job::plan::percent;
use crate::picture::{Drawing, Scale, has_mark, short};

/// The mark at the beginning of every picture.
const MARK: &str = "discreet tuning";

const WIDTH: f64 = 1000.0;
const EDGE: f64 = 28.0;
const GAP: f64 = 30.0;
/// The most panels of a release: keys, records of a key, shares and windows.
const COLUMNS: usize = 4;
const HEIGHT: f64 = 190.0;

/// A number that was tried, with its error.
struct PlottedNumber {
    /// The number in words, as the job file has it.
    name: String,
    /// The place on the axis.
    place: f64,
    error: f64,
    /// The part of the error that is there without noise, where it is known.
    left_out: Option<f64>,
    is_present: bool,
    is_chosen: bool,
}

/// The errors of a release by one of its numbers.
struct Panel {
    name: &'static str,
    numbers: Vec<PlottedNumber>,
}

impl Tuning {
    /// Draws the error of each release by each number that was tried, in SVG.
    pub fn drawn(&self) -> String {
        let Tuning { name, rows, people, releases, .. } = self;
        let mut whole = Drawing { width: WIDTH, title: format!("Tuning of {name}"), ..Drawing::default() };
        whole.text("title", EDGE, 50.0, &short(name, 60));
        let log = format!("by a log of {rows} records of {people} people");
        whole.text("sub", EDGE, 72.0, &log);
        legend(&mut whole, 84.0);
        whole.description = format!("The error of each release by its numbers, {log}.");
        let mut y = 126.0;
        for release in releases {
            y = drawn(&mut whole, (release, self.assumed_keys(release)), y);
        }
        whole.height = y;
        whole.picture(MARK)
    }

    /// Returns true if the text begins as a picture of a tuning does.
    pub fn is_picture(text: &[u8]) -> bool {
        has_mark(text, MARK)
    }
}

/// Draws a release from `y` on, and returns the end of its drawing.
fn drawn(whole: &mut Drawing, (release, assumed): (&TunedRelease, Option<u32>), y: f64) -> f64 {
    whole.text("name", EDGE, y + 14.0, &short(&release.name, 64));
    let (Some(present), Some(chosen)) = (&release.present, &release.chosen) else {
        let left = release.left.unwrap_or("no numbers were found for it");
        whole.text("sub", EDGE, y + 34.0, &format!("as it is: {left}"));
        whole.description += &format!(" {} is left as it is: {left}.", release.name);
        return y + 58.0;
    };
    let words = match release.is_changed() {
        true => format!(
            "errs by {}, with the chosen numbers by {}",
            percent(present.error),
            percent(chosen.error)
        ),
        false => format!("errs by {}, as it is", percent(present.error)),
    };
    let words = match assumed {
        Some(keys) => format!("{words}, if nobody has more keys than its bound, {keys}"),
        None => words,
    };
    whole.text("sub", EDGE, y + 34.0, &words);
    whole.description += &format!(" {} {words}.", release.name);
    let panels = panels(release, present, chosen);
    if panels.is_empty() {
        return y + 58.0;
    }
    let errors = panels.iter().flat_map(|panel| panel.numbers.iter().map(|number| number.error));
    let most = errors.fold(present.error, f64::max).max(f64::MIN_POSITIVE);
    let width = (WIDTH - 2.0 * EDGE - GAP * (COLUMNS - 1) as f64) / COLUMNS as f64;
    for (at, panel) in panels.iter().enumerate() {
        whole.body += &panel.drawn(width, most).placed(EDGE + at as f64 * (width + GAP), y + 46.0);
    }
    y + 46.0 + HEIGHT + 26.0
}

/// Returns the panels of the numbers of which more than one was tried.
fn panels(release: &TunedRelease, present: &TunedChoice, chosen: &TunedChoice) -> Vec<Panel> {
    let bound = |swept: &SweptBound, former: Option<u32>, found: Option<u32>| PlottedNumber {
        name: swept.bound.to_string(),
        place: f64::from(swept.bound).ln(),
        error: swept.error,
        left_out: Some(swept.left_out),
        is_present: former == Some(swept.bound),
        is_chosen: found == Some(swept.bound),
    };
    let share = |swept: &SweptShare| PlottedNumber {
        name: swept.share.to_decimal().to_string(),
        place: (swept.share.parts() as f64).ln(),
        error: swept.error,
        left_out: None,
        is_present: swept.share == present.share,
        is_chosen: swept.share == chosen.share,
    };
    let window = |(at, swept): (usize, &SweptWindow)| PlottedNumber {
        name: swept.every.to_string(),
        place: at as f64,
        error: swept.error,
        left_out: None,
        is_present: swept.every == present.every,
        is_chosen: swept.every == chosen.every,
    };
    let bounds = |swept: &[SweptBound], former: Option<u32>, found: Option<u32>| {
        swept.iter().map(|swept| bound(swept, former, found)).collect()
    };
    let panels = [
        Panel { name: "bound.keys", numbers: bounds(&release.keys, present.keys, chosen.keys) },
        Panel { name: "bound.per_key", numbers: bounds(&release.per_key, present.per_key, chosen.per_key) },
        Panel { name: "bound.weight", numbers: bounds(&release.weights, present.weight, chosen.weight) },
        Panel { name: "share", numbers: release.shares.iter().map(share).collect() },
        Panel { name: "every", numbers: release.windows.iter().enumerate().map(window).collect() },
    ];
    panels.into_iter().filter(|panel| panel.numbers.len() > 1).collect()
}

impl Panel {
    /// Draws the errors as a line, over the part that is there without noise, with the present number and the
    /// chosen one marked.
    fn drawn(&self, width: f64, most: f64) -> Drawing {
        const LEFT: f64 = 40.0;
        const TOP: f64 = 26.0;
        const BOTTOM: f64 = HEIGHT - 24.0;
        let mut drawing = Drawing { width, height: HEIGHT, ..Drawing::default() };
        drawing.text("label", 0.0, 14.0, self.name);
        let up = Scale::new((0.0, most), (BOTTOM, TOP));
        for part in [0.0, 0.5, 1.0] {
            let (y, class) = (up.at(part * most), if part == 0.0 { "zero" } else { "grid" });
            drawing.line(class, [LEFT, y, width, y]);
            drawing.text("tick end", LEFT - 6.0, y + 4.0, &percent(part * most));
        }
        let places = || self.numbers.iter().map(|number| number.place);
        let ends = (places().fold(f64::INFINITY, f64::min), places().fold(f64::NEG_INFINITY, f64::max));
        let across = Scale::new(ends, (LEFT + 8.0, width - 8.0));
        let at = |number: &PlottedNumber, error: f64| (across.at(number.place), up.at(error));
        let left_out = self.numbers.iter().filter_map(|number| Some((number, number.left_out?)));
        let mut outline: Vec<(f64, f64)> = left_out.map(|(number, error)| at(number, error)).collect();
        if let (Some(first), Some(last)) = (outline.first().copied(), outline.last().copied()) {
            outline.extend([(last.0, BOTTOM), (first.0, BOTTOM)]);
            drawing.path("plain", outline.into_iter(), true);
        }
        let line = self.numbers.iter().map(|number| at(number, number.error));
        drawing.path("value", line, false);
        let mut free = 0.0;
        for number in &self.numbers {
            let (x, y) = at(number, number.error);
            drawing.dot("dot", x, y, 2.6);
            if number.is_present {
                drawing.line("cap", [x, TOP, x, BOTTOM]);
            }
            if number.is_chosen {
                diamond(&mut drawing, x, y);
            }
            // Names that would overlap are left out: that of the chosen number stays, and then that of the present.
            let room = 3.4 * number.name.chars().count() as f64 + 3.0;
            let is_first = number.is_chosen
                || number.is_present && !self.hides(number, &across, |other| other.is_chosen);
            let is_marked = |other: &PlottedNumber| other.is_chosen || other.is_present;
            if is_first || x - room >= free && !self.hides(number, &across, is_marked) {
                drawing.text("tick middle", x, HEIGHT - 8.0, &number.name);
                free = x + room;
            }
        }
        drawing
    }

    /// Returns true if the name of this number would hide that of another one of this kind.
    fn hides(&self, number: &PlottedNumber, across: &Scale, kind: impl Fn(&PlottedNumber) -> bool) -> bool {
        let room = |number: &PlottedNumber| 3.4 * number.name.chars().count() as f64 + 3.0;
        let mut others = self.numbers.iter().filter(|other| kind(other) && other.place != number.place);
        others.any(|other| {
            (across.at(other.place) - across.at(number.place)).abs() < room(number) + room(other)
        })
    }
}

fn diamond(drawing: &mut Drawing, x: f64, y: f64) {
    let around = [(x, y - 6.0), (x + 5.0, y), (x, y + 6.0), (x - 5.0, y)];
    drawing.path("mark", around.into_iter(), true);
}

fn legend(whole: &mut Drawing, y: f64) {
    let middle = y + 12.0;
    let mut x = EDGE;
    let mut entry = |whole: &mut Drawing, words: &str, sample: &dyn Fn(&mut Drawing, f64)| {
        sample(whole, x);
        whole.text("sub", x + 34.0, middle + 4.0, words);
        x += 34.0 + 7.2 * words.chars().count() as f64 + 22.0;
    };
    entry(whole, "the error", &|drawing, x| {
        drawing.path("value", [(x, middle), (x + 26.0, middle)].into_iter(), false);
        drawing.dot("dot", x + 13.0, middle, 2.6);
    });
    entry(whole, "of it without noise", &|drawing, x| {
        drawing.rectangle("plain", [x, middle - 7.0, 26.0, 14.0]);
    });
    entry(whole, "the number of the job file", &|drawing, x| {
        drawing.line("cap", [x + 13.0, middle - 9.0, x + 13.0, middle + 9.0]);
    });
    entry(whole, "the chosen number", &|drawing, x| diamond(drawing, x + 13.0, middle));
}
