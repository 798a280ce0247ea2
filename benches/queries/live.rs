//! Queries on a stream: the time of an answer, new and repeated, and the time of moving windows.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use discreet::dataflow::{Pulled, Source, SourceError};
use discreet::mechanisms::BoundedNoise;
use discreet::mechanisms::queries::{ColumnStore, Field, Query, QueryRow, Schema, Steps, Value};
use discreet::prelude::*;

const PEOPLE: u64 = 1_000_000;
/// The number of queries in a batch.
const ASKED: usize = 500;
const COUNTRIES: [&str; 8] = ["AT", "BE", "CH", "DE", "ES", "FR", "IT", "NL"];
const MINUTE: i64 = 60_000_000;

/// A visitor: id, time, age, origin, and amount spent.
#[derive(Clone, Serialize, Deserialize)]
struct Visitor(u64, i64, i64, u8, i64);

fn visitor(person: u64, within: i64) -> Visitor {
    let mixed = person.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let part = |bits: u32, of: u64| ((mixed >> bits) % of) as i64;
    Visitor(person, part(3, within as u64), part(17, 100), part(29, 8) as u8, part(31, 10_000))
}

fn row(visitor: &Visitor) -> QueryRow {
    let Visitor(_, _, age, country, spent) = visitor;
    let country = COUNTRIES[usize::from(*country)];
    QueryRow::new([Value::Number(*age), Value::Text(country.into()), Value::Number(*spent)])
}

fn schema() -> Result<Schema, Invalid> {
    Schema::new([Field::number("age"), Field::text("country"), Field::decimal("spent", 2)])?
        .of_person("visitor")
}

/// Queries by three fields, a quarter of them means.
fn questions(schema: &Schema, first: usize, at: i64) -> Result<Vec<Query>, Invalid> {
    (first..first + ASKED)
        .map(|number| {
            let (id, age) = (number.to_string(), number % 80);
            let (one, other) = (COUNTRIES[number % 8], COUNTRIES[number / 8 % 8]);
            let filter =
                format!("age >= {age} and country in {{\"{one}\", \"{other}\"}} and not spent in 10..20");
            let asking = schema.question("ann", &id, at);
            if number % 4 == 0 { asking.mean("spent", "0", "100", &filter) } else { asking.count(&filter) }
        })
        .collect()
}

/// An analyst that sends a batch once the one before was answered, and records its time.
struct Analyst {
    batches: std::vec::IntoIter<Vec<Query>>,
    asked: usize,
    since: Instant,
    released: Arc<AtomicUsize>,
    took: Arc<Mutex<Vec<f64>>>,
}

impl Source for Analyst {
    type Record = Query;

    fn pull(&mut self, batch: &mut Vec<Query>) -> Result<Pulled, SourceError> {
        if self.released.load(Ordering::SeqCst) < self.asked {
            return Ok(Pulled::Idle);
        }
        if self.asked > 0
            && let Ok(mut took) = self.took.lock()
        {
            took.push(self.since.elapsed().as_secs_f64());
        }
        let Some(next) = self.batches.next() else { return Ok(Pulled::End) };
        self.asked += next.len();
        batch.extend(next);
        self.since = Instant::now();
        Ok(Pulled::More)
    }
}

/// A setting: the windows, and the storage of their versions.
#[derive(Clone, Copy)]
struct Setting {
    workers: usize,
    people: u64,
    within: i64,
    size: i64,
    step: i64,
    together: bool,
}

/// Runs batches of queries to their end: the seconds of each batch, the CPU seconds of the whole run, and its
/// wall-clock seconds.
fn run(
    directory: &Path,
    setting: Setting,
    batches: &[Vec<Query>],
) -> Result<(Vec<f64>, f64, f64), Box<dyn Error>> {
    let ledger = directory.join("study.ledger");
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory)?;
    Ledger::create(&ledger)?.register(&AccountSpec::lifetime("study", Budget::approximate(8.0, 1e-5))?)?;
    let gate = Arc::new(Gate::open(&ledger, "study")?);
    let took = Arc::new(Mutex::new(Vec::new()));
    let (released, taking, batches) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&took), batches.to_vec());
    let (before, start) = (cpu(), Instant::now());
    let finished = discreet::execute(Config::threads(setting.workers)?, move |worker, feeds| {
        let Setting { workers, people, within, size, step, together } = setting;
        let (own, workers) = (worker.index() as u64, workers as u64);
        let records =
            (0..people).filter(move |person| person % workers == own).map(move |p| visitor(p, within));
        let mine = if own == 0 { batches.clone() } else { Vec::new() };
        let (released, took, since) = (Arc::clone(&released), Arc::clone(&taking), Instant::now());
        let analyst =
            Analyst { batches: mine.into_iter(), asked: 0, since, released: Arc::clone(&released), took };
        let (schema, gate) = (schema()?, Arc::clone(&gate));
        worker.dataflow(|scope| {
            let questions = feeds.stream(scope, analyst);
            let answered = feeds
                .stream(scope, All::of(records))
                .protect(|visitor| visitor.0)
                .sliding(minutes(size), minutes(step), |visitor| visitor.1)
                .between(0, within)
                .bound(Bound::keys(1))
                .answer(schema, row, questions)
                .kept_for_tests_of_the_library_itself(together)
                .release(&gate, "questions", BoundedNoise::bundle(10_000).epsilon(1.0, 1e-6));
            answered.releases.deliver(move |_| {
                released.fetch_add(1, Ordering::SeqCst);
                Ok(())
            });
        });
        Ok(())
    })?;
    assert_eq!(finished.refused(), 0, "everything is paid for");
    let took = took.lock().map(|took| took.clone()).unwrap_or_default();
    Ok((took, cpu() - before, start.elapsed().as_secs_f64()))
}

/// Prints the time of answers.
pub(crate) fn measure() -> Result<(), Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("discreet-bench-answers-{}", std::process::id()));
    let (schema, hour) = (schema()?, 60 * MINUTE);
    let warm = vec![schema.question("ann", "warm", hour).count("all")?];
    let (new, again) = (questions(&schema, 0, hour)?, questions(&schema, 0, hour)?);
    let batches = [warm, new, again];
    let mut columns = ColumnStore::new(&schema);
    (0..PEOPLE).for_each(|person| columns.push(&row(&visitor(person, hour))));
    let start = Instant::now();
    for question in &batches[1] {
        std::hint::black_box(columns.found(question, &Steps::new(100)));
    }
    let floor = start.elapsed().as_secs_f64() / ASKED as f64;
    println!("a million people, one thread, nothing protected: {:.3} ms a question", 1e3 * floor);
    drop(columns);
    for workers in [1, 2] {
        let setting = Setting { workers, people: PEOPLE, within: hour, size: 60, step: 60, together: false };
        let (took, ..) = run(&directory, setting, &batches)?;
        let [_, new, again] = took[..] else { return Err("a batch was not answered".into()) };
        let (new, again) = (new / ASKED as f64, again / ASKED as f64);
        println!(
            "{workers} workers: {:.3} ms a new question, {:.3} ms one asked before",
            1e3 * new,
            1e3 * again
        );
        println!("figure answers.new_a_second_{workers}_workers {:.0} 1/s", 1.0 / new);
        println!("figure answers.repeated_a_second_{workers}_workers {:.0} 1/s", 1.0 / again);
        println!("ratio answers.new_over_scan_{workers}_workers {:.2}", new / floor);
    }

    // Three hours of people, and one query of each version at its close.
    let (people, within) = (300_000, 3 * hour);
    for (name, size, step) in [("side by side", 5, 5), ("overlapping", 60, 5), ("overlapping finely", 60, 1)]
    {
        let versions = (180 - size) / step + 1;
        let asked: Vec<Query> = (0..versions)
            .map(|version| {
                let close = (size + version * step) * MINUTE;
                schema.question("ann", &format!("at {close}"), close).count("age >= 18")
            })
            .collect::<Result<_, _>>()?;
        let mut spent = [0.0; 2];
        for (spent, together) in spent.iter_mut().zip([false, true]) {
            let setting = Setting { workers: 1, people, within, size, step, together };
            let (_, cpu, _) = run(&directory, setting, std::slice::from_ref(&asked))?;
            *spent = cpu / versions as f64;
        }
        println!(
            "{people} people, windows of {size} minutes every {step}, {name}: {:.1} ms a version kept apart, {:.1} ms together",
            1e3 * spent[0],
            1e3 * spent[1]
        );
        let name = name.replace(' ', "_");
        println!("ratio answers.together_over_apart_{name} {:.2}", spent[1] / spent[0]);
    }
    Ok(fs::remove_dir_all(&directory)?)
}

/// The CPU seconds of all threads of this process.
fn cpu() -> f64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}
