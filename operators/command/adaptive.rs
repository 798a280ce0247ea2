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
        let fresh = goal.fresh();
        if self.json {
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
            });
            return Ok(format!("{line}\n"));
        }
        Ok(format!(
            "answers  {questions} questions \"how many of the {people} people ..?\", each chosen by looking at the\n         \
             answers before, all within {error} of the population's share, but for probability {failure}\n\
             noise    discrete Gaussian, sigma = {sigma:.3}\n\
             cost     epsilon = {epsilon:.6}, delta = {delta:e} for one person replaced, all answers together\n\
             without  {fresh} questions, if each had to see data that no other question sees\n\n\
             By the transfer theorem: privacy keeps the answers from fitting the sample. The people must have been drawn\n\
             independently from the population that the answers speak of.\n",
            questions = plan.questions,
            epsilon = plan.epsilon,
            delta = plan.delta,
        ))
    }
}
