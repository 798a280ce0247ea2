//! The conversion of real numbers to integers: a public grid whose step is a power of two.

use crate::invalid::{Invalid, InvalidKind, positive};

/// A bounded grid of `step * integer`, where the step is a power of two.
///
/// Bounds and step are public; they come from configuration and never from data. Every float has a place on
/// the grid, [`place`](Lattice::place) cannot fail, and the place of one record depends on that record alone.
/// Sums of places are exact, so the sensitivity of a sum is the integer [`largest`](Lattice::largest) or
/// [`spread`](Lattice::spread), with nothing to add for rounding.
///
/// ```
/// use discreet::noise::Lattice;
///
/// let euros = Lattice::new(0.0, 100.0, -7)?;           // steps of 1/128
/// assert_eq!(euros.place(9.99), 1279);
/// assert_eq!(euros.place(250.0), euros.place(100.0));
/// assert_eq!(euros.value(1279), 9.9921875);
/// assert_eq!(euros.largest(), 12_800);                 // the sensitivity of a sum to one record
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    low: f64,
    high: f64,
    step: f64,
    lowest: i64,
    highest: i64,
}

/// The largest magnitude of a place, so that 2^64 of them add up in an `i128`.
const LARGEST: f64 = (1u64 << 62) as f64;

impl Lattice {
    /// Makes the grid of step `2^exponent` from `low` to `high`.
    ///
    /// # Errors
    ///
    /// If a bound is not finite or is subnormal, `low` is not below `high`, the exponent is not from -1022 to
    /// 1023, a bound lies more than 2^62 steps from zero, or both bounds round to the same step.
    pub fn new(low: f64, high: f64, exponent: i32) -> Result<Lattice, Invalid> {
        for (field, bound) in [("low", low), ("high", high)] {
            let kind = match bound {
                _ if bound.is_nan() => InvalidKind::Nan,
                _ if bound.is_infinite() => InvalidKind::Infinite,
                _ if bound.is_subnormal() => InvalidKind::Subnormal,
                _ => continue,
            };
            return Err(Invalid::new(field, kind, "a finite number"));
        }
        if low >= high {
            return Err(Invalid::new("high", InvalidKind::TooSmall, "a number above low"));
        }
        let kind = if exponent < 0 { InvalidKind::TooSmall } else { InvalidKind::TooLarge };
        if !(-1022..=1023).contains(&exponent) {
            return Err(Invalid::new("exponent", kind, "an integer from -1022 to 1023"));
        }
        let step = f64::from_bits(((exponent + 1023) as u64) << 52);
        for (field, bound) in [("low", low), ("high", high)] {
            if (bound / step).abs() > LARGEST {
                return Err(Invalid::new(field, InvalidKind::TooLarge, "a number within 2^62 steps of zero"));
            }
        }
        let lattice = Lattice { low, high, step, lowest: steps(low / step), highest: steps(high / step) };
        if lattice.lowest == lattice.highest {
            return Err(Invalid::new("exponent", InvalidKind::TooLarge, "a step that divides the range"));
        }
        Ok(lattice)
    }

    /// Returns the place of a number: clamped to the bounds, then rounded to the nearest step, halves to
    /// even. NaN goes to the middle of the grid: refusing it, or the window, would reveal that it was there.
    pub fn place(self, number: f64) -> i64 {
        if number.is_nan() {
            return self.lowest.midpoint(self.highest);
        }
        steps(number.clamp(self.low, self.high) / self.step)
    }

    /// Returns the real number that this many steps stand for, to the precision of a float.
    pub fn value(self, steps: i128) -> f64 {
        steps as f64 * self.step
    }

    /// The first place of the grid.
    pub fn lowest(self) -> i64 {
        self.lowest
    }

    /// The last place of the grid.
    pub fn highest(self) -> i64 {
        self.highest
    }

    /// The sensitivity of a sum, in steps, to one record that is added or removed.
    pub fn largest(self) -> u64 {
        self.lowest.unsigned_abs().max(self.highest.unsigned_abs())
    }

    /// The sensitivity of a sum, in steps, to one record that is replaced.
    pub fn spread(self) -> u64 {
        self.highest.abs_diff(self.lowest)
    }

    /// Returns the least number of steps that is not shorter than `length`: a sensitivity is rounded up.
    ///
    /// # Errors
    ///
    /// If the length is not a positive finite number, or is above 2^62 steps.
    pub fn steps_up(self, length: f64) -> Result<u64, Invalid> {
        // Dividing by a power of two is exact, unless it falls among the subnormals, which are above no step.
        let steps = (positive("length", length)? / self.step).ceil().max(1.0);
        if steps > LARGEST {
            return Err(Invalid::new("length", InvalidKind::TooLarge, "a number of at most 2^62 steps"));
        }
        Ok(steps as u64)
    }
}

/// Rounds to the nearest integer. The conversion is exact: its argument is an integer of at most 2^62 after
/// rounding.
fn steps(number: f64) -> i64 {
    number.round_ties_even() as i64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn halves_go_to_even_and_strangers_to_a_fixed_place() {
        let grid = Lattice::new(-4.0, 10.0, 0).unwrap();
        assert_eq!([0.5, 1.5, 2.5, -0.5, -1.5].map(|x| grid.place(x)), [0, 2, 2, 0, -2]);
        assert_eq!(grid.place(f64::NAN), 3);
        assert_eq!(grid.place(f64::INFINITY), 10);
        assert_eq!(grid.place(f64::NEG_INFINITY), -4);
        assert_eq!(grid.place(-0.0), 0);
        assert_eq!(grid.place(5e-324), 0);
    }

    #[test]
    fn sensitivity_looks_at_both_bounds() {
        // Using the lower bound alone gave a sensitivity of zero for [0, 100] elsewhere.
        assert_eq!(Lattice::new(0.0, 100.0, 0).unwrap().largest(), 100);
        assert_eq!(Lattice::new(-100.0, 0.0, 0).unwrap().largest(), 100);
        assert_eq!(Lattice::new(-3.0, 4.0, 0).unwrap().spread(), 7);
        let widest = Lattice::new(-LARGEST, LARGEST, 0).unwrap();
        assert_eq!((widest.largest(), widest.spread()), (1 << 62, 1 << 63));
    }

    #[test]
    fn lengths_are_rounded_up() {
        let grid = Lattice::new(0.0, 1.0, -2).unwrap();
        assert_eq!(grid.steps_up(0.25).unwrap(), 1);
        assert_eq!(grid.steps_up(0.250_000_1).unwrap(), 2);
        assert_eq!(grid.steps_up(1e-300).unwrap(), 1);
        assert_eq!(Lattice::new(-1e308, 1e308, 1000).unwrap().steps_up(f64::MIN_POSITIVE).unwrap(), 1);
        assert_eq!(grid.steps_up(0.0).unwrap_err().kind(), InvalidKind::Zero);
        assert_eq!(grid.steps_up(1e300).unwrap_err().kind(), InvalidKind::TooLarge);
    }

    #[test]
    fn bad_bounds_are_named() {
        let refusal = |low, high, exponent| {
            let error = Lattice::new(low, high, exponent).unwrap_err();
            (error.field().to_owned(), error.kind())
        };
        assert_eq!(refusal(f64::NAN, 1.0, 0), ("low".into(), InvalidKind::Nan));
        assert_eq!(refusal(0.0, f64::INFINITY, 0), ("high".into(), InvalidKind::Infinite));
        assert_eq!(refusal(5e-324, 1.0, 0), ("low".into(), InvalidKind::Subnormal));
        assert_eq!(refusal(1.0, 1.0, 0), ("high".into(), InvalidKind::TooSmall));
        assert_eq!(refusal(2.0, 1.0, 0), ("high".into(), InvalidKind::TooSmall));
        assert_eq!(refusal(0.0, 1.0, -1023), ("exponent".into(), InvalidKind::TooSmall));
        assert_eq!(refusal(0.0, 1.0, 1024), ("exponent".into(), InvalidKind::TooLarge));
        assert_eq!(refusal(0.0, 1.0, -63), ("high".into(), InvalidKind::TooLarge));
        assert_eq!(refusal(0.1, 0.2, 4), ("exponent".into(), InvalidKind::TooLarge));
    }

    proptest! {
        /// Refutes: some record, however odd its bits, moves a sum by more than the declared sensitivity.
        #[test]
        fn no_record_moves_a_sum_by_more_than_declared(
            low in -1e9..1e9f64, width in 1e-3..1e9f64, exponent in -20..0i32, records in any::<[u64; 2]>(),
        ) {
            let grid = Lattice::new(low, low + width, exponent);
            prop_assume!(grid.is_ok());
            let grid = grid.unwrap();
            let [a, b] = records.map(|bits| grid.place(f64::from_bits(bits)));
            prop_assert!(a.unsigned_abs() <= grid.largest() && a.abs_diff(b) <= grid.spread());
            prop_assert!(grid.lowest() <= a && a <= grid.highest());
        }

        /// Refutes: placing moves a number within the bounds by more than half a step.
        #[test]
        fn places_are_the_nearest(number in -1000.0..1000.0f64, exponent in -30..3i32) {
            let grid = Lattice::new(-1000.0, 1000.0, exponent).unwrap();
            let step = 2f64.powi(exponent);
            prop_assert!((grid.value(grid.place(number).into()) - number).abs() <= step / 2.0);
        }
    }
}
