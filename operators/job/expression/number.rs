//! The numbers of expressions: exact multiples of 10^-9, of at most 10^15.

use std::fmt;

use crate::job::sources::exact_steps;

/// The digits behind the point that every number has.
const DIGITS: u32 = 9;
/// One, in steps.
const ONE: i128 = 10i128.pow(DIGITS);
/// The largest size, in steps.
const MOST: i128 = 1_000_000_000_000_000 * ONE;

/// A number in steps of 10^-9. Every operation is exact but for what lies behind the last digit, which is cut off towards
/// the lower number; `None` is a result beyond 10^15, or one that there is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ExactNumber(i128);

impl ExactNumber {
    /// Parses a number as people and programs write it.
    pub(super) fn read(bytes: &[u8]) -> Option<ExactNumber> {
        ExactNumber::of(exact_steps(bytes, DIGITS)?)
    }

    /// Returns a whole number.
    pub(super) fn whole(number: i64) -> Option<ExactNumber> {
        ExactNumber::of(i128::from(number) * ONE)
    }

    fn of(steps: i128) -> Option<ExactNumber> {
        (steps.unsigned_abs() <= MOST.unsigned_abs()).then_some(ExactNumber(steps))
    }

    pub(super) fn negative(self) -> ExactNumber {
        ExactNumber(-self.0)
    }

    pub(super) fn absolute(self) -> ExactNumber {
        ExactNumber(self.0.abs())
    }

    /// Returns the largest whole number that is not above it.
    pub(super) fn floor(self) -> ExactNumber {
        ExactNumber(self.0 - self.0.rem_euclid(ONE))
    }

    pub(super) fn plus(self, other: ExactNumber) -> Option<ExactNumber> {
        ExactNumber::of(self.0 + other.0)
    }

    pub(super) fn minus(self, other: ExactNumber) -> Option<ExactNumber> {
        self.plus(other.negative())
    }

    pub(super) fn times(self, other: ExactNumber) -> Option<ExactNumber> {
        // The product of the whole steps may have 48 digits, and 128 bits hold 38: the whole part and the rest are
        // multiplied apart. Where the first product overflows, the result is beyond 10^15.
        let (whole, rest) = (self.0.div_euclid(ONE), self.0.rem_euclid(ONE));
        ExactNumber::of(whole.checked_mul(other.0)? + (rest * other.0).div_euclid(ONE))
    }

    pub(super) fn by(self, other: ExactNumber) -> Option<ExactNumber> {
        let (dividend, divisor) = match other.0.signum() {
            0 => return None,
            sign => (self.0 * ONE * sign, other.0 * sign),
        };
        ExactNumber::of(dividend.div_euclid(divisor))
    }
}

/// Formats the number without zeros at its end.
impl fmt::Display for ExactNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.unsigned_abs();
        let (whole, mut rest) = (size / ONE.unsigned_abs(), size % ONE.unsigned_abs());
        if self.0 < 0 {
            f.write_str("-")?;
        }
        write!(f, "{whole}")?;
        if rest == 0 {
            return Ok(());
        }
        let mut digits = DIGITS as usize;
        while rest.is_multiple_of(10) {
            (rest, digits) = (rest / 10, digits - 1);
        }
        write!(f, ".{rest:0digits$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> ExactNumber {
        ExactNumber::read(text.as_bytes()).unwrap()
    }

    // Refutes numbers that are rounded up, in parts of a step, or at the ends of their range.
    #[test]
    fn numbers_are_cut_off_towards_the_lower_one() {
        for (text, shown) in [
            ("1.50", "1.5"),
            ("-0.0", "0"),
            ("1e3", "1000"),
            (" +7. ", "7"),
            ("0.0000000019", "0.000000001"),
            ("-0.0000000011", "-0.000000002"),
            ("1000000000000000", "1000000000000000"),
            ("-1e15", "-1000000000000000"),
            ("12345.678900000", "12345.6789"),
        ] {
            assert_eq!(number(text).to_string(), shown, "{text}");
        }
        for text in
            ["", "x", "1e16", "1000000000000000.000000001", "-1000000000000000.0000000001", "1,5", "1e300"]
        {
            assert_eq!(ExactNumber::read(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn operations_are_exact_or_nothing() {
        let some = |text: &str| Some(number(text));
        assert_eq!(number("0.1").plus(number("0.2")), some("0.3"));
        assert_eq!(number("1e15").plus(number("0.000000001")), None);
        assert_eq!(number("-1e15").minus(number("0.000000001")), None);
        assert_eq!(
            number("999999999.999999999").times(number("999999.5")),
            some("999999499999999.999000000500")
        );
        assert_eq!(number("-0.000000001").times(number("0.5")), some("-0.000000001"));
        assert_eq!(number("-0.5").times(number("0.000000001")), some("-0.000000001"));
        assert_eq!(number("1e15").times(number("-1e15")), None);
        assert_eq!(number("1999").by(number("100")), some("19.99"));
        assert_eq!(number("1").by(number("-3")), some("-0.333333334"));
        assert_eq!(number("-1").by(number("3")), some("-0.333333334"));
        assert_eq!(number("-1").by(number("-3")), some("0.333333333"));
        assert_eq!(number("1").by(number("0")), None);
        assert_eq!(number("1e15").by(number("0.1")), None);
        assert_eq!(number("-1.5").floor(), number("-2"));
        assert_eq!(number("-1.5").absolute(), number("1.5"));
        assert_eq!(ExactNumber::whole(i64::MAX), None);
    }
}
