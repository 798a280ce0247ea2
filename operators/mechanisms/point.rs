//! Where the decimal point of a whole number stands when it is told.

use std::fmt::Write;

use crate::invalid::{Invalid, InvalidKind};

/// How many of a whole number's digits stand behind the decimal point when it is told.
///
/// What is tallied are whole numbers. A price of 12.34 is tallied as 1234 steps of a hundredth; with two digits behind the
/// point it is told as it was brought. Where the point stands is public, and changes nothing else.
///
/// ```
/// use discreet::mechanisms::Point;
///
/// assert_eq!(Point::digits(2)?.shown(-1234), "-12.34");
/// assert_eq!(Point::digits(2)?.shown(1200), "12");
/// assert_eq!(Point::digits(-2)?.shown(1234), "123400");
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DecimalPoint(i8);

/// Up to here a power of ten is a float, exactly.
const MOST: i32 = 18;

impl DecimalPoint {
    /// Behind the last digit: numbers are told as they are.
    pub const WHOLE: DecimalPoint = DecimalPoint(0);

    /// Before the last `digits` digits; below zero, behind so many zeros more.
    ///
    /// # Errors
    /// Names `digits` unless it is from -18 to 18.
    pub fn digits(digits: i32) -> Result<DecimalPoint, Invalid> {
        match i8::try_from(digits) {
            Ok(count) if digits.abs() <= MOST => Ok(DecimalPoint(count)),
            _ => Err(Invalid::new("digits", InvalidKind::TooLarge, "a whole number from -18 to 18")),
        }
    }

    /// How many digits stand behind it.
    pub fn count(self) -> i32 {
        self.0.into()
    }

    /// A whole number with its point, exactly: a plain decimal, without zeros at the end of its fraction.
    pub fn shown(self, number: i128) -> String {
        let mut text = number.to_string();
        let Ok(behind) = usize::try_from(self.0) else {
            if number != 0 {
                text.extend(std::iter::repeat_n('0', usize::from(self.0.unsigned_abs())));
            }
            return text;
        };
        if behind == 0 {
            return text;
        }
        let (sign, size) = (if number < 0 { "-" } else { "" }, number.unsigned_abs());
        let unit = 10u128.pow(behind as u32);
        let (whole, part) = (size / unit, size % unit);
        text.clear();
        // Writing to a text does not fail.
        let _ = write!(text, "{sign}{whole}.{part:0behind$}");
        let end = text.trim_end_matches('0').trim_end_matches('.').len();
        text.truncate(end);
        text
    }

    /// The same of a number that has been noised and divided, rounded to the nearest float.
    pub fn float(self, number: f64) -> f64 {
        let unit = 10f64.powi(self.count().abs());
        if self.0 < 0 { number * unit } else { number / unit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_point_stands_where_it_was_put() {
        let shown = |digits: i32, number: i128| DecimalPoint::digits(digits).unwrap().shown(number);
        for (digits, number, text) in [
            (0, -1200, "-1200"),
            (0, 0, "0"),
            (3, 1, "0.001"),
            (3, -1, "-0.001"),
            (3, -1000, "-1"),
            (2, 120, "1.2"),
            (2, 0, "0"),
            (18, i128::MAX, "170141183460469231731.687303715884105727"),
            (18, i128::MIN, "-170141183460469231731.687303715884105728"),
            (-1, 7, "70"),
            (-3, 0, "0"),
            (-3, -5, "-5000"),
        ] {
            assert_eq!(shown(digits, number), text, "{number} with {digits} digits");
        }
        assert!(DecimalPoint::digits(19).is_err() && DecimalPoint::digits(-19).is_err());
        assert_eq!(DecimalPoint::default(), DecimalPoint::WHOLE);
    }

    proptest! {
        // Refutes a digit that is lost: read as a float, the text is the nearest one to the number.
        #[test]
        fn a_float_of_the_text_is_the_float_of_the_number(number in -(1i64 << 53)..1 << 53, digits in -18i32..=18) {
            let point = DecimalPoint::digits(digits).unwrap();
            let text: f64 = point.shown(number.into()).parse().unwrap();
            prop_assert_eq!(text, point.float(number as f64));
        }
    }
}
