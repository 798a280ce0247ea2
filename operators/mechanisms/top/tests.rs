#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::*;
use crate::accounting::gdp;
use crate::mechanisms::ranks::AnswerChoice;
use crate::mechanisms::{Bound, Exponential, Keys, Mechanism, PermuteAndFlip, Prepared, Range, Tally};
use crate::noise::{Decay, NoiseSource};

fn people(keys: u64) -> Total<u64> {
    Total::people(Bound::keys(keys).checked().unwrap(), Keys::public(0..keys).unwrap()).unwrap()
}

fn top(keys: u64, picks: u64) -> TopKeys<u64> {
    TopKeys::new(people(keys), picks).unwrap()
}

fn decay<K>(prepared: &PreparedTop<K>) -> &Decay {
    let AnswerChoice::Exponential(decay) = &prepared.choice else { panic!() };
    decay
}

/// The epsilon of a pick: that of the weights, and what is set aside for their rounding.
fn epsilon(prepared: &PreparedTop<u64>) -> f64 {
    decay(prepared).half().to_f64() + 2f64.powi(-25)
}

/// The probabilities that each key is picked out of those that are left.
type PickLaw<'l> = &'l dyn Fn(&[u64]) -> Vec<f64>;

/// The law of the exponential mechanism, by its integer weights.
fn weighted(decay: &Decay, numbers: &[u64]) -> Vec<f64> {
    let largest = *numbers.iter().max().unwrap();
    let weights: Vec<f64> = numbers.iter().map(|number| decay.weight(largest - number) as f64).collect();
    let all: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / all).collect()
}

/// The law of permute-and-flip, by all orders of the keys.
fn flipped(rate: f64, numbers: &[u64]) -> Vec<f64> {
    let largest = *numbers.iter().max().unwrap();
    let coin: Vec<f64> = numbers.iter().map(|number| libm::exp(-rate * (largest - number) as f64)).collect();
    let mut law = vec![0.0; numbers.len()];
    let orders = orders(numbers.len());
    for order in &orders {
        let mut missed = 1.0;
        for key in order {
            law[*key] += missed * coin[*key] / orders.len() as f64;
            missed *= 1.0 - coin[*key];
        }
    }
    law
}

fn orders(length: usize) -> Vec<Vec<usize>> {
    (0..length).fold(vec![Vec::new()], |orders, _| {
        let longer = |order: &Vec<usize>| {
            let rest: Vec<usize> = (0..length).filter(|key| !order.contains(key)).collect();
            rest.into_iter().map(|key| [&order[..], &[key]].concat()).collect::<Vec<_>>()
        };
        orders.iter().flat_map(longer).collect()
    })
}

/// The probabilities of all sequences of this number of picks.
fn picked(numbers: &[u64], picks: usize, law: PickLaw<'_>) -> BTreeMap<Vec<usize>, f64> {
    let mut found = BTreeMap::from([(Vec::new(), 1.0)]);
    for _ in 0..picks {
        let mut next = BTreeMap::new();
        for (sequence, chance) in found {
            let left: Vec<usize> = (0..numbers.len()).filter(|key| !sequence.contains(key)).collect();
            let of_left: Vec<u64> = left.iter().map(|key| numbers[*key]).collect();
            for (key, picked) in left.into_iter().zip(law(&of_left)) {
                next.insert([&sequence[..], &[key]].concat(), chance * picked);
            }
        }
        found = next;
    }
    found
}

/// All lists of this length of numbers from the first to the last.
fn lists(numbers: std::ops::RangeInclusive<i64>, length: usize) -> Vec<Vec<i64>> {
    (0..length).fold(vec![Vec::new()], |lists, _| {
        let numbers = numbers.clone();
        let longer = move |list: &Vec<i64>| {
            let list = list.clone();
            numbers.clone().map(move |number| [&list[..], &[number]].concat())
        };
        lists.iter().flat_map(longer).collect()
    })
}

/// The least and the largest logarithm of a sequence's probability without a unit over that with it, and their largest
/// distance for one pair of neighbours.
fn losses(keys: usize, picks: usize, moved: i64, law: PickLaw<'_>) -> (f64, f64, f64) {
    let (mut least, mut most, mut range) = (f64::INFINITY, f64::NEG_INFINITY, 0.0f64);
    for base in lists(1..=4, keys) {
        let numbers = |list: &[i64]| list.iter().map(|number| *number as u64).collect::<Vec<u64>>();
        let without = picked(&numbers(&base), picks, law);
        for moves in lists(moved.min(0)..=1, keys) {
            let with: Vec<i64> = base.iter().zip(&moves).map(|(base, moves)| base + moves).collect();
            let with = picked(&numbers(&with), picks, law);
            let lost = without.iter().map(|(sequence, chance)| libm::log(chance / with[sequence]));
            let (low, high) = lost.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), loss| {
                (low.min(loss), high.max(loss))
            });
            (least, most, range) = (least.min(low), most.max(high), range.max(high - low));
        }
    }
    (least, most, range)
}

// Refutes a pick that costs more than its epsilon or less, in the range of its losses or the largest of them; a range of all picks
// that is thought to be the sum; and numbers that one unit moves both ways, which cost twice as much.
#[test]
fn picks_cost_their_range() {
    let prepared = Exponential::epsilon(0.5).prepare(&top(4, 1)).unwrap();
    let law = |numbers: &[u64]| weighted(decay(&prepared), numbers);
    for keys in [3, 4] {
        let (least, most, range) = losses(keys, 1, 0, &law);
        assert!(range <= 0.5 && range > 0.499_999, "{keys}: {range}");
        assert!(least >= -0.5 && most <= 0.5, "{keys}: {least} {most}");
    }
    let (least, most, range) = losses(4, 2, 0, &law);
    assert!(range > 1.3 && most.max(-least) <= 1.0, "{least} {most}: {range}");
    let (.., range) = losses(3, 1, -1, &law);
    assert!(range > 0.999, "{range}");

    // Pure epsilon bounds permute-and-flip, in which no range is bounded by it.
    let prepared = PermuteAndFlip::epsilon(0.5).prepare(&top(4, 1)).unwrap();
    let AnswerChoice::Flip(rate) = prepared.choice else { panic!() };
    assert!((rate.to_f64() - 0.5).abs() < 1e-12);
    let law = |numbers: &[u64]| flipped(0.5, numbers);
    for keys in [2, 3, 4] {
        let (least, most, _) = losses(keys, 1, 0, &law);
        assert!(most.max(-least) <= 0.5 + 1e-12, "{keys}: {least} {most}");
    }
}

// Refutes picks that cost more than their part of the price, in any currency, and such as leave a part of it unspent; and a person
// of several records who moves a number by one.
#[test]
fn a_pick_has_its_part_of_the_price() {
    for picks in [1u64, 3, 10] {
        let parts = picks as f64;
        for price in [0.05, 0.5, 2.0] {
            let of = |law: Exponential| epsilon(&law.prepare(&top(20, picks)).unwrap());
            let pure = parts * of(Exponential::epsilon(price)) / price;
            let rho = parts * of(Exponential::rho(price)).powi(2) / 8.0 / price;
            let amount = crate::accounting::PrivacyCost::gaussian(price).unwrap();
            let mu = gdp::mu_of_bounded_range(of(Exponential::cost(&amount))).unwrap() * parts.sqrt() / price;
            for of_price in [pure, rho, mu] {
                assert!((1.0 - 1e-6..=1.0 + 1e-12).contains(&of_price), "{picks} {price}: {of_price}");
            }
        }
    }
    let limits = Bound::keys(20).per_key(3).checked().unwrap();
    let records = Total::count(limits, Keys::public(0..20u64).unwrap()).unwrap();
    let records = TopKeys::new(records, 2).unwrap();
    assert_eq!(decay(&Exponential::epsilon(1.0).prepare(&records).unwrap()).step(), 3);
    let flip = PermuteAndFlip::epsilon(1.0).prepare(&records).unwrap();
    let AnswerChoice::Flip(rate) = flip.choice else { panic!() };
    assert!((rate.to_f64() - 0.5 / 3.0).abs() < 1e-12);
}

/// The exact counts of a window.
fn tally(prepared: &PreparedTop<u64>, numbers: &[u64]) -> Cells<u64> {
    let mut exact = prepared.tally();
    for (key, number) in numbers.iter().enumerate() {
        for _ in 0..*number {
            exact.absorb((key as u64, Cell { people: 1, records: 1, sum: 0 }));
        }
    }
    exact
}

// Refutes picks by another law, a key that is picked twice, and weights that count from the first pick. Of 40,000 windows each of
// the 12 sequences comes as often as its law says: the sum of squared deviations is above 55 with a probability of 1e-7; weights of
// 1.1 times the epsilon make it 130.
#[test]
fn picks_come_as_often_as_their_law_says() {
    let numbers = [5, 3, 3, 0];
    let mut noise = NoiseSource::seeded(27);
    let mut differ = |prepared: &PreparedTop<u64>, law: PickLaw<'_>| {
        let mut found = BTreeMap::<Vec<usize>, u32>::new();
        let runs = 40_000;
        for _ in 0..runs {
            let cells = prepared.draw(tally(prepared, &numbers), None, &mut noise).answer;
            let picks: Vec<usize> = cells.cells().iter().map(|(key, _)| *key as usize).collect();
            let places: Vec<i128> = cells.cells().iter().map(|(_, place)| place.value()).collect();
            assert_eq!(places, [1, 2]);
            *found.entry(picks).or_default() += 1;
        }
        let expected = picked(&numbers, 2, law);
        assert!(found.keys().all(|picks| expected.contains_key(picks)), "{found:?}");
        let deviation = |(picks, chance): (&Vec<usize>, &f64)| {
            let expected = chance * f64::from(runs);
            (f64::from(found.get(picks).copied().unwrap_or_default()) - expected).powi(2) / expected
        };
        expected.iter().map(deviation).sum::<f64>()
    };
    let prepared = Exponential::epsilon(1.0).prepare(&top(4, 2)).unwrap();
    let [true_law, other] = [0.5, 0.55].map(|rate| {
        move |numbers: &[u64]| {
            let weights: Vec<f64> = numbers.iter().map(|number| libm::exp(rate * *number as f64)).collect();
            weights.iter().map(|weight| weight / weights.iter().sum::<f64>()).collect::<Vec<_>>()
        }
    });
    let (near, far) = (differ(&prepared, &true_law), differ(&prepared, &other));
    assert!(near < 55.0 && far > 80.0, "{near} {far}");
    let prepared = PermuteAndFlip::epsilon(1.0).prepare(&top(4, 2)).unwrap();
    let near = differ(&prepared, &|numbers| flipped(0.5, numbers));
    assert!(near < 55.0, "{near}");
}

// Refutes a distance that is exceeded more often than is stated, and one that is farther than that needs: of a thousand keys and
// ten picks at a rho of .1 it is 43 people, by the table.
#[test]
fn the_stated_distance_is_the_least_that_holds() {
    for (keys, picks, rho, within) in [(1000u64, 10u64, 0.1, 43), (1000, 10, 0.01, 136), (50, 3, 0.1, 15)] {
        let prepared = Exponential::rho(rho).confidence(0.95).prepare(&top(keys, picks)).unwrap();
        assert_eq!(prepared.within(), within, "{keys} {picks} {rho}");
        let weight = |distance: u64| decay(&prepared).weight(distance) as f64;
        let missed = |within: u64| {
            let bad = (keys - 1) as f64 * weight(within + 1);
            picks as f64 * bad / (bad + weight(0))
        };
        assert!(missed(within) <= 0.05 && missed(within - 1) > 0.05, "{}", missed(within));
    }
    // The worst case, in which all others are beyond it.
    let prepared = Exponential::epsilon(1.0).confidence(0.8).prepare(&top(10, 1)).unwrap();
    let within = prepared.within();
    let numbers: Vec<u64> = (0..10).map(|key| if key == 7 { within + 1 } else { 0 }).collect();
    let mut noise = NoiseSource::seeded(3);
    let runs = 4_000;
    let missed = (0..runs).filter(|_| {
        let cells = prepared.draw(tally(&prepared, &numbers), None, &mut noise).answer;
        cells.cells()[0].0 != 7
    });
    // Five deviations.
    let missed = missed.count() as f64 / f64::from(runs);
    assert!(missed < 0.2 + 5.0 * 0.4 / f64::from(runs).sqrt() && missed > 0.1, "{missed}");
    let flip = PermuteAndFlip::epsilon(1.0).confidence(0.8).prepare(&top(10, 1)).unwrap();
    assert!(flip.within() <= within, "{} {within}", flip.within());
}

// Refutes a key that is left out or picked twice where all are asked for, and an empty window that has no answer.
#[test]
fn every_key_has_a_place_where_all_are_picked() {
    let prepared = Exponential::epsilon(60.0).prepare(&top(5, 5)).unwrap();
    let mut noise = NoiseSource::seeded(1);
    let mut keys = |numbers: &[u64]| -> Vec<u64> {
        let answer = prepared.draw(tally(&prepared, numbers), None, &mut noise).answer;
        answer.cells().iter().map(|(key, _)| *key).collect()
    };
    assert_eq!(keys(&[20, 90, 0, 70, 50]), [1, 3, 4, 0, 2]);
    let mut of_nobody = keys(&[]);
    of_nobody.sort_unstable();
    assert_eq!(of_nobody, [0, 1, 2, 3, 4]);
}

// Refutes statistics of which one unit moves a number down, or has another price.
#[test]
fn what_has_no_top_is_refused_by_name() {
    let refused = |total: Total<u64>, picks| TopKeys::new(total, picks).unwrap_err().field().to_owned();
    let one = || Bound::keys(1).checked().unwrap();
    let keys = || Keys::public(0..3u64).unwrap();
    let range = Range::new(0, 5).unwrap();
    assert_eq!(refused(Total::sum(range, one(), keys()).unwrap(), 1), "of");
    let found = Keys::discover(1e-6);
    assert_eq!(refused(Total::people(one(), found).unwrap(), 1), "keys");
    assert_eq!([refused(people(3), 0), refused(people(3), 4)], ["k", "k"]);
    assert_eq!(refused(people(2_000), 1_001), "k");
    let pure = PermuteAndFlip::cost(&crate::accounting::PrivacyCost::zcdp(0.1).unwrap());
    assert_eq!(pure.prepare(&top(3, 1)).unwrap_err().field(), "currency");
    assert_eq!(PermuteAndFlip::epsilon(1.0).prepare(&top(70_000, 1)).unwrap_err().field(), "keys");
    assert_eq!(Exponential::rho(1e-14).prepare(&top(3, 1)).unwrap_err().field(), "epsilon");
}

// Refutes one name for releases of other numbers of keys, other rules, or other counts.
#[test]
fn what_is_stated_names_the_release() {
    let digest = |picks| Exponential::epsilon(1.0).prepare(&top(5, picks)).unwrap().parameters();
    let records = Total::count(Bound::keys(5).checked().unwrap(), Keys::public(0..5u64).unwrap()).unwrap();
    let records = TopKeys::new(records, 1).unwrap();
    let all = [
        digest(1),
        digest(2),
        PermuteAndFlip::epsilon(1.0).prepare(&top(5, 1)).unwrap().parameters(),
        Exponential::epsilon(1.0).prepare(&records).unwrap().parameters(),
    ];
    let different: std::collections::BTreeSet<String> = all.iter().map(|one| format!("{one:?}")).collect();
    assert_eq!(different.len(), all.len());
}
