//! Privacy costs in five currencies, each with its own composition.
//!
//! | currency | adds up as | for |
//! |---|---|---|
//! | pure epsilon | sum | Laplace noise, where no delta is wanted |
//! | (epsilon, delta) | both sums (basic composition) | mechanisms known only by such a pair |
//! | zCDP (rho, delta, omega) | sums of rho and delta, least omega | **the ledger's own**: Gaussian noise and nearly all else |
//! | Rényi curve | sum at each of [`ORDERS`] | mechanisms far from both |
//! | Gaussian (mu^2 / 2, delta) | sums of both | Gaussian noise above all: [`gdp`](super::gdp) |
//!
//! Amounts of different currencies are never added; [`PrivacyCost::in_currency_of`] turns
//! one into another first where a theorem allows it. Every amount is rounded up when it is made.

use std::fmt;

use super::convert;
use super::gdp;
use super::number;
use super::renyi;
use super::renyi::{ORDERS, Omega};
use super::units::BudgetUnits;
use crate::invalid::{Invalid, InvalidKind};

/// A cost in one currency.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PrivacyCost {
    /// Pure epsilon.
    Pure {
        /// The bound of the privacy loss.
        epsilon: BudgetUnits,
    },
    /// Epsilon and delta.
    Approximate {
        /// The bound of the privacy loss.
        epsilon: BudgetUnits,
        /// The probability beyond it.
        delta: BudgetUnits,
    },
    /// Zero-concentrated: but for `delta`, every order `a` below `omega` costs at most `a rho`.
    Zcdp {
        /// The cost of each order, over the order.
        rho: BudgetUnits,
        /// The probability set aside.
        delta: BudgetUnits,
        /// The orders for which the bound holds.
        omega: Omega,
    },
    /// The divergence at each of [`ORDERS`].
    Renyi(Box<[BudgetUnits; ORDERS.len()]>),
    /// Gaussian differential privacy: but for `delta`, no easier to tell apart than two normal distributions
    /// of deviation 1 whose means are `mu` apart.
    Gaussian {
        /// Half the square of mu, which is the rho of zCDP that it proves.
        rho: BudgetUnits,
        /// The probability set aside.
        delta: BudgetUnits,
    },
}

impl PrivacyCost {
    /// Pure epsilon.
    ///
    /// # Errors
    /// Names `epsilon` unless it is above 0 and at most 500.
    pub fn pure(epsilon: f64) -> Result<PrivacyCost, Invalid> {
        let epsilon = number::epsilon("epsilon", epsilon)?;
        Ok(PrivacyCost::Pure { epsilon: BudgetUnits::at_least_float("epsilon", epsilon)? })
    }

    /// Epsilon and delta.
    ///
    /// # Errors
    /// Names the parameter that is out of range.
    pub fn approximate(epsilon: f64, delta: f64) -> Result<PrivacyCost, Invalid> {
        let epsilon = number::epsilon("epsilon", epsilon)?;
        let delta = number::probability("delta", delta)?;
        Ok(PrivacyCost::Approximate {
            epsilon: BudgetUnits::at_least_float("epsilon", epsilon)?,
            delta: BudgetUnits::at_least_float("delta", delta)?,
        })
    }

    /// Zero-concentrated, for every order and without delta.
    ///
    /// # Errors
    /// Names `rho` unless it is above 0 and at most 500.
    pub fn zcdp(rho: f64) -> Result<PrivacyCost, Invalid> {
        Self::approximate_zcdp(rho, Omega::EVERY, None)
    }

    /// Zero-concentrated for orders below `omega`, beside a `delta` where one is given.
    ///
    /// # Errors
    /// Names the parameter that is out of range.
    pub fn approximate_zcdp(rho: f64, omega: Omega, delta: Option<f64>) -> Result<PrivacyCost, Invalid> {
        let rho = number::rho("rho", rho)?;
        let delta = delta.map_or(Ok(0.0), |delta| number::probability("delta", delta))?;
        Ok(PrivacyCost::Zcdp {
            rho: BudgetUnits::at_least_float("rho", rho)?,
            delta: BudgetUnits::at_least_float("delta", delta)?,
            omega,
        })
    }

    /// A Rényi curve, such as those of [`renyi`]; infinity where it has no bound.
    ///
    /// # Errors
    /// Names `curve` where it is negative or no number.
    pub fn renyi(curve: impl Fn(f64) -> f64) -> Result<PrivacyCost, Invalid> {
        let mut values = Box::new([BudgetUnits::UNBOUNDED; ORDERS.len()]);
        for (value, order) in values.iter_mut().zip(ORDERS) {
            let cost = curve(order);
            if cost < f64::INFINITY {
                *value = BudgetUnits::at_least_float("curve", cost)?;
            } else if cost.is_nan() {
                return Err(Invalid::new(
                    "curve",
                    InvalidKind::Nan,
                    "a number of zero or more at every order",
                ));
            }
        }
        Ok(PrivacyCost::Renyi(values))
    }

    /// Gaussian noise of standard deviation `sensitivity / mu`: continuous, or rounded to whole numbers.
    ///
    /// # Errors
    /// Names `mu` unless it is above 0 and at most 500.
    pub fn gaussian(mu: f64) -> Result<PrivacyCost, Invalid> {
        let mu = BudgetUnits::at_least_float("mu", number::epsilon("mu", mu)?)?;
        Ok(PrivacyCost::Gaussian { rho: half(mu.squared("mu")?), delta: BudgetUnits::ZERO })
    }

    /// Returns rho and delta of a cost in zCDP or in Gaussian differential privacy.
    pub fn rho_and_delta(&self) -> Option<(BudgetUnits, BudgetUnits)> {
        match self {
            PrivacyCost::Zcdp { rho, delta, .. } | PrivacyCost::Gaussian { rho, delta } => {
                Some((*rho, *delta))
            }
            _ => None,
        }
    }

    /// Returns a cost of this rho and delta, of every order, in the same one of the two currencies that have
    /// both; in zCDP for any other.
    #[cfg(feature = "cli")]
    pub(crate) fn alike(&self, rho: BudgetUnits, delta: BudgetUnits) -> PrivacyCost {
        match self {
            PrivacyCost::Gaussian { .. } => PrivacyCost::Gaussian { rho, delta },
            _ => PrivacyCost::Zcdp { rho, delta, omega: Omega::EVERY },
        }
    }

    /// This much and `other`, by the currency's own composition.
    ///
    /// # Errors
    /// [`InvalidKind::Mixed`] for another currency, [`InvalidKind::Overflow`] from 2^64 on.
    pub fn plus(&self, other: &PrivacyCost) -> Result<PrivacyCost, Invalid> {
        self.joined(other, |field, a, b| a.plus(field, b))
    }

    /// This much, `count` times.
    ///
    /// # Errors
    /// [`InvalidKind::Zero`] for a count of 0, [`InvalidKind::Overflow`] from 2^64 on.
    pub fn times(&self, count: u64) -> Result<PrivacyCost, Invalid> {
        if count == 0 {
            return Err(Invalid::new("count", InvalidKind::Zero, "a whole number above 0"));
        }
        self.joined(self, |field, a, _| a.times(field, count))
    }

    /// Whichever is more, part by part.
    ///
    /// # Errors
    /// [`InvalidKind::Mixed`] for another currency.
    pub fn larger(&self, other: &PrivacyCost) -> Result<PrivacyCost, Invalid> {
        self.joined(other, |_, a, b| Ok(a.max(b)))
    }

    /// Returns the remainder after a part that it contains is subtracted.
    pub(crate) fn less(&self, part: &PrivacyCost) -> Result<PrivacyCost, Invalid> {
        self.joined(part, |field, all, part| all.minus(field, part))
    }

    /// Whichever is less, part by part.
    pub(crate) fn smaller(&self, other: &PrivacyCost) -> Result<PrivacyCost, Invalid> {
        self.joined(other, |_, a, b| Ok(a.min(b)))
    }

    /// No part is above the limit's, and no order that the limit speaks of is left out.
    pub fn within(&self, limit: &PrivacyCost) -> bool {
        let orders = match (self, limit) {
            (PrivacyCost::Zcdp { omega, .. }, PrivacyCost::Zcdp { omega: all, .. }) => omega >= all,
            _ => true,
        };
        let exceeds = |field, spent: BudgetUnits, limit| {
            if spent <= limit { Ok(spent) } else { Err(Invalid::new(field, InvalidKind::TooLarge, "less")) }
        };
        orders && self.joined(limit, exceeds).is_ok()
    }

    /// Returns each parameter with its name, rounded up; none of a Rényi curve. They are to be read: decisions are made in
    /// integers.
    pub fn parameters(&self) -> Vec<(&'static str, f64)> {
        match self {
            PrivacyCost::Pure { epsilon } => vec![("epsilon", epsilon.to_float_up())],
            PrivacyCost::Approximate { epsilon, delta } => {
                vec![("epsilon", epsilon.to_float_up()), ("delta", delta.to_float_up())]
            }
            PrivacyCost::Zcdp { rho, delta, .. } | PrivacyCost::Gaussian { rho, delta } => {
                vec![("rho", rho.to_float_up()), ("delta", delta.to_float_up())]
            }
            PrivacyCost::Renyi(_) => Vec::new(),
        }
    }

    /// Returns the part of a cap that this is: of several parameters, the largest. `None` where the two are in different
    /// currencies, or in one without parameters.
    pub fn part_of(&self, cap: &PrivacyCost) -> Option<f64> {
        let (spent, cap) = (self.parameters(), cap.parameters());
        let alike = spent.len() == cap.len() && spent.iter().zip(&cap).all(|(a, b)| a.0 == b.0);
        let parts =
            spent.iter().zip(&cap).filter(|(_, (_, cap))| *cap > 0.0).map(|(spent, cap)| spent.1 / cap.1);
        parts.reduce(f64::max).filter(|part| alike && part.is_finite())
    }

    /// Nothing, in the same currency and for the same orders.
    pub(crate) fn nothing(&self) -> PrivacyCost {
        match self {
            PrivacyCost::Pure { .. } => PrivacyCost::Pure { epsilon: BudgetUnits::ZERO },
            PrivacyCost::Approximate { .. } => {
                PrivacyCost::Approximate { epsilon: BudgetUnits::ZERO, delta: BudgetUnits::ZERO }
            }
            PrivacyCost::Zcdp { omega, .. } => {
                PrivacyCost::Zcdp { rho: BudgetUnits::ZERO, delta: BudgetUnits::ZERO, omega: *omega }
            }
            PrivacyCost::Renyi(_) => PrivacyCost::Renyi(Box::new([BudgetUnits::ZERO; ORDERS.len()])),
            PrivacyCost::Gaussian { .. } => {
                PrivacyCost::Gaussian { rho: BudgetUnits::ZERO, delta: BudgetUnits::ZERO }
            }
        }
    }

    /// The same cost, expressed in the currency of `target`: pure and (epsilon, delta) costs become zCDP by
    /// `epsilon tanh(epsilon / 2)` and Gaussian by [`gdp::mu_of_pure`](super::gdp::mu_of_pure), Gaussian ones
    /// zCDP by `mu^2 / 2`; pure, Gaussian and zCDP costs have Rényi curves.
    ///
    /// # Errors
    /// [`InvalidKind::Mixed`] where no theorem leads from one to the other, or only at a loss that is better
    /// seen.
    pub fn in_currency_of(&self, target: &PrivacyCost) -> Result<PrivacyCost, Invalid> {
        match (self, target) {
            (PrivacyCost::Pure { epsilon }, PrivacyCost::Approximate { .. }) => {
                Ok(PrivacyCost::Approximate { epsilon: *epsilon, delta: BudgetUnits::ZERO })
            }
            (PrivacyCost::Pure { epsilon }, PrivacyCost::Zcdp { .. }) => {
                pure_as_zcdp(*epsilon, BudgetUnits::ZERO)
            }
            (PrivacyCost::Approximate { epsilon, delta }, PrivacyCost::Zcdp { .. }) => {
                pure_as_zcdp(*epsilon, *delta)
            }
            (PrivacyCost::Gaussian { rho, delta }, PrivacyCost::Zcdp { .. }) => {
                Ok(PrivacyCost::Zcdp { rho: *rho, delta: *delta, omega: Omega::EVERY })
            }
            (PrivacyCost::Pure { epsilon }, PrivacyCost::Gaussian { .. }) => {
                pure_as_gaussian(*epsilon, BudgetUnits::ZERO)
            }
            (PrivacyCost::Approximate { epsilon, delta }, PrivacyCost::Gaussian { .. }) => {
                pure_as_gaussian(*epsilon, *delta)
            }
            (PrivacyCost::Zcdp { .. }, PrivacyCost::Gaussian { .. }) => {
                let remedy = "a cost in Gaussian mu or pure epsilon, for rho alone bounds no mu; or an account in zCDP";
                Err(Invalid::new("currency", InvalidKind::Mixed, remedy))
            }
            (PrivacyCost::Pure { epsilon }, PrivacyCost::Renyi(_)) => {
                let epsilon = epsilon.to_float_up();
                PrivacyCost::renyi(|order| renyi::pure(epsilon, order))
            }
            (PrivacyCost::Gaussian { rho, delta: BudgetUnits::ZERO }, PrivacyCost::Renyi(_)) => {
                curve_of(*rho, Omega::EVERY)
            }
            (PrivacyCost::Zcdp { rho, delta: BudgetUnits::ZERO, omega }, PrivacyCost::Renyi(_)) => {
                curve_of(*rho, *omega)
            }
            _ => self.joined(target, |_, a, _| Ok(a)),
        }
    }

    /// The least epsilon at `delta` that this amount proves, rounded up.
    ///
    /// # Errors
    /// Names `delta` when it is no probability, or leaves nothing beside the delta already spent.
    pub fn epsilon(&self, delta: f64) -> Result<f64, Invalid> {
        let delta = number::probability("delta", delta)?;
        match self {
            PrivacyCost::Pure { epsilon } => Ok(epsilon.to_float_up()),
            PrivacyCost::Approximate { epsilon, delta: spent } if spent.to_float_up() <= delta => {
                Ok(epsilon.to_float_up())
            }
            PrivacyCost::Zcdp { rho, delta: spent, omega } if spent.to_float_up() < delta => {
                let rho = rho.to_float_up();
                let left = (delta - spent.to_float_up()).next_down();
                convert::epsilon_of_renyi(|order| rho * order, omega.to_float(), left)
            }
            PrivacyCost::Gaussian { rho, delta: spent } if spent.to_float_up() < delta => {
                let left = (delta - spent.to_float_up()).next_down();
                match gdp::mu_of_rho(*rho) {
                    0.0 => Ok(0.0),
                    mu => super::GaussianCost::new(1.0, mu)?.epsilon(left),
                }
            }
            PrivacyCost::Approximate { .. } | PrivacyCost::Zcdp { .. } | PrivacyCost::Gaussian { .. } => Err(
                Invalid::new("delta", InvalidKind::TooSmall, "a delta above the one that is spent already"),
            ),
            PrivacyCost::Renyi(values) => {
                let bounds = ORDERS.iter().zip(values.iter());
                let bounds =
                    bounds.map(|(&order, cost)| convert::epsilon_at(order, cost.to_float_up(), delta));
                Ok(bounds.fold(f64::INFINITY, f64::min).max(0.0))
            }
        }
    }

    /// The currency, in words.
    pub fn currency(&self) -> &'static str {
        match self {
            PrivacyCost::Pure { .. } => "pure epsilon",
            PrivacyCost::Approximate { .. } => "epsilon and delta",
            PrivacyCost::Zcdp { .. } => "rho",
            PrivacyCost::Renyi(_) => "a Rényi curve",
            PrivacyCost::Gaussian { .. } => "Gaussian rho",
        }
    }

    /// The two amounts in one currency, part by part.
    fn joined(
        &self,
        other: &PrivacyCost,
        join: impl Fn(&'static str, BudgetUnits, BudgetUnits) -> Result<BudgetUnits, Invalid>,
    ) -> Result<PrivacyCost, Invalid> {
        match (self, other) {
            (PrivacyCost::Pure { epsilon: a }, PrivacyCost::Pure { epsilon: b }) => {
                Ok(PrivacyCost::Pure { epsilon: join("epsilon", *a, *b)? })
            }
            (
                PrivacyCost::Approximate { epsilon: a, delta: c },
                PrivacyCost::Approximate { epsilon: b, delta: d },
            ) => Ok(PrivacyCost::Approximate {
                epsilon: join("epsilon", *a, *b)?,
                delta: join("delta", *c, *d)?,
            }),
            (
                PrivacyCost::Zcdp { rho: a, delta: c, omega: e },
                PrivacyCost::Zcdp { rho: b, delta: d, omega: f },
            ) => Ok(PrivacyCost::Zcdp {
                rho: join("rho", *a, *b)?,
                delta: join("delta", *c, *d)?,
                omega: *e.min(f),
            }),
            (PrivacyCost::Renyi(a), PrivacyCost::Renyi(b)) => {
                let mut values = a.clone();
                for (value, b) in values.iter_mut().zip(b.iter()) {
                    *value = join("curve", *value, *b)?;
                }
                Ok(PrivacyCost::Renyi(values))
            }
            (PrivacyCost::Gaussian { rho: a, delta: c }, PrivacyCost::Gaussian { rho: b, delta: d }) => {
                Ok(PrivacyCost::Gaussian { rho: join("rho", *a, *b)?, delta: join("delta", *c, *d)? })
            }
            _ => {
                let remedy = format!("a cost in {}, or one that becomes it by a theorem", self.currency());
                Err(Invalid::new("currency", InvalidKind::Mixed, remedy))
            }
        }
    }
}

fn pure_as_zcdp(epsilon: BudgetUnits, delta: BudgetUnits) -> Result<PrivacyCost, Invalid> {
    let rho = convert::rho_of_pure(epsilon.to_float_up());
    Ok(PrivacyCost::Zcdp { rho: BudgetUnits::at_least_float("rho", rho)?, delta, omega: Omega::EVERY })
}

fn pure_as_gaussian(epsilon: BudgetUnits, delta: BudgetUnits) -> Result<PrivacyCost, Invalid> {
    if epsilon == BudgetUnits::ZERO {
        return Ok(PrivacyCost::Gaussian { rho: BudgetUnits::ZERO, delta });
    }
    Ok(PrivacyCost::Gaussian { rho: gdp::rho_of_mu(gdp::mu_of_pure(epsilon.to_float_up())?)?, delta })
}

fn curve_of(rho: BudgetUnits, omega: Omega) -> Result<PrivacyCost, Invalid> {
    let (rho, omega) = (rho.to_float_up(), omega.to_float());
    PrivacyCost::renyi(|order| if order < omega { renyi::zcdp(rho, order) } else { f64::INFINITY })
}

fn half(amount: BudgetUnits) -> BudgetUnits {
    BudgetUnits::from_bits(amount.to_bits().div_ceil(2))
}

impl fmt::Display for PrivacyCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let beside = |f: &mut fmt::Formatter<'_>, delta: &BudgetUnits| match *delta {
            BudgetUnits::ZERO => Ok(()),
            delta => write!(f, ", delta {delta}"),
        };
        match self {
            PrivacyCost::Pure { epsilon } => write!(f, "epsilon {epsilon}"),
            PrivacyCost::Approximate { epsilon, delta } => {
                write!(f, "epsilon {epsilon}").and_then(|()| beside(f, delta))
            }
            PrivacyCost::Zcdp { rho, delta, omega } => {
                write!(f, "rho {rho}").and_then(|()| beside(f, delta))?;
                if *omega == Omega::EVERY { Ok(()) } else { write!(f, ", omega {}", omega.to_float()) }
            }
            PrivacyCost::Renyi(values) => write!(f, "a Rényi curve, {} at order 2", values[4]),
            PrivacyCost::Gaussian { rho, delta } => {
                write!(f, "Gaussian rho {rho}").and_then(|()| beside(f, delta))
            }
        }
    }
}
