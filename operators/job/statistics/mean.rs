//! `mean`: the mean of a field, each record's value clamped to a range.

use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::{ReleaseFlow, sums};
use super::measured::{MeasuredFunction, MeasuredSpec, range};
use super::prepared::NumberSensitivity;
use super::{
    CellKey, ConfiguredNoise, MeasureSpec, NoiseOptimality, NumberErrors, PreparedStatistic, StatisticTerms,
    optimality,
};
use crate::dataflow::{KeyedAggregation, ProtectedUnit, RunError, Terms};
use crate::invalid::Invalid;
use crate::job::plan::short;
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::mechanisms::{
    BOTH_ENDS, ContributionBound, Cut, DecimalPoint, Keys, Mean, Mechanism, Noised, NoisyMeans,
};

/// The mean of a field, each record's value clamped to a range.
pub type MeanSpec = MeasuredSpec<MeasureSpec, MeanOfRecords>;

/// The mean of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanOfRecords;

fn mean(measure: &MeasureSpec, terms: &StatisticTerms<'_>) -> Result<Mean<CellKey>, Invalid> {
    let mean = Mean::new(range(measure)?, terms.limits, terms.keys.clone())?.with_point(terms.point);
    if terms.rollup { mean.rollup() } else { Ok(mean) }
}

impl Mechanism<Mean<CellKey>> for ConfiguredNoise {
    type Prepared = NoisyMeans<CellKey>;

    fn prepare(&self, mean: &Mean<CellKey>) -> Result<NoisyMeans<CellKey>, Invalid> {
        self.additive(mean)
    }
}

impl MeasuredFunction<MeasureSpec> for MeanOfRecords {
    const NUMBERS: u32 = 2;

    fn cut(measure: &MeasureSpec, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<Cut, Invalid> {
        Ok(Mean::new(range(measure)?, limits, keys.clone())?.cut(None))
    }

    fn prepare(measure: &MeasureSpec, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        let mean = mean(measure, terms)?;
        let [of_sum, of_count] = mean.units().map(|units| units as f64);
        let of_count = || {
            vec![
                // In half units.
                NumberSensitivity::new("sum", mean.sum_sensitivity(), terms.point, 2.0 * of_sum),
                NumberSensitivity::new("records", mean.count_sensitivity(), DecimalPoint::WHOLE, of_count),
            ]
        };
        if let Some(running) = terms.running {
            let sums = running.sums(mean.clone())?;
            return Ok(PreparedStatistic::running(&terms.noise.prepare(&sums)?, of_count()));
        }
        let ready = terms.noise.prepare(&mean)?;
        let has_ends = |noise: &[Noised]| noise.first().is_some_and(|noised| noised.number() == BOTH_ENDS[0]);
        let mut sensitivities = Vec::new();
        if has_ends(ready.noise()) {
            // A record moves both distances together by the width in steps, which is the sum's in half units.
            let name = "above_low + below_high";
            sensitivities.push(NumberSensitivity::new(name, mean.sum_sensitivity(), terms.point, 1.0));
        }
        // A key may be found by a count.
        if !has_ends(ready.noise_of_found().unwrap_or(ready.noise())) {
            sensitivities.extend(of_count());
        }
        Ok(PreparedStatistic::noisy(&ready, sensitivities))
    }

    fn describe(measure: &MeasureSpec, by: &str) -> String {
        format!("the mean of {}{by}, each value kept within {}", measure.of, measure.ends())
    }

    fn people_for_a_tenth(measure: &MeasureSpec, errors: &NumberErrors) -> f64 {
        let width = measure.high.to_f64() - measure.low.to_f64();
        // A tenth of the range; the count contributes its own noise times the mean's distance from the
        // middle, which is taken for half of that of an end.
        10.0 * errors.of_sum(&[(0, 1.0), (1, width / 4.0)]) / width
    }

    fn error_is_of(measure: &MeasureSpec) -> Option<String> {
        let width = measure.high.to_f64() - measure.low.to_f64();
        Some(format!("{}, the width of its range", short(width)))
    }

    fn answer_range(measure: &MeasureSpec) -> Option<(f64, f64)> {
        Some((measure.low.to_f64(), measure.high.to_f64()))
    }

    fn optimality(prepared: &PreparedStatistic) -> Option<NoiseOptimality> {
        match prepared.running {
            None => optimality::mean(prepared.noise.first()?),
            Some(_) => None,
        }
    }

    fn exact(
        measure: &MeasureSpec,
        exact: &ExactNumbers,
        released: &ReleasedNumber<'_>,
    ) -> Option<[Option<f64>; 2]> {
        let range = range(measure).ok()?;
        let mean = |[records, sum]: [i128; 2], middle: f64, parts: f64| {
            (records != 0).then(|| released.point.float(middle + sum as f64 / parts / records as f64))
        };
        let [bounded, truth] = exact.sums_of(released)?.map(|[_, records, sum]| [records, sum]);
        let tally = match released.running {
            None => bounded,
            // The sums of a running mean have a collector of their own.
            Some(_) => {
                let [(records, [sum, _]), _] = exact.pairs_of(released);
                [records, sum]
            }
        };
        // The terms of a bounded mean are distances from the middle of the range, in half steps.
        let middle = (range.low() as f64 + range.high() as f64) / 2.0;
        let records = u128::from(released.limits.per_key());
        let [of_sum, of_count] =
            [records * u128::from(range.width()), records].map(|most| released.units(most));
        Some([mean(tally, middle, 2.0 * of_sum / of_count), mean(truth, 0.0, 1.0)])
    }

    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        measure: &MeasureSpec,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        let mean = mean(measure, &flow.terms);
        match flow.terms.running {
            Some(running) => flow.release_running(running, mean, flow.value())?,
            None => {
                let terms = Terms(range(measure)?);
                let mean = mean.map(|statistic| KeyedAggregation { statistic, measure: terms });
                flow.release(flow.bounded.clone().ask(flow.key(None), flow.value(), mean), false, sums)?;
            }
        }
        flow.show_everything(None)
    }
}
