//! Invalid paths of outputs, each refused by a check, a replay and a run in the same words; and pipes, whose
//! runs can be stopped while they have no reader.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::Command;

use rustix::process::Signal;

use crate::fresh;
use crate::jobs::{SECOND, exact, log};
use crate::scene::{Scene, now, until};

/// The job with an anchor.
fn anchored(name: &str) -> Scene {
    let scene = fresh(name);
    let with_anchor = "ledger = \"job.ledger\"\nanchor = \"job.anchor\"";
    scene.write("job.toml", scene.read("job.toml").replace("ledger = \"job.ledger\"", with_anchor));
    scene
}

// Refutes lines that are lost in a file of the ledger, and a job that cannot start again because of its own
// output.
#[test]
fn an_output_or_a_report_that_is_a_file_of_the_job_is_refused() {
    let scene = anchored("outputs-own");
    symlink("job.anchor", scene.at("link.jsonl")).unwrap();
    symlink("job.anchor", scene.at("link.html")).unwrap();
    let lock = "ledger-12.web.lock";
    for (name, field) in [
        ("job.toml", "the job"),
        ("visits.csv", "source.path"),
        ("job.ledger.key", "privacy.key"),
        ("job.ledger", "privacy.ledger"),
        ("job.ledger-wal", "privacy.ledger"),
        ("job.ledger-shm", "privacy.ledger"),
        ("./job.ledger-journal", "privacy.ledger"),
        (lock, "privacy.ledger"),
        ("job.anchor", "privacy.anchor"),
        ("link.jsonl", "privacy.anchor"),
    ] {
        let words = format!("--out: {name} is the file of {field}; give the path of another file");
        for command in [
            &["check", "job.toml", "--connect"][..],
            &["replay", "job.toml"],
            &["replay", "job.toml", "--demo"],
        ] {
            let said = scene.run(&[command, &["--out", name]].concat());
            assert!(said.code == Some(78) && said.err.contains(&words), "{command:?} {name}: {said:?}");
        }
    }
    let said = scene.run(&["replay", "job.toml", "--report", "link.html"]);
    let words = "--report: link.html is the file of privacy.anchor";
    assert!(said.code == Some(78) && said.err.contains(words), "{said:?}");
    assert!(!scene.at("job.anchor").exists(), "a refused run made an anchor");
    // None of these names is a name of the ledger's files.
    scene.done(&["replay", "job.toml", "--out", "job.ledger.jsonl", "--report", "job.anchor.html"]);
    scene.verify("job.ledger");
}

// Refutes a check that passes a path which a run refuses.
#[test]
fn a_path_that_no_file_can_have_is_refused_by_a_check_and_a_run_alike() {
    let scene = fresh("outputs-nowhere");
    fs::create_dir(scene.at("directory")).unwrap();
    for (link, target) in [
        ("to-directory", "directory"),
        ("astray", "nowhere/releases.jsonl"),
        ("circle", "circle"),
        ("kept", "new.jsonl"),
    ] {
        symlink(target, scene.at(link)).unwrap();
    }
    for (path, words) in [
        ("directory", "--out directory: found a directory"),
        ("to-directory", "--out to-directory: found a directory"),
        ("new/", "--out new/: found a directory"),
        ("nowhere/releases.jsonl", "--out nowhere/releases.jsonl: there is no directory nowhere; make it"),
        ("astray", "--out astray: is a symbolic link, and there is no directory nowhere; make it"),
        ("circle", "--out circle: found"),
        (
            "job.toml/releases.jsonl",
            "--out job.toml/releases.jsonl: found a file where its path has a directory",
        ),
        ("/proc/releases.jsonl", "--out /proc/releases.jsonl: found"),
    ] {
        let [check, replay] =
            [&["check", "job.toml", "--connect", "--out", path][..], &["replay", "job.toml", "--out", path]]
                .map(|command| scene.run(command));
        assert!(check.code == Some(78) && check.err.contains(words), "{path}: {check:?}");
        assert_eq!((check.code, &check.err), (replay.code, &replay.err), "{path}");
    }
    scene.done(&["check", "job.toml", "--connect", "--out", "kept"]);
    let left = fs::read_dir(scene.at(".")).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with(".discreet")).collect();
    assert!(left.is_empty() && !scene.at("new.jsonl").exists(), "a check left {left:?}");
    // An anchor is refused in the same words, and a foreign file under the name of a new anchor is left as it
    // is.
    let job = scene.read("job.toml");
    let anchored = |anchor: &str| {
        let line = format!("ledger = \"job.ledger\"\nanchor = \"{anchor}\"");
        scene.write("job.toml", job.replace("ledger = \"job.ledger\"", &line));
    };
    for (anchor, words) in [
        ("/proc/self/job.anchor", "anchor /proc/self/job.anchor: "),
        ("directory", "anchor directory: it is no regular file"),
        ("astray", "anchor astray: it is a symbolic link that leads nowhere"),
    ] {
        anchored(anchor);
        let [check, replay] = [&["check", "job.toml", "--connect"][..], &["replay", "job.toml"]]
            .map(|command| scene.run(command));
        assert!(check.code == Some(74) && check.err.contains(words), "{anchor}: {check:?}");
        assert_eq!((check.code, &check.err), (replay.code, &replay.err), "{anchor}");
    }
    anchored("job.anchor");
    scene.write("job.anchor.new", "of somebody");
    scene.done(&["replay", "job.toml", "--out", "anchored.jsonl"]);
    assert_eq!(scene.read("job.anchor.new"), "of somebody");
    assert!(scene.at("job.anchor").exists());
    scene.write("job.toml", job);
    scene.done(&["replay", "job.toml", "--out", "kept"]);
    assert!(scene.read("new.jsonl").lines().count() > 1);
    scene.done(&["check", "job.toml", "--connect", "--out", "kept"]);
    assert_eq!(scene.done(&["replay", "job.toml", "--out", "-"]).out, scene.read("new.jsonl"));
    scene.done(&["check", "job.toml", "--connect", "--out", "-"]);
    assert!(!scene.at("-").exists());
}

// Refutes a run that hangs in opening a pipe, where only SIGKILL ends it.
#[test]
fn a_pipe_is_waited_for_until_it_has_a_reader_or_the_run_is_stopped() {
    let scene = fresh("outputs-pipe");
    assert!(Command::new("mkfifo").arg(scene.at("pipe")).status().unwrap().success());
    let replay = ["replay", "job.toml", "--out", "pipe"];
    scene.done(&["check", "job.toml", "--connect", "--out", "pipe"]);
    for command in [&replay[..], &["run", "job.toml", "--out", "pipe"]] {
        let waiting = scene.start(command);
        until("a reader is waited for", || {
            waiting.said().1.contains("--out: pipe is a pipe that nobody reads; it is waited for")
        });
        waiting.signal(Signal::TERM);
        let said = waiting.end();
        assert!(said.code == Some(78) && said.err.contains("start its reader"), "{said:?}");
    }
    let waiting = scene.start(&replay);
    let mut lines = String::new();
    let mut reader = File::open(scene.at("pipe")).unwrap();
    std::io::Read::read_to_string(&mut reader, &mut lines).unwrap();
    assert_eq!(waiting.end().code, Some(0));
    scene.done(&["replay", "job.toml", "--out", "releases.jsonl"]);
    assert_eq!(lines, scene.read("releases.jsonl"));
}

// Refutes a new file that lacks windows which left before, one that stays without them after a kill, and a
// window that is in it twice.
#[test]
fn a_new_file_receives_what_left_before_and_the_rest_after_a_kill() {
    let scene = fresh("outputs-new");
    scene.done(&["replay", "job.toml", "--out", "first.jsonl"]);
    let (lines, charged) = (scene.read("first.jsonl"), scene.charged("job.ledger"));
    let sorted = |name: &str| {
        let mut lines: Vec<String> = scene.read(name).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    for (command, name) in [("run", "run.jsonl"), ("replay", "replay.jsonl")] {
        scene.done(&[command, "job.toml", "--out", name]);
        assert_eq!(scene.read(name), lines, "{command}");
        // A kill while it was written: a part of its lines, the last of them torn.
        for rest in [lines.len() / 2, lines.len() - 1, 10] {
            scene.write(name, &lines[..rest]);
            scene.done(&[command, "job.toml", "--out", name]);
            assert_eq!(sorted(name), sorted("first.jsonl"), "{command} {rest}");
        }
        scene.done(&[command, "job.toml", "--out", "all.csv"]);
        assert_eq!(scene.read("all.csv").lines().count(), lines.lines().count() + 1);
    }
    assert_eq!(scene.charged("job.ledger"), charged);
}

// Refutes a report of releases that a demonstration overwrites, and a budget that is spent before two outputs
// are compared.
#[test]
fn a_report_is_kept_from_demonstrations_and_from_the_lines() {
    let scene = fresh("outputs-report");
    let same = ["replay", "job.toml", "--out", "both.html", "--report", "both.html"];
    let said = scene.run(&same);
    assert!(
        said.code == Some(78) && said.err.contains("--report: both.html is the file of --out"),
        "{said:?}"
    );
    assert_eq!(scene.charged("job.ledger").0, 0);
    for name in ["page.html", "page.svg"] {
        let real = ["replay", "job.toml", "--out", "releases.jsonl", "--report", name];
        let demo = ["replay", "job.toml", "--demo", "--report", name];
        scene.done(&demo);
        scene.done(&demo);
        scene.done(&real);
        let held = scene.read(name);
        let said = scene.run(&demo);
        let words = format!("--report: {name} holds a report of releases, and is left as it is");
        assert!(said.code == Some(78) && said.err.contains(&words), "{said:?}");
        assert_eq!(scene.read(name), held);
        scene.done(&real);
    }
}

// Refutes an anchor that is removed under a live run, which then goes on without one.
#[test]
fn a_run_ends_where_its_anchor_is_gone() {
    let scene = anchored("outputs-anchor");
    let from = now() / SECOND * SECOND - SECOND;
    let job = exact(from, None)
        .replace("ledger = \"job.ledger\"", "ledger = \"live.ledger\"\nanchor = \"job.anchor\"");
    scene.write("live.toml", job);
    scene.write("visits.csv", log(from, 4, 5).0);
    scene.done(&["ledger", "init", "live.ledger", "--config", "live.toml"]);
    let live = scene.start(&["run", "live.toml", "--out", "releases.jsonl"]);
    until("a window is released", || scene.read("releases.jsonl").contains("\"closed\":true"));
    fs::remove_file(scene.at("job.anchor")).unwrap();
    let said = live.end();
    assert!(said.code == Some(74) && said.err.contains("anchor job.anchor: it was removed"), "{said:?}");
    scene.verify("live.ledger");
}
