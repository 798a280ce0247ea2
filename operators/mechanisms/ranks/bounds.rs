//! Where nearly all values of a key are: between two quantiles, each chosen by its rank.

use super::grid::Grid;
use super::quantile::Quantile;
use super::share::ChoiceRule;
use super::split::{KeyQuantiles, Splitting};
use crate::invalid::Invalid;
use crate::mechanisms::spend::Spend;
use crate::noise::NoiseSource;

/// Two quantiles among the points of an even grid, by the exponential mechanism.
#[derive(Clone, Debug)]
pub(in crate::mechanisms) struct QuantileBounds {
    splitting: Splitting,
    grid: Grid,
}

/// The most points, of the finest grid.
const POINTS: u64 = 1 << 40;

impl QuantileBounds {
    /// Of these two, the first below the second, on all whole numbers of a range, or on as many of them as a grid may have. A
    /// person has at most `per_key` values, and all of `spend` is for them.
    ///
    /// # Errors
    /// Names `bound` where a person moves ranks too far, and `epsilon` where too little is left for a choice.
    pub(in crate::mechanisms) fn new(
        quantiles: [Quantile; 2],
        (low, high): (i64, i64),
        per_key: u64,
        spend: Spend,
    ) -> Result<QuantileBounds, Invalid> {
        let grid = Grid::linear(low, high, high.abs_diff(low).div_ceil(POINTS - 1).max(1))?;
        let asked = KeyQuantiles {
            quantiles: &quantiles,
            grid: &grid,
            per_key,
            rule: ChoiceRule::Exponential,
            spend,
        };
        Ok(QuantileBounds { splitting: Splitting::new(&asked)?, grid })
    }

    /// By how many values the rank of either may be off, at this confidence.
    ///
    /// # Errors
    /// Names `confidence` where nothing can be promised at it.
    pub(in crate::mechanisms) fn rank_error(&self, confidence: f64) -> Result<u64, Invalid> {
        let accuracies = self.splitting.accuracies(confidence)?;
        Ok(accuracies.iter().map(|accuracy| accuracy.rank_error).max().unwrap_or(0))
    }

    /// Both, from all values in order. It asks for two choices, whatever they are.
    pub(in crate::mechanisms) fn draw(&self, sorted: &[i64], noise: &mut NoiseSource) -> (i64, i64) {
        let chosen = self.splitting.draw(sorted, noise);
        let at = |index: Option<&u64>| index.and_then(|&index| self.grid.at(index)).unwrap_or(0);
        (at(chosen.first()), at(chosen.last()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::accounting::BudgetUnits;

    fn bounds(range: (i64, i64), rho: f64) -> Result<QuantileBounds, Invalid> {
        let spend = Spend::Rho(BudgetUnits::at_most_float("rho", rho).unwrap());
        QuantileBounds::new([Quantile::of(1, 100)?, Quantile::of(99, 100)?], range, 1, spend)
    }

    // Refutes a grid that is too fine to be one, or so coarse that it shows, and quantiles that are off by more than is said.
    #[test]
    fn nearly_all_values_lie_between_them() {
        for (low, high) in [(0, 1), (0, 100_000), (-(1 << 40), 1 << 41), (i64::MIN, i64::MAX)] {
            let bounds = bounds((low, high), 0.1).unwrap();
            let off = bounds.rank_error(0.999).unwrap() as usize;
            let width = i128::from(high) - i128::from(low);
            let count = 20 * off;
            let at = |at: usize| (i128::from(low) + width * at as i128 / (count as i128 - 1)) as i64;
            let sorted: Vec<i64> = (0..count).map(at).collect();
            let (first, last) = bounds.draw(&sorted, &mut NoiseSource::seeded(3));
            let below = |value| sorted.partition_point(|&other| other < value);
            assert!(below(first) <= count / 100 + off, "{first}");
            assert!(sorted.partition_point(|&other| other <= last) >= count - count / 100 - off, "{last}");
            assert!(low <= first && first <= last && last <= high);
            let (first, last) = bounds.draw(&[], &mut NoiseSource::seeded(3));
            assert!(low <= first && first <= last && last <= high);
        }
        assert_eq!(bounds((0, 9), 1e-14).unwrap_err().field(), "epsilon");
    }
}
