//! `discreet calibrate shuffle`: what reports cost once they are shuffled, or how private they must be by themselves.

use clap::Args;
use discreet::accounting::{Randomizer, Shuffle};
use serde_json::json;

use super::{Refusal, number, whole};

/// A batch of reports, and either their own epsilon or the one wanted of the whole.
#[derive(Debug, Args)]
pub(crate) struct Shuffled {
    /// How many honest people report at least
    #[arg(long, allow_negative_numbers = true)]
    people: String,
    /// The epsilon of each report by itself
    #[arg(
        long,
        allow_negative_numbers = true,
        required_unless_present = "epsilon",
        conflicts_with = "epsilon"
    )]
    local_epsilon: Option<String>,
    /// The epsilon wanted of the whole: finds the largest local one that keeps it
    #[arg(long, allow_negative_numbers = true)]
    epsilon: Option<String>,
    /// The delta of the whole
    #[arg(long, allow_negative_numbers = true)]
    delta: String,
    /// The reports are randomised response among so many choices; any randomiser otherwise
    #[arg(long, allow_negative_numbers = true)]
    choices: Option<String>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl Shuffled {
    /// The answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let people = whole("people", &self.people)?;
        let delta = number("delta", &self.delta)?;
        let randomizer = match self.choices.as_deref().map(|text| whole("choices", text)).transpose()? {
            Some(choices) => Randomizer::Response { choices: u32::try_from(choices).unwrap_or(u32::MAX) },
            None => Randomizer::Any,
        };
        let local = match (&self.local_epsilon, &self.epsilon) {
            (Some(local), _) => number("local-epsilon", local)?,
            (None, Some(epsilon)) => {
                Shuffle::calibrate(people, number("epsilon", epsilon)?, delta, randomizer)?
            }
            // The parser asks for one of the two.
            (None, None) => {
                return Err(Refusal::new("local-epsilon: found nothing; give it, or epsilon"));
            }
        };
        let shuffle = Shuffle::new(people, local, randomizer)?;
        let (clones, closed) = (shuffle.epsilon(delta)?, shuffle.epsilon_closed(delta)?);
        let epsilon = clones.min(closed);
        if self.json {
            let line = json!({
                "mechanism": "shuffle",
                "people": people,
                "local_epsilon": local,
                "delta": delta,
                "clones": { "epsilon": clones },
                "closed": { "epsilon": closed },
                "cost": { "epsilon": epsilon, "delta": delta },
            });
            return Ok(format!("{line}\n"));
        }
        Ok(format!(
            "reports  {people} people, each report {local}-private by itself\n\
             cost     epsilon = {epsilon}, delta = {delta:e} for one person's report replaced\n\
             by       {clones:.6} from the exact sum over clones, {closed:.6} from the closed form\n\n\
             This holds if only the sorted reports are seen, nobody's name, time or worker beside them, and if at least\n\
             {people} of them come from people who follow the rule. For one person more or less, let whoever is absent\n\
             report from a fixed input.\n"
        ))
    }
}
