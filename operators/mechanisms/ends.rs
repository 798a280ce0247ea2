//! The mean from two sums of distances: of its values from the low end of their range, and from the high one.
//!
//! A record `a` steps above the low end is `width - a` steps below the high end. So it moves both sums together by
//! `width`, wherever it lies, and a person by `keys per_key width` in all: as far as one sum alone. The price of Laplace
//! noise is of all moves together ([`Additive::within`]), and is convex in each, so that both sums cost what one of them
//! would. A sum beside a count has to share that price.
//!
//! The mean is at the fraction `above / (above + below)` of the range. Its error in records is that of
//! `(1 - t) above - t below` at the true fraction `t`: of one Laplace draw at an end of the range, and of half a
//! draw less half of another in the middle.
//!
//! # Intervals
//!
//! `D(t) = (1 - t) above - t below` is 0 without noise at the true `t`, and with it `(1 - t) X - t Y`. An interval is all
//! `t` with `|D(t)| <= Q(t)`, where `Q(t)` is at least the quantile of `|(1 - t) X - t Y|`, so it holds as often as that says,
//! for any data and without approximation:
//!
//! * *Discrete for continuous.* A discrete Laplace draw is the difference of two geometric ones, each a continuous
//!   exponential one rounded down. So it is less than 1 from a continuous Laplace draw of the same scale, and
//!   `(1 - t) X - t Y` less than 1 from the same of continuous draws.
//! * *Continuous.* With scale 1, `p = max(t, 1 - t)`, `q = 1 - p` and `d = p - q`, the probability beyond `u` is
//!   `exp(-u / p) (1 + q^2 (1 - exp(-u d / p q)) / d)`, by partial fractions of the characteristic function.
//! * *Points.* That quantile is a convex function of `t`, since the quantiles of a symmetric density with a concave logarithm
//!   are the support function of a convex body (Meyer and Reisner 1991). So the chords between
//!   [`POINTS`] of its points are above it.
//! * *The box.* `|D(t)|` is at most the larger of `|X|` and `|Y|`, of which integers give the exact quantile. It is the
//!   smaller one at scales near 1.

use super::additive::Additive;
use super::answer::{DecimalPoint, Estimate, Noised};
use super::bound::Range;
use super::keys::Key;
use super::selection::{NoisedColumn, SelectedRow};
use super::statistic::Cell;
use crate::invalid::Invalid;
use crate::noise::NoiseSource;

/// The names of both sums in a released line.
pub(crate) const BOTH_ENDS: [&str; 2] = ["above_low", "below_high"];

/// The number of chords of a quantile. With 64 they are at most a 500th above it.
const POINTS: usize = 64;

/// Both sums of distances, each with the noise of one number at the whole price.
#[derive(Clone, Debug)]
pub(super) struct BothEnds {
    /// The half-width of each sum's interval is that of the box.
    column: NoisedColumn,
    over_bound: Option<f64>,
    /// The quantile of `|(1 - t) X - t Y|`, or more, at each point.
    quantiles: Vec<f64>,
}

impl BothEnds {
    pub(super) fn new(
        noise: Additive,
        confidence: f64,
        over_bound: Option<f64>,
    ) -> Result<BothEnds, Invalid> {
        let quantile = |point: usize| {
            let of_one = quantile_of_two(point as f64 / POINTS as f64, 1.0 - confidence);
            // Rounded up, and to whole numbers.
            noise.scale() * of_one * (1.0 + 1e-12) + 1.0
        };
        let quantiles = (0..=POINTS).map(quantile).collect();
        // Each has half of what may be outside.
        let column = NoisedColumn::new(noise, false, (1.0 + confidence) / 2.0)?;
        Ok(BothEnds { column, over_bound, quantiles })
    }

    pub(super) fn noise(&self, point: DecimalPoint) -> Vec<Noised> {
        let noised = |name| {
            let sum = self.column.noised(name).with_point(point);
            Noised { over_bound: self.over_bound, ..sum }
        };
        BOTH_ENDS.map(noised).to_vec()
    }

    pub(super) fn reaches(&self, point: DecimalPoint) -> Vec<f64> {
        vec![point.float(self.column.reach()); 2]
    }

    /// Returns the half-widths of a sum and of a count whose quotient would have the same intervals in the middle and at the
    /// ends of the range, and none narrower between them.
    pub(super) fn errors(&self, range: &Range, point: DecimalPoint) -> Vec<f64> {
        let [end, middle] = [0, POINTS / 2].map(|at| self.quantiles[at].min(self.column.reach()));
        vec![point.float(middle), 2.0 * (end - middle) / range.width().max(1) as f64]
    }

    pub(super) fn estimates<K: Key>(
        &self,
        range: &Range,
        rows: &[SelectedRow<K>],
        noise: &mut NoiseSource,
    ) -> Vec<Estimate<f64>> {
        let above = self.column.estimates(rows, |cell| distances(range, cell)[0], None, noise);
        let below = self.column.estimates(rows, |cell| distances(range, cell)[1], None, noise);
        let both = above.iter().zip(&below);
        both.map(|(above, below)| self.mean(range, [above.value, below.value])).collect()
    }

    /// Returns the mean of sums that have had their noise.
    fn mean(&self, range: &Range, sums: [i128; 2]) -> Estimate<f64> {
        let (low, high, width) = (range.low() as f64, range.high() as f64, range.width() as f64);
        let [above, below] = sums.map(|sum| sum as f64);
        let all = above + below;
        // No mean is of fewer than one value.
        let records = if width > 0.0 { (all / width).max(1.0) } else { 1.0 };
        let middle = range.middle_twice() as f64 / 2.0;
        let value = (middle + (above - below) / 2.0 / records).clamp(low, high);
        // An estimate of less than one record says nothing, and neither does noise that is farther out than the interval is
        // for. One in ten empty cells passes: its interval errs as often as any.
        let within = self.quantiles[0].min(self.column.reach());
        if all < 1.0 || above < -within || below < -within {
            return Estimate::between(low, value, high);
        }
        let least = low + width * (1.0 - self.highest(below, all));
        let most = low + width * self.highest(above, all);
        Estimate::between(least.clamp(low, value), value, most.clamp(value, high))
    }

    /// Returns the largest fraction `t` of which `t all - above` is inside.
    fn highest(&self, above: f64, all: f64) -> f64 {
        let of_box = (above + self.column.reach()) / all;
        of_box.min(self.highest_below_chords(above, all)).clamp(0.0, 1.0)
    }

    /// Returns the same of the quantiles alone. What is beyond one is a concave function of `t` and negative at the value, so
    /// from there on it is positive either nowhere up to 1 or all the way.
    fn highest_below_chords(&self, above: f64, all: f64) -> f64 {
        let beyond = |fraction: f64, quantile: f64| fraction * all - above - quantile;
        let at = |point: usize| point as f64 / POINTS as f64;
        let value = (above / all).clamp(0.0, 1.0);
        if beyond(1.0, self.quantiles[POINTS]) <= 0.0 {
            return 1.0;
        }
        let first = (value * POINTS as f64).ceil() as usize;
        let is_inside = |point: usize| beyond(at(point), self.quantiles[point]) <= 0.0;
        let outside = (first..POINTS).find(|point| !is_inside(*point)).unwrap_or(POINTS);
        let Some(inside) = outside.checked_sub(1) else { return 0.0 };
        let [from, to] = [inside, outside].map(|point| beyond(at(point), self.quantiles[point]));
        // On the chord, where a point before the value may be outside.
        let crossing = at(inside) + (at(outside) - at(inside)) * (-from / (to - from));
        crossing.max(value)
    }
}

/// Returns the sums of the distances of all values of a cell from the low end and from the high end.
fn distances(range: &Range, cell: &Cell) -> [i128; 2] {
    let all = i128::from(range.width()).saturating_mul(cell.records.into());
    // The sum of a cell, in half units from the middle, is what one of them has more than the other: it is odd if all is.
    let above = (all >> 1) + (cell.sum >> 1) + (all & cell.sum & 1);
    [above, all - above]
}

/// Returns the least `u`, or a little more, that `|(1 - t) X - t Y|` is beyond with at most this probability, of
/// independent continuous Laplace draws of scale 1.
fn quantile_of_two(fraction: f64, outside: f64) -> f64 {
    // Of one draw alone it is the largest.
    let (mut inside, mut most) = (0.0, -outside.ln() * (1.0 + 1e-12));
    for _ in 0..64 {
        let middle = (inside + most) / 2.0;
        if beyond_of_two(fraction, middle) > outside { inside = middle } else { most = middle }
    }
    most
}

/// The probability that `|(1 - t) X - t Y|` is beyond `u`.
fn beyond_of_two(fraction: f64, u: f64) -> f64 {
    let (larger, smaller) = (fraction.max(1.0 - fraction), fraction.min(1.0 - fraction));
    let (apart, product) = (larger - smaller, larger * smaller);
    let rest = match product {
        0.0 => 0.0,
        // Its limit, which is never less.
        _ if apart < 1e-9 => u / product,
        _ => -(-u * apart / product).exp_m1() / apart,
    };
    (-u / larger).exp() * (1.0 + smaller * smaller * rest)
}

#[cfg(test)]
mod tests;
