//! `discreet calibrate shape`: noise of the shape of a domain, what a mean errs by with it, and how far from the best it is.

use std::path::{Path, PathBuf};

use clap::Args;
use discreet::accounting::Relation;
use discreet::accounting::shape::{Domain, MeanError, Norm, Shape};
use serde_json::json;

use super::{Refusal, number, whole};

/// A domain, and a mean over it.
#[derive(Debug, Args)]
pub(crate) struct ShapeOf {
    /// A file of public points, or of the vertices of a polytope: one a line, its coordinates divided by commas
    #[arg(long, value_name = "FILE.csv", required_unless_present_any = ["box", "ball"])]
    points: Option<PathBuf>,
    /// How far each coordinate reaches from zero, either way, such as 1,2,3
    #[arg(
        long = "box",
        id = "box",
        value_name = "A,B,..",
        allow_negative_numbers = true,
        conflicts_with = "points"
    )]
    reaches: Option<String>,
    /// All vectors of norm Q (1 to inf) up to R, in D coordinates
    #[arg(
        long,
        value_name = "Q,R,D",
        allow_negative_numbers = true,
        conflicts_with_all = ["points", "box"]
    )]
    ball: Option<String>,
    /// Which neighbours: add-remove, one person more or less; or replace, one in place of another
    #[arg(long, default_value = "add-remove")]
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
        let domain = self.domain()?;
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

    fn domain(&self) -> Result<Domain, Refusal> {
        if let Some(path) = &self.points {
            return read(path);
        }
        if let Some(reaches) = &self.reaches {
            let reaches: Result<Vec<f64>, Refusal> =
                reaches.split(',').map(|reach| number("box", reach.trim())).collect();
            return Ok(Domain::reaching(&reaches?)?);
        }
        let given = self.ball.as_deref().unwrap_or_default();
        let [power, radius, dimension] = given.split(',').map(str::trim).collect::<Vec<_>>()[..] else {
            return Err(Refusal::new(
                "ball: found other than three numbers; give norm, radius and dimension, such as 2,1,8",
            ));
        };
        let power = if power == "inf" { f64::INFINITY } else { number("ball", power)? };
        let (radius, dimension) = (number("ball", radius)?, whole("ball", dimension)?);
        Domain::ball(power, radius, usize::try_from(dimension).unwrap_or(usize::MAX))
            .map_err(|refused| Refusal::new(format!("ball: {refused}")))
    }
}

/// A point a line. Empty lines at the end are none.
fn read(path: &Path) -> Result<Domain, Refusal> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Refusal::new(format!("points: {shown}: {error}; give a readable file")))?;
    let mut points: Vec<Vec<f64>> = Vec::new();
    for (line, row) in text.trim_end().lines().enumerate() {
        let at = |column: usize| format!("points: {shown}: line {}, column {}", line + 1, column + 1);
        let mut point = Vec::new();
        for (column, entry) in row.split(',').enumerate() {
            let refused = |found: &str| {
                let remedy = "give a number, and no heading";
                Refusal::new(format!("{}: found {found}; {remedy}", at(column)))
            };
            let entry = entry.trim();
            let value: f64 = entry.parse().map_err(|_| {
                refused(if entry.is_empty() { "nothing" } else { "text that is not understood" })
            })?;
            match value {
                _ if value.is_nan() => return Err(refused("NaN")),
                _ if value.is_infinite() => return Err(refused("an infinite number")),
                _ => point.push(value),
            }
        }
        if let Some(first) = points.first().filter(|first| first.len() != point.len()) {
            return Err(Refusal::new(format!(
                "{}: found a line of {} numbers; give {}, as many as in the first",
                at(first.len().min(point.len())),
                point.len(),
                first.len(),
            )));
        }
        points.push(point);
    }
    if points.is_empty() {
        return Err(Refusal::new(format!("points: {shown}: found an empty file; give a point a line")));
    }
    Ok(Domain::points(&points)?)
}
