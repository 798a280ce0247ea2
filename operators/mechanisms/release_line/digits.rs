//! The digits of a released number that people read: as many as its noise leaves a meaning.
//!
//! A number keeps two digits of half of its interval, and without one two digits of its noise. The ends of an interval are
//! rounded outwards, so that what is said of it holds of the rounded one. Whole numbers, and values that were chosen from a
//! public grid, stay as they are; lines and tables (CSV) always have every digit.

use super::{CellLine, CellNoise};

/// The digits of a number without an interval and without noise of its own.
const SIGNIFICANT: i32 = 6;

/// The numbers of a cell as people read them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ShownNumbers {
    pub(crate) value: Option<String>,
    pub(crate) low: Option<String>,
    pub(crate) high: Option<String>,
    /// The exact numbers of a demonstration.
    pub(crate) tally: Option<String>,
    pub(crate) truth: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Towards {
    Nearest,
    Lower,
    Higher,
}

impl CellLine<'_> {
    /// Returns the numbers of the cell, rounded for people.
    pub(crate) fn shown(&self) -> ShownNumbers {
        let all = |text: Option<&str>, towards| text.map(|text| self.rounded(text, towards));
        ShownNumbers {
            value: all(self.value, Towards::Nearest),
            low: all(self.low, Towards::Lower),
            high: all(self.high, Towards::Higher),
            tally: all(self.tally, Towards::Nearest),
            truth: all(self.truth, Towards::Nearest),
        }
    }

    /// Returns an exact number beside that of the cell, with as many digits.
    pub(crate) fn beside(&self, number: &str) -> String {
        self.rounded(number, Towards::Nearest)
    }

    fn rounded(&self, text: &str, towards: Towards) -> String {
        match self.places() {
            Some(places) => rounded(text, places, towards),
            None => text.to_owned(),
        }
    }

    /// Returns the number of digits behind the point that mean something; `None` where every digit does.
    fn places(&self) -> Option<usize> {
        if self.ranked().is_some() {
            return None;
        }
        let [value, low, high] = [self.value, self.low, self.high]
            .map(|text| text?.parse::<f64>().ok().filter(|end| end.is_finite()));
        let half = match (low, high) {
            (Some(low), Some(high)) => Some((high - low) / 2.0),
            (end, other) => value.zip(end.or(other)).map(|(value, end)| (value - end).abs()),
        };
        // Without a width every digit is certain.
        if half == Some(0.0) {
            return None;
        }
        let own = match &self.noise[..] {
            [CellNoise { number: None, comparisons: None, assumes: None, scale, .. }] => {
                scale.get().parse::<f64>().ok()
            }
            _ => None,
        };
        let is_size = |size: &f64| size.is_finite() && *size > 0.0;
        let places = match half.filter(is_size).or(own.filter(is_size)) {
            Some(deviation) => 1 - magnitude(deviation),
            None => SIGNIFICANT - 1 - value.map(f64::abs).filter(is_size).map_or(0, magnitude),
        };
        Some(usize::try_from(places).unwrap_or(0))
    }
}

/// Returns the power of ten of the first digit of a number above zero.
fn magnitude(size: f64) -> i32 {
    // Between -324 and 308.
    size.log10().floor() as i32
}

/// Rounds a decimal number to this many digits behind the point. One with fewer of them stays as it is.
fn rounded(text: &str, places: usize, towards: Towards) -> String {
    let plain = match text.contains(['e', 'E']) {
        true => text.parse::<f64>().map_or(text.to_owned(), |number| number.to_string()),
        false => text.to_owned(),
    };
    let (sign, digits) = plain.strip_prefix('-').map_or(("", &*plain), |digits| ("-", digits));
    let Some((whole, fraction)) = digits.split_once('.') else { return text.to_owned() };
    let Some((kept, rest)) = fraction.split_at_checked(places).filter(|(_, rest)| !rest.is_empty()) else {
        return plain;
    };
    let is_inexact = rest.bytes().any(|digit| digit != b'0');
    let grows = match towards {
        Towards::Nearest => rest.as_bytes().first().is_some_and(|digit| *digit >= b'5'),
        Towards::Lower => is_inexact && sign == "-",
        Towards::Higher => is_inexact && sign.is_empty(),
    };
    let mut digits: Vec<u8> = format!("{whole}{kept}").into_bytes();
    let mut carries = grows;
    for digit in digits.iter_mut().rev() {
        match (carries, *digit) {
            (true, b'9') => *digit = b'0',
            (true, _) => {
                *digit += 1;
                carries = false;
            }
            (false, _) => break,
        }
    }
    if carries {
        digits.insert(0, b'1');
    }
    let mut number: String = digits.iter().map(|digit| char::from(*digit)).collect();
    if places > 0 {
        number.insert(number.len() - places, '.');
    }
    let is_zero = digits.iter().all(|digit| *digit == b'0');
    if is_zero { number } else { format!("{sign}{number}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{ReleaseLine, Says};
    use super::*;

    #[test]
    fn numbers_are_rounded_digit_by_digit() {
        for (text, places, towards, said) in [
            ("44.192701608971234", 1, Towards::Nearest, "44.2"),
            ("44.15", 1, Towards::Nearest, "44.2"),
            ("44.1499999", 1, Towards::Nearest, "44.1"),
            ("35.68032943990994", 1, Towards::Lower, "35.6"),
            ("50.69548774457106", 1, Towards::Higher, "50.7"),
            ("-35.61", 1, Towards::Lower, "-35.7"),
            ("-35.69", 1, Towards::Higher, "-35.6"),
            ("35.600000", 1, Towards::Higher, "35.6"),
            ("999.96", 1, Towards::Nearest, "1000.0"),
            ("0.5", 0, Towards::Nearest, "1"),
            ("-0.04", 1, Towards::Nearest, "0.0"),
            ("2.5", 3, Towards::Higher, "2.5"),
            ("1234567", 0, Towards::Higher, "1234567"),
            ("1.5e-7", 7, Towards::Nearest, "0.0000002"),
            ("1e300", 2, Towards::Nearest, "1e300"),
        ] {
            assert_eq!(rounded(text, places, towards), said, "{text}");
        }
    }

    // Refutes a whole number, or one of a grid, that changes, and a fraction that keeps digits of its noise alone.
    #[test]
    fn a_number_keeps_the_digits_that_its_noise_leaves() {
        let shown = |rest: &str| {
            let line = format!(
                r#"{{"release":"r","window":{{"start":null,"end":null}},{rest},"confidence":0.9,"id":"5f","promise":"lifetime"}}"#
            );
            let read = ReleaseLine::read(&line).map(|line| match line.says {
                Says::Cell(cell) => {
                    let ShownNumbers { value, low, high, .. } = cell.shown();
                    [value, low, high].map(Option::unwrap_or_default)
                }
                _ => panic!(),
            });
            read.unwrap_or_else(|| panic!("{line}"))
        };
        let two = r#""noise":[{"number":"sum","kind":"gaussian","scale":11003.4},{"number":"records","kind":"gaussian","scale":280.1}]"#;
        for (rest, said) in [
            (format!(r#""value":44.192701608971234,"interval":[35.68032943990994,50.69548774457106],{two}"#), ["44.2", "35.6", "50.7"]),
            (format!(r#""value":0.0441927016,"interval":[0.0440327,0.0443954],{two}"#), ["0.04419", "0.04403", "0.04440"]),
            (format!(r#""value":4419.7,"interval":[1035.2,8050.7],{two}"#), ["4420", "1035", "8051"]),
            (format!(r#""value":44.192701608971234,"interval":[null,null],{two}"#), ["44.1927", "", ""]),
            (r#""value":817,"interval":[700,934.5],"noise":{"kind":"gaussian","scale":72.32993}"#.to_owned(), ["817", "700", "935"]),
            (r#""value":81.70123,"interval":[null,null],"noise":{"kind":"gaussian","scale":0.72}"#.to_owned(), ["81.70", "", ""]),
            (
                r#""value":0.25,"interval":[0.25,0.25],"noise":{"kind":"gaussian","scale":72.3}"#.to_owned(),
                ["0.25", "0.25", "0.25"],
            ),
            (
                r#""value":12.3456789,"interval":[0,99.99999],"noise":{"kind":"exponential","scale":26.6,"rank_error":699}"#.to_owned(),
                ["12.3456789", "0", "99.99999"],
            ),
        ] {
            assert_eq!(shown(&rest), said, "{rest}");
        }
    }

    proptest! {
        // Refutes an end that is rounded inwards, or by more than a unit of its last digit.
        #[test]
        fn intervals_are_rounded_outwards(number in -1e9f64..1e9, places in 0usize..9) {
            let text = number.to_string();
            let [low, near, high] = [Towards::Lower, Towards::Nearest, Towards::Higher]
                .map(|towards| rounded(&text, places, towards).parse::<f64>().unwrap());
            prop_assert!(low <= number && number <= high && low <= near && near <= high);
            let unit = 10f64.powi(-(places as i32));
            prop_assert!(high - low <= unit * 1.000001 + 1e-6);
        }
    }
}
