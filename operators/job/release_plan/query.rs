//! The query of a window: the statistic of a job file, with its field in steps and its keys.

use super::steps::StepSize;
use super::{CellKey, UnfitJob, delta_of, keys, steps};
use crate::accounting::{PrivacyCost, ReleaseCost};
use crate::canonical::Digest;
use crate::invalid::Invalid;
use crate::job::config;
use crate::job::config::{ConfigNumber, MaximumOf, MeasureSpec, ReleaseSpec, StatisticSpec};
use crate::mechanisms::mechanism::Sealed;
use crate::mechanisms::{
    Answer, COUNTING, Cells, ContributionBound, Cut, DecimalPoint, Drawn, Edges, Grid, Inverted, Keys,
    Maximum, Mean, Noised, PerPerson, Quantile, Range, Ready, Searched, Tops, Total,
};
use crate::noise::NoiseSource;

/// The query of a window.
#[derive(Clone, Debug)]
pub(crate) enum WindowQuery {
    /// The number of records.
    Count(Keys<CellKey>),
    /// The number of people.
    People(Keys<CellKey>),
    /// The sum, each person's sum clamped to the range.
    Sum(Range, Keys<CellKey>),
    /// The mean, each record's value clamped to the range.
    Mean(Range, Keys<CellKey>),
    /// The largest value among people, as one of the answers of the grid.
    Max(PerPerson, Grid, Keys<CellKey>),
    /// Quantiles of the values, as answers of the grid.
    Quantiles(Vec<Quantile>, Grid, Keys<CellKey>),
    /// The number of records between two edges; the keys are the buckets.
    Histogram(Edges, DecimalPoint, Keys<CellKey>),
}

impl WindowQuery {
    /// Returns the keys.
    pub(crate) fn keys(&self) -> &Keys<CellKey> {
        match self {
            WindowQuery::Count(keys)
            | WindowQuery::People(keys)
            | WindowQuery::Sum(_, keys)
            | WindowQuery::Mean(_, keys)
            | WindowQuery::Max(_, _, keys)
            | WindowQuery::Quantiles(_, _, keys)
            | WindowQuery::Histogram(_, _, keys) => keys,
        }
    }

    /// Returns the additional cost of a window of which a span of time holds a part.
    pub(super) fn cut(&self, limits: ContributionBound) -> Result<Cut, Invalid> {
        Ok(match self {
            WindowQuery::Count(keys) | WindowQuery::Histogram(_, _, keys) => {
                Total::count(limits, keys.clone())?.cut()
            }
            WindowQuery::People(keys) => Total::people(limits, keys.clone())?.cut(),
            WindowQuery::Sum(range, keys) => Total::sum(*range, limits, keys.clone())?.cut(),
            WindowQuery::Mean(range, keys) => Mean::new(*range, limits, keys.clone())?.cut(COUNTING),
            WindowQuery::Max(..) | WindowQuery::Quantiles(..) => Cut::two_steps(&limits),
        })
    }
}

/// Returns the query of a release, and the field with its decimal point, if it reads one.
pub(super) fn window_query(
    release: &ReleaseSpec,
    cost: &PrivacyCost,
    place: &str,
) -> Result<(WindowQuery, Option<(String, DecimalPoint)>), UnfitJob> {
    let keys = keys_of(release, cost, place)?;
    let range = |measure: &MeasureSpec, size| -> Result<(Range, DecimalPoint), UnfitJob> {
        let MeasureSpec { low, high, .. } = measure;
        steps::of_range(*low, *high, size).map_err(|invalid| UnfitJob::at(format!("{place}.range"), &invalid))
    };
    Ok(match &release.statistic {
        StatisticSpec::Count(_) => (WindowQuery::Count(keys), None),
        StatisticSpec::People(_) => (WindowQuery::People(keys), None),
        StatisticSpec::Sum(measure, _) => {
            let (range, point) = range(measure, StepSize::Reach)?;
            (WindowQuery::Sum(range, keys), Some((measure.of.clone(), point)))
        }
        StatisticSpec::Mean(measure, _) => {
            let (range, point) = range(measure, StepSize::Width)?;
            (WindowQuery::Mean(range, keys), Some((measure.of.clone(), point)))
        }
        StatisticSpec::Histogram { of, edges } => {
            let (edges, point) = edges_of(edges, place)?;
            (WindowQuery::Histogram(edges, point, keys), Some((of.clone(), point)))
        }
        StatisticSpec::Max { each, grid, .. } => {
            let (grid, point) =
                grid_of(grid, each).map_err(|invalid| UnfitJob::at(format!("{place}.grid"), &invalid))?;
            let value = each.of().map(|of| (of.to_owned(), point));
            let each = match each {
                MaximumOf::Greatest(_) => PerPerson::Greatest,
                MaximumOf::Sum(_) => PerPerson::Sum,
                MaximumOf::Count => PerPerson::Records,
            };
            (WindowQuery::Max(each, grid, keys), value)
        }
        StatisticSpec::Quantile(quantiles, _) => {
            let parts = quantiles.q.iter().map(|q| Quantile::of(q.millionths().into(), 1_000_000));
            let parts = parts.collect::<Result<Vec<Quantile>, _>>();
            let parts = parts.map_err(|invalid| UnfitJob::at(format!("{place}.q"), &invalid))?;
            let (grid, point) =
                range_of(quantiles).map_err(|invalid| UnfitJob::at(format!("{place}.range"), &invalid))?;
            (WindowQuery::Quantiles(parts, grid, keys), Some((quantiles.of.clone(), point)))
        }
    })
}

fn edges_of(edges: &[ConfigNumber], place: &str) -> Result<(Edges, DecimalPoint), UnfitJob> {
    steps::of_edges(edges).map_err(|invalid| UnfitJob::at(format!("{place}.edges"), &invalid))
}

/// Returns the answers in steps, and the decimal point of a step.
fn grid_of(grid: &config::GridSpec, each: &MaximumOf) -> Result<(Grid, DecimalPoint), Invalid> {
    // The answers are counts of records, which are whole numbers.
    let finest = if *each == MaximumOf::Count { 0 } else { steps::DIGITS };
    match grid {
        config::GridSpec::Log(digits) => Ok((Grid::log_from_zero(), DecimalPoint::digits(*digits)?)),
        config::GridSpec::SignedLog => Ok((Grid::log(), DecimalPoint::WHOLE)),
        config::GridSpec::Steps { from, to, step } => {
            let (steps, point) = steps::of_answers(&[*from, *to, *step], finest)?;
            Ok((stepped(&steps)?, point))
        }
        config::GridSpec::List(answers) => {
            let (answers, point) = steps::of_answers(answers, finest)?;
            Ok((Grid::list(answers)?, point))
        }
    }
}

/// Returns the answers of quantiles: without a stated step, a million of them or more.
fn range_of(quantiles: &config::QuantilesSpec) -> Result<(Grid, DecimalPoint), Invalid> {
    let config::QuantilesSpec { low, high, step, .. } = quantiles;
    let Some(step) = step else {
        let (range, point) = steps::of_range(*low, *high, StepSize::Width)?;
        return Ok((Grid::linear(range.low(), range.high(), 1)?, point));
    };
    let (steps, point) = steps::of_answers(&[*low, *high, *step], steps::DIGITS)?;
    Ok((stepped(&steps)?, point))
}

/// Returns the grid from the first of three numbers to the second, by the third.
fn stepped(steps: &[i64]) -> Result<Grid, Invalid> {
    match *steps {
        [from, to, step] => Grid::linear(from, to, step.unsigned_abs()),
        _ => Grid::list([]),
    }
}

fn keys_of(release: &ReleaseSpec, cost: &PrivacyCost, place: &str) -> Result<Keys<CellKey>, UnfitJob> {
    let refused = |invalid: Invalid| UnfitJob::at(format!("{place}.keys"), &invalid);
    if let StatisticSpec::Histogram { edges, .. } = &release.statistic {
        let (edges, point) = edges_of(edges, place)?;
        let buckets = edges.keys().listed().unwrap_or_default();
        return Keys::public(buckets.iter().map(|bucket| CellKey::Bucket(*bucket, point))).map_err(refused);
    }
    match release.statistic.grouping().map(|grouping| &grouping.keys) {
        None => Keys::public([CellKey::Whole]).map_err(refused),
        Some(config::KeysSpec::Listed(keys)) => {
            Keys::public(keys.iter().map(|key| CellKey::Text(key.as_str().into()))).map_err(refused)
        }
        Some(config::KeysSpec::File(path)) => {
            let keys = keys::read(path).map_err(|wrong| UnfitJob::new(format!("{place}.keys"), wrong))?;
            Keys::public(keys.into_iter().map(CellKey::Text)).map_err(refused)
        }
        Some(config::KeysSpec::Discover) => Ok(Keys::discover_within(delta_of(cost))),
    }
}

// The two mechanisms by which a job finds a largest value, as one type: its pipeline is then built once.

/// A largest value, prepared to be released.
#[derive(Clone, Debug)]
pub(crate) enum PreparedMaximum {
    /// Search by noised comparisons.
    Searched(Searched<CellKey, Maximum>),
    /// A single draw of the exponential mechanism.
    Inverted(Inverted<CellKey, Maximum>),
}

macro_rules! either {
    ($found:expr, $ready:pat => $what:expr) => {
        match $found {
            PreparedMaximum::Searched($ready) => $what,
            PreparedMaximum::Inverted($ready) => $what,
        }
    };
}

impl PreparedMaximum {
    /// Returns the noise, and the promised ranks.
    pub(crate) fn noise(&self) -> &[Noised] {
        either!(self, ready => ready.noise())
    }

    /// Returns the half-widths of the intervals, in people.
    pub(crate) fn reaches(&self) -> &[f64] {
        either!(self, ready => ready.reaches())
    }

    /// Returns the number of people from which a key is released, with partition selection.
    pub(crate) fn threshold(&self) -> Option<i64> {
        either!(self, ready => ready.threshold())
    }
}

impl Sealed for PreparedMaximum {}

impl Ready for PreparedMaximum {
    type Tally = Cells<CellKey, Tops>;
    type Answer = Answer<CellKey, i128>;

    fn tally(&self) -> Cells<CellKey, Tops> {
        either!(self, ready => ready.tally())
    }

    fn cost(&self) -> &ReleaseCost {
        either!(self, ready => ready.cost())
    }

    fn parameters(&self) -> Digest {
        either!(self, ready => ready.parameters())
    }

    fn remembers(&self) -> bool {
        either!(self, ready => ready.remembers())
    }

    fn accepts(&self, state: &[u8]) -> Result<(), Invalid> {
        either!(self, ready => ready.accepts(state))
    }

    fn largest(&self) -> Option<usize> {
        either!(self, ready => ready.largest())
    }

    fn draw(
        &self,
        exact: Cells<CellKey, Tops>,
        state: Option<&[u8]>,
        noise: &mut NoiseSource,
    ) -> Drawn<Answer<CellKey, i128>> {
        either!(self, ready => ready.draw(exact, state, noise))
    }
}
