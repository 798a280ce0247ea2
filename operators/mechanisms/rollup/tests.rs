use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::*;
use crate::accounting::{BudgetUnits, DiscreteLaplaceCost, PrivacyCost};
use crate::mechanisms::additive::{Additive, Family, gaussian_holds};
use crate::mechanisms::spend::Spend;
use crate::mechanisms::{
    Bound, Cell, ContributionBound, Gaussian, Label, Laplace, Mean, Mechanism, NoisyTotals, Prepared, Range,
    Ratio, RunningSums, RunningTotal, Statistic, Tally, Total, TotalSpan, Variance,
};
use crate::noise::{NoiseSource, Ratio as Fraction};

/// A key of two parts, or a parent: its first part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Part(u8, Option<u8>);

impl Key for Part {
    fn to_bytes(&self) -> Vec<u8> {
        [Some(self.0), self.1].into_iter().flatten().collect()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Part> {
        match bytes {
            [first] => Some(Part(*first, None)),
            [first, second] => Some(Part(*first, Some(*second))),
            _ => None,
        }
    }

    fn label(&self) -> Label<'_> {
        let parts = [Some(self.0), self.1].into_iter().flatten();
        Label::Texts(parts.map(|part| Cow::from(part.to_string())).collect())
    }

    fn parent(&self) -> Option<Part> {
        self.1.map(|_| Part(self.0, None))
    }
}

/// Keys of parents of these sizes.
fn keys(sizes: &[u8]) -> Vec<Part> {
    let of = |(parent, size): (usize, &u8)| (0..*size).map(move |part| Part(parent as u8, Some(part)));
    sizes.iter().enumerate().flat_map(of).collect()
}

fn listed(sizes: &[u8]) -> Keys<Part> {
    Keys::public(keys(sizes)).unwrap()
}

fn limits(keys: u64, per_key: u64) -> ContributionBound {
    Bound::keys(keys).per_key(per_key).checked().unwrap()
}

fn count(keys: u64, per_key: u64, of: Keys<Part>) -> Total<Part> {
    Total::count(limits(keys, per_key), of).unwrap().rollup().unwrap()
}

fn units(amount: &str) -> BudgetUnits {
    BudgetUnits::at_least("amount", &crate::Decimal::parse("amount", amount).unwrap()).unwrap()
}

/// Every way to take at most `left` keys of parents of these sizes, as numbers of each.
fn taken(sizes: &[u8], left: u8) -> Vec<Vec<u128>> {
    let Some((first, rest)) = sizes.split_first() else { return vec![Vec::new()] };
    let with = |own: u8| {
        taken(rest, left - own).into_iter().map(move |others| [vec![u128::from(own)], others].concat())
    };
    (0..=left.min(*first)).flat_map(with).collect()
}

// Refutes a sensitivity below that of some person, and one that no person reaches: the largest parents are not
// filled first, the keys of a person are not multiplied, or a parent is taken for larger than it is.
#[test]
fn the_worst_person_moves_the_parents_by_what_is_stated_and_nobody_by_more() {
    let most = 3;
    for sizes in [&[1, 1, 1][..], &[2, 3], &[4, 1, 2], &[5], &[3, 3, 3], &[7, 7, 7, 7]] {
        for person in 1..=7u8 {
            let each = Sensitivity::each(&limits(person.into(), 1), most).unwrap();
            let ways = taken(sizes, person);
            let largest =
                |number: &dyn Fn(&[u128]) -> u128| ways.iter().map(|way| number(way)).max().unwrap();
            let stated = Families::of(&listed(sizes)).unwrap().moved(&each).unwrap();
            let found = (stated.l0(), stated.linf(), stated.l1(), stated.l2_squared());
            let expected = (
                largest(&|way| way.iter().filter(|own| **own > 0).count() as u128),
                largest(&|way| way.iter().max().unwrap() * most),
                largest(&|way| way.iter().sum::<u128>() * most),
                largest(&|way| way.iter().map(|own| own * own * most * most).sum()),
            );
            assert_eq!(found, expected, "{person} of {sizes:?}");
            assert_eq!(stated.neighbours(), each.neighbours());
        }
    }
    // Any number of discovered keys may have one parent.
    let each = Sensitivity::each(&limits(5, 1), most).unwrap();
    let stated = Families::of(&Keys::<Part>::discover(1e-6)).unwrap().moved(&each).unwrap();
    assert_eq!((stated.l0(), stated.linf(), stated.l1(), stated.l2_squared()), (5, 15, 15, 225));
    // By hand: 5 keys by 2 each, and all ten in one parent.
    let joint = count(5, 2, Keys::discover(1e-6)).sensitivity();
    assert_eq!((joint.l1(), joint.l2_squared(), joint.linf()), (20, 20 + 100, 10));
    let too_wide =
        Total::sum(Range::new(0, 1 << 40).unwrap(), limits(1 << 31, 1), Keys::<Part>::discover(1e-6));
    assert_eq!(too_wide.unwrap().rollup().unwrap_err().field(), "bound");
}

// Refutes a price of a vector whose cells move differently that its moves exceed, and one above what the theorem asks.
#[test]
fn noise_of_uneven_moves_costs_no_more_than_is_charged_and_hardly_less() {
    for (sizes, person) in [(&[3, 2][..], 5), (&[4, 4, 4], 9), (&[1, 6, 2, 2], 7), (&[9], 5)] {
        let each = Sensitivity::each(&limits(person, 1), 7).unwrap();
        let moved = Families::of(&listed(sizes)).unwrap().moved(&each).unwrap();
        let mut left = person;
        let mut sorted = sizes.to_vec();
        sorted.sort_unstable_by(|one, other| other.cmp(one));
        let moves: Vec<u64> = (sorted.iter())
            .map(|size| {
                let own = left.min(u64::from(*size));
                left -= own;
                7 * own
            })
            .filter(|moved| *moved > 0)
            .collect();
        for amount in ["0.001", "0.1", "0.7", "5"] {
            let rho = units(amount);
            let sigma = Additive::within(Family::Gaussian, Spend::Rho(rho), &moved).unwrap().scale();
            let variance = |scale: f64| Fraction::try_from(scale).unwrap().squared().unwrap();
            let l2 = moves.iter().map(|own| u128::from(own * own)).sum();
            assert!(gaussian_holds(rho, l2, variance(sigma)), "{sizes:?} {amount}");
            assert!(!gaussian_holds(rho, l2, variance(sigma * (1.0 - 1e-9))), "{sizes:?} {amount}");
            let noise = Additive::within(Family::Laplace, Spend::Rho(rho), &moved).unwrap();
            let cost = |scale: f64| -> f64 {
                moves.iter().map(|own| DiscreteLaplaceCost::new(scale, *own).unwrap().rho()).sum()
            };
            assert!(cost(noise.scale()) <= rho.to_float_down(), "{sizes:?} {amount}");
            // Smaller moves are taken for a proportionate part of the largest one's cost.
            assert!(cost(0.7 * noise.scale()) > rho.to_float_up(), "{sizes:?} {amount}");
        }
    }
}

/// The cost of a difference of two tallies under the noise of a mechanism: of the keys', and of the parents'.
fn cost_of(prepared: &NoisyTotals<Part>, moved: &BTreeMap<Part, i128>) -> f64 {
    let mut parents: BTreeMap<Part, i128> = BTreeMap::new();
    for (key, own) in moved {
        *parents.entry(key.parent().unwrap()).or_default() += own;
    }
    let [keys, above] = [prepared.noise()[0], prepared.noise_above()[0]];
    let of = |scale: f64, moved: &i128| match keys.kind() {
        "gaussian" => (*moved as f64 / scale).powi(2) / 2.0,
        _ => moved.unsigned_abs() as f64 / scale,
    };
    moved.values().map(|own| of(keys.scale(), own)).sum::<f64>()
        + parents.values().map(|own| of(above.scale(), own)).sum::<f64>()
}

/// Every contribution of at most `keys` of these keys, each of these amounts in a key.
fn contributions(of: &[Part], keys: usize, amounts: &[i128]) -> Vec<BTreeMap<Part, i128>> {
    let Some((first, rest)) = of.split_first() else { return vec![BTreeMap::new()] };
    let mut all = contributions(rest, keys, amounts);
    if keys > 0 {
        for others in contributions(rest, keys - 1, amounts) {
            all.extend(amounts.iter().map(|amount| {
                let mut own = others.clone();
                own.insert(*first, *amount);
                own
            }));
        }
    }
    all
}

// Every pair of contributions of a person within the bound, of counts and of sums of one sign and of both: adding one costs at most the
// price and the worst one all of it, and exchanging one for another at most the price of a part. Refutes parents that are
// not paid for, a person whose keys are not multiplied, and a part of a person that costs as much as in the keys alone.
#[test]
fn a_person_costs_what_is_charged_and_a_part_of_one_what_is_charged_for_it() {
    let amount = |cost: &PrivacyCost| match cost {
        PrivacyCost::Zcdp { rho, .. } => rho.to_float_up(),
        PrivacyCost::Pure { epsilon } => epsilon.to_float_up(),
        _ => panic!("{cost:?}"),
    };
    for (sizes, person) in [(&[2, 2][..], 2), (&[2, 2], 3), (&[3, 1], 3), (&[2, 2, 1], 4)] {
        let one = || limits(person, 2);
        let sum = |low, high| Total::sum(Range::new(low, high).unwrap(), one(), listed(sizes)).unwrap();
        let totals = [
            (count(person, 2, listed(sizes)), vec![1, 2]),
            (sum(0, 3).rollup().unwrap(), vec![1, 3]),
            (sum(-2, 3).rollup().unwrap(), vec![-2, 3]),
            (sum(-3, -1).rollup().unwrap(), vec![-3, -1]),
        ];
        for (total, amounts) in totals {
            let everything = contributions(&keys(sizes), person as usize, &amounts);
            let gaussian = Gaussian::rho(0.1).prepare(&total).unwrap();
            let laplace = Laplace::epsilon(1.0).prepare(&total).unwrap();
            for prepared in [gaussian, laplace] {
                let whole = amount(prepared.cost().amount());
                let part = amount(&prepared.cost().partial().unwrap());
                let alone = everything.iter().map(|own| cost_of(&prepared, own)).fold(0.0, f64::max);
                assert!(alone <= whole * (1.0 + 1e-9) && alone >= whole * (1.0 - 1e-9), "{alone} of {whole}");
                let mut exchanged = 0.0f64;
                for one in &everything {
                    for other in &everything {
                        let mut moved = one.clone();
                        other.iter().for_each(|(key, own)| *moved.entry(*key).or_default() -= own);
                        exchanged = exchanged.max(cost_of(&prepared, &moved));
                    }
                }
                assert!(exchanged <= part * (1.0 + 1e-9), "{sizes:?} {amounts:?}: {exchanged} of {part}");
                assert!(part <= 4.0 * whole * (1.0 + 1e-9));
            }
        }
    }
}

// By hand for 5 keys and 2 records at rho .1: each level has .05, so the keys sqrt(5 * 4 / .1), and the parents 10 / sqrt(.1);
// with keys to discover half of a key's is for finding it first, so that sqrt(5 * 4 / .05) is left. At epsilon 1 each level has a half: 10 / .5 for both. Refutes a split that
// is not of halves, a delta that is charged twice, and a price that is not that of both.
#[test]
fn both_levels_have_half_of_the_price() {
    let near = |found: f64, truth: f64| assert!((found / truth - 1.0).abs() < 1e-9, "{found} {truth}");
    let public = listed(&[5, 5]);
    let prepared = Gaussian::rho(0.1).prepare(&count(5, 2, public.clone())).unwrap();
    near(prepared.noise()[0].scale(), 200f64.sqrt());
    near(prepared.noise_above()[0].scale(), 10.0 / 0.1f64.sqrt());
    let found = Gaussian::rho(0.1).prepare(&count(5, 2, Keys::discover(1e-6))).unwrap();
    near(found.noise()[0].scale(), 200f64.sqrt());
    near(found.noise_of_found().unwrap()[0].scale(), 400f64.sqrt());
    near(found.noise_above()[0].scale(), 10.0 / 0.1f64.sqrt());
    let alone = Total::count(limits(5, 2), Keys::<Part>::discover(1e-6)).unwrap();
    let of_half = Gaussian::rho(0.05).prepare(&alone).unwrap();
    let alone = Gaussian::rho(0.1).prepare(&alone).unwrap();
    assert_eq!(found.cost().amount(), alone.cost().amount(), "nothing beside the price, and delta once");
    assert_eq!(
        found.threshold(),
        of_half.threshold(),
        "keys are found with half of the price, as without it"
    );
    assert_ne!(found.parameters(), alone.parameters(), "it is another release");
    assert_eq!((alone.noise_above().len(), found.noise_above().len()), (0, 1));
    let pure = Laplace::epsilon(1.0).prepare(&count(5, 2, public)).unwrap();
    near(pure.noise()[0].scale(), 20.0);
    near(pure.noise_above()[0].scale(), 20.0);
    // Of one record a key the draw that finds a key is its number: at half of the price.
    let shared = Gaussian::rho(0.1).prepare(&count(5, 1, Keys::discover(1e-6))).unwrap();
    near(shared.noise()[0].scale(), 50f64.sqrt());
    near(shared.noise_above()[0].scale(), 5.0 / 0.1f64.sqrt());
    // Two parents of two keys each: 4 + 1 of three keys in squares.
    let narrow = Gaussian::rho(0.1).prepare(&count(3, 1, listed(&[2, 2]))).unwrap();
    near(narrow.noise_above()[0].scale(), 5f64.sqrt() / 0.1f64.sqrt());
}

/// People of each key, with a record each.
fn tally(
    prepared: &NoisyTotals<Part>,
    total: &Total<Part>,
    people: &[(Part, u64)],
) -> crate::mechanisms::Cells<Part> {
    let mut exact = prepared.tally();
    for (key, people) in people {
        (0..*people).for_each(|_| exact.absorb((*key, total.contribution(1, 0))));
    }
    exact
}

// The noise of the largest budget is all but none: what is left is exact. Refutes a parent without its undiscovered
// keys, one that is released before any of its keys is public, one that is forgotten in a window in which nobody has its keys,
// and a state or a number of keys that parents enter.
#[test]
fn a_parent_is_there_from_its_first_public_key_on_and_has_all_of_its_keys() {
    let total = count(2, 1, Keys::discover(1e-6).at_most(2));
    let prepared = Gaussian::rho(499.0).prepare(&total).unwrap();
    let mut random = NoiseSource::seeded(3);
    let key = |parent, part| Part(parent, Some(part));
    let people = [(key(1, 1), 40), (key(1, 2), 1), (key(1, 3), 1), (key(2, 1), 1), (key(3, 1), 50)];
    let drawn = prepared.draw(tally(&prepared, &total, &people), None, &mut random);
    let rows = |cells: &[(Part, crate::mechanisms::Estimate<i128>)]| -> Vec<(Part, i128)> {
        cells.iter().map(|(key, estimate)| (*key, estimate.value())).collect()
    };
    let parent = |parent| Part(parent, None);
    let expected = [(key(1, 1), 40), (key(3, 1), 50), (parent(1), 42), (parent(3), 50)];
    assert_eq!(rows(drawn.answer.cells()), expected);
    assert_eq!(drawn.answer.room(), Some(0), "parents take no place among keys");
    let state = drawn.state.unwrap();
    assert!(prepared.accepts(&state).is_ok());
    let alone = Total::count(limits(2, 1), Keys::discover(1e-6).at_most(2)).unwrap();
    let without = Gaussian::rho(499.0).prepare(&alone).unwrap();
    let drawn = without.draw(tally(&without, &alone, &people), None, &mut random);
    assert_eq!(drawn.state.as_ref(), Some(&state), "the state is that of keys alone");
    let later = prepared.draw(tally(&prepared, &total, &[(key(3, 9), 4)]), Some(&state), &mut random);
    let expected = [(key(1, 1), 0), (key(3, 1), 0), (parent(1), 0), (parent(3), 4)];
    assert_eq!(rows(later.answer.cells()), expected);
    // Listed ones have the keys of the list alone, and are in every window.
    let total = count(2, 1, listed(&[2, 1]));
    let prepared = Gaussian::rho(499.0).prepare(&total).unwrap();
    let people = [(key(0, 1), 3), (key(0, 7), 9), (key(5, 5), 9)];
    let drawn = prepared.draw(tally(&prepared, &total, &people), None, &mut random);
    let expected = [(key(0, 0), 0), (key(0, 1), 3), (key(1, 0), 0), (parent(0), 3), (parent(1), 0)];
    assert_eq!(rows(drawn.answer.cells()), expected);
}

// 4,000 windows of 12 keys and 6 parents: the variance of 24,000 draws is off by more than 5% with a chance of 5e-8 (5.5 of its
// deviations, 0.91%), so that a scale which is off by 5% (10% in the variance, 11 deviations) is missed less than once in 10^7
// times. A covariance of a parent and its keys that is not 0, such as that of a parent which is the sum of its noised keys, is 35% of both
// deviations or more, where 4% are allowed: 6 deviations.
#[test]
fn released_parents_have_the_variance_of_the_plan_and_noise_of_their_own() {
    let total = count(4, 2, listed(&[2; 6]));
    for (seed, family) in [(11, "gaussian"), (12, "laplace")] {
        let prepared = match family {
            "gaussian" => Gaussian::rho(0.02).prepare(&total).unwrap(),
            _ => Laplace::epsilon(0.5).prepare(&total).unwrap(),
        };
        let mut random = NoiseSource::seeded(seed);
        let (mut squares, mut both) = ([0.0; 2], 0.0);
        let windows = 4_000;
        for _ in 0..windows {
            let drawn = prepared.draw(prepared.tally(), None, &mut random);
            let values: Vec<f64> =
                drawn.answer.cells().iter().map(|(_, estimate)| estimate.value() as f64).collect();
            let (keys, parents) = values.split_at(12);
            squares[0] += keys.iter().map(|value| value * value).sum::<f64>() / 12.0;
            squares[1] += parents.iter().map(|value| value * value).sum::<f64>() / 6.0;
            both +=
                parents.iter().zip(keys.chunks(2)).map(|(parent, own)| parent * own[0]).sum::<f64>() / 6.0;
        }
        let variance = |scale: f64| if family == "gaussian" { scale * scale } else { 2.0 * scale * scale };
        // The fourth moment of a Laplace law is larger: 1.4% for parents, and as much for keys as for parents here.
        let allowed = if family == "gaussian" { 0.05 } else { 0.08 };
        let planned = [prepared.noise()[0], prepared.noise_above()[0]].map(|noise| variance(noise.scale()));
        for level in [0, 1] {
            let found = squares[level] / f64::from(windows);
            assert!((found / planned[level] - 1.0).abs() < allowed, "{family} {level}: {found} {planned:?}");
        }
        let correlation = both / f64::from(windows) / (planned[0] * planned[1]).sqrt();
        assert!(correlation.abs() < 0.04, "{family}: {correlation}");
    }
}

// Refutes a mean of parents of another number or sum than that of all records of their keys, and a sum over keys of a
// variance or a ratio.
#[test]
fn means_variances_and_ratios_of_parents_are_over_all_records() {
    let mut random = NoiseSource::seeded(5);
    let (range, bound) = (Range::new(0, 100).unwrap(), limits(2, 3));
    let key = |part| Part(0, Some(part));
    let values = [(key(0), [10, 20]), (key(1), [40, 90])];
    let mean = Mean::new(range, bound, listed(&[2])).unwrap().rollup().unwrap();
    let prepared = Gaussian::rho(499.0).prepare(&mean).unwrap();
    assert_eq!((prepared.noise().len(), prepared.noise_above().len()), (2, 2));
    assert_eq!(prepared.noise()[0].over_bound(), None);
    let mut exact = prepared.tally();
    for _ in 0..5_000 {
        for (key, values) in values {
            exact.absorb((key, mean.contribution(2, values.iter().map(|value| mean.term(*value)).sum())));
        }
    }
    let near = |found: f64, truth: f64| assert!((found / truth - 1.0).abs() < 1e-2, "{found} {truth}");
    let drawn = prepared.draw(exact, None, &mut random);
    let found: Vec<f64> = drawn.answer.cells().iter().map(|(_, estimate)| estimate.value()).collect();
    [15.0, 65.0, 40.0].iter().zip(found).for_each(|(truth, found)| near(found, *truth));
    let variance = Variance::new(range, bound, listed(&[2])).unwrap().rollup().unwrap();
    let prepared = Gaussian::rho(499.0).prepare(&variance).unwrap();
    let mut exact = prepared.tally();
    for _ in 0..5_000 {
        values.iter().for_each(|(key, values)| exact.absorb((*key, variance.contribution(values))));
    }
    let drawn = prepared.draw(exact, None, &mut random);
    let found: Vec<f64> = drawn.answer.cells().iter().map(|(_, estimate)| estimate.value()).collect();
    [25.0, 625.0, 950.0].iter().zip(found).for_each(|(truth, found)| near(found, *truth));
    let ratio = Ratio::new([range, range], bound, listed(&[2])).unwrap().rollup().unwrap();
    let prepared = Gaussian::rho(499.0).prepare(&ratio).unwrap();
    let mut exact = prepared.tally();
    for _ in 0..5_000 {
        values.iter().for_each(|(key, [of, per])| exact.absorb((*key, ratio.contribution(&[(*of, *per)]))));
    }
    let drawn = prepared.draw(exact, None, &mut random);
    let found: Vec<f64> = drawn.answer.cells().iter().map(|(_, estimate)| estimate.value()).collect();
    [0.5, 40.0 / 90.0, 50.0 / 110.0].iter().zip(found).for_each(|(truth, found)| near(found, *truth));
    // Both sums of both levels: 2 keys by 300, and all of it in the parent.
    let one = 2 * 300u128.pow(2) + 600u128.pow(2);
    assert_eq!(ratio.sensitivity().l2_squared(), 2 * one);
    let two_steps = PrivacyCost::zcdp(0.1).unwrap();
    for cut in [mean.cut(None), variance.cut(30), ratio.cut()] {
        assert_eq!(cut.factor(&two_steps, true), (4 * 4096, 4096));
    }
}

// Refutes a roll-up of what is no sum, of keys that have no parents, or of totals that are charged once for all windows.
#[test]
fn what_cannot_be_rolled_up_is_named() {
    let refused = |total: Result<Total<Part>, Invalid>| {
        let refused = total.unwrap_err();
        (refused.field().to_owned(), refused.kind())
    };
    let people = Total::people(limits(2, 1), listed(&[2])).unwrap();
    assert_eq!(refused(people.rollup()), ("rollup".into(), InvalidKind::Mixed));
    let parents = Keys::public([Part(1, None)]).unwrap();
    let orphans = Total::count(limits(2, 1), parents).unwrap();
    assert_eq!(refused(orphans.rollup()), ("rollup".into(), InvalidKind::Missing));
    assert!(Total::count(limits(1, 1), Keys::public(["a".to_owned()]).unwrap()).unwrap().rollup().is_err());
    let span = TotalSpan::SoFar { windows: 3 };
    assert_eq!(RunningTotal::new(count(2, 1, listed(&[2])), span).unwrap_err().field(), "rollup");
    let ratio = Ratio::new([Range::new(0, 1).unwrap(); 2], limits(1, 1), listed(&[2])).unwrap();
    assert!(RunningSums::new(ratio.clone(), span).is_ok());
    assert_eq!(RunningSums::new(ratio.rollup().unwrap(), span).unwrap_err().field(), "rollup");
    let record = Total::count(ContributionBound::RECORD, listed(&[2])).unwrap().rollup().unwrap();
    let joint = record.sensitivity();
    assert_eq!(
        (joint.l1(), joint.l2_squared(), joint.linf()),
        (2, 2, 1),
        "a record is in one key and its parent"
    );
    let cell: Cell = record.contribution(1, 0);
    assert_eq!(format!("{cell:?}"), "<private>");
}

// Refutes a line of a parent with the noise of a key, or without its mark, and a key of one.
#[test]
fn lines_of_parents_state_their_noise_and_that_they_are_parents() {
    use crate::mechanisms::{Head, ReleaseLines};
    let prepared = Gaussian::rho(0.1).prepare(&count(5, 2, listed(&[5, 1]))).unwrap();
    let drawn = prepared.draw(prepared.tally(), None, &mut NoiseSource::seeded(1));
    let head = Head { release: "visits", window: "null", id: "5f", promise: "lifetime", gaps: "" };
    let lines = drawn.answer.lines(&head);
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 8);
    for (at, line) in lines.iter().enumerate() {
        let is_parent = at >= 6;
        let noise = if is_parent { prepared.noise_above()[0] } else { prepared.noise()[0] };
        assert_eq!(line["noise"]["scale"].as_f64(), Some(noise.scale()), "{line}");
        assert_eq!(line.get("rollup").is_some(), is_parent, "{line}");
        assert_eq!(line["key"].as_array().unwrap().len(), if is_parent { 1 } else { 2 });
        let half =
            (line["interval"][1].as_i64().unwrap() - line["interval"][0].as_i64().unwrap()) as f64 / 2.0;
        // 1.64 deviations hold nine of ten.
        assert!((half / noise.scale() - 1.645).abs() < 0.05, "{half} {}", noise.scale());
    }
}
