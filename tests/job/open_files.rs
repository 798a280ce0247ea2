//! Live runs over more logs than the process may have files open.

use std::fs::{self, File, OpenOptions};
use std::io::Write;

use rustix::process::Signal;

use crate::jobs::{SECOND, exact, tallies};
use crate::kit::size;
use crate::scene::{Life, Printed, Scene, now, until};

/// Starts a command that may have this number of files open.
fn start_with(scene: &Scene, files: usize, arguments: &[&str]) -> Life {
    let limited = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
    scene.start_through("bash", &["-c", &limited], arguments)
}

fn append(scene: &Scene, log: &str, person: &str, time: i64) {
    let mut log = OpenOptions::new().append(true).create(true).open(scene.at(log)).unwrap();
    let time = format!("{}.{:06}", time / SECOND, time % SECOND);
    writeln!(log, "{{\"person\":\"{person}\",\"time\":{time},\"page\":\"a\"}}").unwrap();
}

/// The number of lines of page a in all windows that were released, or are to be.
fn counted(scene: &Scene) -> i64 {
    let released = scene.read("releases.jsonl");
    let whole =
        released.rfind("\"closed\":true").and_then(|at| Some(at + released.get(at..)?.find('\n')? + 1));
    let values = tallies(&Printed::of(&released[..whole.unwrap_or(0)]).values());
    values.iter().filter(|((_, page), _)| page == "a").map(|(_, value)| value).sum()
}

// Refutes a run that ends since it holds each of its logs open, and one that loses lines or counts them twice since it has
// closed a log that was rotated, to a name of the path or to none of its own.
#[test]
fn more_logs_than_files_that_may_be_open_are_read() {
    let logs = size(300, 1_500);
    for (path, files) in [("log/*.log", 128), ("log", 64)] {
        let scene = Scene::new("open-files");
        fs::create_dir(scene.at("log")).unwrap();
        let from = now() / SECOND * SECOND;
        let job = exact(from, None)
            .replace("type = \"csv\"", "type = \"jsonl\"")
            .replace("visits.csv", path)
            .replace("budget = { epsilon = 480 }", "budget = { epsilon = 450 }")
            .replace("promise = \"lifetime\"", "promise = \"each 10s\"")
            // On a busy machine it takes a while to write all of the logs.
            .replace("late = \"500ms\"", "late = \"2s\"");
        scene.write("job.toml", job);
        scene.init();
        let log = |number: usize| format!("log/l{number}.log");
        let mut written = 0;
        let mut write = |name: &str, round: &str| {
            append(&scene, name, &format!("{name}-{round}"), now());
            written += 1;
            written
        };
        for number in 0..logs {
            write(&log(number), "first");
        }
        let mut life = start_with(&scene, files, &["run", "job.toml", "--out", "releases.jsonl"]);
        let expect = |life: &mut Life, what: &str, lines: i64| {
            until(what, || {
                assert!(!life.has_ended(), "{path} {files}: {what}: {:?}", life.said());
                counted(&scene) >= lines
            });
            assert_eq!(counted(&scene), lines, "{path} {files}: {what}: {:?}", life.said());
        };
        let first = write(&log(0), "again");
        expect(&mut life, "the first lines are counted", first);
        // Some are rotated, and later all of them; each is written on under both of its names.
        let mut last = 0;
        for (round, rotated) in [("some", 20), ("all", logs)] {
            for number in 0..rotated {
                write(&log(number), &format!("{round}-before"));
                let name = scene.at(&log(number));
                let renamed = scene.at(&format!("log/l{number}.log.1"));
                fs::rename(&name, &renamed).unwrap();
                File::create(&name).unwrap();
                write(&format!("log/l{number}.log.1"), &format!("{round}-after"));
            }
            for number in 0..logs {
                last = write(&log(number), &format!("{round}-new"));
            }
            expect(&mut life, round, last);
        }
        life.signal(Signal::TERM);
        let said = life.end();
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(!said.err.contains("gap"), "{said:?}");
        // A restart finds all of them.
        let mut life = start_with(&scene, files, &["run", "job.toml", "--out", "releases.jsonl"]);
        for number in 0..logs {
            last = write(&log(number), "restart");
        }
        expect(&mut life, "a restart", last);
        life.signal(Signal::TERM);
        let said = life.end();
        assert!(said.code == Some(0) && !said.err.contains("gap"), "{said:?}");
    }
}
