//! How fine answers are: in steps, of which one unit has a fixed number.

use serde::{Deserialize, Serialize};

use crate::mechanisms::Range;

/// So many steps make one unit. A record that a count counts brings one unit; to the sum of a mean it brings between -1 and 1
/// of them.
///
/// ```
/// use discreet::mechanisms::{Range, answers::Steps};
///
/// let (steps, range) = (Steps::new(1000), Range::new(0, 100)?);
/// assert_eq!([0, 25, 50, 75, 100].map(|value| steps.term(&range, value)), [-1000, -500, 0, 500, 1000]);
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct Steps(u64);

impl Steps {
    /// So many, from 1 to 2^62; what is below or beyond is the nearest of these.
    pub const fn new(steps: u64) -> Steps {
        Steps(match steps {
            0 => 1,
            1..=Self::MOST => steps,
            _ => Self::MOST,
        })
    }

    /// With these a term is a number of 64 bits, and 2^64 terms add up to one of 128.
    const MOST: u64 = 1 << 62;

    /// How many.
    pub fn count(&self) -> u64 {
        self.0
    }

    /// What a value brings to the sum of a mean: its distance from the middle of the range, clipped to it, where half the
    /// width is one unit. Two values at the same distance on both sides bring the same, but for the sign.
    ///
    /// Where the range is no wider than a unit has steps, the term is exact, and a unit is the largest multiple of the width
    /// that fits: see [`Steps::unit`]. Otherwise it is rounded, half a step away from zero.
    pub fn term(&self, range: &Range, value: i64) -> i64 {
        let (twice, width) = (range.term(value), range.width());
        if !self.rounds(range) {
            return within(twice * i128::from(self.0 / width));
        }
        let size = twice.unsigned_abs();
        // Numbers of 64 bits are divided several times faster.
        let short = || {
            (u64::try_from(size).ok()?.checked_mul(2 * self.0)?.checked_add(width)).zip(width.checked_mul(2))
        };
        let size = match short() {
            Some((product, divisor)) => (product / divisor).into(),
            // At most 2^64 times 2^62, and twice that.
            None => (2 * size * u128::from(self.0) + u128::from(width)) / (2 * u128::from(width)),
        };
        let size = within(size.cast_signed());
        if twice < 0 { -size } else { size }
    }

    /// How many steps a value at the end of the range brings: all of them, or, where terms are exact, the most that are a
    /// multiple of the width.
    pub fn unit(&self, range: &Range) -> u64 {
        if self.rounds(range) { self.0 } else { self.0 - self.0 % range.width() }
    }

    /// Whether a term may be off by half a step.
    pub fn rounds(&self, range: &Range) -> bool {
        range.width() > self.0
    }
}

/// A term is within the steps, which fit.
fn within(term: i128) -> i64 {
    i64::try_from(term).unwrap_or(if term < 0 { i64::MIN } else { i64::MAX })
}

impl From<u64> for Steps {
    fn from(steps: u64) -> Steps {
        Steps::new(steps)
    }
}

impl From<Steps> for u64 {
    fn from(steps: Steps) -> u64 {
        steps.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranges() -> impl Strategy<Value = Range> {
        let end = || prop_oneof![-200..200_i64, any::<i64>(), -(1_i64 << 40)..1 << 40];
        (end(), end()).prop_map(|(one, other)| {
            Range::new(one.min(other), one.max(other).max(one.min(other) + 1)).unwrap()
        })
    }

    proptest! {
        // Refutes a term beyond its bound, one that is not odd, and a rounding that is off by more than half a step:
        // against the definition, in 256 bits.
        #[test]
        fn terms_are_odd_bounded_and_off_by_half_a_step_at_most(
            steps in prop_oneof![1..300_u64, 1..=1_u64 << 20, 1..=1_u64 << 62],
            range in ranges(),
            values in prop::collection::vec(prop_oneof![any::<i64>(), -300..300_i64], 1..20),
        ) {
            use dashu_int::IBig;
            let (count, steps, width) = (IBig::from(steps), Steps::new(steps), IBig::from(range.width()));
            for value in values.into_iter().chain([range.low(), range.high(), i64::MIN, i64::MAX]) {
                let term = steps.term(&range, value);
                let twice = IBig::from(range.term(value));
                prop_assert!(term.unsigned_abs() <= steps.unit(&range) && steps.unit(&range) <= steps.count());
                if steps.rounds(&range) {
                    let off = (IBig::from(term) * &width - &twice * &count) * 2;
                    prop_assert!(off <= width && -&off <= width);
                    // Half a step goes away from zero.
                    prop_assert!(off != width || twice > IBig::from(0));
                    prop_assert!(-&off != width || twice < IBig::from(0));
                } else {
                    prop_assert_eq!(IBig::from(term) * &width, twice * IBig::from(steps.unit(&range)));
                }
                let mirrored = i128::from(range.low()) + i128::from(range.high()) - i128::from(value);
                if let Ok(mirrored) = i64::try_from(mirrored) {
                    prop_assert_eq!(steps.term(&range, mirrored), -term);
                }
            }
            prop_assert_eq!(steps.term(&range, range.high()).unsigned_abs(), steps.unit(&range));
        }
    }

    #[test]
    fn a_number_of_steps_is_one_that_can_be_added_up() {
        assert_eq!(
            [0, 1, 1 << 62, u64::MAX].map(|steps| Steps::new(steps).count()),
            [1, 1, 1 << 62, 1 << 62]
        );
    }
}
