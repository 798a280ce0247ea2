#![allow(clippy::unwrap_used)]

mod alerts;
mod answers;
mod browser;
mod covariances;
mod levels;
mod pictures;
mod ranks;
mod running;
mod samples;

use std::collections::BTreeMap;
use std::fs;

use pictures::between;
use proptest::prelude::*;
use samples::*;

use super::*;
use crate::accounting::{Adjacency, Interval, PrivacyCost, ReleaseCost};
use crate::ledger::scratch::ScratchPlace;
use crate::ledger::{
    AccountSpec, Charge, Digest, Ledger, LedgerKey, Name, ReleaseId, ReleaseStatus, Sealing,
};
use crate::picture::{DARK, LIGHT};
use crate::time::{at, in_utc};

/// Run with `cargo test --lib samples_are_written -- --ignored`.
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

/// Returns true if all elements are closed, in order.
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

// Refutes a key, a name or another text that is not escaped, and becomes a part of the page.
#[test]
fn no_text_ends_its_element() {
    let hostile =
        "</svg><script>alert(\"1\")</script><style>'&]]>--><img src=x onerror=alert(1)>\u{202e}\u{0}\u{b}";
    for windows in [1, 3] {
        let mut report = Report::new(Heading {
            job: hostile.into(),
            promise: hostile.into(),
            account: hostile.into(),
            budget: hostile.into(),
            made: hostile.into(),
            zone: None,
            demo: true,
            releases: BTreeMap::new(),
        });
        for span in months(windows) {
            let cell =
                Cell { key: Some(hostile), value: "3".into(), reach: ["1".into(), "5".into()], exact: None };
            let law = serde_json::json!({ "kind": hostile, "scale": 3 }).to_string();
            report.add(&line_of("a", span, &[cell], &law), None);
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

/// The contrast of two colours, as WCAG 2 defines it.
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
    for palette in [LIGHT, DARK] {
        for text in palette.texts() {
            assert!(contrast(text, palette.ground) >= 4.5, "{text}");
        }
    }
    assert!(contrast("#1b1f24", "#ffd43b") >= 4.5);
}

// Refutes releases in the order in which their first windows happened to leave.
#[test]
fn releases_are_shown_in_the_order_of_the_job() {
    let mut heading = heading(false);
    for (place, name) in ["zebra", "ant"].into_iter().enumerate() {
        heading.releases.insert(name.into(), ReleaseNotes { place, ..ReleaseNotes::default() });
    }
    let mut report = Report::new(heading);
    for name in ["unplanned", "ant", "zebra"] {
        report.add(&format!(r#"{{"release":"{name}","window":{{}},"skipped":true}}"#), None);
    }
    let html = report.html();
    let at = |name: &str| html.find(&format!("<h2>{name}</h2>")).unwrap();
    assert!(at("zebra") < at("ant") && at("ant") < at("unplanned"));
}

// Refutes a reason that is not the one of the line.
#[test]
fn a_skipped_window_has_its_reason() {
    let mut report = Report::new(heading(false));
    for (month, why) in months(3).into_iter().zip(["input gap", "input gap", "late"]) {
        let (start, end) = (in_utc(month.start()), in_utc(month.end()));
        report.add(
            &format!(
                r#"{{"release":"a","window":{{"start":"{start}","end":"{end}"}},"skipped":true,"why":"{why}"}}"#
            ),
            None,
        );
    }
    let html = report.html();
    assert!(html.contains("were skipped: a part of their input is missing."), "{html}");
    assert!(html.contains("was skipped: its time passed before the answer was ready."), "{html}");
}

// Refutes two keys that differ in characters that nobody sees, and look alike, in the table or in a picture.
#[test]
fn hidden_characters_of_keys_are_seen() {
    let mut report = Report::new(heading(false));
    let cell = |key, value: &str| Cell {
        key: Some(key),
        value: value.into(),
        reach: ["0".into(), "9".into()],
        exact: None,
    };
    let cells = [cell("k\u{1}", "3"), cell("k\u{2}", "4"), cell("k\u{202e}", "5")];
    report.add(&line_of("a", months(1)[0], &cells, GAUSSIAN), None);
    for page in [report.html(), report.svg()] {
        assert!(!page.contains(['\u{1}', '\u{2}', '\u{202e}', '\u{fffd}']), "{page}");
        for key in ["k\\u{1}", "k\\u{2}", "k\\u{202e}"] {
            assert!(page.contains(&format!(">{key}<")), "{key}: {page}");
        }
    }
}

#[test]
fn little_is_shown_as_little() {
    let empty = Report::new(heading(false));
    assert!(empty.html().contains("Nothing was released") && empty.svg().contains("Nothing was released"));
    let one = |value: &str| {
        let mut report = Report::new(heading(false));
        let cell = Cell { key: None, value: value.into(), reach: [value.into(), value.into()], exact: None };
        report.add(&line_of("a", months(1)[0], &[cell], GAUSSIAN), None);
        report
    };
    for value in ["0", "-7", "0.25", "170141183460469231731687303715884105727"] {
        let report = one(value);
        assert!(
            is_well_formed(&report.svg()) && report.html().contains(&format!(">{value}</td>")),
            "{value}"
        );
    }
    // Even without a number, the window is counted and has a row in the table.
    let report = one("null");
    assert!(report.html().contains("There is no number to draw"));
    let mut refusals = Report::new(heading(false));
    months(3).into_iter().for_each(|span| refusals.add(&refused("a", span), None));
    let html = refusals.html();
    assert!(html.contains("3 windows have no answer"));
    assert!(html.contains("a, 3 windows from 2003-05-01 to 2003-08-01, were refused: at the first, reviews had spent rho 0.0312"), "{html}");
}

// Refutes a released value that a later line of a repair hides, and a lost window that is not reported.
#[test]
fn a_window_that_was_released_is_not_lost() {
    let span = months(2);
    let cell = Cell { key: None, value: "9".into(), reach: ["1".into(), "19".into()], exact: None };
    let lost = |span| {
        let line = line_of("a", span, &[], GAUSSIAN);
        let closed = line.find(",\"closed\"").unwrap();
        format!("{},\"lost\":true,\"why\":\"a repair\"}}", &line[..closed])
    };
    let mut report = Report::new(heading(false));
    report.add(&line_of("a", span[0], &[cell], GAUSSIAN), None);
    let once = report.html();
    report.add(&lost(span[0]), None);
    assert_eq!(report.html(), once);
    report.add(&lost(span[1]), None);
    let html = report.html();
    assert!(html.contains("1 window has no answer"), "{html}");
    assert!(html.contains("was lost: ") && html.contains("released earlier holds"), "{html}");
}

// Refutes a window that is counted twice because it is released again to a new file.
#[test]
fn a_release_that_is_delivered_twice_counts_once() {
    let mut report = a_year(true);
    let once = report.html();
    let keys = Cell { key: Some("books"), value: "9".into(), reach: ["1".into(), "19".into()], exact: None };
    report.add(&line_of("reviews_by_department", months(1)[0], &[keys], GAUSSIAN), None);
    assert_eq!(report.html(), once);
}

// Refutes a report of means that shows those of the fewest people, whose noise makes them the largest.
#[test]
fn the_means_with_the_narrowest_intervals_are_shown() {
    let names: Vec<String> = (0..40).map(|at| format!("key{at}.")).collect();
    let report = |windows: usize, keys: usize, law: &str| {
        let mut report = Report::new(heading(false));
        for span in months(windows) {
            let cell = |(at, key): (usize, &'_ String)| -> [f64; 3] {
                let (value, wide) = (3.0 + 0.1 * at as f64, 0.1 * (at + 1) as f64);
                assert!(!key.is_empty());
                [value, value - wide, value + wide]
            };
            let numbers: Vec<[f64; 3]> = names.iter().enumerate().take(keys).map(cell).collect();
            let cells = names.iter().zip(&numbers).map(|(key, [value, low, high])| Cell {
                key: Some(key),
                value: value.to_string(),
                reach: [low.to_string(), high.to_string()],
                exact: None,
            });
            report.add(&line_of("stars", span, &cells.collect::<Vec<_>>(), law), None);
        }
        report
    };
    for (windows, keys, most) in [(3, 12, 9), (1, 40, 30)] {
        let means = report(windows, keys, MEANS);
        let picture = means.svg();
        let shown: Vec<bool> =
            names[..keys].iter().map(|name| picture.contains(&format!(">{name}<"))).collect();
        let expected: Vec<bool> = (0..keys).map(|at| at < most).collect();
        assert_eq!(shown, expected, "{windows} windows");
        let hidden = keys - most;
        assert!(
            means
                .html()
                .contains(&format!("{hidden} more keys with wider intervals, or fewer, are not shown."))
        );
        let counts = report(windows, keys, GAUSSIAN);
        assert!(
            counts.svg().contains(&format!(">{}<", names[keys - 1])) && !counts.svg().contains(">key0.<")
        );
        assert!(counts.html().contains(&format!("{hidden} more keys with smaller numbers are not shown.")));
    }
}

// Refutes a share that compares floats: the tally is one above the interval, less than a float can represent.
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
    report.add(&line_of("a", months(2)[0], &[cell((1 << 80) + 1)], GAUSSIAN), None);
    report.add(&line_of("a", months(2)[1], &[cell(1 << 80)], GAUSSIAN), None);
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
        report.add(&line_of("a", months(1)[0], &[cell], GAUSSIAN), None);
        report.html()
    };
    assert!(demo(95, 120).contains("The bound leaves out more than the noise adds, 25 against 5"));
    assert!(demo(88, 90).contains("The noise adds more than the bound leaves out, 12 against 2"));
    assert!(demo(90, 100).contains("about as much"));
}

// Refutes advice that is impossible: a bound below 1, or windows that are longer than all; and advice to mend an
// error that is small beside the number.
#[test]
fn advice_is_possible_and_worth_it() {
    let demo = |value: i32, tally: i32, truth: i32, notes: ReleaseNotes| {
        let mut heading = heading(true);
        heading.releases.insert("a".into(), notes);
        let mut report = Report::new(heading);
        let reach = [(value - 10).to_string(), (value + 10).to_string()];
        let exact = Some([tally.to_string(), truth.to_string()]);
        let cell = Cell { key: None, value: value.to_string(), reach, exact };
        report.add(&line_of("a", months(1)[0], &[cell], GAUSSIAN), None);
        report.html()
    };
    let notes = |least_bound, longest| ReleaseNotes { least_bound, longest, ..ReleaseNotes::default() };
    let remedies = |notes| {
        let html = demo(100, 88, 90, notes);
        between(&html, ": try ", "</p>")[0].to_owned()
    };
    assert_eq!(remedies(notes(false, false)), "a smaller bound, longer windows or a larger share or budget.");
    assert_eq!(
        remedies(notes(true, false)),
        "longer windows or a larger share or budget. No bound is smaller."
    );
    assert_eq!(remedies(notes(true, true)), "a larger share or budget. No bound is smaller.");
    for (value, tally, truth) in [(100_012, 100_000, 100_000), (100_000, 100_000, 100_900)] {
        let html = demo(value, tally, truth, notes(false, false));
        assert!(html.contains("Both are small") && !html.contains(": try "), "{html}");
    }
    assert!(demo(100, 90, 100, notes(false, false)).contains("10 (10%)"));
}

// Refutes a release without a number and without the reason that its plan knew.
#[test]
fn a_release_without_a_number_says_why() {
    let mut heading = heading(false);
    let words = "a key is released once about 900 people have it";
    heading
        .releases
        .insert("a".into(), ReleaseNotes { empty: Some(words.into()), ..ReleaseNotes::default() });
    let mut report = Report::new(heading);
    report.add(&line_of("a", months(1)[0], &[], GAUSSIAN), None);
    assert!(report.html().contains(words));
    report.add(&refused("b", months(1)[0]), None);
    let html = report.html();
    assert!(
        html.contains("There is no number to draw. No window has an answer, for the reasons below."),
        "{html}"
    );
}

// Refutes a burn-down that shows as spent at the first window what later windows cost: one release had left for
// all months before the other began.
#[test]
fn a_burn_down_takes_each_cost_at_its_time() {
    let mut report = Report::new(heading(false));
    for (at, span) in months(4).into_iter().chain(months(4)).enumerate() {
        report.add("", Some(&budget_status(span, 0.1 * (at + 1) as f64)));
    }
    let (axis, steps) = budget::steps(&report.model.budget);
    let parts: Vec<i64> = steps.iter().map(|(_, _, part)| (part * 100.0).round() as i64).collect();
    assert_eq!((axis, parts), (budget::BurnDownAxis::Time, vec![20, 40, 60, 80]));
    // Where spans give back, the order alone says what was spent when.
    let mut report = Report::new(heading(false));
    for (at, span) in months(4).into_iter().chain(months(4)).enumerate() {
        report.add("", Some(&budget_status(span, if at < 4 { 0.5 } else { 0.2 })));
    }
    assert_eq!(budget::steps(&report.model.budget).0, budget::BurnDownAxis::Order);
    assert!(report.html().contains("8 windows, in the order in which they left"));
    // What is paid for once is said, and not drawn as a block.
    let mut report = Report::new(heading(false));
    months(4).into_iter().for_each(|span| report.add("", Some(&budget_status(span, 1.0))));
    let html = report.html();
    assert!(html.contains("had been paid when the first") && !html.contains("class=\"band\""), "{html}");
}

// Refutes words with another time than the ledger's forecast.
#[test]
fn the_forecast_is_said_in_words() {
    let scratch = ScratchPlace::File.scratch();
    let mut ledger = Ledger::create(scratch.ledger()).unwrap();
    let visits = AccountSpec::lifetime("visits", PrivacyCost::zcdp(0.105)).unwrap();
    ledger.register(&visits).unwrap();
    assert!(LedgerKey::open(scratch.key()).is_ok());
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
        let cost = ReleaseCost::new(Adjacency::PERSON, PrivacyCost::zcdp(0.01).unwrap());
        let release = ReleaseId {
            account: visits.name().clone(),
            job: job.clone(),
            version: Digest::of(b""),
            name: Name::new("release", "by_path").unwrap(),
            window: day(from),
            part: None,
        };
        let sealing = Sealing {
            release,
            charge: Some(Charge::Cost(cost)),
            status: ReleaseStatus::Sealed,
            line: String::new(),
            state: None,
        };
        ledger.seal(&claim, &[sealing]).unwrap();
        let forecast = ledger.forecast(visits.name()).unwrap().into();
        let budget_status = BudgetStatus {
            account: visits.name().clone(),
            job: Name::new("job", "web").unwrap(),
            window: day(from),
            spent: PrivacyCost::zcdp(0.01 * (from + 1) as f64).unwrap(),
            cap: visits.cap().clone(),
            forecast,
            order: 0,
            took: std::time::Duration::ZERO,
        };
        report.add("", Some(&budget_status));
    }
    let html = report.html();
    let words = "At this pace 8 more windows fit; the last of them closes 2026-11-11; the first that is refused is by_path of 2026-11-11.";
    assert!(html.contains(words), "{html}");
    assert!(html.contains("19% spent") || html.contains("19.1% spent"), "{html}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    // Refutes a coordinate that is not finite, for values beyond floats, times beyond the calendar, or text
    // without a number.
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
            let text = if gone == window { refused("sums", span) } else { line_of("sums", span, &mine, MEANS) };
            report.add(&text, Some(&budget_status(span, 0.1 * (window + 1) as f64)));
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
        report.add(&text, None);
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
