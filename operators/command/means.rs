//! `discreet calibrate stable-mean` and `discreet calibrate found-mean`: the people that a mean without known
//! ranges needs, its privacy cost and its error.

use clap::{Args, ValueEnum};
use discreet::accounting::{PrivacyCost, Relation};
use discreet::mechanisms::stable::{ASSUMED, BoundingBox};
use discreet::mechanisms::{Bound, FoundMean, Gaussian, Keys, Mechanism, Ranges, StableMean};
use serde_json::{Value, json};

use super::Refusal;
use super::values::{RelationName, choice, number, whole, whole_within, width};

/// The people, the dimension and the privacy budget of one mean.
#[derive(Debug, Args)]
pub(crate) struct StableArgs {
    /// The number of people, each with one record
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    people: u64,
    /// The number of coordinates of a record
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    dimension: u64,
    /// The bound of the privacy loss
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    epsilon: f64,
    /// The delta of (epsilon, delta)-differential privacy
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    delta: f64,
    /// The adjacency
    #[arg(
        long,
        allow_hyphen_values = true,
        default_value = "add-remove",
        value_parser = choice::<RelationName>()
    )]
    relation: RelationName,
    /// The width of each side of the public box that records are clipped to, in steps of a record's numbers,
    /// from 1 to 2^46; with it, the grid of the answer is printed
    #[arg(long, allow_negative_numbers = true, value_parser = width())]
    width: Option<BoundingBox>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl StableArgs {
    /// Returns the answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let StableArgs { people, dimension, epsilon, delta, .. } = *self;
        let relation = Relation::from(self.relation);
        let mean = StableMean::new(people, dimension, epsilon, delta, relation)?;
        let grid = self.width.as_ref().map(|width| grid(&mean, width)).transpose()?;
        let least = StableMean::least_people(dimension, epsilon, delta, relation)?;
        let PrivacyCost::Zcdp { rho, delta: spent, omega } = mean.cost().amount() else {
            return Err(Refusal::new("epsilon: found a number without a cost in zCDP; give another"));
        };
        let (rho, spent, omega) = (rho.to_float_up(), spent.to_float_up(), omega.to_float());
        let reached = mean.cost().amount().epsilon(delta)?;
        let [test, release, shape] = mean.rhos();
        let counting = (rho - test - release - shape).max(0.0);
        let kept = mean.fewest();
        let noise = mean.scale(kept);
        let sampling = 1.0 / (kept as f64).sqrt();
        let length = (dimension as f64).sqrt();
        if self.json {
            let mut line = json!({
                "mechanism": "stable mean",
                "assumes": ASSUMED,
                "relation": self.relation.to_possible_value().map(|name| name.get_name().to_owned()),
                "people": people,
                "dimension": dimension,
                "needs": {"people": least, "kept": kept, "k": mean.k(), "lambda": mean.lambda()},
                "test": {"sigma": mean.sigma(), "tau": mean.tau()},
                "cost": {
                    "rho": rho, "delta": spent, "omega": omega, "test": test, "noise": release, "shape": shape,
                    "epsilon": reached, "at_delta": delta,
                },
                "error": {"noise": noise * length, "sampling": sampling * length, "noise_each": noise},
            });
            if let Some(step) = grid {
                line["error"]["grid"] = step.into();
            }
            if relation == Relation::AddRemove {
                line["cost"]["count"] = Value::from(counting);
            }
            return Ok(format!("{line}\n"));
        }
        let rounding = grid.map_or(String::new(), |step| {
            format!(
                "         rounded to a public grid of {step:e} steps of the box, by half of that at most\n"
            )
        });
        let count = if relation == Relation::AddRemove {
            format!(", the number of people {counting:.6}")
        } else {
            String::new()
        };
        Ok(format!(
            "needs    at least {least} people at this price; {people} are expected, {kept} are used\n         \
             k = {k}, lambda = {lambda}\n\
             test     half the score passes up to {tau}, with noise of sigma {sigma:.6}\n\
             cost     epsilon = {reached:.6} at delta = {delta}\n         \
             rho = {rho:.6}, delta = {spent:.3e}, for orders below {omega:.1}\n         \
             of rho the test has {test:.6}, the noise {release:.6}, its shape {shape:.6}{count}\n\
             error    noise {noise_all:.6}, sampling {sampling_all:.6}: lengths, in standard deviations of the records\n\
             {rounding}\n\
             This is for records without outliers, one a person; where they have many, the test fails and nothing is released.\n\
             Ordinary heavy tails fail it too: lognormal values, Student's with 5 degrees of freedom, 1% of rare values,\n\
             and a number that is constant.\n\
             It holds for axes of any scale, and needs no bounds but those of the integers: {ASSUMED}.\n",
            k = mean.k(),
            lambda = mean.lambda(),
            tau = mean.tau(),
            sigma = mean.sigma(),
            noise_all = noise * length,
            sampling_all = sampling * length,
        ))
    }
}

/// The step of the public grid for a side of this width. Refuses a width whose grid is coarser than the
/// noise.
fn grid(mean: &StableMean, extent: &BoundingBox) -> Result<f64, Refusal> {
    mean.fits(extent).map_err(|refused| {
        Refusal::new(format!("width: found a box that is too wide; give {}", refused.remedy()))
    })?;
    Ok(mean.grid(extent).first().copied().unwrap_or(0.0))
}

// `discreet calibrate found-mean`: the number of records that a mean with private ranges needs.

/// The records, the dimension and the privacy budget of one window.
#[derive(Debug, Args)]
pub(crate) struct FoundArgs {
    /// The expected number of records of a key in a window
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    people: u64,
    /// The number of coordinates of a record, from 1 to 256
    #[arg(
        long,
        allow_negative_numbers = true,
        value_parser = whole_within::<usize>(1..=256, "a whole number from 1 to 256")
    )]
    dimension: usize,
    /// The largest magnitude of each number, in steps
    #[arg(
        long,
        allow_negative_numbers = true,
        value_parser = whole_within::<i64>(1..=i64::MAX, "a whole number from 1 to 2^63 - 1")
    )]
    reach: i64,
    /// The zCDP budget of a window
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    rho: f64,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl FoundArgs {
    /// Returns the answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let FoundArgs { people, dimension, reach, rho, .. } = *self;
        let outer = Ranges::new(vec![(-reach, reach); dimension])?;
        let mean = FoundMean::new(&outer, Bound::keys(1).checked()?, Keys::whole())?.people(people);
        let prepared = Gaussian::rho(rho).prepare(&mean)?;
        let (least, longest) = (prepared.least_records(), prepared.longest());
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
             With fewer records the ranges are arbitrary, and a window is charged for a mean without information: its interval\n\
             is the outer range, and the next window estimates the ranges again.\n"
        ))
    }
}
