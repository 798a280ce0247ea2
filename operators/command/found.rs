//! `discreet calibrate found-mean`: how many records a mean needs whose bounds are found.

use clap::Args;
use discreet::mechanisms::{Bound, FoundMean, Gaussian, Keys, Mechanism, Ranges};
use serde_json::json;

use super::{Refusal, number, whole};

/// Records, numbers of each, and what may be spent on one window.
#[derive(Debug, Args)]
pub(crate) struct FoundArgs {
    /// How many records a key is expected to have in a window
    #[arg(long, allow_negative_numbers = true)]
    people: String,
    /// How many numbers a record has
    #[arg(long, allow_negative_numbers = true)]
    dimension: String,
    /// How far from zero each number may lie at most, in its steps
    #[arg(long, allow_negative_numbers = true)]
    reach: String,
    /// The zCDP budget of a window
    #[arg(long, allow_negative_numbers = true)]
    rho: String,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// The most numbers of a record.
const MOST: u64 = 256;

impl FoundArgs {
    /// The answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let (people, dimension) = (whole("people", &self.people)?, whole("dimension", &self.dimension)?);
        let (reach, rho) = (whole("reach", &self.reach)?, number("rho", &self.rho)?);
        if !(1..=MOST).contains(&dimension) {
            return Err(Refusal::new(
                "dimension: found a number that is out of range; give a whole number from 1 to 256",
            ));
        }
        let reach = i64::try_from(reach).ok().filter(|reach| *reach > 0);
        let reach = reach.ok_or_else(|| {
            Refusal::new("reach: found a number that is out of range; give a whole number from 1 to 2^63 - 1")
        })?;
        let outer = Ranges::new(vec![(-reach, reach); dimension as usize])?;
        let mean = FoundMean::new(&outer, Bound::keys(1).checked()?, Keys::whole())?.people(people);
        let ready = Gaussian::rho(rho).ready(&mean)?;
        let (least, longest) = (ready.least_records(), ready.longest());
        if self.json {
            let line = json!({
                "mechanism": "found mean",
                "people": people,
                "dimension": dimension,
                "rho": rho,
                "needs": {"people": least},
                "longest": longest,
            });
            return Ok(format!("{line}\n"));
        }
        Ok(format!(
            "needs    at least {least} records of a key in its first window, of {people} that are expected\n\
             clips    a record that is longer than {longest:.3} standard deviations, as the last window measures them\n\
             cost     rho = {rho} a window\n\n\
             With fewer records the ranges are found anywhere, and a window that was paid for says nothing: its interval is\n\
             the outer range, and the next window finds them anew.\n"
        ))
    }
}
