//! Job files for tests, and the logs that they read.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::scene::moment;

/// The privacy cost of one window. Noise of scale 1/20 is zero but for a probability of 2 / (e^20 + 1) = 4e-9
/// a cell, so the values of these jobs are exact tallies: of a million ordinary test runs, a few fail by
/// chance.
pub(crate) const COST: f64 = 20.0;

/// The keys of these jobs, all of them public.
pub(crate) const PAGES: [&str; 3] = ["a", "b", "c"];

/// A second, in the time of records.
pub(crate) const SECOND: i64 = 1_000_000;

/// A job with windows of a second from `from` on, and until `until` if it is given. A person counts once a
/// window.
pub(crate) fn exact(from: i64, until: Option<i64>) -> String {
    let until = until.map(|until| format!("until = \"{}\"\n", moment(until))).unwrap_or_default();
    format!(
        r#"[job]
name = "visits"
version = 1
from = "{}"
{until}slack = "100ms"

[source]
type = "csv"
path = "visits.csv"
time = {{ field = "time", format = "unix" }}
late = "500ms"

[privacy]
person = {{ field = "person", missing = "drop" }}
promise = "lifetime"
budget = {{ epsilon = 480 }}
ledger = "job.ledger"
account = "visits"

[[release]]
name = "visits_by_page"
every = "1s"
count = {{ by = "page", keys = ["a", "b", "c"] }}
bound = {{ keys = 1, per_key = 1 }}
noise = "laplace"
cost = {{ epsilon = 20 }}
"#,
        moment(from)
    )
}

/// The header of the logs of these jobs.
pub(crate) const HEADER: &str = "person,time,page\n";

/// A line of such a log.
pub(crate) fn line(person: impl std::fmt::Display, time: i64, page: &str) -> String {
    format!("{person},{}.{:06},{page}\n", time.div_euclid(SECOND), time.rem_euclid(SECOND))
}

/// A log with this number of people a window, each of whom comes once, and the expected values by start and
/// page.
pub(crate) fn log(from: i64, windows: i64, people: i64) -> (String, BTreeMap<(String, String), i64>) {
    let (mut text, mut tallies) = (HEADER.to_owned(), BTreeMap::new());
    for window in 0..windows {
        let start = from + window * SECOND;
        for page in PAGES {
            tallies.insert((moment(start), page.to_owned()), 0);
        }
        for person in 0..people {
            // Unevenly, and not in order; the third page has nobody in every third window.
            let page = PAGES[((person * person + window) % if window % 3 == 0 { 2 } else { 3 }) as usize];
            let time = start + (person * 7_919 + window) % SECOND;
            text += &line(window * people + person, time, page);
            *tallies.entry((moment(start), page.to_owned())).or_default() += 1;
        }
    }
    (text, tallies)
}

/// The released values as tallies.
pub(crate) fn tallies(values: &BTreeMap<(String, String, String), Value>) -> BTreeMap<(String, String), i64> {
    let cells = values.iter().map(|((_, start, key), value)| ((start.clone(), key.clone()), value));
    cells.map(|(at, value)| (at, value.as_i64().unwrap())).collect()
}
