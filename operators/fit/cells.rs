//! The parts of a released line that a fit reads: its series, its window, and the variance of its noise.

use super::{Fit, Measurement};
use crate::accounting::GaussianCost;
use crate::mechanisms::release_line::{CellLine, CellNoise, LineKey, LineWindow};
use crate::time::{Time, at};

/// The sizes of numbers of which squares, and sums and quotients of them, are numbers again.
const SIZES: std::ops::RangeInclusive<f64> = 1e-60..=1e60;

/// The name of a series within a release: the key, whether it is the parent of others, and the field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SeriesName {
    /// The fields of one level are drawn together.
    pub(super) level: (bool, Option<String>),
    key: Option<String>,
}

impl SeriesName {
    pub(super) fn of(cell: &CellLine<'_>) -> SeriesName {
        let field = cell.of.as_ref().map(LineKey::text).map(str::to_owned);
        SeriesName { level: (cell.rollup, field), key: cell.key_text().map(Into::into) }
    }
}

/// The window of a line, with the id of the release: another version answers it anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WindowId {
    pub(super) start: Option<Time>,
    end: Option<Time>,
    id: String,
}

impl WindowId {
    pub(super) fn of(window: LineWindow<'_>, id: &str) -> WindowId {
        let [start, end] = [window.start, window.end].map(|text| at(text?).ok());
        WindowId { start, end, id: id.to_owned() }
    }

    /// Returns true of the window of a line that has no id.
    pub(super) fn is_of(&self, window: LineWindow<'_>) -> bool {
        *self == WindowId::of(window, &self.id)
    }

    /// The number of windows from another one to this one, at least one: its time in lengths of this window.
    pub(super) fn behind(&self, before: &WindowId) -> f64 {
        let lengths = || {
            let (start, length) = (self.start?, self.end?.checked_sub(self.start?)?);
            Some(start.checked_sub(before.start?)? as f64 / length as f64)
        };
        lengths().filter(|lengths| lengths.is_finite()).map_or(1.0, |lengths| lengths.round().max(1.0))
    }
}

/// The value of a line with the variance of its noise, as far as the line states both.
pub(super) fn measured(cell: &CellLine<'_>) -> Option<Measurement> {
    if cell.insufficient || is_ranked(cell) {
        return None;
    }
    let value: f64 = cell.value?.parse().ok()?;
    let deviation = deviation(cell)?;
    let is_of_size = value.abs() <= *SIZES.end() && SIZES.contains(&deviation);
    is_of_size.then_some(Measurement { value, variance: deviation * deviation })
}

/// The standard deviation of the noise of a cell: of one number that of its law, and of several as if the interval were that of a
/// normal law around the value, with the longer of its sides. Discrete Laplace noise is a little narrower than said here.
fn deviation(cell: &CellLine<'_>) -> Option<f64> {
    if let [noise @ CellNoise { number: None, .. }] = &cell.noise[..] {
        let scale: f64 = noise.scale().parse().ok()?;
        return match &*noise.kind {
            kind if kind.ends_with("gaussian") => Some(scale),
            "laplace" => Some(std::f64::consts::SQRT_2 * scale),
            _ => None,
        };
    }
    let [value, low, high] = [cell.value, cell.low, cell.high].map(|text| text?.parse::<f64>().ok());
    let (value, low, high) = (value?, low?, high?);
    let one = GaussianCost::largest(1.0, 1, cell.confidence.parse().ok()?).ok()?;
    Some((value - low).max(high - value) / one)
}

fn is_ranked(cell: &CellLine<'_>) -> bool {
    let is_searched = |noise: &CellNoise<'_>| noise.comparisons.is_some() || noise.assumes.is_some();
    cell.q.is_some() || cell.ranked().is_some() || cell.noise.iter().any(is_searched)
}

/// Returns what makes the lines of a release unfit for a fit, and what to give instead.
pub(super) fn unfit(fit: Fit, cell: &CellLine<'_>) -> Option<(&'static str, &'static str)> {
    let is_one = matches!(&cell.noise[..], [CellNoise { number: None, .. }]);
    if cell.fitted.is_some() {
        return Some((
            "lines that have a fitted value",
            "the lines as they were released, and one fit for each release",
        ));
    }
    if is_ranked(cell) {
        return Some((
            "values that are chosen by their rank or their shape, whose noise has no deviation",
            "a release of counts, people, sums or means",
        ));
    }
    if is_one && cell.value.is_some() && deviation(cell).is_none() {
        return Some((
            "noise of which the lines state no deviation",
            "a release with Gaussian or Laplace noise",
        ));
    }
    match (fit, cell.total.as_deref()) {
        (Fit::Filter(_) | Fit::Smooth(_), Some(_)) => Some((
            "totals of several windows, which share their noise",
            "a release of windows by themselves, or --monotone for totals so far",
        )),
        (Fit::Monotone, Some("so far")) if is_one => None,
        (Fit::Monotone, Some("so far")) => Some((
            "totals that are made of several numbers, and may fall",
            "a release of counts, people or sums",
        )),
        (Fit::Monotone, _) => Some((
            "numbers that may fall",
            "a release of totals so far (running = true without over), or --smooth RELEASE=DEVIATION",
        )),
        (Fit::Shrink, _) if cell.key.is_none() => {
            Some(("numbers without a key", "a release with keys, or --filter RELEASE=DEVIATION"))
        }
        _ => None,
    }
}
