//! The log of the command by audience, level and form: options, variable and job file, and what it says of neighbours.

use serde_json::Value;

use crate::jobs::{HEADER, exact};
use crate::refusals::{FROM, change};
use crate::scene::{Said, Scene};

/// The people of the log; the last of them is missing in its neighbour, with a line that cannot be read.
const PEOPLE: i64 = 8;

/// A job over a log, or over the log without its last person. No text of a record appears elsewhere.
fn scene(is_whole: bool) -> Scene {
    let scene = Scene::new("logged");
    scene.write("job.toml", exact(FROM, Some(FROM + 3_000_000)));
    change(&scene, "late = \"500ms\"", "late = \"500ms\"\nbad = { lines = 5 }");
    change(&scene, "keys = [\"a\", \"b\", \"c\"]", "keys = [\"what-zq1q\", \"what-zq2q\"]");
    let mut log = HEADER.to_owned();
    for person in 0..PEOPLE - i64::from(!is_whole) {
        for visit in 0..3 {
            let time = FROM + visit * 1_000_000 + person * 1_000;
            let page = ["what-zq1q", "what-zq2q", "what-zq3q"][((person + visit) % 3) as usize];
            log += &crate::jobs::line(format!("who-zq{person}q"), time, page);
        }
    }
    if is_whole {
        log += &format!("who-zq{}q,when-zqq,what-zq1q\n", PEOPLE - 1);
    }
    scene.write("visits.csv", log);
    scene.init();
    scene
}

/// Runs the command with these arguments; returns its output, none of which holds a part of a record.
fn said(scene: &Scene, variable: &str, arguments: &[&str]) -> Said {
    let environment = [("DISCREET_LOG", variable.into())];
    let mut all = arguments.to_vec();
    all.extend(["--out", "releases.jsonl"]);
    let said = scene.start_in(&environment, &all).end();
    assert!(!said.err.contains("zq"), "{arguments:?}: {}", said.err);
    said
}

/// The lines of JSON, each of which has what every line has.
fn json(said: &Said) -> Vec<Value> {
    let read = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no line of JSON: {line}"));
        assert!(line["time"].as_str().unwrap().ends_with('Z'), "{line}");
        let [level, target, audience] =
            ["level", "target", "audience"].map(|name| line[name].as_str().unwrap());
        assert!(["error", "warn", "info", "debug", "trace"].contains(&level), "{line}");
        assert_eq!(target, format!("discreet::{audience}"), "{line}");
        assert!(line["event"].is_string() && line["message"].is_string(), "{line}");
        line
    };
    said.err.lines().map(read).collect()
}

/// The lines that everyone may see, without their times.
fn public(said: &Said, is_json: bool) -> Vec<String> {
    if !is_json {
        let is_public = |line: &&str| !line.starts_with("operator only: ");
        return said.err.lines().filter(is_public).map(str::to_owned).collect();
    }
    let mut lines = json(said);
    lines.retain(|line| line["audience"] == "public");
    lines.iter_mut().for_each(|line| _ = line["time"].take());
    lines.iter().map(Value::to_string).collect()
}

// Refutes a public line that depends on one person, at any level, in either form, of a replay or a run; a line with a part
// of a record; and a log of JSON with a line that is none.
#[test]
fn public_lines_are_the_same_without_one_person() {
    for command in ["replay", "run"] {
        for level in ["-qq", "-q", "-v", "-vv"] {
            for form in ["text", "json"] {
                let [one, other] = [true, false].map(|is_whole| {
                    let said = said(&scene(is_whole), "", &[level, "--log", form, command, "job.toml"]);
                    assert_eq!(said.code, Some(0), "{said:?}");
                    said
                });
                let is_json = form == "json";
                let lines = public(&one, is_json);
                assert_eq!(lines, public(&other, is_json), "{command} {level} {form}");
                let left = lines.iter().filter(|line| line.contains("a window has left")).count();
                assert_eq!(left, if level.starts_with("-v") { 3 } else { 0 }, "{command} {level} {form}");
                // The comparison has the power to find a person: the operator's lines differ.
                if level == "-vv" {
                    let read = |said: &Said| -> String {
                        said.err.lines().filter(|line| line.contains("the input was read")).collect()
                    };
                    let without_time = |line: String| {
                        line.split_once("\"time\":").map_or(line.clone(), |(before, _)| before.to_owned())
                    };
                    assert!(!read(&one).is_empty());
                    assert_ne!(without_time(read(&one)), without_time(read(&other)), "{command} {form}");
                }
            }
        }
    }
}

// Refutes a way of a release that is not in the log, and spans without their durations.
#[test]
fn the_way_of_a_release_is_in_the_log_of_the_operator() {
    let said = said(&scene(true), "", &["run", "job.toml", "-vv", "--log", "json"]);
    let lines = json(&said);
    let of = |name: &str| lines.iter().filter(|line| line["event"] == name).collect::<Vec<_>>();
    for (name, count) in [("release", 3), ("draw", 3)] {
        let spans = of(name);
        assert_eq!(spans.len(), count, "{}", said.err);
        for span in spans {
            assert_eq!((&span["audience"], &span["release"]), (&"operator".into(), &"visits_by_page".into()));
            assert!(span["took_ms"].as_f64().unwrap() >= 0.0 && span["window_end"].is_string(), "{span}");
        }
    }
    assert!(of("release").iter().all(|span| span["status"] == "sealed" && span["account"] == "visits"));
    let rows: u64 = of("commit").iter().map(|span| span["rows"].as_u64().unwrap()).sum();
    assert_eq!(rows, 3, "{}", said.err);
    for name in [
        "gate opened",
        "run begun",
        "run ended",
        "ledger opened",
        "checkpoint",
        "input read",
        "positions written",
        "outcome",
    ] {
        assert!(!of(name).is_empty(), "no {name}: {}", said.err);
    }
    assert_eq!(of("input read")[0]["bad"], 1);
}

// Refutes a variable that an option does not overrule, one that does not overrule the job file, and a level of one target that
// is the other's.
#[test]
fn options_come_before_the_variable_and_the_variable_before_the_job_file() {
    let scene = scene(true);
    let text = scene.read("job.toml");
    let has = |variable: &str, arguments: &[&str]| {
        let all = [&["replay", "job.toml"], arguments].concat();
        let said = said(&scene, variable, &all);
        assert_eq!(said.code, Some(0), "{said:?}");
        [
            said.err.contains("a window has left"),
            said.err.contains("a gate has opened"),
            said.err.contains("draw took"),
        ]
        .map(u8::from)
        .into_iter()
        .chain([u8::from(said.err.contains("the input was read"))])
        .collect::<Vec<u8>>()
    };
    let (nothing, public, operator, both) = ([0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1], [1, 1, 0, 1]);
    // All windows are drawn for the first replay, and leave in each.
    assert_eq!(has("", &["-vv"]), [1, 1, 1, 1]);
    assert_eq!(has("", &[]), nothing);
    assert_eq!(has("debug", &[]), both);
    assert_eq!(has("public=debug", &[]), public);
    assert_eq!(has("operator=debug,public=info", &[]), operator);
    assert_eq!(has("trace", &["-q"]), nothing);
    assert_eq!(has("error", &["--verbose"]), both);
    assert_eq!(has("error", &["-v", "-q"]), nothing);
    scene.write("job.toml", format!("{text}\n[log]\nlevel = \"debug\"\n"));
    assert_eq!(has("", &[]), both);
    assert_eq!(has("warn", &[]), nothing);
    assert_eq!(has("operator=warn", &[]), public);
    assert_eq!(has("", &["-q"]), nothing);
    scene.write("job.toml", format!("{text}\n[log]\nformat = \"json\"\n"));
    assert!(said(&scene, "", &["replay", "job.toml"]).err.starts_with('{'));
    assert!(!said(&scene, "", &["replay", "job.toml", "--log", "text"]).err.starts_with('{'));
}

// Refutes a setting that is not understood and passes for another, and its refusal without the remedy.
#[test]
fn a_setting_that_is_not_understood_is_refused() {
    let scene = scene(true);
    let refused = said(&scene, "public=loud", &["--log", "json", "replay", "job.toml"]);
    assert_eq!(refused.code, Some(78), "{refused:?}");
    let lines = json(&refused);
    assert_eq!((lines.len(), &lines[0]["level"], &lines[0]["event"]), (1, &"error".into(), &"error".into()));
    let message = lines[0]["message"].as_str().unwrap();
    assert!(message.starts_with("DISCREET_LOG: found \"public=loud\"; give one of error, warn"), "{message}");
    let refused = said(&scene, "", &["replay", "job.toml", "--log", "xml"]);
    assert_eq!(refused.code, Some(78), "{refused:?}");
    assert!(refused.err.contains("log: found") && refused.err.contains("text or json"), "{refused:?}");
    assert!(!scene.at("releases.jsonl").exists());
}
