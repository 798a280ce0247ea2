//! Slow, independent oracles: exact integers over every output, and plain sums and quadratures of moments.

use dashu_int::UBig;

use super::exact::ExactLossDistribution;
use super::integral::Integral;
use super::law::LossDistribution;
use super::search::first_below;
use super::{Bundle, Pair};
use crate::accounting::Adjacency;
use crate::accounting::dice::Dice;

/// Every output of every use, with its probability under the two neighbouring datasets in integers over a
/// common total.
struct ListedOutputs {
    outputs: Vec<(u128, u128)>,
    total: u128,
}

impl ListedOutputs {
    fn times(&self, one: &[(u128, u128)]) -> ListedOutputs {
        let total: u128 = one.iter().map(|(p, _)| p).sum();
        assert_eq!(total, one.iter().map(|(_, q)| q).sum::<u128>());
        let outputs = self.outputs.iter().flat_map(|(p, q)| one.iter().map(move |(x, y)| (p * x, q * y)));
        ListedOutputs { outputs: outputs.collect(), total: self.total * total }
    }

    /// Delta at `epsilon = ln(top/bottom)`, as a fraction, in the given direction.
    fn delta(&self, (top, bottom): (u128, u128), forward: bool) -> (u128, u128) {
        let each = self.outputs.iter().map(|(p, q)| if forward { (p, q) } else { (q, p) });
        (each.map(|(p, q)| (bottom * p).saturating_sub(top * q)).sum(), bottom * self.total)
    }
}

/// True if `bound >= top/bottom`, in integers.
fn at_least(bound: f64, (top, bottom): (u128, u128)) -> bool {
    let bits = bound.to_bits();
    let (exponent, mantissa) = ((bits >> 52) as i64, bits & ((1 << 52) - 1));
    let mantissa = UBig::from(if exponent == 0 { mantissa } else { mantissa | 1 << 52 });
    let down = (1075 - exponent.max(1)) as usize;
    mantissa * UBig::from(bottom) >= UBig::from(top) << down
}

fn table_outputs(weights: &[u64], shift: usize) -> Vec<(u128, u128)> {
    let at = |i: usize| u128::from(weights.get(i).copied().unwrap_or(0));
    (0..weights.len() + shift).map(|i| (at(i), i.checked_sub(shift).map_or(0, at))).collect()
}

/// A mechanism drawn at random, and its outputs.
fn any_pair(dice: &mut Dice) -> Option<(Pair, Vec<(u128, u128)>)> {
    let log = |odds: u64| (odds as f64).ln().next_up();
    Some(match dice.below(3) {
        0 => {
            let weights: Vec<u64> = (0..2 + dice.below(4)).map(|_| dice.below(12)).collect();
            let shift = 1 + dice.below(2) as usize;
            (Pair::table(&weights, shift).ok()?, table_outputs(&weights, shift))
        }
        1 => {
            let odds = 2 + dice.below(9);
            (Pair::randomized_response(log(odds)).ok()?, vec![(odds.into(), 1), (1, odds.into())])
        }
        _ => {
            // An eighth is revealed; seven eighths answer at the odds.
            let odds = 1 + dice.below(9);
            let epsilon = if odds == 1 { 0.0 } else { log(odds) };
            let (revealed, truth) = (u128::from(odds + 1), u128::from(7 * odds));
            (
                Pair::approximate(epsilon, 0.125).ok()?,
                vec![(revealed, 0), (truth, 7), (7, truth), (0, revealed)],
            )
        }
    })
}

/// Refutes: "delta is never below the truth, in exact integers, and at most 10^-12 above", for up to six uses
/// of random tables (with holes, seldom symmetric), randomized responses and (epsilon, delta) mechanisms.
/// Kills: rounding masses down, dropping infinite loss, forgetting a count, one direction only.
#[test]
fn random_mixtures_cost_what_exact_integers_say() {
    let mut dice = Dice(20_260_801);
    for case in 0..4_000 {
        let mut bundle = Bundle::new(Adjacency::PERSON);
        let mut listed = ListedOutputs { outputs: vec![(1, 1)], total: 1 };
        for _ in 0..1 + dice.below(3) {
            let Some((pair, outputs)) = any_pair(&mut dice) else {
                continue;
            };
            let count = 1 + dice.below(2);
            bundle = bundle.add(&pair, count).unwrap();
            for _ in 0..count {
                listed = listed.times(&outputs);
            }
        }
        let (bottom, above) = (1 + dice.below(6), dice.below(40));
        let top = bottom + above;
        // Rounded down, so that the true delta at this float is no smaller than the oracle's.
        let epsilon = (top as f64 / bottom as f64).ln().next_down().next_down().max(0.0);
        let bound = bundle.delta(epsilon).unwrap();
        let mut largest = 0.0_f64;
        for forward in [true, false] {
            let truth = listed.delta((top.into(), bottom.into()), forward);
            assert!(at_least(bound, truth), "case {case}: {bound:e} is below {truth:?}: {bundle:?}");
            largest = largest.max(truth.0 as f64 / truth.1 as f64);
        }
        assert!(bound <= largest * (1.0 + 1e-12) + 1e-14, "case {case}: {bound} above {largest}: {bundle:?}");
    }
}

/// Refutes: "the atoms of a table hold at least their shares".
#[test]
fn masses_of_a_table_are_rounded_up() {
    let weights = [1, 3, 10, 37, 150, 650, 3_000, 15_000, 80_000, 450_000];
    let LossDistribution::Atoms(atoms) = Pair::table(&weights, 1).unwrap().forward.law else {
        panic!("not a table")
    };
    // The ratios rise too, so the atoms stand in the weights' order.
    let total: u64 = weights[1..].iter().sum();
    assert_eq!(atoms.len(), weights.len() - 1);
    for (atom, weight) in atoms.iter().zip(&weights[1..]) {
        assert!(at_least(atom.mass, (u128::from(*weight), u128::from(total))), "{weight}: {}", atom.mass);
    }
}

/// Refutes: "the integral is never below the list, and its epsilon within 10^-6", at deltas from 10^-2 down
/// to 10^-14. Kills: an untilted sum, a short period, a forgotten tail, a smoothing too wide.
#[test]
fn the_integral_agrees_with_the_list_from_above() {
    let mut dice = Dice(77);
    let mut compared = 0;
    for case in 0..400 {
        let mut uses: Vec<(LossDistribution, u64)> = Vec::new();
        for _ in 0..1 + dice.below(2) {
            uses.push(match dice.below(4) {
                0 => (
                    LossDistribution::Staircase { loss: dice.between(0.01, 2.0), steps: 1.0 },
                    1 + dice.below(300),
                ),
                1 => {
                    let steps = 2.0 + dice.below(30) as f64;
                    (LossDistribution::Staircase { loss: dice.between(0.1, 3.0), steps }, 1 + dice.below(20))
                }
                2 => (
                    LossDistribution::DiscreteGaussian { sigma: dice.between(0.7, 5.0), shift: 1.0 },
                    1 + dice.below(8),
                ),
                _ => {
                    let weights: Vec<u64> = (0..3 + dice.below(6)).map(|_| 1 + dice.below(1000)).collect();
                    (Pair::table(&weights, 1).unwrap().forward.law, 1 + dice.below(3))
                }
            });
        }
        let gaussian = if dice.below(3) == 0 { dice.between(0.001, 1.0) } else { 0.0 };
        let Some(list) = ExactLossDistribution::list(&uses, gaussian) else {
            continue;
        };
        compared += 1;
        let integral = Integral::new(&uses, gaussian);
        let delta = 10_f64.powf(dice.between(-14.0, -2.0));
        let epsilon = integral.epsilon(delta);
        let least = first_below(delta, 1.0, |epsilon| list.delta(epsilon));
        // The list's own losses are rounded up: good to 10^-13, its masses to 10^-11.
        let above = |epsilon: f64| list.delta(epsilon * (1.0 + 1e-13)).0 * (1.0 - 1e-11);
        assert!(above(epsilon) <= delta, "case {case}: at {epsilon} not yet {delta:e}: {uses:?} {gaussian}");
        assert!(epsilon <= least * (1.0 + 1e-6), "case {case}: {epsilon} for {least}: {uses:?} {gaussian}");
        assert!(integral.delta(least) >= above(least), "case {case}: delta at {least}: {uses:?} {gaussian}");
    }
    assert!(compared > 200, "only {compared} bundles were listed");
}
