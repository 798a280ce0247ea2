//! Lower triangular matrices: the Cholesky factors of covariances.

/// A lower triangular matrix with a positive diagonal: `L` of the covariance `L L^T`. Row `i` has `i + 1`
/// entries, and rows are stored one after another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lower {
    dimension: usize,
    entries: Vec<f64>,
}

/// Returns the index at which row `at` begins.
fn start(at: usize) -> usize {
    at * (at + 1) / 2
}

impl Lower {
    pub(super) fn diagonal(scales: &[f64]) -> Lower {
        let dimension = scales.len();
        let mut lower = Lower { dimension, entries: vec![0.0; Lower::entries_of(dimension)] };
        for (at, &scale) in scales.iter().enumerate() {
            lower.row_mut(at)[at] = scale;
        }
        lower
    }

    /// Creates the matrix of these entries; `None` unless all are finite and the diagonal is positive.
    pub(super) fn of(entries: &[f64], dimension: usize) -> Option<Lower> {
        let whole =
            entries.len() == Lower::entries_of(dimension) && entries.iter().all(|entry| entry.is_finite());
        let lower = whole.then(|| Lower { dimension, entries: entries.to_vec() })?;
        (0..dimension).all(|at| lower.row(at)[at] > 0.0).then_some(lower)
    }

    /// Returns the Cholesky factor of a symmetric matrix, given by its lower triangle, row by row; `None` if
    /// a pivot is below `least`, which is positive.
    pub(super) fn factor(symmetric: &[f64], dimension: usize, least: f64) -> Option<Lower> {
        let mut lower = Lower { dimension, entries: symmetric.to_vec() };
        for at in 0..dimension {
            for column in 0..=at {
                let (before, row) = lower.entries.split_at_mut(start(at));
                let above = before.get(start(column)..start(column) + column).unwrap_or(&row[..column]);
                let left = row[column] - row[..column].iter().zip(above).map(|(a, b)| a * b).sum::<f64>();
                row[column] = match before.get(start(column) + column) {
                    Some(pivot) => left / pivot,
                    // The comparison is false for NaN, too.
                    None if left >= least => left.sqrt(),
                    None => return None,
                };
            }
        }
        lower.entries.iter().all(|entry| entry.is_finite()).then_some(lower)
    }

    pub(super) fn entries_of(dimension: usize) -> usize {
        start(dimension)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &f64> {
        self.entries.iter()
    }

    pub(super) fn row(&self, at: usize) -> &[f64] {
        &self.entries[start(at)..=start(at) + at]
    }

    fn row_mut(&mut self, at: usize) -> &mut [f64] {
        &mut self.entries[start(at)..=start(at) + at]
    }

    /// Returns the length of each row: the standard deviation of each coordinate.
    pub(super) fn lengths(&self) -> Vec<f64> {
        let length = |row: &[f64]| row.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
        (0..self.dimension).map(|at| length(self.row(at))).collect()
    }

    /// Returns `L u`.
    pub(super) fn times(&self, u: &[f64]) -> Vec<f64> {
        (0..self.dimension).map(|at| self.row(at).iter().zip(u).map(|(a, b)| a * b).sum()).collect()
    }

    /// Replaces `y` with `L^-1 y`.
    pub(super) fn solve(&self, y: &mut [f64]) {
        for at in 0..self.dimension.min(y.len()) {
            let (row, (known, rest)) = (self.row(at), y.split_at_mut(at));
            let left = rest[0] - row.iter().zip(&*known).map(|(a, b)| a * b).sum::<f64>();
            rest[0] = left / row[at];
        }
    }

    /// Returns the product with another lower triangular matrix, which is one as well.
    pub(super) fn product(&self, other: &Lower) -> Lower {
        let mut product = Lower { dimension: self.dimension, entries: vec![0.0; self.entries.len()] };
        for at in 0..self.dimension {
            for (middle, &entry) in self.row(at).iter().enumerate() {
                let row = &mut product.row_mut(at)[..=middle];
                row.iter_mut().zip(other.row(middle)).for_each(|(sum, value)| *sum += entry * value);
            }
        }
        product
    }

    /// Returns the factor of `L L^T + much I`. The added term is positive, so no precision is lost.
    pub(super) fn with_more(mut self, much: f64) -> Lower {
        for first in 0..self.dimension {
            // A rank-one update, to the factor of `L L^T + v v^T` for a `v` that begins at `first`: each
            // column is rotated against `v`.
            let mut v = vec![0.0; self.dimension];
            v[first] = much.sqrt();
            for column in first..self.dimension {
                let (pivot, other) = (self.row(column)[column], v[column]);
                let turned = pivot.hypot(other);
                let (cosine, sine) = (pivot / turned, other / turned);
                for (at, other) in v.iter_mut().enumerate().skip(column) {
                    let entry = &mut self.row_mut(at)[column];
                    (*entry, *other) = (cosine * *entry + sine * *other, cosine * *other - sine * *entry);
                }
            }
        }
        self
    }

    /// Multiplies each row by its own number.
    pub(super) fn rows_scaled(mut self, by: impl Fn(usize) -> f64) -> Lower {
        for at in 0..self.dimension {
            let by = by(at);
            self.row_mut(at).iter_mut().for_each(|entry| *entry *= by);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    /// Returns the lower triangle of `L L^T`.
    fn covariance(lower: &Lower) -> Vec<f64> {
        let entry = |a: usize, b: usize| lower.row(a).iter().zip(lower.row(b)).map(|(a, b)| a * b).sum();
        (0..lower.dimension).flat_map(|a| (0..=a).map(move |b| (a, b))).map(|(a, b)| entry(a, b)).collect()
    }

    fn lower(dimension: usize) -> impl Strategy<Value = Lower> {
        proptest::collection::vec(-2.0f64..2.0, start(dimension)).prop_map(move |entries| {
            let mut lower = Lower { dimension, entries };
            (0..dimension).for_each(|at| lower.row_mut(at)[at] = lower.row(at)[at].abs() + 0.1);
            lower
        })
    }

    fn near(found: &[f64], truth: &[f64]) -> bool {
        found.len() == truth.len()
            && found.iter().zip(truth).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs()))
    }

    proptest! {
        // Refutes an index that is off by one, and a rotation in the wrong direction.
        #[test]
        fn factors_are_those_of_their_products(lower in (1usize..7).prop_flat_map(lower), much in 0.0f64..9.0) {
            let (size, square) = (lower.dimension, covariance(&lower));
            let again = Lower::factor(&square, size, 1e-9).unwrap();
            prop_assert!(near(&covariance(&again), &square));
            let mut more = square.clone();
            (0..size).for_each(|at| more[start(at) + at] += much);
            prop_assert!(near(&covariance(&lower.clone().with_more(much)), &more));
            let deviations: Vec<f64> = (0..size).map(|at| square[start(at) + at].sqrt()).collect();
            prop_assert!(near(&lower.lengths(), &deviations));
            let u: Vec<f64> = (0..size).map(|at| at as f64 - 2.5).collect();
            let mut back = lower.times(&u);
            lower.solve(&mut back);
            prop_assert!(back.iter().zip(&u).all(|(a, b)| (a - b).abs() < 1e-3 * (1.0 + b.abs())), "{:?}", back);
            // `(L M) u` is `L (M u)`.
            let other = again.clone().rows_scaled(|at| 1.0 + at as f64);
            prop_assert!(near(&lower.product(&other).times(&u), &lower.times(&other.times(&u))));
            prop_assert_eq!(Lower::of(&lower.entries, size), Some(lower));
        }
    }

    #[test]
    fn what_has_no_factor_has_none() {
        assert_eq!(Lower::factor(&[1.0, 2.0, 1.0], 2, 1e-9), None, "a negative pivot");
        assert_eq!(Lower::factor(&[1.0, 0.0, 0.01], 2, 0.02), None, "one that is too small");
        assert!(Lower::factor(&[1.0, 0.0, 0.01], 2, 0.009).is_some());
        assert_eq!(Lower::factor(&[f64::NAN], 1, 1e-9), None);
        assert_eq!(Lower::factor(&[1.0, f64::INFINITY, 1.0], 2, 1e-9), None);
        assert!(Lower::factor(&[], 0, 1e-9).is_some());
    }
}
