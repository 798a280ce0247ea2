use super::super::ends::BOTH_ENDS;
use super::*;
use crate::accounting::{BudgetUnits, PrivacyCost};
use crate::mechanisms::{
    Bound, Cell, ContributionBound, Gaussian, Keys, Laplace, Mechanism, Prepared, Range, Tally,
};

fn mean(low: i64, high: i64, per_key: u64, keys: Keys<u32>) -> Mean<u32> {
    let limits = Bound::keys(2).per_key(per_key).checked().unwrap();
    Mean::new(Range::new(low, high).unwrap(), limits, keys).unwrap()
}

fn public() -> Keys<u32> {
    Keys::public([1, 2]).unwrap()
}

fn share(mean: &Mean<u32>, values: &[i64]) -> Cell {
    mean.contribution(values.len() as u64, values.iter().map(|&value| mean.term(value)).sum())
}

// The noise of the largest budget is all but none: what is left is the exact mean, whose sum of an odd range
// is in half units. Refutes a lost half, a middle that is added twice, and a sum released as a mean.
#[test]
fn with_next_to_no_noise_the_mean_is_the_exact_one() {
    for (low, high) in [(0, 1), (-3, 4), (10, 20), (-20, -7)] {
        let mean = mean(low, high, 5, public());
        let prepared = Gaussian::rho(499.0).prepare(&mean).unwrap();
        let mut random = NoiseSource::seeded(5);
        let mut exact = prepared.tally();
        let (mut sum, mut count) = (0, 0);
        for _ in 0..2000 {
            let width = (high - low) as u64 + 20;
            let values: Vec<i64> =
                (0..1 + random.below(5)).map(|_| low - 10 + random.below(width) as i64).collect();
            sum += values.iter().map(|value| value.clamp(&low, &high)).sum::<i64>();
            count += values.len();
            exact.absorb((1, share(&mean, &values)));
        }
        let drawn = prepared.draw(exact, None, &mut random);
        let [(1, released), (2, nobody)] = drawn.answer.cells() else { panic!() };
        let truth = sum as f64 / count as f64;
        assert!((released.value() - truth).abs() < 1e-3, "{} for {truth}", released.value());
        assert!(released.low() <= truth && truth <= released.high && released.high - released.low() < 0.1);
        assert!(low as f64 <= nobody.low() && nobody.high <= high as f64);
        assert_eq!(drawn.state, None);
    }
}

// By hand for 2 keys, 5 records and a width of 7 at rho .1: the count has .03, sigma = 5 sqrt 2 / sqrt .06;
// the sum has .07 at 35 a key in half units, sigma = 35 sqrt 2 / sqrt .14 of them, and half of it in whole
// ones.
#[test]
fn sum_and_count_share_the_cost_as_stated() {
    let scales = |mechanism: &Gaussian, mean: &Mean<u32>| -> Vec<f64> {
        mechanism.prepare(mean).unwrap().noise().iter().map(Noised::scale).collect()
    };
    let near = |found: f64, truth: f64| assert!((found / truth - 1.0).abs() < 1e-9, "{found} {truth}");
    let found = scales(&Gaussian::rho(0.1), &mean(-3, 4, 5, public()));
    near(found[0], 35.0 * 2f64.sqrt() / 0.14f64.sqrt() / 2.0);
    near(found[1], 5.0 * 2f64.sqrt() / 0.06f64.sqrt());
    // Half each; and with keys to discover a third of it all, .033, to find them first, and all of it from then on.
    let found = scales(&Gaussian::rho(0.1).counting(50), &mean(-3, 4, 5, public()));
    near(found[1], 5.0 * 2f64.sqrt() / 0.1f64.sqrt());
    let discovered = Gaussian::rho(0.1).selecting(33).prepare(&mean(-3, 4, 5, Keys::discover(1e-6))).unwrap();
    let of_found = discovered.noise_of_found().unwrap();
    near(of_found[1].scale(), 5.0 * 2f64.sqrt() / (2.0 * 0.067 * 0.3f64).sqrt());
    near(discovered.noise()[1].scale(), 5.0 * 2f64.sqrt() / 0.06f64.sqrt());
    // With one record a key the count is the number of people: its draw finds the key too, with half of the price.
    let shared = Gaussian::rho(0.1).prepare(&mean(-3, 4, 1, Keys::discover(1e-6))).unwrap();
    near(shared.noise()[1].scale(), 2f64.sqrt() / 0.06f64.sqrt());
    let of_found = shared.noise_of_found().unwrap();
    near(of_found[1].scale(), 2f64.sqrt() / 0.1f64.sqrt());
    near(of_found[0].scale(), 7.0 * 2f64.sqrt() / 0.1f64.sqrt() / 2.0);
    let more = Gaussian::rho(0.1).counting(80).prepare(&mean(-3, 4, 1, Keys::discover(1e-6))).unwrap();
    near(more.noise_of_found().unwrap()[1].scale(), 2f64.sqrt() / 0.16f64.sqrt());
    assert_eq!(shared.noise()[1].number(), "records");
    let (rho, delta) = (
        BudgetUnits::at_least_float("rho", 0.1).unwrap(),
        BudgetUnits::at_least_float("delta", 1e-6).unwrap(),
    );
    for cost in [discovered.cost(), shared.cost()] {
        assert!(
            matches!(cost.amount(), PrivacyCost::Zcdp { rho: r, delta: d, .. } if (*r, *d) == (rho, delta))
        );
    }
    let pure = Laplace::epsilon(1.0).counting(30).prepare(&mean(-3, 4, 5, public())).unwrap();
    near(pure.noise()[0].scale(), 70.0 / 0.7 / 2.0);
    near(pure.noise()[1].scale(), 10.0 / 0.3);
}

// By hand for 2 keys, 5 records and a width of 7: a person moves both sums by 70 together.
#[test]
fn both_sums_of_distances_have_the_noise_of_one() {
    let near = |found: f64, truth: f64| assert!((found / truth - 1.0).abs() < 1e-9, "{found} {truth}");
    let laplace = Laplace::epsilon(2.0);
    let pure = laplace.prepare(&mean(-3, 4, 5, public())).unwrap();
    assert_eq!([0, 1].map(|at| pure.noise()[at].number()), BOTH_ENDS);
    near(pure.noise()[0].scale(), 70.0 / 2.0);
    near(pure.noise()[1].scale(), 70.0 / 2.0);
    // A key that is found by the count of its records has a sum beside it in that window alone.
    let shared = laplace.prepare(&mean(-3, 4, 1, Keys::discover(1e-6))).unwrap();
    assert_eq!([0, 1].map(|at| shared.noise()[at].number()), BOTH_ENDS);
    assert_eq!(shared.noise_of_found().unwrap()[1].number(), "records");
    // One that is found apart has not.
    let apart = laplace.prepare(&mean(-3, 4, 5, Keys::discover(1e-6))).unwrap();
    near(apart.noise_of_found().unwrap()[0].scale(), 70.0);
    assert_eq!(apart.noise_of_found().unwrap()[0].number(), BOTH_ENDS[0]);
    let limits = Bound::keys(2).weight(1, crate::mechanisms::Norm::L1).checked().unwrap();
    let weighted = Mean::new(Range::new(-3, 4).unwrap(), limits, public()).unwrap();
    assert_eq!(laplace.prepare(&weighted).unwrap().noise()[0].number(), "sum");
    // Whoever continues a ledger continues one mechanism.
    let stated = laplace.clone().counting(30).prepare(&mean(-3, 4, 5, public())).unwrap();
    assert_ne!(pure.parameters(), stated.parameters());
}

// 4,000 windows of a known truth, alpha 1e-6 one-sided: at least 9 in 10 intervals hold it, near the middle
// of the range, at its end, and with few records.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    for (seed, people, value) in [(1, 400, 4), (2, 400, 10), (3, 6, 1)] {
        let mean = mean(0, 10, 1, Keys::public([1]).unwrap());
        let prepared = Gaussian::rho(0.2).prepare(&mean).unwrap();
        let mut noise = NoiseSource::seeded(seed);
        let held = (0..4000).filter(|_| {
            let mut exact = prepared.tally();
            (0..people).for_each(|_| exact.absorb((1, share(&mean, &[value]))));
            let drawn = prepared.draw(exact, None, &mut noise);
            let (_, released) = drawn.answer.cells()[0];
            assert!(0.0 <= released.low() && released.low() <= released.value());
            assert!(released.value() <= released.high && released.high <= 10.0);
            released.low() <= value as f64 && value as f64 <= released.high
        });
        let held = held.count();
        assert!(held as f64 > 4000.0 * 0.9 - 4.753 * (4000.0 * 0.09f64).sqrt(), "{held} of 4000");
    }
}

// By hand: of rho .2 the sum has .14, sigma = 10 sqrt 2 / sqrt .28 = 26.7 half units. Half of what may be
// outside is its own, so it is inside 1.96 sigma, which a thousand records make .0524 to either side
// together; the count adds a hundredth of that. With all of it for each, 1.645 sigma, it would be .044.
#[test]
fn sum_and_count_have_half_each_of_what_may_be_outside() {
    let mean = mean(0, 10, 1, Keys::public([1]).unwrap());
    let prepared = Gaussian::rho(0.2).prepare(&mean).unwrap();
    for seed in 0..20 {
        let mut exact = prepared.tally();
        (0..1000).for_each(|_| exact.absorb((1, share(&mean, &[5]))));
        let (_, released) = prepared.draw(exact, None, &mut NoiseSource::seeded(seed)).answer.cells()[0];
        let width = released.high - released.low();
        assert!((0.050..0.056).contains(&width), "{width}");
    }
}

#[test]
fn a_mean_over_a_whole_range_of_64_bits_is_refused_and_one_of_40_is_not() {
    let of =
        |high: i64| Mean::new(Range::new(0, high).unwrap(), ContributionBound::RECORD, public()).unwrap();
    assert_eq!(Gaussian::rho(0.1).prepare(&of(i64::MAX)).unwrap_err().field(), "sensitivity");
    assert!(Gaussian::rho(1.0).prepare(&of(1 << 38)).is_ok());
}

// Refutes an interval of no width at an end of the range, of a mean whose noise is farther out than the interval is for.
#[test]
fn an_interval_that_misses_the_range_is_all_of_it() {
    let range = Range::new(0, 10).unwrap();
    let about = |value: i128, off: i128| Estimate::between(value - off, value, value + off);
    // Half units from the middle: 10 records of 10 have 100.
    let mean = |sum: i128| divided(&range, &about(sum, 20), &about(10, 1), [1; 2]);
    let ends = |mean: Estimate<f64>| (mean.low, mean.value, mean.high);
    assert_eq!(ends(mean(150)), (0.0, 10.0, 10.0));
    assert_eq!(ends(mean(-150)), (0.0, 0.0, 10.0));
    let near = ends(mean(120));
    assert!(near.0 > 9.0 && near.0 < 10.0 && near.1 == 10.0 && near.2 == 10.0, "{near:?}");
    // Nothing but the noise is left out: an end that is the truth is an interval.
    assert_eq!(ends(divided(&range, &about(100, 0), &about(10, 0), [1; 2])), (10.0, 10.0, 10.0));
}

/// The cost of one key that a person moves by these distances, under noises of these scales.
fn key_cost(prepared: &NoisyMeans<u32>, noise: &[Noised], (records, width): (f64, f64)) -> f64 {
    let is_gaussian = prepared.noise()[0].kind() == "gaussian";
    let cost = |by: f64, scale: f64| if is_gaussian { (by / scale).powi(2) / 2.0 } else { by / scale };
    match noise[0].number() {
        // In half units.
        "sum" => cost(records * width, 2.0 * noise[0].scale()) + cost(records, noise[1].scale()),
        // The distances of a record add up to the width, and one of both is all of it at an end.
        _ => cost(records * width, noise[0].scale().min(noise[1].scale())),
    }
}

// Refutes numbers of public keys, or of keys that are found, at more than what selection leaves of the price; and
// a price of which something is unused.
#[test]
fn public_and_found_keys_cost_no_more_than_their_part() {
    for per_key in [1, 5] {
        let mean = mean(0, 10, per_key, Keys::discover(1e-6));
        let laplace = Laplace::epsilon(0.3);
        let prepared = [
            Gaussian::rho(0.3).prepare(&mean).unwrap(),
            laplace.clone().counting(40).prepare(&mean).unwrap(),
            laplace.prepare(&mean).unwrap(),
        ];
        for prepared in prepared {
            let cost = |noise: &[Noised]| 2.0 * key_cost(&prepared, noise, (per_key as f64, 10.0));
            let found = if per_key == 1 { 0.3 } else { 0.15 };
            for (part, of) in [(0.3, prepared.noise()), (found, prepared.noise_of_found().unwrap())] {
                let cost = cost(of);
                assert!(
                    cost <= part * (1.0 + 1e-9) && cost > part * 0.999_999,
                    "{per_key}: {cost} of {part}"
                );
            }
        }
    }
}
