//! The public set that contains every person's vector.

use super::error::Norm;
use super::matrix::{Matrix, add, dot};
use super::rows::{CheckedRows, LARGEST, LEAST, Rows, dimensions, size};
use crate::accounting::Relation;
use crate::invalid::{Invalid, InvalidKind};

/// A bounded set of vectors, known before there is data. It is public: it comes from what the data can be,
/// never from what it was.
#[derive(Clone, Debug)]
pub struct DataDomain {
    pub(super) body: Body,
}

/// The set itself. All variants but the lists of points are symmetric around zero.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// Points, one a row.
    Points(Matrix),
    /// The products of signs, one record of bits a row; the first row is all ones.
    Marginals(Matrix),
    /// The half width of each coordinate's range, which is centred at zero.
    Box(Vec<f64>),
    /// The image of the unit ball under this matrix.
    Ellipsoid(Matrix),
    Ball {
        power: f64,
        radius: f64,
        dimension: usize,
    },
    /// The sums of generators, one a row.
    Zonotope(Matrix),
}

impl DataDomain {
    /// The domain of these points, or of the polytope with these vertices: means of points lie in it, and
    /// both have the same shape.
    ///
    /// # Errors
    /// Names `points`, with row and column (from 1) where one number is at fault: an empty list, rows of
    /// different lengths, a number that is NaN, infinite or not 0 and of a size outside 1e-100..1e100, more
    /// than 256 coordinates or 2^24 numbers, and points that are all the same.
    pub fn points(points: impl Rows) -> Result<DataDomain, Invalid> {
        let CheckedRows(points) = points.checked("points")?;
        let first = points.row(0);
        if points.each_row().all(|row| row == first) {
            let remedy = "at least two that differ: the mean of a single one is known without data";
            return Err(Invalid::new("points", InvalidKind::TooSmall, remedy));
        }
        Ok(DataDomain { body: Body::Points(points) })
    }

    /// The box of all vectors whose coordinates are at most this far from zero, either way. A coordinate that
    /// cannot change has 0.
    ///
    /// # Errors
    /// Names `box`: an empty list, more than 256 coordinates, a number that is negative, NaN, infinite or not
    /// 0 and of a size outside 1e-100..1e100, or zeros alone.
    pub fn reaching(reaches: &[f64]) -> Result<DataDomain, Invalid> {
        let CheckedRows(reaches) = [reaches.to_vec()].checked("box")?;
        if reaches.row(0).iter().any(|&reach| reach < 0.0) {
            return Err(Invalid::new(
                "box",
                InvalidKind::Negative,
                "how far each coordinate reaches from zero",
            ));
        }
        moving("box", &reaches)?;
        Ok(DataDomain { body: Body::Box(reaches.row(0).to_vec()) })
    }

    /// The image of the unit ball under this matrix, which is given by its rows.
    ///
    /// # Errors
    /// Names `ellipsoid`, as [`DataDomain::points`] does; also for more than 256 rows or a matrix of zeros
    /// alone, but not for rows that are all the same.
    pub fn ellipsoid(matrix: impl Rows) -> Result<DataDomain, Invalid> {
        let CheckedRows(matrix) = matrix.checked("ellipsoid")?;
        dimensions("ellipsoid", matrix.rows())?;
        moving("ellipsoid", &matrix)?;
        Ok(DataDomain { body: Body::Ellipsoid(matrix) })
    }

    /// The ball of all vectors of `dimension` coordinates whose norm of this power, from 1 to infinity, is at
    /// most the radius.
    ///
    /// # Errors
    /// Names `power`, `radius` or `dimension` when it is out of range.
    pub fn ball(power: f64, radius: f64, dimension: usize) -> Result<DataDomain, Invalid> {
        let power = Norm::ball("power", power)?;
        let remedy = "a number above 0, from 1e-100 to 1e100";
        let radius = crate::accounting::number::between("radius", radius, LEAST, LARGEST, remedy)?;
        dimensions("dimension", dimension)?;
        Ok(DataDomain { body: Body::Ball { power, radius, dimension } })
    }

    /// All sums of these generators, each with a factor from -1 to 1.
    ///
    /// # Errors
    /// Names `zonotope`, as [`DataDomain::points`] does; also for generators of zeros alone, but not for rows
    /// that are all the same.
    pub fn zonotope(generators: impl Rows) -> Result<DataDomain, Invalid> {
        let CheckedRows(generators) = generators.checked("zonotope")?;
        moving("zonotope", &generators)?;
        Ok(DataDomain { body: Body::Zonotope(generators) })
    }

    /// The domain that answers all queries about `ways` of `bits` bits at once: one coordinate for each set
    /// of `ways` bits, with the product of those bits as -1 and 1.
    ///
    /// # Errors
    /// Names `bits` unless from 1 to 24, `ways` unless from 1 to `bits`, and `points` where the list of all
    /// records is too long.
    pub fn marginals(bits: u32, ways: u32) -> Result<DataDomain, Invalid> {
        whole("bits", bits, 24)?;
        whole("ways", ways, bits)?;
        let sets: Vec<u32> = (0..1u32 << bits).filter(|set| set.count_ones() == ways).collect();
        dimensions("points", sets.len())?;
        size("points", sets.len() << bits)?;
        let sign = |set: u32| if set.count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
        let mut points = Matrix::zeros(1 << bits, sets.len());
        for record in 0..1u32 << bits {
            let row = points.row_mut(record as usize);
            row.iter_mut().zip(&sets).for_each(|(entry, set)| *entry = sign(record & set));
        }
        Ok(DataDomain { body: Body::Marginals(points) })
    }

    /// The tensors of this order of these points: one coordinate for each product of `order` coordinates. A
    /// product that has several copies in the tensor is weighted so that lengths are those of the whole
    /// tensor.
    ///
    /// # Errors
    /// Names `order` unless from 1 to 8, and `points` as [`DataDomain::points`] does.
    pub fn moments(points: impl Rows, order: u32) -> Result<DataDomain, Invalid> {
        whole("order", order, 8)?;
        let CheckedRows(points) = points.checked("points")?;
        let mut products: Vec<Vec<usize>> = vec![Vec::new()];
        for _ in 0..order {
            let longer = products.iter().flat_map(|product| {
                let from = product.last().copied().unwrap_or(0);
                (from..points.columns()).map(|next| [product.as_slice(), &[next]].concat())
            });
            products = longer.collect();
            dimensions("points", products.len())?;
        }
        let tensors: Vec<Vec<f64>> = points
            .each_row()
            .map(|point| {
                let entry = |product: &Vec<usize>| {
                    product.iter().map(|&at| point[at]).product::<f64>() * copies(product)
                };
                products.iter().map(entry).collect()
            })
            .collect();
        DataDomain::points(tensors.as_slice())
    }

    /// The number of coordinates.
    pub fn dimension(&self) -> usize {
        match &self.body {
            Body::Points(points) | Body::Marginals(points) => points.columns(),
            Body::Box(reaches) => reaches.len(),
            Body::Ellipsoid(matrix) => matrix.rows(),
            Body::Ball { dimension, .. } => *dimension,
            Body::Zonotope(generators) => generators.columns(),
        }
    }

    /// True if changes of the coordinates' signs lead from any point to any other, and map the set of points
    /// to itself.
    pub(crate) fn is_alike(&self) -> bool {
        matches!(self.body, Body::Marginals(_))
    }

    /// The points, of a domain that is a list of them.
    pub(crate) fn listed(&self) -> Option<&Matrix> {
        match &self.body {
            Body::Points(points) | Body::Marginals(points) => Some(points),
            _ => None,
        }
    }

    /// Returns the largest change of a sum by one person in this direction: the largest size of a record
    /// there under [`Relation::AddRemove`], and the largest distance of two records there under
    /// [`Relation::Replace`].
    ///
    /// # Errors
    /// Names `direction` if its length is not the number of coordinates, or a number in it is not finite or
    /// not 0 and of a size outside 1e-100..1e100.
    pub fn moves(&self, relation: Relation, direction: &[f64]) -> Result<f64, Invalid> {
        if direction.len() != self.dimension() {
            return Err(Invalid::new(
                "direction",
                InvalidKind::Malformed,
                "as many numbers as there are coordinates",
            ));
        }
        let CheckedRows(direction) = [direction.to_vec()].checked("direction")?;
        let direction = direction.row(0);
        let along = |rows: &Matrix| rows.each_row().map(|row| dot(row, direction)).collect::<Vec<f64>>();
        let reach = match &self.body {
            Body::Points(points) | Body::Marginals(points) => {
                let found = along(points);
                let most = found.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let least = found.iter().copied().fold(f64::INFINITY, f64::min);
                return Ok(match relation {
                    Relation::AddRemove => most.max(-least),
                    Relation::Replace => most - least,
                });
            }
            Body::Box(reaches) => {
                reaches.iter().zip(direction).map(|(reach, along)| reach * along.abs()).sum()
            }
            Body::Ellipsoid(matrix) => {
                along(&matrix.transposed()).iter().map(|value| value * value).sum::<f64>().sqrt()
            }
            Body::Zonotope(generators) => along(generators).iter().map(|value| value.abs()).sum(),
            Body::Ball { power, radius, .. } => radius * dual_norm(*power, direction),
        };
        Ok(match relation {
            Relation::AddRemove => reach,
            Relation::Replace => 2.0 * reach,
        })
    }
}

/// The largest inner product of a vector of norm 1 with a direction.
fn dual_norm(power: f64, direction: &[f64]) -> f64 {
    let most = direction.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    if power == 1.0 || most <= 0.0 {
        return most;
    }
    let dual = if power.is_infinite() { 1.0 } else { power / (power - 1.0) };
    let sum: f64 = direction.iter().map(|value| libm::pow(value.abs() / most, dual)).sum();
    most * libm::pow(sum, 1.0 / dual)
}

/// The root of the number of entries of a whole tensor that are this product.
fn copies(product: &[usize]) -> f64 {
    let factorial = |many: usize| (1..=many).map(|factor| factor as f64).product::<f64>();
    let repeated =
        product.chunk_by(|left, right| left == right).map(|run| factorial(run.len())).product::<f64>();
    (factorial(product.len()) / repeated).sqrt()
}

/// Checks rows: they have one length, and their numbers are finite and of a size that can be squared.
fn moving(field: &'static str, rows: &Matrix) -> Result<(), Invalid> {
    if rows.each_row().flatten().all(|&number| number == 0.0) {
        return Err(Invalid::new(field, InvalidKind::Zero, "at least one number that is not zero"));
    }
    Ok(())
}

fn whole(field: &'static str, value: u32, most: u32) -> Result<(), Invalid> {
    let kind = match value {
        0 => InvalidKind::Zero,
        _ if value > most => InvalidKind::TooLarge,
        _ => return Ok(()),
    };
    Err(Invalid::new(field, kind, format!("a whole number from 1 to {most}")))
}

/// Lets a domain that may be refused stand where one is taken; the refusal is then reported there.
impl TryFrom<Result<DataDomain, Invalid>> for DataDomain {
    type Error = Invalid;

    fn try_from(domain: Result<DataDomain, Invalid>) -> Result<DataDomain, Invalid> {
        domain
    }
}

// Finite sets, as the search for a shape needs them: their farthest vectors under a metric.

/// The vectors that a shape must contain: points, or half the differences of all pairs of points, which are
/// never listed.
pub(super) struct ShapeVectors {
    points: Matrix,
    relation: Relation,
}

/// The name of one vector: a point (twice), or the two points of a pair.
pub(super) type VectorId = (usize, usize);

/// The result of a search among all vectors.
pub(super) struct Farthest {
    /// The largest squared length of any vector, as an upper bound.
    pub(super) most: f64,
    /// The farthest vectors beyond 1, at most as many as were asked for, in descending order.
    pub(super) beyond: Vec<VectorId>,
}

impl ShapeVectors {
    pub(super) fn new(points: Matrix, relation: Relation) -> ShapeVectors {
        ShapeVectors { points, relation }
    }

    pub(super) fn dimension(&self) -> usize {
        self.points.columns()
    }

    /// The largest number of multiplications in one pass over all vectors.
    pub(super) fn work(&self) -> f64 {
        let (many, size) = (self.points.rows() as f64, self.points.columns() as f64);
        match self.relation {
            Relation::AddRemove => many * size * size,
            Relation::Replace => many * size * (many / 2.0 + size),
        }
    }

    /// A list of vectors that spans all of them: every point, or every point's difference from the first.
    pub(super) fn first(&self) -> Vec<VectorId> {
        let points = 0..self.points.rows();
        match self.relation {
            Relation::AddRemove => points.map(|at| (at, at)).collect(),
            Relation::Replace => points.skip(1).map(|at| (at, 0)).collect(),
        }
    }

    /// Returns the vector of this name.
    pub(super) fn vector(&self, (left, right): VectorId) -> Vec<f64> {
        let left = self.points.row(left);
        match self.relation {
            Relation::AddRemove => left.to_vec(),
            Relation::Replace => {
                left.iter().zip(self.points.row(right)).map(|(a, b)| (a - b) / 2.0).collect()
            }
        }
    }

    /// Finds the farthest vectors of all under `metric`, which maps a vector to one whose length is its
    /// distance.
    pub(super) fn farthest(&self, metric: &Matrix, few: usize) -> Farthest {
        let (most, mut beyond) = match self.relation {
            Relation::AddRemove => self.points_beyond(metric),
            Relation::Replace => self.pairs_beyond(metric),
        };
        beyond.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        beyond.truncate(few);
        Farthest { most, beyond: beyond.into_iter().map(|(_, name)| name).collect() }
    }

    fn points_beyond(&self, metric: &Matrix) -> (f64, Vec<(f64, VectorId)>) {
        let distances: Vec<f64> = self.points.each_row().map(|row| distance(metric, row)).collect();
        let most = distances.iter().copied().fold(0.0, f64::max);
        let beyond = distances.into_iter().enumerate().filter(|(_, distance)| *distance > 1.0);
        (most, beyond.map(|(at, distance)| (distance, (at, at))).collect())
    }

    /// Finds, for each point, the one farthest from it. Points are taken in the order of their distance from
    /// the middle, so that most pairs are known to be near without being compared: half a difference is at
    /// most the mean of the two distances.
    fn pairs_beyond(&self, metric: &Matrix) -> (f64, Vec<(f64, VectorId)>) {
        let (many, size) = (self.points.rows(), metric.rows());
        let turned = metric.transposed();
        let mut seen = self.points.times(&turned);
        let mut middle = vec![0.0; size];
        for row in seen.each_row() {
            middle.iter_mut().zip(row).for_each(|(sum, entry)| *sum += entry / many as f64);
        }
        for at in 0..many {
            seen.row_mut(at).iter_mut().zip(&middle).for_each(|(entry, middle)| *entry -= middle);
        }
        let lengths: Vec<f64> = seen.row_squares().into_iter().map(f64::sqrt).collect();
        let mut order: Vec<usize> = (0..many).collect();
        order.sort_by(|&left, &right| lengths[right].total_cmp(&lengths[left]).then(left.cmp(&right)));
        let mut sorted = Matrix::zeros(0, size);
        order.iter().for_each(|&at| sorted.push(seen.row(at)));
        let squares = sorted.row_squares();
        let mut beyond = Vec::new();
        for (left, &name) in order.iter().enumerate() {
            let (own, length) = (sorted.row(left), lengths[name]);
            let mut best = (1.0, left);
            for right in left + 1..many {
                if length + lengths[order[right]] < 2.0 * best.0 {
                    break;
                }
                let apart = squares[left] + squares[right] - 2.0 * dot(own, sorted.row(right));
                let apart = apart.max(0.0).sqrt() / 2.0;
                if apart > best.0 {
                    best = (apart, right);
                }
            }
            if best.1 != left {
                beyond.push((best.0 * best.0, (name, order[best.1])));
            }
        }
        // Pairs that were passed over are at most 1.
        let most = beyond.iter().map(|found| found.0).fold(1.0, f64::max);
        (most, beyond)
    }
}

/// The squared length of a vector under the metric.
pub(super) fn distance(metric: &Matrix, vector: &[f64]) -> f64 {
    metric.each_row().map(|row| dot(row, vector)).map(|entry| entry * entry).sum()
}

// The directions in which points differ.

/// Coordinates of the span of a set: each original coordinate is divided by its unit, then taken along rows
/// of length 1.
pub(super) struct VectorSpan {
    /// The unit of each coordinate: the largest magnitude that occurs in it, 0 where all are 0.
    units: Vec<f64>,
    /// The directions of the span, one a row.
    directions: Matrix,
}

/// The part of a vector outside of the span that counts as rounding, in the units of each coordinate.
const ROUNDING: f64 = 1e-10;

impl VectorSpan {
    /// Returns the span of points, or of their differences, and the points in its coordinates.
    pub(super) fn of(points: &Matrix, relation: Relation) -> (VectorSpan, Matrix) {
        let mut rest = points.clone();
        if relation == Relation::Replace {
            let first = points.row(0).to_vec();
            (0..rest.rows()).for_each(|at| add(rest.row_mut(at), -1.0, &first));
        }
        let dimension = rest.columns();
        let mut units = vec![0.0f64; dimension];
        for row in rest.each_row() {
            units.iter_mut().zip(row).for_each(|(unit, entry)| *unit = unit.max(entry.abs()));
        }
        for at in 0..rest.rows() {
            let row = rest.row_mut(at).iter_mut().zip(&units);
            row.for_each(|(entry, &unit)| {
                if unit > 0.0 {
                    *entry /= unit
                }
            });
        }
        let unit = rest.clone();
        let mut directions = Matrix::zeros(0, dimension);
        // The longest remainder gives the next direction, until only rounding is left.
        while directions.rows() < dimension {
            let squares = rest.row_squares();
            let longest =
                (0..squares.len()).fold(0, |best, at| if squares[at] > squares[best] { at } else { best });
            if squares[longest].sqrt() <= ROUNDING {
                break;
            }
            let mut direction = rest.row(longest).to_vec();
            for before in directions.each_row() {
                let along = dot(before, &direction);
                add(&mut direction, -along, before);
            }
            let length = dot(&direction, &direction).sqrt();
            direction.iter_mut().for_each(|entry| *entry /= length);
            for at in 0..rest.rows() {
                let along = dot(rest.row(at), &direction);
                add(rest.row_mut(at), -along, &direction);
            }
            directions.push(&direction);
        }
        if directions.rows() == dimension {
            directions = Matrix::diagonal(&vec![1.0; dimension]);
        }
        let inside = unit.times(&directions.transposed());
        (VectorSpan { units, directions }, inside)
    }

    /// The map from coordinates of the span to the original ones.
    pub(super) fn outward(&self) -> Matrix {
        self.directions.transposed().rows_scaled(&self.units)
    }

    /// The map from the original coordinates to those of the span.
    pub(super) fn inward(&self) -> Matrix {
        let inverses: Vec<f64> =
            self.units.iter().map(|&unit| if unit > 0.0 { 1.0 / unit } else { 0.0 }).collect();
        self.directions.transposed().rows_scaled(&inverses).transposed()
    }
}
