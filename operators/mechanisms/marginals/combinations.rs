//! The check that noise suffices for people of several combinations, in whole numbers.
//!
//! Noise is drawn with variances that are rounded, so that the most that combinations of one person cost is added up again for what
//! is drawn: every term is rounded up. [`shape`](crate::accounting::shape::Marginals::design_for) has the argument.

use dashu_int::UBig;
use dashu_int::ops::DivRem as _;

use super::prepared::Residual;
use super::tables::MarginalTables;
use crate::accounting::BudgetUnits;
use crate::accounting::shape::{Attributes, Combinations};

/// Returns true if this number of combinations of one unit cost no more than a budget, whichever they are.
pub(super) fn cost_within(
    budget: BudgetUnits,
    residuals: &[Residual],
    combinations: u64,
    tables: &MarginalTables,
) -> bool {
    let sets: Vec<Attributes> = residuals.iter().map(|residual| residual.of).collect();
    let costs: Option<Vec<[i128; 2]>> = residuals.iter().map(cost).collect();
    let most = costs.and_then(|costs| Combinations::new(tables.workload(), &sets, combinations).most(&costs));
    most.and_then(|most| u128::try_from(most).ok()).is_some_and(|most| most <= budget.to_bits())
}

/// Returns the cost of one combination in a residual in units of 2^-64, rounded down and up.
fn cost(residual: &Residual) -> Option<[i128; 2]> {
    let variance = residual.noise.variance()?;
    let cost = (UBig::from(residual.length) * UBig::from(variance.denominator())) << 63;
    let (low, rest) = cost.div_rem(UBig::from(variance.numerator()));
    let low = i128::try_from(low).ok()?;
    Some([low, low.checked_add(i128::from(!rest.is_zero()))?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::PrivacyCost;
    use crate::mechanisms::marginals::residuals::contrasts;
    use crate::mechanisms::marginals::tests::{counts, odometer};
    use crate::mechanisms::{Bound, Gaussian, Mechanism as _};

    /// All choices of this number of places below `places`.
    fn choices(places: usize, count: usize) -> Vec<Vec<usize>> {
        let mut choices = vec![Vec::new()];
        for _ in 0..count {
            let longer = |choice: &Vec<usize>| {
                let from = choice.last().map_or(0, |last| last + 1);
                (from..places).map(|place| [&choice[..], &[place]].concat()).collect::<Vec<_>>()
            };
            choices = choices.iter().flat_map(longer).collect();
        }
        choices
    }

    // Refutes a check that leaves a residual out, takes several combinations for one, or does not see that fewer may cost more: budgets
    // that are a little too small for the noise are refused.
    #[test]
    fn a_price_is_of_all_residuals() {
        let tables = [&["a", "b"][..], &["b"]];
        for (sizes, tables, keys) in [
            (&[("a", 3), ("b", 4)][..], &tables[..], 1),
            (&[("a", 3), ("b", 4)], &tables, 3),
            (&[("a", 6)], &[&["a"]], 6),
        ] {
            let counts = counts(Bound::keys(keys), sizes, tables);
            let prepared = Gaussian::rho(0.1).prepare(&counts).unwrap();
            let within = |rho: f64| {
                let budget = BudgetUnits::at_most_float("rho", rho).unwrap();
                cost_within(budget, &prepared.residuals, keys, counts.tables())
            };
            assert!(within(0.1) && !within(0.1 * (1.0 - 1e-5)), "{sizes:?} {keys}");
        }
    }

    // Refutes a price that some person exceeds: all choices of up to so many combinations are added up; and noise for all of them in
    // one cell, which is more than anybody needs. Where tables
    // share no attribute the bound is not always reached.
    #[test]
    fn no_combinations_cost_more_than_the_price() {
        let costs = [Gaussian::rho(0.1), Gaussian::cost(&PrivacyCost::gaussian(0.447_213_595_5).unwrap())];
        for (sizes, tables, keys, reached) in [
            (&[("a", 6)][..], &[&["a"][..]][..], 4, 0.0999),
            (&[("a", 6)], &[&["a"]], 6, 0.09),
            (&[("a", 6)], &[&["a"], &[]], 3, 0.0999),
            (&[("a", 3), ("b", 4)], &[&["a", "b"], &["b"]], 3, 0.0999),
            (&[("a", 3), ("b", 4)], &[&["a"], &["b"]], 4, 0.09),
            (&[("a", 2), ("b", 2), ("c", 3)], &[&["a", "b"], &["b", "c"], &["a", "c"]], 4, 0.085),
            (&[("a", 2), ("b", 2)], &[&["a"], &["b"]], 9, 0.097),
        ] {
            let counts = counts(Bound::keys(keys).per_key(2), sizes, tables);
            let sizes: Vec<usize> = sizes.iter().map(|(_, size)| *size).collect();
            let combined = odometer(&sizes);
            for gaussian in &costs {
                let prepared = gaussian.prepare(&counts).unwrap();
                let cost = |residual: &Residual, chosen: &[usize]| -> f64 {
                    let mut numbers = vec![0_i128; residual.sizes.iter().product()];
                    for places in chosen.iter().map(|choice| &combined[*choice]) {
                        let own = residual.of.iter().zip(&residual.sizes);
                        numbers[own.fold(0, |at, (attribute, size)| at * size + places[attribute])] += 2;
                    }
                    contrasts(&mut numbers, &residual.sizes);
                    let squared: i128 = numbers.iter().map(|number| number * number).sum();
                    squared as f64 / 2.0 / residual.noise.scale().powi(2)
                };
                let chosen =
                    (1..=combined.len().min(keys as usize)).flat_map(|count| choices(combined.len(), count));
                let of =
                    |chosen: Vec<usize>| prepared.residuals.iter().map(|own| cost(own, &chosen)).sum::<f64>();
                let most = chosen.map(of).fold(0.0, f64::max);
                assert!((reached..=0.1 * (1.0 + 1e-9)).contains(&most), "{sizes:?} {tables:?}: {most}");
            }
        }
    }
}
