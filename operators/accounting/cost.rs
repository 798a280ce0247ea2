//! The cost of one release: an amount with its adjacency.

use std::fmt;

use super::amount::PrivacyCost;
use super::number;
use super::renyi::Omega;
use super::units::BudgetUnits;
use crate::invalid::{Invalid, InvalidKind};

/// An amount about the neighbours for which it holds.
///
/// The amount is the price of removing (or replacing) all that a unit has in a window. A stretch of time may
/// hold a part of it: see [`partial`](ReleaseCost::partial).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReleaseCost {
    neighbours: Adjacency,
    amount: PrivacyCost,
    partial: Option<PrivacyCost>,
}

impl ReleaseCost {
    /// This amount, for these neighbours.
    pub fn new(neighbours: Adjacency, amount: PrivacyCost) -> ReleaseCost {
        ReleaseCost { neighbours, amount, partial: None }
    }

    /// The same with a price for the removal of a part of what a unit has in the window.
    ///
    /// # Errors
    /// [`InvalidKind::Mixed`] for another currency than the amount's.
    pub fn with_partial(self, partial: PrivacyCost) -> Result<ReleaseCost, Invalid> {
        let partial = partial.larger(&self.amount)?;
        Ok(ReleaseCost { partial: Some(partial), ..self })
    }

    /// The price of removing a part of what a unit has in the window, such as all before a moment: what a
    /// bound keeps of the rest may then be something else. Never less than the
    /// [`amount`](ReleaseCost::amount).
    ///
    /// Where none was stated it is that of two steps, as in [`replaced`](ReleaseCost::replaced): the unit
    /// goes, and comes back with less. A record has no parts, and a cost about replaced units covers what is
    /// left of one.
    ///
    /// # Errors
    /// [`InvalidKind::Mixed`] where none was stated and the currency has no price for two steps.
    pub fn partial(&self) -> Result<PrivacyCost, Invalid> {
        match (&self.partial, self.neighbours) {
            (Some(partial), _) => Ok(partial.clone()),
            (None, Adjacency { unit: PrivacyUnit::Person, relation: Relation::AddRemove }) => {
                let remedy = "a promise over a lifetime, or another mechanism: what it costs to remove a part of a person \
                              is not known in this currency";
                let replaced =
                    self.replaced().map_err(|_| Invalid::new("currency", InvalidKind::Mixed, remedy))?;
                Ok(replaced.amount)
            }
            _ => Ok(self.amount.clone()),
        }
    }

    /// The neighbours it speaks about.
    pub fn neighbours(&self) -> Adjacency {
        self.neighbours
    }

    /// Returns the amount.
    pub fn amount(&self) -> &PrivacyCost {
        &self.amount
    }

    /// This and `other`, both read from the same people's data.
    ///
    /// # Errors
    /// [`InvalidKind::Mixed`] for other neighbours or another currency, [`InvalidKind::Overflow`] from 2^64
    /// on.
    pub fn plus(&self, other: &ReleaseCost) -> Result<ReleaseCost, Invalid> {
        self.neighbours.same(other.neighbours)?;
        let partial = match (&self.partial, &other.partial) {
            (None, None) => None,
            _ => Some(self.partial()?.plus(&other.partial()?)?),
        };
        Ok(ReleaseCost { neighbours: self.neighbours, amount: self.amount.plus(&other.amount)?, partial })
    }

    /// Returns the cost of all of them together when each reads another part of a public partition of the
    /// protected units, so that a person (or record) is in one part alone, whatever it holds: the largest, or
    /// under [`Relation::Replace`] the two largest together, for a unit may leave one part and enter another.
    ///
    /// Keys and time spans do not partition people: what one person left in several of them adds up.
    ///
    /// # Errors
    /// [`InvalidKind::Empty`] for no cost at all, [`InvalidKind::Mixed`] for different neighbours or
    /// currencies.
    pub fn parallel(costs: &[ReleaseCost]) -> Result<ReleaseCost, Invalid> {
        let Some((first, rest)) = costs.split_first() else {
            return Err(Invalid::new("costs", InvalidKind::Empty, "at least one cost"));
        };
        let mut largest = first.amount.clone();
        // The second largest, part by part; nothing until there are two.
        let mut second: Option<PrivacyCost> = None;
        for cost in rest {
            first.neighbours.same(cost.neighbours)?;
            let below = largest.smaller(&cost.amount)?;
            second = Some(second.map_or(Ok(below.clone()), |second| second.larger(&below))?);
            largest = largest.larger(&cost.amount)?;
        }
        let amount = match (first.neighbours.relation, second) {
            (Relation::Replace, Some(second)) => largest.plus(&second)?,
            _ => largest,
        };
        Ok(ReleaseCost::new(first.neighbours, amount))
    }

    /// The same release's cost when a unit is replaced, from its cost when one is added or removed: two such
    /// steps. Pure epsilon doubles, rho quadruples (mu doubles), and (epsilon, delta) becomes `(2 epsilon, (1
    /// + e^epsilon) delta)`. A direct look at the sensitivity is usually cheaper.
    ///
    /// # Errors
    /// [`InvalidKind::Mixed`] where the relation is another, and for amounts that have no such bridge: Rényi
    /// curves, rho with a delta or with fewer than all orders.
    pub fn replaced(&self) -> Result<ReleaseCost, Invalid> {
        if self.neighbours.relation != Relation::AddRemove {
            return Err(Invalid::new("relation", InvalidKind::Mixed, "a cost about one unit more or less"));
        }
        let amount = match &self.amount {
            PrivacyCost::Pure { epsilon } => PrivacyCost::Pure { epsilon: epsilon.times("epsilon", 2)? },
            PrivacyCost::Approximate { epsilon, delta } => {
                let factor = 1.0 + epsilon.to_float_up().exp() * (1.0 + number::MARGIN);
                let delta = (delta.to_float_up() * factor * (1.0 + number::MARGIN)).min(1.0);
                PrivacyCost::Approximate {
                    epsilon: epsilon.times("epsilon", 2)?,
                    delta: BudgetUnits::at_least_float("delta", delta)?,
                }
            }
            PrivacyCost::Zcdp { rho, delta: BudgetUnits::ZERO, omega: Omega::EVERY } => {
                PrivacyCost::Zcdp { rho: rho.times("rho", 4)?, delta: BudgetUnits::ZERO, omega: Omega::EVERY }
            }
            PrivacyCost::Gaussian { rho, delta: BudgetUnits::ZERO } => {
                PrivacyCost::Gaussian { rho: rho.times("rho", 4)?, delta: BudgetUnits::ZERO }
            }
            PrivacyCost::Zcdp { .. } | PrivacyCost::Gaussian { .. } | PrivacyCost::Renyi(_) => {
                let remedy = "the cost of a replaced unit, worked out directly: this currency has no bridge";
                return Err(Invalid::new("currency", InvalidKind::Mixed, remedy));
            }
        };
        let neighbours = Adjacency { relation: Relation::Replace, ..self.neighbours };
        Ok(ReleaseCost::new(neighbours, amount))
    }
}

impl fmt::Display for ReleaseCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {}", self.amount, self.neighbours)
    }
}

// Who is protected, and against what change: every cost is a statement about one such pair of words.

/// The unit whose presence is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PrivacyUnit {
    /// Everything that one person did.
    Person,
    /// One record.
    Record,
}

impl fmt::Display for PrivacyUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PrivacyUnit::Person => "person",
            PrivacyUnit::Record => "record",
        })
    }
}

/// The relation of two data sets that must look alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// One unit is there or is not.
    AddRemove,
    /// One unit is exchanged for another; their number is public.
    Replace,
}

/// The neighbours that a cost speaks about. Costs about different neighbours are never added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Adjacency {
    /// The unit whose presence is hidden.
    pub unit: PrivacyUnit,
    /// The relation of two data sets that must look alike.
    pub relation: Relation,
}

impl Adjacency {
    /// One person more or less: the default of this library.
    pub const PERSON: Adjacency = Adjacency { unit: PrivacyUnit::Person, relation: Relation::AddRemove };
    /// One record more or less. Who has many is hidden less, by as many times.
    pub const RECORD: Adjacency = Adjacency { unit: PrivacyUnit::Record, relation: Relation::AddRemove };

    /// Refuses costs about other neighbours.
    pub(crate) fn same(self, other: Adjacency) -> Result<(), Invalid> {
        if self == other {
            return Ok(());
        }
        let field = if self.unit == other.unit { "relation" } else { "unit" };
        Err(Invalid::new(field, InvalidKind::Mixed, format!("costs about the same neighbours, here {self}")))
    }
}

impl fmt::Display for Adjacency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.unit;
        match self.relation {
            Relation::AddRemove => write!(f, "one {unit} more or less"),
            Relation::Replace => write!(f, "one {unit} replaced by another"),
        }
    }
}

#[cfg(test)]
mod tests;
