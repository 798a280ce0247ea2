//! A demonstration and a real run of one job differ only in the source of noise and in the exact values of
//! lines.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::jobs::{HEADER, PAGES, SECOND, exact, line};
use crate::refusals::{FROM, change};
use crate::scene::Scene;
use crate::size;

/// The parts of a line that are neither drawn nor counted: its window, its key if keys are listed, its noise
/// with its error bound, its privacy cost, its id.
fn settled(line: &str, listed: &BTreeSet<String>) -> Option<String> {
    let Value::Object(line) = serde_json::from_str(line).unwrap() else { panic!("{line}") };
    let release = line["release"].as_str().unwrap();
    let is_listed = listed.contains(release);
    if line.contains_key("value") && !is_listed {
        // Discovered keys depend on noise; the fields of their release do not.
        let parts = ["release", "window", "noise", "confidence", "id", "promise"];
        let parts: Map<String, Value> =
            parts.into_iter().map(|part| (part.to_owned(), line[part].clone())).collect();
        return Some(Value::Object(parts).to_string());
    }
    // A mean is a ratio of two draws, and so is its interval.
    let is_mean = line.get("noise").is_some_and(Value::is_array);
    let mut said = Map::new();
    for (name, value) in line {
        match name.as_str() {
            // The exact values and the mark that a demonstration adds.
            "tally" | "truth" | "demo" | "off" => {}
            // The sequence number of a row in its ledger, and the hash of all rows before it.
            "seq" | "chain" | "ledger" => {}
            "cells" if !is_listed => {}
            "value" => {}
            "interval" if is_mean => {}
            "interval" => {
                let [low, high] = [&value[0], &value[1]].map(|end| end.as_f64().unwrap_or(f64::NAN));
                // To a millionth, since both ends are rounded.
                said.insert(name, json!(((high - low) * 1e6).round()));
            }
            _ => _ = said.insert(name, value),
        }
    }
    Some(Value::Object(said).to_string())
}

/// Compares the two for a job whose ledger is at `ledger`.
fn compare(name: &str, scene: &Scene, ledger: &str) {
    scene.done(&["ledger", "init", ledger, "--config", "job.toml"]);
    let plan: Value = serde_json::from_str(&scene.done(&["plan", "job.toml", "--json"]).out).unwrap();
    let text = scene.read("job.toml");
    let listed: BTreeSet<String> = text
        .split("[[release]]")
        .skip(1)
        .filter(|release| {
            !release.contains("\"discover\"") && !release.contains("max ") && !release.contains("quantile ")
        })
        .map(|release| release.split("name").nth(1).unwrap().split('"').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(plan["releases"].as_array().unwrap().len(), text.matches("\n[[release]]").count(), "{name}");
    let [demo, real] =
        [&["replay", "job.toml", "--demo"][..], &["replay", "job.toml"]].map(|way| scene.run(way));
    assert_eq!(demo.code, real.code, "{name}: {demo:?} {real:?}");
    assert!(demo.out.lines().all(|line| line.contains("\"demo\":true")) && !real.out.contains("\"demo\""));
    assert!(!real.out.contains("\"truth\"") && !real.out.contains("\"tally\""), "{name}");
    let all =
        |said: &str| -> BTreeSet<String> { said.lines().filter_map(|line| settled(line, &listed)).collect() };
    let (demo, real) = (all(&demo.out), all(&real.out));
    assert!(!real.is_empty(), "{name}");
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
        // A window without a discovered key has only its closing line.
        let lone: Vec<String> = one
            .difference(other)
            .filter(|line| line.contains("\"closed\"") || !line.contains("\"noise\""))
            .cloned()
            .collect();
        let cells: Vec<String> = one
            .difference(other)
            .filter(|line| listed.iter().any(|release| line.contains(&format!("\"release\":\"{release}\""))))
            .cloned()
            .collect();
        (lone, cells)
    };
    assert_eq!(only(&demo, &real), (Vec::new(), Vec::new()), "{name}: only in the demonstration");
    assert_eq!(only(&real, &demo), (Vec::new(), Vec::new()), "{name}: only in the real run");
}

// Refutes a demonstration that differs from the job that then runs: in windows, keys, costs, noise, names or
// codes.
#[test]
fn a_demonstration_settles_what_a_real_run_does() {
    let log: String =
        (0..60).map(|at| line(at % 20, FROM + at * SECOND / 20, PAGES[at as usize % 3])).collect();
    let small = |changes: &[(&str, &str)]| {
        let scene = Scene::new("same");
        scene.write("job.toml", exact(FROM, Some(FROM + 3 * SECOND)));
        scene.write("visits.csv", HEADER.to_owned() + &log);
        changes.iter().for_each(|(old, new)| change(&scene, old, new));
        scene
    };
    let sum = "sum = { of = \"person\", range = [0, 9], by = \"page\", keys = [\"a\", \"b\", \"c\"] }";
    let count = "count = { by = \"page\", keys = [\"a\", \"b\", \"c\"] }";
    for changes in [
        &[][..],
        &[("version = 1", "version = 7")],
        &[("promise = \"lifetime\"", "promise = \"any 2s\"")],
        &[("late = \"500ms\"", "order = \"sorted\"")],
        &[(count, sum)],
        &[("person = { field = \"person\", missing = \"drop\" }", "unit = \"record\"")],
        &[("late = \"500ms\"", "bad = { lines = 3 }"), ("every = \"1s\"", "every = \"all\"")],
    ] {
        compare(&format!("{changes:?}"), &small(changes), "job.ledger");
    }
    // Unreadable input ends both.
    let scene = small(&[]);
    scene.write("visits.csv", HEADER.to_owned() + &log + "x,y,z\n");
    scene.init();
    assert_eq!(scene.run(&["replay", "job.toml", "--demo"]).code, Some(65));
    assert_eq!(scene.run(&["replay", "job.toml"]).code, Some(65));

    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, data) in [
        ("quickstart", None),
        ("reviews", Some("reviews.csv.bz2")),
        ("running", Some("reviews.csv.bz2")),
        ("retail", Some("retail.csv.gz")),
        ("access_log", Some("access.log.gz")),
    ] {
        // Half a million rows, four times.
        if data == Some("reviews.csv.bz2") && size(0, 1) == 0 {
            continue;
        }
        let scene = Scene::new(name);
        let text = fs::read_to_string(project.join("config").join(format!("{name}.toml"))).unwrap();
        scene.write(
            "job.toml",
            text.replace("rows   = 400000", "rows   = 4000").replace("people = 20000", "people = 200"),
        );
        fs::create_dir(scene.at("state")).unwrap();
        if let Some(data) = data {
            let path = project.join("../shared/data").join(data);
            if !path.exists() {
                println!("skipped: no ../shared/data: {name} is not compared");
                continue;
            }
            std::os::unix::fs::symlink(path, scene.at(data)).unwrap();
        }
        compare(name, &scene, &format!("state/{name}.ledger"));
    }
}
