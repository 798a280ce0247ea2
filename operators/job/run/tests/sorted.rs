//! Inputs that are declared to be sorted: they end as others do, with equal releases.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::*;
use crate::dataflow::FailureKind;

const HOURS: i64 = 8;
/// 2026-01-01, in seconds.
const FROM: i64 = 1_767_225_600;

/// A log in order of time: enough lines for several chunks, so that both workers of two have some.
fn log() -> String {
    let mut text = "who,page,note,time\n".to_owned();
    let (lines, note) = (2_400, "n".repeat(120));
    for line in 0..lines {
        let time = FROM + line * HOURS * 3_600 / lines;
        let (person, page) = (line * 7 % 211, line * line % 5);
        writeln!(text, "person-{person},page-{page},{note},{time}").unwrap();
    }
    text
}

const FIRST_WINDOWS: &str = r#"
        [[release]]
        name = "first_windows"
        every = "1 hour"
        count = { by = "page", keys = ["page-0", "page-1", "page-4"] }
        bound = { keys = 1, per_key = 1, windows = 2 }
        noise = "gaussian"
        share = 1
"#;

const RUNNING_AND_DISCOVERED: &str = r#"
        [[release]]
        name = "running"
        every = "1 hour"
        count = { by = "page", keys = ["page-0", "page-1"] }
        running = true
        strategy = "tree"
        bound = { keys = 1, per_key = 1 }
        noise = "gaussian"
        share = 0.6
        [[release]]
        name = "discovered"
        every = "4 hours"
        people = { by = "page", keys = "discover" }
        bound = { keys = 1 }
        noise = "gaussian"
        share = 0.4
"#;

const SLIDING: &str = r#"
        [[release]]
        name = "sliding"
        every = "1 hour"
        over = "3 hours"
        count = {}
        bound = { per_key = 1 }
        noise = "gaussian"
        share = 1
"#;

/// Each job with how many windows it releases.
const JOBS: [(&str, u64); 3] = [(FIRST_WINDOWS, 8), (RUNNING_AND_DISCOVERED, 8 + 2), (SLIDING, 6)];

/// A budget so large that all noise is rounded away but for a chance of 2e-10 a cell: the released values are
/// exact tallies. In zCDP: a normal distribution that is rounded leaves 0 far more often than a discrete one.
fn job(order: &str, releases: &str) -> String {
    format!(
        r#"
        [job]
        name = "shop"
        version = 1
        from = "2026-01-01T00:00:00Z"
        until = "2026-01-01T08:00:00Z"
        slack = "50ms"
        [source]
        type = "csv"
        path = "log.csv"
        time = {{ field = "time", format = "unix" }}
        order = "{order}"
        [privacy]
        person = {{ field = "who", missing = "drop" }}
        promise = "lifetime"
        budget = {{ epsilon = 200, delta = 1e-6 }}
        accounting = "zcdp"
        ledger = "shop.ledger"
        account = "shop"
        {releases}
        "#
    )
}

/// The cells of a file of lines, by release, window and key: the value, and in a demonstration the tally and
/// the truth.
fn cells(lines: &str) -> BTreeMap<[String; 3], [String; 3]> {
    let mut cells = BTreeMap::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line.get("refused").is_none(), "{line}");
        if line["closed"] == true {
            continue;
        }
        let place = ["release", "window", "key"].map(|field| line[field].to_string());
        let said = ["value", "tally", "truth"].map(|field| line[field].to_string());
        assert!(cells.insert(place, said).is_none(), "released twice: {line}");
    }
    cells
}

/// One run with the same key as all others, so that the same records are kept; how it ended, and its lines.
fn printed(
    place: &Place,
    order: &str,
    (releases, log): (&str, &str),
    (way, workers): (&str, usize),
) -> (Result<Finished, RunError>, String) {
    for name in ["shop.ledger", "shop.ledger-wal", "shop.ledger-shm", "out.jsonl"] {
        let _ = fs::remove_file(place.0.join(name));
    }
    fs::write(place.0.join("log.csv"), log).unwrap();
    let key = LedgerKey::beside(&place.0.join("shop.ledger"));
    fs::write(&key, [7; 32]).unwrap();
    fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut text = job(order, releases);
    if log.starts_with("who,page,note,moment") {
        text = text.replace("\"time\", format = \"unix\"", "\"moment\", format = \"rfc3339\"");
    }
    let job = Job::parse(place.0.join("job.toml"), &text).unwrap();
    Ledger::create_alone(&job.privacy.ledger).unwrap().register(job.account()).unwrap();
    let out = Some(place.0.join("out.jsonl"));
    let ended = match way {
        "run" => job.run(Live { workers, out, ..Live::default() }),
        way => job.replay(Replay { workers, demo: way == "demo", out, ..Replay::default() }),
    };
    let spent = Ledger::open(&job.privacy.ledger).unwrap().releases(&job.privacy.account).unwrap().0;
    let expected = ended.as_ref().map_or(0, |ended| if way == "demo" { 0 } else { ended.released() });
    assert_eq!(spent, expected, "{way} on {workers} workers: what is sealed is what was released");
    let printed = fs::read_to_string(place.0.join("out.jsonl")).unwrap_or_default();
    (ended, printed)
}

// Refutes a sorted input that never ends, and one that releases other values than the same input in any order
// does.
#[test]
fn sorted_inputs_end_and_release_what_unsorted_ones_do() {
    let (place, log) = (Place::new("sorted"), log());
    for (releases, windows) in JOBS {
        for way in ["demo", "replay", "run"] {
            let (ended, expected) = printed(&place, "any", (releases, &log), (way, 1));
            assert_eq!(ended.unwrap().released(), windows, "{way}");
            let mut expected = cells(&expected);
            for workers in [1, 2] {
                let (ended, lines) = printed(&place, "sorted", (releases, &log), (way, workers));
                assert_eq!(ended.unwrap().released(), windows, "{way} on {workers} workers");
                let found = cells(&lines);
                if way == "demo" && workers == 1 {
                    // The key of a demonstration follows from its job file, so the two keep other records.
                    let truths = |cells: &BTreeMap<[String; 3], [String; 3]>| -> Vec<_> {
                        cells.iter().map(|(place, [.., truth])| (place.clone(), truth.clone())).collect()
                    };
                    assert_eq!(truths(&found), truths(&expected));
                    expected = found.clone();
                }
                assert_eq!(found, expected, "{way} on {workers} workers");
            }
        }
    }
}

// Refutes a source that declares more complete than the time of its last record: those that follow at the
// same time, the last of a window, would be late.
#[test]
fn records_of_one_time_are_all_in_time() {
    let place = Place::new("moment");
    let mut log = "who,page,note,moment\n".to_owned();
    for person in 0..6_000 {
        writeln!(log, "person-{person},page-0,,2026-01-01T02:59:59.999999Z").unwrap();
    }
    let (_, expected) = printed(&place, "any", (SLIDING, &log), ("replay", 1));
    assert!(expected.contains("\"value\":6000"), "{expected}");
    for workers in [1, 2] {
        let (ended, found) = printed(&place, "sorted", (SLIDING, &log), ("replay", workers));
        assert!(ended.is_ok());
        assert_eq!(cells(&found), cells(&expected), "{workers} workers");
    }
}

// Refutes a window that is sealed before the whole input has proved to be in order: by the time of a line, or
// by the end of another worker's part.
#[test]
fn a_line_out_of_order_ends_a_replay_with_nothing_sealed() {
    let (place, all) = (Place::new("disorder"), log());
    // Earlier by one second than the line before it, in the last chunk; and the first line once more.
    let last: i64 = all.lines().last().unwrap().rsplit(',').next().unwrap().parse().unwrap();
    for time in [last - 1, FROM] {
        let log = format!("{all}person-0,page-0,,{time}\n");
        for (way, workers) in [("demo", 1), ("demo", 2), ("replay", 1), ("replay", 2)] {
            let (ended, lines) = printed(&place, "sorted", (RUNNING_AND_DISCOVERED, &log), (way, workers));
            let failure = ended.unwrap_err();
            assert_eq!((failure.kind(), failure.exit_code()), (FailureKind::Refused, 65), "{failure}");
            assert_eq!(lines, "", "{way} on {workers} workers");
        }
    }
}
