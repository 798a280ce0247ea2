//! Which shape has the smallest bound (or error), by sketches. What is found is proved afterwards; a poor search gives a
//! larger bound, never a false one.

use super::asked::{BoundedNoiseGoal, BoundedNoiseRequest};
use super::shape::NoiseShape;
use super::sketch::Sketch;
use crate::accounting::GaussianCost;
use crate::invalid::Invalid;

/// A shape, and about the bound with which it is private enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShapeSearchResult {
    pub(super) shape: NoiseShape,
    pub(super) bound: f64,
    /// What is to be small, in logarithms.
    score: f64,
}

/// From so many answers on nothing was found that is more than a hundredth better than a power of `1 - x^2`.
const MANY: u64 = 300;

/// The best shape for what is asked; or its own, if it names one.
pub(super) fn best(asked: &BoundedNoiseRequest) -> Result<ShapeSearchResult, Invalid> {
    let sigma = GaussianCost::calibrate(asked.epsilon, asked.delta, 1.0)? * (asked.queries as f64).sqrt();
    if let Some(shape) = asked.shape {
        return Ok(score(asked, shape, Sketch::new(shape).near(sigma)));
    }
    // One answer alone: losses of epsilon and the edge share delta as none can better.
    let rate = libm::log1p(libm::expm1(asked.epsilon) / (2.0 * asked.delta));
    if asked.queries == 1 {
        // Rounded down, so that no loss is above epsilon: a hair more would be all.
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

/// The best whole power of `1 - x^2`: from a guess up or down, as long as it gets better.
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
        // What got better upwards does not downwards.
        if best.shape != shape {
            break;
        }
    }
    Ok(best)
}

/// A search by pattern among the blends, from the best of a few; `best` where none is better.
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
    // What was found at delta = 1e-6 and epsilon 1, for other numbers of answers and thinner tails.
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

/// Three digits behind the point: names stay short.
fn rounded(value: f64) -> f64 {
    libm::round(value * 1000.0) / 1000.0
}

/// How much more than the bound's logarithm counts, for a shape of this deviation.
fn beside(asked: &BoundedNoiseRequest, sketch: &Sketch) -> f64 {
    let share = match asked.goal {
        BoundedNoiseGoal::Bound => 0.0,
        BoundedNoiseGoal::Rms => 1.0,
        BoundedNoiseGoal::Mixed(weight) => 1.0 - weight,
    };
    share * libm::log(sketch.deviation)
}

/// The bound that a shape needs, and what it is worth.
fn score(asked: &BoundedNoiseRequest, shape: NoiseShape, near: f64) -> ShapeSearchResult {
    let sketch = Sketch::new(shape);
    let bound = solve(&sketch, asked, near);
    ShapeSearchResult { shape, bound, score: libm::log(bound) + beside(asked, &sketch) }
}

/// A shape that is better than `best`, if it is: for most that are not, one look is enough.
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

/// About the least bound at which delta is small enough: secants in logarithms, within what is known to be too little and
/// enough.
fn solve(sketch: &Sketch, asked: &BoundedNoiseRequest, near: f64) -> f64 {
    let excess = |log_bound: f64| {
        let delta = sketch.delta(libm::exp(log_bound), asked.queries, asked.epsilon, asked.delta);
        libm::log(delta.max(1e-300) / asked.delta)
    };
    root(libm::log(near.max(0.51)), excess, 0.05, 24)
}

/// Where a falling function is about 0, as `exp` of the place: from a guess, in at most so many steps.
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
        // The last step needs no look.
        true => libm::exp(at - value / slope),
        false if high.is_finite() => libm::exp(high),
        false => libm::exp(at),
    }
}
