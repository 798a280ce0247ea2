//! Amounts as a ledger keeps them: whole multiples of 2^-64.
//!
//! A ledger that adds floats forgets small charges and depends on their order. Integers do neither: sums are
//! exact, the same in every order, and a total can be recomputed from its rows to the last bit. What is not a
//! multiple of 2^-64 is rounded once, when it becomes an amount, against the spender:
//! [`BudgetUnits::at_least`] for charges, [`BudgetUnits::at_most`] for limits. Delta is kept in the same
//! units: a delta below 2^-64 = 5.4e-20 costs 2^-64.

use std::fmt;

use dashu_int::UBig;

use crate::decimal::Decimal;
use crate::invalid::{Invalid, InvalidKind};

/// An amount of rho, epsilon, delta, or of any other cost that adds up; from 0 to just below 2^64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BudgetUnits(u128);

impl BudgetUnits {
    /// Nothing.
    pub const ZERO: BudgetUnits = BudgetUnits(0);

    /// No bound: a limit that nothing reaches, a cost that nothing pays. Stays what it is when anything is
    /// added.
    pub const UNBOUNDED: BudgetUnits = BudgetUnits(u128::MAX);

    /// The exact decimal, rounded up: what a charge is. Anything positive is at least one unit.
    ///
    /// # Errors
    /// Names `field` where the amount is 2^64 or more.
    pub fn at_least(field: &'static str, amount: &Decimal) -> Result<BudgetUnits, Invalid> {
        Self::rounded(field, amount, true)
    }

    /// The exact decimal, rounded down: what a limit is.
    ///
    /// # Errors
    /// Names `field` where the amount is 2^64 or more, or is positive and yet below one unit.
    pub fn at_most(field: &'static str, amount: &Decimal) -> Result<BudgetUnits, Invalid> {
        let units = Self::rounded(field, amount, false)?;
        let (digits, _) = amount.parts();
        if units == BudgetUnits::ZERO && digits.bytes().any(|digit| digit != b'0') {
            return Err(Invalid::new(field, InvalidKind::TooSmall, "at least 2^-64, about 5.5e-20"));
        }
        Ok(units)
    }

    /// The exact value of a float, rounded up.
    ///
    /// # Errors
    /// Names `field` where the float is negative, no number, or 2^64 or more.
    pub fn at_least_float(field: &'static str, amount: f64) -> Result<BudgetUnits, Invalid> {
        Self::scaled(field, amount, f64::ceil)
    }

    /// The exact value of a float, rounded down.
    ///
    /// # Errors
    /// Names `field` where the float is negative, no number, or 2^64 or more.
    pub fn at_most_float(field: &'static str, amount: f64) -> Result<BudgetUnits, Invalid> {
        Self::scaled(field, amount, f64::floor)
    }

    /// An amount from its count of units, as a ledger stores it.
    pub const fn from_bits(bits: u128) -> BudgetUnits {
        BudgetUnits(bits)
    }

    /// The count of units.
    pub const fn to_bits(self) -> u128 {
        self.0
    }

    /// The least float that is not below the amount; infinity where there is no bound.
    pub fn to_float_up(self) -> f64 {
        if self == BudgetUnits::UNBOUNDED {
            return f64::INFINITY;
        }
        // The cast rounds to nearest; the exact comparison is made in integers.
        let near = self.0 as f64;
        let up = if (near as u128) < self.0 { near.next_up() } else { near };
        up * UNIT
    }

    /// The largest float that is not above the amount.
    pub fn to_float_down(self) -> f64 {
        let near = self.0 as f64;
        // 2^128 does not fit back: there the cast saturates at what it came from, or above it.
        let down = if near >= TWO_128 || near as u128 > self.0 { near.next_down() } else { near };
        down * UNIT
    }

    /// The sum.
    ///
    /// # Errors
    /// Names `field` where it is 2^64 or more.
    pub fn plus(self, field: &'static str, other: BudgetUnits) -> Result<BudgetUnits, Invalid> {
        if self.max(other) == BudgetUnits::UNBOUNDED {
            return Ok(BudgetUnits::UNBOUNDED);
        }
        self.0.checked_add(other.0).map(BudgetUnits).ok_or_else(|| overflow(field))
    }

    /// Returns the remainder without `part`; unbounded stays unbounded.
    ///
    /// # Errors
    /// Names `field` where the part is larger.
    pub(crate) fn minus(self, field: &'static str, part: BudgetUnits) -> Result<BudgetUnits, Invalid> {
        if self == BudgetUnits::UNBOUNDED {
            return Ok(self);
        }
        self.0.checked_sub(part.0).map(BudgetUnits).ok_or_else(|| overflow(field))
    }

    /// `count` times the amount.
    ///
    /// # Errors
    /// Names `field` where it is 2^64 or more.
    pub fn times(self, field: &'static str, count: u64) -> Result<BudgetUnits, Invalid> {
        if self == BudgetUnits::UNBOUNDED {
            return Ok(BudgetUnits::UNBOUNDED);
        }
        self.0.checked_mul(u128::from(count)).map(BudgetUnits).ok_or_else(|| overflow(field))
    }

    /// The square, rounded up.
    ///
    /// # Errors
    /// Names `field` where it is 2^64 or more.
    pub fn squared(self, field: &'static str) -> Result<BudgetUnits, Invalid> {
        // (h 2^64 + l)^2 / 2^64 = h^2 2^64 + 2 h l + l^2 / 2^64.
        let (high, low) = (self.0 >> 64, self.0 & u128::from(u64::MAX));
        let square = || {
            let whole = high.checked_mul(high)?.checked_mul(1 << 64)?;
            let cross = high.checked_mul(low)?.checked_mul(2)?;
            whole.checked_add(cross)?.checked_add((low * low).div_ceil(1 << 64))
        };
        square().map(BudgetUnits).ok_or_else(|| overflow(field))
    }

    fn rounded(field: &'static str, amount: &Decimal, up: bool) -> Result<BudgetUnits, Invalid> {
        let (digits, exponent) = amount.parts();
        // Only ASCII digits come out of the reader.
        let digits = UBig::from_str_radix(digits, 10).map_err(|_| overflow(field))?;
        let ten = UBig::from(10u8).pow(exponent.unsigned_abs() as usize);
        let scaled = digits << 64;
        let units = match exponent {
            0.. => scaled * ten,
            _ if up => (scaled + &ten - UBig::ONE) / ten,
            _ => scaled / ten,
        };
        u128::try_from(units).map(BudgetUnits).map_err(|_| overflow(field))
    }

    fn scaled(field: &'static str, amount: f64, round: impl Fn(f64) -> f64) -> Result<BudgetUnits, Invalid> {
        let remedy = "a number that is zero or more, and below 2^64";
        if amount.is_nan() {
            return Err(Invalid::new(field, InvalidKind::Nan, remedy));
        }
        if amount < 0.0 {
            return Err(Invalid::new(field, InvalidKind::Negative, remedy));
        }
        // A power of two: exact, and a subnormal amount becomes a normal float before it is rounded.
        let scaled = round(amount / UNIT);
        if scaled >= TWO_128 {
            return Err(overflow(field));
        }
        Ok(BudgetUnits(scaled as u128))
    }
}

const UNIT: f64 = 1.0 / (1u128 << 64) as f64;
const TWO_128: f64 = 2.0 * (1u128 << 127) as f64;

fn overflow(field: &'static str) -> Invalid {
    Invalid::new(field, InvalidKind::Overflow, "amounts that stay below 2^64")
}

/// To 12 significant digits, to be read; [`BudgetUnits::to_bits`] is exact.
impl fmt::Display for BudgetUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short: f64 = format!("{:.11e}", self.0 as f64 * UNIT).parse().unwrap_or(f64::NAN);
        fmt::Display::fmt(&short, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse("rho", text).unwrap()
    }

    // By hand: 1e-6 * 2^64 = 18446744073709.551616.
    #[test]
    fn charges_round_up_and_limits_down() {
        assert_eq!(BudgetUnits::at_least("rho", &decimal("1e-6")).unwrap().to_bits(), 18_446_744_073_710);
        assert_eq!(BudgetUnits::at_most("rho", &decimal("1e-6")).unwrap().to_bits(), 18_446_744_073_709);
        for exact in ["0.5", "3", "0.0009765625", "1e3"] {
            let up = BudgetUnits::at_least("rho", &decimal(exact)).unwrap();
            assert_eq!(up, BudgetUnits::at_most("rho", &decimal(exact)).unwrap());
            assert_eq!(up.to_float_up(), exact.parse::<f64>().unwrap());
        }
        assert_eq!(BudgetUnits::at_least("rho", &decimal("1e-300")).unwrap().to_bits(), 1);
        assert_eq!(BudgetUnits::at_least_float("rho", 5e-324).unwrap().to_bits(), 1);
        assert_eq!(BudgetUnits::at_least_float("rho", 1e-6).unwrap().to_bits(), 18_446_744_073_710);
        assert_eq!(BudgetUnits::at_most_float("rho", 1e-6).unwrap().to_bits(), 18_446_744_073_709);
        assert_eq!(BudgetUnits::at_least("rho", &decimal("0")).unwrap(), BudgetUnits::ZERO);
        assert_eq!(
            BudgetUnits::at_most("rho", &decimal("1e-300")).unwrap_err().kind(),
            InvalidKind::TooSmall
        );
        assert_eq!(BudgetUnits::at_most("rho", &decimal("0.0")).unwrap(), BudgetUnits::ZERO);
    }

    #[test]
    fn nothing_overflows_in_silence() {
        let overflows = |result: Result<BudgetUnits, Invalid>| {
            assert_eq!(result.unwrap_err().kind(), InvalidKind::Overflow)
        };
        overflows(BudgetUnits::at_least("rho", &decimal("18446744073709551616")));
        overflows(BudgetUnits::at_least_float("rho", 18446744073709551616.0));
        overflows(BudgetUnits::at_least_float("rho", f64::INFINITY));
        overflows(BudgetUnits(u128::MAX - 1).plus("rho", BudgetUnits::from_bits(2)));
        overflows(BudgetUnits::from_bits(1 << 127).times("rho", 2));
        overflows(BudgetUnits::from_bits(1 << 96).squared("rho"));
        assert!(BudgetUnits::at_least("rho", &decimal("18446744073709551615.5")).is_ok());
        assert_eq!(BudgetUnits(u128::MAX - 1).to_float_up(), 18446744073709551616.0);
        assert!(BudgetUnits(u128::MAX - 1).to_float_down() < 18446744073709551616.0);
        let nothing = BudgetUnits::from_bits(1);
        assert_eq!(BudgetUnits::UNBOUNDED.plus("rho", nothing).unwrap(), BudgetUnits::UNBOUNDED);
    }

    proptest! {
        // Refutes a rounding on the wrong side, for every float and every amount.
        #[test]
        fn floats_bracket_amounts(bits: u128, shift in 0u32..128) {
            let units = BudgetUnits(bits >> shift);
            let (down, up) = (units.to_float_down(), units.to_float_up());
            prop_assert!(BudgetUnits::at_most_float("rho", down).unwrap() <= units);
            prop_assert!(down <= up && up <= down.next_up());
            match BudgetUnits::at_least_float("rho", up) {
                Ok(above) => prop_assert!(above >= units),
                Err(_) => prop_assert!(up == 18446744073709551616.0),
            }
        }

        // Against big integers: the square of an amount, rounded up.
        #[test]
        fn squares_round_up(bits in 0u128..1 << 95) {
            let exact = UBig::from(bits) * UBig::from(bits);
            let up = (exact + UBig::from(u64::MAX)) >> 64;
            prop_assert_eq!(UBig::from(BudgetUnits(bits).squared("epsilon").unwrap().to_bits()), up);
        }

        // The printed decimal, read back exactly, is within 12 digits of the amount.
        #[test]
        fn display_is_near(bits: u64) {
            let units = BudgetUnits(u128::from(bits) << 20);
            let back = BudgetUnits::at_least("rho", &decimal(&units.to_string())).unwrap().to_bits() as f64;
            prop_assert!((back - units.0 as f64).abs() <= 6e-12 * units.0 as f64 + 1.0);
        }
    }
}
