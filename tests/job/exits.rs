//! The exit codes of the command: each is reached, and OPERATING.md and `--help` list these and no others.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::refusals::{change, scene};
use crate::scene::{Said, Scene};

/// A scene that ends with an exit code.
type Ending = fn(&Scene) -> Said;

/// A way to reach each exit code, except for those below.
const REACHED: [(i32, Ending); 7] = [
    (0, |scene| scene.run(&["replay", "job.toml"])),
    (2, |scene| scene.run(&["replay", "job.toml", "--no-such-option"])),
    (65, |scene| {
        scene.write("visits.csv", "person,time,page\nx,y,z\n");
        scene.run(&["replay", "job.toml"])
    }),
    (69, |scene| scene.run(&["replay", "job.toml", "--from", "nowhere.csv"])),
    (74, |scene| scene.run(&["replay", "job.toml", "--out", "/dev/full"])),
    (75, |scene| {
        // A second version is charged again, for windows of which the whole budget holds 24.
        change(scene, "epsilon = 480", "epsilon = 60");
        fs::remove_file(scene.at("job.ledger")).unwrap();
        scene.init();
        scene.done(&["replay", "job.toml"]);
        change(scene, "version = 1", "version = 2");
        scene.run(&["replay", "job.toml"])
    }),
    (78, |scene| scene.run(&["replay", "nowhere.toml"])),
];

/// The memory limit is reached in `memory.rs`, since it takes a while. An audit refutes no job of an honest build: that a mistake is
/// found is shown by the tests of `operators/job/audit`.
const ELSEWHERE: [i32; 2] = [1, 70];

/// The codes at the starts of lines, in a page of help or a table.
fn listed(text: &str, start: &str) -> BTreeSet<i32> {
    let codes = text.lines().filter_map(|line| line.strip_prefix(start)?.split_whitespace().next());
    codes.flat_map(|code| code.trim_end_matches(',').parse()).collect()
}

// Refutes a code without a page, one that nothing reaches, and pages that differ.
#[test]
fn every_exit_code_is_reached_and_is_in_every_page() {
    let mut reached: BTreeSet<i32> = ELSEWHERE.into();
    for (code, reach) in REACHED {
        let said = reach(&scene());
        assert_eq!(said.code, Some(code), "{said:?}");
        reached.insert(code);
    }
    let manual = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("OPERATING.md")).unwrap();
    let section = manual.split("## Exit codes").nth(1).unwrap().split("\n## ").next().unwrap();
    assert_eq!(listed(section, "| "), reached);
    for help in ["--help", "help"] {
        let page = Scene::new("help").done(&[help]).out;
        assert_eq!(listed(page.split("Exit codes:").nth(1).unwrap(), " "), reached, "{page}");
    }
}

/// Runs a line in a shell; returns the exit code of `discreet`, and standard error.
fn shell(scene: &Scene, line: &str) -> (i32, String) {
    let line = line.replace("discreet", env!("CARGO_BIN_EXE_discreet"));
    let directory = scene.at(".");
    let out = Command::new("bash")
        .args(["-c", &format!("set -o pipefail; {line}")])
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (out.status.code().unwrap(), String::from_utf8(out.stderr).unwrap())
}

// Refutes an output that is too large and is reported as a fault of the program, and one that is reported
// without its path.
#[test]
fn an_output_past_the_limit_on_files_is_reported_and_loses_nothing() {
    let scene = scene();
    scene.write("large", vec![b'x'; 8 << 20]);
    let limited = "(ulimit -f 8192; discreet replay job.toml >> large)";
    let (code, said) = shell(&scene, limited);
    assert!(code == 74 && said.contains("standard output: it cannot be written ("), "{code} {said}");
    assert!(said.contains("`ulimit -f`") && said.contains("the ledger holds every window"), "{said}");
    assert_eq!(scene.charged("job.ledger").0, 2);
    let (code, limit) = shell(&scene, "(ulimit -f 1; discreet replay job.toml --demo > /dev/null)");
    assert!(code != 0 && limit.contains("could not be made") && limit.contains("`ulimit -f`"), "{limit}");
    let (code, said) = shell(&scene, "(ulimit -f 8192; discreet replay job.toml --demo >> large)");
    assert!(code == 74 && said.contains("standard output: it cannot be written ("), "{code} {said}");
    let (code, said) = shell(&scene, "discreet replay job.toml --out /dev/full");
    assert!(code == 74 && said.contains("/dev/full: it cannot be written ("), "{code} {said}");
    scene.done(&["replay", "job.toml", "--out", "releases.jsonl"]);
    assert_eq!(scene.read("releases.jsonl").matches("\"closed\":true").count(), 2);
    assert_eq!(scene.charged("job.ledger").0, 2, "nothing is paid for twice");
}

// Refutes lines that vanish silently, a reader that closes the pipe and is reported as a fault of the
// program, and a window that is lost or charged twice.
#[test]
fn a_closed_standard_output_is_reported_and_loses_nothing() {
    let scene = scene();
    let (code, said) = shell(&scene, "discreet replay job.toml >&-");
    assert!(code == 74 && said.contains("standard output is closed") && said.contains("--out"), "{said}");
    assert_eq!(scene.charged("job.ledger").0, 0, "nothing is charged for lines that would vanish");
    assert_eq!(shell(&scene, "discreet replay job.toml --out releases.jsonl >&-").0, 0);
    let whole = scene.read("releases.jsonl");

    // More lines than a pipe holds, so that its reader is gone before all of them are written.
    let scene = self::scene();
    let keys: Vec<String> = (0..6_000).map(|key| format!("\"page-{key}\"")).collect();
    change(&scene, "\"a\", \"b\", \"c\"", &format!("\"a\", {}", keys.join(", ")));
    let (code, said) = shell(&scene, "discreet replay job.toml | head -1");
    assert_eq!(code, 74, "{said}");
    assert!(said.contains("closed by its reader") && said.contains("nothing is lost"), "{said}");
    scene.done(&["replay", "job.toml", "--out", "releases.jsonl"]);
    let printed = scene.read("releases.jsonl");
    assert_eq!(printed.matches("\"closed\":true").count(), 2);
    assert_eq!(scene.charged("job.ledger").0, 2);
    let (code, said) = shell(&scene, "discreet replay job.toml --demo | head -1");
    assert!(code == 74 && said.contains("the rest of the demonstration is not shown"), "{said}");
    assert_eq!(whole.matches("\"closed\":true").count(), 2);
}
