//! Scenarios through the built command, as its users call it: every option in every mode, and every pair of
//! option values.
//!
//! The model ([`model`]) has the options and the combinations that are refused; a covering array
//! ([`covering`]) has the rows; each row becomes a job ([`job_file`]), a log and a command line ([`row`]) and is held to the
//! same invariants ([`checks`]). An ordinary run takes the first rows of the array; `DISCREET_FULL=1 cargo
//! test --test scenarios` takes all.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod checks;
mod covering;
mod job_file;
#[path = "../kit/mod.rs"]
mod kit;
mod model;
mod row;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use covering::{Combination, Space, Values, choices};
use kit::Directory;
use model::{Because, FACTORS, FAULTS, Fault, OF_FEATURES, RULES, TRIPLES};
use row::{Row, Scenario};
use toml::de::{DeTable, DeValue};

const SEED: u64 = 1;

/// The rows of an ordinary run: at most 90 seconds on two cores.
const ORDINARY: usize = 40;

fn combinations() -> Vec<Combination> {
    RULES.iter().map(|rule| rule.0).chain(FAULTS.iter().map(|fault| fault.combination)).collect()
}

fn array() -> Vec<Values> {
    let triples: Vec<_> = TRIPLES.iter().flat_map(|triple| choices(FACTORS, triple)).collect();
    Space::new(FACTORS, &combinations()).array(SEED, &triples)
}

/// Calls a function with each entry on two threads; returns the messages of those that failed, in order.
fn in_parallel<T: Sync>(entries: &[T], call: impl Fn(usize, &T) -> Option<String> + Sync) -> Vec<String> {
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(entry) = entries.get(at) else { break };
                    if let Some(failure) = call(at, entry) {
                        failures.lock().unwrap().insert(at, failure);
                    }
                }
            });
        }
    });
    failures.into_inner().unwrap().into_values().collect()
}

// Refutes a row whose windows are not those of its schedule, whose second run releases or charges anything
// else, whose killed run has two values of a window or another cost, whose exact numbers are not those of the
// log, and one that does not end.
#[test]
fn every_row_keeps_its_promises() {
    let rows = array();
    let only: Option<usize> = std::env::var("DISCREET_ROW").ok().and_then(|row| row.parse().ok());
    let all = if kit::full() { rows.len() } else { ORDINARY.min(rows.len()) };
    let rows: Vec<(usize, Values)> = rows.into_iter().enumerate().collect();
    let rows = match only {
        Some(only) => {
            println!("scenarios: row {only}: {}", Row(rows[only].1.clone()).shown());
            &rows[only..=only]
        }
        None => &rows[..all],
    };
    let totals = Mutex::new(checks::Done::default());
    let failures = in_parallel(rows, |_, (number, values)| {
        let row = Row(values.clone());
        match checks::row(row.clone(), *number as u64) {
            Ok(done) => {
                let mut totals = totals.lock().unwrap();
                totals.kills += done.kills;
                totals.second_runs += done.second_runs;
                None
            }
            Err(why) => {
                Some(format!("row {number}: {}\n{why}\n{}", row.shown(), Scenario::new(row.clone(), 0).job))
            }
        }
    });
    let pairs: BTreeSet<covering::Pair> = rows.iter().flat_map(|(_, row)| covering::pairs_of(row)).collect();
    let checks::Done { kills, second_runs } = *totals.lock().unwrap();
    println!(
        "scenarios: {} rows cover {} pairs of {} options in 3 modes; {kills} kills, {second_runs} second runs",
        rows.len(),
        pairs.len(),
        FACTORS.len(),
    );
    for Fault { combination, reproduction } in FAULTS {
        println!("scenarios: left out for a known fault: {combination:?}: {reproduction}");
    }
    assert!(failures.is_empty(), "{} of {} rows:\n{}", failures.len(), rows.len(), failures.join("\n"));
}

/// The fields of a job file, and the words among their values.
#[derive(Default)]
struct Used {
    fields: BTreeSet<String>,
    words: BTreeSet<(String, String)>,
}

impl Used {
    fn add(&mut self, text: &str) {
        for (name, value) in DeTable::parse(text).unwrap().get_ref() {
            self.walk(name.get_ref(), value.get_ref());
        }
    }

    fn walk(&mut self, path: &str, value: &DeValue<'_>) {
        self.fields.insert(path.to_owned());
        match value {
            DeValue::Table(table) => {
                for (name, value) in table {
                    self.walk(&format!("{path}.{}", name.get_ref()), value.get_ref());
                }
            }
            DeValue::Array(entries) => {
                for entry in entries.iter().filter(|entry| entry.get_ref().is_table()) {
                    self.walk(path, entry.get_ref());
                }
            }
            DeValue::String(text) => {
                // A promise is a word, or a word and a span.
                for word in [text, text.split(' ').next().unwrap_or_default()] {
                    self.words.insert((path.to_owned(), word.to_owned()));
                }
            }
            _ => {}
        }
    }
}

// Refutes an option, or a word for one, that no row of some mode has: a new option fails this test until it
// is in the model.
#[test]
fn every_option_has_a_row_in_every_mode() {
    let directory = Directory::new("fields");
    let listed = directory.run(&["fields", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    let mut missing = Vec::new();
    let rows = array();
    for mode in FACTORS[0].1 {
        let rows = rows.iter().map(|values| Row(values.clone())).filter(|row| row.value("mode") == *mode);
        let mut used = Used::default();
        for row in rows {
            used.add(&Scenario::new(row, 0).job.to_string());
        }
        for field in listed["fields"].as_array().unwrap() {
            let path = field["path"].as_str().unwrap();
            if !used.fields.contains(path) {
                missing.push(format!("{mode}: {path}"));
            }
            for word in field["words"].as_array().unwrap() {
                let word = word.as_str().unwrap();
                if !used.words.contains(&(path.to_owned(), word.to_owned()))
                    && !OF_FEATURES.contains(&(path, word))
                {
                    missing.push(format!("{mode}: {path} = {word:?}"));
                }
            }
        }
    }
    assert!(missing.is_empty(), "options without a row in the model:\n{}", missing.join("\n"));
}

// Refutes a combination that is refused elsewhere than the model says, or accepted: each is tried with every
// choice of its values, in a row that satisfies all other rules.
#[test]
fn what_does_not_go_together_is_refused_by_its_field() {
    let space = Space::new(FACTORS, &combinations());
    let mut tried: Vec<(usize, Row)> = Vec::new();
    for (number, rule) in RULES.iter().enumerate() {
        if matches!(rule.1, Because::Senseless) {
            continue;
        }
        let before = tried.len();
        let mut random = kit::Random(number as u64);
        for choice in choices(FACTORS, rule.0) {
            let row = space.complete(&choice, Some(number), &mut |_, _, _| random.below(1_000));
            tried.extend(row.map(|row| (number, Row(row))));
        }
        assert!(tried.len() > before, "rule {number} is said by the others already: {:?}", rule.0);
    }
    let failures = in_parallel(&tried, |_, (number, row)| {
        let directory = Directory::new("refused");
        let scenario = Scenario::new(row.clone(), jiff::Timestamp::now().as_microsecond());
        scenario.write(&directory);
        let check = directory.run(&["check", "job.toml"]);
        let wrong = match RULES[*number].1 {
            Because::Check(field) => {
                let named = check
                    .err
                    .lines()
                    .any(|line| line.starts_with("error: job.toml:") && line.contains(field));
                (check.code != Some(78) || !named).then(|| format!("expected 78 and {field}: {check:?}"))
            }
            Because::Mode(code, text) => {
                directory.run(&["ledger", "init", "job.ledger", "--config", "job.toml"]);
                let arguments = scenario.arguments(row.value("workers"));
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let ended = directory.run(&arguments);
                let right =
                    ended.code == Some(code) && ended.err.contains(text) && !ended.out.contains("\"closed\"");
                (!right).then(|| format!("expected {code} and {text:?}: {ended:?}"))
            }
            Because::Senseless => None,
        };
        wrong.map(|why| format!("rule {:?}\n{}\n{why}", RULES[*number].0, row.shown()))
    });
    println!("scenarios: {} refused combinations of {} rules", tried.len(), RULES.len());
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), tried.len(), failures.join("\n\n"));
}
