//! The distribution of the privacy loss of one use of one mechanism, by its cumulant `ln E exp(z L)`.
//!
//! Each distribution computes its cumulant on a vertical line of the complex plane together with a bound on
//! its own float error. Cumulants of losses near zero keep their *relative* precision, so a distribution may
//! be used 2^63 times.

use std::cmp::Ordering;
use std::f64::consts::PI;
use std::sync::Arc;

use super::integral::Tilted;
use super::integral::{Complex, ULP};

/// One possible loss, and its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Atom {
    pub(super) loss: f64,
    pub(super) mass: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum LossDistribution {
    /// Continuous Gaussian noise; `ratio` is sensitivity over sigma.
    Gaussian { ratio: f64 },
    /// Geometric noise whose loss climbs from `-loss` to `loss` in equal steps: randomized response has 1
    /// step, discrete Laplace noise as many as its sensitivity, continuous Laplace noise infinitely many.
    Staircase { loss: f64, steps: f64 },
    /// Discrete Gaussian noise moved by an integer.
    DiscreteGaussian { sigma: f64, shift: f64 },
    /// Finitely many losses.
    Atoms(Arc<[Atom]>),
}

/// `ln E exp(z L)`, up to `error`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cumulant {
    pub(super) value: Complex,
    pub(super) error: f64,
}

/// The least moment, which replaces a smaller one with an error that covers both: such a moment is far too
/// small to matter.
const VANISHING: f64 = 1e-10;

impl Cumulant {
    /// Makes the cumulant `exponent + ln(moment)`, where `moment` is known up to `error` and `exponent` up to
    /// `exponent_error`.
    pub(super) fn new(exponent: Complex, exponent_error: f64, moment: Complex, error: f64) -> Cumulant {
        let size = moment.norm();
        if size < VANISHING.max(2.0 * error) {
            let value = exponent + Complex::new(libm::log(VANISHING.max(2.0 * error)), 0.0);
            return Cumulant { value, error: exponent_error + 2.0 };
        }
        let logarithm = moment.ln();
        Cumulant {
            value: exponent + logarithm,
            error: exponent_error + 2.0 * error / size + 8.0 * ULP * logarithm.norm(),
        }
    }
}

impl LossDistribution {
    /// A total order, so that a bundle does not depend on the order in which it was put together.
    pub(super) fn order(&self, other: &LossDistribution) -> Ordering {
        fn key(law: &LossDistribution) -> (u8, f64, f64, &[Atom]) {
            match law {
                LossDistribution::Gaussian { ratio } => (0, *ratio, 0.0, &[]),
                LossDistribution::Staircase { loss, steps } => (1, *loss, *steps, &[]),
                LossDistribution::DiscreteGaussian { sigma, shift } => (2, *sigma, *shift, &[]),
                LossDistribution::Atoms(atoms) => (3, 0.0, 0.0, atoms),
            }
        }
        let (a, b) = (key(self), key(other));
        let atoms = |atoms: &[Atom], others: &[Atom]| {
            let each = atoms.iter().zip(others);
            each.map(|(x, y)| x.loss.total_cmp(&y.loss).then(x.mass.total_cmp(&y.mass)))
                .find(|order| order.is_ne())
                .unwrap_or(atoms.len().cmp(&others.len()))
        };
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2)).then_with(|| atoms(a.3, b.3))
    }

    /// The cumulant at `z`, whose real part is positive.
    pub(super) fn cumulant(&self, z: Complex) -> Cumulant {
        match self {
            LossDistribution::Gaussian { ratio } => {
                let value = (z * (z + Complex::ONE)).scale(ratio * ratio / 2.0);
                Cumulant { value, error: 8.0 * ULP * value.norm() }
            }
            LossDistribution::Staircase { loss, steps } => staircase(*loss, *steps, z),
            LossDistribution::DiscreteGaussian { sigma, shift } => discrete_gaussian(*sigma, *shift, z),
            LossDistribution::Atoms(atoms) => Tilted::new(atoms, z.re).sum(atoms, z.im),
        }
    }

    /// The largest rate at which the modulus of the moment, relative to its value on the real axis, changes
    /// with the frequency: a bound on the mean distance of the loss from some centre, under any tilt.
    pub(super) fn restlessness(&self) -> f64 {
        match self {
            LossDistribution::Staircase { loss, .. } => *loss,
            // The mean distance of a discrete Gaussian from its centre is below 2 sigma + 2: the sum over its
            // two humps is at most the integral 2 sigma^2 plus twice their height, the normalizer at least
            // 0.43 of its integral.
            LossDistribution::DiscreteGaussian { sigma, shift } => {
                (2.0 * sigma + 2.0) * shift / (sigma * sigma)
            }
            LossDistribution::Gaussian { .. } | LossDistribution::Atoms(_) => f64::INFINITY,
        }
    }
}

/// The cumulant of geometric noise. With `w = z + 1/2`, `a = w loss`, `b = loss/2`, `q = exp(-loss/steps)`,
/// `r = 1 - 1/steps`, the geometric sums give
///
/// `E exp(z L) = exp(-b)/(1+q) [ 2 cosh a + (1-q) sinh(a r)/sinh(a/steps) ]`,
///
/// and 1 at `a = b`. Near there the difference from 1 is summed as a power series in
/// `a² - b² = z(z+1) loss²`.
fn staircase(loss: f64, steps: f64, z: Complex) -> Cumulant {
    let twice_w = z.scale(2.0) + Complex::ONE;
    let a = twice_w.scale(loss / 2.0);
    let step = loss / steps;
    let ratio = 1.0 - 1.0 / steps;
    // (1 - q) / step
    let slope = if step > 0.0 { -libm::expm1(-step) / step } else { 1.0 };
    let both = 1.0 + libm::exp(-step);

    if a.norm() <= 0.5 {
        let series = PowerSeries::new(a * a, loss * loss / 4.0, (z * (z + Complex::ONE)).scale(loss * loss));
        let (_, _, cosh) = series.sum(1.0, 0);
        let (_, top_b, top) = series.sum(ratio * ratio, 1);
        let (bottom_a, bottom_b, bottom) = series.sum((1.0 / steps) * (1.0 / steps), 1);
        let middle = (top.scale(bottom_b) - bottom.scale(top_b)) / bottom_a.scale(bottom_b);
        let excess =
            (cosh.scale(2.0) + middle.scale(slope * loss * ratio)).scale(libm::exp(-loss / 2.0) / both);
        // The terms are all of one size, at most |a² - b²|, and each is good to a few dozen units.
        let error = 128.0 * ULP * series.difference.norm();
        return Cumulant { value: excess.ln_1p(), error };
    }

    // The same, divided by exp(a); with one step there is no middle.
    let twice_a = a.scale(2.0);
    let (middle, middle_error) = if steps == 1.0 {
        (Complex::new(0.0, 0.0), 0.0)
    } else {
        let climb = twice_a.scale(1.0 / steps);
        let rise = climb.scale(-1.0).exp_m1().scale(-1.0);
        // step / (1 - exp(-climb)), whose limit is 1/(2w)
        let (fraction, relative) = if climb.norm() < 1e-18 {
            (Complex::ONE / twice_w, 16.0)
        } else {
            (Complex::new(step, 0.0) / rise, 16.0 + 4.0 * climb.norm() / rise.norm())
        };
        let fall = twice_a.scale(-ratio).exp_m1().scale(-1.0);
        let middle = fraction.scale(slope) * climb.scale(-1.0).exp() * fall;
        (middle, 2.0 * fraction.norm() * (relative + 16.0 + 16.0 * a.norm()))
    };
    let moment = (Complex::ONE + twice_a.scale(-1.0).exp() + middle).scale(1.0 / both);
    let error = ULP * (16.0 + 16.0 * a.norm() + middle_error);
    Cumulant::new(z.scale(loss), 4.0 * ULP * z.norm() * loss, moment, error)
}

/// Power series in the squares `x` (complex) and `y` (real), of which only the difference is small.
struct PowerSeries {
    x: Complex,
    y: f64,
    difference: Complex,
}

impl PowerSeries {
    fn new(x: Complex, y: f64, difference: Complex) -> PowerSeries {
        PowerSeries { x, y, difference }
    }

    /// Returns `f(x)`, `f(y)` and `f(x) - f(y)` for `f(x) = sum of (scale x)^n / (2n + odd)!`: `cosh` of the
    /// root for an even factorial, `sinh(root)/root` for an odd one. The arguments are at most 1/4, so ten
    /// terms are exact.
    fn sum(&self, scale: f64, odd: u32) -> (Complex, f64, Complex) {
        let (mut at_x, mut at_y, mut between) = (Complex::ONE, 1.0, Complex::new(0.0, 0.0));
        let (mut x_power, mut y_power, mut divided) = (Complex::ONE, 1.0, Complex::new(0.0, 0.0));
        let mut coefficient = 1.0;
        for n in 1..=10_u32 {
            coefficient *= scale / f64::from((2 * n + odd) * (2 * n + odd - 1));
            divided = divided * self.x + Complex::new(y_power, 0.0);
            x_power = x_power * self.x;
            y_power *= self.y;
            at_x = at_x + x_power.scale(coefficient);
            at_y += y_power * coefficient;
            between = between + divided.scale(coefficient);
        }
        (at_x, at_y, between * self.difference)
    }
}

/// The cumulant of discrete Gaussian noise. The loss is an affine function of the noise, so `E exp(z L)` is a
/// Gaussian's moment times a ratio of theta functions; by Poisson's formula that is a sum of Gaussians in the
/// frequency, one for each multiple `m` of the sampling rate.
fn discrete_gaussian(sigma: f64, shift: f64, z: Complex) -> Cumulant {
    let ratio = shift / sigma;
    let rate = 2.0 * PI * sigma;
    let phase = shift * z.re;
    let turn = 2.0 * PI * (phase - phase.floor());
    let nearest = -(ratio * z.im / rate).round();
    let distance = ratio * z.im + rate * nearest;
    // Terms adjacent to the nearest one, relative to it; the others are below exp(-45).
    let reach = (10.0 / rate + 0.5).ceil();
    let (mut others, mut others_at_zero, mut size) = (Complex::new(0.0, 0.0), 0.0, 0.0);
    let mut offset = 1.0;
    while offset <= reach {
        for m in [offset, -offset] {
            let height = -(distance + rate * m / 2.0) * rate * m;
            size += libm::exp(height);
            others = others + Complex::new(height, turn * m).exp();
            others_at_zero += libm::exp(-(rate * m) * (rate * m) / 2.0);
        }
        offset += 1.0;
    }
    let exponent = Complex::new(
        (ratio * ratio * z.re * (z.re + 1.0) - distance * distance) / 2.0 - libm::log1p(others_at_zero),
        ratio * ratio * z.im * (2.0 * z.re + 1.0) / 2.0 + turn * nearest,
    );
    let exponent_error = 16.0
        * ULP
        * (ratio * ratio * (z.norm() + 1.0) * z.norm()
            + distance.abs() * ratio * z.im.abs()
            + nearest.abs() * (phase.abs() + turn)
            + others_at_zero);
    let error = 16.0 * ULP * size * (4.0 + reach * (phase.abs() + rate * rate * reach));
    if others.norm() < 0.25 {
        let value = exponent + others.ln_1p();
        return Cumulant { value, error: exponent_error + 2.0 * error };
    }
    Cumulant::new(exponent, exponent_error, Complex::ONE + others, error + 4.0 * ULP)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `E exp(z L)` over listed losses, relative to the largest modulus on the line.
    fn moment(z: Complex, atoms: impl Iterator<Item = (f64, f64)>) -> Complex {
        let atoms: Vec<(f64, f64)> = atoms.collect();
        let top: f64 = atoms.iter().map(|(loss, mass)| mass * (z.re * loss).exp()).sum();
        let zero = Complex::new(0.0, 0.0);
        let terms = atoms.iter().map(|(loss, mass)| z.scale(*loss).exp().scale(mass / top));
        terms.fold(zero, |sum, term| sum + term)
    }

    fn assert_near(law: &LossDistribution, z: Complex, moment: Complex, oracle: f64) {
        let top = law.cumulant(Complex::new(z.re, 0.0)).value;
        let found = law.cumulant(z);
        let value = (found.value - top).exp();
        let stated = 2.0 * found.error * value.norm();
        let off = (value - moment).norm();
        assert!(off <= stated + oracle, "{law:?} at {z:?}: off by {off:e}, stated {stated:e}");
        assert!(stated < 1e-10, "{law:?} at {z:?}: stated {stated:e}");
    }

    fn points(scale: f64) -> impl Iterator<Item = Complex> {
        let tilts = [0.03, 0.2, 0.49, 0.7, 2.0, 9.0];
        let frequencies = [0.0, 0.11, 0.38, 1.0, 3.1, 17.0];
        tilts.into_iter().flat_map(move |t| frequencies.map(|w| Complex::new(t * scale, w * scale)))
    }

    /// Refutes: "the geometric sums are right, by the series and by the exponentials", for 1 to 40 steps.
    #[test]
    fn staircases_are_their_sums() {
        for loss in [1e-3_f64, 0.05, 0.4, 1.0, 6.0] {
            for steps in [1, 2, 3, 10, 40] {
                let law = LossDistribution::Staircase { loss, steps: f64::from(steps) };
                let q = (-loss / f64::from(steps)).exp();
                let edge = |x: i32| if x == 0 || x == steps { 1.0 } else { 1.0 - q };
                let loss_at = |x: i32| loss - 2.0 * loss * f64::from(x) / f64::from(steps);
                for z in points(1.0 / loss) {
                    let atoms = (0..=steps).map(|x| (loss_at(x), edge(x) * q.powi(x) / (1.0 + q)));
                    assert_near(&law, z, moment(z, atoms), 1e-12);
                }
            }
        }
    }

    /// Refutes: "infinitely many steps are continuous Laplace noise", by Simpson's rule.
    #[test]
    fn endless_steps_are_the_continuous_law() {
        const CELLS: i32 = 2_000;
        for loss in [0.05_f64, 1.0, 4.0] {
            let law = LossDistribution::Staircase { loss, steps: f64::INFINITY };
            let width = 2.0 * loss / f64::from(CELLS);
            let weight = |n: i32| {
                if n == 0 || n == CELLS { 1.0 } else { f64::from(2 + n % 2 * 2) }
            };
            let density = |l: f64| ((l - loss) / 2.0).exp() / 4.0 * width / 3.0;
            for z in points(1.0 / loss) {
                let inner = (0..=CELLS).map(|n| (f64::from(n) * width - loss, n));
                let inner = inner.map(|(l, n)| (l, density(l) * weight(n)));
                let edges = [(loss, 0.5), (-loss, (-loss).exp() / 2.0)];
                assert_near(&law, z, moment(z, edges.into_iter().chain(inner)), 1e-8);
            }
        }
    }

    /// Refutes: "Poisson's formula gives the discrete Gaussian's moments, small sigmas and far frequencies
    /// included".
    #[test]
    fn discrete_gaussians_are_their_sums() {
        for sigma in [0.25_f64, 0.3, 0.5, 1.0, 3.0] {
            for shift in [1.0, 2.0] {
                let law = LossDistribution::DiscreteGaussian { sigma, shift };
                for z in points(sigma / shift) {
                    let reach = (30.0 * sigma + 30.0) as i32;
                    let total: f64 =
                        (-reach..=reach).map(|x| (-(f64::from(x) / sigma).powi(2) / 2.0).exp()).sum();
                    let atom = |x: i32| {
                        let mass = (-(f64::from(x) / sigma).powi(2) / 2.0).exp() / total;
                        (shift * (shift - 2.0 * f64::from(x)) / (2.0 * sigma * sigma), mass)
                    };
                    let atoms = (-reach..=reach).map(atom).filter(|(_, mass)| *mass > 0.0);
                    assert_near(&law, z, moment(z, atoms), 1e-11);
                }
            }
        }
    }
}
