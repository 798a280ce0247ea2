//! The error of a mean, and a lower bound for every unbiased mean.

use std::fmt;
use std::str::FromStr;

use super::Shape;
use super::domain::{Body, DataDomain, ShapeVectors};
use super::matrix::{Eigen, Matrix};
use crate::accounting::gaussian::chi_of_rho;
use crate::accounting::shape::corners;
use crate::accounting::{Relation, number};
use crate::invalid::{Invalid, InvalidKind};

/// The error of a mean over a public number of people: the norm of the standard deviations of its
/// coordinates. For the Euclidean norm that is the root of the mean square of the error.
///
/// The lower bound is that of Hammersley, Chapman and Robbins for rho-zCDP: it holds for every *unbiased*
/// mean with noise of a covariance that does not depend on the data, and for every unbiased mean at all
/// against the worst two neighbouring datasets in each direction. A biased mean may have a smaller error: one
/// that is clipped, shrunk, or moved to the nearest point of the domain.
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
    /// The errors of a rho-zCDP mean over `people` people.
    ///
    /// # Errors
    /// Names `rho` unless above 0 and at most 500, and `people` if it is 0.
    pub fn of(shape: &Shape, rho: f64, people: u64) -> Result<MeanError, Invalid> {
        let rho = number::rho("rho", rho)?;
        if people == 0 {
            return Err(Invalid::new(
                "people",
                InvalidKind::Zero,
                "how many people the mean is of, at least 1",
            ));
        }
        // A sum changes by a vector of the body under add/remove, by twice half a difference under replace.
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

    /// The error with noise of the shape.
    pub fn shaped(&self) -> f64 {
        self.shaped
    }

    /// The least error of any unbiased mean.
    pub fn lower_bound(&self) -> f64 {
        self.lower
    }

    /// The error with the least noise that fits and is the same in every direction; for a zonotope of more
    /// than ten generators, with noise that is known to fit.
    pub fn isotropic(&self) -> f64 {
        self.isotropic
    }

    /// The error of the shape over that of isotropic noise: below 1 where the shape gains.
    pub fn factor(&self) -> f64 {
        self.shaped / self.isotropic
    }

    /// The least standard deviation of an unbiased mean in this direction, which is a weighted sum of
    /// coordinates.
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

/// The square of the length of the longest vector of the body; for a zonotope of many generators an upper
/// bound.
pub(super) fn radius(body: &Body, relation: Relation) -> f64 {
    let longest = |squared: Matrix| Eigen::of(&squared).values.into_iter().fold(0.0, f64::max);
    match body {
        Body::Points(points) => longest_of(points, relation),
        Body::Marginals(points) => super::solver::marginals_radius(points, relation),
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

/// Searches in the metric under which a vector that is known to be long has length 1.
fn longest_of(points: &Matrix, relation: Relation) -> f64 {
    let some = ShapeVectors::new(points.clone(), relation);
    let lengths =
        some.first().into_iter().map(|name| some.vector(name).iter().map(|entry| entry * entry).sum());
    let far: f64 = lengths.fold(0.0, f64::max);
    let metric = Matrix::diagonal(&vec![1.0 / far.sqrt(); points.columns()]);
    some.farthest(&metric, 0).most * far
}

// The norm in which an error is measured.

/// The norm of a vector of errors: the p-th root of the sum of p-th powers, for p of at least 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norm {
    power: f64,
}

impl Norm {
    /// The root of the sum of squares.
    pub const EUCLIDEAN: Norm = Norm { power: 2.0 };
    /// The largest of all coordinates.
    pub const LARGEST: Norm = Norm { power: f64::INFINITY };

    /// The norm of this power; infinity is [`Norm::LARGEST`].
    ///
    /// # Errors
    /// Names `norm` if the power is below 2, where no shape is known to be optimal, or above 1e6 and finite.
    pub fn power(power: f64) -> Result<Norm, Invalid> {
        if power == f64::INFINITY {
            return Ok(Norm::LARGEST);
        }
        // A power beyond 1e6 differs from the largest by less than one part in ten thousand for 10^6
        // coordinates.
        let remedy = "a number from 2 to 1e6, or inf for the largest coordinate";
        Ok(Norm { power: number::between("norm", power, 2.0, 1e6, remedy)? })
    }

    /// The squared norm of deviations, from their squares.
    pub(crate) fn of_variances(self, variances: &[f64]) -> f64 {
        let most = variances.iter().copied().fold(0.0, f64::max);
        if self.power == f64::INFINITY || most <= 0.0 {
            return most;
        }
        let half = self.power / 2.0;
        let sum: f64 = variances.iter().map(|&variance| libm::pow(variance.max(0.0) / most, half)).sum();
        most * libm::pow(sum, 1.0 / half)
    }

    /// The norm of a vector of `many` ones.
    pub(crate) fn of_ones(self, many: usize) -> f64 {
        self.of_variances(&vec![1.0; many]).sqrt()
    }

    /// Returns weights under which the weighted sum of variances is their norm: `w` proportional to
    /// `V^(p/2 - 1)`, with `sum w^(p / (p - 2)) = 1`. The argument is the products of the old weights and the
    /// variances, of which the fixed point is that same weight.
    pub(crate) fn weights(self, products: &[f64]) -> Vec<f64> {
        let most = products.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let power = 1.0 - 2.0 / self.power;
        // A smaller weight would make the matrix between weighted and plain coordinates singular.
        let raised: Vec<f64> =
            products.iter().map(|&product| libm::pow(product / most, power).max(1e-9)).collect();
        let length = self.dual(&raised);
        raised.into_iter().map(|weight| weight / length).collect()
    }

    /// The norm of weights, dual to that of variances.
    fn dual(self, weights: &[f64]) -> f64 {
        let power = 1.0 - 2.0 / self.power;
        let most = weights.iter().copied().fold(0.0, f64::max);
        if power < 1e-9 {
            return most;
        }
        let sum: f64 = weights.iter().map(|&weight| libm::pow(weight / most, 1.0 / power)).sum();
        // Rounded up, so that weights divided by it have a norm of at most 1.
        most * libm::pow(sum, power) * (1.0 + 1e-14)
    }

    /// The power; infinity for the largest coordinate.
    pub fn exponent(self) -> f64 {
        self.power
    }

    pub(crate) fn is_euclidean(self) -> bool {
        self.power == 2.0
    }

    /// Checks the power of the norm whose ball is a domain, which may be any from 1 to 1e6, or infinity.
    pub(crate) fn ball(field: &'static str, power: f64) -> Result<f64, Invalid> {
        if power == f64::INFINITY {
            return Ok(power);
        }
        number::between(field, power, 1.0, 1e6, "a power from 1 to 1e6, or inf")
    }
}

impl FromStr for Norm {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Norm, Invalid> {
        match text {
            "inf" | "infinity" => Ok(Norm::LARGEST),
            _ => Norm::power(crate::Decimal::parse("norm", text)?.to_f64()),
        }
    }
}

impl fmt::Display for Norm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.power.is_infinite() { f.write_str("l_inf") } else { write!(f, "l_{}", self.power) }
    }
}
