//! The hockey-stick divergence as a contour integral: many uses take no longer than one.
//!
//! For every `t > 0`, with `M(z) = E exp(z L)` of the total loss,
//! `E (1 - exp(epsilon - L))_+ = 1/(2 pi) ∫ M(z) exp(-z epsilon) / (z (z+1)) dw` along `z = t + i w`. The
//! page of the parent module says why the sum computed here is never below it.

use std::f64::consts::{FRAC_PI_6, PI};
use std::ops::{Add, Div, Mul, Sub};

use super::law::{Atom, Cumulant, LossDistribution};
use super::pair::ceiling;
use super::search::{first_below, lowest};

/// The number of frequencies of the first pass, and the largest number of the last.
const TERMS: (f64, f64) = (2_048.0, 1_048_576.0);
/// The relative excess of epsilon that the added Gaussian may cause.
const EPSILON_EXCESS: f64 = 2e-7;
/// The relative excess of delta that the added Gaussian may cause.
const DELTA_EXCESS: f64 = 1e-6;
/// The standard deviations of the added Gaussian's frequency at which the sum stops.
const CUT: f64 = 6.0;
/// Aliases are kept below exp(-ALIAS) of the result.
const ALIAS: f64 = 28.0;
/// The largest logarithm of the terms' start over the result.
const HEADROOM: f64 = 12.0;
/// The least number of steps worth skipping: about this many turns take as long as new phases.
const LEAP: u32 = 16;
/// Frequencies where the moment is proved below exp(-NIL) of its largest value are not visited.
const NIL: f64 = 60.0;

/// The total loss of distributions, each with its count, and of a Gaussian of ratio `gaussian`.
#[derive(Debug)]
pub(super) struct Integral {
    uses: Vec<(LossDistribution, f64)>,
    gaussian: f64,
}

impl Integral {
    pub(super) fn new(uses: &[(LossDistribution, u64)], gaussian: f64) -> Integral {
        // A count above 2^53 is off by half a unit here: charged with the rounding of the product it enters.
        let uses: Vec<(LossDistribution, f64)> =
            uses.iter().map(|(law, count)| (law.clone(), *count as f64)).collect();
        Integral { uses, gaussian }
    }

    /// An upper bound on the divergence at `epsilon`.
    pub(super) fn delta(&self, epsilon: f64) -> f64 {
        self.delta_within(epsilon, DELTA_EXCESS, TERMS, HEADROOM)
    }

    /// An upper bound on the divergence at `epsilon`, which the added Gaussian may make larger by about
    /// `allowed` of itself, if the frequencies are enough: `first` in the first pass, `last` at most. Terms
    /// may start as far above the result as `headroom`, a logarithm, while their rounding allows.
    pub(super) fn delta_within(
        &self,
        epsilon: f64,
        allowed: f64,
        (first, last): (f64, f64),
        headroom: f64,
    ) -> f64 {
        let (tilt, logarithm) = self.chernoff_delta(epsilon);
        let mut best = libm::exp(logarithm).min(1.0);
        if best == 0.0 {
            return 0.0;
        }
        let (mut terms, mut headroom) = (first, headroom);
        loop {
            let line = self.line(tilt, epsilon, best, terms, headroom);
            let reading = line.read(epsilon);
            best = best.min(reading.delta);
            // A smaller tilt makes the sum short and its terms large. Where Chernoff's bound was far above
            // the result, they are so large that their rounding is most of it.
            if line.tilt < tilt && line.fixed > 10.0 * allowed * reading.delta {
                headroom = if headroom > HEADROOM { HEADROOM } else { f64::NEG_INFINITY };
                continue;
            }
            let excess = line.widened * reading.density / (reading.delta * allowed);
            match more(terms, excess, last) {
                Some(next) => terms = next,
                None => return best,
            }
        }
    }

    /// A bound on the least epsilon at which the divergence is at most `target`.
    pub(super) fn epsilon(&self, target: f64) -> f64 {
        let (mut tilt, mut guess) = self.chernoff_epsilon(target);
        if guess <= 0.0 {
            return 0.0;
        }
        let mut best = if guess.is_nan() { f64::INFINITY } else { guess };
        let mut terms = TERMS.0;
        loop {
            let line = self.line(tilt, guess, target, terms, HEADROOM);
            let found = first_below(target, best, |epsilon| {
                let reading = line.read(epsilon);
                (reading.delta, reading.fall)
            });
            best = best.min(found);
            if best == 0.0 {
                return 0.0;
            }
            let reading = line.read(best);
            // Where epsilon is far below the spread of the loss, an error is relative to the spread.
            let scale = best.max(0.1 / tilt);
            let excess = line.widened * reading.density / (reading.fall * scale * EPSILON_EXCESS);
            match more(terms, excess, TERMS.1) {
                Some(next) => terms = next,
                None => return best,
            }
            guess = best;
            tilt = self.chernoff_delta(best).0;
        }
    }

    /// An upper bound on the logarithm of the moment at a real point.
    fn log_moment(&self, tilt: f64) -> f64 {
        let z = Complex::new(tilt, 0.0);
        let each = self.uses.iter().map(|(law, count)| {
            let cumulant = law.cumulant(z);
            count * (cumulant.value.re + cumulant.error + 4.0 * ULP * cumulant.value.re.abs())
        });
        each.sum::<f64>() + self.gaussian * self.gaussian * tilt * (tilt + 1.0) / 2.0 * (1.0 + 16.0 * ULP)
    }

    /// The tilt at which the terms of the sum start lowest, and Chernoff's bound on the logarithm of the
    /// divergence there.
    fn chernoff_delta(&self, epsilon: f64) -> (f64, f64) {
        let start = |tilt: f64| self.log_moment(tilt) - tilt * epsilon - libm::log(tilt) - libm::log1p(tilt);
        let tilt = libm::exp(lowest(|log_tilt| start(libm::exp(log_tilt))).0);
        let moment = self.log_moment(tilt);
        let error = 16.0 * ULP * (moment.abs() + tilt * epsilon + 1.0 - ceiling(tilt));
        (tilt, moment - tilt * epsilon + ceiling(tilt) + error)
    }

    /// The tilt of Chernoff's bound on epsilon, and the bound.
    fn chernoff_epsilon(&self, target: f64) -> (f64, f64) {
        let logarithm = libm::log(target);
        let bound = |tilt: f64| (self.log_moment(tilt) + ceiling(tilt) - logarithm) / tilt;
        let (log_tilt, least) = lowest(|log_tilt| bound(libm::exp(log_tilt)));
        let tilt = libm::exp(log_tilt);
        (tilt, least + 16.0 * ULP * (least.abs() + (1.0 - logarithm - ceiling(tilt)) / tilt))
    }

    /// Evaluates the moment along the line `tilt + i w`, for epsilons near `epsilon` and divergences near
    /// `delta`.
    fn line(&self, tilt: f64, epsilon: f64, delta: f64, terms: f64, headroom: f64) -> ContourLine {
        let (tilt, period) = self.contour(tilt, epsilon, delta, headroom);
        let step = 2.0 * PI / period;
        let smoothing = self.gaussian.max(CUT / (step * terms));
        let last = (CUT / (step * smoothing)).ceil();

        // An upper bound of |M(z) exp(-z epsilon)| on this line.
        let widened = (smoothing * smoothing - self.gaussian * self.gaussian).max(0.0) / 2.0;
        let height = self.log_moment(tilt) + widened * tilt * (tilt + 1.0) - tilt * epsilon;
        let top = libm::exp(height + 32.0 * ULP * (height.abs() + tilt * epsilon + 1.0));

        let mut points = Vec::new();
        let mut laws: Vec<ContourWalk<'_>> =
            self.uses.iter().map(|(law, count)| ContourWalk::new(law, *count, tilt, step)).collect();
        let gaussian = LossDistribution::Gaussian { ratio: smoothing };
        let (mut fixed, mut turning) = (0.0, 0.0);
        let mut n = 0;
        while n as f64 <= last {
            let z = Complex::new(tilt, n as f64 * step);
            let mut exponent = gaussian.cumulant(z);
            let mut skip = 1.0_f64;
            for law in &mut laws {
                let cumulant = law.at(n, z);
                exponent.value = exponent.value + cumulant.value.scale(law.count);
                exponent.error += law.count * (cumulant.error + 4.0 * ULP * cumulant.value.norm());
                skip = skip.max(law.skip(&cumulant));
            }
            let value = exponent.value - z.scale(epsilon);
            let weight = if n == 0 { 0.5 } else { 1.0 } * step / PI;
            let kernel = z * (z + Complex::ONE);
            let term = value.exp().scale(weight) / kernel;
            let size = term.norm();
            let error = exponent.error + 8.0 * ULP * value.norm();
            fixed += if error < 0.05 {
                size * (2.0 * error + 32.0 * ULP)
            } else {
                libm::exp(value.re + 2.0 * error) * weight / kernel.norm()
            };
            turning += 16.0 * ULP * z.norm() * size;
            points.push((z, term));
            n += skip as u64;
        }
        let end = last * step;
        // Beyond the end the added Gaussian alone bounds every term; a skipped term is below exp(-NIL) of the
        // top.
        let tail =
            libm::exp(-(smoothing * end) * (smoothing * end) / 2.0) / (PI * end * (smoothing * end).max(1.0));
        let skipped = libm::exp(-NIL) * FRAC_PI_6 / step;
        let summed =
            2.0 * ULP * points.len() as f64 * points.iter().map(|(_, term)| term.norm()).sum::<f64>();
        let fixed = (fixed + summed + top * (tail + skipped)) * (1.0 + 1e-9);
        ContourLine { tilt, epsilon, widened, points, fixed, turning }
    }

    /// Chooses a tilt and a period so long that the aliases of the result are far below `delta`: from the
    /// left by the tilt itself, from the right by Chernoff's bound at larger tilts. Where the loss has a
    /// heavy tail, a tilt below `best` is faster. A poor choice makes the result larger, never wrong.
    fn contour(&self, best: f64, epsilon: f64, delta: f64, headroom: f64) -> (f64, f64) {
        let small = ALIAS - libm::log(delta);
        let right = [1.25, 1.5, 2.0, 3.0, 5.0, 9.0].map(|factor| {
            let tilt = best * factor;
            (tilt, self.log_moment(tilt) - tilt * epsilon + ceiling(tilt) + small)
        });
        let candidates = [1.0, 0.7, 0.5, 0.35, 0.25].map(|factor| {
            let tilt = best * factor;
            let nearest =
                right.iter().map(|(more, height)| height / (more - tilt)).fold(f64::INFINITY, f64::min);
            (tilt, nearest.max(small / tilt))
        });
        let affordable =
            |tilt: f64| self.log_moment(tilt) - tilt * epsilon + ceiling(tilt) < libm::log(delta) + headroom;
        let shorter = |kept: (f64, f64), other: (f64, f64)| {
            if other.1 < kept.1 && affordable(other.0) { other } else { kept }
        };
        candidates.into_iter().reduce(shorter).unwrap_or((best, small / best))
    }
}

/// The number of terms of the next pass, if the excess (1 is allowed) is too large; `None` if no pass is
/// needed or possible.
fn more(terms: f64, excess: f64, most: f64) -> Option<f64> {
    (excess > 1.0 && terms < most).then(|| (terms * (1.2 * excess).sqrt().clamp(2.0, 32.0)).min(most).ceil())
}

/// One distribution along the line.
struct ContourWalk<'a> {
    law: &'a LossDistribution,
    sweep: Option<AtomSweep<'a>>,
    count: f64,
    /// The real part of the cumulant at frequency zero: nowhere on the line is it larger.
    top: f64,
    /// The modulus of one use below which the power is nil, and the largest change of the modulus in one
    /// step.
    nil: f64,
    change: f64,
}

impl<'a> ContourWalk<'a> {
    fn new(law: &'a LossDistribution, count: f64, tilt: f64, step: f64) -> ContourWalk<'a> {
        let sweep = match law {
            LossDistribution::Atoms(atoms) => Some(AtomSweep::new(atoms, tilt, step)),
            _ => None,
        };
        let restlessness = sweep.as_ref().map_or_else(|| law.restlessness(), AtomSweep::restlessness);
        let top = law.cumulant(Complex::new(tilt, 0.0)).value.re;
        ContourWalk { law, sweep, count, top, nil: libm::exp(-NIL / count), change: restlessness * step }
    }

    fn at(&mut self, n: u64, z: Complex) -> Cumulant {
        match &mut self.sweep {
            Some(sweep) => sweep.at(n),
            None => self.law.cumulant(z),
        }
    }

    /// The number of steps that may be taken at once, because up to there the power of the moment stays nil.
    fn skip(&self, here: &Cumulant) -> f64 {
        let modulus = libm::exp(here.value.re - self.top) * (1.0 + 1e-9) + 1e-9;
        let steps = ((self.nil - modulus) / self.change).clamp(1.0, 1e15).floor();
        // Atoms turn from step to step; after a leap all their phases are computed afresh.
        if self.sweep.is_some() && steps < f64::from(LEAP) { 1.0 } else { steps }
    }
}

/// The terms of the sum along one line.
#[derive(Debug)]
struct ContourLine {
    tilt: f64,
    /// The epsilon that the terms are computed at.
    epsilon: f64,
    /// Half the variance of the added Gaussian.
    widened: f64,
    points: Vec<(Complex, Complex)>,
    /// The error: its fixed part, and its part for each unit of epsilon that the terms are turned by.
    fixed: f64,
    turning: f64,
}

#[derive(Debug)]
struct IntegralReading {
    /// An upper bound on delta.
    delta: f64,
    /// Minus the slope of delta.
    fall: f64,
    /// The density of the loss at epsilon: twice the derivative of delta by added variance.
    density: f64,
}

impl ContourLine {
    fn read(&self, epsilon: f64) -> IntegralReading {
        let moved = epsilon - self.epsilon;
        let (mut delta, mut fall, mut density) = (0.0, 0.0, 0.0);
        for (z, term) in &self.points {
            let (sin, cos) = libm::sincos(-z.im * moved);
            let term = *term * Complex::new(cos, sin);
            let first = *z * term;
            delta += term.re;
            fall += first.re;
            density += (first + *z * first).re;
        }
        let scale = libm::exp(-self.tilt * moved);
        let error = self.fixed + self.turning * (1.0 + epsilon.abs() + self.epsilon.abs());
        // NaN bounds nothing.
        let delta = if delta.is_nan() { f64::INFINITY } else { delta.max(0.0) };
        IntegralReading {
            delta: (delta + error) * scale * (1.0 + 16.0 * ULP * (1.0 + (self.tilt * moved).abs())),
            fall: fall * scale,
            density: density.max(0.0) * scale,
        }
    }
}

// Finitely many losses along one vertical line of the complex plane.

/// Atoms under an exponential tilt, with their moments there.
#[derive(Debug)]
pub(super) struct Tilted {
    /// The masses, of total 1.
    masses: Vec<f64>,
    /// The mean loss. Phases are measured from it, which keeps them small.
    centre: f64,
    /// The mean distance from `centre`.
    distance: f64,
    /// The logarithm of the divisor of the masses.
    scale: f64,
    error: f64,
}

impl Tilted {
    pub(super) fn new(atoms: &[Atom], tilt: f64) -> Tilted {
        let highest = atoms.iter().map(|atom| atom.loss).fold(f64::NEG_INFINITY, f64::max);
        let weigh = |atom: &Atom| atom.mass * libm::exp(tilt * (atom.loss - highest));
        let mut masses: Vec<f64> = atoms.iter().map(weigh).collect();
        let total = block_sum(masses.iter().copied());
        masses.iter_mut().for_each(|mass| *mass /= total);
        let mean = |f: &dyn Fn(f64) -> f64| {
            block_sum(atoms.iter().zip(&masses).map(|(atom, mass)| f(atom.loss) * mass))
        };
        let centre = mean(&|loss| loss);
        let distance = mean(&|loss| (loss - centre).abs()) * (1.0 + 1e-9);
        // The mean effect of the exponents' rounding on a mass, and the rounding of the sums.
        let exponents = tilt * ((highest - centre).abs() + distance);
        let blocks = (BLOCK + atoms.len() / BLOCK) as f64;
        let scale = tilt * highest + libm::log(total);
        Tilted { masses, centre, distance, scale, error: ULP * (16.0 + 4.0 * exponents + 2.0 * blocks) }
    }

    /// The cumulant at `frequency`, each phase computed afresh.
    pub(super) fn sum(&self, atoms: &[Atom], frequency: f64) -> Cumulant {
        if frequency == 0.0 {
            // All phasors have the same direction, and their sum is known.
            let value = Complex::new(self.scale, 0.0);
            return Cumulant { value, error: self.error + 8.0 * ULP * value.norm() };
        }
        let phasor = |(atom, mass): (&Atom, &f64)| {
            Complex::new(0.0, frequency * (atom.loss - self.centre)).exp().scale(*mass)
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
pub(super) struct AtomSweep<'a> {
    atoms: &'a [Atom],
    tilted: Tilted,
    step: f64,
    turns: Vec<Complex>,
    phasors: Vec<Complex>,
    at: u64,
    turned: u32,
}

/// The number of turns after which phases are computed afresh; each turn adds a few units of error.
const TURNS: u32 = 32;
/// The length of a block of a sum: its error grows with the block and the number of blocks, not with their
/// product.
const BLOCK: usize = 64;

impl<'a> AtomSweep<'a> {
    /// Prepares the atoms for the points `tilt + i n step`.
    pub(super) fn new(atoms: &'a [Atom], tilt: f64, step: f64) -> AtomSweep<'a> {
        let tilted = Tilted::new(atoms, tilt);
        let turn = |atom: &Atom| Complex::new(0.0, step * (atom.loss - tilted.centre)).exp();
        let turns = atoms.iter().map(turn).collect();
        AtomSweep { atoms, step, turns, phasors: Vec::new(), at: 0, turned: TURNS, tilted }
    }

    /// The mean distance of the loss from its centre, under the tilt.
    pub(super) fn restlessness(&self) -> f64 {
        self.tilted.distance
    }

    /// The cumulant at frequency `n step`.
    pub(super) fn at(&mut self, n: u64) -> Cumulant {
        let frequency = n as f64 * self.step;
        if n == self.at + 1 && self.turned < TURNS {
            self.phasors.iter_mut().zip(&self.turns).for_each(|(phasor, turn)| *phasor = *phasor * *turn);
            self.turned += 1;
        } else {
            let centre = self.tilted.centre;
            let each = self.atoms.iter().zip(&self.tilted.masses);
            self.phasors = each
                .map(|(atom, mass)| Complex::new(0.0, frequency * (atom.loss - centre)).exp().scale(*mass))
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

// The complex arithmetic that one contour integral needs, and no more.
//
// Every function here is accurate to a few units in the last place of the largest number that enters it;
// callers charge for that (see the module's page), so nothing here has to be exact.

/// Half a unit in the last place of 1: the largest relative error of one rounded operation.
pub(super) const ULP: f64 = f64::EPSILON / 2.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Complex {
    pub(super) re: f64,
    pub(super) im: f64,
}

impl Complex {
    pub(super) const ONE: Complex = Complex::new(1.0, 0.0);

    pub(super) const fn new(re: f64, im: f64) -> Complex {
        Complex { re, im }
    }

    pub(super) fn norm(self) -> f64 {
        libm::hypot(self.re, self.im)
    }

    pub(super) fn scale(self, factor: f64) -> Complex {
        Complex::new(self.re * factor, self.im * factor)
    }

    pub(super) fn exp(self) -> Complex {
        let (sin, cos) = libm::sincos(self.im);
        Complex::new(cos, sin).scale(libm::exp(self.re))
    }

    /// `e^z - 1`, without losing the digits of a small `z`.
    pub(super) fn exp_m1(self) -> Complex {
        let (sin, cos) = libm::sincos(self.im);
        let half = libm::sin(self.im / 2.0);
        Complex::new(libm::expm1(self.re) * cos - 2.0 * half * half, libm::exp(self.re) * sin)
    }

    pub(super) fn ln(self) -> Complex {
        Complex::new(libm::log(self.norm()), libm::atan2(self.im, self.re))
    }

    /// `ln(1 + z)`, without losing the digits of a small `z`.
    pub(super) fn ln_1p(self) -> Complex {
        let squared = self.re * self.re + self.im * self.im;
        Complex::new(0.5 * libm::log1p(2.0 * self.re + squared), libm::atan2(self.im, 1.0 + self.re))
    }
}

impl Add for Complex {
    type Output = Complex;
    fn add(self, other: Complex) -> Complex {
        Complex::new(self.re + other.re, self.im + other.im)
    }
}

impl Sub for Complex {
    type Output = Complex;
    fn sub(self, other: Complex) -> Complex {
        Complex::new(self.re - other.re, self.im - other.im)
    }
}

impl Mul for Complex {
    type Output = Complex;
    fn mul(self, other: Complex) -> Complex {
        Complex::new(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
    }
}

impl Div for Complex {
    type Output = Complex;
    fn div(self, other: Complex) -> Complex {
        let squared = other.re * other.re + other.im * other.im;
        let product = self * Complex::new(other.re, -other.im);
        product.scale(1.0 / squared)
    }
}
