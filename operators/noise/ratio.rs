//! Exact parameters: a positive rational number, read from integers, decimal text or a float without rounding.

use std::fmt;
use std::str::FromStr;

use crate::invalid::{Invalid, Kind, positive};

/// A positive rational number, in lowest terms.
///
/// Every float and every decimal is one, so nothing is rounded on the way in:
///
/// ```
/// use discreet::noise::Ratio;
///
/// assert_eq!(Ratio::new(6, 20)?, "0.3".parse()?);
/// assert_eq!(Ratio::from_f64(0.5)?, Ratio::new(1, 2)?);
/// assert_ne!(Ratio::from_f64(0.3)?, "0.3".parse()?);   // the float is 5404319552844595 / 2^54
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: u128,
    denominator: u128,
}

impl Ratio {
    /// `numerator / denominator`.
    ///
    /// # Errors
    ///
    /// If either is zero.
    pub fn new(numerator: u128, denominator: u128) -> Result<Ratio, Invalid> {
        for (field, value) in [("numerator", numerator), ("denominator", denominator)] {
            if value == 0 {
                return Err(Invalid::new(field, Kind::Zero, "a number above 0"));
            }
        }
        let divisor = greatest_common_divisor(numerator, denominator);
        Ok(Ratio { numerator: numerator / divisor, denominator: denominator / divisor })
    }

    /// The exact value of a float.
    ///
    /// # Errors
    ///
    /// If it is zero, negative, NaN, infinite, subnormal, or needs more than 128 bits on either side of the bar.
    pub fn from_f64(value: f64) -> Result<Ratio, Invalid> {
        let value = positive("value", value)?;
        let bits = value.to_bits();
        let exponent = (bits >> 52) as i32 - 1075;
        let mantissa = u128::from(bits & ((1 << 52) - 1) | 1 << 52);
        let shift = mantissa.trailing_zeros();
        let (mantissa, exponent) = (mantissa >> shift, exponent + shift as i32);
        if exponent >= 0 {
            let fits = exponent < mantissa.leading_zeros() as i32;
            let too_large = || Invalid::new("value", Kind::TooLarge, "a number below 2^127");
            let numerator = fits.then(|| mantissa << exponent).ok_or_else(too_large)?;
            return Ratio::new(numerator, 1);
        }
        if exponent < -127 {
            return Err(Invalid::new("value", Kind::TooSmall, "a multiple of 2^-127"));
        }
        Ratio::new(mantissa, 1 << -exponent)
    }

    /// Its square, as from a standard deviation to the variance that [`DiscreteGaussian`](super::DiscreteGaussian)
    /// takes.
    ///
    /// # Errors
    ///
    /// If the square needs more than 128 bits on either side of the bar.
    pub fn squared(self) -> Result<Ratio, Invalid> {
        let square = |part: u128| {
            let too_long = || Invalid::new("value", Kind::Overflow, "a fraction of at most 64 bits by 64");
            part.checked_mul(part).ok_or_else(too_long)
        };
        Ok(Ratio { numerator: square(self.numerator)?, denominator: square(self.denominator)? })
    }

    /// The number above the bar.
    pub fn numerator(self) -> u128 {
        self.numerator
    }

    /// The number below the bar.
    pub fn denominator(self) -> u128 {
        self.denominator
    }

    /// The nearest float, for printing and for arithmetic that no proof rests on.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Whether it lies between `2^low` and `2^high`, both included, for `low <= 0 <= high`.
    pub(crate) fn within(self, low: u32, high: u32) -> Result<Ratio, Kind> {
        let scaled = |value: u128, bits: u32| (value.leading_zeros() >= bits).then(|| value << bits);
        // Where the shift does not fit, the shifted side is the larger one: the other is below 2^128.
        if scaled(self.numerator, low).is_some_and(|numerator| numerator < self.denominator) {
            return Err(Kind::TooSmall);
        }
        if scaled(self.denominator, high).is_some_and(|denominator| denominator < self.numerator) {
            return Err(Kind::TooLarge);
        }
        Ok(self)
    }
}

impl FromStr for Ratio {
    type Err = Invalid;

    /// Reads plain decimals such as `3`, `0.3` or `12.50`: ASCII digits and at most one point, no sign, no exponent.
    fn from_str(text: &str) -> Result<Ratio, Invalid> {
        let malformed = || Invalid::new("number", Kind::Malformed, "a plain decimal such as 12.5");
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        if whole.is_empty() || decimals.is_empty() {
            return Err(malformed());
        }
        let mut numerator = 0u128;
        for digit in whole.bytes().chain(decimals.bytes()) {
            if !digit.is_ascii_digit() {
                return Err(malformed());
            }
            numerator = numerator
                .checked_mul(10)
                .and_then(|tens| tens.checked_add(u128::from(digit - b'0')))
                .ok_or_else(|| Invalid::new("number", Kind::TooLarge, "at most 38 digits"))?;
        }
        if numerator == 0 {
            return Err(Invalid::new("number", Kind::Zero, "a number above 0"));
        }
        let places = u32::try_from(decimals.len()).ok();
        let denominator = places
            .and_then(|places| 10u128.checked_pow(places))
            .ok_or_else(|| Invalid::new("number", Kind::TooSmall, "at most 38 decimals"))?;
        Ratio::new(numerator, denominator)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_read_exactly() {
        assert_eq!(Ratio::from_f64(0.3).unwrap(), Ratio::new(5_404_319_552_844_595, 1 << 54).unwrap());
        assert_eq!(Ratio::from_f64(1048576.0).unwrap(), Ratio::new(1 << 20, 1).unwrap());
        assert_eq!(Ratio::from_f64(2f64.powi(126)).unwrap(), Ratio::new(1 << 126, 1).unwrap());
        assert_eq!(Ratio::from_f64(2f64.powi(-127)).unwrap(), Ratio::new(1, 1 << 127).unwrap());
    }

    #[test]
    fn squares_are_exact_or_refused() {
        let sigma: Ratio = "4.2247".parse().unwrap();
        assert_eq!(sigma.squared().unwrap(), "17.84809009".parse().unwrap());
        assert_eq!(Ratio::new(1 << 64, 1).unwrap().squared().unwrap_err().kind(), Kind::Overflow);
    }

    #[test]
    fn every_bad_float_is_named_for_what_it_is() {
        let kind = |value| Ratio::from_f64(value).unwrap_err().kind();
        assert_eq!(kind(0.0), Kind::Zero);
        assert_eq!(kind(-0.0), Kind::Zero);
        assert_eq!(kind(-1.0), Kind::Negative);
        assert_eq!(kind(f64::NEG_INFINITY), Kind::Negative);
        assert_eq!(kind(f64::NAN), Kind::Nan);
        assert_eq!(kind(f64::INFINITY), Kind::Infinite);
        assert_eq!(kind(5e-324), Kind::Subnormal);
        assert_eq!(kind(f64::MAX), Kind::TooLarge);
        assert_eq!(kind(f64::MIN_POSITIVE), Kind::TooSmall);
    }

    #[test]
    fn decimals_follow_one_strict_grammar() {
        assert_eq!("12.50".parse::<Ratio>().unwrap().to_string(), "25/2");
        for text in ["", ".", "1.", ".5", "0,5", " 1", "+1", "-1", "1e3", "0x1", "1_0", "１", "1.2.3"] {
            assert_eq!(text.parse::<Ratio>().unwrap_err().kind(), Kind::Malformed, "{text:?}");
        }
        assert_eq!("0.00".parse::<Ratio>().unwrap_err().kind(), Kind::Zero);
        assert_eq!("9".repeat(40).parse::<Ratio>().unwrap_err().kind(), Kind::TooLarge);
        assert_eq!(format!("0.{}1", "0".repeat(40)).parse::<Ratio>().unwrap_err().kind(), Kind::TooSmall);
    }

    #[test]
    fn bounds_hold_for_numbers_of_any_size() {
        let ratio = |n, d| Ratio::new(n, d).unwrap();
        assert!(ratio(1, 256).within(8, 52).is_ok());
        assert_eq!(ratio(1, 257).within(8, 52), Err(Kind::TooSmall));
        assert!(ratio(1 << 52, 1).within(8, 52).is_ok());
        assert_eq!(ratio((1 << 52) + 1, 1).within(8, 52), Err(Kind::TooLarge));
        assert_eq!(ratio(1, u128::MAX).within(8, 52), Err(Kind::TooSmall));
        assert_eq!(ratio(u128::MAX, 1).within(8, 52), Err(Kind::TooLarge));
        assert!(ratio(u128::MAX, u128::MAX - 1).within(8, 52).is_ok());
    }
}
