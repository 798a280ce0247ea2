//! Tests that no other parameters, no other ledger and no second process go on with a job.

use std::time::Duration;

use crate::jobs::{COST, exact};
use crate::refusals::{FROM, change, is_discreet, scene};
use crate::scene::{moment, now, until};

// Refutes a job that goes on under one version with other parameters: released windows would be released
// anew.
#[test]
fn other_parameters_need_another_version() {
    let scene = scene();
    scene.done(&["replay", "job.toml", "--out", "releases.jsonl"]);
    let printed = scene.read("releases.jsonl");
    change(&scene, "cost = { epsilon = 20 }", "cost = { epsilon = 10 }");
    let said = scene.run(&["replay", "job.toml", "--out", "releases.jsonl"]);
    assert_eq!(said.code, Some(78), "{said:?}");
    assert!(said.err.contains("version"), "{said:?}");
    assert_eq!(scene.read("releases.jsonl"), printed);
    is_discreet("parameters", &said);
    change(&scene, "version = 1", "version = 2");
    scene.done(&["replay", "job.toml", "--out", "releases.jsonl"]);
    // A new version is charged: two windows at each cost.
    assert_eq!(scene.charged("job.ledger").1["epsilon"], 2.0 * COST + 2.0 * 10.0);
}

// Refutes a sink that takes the releases of another ledger for its own.
#[test]
fn the_file_of_another_ledger_is_refused() {
    let (scene, other) = (scene(), scene());
    other.done(&["replay", "job.toml", "--out", "releases.jsonl"]);
    let printed = other.read("releases.jsonl");
    scene.write("releases.jsonl", &printed);
    let said = scene.run(&["replay", "job.toml", "--out", "releases.jsonl"]);
    assert_eq!(said.code, Some(78), "{said:?}");
    is_discreet("another ledger", &said);
    assert_eq!(scene.read("releases.jsonl"), printed);
    assert_eq!(scene.charged("job.ledger").0, 0);
}

// Refutes two processes that run one job, and one that waits for the other to end.
#[test]
fn a_second_process_of_a_job_is_refused_at_once() {
    let scene = scene();
    // The job has a window to wait for.
    scene.write("job.toml", exact(FROM, None));
    change(&scene, "from = \"2017-07-14T02:40:00Z\"", &format!("from = \"{}\"", moment(now())));
    let first = scene.start(&["run", "job.toml", "--out", "first.jsonl"]);
    until("the first holds the job", || !scene.read("first.jsonl").is_empty());
    for arguments in [
        &["run", "job.toml", "--out", "second.jsonl"][..],
        &["replay", "job.toml", "--out", "second.jsonl", "--unfinished"],
    ] {
        if arguments[0] == "replay" {
            let text = scene.read("job.toml");
            let until = format!("version = 1\nuntil = \"{}\"", moment(now() + 20_000_000));
            scene.write("job.toml", text.replace("version = 1", &until));
        }
        let said = scene.run(arguments);
        assert_eq!(said.code, Some(74), "{said:?}");
        assert!(said.took < Duration::from_secs(2), "{said:?}");
        assert!(!scene.at("second.jsonl").exists());
        is_discreet("second", &said);
    }
    first.kill();
}
