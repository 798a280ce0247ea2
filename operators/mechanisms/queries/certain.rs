//! The released form of noisy numbers, and their certain error bounds.
//!
//! The noise never exceeds its reach, so the true number is always within the reach of the noisy one.
//! Everything here is computed from noisy and public numbers, in big integers: it is exact, and intervals are
//! rounded outwards.

use dashu_int::IBig;
use dashu_int::ops::DivEuclid;

use super::bundle::Steps;
use crate::mechanisms::{DecimalPoint, Range};

/// The noise of a bundle, as its answers state it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Certain {
    pub(super) steps: Steps,
    /// The largest noise, in steps.
    pub(super) reach: u64,
    /// The standard deviation of the noise, in steps.
    pub(super) deviation: f64,
}

/// A decimal number: an integer and the position of its decimal point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DecimalNumber(pub(super) i128, pub(super) DecimalPoint);

/// A noisy value, and an interval that contains the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Estimated {
    pub(super) value: DecimalNumber,
    pub(super) low: DecimalNumber,
    pub(super) high: DecimalNumber,
}

/// The resolution of a mean: it has enough digits after the point that the last is at most the width of its
/// range over this number.
const FINEST: u64 = 100_000_000;

/// The direction of rounding.
#[derive(Clone, Copy)]
enum Round {
    Down,
    Near,
    Up,
}

impl Certain {
    /// Returns a number of records from its noisy number of steps.
    ///
    /// The true number is a non-negative integer within the reach. So the interval has integer ends from 0
    /// on, at no privacy cost, since they depend on the noisy number alone; the value is released as drawn,
    /// and may be below 0.
    pub(super) fn count(&self, noised: i128) -> Estimated {
        let (steps, digits) = (IBig::from(self.steps.count()), self.digits());
        let value = divided(noised * power(digits), &steps, Round::Near);
        let [low, high] =
            self.records(noised).map(|records| DecimalNumber(narrow(records), DecimalPoint::WHOLE));
        Estimated { value: DecimalNumber(narrow(value), decimal(digits)), low, high }
    }

    /// Returns the mean of values in a range, from a noisy sum of their terms and a noisy count, both in
    /// steps.
    ///
    /// With half the width of the range as 1 and its middle as 0, the true mean is `t / n`, where `n` is an
    /// integer in the interval of the count, and `u t`, with `u` steps in a unit, is within the reach of the
    /// noisy sum, plus half a step for each record where terms were rounded. So the mean is at most
    /// `(sum + reach) / (u n) + rounded / (2 u)`. This falls with `n` where `sum + reach` is positive and
    /// rises with it where it is negative, so the largest value is at one of the two ends of `n`; the same
    /// holds for the least value. If `n` may be 0, the interval is the whole range.
    pub(super) fn mean(&self, sum: i128, count: i128, range: &Range, point: DecimalPoint) -> Estimated {
        let form = MeanAnswer::new(range, point);
        let (unit, reach) = (IBig::from(self.steps.unit(range)), IBig::from(self.reach));
        let rounded = IBig::from(u8::from(self.steps.rounds(range)));
        let [fewest, most] = self.records(count);
        let end = |up: bool| {
            if fewest < IBig::ONE {
                return form.end(up);
            }
            let sum = if up { sum + &reach } else { sum - &reach };
            let records = if (sum < IBig::ZERO) == up { &most } else { &fewest };
            let off = if up { &rounded * records } else { -(&rounded * records) };
            form.at(&(2 * sum + off), &(2 * &unit * records), if up { Round::Up } else { Round::Down })
        };
        let (low, high) = (end(false), end(true));
        // The divisor is at least one record.
        let steps = IBig::from(self.steps.count());
        let value = form.at(&(sum * &steps), &(unit * IBig::from(count).max(steps.clone())), Round::Near);
        // Clamping depends on noisy numbers alone, so it costs nothing.
        let value = value.clamp(low.min(high), high.max(low));
        let [value, low, high] = [value, low, high].map(|number| DecimalNumber(number, form.point));
        Estimated { value, low, high }
    }

    /// Returns the largest distance of a released count from the true one, rounded up: the reach, in records,
    /// plus the rounding error.
    pub(super) fn bound(&self) -> DecimalNumber {
        let (steps, digits) = (IBig::from(self.steps.count()), self.digits());
        let reach = divided(self.reach * power(digits + 1), &steps, Round::Up);
        let cut = if power(digits) % &steps == IBig::ZERO { 0 } else { 5 };
        DecimalNumber(narrow(reach + IBig::from(cut)), decimal(digits + 1))
    }

    /// Returns the least and the largest number of records that can have this noisy number.
    fn records(&self, noised: i128) -> [IBig; 2] {
        let (steps, reach) = (IBig::from(self.steps.count()), IBig::from(self.reach));
        let ends =
            [divided(noised - &reach, &steps, Round::Up), divided(noised + reach, &steps, Round::Down)];
        ends.map(|end| end.max(IBig::ZERO))
    }

    /// Returns the number of digits after the point of a number of records: enough that rounding changes it
    /// by at most a 200th of the standard deviation, or by less than a step.
    fn digits(&self) -> u32 {
        let (steps, fine) = (self.steps.count(), self.deviation / self.steps.count() as f64 / 100.0);
        let enough = |digits: &u32| {
            let unit = 10u64.pow(*digits);
            unit >= steps || 1.0 / unit as f64 <= fine
        };
        (0..DIGITS).find(enough).unwrap_or(DIGITS)
    }
}

/// The largest number of digits after the point of a count.
const DIGITS: u32 = 9;

/// The scale of a released mean: its range and its decimal point.
struct MeanAnswer {
    low: IBig,
    high: IBig,
    point: DecimalPoint,
}

impl MeanAnswer {
    fn new(range: &Range, point: DecimalPoint) -> MeanAnswer {
        let left = (18 - point.count()).clamp(0, 18) as u32;
        let width = u128::from(range.high().abs_diff(range.low()));
        let enough = |digits: &u32| width * 10u128.pow(*digits) >= FINEST.into();
        let more = (0..left).find(enough).unwrap_or(left);
        let (scale, point) =
            (power(more), DecimalPoint::digits(point.count() + more as i32).unwrap_or(point));
        MeanAnswer { low: range.low() * &scale, high: range.high() * scale, point }
    }

    fn end(&self, up: bool) -> i128 {
        narrow(if up { self.high.clone() } else { self.low.clone() })
    }

    /// Returns the value that is `part / whole` of half the width away from the middle of the range, clamped
    /// to the range.
    fn at(&self, part: &IBig, whole: &IBig, round: Round) -> i128 {
        let (twice, width) = (&self.low + &self.high, &self.high - &self.low);
        let number = divided(twice * whole + width * part, &(2 * whole), round);
        narrow(number.clamp(self.low.clone(), self.high.clone()))
    }
}

/// Divides by a positive number, with this rounding.
fn divided(number: IBig, by: &IBig, round: Round) -> IBig {
    match round {
        Round::Down => number.div_euclid(by),
        Round::Up => -(-number).div_euclid(by),
        Round::Near => (IBig::from(2) * number + by).div_euclid(IBig::from(2) * by),
    }
}

fn power(digits: u32) -> IBig {
    IBig::from(10).pow(digits as usize)
}

fn decimal(digits: u32) -> DecimalPoint {
    DecimalPoint::digits(digits as i32).unwrap_or(DecimalPoint::WHOLE)
}

/// Narrows a number to 128 bits. A count has 64 bits and some digits, and a mean is within its range, so both
/// fit.
fn narrow(number: IBig) -> i128 {
    let last = if number < IBig::ZERO { i128::MIN } else { i128::MAX };
    i128::try_from(number).unwrap_or(last)
}

#[cfg(test)]
mod tests;
