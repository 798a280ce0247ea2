//! The numbers of a job file: bounds of a value, and parts of a budget.

use crate::decimal::Decimal;
use crate::invalid::{Invalid, Kind};

/// A bound or an edge of public range: finite, within 2^53 of zero, and never a negative zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Number(f64);

/// Up to here every whole number is a float.
const LARGEST: f64 = (1u64 << 53) as f64;

impl Number {
    /// Reads a plain decimal number, with a `-` where it is below zero.
    ///
    /// # Errors
    ///
    /// If it is none, or too far from zero.
    pub fn parse(text: &str) -> Result<Number, Invalid> {
        let refuse = |kind| Invalid::new("number", kind, "a plain decimal number within 2^53 of zero");
        let (sign, size) = text.strip_prefix('-').map_or((1.0, text), |size| (-1.0, size));
        let size = Decimal::parse("number", size).map_err(|refused| match refused.kind() {
            // Two signs.
            Kind::Negative => refuse(Kind::Malformed),
            kind => refuse(kind),
        })?;
        match size.to_f64() {
            0.0 => Ok(Number(0.0)),
            size if size > LARGEST => Err(refuse(Kind::TooLarge)),
            size if size.is_subnormal() => Err(refuse(Kind::Subnormal)),
            size => Ok(Number(sign * size)),
        }
    }

    /// The number, which is finite.
    pub fn to_f64(self) -> f64 {
        self.0
    }
}

/// A part of a budget: above 0 and at most 1, in parts of 10^18, so that parts are added exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u64);

impl Share {
    /// The whole.
    pub const WHOLE: Share = Share(10u64.pow(Self::DIGITS));

    const DIGITS: u32 = 18;

    /// Reads a part exactly.
    ///
    /// # Errors
    ///
    /// If it is not above 0 and at most 1, or has more than 18 digits behind the point.
    pub fn of(decimal: &Decimal) -> Result<Share, Invalid> {
        let refuse =
            |kind| Err(Invalid::new("share", kind, "a part above 0 and at most 1, with at most 18 digits"));
        let (digits, exponent) = decimal.parts();
        // With the zeros of its end in the power, a number has one form.
        let kept = digits.trim_end_matches('0');
        let exponent = exponent + (digits.len() - kept.len()) as i32;
        let kept = kept.trim_start_matches('0');
        if kept.is_empty() {
            return refuse(Kind::Zero);
        }
        let Ok(zeros) = u32::try_from(exponent + Self::DIGITS as i32) else { return refuse(Kind::TooSmall) };
        let parts = 10u64.checked_pow(zeros).and_then(|unit| kept.parse::<u64>().ok()?.checked_mul(unit));
        match parts {
            Some(parts) if parts <= Self::WHOLE.0 => Ok(Share(parts)),
            _ => refuse(Kind::TooLarge),
        }
    }

    /// In parts of 10^18.
    pub fn parts(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_may_be_negative_and_are_never_infinite() {
        for (text, value) in [("0", 0.0), ("-0", 0.0), ("-1.5", -1.5), ("9007199254740992", LARGEST)] {
            let number = Number::parse(text).unwrap().to_f64();
            assert_eq!((number, number.is_sign_negative()), (value, value < 0.0), "{text}");
        }
        for (text, kind) in [
            ("-9223372036854775808", Kind::TooLarge),
            ("9007199254740994", Kind::TooLarge),
            ("inf", Kind::Infinite),
            ("-inf", Kind::Infinite),
            ("nan", Kind::Nan),
            ("--1", Kind::Malformed),
            ("+1", Kind::Malformed),
            ("1_0", Kind::Malformed),
            ("0x1", Kind::Malformed),
            ("1e400", Kind::TooLarge),
            ("5e-324", Kind::Subnormal),
        ] {
            assert_eq!(Number::parse(text).map_err(|refused| refused.kind()), Err(kind), "{text}");
        }
    }

    #[test]
    fn shares_are_read_exactly() {
        let share =
            |text: &str| Share::of(&Decimal::parse("share", text).unwrap()).map_err(|refused| refused.kind());
        assert_eq!(share("1"), Ok(Share::WHOLE));
        assert_eq!(share("1.000000000000000000000"), Ok(Share::WHOLE));
        assert_eq!(share("10e-1"), Ok(Share::WHOLE));
        assert_eq!(share("0.1"), Ok(Share(100_000_000_000_000_000)));
        assert_eq!(share("0.333333333333333333"), Ok(Share(333_333_333_333_333_333)));
        assert_eq!(share("1e-18"), Ok(Share(1)));
        assert_eq!(share("0"), Err(Kind::Zero));
        assert_eq!(share("1e-19"), Err(Kind::TooSmall));
        assert_eq!(share("0.3333333333333333333"), Err(Kind::TooSmall));
        assert_eq!(share("1.000000000000000001"), Err(Kind::TooLarge));
        assert_eq!(share("2"), Err(Kind::TooLarge));
        assert_eq!(share("1e300"), Err(Kind::TooLarge));
    }
}
