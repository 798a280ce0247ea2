//! `discreet calibrate shape`: noise of the shape of a domain, what a mean errs by with it, and how far from the best it is.

use std::path::{Path, PathBuf};

use clap::Args;
use discreet::Invalid;
use discreet::accounting::Relation;
use discreet::accounting::shape::{DataDomain, MeanError, Norm, Shape};
use serde_json::json;

use super::{Refusal, number, whole};

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

// The domain that is given to `discreet calibrate shape`: some numbers, or a file of them.

/// Exactly one domain.
#[derive(Debug, Args)]
#[group(skip)]
#[command(group = clap::ArgGroup::new("domain").required(true)
    .args(["points", "box", "ball", "ellipsoid", "zonotope", "marginals"]))]
pub(super) struct Given {
    /// A file of public points, or of the vertices of a polytope: one a line, its coordinates divided by commas
    #[arg(long, value_name = "FILE.csv", allow_negative_numbers = true)]
    points: Option<PathBuf>,
    /// The tensors of this order of the points: what answers all questions about so many coordinates at once
    // Points alone do not say it: what another domain excludes, clap requires no longer.
    #[arg(
        long,
        value_name = "ORDER",
        allow_negative_numbers = true,
        requires = "points",
        conflicts_with_all = ["box", "ball", "ellipsoid", "zonotope", "marginals"]
    )]
    moments: Option<String>,
    /// How far each coordinate reaches from zero, either way, such as 1,2,3
    #[arg(long = "box", id = "box", value_name = "A,B,..", allow_negative_numbers = true)]
    reaches: Option<String>,
    /// All vectors of norm Q (1 to inf) up to R, in D coordinates
    #[arg(long, value_name = "Q,R,D", allow_negative_numbers = true)]
    ball: Option<String>,
    /// A file of a matrix, a line for each coordinate: what it makes of the ball of radius 1
    #[arg(long, value_name = "FILE.csv", allow_negative_numbers = true)]
    ellipsoid: Option<PathBuf>,
    /// A file of vectors, one a line: all sums of them, each taken from -1 to 1 times
    #[arg(long, value_name = "FILE.csv", allow_negative_numbers = true)]
    zonotope: Option<PathBuf>,
    /// All questions about WAYS of BITS bits at once: a coordinate for each such set, the product of its bits as -1 and 1
    #[arg(long, value_name = "BITS,WAYS", allow_negative_numbers = true)]
    marginals: Option<String>,
}

impl Given {
    pub(super) fn domain(&self) -> Result<DataDomain, Refusal> {
        if let Some(path) = &self.points {
            let points = read("points", path)?;
            return match &self.moments {
                None => Ok(DataDomain::points(&points)?),
                Some(order) => DataDomain::moments(&points, small("moments", order)?)
                    .map_err(|refused| of("moments", &refused)),
            };
        }
        if let Some(reaches) = &self.reaches {
            let reaches: Result<Vec<f64>, Refusal> =
                reaches.split(',').map(|reach| number("box", reach.trim())).collect();
            return Ok(DataDomain::reaching(&reaches?)?);
        }
        if let Some(path) = &self.ellipsoid {
            return Ok(DataDomain::ellipsoid(&read("ellipsoid", path)?)?);
        }
        if let Some(path) = &self.zonotope {
            return Ok(DataDomain::zonotope(&read("zonotope", path)?)?);
        }
        if let Some(given) = &self.marginals {
            let [bits, ways] = given.split(',').map(str::trim).collect::<Vec<_>>()[..] else {
                return Err(Refusal::new(
                    "marginals: found other than two numbers; give bits and ways, such as 10,2",
                ));
            };
            let (bits, ways) = (small("marginals", bits)?, small("marginals", ways)?);
            return DataDomain::marginals(bits, ways).map_err(|refused| of("marginals", &refused));
        }
        let given = self.ball.as_deref().unwrap_or_default();
        let [power, radius, dimension] = given.split(',').map(str::trim).collect::<Vec<_>>()[..] else {
            return Err(Refusal::new(
                "ball: found other than three numbers; give norm, radius and dimension, such as 2,1,8",
            ));
        };
        let power = if power == "inf" { f64::INFINITY } else { number("ball", power)? };
        let (radius, dimension) = (number("ball", radius)?, small("ball", dimension)?);
        DataDomain::ball(power, radius, dimension as usize).map_err(|refused| of("ball", &refused))
    }
}

/// What was refused, under the name by which it was given.
fn of(argument: &str, refused: &Invalid) -> Refusal {
    Refusal::new(format!("{argument}: {refused}"))
}

/// A whole number, of which all that are too large are refused alike.
fn small(field: &'static str, text: &str) -> Result<u32, Refusal> {
    Ok(u32::try_from(whole(field, text)?).unwrap_or(u32::MAX))
}

/// A row a line. Empty lines at the end are none.
fn read(field: &'static str, path: &Path) -> Result<Vec<Vec<f64>>, Refusal> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| Refusal::unreadable(field, path, &error))?;
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for (line, text) in text.trim_end().lines().enumerate() {
        let at = |column: usize| format!("{field}: {shown}: line {}, column {}", line + 1, column + 1);
        let mut row = Vec::new();
        for (column, entry) in text.split(',').enumerate() {
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
                _ => row.push(value),
            }
        }
        if let Some(first) = rows.first().filter(|first| first.len() != row.len()) {
            return Err(Refusal::new(format!(
                "{}: found a line of {} numbers; give {}, as many as in the first",
                at(first.len().min(row.len())),
                row.len(),
                first.len(),
            )));
        }
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(Refusal::new(format!(
            "{field}: {shown}: found an empty file; give a row of numbers a line"
        )));
    }
    Ok(rows)
}
