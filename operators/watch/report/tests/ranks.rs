//! Bounds of rank errors: stated in words, and never drawn as intervals.

use super::samples::*;
use crate::watch::report::Report;
use crate::watch::report::charts;
use crate::watch::report::timeline::Timeline;

// Refutes an interval whose ends are merely those of the grid, drawn as if it were the reach of the noise;
// and a bound that is left out.
#[test]
fn a_promise_of_ranks_is_said_and_not_drawn() {
    for demo in [false, true] {
        let report = ranks(demo);
        let [largest, stars] = &report.model.releases[..] else { panic!() };
        for series in [largest, stars] {
            for track in &series.tracks {
                let picture = Timeline::new(series).panel(track, 40.0, (400.0, 200.0)).body;
                assert!(picture.contains("class=\"value\"") && !picture.contains("class=\"band\""));
                assert!(!picture.contains("class=\"reach\"") && !picture.contains("9.22e18"), "{picture}");
            }
        }
        for text in [report.html(), report.svg()] {
            assert!(!text.contains("90% interval"), "{text}");
            assert!(
                text.contains("between the 66th largest and the largest, or one answer above it."),
                "{text}"
            );
            let rank = "At confidence 0.9 the rank of q 0.5 is off by at most 38; the rank of q 0.95 is off by at most 70.";
            assert!(text.contains(rank), "{text}");
        }
        let html = report.html();
        assert!(html.contains("2 values are of too few people") && html.contains("gaussian, 10 comparisons"));
        assert!(!html.contains("An interval says how far the noise reaches"));
        assert_eq!(html.contains("<th scope=\"col\" class=\"number\">off</th>"), demo);
        for words in ["intervals hold", "The noise adds", "left out by the bound"] {
            assert!(!html.contains(words), "{words}");
        }
    }
    let mut report = Report::new(heading(false));
    let span = months(1)[0];
    let cell = "\"value\":181,\"interval\":[174,null]";
    let line = ranked("largest", span, "", cell, LARGEST, "");
    report.add(&ended("largest", span, &[line]), None);
    let picture = charts::window(&report.model.releases[0].levels(None)[0], "visits", 700.0, false).0.body;
    assert!(picture.contains("class=\"bar\"") && !picture.contains("class=\"reach\""), "{picture}");
}

// Refutes two quantiles of one key that are drawn as one line.
#[test]
fn each_quantile_has_a_panel() {
    let report = ranks(true);
    let names = |at: usize| {
        let series = &report.model.releases[at];
        let (shown, _) = Timeline::shown(&series.levels(None)[0]);
        shown.iter().filter_map(|track| track.name()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(0), names(1)),
        (vec!["garden".into(), "books".into()], vec!["q 0.5".into(), "q 0.95".into()])
    );
    assert!(report.html().contains("9 windows: ") && report.html().contains("9 windows, 2 keys: "));
}

// Refutes a share that is computed from intervals: of 18 values two are off by 70 people, and the bound is
// 66.
#[test]
fn a_demo_counts_by_people() {
    let html = ranks(true).html();
    let words = "16 of 18 values are where they are promised to be: 88.9%; 90% are promised to. They are off by 18 people on \
        average, and by 70 people at most.";
    assert!(html.contains(words), "{html}");
    assert!(html.contains("18 of 18 values are where they are promised to be: 100%"), "{html}");
}

// Refutes an answer above everybody's value that is counted as within its bound, since nobody is above it.
#[test]
fn an_answer_beyond_everybody_is_not_where_it_was_promised() {
    let mut report = Report::new(heading(true));
    for (tally, span) in [173, 174].into_iter().zip(months(2)) {
        let cell = "\"value\":181,\"interval\":[174,null]";
        let exact = format!(",\"demo\":true,\"tally\":{tally},\"truth\":{tally},\"off\":0");
        let line = ranked("largest", span, "", cell, LARGEST, &exact);
        report.add(&ended("largest", span, &[line]), None);
    }
    assert!(report.html().contains("1 of 2 values are where they are promised to be"));
}
