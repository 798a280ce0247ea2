//! Jobs as files, run inside of the test.
#![allow(clippy::unwrap_used)]

mod derived;
mod fields;
mod means;
mod questions;
mod ranks;
mod ratio;
mod rollup;
mod running;
mod running_sums;
mod smallest;
mod sorted;
mod stable_means;
mod variance;
mod weighted;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::*;
use crate::job::test_jobs::csv_job;
use crate::ledger::{Ledger, LedgerKey};

/// A directory of its own, with a job file and its ledger, that is gone when the test is.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("discreet-run-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    fn job(&self, text: &str) -> Job {
        let job = Job::parse(self.0.join("job.toml"), text).unwrap();
        let ledger = &job.privacy.ledger;
        if !ledger.exists() {
            LedgerKey::create(LedgerKey::beside(ledger)).unwrap();
            Ledger::create_alone(ledger).unwrap().register(job.account()).unwrap();
        }
        job
    }

    fn replay(&self, job: &Job, workers: usize, out: &str) -> Finished {
        let out = Some(self.0.join(out));
        job.replay(Replay { workers, out, ..Replay::default() }).unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

/// Returns a number below each one that is given: the same ones from the same seed.
fn draws(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |sides| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % sides
    }
}

/// Returns an amount of cents, with two digits behind the point.
fn in_cents(cents: i64) -> String {
    format!("{}{}.{:02}", if cents < 0 { "-" } else { "" }, cents.abs() / 100, cents.abs() % 100)
}

/// Returns the lines with a value of a demonstration of the job of a place.
fn demo_lines(place: &Place, workers: usize) -> Vec<Value> {
    let job = Job::open(place.0.join("job.toml")).unwrap();
    let replay = Replay { workers, demo: true, out: Some(place.0.join("demo.jsonl")), ..Replay::default() };
    job.replay(replay).unwrap();
    let text = place.read("demo.jsonl");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line.get("value").is_some()).collect()
}

/// Returns the texts of these fields of a line; a field that is not there has none.
fn texts_of<const N: usize>(line: &Value, fields: [&str; N]) -> [String; N] {
    fields.map(|field| line[field].as_str().unwrap_or_default().to_owned())
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

// Refutes a record without a key that takes the place of its person's others.
#[test]
fn a_record_without_a_key_takes_no_place() {
    let place = Place::new("absent");
    // Another release reads what the first cannot, so that the record itself is there.
    let visit = |person: u32| format!("u{person},,x\nu{person},a,x\n");
    let visits: String = (0..40).map(visit).collect();
    fs::write(place.0.join("visits.csv"), format!("who,page,shop\n{visits}")).unwrap();
    let job = place.job(
        r#"
        [job]
        name = "shop"
        version = 1
        [source]
        type = "csv"
        path = "visits.csv"
        [privacy]
        person = { field = "who", missing = "drop" }
        promise = "lifetime"
        budget = { epsilon = 50, delta = 1e-6 }
        ledger = "shop.ledger"
        account = "shop"
        [[release]]
        name = "by_page"
        every = "all"
        people = { by = "page", keys = "discover" }
        bound = { keys = 1 }
        noise = "gaussian"
        share = 0.5
        [[release]]
        name = "by_shop"
        every = "all"
        count = { by = "shop", keys = ["x"] }
        bound = { keys = 1, per_key = 2 }
        noise = "gaussian"
        share = 0.5
        "#,
    );
    let out = Some(place.0.join("releases.jsonl"));
    job.replay(Replay { workers: 1, demo: true, out, ..Replay::default() }).unwrap();
    let printed = place.read("releases.jsonl");
    assert!(
        printed.contains(r#""tally":40,"truth":40"#) && printed.contains(r#""tally":80,"truth":80"#),
        "{printed}"
    );
}

/// Two days of made-up visits; the promise, and the releases.
fn text(promise: &str, releases: &str) -> String {
    format!(
        r#"
        [job]
        name = "shop"
        version = 1
        from = "2026-01-01T00:00:00Z"
        until = "2026-01-03T00:00:00Z"
        [source]
        type = "synthetic"
        people = 200
        rows = 4000
        keys = 5
        seed = 7
        [privacy]
        person = {{ field = "user", missing = "drop" }}
        promise = "{promise}"
        budget = {{ epsilon = 2.0, delta = 1e-6 }}
        ledger = "shop.ledger"
        account = "shop"
        {releases}
        "#
    )
}

const TWO: &str = r#"
    [[release]]
    name = "by_page"
    every = "1h"
    people = { by = "key", keys = "discover" }
    bound = { keys = 2 }
    noise = "gaussian"
    share = 0.5
    [[release]]
    name = "visits"
    every = "30m"
    count = {}
    bound = { per_key = 3 }
    noise = "gaussian"
    share = 0.5
"#;

// Refutes a statistic that runs ahead of another: under this promise its later windows leave no room for the
// earlier ones of the other, which are refused though the plan has said that all of them fit. One of the two
// keeps state, and so is slower.
#[test]
fn windows_of_several_releases_fit_a_promise_about_any_span() {
    for workers in [1, 2] {
        let place = Place::new(&format!("any-{workers}"));
        let job = place.job(&text("any 3h", TWO));
        let finished = place.replay(&job, workers, "out.jsonl");
        assert_eq!((finished.released(), finished.refused()), (48 + 96, 0), "on {workers} workers");
    }
}

// Refutes a second draw, a second charge, a line that is released twice, and one that a new file lacks.
#[test]
fn a_second_replay_delivers_the_same_rows_and_draws_nothing() {
    let place = Place::new("again");
    let job = place.job(&text("lifetime", TWO));
    place.replay(&job, 1, "one.jsonl");
    let first = place.read("one.jsonl");
    let spent = Ledger::open(&job.privacy.ledger).unwrap().spent(&job.privacy.account, window()).unwrap();
    place.replay(&job, 2, "one.jsonl");
    assert!(place.read("one.jsonl") == first, "the same file receives something twice");
    place.replay(&job, 2, "two.jsonl");
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
    assert!(lines(&place.read("two.jsonl")) == lines(&first), "a new one receives other lines");
    let again = Ledger::open(&job.privacy.ledger).unwrap().spent(&job.privacy.account, window()).unwrap();
    assert_eq!(again, spent);
    assert_eq!(first.matches("\"closed\":true").count(), 48 + 96);
}

// Refutes a new file with rows of a former version, one that lacks rows of the releases that the job has, and
// one that stays as a kill has left it.
#[test]
fn a_new_file_receives_the_rows_of_the_versions_that_the_job_has() {
    let place = Place::new("former");
    let two = TWO.replace("share = 0.5", "share = 0.25");
    let first = place.job(&text("lifetime", &two));
    place.replay(&first, 1, "first.jsonl");
    let changed = two.replace("count = {}", "version = 2\n    count = {}");
    let second = place.job(&text("lifetime", &changed));
    place.replay(&second, 1, "second.jsonl");
    place.replay(&second, 1, "third.jsonl");
    let of = |name: &str, release: &str| {
        let release = format!(r#""release":"{release}""#);
        let text = place.read(name);
        text.lines().filter(|line| line.contains(&release)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of("third.jsonl", "by_page"), of("first.jsonl", "by_page"));
    assert_eq!(of("third.jsonl", "visits"), of("second.jsonl", "visits"));
    // A cell and the line that closes the window.
    assert_eq!(of("third.jsonl", "visits").len(), 2 * 96);
    let whole = place.read("third.jsonl");
    place.replay(&second, 1, "third.jsonl");
    assert_eq!(place.read("third.jsonl"), whole);
    // A kill while it was written.
    fs::write(place.0.join("third.jsonl"), &whole[..whole.len() / 2]).unwrap();
    place.replay(&second, 1, "third.jsonl");
    assert_eq!(place.read("third.jsonl"), whole);
}

fn window() -> crate::accounting::Interval {
    crate::accounting::Interval::new(0, 1).unwrap()
}

/// The lines of a demonstration without what is drawn: release, window, key, tally and truth.
fn tallies(lines: &str) -> Vec<String> {
    let mut printed: Vec<String> = lines
        .lines()
        .filter(|line| line.contains("\"value\""))
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["demo"], true);
            ["release", "window", "key", "tally", "truth"].map(|field| line[field].to_string()).join(" ")
        })
        .collect();
    printed.sort();
    printed
}

const EVERY_STATISTIC: &str = r#"
    [[release]]
    name = "count"
    every = "6h"
    count = { by = "key", keys = ["k1", "k2", "k3"] }
    bound = { keys = 2, per_key = 2 }
    noise = "laplace"
    share = 0.2
    [[release]]
    name = "people"
    every = "6h"
    people = {}
    noise = "gaussian"
    share = 0.2
    [[release]]
    name = "sum"
    every = "6h"
    over = "12h"
    sum = { of = "value", range = [0, 50.5] }
    noise = "gaussian"
    share = 0.2
    [[release]]
    name = "mean"
    every = "1 day"
    mean = { of = "value", range = [0, 60], by = "key", keys = ["k1", "k2"] }
    bound = { keys = 1, per_key = 3 }
    noise = "gaussian"
    share = 0.2
    [[release]]
    name = "histogram"
    every = "all"
    histogram = { of = "value", edges = [0, 10.5, 30, 60] }
    bound = { keys = 4, per_key = 2 }
    noise = "gaussian"
    share = 0.2
"#;

// Refutes tallies that depend on the number of workers, and a bound that adds to the truth.
#[test]
fn a_demonstration_has_the_same_tallies_whatever_the_workers() {
    let place = Place::new("demo");
    let job = place.job(&text("lifetime", EVERY_STATISTIC));
    let mut printed = Vec::new();
    for workers in [1, 2, 3] {
        let out = Some(place.0.join("demo.jsonl"));
        job.replay(Replay { workers, demo: true, out, ..Replay::default() }).unwrap();
        printed.push(tallies(&place.read("demo.jsonl")));
    }
    assert_eq!(printed[0], printed[1]);
    assert_eq!(printed[0], printed[2]);
    assert_eq!(printed[0].len(), 8 * 3 + 8 + 7 + 2 * 2 + 5);
    let counts: Vec<(i64, i64)> = (printed[0].iter().filter(|line| line.starts_with("\"count\"")))
        .map(|line| {
            let mut numbers = line.rsplit(' ').map(|number| number.parse::<i64>().unwrap());
            let truth = numbers.next().unwrap();
            (numbers.next().unwrap(), truth)
        })
        .collect();
    assert!(counts.iter().all(|(tally, truth)| tally <= truth));
    assert!(counts.iter().any(|(tally, truth)| tally < truth), "nobody had more than the bound");
}
