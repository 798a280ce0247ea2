//! Fractions and quantiles between those of a release, read off its answers.

use super::quantiles::Quantile;
use crate::invalid::{Invalid, InvalidKind};

/// The line through released quantiles, straight between two of them.
///
/// It is made of what is released, so it costs nothing. It rises from the first quantile to the last and leaves neither
/// the range of their answers nor their order, whatever noise they have: answers of several releases, which may be out of
/// order, are put in order first, and none of them then errs more than the one that errs most did.
///
/// A reading between two quantiles is a guess that values are spread evenly there; that the fraction below an answer
/// lies between those of its neighbours is not: it may be off by as many ranks as these may be.
///
/// ```
/// use discreet::mechanisms::{Quantile, QuantileCurve};
///
/// // As many baskets are below 12 as above, and a quarter is above 50.
/// let curve = QuantileCurve::new([(Quantile::of(1, 2)?, 12.0), (Quantile::of(3, 4)?, 50.0)])?;
/// assert_eq!(curve.value(0.625), Some(31.0));
/// assert_eq!(curve.at_most(31.0), Some(0.625));
/// // Nothing is known beyond the last.
/// assert_eq!((curve.value(0.95), curve.at_most(80.0)), (None, None));
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct QuantileCurve {
    /// Ascending in both, the fractions each once.
    points: Vec<CurvePoint>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct CurvePoint {
    fraction: f64,
    value: f64,
}

impl QuantileCurve {
    /// The line through these answers.
    ///
    /// # Errors
    /// Names `q` where they are none, or one is there twice, and `value` where one is no finite number.
    pub fn new(answers: impl IntoIterator<Item = (Quantile, f64)>) -> Result<QuantileCurve, Invalid> {
        let mut answers: Vec<(Quantile, f64)> = answers.into_iter().collect();
        if answers.is_empty() {
            return Err(Invalid::new("q", InvalidKind::Empty, "at least one quantile"));
        }
        if answers.iter().any(|(_, value)| !value.is_finite()) {
            return Err(Invalid::new("value", InvalidKind::Malformed, "finite numbers"));
        }
        answers.sort_by_key(|(quantile, _)| *quantile);
        if !answers.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            return Err(Invalid::new("q", InvalidKind::Mixed, "each quantile once"));
        }
        let mut values: Vec<f64> = answers.iter().map(|(_, value)| *value).collect();
        values.sort_by(f64::total_cmp);
        let points = answers.iter().zip(values);
        let points = points.map(|((quantile, _), value)| CurvePoint { fraction: quantile.to_f64(), value });
        Ok(QuantileCurve { points: points.collect() })
    }

    /// The value that this fraction of all values is at or below; `None` outside of the released quantiles.
    pub fn value(&self, fraction: f64) -> Option<f64> {
        let above = self.points.partition_point(|point| point.fraction < fraction);
        let high = self.points.get(above)?;
        if high.fraction == fraction {
            return Some(high.value);
        }
        let low = self.points.get(above.checked_sub(1)?)?;
        Some(between((low.fraction, high.fraction), (low.value, high.value), fraction))
    }

    /// The fraction of values that are at this value or below; `None` outside of the released answers. Where several
    /// quantiles have one answer, it is the largest of them.
    pub fn at_most(&self, value: f64) -> Option<f64> {
        let above = self.points.partition_point(|point| point.value <= value);
        let low = self.points.get(above.checked_sub(1)?)?;
        if low.value == value {
            return Some(low.fraction);
        }
        let high = self.points.get(above)?;
        Some(between((low.value, high.value), (low.fraction, high.fraction), value))
    }
}

/// The point of a straight line at `at`, within its ends whatever is rounded.
fn between((from, to): (f64, f64), (low, high): (f64, f64), at: f64) -> f64 {
    let part = (at - from) / (to - from);
    // Neither product overflows where the difference of the ends would.
    (low * (1.0 - part) + high * part).clamp(low, high)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn of(a: u64, q: u64) -> Quantile {
        Quantile::of(a, q).unwrap()
    }

    proptest! {
        // Refutes a curve that falls, leaves its ends, or misses the quantiles that it is made of; one of answers that are
        // out of order too.
        #[test]
        fn a_curve_rises_within_its_ends(
            answers in prop::collection::btree_map(1u64..100, prop_oneof![-9.0f64..9.0, -1e308f64..1e308, Just(4.0)], 1..12),
            fractions in prop::collection::vec(0.0f64..1.0, 0..30),
            values in prop::collection::vec(-10.0f64..10.0, 0..30),
        ) {
            let curve = QuantileCurve::new(answers.iter().map(|(a, value)| (of(*a, 100), *value))).unwrap();
            let mut sorted: Vec<f64> = answers.values().copied().collect();
            sorted.sort_by(f64::total_cmp);
            for (a, value) in answers.keys().zip(&sorted) {
                prop_assert_eq!(curve.value(of(*a, 100).to_f64()), Some(*value));
                prop_assert!(curve.at_most(*value).unwrap() >= of(*a, 100).to_f64());
            }
            let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
            let mut fractions = fractions;
            fractions.sort_by(f64::total_cmp);
            let read: Vec<f64> = fractions.iter().filter_map(|fraction| curve.value(*fraction)).collect();
            prop_assert!(read.is_sorted() && read.iter().all(|value| (first..=last).contains(value)));
            let mut values = values;
            values.sort_by(f64::total_cmp);
            let read: Vec<f64> = values.iter().filter_map(|value| curve.at_most(*value)).collect();
            prop_assert!(read.is_sorted() && read.iter().all(|fraction| (0.0..1.0).contains(fraction)));
        }
    }

    #[test]
    fn ends_and_equal_answers() {
        let stars = QuantileCurve::new([(of(1, 4), 4.0), (of(1, 2), 5.0), (of(3, 4), 5.0)]).unwrap();
        assert_eq!(
            (stars.at_most(5.0), stars.at_most(4.5), stars.at_most(4.0)),
            (Some(0.75), Some(0.375), Some(0.25))
        );
        assert_eq!((stars.value(0.6), stars.at_most(3.9), stars.at_most(5.1)), (Some(5.0), None, None));
        assert_eq!((stars.value(0.2), stars.value(0.8), stars.value(f64::NAN)), (None, None, None));
        // Of two releases, out of order.
        let crossed = QuantileCurve::new([(of(3, 4), 9.0), (of(1, 2), 11.0)]).unwrap();
        assert_eq!((crossed.value(0.5), crossed.value(0.75)), (Some(9.0), Some(11.0)));
        let field = |answers: &[(Quantile, f64)]| {
            QuantileCurve::new(answers.to_vec()).unwrap_err().field().to_owned()
        };
        assert_eq!(field(&[]), "q");
        assert_eq!(field(&[(of(1, 2), 1.0), (of(2, 4), 1.0)]), "q");
        assert_eq!(field(&[(of(1, 2), f64::NAN)]), "value");
    }
}
