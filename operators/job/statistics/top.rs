//! `top`: which keys have the most records or people, in order, without the numbers.

use std::path::Path;

use super::counted::CountedNoun;
use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::{ReleaseFlow, sums};
use super::prepared::NumberSensitivity;
use super::{
    CellKey, ConfiguredNoise, ContributionKind, GroupingSpec, JobStatistic, KeyMemory, KeysSpec, NoiseKind,
    NumberErrors, PreparedStatistic, StatedField, StatisticCheck, StatisticFlow, StatisticTerms, grouping,
    key_part,
};
use crate::dataflow::bounding::Count;
use crate::dataflow::{KeyedAggregation, ProtectedUnit, RunError};
use crate::invalid::Invalid;
use crate::job::config::ConfigNode;
use crate::job::sources::{PersonIdentity, SourceRecord};
use crate::mechanisms::{
    ContributionBound, Cut, DecimalPoint, Exponential, Keys, Mechanism, PermuteAndFlip, PreparedTop, TopKeys,
};

/// The most frequent keys.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopSpec {
    /// What is counted in each key.
    pub count: CountedNoun,
    /// The number of keys that are picked.
    pub k: u64,
    /// The grouping by key.
    pub grouping: Option<GroupingSpec>,
}

impl TopSpec {
    pub(super) fn read(node: &ConfigNode<'_>, beside: &Path) -> Option<TopSpec> {
        let fields = node.fields(&["k", "by"], &["count", "keys"])?;
        let k = fields.read("k", |node| node.whole(1, TopKeys::<CellKey>::MOST));
        let count = match fields.node("count") {
            Some(node) => CountedNoun::read(&node),
            None => Some(CountedNoun::People),
        };
        let grouping = grouping::read(&fields, beside);
        Some(TopSpec { count: count?, k: k?, grouping: grouping? })
    }

    fn top(&self, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<TopKeys<CellKey>, Invalid> {
        TopKeys::new(self.count.total(limits, keys)?, self.k)
    }
}

impl JobStatistic for TopSpec {
    fn fields(&self) -> Vec<StatedField> {
        let own = [("count", Some(format!("\"{}\"", self.count.word()))), ("k", Some(self.k.to_string()))];
        own.into_iter().chain(grouping::fields(self.grouping())).collect()
    }

    fn grouping(&self) -> Option<&GroupingSpec> {
        self.grouping.as_ref()
    }

    fn noise_kinds(&self) -> &'static [NoiseKind] {
        &[NoiseKind::Exponential, NoiseKind::PermuteAndFlip]
    }

    fn counts_in_all_keys(&self) -> bool {
        true
    }

    fn contribution(&self) -> ContributionKind {
        self.count.contribution()
    }

    /// Refuses keys that are not listed, a bound of keys, which changes no price, and permute-and-flip where it has none.
    fn check(&self, check: &StatisticCheck<'_>) -> Option<()> {
        if self.grouping.as_ref().is_some_and(|grouping| grouping.keys == KeysSpec::Discover) {
            let remedy = "a list of keys, or { file = .. }: it chooses among all of them in every window";
            check.table.descendant(&["keys"]).conflict::<()>("keys to discover for a top", remedy);
        }
        let bound = check.release.descendant(&["bound"]);
        if bound.has("keys") {
            let remedy =
                "no keys: a person counts in each key that is listed, and costs the same in any number";
            bound.descendant(&["keys"]).conflict::<()>("a bound of keys for a top", remedy);
        }
        check.permute_and_flip();
        Some(())
    }

    fn cut(&self, limits: ContributionBound, keys: &Keys<CellKey>) -> Result<Cut, Invalid> {
        Ok(self.top(limits, keys)?.cut())
    }

    fn prepare(&self, terms: &StatisticTerms<'_>) -> Result<PreparedStatistic, Invalid> {
        let top = self.top(terms.limits, terms.keys)?;
        let ready = terms.noise.prepare(&top)?;
        let moved = top.total().key_sensitivity();
        Ok(PreparedStatistic {
            sensitivities: vec![NumberSensitivity::new(self.count.word(), moved, DecimalPoint::WHOLE, 1.0)],
            intervals: vec![ready.within() as f64],
            ..PreparedStatistic::of(&ready, ready.noise())
        })
    }

    fn field_of(&self, parameter: &str) -> Option<&'static str> {
        match parameter {
            "k" => Some("k"),
            "keys" => Some("keys"),
            _ => None,
        }
    }

    fn describe(&self, unit: &str) -> String {
        let by = self.grouping().map_or(String::new(), |grouping| key_part::described(&grouping.by));
        let unit = self.count.noun(unit);
        match self.k {
            1 => format!("the key of {by} with the most {unit}"),
            k => format!("the {k} keys of {by} with the most {unit}, in order"),
        }
    }

    /// Nobody: keys are picked, and no number is released.
    fn people_for_a_tenth(&self, _: &NumberErrors) -> f64 {
        0.0
    }

    fn memory(&self) -> KeyMemory {
        KeyMemory::Counted
    }

    /// Returns the places that the key has by the exact numbers, and by how much its number is below the one that has the place of
    /// its pick: the largest number that was left when it was picked is no less.
    fn exact_fields(&self, exact: &ExactNumbers, released: &ReleasedNumber<'_>) -> Option<String> {
        let pick: usize = released.value?.parse().ok()?;
        let [tally, truth] = exact.sums_of(released)?.map(|sums| self.count.of(sums));
        let sums = exact.sums_in(released.window);
        let [mut all, everything] =
            sums.map(|keys| keys.into_iter().map(|sums| self.count.of(sums)).collect::<Vec<_>>());
        let place = |own: i128, all: &[i128]| 1 + all.iter().filter(|number| **number > own).count();
        let (of_tally, of_truth) = (place(tally, &all), place(truth, &everything));
        all.sort_unstable_by(|one, other| other.cmp(one));
        let off = (all.get(pick.checked_sub(1)?).copied().unwrap_or(0) - tally).max(0);
        Some(format!(",\"tally\":{of_tally},\"truth\":{of_truth},\"off\":{off}"))
    }
}

impl StatisticFlow for TopSpec {
    fn lay<P: PersonIdentity, I: PersonIdentity, U: ProtectedUnit<SourceRecord<P, I>>>(
        &self,
        flow: &ReleaseFlow<'_, '_, P, I, U>,
    ) -> Result<(), RunError> {
        let top = self.top(flow.terms.limits, flow.terms.keys);
        let top = top.map(|statistic| KeyedAggregation { statistic, measure: Count });
        let asked = flow.bounded.clone().ask(flow.key(None), |_: &SourceRecord<P, I>| (), top);
        flow.release(asked, false, sums)?;
        flow.show_everything(None)
    }
}

impl Mechanism<TopKeys<CellKey>> for ConfiguredNoise {
    type Prepared = PreparedTop<CellKey>;

    fn prepare(&self, top: &TopKeys<CellKey>) -> Result<PreparedTop<CellKey>, Invalid> {
        match self.kind() {
            NoiseKind::Exponential => Exponential::cost(self.cost()).prepare(top),
            NoiseKind::PermuteAndFlip => PermuteAndFlip::cost(self.cost()).prepare(top),
            _ => Err(ConfiguredNoise::unsupported()),
        }
    }
}
