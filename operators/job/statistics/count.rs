//! `count` and `people`: the number of records, and of people, of each key.

use std::path::Path;

use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::ReleaseFlow;
use super::total::Added;
use super::{
    CellKey, ContributionKind, GroupingSpec, JobStatistic, KeyMemory, NoiseOptimality, PreparedStatistic,
    StatedField, StatisticFlow, StatisticTerms, grouping, optimality, total,
};
use crate::accounting::PrivacyCost;
use crate::dataflow::bounding::Count;
use crate::dataflow::{KeyedAggregation, ProtectedUnit, RunError};
use crate::invalid::Invalid;
use crate::job::config::ConfigNode;
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::mechanisms::{Bound, ContributionBound, Cut, Keys, Total};

/// The number of records.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CountSpec {
    /// The grouping by key, if there is one.
    pub grouping: Option<GroupingSpec>,
}

/// The number of people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeopleSpec {
    /// The grouping by key, if there is one.
    pub grouping: Option<GroupingSpec>,
}

impl CountSpec {
    pub(super) fn read(node: &ConfigNode<'_>, beside: &Path) -> Option<CountSpec> {
        let grouping = grouping::read(&node.fields(&[], grouping::OF_SUMS)?, beside)?;
        Some(CountSpec { grouping })
    }

    fn total(&self, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<Total<CellKey>, Invalid> {
        total::rolled_up(Total::count(limits, keys.clone())?, self.grouping())
    }
}

impl PeopleSpec {
    pub(super) fn read(node: &ConfigNode<'_>, beside: &Path) -> Option<PeopleSpec> {
        let grouping = grouping::read(&node.fields(&[], &["by", "keys"])?, beside)?;
        Some(PeopleSpec { grouping })
    }
}

impl JobStatistic for CountSpec {
    fn fields(&self) -> Vec<StatedField> {
        grouping::fields(self.grouping())
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

    fn cut(&self, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<Cut, Invalid> {
        Ok(self.total(limits, keys)?.cut())
    }

    fn prepare(&self, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        total::prepare(self.total(terms.limits, terms.keys)?, terms)
    }

    fn field_of(&self, _: &str) -> Option<&'static str> {
        None
    }

    fn describe(&self, _: &str) -> String {
        format!("how many records{}", grouping::describe(self.grouping()))
    }

    fn optimality(&self, prepared: &PreparedStatistic, cost: &PrivacyCost) -> Option<NoiseOptimality> {
        optimality::total(prepared, cost)
    }

    fn memory(&self) -> KeyMemory {
        KeyMemory::Counted
    }

    fn exact_fields(&self, exact: &ExactNumbers, released: &ReleasedNumber<'_>) -> Option<String> {
        let most = released.limits.per_key().into();
        total::exact_fields(exact, released, most, |[_, records, _]| records.to_string())
    }
}

impl StatisticFlow for CountSpec {
    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        let count = self.total(flow.terms.limits, flow.terms.keys);
        total::lay(flow, count, &Added::Records(None))?;
        flow.show_everything(None)
    }
}

impl JobStatistic for PeopleSpec {
    fn fields(&self) -> Vec<StatedField> {
        grouping::fields(self.grouping())
    }

    fn grouping(&self) -> Option<&GroupingSpec> {
        self.grouping.as_ref()
    }

    fn contribution(&self) -> ContributionKind {
        ContributionKind::Presence
    }

    fn adds_up(&self) -> bool {
        true
    }

    fn cut(&self, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<Cut, Invalid> {
        Ok(Total::people(limits, keys.clone())?.cut())
    }

    fn prepare(&self, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        total::prepare(Total::people(terms.limits, terms.keys.clone())?, terms)
    }

    fn field_of(&self, _: &str) -> Option<&'static str> {
        None
    }

    fn describe(&self, unit: &str) -> String {
        let units = if unit == "record" { "records" } else { "people" };
        format!("how many {units}{}", grouping::describe(self.grouping()))
    }

    fn optimality(&self, prepared: &PreparedStatistic, cost: &PrivacyCost) -> Option<NoiseOptimality> {
        optimality::total(prepared, cost)
    }

    fn memory(&self) -> KeyMemory {
        KeyMemory::Counted
    }

    fn exact_fields(&self, exact: &ExactNumbers, released: &ReleasedNumber<'_>) -> Option<String> {
        let is_of_present = released.running.is_some_and(|running| running.is_of_present_people());
        total::exact_fields(exact, released, 1, |[people, _, present]| {
            if is_of_present { present } else { people }.to_string()
        })
    }
}

/// More keys than any person has, and more entries.
const MOST: u64 = 1 << 31;

impl StatisticFlow for PeopleSpec {
    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        let people = |limits| Total::people(limits, flow.terms.keys.clone());
        total::lay(flow, people(flow.terms.limits), &Added::Records(None))?;
        let (Some((secret, numbers)), Some(running)) = (&flow.demo, flow.terms.running) else {
            return flow.show_everything(None);
        };
        // A returning person appears in earlier windows, so windows alone do not give the number of people:
        // everybody is remembered.
        let limits = Bound::keys(MOST).checked()?;
        let aggregation = people(limits)
            .and_then(|people| running.with_entries(MOST).total(people))
            .map(|statistic| KeyedAggregation { statistic, measure: Count });
        let everybody = flow.bounded.clone().ask(flow.key(None), |_: &SourceRecord<P, I>| (), aggregation);
        everybody.shown_in_a_demo(*secret, Some(&limits), numbers.sums.truth.clone())
    }
}
