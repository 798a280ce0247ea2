//! Decimal numbers in text, read under one strict grammar: `-? mantissa (e [+-]? digits)?`, with a mantissa
//! of digits and at most one point, which may come first or last: `0.1`, `.1`, `1.`.
//!
//! A budget that is misread is a promise that is broken, so nothing is guessed: no comma, no spaces, no
//! leading `+`, no underscores, no hexadecimal, no digits but `0` to `9`. A leading `-`, `nan` and `inf` are
//! read only to be named in the refusal.

use std::borrow::Cow;
use std::fmt;

use crate::invalid::{Invalid, InvalidKind};

/// The maximum number of digits, before and after the point together.
const DIGITS: usize = 60;

/// The largest power of ten in either direction: past it even a float is zero or infinite.
const EXPONENT: i32 = 330;

/// An exact decimal number that is zero or more. Two are equal if their values are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// The digits without zeros at either end; `0` for the number zero.
    digits: String,
    exponent: i32,
}

impl Decimal {
    /// Reads `text`; an error names `field`.
    ///
    /// # Errors
    /// [`InvalidKind::Malformed`] outside the grammar; [`InvalidKind::Negative`], [`InvalidKind::Nan`],
    /// [`InvalidKind::Infinite`] for a value that is no amount; [`InvalidKind::TooLarge`] or
    /// [`InvalidKind::TooSmall`] if the power of ten is beyond 330.
    pub fn parse(field: impl Into<Cow<'static, str>>, text: &str) -> Result<Decimal, Invalid> {
        let kind = match read(text) {
            Ok(decimal) => return Ok(decimal),
            Err(kind) => kind,
        };
        Err(Invalid::new(field, kind, "a plain decimal number that is not negative, such as 0.5 or 1e-6"))
    }

    /// Returns the nearest float.
    pub fn to_f64(&self) -> f64 {
        // The text is within the grammar of floats, and its magnitude is within their range.
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::INFINITY)
    }

    /// Returns the number, if it is whole and below 2^64.
    pub fn to_u64(&self) -> Option<u64> {
        let (whole, zeros) = match self.exponent {
            0.. => (self.digits.as_str(), self.exponent.unsigned_abs()),
            below => {
                let cut = self.digits.len().checked_sub(below.unsigned_abs() as usize)?;
                let (whole, rest) = self.digits.split_at(cut);
                if rest.bytes().any(|digit| digit != b'0') {
                    return None;
                }
                (if whole.is_empty() { "0" } else { whole }, 0)
            }
        };
        whole.parse::<u64>().ok()?.checked_mul(10u64.checked_pow(zeros)?)
    }

    /// Returns the number with these digits, all of them ASCII, times a power of ten.
    pub(crate) fn of(digits: &str, exponent: i32) -> Decimal {
        let kept = digits.trim_end_matches('0');
        let zeros = (digits.len() - kept.len()) as i32;
        match kept.trim_start_matches('0') {
            "" => Decimal { digits: "0".to_owned(), exponent: 0 },
            kept => Decimal { digits: kept.to_owned(), exponent: exponent + zeros },
        }
    }

    /// Returns the digits, and the power of ten by which they are multiplied.
    pub(crate) fn parts(&self) -> (&str, i32) {
        (&self.digits, self.exponent)
    }
}

fn read(text: &str) -> Result<Decimal, InvalidKind> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    match text.to_ascii_lowercase().as_str() {
        "nan" => return Err(InvalidKind::Nan),
        "inf" | "infinity" => return Err(InvalidKind::Infinite),
        "" if !negative => return Err(InvalidKind::Missing),
        _ => {}
    }
    let (mantissa, power) = match text.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, read_power(power)?),
        None => (text, 0),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some(parts) => parts,
        None => (mantissa, ""),
    };
    let digits = format!("{whole}{fraction}");
    if !is_digits(&digits) || digits.len() > DIGITS {
        return Err(InvalidKind::Malformed);
    }
    if negative {
        return Err(InvalidKind::Negative);
    }
    let zero = digits.bytes().all(|digit| digit == b'0');
    // At most 60 digits: the subtraction cannot overflow once the power is in range.
    match power {
        _ if zero => Ok(Decimal::of("", 0)),
        _ if power.abs() <= EXPONENT => Ok(Decimal::of(&digits, power - fraction.len() as i32)),
        ..0 => Err(InvalidKind::TooSmall),
        _ => Err(InvalidKind::TooLarge),
    }
}

/// Formats the shortest text that is read as the same number, in plain digits where they are few.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decimal { digits, exponent } = self;
        let behind = exponent.unsigned_abs() as usize;
        match exponent {
            0..=6 => write!(f, "{digits}{:0>behind$}", ""),
            ..0 if behind <= digits.len() + 3 => {
                let padded = format!("{digits:0>width$}", width = behind + 1);
                let (whole, fraction) = padded.split_at(padded.len() - behind);
                write!(f, "{whole}.{fraction}")
            }
            _ => {
                let (first, rest) = digits.split_at(1);
                let point = if rest.is_empty() { "" } else { "." };
                write!(f, "{first}{point}{rest}e{}", exponent + rest.len() as i32)
            }
        }
    }
}

/// Reads the power of ten; anything beyond a million is as good as the largest.
fn read_power(text: &str) -> Result<i32, InvalidKind> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !is_digits(digits) {
        return Err(InvalidKind::Malformed);
    }
    let size = if digits.len() > 6 { i32::MAX } else { digits.parse().unwrap_or(i32::MAX) };
    Ok(if text.starts_with('-') { -size } else { size })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a lenient reader: every one of these has been accepted somewhere as a budget.
    #[test]
    fn only_plain_decimals_are_read() {
        let kind =
            |text: &str| Decimal::parse("epsilon", text).map_err(|refused| refused.kind()).unwrap_err();
        for text in [
            "0,5", "１", " 1", "1 ", "+1", "0x1", "1_0", ".", ".e1", "1e", "e5", "1e+", "1.5.2", "1e1e1",
            "--1", "0.5f", "٣", "1e1.5",
        ] {
            assert_eq!(kind(text), InvalidKind::Malformed, "{text}");
        }
        assert_eq!(kind(&"1".repeat(61)), InvalidKind::Malformed);
        assert_eq!(kind(""), InvalidKind::Missing);
        assert_eq!(kind("-1"), InvalidKind::Negative);
        assert_eq!(kind("nan"), InvalidKind::Nan);
        assert_eq!(kind("-inf"), InvalidKind::Infinite);
        assert_eq!(kind("1e5000"), InvalidKind::TooLarge);
        assert_eq!(kind("1e99999999999999999999"), InvalidKind::TooLarge);
        assert_eq!(kind("1e-5000"), InvalidKind::TooSmall);
        assert_eq!(kind("1e-99999999999999999999"), InvalidKind::TooSmall);
    }

    #[test]
    fn a_decimal_is_printed_as_it_is_read() {
        let read = |text: &str| Decimal::parse("epsilon", text).unwrap();
        for (text, printed) in [
            ("0.50", "0.5"),
            ("1e-6", "1e-6"),
            ("0.001", "0.001"),
            ("15e-8", "1.5e-7"),
            ("0012", "12"),
            ("1e6", "1000000"),
            ("12e7", "1.2e8"),
            ("0.0", "0"),
            ("1.000", "1"),
            ("123456789e-9", "0.123456789"),
        ] {
            assert_eq!(read(text).to_string(), printed, "{text}");
            assert_eq!(read(printed), read(text));
        }
    }

    #[test]
    fn plain_decimals_keep_their_value() {
        let read = |text| Decimal::parse("epsilon", text).unwrap();
        for (text, value) in [
            ("1e-6", 1e-6),
            (".5", 0.5),
            ("5.", 5.0),
            (".5e-3", 5e-4),
            ("00012.50", 12.5),
            ("3E+2", 300.0),
            ("0e999", 0.0),
        ] {
            assert_eq!(read(text).to_f64(), value, "{text}");
        }
        for (text, value) in
            [("12", Some(12)), ("1.0", Some(1)), ("1e3", Some(1000)), ("1.5", None), ("0.1e1", Some(1))]
        {
            assert_eq!(read(text).to_u64(), value, "{text}");
        }
        assert_eq!(read("1e30").to_u64(), None);
        assert_eq!(read("0.0001").to_u64(), None);
        assert_eq!(read("18446744073709551615").to_u64(), Some(u64::MAX));
    }
}
