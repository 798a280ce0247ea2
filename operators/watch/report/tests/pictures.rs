//! The numbers of a picture, which are read back from it.

use super::samples::*;
use crate::watch::report::timeline::Timeline;
use crate::watch::report::{Report, charts};

/// Returns every text between `before` and `after`.
pub(super) fn between<'a>(text: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    text.split(before).skip(1).map(|rest| rest.split_once(after).unwrap().0).collect()
}

/// The points of a path.
fn points(path: &str) -> Vec<(f64, f64)> {
    let point = |text: &str| {
        let (x, y) = text.split_once(' ').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    path.trim_start_matches('M').trim_end_matches('Z').split('L').map(point).collect()
}

// Refutes a band that is not the interval, a line that is not the values, and an exact value that is the
// tally: all read back from the picture by the labels of its axis.
#[test]
fn a_chart_shows_the_numbers() {
    let mut report = Report::new(heading(true));
    let values = [(100, 90, 112, 130), (250, 240, 262, 270), (-40, -50, -28, 5)];
    for ((value, low, high, truth), span) in values.into_iter().zip(months(3)) {
        let exact = Some([value.to_string(), truth.to_string()]);
        let cell = Cell {
            key: Some("a"),
            value: value.to_string(),
            reach: [low.to_string(), high.to_string()],
            exact,
        };
        report.add(&line_of("visits", span, &[cell], GAUSSIAN), None);
    }
    let series = &report.model.releases[0];
    let picture = Timeline::new(series).panel(&series.tracks[0], 40.0, (400.0, 200.0)).body;
    let ticks: Vec<(f64, f64)> = between(&picture, "<text class=\"tick end\"", "</text>")
        .into_iter()
        .map(|text| {
            let value = text.split_once('>').unwrap().1.replace('\u{2212}', "-").replace(',', "");
            (between(text, "y=\"", "\"")[0].parse::<f64>().unwrap() - 3.8, value.parse().unwrap())
        })
        .collect();
    let ((first, low), (last, high)) = (ticks[0], *ticks.last().unwrap());
    let value = |y: f64| low + (y - first) / (last - first) * (high - low);
    let read = |class: &str| {
        let path = between(&picture, &format!("<path class=\"{class}\" d=\""), "\"")[0];
        points(path).into_iter().map(|(_, y)| value(y)).collect::<Vec<f64>>()
    };
    let close = |read: &[f64], line_of: &[i32]| {
        assert_eq!(read.len(), line_of.len());
        read.iter().zip(line_of).for_each(|(read, line_of)| {
            assert!((read - f64::from(*line_of)).abs() < 0.1, "{read} {line_of}")
        });
    };
    close(&read("band"), &[112, 262, -28, -50, 240, 90]);
    close(&read("value"), &[100, 250, -40]);
    close(&read("truth"), &[130, 270, 5]);
}

// Refutes a bar whose length is not its number, and a whisker that is not its interval.
#[test]
fn a_bar_shows_its_number() {
    let mut report = Report::new(heading(false));
    let cell = |key, value: i32| Cell {
        key: Some(key),
        value: value.to_string(),
        reach: [(value - 25).to_string(), (value + 25).to_string()],
        exact: None,
    };
    report.add(
        &line_of("visits", months(1)[0], &[cell("a", 50), cell("b", 200), cell("c", -100)], GAUSSIAN),
        None,
    );
    let picture = charts::window(&report.model.releases[0].levels(None)[0], "visits", 700.0, false).0.body;
    let widths: Vec<f64> = between(&picture, "<rect class=\"bar\"", "/>")
        .iter()
        .map(|bar| between(bar, "width=\"", "\"")[0].parse().unwrap())
        .collect();
    let unit = widths[0] / 200.0;
    assert!((widths[1] - 50.0 * unit).abs() < 0.02 && (widths[2] - 100.0 * unit).abs() < 0.02, "{widths:?}");
    for whisker in between(&picture, "<line class=\"reach\"", "/>").iter().step_by(3) {
        let end = |name: &str| between(whisker, name, "\"")[0].parse::<f64>().unwrap();
        assert!((end("x2=\"") - end("x1=\"") - 50.0 * unit).abs() < 0.03, "{whisker}");
    }
}

// Refutes a number that stands nearer to another mark than to its own: the exact value lies just behind the end
// of the bar, at its end, and before it.
#[test]
fn a_number_stands_beside_its_own_mark() {
    for (truth, slim) in [(112, false), (103, false), (60, false), (112, true), (131, true)] {
        let mut report = Report::new(heading(true));
        let cell = |key, value: i32, truth: i32| Cell {
            key: Some(key),
            value: value.to_string(),
            reach: [(value - 9).to_string(), (value + 9).to_string()],
            exact: Some([value.to_string(), truth.to_string()]),
        };
        report.add(
            &line_of("visits", months(1)[0], &[cell("a", 300, 280), cell("b", 100, truth)], GAUSSIAN),
            None,
        );
        let width = if slim { 364.0 } else { 700.0 };
        let picture = charts::window(&report.model.releases[0].levels(None)[0], "visits", width, slim).0.body;
        let place =
            |text: &str| ["x=\"", "y=\""].map(|name| between(text, name, "\"")[0].parse::<f64>().unwrap());
        let texts = |class: &str| {
            let found = between(&picture, &format!("<text class=\"{class}\""), "</text>");
            found.into_iter().map(place).collect::<Vec<_>>()
        };
        let whiskers: Vec<[f64; 2]> = between(&picture, "<line class=\"reach\"", "/>")
            .iter()
            .step_by(3)
            .map(|line| {
                [
                    between(line, "x2=\"", "\"")[0].parse().unwrap(),
                    between(line, "y2=\"", "\"")[0].parse().unwrap(),
                ]
            })
            .collect();
        let marks: Vec<[f64; 2]> = between(&picture, "<path class=\"mark\" d=\"", "\"")
            .iter()
            .map(|path| {
                let points = points(path);
                [points[0].0, points[1].1]
            })
            .collect();
        let (published, exact) = (texts("number"), texts("exact"));
        assert_eq!((published.len(), exact.len()), (2, 2));
        // The middle of a letter is 4.2 above its base.
        let apart = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - 4.2 - b[1]);
        for at in 0..2 {
            assert!(
                apart(published[at], whiskers[at]) < apart(published[at], marks[at]),
                "{truth}: {picture}"
            );
            assert!(apart(exact[at], marks[at]) < apart(exact[at], whiskers[at]), "{truth}: {picture}");
            assert!(published[at][0] > whiskers[at][0] && exact[at][0] > marks[at][0]);
        }
    }
}

// Refutes a key that is left out silently, and a small key that is shown in place of a large one.
#[test]
fn the_largest_keys_are_shown_and_the_others_are_counted() {
    let keys: Vec<String> = (0..40).map(|at| format!("key {at:02}")).collect();
    for windows in [1, 2] {
        let mut report = Report::new(heading(false));
        for span in months(windows) {
            let cells = keys.iter().enumerate().map(|(at, key)| Cell {
                key: Some(key),
                value: at.to_string(),
                reach: ["0".into(), "50".into()],
                exact: None,
            });
            let cells: Vec<Cell<'_>> = cells.collect();
            report.add(&line_of("visits", span, &cells, GAUSSIAN), None);
        }
        let shown = if windows == 1 { 30 } else { 9 };
        for (text, more) in [(report.html(), "more keys"), (report.svg(), "keys more")] {
            let hidden = 40 - shown;
            assert!(text.contains(&format!("{hidden} {more}")), "{text}");
            let pictures: String = text
                .split("<table")
                .map(|part| part.split_once("</table>").map_or(part, |(_, after)| after))
                .collect();
            for (at, key) in keys.iter().enumerate() {
                assert_eq!(pictures.contains(&format!(">{key}</text>")), at >= hidden, "{key}");
            }
        }
    }
}

// Refutes a page that grows with every window of a year, and a mean that is drawn as a value without saying
// so.
#[test]
fn many_windows_are_drawn_as_means_and_said_to_be() {
    let mut report = Report::new(heading(false));
    for window in 0..1000_i64 {
        let span = crate::accounting::Interval::new(window * 1_000_000, (window + 1) * 1_000_000).unwrap();
        let value = if window % 3 == 0 { 10 } else { 40 };
        let cell =
            Cell { key: None, value: value.to_string(), reach: ["0".into(), "50".into()], exact: None };
        report.add(&line_of("visits", span, &[cell], GAUSSIAN), None);
    }
    assert!(report.html().contains("Each point is the mean of 3 windows"));
    let series = &report.model.releases[0];
    let picture = Timeline::new(series).panel(&series.tracks[0], 40.0, (400.0, 200.0)).body;
    let line = points(between(&picture, "<path class=\"value\" d=\"", "\"")[0]);
    assert_eq!(line.len(), 334);
    // Two of three values are 40 and one is 10: every mean is 30 but the last, which is of a single window.
    assert!(line[..333].iter().all(|(_, y)| *y == line[0].1) && line[333].1 > line[0].1);
}
