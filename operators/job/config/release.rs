//! `[[release]]`: the statistic that is published, its windows, its contribution bound and its price.

use std::path::Path;

use super::every;
use super::every::RunningSpec;
use super::every::{CalendarUnit, Every};
use super::mistake::{MistakeDetail, listed};
use super::node::{ConfigNode, TableNode};
use super::number::BudgetShare;
use super::span::unit_words;
use crate::accounting::Budget;
use crate::accounting::running::WIDTH;
use crate::dataflow::Weekday;
use crate::decimal::Decimal;
use crate::job::MistakeKind;
use crate::job::condition::Condition;
use crate::job::derived::FieldNames;
use crate::job::statistics::{ContributionKind, KeysSpec, MeansSpec, NoiseKind, StatisticSpec, VectorBound};
use crate::ledger::Name;

/// One statistic, published once for each window.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReleaseSpec {
    /// The name of the release.
    pub name: Name,
    /// The version of the release, if it has one of its own; otherwise the job's.
    pub version: Option<u32>,
    /// The step between the starts of its windows.
    pub every: Every,
    /// The length of a window, if it is longer than the step between two; if windows are added up, the length
    /// of the last windows in a total.
    pub over: Option<Every>,
    /// The running total over windows, if the release has one.
    pub running: Option<RunningSpec>,
    /// The condition of the records that count for the release, if there is one.
    pub condition: Option<Condition>,
    /// The statistic.
    pub statistic: StatisticSpec,
    /// The contribution bound.
    pub bound: BoundSpec,
    /// The noise distribution or selection mechanism.
    pub noise: NoiseKind,
    /// The least number of people of a key that is discovered, if one is stated.
    pub least_people: Option<u32>,
    /// The price of a window; of all windows together, if they are added up.
    pub price: PriceSpec,
}

/// The contribution bound of one protected unit. A part that is left out is 1 if no other value is possible;
/// otherwise it is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BoundSpec {
    /// The most keys of a window in which the unit counts.
    pub keys: Option<u32>,
    /// The most records of the unit that count for a key.
    pub per_key: Option<u32>,
    /// The most windows in which the unit ever counts.
    pub windows: Option<u32>,
    /// The most times that the unit enters a key, of people over the last windows.
    pub entries: Option<u32>,
    /// The number of whole shares that a person comes to at most, each of whose keys then counts in part.
    pub weight: Option<u32>,
}

impl BoundSpec {
    /// No part of a bound is stated.
    pub(in crate::job) const NONE: BoundSpec =
        BoundSpec { keys: None, per_key: None, windows: None, entries: None, weight: None };

    /// Returns the most keys of a window in which a person counts; beside a weight, all that are listed.
    pub(in crate::job) fn most_keys(&self) -> u32 {
        self.keys.unwrap_or(if self.weight.is_some() { MOST as u32 } else { 1 })
    }

    /// Returns the part with which each share of a person counts, of whom these are the sizes of all, in whole shares:
    /// that of the [weight](crate::mechanisms::Weight), in floats, for figures of a plan.
    pub(in crate::job) fn part(&self, noise: NoiseKind, sizes: impl Iterator<Item = f64>) -> f64 {
        let Some(weight) = self.weight else { return 1.0 };
        let part = match noise {
            NoiseKind::Laplace => f64::from(weight) / sizes.sum::<f64>(),
            _ => (f64::from(weight) / sizes.map(|size| size * size).sum::<f64>()).sqrt(),
        };
        part.min(1.0)
    }
}

/// The price of a window, or of all windows if they are added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PriceSpec {
    /// A share of the budget, divided by the number of windows that one person can be charged for; not
    /// divided if all windows are paid at once.
    Share(BudgetShare),
    /// The cost of a window.
    Cost(CostSpec),
}

/// A privacy cost as the job file states it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CostSpec {
    /// The cost in pure epsilon.
    pub epsilon: Option<Decimal>,
    /// The cost in zCDP.
    pub rho: Option<Decimal>,
    /// The delta that partition selection may charge beside it.
    pub delta: Option<Decimal>,
}

/// The largest bound of keys or of records per key: a larger one would bound nothing.
const MOST: u64 = 1 << 31;

const OTHER_FIELDS: [&str; 9] =
    ["version", "over", "running", "strategy", "where", "bound", "least_people", "share", "cost"];

impl ReleaseSpec {
    /// Returns true if the release publishes keys that the job file does not list (partition selection).
    pub fn selects_partitions(&self) -> bool {
        self.statistic.grouping().is_some_and(|grouping| grouping.keys == KeysSpec::Discover)
    }

    /// Returns true if all of its windows are paid for together, before the first.
    pub(in crate::job) fn pays_once(&self) -> bool {
        self.running.is_some() || self.statistic.as_statistic().pays_once()
    }

    /// Returns true if the release publishes the number of people who are in one of the last windows, paid for once.
    pub(in crate::job) fn is_of_present_people(&self) -> bool {
        let contribution = self.statistic.as_statistic().contribution();
        self.running.is_some() && self.over.is_some() && contribution == ContributionKind::Presence
    }

    /// Returns true if its one window is over everything. The sums of people in shorter windows are no part of their sums
    /// over all time.
    pub(crate) fn is_of_all_time(&self) -> bool {
        self.every == Every::All
    }

    /// Returns true if a bound of its people can have a weight: it is one sum of their shares in a window, or two.
    pub(in crate::job) fn can_be_weighted(&self) -> bool {
        use StatisticSpec::{Count, Histogram, Mean, People, Sum};
        let adds_up = matches!(self.statistic, Count(_) | Histogram(_) | Mean(_) | People(_) | Sum(_));
        let rolls_up = self.statistic.grouping().is_some_and(|grouping| grouping.rollup);
        adds_up && !rolls_up && self.running.is_none() && self.statistic.as_statistic().is_keyed()
    }

    /// Returns true if its lines may have totals of a roll-up, or covariances.
    pub(crate) fn has_rollup_or_covariance(&self) -> bool {
        let is_found = |means: &MeansSpec| matches!(means.bound, VectorBound::FoundWithin { .. });
        self.statistic.grouping().is_some_and(|grouping| grouping.rollup)
            || matches!(&self.statistic, StatisticSpec::Means(means) if is_found(means))
    }

    /// Returns true if the privacy cost of the release includes a delta.
    pub fn charges_delta(&self) -> bool {
        self.selects_partitions() || self.statistic.as_statistic().has_delta()
    }
}

pub(super) fn read(node: ConfigNode<'_>, beside: &Path, names: FieldNames<'_>) -> Option<ReleaseSpec> {
    let optional: Vec<&'static str> =
        OTHER_FIELDS.into_iter().chain(StatisticSpec::WORDS.iter().copied()).collect();
    let fields = node.fields(&["name", "every", "noise"], &optional)?;
    let name = fields.read("name", |node| node.accept(Name::new("release", node.text()?)));
    let version = fields.read("version", |node| node.whole(1, u32::MAX.into()));
    // The number is in range, so it fits.
    let version = version.and_then(|version| u32::try_from(version).ok());
    let every = fields.read("every", every);
    let running = every::read(&fields);
    let over = fields.read("over", every_over(every, running.flatten().is_some()));
    let condition = match fields.node("where") {
        Some(node) => node.text().and_then(|text| node.accept(Condition::parse(text, &names))).map(Some),
        None => Some(None),
    };
    let statistic = one_statistic(&fields, beside);
    let bound = match fields.node("bound") {
        Some(node) => bound(&node),
        None => Some(BoundSpec::NONE),
    };
    let noise = fields.read("noise", |node| noise(&node, statistic.as_ref()));
    let least_people = most(&fields, "least_people");
    let price = price(&fields);
    Some(ReleaseSpec {
        name: name?,
        version,
        every: every?,
        over,
        running: running?,
        condition: condition?,
        statistic: statistic?,
        bound: bound?,
        noise: noise?,
        least_people,
        price: price?,
    })
}

/// Reads a noise distribution; a mistake lists those of the statistic.
fn noise(node: &ConfigNode<'_>, statistic: Option<&StatisticSpec>) -> Option<NoiseKind> {
    let text = node.text()?;
    let known = NoiseKind::WORDS.iter().find(|(word, _)| *word == text);
    if let Some((_, kind)) = known {
        return Some(*kind);
    }
    let words: Vec<&str> = match statistic.map(|statistic| statistic.as_statistic().noise_kinds()) {
        Some(kinds) => kinds.iter().map(|kind| kind.word()).collect(),
        None => NoiseKind::WORDS.iter().map(|(word, _)| *word).collect(),
    };
    node.record_mistake(MistakeDetail::unknown_word(text, &words))
}

pub(super) fn every(node: ConfigNode<'_>) -> Option<Every> {
    let words: Vec<&str> = ["all", "from"].into_iter().chain(Weekday::ALL.map(Weekday::name)).collect();
    node.accept_words(Every::parse(node.text()?), &unit_words(&words))
}

/// The most windows of one release that contain one moment.
const MOST_OVERLAPS: u64 = 1_000;

/// Returns a reader of a length that the step divides: no person is in more windows than the quotient, and
/// one more.
fn every_over(step: Option<Every>, runs: bool) -> impl FnOnce(ConfigNode<'_>) -> Option<Every> {
    move |node| {
        let over = every(node.clone())?;
        if matches!(over, Every::Calendar(_, CalendarUnit::WeekFrom(_))) {
            return node
                .conflict("a day on which a length begins", "the length alone: windows begin as every says");
        }
        match over.over(step?) {
            Some(1..=MOST_OVERLAPS) => Some(over),
            Some(1..=WIDTH) if runs => Some(over),
            Some(_) if runs => {
                node.conflict("a total of too many windows", "at most 16,384 times the length in every")
            }
            Some(_) => {
                node.conflict("a window that starts too often", "at most 1,000 times the length in every")
            }
            None => node.conflict(
                "a length that is no multiple of every",
                "a whole multiple of every, in the same units",
            ),
        }
    }
}

fn one_statistic(fields: &TableNode<'_>, beside: &Path) -> Option<StatisticSpec> {
    match fields.present(StatisticSpec::WORDS)[..] {
        [word] => fields.read(word, |node| StatisticSpec::read(word, &node, beside)),
        // The unknown field was probably meant to be the statistic.
        [] if !fields.known => None,
        [] => {
            let remedy = format!("one statistic: {}", listed(StatisticSpec::WORDS));
            fields.refuse("", MistakeDetail::new(MistakeKind::Missing, "no statistic", remedy))
        }
        [_, second, ..] => fields.read(second, |node| {
            node.conflict("a second statistic", "one statistic a release: write another [[release]]")
        }),
    }
}

fn bound(node: &ConfigNode<'_>) -> Option<BoundSpec> {
    let fields = node.fields(&[], &["keys", "per_key", "windows", "entries", "weight"])?;
    let read = |name| most(&fields, name);
    Some(BoundSpec {
        keys: read("keys"),
        per_key: read("per_key"),
        windows: read("windows"),
        entries: read("entries"),
        weight: read("weight"),
    })
}

/// Reads a number of keys, records or people.
pub(super) fn most(fields: &TableNode<'_>, name: &'static str) -> Option<u32> {
    // The number is at most `MOST`, so it fits.
    fields.read(name, |node| node.whole(1, MOST).and_then(|most| u32::try_from(most).ok()))
}

fn price(fields: &TableNode<'_>) -> Option<PriceSpec> {
    match (fields.node("share"), fields.node("cost")) {
        (Some(_), Some(cost)) => cost.conflict("a cost beside a share", "either share or cost"),
        (Some(share), None) => share.accept(BudgetShare::of(&share.decimal()?)).map(PriceSpec::Share),
        (None, Some(cost)) => costs(&cost).map(PriceSpec::Cost),
        (None, None) => {
            let remedy = "share, a part of the budget, or cost = { rho = .. } a window";
            fields.refuse("", MistakeDetail::new(MistakeKind::Missing, "no price", remedy))
        }
    }
}

fn costs(node: &ConfigNode<'_>) -> Option<CostSpec> {
    let fields = node.fields(&[], &["epsilon", "rho", "delta"])?;
    let read = |name| fields.read(name, |node| node.decimal());
    let words = CostSpec { epsilon: read("epsilon"), rho: read("rho"), delta: read("delta") };
    // Each number is checked against the range of its own kind.
    let float = |words: &Option<Decimal>| words.as_ref().map(Decimal::to_f64);
    let ranges = [
        ("epsilon", float(&words.epsilon).map(Budget::pure)),
        ("rho", float(&words.rho).map(Budget::zcdp)),
        ("delta", float(&words.delta).map(|delta| Budget::approximate(1.0, delta))),
    ];
    for (name, range) in ranges {
        fields.read(name, |node| node.accept(range?));
    }
    match fields.present(&["epsilon", "rho"])[..] {
        [_] => Some(words),
        [] if !fields.known => None,
        [] => node.record_mistake(MistakeDetail::new(
            MistakeKind::Missing,
            "nothing to pay with",
            "rho or epsilon",
        )),
        _ => node.conflict("both epsilon and rho", "either epsilon or rho"),
    }
}
