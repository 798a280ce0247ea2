//! Few enough atoms are simply listed: binomials for randomized response, products for small tables. What is listed
//! needs no integral, and what is not listed stays under the continuous Gaussian's own curve.

use super::complex::ULP;
use super::gaussian;
use super::law::{Atom, Law};

/// More atoms than this are not listed.
const LIMIT: usize = 1 << 16;
/// Probabilities below this, relative to the largest, are not listed but charged to infinite loss.
const DUST: f64 = 1e-280;

/// The law of the total loss, atom by atom, masses and losses rounded up.
#[derive(Debug)]
pub(super) struct Exact {
    atoms: Vec<Atom>,
    gaussian: f64,
    left_out: f64,
}

/// What the dust of a listing may add up to: fewer than 2^16 tails, each below 1e5 times its first term.
const LEFT_OUT: f64 = 1e-269;

impl Exact {
    /// Lists the total loss of each law used so many times, besides a Gaussian of ratio `gaussian`; or gives up.
    pub(super) fn list(uses: &[(Law, u64)], gaussian: f64) -> Option<Exact> {
        let (mut atoms, mut left_out) = (vec![Atom { loss: 0.0, mass: 1.0 }], 0.0);
        for (law, count) in uses {
            let (power, times) = match law {
                Law::Staircase { loss, steps } if *steps == 1.0 => (binomial(*loss, *count)?, 1),
                Law::Staircase { loss, steps } => (staircase(*loss, *steps)?, *count),
                Law::DiscreteGaussian { sigma, shift } => (discrete_gaussian(*sigma, *shift)?, *count),
                Law::Atoms(atoms) => (atoms.to_vec(), *count),
                Law::Gaussian { .. } => return None,
            };
            let whole = match law {
                Law::Staircase { steps, .. } if *steps == 1.0 => power.len() as u64 == count + 1,
                Law::DiscreteGaussian { .. } => false,
                _ => true,
            };
            left_out = if whole { left_out } else { LEFT_OUT };
            for _ in 0..times {
                // A single atom may be repeated without end and without growth.
                if atoms.len() * power.len() > LIMIT || (power.len() == 1 && times > LIMIT as u64) {
                    return None;
                }
                atoms = product(&atoms, &power);
            }
        }
        Some(Exact {
            atoms,
            gaussian,
            left_out,
        })
    }

    /// The probability that is not listed, to be charged as infinite loss.
    pub(super) fn left_out(&self) -> f64 {
        self.left_out
    }

    /// An upper bound on the hockey-stick divergence at `epsilon`, and minus its slope.
    pub(super) fn delta(&self, epsilon: f64) -> (f64, f64) {
        let (mut delta, mut slope) = (0.0, 0.0);
        for atom in &self.atoms {
            let (height, fall) = gaussian::delta(self.gaussian, epsilon - atom.loss);
            delta += atom.mass * height;
            slope += atom.mass * fall;
        }
        (delta * (1.0 + (self.atoms.len() + 8) as f64 * ULP), slope)
    }
}

/// Up by a few units, whatever the sign: the rounding of a product of few factors.
fn up(value: f64) -> f64 {
    value + value.abs() * 8.0 * ULP
}

fn product(left: &[Atom], right: &[Atom]) -> Vec<Atom> {
    let pairs = left.iter().flat_map(|a| right.iter().map(move |b| (a, b)));
    let join = |(a, b): (&Atom, &Atom)| Atom {
        loss: up(a.loss + b.loss),
        mass: up(a.mass * b.mass),
    };
    pairs.map(join).filter(|atom| atom.mass > 0.0).collect()
}

/// Atoms with the given logarithms of mass ratios to one among them, scaled to a total of 1. `slack` is how many units
/// each mass may be off by.
fn normalize(mut atoms: Vec<Atom>, slack: f64) -> Vec<Atom> {
    let total: f64 = atoms.iter().map(|atom| atom.mass).sum();
    let slack = 1.0 + (2.0 * slack + atoms.len() as f64 + 8.0) * ULP;
    atoms
        .iter_mut()
        .for_each(|atom| atom.mass = atom.mass / total * slack);
    atoms
}

/// Randomized response, `count` times: outward from the most probable number of truthful answers.
fn binomial(loss: f64, count: u64) -> Option<Vec<Atom>> {
    let odds = libm::exp(-loss);
    let uses = count as f64;
    if count > 1 << 40 {
        return None;
    }
    let mode = (uses / (1.0 + odds)).floor().min(uses);
    let at = |truths: f64, mass: f64| Atom {
        loss: up((2.0 * truths - uses) * loss),
        mass,
    };
    let mut atoms = vec![at(mode, 1.0)];
    let (mut truths, mut mass) = (mode, 1.0);
    while truths < uses {
        mass *= (uses - truths) / ((truths + 1.0) * odds);
        truths += 1.0;
        if mass < DUST {
            break;
        }
        atoms.push(at(truths, mass));
        if atoms.len() > LIMIT {
            return None;
        }
    }
    (truths, mass) = (mode, 1.0);
    while truths > 0.0 {
        mass *= truths * odds / (uses - truths + 1.0);
        truths -= 1.0;
        if mass < DUST {
            break;
        }
        atoms.push(at(truths, mass));
        if atoms.len() > LIMIT {
            return None;
        }
    }
    let slack = 8.0 * atoms.len() as f64;
    Some(normalize(atoms, slack))
}

/// One use of the discrete Laplace law.
fn staircase(loss: f64, steps: f64) -> Option<Vec<Atom>> {
    if steps > LIMIT as f64 {
        return None;
    }
    let step = loss / steps;
    let inner = -libm::expm1(-step);
    let atom = |x: u32| {
        let x = f64::from(x);
        let factor = if x == 0.0 || x == steps { 1.0 } else { inner };
        Atom {
            loss: up(loss - 2.0 * x * step) + 8.0 * ULP * loss,
            mass: factor * libm::exp(-x * step),
        }
    };
    Some(normalize(
        (0..=steps as u32).map(atom).collect(),
        16.0 + 4.0 * loss,
    ))
}

/// One use of the discrete Gaussian law.
fn discrete_gaussian(sigma: f64, shift: f64) -> Option<Vec<Atom>> {
    // exp(-36² / 2) is below the dust.
    let reach = (36.0 * sigma).ceil();
    if reach * 2.0 > LIMIT as f64 {
        return None;
    }
    let reach = reach as i32;
    let atom = |x: i32| {
        let x = f64::from(x);
        let loss = shift / sigma * ((shift - 2.0 * x) / (2.0 * sigma));
        Atom {
            loss: up(loss),
            mass: libm::exp(-(x / sigma) * (x / sigma) / 2.0),
        }
    };
    Some(normalize((-reach..=reach).map(atom).collect(), 8.0 * 650.0))
}
