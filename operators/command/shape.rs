//! `discreet calibrate shape`: noise of the shape of a domain, what a mean errs by with it, and how far from the best it is.

mod domain;

use clap::Args;
use discreet::accounting::Relation;
use discreet::accounting::shape::{MeanError, Norm, Shape};
use serde_json::json;

use super::{Refusal, number, whole};
use domain::Given;

/// A domain, and a mean over it.
#[derive(Debug, Args)]
pub(crate) struct ShapeOf {
    #[command(flatten)]
    given: Given,
    /// Which neighbours: add-remove, one person more or less; or replace, one in place of another
    #[arg(long, allow_hyphen_values = true, default_value = "add-remove")]
    relation: String,
    /// In which norm the error is to be small: from 2 on, or inf for the largest coordinate
    #[arg(long, allow_negative_numbers = true, default_value = "2")]
    norm: String,
    /// The zCDP budget of the mean
    #[arg(long, allow_negative_numbers = true)]
    rho: String,
    /// Over how many people, a public number
    #[arg(long, allow_negative_numbers = true)]
    people: String,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl ShapeOf {
    /// The answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let norm: Norm = self.norm.parse()?;
        let relation = self.relation()?;
        let (rho, people) = (number("rho", &self.rho)?, whole("people", &self.people)?);
        let domain = self.given.domain()?;
        let shape = Shape::of(&domain, relation, norm)?;
        let error = MeanError::of(&shape, rho, people)?;
        if self.json {
            let line = json!({
                "gamma": shape.gamma(),
                "gap": shape.gap(),
                "covariance": shape.covariance(),
                "error": error.shaped(),
                "lower_bound": error.lower_bound(),
                "isotropic_error": error.isotropic(),
            });
            return Ok(format!("{line}\n"));
        }
        let (dimension, rank) = (shape.dimension(), shape.rank());
        let flat = if rank == dimension { String::new() } else { format!(", in {rank} directions") };
        let neighbours = match relation {
            Relation::AddRemove => "one person more or less",
            Relation::Replace => "one person replaced by another",
        };
        Ok(format!(
            "shape      {dimension} coordinates{flat}; gamma {gamma:.6} in {norm}, gap {gap:.1e}\n\
             error      {error:.6e} of a mean of {people} people\n\
             beside     {isotropic:.6e} with the same noise in every direction: {factor:.4} of it\n\
             at least   {lower:.6e} for every unbiased mean: {ratio:.4} of it is reached\n\
             cost       rho = {rho}, for {neighbours}\n\n\
             An error is the {norm} norm of the standard deviations of the coordinates. The lower bound is for unbiased means,\n\
             with noise that does not depend on the data; a biased mean, one that is clipped or moved into the domain, may err\n\
             by less. The gap is between the squares of what this shape has and what every shape has at least.\n",
            gamma = shape.gamma(),
            gap = shape.gap(),
            error = error.shaped(),
            isotropic = error.isotropic(),
            factor = error.factor(),
            lower = error.lower_bound(),
            ratio = error.shaped() / error.lower_bound(),
        ))
    }

    fn relation(&self) -> Result<Relation, Refusal> {
        match self.relation.as_str() {
            "add-remove" => Ok(Relation::AddRemove),
            "replace" => Ok(Relation::Replace),
            _ => Err(Refusal::new("relation: found text that is not understood; give add-remove or replace")),
        }
    }
}
