//! Rows of numbers from outside: lists or arrays, checked number by number.

use ndarray::{ArrayBase, Ix2};

use super::matrix::Matrix;
use crate::invalid::{Invalid, InvalidKind};

/// The largest number of entries in a list of points or generators: 128 MiB of them.
const MOST: usize = 1 << 24;

/// The largest number of coordinates. Each round of the search for a shape takes their cube.
const DIMENSIONS: usize = 256;

/// The smallest and the largest size of a number that is not 0: between them squares neither overflow nor
/// vanish.
pub(super) const LEAST: f64 = 1e-100;
pub(super) const LARGEST: f64 = 1e100;

/// Rows of numbers, all of one length: lists, or an array of `ndarray`. Implemented here for those.
pub trait Rows {
    /// Checks each number; a refusal names the field, row and column.
    #[doc(hidden)]
    fn checked(&self, field: &'static str) -> Result<CheckedRows, Invalid>;
}

/// A matrix of numbers in range.
#[doc(hidden)]
#[derive(Debug)]
pub struct CheckedRows(pub(super) Matrix);

impl Rows for [Vec<f64>] {
    fn checked(&self, field: &'static str) -> Result<CheckedRows, Invalid> {
        let columns = self.first().map_or(0, Vec::len);
        if let Some(at) = self.iter().position(|row| row.len() != columns) {
            let remedy = format!("as many numbers in row {} as in the first, {columns}", at + 1);
            return Err(Invalid::new(field, InvalidKind::Malformed, remedy));
        }
        table(field, (self.len(), columns), self.iter().flatten().copied())
    }
}

impl<const N: usize> Rows for [Vec<f64>; N] {
    fn checked(&self, field: &'static str) -> Result<CheckedRows, Invalid> {
        self.as_slice().checked(field)
    }
}

impl Rows for Vec<Vec<f64>> {
    fn checked(&self, field: &'static str) -> Result<CheckedRows, Invalid> {
        self.as_slice().checked(field)
    }
}

impl<S: ndarray::Data<Elem = f64>> Rows for ArrayBase<S, Ix2> {
    fn checked(&self, field: &'static str) -> Result<CheckedRows, Invalid> {
        table(field, self.dim(), self.iter().copied())
    }
}

impl<R: Rows + ?Sized> Rows for &R {
    fn checked(&self, field: &'static str) -> Result<CheckedRows, Invalid> {
        (**self).checked(field)
    }
}

/// Makes a matrix of numbers that are given row by row.
fn table(
    field: &'static str,
    (rows, columns): (usize, usize),
    numbers: impl Iterator<Item = f64>,
) -> Result<CheckedRows, Invalid> {
    if rows == 0 || columns == 0 {
        return Err(Invalid::new(field, InvalidKind::Empty, "at least one row of at least one number"));
    }
    dimensions(field, columns)?;
    size(field, rows.saturating_mul(columns))?;
    let mut matrix = Matrix::zeros(rows, columns);
    for (at, number) in numbers.enumerate() {
        let (row, column) = (at / columns, at % columns);
        let kind = match number.abs() {
            size if size.is_nan() => InvalidKind::Nan,
            f64::INFINITY => InvalidKind::Infinite,
            size if size > LARGEST => InvalidKind::TooLarge,
            size if size > 0.0 && size < LEAST => InvalidKind::TooSmall,
            _ => {
                matrix[(row, column)] = number;
                continue;
            }
        };
        let remedy = format!("0, or a size from 1e-100 to 1e100, in row {}, column {}", row + 1, column + 1);
        return Err(Invalid::new(field, kind, remedy));
    }
    Ok(CheckedRows(matrix))
}

pub(super) fn dimensions(field: &'static str, many: usize) -> Result<(), Invalid> {
    let kind = match many {
        0 => InvalidKind::Zero,
        _ if many > DIMENSIONS => InvalidKind::TooLarge,
        _ => return Ok(()),
    };
    Err(Invalid::new(field, kind, "from 1 to 256 coordinates"))
}

pub(super) fn size(field: &'static str, many: usize) -> Result<(), Invalid> {
    if many > MOST {
        return Err(Invalid::new(field, InvalidKind::TooLarge, "a list of at most 2^24 numbers"));
    }
    Ok(())
}
