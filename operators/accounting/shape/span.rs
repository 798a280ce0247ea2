//! The directions in which points differ.

use super::matrix::{Matrix, add, dot};
use crate::accounting::Relation;

/// Coordinates for the span of a set: each original coordinate is divided by its unit, then taken along rows of length 1.
pub(super) struct VectorSpan {
    /// The unit of each coordinate: the largest number that occurs in it, 0 where there is none.
    units: Vec<f64>,
    /// A direction a row.
    directions: Matrix,
}

/// What of a vector lies outside of the span, in the units of each coordinate, is rounding.
const ROUNDING: f64 = 1e-10;

impl VectorSpan {
    /// The span of points, or of their differences; and the points in its coordinates.
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
        // The longest rest gives the next direction, until what is left is rounding.
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

    /// From coordinates of the span to the original ones.
    pub(super) fn outward(&self) -> Matrix {
        self.directions.transposed().rows_scaled(&self.units)
    }

    /// And back.
    pub(super) fn inward(&self) -> Matrix {
        let inverses: Vec<f64> =
            self.units.iter().map(|&unit| if unit > 0.0 { 1.0 / unit } else { 0.0 }).collect();
        self.directions.transposed().rows_scaled(&inverses).transposed()
    }
}
