//! Statistics of measured fields that are made of several noised sums over records, each value clamped to a range.
//!
//! They share the fields of a job file, the grouping, and the bound of a person: a number of records in each key. A
//! [`MeasuredFunction`] is what they differ in.

use std::marker::PhantomData;
use std::path::Path;

use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::ReleaseFlow;
use super::ratio::RatioMeasure;
use super::{
    AnswerRange, CellKey, ContributionKind, GroupingSpec, JobStatistic, KeyMemory, MeasureSpec,
    NoiseOptimality, NumberErrors, PreparedStatistic, StatedField, StatisticFlow, StatisticTerms, ValueField,
    grouping, measure,
};
use crate::accounting::PrivacyCost;
use crate::dataflow::{ProtectedUnit, RunError};
use crate::invalid::Invalid;
use crate::job::config::{ConfigNode, TableNode};
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::job::statistics::steps::StepSize;
use crate::job::unfit::UnfitJob;
use crate::mechanisms::{ContributionBound, Cut, Keys, Range};

/// A statistic of the measured fields of records.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeasuredSpec<M, F> {
    /// The measured fields.
    pub measure: M,
    /// The grouping by key, if there is one.
    pub grouping: Option<GroupingSpec>,
    function: PhantomData<fn() -> F>,
}

/// The measured fields of a record, with their ranges.
pub(crate) trait MeasuredFields {
    /// The names of the fields in a job file.
    const NAMES: &'static [&'static str];

    /// The memory that a key of a person takes.
    const MEMORY: KeyMemory = KeyMemory::Records;

    /// Returns the fields that state them.
    fn stated(&self) -> Vec<StatedField>;

    /// Returns the fields with the decimal points of their steps. A refusal names a field of a job file.
    fn values(&self) -> Result<Vec<ValueField>, UnfitJob>;

    /// Returns the range of the measured field with this index, in steps.
    fn nth_range(&self, field: usize) -> Option<Range>;
}

impl MeasuredFields for MeasureSpec {
    const NAMES: &'static [&'static str] = &["of", "range"];

    fn stated(&self) -> Vec<StatedField> {
        self.fields().to_vec()
    }

    fn values(&self) -> Result<Vec<ValueField>, UnfitJob> {
        MeasureSpec::values(self, StepSize::Width)
    }

    fn nth_range(&self, field: usize) -> Option<Range> {
        range(self).ok().filter(|_| field == 0)
    }
}

/// The function of measured fields `M` that is released.
pub(crate) trait MeasuredFunction<M>: Sized {
    /// The number of noised numbers that it is made of.
    const NUMBERS: u32;

    /// Returns the additional cost of a window of which a span of time holds a part.
    fn cut(measure: &M, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<Cut, Invalid>;

    /// Prepares the mechanism.
    fn prepare(measure: &M, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid>;

    /// Describes it, `by` its keys.
    fn describe(measure: &M, by: &str) -> String;

    /// Returns the number of people in a cell with which nine tenths of all errors are below a tenth.
    fn people_for_a_tenth(measure: &M, errors: &NumberErrors) -> f64;

    /// Returns what its errors are stated beside, with its size; `None` if it is the number itself.
    fn error_is_of(_measure: &M) -> Option<String> {
        None
    }

    /// Returns the range that it lies in whatever the records are, if there is one.
    fn answer_range(measure: &M) -> Option<(f64, f64)>;

    /// Returns the optimality of its noise; `None` if no bound is known.
    fn optimality(_prepared: &PreparedStatistic) -> Option<NoiseOptimality> {
        None
    }

    /// Returns the exact number after contribution bounding, and before it, in the unit of its release.
    fn exact(measure: &M, exact: &ExactNumbers, released: &ReleasedNumber<'_>) -> Option<[Option<f64>; 2]>;

    /// Builds its aggregation and its release.
    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        measure: &M,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError>;
}

impl<F> MeasuredSpec<MeasureSpec, F> {
    pub(super) fn read(node: &ConfigNode<'_>, beside: &Path) -> Option<MeasuredSpec<MeasureSpec, F>> {
        MeasuredSpec::read_by(node, beside, MeasureSpec::NAMES, measure::read)
    }
}

impl<F> MeasuredSpec<RatioMeasure, F> {
    pub(super) fn read(node: &ConfigNode<'_>, beside: &Path) -> Option<MeasuredSpec<RatioMeasure, F>> {
        MeasuredSpec::read_by(node, beside, RatioMeasure::NAMES, |fields| {
            let (upper, lower) = (measure::read(fields), measure::read_as(fields, ["per", "per_range"]));
            Some(RatioMeasure { upper: upper?, lower: lower? })
        })
    }
}

impl<M, F> MeasuredSpec<M, F> {
    /// Reads a statistic whose measured fields have these names.
    fn read_by(
        node: &ConfigNode<'_>,
        beside: &Path,
        names: &'static [&'static str],
        measure: fn(&TableNode<'_>) -> Option<M>,
    ) -> Option<MeasuredSpec<M, F>> {
        let fields = node.fields(names, grouping::OF_SUMS)?;
        let (measure, grouping) = (measure(&fields), grouping::read(&fields, beside)?);
        Some(MeasuredSpec { measure: measure?, grouping, function: PhantomData })
    }
}

impl<M: MeasuredFields, F: MeasuredFunction<M>> JobStatistic for MeasuredSpec<M, F> {
    fn fields(&self) -> Vec<StatedField> {
        [self.measure.stated(), grouping::fields(self.grouping())].concat()
    }

    fn grouping(&self) -> Option<&GroupingSpec> {
        self.grouping.as_ref()
    }

    fn contribution(&self) -> ContributionKind {
        ContributionKind::Records
    }

    fn adds_up(&self) -> bool {
        true
    }

    fn values(&self) -> Result<Vec<ValueField>, UnfitJob> {
        self.measure.values()
    }

    fn cut(&self, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<Cut, Invalid> {
        if self.grouping().is_some_and(|grouping| grouping.rollup) {
            return Ok(Cut::two_steps(&limits));
        }
        F::cut(&self.measure, limits, keys)
    }

    fn prepare(&self, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        F::prepare(&self.measure, terms)
    }

    fn field_of(&self, parameter: &str) -> Option<&'static str> {
        M::NAMES.iter().find(|name| **name == parameter).copied()
    }

    fn describe(&self, _: &str) -> String {
        F::describe(&self.measure, &grouping::describe(self.grouping()))
    }

    fn people_for_a_tenth(&self, errors: &NumberErrors) -> f64 {
        F::people_for_a_tenth(&self.measure, errors)
    }

    fn error_is_of(&self) -> Option<String> {
        F::error_is_of(&self.measure)
    }

    fn numbers_of_one(&self, _: usize) -> u32 {
        F::NUMBERS
    }

    fn answer_ranges(&self) -> Vec<AnswerRange> {
        let range = F::answer_range(&self.measure);
        range.into_iter().map(|(low, high)| AnswerRange { of: None, low, high }).collect()
    }

    fn optimality(&self, prepared: &PreparedStatistic, _: &PrivacyCost) -> Option<NoiseOptimality> {
        F::optimality(prepared)
    }

    fn memory(&self) -> KeyMemory {
        M::MEMORY
    }

    fn unclamped(&self, field: usize) -> Option<(i64, i64)> {
        self.measure.nth_range(field).map(|range| (range.low(), range.high()))
    }

    fn exact_fields(&self, exact: &ExactNumbers, released: &ReleasedNumber<'_>) -> Option<String> {
        let shown = |number: Option<f64>| number.map_or("null".to_owned(), |number| number.to_string());
        let [tally, truth] = F::exact(&self.measure, exact, released)?.map(shown);
        Some(format!(",\"tally\":{tally},\"truth\":{truth}"))
    }
}

impl<M: MeasuredFields, F: MeasuredFunction<M>> StatisticFlow for MeasuredSpec<M, F> {
    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        F::lay(&self.measure, flow)
    }
}

/// Returns the range of a measured field in steps.
pub(super) fn range(measure: &MeasureSpec) -> Result<Range, Invalid> {
    Ok(measure.range(StepSize::Width)?.0)
}
