//! The law of the privacy loss of one use of one mechanism, through its cumulant `ln E exp(z L)`.
//!
//! Each law knows its cumulant on a vertical line of the complex plane together with a bound on its own float error.
//! Cumulants of losses near zero keep their *relative* precision, so a law may be used 2^63 times.

use std::cmp::Ordering;
use std::f64::consts::PI;
use std::sync::Arc;

use super::complex::{Complex, ULP};

/// One possible loss, and the probability of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Atom {
    pub(super) loss: f64,
    pub(super) mass: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Law {
    /// Continuous Gaussian noise; `ratio` is sensitivity over sigma.
    Gaussian { ratio: f64 },
    /// Geometric noise whose loss climbs from `-loss` to `loss` in equal steps: randomized response has 1 step, the
    /// discrete Laplace law as many as its sensitivity, the continuous Laplace law infinitely many.
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

/// Below this a moment is replaced by this, with an error that covers both: it is far too small to matter.
const VANISHING: f64 = 1e-10;

impl Cumulant {
    /// From `exponent + ln(moment)`, where `moment` is known up to `error` and `exponent` up to `exponent_error`.
    fn new(exponent: Complex, exponent_error: f64, moment: Complex, error: f64) -> Cumulant {
        let size = moment.norm();
        if size < VANISHING.max(2.0 * error) {
            let value = exponent + Complex::new(libm::log(VANISHING.max(2.0 * error)), 0.0);
            return Cumulant {
                value,
                error: exponent_error + 2.0,
            };
        }
        let logarithm = moment.ln();
        Cumulant {
            value: exponent + logarithm,
            error: exponent_error + 2.0 * error / size + 8.0 * ULP * logarithm.norm(),
        }
    }
}

impl Law {
    /// The largest loss, rounded up.
    pub(super) fn largest(&self) -> f64 {
        match self {
            Law::Gaussian { .. } | Law::DiscreteGaussian { .. } => f64::INFINITY,
            Law::Staircase { loss, .. } => *loss,
            Law::Atoms(atoms) => atoms
                .iter()
                .map(|atom| atom.loss)
                .fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// A total order, so that a bundle does not depend on the order in which it was put together.
    pub(super) fn order(&self, other: &Law) -> Ordering {
        fn key(law: &Law) -> (u8, f64, f64, &[Atom]) {
            match law {
                Law::Gaussian { ratio } => (0, *ratio, 0.0, &[]),
                Law::Staircase { loss, steps } => (1, *loss, *steps, &[]),
                Law::DiscreteGaussian { sigma, shift } => (2, *sigma, *shift, &[]),
                Law::Atoms(atoms) => (3, 0.0, 0.0, atoms),
            }
        }
        let (a, b) = (key(self), key(other));
        let atoms = |atoms: &[Atom], others: &[Atom]| {
            let each = atoms.iter().zip(others);
            each.map(|(x, y)| x.loss.total_cmp(&y.loss).then(x.mass.total_cmp(&y.mass)))
                .find(|order| order.is_ne())
                .unwrap_or(atoms.len().cmp(&others.len()))
        };
        a.0.cmp(&b.0)
            .then(a.1.total_cmp(&b.1))
            .then(a.2.total_cmp(&b.2))
            .then_with(|| atoms(a.3, b.3))
    }

    /// The cumulant at `z`, whose real part is positive.
    pub(super) fn cumulant(&self, z: Complex) -> Cumulant {
        match self {
            Law::Gaussian { ratio } => {
                let value = (z * (z + Complex::ONE)).scale(ratio * ratio / 2.0);
                Cumulant {
                    value,
                    error: 8.0 * ULP * value.norm(),
                }
            }
            Law::Staircase { loss, steps } => staircase(*loss, *steps, z),
            Law::DiscreteGaussian { sigma, shift } => discrete_gaussian(*sigma, *shift, z),
            Law::Atoms(atoms) => Tilted::new(atoms, z.re).sum(atoms, z.im),
        }
    }

    /// How fast the modulus of the moment, relative to its value on the real axis, may change with the frequency:
    /// a bound on the mean distance of the loss from some centre, under any tilt.
    pub(super) fn restlessness(&self) -> f64 {
        match self {
            Law::Staircase { loss, .. } => *loss,
            // The mean distance of a discrete Gaussian from its centre is below 2 sigma + 2: the sum over its two humps
            // is at most the integral 2 sigma^2 plus twice their height, the normalizer at least 0.43 of its integral.
            Law::DiscreteGaussian { sigma, shift } => (2.0 * sigma + 2.0) * shift / (sigma * sigma),
            Law::Gaussian { .. } | Law::Atoms(_) => f64::INFINITY,
        }
    }
}

/// With `w = z + 1/2`, `a = w loss`, `b = loss/2`, `q = exp(-loss/steps)`, `r = 1 - 1/steps`, the geometric sums give
///
/// `E exp(z L) = exp(-b)/(1+q) [ 2 cosh a + (1-q) sinh(a r)/sinh(a/steps) ]`,
///
/// and 1 at `a = b`. Near there the difference from 1 is summed as a power series in `a² - b² = z(z+1) loss²`.
fn staircase(loss: f64, steps: f64, z: Complex) -> Cumulant {
    let twice_w = z.scale(2.0) + Complex::ONE;
    let a = twice_w.scale(loss / 2.0);
    let step = loss / steps;
    let ratio = 1.0 - 1.0 / steps;
    // (1 - q) / step
    let slope = if step > 0.0 {
        -libm::expm1(-step) / step
    } else {
        1.0
    };
    let both = 1.0 + libm::exp(-step);

    if a.norm() <= 0.5 {
        let series = Series::new(
            a * a,
            loss * loss / 4.0,
            (z * (z + Complex::ONE)).scale(loss * loss),
        );
        let (_, _, cosh) = series.sum(1.0, 0);
        let (top_a, top_b, top) = series.sum(ratio * ratio, 1);
        let (bottom_a, bottom_b, bottom) = series.sum((1.0 / steps) * (1.0 / steps), 1);
        let middle = (top.scale(bottom_b) - bottom.scale(top_b)) / bottom_a.scale(bottom_b);
        debug_assert!(top_a.re > 0.5);
        let excess =
            (cosh.scale(2.0) + middle.scale(slope * loss * ratio)).scale(libm::exp(-loss / 2.0) / both);
        // The terms are all of one size, at most |a² - b²|, and each is good to a few dozen units.
        let error = 128.0 * ULP * series.difference.norm();
        return Cumulant {
            value: excess.ln_1p(),
            error,
        };
    }

    // The same, divided by exp(a).
    let twice_a = a.scale(2.0);
    let climb = twice_a.scale(1.0 / steps);
    let rise = climb.scale(-1.0).exp_m1().scale(-1.0);
    // step / (1 - exp(-climb)), whose limit is 1/(2w)
    let (fraction, fraction_error) = if climb.norm() < 1e-18 {
        (Complex::ONE / twice_w, 16.0)
    } else {
        (
            Complex::new(step, 0.0) / rise,
            16.0 + 4.0 * climb.norm() / rise.norm(),
        )
    };
    if steps == 1.0 {
        let moment = Complex::ONE + twice_a.scale(-1.0).exp();
        let error = ULP * (16.0 + 16.0 * a.norm());
        return Cumulant::new(
            z.scale(loss),
            4.0 * ULP * z.norm() * loss,
            moment.scale(1.0 / both),
            error,
        );
    }
    let fall = twice_a.scale(-ratio).exp_m1().scale(-1.0);
    let middle = fraction.scale(slope) * climb.scale(-1.0).exp() * fall;
    let moment = Complex::ONE + twice_a.scale(-1.0).exp() + middle;
    let error =
        ULP * (16.0 + 16.0 * a.norm() + 2.0 * fraction.norm() * (fraction_error + 16.0 + 16.0 * a.norm()));
    Cumulant::new(
        z.scale(loss),
        4.0 * ULP * z.norm() * loss,
        moment.scale(1.0 / both),
        error,
    )
}

/// Power series in the squares `x` (complex) and `y` (real), of which only the difference is small.
struct Series {
    x: Complex,
    y: f64,
    difference: Complex,
}

impl Series {
    fn new(x: Complex, y: f64, difference: Complex) -> Series {
        Series { x, y, difference }
    }

    /// `f(x)`, `f(y)` and `f(x) - f(y)` for `f(x) = sum of (scale x)^n / (2n + odd)!`: `cosh` of the root for an even
    /// factorial, `sinh(root)/root` for an odd one. The arguments are below 1/4, so ten terms are exact.
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

/// The loss is an affine function of the noise, so `E exp(z L)` is a Gaussian's moment times a ratio of theta functions;
/// by Poisson's formula that is a sum of Gaussians in the frequency, one for each multiple `m` of the sampling rate.
fn discrete_gaussian(sigma: f64, shift: f64, z: Complex) -> Cumulant {
    let ratio = shift / sigma;
    let rate = 2.0 * PI * sigma;
    let phase = shift * z.re;
    let turn = 2.0 * PI * (phase - phase.floor());
    let nearest = -(ratio * z.im / rate).round();
    let distance = ratio * z.im + rate * nearest;
    // Neighbours of the nearest term, relative to it; those left out are below exp(-45).
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
        return Cumulant {
            value,
            error: exponent_error + 2.0 * error,
        };
    }
    Cumulant::new(exponent, exponent_error, Complex::ONE + others, error + 4.0 * ULP)
}

/// Atoms under an exponential tilt, and what is known about them there.
#[derive(Debug)]
struct Tilted {
    /// The masses, of total 1.
    masses: Vec<f64>,
    /// The mean loss. Phases are measured from it, which keeps them small.
    centre: f64,
    /// The mean distance from `centre`.
    distance: f64,
    /// The logarithm of what the masses were divided by.
    scale: f64,
    error: f64,
}

impl Tilted {
    fn new(atoms: &[Atom], tilt: f64) -> Tilted {
        let highest = atoms
            .iter()
            .map(|atom| atom.loss)
            .fold(f64::NEG_INFINITY, f64::max);
        let weigh = |atom: &Atom| atom.mass * libm::exp(tilt * (atom.loss - highest));
        let mut masses: Vec<f64> = atoms.iter().map(weigh).collect();
        let total = block_sum(masses.iter().copied());
        masses.iter_mut().for_each(|mass| *mass /= total);
        let mean = |f: &dyn Fn(f64) -> f64| {
            block_sum(atoms.iter().zip(&masses).map(|(atom, mass)| f(atom.loss) * mass))
        };
        let centre = mean(&|loss| loss);
        let distance = mean(&|loss| (loss - centre).abs()) * (1.0 + 1e-9);
        // What rounding the exponent does to a mass, in the mean; what the sums do.
        let exponents = tilt * ((highest - centre).abs() + distance);
        let blocks = (BLOCK + atoms.len() / BLOCK) as f64;
        let scale = tilt * highest + libm::log(total);
        Tilted {
            masses,
            centre,
            distance,
            scale,
            error: ULP * (16.0 + 4.0 * exponents + 2.0 * blocks),
        }
    }

    /// The cumulant at `frequency`, each phase computed afresh.
    fn sum(&self, atoms: &[Atom], frequency: f64) -> Cumulant {
        let phasor = |(atom, mass): (&Atom, &f64)| {
            Complex::new(0.0, frequency * (atom.loss - self.centre))
                .exp()
                .scale(*mass)
        };
        let phasors: Vec<Complex> = atoms.iter().zip(&self.masses).map(phasor).collect();
        self.cumulant(frequency, &phasors, 0)
    }

    fn cumulant(&self, frequency: f64, phasors: &[Complex], turns: u32) -> Cumulant {
        let zero = Complex::new(0.0, 0.0);
        let block = |block: &[Complex]| block.iter().fold(zero, |sum, phasor| sum + *phasor);
        let moment = phasors.chunks(BLOCK).fold(zero, |sum, chunk| sum + block(chunk));
        let exponent = Complex::new(self.scale, frequency * self.centre);
        let error = self.error + ULP * (8.0 * frequency * self.distance + 4.0 * f64::from(turns));
        Cumulant::new(exponent, 8.0 * ULP * exponent.norm(), moment, error)
    }
}

/// Atoms along one vertical line: from one frequency to the next each turns by a constant angle.
#[derive(Debug)]
pub(super) struct Sweep<'a> {
    atoms: &'a [Atom],
    tilted: Tilted,
    step: f64,
    turns: Vec<Complex>,
    phasors: Vec<Complex>,
    at: u64,
    turned: u32,
}

/// Phases are computed afresh after so many turns, each of which adds a few units of error.
const TURNS: u32 = 32;
/// Sums run in blocks, so that their error grows with the block and the number of blocks, not with their product.
const BLOCK: usize = 64;

impl<'a> Sweep<'a> {
    /// Prepares the atoms for the points `tilt + i n step`.
    pub(super) fn new(atoms: &'a [Atom], tilt: f64, step: f64) -> Sweep<'a> {
        let tilted = Tilted::new(atoms, tilt);
        let turn = |atom: &Atom| Complex::new(0.0, step * (atom.loss - tilted.centre)).exp();
        let turns = atoms.iter().map(turn).collect();
        Sweep {
            atoms,
            step,
            turns,
            phasors: Vec::new(),
            at: 0,
            turned: TURNS,
            tilted,
        }
    }

    /// The mean distance of the loss from its centre, under the tilt.
    pub(super) fn restlessness(&self) -> f64 {
        self.tilted.distance
    }

    /// The cumulant at frequency `n step`.
    pub(super) fn at(&mut self, n: u64) -> Cumulant {
        let frequency = n as f64 * self.step;
        if n == self.at + 1 && self.turned < TURNS {
            self.phasors
                .iter_mut()
                .zip(&self.turns)
                .for_each(|(phasor, turn)| *phasor = *phasor * *turn);
            self.turned += 1;
        } else {
            let centre = self.tilted.centre;
            let each = self.atoms.iter().zip(&self.tilted.masses);
            self.phasors = each
                .map(|(atom, mass)| {
                    Complex::new(0.0, frequency * (atom.loss - centre))
                        .exp()
                        .scale(*mass)
                })
                .collect();
            self.turned = 0;
        }
        self.at = n;
        self.tilted.cumulant(frequency, &self.phasors, self.turned)
    }
}

fn block_sum(values: impl Iterator<Item = f64>) -> f64 {
    let (mut total, mut block, mut taken) = (0.0, 0.0, 0);
    for value in values {
        block += value;
        taken += 1;
        if taken == BLOCK {
            total += block;
            (block, taken) = (0.0, 0);
        }
    }
    total + block
}
