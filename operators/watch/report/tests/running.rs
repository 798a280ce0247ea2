//! Totals over several windows: the page says so, since readers would take them for numbers of single
//! windows.

use super::samples::*;
use crate::watch::report::Report;

fn total(release: &str, of: &str, strategy: &str) -> Report {
    let mut report = Report::new(heading(false));
    let noise = format!("{{\"kind\":\"gaussian\",\"scale\":60.8,\"over_bound\":1.0007{strategy}}}");
    for (month, span) in months(5).into_iter().enumerate() {
        let value = 1000 * (month + 1);
        let cell = format!("\"value\":{value},\"interval\":[{},{}]{of}", value - 100, value + 100);
        let line = ranked(release, span, "\"key\":\"books\",", &cell, &noise, "");
        report.add(&ended(release, span, &[line]), None);
    }
    report
}

// Refutes a total over windows that is shown as the number of one window, and the reverse.
#[test]
fn a_page_says_of_which_windows_a_number_is() {
    let cost = "its cost is that of all of its windows";
    let strategy = ",\"strategy\":\"buffered\"";
    for (of, words) in [
        (",\"total\":\"so far\"", "; each number is the total so far</p>"),
        (",\"total\":\"last 7\"", "; each number is the total of the last 7 windows</p>"),
    ] {
        let html = total("books", of, strategy).html();
        for words in ["5 windows, 1 key: ", words, "<td>gaussian, buffered</td>", cost] {
            assert!(html.contains(words), "{words}: {html}");
        }
    }
    let html = total("books", "", "").html();
    for words in ["each number is", cost, "buffered"] {
        assert!(!html.contains(words), "{words}");
    }
}
