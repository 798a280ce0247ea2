//! Questions of analysts in live runs and in several processes, through the built command.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::cluster::{hosts, start_as};
use crate::jobs::SECOND;
use crate::scene::{Scene, moment, now, until};

/// The number of the windows, of a second each.
const WINDOWS: i64 = 120;

/// The number of records in a window.
fn records(window: i64) -> i64 {
    100 * (1 + window % 7)
}

fn job(from: i64) -> String {
    format!(
        r#"
        [job]
        name = "shop"
        version = 1
        from = "{}"
        until = "{}"
        [source]
        type = "csv"
        path = "visits.csv"
        time = {{ field = "time", format = "unix" }}
        [privacy]
        person = {{ field = "who", missing = "drop" }}
        promise = "lifetime"
        budget = {{ epsilon = 100, delta = 1e-5 }}
        ledger = "job.ledger"
        account = "shop"
        [[release]]
        name = "visits"
        every = "1 second"
        people = {{}}
        noise = "gaussian"
        share = 0.1
        [[ask]]
        name = "study"
        every = "1 second"
        fields = {{ page = "text", price = "1 digit" }}
        bound = {{ per_key = 1 }}
        answers = 1000
        questions = "questions.jsonl"
        share = 0.9
        "#,
        moment(from),
        moment(from + WINDOWS * SECOND)
    )
}

const HEADER: &str = "who,time,page,price\n";

/// The lines of these windows.
fn lines(from: i64, windows: Range<i64>) -> String {
    let mut text = String::new();
    for window in windows {
        for person in 0..records(window) {
            let time = (from + window * SECOND) / SECOND;
            text += &format!("p{person},{time},{},{}.5\n", ["a", "b"][(person % 2) as usize], person % 10);
        }
    }
    text
}

fn ask(scene: &Scene, text: &str) {
    let file = OpenOptions::new().append(true).create(true).open(scene.at("questions.jsonl"));
    file.unwrap().write_all(format!("{text}\n").as_bytes()).unwrap();
}

fn count(id: &str, rest: &str) -> String {
    format!(r#"{{"id":"{id}","analyst":"ann",{rest}}}"#)
}

/// The answers in a file by their ids; each is there once.
pub(crate) fn answers(scene: &Scene, file: &str) -> BTreeMap<String, Value> {
    let mut answers = BTreeMap::new();
    // The last line may be half a line.
    for line in scene.read(file).split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(id) = line["question"].as_str() {
            assert!(answers.insert(id.to_owned(), line.clone()).is_none(), "{id} twice");
        }
    }
    answers
}

/// The largest error of a count, by the plan.
fn largest_error(scene: &Scene) -> f64 {
    let plan: Value = serde_json::from_str(&scene.done(&["plan", "job.toml", "--json"]).out).unwrap();
    let found = plan["asks"][0]["largest_error"].as_f64().unwrap();
    assert!(found < 25.0, "{found}: an answer about another window would not be noticed");
    found
}

// Refutes an answer about another window than the newest one that is over, one that a kill loses or doubles, a question that is
// answered from a part of its records, and a line that ends the run.
#[test]
fn questions_are_answered_live_and_after_a_kill() {
    let scene = Scene::new("questions");
    let from = now() / SECOND * SECOND - 2 * SECOND;
    scene.write("job.toml", job(from));
    let begun = (now() - from) / SECOND + 1;
    scene.write("visits.csv", HEADER.to_owned() + &lines(from, 0..begun));
    scene.init();
    let bound = largest_error(&scene);
    // A line is written in the second that it is of: a restart goes on behind those that no question may be about.
    let (path, over) = (scene.at("visits.csv"), Arc::new(AtomicBool::new(false)));
    let writer = thread::spawn({
        let over = Arc::clone(&over);
        move || {
            for window in begun..WINDOWS {
                while now() < from + window * SECOND && !over.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_millis(5));
                }
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let mut file = OpenOptions::new().append(true).open(&path).unwrap();
                file.write_all(lines(from, window..window + 1).as_bytes()).unwrap();
            }
        }
    });
    let run = ["run", "job.toml", "--out", "out.jsonl"];
    let life = scene.start(&run);
    for id in ["a", "b", "c"] {
        ask(&scene, &count(id, "\"count\":\"all\""));
        until("it is answered", || answers(&scene, "out.jsonl").contains_key(id));
    }
    ask(&scene, "{\"id\":\"wrong\"");
    until("the line is reported", || life.said().1.contains("questions.jsonl:4: question: "));
    // Windows are settled behind the first ones, so that a restart does not read these again.
    let closed = || scene.read("out.jsonl").matches("\"closed\":true").count();
    let before = closed();
    until("windows are released", || closed() > before + 6);
    life.kill();
    let spent = scene.charged("job.ledger").1;
    ask(&scene, &count("d", "\"count\":\"page = \\\"a\\\"\""));
    ask(&scene, &count("old", &format!("\"at\":\"{}\",\"count\":\"all\"", moment(from + SECOND))));
    ask(&scene, &count("a", "\"count\":\"all\""));
    let life = scene.start(&run);
    ask(&scene, &count("e", "\"mean\":\"price\",\"of\":[0,10],\"where\":\"page = \\\"b\\\"\""));
    until("they are answered", || ["d", "e"].iter().all(|id| answers(&scene, "out.jsonl").contains_key(*id)));
    until("the old one is reported", || life.said().1.contains("question old of ann: at: "));
    life.signal(Signal::TERM);
    assert_eq!(life.end().code, Some(0));
    over.store(true, Ordering::SeqCst);
    writer.join().unwrap();
    let answers = answers(&scene, "out.jsonl");
    assert_eq!(answers.keys().collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
    for (id, line) in &answers {
        let value = line["value"].as_f64().unwrap();
        if id == "e" {
            // Of a hundred records its deviation is .52.
            assert!((value - 5.5).abs() < 4.0, "{line}");
            continue;
        }
        let time =
            |value: &Value| value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_microsecond();
        let (at, start) = (time(&line["at"]), time(&line["version"]["start"]));
        assert!(start + SECOND <= at && at < start + 2 * SECOND, "the newest that is over: {line}");
        let expected = records((start - from) / SECOND) / if id == "d" { 2 } else { 1 };
        assert!((value - expected as f64).abs() <= bound, "{line}");
    }
    // The bundle was paid for with its first answer, and the windows by themselves.
    let (_, after) = scene.charged("job.ledger");
    let whole = spent["rho"] / 0.9;
    assert!(after["rho"] - spent["rho"] < 0.1 * whole, "{spent:?} {after:?}");
    scene.verify("job.ledger");
}

// Refutes an answer that is twice in the output, or in none, because a former run has sealed it and not delivered it.
#[test]
fn an_answer_that_was_not_delivered_is_once_in_the_next_output() {
    let scene = Scene::new("questions-undelivered");
    let from = 1_500_000_000 * SECOND;
    scene.write("job.toml", job(from));
    scene.write("visits.csv", HEADER.to_owned() + &lines(from, 0..WINDOWS));
    ["a", "b", "c"].iter().for_each(|id| ask(&scene, &count(id, "\"count\":\"all\"")));
    scene.init();
    assert_eq!(scene.run(&["replay", "job.toml", "--out", "/dev/full"]).code, Some(74));
    let ids = |out: &str| -> Vec<String> {
        let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut ids: Vec<String> =
            lines.filter_map(|line| Some(line["question"].as_str()?.to_owned())).collect();
        ids.sort();
        ids
    };
    for _ in 0..3 {
        assert_eq!(ids(&scene.done(&["replay", "job.toml"]).out), ["a", "b", "c"]);
    }
}

// Refutes a question that was edited under the id of an answer and gets that answer without a word, in a replay and live.
#[test]
fn an_edited_question_needs_another_id() {
    let scene = Scene::new("questions-edited");
    let from = 1_500_000_000 * SECOND;
    scene.write("job.toml", job(from));
    scene.write("visits.csv", HEADER.to_owned() + &lines(from, 0..WINDOWS));
    let asks = |second: &str| {
        let second = count("b", &format!("\"ask\":\"count where {second}\""));
        scene.write("questions.jsonl", count("a", "\"count\":\"all\"") + "\n" + &second + "\n");
    };
    scene.init();
    asks("page = \\\"a\\\"");
    let first = scene.done(&["replay", "job.toml", "--out", "out.jsonl"]);
    assert!(!first.err.contains("another question"), "{first:?}");
    let (_, spent) = scene.charged("job.ledger");
    let words = "questions.jsonl:2: id: found that of another question, count where page = \"a\", which has its answer; give an id of \
                 its own";
    asks("page = \\\"b\\\"");
    for _ in 0..2 {
        let edited = scene.done(&["replay", "job.toml", "--out", "out.jsonl"]);
        assert_eq!(edited.err.matches(words).count(), 1, "{edited:?}");
    }
    let live = scene.done(&["run", "job.toml", "--out", "live.jsonl"]);
    assert_eq!(live.err.matches(words).count(), 1, "{live:?}");
    assert_eq!(answers(&scene, "out.jsonl").len(), 2);
    assert_eq!(scene.charged("job.ledger").1, spent);
}

// Refutes answers that depend on the number of processes, and a second run that asks again.
#[test]
fn two_processes_answer_as_one_does() {
    let scene = Scene::new("questions-of-two");
    let from = 1_500_000_000 * SECOND;
    scene.write("job.toml", job(from));
    scene.write("visits.csv", HEADER.to_owned() + &lines(from, 0..WINDOWS));
    for (id, at) in [("a", 1), ("b", 70), ("c", WINDOWS)] {
        let at = format!("\"at\":\"{}\",", moment(from + at * SECOND));
        ask(&scene, &count(id, &format!("{at}\"count\":\"price < 5\"")));
        ask(
            &scene,
            &count(&format!("{id} mean"), &format!("{at}\"mean\":\"price\",\"of\":[0,10],\"where\":\"all\"")),
        );
    }
    ask(&scene, &count("last", "\"count\":\"page = \\\"b\\\"\""));
    scene.init();
    hosts(&scene);
    scene.done(&["replay", "job.toml", "--demo", "-w", "2", "--out", "alone.jsonl"]);
    for _ in 0..2 {
        let both = [0, 1].map(|process| start_as(&scene, process, &["replay", "job.toml", "--demo"]));
        for life in both {
            let said = life.end();
            assert_eq!(said.code, Some(0), "{said:?}");
        }
        let tallies = |file: &str| -> BTreeMap<String, Value> {
            answers(&scene, file).into_iter().map(|(id, line)| (id, line["tally"].clone())).collect()
        };
        assert_eq!(tallies("releases.jsonl"), tallies("alone.jsonl"));
        assert_eq!(tallies("alone.jsonl")["last"], records(WINDOWS - 1) / 2);
        assert_eq!(tallies("alone.jsonl")["a"], records(0) / 2);
        assert_eq!(answers(&scene, "other.jsonl").len(), 0);
    }
    // For good, with a second run of one process.
    std::fs::remove_file(scene.at("releases.jsonl")).unwrap();
    for life in [0, 1].map(|process| start_as(&scene, process, &["replay", "job.toml"])) {
        let said = life.end();
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    scene.done(&["replay", "job.toml", "--out", "again.jsonl"]);
    assert_eq!(scene.read("again.jsonl"), scene.read("releases.jsonl"));
    assert_eq!(answers(&scene, "again.jsonl").len(), 7);
}
