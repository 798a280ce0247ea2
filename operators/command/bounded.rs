//! `discreet calibrate bounded`: noise that never exceeds a bound, for many adaptive answers.

use std::path::{Path, PathBuf};

use clap::Args;
use discreet::accounting::GaussianCost;
use discreet::accounting::bounded::{
    BoundedNoiseGoal, BoundedNoiseRequest, CalibratedBoundedNoise, Fineness, NoiseShape, published_bound,
};
use serde_json::json;

use super::{CANNOT_WRITE, Refusal, number, whole};

/// How many answers, and what they may cost together.
#[derive(Debug, Args)]
pub(crate) struct BoundedArgs {
    /// How many answers; each question may depend on the answers before
    #[arg(long, allow_negative_numbers = true)]
    queries: String,
    /// The bound of the privacy loss of all answers together
    #[arg(long, allow_negative_numbers = true)]
    epsilon: String,
    /// The probability left beyond epsilon
    #[arg(long, allow_negative_numbers = true)]
    delta: String,
    /// The shape of the noise, such as polynomial:4, laplace:13.66, blend:10.3,2.57,1.17 or published:2; else the best is
    /// looked for
    #[arg(long, allow_hyphen_values = true)]
    shape: Option<String>,
    /// What is to be small: bound, rms, or the weight of the bound between the two, such as 0.5
    #[arg(long, allow_hyphen_values = true, default_value = "bound")]
    goal: String,
    /// A file to write the integer weights of the noise to, with all that its delta can be recomputed from, as one JSON object
    #[arg(long)]
    weights: Option<PathBuf>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// How many times of 100 the Gaussian keeps the error that is printed beside the bound.
const LARGEST_CONFIDENCE: f64 = 0.95;

impl BoundedArgs {
    /// The answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let queries = whole("queries", &self.queries)?;
        let (epsilon, delta) = (number("epsilon", &self.epsilon)?, number("delta", &self.delta)?);
        let goal = match self.goal.as_str() {
            "bound" => BoundedNoiseGoal::Bound,
            "rms" => BoundedNoiseGoal::Rms,
            weight => BoundedNoiseGoal::Mixed(number("goal", weight)?),
        };
        let mut asked = BoundedNoiseRequest::new(queries, epsilon, delta)?.goal(goal)?;
        let shape = self.shape.as_deref().map(str::parse::<NoiseShape>).transpose()?;
        if let Some(shape) = shape {
            asked = asked.shape(shape);
        }
        let noise = CalibratedBoundedNoise::calibrate(&asked, &Fineness::default())?;
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
             answers   {queries}, each question chosen by looking at the answers before\n\
             cost      epsilon = {epsilon}, delta = {delta:e} for all answers together, certified\n\
             beside    {published:.4} by the published calibration;\n          \
             the Gaussian: standard deviation {sigma:.4}, all {queries} within {largest:.4} in 95 of 100 cases\n\n\
             This is for counts that one person can change by at most 1; for others, multiply. The answers are paid for at\n\
             once, as a whole, and those that are never asked for are not paid back.\n",
            shape = noise.shape(),
            steps = noise.shift(),
            epsilon = noise.epsilon(),
            delta = noise.delta(),
        ))
    }
}

/// Writes the law: `weights[j]` is the weight of noise `j` steps and of `-j`, `shift` the steps that a person moves an answer
/// by. The delta of one answer is the sum of what exceeds `e^epsilon` times its neighbour, over the sum of all weights.
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
