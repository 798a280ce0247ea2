//! The noise distribution of a release, or the mechanism that draws its answer.

use super::CellKey;
use crate::accounting::PrivacyCost;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::{
    Gaussian, Laplace, Mechanism, Prepared, Stable, StableMeans, StableVectors, Statistic,
};

/// The noise distribution, or the mechanism that draws an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoiseKind {
    /// Discrete Gaussian noise.
    Gaussian,
    /// Discrete Laplace noise.
    Laplace,
    /// The exponential mechanism: it draws an answer, and adds noise to no number.
    Exponential,
    /// One-sided geometric noise, on a threshold and on the numbers that are compared with it.
    Geometric,
    /// Permute-and-flip: it draws one of few answers, nearer to the best than the exponential mechanism.
    PermuteAndFlip,
}

impl NoiseKind {
    /// The words of the job file.
    pub(in crate::job) const WORDS: [(&str, NoiseKind); 5] = [
        ("gaussian", NoiseKind::Gaussian),
        ("laplace", NoiseKind::Laplace),
        ("exponential", NoiseKind::Exponential),
        ("permute-and-flip", NoiseKind::PermuteAndFlip),
        ("geometric", NoiseKind::Geometric),
    ];

    /// Returns the word of the job file.
    pub fn word(self) -> &'static str {
        match self {
            NoiseKind::Gaussian => "gaussian",
            NoiseKind::Laplace => "laplace",
            NoiseKind::Exponential => "exponential",
            NoiseKind::PermuteAndFlip => "permute-and-flip",
            NoiseKind::Geometric => "geometric",
        }
    }
}

/// The noise distribution that a job file names, with its privacy cost.
#[derive(Clone, Debug)]
pub(crate) struct ConfiguredNoise {
    kind: NoiseKind,
    cost: PrivacyCost,
    /// The expected number of people of a key in a window, for a mechanism that needs it.
    people: Option<u64>,
}

impl ConfiguredNoise {
    pub(in crate::job) fn new(kind: NoiseKind, cost: PrivacyCost) -> ConfiguredNoise {
        ConfiguredNoise { kind, cost, people: None }
    }

    /// Sets the expected number of people of a key in a window.
    pub(super) fn for_people(&self, people: u64) -> ConfiguredNoise {
        ConfiguredNoise { people: Some(people), ..self.clone() }
    }

    pub(super) fn kind(&self) -> NoiseKind {
        self.kind
    }

    pub(super) fn cost(&self) -> &PrivacyCost {
        &self.cost
    }

    /// Prepares a statistic that is answered with additive noise of either distribution.
    pub(super) fn additive<S: Statistic, P: Prepared>(&self, statistic: &S) -> Result<P, Invalid>
    where
        Gaussian: Mechanism<S, Prepared = P>,
        Laplace: Mechanism<S, Prepared = P>,
    {
        match self.kind {
            NoiseKind::Gaussian => Gaussian::cost(&self.cost).prepare(statistic),
            NoiseKind::Laplace => Laplace::cost(&self.cost).prepare(statistic),
            _ => Err(ConfiguredNoise::unsupported()),
        }
    }

    /// Prepares a statistic that is answered with Gaussian noise alone.
    pub(super) fn gaussian<S: Statistic, P: Prepared>(&self, statistic: &S) -> Result<P, Invalid>
    where
        Gaussian: Mechanism<S, Prepared = P>,
    {
        match self.kind {
            NoiseKind::Gaussian => Gaussian::cost(&self.cost).prepare(statistic),
            _ => Err(ConfiguredNoise::unsupported()),
        }
    }

    /// Returns the refusal of a combination that the reader of job files excludes.
    pub(super) fn unsupported() -> Invalid {
        Invalid::new("noise", InvalidKind::Mixed, "a law that this statistic has")
    }
}

impl Sealed for ConfiguredNoise {}

impl Mechanism<StableVectors<CellKey>> for ConfiguredNoise {
    type Prepared = StableMeans<CellKey>;

    fn prepare(&self, vectors: &StableVectors<CellKey>) -> Result<StableMeans<CellKey>, Invalid> {
        let stable = Stable::cost(&self.cost);
        self.people.map_or(stable.clone(), |people| stable.people(people)).prepare(vectors)
    }
}
