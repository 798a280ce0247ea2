//! What may be spent: one of three ways to say it, never two at once.

use super::number;
use crate::invalid::{Invalid, Kind};

/// A budget, in range and of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// Pure differential privacy.
    Pure {
        /// The bound of the privacy loss.
        epsilon: f64,
    },
    /// Differential privacy that may fail with a small probability.
    Approximate {
        /// The bound of the privacy loss.
        epsilon: f64,
        /// How much probability may lie beyond it.
        delta: f64,
    },
    /// Zero-concentrated differential privacy: every Rényi order `a` costs at most `a rho`.
    Zcdp {
        /// The cost.
        rho: f64,
    },
}

impl Budget {
    /// The budget that is meant by the parameters given: epsilon, epsilon with delta, or rho.
    ///
    /// # Errors
    /// Names the parameter that is out of range, missing, or given beside one that excludes it.
    pub fn new(epsilon: Option<f64>, delta: Option<f64>, rho: Option<f64>) -> Result<Budget, Invalid> {
        match (epsilon, delta, rho) {
            (Some(epsilon), None, None) => Budget::pure(epsilon),
            (Some(epsilon), Some(delta), None) => Budget::approximate(epsilon, delta),
            (None, None, Some(rho)) => Budget::zcdp(rho),
            (None, Some(_), None) => Err(Invalid::new("epsilon", Kind::Missing, "an epsilon beside delta")),
            (None, None, None) => {
                Err(Invalid::new("epsilon", Kind::Missing, "epsilon, epsilon and delta, or rho"))
            }
            (_, _, Some(_)) => Err(Invalid::new("rho", Kind::Mixed, "either rho, or epsilon and delta")),
        }
    }

    /// Pure epsilon.
    ///
    /// # Errors
    /// Names `epsilon` outside 0..=500.
    pub fn pure(epsilon: f64) -> Result<Budget, Invalid> {
        Ok(Budget::Pure { epsilon: number::epsilon("epsilon", epsilon)? })
    }

    /// Epsilon and delta.
    ///
    /// # Errors
    /// Names `epsilon` outside 0..=500 or `delta` outside 0..1.
    pub fn approximate(epsilon: f64, delta: f64) -> Result<Budget, Invalid> {
        let epsilon = number::epsilon("epsilon", epsilon)?;
        Ok(Budget::Approximate { epsilon, delta: number::probability("delta", delta)? })
    }

    /// Zero-concentrated.
    ///
    /// # Errors
    /// Names `rho` outside 0..=500.
    pub fn zcdp(rho: f64) -> Result<Budget, Invalid> {
        Ok(Budget::Zcdp { rho: number::rho("rho", rho)? })
    }
}
