//! Exact parameters: positive rational numbers, parsed from integers, decimal text or floats without
//! rounding.

use std::fmt;
use std::str::FromStr;

use dashu_int::UBig;

use crate::decimal::Decimal;
use crate::invalid::{Invalid, InvalidKind, positive};

/// A positive rational number, in lowest terms.
///
/// Every float and every decimal is one, so nothing is rounded on the way in:
///
/// ```
/// use discreet::noise::Ratio;
///
/// assert_eq!(Ratio::new(6, 20)?, "0.3".parse()?);
/// assert_eq!(Ratio::try_from(0.5)?, Ratio::new(1, 2)?);
/// assert_ne!(Ratio::try_from(0.3)?, "0.3".parse()?);   // the float is 5404319552844595 / 2^54
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: u128,
    denominator: u128,
}

impl Ratio {
    /// Returns `numerator / denominator`.
    ///
    /// # Errors
    ///
    /// If either is zero.
    pub fn new(numerator: u128, denominator: u128) -> Result<Ratio, Invalid> {
        for (field, value) in [("numerator", numerator), ("denominator", denominator)] {
            if value == 0 {
                return Err(Invalid::new(field, InvalidKind::Zero, "a number above 0"));
            }
        }
        let divisor = greatest_common_divisor(numerator, denominator);
        Ok(Ratio { numerator: numerator / divisor, denominator: denominator / divisor })
    }

    /// Returns the square, as from a standard deviation to the variance that
    /// [`DiscreteGaussian`](super::DiscreteGaussian) takes.
    ///
    /// # Errors
    ///
    /// If the square needs more than 128 bits on either side of the bar.
    pub fn squared(self) -> Result<Ratio, Invalid> {
        let square = |part: u128| {
            let too_long =
                || Invalid::new("value", InvalidKind::Overflow, "a fraction of at most 64 bits by 64");
            part.checked_mul(part).ok_or_else(too_long)
        };
        Ok(Ratio { numerator: square(self.numerator)?, denominator: square(self.denominator)? })
    }

    /// The numerator, in lowest terms.
    pub fn numerator(self) -> u128 {
        self.numerator
    }

    /// The denominator, in lowest terms.
    pub fn denominator(self) -> u128 {
        self.denominator
    }

    /// The nearest float, for printing and for arithmetic that no proof rests on.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Reads the parameter `field` of a distribution, which must lie between `2^-low` and `2^high`, both
    /// included.
    pub(super) fn within<N>(field: &'static str, value: N, low: u32, high: u32) -> Result<Ratio, Invalid>
    where
        N: TryInto<Ratio, Error: Into<Invalid>>,
    {
        let refuse = |kind| Invalid::new(field, kind, format!("a number from 2^-{low} to 2^{high}"));
        let ratio: Ratio = value.try_into().map_err(|error| refuse(error.into().kind()))?;
        // Where a shift does not fit, the shifted side is the larger one: the other is below 2^128.
        let scaled = |value: u128, bits: u32| (value.leading_zeros() >= bits).then(|| value << bits);
        if scaled(ratio.numerator, low).is_some_and(|numerator| numerator < ratio.denominator) {
            return Err(refuse(InvalidKind::TooSmall));
        }
        if scaled(ratio.denominator, high).is_some_and(|denominator| denominator < ratio.numerator) {
            return Err(refuse(InvalidKind::TooLarge));
        }
        Ok(ratio)
    }
}

/// The exact value of a float.
impl TryFrom<f64> for Ratio {
    type Error = Invalid;

    /// Refuses zero, negative numbers, NaN, infinities, subnormals, and numbers that need more than 128 bits
    /// on either side of the bar.
    fn try_from(value: f64) -> Result<Ratio, Invalid> {
        let value = positive("number", value)?;
        let bits = value.to_bits();
        let exponent = (bits >> 52) as i32 - 1075;
        let mantissa = u128::from(bits & ((1 << 52) - 1) | 1 << 52);
        let shift = mantissa.trailing_zeros();
        let (mantissa, exponent) = (mantissa >> shift, exponent + shift as i32);
        if exponent < -127 {
            return Err(Invalid::new("number", InvalidKind::TooSmall, "a multiple of 2^-127"));
        }
        if exponent < 0 {
            return Ratio::new(mantissa, 1 << -exponent);
        }
        if exponent >= mantissa.leading_zeros() as i32 {
            return Err(Invalid::new("number", InvalidKind::TooLarge, "a number below 2^127"));
        }
        Ratio::new(mantissa << exponent, 1)
    }
}

/// The exact value of a decimal.
impl TryFrom<&Decimal> for Ratio {
    type Error = Invalid;

    /// Refuses zero, and decimals that need more than 128 bits on either side of the bar.
    fn try_from(decimal: &Decimal) -> Result<Ratio, Invalid> {
        let (digits, exponent) = decimal.parts();
        let too_long = || Invalid::new("number", InvalidKind::TooLarge, "at most 38 digits");
        let digits: u128 = digits.parse().map_err(|_| too_long())?;
        if digits == 0 {
            return Err(Invalid::new("number", InvalidKind::Zero, "a number above 0"));
        }
        let power = 10u128.checked_pow(exponent.unsigned_abs());
        if exponent < 0 {
            let power =
                power.ok_or_else(|| Invalid::new("number", InvalidKind::TooSmall, "at most 38 decimals"))?;
            return Ratio::new(digits, power);
        }
        Ratio::new(power.and_then(|power| digits.checked_mul(power)).ok_or_else(too_long)?, 1)
    }
}

impl FromStr for Ratio {
    type Err = Invalid;

    /// Reads a [`Decimal`] exactly.
    fn from_str(text: &str) -> Result<Ratio, Invalid> {
        Ratio::try_from(&Decimal::parse("number", text)?)
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

// Non-negative fractions inside the samplers: products of parameters that stay in 128 bits while they fit
// and go to big integers when they do not. They never wrap, and which of the two is in use never changes a
// distribution.

/// A non-negative fraction.
#[derive(Clone, Debug)]
pub(crate) enum Fraction {
    Small(u128, u128),
    Large(UBig, UBig),
}

impl Fraction {
    pub(crate) const ZERO: Fraction = Fraction::Small(0, 1);

    /// Returns the product of `numerators` over the product of `denominators`, of which none is zero.
    pub(crate) fn product(numerators: &[u128], denominators: &[u128]) -> Fraction {
        let small = |factors: &[u128]| factors.iter().try_fold(1u128, |product, &f| product.checked_mul(f));
        match (small(numerators), small(denominators)) {
            (Some(numerator), Some(denominator)) => Fraction::Small(numerator, denominator),
            _ => {
                let large = |factors: &[u128]| factors.iter().map(|&f| UBig::from(f)).product();
                Fraction::Large(large(numerators), large(denominators))
            }
        }
    }

    /// Returns this fraction times `numerator / denominator`.
    pub(crate) fn times(&self, numerator: u128, denominator: u128) -> Fraction {
        match self {
            Fraction::Small(a, b) => Fraction::product(&[*a, numerator], &[*b, denominator]),
            Fraction::Large(a, b) => Fraction::Large(a * UBig::from(numerator), b * UBig::from(denominator)),
        }
    }

    /// Returns the numerator and the denominator.
    pub(crate) fn parts(&self) -> (UBig, UBig) {
        match self {
            Fraction::Small(a, b) => (UBig::from(*a), UBig::from(*b)),
            Fraction::Large(a, b) => (a.clone(), b.clone()),
        }
    }

    /// Returns the largest integer at or below this fraction, or that of 128 bits.
    pub(crate) fn floor(&self) -> u128 {
        match self {
            Fraction::Small(a, b) => a / b,
            Fraction::Large(a, b) => u128::try_from(&(a / b)).unwrap_or(u128::MAX),
        }
    }

    /// Returns the least integer at or above this fraction.
    pub(crate) fn ceiling(&self) -> UBig {
        let (numerator, denominator) = self.parts();
        (numerator + &denominator - UBig::ONE) / denominator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_read_exactly() {
        assert_eq!(Ratio::try_from(0.3).unwrap(), Ratio::new(5_404_319_552_844_595, 1 << 54).unwrap());
        assert_eq!(Ratio::try_from(1048576.0).unwrap(), Ratio::new(1 << 20, 1).unwrap());
        assert_eq!(Ratio::try_from(2f64.powi(126)).unwrap(), Ratio::new(1 << 126, 1).unwrap());
        assert_eq!(Ratio::try_from(2f64.powi(-127)).unwrap(), Ratio::new(1, 1 << 127).unwrap());
    }

    #[test]
    fn squares_are_exact_or_refused() {
        let sigma: Ratio = "4.2247".parse().unwrap();
        assert_eq!(sigma.squared().unwrap(), "17.84809009".parse().unwrap());
        assert_eq!(Ratio::new(1 << 64, 1).unwrap().squared().unwrap_err().kind(), InvalidKind::Overflow);
    }

    #[test]
    fn every_bad_float_is_named_for_what_it_is() {
        let kind = |value: f64| Ratio::try_from(value).unwrap_err().kind();
        assert_eq!(kind(0.0), InvalidKind::Zero);
        assert_eq!(kind(-0.0), InvalidKind::Zero);
        assert_eq!(kind(-1.0), InvalidKind::Negative);
        assert_eq!(kind(f64::NEG_INFINITY), InvalidKind::Negative);
        assert_eq!(kind(f64::NAN), InvalidKind::Nan);
        assert_eq!(kind(f64::INFINITY), InvalidKind::Infinite);
        assert_eq!(kind(5e-324), InvalidKind::Subnormal);
        assert_eq!(kind(f64::MAX), InvalidKind::TooLarge);
        assert_eq!(kind(f64::MIN_POSITIVE), InvalidKind::TooSmall);
    }

    #[test]
    fn decimals_are_read_exactly() {
        let read = |text: &str| text.parse::<Ratio>();
        assert_eq!(read("12.50").unwrap().to_string(), "25/2");
        assert_eq!(read("1e-6").unwrap(), Ratio::new(1, 1_000_000).unwrap());
        assert_eq!(read("2.5e3").unwrap(), Ratio::new(2500, 1).unwrap());
        assert_eq!(read("0,5").unwrap_err().kind(), InvalidKind::Malformed);
        assert_eq!(read("0.00").unwrap_err().kind(), InvalidKind::Zero);
        for long in ["9".repeat(40), "1e39".to_owned(), format!("1{}e9", "0".repeat(30))] {
            assert_eq!(read(&long).unwrap_err().kind(), InvalidKind::TooLarge, "{long}");
        }
        assert_eq!(read("1e-39").unwrap_err().kind(), InvalidKind::TooSmall);
    }

    #[test]
    fn bounds_hold_for_numbers_of_any_size() {
        let within =
            |n, d| Ratio::within("scale", Ratio::new(n, d).unwrap(), 8, 52).map_err(|error| error.kind());
        assert!(within(1, 256).is_ok());
        assert_eq!(within(1, 257), Err(InvalidKind::TooSmall));
        assert!(within(1 << 52, 1).is_ok());
        assert_eq!(within((1 << 52) + 1, 1), Err(InvalidKind::TooLarge));
        assert_eq!(within(1, u128::MAX), Err(InvalidKind::TooSmall));
        assert_eq!(within(u128::MAX, 1), Err(InvalidKind::TooLarge));
        assert!(within(u128::MAX, u128::MAX - 1).is_ok());
    }

    #[test]
    fn a_refused_float_names_the_parameter_and_its_limits() {
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 5e-324, 1e300, 1e-300] {
            let error = Ratio::within("sigma", value, 5, 52).unwrap_err();
            assert_eq!((error.field(), error.remedy()), ("sigma", "a number from 2^-5 to 2^52"), "{value}");
        }
    }
}

#[cfg(test)]
mod fraction_tests {
    use super::*;

    #[test]
    fn products_past_128_bits_do_not_wrap() {
        let half = Fraction::product(&[u128::MAX, u128::MAX], &[u128::MAX, u128::MAX, 2]);
        assert!(matches!(half, Fraction::Large(..)));
        let (numerator, denominator) = half.parts();
        assert_eq!(numerator * UBig::from(2u8), denominator);
    }

    #[test]
    fn ceilings_round_up() {
        assert_eq!(Fraction::product(&[7], &[2]).ceiling(), UBig::from(4u8));
        assert_eq!(Fraction::product(&[8], &[2]).ceiling(), UBig::from(4u8));
        assert_eq!(Fraction::ZERO.ceiling(), UBig::ZERO);
    }

    #[test]
    fn floors_round_down_in_both_widths() {
        assert_eq!(Fraction::product(&[7], &[2]).floor(), 3);
        assert_eq!(Fraction::product(&[8], &[2]).floor(), 4);
        assert_eq!(Fraction::product(&[u128::MAX, 7], &[u128::MAX, 2]).floor(), 3);
        assert_eq!(Fraction::product(&[u128::MAX, 7], &[2]).floor(), u128::MAX);
    }
}
