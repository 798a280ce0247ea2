//! Isotonic regression: the totals that never fall, and are never below zero, that are nearest to the released ones.

use super::Measurement;

/// A run of totals with one fitted value, their mean weighted by the inverse of their variances.
#[derive(Clone, Copy, Debug)]
struct PooledTotals {
    sum: f64,
    weight: f64,
    length: usize,
}

impl PooledTotals {
    fn mean(&self) -> f64 {
        self.sum / self.weight
    }
}

/// Returns the fitted values of running totals in the order of their windows: of all sequences that never fall and are never
/// below zero the one with the least sum of squared differences, each divided by its variance.
///
/// The exact totals are such a sequence where nothing that is counted is below zero. The fitted ones are then no further from
/// them than the released ones, in that sum, whatever the noise: the nearest point of a convex set is never further from
/// a point of the set. A single fitted value may be off by more. The noise of totals is shared between windows: the fit takes
/// the variance of each by itself, and is not the best that is possible; its bound holds all the same.
///
/// ```
/// use discreet::fit::{Measurement, monotone};
///
/// let totals = [-3.0, 4.0, 9.0, 5.0, 12.0].map(|value| Measurement { value, variance: 4.0 });
/// assert_eq!(monotone(&totals), [0.0, 4.0, 7.0, 7.0, 12.0]);
/// ```
pub fn monotone(totals: &[Measurement]) -> Vec<f64> {
    let mut pools: Vec<PooledTotals> = Vec::new();
    for Measurement { value, variance } in totals {
        let mut pool = PooledTotals { sum: value / variance, weight: 1.0 / variance, length: 1 };
        // Adjacent violators have one value.
        while let Some(before) = pools.pop_if(|before| before.mean() >= pool.mean()) {
            pool.sum += before.sum;
            pool.weight += before.weight;
            pool.length += before.length;
        }
        pools.push(pool);
    }
    pools.iter().flat_map(|pool| std::iter::repeat_n(pool.mean().max(0.0), pool.length)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{TestNoise, off};
    use super::*;

    /// The fitted values by the formula of the largest of the least means.
    fn by_means(totals: &[Measurement]) -> Vec<f64> {
        let mean = |part: &[Measurement]| {
            let weight: f64 = part.iter().map(|total| 1.0 / total.variance).sum();
            part.iter().map(|total| total.value / total.variance).sum::<f64>() / weight
        };
        let least = |from: usize, at: usize| {
            (at..totals.len()).map(|to| mean(&totals[from..=to])).fold(f64::INFINITY, f64::min)
        };
        let fitted = |at: usize| (0..=at).map(|from| least(from, at)).fold(0.0, f64::max);
        (0..totals.len()).map(fitted).collect()
    }

    fn distance(values: &[f64], truth: &[f64], totals: &[Measurement]) -> f64 {
        let square = |((value, truth), total): ((&f64, &f64), &Measurement)| {
            (value - truth) * (value - truth) / total.variance
        };
        values.iter().zip(truth).zip(totals).map(square).sum()
    }

    proptest! {
        // Refutes pools that are merged by another rule, a mean without weights, and a value below zero.
        #[test]
        fn totals_are_pooled_as_the_formula_says(
            totals in prop::collection::vec((-40i32..40, 1u32..9), 1..14)
        ) {
            let totals: Vec<Measurement> = totals.into_iter()
                .map(|(value, variance)| Measurement { value: f64::from(value), variance: f64::from(variance) }).collect();
            for (fitted, expected) in monotone(&totals).iter().zip(by_means(&totals)) {
                prop_assert!((fitted - expected).abs() < 1e-9, "{fitted} {expected}");
            }
        }

        // Refutes a fit that is further from totals that never fall than the released ones are.
        #[test]
        fn no_totals_are_nearer_to_the_released_ones(
            totals in prop::collection::vec((-40i32..40, 1u32..9, 0u32..20), 1..30)
        ) {
            let released: Vec<Measurement> = totals.iter()
                .map(|(value, variance, _)| Measurement { value: f64::from(*value), variance: f64::from(*variance) }).collect();
            let mut total = 0.0;
            let truth: Vec<f64> = totals.iter().map(|(.., more)| { total += f64::from(*more); total }).collect();
            let values: Vec<f64> = released.iter().map(|total| total.value).collect();
            let fitted = monotone(&released);
            prop_assert!(distance(&fitted, &truth, &released) <= distance(&values, &truth, &released) + 1e-9);
        }
    }

    // Refutes the claim that the newest total of each prefix would be a fit for a stream: it is never below the released
    // one, and too large by more than half of the deviation where totals hardly grow. The fit of the whole series is not.
    #[test]
    fn the_newest_total_is_too_large_and_those_of_a_whole_series_are_not() {
        let mut noise = TestNoise(7);
        let truth: Vec<f64> = (0..400).map(|day| 1000.0 + f64::from(day / 20)).collect();
        let released: Vec<Measurement> = truth
            .iter()
            .map(|total| Measurement { value: total + 30.0 * noise.normal(), variance: 900.0 })
            .collect();
        let values: Vec<f64> = released.iter().map(|total| total.value).collect();
        let newest: Vec<f64> = (1..=400).map(|days| *monotone(&released[..days]).last().unwrap()).collect();
        assert!(newest.iter().zip(&values).all(|(newest, value)| *newest >= value - 1e-9));
        let [bias, whole_bias] = [&newest, &monotone(&released)].map(|fitted| {
            fitted.iter().zip(&truth).map(|(fitted, truth)| fitted - truth).sum::<f64>() / 400.0
        });
        assert!(bias > 15.0 && whole_bias.abs() < 3.0, "{bias} {whole_bias}");
        let (raw, newest, whole) =
            (off(&values, &truth), off(&newest, &truth), off(&monotone(&released), &truth));
        assert!(whole < 0.2 * raw && newest > 0.8 * raw, "{raw} {newest} {whole}");
    }
}
