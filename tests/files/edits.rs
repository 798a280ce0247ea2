//! Every file of a job, edited between two runs: an older copy, another copy, missing, cut, swapped. A table
//! has the expected end of the next run. In every case, no window has two values and none is uncharged.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::scene::{Printed, Said, Scene};
use crate::{WINDOWS, fresh};

/// The cost of one window: noise of scale 4, at which two draws of a cell are seldom equal.
const COST: f64 = 0.25;

/// A job as `fresh` makes it, with noise that differs from draw to draw.
fn noisy(name: &str) -> Scene {
    let scene = fresh(name);
    let job = scene.read("job.toml").replace("cost = { epsilon = 20 }", "cost = { epsilon = 0.25 }");
    scene.write("job.toml", job);
    scene
}

/// The files of a released job, of the same job before its release, and of another one.
struct Files {
    scene: Scene,
    other: Scene,
}

/// The files that are restored after a run that failed.
const FILES: [&str; 4] = ["job.ledger", "job.ledger.key", "releases.jsonl", "visits.csv"];

const REPLAY: [&str; 4] = ["replay", "job.toml", "--out", "releases.jsonl"];

impl Files {
    fn new() -> Files {
        let (scene, other) = (noisy("edits"), noisy("edits-other"));
        fs::copy(scene.at("job.ledger"), scene.at("older.ledger")).unwrap();
        fs::copy(other.at("job.ledger"), other.at("older.ledger")).unwrap();
        scene.done(&REPLAY);
        other.done(&REPLAY);
        Files { scene, other }
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.scene.at(name)).unwrap()
    }

    /// Puts bytes in the place of a file, without its side files, as a copy does.
    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        self.scene.write(name, bytes);
        if name.ends_with(".key") {
            // The original permissions: other users may not read it.
            fs::set_permissions(self.scene.at(name), fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    fn cut(&self, name: &str, parts: usize) {
        let bytes = self.bytes(name);
        self.put(name, &bytes[..bytes.len() / parts]);
    }

    fn take(&self, from: &str, to: &str) {
        fs::copy(self.other.at(from), self.scene.at(to)).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.scene.at(name)).unwrap();
    }
}

/// An edit of a file, with the expected end of the next run, a part of its message, and a flag for an output
/// that holds every window.
struct Edit {
    name: &'static str,
    edit: fn(&Files),
    code: i32,
    says: &'static str,
    whole: bool,
}

const fn edit(name: &'static str, edit: fn(&Files), code: i32, says: &'static str) -> Edit {
    Edit { name, edit, code, says, whole: code == 0 }
}

const EDITS: [Edit; 30] = [
    edit(
        "ledger: an older copy",
        |files| files.put("job.ledger", files.bytes("older.ledger")),
        74,
        "--anchor 'releases.jsonl'",
    ),
    edit(
        "ledger: of another job",
        |files| files.take("job.ledger", "job.ledger"),
        78,
        "--out releases.jsonl: it holds releases of another ledger",
    ),
    edit(
        "ledger: of another job, with its key",
        |files| {
            files.take("job.ledger", "job.ledger");
            files.take("job.ledger.key", "job.ledger.key");
        },
        78,
        "--out releases.jsonl: it holds releases of another ledger",
    ),
    edit("ledger: missing", |files| files.remove("job.ledger"), 78, "there is no ledger"),
    edit("ledger: cut to its half", |files| files.cut("job.ledger", 2), 74, "ledger repair"),
    edit("ledger: cut to nothing", |files| files.put("job.ledger", ""), 74, "it is empty"),
    edit(
        "ledger: swapped with the key",
        |files| files.put("job.ledger", files.bytes("job.ledger.key")),
        74,
        "no ledger",
    ),
    edit(
        "ledger: swapped with the output",
        |files| files.put("job.ledger", files.bytes("releases.jsonl")),
        74,
        "no ledger",
    ),
    edit("ledger: a log that is none", |files| files.put("job.ledger-wal", [7; 8192]), 0, ""),
    edit(
        "ledger: a rollback journal",
        |files| files.put("job.ledger-journal", [7; 512]),
        74,
        "rollback journal",
    ),
    edit(
        "key: of another ledger",
        |files| files.take("job.ledger.key", "job.ledger.key"),
        78,
        "the key of another ledger",
    ),
    edit(
        "key: of another ledger, before anything was released",
        |files| {
            files.put("job.ledger", files.bytes("older.ledger"));
            files.take("job.ledger.key", "job.ledger.key");
            files.remove("releases.jsonl");
        },
        78,
        "the key of another ledger",
    ),
    edit("key: missing", |files| files.remove("job.ledger.key"), 78, "there is none"),
    edit("key: cut to its half", |files| files.cut("job.ledger.key", 2), 78, "not 32 bytes"),
    edit("key: cut to nothing", |files| files.put("job.ledger.key", ""), 78, "not 32 bytes"),
    edit(
        "key: swapped with the ledger",
        |files| files.put("job.ledger.key", files.bytes("job.ledger")),
        78,
        "not 32 bytes",
    ),
    edit("output: missing", |files| files.remove("releases.jsonl"), 0, ""),
    edit("output: cut in a line", |files| files.cut("releases.jsonl", 3), 0, ""),
    edit("output: cut to nothing", |files| files.put("releases.jsonl", ""), 0, ""),
    edit(
        "output: an older copy, of the first window",
        |files| {
            let printed = files.scene.read("releases.jsonl");
            let end = printed.find("\"closed\"").unwrap();
            let end = end + printed[end..].find('\n').unwrap() + 1;
            files.put("releases.jsonl", &printed[..end]);
        },
        0,
        "",
    ),
    edit("output: its first window torn in its last line", tear_the_first_window, 0, ""),
    edit(
        "output: its first window torn in its last line, beside an older ledger",
        |files| {
            tear_the_first_window(files);
            files.put("job.ledger", files.bytes("older.ledger"));
        },
        74,
        "were published, and this ledger has no row of it",
    ),
    edit(
        "output: of another ledger",
        |files| files.take("releases.jsonl", "releases.jsonl"),
        78,
        "--out releases.jsonl: it holds releases of another ledger",
    ),
    edit(
        "output: swapped with the input",
        |files| files.put("releases.jsonl", files.bytes("visits.csv")),
        78,
        "no line of a release",
    ),
    edit("input: missing", |files| files.remove("visits.csv"), 69, "visits.csv"),
    edit(
        "input: cut in a line",
        |files| files.put("visits.csv", &files.bytes("visits.csv")[..40]),
        65,
        "visits.csv",
    ),
    edit("input: cut to nothing", |files| files.put("visits.csv", ""), 65, "visits.csv"),
    edit(
        "input: swapped with the output",
        |files| files.put("visits.csv", files.bytes("releases.jsonl")),
        65,
        "visits.csv",
    ),
    edit(
        "input: an older copy, half as long",
        |files| {
            let text = files.scene.read("visits.csv");
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            files.put("visits.csv", lines[..lines.len() / 2].concat());
        },
        0,
        "",
    ),
    edit(
        "input: of other people",
        |files| files.put("visits.csv", files.scene.read("visits.csv").replace(",a", ",b")),
        0,
        "",
    ),
];

/// Leaves the values of the first window and half of the line that closes it.
fn tear_the_first_window(files: &Files) {
    let printed = files.scene.read("releases.jsonl");
    files.put("releases.jsonl", &printed[..printed.find("\"closed\"").unwrap()]);
}

type Values = BTreeMap<(String, String, String), Value>;

/// The values in a whole file of releases; empty for any other file.
fn values(scene: &Scene, name: &str) -> Values {
    let printed = scene.read(name);
    let closed = printed.rfind("\"closed\"").and_then(|at| Some(at + printed[at..].find('\n')? + 1));
    if printed.starts_with("{\"release\"") {
        Printed::of(&printed[..closed.unwrap_or(0)]).values()
    } else {
        Values::new()
    }
}

/// The total charge of a ledger; `None` if it cannot be read.
fn charged(scene: &Scene) -> Option<f64> {
    let said = scene.run(&["ledger", "show", "job.ledger", "--json"]);
    let page: Value = serde_json::from_str(&said.out).ok()?;
    page["accounts"]["visits"]["spent"]["epsilon"].as_f64()
}

impl Edit {
    /// Checks the outcome against the table.
    fn complaint(&self) -> Result<(), String> {
        let files = Files::new();
        let scene = &files.scene;
        let before = values(scene, "releases.jsonl");
        let sound: Vec<(&str, Vec<u8>)> = FILES.map(|name| (name, files.bytes(name))).into();
        (self.edit)(&files);
        let kept = scene.read("releases.jsonl");
        let checked = scene.run(&["check", "job.toml", "--connect", "--out", "releases.jsonl"]);
        let said = scene.run(&REPLAY);
        // Only a run reads records.
        if !self.name.starts_with("input: ") && (checked.code, &checked.err) != (said.code, &failure(&said)) {
            return Err(format!("the check says otherwise than the run: {checked:?} {said:?}"));
        }
        let ended = || format!("it ended with {:?} and said {}{}", said.code, said.out, said.err);
        if self.name == "ledger: cut to nothing" && !files.bytes("job.ledger").is_empty() {
            return Err("an empty file became a database".to_owned());
        }
        if said.code != Some(self.code) || !said.err.contains(self.says) {
            return Err(ended());
        }
        let after = values(scene, "releases.jsonl");
        if self.whole && after != before {
            return Err(format!("a window has another value, or none; {}", ended()));
        }
        if !self.whole && scene.read("releases.jsonl") != kept {
            return Err(format!("a run that failed wrote to the output; {}", ended()));
        }
        let spent = charged(scene);
        if self.whole && spent != Some(WINDOWS as f64 * COST) {
            return Err(format!("{spent:?} was charged"));
        }
        if self.whole {
            return Ok(());
        }
        // A run that failed has sealed nothing, and with the files restored, all is as it was.
        if spent.is_some_and(|spent| spent > WINDOWS as f64 * COST) {
            return Err(format!("{spent:?} was charged"));
        }
        for side in ["job.ledger-wal", "job.ledger-shm", "job.ledger-journal"] {
            let _ = fs::remove_file(scene.at(side));
        }
        sound.iter().for_each(|(name, bytes)| files.put(name, bytes));
        let again = scene.run(&REPLAY);
        if again.code != Some(0) || values(scene, "releases.jsonl") != before {
            return Err(format!("it did not go on with its files: {again:?}"));
        }
        Ok(())
    }
}

/// The standard error of a run that failed; empty for one that did not.
fn failure(said: &Said) -> String {
    if said.code == Some(0) { String::new() } else { said.err.clone() }
}

#[test]
fn every_edit_of_a_file_ends_as_the_table_says() {
    let mut against = Vec::new();
    for edit in &EDITS {
        if let Err(complaint) = edit.complaint() {
            against.push(format!("{}: {complaint}", edit.name));
        }
    }
    println!("file edits: {} tried, {} against the table", EDITS.len(), against.len());
    assert!(against.is_empty(), "{}", against.join("\n"));
}

// Refutes a printed command that does not help, and a repair after which a window is drawn again.
#[test]
fn the_command_that_is_printed_for_an_older_copy_repairs_it() {
    let files = Files::new();
    let scene = &files.scene;
    let before = values(scene, "releases.jsonl");
    files.put("job.ledger", files.bytes("older.ledger"));
    let said = scene.run(&REPLAY);
    let command = said.err.split("discreet ledger repair ").nth(1).unwrap().trim();
    assert_eq!(command, "'job.ledger' --accept-loss --reason 'why' --anchor 'releases.jsonl'");
    let repair = ["ledger", "repair", "job.ledger", "--accept-loss", "--reason", "why"];
    let (nothing, printed) =
        (scene.run(&repair), scene.run(&[&repair[..], &["--anchor", "releases.jsonl"]].concat()));
    assert!(nothing.code == Some(78) && nothing.err.contains("--anchor"), "{nothing:?}");
    assert_eq!(printed.code, Some(0), "{printed:?}");
    // The copy is from before the first window, so no cost is known, and all of the budget is charged.
    assert_eq!(charged(scene), Some(480.0));
    let shown = scene.done(&["ledger", "show", "job.ledger"]).out;
    let floor = printed.out.split("starts before ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(shown.contains(&format!("repaired: no window that starts before {floor} is drawn")), "{shown}");
    // A raised cap does not bring a lost window back, so no amendment is suggested.
    let checked = scene.done(&["check", "job.toml", "--connect", "--out", "releases.jsonl"]).out;
    assert!(checked.contains("is lost: it is never drawn") && !checked.contains("amend"), "{checked}");
    for _ in 0..2 {
        let said = scene.run(&REPLAY);
        // Every window starts before the repair.
        assert_eq!(said.code, Some(78), "{said:?}");
        assert!(said.err.contains(&format!("warning: {WINDOWS} windows were lost")), "{said:?}");
        let after = values(scene, "releases.jsonl");
        assert!(
            before.iter().all(|(cell, value)| after.get(cell).is_none_or(|now| now == value)),
            "a second value"
        );
    }
    // Each window has a value and a line of its loss, which says that the value holds.
    let printed = scene.read("releases.jsonl");
    let lost: Vec<&str> = printed.lines().filter(|line| line.contains("\"lost\":true")).collect();
    assert_eq!((before.is_empty(), lost.len()), (false, WINDOWS as usize), "{printed}");
    assert!(lost.iter().all(|line| line.contains("released for it earlier holds")), "{printed}");
    scene.verify("job.ledger");
}

// Refutes published values that are drawn again because the line after them is torn.
#[test]
fn the_values_of_a_torn_window_are_a_witness() {
    for name in ["releases.jsonl", "releases.csv"] {
        let scene = noisy("edits-torn");
        fs::copy(scene.at("job.ledger"), scene.at("older.ledger")).unwrap();
        let replay = ["replay", "job.toml", "--out", name];
        scene.done(&replay);
        let printed = scene.read(name);
        let mark = if name.ends_with(".csv") { ",closed," } else { "\"closed\"" };
        let torn = &printed[..printed.find(mark).unwrap()];
        scene.write(name, torn);
        fs::copy(scene.at("older.ledger"), scene.at("job.ledger")).unwrap();
        let said = scene.run(&replay);
        let words = "values of release visits_by_page, window from 2017-07-14T02:40:00Z to";
        assert!(said.code == Some(74) && said.err.contains(words), "{said:?}");
        assert!(said.err.contains(&format!("--anchor '{name}'")) && scene.read(name) == torn, "{said:?}");
        let repair = ["ledger", "repair", "job.ledger", "--accept-loss", "--reason", "why", "--anchor", name];
        scene.done(&repair);
        // After the repair nothing is in doubt.
        assert_eq!(scene.run(&repair).code, Some(78));
        assert_eq!(charged(&scene), Some(480.0));
        let said = scene.run(&replay);
        assert!(said.code == Some(78) && said.err.contains("windows were lost"), "{said:?}");
        assert!(!scene.read(name).contains(mark), "a window was drawn again");
        scene.verify("job.ledger");
    }
}

// Refutes a printed command that a repair refuses, and one window that is charged by two witnesses.
#[test]
fn the_printed_command_works_with_an_anchor_and_an_output_without_a_row() {
    let scene = noisy("edits-witnesses");
    let with_anchor = "ledger = \"job.ledger\"\nanchor = \"job.anchor\"";
    scene.write("job.toml", scene.read("job.toml").replace("ledger = \"job.ledger\"", with_anchor));
    fs::copy(scene.at("job.ledger"), scene.at("older.ledger")).unwrap();
    scene.done(&REPLAY);
    let printed = scene.read("releases.jsonl");
    // In the second case the last window is torn, and the anchor has its cost.
    for (output, witnesses) in [
        ("", "--anchor 'job.anchor'"),
        (&printed[..printed.len() - 30], "--anchor 'job.anchor' --anchor 'releases.jsonl'"),
    ] {
        fs::copy(scene.at("older.ledger"), scene.at("job.ledger")).unwrap();
        scene.write("releases.jsonl", output);
        let [checked, said] = [&["check", "job.toml", "--connect", "--out", "releases.jsonl"][..], &REPLAY]
            .map(|run| scene.run(run));
        assert_eq!((checked.code, &checked.err), (said.code, &said.err));
        let command = said.err.split("--reason 'why' ").nth(1).unwrap().trim();
        assert_eq!(command, witnesses);
        let mut repair = vec!["ledger", "repair", "job.ledger", "--accept-loss", "--reason", "why"];
        repair.extend(["--anchor", "job.anchor", "--anchor", "releases.jsonl"]);
        scene.done(&repair);
        assert_eq!(charged(&scene), Some(WINDOWS as f64 * COST));
        scene.verify("job.ledger");
    }
    // A named pipe is no witness, and must not block.
    assert!(std::process::Command::new("mkfifo").arg(scene.at("pipe")).status().unwrap().success());
    let repair = ["ledger", "repair", "job.ledger", "--accept-loss", "--reason", "why", "--anchor", "pipe"];
    let said = scene.run(&repair);
    assert!(said.code == Some(74) && said.err.contains("no regular file"), "{said:?}");
}

// A table of releases is a witness, too; the cost of a window is that of another window of its version, if
// there is one.
#[test]
fn a_table_of_releases_is_a_witness_too() {
    let scene = noisy("edits-table");
    let replay = ["replay", "job.toml", "--out", "releases.csv"];
    let job = scene.read("job.toml");
    scene.done(&replay);
    // A second version with one release: the copy is from between the two.
    fs::copy(scene.at("job.ledger"), scene.at("older.ledger")).unwrap();
    scene.write("job.toml", job.replace("version = 1", "version = 2"));
    scene.done(&replay);
    fs::copy(scene.at("older.ledger"), scene.at("job.ledger")).unwrap();
    let said = scene.run(&replay);
    assert_eq!(said.code, Some(74), "{said:?}");
    assert!(said.err.contains("--anchor 'releases.csv'"), "{said:?}");
    let repair =
        ["ledger", "repair", "job.ledger", "--accept-loss", "--reason", "why", "--anchor", "releases.csv"];
    scene.done(&repair);
    // The copy has no window of the second version, so its cost is not known.
    assert_eq!(charged(&scene), Some(480.0));
    let said = scene.run(&replay);
    assert!(said.code == Some(78) && said.err.contains("windows were lost"), "{said:?}");
    let printed = scene.read("releases.csv");
    let lost =
        printed.lines().filter(|line| line.contains(",lost,starts before a repair of the ledger; a value "));
    assert_eq!(lost.count(), WINDOWS as usize, "{printed}");
    scene.verify("job.ledger");
}

// Refutes a sound ledger that is charged for the releases of another one.
#[test]
fn the_output_of_another_ledger_repairs_nothing() {
    let files = Files::new();
    let (scene, foreign) = (&files.scene, files.other.at("releases.jsonl"));
    let before = charged(scene);
    let repair = ["ledger", "repair", "job.ledger", "--accept-loss", "--reason", "why", "--anchor"];
    let said = scene.run(&[&repair[..], &[foreign.to_str().unwrap()]].concat());
    assert!(said.code == Some(78) && said.err.contains("releases of another ledger"), "{said:?}");
    assert_eq!(charged(scene), before);
    scene.done(&REPLAY);
}

// Refutes an older copy that goes unnoticed because the lines go to a new file, and a check that passes what
// a run refuses.
#[test]
fn an_anchor_detects_an_older_copy_and_another_ledger() {
    let files = Files::new();
    let scene = &files.scene;
    let job = scene.read("job.toml");
    scene.write(
        "job.toml",
        job.replace("ledger = \"job.ledger\"", "ledger = \"job.ledger\"\nanchor = \"job.anchor\""),
    );
    let replay = ["replay", "job.toml", "--out", "new.jsonl"];
    let check = ["check", "job.toml", "--connect", "--out", "new.jsonl"];
    scene.write("job.toml", scene.read("job.toml").replace("version = 1", "version = 2"));
    scene.done(&check);
    scene.done(&replay);
    fs::remove_file(scene.at("new.jsonl")).unwrap();
    let (sound, anchor) = (files.bytes("job.ledger"), scene.read("job.anchor"));
    let (title, rows) = anchor.split_once('\n').unwrap();
    let of_another = format!("{} {}\n{rows}", title.rsplit_once(' ').unwrap().0, "7".repeat(64));
    let foreign = of_another.lines().next().unwrap();
    let (older, none) = (files.bytes("older.ledger"), "anchor job.anchor: it is no anchor");
    let another = "anchor job.anchor: it is of another ledger";
    for (ledger, anchor, code, says) in [
        (&older, anchor.as_str(), 74, "--anchor 'job.anchor'"),
        // If it were taken for a new anchor, the older copy would pass.
        (&older, "", 74, "anchor job.anchor: it is empty"),
        (&older, &title[..title.len() - 1], 74, none),
        (&older, "\n", 74, none),
        (&sound, "", 74, "anchor job.anchor: it is empty"),
        (&sound, &of_another, 78, another),
        (&sound, &format!("{foreign}\n"), 78, another),
        (&sound, &format!("{foreign}\n3 12"), 78, another),
        (&sound, &anchor, 0, ""),
        (&sound, &format!("{anchor}3 12"), 0, ""),
    ] {
        files.put("job.ledger", ledger);
        files.put("job.anchor", anchor);
        let [checked, said] = [&check[..], &replay].map(|command| {
            let said = scene.run(command);
            assert!(said.code == Some(code) && said.err.contains(says), "{command:?}: {said:?}");
            assert!(code == 0 || scene.read("job.anchor") == anchor, "{command:?} wrote to it: {anchor:?}");
            failure(&said)
        });
        assert_eq!(checked, said);
    }
    // A check reports the faults in the order of a run: the output, then the key, then the anchor.
    files.put("job.anchor", &of_another);
    files.take("releases.jsonl", "foreign.jsonl");
    let key = files.bytes("job.ledger.key");
    for (out, ledger, says) in [
        ("foreign.jsonl", &sound, "--out foreign.jsonl: it holds releases of another ledger"),
        ("releases.jsonl", &sound, "key job.ledger.key: it is the key of another ledger"),
    ] {
        files.put("job.ledger", ledger);
        files.take("job.ledger.key", "job.ledger.key");
        for command in
            [&["check", "job.toml", "--connect", "--out", out][..], &["replay", "job.toml", "--out", out]]
        {
            let said = scene.run(command);
            assert!(said.code == Some(78) && said.err.contains(says), "{command:?}: {said:?}");
        }
    }
    files.put("job.ledger.key", key);
    // A refused run makes no anchor, completes no torn line of one, and leaves a torn row in its output.
    let printed = scene.read("releases.jsonl") + "{\"release\":";
    scene.write("releases.jsonl", &printed);
    std::os::unix::fs::symlink("nothing.jsonl", scene.at("link.jsonl")).unwrap();
    for held in [Some(format!("{anchor}3 12")), None] {
        files.put("job.ledger", &older);
        match &held {
            Some(held) => files.put("job.anchor", held),
            None => files.remove("job.anchor"),
        }
        let said = scene.run(&["replay", "job.toml", "--out", "releases.jsonl"]);
        assert_eq!(said.code, Some(74), "{said:?}");
        assert_eq!(said.err.contains("--anchor 'job.anchor'"), held.is_some(), "{said:?}");
        assert_eq!(scene.at("job.anchor").exists().then(|| scene.read("job.anchor")), held);
        assert_eq!(scene.read("releases.jsonl"), printed);
        if held.is_some() {
            let said = scene.run(&["replay", "job.toml", "--out", "link.jsonl"]);
            assert!(said.code == Some(74) && !scene.at("nothing.jsonl").exists(), "{said:?}");
        }
    }
    files.put("job.ledger", &sound);
    files.put("job.anchor", &anchor);
    // An unmounted disk is no reason to start a new ledger.
    fs::remove_file(scene.at("job.anchor")).unwrap();
    std::os::unix::fs::symlink("away/job.anchor", scene.at("job.anchor")).unwrap();
    for command in [&check[..], &replay] {
        let said = scene.run(command);
        assert!(said.code == Some(74) && said.err.contains("anchor job.anchor: "), "{command:?}: {said:?}");
    }
}
