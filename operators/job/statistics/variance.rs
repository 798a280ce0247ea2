//! `variance`: the variance of a field over records, each value clamped to a range.

use std::path::Path;

use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::ReleaseFlow;
use super::prepared::NumberSensitivity;
use super::steps::StepSize;
use super::{
    CellKey, ConfiguredNoise, ContributionKind, GroupingSpec, JobStatistic, KeyMemory, MeasureSpec,
    NoiseKind, PreparedStatistic, StatedField, StatisticFlow, StatisticTerms, ValueField, grouping, measure,
};
use crate::dataflow::{ProtectedUnit, RunError, Squaring};
use crate::invalid::Invalid;
use crate::job::config::ConfigNode;
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::job::unfit::UnfitJob;
use crate::mechanisms::{
    COUNTING, ContributionBound, Cut, DecimalPoint, Gaussian, Keys, Laplace, Mechanism, NoisyVariances,
    Range, Variance,
};

/// The variance of a field, each record's value clamped to a range.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct VarianceSpec {
    /// The field and its range.
    pub measure: MeasureSpec,
    /// The grouping by key, if there is one.
    pub grouping: Option<GroupingSpec>,
}

impl VarianceSpec {
    pub(super) fn read(node: &ConfigNode<'_>, beside: &Path) -> Option<VarianceSpec> {
        let fields = node.fields(&["of", "range"], &["by", "keys"])?;
        let (measure, grouping) = (measure::read(&fields), grouping::read(&fields, beside)?);
        Some(VarianceSpec { measure: measure?, grouping })
    }

    fn range(&self) -> Result<Range, Invalid> {
        Ok(self.measure.range(StepSize::Width)?.0)
    }

    fn variance(&self, terms: &StatisticTerms<'_>) -> Result<Variance<CellKey>, Invalid> {
        Ok(Variance::new(self.range()?, terms.limits, terms.keys.clone())?.with_point(terms.point))
    }
}

impl Mechanism<Variance<CellKey>> for ConfiguredNoise {
    type Prepared = NoisyVariances<CellKey>;

    fn prepare(&self, variance: &Variance<CellKey>) -> Result<NoisyVariances<CellKey>, Invalid> {
        match self.kind() {
            NoiseKind::Gaussian => Gaussian::cost(self.cost()).prepare(variance),
            NoiseKind::Laplace => Laplace::cost(self.cost()).prepare(variance),
            _ => Err(ConfiguredNoise::unsupported()),
        }
    }
}

impl JobStatistic for VarianceSpec {
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
        Ok(Variance::new(self.range()?, limits, keys.clone())?.cut(COUNTING))
    }

    fn prepare(&self, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        let variance = self.variance(terms)?;
        let ready = terms.noise.prepare(&variance)?;
        let [sum, squares, count] = variance.sensitivities();
        let moved = |number: &'static str, sensitivity, point, parts| NumberSensitivity {
            number: number.into(),
            sensitivity,
            point,
            parts,
        };
        Ok(PreparedStatistic {
            sensitivities: vec![
                // In half units, as that of a mean.
                moved("sum", *sum, terms.point, 2.0),
                moved("squares", *squares, terms.point, variance.square_parts()),
                moved("records", *count, DecimalPoint::WHOLE, 1.0),
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
        format!("the variance of {}{by}, each value kept within {}", self.measure.of, self.measure.ends())
    }

    fn people_for_a_tenth(&self, intervals: &[f64]) -> f64 {
        let interval = |number: usize| intervals.get(number).copied().unwrap_or(0.0);
        let half = (self.measure.high.to_f64() - self.measure.low.to_f64()) / 2.0;
        // A tenth of the largest variance, with the mean half of the way from the middle of the range to an end.
        10.0 * (interval(0) / half + interval(1) / (half * half) + 0.75 * interval(2))
    }

    fn numbers_of_one(&self, _: usize) -> u32 {
        3
    }

    fn memory(&self) -> KeyMemory {
        KeyMemory::Records
    }

    fn unclamped(&self, _: usize) -> Option<(i64, i64)> {
        self.range().ok().map(|range| (range.low(), range.high()))
    }

    fn exact_fields(&self, exact: &ExactNumbers, released: &ReleasedNumber<'_>) -> Option<String> {
        let ReleasedNumber { window, key, point, .. } = released;
        let variance = Variance::new(self.range().ok()?, ContributionBound::RECORD, Keys::whole());
        let variance = variance.ok()?.with_point(*point);
        let [tally, truth] = exact.squares.cells(*window, key);
        let (records, [sum, squares]) = truth.shown_in_a_demo();
        let truth = (records > 0).then(|| {
            let [mean, squares] = [sum, squares].map(|sum| sum as f64 / records as f64);
            point.float(point.float((squares - mean * mean).max(0.0)))
        });
        let shown = |number: Option<f64>| number.map_or("null".to_owned(), |number| number.to_string());
        Some(format!(",\"tally\":{},\"truth\":{}", shown(variance.shown_in_a_demo(&tally)), shown(truth)))
    }
}

impl StatisticFlow for VarianceSpec {
    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        let variance = self.variance(&flow.terms).map(Squaring::new);
        let asked = flow.bounded.clone().ask(flow.key(None), flow.value(), variance);
        flow.release(asked, false, |exact| (exact.squares.tally.clone(), None))?;
        flow.show_every_square(self.variance(&flow.terms)?, self.range()?.low())
    }
}
