//! The calibration that was published with the noise, for comparison (Dagan and Kur 2022, algorithms 1 and
//! 2).
//!
//! It tests a width `R` by Chernoff's bound on the loss of all answers. A hundredth of delta is set aside for
//! noise close to the edge (beyond `L`), which is left out; for the rest, with `g(x) = f(x + 1/R) - f(x)` up
//! to `L`, the answers are private if
//!
//! ```text
//! integral over t > epsilon of e^(epsilon - t) min over theta of E[e^(theta g)]^k e^(-theta t)
//!     <=  0.99 delta
//! ```
//!
//! A width whose step `1/R` is more than half of the room beyond `L` is **not private**: the answer may end
//! in a place that is impossible under the neighbour. The code that was published with the paper says
//! "private" there, because its deviation is 0 where it cannot be computed.

use super::search::nodes;
use super::shape::NoiseShape;
use crate::invalid::{Invalid, InvalidKind};

/// The number of cells of the integrals over half of the density; a step of theta is `(1 + theta) / STEPS`.
const NODES: u32 = 100;
const STEPS: u32 = 100;

/// Returns the bound that the published calibration finds for `queries` answers of sensitivity 1, to about a
/// hundredth: by a one-sided sum, not certified.
///
/// # Errors
/// Names `shape` if it is not one of those published, and `queries` if no width up to 2^40 is found.
pub fn published_bound(shape: &NoiseShape, queries: u64, epsilon: f64, delta: f64) -> Result<f64, Invalid> {
    if !shape.is_published() {
        return Err(Invalid::new(
            "shape",
            InvalidKind::Mixed,
            "published:1, published:2, published:3 or published:exp",
        ));
    }
    let test = PublishedTest::new(shape, queries, epsilon, delta);
    let (mut low, mut high) = (0.0, 1.0f64);
    while !test.private(high) {
        low = high;
        high *= 2.0;
        if high > 1e12 {
            return Err(Invalid::new("queries", InvalidKind::TooLarge, "fewer answers"));
        }
    }
    while high / low.max(1e-9) > 1.001 {
        let middle = if low == 0.0 { high / 2.0 } else { (low * high).sqrt() };
        if test.private(middle) {
            high = middle
        } else {
            low = middle
        }
        if high < 1e-9 {
            break;
        }
    }
    Ok(high)
}

/// Algorithm 1 of the paper.
struct PublishedTest {
    shape: NoiseShape,
    queries: f64,
    epsilon: f64,
    delta: f64,
    /// The share of the width beyond which noise has a probability of at most delta / 100 k.
    edge: f64,
    outside: f64,
    /// The nodes of the integral up to the edge, with their probabilities.
    nodes: Vec<(f64, f64)>,
}

impl PublishedTest {
    fn new(shape: &NoiseShape, queries: u64, epsilon: f64, delta: f64) -> PublishedTest {
        let fine = 200 * NODES;
        let middle = |n: u32| libm::exp(-shape.fall((f64::from(n) + 0.5) / f64::from(fine)));
        let total = 2.0 * (0..fine).map(middle).sum::<f64>() / f64::from(fine);
        // Noise beyond L has at most the density there times the width of the rest, on both sides.
        let outside = delta / 100.0 / queries as f64;
        let beyond = |edge: f64| libm::exp(-shape.fall(edge)) / total * 2.0 * (1.0 - edge);
        let (mut low, mut edge) = (0.0, 1.0f64.next_down());
        for _ in 0..60 {
            let middle = f64::midpoint(low, edge);
            if beyond(middle) > outside { low = middle } else { edge = middle }
        }
        // Both sides, with nodes concentrated at the edge.
        let side = |sign: f64| {
            nodes(edge, 0.0, NODES)
                .map(move |(x, width)| (sign * x, libm::exp(-shape.fall(x)) * width / total))
        };
        let nodes = side(1.0).chain(side(-1.0)).collect();
        PublishedTest { shape: *shape, queries: queries as f64, epsilon, delta, edge, outside, nodes }
    }

    fn private(&self, width: f64) -> bool {
        let step = 1.0 / width;
        if step > (1.0 - self.edge) / 2.0 {
            return false;
        }
        let gain = |x: f64| self.shape.fall((x + step).abs()) - self.shape.fall(x.abs());
        let gains: Vec<(f64, f64)> = self.nodes.iter().map(|&(x, mass)| (gain(x), mass)).collect();
        // The logarithm of the moment at theta, and its slope.
        let moment = |theta: f64| {
            let (mut sum, mut slope) = (self.outside, 0.0);
            for (gain, mass) in &gains {
                let term = mass * libm::exp(theta * gain);
                sum += term;
                slope += term * gain;
            }
            (self.queries * libm::log(sum), self.queries * slope / sum)
        };
        // Each theta is the best for the t that equals the slope there.
        let mut first = 1.0;
        while moment(first).1 < self.epsilon && first < 1e9 {
            first *= 2.0;
        }
        let mut low = 0.0;
        for _ in 0..40 {
            let middle = f64::midpoint(low, first);
            if moment(middle).1 < self.epsilon { low = middle } else { first = middle }
        }
        let mut theta = low;
        let (mut at, mut sum) = (self.epsilon, 0.0);
        for _ in 0..10 * STEPS {
            let (log, slope) = moment(theta);
            let bound = libm::exp((log - theta * at).min(0.0));
            // Go to the next theta: the bound there is below the one here.
            theta = theta * (1.0 + 1.0 / f64::from(STEPS)) + 1.0 / f64::from(STEPS);
            let next = moment(theta).1.max(slope).max(at);
            // The bound falls at least like e^(-theta t).
            let rate = low + 1.0;
            sum += bound * libm::exp(self.epsilon - at) * -libm::expm1(-rate * (next - at)) / rate;
            at = next;
            if bound * libm::exp(self.epsilon - at) < 1e-6 * sum || sum > self.delta {
                break;
            }
        }
        // The remainder falls at this rate too.
        sum <= 0.99 * self.delta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::bounded::certificate::{BoundedNoiseTable, Certificate};

    // Where the step is more than half of the room beyond L, the public code answers "private" (a deviation
    // of 0). Here that is a width of 3, and a certificate shows its cost.
    #[test]
    fn a_step_longer_than_the_room_at_the_edge_is_not_private() {
        let shape = NoiseShape::published(2).unwrap();
        let test = PublishedTest::new(&shape, 10, 1.0, 1e-6);
        let width = 3.0;
        assert!(1.0 / width > (1.0 - test.edge) / 2.0);
        assert!(!test.private(width));
        let table = BoundedNoiseTable::new(&shape, 3_000).unwrap();
        assert!(Certificate::new(&table, 1_000).delta(10, 1.0, 1e-6) > 0.1);
        // Where the public code does compute, the two agree.
        assert!(test.private(200.0) && !test.private(190.0));
    }
}
