//! A mechanism as the accountants see it: its law, or the cost that is claimed for it, and what each currency makes of
//! that.

use super::convert;
use super::discrete_gaussian::DiscreteGaussianCost;
use super::gaussian::GaussianCost;
use super::laplace::DiscreteLaplaceCost;
use super::number::{self, EPSILON_LIMIT, MARGIN};
use super::pld::{Bundle, Pair};
use super::renyi;
use crate::invalid::Invalid;

/// One mechanism, with parameters in range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccountedMechanism(MechanismKind);

#[derive(Clone, Copy, Debug, PartialEq)]
enum MechanismKind {
    Laplace { scale: f64, sensitivity: f64 },
    Gaussian { sigma: f64, sensitivity: f64, noise: GaussianCost },
    DiscreteLaplace(DiscreteLaplaceCost, u64),
    DiscreteGaussian(DiscreteGaussianCost, u64),
    Pure { epsilon: f64 },
    Approximate { epsilon: f64, delta: f64 },
    Zcdp { rho: f64 },
}

impl AccountedMechanism {
    /// Continuous Laplace noise.
    ///
    /// # Errors
    /// Names `scale` or `sensitivity` unless it is positive, and `scale` where epsilon would pass 500.
    pub fn laplace(scale: f64, sensitivity: f64) -> Result<AccountedMechanism, Invalid> {
        crate::invalid::positive("scale", scale)?;
        crate::invalid::positive("sensitivity", sensitivity)?;
        let remedy = "a scale from a 500th of the sensitivity to 2^40 times it";
        number::between("scale", sensitivity / scale, 1.0 / number::SCALE_LIMIT, EPSILON_LIMIT, remedy)?;
        Ok(AccountedMechanism(MechanismKind::Laplace { scale, sensitivity }))
    }

    /// Continuous Gaussian noise.
    ///
    /// # Errors
    /// Names `sigma` or `sensitivity` when it is out of range.
    pub fn gaussian(sigma: f64, sensitivity: f64) -> Result<AccountedMechanism, Invalid> {
        let noise = GaussianCost::new(sigma, sensitivity)?;
        Ok(AccountedMechanism(MechanismKind::Gaussian { sigma, sensitivity, noise }))
    }

    /// The library's own Laplace noise.
    ///
    /// # Errors
    /// As [`DiscreteLaplaceCost::new`].
    pub fn discrete_laplace(scale: f64, sensitivity: u64) -> Result<AccountedMechanism, Invalid> {
        Ok(AccountedMechanism(MechanismKind::DiscreteLaplace(
            DiscreteLaplaceCost::new(scale, sensitivity)?,
            sensitivity,
        )))
    }

    /// The library's own Gaussian noise.
    ///
    /// # Errors
    /// As [`DiscreteGaussianCost::new`].
    pub fn discrete_gaussian(sigma: f64, sensitivity: u64) -> Result<AccountedMechanism, Invalid> {
        Ok(AccountedMechanism(MechanismKind::DiscreteGaussian(
            DiscreteGaussianCost::new(sigma, sensitivity)?,
            sensitivity,
        )))
    }

    /// Any purely epsilon-private mechanism; randomised response is the worst of them.
    ///
    /// # Errors
    /// Names `epsilon` unless it is above 0 and at most 500.
    pub fn pure(epsilon: f64) -> Result<AccountedMechanism, Invalid> {
        Ok(AccountedMechanism(MechanismKind::Pure { epsilon: number::epsilon("epsilon", epsilon)? }))
    }

    /// Any (epsilon, delta)-private mechanism.
    ///
    /// # Errors
    /// Names `epsilon` or `delta` when it is out of range.
    pub fn approximate(epsilon: f64, delta: f64) -> Result<AccountedMechanism, Invalid> {
        let epsilon = number::epsilon("epsilon", epsilon)?;
        Ok(AccountedMechanism(MechanismKind::Approximate {
            epsilon,
            delta: number::probability("delta", delta)?,
        }))
    }

    /// Any rho-zCDP mechanism.
    ///
    /// # Errors
    /// Names `rho` unless it is above 0 and at most 500.
    pub fn zcdp(rho: f64) -> Result<AccountedMechanism, Invalid> {
        Ok(AccountedMechanism(MechanismKind::Zcdp { rho: number::rho("rho", rho)? }))
    }

    /// The probability that it sets aside for itself.
    pub(crate) fn delta(&self) -> f64 {
        if let MechanismKind::Approximate { delta, .. } = self.0 { delta } else { 0.0 }
    }

    /// Its epsilon, where it is known without any further delta.
    pub(crate) fn epsilon(&self) -> Option<f64> {
        match self.0 {
            MechanismKind::Laplace { scale, sensitivity } => Some((sensitivity / scale).next_up()),
            MechanismKind::DiscreteLaplace(noise, _) => Some(noise.epsilon_pure()),
            MechanismKind::Pure { epsilon } | MechanismKind::Approximate { epsilon, .. } => Some(epsilon),
            MechanismKind::Gaussian { .. }
            | MechanismKind::DiscreteGaussian(..)
            | MechanismKind::Zcdp { .. } => None,
        }
    }

    /// Its epsilon at a delta of its own; infinite past 500.
    pub(crate) fn epsilon_at(&self, delta: f64) -> f64 {
        let found = match self.0 {
            MechanismKind::Gaussian { noise, .. } => noise.epsilon(delta),
            MechanismKind::DiscreteGaussian(noise, _) => noise.epsilon(delta),
            MechanismKind::Zcdp { rho } => convert::epsilon_of_rho(rho, f64::INFINITY, delta),
            _ => return self.epsilon().unwrap_or(f64::INFINITY),
        };
        found.unwrap_or(f64::INFINITY)
    }

    /// Its zCDP cost, beside its delta.
    pub(crate) fn rho(&self) -> f64 {
        match self.0 {
            // The limit of the discrete law's, whose proof is with it: epsilon - 1 + e^-epsilon.
            MechanismKind::Laplace { scale, sensitivity } => {
                renyi::excess(-(sensitivity / scale)) * (1.0 + MARGIN)
            }
            MechanismKind::Gaussian { sigma, sensitivity, .. } => {
                (sensitivity / sigma).powi(2) / 2.0 * (1.0 + MARGIN)
            }
            MechanismKind::DiscreteLaplace(noise, _) => noise.rho(),
            MechanismKind::DiscreteGaussian(noise, _) => noise.rho(),
            MechanismKind::Pure { epsilon } | MechanismKind::Approximate { epsilon, .. } => {
                convert::rho_of_pure(epsilon)
            }
            MechanismKind::Zcdp { rho } => rho,
        }
    }

    /// Its divergence of one order, beside its delta.
    pub(crate) fn renyi(&self, order: f64) -> f64 {
        match self.0 {
            MechanismKind::Laplace { scale, sensitivity } => renyi::laplace(sensitivity / scale, order),
            MechanismKind::DiscreteLaplace(noise, _) => renyi::discrete_laplace(&noise, order),
            MechanismKind::Pure { epsilon } | MechanismKind::Approximate { epsilon, .. } => {
                renyi::pure(epsilon, order)
            }
            MechanismKind::Gaussian { .. }
            | MechanismKind::DiscreteGaussian(..)
            | MechanismKind::Zcdp { .. } => renyi::zcdp(self.rho(), order),
        }
    }

    /// A bundle with `count` uses of it more.
    ///
    /// # Errors
    /// Where the bundle has no room for them.
    pub(crate) fn join(&self, bundle: Bundle, count: u64) -> Result<Bundle, Invalid> {
        let pair = match self.0 {
            MechanismKind::Laplace { scale, sensitivity } => Pair::laplace(scale, sensitivity)?,
            MechanismKind::Gaussian { sigma, sensitivity, .. } => Pair::gaussian(sigma, sensitivity)?,
            MechanismKind::DiscreteLaplace(noise, sensitivity) => {
                Pair::discrete_laplace(noise.scale(), sensitivity)?
            }
            MechanismKind::DiscreteGaussian(noise, sensitivity) => {
                Pair::discrete_gaussian(noise.sigma(), sensitivity)?
            }
            MechanismKind::Pure { epsilon } => Pair::randomized_response(epsilon)?,
            MechanismKind::Approximate { epsilon, delta } => Pair::approximate(epsilon, delta)?,
            MechanismKind::Zcdp { rho } => return bundle.add_zcdp(rho * count as f64 * (1.0 + MARGIN)),
        };
        bundle.add(&pair, count)
    }
}
