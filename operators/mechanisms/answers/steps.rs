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
        // At most 2^64 times 2^62, and twice that.
        let product = 2 * twice.unsigned_abs() * u128::from(self.0) + u128::from(width);
        let size = within((product / (2 * u128::from(width))).cast_signed());
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
