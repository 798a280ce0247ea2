//! `sum`: the sum of a field, each person's sum of a key clamped to a range.

use std::path::Path;

use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::ReleaseFlow;
use super::steps::StepSize;
use super::total::Added;
use super::{
    CellKey, ContributionKind, GroupingSpec, JobStatistic, KeyMemory, MeasureSpec, NoiseOptimality,
    NumberErrors, PreparedStatistic, StatedField, StatisticFlow, StatisticTerms, ValueField, grouping,
    measure, optimality, total,
};
use crate::accounting::PrivacyCost;
use crate::dataflow::{ProtectedUnit, RunError};
use crate::invalid::Invalid;
use crate::job::config::ConfigNode;
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::job::unfit::UnfitJob;
use crate::mechanisms::{ContributionBound, Cut, Keys, Range, Total};

/// The sum of a field, each person's sum clamped to a range.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SumSpec {
    /// The field and its range.
    pub measure: MeasureSpec,
    /// The grouping by key, if there is one.
    pub grouping: Option<GroupingSpec>,
}

impl SumSpec {
    pub(super) fn read(node: &ConfigNode<'_>, beside: &Path) -> Option<SumSpec> {
        let fields = node.fields(&["of", "range"], grouping::OF_SUMS)?;
        let (measure, grouping) = (measure::read(&fields), grouping::read(&fields, beside)?);
        Some(SumSpec { measure: measure?, grouping })
    }

    fn total(&self, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<Total<CellKey>, Invalid> {
        total::rolled_up(Total::sum(self.range()?, limits, keys.clone())?, self.grouping())
    }

    fn range(&self) -> Result<Range, Invalid> {
        Ok(self.measure.range(StepSize::StreamContribution)?.0)
    }
}

impl JobStatistic for SumSpec {
    fn fields(&self) -> Vec<StatedField> {
        [self.measure.fields().to_vec(), grouping::fields(self.grouping())].concat()
    }

    fn grouping(&self) -> Option<&GroupingSpec> {
        self.grouping.as_ref()
    }

    fn contribution(&self) -> ContributionKind {
        let MeasureSpec { low, high, .. } = self.measure;
        ContributionKind::ClampedSum { most: low.size().max(high.size()) }
    }

    fn adds_up(&self) -> bool {
        true
    }

    fn values(&self) -> Result<Vec<ValueField>, UnfitJob> {
        self.measure.values(StepSize::StreamContribution)
    }

    fn cut(&self, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<Cut, Invalid> {
        Ok(self.total(limits, keys)?.cut())
    }

    fn prepare(&self, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        let sum = self.total(terms.limits, terms.keys)?;
        total::prepare(sum.with_point(terms.point), terms)
    }

    fn field_of(&self, parameter: &str) -> Option<&'static str> {
        (parameter == "range").then_some("range")
    }

    fn describe(&self, unit: &str) -> String {
        let by = grouping::describe(self.grouping());
        format!(
            "the sum of {}{by}, what each {unit} brings to it kept within {}",
            self.measure.of,
            self.measure.ends()
        )
    }

    fn people_for_a_tenth(&self, errors: &NumberErrors) -> f64 {
        let most = self.measure.low.to_f64().abs().max(self.measure.high.to_f64().abs());
        10.0 * errors.nth(0) / (most / 2.0)
    }

    fn optimality(&self, prepared: &PreparedStatistic, cost: &PrivacyCost) -> Option<NoiseOptimality> {
        optimality::total(prepared, cost)
    }

    fn memory(&self) -> KeyMemory {
        KeyMemory::Summed
    }

    fn unclamped(&self, _: usize) -> Option<(i64, i64)> {
        self.range().ok().map(|range| (range.low(), range.high()))
    }

    fn exact_fields(&self, exact: &ExactNumbers, released: &ReleasedNumber<'_>) -> Option<String> {
        let most = self.range().ok()?.reach().into();
        total::exact_fields(exact, released, most, |[_, _, sum]| released.point.shown(sum))
    }
}

impl StatisticFlow for SumSpec {
    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        let range = self.range()?;
        let sum = self.total(flow.terms.limits, flow.terms.keys);
        total::lay(flow, sum.map(|sum| sum.with_point(flow.terms.point)), &Added::Values(&range))?;
        flow.show_everything(None)
    }
}
