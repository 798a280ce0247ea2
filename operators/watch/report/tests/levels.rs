//! The totals of a roll-up beside the numbers of its keys.

use super::pictures::between;
use super::samples::*;
use crate::watch::report::{ReleaseNotes, Report};

/// Windows of three keys and their two parents, whose numbers are ten times as large.
fn rolled_up(windows: usize, levels: Option<[String; 2]>) -> Report {
    let mut heading = heading(false);
    heading.releases.insert("requests".into(), ReleaseNotes { levels, ..ReleaseNotes::default() });
    let mut report = Report::new(heading);
    for span in months(windows) {
        let cell = |key: &str, value: i32| {
            let cell = format!("\"value\":{value},\"interval\":[{},{}]", value - 5, value + 5);
            ranked("requests", span, &format!("\"key\":{key},"), &cell, GAUSSIAN, "")
        };
        let lines = [
            cell(r#"["GET","200"]"#, 90),
            cell(r#"["GET","404"]"#, 40),
            cell(r#"["POST","200"]"#, 30),
            cell(r#"["GET"],"rollup":true"#, 900),
            cell(r#"["POST"],"rollup":true"#, 300),
        ];
        report.add(&ended("requests", span, &lines), None);
    }
    report
}

// Refutes a total on the axis of its keys, which are flat beside it, a level without its title, and a total that is
// counted as a key.
#[test]
fn totals_have_pictures_of_their_own() {
    let levels = Some(["method and status".to_owned(), "method".to_owned()]);
    for (levels, titles) in [
        (levels, ["By method (totals)", "By method and status"]),
        (None, ["Totals of the keys with one beginning", "The keys"]),
    ] {
        let report = rolled_up(1, levels.clone());
        let (html, svg) = (report.html(), report.svg());
        let sections = [0, 1].map(|at| html.find(&format!("<h3>{}</h3>", titles[at])).unwrap());
        assert!(sections[0] < sections[1] && html.contains("1 window, 3 keys, 2 totals: "), "{html}");
        for text in [&html[sections[0]..sections[1]], &html[sections[1]..]] {
            let picture = between(text, "<svg", "</svg>")[0];
            assert!(!(picture.contains(">900<") && picture.contains(">90<")), "{picture}");
        }
        let of_totals = between(&html[sections[0]..], "<svg", "</svg>")[0];
        assert!(of_totals.contains(">GET<") && of_totals.contains(">900<"), "{of_totals}");
        assert!(titles.iter().all(|title| svg.contains(&format!(">{title}</text>"))), "{svg}");
        // Over time, too, a key is not left out for a total.
        let html = rolled_up(4, levels).html();
        let sections = titles.map(|title| html.find(&format!("<h3>{title}</h3>")).unwrap());
        assert!(html[sections[0]..sections[1]].contains("<title id=") && sections[0] < sections[1]);
        assert!(html[sections[0]..sections[1]].contains(">GET (total)</title>"), "{html}");
        assert!(html[sections[1]..].contains(">GET, 404</text>"), "{html}");
    }
}

// Refutes a title of levels where there is one alone.
#[test]
fn keys_alone_have_no_level() {
    let html = a_window(false).html();
    assert!(!html.contains("The keys") && !html.contains("otals"), "{html}");
}

// Refutes a picture that leaves releases out without a word, and one that is said to lack what it has.
#[test]
fn a_picture_says_what_it_leaves_out() {
    let all = a_day();
    let (svg, left_out) = (all.svg(), all.left_out_of_svg());
    assert_eq!(left_out, ["balance", "sizes", "huge"]);
    assert!(left_out.iter().all(|name| !svg.contains(&format!(">{name}, "))), "{svg}");
    assert!(svg.contains(">visits, 144 windows"));
    assert!(a_window(false).left_out_of_svg().is_empty());
    // What has nothing to draw is not in a picture either.
    let mut refusals = Report::new(heading(false));
    refusals.add(&refused("a", months(1)[0]), None);
    assert_eq!(refusals.left_out_of_svg(), ["a"]);
}
