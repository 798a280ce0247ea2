//! Events by audience: the public ones are the same for neighbouring inputs, the operator's are off until a program turns
//! them on, and none of either names a person, a key or a value.

#![allow(clippy::unwrap_used)]

#[path = "kit/mod.rs"]
mod kit;

use std::fmt::{Debug, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use discreet::accounting::Omega;
use discreet::event::{OPERATOR, PUBLIC, show_operator};
use discreet::prelude::*;
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use kit::children::{child, end};
use kit::{Directory, Random};

// A subscriber that records everything.

/// A step of a span, or an event, with all of its fields.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    target: String,
    text: String,
}

static ENTRIES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
static SPANS: AtomicU64 = AtomicU64::new(1);

/// The subscriber of every target and level. It has no clock.
struct Recorder;

struct Fields(String);

impl tracing::field::Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

fn record(metadata: &Metadata<'_>, kind: &str, fields: &str) {
    let text = format!("{} {kind} {}{fields}", metadata.level(), metadata.name());
    let entry = Entry { target: metadata.target().to_owned(), text };
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Fields(String::new());
        attributes.record(&mut fields);
        let kind = if attributes.parent().is_some() { "child" } else { "span" };
        record(attributes.metadata(), kind, &fields.0);
        Id::from_u64(SPANS.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut fields = Fields(String::new());
        values.record(&mut fields);
        let entry = Entry { target: OPERATOR.to_owned(), text: format!("recorded{}", fields.0) };
        ENTRIES.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        record(event.metadata(), "event", &fields.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Runs something alone, with the operator's events on or off, and returns what was recorded of it.
fn recorded(is_operator_shown: bool, run: impl FnOnce()) -> Vec<Entry> {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| tracing::subscriber::set_global_default(Recorder).unwrap());
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner).clear();
    show_operator(is_operator_shown);
    run();
    show_operator(false);
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner).split_off(0)
}

fn of(entries: &[Entry], target: &str) -> Vec<String> {
    entries.iter().filter(|entry| entry.target == target).map(|entry| entry.text.clone()).collect()
}

// Records that are unmistakable wherever they appear, and a pipeline over them.

/// A visit: who, what, a value, when.
type Visit = (String, String, i64, Time);

const HOUR: Time = 3_600_000_000;
/// The number of windows: of them one is skipped for a gap, and the budget pays for all but the last two.
const WINDOWS: Time = 9;
/// The value that no noise of this test resembles.
const VALUE: i64 = 7_351_900_000;

fn visits(random: &mut Random) -> Vec<Visit> {
    let visit = |_| {
        let (person, page) = (random.below(12), random.below(5));
        let (value, time) =
            (VALUE + random.below(1_000) as i64, random.below((WINDOWS * HOUR) as u64) as Time);
        (format!("who-zq{person}q"), format!("what-zq{page}q"), value, time)
    };
    (0..300).map(visit).collect()
}

/// True if a text has a part of a record.
fn names_a_record(text: &str) -> bool {
    text.contains("zq") || text.contains(&(VALUE / 1_000).to_string())
}

/// A source of visits, all of which come before any is complete, with a gap in the third window.
struct Visits(Vec<Visit>, u8);

impl Source for Visits {
    type Record = Visit;

    fn pull(&mut self, batch: &mut Vec<Visit>) -> Result<Pulled, SourceError> {
        self.1 += 1;
        match self.1 {
            1 => {
                batch.append(&mut self.0);
                Ok(Pulled::More)
            }
            2 => Ok(Pulled::Gap(2 * HOUR + 1, 2 * HOUR + 2)),
            3 => Ok(Pulled::Complete(5 * HOUR)),
            _ => Ok(Pulled::End),
        }
    }
}

/// Releases the visits from a new ledger; returns the lines that left.
fn release(visits: Vec<Visit>, workers: usize) -> String {
    let directory = Directory::new("events");
    let ledger = directory.at("visits.ledger");
    let cap = PrivacyCost::approximate_zcdp(0.65, Omega::EVERY, Some(0.5)).unwrap();
    let account = AccountSpec::lifetime("visits", cap).unwrap();
    Ledger::create(&ledger).unwrap().register(&account).unwrap();
    let gate = Gate::open(&ledger, "web").unwrap();
    let out = directory.at("out");
    let written = out.clone();
    let finished = discreet::execute(Config::threads(workers).unwrap(), move |worker, feeds| {
        let part: Vec<Visit> = visits.iter().skip(worker.index()).step_by(worker.peers()).cloned().collect();
        let out = written.clone();
        worker.dataflow(|scope| {
            feeds
                .stream(scope, Visits(part, 0))
                .protect(|(person, ..)| person.clone())
                .tumbling(hours(1), |(.., time)| *time)
                .between(0, WINDOWS * HOUR)
                .bound(Bound::keys(2).per_key(3))
                .sum_by(
                    |(_, page, ..)| page.clone(),
                    Keys::discover(1e-3),
                    |(_, _, value, _)| *value,
                    (0, 2 * VALUE),
                )
                .release(&gate, "value_by_page", Gaussian::rho(0.1))
                .deliver(move |release| {
                    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&out)?;
                    std::io::Write::write_all(&mut file, format!("{release}\n").as_bytes())
                });
        });
        Ok(())
    });
    let finished = finished.unwrap();
    assert_eq!((finished.released(), finished.refused(), finished.skipped()), (6, 2, 1));
    directory.read("out")
}

/// The events and spans of the operator that one run has, by their names.
const OPERATORS: [&str; 8] = [
    "event ledger opened",
    "event checkpoint",
    "event input gap",
    "event input ended",
    "span release",
    "child draw",
    "span commit",
    "recorded status=\"sealed\"",
];

// Refutes a public event that depends on one person, events for the operator that are on by themselves, and an event or a
// span of any target with a part of a record. The recorder notices what differs: the operator's events do.
#[test]
fn public_events_are_the_same_without_one_person() {
    for (seed, workers) in [(1, 1), (2, 1), (3, 2), (4, 1), (5, 2)] {
        let all = visits(&mut Random(seed));
        let person = all[seed as usize].0.clone();
        let others: Vec<Visit> = all.iter().filter(|(who, ..)| *who != person).cloned().collect();
        assert!(others.len() < all.len());

        let public = |entries: &[Entry]| of(entries, PUBLIC);
        let silent = recorded(false, || _ = release(all.clone(), workers));
        assert_eq!(of(&silent, OPERATOR), Vec::<String>::new(), "nobody has turned them on");
        let one = recorded(true, || _ = release(all, workers));
        let other = recorded(true, || _ = release(others, workers));
        for entry in silent.iter().chain(&one).chain(&other) {
            assert!(!names_a_record(&format!("{entry:?}")), "{entry:?}");
        }

        assert_eq!(public(&one), public(&other), "seed {seed}, {workers} workers");
        assert_eq!(public(&silent), public(&one), "the operator's events change no public one");
        let left = |status: &str| {
            let status = format!("status=\"{status}\"");
            public(&one).iter().filter(|text| text.contains("window left") && text.contains(&status)).count()
        };
        assert_eq!((left("sealed"), left("refused"), left("skipped")), (6, 2, 1), "{:#?}", public(&one));
        for name in ["gate opened", "run begun", "run ended"] {
            assert_eq!(public(&one).iter().filter(|text| text.contains(name)).count(), 1, "{name}");
        }

        let operator = of(&one, OPERATOR);
        for name in OPERATORS {
            assert!(operator.iter().any(|text| text.contains(name)), "no {name}: {operator:#?}");
        }
        let read = |entries: &[Entry]| {
            let mut ended = of(entries, OPERATOR);
            ended.retain(|text| text.contains("input ended"));
            ended.sort();
            ended
        };
        assert_eq!(read(&one).len(), workers);
        assert_ne!(read(&one), read(&other), "the number of records is the operator's");
    }
}

// Refutes a recorder that would miss a person, a key or a value in an event or in a span.
#[test]
fn the_recorder_notices_a_part_of_a_record() {
    let visit = visits(&mut Random(1)).remove(0);
    let (person, value) = (visit.0.as_str(), visit.2);
    let entries = recorded(true, || {
        tracing::event!(target: "elsewhere", tracing::Level::TRACE, value, "a value");
        tracing::trace!("in words: {person}");
        let span = tracing::trace_span!("span", key = ?visit.1, later = tracing::field::Empty);
        span.record("later", person);
        tracing::trace!(harmless = 1, "nothing");
    });
    let found: Vec<bool> = entries.iter().map(|entry| names_a_record(&format!("{entry:?}"))).collect();
    assert_eq!(found, [true, true, true, true, false], "{entries:#?}");
}

// Refutes a run that has failed and is reported as ended, an error whose text is in an event, and an end of the operator's
// that is public.
#[test]
fn a_run_that_fails_is_the_operators() {
    struct Broken;

    impl Source for Broken {
        type Record = Visit;

        fn pull(&mut self, _: &mut Vec<Visit>) -> Result<Pulled, SourceError> {
            Err(SourceError::lost("zq"))
        }
    }

    let entries = recorded(true, || {
        let directory = Directory::new("events-broken");
        let ledger = directory.at("visits.ledger");
        let account = AccountSpec::lifetime("visits", PrivacyCost::zcdp(1.0).unwrap()).unwrap();
        Ledger::create(&ledger).unwrap().register(&account).unwrap();
        let gate = Gate::open(&ledger, "web").unwrap();
        assert!(Gate::open(&ledger, "web").is_err(), "the job runs already");
        let failed = discreet::execute(Config::threads(1).unwrap(), move |worker, feeds| {
            worker.dataflow(|scope| {
                feeds
                    .stream(scope, Broken)
                    .protect(|(person, ..)| person.clone())
                    .tumbling(hours(1), |(.., time)| *time)
                    .between(0, HOUR)
                    .bound(Bound::keys(1))
                    .people()
                    .release(&gate, "people", Gaussian::rho(0.1))
                    .deliver(|_| Ok(()));
            });
            Ok(())
        });
        assert!(failed.unwrap_err().to_string().contains("zq"));
    });
    let failed = of(&entries, OPERATOR);
    for text in ["ledger locked", "gate halted", "run failed"] {
        assert_eq!(failed.iter().filter(|failed| failed.contains(text)).count(), 1, "{text}: {entries:#?}");
    }
    assert!(failed.iter().any(|failed| failed.contains("kind=Gone exit_code=69")), "{entries:#?}");
    assert!(!of(&entries, PUBLIC).iter().any(|text| text.contains("run ended")), "{entries:#?}");
    assert!(!entries.iter().any(|entry| names_a_record(&format!("{entry:?}"))), "{entries:#?}");
}

// Refutes the message of a panic that has a part of a record, a place in the code for those who have not asked for it, and
// none for the operator.
#[test]
fn a_panic_names_its_place_for_the_operator_alone() {
    for (task, is_shown) in [("panic", false), ("panic for the operator", true)] {
        let directory = Directory::new("events-panic");
        let (status, said) = end(child(task, &directory).spawn().unwrap());
        assert_eq!(status.code(), Some(70), "{said}");
        let line = said.lines().find(|line| line.starts_with("discreet: internal fault")).unwrap();
        assert!(line.ends_with("; nothing incomplete was released"), "{line}");
        assert_eq!(line.contains(" at tests/events.rs:"), is_shown, "{line}");
        assert!(!names_a_record(&said), "{said}");
    }
}

/// The task of a child process: a run that panics at a record.
#[test]
fn the_child() {
    let Ok(task) = std::env::var("TASK") else { return };
    let directory = std::env::var_os("DIRECTORY").unwrap();
    let ledger = std::path::Path::new(&directory).join("visits.ledger");
    tracing::subscriber::set_global_default(Recorder).unwrap();
    show_operator(task == "panic for the operator");
    let account = AccountSpec::lifetime("visits", PrivacyCost::zcdp(1.0).unwrap()).unwrap();
    Ledger::create(&ledger).unwrap().register(&account).unwrap();
    let gate = Gate::open(&ledger, "web").unwrap();
    let _ = discreet::execute(Config::threads(1).unwrap(), move |worker, feeds| {
        worker.dataflow(|scope| {
            feeds
                .stream(scope, Visits(visits(&mut Random(1)), 0))
                .protect(|(person, ..)| -> String { panic!("{person} is not expected") })
                .tumbling(hours(1), |(.., time)| *time)
                .between(0, HOUR)
                .bound(Bound::keys(1))
                .people()
                .release(&gate, "people", Gaussian::rho(0.1))
                .deliver(|_| Ok(()));
        });
        Ok(())
    });
}
