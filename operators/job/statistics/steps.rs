//! The steps in which a value is counted: a range of decimals becomes a range of whole numbers, exactly.

use dashu_int::{IBig, UBig};

use crate::invalid::{Invalid, InvalidKind};
use crate::job::config::{ConfigNode, ConfigNumber};
use crate::mechanisms::{DecimalPoint, Edges, Range};

/// The most steps in a range, which has at least a tenth of them: the step is then a millionth of the range,
/// and far below any noise.
const STEPS: u64 = 10_000_000;
/// The most steps in a range in which closer ones are found: those have ten thousandths of it, and still a million steps.
const FINE_STEPS: u64 = 1_000_000_000_000;
/// The most steps in a box, whose sides may be 2^29 steps apart.
const BOX_STEPS: u64 = 500_000_000;
/// The largest distance of an end of a range from zero, in steps: a million of them, summed, are still exact
/// as floats are read.
const FARTHEST: u64 = 1 << 52;
/// The largest distance of an edge from zero, in steps.
const FARTHEST_EDGE: u64 = 1 << 62;
/// The most digits after the decimal point, or zeros before it.
pub(super) const DIGITS: i32 = 18;

/// The quantity of a range that decides the size of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepSize {
    /// The largest distance of a person's value from zero: for sums.
    StreamContribution,
    /// The width of the range: for means, which are computed from the middle.
    Width,
    /// The width of the range, in steps far finer than the range asks: closer ones are found in it.
    Fine,
    /// The width of a box that holds every value, in the finest steps that a stable mean has.
    Box,
}

/// Returns the range in steps, its ends rounded outwards, and the decimal point of a step.
pub(super) fn of_range(
    low: ConfigNumber,
    high: ConfigNumber,
    size: StepSize,
) -> Result<(Range, DecimalPoint), Invalid> {
    let power = low.parts().1.min(high.parts().1);
    let (bottom, top) = (whole(low, -power), whole(high, -power));
    let reach = magnitude(&bottom).max(magnitude(&top));
    let most = match size {
        StepSize::Fine => FINE_STEPS,
        StepSize::Box => BOX_STEPS,
        StepSize::StreamContribution | StepSize::Width => STEPS,
    };
    let size =
        if size == StepSize::StreamContribution { reach.clone() } else { magnitude(&(&top - &bottom)) };
    let fits = |digits: &i32| {
        let shift = power + digits;
        let under = |number: &UBig, limit: u64| match shift {
            0.. => number * ten(shift) < UBig::from(limit),
            _ => *number < UBig::from(limit) * ten(-shift),
        };
        under(&size, most) && under(&reach, FARTHEST + 1)
    };
    // The ends are within 2^53 of zero, so the coarsest step always fits.
    let digits = (-DIGITS..=DIGITS).rev().find(fits).ok_or_else(|| too_wide("range"))?;
    let ends = (steps(low, digits, false), steps(high, digits, true));
    let (Some(low), Some(high)) = ends else { return Err(too_wide("range")) };
    Ok((Range::new(low, high)?, DecimalPoint::digits(digits)?))
}

/// Returns the range of each half-axis of an ellipsoid around zero, rounded outwards. All are in the steps of the longest
/// one: what has the least error together has one unit.
pub(super) fn of_axes(axes: &[ConfigNumber]) -> Result<Vec<(Range, DecimalPoint)>, Invalid> {
    let longest = axes.iter().copied().max().unwrap_or(ConfigNumber::ZERO);
    let (_, point) = of_range(ConfigNumber::ZERO, longest, StepSize::StreamContribution)?;
    let range = |axis: &ConfigNumber| {
        let most = steps(*axis, point.count(), true).ok_or_else(|| too_wide("over"))?;
        Ok((Range::new(-most, most)?, point))
    };
    axes.iter().map(range).collect()
}

/// Returns edges in the largest steps in which all of them are whole.
///
/// # Errors
/// Names `edges` if [`misfit`] does.
pub(super) fn of_edges(edges: &[ConfigNumber]) -> Result<(Edges, DecimalPoint), Invalid> {
    let digits = digits_of(edges);
    let steps: Option<Vec<i64>> = edges.iter().map(|edge| steps(*edge, digits, false)).collect();
    match steps {
        Some(steps) if misfit(edges).is_none() => Ok((Edges::new(steps)?, DecimalPoint::digits(digits)?)),
        _ => Err(too_wide("edges")),
    }
}

/// Returns answers in steps in which all of them are whole, and the farthest of them is a million steps from
/// zero or more: values are rounded down to a step, and should seldom fall on an answer that they are above.
/// No step is finer than `finest` digits.
///
/// # Errors
/// Names `grid` if [`misfit`] does.
pub(super) fn of_answers(answers: &[ConfigNumber], finest: i32) -> Result<(Vec<i64>, DecimalPoint), Invalid> {
    let own = digits_of(answers);
    let farthest = |digits: i32| answers.iter().map(|answer| magnitude(&whole(*answer, digits))).max();
    let under = |digits: &i32| farthest(*digits).is_some_and(|size| size < UBig::from(STEPS));
    let digits = (own..=finest).rev().find(under).unwrap_or(own);
    let steps: Option<Vec<i64>> = answers.iter().map(|answer| steps(*answer, digits, false)).collect();
    match steps {
        Some(steps) if misfit(answers).is_none() => Ok((steps, DecimalPoint::digits(digits)?)),
        _ => Err(too_wide("grid")),
    }
}

/// Returns the index of an edge that has more digits than can be distinguished, or is too far from zero for
/// the digits of the others; and the remedy.
fn misfit(edges: &[ConfigNumber]) -> Option<(usize, &'static str)> {
    let fine = edges.iter().position(|edge| -edge.parts().1 > DIGITS);
    if let Some(index) = fine {
        return Some((index, "an edge of at most 18 digits behind the point"));
    }
    let digits = digits_of(edges);
    let far = |edge: &ConfigNumber| magnitude(&whole(*edge, digits)) > UBig::from(FARTHEST_EDGE);
    let remedy =
        "an edge nearer to zero, or edges of fewer digits: all of them share the digits of the finest";
    edges.iter().position(far).map(|index| (index, remedy))
}

/// Refuses the first of the numbers that cannot be released exactly as written: no digit is rounded.
pub(super) fn check_exact(numbers: &[ConfigNumber], nodes: &[ConfigNode<'_>]) -> Option<()> {
    match misfit(numbers) {
        None => Some(()),
        Some((index, remedy)) => nodes.get(index)?.conflict("more digits than are distinguished", remedy),
    }
}

/// Returns the number of digits after the decimal point of the finest edge.
fn digits_of(edges: &[ConfigNumber]) -> i32 {
    edges.iter().map(|edge| -edge.parts().1).max().unwrap_or(0).max(0)
}

/// Returns the number of steps of 10^-digits, rounded down or up.
fn steps(number: ConfigNumber, digits: i32, up: bool) -> Option<i64> {
    let (mantissa, power) = number.parts();
    let shift = power + digits;
    if shift >= 0 {
        return i64::try_from(whole(number, digits)).ok();
    }
    let unit = ten(-shift);
    let size = UBig::from(mantissa.unsigned_abs());
    let (quotient, exact) = (&size / &unit, (&size % &unit) == UBig::ZERO);
    // Rounding is away from zero if its direction is that of the sign.
    let away = !exact && (up == (mantissa > 0));
    let size = if away { quotient + UBig::ONE } else { quotient };
    i64::try_from(if mantissa < 0 { -IBig::from(size) } else { IBig::from(size) }).ok()
}

/// Returns the number times 10^digits, if the product is whole.
fn whole(number: ConfigNumber, digits: i32) -> IBig {
    let (mantissa, power) = number.parts();
    IBig::from(mantissa) * IBig::from(ten((power + digits).max(0)))
}

fn magnitude(number: &IBig) -> UBig {
    let (_, size) = number.clone().into_parts();
    size
}

fn ten(power: i32) -> UBig {
    UBig::from(10u8).pow(power.unsigned_abs() as usize)
}

fn too_wide(field: &'static str) -> Invalid {
    Invalid::new(field, InvalidKind::TooLarge, "numbers nearer to zero, or with fewer digits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(text: &str) -> ConfigNumber {
        ConfigNumber::parse(text).unwrap()
    }

    fn range(low: &str, high: &str, size: StepSize) -> (i64, i64, i32) {
        let (range, point) = of_range(number(low), number(high), size).unwrap();
        (range.low(), range.high(), point.count())
    }

    #[test]
    fn a_range_has_a_million_steps_and_its_ends_are_outside() {
        assert_eq!(range("0", "5", StepSize::Width), (0, 5_000_000, 6));
        assert_eq!(range("0", "9.99", StepSize::StreamContribution), (0, 9_990_000, 6));
        assert_eq!(range("0", "10", StepSize::StreamContribution), (0, 1_000_000, 5));
        assert_eq!(range("-100", "7", StepSize::StreamContribution), (-1_000_000, 70_000, 4));
        assert_eq!(range("1000", "1001", StepSize::Width), (1_000_000_000, 1_001_000_000, 6));
        assert_eq!(range("0", "1e15", StepSize::Width), (0, 1_000_000, -9));
        assert_eq!(range("0.00000025", "0.33333333", StepSize::Width), (2, 3_333_334, 7));
        assert_eq!(range("-0.33333333", "-0.00000025", StepSize::StreamContribution), (-3_333_334, -2, 7));
        assert_eq!(range("1e-300", "2e-300", StepSize::Width), (0, 1, 18));
        // No step is so fine that the ends would exceed the exact range of floats.
        let (low, high, digits) = range("4503599627370490", "4503599627370491", StepSize::Width);
        assert_eq!((low, high, digits), (4_503_599_627_370_490, 4_503_599_627_370_491, 0));
    }

    #[test]
    fn edges_are_exact_or_refused() {
        let edges = |texts: &[&str]| texts.iter().map(|text| number(text)).collect::<Vec<_>>();
        let (steps, point) = of_edges(&edges(&["0", "0.5", "1.25", "100"])).unwrap();
        assert_eq!((steps.bucket(124).high(), point.count()), (Some(125), 2));
        assert_eq!(of_edges(&edges(&["0", "1000"])).unwrap().1, DecimalPoint::WHOLE);
        assert_eq!(misfit(&edges(&["0", "1e-19"])).unwrap().0, 1);
        assert_eq!(misfit(&edges(&["0.000000000000000001", "1", "5"])).unwrap().0, 2);
        assert!(of_edges(&edges(&["0", "1e-19"])).is_err());
        assert_eq!(misfit(&edges(&["-1e15", "0.001", "1e15"])), None);
    }

    // Refutes an answer that is rounded, and steps so coarse that a value above an answer is read as the
    // answer.
    #[test]
    fn answers_are_exact_and_their_steps_are_fine() {
        let answers = |texts: &[&str]| {
            let numbers: Vec<ConfigNumber> = texts.iter().map(|text| number(text)).collect();
            of_answers(&numbers, DIGITS).map(|(steps, point)| (steps, point.count()))
        };
        assert_eq!(answers(&["0", "5", "0.5"]), Ok((vec![0, 5_000_000, 500_000], 6)));
        assert_eq!(answers(&["-1", "2.5", "10"]), Ok((vec![-100_000, 250_000, 1_000_000], 5)));
        assert_eq!(answers(&["0", "1e12"]), Ok((vec![0, 1_000_000_000_000], 0)));
        assert_eq!(answers(&["0", "12345678.25"]), Ok((vec![0, 1_234_567_825], 2)));
        assert_eq!(answers(&["0", "1e-18"]), Ok((vec![0, 1], 18)));
        assert!(answers(&["0", "1e-19"]).is_err() && answers(&["0.0001", "9e15"]).is_err());
        assert_eq!(of_answers(&[number("0"), number("5")], 0).unwrap(), (vec![0, 5], DecimalPoint::WHOLE));
    }

    proptest! {
        // Refutes an end that is rounded inwards or by more than a step, and a range of too few or too many
        // steps.
        #[test]
        fn ends_are_rounded_outwards(low in -10i128.pow(15)..10i128.pow(15), size in 1i128..10i128.pow(14), power in -20i32..1) {
            let text = |digits: i128| format!("{digits}e{power}");
            let (low, high) = (number(&text(low)), number(&text(low + size)));
            for kind in [StepSize::StreamContribution, StepSize::Width] {
                let (range, point) = of_range(low, high, kind).unwrap();
                let at = |steps: i64| number(&format!("{steps}e{}", -point.count()));
                prop_assert!(at(range.low()) <= low && low < at(range.low() + 1));
                prop_assert!(at(range.high()) >= high && high > at(range.high() - 1));
                let size = if kind == StepSize::StreamContribution { range.low().abs().max(range.high().abs()) } else { range.high() - range.low() };
                prop_assert!(size <= 10_000_001);
                let full = range.low().abs().max(range.high().abs()) as u64 > FARTHEST / 10;
                prop_assert!(size >= 999_999 || point.count() == DIGITS || full, "{}", size);
            }
        }
    }
}
