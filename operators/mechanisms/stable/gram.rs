//! The form `v' G^-1 v` of a Gram matrix `G` of integers: between two floats with a proof, and exactly where
//! these do not decide.
//!
//! # The proof
//!
//! A factor `W` is found in floats, such that `W G W'` is nearly the identity. Its quality is not taken on
//! trust: the entries of `W` are rounded to integers times powers of two, `W G W'` is computed *exactly*, and
//! `eta` is the largest absolute row sum of its difference from the identity, rounded up. With `eta < 1` both
//! `W` and `G` have full rank, and
//!
//! ```text
//! v' G^-1 v = (W v)' (W G W')^-1 (W v)   lies in   |W v|^2 / (1 + eta) ..= |W v|^2 / (1 - eta)
//! ```
//!
//! `W v` itself is computed in floats: a sum of `d` products is off by at most `d u / (1 - d u)` times the
//! sum of their absolute values, `u = 2^-53` (Higham 2002, 3.1), and over all rows, by Minkowski, the length
//! is off by at most the same multiple of `sum_j |v_j| |column j of W|`. [`GramMatrix::error`] takes
//! `(4 d + 32) u` of that, which covers the rounding of the length and of the sum as well. Entries of `W` are
//! zero or above 2^-170, so that nothing underflows. `v` is below 2^53, so it is exact.

use std::cell::OnceCell;

use dashu_int::IBig;

/// The largest `eta` of a factor in use. Above it the factor is dropped, and big integers decide everything.
const ETA: f64 = 1e-3;

/// A Gram matrix of full rank.
pub(super) struct GramMatrix {
    dimension: usize,
    gram: Vec<i128>,
    factor: Option<GramFactor>,
    exact: OnceCell<Option<ExactGram>>,
}

struct GramFactor {
    /// The entries, row by row, lower triangular.
    rows: Vec<f64>,
    lengths: Vec<f64>,
    eta: f64,
}

#[cfg(test)]
thread_local! {
    /// The number of decisions that took big integers.
    pub(super) static STRADDLED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The proved bounds of a quadratic form.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormBounds {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl FormBounds {
    const ANYTHING: FormBounds = FormBounds { low: 0.0, high: f64::INFINITY };
}

impl GramMatrix {
    /// Returns `None` if the matrix is singular, which is decided exactly.
    pub(super) fn of(gram: Vec<i128>, dimension: usize) -> Option<GramMatrix> {
        let factor = GramFactor::of(&gram, dimension);
        let shape = GramMatrix { dimension, gram, factor, exact: OnceCell::new() };
        (shape.factor.is_some() || shape.exact().is_some()).then_some(shape)
    }

    /// Builds the same matrix without a factor, so that big integers decide everything.
    #[cfg(test)]
    pub(super) fn exactly(gram: Vec<i128>, dimension: usize) -> Option<GramMatrix> {
        let shape = GramMatrix { dimension, gram, factor: None, exact: OnceCell::new() };
        shape.exact().is_some().then_some(shape)
    }

    fn exact(&self) -> Option<&ExactGram> {
        self.exact.get_or_init(|| ExactGram::of(&self.gram, self.dimension)).as_ref()
    }

    /// Writes `W v` into `into`, and returns the largest error of its length: infinity without a factor.
    pub(super) fn whitened(&self, v: &[i64], into: &mut [f64]) -> f64 {
        let Some(factor) = &self.factor else {
            into.fill(0.0);
            return f64::INFINITY;
        };
        for (row, value) in into.iter_mut().enumerate() {
            let entries = &factor.rows[row * self.dimension..=row * self.dimension + row];
            *value = entries.iter().zip(v).map(|(entry, &v)| entry * v as f64).sum();
        }
        self.error()
            * factor.lengths.iter().zip(v).map(|(length, &v)| length * v.unsigned_abs() as f64).sum::<f64>()
    }

    fn error(&self) -> f64 {
        (4 * self.dimension + 32) as f64 * f64::EPSILON / 2.0
    }

    /// Returns the bounds of `v' G^-1 v` from the length of `W v`, which is known up to `error`.
    pub(super) fn between(&self, length: f64, error: f64) -> FormBounds {
        let Some(factor) = self.factor.as_ref().filter(|_| error < f64::INFINITY) else {
            return FormBounds::ANYTHING;
        };
        let error = error + length * self.error();
        let (least, most) = ((length - error).max(0.0), length + error);
        FormBounds {
            low: least * least / (1.0 + factor.eta) * (1.0 - 1e-14),
            high: most * most / (1.0 - factor.eta) * (1.0 + 1e-14),
        }
    }

    /// Returns true if `times v' G^-1 v > over / under`, exactly.
    pub(super) fn exceeds(&self, v: &[i64], times: u128, over: u128, under: u128) -> bool {
        #[cfg(test)]
        STRADDLED.set(STRADDLED.get() + 1);
        // Never `None`: a Gram matrix has full rank here.
        self.exact().is_none_or(|exact| {
            exact.quadratic(v) * IBig::from(times) * IBig::from(under) > &exact.determinant * IBig::from(over)
        })
    }
}

impl GramFactor {
    fn of(gram: &[i128], dimension: usize) -> Option<GramFactor> {
        // Powers of two near the lengths of the axes: scaling by them rounds nothing, and makes axes of
        // unlike scale alike.
        let mut axes = Vec::with_capacity(dimension);
        for axis in 0..dimension {
            let square = gram[axis * dimension + axis];
            if square <= 0 {
                return None;
            }
            axes.push((127 - square.leading_zeros()) as i32 / 2);
        }
        let widest = axes.iter().copied().max()?;
        let at = |row: usize, column: usize| row * dimension + column;
        let mut scaled = vec![0.0; dimension * dimension];
        let mut lifted = vec![IBig::ZERO; dimension * dimension];
        for row in 0..dimension {
            for column in 0..dimension {
                let entry = gram[at(row, column)];
                scaled[at(row, column)] = power(entry as f64, -axes[row] - axes[column]);
                lifted[at(row, column)] =
                    IBig::from(entry) << usize::try_from(2 * widest - axes[row] - axes[column]).ok()?;
            }
        }
        let mut near = inverse_of_root(&scaled, dimension)?;
        // Every round squares the float error that the round before left.
        for _ in 0..3 {
            let (whole, shifts) = rounded(&near, dimension)?;
            let (eta, product) = certified(&whole, &shifts, &lifted, widest, dimension);
            if eta < ETA * ETA {
                return GramFactor::scaled(&whole, &shifts, &axes, eta, dimension);
            }
            let mend = inverse_of_root(&product, dimension)?;
            near = times(&mend, &near, dimension);
        }
        let (whole, shifts) = rounded(&near, dimension)?;
        let (eta, _) = certified(&whole, &shifts, &lifted, widest, dimension);
        if eta < ETA { GramFactor::scaled(&whole, &shifts, &axes, eta, dimension) } else { None }
    }

    fn scaled(whole: &[i64], shifts: &[i32], axes: &[i32], eta: f64, dimension: usize) -> Option<GramFactor> {
        let entry =
            |place: usize| power(whole[place] as f64, -shifts[place / dimension] - axes[place % dimension]);
        let rows: Vec<f64> = (0..whole.len()).map(entry).collect();
        let lengths = (0..dimension).map(|column| {
            let squares: f64 = rows.iter().skip(column).step_by(dimension).map(|entry| entry * entry).sum();
            squares.sqrt() * (1.0 + 1e-12)
        });
        Some(GramFactor { lengths: lengths.collect(), rows, eta })
    }
}

fn power(value: f64, exponent: i32) -> f64 {
    libm::scalbn(value, exponent)
}

/// Returns the inverse of the lower Cholesky root of a matrix, in floats, or `None` if floats find no root.
fn inverse_of_root(matrix: &[f64], dimension: usize) -> Option<Vec<f64>> {
    let at = |row: usize, column: usize| row * dimension + column;
    let mut root = vec![0.0; dimension * dimension];
    for row in 0..dimension {
        for column in 0..=row {
            let inner: f64 = (0..column).map(|k| root[at(row, k)] * root[at(column, k)]).sum();
            let rest = matrix[at(row, column)] - inner;
            root[at(row, column)] = if row == column { rest.sqrt() } else { rest / root[at(column, column)] };
        }
        if root[at(row, row)].is_nan() || root[at(row, row)] <= 0.0 {
            return None;
        }
    }
    let mut inverse = vec![0.0; dimension * dimension];
    for column in 0..dimension {
        for row in column..dimension {
            let inner: f64 = (column..row).map(|k| root[at(row, k)] * inverse[at(k, column)]).sum();
            let unit = if row == column { 1.0 } else { 0.0 };
            inverse[at(row, column)] = (unit - inner) / root[at(row, row)];
        }
    }
    inverse.iter().all(|entry: &f64| entry.is_finite()).then_some(inverse)
}

fn times(left: &[f64], right: &[f64], dimension: usize) -> Vec<f64> {
    let mut product = vec![0.0; dimension * dimension];
    for row in 0..dimension {
        for column in 0..=row {
            product[row * dimension + column] =
                (column..=row).map(|k| left[row * dimension + k] * right[k * dimension + column]).sum();
        }
    }
    product
}

/// Rounds each row to integers below 2^53, over a power of two.
fn rounded(factor: &[f64], dimension: usize) -> Option<(Vec<i64>, Vec<i32>)> {
    let (mut whole, mut shifts) = (Vec::with_capacity(factor.len()), Vec::with_capacity(dimension));
    for row in factor.chunks(dimension) {
        let largest = row.iter().fold(0.0f64, |most, entry| most.max(entry.abs()));
        let shift = 51 - libm::ilogb(largest);
        if !(0..=100).contains(&shift) {
            return None;
        }
        whole.extend(row.iter().map(|&entry| power(entry, shift).round() as i64));
        shifts.push(shift);
    }
    Some((whole, shifts))
}

/// Returns the distance of `W G W'` from the identity, rounded up, and `W G W'` in floats.
fn certified(
    whole: &[i64],
    shifts: &[i32],
    lifted: &[IBig],
    widest: i32,
    dimension: usize,
) -> (f64, Vec<f64>) {
    let at = |row: usize, column: usize| row * dimension + column;
    let mut half = vec![IBig::ZERO; dimension * dimension];
    for row in 0..dimension {
        for column in 0..dimension {
            half[at(row, column)] =
                (0..=row).fold(IBig::ZERO, |sum, k| sum + &lifted[at(k, column)] * whole[at(row, k)]);
        }
    }
    let (mut eta, mut product) = (0.0f64, vec![0.0; dimension * dimension]);
    for row in 0..dimension {
        let mut off = 0.0;
        for column in 0..dimension {
            let sum = (0..=column).fold(IBig::ZERO, |sum, k| sum + &half[at(row, k)] * whole[at(column, k)]);
            let scale = shifts[row] + shifts[column] + 2 * widest;
            product[at(row, column)] = power(sum.to_f64().value(), -scale);
            let unit = if row == column { IBig::ONE << scale.unsigned_abs() as usize } else { IBig::ZERO };
            off += power((sum - unit).to_f64().value().abs(), -scale);
        }
        eta = eta.max(off);
    }
    // The sums are of exact numbers, each rounded once.
    (eta * (1.0 + 1e-12) + f64::MIN_POSITIVE, product)
}

// Big integers, where floats cannot decide: fraction-free elimination of a Gram matrix.

/// The determinant and the adjugate of a Gram matrix of full rank.
pub(super) struct ExactGram {
    dimension: usize,
    pub(super) determinant: IBig,
    adjugate: Vec<IBig>,
}

impl ExactGram {
    /// Returns `None` if the matrix is singular. It is positive semidefinite, so a vanishing leading minor
    /// proves that it is singular, and no search for a pivot is needed (Bareiss 1968; every division is
    /// exact).
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

    /// Returns `v' adj(G) v`, which over the determinant is `v' G^-1 v`.
    pub(super) fn quadratic(&self, v: &[i64]) -> IBig {
        let rows = self.adjugate.chunks(self.dimension);
        rows.zip(v).fold(IBig::ZERO, |sum, (row, &left)| {
            let inner = row.iter().zip(v).fold(IBig::ZERO, |sum, (entry, &right)| sum + entry * right);
            sum + inner * left
        })
    }
}
