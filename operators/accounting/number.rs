//! Small numeric tools: accepted ranges, one-sided rounding, and a bisection that returns only what was
//! checked.

use dashu_int::ops::BitTest;
use dashu_int::{IBig, Sign};

use crate::invalid::{Invalid, InvalidKind, positive};

/// Every probability computed in floats is multiplied by `1 + MARGIN` before it is reported. 2^-36 is a
/// hundred times the worst error of the sums behind them (tests compare with 50-digit arithmetic), and too
/// small to be paid for.
pub(crate) const MARGIN: f64 = 1.0 / (1u64 << 36) as f64;

/// The least probability that is ever reported: smaller truths are rounded up to it.
pub(crate) const TINY: f64 = 1e-300;

/// The largest epsilon that is accepted; above it a promise means nothing, and e^epsilon soon overflows.
pub(crate) const EPSILON_LIMIT: f64 = 500.0;

/// The largest scale of noise, and the largest sensitivity, in lattice units: integers below 2^53 stay exact
/// in floats.
pub(crate) const SCALE_LIMIT: f64 = (1u64 << 40) as f64;

/// The smallest scale of noise. Below it not one draw in 2^1000 would differ from zero.
pub(crate) const SCALE_LEAST: f64 = 1.0 / 1024.0;

/// Accepts an epsilon above zero and up to the limit.
pub(crate) fn epsilon(field: &'static str, value: f64) -> Result<f64, Invalid> {
    between(field, value, f64::MIN_POSITIVE, EPSILON_LIMIT, "a number above 0 and at most 500")
}

/// Accepts a zCDP cost above zero and up to the limit.
pub(crate) fn rho(field: &'static str, value: f64) -> Result<f64, Invalid> {
    epsilon(field, value)
}

/// Accepts a probability that is neither 0 nor 1.
pub(crate) fn probability(field: &'static str, value: f64) -> Result<f64, Invalid> {
    between(field, value, TINY, 1.0f64.next_down(), "a number from 1e-300 to below 1, such as 1e-6")
}

/// Accepts a scale of noise.
pub(crate) fn scale(field: &'static str, value: f64) -> Result<f64, Invalid> {
    between(
        field,
        value,
        SCALE_LEAST,
        SCALE_LIMIT,
        "a number from 1/1024 to 2^40, in units of the integer lattice",
    )
}

/// Accepts an integer sensitivity.
pub(crate) fn shift(field: &'static str, value: u64) -> Result<f64, Invalid> {
    // The limit is a power of two and the cast is exact up to 2^53.
    let kind = match value {
        0 => InvalidKind::Zero,
        _ if value as f64 > SCALE_LIMIT => InvalidKind::TooLarge,
        _ => return Ok(value as f64),
    };
    Err(Invalid::new(field, kind, "a whole number from 1 to 2^40"))
}

/// Accepts a positive number within `least..=most`.
pub(crate) fn between(
    field: &'static str,
    value: f64,
    least: f64,
    most: f64,
    remedy: &'static str,
) -> Result<f64, Invalid> {
    let value = positive(field, value).map_err(|found| Invalid::new(field, found.kind(), remedy))?;
    let kind = if value < least {
        InvalidKind::TooSmall
    } else if value > most {
        InvalidKind::TooLarge
    } else {
        return Ok(value);
    };
    Err(Invalid::new(field, kind, remedy))
}

/// A probability rounded up.
pub(crate) fn probability_up(value: f64) -> f64 {
    (value * (1.0 + MARGIN)).clamp(TINY, 1.0)
}

/// `whole` minus the product of `factors`, which are finite and not negative. The difference is exact, and
/// only the result is rounded, by less than 2 units in its last place: its sign is right, and 0 means equal.
///
/// A loss is compared with epsilon by this. In floats the difference of the two cancels, and what is left of
/// it is rounding error: where noise is small, one point more or less above the threshold is all of delta.
pub(crate) fn beyond_product(whole: i128, factors: &[f64]) -> f64 {
    let (mut product, mut places) = (IBig::ONE, 0_usize);
    for factor in factors {
        let bits = factor.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as usize, bits & ((1 << 52) - 1));
        product *= if exponent == 0 { fraction } else { fraction | 1 << 52 };
        // A float is its fraction times 2^(exponent - 1075), of which 1 stands for 0.
        product <<= exponent.max(1);
        places += 1075;
    }
    let difference = (IBig::from(whole) << places) - product;
    let (sign, size) = difference.into_parts();
    let cut = size.bit_len().saturating_sub(64);
    // At most 64 bits are left.
    let leading = u64::try_from(size >> cut).unwrap_or(u64::MAX) as f64;
    let value = libm::ldexp(leading, cut as i32 - places as i32);
    if sign == Sign::Negative { -value } else { value }
}

/// The least number in `low..=high` that passes, to the last few digits: bisection in the logarithm. What is
/// returned passed; `None` when not even `high` does. Meant for a test that fails below some point and passes
/// above it; where it is not quite so, the result is still one that passed.
pub(crate) fn least(low: f64, high: f64, passes: impl Fn(f64) -> bool) -> Option<f64> {
    if !passes(high) {
        return None;
    }
    let (mut low, mut high) = (low, high);
    if passes(low) {
        return Some(low);
    }
    while high / low > 1.0 + 1e-15 {
        let middle = low.sqrt() * high.sqrt();
        if middle <= low || middle >= high {
            break;
        }
        if passes(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// `value` rounded up to 12 significant decimal digits, and on by one such digit until it passes: what is
/// printed and read back is then exactly what was checked.
pub(crate) fn decimal_up(value: f64, passes: impl Fn(f64) -> bool) -> Option<f64> {
    let text = format!("{value:.11e}");
    let (digits, exponent) = text.split_once('e')?;
    let digits: u64 = digits.replace('.', "").parse().ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    // The nearest 12 digits are at most one below; a few more steps cover a pass that is not quite monotone.
    for step in 0..1000 {
        let candidate: f64 = format!("{}e{}", digits + step, exponent - 11).parse().ok()?;
        if candidate >= value && passes(candidate) {
            return Some(candidate);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_numbers_are_named_for_what_they_are() {
        let kind = |value| epsilon("epsilon", value).map_err(|refused| refused.kind());
        assert_eq!(kind(1.0), Ok(1.0));
        assert_eq!(kind(0.0), Err(InvalidKind::Zero));
        assert_eq!(kind(-0.0), Err(InvalidKind::Zero));
        assert_eq!(kind(-1.0), Err(InvalidKind::Negative));
        assert_eq!(kind(f64::NAN), Err(InvalidKind::Nan));
        assert_eq!(kind(f64::INFINITY), Err(InvalidKind::Infinite));
        assert_eq!(kind(5e-324), Err(InvalidKind::Subnormal));
        assert_eq!(kind(1e6), Err(InvalidKind::TooLarge));
        assert_eq!(probability("delta", 1.0).map_err(|refused| refused.kind()), Err(InvalidKind::TooLarge));
        assert_eq!(
            probability("delta", 1e-301).map_err(|refused| refused.kind()),
            Err(InvalidKind::TooSmall)
        );
        assert_eq!(shift("sensitivity", 0).map_err(|refused| refused.kind()), Err(InvalidKind::Zero));
    }

    // By hand; the last by 60-digit arithmetic: 3 minus 2 times the float below 1.5.
    #[test]
    fn differences_from_a_product_keep_their_sign_and_digits() {
        assert_eq!(beyond_product(6, &[2.0, 1.5, 2.0]), 0.0);
        assert_eq!(beyond_product(-6, &[2.0, 1.5, 2.0]), -12.0);
        assert_eq!(beyond_product(1 << 90, &[0.0, 5.0]), (1_u128 << 90) as f64);
        assert_eq!(beyond_product(0, &[f64::MIN_POSITIVE / 4.0, 0.5]), -f64::MIN_POSITIVE / 8.0);
        assert_eq!(beyond_product(0, &[5e-324, 2.0]), -1e-323);
        assert_eq!(beyond_product(3, &[2.0, 1.5_f64.next_down()]), 2f64.powi(-51));
        assert_eq!(
            beyond_product(1, &[1.0_f64.next_up(), 1.0_f64.next_down()]),
            -(2f64.powi(-53)) + 2f64.powi(-105)
        );
    }

    #[test]
    fn bisection_returns_a_number_that_passed() {
        let found = least(1e-3, 1e12, |x| x * x >= 2.0).unwrap();
        assert!(found * found >= 2.0 && found < 2f64.sqrt() * (1.0 + 1e-14));
        assert_eq!(least(1.0, 2.0, |_| false), None);
        assert_eq!(least(1.0, 2.0, |_| true), Some(1.0));
    }

    #[test]
    fn decimals_round_up_and_stay_short() {
        assert_eq!(decimal_up(9.9999999999999994, |_| true), Some(10.0));
        assert_eq!(decimal_up(1.0 / 3.0, |_| true), Some(0.333333333334));
        assert_eq!(decimal_up(1.0, |x| x > 1.0), Some(1.00000000001));
        assert_eq!(decimal_up(1e12, |_| true), Some(1e12));
    }
}
