//! `discreet calibrate`: the noise of a mechanism, from its budget.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use discreet::Invalid;
use discreet::accounting::bounded::{
    BoundedNoiseGoal, BoundedNoiseRequest, CalibratedBoundedNoise, GridResolution, NoiseShape,
    published_bound,
};
use discreet::accounting::transfer::Goal;
use discreet::accounting::{
    Budget, DiscreteGaussianCost, DiscreteLaplaceCost, GaussianCost, Randomizer, Shuffle,
};
use serde_json::{Map, Value, json};

use super::alert::AlertArgs;
use super::marginals::MarginalsArgs;
use super::means::FoundArgs;
use super::means::StableArgs;
use super::ranks::{MaxArgs, QuantileArgs};
use super::running::{RunningArgs, SlidingArgs};
use super::shape::ShapeArgs;
use super::top::TopArgs;
use super::values::{choices, goal, number, parsed, whole};
use super::{CANNOT_WRITE, Refusal};

/// The mechanisms that can be calibrated.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Calibrate {
    /// Discrete Laplace noise for a budget in epsilon, (epsilon, delta) or zCDP
    Laplace(NoiseArgs),
    /// Discrete Gaussian noise for a budget in (epsilon, delta) or zCDP
    Gaussian(NoiseArgs),
    /// The rank error of a private maximum, in people
    Max(MaxArgs),
    /// The rank errors of private quantiles, in values
    Quantile(QuantileArgs),
    /// The band of a threshold alert between silence and a sure alarm
    Alert(AlertArgs),
    /// The distance of the most frequent keys from the largest number that is left
    Top(TopArgs),
    /// The errors of several tables of counts, beside the least that is possible
    Marginals(MarginalsArgs),
    /// The privacy cost of locally randomised reports after a shuffle
    Shuffle(ShuffleArgs),
    /// The number of adaptive queries that a data set can answer within an error
    Adaptive(AdaptiveArgs),
    /// Noise that never exceeds a bound, for many adaptive answers
    Bounded(BoundedArgs),
    /// Gaussian noise shaped to a data domain, for a mean of vectors
    Shape(ShapeArgs),
    /// The people that a mean of vectors of unknown scale needs, and its error
    StableMean(StableArgs),
    /// The records that a mean of vectors with private ranges needs
    FoundMean(FoundArgs),
    /// The error of running totals released at every tick, by strategy
    Running(RunningArgs),
    /// The error of totals over the last ticks, released at every tick, by strategy
    Sliding(SlidingArgs),
}

/// The privacy budget of one integer statistic, and its sensitivity.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("budget").required(true).args(["epsilon", "rho"]))]
pub(crate) struct NoiseArgs {
    /// The bound of the privacy loss
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    epsilon: Option<f64>,
    /// The delta of (epsilon, delta)-differential privacy
    #[arg(
        long,
        allow_negative_numbers = true,
        requires = "epsilon",
        conflicts_with = "rho",
        value_parser = number()
    )]
    delta: Option<f64>,
    /// A zCDP budget, instead of epsilon and delta
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    rho: Option<f64>,
    /// The sensitivity: the most by which one person can change the statistic, in steps of its integer
    /// lattice
    #[arg(long, allow_negative_numbers = true, default_value = "1", value_parser = whole())]
    sensitivity: u64,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl Calibrate {
    /// Returns the answer, ready to print.
    pub(crate) fn run(self) -> Result<String, Refusal> {
        match self {
            Calibrate::Laplace(noise) => noise.laplace(),
            Calibrate::Gaussian(noise) => noise.gaussian(),
            Calibrate::Max(max) => max.run(),
            Calibrate::Alert(alert) => alert.run(),
            Calibrate::Top(top) => top.run(),
            Calibrate::Marginals(marginals) => marginals.run(),
            Calibrate::Quantile(quantile) => quantile.run(),
            Calibrate::Shuffle(shuffle) => shuffle.run(),
            Calibrate::Adaptive(adaptive) => adaptive.run(),
            Calibrate::Bounded(bounded) => bounded.run(),
            Calibrate::Shape(shape) => shape.run(),
            Calibrate::StableMean(stable) => stable.run(),
            Calibrate::FoundMean(found) => found.run(),
            Calibrate::Running(running) => running.run(),
            Calibrate::Sliding(sliding) => sliding.run(),
        }
    }
}

impl NoiseArgs {
    fn laplace(&self) -> Result<String, Refusal> {
        let (budget, sensitivity) = (self.budget()?, self.sensitivity);
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
        let (budget, sensitivity) = (self.budget()?, self.sensitivity);
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

    fn budget(&self) -> Result<Budget, Invalid> {
        Budget::new(self.epsilon, self.delta, self.rho)
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

/// The share of draws inside the printed interval.
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

// `discreet calibrate adaptive`: the number of adaptive queries that a data set can answer within an error of
// the population.

/// The goal that all answers together must reach.
#[derive(Debug, Args)]
pub(crate) struct AdaptiveArgs {
    /// The number of people in the data, drawn independently from the population
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    people: u64,
    /// The largest error of an answer against the population, as a share of people
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    error: f64,
    /// The probability that any answer errs by more
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    failure: f64,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl AdaptiveArgs {
    /// Returns the answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let AdaptiveArgs { people, error, failure, .. } = *self;
        let goal = Goal::new(people, error, failure)?;
        let (plan, sigma) = goal.plan_gaussian()?;
        // Bounded noise can answer wherever a Gaussian can, but the plan of the Gaussian is printed even if
        // that of bounded noise fails.
        let bounded = goal.plan_bounded().ok();
        let fresh = goal.fresh();
        let ratio = |more: u64| more as f64 / plan.questions as f64;
        if self.json {
            let bounded = bounded.map(|(plan, noise)| {
                json!({
                    "questions": plan.questions,
                    "bound": noise.bound(),
                    "shape": noise.shape().to_string(),
                    "sd": noise.unit_deviation(),
                    "cost": { "epsilon": noise.epsilon(), "delta": noise.delta() },
                    "sample": { "error": noise.bound(), "failure": 0.0 },
                    "ratio": ratio(plan.questions),
                })
            });
            let line = json!({
                "mechanism": "gaussian",
                "people": people,
                "error": error,
                "failure": failure,
                "questions": plan.questions,
                "sigma": sigma,
                "cost": { "epsilon": plan.epsilon, "delta": plan.delta },
                "sample": { "error": plan.sample_error, "failure": plan.sample_failure },
                "fresh": { "questions": fresh },
                "bounded": bounded,
            });
            return Ok(format!("{line}\n"));
        }
        let more = bounded.map_or_else(String::new, |(plan, noise)| {
            format!(
                "bounded  {questions} queries, {ratio:.2} times as many, with noise that never exceeds {bound:.2} people\n         \
                 ({shape}); epsilon = {epsilon:.6}, delta = {delta:e}, certified\n",
                questions = plan.questions,
                ratio = ratio(plan.questions),
                bound = noise.bound(),
                shape = noise.shape(),
                epsilon = noise.epsilon(),
                delta = noise.delta(),
            )
        });
        Ok(format!(
            "answers  {questions} queries \"how many of the {people} people ..?\", each chosen by looking at the\n         \
             answers before, all within {error} of the population's share, but for probability {failure}\n\
             noise    discrete Gaussian, sigma = {sigma:.3}\n\
             cost     epsilon = {epsilon:.6}, delta = {delta:e} for one person replaced, all answers together\n\
             {more}without  {fresh} queries, if each had to see data that no other query sees\n\n\
             By the transfer theorem: privacy keeps the answers from fitting the sample. The people must have been drawn\n\
             independently from the population that the answers describe.\n",
            questions = plan.questions,
            epsilon = plan.epsilon,
            delta = plan.delta,
        ))
    }
}

// `discreet calibrate bounded`: noise that never exceeds a bound, for many adaptive answers.

/// The number of answers, and their privacy budget together.
#[derive(Debug, Args)]
pub(crate) struct BoundedArgs {
    /// The number of answers; each query may depend on the answers before
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    queries: u64,
    /// The bound of the privacy loss of all answers together
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    epsilon: f64,
    /// The delta of (epsilon, delta)-differential privacy
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    delta: f64,
    /// The shape of the noise, such as polynomial:4, laplace:13.66, blend:10.3,2.57,1.17 or published:2;
    /// without it, the best shape is searched for
    #[arg(long, allow_hyphen_values = true, value_parser = parsed::<NoiseShape>())]
    shape: Option<NoiseShape>,
    /// The quantity to minimize: bound, rms (the standard deviation), or the weight of the bound between the
    /// two, such as 0.5
    #[arg(long, allow_hyphen_values = true, default_value = "bound", value_parser = goal())]
    goal: BoundedNoiseGoal,
    /// A file to write the integer weights of the noise to, with all that is needed to recompute its delta,
    /// as one JSON object
    #[arg(long)]
    weights: Option<PathBuf>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// The probability with which the Gaussian keeps the error that is printed beside the bound.
const LARGEST_CONFIDENCE: f64 = 0.95;

impl BoundedArgs {
    /// Returns the answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let BoundedArgs { queries, epsilon, delta, shape, goal, .. } = *self;
        let mut request = BoundedNoiseRequest::new(queries, epsilon, delta)?.goal(goal)?;
        if let Some(shape) = shape {
            request = request.shape(shape);
        }
        let noise = CalibratedBoundedNoise::calibrate(&request, &GridResolution::default())?;
        // The published algorithm has shapes of its own; the second is the one it is run with.
        let published = shape
            .and_then(|shape| published_bound(&shape, queries, epsilon, delta).ok())
            .map_or_else(|| published_bound(&NoiseShape::published(2)?, queries, epsilon, delta), Ok)?;
        let sigma = GaussianCost::calibrate(epsilon, delta, (queries as f64).sqrt())?;
        let largest = GaussianCost::largest(sigma, queries, LARGEST_CONFIDENCE)?;
        let (bound, deviation) = (noise.bound(), noise.unit_deviation());
        if let Some(path) = &self.weights {
            export(&noise, path)?;
        }
        if self.json {
            let line = json!({
                "mechanism": "bounded",
                "queries": queries,
                "bound": bound,
                "shape": noise.shape().to_string(),
                "sd": deviation,
                "published_bound": published,
                "gaussian_sigma": sigma,
                "gaussian_max95": largest,
                "epsilon": noise.epsilon(),
                "delta": noise.delta(),
                "certified": true,
            });
            return Ok(format!("{line}\n"));
        }
        Ok(format!(
            "noise     {shape}, {steps} steps a unit\n\
             bound     {bound:.4}: no answer errs by more, ever; standard deviation {deviation:.4}\n\
             answers   {queries}, each query chosen by looking at the answers before\n\
             cost      epsilon = {epsilon}, delta = {delta:e} for all answers together, certified\n\
             compare   {published:.4} by the published calibration;\n          \
             the Gaussian: standard deviation {sigma:.4}, all {queries} within {largest:.4} in 95 of 100 cases\n\n\
             This is for counts that one person can change by at most 1; for others, multiply. The answers are charged at\n\
             once, as a whole, and unused answers are not refunded.\n",
            shape = noise.shape(),
            steps = noise.shift(),
            epsilon = noise.epsilon(),
            delta = noise.delta(),
        ))
    }
}

/// Writes the noise distribution: `weights[j]` is the weight of noise `j` steps and of `-j`, and `shift` is
/// the number of steps by which a person moves an answer. The delta of one answer is the sum over all
/// outcomes of the excess of a weight over `e^epsilon` times its neighbour's, divided by the sum of all
/// weights.
fn export(noise: &CalibratedBoundedNoise, path: &Path) -> Result<(), Refusal> {
    let law = json!({
        "mechanism": "bounded",
        "queries": noise.queries(),
        "epsilon": noise.epsilon(),
        "delta": noise.delta(),
        "shape": noise.shape().to_string(),
        "shift": noise.shift(),
        "weights": noise.weights(),
    });
    std::fs::write(path, format!("{law}\n")).map_err(|error| {
        let message =
            format!("weights: {}: {}; give a file that can be written", path.display(), error.kind());
        Refusal::with(CANNOT_WRITE, message)
    })
}

// `discreet calibrate shuffle`: the privacy cost of shuffled reports, or the local epsilon for a wanted cost.

/// A batch of reports, with their local epsilon or the epsilon wanted of the whole.
#[derive(Debug, Args)]
pub(crate) struct ShuffleArgs {
    /// The least number of honest people who report
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    people: u64,
    /// The local epsilon of each report
    #[arg(
        long,
        allow_negative_numbers = true,
        required_unless_present = "epsilon",
        conflicts_with = "epsilon", value_parser = number())]
    local_epsilon: Option<f64>,
    /// The epsilon wanted of the whole; the largest local epsilon that keeps it is computed
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    epsilon: Option<f64>,
    /// The delta of the whole
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    delta: f64,
    /// The number of choices of randomised response; without it, any local randomizer is assumed
    #[arg(long, allow_negative_numbers = true, value_parser = choices())]
    choices: Option<Randomizer>,
    /// Reports are unary: a bit for each choice, 1 with probability 1/2 for the true one and 1/(e^epsilon + 1) for others
    #[arg(long, conflicts_with = "choices")]
    unary: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl ShuffleArgs {
    /// Returns the answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let ShuffleArgs { people, delta, .. } = *self;
        let of_choices = self.choices.unwrap_or(Randomizer::Any);
        let randomizer = if self.unary { Randomizer::Unary } else { of_choices };
        let local = match (self.local_epsilon, self.epsilon) {
            (Some(local), _) => local,
            (None, Some(epsilon)) => Shuffle::calibrate(people, epsilon, delta, randomizer)?,
            // Unreachable: clap requires one of the two.
            (None, None) => {
                return Err(Refusal::new("local-epsilon: found nothing; give it, or epsilon"));
            }
        };
        let shuffle = Shuffle::new(people, local, randomizer)?;
        let (exact, closed) = (shuffle.epsilon(delta)?, shuffle.epsilon_closed(delta)?);
        let (epsilon, attained) = (exact.min(closed), shuffle.epsilon_attained(delta)?);
        let by = if randomizer == Randomizer::Any { "clones" } else { "blanket" };
        if self.json {
            let mut line = json!({
                "mechanism": "shuffle",
                "people": people,
                "local_epsilon": local,
                "delta": delta,
                "exact": { "by": by, "epsilon": exact },
                "closed": { "epsilon": closed },
                "cost": { "epsilon": epsilon, "delta": delta },
            });
            if let Some(attained) = attained {
                line["attained"] = json!({ "epsilon": attained });
            }
            return Ok(format!("{line}\n"));
        }
        let floor = attained.map_or_else(String::new, |attained| {
            format!("floor    {attained:.6}: no analysis of these reports can prove less\n")
        });
        Ok(format!(
            "reports  {people} people, each report {local}-private by itself\n\
             cost     epsilon = {epsilon}, delta = {delta:e} for one person's report replaced\n\
             by       {exact:.6} from the exact sum over the {by}, {closed:.6} from the closed form of any randomizer\n{floor}\n\
             This holds if only the sorted reports are seen, without names, times and workers, and if at least {people} of them\n\
             come from people who follow the protocol. For one person more or less, an absent person's report is made from\n\
             a fixed input.\n"
        ))
    }
}
