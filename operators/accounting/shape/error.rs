//! What a mean errs by, and what every unbiased mean errs by.

use super::Shape;
use super::bodies::ShapeVectors;
use super::domain::{Body, DataDomain};
use super::matrix::{Eigen, Matrix};
use crate::accounting::shape::corners;
use crate::accounting::{Relation, number, unbiased::chi_of_rho};
use crate::invalid::{Invalid, InvalidKind};

/// The error of a mean over a public number of people: the norm of the standard deviations of its coordinates, and for the
/// Euclidean norm that is the root of the mean square of the error.
///
/// The lower bound is that of Hammersley, Chapman and Robbins for rho-zCDP: of every *unbiased* mean with noise of a
/// covariance that does not depend on the data, and of every unbiased mean at all against the worst two neighbours in each
/// direction. A biased mean may err by less: one that is clipped, shrunk, or moved to the nearest point of the domain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanError {
    rho: f64,
    people: u64,
    relation: Relation,
    shaped: f64,
    lower: f64,
    isotropic: f64,
}

impl MeanError {
    /// The errors of a rho-zCDP mean of so many people.
    ///
    /// # Errors
    /// Names `rho` unless above 0 and at most 500 and `people` if it is 0.
    pub fn of(shape: &Shape, rho: f64, people: u64) -> Result<MeanError, Invalid> {
        let rho = number::rho("rho", rho)?;
        if people == 0 {
            return Err(Invalid::new(
                "people",
                InvalidKind::Zero,
                "how many people the mean is of, at least 1",
            ));
        }
        // A sum moves by the body where one comes or goes, by twice half the differences where one replaces another.
        let each = moved(shape.relation) / people as f64;
        let deviation = each / (2.0 * rho).sqrt();
        Ok(MeanError {
            rho,
            people,
            relation: shape.relation,
            shaped: shape.gamma() * deviation,
            lower: shape.lower() * each / chi_of_rho(rho),
            isotropic: shape.radius.sqrt() * shape.norm.of_ones(shape.dimension()) * deviation,
        })
    }

    /// With noise of the shape.
    pub fn shaped(&self) -> f64 {
        self.shaped
    }

    /// No unbiased mean errs by less.
    pub fn lower_bound(&self) -> f64 {
        self.lower
    }

    /// With noise that is the same in every direction, the least that fits; of a zonotope of more than ten generators, what is
    /// known to fit.
    pub fn isotropic(&self) -> f64 {
        self.isotropic
    }

    /// What the shape saves: below 1 where it does.
    pub fn factor(&self) -> f64 {
        self.shaped / self.isotropic
    }

    /// The least standard deviation of an unbiased mean in this direction (a sum of coordinates, each taken so many times).
    ///
    /// # Errors
    /// Names `direction` as [`DataDomain::moves`] does.
    pub fn lower_bound_along(&self, domain: &DataDomain, direction: &[f64]) -> Result<f64, Invalid> {
        Ok(domain.moves(self.relation, direction)? / (self.people as f64 * chi_of_rho(self.rho)))
    }
}

fn moved(relation: Relation) -> f64 {
    match relation {
        Relation::AddRemove => 1.0,
        Relation::Replace => 2.0,
    }
}

/// The square of the length of the longest vector of the body; of a zonotope of many generators an upper bound.
pub(super) fn radius(body: &Body, relation: Relation) -> f64 {
    let longest = |squared: Matrix| Eigen::of(&squared).values.into_iter().fold(0.0, f64::max);
    match body {
        Body::Points(points) => longest_of(points, relation),
        Body::Marginals(points) => super::closed::marginals_radius(points, relation),
        Body::Box(reaches) => reaches.iter().map(|reach| reach * reach).sum(),
        Body::Ellipsoid(matrix) => longest(matrix.squared()),
        Body::Ball { power, radius, dimension } => {
            let corner = libm::pow(*dimension as f64, (1.0 - 2.0 / power).max(0.0));
            radius * radius * corner
        }
        Body::Zonotope(generators) if generators.rows() <= super::FEW => {
            longest_of(&corners(generators), Relation::AddRemove)
        }
        Body::Zonotope(generators) => {
            let lengths: Vec<f64> = generators.row_squares().into_iter().map(f64::sqrt).collect();
            let total: f64 = lengths.iter().sum();
            let scale = |&length: &f64| if length > 0.0 { (total / length).sqrt() } else { 0.0 };
            let scales: Vec<f64> = lengths.iter().map(scale).collect();
            longest(generators.clone().rows_scaled(&scales).transposed().squared())
        }
    }
}

/// Found in the metric in which a vector that is shown to be far out has length 1.
fn longest_of(points: &Matrix, relation: Relation) -> f64 {
    let some = ShapeVectors::new(points.clone(), relation);
    let lengths =
        some.first().into_iter().map(|name| some.vector(name).iter().map(|entry| entry * entry).sum());
    let far: f64 = lengths.fold(0.0, f64::max);
    let metric = Matrix::diagonal(&vec![1.0 / far.sqrt(); points.columns()]);
    some.farthest(&metric, 0).most * far
}
