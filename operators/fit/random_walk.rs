//! The Kalman filter and smoother of a random walk: a number that moves by about as much from each window to the next.

use super::Measurement;
use crate::invalid::{Invalid, InvalidKind};

/// A number that moves from window to window by a normal step of a stated standard deviation, as far as its released values
/// say where it is.
///
/// The weight of a new value follows from that deviation and from the variances of the noise: numbers that are public, or
/// released.
#[derive(Clone, Copy, Debug)]
pub struct RandomWalk {
    /// The variance of a step.
    step: f64,
    state: Option<Measurement>,
}

impl RandomWalk {
    /// A walk of which nothing is known yet but the standard deviation of its steps.
    ///
    /// # Errors
    ///
    /// If the deviation is not a number above zero, or its square is too large or too small for a float.
    pub fn new(deviation: f64) -> Result<RandomWalk, Invalid> {
        let step = deviation * deviation;
        if deviation > 0.0 && step.is_normal() {
            return Ok(RandomWalk { step, state: None });
        }
        let kind = match deviation {
            deviation if deviation.is_nan() => InvalidKind::Nan,
            0.0 => InvalidKind::Zero,
            ..0.0 => InvalidKind::Negative,
            ..1.0 => InvalidKind::TooSmall,
            _ => InvalidKind::TooLarge,
        };
        Err(Invalid::new("deviation", kind, "a number above 0"))
    }

    /// Adds the value of a window, a number of windows behind the last one, and returns its fitted value: the most likely
    /// place of the number by all values so far. That of the first value is itself.
    pub fn filtered(&mut self, released: Measurement, windows: f64) -> f64 {
        self.step(released, windows).1.value
    }

    /// Adds the value of a window, and returns what was known of the place of the number before it and after it.
    fn step(&mut self, released: Measurement, windows: f64) -> (Measurement, Measurement) {
        let before = match self.state {
            None => released,
            Some(state) => Measurement { variance: self.step.mul_add(windows, state.variance), ..state },
        };
        let after = match self.state {
            None => released,
            Some(_) => {
                let gain = before.variance / (before.variance + released.variance);
                Measurement {
                    value: gain.mul_add(released.value - before.value, before.value),
                    variance: (1.0 - gain) * before.variance,
                }
            }
        };
        self.state = Some(after);
        (before, after)
    }
}

/// Returns the fitted values of a whole series, each by the values before it and behind it: the Kalman smoother of Rauch, Tung
/// and Striebel. Each value comes with the number of windows since the last one.
pub fn smoothed(mut walk: RandomWalk, series: &[(Measurement, f64)]) -> Vec<f64> {
    let known: Vec<(Measurement, Measurement)> =
        series.iter().map(|(released, windows)| walk.step(*released, *windows)).collect();
    let mut fitted: Vec<f64> = known.iter().map(|(_, after)| after.value).collect();
    for at in (1..known.len()).rev() {
        let ((_, earlier), (before, _)) = (known[at - 1], known[at]);
        let back = earlier.variance / before.variance;
        fitted[at - 1] = back.mul_add(fitted[at] - before.value, earlier.value);
    }
    fitted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{TestNoise, off};
    use super::*;

    /// The most likely places by all values: the least sum of squares, by elimination in the normal equations.
    fn by_least_squares(deviation: f64, series: &[(Measurement, f64)]) -> Vec<f64> {
        let size = series.len();
        let mut rows = vec![vec![0.0; size + 1]; size];
        for (at, (released, windows)) in series.iter().enumerate() {
            rows[at][at] += 1.0 / released.variance;
            rows[at][size] += released.value / released.variance;
            if at > 0 {
                let weight = 1.0 / (deviation * deviation * windows);
                for (row, column, sign) in
                    [(at, at, 1.0), (at - 1, at - 1, 1.0), (at, at - 1, -1.0), (at - 1, at, -1.0)]
                {
                    rows[row][column] += sign * weight;
                }
            }
        }
        for pivot in 0..size {
            let by = rows[pivot].clone();
            for (_, row) in rows.iter_mut().enumerate().filter(|(row, _)| *row != pivot) {
                let factor = row[pivot] / by[pivot];
                row.iter_mut().zip(&by).for_each(|(cell, by)| *cell -= factor * by);
            }
        }
        (0..size).map(|at| rows[at][size] / rows[at][at]).collect()
    }

    proptest! {
        // Refutes a gain, a step over several windows, or a way back that is another one than that of the least squares.
        #[test]
        fn places_are_those_of_the_least_squares(
            deviation in 1u32..30,
            series in prop::collection::vec((-50i32..50, 1u32..200, 1u32..4), 1..12)
        ) {
            let deviation = f64::from(deviation);
            let series: Vec<(Measurement, f64)> = series.into_iter().map(|(value, variance, windows)| {
                (Measurement { value: f64::from(value), variance: f64::from(variance) }, f64::from(windows))
            }).collect();
            let walk = RandomWalk::new(deviation).unwrap();
            for (fitted, expected) in smoothed(walk, &series).iter().zip(by_least_squares(deviation, &series)) {
                prop_assert!((fitted - expected).abs() < 1e-6, "{fitted} {expected}");
            }
            let mut walk = walk;
            for (at, (released, windows)) in series.iter().enumerate() {
                let expected = by_least_squares(deviation, &series[..=at])[at];
                let fitted = walk.filtered(*released, *windows);
                prop_assert!((fitted - expected).abs() < 1e-6, "{fitted} {expected}");
            }
        }
    }

    fn fitted_both_ways(truth: &[f64], deviation: f64, seed: u64) -> [f64; 3] {
        let mut noise = TestNoise(seed);
        let series: Vec<(Measurement, f64)> = truth
            .iter()
            .map(|place| (Measurement { value: place + 20.0 * noise.normal(), variance: 400.0 }, 1.0))
            .collect();
        let values: Vec<f64> = series.iter().map(|(released, _)| released.value).collect();
        let mut walk = RandomWalk::new(deviation).unwrap();
        let filtered: Vec<f64> = series.iter().map(|(released, _)| walk.filtered(*released, 1.0)).collect();
        let smoothed = smoothed(RandomWalk::new(deviation).unwrap(), &series);
        [off(&values, truth), off(&filtered, truth), off(&smoothed, truth)]
    }

    // Refutes a fit that gains nothing where the number walks as stated, and a gain where it jumps: there the fit lags.
    #[test]
    fn a_walk_is_fitted_with_less_error_and_a_jump_with_more() {
        let mut steps = TestNoise(3);
        let mut place = 500.0;
        let walk: Vec<f64> = (0..300)
            .map(|_| {
                place += 4.0 * steps.normal();
                place
            })
            .collect();
        let [raw, filtered, smoothed] = fitted_both_ways(&walk, 4.0, 4);
        assert!(filtered < 0.65 * raw && smoothed < 0.5 * raw, "{raw} {filtered} {smoothed}");
        let jump: Vec<f64> = (0..300).map(|window| if window < 150 { 500.0 } else { 2500.0 }).collect();
        let [raw, filtered, smoothed] = fitted_both_ways(&jump, 4.0, 5);
        assert!(filtered > 3.0 * raw && smoothed > 3.0 * raw, "{raw} {filtered} {smoothed}");
    }

    #[test]
    fn a_deviation_is_a_number_above_zero() {
        for deviation in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e200, 1e-200] {
            assert!(RandomWalk::new(deviation).is_err(), "{deviation}");
        }
    }
}
