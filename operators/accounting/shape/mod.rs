//! The shape of Gaussian noise that fits a domain: as little of it as the set needs in which people's vectors lie.
//!
//! A sum of vectors is private when each can be moved by one person within the noise. Noise that is the same in every
//! direction must cover the farthest vector; noise of the shape of the domain must not, and where the domain is skewed that
//! is the larger part of the error (Nikolov and Tang 2023). With noise of covariance `M / (2 rho)`, a sum is rho-zCDP when
//! the ellipsoid of `M` holds what one person can move it by. Of all such ellipsoids [`Shape`] looks for the one that has the
//! least error in a [`Norm`], and says how far from the least it is at most.
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
//! # Which body
//!
//! Where one person comes or goes ([`Relation::AddRemove`]), a sum moves by a vector of the domain: the ellipsoid holds the
//! domain itself and is centred at zero. No shift is free there, for a shifted sum counts people, and their number is as
//! secret as they are. Where one replaces another, a sum moves by a difference of two, twice a vector of the body
//! `(K - K) / 2`; a shape is that of this body, never more than that of the domain around its best centre, and by up to the
//! root of 2 less.
//!
//! # What is certain
//!
//! [`Shape::gamma`] is what the told covariance has, and the domain lies in its ellipsoid up to the rounding of floats. That
//! no ellipsoid has less than [`Shape::lower`] is shown by a dual solution. A zonotope of many generators is held by a bound
//! that may be pi/2 too large, and its certificate says so. Privacy rests on none of this: noise is integer noise on whitened
//! records, whose lengths are enforced in integers
//! ([`Whitened`](crate::mechanisms::Whitened)).
//!
//! Directions in which the domain does not reach, to one part in 10^10 of each coordinate's unit, get no noise. Where there
//! is no closed form, one whose deviation would be below 3 in 10^7 of the largest gets up to that much: what is measured in
//! very different units is better brought to similar ones first.

mod domain;
mod error;
mod matrix;
mod solver;

#[cfg(test)]
mod tests;

pub use domain::DataDomain;
pub use error::MeanError;
pub use error::Norm;

pub(crate) use matrix::{Matrix, dot};

use super::Relation;
use crate::invalid::{Invalid, InvalidKind};
use domain::Body;
use domain::ShapeVectors;
use domain::VectorSpan;

/// The covariance of noise that fits a domain, and how near to the best it is.
#[derive(Clone, Debug)]
pub struct Shape {
    found: CovarianceFactor,
    relation: Relation,
    norm: Norm,
    /// The square of the length of the longest vector that it holds, rounded up.
    radius: f64,
}

/// A covariance as a factor and the factor's inverse, with bounds of its size: of the norm of the deviations, squared.
#[derive(Clone, Debug)]
struct CovarianceFactor {
    factor: Matrix,
    inverse: Matrix,
    upper: f64,
    lower: f64,
}

/// How near to the best a shape is, where there is no closed form: 1e-4 with its rounding.
const GAP: f64 = 0.99e-4;

/// The most points of which all pairs are looked at: 2^31 pairs, a second or two for each coordinate.
const PAIRED: usize = 1 << 16;

/// A zonotope of so few generators is looked at as the points that are its corners.
const FEW: usize = 10;

impl Shape {
    /// The shape of this domain.
    ///
    /// # Errors
    /// Names `domain` where its coordinates are of sizes so different that floats find no shape, and `points` where one of more
    /// than 65,536 replaces another. A search that ends early has a wide [`Shape::gap`], which is no error.
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
            // It is symmetric: of each corner and its opposite one will do, and differences bring nothing new.
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

    /// The norm of the standard deviations along the coordinates: the root of the trace of the covariance where the norm is
    /// Euclidean.
    pub fn gamma(&self) -> f64 {
        self.found.upper.sqrt()
    }

    /// What the norm is at least for every covariance that fits.
    pub fn lower(&self) -> f64 {
        self.found.lower.sqrt()
    }

    /// How far from the best it is at most: the square of [`Shape::gamma`] over that of [`Shape::lower`], less 1. At most 1e-4
    /// unless a search ended early or the domain is a zonotope of more than ten generators. Squares are what the dual solution
    /// bounds; gamma itself is nearer to its least by half.
    pub fn gap(&self) -> f64 {
        (self.found.upper / self.found.lower - 1.0).max(0.0)
    }

    /// The covariance, row by row.
    pub fn covariance(&self) -> Vec<Vec<f64>> {
        self.found.factor.squared().each_row().map(<[f64]>::to_vec).collect()
    }

    /// A matrix that makes the covariance when it is multiplied by its transpose: a row for each coordinate, a column for
    /// each direction in which the domain reaches.
    pub fn factor(&self) -> Vec<Vec<f64>> {
        self.found.factor.each_row().map(<[f64]>::to_vec).collect()
    }

    /// The inverse of the factor: a row for each direction. What it makes of the body has lengths up to 1.
    pub fn inverse(&self) -> Vec<Vec<f64>> {
        self.found.inverse.each_row().map(<[f64]>::to_vec).collect()
    }

    /// How many coordinates.
    pub fn dimension(&self) -> usize {
        self.found.factor.rows()
    }

    /// In how many directions the domain reaches.
    pub fn rank(&self) -> usize {
        self.found.factor.columns()
    }

    /// For which neighbours.
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// In which norm its error is the least.
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

/// The sums of generators with all signs, the first of which is always 1.
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
