//! Queries end to end: on one worker, on two and on two processes; across a restart, and by two analysts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use discreet::dataflow::{
    All, Config, Deliver, Fed, Finished, Pulled, Reply, RunError, Source, SourceError, StreamVec, execute,
};
use discreet::gate::Gate;
use discreet::mechanisms::queries::{Field, Query, QueryRow, Schema, Value};
use discreet::mechanisms::{Bound, BoundedNoise};
use discreet::time::Time;
use serde_json::Value as Json;

use crate::kit::children::{end, hosts, process};
use crate::scene::{Scratch, Visit, cast, json, span, write_down, zcdp};

const HORIZON: i64 = 120;
const PEOPLE: u64 = 400;

fn schema() -> Schema {
    Schema::new([Field::number("value"), Field::text("path")]).unwrap().of_person("client").unwrap()
}

/// Everybody once in each window of 20, with a value below 100.
fn visits() -> impl Iterator<Item = Visit> {
    (0..PEOPLE).flat_map(|person| {
        (0..6).map(move |window| (person, (person % 3) as u32, (person % 100) as i64, window * 20 + 7, 0))
    })
}

/// Queries, each given by a word: its analyst, its id, its time, and its statistic.
fn questions(words: &str) -> Vec<Query> {
    let ask = |word: &str| {
        let [analyst, id, at, asks] = word.split(':').collect::<Vec<_>>()[..] else { panic!("{word}") };
        let schema = schema();
        let asking = schema.question(analyst, id, at.parse().unwrap());
        match asks {
            "mean" => asking.mean("value", "0", "100", "path in {\"/0\", \"/1\"}"),
            "low" => asking.count("value < 50"),
            "none" => asking.count("value > 1000 or path = \"/nowhere\""),
            _ => asking.count("all"),
        }
        .unwrap()
    };
    words.split_whitespace().map(ask).collect()
}

/// A bundle with three answers for ann, and two for ben.
fn bundle() -> BoundedNoise {
    BoundedNoise::bundle(5).epsilon(1.0, 1e-6).share("ann", 3).share("ben", 2)
}

fn answers<'scope>(
    visits: Fed<'scope, Visit>,
    questions: Fed<'scope, Query>,
    gate: &Gate,
) -> StreamVec<'scope, Time, Reply> {
    let people = visits.protect(|visit| visit.0).tumbling(span(20), |visit| visit.3).between(0, HORIZON);
    people
        .bound(Bound::keys(1))
        .answer(schema(), row, questions)
        .release(gate, "questions", bundle())
        .releases
}

fn job(config: Config, gate: Gate, words: String, directory: PathBuf) -> Result<Finished, RunError> {
    execute(config, move |worker, feeds| {
        let (own, peers) = (worker.index(), worker.peers());
        let asked = questions(&words).into_iter().skip(own).step_by(peers);
        worker.dataflow(|scope| {
            let questions = feeds.stream(scope, All::of(asked.collect::<Vec<_>>()));
            let visits = feeds.stream(scope, All::of(visits().skip(own).step_by(peers)));
            write_down(answers(visits, questions, &gate), &directory);
        });
        Ok(())
    })
}

fn row(visit: &Visit) -> QueryRow {
    QueryRow::new([Value::Number(visit.2), Value::Text(format!("/{}", visit.1).into())])
}

pub(crate) fn child(words: &str, directory: PathBuf) -> Result<Finished, RunError> {
    let (config, gate) = cast(&directory, 1);
    job(config, gate, words.to_owned(), directory)
}

/// The released line of each query, by analyst and id.
fn printed(scratch: &Scratch) -> BTreeMap<String, Vec<Json>> {
    let mut printed: BTreeMap<String, Vec<Json>> = BTreeMap::new();
    for line in scratch.lines().iter().map(|line| json(line)).filter(|line| line.get("closed").is_none()) {
        let name = format!("{}:{}", line["analyst"].as_str().unwrap(), line["question"].as_str().unwrap());
        printed.entry(name).or_default().push(line);
    }
    printed
}

/// Returns true if the exact value is within the line's interval, and a count is no farther from it than its
/// bound; the count itself may be negative.
fn holds(line: &Json, truth: f64) -> bool {
    let [low, high] = [0, 1].map(|end| line["interval"][end].as_f64().unwrap());
    let value = line["value"].as_f64().unwrap();
    let near = match line["noise"]["bound"].as_f64() {
        Some(bound) => (value - truth).abs() <= bound,
        None => low <= value && value <= high,
    };
    low <= truth && truth <= high && near
}

// Refutes an answer beyond its bound, a share that another analyst uses up, an answer to a query past the
// last, an answer that changes after a restart or is charged again, and a number of answers left that a
// restart forgets.
#[test]
fn the_last_answer_is_given_and_none_after_it_across_a_restart() {
    let scratch = Scratch::new("questions", &zcdp());
    let run = |words: &str, threads: usize| {
        let gate = Gate::open(scratch.ledger(), crate::scene::JOB).unwrap();
        let config = Config::threads(threads).unwrap();
        let finished = job(config, gate, words.to_owned(), scratch.0.to_path_buf());
        assert!(finished.is_ok(), "{finished:?}");
    };
    let unspent = scratch.spent();
    run("ann:all:20:count ann:low:119:low ben:both:50:mean", 2);
    let first = printed(&scratch);
    let one = |name: &str| {
        let lines = &first[name];
        assert_eq!(lines.len(), 1, "{lines:?}");
        lines[0].clone()
    };
    assert!(holds(&one("ann:all"), PEOPLE as f64) && holds(&one("ann:low"), PEOPLE as f64 / 2.0));
    let two_thirds: Vec<u64> =
        (0..PEOPLE).filter(|person| person % 3 < 2).map(|person| person % 100).collect();
    let mean = two_thirds.iter().sum::<u64>() as f64 / two_thirds.len() as f64;
    assert!(holds(&one("ben:both"), mean), "{mean}: {}", one("ben:both"));
    // The newest version at the time of each.
    assert_eq!(one("ann:low")["version"]["start"], "1970-01-01T00:00:00.00008Z");
    // Two workers may bring two queries in either order.
    let mut used = ["ann:all", "ann:low"].map(|name| one(name)["used"].as_u64());
    used.sort_unstable();
    assert_eq!((used, one("ben:both")["left"].as_u64()), ([Some(1), Some(2)], Some(0)));
    let spent = scratch.spent();
    assert_ne!(spent, unspent);

    // In another process, a mean asks for two answers and one is left; then the last one is given, and none
    // after it.
    run("ann:mean:100:mean", 1);
    run("ann:last:100:none ann:all:20:low", 1);
    run("ann:more:100:count ben:more:100:count ann:last:20:count", 2);
    let printed = printed(&scratch);
    for refused in ["ann:mean", "ann:more", "ben:more"] {
        assert_eq!(printed[refused][0]["refused"], "bundle", "{refused}");
        assert!(printed[refused][0].get("value").is_none());
    }
    assert!(holds(&printed["ann:last"][0], 0.0), "{}", printed["ann:last"][0]);
    assert_eq!(printed["ann:all"], [one("ann:all"), one("ann:all")], "an id has one answer");
    assert_eq!(printed["ann:last"][0], printed["ann:last"][1]);
    assert_eq!(scratch.spent(), spent, "a bundle is paid for once");
    assert_eq!(scratch.rows().len(), 7);
}

/// Asks one query after another, each once the one before was answered.
struct Analyst {
    left: std::vec::IntoIter<Query>,
    asked: usize,
    printed: Arc<AtomicUsize>,
}

impl Source for Analyst {
    type Record = Query;

    fn pull(&mut self, batch: &mut Vec<Query>) -> Result<Pulled, SourceError> {
        if self.printed.load(Ordering::SeqCst) < self.asked {
            return Ok(Pulled::Idle);
        }
        let Some(next) = self.left.next() else { return Ok(Pulled::End) };
        self.asked += 1;
        batch.push(next);
        Ok(Pulled::More)
    }
}

// Refutes an answer that waits for the end of the queries: an analyst waits for the answer, and both would
// wait for ever.
#[test]
fn whoever_waits_for_an_answer_is_answered() {
    for threads in [1, 2, 3] {
        let scratch = Scratch::new("questions-live", &zcdp());
        let gate = Gate::open(scratch.ledger(), crate::scene::JOB).unwrap();
        let printed = Arc::new(AtomicUsize::new(0));
        let finished = execute(Config::threads(threads).unwrap(), move |worker, feeds| {
            let (own, peers, printed) = (worker.index(), worker.peers(), Arc::clone(&printed));
            let words = if own == 0 { "ann:a:20:count ann:b:119:low ann:c:60:count" } else { "" };
            let left = questions(words).into_iter();
            let analyst = Analyst { left, asked: 0, printed: Arc::clone(&printed) };
            worker.dataflow(|scope| {
                let questions = feeds.stream(scope, analyst);
                let visits = feeds.stream(scope, All::of(visits().skip(own).step_by(peers)));
                answers(visits, questions, &gate).deliver(move |_| {
                    printed.fetch_add(1, Ordering::SeqCst);
                    Ok(())
                });
            });
            Ok(())
        });
        assert_eq!(finished.unwrap().released(), 3);
    }
}

// Refutes an answer that is lost because nobody took it: the next process releases it without a query.
#[test]
fn an_answer_that_was_not_taken_is_delivered_by_the_next_process() {
    let scratch = Scratch::new("questions-left", &zcdp());
    let gate = || Gate::open(scratch.ledger(), crate::scene::JOB).unwrap();
    let opened = gate();
    let failed = execute(Config::threads(1).unwrap(), move |worker, feeds| {
        worker.dataflow(|scope| {
            let questions = feeds.stream(scope, All::of(questions("ann:a:20:count")));
            let visits = feeds.stream(scope, All::of(visits()));
            answers(visits, questions, &opened).deliver(|_| Err(std::io::Error::other("full")));
        });
        Ok(())
    });
    assert!(failed.is_err());
    let row = scratch.rows()[0].clone();
    let finished = job(Config::threads(2).unwrap(), gate(), String::new(), scratch.0.to_path_buf());
    assert!(finished.is_ok(), "{finished:?}");
    assert_eq!(scratch.lines()[0], row.text);
    assert_eq!(scratch.rows().len(), 1);
}

// Refutes a query that finds only the people of one process, or that only one process can ask.
#[test]
fn two_processes_answer_each_others_questions() {
    let scratch = Scratch::new("questions-two", &zcdp());
    let hosts = hosts();
    let words = "questions ann:a:20:count ann:b:119:count ben:c:60:count";
    let children = [0, 1].map(|at| process(words, &scratch.0, &hosts, at).spawn().unwrap());
    for (status, said) in children.map(end) {
        assert!(status.success(), "{said}");
    }
    let printed = printed(&scratch);
    assert_eq!(printed.len(), 3, "{printed:?}");
    assert!(printed.values().all(|lines| lines.len() == 1 && holds(&lines[0], PEOPLE as f64)), "{printed:?}");
}
