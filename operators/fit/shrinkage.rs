//! Shrinkage: the numbers of the keys of one window, each drawn towards the mean of all.

use super::Measurement;

/// The fewest keys that are drawn together: of three, the mean and its own error leave nothing to gain.
const FEWEST: usize = 4;

/// Returns the fitted values of the keys of a window, or `None` if they are fewer than four.
///
/// Each key is drawn towards the mean, by the part of its variance that is noise. Where all have noise of variance `v`, that is the
/// positive-part James-Stein estimator: of the distance of a value to the mean, `max(0, 1 - (k - 3) v / S)` stays, for
/// `k` keys whose squared distances sum to `S`. The sum of squared errors over the keys is then less in expectation than that of the
/// released values, for normal noise and whatever the exact numbers are; a single key that is unlike the others may be off by
/// more. With noise of different variances `v_i`, the keys are taken to vary by the `A` at which the squared distances, each
/// divided by `A + v_i`, sum to `k - 3`, and `A / (A + v_i)` stays: keys with more noise are drawn closer. Both are one
/// rule; of different variances the gain is not certain, but for keys that are alike.
///
/// Discovered keys are there because their released numbers were large: those have a bias upwards, and so has their mean.
///
/// ```
/// use discreet::fit::{Measurement, shrunk};
///
/// let keys = [96.0, 101.0, 107.0, 100.0].map(|value| Measurement { value, variance: 31.0 });
/// let fitted: Vec<String> = shrunk(&keys).unwrap().iter().map(|key| format!("{key:.2}")).collect();
/// assert_eq!(fitted, ["98.50", "101.00", "104.00", "100.50"]);
/// ```
pub fn shrunk(keys: &[Measurement]) -> Option<Vec<f64>> {
    if keys.len() < FEWEST {
        return None;
    }
    // One of the keys' degrees of freedom is that of the mean, and two make the estimator better than the released values.
    let freedom = keys.len() as f64 - 3.0;
    let spread = spread(keys, freedom);
    let mean = mean(keys, spread);
    let fitted = |key: &Measurement| {
        let kept = spread / (spread + key.variance);
        kept.mul_add(key.value - mean, mean)
    };
    Some(keys.iter().map(fitted).collect())
}

/// The mean of keys that vary by this variance beside their noise.
fn mean(keys: &[Measurement], spread: f64) -> f64 {
    let weight = |key: &Measurement| 1.0 / (spread + key.variance);
    keys.iter().map(|key| weight(key) * key.value).sum::<f64>() / keys.iter().map(weight).sum::<f64>()
}

/// The variance of the keys beside their noise: that at which their distances from the mean sum to `freedom`, or zero if they
/// are less without any.
fn spread(keys: &[Measurement], freedom: f64) -> f64 {
    let distance = |spread: f64| {
        let mean = mean(keys, spread);
        keys.iter().map(|key| (key.value - mean).powi(2) / (spread + key.variance)).sum::<f64>()
    };
    if distance(0.0) <= freedom {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, keys.iter().map(|key| key.variance).fold(f64::MIN_POSITIVE, f64::max));
    // The distance falls as the spread grows.
    while distance(high) > freedom && high.is_finite() {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 1e-12 * high {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if distance(middle) > freedom { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{TestNoise, off};
    use super::*;

    /// The positive-part estimator, by its formula.
    fn by_formula(values: &[f64], variance: f64) -> Vec<f64> {
        let keys = values.len() as f64;
        let mean = values.iter().sum::<f64>() / keys;
        let sum: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let kept = (1.0 - (keys - 3.0) * variance / sum).max(0.0);
        values.iter().map(|value| mean + kept * (value - mean)).collect()
    }

    fn measured(values: &[f64], variance: f64) -> Vec<Measurement> {
        values.iter().map(|value| Measurement { value: *value, variance }).collect()
    }

    proptest! {
        // Refutes another factor, a mean of other weights, and a key that is drawn beyond the mean.
        #[test]
        fn noise_of_one_variance_is_shrunk_by_the_formula(
            values in prop::collection::vec(-500i32..500, 4..20), variance in 1u32..100_000
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            prop_assume!(values.iter().any(|value| *value != values[0]));
            let variance = f64::from(variance);
            let fitted = shrunk(&measured(&values, variance)).unwrap();
            for (fitted, expected) in fitted.iter().zip(by_formula(&values, variance)) {
                prop_assert!((fitted - expected).abs() < 1e-6, "{fitted} {expected}");
            }
        }

        // Refutes a key that is drawn away from the mean, and one with more noise that is drawn less.
        #[test]
        fn keys_with_more_noise_are_drawn_closer(
            keys in prop::collection::vec((-500i32..500, 1u32..10_000), 4..20)
        ) {
            let keys: Vec<Measurement> = keys.into_iter()
                .map(|(value, variance)| Measurement { value: f64::from(value), variance: f64::from(variance) }).collect();
            let freedom = keys.len() as f64 - 3.0;
            let among = spread(&keys, freedom);
            let mean = mean(&keys, among);
            let distance: f64 = keys.iter().map(|key| (key.value - mean).powi(2) / (among + key.variance)).sum();
            let is_reached = if among == 0.0 { distance <= freedom } else { (distance - freedom).abs() < 1e-6 };
            prop_assert!(is_reached, "{}", distance);
            for (key, fitted) in keys.iter().zip(shrunk(&keys).unwrap()) {
                prop_assert!((fitted - mean - among / (among + key.variance) * (key.value - mean)).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn fewer_than_four_keys_are_left() {
        assert_eq!(shrunk(&measured(&[1.0, 2.0, 3.0], 1.0)), None);
        assert_eq!(shrunk(&measured(&[5.0; 4], 1.0)).unwrap(), [5.0; 4]);
    }

    // Refutes a fit that gains nothing of keys that are alike, one that is off by more over all keys where one is unlike the
    // others, and the claim that this one key gains.
    #[test]
    fn keys_that_are_alike_gain_and_an_outlier_may_lose() {
        let truth: Vec<f64> = (0..12).map(|key| 100.0 + f64::from(key)).collect();
        let with_outlier: Vec<f64> = truth.iter().take(11).copied().chain([220.0]).collect();
        for (truth, least, most) in [(&truth, 0.0, 0.5), (&with_outlier, 0.9, 1.0)] {
            let mut noise = TestNoise(11);
            let (mut all, mut outlier) = ([0.0; 2], [0.0; 2]);
            for _ in 0..2000 {
                let values: Vec<f64> = truth.iter().map(|number| number + 20.0 * noise.normal()).collect();
                let fitted = shrunk(&measured(&values, 400.0)).unwrap();
                for (at, numbers) in [&values, &fitted].into_iter().enumerate() {
                    all[at] += off(numbers, truth).powi(2);
                    outlier[at] += (numbers[11] - truth[11]).powi(2);
                }
            }
            let gain = (all[1] / all[0]).sqrt();
            assert!(least < gain && gain < most, "{gain}");
            assert_eq!(outlier[1] > outlier[0], least > 0.0, "{outlier:?}");
        }
    }
}
