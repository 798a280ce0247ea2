//! Revealed tallies are those that a gate would have been given; and no run has both.

use super::*;
use crate::accounting::PrivacyUnit;
use crate::dataflow::revealed::{self, ExactRun, ExactTally};
use crate::gate::Gate;
use crate::ledger::{AccountSpec, Ledger};
use crate::mechanisms::{Exponential, Grid, Label, PerPerson};
use crate::prelude::Budget;

/// The windows of a statistic: of each key that somebody has, the people and the coordinates.
type Windows = BTreeMap<Time, BTreeMap<String, (i128, Vec<i128>)>>;

/// The same, where a run has revealed them.
fn windows(tally: &ExactTally) -> Windows {
    let label = |label: &Label<'_>| match label {
        Label::Whole => String::new(),
        Label::Number(number) => number.to_string(),
        Label::Text(text) => text.clone().into_owned(),
        Label::Texts(parts) => parts.join(", "),
    };
    let of_window = |window: &revealed::ExactWindow| {
        let cells = window.cells().iter().filter(|(_, cell)| cell.people > 0);
        let cells = cells.map(|(key, cell)| {
            let numbers = match &cell.value {
                crate::mechanisms::ExactValue::Values(values) => {
                    values.iter().map(|value| i128::from(*value)).collect()
                }
                _ => cell.coordinates.values().copied().collect(),
            };
            (label(key), (cell.people.into(), numbers))
        });
        (window.interval().start(), cells.collect())
    };
    tally.windows().iter().map(of_window).collect()
}

/// The same, where a recorder has sealed them: of people, records and sum, or of values, those that are released.
fn sealed_windows(sealed: &[Sealed], name: &str) -> Windows {
    let numbers = |all: &[i128]| match name {
        "count" | "open" => vec![all[1]],
        "people" => vec![all[0]],
        "sum" => vec![all[2]],
        "mean" => vec![all[2], 2 * all[1]],
        "max" => {
            let mut values = all[2..].to_vec();
            values.sort_unstable();
            values
        }
        _ => all[1..].to_vec(),
    };
    let of_window = |keys: BTreeMap<String, Vec<i128>>| {
        keys.into_iter().map(|(key, all)| (key, (all[0], numbers(&all)))).collect()
    };
    let tallies = Recorder::tallies(sealed, name).into_iter();
    tallies.map(|(start, keys)| (start, of_window(keys))).collect()
}

/// The statistics of a pipeline, each ended by the same call on it.
macro_rules! every_statistic {
    ($visits:ident, $schedule:ident, |$tallied:ident, $name:ident, $mechanism:ident| $end:expr) => {{
        let people = $visits
            .protect(|visit: &Event| visit.0)
            .scheduled($schedule.clone(), |visit: &Event| visit.3)
            .late_by(5)
            .bound(Bound::keys(2).per_key(3).windows(2));
        let (key, value) = (|visit: &Event| visit.1, |visit: &Event| visit.2);
        let (listed, gaussian) = (|| Keys::public(0..9_u32), || Exactly(Gaussian::rho(0.5)));
        let search = || Exactly(Exponential::rho(0.5));
        macro_rules! end {
            ($statistic:expr, $by:expr, $called:literal) => {{
                let ($tallied, $name, $mechanism) = ($statistic, $called, $by());
                let _ = &$mechanism;
                $end
            }};
        }
        end!(people.clone().count_by(key, listed()), gaussian, "count");
        end!(people.clone().count_by(key, Keys::discover(1e-3)), gaussian, "open");
        end!(people.clone().people_by(key, listed()), gaussian, "people");
        end!(people.clone().sum_by(key, listed(), value, -30..=50), gaussian, "sum");
        end!(people.clone().mean_by(key, listed(), value, -40..=41), gaussian, "mean");
        end!(people.clone().max_by(key, listed(), value, Grid::log()), search, "max");
        let own = (PerPerson::Sum, value);
        let sums = people.clone().quantile_of_people_by(key, listed(), own, [0.5], Grid::linear(-40, 41, 1));
        end!(sums, search, "sums");
        end!(people.quantile_by(key, listed(), value, [0.5], Grid::linear(-40, 41, 1)), search, "median");
    }};
}

// Refutes another choice of what is kept of a person, other late records, and windows that are there for nobody.
#[test]
fn what_is_revealed_is_what_would_have_been_sealed() {
    for seed in 0..10 {
        let mut random = Random::new(seed);
        let schedule = match seed % 2 {
            0 => Schedule::tumbling(span(20), 0, Some(HORIZON)),
            _ => Schedule::sliding(span(40), span(20), 0, Some(HORIZON)),
        };
        let schedule = schedule.unwrap();
        let records = events(&mut random);
        let workers = 1 + random.below(4);
        let scripts = divided(&mut random, &records, workers);
        let recorder = Recorder::new(PrivacyUnit::Person);
        let (sealing, windows_of) = (recorder.clone(), schedule.clone());
        let finished = run(&scripts, move |visits| {
            every_statistic!(visits, windows_of, |tallied, name, mechanism| tallied
                .release_at(&sealing, name, mechanism));
        });
        assert!(finished.is_ok(), "{finished:?}");
        let sealed = recorder.sealed();
        let config = configured(scripts.len(), records.len());
        let tallies = revealed::execute_by(config, recorder::SECRET, move |worker, feeds, run| {
            let source = scripts[worker.index()].clone().source();
            worker.dataflow(|scope| {
                let visits = feeds.stream(scope, source);
                every_statistic!(visits, schedule, |tallied, name, mechanism| tallied.reveal(run, name));
            });
            Ok(())
        });
        let tallies = tallies.unwrap();
        assert_eq!(tallies.len(), 8);
        for tally in &tallies {
            let expected = sealed_windows(&sealed, tally.name());
            assert!(!expected.is_empty());
            assert_eq!(windows(tally), expected, "seed {seed}: {}", tally.name());
            assert_eq!((tally.bound().keys(), tally.bound().windows()), (2, Some(2)));
            assert_eq!(tally.discovers_keys(), tally.name() == "open");
        }
    }
}

fn counted(visits: Fed<'_, (u64, Time)>, end: impl FnOnce(Bounded<'_, (u64, Time), OfReaders, TimeOfVisit>)) {
    let person: PersonOfVisit = |visit| visit.0;
    let time: TimeOfVisit = |visit| visit.1;
    end(visits.protect(person).tumbling(span(10), time).between(0, 40).bound(Bound::keys(1)));
}

type PersonOfVisit = fn(&(u64, Time)) -> u64;
type TimeOfVisit = fn(&(u64, Time)) -> Time;
type OfReaders = People<u64, PersonOfVisit, DistinctRecords>;

// Refutes a run that releases and reveals: noise could be taken off what it has released.
#[test]
fn a_run_that_reveals_refuses_every_gate() {
    let directory = std::env::temp_dir().join(format!("discreet-revealed-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("visits.ledger");
    let account = AccountSpec::lifetime("visits", Budget::zcdp(1.0)).unwrap();
    Ledger::create(&path).unwrap().register(&account).unwrap();
    let gate = Arc::new(Gate::open(&path, "web").unwrap());
    for workers in [1, 2] {
        let gate = Arc::clone(&gate);
        let failed = revealed::execute(Config::threads(workers).unwrap(), 1, move |worker, feeds, run| {
            worker.dataflow(|scope| {
                let visits = feeds.stream(scope, All::of([(1, 5)]));
                counted(visits, |people| {
                    people.clone().count().reveal(run, "exact");
                    people.count().release(&gate, "noised", Gaussian::rho(0.1));
                });
            });
            Ok(())
        });
        let failed = failed.unwrap_err();
        assert_eq!(failed.kind(), FailureKind::Configuration);
        assert!(failed.to_string().starts_with("gate: a run whose tallies are revealed"), "{failed}");
    }
    let rows = Ledger::open(&path).unwrap().rows_of(gate.job()).unwrap();
    assert!(rows.iter().all(|row| row.release().name.as_str() != "noised"), "released: {rows:?}");
    std::fs::remove_dir_all(&directory).unwrap();
}

// Refutes a reveal in a run with gates, by the leave of a former run.
#[test]
fn a_run_reveals_by_its_own_leave_alone() {
    let kept: Arc<Mutex<Option<ExactRun>>> = Arc::default();
    let keeps = Arc::clone(&kept);
    let tallies = revealed::execute(Config::threads(1).unwrap(), 1, move |worker, feeds, run| {
        *keeps.lock().unwrap() = Some(run.clone());
        let visits = All::of([(1, 5)]);
        worker.dataflow(|scope| {
            counted(feeds.stream(scope, visits), |people| people.count().reveal(run, "exact"));
        });
        Ok(())
    });
    assert_eq!(tallies.unwrap()[0].windows().len(), 4);
    let former = kept.lock().unwrap().take().unwrap();
    let other = former.clone();
    let ordinary = execute(Config::threads(2).unwrap(), move |worker, feeds| {
        let visits = All::of([(1, 5)]);
        worker.dataflow(|scope| {
            counted(feeds.stream(scope, visits), |people| people.count().reveal(&former, "exact"));
        });
        Ok(())
    });
    let revealing = revealed::execute(Config::threads(1).unwrap(), 1, move |worker, feeds, _| {
        let visits = All::of([(1, 5)]);
        worker.dataflow(|scope| {
            counted(feeds.stream(scope, visits), |people| people.count().reveal(&other, "exact"));
        });
        Ok(())
    });
    for failed in [ordinary.unwrap_err(), revealing.unwrap_err()] {
        assert_eq!(failed.kind(), FailureKind::Configuration);
        assert!(failed.to_string().starts_with("reveal: the tallies of another run"), "{failed}");
    }
    let several = Config::cluster(1, 0, vec!["localhost:1".to_owned(), "localhost:2".to_owned()]).unwrap();
    let failed = revealed::execute(several, 1, |_, _, _| Ok(())).unwrap_err();
    assert!(failed.to_string().starts_with("hosts: "), "{failed}");
}
