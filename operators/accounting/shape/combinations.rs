//! People of several combinations: the length by which they move the residuals of marginals.
//!
//! # Argument
//!
//! Two combinations of categories agree in some attributes and differ in the others, `D`. The vectors by which they move the
//! residual of the attributes `A` have the inner product `l^2 prod -1 / (n_i - 1)`, over the attributes that are in both `A` and
//! `D`, where `l` is the length of each. With noise in which one combination costs `u_A` in each residual, `j`
//! different combinations of one unit cost in proportion to
//!
//! ```text
//! j u + sum over pairs of c(D),   u = sum of u_A,   c(D) = sum over A of u_A prod over A and D of -1 / (n_i - 1)
//! ```
//!
//! Each of `j` combinations makes `j - 1` pairs, of which `prod (n_i - 1)` over `D` at most differ in exactly `D`. So it costs, with
//! its pairs, no more than `u` and the `j - 1` largest `c(D)`, each as often as there are others; and all of them cost `j` times as
//! much. Between two sets `D` of that order the bound is a parabola in `j`, whose most is at an end or, where it opens downwards, at its
//! vertex: for a unit may have any number of combinations up to its bound, and fewer may cost more. A part of the records of a
//! combination costs no more than all of them or none, since the cost is convex in the number of each.
//!
//! *The best parts.* For any mixture of pairs the parts that are best for it have a closed form, as those of one combination have, with
//! the squared lengths of the mixture in place of 1. [`parts`] looks for the mixture by what is worst for the last parts, and
//! takes the best parts that it has seen; whichever they are, [`Combinations::most`] is a bound for them.
//!
//! *The least error.* A unit may have the combinations of a grid: of each attribute `i` some `k_i` categories, in all combinations
//! of these. Its residuals have closed lengths, and the noise that is best for it errs no more than noise for all that a unit may
//! have: so its error bounds that of all Gaussian noise from below.

use super::marginals::{Attributes, Marginals};

/// The most products that a search for the best parts looks at.
const WORK: usize = 1 << 20;
/// The most products of a bound: beyond, all combinations count as if they were in one cell.
const MOST_WORK: usize = 1 << 24;
/// The most rounds of it.
const ROUNDS: usize = 60;
/// The least squared length that a residual is given a part for, over that of all combinations in one cell.
const LEAST: f64 = 1e-4;
/// A part of 1, in whole numbers.
const ONE: f64 = (1_u64 << 48) as f64;

/// Returns the parts of the cost of one combination that residuals have, and the cost of this number of combinations over that of
/// one.
pub(super) fn parts(workload: &Marginals, sets: &[Attributes], combinations: u64) -> (Vec<f64>, f64) {
    let several = Combinations::new(workload, sets, combinations);
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
    let mut worst = several.worst_of_parts(&parts);
    let mut found = (parts.clone(), worst.cost as f64 / ONE);
    if several.number > 1 {
        let most = (several.number as f64).powi(2);
        let mut mixture = vec![0.0; sets.len()];
        for round in 1..=(WORK / several.work()).clamp(1, ROUNDS) {
            for (mixed, length) in mixture.iter_mut().zip(several.lengths(&worst)) {
                *mixed += (length - *mixed) / round as f64;
            }
            let lengths: Vec<f64> = mixture.iter().map(|length| length.max(LEAST * most)).collect();
            parts = best_for(&lengths);
            worst = several.worst_of_parts(&parts);
            let times = worst.cost as f64 / ONE;
            if error(&parts, times) < error(&found.0, found.1) {
                found = (parts.clone(), times);
            }
        }
    }
    found
}

/// The different combinations of one unit.
pub(crate) struct Combinations<'w> {
    sizes: &'w [u64],
    sets: &'w [Attributes],
    /// The most combinations.
    number: i128,
}

/// The most that combinations of one unit cost.
struct Worst {
    cost: i128,
    /// The number of combinations that cost as much.
    number: i128,
    /// The sets of attributes in which pairs of one of them differ, with their numbers.
    pairs: Vec<(Attributes, i128)>,
}

impl<'w> Combinations<'w> {
    /// States the sets of attributes of the residuals of a workload, and the most combinations of a unit.
    pub(crate) fn new(workload: &'w Marginals, sets: &'w [Attributes], number: u64) -> Combinations<'w> {
        // Nobody has more than there are.
        let number = number.min(workload.combinations()).into();
        Combinations { sizes: workload.sizes(), sets, number }
    }

    /// Returns the most that any combinations of one unit cost, rounded up, where one costs as much in each residual, rounded down
    /// and up; `None` where it is beyond all numbers.
    pub(crate) fn most(&self, costs: &[[i128; 2]]) -> Option<i128> {
        self.worst(costs).map(|worst| worst.cost)
    }

    fn worst_of_parts(&self, parts: &[f64]) -> Worst {
        let costs: Vec<[i128; 2]> = parts.iter().map(|part| [(part * ONE).ceil() as i128; 2]).collect();
        // Of parts of 1 it is at most 2^48 times the square of a number of combinations.
        self.worst(&costs).unwrap_or(Worst { cost: i128::MAX, number: 1, pairs: Vec::new() })
    }

    fn worst(&self, costs: &[[i128; 2]]) -> Option<Worst> {
        // What one of `number` combinations costs, with its pairs.
        let mut each = costs.iter().try_fold(0_i128, |sum, [_, high]| sum.checked_add(*high))?;
        let (mut number, mut pairs) = (1, Vec::new());
        if self.number == 1 {
            return Some(Worst { cost: each, number, pairs });
        }
        if self.work() > MOST_WORK {
            // No more than all of them in one cell.
            let cost = each.checked_mul(self.number)?.checked_mul(self.number)?;
            return Some(Worst {
                cost,
                number: self.number,
                pairs: vec![(Attributes::first(0), self.number - 1)],
            });
        }
        let mut sets: Vec<(i128, Attributes)> =
            self.all().parts().skip(1).map(|differ| (self.pair(differ, costs), differ)).collect();
        sets.sort_unstable_by(|one, other| other.cmp(one));
        // The most so far: its cost, its number, and of how many sets all pairs are in it, beside some of the next one.
        let mut most = (each, 1, 0);
        for (cost, differ) in sets {
            let others = (self.number - number).min(self.others(differ));
            // The vertex of a parabola that opens downwards, or its ends.
            let vertex = match cost {
                ..0 => each.checked_add(cost.checked_mul(number)?)? / cost.checked_mul(-2)?,
                _ => others,
            };
            for more in [vertex, vertex + 1].map(|more| more.clamp(0, others)) {
                let all = each.checked_add(cost.checked_mul(more)?)?.checked_mul(number + more)?;
                if all > most.0 {
                    most = (all, number + more, pairs.len());
                }
            }
            (number, each) = (number + others, each.checked_add(cost.checked_mul(others)?)?);
            pairs.push((differ, others));
            if number == self.number {
                break;
            }
        }
        let (cost, number, whole) = most;
        pairs.truncate(whole + 1);
        if let Some(((_, last), former)) = pairs.split_last_mut() {
            *last = number - 1 - former.iter().map(|(_, others)| *others).sum::<i128>();
        }
        Some(Worst { cost, number, pairs })
    }

    /// Returns the set of all attributes.
    fn all(&self) -> Attributes {
        Attributes::first(self.sizes.len())
    }

    /// Returns the number of products of a round.
    fn work(&self) -> usize {
        self.sets.len() << self.sizes.len()
    }

    /// Returns the number of combinations that differ from one in exactly these attributes.
    fn others(&self, differ: Attributes) -> i128 {
        differ
            .iter()
            .fold(1, |all: i128, attribute| all.saturating_mul(i128::from(self.sizes[attribute]) - 1))
    }

    /// Returns the most that two combinations that differ in these attributes cost above one of them, by half and rounded up.
    fn pair(&self, differ: Attributes, costs: &[[i128; 2]]) -> i128 {
        let terms = self.sets.iter().zip(costs).map(|(set, [low, high])| {
            let both = set.both(differ);
            match (self.others(both), both.iter().count() % 2) {
                (others, 0) => high / others + i128::from(high % others != 0),
                (others, _) => -(low / others),
            }
        });
        terms.sum()
    }

    /// Returns the squared length of the worst combinations in each residual, over that of one.
    fn lengths(&self, worst: &Worst) -> impl Iterator<Item = f64> {
        self.sets.iter().map(move |set| {
            let of = |(differ, number): &(Attributes, i128)| {
                let product =
                    set.both(*differ).product(|attribute| -1.0 / (self.sizes[attribute] as f64 - 1.0));
                *number as f64 * product
            };
            worst.number as f64 * (1.0 + worst.pairs.iter().map(of).sum::<f64>())
        })
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

/// Returns grids of at most this number of combinations: some categories of one attribute and of the next ones, all of them as far
/// as the number goes.
pub(super) fn grids(workload: &Marginals, combinations: u64) -> impl Iterator<Item = Grid> {
    let attributes = workload.sizes().len();
    let most = combinations as f64;
    // Some of the first, and the rest of those after it.
    let of = move |first: usize, of_first: f64, step: usize| {
        let mut grid = vec![1.0; attributes];
        let (mut left, mut most) = (most, of_first);
        for at in 0..attributes {
            let attribute = (first + at * step) % attributes;
            grid[attribute] = left.min(most).min(workload.size(attribute)).floor();
            (left, most) = (left / grid[attribute], left);
        }
        Grid(grid)
    };
    (0..attributes).flat_map(move |first| {
        let numbers = (0..64).map(|power| 2.0_f64.powi(power)).take_while(move |number| *number < most);
        numbers
            .chain([most])
            .flat_map(move |number| [1, attributes - 1].map(|step| of(first, number, step.max(1))))
    })
}

/// Returns the squared length by which a unit of this number of combinations moves a table.
pub(super) fn in_table(workload: &Marginals, table: Attributes, combinations: u64) -> f64 {
    let size = |attribute| workload.size(attribute);
    let all = workload.sizes().iter().map(|size| *size as f64).product::<f64>();
    // So many are of one cell; more are of others.
    let (combinations, of_one) = ((combinations as f64).min(all), all / table.product(size));
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
            (&[2; 6], &[&[0, 1], &[2, 3], &[4, 5]], 8, 1.54),
            (&[3, 4], &[&[0, 1], &[0], &[1]], 12, 1.32),
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

    // Refutes a bound of a workload with too many products that is below that of all combinations in one cell.
    #[test]
    fn beyond_all_products_combinations_are_of_one_cell() {
        let table: Vec<usize> = (0..9).collect();
        let workload = Marginals::new(&[2; 16], &[&table]).unwrap();
        let sets = workload.residuals();
        assert!(sets.len() << 16 > MOST_WORK);
        let most = |number| Combinations::new(&workload, &sets, number).most(&vec![[5, 6]; sets.len()]);
        let one = 6 * sets.len() as i128;
        assert_eq!([1, 2, 1_000].map(most), [Some(one), Some(4 * one), Some(1_000_000 * one)]);
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
