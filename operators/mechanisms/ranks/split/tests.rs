#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Instant;

use proptest::prelude::*;

use super::super::tests::renyi;
use super::*;
use crate::accounting::BudgetUnits;
use crate::noise::goodness::{chi_squared, size};

fn pure(epsilon: f64) -> Spend {
    Spend::Pure(BudgetUnits::at_most_float("epsilon", epsilon).unwrap())
}

fn rho(rho: f64) -> Spend {
    Spend::Rho(BudgetUnits::at_most_float("rho", rho).unwrap())
}

fn of(quantiles: &[(u64, u64)]) -> Vec<Quantile> {
    quantiles.iter().map(|&(a, q)| Quantile::of(a, q).unwrap()).collect()
}

fn plan(
    quantiles: &[Quantile],
    grid: &Grid,
    per_key: u64,
    rule: ChoiceRule,
    spend: Spend,
) -> Result<Splitting, Invalid> {
    Splitting::new(&KeyQuantiles { quantiles, grid, per_key, rule, spend })
}

fn deciles() -> Vec<Quantile> {
    of(&[(1, 10), (2, 10), (3, 10), (5, 10), (7, 10), (8, 10), (9, 10)])
}

// Refutes a draw that is not from the law of its weights, on a grid and data that are small enough to write
// down.
#[test]
fn one_quantile_is_drawn_from_its_law() {
    let grid = Grid::linear(1, 16, 1).unwrap();
    let quantiles = of(&[(9, 10)]);
    let values = [1, 3, 3, 3, 7, 9, 12, 12, 40];
    let plan = plan(&quantiles, &grid, 1, ChoiceRule::Exponential, pure(4.0)).unwrap();
    let SplitShape::Apart(choices) = &plan.shape else { panic!() };
    let AnswerChoice::Exponential(decay) = &choices[0] else { panic!() };
    let mut weights = Vec::new();
    for run in choose::by_value(&values, &grid, quantiles[0]) {
        weights.extend(std::iter::repeat_n(decay.weight(run.loss) as f64, run.cells as usize));
    }
    let total: f64 = weights.iter().sum();
    let law: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
    let mut noise = NoiseSource::seeded(1);
    let mut counts = vec![0; 16];
    for _ in 0..size(100_000, 1_000_000) {
        counts[plan.draw(&values, &mut noise)[0] as usize - 1] += 1;
    }
    chi_squared(&counts, &law).assert_fits();
    // The mutant that weighs the losses of another quantile.
    let median: Vec<f64> = choose::by_value(&values, &grid, of(&[(1, 2)])[0])
        .iter()
        .flat_map(|run| std::iter::repeat_n((-(run.loss as f64)).exp(), run.cells as usize))
        .collect();
    let total: f64 = median.iter().sum();
    chi_squared(&counts, &median.iter().map(|weight| weight / total).collect::<Vec<f64>>()).assert_refuted();
}

/// The joint law of three quantiles among points from `low` to `high`: of each way to answer, the chance.
fn law(node: Option<&QuantileNode>, places: &[u64], (low, high): (u64, u64)) -> BTreeMap<Vec<u64>, f64> {
    let Some(node) = node else { return BTreeMap::from([(vec![], 1.0)]) };
    // Of each point, the number of values below the cut and its weight.
    let weighed: Vec<(u64, usize, f64)> = match &node.choice {
        NodeChoice::Point(AnswerChoice::Exponential(decay)) => {
            let losses = choose::by_place(places, (low, high), node.fraction)
                .into_iter()
                .flat_map(|run| std::iter::repeat_n(run.loss, run.cells as usize));
            (low..).zip(losses).map(|(at, loss)| (at, 0, decay.weight(loss) as f64)).collect()
        }
        NodeChoice::Point(AnswerChoice::Flip(_)) => panic!(),
        NodeChoice::Cut(CutChoice { decay, spread }) => {
            let (a, q) = (node.fraction.numerator(), node.fraction.denominator());
            let loss = |below: usize| (q * below as u64).abs_diff(a * places.len() as u64);
            let least = (0..=places.len()).map(loss).min().unwrap();
            let weighed = (low..=high).flat_map(|at| {
                let before = places.partition_point(|&place| place < at);
                let own = places.partition_point(|&place| place <= at) - before;
                let share = (*spread as f64 + own as f64) / (own as f64 + 1.0);
                (before..=before + own)
                    .map(move |below| (at, below, decay.weight(loss(below) - least) as f64 * share))
            });
            weighed.collect()
        }
    };
    let total: f64 = weighed.iter().map(|(.., weight)| weight).sum();
    let mut all = BTreeMap::new();
    for (at, below, weight) in weighed {
        let (left, right) = places.split_at(below);
        let right = if matches!(node.choice, NodeChoice::Point(_)) { &[] } else { right };
        let above = law(node.above.as_deref(), right, (at, high));
        for (lower, p) in &law(node.below.as_deref(), left, (low, at)) {
            for (upper, q) in &above {
                *all.entry([lower, &[at][..], upper].concat()).or_insert(0.0) += weight / total * p * q;
            }
        }
    }
    all
}

// Refutes a side that is chosen from other values, or among other points, than those that its cut has left it.
#[test]
fn three_quantiles_are_drawn_from_their_joint_law() {
    let grid = Grid::linear(0, 5, 1).unwrap();
    let plan = plan(&of(&[(1, 4), (1, 2), (9, 10)]), &grid, 1, ChoiceRule::Exponential, pure(4.0)).unwrap();
    let SplitShape::Tree { root, .. } = &plan.shape else { panic!() };
    for values in [[0, 1, 1, 2, 4, 5, 5], [3, 3, 3, 3, 3, 3, 5]] {
        let places: Vec<u64> = values.iter().map(|&value| value as u64).collect();
        let (answers, law): (Vec<Vec<u64>>, Vec<f64>) =
            law(root.as_deref(), &places, (0, 5)).into_iter().unzip();
        assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let mut noise = NoiseSource::seeded(13);
        let mut counts = vec![0; answers.len()];
        for _ in 0..size(100_000, 1_000_000) {
            let drawn: Vec<u64> = plan.draw(&values, &mut noise).iter().map(|index| index - 1).collect();
            counts[answers.iter().position(|answer| *answer == drawn).unwrap()] += 1;
        }
        chi_squared(&counts, &law).assert_fits();
    }
}

/// Returns the largest distance of the distributions of neighbours, over all windows of at most five values
/// at six points, of which one person has `per_key`: the plain logarithm of a ratio, and the divergence over
/// its order.
fn worst(root: Option<&QuantileNode>, per_key: usize) -> (f64, f64) {
    let mut windows: Vec<Vec<u64>> = vec![vec![]];
    for _ in 0..5 {
        let more = windows.iter().flat_map(|window| (0..6).map(move |cell| [&window[..], &[cell]].concat()));
        windows = more.chain(windows.clone()).filter(|window| window.is_sorted()).collect();
        windows.sort();
        windows.dedup();
    }
    let laws: BTreeMap<Vec<u64>, Vec<f64>> = windows
        .into_iter()
        .map(|window| (window.clone(), law(root, &window, (0, 5)).into_values().collect()))
        .collect();
    let mut worst = (0.0f64, 0.0f64);
    for (window, all) in &laws {
        for first in 0..window.len() {
            for second in first..if per_key == 1 { first + 1 } else { window.len() } {
                let mut fewer = window.clone();
                fewer.remove(second);
                if second != first {
                    fewer.remove(first);
                }
                let less = &laws[&fewer];
                let plain = all.iter().zip(less).map(|(a, b)| (a / b).ln().abs()).fold(0.0, f64::max);
                worst.0 = worst.0.max(plain);
                for alpha in [1.1, 2.0, 10.0] {
                    let divergence = renyi(all, less, alpha).max(renyi(less, all, alpha));
                    worst.1 = worst.1.max(divergence / alpha);
                }
            }
        }
    }
    worst
}

// Refutes levels that cost more than they are charged, and a person whose second value is free: the whole law of three
// quantiles, over all neighbours of small windows.
#[test]
fn three_quantiles_are_within_what_is_charged() {
    let quantiles = of(&[(1, 4), (1, 2), (9, 10)]);
    let grid = Grid::linear(0, 5, 1).unwrap();
    let root = |per_key, parts, spend| {
        let asked = KeyQuantiles {
            quantiles: &quantiles,
            grid: &grid,
            per_key,
            rule: ChoiceRule::Exponential,
            spend,
        };
        let planner = Planner { asked: &asked, share: EpsilonShare::of(spend, parts) };
        planner.node(&[5, 10, 18], 0, (0, 20), 1).unwrap()
    };
    for per_key in [1, 2] {
        let (plain, _) = worst(root(per_key, 2, pure(2.0)).as_deref(), per_key as usize);
        assert!(plain <= 2.0, "{per_key} values: {plain}");
        let (_, divergence) = worst(root(per_key, 2, rho(0.5)).as_deref(), per_key as usize);
        assert!(divergence <= 0.5 + 1e-12, "{per_key} values: {divergence}");
        // The mutant whose levels each spend all.
        let (plain, _) = worst(root(per_key, 1, pure(2.0)).as_deref(), per_key as usize);
        assert!(plain > 2.2, "{per_key} values: {plain}");
    }
    let mutant = worst(root(1, 2, pure(2.0)).as_deref(), 2).0;
    assert!(mutant > 2.2, "a second value that is free: {mutant}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(size(40, 1000) as u32))]

    // Refutes a promise that some values break, by their exact law: alike, in clusters and gaps, even, sparse and dense.
    #[test]
    fn no_values_break_the_promise_of_three_quantiles(
        counts in prop::collection::vec(prop_oneof![2 => Just(0usize), 2 => 0usize..4, 1 => 0usize..50], 8),
        epsilon in 1.0f64..16.0,
        confidence in prop_oneof![Just(0.5), Just(0.9), Just(0.99)],
    ) {
        let (grid, quantiles) = (Grid::linear(0, 7, 1).unwrap(), of(&[(1, 4), (1, 2), (9, 10)]));
        let plan = plan(&quantiles, &grid, 1, ChoiceRule::Exponential, pure(epsilon)).unwrap();
        let promised = plan.accuracies(confidence).unwrap();
        let SplitShape::Tree { root, .. } = &plan.shape else { panic!() };
        let places: Vec<u64> = (0..).zip(counts).flat_map(|(place, count)| std::iter::repeat_n(place, count)).collect();
        let values: Vec<i64> = places.iter().map(|&place| place as i64).collect();
        let mut broken = [0.0; 3];
        for (answers, chance) in law(root.as_deref(), &places, (0, 7)) {
            for (at, answer) in answers.iter().enumerate() {
                let off = choose::off(&values, *answer as i64, quantiles[at]);
                broken[at] += if off > promised[at].rank_error { chance } else { 0.0 };
            }
        }
        let outside = 1.0 - confidence + 1e-9;
        prop_assert!(broken.iter().all(|broken| *broken <= outside), "{broken:?} of {promised:?}");
    }
}

/// Returns the number of runs in which each answer is off by more than was promised.
fn broken(quantiles: &[Quantile], rule: ChoiceRule, values: &[i64], epsilon: f64, runs: usize) -> Vec<usize> {
    let grid = Grid::linear(0, 999, 1).unwrap();
    let plan = plan(quantiles, &grid, 1, rule, pure(epsilon)).unwrap();
    let promised = plan.accuracies(0.9).unwrap();
    let mut broken = vec![0; quantiles.len()];
    let mut noise = NoiseSource::seeded(7);
    for _ in 0..runs {
        let answers = plan.draw(values, &mut noise);
        assert!(answers.is_sorted());
        for (place, &answer) in answers.iter().enumerate() {
            let off = choose::off(values, grid.at(answer).unwrap(), quantiles[place]);
            broken[place] += usize::from(off > promised[place].rank_error);
        }
    }
    broken
}

// Refutes a promise that leaves out the noise of the cuts around an answer, or the ties.
#[test]
fn ranks_are_off_by_no_more_than_is_promised_as_often_as_is_promised() {
    let mut random = NoiseSource::seeded(8);
    let mut spread: Vec<i64> = (0..500).map(|_| (random.below(500) + random.below(500)) as i64).collect();
    spread.sort_unstable();
    let stars: Vec<i64> = (0..500).map(|person| 100 * (person / 100)).collect();
    let runs = size(1000, 10_000);
    for values in [&spread, &stars] {
        for (quantiles, epsilon) in [(of(&[(1, 2)]), 1.0), (of(&[(1, 2), (19, 20)]), 2.0), (deciles(), 3.0)] {
            let broken = broken(&quantiles, ChoiceRule::Exponential, values, epsilon, runs);
            assert!(broken.iter().all(|&broken| broken <= runs / 10), "{broken:?} of {runs}");
        }
        let broken = broken(&of(&[(1, 2)]), ChoiceRule::PermuteAndFlip, values, 1.0, runs / 10);
        assert!(broken.iter().all(|&broken| broken <= runs / 100), "{broken:?} of {runs}");
    }
}

// Refutes a promise of one person less. All but one of a thousand answers are off by as many people as are at
// that one, halved: the promise is 9.
#[test]
fn the_promise_is_the_least_that_holds() {
    let median = of(&[(1, 2)]);
    let runs = size(2000, 10_000);
    let wrong = |people: usize| broken(&median, ChoiceRule::Exponential, &vec![500; people], 1.0, runs)[0];
    let passed = wrong(20);
    assert!(passed <= runs / 10 && passed >= runs / 40, "{passed} of {runs}");
    let grid = Grid::linear(0, 999, 1).unwrap();
    let plan = plan(&median, &grid, 1, ChoiceRule::Exponential, pure(1.0)).unwrap();
    assert_eq!(plan.accuracies(0.9).unwrap()[0].rank_error, 9);
    let mut noise = NoiseSource::seeded(12);
    let nine_off = (0..runs).filter(|_| plan.draw(&[500; 18], &mut noise) != [501]).count();
    assert!(nine_off > runs / 10, "{nine_off} of {runs}");
}

#[test]
fn a_promise_is_the_closed_form_at_most() {
    let grid = Grid::linear(0, 999, 1).unwrap();
    let quantiles = of(&[(9, 10)]);
    for (rule, per_key) in
        [(ChoiceRule::Exponential, 1), (ChoiceRule::Exponential, 5), (ChoiceRule::PermuteAndFlip, 1)]
    {
        let plan = plan(&quantiles, &grid, per_key, rule, pure(0.5)).unwrap();
        let released = plan.accuracies(0.9).unwrap()[0];
        // 2 Delta / (q epsilon) people, and ln(bad / good) of these.
        let scale = 2.0 * 9.0 * per_key as f64 / (10.0 * 0.5);
        assert!((released.scale / scale - 1.0).abs() < 1e-6);
        // 1 - (1 - e^-x) / x is .1 for x of .21456.
        let good = if rule == ChoiceRule::Exponential { 0.1 / 0.9 } else { 0.21455 };
        let closed = (scale * (1000.0f64 / good).ln()).ceil();
        assert!(
            released.rank_error as f64 <= closed && released.rank_error as f64 >= closed - 1.0,
            "{released:?} {closed}"
        );
    }
    // Seven quantiles at a third of the spend each, and not at a seventh.
    let plan = plan(&deciles(), &grid, 1, ChoiceRule::Exponential, pure(3.0)).unwrap();
    assert_eq!(plan.parts(), 3);
    let released = plan.accuracies(0.9).unwrap();
    // A thirty-second of an epsilon is for ties.
    assert!(
        (released[3].scale - 32.0 / 31.0).abs() < 1e-6 && (released[2].scale - 4.0 / 3.0).abs() < 1e-6,
        "{released:?}"
    );
    let least = released.iter().map(|released| released.rank_error).min().unwrap();
    assert_eq!(released[3].rank_error, least, "the first cut inherits nothing");
    let errors: Vec<u64> = released.iter().map(|released| released.rank_error).collect();
    assert!(errors.iter().eq(errors.iter().rev()), "one side inherits as much as the other: {errors:?}");
    // Each by itself at its part of the chance would be 203 and more at a third of this epsilon: 68.
    assert!(errors.iter().all(|error| *error <= 28), "{errors:?}");
}

// Refutes a plan whose work grows with its grid, up to the finest: tails of many points stay above any chance that is left
// out. Steps are counted, and the promise never falls as the grid gets finer.
#[test]
fn the_finest_grid_is_planned_in_as_many_steps() {
    let calls = Cell::new(0u64);
    for spend in [pure(0.05), pure(3.0), rho(0.001)] {
        for (quantiles, per_key) in [(deciles(), 1), (of(&[(1, 4), (1, 2), (3, 4)]), 5)] {
            let mut before = vec![0; quantiles.len()];
            for bits in [10, 20, 32, 34, 35, 36, 38, 40] {
                let grid = Grid::linear(1, 1 << bits, 1).unwrap();
                let plan = plan(&quantiles, &grid, per_key, ChoiceRule::Exponential, spend).unwrap();
                let SplitShape::Tree { root, .. } = &plan.shape else { panic!() };
                calls.set(0);
                let mut kept = vec![0; quantiles.len()];
                let visited = inherit(root.as_deref(), (&[], &[]), &mut |node, errors| {
                    let counted =
                        parts(errors, grid.top()).into_iter().map(|PartialError { part, scale, exceeds }| {
                            let calls = &calls;
                            let exceeds = move |people| {
                                calls.set(calls.get() + 1);
                                exceeds(people)
                            };
                            PartialError { part, scale, exceeds: Box::new(exceeds) }
                        });
                    kept[node.place] = least_kept(&counted.collect::<Vec<_>>(), 0.01).unwrap();
                    Ok(())
                });
                visited.unwrap();
                assert!(calls.get() <= 80 * 128 * quantiles.len() as u64, "2^{bits}: {} steps", calls.get());
                let promised: Vec<u64> =
                    plan.accuracies(0.99).unwrap().iter().map(|own| own.rank_error).collect();
                assert_eq!(promised, kept);
                assert!(
                    kept.iter().zip(&before).all(|(now, before)| now >= before),
                    "2^{bits}: {kept:?} {before:?}"
                );
                before = kept;
            }
        }
    }
}

// Refutes a typical error that is off, by more than three ranks, the median and the ninth tenth of real draws from values
// that differ and lie evenly: each of 7 + 2 + 1 answers with alpha 1e-6 on either side.
#[test]
fn typical_errors_are_those_of_even_values() {
    const VALUES: i64 = 800;
    let values: Vec<i64> = (0..VALUES).map(|at| 1024 * at + 512).collect();
    let grid = Grid::linear(0, 1024 * VALUES - 1, 1).unwrap();
    let runs = size(1500, 10_000);
    let mut noise = NoiseSource::seeded(14);
    for (quantiles, epsilon) in [(deciles(), 1.0), (of(&[(1, 3), (1, 2)]), 0.2), (of(&[(9, 10)]), 0.3)] {
        let plan = plan(&quantiles, &grid, 1, ChoiceRule::Exponential, pure(epsilon)).unwrap();
        let mut off: Vec<Vec<u64>> = vec![Vec::new(); quantiles.len()];
        for _ in 0..runs {
            for ((answer, &quantile), off) in
                plan.draw(&values, &mut noise).iter().zip(&quantiles).zip(&mut off)
            {
                off.push(choose::off(&values, grid.at(*answer).unwrap(), quantile));
            }
        }
        let promised = plan.accuracies(0.9).unwrap();
        for ((off, typical), promised) in off.iter().zip(plan.typical()).zip(promised) {
            for (part, ranks) in [(0.5, typical.half), (0.9, typical.nine_tenths)] {
                let within =
                    |ranks: u64| off.iter().filter(|off| **off <= ranks).count() as f64 / runs as f64;
                let chance = 4.75 * (part * (1.0 - part) / runs as f64).sqrt();
                let (least, most) = (within(ranks + 1), within(ranks.saturating_sub(3)));
                assert!(least >= part - chance, "{part}: {ranks} are exceeded too often: {least}");
                assert!(most <= part + chance, "{part}: {ranks} are too many: {most}");
            }
            assert!(promised.rank_error > 2 * typical.nine_tenths);
        }
    }
    // Permute-and-flip errs no more.
    let (median, grid) = (of(&[(1, 2)]), Grid::linear(0, 8 * VALUES - 1, 1).unwrap());
    let plan = plan(&median, &grid, 1, ChoiceRule::PermuteAndFlip, pure(0.2)).unwrap();
    let (values, typical) = ((0..VALUES).map(|at| 8 * at + 4).collect::<Vec<i64>>(), plan.typical()[0]);
    let runs = runs / 5;
    let off = |noise: &mut NoiseSource| {
        choose::off(&values, grid.at(plan.draw(&values, noise)[0]).unwrap(), median[0])
    };
    let within = (0..runs).filter(|_| off(&mut noise) <= typical.half).count();
    assert!(within as f64 / runs as f64 >= 0.5 - 4.75 * (0.25 / runs as f64).sqrt(), "{within} of {runs}");
}

// Refutes a request that shows how many people there are, or where.
#[test]
fn neighbours_ask_for_the_same_noise() {
    let grid = Grid::linear(0, 100, 1).unwrap();
    for (quantiles, rule, draws) in [
        (deciles(), ChoiceRule::Exponential, 7),
        (deciles(), ChoiceRule::PermuteAndFlip, 7),
        (of(&[(1, 2), (3, 4)]), ChoiceRule::Exponential, 2),
    ] {
        let plan = plan(&quantiles, &grid, 3, rule, pure(1.0)).unwrap();
        let asked = |values: &[i64]| {
            let mut noise = NoiseSource::recording(9);
            let answers = plan.draw(values, &mut noise);
            assert!(answers.is_sorted() && answers.iter().all(|answer| (1..=101).contains(answer)));
            noise.requests().to_vec()
        };
        let empty = asked(&[]);
        assert_eq!(empty.len(), draws);
        assert_eq!(empty, asked(&[i64::MIN, 5, 5, 5, 70, i64::MAX]));
        assert_eq!(empty, asked(&[100; 50]));
    }
}

// Refutes a tree that is deeper than it is charged for.
#[test]
fn a_tree_is_as_deep_as_its_number_has_bits() {
    fn deep(node: Option<&QuantileNode>) -> u64 {
        node.map_or(0, |node| 1 + deep(node.below.as_deref()).max(deep(node.above.as_deref())))
    }
    let grid = Grid::linear(0, 9, 1).unwrap();
    for count in 3..200 {
        let quantiles: Vec<Quantile> = (1..=count).map(|a| Quantile::of(a, 1000).unwrap()).collect();
        let plan = plan(&quantiles, &grid, 4, ChoiceRule::Exponential, rho(0.1)).unwrap();
        let SplitShape::Tree { root, .. } = &plan.shape else { panic!() };
        assert_eq!(deep(root.as_deref()), plan.parts());
        assert_eq!(plan.parts(), u64::from(64 - count.leading_zeros()));
    }
}

#[test]
fn what_cannot_be_planned_is_refused_by_name() {
    let small = Grid::linear(0, 9, 1).unwrap();
    let wide = Grid::linear(0, (1 << 40) - 1, 1).unwrap();
    let half = of(&[(1, 2)]);
    let refused = |quantiles: &[Quantile], grid, per_key, rule, spend| {
        let refused = plan(quantiles, grid, per_key, rule, spend).unwrap_err();
        (refused.field().to_owned(), refused.kind())
    };
    let (exponential, flip) = (ChoiceRule::Exponential, ChoiceRule::PermuteAndFlip);
    assert_eq!(refused(&[], &small, 1, exponential, pure(1.0)), ("q".into(), InvalidKind::Empty));
    let twice = of(&[(1, 2), (1, 2)]);
    assert_eq!(refused(&twice, &small, 1, exponential, pure(1.0)), ("q".into(), InvalidKind::Mixed));
    let primes = of(&[(1, 997), (1, 991), (1, 3)]);
    assert_eq!(refused(&primes, &small, 1, exponential, pure(1.0)), ("q".into(), InvalidKind::Mixed));
    let strange = of(&[(1, 997), (1, 991), (1, 2)]);
    assert_eq!(refused(&strange, &small, 1, exponential, pure(1.0)), ("q".into(), InvalidKind::Mixed));
    assert!(plan(&deciles(), &wide, 1, exponential, pure(1.0)).is_ok());
    assert_eq!(refused(&half, &wide, 1, flip, pure(1.0)), ("grid".into(), InvalidKind::TooLarge));
    assert_eq!(refused(&half, &small, 1, flip, rho(1.0)), ("currency".into(), InvalidKind::Mixed));
    assert_eq!(refused(&half, &small, 1, exponential, pure(1e-7)), ("epsilon".into(), InvalidKind::TooSmall));
    assert_eq!(refused(&half, &small, 0, exponential, pure(1.0)), ("step".into(), InvalidKind::Zero));
    assert_eq!(
        refused(&of(&[(2, 5)]), &small, u64::MAX, exponential, pure(1.0)),
        ("bound".into(), InvalidKind::Overflow)
    );
    let plan = plan(&half, &wide, 1, exponential, pure(1.0)).unwrap();
    let kind = |confidence| plan.accuracies(confidence).unwrap_err().kind();
    assert_eq!(
        (kind(0.0), kind(1.0), kind(f64::NAN)),
        (InvalidKind::Malformed, InvalidKind::Malformed, InvalidKind::Nan)
    );
    assert_eq!(kind(1.0 - 1e-12), InvalidKind::TooLarge);
}

#[test]
#[ignore = "takes its time in release mode: cargo test --release --lib a_million_values -- --ignored --nocapture"]
fn a_million_values_are_drawn_from_in_little_time() {
    let mut random = NoiseSource::seeded(10);
    let mut values: Vec<i64> = (0..1_000_000).map(|_| random.below(1 << 40) as i64).collect();
    values.sort_unstable();
    let fine = Grid::linear(0, 1 << 40, 1 << 10).unwrap();
    let log = Grid::log_from_zero();
    let stars = Grid::linear(0, 1 << 40, 1 << 37).unwrap();
    let mut noise = NoiseSource::seeded(11);
    for (name, grid) in [("fine", &fine), ("log", &log), ("stars", &stars)] {
        for quantiles in [of(&[(1, 2)]), deciles()] {
            let start = Instant::now();
            let plan = plan(&quantiles, grid, 1, ChoiceRule::Exponential, pure(1.0)).unwrap();
            let planned = start.elapsed();
            let start = Instant::now();
            plan.draw(&values, &mut noise);
            println!(
                "{name}, {} quantiles: planned in {planned:?}, drawn in {:?}",
                quantiles.len(),
                start.elapsed()
            );
        }
    }
}

// Refutes a value that counts at no point: where most values are beyond an end, or between two points, one and two quantiles are at
// the end and at the point above, as three are.
#[test]
fn values_off_the_points_are_found_at_them() {
    let grid = Grid::linear(0, 100, 1).unwrap();
    let coarse = Grid::linear(0, 100, 50).unwrap();
    for (values, grid, found) in [
        ([vec![-1; 600], vec![90; 400]].concat(), &grid, 1),
        ([vec![10; 400], vec![i64::MAX; 600]].concat(), &grid, 101),
        (vec![30; 1_000], &coarse, 2),
    ] {
        for quantiles in [vec![(1, 2)], vec![(49, 100), (1, 2)], vec![(48, 100), (49, 100), (1, 2)]] {
            let quantiles = of(&quantiles);
            for rule in [ChoiceRule::Exponential, ChoiceRule::PermuteAndFlip] {
                let plan = plan(&quantiles, grid, 1, rule, pure(6.0)).unwrap();
                let mut noise = NoiseSource::seeded(3);
                for _ in 0..50 {
                    assert_eq!(plan.draw(&values, &mut noise), vec![found; quantiles.len()], "{rule:?}");
                }
            }
        }
    }
}
