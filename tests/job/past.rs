//! A live job whose first window lies long before its first start.

use rustix::process::Signal;

use crate::jobs::{HEADER, SECOND, exact};
use crate::scene::{Scene, moment, now, until};

const HOUR: i64 = 3_600 * SECOND;
const WARNED: &str = "warning: job.from: ";

/// A job of hours from `hours` before the present one on.
fn job(hours: i64, until: Option<i64>) -> String {
    let from = now() / HOUR * HOUR - hours * HOUR;
    let job = exact(from, until).replace("every = \"1s\"", "every = \"1h\"");
    job.replace("cost = { epsilon = 20 }", "cost = { epsilon = 1 }")
}

// Refutes a start that spends the budget of months without a word, a warning about windows that have left, and one
// where nothing of the past is charged.
#[test]
fn the_windows_before_a_first_start_are_warned_of() {
    let scene = Scene::new("past");
    scene.write("visits.csv", HEADER);
    scene.write("job.toml", job(30, None));
    scene.init();
    let check = |job: &str| {
        scene.write("other.toml", job);
        scene.done(&["check", "other.toml", "--connect"]).out
    };
    let page = check(&job(30, None));
    // The last of them may be within its lateness.
    let warned = [29, 30].map(|windows| {
        format!(
            "{WARNED}{windows} windows since {} ended before now",
            moment(now() / HOUR * HOUR - 30 * HOUR)
        )
    });
    assert!(warned.iter().any(|warned| page.contains(warned)), "{page}");
    for other in [
        job(3, None),
        job(30, Some(now() / HOUR * HOUR - HOUR)),
        job(30, None).replace("\"visits.csv\"", "\"-\""),
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
        assert!(!check(&job(30, None)).contains(WARNED));
    }
}
