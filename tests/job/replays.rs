//! Replays of three real logs, by the example jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::jobs::{HEADER, SECOND, exact, line, log};
use crate::packed::packed;
use crate::refusals::FROM;
use crate::scene::Scene;
use crate::size;

/// A job file of `config/`, the log that it reads, and the release that discovers its keys.
#[derive(Clone, Copy)]
struct Log {
    name: &'static str,
    data: &'static str,
    discovers: Option<&'static str>,
}

const REVIEWS: Log = Log { name: "reviews", data: "reviews.csv.bz2", discovers: Some("reviews_by_vendor") };
const RETAIL: Log = Log { name: "retail", data: "retail.csv.gz", discovers: None };
const ACCESS: Log = Log { name: "access_log", data: "access.log.gz", discovers: None };

/// The job file beside its log; `None` if the log is missing.
fn scene(log: Log) -> Option<Scene> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let data = project.join("../shared/data").join(log.data);
    if !data.exists() {
        println!("skipped: no ../shared/data: {} is not replayed", log.data);
        return None;
    }
    let scene = Scene::new(log.name);
    fs::copy(project.join("config").join(format!("{}.toml", log.name)), scene.at("job.toml")).unwrap();
    symlink(data, scene.at(log.data)).unwrap();
    fs::create_dir(scene.at("state")).unwrap();
    Some(scene)
}

// Refutes a conversion of the page that makes other records than the log has, and a job of columns between tabs whose
// condition or derived fields count others.
#[test]
fn columns_between_tabs_are_those_of_the_log() {
    let Some(scene) = scene(Log { name: "access_tsv", ..ACCESS }) else { return };
    fs::create_dir(scene.at("config")).unwrap();
    for name in ["job.toml", ACCESS.data] {
        fs::rename(scene.at(name), scene.at(&format!("config/{name}"))).unwrap();
    }
    let page = scene.read("config/job.toml");
    let line = page.lines().find_map(|line| line.strip_prefix("#   zcat")).unwrap();
    let made =
        Command::new("sh").args(["-c", &format!("zcat{line}")]).current_dir(scene.at("")).output().unwrap();
    assert!(made.status.success() && made.stderr.is_empty(), "{made:?}");
    let mut expected: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for line in scene.read("config/access.tsv").lines() {
        let [time, client, method, path, status, _, _] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        if ["GET", "HEAD"].contains(&method) && status < "400" && !path.ends_with(".png") {
            let first = path.split(['?', '#']).next().unwrap().split('/').nth(1).unwrap_or_default();
            for section in ["*".to_owned(), format!("/{first}")] {
                let day = format!("2015-05-{}T00:00:00Z", &time[..2]);
                expected.entry((day, section)).or_default().insert(client.to_owned());
            }
        }
    }
    let sample = scene.done(&["check", "config/job.toml", "--sample", "20000"]).out;
    assert!(sample.contains("fields in 10,000 records") && !sample.contains("cannot be read"), "{sample}");
    let demo = scene.done(&["replay", "config/job.toml", "--demo"]).out;
    let mut sections = 0;
    for line in demo.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let key = match line["release"].as_str().unwrap() {
            _ if line["closed"] == true => continue,
            "clients" => "*",
            "clients_by_section" => line["key"].as_str().unwrap(),
            _ => continue,
        };
        sections += usize::from(key != "*");
        let day = line["window"]["start"].as_str().unwrap().to_owned();
        let clients = &expected[&(day, key.to_owned())];
        assert_eq!(line["truth"], clients.len(), "{line}");
    }
    assert!(sections >= 8, "{demo}");
    let init = scene.done(&["init", "--from", "events", "config/access.tsv", "--out", "begun.toml"]).out;
    assert!(init.contains("no line names the columns"), "{init}");
    let begun = scene.read("begun.toml");
    assert!(begun.contains("time = { field = \"column_1\", format = \"clf\" }"), "{begun}");
    let sample = scene.done(&["check", "begun.toml", "--sample", "20000"]).out;
    assert!(sample.contains("fields in 10,000 records") && !sample.contains("cannot be read"), "{sample}");
}

/// A cell of a demonstration, by release, window, and key with its quantile.
type Cells = BTreeMap<[String; 3], Cell>;

#[derive(Clone, Debug)]
struct Cell {
    value: f64,
    low: f64,
    high: f64,
    tally: Value,
    truth: Value,
    /// The rank error in people and its bound, for values found by rank.
    off: Option<[u64; 2]>,
    quantile: bool,
}

impl Cell {
    /// Returns true if the promised interval contains the tally.
    fn kept(&self, tally: f64) -> bool {
        // The interval of a quantile is the range of possible answers; that of a largest value starts where
        // at least one person is above.
        let within = self.low <= tally && tally <= self.high;
        match self.off {
            Some([off, allowed]) if self.quantile => off <= allowed,
            Some([off, allowed]) => within && off <= allowed,
            None => within,
        }
    }
}

fn demo(scene: &Scene, workers: &str) -> Cells {
    let said = scene.done(&["replay", "job.toml", "--demo", "-w", workers]);
    let mut cells = Cells::new();
    for line in said.out.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["demo"], true, "{line}");
        assert!(line.get("refused").is_none(), "{line}");
        if line["closed"] == true {
            continue;
        }
        let place = [&line["release"], &line["window"]["start"], &line["key"]];
        let mut place = place.map(|part| part.as_str().unwrap_or_default().to_owned());
        if let Some(q) = line.get("q") {
            place[2] += &format!(" {q}");
        }
        let allowed = match (&line["noise"]["tau"], &line["noise"]["rank_error"]) {
            (Value::Null, error) => error.as_u64(),
            (tau, _) => tau.as_u64().map(|tau| 2 * tau),
        };
        let confidence = if allowed.is_some() { 0.99 } else { 0.9 };
        assert_eq!(line["confidence"], confidence, "{line}");
        let off = allowed.map(|allowed| [line["off"].as_u64().unwrap_or_else(|| panic!("{line}")), allowed]);
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{line}"));
        let cell = Cell {
            value: number(&line["value"]),
            low: number(&line["interval"][0]),
            // The interval of a largest value has an open end.
            high: line["interval"][1].as_f64().unwrap_or(f64::INFINITY),
            tally: line["tally"].clone(),
            truth: line["truth"].clone(),
            off,
            quantile: line.get("q").is_some(),
        };
        assert!(cells.insert(place, cell).is_none(), "released twice: {line}");
    }
    assert!(!cells.is_empty());
    cells
}

/// The number of cells, and of those whose interval contained the tally.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    cells: u64,
    hits: u64,
}

impl Held {
    /// Returns true if the promise of 0.9 is refuted: by chance this happens one time in a million.
    fn refuted(self) -> bool {
        at_most(self.cells, 0.9, self.hits) < ALPHA
    }

    /// The probability of refuting the promise if the true rate is 0.87.
    fn power(self) -> f64 {
        // The least number of hits that does not refute it.
        let (mut least, mut most) = (0, self.cells);
        while least < most {
            let middle = least.midpoint(most);
            if (Held { hits: middle, ..self }).refuted() { least = middle + 1 } else { most = middle }
        }
        least.checked_sub(1).map_or(0.0, |hits| at_most(self.cells, 0.87, hits))
    }
}

const ALPHA: f64 = 1e-6;

/// The probability of at most `hits` hits in this number of cells.
fn at_most(cells: u64, chance: f64, hits: u64) -> f64 {
    let logarithm = |number: u64| libm::lgamma(number as f64 + 1.0);
    let mass = |hits: u64| {
        let ways = logarithm(cells) - logarithm(hits) - logarithm(cells - hits);
        (ways + hits as f64 * chance.ln() + (cells - hits) as f64 * (1.0 - chance).ln()).exp()
    };
    // Below this the rest is less than 1e-30 of it.
    let first =
        (cells as f64 * chance - 14.0 * (cells as f64 * chance * (1.0 - chance)).sqrt()).max(0.0) as u64;
    (first.min(hits)..=hits).map(mass).sum::<f64>().min(1.0)
}

// Refutes lines of an archive that differ from those which had left: a file of them is no witness of its ledger.
#[test]
fn archived_lines_are_those_of_the_output() {
    let scene = Scene::new("archived-lines");
    let (text, _) = log(0, 4, 30);
    scene.write("visits.csv", text);
    scene.write("job.toml", exact(0, Some(4 * SECOND)));
    scene.init();
    scene.done(&["replay", "job.toml", "--out", "releases.jsonl"]);
    let before = ["--before", "1970-01-01T00:00:04Z"];
    scene.done(&[&["ledger", "archive", "job.ledger", "--out", "job.archive"][..], &before].concat());
    let printed = scene.done(&["ledger", "lines", "job.archive", "--job", "visits"]).out;
    assert!(printed.contains("\"ledger\":\""), "{printed}");
    assert_eq!(printed, scene.read("releases.jsonl"));
    // A new file goes on behind a rotated one; without it, rows would be missing that are in the archive alone.
    let (here, rotated, away) =
        (scene.at("releases.jsonl"), scene.at("releases.jsonl.1"), scene.at("moved.lines"));
    fs::rename(&here, &rotated).unwrap();
    scene.done(&["check", "job.toml", "--connect", "--out", "releases.jsonl"]);
    scene.done(&["replay", "job.toml", "--out", "releases.jsonl"]);
    assert!(!here.exists(), "it received nothing");
    fs::rename(&rotated, &away).unwrap();
    let refused = scene.run(&["replay", "job.toml", "--out", "releases.jsonl"]);
    assert!(refused.code == Some(78) && refused.err.contains("in archives"), "{}", refused.err);
}

// Refutes a replay that says that it has released what had left before it, and a forecast of windows after the last one
// of the job.
#[test]
fn a_replay_says_what_it_has_added() {
    let scene = Scene::new("added");
    let (text, _) = log(0, 4, 30);
    scene.write("visits.csv", text);
    scene.write("job.toml", exact(0, Some(4 * SECOND)));
    scene.init();
    let replay = ["replay", "job.toml", "--out", "releases.jsonl"];
    let forecast = || {
        let stated = scene.done(&["ledger", "forecast", "job.ledger", "--config", "job.toml"]).out;
        stated.lines().find(|line| line.contains("refuses ")).unwrap().trim().to_owned()
    };
    assert_eq!(scene.done(&replay).err, "4 released\n");
    assert_eq!(forecast(), "refuses   never: no window is to come");
    let charged = scene.charged("job.ledger");
    assert_eq!(scene.done(&replay).err, "0 released, 4 released before\n");
    let line = scene.done(&[&replay[..], &["--json"]].concat()).err;
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["released"], &line["released_before"]), (&4.into(), &4.into()), "{line}");
    assert_eq!(scene.charged("job.ledger"), charged);
    // A new file receives lines that had left in another.
    assert_eq!(
        scene.done(&["replay", "job.toml", "--out", "new.jsonl"]).err,
        "0 released, 4 released before\n"
    );
    scene.write("job.toml", exact(0, Some(6 * SECOND)));
    assert_eq!(
        forecast(),
        "refuses   never: the 2 windows to come fit; the last of them closes 1970-01-01T00:00:06Z"
    );
    assert_eq!(scene.done(&replay).err, "2 released, 4 released before\n");
}

// Refutes second answers from an older copy of the ledger whose output was rotated: a new output shows nothing.
#[test]
fn an_older_ledger_is_noticed_by_a_rotated_output() {
    for (out, rotated) in [("out.jsonl", "out.jsonl.1"), ("out.csv", "out.csv-20261127.gz")] {
        let scene = Scene::new("older-ledger");
        let (text, _) = log(0, 4, 30);
        scene.write("visits.csv", text);
        scene.write("half.toml", exact(0, Some(2 * SECOND)));
        scene.write("job.toml", exact(0, Some(4 * SECOND)));
        scene.init();
        let run = |job, code: i32| {
            let said = scene.run(&["replay", job, "--out", out]);
            assert_eq!(said.code, Some(code), "{out}: {}", said.err);
            said.err
        };
        run("half.toml", 0);
        scene.done(&["ledger", "export", "job.ledger", "older.ledger"]);
        run("job.toml", 0);
        let (released, (_, spent)) = (scene.read(out), scene.charged("job.ledger"));
        fs::remove_file(scene.at(out)).unwrap();
        let text =
            if rotated.ends_with(".gz") { packed("gz", &released) } else { released.clone().into_bytes() };
        fs::write(scene.at(rotated), text).unwrap();
        fs::rename(scene.at("older.ledger"), scene.at("job.ledger")).unwrap();
        let check = scene.run(&["check", "job.toml", "--connect", "--out", out]);
        let command = format!("--anchor '{rotated}'");
        assert!(check.code == Some(74) && check.err.contains(&command), "{out}: {}", check.err);
        let refused = run("job.toml", 74);
        assert!(refused.contains(&command) && !scene.at(out).exists(), "{out}: {refused}");
        // The command of the message charges what was lost, and draws no noise for it again.
        let repair = ["ledger", "repair", "job.ledger", "--accept-loss", "--reason", "a restore"];
        scene.done(&[&repair[..], &["--anchor", rotated]].concat());
        assert_eq!(scene.charged("job.ledger").1, spent, "{out}");
        scene.run(&["replay", "job.toml", "--out", out]);
        let again = if scene.at(out).exists() { scene.read(out) } else { String::new() };
        assert!(released.contains("laplace") && !again.contains("laplace"), "{out}: {again}");
        assert_eq!(scene.charged("job.ledger").1, spent, "{out}");
    }
}

// Refutes a test that finds nothing, and one that finds a fault where there is none.
#[test]
fn a_promise_that_is_not_kept_would_be_found() {
    assert!((at_most(10, 0.5, 4) - 386.0 / 1024.0).abs() < 1e-12);
    assert!((at_most(3, 0.9, 3) - 1.0).abs() < 1e-12);
    let held = |hits| Held { cells: 10_000, hits };
    assert!(!held(9_000).refuted() && !held(8_870).refuted() && held(8_840).refuted());
    assert!(held(0).power() > 0.999);
    assert!(Held { cells: 100, hits: 0 }.power() < 0.01);
}

// Refutes a tally or an exact value that depends on the number of threads or on the run, and an interval that
// contains the tally less often than it promises.
#[test]
fn demonstrations_state_the_same_truth_and_keep_their_intervals() {
    let mut all = Held::default();
    let mut by_release = BTreeMap::<String, Held>::new();
    for (log, runs) in [(REVIEWS, size(2, 30)), (RETAIL, size(2, 50)), (ACCESS, size(3, 120))] {
        let Some(scene) = scene(log) else { return };
        let mut first: Option<Cells> = None;
        for run in 0..runs {
            let cells = demo(&scene, ["1", "2"][run % 2]);
            for (place, cell) in &cells {
                // A mean of nobody is not a number.
                let Some(tally) = cell.tally.as_f64() else { continue };
                let hit = u64::from(cell.kept(tally));
                assert!(cell.low <= cell.value && cell.value <= cell.high, "{place:?} {cell:?}");
                for held in [&mut all, by_release.entry(format!("{}.{}", log.name, place[0])).or_default()] {
                    (held.cells, held.hits) = (held.cells + 1, held.hits + hit);
                }
            }
            let Some(first) = &first else {
                first = Some(cells);
                continue;
            };
            for (place, cell) in &cells {
                match first.get(place) {
                    Some(other) => {
                        assert_eq!((&cell.tally, &cell.truth), (&other.tally, &other.truth), "{place:?}");
                    }
                    None => assert_eq!(Some(place[0].as_str()), log.discovers, "{place:?} is new"),
                }
            }
            let public =
                |cells: &Cells| cells.keys().filter(|place| Some(place[0].as_str()) != log.discovers).count();
            assert_eq!(public(&cells), public(first));
        }
    }
    for (release, held) in &by_release {
        println!("intervals: {release}: {} of {}", held.hits, held.cells);
    }
    assert!(!all.refuted(), "{all:?}");
    assert!(all.power() > 0.99, "{all:?}: a promise kept 0.87 of the time is found with {}", all.power());
    for (release, held) in by_release {
        assert!(!held.refuted(), "{release}: {held:?}");
    }
}

// Refutes a single window that takes records before its start or after its end, or that takes nothing.
#[test]
fn a_window_of_everything_has_the_ends_that_it_states() {
    const FROM: i64 = 1_500_000_000 * SECOND;
    let times = [FROM - 1, FROM, FROM + 1, FROM + 9 * SECOND, FROM + 10 * SECOND];
    let records: String = (0..).zip(times).map(|(person, time)| line(person, time, "a")).collect();
    let job = exact(FROM, Some(FROM + 10 * SECOND)).replace("every = \"1s\"", "every = \"all\"");
    let without = |word: &str| -> String {
        job.lines().filter(|line| !line.starts_with(word)).map(|line| format!("{line}\n")).collect()
    };
    for (job, count) in [(&job, 3), (&without("from"), 4), (&without("until"), 4)] {
        for command in ["replay", "run"] {
            let scene = Scene::new("everything");
            scene.write("job.toml", job);
            scene.write("visits.csv", HEADER.to_owned() + &records);
            scene.init();
            if command == "run" && !job.contains("until") {
                continue;
            }
            let said = scene.done(&[command, "job.toml"]);
            assert!(said.out.contains(&format!("\"key\":\"a\",\"value\":{count},")), "{job} {said:?}");
        }
    }
}

// Refutes a replay that changes a value when it is repeated, writes a line twice to one file, or is charged
// twice.
#[test]
fn a_replay_is_delivered_again_and_charged_once() {
    for log in if size(0, 1) == 1 { vec![REVIEWS, RETAIL, ACCESS] } else { vec![RETAIL, ACCESS] } {
        let Some(scene) = scene(log) else { return };
        let ledger = format!("state/{}.ledger", log.name);
        scene.done(&["ledger", "init", &ledger, "--config", "job.toml"]);
        let replay = |out, workers| scene.done(&["replay", "job.toml", "--out", out, "-w", workers]);
        replay("releases.jsonl", "1");
        let (printed, charged) = (scene.read("releases.jsonl"), scene.charged(&ledger));
        assert!(charged.0 > 0 && charged.1.values().any(|spent| *spent > 0.0), "{charged:?}");
        replay("again.jsonl", "2");
        assert!(
            scene.read("again.jsonl") == printed,
            "a new file is the same bytes, on any number of workers"
        );
        replay("releases.jsonl", "2");
        assert!(scene.read("releases.jsonl") == printed, "a file receives a release once");
        replay("releases.csv", "1");
        replay("releases.csv", "1");
        assert_eq!(table(&scene.read("releases.csv")), lines(&printed));
        assert_eq!(scene.charged(&ledger), charged, "it is charged once");
        scene.verify(&ledger);
    }
}

// Refutes a file that lacks windows for good, without a warning.
#[test]
fn a_file_that_begins_late_is_reported() {
    let scene = Scene::new("late");
    scene.write("job.toml", exact(FROM, Some(FROM + 3_000_000)));
    scene.write("visits.csv", format!("person,time,page\n{}", line("ada", FROM, "a")));
    scene.init();
    let said = scene.done(&["replay", "job.toml", "--out", "all.jsonl"]);
    let warned = "later.jsonl: it begins after windows that were written to another file";
    assert!(!said.err.contains("begins after"), "{said:?}");
    let all = scene.read("all.jsonl");
    let ends = |line: &&str| line.contains("\"closed\":true");
    assert_eq!(all.lines().filter(ends).count(), 3);
    let first = all.find("\"closed\":true").unwrap();
    let rest = all[first..].find('\n').unwrap() + first + 1;
    scene.write("later.jsonl", &all[rest..]);
    let said = scene.done(&["replay", "job.toml", "--out", "later.jsonl"]);
    assert_eq!(said.err.matches(warned).count(), 1, "{said:?}");
    assert_eq!(scene.read("later.jsonl"), all[rest..], "what it holds stays");
    let said = scene.done(&["replay", "job.toml", "--out", "all.jsonl"]);
    assert!(!said.err.contains("begins after"), "{said:?}");
    scene.done(&["replay", "job.toml", "--out", "new.jsonl"]);
    assert_eq!(scene.read("new.jsonl"), all);
}

/// The content of a line: release, start of the window, key, and value or number of cells.
type Said = (String, String, String, String);

fn lines(text: &str) -> Vec<Said> {
    let said = text.lines().map(|line| {
        // Digit by digit: parsing a number would round it.
        let written: BTreeMap<&str, &RawValue> = serde_json::from_str(line).unwrap();
        let line: Value = serde_json::from_str(line).unwrap();
        let number = written[if line["closed"] == true { "cells" } else { "value" }];
        let [release, start, key] = [&line["release"], &line["window"]["start"], &line["key"]]
            .map(|part| part.as_str().unwrap_or_default().to_owned());
        (release, start, key, number.get().to_owned())
    });
    in_order(said.collect())
}

fn table(text: &str) -> Vec<Said> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let at = |name: &str| header.iter().position(|column| column == name).unwrap();
    let [release, start, key, value, cells] = ["release", "start", "key", "value", "cells"].map(at);
    let said = reader.records().map(|record| {
        let record = record.unwrap();
        let number = if record[cells].is_empty() { value } else { cells };
        // A key that a spreadsheet would take for a formula has a mark before it.
        let key = record[key].trim_start_matches('\'').to_owned();
        (record[release].to_owned(), record[start].to_owned(), key, record[number].to_owned())
    });
    in_order(said.collect())
}

fn in_order(mut said: Vec<Said>) -> Vec<Said> {
    said.sort_unstable();
    said
}
