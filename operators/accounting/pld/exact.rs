//! Total losses with few values, listed in full: binomials for randomized response, powers of the integer
//! distributions, products of small tables. A list needs no integral, and the curve of the continuous
//! Gaussian covers a Gaussian part besides.

use std::sync::Arc;

use super::integral::{Integral, ULP};
use super::law::{Atom, LossDistribution};
use super::pair;

/// The largest number of atoms of a list, and that of a power of a lattice, whose time is the square of it.
const LIMIT: usize = 1 << 16;
const LATTICE_LIMIT: u64 = 1 << 12;
/// The least probability that is listed. Smaller ones are charged to infinite loss, [`LEFT_OUT`] in all:
/// there are fewer than 2^32 of them, or they fall geometrically.
const DUST: f64 = 1e-280;
const LEFT_OUT: f64 = 1e-270;

/// The distribution of the total loss, atom by atom, masses and losses rounded up.
#[derive(Debug)]
pub(super) struct ExactLossDistribution {
    atoms: Vec<Atom>,
    gaussian: f64,
    whole: bool,
}

impl ExactLossDistribution {
    /// Lists the total loss of each distribution with its count, besides a Gaussian of ratio `gaussian`;
    /// `None` where the list would be too long.
    pub(super) fn list(uses: &[(LossDistribution, u64)], gaussian: f64) -> Option<ExactLossDistribution> {
        let start = vec![Atom { loss: 0.0, mass: 1.0 }];
        let mut list = ExactLossDistribution { atoms: start, gaussian, whole: true };
        for (law, count) in uses {
            match law {
                LossDistribution::Staircase { loss, steps } if *steps == 1.0 => {
                    let atoms = binomial(*loss, *count)?;
                    list.whole &= atoms.len() as u64 == count + 1;
                    list.times(&atoms)?;
                }
                LossDistribution::Staircase { loss, steps } => {
                    list.times(&staircase(*loss, *steps)?.power(*count)?)?
                }
                LossDistribution::DiscreteGaussian { sigma, shift } => {
                    list.times(&discrete_gaussian(*sigma, *shift)?.power(*count)?)?;
                }
                LossDistribution::Atoms(atoms) if *count <= LIMIT as u64 => {
                    (0..*count).try_for_each(|_| list.times(atoms))?;
                }
                _ => return None,
            }
            // A lattice has atoms below `DUST`, or may have.
            list.whole &= matches!(law, LossDistribution::Atoms(_))
                || matches!(law, LossDistribution::Staircase { steps: 1.0, .. });
        }
        Some(list)
    }

    /// The probability that is not listed, to be charged as infinite loss.
    pub(super) fn left_out(&self) -> f64 {
        if self.whole { 0.0 } else { LEFT_OUT }
    }

    /// An upper bound on the hockey-stick divergence at `epsilon`, and minus its slope.
    pub(super) fn delta(&self, epsilon: f64) -> (f64, f64) {
        let (mut delta, mut slope) = (0.0, 0.0);
        for atom in &self.atoms {
            let (height, fall) = pair::gaussian_delta(self.gaussian, epsilon - atom.loss);
            delta += atom.mass * height;
            slope += atom.mass * fall;
        }
        (delta * (1.0 + (self.atoms.len() + 8) as f64 * ULP), slope)
    }

    fn times(&mut self, other: &[Atom]) -> Option<()> {
        if self.atoms.len() * other.len() > LIMIT {
            return None;
        }
        let pairs = self.atoms.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
        let all: Vec<Atom> =
            pairs.map(|(a, b)| Atom { loss: up(a.loss + b.loss), mass: up(a.mass * b.mass) }).collect();
        self.atoms = all.iter().filter(|atom| atom.mass >= DUST).copied().collect();
        self.whole &= self.atoms.len() == all.len();
        Some(())
    }
}

/// Rounds up by a few units, for either sign: the rounding of a product of few factors.
fn up(value: f64) -> f64 {
    value + value.abs() * 8.0 * ULP
}

/// Scales masses to a total of 1, then up by `slack`, a bound on the error of each in units.
fn normalize(masses: &mut [f64], slack: f64) {
    let total: f64 = masses.iter().sum();
    let slack = 1.0 + (2.0 * slack + masses.len() as f64 + 8.0) * ULP;
    masses.iter_mut().for_each(|mass| *mass = *mass / total * slack);
}

/// The loss of `count` randomized responses: outward from the most probable number of truthful answers.
fn binomial(loss: f64, count: u64) -> Option<Vec<Atom>> {
    if count > 1 << 40 {
        return None;
    }
    let (uses, odds) = (count as f64, libm::exp(-loss));
    let mode = (uses / (1.0 + odds)).floor();
    let mut truths = vec![mode];
    let mut masses = vec![1.0];
    for direction in [1.0, -1.0] {
        let (mut here, mut mass) = (mode, 1.0);
        loop {
            mass *= if direction > 0.0 {
                (uses - here) / ((here + 1.0) * odds)
            } else {
                here * odds / (uses - here + 1.0)
            };
            here += direction;
            if !(0.0..=uses).contains(&here) || mass < DUST {
                break;
            }
            truths.push(here);
            masses.push(mass);
            if masses.len() > LIMIT {
                return None;
            }
        }
    }
    let slack = 8.0 * masses.len() as f64;
    normalize(&mut masses, slack);
    let atom = |(truths, mass): (f64, f64)| Atom { loss: up((2.0 * truths - uses) * loss), mass };
    Some(truths.into_iter().zip(masses).map(atom).collect())
}

/// Equally spaced losses: `highest`, `highest - step`, and so on down.
struct LossLattice {
    highest: f64,
    step: f64,
    masses: Vec<f64>,
}

impl LossLattice {
    /// The distribution of the sum of `count` independent losses.
    fn power(self, count: u64) -> Option<Vec<Atom>> {
        let cells = self.masses.len() as u64;
        if count > 1 && cells.checked_mul(count)? > LATTICE_LIMIT {
            return None;
        }
        let mut power = self.masses.clone();
        for _ in 1..count {
            let mut next = vec![0.0; power.len() + self.masses.len() - 1];
            for (i, mass) in power.iter().enumerate() {
                let sums = next[i..].iter_mut().zip(&self.masses);
                sums.for_each(|(sum, other)| *sum += mass * other);
            }
            power = next;
        }
        let slack = 1.0 + ((cells + 2) * count) as f64 * 2.0 * ULP;
        let highest = self.highest * count as f64;
        // Either term may be much larger than their difference.
        let error = 8.0 * ULP * highest;
        let atom = |(n, mass): (usize, f64)| {
            let fall = n as f64 * self.step;
            Atom { loss: highest - fall + error + 8.0 * ULP * fall, mass: mass * slack }
        };
        Some(power.into_iter().enumerate().map(atom).filter(|atom| atom.mass >= DUST).collect())
    }
}

/// The losses of one use of discrete Laplace noise.
fn staircase(loss: f64, steps: f64) -> Option<LossLattice> {
    if steps > LIMIT as f64 {
        return None;
    }
    let step = loss / steps;
    let inner = -libm::expm1(-step);
    let mass = |x: u32| {
        let edge = x == 0 || x == steps as u32;
        (if edge { 1.0 } else { inner }) * libm::exp(-f64::from(x) * step)
    };
    let mut masses: Vec<f64> = (0..=steps as u32).map(mass).collect();
    normalize(&mut masses, 16.0 + 4.0 * loss);
    Some(LossLattice { highest: loss, step: 2.0 * step, masses })
}

/// The losses of one use of discrete Gaussian noise.
fn discrete_gaussian(sigma: f64, shift: f64) -> Option<LossLattice> {
    // exp(-36²/2) is below `DUST`.
    let reach = (36.0 * sigma).ceil();
    if reach * 2.0 > LIMIT as f64 {
        return None;
    }
    let mass = |x: i32| {
        let x = f64::from(x) / sigma;
        libm::exp(-x * x / 2.0)
    };
    let mut masses: Vec<f64> = (-(reach as i32)..=reach as i32).map(mass).collect();
    normalize(&mut masses, 8.0 * 660.0);
    let step = shift / sigma / sigma;
    Some(LossLattice { highest: step * (shift / 2.0 + reach), step, masses })
}

// Losses that a caller has listed, composed with themselves: the composition behind the certificate of a
// noise table.

/// The loss of one use: a list where it is finite, and the probability of infinite loss.
///
/// The result is an upper bound if the losses and the masses are. The masses need not add up to 1: masses
/// that are rounded up may add up to slightly more.
#[derive(Debug)]
pub(in crate::accounting) struct DiscreteLoss {
    atoms: Arc<[Atom]>,
    infinite: f64,
}

/// The headroom of terms above the result, as a logarithm: any, until their rounding is visible. The more
/// headroom, the shorter the sum.
const ANY: f64 = 60.0;

/// The precision of a bound, and the time it may take.
#[derive(Clone, Copy, Debug)]
pub(in crate::accounting) struct Precision {
    /// The relative excess of delta over the least possible.
    pub(in crate::accounting) excess: f64,
    /// The number of frequencies in the first pass, and the largest number.
    pub(in crate::accounting) terms: (f64, f64),
}

impl DiscreteLoss {
    /// Makes a loss of pairs of a loss and its mass, and the mass of infinite loss.
    pub(in crate::accounting) fn new(pairs: impl Iterator<Item = (f64, f64)>, infinite: f64) -> DiscreteLoss {
        DiscreteLoss { atoms: pairs.map(|(loss, mass)| Atom { loss, mass }).collect(), infinite }
    }

    /// An upper bound on the divergence of `count` uses at `epsilon`, each chosen by the outcomes of those
    /// before.
    ///
    /// With masses that are not divided by their sum, the contour's `M` is the moment over the finite losses
    /// alone.
    pub(in crate::accounting) fn delta(&self, count: u64, epsilon: f64, care: Precision) -> f64 {
        let uses = [(LossDistribution::Atoms(Arc::clone(&self.atoms)), count)];
        let finite = Integral::new(&uses, 0.0).delta_within(epsilon, care.excess, care.terms, ANY);
        let infinite = -libm::expm1(count as f64 * libm::log1p(-self.infinite.min(1.0)));
        ((finite + infinite * (1.0 + 64.0 * ULP)) * (1.0 + 4.0 * ULP)).min(1.0)
    }

    /// Drops the infinite loss, a mutant that a test must catch.
    #[cfg(test)]
    pub(in crate::accounting) fn without_infinite(mut self) -> DiscreteLoss {
        self.infinite = 0.0;
        self
    }
}
