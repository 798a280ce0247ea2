//! The example job of JSON lines over synthetic events: it runs, and reports the content of its fields.

use std::fs;

use discreet::job::Job;
use discreet::ledger::{Ledger, LedgerKey};

use crate::jobs::Jobs;
use crate::paths::events;
use crate::{discreet, json};

// Refutes an example job that does not run, and ranges that are not compared with the records.
#[test]
fn the_job_of_json_lines_runs_and_counts_what_is_within_its_ranges() {
    let jobs = Jobs::new("events", "events.toml");
    let (job, ledger) = (jobs.path("job.toml"), jobs.path("state/events.ledger"));
    events(&jobs, 2_000);
    for command in [&["plan", &job][..], &["check", &job], &["ledger", "init", &ledger, "--config", &job]] {
        let (code, _, error) = discreet(command);
        assert_eq!((code, error.as_str()), (0, ""), "{command:?}");
    }
    let (code, lines, error) = discreet(&["replay", &job, "--demo"]);
    assert!(code == 0 && lines.contains("\"release\":\"middle_value\""), "{code} {error}");

    // The edges 0 and 200, of which the last is outside, and the range from 0 to 200, both ends inside.
    let text = fs::read_to_string(jobs.path("events.jsonl")).unwrap();
    let mut values: Vec<f64> = Vec::new();
    for line in text.lines() {
        values.push(serde_json::from_str::<serde_json::Value>(line).unwrap()["value"].as_f64().unwrap());
    }
    let extra = [200.0, 200.0, 0.0, -0.01, 200.01, 1e6];
    let event = |value: &f64| {
        format!("{{\"user\":\"u1\",\"key\":\"k1\",\"value\":{value},\"time\":\"2026-01-01T00:00:00Z\"}}\n")
    };
    fs::write(jobs.path("events.jsonl"), text + &extra.iter().map(event).collect::<String>()).unwrap();
    values.extend(extra);
    let between = values.iter().filter(|value| (0.0..200.0).contains(*value)).count();
    let within = values.iter().filter(|value| (0.0..=200.0).contains(*value)).count();
    assert!(within == between + 2 && between > 1_000, "{between} {within}");
    let line = json(&["check", &job, "--connect", "--sample", "10000", "--json"]);
    let fields = line["sample"]["fields"].as_array().unwrap();
    let of = |place: &str| fields.iter().find(|field| field["place"] == place).unwrap()["within"].as_u64();
    assert_eq!(of("release[2].histogram.of"), Some(between as u64), "{line}");
    assert_eq!(of("release[3].quantile.of"), Some(within as u64), "{line}");
    assert_eq!(of("release[1].people.by"), None, "{line}");
    let (_, page, _) = discreet(&["replay", &job, "--demo"]);
    assert!(!page.contains("within"), "it is for the operator");
}

// Refutes a sample of no records that is reported as one, and a source without records that is not reported.
#[test]
fn a_sample_and_a_demonstration_say_what_there_was_to_read() {
    let jobs = Jobs::new("sampled", "events.toml");
    let (job, ledger) = (jobs.path("job.toml"), jobs.path("state/events.ledger"));
    events(&jobs, 40);
    let alone = discreet(&["check", &job, "--sample", "30"]);
    assert!(alone.0 == 0 && alone.1.contains("fields in 30 records (for"), "without a ledger: {}", alone.2);
    assert!(!fs::exists(&ledger).unwrap());
    assert_eq!(discreet(&["ledger", "init", &ledger, "--config", &job]).0, 0);
    let sample = |most: &str| discreet(&["check", &job, "--connect", "--sample", most]);
    let (code, page, error) = sample("0");
    assert_eq!((code, page.as_str()), (78, ""), "{error}");
    assert!(error.contains("--sample: found zero; give how many records"), "{error}");
    assert!(sample("30").1.contains("fields in 30 records (for"), "{}", sample("30").1);
    assert!(
        sample("41").1.contains("fields in 40 records, which is all that there are (for"),
        "{}",
        sample("41").1
    );

    let empty = "warning: the source holds no record; every window is empty. Is it the right one?";
    fs::write(jobs.path("events.jsonl"), "").unwrap();
    let (code, page, _) = sample("5");
    assert!(code == 0 && page.contains(empty), "{page}");
    let (code, lines, error) = discreet(&["replay", &job, "--demo"]);
    assert!(code == 0 && error.contains(empty) && lines.contains("\"closed\":true"), "{code} {error}");

    fs::remove_file(jobs.path("events.jsonl")).unwrap();
    let (code, lines, error) = discreet(&["replay", &job, "--demo"]);
    assert_eq!((code, lines.as_str()), (69, ""), "{error}");
    let missing = jobs.path("events.jsonl");
    let said =
        format!("error: {missing}: the source is gone: found no such file; give a file that can be read\n");
    assert_eq!(error, said, "nothing is said of fields that were never looked for");
}

// Refutes a check that accepts the key of another ledger, and one that confirms a key which no start has
// bound.
#[test]
fn a_check_says_whether_the_ledger_has_its_key() {
    let jobs = Jobs::new("keys", "events.toml");
    let (job, ledger) = (jobs.path("job.toml"), jobs.path("state/events.ledger"));
    let key = jobs.path("state/events.ledger.key");
    events(&jobs, 40);
    Ledger::create_alone(&ledger).unwrap().register(Job::open(&job).unwrap().account()).unwrap();
    LedgerKey::create(&key).unwrap();
    let unbound = format!(
        "warning: privacy.key: the ledger is not bound to a key yet; the first start binds it to {key}"
    );
    for _ in 0..2 {
        let (code, page, error) = discreet(&["check", &job, "--connect"]);
        assert!(code == 0 && page.contains(&unbound), "{page}{error}");
    }
    assert_eq!(discreet(&["replay", &job]).0, 0);
    let (code, page, _) = discreet(&["check", &job, "--connect"]);
    assert!(code == 0 && !page.contains("privacy.key"), "{page}");

    fs::remove_file(&key).unwrap();
    Ledger::create(jobs.path("other")).unwrap();
    fs::copy(jobs.path("other.key"), &key).unwrap();
    for command in [&["check", &job, "--connect"][..], &["replay", &job]] {
        let (code, output, error) = discreet(command);
        assert_eq!((code, output.as_str()), (78, ""), "{command:?}");
        assert!(
            error
                .contains(&format!("key {key}: it is the key of another ledger, or one that `ledger rekey`")),
            "{error}"
        );
    }
}
