use super::*;
use crate::mechanisms::{Bound, Prepared, Tally};

fn ratio([upper, lower]: [(i64, i64); 2], per_key: u64) -> Ratio<u32> {
    let limits = Bound::keys(2).per_key(per_key).checked().unwrap();
    let ranges = [upper, lower].map(|(low, high)| Range::new(low, high).unwrap());
    Ratio::new(ranges, limits, Keys::public([1]).unwrap()).unwrap()
}

fn near(found: f64, truth: f64) {
    assert!((found / truth - 1.0).abs() < 1e-9, "{found} {truth}");
}

// Refutes a sum that a person moves by more than is charged, and a charge that nobody reaches: all people with up to three
// records, of values on both sides of the ends of both ranges, beside a bound of two records.
#[test]
fn nobody_moves_a_sum_by_more_than_is_charged_and_somebody_by_as_much() {
    for ranges in [[(0, 3), (-1, 2)], [(-2, 1), (1, 2)], [(-4, -3), (-1, 0)]] {
        let ratio = ratio(ranges, 2);
        let values = |(low, high): (i64, i64)| low - 1..=high + 1;
        let records: Vec<(i64, i64)> =
            values(ranges[0]).flat_map(|of| values(ranges[1]).map(move |per| (of, per))).collect();
        let mut people: Vec<Vec<(i64, i64)>> = vec![vec![]];
        for size in 0..3 {
            let longer = people.iter().filter(|own| own.len() == size).flat_map(|own| {
                records.iter().map(|record| own.iter().copied().chain([*record]).collect::<Vec<_>>())
            });
            people.extend(longer.collect::<Vec<_>>());
        }
        let mut most = [0u128; 2];
        for own in &people {
            let moved = ratio.contribution(own).sums.map(i128::unsigned_abs);
            most = std::array::from_fn(|at| most[at].max(moved[at]));
        }
        assert_eq!(most, ratio.sensitivities().map(Sensitivity::linf), "{ranges:?}");
        // In each of two keys.
        assert!(ratio.sensitivities().iter().all(|moved| moved.l1() == 2 * moved.linf()));
        assert_eq!(ratio.sensitivity().l2_squared(), 2 * (most[0] * most[0] + most[1] * most[1]));
    }
}

// Refutes a part of a person that costs less than the farthest of two sets of records that it may have: by brute force over the
// sums of two records each, the squared distance of two people over that of one, in the scales of the noise.
#[test]
fn a_part_of_a_person_costs_at_least_what_an_exchange_of_records_does() {
    for ranges in [[(-2, 2), (0, 3)], [(0, 3), (-1, 2)], [(1, 3), (0, 2)]] {
        let ratio = ratio(ranges, 2);
        let [upper, lower] = ratio.sensitivities().map(|moved| moved.linf() as f64);
        let records: Vec<(i64, i64)> = ([ranges[0].0, ranges[0].1].into_iter())
            .flat_map(|of| [(of, ranges[1].0), (of, ranges[1].1)])
            .collect();
        let mut people = vec![ratio.contribution(&[])];
        for one in &records {
            people.push(ratio.contribution(&[*one]));
            people.extend(records.iter().map(|two| ratio.contribution(&[*one, *two])));
        }
        let squared = |one: &PairSums, two: &PairSums| {
            let [of, per] = std::array::from_fn(|at| (one.sums[at] - two.sums[at]) as f64);
            0.5 * (of / upper).powi(2) + 0.5 * (per / lower).powi(2)
        };
        let farthest =
            people.iter().map(|one| people.iter().map(|two| squared(one, two)).fold(0.0, f64::max));
        let farthest = farthest.fold(0.0, f64::max);
        let (factor, one) = ratio.cut().factor(&crate::accounting::PrivacyCost::zcdp(0.1).unwrap(), true);
        assert!(farthest <= factor as f64 / one as f64, "{ranges:?} {farthest} {factor}");
    }
    // Beside values of both signs it is four times as much, and of values of one sign no more than of the whole.
    let factor =
        |ranges| ratio(ranges, 2).cut().factor(&crate::accounting::PrivacyCost::zcdp(0.1).unwrap(), true).0;
    assert_eq!([factor([(-2, 2), (0, 3)]), factor([(0, 3), (0, 3)])], [4 * 4096, 4096]);
}

// The noise of the largest budget is all but none: what is left is the exact ratio. Refutes sums that are exchanged, and a
// decimal point that is moved the wrong way.
#[test]
fn with_next_to_no_noise_the_ratio_is_the_exact_one() {
    for ranges in [[(0, 100), (0, 20)], [(-30, 40), (5, 9)], [(-20, -7), (-9, -1)], [(0, 100), (-1, 1000)]] {
        let points = [2, 1].map(|digits| DecimalPoint::digits(digits).unwrap());
        let statistic = ratio(ranges, 5).with_points(points);
        let prepared = Gaussian::rho(499.0).prepare(&statistic).unwrap();
        let mut random = NoiseSource::seeded(5);
        let mut tally = prepared.tally();
        let mut all = [0.0; 2];
        for _ in 0..2000 {
            let count = 1 + random.below(5);
            let mut value = |(low, high): (i64, i64)| low - 2 + random.below((high - low) as u64 + 4) as i64;
            let records: Vec<(i64, i64)> = (0..count).map(|_| (value(ranges[0]), value(ranges[1]))).collect();
            for (of, per) in &records {
                all[0] += *(of.clamp(&ranges[0].0, &ranges[0].1)) as f64 / 100.0;
                all[1] += *(per.clamp(&ranges[1].0, &ranges[1].1)) as f64 / 10.0;
            }
            tally.absorb((1, statistic.contribution(&records)));
        }
        let (_, released) = prepared.draw(tally, None, &mut random).answer.cells()[0];
        let truth = all[0] / all[1];
        assert!((released.value() / truth - 1.0).abs() < 2e-3, "{} for {truth}", released.value());
        assert!(released.low() <= truth && truth <= released.high, "{released:?} {truth}");
        assert!((released.high - released.low()).abs() < 0.02 * truth.abs(), "{released:?}");
    }
}

// By hand for 2 keys, 5 records and ends of 7 and 20 at rho .1: each sum has .05, at 35 and 100 a key.
#[test]
fn two_sums_share_the_cost_in_halves() {
    let prepared = Gaussian::rho(0.1).prepare(&ratio([(-3, 7), (0, 20)], 5)).unwrap();
    let noise = prepared.noise();
    assert_eq!(noise.iter().map(Noised::number).collect::<Vec<_>>(), SUMS);
    near(noise[0].scale(), 35.0 * 2f64.sqrt() / 0.1f64.sqrt());
    near(noise[1].scale(), 100.0 * 2f64.sqrt() / 0.1f64.sqrt());
    let pure = Laplace::epsilon(1.0).prepare(&ratio([(-3, 7), (0, 20)], 5)).unwrap();
    near(pure.noise()[0].scale(), 70.0 / 0.5);
    near(pure.noise()[1].scale(), 200.0 / 0.5);
    // A ratio counts nobody: half of a key's price finds it, both sums have the rest, and all of it from then on.
    let limits = Bound::keys(2).checked().unwrap();
    let ranges = [Range::new(0, 7).unwrap(), Range::new(0, 20).unwrap()];
    let found = Ratio::new(ranges, limits, Keys::<u32>::discover(1e-6)).unwrap();
    let found = Gaussian::rho(0.1).prepare(&found).unwrap();
    near(found.noise()[0].scale(), 7.0 * 2f64.sqrt() / 0.1f64.sqrt());
    near(found.noise_of_found().unwrap()[0].scale(), 7.0 * 2f64.sqrt() / 0.05f64.sqrt());
    assert!(found.threshold().is_some());
}

// 4,000 windows of a known truth, alpha 1e-6 one-sided: at least 9 in 10 intervals hold it, where the lower sum is far from
// zero, near it, and of both signs; and those without an end say that they have none.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let cases = [
        (1, 400, [(0, 10), (0, 20)], (3, 4)),
        (2, 60, [(-10, 10), (1, 20)], (-7, 2)),
        (3, 6, [(0, 10), (0, 20)], (10, 3)),
        (4, 300, [(0, 10), (-20, 20)], (5, -6)),
        (5, 40, [(0, 10), (-20, -1)], (5, -6)),
    ];
    let mut open = Vec::new();
    for (seed, people, ranges, (of, per)) in cases {
        let ratio = ratio(ranges, 1);
        let prepared = Gaussian::rho(0.2).prepare(&ratio).unwrap();
        let mut noise = NoiseSource::seeded(seed);
        let truth = of as f64 / per as f64;
        let mut without = 0;
        let held = (0..4000).filter(|_| {
            let mut exact = prepared.tally();
            (0..people).for_each(|_| exact.absorb((1, ratio.contribution(&[(of, per)]))));
            let (_, released) = prepared.draw(exact, None, &mut noise).answer.cells()[0];
            assert!(released.value().is_finite());
            assert!(released.low() <= released.value() && released.value() <= released.high);
            without += u32::from(released.low().is_infinite());
            assert_eq!(released.low().is_infinite(), released.high.is_infinite());
            released.low() <= truth && truth <= released.high
        });
        let held = held.count();
        assert!(held as f64 > 4000.0 * 0.9 - 4.753 * (4000.0 * 0.09f64).sqrt(), "{held} of 4000");
        open.push(without);
    }
    // Six people are too few, and a lower value that is never 0 bounds every ratio.
    assert!(open[0] == 0 && open[2] > 3000 && open[1] == 0 && open[4] == 0, "{open:?}");
}

// By hand: 2,000 records of 5 and 10 at rho .2. Sigma is sqrt 2 / sqrt(.4 .5) = 3.162 largest ones; half of a tenth is within
// 1.96 sigma, 61.98 of 10 and 123.96 of 20: of sums of 10,000 and 20,000, each 0.62 percent, so 1.24 of the ratio to each side.
#[test]
fn each_sum_has_half_of_what_may_be_outside() {
    let ratio = ratio([(0, 10), (0, 20)], 1);
    let prepared = Gaussian::rho(0.2).prepare(&ratio).unwrap();
    let mut exact = prepared.tally();
    (0..2000).for_each(|_| exact.absorb((1, ratio.contribution(&[(5, 10)]))));
    let reaches = prepared.reaches();
    assert!((reaches[0] / 62.0 - 1.0).abs() < 0.03 && (reaches[1] / 124.0 - 1.0).abs() < 0.03, "{reaches:?}");
    let (_, released) = prepared.draw(exact, None, &mut NoiseSource::seeded(1)).answer.cells()[0];
    let width = (released.high - released.low()) / 2.0 / 0.5;
    assert!((0.0115..0.0135).contains(&width), "{width} {released:?}");
}

// Refutes an answer about nobody that is narrower than what is possible, and a value that is no number.
#[test]
fn nothing_is_known_of_nobody() {
    let none = (f64::NEG_INFINITY, f64::INFINITY);
    for (ranges, ends) in [
        ([(0, 10), (0, 20)], none),
        ([(0, 10), (-5, 20)], none),
        ([(2, 10), (4, 20)], (0.1, 2.5)),
        ([(-2, 10), (4, 20)], (-0.5, 2.5)),
        ([(-2, 10), (-20, -4)], (-2.5, 0.5)),
        // A ratio to a number that may be next to nothing is above 0 without an end.
        ([(-9, -1), (0, 20)], none),
    ] {
        let prepared = Gaussian::rho(499.0).prepare(&ratio(ranges, 1)).unwrap();
        let (_, released) =
            prepared.draw(prepared.tally(), None, &mut NoiseSource::seeded(1)).answer.cells()[0];
        assert_eq!((released.low(), released.high), ends, "{ranges:?}");
        assert!(released.value().is_finite());
    }
}
