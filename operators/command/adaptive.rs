//! `discreet calibrate adaptive`: how many questions, each chosen by earlier answers, a data set can answer truly.

use clap::Args;
use discreet::accounting::transfer::Goal;
use serde_json::json;

use super::{Refusal, number, whole};

/// What the answers must keep.
#[derive(Debug, Args)]
pub(crate) struct Adaptive {
    /// How many people the data holds, drawn independently from the population
    #[arg(long, allow_negative_numbers = true)]
    people: String,
    /// How far every answer, a share of people, may be from the population's
    #[arg(long, allow_negative_numbers = true)]
    error: String,
    /// The probability with which any of them may be farther
    #[arg(long, allow_negative_numbers = true)]
    failure: String,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl Adaptive {
    /// The answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let people = whole("people", &self.people)?;
        let (error, failure) = (number("error", &self.error)?, number("failure", &self.failure)?);
        let goal = Goal::new(people, error, failure)?;
        let (plan, sigma) = goal.plan_gaussian()?;
        // Where a Gaussian can answer at all, so can bounded noise; to print the one does not hang on the other.
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
                "bounded  {questions} questions, {ratio:.2} times as many, with noise that never exceeds {bound:.2} people\n         \
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
            "answers  {questions} questions \"how many of the {people} people ..?\", each chosen by looking at the\n         \
             answers before, all within {error} of the population's share, but for probability {failure}\n\
             noise    discrete Gaussian, sigma = {sigma:.3}\n\
             cost     epsilon = {epsilon:.6}, delta = {delta:e} for one person replaced, all answers together\n\
             {more}without  {fresh} questions, if each had to see data that no other question sees\n\n\
             By the transfer theorem: privacy keeps the answers from fitting the sample. The people must have been drawn\n\
             independently from the population that the answers speak of.\n",
            questions = plan.questions,
            epsilon = plan.epsilon,
            delta = plan.delta,
        ))
    }
}
