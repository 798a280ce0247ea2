//! The number of workers and processes does not change the tallies.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use crate::cluster::{beside, chosen, crowd, hosts, set, start_as};
use crate::scene::{Printed, Scene};
use crate::size;

/// A job file of `config/` beside the log that it reads; `None` if the log is missing.
fn example(name: &str, data: Option<&str>) -> Option<Scene> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let job = fs::read_to_string(project.join("config").join(format!("{name}.toml"))).unwrap();
    let scene = Scene::new("workers");
    // Full size only in a full run.
    let (rows, few) = ("rows   = 400000", "rows   = 20000 ");
    scene.write("job.toml", if size(0, 1) == 0 { job.replace(rows, few) } else { job });
    if let Some(data) = data {
        let log = project.join("../shared/data").join(data);
        if !log.exists() {
            println!("skipped: no ../shared/data: {data} is not replayed");
            return None;
        }
        symlink(log, scene.at(data)).unwrap();
    }
    fs::create_dir(scene.at("state")).unwrap();
    hosts(&scene);
    Some(scene)
}

/// The exact numbers in the lines of a demonstration: after contribution bounding and before it, of each
/// cell.
type Exact = BTreeMap<[String; 5], [Value; 2]>;

fn exact(lines: &str) -> Exact {
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let cells = lines.filter(|line| line["closed"] != true).map(|line| {
        assert!(line["refused"].is_null(), "{line}");
        let place = ["release", "window", "key", "q", "of"].map(|field| line[field].to_string());
        (place, ["tally", "truth"].map(|field| line[field].clone()))
    });
    cells.collect()
}

// Refutes a record that is counted twice or never, or bounded otherwise, with more workers or processes.
#[test]
fn exact_tallies_are_the_same_for_every_number_of_workers_and_processes() {
    let mut examples = vec![("quickstart", None), ("access_log", Some("access.log.gz"))];
    if size(0, 1) == 1 {
        examples.push(("reviews", Some("reviews.csv.bz2")));
        examples.push(("retail", Some("retail.csv.gz")));
        examples.push(("running", Some("reviews.csv.bz2")));
    }
    for (name, data) in examples {
        let Some(scene) = example(name, data) else { continue };
        let one = exact(&scene.done(&["replay", "job.toml", "--demo"]).out);
        assert!(
            one.values().flatten().any(|number| number.as_f64().is_some_and(|number| number > 0.0)),
            "{name}"
        );
        let same = |what: &str, other: Exact| {
            // The set of discovered keys depends on noise; the tallies of a key in both do not.
            let common = one.keys().filter(|place| other.contains_key(*place)).count();
            assert!(2 * common > one.len(), "{name}, {what}: {common} of {}", one.len());
            for (place, numbers) in &other {
                assert!(one.get(place).is_none_or(|own| own == numbers), "{name}, {what}: {place:?}");
            }
        };
        for workers in ["2", "3", "4"] {
            same(workers, exact(&scene.done(&["replay", "job.toml", "--demo", "-w", workers]).out));
        }
        let lives =
            [0, 1].map(|process| start_as(&scene, process, &["replay", "job.toml", "--demo", "-w", "2"]));
        for said in lives.map(|life| life.end()) {
            assert_eq!(said.code, Some(0), "{name}: {said:?}");
        }
        same("two processes", exact(&scene.read("releases.jsonl")));
    }
}

// Refutes a number of workers with which a job never ends, and one that counts otherwise.
#[test]
fn a_number_of_workers_does_its_work_or_is_refused() {
    let scene = set(&chosen(), &crowd());
    for workers in ["0", "1000"] {
        for command in ["replay", "run"] {
            let said = scene.run(&[command, "job.toml", "-w", workers]);
            assert_eq!(said.code, Some(78), "{workers}: {said:?}");
            assert!(said.err.starts_with("error: workers: found "), "{workers}: {said:?}");
        }
    }
    let printed = |workers: &str| {
        // With a ledger of its own: one ledger would repeat its released lines.
        let scene = beside(&scene);
        scene.done(&["replay", "job.toml", "--out", "releases.jsonl", "-w", workers]);
        Printed::of(&scene.read("releases.jsonl")).values()
    };
    let one = printed("1");
    for workers in ["2", "8", "64"] {
        assert_eq!(printed(workers), one, "{workers}");
    }
}

/// Releases of one input with unequal work, of which one keeps a state from window to window.
const SEVERAL: &str = r#"
[job]
name = "several"
version = 1
from = "2026-01-01T00:00:00Z"
until = "2026-01-02T00:00:00Z"

[source]
type = "synthetic"
people = 2000
rows = 20000
keys = 40
seed = 1

[privacy]
person = { field = "user", missing = "drop" }
promise = "lifetime"
budget = { rho = 100.0 }
ledger = "budget.ledger"
account = "several"

[[release]]
name = "visitors"
every = "1 hour"
people = {}
running = true
noise = "gaussian"
cost = { rho = 1.0 }

[[release]]
name = "middle"
every = "2 hours"
quantile = { of = "value", q = [0.5], range = [0, 120], step = 1 }
bound = { per_key = 3 }
noise = "exponential"
cost = { rho = 0.1 }

[[release]]
name = "every_half_hour"
every = "30 minutes"
count = {}
bound = { per_key = 3 }
noise = "gaussian"
cost = { rho = 0.1 }
"#;

// Refutes rows whose numbers, and lines whose places, depend on the release that was ready first.
#[test]
fn windows_of_several_releases_come_in_one_order() {
    let scene = Scene::new("several");
    scene.write("job.toml", SEVERAL);
    let mut rows = None;
    for (time, workers) in ["1", "2", "4", "2", "4", "1"].into_iter().enumerate() {
        let (ledger, out) = (format!("budget-{time}.ledger"), format!("releases-{time}.jsonl"));
        scene.write("job.toml", SEVERAL.replace("budget.ledger", &ledger));
        scene.done(&["ledger", "init", &ledger, "--config", "job.toml"]);
        scene.done(&["replay", "job.toml", "--out", &out, "-w", workers]);
        let lines = scene.read(&out);
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let closed: Vec<(String, String, u64)> = lines
            .filter(|line| line["closed"] == true)
            .map(|line| {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                (text(&line["window"]["end"]), text(&line["release"]), line["seq"].as_u64().unwrap())
            })
            .collect();
        assert_eq!(closed.len(), 24 + 12 + 48);
        // By the end of the window, then by name; rows are in the same order.
        let mut sorted = closed.clone();
        sorted.sort();
        assert_eq!(closed, sorted, "{workers} workers");
        assert!(closed.windows(2).all(|pair| pair[0].2 < pair[1].2), "{workers} workers");
        assert_eq!(rows.get_or_insert(closed.clone()), &closed, "{workers} workers");
        // The ledger repeats the same bytes.
        for workers in ["1", "4"] {
            let again = scene.done(&["replay", "job.toml", "-w", workers]);
            assert!(again.out == scene.read(&out), "{workers} workers, again");
            let copy = format!("again-{time}-{workers}.jsonl");
            scene.done(&["replay", "job.toml", "--out", &copy, "-w", workers]);
            assert!(scene.read(&copy) == scene.read(&out), "{workers} workers, into a new file");
        }
    }
}
