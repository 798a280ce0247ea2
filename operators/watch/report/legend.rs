//! What the shapes of a chart mean, and the mark of a demo.

use super::draw::{Drawing, percent};
use super::model::ReleaseSeries;

/// The shapes of a release's chart, each with its meaning; over time they are lines, otherwise bars.
pub(super) fn legend(series: &ReleaseSeries, demo: bool, over_time: bool) -> Drawing {
    let confidence = series.laws.first().and_then(|laws| laws.confidence.parse::<f64>().ok());
    let interval = confidence.map_or("interval".to_owned(), |part| format!("{} interval", percent(part)));
    // Where ranks are promised there is no interval to be drawn.
    let bounded = series.laws.is_empty() || series.laws.iter().any(|laws| laws.ranked.is_none());
    let mut drawing = Drawing {
        width: 620.0,
        height: 24.0,
        title: "What the shapes mean".to_owned(),
        ..Drawing::default()
    };
    let mut x = 0.0;
    let mut entry = |drawing: &mut Drawing, text: &str, sample: &dyn Fn(&mut Drawing, f64)| {
        sample(drawing, x);
        drawing.text("sub", x + 34.0, 16.0, text);
        x += text.chars().count() as f64 * 6.7 + 62.0;
    };
    if over_time {
        entry(&mut drawing, "as published", &|drawing, x| {
            drawing.path("value", [(x, 12.0), (x + 26.0, 12.0)].into_iter(), false);
            drawing.dot("dot", x + 13.0, 12.0, 2.6);
        });
        if bounded {
            entry(&mut drawing, &interval, &|drawing, x| drawing.rectangle("band", [x, 5.0, 26.0, 14.0]));
        }
    } else {
        entry(&mut drawing, "as published", &|drawing, x| {
            drawing.rectangle("bar", [x, 5.5, 22.0, 13.0]);
            drawing.line("edge", [x + 22.0, 5.5, x + 22.0, 18.5]);
        });
        if bounded {
            entry(&mut drawing, &interval, &|drawing, x| {
                drawing.line("reach", [x, 12.0, x + 26.0, 12.0]);
                drawing.line("reach", [x, 8.5, x, 15.5]);
                drawing.line("reach", [x + 26.0, 8.5, x + 26.0, 15.5]);
            });
        }
    }
    if demo {
        entry(&mut drawing, "the truth, before bound and noise", &|drawing, x| match over_time {
            true => drawing.line("truth", [x, 12.0, x + 26.0, 12.0]),
            false => {
                let around = [(x + 13.0, 7.0), (x + 17.5, 12.0), (x + 13.0, 17.0), (x + 8.5, 12.0)];
                drawing.path("mark", around.into_iter(), true);
            }
        });
    }
    let intervals = if bounded { format!(", their {interval}s") } else { String::new() };
    drawing.description =
        format!("Published values{intervals}{}.", if demo { ", and the truth" } else { "" });
    drawing
}

/// The mark of a demo, with its right end at `x`.
pub(super) fn badge(drawing: &mut Drawing, x: f64, y: f64) {
    drawing.rectangle("badge", [x - 52.0, y, 52.0, 18.0]);
    drawing.text("tag middle", x - 26.0, y + 13.0, "DEMO");
}

/// The same where it stands in each of many pictures, with its right end at `x`.
pub(super) fn small_badge(drawing: &mut Drawing, x: f64, y: f64) {
    drawing.rectangle("outline", [x - 42.0, y + 0.5, 41.5, 15.0]);
    drawing.text("small middle", x - 21.2, y + 11.4, "DEMO");
}
