//! Which quantile is asked for: an exact fraction.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::decimal::Decimal;
use crate::invalid::{Invalid, InvalidKind, positive};

/// The largest denominator: six digits behind the point.
pub(super) const FINEST: u64 = 1_000_000;

/// A fraction between 0 and 1, exactly, in lowest terms: half of all values are at or below the quantile of 1/2.
///
/// ```
/// use discreet::mechanisms::Quantile;
///
/// let median = Quantile::of(1, 2)?;
/// assert_eq!(median, "0.50".parse()?);
/// // A float is read as the decimal that it is written as, which is not what it is.
/// assert_eq!(Quantile::try_from(0.95)?, Quantile::of(19, 20)?);
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantile {
    numerator: u64,
    denominator: u64,
}

impl Quantile {
    /// `numerator / denominator`.
    ///
    /// # Errors
    /// Names `q` unless the fraction is above 0 and below 1, and in lowest terms has a denominator of at most 10^6.
    pub fn of(numerator: u64, denominator: u64) -> Result<Quantile, Invalid> {
        if numerator == 0 {
            return Err(refused(InvalidKind::Zero));
        }
        if numerator >= denominator {
            return Err(refused(InvalidKind::TooLarge));
        }
        let divisor = greatest_common_divisor(numerator, denominator);
        let (numerator, denominator) = (numerator / divisor, denominator / divisor);
        if denominator > FINEST {
            return Err(refused(InvalidKind::Malformed));
        }
        Ok(Quantile { numerator, denominator })
    }

    /// The number above the bar.
    pub fn numerator(self) -> u64 {
        self.numerator
    }

    /// The number below the bar.
    pub fn denominator(self) -> u64 {
        self.denominator
    }

    /// The nearest float, as it is told.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// By how much one value more or less moves `denominator` times the distance from it, at most.
    pub(super) fn reach(self) -> u64 {
        self.numerator.max(self.denominator - self.numerator)
    }
}

/// The exact value of a decimal.
impl TryFrom<&Decimal> for Quantile {
    type Error = Invalid;

    fn try_from(decimal: &Decimal) -> Result<Quantile, Invalid> {
        let (digits, exponent) = decimal.parts();
        if digits == "0" {
            return Err(refused(InvalidKind::Zero));
        }
        if exponent >= 0 {
            return Err(refused(InvalidKind::TooLarge));
        }
        // No digit at the end is zero: past 18 there is no short fraction either.
        let power = 10u64.checked_pow(exponent.unsigned_abs()).filter(|_| digits.len() <= 18);
        let (Some(power), Ok(digits)) = (power, digits.parse()) else {
            return Err(refused(InvalidKind::Malformed));
        };
        Quantile::of(digits, power)
    }
}

impl FromStr for Quantile {
    type Err = Invalid;

    /// Reads a [`Decimal`] exactly.
    fn from_str(text: &str) -> Result<Quantile, Invalid> {
        Quantile::try_from(&Decimal::parse("q", text).map_err(|error| refused(error.kind()))?)
    }
}

/// The shortest decimal that is read as this float.
impl TryFrom<f64> for Quantile {
    type Error = Invalid;

    fn try_from(value: f64) -> Result<Quantile, Invalid> {
        let value = positive("q", value).map_err(|error| refused(error.kind()))?;
        format!("{value:e}").parse()
    }
}

/// So that `Quantile::of(1, 2)` stands where one is asked for, and what is wrong with it is said there.
impl TryFrom<Result<Quantile, Invalid>> for Quantile {
    type Error = Invalid;

    fn try_from(quantile: Result<Quantile, Invalid>) -> Result<Quantile, Invalid> {
        quantile
    }
}

impl Ord for Quantile {
    fn cmp(&self, other: &Quantile) -> Ordering {
        // Both denominators are at most 10^6.
        (self.numerator * other.denominator).cmp(&(other.numerator * self.denominator))
    }
}

impl PartialOrd for Quantile {
    fn partial_cmp(&self, other: &Quantile) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

fn refused(kind: InvalidKind) -> Invalid {
    Invalid::new("q", kind, "a number above 0 and below 1 with at most 6 digits, such as 0.5 or 0.999")
}

pub(super) fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn of(numerator: u64, denominator: u64) -> Quantile {
        Quantile::of(numerator, denominator).unwrap()
    }

    // Refutes a fraction that went through a float on its way in.
    #[test]
    fn decimals_and_floats_are_read_exactly() {
        for (text, quantile) in [
            ("0.95", of(19, 20)),
            ("0.5", of(1, 2)),
            ("99e-2", of(99, 100)),
            ("0.999999", of(999_999, 1_000_000)),
            ("0.000001", of(1, 1_000_000)),
            ("0.250000000", of(1, 4)),
        ] {
            assert_eq!(text.parse(), Ok(quantile), "{text}");
            assert_eq!(Quantile::try_from(text.parse::<f64>().unwrap()), Ok(quantile), "{text}");
        }
        for thousandth in 1..1000 {
            let float = thousandth as f64 / 1000.0;
            assert_eq!(Quantile::try_from(float), Ok(of(thousandth, 1000)));
            assert_eq!(of(thousandth, 1000).to_f64(), float);
        }
        assert_eq!((of(6, 20).numerator(), of(6, 20).denominator()), (3, 10));
        assert_eq!((of(9, 10).reach(), of(1, 10).reach(), of(1, 2).reach()), (9, 9, 1));
    }

    #[test]
    fn what_is_no_quantile_is_named_for_what_it_is() {
        let text = |text: &str| text.parse::<Quantile>().unwrap_err().kind();
        assert_eq!(
            (text("0"), text("0.0"), text("1"), text("1.5")),
            (InvalidKind::Zero, InvalidKind::Zero, InvalidKind::TooLarge, InvalidKind::TooLarge)
        );
        assert_eq!(
            (text("-0.5"), text("0,5"), text(""), text("nan")),
            (InvalidKind::Negative, InvalidKind::Malformed, InvalidKind::Missing, InvalidKind::Nan)
        );
        assert_eq!(
            (text("0.1234567"), text("1e-40"), text("1e40")),
            (InvalidKind::Malformed, InvalidKind::Malformed, InvalidKind::TooLarge)
        );
        let float = |float: f64| Quantile::try_from(float).unwrap_err().kind();
        assert_eq!(
            (float(0.0), float(1.0), float(f64::NAN)),
            (InvalidKind::Zero, InvalidKind::TooLarge, InvalidKind::Nan)
        );
        assert_eq!(
            (float(1.0 / 3.0), float(1e-300), float(-0.5)),
            (InvalidKind::Malformed, InvalidKind::Malformed, InvalidKind::Negative)
        );
        let of = |a, q| Quantile::of(a, q).unwrap_err().kind();
        assert_eq!(
            (of(0, 5), of(5, 5), of(1, 0), of(1, 1_000_001)),
            (InvalidKind::Zero, InvalidKind::TooLarge, InvalidKind::TooLarge, InvalidKind::Malformed)
        );
        assert_eq!(of(u64::MAX - 1, u64::MAX), InvalidKind::Malformed);
        assert!(Quantile::of(1 << 40, 1 << 41).is_ok());
        assert_eq!("0.1234567".parse::<Quantile>().unwrap_err().field(), "q");
    }

    #[test]
    fn they_are_in_the_order_of_their_values() {
        let mut quantiles = [of(9, 10), of(1, 3), of(1, 2), of(999_999, 1_000_000), of(49, 100)];
        quantiles.sort();
        assert_eq!(
            quantiles.map(|quantile| quantile.to_string()),
            ["1/3", "49/100", "1/2", "9/10", "999999/1000000"]
        );
    }
}
