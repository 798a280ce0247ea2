//! An order among equal values, so that what is below a cut and what is not are two parts of any size.
//!
//! Splitting needs a cut that leaves half of the values below. Where a thousand people gave five stars there is none among
//! the stars. So each point of the grid becomes `2^bits` cells, and each value lies in one of those of its point: its low
//! bits are drawn, for it alone. Cuts are between cells.
//!
//! **It costs nothing.** The bits are independent of all data, and everybody's have the same law whoever else is there. Fix
//! those of all values: the cells of two neighbours then differ in what one person left, as their values do, and whatever is
//! private for cells is private for these. Averaged over the bits it is no less so, in any of the currencies here.
//!
//! A value between two points lies in the cells of the upper one, and one above the last point in those of the last: a
//! point has as many values at or below it as before. Values in the same cell stay together. Of `n` equal values about
//! `n / 2^bits` are in each, with 20 bits one in a million.

use super::grid::Grid;
use crate::invalid::{Invalid, InvalidKind};
use crate::noise::NoiseSource;

/// The most cells, for the same reason as the most points of a grid.
const MOST: u64 = 1 << 40;

/// More bits would leave fewer values together, but the promise of accuracy counts all cells: each costs `ln 2` of scale.
const ENOUGH: u32 = 20;

/// With fewer, hundreds of equal values would stay together.
const LEAST: u32 = 8;

/// How many bits each value gets.
///
/// # Errors
/// Names `grid` where there is no place for eight.
pub(super) fn bits(grid: &Grid) -> Result<u32, Invalid> {
    let fit = (MOST / grid.top()).checked_ilog2().unwrap_or(0);
    if fit < LEAST {
        return Err(Invalid::new(
            "grid",
            InvalidKind::TooLarge,
            "at most 2^32 points for more than two quantiles",
        ));
    }
    Ok(fit.min(ENOUGH))
}

/// The cells of sorted values, sorted.
pub(super) fn cells(sorted: &[i64], grid: &Grid, bits: u32, noise: &mut NoiseSource) -> Vec<u64> {
    let cell = |value: &i64| {
        let place = grid.ceiling(*value).min(grid.top()) - 1;
        place << bits | noise.word() >> (u64::BITS - bits)
    };
    let mut cells: Vec<u64> = sorted.iter().map(cell).collect();
    // They are in order already, but for those of one point.
    cells.chunk_by_mut(|a, b| a >> bits == b >> bits).for_each(|chunk| chunk.sort_unstable());
    cells
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::noise::goodness::chi_squared;

    // Refutes bits that favour a cell, and a value that leaves its point.
    #[test]
    fn equal_values_are_spread_evenly_over_the_cells_of_their_point() {
        let grid = Grid::list([0, 10, 20]).unwrap();
        let values = [vec![-7; 1000], vec![0; 1000], vec![3; 500], vec![10; 5500], vec![99; 2000]].concat();
        let cells = cells(&values, &grid, 3, &mut NoiseSource::seeded(1));
        assert!(cells.is_sorted());
        let mut counts = vec![0; 24];
        cells.iter().for_each(|&cell| counts[cell as usize] += 1);
        let law: Vec<f64> = (0..24).map(|cell| [0.2, 0.6, 0.2][cell / 8] / 8.0).collect();
        chi_squared(&counts, &law).assert_fits();
        let sums: Vec<u64> = counts.chunks(8).map(|counts| counts.iter().sum()).collect();
        assert_eq!(sums, [2000, 6000, 2000]);
    }

    #[test]
    fn each_value_gets_what_fits() {
        let top = |top: i64| bits(&Grid::linear(1, top, 1).unwrap()).map_err(|refused| refused.kind());
        assert_eq!(top(5), Ok(20));
        assert_eq!(top(1 << 20), Ok(20));
        assert_eq!(top((1 << 20) + 1), Ok(19));
        assert_eq!(top(1 << 32), Ok(8));
        assert_eq!(top((1 << 32) + 1), Err(InvalidKind::TooLarge));
        let grid = Grid::linear(1, 1 << 32, 1).unwrap();
        let cells = cells(&[i64::MIN, 1 << 32, i64::MAX], &grid, 8, &mut NoiseSource::seeded(2));
        assert!(cells[0] < 256 && cells.iter().all(|&cell| cell < MOST) && cells[1] >= MOST - 256);
    }
}
