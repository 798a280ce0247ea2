//! The numbers of a job file: bounds of a value, shares of the budget, and quantile fractions.

use std::cmp::Ordering;
use std::fmt;

use dashu_int::{IBig, UBig};

use crate::accounting::BudgetUnits;
use crate::decimal::Decimal;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::DecimalPoint;

/// A bound of a value or an edge of a public range, exactly as written: finite, within 2^53 of zero, and
/// never a negative zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConfigNumber {
    /// The digits, not divisible by ten unless zero: then two numbers are equal exactly when their parts are
    /// equal.
    digits: i128,
    power: i32,
}

/// The largest magnitude of a number: every whole number up to here is a float.
const LARGEST: f64 = (1u64 << 53) as f64;
/// The most digits of a number: they fit 128 bits with room to spare.
const DIGITS: usize = 36;

impl ConfigNumber {
    pub(crate) const ZERO: ConfigNumber = ConfigNumber { digits: 0, power: 0 };

    /// Reads a plain decimal number, with a `-` if it is below zero.
    ///
    /// # Errors
    ///
    /// If the text is no such number, or the number is too far from zero or has more than 36 digits.
    pub fn parse(text: &str) -> Result<ConfigNumber, Invalid> {
        let refuse = |kind| Invalid::new("number", kind, "a plain decimal number within 2^53 of zero");
        let (sign, size) = text.strip_prefix('-').map_or((1, text), |size| (-1, size));
        let size = Decimal::parse("number", size).map_err(|refused| match refused.kind() {
            // The text has two signs.
            InvalidKind::Negative => refuse(InvalidKind::Malformed),
            kind => refuse(kind),
        })?;
        let (written, power) = size.parts();
        let kept = written.trim_end_matches('0');
        let power = power + (written.len() - kept.len()) as i32;
        let kept = kept.trim_start_matches('0');
        match size.to_f64() {
            _ if kept.is_empty() => return Ok(ConfigNumber::ZERO),
            size if size > LARGEST => return Err(refuse(InvalidKind::TooLarge)),
            size if size == 0.0 || size.is_subnormal() => return Err(refuse(InvalidKind::Subnormal)),
            _ => {}
        }
        match kept.parse::<i128>() {
            Ok(digits) if kept.len() <= DIGITS => Ok(ConfigNumber { digits: sign * digits, power }),
            _ => Err(Invalid::new(
                "number",
                InvalidKind::Malformed,
                "a plain decimal number of at most 36 digits",
            )),
        }
    }

    /// Returns the nearest float, which is finite.
    pub fn to_f64(self) -> f64 {
        // The text is within the grammar of floats, and the number within their range.
        format!("{}e{}", self.digits, self.power).parse().unwrap_or(f64::INFINITY)
    }

    /// Returns ten to the power of `power`, which is from -18 to 18.
    pub(crate) fn power(power: i32) -> ConfigNumber {
        ConfigNumber { digits: 1, power }
    }

    /// Returns the absolute value.
    pub(crate) fn size(self) -> ConfigNumber {
        // There are 36 digits at most, so nothing saturates.
        ConfigNumber { digits: self.digits.saturating_abs(), ..self }
    }

    /// Returns true if the number has no digits after its decimal point.
    pub(crate) fn is_whole(self) -> bool {
        self.power >= 0
    }

    /// Returns a whole number, and the power of ten that multiplies it.
    pub(crate) fn parts(self) -> (i128, i32) {
        (self.digits, self.power)
    }
}

/// Compares exactly: two different numbers that round to one float are different.
impl Ord for ConfigNumber {
    fn cmp(&self, other: &ConfigNumber) -> Ordering {
        let common = self.power.min(other.power);
        let whole = |number: &ConfigNumber| {
            IBig::from(number.digits) * IBig::from(10).pow((number.power - common).unsigned_abs() as usize)
        };
        whole(self).cmp(&whole(other))
    }
}

impl PartialOrd for ConfigNumber {
    fn partial_cmp(&self, other: &ConfigNumber) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Prints a plain decimal that is read as the same number.
impl fmt::Display for ConfigNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.power {
            -18..=18 => match DecimalPoint::digits(-self.power) {
                Ok(point) => f.write_str(&point.shown(self.digits)),
                Err(_) => Ok(()),
            },
            power => write!(f, "{}e{power}", self.digits),
        }
    }
}

/// A share of the budget: above 0 and at most 1, stored in units of 10^-18, so that shares are added exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BudgetShare(u64);

impl BudgetShare {
    /// The whole budget.
    pub const WHOLE: BudgetShare = BudgetShare(10u64.pow(Self::DIGITS));

    const DIGITS: u32 = 18;

    /// Reads a share exactly.
    ///
    /// # Errors
    ///
    /// If the decimal is not above 0 and at most 1, or has more than 18 digits after the decimal point.
    pub fn of(decimal: &Decimal) -> Result<BudgetShare, Invalid> {
        let refuse =
            |kind| Err(Invalid::new("share", kind, "a part above 0 and at most 1, with at most 18 digits"));
        let (digits, exponent) = decimal.parts();
        // Trailing zeros move into the exponent, so that equal numbers have one form.
        let kept = digits.trim_end_matches('0');
        let exponent = exponent + (digits.len() - kept.len()) as i32;
        let kept = kept.trim_start_matches('0');
        if kept.is_empty() {
            return refuse(InvalidKind::Zero);
        }
        let Ok(zeros) = u32::try_from(exponent + Self::DIGITS as i32) else {
            return refuse(InvalidKind::TooSmall);
        };
        let parts = 10u64.checked_pow(zeros).and_then(|unit| kept.parse::<u64>().ok()?.checked_mul(unit));
        match parts {
            Some(parts) if parts <= Self::WHOLE.0 => Ok(BudgetShare(parts)),
            _ => refuse(InvalidKind::TooLarge),
        }
    }

    /// Returns the share as a decimal, as a job file states it.
    pub fn to_decimal(self) -> Decimal {
        Decimal::of(&self.0.to_string(), -(Self::DIGITS as i32))
    }

    /// Returns this part of an amount, rounded down.
    pub(crate) fn part_of(self, all: BudgetUnits) -> BudgetUnits {
        let parts = UBig::from(all.to_bits()) * UBig::from(self.0) / UBig::from(Self::WHOLE.0);
        // It is no more than the amount, which fits.
        BudgetUnits::from_bits(u128::try_from(parts).unwrap_or(0))
    }

    /// Returns the share in units of 10^-18.
    pub const fn parts(self) -> u64 {
        self.0
    }
}

/// The fraction of a quantile: between 0 and 1, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuantileFraction(u32);

impl QuantileFraction {
    const DIGITS: u32 = 6;

    /// Reads a fraction exactly.
    ///
    /// # Errors
    ///
    /// If the decimal is not between 0 and 1, or has more than 6 digits after the decimal point.
    pub fn of(decimal: &Decimal) -> Result<QuantileFraction, Invalid> {
        let refuse = |kind| Invalid::new("q", kind, "a part between 0 and 1, with at most 6 digits");
        let share = BudgetShare::of(decimal).map_err(|refused| refuse(refused.kind()))?;
        let unit = 10u64.pow(BudgetShare::DIGITS - Self::DIGITS);
        match u32::try_from(share.parts() / unit) {
            _ if share.parts() % unit != 0 => Err(refuse(InvalidKind::TooSmall)),
            Ok(millionths) if share < BudgetShare::WHOLE => Ok(QuantileFraction(millionths)),
            _ => Err(refuse(InvalidKind::TooLarge)),
        }
    }

    /// Returns the fraction in millionths.
    pub fn millionths(self) -> u32 {
        self.0
    }
}

/// Prints the fraction as a job file states it.
impl fmt::Display for QuantileFraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let behind = format!("{:06}", self.0);
        write!(f, "0.{}", behind.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_may_be_negative_and_are_never_infinite() {
        for (text, value) in [("0", 0.0), ("-0", 0.0), ("-1.5", -1.5), ("9007199254740992", LARGEST)] {
            let number = ConfigNumber::parse(text).unwrap().to_f64();
            assert_eq!((number, number.is_sign_negative()), (value, value < 0.0), "{text}");
        }
        for (text, kind) in [
            ("-9223372036854775808", InvalidKind::TooLarge),
            ("9007199254740994", InvalidKind::TooLarge),
            ("inf", InvalidKind::Infinite),
            ("-inf", InvalidKind::Infinite),
            ("nan", InvalidKind::Nan),
            ("--1", InvalidKind::Malformed),
            ("+1", InvalidKind::Malformed),
            ("1_0", InvalidKind::Malformed),
            ("0x1", InvalidKind::Malformed),
            ("1e400", InvalidKind::TooLarge),
            ("5e-324", InvalidKind::Subnormal),
            ("1e-320", InvalidKind::Subnormal),
            ("1234567890123456789012345678901234567e-30", InvalidKind::Malformed),
        ] {
            assert_eq!(ConfigNumber::parse(text).map_err(|refused| refused.kind()), Err(kind), "{text}");
        }
    }

    // Refutes a number that is compared, printed or stored as a float.
    #[test]
    fn numbers_are_exact() {
        let number = |text: &str| ConfigNumber::parse(text).unwrap();
        assert!(number("0.1") < number("0.1000000000000000000001"));
        assert!(
            number("-0.2") < number("-0.1") && number("-1") < number("1e-9") && number("9") < number("1e1")
        );
        assert_eq!(number("1.50"), number("15e-1"));
        for text in ["0", "-1.5", "0.000000000000000001", "1000000000000000", "1e-30", "-25e-20"] {
            assert_eq!(number(&number(text).to_string()), number(text), "{text}");
        }
        assert_eq!(
            (number("1200").to_string(), number("-0.050").to_string()),
            ("1200".into(), "-0.05".into())
        );
    }

    // Refutes a quantile that is rounded, and a fraction of 0 or 1 that is accepted as a quantile.
    #[test]
    fn quantiles_are_read_exactly() {
        let of = |text: &str| QuantileFraction::of(&Decimal::parse("q", text).unwrap());
        for (text, millionths, printed) in
            [("0.5", 500_000, "0.5"), ("95e-2", 950_000, "0.95"), ("0.000001", 1, "0.000001")]
        {
            let read = of(text).unwrap();
            assert_eq!((read.millionths(), read.to_string().as_str()), (millionths, printed));
        }
        assert_eq!(of("0.999999").unwrap().millionths(), 999_999);
        for (text, kind) in [
            ("0", InvalidKind::Zero),
            ("1", InvalidKind::TooLarge),
            ("50", InvalidKind::TooLarge),
            ("0.9999999", InvalidKind::TooSmall),
            ("1e-7", InvalidKind::TooSmall),
            ("1e-30", InvalidKind::TooSmall),
        ] {
            assert_eq!(of(text).map_err(|refused| refused.kind()), Err(kind), "{text}");
        }
    }

    #[test]
    fn shares_are_read_exactly() {
        let share = |text: &str| {
            BudgetShare::of(&Decimal::parse("share", text).unwrap()).map_err(|refused| refused.kind())
        };
        assert_eq!(share("1"), Ok(BudgetShare::WHOLE));
        assert_eq!(share("1.000000000000000000000"), Ok(BudgetShare::WHOLE));
        assert_eq!(share("10e-1"), Ok(BudgetShare::WHOLE));
        assert_eq!(share("0.1"), Ok(BudgetShare(100_000_000_000_000_000)));
        assert_eq!(share("0.333333333333333333"), Ok(BudgetShare(333_333_333_333_333_333)));
        assert_eq!(share("1e-18"), Ok(BudgetShare(1)));
        assert_eq!(share("0"), Err(InvalidKind::Zero));
        assert_eq!(share("1e-19"), Err(InvalidKind::TooSmall));
        assert_eq!(share("0.3333333333333333333"), Err(InvalidKind::TooSmall));
        assert_eq!(share("1.000000000000000001"), Err(InvalidKind::TooLarge));
        assert_eq!(share("2"), Err(InvalidKind::TooLarge));
        assert_eq!(share("1e300"), Err(InvalidKind::TooLarge));
    }
}
