//! Noise that is added to each cell of a vector: found for a cost and a sensitivity, proved again in integers.

use dashu_int::UBig;

use super::sensitivity::Sensitivity;
use super::spend::Spend;
use crate::accounting::{self, BudgetUnits};
use crate::invalid::{Invalid, InvalidKind};
use crate::noise::{self, NoiseDistribution, NoiseSource, Ratio};

/// Which law the noise follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Discrete Gaussian; its scale is sigma.
    Gaussian,
    /// Discrete Laplace; its scale is `b`, the standard deviation over the root of 2.
    Laplace,
}

impl Family {
    /// The name, as it is published: that all noise here is discrete goes without saying.
    pub fn name(self) -> &'static str {
        match self {
            Family::Gaussian => "gaussian",
            Family::Laplace => "laplace",
        }
    }
}

/// Independent noise on every cell of a vector, within a cost.
#[derive(Clone, Debug)]
pub(super) struct Additive(Priced);

#[derive(Clone, Debug)]
enum Priced {
    Gaussian(accounting::DiscreteGaussianCost, noise::DiscreteGaussian),
    Laplace(accounting::DiscreteLaplaceCost, noise::DiscreteLaplace),
}

impl Additive {
    /// The smallest noise, rounded up to 12 digits, for which a vector of this sensitivity costs no more than `spend`.
    ///
    /// Gaussian: `rho = L2^2 / 2 sigma^2`. Laplace: pure `epsilon = L1 / b`, and in zCDP the sum over the `L0` cells of
    /// what each costs when it moves by `Linf`.
    pub(super) fn within(family: Family, spend: Spend, moved: &Sensitivity) -> Result<Additive, Invalid> {
        let most = |value: u128| {
            let remedy = "a bound by which one person moves the answer by at most 2^40";
            u64::try_from(value).map_err(|_| Invalid::new("sensitivity", InvalidKind::TooLarge, remedy))
        };
        match (family, spend) {
            (Family::Gaussian, Spend::Pure(_)) => {
                let remedy =
                    "rho, or epsilon with a delta: Gaussian noise has no pure epsilon; Laplace noise has";
                Err(Invalid::new("delta", InvalidKind::Missing, remedy))
            }
            (Family::Gaussian, Spend::Rho(rho)) => {
                // Every vector here moves by Linf in each of L0 cells, and cells add up.
                let price =
                    accounting::DiscreteGaussianCost::for_rho(a_cell(rho, moved), most(moved.linf())?)?;
                let law = noise::DiscreteGaussian::with_sigma(price.sigma())?;
                if !gaussian_holds(rho, moved.l2_squared(), law.variance()) {
                    return Err(unproved("rho"));
                }
                Ok(Additive(Priced::Gaussian(price, law)))
            }
            (Family::Laplace, Spend::Pure(epsilon)) => {
                let price =
                    accounting::DiscreteLaplaceCost::for_epsilon(epsilon.to_float_down(), most(moved.l1())?)?;
                let law = noise::DiscreteLaplace::new(price.scale())?;
                if !laplace_holds(epsilon, moved.l1(), law.scale()) {
                    return Err(unproved("epsilon"));
                }
                Ok(Additive(Priced::Laplace(price, law)))
            }
            (Family::Laplace, Spend::Rho(rho)) => {
                let price =
                    accounting::DiscreteLaplaceCost::for_rho(a_cell(rho, moved), most(moved.linf())?)?;
                let law = noise::DiscreteLaplace::new(price.scale())?;
                Ok(Additive(Priced::Laplace(price, law)))
            }
        }
    }

    /// `count` draws, in order.
    pub(super) fn draws(&self, count: usize, noise: &mut NoiseSource) -> Vec<i64> {
        let mut values = vec![0; count];
        match &self.0 {
            Priced::Gaussian(_, law) => law.fill(noise, &mut values),
            Priced::Laplace(_, law) => law.fill(noise, &mut values),
        }
        values
    }

    /// The least `w` with `P[|noise| <= w] >= confidence`.
    pub(super) fn half_width(&self, confidence: f64) -> Result<u64, Invalid> {
        match &self.0 {
            Priced::Gaussian(price, _) => price.interval(confidence),
            Priced::Laplace(price, _) => price.interval(confidence),
        }
    }

    /// `P[noise >= at]`, rounded up.
    pub(super) fn tail(&self, at: i64) -> f64 {
        match &self.0 {
            Priced::Gaussian(price, _) => price.tail(at),
            Priced::Laplace(price, _) => price.tail(at),
        }
    }

    /// The standard deviation of a draw, or a little more.
    pub(super) fn deviation(&self) -> f64 {
        match &self.0 {
            Priced::Gaussian(price, _) => price.sigma(),
            // That of a whole-numbered draw is below that of a real one.
            Priced::Laplace(price, _) => price.scale() * std::f64::consts::SQRT_2,
        }
    }

    pub(super) fn family(&self) -> Family {
        match &self.0 {
            Priced::Gaussian(..) => Family::Gaussian,
            Priced::Laplace(..) => Family::Laplace,
        }
    }

    /// Sigma or `b`.
    pub(super) fn scale(&self) -> f64 {
        match &self.0 {
            Priced::Gaussian(price, _) => price.sigma(),
            Priced::Laplace(price, _) => price.scale(),
        }
    }
}

/// What each of the changed cells may cost, rounded down.
fn a_cell(rho: BudgetUnits, moved: &Sensitivity) -> f64 {
    let (all, cells) = (rho.to_float_down(), moved.l0() as f64);
    let cell = all / cells;
    // At most 2^31 cells, exact in a float; a fused product has the sign of the exact one.
    if cell.mul_add(cells, -all) <= 0.0 { cell } else { cell.next_down() }
}

/// `l2^2 / 2 variance <= rho`, exactly.
pub(super) fn gaussian_holds(rho: BudgetUnits, l2_squared: u128, variance: Ratio) -> bool {
    let cost = (UBig::from(l2_squared) * UBig::from(variance.denominator())) << 63;
    cost <= UBig::from(rho.to_bits()) * UBig::from(variance.numerator())
}

/// `l1 / scale <= epsilon`, exactly.
fn laplace_holds(epsilon: BudgetUnits, l1: u128, scale: Ratio) -> bool {
    let cost = (UBig::from(l1) * UBig::from(scale.denominator())) << 64;
    cost <= UBig::from(epsilon.to_bits()) * UBig::from(scale.numerator())
}

fn unproved(field: &'static str) -> Invalid {
    Invalid::new(
        field,
        InvalidKind::TooSmall,
        "more budget: no noise of 12 digits was found to keep within it",
    )
}

#[cfg(test)]
mod tests;
