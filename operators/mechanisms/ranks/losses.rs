//! How far each answer is from a quantile, in whole numbers.

use super::choose::EqualLossRun;
use super::grid::Grid;
use super::quantile::Quantile;

/// The losses of all points of a grid, in order, for the quantile `a/q` of these values, which are sorted.
///
/// The loss of a point is `q` times the number of values by which its rank is off,
///
/// ```text
/// max(0, (q - a) below - a (at + above), a above - (q - a) (below + at)),
/// ```
///
/// where `below`, `at` and `above` count values, not points: what lies between two points, or beyond the last, counts where
/// it is. One value more or less moves it by at most `max(a, q - a)`.
pub(super) fn by_value(sorted: &[i64], grid: &Grid, quantile: Quantile) -> Vec<EqualLossRun> {
    let mut runs = Runs(Vec::new());
    // Points below `next` have their run; `below` values are below all of the others.
    let (mut next, mut below) = (1, 0);
    let loss = |below, above| distance(quantile, below, sorted.len() - below - above, above);
    while let Some(&value) = sorted.get(below) {
        let index = grid.ceiling(value);
        let Some(point) = grid.at(index) else { break };
        runs.push(index - next, loss(below, sorted.len() - below));
        while sorted.get(below).is_some_and(|&value| value < point) {
            below += 1;
        }
        let mut up_to = below;
        while sorted.get(up_to) == Some(&point) {
            up_to += 1;
        }
        runs.push(1, loss(below, sorted.len() - up_to));
        (next, below) = (index + 1, up_to);
    }
    runs.push(grid.points() - next, loss(below, sorted.len() - below));
    runs.0
}

/// The losses of the cells from `low` to `high`, both included, for the quantile `a/q` of values that are sorted cells
/// from there: `|(q - a) below - a (at + above)|`. It is the distance from a cut that has the cell itself on its upper
/// side. One value more or less moves it by at most `max(a, q - a)`.
pub(super) fn by_cut(sorted: &[u64], low: u64, high: u64, quantile: Quantile) -> Vec<EqualLossRun> {
    let mut runs = Runs(Vec::with_capacity(sorted.len() + 1));
    let mut next = low;
    for (below, end) in sorted.iter().map(|cell| cell + 1).chain([high + 1]).enumerate() {
        // Cells that this many values are below.
        let loss = distance(quantile, below, 0, sorted.len() - below);
        runs.push(end.saturating_sub(next), loss);
        next = next.max(end);
    }
    runs.0
}

/// By how many values the rank of an answer is off, rounded up.
#[cfg(any(test, feature = "cli"))]
pub(super) fn off(sorted: &[i64], answer: i64, quantile: Quantile) -> u64 {
    let below = sorted.partition_point(|&value| value < answer);
    let up_to = sorted.partition_point(|&value| value <= answer);
    distance(quantile, below, up_to - below, sorted.len() - up_to).div_ceil(quantile.denominator())
}

/// The least value whose rank is not off.
#[cfg(any(test, feature = "cli"))]
pub(super) fn exact(sorted: &[i64], quantile: Quantile) -> Option<i64> {
    let rank =
        (sorted.len() as u128 * u128::from(quantile.numerator())).div_ceil(quantile.denominator().into());
    sorted.get(usize::try_from(rank).ok()?.checked_sub(1)?).copied()
}

/// Ranks stay below 2^64, and are multiplied by at most 10^6.
fn distance(quantile: Quantile, below: usize, at: usize, above: usize) -> u64 {
    let (a, rest) = (quantile.numerator(), quantile.denominator() - quantile.numerator());
    let times = |factor: u64, count: usize| u128::from(factor) * count as u128;
    let high = times(rest, below).saturating_sub(times(a, at + above));
    let low = times(a, above).saturating_sub(times(rest, below + at));
    u64::try_from(high.max(low)).unwrap_or(u64::MAX)
}

/// Runs on their way, neighbours of equal loss joined.
struct Runs(Vec<EqualLossRun>);

impl Runs {
    fn push(&mut self, cells: u64, loss: u64) {
        match self.0.last_mut() {
            _ if cells == 0 => {}
            Some(last) if last.loss == loss => last.cells += cells,
            _ => self.0.push(EqualLossRun { cells, loss }),
        }
    }
}

#[cfg(test)]
mod tests;
