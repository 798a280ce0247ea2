//! Big integers, where floats cannot decide: fraction-free elimination of a Gram matrix.

use dashu_int::IBig;

/// The determinant and the adjugate of a Gram matrix that has full rank.
pub(super) struct ExactGram {
    dimension: usize,
    pub(super) determinant: IBig,
    adjugate: Vec<IBig>,
}

impl ExactGram {
    /// None where the matrix is singular. It is positive semidefinite, so a leading minor that vanishes says so at once,
    /// and no pivot needs to be looked for (Bareiss 1968; every division leaves no rest).
    pub(super) fn of(gram: &[i128], dimension: usize) -> Option<ExactGram> {
        let width = 2 * dimension;
        let mut rows: Vec<Vec<IBig>> = gram
            .chunks(dimension)
            .enumerate()
            .map(|(row, entries)| {
                let unit = (0..dimension).map(|column| IBig::from(u8::from(column == row)));
                entries.iter().map(|&entry| IBig::from(entry)).chain(unit).collect()
            })
            .collect();
        let mut before = IBig::ONE;
        for step in 0..dimension {
            let pivots = rows[step].clone();
            let pivot = &pivots[step];
            if *pivot <= IBig::ZERO {
                return None;
            }
            for (_, row) in rows.iter_mut().enumerate().filter(|(row, _)| *row != step) {
                let factor = row[step].clone();
                for column in 0..width {
                    row[column] = (pivot * &row[column] - &factor * &pivots[column]) / &before;
                }
            }
            before = pivot.clone();
        }
        let adjugate = rows.into_iter().flat_map(|row| row.into_iter().skip(dimension)).collect();
        Some(ExactGram { dimension, determinant: before, adjugate })
    }

    /// `v' adj(G) v`, which over the determinant is `v' G^-1 v`.
    pub(super) fn quadratic(&self, v: &[i64]) -> IBig {
        let rows = self.adjugate.chunks(self.dimension);
        rows.zip(v).fold(IBig::ZERO, |sum, (row, &left)| {
            let inner = row.iter().zip(v).fold(IBig::ZERO, |sum, (entry, &right)| sum + entry * right);
            sum + inner * left
        })
    }
}
