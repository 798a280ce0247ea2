use std::collections::BTreeSet;

use super::*;
use crate::mechanisms::{Bound, Prepared, Tally};

fn variance(low: i64, high: i64, per_key: u64) -> Variance<u32> {
    let limits = Bound::keys(2).per_key(per_key).checked().unwrap();
    Variance::new(Range::new(low, high).unwrap(), limits, Keys::public([1]).unwrap()).unwrap()
}

fn exact(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / values.len() as f64
}

// Refutes a number that a person moves by more than is charged, and a charge that nobody reaches: all people with up to three
// records, of values on both sides of the ends of a range, beside a bound of two records.
#[test]
fn nobody_moves_a_number_by_more_than_is_charged_and_somebody_by_as_much() {
    for (low, high) in [(0, 3), (-2, 2), (0, 1)] {
        let variance = variance(low, high, 2);
        let values: Vec<i64> = (low - 1..=high + 1).collect();
        let mut people: Vec<Vec<i64>> = vec![vec![]];
        for size in 0..3 {
            let longer = people.iter().filter(|own| own.len() == size).flat_map(|own| {
                values.iter().map(|value| own.iter().copied().chain([*value]).collect::<Vec<i64>>())
            });
            people.extend(longer.collect::<Vec<_>>());
        }
        let mut most = [0u128; 3];
        for own in &people {
            let share = variance.contribution(own);
            let moved = [share.sums[0], share.sums[1], share.records.into()].map(i128::unsigned_abs);
            most = std::array::from_fn(|at| most[at].max(moved[at]));
        }
        assert_eq!(most, variance.sensitivities().map(Sensitivity::linf), "{low} to {high}");
        // In each of two keys.
        assert!(variance.sensitivities().iter().all(|moved| moved.l1() == 2 * moved.linf()));
    }
}

// Refutes a square that is rounded by more than half of a part, or beyond the largest.
#[test]
fn a_square_is_rounded_to_the_nearest_part() {
    let (part, wide) = (SQUARE as f64, 1_000_003i64);
    for value in [0, 1, 17, 250_000, 500_001, 500_002, 999_999, 1_000_003, -5, i64::MAX] {
        let [term, square] = variance(0, wide, 1).terms(value);
        let of = term as f64 / wide as f64;
        assert!((square as f64 - part * (2.0 * of * of - 1.0)).abs() <= 0.5 + 1e-6, "{value}");
        assert!(square.abs() <= i128::from(SQUARE));
    }
    assert_eq!(variance(0, 2, 1).terms(1), [0, -i128::from(SQUARE)]);
    assert_eq!(variance(0, 2, 1).terms(9), [2, i128::from(SQUARE)]);
    let wide = Range::new(0, (1 << 50) + 1).unwrap();
    assert_eq!(Variance::new(wide, ContributionBound::RECORD, Keys::whole()).unwrap_err().field(), "range");
    let widest = Range::new(-(1 << 50), 0).unwrap();
    let widest = Variance::new(widest, ContributionBound::RECORD, Keys::whole()).unwrap();
    assert_eq!(widest.terms(i64::MIN), [-(1 << 50), SQUARE.into()]);
}

// The noise of the largest budget is all but none: what is left is the exact variance. Refutes a middle that is added
// twice, a square that is not centred, and a decimal point that is moved once.
#[test]
fn with_next_to_no_noise_the_variance_is_the_exact_one() {
    for (low, high) in [(0, 1), (-3, 4), (10_000, 20_000), (-20, -7)] {
        let statistic = variance(low, high, 5).with_point(DecimalPoint::digits(2).unwrap());
        let prepared = Gaussian::rho(499.0).prepare(&statistic).unwrap();
        let mut random = NoiseSource::seeded(5);
        let mut tally = prepared.tally();
        let mut all = Vec::new();
        for _ in 0..2000 {
            let width = (high - low) as u64 + 4;
            let values: Vec<i64> =
                (0..1 + random.below(5)).map(|_| low - 2 + random.below(width) as i64).collect();
            all.extend(values.iter().map(|value| *value.clamp(&low, &high) as f64 / 100.0));
            tally.absorb((1, statistic.contribution(&values)));
        }
        let (_, released) = prepared.draw(tally, None, &mut random).answer.cells()[0];
        let (truth, most) = (exact(&all), ((high - low) as f64 / 200.0).powi(2));
        assert!((released.value() - truth).abs() < 1e-3 * most, "{} for {truth}", released.value());
        assert!(
            released.low() <= truth && truth <= released.high && released.high - released.low() < 0.02 * most
        );
    }
}

// By hand for 2 keys, 5 records and a width of 7 at rho .1: the count has .03, the sum .042 and the squares .028, at 5, 35 and
// 5 parts a key. A sum is in half units, and a part of a centred square an eighth of the squared width.
#[test]
fn three_numbers_share_the_cost_as_stated() {
    let near = |found: f64, truth: f64| assert!((found / truth - 1.0).abs() < 1e-9, "{found} {truth}");
    let prepared = Gaussian::rho(0.1).prepare(&variance(-3, 4, 5)).unwrap();
    let noise = prepared.noise();
    assert_eq!(noise.iter().map(Noised::number).collect::<Vec<_>>(), ["sum", "squares", "records"]);
    near(noise[0].scale(), 35.0 / 2.0 * 2f64.sqrt() / 0.084f64.sqrt());
    near(noise[1].scale(), 5.0 * 49.0 / 8.0 * 2f64.sqrt() / 0.056f64.sqrt());
    near(noise[2].scale(), 5.0 * 2f64.sqrt() / 0.06f64.sqrt());
    let pure = Laplace::epsilon(1.0).prepare(&variance(-3, 4, 5)).unwrap();
    near(pure.noise()[0].scale(), 70.0 / 2.0 / 0.42);
    near(pure.noise()[2].scale(), 10.0 / 0.3);
    // With one record a key the count is the number of people: its draw chooses keys, too.
    let limits = Bound::keys(2).checked().unwrap();
    let found = Variance::new(Range::new(-3, 4).unwrap(), limits, Keys::<u32>::discover(1e-6)).unwrap();
    near(Gaussian::rho(0.1).prepare(&found).unwrap().noise()[2].scale(), 2f64.sqrt() / 0.06f64.sqrt());
    // A person's records of other values move both sums by twice as much: 4 times 70 of 100 of rho.
    let factor = variance(-3, 4, 5).cut(30).factor(&crate::accounting::PrivacyCost::zcdp(0.1).unwrap(), true);
    assert!((2.8..2.81).contains(&(factor.0 as f64 / factor.1 as f64)), "{factor:?}");
}

// 4,000 windows of a known truth, alpha 1e-6 one-sided: at least 9 in 10 intervals hold it, and they refute a claim of 99.9 in
// 100 where noise is large beside the ends that no variance is beyond. None is wider than what is possible.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let mut numbers = BTreeSet::new();
    for (seed, people, values) in [(1, 400, [2, 9]), (2, 400, [10, 10]), (3, 6, [0, 10]), (4, 3000, [4, 5])] {
        let variance = variance(0, 10, 1);
        let prepared = Gaussian::rho(0.2).prepare(&variance).unwrap();
        let mut noise = NoiseSource::seeded(seed);
        let truth = exact(&values.map(|value| value as f64));
        let held = (0..4000).filter(|_| {
            let mut exact = prepared.tally();
            (0..people).for_each(|at| exact.absorb((1, variance.contribution(&[values[at % 2]]))));
            let drawn = prepared.draw(exact, None, &mut noise);
            let (_, released) = drawn.answer.cells()[0];
            assert!(0.0 <= released.low() && released.low() <= released.value());
            assert!(released.value() <= released.high && released.high <= 25.0);
            numbers.insert((released.high - released.low()) as i64);
            released.low() <= truth && truth <= released.high
        });
        let held = held.count();
        assert!(held as f64 > 4000.0 * 0.9 - 4.753 * (4000.0 * 0.09f64).sqrt(), "{held} of 4000");
    }
    assert!(numbers.len() > 10, "all intervals are as wide: {numbers:?}");
}

// By hand: 2,000 records at the ends of a range of 10 at rho .2. The mean is the middle, so the sum hardly counts: what is outside
// is left to the squares, sigma = sqrt 2 / sqrt (.4 .28) = 4.226 largest ones, within 2.128 sigma, a third of a tenth: 8.99 of 2,000
// to one side, halved, of the variance of 25.
#[test]
fn each_number_has_a_third_of_what_may_be_outside() {
    let variance = variance(0, 10, 1);
    let prepared = Gaussian::rho(0.2).prepare(&variance).unwrap();
    let mut exact = prepared.tally();
    (0..2000).for_each(|at| exact.absorb((1, variance.contribution(&[5 + 5 * (at % 2)]))));
    let reaches = prepared.reaches();
    // In squared units, of which half of the largest square is 12.5.
    assert!((reaches[1] / 12.5 / 8.99 - 1.0).abs() < 0.01, "{reaches:?}");
    let (_, released) = prepared.draw(exact, None, &mut NoiseSource::seeded(1)).answer.cells()[0];
    assert!((0.1..0.5).contains(&(released.high - released.low())), "{released:?}");
}

// Refutes an answer about nobody that is narrower than what is possible.
#[test]
fn nothing_is_known_of_nobody() {
    let prepared = Gaussian::rho(499.0).prepare(&variance(0, 10, 1)).unwrap();
    let (_, released) = prepared.draw(prepared.tally(), None, &mut NoiseSource::seeded(1)).answer.cells()[0];
    assert_eq!((released.low(), released.high), (0.0, 25.0));
}
