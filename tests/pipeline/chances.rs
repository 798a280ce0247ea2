//! The probabilities of released values, without a seed: the gate draws from the operating system. So every
//! test here fails by chance once in a million runs or less, and its comment states its power.

use std::sync::{Arc, Mutex};

use discreet::accounting::PrivacyCost;
use discreet::dataflow::{All, Config, Fed, Releases, execute};
use discreet::gate::Gate;
use discreet::mechanisms::{Bound, Gaussian, Keys, Laplace};
use discreet::time::Time;

use crate::kit::size;
use crate::scene::{JOB, Scratch, json, pure, span, zcdp};

/// A person who is alone with a key, and the time of the record.
type Alone = (u32, Time);

/// Runs a pipeline on two workers, over people each of whom is alone with a key; returns the released lines,
/// window by window.
fn printed(
    cap: &PrivacyCost,
    people: impl Iterator<Item = Alone> + Clone + Send + Sync + 'static,
    sentence: impl for<'scope> Fn(Fed<'scope, Alone>, &Gate) -> Releases<'scope, u32, i128>
    + Send
    + Sync
    + 'static,
) -> Vec<String> {
    let scratch = Scratch::new("chances", cap);
    let gate = Gate::open(scratch.ledger(), JOB).unwrap();
    let printed = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&printed);
    execute(Config::threads(2).unwrap(), move |worker, feeds| {
        let heard = Arc::clone(&heard);
        let own = people.clone().skip(worker.index()).step_by(2);
        worker.dataflow(|scope| {
            sentence(feeds.stream(scope, All::of(own)), &gate).deliver(move |release| {
                heard.lock().unwrap().push(release.line().to_owned());
                Ok(())
            });
        });
        Ok(())
    })
    .unwrap();
    let mut printed = printed.lock().unwrap();
    std::mem::take(&mut *printed)
}

/// `P[N >= least]` for the integer Gaussian of this sigma, by its own sum.
fn tail(sigma: f64, least: i64) -> f64 {
    let weight = |z: i64| (-((z * z) as f64) / (2.0 * sigma * sigma)).exp();
    (least..200).map(weight).sum::<f64>() / (-200..200).map(weight).sum::<f64>()
}

/// The distance of a number of successes from its expectation, in standard deviations.
fn deviations(found: usize, of: usize, p: f64) -> f64 {
    let n = of as f64;
    (found as f64 - n * p) / (n * p * (1.0 - p)).sqrt()
}

// A key of a single person is released as often as the exact tail at the integer threshold predicts.
// Two-sided, alpha 1e-9: 6.11 standard deviations. Of half a million keys 180 are expected; a threshold lower
// by one would release some 844, and one higher by one some 32, each found with a power beyond 1 - 1e-9.
#[test]
fn a_key_of_one_person_is_released_as_often_as_the_exact_tail_states() {
    let (windows, keys) = (4, size(125_000, 250_000) as u32);
    let all = windows * keys;
    let people = (0..all).map(move |key| (key, Time::from(key / keys)));
    let printed = printed(&zcdp(), people, move |people, gate| {
        people
            .protect(|one| one.0)
            .tumbling(span(1), |one| one.1)
            .between(0, Time::from(windows))
            .bound(Bound::keys(1))
            .people_by(|one| one.0, Keys::discover(1e-3))
            .release(gate, "keys", Gaussian::rho(0.1))
    });
    assert_eq!(printed.len(), windows as usize);
    // A released key stays released: the last window has all of them.
    let last: Vec<&str> = printed[printed.len() - 1].lines().collect();
    assert!(printed.windows(2).all(|pair| pair[0].lines().count() < pair[1].lines().count()));

    let sigma = json(last[0])["noise"]["scale"].as_f64().unwrap();
    let threshold = 1 + (0..).find(|least| tail(sigma, *least) <= 1e-3).unwrap();
    let p = tail(sigma, threshold - 1);
    assert!((p - 3.598e-4).abs() < 1e-7, "{p}");
    let z = |p| deviations(last.len(), all as usize, p);
    assert!(z(p).abs() < 6.11, "{} of {all}, where {p} is due", last.len());
    // The same count refutes a threshold that is off by one in either direction.
    assert!(z(tail(sigma, threshold - 2)) < -6.11 && z(tail(sigma, threshold)) > 6.11);
}

/// In every second window each key has one person, in the others none. Returns the number of each that is
/// released as 1 or more.
fn ones(epsilon: f64, pairs: u32, keys: u32) -> [usize; 2] {
    let people = (0..pairs * keys).map(move |one| (one, Time::from(2 * (one / keys))));
    let printed = printed(&pure(), people, move |people, gate| {
        people
            .protect(|one| one.0)
            .tumbling(span(1), |one| one.1)
            .between(0, 2 * Time::from(pairs))
            .bound(Bound::keys(1).per_key(1))
            .count_by(move |one| one.0 % keys, Keys::public(0..keys))
            .release(gate, "people", Laplace::epsilon(epsilon))
    });
    let one_or_more = |line: &&str| {
        let (_, value) = line.split_once("\"value\":").unwrap();
        !value.starts_with(['-', '0'])
    };
    assert!(
        printed.len() == 2 * pairs as usize
            && printed.iter().all(|text| text.lines().count() == keys as usize)
    );
    [0, 1].map(|side| {
        printed.iter().skip(side).step_by(2).flat_map(|text| text.lines()).filter(one_or_more).count()
    })
}

/// The number of standard deviations by which one person raises the odds of a value of 1 or more beyond
/// `e^epsilon`.
fn excess([with, without]: [usize; 2], of: usize, epsilon: f64) -> f64 {
    let (n, factor) = (of as f64, epsilon.exp());
    let [p, q] = [with, without].map(|count| count as f64 / n);
    let variance = (p * (1.0 - p) + factor * factor * q * (1.0 - q)) / n;
    (p - factor * q) / variance.sqrt()
}

// One person changes the released values by the charged epsilon, and no more: one-sided, alpha 1e-6, 4.753
// standard deviations. At 120,000 cells a side an epsilon of 1.1 for 1 is 19 standard deviations beyond, and
// found with a power beyond 1 - 1e-40; 1.05 is found with 1 - 1e-6.
#[test]
fn one_person_matters_by_epsilon() {
    let (pairs, keys) = (12, 10_000);
    let all = (pairs * keys) as usize;
    let z = excess(ones(1.0, pairs, keys), all, 1.0);
    assert!(z < 4.753, "more than epsilon, by {z} standard deviations");
    // The change is not much less, either: a tight bound is refuted from neither side.
    assert!(z > -6.11, "less than epsilon, by {z} standard deviations");
    let z = excess(ones(1.1, pairs, keys), all, 1.0);
    assert!(z > 4.753, "the test would not notice a tenth: {z} standard deviations");
}
