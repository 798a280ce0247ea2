//! A guess at what answers cost, from the density itself: what the search for a shape goes by. Nothing is proved here.

use super::shape::NoiseShape;
use crate::accounting::pld::{Care, ListedLoss};

/// Below `e^-FALL` of the highest, a density is nothing to a table: 2^-62.
const FALL: f64 = 42.975;

/// Cells on each side of zero, and between zero and the shift.
const CELLS: (u32, u32) = (50, 14);

const CARE: Care = Care { excess: 2e-2, terms: (512.0, 4096.0) };

/// Of many answers few shapes are tried, and their tails decide.
const MORE_CARE: Care = Care { excess: 2e-2, terms: (512.0, 65_536.0) };
const MANY_QUERIES: u64 = 300;

/// A shape as far as a table follows it.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    shape: NoiseShape,
    /// Where the table ends, as a share of the shape's scale.
    pub(super) end: f64,
    /// The standard deviation, as a share of `end`.
    pub(super) deviation: f64,
    /// How fast the loss of one answer grows, in standard deviations, with the shift as a share of `end`.
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

    /// About the bound at which a central limit would have it, where the Gaussian needs `sigma`.
    pub(super) fn near(&self, sigma: f64) -> f64 {
        self.slope * sigma
    }

    /// About delta, with noise that ends at `bound` times the sensitivity.
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
        ListedLoss::new(pairs, infinite).delta(
            queries,
            epsilon,
            if queries < MANY_QUERIES { CARE } else { MORE_CARE },
        )
    }
}

/// Places and widths between two ends, crowded at the one that is farther from zero, where they begin: what happens near the
/// edge happens at every scale. Two places a cell, by Gauss.
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
