use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::mechanisms::answer::Ranks;
use crate::mechanisms::ranks::tops::RankedTops;
use crate::mechanisms::ranks::{
    Altogether, BinarySearch, Grid, Maximum, Minimum, PerPerson, loss_moves_by_one,
};
use crate::mechanisms::{Bound, Keys, Mechanism, Prepared, ReleaseLines, Tally};

fn largest<F: Monotone>(function: F, grid: Grid, keys: u64) -> Largest<u32, F> {
    let limits = Bound::keys(keys).checked().unwrap();
    Largest::new(function, PerPerson::Greatest, grid, limits, Keys::public([0, 1]).unwrap()).unwrap()
}

fn prepare<F: Monotone>(mechanism: &BinarySearch, function: F, grid: Grid) -> Searched<u32, F> {
    mechanism.prepare(&largest(function, grid, 1)).unwrap()
}

/// The answers for these people, all in one key.
fn answers<F: Monotone>(
    (search, function): (&Searched<u32, F>, F),
    people: &[i64],
    runs: u64,
) -> Vec<Estimate<i128>> {
    let statistic = largest(function, Grid::log(), 1);
    let mut tops = Tops::default();
    people.iter().for_each(|value| {
        tops.add(statistic.contribution((*value).into()), search.largest_needed().unwrap());
    });
    (0..runs)
        .map(|seed| {
            let mut exact = search.tally();
            exact.absorb((0, tops.clone()));
            let drawn = search.draw(exact, None, &mut NoiseSource::seeded(seed));
            drawn.answer.cells()[0].1
        })
        .collect()
}

fn tau_of<F: Monotone>(search: &Searched<u32, F>) -> u64 {
    match search.noise()[0].ranks() {
        Some(Ranks::Below { tau, .. } | Ranks::Above { tau, .. }) => tau,
        other => panic!("{other:?}"),
    }
}

/// Returns the number of comparisons on the longest path through a grid.
fn longest(low: u64, high: u64) -> u32 {
    if high - low <= 1 {
        return 0;
    }
    let middle = low + (high - low) / 2;
    1 + longest(low, middle).max(longest(middle, high))
}

// Refutes the published number of comparisons, which is one too few for these sizes, and a charge for fewer
// than there are.
#[test]
fn as_many_comparisons_are_charged_as_the_longest_way_takes() {
    let mut too_few = Vec::new();
    for points in 3..3000u64 {
        let grid = Grid::linear(1, points as i64 - 1, 1).unwrap();
        assert_eq!(grid.points(), points);
        assert_eq!(grid.comparisons(), longest(0, points - 1), "{points}");
        let published = (points as f64).log2().ceil() as u32 - 1;
        if published < longest(0, points - 1) {
            too_few.push(points);
        }
    }
    assert_eq!(too_few[..6], [4, 6, 7, 8, 10, 11]);
    for (points, comparisons) in [(1 << 20, 20), (1 << 32, 32), ((1 << 32) + 1, 32), ((1 << 32) + 2, 33)] {
        assert_eq!(Grid::linear(1, points - 1, 1).unwrap().comparisons(), comparisons, "{points}");
    }
    let charged = BinarySearch::rho(0.1);
    let search = prepare(&charged, Maximum, Grid::linear(1, 1023, 1).unwrap());
    let sigma = search.noise()[0].scale();
    assert!((10.0 / (2.0 * sigma * sigma) / 0.1 - 1.0).abs() < 1e-9, "{sigma}");
    // A person in three keys moves the comparisons of all three.
    let three = charged.prepare(&largest(Maximum, Grid::linear(1, 1023, 1).unwrap(), 3)).unwrap();
    assert!((three.noise()[0].scale() / sigma - 3f64.sqrt()).abs() < 1e-9);
    let pure = prepare(&BinarySearch::epsilon(1.0), Maximum, Grid::linear(1, (1 << 20) - 1, 1).unwrap());
    assert!((pure.noise()[0].scale() - 20.0).abs() < 1e-9);
}

/// A search at a scale, without a budget.
fn noise_of(family: Family, scale: f64) -> Additive {
    let spend = match family {
        Family::Gaussian => crate::accounting::PrivacyCost::zcdp(0.5 / scale / scale),
        Family::Laplace => crate::accounting::PrivacyCost::pure(1.0 / scale),
    };
    let spend = crate::mechanisms::spend::Spend::of(&spend.unwrap()).unwrap();
    let limits = Bound::keys(1).checked().unwrap();
    Additive::within(family, spend, &crate::mechanisms::Sensitivity::each(&limits, 1).unwrap()).unwrap()
}

/// Returns the closed form of the continuous distribution and a bound for each comparison by itself, which `tau` was
/// before.
fn closed_form(noise: &Additive, comparisons: u32, confidence: f64) -> u64 {
    let each = (1.0 - confidence) / f64::from(comparisons);
    let scale = noise.scale();
    let beyond = |tau: u64| match noise.family() {
        Family::Gaussian => libm::erfc(tau as f64 / scale / std::f64::consts::SQRT_2) / 2.0,
        Family::Laplace => libm::exp(-(tau as f64) / scale),
    };
    (1..).find(|tau| beyond(*tau) <= each).unwrap()
}

// Refutes a tau that promises more than the exact tails keep, one that gives away what it need not, and one of the
// closed form.
#[test]
fn tau_keeps_its_promise_by_the_exact_tails() {
    for family in [Family::Gaussian, Family::Laplace] {
        for scale in [0.5, 1.0, 3.7, 10.0, 12.6491, 20.0, 151.0, 5000.0] {
            let noise = noise_of(family, scale);
            for (comparisons, confidence) in [(1, 0.5), (10, 0.9), (11, 0.99), (32, 0.999_999)] {
                let tau = search_reach(&noise, comparisons, confidence).unwrap();
                let missed = |tau: u64| 1.0 - (1.0 - noise.tail(tau as i64 + 1)).powi(comparisons as i32);
                assert!(missed(tau) <= 1.0 - confidence, "{family:?} {scale} {comparisons} {confidence}");
                assert!(tau == 1 || missed(tau - 1) > 1.0 - confidence, "{family:?} {scale} {tau}");
                assert!(tau <= closed_form(&noise, comparisons, confidence));
            }
        }
    }
    // Grids of 2^20 and 2^32 points, for which 33, 44, 153 and 259 are published.
    let of = |family, scale: f64, comparisons| {
        let noise = noise_of(family, scale);
        (search_reach(&noise, comparisons, 0.99).unwrap(), closed_form(&noise, comparisons, 0.99))
    };
    assert_eq!(of(Family::Gaussian, 10.0, 20), (33, 33));
    assert_eq!(of(Family::Gaussian, 160f64.sqrt(), 32), (43, 44));
    assert_eq!(of(Family::Laplace, 20.0, 20), (138, 153));
    assert_eq!(of(Family::Laplace, 32.0, 32), (236, 259));
}

/// Returns the probability that a search among points with these losses, the first at point 1, misses: more than
/// `2 tau` people are above its answer, or nobody is above the point before.
fn missed(noise: &Additive, tau: u64, losses: &[u64], (low, high): (u64, u64)) -> f64 {
    let top = losses.len() as u64 + 1;
    let loss = |at: u64| losses[at as usize - 1];
    if high - low <= 1 {
        let is_low = high < top && loss(high) > 2 * tau;
        return f64::from(is_low || high > 1 && loss(high - 1) == 0);
    }
    let middle = low + (high - low) / 2;
    let up = noise.tail(tau as i64 + 1 - loss(middle) as i64);
    up * missed(noise, tau, losses, (middle, high)) + (1.0 - up) * missed(noise, tau, losses, (low, middle))
}

/// Returns the largest probability of a miss, over all losses of this number of points.
fn worst_miss(noise: &Additive, tau: u64, points: usize) -> f64 {
    let mut all: Vec<Vec<u64>> = vec![vec![]];
    for _ in 0..points {
        let longer = |losses: Vec<u64>| {
            let most = losses.last().copied().unwrap_or(2 * tau + 2);
            (0..=most).map(move |loss| [&losses[..], &[loss]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    let top = points as u64 + 1;
    all.iter().map(|losses| missed(noise, tau, losses, (0, top))).fold(0.0, f64::max)
}

// Refutes a promise that some people would break, and one that is not the least that nobody breaks: the exact
// probability over every way that the comparisons may go, of all losses of small grids.
#[test]
fn tau_is_the_least_that_no_people_break() {
    for family in [Family::Gaussian, Family::Laplace] {
        for scale in [0.6, 1.1, 1.9] {
            let noise = noise_of(family, scale);
            for (points, confidence) in [(1, 0.8), (2, 0.8), (3, 0.9), (4, 0.7), (5, 0.7)] {
                let comparisons = Grid::linear(0, points, 1).unwrap().comparisons();
                let tau = search_reach(&noise, comparisons, confidence).unwrap();
                let worst = worst_miss(&noise, tau, points as usize);
                assert!(worst <= 1.0 - confidence, "{family:?} {scale}, {points} points: {tau}, {worst}");
                let smaller = worst_miss(&noise, tau - 1, points as usize);
                assert!(tau == 1 || smaller > 1.0 - confidence, "{family:?} {scale} {points}: {smaller}");
            }
        }
    }
}

// Refutes an answer that is above everybody, or too far below, more often than is promised: 10,000 runs,
// alpha 1e-6; of a tau half as large the same test refutes the promise.
#[test]
fn the_largest_of_ten_thousand_is_found_as_often_as_promised() {
    let grid = Grid::linear(10, 10_230, 10).unwrap();
    assert_eq!(grid.points(), 1024);
    let people: Vec<i64> = (1..=10_000).collect();
    let runs = 10_000;
    for mechanism in [BinarySearch::rho(0.1), BinarySearch::epsilon(1.0)] {
        for confidence in [0.9, 0.99] {
            let search = prepare(&mechanism.clone().confidence(confidence), Maximum, grid.clone());
            let tau = tau_of(&search) as i128;
            let found = answers((&search, Maximum), &people, runs);
            let within = |tau: i128| {
                let near = |answer: &&Estimate<i128>| (10_000 - 2 * tau..=10_010).contains(&answer.value);
                found.iter().filter(near).count()
            };
            assert!(at_least_as_often(within(tau), runs as usize, confidence), "{}", within(tau));
            // Its own interval holds as often.
            let held = found.iter().filter(|answer| answer.low <= 10_000 && answer.high >= 10_000).count();
            assert!(at_least_as_often(held, runs as usize, confidence), "{held}");
            assert!(!at_least_as_often(within(tau / 3), runs as usize, confidence), "{}", within(tau / 3));
        }
    }
}

/// Returns true if this number of hits does not refute a chance of at least `confidence`, at alpha 1e-6: 4.75
/// standard deviations.
fn at_least_as_often(hits: usize, runs: usize, confidence: f64) -> bool {
    let (runs, expected) = (runs as f64, runs as f64 * confidence);
    hits as f64 >= expected - 4.75 * (runs * confidence * (1.0 - confidence)).sqrt()
}

/// The mean, over runs, of the log-likelihood ratio of what was compared, between people and the same with
/// somebody more who has more than all.
fn privacy_loss(search: &Search<Maximum>, moved_by: u64, charged: u32, runs: u64) -> [f64; 2] {
    let sigma = search.noise.scale();
    let tops = |people: &mut dyn Iterator<Item = i64>| {
        let mut tops = Tops::default();
        people.for_each(|value| tops.add(value, search.largest_needed().unwrap()));
        tops.ranked()
    };
    // So few that no loss is capped: a person more then moves every one.
    let [fewer, more] = [5, 5 + moved_by].map(|people| tops(&mut (0..people).map(|_| i64::MAX)));
    let mut sums = [0.0; 2];
    let mut noise = NoiseSource::seeded(1);
    for _ in 0..runs {
        let draws = search.noise.draws(charged as usize, &mut noise);
        let mut ratio = 0.0;
        let aim = &search.aim;
        let found = super::search(aim.grid.top(), aim.tau, |at| aim.loss(&fewer, at), &draws);
        for (index, noised) in found.compared {
            let beyond = |ranked: &RankedTops| noised as f64 - aim.loss(ranked, index) as f64;
            ratio += (beyond(&more).powi(2) - beyond(&fewer).powi(2)) / (2.0 * sigma * sigma);
        }
        sums = [sums[0] + ratio, sums[1] + ratio * ratio];
    }
    let mean = sums[0] / runs as f64;
    [mean, (sums[1] / runs as f64 - mean * mean) / runs as f64]
}

// Refutes a comparison that is not charged, and a loss that one person moves by 2: the mean of the
// log-likelihood ratio of all that is compared, between neighbours, is `T / 2 sigma^2` at most, which is what
// is charged. 5 standard errors of 100,000 runs, which find either mistake with a power above 0.999.
#[test]
fn comparisons_lose_no_more_than_is_charged() {
    let runs = 100_000;
    let rho = 0.08;
    let limits = Bound::keys(1).checked().unwrap();
    let each = crate::mechanisms::Sensitivity::each(&limits, 1).unwrap();
    let grid = Grid::linear(2, 128, 2).unwrap();
    let spend =
        crate::mechanisms::spend::Spend::of(&crate::accounting::PrivacyCost::zcdp(rho).unwrap()).unwrap();
    let settled = |charged: u32| {
        let noise = Additive::within(Family::Gaussian, spend, &each.times(charged).unwrap()).unwrap();
        let tau = search_reach(&noise, charged, 0.9).unwrap();
        Search { aim: Aim::new(&largest(Maximum, grid.clone(), 1), tau, 6.0 * noise.scale()), noise }
    };
    let comparisons = grid.comparisons();
    let refuted = |[mean, variance]: [f64; 2]| mean > rho + 5.0 * variance.sqrt();
    let honest = privacy_loss(&settled(comparisons), 1, comparisons, runs);
    assert!(!refuted(honest), "{honest:?}");
    // It is reached: every comparison is moved by this neighbour.
    assert!(honest[0] > 0.95 * rho, "{honest:?}");
    let uncharged = privacy_loss(&settled(comparisons - 1), 1, comparisons, runs);
    assert!(refuted(uncharged), "{uncharged:?}");
    let twice = privacy_loss(&settled(comparisons), 2, comparisons, runs);
    assert!(refuted(twice), "{twice:?}");
}

/// A function of one's own, that looks at several people.
#[derive(Clone)]
struct Third;

impl Monotone for Third {
    const LOOKS_AT: usize = 3;

    fn name(&self) -> String {
        "third".to_owned()
    }

    fn value(&self, people: &crate::mechanisms::RemainingPeople<'_>) -> i128 {
        people.largest.get(2).map_or(i128::MIN, |third| (*third).into())
    }
}

// Refutes a line that says nothing of what its privacy rests on beside this library, and one that says it of
// a function of this library.
#[test]
fn a_function_of_ones_own_says_whose_word_it_rests_on() {
    let head = crate::mechanisms::Head { release: "r", window: "null", id: "5f", promise: "p", gaps: "" };
    let lines = |released: String| -> Vec<serde_json::Value> {
        released.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let own = prepare(&BinarySearch::rho(0.5), Third, Grid::log());
    let own = lines(own.draw(own.tally(), None, &mut NoiseSource::seeded(1)).answer.lines(&head));
    assert_eq!(own.len(), 2);
    assert!(own.iter().all(|line| line["noise"]["assumes"] == "monotone by its author's word"), "{own:?}");
    let known = prepare(&BinarySearch::rho(0.5), Maximum, Grid::log());
    let known = lines(known.draw(known.tally(), None, &mut NoiseSource::seeded(1)).answer.lines(&head));
    assert!(known.iter().all(|line| line["noise"].is_object() && line["noise"]["assumes"].is_null()));
}

/// The sum of the two largest less the third: a person more makes it smaller.
#[derive(Clone)]
struct Crooked;

impl Monotone for Crooked {
    const LOOKS_AT: usize = 3;

    fn name(&self) -> String {
        "crooked".to_owned()
    }

    fn value(&self, people: &crate::mechanisms::RemainingPeople<'_>) -> i128 {
        people.largest.iter().zip([1, 1, -1]).map(|(value, sign)| i128::from(*value) * sign).sum()
    }
}

fn some_value() -> impl Strategy<Value = i64> {
    prop_oneof![4 => -3i64..12, 1 => any::<i64>(), 1 => Just(i64::MAX), 1 => Just(i64::MIN)]
}

/// By trying every way in which people may leave.
fn slow_loss<F: Monotone>(function: &F, people: &[i64], y: i64) -> u64 {
    let ways = 0u32..1 << people.len();
    let fallen = ways.filter(|way| {
        let mut left: Vec<i64> = (people.iter().enumerate())
            .filter(|(at, _)| way >> at & 1 == 0)
            .map(|(_, value)| (*value).max(F::LEAST))
            .collect();
        left.sort_unstable_by_key(|value| std::cmp::Reverse(*value));
        let total = left.iter().map(|value| i128::from(*value)).sum();
        let largest = &left[..left.len().min(F::LOOKS_AT)];
        let left = crate::mechanisms::RemainingPeople { people: left.len() as u64, total, largest };
        function.value(&left) <= i128::from(y)
    });
    fallen.map(|way| u64::from(way.count_ones())).min().unwrap_or(u64::MAX)
}

fn loss_of<F: Monotone>(function: &F, people: &[i64], most: u64, y: i64) -> u64 {
    let mut tops = Tops::default();
    people.iter().for_each(|value| tops.add((*value).max(F::LEAST), most as usize + F::LOOKS_AT));
    tops.ranked().loss(function, y, most)
}

proptest! {
    // Refutes a loss that is not the least number of people, by trying all; and a cap that is not one.
    #[test]
    fn the_loss_is_the_least_number_of_people_who_must_leave(
        people in proptest::collection::vec(some_value(), 0..9),
        y in some_value(),
        most in 1u64..12,
    ) {
        prop_assert_eq!(loss_of(&Maximum, &people, most, y), slow_loss(&Maximum, &people, y).min(most));
        prop_assert_eq!(loss_of(&Altogether, &people, most, y), slow_loss(&Altogether, &people, y).min(most));
        prop_assert_eq!(loss_of(&Third, &people, most, y), slow_loss(&Third, &people, y).min(most));
    }

    // Refutes a loss that one person moves by two, or the wrong way, capped or not.
    #[test]
    fn one_person_moves_every_loss_by_one_at_most(
        people in proptest::collection::vec(some_value(), 0..30),
        values in proptest::collection::vec(some_value(), 1..6),
        more in some_value(),
        most in 1u64..12,
    ) {
        prop_assert!(loss_moves_by_one(&Maximum, &people, &values));
        prop_assert!(loss_moves_by_one(&Altogether, &people, &values));
        prop_assert!(loss_moves_by_one(&Third, &people, &values));
        let joined: Vec<i64> = people.iter().copied().chain([more]).collect();
        for &y in &values {
            let fewer = loss_of(&Third, &people, most, y);
            let more = loss_of(&Third, &joined, most, y);
            prop_assert!(more == fewer || more == fewer + 1);
        }
    }

    // Refutes an answer beyond the largest, or below the 2 tau-th, while no noise is beyond tau.
    #[test]
    fn an_answer_is_right_while_no_noise_is_beyond_tau(
        mut people in proptest::collection::vec(some_value(), 0..60),
        tau in 1u64..9,
        signs in proptest::collection::vec(-1.0f64..1.0, 16),
        log: bool,
    ) {
        let grid = if log { Grid::log() } else { Grid::linear(-2, 10, 3).unwrap() };
        let draws: Vec<i64> = signs.iter().map(|sign| (sign * tau as f64).round() as i64).collect();
        // As little as losses are ever capped at.
        let aim = Aim::new(&largest(Maximum, grid.clone(), 1), tau, 0.0);
        let comparisons = grid.comparisons() as usize;
        let loss = |at: u64| loss_of(&Maximum, &people, aim.most, grid.at(at).unwrap());
        let found = search(grid.top(), tau, loss, &draws[..comparisons]);
        prop_assert!(found.compared.len() == comparisons || found.compared.len() + 1 == comparisons);
        let released = aim.estimate(found.at);
        people.sort_unstable_by_key(|value| std::cmp::Reverse(*value));
        let nth = |n: u64| people.get(n as usize).map_or(i128::MIN, |value| (*value).into());
        // At most 2 tau people are above it, and one at least above the point before.
        prop_assert!(nth(2 * tau) <= released.value || found.at == grid.top());
        prop_assert!(found.at == 1 || nth(0) >= released.low);
        prop_assert!(released.high().is_none() && released.low() <= released.value());
    }
}

// Refutes a loss of a smallest value that is not the number of people below a point of the grid, that one person moves by two,
// or that nobody moves: all sets of up to four people with values on both sides of a grid's ends.
#[test]
fn one_person_moves_each_loss_of_a_smallest_value_by_one() {
    let points = [-2i64, 0, 1, 3];
    let statistic = largest(Minimum, Grid::list(points).unwrap(), 1);
    let losses = |people: &[i64]| -> Vec<u64> {
        let aim = Aim::new(&statistic, 2, 2.0);
        let mut tops = Tops::default();
        people.iter().for_each(|own| tops.add(statistic.contribution((*own).into()), aim.people().unwrap()));
        let ranked = tops.ranked();
        (1..aim.grid.top()).map(|at| aim.loss(&ranked, at)).collect()
    };
    let (mut moved, mut sets) = (BTreeSet::new(), vec![vec![]]);
    for size in 0..4 {
        for people in sets.iter().filter(|people: &&Vec<i64>| people.len() == size) {
            // From the last point but the least, at which nobody is below.
            let below = |point: &i64| people.iter().filter(|own| *own < point).count() as u64;
            let expected: Vec<u64> = points[1..].iter().rev().map(below).collect();
            assert_eq!(losses(people), expected, "{people:?}");
        }
        let longer: Vec<Vec<i64>> = sets
            .iter()
            .filter(|people| people.len() == size)
            .flat_map(|people| (-3..=4).map(|more| people.iter().copied().chain([more]).collect()))
            .collect();
        for people in &longer {
            let (less, more) = (losses(&people[1..]), losses(people));
            moved.extend(less.iter().zip(&more).map(|(less, more)| more - less));
        }
        sets.extend(longer);
    }
    assert_eq!(moved, BTreeSet::from([0, 1]));
}

// Refutes a smallest value that is below everybody, or too far above, more often than is promised: 10,000 runs, alpha 1e-6; of
// a third of tau the same test refutes the promise.
#[test]
fn the_smallest_of_ten_thousand_is_found_as_often_as_promised() {
    let grid = Grid::linear(-10_240, 10, 10).unwrap();
    let people: Vec<i64> = (-10_000..0).collect();
    let runs = 10_000;
    for (mechanism, confidence) in [(BinarySearch::rho(0.1), 0.99), (BinarySearch::epsilon(1.0), 0.9)] {
        let search = prepare(&mechanism.confidence(confidence), Minimum, grid.clone());
        let tau = tau_of(&search) as i128;
        let found = answers((&search, Minimum), &people, runs);
        let within = |tau: i128| {
            let near = |answer: &&Estimate<i128>| (-10_010..=2 * tau - 10_000).contains(&answer.value);
            found.iter().filter(near).count()
        };
        assert!(at_least_as_often(within(tau), runs as usize, confidence), "{}", within(tau));
        let held = found.iter().filter(|answer| answer.high().is_some_and(|high| -10_000 <= high)).count();
        assert!(at_least_as_often(held, runs as usize, confidence), "{held}");
        assert!(!at_least_as_often(within(tau / 3), runs as usize, confidence), "{}", within(tau / 3));
    }
}

// Refutes an end of 64 bits that is turned around to another number, and a line that is open above, or does not say that there
// were too few people.
#[test]
fn the_ends_of_a_smallest_value() {
    let search = |grid: Grid| prepare(&BinarySearch::rho(0.5), Minimum, grid);
    let one = |search: &Searched<u32, Minimum>, people: &[i64]| answers((search, Minimum), people, 1)[0];
    let whole = search(Grid::log());
    for end in [i64::MIN, 0, i64::MAX] {
        let found = one(&whole, &vec![end; 1000]);
        assert_eq!((found.value, found.high), (end.into(), if end == 0 { 0 } else { found.high }));
    }
    // Between two points: the answer is the one below, and not the one beyond.
    let steps = search(Grid::linear(-20, 20, 5).unwrap());
    let found = one(&steps, &[-7; 1000]);
    assert_eq!((found.value, found.high(), found.low()), (-10, Some(-6), -20));
    assert_eq!(one(&steps, &[-100; 1000]).value, -20);
    let sure = BinarySearch::rho(0.5).confidence(1.0 - 1e-9);
    let sure = prepare(&sure, Minimum, Grid::linear(-20, 20, 5).unwrap());
    let answer = sure.draw(sure.tally(), None, &mut NoiseSource::seeded(3)).answer;
    let head = crate::mechanisms::Head { release: "r", window: "null", id: "5f", promise: "p", gaps: "" };
    let line = answer.lines(&head);
    let words = r#""value":20,"interval":[null,20],"insufficient":true,"interval_of":"bounded","confidence":0.999999999,"#;
    assert!(line.contains(words), "{line}");
    assert_eq!(sure.noise()[0].number(), "smallest");
}

// Refutes a list of the largest that ends before what a function looks at does.
#[test]
fn enough_of_the_largest_are_known_for_every_loss() {
    let aim = Aim::new(&largest(Third, Grid::linear(0, 120, 1).unwrap(), 1), 3, 1.0);
    let ranked = |most: usize| {
        let mut tops = Tops::default();
        (0..100).for_each(|value| tops.add(value, most));
        tops.ranked()
    };
    let (known, all) = (ranked(aim.people().unwrap()), ranked(usize::MAX));
    for index in 1..aim.grid.top() {
        assert_eq!(aim.loss(&known, index), aim.loss(&all, index), "{index}");
    }
}

#[test]
fn a_function_that_is_not_monotone_is_found_out() {
    assert!(!loss_moves_by_one(&Crooked, &[9, 9, 9], &[10]));
}

#[test]
fn ties_and_ends_and_too_few_people() {
    let search = |grid: Grid| prepare(&BinarySearch::rho(0.5), Maximum, grid);
    let one = |search: &Searched<u32, Maximum>, people: &[i64]| answers((search, Maximum), people, 1)[0];
    // All equal, between two points: the answer is the point above, not the one beyond.
    let log = search(Grid::log_from_zero());
    let next = Grid::log_from_zero();
    let above = next.at(next.ceiling(1_000_003)).unwrap();
    assert_eq!(one(&log, &vec![1_000_003; 100_000]).value, above.into());
    assert_eq!(one(&log, &vec![0; 1000]).value, 0);
    let whole = search(Grid::log());
    assert_eq!(one(&whole, &vec![i64::MAX; 1000]).value, i64::MAX.into());
    assert_eq!(one(&whole, &vec![i64::MIN; 1000]).value, i64::MIN.into());
    assert_eq!(one(&whole, &vec![i64::MIN; 1000]).low, i64::MIN.into());
    // Fewer people than tau: nothing but the least answer, which is marked as such.
    let sure = BinarySearch::rho(0.5).confidence(1.0 - 1e-9);
    let sure = prepare(&sure, Maximum, Grid::log_from_zero());
    let tau = tau_of(&sure);
    for people in [0, 1, tau / 3] {
        let mut exact = sure.tally();
        exact.absorb((0, tops_of(&sure, &vec![77; people as usize])));
        let answer = sure.draw(exact, None, &mut NoiseSource::seeded(3)).answer;
        assert_eq!(answer.cells()[0].1.value, 0);
        let head = crate::mechanisms::Head { release: "r", window: "null", id: "5f", promise: "p", gaps: "" };
        let line = answer.lines(&head);
        assert!(
            line.contains(r#""value":0,"interval":[0,null],"insufficient":true,"interval_of":"bounded","confidence":0.999999999,"#)
        );
        assert!(line.contains(&format!(r#","comparisons":10,"tau":{tau}}}"#)), "{line}");
    }
}

fn tops_of(search: &Searched<u32, Maximum>, people: &[i64]) -> Tops {
    let mut tops = Tops::default();
    people.iter().for_each(|value| tops.add(*value, search.largest_needed().unwrap()));
    tops
}

// Refutes a number of draws that depends on what is found.
#[test]
fn as_many_draws_are_asked_for_whatever_there_is() {
    let search = prepare(&BinarySearch::rho(0.1), Maximum, Grid::linear(1, 1000, 1).unwrap());
    let requests = |people: &[i64]| {
        let mut exact = search.tally();
        exact.absorb((1, tops_of(&search, people)));
        let mut noise = NoiseSource::recording(7);
        search.draw(exact, None, &mut noise);
        noise.requests().to_vec()
    };
    let counts = |people: &[i64]| requests(people).iter().map(|request| request.count).sum::<usize>();
    assert_eq!(counts(&[]), 20);
    assert_eq!(requests(&[]), requests(&(0..5000).collect::<Vec<_>>()));
}
