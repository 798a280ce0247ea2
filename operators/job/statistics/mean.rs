//! `mean`: the mean of a field, each record's value clamped to a range.

use std::path::Path;

use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::{ReleaseFlow, sums};
use super::prepared::NumberSensitivity;
use super::steps::StepSize;
use super::{
    CellKey, ConfiguredNoise, ContributionKind, GroupingSpec, JobStatistic, KeyMemory, MeasureSpec,
    NoiseKind, NoiseOptimality, PreparedStatistic, StatedField, StatisticFlow, StatisticTerms, ValueField,
    grouping, measure, optimality,
};
use crate::accounting::PrivacyCost;
use crate::dataflow::{KeyedAggregation, ProtectedUnit, RunError, Terms};
use crate::invalid::Invalid;
use crate::job::config::ConfigNode;
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::job::unfit::UnfitJob;
use crate::mechanisms::{
    COUNTING, ContributionBound, Cut, DecimalPoint, Gaussian, Keys, Laplace, Mean, Mechanism, NoisyMeans,
    Range,
};

/// The mean of a field, each record's value clamped to a range.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeanSpec {
    /// The field and its range.
    pub measure: MeasureSpec,
    /// The grouping by key, if there is one.
    pub grouping: Option<GroupingSpec>,
}

impl MeanSpec {
    pub(super) fn read(node: &ConfigNode<'_>, beside: &Path) -> Option<MeanSpec> {
        let fields = node.fields(&["of", "range"], &["by", "keys"])?;
        let (measure, grouping) = (measure::read(&fields), grouping::read(&fields, beside)?);
        Some(MeanSpec { measure: measure?, grouping })
    }

    fn range(&self) -> Result<Range, Invalid> {
        Ok(self.measure.range(StepSize::Width)?.0)
    }

    fn mean(&self, terms: &StatisticTerms<'_>) -> Result<Mean<CellKey>, Invalid> {
        Ok(Mean::new(self.range()?, terms.limits, terms.keys.clone())?.with_point(terms.point))
    }
}

impl Mechanism<Mean<CellKey>> for ConfiguredNoise {
    type Prepared = NoisyMeans<CellKey>;

    fn prepare(&self, mean: &Mean<CellKey>) -> Result<NoisyMeans<CellKey>, Invalid> {
        match self.kind() {
            NoiseKind::Gaussian => Gaussian::cost(self.cost()).prepare(mean),
            NoiseKind::Laplace => Laplace::cost(self.cost()).prepare(mean),
            _ => Err(ConfiguredNoise::unsupported()),
        }
    }
}

impl JobStatistic for MeanSpec {
    fn fields(&self) -> Vec<StatedField> {
        [self.measure.fields(), grouping::fields(self.grouping())].concat()
    }

    fn grouping(&self) -> Option<&GroupingSpec> {
        self.grouping.as_ref()
    }

    fn contribution(&self) -> ContributionKind {
        ContributionKind::Records
    }

    fn values(&self) -> Result<Vec<ValueField>, UnfitJob> {
        self.measure.values(StepSize::Width)
    }

    fn cut(&self, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<Cut, Invalid> {
        Ok(Mean::new(self.range()?, limits, keys.clone())?.cut(COUNTING))
    }

    fn prepare(&self, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        let mean = self.mean(terms)?;
        let ready = terms.noise.prepare(&mean)?;
        let moved = |number: &'static str, sensitivity, point, parts| NumberSensitivity {
            number: number.into(),
            sensitivity,
            point,
            parts,
        };
        Ok(PreparedStatistic {
            // The sum of a mean is in half units.
            sensitivities: vec![
                moved("sum", *mean.sum_sensitivity(), terms.point, 2.0),
                moved("records", *mean.count_sensitivity(), DecimalPoint::WHOLE, 1.0),
            ],
            threshold: ready.threshold(),
            intervals: ready.reaches().to_vec(),
            ..PreparedStatistic::of(&ready, ready.noise())
        })
    }

    fn field_of(&self, parameter: &str) -> Option<&'static str> {
        (parameter == "range").then_some("range")
    }

    fn describe(&self, _: &str) -> String {
        let by = grouping::describe(self.grouping());
        format!("the mean of {}{by}, each value kept within {}", self.measure.of, self.measure.ends())
    }

    fn people_for_a_tenth(&self, intervals: &[f64]) -> f64 {
        let interval = |number: usize| intervals.get(number).copied().unwrap_or(0.0);
        let width = self.measure.high.to_f64() - self.measure.low.to_f64();
        // A tenth of the range; the count contributes its own noise times the mean's distance from the
        // middle, half of that range at most.
        10.0 * (interval(0) / width + interval(1) / 2.0)
    }

    fn optimality(&self, prepared: &PreparedStatistic, _: &PrivacyCost) -> Option<NoiseOptimality> {
        optimality::mean(prepared.noise.first()?)
    }

    fn memory(&self) -> KeyMemory {
        KeyMemory::Records
    }

    fn unclamped(&self, _: usize) -> Option<(i64, i64)> {
        self.range().ok().map(|range| (range.low(), range.high()))
    }

    fn exact_fields(&self, exact: &ExactNumbers, released: &ReleasedNumber<'_>) -> Option<String> {
        let range = self.range().ok()?;
        let [tally, truth] = exact.sums_of(released)?;
        let mean = |[_, records, sum]: [i128; 3], clamped: bool| {
            let (middle, parts) = match clamped {
                // The terms of a bounded mean are distances from the middle of the range, in half steps.
                true => ((range.low() as f64 + range.high() as f64) / 2.0, 2.0),
                false => (0.0, 1.0),
            };
            match records {
                0 => "null".to_owned(),
                _ => released.point.float(middle + sum as f64 / parts / records as f64).to_string(),
            }
        };
        Some(format!(",\"tally\":{},\"truth\":{}", mean(tally, true), mean(truth, false)))
    }
}

impl StatisticFlow for MeanSpec {
    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        let measure = Terms(self.range()?);
        let mean = self.mean(&flow.terms).map(|statistic| KeyedAggregation { statistic, measure });
        flow.release(flow.bounded.clone().ask(flow.key(None), flow.value(), mean), false, sums)?;
        flow.show_everything(None)
    }
}
