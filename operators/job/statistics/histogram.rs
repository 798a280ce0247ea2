//! `histogram`: the number of records between each two edges of a field.

use std::path::Path;

use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::ReleaseFlow;
use super::total::Added;
use super::{
    CellKey, ContributionKind, GroupingSpec, JobStatistic, KeyMemory, NoiseOptimality, PreparedStatistic,
    StatedField, StatisticCheck, StatisticFlow, StatisticTerms, ValueField, measure, optimality, steps,
    total,
};
use crate::accounting::{BudgetUnits, PrivacyCost};
use crate::dataflow::{ProtectedUnit, RunError};
use crate::invalid::Invalid;
use crate::job::config::{ConfigNode, ConfigNumber, list, text};
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::job::unfit::UnfitJob;
use crate::mechanisms::{ContributionBound, Cut, DecimalPoint, Edges, Keys, Total};

/// The number of records between each two edges of a field.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HistogramSpec {
    /// The field.
    pub of: String,
    /// Two or more edges, in ascending order.
    pub edges: Vec<ConfigNumber>,
}

impl HistogramSpec {
    pub(super) fn read(node: &ConfigNode<'_>, _: &Path) -> Option<HistogramSpec> {
        let fields = node.fields(&["of", "edges"], &[])?;
        let of = fields.read("of", |node| node.non_empty_text());
        let edges = fields.read("edges", |node| measure::ascending_numbers(&node, "edges"));
        Some(HistogramSpec { of: of?, edges: edges? })
    }

    /// Returns the edges in steps, and the decimal point of a step.
    pub(in crate::job) fn edges(&self) -> Result<(Edges, DecimalPoint), Invalid> {
        steps::of_edges(&self.edges)
    }
}

impl JobStatistic for HistogramSpec {
    fn fields(&self) -> Vec<StatedField> {
        vec![("of", Some(text(&self.of))), ("edges", Some(list(&self.edges)))]
    }

    fn grouping(&self) -> Option<&GroupingSpec> {
        None
    }

    fn is_keyed(&self) -> bool {
        true
    }

    fn contribution(&self) -> ContributionKind {
        ContributionKind::Records
    }

    fn adds_up(&self) -> bool {
        true
    }

    /// Refuses edges that cannot be released exactly as written: no digit of them is rounded.
    fn check(&self, check: &StatisticCheck<'_>) -> Option<()> {
        let nodes = check.table.descendant(&["edges"]).list()?;
        steps::check_exact(&self.edges, &nodes)
    }

    fn values(&self) -> Result<Vec<ValueField>, UnfitJob> {
        let (_, point) = self.edges().map_err(|invalid| UnfitJob::at("edges", &invalid))?;
        Ok(vec![(self.of.clone(), point)])
    }

    /// Returns the buckets.
    fn keys(&self, _: BudgetUnits) -> Result<Keys<CellKey>, UnfitJob> {
        let (edges, point) = self.edges().map_err(|invalid| UnfitJob::at("edges", &invalid))?;
        let buckets = edges.keys().listed().unwrap_or_default();
        Keys::public(buckets.iter().map(|bucket| CellKey::Bucket(*bucket, point)))
            .map_err(|invalid| UnfitJob::at("keys", &invalid))
    }

    fn cut(&self, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<Cut, Invalid> {
        Ok(Total::count(limits, keys.clone())?.cut())
    }

    fn prepare(&self, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        total::prepare(Total::count(terms.limits, terms.keys.clone())?, terms)
    }

    fn field_of(&self, parameter: &str) -> Option<&'static str> {
        (parameter == "edges").then_some("edges")
    }

    fn describe(&self, _: &str) -> String {
        format!("how many records have {} between each two of {} edges", self.of, self.edges.len())
    }

    fn optimality(&self, prepared: &PreparedStatistic, cost: &PrivacyCost) -> Option<NoiseOptimality> {
        optimality::total(prepared, cost)
    }

    fn memory(&self) -> KeyMemory {
        KeyMemory::Counted
    }

    /// Returns the ends: an edge belongs to the bucket above it, and one edge alone has nothing between its
    /// ends.
    fn unclamped(&self, _: usize) -> Option<(i64, i64)> {
        let (first, last) = self.edges().ok()?.0.ends();
        (first < last).then(|| (first, last - 1))
    }

    fn exact_fields(&self, exact: &ExactNumbers, released: &ReleasedNumber<'_>) -> Option<String> {
        let most = released.limits.per_key().into();
        total::exact_fields(exact, released, most, |[_, records, _]| records.to_string())
    }
}

impl StatisticFlow for HistogramSpec {
    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        let (edges, point) = self.edges()?;
        let buckets = Some((&edges, point));
        let count = Total::count(flow.terms.limits, flow.terms.keys.clone());
        total::lay(flow, count, &Added::Records(buckets))?;
        flow.show_everything(buckets)
    }
}
