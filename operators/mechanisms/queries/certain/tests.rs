use proptest::prelude::*;

use super::*;

fn certain(steps: u64, reach: u64) -> Certain {
    Certain { steps: Steps::new(steps), reach, deviation: reach as f64 / 3.0 }
}

fn range(low: i64, high: i64) -> Range {
    Range::new(low, high).unwrap()
}

fn digits(number: DecimalNumber) -> u32 {
    number.1.count() as u32
}

/// Refutes an interval or a bound that fails for some noise, and one that is wider than necessary.
#[test]
fn the_truth_of_a_count_is_in_its_interval_whatever_is_drawn() {
    for (steps, reach) in [(1, 0), (1, 7), (2, 5), (3, 0), (3, 1), (3, 40), (7, 23), (10, 23), (1000, 1700)] {
        let certain = certain(steps, reach);
        let (bound, reach) = (certain.bound(), i128::from(reach));
        let steps = i128::from(steps);
        // The bound exceeds the reach by less than 11 units of its last digit.
        let unit = 10i128.pow(digits(bound));
        assert!(bound.0 * steps >= reach * unit && (bound.0 - 11) * steps < reach * unit, "{bound:?}");
        for truth in 0..30i128 {
            for noise in -reach..=reach {
                let noised = truth * steps + noise;
                let released = certain.count(noised);
                assert!(released.low.0 <= truth && truth <= released.high.0, "{released:?} of {truth}");
                assert!(released.low.0 >= 0);
                // A wider interval would contain impossible numbers of records.
                assert!((released.high.0 + 1) * steps > noised + reach);
                assert!(released.low.0 == 0 || (released.low.0 - 1) * steps < noised - reach);
                let unit = 10i128.pow(digits(released.value));
                assert!((released.value.0 - truth * unit).abs() * 10 <= bound.0, "{released:?} of {truth}");
                // The value is rounded to its last digit, and not changed otherwise.
                assert!((released.value.0 * steps - noised * unit).abs() * 2 <= steps);
            }
        }
    }
}

/// Returns true if the mean of the clipped values is within the interval, which has some digits more than the
/// field: in integers.
fn holds(released: &Estimated, values: &[i64], range: &Range, field: DecimalPoint) -> bool {
    let sum: IBig = values.iter().map(|value| IBig::from(*value.clamp(&range.low(), &range.high()))).sum();
    let (sum, count) = (sum * power(digits(released.low) - field.count() as u32), IBig::from(values.len()));
    released.low.1 == released.high.1
        && released.value.1 == released.low.1
        && IBig::from(released.low.0) * &count <= sum
        && sum <= IBig::from(released.high.0) * &count
        && released.low.0 <= released.value.0
        && released.value.0 <= released.high.0
}

fn mean_of(certain: &Certain, values: &[i64], range: &Range, noise: [i128; 2]) -> Estimated {
    let sum: i128 = values.iter().map(|value| i128::from(certain.steps.term(range, *value))).sum();
    let records = values.len() as i128 * i128::from(certain.steps.count());
    certain.mean(sum + noise[0], records + noise[1], range, DecimalPoint::digits(2).unwrap())
}

/// Refutes an interval that omits the noise of the sum or of the count, the uncertainty of the count, or the
/// half step of a rounded term: for every pair of draws, against the exact mean.
#[test]
fn the_true_mean_is_in_its_interval_whatever_is_drawn() {
    let field = DecimalPoint::digits(2).unwrap();
    let mut narrow = 0;
    for (low, high) in [(0, 1), (0, 3), (-2, 5), (0, 100), (-1000, -7)] {
        let range = range(low, high);
        for (steps, reach) in [(1, 0), (1, 2), (2, 3), (3, 2), (7, 0), (7, 9), (12, 5)] {
            let certain = certain(steps, reach);
            let third = low + (high - low) / 3;
            let mixed: Vec<i64> = (0..9).map(|k| low - 1 + k * (high - low + 2) / 8).collect();
            for values in [vec![low; 6], vec![high; 11], vec![third; 12], vec![low + 1], mixed] {
                let reach = i128::from(reach);
                for first in -reach..=reach {
                    for second in -reach..=reach {
                        let released = mean_of(&certain, &values, &range, [first, second]);
                        assert!(holds(&released, &values, &range, field), "{released:?} of {values:?}");
                        let scale = 10i128.pow(digits(released.low) - 2);
                        assert!(
                            i128::from(low) * scale <= released.low.0
                                && released.high.0 <= i128::from(high) * scale
                        );
                        narrow += usize::from(
                            released.high.0 - released.low.0 < scale * i128::from(high - low) / 4,
                        );
                    }
                }
            }
        }
    }
    assert!(narrow > 1_000, "only {narrow} intervals say something");
}

#[test]
fn where_there_may_be_nobody_nothing_is_certain_but_the_range() {
    let (certain, range) = (certain(10, 25), range(-3, 4));
    for count in [-1000, 0, 25, 29] {
        let released = certain.mean(7, count, &range, DecimalPoint::WHOLE);
        let scale = 10i128.pow(digits(released.low));
        assert_eq!((released.low.0, released.high.0), (-3 * scale, 4 * scale), "{count}");
    }
    let released = certain.mean(7, 200, &range, DecimalPoint::WHOLE);
    assert!(released.low.0 > -3 * 10i128.pow(digits(released.low)), "{released:?}");
}

#[test]
fn a_number_is_printed_as_finely_as_its_noise_allows() {
    let shown = |number: DecimalNumber| number.1.shown(number.0);
    let certain = Certain { steps: Steps::new(6_000), reach: 1_001_538, deviation: 278_000.0 };
    let released = certain.count(7_407_123);
    // The deviation is 46 records, so there is one digit after the point.
    assert_eq!([released.value, released.low, released.high].map(shown), ["1234.5", "1068", "1401"]);
    assert_eq!(shown(certain.bound()), "166.98");
    let below = certain.count(-9_000);
    assert_eq!([below.value, below.low, below.high].map(shown), ["-1.5", "0", "165"]);
    // With one step in a record, values are integers.
    let whole = Certain { steps: Steps::new(1), reach: 20, deviation: 3.0 };
    assert_eq!([shown(whole.count(-7).value), shown(whole.bound())], ["-7", "20"]);
    // The mean of prices with two digits from 0 to 100, to a hundred-millionth of the range.
    let price = certain.mean(-3_000_000, 6_000_000, &range(0, 10_000), DecimalPoint::digits(2).unwrap());
    assert_eq!(shown(price.value), "25");
    assert_eq!((digits(price.low), digits(price.high)), (6, 6));
}

proptest! {
    // Refutes an overflow, a panic, and an interval that fails on random data.
    #[test]
    fn random_means_are_in_their_intervals(
        values in prop::collection::vec(any::<i64>(), 1..40),
        (low, high) in any::<(i64, i64)>().prop_filter("a range", |(low, high)| low < high),
        near in any::<bool>(),
        (steps, reach) in (1u64..1 << 21, 0u64..1 << 21),
        (first, second) in (-1f64..=1.0, -1f64..=1.0),
    ) {
        let (low, high) = if near { (low % 1000, low % 1000 + 1 + (high % 500).abs()) } else { (low, high) };
        let values: Vec<i64> =
            if near { values.iter().map(|value| value % 1500).collect() } else { values };
        // Many records, so that the interval is not the whole range.
        let many: Vec<i64> = (0..200).flat_map(|_| values.iter().copied()).collect();
        let (certain, range) = (certain(steps, reach), range(low, high));
        let noise = [first, second].map(|part| (part * reach as f64) as i128);
        let released = mean_of(&certain, &many, &range, noise);
        prop_assert!(holds(&released, &many, &range, DecimalPoint::digits(2).unwrap()), "{:?}", released);
    }

    #[test]
    fn no_number_makes_it_panic(
        (sum, count) in any::<(i128, i128)>(),
        (low, high) in any::<(i64, i64)>().prop_filter("a range", |(low, high)| low < high),
        (steps, reach, digits) in (any::<u64>(), any::<u64>(), 0i32..=18),
    ) {
        let (certain, range) = (certain(steps, reach), range(low, high));
        certain.count(count);
        certain.bound();
        certain.mean(sum, count, &range, DecimalPoint::digits(digits).unwrap());
    }
}
