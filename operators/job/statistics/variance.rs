//! `variance`: the variance of a field over records, each value clamped to a range.

use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::ReleaseFlow;
use super::measured::{MeasuredFunction, MeasuredSpec, range};
use super::prepared::NumberSensitivity;
use super::{CellKey, ConfiguredNoise, MeasureSpec, NumberErrors, PreparedStatistic, StatisticTerms};
use crate::dataflow::{ProtectedUnit, RunError};
use crate::invalid::Invalid;
use crate::job::plan::short;
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::mechanisms::{
    COUNTING, ContributionBound, Cut, DecimalPoint, Keys, Mechanism, NoisyVariances, Variance,
};

/// The variance of a field, each record's value clamped to a range.
pub type VarianceSpec = MeasuredSpec<MeasureSpec, VarianceOfRecords>;

/// The variance of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VarianceOfRecords;

fn variance(measure: &MeasureSpec, terms: &StatisticTerms<'_>) -> Result<Variance<CellKey>, Invalid> {
    let variance = Variance::new(range(measure)?, terms.limits, terms.keys.clone())?.with_point(terms.point);
    if terms.rollup { variance.rollup() } else { Ok(variance) }
}

impl Mechanism<Variance<CellKey>> for ConfiguredNoise {
    type Prepared = NoisyVariances<CellKey>;

    fn prepare(&self, variance: &Variance<CellKey>) -> Result<NoisyVariances<CellKey>, Invalid> {
        self.additive(variance)
    }
}

impl MeasuredFunction<MeasureSpec> for VarianceOfRecords {
    const NUMBERS: u32 = 3;

    fn cut(measure: &MeasureSpec, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<Cut, Invalid> {
        Ok(Variance::new(range(measure)?, limits, keys.clone())?.cut(COUNTING))
    }

    fn prepare(measure: &MeasureSpec, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        let variance = variance(measure, terms)?;
        let [sum, squares, count] = variance.sensitivities();
        let sensitivities = vec![
            // In half units, as that of a mean.
            NumberSensitivity::new("sum", sum, terms.point, 2.0),
            NumberSensitivity::new("squares", squares, terms.point, variance.square_parts()),
            NumberSensitivity::new("records", count, DecimalPoint::WHOLE, 1.0),
        ];
        Ok(match terms.running {
            None => PreparedStatistic::noisy(&terms.noise.prepare(&variance)?, sensitivities),
            Some(running) => {
                PreparedStatistic::running(&terms.noise.prepare(&running.sums(variance)?)?, sensitivities)
            }
        })
    }

    fn describe(measure: &MeasureSpec, by: &str) -> String {
        format!("the variance of {}{by}, each value kept within {}", measure.of, measure.ends())
    }

    fn people_for_a_tenth(measure: &MeasureSpec, errors: &NumberErrors) -> f64 {
        let half = (measure.high.to_f64() - measure.low.to_f64()) / 2.0;
        // A tenth of the largest variance, with the mean half of the way from the middle of the range to an end.
        10.0 * errors.of_sum(&[(0, half.recip()), (1, (half * half).recip()), (2, 0.75)])
    }

    fn error_is_of(measure: &MeasureSpec) -> Option<String> {
        let half = (measure.high.to_f64() - measure.low.to_f64()) / 2.0;
        Some(format!("{}, the largest variance in its range", short(half * half)))
    }

    fn answer_range(measure: &MeasureSpec) -> Option<(f64, f64)> {
        let half = (measure.high.to_f64() - measure.low.to_f64()) / 2.0;
        Some((0.0, half * half))
    }

    fn exact(
        measure: &MeasureSpec,
        exact: &ExactNumbers,
        released: &ReleasedNumber<'_>,
    ) -> Option<[Option<f64>; 2]> {
        let point = released.point;
        let variance = Variance::new(range(measure).ok()?, ContributionBound::RECORD, Keys::whole());
        let variance = variance.ok()?.with_point(point);
        let [tally, (records, [sum, squares])] = exact.pairs_of(released);
        let truth = (records > 0).then(|| {
            let [mean, squares] = [sum, squares].map(|sum| sum as f64 / records as f64);
            point.float(point.float((squares - mean * mean).max(0.0)))
        });
        Some([variance.shown_in_a_demo(tally), truth])
    }

    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        measure: &MeasureSpec,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        flow.release_pairs(variance(measure, &flow.terms), flow.value())?;
        flow.show_every_square(variance(measure, &flow.terms)?, range(measure)?.low())
    }
}
