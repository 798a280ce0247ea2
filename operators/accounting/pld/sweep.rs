//! Finitely many losses along one vertical line of the complex plane.

use super::complex::{Complex, ULP};
use super::law::{Atom, Cumulant};

/// Atoms under an exponential tilt, and what is known about them there.
#[derive(Debug)]
pub(super) struct Tilted {
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
        // What rounding the exponent does to a mass, in the mean; what the sums do.
        let exponents = tilt * ((highest - centre).abs() + distance);
        let blocks = (BLOCK + atoms.len() / BLOCK) as f64;
        let scale = tilt * highest + libm::log(total);
        Tilted { masses, centre, distance, scale, error: ULP * (16.0 + 4.0 * exponents + 2.0 * blocks) }
    }

    /// The cumulant at `frequency`, each phase computed afresh.
    pub(super) fn sum(&self, atoms: &[Atom], frequency: f64) -> Cumulant {
        if frequency == 0.0 {
            // All of them point one way, and their sum was taken already.
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

/// Phases are computed afresh after so many turns, each of which adds a few units of error.
const TURNS: u32 = 32;
/// Sums run in blocks, so that their error grows with the block and the number of blocks, not with their product.
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
