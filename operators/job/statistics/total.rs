//! Statistics that are totals (counts, people, sums, histograms): one number for each key, for each window by
//! itself or added up over windows.

use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::{ReleaseFlow, sums};
use super::prepared::NumberSensitivity;
use super::{CellKey, ConfiguredNoise, GroupingSpec, PreparedStatistic, StatisticTerms};
use crate::accounting::running::Strategy;
use crate::dataflow::bounding::{Count, Sum};
use crate::dataflow::{Aggregation, KeyedAggregation, ProtectedUnit, RunError};
use crate::invalid::Invalid;
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::mechanisms::{
    Cells, DecimalPoint, Edges, Gaussian, Mechanism, NoisyTotals, PairStatistic, Prepared, Range,
    ReleaseLines, RunningSums, RunningTotal, RunningTotals, Sensitivity, Statistic, Total, TotalSpan,
};

/// The running total of a release plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunningTotalSpec {
    /// The windows that each total covers.
    pub(crate) span: TotalSpan,
    /// The strategy that correlates the noise, if the file names one.
    pub(crate) strategy: Option<Strategy>,
}

impl RunningTotalSpec {
    /// Builds the running total of the statistic `each`.
    pub(super) fn total(&self, each: Total<CellKey>) -> Result<RunningTotal<CellKey>, Invalid> {
        let total = RunningTotal::new(each, self.span)?;
        Ok(match self.strategy {
            Some(strategy) => total.by(strategy),
            None => total,
        })
    }

    /// Returns true if it is the number of people who are in one of the last windows.
    pub(crate) fn is_of_present_people(&self) -> bool {
        matches!(self.span, TotalSpan::People { .. })
    }

    /// Returns it with another bound of entries, if it has one.
    pub(super) fn with_entries(self, entries: u64) -> RunningTotalSpec {
        let span = match self.span {
            TotalSpan::People { windows, last, .. } => TotalSpan::People { windows, last, entries },
            other => other,
        };
        RunningTotalSpec { span, ..self }
    }

    /// Builds the running statistic of sums over records.
    pub(super) fn sums<S: PairStatistic>(&self, each: S) -> Result<RunningSums<S>, Invalid> {
        let sums = RunningSums::new(each, self.span)?;
        Ok(match self.strategy {
            Some(strategy) => sums.by(strategy),
            None => sums,
        })
    }
}

impl<S: PairStatistic> Mechanism<RunningSums<S>> for ConfiguredNoise
where
    Gaussian: Mechanism<RunningSums<S>>,
{
    type Prepared = <Gaussian as Mechanism<RunningSums<S>>>::Prepared;

    fn prepare(&self, sums: &RunningSums<S>) -> Result<Self::Prepared, Invalid> {
        self.gaussian(sums)
    }
}

impl Mechanism<Total<CellKey>> for ConfiguredNoise {
    type Prepared = NoisyTotals<CellKey>;

    fn prepare(&self, total: &Total<CellKey>) -> Result<NoisyTotals<CellKey>, Invalid> {
        self.additive(total)
    }
}

impl Mechanism<RunningTotal<CellKey>> for ConfiguredNoise {
    type Prepared = RunningTotals<CellKey>;

    fn prepare(&self, total: &RunningTotal<CellKey>) -> Result<RunningTotals<CellKey>, Invalid> {
        self.gaussian(total)
    }
}

/// Returns a total, with those of the level above if its grouping asks for them.
pub(super) fn rolled_up(
    total: Total<CellKey>,
    grouping: Option<&GroupingSpec>,
) -> Result<Total<CellKey>, Invalid> {
    if grouping.is_some_and(|grouping| grouping.rollup) { total.rollup() } else { Ok(total) }
}

/// Prepares a total, or a running total of it.
pub(super) fn prepare(
    each: Total<CellKey>,
    terms: &StatisticTerms<'_>,
) -> Result<PreparedStatistic, Invalid> {
    let units = each.units() as f64;
    // The value field of a histogram decides the bucket alone: its number is one of records.
    let moved = |number: &'static str, sensitivity: &Sensitivity| {
        let point = if number == "sum" { terms.point } else { DecimalPoint::WHOLE };
        NumberSensitivity::new(number, sensitivity, point, units)
    };
    let Some(running) = terms.running else {
        let ready = terms.noise.prepare(&each)?;
        let number = ready.noise().first().map_or("records", |noised| noised.number());
        return Ok(PreparedStatistic::noisy(&ready, vec![moved(number, each.key_sensitivity())]));
    };
    let total = running.total(each)?;
    let ready = terms.noise.prepare(&total)?;
    let number = ready.noise().first().map_or("records", |noised| noised.number());
    // The sensitivity is that of each total by itself.
    Ok(PreparedStatistic::running(&ready, vec![moved(number, &total.sensitivity())]))
}

/// The part of a record that a total adds up.
pub(super) enum Added<'r> {
    /// The record itself; of a histogram, in the bucket of its value.
    Records(Option<(&'r Edges, DecimalPoint)>),
    /// The value of its field, clamped to the range.
    Values(&'r Range),
}

/// Builds the aggregation of a total and its release.
pub(super) fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
    flow: &ReleaseFlow<'_, '_, P, I, U>,
    total: Result<Total<CellKey>, Invalid>,
    added: &Added<'_>,
) -> Result<(), RunError> {
    match flow.terms.running {
        None => lay_as(flow, total, added),
        Some(running) => lay_as(flow, total.and_then(|each| running.total(each)), added),
    }
}

fn lay_as<P, I, U, S>(
    flow: &ReleaseFlow<'_, '_, P, I, U>,
    statistic: Result<S, Invalid>,
    added: &Added<'_>,
) -> Result<(), RunError>
where
    P: PersonIdentity,
    I: PersonIdentity,
    U: ProtectedUnit<SourceRecord<P, I>>,
    S: Statistic<Tally = Cells<CellKey>>,
    KeyedAggregation<S, Count>: Aggregation<Key = CellKey, Measure = Count, Statistic = S>,
    KeyedAggregation<S, Sum>: Aggregation<Key = CellKey, Measure = Sum, Statistic = S>,
    ConfiguredNoise: Mechanism<S, Prepared: Prepared<Answer: ReleaseLines>>,
{
    let bounded = flow.bounded.clone();
    match *added {
        Added::Records(buckets) => {
            let aggregation = statistic.map(|statistic| KeyedAggregation { statistic, measure: Count });
            let count = bounded.ask(flow.key(buckets), |_: &SourceRecord<P, I>| (), aggregation);
            flow.release(count, buckets.is_some(), sums)
        }
        Added::Values(range) => {
            let measure = Sum::clipped(range.low(), range.high());
            let aggregation = statistic
                .and_then(|statistic| measure.map(|measure| KeyedAggregation { statistic, measure }));
            flow.release(bounded.ask(flow.key(None), flow.value(), aggregation), false, sums)
        }
    }
}

/// Returns the exact fields of a total that a person moves by `most`, from its cell after contribution bounding and before
/// it. `number` formats people, records and sum as the released number.
pub(super) fn exact_fields(
    exact: &ExactNumbers,
    released: &ReleasedNumber<'_>,
    most: u128,
    number: impl Fn([i128; 3]) -> String,
) -> Option<String> {
    let [mut tally, truth] = exact.sums_of(released)?;
    if released.limits.weight().is_some() {
        // The truth is of whole people.
        let [_, records, sum] = tally.map(|number| (number as f64 / released.units(most)).round() as i128);
        tally = [records, records, sum];
    }
    let [tally, truth] = [tally, truth].map(number);
    Some(format!(",\"tally\":{tally},\"truth\":{truth}"))
}
