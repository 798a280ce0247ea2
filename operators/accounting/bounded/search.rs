//! The request for bounded noise, the fineness of its grid, and the search for its shape.

use super::shape::NoiseShape;
use crate::accounting::pld::{DiscreteLoss, Precision};
use crate::accounting::{GaussianCost, number};
use crate::invalid::{Invalid, InvalidKind};

/// A request for noise under which this number of adaptive answers is (epsilon, delta)-private in all.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct BoundedNoiseRequest {
    pub(super) queries: u64,
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    pub(super) goal: BoundedNoiseGoal,
    pub(super) shape: Option<NoiseShape>,
}

/// The quantity that the search minimises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BoundedNoiseGoal {
    /// The bound, which no error exceeds.
    Bound,
    /// The root of the mean square of the error.
    Rms,
    /// A mix: the bound to the power of this weight, times the root mean square to the power of 1 less this
    /// weight.
    Mixed(f64),
}

/// The largest number of answers.
const MOST: u64 = 1 << 32;

impl BoundedNoiseRequest {
    /// A request for the noise of least bound, of any shape, for this number of answers.
    ///
    /// # Errors
    /// Names `queries` unless it is from 1 to 2^32; `epsilon` unless above 0 and at most 500; `delta` unless
    /// from 1e-15 to below 1.
    pub fn new(queries: u64, epsilon: f64, delta: f64) -> Result<BoundedNoiseRequest, Invalid> {
        let kind = match queries {
            0 => Some(InvalidKind::Zero),
            _ if queries > MOST => Some(InvalidKind::TooLarge),
            _ => None,
        };
        if let Some(kind) = kind {
            return Err(Invalid::new("queries", kind, "a whole number from 1 to 2^32"));
        }
        let remedy = "a number from 1e-15 to below 1, such as 1e-6";
        Ok(BoundedNoiseRequest {
            queries,
            epsilon: number::epsilon("epsilon", epsilon)?,
            delta: number::between("delta", delta, 1e-15, 1.0f64.next_down(), remedy)?,
            goal: BoundedNoiseGoal::Bound,
            shape: None,
        })
    }

    /// Sets another goal.
    ///
    /// # Errors
    /// Names `goal` if a weight is not from 0 to 1.
    pub fn goal(mut self, goal: BoundedNoiseGoal) -> Result<BoundedNoiseRequest, Invalid> {
        if let BoundedNoiseGoal::Mixed(weight) = goal {
            let kind = match weight {
                _ if weight.is_nan() => Some(InvalidKind::Nan),
                _ if weight < 0.0 => Some(InvalidKind::Negative),
                _ if weight > 1.0 => Some(InvalidKind::TooLarge),
                _ => None,
            };
            if let Some(kind) = kind {
                return Err(Invalid::new("goal", kind, "bound, rms, or the weight of the bound from 0 to 1"));
            }
        }
        self.goal = goal;
        Ok(self)
    }

    /// Fixes the shape, for any goal.
    pub fn shape(mut self, shape: NoiseShape) -> BoundedNoiseRequest {
        self.shape = Some(shape);
        self
    }
}

/// The fineness of the noise: the number of steps that a sensitivity of one unit has.
///
/// The more steps, the nearer the bound is to that of the shape's density: with one step a unit, the bound of
/// one answer is 2% larger; with a reach of a thousand steps, less than 0.1%.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridResolution {
    pub(super) multiple: u64,
    pub(super) reach: u64,
}

impl GridResolution {
    /// Makes a fineness. The shift is the largest multiple of `multiple` with which the noise has at most
    /// `reach` steps; where there is none, `multiple` itself. Where a grid this fine would make the bound
    /// larger, a coarser one is taken.
    ///
    /// # Errors
    /// Names `multiple` or `reach` when it is 0 or above 2^20.
    pub fn new(multiple: u64, reach: u64) -> Result<GridResolution, Invalid> {
        for (field, value) in [("multiple", multiple), ("reach", reach)] {
            let kind = match value {
                0 => InvalidKind::Zero,
                _ if value > 1 << 20 => InvalidKind::TooLarge,
                _ => continue,
            };
            return Err(Invalid::new(field, kind, "a whole number from 1 to 2^20"));
        }
        Ok(GridResolution { multiple, reach })
    }
}

/// A reach of up to 16,384 steps: within 0.1% of the density.
impl Default for GridResolution {
    fn default() -> GridResolution {
        GridResolution { multiple: 1, reach: 1 << 14 }
    }
}

// The search for the shape with the smallest bound (or error), by sketches. Its result is certified
// afterwards; a poor search gives a larger bound, never a false one.

/// A shape, and about the bound with which it is private enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShapeSearchResult {
    pub(super) shape: NoiseShape,
    pub(super) bound: f64,
    /// The quantity to minimise, as a logarithm.
    score: f64,
}

/// The number of answers from which nothing was found that is more than a hundredth better than a power of
/// `1 - x^2`.
const MANY: u64 = 300;

/// Returns the best shape for a request, or the shape that the request fixes.
pub(super) fn best(asked: &BoundedNoiseRequest) -> Result<ShapeSearchResult, Invalid> {
    let sigma = GaussianCost::calibrate(asked.epsilon, asked.delta, 1.0)? * (asked.queries as f64).sqrt();
    if let Some(shape) = asked.shape {
        return Ok(score(asked, shape, Sketch::new(shape).near(sigma)));
    }
    // One answer alone: no distribution splits delta better than losses of epsilon and the edge.
    let rate = libm::log1p(libm::expm1(asked.epsilon) / (2.0 * asked.delta));
    if asked.queries == 1 {
        // Rounded down, so that no loss is above epsilon: one slightly above would make all of them exceed
        // it.
        let short = libm::floor(rate.min(900.0) * 1e5) / 1e5;
        let shape = NoiseShape::laplace(short.max(0.001))?;
        return Ok(ShapeSearchResult { shape, bound: (rate / asked.epsilon).max(0.51), score: 0.0 });
    }
    let mut best = powers(asked, sigma)?;
    if asked.queries < MANY || asked.goal != BoundedNoiseGoal::Bound {
        best = blends(asked, best, rate.min(900.0))?;
    }
    Ok(best)
}

/// Finds the best integer power of `1 - x^2`: from a guess up or down, while it improves.
fn powers(asked: &BoundedNoiseRequest, sigma: f64) -> Result<ShapeSearchResult, Invalid> {
    let few = 11.0 * libm::pow(asked.queries as f64, -0.35) * -libm::log(asked.delta) / 14.0;
    let guess = (3.0 + few) as u32;
    let shape = NoiseShape::polynomial(guess)?;
    let mut best = score(asked, shape, Sketch::new(shape).near(sigma));
    for up in [true, false] {
        let mut power = guess;
        loop {
            power = if up { power + 1 } else { power - 1 };
            if !(1..=100).contains(&power) {
                break;
            }
            match better(asked, NoiseShape::polynomial(power)?, &best) {
                Some(found) => best = found,
                None => break,
            }
        }
        // A score that improved upwards does not improve downwards.
        if best.shape != shape {
            break;
        }
    }
    Ok(best)
}

/// Searches by pattern among the blends, from the best of a few starts; returns `best` where none is better.
fn blends(
    asked: &BoundedNoiseRequest,
    mut best: ShapeSearchResult,
    rate: f64,
) -> Result<ShapeSearchResult, Invalid> {
    let blend = |[rate, power, exponent]: [f64; 3]| {
        let (rate, power, exponent) = (rounded(rate), rounded(power), rounded(exponent));
        if power == 1.0 && exponent == 0.0 {
            NoiseShape::laplace(rate)
        } else {
            NoiseShape::blend(rate, power, exponent)
        }
    };
    // Fits to the results at delta = 1e-6 and epsilon 1, for other numbers of answers and thinner tails.
    let queries = asked.queries as f64;
    let some = |thin: f64| {
        let power = libm::pow(queries, 0.4);
        [13.6 * thin * libm::pow(queries, -0.17), power, (0.5 * power).min(3.3) * thin]
    };
    let each = libm::log1p(libm::expm1(asked.epsilon / queries) * queries / (2.0 * asked.delta));
    let thin = -libm::log(asked.delta) / 13.8;
    let mut place = some(thin);
    for start in [place, some(rate / 13.66), [each, 1.0, 0.0], [rate, 1.0, 0.0], [13.0 * thin, 2.0, 0.0]] {
        if let Some(found) = better(asked, blend(start)?, &best) {
            (place, best) = (start, found);
        }
    }
    let mut size = 1.0f64;
    while size > 0.1 {
        let mut moved = false;
        for axis in 0..3 {
            for sign in [1.0, -1.0] {
                let mut next = place;
                next[axis] = match axis {
                    0 => (next[0] * libm::exp(0.25 * sign * size)).clamp(0.01, 900.0),
                    1 => (next[1] * libm::exp(0.25 * sign * size)).clamp(1.0, 40.0),
                    _ => (next[2] + sign * size).clamp(0.0, 100.0),
                };
                if next == place {
                    continue;
                }
                if let Some(found) = better(asked, blend(next)?, &best) {
                    (place, best, moved) = (next, found, true);
                    break;
                }
            }
        }
        if !moved {
            size /= 2.0;
        }
    }
    Ok(best)
}

/// Rounds to three decimal places, so that names stay short.
fn rounded(value: f64) -> f64 {
    libm::round(value * 1000.0) / 1000.0
}

/// The part of the score besides the bound's logarithm, for a shape of this deviation.
fn beside(asked: &BoundedNoiseRequest, sketch: &Sketch) -> f64 {
    let share = match asked.goal {
        BoundedNoiseGoal::Bound => 0.0,
        BoundedNoiseGoal::Rms => 1.0,
        BoundedNoiseGoal::Mixed(weight) => 1.0 - weight,
    };
    share * libm::log(sketch.deviation)
}

/// Computes the bound that a shape needs, and its score.
fn score(asked: &BoundedNoiseRequest, shape: NoiseShape, near: f64) -> ShapeSearchResult {
    let sketch = Sketch::new(shape);
    let bound = solve(&sketch, asked, near);
    ShapeSearchResult { shape, bound, score: libm::log(bound) + beside(asked, &sketch) }
}

/// Returns the result of a shape if it is better than `best`: for most shapes that are not, one evaluation is
/// enough.
fn better(
    asked: &BoundedNoiseRequest,
    shape: NoiseShape,
    best: &ShapeSearchResult,
) -> Option<ShapeSearchResult> {
    let sketch = Sketch::new(shape);
    let needed = libm::exp(best.score - beside(asked, &sketch)) * (1.0 - 1e-5);
    if sketch.delta(needed, asked.queries, asked.epsilon, asked.delta) > asked.delta {
        return None;
    }
    Some(score(asked, shape, needed)).filter(|found| found.score < best.score)
}

/// Returns about the least bound at which delta is small enough: secants in logarithms, within the bracket of
/// bounds that are known to be too small and large enough.
fn solve(sketch: &Sketch, asked: &BoundedNoiseRequest, near: f64) -> f64 {
    let excess = |log_bound: f64| {
        let delta = sketch.delta(libm::exp(log_bound), asked.queries, asked.epsilon, asked.delta);
        libm::log(delta.max(1e-300) / asked.delta)
    };
    root(libm::log(near.max(0.51)), excess, 0.05, 24)
}

/// Returns `exp` of the place where a falling function is about 0: from a guess, in at most `steps` steps.
fn root(guess: f64, excess: impl Fn(f64) -> f64, near: f64, steps: u32) -> f64 {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut at = guess;
    let mut value = excess(at);
    let mut slope = -12.0;
    for _ in 0..steps {
        if value.abs() < near || high - low < 1e-6 {
            break;
        }
        if value > 0.0 {
            low = at
        } else {
            high = at
        }
        let secant = at - (value / slope).clamp(-0.7, 0.7);
        let next = if secant > low && secant < high {
            secant
        } else if low.is_finite() && high.is_finite() {
            f64::midpoint(low, high)
        } else {
            at + if value > 0.0 { 0.3 } else { -0.3 }
        };
        let there = excess(next);
        let found = (there - value) / (next - at);
        slope = if found < -0.5 { found.max(-1e4) } else { slope };
        (at, value) = (next, there);
    }
    match value.abs() < near {
        // The last step needs no evaluation.
        true => libm::exp(at - value / slope),
        false if high.is_finite() => libm::exp(high),
        false => libm::exp(at),
    }
}

// A sketch: an estimate of delta from the density itself, which guides the search for a shape. Nothing is
// proved here.

/// The logarithm below the peak at which a density is 0 in a table: 2^-62.
const FALL: f64 = 42.975;

/// The number of cells on each side of zero, and between zero and the shift.
const CELLS: (u32, u32) = (50, 14);

const CARE: Precision = Precision { excess: 2e-2, terms: (512.0, 4096.0) };

/// More effort for many answers: few shapes are tried, and their tails decide.
const MORE_CARE: Precision = Precision { excess: 2e-2, terms: (512.0, 65_536.0) };
const MANY_QUERIES: u64 = 300;

/// A shape up to the end of its table.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    shape: NoiseShape,
    /// The end of the table, as a share of the shape's scale.
    pub(super) end: f64,
    /// The standard deviation, as a share of `end`.
    pub(super) deviation: f64,
    /// The slope of one answer's loss, in standard deviations, in the shift as a share of `end`.
    slope: f64,
}

impl Sketch {
    pub(super) fn new(shape: NoiseShape) -> Sketch {
        let end = if shape.fall(1.0f64.next_down()) < FALL {
            1.0
        } else {
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..40 {
                let middle = f64::midpoint(low, high);
                if shape.fall(middle) < FALL { low = middle } else { high = middle }
            }
            low
        };
        let (mut mass, mut squares, mut slopes) = (0.0, 0.0, 0.0);
        for (x, width) in nodes(0.0, 1.0, 400) {
            let weight = libm::exp(-shape.fall(x * end)) * width;
            let near = 1e-6_f64.min((1.0 - x) / 2.0);
            let slope = (shape.fall((x + near) * end) - shape.fall((x - near).max(0.0) * end)) / (2.0 * near);
            mass += weight;
            squares += weight * x * x;
            slopes += weight * slope.min(1e3) * slope.min(1e3);
        }
        Sketch { shape, end, deviation: (squares / mass).sqrt(), slope: (slopes / mass).sqrt() }
    }

    /// The approximate bound by a central limit, where Gaussian noise needs `sigma`.
    pub(super) fn near(&self, sigma: f64) -> f64 {
        self.slope * sigma
    }

    /// The approximate delta, with noise that ends at `bound` times the sensitivity.
    pub(super) fn delta(&self, bound: f64, queries: u64, epsilon: f64, target: f64) -> f64 {
        let shift = 1.0 / bound;
        if shift >= 1.0 {
            return 1.0;
        }
        let fall = |x: f64| self.shape.fall((x.abs() * self.end).min(1.0f64.next_down()));
        let mass_of = |(x, width): (f64, f64)| libm::exp(-fall(x)) * width;
        let total: f64 = 2.0 * nodes(0.0, 1.0, 4 * CELLS.0).map(mass_of).sum::<f64>();
        let edge: f64 = nodes(1.0 - shift, 1.0, CELLS.0).map(mass_of).sum();
        let least = shift - 1.0;
        let body = nodes(-least, 0.0, CELLS.0)
            .map(|(x, width)| (-x, width))
            .chain(nodes(0.0, shift, CELLS.1))
            .chain(nodes(shift, 1.0, CELLS.0));
        let (mut infinite, mut listed) = (edge / total, Vec::new());
        let mut cut = 5e-4 * target / queries as f64;
        let mut single = 0.0;
        for (x, width) in body {
            let mass = mass_of((x, width)) / total;
            let loss = fall(x - shift) - fall(x);
            single += mass * (-libm::expm1(epsilon - loss)).max(0.0);
            if mass <= cut && x < 0.0 {
                cut -= mass;
                infinite += mass;
            } else {
                cut = 0.0;
                listed.push((loss, mass));
            }
        }
        if queries == 1 {
            return edge / total + single;
        }
        // A sum that is off by little is off by much after a million answers.
        let whole = (1.0 - infinite) / listed.iter().map(|(_, mass)| mass).sum::<f64>();
        let pairs = listed.into_iter().map(|(loss, mass)| (loss, mass * whole));
        DiscreteLoss::new(pairs, infinite).delta(
            queries,
            epsilon,
            if queries < MANY_QUERIES { CARE } else { MORE_CARE },
        )
    }
}

/// Returns nodes and widths between two ends, concentrated at the end farther from zero, where they begin:
/// the integrand varies there at every scale. Two nodes a cell, by Gauss.
pub(super) fn nodes(from: f64, to: f64, cells: u32) -> impl Iterator<Item = (f64, f64)> {
    const APART: f64 = 0.577_350_269_189_625_8;
    let (length, half) = ((to - from).abs(), 0.5 / f64::from(cells));
    let (crowd, sign) = if from.abs() > to.abs() { (from, to - from) } else { (to, from - to) };
    (0..2 * cells).map(move |n| {
        let side = if n % 2 == 0 { -APART } else { APART };
        let v = (f64::from(n / 2) * 2.0 + 1.0 + side) * half;
        (crowd + sign.signum() * length * v * v * v, 3.0 * v * v * half * length)
    })
}
