//! Values: decimal numbers as people and programs write them, converted exactly to whole steps of a power of
//! ten.

/// Converts a number to steps of 10^-`digits`, rounded down, or to the nearest end of `i64` if it is beyond.
/// `None` if the bytes are no number: an optional sign, digits with an optional point, an optional exponent;
/// spaces around it are ignored. No float is involved: 0.29 is 29 hundredths.
#[inline]
pub(crate) fn steps(bytes: &[u8], digits: i32) -> Option<i64> {
    let (negative, bytes) = sign(trimmed(bytes))?;
    // The fast path for nearly all numbers: at most 18 digits, and no part of a step.
    if let Some(size) = short(bytes, digits) {
        return Some(if negative { -size } else { size });
    }
    let steps = signed(size(bytes, i64::from(digits))?, negative);
    Some(i64::try_from(steps).unwrap_or(if negative { i64::MIN } else { i64::MAX }))
}

/// Converts a number to steps as [`steps`] does, to the nearest end of 128 bits if it is beyond.
pub(crate) fn exact_steps(bytes: &[u8], digits: u32) -> Option<i128> {
    let (negative, bytes) = sign(trimmed(bytes))?;
    Some(signed(size(bytes, digits.into())?, negative))
}

/// Returns true for bytes that are a number.
pub(in crate::job) fn is_number(bytes: &[u8]) -> bool {
    exact_steps(bytes, 0).is_some()
}

/// Returns true for a minus sign, and the bytes behind the sign; `None` without any.
#[inline]
fn sign(bytes: &[u8]) -> Option<(bool, &[u8])> {
    Some(match bytes.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, bytes),
    })
}

fn signed(NumberSize { steps, over }: NumberSize, negative: bool) -> i128 {
    match negative {
        // Rounding down moves away from zero.
        true => 0i128.checked_sub_unsigned(steps.saturating_add(over.into())).unwrap_or(i128::MIN),
        false => i128::try_from(steps).unwrap_or(i128::MAX),
    }
}

/// The bytes without the spaces around them.
pub(super) fn trimmed(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii()
}

const POWERS: [i64; 19] = {
    let mut powers = [1; 19];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// The size of a number without an exponent, and with no more than `digits` digits after the point.
#[inline]
fn short(bytes: &[u8], digits: i32) -> Option<i64> {
    if bytes.is_empty() || bytes.len() > 18 {
        return None;
    }
    let (mut size, mut behind, mut point) = (0i64, 0, false);
    for byte in bytes {
        match byte {
            b'0'..=b'9' => {
                size = size * 10 + i64::from(byte - b'0');
                behind += i32::from(point);
            }
            b'.' if !point && bytes.len() > 1 => point = true,
            _ => return None,
        }
    }
    size.checked_mul(*POWERS.get(usize::try_from(digits.checked_sub(behind)?).ok()?)?)
}

/// A size in steps, and a flag for a part of a step beyond it.
struct NumberSize {
    steps: u128,
    over: bool,
}

/// The number of decimal digits that 128 bits always hold.
const DIGITS: u32 = 38;

fn size(bytes: &[u8], digits: i64) -> Option<NumberSize> {
    let end = bytes.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(bytes.len());
    let (number, exponent) = bytes.split_at_checked(end)?;
    let exponent = match exponent.split_first() {
        Some((_, exponent)) => power(exponent)?,
        None => 0,
    };
    // Digits past the held ones count as zeros; any of them that is not zero sets `over`.
    let (mut held, mut count, mut over) = (0u128, 0, false);
    let (mut shift, mut point, mut any) = (exponent.saturating_add(digits), false, false);
    for byte in number {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'.' if !point => {
                point = true;
                continue;
            }
            _ => return None,
        };
        any = true;
        if count < DIGITS {
            held = held * 10 + u128::from(digit);
            count += u32::from(held > 0);
            shift -= i64::from(point);
        } else {
            over |= digit > 0;
            shift += i64::from(!point);
        }
    }
    if !any {
        return None;
    }
    if held == 0 {
        return Some(NumberSize { steps: 0, over });
    }
    let power = |shift: u64| u32::try_from(shift).ok().and_then(|shift| 10u128.checked_pow(shift));
    Some(match (u64::try_from(shift), power(shift.unsigned_abs())) {
        (Ok(_), power) => {
            let steps = power.and_then(|power| held.checked_mul(power));
            NumberSize { steps: steps.unwrap_or(u128::MAX), over }
        }
        (Err(_), Some(power)) => NumberSize { steps: held / power, over: over || held % power > 0 },
        (Err(_), None) => NumberSize { steps: 0, over: true },
    })
}

/// Parses an exponent; past a billion its value makes no difference.
fn power(bytes: &[u8]) -> Option<i64> {
    let (negative, bytes) = sign(bytes)?;
    if bytes.is_empty() {
        return None;
    }
    let mut power = 0i64;
    for byte in bytes {
        let digit = byte.is_ascii_digit().then(|| i64::from(byte - b'0'))?;
        power = (power * 10 + digit).min(1_000_000_000);
    }
    Some(if negative { -power } else { power })
}

#[cfg(test)]
mod tests {
    use dashu_int::IBig;
    use proptest::prelude::*;

    use super::*;

    /// Computes the rule in big integers: the number over a power of ten, by long division.
    fn exactly(text: &str, digits: i32) -> i64 {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().unwrap();
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let number: IBig = format!("{whole}{fraction}").parse().unwrap();
        let shift = exponent + digits - fraction.len() as i32;
        let ten = IBig::from(10).pow(shift.unsigned_abs() as usize);
        let steps = if shift >= 0 {
            number * ten
        } else {
            let down = if number < IBig::from(0) { &ten - IBig::from(1) } else { IBig::from(0) };
            (number - down) / ten
        };
        steps.clamp(i64::MIN.into(), i64::MAX.into()).try_into().unwrap()
    }

    proptest! {
        // Refutes an intermediate float, a wrong end of the range, and rounding to the nearest.
        #[test]
        fn steps_are_exact(
            text in "-?(0{0,3}[0-9]{1,25}|[0-9]{1,45})(\\.[0-9]{1,45})?([eE][-+]?[0-9]{1,2})?",
            digits in -25i32..25,
        ) {
            prop_assert_eq!(steps(text.as_bytes(), digits), Some(exactly(&text, digits)), "{} {}", text, digits);
        }

        #[test]
        fn short_numbers_are_exact(text in "-?[0-9]{1,9}(\\.[0-9]{1,4})?", digits in -3i32..6) {
            prop_assert_eq!(steps(text.as_bytes(), digits), Some(exactly(&text, digits)), "{} {}", text, digits);
        }

        #[test]
        fn anything_is_a_number_or_is_not(
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
            digits in any::<i32>(),
        ) {
            let _ = steps(&bytes, digits);
        }
    }

    #[test]
    fn numbers_are_rounded_down_and_stop_at_the_ends() {
        for (text, digits, expected) in [
            ("0.29", 2, 29),
            ("-0.0", 3, 0),
            ("-0", 0, 0),
            ("1.999", 2, 199),
            ("-1.001", 2, -101),
            ("-0.0000000000000000000000000000000000000000000000000001", 2, -1),
            ("1234", -2, 12),
            ("-1234", -2, -13),
            ("+5", 0, 5),
            (".5", 1, 5),
            ("5.", 1, 50),
            (" 7\t", 0, 7),
            ("1e3", 0, 1000),
            ("1E-3", 2, 0),
            ("-1e-3", 2, -1),
            ("9223372036854775807", 0, i64::MAX),
            ("9223372036854775808", 0, i64::MAX),
            ("-9223372036854775808", 0, i64::MIN),
            ("-9223372036854775809", 0, i64::MIN),
            ("18446744073709551616", 0, i64::MAX),
            ("1e999999999999999999999", 0, i64::MAX),
            ("-1e999999999999999999999", 0, i64::MIN),
            ("1e-999999999999999999999", 0, 0),
            ("-1e-999999999999999999999", 0, -1),
            ("0e999999999999999999999", 0, 0),
            ("5e-324", 6, 0),
        ] {
            assert_eq!(steps(text.as_bytes(), digits), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_plain_decimal_is_none() {
        for text in [
            "", " ", "-", "+", ".", "-.", "e5", ".e5", "1e", "1e+", "1e1.5", "--1", "+-1", "1_0", "0,5",
            "0x10", "NaN", "nan", "inf", "-inf", "Infinity", "1 0", "1.2.3", "１", "1\0", "12a",
        ] {
            assert_eq!(steps(text.as_bytes(), 2), None, "{text}");
        }
    }
}
