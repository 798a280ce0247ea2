//! Advice on the ranges of sums and means, by the values of a log: one that is much wider than the values pays for noise
//! that nobody needs, and one that is much narrower clips them.
//!
//! Ranges whose ends are quantiles of the values are tried beside the stated one, with the numbers that were chosen
//! otherwise. A range is not written: which values count is for the author of the job to say.

use serde::Serialize;

use super::ChosenBound;
use super::sweep::ReleaseSweep;
use crate::job::config::{BoundSpec, BudgetShare, ConfigNumber};
use crate::job::log_shape::LogShape;
use crate::job::log_shape::cells::CellMeasure;
use crate::job::plan::percent;

/// The fractions of values that lie below an upper end that is tried.
const HIGH: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0];

/// The fractions of values that lie below a lower end that is tried.
const LOW: [f64; 4] = [0.0, 0.001, 0.01, 0.05];

/// The part of the error of the stated range that is left by one that is worth advice.
const SMALLER: f64 = 0.9;

/// The part of estimated values at an end from which on others may lie beyond it.
const AT_AN_END: f64 = 0.05;

/// Advice on the range of a sum or a mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RangeAdvice {
    /// The range of the job file.
    pub stated: String,
    /// The part of the values, or of the sums of people, that lie outside of it.
    pub outside: f64,
    /// The error with the stated range.
    pub stated_error: f64,
    /// The range with the least error of those that were tried, and its error; `None` where the stated one is as good.
    pub better: Option<(String, f64)>,
    /// True if many of the values of an estimate are at an end of the range, so that others may lie beyond it.
    pub may_clip: bool,
    /// The width of the stated range beside that of the better one.
    #[serde(skip)]
    times_as_wide: f64,
    /// True if the values are sums of people.
    #[serde(skip)]
    is_sum: bool,
}

impl RangeAdvice {
    /// Returns the advice on a release with these numbers; `None` where there is nothing to say.
    pub(super) fn of(
        sweep: &ReleaseSweep<'_>,
        (at, shape): (usize, &LogShape),
        chosen: &ChosenBound,
    ) -> Option<RangeAdvice> {
        let (stated, is_sum) = match sweep.measure() {
            CellMeasure::Sum(low, high) => ((low, high), true),
            CellMeasure::Mean(low, high) => ((low, high), false),
            CellMeasure::People | CellMeasure::Records => return None,
        };
        if !shape.has_values() {
            return None;
        }
        let values = sweep.values((at, shape))?;
        let (least, most) = (*values.first()?, *values.last()?);
        let quantile = |fraction: f64| {
            let place = (fraction * (values.len() - 1) as f64).ceil() as usize;
            values.get(place).copied().unwrap_or(most)
        };
        let numbers = (chosen.bound, chosen.share);
        let tried = |range: (i64, i64)| Tried::of(sweep, (at, shape), range, numbers);
        let of_stated = tried(stated)?;
        // Both ends may be far off: that of all values is a start, too.
        let all = (rounded_out(least, false), rounded_out(most, true));
        let all = Some(all).filter(|(low, high)| low < high && all != stated).and_then(tried);
        let start = all.map_or(of_stated, |all| of_stated.or(all));
        let highs = HIGH.iter().map(|fraction| rounded_out(quantile(*fraction), true));
        let highs = highs.filter(|high| *high > start.range.0 && *high != start.range.1);
        let best = highs.filter_map(|high| tried((start.range.0, high))).fold(start, Tried::or);
        let zero = (least >= 0).then_some(0);
        // The sum of somebody with little would be raised to a lower end above zero.
        let quantiles = LOW.iter().map(|fraction| rounded_out(quantile(*fraction), false));
        let lows = quantiles.filter(|low| !is_sum || *low < 0).chain(zero);
        let lows = lows.filter(|low| *low < best.range.1 && *low != best.range.0).collect::<Vec<_>>();
        let best = lows.into_iter().filter_map(|low| tried((low, best.range.1))).fold(best, Tried::or);
        let count = |holds: &dyn Fn(i64) -> bool| {
            values.iter().filter(|value| holds(**value)).count() as f64 / values.len() as f64
        };
        let outside = count(&|value| value < stated.0 || value > stated.1);
        let at_an_end = count(&|value| value >= stated.1).max(count(&|value| value <= stated.0));
        let may_clip = shape.estimate().is_some() && at_an_end >= AT_AN_END && least < most;
        let is_better = best.error < SMALLER * of_stated.error;
        // Where a narrower range errs less, what it clips is in that error: a wider one is no advice.
        let may_clip = may_clip && !(is_better && width_of(best.range) <= width_of(stated));
        if !is_better && !may_clip {
            return None;
        }
        let shown =
            |(low, high): (i64, i64)| Some(format!("[{}, {}]", sweep.number(low)?, sweep.number(high)?));
        let better = if is_better { shown(best.range).map(|range| (range, best.error)) } else { None };
        Some(RangeAdvice {
            stated: shown(stated)?,
            outside,
            stated_error: of_stated.error,
            better,
            may_clip,
            times_as_wide: width_of(stated) / width_of(best.range),
            is_sum,
        })
    }

    /// Says it in a sentence.
    pub(super) fn sentence(&self) -> String {
        let RangeAdvice { stated, outside, stated_error, better, may_clip, times_as_wide, is_sum } = self;
        let values = if *is_sum { "sums of people" } else { "values" };
        let mut sentences = Vec::new();
        if let Some((range, error)) = better {
            let why = match (*times_as_wide, *outside) {
                (2.0.., _) => format!("is much wider than most {values}, which pays for noise"),
                (1.0.., _) => format!("is wider than most {values}, which pays for noise"),
                (_, 0.0) => format!("does not fit the {values}"),
                _ => format!("clips {} of the {values}", percent(*outside)),
            };
            sentences.push(format!(
                "{stated} {why}: with it the release errs by {}, and with range = {range} by {}; it is \
                 another release, and is not written",
                percent(*stated_error),
                percent(*error)
            ));
        }
        if *may_clip {
            sentences.push(format!(
                "many of the {values} are at an end of {stated}, beyond which the estimate sees nothing: a wider range may clip fewer"
            ));
        }
        sentences.join("; ")
    }
}

/// A range that was tried, in steps, with its error.
#[derive(Clone, Copy)]
struct Tried {
    range: (i64, i64),
    error: f64,
}

impl Tried {
    fn of(
        sweep: &ReleaseSweep<'_>,
        place: (usize, &LogShape),
        range: (i64, i64),
        (bound, share): (BoundSpec, BudgetShare),
    ) -> Option<Tried> {
        let error = sweep.with_range(place, range)?.at(bound, share)?.error;
        Some(Tried { range, error })
    }

    fn or(self, other: Tried) -> Tried {
        if other.error < self.error { other } else { self }
    }
}

fn width_of((low, high): (i64, i64)) -> f64 {
    (high as f64 - low as f64).max(1.0)
}

/// Returns a number of two significant digits that is not below this one, or not above it.
fn rounded_out(number: i64, up: bool) -> i64 {
    let mut unit = 1i64;
    while number.unsigned_abs() / unit.unsigned_abs() >= 100 {
        unit *= 10;
    }
    let below = number.div_euclid(unit);
    let rounded = if up && below * unit < number { below + 1 } else { below };
    rounded.saturating_mul(unit)
}

/// Returns a number of steps of a power of ten as a number of a job file.
pub(super) fn in_steps(steps: i64, power: i32) -> Option<ConfigNumber> {
    ConfigNumber::parse(&format!("{steps}e{power}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes an end that leaves out the value that it was made of, and one with more digits than a job file needs.
    #[test]
    fn ends_are_rounded_away_from_the_values() {
        for (number, up, down) in [
            (0, 0, 0),
            (7, 7, 7),
            (99, 99, 99),
            (101, 110, 100),
            (12_345, 13_000, 12_000),
            (-101, -100, -110),
        ] {
            assert_eq!((rounded_out(number, true), rounded_out(number, false)), (up, down), "{number}");
        }
    }
}
