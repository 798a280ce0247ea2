//! The covariances of means, and intervals that say next to nothing.

use super::pictures::between;
use super::samples::*;
use crate::accounting::Interval;
use crate::watch::report::{ReleaseNotes, Report, StatedRange};

const FIELDS: [&str; 2] = ["price", "quantity"];

/// The lines of a window with the covariances of two fields.
fn window_of(span: Interval, [price, both, quantity]: [f64; 3], keyed: &str) -> String {
    let lines = FIELDS.map(|of| {
        let own = if of == "price" { price } else { quantity };
        let entry = |with: &str| {
            let value = if with == of { own } else { both };
            format!("{{\"with\":\"{with}\",\"value\":{value},\"scale\":0.5}}")
        };
        let covariance = FIELDS.map(entry).join(",");
        let cell = format!("\"value\":3,\"interval\":[1,5],\"covariance\":[{covariance}]");
        ranked("means", span, &format!("{keyed}\"of\":\"{of}\","), &cell, MEANS, "")
    });
    ended("means", span, &lines)
}

fn rows(html: &str) -> Vec<Vec<String>> {
    let table = html.split_once("<h3>Variances and covariances").unwrap().1;
    let table = between(table, "<tbody>", "</tbody>")[0];
    let cells = |row: &str| {
        between(row, "<td", "</td>").iter().map(|cell| cell.split_once('>').unwrap().1.to_owned()).collect()
    };
    between(table, "<tr>", "</tr>").into_iter().map(cells).collect()
}

// Refutes covariances of an earlier window than the newest, one that is stated twice, and a correlation that is not of its row.
#[test]
fn the_newest_window_has_its_covariances() {
    let mut report = Report::new(heading(false));
    let spans = months(3);
    report.add(&window_of(spans[0], [1.0, 0.5, 1.0], ""), None);
    report.add(&window_of(spans[2], [4.0, -3.0, 9.0], ""), None);
    report.add(&window_of(spans[1], [1.0, 0.5, 1.0], ""), None);
    let html = report.html();
    assert_eq!(
        rows(&html),
        [
            ["price", "itself", "4", "0.5", ""],
            ["price", "quantity", "\u{2212}3", "0.5", "\u{2212}0.5"],
            ["quantity", "itself", "9", "0.5", ""],
        ]
    );
    assert!(html.contains("Variances and covariances of the values, July 2003, UTC"), "{html}");
}

// Refutes a correlation of two keys, one beyond 1, and one of a variance that noise made negative.
#[test]
fn noise_leaves_some_correlations_out() {
    let mut report = Report::new(heading(false));
    let lines =
        [("a", [4.0, 3.0, 9.0]), ("b", [4.0, 7.0, 9.0]), ("c", [-4.0, 3.0, 9.0])].map(|(key, numbers)| {
            let lines = window_of(months(1)[0], numbers, &format!("\"key\":\"{key}\","));
            lines.lines().take(2).map(str::to_owned).collect::<Vec<_>>()
        });
    report.add(&ended("means", months(1)[0], &lines.concat()), None);
    let correlations: Vec<_> =
        rows(&report.html()).into_iter().map(|row| [row[0].clone(), row[5].clone()]).collect();
    let of = |key: &str, between: &str| ["", between, ""].map(|text| [key.to_owned(), text.to_owned()]);
    assert_eq!(correlations, [of("a", "0.5"), of("b", ""), of("c", "")].concat());
    // Most releases have none.
    assert!(!a_year(false).html().contains("ovariance"));
}

// Refutes an interval of a whole range that passes for a finding, and a narrow one that does not.
#[test]
fn an_interval_as_wide_as_its_range_says_next_to_nothing() {
    let page = |of: Option<&str>, named: &str, intervals: &[[i32; 2]]| {
        let mut heading = heading(false);
        let ranges = vec![StatedRange { of: of.map(str::to_owned), low: 0.0, high: 100.0 }];
        heading.releases.insert("means".into(), ReleaseNotes { ranges, ..ReleaseNotes::default() });
        let mut report = Report::new(heading);
        for (span, [low, high]) in months(intervals.len()).into_iter().zip(intervals) {
            let cell = format!("\"value\":{low},\"interval\":[{low},{high}]");
            report.add(&ended("means", span, &[ranked("means", span, named, &cell, MEANS, "")]), None);
        }
        report.html()
    };
    let words = "1 of 2 intervals is nearly the whole range, from 0 to 100, which is known without it: that value says next to nothing.";
    assert!(page(None, "", &[[0, 99], [10, 30]]).contains(words));
    let html = page(Some("price"), "\"of\":\"price\",", &[[0, 99], [0, 100]]);
    assert!(html.contains("2 of 2 intervals of price are nearly the whole range"), "{html}");
    for html in [page(None, "", &[[10, 30]]), page(Some("price"), "\"of\":\"quantity\",", &[[0, 100]])] {
        assert!(!html.contains("next to nothing"), "{html}");
    }
    // A ratio whose sum below may be 0 is no certain number.
    let mut report = Report::new(heading(false));
    for (span, interval) in months(2).into_iter().zip(["[null,null]", "[2,4]"]) {
        let cell = format!("\"value\":3,\"interval\":{interval}");
        report.add(&ended("means", span, &[ranked("means", span, "", &cell, MEANS, "")]), None);
    }
    let words = "1 of 2 values has no interval: nothing is promised of how far it is from the exact number.";
    assert!(report.html().contains(words), "{}", report.html());
    assert!(ranks(false).html().contains(
        "A rank says little of few values: of q 0.5, among 76 values or fewer it says next to nothing; of q 0.95, among 1,400 values or fewer nothing bounds it from above"
    ));
}
