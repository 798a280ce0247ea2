//! Alerts of whole jobs: crowds in the log of a web server, and an alert that goes on after its run has ended.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use crate::jobs::{HEADER, SECOND, exact, line};
use crate::killed::FROM;
use crate::scene::{Scene, moment};

/// The lines of alerts, without those that close windows.
fn alerts(text: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["closed"] != true).collect()
}

/// The starts of the windows in which a release fired.
fn fired(lines: &[Value], release: &str) -> Vec<String> {
    let fired = lines.iter().filter(|line| line["release"] == release && line["value"] == 1);
    fired.map(|line| line["window"]["start"].as_str().unwrap().to_owned()).collect()
}

// Refutes a crowd that is missed, an alarm without a crowd in the rest of the month, and a price that is not a thirtieth of that of
// the numbers. With a budget of the job's own each alarm is of the days in which anybody came at all: 400 people more than nobody
// are 100 scales of noise away. With a large one there is no noise, and each crowd takes one alarm, in the hour in which it is one.
#[test]
fn crowds_are_found_and_the_rest_of_the_month_is_silent() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let log = project.join("../shared/data/access.log.gz");
    if !log.exists() {
        println!("skipped: no ../shared/data: access.log.gz is not replayed");
        return;
    }
    let scene = Scene::new("crowds");
    let job = fs::read_to_string(project.join("config/crowds.toml")).unwrap();
    symlink(log, scene.at("access.log.gz")).unwrap();
    fs::create_dir(scene.at("state")).unwrap();
    scene.write("job.toml", &job);
    let plan: Value = serde_json::from_str(&scene.done(&["plan", "job.toml", "--json"]).out).unwrap();
    let planned = &plan["releases"][0]["alert"];
    assert!(planned["instead_of_numbers"].as_f64().unwrap() > 30.0, "{planned}");
    let demo = |workers: &str| alerts(&scene.done(&["replay", "job.toml", "--demo", "-w", workers]).out);
    let lines = demo("1");
    let found = fired(&lines, "crowds");
    assert!((1..=4).contains(&found.len()), "{found:?}");
    assert!(found.iter().all(|start| ("2015-05-16T".."2015-05-21T").contains(&start.as_str())), "{found:?}");

    scene.write("job.toml", job.replace("epsilon = 2.0", "epsilon = 490"));
    for workers in ["1", "2"] {
        let lines = demo(workers);
        let mut above: BTreeMap<&str, bool> = BTreeMap::new();
        for line in lines.iter().filter(|line| line["release"] == "crowds") {
            above.insert(line["window"]["start"].as_str().unwrap(), line["tally"] == 1);
            assert_eq!(line["value"], line["tally"], "{line}");
        }
        let found = fired(&lines, "crowds");
        let days: Vec<&str> = found.iter().map(|start| &start[..10]).collect();
        assert_eq!(days, ["2015-05-17", "2015-05-18", "2015-05-19"], "{found:?}");
        // The first window with more, and none in the pauses.
        let first = above.iter().find(|(_, above)| **above).unwrap();
        assert_eq!(*first.0, found[0]);
        assert_eq!(above.len(), 721 - 3 * 24, "windows behind the pauses have no line");
        let last = lines.iter().rfind(|line| line["release"] == "crowds").unwrap();
        assert_eq!((&last["value"], &last["noise"]["alarms_left"]), (&0.into(), &1.into()), "{last}");
    }
}

/// A job of twelve windows, of which the third, the fourth and the ninth have fifty people, and the others ten. Its noise is 0.
fn crowded(alarms: u32) -> (String, Vec<String>) {
    let job = exact(FROM, Some(FROM + 12 * SECOND));
    let (head, _) = job.split_once("[[release]]").unwrap();
    let job = format!(
        "{head}[[release]]\nname = \"crowd\"\nevery = \"1s\"\nalert = {{ above = 30, alarms = {alarms} }}\n\
         noise = \"geometric\"\ncost = {{ epsilon = 400 }}\n"
    );
    let windows = (0..12i64).map(|window| {
        let people = if [2, 3, 8].contains(&window) { 50 } else { 10 };
        (0..people).map(|person| line(person, FROM + window * SECOND + person, "a")).collect()
    });
    (job, windows.collect())
}

// Refutes an alert that is armed or paid for anew by a second run, alarms that begin again, a line behind the last alarm, and a new
// version that is not armed.
#[test]
fn an_alert_goes_on_where_a_run_has_ended() {
    let scene = Scene::new("alerts");
    let (job, windows) = crowded(2);
    scene.write("job.toml", &job);
    scene.init();
    let ledger =
        job.lines().find_map(|line| line.strip_prefix("ledger = ")).unwrap().trim_matches('"').to_owned();
    let log = |until: usize| HEADER.to_owned() + &windows[..until].concat();
    let short = job.replace(&moment(FROM + 12 * SECOND), &moment(FROM + 5 * SECOND));
    let path =
        job.lines().find_map(|line| line.strip_prefix("path = ")).unwrap().trim_matches('"').to_owned();
    // The first run ends in the middle of the time of the job.
    assert_ne!(short, job);
    scene.write(&path, log(12));
    scene.write("job.toml", &short);
    let planned = short.replace("alarms = 2", "alarms = 2, windows = 12");
    scene.write("job.toml", &planned);
    let first = alerts(&scene.done(&["replay", "job.toml"]).out);
    let at = |window: i64| moment(FROM + window * SECOND);
    assert_eq!(fired(&first, "crowd"), [at(2), at(3)]);
    let (_, spent) = scene.charged(&ledger);
    scene.write("job.toml", job.replace("alarms = 2", "alarms = 2, windows = 12"));
    let all = alerts(&scene.done(&["replay", "job.toml"]).out);
    assert_eq!(all[..first.len()], first[..], "the same windows");
    assert_eq!(fired(&all, "crowd"), [at(2), at(3)], "no third alarm");
    let last = all.last().unwrap();
    assert_eq!((last["window"]["start"].as_str(), &last["noise"]["alarms_left"]), (Some(&*at(3)), &0.into()));
    assert_eq!(scene.charged(&ledger).1, spent);
    scene.verify(&ledger);
}
