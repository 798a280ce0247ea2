//! `discreet calibrate`: from a budget to the noise that keeps it.

use clap::Args;
use discreet::accounting::{Budget, DiscreteGaussianCost, DiscreteLaplaceCost};
use serde_json::{Map, Value, json};

use super::adaptive::Adaptive;
use super::bounded::BoundedArgs;
use super::found::FoundArgs;
use super::ranks::{Max, QuantileOf};
use super::running::{Sliding, SoFar};
use super::shape::ShapeOf;
use super::shuffle::Shuffled;
use super::stable::StableArgs;
use super::{Refusal, number, whole};

/// The mechanisms that can be calibrated.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Calibrate {
    /// Discrete Laplace noise: pure epsilon, (epsilon, delta) or zCDP
    Laplace(NoiseArgs),
    /// Discrete Gaussian noise: (epsilon, delta) or zCDP
    Gaussian(NoiseArgs),
    /// A largest value, found by its rank: how many people it is too small by
    Max(Max),
    /// Quantiles, found by their rank: by how many values they may be off
    Quantile(QuantileOf),
    /// Reports that are randomised by their senders and shuffled
    Shuffle(Shuffled),
    /// Questions to a data set, each chosen by the answers before
    Adaptive(Adaptive),
    /// Noise that never exceeds a bound, for many adaptive answers
    Bounded(BoundedArgs),
    /// Gaussian noise of the shape of a domain, for a mean of vectors
    Shape(ShapeOf),
    /// A mean of vectors of unknown scale: how many people it needs, and what it will err
    StableMean(StableArgs),
    /// A mean of vectors whose bounds are found: how many records it needs
    FoundMean(FoundArgs),
    /// Totals so far, told at every tick: what they err by, by each strategy
    Running(SoFar),
    /// Totals over the last ticks, told at every tick: what they err by, by each strategy
    Sliding(Sliding),
}

/// What one integer statistic may cost, and how far one person can move it.
#[derive(Debug, Args)]
pub(crate) struct NoiseArgs {
    /// The bound of the privacy loss
    #[arg(long, allow_negative_numbers = true, required_unless_present = "rho", conflicts_with = "rho")]
    epsilon: Option<String>,
    /// The probability left beyond epsilon
    #[arg(long, allow_negative_numbers = true, requires = "epsilon", conflicts_with = "rho")]
    delta: Option<String>,
    /// A zCDP budget instead
    #[arg(long, allow_negative_numbers = true)]
    rho: Option<String>,
    /// The most that one person can change the statistic, in units of its integer lattice
    #[arg(long, allow_negative_numbers = true, default_value = "1")]
    sensitivity: String,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl Calibrate {
    /// The answer, ready to print.
    pub(crate) fn run(self) -> Result<String, Refusal> {
        match self {
            Calibrate::Laplace(noise) => noise.laplace(),
            Calibrate::Gaussian(noise) => noise.gaussian(),
            Calibrate::Max(max) => max.run(),
            Calibrate::Quantile(quantile) => quantile.run(),
            Calibrate::Shuffle(shuffled) => shuffled.run(),
            Calibrate::Adaptive(adaptive) => adaptive.run(),
            Calibrate::Bounded(bounded) => bounded.run(),
            Calibrate::Shape(shape) => shape.run(),
            Calibrate::StableMean(stable) => stable.run(),
            Calibrate::FoundMean(found) => found.run(),
            Calibrate::Running(so_far) => so_far.run(),
            Calibrate::Sliding(sliding) => sliding.run(),
        }
    }
}

impl NoiseArgs {
    fn laplace(&self) -> Result<String, Refusal> {
        let (budget, sensitivity) = self.read()?;
        let noise = DiscreteLaplaceCost::calibrate(&budget, sensitivity)?;
        let mut cost = Map::new();
        match budget {
            Budget::Approximate { epsilon, .. } => {
                cost.insert("epsilon".into(), epsilon.into());
                cost.insert("delta".into(), noise.delta(epsilon).into());
            }
            Budget::Pure { .. } | Budget::Zcdp { .. } => {
                cost.insert("epsilon".into(), noise.epsilon_pure().into());
            }
        }
        cost.insert("rho".into(), noise.rho().into());
        let answer = CalibrationAnswer {
            law: "discrete Laplace, P(z) proportional to exp(-|z| / scale)",
            mechanism: "laplace",
            parameter: ("scale", noise.scale()),
            deviation: noise.deviation(),
            error: noise.mean_error(),
            interval: noise.interval(CONFIDENCE)?,
            cost,
        };
        Ok(self.print(&budget, sensitivity, answer))
    }

    fn gaussian(&self) -> Result<String, Refusal> {
        let (budget, sensitivity) = self.read()?;
        let noise = DiscreteGaussianCost::calibrate(&budget, sensitivity)?;
        let mut cost = Map::new();
        if let Budget::Approximate { epsilon, .. } = budget {
            cost.insert("epsilon".into(), epsilon.into());
            cost.insert("delta".into(), noise.delta(epsilon).into());
        }
        cost.insert("rho".into(), noise.rho().into());
        let answer = CalibrationAnswer {
            law: "discrete Gaussian, P(z) proportional to exp(-z^2 / (2 sigma^2))",
            mechanism: "gaussian",
            parameter: ("sigma", noise.sigma()),
            deviation: noise.deviation(),
            error: noise.mean_error(),
            interval: noise.interval(CONFIDENCE)?,
            cost,
        };
        Ok(self.print(&budget, sensitivity, answer))
    }

    fn read(&self) -> Result<(Budget, u64), Refusal> {
        let read = |field, text: &Option<String>| text.as_deref().map(|text| number(field, text)).transpose();
        let budget = Budget::new(
            read("epsilon", &self.epsilon)?,
            read("delta", &self.delta)?,
            read("rho", &self.rho)?,
        )?;
        Ok((budget, whole("sensitivity", &self.sensitivity)?))
    }

    fn print(&self, budget: &Budget, sensitivity: u64, answer: CalibrationAnswer) -> String {
        let budget = match *budget {
            Budget::Pure { epsilon } => json!({ "epsilon": epsilon }),
            Budget::Approximate { epsilon, delta } => json!({ "epsilon": epsilon, "delta": delta }),
            Budget::Zcdp { rho } => json!({ "rho": rho }),
        };
        if self.json { answer.line(budget, sensitivity) } else { answer.page(sensitivity) }
    }
}

/// The share of draws that the printed interval holds.
const CONFIDENCE: f64 = 0.9;

struct CalibrationAnswer {
    law: &'static str,
    mechanism: &'static str,
    parameter: (&'static str, f64),
    deviation: f64,
    error: f64,
    interval: u64,
    cost: Map<String, Value>,
}

impl CalibrationAnswer {
    fn line(self, budget: Value, sensitivity: u64) -> String {
        let mut line = json!({
            "mechanism": self.mechanism,
            "sensitivity": sensitivity,
            "budget": budget,
            "deviation": self.deviation,
            "error": self.error,
            "interval90": self.interval,
            "cost": self.cost,
        });
        line[self.parameter.0] = self.parameter.1.into();
        format!("{line}\n")
    }

    fn page(self, sensitivity: u64) -> String {
        let (name, value) = self.parameter;
        let cost: Vec<String> = ["epsilon", "delta", "rho"]
            .iter()
            .filter_map(|&name| self.cost.get(name).map(|value| format!("{name} = {value}")))
            .collect();
        let name_as = format!("{name} = {value}");
        format!(
            "noise    {law}\n         {name_as}\n\
             error    standard deviation {deviation:.6}, mean absolute error {error:.6}\n         \
             9 of 10 draws lie within {interval} of the exact value\n\
             cost     {cost}\n\n\
             This is for one integer statistic that one person can change by at most {sensitivity},\n\
             counted in steps of its integer lattice: a sum kept in cents has its sensitivity in cents.\n\
             The cost is exact for this integer noise and rounded up.\n",
            law = self.law,
            deviation = self.deviation,
            error = self.error,
            interval = self.interval,
            cost = cost.join(", "),
        )
    }
}
