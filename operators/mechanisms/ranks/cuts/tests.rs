#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::noise::Ratio;
use crate::noise::goodness::{chi_squared, size};

fn of(a: u64, q: u64) -> Quantile {
    Quantile::of(a, q).unwrap()
}

/// A choice for an epsilon of `2 half`, of which a part is for ties.
fn choice(half: f64, quantile: Quantile) -> CutChoice {
    let own = Ratio::new((half * 31.0 / 32.0 * 2f64.powi(40)) as u128, 1 << 40).unwrap();
    CutChoice { decay: Decay::new(own, quantile.reach()).unwrap(), spread: (16.0 / half).ceil() as u64 }
}

/// Every cut with its weight, by the definition.
fn cuts(
    choice: &CutChoice,
    places: &[u64],
    (low, high): (u64, u64),
    quantile: Quantile,
) -> Vec<(ChosenCut, f64)> {
    let least = (0..=places.len()).map(|below| loss(quantile, below, places.len())).min().unwrap();
    let spread = choice.spread as f64;
    let mut all = Vec::new();
    for place in low..=high {
        let before = places.partition_point(|&other| other < place);
        let own = places.partition_point(|&other| other <= place) - before;
        for below in before..=before + own {
            let weight = choice.decay.weight(loss(quantile, below, places.len()) - least) as f64;
            all.push((ChosenCut { place, below }, weight * (spread + own as f64) / (own as f64 + 1.0)));
        }
    }
    all
}

// Refutes a part of the weights that is left out or drawn for another, and equal values whose cuts are not alike.
#[test]
fn cuts_are_drawn_by_their_weights() {
    for (places, quantile, half, seed) in [
        (vec![2, 2, 2, 2, 2, 2, 2, 5, 7, 7], of(1, 3), 0.5, 1),
        (vec![4; 30], of(1, 2), 0.2, 2),
        (vec![0, 0, 0, 9, 9], of(1, 2), 1.0, 3),
        (vec![], of(1, 2), 1.0, 4),
    ] {
        let choice = choice(half, quantile);
        let (cuts, weights): (Vec<ChosenCut>, Vec<f64>) =
            cuts(&choice, &places, (0, 9), quantile).into_iter().unzip();
        let total: f64 = weights.iter().sum();
        let law: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        let index: BTreeMap<ChosenCut, usize> = cuts.into_iter().zip(0..).collect();
        let mut noise = NoiseSource::seeded(seed);
        let mut counts = vec![0; law.len()];
        for _ in 0..size(50_000, 1_000_000) {
            counts[index[&choice.choose(&places, (0, 9), quantile, &mut noise)]] += 1;
        }
        chi_squared(&counts, &law).assert_fits();
    }
}

/// The range of the logarithms of what one value more changes, over all sets of values below a cut.
fn range(choice: &CutChoice, places: &[u64], more: u64, quantile: Quantile) -> f64 {
    let after: Vec<u64> = {
        let mut after = places.to_vec();
        after.insert(places.partition_point(|&place| place < more), more);
        after
    };
    let normalised = |places: &[u64]| -> BTreeMap<ChosenCut, f64> {
        // Weights of both count from a least loss, which may be another.
        let least = (0..=places.len()).map(|below| loss(quantile, below, places.len())).min().unwrap();
        let shift = (-choice.rate() * least as f64).exp();
        cuts(choice, places, (0, 9), quantile)
            .into_iter()
            .map(|(cut, weight)| (cut, weight * shift))
            .collect()
    };
    let (one, two) = (normalised(places), normalised(&after));
    let own = places.iter().filter(|&&place| place == more).count() as f64;
    let before = places.partition_point(|&place| place < more);
    let logs: Vec<f64> = one
        .iter()
        .map(|(&ChosenCut { place, below }, weight)| {
            let at = |place, below| two[&ChosenCut { place, below }];
            let then = match place.cmp(&more) {
                std::cmp::Ordering::Less => at(place, below),
                std::cmp::Ordering::Greater => at(place, below + 1),
                std::cmp::Ordering::Equal => {
                    let j = (below - before) as f64;
                    ((own + 1.0 - j) * at(place, below) + (j + 1.0) * at(place, below + 1)) / (own + 1.0)
                }
            };
            (then / weight).ln()
        })
        .collect();
    logs.iter().copied().fold(f64::MIN, f64::max) - logs.iter().copied().fold(f64::MAX, f64::min)
}

proptest! {
    // Refutes a price that is too low: one value more, among equal ones or not, near the floor or far from it.
    #[test]
    fn one_value_changes_cuts_within_the_price(
        mut places in prop::collection::vec(prop_oneof![3 => 0u64..10, 2 => Just(4)], 0..40),
        more in 0u64..10,
        half in 0.05f64..8.0,
        quantile in prop_oneof![Just((1, 2)), Just((1, 10)), Just((2, 3))],
    ) {
        places.sort_unstable();
        let quantile = of(quantile.0, quantile.1);
        let honest = choice(half, quantile);
        let range = range(&honest, &places, more, quantile);
        prop_assert!(range <= 2.0 * half + 1e-9, "{range} of {}", 2.0 * half);
    }
}

// Refutes a part for ties that is not needed: without it, one value more at an empty point makes two cuts of one.
#[test]
fn ties_have_to_be_paid_for() {
    let quantile = of(1, 2);
    let places = [0, 0, 0, 0, 9, 9, 9, 9, 9];
    let honest = choice(0.5, quantile);
    let paid = range(&honest, &places, 4, quantile);
    assert!(paid <= 1.0 && paid > 0.96, "{paid}");
    let free = CutChoice { spread: 1, ..honest };
    assert!(range(&free, &places, 4, quantile) > 1.2);
}

/// The exact probability that a cut of these places is off by more than so many values.
fn exactly(choice: &CutChoice, places: &[u64], top: u64, quantile: Quantile, values: u64) -> f64 {
    let mut weights = [0.0; 2];
    for (cut, weight) in cuts(choice, places, (0, top - 1), quantile) {
        let off = loss(quantile, cut.below, places.len()) > quantile.denominator() * values;
        weights[usize::from(off)] += weight;
    }
    weights[1] / (weights[0] + weights[1])
}

proptest! {
    // Refutes an error that is exceeded more often than is promised: values alike, in clusters, sparse and dense, in
    // grids that are finer and coarser than they are.
    #[test]
    fn no_values_are_off_more_often_than_is_promised(
        shape in 0usize..5,
        count in 0usize..120,
        top in prop_oneof![2u64..8, 8u64..60],
        quantile in prop_oneof![Just((1, 2)), Just((1, 10)), Just((2, 3)), Just((99, 100))],
        half in 0.05f64..3.0,
        seed: u64,
    ) {
        let (quantile, mut random) = (of(quantile.0, quantile.1), NoiseSource::seeded(seed));
        let mut place = |at: usize| match shape {
            0 => top / 2,
            1 => if at.is_multiple_of(3) { 0 } else { top - 1 },
            2 => random.below(top),
            3 => (at as u64 * top) / 120,
            _ => random.below(top).min(random.below(top)) / 2,
        };
        let mut places: Vec<u64> = (0..count).map(&mut place).collect();
        places.sort_unstable();
        let choice = choice(half, quantile);
        for values in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55] {
            let bound = choice.exceeds(top, quantile, values);
            let exact = exactly(&choice, &places, top, quantile, values);
            prop_assert!(exact <= bound, "{values}: {exact} above {bound}");
        }
    }
}

// Refutes a promise that gives away what it need not: equal values, of which the right cut is `values + 1` away from the
// end, and a wide gap behind it, come near to the bound.
#[test]
fn the_worst_values_come_near_to_the_bound() {
    for (quantile, half, top) in [(of(1, 2), 0.5, 50), (of(1, 2), 0.5, 5000), (of(1, 4), 0.25, 1000)] {
        let choice = choice(half, quantile);
        let (a, q) = (quantile.numerator(), quantile.denominator());
        let values = (1..).find(|&values| choice.exceeds(top, quantile, values) <= 0.1).unwrap();
        // Values at the first point, then a gap, then equal ones at the last.
        let worst = [0u64, 1, 5, 20, 50, 100, 400]
            .into_iter()
            .map(|before| {
                // The least number of all with which the right cut is more than `values` behind the gap.
                let all = ((before + values) * q / a + 1).max(before + 1);
                let mut places = vec![0; before as usize];
                places.resize(all as usize, top - 1);
                exactly(&choice, &places, top, quantile, values)
            })
            .fold(0.0, f64::max);
        let bound = choice.exceeds(top, quantile, values);
        assert!(worst <= bound && worst > bound / 4.0, "{quantile}, {top} points: {worst} of {bound}");
    }
}

// Refutes a bound that counts ranks below the least one: of a tenth, few are on the lower side where some are far above.
#[test]
fn ranks_beside_the_end_are_few() {
    let (quantile, half) = (of(1, 10), 0.02);
    let choice = choice(half, quantile);
    let bound = |values| choice.exceeds(1000, quantile, values);
    let fall = choice.rate() * 10.0;
    // All ranks of both sides would be nearly twice as many as those of one.
    for values in [400u64, 600] {
        let sum = |from: f64, terms: u64| (0..terms).map(|i| (-fall * (i as f64 + from)).exp()).sum::<f64>();
        let few = values.div_ceil(9);
        let good = (2.0 * sum(0.5, few) + sum(few as f64 + 1.0, values - few)) / choice.spread as f64;
        let exact = bound(values) / (1.0 - bound(values)) * good;
        let both = 2.0 * sum(0.5, values) / choice.spread as f64;
        let bad = 1001.0 * (-choice.rate() * (10.0 * values as f64 + 1.0)).exp()
            + (1.0 + 1.0 / choice.spread as f64) * sum(values as f64 + 1.0, 100_000);
        assert!((exact / bad - 1.0).abs() < 1e-3, "{exact} {bad}");
        assert!(both > 1.1 * good);
    }
}
