//! The statistics of job files: one file for each, from its fields to its place in the dataflow.
//!
//! A [`StatisticSpec`] is read with the job file and is what every later step works with: the release plan
//! takes its keys and its charge from it, the page of a plan its words and figures, the dataflow its
//! aggregation, and a demonstration its exact numbers. A new statistic is a file with an implementation of
//! [`JobStatistic`] and [`StatisticFlow`], and a line in the list below.
//!
//! ```text
//! table of the file ─read─▶ StatisticSpec ─prepare─▶ PreparedStatistic: cost, noise, sensitivity
//!                                 └────────lay─────▶ aggregation, mechanism, release
//! ```

mod alert;
mod audited;
mod count;
mod counted;
mod exact;
mod flow;
mod grid;
mod grouping;
mod histogram;
mod key_part;
mod keys;
mod marginals;
mod max;
mod mean;
mod means;
mod measure;
mod measured;
mod noise;
mod number_errors;
mod optimality;
mod prepared;
mod quantile;
mod ratio;
mod steps;
mod sum;
#[cfg(test)]
mod tests;
mod top;
mod total;
mod variance;
mod vector_bound;

use std::path::Path;

pub use alert::AlertSpec;
pub(super) use audited::{AuditedStatistic, CanaryValue, Reserved};
pub use count::{CountSpec, PeopleSpec};
pub use counted::CountedNoun;
pub(super) use exact::{ExactNumbers, ReleasedNumber};
pub(super) use flow::{RecordTime, ReleaseFlow};
pub use grid::GridSpec;
pub use grouping::{GroupingSpec, KeysSpec};
pub use histogram::HistogramSpec;
pub(super) use key_part::BETWEEN_PARTS;
pub use key_part::KeyPart;
pub(super) use keys::CellKey;
pub use marginals::MarginalsSpec;
pub(in crate::job) use marginals::{MarginalErrors, TabledKeys};
pub use max::{AltogetherSpec, JobFunction, MaxSpec, MaximumOf, MinSpec, MonotoneSpec};
pub use mean::{MeanOfRecords, MeanSpec};
pub use means::MeansSpec;
pub use measure::MeasureSpec;
pub use measured::MeasuredSpec;
pub(super) use noise::ConfiguredNoise;
pub use noise::NoiseKind;
pub(super) use number_errors::NumberErrors;
pub use optimality::NoiseOptimality;
pub(super) use prepared::{NumberSensitivity, PreparedStatistic, StatisticTerms};
pub use quantile::{QuantileSpec, RankedOf};
pub use ratio::{RatioMeasure, RatioOfRecords, RatioSpec};
pub use sum::SumSpec;
pub use top::TopSpec;
pub(super) use total::RunningTotalSpec;
pub use variance::{VarianceOfRecords, VarianceSpec};
pub use vector_bound::VectorBound;

use super::config::{ConfigNode, ConfigNumber};
use super::sources::PersonIdentity;
use super::unfit::UnfitJob;
use crate::accounting::{BudgetUnits, PrivacyCost};
use crate::dataflow::{ProtectedUnit, RunError};
use crate::invalid::Invalid;
use crate::job::sources::SourceRecord;
use crate::mechanisms::release_line::LineKey;
use crate::mechanisms::{ContributionBound, Cut, DecimalPoint, Keys, Label};

/// A field of a statistic with its value as a job file states it, if it has one.
pub(crate) type StatedField = (&'static str, Option<String>);

/// The field that a statistic reads, with the decimal point of the steps in which its values are counted.
pub(crate) type ValueField = (String, DecimalPoint);

/// A statistic as a job and its plan use it.
pub(crate) trait JobStatistic {
    /// Returns the fields of its table.
    fn fields(&self) -> Vec<StatedField>;

    /// Returns the grouping by key, if there is one.
    fn grouping(&self) -> Option<&GroupingSpec>;

    /// Returns true if it has several keys (partitions).
    fn is_keyed(&self) -> bool {
        self.grouping().is_some()
    }

    /// Returns the noise distributions and mechanisms that can answer it.
    fn noise_kinds(&self) -> &'static [NoiseKind] {
        &[NoiseKind::Gaussian, NoiseKind::Laplace]
    }

    /// Returns true if its mechanism has a delta of its own, beside that of discovered keys.
    fn has_delta(&self) -> bool {
        false
    }

    /// Returns true if all of its windows are paid for together, before the first.
    fn pays_once(&self) -> bool {
        false
    }

    /// Returns true if a person counts in every listed key, at the same price as in one.
    fn counts_in_all_keys(&self) -> bool {
        false
    }

    /// Returns the contribution of one person to a key.
    fn contribution(&self) -> ContributionKind;

    /// Returns true if the values of windows can be added up.
    fn adds_up(&self) -> bool {
        false
    }

    /// Refuses fields that contradict the rest of the job file.
    fn check(&self, _check: &StatisticCheck<'_>) -> Option<()> {
        Some(())
    }

    /// Returns the fields of numbers that it reads. A refusal names a field of its table.
    fn values(&self) -> Result<Vec<ValueField>, UnfitJob> {
        Ok(Vec::new())
    }

    /// Returns the keys, of which `delta` pays for partition selection. Reads a file of keys. A refusal names
    /// a field of its table.
    fn keys(&self, delta: BudgetUnits) -> Result<Keys<CellKey>, UnfitJob> {
        grouping::keys(self.grouping(), delta)
    }

    /// Returns the additional cost of a window of which a span of time holds a part.
    fn cut(&self, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<Cut, Invalid>;

    /// Prepares the mechanism: every refusal of a mechanism happens here.
    fn prepare(&self, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid>;

    /// Returns the field of its table that a parameter of a mechanism comes from.
    fn field_of(&self, parameter: &str) -> Option<&'static str>;

    /// Describes it. `unit` is the privacy unit: person or record.
    fn describe(&self, unit: &str) -> String;

    /// Returns the number of people in a cell with which nine tenths of all errors are below a tenth.
    fn people_for_a_tenth(&self, errors: &NumberErrors) -> f64 {
        // If a rank is promised, a tenth of the people; of several quantiles, the one with the largest error.
        10.0 * errors.largest()
    }

    /// Returns what its cells are, where they are none of the keys of a person; `None` if each key is a cell.
    fn tabled(&self) -> Option<TabledKeys> {
        None
    }

    /// Returns the errors of its numbers, by which the error of a cell is found.
    fn errors(&self, prepared: &PreparedStatistic) -> NumberErrors {
        let reaches = prepared.errors.as_ref().unwrap_or(&prepared.intervals);
        NumberErrors::of(prepared, reaches, self.numbers_of_one(prepared.noise.len()))
    }

    /// Returns the same of a key in the window in which it is found.
    fn errors_of_found(&self, prepared: &PreparedStatistic) -> NumberErrors {
        self.errors(&prepared.clone().of_one_window())
    }

    /// Returns what its errors are stated beside, with its size in the unit of the release; `None` if it is the number itself.
    fn error_is_of(&self) -> Option<String> {
        None
    }

    /// Returns the number of noised numbers that one released number is made of, which share what may be outside of their
    /// intervals.
    fn numbers_of_one(&self, noises: usize) -> u32 {
        if noises > 1 { 2 } else { 1 }
    }

    /// Returns the optimality of its noise; `None` if no bound is known.
    fn optimality(&self, _prepared: &PreparedStatistic, _cost: &PrivacyCost) -> Option<NoiseOptimality> {
        None
    }

    /// Returns the ranges that its numbers lie in whatever the records are, where there are some.
    fn answer_ranges(&self) -> Vec<AnswerRange> {
        Vec::new()
    }

    /// Returns true if closer ranges than the stated ones are found, by which records are clipped.
    fn finds_ranges(&self) -> bool {
        false
    }

    /// Returns the memory that a key of a person takes in an open window.
    fn memory(&self) -> KeyMemory;

    /// Returns by how many ranks it may be off with another noise at the same price, of its numbers the one that errs most;
    /// `None` if no rank is promised, or it cannot be found so.
    fn rank_error_with(&self, kind: NoiseKind, terms: &StatisticTerms<'_>) -> Option<f64> {
        let noise = ConfiguredNoise::new(kind, terms.noise.cost().clone());
        let prepared = self.prepare(&StatisticTerms { noise: &noise, ..*terms }).ok()?;
        prepared.noise.first()?.ranks()?;
        Some(prepared.intervals.iter().copied().fold(0.0, f64::max))
    }

    /// Returns the least and the largest value of its field with this index that is not clamped, in steps.
    fn unclamped(&self, _field: usize) -> Option<(i64, i64)> {
        None
    }

    /// Returns the fields that a demonstration appends to a line: the exact numbers of a released one.
    fn exact_fields(&self, exact: &ExactNumbers, released: &ReleasedNumber<'_>) -> Option<String>;
}

/// A statistic as a stage of the dataflow.
pub(crate) trait StatisticFlow {
    /// Builds its aggregation and its release.
    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError>;
}

/// The contribution of one person to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContributionKind {
    /// One value, made of all records of the person.
    OneValue,
    /// The person, once.
    Presence,
    /// The sum of the person's records, clamped to a range.
    ClampedSum {
        /// The largest distance of the range from zero.
        most: ConfigNumber,
    },
    /// Each record, up to a number of them that the job file states.
    Records,
}

impl ContributionKind {
    /// Returns true if a person may count with several records in a key.
    pub(crate) fn has_records(self) -> bool {
        matches!(self, ContributionKind::ClampedSum { .. } | ContributionKind::Records)
    }
}

/// The memory that a key of a person takes in an open window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyMemory {
    /// A number of records.
    Counted,
    /// A sum of 128 bits.
    Summed,
    /// Each record that is kept.
    Records,
    /// Each record that is kept, with two values.
    Pairs,
    /// Each record that is kept, with its values.
    Vectors {
        /// The number of values of a record.
        fields: u64,
    },
}

/// The rest of a job file, as far as the statistic of a release may contradict it.
pub(crate) struct StatisticCheck<'c> {
    /// The table of the release.
    pub(crate) release: &'c ConfigNode<'c>,
    /// The table of the statistic.
    pub(crate) table: ConfigNode<'c>,
    /// The noise distribution or mechanism of the release.
    pub(crate) noise: NoiseKind,
    /// True if the privacy unit is one record.
    pub(crate) by_record: bool,
    /// True if the budget is pure epsilon.
    pub(crate) pure: bool,
}

impl StatisticCheck<'_> {
    /// Refuses permute-and-flip under a budget that is not pure epsilon, in which alone it has a price.
    fn permute_and_flip(&self) {
        if self.noise == NoiseKind::PermuteAndFlip && !self.pure {
            let remedy = "exponential, or a budget of epsilon alone: only there is it nearer";
            let noise = self.release.descendant(&["noise"]);
            noise.conflict::<()>("permute-and-flip under a budget that is not pure", remedy);
        }
    }

    /// Refuses keys to discover for a statistic that needs all of its keys for this reason.
    fn listed_keys(&self, grouping: Option<&GroupingSpec>, statistic: &str, reason: &str) {
        if grouping.is_some_and(|grouping| grouping.keys == KeysSpec::Discover) {
            let what = format!("keys to discover for {statistic}");
            let remedy = format!("a list of keys, or {{ file = .. }}: {reason}");
            self.table.descendant(&["keys"]).conflict::<()>(what, remedy);
        }
    }

    /// Refuses a bound that changes no price, since a person counts in all that it would bound.
    fn no_bound(&self, name: &str, statistic: &str, counted: &str) {
        let bound = self.release.descendant(&["bound"]);
        if bound.has(name) {
            let remedy = format!("no {name}: a person counts {counted}, and costs the same in any number");
            bound.descendant(&[name]).conflict::<()>(format!("a bound of {name} for {statistic}"), remedy);
        }
    }
}

/// Declares the statistics: for each its doc, its variant, its word in a job file, and its type.
macro_rules! statistics {
    ($($(#[$doc:meta])* $name:ident, $word:literal, $spec:ty;)*) => {
        /// The statistic that is published about a window.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum StatisticSpec {
            $($(#[$doc])* $name($spec),)*
        }

        impl StatisticSpec {
            /// The words of the statistics in a job file.
            pub const WORDS: &[&str] = &[$($word),*];

            /// Reads the statistic of this word, which is one of [`WORDS`](StatisticSpec::WORDS).
            pub(super) fn read(word: &str, node: &ConfigNode<'_>, beside: &Path) -> Option<StatisticSpec> {
                grouping::check_rollup(word, node)?;
                match word {
                    $($word => <$spec>::read(node, beside).map(StatisticSpec::$name),)*
                    _ => None,
                }
            }

            /// Returns the word of the job file.
            pub fn word(&self) -> &'static str {
                match self {
                    $(StatisticSpec::$name(_) => $word,)*
                }
            }

            /// Returns the statistic of any kind.
            pub(super) fn as_statistic(&self) -> &dyn JobStatistic {
                match self {
                    $(StatisticSpec::$name(spec) => spec,)*
                }
            }
        }

        impl StatisticFlow for StatisticSpec {
            fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
                &self,
                flow: &ReleaseFlow<'_, '_, P, I, U>,
            ) -> Result<(), RunError> {
                match self {
                    $(StatisticSpec::$name(spec) => spec.lay(flow),)*
                }
            }
        }
    };
}

statistics! {
    /// The number of records.
    Count, "count", CountSpec;
    /// The number of people.
    People, "people", PeopleSpec;
    /// The sum of a field, each person's sum clamped to a range.
    Sum, "sum", SumSpec;
    /// The mean of a field, each record's value clamped to a range.
    Mean, "mean", MeanSpec;
    /// The means of several fields.
    Means, "means", MeansSpec;
    /// The variance of a field, each record's value clamped to a range.
    Variance, "variance", VarianceSpec;
    /// The sum of a field over the sum of another, each record's values clamped to ranges.
    Ratio, "ratio", RatioSpec;
    /// The number of records between each two edges of a field.
    Histogram, "histogram", HistogramSpec;
    /// The largest value among people.
    Max, "max", MaxSpec;
    /// The smallest value among people.
    Min, "min", MinSpec;
    /// The sum over all people, of values without a stated range.
    Altogether, "altogether", AltogetherSpec;
    /// Quantiles of a field.
    Quantile, "quantile", QuantileSpec;
    /// An alert on a count above a threshold.
    Alert, "alert", AlertSpec;
    /// The most frequent keys.
    Top, "top", TopSpec;
    /// Tables of counts over categories.
    Marginals, "marginals", MarginalsSpec;
}

impl StatisticSpec {
    /// Returns the grouping by key, if there is one.
    pub fn grouping(&self) -> Option<&GroupingSpec> {
        self.as_statistic().grouping()
    }

    /// Returns the ranges that its numbers lie in whatever the records are, where there are some: an interval that is as wide
    /// says nothing of them. Quantiles and other answers of a grid have none, for their intervals are of ranks.
    pub fn answer_ranges(&self) -> Vec<AnswerRange> {
        self.as_statistic().answer_ranges()
    }

    /// Returns true if closer ranges than the stated ones are found, by which records are clipped.
    pub fn finds_ranges(&self) -> bool {
        self.as_statistic().finds_ranges()
    }
}

/// The range that the numbers of a statistic lie in, by the job file alone.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerRange {
    /// The field, where the statistic has several.
    pub of: Option<String>,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Returns the cell's key for the key of a released line.
pub(super) fn released_key(keys: &Keys<CellKey>, key: Option<&LineKey<'_>>) -> Option<CellKey> {
    let text = match key {
        None => return Some(CellKey::Whole),
        Some(LineKey::Texts { parts, .. }) => {
            return Some(CellKey::of_several(parts.iter().map(String::as_str)));
        }
        Some(other) => other.text(),
    };
    match keys.listed() {
        Some(buckets) if matches!(buckets.first(), Some(CellKey::Bucket(..))) => {
            use crate::mechanisms::Key as _;
            let is_labelled = |key: &&CellKey| matches!(key.label(), Label::Text(label) if *label == *text);
            buckets.iter().find(is_labelled).cloned()
        }
        _ => Some(CellKey::Text(text.into())),
    }
}
