//! Small dense matrices, and the eigenvectors of symmetric ones.
//!
//! They are written here rather than taken from a crate for one reason: with additions, multiplications,
//! divisions and square roots in one fixed order, every machine computes the same digits. The crates choose
//! their kernels by the processor, and two processes that whiten a record must agree to the last integer.

use std::ops::{Index, IndexMut};

use ndarray::Array2;

/// Rows of numbers, all of one length.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    pub(crate) fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix { rows, columns, values: vec![0.0; rows * columns] }
    }

    pub(crate) fn diagonal(entries: &[f64]) -> Matrix {
        let mut matrix = Matrix::zeros(entries.len(), entries.len());
        entries.iter().enumerate().for_each(|(at, &entry)| matrix[(at, at)] = entry);
        matrix
    }

    /// Makes a matrix of rows of one length.
    #[cfg(test)]
    pub(crate) fn of(rows: &[Vec<f64>]) -> Matrix {
        let columns = rows.first().map_or(0, Vec::len);
        Matrix { rows: rows.len(), columns, values: rows.concat() }
    }

    /// Returns the matrix as one of `ndarray`.
    pub(crate) fn to_array(&self) -> Array2<f64> {
        Array2::from_shape_fn((self.rows, self.columns), |at| self[at])
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn row(&self, at: usize) -> &[f64] {
        &self.values[at * self.columns..(at + 1) * self.columns]
    }

    pub(crate) fn row_mut(&mut self, at: usize) -> &mut [f64] {
        &mut self.values[at * self.columns..(at + 1) * self.columns]
    }

    pub(crate) fn each_row(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.rows).map(|at| self.row(at))
    }

    pub(crate) fn transposed(&self) -> Matrix {
        let mut turned = Matrix::zeros(self.columns, self.rows);
        for (at, row) in self.each_row().enumerate() {
            row.iter().enumerate().for_each(|(column, &entry)| turned[(column, at)] = entry);
        }
        turned
    }

    pub(crate) fn times(&self, other: &Matrix) -> Matrix {
        let mut product = Matrix::zeros(self.rows, other.columns);
        for at in 0..self.rows {
            for (middle, &entry) in self.row(at).iter().enumerate() {
                add(product.row_mut(at), entry, other.row(middle));
            }
        }
        product
    }

    /// The product with its own transpose.
    pub(crate) fn squared(&self) -> Matrix {
        let mut product = Matrix::zeros(self.rows, self.rows);
        for at in 0..self.rows {
            for other in 0..=at {
                let entry = dot(self.row(at), self.row(other));
                product[(at, other)] = entry;
                product[(other, at)] = entry;
            }
        }
        product
    }

    pub(crate) fn scaled(mut self, by: f64) -> Matrix {
        self.values.iter_mut().for_each(|entry| *entry *= by);
        self
    }

    /// Multiplies each row by its own number.
    pub(crate) fn rows_scaled(mut self, by: &[f64]) -> Matrix {
        for (at, &by) in by.iter().enumerate() {
            self.row_mut(at).iter_mut().for_each(|entry| *entry *= by);
        }
        self
    }

    /// Appends a row of the right length.
    pub(crate) fn push(&mut self, row: &[f64]) {
        self.values.extend_from_slice(row);
        self.rows += 1;
    }

    /// Keeps the rows whose entry in `wanted` is true.
    pub(crate) fn keep(&mut self, wanted: &[bool]) {
        let mut kept = Matrix::zeros(0, self.columns);
        self.each_row().zip(wanted).filter(|(_, wanted)| **wanted).for_each(|(row, _)| kept.push(row));
        *self = kept;
    }

    /// The square of the Euclidean length of each row.
    pub(crate) fn row_squares(&self) -> Vec<f64> {
        self.each_row().map(|row| dot(row, row)).collect()
    }
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;

    fn index(&self, (row, column): (usize, usize)) -> &f64 {
        &self.values[row * self.columns + column]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut f64 {
        &mut self.values[row * self.columns + column]
    }
}

/// The inner product, in eight sums side by side: the compiler may not reorder float additions to make them.
pub(crate) fn dot(left: &[f64], right: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (left, right) = (left.chunks_exact(8), right.chunks_exact(8));
    let rest: f64 = left.remainder().iter().zip(right.remainder()).map(|(a, b)| a * b).sum();
    for (left, right) in left.zip(right) {
        for lane in 0..8 {
            sums[lane] += left[lane] * right[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Adds a multiple of one row to another.
pub(crate) fn add(to: &mut [f64], times: f64, row: &[f64]) {
    to.iter_mut().zip(row).for_each(|(entry, &value)| *entry += times * value);
}

/// The eigenvectors of a symmetric matrix (rows, of length 1), with their eigenvalues.
#[derive(Clone, Debug)]
pub(crate) struct Eigen {
    pub(crate) values: Vec<f64>,
    pub(crate) vectors: Matrix,
}

impl Eigen {
    /// Computes them by Jacobi's rotations: small eigenvalues of a graded matrix keep their digits.
    pub(crate) fn of(symmetric: &Matrix) -> Eigen {
        let size = symmetric.rows();
        let mut left = symmetric.clone();
        let mut vectors = Matrix::diagonal(&vec![1.0; size]);
        // Convergence is quadratic: ten sweeps are enough for a hundred dimensions.
        for _ in 0..40 {
            let most = (0..size).map(|at| left[(at, at)].abs()).fold(0.0, f64::max);
            let mut turned = false;
            for p in 0..size {
                for q in p + 1..size {
                    let (between, first, second) = (left[(p, q)], left[(p, p)], left[(q, q)]);
                    let near = between * between <= 1e-30 * (first * second).abs();
                    if near || between.abs() <= 1e-18 * most {
                        continue;
                    }
                    turned = true;
                    let slope = (second - first) / (2.0 * between);
                    let tangent = slope.signum() / (slope.abs() + (slope * slope + 1.0).sqrt());
                    let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
                    let sine = tangent * cosine;
                    rotate(&mut left, p, q, cosine, sine);
                    rotate(&mut vectors, p, q, cosine, sine);
                    for at in 0..size {
                        left[(at, p)] = left[(p, at)];
                        left[(at, q)] = left[(q, at)];
                    }
                    left[(p, p)] = first - tangent * between;
                    left[(q, q)] = second + tangent * between;
                    left[(p, q)] = 0.0;
                    left[(q, p)] = 0.0;
                }
            }
            if !turned {
                break;
            }
        }
        Eigen { values: (0..size).map(|at| left[(at, at)]).collect(), vectors }
    }

    /// The matrix with these eigenvectors and with `map` applied to each eigenvalue.
    pub(crate) fn mapped(&self, map: impl Fn(f64) -> f64) -> Matrix {
        let scales: Vec<f64> = self.values.iter().map(|&value| map(value)).collect();
        self.vectors.transposed().times(&self.vectors.clone().rows_scaled(&scales))
    }
}

fn rotate(matrix: &mut Matrix, p: usize, q: usize, cosine: f64, sine: f64) {
    let columns = matrix.columns;
    let (before, after) = matrix.values.split_at_mut(q * columns);
    let first = &mut before[p * columns..(p + 1) * columns];
    for (left, right) in first.iter_mut().zip(&mut after[..columns]) {
        (*left, *right) = (cosine * *left - sine * *right, sine * *left + cosine * *right);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes a wrong sign of a rotation, a lost vector and a lost small value.
    #[test]
    fn vectors_and_values_make_the_matrix_again() {
        let symmetric = Matrix::of(&[
            vec![4.0, 1.0, -2.0, 0.5],
            vec![1.0, 3.0, 0.25, 1e-6],
            vec![-2.0, 0.25, 5.0, 0.0],
            vec![0.5, 1e-6, 0.0, 1e-1],
        ]);
        let eigen = Eigen::of(&symmetric);
        let (again, lengths) = (eigen.mapped(|value| value), eigen.vectors.squared());
        for row in 0..4 {
            for column in 0..4 {
                assert!((again[(row, column)] - symmetric[(row, column)]).abs() < 1e-14);
                assert!((lengths[(row, column)] - f64::from(u8::from(row == column))).abs() < 1e-14);
            }
        }
    }

    // The least value of this graded matrix is 1e-12 to first order; a solver that works to the largest loses
    // it.
    #[test]
    fn small_values_keep_their_digits() {
        let eigen = Eigen::of(&Matrix::of(&[vec![1.0, 1e-8], vec![1e-8, 1e-12]]));
        let least = eigen.values.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((least / (1e-12 - 1e-16) - 1.0).abs() < 1e-9, "{least:e}");
    }
}
