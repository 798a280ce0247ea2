//! What each mechanism costs at each Rényi order `a > 1`: the divergence of that order between its outputs on
//! neighbours, in either direction, rounded up.
//!
//! Every formula here is arranged as a sum of positive terms, so that small costs keep their digits: with
//! `t = a - 1` and loss `L`, the divergence is `ln(1 + E[e^(tL) - 1]) / t`.

use super::laplace::DiscreteLaplaceCost;
use super::number::MARGIN;
use super::units::BudgetUnits;
use crate::invalid::{Invalid, InvalidKind};

/// Pure epsilon-privacy, tight: what randomised response costs.
pub fn pure(epsilon: f64, order: f64) -> f64 {
    let t = order - 1.0;
    if t * epsilon > 300.0 {
        // e^(t epsilon) would overflow, and e^(-t epsilon) no longer counts.
        return (epsilon - (-epsilon).exp().ln_1p() / t).max(0.0) * (1.0 + MARGIN);
    }
    // E[e^(tL)] - 1 = (cosh(t epsilon) - 1) + tanh(epsilon / 2) sinh(t epsilon).
    let half = (t * epsilon / 2.0).sinh();
    let excess = 2.0 * half * half + (epsilon / 2.0).tanh() * (t * epsilon).sinh();
    (excess.ln_1p() / t).min(epsilon) * (1.0 + MARGIN)
}

/// Continuous Laplace noise, `epsilon` = sensitivity over scale. Cheaper than the noise that is really drawn,
/// which is [`discrete_laplace`].
pub fn laplace(epsilon: f64, order: f64) -> f64 {
    let t = order - 1.0;
    if t * epsilon > 300.0 {
        return (epsilon + (order / (2.0 * t + 1.0)).ln() / t) * (1.0 + MARGIN);
    }
    // E[e^(tL)] - 1 = ((t+1) (e^(t epsilon) - 1) + t (e^(-(t+1) epsilon) - 1)) / (2t+1): the linear parts
    // cancel.
    let excess = ((t + 1.0) * excess(t * epsilon) + t * excess(-(t + 1.0) * epsilon)) / (2.0 * t + 1.0);
    (excess.ln_1p() / t).min(epsilon) * (1.0 + MARGIN)
}

/// Discrete Laplace noise, from the exact sum over the integers.
pub fn discrete_laplace(noise: &DiscreteLaplaceCost, order: f64) -> f64 {
    let (scale, shift, epsilon) = (noise.scale(), noise.sensitivity(), noise.epsilon_pure());
    // No order costs more than its share of rho, which has all its digits where the sum below has few.
    let share = order * noise.rho();
    if shift == 1.0 {
        return pure(epsilon, order).min(share);
    }
    let t = order - 1.0;
    // P[Z >= 0] at loss epsilon, P[Z <= -s] at -epsilon, and between them masses q^u at loss (s - 2u) / b.
    let q = (-1.0 / scale).exp();
    let step = (2.0 * t + 1.0) / scale;
    let between = (-1.0 / scale).exp_m1() / (1.0 + q) * (-step).exp() * (-(shift - 1.0) * step).exp_m1()
        / -(-step).exp_m1();
    let ends = (1.0 + (-(2.0 * t + 1.0) * epsilon).exp()) / (1.0 + q);
    // A dozen roundings of numbers below 1, each of 1.2e-16.
    let sum = epsilon + (ends + between + 1e-14).ln() / t;
    (sum.min(epsilon) * (1.0 + MARGIN)).min(share)
}

/// Any mechanism of zCDP cost `rho`.
pub fn zcdp(rho: f64, order: f64) -> f64 {
    rho * order * (1.0 + MARGIN)
}

/// `e^x - 1 - x`, without cancellation.
pub(crate) fn excess(x: f64) -> f64 {
    if x.abs() > 1.0 {
        return x.exp_m1() - x;
    }
    // x^2/2 (1 + x/3 (1 + x/4 (1 + ...))): the 20th factor is below 1e-18.
    (3..22).rev().fold(1.0, |rest, k| 1.0 + rest * x / f64::from(k)) * x * x / 2.0
}

// Rényi orders: the ones a curve is kept at, and the bound below which a cost speaks of all.

/// The orders at which Rényi curves are kept.
pub const ORDERS: [f64; 24] = [
    1.125, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0, 32.0, 48.0,
    64.0, 96.0, 128.0, 256.0, 512.0, 1024.0,
];

/// All Rényi orders above 1 and below this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Omega(BudgetUnits);

impl Omega {
    /// Every order.
    pub const EVERY: Omega = Omega(BudgetUnits::UNBOUNDED);

    /// The orders below `omega`, rounded down; infinity is every order.
    ///
    /// # Errors
    /// Names `omega` unless it is above 1.
    pub fn below(omega: f64) -> Result<Omega, Invalid> {
        if omega == f64::INFINITY {
            return Ok(Omega::EVERY);
        }
        if omega <= 1.0 {
            return Err(Invalid::new("omega", InvalidKind::TooSmall, "a number above 1"));
        }
        BudgetUnits::at_most_float("omega", omega).map(Omega)
    }

    /// The bound from its count of units, as a ledger stores it.
    pub(crate) const fn from_bits(bits: u128) -> Omega {
        Omega(BudgetUnits::from_bits(bits))
    }

    /// The count of units.
    pub(crate) const fn to_bits(self) -> u128 {
        self.0.to_bits()
    }

    /// The bound as a float, rounded down.
    pub fn to_float(self) -> f64 {
        if self == Omega::EVERY { f64::INFINITY } else { self.0.to_float_down() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(found: f64, truth: f64) {
        assert!(
            found >= truth * (1.0 - 1e-15) && found <= truth * (1.0 + 1e-9),
            "{found:e} is not {truth:e}"
        );
    }

    // At epsilon 1, order 2: randomised response .7353, continuous Laplace .6191; the difference is the
    // lattice's. The other values: 60-digit arithmetic of the textbook forms.
    #[test]
    fn curves_are_those_of_the_textbook() {
        close(pure(1.0, 2.0), 0.735325664055519);
        close(laplace(1.0, 2.0), 0.619123629998593);
        close(pure(1e-08, 2.0), 1.0e-16);
        close(laplace(1e-08, 2.0), 9.99999996666667e-17);
        close(pure(0.001, 1.000001), 5.00000458333213e-07);
        close(laplace(0.001, 1.000001), 4.9983387482496e-07);
        close(pure(5.0, 1.5), 4.9866601008202);
        close(laplace(5.0, 1.5), 4.42466612148726);
        close(pure(0.01, 40000.0), 0.00998279557787675);
        close(laplace(0.01, 40000.0), 0.00998267119976795);
        close(pure(2.0, 500.0), 1.99974563524841);
        close(laplace(2.0, 500.0), 1.99861293250456);
    }

    // One step is randomised response; a fine lattice is the continuous law, to a relative (step / scale)^2.
    #[test]
    fn the_lattice_law_lies_between_response_and_laplace() {
        for order in [1.001, 1.5, 2.0, 7.0, 64.0, 1e5] {
            let coarse = discrete_laplace(&DiscreteLaplaceCost::new(1.0, 1).unwrap(), order);
            close(coarse, pure(1.0, order));
            let fine = discrete_laplace(&DiscreteLaplaceCost::new(1e6, 1_000_000).unwrap(), order);
            assert!((fine / laplace(1.0, order) - 1.0).abs() < 1e-9);
            let middle = discrete_laplace(&DiscreteLaplaceCost::new(3.0, 3).unwrap(), order);
            assert!(laplace(1.0, order) < middle && middle < pure(1.0, order));
        }
    }

    // Refutes a lost digit or a missing term: the sum over the integers, term by term.
    #[test]
    fn the_closed_form_is_the_sum() {
        for (scale, shift, order) in
            [(2.0, 3u64, 2.0), (10.0, 25, 1.5), (0.7, 2, 9.0), (40.0, 3, 30.0), (5.0, 60, 4.0)]
        {
            let weight = |z: i64| (-(z.abs() as f64) / scale).exp();
            let reach = 60 * scale as i64 + 2 * shift as i64 + 60;
            let mass: f64 = (-reach..=reach).map(weight).sum();
            let loss = |z: i64| ((z + shift as i64).abs() - z.abs()) as f64 / scale;
            let sum: f64 = (-reach..=reach).map(|z| weight(z) / mass * ((order - 1.0) * loss(z)).exp()).sum();
            let found = discrete_laplace(&DiscreteLaplaceCost::new(scale, shift).unwrap(), order);
            let truth = sum.ln() / (order - 1.0);
            assert!(found >= truth * (1.0 - 1e-12) && found <= truth * (1.0 + 1e-9), "{found:e} {truth:e}");
        }
    }
}
