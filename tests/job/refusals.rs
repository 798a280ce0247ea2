//! The refusals of a job as people and scripts see them: exit code, message, and no content of records.

use std::io::Write;
use std::time::Duration;

use crate::jobs::{HEADER, exact, line};
use crate::scene::{Said, Scene, after_start};

/// A text in every record that a refusal could be about.
pub(crate) const SECRET: &str = "s3cr3t";

/// The start of these jobs' two windows.
pub(crate) const FROM: i64 = 1_500_000_000_000_000;
const UNTIL: i64 = FROM + 2_000_000;

struct Case {
    name: &'static str,
    /// Introduces the fault; the job, its log and its ledger exist.
    prepare: fn(&Scene),
    arguments: &'static [&'static str],
    code: i32,
    /// The texts that standard error contains.
    says: &'static [&'static str],
}

/// A job whose records all hold the secret, and its ledger.
pub(crate) fn scene() -> Scene {
    let scene = Scene::new("refusals");
    scene.write("job.toml", exact(FROM, Some(UNTIL)));
    scene.write("visits.csv", records(2));
    scene.init();
    scene
}

fn records(people: i64) -> String {
    let mut text = "person,time,page\n".to_owned();
    (0..people).for_each(|person| text += &line(format!("{SECRET}-{person}"), FROM + person, "a"));
    text
}

/// Replaces a word of the job file.
pub(crate) fn change(scene: &Scene, word: &str, other: &str) {
    let text = scene.read("job.toml");
    assert_eq!(text.matches(word).count(), 1, "{word}");
    scene.write("job.toml", text.replace(word, other));
}

/// Appends unreadable lines, each with the secret in it.
fn bad_lines(scene: &Scene, lines: usize) {
    change(scene, "late = \"500ms\"", "bad = { lines = 2 }");
    let bad: String = (0..lines).map(|at| format!("{SECRET}-{at},{SECRET},{SECRET}\n")).collect();
    scene.write("visits.csv", records(2) + &bad + &line("eve", FROM, "b"));
}

/// Appends unreadable lines to one of two files.
fn bad_lines_beside_others(scene: &Scene) {
    bad_lines(scene, 3);
    change(scene, "visits.csv", "visits*.csv");
    scene.write("visits-of-others.csv", HEADER.to_owned() + &line("eve", FROM + 7, "b"));
}

/// Cuts a packed file to its first half, and reads that.
fn halve(scene: &Scene, name: &str, packed: &[u8]) {
    scene.write(name, &packed[..packed.len() / 2]);
    change(scene, "visits.csv", name);
}

fn many() -> String {
    // The lines differ: half of a packed file must hold some records.
    let mut text = "person,time,page\n".to_owned();
    for person in 0..20_000u64 {
        let name = person.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        text += &line(format!("{SECRET}-{name:x}"), FROM + 1, "a");
    }
    text
}

const CASES: &[Case] = &[
    Case {
        name: "a column that is not there",
        prepare: |scene| scene.write("visits.csv", records(2).replace("page", "path")),
        arguments: &["replay", "job.toml"],
        code: 65,
        says: &["visits.csv", "no column named page among person, time and path;"],
    },
    Case {
        name: "a file without names",
        prepare: |scene| scene.write("visits.csv", records(2).replace(HEADER, "")),
        arguments: &["replay", "job.toml"],
        code: 65,
        says: &["visits.csv", "no column named person, time or page;"],
    },
    Case {
        name: "one bad line too many",
        prepare: |scene| bad_lines(scene, 3),
        arguments: &["replay", "job.toml"],
        code: 65,
        says: &["visits.csv", "more than 2 lines", "bad.lines"],
    },
    Case {
        name: "one bad line too many among several files",
        prepare: bad_lines_beside_others,
        arguments: &["replay", "job.toml"],
        code: 65,
        says: &["visits*.csv: ", "the last of them is in visits.csv;", "bad.lines"],
    },
    Case {
        name: "one bad line too many among several files, live",
        prepare: bad_lines_beside_others,
        arguments: &["run", "job.toml"],
        code: 65,
        says: &["visits*.csv: ", "the last of them is in visits.csv;", "bad.lines"],
    },
    Case {
        name: "a line out of order",
        prepare: |scene| {
            change(scene, "late = \"500ms\"", "order = \"sorted\"");
            scene.write("visits.csv", records(2) + &line("eve", FROM, "b"));
        },
        arguments: &["replay", "job.toml"],
        code: 65,
        says: &["visits.csv", "earlier than one before it", "order = \"any\""],
    },
    Case {
        name: "no such file",
        prepare: |scene| change(scene, "visits.csv", "nowhere.csv"),
        arguments: &["replay", "job.toml"],
        code: 69,
        says: &["nowhere.csv"],
    },
    Case {
        name: "no such file, live",
        prepare: |scene| change(scene, "visits.csv", "nowhere.csv"),
        arguments: &["run", "job.toml"],
        code: 69,
        says: &["nowhere.csv"],
    },
    Case {
        name: "no file that a pattern means",
        prepare: |_| (),
        arguments: &["replay", "job.toml", "--from", "nowhere/*.csv"],
        code: 69,
        says: &["nowhere/*.csv"],
    },
    Case {
        name: "half of a gz",
        prepare: |scene| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(many().as_bytes()).unwrap();
            halve(scene, "half.csv.gz", &packed.finish().unwrap());
        },
        arguments: &["replay", "job.toml"],
        code: 69,
        says: &["half.csv.gz"],
    },
    Case {
        name: "half of a bz2",
        prepare: |scene| {
            let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            packed.write_all(many().as_bytes()).unwrap();
            halve(scene, "half.csv.bz2", &packed.finish().unwrap());
        },
        arguments: &["replay", "job.toml"],
        code: 69,
        says: &["half.csv.bz2"],
    },
    Case {
        name: "half of a zst",
        prepare: |scene| {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            halve(scene, "half.csv.zst", &ruzstd::encoding::compress_to_vec(many().as_bytes(), level));
        },
        arguments: &["replay", "job.toml"],
        code: 69,
        says: &["half.csv.zst"],
    },
    Case {
        name: "a run over a packed file that holds nothing",
        prepare: |scene| {
            scene.write("live.csv.gz", "");
            change(scene, "visits.csv", "live.csv.gz");
        },
        arguments: &["run", "job.toml"],
        code: 69,
        says: &["live.csv.gz"],
    },
    Case {
        name: "a replay without from",
        prepare: without_from,
        arguments: &["replay", "job.toml"],
        code: 78,
        says: &["job.from", "--demo"],
    },
    Case {
        name: "a replay without until",
        prepare: without_until,
        arguments: &["replay", "job.toml"],
        code: 78,
        says: &["job.until", "--demo"],
    },
    Case {
        name: "a demo of standard input without from",
        prepare: without_from,
        arguments: &["replay", "job.toml", "--demo", "--from", "-"],
        code: 78,
        says: &["job.from", "standard input"],
    },
    Case {
        name: "a live run without from",
        prepare: without_from,
        arguments: &["run", "job.toml"],
        code: 78,
        says: &["job.from"],
    },
    Case {
        name: "a report's path that holds something else",
        prepare: |scene| scene.write("index.html", "<!doctype html>my own page"),
        arguments: &["replay", "job.toml", "--report", "index.html"],
        code: 78,
        says: &["--report: index.html", "something other than a report", "a new file"],
    },
    Case {
        name: "a file that holds something else",
        prepare: |scene| scene.write("notes.txt", "s3cr3t notes\nof somebody\n"),
        arguments: &["replay", "job.toml", "--out", "notes.txt"],
        code: 78,
        says: &["notes.txt:1", "no line of a release"],
    },
    Case {
        name: "an output in no directory",
        prepare: |_| (),
        arguments: &["replay", "job.toml", "--out", "nowhere/releases.jsonl"],
        code: 78,
        says: &["--out nowhere/releases.jsonl", "no directory nowhere"],
    },
    Case {
        name: "no ledger",
        prepare: |scene| std::fs::remove_file(scene.at("job.ledger")).unwrap(),
        arguments: &["replay", "job.toml"],
        code: 78,
        says: &["job.ledger", "init"],
    },
    Case {
        name: "no key of the ledger",
        prepare: |scene| std::fs::remove_file(scene.at("job.ledger.key")).unwrap(),
        arguments: &["replay", "job.toml"],
        code: 78,
        says: &["job.ledger.key"],
    },
    Case {
        name: "an account that the ledger does not know",
        prepare: |scene| change(scene, "account = \"visits\"", "account = \"visitors\""),
        arguments: &["replay", "job.toml"],
        code: 78,
        says: &[
            "no account visitors in ledger",
            "which states visits (did you mean visits?); give this name",
            "who is in both groups spends both",
        ],
    },
    Case {
        name: "a report that is no page",
        prepare: |_| (),
        arguments: &["replay", "job.toml", "--report", "x.png"],
        code: 78,
        says: &["--report", ".html", ".svg"],
    },
    Case {
        name: "a report in no directory",
        prepare: |_| (),
        arguments: &["replay", "job.toml", "--report", "nowhere/x.html"],
        code: 78,
        says: &["--report", "nowhere"],
    },
    Case {
        name: "a report of a live run that is no page",
        prepare: |_| (),
        arguments: &["run", "job.toml", "--report", "x.png"],
        code: 78,
        says: &["--report", ".html"],
    },
    Case {
        name: "no workers",
        prepare: |_| (),
        arguments: &["replay", "job.toml", "-w", "0"],
        code: 78,
        says: &["workers"],
    },
];

fn without_from(scene: &Scene) {
    let text = scene.read("job.toml");
    scene.write("job.toml", lines_without(&text, "from ="));
}

fn without_until(scene: &Scene) {
    let text = scene.read("job.toml");
    scene.write("job.toml", lines_without(&text, "until ="));
}

fn lines_without(text: &str, word: &str) -> String {
    text.lines().filter(|line| !line.starts_with(word)).map(|line| format!("{line}\n")).collect()
}

/// Checks that a message has nothing of a record, and one sentence with a remedy.
pub(crate) fn is_discreet(name: &str, said: &Said) {
    assert!(!said.out.contains(SECRET) && !said.err.contains(SECRET), "{name}: {said:?}");
    assert!(!said.err.contains("panicked"), "{name}: {said:?}");
}

// Refutes a refusal with a wrong exit code, one without help, one that quotes a record, one that comes late,
// and one after which something was sealed.
#[test]
fn what_is_wrong_is_refused_and_said_without_a_record() {
    for case in CASES {
        let scene = scene();
        (case.prepare)(&scene);
        let mut arguments = case.arguments.to_vec();
        if !arguments.contains(&"--out") {
            arguments.extend(["--out", "releases.jsonl"]);
        }
        let said = scene.start(&arguments).end_within(Duration::from_secs(30));
        let name = case.name;
        assert_eq!(said.code, Some(case.code), "{name}: {said:?}");
        assert_eq!(said.out, "", "{name}");
        let err = after_start(&said.err);
        assert!(err.starts_with("error: ") && err.lines().count() == 1, "{name}: {said:?}");
        for word in case.says {
            assert!(said.err.contains(word), "{name}: no {word:?}: {said:?}");
        }
        is_discreet(name, &said);
        match name {
            "no ledger" => assert!(!scene.at("job.ledger").exists(), "a ledger was made"),
            _ => assert_eq!(scene.charged("job.ledger").0, 0, "{name}: something was sealed"),
        }
        assert!(
            !scene.at("x.png").exists() && !scene.at("releases.jsonl").exists(),
            "{name}: a file was left"
        );
        if scene.at("index.html").exists() {
            assert_eq!(scene.read("index.html"), "<!doctype html>my own page");
        }
        if name == "a file that holds something else" {
            assert_eq!(scene.read("notes.txt"), "s3cr3t notes\nof somebody\n");
        }
    }
}

// Refutes a limit that is one line off, and a demonstration that reveals more of the data than its windows
// do.
#[test]
fn what_is_allowed_is_not_refused() {
    let scene = scene();
    bad_lines(&scene, 2);
    let said = scene.done(&["replay", "job.toml", "--report", "page.html"]);
    // A report is written anew, and never over the lines of its own run.
    let both = scene.run(&["replay", "job.toml", "--out", "both.html", "--report", "both.html"]);
    assert!(
        both.code == Some(78) && both.err.contains("--report: both.html is the file of --out"),
        "{both:?}"
    );
    assert!(!scene.at("both.html").exists());
    scene.done(&["replay", "job.toml", "--report", "page.html"]);
    is_discreet("bad lines", &said);
    assert!(!scene.read("page.html").contains(SECRET));
    assert!(said.out.contains("\"key\":\"a\",\"value\":2,"), "{said:?}");

    for prepare in [without_from, without_until] {
        let scene = self::scene();
        prepare(&scene);
        scene.write("visits.csv", records(2) + &line("eve", UNTIL - 1, "b"));
        let said = scene.done(&["replay", "job.toml", "--demo", "--report", "page.html"]);
        is_discreet("demo", &said);
        assert!(!scene.read("page.html").contains(SECRET));
        // The two windows that hold data, each with its three pages and its closing line.
        assert_eq!(said.out.lines().count(), 8, "{said:?}");
        assert!(said.out.lines().all(|line| line.contains("\"demo\":true")), "{said:?}");
        assert_eq!(scene.charged("job.ledger").0, 0, "a demo was charged");
    }
}

// Refutes a quotation mark that swallows other people's lines, up to the next one or to the end.
#[test]
fn an_open_quotation_mark_leaves_other_lines() {
    for (marks, limit) in [([10, 30], "2"), ([10, 10], "1")] {
        let scene = scene();
        change(&scene, "late = \"500ms\"", &format!("bad = {{ lines = {limit} }}"));
        let mut text: Vec<String> = records(40).lines().map(str::to_owned).collect();
        for at in marks {
            text[at] = format!("\"{SECRET}-{at},{}", FROM / 1_000_000);
        }
        scene.write("visits.csv", text.join("\n"));
        let said = scene.done(&["replay", "job.toml"]);
        let others = format!("\"key\":\"a\",\"value\":{},", if marks[0] == marks[1] { 39 } else { 38 });
        assert!(said.out.contains(&others), "{said:?}");
    }
}

// Refutes a version that is bound by a run which released nothing: a correction would need another one; and one
// that a release leaves unbound.
#[test]
fn a_version_is_bound_by_its_first_release() {
    let scene = scene();
    let replay = ["replay", "job.toml", "--out", "releases.jsonl"];
    let text = scene.read("job.toml");
    let (_, release) = text.split_once("[[release]]").unwrap();
    let others =
        ["others", "more"].map(|name| format!("[[release]]{}", release.replace("visits_by_page", name)));
    scene.write("job.toml", text.clone() + &others.concat());
    change(&scene, "format = \"unix\"", "format = \"rfc3339\"");
    let said = scene.run(&replay);
    assert_eq!((said.code, scene.charged("job.ledger").0), (Some(65), 0), "{said:?}");
    change(&scene, "format = \"rfc3339\"", "format = \"unix\"");
    scene.done(&["check", "job.toml", "--connect"]);
    scene.done(&replay);
    change(&scene, "format = \"unix\"", "format = \"rfc3339\"");
    let said = scene.run(&replay);
    assert_eq!(said.code, Some(78), "{said:?}");
    assert!(said.err.contains("in version 1 with other parameters: source.time.format (was "), "{said:?}");
    assert!(said.err.trim_end().ends_with("again. The same is so of others and more"), "{said:?}");
}
