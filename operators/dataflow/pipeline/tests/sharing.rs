//! Statistics that share one table of people: what is kept of a person is one choice for all of them.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::LazyLock;

use super::neighbours::{pair, without};
use super::*;
use crate::accounting::PrivacyUnit;
use crate::dataflow::pipeline::bounder::RecordFilter;
use crate::mechanisms::{Exponential, Grid};
use crate::noise::goodness::size;

const KEYS: usize = 2;
const PER_KEY: i128 = 3;

/// Pairs of runs: in an ordinary run, and in full.
fn runs() -> u64 {
    size(200, 400) as u64
}

/// What is released with and without one person, by seed.
static PAIRS: LazyLock<Vec<[Vec<Sealed>; 2]>> =
    LazyLock::new(|| (0..runs()).map(|seed| pair(seed, release)).collect());

/// The key of a record, by one function for all statistics.
fn key(event: &Event) -> u32 {
    event.1
}

/// Returns true if a record counts in the sum: about two of three do.
fn is_summed(event: &Event) -> bool {
    event.2 % 3 != 0
}

fn release(recorder: &Recorder, schedule: &Schedule) -> impl Fn(Fed<'_, Event>) + Send + Sync + use<> {
    let (recorder, schedule) = (recorder.clone(), schedule.clone());
    move |visits| {
        let people = visits
            .protect(|visit| visit.0)
            .scheduled(schedule.clone(), |visit| visit.3)
            .bound(Bound::keys(KEYS as u64).per_key(PER_KEY as u64));
        let (noise, keys) = (|| Exactly(Gaussian::rho(0.5)), || Keys::public(0..9));
        let value = |visit: &Event| visit.2;
        people.clone().count_by(key, keys()).release_at(&recorder, "count", noise());
        people
            .clone()
            .sum_by(key, keys(), value, -30..=50)
            .keyed_alike(None, Some(Rc::new(is_summed)))
            .release_at(&recorder, "sum", noise());
        people.clone().mean_by(key, keys(), value, -40..=41).release_at(&recorder, "mean", noise());
        people.quantile_by(key, keys(), value, [0.5], Grid::linear(-40, 41, 1)).release_at(
            &recorder,
            "values",
            Exactly(Exponential::rho(0.5)),
        );
    }
}

/// The numbers of one cell.
fn cell(keys: &BTreeMap<String, Vec<i128>>, key: &String) -> Vec<i128> {
    keys.get(key).cloned().unwrap_or_default()
}

/// The keys that a person moves in each window of a statistic, with the numbers there with and without the person.
type Moved = BTreeMap<(Time, String), [Vec<i128>; 2]>;

fn moved([one, other]: &[Vec<Sealed>; 2], name: &str) -> Moved {
    let (one, other) = (Recorder::tallies(one, name), Recorder::tallies(other, name));
    let mut moved = Moved::new();
    for (start, keys) in &one {
        for key in keys.keys().chain(other[start].keys()) {
            let numbers = [cell(keys, key), cell(&other[start], key)];
            if numbers[0] != numbers[1] {
                moved.insert((*start, key.clone()), numbers);
            }
        }
    }
    moved
}

/// The distance by which a person moves one of a cell's numbers.
fn difference([one, other]: &[Vec<i128>; 2], number: usize) -> i128 {
    let at = |numbers: &Vec<i128>| numbers.get(number).copied().unwrap_or_default();
    at(one) - at(other)
}

// Refutes statistics that keep keys or records of their own: a sum in a key in which its person is not counted, and a
// mean that is of other records than the values beside it.
#[test]
fn what_is_kept_of_a_person_is_the_same_for_all_that_share() {
    let mut without_sum = 0;
    for (seed, sealed) in PAIRS.iter().enumerate() {
        let [count, sum, mean, values] = ["count", "sum", "mean", "values"].map(|name| moved(sealed, name));
        for (cell, numbers) in &sum {
            let people = difference(numbers, 0);
            assert!(people == 0 || count.contains_key(cell), "seed {seed}: {cell:?} is kept for a sum alone");
        }
        let windows: BTreeSet<Time> = count.keys().chain(sum.keys()).map(|(start, _)| *start).collect();
        for window in windows {
            let keys: BTreeSet<&String> =
                count.keys().chain(sum.keys()).filter(|cell| cell.0 == window).map(|cell| &cell.1).collect();
            assert!(keys.len() <= KEYS, "seed {seed}: {} keys of one person", keys.len());
            let summed = sum.keys().filter(|cell| cell.0 == window).count();
            without_sum += u32::from(summed < keys.len());
        }
        assert_eq!(mean.keys().collect::<Vec<_>>(), values.keys().collect::<Vec<_>>(), "seed {seed}");
        for (cell, numbers) in &mean {
            // The number of people stands before the values.
            let of = |numbers: &Vec<i128>| numbers.iter().skip(1).copied().collect::<Vec<i128>>();
            let [with, without] = [0, 1].map(|at| of(&values[cell][at]));
            let terms =
                |values: &[i128]| values.iter().map(|value| 2 * value.clamp(&-40, &41) - 1).sum::<i128>();
            assert_eq!(difference(numbers, 1), (with.len() - without.len()) as i128, "seed {seed}");
            assert_eq!(difference(numbers, 2), terms(&with) - terms(&without), "seed {seed}: {cell:?}");
        }
    }
    assert!(without_sum > 40, "{without_sum} times a kept key had no value for the sum: too weak a test");
}

// Refutes a charge below what one person moves in all statistics of a bundle together.
#[test]
fn one_person_moves_a_bundle_by_no_more_than_all_of_it_is_charged() {
    // In parts of what each statistic is charged for: the number, and the most that a person moves it in a key.
    let released = [("count", 1, PER_KEY, 1.0), ("sum", 2, 50, 1.0), ("mean", 2, 81 * PER_KEY, 0.7)];
    let released = released.into_iter().chain([("mean", 1, PER_KEY, 0.3)]);
    let mut most = 0.0f64;
    for (seed, sealed) in PAIRS.iter().enumerate() {
        let mut windows: BTreeMap<Time, f64> = BTreeMap::new();
        for (name, number, each, share) in released.clone() {
            for ((start, _), numbers) in moved(sealed, name) {
                let part = difference(&numbers, number) as f64 / each as f64;
                *windows.entry(start).or_default() += share * part * part / KEYS as f64;
            }
        }
        for (start, moved) in windows {
            assert!(moved <= 3.0 + 1e-9, "seed {seed}, window {start}: {moved} of three statistics");
            most = most.max(moved);
        }
    }
    assert!(most > 2.9, "at most {most} of 3: too weak a test");
}

// Refutes a record without a value that takes a key from its person's others where no statistic counts it.
#[test]
fn a_record_that_counts_nowhere_takes_no_place() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let records = events(&mut random);
        let workers = 1 + random.below(4);
        let scripts = divided(&mut random, &records, workers);
        let summed_alone = without(&scripts, is_summed);
        let [filtered, expected] = [(scripts, true), (summed_alone, false)].map(|(scripts, is_filtered)| {
            let recorder = Recorder::new(PrivacyUnit::Person);
            let sealing = recorder.clone();
            let finished = run(&scripts, move |visits| {
                let people = visits
                    .protect(|visit: &Event| visit.0)
                    .tumbling(span(20), |visit| visit.3)
                    .between(0, HORIZON)
                    .bound(Bound::keys(1).per_key(2));
                let noise = || Exactly(Gaussian::rho(0.5));
                let value = |visit: &Event| visit.2;
                let counts = || is_filtered.then(|| -> RecordFilter<Event> { Rc::new(is_summed) });
                let sum = people.clone().sum_by(key, Keys::public(0..9), value, -30..=50);
                sum.keyed_alike(None, counts()).release_at(&sealing, "sum", noise());
                let mean = people.mean_by(key, Keys::public(0..9), value, -40..=41);
                mean.keyed_alike(None, counts()).release_at(&sealing, "mean", noise());
            });
            assert!(finished.is_ok(), "seed {seed}: {finished:?}");
            let sealed = recorder.sealed();
            ["sum", "mean"].map(|name| Recorder::tallies(&sealed, name))
        });
        assert_eq!(filtered, expected, "seed {seed}");
    }
}

// Refutes one choice of keys for two functions of one type that captured different numbers.
#[test]
fn functions_that_differ_by_what_they_captured_share_no_keys() {
    let rest_of = |divisor: u32| move |visit: &Event| visit.1 % divisor;
    let records: Vec<Event> = (0..60).map(|id| (id % 7, id as u32 % 9, 1, 0, id)).collect();
    let recorder = Recorder::new(PrivacyUnit::Person);
    let sealing = recorder.clone();
    // Without a number for each function, and with one.
    let names = [("two", 2, None), ("three", 3, None), ("second", 2, Some(2)), ("third", 3, Some(3))];
    let finished = run(&[Script(vec![(records, Pulled::More)])], move |visits| {
        let people = visits
            .protect(|visit: &Event| visit.0)
            .tumbling(span(20), |visit| visit.3)
            .between(0, 20)
            .bound(Bound::keys(9).per_key(60));
        for (name, divisor, function) in names {
            let count = people.clone().count_by(rest_of(divisor), Keys::public(0..9));
            count.keyed_alike(function, None).release_at(&sealing, name, Exactly(Gaussian::rho(0.5)));
        }
    });
    assert!(finished.is_ok(), "{finished:?}");
    let sealed = recorder.sealed();
    let records = |name| -> Vec<i128> {
        Recorder::tallies(&sealed, name)[&0].values().map(|numbers| numbers[1]).collect()
    };
    let by = |divisor: usize| -> Vec<i128> {
        (0..divisor).map(|rest| (0..60).filter(|id| id % 9 % divisor == rest).count() as i128).collect()
    };
    for (name, divisor, _) in names {
        assert_eq!(records(name), by(divisor as usize), "{name}");
    }
}
