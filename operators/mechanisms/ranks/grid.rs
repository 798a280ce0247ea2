//! The grid of a largest value or a quantile: a public list of answers, in order, fixed before there is data.

use std::fmt;
use std::sync::Arc;

use dashu_int::UBig;

use crate::canonical::Canonical;
use crate::invalid::{Invalid, InvalidKind};

/// The number of points of a log grid between a power of two and the next.
const PER_DOUBLING: usize = 16;

/// The most answers: this number of cells, each of the largest weight, still add up to less than 2^127.
const MOST: u128 = 1 << 40;

/// The public, ascending list of possible answers, at least two of them.
///
/// Answers have the indexes `1..=top`. Index 0 is a sentinel below every possible value: it is never an
/// answer, and makes the first one possible. A value above the last point counts as the last.
///
/// ```
/// use discreet::mechanisms::Grid;
///
/// let grid = Grid::linear(0, 1000, 5)?;
/// assert_eq!((grid.points(), grid.comparisons()), (202, 8));
/// assert_eq!(grid.ceiling(12), 4);
/// assert_eq!(grid.at(4), Some(15));
/// assert_eq!(grid.at(0), None);
/// # Ok::<(), discreet::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    name: GridName,
    points: Points,
}

/// The form in which the grid was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum GridName {
    Log,
    LogFromZero,
    Linear,
    List,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Points {
    /// As many as there are, of which none is held.
    Even {
        low: i64,
        step: u64,
        top: u64,
    },
    Listed(Arc<[i64]>),
}

impl Grid {
    /// Every whole number within 4.5%: 0, `ceil(2^(i/16))` for every `i` up to the end of `i64`, and the same
    /// below zero.
    pub fn log() -> Grid {
        let sizes = sizes();
        let below = sizes.iter().rev().map(|&size| end(-i128::from(size)));
        Grid::listed(
            GridName::Log,
            below.chain([0]).chain(sizes.iter().map(|&size| end(size.into()))).collect(),
        )
    }

    /// The upper half of [`Grid::log`], from 0 on. What is below zero counts as zero.
    pub fn log_from_zero() -> Grid {
        let sizes = sizes().into_iter().map(|size| end(size.into()));
        Grid::listed(GridName::LogFromZero, [0].into_iter().chain(sizes).collect())
    }

    /// `low`, `low + step`, and so on up to `high`, which need not be one of them. No list is held.
    ///
    /// # Errors
    /// Names `step` where it is zero or leaves more than 2^40 answers, and `grid` where it leaves fewer than
    /// two.
    pub fn linear(low: i64, high: i64, step: u64) -> Result<Grid, Invalid> {
        if step == 0 {
            return Err(Invalid::new("step", InvalidKind::Zero, "a number above 0"));
        }
        let width = i128::from(high) - i128::from(low);
        match u128::try_from(width).map(|width| width / u128::from(step) + 1) {
            Err(_) | Ok(..2) => Err(few()),
            Ok(top @ ..=MOST) => {
                Ok(Grid { name: GridName::Linear, points: Points::Even { low, step, top: top as u64 } })
            }
            Ok(_) => {
                Err(Invalid::new("step", InvalidKind::TooSmall, "a step that leaves at most 2^40 answers"))
            }
        }
    }

    /// These points.
    ///
    /// # Errors
    /// Names `grid` where there are fewer than two, or one is not above the one before.
    pub fn list(points: impl IntoIterator<Item = i64>) -> Result<Grid, Invalid> {
        let points: Arc<[i64]> = points.into_iter().collect();
        if !points.windows(2).all(|pair| pair[0] < pair[1]) {
            return Err(Invalid::new("grid", InvalidKind::Mixed, "whole numbers, each above the one before"));
        }
        if points.len() < 2 {
            return Err(few());
        }
        Ok(Grid::listed(GridName::List, points))
    }

    fn listed(name: GridName, points: Arc<[i64]>) -> Grid {
        Grid { name, points: Points::Listed(points) }
    }

    /// The index of the last answer: how many there are.
    pub fn top(&self) -> u64 {
        match &self.points {
            Points::Even { top, .. } => *top,
            Points::Listed(points) => points.len() as u64,
        }
    }

    /// Returns the number of points, including the sentinel.
    pub fn points(&self) -> u64 {
        self.top() + 1
    }

    /// Returns the points in reverse order, `-1 - point` each, which every point has within 64 bits.
    pub(super) fn reversed(&self) -> Grid {
        let points = match &self.points {
            Points::Even { low, step, top } => {
                Points::Even { low: !self.at(*top).unwrap_or(*low), step: *step, top: *top }
            }
            Points::Listed(points) => Points::Listed(points.iter().rev().map(|point| !point).collect()),
        };
        Grid { name: self.name, points }
    }

    /// Returns the most comparisons of a binary search from the sentinel to the last answer: the number of
    /// bits of `top - 1`.
    pub fn comparisons(&self) -> u32 {
        u64::BITS - (self.top() - 1).leading_zeros()
    }

    /// The answer of this index, from 1 on.
    pub fn at(&self, index: u64) -> Option<i64> {
        let place = index.checked_sub(1)?;
        match &self.points {
            Points::Even { low, step, top } => {
                (index <= *top).then(|| low.saturating_add_unsigned(place.saturating_mul(*step)))
            }
            Points::Listed(points) => points.get(usize::try_from(place).ok()?).copied(),
        }
    }

    /// The least index from 1 on whose point is at or above `value`; `top + 1` where none is.
    pub fn ceiling(&self, value: i64) -> u64 {
        match &self.points {
            Points::Even { low, .. } if value <= *low => 1,
            // No more than `top` is kept, so that one more can be added.
            Points::Even { low, step, top } => value.abs_diff(*low).div_ceil(*step).min(*top) + 1,
            Points::Listed(points) => points.partition_point(|&point| point < value) as u64 + 1,
        }
    }

    /// All that it is, behind what is there already.
    #[allow(dead_code)]
    pub(crate) fn canonical(&self, form: Canonical) -> Canonical {
        match &self.points {
            Points::Even { low, step, top } => {
                let form = form.text("even points").number(*low);
                form.bytes(&step.to_be_bytes()).bytes(&top.to_be_bytes())
            }
            Points::Listed(points) => {
                let form = form.text("points").bytes(&(points.len() as u64).to_be_bytes());
                points.iter().fold(form, |form, &point| form.number(point))
            }
        }
    }
}

/// So that `Grid::linear(0, 5, 1)` stands where a grid is asked for, and what is wrong with it is said there.
impl TryFrom<Result<Grid, Invalid>> for Grid {
    type Error = Invalid;

    fn try_from(grid: Result<Grid, Invalid>) -> Result<Grid, Invalid> {
        grid
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name, &self.points) {
            (GridName::Log, _) => f.write_str("a log grid, 16 points a doubling, above and below zero"),
            (GridName::LogFromZero, _) => f.write_str("a log grid from zero, 16 points a doubling"),
            (_, Points::Even { low, step, top }) => {
                let high = self.at(*top).unwrap_or(*low);
                write!(f, "{top} points from {low} to {high} in steps of {step}")
            }
            (_, Points::Listed(points)) => match &points[..] {
                [low, .., high] => write!(f, "{} listed points from {low} to {high}", points.len()),
                _ => f.write_str("listed points"),
            },
        }
    }
}

/// `ceil(2^(i/16))` for every whole `i` up to 2^63, each once.
fn sizes() -> Vec<u64> {
    // 2^(j/16) is a whole number for j = 0 alone. Of any other its 63 first bits behind the point, cut off,
    // give the floors of all doublings, and the ceiling is one more.
    let leading = |part: usize| (UBig::ONE << (63 * PER_DOUBLING + part)).nth_root(PER_DOUBLING);
    let parts: Vec<u64> =
        (0..PER_DOUBLING).map(|part| u64::try_from(&leading(part)).unwrap_or(u64::MAX)).collect();
    let ceiling = |exponent: usize| {
        let (whole, part) = (exponent / PER_DOUBLING, exponent % PER_DOUBLING);
        (parts[part] >> (63 - whole)) + u64::from(part > 0)
    };
    let mut sizes: Vec<u64> = (0..=63 * PER_DOUBLING).map(ceiling).collect();
    sizes.dedup();
    sizes
}

/// A number within `i64`, or the end that it is beyond.
fn end(number: i128) -> i64 {
    number.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

fn few() -> Invalid {
    Invalid::new("grid", InvalidKind::TooSmall, "at least two points, the first below the last")
}

#[cfg(test)]
mod tests;
