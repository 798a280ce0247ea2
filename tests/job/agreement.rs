//! Two processes that read copies of an input: equal copies in any place, and different ones.

use std::fs;

use crate::cluster::{WINDOWS, beside, chosen, crowd, hosts, set, start_as};
use crate::in_parallel;
use crate::jobs::{HEADER, tallies};
use crate::scene::{Printed, Said, Scene};

/// A job for two processes, each of which reads its own directory.
fn copies(path: &str) -> Scene {
    let scene = set(&chosen().replace("path = \"visits.csv\"", &format!("path = \"0/{path}\"")), "");
    scene.write("job-1.toml", scene.read("job.toml").replace("path = \"0/", "path = \"1/"));
    for process in ["0", "1"] {
        fs::create_dir(scene.at(process)).unwrap();
    }
    scene
}

/// Runs both processes and returns their ends.
fn both(scene: &Scene, command: &str) -> [Said; 2] {
    let jobs = ["job.toml", "job-1.toml"];
    [0, 1]
        .map(|process| start_as(scene, process, &[command, jobs[process], "-w", "2"]))
        .map(|life| life.end())
}

/// The text in two files, each with a header.
fn halves() -> [String; 2] {
    let text = crowd();
    let middle = text.match_indices('\n').nth(13_000).unwrap().0 + 1;
    [text[..middle].to_owned(), HEADER.to_owned() + &text[middle..]]
}

// Refutes processes that read different files, and together release what neither would alone: with half a
// copy at one of them, a total lacks a quarter of the lines, and both end well.
#[test]
fn processes_that_read_different_files_end_and_seal_nothing() {
    type Differ = fn(&Scene);
    let cases: [(&str, &str, Differ); 4] = [
        ("a.csv", "a.csv", |scene| {
            // Half a copy, which ends with a whole line.
            scene.write("0/a.csv", crowd());
            scene.write("1/a.csv", &halves()[0]);
        }),
        ("a.csv", "a.csv", |scene| {
            // One byte of one line, in the last chunk.
            let mut text = crowd().into_bytes();
            scene.write("0/a.csv", &text);
            let last = text.len() - 2;
            text[last] = b'a';
            scene.write("1/a.csv", &text);
        }),
        ("*.csv", "b.csv", |scene| {
            // A file that is missing.
            scene.write("0/a.csv", &halves()[0]);
            scene.write("0/b.csv", &halves()[1]);
            scene.write("1/a.csv", &halves()[0]);
        }),
        ("*.csv", ".csv", |scene| {
            // The same files in another order.
            scene.write("0/a.csv", &halves()[0]);
            scene.write("0/b.csv", &halves()[1]);
            scene.write("1/a.csv", &halves()[1]);
            scene.write("1/b.csv", &halves()[0]);
        }),
    ];
    let cases = cases.into_iter().flat_map(|case| ["replay", "run"].map(|command| (case, command)));
    in_parallel(cases.collect(), |((path, file, differ), command)| {
        let scene = copies(path);
        differ(&scene);
        let file = if (command, path, file) == ("replay", "*.csv", "b.csv") { "2 files" } else { file };
        for said in both(&scene, command) {
            assert_eq!(said.code, Some(65), "{command} {path}: {said:?}");
            for word in [file, "the processes read different files", "process 0 (127.", "process 1 (127."] {
                assert!(said.err.contains(word), "{command} {path}: {word}: {said:?}");
            }
        }
        assert_eq!(scene.charged("job.ledger").0, 0, "{command} {path}");
        assert_eq!(scene.read("releases.jsonl"), "", "{command} {path}");
    });
}

// Refutes a process that is refused because its copy is in another place, or has another name; and lines that
// are read twice or never because chunks depend on names.
#[test]
fn equal_copies_may_lie_anywhere() {
    let total =
        |scene: &Scene| tallies(&Printed::of(&scene.read("releases.jsonl")).values()).values().sum::<i64>();
    for command in ["replay", "run"] {
        let scene = copies("*.csv");
        for (at, half) in halves().iter().enumerate() {
            scene.write(&format!("0/{at}.csv"), half);
            // If files are followed, the processes must agree on the place of a new one among the others.
            let other = if command == "replay" { format!("1/copy-{at}.csv") } else { format!("1/{at}.csv") };
            scene.write(&other, half);
        }
        for said in both(&scene, command) {
            assert_eq!(said.code, Some(0), "{command}: {said:?}");
        }
        assert_eq!(total(&scene), 3_000 * 4, "{command}");
        assert_eq!(scene.charged("job.ledger").0, WINDOWS as u64);
    }
}

// Refutes processes of which each takes its texts for the categories of its own file, of which there are as many, under one name.
#[test]
fn processes_with_different_files_of_categories_end_and_seal_nothing() {
    let count = "count = { by = \"page\", keys = [\"a\", \"b\", \"c\"] }";
    let tables = "marginals = { by = \"page\", tables = [[\"page\"]], categories = { page = { file = \"pages.txt\" } } }";
    let [pure, price] = ["budget = { epsilon = 480 }", "cost = { epsilon = 80 }"];
    let job = chosen().replace("laplace", "gaussian").replace(pure, "budget = { rho = 480 }");
    let job = job.replace(price, "share = 1").replace(count, tables);
    assert!(job.contains(tables) && job.contains("share = 1") && job.contains("rho = 480"), "{job}");
    let scene = set(&chosen(), &crowd());
    let other = beside(&scene);
    for (c, code) in [("C", 78), ("c", 0)] {
        hosts(&scene);
        other.write("hosts", scene.read("hosts"));
        for (scene, c) in [(&scene, "c"), (&other, c)] {
            scene.write("job.toml", &job);
            scene.write("pages.txt", format!("a\nb\n{c}\n"));
        }
        fs::remove_file(scene.at("job.ledger")).unwrap();
        scene.init();
        let lives = [(&scene, 0), (&other, 1)]
            .map(|(scene, process)| start_as(scene, process, &["replay", "job.toml", "-w", "2"]));
        for said in lives.map(|life| life.end()) {
            assert_eq!(said.code, Some(code), "{said:?}");
            assert_eq!(said.err.contains("runs another job file"), code != 0, "{said:?}");
        }
    }
}

// Refutes several standard inputs, which cannot be compared.
#[test]
fn several_processes_read_no_standard_input() {
    let scene = set(&chosen().replace("path = \"visits.csv\"", "path = \"-\""), "");
    for command in ["replay", "run"] {
        let said = start_as(&scene, 0, &[command, "job.toml"]).end();
        assert!(said.code == Some(78) && said.err.contains("source.path: found \"-\""), "{said:?}");
    }
}
