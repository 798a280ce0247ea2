//! Panes that memory has no room for: what is released does not depend on which of them were spilled. Half of the runs
//! of the other tests spill too, against their own references.

use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::accounting::PrivacyUnit;
use crate::mechanisms::{Exponential, Grid};
use crate::noise::goodness::size;

/// Statistics of one bundle: by one function of the key and by another, with a filter, with and without a bound of
/// windows, totals that follow by difference and totals that do not.
fn release(
    recorder: &Recorder,
    schedule: &Schedule,
    late: i64,
) -> impl Fn(Fed<'_, Event>) + Send + Sync + use<> {
    let (recorder, schedule) = (recorder.clone(), schedule.clone());
    move |visits| {
        let noise = || Exactly(Gaussian::rho(0.5));
        let people = visits
            .clone()
            .protect(|visit: &Event| visit.0)
            .scheduled(schedule.clone(), |visit: &Event| visit.3)
            .late_by(late);
        let bounded = people.bound(Bound::keys(2).per_key(3));
        let (key, value) = (|visit: &Event| visit.1, |visit: &Event| visit.2);
        bounded.clone().count_by(key, Keys::public(0..9)).release_at(&recorder, "count", noise());
        bounded
            .clone()
            .sum_by(key, Keys::public(0..9), value, -30..=50)
            .keyed_alike(None, Some(Rc::new(|visit: &Event| visit.2 % 3 != 0)))
            .release_at(&recorder, "sum", noise());
        bounded.clone().count_by(key, Keys::discover(1e-3)).release_at(&recorder, "open", noise());
        bounded.quantile_by(key, Keys::public(0..9), value, [0.5], Grid::linear(-40, 41, 1)).release_at(
            &recorder,
            "values",
            Exactly(Exponential::rho(0.5)),
        );
        let counted = visits
            .protect(|visit: &Event| visit.0)
            .identified_by(|visit: &Event| visit.4 % 40)
            .scheduled(schedule.clone(), |visit: &Event| visit.3)
            .late_by(late)
            .bound(Bound::keys(2).per_key(3).windows(2));
        counted.clone().count_by(key, Keys::public(0..9)).release_at(&recorder, "in_two", noise());
        counted.sum_by(key, Keys::public(0..9), value, -30..=50).release_at(&recorder, "sum_in_two", noise());
    }
}

/// The windows of a seed: those that lie side by side, those that are put together from panes, and those that follow by
/// difference.
fn schedule(random: &mut Random) -> Schedule {
    match random.below(3) {
        0 => Schedule::tumbling(span(random.pick(&[10, 30])), 0, Some(HORIZON)),
        _ => Schedule::sliding(span(random.pick(&[30, 60])), span(random.pick(&[10, 20])), 0, Some(HORIZON)),
    }
    .unwrap()
}

const NAMES: [&str; 6] = ["count", "sum", "open", "values", "in_two", "sum_in_two"];

type Released = Vec<BTreeMap<Time, BTreeMap<String, Vec<i128>>>>;

fn tallies(recorder: &Recorder) -> Released {
    let sealed = recorder.sealed();
    NAMES.iter().map(|name| Recorder::tallies(&sealed, name)).collect()
}

fn releases(config: Config, scripts: &[Script<Event>], schedule: &Schedule, late: i64) -> Released {
    let recorder = Recorder::new(PrivacyUnit::Person);
    let finished = run_by(config, scripts, release(&recorder, schedule, late));
    assert!(finished.is_ok(), "{finished:?}");
    tallies(&recorder)
}

// Refutes a pane that is lost, that is read twice, or that is read into another window; a person who has more keys or
// records by being spilled between them; and a record that is late for a pane because it was spilled.
#[test]
fn what_is_released_does_not_depend_on_what_was_spilled() {
    let mut read = 0;
    for seed in 0..size(40, 400) as u64 {
        let mut random = Random::new(seed);
        let (schedule, late) = (schedule(&mut random), random.pick(&[0, 7]));
        let workers = random.pick(&[1, 2, 4]);
        let events = [events(&mut random), events(&mut random)].concat();
        let scripts = divided(&mut random, &events, workers);
        let space = Arc::new(spilled(std::env::temp_dir()));
        let config = || Config::threads(workers).unwrap();
        let expected = releases(config(), &scripts, &schedule, late);
        let found = releases(config().spilling(Some(Arc::clone(&space))), &scripts, &schedule, late);
        assert_eq!(found, expected, "seed {seed}");
        read += space.read();
    }
    assert!(read > 300, "{read} panes were read back");
}

// Refutes a run that goes on without what it cannot read, and one that panics: whatever was sealed is what would have
// been.
#[test]
fn a_pane_that_cannot_be_read_back_ends_the_run() {
    let mut ended = 0;
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let schedule = schedule(&mut random);
        let workers = random.pick(&[1, 2]);
        let events = [events(&mut random), events(&mut random)].concat();
        let scripts = divided(&mut random, &events, workers);
        let config = || Config::threads(workers).unwrap();
        let expected = releases(config(), &scripts, &schedule, 0);
        let space = Arc::new(spilled(std::env::temp_dir()).readable(random.below(30) as u64));
        let recorder = Recorder::new(PrivacyUnit::Person);
        let finished =
            run_by(config().spilling(Some(Arc::clone(&space))), &scripts, release(&recorder, &schedule, 0));
        if let Err(failure) = finished {
            assert_eq!(failure.exit_code(), 70);
            assert!(failure.to_string().starts_with("limits.spill: "), "{failure}");
            ended += 1;
        }
        for (sealed, expected) in tallies(&recorder).iter().zip(&expected) {
            assert!(sealed.iter().all(|(start, keys)| expected.get(start) == Some(keys)), "seed {seed}");
        }
    }
    assert!(ended > 20, "{ended} ended");
}

// Refutes a run that ends, or loses panes, where there is no room for them in the file either.
#[test]
fn what_cannot_be_written_stays_in_memory() {
    let mut random = Random::new(3);
    let schedule = Schedule::tumbling(span(10), 0, Some(HORIZON)).unwrap();
    let events = [events(&mut random), events(&mut random)].concat();
    let scripts = divided(&mut random, &events, 2);
    let expected = releases(Config::threads(2).unwrap(), &scripts, &schedule, 0);
    let warned = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&warned);
    let warn = move |warning: &str| {
        assert!(warning.starts_with("limits.spill: open windows cannot be written to /nowhere/at/all: "));
        count.fetch_add(1, Ordering::Relaxed);
    };
    let space = Arc::new(SpillSpace::new("/nowhere/at/all".into(), (u64::MAX, 2), warn).forced());
    let found =
        releases(Config::threads(2).unwrap().spilling(Some(Arc::clone(&space))), &scripts, &schedule, 0);
    assert_eq!(found, expected);
    assert_eq!((warned.load(Ordering::Relaxed), space.read()), (1, 0), "it warns once");
}
