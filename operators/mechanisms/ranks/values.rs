//! All values of a key, in which a quantile is found.

#[cfg(feature = "cli")]
use super::choose;
#[cfg(feature = "cli")]
use super::quantiles::Quantile;
use serde::{Deserialize, Serialize};

use super::grid::Grid;
use crate::invalid::{Invalid, InvalidKind};
use crate::mechanisms::statistic::Summary;
use crate::noise::{FairBits, NoiseSource};

/// The values that people have in one key, in runs that are each in order. Prints as `<private>`.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct RankedValues {
    people: u64,
    values: Vec<i64>,
}

impl RankedValues {
    /// Takes in what one person has: at most as many values as a person may.
    #[inline]
    pub fn add(&mut self, values: &[i64]) {
        self.people = self.people.wrapping_add(1);
        self.values.extend_from_slice(values);
    }

    /// Takes people out who were taken in.
    pub(crate) fn remove(&mut self, other: &RankedValues) {
        self.people = self.people.wrapping_sub(other.people);
        let mut gone = other.clone().sorted().into_iter().peekable();
        self.values.sort();
        self.values.retain(|value| gone.next_if_eq(value).is_none());
    }

    /// Puts all of it in order: one run.
    pub fn settle(&mut self) {
        self.values.sort_unstable();
    }

    /// Returns the memory that it holds. It is private, as all of it is.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.values.capacity() * size_of::<i64>()
    }

    /// All values in order. The sort finds the runs that workers have put in order, and merges them.
    pub(in crate::mechanisms) fn sorted(mut self) -> Vec<i64> {
        self.values.sort();
        self.values
    }
}

/// For demonstrations, which show the truth.
#[cfg(feature = "cli")]
impl RankedValues {
    /// The quantile; and by how many values the rank of an answer is off.
    pub(crate) fn shown_in_a_demo(&self, quantile: Quantile, answer: i64) -> (Option<i64>, u64) {
        let sorted = self.clone().sorted();
        (choose::exact(&sorted, quantile), choose::off(&sorted, answer, quantile))
    }
}

impl Summary for RankedValues {
    fn people(&self) -> u64 {
        self.people
    }

    fn join(&mut self, mut other: RankedValues) {
        self.people = self.people.wrapping_add(other.people);
        if self.values.is_empty() {
            std::mem::swap(&mut self.values, &mut other.values);
        }
        self.values.append(&mut other.values);
    }

    #[cfg(test)]
    fn shown(&self) -> Vec<i128> {
        let values = self.clone().sorted().into_iter().map(i128::from);
        [self.people.into()].into_iter().chain(values).collect()
    }
}

redacted!(RankedValues);

// An order among equal values, so that what is below a cut and what is not are two parts of any size.
//
// Splitting needs a cut that leaves half of the values below. Where a thousand people gave five stars there
// is none among the stars. So each point of the grid becomes `2^bits` cells, and each value lies in one of
// those of its point: its low bits are drawn, for it alone. Cuts are between cells.
//
// **It costs nothing.** The bits are independent of all data, and everybody's have the same law whoever else
// is there. Fix those of all values: the cells of two neighbours then differ in what one person left, as
// their values do, and whatever is private for cells is private for these. Averaged over the bits it is no
// less so, in any of the currencies here.
//
// A value between two points lies in the cells of the upper one, and one above the last point in those of the
// last: a point has as many values at or below it as before. Values in the same cell stay together. Of `n`
// equal values about `n / 2^bits` are in each, with 20 bits one in a million.

/// The most cells, for the same reason as the most points of a grid.
const MOST: u64 = 1 << 40;

/// More bits would leave fewer values together, but the promise of accuracy counts all cells: each costs `ln
/// 2` of scale.
const ENOUGH: u32 = 20;

/// With fewer, hundreds of equal values would stay together.
const LEAST: u32 = 8;

/// Returns the number of bits of each value.
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
