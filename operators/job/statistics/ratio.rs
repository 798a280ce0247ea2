//! `ratio`: the sum of one field over the sum of another, each record's values clamped to ranges.

use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::ReleaseFlow;
use super::measured::{MeasuredFields, MeasuredFunction, MeasuredSpec};
use super::prepared::NumberSensitivity;
use super::steps::StepSize;
use super::{
    CellKey, ConfiguredNoise, KeyMemory, MeasureSpec, NumberErrors, PreparedStatistic, StatedField,
    StatisticTerms, ValueField,
};
use crate::dataflow::{ProtectedUnit, RunError};
use crate::invalid::Invalid;
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::job::unfit::UnfitJob;
use crate::mechanisms::{
    ContributionBound, Cut, DecimalPoint, Key, Keys, Mechanism, NoisyRatios, RATIO_SUMS, Range, Ratio,
};

/// The sum of one field over the sum of another, each record's values clamped to ranges.
pub type RatioSpec = MeasuredSpec<RatioMeasure, RatioOfRecords>;

/// The two measured fields of a ratio.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RatioMeasure {
    /// The field of the upper sum.
    pub upper: MeasureSpec,
    /// The field of the lower sum.
    pub lower: MeasureSpec,
}

/// The ratio of two sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatioOfRecords;

impl RatioMeasure {
    /// Returns both ranges in steps, with the decimal points of these. A refusal names a field of a job file.
    fn ranges(&self) -> Result<[(Range, DecimalPoint); 2], Invalid> {
        let lower = self.lower.range(StepSize::StreamContribution);
        let lower = lower
            .map_err(|invalid| Invalid::new("per_range", invalid.kind(), invalid.remedy().to_owned()))?;
        Ok([self.upper.range(StepSize::StreamContribution)?, lower])
    }

    fn ratio<K: Key>(&self, limits: ContributionBound, keys: &Keys<K>) -> Result<Ratio<K>, Invalid> {
        let [(upper, point), (lower, lower_point)] = self.ranges()?;
        Ok(Ratio::new([upper, lower], limits, keys.clone())?.with_points([point, lower_point]))
    }
}

impl RatioMeasure {
    fn of_terms(&self, terms: &StatisticTerms<'_>) -> Result<Ratio<CellKey>, Invalid> {
        let ratio = self.ratio(terms.limits, terms.keys)?;
        if terms.rollup { ratio.rollup() } else { Ok(ratio) }
    }
}

impl MeasuredFields for RatioMeasure {
    const NAMES: &'static [&'static str] = &["of", "range", "per", "per_range"];
    const MEMORY: KeyMemory = KeyMemory::Pairs;

    fn stated(&self) -> Vec<StatedField> {
        let [(_, per), (_, per_range)] = self.lower.fields();
        [self.upper.fields(), [("per", per), ("per_range", per_range)]].concat()
    }

    fn values(&self) -> Result<Vec<ValueField>, UnfitJob> {
        let ranges = self.ranges().map_err(|invalid| UnfitJob::at(invalid.field(), &invalid))?;
        let fields = [&self.upper, &self.lower].map(|measure| measure.of.clone());
        Ok(fields.into_iter().zip(ranges.map(|(_, point)| point)).collect())
    }

    fn nth_range(&self, field: usize) -> Option<Range> {
        self.ranges().ok()?.get(field).map(|(range, _)| *range)
    }
}

impl Mechanism<Ratio<CellKey>> for ConfiguredNoise {
    type Prepared = NoisyRatios<CellKey>;

    fn prepare(&self, ratio: &Ratio<CellKey>) -> Result<NoisyRatios<CellKey>, Invalid> {
        self.additive(ratio)
    }
}

impl MeasuredFunction<RatioMeasure> for RatioOfRecords {
    const NUMBERS: u32 = 2;

    fn cut(measure: &RatioMeasure, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<Cut, Invalid> {
        Ok(measure.ratio(limits, keys)?.cut())
    }

    fn prepare(measure: &RatioMeasure, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        let ratio = measure.of_terms(terms)?;
        let points = measure.ranges()?.map(|(_, point)| point);
        let sums = RATIO_SUMS.into_iter().zip(ratio.sensitivities()).zip(points);
        let sensitivities =
            sums.map(|((name, sum), point)| NumberSensitivity::new(name, sum, point, 1.0)).collect();
        Ok(match terms.running {
            None => PreparedStatistic::noisy(&terms.noise.prepare(&ratio)?, sensitivities),
            Some(running) => {
                PreparedStatistic::running(&terms.noise.prepare(&running.sums(ratio)?)?, sensitivities)
            }
        })
    }

    fn describe(RatioMeasure { upper, lower }: &RatioMeasure, by: &str) -> String {
        format!(
            "the sum of {} over that of {}{by}, values of {} kept within {}, and of {} within {}",
            upper.of,
            lower.of,
            upper.of,
            upper.ends(),
            lower.of,
            lower.ends()
        )
    }

    fn people_for_a_tenth(RatioMeasure { upper, lower }: &RatioMeasure, errors: &NumberErrors) -> f64 {
        let half = |measure: &MeasureSpec| measure.low.to_f64().abs().max(measure.high.to_f64().abs()) / 2.0;
        // A tenth of the ratio, with values half of the way to the farther end of their range.
        10.0 * errors.of_sum(&[(0, half(upper).recip()), (1, half(lower).recip())])
    }

    /// Returns the ratios of the ends, where no value of the lower field is 0.
    fn answer_range(RatioMeasure { upper, lower }: &RatioMeasure) -> Option<(f64, f64)> {
        let [upper, lower] = [upper, lower].map(|measure| [measure.low.to_f64(), measure.high.to_f64()]);
        if lower[0] <= 0.0 && lower[1] >= 0.0 {
            return None;
        }
        let ratios = upper.map(|upper| lower.map(|lower| upper / lower)).concat();
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        Some(ratios.into_iter().fold(ends, |(low, high), ratio| (low.min(ratio), high.max(ratio))))
    }

    fn exact(
        measure: &RatioMeasure,
        exact: &ExactNumbers,
        released: &ReleasedNumber<'_>,
    ) -> Option<[Option<f64>; 2]> {
        let ratio = measure.ratio(ContributionBound::RECORD, &Keys::whole()).ok()?;
        let [(_, tally), _] = exact.pairs_of(released);
        let truth = [0, 1].map(|field| exact.everything_of(released, field)[2]);
        Some([tally, truth].map(|sums| ratio.shown_in_a_demo(sums)))
    }

    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        measure: &RatioMeasure,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        flow.release_pairs(measure.of_terms(&flow.terms), flow.pair())?;
        flow.show_everything_of_each()
    }
}
