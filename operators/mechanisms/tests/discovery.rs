//! Keys that are not known beforehand: how rarely one person's are given away, what neighbours ask for, and
//! what stays.

use super::*;

fn people(keys: Keys<u32>, limit: u64) -> Total<u32> {
    Total::people(limits(limit, 1), keys).unwrap()
}

fn keys<T>(answer: &Answer<u32, T>) -> Vec<u32> {
    answer.cells().iter().map(|cell| cell.0).collect()
}

/// So many people with this key, one record each.
fn many(total: &Total<u32>, exact: &mut Cells<u32>, key: u32, people: usize) {
    (0..people).for_each(|_| exact.absorb((key, total.contribution(1, 0))));
}

// A million keys with one person each, at rho .1 and delta .001: the exact tail at the integer threshold is p
// = 3.598e-4 by hand. Two-sided, alpha 1e-6. A threshold of one less, `>` for `>=` and the continuous formula
// (1.69e-3) are off by 50 standard deviations and more, so they are seen with a power beyond 1 - 1e-6.
#[test]
fn a_key_with_one_person_appears_as_often_as_the_exact_tail_says() {
    let total = people(Keys::discover(1e-3).at_most(usize::MAX), 1);
    let prepared = Gaussian::rho(0.1).prepare(&total).unwrap();
    let count = 1_000_000;
    let mut exact = prepared.tally();
    (0..count).for_each(|key| many(&total, &mut exact, key, 1));
    let released = prepared.draw(exact, None, &mut NoiseSource::seeded(61)).answer;
    binomial_within(released.cells().len(), count as usize, 3.598e-4);
    let threshold = prepared.threshold().unwrap();
    assert!(released.cells().iter().all(|(_, released)| released.value() >= threshold.into()));
    assert!(
        released.cells().iter().any(|(_, released)| released.value() == threshold.into()),
        "the point at it counts"
    );
    // Their intervals know that they were selected: those that forget it would begin at 9 and never hold the
    // one person.
    let held = released.cells().iter().filter(|(_, released)| released.low() <= 1).count();
    assert!(held * 10 >= released.cells().len() * 9, "{held} of {}", released.cells().len());
}

// 100,000 people with ten keys of their own each. By the exact tail one of the ten appears with probability
// at most delta; a delta a key would be ten times that.
#[test]
fn the_delta_is_a_persons_and_not_a_keys() {
    let total = people(Keys::discover(1e-3).at_most(usize::MAX), 10);
    let prepared = Gaussian::rho(0.1).prepare(&total).unwrap();
    let count = 100_000;
    let mut exact = prepared.tally();
    (0..10 * count).for_each(|key| many(&total, &mut exact, key, 1));
    let released = prepared.draw(exact, None, &mut NoiseSource::seeded(62)).answer;
    let seen: BTreeSet<u32> = keys(&released).iter().map(|key| key / 10).collect();
    // By hand from the law of sigma^2 = 50: p at the threshold, and 1 - (1-p)^10.
    let weight = |z: i64| (-(z * z) as f64 / 100.0).exp();
    let mass: f64 = (-300..=300).map(weight).sum();
    let p = (prepared.threshold().unwrap() - 1..=300).map(weight).sum::<f64>() / mass;
    let chance = 1.0 - (1.0 - p).powi(10);
    assert!(chance <= 1e-3 && chance > 5e-4, "{chance}");
    binomial_within(seen.len(), count as usize, chance);
}

// Refutes a threshold on the clipped sum: with ten records a key of one person would nearly always pass.
#[test]
fn what_decides_is_the_number_of_people_and_not_what_they_did() {
    let total = Total::count(limits(1, 10), Keys::<u32>::discover(1e-3).at_most(usize::MAX)).unwrap();
    let prepared = Gaussian::rho(0.1).prepare(&total).unwrap();
    let count = 200_000;
    let mut exact = prepared.tally();
    (0..count).for_each(|key| exact.absorb((key, total.contribution(10, 0))));
    let released = prepared.draw(exact, None, &mut NoiseSource::seeded(63)).answer;
    // Half of rho: sigma^2 = 1 / .1.
    let weight = |z: i64| (-(z * z) as f64 * 0.05).exp();
    let mass: f64 = (-200..=200).map(weight).sum();
    let p = (prepared.threshold().unwrap() - 1..=200).map(weight).sum::<f64>() / mass;
    assert!(p <= 1e-3 && p > 3e-4, "{p}");
    binomial_within(released.cells().len(), count as usize, p);
    // What is released is drawn anew: about 10, not about the threshold.
    let mean = released.cells().iter().map(|(_, released)| released.value() as f64).sum::<f64>()
        / released.cells().len() as f64;
    let sigma = 10.0 / 0.1f64.sqrt();
    assert!((mean - 10.0).abs() < 4.753 * sigma / (released.cells().len() as f64).sqrt(), "{mean}");
    assert!((prepared.noise_of_found().unwrap()[0].scale() / sigma - 1.0).abs() < 1e-9);
    assert!(
        (prepared.noise()[0].scale() * 0.2f64.sqrt() / 10.0 - 1.0).abs() < 1e-9,
        "all of it, once public"
    );
}

/// The keys that a person alone has, and who of the others is there.
fn alone(people: &People, person: usize, public: &[u32]) -> usize {
    let others: BTreeSet<u32> = people
        .iter()
        .enumerate()
        .filter(|other| other.0 != person)
        .flat_map(|other| other.1.keys().copied())
        .collect();
    people[person].keys().filter(|key| !others.contains(key) && !public.contains(key)).count()
}

// Which requests may differ, precisely: the threshold's number of draws, by the keys that only that person
// has and that are not public; and the number of draws of values, which is that of the released rows.
// Everything else is equal.
#[test]
fn neighbours_ask_for_the_same_noise_but_for_keys_that_only_one_of_them_has() {
    let mut random = NoiseSource::seeded(71);
    let (mut differed, mut same) = (0, 0);
    for round in 0..3000 {
        let limits = limits(1 + random.below(3), 2);
        let people = crowd(&limits, &mut random);
        let person = random.below(people.len() as u64) as usize;
        let mut fewer = people.clone();
        fewer.remove(person);
        let total = Total::count(limits, Keys::discover(0.2)).unwrap();
        let prepared = Gaussian::rho(2.0).prepare(&total).unwrap();
        let public = [2u32, 5];
        let state = selection::known::KnownKeys::none().with(public).to_bytes();
        let draw = |people: &People| {
            let mut noise = NoiseSource::recording(round);
            let exact = filled(&prepared, people, |records, sum| total.contribution(records, sum));
            let examined = people.iter().flat_map(|bag| bag.keys()).filter(|key| !public.contains(key));
            let examined = examined.collect::<BTreeSet<_>>().len();
            let released = prepared.draw(exact, Some(&state), &mut noise).answer;
            let asked = noise.requests().to_vec();
            assert_eq!(
                asked.len(),
                3,
                "one request for the threshold, and one for the values of either keys"
            );
            let found = released.cells().len() - public.len();
            assert_eq!([asked[0].count, asked[1].count, asked[2].count], [examined, public.len(), found]);
            assert!(public.iter().all(|key| keys(&released).contains(key)));
            asked
        };
        let (all, less) = (draw(&people), draw(&fewer));
        for (with, without) in all.iter().zip(&less) {
            assert_eq!((with.law, &with.parameter), (without.law, &without.parameter));
        }
        let alone = alone(&people, person, &public);
        assert_eq!(all[0].count - less[0].count, alone);
        if alone == 0 { same += 1 } else { differed += 1 }
    }
    assert!(differed > 300 && same > 300, "{differed} {same}");
}

#[test]
fn a_number_of_people_is_released_by_the_draw_that_selects_its_key() {
    for total in [people(Keys::discover(1e-6), 2), Total::count(limits(2, 1), Keys::discover(1e-6)).unwrap()]
    {
        let prepared = Gaussian::rho(0.1).prepare(&total).unwrap();
        let mut exact = prepared.tally();
        many(&total, &mut exact, 4, 1000);
        many(&total, &mut exact, 9, 1);
        let mut noise = NoiseSource::recording(5);
        let released = prepared.draw(exact, None, &mut noise).answer;
        assert_eq!(keys(&released), [4]);
        assert_eq!(requests(&noise).iter().map(|request| request.2).collect::<Vec<_>>(), [2]);
        // All of rho: sigma = sqrt(2 / .2).
        assert!((prepared.noise()[0].scale() - 10f64.sqrt()).abs() < 1e-9);
        let draw = crate::noise::NoiseDistribution::draw(
            &crate::noise::DiscreteGaussian::with_sigma(prepared.noise()[0].scale()).unwrap(),
            &mut NoiseSource::seeded(5),
        );
        assert_eq!(released.cells()[0].1.value(), 1000 + i128::from(draw));
    }
}

// Refutes a key that is forgotten, one that goes through the threshold again, an empty row that is left out,
// and a draw for a key that nobody has and nobody has heard of.
#[test]
fn a_key_once_released_is_in_every_later_window() {
    let total = people(Keys::discover(1e-6), 1);
    let prepared = Gaussian::rho(0.1).prepare(&total).unwrap();
    let mut exact = prepared.tally();
    many(&total, &mut exact, 3, 500);
    many(&total, &mut exact, 8, 400);
    exact.absorb((6, Cell::default()));
    let mut noise = NoiseSource::recording(1);
    let first = prepared.draw(exact, None, &mut noise);
    assert_eq!(keys(&first.answer), [3, 8]);
    assert_eq!(requests(&noise).iter().map(|request| request.2).collect::<Vec<_>>(), [2]);
    let state = first.state.unwrap();
    assert_eq!(state, b"\x01\0\0\0\x04\0\0\0\x03\0\0\0\x04\0\0\0\x08");
    prepared.accepts(&state).unwrap();

    // Nobody at all; then a new key between the two, and one person in an old one.
    let mut noise = NoiseSource::recording(2);
    let second = prepared.draw(prepared.tally(), Some(&state), &mut noise);
    assert_eq!(keys(&second.answer), [3, 8]);
    assert!(second.answer.cells().iter().all(|(_, released)| released.value().abs() < 30));
    assert_eq!(requests(&noise).iter().map(|request| request.2).collect::<Vec<_>>(), [2]);
    assert_eq!(second.state.as_deref(), Some(&state[..]));

    let mut exact = prepared.tally();
    many(&total, &mut exact, 5, 600);
    many(&total, &mut exact, 8, 1);
    let mut noise = NoiseSource::recording(3);
    let third = prepared.draw(exact, second.state.as_deref(), &mut noise);
    assert_eq!(keys(&third.answer), [3, 5, 8]);
    assert_eq!(requests(&noise).iter().map(|request| request.2).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(third.answer.room(), Some(Keys::<u32>::MOST - 3));
    // The usual interval for a key that was public before, either way.
    let old = third.answer.cells()[2].1;
    assert_eq!(old.high - old.value(), old.value() - old.low());
}

// A full list is public, and so is what ends with it; which of several new keys stay is decided by what was
// released of them.
#[test]
fn a_full_list_ends_discovery_and_the_largest_stay() {
    let total = people(Keys::discover(1e-6).at_most(3), 1);
    let prepared = Gaussian::rho(10.0).prepare(&total).unwrap();
    let mut exact = prepared.tally();
    for (key, count) in [(1, 50), (2, 90), (3, 70), (4, 200), (5, 60)] {
        many(&total, &mut exact, key, count);
    }
    let first = prepared.draw(exact, None, &mut NoiseSource::seeded(1));
    assert_eq!((keys(&first.answer), first.answer.room()), (vec![2, 3, 4], Some(0)));
    let mut exact = prepared.tally();
    many(&total, &mut exact, 1, 5000);
    let mut noise = NoiseSource::recording(2);
    let second = prepared.draw(exact, first.state.as_deref(), &mut noise);
    assert_eq!(keys(&second.answer), [2, 3, 4]);
    assert_eq!(requests(&noise).iter().map(|request| request.2).collect::<Vec<_>>(), [3]);
    assert_eq!(second.state, first.state);
    // A smaller list than what is public already forgets nothing.
    let smaller = Gaussian::rho(10.0).prepare(&people(Keys::discover(1e-6).at_most(1), 1)).unwrap();
    let third = smaller.draw(smaller.tally(), second.state.as_deref(), &mut NoiseSource::seeded(3));
    assert_eq!(keys(&third.answer), [2, 3, 4]);
}

#[test]
fn a_key_too_long_to_remember_is_as_if_nobody_had_it() {
    let total = Total::people(limits(1, 1), Keys::<String>::discover(1e-6)).unwrap();
    let prepared = Gaussian::rho(10.0).prepare(&total).unwrap();
    let mut exact = prepared.tally();
    for length in [selection::known::LONGEST, selection::known::LONGEST + 1] {
        (0..100).for_each(|_| exact.absorb(("k".repeat(length), total.contribution(1, 0))));
    }
    let mut noise = NoiseSource::recording(1);
    let released = prepared.draw(exact, None, &mut noise);
    assert_eq!(requests(&noise)[0].2, 1);
    assert_eq!(released.answer.cells().len(), 1);
    assert_eq!(released.answer.cells()[0].0.len(), selection::known::LONGEST);
    prepared.accepts(released.state.as_deref().unwrap()).unwrap();
}

#[test]
fn state_that_nobody_wrote_is_refused_beforehand() {
    let total = people(Keys::discover(1e-6), 1);
    let prepared = Gaussian::rho(0.1).prepare(&total).unwrap();
    assert_eq!(prepared.accepts(b"\x02").unwrap_err().field(), "state");
    assert_eq!(
        prepared.accepts(b"\x01\0\0\0\x03abc").unwrap_err().field(),
        "state",
        "no number of four bytes"
    );
    prepared.accepts(b"\x01").unwrap();
}

#[test]
fn means_discover_their_keys_too() {
    for per_key in [1, 3] {
        let mean =
            Mean::new(Range::new(0, 100).unwrap(), limits(1, per_key), Keys::<u32>::discover(1e-6)).unwrap();
        let prepared = Gaussian::rho(1.0).prepare(&mean).unwrap();
        let mut exact = prepared.tally();
        (0..5000).for_each(|_| exact.absorb((7, mean.contribution(1, mean.term(80)))));
        exact.absorb((8, mean.contribution(1, mean.term(80))));
        let mut noise = NoiseSource::recording(1);
        let released = prepared.draw(exact, None, &mut noise);
        assert_eq!(keys(&released.answer), [7]);
        let (_, mean) = released.answer.cells()[0];
        assert!((mean.value() - 80.0).abs() < 1.0 && mean.low() <= 80.0 && 80.0 <= mean.high);
        let asked: Vec<_> = requests(&noise).iter().map(|request| request.2).collect();
        // With one record a key the draw that decides is the count's.
        assert_eq!(asked, if per_key == 1 { vec![2, 1] } else { vec![2, 1, 1] });
    }
}
