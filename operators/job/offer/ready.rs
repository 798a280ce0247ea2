//! An offer made ready: its statistic with the noise that it asks for.

use super::{Asking, CellKey, Offer};
use crate::invalid::Invalid;
use crate::job::config::Job;
use crate::mechanisms::{
    Gaussian, Laplace, Mean, Mechanism, NoisyMeans, NoisyTotals, Sensitivity, Statistic, Total,
};

/// The law of the noise, whichever a job file names.
#[derive(Clone, Debug)]
pub(crate) enum Law {
    /// Discrete Gaussian.
    Gaussian(Gaussian),
    /// Discrete Laplace.
    Laplace(Laplace),
}

impl Mechanism<Total<CellKey>> for Law {
    type Ready = NoisyTotals<CellKey>;

    fn ready(&self, total: &Total<CellKey>) -> Result<NoisyTotals<CellKey>, Invalid> {
        match self {
            Law::Gaussian(law) => law.ready(total),
            Law::Laplace(law) => law.ready(total),
        }
    }
}

impl Mechanism<Mean<CellKey>> for Law {
    type Ready = NoisyMeans<CellKey>;

    fn ready(&self, mean: &Mean<CellKey>) -> Result<NoisyMeans<CellKey>, Invalid> {
        match self {
            Law::Gaussian(law) => law.ready(mean),
            Law::Laplace(law) => law.ready(mean),
        }
    }
}

/// A statistic with its mechanism.
#[derive(Clone, Debug)]
pub(crate) enum Settled {
    /// A number a key.
    Total(Box<Total<CellKey>>, Box<NoisyTotals<CellKey>>),
    /// A mean a key.
    Mean(Box<Mean<CellKey>>, Box<NoisyMeans<CellKey>>),
}

impl Settled {
    /// How far one protected unit moves a window.
    pub(crate) fn sensitivity(&self) -> Sensitivity {
        match self {
            Settled::Total(total, _) => total.sensitivity(),
            Settled::Mean(mean, _) => mean.sensitivity(),
        }
    }

    /// The least noised number of people with which a key becomes public, where keys are discovered.
    pub(crate) fn threshold(&self) -> Option<i64> {
        match self {
            Settled::Total(_, ready) => ready.threshold(),
            Settled::Mean(_, ready) => ready.threshold(),
        }
    }

    /// What a window costs.
    #[cfg(test)]
    pub(crate) fn cost(&self) -> &crate::accounting::Cost {
        use crate::mechanisms::Ready;
        match self {
            Settled::Total(_, ready) => ready.cost(),
            Settled::Mean(_, ready) => ready.cost(),
        }
    }
}

impl Offer {
    /// The statistic and its mechanism, as a dataflow makes them of the same parts.
    pub(crate) fn settled(&self, job: &Job) -> Result<Settled, Invalid> {
        let limits = job.limits(self)?;
        let point = self.point();
        let total = match &self.asking {
            Asking::Count(keys) | Asking::Histogram(_, _, keys) => Total::count(limits, keys.clone())?,
            Asking::People(keys) => Total::people(limits, keys.clone())?,
            Asking::Sum(range, keys) => Total::sum(*range, limits, keys.clone())?.told_in(point),
            Asking::Mean(range, keys) => {
                let mean = Mean::new(*range, limits, keys.clone())?.told_in(point);
                let ready = self.law.ready(&mean)?;
                return Ok(Settled::Mean(Box::new(mean), Box::new(ready)));
            }
        };
        let ready = self.law.ready(&total)?;
        Ok(Settled::Total(Box::new(total), Box::new(ready)))
    }
}
