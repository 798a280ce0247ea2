//! A mechanism as the accountants see it: its law, or the cost that is claimed for it, and what each currency makes of
//! that.

use super::convert;
use super::discrete_gaussian::DiscreteGaussian;
use super::gaussian::Gaussian;
use super::laplace::DiscreteLaplace;
use super::number::{self, EPSILON_LIMIT, MARGIN};
use super::pld::{Bundle, Pair};
use super::renyi;
use crate::invalid::Invalid;

/// One mechanism, with parameters in range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mechanism(Law);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    Laplace { scale: f64, sensitivity: f64 },
    Gaussian { sigma: f64, sensitivity: f64, noise: Gaussian },
    DiscreteLaplace(DiscreteLaplace, u64),
    DiscreteGaussian(DiscreteGaussian, u64),
    Pure { epsilon: f64 },
    Approximate { epsilon: f64, delta: f64 },
    Zcdp { rho: f64 },
}

impl Mechanism {
    /// Continuous Laplace noise.
    ///
    /// # Errors
    /// Names `scale` or `sensitivity` unless it is positive, and `scale` where epsilon would pass 500.
    pub fn laplace(scale: f64, sensitivity: f64) -> Result<Mechanism, Invalid> {
        crate::invalid::positive("scale", scale)?;
        crate::invalid::positive("sensitivity", sensitivity)?;
        let remedy = "a scale from a 500th of the sensitivity to 2^40 times it";
        number::between("scale", sensitivity / scale, 1.0 / number::SCALE_LIMIT, EPSILON_LIMIT, remedy)?;
        Ok(Mechanism(Law::Laplace { scale, sensitivity }))
    }

    /// Continuous Gaussian noise.
    ///
    /// # Errors
    /// Names `sigma` or `sensitivity` when it is out of range.
    pub fn gaussian(sigma: f64, sensitivity: f64) -> Result<Mechanism, Invalid> {
        let noise = Gaussian::new(sigma, sensitivity)?;
        Ok(Mechanism(Law::Gaussian { sigma, sensitivity, noise }))
    }

    /// The library's own Laplace noise.
    ///
    /// # Errors
    /// As [`DiscreteLaplace::new`].
    pub fn discrete_laplace(scale: f64, sensitivity: u64) -> Result<Mechanism, Invalid> {
        Ok(Mechanism(Law::DiscreteLaplace(DiscreteLaplace::new(scale, sensitivity)?, sensitivity)))
    }

    /// The library's own Gaussian noise.
    ///
    /// # Errors
    /// As [`DiscreteGaussian::new`].
    pub fn discrete_gaussian(sigma: f64, sensitivity: u64) -> Result<Mechanism, Invalid> {
        Ok(Mechanism(Law::DiscreteGaussian(DiscreteGaussian::new(sigma, sensitivity)?, sensitivity)))
    }

    /// Any purely epsilon-private mechanism; randomised response is the worst of them.
    ///
    /// # Errors
    /// Names `epsilon` unless it is above 0 and at most 500.
    pub fn pure(epsilon: f64) -> Result<Mechanism, Invalid> {
        Ok(Mechanism(Law::Pure { epsilon: number::epsilon("epsilon", epsilon)? }))
    }

    /// Any (epsilon, delta)-private mechanism.
    ///
    /// # Errors
    /// Names `epsilon` or `delta` when it is out of range.
    pub fn approximate(epsilon: f64, delta: f64) -> Result<Mechanism, Invalid> {
        let epsilon = number::epsilon("epsilon", epsilon)?;
        Ok(Mechanism(Law::Approximate { epsilon, delta: number::probability("delta", delta)? }))
    }

    /// Any rho-zCDP mechanism.
    ///
    /// # Errors
    /// Names `rho` unless it is above 0 and at most 500.
    pub fn zcdp(rho: f64) -> Result<Mechanism, Invalid> {
        Ok(Mechanism(Law::Zcdp { rho: number::rho("rho", rho)? }))
    }

    /// The probability that it sets aside for itself.
    pub(crate) fn delta(&self) -> f64 {
        if let Law::Approximate { delta, .. } = self.0 { delta } else { 0.0 }
    }

    /// Its epsilon, where it is known without any further delta.
    pub(crate) fn epsilon(&self) -> Option<f64> {
        match self.0 {
            Law::Laplace { scale, sensitivity } => Some((sensitivity / scale).next_up()),
            Law::DiscreteLaplace(noise, _) => Some(noise.epsilon_pure()),
            Law::Pure { epsilon } | Law::Approximate { epsilon, .. } => Some(epsilon),
            Law::Gaussian { .. } | Law::DiscreteGaussian(..) | Law::Zcdp { .. } => None,
        }
    }

    /// Its epsilon at a delta of its own; infinite past 500.
    pub(crate) fn epsilon_at(&self, delta: f64) -> f64 {
        let found = match self.0 {
            Law::Gaussian { noise, .. } => noise.epsilon(delta),
            Law::DiscreteGaussian(noise, _) => noise.epsilon(delta),
            Law::Zcdp { rho } => convert::epsilon_of_rho(rho, f64::INFINITY, delta),
            _ => return self.epsilon().unwrap_or(f64::INFINITY),
        };
        found.unwrap_or(f64::INFINITY)
    }

    /// Its zCDP cost, beside its delta.
    pub(crate) fn rho(&self) -> f64 {
        match self.0 {
            // The limit of the discrete law's, whose proof is with it: epsilon - 1 + e^-epsilon.
            Law::Laplace { scale, sensitivity } => renyi::excess(-(sensitivity / scale)) * (1.0 + MARGIN),
            Law::Gaussian { sigma, sensitivity, .. } => (sensitivity / sigma).powi(2) / 2.0 * (1.0 + MARGIN),
            Law::DiscreteLaplace(noise, _) => noise.rho(),
            Law::DiscreteGaussian(noise, _) => noise.rho(),
            Law::Pure { epsilon } | Law::Approximate { epsilon, .. } => convert::rho_of_pure(epsilon),
            Law::Zcdp { rho } => rho,
        }
    }

    /// Its divergence of one order, beside its delta.
    pub(crate) fn renyi(&self, order: f64) -> f64 {
        match self.0 {
            Law::Laplace { scale, sensitivity } => renyi::laplace(sensitivity / scale, order),
            Law::DiscreteLaplace(noise, _) => renyi::discrete_laplace(&noise, order),
            Law::Pure { epsilon } | Law::Approximate { epsilon, .. } => renyi::pure(epsilon, order),
            Law::Gaussian { .. } | Law::DiscreteGaussian(..) | Law::Zcdp { .. } => {
                renyi::zcdp(self.rho(), order)
            }
        }
    }

    /// A bundle with `count` uses of it more.
    ///
    /// # Errors
    /// Where the bundle has no room for them.
    pub(crate) fn join(&self, bundle: Bundle, count: u64) -> Result<Bundle, Invalid> {
        let pair = match self.0 {
            Law::Laplace { scale, sensitivity } => Pair::laplace(scale, sensitivity)?,
            Law::Gaussian { sigma, sensitivity, .. } => Pair::gaussian(sigma, sensitivity)?,
            Law::DiscreteLaplace(noise, sensitivity) => Pair::discrete_laplace(noise.scale(), sensitivity)?,
            Law::DiscreteGaussian(noise, sensitivity) => Pair::discrete_gaussian(noise.sigma(), sensitivity)?,
            Law::Pure { epsilon } => Pair::randomized_response(epsilon)?,
            Law::Approximate { epsilon, delta } => Pair::approximate(epsilon, delta)?,
            Law::Zcdp { rho } => return bundle.add_zcdp(rho * count as f64 * (1.0 + MARGIN)),
        };
        bundle.add(&pair, count)
    }
}
