//! `top`: which keys have the most records or people, in order, without the numbers.

use std::path::Path;

use super::counted::CountedNoun;
use super::exact::{ExactNumbers, ReleasedNumber};
use super::flow::{ReleaseFlow, sums};
use super::prepared::NumberSensitivity;
use super::{
    CellKey, ConfiguredNoise, ContributionKind, GroupingSpec, JobStatistic, KeyMemory, NoiseKind,
    PreparedStatistic, StatedField, StatisticCheck, StatisticFlow, StatisticTerms, grouping, key_part,
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
    /// The noun of the count of each key.
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
        let count = CountedNoun::read(&fields, CountedNoun::People);
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
        check.listed_keys(self.grouping(), "a top", "it chooses among all of them in every window");
        check.no_bound("keys", "a top", "in each key that is listed");
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

#[cfg(test)]
mod tests {
    use crate::job::config::tests::parse;
    use crate::job::plan::PlannedCost;

    // Refutes the price of a whole window for a part of one, where another line of the same id takes the place of one that is gone: of
    // picks and alerts, and of records with an id.
    #[test]
    fn a_part_costs_more_where_another_line_may_take_its_place() {
        let part = |unit: &str, id: &str, release: &str| {
            let text = format!(
                "[job]\nname = \"a\"\nversion = 1\nfrom = 2026-01-01T00:00:00Z\nuntil = 2026-01-09T00:00:00Z\n\
                 [source]\ntype = \"jsonl\"\npath = \"log.jsonl\"\n{id}time = {{ field = \"at\", format = \"rfc3339\" }}\n\
                 [privacy]\n{unit}\npromise = \"each day\"\nbudget = {{ epsilon = 1.0 }}\nledger = \"a.ledger\"\n\
                 account = \"a\"\n[[release]]\nname = \"a\"\nevery = \"2 days\"\n{release}\nshare = 1\n"
            );
            let plan = parse(&text).unwrap_or_else(|mistakes| panic!("{mistakes}")).plan().unwrap();
            let size = |cost: &PlannedCost| cost.epsilon.unwrap();
            let release = &plan.releases[0];
            (size(release.partial.as_ref().unwrap()) / size(&release.cost) * 4096.0).round() / 4096.0
        };
        let (person, record) = ("person = { field = \"who\", missing = \"drop\" }", "unit = \"record\"");
        let id = "id = { field = \"id\" }\n";
        let keys = "by = \"page\", keys = [\"a\", \"b\"]";
        let top = &format!("top = {{ k = 1, {keys} }}\nnoise = \"exponential\"");
        let count = |bound: &str| format!("count = {{ {keys} }}\n{bound}noise = \"laplace\"");
        let alert = &format!("alert = {{ above = 5, {keys} }}\nnoise = \"geometric\"");
        assert_eq!((part(person, id, top), part(person, "", top)), (2.0, 2.0));
        assert_eq!((part(person, id, alert), part(record, id, alert)), (2.0, 2.0));
        assert_eq!((part(record, id, top), part(record, "", top)), (2.0, 1.0));
        assert_eq!((part(record, id, &count("")), part(record, "", &count(""))), (2.0, 1.0));
        // Within both listed keys a person exchanges no key for another.
        assert_eq!(part(person, id, &count("bound = { keys = 2, per_key = 1 }\n")), 1.0);
    }
}
