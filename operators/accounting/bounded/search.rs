//! Which shape has the smallest bound (or error), by sketches. What is found is proved afterwards; a poor search gives a
//! larger bound, never a false one.

use super::asked::{Asked, Goal};
use super::shape::Shape;
use super::sketch::Sketch;
use crate::accounting::Gaussian;
use crate::invalid::Invalid;

/// A shape, and about the bound with which it is private enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) shape: Shape,
    pub(super) bound: f64,
    /// What is to be small, in logarithms.
    score: f64,
}

/// From so many answers on nothing was found that is more than a hundredth better than a power of `1 - x^2`.
const MANY: u64 = 300;

/// The best shape for what is asked; or its own, if it names one.
pub(super) fn best(asked: &Asked) -> Result<Found, Invalid> {
    let sigma = Gaussian::calibrate(asked.epsilon, asked.delta, 1.0)? * (asked.queries as f64).sqrt();
    if let Some(shape) = asked.shape {
        return Ok(score(asked, shape, Sketch::new(shape).near(sigma)));
    }
    // One answer alone: losses of epsilon and the edge share delta as none can better.
    let rate = libm::log1p(libm::expm1(asked.epsilon) / (2.0 * asked.delta));
    let laplace = Shape::laplace(rounded(rate.min(900.0)))?;
    if asked.queries == 1 {
        return Ok(score(asked, laplace, rate / asked.epsilon));
    }
    let mut found = powers(asked, sigma)?;
    if asked.queries < MANY || asked.goal != Goal::Bound {
        let starts = [[10.3, 2.57, 1.17], [13.0, 2.0, 0.0], [rate.min(900.0), 1.0, 0.0]];
        for start in starts {
            let blended = blends(asked, found, start)?;
            if blended.score < found.score - 1e-4 {
                found = blended;
            }
        }
    }
    Ok(found)
}

/// The best whole power of `1 - x^2`: from a guess up or down, as long as it gets better.
fn powers(asked: &Asked, sigma: f64) -> Result<Found, Invalid> {
    let few = 11.0 * libm::pow(asked.queries as f64, -0.35) * -libm::log(asked.delta) / 14.0;
    let guess = (3.0 + few) as u32;
    let at = |power: u32, near: Option<f64>| -> Result<Found, Invalid> {
        let shape = Shape::polynomial(power)?;
        Ok(score(asked, shape, near.unwrap_or_else(|| Sketch::new(shape).near(sigma))))
    };
    let mut best = at(guess, None)?;
    let mut power = guess;
    for up in [true, false] {
        let mut next = if up { guess + 1 } else { guess.saturating_sub(1) };
        while (1..=100).contains(&next) {
            let found = at(next, Some(best.bound))?;
            if found.score >= best.score {
                break;
            }
            (best, power) = (found, next);
            next = if up { next + 1 } else { next - 1 };
        }
        // What got better upwards does not downwards.
        if power != guess {
            break;
        }
    }
    Ok(best)
}

/// A search by pattern among the blends, from one of them; near one whose bound is known.
fn blends(asked: &Asked, near: Found, start: [f64; 3]) -> Result<Found, Invalid> {
    let at = |[rate, power, exponent]: [f64; 3], near: f64| -> Result<Found, Invalid> {
        let (rate, power, exponent) = (rounded(rate), rounded(power), rounded(exponent));
        let shape = if power == 1.0 && exponent == 0.0 {
            Shape::laplace(rate)?
        } else {
            Shape::blend(rate, power, exponent)?
        };
        Ok(score(asked, shape, near))
    };
    let mut place = start;
    let mut best = at(place, near.bound)?;
    let mut size = 1.0f64;
    while size > 0.04 {
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
                let found = at(next, best.bound)?;
                if found.score < best.score {
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

/// The bound that a shape needs, and what it is worth.
fn score(asked: &Asked, shape: Shape, near: f64) -> Found {
    let sketch = Sketch::new(shape);
    let bound = solve(&sketch, asked, near);
    let error = bound * sketch.deviation;
    let score = match asked.goal {
        Goal::Bound => libm::log(bound),
        Goal::Rms => libm::log(error),
        Goal::Mixed(weight) => weight * libm::log(bound) + (1.0 - weight) * libm::log(error),
    };
    Found { shape, bound, score }
}

/// About the least bound at which delta is small enough: secants in logarithms, within what is known to be too little and
/// enough.
fn solve(sketch: &Sketch, asked: &Asked, near: f64) -> f64 {
    let excess = |log_bound: f64| {
        let delta = sketch.delta(libm::exp(log_bound), asked.queries, asked.epsilon, asked.delta);
        libm::log(delta.max(1e-300) / asked.delta)
    };
    root(libm::log(near.max(0.51)), excess, |value| value.abs() < 0.002, 24)
}

/// Where a falling function is about 0, as `exp` of the place: from a guess, in at most so many steps.
pub(super) fn root(guess: f64, excess: impl Fn(f64) -> f64, near: impl Fn(f64) -> bool, steps: u32) -> f64 {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut at = guess;
    let mut value = excess(at);
    let mut slope = -12.0;
    for _ in 0..steps {
        if near(value) || high - low < 1e-6 {
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
    libm::exp(at)
}
