//! What the room promises as a whole: windows of neighbours side by side, keys that come and stay, and draws
//! that are total.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::Decimal;
use crate::accounting::{Adjacency, BudgetUnits, Omega, PrivacyCost, PrivacyUnit, Relation};
use crate::invalid::InvalidKind;
use crate::noise::NoiseSource;
use crate::noise::goodness::{Bins, binomial_within, size};

mod discovery;

/// The number of each person's records in each key, and the sum of their values.
type People = Vec<BTreeMap<u32, (u64, i128)>>;

fn limits(keys: u64, per_key: u64) -> ContributionBound {
    Bound::keys(keys).per_key(per_key).checked().unwrap()
}

fn units(amount: f64) -> BudgetUnits {
    BudgetUnits::at_least_float("amount", amount).unwrap()
}

fn filled<M: Prepared<Tally = Cells<u32>>>(
    prepared: &M,
    people: &People,
    share: impl Fn(u64, i128) -> Cell,
) -> Cells<u32> {
    let mut exact = prepared.tally();
    for (&key, &(records, sum)) in people.iter().flatten() {
        exact.absorb((key, share(records, sum)));
    }
    exact
}

fn crowd(limits: &ContributionBound, random: &mut NoiseSource) -> People {
    let one = |random: &mut NoiseSource| {
        let keys: BTreeSet<u32> = (0..limits.keys()).map(|_| random.below(7) as u32).collect();
        let left =
            |random: &mut NoiseSource| (1 + random.below(limits.per_key()), random.below(41) as i128 - 20);
        keys.into_iter().map(|key| (key, left(random))).collect()
    };
    (0..1 + random.below(30)).map(|_| one(random)).collect()
}

/// Laws, parameters and numbers of draws that were asked for, those of nothing left out.
fn requests(noise: &NoiseSource) -> Vec<(&'static str, String, usize)> {
    let asked = noise.requests().iter().filter(|request| request.count > 0);
    asked.map(|request| (request.law, request.parameter.clone(), request.count)).collect()
}

// The same noise on both sides: the released numbers then differ by what the exact ones do, and the requests not
// at all. Refutes a scale, an order or a number of draws that depends on data, and a row that is left out
// when it is empty.
#[test]
fn with_public_keys_neighbours_ask_for_the_same_noise_and_differ_within_the_sensitivity() {
    let mut random = NoiseSource::seeded(31);
    let mut reached = 0.0f64;
    for round in 0..2000 {
        let limits = limits(1 + random.below(3), 1 + random.below(3));
        let people = crowd(&limits, &mut random);
        let mut fewer = people.clone();
        fewer.remove(random.below(people.len() as u64) as usize);
        let keys = Keys::public([5, 1, 3]).unwrap();
        let total = match round % 3 {
            0 => Total::count(limits, keys),
            1 => Total::people(limits, keys),
            _ => Total::sum(Range::new(-9, 14).unwrap(), limits, keys),
        };
        let total = total.unwrap();
        let prepared = Gaussian::rho(0.1).prepare(&total).unwrap();
        let draw = |people: &People| {
            let mut noise = NoiseSource::recording(round);
            let share = |records, sum| total.contribution(records, sum);
            let drawn = prepared.draw(filled(&prepared, people, share), None, &mut noise);
            assert_eq!(drawn.state, None);
            (drawn.answer, requests(&noise))
        };
        let ((all, asked), (less, asked_without)) = (draw(&people), draw(&fewer));
        assert_eq!(asked, asked_without);
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].2, 3);
        let keys = |answer: &Answer<u32, i128>| answer.cells().iter().map(|cell| cell.0).collect::<Vec<_>>();
        assert_eq!((keys(&all), keys(&less)), (vec![1, 3, 5], vec![1, 3, 5]));
        let moved = all.cells().iter().zip(less.cells()).map(|(a, b)| a.1.value().abs_diff(b.1.value()));
        let l2_squared: u128 = moved.map(|step| step * step).sum();
        let declared = total.sensitivity().l2_squared();
        assert!(l2_squared <= declared);
        reached = reached.max(l2_squared as f64 / declared as f64);
    }
    assert_eq!(reached, 1.0, "the pairs are too tame");
}

// The oracle is a dozen lines: add up what is kept, add the same noise in the order of the keys.
#[test]
fn totals_are_the_exact_numbers_and_their_noise_in_the_order_of_the_keys() {
    let mut random = NoiseSource::seeded(41);
    for seed in 0..300 {
        let people = crowd(&limits(3, 4), &mut random);
        let keys = Keys::public([6, 2, 4, 0]).unwrap();
        let total = Total::count(limits(3, 4), keys).unwrap();
        let prepared = Laplace::epsilon(0.5).prepare(&total).unwrap();
        let exact = filled(&prepared, &people, |records, sum| total.contribution(records, sum));
        let released = prepared.draw(exact, None, &mut NoiseSource::seeded(seed)).answer;

        let law = crate::noise::DiscreteLaplace::new(24.0).unwrap();
        let mut noise = NoiseSource::seeded(seed);
        for (key, estimate) in released.cells() {
            let truth: u64 = people.iter().filter_map(|bag| bag.get(key)).map(|left| left.0).sum();
            let value =
                i128::from(truth) + i128::from(crate::noise::NoiseDistribution::draw(&law, &mut noise));
            assert_eq!(estimate.value(), value);
            // P[|noise| > 56] is .0993 and P[|noise| > 55] above .1, by 2 q^(w+1) / (1 + q), q = e^(-1/24).
            assert_eq!((estimate.low(), estimate.high), (value - 55, value + 55));
        }
        assert_eq!(released.cells().len(), 4);
        assert_eq!((released.noise()[0].kind(), released.noise()[0].number()), ("laplace", "records"));
        assert!((released.noise()[0].scale() - 24.0).abs() < 1e-9);
        assert_eq!((released.confidence(), released.room()), (0.9, None));
    }
}

// 100,000 cells of a window, alpha 1e-6, against the law by hand: sigma = sqrt(3 / .2). Refutes noise at
// half, twice and .95 of the scale, and an exact number that is not the released one.
#[test]
fn errors_of_releases_follow_the_declared_law() {
    let cells = size(100_000, 2_000_000) as u32;
    let total = Total::people(limits(3, 1), Keys::public(0..cells).unwrap()).unwrap();
    let prepared = Gaussian::rho(0.1).prepare(&total).unwrap();
    let mut exact = prepared.tally();
    (0..cells).flat_map(|key| vec![key; key as usize % 4]).for_each(|key| {
        exact.absorb((key, total.contribution(1, 0)));
    });
    let released = prepared.draw(exact, None, &mut NoiseSource::seeded(51)).answer;
    let errors =
        || released.cells().iter().map(|(key, released)| (released.value() - i128::from(key % 4)) as i64);
    let bins = |sigma: f64| Bins::new(120, 60, |z| (-(z as f64 / sigma).powi(2) / 2.0).exp());
    let sigma = 15f64.sqrt();
    bins(sigma).test(errors()).assert_fits();
    for wrong in [0.5, 0.95, 2.0] {
        bins(sigma * wrong).test(errors()).assert_refuted();
    }
    bins(sigma).test(released.cells().iter().map(|(_, released)| released.value() as i64)).assert_refuted();
}

#[test]
fn a_window_without_keys_is_one_cell() {
    let total = Total::people(limits(1, 1), Keys::whole()).unwrap();
    let prepared = Gaussian::rho(20.0).prepare(&total).unwrap();
    let mut exact = prepared.tally();
    (0..20).for_each(|_| exact.absorb(((), total.contribution(1, 0))));
    let released = prepared.draw(exact, None, &mut NoiseSource::seeded(1)).answer;
    assert_eq!(released.cells().len(), 1);
    assert!((18..=22).contains(&released.cells()[0].1.value()));
}

// What is charged is what was asked for, to the last unit, whatever the bound, about the unit whose bound it
// is.
#[test]
fn a_price_is_what_was_asked_for() {
    let zcdp = |rho, delta| PrivacyCost::Zcdp { rho, delta, omega: Omega::EVERY };
    let public = Total::count(limits(7, 3), Keys::public([1u32]).unwrap()).unwrap();
    let found = Total::count(limits(7, 3), Keys::<u32>::discover(1e-6)).unwrap();
    let tenth = BudgetUnits::at_least("rho", &Decimal::parse("rho", "0.1").unwrap()).unwrap();
    let none = BudgetUnits::ZERO;
    let exact = Gaussian::cost(&zcdp(tenth, none)).prepare(&public).unwrap();
    assert_eq!(*exact.cost().amount(), zcdp(tenth, none));
    let noised = Gaussian::rho(0.1).prepare(&found).unwrap();
    assert_eq!(*noised.cost().amount(), zcdp(units(0.1), units(1e-6)));
    let pure = Laplace::epsilon(0.5).prepare(&public).unwrap();
    assert_eq!(*pure.cost().amount(), PrivacyCost::Pure { epsilon: units(0.5) });
    let noised = Laplace::epsilon(0.5).prepare(&found).unwrap();
    assert_eq!(*noised.cost().amount(), PrivacyCost::Approximate { epsilon: units(0.5), delta: units(1e-6) });
    let noised = Laplace::rho(0.1).prepare(&public).unwrap();
    assert_eq!(*noised.cost().amount(), zcdp(units(0.1), none));
    let record = Total::count(ContributionBound::RECORD, Keys::public([1u32]).unwrap()).unwrap();
    let neighbours = Gaussian::rho(0.1).prepare(&record).unwrap().cost().neighbours();
    assert_eq!(neighbours, Adjacency { unit: PrivacyUnit::Record, relation: Relation::AddRemove });
    // (1, 1e-6) is rho = .0243559, and never more than that epsilon.
    let pair = Gaussian::epsilon(1.0, 1e-6).prepare(&public).unwrap();
    let epsilon = pair.cost().amount().epsilon(1e-6).unwrap();
    assert!(epsilon <= 1.0 && epsilon > 0.999_999, "{epsilon}");
}

#[test]
fn what_cannot_be_had_is_refused_before_there_is_data() {
    let total = Total::count(limits(2, 1), Keys::public([1u32]).unwrap()).unwrap();
    let kind = |mechanism: &Gaussian, total: &Total<u32>| {
        let refused = mechanism.prepare(total).unwrap_err();
        (refused.field().to_owned(), refused.kind())
    };
    assert_eq!(kind(&Gaussian::rho(0.0), &total), ("rho".into(), InvalidKind::Zero));
    assert_eq!(kind(&Gaussian::rho(f64::NAN), &total), ("rho".into(), InvalidKind::Nan));
    assert_eq!(kind(&Gaussian::rho(-1.0), &total), ("rho".into(), InvalidKind::Negative));
    assert_eq!(kind(&Gaussian::rho(1e6), &total), ("rho".into(), InvalidKind::TooLarge));
    assert_eq!(kind(&Gaussian::epsilon(1.0, 0.0), &total), ("delta".into(), InvalidKind::Zero));
    let pure = PrivacyCost::pure(1.0).unwrap();
    assert_eq!(kind(&Gaussian::cost(&pure), &total), ("delta".into(), InvalidKind::Missing));
    let approximate = PrivacyCost::approximate(1.0, 1e-6).unwrap();
    assert_eq!(kind(&Gaussian::cost(&approximate), &total), ("currency".into(), InvalidKind::Mixed));
    let with_delta = PrivacyCost::approximate_zcdp(0.1, Omega::EVERY, Some(1e-6)).unwrap();
    assert_eq!(kind(&Gaussian::cost(&with_delta), &total), ("delta".into(), InvalidKind::Mixed));
    for confidence in [0.0, 1.0, -0.5, 2.0, f64::INFINITY] {
        let asked = Gaussian::rho(0.1).confidence(confidence);
        assert_eq!(kind(&asked, &total), ("confidence".into(), InvalidKind::Malformed));
    }
    assert_eq!(
        kind(&Gaussian::rho(0.1).confidence(f64::NAN), &total),
        ("confidence".into(), InvalidKind::Nan)
    );
    let found = Total::count(limits(2, 5), Keys::discover(1e-6)).unwrap();
    assert_eq!(kind(&Gaussian::rho(0.1).selecting(0), &found), ("selecting".into(), InvalidKind::Zero));
    assert_eq!(kind(&Gaussian::rho(0.1).selecting(100), &found), ("selecting".into(), InvalidKind::TooLarge));
    let mean = Mean::new(Range::new(0, 9).unwrap(), limits(2, 1), Keys::public([1u32]).unwrap()).unwrap();
    assert_eq!(Gaussian::rho(0.1).counting(0).prepare(&mean).unwrap_err().field(), "counting");
    let never = Total::count(limits(2, 5), Keys::discover(0.0)).unwrap();
    assert_eq!(kind(&Gaussian::rho(0.1), &never), ("delta".into(), InvalidKind::Zero));
}

// Forged parts at the end of their types, the widest noise and the narrowest: a draw answers, whatever it is
// given.
#[test]
fn a_draw_is_total() {
    let worst = [
        Cell { people: u64::MAX, records: u64::MAX, sum: i128::MAX },
        Cell { people: 1, records: 0, sum: i128::MIN },
        Cell { people: 0, records: u64::MAX, sum: -1 },
    ];
    for keys in [Keys::public(0..3u32).unwrap(), Keys::discover(0.9), Keys::discover(1e-200).at_most(1)] {
        for mechanism in [Gaussian::rho(1e-18), Gaussian::rho(0.1), Gaussian::rho(20.0)] {
            let range = Range::new(-1, 1).unwrap();
            let totals =
                [Total::people(limits(1, 2), keys.clone()), Total::sum(range, limits(1, 2), keys.clone())];
            for total in totals {
                let prepared = mechanism.prepare(&total.unwrap()).unwrap();
                for state in [None, Some(&b""[..]), Some(&b"\x09nonsense"[..])] {
                    let mut exact = prepared.tally();
                    worst.iter().enumerate().for_each(|(key, cell)| exact.absorb((key as u32, *cell)));
                    let released = prepared.draw(exact, state, &mut NoiseSource::seeded(3)).answer;
                    assert!(released.cells().iter().all(|(_, released)| released.low() <= released.value()));
                }
            }
            let mean = Mean::new(range, limits(1, 2), keys.clone()).unwrap();
            let prepared = mechanism.prepare(&mean).unwrap();
            let mut exact = prepared.tally();
            worst.iter().enumerate().for_each(|(key, cell)| exact.absorb((key as u32, *cell)));
            let released = prepared.draw(exact, None, &mut NoiseSource::seeded(3)).answer;
            assert!(released.cells().iter().all(|(_, released)| (-1.0..=1.0).contains(&released.value())));
        }
    }
}
