//! The covariance of Gaussian noise that fits a data domain: the least noise that the public set of people's
//! vectors needs.
//!
//! A released sum of vectors is private when the noise covers the change by one person. Noise that is the
//! same in every direction must cover the longest vector; noise with the shape of the domain need not, and
//! where the domain is skewed the difference is the larger part of the error (Nikolov and Tang 2023). With
//! noise of covariance `M / (2 rho)`, a sum is rho-zCDP when the ellipsoid of `M` contains every change of
//! the sum by one person. Of all such ellipsoids, [`Shape`] searches for the one of least error in a
//! [`Norm`], and bounds its distance from the optimum.
//!
//! ```
//! use discreet::accounting::Relation;
//! use discreet::accounting::shape::{DataDomain, MeanError, Norm, Shape};
//!
//! let domain = DataDomain::reaching(&[1.0, 2.0, 3.0])?;
//! let shape = Shape::of(&domain, Relation::AddRemove, Norm::EUCLIDEAN)?;
//! assert!((shape.gamma() - 6.0).abs() < 1e-9);
//! let error = MeanError::of(&shape, 0.1, 1_000)?;
//! assert!(error.shaped() >= error.lower_bound() && error.shaped() < error.isotropic());
//! # Ok::<(), discreet::Invalid>(())
//! ```
//!
//! # The body that the ellipsoid contains
//!
//! Under [`Relation::AddRemove`], a sum changes by a vector of the domain: the ellipsoid contains the domain
//! itself and is centred at zero. No shift of the domain is free there, because a shifted sum counts people,
//! and their number is as secret as they are. Under [`Relation::Replace`], a sum changes by the difference of
//! two vectors, twice a vector of the body `(K - K) / 2`; a shape is that of this body, which is never larger
//! than that of the domain around its best centre, and smaller by up to the root of 2.
//!
//! # Guarantees
//!
//! [`Shape::gamma`] is that of the covariance that is returned, and the domain lies in its ellipsoid up to
//! the rounding of floats. A dual solution proves that no ellipsoid has less than [`Shape::lower`]. A
//! zonotope of many generators is contained by a bound that may be pi/2 too large, and its certificate states
//! that. Privacy rests on none of this: the noise is integer noise on whitened records, whose lengths are
//! enforced in integers ([`Whitened`](crate::mechanisms::Whitened)).
//!
//! Directions in which the domain does not extend, to one part in 10^10 of each coordinate's unit, get no
//! noise. Where there is no closed form, a direction whose deviation would be below 3 in 10^7 of the largest
//! gets up to that much: coordinates in very different units are better brought to similar ones first.

mod combinations;
mod domain;
mod error;
mod marginals;
mod matrix;
mod rows;
mod solver;

#[cfg(test)]
mod tests;

pub(crate) use combinations::Combinations;
pub use domain::DataDomain;
pub use error::MeanError;
pub use error::Norm;
pub use marginals::{Attributes, Marginals, MarginalsDesign, ResidualPart};
pub use rows::Rows;

pub(crate) use matrix::{Matrix, dot};

use ndarray::Array2;

use super::Relation;
use crate::invalid::{Invalid, InvalidKind};
use domain::Body;
use domain::ShapeVectors;
use domain::VectorSpan;

/// The covariance of noise that fits a domain, with its distance from the optimum.
#[derive(Clone, Debug)]
pub struct Shape {
    found: CovarianceFactor,
    relation: Relation,
    norm: Norm,
    /// The square of the length of the longest vector of the body; for a zonotope of many generators an upper
    /// bound.
    radius: f64,
}

/// A covariance as a factor and the factor's inverse, with bounds of the squared norm of its deviations.
#[derive(Clone, Debug)]
struct CovarianceFactor {
    factor: Matrix,
    inverse: Matrix,
    upper: f64,
    lower: f64,
}

/// The relative gap to the optimum at which a search ends, where there is no closed form: 1e-4 with its
/// rounding.
const GAP: f64 = 0.99e-4;

/// The largest number of points whose pairs are all compared: 2^31 pairs, a second or two for each
/// coordinate.
const PAIRED: usize = 1 << 16;

/// The largest number of generators of a zonotope that is treated as the list of its corners.
const FEW: usize = 10;

impl Shape {
    /// Returns the shape of this domain.
    ///
    /// # Errors
    /// Names `domain` where its coordinates differ so much in size that floats find no shape, and `points`
    /// where there are more than 65,536 of them under [`Relation::Replace`]. A search that ends early has a
    /// wide [`Shape::gap`], which is no error.
    pub fn of(domain: &DataDomain, relation: Relation, norm: Norm) -> Result<Shape, Invalid> {
        if let (Body::Points(points), Relation::Replace) = (&domain.body, relation)
            && points.rows() > PAIRED
        {
            let remedy = "at most 65,536 where one replaces another: all pairs of them are looked at";
            return Err(Invalid::new("points", InvalidKind::TooLarge, remedy));
        }
        let found = match &domain.body {
            Body::Points(points) => of_points(points, relation, norm, GAP),
            Body::Marginals(points) => solver::marginals(points, relation, norm),
            Body::Box(reaches) => solver::cuboid(reaches, norm),
            Body::Ellipsoid(matrix) => solver::ellipsoid(matrix, norm),
            Body::Ball { power, radius, dimension } => solver::ball(*power, *radius, *dimension, norm),
            // It is symmetric: one of each corner and its opposite is enough, and differences add no vector.
            Body::Zonotope(generators) if generators.rows() <= FEW => {
                of_points(&corners(generators), Relation::AddRemove, norm, GAP)
            }
            Body::Zonotope(generators) => solver::zonotope(generators, norm),
        };
        if !(found.upper.is_finite() && found.lower > 0.0) {
            return Err(Invalid::new(
                "domain",
                InvalidKind::Overflow,
                "coordinates in units that make them similar in size",
            ));
        }
        let radius = error::radius(&domain.body, relation);
        Ok(Shape { found, relation, norm, radius })
    }

    /// The norm of the standard deviations along the coordinates: the root of the trace of the covariance
    /// where the norm is Euclidean.
    pub fn gamma(&self) -> f64 {
        self.found.upper.sqrt()
    }

    /// A lower bound of the norm of every covariance that fits.
    pub fn lower(&self) -> f64 {
        self.found.lower.sqrt()
    }

    /// An upper bound of the distance from the optimum: the square of [`Shape::gamma`] over that of
    /// [`Shape::lower`], less 1. It is at most 1e-4 unless a search ended early or the domain is a zonotope
    /// of more than ten generators. Squares are the quantity that the dual solution bounds; gamma itself is
    /// nearer to its least by half.
    pub fn gap(&self) -> f64 {
        (self.found.upper / self.found.lower - 1.0).max(0.0)
    }

    /// The covariance.
    pub fn covariance(&self) -> Array2<f64> {
        self.found.factor.squared().to_array()
    }

    /// A matrix whose product with its transpose is the covariance: a row for each coordinate, a column for
    /// each direction in which the domain extends.
    pub fn factor(&self) -> Array2<f64> {
        self.found.factor.to_array()
    }

    /// The inverse of the factor: a row for each direction. It maps the body into the unit ball.
    pub fn inverse(&self) -> Array2<f64> {
        self.found.inverse.to_array()
    }

    /// The number of coordinates.
    pub fn dimension(&self) -> usize {
        self.found.factor.rows()
    }

    /// The number of directions in which the domain extends.
    pub fn rank(&self) -> usize {
        self.found.factor.columns()
    }

    /// The adjacency that the shape is private under.
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// The norm in which the error is the least.
    pub fn norm(&self) -> Norm {
        self.norm
    }

    pub(crate) fn matrices(&self) -> (&Matrix, &Matrix) {
        (&self.found.factor, &self.found.inverse)
    }
}

fn of_points(points: &Matrix, relation: Relation, norm: Norm, gap: f64) -> CovarianceFactor {
    let (span, inside) = VectorSpan::of(points, relation);
    solver::solve(&ShapeVectors::new(inside, relation), &span.outward(), &span.inward(), norm, gap)
}

/// Returns the sums of the generators under all signs, of which the first is always 1.
fn corners(generators: &Matrix) -> Matrix {
    let mut corners = Matrix::zeros(0, generators.columns());
    for signs in 0..1usize << (generators.rows() - 1) {
        let mut corner = vec![0.0; generators.columns()];
        for (at, generator) in generators.each_row().enumerate() {
            matrix::add(&mut corner, if signs << 1 >> at & 1 == 1 { -1.0 } else { 1.0 }, generator);
        }
        corners.push(&corner);
    }
    corners
}
