//! The program that found the constants of the buffered strategy: a quasi-Newton search (BFGS) for the
//! smallest largest error at a horizon, which starts from a quadrature of the square root's integral.
//!
//! `cargo test --lib accounting::running::search::print -- --ignored --nocapture` prints them.

use super::buffered::{Buffer, BufferedStrategy, ONE, floats, length_squared};

/// The logarithm of the largest variance at unit cost; infinite where the strategy is not valid.
fn objective(point: &[f64], ticks: f64) -> f64 {
    match BufferedStrategy::new(terms(point)) {
        Some(series) => (length_squared(&terms(point), ticks) * series.variance(ticks)).ln(),
        None => f64::INFINITY,
    }
}

fn terms(point: &[f64]) -> Vec<(f64, f64)> {
    let (losses, weights) = point.split_at(point.len() / 2);
    losses.iter().zip(weights).map(|(a, w)| (1.0 / (1.0 + (-a).exp()), w.exp())).collect()
}

/// The start of the search: `1/pi` times the integral of `x^j x^(-1/2) (1 - x)^(-1/2)` is the coefficient `j`
/// of the square root; with `1 - x = e^-s` and equal steps of `s` it is a sum of geometric series.
fn start(buffers: usize, ticks: f64) -> Vec<f64> {
    let reach = ticks.ln() + 1.0;
    let step = reach / buffers as f64;
    let at = |i: usize| (-(i as f64 + 0.5) * step).exp();
    let losses: Vec<f64> = (0..buffers).map(at).collect();
    let weights: Vec<f64> =
        losses.iter().map(|loss| step / std::f64::consts::PI * ((1.0 - loss) * loss).sqrt() * 0.9).collect();
    let logit = |loss: &f64| (loss / (1.0 - loss)).ln();
    losses.iter().map(logit).chain(weights.iter().map(|weight| weight.ln())).collect()
}

fn gradient(point: &[f64], ticks: f64) -> Vec<f64> {
    let mut moved = point.to_vec();
    let mut slope = |at: usize| {
        let step = 1e-5;
        moved[at] = point[at] + step;
        let up = objective(&moved, ticks);
        moved[at] = point[at] - step;
        let down = objective(&moved, ticks);
        moved[at] = point[at];
        (up - down) / (2.0 * step)
    };
    (0..point.len()).map(&mut slope).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the best constants that the search finds, and their objective.
pub(super) fn search(buffers: usize, ticks: f64) -> (Vec<f64>, f64) {
    let mut point = start(buffers, ticks);
    let size = point.len();
    let mut value = objective(&point, ticks);
    let mut slope = gradient(&point, ticks);
    let identity = |size: usize| -> Vec<Vec<f64>> {
        (0..size).map(|i| (0..size).map(|j| f64::from(u8::from(i == j))).collect()).collect()
    };
    let mut inverse = identity(size);
    for _ in 0..2000 {
        let mut way: Vec<f64> = inverse.iter().map(|row| -dot(row, &slope)).collect();
        if dot(&way, &slope) >= 0.0 {
            inverse = identity(size);
            way = slope.iter().map(|slope| -slope).collect();
        }
        // Armijo's rule.
        let (mut length, descent) = (1.0, dot(&way, &slope));
        let taken = loop {
            let next: Vec<f64> = point.iter().zip(&way).map(|(at, by)| at + length * by).collect();
            let there = objective(&next, ticks);
            if there <= value + 1e-4 * length * descent {
                break Some((next, there));
            }
            length /= 2.0;
            if length < 1e-12 {
                break None;
            }
        };
        let Some((next, there)) = taken else { break };
        let ahead = gradient(&next, ticks);
        let step: Vec<f64> = next.iter().zip(&point).map(|(a, b)| a - b).collect();
        let turn: Vec<f64> = ahead.iter().zip(&slope).map(|(a, b)| a - b).collect();
        let curve = dot(&step, &turn);
        if curve > 1e-14 {
            let pushed: Vec<f64> = inverse.iter().map(|row| dot(row, &turn)).collect();
            let scale = (1.0 + dot(&turn, &pushed) / curve) / curve;
            for i in 0..size {
                for j in 0..size {
                    inverse[i][j] +=
                        scale * step[i] * step[j] - (pushed[i] * step[j] + step[i] * pushed[j]) / curve;
                }
            }
        }
        let gained = value - there;
        (point, value, slope) = (next, there, ahead);
        if gained < 1e-13 && dot(&slope, &slope).sqrt() < 1e-7 {
            break;
        }
    }
    (point, value)
}

/// Rounds constants as they are shipped: to the nearest multiples of 2^-62.
fn rounded(point: &[f64]) -> Vec<Buffer> {
    let unit = |value: f64| (value * ONE as f64).round() as u64;
    let mut buffers: Vec<Buffer> = terms(point)
        .into_iter()
        .map(|(loss, weight)| Buffer { loss: unit(loss), weight: unit(weight) })
        .collect();
    buffers.sort_by_key(|buffer| std::cmp::Reverse(buffer.loss));
    buffers
}

/// Returns the fewest buffers whose error is at most a thousandth above that of the square root at this
/// horizon.
fn fewest(ticks: u64) -> Vec<Buffer> {
    let goal = super::strategies::root_squared(ticks) * 1.001;
    let found = |buffers| search(buffers, ticks as f64);
    let enough = (2..=12).map(found).find(|(_, value)| (value / 2.0).exp() <= goal);
    rounded(&enough.unwrap().0)
}

#[test]
#[ignore = "prints the constants, in some seconds"]
fn print() {
    for power in super::constants::LEAST..=super::constants::MOST {
        println!("    // Up to 2^{power} ticks.\n    &[");
        for Buffer { loss, weight } in fewest(1 << power) {
            println!("        Buffer {{ loss: {loss}, weight: {weight} }},");
        }
        println!("    ],");
    }
}

// Refutes a table that this program did not find: the shipped constants are as good as a search's now, to one
// in a million.
#[test]
fn what_is_shipped_is_what_is_found() {
    for power in [5, 10, 20] {
        let ticks = 2f64.powi(power);
        let shipped = super::constants::buffers(1 << power);
        let (_, found) = search(shipped.len(), ticks);
        let series = BufferedStrategy::of(shipped).unwrap();
        let value = (length_squared(&floats(shipped), ticks) * series.variance(ticks)).ln();
        assert!((value - found).abs() < 2e-6, "2^{power}: {value} {found}");
    }
}
