//! Released cells as typed values: read from the lines in which they were sealed, and never kept from the draw.
//!
//! So a release that is delivered again after a restart has the cells that it had, and a collection of cells that is built
//! from the ledger is the one that was built from the stream.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use ndarray::Array1;

use super::keys::{Key, Label};
use super::mechanism::Sealed;
use super::release_line::{CellLine, CellNoise, LineKey, LineWindow, ReleaseLine, Says};
use crate::accounting::Interval;
use crate::time::moment;

/// A key's released value of one window, with its interval and the noise that is in it.
///
/// Of a vector and of several quantiles a cell has all numbers of its key, each in its place.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReleasedCell<K, V> {
    /// The key; `()` where there are no others.
    pub key: K,
    /// The noised value, as it was drawn: it may be below zero where the truth cannot.
    pub value: V,
    /// The least that the truth may be; `None` where nothing bounds it from below, as for a stable mean, a smallest value, and a
    /// ratio to what may be 0.
    pub low: Option<V>,
    /// The most that the truth may be; `None` where nothing bounds it from above, as for a largest value.
    pub high: Option<V>,
    /// The probability, for this cell by itself, that the truth is in the interval.
    pub confidence: f64,
    /// True if the interval holds the number after the contribution bound and the range, which may have left something out.
    pub bounded: bool,
    /// True if there were too few people for an answer.
    pub insufficient: bool,
    /// The spans of windows that a running total leaves out.
    pub gaps: Arc<[Interval]>,
    /// The noise of each number: one of a total; the sum's, then the count's of a mean, or those of both sums of distances from
    /// the ends of its range; each coordinate's sum, and then the count's of a vector; one of each quantile.
    pub noise: Arc<[ReleasedNoise]>,
}

/// The noise of a released number.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReleasedNoise {
    /// The name of the number, where a cell has several: `sum`, `records`.
    pub number: Option<String>,
    /// The law: `gaussian`, `laplace`, `exponential` and so on.
    pub kind: String,
    /// The scale of the law, in units of the number; in people where it is found by its rank.
    pub scale: f64,
    /// The number of people above a largest value that it aims at: at most twice as many are above it; below a smallest one.
    pub tau: Option<u64>,
    /// The number of noised comparisons by which a value was found.
    pub comparisons: Option<u64>,
    /// The fraction of the quantile that it is found for.
    pub quantile: Option<f64>,
    /// The number of people by which a quantile may be off.
    pub rank_error: Option<u64>,
    /// The number up to which an alert is silent.
    pub above: Option<u64>,
    /// The number from which on an alert fires.
    pub surely: Option<u64>,
    /// The alarms that an alert has left after the window.
    pub alarms_left: Option<u32>,
    /// The distance by which the number of a picked key may be below the largest that was left.
    pub within: Option<u64>,
    /// The strategy that correlates the noise of running totals.
    pub strategy: Option<String>,
    /// The standard deviation over the least that is possible at the same price, where it is known.
    pub over_bound: Option<f64>,
    /// The step of the public grid on which a stable mean is released.
    pub grid: Option<f64>,
    /// The assumption that is made and not proved.
    pub assumes: Option<String>,
}

/// A value that a key is released with: a whole number, a float, or several of them.
///
/// The trait is sealed: the statistic and its mechanism decide it ([`Prepared::Value`](super::Prepared::Value)).
pub trait ReleasedValue: Sealed + Clone + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// Reads it from the numbers of a key, as they are written.
    #[doc(hidden)]
    fn read(numbers: &[&str]) -> Option<Self>;
}

macro_rules! one_number {
    ($($number:ty),*) => {$(
        impl Sealed for $number {}

        impl ReleasedValue for $number {
            fn read(numbers: &[&str]) -> Option<$number> {
                let [number] = numbers else { return None };
                number.parse().ok()
            }
        }

        impl Sealed for Array1<$number> {}

        /// In the order in which they were asked for.
        impl ReleasedValue for Array1<$number> {
            fn read(numbers: &[&str]) -> Option<Array1<$number>> {
                numbers.iter().map(|number| number.parse().ok()).collect()
            }
        }
    )*};
}

// The parsers of the standard library are exact.
one_number!(i128, f64);

/// Reads the cells of a released window from its lines; `None` if they are not of these types.
pub(crate) fn read_cells<K: Key, V: ReleasedValue>(lines: &str) -> Option<Vec<ReleasedCell<K, V>>> {
    let lines = lines.split('\n').filter(|line| !line.is_empty());
    let read = lines.map(|line| match ReleaseLine::read(line)?.says {
        Says::Cell(cell) => Some(cell),
        _ => None,
    });
    let read: Vec<Box<CellLine<'_>>> = read.collect::<Option<_>>()?;
    let mut former = None;
    read.chunk_by(|one, other| one.key == other.key).map(|lines| cell(lines, &mut former)).collect()
}

/// The noise of the former cell, and its text: that of most cells of a window is the same.
type NoiseOf<'a> = Option<(Vec<(Option<&'a str>, &'a str)>, Arc<[ReleasedNoise]>)>;

fn cell<'a, K: Key, V: ReleasedValue>(
    lines: &[Box<CellLine<'a>>],
    former: &mut NoiseOf<'a>,
) -> Option<ReleasedCell<K, V>> {
    let first = lines.first()?;
    let label = match &first.key {
        None => Label::Whole,
        Some(LineKey::Number(number)) => Label::Number(number.parse().ok()?),
        Some(LineKey::Text(text)) => Label::Text((&**text).into()),
        Some(LineKey::Texts { parts, .. }) => Label::Texts(parts.iter().map(|part| part.into()).collect()),
    };
    let numbers = |number: fn(&CellLine<'a>) -> Option<&'a str>| {
        lines.iter().map(|line| number(line)).collect::<Option<Vec<&str>>>()
    };
    // An end of one number alone bounds no cell.
    let end = |end: Option<Vec<&str>>| match end {
        Some(end) => V::read(&end).map(Some),
        None => Some(None),
    };
    let texts: Vec<_> = lines.iter().map(|line| (line.q, line.noise_text)).collect();
    if former.as_ref().is_none_or(|(known, _)| *known != texts) {
        *former = Some((texts, noise_of(lines)?));
    }
    Some(ReleasedCell {
        key: K::from_label(&label)?,
        value: V::read(&numbers(|line| line.value)?)?,
        low: end(numbers(|line| line.low))?,
        high: end(numbers(|line| line.high))?,
        confidence: first.confidence.parse().ok()?,
        bounded: first.interval_of.is_some(),
        insufficient: lines.iter().any(|line| line.insufficient),
        gaps: first.gaps.iter().map(span).collect::<Option<_>>()?,
        noise: Arc::clone(&former.as_ref()?.1),
    })
}

/// A span of windows; one without an end goes on for ever.
fn span(window: &LineWindow<'_>) -> Option<Interval> {
    let end = match window.end {
        Some(end) => moment(end)?,
        None => i64::MAX,
    };
    Interval::new(moment(window.start?)?, end).ok()
}

/// The noises of a key's lines: the own one of each, and then what all have in common.
fn noise_of(lines: &[Box<CellLine<'_>>]) -> Option<Arc<[ReleasedNoise]>> {
    let own = lines.iter().map(|line| ReleasedNoise::of(line.noise.first()?, line.q));
    let common = lines.first()?.noise.iter().skip(1).map(|noise| ReleasedNoise::of(noise, None));
    own.chain(common).collect()
}

impl ReleasedNoise {
    fn of(noise: &CellNoise<'_>, quantile: Option<&str>) -> Option<ReleasedNoise> {
        // What is there must be a number.
        let float = |text: Option<&str>| text.map(str::parse).transpose().ok();
        let text = |text: &Option<Cow<'_, str>>| text.as_deref().map(str::to_owned);
        let crossing = noise.crossing();
        Some(ReleasedNoise {
            number: text(&noise.number),
            kind: noise.kind.clone().into_owned(),
            scale: noise.scale().parse().ok()?,
            tau: noise.tau,
            comparisons: noise.comparisons,
            quantile: float(quantile)?,
            rank_error: noise.rank_error().map(str::parse).transpose().ok()?,
            above: crossing.map(|crossing| crossing.above()),
            surely: crossing.map(|crossing| crossing.surely()),
            alarms_left: crossing.map(|crossing| crossing.left()),
            within: noise.within,
            strategy: text(&noise.strategy),
            over_bound: float(noise.over_bound())?,
            grid: float(noise.grid())?,
            assumes: text(&noise.assumes),
        })
    }
}

#[cfg(test)]
mod tests;
