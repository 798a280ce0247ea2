#![allow(clippy::unwrap_used)]

mod browser;
mod samples;

use std::fs;

use proptest::prelude::*;
use samples::*;

use super::axis::{numbers, spanned, times};
use super::draw::{escape, grouped, percent, said, short};
use super::timeline::Timeline;
use super::*;
use crate::accounting::{Amount, Cost, Interval, Neighbours};
use crate::ledger::scratch::At;
use crate::ledger::{Charge, Digest, Domain, Fate, Key, Ledger, Name, Release, Sealing};
use crate::time::at;

/// `cargo test --lib samples_are_written -- --ignored`
#[test]
#[ignore = "for whoever changes how a report looks"]
fn samples_are_written_to_be_looked_at() {
    let place = std::env::temp_dir().join("discreet-reports");
    fs::create_dir_all(&place).unwrap();
    for (name, report) in all_samples() {
        fs::write(place.join(format!("{name}.html")), report.html()).unwrap();
        fs::write(place.join(format!("{name}.svg")), report.svg()).unwrap();
    }
    println!("written to {}", place.display());
}

/// What stands between two texts, each time.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    text.split(before).skip(1).map(|rest| rest.split_once(after).unwrap().0).collect()
}

/// The places of a path's points.
fn points(path: &str) -> Vec<(f64, f64)> {
    let point = |text: &str| {
        let (x, y) = text.split_once(' ').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    path.trim_start_matches('M').trim_end_matches('Z').split('L').map(point).collect()
}

// Refutes a band that is not the interval, a line that is not the values, and a truth that is the tally: read back from
// the picture by the numbers at its edge.
#[test]
fn a_chart_shows_the_numbers() {
    let mut report = Report::new(heading(true));
    let told_of = [(100, 90, 112, 130), (250, 240, 262, 270), (-40, -50, -28, 5)];
    for ((value, low, high, truth), span) in told_of.into_iter().zip(months(3)) {
        let exact = Some([value.to_string(), truth.to_string()]);
        let cell = Cell {
            key: Some("a"),
            value: value.to_string(),
            reach: [low.to_string(), high.to_string()],
            exact,
        };
        report.tell(&told("visits", span, &[cell], GAUSSIAN), None);
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
    let close = |read: &[f64], told: &[i32]| {
        assert_eq!(read.len(), told.len());
        read.iter()
            .zip(told)
            .for_each(|(read, told)| assert!((read - f64::from(*told)).abs() < 0.1, "{read} {told}"));
    };
    close(&read("band"), &[112, 262, -28, -50, 240, 90]);
    close(&read("value"), &[100, 250, -40]);
    close(&read("truth"), &[130, 270, 5]);
}

// Refutes a bar of another length than its number, and a whisker that is not its interval.
#[test]
fn a_bar_shows_its_number() {
    let mut report = Report::new(heading(false));
    let cell = |key, value: i32| Cell {
        key: Some(key),
        value: value.to_string(),
        reach: [(value - 25).to_string(), (value + 25).to_string()],
        exact: None,
    };
    report.tell(
        &told("visits", months(1)[0], &[cell("a", 50), cell("b", 200), cell("c", -100)], GAUSSIAN),
        None,
    );
    let picture = bars::window(&report.model.releases[0], 700.0).0.body;
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

/// Elements that are opened are closed, in order.
fn is_well_formed(svg: &str) -> bool {
    let mut open = Vec::new();
    for tag in between(svg, "<", ">") {
        match tag.strip_prefix('/') {
            Some(name) => {
                if open.pop() != Some(name) {
                    return false;
                }
            }
            None if tag.ends_with('/') => {}
            None => open.push(tag.split(' ').next().unwrap()),
        }
    }
    open.is_empty()
}

// Refutes a key, a name or a word from elsewhere that becomes a part of the page.
#[test]
fn no_text_ends_its_element() {
    let hostile =
        "</svg><script>alert(\"1\")</script><style>'&]]>--><img src=x onerror=alert(1)>\u{202e}\u{0}\u{b}";
    for windows in [1, 3] {
        let mut report = Report::new(Heading {
            job: hostile.into(),
            promise: hostile.into(),
            domain: hostile.into(),
            budget: hostile.into(),
            made: hostile.into(),
            demo: true,
        });
        for span in months(windows) {
            let cell =
                Cell { key: Some(hostile), value: "3".into(), reach: ["1".into(), "5".into()], exact: None };
            let law = serde_json::json!({ "kind": hostile, "scale": 3 }).to_string();
            report.tell(&told("a", span, &[cell], &law), None);
        }
        for text in [report.html(), report.svg()] {
            assert!(!text.contains("<script") && !text.contains("<img"));
            assert!(!text.contains(['\u{0}', '\u{b}', '\u{202e}']));
            assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
            assert!(text.contains("&lt;/svg&gt;&lt;script&gt;"));
        }
        assert!(is_well_formed(&report.svg()));
    }
}

#[test]
fn a_page_needs_nothing_from_elsewhere_and_suits_both_schemes() {
    for (name, report) in all_samples() {
        let (html, svg) = (report.html(), report.svg());
        for text in [&html, &svg.replace("xmlns=\"http://www.w3.org/2000/svg\"", "")] {
            for word in ["<script", "src=", "href=", "url(", "@import", "http:", "https:", "//fonts"] {
                assert!(!text.contains(word), "{name} has {word}");
            }
            assert!(text.contains("prefers-color-scheme:dark"));
        }
        assert!(is_well_formed(&svg), "{name}");
        assert_eq!(html.matches("<svg").count(), html.matches("<title id=").count());
        assert_eq!(html.matches("<svg").count(), html.matches("<desc id=").count());
        let demo = name.ends_with("demo");
        assert_eq!((svg.contains("DEMO"), html.contains("<strong>DEMO")), (demo, demo), "{name}");
        assert_eq!(html.contains("the truth"), demo, "{name}");
    }
}

/// As WCAG 2 defines it.
fn contrast(one: &str, other: &str) -> f64 {
    let light = |colour: &str| {
        let part = |at: usize| {
            let part = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5) + 0.05
    };
    let (one, other) = (light(one), light(other));
    one.max(other) / one.min(other)
}

#[test]
fn text_and_lines_stand_out_from_their_ground() {
    assert!((contrast("#ffffff", "#000000") - 21.0).abs() < 1e-9);
    for palette in [style::LIGHT, style::DARK] {
        for text in palette.texts() {
            assert!(contrast(text, palette.ground) >= 4.5, "{text}");
        }
    }
    assert!(contrast("#1b1f24", "#ffd43b") >= 4.5);
}

#[test]
fn little_is_shown_as_little() {
    let empty = Report::new(heading(false));
    assert!(empty.html().contains("Nothing was released") && empty.svg().contains("Nothing was released"));
    let one = |value: &str| {
        let mut report = Report::new(heading(false));
        let cell = Cell { key: None, value: value.into(), reach: [value.into(), value.into()], exact: None };
        report.tell(&told("a", months(1)[0], &[cell], GAUSSIAN), None);
        report
    };
    for value in ["0", "-7", "0.25", "170141183460469231731687303715884105727"] {
        let report = one(value);
        assert!(
            is_well_formed(&report.svg()) && report.html().contains(&format!(">{value}</td>")),
            "{value}"
        );
    }
    // No number at all: the window is there, and so is its line in the table.
    let report = one("null");
    assert!(report.html().contains("There is no number to draw"));
    let mut refusals = Report::new(heading(false));
    months(3).into_iter().for_each(|span| refusals.tell(&refused("a", span), None));
    let html = refusals.html();
    assert!(html.contains("3 windows have no answer"));
    assert!(html.contains("a, 3 windows from 2003-05-01 to 2003-08-01, were refused: at the first, reviews had spent rho 0.0312"), "{html}");
}

// Refutes a window that counts twice because a new file is told everything again.
#[test]
fn what_is_told_again_counts_once() {
    let mut report = a_year(true);
    let once = report.html();
    let keys = Cell { key: Some("books"), value: "9".into(), reach: ["1".into(), "19".into()], exact: None };
    report.tell(&told("reviews_by_department", months(1)[0], &[keys], GAUSSIAN), None);
    assert_eq!(report.html(), once);
}

// Refutes a share that counts by floats: the tally is one beyond the interval, and no float knows it.
#[test]
fn an_interval_holds_its_tally_to_the_digit() {
    let mut report = Report::new(heading(true));
    let high = (1_i128 << 80).to_string();
    let cell = |tally: i128| Cell {
        key: None,
        value: high.clone(),
        reach: ["0".into(), high.clone()],
        exact: Some([tally.to_string(), tally.to_string()]),
    };
    report.tell(&told("a", months(2)[0], &[cell((1 << 80) + 1)], GAUSSIAN), None);
    report.tell(&told("a", months(2)[1], &[cell(1 << 80)], GAUSSIAN), None);
    assert!(report.html().contains("1 of 2 intervals hold what they are about"));
}

#[test]
fn a_demo_says_which_takes_more() {
    let demo = |tally: i32, truth: i32| {
        let mut report = Report::new(heading(true));
        let cell = Cell {
            key: None,
            value: "100".into(),
            reach: ["90".into(), "110".into()],
            exact: Some([tally.to_string(), truth.to_string()]),
        };
        report.tell(&told("a", months(1)[0], &[cell], GAUSSIAN), None);
        report.html()
    };
    assert!(demo(95, 120).contains("The bound leaves out more than the noise adds, 25 against 5"));
    assert!(demo(88, 90).contains("The noise adds more than the bound leaves out, 12 against 2"));
    assert!(demo(90, 100).contains("about as much"));
}

// Refutes words that say another time than the ledger's forecast does.
#[test]
fn the_forecast_is_said_in_words() {
    let scratch = At::File.scratch();
    let mut ledger = Ledger::create(scratch.ledger()).unwrap();
    let visits = Domain::lifetime("visits", Amount::zcdp(0.105)).unwrap();
    ledger.register(&visits).unwrap();
    assert!(Key::open(scratch.key()).is_ok());
    let job = Name::new("job", "web").unwrap();
    let claim = ledger.claim(&job).unwrap();
    let day = |from: i64| {
        Interval::new(
            at("2026-11-01").unwrap() + from * 86_400_000_000,
            at("2026-11-02").unwrap() + from * 86_400_000_000,
        )
        .unwrap()
    };
    let mut report = Report::new(heading(false));
    for from in 0..2 {
        let cost = Cost::new(Neighbours::PERSON, Amount::zcdp(0.01).unwrap());
        let release = Release {
            domain: visits.name().clone(),
            job: job.clone(),
            version: Digest::of(b""),
            name: Name::new("release", "by_path").unwrap(),
            window: day(from),
        };
        let sealing = Sealing {
            release,
            charge: Some(Charge::Cost(cost)),
            fate: Fate::Sealed,
            line: String::new(),
            state: None,
        };
        ledger.seal(&claim, &[sealing]).unwrap();
        let forecast = ledger.forecast(visits.name()).unwrap().into();
        let standing = Standing {
            domain: visits.name().clone(),
            window: day(from),
            spent: Amount::zcdp(0.01 * (from + 1) as f64).unwrap(),
            cap: visits.cap().clone(),
            forecast,
        };
        report.tell("", Some(&standing));
    }
    let html = report.html();
    let words = "At this pace 8 more windows fit; the last of them closes 2026-11-11; the first that is refused is by_path of 2026-11-11.";
    assert!(html.contains(words), "{html}");
    assert!(html.contains("19% spent") || html.contains("19.1% spent"), "{html}");
}

#[test]
fn numbers_and_texts_are_said_plainly() {
    assert_eq!(
        ["1234567", "-1234.5", "12", "1e9", "", "-"].map(grouped),
        ["1,234,567", "\u{2212}1,234.5", "12", "1e9", "", "-"]
    );
    assert_eq!(
        [0.0, 1234.6, 12.34, 0.034, -0.0, 2e20, f64::NAN].map(said),
        ["0", "1,235", "12.3", "0.034", "0", "2.00e20", "–"]
    );
    assert_eq!([0.906, 1.0, 0.0, 1e-9].map(percent), ["90.6%", "100%", "0%", "less than 0.1%"]);
    assert_eq!(
        (short("abcdef", 6), short("abcdefg", 6), short("日本語", 4)),
        ("abcdef".into(), "abcde…".into(), "日…".into())
    );
    assert_eq!(escape("<a href='x'>&\n"), "&lt;a href=&#39;x&#39;&gt;&amp;\u{fffd}");
    let span = |start: &str, end: &str| spanned(at(start).ok(), at(end).ok());
    assert_eq!(span("2026-11-01", "2026-11-02"), "2026-11-01");
    assert_eq!(span("2024-02-01", "2024-03-01"), "February 2024");
    assert_eq!(span("2026-11-01T00:10:00Z", "2026-11-01T00:20:00Z"), "2026-11-01 00:10 to 2026-11-01 00:20");
    assert_eq!(spanned(Some(0), None), "a window without a name");
}

#[test]
fn times_are_named_as_a_calendar_has_them() {
    let names = |start: &str, end: &str| {
        times((at(start).unwrap(), at(end).unwrap()), 5).into_iter().map(|(_, name)| name).collect::<Vec<_>>()
    };
    assert_eq!(names("2003-05-01", "2004-05-01"), ["Jul", "Oct", "2004", "Apr"]);
    assert_eq!(names("1999-01-01", "2020-01-01"), ["2000", "2005", "2010", "2015", "2020"]);
    assert_eq!(names("2026-11-01", "2026-11-02"), ["Nov 1", "06:00", "12:00", "18:00", "Nov 2"]);
    assert_eq!(names("2026-03-02", "2026-08-20"), ["May 2026", "Jul"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    // Refutes a range that lacks one of its values, an edge crowded with numbers, and two that are called the same.
    #[test]
    fn an_axis_holds_all_of_its_values(values in prop::collection::vec(prop_oneof![-1e300_f64..1e300, -100.0..100.0_f64, -1e-6..1e-6_f64], 0..6), zero: bool) {
        let range = numbers(values.iter().copied(), 4, zero);
        let (low, high) = range.ends;
        let slack = (high - low) * 1e-9;
        prop_assert!(low < high && low.is_finite() && high.is_finite());
        prop_assert!(values.iter().all(|value| low - slack <= *value && *value <= high + slack), "{:?}", range);
        prop_assert!(range.ticks.len() <= 10);
        for pair in range.ticks.windows(2) {
            prop_assert!(pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1, "{:?}", range.ticks);
        }
    }

    #[test]
    fn named_moments_are_few_and_in_order(start in -60_000_000_000_000_000_i64..250_000_000_000_000_000, length in 1_i64..3_000_000_000_000_000, most in 1_usize..12) {
        let end = start.saturating_add(length).min(253_402_207_200_000_000);
        let named = times((start, end.max(start + 1)), most);
        prop_assert!(named.len() <= most + 2, "{:?}", named);
        prop_assert!(named.windows(2).all(|pair| pair[0].0 < pair[1].0));
        prop_assert!(named.iter().all(|(tick, _)| (start..=end.max(start + 1)).contains(tick)));
    }

    // Refutes a place that is no number, whatever was told: beyond floats, beyond the calendar, or no number at all.
    #[test]
    fn every_place_is_a_number(
        cells in prop::collection::vec((0_i64..5, "[ab]{0,2}", prop::array::uniform5(number())), 0..40),
        gone in 0_i64..6,
        named: bool,
        demo: bool,
    ) {
        let mut report = Report::new(heading(demo));
        for window in 0..5 {
            let start = if named { window * 1_000_000 } else { i64::MAX / 8 + window * 1_000_000 };
            let span = Interval::new(start, start + 1_000_000).unwrap();
            let mine = cells.iter().filter(|(at, ..)| *at == window);
            let mine = mine.map(|(_, key, [value, low, high, tally, truth])| Cell {
                key: (key != "a").then_some(key.as_str()),
                value: value.clone(),
                reach: [low.clone(), high.clone()],
                exact: demo.then(|| [tally.clone(), truth.clone()]),
            });
            let mine: Vec<Cell<'_>> = mine.collect();
            let text = if gone == window { refused("sums", span) } else { told("sums", span, &mine, MEANS) };
            report.tell(&text, Some(&standing(span, 0.1 * (window + 1) as f64)));
        }
        for text in [report.html(), report.svg()] {
            let drawn: String = text.split("<table").map(|part| part.split_once("</table>").map_or(part, |(_, after)| after)).collect();
            prop_assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{}", drawn);
        }
        prop_assert!(is_well_formed(&report.svg()));
    }

    #[test]
    fn what_is_no_line_is_passed_over(text in any::<String>()) {
        let mut report = Report::new(heading(false));
        report.tell(&text, None);
        prop_assert_eq!(report.html(), Report::new(heading(false)).html());
    }
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i128>().prop_map(|number| number.to_string()),
        any::<f64>()
            .prop_filter("JSON has no other", |number| number.is_finite())
            .prop_map(|number| format!("{number:e}")),
        (-50_i32..50).prop_map(|number| number.to_string()),
        Just("null".to_owned()),
        Just("1e999".to_owned()),
        Just("-0.0".to_owned()),
    ]
}
