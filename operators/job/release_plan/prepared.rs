//! Prepared release plans: each statistic with its mechanism.

use super::query::PreparedMaximum;
use super::{CellKey, ReleasePlan, WindowQuery};
use crate::accounting::{PrivacyCost, ReleaseCost};
use crate::invalid::{Invalid, InvalidKind};
use crate::job::config::{Job, NoiseKind};
use crate::ledger::Digest;
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::{
    BinarySearch, Exponential, Gaussian, Laplace, Largest, Maximum, Mean, Mechanism, Noised, NoisyMeans,
    NoisyTotals, Paid, PermuteAndFlip, PreparedQuantiles, Quantiles, Ranks, Ready, RunningTotal,
    RunningTotals, Sensitivity, Statistic, Total,
};

/// The noise distribution that a job file names, with its privacy cost.
#[derive(Clone, Debug)]
pub(crate) struct ConfiguredNoise {
    kind: NoiseKind,
    cost: PrivacyCost,
}

impl ConfiguredNoise {
    pub(super) fn new(kind: NoiseKind, cost: PrivacyCost) -> ConfiguredNoise {
        ConfiguredNoise { kind, cost }
    }
}

/// Returns the refusal of a combination that the reader of job files excludes.
fn unsupported_statistic() -> Invalid {
    Invalid::new("noise", InvalidKind::Mixed, "a law that this statistic has")
}

impl Sealed for ConfiguredNoise {}

impl Mechanism<Total<CellKey>> for ConfiguredNoise {
    type Prepared = NoisyTotals<CellKey>;

    fn ready(&self, total: &Total<CellKey>) -> Result<NoisyTotals<CellKey>, Invalid> {
        match self.kind {
            NoiseKind::Gaussian => Gaussian::cost(&self.cost).ready(total),
            NoiseKind::Laplace => Laplace::cost(&self.cost).ready(total),
            _ => Err(unsupported_statistic()),
        }
    }
}

impl Mechanism<RunningTotal<CellKey>> for ConfiguredNoise {
    type Prepared = RunningTotals<CellKey>;

    fn ready(&self, total: &RunningTotal<CellKey>) -> Result<RunningTotals<CellKey>, Invalid> {
        match self.kind {
            NoiseKind::Gaussian => Gaussian::cost(&self.cost).ready(total),
            _ => Err(unsupported_statistic()),
        }
    }
}

impl Mechanism<Mean<CellKey>> for ConfiguredNoise {
    type Prepared = NoisyMeans<CellKey>;

    fn ready(&self, mean: &Mean<CellKey>) -> Result<NoisyMeans<CellKey>, Invalid> {
        match self.kind {
            NoiseKind::Gaussian => Gaussian::cost(&self.cost).ready(mean),
            NoiseKind::Laplace => Laplace::cost(&self.cost).ready(mean),
            _ => Err(unsupported_statistic()),
        }
    }
}

impl Mechanism<Largest<CellKey, Maximum>> for ConfiguredNoise {
    type Prepared = PreparedMaximum;

    fn ready(&self, largest: &Largest<CellKey, Maximum>) -> Result<PreparedMaximum, Invalid> {
        match self.kind {
            NoiseKind::Gaussian => {
                BinarySearch::gaussian(&self.cost).ready(largest).map(PreparedMaximum::Searched)
            }
            NoiseKind::Laplace => {
                BinarySearch::laplace(&self.cost).ready(largest).map(PreparedMaximum::Searched)
            }
            NoiseKind::Exponential => {
                Exponential::cost(&self.cost).ready(largest).map(PreparedMaximum::Inverted)
            }
            NoiseKind::PermuteAndFlip => Err(unsupported_statistic()),
        }
    }
}

impl Mechanism<Quantiles<CellKey>> for ConfiguredNoise {
    type Prepared = PreparedQuantiles<CellKey>;

    fn ready(&self, quantiles: &Quantiles<CellKey>) -> Result<PreparedQuantiles<CellKey>, Invalid> {
        match self.kind {
            NoiseKind::Exponential => Exponential::cost(&self.cost).ready(quantiles),
            NoiseKind::PermuteAndFlip => PermuteAndFlip::cost(&self.cost).ready(quantiles),
            _ => Err(unsupported_statistic()),
        }
    }
}

/// A statistic with its mechanism.
#[derive(Clone, Debug)]
pub(crate) enum PreparedStatistic {
    /// A number for each key.
    Total(Box<Total<CellKey>>, Box<NoisyTotals<CellKey>>),
    /// A number for each key, added up over windows.
    Running(Box<RunningTotal<CellKey>>, Box<RunningTotals<CellKey>>),
    /// A mean for each key.
    Mean(Box<Mean<CellKey>>, Box<NoisyMeans<CellKey>>),
    /// The largest value for each key.
    Largest(Box<Largest<CellKey, Maximum>>, Box<PreparedMaximum>),
    /// Quantiles for each key.
    Quantiles(Box<Quantiles<CellKey>>, Box<PreparedQuantiles<CellKey>>),
}

/// Calls a method on the statistic, or on the mechanism, of every variant.
macro_rules! both {
    ($settled:expr, $statistic:pat, $ready:pat => $what:expr) => {
        match $settled {
            PreparedStatistic::Total($statistic, $ready) => $what,
            PreparedStatistic::Running($statistic, $ready) => $what,
            PreparedStatistic::Mean($statistic, $ready) => $what,
            PreparedStatistic::Largest($statistic, $ready) => $what,
            PreparedStatistic::Quantiles($statistic, $ready) => $what,
        }
    };
}

impl PreparedStatistic {
    /// Returns the sensitivity: the distance by which one protected unit moves the values of a window.
    pub(crate) fn sensitivity(&self) -> Sensitivity {
        both!(self, statistic, _ => statistic.sensitivity())
    }

    /// Returns the least noised number of people at which a key is released, with partition selection.
    pub(crate) fn threshold(&self) -> Option<i64> {
        both!(self, _, ready => ready.threshold())
    }

    /// Returns the noise of each released number.
    pub(crate) fn noise(&self) -> &[Noised] {
        both!(self, _, ready => ready.noise())
    }

    /// Returns the half-width of each number's interval; in people, if a rank is promised.
    pub(crate) fn reaches(&self) -> Vec<f64> {
        both!(self, _, ready => ready.reaches().to_vec())
    }

    /// Returns the number of people with the largest values of a key that are kept, if no more are.
    pub(crate) fn largest(&self) -> Option<usize> {
        both!(self, _, ready => ready.largest())
    }

    /// Returns a hash of every parameter that an answer depends on.
    pub(crate) fn parameters(&self) -> Digest {
        both!(self, _, ready => ready.parameters())
    }

    /// Returns the scope that the cost pays for: a window, or all windows.
    pub(crate) fn paid(&self) -> Paid {
        both!(self, _, ready => ready.paid())
    }

    /// Returns the cost of a window, or of all windows together.
    pub(crate) fn cost(&self) -> &ReleaseCost {
        both!(self, _, ready => ready.cost())
    }
}

impl ReleasePlan {
    /// Returns the tau with which the exponential mechanism would find the same largest value at the same
    /// price, from the job file alone; `None` for another statistic.
    pub(crate) fn tau_by_choice(&self, job: &Job) -> Option<u64> {
        let WindowQuery::Max(each, grid, keys) = &self.query else { return None };
        let limits = job.contribution_bound(self).ok()?;
        let largest = Largest::new(Maximum, *each, grid.clone(), limits, keys.clone()).ok()?;
        let ready = Exponential::cost(&self.noise.cost).ready(&largest).ok()?;
        match ready.noise().first()?.ranks()? {
            Ranks::Below { tau, .. } => Some(tau),
            _ => None,
        }
    }

    /// Prepares the statistic and its mechanism from the same parts as the dataflow does.
    pub(crate) fn prepare(&self, job: &Job) -> Result<PreparedStatistic, Invalid> {
        let limits = job.contribution_bound(self)?;
        let point = self.point();
        let total = match &self.query {
            WindowQuery::Count(keys) | WindowQuery::Histogram(_, _, keys) => {
                Total::count(limits, keys.clone())?
            }
            WindowQuery::People(keys) => Total::people(limits, keys.clone())?,
            WindowQuery::Sum(range, keys) => Total::sum(*range, limits, keys.clone())?.told_in(point),
            WindowQuery::Mean(range, keys) => {
                let mean = Mean::new(*range, limits, keys.clone())?.told_in(point);
                let ready = self.noise.ready(&mean)?;
                return Ok(PreparedStatistic::Mean(Box::new(mean), Box::new(ready)));
            }
            WindowQuery::Max(each, grid, keys) => {
                let largest =
                    Largest::new(Maximum, *each, grid.clone(), limits, keys.clone())?.told_in(point);
                let ready = self.noise.ready(&largest)?;
                return Ok(PreparedStatistic::Largest(Box::new(largest), Box::new(ready)));
            }
            WindowQuery::Quantiles(parts, grid, keys) => {
                let quantiles = Quantiles::new(parts.iter().copied(), grid.clone(), limits, keys.clone())?;
                let quantiles = quantiles.told_in(point);
                let ready = self.noise.ready(&quantiles)?;
                return Ok(PreparedStatistic::Quantiles(Box::new(quantiles), Box::new(ready)));
            }
        };
        if let Some(adding) = self.running {
            let total = adding.total(total)?;
            let ready = self.noise.ready(&total)?;
            return Ok(PreparedStatistic::Running(Box::new(total), Box::new(ready)));
        }
        let ready = self.noise.ready(&total)?;
        Ok(PreparedStatistic::Total(Box::new(total), Box::new(ready)))
    }
}
