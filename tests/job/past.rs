//! A live job whose first window lies long before its first start.

use std::io::Write;

use rustix::process::Signal;

use crate::jobs::{HEADER, SECOND, exact, line};
use crate::scene::{Scene, moment, now, until};

const HOUR: i64 = 3_600 * SECOND;
const WARNED: &str = "warning: job.from: ";

/// A job of hours from `hours` before an hour on.
fn job(hour: i64, hours: i64, until: Option<i64>) -> String {
    let from = hour - hours * HOUR;
    let job = exact(from, until).replace("every = \"1s\"", "every = \"1h\"");
    job.replace("cost = { epsilon = 20 }", "cost = { epsilon = 1 }")
}

// Refutes a start that spends the budget of months without a word, a warning about windows that have left, and one
// where nothing of the past is charged.
#[test]
fn the_windows_before_a_first_start_are_warned_of() {
    let scene = Scene::new("past");
    scene.write("visits.csv", HEADER);
    // Another hour may begin while the test runs.
    let hour = now() / HOUR * HOUR;
    scene.write("job.toml", job(hour, 30, None));
    scene.init();
    let check = |job: &str| {
        scene.write("other.toml", job);
        scene.done(&["check", "other.toml", "--connect"]).out
    };
    let page = check(&job(hour, 30, None));
    // The last of them may be within its lateness.
    let warned = [29, 30, 31].map(|windows| {
        format!("{WARNED}{windows} windows since {} ended before now", moment(hour - 30 * HOUR))
    });
    assert!(warned.iter().any(|warned| page.contains(warned)), "{page}");
    for other in [
        job(hour, 3, None),
        job(hour, 30, Some(hour - HOUR)),
        job(hour, 30, None).replace("\"visits.csv\"", "\"-\""),
    ] {
        let page = check(&other);
        assert!(!page.contains(WARNED), "{other}\n{page}");
    }
    for is_first in [true, false] {
        let life = scene.start(&["run", "job.toml", "--out", "releases.jsonl"]);
        until("it releases", || scene.read("releases.jsonl").matches("\"closed\":true").count() >= 29);
        until("it has started", || life.said().1.contains("started: "));
        life.signal(Signal::TERM);
        let said = life.end();
        assert_eq!((said.code, said.err.contains(WARNED)), (Some(0), is_first), "{said:?}");
        assert!(!check(&job(hour, 30, None)).contains(WARNED));
    }
}

// Refutes a check that counts windows which the run passes over: of a release that was renamed, those before the
// place where the job goes on, beside the windows of its old name.
#[test]
fn a_check_counts_the_windows_from_where_a_run_goes_on() {
    let scene = Scene::new("renamed-check");
    // A span of 4 seconds touches five windows, two of them cut, at twice their cost: together 476.
    let job = exact(now() / SECOND * SECOND, None)
        .replace("promise = \"lifetime\"", "promise = \"any 4s\"")
        .replace("cost = { epsilon = 20 }", "cost = { epsilon = 68 }");
    scene.write("job.toml", &job);
    scene.write("visits.csv", HEADER.to_owned() + &line("someone", now(), "a"));
    scene.init();
    let run = ["run", "job.toml", "--out", "releases.jsonl"];
    let lines = || std::fs::read_to_string(scene.at("releases.jsonl")).unwrap_or_default();
    let life = scene.start(&run);
    // A resume position moves as the log grows.
    let visit = || {
        let mut log = std::fs::File::options().append(true).open(scene.at("visits.csv")).unwrap();
        log.write_all(line("someone", now(), "a").as_bytes()).unwrap();
    };
    until("seven windows have left", || {
        visit();
        lines().matches("\"closed\":true").count() >= 7
    });
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));

    scene.write("job.toml", job.replace("visits_by_page", "renamed"));
    let page = scene.done(&["check", "job.toml", "--connect"]).out;
    let counted = page
        .split("release renamed: ")
        .nth(1)
        .map_or(0, |line| line.split(' ').next().and_then(|word| word.parse::<usize>().ok()).unwrap());
    let life = scene.start(&run);
    let of = |line: &&str| line.contains("\"renamed\"");
    let outcomes = || {
        let lines = lines();
        let closed = lines.lines().filter(of).filter(|line| line.contains("\"closed\":true")).count();
        (closed, lines.lines().filter(of).filter(|line| line.contains("refused")).count())
    };
    until("seven windows of the new name have left", || {
        visit();
        outcomes().0 >= 7
    });
    life.signal(Signal::TERM);
    let said = life.end();
    assert_eq!(outcomes().1, counted, "{page}\n{}\n{said:?}", lines());
    assert!(counted < 5, "{page}");
}
