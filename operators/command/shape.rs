//! `discreet calibrate shape`: the error of a mean with noise shaped to its data domain, and its distance
//! from the optimum.

use std::path::{Path, PathBuf};

use clap::Args;
use discreet::accounting::Relation;
use discreet::accounting::shape::{DataDomain, MeanError, Norm, Shape};
use serde_json::json;

use super::Refusal;
use super::values::{
    RelationName, ball, choice, marginals, number, parsed, reaches, refuse_argument, whole, whole_u32,
};

/// A data domain, and a mean over it.
#[derive(Debug, Args)]
pub(crate) struct ShapeArgs {
    #[command(flatten)]
    domain: DomainArgs,
    /// The adjacency
    #[arg(
        long,
        allow_hyphen_values = true,
        default_value = "add-remove",
        value_parser = choice::<RelationName>()
    )]
    relation: RelationName,
    /// The norm of the error to minimize: a number from 2 on, or inf for the largest coordinate
    #[arg(long, allow_negative_numbers = true, default_value = "2", value_parser = parsed::<Norm>())]
    norm: Norm,
    /// The zCDP budget of the mean
    #[arg(long, allow_negative_numbers = true, value_parser = number())]
    rho: f64,
    /// The number of people, which is public
    #[arg(long, allow_negative_numbers = true, value_parser = whole())]
    people: u64,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

impl ShapeArgs {
    /// Returns the answer, ready to print.
    pub(crate) fn run(&self) -> Result<String, Refusal> {
        let ShapeArgs { norm, rho, people, .. } = *self;
        let relation = Relation::from(self.relation);
        let domain = self.domain.read()?;
        let shape = Shape::of(&domain, relation, norm)?;
        let error = MeanError::of(&shape, rho, people)?;
        if self.json {
            let line = json!({
                "gamma": shape.gamma(),
                "gap": shape.gap(),
                "covariance": shape.covariance().rows().into_iter().map(|row| row.to_vec()).collect::<Vec<_>>(),
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
             compare    {isotropic:.6e} with the same noise in every direction: {factor:.4} of it\n\
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
}

// The data domain of `discreet calibrate shape`: numbers on the command line, or a file of them.

/// The arguments of a data domain, of which exactly one is given.
#[derive(Debug, Args)]
#[group(skip)]
#[command(group = clap::ArgGroup::new("domain").required(true)
    .args(["points", "box", "ball", "ellipsoid", "zonotope", "marginals"]))]
struct DomainArgs {
    /// A file of public points, or of the vertices of a polytope: one a line, with coordinates separated by
    /// commas
    #[arg(long, value_name = "FILE.csv", allow_negative_numbers = true)]
    points: Option<PathBuf>,
    /// Replace the points by their tensors of order ORDER (1 to 8), which answer all queries about products
    /// of ORDER coordinates
    // `requires` alone is not enough: clap drops the requirement of an argument that another domain excludes.
    #[arg(
        long,
        value_name = "ORDER",
        allow_negative_numbers = true,
        requires = "points",
        conflicts_with_all = ["box", "ball", "ellipsoid", "zonotope", "marginals"],
        value_parser = whole_u32()
    )]
    moments: Option<u32>,
    /// A box: the largest magnitude of each coordinate, such as 1,2,3
    #[arg(
        long = "box",
        id = "box",
        value_name = "A,B,..",
        allow_negative_numbers = true,
        value_parser = reaches()
    )]
    reaches: Option<DataDomain>,
    /// All vectors of Q-norm (1 to inf) at most R, in D coordinates
    #[arg(long, value_name = "Q,R,D", allow_negative_numbers = true, value_parser = ball())]
    ball: Option<DataDomain>,
    /// A file with a matrix, a row of numbers for each coordinate: the image of the unit ball under the
    /// matrix
    #[arg(long, value_name = "FILE.csv", allow_negative_numbers = true)]
    ellipsoid: Option<PathBuf>,
    /// A file of vectors, one a line: all their sums with weights from -1 to 1
    #[arg(long, value_name = "FILE.csv", allow_negative_numbers = true)]
    zonotope: Option<PathBuf>,
    /// All WAYS-way marginals of BITS bits (1 to 24): a coordinate for each set of WAYS bits, the product of
    /// these bits as -1 and 1
    #[arg(long, value_name = "BITS,WAYS", allow_negative_numbers = true, value_parser = marginals())]
    marginals: Option<DataDomain>,
}

impl DomainArgs {
    fn read(&self) -> Result<DataDomain, Refusal> {
        if let Some(path) = &self.points {
            let points = read("points", path)?;
            return match self.moments {
                None => Ok(DataDomain::points(&points)?),
                Some(order) => DataDomain::moments(&points, order)
                    .map_err(|refused| refuse_argument("moments", &refused)),
            };
        }
        if let Some(path) = &self.ellipsoid {
            return Ok(DataDomain::ellipsoid(&read("ellipsoid", path)?)?);
        }
        if let Some(path) = &self.zonotope {
            return Ok(DataDomain::zonotope(&read("zonotope", path)?)?);
        }
        let parsed = [&self.reaches, &self.ball, &self.marginals].into_iter().flatten().next();
        // Unreachable: clap requires one of the arguments.
        parsed.cloned().ok_or_else(|| Refusal::new("box: found nothing; give it, or another domain"))
    }
}

/// Reads the numbers of a file, a row a line, without empty lines at the end.
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
