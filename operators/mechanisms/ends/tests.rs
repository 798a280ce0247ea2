use super::*;
use crate::accounting::{BudgetUnits, PrivacyCost};
use crate::mechanisms::additive::Family;
use crate::mechanisms::spend::Spend;
use crate::mechanisms::{Bound, Keys, Laplace, Mean, Mechanism, Prepared, Sensitivity, Tally};
use proptest::prelude::*;

/// Both sums with Laplace noise of this scale, at most, for a move by `width`.
fn ends(scale: f64, width: u128, confidence: f64) -> BothEnds {
    let moved = Sensitivity::each(&Bound::keys(1).checked().unwrap(), width).unwrap();
    let spend = Spend::Pure(BudgetUnits::at_least_float("epsilon", width as f64 / scale).unwrap());
    BothEnds::new(Additive::within(Family::Laplace, spend, &moved).unwrap(), confidence, None).unwrap()
}

// The probability by adding up the laws of two discrete draws of a fine scale, and by hand at the ends and in the middle.
#[test]
fn the_quantile_of_two_draws_is_that_of_their_law() {
    for u in [0.1f64, 1.0, 2.3, 7.0] {
        assert!((beyond_of_two(0.0, u) - (-u).exp()).abs() < 1e-15);
        assert!((beyond_of_two(0.5, u) - (1.0 + u) * (-2.0 * u).exp()).abs() < 1e-15, "{u}");
        assert!((beyond_of_two(0.5 + 1e-7, u) / beyond_of_two(0.5, u) - 1.0).abs() < 1e-6);
    }
    let scale = 60.0;
    let law = |k: i32| {
        let factor = (-1.0f64 / scale).exp();
        (1.0 - factor) / (1.0 + factor) * factor.powi(k.abs())
    };
    for fraction in [0.02, 0.1, 0.3, 0.49, 0.5, 0.77] {
        let u = quantile_of_two(fraction, 0.1);
        assert!((beyond_of_two(fraction, u) - 0.1).abs() < 1e-9);
        let mut beyond = 0.0;
        for x in -1200..=1200 {
            for y in -1200..=1200 {
                let off = (1.0 - fraction) * f64::from(x) - fraction * f64::from(y);
                beyond += if off.abs() > u * scale { law(x) * law(y) } else { 0.0 };
            }
        }
        assert!((beyond - 0.1).abs() < 0.003, "{fraction}: {beyond}");
    }
}

// Refutes points that a chord is not above, and so an interval that is too narrow between them.
#[test]
fn chords_are_above_the_quantile_and_near_it() {
    for outside in [0.5, 0.1, 0.01, 1e-6] {
        let points: Vec<f64> =
            (0..=POINTS).map(|at| quantile_of_two(at as f64 / POINTS as f64, outside)).collect();
        for step in 0..POINTS * 10 {
            let at = step as f64 / 10.0;
            let (before, part) = (step / 10, at.fract());
            let chord = points[before] * (1.0 - part) + points[before + 1] * part;
            let exact = quantile_of_two(at / POINTS as f64, outside);
            assert!(chord >= exact * (1.0 - 1e-12) && chord <= exact * 1.002, "{at}: {chord} {exact}");
        }
        assert!(points[0] >= points[POINTS / 2] && (points[0] + outside.ln()).abs() < 1e-9);
    }
}

// Exactly, by adding up both discrete laws: refutes an interval that holds less often than it says, for coarse and fine
// noise, and one that is much wider than it has to be.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let range = Range::new(0, 10).unwrap();
    for (scale, confidence) in [(0.7, 0.9), (2.0, 0.5), (2.0, 0.9), (12.0, 0.9), (25.0, 0.99)] {
        let ends = ends(scale, 10, confidence);
        let factor = (-1.0 / ends.column.noise().scale()).exp();
        let law = |k: i128| (1.0 - factor) / (1.0 + factor) * factor.powi(k.unsigned_abs() as i32);
        let most = (scale * 16.0) as i128 + 4;
        for (records, sum) in [(40i128, 0i128), (40, 3), (40, 200), (40, 371), (7, 70), (1, 4)] {
            let truth = sum as f64 / records as f64;
            let mut held = 0.0;
            for x in -most..=most {
                for y in -most..=most {
                    let found = ends.mean(&range, [sum + x, 10 * records - sum + y]);
                    assert!(0.0 <= found.low && found.low <= found.value && found.value <= found.high);
                    assert!(found.high <= 10.0);
                    if found.low <= truth + 1e-9 && truth - 1e-9 <= found.high {
                        held += law(x) * law(y);
                    }
                }
            }
            let name = (scale, confidence, records, sum);
            assert!(held >= confidence - 1e-6, "{name:?}: {held}");
            // At an end of the range, noise to the outside leaves the interval at the truth.
            assert!(sum != 200 || scale < 10.0 || held < confidence + 0.02, "{name:?}: {held}");
        }
    }
}

// By hand of 1,000 records at each of three places: 90% of |X| are below 2.303 scales, of |X - Y| / 2 below 1.636. Refutes
// an interval of the wrong end, and one by the box alone.
#[test]
fn an_interval_is_narrower_in_the_middle() {
    let range = Range::new(0, 100).unwrap();
    let ends = ends(1_000.0, 100, 0.9);
    for (above, quantile) in [(0, 10f64.ln()), (50_000, 1.6359), (100_000, 10f64.ln())] {
        let found = ends.mean(&range, [above, 100_000 - above]);
        assert_eq!(found.value, above as f64 / 1_000.0);
        let to_middle = if above == 100_000 { found.value - found.low } else { found.high - found.value };
        let (inside, sides) = (to_middle / 100.0, quantile * 1_000.0 / 100_000.0);
        // Beside an end the quantile falls a little on the way.
        assert!(inside <= sides * 1.003 && inside > sides * 0.96, "{above}: {inside} {sides}");
    }
    let errors = ends.errors(&range, DecimalPoint::WHOLE);
    assert!((errors[0] / 1_636.9 - 1.0).abs() < 1e-3, "{errors:?}");
    assert!(((errors[0] + 50.0 * errors[1]) / 2_303.6 - 1.0).abs() < 1e-3, "{errors:?}");
}

// Refutes an end of a range that swallows a value, and sums of nobody from which something is said.
#[test]
fn nothing_is_known_of_nobody_nor_of_noise_that_is_far_out() {
    let range = Range::new(-5, 5).unwrap();
    let ends = ends(20.0, 10, 0.9);
    let mean = |sums| {
        let found = ends.mean(&range, sums);
        (found.low, found.value, found.high)
    };
    assert_eq!(mean([0, 0]), (-5.0, 0.0, 5.0));
    assert_eq!(mean([-30, 20]), (-5.0, -5.0, 5.0));
    assert_eq!(mean([1, -1]), (-5.0, 1.0, 5.0));
    assert_eq!(mean([10_000, -60]), (-5.0, 5.0, 5.0));
    assert_eq!(mean([-60, 10_000]), (-5.0, -5.0, 5.0));
    let near = mean([10_000, -40]);
    assert!(near.0 > 4.9 && near.1 == 5.0 && near.2 == 5.0, "{near:?}");
    assert_eq!(mean([i128::MAX, i128::MAX]).1, 0.0);
}

// The noise of a large budget is next to none: what is left are the exact distances, of ranges as odd as even.
#[test]
fn the_sums_are_those_of_both_distances() {
    for (low, high, values) in
        [(-3i64, 4i64, vec![-3i64, 4, 4, 0]), (0, 1, vec![1]), (10, 20, vec![13, 30, -1]), (-7, -2, vec![-2])]
    {
        let limits = Bound::keys(1).per_key(9).checked().unwrap();
        let mean = Mean::new(Range::new(low, high).unwrap(), limits, Keys::public([1]).unwrap()).unwrap();
        let prepared = Laplace::epsilon(499.0).prepare(&mean).unwrap();
        let mut exact = prepared.tally();
        let sum = values.iter().map(|value| mean.term(*value)).sum();
        for _ in 0..5_000 {
            exact.absorb((1, mean.contribution(values.len() as u64, sum)));
        }
        let truth =
            values.iter().map(|value| (*value).clamp(low, high)).sum::<i64>() as f64 / values.len() as f64;
        let (_, found) = prepared.draw(exact, None, &mut NoiseSource::seeded(4)).answer.cells()[0];
        assert!((found.value - truth).abs() < 1e-3, "{} {truth}", found.value);
        assert!(found.low <= truth && truth <= found.high && found.high - found.low < 0.01);
    }
}

// By trying all records of a person in two keys, before and after. Refutes the price of a whole person, and in zCDP a
// cell that moves farther than that of a whole person, for which its convexity says nothing.
#[test]
fn a_part_of_a_person_moves_both_sums_by_no_more_than_is_charged() {
    let (width, limits) = (3i128, Bound::keys(2).per_key(2).checked().unwrap());
    let mean = Mean::new(Range::new(0, 3).unwrap(), limits, Keys::public([1, 2]).unwrap()).unwrap();
    let of_key = || (0..=2i128).flat_map(|records| (0..=records * width).map(move |above| (records, above)));
    let all: Vec<[i128; 4]> = of_key()
        .flat_map(|one| of_key().map(move |other| (one, other)))
        .map(|((n, a), (m, b))| [a, n * width - a, b, m * width - b])
        .collect();
    let (mut most, mut farthest) = (0, 0);
    for before in &all {
        for after in &all {
            let moves = [0, 1, 2, 3].map(|at| before[at].abs_diff(after[at]));
            most = most.max(moves.iter().sum());
            farthest = farthest.max(*moves.iter().max().unwrap());
        }
    }
    let whole = mean.sum_sensitivity();
    assert_eq!((most, farthest), (2 * whole.l1(), whole.linf()));
    let cut = mean.cut(None);
    for amount in [PrivacyCost::pure(0.5).unwrap(), PrivacyCost::zcdp(0.5).unwrap()] {
        assert_eq!(cut.factor(&amount, false), (2 * 4_096, 4_096));
    }
    // Where a count finds keys, a sum beside it moves by two steps.
    let found = Mean::new(Range::new(0, 3).unwrap(), limits, Keys::<u32>::discover(1e-6)).unwrap().cut(None);
    assert_eq!(found.factor(&PrivacyCost::zcdp(0.5).unwrap(), false), (4 * 4_096, 4_096));
}

proptest! {
    // The whole sum of every cell is split, without a step that is lost or invented.
    #[test]
    fn distances_add_up(records in 0u64..1 << 40, width in 1u64..1 << 30, part in 0.0f64..=1.0) {
        let above = ((u128::from(records) * u128::from(width)) as f64 * part) as i128;
        let all = i128::from(records) * i128::from(width);
        let above = above.min(all);
        let cell = Cell { people: 1, records, sum: 2 * above - all };
        let range = Range::new(0, width as i64).unwrap();
        prop_assert_eq!(distances(&range, &cell), [above, all - above]);
    }
}
