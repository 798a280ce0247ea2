//! People of several combinations: the length by which they move the residuals of marginals.
//!
//! # Argument
//!
//! Two combinations of categories agree in some attributes and differ in the others, `D`. The vectors by which they move the
//! residual of the attributes `A` have the inner product `l^2 prod -1 / (n_i - 1)`, over the attributes that are in both `A` and
//! `D`, where `l` is the length of each. With noise in which one combination has the part `u_A` of its cost in each residual, `k`
//! different combinations of one unit cost in proportion to
//!
//! ```text
//! k + sum over pairs of c(D),   c(D) = sum over A of u_A prod over A and D of -1 / (n_i - 1)
//! ```
//!
//! which is no more than `k + k (k - 1) max c(D)` over all `D` that are not empty, for the sum has `k (k - 1)` terms. Where that
//! is falling in `k`, fewer combinations may cost more: what counts is the most for any number of them up to the bound. A part of
//! the records of a combination costs no more than all of them or none, since the cost is convex in the number of each.
//!
//! *The best parts.* For any mixture of sets `D` the parts that are best for it have a closed form, as those of one combination
//! have, with the squared lengths of the mixture in place of 1. [`parts`] looks for the mixture by what is worst for the last parts,
//! and takes the best parts that it has seen; whichever they are, `times` is a bound for them.
//!
//! *The least error.* A unit may have the combinations of a grid: of each attribute `i` some `k_i` categories, in all combinations
//! of these. Its residuals have closed lengths, and the noise that is best for it is the best for nobody with more: so its error
//! bounds that of all noise from below.

use super::marginals::{Attributes, Marginals};

/// The most products that a search for the best parts looks at.
const WORK: usize = 1 << 22;
/// The most rounds of it.
const ROUNDS: usize = 60;
/// The least squared length that a residual is given a part for, over that of all combinations in one cell.
const LEAST: f64 = 1e-4;

/// Returns the parts of the cost of one combination that residuals have, and the cost of this number of combinations over that of
/// one.
pub(super) fn parts(workload: &Marginals, sets: &[Attributes], combinations: u64) -> (Vec<f64>, f64) {
    let several = Several::new(workload, sets, combinations);
    let roots: Vec<f64> = sets.iter().map(|set| workload.root_of_cost(*set)).collect();
    let best_for = |lengths: &[f64]| {
        let parts: Vec<f64> = roots.iter().zip(lengths).map(|(root, length)| root / length.sqrt()).collect();
        let sum: f64 = parts.iter().sum();
        parts.into_iter().map(|part| part / sum).collect::<Vec<f64>>()
    };
    let error = |parts: &[f64], times: f64| {
        times * roots.iter().zip(parts).map(|(root, part)| root * root / part).sum::<f64>()
    };
    let mut parts = best_for(&vec![1.0; sets.len()]);
    let (mut times, mut worst) = several.worst(&parts);
    let mut found = (parts.clone(), times);
    if several.combinations > 1.0 {
        let most = several.combinations.powi(2);
        let mut mixture = vec![0.0; sets.len()];
        for round in 1..=(WORK / several.work()).clamp(1, ROUNDS) {
            for (mixed, length) in mixture.iter_mut().zip(several.lengths(worst)) {
                *mixed += (length - *mixed) / round as f64;
            }
            let lengths: Vec<f64> = mixture.iter().map(|length| length.max(LEAST * most)).collect();
            parts = best_for(&lengths);
            (times, worst) = several.worst(&parts);
            if error(&parts, times) < error(&found.0, found.1) {
                found = (parts.clone(), times);
            }
        }
    }
    found
}

/// The combinations of one unit, by the attributes in which two of them differ.
struct Several<'w> {
    workload: &'w Marginals,
    sets: &'w [Attributes],
    combinations: f64,
}

impl<'w> Several<'w> {
    fn new(workload: &'w Marginals, sets: &'w [Attributes], combinations: u64) -> Several<'w> {
        // Nobody has more than there are.
        let all = workload.all().product(|attribute| workload.size(attribute));
        Several { workload, sets, combinations: (combinations as f64).min(all) }
    }

    /// Returns the number of products of a round.
    fn work(&self) -> usize {
        self.sets.len() << self.workload.all().iter().count()
    }

    /// Returns the inner product of two combinations that differ in these attributes, in each residual, over a squared length.
    fn products(&self, differ: Attributes) -> impl Iterator<Item = f64> {
        let size = |attribute| -1.0 / (self.workload.size(attribute) - 1.0);
        self.sets.iter().map(move |set| set.both(differ).product(size))
    }

    /// Returns the squared length of all combinations in each residual, where any two differ in these attributes.
    fn lengths(&self, differ: Attributes) -> impl Iterator<Item = f64> {
        let combinations = self.combinations;
        self.products(differ).map(move |product| combinations + combinations * (combinations - 1.0) * product)
    }

    /// Returns the most that all combinations cost, over the cost of one, and the attributes in which they differ then.
    fn worst(&self, parts: &[f64]) -> (f64, Attributes) {
        let none = self.workload.all().parts().next().unwrap_or_else(|| self.workload.all());
        if self.combinations <= 1.0 {
            return (1.0, none);
        }
        let cost = |differ: Attributes| -> f64 {
            self.products(differ).zip(parts).map(|(product, part)| product * part).sum()
        };
        let all = self.workload.all().parts().skip(1).map(|differ| (cost(differ), differ));
        let (most, differ) = all.fold((-1.0, none), |worst, own| if own.0 > worst.0 { own } else { worst });
        // The vertex of a parabola, where it opens downwards.
        let vertex = if most < 0.0 { (0.5 - 0.5 / most).min(self.combinations) } else { self.combinations };
        let cost = |combinations: f64| combinations + combinations * (combinations - 1.0) * most;
        (cost(vertex.floor()).max(cost(vertex.ceil())), differ)
    }
}

/// The combinations of a unit that make a grid: a number of categories of each attribute.
pub(super) struct Grid(Vec<f64>);

impl Grid {
    /// Returns the squared length of all of them together in the residual of a set, over that of one.
    pub(super) fn of(&self, workload: &Marginals, set: Attributes) -> f64 {
        let along = |(attribute, own): (usize, &f64)| {
            let size = workload.size(attribute);
            if set.has(attribute) { own * (size - own) / (size - 1.0) } else { own * own }
        };
        self.0.iter().enumerate().map(along).product()
    }
}

/// Returns grids of at most this number of combinations: along each attribute, and along each after another.
pub(super) fn grids(workload: &Marginals, combinations: u64) -> impl Iterator<Item = Grid> {
    let attributes = workload.all().iter().count();
    let most = combinations as f64;
    let along = move |first: usize, second: Option<usize>, of_second: f64| {
        let mut grid = vec![1.0; attributes];
        let of_second = second.map_or(1.0, |second| of_second.min(workload.size(second)));
        if let Some(second) = second {
            grid[second] = of_second;
        }
        grid[first] = (most / of_second).floor().min(workload.size(first));
        Grid(grid)
    };
    (0..attributes).flat_map(move |first| {
        let pairs =
            (0..attributes).filter(move |second| *second != first && most > 1.0).flat_map(move |second| {
                (1..=4).map(move |power| along(first, Some(second), f64::from(1 << power).min(most)))
            });
        std::iter::once(along(first, None, 1.0)).chain(pairs)
    })
}

/// Returns the squared length by which a unit of this number of combinations moves a table.
pub(super) fn in_table(workload: &Marginals, table: Attributes, combinations: u64) -> f64 {
    let size = |attribute| workload.size(attribute);
    let (cells, all) = (table.product(size), workload.all().product(size));
    // So many are of one cell; more are of others.
    let (combinations, of_one) = ((combinations as f64).min(all), all / cells);
    let filled = (combinations / of_one).floor();
    filled * of_one.powi(2) + (combinations - filled * of_one).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Refutes parts that are not the best for several combinations, noise that errs less than is possible, and a table by itself that
    // errs more than its histogram does.
    #[test]
    fn several_combinations_err_little_more_than_is_possible() {
        for (sizes, tables, combinations, most) in [
            (&[10_u64][..], &[&[0_usize][..]][..], 4, 1.0001),
            (&[10], &[&[0], &[]], 4, 1.0001),
            (&[9, 5, 7], &[&[0, 1], &[0], &[2], &[]], 4, 1.02),
            (&[10, 20, 5], &[&[0, 1], &[2]], 3, 1.02),
            (&[4, 24, 7], &[&[0, 1], &[0, 2], &[1, 2]], 5, 1.2),
            // Of more combinations than an attribute has categories both bounds are loose.
            (&[2; 6], &[&[0, 1], &[2, 3], &[4, 5]], 8, 2.3),
        ] {
            let workload = Marginals::new(sizes, tables).unwrap();
            let (design, one) = (workload.design_for(combinations), workload.design());
            let ratio = design.error(0.1) / design.least_error(0.1);
            println!(
                "{sizes:?} {tables:?}: {ratio:.4}, {:.4} of all in one cell, {:.4} of side by side",
                design.error(0.1) / one.error(0.1) / combinations as f64,
                design.error(0.1) / design.error_apart(0.1)
            );
            assert!((1.0 - 1e-9..most).contains(&ratio), "{sizes:?} {tables:?}: {ratio}");
            assert!(design.error(0.1) < combinations as f64 * one.error(0.1));
            if tables.len() == 1 {
                assert!(design.error(0.1) <= (combinations as f64 / 0.2).sqrt());
            }
        }
    }

    // Refutes a table whose cells hold more combinations of a unit than there are of one cell.
    #[test]
    fn combinations_fill_the_cells_of_a_table() {
        let workload = Marginals::new(&[3, 2], &[&[0, 1], &[0], &[]]).unwrap();
        let of = |table: usize, combinations| in_table(&workload, workload.tables()[table], combinations);
        assert_eq!([1, 4, 9].map(|combinations| of(0, combinations)), [1.0, 4.0, 6.0]);
        assert_eq!([1, 2, 3, 9].map(|combinations| of(1, combinations)), [1.0, 4.0, 5.0, 12.0]);
        assert_eq!([1, 4, 9].map(|combinations| of(2, combinations)), [1.0, 16.0, 36.0]);
    }
}
