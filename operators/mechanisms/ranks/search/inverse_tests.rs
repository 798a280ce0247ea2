use proptest::prelude::*;

use super::*;
use crate::mechanisms::answer::Ranks;
use crate::mechanisms::ranks::{Altogether, Exponential, Maximum, PerPerson};
use crate::mechanisms::{Bound, Keys, Mechanism, Prepared, Tally};
use crate::noise::Decay;

fn prepare(exponential: &Exponential, grid: Grid) -> Inverted<(), Maximum> {
    let limits = Bound::keys(1).checked().unwrap();
    let largest = Largest::new(Maximum, PerPerson::Greatest, grid, limits, Keys::whole()).unwrap();
    exponential.prepare(&largest).unwrap()
}

fn inverse<F: Monotone>(function: F, grid: Grid, tau: u64, most: u64) -> Inverse<F> {
    let half = crate::noise::Ratio::new(1, 2).unwrap();
    let choice = AnswerChoice::Exponential(Decay::new(half, 1).unwrap());
    Inverse { aim: Aim { function, grid, tau, most }, choice }
}

fn ranked<F: Monotone>(inverse: &Inverse<F>, people: &[i64]) -> RankedTops {
    let mut tops = Tops::default();
    people.iter().for_each(|value| tops.add((*value).max(F::LEAST), inverse.aim.most as usize + F::LOOKS_AT));
    tops.ranked()
}

/// The loss of each point, one by one, as the page says.
fn slow<F: Monotone>(inverse: &Inverse<F>, people: &[i64]) -> Vec<u64> {
    let (ranked, top) = (ranked(inverse, people), inverse.aim.grid.top());
    let l = |index: u64| match index {
        0 => inverse.aim.most as i64,
        _ if index == top => 0,
        _ => ranked.loss(&inverse.aim.function, inverse.aim.grid.at(index).unwrap(), inverse.aim.most) as i64,
    };
    let (tau, most) = (inverse.aim.tau as i64, inverse.aim.most as i64);
    let loss = |index: u64| (l(index) - tau).max(tau - l(index - 1)).clamp(-most, most) + tau;
    (1..=top).map(|index| loss(index) as u64).collect()
}

fn all<F: Monotone>(inverse: &Inverse<F>, people: &[i64]) -> Vec<u64> {
    let runs = inverse.runs(&ranked(inverse, people));
    runs.iter().flat_map(|run| std::iter::repeat_n(run.loss, run.cells as usize)).collect()
}

fn some_value() -> impl Strategy<Value = i64> {
    prop_oneof![4 => -3i64..12, 1 => any::<i64>(), 1 => Just(i64::MAX), 1 => Just(i64::MIN)]
}

proptest! {
    // Refutes a stretch that begins or ends elsewhere, and a loss by values where it is by points.
    #[test]
    fn runs_are_the_losses_point_by_point(
        people in proptest::collection::vec(some_value(), 0..40),
        tau in 1u64..9,
        beyond in 1u64..5,
        which in 0usize..3,
    ) {
        let grid = [Grid::log(), Grid::linear(-2, 10, 3).unwrap(), Grid::list([0, 1, 5]).unwrap()][which].clone();
        let (maximum, altogether) =
            (inverse(Maximum, grid.clone(), tau, 2 * tau + beyond), inverse(Altogether, grid, tau, 2 * tau + beyond));
        prop_assert_eq!(all(&maximum, &people), slow(&maximum, &people));
        prop_assert_eq!(all(&altogether, &people), slow(&altogether, &people));
    }

    // Refutes a loss that one person moves by more than 1: then what is charged would be too little.
    #[test]
    fn one_person_moves_every_loss_by_one_at_most(
        people in proptest::collection::vec(some_value(), 0..30),
        more in some_value(),
        tau in 1u64..9,
        beyond in 1u64..5,
    ) {
        let joined: Vec<i64> = people.iter().copied().chain([more]).collect();
        for grid in [Grid::log_from_zero(), Grid::linear(-2, 10, 3).unwrap()] {
            let maximum = inverse(Maximum, grid.clone(), tau, 2 * tau + beyond);
            let altogether = inverse(Altogether, grid, tau, 2 * tau + beyond);
            let near = |(one, other): (&u64, &u64)| one.abs_diff(*other) <= 1;
            prop_assert!(all(&maximum, &people).iter().zip(&all(&maximum, &joined)).all(near));
            prop_assert!(all(&altogether, &people).iter().zip(&all(&altogether, &joined)).all(near));
        }
    }

    // Refutes an answer of a loss below tau that is beyond everybody, or below 2 tau people; and no such
    // answer at all.
    #[test]
    fn an_answer_of_small_loss_is_near_the_largest(
        mut people in proptest::collection::vec(some_value(), 0..60),
        tau in 1u64..9,
    ) {
        let grid = Grid::linear(-2, 10, 3).unwrap();
        let inverse = inverse(Maximum, grid.clone(), tau, 2 * tau + 1);
        let losses = all(&inverse, &people);
        prop_assert!(losses.iter().any(|loss| *loss <= tau));
        people.sort_unstable_by_key(|value| std::cmp::Reverse(*value));
        let nth = |n: u64| people.get(n as usize).map_or(i128::MIN, |value| (*value).into());
        for index in (1..=grid.top()).filter(|index| losses[*index as usize - 1] < 2 * tau) {
            let released = inverse.aim.estimate(index);
            prop_assert!(nth(2 * tau - 1) <= released.value || index == grid.top());
            prop_assert!(index == 1 || nth(0) >= released.low);
        }
    }
}

fn answers(prepared: &Inverted<(), Maximum>, people: &[i64], runs: u64) -> Vec<Estimate<i128>> {
    let mut tops = Tops::default();
    people.iter().for_each(|value| tops.add(*value, prepared.largest_needed().unwrap()));
    let draw = |seed| {
        let mut exact = prepared.tally();
        exact.absorb(((), tops.clone()));
        prepared.draw(exact, None, &mut NoiseSource::seeded(seed)).answer.cells()[0].1
    };
    (0..runs).map(draw).collect()
}

fn tau_of(prepared: &Inverted<(), Maximum>) -> u64 {
    match prepared.noise()[0].ranks() {
        Some(Ranks::Below { tau, comparisons: None, .. }) => tau,
        other => panic!("{other:?}"),
    }
}

// Refutes an inverse that runs past the maximum where data lies between two points: of 100,000 equal values
// at epsilon 1, one that counted values at least as large as a point would answer more than twice as much in
// 98 of 100 runs.
#[test]
fn no_answer_is_past_a_maximum_between_two_points() {
    let prepared = prepare(&Exponential::epsilon(1.0), Grid::log_from_zero());
    let grid = Grid::log_from_zero();
    let above: i128 = grid.at(grid.ceiling(1_000_003)).unwrap().into();
    let found = answers(&prepared, &vec![1_000_003; 100_000], 2_000);
    assert!(found.iter().all(|answer| answer.value == above), "{found:?}");
}

// Refutes an answer outside of its promise more often than is promised: 10,000 runs, alpha 1e-6; a third of
// tau is refuted.
#[test]
fn the_largest_of_ten_thousand_is_found_as_often_as_promised() {
    let asked = [(Exponential::epsilon(1.0), 0.9f64), (Exponential::rho(0.125), 0.99)];
    let people: Vec<i64> = (1..=10_000).collect();
    for (exponential, confidence) in asked.map(|(asked, sure)| (asked.confidence(sure), sure)) {
        let prepared = prepare(&exponential, Grid::linear(10, 10_230, 10).unwrap());
        let tau = tau_of(&prepared) as i128;
        let found = answers(&prepared, &people, 10_000);
        let within = |tau: i128| {
            found.iter().filter(|answer| (10_000 - 2 * tau..=10_010).contains(&answer.value)).count() as f64
        };
        let least = 10_000.0 * confidence - 475.0 * (confidence * (1.0 - confidence)).sqrt();
        assert!(within(tau) >= least, "{}", within(tau));
        assert!(within(tau / 3) < least, "{}", within(tau / 3));
    }
}

// The published figures for grids of 2^20 and 2^32 points at epsilon 1, and what rho buys.
#[test]
fn tau_is_that_of_the_published_table() {
    let tau = |exponential: &Exponential, points: i64| {
        tau_of(&prepare(&exponential.clone().confidence(0.99), Grid::linear(1, points - 1, 1).unwrap()))
    };
    assert_eq!(tau(&Exponential::epsilon(1.0), 1 << 20), 37);
    assert_eq!(tau(&Exponential::epsilon(1.0), 1 << 32), 54);
    // epsilon^2 / 8.
    assert_eq!(tau(&Exponential::rho(0.125), 1 << 20), 37);
}

// Refutes a person who is in three keys for the price of one.
#[test]
fn each_key_of_a_person_is_paid_for() {
    let scale = |exponential: Exponential, keys: u64| {
        let limits = Bound::keys(keys).checked().unwrap();
        let (grid, keys) = (Grid::log(), Keys::whole());
        let largest = Largest::new(Maximum, PerPerson::Greatest, grid, limits, keys).unwrap();
        exponential.prepare(&largest).unwrap().noise()[0].scale()
    };
    let ratio = |exponential: Exponential| scale(exponential.clone(), 3) / scale(exponential, 1);
    assert!((ratio(Exponential::epsilon(1.0)) - 3.0).abs() < 1e-6);
    assert!((ratio(Exponential::rho(0.1)) - 3f64.sqrt()).abs() < 1e-6);
}
