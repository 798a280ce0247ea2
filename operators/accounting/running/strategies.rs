//! Strategies that are a list of coefficients: a measurement is the sum of the last ticks, each times its own
//! coefficient.
//!
//! The coefficients of `(1 - z)^(-1/2)` are the best for totals so far, those of
//! `((1 - z^W) / (1 - z))^(1/2)` for totals over the last `W` ticks: noise and measurement are then the same
//! half of the workload. Both are rounded to multiples of 2^-20, and the second are cut after `2 W`; the
//! noise of a total is computed from the remaining ones, as `work / coefficients`. Cutting the noise instead
//! would be another strategy, with another cost.

use std::f64::consts::PI;

/// The number of fractional bits of a coefficient: less than 1 in 10^5 of the error is lost.
const BITS: u32 = 20;

/// The number of coefficients kept for each tick of the width, for totals over the last ticks: less than 1%
/// is lost.
const KEPT: u64 = 2;

/// Integer coefficients on a grid of `2^-bits`.
#[derive(Clone, Debug)]
pub(crate) struct Coefficients {
    pub(crate) values: Vec<i64>,
    pub(crate) bits: u32,
}

impl Coefficients {
    /// The coefficients of fresh noise for every tick.
    pub(crate) fn single() -> Coefficients {
        Coefficients { values: vec![1], bits: 0 }
    }

    /// The first `ticks` coefficients of the square root, for totals so far.
    pub(crate) fn root(ticks: u64) -> Coefficients {
        Coefficients::of(Binomial::default().take(ticks as usize))
    }

    /// The first `2 width` of the square root for totals over the last `width` ticks.
    pub(crate) fn window(width: u64) -> Coefficients {
        // (1 - z^W)^(1/2) is 1 - z^W / 2 up to the last coefficient that is kept.
        let lagged = std::iter::repeat_n(0.0, width as usize).chain(Binomial::default());
        Coefficients::of(
            Binomial::default()
                .zip(lagged)
                .take((KEPT * width) as usize)
                .map(|(now, before)| now - before / 2.0),
        )
    }

    fn of(values: impl Iterator<Item = f64>) -> Coefficients {
        let scale = f64::from(1 << BITS);
        Coefficients {
            values: values.map(|value| (value * scale).round_ties_even() as i64).collect(),
            bits: BITS,
        }
    }

    /// The square of their length, in squared units of the grid: exact.
    pub(crate) fn squared(&self) -> u128 {
        self.values.iter().map(|value| u128::from(value.unsigned_abs()).pow(2)).sum()
    }

    /// Returns true if no coefficient is below zero or above the one before it.
    pub(crate) fn falls(&self) -> bool {
        self.values.last().is_none_or(|last| *last >= 0) && self.values.is_sorted_by(|one, next| one >= next)
    }

    /// The length of the coefficients.
    pub(super) fn sensitivity(&self) -> f64 {
        (self.squared() as f64).sqrt() / self.unit()
    }

    pub(crate) fn unit(&self) -> f64 {
        (1u64 << self.bits) as f64
    }

    pub(super) fn floats(&self) -> Vec<f64> {
        self.values.iter().map(|value| *value as f64 / self.unit()).collect()
    }

    /// The variances of totals so far: that of the last of `ticks` totals, and the mean of all.
    pub(super) fn variances_so_far(&self, ticks: usize) -> (f64, f64) {
        let noise = quotient(&vec![1.0; ticks], &self.floats());
        let (mut sum, mut all) = (0.0, 0.0);
        for coefficient in noise {
            sum += coefficient * coefficient;
            all += sum;
        }
        (sum, all / ticks as f64)
    }

    /// The variance of a total over the last ticks; `None` where the noise would not fade.
    pub(super) fn variance_over(&self, width: u64) -> Option<f64> {
        Some(self.noise_over(width)?.iter().rev().map(|value| value * value).sum())
    }

    /// The weight of each draw, from the last one back, in a total over the last ticks, until the weights
    /// have faded; `None` where they would not.
    pub(super) fn noise_over(&self, width: u64) -> Option<Vec<f64>> {
        let kept = self.values.len();
        let points = (64 * kept.max(width as usize)).next_power_of_two();
        let spread = |values: &mut dyn Iterator<Item = f64>| {
            let mut list: Vec<ComplexPair> = values.map(|value| (value, 0.0)).collect();
            list.resize(points, (0.0, 0.0));
            transform(&mut list);
            list
        };
        let strategy = spread(&mut self.floats().into_iter());
        if winds(&strategy) {
            return None;
        }
        let work = spread(&mut std::iter::repeat_n(1.0, width as usize));
        let mut noise: Vec<ComplexPair> =
            work.iter().zip(&strategy).map(|(work, by)| divided(*work, *by)).collect();
        transform(&mut noise);
        // A second forward transform is a backward one in another order, times the number of points: first,
        // last, last but one, ..
        let mut values: Vec<f64> = noise.iter().map(|value| value.0 / points as f64).collect();
        values[1..].reverse();
        let faded: f64 = values.split_off(points / 2).iter().map(|value| value.abs()).sum();
        (faded < 1e-9).then_some(values)
    }
}

fn divided(a: ComplexPair, b: ComplexPair) -> ComplexPair {
    let squared = b.0 * b.0 + b.1 * b.1;
    ((a.0 * b.0 + a.1 * b.1) / squared, (a.1 * b.0 - a.0 * b.1) / squared)
}

/// True if a curve goes around zero, or so near it that the answer is uncertain.
fn winds(curve: &[ComplexPair]) -> bool {
    let mut turned = 0.0;
    for (from, to) in curve.iter().zip(curve.iter().cycle().skip(1)) {
        let step = libm::atan2(from.0 * to.1 - from.1 * to.0, from.0 * to.0 + from.1 * to.1);
        if step.is_nan() || step.abs() > PI / 2.0 {
            return true;
        }
        turned += step;
    }
    turned.abs() > PI
}

/// The first coefficients of `work / by`, as many as `work` has.
pub(super) fn quotient(work: &[f64], by: &[f64]) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::with_capacity(work.len());
    for work in work {
        let known: f64 = by.iter().skip(1).zip(found.iter().rev()).map(|(by, found)| by * found).sum();
        found.push((work - known) / by[0]);
    }
    found
}

/// The coefficients of `(1 - z)^(-1/2)`.
#[derive(Default)]
struct Binomial(Option<(u64, f64)>);

impl Iterator for Binomial {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        let (at, value) = match self.0 {
            None => (0, 1.0),
            Some((at, value)) => (at + 1, value * (2 * at + 1) as f64 / (2 * at + 2) as f64),
        };
        self.0 = Some((at, value));
        Some(value)
    }
}

/// The number of ticks above which sums over all ticks are replaced by asymptotic formulas, to 1e-14.
const MANY: u64 = 1 << 16;

/// The square of the length of the first coefficients of the square root, before rounding: the standard
/// deviation of the last of `ticks` totals at unit cost.
pub(super) fn root_squared(ticks: u64) -> f64 {
    if ticks <= MANY {
        return Binomial::default().take(ticks as usize).map(|value| value * value).sum();
    }
    // Landau's constants (Watson 1930).
    let n = ticks as f64;
    (n.ln() + EULER + 4.0 * 2f64.ln()) / PI - (1.0 / (4.0 * n) - 5.0 / (192.0 * n * n)) / PI
}

/// The mean of the totals' variances for noise of variance 1, before rounding: of
/// `S_j = sum of c_k^2 over k <= j`. It has a closed form by
/// `4 k^2 c_k^2 - 4 (k - 1)^2 c_(k-1)^2 = (4 k - 3) c_(k-1)^2`.
pub(super) fn root_mean(ticks: u64) -> f64 {
    let n = ticks as f64;
    let last = if ticks <= MANY {
        Binomial::default().nth(ticks as usize).unwrap_or(0.0)
    } else {
        (1.0 - 1.0 / (8.0 * n) + 1.0 / (128.0 * n * n)) / (PI * n).sqrt()
    };
    root_squared(ticks) * (1.0 + 1.0 / (4.0 * n)) - n * last * last
}

/// Euler's constant.
pub(super) const EULER: f64 = 0.577_215_664_901_532_9;

// The binary tree: a node for every span of `2^level` ticks, each with noise of its own, and totals from few
// of them.
//
// A complete node is estimated from itself and its two children together (Honaker's refinement, from below):
// at level `k`, where leaves have level 1, its variance is `1 / (2 (1 - 2^-k))` of that of one draw. A tick
// is in one node a level.

/// The number of levels for `ticks` ticks: one for each binary digit.
pub(crate) fn levels(ticks: u64) -> u32 {
    u64::BITS - ticks.leading_zeros()
}

/// The variance of the estimate of a node over `2^level` ticks; also the weight of the node's own measurement
/// in it.
pub(crate) fn node(level: u32) -> f64 {
    let leaves = (1u64 << level) as f64;
    leaves / (2.0 * leaves - 1.0)
}

/// The variances of totals for draws of variance 1: the largest of the first `ticks`, and the mean of all.
pub(super) fn variances(ticks: u64) -> (f64, f64) {
    let of = |tick: u64| -> f64 { (0..levels(ticks)).filter(|level| tick >> level & 1 == 1).map(node).sum() };
    // The largest is at the end, or where one digit of it is cleared and all that follow are set.
    let cleared = |level: u32| {
        (ticks >> level & 1 == 1).then(|| of((ticks >> level).wrapping_sub(1) << level | ((1 << level) - 1)))
    };
    let largest = (0..levels(ticks)).filter_map(cleared).fold(of(ticks), f64::max);
    let sum: f64 = (0..levels(ticks)).map(|level| node(level) * with_digit(ticks, level)).sum();
    (largest, sum / ticks as f64)
}

/// The number of integers up to `last` with this binary digit set.
fn with_digit(last: u64, level: u32) -> f64 {
    let (all, span) = (u128::from(last) + 1, 1u128 << (level + 1));
    (all / span * (span / 2) + (all % span).saturating_sub(span / 2)) as f64
}

// A Fourier transform of a power of two points.

/// A complex number: real and imaginary part.
pub(super) type ComplexPair = (f64, f64);

/// Transforms in place: value `k` becomes the sum of `value_j e^(-2 pi i j k / n)`.
pub(super) fn transform(values: &mut [ComplexPair]) {
    let size = values.len();
    debug_assert!(size.is_power_of_two());
    let shift = usize::BITS - size.trailing_zeros();
    for at in 0..size {
        let other = if size > 1 { at.reverse_bits() >> shift } else { 0 };
        if at < other {
            values.swap(at, other);
        }
    }
    let turns: Vec<ComplexPair> = (0..size / 2)
        .map(|at| {
            let (sin, cos) = libm::sincos(-2.0 * PI * at as f64 / size as f64);
            (cos, sin)
        })
        .collect();
    let mut half = 1;
    while half < size {
        let every = size / (2 * half);
        for block in values.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for ((low, high), turn) in low.iter_mut().zip(high).zip(turns.iter().step_by(every)) {
                let turned = (high.0 * turn.0 - high.1 * turn.1, high.0 * turn.1 + high.1 * turn.0);
                (*low, *high) = ((low.0 + turned.0, low.1 + turned.1), (low.0 - turned.0, low.1 - turned.1));
            }
        }
        half *= 2;
    }
}
